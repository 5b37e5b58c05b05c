//! Decodes events of the block layer's tracepoints into one common type.

use super::format::{self, Field};
use super::tasks::Begun;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{Command, flags};

/// A tracepoint, by what it reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Started,
    Issued,
    Requeued,
    Completed,
    BioQueued,
    BioCompleted,
}

impl Kind {
    /// Returns true if a capture takes this event as the start of an I/O.
    pub(super) fn begins(self) -> bool {
        matches!(self, Kind::Started | Kind::Issued | Kind::BioQueued)
    }

    pub(super) fn tracepoint(self) -> &'static str {
        match self {
            Kind::Started => "block_io_start",
            Kind::Issued => "block_rq_issue",
            Kind::Requeued => "block_rq_requeue",
            Kind::Completed => "block_rq_complete",
            Kind::BioQueued => "block_bio_queue",
            Kind::BioCompleted => "block_bio_complete",
        }
    }
}

/// A decoded event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub kind: Kind,
    pub time_ns: u64,
    pub cpu: u16,
    /// Major << 20
    /// minor.
    pub device: u32,
    pub sector: u64,
    pub bytes: u64,
    pub op: IoOp,
    pub flags: u16,
    pub failed: bool,
    /// Thread ID in the event.
    pub thread: u32,
    /// Process ID; equal to the thread ID until it is looked up.
    pub process: u32,
    pub command: Command,
}

/// Positions of a tracepoint's fields.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub kind: Kind,
    number: u16,
    thread: Field,
    device: Field,
    sector: Field,
    sectors: Field,
    letters: Field,
    bytes: Option<Field>,
    error: Option<Field>,
    command: Option<Field>,
}

/// Unit of the kernel's `nr_sector`, in bytes.
const SECTOR: u64 = 512;

impl Layout {
    /// Parses the tracepoint's `format` file; returns `None` if a required field is missing.
    pub(super) fn of(kind: Kind, format: &str) -> Option<Layout> {
        let field = |name| format::field(format, name);
        Some(Layout {
            kind,
            number: format::number(format)?,
            thread: field("common_pid")?,
            device: field("dev")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            letters: field("rwbs")?,
            bytes: field("bytes"),
            error: field("error"),
            command: field("comm"),
        })
    }

    /// Decodes an event; returns `None` if it belongs to none of `layouts`.
    pub(super) fn read(layouts: &[Layout], content: &[u8], time_ns: u64, cpu: u16) -> Option<Seen> {
        let number = u16::from_ne_bytes(content.get(..2)?.try_into().ok()?);
        let layout = layouts.iter().find(|layout| layout.number == number)?;
        layout.seen(content, time_ns, cpu)
    }

    fn seen(&self, content: &[u8], time_ns: u64, cpu: u16) -> Option<Seen> {
        let sectors = self.sectors.number(content)?.saturating_mul(SECTOR);
        let (op, flags) = letters(self.letters.bytes(content)?);
        Some(Seen {
            kind: self.kind,
            time_ns,
            cpu,
            device: self.device.number(content)? as u32,
            sector: self.sector.number(content)?,
            bytes: self.bytes.and_then(|field| field.number(content)).unwrap_or(sectors),
            op,
            flags,
            failed: self.error.and_then(|field| field.number(content)).unwrap_or(0) != 0,
            thread: self.thread.number(content)? as u32,
            process: self.thread.number(content)? as u32,
            command: self.command.and_then(|f| f.bytes(content)).map(command).unwrap_or_default(),
        })
    }
}

/// Positions of the fields of `task_newtask`.
#[derive(Debug, Clone)]
pub(super) struct BegunLayout {
    number: u16,
    parent: Field,
    thread: Field,
    clone_flags: Field,
}

impl BegunLayout {
    pub(super) const TRACEPOINT: &str = "task/task_newtask";

    /// Parses the `format` file of `task_newtask`; returns `None` if a field is missing.
    pub(super) fn of(format: &str) -> Option<BegunLayout> {
        let field = |name| format::field(format, name);
        Some(BegunLayout {
            number: format::number(format)?,
            parent: field("common_pid")?,
            thread: field("pid")?,
            clone_flags: field("clone_flags")?,
        })
    }

    /// Decodes the start of a thread; returns `None` for an event of another kind.
    pub(super) fn read(&self, content: &[u8], time_ns: u64) -> Option<Begun> {
        let number = u16::from_ne_bytes(content.get(..2)?.try_into().ok()?);
        let of_process = u64::from(libc::CLONE_THREAD.cast_unsigned());
        let begun = || {
            Some(Begun {
                time_ns,
                parent: self.parent.number(content)? as u32,
                thread: self.thread.number(content)? as u32,
                same_process: self.clone_flags.number(content)? & of_process != 0,
            })
        };
        (number == self.number).then(begun).flatten()
    }
}

fn command(bytes: &[u8]) -> Command {
    let mut name = [0; 16];
    for (to, from) in name.iter_mut().zip(bytes.iter().take_while(|byte| **byte != 0)) {
        *to = *from;
    }
    Command(name)
}

/// Parses the letters of blk_fill_rwbs in the kernel: a preflush, the operation, then flags.
fn letters(text: &[u8]) -> (IoOp, u16) {
    let mut rest: &[u8] = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut found = 0;
    if let [b'F', b'R' | b'W' | b'D' | b'F' | b'N', ..] = rest {
        found |= flags::PREFLUSH;
        rest = &rest[1..];
    }
    let op = match rest.first() {
        Some(b'R') => IoOp::Read,
        Some(b'W') => IoOp::Write,
        Some(b'D') => IoOp::Discard,
        Some(b'F') => IoOp::Flush,
        _ => IoOp::Other,
    };
    for letter in rest.iter().skip(1) {
        found |= match letter {
            b'F' => flags::FUA,
            b'A' => flags::READ_AHEAD,
            b'S' => flags::SYNC,
            b'M' => flags::META,
            _ => 0,
        };
    }
    (op, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_letters_are_understood() {
        let known: [(&[u8], IoOp, u16); 8] = [
            (b"R\0\0", IoOp::Read, 0),
            (b"WS", IoOp::Write, flags::SYNC),
            (b"FWFS\0", IoOp::Write, flags::PREFLUSH | flags::FUA | flags::SYNC),
            (b"RA", IoOp::Read, flags::READ_AHEAD),
            (b"FF", IoOp::Flush, flags::PREFLUSH),
            (b"F", IoOp::Flush, 0),
            (b"DE", IoOp::Discard, 0),
            (b"RSM", IoOp::Read, flags::SYNC | flags::META),
        ];
        for (text, op, found) in known {
            assert_eq!(letters(text), (op, found), "{}", String::from_utf8_lossy(text));
        }
    }
}
