//! What every PTS report must say: the head of the form, the settings, and a
//! caveat for every departure from the method and every unverified rule.

use super::method::WIPC_DEMAND;
use super::preconditioning;
use crate::exhibits::checks;
use crate::ground::applied::BLOCK_SIZE;
use crate::ground::choices::Choices;
use crate::ground::method::Covered;
use crate::parameters;
use crate::words::{number, reservation_text};
use steadfast_domain::findings::{Facts, FormBlock, FormHeader};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{
    Caveat, CaveatKind, Class, Conditions, Criteria, Demand, Device, Entry, Host, Note, Op,
    Profile, Purge, ReadBack, Record, Step, Transport, Verdict, WriteCache,
};

/// Labelled values; an unknown value prints a dash.
pub type Rows = Vec<(String, Option<String>)>;

/// A row of labelled values.
pub fn row(label: &str, value: impl Into<String>) -> (String, Option<String>) {
    (label.to_owned(), Some(value.into()))
}

/// A row whose value may be unknown.
pub fn row_maybe(label: &str, value: Option<String>) -> (String, Option<String>) {
    (label.to_owned(), value.filter(|v| !v.is_empty()))
}

/// How the report form writes a demand: `TC 4 / QD 32`.
pub fn form_demand(demand: Demand) -> String {
    format!("TC {} / QD {}", demand.threads, demand.depth)
}

/// How the report form writes several demands: each, or the first and the last.
pub fn form_demands(demands: &[Demand]) -> String {
    match demands {
        [first, .., last] if demands.len() > 3 => {
            format!("{} ... {}", form_demand(*first), form_demand(*last))
        }
        few => few.iter().map(|d| form_demand(*d)).collect::<Vec<_>>().join(", "),
    }
}

/// `T4Q32`, or the first and the last of several.
fn demands_text(demands: &[Demand]) -> String {
    match demands {
        [first, .., last] if demands.len() > 3 => format!("{first} ... {last}"),
        few => few.iter().map(Demand::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn demand_text(choices: &Choices<'_>, origin: &str) -> String {
    match choices.demands.is_empty() {
        true => "each procedure's own".to_owned(),
        false => format!("{} ({origin})", demands_text(&choices.demands)),
    }
}

/// How the report form writes a data pattern.
fn form_pattern(pattern: &DataPattern) -> String {
    match pattern {
        DataPattern::RandomUnique => "RND (unique in every sector)".into(),
        DataPattern::RandomOnce => "RND_ONCE".into(),
        other => other.to_string(),
    }
}

/// The rounds of a verdict's window, as the form writes them: `3 - 7`.
pub fn window_text(verdict: &Verdict) -> String {
    let reservation = reservation_text(verdict);
    match (verdict.steady, verdict.window) {
        (true, Some((first, last))) => format!("{first} - {last}{reservation}"),
        _ => format!("SS NOT ACHIEVED{reservation}"),
    }
}

/// `PTS-E  WCD  T4/Q32  DP=RND  AR100  Aln=4K`: the settings string of the
/// standard's secondary tables.
pub fn headline(choices: &Choices<'_>, record: &Record) -> String {
    let cache = record.conditions_last().and_then(|(got, _)| got.write_cache);
    let cache = match cache {
        Some(WriteCache::Enabled) => "WCE",
        Some(WriteCache::Disabled) => "WCD",
        None => "WC=?",
    };
    let pattern = match choices.settings.data_pattern {
        DataPattern::RandomUnique => "RND".to_owned(),
        ref other => other.to_string(),
    };
    let slashed = |demand: &Demand| format!("T{}/Q{}", demand.threads, demand.depth);
    let demands = match choices.demands.as_slice() {
        [first, .., last] if choices.demands.len() > 3 => {
            format!("{}...{}", slashed(first), slashed(last))
        }
        few => few.iter().map(slashed).collect::<Vec<_>>().join("+"),
    };
    let parts = [
        choices.method.revision.to_owned(),
        cache.to_owned(),
        demands,
        format!("DP={pattern}"),
        headline_range(choices),
        choices.alignment.as_ref().map(|a| format!("Aln={a}")).unwrap_or_default(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

/// `AR75`, or with its amount `AR75/8GiB`.
fn headline_range(choices: &Choices<'_>) -> String {
    let percents = choices.of_covered("+", |covered| covered.percent.to_string());
    let amounts = choices.of_covered("+", |covered| amount(covered).replace(' ', ""));
    match (choices.covered.is_empty(), choices.is_scattered()) {
        (true, _) => String::new(),
        (_, false) => format!("AR{percents}"),
        (_, true) => format!("AR{percents}/{amounts}"),
    }
}

/// The bytes that are touched, as the document writes them: decimal like a
/// capacity, binary where they are its own round number.
fn amount(covered: &Covered) -> String {
    match covered.range.segments {
        None => covered.range.length.to_string(),
        Some(segments) => segments.amount().binary(),
    }
}

/// What a procedure puts into the head of the report form.
pub struct Form<'a> {
    /// `IOPS Test (REQUIRED)`.
    pub test: &'a str,
    /// `IOPS - Block Size x RW Mix Matrix`.
    pub subtitle: &'a str,
    /// The block of set-up parameters; see [`loop_set_up_rows`].
    pub set_up: Rows,
    /// The block of test parameters; see [`loop_test_rows`].
    pub test_parameters: Rows,
}

/// The head of the report form (the four blocks of the SNIA form).
pub fn form_header(form: Form<'_>, choices: &Choices<'_>, record: &Record) -> FormHeader {
    let meta = |key: &str| choices.settings.meta.get(key).cloned();
    let device = record.opening().map(|(device, ..)| device);
    let blocks = vec![
        FormBlock { title: "Test Platform".into(), rows: platform_rows(record, choices) },
        FormBlock { title: "Device Under Test".into(), rows: device_rows(record, choices) },
        FormBlock { title: "Set Up Parameters".into(), rows: form.set_up },
        FormBlock { title: "Test Parameters".into(), rows: form.test_parameters },
    ];
    let lesser = choices.method.lesser;
    let (issuer, specification) = match lesser {
        None => (FormHeader::SSS_TWG, FormHeader::SSS_PTS.to_owned()),
        Some(_) => {
            ("Steadfast", format!("Profile {}: no report by the PTS", choices.settings.profile))
        }
    };
    // What the PTS requires, it requires by its own method.
    let test = match lesser {
        None => form.test,
        Some(_) => form.test.trim_end_matches(" (REQUIRED)"),
    };
    FormHeader {
        issuer: issuer.to_owned(),
        specification,
        lesser: lesser.map(str::to_owned),
        test: test.to_owned(),
        subtitle: form.subtitle.to_owned(),
        revision: choices.method.revision.to_owned(),
        vendor: meta("vendor"),
        model: meta("model").or_else(|| device.and_then(|d| d.model.clone())),
        sponsor: meta("sponsor"),
        blocks,
    }
}

fn platform_rows(record: &Record, choices: &Choices<'_>) -> Rows {
    let meta = |key: &str| choices.settings.meta.get(key).cloned();
    let (host, engine, software) = match record.opening() {
        Some((_, host, engine, software)) => (host.clone(), Some(engine), Some(software)),
        None => (Host::default(), None, None),
    };
    let memory = host.memory.map(|m| format!("{:.1} GB", m.as_gb()));
    vec![
        row_maybe("Ref Test Platform", meta("platform").or(host.product)),
        row_maybe("Motherboard", meta("motherboard").or(host.motherboard)),
        row_maybe("CPU", host.cpu),
        row_maybe("Memory", memory),
        row_maybe("Operating System", host.operating_system),
        row_maybe("Test SW", software.map(str::to_owned)),
        row_maybe("Test SW Info", engine.map(|e| short_engine(e).to_owned())),
        row_maybe("Test ID No.", meta("test-id").or_else(|| test_id(record))),
        row_maybe("HBA", meta("hba").or(host.hba)),
        row_maybe("PCIe", record.opening().and_then(|(device, ..)| device.link.clone())),
    ]
}

/// The engine's name without what it says about fall-backs.
fn short_engine(engine: &str) -> &str {
    engine.split(['(', ';', ',']).next().unwrap_or(engine).trim()
}

/// The first twelve digits of the journal's SHA-256 name a run.
fn test_id(record: &Record) -> Option<String> {
    record.digest.get(..12).map(str::to_owned)
}

fn device_rows(record: &Record, choices: &Choices<'_>) -> Rows {
    let meta = |key: &str| choices.settings.meta.get(key).cloned();
    let device = record.opening().map(|(device, ..)| device);
    let of = |f: &dyn Fn(&Device) -> Option<String>| device.and_then(f);
    let cache = record.conditions_last().and_then(|(got, _)| got.write_cache);
    vec![
        row_maybe("Mfgr", meta("vendor")),
        row_maybe("Model No.", meta("model").or_else(|| of(&|d| d.model.clone()))),
        row_maybe("S/N", of(&|d| d.serial.clone())),
        row_maybe("Firmware ver", of(&|d| d.firmware.clone())),
        row_maybe("Capacity", of(&|d| Some(d.capacity.to_string()))),
        row_maybe("Interface", of(&|d| Some(d.transport.to_string()))),
        row_maybe("NAND Type", meta("nand")),
        row_maybe("Form Factor", meta("form-factor")),
        row_maybe("Purge Method", record.purge().map(purge_method)),
        row_maybe("Write Cache", cache.map(|c| c.to_string())),
    ]
}

/// Data pattern and active range, which open the block of set-up parameters.
pub fn common_set_up_rows(choices: &Choices<'_>) -> Rows {
    vec![
        row("Data Pattern", form_pattern(&choices.settings.data_pattern)),
        row("AR", own(form_percents(choices))),
        row("AR Segments", own(choices.of_covered(", ", form_segments))),
    ]
}

/// Data pattern and active range, which open the block of test parameters.
pub fn common_test_rows(choices: &Choices<'_>) -> Rows {
    vec![
        row("Data Pattern", form_pattern(&choices.settings.data_pattern)),
        row("AR & Amount", own(form_amounts(choices))),
    ]
}

/// What stands where each part of a run has a value of its own.
fn own(text: String) -> String {
    if text.is_empty() { "each procedure's own".to_owned() } else { text }
}

fn form_percents(choices: &Choices<'_>) -> String {
    choices.of_covered(", ", |covered| format!("{}%", covered.percent))
}

fn form_segments(covered: &Covered) -> String {
    match covered.range.segments {
        None => "1 (contiguous)".to_owned(),
        Some(segments) => {
            format!("{} x {}", number(segments.count.into(), 0), segments.size.binary())
        }
    }
}

fn form_amounts(choices: &Choices<'_>) -> String {
    let sign = match (choices.covered.is_empty(), choices.is_scattered()) {
        (true, _) => return String::new(),
        (_, false) => " =",
        (_, true) => ":",
    };
    format!("{}{sign} {}", form_percents(choices), choices.of_covered(", ", amount))
}

/// A covered part in full, but for where the choice came from.
fn covered_text(covered: &Covered) -> String {
    let (percent, range) = (covered.percent, covered.range);
    let of_these = range.segments.map(|segments| {
        format!(
            ", of these {} in {} scattered segments of {} (layout seed {})",
            segments.amount().binary(),
            number(segments.count.into(), 0),
            segments.size.binary(),
            segments.seed
        )
    });
    format!(
        "{percent} % of the capacity: bytes {} to {}{}",
        range.start.0,
        range.end().0,
        of_these.unwrap_or_default()
    )
}

/// What the user noted for the form.
pub fn note_row(choices: &Choices<'_>) -> (String, Option<String>) {
    row_maybe("Note", choices.settings.meta.get("note").cloned())
}

/// What workload-independent preconditioning writes: `2 x User Capacity`.
pub fn preconditioning_amount(choices: &Choices<'_>) -> Option<String> {
    let pattern = choices.preconditioning.first()?;
    let amount = preconditioning::amount(choices.geometry, pattern.size);
    let times = amount.0 as f64 / choices.geometry.capacity.0 as f64;
    // A whole number of transfers may be a little more.
    let times = (times * 10.0).round() / 10.0;
    Some(format!("{times} x User Capacity"))
}

/// The rows of workload-independent preconditioning; dashes where there is none.
pub fn preconditioning_rows(choices: &Choices<'_>) -> Rows {
    let patterns: Vec<String> = choices.preconditioning.iter().map(|p| p.to_string()).collect();
    let passes = preconditioning_amount(choices);
    let there = passes.as_ref();
    vec![
        row_maybe("Pre Condition 1", there.map(|_| format!("{} (WIPC)", patterns.join(", ")))),
        row_maybe("TOIO - TC/QD", there.map(|_| form_demand(WIPC_DEMAND))),
        row_maybe("Duration", passes),
    ]
}

/// The set-up parameters of a mixed loop.
pub fn loop_set_up_rows(stimulus: &str, choices: &Choices<'_>, rounds: &str) -> Rows {
    let mut rows = common_set_up_rows(choices);
    rows.extend(preconditioning_rows(choices));
    rows.extend([
        row("Pre Condition 2", format!("{stimulus} (WDPC)")),
        row("TOIO - TC/QD", form_demands(&choices.demands)),
        row("SS Rounds", rounds),
        note_row(choices),
    ]);
    rows
}

/// The test parameters of a mixed loop.
pub fn loop_test_rows(stimulus: &str, choices: &Choices<'_>, rounds: &str) -> Rows {
    let mut rows = common_test_rows(choices);
    rows.extend([
        row("Test Stimulus 1", stimulus),
        row("RW Mix", "Outer Loop"),
        row("Block Sizes", "Inner Loop"),
        row("TOIO - TC/QD", form_demands(&choices.demands)),
        row("Step", choices.step_time.to_string()),
        row("Steady State", rounds),
        row_maybe("Test Stimulus 2", None),
        row_maybe("Steady State", None),
    ]);
    rows
}

/// How a run ends, in words.
pub fn ending_text(method: SteadyStateMethod) -> String {
    match method {
        SteadyStateMethod::Rounds => "stop at the first steady window (rounds)".to_owned(),
        SteadyStateMethod::Post25 => {
            "run all rounds, judge every window afterwards (post-25)".to_owned()
        }
        SteadyStateMethod::Btw => "five measurements with writes between them (btw)".to_owned(),
        other => format!("pseudo steady state ({other})"),
    }
}

/// Everything chosen, in full, for the chapter of settings.
pub fn settings_facts(choices: &Choices<'_>) -> Facts {
    let s = choices.settings;
    let given = |chosen: bool| if chosen { "chosen" } else { "by profile and class" };
    let mut rows = vec![
        row_maybe("Command line", Some(s.command.clone())),
        row("Procedure", s.procedure.clone()),
        row(
            "Profile",
            format!("{} ({})", s.profile, choices.method.lesser.unwrap_or(choices.method.document)),
        ),
        row("Class", s.class.to_string()),
        row("Demand", demand_text(choices, given(s.threads.is_some() || s.depth.is_some()))),
        row("Step time", format!("{} ({})", choices.step_time, given(s.step_time.is_some()))),
        row("Active range", range_text(choices, given(s.active_range_percent.is_some()))),
        row_maybe(
            "Rounds, at most",
            choices.rounds_max.map(|n| format!("{n} ({})", given(s.rounds_max.is_some()))),
        ),
        row("End of rounds", choices.ending.clone()),
        row_maybe("Steady state", choices.judged.then(|| criteria_text(&choices.method.criteria))),
        row_maybe("WIPC", Some(wipc_text(choices))),
        row_maybe("Alignment of offsets", choices.alignment.as_deref().map(alignment_text)),
        row("Data pattern", s.data_pattern.to_string()),
        row("Run seed", s.seed.to_string()),
        row("Verification of data", if s.verify { "on" } else { "off" }),
        row("Record version", RECORD_VERSION.to_string()),
    ];
    let gap = s.sim_gap.map(|gap| format!("before step {}, {}", gap.before, gap.lasts));
    rows.extend(gap.map(|gap| row("Simulated gap", gap)));
    rows.extend(s.meta.iter().map(|(key, value)| row(key, value.clone())));
    Facts { title: "Every setting".into(), rows }
}

fn alignment_text(alignment: &str) -> String {
    match alignment {
        BLOCK_SIZE => "the block size (BS)".to_owned(),
        other => other.to_owned(),
    }
}

fn range_text(choices: &Choices<'_>, origin: &str) -> String {
    match choices.covered.is_empty() {
        true => own(String::new()),
        false => format!("{} ({origin})", choices.of_covered("; ", covered_text)),
    }
}

/// The procedure's own parameters with their values.
pub fn parameters_facts(choices: &Choices<'_>) -> Facts {
    parameters::facts(choices.parameters, choices.settings)
}

fn criteria_text(criteria: &Criteria) -> String {
    format!(
        "{} rounds; data excursion <= {:.0} %, slope excursion <= {:.0} % of the average",
        criteria.window,
        criteria.data_excursion * 100.0,
        criteria.slope_excursion * 100.0
    )
}

fn wipc_text(choices: &Choices<'_>) -> String {
    let each = |pattern: &AccessPattern| {
        let bytes = preconditioning::amount(choices.geometry, pattern.size).0;
        format!("{pattern}, {WIPC_DEMAND}, {bytes} bytes")
    };
    choices.preconditioning.iter().map(each).collect::<Vec<_>>().join("; ")
}

/// The facts of the device, as TKperf lists them and more.
pub fn device_facts(device: &Device) -> Facts {
    let sectors =
        format!("{} B logical, {} B physical", device.logical_sector, device.physical_sector);
    let rows = vec![
        row("Device", device.path.clone()),
        row_maybe("Model number", device.model.clone()),
        row_maybe("Serial number", device.serial.clone()),
        row_maybe("Firmware revision", device.firmware.clone()),
        row_maybe("World-wide identifier", device.wwid.clone()),
        row("User capacity", format!("{} ({} bytes)", device.capacity, device.capacity.0)),
        row("Sectors", sectors),
        row("Interface", device.transport.to_string()),
        row_maybe("Link", device.link.clone()),
        row_maybe("Rotational", device.rotational.map(|r| if r { "yes" } else { "no" }.into())),
        row("Discard", if device.discard { "yes" } else { "no" }),
        row_maybe("Write cache as found", device.write_cache.map(|c| c.to_string())),
    ];
    Facts { title: "Tested device".into(), rows }
}

/// The facts of the machine and the program.
pub fn host_facts(record: &Record) -> Facts {
    let Some((_, host, engine, software)) = record.opening() else {
        return Facts { title: "Performance system".into(), rows: Vec::new() };
    };
    let processors = host.cpus.map(|n| n.to_string());
    let rows = vec![
        row("Software", software),
        row("Engine", engine),
        row_maybe("Host", host.name.clone()),
        row_maybe("System", host.product.clone()),
        row_maybe("Mainboard", host.motherboard.clone()),
        row_maybe("Processor", host.cpu.clone()),
        row_maybe("Processors online", processors),
        row_maybe("Memory", host.memory.map(|m| m.to_string())),
        row_maybe("Frequency governor", host.governor.clone()),
        row_maybe("Kernel version", host.kernel.clone()),
        row_maybe("Distribution", host.operating_system.clone()),
        row_maybe("Controller", host.hba.clone()),
    ];
    Facts { title: "Performance system".into(), rows }
}

/// What was asked of host and device and what was read back.
pub fn conditions_facts(record: &Record) -> Facts {
    let (wanted, got) = match record.conditions() {
        Some((wanted, got)) => (wanted.clone(), got.clone()),
        None => (Conditions::default(), Conditions::default()),
    };
    let asked = |value: Option<String>| value.unwrap_or_else(|| "as it is".into());
    let merges = |m: bool| if m { "allowed" } else { "off (nomerges=2)" }.to_owned();
    let mut rows = vec![
        row("Write cache, asked for", asked(wanted.write_cache.map(|c| c.to_string()))),
        row_maybe("Write cache, read back", got.write_cache.map(|c| c.to_string())),
        row("Request merging, asked for", asked(wanted.merges.map(merges))),
        row_maybe("Request merging, read back", got.merges.map(merges)),
        row_maybe("I/O scheduler", got.scheduler),
        row_maybe("Longest request", got.request_kib_max.map(|kib| format!("{kib} KiB"))),
    ];
    rows.extend(record.entries.iter().filter_map(|entry| match entry {
        Entry::Resettled { got, when } => {
            let when = when.map_or("on resume".to_owned(), |when| when.to_string());
            let cache = got.write_cache.map(|c| c.to_string());
            Some(row_maybe(&format!("Write cache, read back {when}"), cache))
        }
        _ => None,
    }));
    if let Some(purge) = record.purge() {
        let said = |read: ReadBack| format!(": {read}");
        let read = purge.read_back.map(said).unwrap_or_default();
        let blank = purge.blank.map(|b| format!("{}{read}", if b { "yes" } else { "NO" }));
        rows.push(row("Purge", purge.method.to_string()));
        rows.push(row("Purge took", purge.took.to_string()));
        rows.push(row_maybe("Blank on read-back", blank));
        rows.extend(purge.failed.as_ref().map(|why| row("Purge FAILED", why.clone())));
        rows.push(row_maybe("Purge remark", Some(purge.remark.clone())));
    }
    Facts { title: "Conditions and purge".into(), rows }
}

/// Every caveat of a PTS run.
pub fn caveats(choices: &Choices<'_>, record: &Record) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    caveats.extend(of_the_target(record));
    caveats.extend(of_the_method(choices));
    caveats.extend(of_the_purge(record));
    caveats.extend(of_the_conditions(record));
    caveats.extend(of_gaps(choices, record));
    caveats.extend(of_faults(record));
    caveats.extend(of_kernel_counts(record));
    caveats.extend(of_the_processor(choices, record));
    caveats.extend(checks::caveats(record));
    caveats.extend(of_unverified_rules(choices));
    caveats.extend(parameters::caveats(choices.parameters, choices.settings));
    caveats.extend(record.notes().filter_map(|note| match note {
        Note::Caveat(caveat) => Some(caveat.clone()),
        _ => None,
    }));
    caveats
}

fn of_the_target(record: &Record) -> Vec<Caveat> {
    let Some((device, ..)) = record.opening() else { return Vec::new() };
    match device.transport {
        Transport::Simulated => vec![Caveat::new(
            CaveatKind::Invalidates,
            "simulated",
            "SIMULATED: the device exists in virtual time only; no number here is a measurement.",
            "Name a block device with --target to measure one.",
        )],
        Transport::File => vec![Caveat::new(
            CaveatKind::Deviation,
            "file-target",
            "The target is a file: its file system, and whatever else is on that disk, is part \
             of every number.",
            "Test the block device itself.",
        )],
        Transport::Loop | Transport::Zram | Transport::Mapped | Transport::Virtio => {
            vec![Caveat::new(
                CaveatKind::Deviation,
                "virtual-device",
                format!(
                    "{} is a {} device: its numbers are those of what lies beneath it.",
                    device.path, device.transport
                ),
                "Test the physical device.",
            )]
        }
        _ => Vec::new(),
    }
}

fn of_the_method(choices: &Choices<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut deviation = |id: &str, text: String, remedy: &str| {
        caveats.push(Caveat::new(CaveatKind::Deviation, id, text, remedy));
    };
    let (settings, method) = (choices.settings, choices.method);
    if choices.step_time != method.step_time {
        let text = format!("Steps of {} instead of {}.", choices.step_time, method.step_time);
        deviation("step-time", text, "Leave --step-time out.");
    }
    let mut percents = choices.covered.iter().map(|covered| covered.percent);
    if let Some(percent) = percents.find(|percent| *percent != method.active_range_percent) {
        let text = format!(
            "Active range {percent} % instead of the class's {} %.",
            method.active_range_percent
        );
        deviation("active-range", text, "Leave --active-range out.");
    }
    if !matches!(settings.data_pattern, DataPattern::RandomUnique | DataPattern::RandomOnce) {
        let text =
            format!("Data pattern {} instead of the required random data.", settings.data_pattern);
        deviation("data-pattern", text, "Leave --data-pattern out.");
    }
    if let Some(rounds) = choices.rounds_max.filter(|rounds| *rounds < method.rounds_max)
        && settings.profile != Profile::Quick
    {
        let text = format!("At most {rounds} rounds instead of {}.", method.rounds_max);
        deviation("rounds-max", text, "Go on with `steadfast resume RUN_DIR --rounds 25`.");
    }
    if !choices.block_sizes_left_out.is_empty() {
        let sizes: Vec<_> =
            choices.block_sizes_left_out.iter().map(|s| s.transfer_size()).collect();
        let text = format!(
            "Block size {} left out: smaller than the logical sector of {} bytes.",
            sizes.join(", "),
            choices.geometry.logical_sector
        );
        deviation("block-size-left-out", text, "");
    }
    caveats.extend(of_the_profile(choices));
    caveats
}

fn of_the_profile(choices: &Choices<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    match choices.settings.profile {
        Profile::Quick => caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            "quick",
            format!(
                "NOT THE FULL METHOD: {} A drive's caches and its housekeeping do not show in \
                 steps so short.",
                choices.quick
            ),
            "Run --profile pts-2.0.",
        )),
        Profile::Tkperf => {
            caveats.push(Caveat::new(CaveatKind::Deviation, "tkperf-mended", choices.tkperf, ""))
        }
        Profile::Pts11 | Profile::Pts20 => {}
    }
    let chosen = choices.demands.first().copied();
    if let (Some(chosen), Some(recommended)) = (chosen, choices.recommended)
        && chosen != recommended
    {
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            "demand",
            format!(
                "Demand {chosen}: the operator's choice; {recommended} is recommended for class \
                 {}.",
                choices.settings.class
            ),
            "",
        ));
    }
    caveats
}

/// What stands in the header's field.
fn purge_method(purge: &Purge) -> String {
    match purge.failed {
        Some(_) => format!("{}, FAILED", purge.method),
        None => purge.method.to_string(),
    }
}

/// A purge's remark as a part of a sentence.
fn remark(remark: &str) -> String {
    match remark.trim_end_matches('.') {
        "" => String::new(),
        remark => format!(" ({remark})"),
    }
}

fn of_the_purge(record: &Record) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = Vec::new();
    for caveat in record.purges().flat_map(of_one_purge) {
        // A procedure that purges more than once says the same once.
        if !caveats.iter().any(|earlier| earlier.id == caveat.id) {
            caveats.push(caveat);
        }
    }
    caveats
}

fn of_one_purge(purge: &Purge) -> Vec<Caveat> {
    if let Some(why) = &purge.failed {
        return vec![Caveat::new(
            CaveatKind::Deviation,
            "purge-failed",
            format!("Purge: {} FAILED, and the run went on: {why}.", purge.method),
            "The numbers are of a device that keeps its history; purge it and run again.",
        )];
    }
    let mut caveats = Vec::new();
    if !purge.method.in_standard() {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            "purge-lesser",
            format!(
                "Purge: {}{}. It is not among the standard's methods (ATA SECURITY ERASE, SCSI \
                 FORMAT UNIT, NVMe Format, a vendor's command).",
                purge.method,
                remark(&purge.remark)
            ),
            "Purge the drive with its own command (--purge; docs/purge.md lists them), or before \
             the run with its maker's tool, and say so with --meta note=...",
        ));
    }
    caveats.extend(of_the_read_back(purge));
    caveats
}

/// A cryptographic erase may leave noise; any other purge leaves blank blocks.
fn of_the_read_back(purge: &Purge) -> Option<Caveat> {
    if purge.blank != Some(false) {
        return None;
    }
    let found = purge.read_back.map(|read| format!(" ({read})")).unwrap_or_default();
    Some(match purge.method.is_cryptographic() {
        true => Caveat::new(
            CaveatKind::Remark,
            "purge-not-blank",
            format!("After the purge, blocks read as noise under the new key{found}."),
            "",
        ),
        false => Caveat::new(
            CaveatKind::Deviation,
            "purge-not-blank",
            format!("After the purge, blocks read back were not blank{found}."),
            "Check the drive's purge command.",
        ),
    })
}

fn of_the_conditions(record: &Record) -> Vec<Caveat> {
    let Some((wanted, got)) = record.conditions() else { return Vec::new() };
    let mut caveats: Vec<Caveat> = got
        .unmet
        .iter()
        .map(|text| Caveat::new(CaveatKind::Deviation, "condition-unmet", text.clone(), ""))
        .collect();
    let last = record.conditions_last().map_or(got, |(got, _)| got);
    let told = got.unmet.iter().any(|text| text.contains("write cache"));
    if wanted.write_cache.is_some() && wanted.write_cache != last.write_cache && !told {
        let state = last.write_cache.map_or("unknown".to_owned(), |c| c.to_string());
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            "write-cache",
            format!("The volatile write cache is {state}; the class asks for it otherwise."),
            "Set it with the drive's own tool before the run.",
        ));
    }
    caveats
}

/// What a gap does to a mixed loop and to the preconditioning before it.
pub fn loop_gap_effect(step: &Step) -> &'static str {
    match (step.place.round, step.place.point) {
        (0, _) => "Preconditioning went on from its last checkpoint.",
        (_, 2..) => "That round is void, and the steady-state window begins anew after it.",
        _ => "The steady-state window begins anew with that round.",
    }
}

fn of_gaps(choices: &Choices<'_>, record: &Record) -> Vec<Caveat> {
    record
        .steps()
        .filter_map(|(step, outcome)| {
            let gap = outcome.gap_before.as_ref()?;
            let effect = (choices.gap_effect)(step);
            Some(Caveat::new(
                CaveatKind::Deviation,
                "gap",
                format!("Gap of {} before {}: {}. {effect}", gap.length(), step.place, gap.cause),
                "The standard allows no gaps; repeat the run where the numbers matter.",
            ))
        })
        .collect()
}

fn of_faults(record: &Record) -> Vec<Caveat> {
    let count: u64 = record.steps().map(|(_, outcome)| outcome.measurement.fault_count).sum();
    let miscompares: u64 = record
        .steps()
        .filter_map(|(_, outcome)| outcome.measurement.verification.as_ref())
        .map(|v| v.miscompares)
        .sum();
    let mut caveats = Vec::new();
    if count > 0 {
        let first = record.steps().find_map(|(step, outcome)| {
            let fault = outcome.measurement.faults.first()?;
            Some(format!(
                "the first in {}: a {} of {} bytes at byte {}, errno {}",
                step.place,
                operation(fault.op),
                fault.size.0,
                fault.offset.0,
                fault.errno
            ))
        });
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            "faults",
            format!("{count} I/Os failed; {}.", first.unwrap_or_default()),
            "Look at the kernel log and the drive's error log.",
        ));
    }
    if miscompares > 0 {
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            "miscompares",
            format!("{miscompares} sectors read back did not hold what this run had written."),
            "Do not trust this drive with data.",
        ));
    }
    caveats
}

fn operation(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    }
}

/// The kernel's own counts must be what was issued: no merges, equal bytes.
fn of_kernel_counts(record: &Record) -> Vec<Caveat> {
    let mut merged = 0;
    let mut split = 0;
    for (_, outcome) in record.steps() {
        let Some(kernel) = outcome.measurement.kernel else { continue };
        merged += u64::from(kernel.read_merges + kernel.write_merges > 0);
        let ours: u64 = outcome.measurement.streams.iter().map(|s| s.tally.ios).sum();
        let mean = outcome.measurement.bytes().0.checked_div(ours).unwrap_or(0);
        let moved = kernel.read_bytes.0 + kernel.write_bytes.0;
        let theirs = moved.checked_div(kernel.reads + kernel.writes).unwrap_or(0);
        split += u64::from(mean > 0 && theirs > 0 && theirs * 10 < mean * 9);
    }
    let mut caveats = Vec::new();
    if merged > 0 {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            "merges",
            format!("In {merged} steps the kernel merged I/Os: the device saw other sizes."),
            "Set queue/nomerges to 2.",
        ));
    }
    if split > 0 {
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            "split",
            format!(
                "In {split} steps the host split I/Os: the device saw smaller transfers than \
                 were asked for."
            ),
            "Raise queue/max_sectors_kb where the hardware limit allows it.",
        ));
    }
    caveats
}

/// Above this part of a processor per thread, the host may be what is measured
/// (our choice).
const BUSY: f64 = 0.90;

/// For records whose engine did not tell of its busiest thread; where it did,
/// `secondary` looks at that.
fn of_the_processor(choices: &Choices<'_>, record: &Record) -> Vec<Caveat> {
    let busy: Vec<&str> = record
        .steps()
        .filter(|(step, outcome)| {
            choices.measures(step) && outcome.measurement.sensed.busiest_thread.is_none()
        })
        .filter_map(|(step, outcome)| {
            let measurement = &outcome.measurement;
            let cpu = measurement.cpu?;
            let threads = step.load.stimulus()?.demand.threads;
            let processors = record.opening().and_then(|(_, host, ..)| host.cpus)?;
            let available = measurement.elapsed.as_secs_f64() * f64::from(threads.min(processors));
            let used = cpu.user.as_secs_f64() + cpu.system.as_secs_f64();
            (used > BUSY * available).then_some(step.place.label.as_str())
        })
        .collect();
    let Some(example) = busy.first() else { return Vec::new() };
    vec![Caveat::new(
        CaveatKind::Remark,
        "processor-bound",
        format!(
            "In {} steps (such as {example}) the I/O threads used over {:.0} % of their \
             processors: the host, not the device, may be the limit.",
            busy.len(),
            BUSY * 100.0
        ),
        "Use a faster host or more threads, and compare.",
    )]
}

fn of_unverified_rules(choices: &Choices<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut unverified = |id: &str, text: String| {
        caveats.push(Caveat::new(CaveatKind::Unverified, id, text, ""));
    };
    let preconditions = !choices.preconditioning.is_empty();
    if choices.judged {
        unverified(
            "ss-inclusive",
            "Steady state: both limits are taken as inclusive (the standard's heading says \
             'less than', its body 'no more than' and 'within')."
                .into(),
        );
    }
    if preconditions {
        unverified(
            "wipc-demand",
            format!(
                "WIPC runs at {WIPC_DEMAND}; the 2.0.2 pseudo-code can also be read as the \
                 test's own demand."
            ),
        );
    }
    if preconditions && choices.covered.iter().any(|covered| covered.percent < 100) {
        unverified(
            "wipc-amount",
            "WIPC writes twice the full user capacity inside the smaller active range; the \
             standard can also be read as twice the active range."
                .into(),
        );
    }
    if choices.settings.class == Class::Client && choices.settings.profile != Profile::Pts11 {
        unverified(
            "ar-layout",
            "The active range is the first part of the capacity, contiguous; whether 2.0.x keeps \
             the client 1.x layout of 2,048 segments could not be checked."
                .into(),
        );
    }
    if choices.settings.steady_state == SteadyStateMethod::Post25 {
        unverified(
            "post-25-window",
            "Of the windows found steady afterwards, the first is reported; the standard leaves \
             the choice to inspection."
                .into(),
        );
    }
    caveats
}
