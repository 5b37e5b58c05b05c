//! [`SharedLogReading`]: which steps share one reading of the device's logs.

use steadfast_domain::{Load, Measurement, Nanos, Step};
use steadfast_host::LogReading;

/// Shortest step for which the device's logs are read: asking a drive for them costs it some
/// milliseconds. Shorter steps share readings: the logs are read after the first step that ends
/// this much later than the last reading.
const LOGGED_STEP_MIN: Nanos = Nanos::from_secs(10);

/// A reading of the device's logs, and the short steps since.
pub(crate) struct SharedLogReading {
    /// The reading; `None` if there was none before these steps.
    pub(crate) log: Option<LogReading>,
    /// Phase of the steps.
    phase: String,
    pub(crate) steps: u32,
    time: Nanos,
    /// True if the device was left idle for other targets since the reading.
    pub(crate) has_waited: bool,
}

/// Returns true if a step is long enough for its device logs to be read: by its time limit, or
/// because only bytes limit it.
pub(crate) fn is_logged(step: &Step) -> bool {
    let length = match &step.load {
        Load::Script(script) => Some(script.span),
        Load::Stimulus(_) | Load::Together(_) => {
            let times: Option<Vec<Nanos>> =
                step.load.stimuli().iter().map(|stimulus| stimulus.until.time).collect();
            match (times.and_then(|times| times.into_iter().max()), step.cut) {
                (Some(time), Some(cut)) => Some(time.min(cut)),
                (time, cut) => time.or(cut),
            }
        }
    };
    length.is_none_or(|length| length >= LOGGED_STEP_MIN)
}

impl SharedLogReading {
    pub(crate) fn new(log: Option<LogReading>, phase: &str) -> Self {
        let (phase, time) = (phase.to_owned(), Nanos::ZERO);
        SharedLogReading { log, phase, steps: 0, time, has_waited: false }
    }

    /// Returns the reading that a short step of this phase shares: the last one, unless steps of
    /// another phase followed it.
    pub(crate) fn after(last: Option<SharedLogReading>, phase: &str) -> Self {
        match last {
            Some(last) if last.steps == 0 || last.phase == phase => {
                SharedLogReading { phase: phase.to_owned(), ..last }
            }
            _ => SharedLogReading::new(None, phase),
        }
    }

    /// Counts a step. Returns true if the logs are to be read after it: it is long, or the short
    /// steps have taken long enough and leave no load running.
    pub(crate) fn is_due_after(&mut self, step: &Step, measurement: &Measurement) -> bool {
        self.steps += 1;
        self.time += measurement.elapsed;
        is_logged(step) || (self.time >= LOGGED_STEP_MIN && measurement.complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand, StepPlace, Stimulus};

    fn step(until: LoadLimits, cut: Option<u64>) -> Step {
        let stimulus = Stimulus::new(
            Vec::new(),
            ActiveRange::first(100, Bytes::gib(1), 512),
            Demand::new(1, 1),
            until,
        );
        let mut step = Step::alone(StepPlace::new("rounds", 1, 1, ""), stimulus);
        step.cut = cut.map(Nanos::from_secs);
        step
    }

    #[test]
    fn logs_are_read_around_long_steps_only() {
        let seconds = |seconds| LoadLimits::time(Nanos::from_secs(seconds));
        let bytes = LoadLimits { bytes: Some(Bytes::gib(1)), ..LoadLimits::default() };
        assert!(is_logged(&step(seconds(60), None)));
        assert!(is_logged(&step(seconds(10), None)));
        assert!(!is_logged(&step(seconds(9), None)));
        assert!(!is_logged(&step(seconds(60), Some(1))));
        assert!(is_logged(&step(seconds(21_600), Some(60))));
        assert!(is_logged(&step(bytes, None)));
        assert!(!is_logged(&step(bytes, Some(5))));
    }

    #[test]
    fn short_steps_of_a_phase_share_a_reading() {
        let mut short = step(LoadLimits::time(Nanos::from_secs(4)), None);
        let ran = |seconds, complete| Measurement {
            elapsed: Nanos::from_secs(seconds),
            complete,
            ..Measurement::default()
        };
        // A reading that a long step of another phase ended with is shared.
        let after_long = SharedLogReading::new(Some(LogReading::default()), "precondition");
        let mut shared = SharedLogReading::after(Some(after_long), "rounds");
        let due = [ran(4, true), ran(4, true), ran(4, true)]
            .map(|measured| shared.is_due_after(&short, &measured));
        assert_eq!((due, shared.steps), ([false, false, true], 3));
        assert!(shared.log.is_some());
        // One that steps of another phase followed is not.
        assert_eq!(shared.phase, "rounds");
        let other = SharedLogReading::after(Some(shared), "histogram");
        assert!(other.log.is_none() && other.steps == 0);
        // A wait for other targets affects all steps that share the reading.
        let mut waited = SharedLogReading::new(Some(LogReading::default()), "rounds");
        waited.has_waited = true;
        assert!(!waited.is_due_after(&short, &ran(4, true)));
        assert!(SharedLogReading::after(Some(waited), "rounds").has_waited);
        assert!(!SharedLogReading::new(None, "rounds").has_waited);
        // A running load is not disturbed.
        short.cut = Some(Nanos::from_secs(1));
        let mut running = SharedLogReading::new(None, "rounds");
        assert!(!running.is_due_after(&short, &ran(60, false)));
        assert!(running.is_due_after(&short, &ran(1, true)));
    }
}
