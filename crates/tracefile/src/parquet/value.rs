//! Values as a batch keeps them, and how they stand in a file.

use steadfast_domain::io_event::Command;

/// A value as a batch keeps it.
pub(super) trait Value: Copy + PartialEq {
    /// Whether it is a number.
    const IS_NUMBER: bool;
    /// Of a number, of which the low bits are told.
    fn of_number(number: i64) -> Self;
    /// A column of them as one of numbers of 64 bits, where it is such.
    fn wide(_: &mut Vec<Self>) -> Option<&mut Vec<i64>> {
        None
    }
    /// Of the beginning of a text.
    fn from_text(_: &[u8]) -> Self {
        Self::of_number(0)
    }
    /// As it stands at the beginning of some bytes, and how many of them it takes.
    fn of_bytes(bytes: &[u8]) -> Option<(Self, usize)>;
}

impl Value for i64 {
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

impl Value for i32 {
    const IS_NUMBER: bool = true;
    fn of_number(number: i64) -> Self {
        number as i32
    }
    fn of_bytes(bytes: &[u8]) -> Option<(Self, usize)> {
        bytes.first_chunk().map(|chunk| (i32::from_le_bytes(*chunk), chunk.len()))
    }
}

impl Value for Command {
    const IS_NUMBER: bool = false;
    /// A name is no number; none is written as one.
    fn of_number(_: i64) -> Self {
        Command::default()
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

/// A name as the kernel keeps it, 15 bytes at most.
pub(super) fn command(name: &[u8]) -> Command {
    let mut command = Command::default();
    let length = name.len().min(15);
    command.0[..length].copy_from_slice(&name[..length]);
    command
}
