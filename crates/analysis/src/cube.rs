//! [`Cube`]: sums and histograms of I/Os by step of time and by key. A key is a number that the
//! caller gives to a combination of dimensions, for example to each stream of each process.
//!
//! Cubes add up exactly: those of parts merge to that of the whole, and steps or keys that are
//! rolled up hold the same sums as if the I/Os had been counted so. Only keys that occur in a step
//! take memory.

use crate::sums::sparse::{CountsPlace, DenseCounts, SparseCounts};
use serde::{Deserialize, Serialize};
use std::mem;
use std::ops::Range;

/// Sums of the I/Os of a cell. Merging the sums of parts, in any order, gives those of the whole.
pub trait CellSums: Default {
    /// Adds the sums of another part.
    fn merge(&mut self, other: &Self);

    /// Adds the sums of another part and takes over its memory where possible.
    fn absorb(&mut self, other: Self) {
        self.merge(&other);
    }
}

impl CellSums for u64 {
    fn merge(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
}

impl CellSums for () {
    fn merge(&mut self, (): &()) {}
}

/// I/Os of one key in one step. A cell may have several pieces, which add up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyCell<S> {
    /// Number of the step, from the first of the cube.
    pub step: u32,
    /// Number of the key.
    pub key: u32,
    /// Sums.
    pub sums: S,
    counts: CountsPlace,
}

/// Cells in ascending order of their steps and keys.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cube<S> {
    step_ns: u64,
    /// Number of the first step, counted from time 0.
    first: u64,
    cells: Vec<KeyCell<S>>,
    counts: SparseCounts,
}

impl<S> Cube<S> {
    /// Returns the width of a step, in nanoseconds; `None` for a cube that was abandoned.
    pub fn step_ns(&self) -> Option<u64> {
        (self.step_ns > 0).then_some(self.step_ns)
    }

    /// Returns the number of the first step, counted from time 0.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns all cells.
    pub fn cells(&self) -> &[KeyCell<S>] {
        &self.cells
    }

    /// Returns the cells of a range of steps.
    pub fn steps(&self, steps: Range<usize>) -> &[KeyCell<S>] {
        let before = |step: usize| self.cells.partition_point(|cell| (cell.step as usize) < step);
        let first = before(steps.start);
        &self.cells[first..before(steps.end).max(first)]
    }

    /// Returns the cells of the steps that a window touches.
    pub fn window(&self, (from_ns, to_ns): (u64, u64)) -> &[KeyCell<S>] {
        let step_ns = self.step_ns.max(1);
        let step = |number: u64| number.saturating_sub(self.first) as usize;
        self.steps(step(from_ns / step_ns)..step(to_ns.div_ceil(step_ns)))
    }

    /// Iterates over the histogram of a cell by bucket. A bucket may occur several times.
    pub fn counts(&self, cell: &KeyCell<S>) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.counts.at(cell.counts)
    }
}

/// A cell of the open step.
#[derive(Debug, Default)]
pub struct OpenCell<S> {
    /// Sums.
    pub sums: S,
    /// Histogram.
    pub counts: DenseCounts,
    is_open: bool,
}

/// A cube that is being filled.
#[derive(Debug)]
pub struct CubeBuilder<S> {
    /// Steps in which I/Os are counted.
    steps: Range<u64>,
    buckets: usize,
    step: u32,
    /// Begin and width of the open step; the width is 0 if none is open.
    begin_ns: u64,
    lasts_ns: u64,
    /// Cells of the open step, by key.
    open: Vec<OpenCell<S>>,
    touched: Vec<u32>,
    done: Cube<S>,
}

impl<S: CellSums> CubeBuilder<S> {
    /// Creates an empty cube of some steps of the width `step_ns`, with histograms of `buckets`
    /// buckets.
    pub fn new(step_ns: u64, steps: Range<u64>, buckets: usize) -> Self {
        CubeBuilder {
            done: Cube { step_ns, first: steps.start, ..Cube::default() },
            steps,
            buckets,
            step: 0,
            begin_ns: 0,
            lasts_ns: 0,
            open: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Returns the width of a step, in nanoseconds; 0 for a cube that was abandoned.
    pub fn step_ns(&self) -> u64 {
        self.done.step_ns
    }

    /// Returns the cells of all closed steps, in no particular order.
    pub fn cells(&self) -> &[KeyCell<S>] {
        &self.done.cells
    }

    /// Returns the memory of the closed steps, in bytes.
    pub fn bytes(&self) -> usize {
        self.done.cells.len() * size_of::<KeyCell<S>>() + self.done.counts.bytes()
    }

    /// Returns the cell of a key at a time; `None` if the time lies outside all steps.
    #[inline]
    pub fn at(&mut self, time_ns: u64, key: u32) -> Option<&mut OpenCell<S>> {
        if time_ns.wrapping_sub(self.begin_ns) >= self.lasts_ns {
            self.turn_to(time_ns)?;
        }
        Some(self.cell(key))
    }

    fn turn_to(&mut self, time_ns: u64) -> Option<()> {
        let number = time_ns.checked_div(self.done.step_ns)?;
        if !self.steps.contains(&number) {
            return None;
        }
        self.enter((number - self.steps.start) as u32);
        self.lasts_ns = self.done.step_ns;
        self.begin_ns = number.saturating_mul(self.lasts_ns);
        Some(())
    }

    /// Returns the cell of a key in a step, counted from the first step of the cube.
    pub fn in_step(&mut self, step: u32, key: u32) -> &mut OpenCell<S> {
        self.lasts_ns = 0;
        self.enter(step);
        self.cell(key)
    }

    fn enter(&mut self, step: u32) {
        if step != self.step {
            self.close();
            self.step = step;
        }
    }

    #[inline]
    fn cell(&mut self, key: u32) -> &mut OpenCell<S> {
        let at = key as usize;
        if at >= self.open.len() {
            self.open.resize_with(at + 1, OpenCell::default);
        }
        let cell = &mut self.open[at];
        if !cell.is_open {
            cell.is_open = true;
            cell.counts.reserve(self.buckets);
            self.touched.push(key);
        }
        cell
    }

    /// Stores the cells of the open step.
    pub fn close(&mut self) {
        for key in self.touched.drain(..) {
            let cell = &mut self.open[key as usize];
            cell.is_open = false;
            self.done.cells.push(KeyCell {
                step: self.step,
                key,
                sums: mem::take(&mut cell.sums),
                counts: self.done.counts.keep(&mut cell.counts),
            });
        }
    }

    /// Merges `count` adjacent steps each, which must be 1 unless the cube begins at time 0, and all
    /// keys for which `key` returns the same number.
    pub fn roll_up(&mut self, count: u32, key: impl Fn(u32) -> u32) {
        self.close();
        self.lasts_ns = 0;
        let mut old = mem::take(&mut self.done);
        old.cells.sort_by_key(|cell| (cell.step, cell.key));
        self.done.step_ns = old.step_ns.saturating_mul(count.into());
        self.done.first = old.first;
        self.steps.end = self.steps.end.div_ceil(count.into());
        old.cells.iter().for_each(|cell| self.add(&old, cell, cell.step / count, key(cell.key)));
        self.close();
    }

    /// Adds a cell of another cube to that of a key in a step.
    pub fn add(&mut self, cube: &Cube<S>, cell: &KeyCell<S>, step: u32, key: u32) {
        let open = self.in_step(step, key);
        open.sums.merge(&cell.sums);
        cube.counts(cell).for_each(|(bucket, count)| open.counts.add(bucket, count));
    }

    /// Discards all cells. The cube stays empty.
    pub fn abandon(&mut self) {
        self.close();
        self.lasts_ns = 0;
        self.done = Cube::default();
    }

    /// Adds the cube of another part, whose keys have the numbers `keys` here. Steps get the width
    /// of the wider ones.
    pub fn merge(&mut self, mut other: CubeBuilder<S>, keys: &[u32]) {
        self.close();
        other.close();
        while self.step_ns() != other.step_ns() {
            if self.step_ns() == 0 || other.step_ns() == 0 {
                return self.abandon();
            }
            let is_narrower = self.step_ns() < other.step_ns();
            let narrower = if is_narrower { &mut *self } else { &mut other };
            narrower.roll_up(2, |key| key);
        }
        let place = self.done.counts.append(other.done.counts);
        self.done.cells.extend(other.done.cells.into_iter().map(|cell| KeyCell {
            key: keys[cell.key as usize],
            counts: place(cell.counts),
            ..cell
        }));
    }

    /// Returns the finished cube.
    pub fn finish(mut self) -> Cube<S> {
        self.close();
        self.done.cells.sort_by_key(|cell| (cell.step, cell.key));
        self.done.cells.shrink_to_fit();
        self.done.counts.shrink();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Count(u64);

    impl CellSums for Count {
        fn merge(&mut self, other: &Self) {
            self.0 += other.0;
        }
    }

    type Listed = Vec<(u32, u32, u64, Vec<(usize, u32)>)>;

    /// Returns the pieces of each cell added up.
    fn listed(cube: CubeBuilder<Count>) -> Listed {
        let mut whole = cube;
        whole.roll_up(1, |key| key);
        let cube = whole.finish();
        let counts = |cell: &KeyCell<Count>| cube.counts(cell).collect();
        cube.cells().iter().map(|cell| (cell.step, cell.key, cell.sums.0, counts(cell))).collect()
    }

    fn filled(
        step_ns: u64,
        times: impl Iterator<Item = u64>,
        key: fn(u64) -> u32,
    ) -> CubeBuilder<Count> {
        let mut cube = CubeBuilder::<Count>::new(step_ns, 0..2000 / step_ns, 8);
        for time in times {
            let Some(cell) = cube.at(time, key(time)) else { continue };
            cell.sums.0 += time;
            cell.counts.count(time as usize % 8);
        }
        cube
    }

    #[test]
    fn rolled_up_and_merged_cubes_are_those_of_all_ios() {
        let all = || (0..2100).map(|n| n * 331 % 2100);
        let mut rolled = filled(10, all(), |time| time as u32 % 6);
        rolled.roll_up(2, |key| key / 2);
        let wanted = listed(filled(20, all(), |time| time as u32 % 6 / 2));
        assert_eq!(listed(rolled), wanted);
        // Parts of different widths, with other numbers for the same keys.
        let mut even = filled(10, all().filter(|n| n % 2 == 0), |time| time as u32 % 6 / 2);
        let odd = filled(20, all().filter(|n| n % 2 == 1), |time| 2 - time as u32 % 6 / 2);
        even.merge(odd, &[2, 1, 0]);
        assert_eq!(listed(even), wanted);
        assert_eq!(wanted.iter().map(|cell| cell.2).sum::<u64>(), (0..2000u64).sum::<u64>());
    }

    #[test]
    fn a_window_has_the_cells_of_its_steps() {
        let cube = filled(10, 0..2000, |_| 3).finish();
        let steps: Vec<u32> = cube.window((25, 41)).iter().map(|cell| cell.step).collect();
        assert_eq!((steps, cube.window((41, 41)).len()), (vec![2, 3, 4], 1));
        assert_eq!(cube.steps(7..7).len(), 0);
    }

    #[test]
    fn an_abandoned_cube_stays_empty() {
        let mut cube = filled(10, 0..50, |_| 0);
        cube.abandon();
        assert!(cube.at(70, 1).is_none());
        let mut other = filled(10, 0..50, |_| 0);
        other.merge(cube, &[]);
        assert_eq!(other.finish().step_ns(), None);
    }
}
