//! Position of a run: what its finished steps leave for the next one.

use std::collections::BTreeMap;
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::{Bytes, Measurement, Step};
use steadfast_engine::{StepStart, WorkDone};

/// Position of the run, from which the next step starts.
#[derive(Default)]
pub(crate) struct RunPosition {
    cursors: BTreeMap<String, Bytes>,
    done: WorkDone,
    /// Work done by each of several concurrent loads.
    done_by_load: Vec<WorkDone>,
    script: ScriptPosition,
    /// Number of resumptions since the last load was started.
    resumed: u64,
}

impl RunPosition {
    /// Creates the position at the start of a run that was resumed this often.
    pub fn new(resumed: u64) -> RunPosition {
        RunPosition { resumed, ..RunPosition::default() }
    }

    /// Returns the start of a step, which is the first after the resumptions so far.
    pub fn start(&mut self, step: &Step) -> StepStart {
        let mut start = StepStart {
            cursors: self.cursors.clone(),
            resumed: std::mem::take(&mut self.resumed),
            ..StepStart::default()
        };
        if step.continues {
            start.done = self.done;
            start.done_by_load = self.done_by_load.clone();
            start.script = self.script;
        }
        start
    }

    /// Moves to the end of a measured step.
    pub fn advance(&mut self, step: &Step, measurement: &Measurement) {
        if !step.continues {
            self.done = WorkDone::default();
            self.done_by_load.clear();
        }
        self.advance_loads(step, measurement);
        self.done.time += measurement.elapsed;
        self.done.bytes += measurement.bytes();
        self.done.ios += measurement.drawn_ios();
        self.cursors.extend(measurement.cursors.clone());
        self.script = measurement.replay.as_ref().map_or(ScriptPosition::default(), |r| r.position);
    }

    /// Concurrent loads end independently: one that has ended is not started again.
    fn advance_loads(&mut self, step: &Step, measurement: &Measurement) {
        self.done_by_load.resize(measurement.parts.len(), WorkDone::default());
        let stimuli = step.load.stimuli();
        let measured = self.done_by_load.iter_mut().zip(measurement.concurrent_loads());
        for (number, (done, load)) in measured.enumerate() {
            done.time += measurement.elapsed;
            done.bytes += Bytes(load.streams.iter().map(|s| s.tally.bytes.0).sum());
            // The last tally of a load that flushes after its writes is that of the flushes.
            let flushes = stimuli.get(number).is_some_and(|load| load.flush_every().is_some());
            let drawn = &load.streams[..load.streams.len().saturating_sub(usize::from(flushes))];
            done.ios += drawn.iter().map(|s| s.tally.ios).sum::<u64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Demand, Nanos, ReplayResult, StepPlace, Stimulus};

    #[test]
    fn a_script_continues_where_its_last_step_ended() {
        let range = ActiveRange::new(Bytes(0), Bytes(0));
        let stimulus = Stimulus::new(Vec::new(), range, Demand::new(1, 1), LoadLimits::ios(1));
        let mut step = Step::alone(StepPlace::new("replay", 0, 1, ""), stimulus);
        let mut position = RunPosition::default();
        assert_eq!(position.start(&step).script, ScriptPosition::default());
        let at = ScriptPosition { ios: 7, time: Nanos::SECOND };
        let replay = Some(Box::new(ReplayResult { position: at, ..ReplayResult::default() }));
        position.advance(&step, &Measurement { replay, ..Measurement::default() });
        step.continues = true;
        assert_eq!(position.start(&step).script, at);
        step.continues = false;
        assert_eq!(position.start(&step).script, ScriptPosition::default());
        position.advance(&step, &Measurement::default());
        step.continues = true;
        assert_eq!(position.start(&step).script, ScriptPosition::default());
    }
}
