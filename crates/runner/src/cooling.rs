//! The wait for a device to cool down before the first load of a test (`--start-below`).

use crate::progress::{ProgressSink, RunEvent};
use crate::rig::Rig;
use steadfast_domain::record::CoolDown;
use steadfast_domain::settings::StartBelow;
use steadfast_domain::{Halt, Nanos};

/// Interval between two readings of the temperature of a device that cools down: a reading may
/// take a tool some hundred milliseconds.
const READING_INTERVAL: Nanos = Nanos::from_secs(10);

/// Number of failed readings in a row after which the temperature counts as lost.
const FAILED_READINGS_MAX: u32 = 3;

/// Leaves the device idle until it is cooler than the user wants it.
///
/// # Errors
/// Returns [`Halt::Refused`] if it is still too warm after the longest wait, or no longer reports
/// its temperature.
pub(crate) fn wait_until_cool(
    rig: &mut dyn Rig,
    progress: &mut dyn ProgressSink,
    wanted: StartBelow,
) -> Result<CoolDown, Halt> {
    let below = wanted.celsius;
    let mut waited = Nanos::ZERO;
    let mut failed_readings = 0;
    let mut failed_in_a_row = 0;
    let mut last: Option<CoolDown> = None;
    loop {
        if let Some(to) = rig.temperature() {
            failed_in_a_row = 0;
            let from = last.map_or(to, |last| last.from);
            let cooling = CoolDown { below, from, to, waited, failed_readings };
            if to < below {
                progress.report(&RunEvent::Cooled(&cooling));
                return Ok(cooling);
            }
            last = Some(cooling);
        } else {
            failed_readings += 1;
            failed_in_a_row += 1;
        }
        let left = wanted.limit.saturating_sub(waited);
        let device = &rig.device().path;
        if failed_in_a_row == FAILED_READINGS_MAX || (left == Nanos::ZERO && last.is_none()) {
            return Err(Halt::Refused(format!(
                "{device} no longer reports its temperature, which --start-below needs: the last \
                 {failed_in_a_row} readings failed; check its sensor, then resume the run"
            )));
        }
        if let Some(cooling) = &last {
            if left == Nanos::ZERO {
                return Err(Halt::Refused(format!(
                    "{device}: after {waited} without I/O, the device has {:.1} C and not less than \
                     {below:.1} C (--start-below); cool it, then resume the run, which waits again",
                    cooling.to
                )));
            }
            progress.report(&RunEvent::Cooling { cooling, limit: wanted.limit });
        }
        let pause = left.min(READING_INTERVAL);
        rig.idle(pause)?;
        waited += pause;
    }
}
