//! The demand matrix: thread count outside, queue depth inside, both from high
//! to low; rounds of it until IOPS at the highest demand are steady.

use crate::ground::stretch::Pieces;
use steadfast_domain::steady_state::{Point, judge_every};
use steadfast_domain::{Criteria, Demand, Nanos, Outcome, Track, Verdict, judge};

/// The loops and the rule of their rounds.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The demands in the order in which they are applied. The nested order is
    /// the rule, not a sort by outstanding I/Os.
    pub demands: Vec<Demand>,
    /// The workload.
    pub label: String,
    /// When a window is steady.
    pub criteria: Criteria,
    /// The most rounds.
    pub rounds_max: u32,
}

/// `32,16,8`: thread counts and queue depths from high to 1.
pub fn loops(text: &str) -> Option<Vec<u32>> {
    let numbers: Option<Vec<u32>> =
        text.split(',').map(|n| n.trim().parse().ok().filter(|n| *n <= 1024)).collect();
    let numbers = numbers?;
    let falls = numbers.windows(2).all(|pair| pair[0] > pair[1]);
    (falls && numbers.len() >= 2 && numbers.last() == Some(&1)).then_some(numbers)
}

/// Thread count outside, queue depth inside.
pub fn demands(loops: &[u32]) -> Vec<Demand> {
    loops
        .iter()
        .flat_map(|threads| loops.iter().map(move |depth| Demand::new(*threads, *depth)))
        .collect()
}

/// What a point of the matrix gave in a round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cell {
    /// Reads and writes per second.
    pub iops: Option<f64>,
    /// MB (10^6 bytes) per second.
    pub mb_per_second: Option<f64>,
    /// Average response time of reads and writes together.
    pub art: Option<Nanos>,
    /// Share of all processors' time in the kernel, 0 to 1.
    pub cpu_system: Option<f64>,
}

/// What a round gave: one cell per demand that was applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The round, from 1.
    pub round: u32,
    /// One cell per demand, in order.
    pub cells: Vec<Cell>,
    /// The run had let go of the device before it.
    pub gap_before: bool,
    /// The run had let go of the device inside it.
    pub is_void: bool,
}

impl Round {
    /// A round that begins.
    pub fn new(round: u32) -> Self {
        Round { round, cells: Vec::new(), gap_before: false, is_void: false }
    }

    /// The writes before it.
    pub fn add_pre_write(&mut self, pieces: Pieces) {
        self.gap_before |= pieces.gap_before;
        self.is_void |= pieces.gap_inside;
    }

    /// The next demand's step.
    pub fn push(&mut self, outcome: &Outcome) {
        let measurement = &outcome.measurement;
        self.is_void |= outcome.gap_before.is_some();
        self.cells.push(Cell {
            iops: measurement.iops(),
            mb_per_second: measurement.mb_per_second(),
            art: measurement.total().response_mean(),
            cpu_system: measurement.sensed.host_cpu.map(|cpu| cpu.system),
        });
    }
}

impl Matrix {
    /// The demand of the preconditioning and of the tracking variable.
    pub fn highest(&self) -> Demand {
        self.demands.first().copied().unwrap_or(Demand::new(1, 1))
    }

    /// The demand of the MinIOPS point.
    pub fn lowest(&self) -> Demand {
        self.demands.last().copied().unwrap_or(Demand::new(1, 1))
    }

    /// Thread counts, or queue depths, from low to high.
    pub fn ascending(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.demands.iter().map(|d| d.threads).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// A demand's cell in a round.
    pub fn cell<'a>(&self, round: &'a Round, demand: Demand) -> Option<&'a Cell> {
        let index = self.demands.iter().position(|d| *d == demand)?;
        round.cells.get(index)
    }

    /// IOPS at the highest demand over the rounds.
    pub fn track(&self, rounds: &[Round]) -> Track {
        let points = rounds
            .iter()
            .map(|round| Point {
                round: round.round,
                value: self.tracked(round, self.highest()),
                after_gap: round.gap_before || round.is_void,
            })
            .collect();
        Track {
            name: format!("{} {}", self.label, self.highest()),
            unit: "IOPS".to_owned(),
            points,
        }
    }

    /// A demand's IOPS in a round; none in a void round.
    pub fn tracked(&self, round: &Round, demand: Demand) -> Option<f64> {
        if round.is_void { None } else { self.cell(round, demand)?.iops }
    }

    /// The window that ends with the last round.
    pub fn judge(&self, rounds: &[Round]) -> Verdict {
        judge(&[self.track(rounds)], &self.criteria)
    }

    /// The verdict that counts: the first steady window, or the last window.
    pub fn verdict(&self, rounds: &[Round]) -> Verdict {
        let tracks = [self.track(rounds)];
        judge_every(&tracks, &self.criteria)
            .into_iter()
            .find(|verdict| verdict.steady)
            .unwrap_or_else(|| judge(&tracks, &self.criteria))
    }

    /// The round that the points are chosen from: the last that is complete and
    /// not void.
    pub fn reported<'a>(&self, rounds: &'a [Round]) -> Option<&'a Round> {
        rounds.iter().rev().find(|round| !round.is_void && round.cells.len() == self.demands.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_outside_depths_inside_from_high_to_low() {
        let demands = demands(&loops("32,16,8,6,4,2,1").unwrap());
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
            assert_eq!(loops(bad), None, "{bad}");
        }
        assert_eq!(loops("8, 2, 1"), Some(vec![8, 2, 1]));
    }
}
