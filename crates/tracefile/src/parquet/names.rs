//! The column of command names.
//!
//! Parquet's encoder takes a shared piece of memory for every value. To make
//! one costs more than all else that is done for a row, and mostly a row has
//! the name of the row before, or that of a handful of processes: the values
//! made for earlier rows are used again.

use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use steadfast_domain::io_event::Command;

/// Rows that are handed to the encoder at once where they must be copied.
pub(super) const ROWS_AT_ONCE: usize = 1024;

/// Names that are kept ready: more than that run on few servers at once.
const KEPT: usize = 64;

/// Values made for earlier rows.
pub(super) struct Names {
    kept: Vec<(Command, ByteArray)>,
    /// The rows that were written last, and their values.
    rows: Vec<Command>,
    values: Vec<ByteArray>,
}

impl Default for Names {
    fn default() -> Self {
        let nobody = (Command::default(), ByteArray::from(Vec::new()));
        Names {
            rows: vec![nobody.0; ROWS_AT_ONCE],
            values: vec![nobody.1.clone(); ROWS_AT_ONCE],
            kept: vec![nobody; KEPT],
        }
    }
}

impl Names {
    /// Writes the names of a row group.
    pub(super) fn write(
        &mut self,
        commands: &[Command],
        column: &mut ColumnWriterImpl<'_, ByteArrayType>,
    ) -> parquet::errors::Result<()> {
        for rows in commands.chunks(ROWS_AT_ONCE) {
            for (at, command) in rows.iter().enumerate() {
                if self.rows[at] != *command {
                    self.rows[at] = *command;
                    self.values[at] = self.value(command);
                }
            }
            column.write_batch(&self.values[..rows.len()], None, None)?;
        }
        Ok(())
    }

    fn value(&mut self, command: &Command) -> ByteArray {
        let kept = &mut self.kept[place(command)];
        if kept.0 != *command {
            *kept = (*command, ByteArray::from(command.to_string().into_bytes()));
        }
        kept.1.clone()
    }
}

/// Where a name is kept: a number that all of its bytes change.
fn place(command: &Command) -> usize {
    FxBuildHasher.hash_one(u128::from_le_bytes(command.0)) as usize % KEPT
}
