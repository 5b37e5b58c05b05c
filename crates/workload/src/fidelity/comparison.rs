//! Compares two captures.

use super::options::FidelityOptions;
use super::pairs::{self, DevicePair};
use super::side::{self, FidelitySide};
use crate::replay::ReplayError;
use steadfast_analysis::Captured;
use steadfast_analysis::questions::totals::PLOT_STEPS_MAX;
use steadfast_analysis::sums::step_width::step_width;
use steadfast_domain::Nanos;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;

/// The result of a comparison.
#[derive(Debug, Clone)]
pub struct Fidelity {
    /// Width of a step of the replay in nanoseconds; one of the original is `faster` times as wide.
    pub step_ns: u64,
    /// Speed factor of the replay.
    pub faster: f64,
    /// True if the original's offsets were mapped like those of the replay.
    pub mapped: bool,
    /// The original and the replay.
    pub sides: [FidelitySide; 2],
    /// Pairs of devices in the order of their numbers; `None` if either capture has no single
    /// I/Os.
    pub devices: Option<Vec<DevicePair>>,
}

impl Fidelity {
    /// Compares two captures.
    ///
    /// # Errors
    /// Returns [`ReplayError::Empty`] if nothing of a capture is chosen, and
    /// [`ReplayError::Trace`] if a capture cannot be read, the speed factor is not positive, or
    /// steps of one width cannot be made of both.
    pub fn compare(
        original: &Captured,
        replay: &Captured,
        options: &FidelityOptions,
    ) -> Result<Self, ReplayError> {
        let [original_pass, replay_pass] = &options.passes;
        let faster = options.faster;
        if !(faster.is_finite() && faster > 0.0) {
            let what = format!("a replay cannot be {faster} times as fast");
            return Err(TraceError::Unsuitable(what).into());
        }
        let spans = [side::span_ns(original, original_pass)?, side::span_ns(replay, replay_pass)?];
        let [original_ns, replay_ns] = spans.map(|(from, to)| to.saturating_sub(from));
        let longest_ns = ((original_ns as f64 / faster) as u64).max(replay_ns);
        let step_ns = common_width(original, replay, options, longest_ns)?;
        let widths = [(step_ns as f64 * faster).round() as u64, step_ns];
        let sides = [
            FidelitySide::read(original, original_pass, spans[0], widths[0])?,
            FidelitySide::read(replay, replay_pass, spans[1], widths[1])?,
        ];
        let have_ios = original.check_recorded(NotRecorded::SingleIos).is_ok()
            && replay.check_recorded(NotRecorded::SingleIos).is_ok();
        let devices = if have_ios {
            Some(pairs::compare_devices(original, replay, options, &sides)?)
        } else {
            None
        };
        Ok(Fidelity { step_ns, faster, mapped: options.map.is_some(), sides, devices })
    }
}

/// Returns a step width that suits both captures: as requested, or one for a legible plot.
fn common_width(
    original: &Captured,
    replay: &Captured,
    options: &FidelityOptions,
    span_ns: u64,
) -> Result<u64, ReplayError> {
    let recorded_ns = [original.conditions().step_ns, replay.conditions().step_ns];
    // The coarser one decides; the check below makes sure that the other can follow.
    let coarser_ns = recorded_ns.into_iter().flatten().max();
    let width = step_width(options.step_ns, (0, span_ns), PLOT_STEPS_MAX)?;
    let width = match (coarser_ns, options.step_ns) {
        (Some(step_ns), None) => width.div_ceil(step_ns).max(1).saturating_mul(step_ns),
        _ => width,
    };
    for (step_ns, faster) in recorded_ns.into_iter().zip([options.faster, 1.0]) {
        let width = (width as f64 * faster).round() as u64;
        let is_unsuitable = |step_ns: &u64| width == 0 || !width.is_multiple_of(*step_ns);
        if let Some(step_ns) = step_ns.filter(is_unsuitable) {
            return Err(TraceError::TooFine(format!(
                "steps of {} cannot be made of the {} that were kept; choose a multiple with \
                 --step",
                Nanos(width),
                Nanos(step_ns)
            ))
            .into());
        }
    }
    Ok(width)
}
