//! Choice of the three points whose response times are recorded.
//!
//! Made from the last round. Candidates are points whose average response time is below the
//! ceiling. MaxIOPS is the candidate with the most IOPS, MinIOPS is T1Q1, MidIOPS is the candidate
//! nearest to the middle between the most and the fewest IOPS of the candidates (public
//! implementation; the standard's wording could not be checked). If no point is below the ceiling,
//! the candidates are the three points with the lowest average response time.

use super::matrix::{DemandMatrix, DemandResult, Round};
use steadfast_domain::{Demand, Nanos};

/// Number of candidates if no point is below the ceiling: as many as points are chosen (our
/// choice).
pub const LOWEST_POINTS: usize = 3;

/// Relative difference up to which IOPS count as equal: an unchanged drive varies as much between
/// runs (our choice).
pub(crate) const EQUAL_WITHIN: f64 = 0.02;

/// Why a demand was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointRole {
    /// Point with the most IOPS.
    Max,
    /// Point in the middle of the IOPS range.
    Mid,
    /// Point with one outstanding I/O.
    Min,
}

/// Names of the chosen points, in the order of their histograms.
pub(crate) const POINTS: [&str; 3] =
    [PointRole::Max.name(), PointRole::Mid.name(), PointRole::Min.name()];

impl PointRole {
    /// All roles, in the order in which their histograms are recorded.
    pub const ALL: [PointRole; 3] = [PointRole::Max, PointRole::Mid, PointRole::Min];

    pub const fn name(self) -> &'static str {
        match self {
            PointRole::Max => "MaxIOPS",
            PointRole::Mid => "MidIOPS",
            PointRole::Min => "MinIOPS",
        }
    }
    /// Returns the phase of the writes before the histogram.
    pub const fn pre_write_phase(self) -> &'static str {
        match self {
            PointRole::Max => "max-pre-write",
            PointRole::Mid => "mid-pre-write",
            PointRole::Min => "min-pre-write",
        }
    }
    /// Returns the phase of the histogram run.
    pub const fn histogram_phase(self) -> &'static str {
        match self {
            PointRole::Max => "max-histogram",
            PointRole::Mid => "mid-histogram",
            PointRole::Min => "min-histogram",
        }
    }
}

/// A demand whose response times are recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenPoint {
    pub role: PointRole,
    pub demand: Demand,
    /// Results in the round from which it was chosen.
    pub cell: DemandResult,
}

impl ChosenPoint {
    /// Formats the point: `T4Q8 (12345.6 IOPS, ART 1.234 ms)`.
    pub fn describe(&self) -> String {
        let iops = self.cell.iops.map(|v| format!("{v:.1} IOPS"));
        let art = self.cell.art.map(|t| format!("ART {:.3} ms", t.as_millis_f64()));
        let measured: Vec<String> = iops.into_iter().chain(art).collect();
        format!("{} ({})", self.demand, measured.join(", "))
    }
}

/// The three points, and how they were found.
#[derive(Debug, Clone, PartialEq)]
pub struct PointSelection {
    /// Round from which they were chosen.
    pub round: u32,
    /// Points in the order Max, Mid, Min.
    pub points: Vec<ChosenPoint>,
    /// True if no point was below the ceiling.
    pub above_ceiling: bool,
}

/// A demand that was measured in the round from which the points are chosen.
#[derive(Clone, Copy)]
struct PointCandidate {
    demand: Demand,
    cell: DemandResult,
    iops: f64,
    art: Nanos,
}

/// Chooses the points from the last round; `None` if no round is complete.
pub fn select(matrix: &DemandMatrix, rounds: &[Round], ceiling: Nanos) -> Option<PointSelection> {
    let round = matrix.reported(rounds)?;
    let mut candidates = Vec::new();
    for (demand, cell) in matrix.demands.iter().zip(&round.cells) {
        if let (Some(iops), Some(art)) = (cell.iops, cell.art) {
            candidates.push(PointCandidate { demand: *demand, cell: *cell, iops, art });
        }
    }
    let above_ceiling = candidates.iter().all(|candidate| candidate.art >= ceiling);
    if above_ceiling {
        candidates.sort_by_key(|candidate| (candidate.art, candidate.demand.outstanding()));
        candidates.truncate(LOWEST_POINTS);
    } else {
        candidates.retain(|candidate| candidate.art < ceiling);
    }
    let min = ChosenPoint {
        role: PointRole::Min,
        demand: matrix.lowest(),
        cell: matrix.cell(round, matrix.lowest()).copied().unwrap_or_default(),
    };
    // Without response times (in a rehearsal) nothing can be compared; use the highest demand for
    // the other two points.
    let point = |role: PointRole, candidate: Option<PointCandidate>| ChosenPoint {
        role,
        demand: candidate.map_or(matrix.highest(), |c| c.demand),
        cell: candidate.map_or(DemandResult::default(), |c| c.cell),
    };
    let points = vec![
        point(PointRole::Max, highest(&candidates)),
        point(PointRole::Mid, middle(&candidates)),
        min,
    ];
    Some(PointSelection {
        round: round.round,
        points,
        above_ceiling: above_ceiling && !candidates.is_empty(),
    })
}

/// Returns the candidate with the most IOPS; of those equal within [`EQUAL_WITHIN`], the one with
/// the fewest outstanding I/Os, so that noise does not decide.
fn highest(candidates: &[PointCandidate]) -> Option<PointCandidate> {
    let demand = most(candidates.iter().map(|c| (c.demand, c.iops)))?;
    candidates.iter().copied().find(|c| c.demand == demand)
}

/// Returns the demand with the most IOPS; of those equal within [`EQUAL_WITHIN`], the one with the
/// fewest outstanding I/Os, then the fewest threads.
pub(crate) fn most(rated: impl Iterator<Item = (Demand, f64)> + Clone) -> Option<Demand> {
    let most = rated.clone().map(|(_, iops)| iops).max_by(f64::total_cmp)?;
    let equal_to_most = rated.filter(|(_, iops)| *iops >= most * (1.0 - EQUAL_WITHIN));
    equal_to_most
        .map(|(demand, _)| demand)
        .min_by_key(|demand| (demand.outstanding(), demand.threads))
}

/// Returns the candidate nearest to the middle of the IOPS range. Of those equally near within
/// [`EQUAL_WITHIN`] of the middle, returns the median by outstanding I/Os (threads x depth), then
/// threads, the lower one for an even number. If any demand saturates the drive, all are equally
/// near, and the lowest would be MinIOPS again.
fn middle(candidates: &[PointCandidate]) -> Option<PointCandidate> {
    let most = candidates.iter().map(|c| c.iops).fold(f64::NEG_INFINITY, f64::max);
    let fewest = candidates.iter().map(|c| c.iops).fold(f64::INFINITY, f64::min);
    let middle = f64::midpoint(most, fewest);
    let distance = |c: &PointCandidate| (c.iops - middle).abs();
    let nearest = candidates.iter().map(distance).min_by(f64::total_cmp)?;
    let limit = nearest + middle * EQUAL_WITHIN;
    let mut equally_near: Vec<PointCandidate> =
        candidates.iter().copied().filter(|c| distance(c) <= limit).collect();
    equally_near.sort_by_key(|c| (c.demand.outstanding(), c.demand.threads));
    equally_near.get(equally_near.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pts::dirth::matrix;
    use crate::pts::method::TWENTY_TEN;

    /// A drive that is saturated by one outstanding I/O: noise of 1 % must not choose.
    #[test]
    fn demands_that_are_equal_within_the_noise_are_the_lowest_of_them() {
        let flat = |noise: [f64; 9]| {
            let rounds = [round(noise.map(|off| (10_000.0 * (1.0 + off), 1000)))];
            demands(&select(&matrix(), &rounds, CEILING).unwrap())
        };
        let one = flat([0.01, -0.004, 0.0, 0.003, 0.0, -0.01, 0.002, 0.006, -0.008]);
        let other = flat([-0.01, 0.004, 0.01, 0.0, -0.002, 0.005, 0.0, -0.006, 0.008]);
        assert_eq!(one, ["T1Q1", "T2Q2", "T1Q1"]);
        assert_eq!(one, other);
        let demand = Demand::new;
        let equal = [(demand(4, 2), 990.0), (demand(2, 4), 985.0), (demand(4, 4), 1000.0)];
        assert_eq!(most(equal.into_iter()), Some(demand(2, 4)), "of equal ones fewer threads");
        let different = [(demand(1, 1), 970.0), (demand(4, 4), 1000.0)];
        assert_eq!(most(different.into_iter()), Some(demand(4, 4)), "3 % is no noise");
    }

    /// A 3 x 3 matrix: T4Q4, T4Q2, T4Q1, T2Q4, ... T1Q1.
    fn matrix() -> DemandMatrix {
        DemandMatrix {
            demands: matrix::demands(&[4, 2, 1]),
            label: "RND 8K RW65".into(),
            criteria: TWENTY_TEN,
            rounds_max: 25,
        }
    }

    fn round(values: [(f64, u64); 9]) -> Round {
        let cells = values.map(|(iops, micros)| DemandResult {
            iops: Some(iops),
            art: Some(Nanos(micros * 1000)),
            ..DemandResult::default()
        });
        Round { cells: cells.into(), ..Round::new(5) }
    }

    const CEILING: Nanos = Nanos::from_millis(5);

    fn demands(selection: &PointSelection) -> Vec<String> {
        selection.points.iter().map(|p| p.demand.to_string()).collect()
    }

    #[test]
    fn max_is_the_most_below_the_ceiling_mid_the_nearest_to_the_middle_min_t1q1() {
        let rounds = [round([
            (9000.0, 9000),
            (8800.0, 5000),
            (8000.0, 3000),
            (7900.0, 2000),
            (5000.0, 1500),
            (4600.0, 900),
            (4400.0, 800),
            (2500.0, 500),
            (1000.0, 400),
        ])];
        let selection = select(&matrix(), &rounds, CEILING).unwrap();
        // T4Q4 and T4Q2 are at or above 5 ms; the middle of 8000 and 1000 is 4500,
        // as far from 4600 (T2Q1) as from 4400 (T1Q4): fewer outstanding I/Os win.
        assert_eq!(demands(&selection), ["T4Q1", "T2Q1", "T1Q1"]);
        assert!(!selection.above_ceiling && selection.round == 5);
    }

    #[test]
    fn without_a_point_below_the_ceiling_the_three_of_lowest_art_are_candidates() {
        let rounds = [round([
            (900.0, 90_000),
            (800.0, 40_000),
            (500.0, 12_000),
            (700.0, 50_000),
            (600.0, 20_000),
            (300.0, 7000),
            (650.0, 30_000),
            (250.0, 8000),
            (100.0, 6000),
        ])];
        let selection = select(&matrix(), &rounds, CEILING).unwrap();
        // The lowest: T1Q1 6 ms, T2Q1 7 ms, T1Q2 8 ms; middle of 300 and 100 is 200.
        assert_eq!(demands(&selection), ["T2Q1", "T1Q2", "T1Q1"]);
        assert!(selection.above_ceiling);
    }

    #[test]
    fn points_come_from_the_last_round_that_is_whole() {
        let good = round([(1.0, 100); 9]);
        let void = Round { is_void: true, round: 6, ..good.clone() };
        let partial = Round { round: 7, cells: vec![DemandResult::default(); 3], ..good.clone() };
        let selection = select(&matrix(), &[good, void, partial], CEILING).unwrap();
        assert_eq!(selection.round, 5);
        assert!(select(&matrix(), &[], CEILING).is_none());
    }
}
