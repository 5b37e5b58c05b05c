//! Step files: captures that kept no single I/Os, only the I/O streams of every capture step. A
//! step file is a Parquet file with one row per stream and step, and with the same metadata and
//! recovery blocks as a trace file. `docs/formats.md` describes the format.

mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use reader::StepFile;
pub use writer::StepWriter;

use steadfast_domain::Layer;
use steadfast_domain::io_event::StreamInStep;

/// Column of the layer. A file without it holds I/Os of the block layer.
const LAYER: &str = "layer";
/// Column of the response-time histogram of a stream, as text; empty in rows of steps.
const HISTOGRAM: &str = "histogram";

/// A column of a step, stored as an unsigned 64-bit integer.
struct Column {
    name: &'static str,
    get: fn(&StreamInStep) -> u64,
    set: fn(&mut StreamInStep, u64) -> Option<()>,
}

/// Defines the column of an integer field.
macro_rules! number {
    ($field:ident) => {
        Column {
            name: stringify!($field),
            get: |row| u64::from(row.$field),
            set: |row, value| {
                row.$field = value.try_into().ok()?;
                Some(())
            },
        }
    };
}

/// The columns in file order.
const COLUMNS: [Column; 14] = [
    number!(step),
    number!(device),
    Column {
        name: LAYER,
        get: |row| row.layer as u64,
        set: |row, value| {
            row.layer = *[Layer::Block, Layer::FileSystem].get(usize::try_from(value).ok()?)?;
            Some(())
        },
    },
    Column {
        name: "op",
        get: |row| row.op as u64,
        set: |row, value| {
            row.op = steadfast_domain::IoOp::of_number(u8::try_from(value).ok()?)?;
            Some(())
        },
    },
    Column {
        name: "sequential",
        get: |row| u64::from(row.sequential),
        set: |row, value| {
            row.sequential = match value {
                0 => false,
                1 => true,
                _ => return None,
            };
            Some(())
        },
    },
    number!(bytes),
    number!(ios),
    number!(failed),
    number!(responses),
    number!(response_sum_ns),
    number!(response_max_ns),
    number!(depth_sum),
    number!(depth_max),
    number!(offsets),
];
