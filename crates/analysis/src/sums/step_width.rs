//! Widths of capture steps: as requested, or chosen for a readable picture.

use steadfast_domain::Nanos;
use steadfast_tracefile::cube_file::WIDTH_NS;
use steadfast_tracefile::error::TraceError;

/// Maximum number of steps in a picture whose width the user did not choose.
const STEPS_TARGET: u64 = 240;

/// Checks that steps of `width_ns` can be combined from whole steps of `kept_ns`.
pub(crate) fn check_is_multiple(width_ns: u64, kept_ns: u64) -> Result<(), TraceError> {
    if width_ns.is_multiple_of(kept_ns) {
        return Ok(());
    }
    Err(TraceError::TooFine(format!(
        "steps of {} cannot be built from the kept steps of {}; choose a multiple",
        Nanos(width_ns),
        Nanos(kept_ns)
    )))
}

/// Returns the default widths in nanoseconds, ascending.
fn default_widths() -> impl Iterator<Item = u64> {
    let short = (0..8).flat_map(|power| [1, 2, 5].map(|n| n * 10u64.pow(power) * 100_000));
    let long = [60u64, 120, 300, 600, 1800, 3600].map(|seconds| seconds * 1_000_000_000);
    short.filter(move |width| *width < long[0]).chain(long)
}

/// Returns a step width as [`step_width`] does, for steps that are combined from steps of
/// `kept_ns`.
pub(crate) fn step_width_of(
    kept_ns: u64,
    requested_ns: Option<u64>,
    span_ns: (u64, u64),
    most: u64,
) -> Result<u64, TraceError> {
    if let Some(width) = requested_ns {
        check_is_multiple(width, kept_ns)?;
        return step_width(requested_ns, span_ns, most);
    }
    let span = span_ns.1.saturating_sub(span_ns.0);
    let fits = |width: &u64| width.is_multiple_of(kept_ns) && span / width <= STEPS_TARGET;
    let as_many = kept_ns.saturating_mul(span / kept_ns / STEPS_TARGET + 1);
    Ok(default_widths().find(fits).unwrap_or(as_many))
}

/// Returns true if capture steps can have this width: 100 us to 1 h, or whole hours.
#[must_use]
pub fn is_step_width(width_ns: u64) -> bool {
    let is_hours = width_ns > 0 && width_ns.is_multiple_of(*WIDTH_NS.end());
    WIDTH_NS.contains(&width_ns) || is_hours
}

/// Returns `requested_ns`, or else the narrowest default width that gives a readable picture. A
/// capture of many days gets steps of several hours.
///
/// # Errors
/// Returns [`TraceError::TooFine`] if the width is neither within 100 us to 1 h nor whole hours, or
/// gives more than `most` steps.
pub fn step_width(
    requested_ns: Option<u64>,
    span_ns: (u64, u64),
    most: u64,
) -> Result<u64, TraceError> {
    let span = span_ns.1.saturating_sub(span_ns.0);
    let hour = *WIDTH_NS.end();
    let Some(width) = requested_ns else {
        let fits = |width: &u64| span / width <= STEPS_TARGET;
        let hours = hour.saturating_mul(span / hour / STEPS_TARGET + 1);
        return Ok(default_widths().find(fits).unwrap_or(hours));
    };
    if !is_step_width(width) {
        let what = format!(
            "a capture step of {} is neither between 100 µs and 1 h nor whole hours",
            Nanos(width)
        );
        return Err(TraceError::TooFine(what));
    }
    if span / width > most {
        return Err(TraceError::TooFine(format!(
            "{} steps of {} are more than the {most} that can be shown; choose wider steps, or a \
             part of the time",
            span / width,
            Nanos(width)
        )));
    }
    Ok(width)
}
