//! Results of a mixed loop: the values of its measurement window, point by point.

use super::metrics::{MeasuredPoint, PointValue};
use super::rounds::{MixedLoop, RoundValues};
use super::secondary::SecondaryMeans;
use steadfast_domain::findings::Metric;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Measurement, Op, Record, Step, Tally, Verdict};

/// Results of a mixed loop, from which its tables and plots are made.
pub struct LoopResults {
    pub rounds: Vec<RoundValues>,
    pub verdict: Verdict,
    /// First and last round of every window that meets the criteria.
    pub steady_windows: Vec<(u32, u32)>,
    /// Rounds that the cells are averaged over; empty if no round is complete or all candidates
    /// are void.
    pub reported: Vec<u32>,
    /// One cell per point that was run.
    pub cells: Vec<PointResult>,
}

/// Results of a point in the reported rounds.
pub struct PointResult {
    pub pattern: AccessPattern,
    /// IOPS; reads and writes are added, never weighted.
    pub iops: PointValue,
    pub mb_per_second: PointValue,
    /// Average response time in milliseconds: the mean of the rounds' averages.
    pub art: PointValue,
    /// Average response time of all reads, in milliseconds.
    pub art_of_reads: Option<f64>,
    /// Average response time of all writes, in milliseconds.
    pub art_of_writes: Option<f64>,
    /// Tally of all I/Os of the reported rounds, reads and writes together.
    pub tally: Tally,
    /// Power, temperature and processor use during the steps.
    pub secondary: SecondaryMeans,
    /// All metrics of the point, in long form.
    pub metrics: Vec<Metric>,
}

impl LoopResults {
    pub fn new(mixed_loop: &MixedLoop, record: &Record) -> Self {
        let rounds = mixed_loop.rounds_of(record);
        let verdict = mixed_loop.verdict(&rounds);
        let reported = averaged_rounds(&verdict, &rounds);
        let cells = if reported.is_empty() {
            Vec::new()
        } else {
            point_results(mixed_loop, record, &reported)
        };
        let steady_windows = mixed_loop.steady_windows(&rounds);
        LoopResults { rounds, verdict, steady_windows, reported, cells }
    }

    /// Returns all metrics of the reported rounds, in long form.
    pub fn metrics(&self) -> Vec<Metric> {
        self.cells.iter().flat_map(|cell| cell.metrics.iter().cloned()).collect()
    }

    pub fn cell(&self, pattern: &AccessPattern) -> Option<&PointResult> {
        self.cells.iter().find(|cell| cell.pattern == *pattern)
    }

    /// Returns true if the step belongs to this loop and to a reported round.
    pub fn reports(&self, mixed_loop: &MixedLoop, step: &Step) -> bool {
        step.place.phase == mixed_loop.phase && self.reported.contains(&step.place.round)
    }
}

/// Returns the rounds of the window. Without a window, returns the last complete rounds, as many as
/// a window has, without void ones: they are never averaged.
fn averaged_rounds(verdict: &Verdict, rounds: &[RoundValues]) -> Vec<u32> {
    if let Some((first, last)) = verdict.window {
        return (first..=last).collect();
    }
    let first = rounds.len().saturating_sub(verdict.criteria.window as usize);
    rounds[first..].iter().filter(|round| !round.is_void()).map(|round| round.round).collect()
}

/// Returns the results of every point over these rounds.
fn point_results(mixed_loop: &MixedLoop, record: &Record, rounds: &[u32]) -> Vec<PointResult> {
    let mut point_steps: Vec<Vec<&Measurement>> = vec![Vec::new(); mixed_loop.points.len()];
    for (step, outcome) in record.steps() {
        if step.place.phase != mixed_loop.phase || !rounds.contains(&step.place.round) {
            continue;
        }
        // Points are numbered from 1.
        let index = (step.place.point as usize).wrapping_sub(1);
        if let Some(steps) = point_steps.get_mut(index) {
            steps.push(&outcome.measurement);
        }
    }
    let points = mixed_loop.points.iter().zip(point_steps);
    points.map(|(pattern, steps)| point_result(*pattern, &steps)).collect()
}

fn point_result(pattern: AccessPattern, measurements: &[&Measurement]) -> PointResult {
    let point = pattern.to_string();
    let measured =
        MeasuredPoint { point: &point, pattern: Some(pattern), steps: measurements, rounds: true };
    PointResult {
        pattern,
        iops: measured.iops(),
        mb_per_second: measured.mb_per_second(),
        art: measured.art(),
        art_of_reads: measured.direction(Op::Read).response_mean_ms(),
        art_of_writes: measured.direction(Op::Write).response_mean_ms(),
        tally: measured.total(),
        secondary: SecondaryMeans::new(measurements),
        metrics: measured.metrics(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::measurement::StreamTally;
    use steadfast_domain::{Bytes, Nanos};

    /// 100 I/Os of 1 ms in one round and 300 of 2 ms in the next: 1.5 ms is the mean of the
    /// rounds, 1.75 ms that of the I/Os.
    #[test]
    fn the_average_of_a_direction_is_of_all_its_ios_in_every_mix() {
        let measurement = |ios: u64, millis: u64, read_percent: u64| {
            let tally = |ios: u64| Tally {
                ios,
                response_sum: Nanos::from_millis(millis * ios),
                response_min: Some(Nanos::from_millis(millis)),
                response_max: Nanos::from_millis(millis),
                ..Tally::default()
            };
            let reads = ios * read_percent / 100;
            let mut streams = vec![
                StreamTally { op: Op::Read, tally: tally(reads) },
                StreamTally { op: Op::Write, tally: tally(ios - reads) },
            ];
            streams.retain(|stream| stream.tally.ios > 0);
            Measurement { elapsed: Nanos::SECOND, streams, ..Measurement::default() }
        };
        for (read_percent, ops) in
            [(100, &[Op::Read][..]), (0, &[Op::Write]), (50, &[Op::Read, Op::Write])]
        {
            let rounds =
                [(100, 1), (300, 2)].map(|(ios, ms)| measurement(ios, ms, read_percent.into()));
            let pattern = AccessPattern::random(Bytes::kib(4), read_percent);
            let cell = point_result(pattern, &rounds.iter().collect::<Vec<_>>());
            assert_eq!(cell.art.mean, Some(1.5));
            for op in ops {
                let art = if *op == Op::Read { cell.art_of_reads } else { cell.art_of_writes };
                assert_eq!(art, Some(1.75), "{read_percent} % read, {op:?}");
            }
        }
    }
}
