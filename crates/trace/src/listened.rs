//! [`Listened`]: how much of a capture step a filter of time lets pass.

use steadfast_domain::CaptureConditions;

/// What a filter of time lets pass. Rates and utilization of a step that it cuts are of the
/// part that passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listened {
    /// From when to when, ascending; empty where all times pass.
    spans_ns: Vec<(u64, u64)>,
}

impl Listened {
    /// What a filter of these times lets pass of a capture. Steps that were kept pass as a whole, by their
    /// beginning.
    pub fn of(spans_ns: &[(u64, u64)], conditions: &CaptureConditions) -> Self {
        let kept_ns = conditions.step_ns.unwrap_or(1).max(1);
        let begin = |time: u64| time.div_ceil(kept_ns).saturating_mul(kept_ns);
        let spans = spans_ns.iter().map(|(from, to)| (begin(*from), begin(*to)));
        let mut spans_ns: Vec<(u64, u64)> = spans.collect();
        spans_ns.sort_unstable();
        Listened { spans_ns }
    }

    /// Nanoseconds of a step that pass. Where none does, only busy time of I/Os that were
    /// issued before can be in it: that is a part of the whole step.
    pub fn of_step(&self, number: u64, width_ns: u64) -> u64 {
        let passed = self.parts(number, width_ns).map(|(from, to)| to - from);
        match passed.fold(0, u64::saturating_add) {
            0 => width_ns,
            passed => passed,
        }
    }

    /// When the first part of a step begins that passes.
    pub fn begin_of_step(&self, number: u64, width_ns: u64) -> u64 {
        let first = self.parts(number, width_ns).next();
        first.map_or(number.saturating_mul(width_ns), |(from, _)| from)
    }

    /// The parts of a step that pass; none where all times do.
    fn parts(&self, number: u64, width_ns: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let begin = number.saturating_mul(width_ns);
        let end = begin.saturating_add(width_ns);
        let first = self.spans_ns.partition_point(|(_, to)| *to <= begin);
        let spans = self.spans_ns[first..].iter().take_while(move |(from, _)| *from < end);
        spans.map(move |(from, to)| (*from.max(&begin), *to.min(&end))).filter(|(a, b)| a < b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listened(spans_ns: &[(u64, u64)], kept_ns: Option<u64>) -> Listened {
        Listened::of(spans_ns, &CaptureConditions { step_ns: kept_ns, ..Default::default() })
    }

    fn steps(listened: &Listened, numbers: std::ops::Range<u64>) -> Vec<(u64, u64)> {
        let one = |step| (listened.begin_of_step(step, 100), listened.of_step(step, 100));
        numbers.map(one).collect()
    }

    #[test]
    fn a_step_that_is_cut_has_the_part_that_passes() {
        assert_eq!(steps(&Listened::default(), 0..2), [(0, 100), (100, 100)]);
        let cut = listened(&[(50, 230)], None);
        assert_eq!(steps(&cut, 0..3), [(50, 50), (100, 100), (200, 30)]);
        // Beyond the filter there is only busy time.
        assert_eq!(cut.of_step(3, 100), 100);
        let open = listened(&[(250, u64::MAX)], None);
        assert_eq!(steps(&open, 2..4), [(250, 50), (300, 100)]);
    }

    #[test]
    fn several_spans_add_up_in_whatever_order() {
        let cut = listened(&[(160, 180), (10, 20), (90, 130)], None);
        assert_eq!(steps(&cut, 0..2), [(10, 20), (100, 50)]);
    }

    #[test]
    fn kept_steps_pass_by_their_beginning() {
        let cut = listened(&[(31, 230)], Some(20));
        assert_eq!(steps(&cut, 0..3), [(40, 60), (100, 100), (200, 40)]);
        let open = listened(&[(31, u64::MAX)], Some(20));
        assert_eq!(steps(&open, 0..2), [(40, 60), (100, 100)]);
    }
}
