//! Why a capture cannot be replayed as asked.

use steadfast_domain::{Bytes, Nanos};
use steadfast_tracefile::error::TraceError;

/// Why a capture cannot be replayed, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Nothing was chosen.
    #[error("{}", empty(*.events, .filter.as_deref()))]
    Empty {
        /// I/Os that were looked at.
        events: u64,
        /// What was to be chosen; `None` where everything was.
        filter: Option<String>,
    },
    /// There is nothing to read or write.
    #[error(
        "the {flushes} chosen I/Os are all flushes, so there is nothing to replay; choose other \
         I/Os with --from, --to, --op or --device"
    )]
    OnlyFlushes {
        /// How many.
        flushes: u64,
    },
    /// Nothing is left to read or write.
    #[error(
        "no read, write or discard remains of the {ios} chosen I/Os: {reasons}; choose other \
         I/Os, or leave out fewer"
    )]
    AllLeftOut {
        /// How many were chosen.
        ios: u64,
        /// Why, with counts.
        reasons: String,
    },
    /// Sums have no single I/Os to play.
    #[error(
        "the capture kept the I/O streams of every capture step of {0}, but no single I/Os, so it \
         cannot be replayed as a script; replay its steps instead, or capture without --steps"
    )]
    SingleIosNeeded(Nanos),
    /// A script plays the I/Os of one device.
    #[error(
        "the chosen I/Os belong to {} devices ({}), but a script replays one; choose it with \
         --device", .0.len(), .0.join(", ")
    )]
    SeveralDevices(Vec<String>),
    /// What programs asked and what the device got of it are the same I/Os twice.
    #[error(
        "the chosen I/Os include the file-system layer and the block layer, which see the same \
         data twice; choose one with --layer block or --layer filesystem"
    )]
    SeveralLayers,
    /// The target is too small to move granules.
    #[error(
        "the target has {}, but addresses are mapped in granules of 1 MiB; choose a larger \
         target, or --map same if the trace fits", .0.binary()
    )]
    TargetTooSmall(Bytes),
    /// Addresses stay as they are and do not fit.
    #[error(
        "{ios} of {of} I/Os reach beyond the target's end at {target} bytes (the last ends at {end}); \
         choose --map wrap, pack or scale, or a larger target"
    )]
    BeyondTarget {
        /// I/Os that do.
        ios: u64,
        /// Of so many.
        of: u64,
        /// Where the last one ends.
        end: u64,
        /// Where the target ends.
        target: u64,
    },
    /// Addresses too far apart for the memory set aside.
    #[error(
        "the I/Os are spread over more than 512 TiB, too far to pack; choose --map wrap or scale"
    )]
    TooFarApart,
    /// `--issue-at queue` of a trace without such times.
    #[error("the trace has no queue times; omit --issue-at, or use --issue-at issue")]
    NoQueueTimes,
    /// Steps were wanted and there are none.
    #[error(
        "the workload '{0}' has no capture steps; derive it again with --native, or replay its \
         cumulative workload"
    )]
    NoSteps(String),
    /// A step of no length has no rate.
    #[error("the capture step at {0} lasts 0 s, so it has no rate; correct its length")]
    StepWithoutLength(Nanos),
    /// Every stream of every step is below the threshold.
    #[error("no I/O stream reaches the threshold of {0}; choose a lower one")]
    BelowThreshold(String),
}

fn empty(events: u64, filter: Option<&str>) -> String {
    match (events, filter) {
        (0, None) => "the capture holds no I/O, so there is nothing to replay".to_owned(),
        (_, Some(filter)) => {
            format!("none of the capture's I/Os is chosen by: {filter}; choose more of them")
        }
        (events, None) => format!("none of the {events} I/Os is chosen; choose more of them"),
    }
}
