//! The time that a capture covers ([`ObservedTime`]). Every rate is per second of it.

use crate::error::TraceError;
use steadfast_domain::{CaptureConditions, Nanos};

/// A rate needs at least one part in this many of a step or interval to be observed.
const OBSERVED_LEAST: u64 = 100;

/// The intervals in which I/Os were recorded, in nanoseconds on the time axis of the capture.
/// With a filter, only the part that the filter passes.
///
/// ```
/// use steadfast_tracefile::observed_time::ObservedTime;
/// // Recorded from 50 ns to 230 ns: the third step of 100 ns is covered to 30 %.
/// let observed = ObservedTime::new(vec![(50, 230)]);
/// assert_eq!(observed.total_ns(), 180);
/// assert_eq!((observed.begin_of_step(0, 100), observed.of_step(0, 100)), (50, 50));
/// assert_eq!((observed.begin_of_step(2, 100), observed.of_step(2, 100)), (200, 30));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedTime {
    /// Ascending, not empty, and not touching each other.
    spans_ns: Vec<(u64, u64)>,
}

/// The steps of a capture or fold of sums. A filter passes or drops whole steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepGrid {
    /// Width of a step in nanoseconds.
    pub step_ns: u64,
    /// Beginning of one of the steps, in nanoseconds.
    pub origin_ns: u64,
}

impl StepGrid {
    /// Returns the beginning of the last step at or before a time.
    fn last_begin(self, at_ns: u64) -> u64 {
        let next = self.next_begin(at_ns);
        if next > at_ns { next.saturating_sub(self.step_ns) } else { next }
    }

    /// Returns the beginning of the first step at or after a time.
    fn next_begin(self, at_ns: u64) -> u64 {
        let step_ns = self.step_ns.max(1);
        let phase_ns = self.origin_ns % step_ns;
        let steps = at_ns.saturating_sub(phase_ns).div_ceil(step_ns);
        steps.saturating_mul(step_ns).saturating_add(phase_ns)
    }
}

impl ObservedTime {
    /// Returns the time that one file of a capture covers. It ends with the capture as the file
    /// records it, or with its last I/O or last step if that is later. A later file of a rotated
    /// capture begins when the file was started; every other file begins with the capture,
    /// because the writer of a whole trace may know its length before its first I/O is written.
    pub fn from_file(
        start: Option<&CaptureConditions>,
        conditions: &CaptureConditions,
        last_ns: u64,
    ) -> Self {
        let begin_ns = match start {
            Some(start) if conditions.earlier_parts() > 0 => start.lasted_ns,
            _ => 0,
        };
        ObservedTime::new(vec![(begin_ns, conditions.lasted_ns.max(last_ns))])
    }

    /// Returns the union of these intervals.
    pub fn new(mut spans_ns: Vec<(u64, u64)>) -> Self {
        spans_ns.retain(|(from, to)| from < to);
        spans_ns.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(spans_ns.len());
        for (from, to) in spans_ns {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        ObservedTime { spans_ns: joined }
    }

    /// Returns the intervals, ascending.
    pub fn spans_ns(&self) -> &[(u64, u64)] {
        &self.spans_ns
    }

    /// Returns the total length of the intervals in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.spans_ns.iter().map(|(from, to)| to - from).fold(0, u64::saturating_add)
    }

    /// Returns the beginning of the first interval; `None` if nothing was observed.
    pub fn first_ns(&self) -> Option<u64> {
        self.spans_ns.first().map(|(from, _)| *from)
    }

    /// Returns the end of the last interval; `None` if nothing was observed.
    pub fn end_ns(&self) -> Option<u64> {
        self.spans_ns.last().map(|(_, to)| *to)
    }

    /// Returns the union with another observed time.
    #[must_use]
    pub fn and(mut self, other: &ObservedTime) -> Self {
        self.spans_ns.extend_from_slice(&other.spans_ns);
        Self::new(self.spans_ns)
    }

    /// Returns the same time on an axis that begins earlier by `shift_ns`.
    #[must_use]
    pub fn shifted(&self, shift_ns: u64) -> Self {
        let shifted = |at_ns: u64| at_ns.saturating_add(shift_ns);
        let spans = self.spans_ns.iter().map(|(from, to)| (shifted(*from), shifted(*to)));
        ObservedTime { spans_ns: spans.collect() }
    }

    /// Returns the part that lies within the given intervals.
    #[must_use]
    pub fn within(&self, spans_ns: &[(u64, u64)]) -> Self {
        let mut common = Vec::new();
        for (from, to) in spans_ns {
            let first = self.spans_ns.partition_point(|(_, end)| end <= from);
            let spans = self.spans_ns[first..].iter().take_while(|(begin, _)| begin < to);
            common.extend(spans.map(|(begin, end)| (*begin.max(from), *end.min(to))));
        }
        Self::new(common)
    }

    /// Returns the part whose I/Os a time filter passes; an empty filter passes everything. With
    /// a grid, sums pass by the observed beginning of their step: the first step of a capture
    /// begins with the capture.
    #[must_use]
    pub fn passing(&self, filter_ns: &[(u64, u64)], grid: Option<StepGrid>) -> Self {
        if filter_ns.is_empty() {
            return self.clone();
        }
        match grid {
            None => self.within(filter_ns),
            Some(grid) => {
                let spans = filter_ns.iter().map(|span| self.whole_steps(*span, grid));
                self.within(&spans.collect::<Vec<_>>())
            }
        }
    }

    /// Returns the part of a span that consists of whole steps. A step cut off by the beginning or
    /// end of the recording counts as whole.
    pub fn inner_steps(&self, (from, to): (u64, u64), grid: StepGrid) -> (u64, u64) {
        let (first, end) = (self.first_ns().unwrap_or(0), self.end_ns().unwrap_or(0));
        let until = if to >= end { to } else { grid.last_begin(to) };
        let from = if from <= first { from } else { grid.next_begin(from) };
        (from, until)
    }

    /// Returns the interval of the steps whose observed beginning lies in a span.
    pub fn whole_steps(&self, (from, to): (u64, u64), grid: StepGrid) -> (u64, u64) {
        let first = self.first_ns().unwrap_or(0);
        let begin = |at: u64| if at <= first { first } else { grid.next_begin(at) };
        (begin(from), begin(to))
    }

    /// Returns the first span of a filter in which I/Os were recorded but no step begins, so that
    /// the sums of steps say nothing about it.
    pub fn span_without_step(
        &self,
        filter_ns: &[(u64, u64)],
        grid: StepGrid,
    ) -> Option<(u64, u64)> {
        let is_recorded = |span: &(u64, u64)| !self.within(&[*span]).spans_ns.is_empty();
        let has_step = |span: &(u64, u64)| is_recorded(&self.whole_steps(*span, grid));
        filter_ns.iter().copied().find(|span| is_recorded(span) && !has_step(span))
    }

    /// Returns the observed nanoseconds of a step.
    pub fn of_step(&self, number: u64, width_ns: u64) -> u64 {
        self.parts(number, width_ns).map(|(from, to)| to - from).sum()
    }

    /// Returns the first observed time of a step, or its beginning if none of it was observed.
    pub fn begin_of_step(&self, number: u64, width_ns: u64) -> u64 {
        let first = self.parts(number, width_ns).next();
        first.map_or(number.saturating_mul(width_ns), |(from, _)| from)
    }

    /// Returns the observed nanoseconds of a step, or its width if too little was observed for a
    /// rate. A trace without a recorded length ends with its last I/O, which may be the first of
    /// a step; and the I/Os of a step that began before the recording took at most its width.
    pub fn length_of_step(&self, number: u64, width_ns: u64) -> u64 {
        let observed_ns = self.of_step(number, width_ns);
        if rate_is_known(observed_ns, width_ns) { observed_ns } else { width_ns }
    }

    /// Returns `amount` per second of all observed time; `None` if that is at most 1 ns.
    pub fn per_second(&self, amount: f64) -> Option<f64> {
        let total_ns = self.total_ns();
        (total_ns > 1).then(|| amount * 1e9 / total_ns as f64)
    }

    /// Returns `amount` per second of the observed time of a step; `None` if less than 1 % of the
    /// step was observed, which is too little for a rate.
    pub fn per_second_of_step(&self, number: u64, width_ns: u64, amount: f64) -> Option<f64> {
        let observed_ns = self.of_step(number, width_ns);
        rate_is_known(observed_ns, width_ns).then(|| amount * 1e9 / observed_ns as f64)
    }

    /// Returns the observed parts of a step.
    fn parts(&self, number: u64, width_ns: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let begin = number.saturating_mul(width_ns);
        let end = begin.saturating_add(width_ns);
        let first = self.spans_ns.partition_point(|(_, to)| *to <= begin);
        let spans = self.spans_ns[first..].iter().take_while(move |(from, _)| *from < end);
        spans.map(move |(from, to)| (*from.max(&begin), *to.min(&end)))
    }
}

/// Rejects a question about a span in which no step begins. The sums cannot separate that
/// span from the time around it.
///
/// # Errors
/// Returns [`TraceError::Unsuitable`] if there is such a span.
pub fn refuse_without_step(span_ns: Option<(u64, u64)>, step_ns: u64) -> Result<(), TraceError> {
    let Some((from, to)) = span_ns else { return Ok(()) };
    let until = match to {
        u64::MAX => "the end".to_owned(),
        to => Nanos(to).to_string(),
    };
    Err(TraceError::Unsuitable(format!(
        "only sums of steps of {} were kept, and none begins between {} and {until}; choose a wider \
         part of the time, or name the trace file",
        Nanos(step_ns),
        Nanos(from),
    )))
}

/// Returns whether enough of a step was observed for a rate: at least 1 %.
pub fn rate_is_known(observed_ns: u64, width_ns: u64) -> bool {
    observed_ns > 0 && observed_ns.saturating_mul(OBSERVED_LEAST) >= width_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(spans_ns: &[(u64, u64)]) -> ObservedTime {
        ObservedTime::new(spans_ns.to_vec())
    }

    fn passing(spans_ns: &[(u64, u64)], filter: &[(u64, u64)], step_ns: u64) -> Vec<(u64, u64)> {
        let grid = Some(StepGrid { step_ns, origin_ns: 0 });
        observed(spans_ns).passing(filter, grid).spans_ns
    }

    #[test]
    fn intervals_are_joined_and_cut() {
        let joined = observed(&[(5, 9), (0, 3), (3, 4), (7, 12), (20, 20)]);
        assert_eq!(joined.spans_ns, [(0, 4), (5, 12)]);
        let cut = observed(&[(0, 10), (20, 30)]).within(&[(25, 90), (5, 22)]);
        assert_eq!((cut.spans_ns(), cut.total_ns()), (&[(5, 10), (20, 22), (25, 30)][..], 12));
        assert_eq!(cut.shifted(100).spans_ns, [(105, 110), (120, 122), (125, 130)]);
    }

    #[test]
    fn a_step_has_the_part_that_was_observed() {
        let some = observed(&[(50, 230), (250, 260)]);
        let steps = (0..4).map(|at| (some.begin_of_step(at, 100), some.of_step(at, 100)));
        assert_eq!(steps.collect::<Vec<_>>(), [(50, 50), (100, 100), (200, 40), (300, 0)]);
        assert_eq!(some.per_second_of_step(2, 100, 2.0), Some(5e7));
        assert_eq!(some.per_second_of_step(3, 100, 2.0), None);
        assert_eq!(some.length_of_step(3, 100), 100);
        // Half a percent of a step gives no rate, nor does an instant.
        let short = observed(&[(0, 1005)]);
        assert_eq!(short.per_second_of_step(1, 1000, 1.0), None);
        assert_eq!(short.length_of_step(1, 1000), 1000, "no three I/Os in 5 ns");
        assert_eq!(observed(&[(0, 1)]).per_second(1.0), None);
        assert_eq!(observed(&[(0, 2)]).per_second(1.0), Some(5e8));
    }

    #[test]
    fn sums_pass_by_the_observed_beginning_of_their_step() {
        // The capture saw only the end of the first step, which therefore begins with the capture.
        assert_eq!(passing(&[(42, 130)], &[(42, 130)], 60), [(42, 130)]);
        assert_eq!(passing(&[(42, 130)], &[(0, 50)], 60), [(42, 60)]);
        assert_eq!(passing(&[(42, 130)], &[(43, 200)], 60), [(60, 130)]);
        assert_eq!(passing(&[(42, 130)], &[(61, 119)], 60), []);
        let grid = StepGrid { step_ns: 60, origin_ns: 0 };
        let filter = [(0, 20), (61, 119)];
        assert_eq!(observed(&[(42, 130)]).span_without_step(&filter, grid), Some((61, 119)));
        let grid = StepGrid { step_ns: 60, origin_ns: 130 };
        assert_eq!([71, 130, 3].map(|at_ns| grid.next_begin(at_ns)), [130, 130, 10]);
    }
}
