//! Values of a loop over block sizes and read/write mixes, as tables and plots.

use super::response::FIVE_NINES;
use crate::common::results::{LoopResults, PointResult};
use crate::report_notation::mix_name;
use steadfast_domain::findings::{Axis, Cell as TableCell, Row, Scale, Series, Stroke, Table};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Nanos};

/// Block size whose row is highlighted.
const TRACKED: Bytes = Bytes::kib(4);

pub(crate) struct MatrixValue {
    pub id: &'static str,
    pub title: &'static str,
    pub decimals: u8,
    pub value: fn(&PointResult) -> Option<f64>,
}

pub(crate) const AVERAGE: MatrixValue = MatrixValue {
    id: "average",
    title: "Average response time, ms (mean of the rounds)",
    decimals: 4,
    value: |cell| cell.art.mean,
};
pub(crate) const FIVE_NINES_TIME: MatrixValue = MatrixValue {
    id: "five-nines",
    title: "99.999 % response time, ms (all I/Os of the rounds)",
    value: |cell| millis(cell.tally.percentile(FIVE_NINES)),
    ..AVERAGE
};
pub(crate) const MINIMUM: MatrixValue = MatrixValue {
    id: "minimum",
    title: "Minimum response time, ms",
    value: |cell| millis(cell.tally.response_shortest()),
    ..AVERAGE
};
pub(crate) const MAXIMUM: MatrixValue = MatrixValue {
    id: "maximum",
    title: "Maximum response time, ms",
    value: |cell| millis(cell.tally.response_longest()),
    ..AVERAGE
};

/// The points of a loop over random I/O.
pub(crate) struct LoopMatrix<'a> {
    /// Block sizes, ascending.
    pub sizes: Vec<Bytes>,
    /// Percentages of reads, in the order of columns.
    pub mixes: Vec<u8>,
    pub results: &'a LoopResults,
}

impl<'a> LoopMatrix<'a> {
    /// Creates the matrix of sizes and percentages of reads in the order of a round, descending.
    pub fn new(sizes: &[Bytes], mixes: &[u8], results: &'a LoopResults) -> Self {
        let sizes = sizes.iter().rev().copied().collect();
        LoopMatrix { sizes, mixes: mixes.iter().rev().copied().collect(), results }
    }

    fn value(&self, size: Bytes, mix: u8, value: &MatrixValue) -> Option<f64> {
        self.results.cell(&AccessPattern::random(size, mix)).and_then(value.value)
    }

    /// Returns the standard's table: a row for each block size, a column for each mix.
    pub fn table(&self, value: &MatrixValue) -> Table {
        let rows = self.sizes.iter().map(|size| {
            let mixes = self.mixes.iter();
            let cells =
                mixes.map(|mix| TableCell::number(self.value(*size, *mix, value), value.decimals));
            Row::new(size_name(*size), cells).strong(*size == TRACKED)
        });
        Table::new(value.id, value.title, "Block Size (KiB)")
            .spanner("Read / Write Mix %")
            .columns(self.mixes.iter().map(|mix| mix_name(*mix)))
            .rows(rows)
    }

    /// Returns a series for each mix, the last column first, with the value of each block size at
    /// its place on the axis.
    pub fn series(&self, value: &MatrixValue, axis: &Axis) -> Vec<Series> {
        let of_mix = |mix: &u8| {
            let points = (0u32..).zip(&self.sizes).map(|(place, size)| {
                let x = match axis.scale {
                    Scale::Categories(_) => f64::from(place),
                    _ => size.as_kib(),
                };
                (x, self.value(*size, *mix, value))
            });
            Series::new(mix_name(*mix), Stroke::Measured, points.collect())
        };
        self.mixes.iter().rev().map(of_mix).collect()
    }

    pub fn names(&self) -> Axis {
        let names = self.sizes.iter().map(|size| size_name(*size)).collect();
        Axis::new("Block size (KiB)", Scale::Categories(names))
    }
}

/// Returns the block size in KiB as tables print it.
pub(crate) fn size_name(size: Bytes) -> String {
    size.transfer_size().trim_end_matches('K').to_owned()
}

pub(crate) fn millis(time: Option<Nanos>) -> Option<f64> {
    time.map(Nanos::as_millis_f64)
}
