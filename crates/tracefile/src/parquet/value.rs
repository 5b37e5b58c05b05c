//! Values of a batch and how they are encoded in a file.

use parquet::basic::Type as Physical;
use steadfast_domain::io_event::CommandName;

/// A value that a column of a batch can hold.
pub(crate) trait ColumnValue: Copy + PartialEq {
    /// Type of the column in a file.
    const PHYSICAL: Physical;
    /// True if the type is a number.
    const IS_NUMBER: bool;
    /// Converts a number by keeping its low bits.
    fn of_number(number: i64) -> Self;
    /// Returns a column of 64-bit numbers as such; `None` for any other type.
    fn wide(_: &mut Vec<Self>) -> Option<&mut Vec<i64>> {
        None
    }
    /// Converts the beginning of a text.
    fn from_text(_: &[u8]) -> Self {
        Self::of_number(0)
    }
    /// Decodes the plain value at the beginning of `bytes`; returns it and its encoded length.
    fn of_bytes(bytes: &[u8]) -> Option<(Self, usize)>;
}

impl ColumnValue for i64 {
    const PHYSICAL: Physical = Physical::INT64;
    const IS_NUMBER: bool = true;
    fn of_number(number: i64) -> Self {
        number
    }
    fn wide(column: &mut Vec<Self>) -> Option<&mut Vec<i64>> {
        Some(column)
    }
    fn of_bytes(bytes: &[u8]) -> Option<(Self, usize)> {
        bytes.first_chunk().map(|chunk| (i64::from_le_bytes(*chunk), chunk.len()))
    }
}

impl ColumnValue for i32 {
    const PHYSICAL: Physical = Physical::INT32;
    const IS_NUMBER: bool = true;
    fn of_number(number: i64) -> Self {
        number as i32
    }
    fn of_bytes(bytes: &[u8]) -> Option<(Self, usize)> {
        bytes.first_chunk().map(|chunk| (i32::from_le_bytes(*chunk), chunk.len()))
    }
}

impl ColumnValue for CommandName {
    const PHYSICAL: Physical = Physical::BYTE_ARRAY;
    const IS_NUMBER: bool = false;
    /// Returns an empty name, because names are never encoded as numbers.
    fn of_number(_: i64) -> Self {
        CommandName::default()
    }
    fn from_text(text: &[u8]) -> Self {
        command(text)
    }
    fn of_bytes(bytes: &[u8]) -> Option<(Self, usize)> {
        let (length, rest) = bytes.split_first_chunk()?;
        let length_in_bytes = length.len();
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        Some((command(rest.get(..length)?), length_in_bytes + length))
    }
}

/// Truncates a name to 15 bytes, as the kernel does.
pub(super) fn command(name: &[u8]) -> CommandName {
    let mut command = CommandName::default();
    let length = name.len().min(15);
    command.0[..length].copy_from_slice(&name[..length]);
    command
}
