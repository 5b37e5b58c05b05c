//! Time before a resumed run in which no run held the device, and the bytes written to it
//! meanwhile.
//!
//! The gap starts with the last operation on the device, whatever was journaled since: a run that
//! was resumed and died again, or whose host settings were restored, did not use it. Within one
//! boot the boot clock is used, which cannot be set. Across a reboot there is only the wall clock,
//! and its result must be plausible.

use crate::ledger::{ClockReading, JournalLine, is_measured};
use steadfast_domain::{Gap, JournalEntry, Nanos, Proof};

/// Returns the gap between the last operation on the device and now; `None` if there was none.
pub fn gap(lines: &[JournalLine], now: ClockReading, proof: Option<Proof>) -> Option<Gap> {
    let last_use = lines.iter().rposition(|line| used_device(&line.entry))?;
    let then = proof_of(&lines[..last_use]);
    let boot = |proof: Option<&Proof>| proof.and_then(|proof| proof.boot.clone());
    let (boot_then, boot_now) = (boot(then), boot(proof.as_ref()));
    let lasted = gap_length(&lines[last_use..], boot_then.as_deref(), now, boot_now.as_deref());
    let written = match (then, &proof) {
        (Some(then), Some(proof)) if is_same_attachment(then, proof) => {
            let counted = lines[last_use].kernel.zip(now.kernel);
            counted.map(|(then, now)| now.since(&then).write_bytes)
        }
        _ => None,
    };
    Some(Gap { cause: cause(&lines[last_use..]), lasted, written })
}

/// Returns true if the host restarted while the run was writing the blocks of a power cut.
pub fn restarted_in_trial(lines: &[JournalLine], now: Option<&Proof>) -> bool {
    let is_trial = |line: &JournalLine| matches!(line.entry, JournalEntry::PowerCutBegan { .. });
    let Some(began) = lines.iter().rposition(is_trial) else { return false };
    // A process that halted, or was resumed in the same boot, was not cut off by a restart. What
    // happened to the processes after the first that resumed it does not count.
    let after = &lines[began..];
    let is_opening = |line: &JournalLine| matches!(line.entry, JournalEntry::Opened { .. });
    let resumed = after.iter().position(is_opening);
    let written = &after[..resumed.unwrap_or(after.len())];
    let halted = written.iter().any(|line| matches!(line.entry, JournalEntry::Halted(_)));
    let then = proof_of(&lines[..began]).and_then(|proof| proof.boot.as_deref());
    let now = resumed.map_or(now, |at| proof_of(&after[..=at]));
    let now = now.and_then(|proof| proof.boot.as_deref());
    !halted && then.is_some() && now.is_some() && then != now
}

/// Returns true if the kernel's counters were not reset: they start at 0 when a disk is attached.
fn is_same_attachment(then: &Proof, now: &Proof) -> bool {
    let attached =
        |proof: &Proof| Some((proof.boot.clone()?, proof.number.clone()?, proof.sequence?));
    attached(then).is_some() && attached(then) == attached(now)
}

fn used_device(entry: &JournalEntry) -> bool {
    is_measured(entry) && !matches!(entry, JournalEntry::Noted(_))
}

/// Returns the proof of the device by the process that wrote the last of these lines.
fn proof_of(lines: &[JournalLine]) -> Option<&Proof> {
    lines.iter().rev().find_map(|line| match &line.entry {
        JournalEntry::Opened { proof, .. } => Some(proof.as_deref()),
        _ => None,
    })?
}

/// Returns the time from the first of these lines until now; `None` if the clocks are
/// inconsistent.
fn gap_length(
    lines: &[JournalLine],
    boot: Option<&str>,
    now: ClockReading,
    boot_now: Option<&str>,
) -> Option<Nanos> {
    let last_use = lines.first()?;
    if boot.is_some()
        && boot == boot_now
        && let (Some(then), Some(up)) = (last_use.up, now.up)
    {
        return up.0.checked_sub(then.0).map(Nanos);
    }
    let times = lines.iter().map(|line| line.at).chain([now.unix_ms]);
    if !times.is_sorted() {
        return None;
    }
    let lasted = Nanos::from_millis(now.unix_ms - last_use.at);
    // A machine rebooted since then must have been up for less than the gap.
    let was_restarted = boot.is_some() && boot_now.is_some() && boot != boot_now;
    let possible = !was_restarted || now.up.is_none_or(|up| up <= lasted);
    possible.then_some(lasted)
}

fn cause(lines: &[JournalLine]) -> String {
    let stated = lines.iter().rev().find_map(|line| match &line.entry {
        JournalEntry::Halted(why) => Some(why.clone()),
        JournalEntry::Ended => Some("the procedure had ended".to_owned()),
        _ => None,
    });
    stated.unwrap_or_else(|| "the process exited without an error message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::measurement::KernelCounters;
    use steadfast_domain::power_cut::{PowerCounters, PowerCutTrial};
    use steadfast_domain::record::HostChange;
    use steadfast_domain::{Bytes, Device, Transport};

    const SECOND: u64 = 1_000;

    fn boot(name: &str) -> Option<Proof> {
        Some(Proof { boot: Some(name.to_owned()), ..Proof::default() })
    }

    fn opened(proof: Option<Proof>) -> JournalEntry {
        JournalEntry::Opened {
            software: String::new(),
            engine: String::new(),
            device: Box::new(Device::new("/dev/x", Transport::Other, Bytes::gib(1))),
            host: Box::default(),
            proof: proof.map(Box::new),
            directory: None,
        }
    }

    fn line(at: u64, up: Option<u64>, entry: JournalEntry) -> JournalLine {
        JournalLine { n: 1, at, up: up.map(Nanos::from_secs), kernel: None, entry }
    }

    fn now(at: u64, up: u64) -> ClockReading {
        ClockReading { unix_ms: at, up: Some(Nanos::from_secs(up)), kernel: None }
    }

    fn lasted(lines: &[JournalLine], now: ClockReading, proof: Option<Proof>) -> Option<Nanos> {
        gap(lines, now, proof).unwrap().lasted
    }

    fn seconds(seconds: u64) -> Option<Nanos> {
        Some(Nanos::from_secs(seconds))
    }

    /// A step in the boot `a`, 1000 s after its start.
    fn a_step() -> Vec<JournalLine> {
        vec![
            line(5000 * SECOND, Some(990), opened(boot("a"))),
            line(5010 * SECOND, Some(1000), JournalEntry::Idled(Nanos(1))),
        ]
    }

    #[test]
    fn the_gap_starts_with_the_last_step() {
        let mut lines = a_step();
        assert_eq!(lasted(&lines, now(5030 * SECOND, 1020), boot("a")), seconds(20));
        lines.push(line(5015 * SECOND, Some(1005), opened(boot("a"))));
        lines.push(line(5016 * SECOND, Some(1006), JournalEntry::Halted("stopped".into())));
        lines.push(line(5029 * SECOND, None, JournalEntry::HostRestored(HostChange::default())));
        assert_eq!(lasted(&lines, now(5030 * SECOND, 1020), boot("a")), seconds(20));
        // Resumed after a restart, without a step.
        lines.push(line(5030 * SECOND, Some(3), opened(boot("b"))));
        assert_eq!(lasted(&lines, now(5040 * SECOND, 13), boot("b")), seconds(30));
        let gap = gap(&lines, now(5040 * SECOND, 13), boot("b")).unwrap();
        assert_eq!(gap.cause, "stopped");
        assert_eq!(super::gap(&lines[..1], now(1, 1), None), None);
    }

    #[test]
    fn within_a_boot_the_wall_clock_is_ignored() {
        for wall in [0, 5000 * SECOND, 5010 * SECOND, 9_999_999 * SECOND] {
            assert_eq!(lasted(&a_step(), now(wall, 1020), boot("a")), seconds(20), "{wall}");
        }
        assert_eq!(lasted(&a_step(), now(6000 * SECOND, 999), boot("a")), None, "backwards");
    }

    #[test]
    fn across_a_restart_an_impossible_gap_is_unknown() {
        let of = |wall, up| lasted(&a_step(), now(wall, up), boot("b"));
        assert_eq!(of(5110 * SECOND, 60), seconds(100));
        assert_eq!(of(5009 * SECOND, 60), None, "the clock was set back");
        assert_eq!(of(5050 * SECOND, 60), None, "shorter than this boot");
        // Set back, and forward again in between.
        let mut lines = a_step();
        lines.push(line(4000 * SECOND, None, JournalEntry::HostRestored(HostChange::default())));
        assert_eq!(lasted(&lines, now(5110 * SECOND, 60), boot("b")), None);
    }

    /// A step after which the kernel had counted 4096 bytes, on disk 7 of boot `a`.
    #[test]
    fn bytes_written_in_a_gap_are_counted_while_the_disk_stays_attached() {
        let attached = |boot: &str, sequence| {
            let (boot, number) = (Some(boot.to_owned()), Some("7:0".to_owned()));
            Some(Proof { boot, number, sequence, ..Proof::default() })
        };
        let counted =
            |bytes| Some(KernelCounters { write_bytes: Bytes(bytes), ..KernelCounters::default() });
        let mut lines = [
            line(5000 * SECOND, Some(990), opened(attached("a", Some(7)))),
            line(5010 * SECOND, Some(1000), JournalEntry::Idled(Nanos(1))),
        ];
        lines[1].kernel = counted(4096);
        let now = ClockReading { kernel: counted(4096 + 218_000_000), ..now(5030 * SECOND, 1020) };
        let written = |lines: &[JournalLine], now, proof| gap(lines, now, proof).unwrap().written;
        assert_eq!(written(&lines, now, attached("a", Some(7))), Some(Bytes(218_000_000)));
        for other in [attached("b", Some(7)), attached("a", Some(8)), attached("a", None), None] {
            assert_eq!(written(&lines, now, other.clone()), None, "{other:?}");
        }
        let uncounted = ClockReading { kernel: None, ..now };
        assert_eq!(written(&lines, uncounted, attached("a", Some(7))), None);
        lines[1].kernel = None;
        assert_eq!(written(&lines, now, attached("a", Some(7))), None);
    }

    #[test]
    fn only_a_restart_during_the_writes_is_a_power_cut() {
        let trial = Box::new(PowerCutTrial {
            cycle: 1,
            start: Bytes(0),
            block: Bytes(4096),
            blocks: 32,
            sector: 512,
            flush_every: 32,
            cut_after: Nanos::SECOND,
            cut_limit: Nanos::SECOND,
            return_limit: Nanos::SECOND,
            seed: 1,
        });
        let began = || JournalEntry::PowerCutBegan {
            trial: trial.clone(),
            nonce: 1,
            command: None,
            counters: PowerCounters::default(),
            without_flushes: false,
        };
        let mut lines = a_step();
        let restarted =
            |lines: &[JournalLine], now: &str| restarted_in_trial(lines, boot(now).as_ref());
        assert!(!restarted(&lines, "b"), "no trial had begun");
        lines.push(line(5011 * SECOND, Some(1001), began()));
        assert!(restarted(&lines, "b") && !restarted(&lines, "a"));
        assert!(!restarted_in_trial(&lines, None), "unknown");
        let halted = || line(5012 * SECOND, Some(1002), JournalEntry::Halted("stopped".into()));
        let resumed = |name: &str| line(5012 * SECOND, Some(1002), opened(boot(name)));
        let in_same_boot = [&lines[..], &[resumed("a")]].concat();
        assert!(!restarted(&in_same_boot, "b"), "it had been killed before");
        let in_next_boot = [&lines[..], &[resumed("b"), halted()]].concat();
        assert!(restarted(&in_next_boot, "b"), "only the reading was stopped");
        lines.push(halted());
        assert!(!restarted(&lines, "b"), "it had been stopped before");
    }

    #[test]
    fn without_a_boot_clock_the_wall_clock_counts() {
        let lines =
            [line(SECOND, None, opened(None)), line(SECOND, None, JournalEntry::Idled(Nanos(1)))];
        assert_eq!(lasted(&lines, now(21 * SECOND, 5), boot("a")), seconds(20));
        assert_eq!(lasted(&lines, ClockReading::from(0), None), None);
    }
}
