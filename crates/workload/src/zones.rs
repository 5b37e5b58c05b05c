//! Hot and cold address zones of a stream, measured from the starts of its I/Os.
//!
//! The addresses are counted in at most [`CELLS_MAX`] cells of equal size, none smaller than the
//! alignment of the stream. The zones are a histogram with few bins: starting from one zone, the
//! split that raises the likelihood of the captured addresses most is applied repeatedly, until
//! there are [`ZONES_MAX`] zones or the best split gains less than `2 ln N` for `N` I/Os. The
//! Bayesian information criterion (G. Schwarz, "Estimating the Dimension of a Model", 1978) charges
//! `ln N` for the edge and the share that a split adds; this is doubled because the edge was
//! searched for.

use std::ops::Range;
use steadfast_domain::stimulus::Zone;

/// Maximum number of zones of a stream.
pub const ZONES_MAX: usize = 64;

/// Maximum number of cells in which addresses are counted: each has at least 10 ppm of the range.
const CELLS_MAX: u64 = 100_000;

/// Starts of the I/Os of one stream, counted in cells of an address range.
#[derive(Debug, Clone)]
pub struct AddressCells {
    /// Length of the range in bytes.
    range: u64,
    /// Bytes of an I/O beyond its alignment, which lie after the last start.
    tail: u64,
    /// Size of a cell in bytes.
    cell: u64,
    counts: Vec<u32>,
    /// Bytes from the lowest to the highest touched; `None` before the first I/O.
    touched: Option<Range<u64>>,
    ios: u64,
}

/// Consecutive cells that are one zone.
#[derive(Debug, Clone, Copy)]
struct CellRun {
    from: usize,
    to: usize,
    ios: u64,
    split: CellSplit,
}

/// The best split of a run of cells: before cell `at`.
#[derive(Debug, Clone, Copy)]
struct CellSplit {
    gain: f64,
    at: usize,
    ios_before: u64,
}

impl AddressCells {
    /// Creates empty cells for I/Os of `bytes` bytes, aligned to `alignment`, in a range.
    pub fn new(range: u64, bytes: u64, alignment: u64) -> Self {
        let alignment = alignment.max(1);
        let tail = bytes.saturating_sub(alignment).min(range);
        let cell = range.div_ceil(CELLS_MAX).max(1).next_multiple_of(alignment);
        let count = (range - tail).div_ceil(cell).max(1);
        AddressCells { range, tail, cell, counts: vec![0; count as usize], touched: None, ios: 0 }
    }

    /// Counts an I/O. One that lies outside the range counts in the last cell.
    pub fn add(&mut self, offset: u64, bytes: u64) {
        let last = self.counts.len() - 1;
        let at = usize::try_from(offset / self.cell).map_or(last, |at| at.min(last));
        self.counts[at] = self.counts[at].saturating_add(1);
        self.ios += 1;
        let end = offset.saturating_add(bytes);
        let touched = self.touched.get_or_insert(offset..end);
        *touched = touched.start.min(offset)..touched.end.max(end);
    }

    /// Returns the zones in order of address, each weighted by its I/Os; parts without an I/O are
    /// left out. Empty if the whole range is one zone.
    pub fn zones(&self) -> Vec<Zone> {
        let gain_min = 2.0 * (self.ios.max(2) as f64).ln();
        let mut runs = vec![self.run(0, self.counts.len(), self.ios)];
        while runs.len() < ZONES_MAX {
            let best =
                (0..runs.len()).max_by(|a, b| runs[*a].split.gain.total_cmp(&runs[*b].split.gain));
            let Some(best) = best.filter(|at| runs[*at].split.gain >= gain_min) else { break };
            let CellRun { from, to, ios, split } = runs[best];
            runs[best] = self.run(from, split.at, split.ios_before);
            runs.push(self.run(split.at, to, ios - split.ios_before));
        }
        if runs.len() == 1 {
            return Vec::new();
        }
        runs.retain(|run| run.ios > 0);
        runs.sort_by_key(|run| run.from);
        let most = runs.iter().map(|run| run.ios).max().unwrap_or(0);
        let shift = (u64::BITS - most.leading_zeros()).saturating_sub(u32::BITS);
        runs.iter().map(|run| self.zone(run, shift)).collect()
    }

    /// Returns one zone from the lowest to the highest byte touched; empty if it is the whole range.
    pub fn extent(&self) -> Vec<Zone> {
        let Some(touched) = &self.touched else { return Vec::new() };
        let from_ppm = self.ppm(touched.start / self.cell * self.cell, false);
        let to_ppm = self.ppm(touched.end.div_ceil(self.cell).saturating_mul(self.cell), true);
        let is_whole = from_ppm == 0 && to_ppm == 1_000_000;
        if is_whole || from_ppm >= to_ppm {
            Vec::new()
        } else {
            vec![Zone { weight: 1, from_ppm, to_ppm }]
        }
    }

    fn zone(&self, run: &CellRun, shift: u32) -> Zone {
        let end =
            if run.to == self.counts.len() { self.range } else { self.edge(run.to) + self.tail };
        Zone {
            weight: u32::try_from((run.ios >> shift).max(1)).unwrap_or(u32::MAX),
            from_ppm: self.ppm(self.edge(run.from), true),
            to_ppm: self.ppm(end, true),
        }
    }

    /// Returns the byte at which a cell begins.
    fn edge(&self, cell: usize) -> u64 {
        (cell as u64).saturating_mul(self.cell).min(self.range - self.tail)
    }

    /// Returns a byte in parts per million of the range. An engine rounds an edge down to a
    /// position, so an edge is rounded up here.
    fn ppm(&self, byte: u64, up: bool) -> u32 {
        let parts = u128::from(byte) * 1_000_000;
        let range = u128::from(self.range.max(1));
        let ppm = if up { parts.div_ceil(range) } else { parts / range };
        u32::try_from(ppm.min(1_000_000)).unwrap_or(1_000_000)
    }

    fn run(&self, from: usize, to: usize, ios: u64) -> CellRun {
        CellRun { from, to, ios, split: self.best_split(from, to, ios) }
    }

    fn best_split(&self, from: usize, to: usize, ios: u64) -> CellSplit {
        let width = |a: usize, b: usize| (self.edge(b) - self.edge(a)) as f64;
        let whole = log_likelihood(ios, width(from, to));
        let mut best = CellSplit { gain: 0.0, at: from, ios_before: 0 };
        let mut before = 0;
        for at in from + 1..to {
            before += u64::from(self.counts[at - 1]);
            // An edge between two empty cells is never better than the edges around them.
            if self.counts[at - 1] == 0 && self.counts[at] == 0 {
                continue;
            }
            let split = log_likelihood(before, width(from, at))
                + log_likelihood(ios - before, width(at, to));
            if split - whole > best.gain {
                best = CellSplit { gain: split - whole, at, ios_before: before };
            }
        }
        best
    }
}

/// Returns the logarithm of the likelihood of I/Os that are spread evenly over a width, but for a
/// constant.
fn log_likelihood(ios: u64, width: f64) -> f64 {
    if ios == 0 { 0.0 } else { ios as f64 * (ios as f64 / width).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::random_bits::mix64;

    const MIB: u64 = 1 << 20;

    /// Counts `ios` starts, of which 800 in 1,000 are between two bytes.
    fn banded(range: u64, band: (u64, u64), ios: u64) -> AddressCells {
        let mut cells = AddressCells::new(range, 4096, 4096);
        for at in 0..ios {
            let (from, to) = if mix64(at) % 1000 < 800 { band } else { (0, range) };
            let position = mix64(at + (1 << 40)) % ((to - from) / 4096);
            cells.add(from + position * 4096, 4096);
        }
        cells
    }

    #[test]
    fn a_planted_band_becomes_a_zone_with_its_share() {
        let zones = banded(1024 * MIB, (256 * MIB, 320 * MIB), 100_003).zones();
        let [cold, hot, rest] = &zones[..] else { panic!("{zones:?}") };
        assert_eq!((cold.from_ppm, rest.to_ppm), (0, 1_000_000));
        assert!(hot.from_ppm.abs_diff(250_000) <= 20 && hot.to_ppm.abs_diff(312_500) <= 20);
        assert_eq!((cold.to_ppm, hot.to_ppm), (hot.from_ppm, rest.from_ppm));
        let all: u32 = zones.iter().map(|zone| zone.weight).sum();
        // 80 % and its part of the other 20 %.
        let share = f64::from(hot.weight) / f64::from(all);
        assert!((share - 0.8125).abs() < 0.005, "{share}");
    }

    #[test]
    fn even_addresses_have_no_zones_and_an_untouched_part_is_left_out() {
        for ios in [101, 10_007, 1_000_003] {
            assert_eq!(banded(1024 * MIB, (0, 1024 * MIB), ios).zones(), []);
        }
        let zones = banded(1024 * MIB, (0, 1024 * MIB), 10_007);
        let mut wider = AddressCells::new(4096 * MIB, 4096, 4096);
        (0..10_007).for_each(|at| wider.add(mix64(at) % (256 * 1024) * 4096, 4096));
        let zone = wider.zones();
        assert_eq!((zone.len(), zone[0].from_ppm, zone[0].weight), (1, 0, 10_007));
        assert!(zone[0].to_ppm.abs_diff(250_000) < 100, "{zone:?}");
        assert!(zones.extent().is_empty() || zones.extent()[0].to_ppm > 999_000);
    }

    /// Of each of 16,384 positions as many I/Os: cells smaller than the alignment would be a comb.
    #[test]
    fn cells_are_not_smaller_than_the_alignment() {
        let mut cells = AddressCells::new(64 * MIB, 16_384, 4096);
        (0..16_381 * 11).for_each(|at| cells.add(at % 16_381 * 4096, 16_384));
        assert_eq!(cells.zones(), []);
        assert_eq!(cells.extent(), []);
    }

    #[test]
    fn there_are_at_most_64_zones_and_a_sequential_stream_has_its_extent() {
        let mut comb = AddressCells::new(1 << 40, 4096, 512);
        for at in 0..1_000_003u64 {
            comb.add(at % 200 * (5 << 30) + mix64(at) % 4096 * 4096, 4096);
        }
        let zones = comb.zones();
        assert!(zones.len() <= ZONES_MAX && zones.len() >= 32, "{}", zones.len());
        assert!(zones.windows(2).all(|pair| pair[0].from_ppm < pair[1].from_ppm));
        let mut log = AddressCells::new(1000 * MIB, 65_536, 65_536);
        (0..1600).for_each(|at| log.add(100 * MIB + at * 65_536, 65_536));
        assert_eq!(log.extent(), [Zone { weight: 1, from_ppm: 100_000, to_ppm: 200_000 }]);
        let mut far = AddressCells::new(MIB, 4096, 4096);
        far.add(u64::MAX, 4096);
        assert!(far.extent().iter().all(|zone| zone.from_ppm < zone.to_ppm));
        assert_eq!(AddressCells::new(0, 4096, 4096).zones(), []);
    }
}
