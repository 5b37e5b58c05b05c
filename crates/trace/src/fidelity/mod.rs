//! How true a replay was: two captures side by side, one of the original and one of
//! the replay, or any other two.
//!
//! What sums tell is compared of any two: I/O streams, sizes, and both over time on
//! one axis that begins with each capture's first I/O. What only single I/Os tell
//! is compared where both have them, device by device: whether the same I/Os came
//! in the same order, how far each was from its time, and how the times between
//! I/Os are distributed.

mod distance;
mod findings;
mod pairs;
mod plots;
mod side;
mod tables;

use crate::error::TraceError;
use crate::replay::{AddressMap, ReplayError};
use crate::totals::PICTURE_STEPS_MAX;
use crate::untold::Untold;
use crate::widths::step_width;
use crate::{Captured, Pass};
pub use distance::Distance;
pub use findings::{chapters, findings};
pub use pairs::{DevicePair, Difference, DifferentIo, SequenceFound, Starts};
pub use side::SideFound;
use std::io::{Read, Seek};
use steadfast_domain::Nanos;
use steadfast_domain::script::Timing;

/// Devices that are compared one by one at most.
const DEVICES_MAX: usize = 16;

/// How two captures are compared: the original first.
#[derive(Debug, Clone, PartialEq)]
pub struct FidelityOptions {
    /// Which I/Os of each.
    pub passes: [Pass; 2],
    /// Width of a step of the pictures over time; chosen by the length unless set.
    pub step_ns: Option<u64>,
    /// The replay was played so many times as fast: the original's times are divided
    /// by it.
    pub faster: f64,
    /// Where the replay put the original's I/Os; offsets are compared after it.
    pub map: Option<AddressMap>,
}

impl Default for FidelityOptions {
    fn default() -> Self {
        FidelityOptions { passes: Default::default(), step_ns: None, faster: 1.0, map: None }
    }
}

impl FidelityOptions {
    /// For a replay that was played like this. In a closed loop due times did not
    /// count; it is compared with the original's own.
    pub fn played(self, timing: Timing) -> Self {
        let faster = match timing {
            Timing::Faster { thousandths } => thousandths as f64 / 1e3,
            Timing::Original | Timing::Closed => 1.0,
        };
        FidelityOptions { faster, ..self }
    }
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Fidelity {
    /// Width of a step of the replay; one of the original is `faster` times as wide.
    pub step_ns: u64,
    /// How many times as fast the replay was played.
    pub faster: f64,
    /// Whether offsets were compared as the replay mapped them.
    pub mapped: bool,
    /// The original and the replay.
    pub sides: [SideFound; 2],
    /// Devices in pairs, in order of their numbers; `None` where one of the two has no
    /// single I/Os.
    pub devices: Option<Vec<DevicePair>>,
}

impl Fidelity {
    /// Compares two captures.
    ///
    /// # Errors
    /// Where one cannot be read, nothing of it is chosen, or steps of one width cannot
    /// be made of both.
    pub fn of<A, B>(
        original: &Captured<A>,
        replay: &Captured<B>,
        options: &FidelityOptions,
    ) -> Result<Self, ReplayError>
    where
        A: Read + Seek + Send + 'static,
        B: Read + Seek + Send + 'static,
    {
        let [of_original, of_replay] = &options.passes;
        let faster = options.faster;
        if !(faster.is_finite() && faster > 0.0) {
            let what = format!("a replay cannot be {faster} times as fast");
            return Err(TraceError::Unsuitable(what).into());
        }
        let spans = [side::span_ns(original, of_original)?, side::span_ns(replay, of_replay)?];
        let lasted = |(from, to): (u64, u64)| to.saturating_sub(from);
        let longest = ((lasted(spans[0]) as f64 / faster) as u64).max(lasted(spans[1]));
        let step_ns = common_width(original, replay, options, longest)?;
        let widths = [(step_ns as f64 * faster).round() as u64, step_ns];
        let sides = [
            SideFound::of(original, of_original, spans[0], widths[0])?,
            SideFound::of(replay, of_replay, spans[1], widths[1])?,
        ];
        let tell_ios = [original.tells(Untold::SingleIos), replay.tells(Untold::SingleIos)];
        let devices = match tell_ios.iter().all(Result::is_ok) {
            true => Some(pairs::of_devices(original, replay, options, &sides)?),
            false => None,
        };
        Ok(Fidelity { step_ns, faster, mapped: options.map.is_some(), sides, devices })
    }
}

/// The width of a step that both can be cut into: as asked, or so that a picture can
/// be read.
fn common_width<A, B>(
    original: &Captured<A>,
    replay: &Captured<B>,
    options: &FidelityOptions,
    span_ns: u64,
) -> Result<u64, ReplayError>
where
    A: Read + Seek + Send + 'static,
    B: Read + Seek + Send + 'static,
{
    let kept = [original.conditions().step_ns, replay.conditions().step_ns];
    // The coarser of the two decides; the other must be able to follow.
    let coarser = kept.into_iter().flatten().max();
    let span = (0, span_ns);
    let width = match (coarser, options.step_ns) {
        (None, asked) => step_width(asked, span, PICTURE_STEPS_MAX)?,
        (Some(_), Some(asked)) => step_width(Some(asked), span, PICTURE_STEPS_MAX)?,
        (Some(kept), None) => {
            let usual = step_width(None, span, PICTURE_STEPS_MAX)?;
            usual.div_ceil(kept).max(1).saturating_mul(kept)
        }
    };
    for (kept, faster) in kept.into_iter().zip([options.faster, 1.0]) {
        let width = (width as f64 * faster).round() as u64;
        if let Some(kept) = kept.filter(|kept| width == 0 || !width.is_multiple_of(*kept)) {
            return Err(TraceError::TooFine(format!(
                "steps of {} cannot be built from the kept steps of {}; choose a multiple with \
                 --step",
                Nanos(width),
                Nanos(kept)
            ))
            .into());
        }
    }
    Ok(width)
}
