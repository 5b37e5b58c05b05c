//! Device-mapper targets that delay, drop, damage and fail I/Os.

use crate::answers::GuestOutput;
use crate::cases::checks::{check_bad_sector, refused, total};
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};
use steadfast_domain::measurement::Verification;
use steadfast_domain::{Measurement, Nanos, Op};

/// Bytes of the mapped device; the script has its sectors.
const CAPACITY: u64 = 64 << 20;

/// First sector that cannot be read; the script has the same.
const BAD_SECTOR: u64 = 40_960;

/// Transfer size of verify-write, of which dm-flakey damages byte 5000: its tenth sector.
const TRANSFER: u64 = 128 << 10;
const DAMAGED_BYTE: u64 = 9 * 512;

pub fn guest() -> Guest {
    Guest {
        drives: vec![GuestDrive::nvme("LABMAP1", Medium::new(128))],
        cases: vec![
            Case::new("dm-delay: no response is shorter than the delay", delayed),
            Case::new("a drive below dm-delay is refused", |a| refused(a, "below", "held by dm-0")),
            Case::new("dm-error: failed reads are counted and located", |a| {
                check_bad_sector(a, "bad", BAD_SECTOR, CAPACITY)
            }),
            Case::new("dm-flakey: writes fail, reads do not", failing),
            Case::new("dm-flakey: every dropped write is found", dropped),
            Case::new("dm-flakey: damaged sectors are found where they are", damaged),
        ],
        ..Guest::new("mapped", include_str!("mapped.sh"), 900)
    }
}

/// Returns the measurement that a command printed, whatever its exit code.
fn measured(answers: &GuestOutput, name: &str) -> anyhow::Result<Measurement> {
    Ok(serde_json::from_value(answers.printed(name)?["measurement"].take())?)
}

fn delayed(answers: &GuestOutput) -> anyhow::Result<()> {
    for (name, op, delay, depth) in [
        ("slow-read", Op::Read, 50, 1),
        ("slow-write", Op::Write, 100, 1),
        ("slow-deep", Op::Read, 50, 4),
    ] {
        let measurement = measured(answers, name)?;
        let tally = measurement.direction(op);
        let shortest = tally.response_shortest().context("no response")?;
        ensure!(shortest >= Nanos::from_millis(delay), "{name}: {shortest}");
        let most = depth * 1000 / delay;
        let rate = tally.ios as f64 / measurement.elapsed.as_secs_f64();
        ensure!(rate <= most as f64 && rate > most as f64 / 2.0, "{name}: {rate} of {most}");
    }
    Ok(())
}

fn failing(answers: &GuestOutput) -> anyhow::Result<()> {
    answers.ended("failing-reads", &[0])?;
    ensure!(total(&measured(answers, "failing-reads")?, Op::Read).0 == 100, "not all reads");
    answers.ended("failing-writes", &[1])?;
    let measurement = measured(answers, "failing-writes")?;
    let done = total(&measurement, Op::Write).0;
    ensure!(done == 0 && measurement.fault_count > 0, "{done} writes succeeded");
    Ok(())
}

/// Returns what a run of verify-write compared, all of the device.
fn verified(answers: &GuestOutput, name: &str, end: &str) -> anyhow::Result<Verification> {
    let findings = answers.json(&format!("study-{name}"))?;
    ensure!(findings["end"] == end, "{name}: {}", findings["ending"]);
    let run = answers.run(&format!("run-{name}"))?;
    let mut all = Verification::default();
    run.steps()
        .filter_map(|(_, outcome)| outcome.measurement.verification.as_ref())
        .for_each(|verification| all.merge(verification));
    let compared = all.sectors_right + all.miscompares;
    ensure!(compared == CAPACITY / 512, "{name}: {compared} sectors compared");
    Ok(all)
}

fn dropped(answers: &GuestOutput) -> anyhow::Result<()> {
    let honest = verified(answers, "honest", "complete")?;
    ensure!(honest.miscompares == 0, "{honest:?}");
    let dropped = verified(answers, "dropped", "failed")?;
    ensure!(dropped.sectors_right == 0, "{dropped:?}");
    Ok(())
}

fn damaged(answers: &GuestOutput) -> anyhow::Result<()> {
    let found = verified(answers, "damaged", "failed")?;
    // One of 256 bytes has the value that it is given.
    let transfers = CAPACITY / TRANSFER;
    ensure!((transfers - 12..=transfers).contains(&found.miscompares), "{found:?}");
    let is_damaged = |offset: u64| offset % TRANSFER == DAMAGED_BYTE;
    ensure!(found.first.iter().all(|offset| is_damaged(offset.0)), "{found:?}");
    Ok(())
}
