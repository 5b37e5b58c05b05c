//! A caveat for everything of a run that is not as the method has it.

use crate::exhibits::checks;
use crate::ground::choices::Choices;
use crate::ground::preconditioning::WIPC_DEMAND;
use crate::parameters;
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{
    Caveat, CaveatKind, Class, Note, Op, Profile, Purge, Record, Transport, caveats as ids,
};

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
            ids::SIMULATED,
            "SIMULATED: the device exists in virtual time only; no number here is a measurement.",
            "Name a block device with --target to measure one.",
        )],
        Transport::File => vec![Caveat::new(
            CaveatKind::Deviation,
            ids::FILE_TARGET,
            "The target is a file: its file system and everything else on that disk affect every \
             number.",
            "Test the block device itself.",
        )],
        Transport::Loop | Transport::Zram | Transport::Mapped | Transport::Virtio => {
            vec![Caveat::new(
                CaveatKind::Deviation,
                ids::VIRTUAL_DEVICE,
                format!(
                    "{} is a {} device: its numbers are those of the devices beneath it.",
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
        deviation(ids::STEP_TIME, text, "Omit --step-time.");
    }
    let mut percents = choices.covered.iter().map(|covered| covered.percent);
    if let Some(percent) = percents.find(|percent| *percent != method.active_range_percent) {
        let text = format!(
            "Active range {percent} % instead of the class's {} %.",
            method.active_range_percent
        );
        deviation(ids::ACTIVE_RANGE, text, "Omit --active-range.");
    }
    if !matches!(settings.data_pattern, DataPattern::RandomUnique | DataPattern::RandomOnce) {
        let text =
            format!("Data pattern {} instead of the required random data.", settings.data_pattern);
        deviation(ids::DATA_PATTERN, text, "Omit --data-pattern.");
    }
    if let Some(rounds) = choices.rounds_max.filter(|rounds| *rounds < method.rounds_max)
        && settings.profile != Profile::Quick
    {
        let text = format!("At most {rounds} rounds instead of {}.", method.rounds_max);
        deviation(ids::ROUNDS_MAX, text, "Continue with `steadfast resume RUN_DIR --rounds 25`.");
    }
    if !choices.block_sizes_left_out.is_empty() {
        let sizes: Vec<_> =
            choices.block_sizes_left_out.iter().map(|s| s.transfer_size()).collect();
        let text = format!(
            "Block size {} omitted: smaller than the logical sector of {} bytes.",
            sizes.join(", "),
            choices.geometry.logical_sector
        );
        deviation(ids::BLOCK_SIZE_LEFT_OUT, text, "");
    }
    caveats.extend(of_the_profile(choices));
    caveats
}

fn of_the_profile(choices: &Choices<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    match choices.settings.profile {
        Profile::Quick if !choices.quick.is_empty() => caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            ids::QUICK,
            format!(
                "NOT THE FULL METHOD: {} Steps this short do not show a drive's caches and \
                 housekeeping.",
                choices.quick
            ),
            "Use --profile pts-2.0.",
        )),
        Profile::Tkperf if !choices.tkperf.is_empty() => {
            caveats.push(Caveat::new(CaveatKind::Deviation, ids::TKPERF_MENDED, choices.tkperf, ""))
        }
        _ => {}
    }
    let chosen = choices.demands.first().copied();
    if let (Some(chosen), Some(recommended)) = (chosen, choices.recommended)
        && chosen != recommended
    {
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            ids::DEMAND,
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
            ids::PURGE_FAILED,
            format!("Purge: {} FAILED, and the run continued: {why}.", purge.method),
            "The device kept its history. Purge it and run again.",
        )];
    }
    let mut caveats = Vec::new();
    if !purge.method.in_standard() {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::PURGE_LESSER,
            format!(
                "Purge: {}{}. It is not among the standard's methods (ATA SECURITY ERASE, SCSI \
                 FORMAT UNIT, NVMe Format, a vendor's command).",
                purge.method,
                remark(&purge.remark)
            ),
            "Purge the drive with its own command (--purge; docs/purge.md lists them), or before \
             the run with the vendor's tool, and record it with --meta note=...",
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
            ids::PURGE_NOT_BLANK,
            format!("After the purge, blocks read as noise under the new key{found}."),
            "",
        ),
        false => Caveat::new(
            CaveatKind::Deviation,
            ids::PURGE_NOT_BLANK,
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
        .map(|text| {
            let text = format!("Wanted but not done: {text}");
            Caveat::new(CaveatKind::Deviation, ids::CONDITION_UNMET, text, "")
        })
        .collect();
    let last = record.conditions_last().map_or(got, |(got, _)| got);
    // A cache that could not be set is among what is unmet: whoever sets conditions reads
    // them back.
    let told = got.write_cache != wanted.write_cache && !got.unmet.is_empty();
    if wanted.write_cache.is_some() && wanted.write_cache != last.write_cache && !told {
        let state = last.write_cache.map_or("unknown".to_owned(), |c| c.to_string());
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::WRITE_CACHE,
            format!("The volatile write cache is {state}; the class requires the opposite."),
            "Set it with the vendor's tool before the run.",
        ));
    }
    caveats
}

fn of_gaps(choices: &Choices<'_>, record: &Record) -> Vec<Caveat> {
    record
        .steps()
        .filter_map(|(step, outcome)| {
            let gap = outcome.gap_before.as_ref()?;
            let effect = (choices.gap_effect)(step);
            Some(Caveat::new(
                CaveatKind::Deviation,
                ids::GAP,
                format!("Gap of {} before {}: {}. {effect}", gap.length(), step.place, gap.cause),
                "The standard allows no gaps; repeat the run if the numbers matter.",
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
            ids::FAULTS,
            format!("{count} I/Os failed; {}.", first.unwrap_or_default()),
            "Check the kernel log and the drive's error log.",
        ));
    }
    if miscompares > 0 {
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            ids::MISCOMPARES,
            format!(
                "{miscompares} sectors read back did not contain the data that this run \
                wrote."
            ),
            "Do not trust this drive with data.",
        ));
    }
    caveats
}

fn operation(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Discard => "discard",
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
            ids::MERGES,
            format!("In {merged} steps the kernel merged I/Os: the device saw different sizes."),
            "Set queue/nomerges to 2.",
        ));
    }
    if split > 0 {
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            ids::SPLIT,
            format!(
                "In {split} steps the host split I/Os: the device saw smaller transfers than \
                 requested."
            ),
            "Raise queue/max_sectors_kb if the hardware limit allows it.",
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
        ids::PROCESSOR_BOUND,
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
            ids::SS_INCLUSIVE,
            "Steady state: both limits are taken as inclusive (the standard's heading says \
             'less than', its body 'no more than' and 'within')."
                .into(),
        );
    }
    if preconditions {
        unverified(
            ids::WIPC_DEMAND,
            format!(
                "WIPC runs at {WIPC_DEMAND}; the 2.0.2 pseudo-code can also be read as the \
                 test's own demand."
            ),
        );
    }
    if preconditions && choices.covered.iter().any(|covered| covered.percent < 100) {
        unverified(
            ids::WIPC_AMOUNT,
            "WIPC writes twice the full user capacity inside the smaller active range; the \
             standard can also be read as twice the active range."
                .into(),
        );
    }
    if choices.settings.class == Class::Client && choices.settings.profile != Profile::Pts11 {
        unverified(
            ids::AR_LAYOUT,
            "The active range is the first part of the capacity, contiguous; whether 2.0.x keeps \
             the client 1.x layout of 2,048 segments could not be checked."
                .into(),
        );
    }
    if choices.settings.steady_state == SteadyStateMethod::Post25 {
        unverified(
            ids::POST_25_WINDOW,
            "Of all steady windows, the first is reported; the standard leaves the choice to \
             inspection."
                .into(),
        );
    }
    caveats
}
