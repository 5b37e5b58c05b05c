//! The demand matrix: an outer loop over thread counts and an inner loop over queue depths, both
//! from high to low. Its rounds repeat until IOPS at the highest demand are steady.

use crate::common::continuous_load::LoadGaps;
use steadfast_domain::steady_state::{TrackPoint, judge_first_steady};
use steadfast_domain::{Criteria, Demand, Nanos, Outcome, Track, Verdict, judge};

/// The demands of a round, and the rule that ends the rounds.
#[derive(Debug, Clone)]
pub struct DemandMatrix {
    /// Demands in the order in which they are applied: that of the nested loops, not of the number
    /// of outstanding I/Os.
    pub demands: Vec<Demand>,
    pub label: String,
    pub criteria: Criteria,
    pub rounds_max: u32,
}

/// Parses thread counts and queue depths in descending order to 1, such as `32,8,1`.
pub fn parse_loops(text: &str) -> Option<Vec<u32>> {
    let mut loops: Vec<u32> = Vec::new();
    for number in text.split(',') {
        loops.push(number.trim().parse().ok().filter(|number| *number <= 1024)?);
    }
    let descends = loops.is_sorted_by(|a, b| a > b);
    (descends && loops.len() >= 2 && loops.ends_with(&[1])).then_some(loops)
}

/// Returns the demands of an outer loop over thread counts and an inner loop over queue depths.
pub fn demands(loops: &[u32]) -> Vec<Demand> {
    let mut demands = Vec::new();
    for threads in loops {
        demands.extend(loops.iter().map(|depth| Demand::new(*threads, *depth)));
    }
    demands
}

/// Measured values of one demand in a round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DemandResult {
    pub iops: Option<f64>,
    pub mb_per_second: Option<f64>,
    /// Average response time of reads and writes together.
    pub art: Option<Nanos>,
    /// Share of all processors' time spent in the kernel, 0 to 1.
    pub cpu_system: Option<f64>,
}

/// A round of the demand matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Number of the round, from 1.
    pub round: u32,
    /// One cell per demand that was applied, in order.
    pub cells: Vec<DemandResult>,
    /// True if the run had released the device before the round.
    pub gap_before: bool,
    /// True if the run had released the device inside the round.
    pub is_void: bool,
}

impl Round {
    pub fn new(round: u32) -> Self {
        Round { round, cells: Vec::new(), gap_before: false, is_void: false }
    }

    /// Adds the writes before the matrix.
    pub fn add_pre_write(&mut self, gaps: LoadGaps) {
        self.gap_before |= gaps.gap_before;
        self.is_void |= gaps.gap_inside;
    }

    /// Adds the step of the next demand.
    pub fn push(&mut self, outcome: &Outcome) {
        let measurement = &outcome.measurement;
        self.is_void |= outcome.gap_before.is_some();
        self.cells.push(DemandResult {
            iops: measurement.iops(),
            mb_per_second: measurement.mb_per_second(),
            art: measurement.total().response_mean(),
            cpu_system: measurement.sensed.host_cpu.map(|cpu| cpu.system),
        });
    }
}

impl DemandMatrix {
    /// Returns the demand of the preconditioning and of the tracking variable.
    pub fn highest(&self) -> Demand {
        self.demands.first().copied().unwrap_or(Demand::new(1, 1))
    }

    /// Returns the demand of the MinIOPS point.
    pub fn lowest(&self) -> Demand {
        self.demands.last().copied().unwrap_or(Demand::new(1, 1))
    }

    /// Returns the thread counts, which are also the queue depths, from low to high.
    pub fn ascending(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.demands.iter().map(|d| d.threads).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns the result of a demand in a round; `None` if it was not applied.
    pub fn cell<'a>(&self, round: &'a Round, demand: Demand) -> Option<&'a DemandResult> {
        let index = self.demands.iter().position(|d| *d == demand)?;
        round.cells.get(index)
    }

    /// Returns the tracking variable: IOPS at the highest demand in each round.
    pub fn track(&self, rounds: &[Round]) -> Track {
        let points = rounds.iter().map(|round| TrackPoint {
            round: round.round,
            value: self.tracked(round, self.highest()),
            after_gap: round.gap_before || round.is_void,
        });
        Track {
            name: format!("{} {}", self.label, self.highest()),
            unit: "IOPS".to_owned(),
            points: points.collect(),
        }
    }

    /// Returns the IOPS at a demand in a round; `None` in a void round.
    pub fn tracked(&self, round: &Round, demand: Demand) -> Option<f64> {
        if round.is_void { None } else { self.cell(round, demand)?.iops }
    }

    /// Judges the window that ends with the last round.
    pub fn judge(&self, rounds: &[Round]) -> Verdict {
        judge(&[self.track(rounds)], &self.criteria)
    }

    /// Returns the verdict for the report.
    pub fn verdict(&self, rounds: &[Round]) -> Verdict {
        judge_first_steady(&[self.track(rounds)], &self.criteria)
    }

    /// Returns the round from which the points are chosen: the last one that is complete and not
    /// void.
    pub fn reported<'a>(&self, rounds: &'a [Round]) -> Option<&'a Round> {
        rounds.iter().rev().find(|round| !round.is_void && round.cells.len() == self.demands.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_outside_depths_inside_from_high_to_low() {
        let demands = demands(&parse_loops("32,16,8,6,4,2,1").unwrap());
        assert_eq!(demands.len(), 49);
        let shown: Vec<String> = demands.iter().map(Demand::to_string).collect();
        assert_eq!(
            shown[..8],
            ["T32Q32", "T32Q16", "T32Q8", "T32Q6", "T32Q4", "T32Q2", "T32Q1", "T16Q32"]
        );
        assert_eq!(shown[48], "T1Q1");
        let mut outstanding: Vec<u64> = demands.iter().map(|d| d.outstanding()).collect();
        outstanding.sort_unstable();
        outstanding.dedup();
        assert_eq!(
            outstanding,
            [1, 2, 4, 6, 8, 12, 16, 24, 32, 36, 48, 64, 96, 128, 192, 256, 512, 1024]
        );
    }

    #[test]
    fn loops_must_fall_to_one() {
        for bad in ["", "1", "32", "32,16", "1,2,4", "8,8,1", "4,x,1", "5000,1"] {
            assert_eq!(parse_loops(bad), None, "{bad}");
        }
        assert_eq!(parse_loops("8, 2, 1"), Some(vec![8, 2, 1]));
    }
}
