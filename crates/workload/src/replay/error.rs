//! Errors of preparing a replay.

use steadfast_analysis::questions::cumulative::{Threshold, no_stream_message};
use steadfast_domain::{Bytes, Nanos};
use steadfast_tracefile::error::TraceError;

/// The reason why a capture cannot be replayed, with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// No I/O was chosen.
    #[error("{}", empty(*.events, .filter.as_deref()))]
    Empty {
        /// Number of I/Os examined.
        events: u64,
        /// Description of the filter; `None` without one.
        filter: Option<String>,
    },
    /// All chosen I/Os are flushes.
    #[error(
        "the {flushes} chosen I/Os are all flushes, so there is nothing to replay; choose other \
         I/Os with --from, --to, --op or --device"
    )]
    OnlyFlushes {
        /// Number of flushes.
        flushes: u64,
    },
    /// No read, write or discard remains to be played.
    #[error(
        "no read, write or discard remains of the {ios} chosen I/Os: {reasons}; choose other \
         I/Os, or leave out fewer"
    )]
    AllLeftOut {
        /// Number of chosen I/Os.
        ios: u64,
        /// Reasons with their counts.
        reasons: String,
    },
    /// A script needs single I/Os, but the capture kept sums.
    #[error(
        "the capture kept the I/O streams of every capture step of {0}, but no single I/Os, so it \
         cannot be replayed as a script; replay its steps instead, or capture without --totals-every"
    )]
    SingleIosNeeded(Nanos),
    /// The I/Os belong to several devices, but a script plays those of one.
    #[error(
        "the chosen I/Os belong to {} devices ({}), but a script replays one; choose it with \
         --device", .0.len(), .0.join(", ")
    )]
    SeveralDevices(Vec<String>),
    /// The I/Os belong to several layers, which record the same data twice.
    #[error(
        "the chosen I/Os include the file-system layer and the block layer, which see the same \
         data twice; choose one with --layer block or --layer filesystem"
    )]
    SeveralLayers,
    /// The target is smaller than a granule.
    #[error(
        "the target has {}, but addresses are mapped in granules of 1 MiB; choose a larger \
         target, or --map same if the trace fits", .0.binary()
    )]
    TargetTooSmall(Bytes),
    /// The captured addresses are to be kept but exceed the target.
    #[error(
        "{ios} of {all} I/Os reach beyond the target's end at {target} bytes (the last ends at {end}); \
         choose --map wrap, pack or scale, or a larger target"
    )]
    BeyondTarget {
        /// Number of I/Os beyond the target's end.
        ios: u64,
        /// Number of all I/Os.
        all: u64,
        /// End of the last I/O, in bytes.
        end: u64,
        /// End of the target, in bytes.
        target: u64,
    },
    /// The addresses are too far apart for the memory set aside to pack them.
    #[error(
        "the I/Os are spread over more than 512 TiB, too far to pack; choose --map wrap or scale"
    )]
    TooFarApart,
    /// Due times by queue entry were requested, but the trace has none.
    #[error("the trace has no queue times; omit --issue-at, or use --issue-at issue")]
    NoQueueTimes,
    /// Capture steps were requested, but the workload has none.
    #[error(
        "the workload '{0}' has no capture steps; derive it again with --native, or replay its \
         cumulative workload"
    )]
    NoSteps(String),
    /// Other capture steps were requested than the workload has.
    #[error(
        "{0} has capture steps of its own, which are kept; omit --step, or derive it again from the \
         capture with that --step"
    )]
    FixedSteps(String),
    /// A capture step has no length, and therefore no rate.
    #[error("the capture step at {0} lasts 0 s, so it has no rate; correct its length")]
    StepWithoutLength(Nanos),
    /// All streams of all steps are below the threshold.
    #[error("{}", no_stream_message(*.0))]
    BelowThreshold(Threshold),
}

fn empty(events: u64, filter: Option<&str>) -> String {
    match (events, filter) {
        (0, None) => "the capture holds no I/O, so there is nothing to replay".to_owned(),
        (_, Some(filter)) => {
            format!("none of the capture's I/Os is chosen by: {filter}; widen the filter")
        }
        (events, None) => format!("none of the {events} I/Os is chosen; widen the filter"),
    }
}
