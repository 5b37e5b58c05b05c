//! The name of every caveat. Whoever filters, groups or changes caveats does it by these;
//! their texts are for readers. Names are kept in journals and in findings, so none
//! changes its meaning.

/// The active range is not the class's.
pub const ACTIVE_RANGE: &str = "active-range";
/// Where the client's active range lies could not be checked against the document.
pub const AR_LAYOUT: &str = "ar-layout";
/// Where the segments of scattered active ranges lie could not be checked.
pub const AR_SEGMENTS_LAYOUT: &str = "ar-segments-layout";
/// DIRTH: no demand kept the response time below its ceiling.
pub const ART_CEILING: &str = "art-ceiling";
/// An interrupted test that allows no gap restarted with its purge.
pub const BEGUN_ANEW: &str = "begun-anew";
/// I/Os of a trace end beyond their device.
pub const BEYOND_DEVICE: &str = "beyond-device";
/// A block size is smaller than the device's sector.
pub const BLOCK_SIZE_LEFT_OUT: &str = "block-size-left-out";
/// A capture took so much processor time that it may have changed what it saw.
pub const CAPTURE_COST: &str = "capture-cost";
/// The capture was killed: its file was read up to its last complete row group.
pub const CAPTURE_KILLED: &str = "capture-killed";
/// A remark that the capture itself made.
pub const CAPTURE_REMARK: &str = "capture-remark";
/// A processor quota of the program's control groups stopped it during steps.
pub const CGROUP_THROTTLED: &str = "cgroup-throttled";
/// The names of some cgroups of a capture are not known.
pub const CGROUPS_UNKNOWN: &str = "cgroups-unknown";
/// Rules of the composite workload that could not be checked.
pub const COMPOSITE_RULES: &str = "composite-rules";
/// A condition that was asked for is not so.
pub const CONDITION_UNMET: &str = "condition-unmet";
/// Host or device settings read back otherwise than before. The bench's own note.
pub const CONDITIONS_CHANGED: &str = "conditions-changed";
/// A load thread used up its processor.
pub const CPU_BOUND: &str = "cpu-bound";
/// The device raised a critical warning.
pub const CRITICAL_WARNING: &str = "critical-warning";
/// How the cursors of sequential streams move could not be checked.
pub const CURSOR: &str = "cursor";
/// The data written are not the random data that the method asks for.
pub const DATA_PATTERN: &str = "data-pattern";
/// The demand is not the recommended one.
pub const DEMAND: &str = "demand";
/// Queue depths of a trace were counted, not recorded.
pub const DEPTH_COUNTED: &str = "depth-counted";
/// Queue depths of a trace are not known.
pub const DEPTH_UNKNOWN: &str = "depth-unknown";
/// The two captures of a comparison have different numbers of devices.
pub const DEVICES_UNPAIRED: &str = "devices-unpaired";
/// The device completed no I/O for a second or more although some were outstanding.
pub const DEVICE_SILENT: &str = "device-silent";
/// The device's log tells of throttling.
pub const DEVICE_THROTTLED: &str = "device-throttled";
/// Some exhibits of a trace do not show every device.
pub const DEVICES_LEFT_OUT: &str = "devices-left-out";
/// The share of duplicates in a capture is a lower bound.
pub const DUPLICATES_BOUND: &str = "duplicates-bound";
/// Time or bytes ended a saturation before it was steady, as its method allows.
pub const ENDED_BEFORE_STEADY_STATE: &str = "ended-before-steady-state";
/// The first files of a rotated capture were not given.
pub const EARLIER_PARTS: &str = "earlier-parts";
/// Completions of I/Os were not seen by the capture.
pub const ENDS_MISSED: &str = "ends-missed";
/// The capture lost events.
pub const EVENTS_LOST: &str = "events-lost";
/// I/Os failed.
pub const FAULTS: &str = "faults";
/// A part of a trace file is damaged and left out.
pub const FILE_DAMAGED: &str = "file-damaged";
/// The target is a file.
pub const FILE_TARGET: &str = "file-target";
/// Not all I/Os of a trace are counted: the user's filter.
pub const FILTERED: &str = "filtered";
/// What fio said beside its results. The engine's own note.
pub const FIO_SAID: &str = "fio-said";
/// What another tool's results do not state.
pub const FOREIGN_ABSENT: &str = "foreign-absent";
/// The device saw I/Os during steps that were not the steps'.
pub const FOREIGN_IO: &str = "foreign-io";
/// Another tool's preconditioning or sequential I/O by several jobs.
pub const FOREIGN_JOBS: &str = "foreign-jobs";
/// What another tool's log lacks, or what in it was not understood.
pub const FOREIGN_LOG: &str = "foreign-log";
/// Another tool averaged the response times of a mix otherwise.
pub const FOREIGN_MIX: &str = "foreign-mix";
/// Another tool judged several tests by one window.
pub const FOREIGN_ONE_WINDOW: &str = "foreign-one-window";
/// Another tool's log does not say whether the device was purged.
pub const FOREIGN_PURGE: &str = "foreign-purge";
/// Another tool measured the numbers.
pub const FOREIGN_RESULT: &str = "foreign-result";
/// Another tool drew the same offsets in every step.
pub const FOREIGN_SAME_OFFSETS: &str = "foreign-same-offsets";
/// Another tool's units have other names.
pub const FOREIGN_UNITS: &str = "foreign-units";
/// Another tool's zones may lie elsewhere.
pub const FOREIGN_ZONES: &str = "foreign-zones";
/// Nobody held the device for a time.
pub const GAP: &str = "gap";
/// The bins of a histogram are ours.
pub const HISTOGRAM_BINS: &str = "histogram-bins";
/// Hosts that load a device together have different versions of fio. The engine's own
/// note.
pub const HOSTS_FIO_VERSIONS: &str = "hosts-fio-versions";
/// One of several hosts did far less than the others. The engine's own note.
pub const HOST_LAGS: &str = "host-lags";
/// Several hosts loaded the device: what that means for the numbers. The engine's own
/// note.
pub const HOSTS_LOAD: &str = "hosts-load";
/// Several hosts did not begin a load at the same moment. The engine's own note.
pub const HOSTS_SKEW: &str = "hosts-skew";
/// A device that several hosts read from is in use on one of them. The engine's own note.
pub const HOSTS_USE: &str = "hosts-use";
/// Nothing is known of hosts that have no shell. The engine's own note.
pub const HOSTS_UNSEEN: &str = "hosts-unseen";
/// I/Os of a capture failed.
pub const IOS_FAILED: &str = "ios-failed";
/// I/Os that a capture saw in part are not in its file.
pub const IOS_OMITTED: &str = "ios-omitted";
/// A journal ends with bytes that are no complete line.
pub const JOURNAL_TORN: &str = "journal-torn";
/// A Kolmogorov-Smirnov distance is known within bounds only.
pub const KS_BOUNDED: &str = "ks-bounded";
/// I/Os of two layers are counted together.
pub const LAYERS_MIXED: &str = "layers-mixed";
/// The drive did not hold the rate by which a demand was chosen.
pub const MAX_IOPS_NOT_HELD: &str = "max-iops-not-held";
/// The device's log counted media errors.
pub const MEDIA_ERRORS: &str = "media-errors";
/// The kernel merged I/Os.
pub const MERGES: &str = "merges";
/// Sectors read back did not hold what was written.
pub const MISCOMPARES: &str = "miscompares";
/// What the captured storage did is not known: a replay stands alone.
pub const NO_CAPTURED_VALUES: &str = "no-captured-values";
/// A trace file has no checksums.
pub const NO_CHECKSUMS: &str = "no-checksums";
/// Not every sector that was written was read back and compared.
pub const NOT_COMPARED: &str = "not-compared";
/// A trace does not tell when it began.
pub const NO_CLOCK: &str = "no-clock";
/// I/Os of a trace have no process.
pub const NO_PROCESSES: &str = "no-processes";
/// I/Os of a trace have no time in the queue.
pub const NO_QUEUE_TIMES: &str = "no-queue-times";
/// I/Os of a trace have no response time.
pub const NO_RESPONSE_TIMES: &str = "no-response-times";
/// Nothing preconditions independently of the workload.
pub const NO_WIPC: &str = "no-wipc";
/// I/Os that did not come back were no longer waited for.
pub const NOT_WAITED_FOR: &str = "not-waited-for";
/// A capture kept the I/Os of one process.
pub const ONE_PROCESS: &str = "one-process";
/// I/Os of a trace could not be put in issue order.
pub const ORDER_OVERFLOW: &str = "order-overflow";
/// A number is outside its limits, or cannot be judged.
pub const OUTSIDE_LIMITS: &str = "outside-limits";
/// Capture steps are paced by their rate.
pub const PACED_BY_RATE: &str = "paced-by-rate";
/// A part of a run ended without steady state.
pub const PART_NOT_STEADY: &str = "part-not-steady";
/// The paths of some files of a capture are not known.
pub const PATHS_UNKNOWN: &str = "paths-unknown";
/// The platforms of compared runs differ.
pub const PLATFORM_DIFFERS: &str = "platform-differs";
/// DIRTH: two of the three points are the same demand.
pub const POINTS_COINCIDE: &str = "points-coincide";
/// Which of several steady windows counts could not be checked.
pub const POST_25_WINDOW: &str = "post-25-window";
/// The device was written before a test that begins with a fresh one.
pub const PRECONDITION: &str = "precondition";
/// The preconditioning ended without steady state.
pub const PRECONDITIONING_NOT_STEADY: &str = "preconditioning-not-steady";
/// The I/O threads used up their processors.
pub const PROCESSOR_BOUND: &str = "processor-bound";
/// Steady state was not judged: bytes or time ended the run.
pub const PSEUDO_STEADY_STATE: &str = "pseudo-steady-state";
/// The purge failed and the run went on.
pub const PURGE_FAILED: &str = "purge-failed";
/// The purge is not among the standard's.
pub const PURGE_LESSER: &str = "purge-lesser";
/// Blocks read after the purge were not blank.
pub const PURGE_NOT_BLANK: &str = "purge-not-blank";
/// Profile quick: a look, not a measurement.
pub const QUICK: &str = "quick";
/// Reads found blocks that nothing was written to.
pub const READS_UNWRITTEN: &str = "reads-unwritten";
/// How a capture's addresses became the target's.
pub const REPLAY_ADDRESSES: &str = "replay-addresses";
/// How many I/Os were outstanding in the capture is not known.
pub const REPLAY_DEMAND_UNKNOWN: &str = "replay-demand-unknown";
/// A script has discards that were divided.
pub const REPLAY_DIVIDED: &str = "replay-divided";
/// I/Os of files are replayed on a block device.
pub const REPLAY_FILES: &str = "replay-files";
/// Only chosen I/Os of a capture are replayed.
pub const REPLAY_FILTERED: &str = "replay-filtered";
/// A replayed capture missed I/Os.
pub const REPLAY_INCOMPLETE: &str = "replay-incomplete";
/// Which of the captured times counts as the due time.
pub const REPLAY_ISSUE_AT: &str = "replay-issue-at";
/// Writes with forced unit access are replayed as plain writes: their flushes were captured.
pub const REPLAY_FUA_FLUSHED: &str = "replay-fua-flushed";
/// I/Os of a capture that cannot be replayed.
pub const REPLAY_LEFT_OUT: &str = "replay-left-out";
/// Think times could not be inferred: the capture has no completions.
pub const REPLAY_NO_COMPLETIONS: &str = "replay-no-completions";
/// I/Os could not be put into the order of their due times.
pub const REPLAY_ORDER: &str = "replay-order";
/// I/Os overlapped while they were outstanding.
pub const REPLAY_OVERLAPS: &str = "replay-overlaps";
/// Capture steps are applied at their rate.
pub const REPLAY_PACED: &str = "replay-paced";
/// Writes that flush first are replayed as writes alone.
pub const REPLAY_PREFLUSH: &str = "replay-preflush";
/// Streams below the threshold are not replayed.
pub const REPLAY_STREAMS_LEFT_OUT: &str = "replay-streams-left-out";
/// An export does not list all I/Os of its steps.
pub const REPLAY_STREAMS_UNLISTED: &str = "replay-streams-unlisted";
/// I/Os of the original lie beyond what the map covers.
pub const REPLAY_TOO_LARGE: &str = "replay-too-large";
/// Discards are not replayed.
pub const REPLAY_WITHOUT_DISCARDS: &str = "replay-without-discards";
/// Flushes are not replayed.
pub const REPLAY_WITHOUT_FLUSHES: &str = "replay-without-flushes";
/// Forced unit access is replayed as plain writes.
pub const REPLAY_WITHOUT_FUA: &str = "replay-without-fua";
/// I/Os of a script were handed over late: the target is slower than the trace.
pub const REPLAY_LATE: &str = "replay-late";
/// A script was not decoded in time.
pub const REPLAY_STARVED: &str = "replay-starved";
/// Capture steps are played otherwise than they were captured.
pub const REPLAY_STEPS: &str = "replay-steps";
/// A load that was to be held to a rate did not reach it.
pub const RATE_MISSED: &str = "rate-missed";
/// A replay did fewer I/Os than its capture had in the same time.
pub const REPLAY_SHARE: &str = "replay-share";
/// The kernel merged or split requests of a captured device.
pub const REQUESTS_MERGED: &str = "requests-merged";
/// Fewer rounds are allowed than the method's.
pub const ROUNDS_MAX: &str = "rounds-max";
/// A compared run has not got the procedure.
pub const RUN_WITHOUT: &str = "run-without";
/// The cadence at which a captured workload's steady state is judged is ours.
pub const RWSW_CADENCE: &str = "rwsw-cadence";
/// Rules of RWSW PTS that could not be checked.
pub const RWSW_RULES: &str = "rwsw-rules";
/// How sequential I/O of a trace is told could not be checked.
pub const SEQUENTIALITY: &str = "sequentiality";
/// A step of a sequence is left out: the device's sectors cannot hold its transfers.
pub const SEQUENCE_LEFT_OUT: &str = "sequence-left-out";
/// Another tool's sequence is no test of steady state.
pub const SEQUENCE_NOT_STEADY: &str = "sequence-not-steady";
/// Something in another tool's file was understood with a difference.
pub const SEQUENCE_REMARK: &str = "sequence-remark";
/// Settings of compared runs differ.
pub const SETTING_DIFFERS: &str = "setting-differs";
/// Other targets of the same host were tested at the same time. The bench's own note.
pub const SHARED_HOST: &str = "shared-host";
/// The device exists in virtual time only.
pub const SIMULATED: &str = "simulated";
/// A trace does not tell the size of its devices.
pub const SIZES_UNKNOWN: &str = "sizes-unknown";
/// The kernel kept the capture from looking.
pub const SKIPPED: &str = "skipped";
/// The host split I/Os.
pub const SPLIT: &str = "split";
/// Whether the limits of steady state are inclusive could not be checked.
pub const SS_INCLUSIVE: &str = "ss-inclusive";
/// The program stood still during steps.
pub const STALLED: &str = "stalled";
/// Rounds ended without steady state.
pub const STEADY_STATE_NOT_ACHIEVED: &str = "steady-state-not-achieved";
/// Steady state was found in a drive that was not written once over.
pub const STEADY_WITHIN_FIRST_FILL: &str = "steady-within-first-fill";
/// Steps are not as long as the method's.
pub const STEP_TIME: &str = "step-time";
/// A capture kept no single I/Os.
pub const STEPS_ONLY: &str = "steps-only";
/// Streams of a captured workload cannot be applied to the device.
pub const STREAMS_LEFT_OUT: &str = "streams-left-out";
/// Streams of a trace beyond those that are kept apart.
pub const STREAMS_UNLISTED: &str = "streams-unlisted";
/// A suite's procedures began on a warm device.
pub const SUITE_ORDER: &str = "suite-order";
/// The times of a trace are rounded.
pub const TIMES_ROUNDED: &str = "times-rounded";
/// Profile tkperf does otherwise than TKperf.
pub const TKPERF_MENDED: &str = "tkperf-mended";
/// The order of the throughput test's block sizes could not be checked.
pub const TP_ORDER: &str = "tp-order";
/// How the throughput test preconditions could not be checked.
pub const TP_WIPC: &str = "tp-wipc";
/// A trace has I/Os of two layers.
pub const TWO_LAYERS: &str = "two-layers";
/// The run has not come to its end.
pub const UNFINISHED: &str = "unfinished";
/// What the capture cannot see.
pub const UNSEEN: &str = "unseen";
/// The device is another one's front.
pub const VIRTUAL_DEVICE: &str = "virtual-device";
/// How much preconditioning writes could not be checked.
pub const WIPC_AMOUNT: &str = "wipc-amount";
/// The demand of preconditioning could not be checked.
pub const WIPC_DEMAND: &str = "wipc-demand";
/// The workload is not the method's.
pub const WORKLOAD: &str = "workload";
/// A remark that a captured workload carries.
pub const WORKLOAD_REMARK: &str = "workload-remark";
/// The volatile write cache is not as asked for.
pub const WRITE_CACHE: &str = "write-cache";
/// A trace does not tell the zone of its host's clock.
pub const ZONE_UNKNOWN: &str = "zone-unknown";

/// Those that say of a run that its steady state was not achieved.
pub const NOT_STEADY: [&str; 2] = [STEADY_STATE_NOT_ACHIEVED, PART_NOT_STEADY];

/// Those that the bench makes itself: a procedure that is conducted again does not make
/// them.
pub const OF_THE_BENCH: [&str; 9] = [
    CONDITIONS_CHANGED,
    FIO_SAID,
    HOSTS_FIO_VERSIONS,
    HOSTS_LOAD,
    HOSTS_SKEW,
    HOSTS_UNSEEN,
    HOSTS_USE,
    HOST_LAGS,
    SHARED_HOST,
];

/// The default of a procedure's own parameter could not be checked.
pub fn parameter(name: &str) -> String {
    format!("parameter-{name}")
}

/// Something was found bad before the run: the id of the check.
pub fn check(id: &str) -> String {
    format!("check-{id}")
}
