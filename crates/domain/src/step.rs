//! A [`Step`]: a load and its position in a procedure.

use crate::io_control::LoadGroup;
use crate::random_bits::mix64;
use crate::script::ScriptLoad;
use crate::stimulus::{IoStream, Stimulus};
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The I/Os to apply to a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// I/Os drawn at random from weighted streams.
    Stimulus(Stimulus),
    /// Exact I/Os in order.
    Script(ScriptLoad),
    /// Several stimuli that begin at the same time, each with its own threads, end and pace. This
    /// is not a mix: none waits for another.
    Together(Vec<Stimulus>),
}

impl Load {
    /// Returns true if the load changes the data on the device.
    pub fn alters(&self) -> bool {
        match self {
            Load::Stimulus(stimulus) => stimulus.alters(),
            Load::Script(script) => script.alters(),
            Load::Together(stimuli) => stimuli.iter().any(Stimulus::alters),
        }
    }
    /// Returns the stimulus; `None` for a script or several stimuli.
    pub fn stimulus(&self) -> Option<&Stimulus> {
        match self {
            Load::Stimulus(stimulus) => Some(stimulus),
            Load::Script(_) | Load::Together(_) => None,
        }
    }
    /// Returns the stimuli in order; empty for a script.
    pub fn stimuli(&self) -> &[Stimulus] {
        match self {
            Load::Stimulus(stimulus) => std::slice::from_ref(stimulus),
            Load::Together(stimuli) => stimuli,
            Load::Script(_) => &[],
        }
    }
    /// Returns the streams of all stimuli. The tallies of a measurement have this order; those of
    /// a stimulus that flushes after its writes are followed by the tally of the flushes.
    pub fn streams(&self) -> impl Iterator<Item = &IoStream> {
        self.stimuli().iter().flat_map(|stimulus| &stimulus.streams)
    }
    /// Returns the time at the start that is not measured; it is the same for all stimuli applied
    /// at once.
    pub fn ramp(&self) -> Nanos {
        self.stimuli().first().map_or(Nanos::ZERO, |stimulus| stimulus.ramp)
    }
    /// Returns the reason why these stimuli cannot be applied at once, in one sentence; `None` if
    /// they can. Does not check the stimuli themselves.
    pub fn fault_at_once(stimuli: &[Stimulus]) -> Option<String> {
        let first = stimuli.first()?;
        if stimuli.iter().any(|stimulus| stimulus.ramp != first.ramp) {
            return Some("loads that are applied at once need the same unmeasured time".into());
        }
        stimuli.iter().any(|stimulus| stimulus.verify).then(|| {
            "loads that are applied at once cannot be verified: one may write what another reads"
                .into()
        })
    }
}

impl From<Stimulus> for Load {
    fn from(stimulus: Stimulus) -> Self {
        Load::Stimulus(stimulus)
    }
}

/// Position of a step in its procedure.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct StepPlace {
    /// Phase: `wipc`, `rounds`, `pre-writes`, ...
    pub phase: String,
    /// Round, starting at 1; 0 outside rounds.
    pub round: u32,
    /// Point within the round or phase, starting at 1.
    pub point: u32,
    /// Label for readers, such as `RND 4K RW65`.
    pub label: String,
}

impl StepPlace {
    /// Creates a place.
    pub fn new(phase: &str, round: u32, point: u32, label: impl Into<String>) -> Self {
        StepPlace { phase: phase.to_owned(), round, point, label: label.into() }
    }
    /// Returns the seed of the step: the same in every run with this run seed, different for every
    /// step of a run. The label is ignored, so that a better wording never changes what is
    /// measured.
    pub fn seed(&self, run_seed: u64) -> u64 {
        let phase = self.phase.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let spot = u64::from(self.round) << 32 | u64::from(self.point);
        mix64(mix64(run_seed ^ phase).wrapping_add(spot))
    }
}

/// Returns the name of a phase without its attempt: `fill` for `fill (attempt 2)`.
pub fn base_phase(phase: &str) -> &str {
    phase.split_once(" (attempt ").map_or(phase, |(base, _)| base)
}

/// Parses the numbers in a phase of a sequence: that of the step, followed by that of the attempt
/// if there are several. Phases run in the order of these numbers.
pub fn phase_numbers(phase: &str) -> Option<Vec<u32>> {
    phase.strip_prefix("step-")?.split('-').map(|number| number.parse().ok()).collect()
}

impl fmt::Display for StepPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.round {
            0 => write!(f, "{} {} ({})", self.phase, self.point, self.label),
            round => write!(f, "round {round}, step {} ({})", self.point, self.label),
        }
    }
}

/// Time by which a measured step may be shorter than requested, with any engine: fio counts time in
/// whole milliseconds, and a cut falls between two of them. Rates refer to the measured time, so
/// nothing else depends on this limit. It is our choice.
pub const SHORTFALL_MAX: Nanos = Nanos::from_millis(2);

/// Returns true if a step with this measured time is as long as requested.
pub const fn is_whole(elapsed: Nanos, requested: Nanos) -> bool {
    elapsed.0.saturating_add(SHORTFALL_MAX.0) >= requested.0
}

/// Returns true if an interval of this length is shorter than intended, because its step ended
/// inside it.
pub const fn is_partial(length: Nanos, intended: Nanos) -> bool {
    length.0 < intended.0 / 100 * 95
}

/// A load that a bench applies and measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Position in the procedure.
    pub place: StepPlace,
    /// Load to apply.
    pub load: Load,
    /// Measured time after which the step ends although the load is not complete; the load is left
    /// running for the step that continues it. `None` to run the load to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Nanos>,
    /// True if the load is the one that the previous step left running: threads, cursors and
    /// outstanding I/Os continue; only the accounting restarts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// Control group of each stimulus, in the order of the load: each runs in a process of its own,
    /// in this group. Empty for a load that runs in the program's own process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<LoadGroup>,
    /// Length of the intervals in which the I/Os are counted; `None` for one second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Nanos>,
}

impl Step {
    /// Creates a step that starts its load and runs it to the end.
    pub fn alone(place: StepPlace, load: impl Into<Load>) -> Self {
        Step {
            place,
            load: load.into(),
            cut: None,
            continues: false,
            groups: Vec::new(),
            interval: None,
        }
    }
    /// Sets the control group of each stimulus.
    pub fn in_groups(self, groups: impl Into<Vec<LoadGroup>>) -> Self {
        Step { groups: groups.into(), ..self }
    }
    /// Returns the reason why the loads of this step cannot run in processes of their own, in one
    /// sentence; `None` if they can or need not.
    pub fn group_fault(&self) -> Option<String> {
        if self.groups.is_empty() {
            return None;
        }
        if self.groups.len() != self.load.stimuli().len() {
            return Some("each load of a step needs a control group, or none does".into());
        }
        if self.cut.is_some() || self.continues {
            return Some("loads in control groups run to their end: they cannot be cut".into());
        }
        self.load.stimuli().iter().any(|stimulus| stimulus.verify).then(|| {
            "loads in control groups cannot be verified: each process has stamps of its own".into()
        })
    }
    /// Creates a part of a longer load, which is left running after `cut` of measured time;
    /// `continues` is true unless this part starts the load.
    pub fn part(place: StepPlace, load: impl Into<Load>, cut: Nanos, continues: bool) -> Self {
        Step { cut: Some(cut), continues, ..Step::alone(place, load) }
    }
    /// Sets the length of the intervals in which the I/Os are counted.
    pub fn with_interval(self, interval: Nanos) -> Self {
        Step { interval: Some(interval), ..self }
    }
    /// Returns the length of the intervals in which the I/Os are counted.
    pub fn interval(&self) -> Nanos {
        self.interval.unwrap_or(Nanos::SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn concurrent_loads_need_one_ramp() {
        use crate::stimulus::{ActiveRange, Demand, LoadLimits, Op, Order};
        use crate::units::Bytes;
        let stimulus = |op, ramp| {
            let stream = IoStream::new(op, Order::Random, Bytes(4096));
            let range = ActiveRange::new(Bytes(0), Bytes::mib(1));
            Stimulus::new(vec![stream], range, Demand::new(1, 2), LoadLimits::ios(7))
                .ramp(Nanos(ramp))
        };
        let (reads, writes) = (stimulus(Op::Read, 0), stimulus(Op::Write, 0));
        let load = Load::Together(vec![reads.clone(), writes]);
        assert!(load.alters() && load.stimulus().is_none());
        assert_eq!(load.streams().map(|s| s.op).collect::<Vec<_>>(), [Op::Read, Op::Write]);
        let text = serde_json::to_string(&load).unwrap();
        assert_eq!(serde_json::from_str::<Load>(&text).unwrap(), load);
        assert_eq!(Load::fault_at_once(load.stimuli()), None);
        let odd = [reads.clone(), stimulus(Op::Write, 1)];
        assert!(Load::fault_at_once(&odd).unwrap().contains("unmeasured time"));
        let checked = [reads.verify(true), stimulus(Op::Write, 0)];
        assert!(Load::fault_at_once(&checked).unwrap().contains("verified"));
    }

    #[test]
    fn seeds_repeat_across_runs_and_differ_between_steps() {
        let places = || {
            (0..25).flat_map(|round| (1..=56).map(move |p| StepPlace::new("rounds", round, p, "")))
        };
        let seeds: HashSet<u64> = places().map(|p| p.seed(7)).collect();
        assert_eq!(seeds.len(), 25 * 56);
        assert!(places().all(|p| seeds.contains(&p.seed(7)) && !seeds.contains(&p.seed(8))));
        let renamed = StepPlace::new("rounds", 1, 1, "another label");
        assert_eq!(renamed.seed(7), StepPlace::new("rounds", 1, 1, "").seed(7));
    }
}
