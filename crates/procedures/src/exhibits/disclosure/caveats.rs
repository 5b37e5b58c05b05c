//! Caveats for every deviation of a run from its method.

use crate::common::attempts::is_attempt_of;
use crate::common::choices::RunChoices;
use crate::common::one_pass::{self, OnePass};
use crate::common::preconditioning::{self, WIPC_DEMAND};
use crate::exhibits::checks;
use crate::parameters;
use crate::report_notation::joined;
use std::collections::BTreeMap;
use steadfast_domain::measurement::{KernelCounters, Measurement, Silence};
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::start_error::START_ERROR_LIMIT;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{
    Bytes, Caveat, CaveatKind, Class, ForeignIo, Nanos, Note, Op, Outcome, Profile, Purge, Record,
    Step, Transport, caveats as ids,
};

pub fn caveats(choices: &RunChoices<'_>, record: &Record) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    caveats.extend(target_caveats(record));
    caveats.extend(method_caveats(choices));
    caveats.extend(purge_caveats(record));
    caveats.extend(condition_caveats(record));
    caveats.extend(gap_caveats(choices, record));
    caveats.extend(rate_caveats(choices, record));
    caveats.extend(start_error_caveat(choices, record));
    caveats.extend(fault_caveats(record));
    caveats.extend(kernel_caveats(record));
    caveats.extend(silence_caveat(record));
    caveats.extend(quota_caveat(record));
    caveats.extend(cgroup_limit_caveats(record));
    caveats.extend(processor_caveat(choices, record));
    caveats.extend(checks::caveats(record));
    caveats.extend(unverified_rule_caveats(choices));
    caveats.extend(parameters::caveats(choices.parameters, choices.settings));
    caveats.extend(record.notes().filter_map(|note| match note {
        Note::Caveat(caveat) => Some(caveat.clone()),
        _ => None,
    }));
    caveats
}

fn target_caveats(record: &Record) -> Vec<Caveat> {
    let Some(device) = record.opening().map(|opening| opening.device) else { return Vec::new() };
    match device.transport {
        Transport::Simulated => vec![Caveat::invalidates(
            ids::SIMULATED,
            "SIMULATED: the device exists in virtual time only; no number here is a measurement.",
            "Name a block device with --target to measure one.",
        )],
        Transport::File => vec![Caveat::deviation(
            ids::FILE_TARGET,
            "The target is a file: its file system and everything else on that disk affect every \
             number.",
            "Test the block device itself.",
        )],
        Transport::Loop | Transport::Zram | Transport::Mapped | Transport::Virtio => {
            vec![Caveat::deviation(
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

fn method_caveats(choices: &RunChoices<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut deviation = |id: &str, text: String, remedy: &str| {
        caveats.push(Caveat::deviation(id, text, remedy));
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
        deviation(
            ids::ROUNDS_MAX,
            text,
            "Continue with `steadfast resume RUN_DIR --max-rounds 25`.",
        );
    }
    if !choices.block_sizes_left_out.is_empty() {
        let text = format!(
            "Block size {} omitted: smaller than the logical sector of {} bytes.",
            joined(choices.block_sizes_left_out.iter().map(|size| size.transfer_size())),
            choices.geometry.logical_sector
        );
        deviation(ids::BLOCK_SIZE_LEFT_OUT, text, "");
    }
    if settings.shares_preconditioning {
        let text = "No purge and no workload-independent preconditioning of its own: it began with \
                    the drive as the parts of the run before it had left it.";
        deviation(ids::SHARED_PRECONDITIONING, text.to_owned(), "Run the procedure alone.");
    }
    caveats.extend(choices.one_pass.map(OnePass::caveat));
    caveats.extend(profile_caveats(choices));
    caveats
}

/// Returns what a rate that the user chose means for the numbers, and the measured steps that did
/// not keep up with it.
fn rate_caveats(choices: &RunChoices<'_>, record: &Record) -> Vec<Caveat> {
    let Some(offered) = choices.settings.rate else { return Vec::new() };
    let mut caveats = vec![Caveat::deviation(
        ids::OFFERED_RATE,
        format!(
            "I/Os are offered at {offered}, and not in the closed loop of the method: IOPS are \
             those that were offered while the device keeps up, and steady IOPS are no sign of a \
             steady device. Response times count from when each I/O was due."
        ),
        "Omit --rate.",
    )];
    let rate = offered.rate.to_string();
    caveats.extend(rate_missed(choices, record, &rate, "Choose a lower --rate."));
    caveats
}

/// Returns a caveat on the measured steps in which the device could not keep up with the rate that
/// was `offered`; `None` if there are none.
pub fn rate_missed(
    choices: &RunChoices<'_>,
    record: &Record,
    offered: &str,
    remedy: &str,
) -> Option<Caveat> {
    let kept_up = |(step, outcome): (&Step, &Outcome)| {
        outcome.measurement.kept_up(&step.load.stimulus()?.pace)
    };
    let measured = record.steps().filter(|(step, _)| choices.measures(step));
    let all: Vec<bool> = measured.filter_map(kept_up).collect();
    let missed = all.iter().filter(|kept_up| !**kept_up).count();
    (missed > 0).then(|| {
        Caveat::deviation(
            ids::RATE_MISSED,
            format!(
                "The device could not keep up with {offered} in {missed} of {} measured steps; \
                 response times grow while it does not.",
                all.len()
            ),
            remedy,
        )
    })
}

/// Steps that something happened to.
struct AffectedSteps<'r, V> {
    count: usize,
    /// Largest value of a step.
    largest: V,
    /// Step with that value.
    worst: &'r Step,
}

impl<'r, V: Copy + PartialOrd> AffectedSteps<'r, V> {
    /// Finds the steps of a record for which `value` returns one; `None` if there are none.
    fn find(record: &'r Record, value: impl Fn(&Step, &Measurement) -> Option<V>) -> Option<Self> {
        let mut affected: Option<Self> = None;
        for (step, outcome) in record.steps() {
            let Some(value) = value(step, &outcome.measurement) else { continue };
            let affected =
                affected.get_or_insert(AffectedSteps { count: 0, largest: value, worst: step });
            affected.count += 1;
            if value >= affected.largest {
                affected.largest = value;
                affected.worst = step;
            }
        }
        affected
    }
}

/// Returns a caveat on measured steps in which the program itself was late; `None` if there are none.
fn start_error_caveat(choices: &RunChoices<'_>, record: &Record) -> Option<Caveat> {
    let measured = record.steps().filter(|(step, _)| choices.measures(step));
    let steps = measured.filter(|(_, outcome)| outcome.measurement.start_error.is_some()).count();
    let late = AffectedSteps::find(record, |step, measurement| {
        let is_late = choices.measures(step) && measurement.has_high_start_error(&step.load);
        measurement.start_error.as_ref()?.p99().filter(|_| is_late)
    })?;
    Some(Caveat::deviation(
        ids::START_ERROR,
        format!(
            "In {} of {steps} measured steps with due times, the 99 % start error is more than {} % \
             of the mean response time (our limit), up to {} ({}): these response times include \
             how late the program was.",
            late.count,
            START_ERROR_LIMIT * 100.0,
            late.largest,
            late.worst.place
        ),
        "Leave a processor free for each thread, and check it with steadfast calibrate.",
    ))
}

fn profile_caveats(choices: &RunChoices<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    match choices.settings.profile {
        Profile::Quick if !choices.quick.is_empty() => caveats.push(Caveat::invalidates(
            ids::QUICK,
            format!(
                "NOT THE FULL METHOD: {} Steps this short do not show a drive's caches and \
                 housekeeping.",
                choices.quick
            ),
            "Use --profile pts-2.0.",
        )),
        Profile::Tkperf if !choices.tkperf.is_empty() => {
            caveats.push(Caveat::deviation(ids::TKPERF_DEVIATIONS, choices.tkperf, ""))
        }
        _ => {}
    }
    let chosen = choices.demands.first().copied();
    if let (Some(chosen), Some(recommended)) = (chosen, choices.recommended)
        && chosen != recommended
    {
        caveats.push(Caveat::remark(
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

/// Formats the remark of a purge as part of a sentence.
fn remark(remark: &str) -> String {
    match remark.trim_end_matches('.') {
        "" => String::new(),
        remark => format!(" ({remark})"),
    }
}

fn purge_caveats(record: &Record) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = Vec::new();
    for caveat in record.purges().flat_map(caveats_of_purge) {
        // A procedure with several purges repeats caveats.
        if !caveats.iter().any(|earlier| earlier.id == caveat.id) {
            caveats.push(caveat);
        }
    }
    caveats
}

fn caveats_of_purge(purge: &Purge) -> Vec<Caveat> {
    if let Some(why) = &purge.failed {
        return vec![Caveat::deviation(
            ids::PURGE_FAILED,
            format!("Purge: {} FAILED, and the run continued: {why}.", purge.method),
            "The device kept its history. Purge it and run again.",
        )];
    }
    let mut caveats = Vec::new();
    if !purge.method.in_standard() {
        caveats.push(Caveat::deviation(
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
    caveats.extend(read_back_caveat(purge));
    caveats
}

/// Returns a caveat if blocks read after the purge were not blank. A cryptographic erase may leave
/// noise.
fn read_back_caveat(purge: &Purge) -> Option<Caveat> {
    if purge.blank != Some(false) {
        return None;
    }
    let found = purge.read_back.map(|read| format!(" ({read})")).unwrap_or_default();
    Some(if purge.method.is_cryptographic() {
        Caveat::remark(
            ids::PURGE_NOT_BLANK,
            format!("After the purge, blocks read as random data under the new key{found}."),
            "",
        )
    } else {
        Caveat::deviation(
            ids::PURGE_NOT_BLANK,
            format!("After the purge, blocks read back were not blank{found}."),
            "Check the drive's purge command.",
        )
    })
}

fn condition_caveats(record: &Record) -> Vec<Caveat> {
    let Some((wanted, got)) = record.conditions() else { return Vec::new() };
    let mut caveats: Vec<Caveat> = got
        .unmet
        .iter()
        .map(|text| {
            let text = format!("Wanted but not done: {text}");
            Caveat::deviation(ids::CONDITION_UNMET, text, "")
        })
        .collect();
    let last = record.conditions_last().map_or(got, |(got, _)| got);
    // A cache that could not be set is among the unmet conditions, which are read back.
    let is_disclosed = got.write_cache != wanted.write_cache && !got.unmet.is_empty();
    if wanted.write_cache.is_some() && wanted.write_cache != last.write_cache && !is_disclosed {
        let state = last.write_cache.map_or("unknown".to_owned(), |c| c.to_string());
        caveats.push(Caveat::deviation(
            ids::WRITE_CACHE,
            format!("The volatile write cache is {state}; the class requires the opposite."),
            "Set it with the vendor's tool before the run.",
        ));
    }
    caveats
}

/// Returns true for `wipc`, `wipc-128K` and their further attempts, `wipc (attempt 2)`.
fn is_preconditioning(phase: &str) -> bool {
    phase.split(['-', ' ']).next() == Some(preconditioning::PHASE)
}

fn gap_caveats(choices: &RunChoices<'_>, record: &Record) -> Vec<Caveat> {
    record
        .steps()
        .filter_map(|(step, outcome)| {
            let gap = outcome.gap_before.as_ref()?;
            let effect = if is_attempt_of(&step.place.phase, one_pass::PHASE) {
                one_pass::GAP_EFFECT
            } else if is_preconditioning(&step.place.phase) {
                "Preconditioning continued from its last checkpoint."
            } else {
                (choices.gap_effect)(step)
            };
            // The record does not contain the interrupted step.
            let writes = step.load.streams().any(|stream| stream.op == Op::Write);
            let lost = match gap.written {
                Some(Bytes(0)) => String::new(),
                Some(written) => format!(
                    " The kernel counted {written} written to the device in it; total bytes \
                     written include them, and a limit of bytes or fills does not count them."
                ),
                None if writes => format!(
                    " Bytes written between the last finished step and the interruption are in no \
                     count: at most one step's, about {}.",
                    outcome.measurement.written()
                ),
                None => String::new(),
            };
            let (length, place, cause) = (gap.length(), &step.place, &gap.cause);
            Some(Caveat::deviation(
                ids::GAP,
                format!("Gap of {length} before {place}: {cause}. {effect}{lost}"),
                "The standard allows no gaps; repeat the run if the numbers matter.",
            ))
        })
        .collect()
}

fn fault_caveats(record: &Record) -> Vec<Caveat> {
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
                fault.op.name(),
                fault.size.0,
                fault.offset.0,
                fault.errno
            ))
        });
        caveats.push(Caveat::invalidates(
            ids::FAULTS,
            format!("{count} I/Os failed; {}.", first.unwrap_or_default()),
            "Check the kernel log and the drive's error log.",
        ));
    }
    if miscompares > 0 {
        caveats.push(Caveat::invalidates(
            ids::MISCOMPARES,
            format!(
                "{miscompares} sectors read back did not contain the data that this run wrote."
            ),
            "Do not trust this drive with data.",
        ));
    }
    caveats
}

/// Returns caveats if the kernel counted merges, or other bytes than were issued.
fn kernel_caveats(record: &Record) -> Vec<Caveat> {
    let merges = |kernel: KernelCounters| kernel.read_merges + kernel.write_merges;
    let merged = record
        .steps()
        .filter(|(_, outcome)| outcome.measurement.kernel.is_some_and(|k| merges(k) > 0))
        .count();
    let split = record.steps().filter(|(step, outcome)| outcome.measurement.is_split(step)).count();
    let mut caveats: Vec<Caveat> =
        [Op::Read, Op::Write].into_iter().filter_map(|op| foreign_io_caveat(record, op)).collect();
    if merged > 0 {
        caveats.push(Caveat::deviation(
            ids::MERGES,
            format!("In {merged} steps the kernel merged I/Os: the device saw different sizes."),
            "Set queue/nomerges to 2.",
        ));
    }
    if split > 0 {
        caveats.push(Caveat::remark(
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

/// Share of a step's bytes from which I/Os of other processes are more than a remark (our choice).
const FOREIGN_SHARE: f64 = 0.01;

/// Shares of foreign I/O below this one, such as of a program that probes partitions, are only in
/// the journal (our choice).
const FOREIGN_NOTICED: f64 = 0.0001;

/// Returns a caveat on I/Os of one direction that the device saw and the steps did not issue.
fn foreign_io_caveat(record: &Record, op: Op) -> Option<Caveat> {
    let found: Vec<(&str, ForeignIo)> = record
        .steps()
        .flat_map(|(step, outcome)| {
            let foreign = outcome.measurement.foreign_ios(step).into_iter();
            foreign.map(|foreign| (step.place.label.as_str(), foreign))
        })
        .filter(|(_, foreign)| foreign.op == op && foreign.share >= FOREIGN_NOTICED)
        .collect();
    let (label, worst) = *found.iter().max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
    let ios = found.iter().fold(0_u64, |sum, (_, foreign)| sum.saturating_add(foreign.ios));
    let bytes = found.iter().fold(0_u64, |sum, (_, foreign)| sum.saturating_add(foreign.bytes.0));
    let kind =
        if worst.share >= FOREIGN_SHARE { CaveatKind::Deviation } else { CaveatKind::Remark };
    let direction = if op == Op::Read { "reads" } else { "writes" };
    let steps = match found.len() {
        1 => "1 step".to_owned(),
        steps => format!("{steps} steps"),
    };
    Some(Caveat::new(
        kind,
        ids::FOREIGN_IO,
        format!(
            "In {steps} the device saw {direction} that were not the steps': {ios} I/Os, {}. Most \
             in {label}: {} I/Os, {:.2} % of the device's bytes.",
            Bytes(bytes),
            worst.ios,
            100.0 * worst.share
        ),
        "Another program used the device: find it (iotop, fatrace), end it and run again.",
    ))
}

/// Returns a caveat on times in which the device completed nothing, and on I/Os that were
/// abandoned.
fn silence_caveat(record: &Record) -> Option<Caveat> {
    let silent = AffectedSteps::find(record, |_, measurement| {
        measurement.silences.iter().map(|silence| silence.lasted).max()
    })?;
    let measurements = || record.steps().map(|(_, outcome)| &outcome.measurement);
    let silences = measurements().flat_map(|measurement| &measurement.silences);
    let all = Nanos(silences.map(|silence| silence.lasted.0).sum());
    let measured = Nanos(measurements().map(|m| measured_silence(m).0).sum());
    Some(Caveat::deviation(
        ids::DEVICE_SILENT,
        format!(
            "In {} steps the device completed no I/O for a second or more although some were \
             outstanding: {all} in all, {measured} of it in the measured time, the longest {} in \
             {}.",
            silent.count, silent.largest, silent.worst.place.label
        ),
        "Check the kernel log and the drive's error log; rates include what lies in the measured \
         time, and response times all of it.",
    ))
}

/// Returns the part of the silences within the measured time. A silence may extend beyond its end,
/// or begin after it while the last I/Os are awaited.
fn measured_silence(measurement: &Measurement) -> Nanos {
    let within = |silence: &Silence| {
        let end = (silence.at + silence.lasted).min(measurement.elapsed);
        end.saturating_sub(silence.at).0
    };
    Nanos(measurement.silences.iter().map(within).sum())
}

/// Share of a step's time below which throttling by a quota does not affect its numbers (our
/// choice, as for stalls).
const THROTTLED_SHARE: f64 = 0.01;

/// Returns a caveat on steps in which a processor quota stopped the program.
fn quota_caveat(record: &Record) -> Option<Caveat> {
    let throttled = AffectedSteps::find(record, |_, measurement| {
        measurement.throttled_share().filter(|share| *share > THROTTLED_SHARE)
    })?;
    Some(Caveat::deviation(
        ids::CGROUP_THROTTLED,
        format!(
            "In {} steps a processor quota of the program's control group stopped it, at most for \
             {:.0} % of a processor's time in {}: the quota, not the device, may be the limit.",
            throttled.count,
            100.0 * throttled.largest,
            throttled.worst.place.label
        ),
        "Run steadfast in a control group without a processor quota (cpu.max, cpu.cfs_quota_us).",
    ))
}

/// Returns caveats on steps during which the program's control groups limited its I/O or reached
/// their memory limit.
fn cgroup_limit_caveats(record: &Record) -> Vec<Caveat> {
    let [mut io, mut memory]: [BTreeMap<String, LimitedSteps>; 2] = Default::default();
    for (step, outcome) in record.steps() {
        for limit in &outcome.measurement.sensed.cgroup_limits {
            let limits = if limit.is_of_memory() { &mut memory } else { &mut io };
            let first = || LimitedSteps { steps: 0, first: step.place.to_string(), reached: 0 };
            let found = limits.entry(limit.to_string()).or_insert_with(first);
            found.steps += 1;
            found.reached += limit.reached.unwrap_or(0);
        }
    }
    let list = |limits: &BTreeMap<String, LimitedSteps>| {
        let texts = limits.iter().map(|(limit, found)| found.describe(limit));
        texts.collect::<Vec<_>>().join("; ")
    };
    let mut caveats = Vec::new();
    if !io.is_empty() {
        let text = format!(
            "I/O of the program to the device was limited: {}. The limit, not the device, may be \
             what was measured.",
            list(&io)
        );
        let remedy = "Run steadfast in another control group, or remove the limit.";
        caveats.push(Caveat::deviation(ids::CGROUP_IO_LIMIT, text, remedy));
    }
    if !memory.is_empty() {
        let text = format!(
            "A control group of the program was at its memory limit: {}. The kernel delays a \
             program that reaches it: the limit, not the device, may be what was measured.",
            list(&memory)
        );
        let remedy = "Run steadfast in a control group with more memory.";
        caveats.push(Caveat::deviation(ids::CGROUP_MEMORY, text, remedy));
    }
    caveats
}

/// Steps during which one limit was in force.
struct LimitedSteps {
    steps: u64,
    first: String,
    /// Times that it was reached; 0 if the kernel does not count it.
    reached: u64,
}

impl LimitedSteps {
    fn describe(&self, limit: &str) -> String {
        let LimitedSteps { steps, first, reached } = self;
        let noun = if *steps == 1 { "step" } else { "steps" };
        let times = if *reached > 0 { format!(", {reached} times") } else { String::new() };
        format!("{limit} in {steps} {noun}{times}, first in {first}")
    }
}

/// Processor use per thread above which the host may be the limit (our choice).
const PROCESSOR_BUSY: f64 = 0.90;

/// Covers records whose engine did not report its busiest thread; `secondary` handles the others.
fn processor_caveat(choices: &RunChoices<'_>, record: &Record) -> Option<Caveat> {
    let busy: Vec<&str> = record
        .steps()
        .filter(|(step, outcome)| {
            choices.measures(step) && outcome.measurement.sensed.busiest_thread.is_none()
        })
        .filter_map(|(step, outcome)| {
            let measurement = &outcome.measurement;
            let cpu = measurement.cpu?;
            let threads = step.load.stimulus()?.demand.threads;
            let processors = record.opening()?.host.cpus?;
            let available = measurement.elapsed.as_secs_f64() * f64::from(threads.min(processors));
            let used = cpu.user.as_secs_f64() + cpu.system.as_secs_f64();
            (used > PROCESSOR_BUSY * available).then_some(step.place.label.as_str())
        })
        .collect();
    let example = busy.first()?;
    Some(Caveat::remark(
        ids::PROCESSOR_BOUND,
        format!(
            "In {} steps (such as {example}) the I/O threads used over {:.0} % of their \
             processors: the host, not the device, may be the limit.",
            busy.len(),
            PROCESSOR_BUSY * 100.0
        ),
        "Use a faster host or more threads, and compare.",
    ))
}

fn unverified_rule_caveats(choices: &RunChoices<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut unverified = |id: &str, text: String| {
        caveats.push(Caveat::unverified(id, text, ""));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{GEOMETRY, applied, record, setup, write_step};
    use steadfast_domain::measurement::{CgroupLimit, CpuThrottling, StreamTally};
    use steadfast_domain::{Gap, JournalEntry, Settings, Tally};

    #[test]
    fn only_phases_of_wipc_are_preconditioning() {
        let phases = ["wipc", "wipc-128K", "wipc (attempt 2)", "wipc-128K (attempt 2)"];
        assert_eq!(phases.map(is_preconditioning), [true; 4]);
        let others = ["wipcase", "rounds", "throughput/wipc", "wip"];
        assert_eq!(others.map(is_preconditioning), [false; 4]);
    }

    /// A step of 1,000 writes of 4 KiB that the kernel counted so.
    fn measured(kernel: KernelCounters) -> Measurement {
        let bytes = Bytes(4_096_000);
        let tally = Tally { ios: 1000, bytes, ..Tally::default() };
        Measurement {
            elapsed: Nanos::from_secs(10),
            complete: true,
            streams: vec![StreamTally { op: Op::Write, tally }],
            kernel: Some(kernel),
            ..Measurement::default()
        }
    }

    fn record_of(measurement: Measurement) -> Record {
        let entry = applied(write_step("rounds", 1, 1), measurement);
        record(&Settings::new("iops", 1), vec![entry])
    }

    fn ids(caveats: impl IntoIterator<Item = Caveat>) -> Vec<(String, CaveatKind)> {
        caveats.into_iter().map(|caveat| (caveat.id.clone(), caveat.kind)).collect()
    }

    /// Bytes written in a gap are named where the kernel counted them; else the step that was
    /// repeated is their upper bound.
    #[test]
    fn a_gap_says_what_was_written_in_it() {
        let text = |written| {
            let mut record = record_of(measured(KernelCounters::default()));
            let JournalEntry::Applied { outcome, .. } = &mut record.entries[0] else {
                panic!("one step")
            };
            outcome.gap_before = Some(Gap { cause: "power".into(), lasted: None, written });
            let settings = Settings::new("iops", 1);
            let setup = setup(&settings, GEOMETRY, &[]).unwrap();
            let caveats = gap_caveats(&setup.choices(), &record);
            caveats.into_iter().next().unwrap().text
        };
        assert!(text(Some(Bytes(218_000_000))).contains("218 MB written to the device in it"));
        assert!(text(None).contains("at most one step's, about 4.10 MB"), "{}", text(None));
        assert!(!text(Some(Bytes(0))).contains("written"), "nothing was");
    }

    #[test]
    fn foreign_ios_are_a_caveat_by_their_share_and_no_split() {
        let own = KernelCounters {
            writes: 1000,
            write_bytes: Bytes(4_096_000),
            ..KernelCounters::default()
        };
        let reads = |ios: u64| KernelCounters { reads: ios, read_bytes: Bytes(ios * 512), ..own };
        let found = |kernel| ids(kernel_caveats(&record_of(measured(kernel))));
        let foreign = |kind| vec![("foreign-io".to_owned(), kind)];
        assert_eq!(found(own), []);
        assert_eq!(found(reads(8_000)), foreign(CaveatKind::Deviation));
        assert_eq!(found(reads(8)), foreign(CaveatKind::Remark));
        let split = KernelCounters { writes: 2000, ..own };
        assert_eq!(found(split), [("split".to_owned(), CaveatKind::Remark)]);
        let text = &kernel_caveats(&record_of(measured(reads(8_000))))[0].text;
        assert!(text.contains("8000 I/Os") && text.contains("50.00 %"), "{text}");
    }

    #[test]
    fn silences_and_quotas_have_a_caveat() {
        let calm = measured(KernelCounters::default());
        assert_eq!(ids(silence_caveat(&record_of(calm.clone()))), []);
        let silence = Silence { at: Nanos::SECOND, lasted: Nanos::from_secs(3) };
        let silent = Measurement { silences: vec![silence], ..calm.clone() };
        let expected = [("device-silent".to_owned(), CaveatKind::Deviation)];
        assert_eq!(ids(silence_caveat(&record_of(silent))), expected);
        // Of 10 s: 3 s within, the first of 3 s across the end, nothing of 2 s after it.
        let silence =
            |(at, lasted)| Silence { at: Nanos::from_secs(at), lasted: Nanos::from_secs(lasted) };
        let silences = [(1, 3), (9, 3), (12, 2)].map(silence).to_vec();
        let silent = Measurement { silences, ..calm.clone() };
        assert_eq!(measured_silence(&silent), Nanos::from_secs(4));
        let throttled = |millis| {
            let mut measurement = calm.clone();
            let time = Nanos::from_millis(millis);
            measurement.sensed.cpu_throttling = Some(CpuThrottling { periods: 1, time });
            ids(quota_caveat(&record_of(measurement)))
        };
        assert_eq!(throttled(100), []);
        assert_eq!(throttled(101), [("cgroup-throttled".to_owned(), CaveatKind::Deviation)]);
    }

    #[test]
    fn limits_of_a_control_group_are_named_with_their_steps() {
        let limit = |file: &str, set: &str, reached| CgroupLimit {
            group: "/box".into(),
            file: file.into(),
            set: set.into(),
            reached,
        };
        let mut measurement = measured(KernelCounters::default());
        assert_eq!(cgroup_limit_caveats(&record_of(measurement.clone())), []);
        measurement.sensed.cgroup_limits =
            vec![limit("io.max", "wiops=50", None), limit("memory.high", "4096", Some(3))];
        let caveats = cgroup_limit_caveats(&record_of(measurement));
        let expected =
            ["cgroup-io-limit", "cgroup-memory"].map(|id| (id.to_owned(), CaveatKind::Deviation));
        assert_eq!(ids(caveats.clone()), expected);
        let has = |number: usize, part: &str| caveats[number].text.contains(part);
        assert!(has(0, "io.max wiops=50 of the control group /box in 1 step"), "{caveats:?}");
        assert!(
            has(1, "memory.high 4096 of the control group /box in 1 step, 3 times"),
            "{caveats:?}"
        );
    }
}
