//! NVMe: identity, refusals, the quick test from purge to report, SMART and the write cache.

use crate::answers::GuestOutput;
use crate::cases::checks::{doctor_check, feature_value, marks, refused, total};
use crate::guest::{Case, Guest, SkipReason};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};
use serde_json::Value;
use steadfast_domain::{JournalEntry, Op, PurgeMethod, WriteCache};

const SERIAL: &str = "LABNVME1";

const MIB: u64 = 128;

/// Size of a SMART data unit in bytes: a thousand blocks of 512 bytes, rounded up in counts (NVMe
/// Base 2.0, figure 207).
const DATA_UNIT: u64 = 512_000;

pub fn guest() -> Guest {
    Guest {
        drives: vec![GuestDrive::nvme(SERIAL, Medium::new(MIB))],
        cases: vec![
            Case::new("identity is what QEMU was given", identity),
            Case::new("doctor finds the root disk bad, and not the drive", doctor),
            Case::new("the drive's pages are those that nvme-cli reads", pages),
            Case::new("an unnamed or misnamed drive is refused", refusals),
            Case::new("the root disk is refused, named or not", |a| {
                refused(a, "root-disk", "holds the running system")
            }),
            Case::new("the quick test runs from purge to report", quick_test),
            Case::new("every step agrees with the kernel's counters", counters),
            Case::new("SMART counts what the run says it moved", smart),
            Case::new("the drive's log, step by step, agrees", log),
            Case::new("the write cache is off during the run and on after it", cache),
            Case::new("Format erases and keeps the drive's identity", format),
            Case::new("a drive formatted to 4Kn is recognized", reformatted),
            Case::new("a run purges by Format without nvme-cli", purge),
        ],
        ..Guest::new("nvme", include_str!("nvme.sh"), 600)
    }
}

fn identity(answers: &GuestOutput) -> anyhow::Result<()> {
    let device = answers.device("devices", "/dev/nvme0n1")?;
    let controller = answers.json("controller")?;
    let firmware = controller["fr"].as_str().map(str::trim_end).context("no firmware")?;
    ensure!(device["serial"] == SERIAL, "{device}");
    ensure!(device["model"] == "QEMU NVMe Ctrl", "{device}");
    ensure!(device["firmware"] == firmware, "{device}, not {firmware}");
    ensure!(device["transport"] == "nvme", "{device}");
    ensure!(device["capacity"] == MIB << 20, "{device}");
    ensure!(device["logical_sector"] == 512, "{device}");
    ensure!(device["write_cache"] == "enabled", "{device}");
    Ok(())
}

fn doctor(answers: &GuestOutput) -> anyhow::Result<()> {
    // The virtual machine itself is a reason for attention.
    answers.ended("doctor", &[6])?;
    let state = answers.printed("doctor")?["state"].clone();
    ensure!(state == "attention", "the drive is {state}");
    for (id, wanted) in [("boot-disk", "good"), ("in-use", "good"), ("media-errors", "good")] {
        let (state, found) = doctor_check(answers, "doctor", id)?;
        ensure!(state == wanted, "{id}: {state}: {found}");
    }
    let (state, found) = doctor_check(answers, "doctor", "virtual-machine")?;
    ensure!(state == "attention" && found.contains("QEMU"), "{state}: {found}");
    let (_, sectors) = doctor_check(answers, "doctor", "sector-format")?;
    ensure!(sectors.contains("512 B logical"), "{sectors}");
    answers.ended("doctor-root", &[6])?;
    let (state, found) = doctor_check(answers, "doctor-root", "boot-disk")?;
    ensure!(state == "bad", "{state}: {found}");
    let run = answers.run("run")?;
    let examined =
        run.has(|entry| matches!(entry, JournalEntry::Examined(checks) if !checks.is_empty()));
    ensure!(examined, "the run's journal has no examination");
    Ok(())
}

/// Names of the SMART log's fields in nvme-cli's JSON.
const SMART_NAMES: [(&str, &str); 18] = [
    ("critical_warning", "cw"),
    ("temperature", "ctemp"),
    ("avail_spare", "avsp"),
    ("spare_thresh", "avspt"),
    ("percent_used", "pused"),
    ("data_units_read", "dur"),
    ("data_units_written", "duw"),
    ("host_read_commands", "hrc"),
    ("host_write_commands", "hwc"),
    ("controller_busy_time", "cbt"),
    ("power_cycles", "pwrc"),
    ("power_on_hours", "poh"),
    ("unsafe_shutdowns", "upl"),
    ("media_errors", "mdie"),
    ("num_err_log_entries", "neile"),
    ("warning_temp_time", "wctt"),
    ("critical_comp_time", "cctt"),
    ("thm_temp1_trans_count", "tmt1tc"),
];

/// Compares the pages in the output of `doctor` with what nvme-cli decodes, field by field, and with
/// what it reads, byte by byte.
fn pages(answers: &GuestOutput) -> anyhow::Result<()> {
    let controller = page(answers, "identify-controller")?;
    let compared = compare(&controller, &answers.json("controller")?)?;
    ensure!(compared >= 30, "{compared} fields of Identify Controller");
    let namespace = page(answers, "identify-namespace")?;
    let by_nvme_cli = answers.json("namespace")?;
    let compared = compare(&namespace, &by_nvme_cli)?;
    ensure!(compared >= 14, "{compared} fields of Identify Namespace");
    let formats = by_nvme_cli["lbafs"].as_array().context("no LBA formats")?;
    for (number, format) in formats.iter().enumerate() {
        for (theirs, ours) in [("ms", "ms"), ("ds", "lbads"), ("rp", "rp")] {
            let found = field(&namespace, &format!("lbaf{number}.{ours}"));
            ensure!(found == parse_number(&format[theirs]), "lbaf{number}.{ours}: {found:?}");
        }
    }
    ensure!(formats.len() > 4, "{} LBA formats", formats.len());

    let smart = page(answers, "log-02")?;
    let (ahead, behind) = (answers.json("smart-ahead")?, answers.json("smart-behind")?);
    for (theirs, ours) in SMART_NAMES {
        let found = field(&smart, ours);
        let bounds = (parse_number(&ahead[theirs]), parse_number(&behind[theirs]));
        let (Some(least), Some(most)) = bounds else { anyhow::bail!("no {theirs}: {ahead}") };
        // A field that is not reported is 0 in nvme-cli's JSON.
        let found = found.unwrap_or(0);
        ensure!((least..=most).contains(&found), "{ours}: {found}, not {least} to {most}");
    }
    let expected = feature_value(answers, "power-state")?;
    let power = field(&page(answers, "feature-02")?, "value");
    ensure!(power == Some(u128::from(expected)), "power state {power:?}, not {expected}");
    let cache = field(&page(answers, "feature-06")?, "value");
    ensure!(cache == Some(u128::from(feature_value(answers, "cache-before")?)), "{cache:?}");

    for (id, name) in [
        ("identify-controller", "raw-controller"),
        ("identify-namespace", "raw-namespace"),
        ("log-01", "raw-errors"),
        ("log-05", "raw-effects"),
    ] {
        let page = page(answers, id)?;
        ensure!(page["state"] == "complete", "{id}: {page}");
        let bytes = std::fs::read(answers.path(&format!("{name}.stdout")))?;
        let length = page["length"].as_u64().context("no length")?;
        ensure!(length == bytes.len() as u64, "{id}: {length} bytes, not {}", bytes.len());
        let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let hexadecimal = hexadecimal.trim_end_matches("00");
        ensure!(page["raw"] == hexadecimal, "{id}: {} is not {hexadecimal}", page["raw"]);
    }
    let run = answers.run("run")?;
    let recorded: Vec<usize> = run
        .entries()
        .filter_map(|entry| match entry {
            JournalEntry::DrivePages(pages) => Some(pages.len()),
            _ => None,
        })
        .collect();
    ensure!(recorded.len() == 2 && recorded[0] == recorded[1], "recorded pages: {recorded:?}");
    Ok(())
}

fn page(answers: &GuestOutput, id: &str) -> anyhow::Result<Value> {
    let answer = answers.printed("doctor")?;
    let pages = answer["pages"].as_array().context("no pages")?;
    let page = pages.iter().find(|page| page["id"] == id);
    page.cloned().with_context(|| format!("no page {id}"))
}

/// Returns a number of a page; `None` if the page does not have the field.
fn field(page: &Value, id: &str) -> Option<u128> {
    let field = page["fields"].as_array()?.iter().find(|field| field["id"] == id)?;
    parse_number(&field["value"])
}

/// Parses a number in decimal, or in hexadecimal after `0x`.
fn parse_number(value: &Value) -> Option<u128> {
    match value {
        Value::Number(number) => number.as_u64().map(u128::from),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    }
}

/// Compares the fields of a page that have the same name in nvme-cli's JSON. Returns their number.
fn compare(page: &Value, by_nvme_cli: &Value) -> anyhow::Result<u32> {
    let fields = page["fields"].as_array().context("no fields")?;
    let mut compared = 0;
    for field in fields {
        let id = field["id"].as_str().unwrap_or_default();
        let Some(theirs) = by_nvme_cli.get(id) else { continue };
        let ours = &field["value"];
        let is_same = match (parse_number(ours), parse_number(theirs)) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => ours.as_str().map(str::trim) == theirs.as_str().map(str::trim),
        };
        ensure!(is_same, "{id}: {ours}, and {theirs} by nvme-cli");
        compared += 1;
    }
    Ok(compared)
}

fn refusals(answers: &GuestOutput) -> anyhow::Result<()> {
    refused(answers, "unnamed", SERIAL)?;
    refused(answers, "misnamed", SERIAL)?;
    let written = smart_count(answers, "smart-before", "host_write_commands")?;
    ensure!(written == 0, "{written} writes reached the drive");
    Ok(())
}

fn quick_test(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("run", &[0, 3])?;
    let report = std::fs::read(answers.path("run/report.pdf"))?;
    ensure!(report.starts_with(b"%PDF"), "report.pdf is not a PDF");
    let run = answers.run("run")?;
    ensure!(run.has(|entry| matches!(entry, JournalEntry::Ended)), "the journal has no end");
    let written = run.steps().take_while(|(step, _)| step.place.phase == "wipc");
    let bytes: u64 = written.map(|(_, outcome)| outcome.measurement.bytes().0).sum();
    ensure!(bytes == 2 * (MIB << 20), "{bytes} bytes of preconditioning");
    let rounds = run.steps().filter(|(step, _)| step.place.round == 5).count();
    ensure!(rounds == 9, "{rounds} steps in round 5, not 9");
    Ok(())
}

fn counters(answers: &GuestOutput) -> anyhow::Result<()> {
    let run = answers.run("run")?;
    let mut checked = 0;
    for (step, outcome) in run.steps() {
        let measurement = &outcome.measurement;
        let kernel = measurement.kernel.with_context(|| format!("{}: no counters", step.place))?;
        let merged = kernel.read_merges + kernel.write_merges;
        ensure!(merged == 0, "{}: {merged} merges", step.place);
        let ours = (total(measurement, Op::Read).1, total(measurement, Op::Write).1);
        let theirs = (kernel.read_bytes.0, kernel.write_bytes.0);
        ensure!(ours == theirs, "{}: {ours:?} bytes, the kernel {theirs:?}", step.place);
        ensure!(measurement.fault_count == 0, "{}: failed I/Os", step.place);
        checked += 1;
    }
    ensure!(checked >= 46, "{checked} steps");
    Ok(())
}

fn smart_count(answers: &GuestOutput, log: &str, field: &str) -> anyhow::Result<u64> {
    let log = answers.json(log)?;
    let value = &log[field];
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.with_context(|| format!("no {field} in {log}"))
}

/// Compares the drive's count of bytes and commands with ours and the kernel's.
fn smart(answers: &GuestOutput) -> anyhow::Result<()> {
    let run = answers.run("run")?;
    let grown = |field| -> anyhow::Result<u64> {
        let before = smart_count(answers, "smart-before", field)?;
        Ok(smart_count(answers, "smart-after", field)? - before)
    };
    let (marks, marked) = marks(&run);
    let written: u64 =
        run.steps().map(|(_, outcome)| total(&outcome.measurement, Op::Write).1).sum();
    let bytes = written + marked;
    let units = grown("data_units_written")?;
    ensure!(units.abs_diff(bytes / DATA_UNIT) <= 1, "{units} units for {bytes} bytes");
    let kernels = run.steps().filter_map(|(_, outcome)| outcome.measurement.kernel);
    let sent = marks + kernels.map(|kernel| kernel.writes).sum::<u64>();
    let taken = grown("host_write_commands")?;
    ensure!(taken == sent, "the drive took {taken} writes, the kernel sent {sent}");
    Ok(())
}

/// Checks that in steps with the drive's own count of written bytes it equals ours, within the
/// partial units at both ends. A reading may cover short steps before its own.
fn log(answers: &GuestOutput) -> anyhow::Result<()> {
    let run = answers.run("run")?;
    let steps: Vec<_> = run.steps().collect();
    let mut compared = 0;
    for (at, (step, outcome)) in steps.iter().enumerate() {
        let Some(log) = outcome.measurement.sensed.log else { continue };
        let first = at.checked_sub(log.earlier_steps as usize).context("steps before the first")?;
        let ours: u64 =
            steps[first..=at].iter().map(|(_, one)| total(&one.measurement, Op::Write).1).sum();
        let theirs = log.host_written.context("the log has no written bytes")?.0;
        ensure!(theirs.abs_diff(ours) <= 2 * DATA_UNIT, "{}: {ours}, {theirs}", step.place);
        ensure!(log.media_errors == Some(0), "{}: {log:?}", step.place);
        compared += 1;
    }
    ensure!(compared > 0, "no step has the drive's log");
    Ok(())
}

fn cache(answers: &GuestOutput) -> anyhow::Result<()> {
    for (name, wanted) in [("cache-before", 1), ("cache-meanwhile", 0), ("cache-after", 1)] {
        let found = feature_value(answers, name)?;
        ensure!(found == wanted, "{name}: {found}");
    }
    ensure!(answers.text("nomerges-after")?.trim() == "0", "queue/nomerges is not as before");
    let run = answers.run("run")?;
    let settled = run.has(|entry| {
        matches!(entry, JournalEntry::Settled { got, .. }
            if got.write_cache == Some(WriteCache::Disabled) && got.unmet.is_empty())
    });
    ensure!(settled, "the journal does not say that the write cache was off");
    let changed = run.entries().filter(|e| matches!(e, JournalEntry::HostChange(_))).count();
    let restored = run.entries().filter(|e| matches!(e, JournalEntry::HostRestored(_))).count();
    ensure!(changed == restored && changed == 2, "{changed} changes, {restored} restored");
    Ok(())
}

fn format(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("written", &[1])?;
    answers.ended("format", &[0])?;
    answers.ended("blank", &[0])?;
    let before = answers.device("devices", "/dev/nvme0n1")?;
    let after = answers.device("formatted-devices", "/dev/nvme0n1")?;
    ensure!(before == after, "{before}, then {after}");
    Ok(())
}

fn reformatted(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("format-4k", &[0])?;
    let device = answers.device("large-devices", "/dev/nvme0n1")?;
    ensure!(device["logical_sector"] == 4096, "{device}");
    ensure!(device["capacity"] == MIB << 20, "{device}");
    refused(answers, "small-transfer", "multiples of 4096 B")?;
    let answer = answers.json("large-transfer")?;
    ensure!(answer["measurement"]["fault_count"] == 0, "{answer}");
    Ok(())
}

fn purge(answers: &GuestOutput) -> anyhow::Result<()> {
    if !answers.path("purge-run.code").exists() {
        return Err(SkipReason("this build has no choice of purge (run --purge)".into()).into());
    }
    answers.ended("no-tool", &[126])?;
    answers.ended("purge-run", &[4])?;
    let run = answers.run("purge-run")?;
    let purge = run.entries().find_map(|entry| match entry {
        JournalEntry::Purged(purge) => Some(purge),
        _ => None,
    });
    let purge = purge.context("the journal has no purge")?;
    ensure!(purge.method == PurgeMethod::NvmeFormat, "{purge:?}");
    ensure!(purge.blank == Some(true), "{purge:?}");
    let read = purge.read_back.context("nothing was read back")?;
    ensure!(read.zero == read.places && read.written_before == read.places, "{read:?}");
    let device = answers.device("purged-devices", "/dev/nvme0n1")?;
    ensure!(device["logical_sector"] == 4096, "{device}");
    Ok(())
}
