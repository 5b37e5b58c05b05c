//! Writes the columns of command and thread names.
//!
//! Parquet's encoder takes a reference-counted buffer for every value. Creating one costs more
//! than all other work for a row. Most rows have the name of the row before or of one of a
//! handful of processes, so the buffers of earlier rows are reused.

use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use steadfast_domain::io_event::CommandName;

/// Rows handed to the encoder at a time if they must be copied.
pub(super) const ROWS_AT_ONCE: usize = 1024;

/// Buffers kept for reuse. Few servers run more different programs at a time.
const SLOTS: usize = 64;

/// Buffers made for earlier rows.
pub(super) struct NameBuffers {
    slots: Vec<NameSlot>,
    /// The rows written last.
    rows: Vec<CommandName>,
    /// Buffers of these rows.
    values: Vec<ByteArray>,
}

/// A name and its buffer.
#[derive(Clone)]
struct NameSlot {
    name: CommandName,
    buffer: ByteArray,
}

impl Default for NameBuffers {
    fn default() -> Self {
        let (name, buffer) = (CommandName::default(), ByteArray::from(Vec::new()));
        NameBuffers {
            rows: vec![name; ROWS_AT_ONCE],
            values: vec![buffer.clone(); ROWS_AT_ONCE],
            slots: vec![NameSlot { name, buffer }; SLOTS],
        }
    }
}

impl NameBuffers {
    pub(super) fn write(
        &mut self,
        commands: &[CommandName],
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

    /// Returns the buffer of a name.
    fn value(&mut self, command: &CommandName) -> ByteArray {
        let at = FxBuildHasher.hash_one(u128::from_le_bytes(command.0)) as usize % SLOTS;
        let slot = &mut self.slots[at];
        if slot.name != *command {
            let buffer = ByteArray::from(command.to_string().into_bytes());
            *slot = NameSlot { name: *command, buffer };
        }
        slot.buffer.clone()
    }
}
