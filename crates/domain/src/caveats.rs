//! IDs of all caveats. Programs filter, group and modify caveats by ID; the texts are for readers.
//! Journals and findings store the IDs, so an ID never changes its meaning.

/// The active range is not that of the class.
pub const ACTIVE_RANGE: &str = "active-range";
/// The drive wrote less to its flash than its host wrote.
pub const AMPLIFICATION_BELOW_ONE: &str = "amplification-below-one";
/// The location of the client's active range could not be checked against the document.
pub const AR_LAYOUT: &str = "ar-layout";
/// The locations of the segments of scattered active ranges could not be checked.
pub const AR_SEGMENTS_LAYOUT: &str = "ar-segments-layout";
/// DIRTH: no demand kept the response time below its ceiling.
pub const ART_CEILING: &str = "art-ceiling";
/// The counts of flash bytes in some steps would include a wait for other targets.
pub const FLASH_COUNT_WAITED: &str = "flash-count-waited";
/// A trend has a metric that got worse.
pub const REGRESSION: &str = "regression";
/// A trend has too few runs to measure the noise between runs, so measurement windows are compared.
pub const WINDOWS_DECIDE: &str = "windows-decide";
/// Runs of a trend are not in its series.
pub const RUNS_LEFT_OUT: &str = "runs-left-out";
/// The runs of a trend are of several drives of one model.
pub const SERIALS_DIFFER: &str = "serials-differ";
/// A test that allows no gap was interrupted and restarted with its purge.
pub const RESTARTED: &str = "restarted";
/// I/Os of a trace extend beyond the end of their device.
pub const BEYOND_DEVICE: &str = "beyond-device";
/// A block size was omitted because it is smaller than the device's sector.
pub const BLOCK_SIZE_LEFT_OUT: &str = "block-size-left-out";
/// The power was cut in no cycle, or in fewer cycles than wanted.
pub const NO_POWER_CUT: &str = "no-power-cut";
/// The drive's own counters do not show that its power was cut.
pub const POWER_CUT_UNPROVEN: &str = "power-cut-unproven";
/// The kernel sent the drive no flush.
pub const NO_FLUSH_SENT: &str = "no-flush-sent";
/// A drive lost, tore or reordered flushed writes in a power cut.
pub const POWER_CUT_VIOLATIONS: &str = "power-cut-violations";
/// A capture used so much CPU time that it may have affected the I/O that it recorded.
pub const CAPTURE_COST: &str = "capture-cost";
/// The capture was killed: its file was read up to its last complete row group.
pub const CAPTURE_KILLED: &str = "capture-killed";
/// A remark that the capture itself recorded.
pub const CAPTURE_REMARK: &str = "capture-remark";
/// The program's control groups limited I/O to the device during steps.
pub const CGROUP_IO_LIMIT: &str = "cgroup-io-limit";
/// The program's control groups reached a memory limit during steps.
pub const CGROUP_MEMORY: &str = "cgroup-memory";
/// A CPU quota stopped the program's control groups during steps.
pub const CGROUP_THROTTLED: &str = "cgroup-throttled";
/// The names of some cgroups of a capture are unknown.
pub const CGROUPS_UNKNOWN: &str = "cgroups-unknown";
/// Rules of the composite workload that could not be checked.
pub const COMPOSITE_RULES: &str = "composite-rules";
/// A requested condition is not met.
pub const CONDITION_UNMET: &str = "condition-unmet";
/// Settings of host or device changed since they were read back. Added by the bench.
pub const CONDITIONS_CHANGED: &str = "conditions-changed";
/// A load thread used all the time of its CPU.
pub const CPU_BOUND: &str = "cpu-bound";
/// The device has no FUA: the kernel flushed after each FUA write instead. Added by the bench.
pub const FUA_EMULATED: &str = "fua-emulated";
/// The device raised a critical warning.
pub const CRITICAL_WARNING: &str = "critical-warning";
/// The rule for the cursors of sequential streams could not be checked.
pub const CURSOR: &str = "cursor";
/// The data written are not the random data that the method requires.
pub const DATA_PATTERN: &str = "data-pattern";
/// The demand is not the recommended one.
pub const DEMAND: &str = "demand";
/// Queue depths of a trace were counted from its I/Os, not recorded.
pub const DEPTH_COUNTED: &str = "depth-counted";
/// Queue depths of a trace are unknown.
pub const DEPTH_UNKNOWN: &str = "depth-unknown";
/// The two captures of a comparison have different numbers of devices.
pub const DEVICES_UNPAIRED: &str = "devices-unpaired";
/// A counter of the device's log went backwards during steps.
pub const DEVICE_COUNTERS_RESET: &str = "device-counters-reset";
/// The device completed no I/O for at least one second while some were outstanding.
pub const DEVICE_SILENT: &str = "device-silent";
/// The device's log reports throttling.
pub const DEVICE_THROTTLED: &str = "device-throttled";
/// Some exhibits of a trace do not show all devices.
pub const DEVICES_LEFT_OUT: &str = "devices-left-out";
/// The share of duplicates in a capture is a lower bound.
pub const DUPLICATES_BOUND: &str = "duplicates-bound";
/// A limit of time or bytes ended a saturation before it was steady, as the method allows.
pub const ENDED_BEFORE_STEADY_STATE: &str = "ended-before-steady-state";
/// The first files of a rotated capture are missing.
pub const EARLIER_PARTS: &str = "earlier-parts";
/// The capture did not see the completion of some I/Os.
pub const ENDS_MISSED: &str = "ends-missed";
/// The capture lost events.
pub const EVENTS_LOST: &str = "events-lost";
/// I/Os failed.
pub const FAULTS: &str = "faults";
/// A part of a trace file is damaged and was skipped.
pub const FILE_DAMAGED: &str = "file-damaged";
/// The target is a file.
pub const FILE_TARGET: &str = "file-target";
/// The user's filter excludes I/Os of a trace.
pub const FILTERED: &str = "filtered";
/// A write with its flush takes hardly longer than a plain write.
pub const FLUSH_COSTS_NOTHING: &str = "flush-costs-nothing";
/// Messages of fio in addition to its results. Added by the engine.
pub const FIO_MESSAGES: &str = "fio-said";
/// Values that another tool's results do not state.
pub const FOREIGN_ABSENT: &str = "foreign-absent";
/// The device saw I/Os during steps that were not the steps'.
pub const FOREIGN_IO: &str = "foreign-io";
/// Another tool preconditioned, or applied sequential I/O, with several jobs.
pub const FOREIGN_JOBS: &str = "foreign-jobs";
/// Another tool's log is incomplete, or was not fully understood.
pub const FOREIGN_LOG: &str = "foreign-log";
/// Another tool averaged the response times of a mix differently.
pub const FOREIGN_MIX: &str = "foreign-mix";
/// Another tool judged several tests by one steady-state window.
pub const FOREIGN_ONE_WINDOW: &str = "foreign-one-window";
/// Another tool's log does not state whether the device was purged.
pub const FOREIGN_PURGE: &str = "foreign-purge";
/// Another tool measured the numbers.
pub const FOREIGN_RESULT: &str = "foreign-result";
/// Another tool drew the same offsets in every step.
pub const FOREIGN_SAME_OFFSETS: &str = "foreign-same-offsets";
/// Another tool uses different names for units.
pub const FOREIGN_UNITS: &str = "foreign-units";
/// The zones of another tool may be at other locations.
pub const FOREIGN_ZONES: &str = "foreign-zones";
/// The run did not hold the device for a time.
pub const GAP: &str = "gap";
/// We chose the bins of a histogram.
pub const HISTOGRAM_BINS: &str = "histogram-bins";
/// The drive counted other amounts of host writes than the program wrote.
pub const HOST_COUNTER_DIFFERS: &str = "host-counter-differs";
/// Hosts that load a device together run different versions of fio. Added by the engine.
pub const HOSTS_FIO_VERSIONS: &str = "hosts-fio-versions";
/// One of several hosts achieved much less than the others. Added by the engine.
pub const HOST_LAGS: &str = "host-lags";
/// Several hosts loaded the device, which affects the meaning of the numbers. Added by the engine.
pub const HOSTS_LOAD: &str = "hosts-load";
/// Several hosts did not begin a load at the same time. Added by the engine.
pub const HOSTS_SKEW: &str = "hosts-skew";
/// A device that several hosts read from is in use on one of them. Added by the engine.
pub const HOSTS_USE: &str = "hosts-use";
/// Hosts without a shell could not be inspected. Added by the engine.
pub const HOSTS_UNSEEN: &str = "hosts-unseen";
/// I/Os of a capture failed.
pub const IOS_FAILED: &str = "ios-failed";
/// I/Os that a capture saw only in part are not in its file.
pub const IOS_OMITTED: &str = "ios-omitted";
/// A journal ends with an incomplete line.
pub const JOURNAL_TORN: &str = "journal-torn";
/// Only bounds of a Kolmogorov-Smirnov distance are known.
pub const KS_BOUNDED: &str = "ks-bounded";
/// The buckets of the device's latency monitor were reset during steps.
pub const LATENCY_MONITOR_RESET: &str = "latency-monitor-reset";
/// I/Os of two layers are counted together.
pub const LAYERS_MIXED: &str = "layers-mixed";
/// The drive did not sustain the rate by which a demand was chosen.
pub const MAX_IOPS_NOT_HELD: &str = "max-iops-not-held";
/// The device's log counted media errors.
pub const MEDIA_ERRORS: &str = "media-errors";
/// The kernel merged I/Os.
pub const MERGES: &str = "merges";
/// Sectors read back did not hold the data that were written.
pub const MISCOMPARES: &str = "miscompares";
/// The figures of the captured storage are unknown, so a replay has nothing to compare with.
pub const NO_CAPTURED_VALUES: &str = "no-captured-values";
/// A trace file has no checksums.
pub const NO_CHECKSUMS: &str = "no-checksums";
/// Not every written sector was read back and compared.
pub const NOT_COMPARED: &str = "not-compared";
/// A trace does not contain its start time.
pub const NO_CLOCK: &str = "no-clock";
/// I/Os of a trace have no process ID.
pub const NO_PROCESSES: &str = "no-processes";
/// I/Os of a trace have no time in the queue.
pub const NO_QUEUE_TIMES: &str = "no-queue-times";
/// I/Os of a trace have no response time.
pub const NO_RESPONSE_TIMES: &str = "no-response-times";
/// No preconditioning independent of the workload takes place.
pub const NO_WIPC: &str = "no-wipc";
/// The queue is write through, so that the kernel sends no flush to the device.
pub const NOTHING_FLUSHED: &str = "nothing-flushed";
/// The engine stopped waiting for I/Os that did not complete.
pub const IOS_OUTSTANDING: &str = "not-waited-for";
/// A capture recorded the I/Os of a single process.
pub const ONE_PROCESS: &str = "one-process";
/// I/Os were offered at a rate instead of the closed loop of the method.
pub const OFFERED_RATE: &str = "offered-rate";
/// I/Os of a trace could not be sorted by issue time.
pub const ORDER_OVERFLOW: &str = "order-overflow";
/// A value is outside its limits, or could not be judged.
pub const OUTSIDE_LIMITS: &str = "outside-limits";
/// Capture steps are paced at their rate.
pub const PACED_BY_RATE: &str = "paced-by-rate";
/// A part of a run ended without reaching steady state.
pub const PART_NOT_STEADY: &str = "part-not-steady";
/// The paths of some files of a capture are unknown.
pub const PATHS_UNKNOWN: &str = "paths-unknown";
/// A step was too short for a percentile of its response times.
pub const PERCENTILE_UNSUPPORTED: &str = "percentile-unsupported";
/// The platforms of compared runs differ.
pub const PLATFORM_DIFFERS: &str = "platform-differs";
/// DIRTH: two of the three points have the same demand.
pub const POINTS_COINCIDE: &str = "points-coincide";
/// The parts of a portrait are shorter than the procedures alone.
pub const PORTRAIT_LENGTH: &str = "portrait-length";
/// The choice between several steady windows could not be checked.
pub const POST_25_WINDOW: &str = "post-25-window";
/// The device had been written before a test that starts with a fresh one.
pub const PRECONDITION: &str = "precondition";
/// The preconditioning ended without reaching steady state.
pub const PRECONDITIONING_NOT_STEADY: &str = "preconditioning-not-steady";
/// The I/O threads used all the time of their CPUs.
pub const PROCESSOR_BOUND: &str = "processor-bound";
/// Steady state was not judged: a limit of bytes or time ended the run.
pub const PSEUDO_STEADY_STATE: &str = "pseudo-steady-state";
/// The purge failed and the run continued.
pub const PURGE_FAILED: &str = "purge-failed";
/// The purge method is not one of the standard's.
pub const PURGE_LESSER: &str = "purge-lesser";
/// Blocks read after the purge were not blank.
pub const PURGE_NOT_BLANK: &str = "purge-not-blank";
/// Profile quick: a quick look, not a measurement.
pub const QUICK: &str = "quick";
/// Reads were of blocks that had not been written.
pub const READS_UNWRITTEN: &str = "reads-unwritten";
/// The mapping of a capture's addresses to those of the target.
pub const REPLAY_ADDRESSES: &str = "replay-addresses";
/// The number of I/Os outstanding in the capture is unknown.
pub const REPLAY_DEMAND_UNKNOWN: &str = "replay-demand-unknown";
/// Discards of a script were divided into several.
pub const REPLAY_DIVIDED: &str = "replay-divided";
/// I/Os of files are replayed on a block device.
pub const REPLAY_FILES: &str = "replay-files";
/// Only selected I/Os of a capture are replayed.
pub const REPLAY_FILTERED: &str = "replay-filtered";
/// A replayed capture is missing I/Os.
pub const REPLAY_INCOMPLETE: &str = "replay-incomplete";
/// The choice of the captured time that counts as the due time.
pub const REPLAY_ISSUE_AT: &str = "replay-issue-at";
/// FUA writes are replayed as plain writes because the capture contains their flushes.
pub const REPLAY_FUA_FLUSHED: &str = "replay-fua-flushed";
/// Some I/Os of a capture cannot be replayed.
pub const REPLAY_LEFT_OUT: &str = "replay-left-out";
/// Think times could not be inferred: the capture has no completions.
pub const REPLAY_NO_COMPLETIONS: &str = "replay-no-completions";
/// I/Os could not be sorted by due time.
pub const REPLAY_ORDER: &str = "replay-order";
/// I/Os overlapped while they were outstanding.
pub const REPLAY_OVERLAPS: &str = "replay-overlaps";
/// Capture steps are applied at their rate.
pub const REPLAY_PACED: &str = "replay-paced";
/// Writes that begin with a flush are replayed without it.
pub const REPLAY_PREFLUSH: &str = "replay-preflush";
/// Streams below the threshold are not replayed.
pub const REPLAY_STREAMS_LEFT_OUT: &str = "replay-streams-left-out";
/// An export does not list all I/Os of its steps.
pub const REPLAY_STREAMS_UNLISTED: &str = "replay-streams-unlisted";
/// I/Os of the original that the address map cannot place on the target.
pub const REPLAY_TOO_LARGE: &str = "replay-too-large";
/// Discards are not replayed.
pub const REPLAY_WITHOUT_DISCARDS: &str = "replay-without-discards";
/// Flushes are not replayed.
pub const REPLAY_WITHOUT_FLUSHES: &str = "replay-without-flushes";
/// FUA writes are replayed as plain writes.
pub const REPLAY_WITHOUT_FUA: &str = "replay-without-fua";
/// I/Os of a script were submitted late: the target is slower than the traced device.
pub const REPLAY_LATE: &str = "replay-late";
/// I/Os of a script were not decoded in time.
pub const REPLAY_STARVED: &str = "replay-starved";
/// Capture steps are played differently than they were captured.
pub const REPLAY_STEPS: &str = "replay-steps";
/// A load did not reach its requested rate.
pub const RATE_MISSED: &str = "rate-missed";
/// A replay completed fewer I/Os than its capture in the same time.
pub const REPLAY_SHARE: &str = "replay-share";
/// I/Os of replayed capture steps completed after the end of their steps.
pub const REPLAY_UNMEASURED: &str = "replay-unmeasured";
/// The kernel merged or split requests of a captured device.
pub const REQUESTS_MERGED: &str = "requests-merged";
/// Fewer rounds are allowed than the method specifies.
pub const ROUNDS_MAX: &str = "rounds-max";
/// A compared run does not contain the procedure.
pub const PROCEDURE_MISSING: &str = "run-without";
/// We chose the interval at which steady state of a captured workload is judged.
pub const RWSW_CADENCE: &str = "rwsw-cadence";
/// Rules of RWSW PTS that could not be checked.
pub const RWSW_RULES: &str = "rwsw-rules";
/// The rule that identifies sequential I/O in a trace could not be checked.
pub const SEQUENTIALITY: &str = "sequentiality";
/// A step of a sequence was skipped because its transfers do not fit the device's sectors.
pub const SEQUENCE_LEFT_OUT: &str = "sequence-left-out";
/// A sequence of another tool is not a test of steady state.
pub const SEQUENCE_NOT_STEADY: &str = "sequence-not-steady";
/// A part of another tool's file was interpreted differently.
pub const SEQUENCE_REMARK: &str = "sequence-remark";
/// Settings of compared runs differ.
pub const SETTING_DIFFERS: &str = "setting-differs";
/// A part of a run began with the drive as the parts before it had left it.
pub const SHARED_PRECONDITIONING: &str = "shared-preconditioning";
/// Other targets of the same host were tested at the same time. Added by the bench.
pub const SHARED_HOST: &str = "shared-host";
/// The device is simulated in virtual time.
pub const SIMULATED: &str = "simulated";
/// A trace does not contain the sizes of its devices.
pub const SIZES_UNKNOWN: &str = "sizes-unknown";
/// The kernel skipped runs of the capture's probes.
pub const SKIPPED: &str = "skipped";
/// The host split I/Os of the steps.
pub const SPLIT: &str = "split";
/// The inclusiveness of the steady-state limits could not be checked.
pub const SS_INCLUSIVE: &str = "ss-inclusive";
/// The program could not run during parts of steps.
pub const STALLED: &str = "stalled";
/// The program submitted I/Os late that were due, by too much of their response times.
pub const START_ERROR: &str = "start-error";
/// The rounds ended without reaching steady state.
pub const STEADY_STATE_NOT_ACHIEVED: &str = "steady-state-not-achieved";
/// Steady state was found in a drive that had not yet been written completely once.
pub const STEADY_WITHIN_FIRST_FILL: &str = "steady-within-first-fill";
/// The length of the steps is not that of the method.
pub const STEP_TIME: &str = "step-time";
/// A capture recorded totals per step, not single I/Os.
pub const STEPS_ONLY: &str = "steps-only";
/// Some streams of a captured workload cannot be applied to the device.
pub const STREAMS_LEFT_OUT: &str = "streams-left-out";
/// A trace has more streams than are listed separately.
pub const STREAMS_UNLISTED: &str = "streams-unlisted";
/// The procedures of a suite began on a device warmed up by the previous one.
pub const SUITE_ORDER: &str = "suite-order";
/// The times of a trace are rounded.
pub const TIMES_ROUNDED: &str = "times-rounded";
/// Profile tkperf deviates from TKperf.
pub const TKPERF_DEVIATIONS: &str = "tkperf-mended";
/// The order of the throughput test's block sizes could not be checked.
pub const TP_ORDER: &str = "tp-order";
/// The preconditioning of the throughput test could not be checked.
pub const TP_WIPC: &str = "tp-wipc";
/// A trace has I/Os of two layers.
pub const TWO_LAYERS: &str = "two-layers";
/// The run has not ended.
pub const UNFINISHED: &str = "unfinished";
/// I/O that the capture cannot see.
pub const UNSEEN: &str = "unseen";
/// The device is a virtual one on top of another.
pub const VIRTUAL_DEVICE: &str = "virtual-device";
/// The amount written by preconditioning could not be checked.
pub const WIPC_AMOUNT: &str = "wipc-amount";
/// The demand of the preconditioning could not be checked.
pub const WIPC_DEMAND: &str = "wipc-demand";
/// The workload is not that of the method.
pub const WORKLOAD: &str = "workload";
/// A remark stored with a captured workload.
pub const WORKLOAD_REMARK: &str = "workload-remark";
/// The volatile write cache is not in the requested state.
pub const WRITE_CACHE: &str = "write-cache";
/// A trace does not contain the time zone of its host.
pub const ZONE_UNKNOWN: &str = "zone-unknown";

/// Caveats that state that a run did not reach steady state.
pub const NOT_STEADY: [&str; 2] = [STEADY_STATE_NOT_ACHIEVED, PART_NOT_STEADY];

/// Caveats that the bench or its engine adds itself. They do not come from the procedure, so a
/// resumed procedure does not add them again.
pub const BENCH_CAVEATS: [&str; 11] = [
    CONDITIONS_CHANGED, FIO_MESSAGES, FLASH_COUNT_WAITED, FUA_EMULATED, HOSTS_FIO_VERSIONS,
    HOSTS_LOAD, HOSTS_SKEW, HOSTS_UNSEEN, HOSTS_USE, HOST_LAGS, SHARED_HOST,
];

/// Returns true if this is the ID of a caveat, of any run.
pub fn is_id(id: &str) -> bool {
    // The constants above are the list; a second one would lag behind.
    let is_constant = |line: &str| {
        let value = line.strip_prefix("pub const ").and_then(|line| line.split_once(": &str = "));
        value.is_some_and(|(_, value)| value == format!("\"{id}\";"))
    };
    let is_made = |prefix: &str| id.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty());
    include_str!("caveats.rs").lines().any(is_constant)
        || is_made(&parameter(""))
        || is_made(&check(""))
}

/// Returns the ID of the caveat that the default of a procedure's own parameter could not be
/// checked.
pub fn parameter(name: &str) -> String {
    format!("parameter-{name}")
}

/// Returns the ID of the caveat for a check with a bad result before the run; `id` is that of the
/// check.
pub fn check(id: &str) -> String {
    format!("check-{id}")
}
