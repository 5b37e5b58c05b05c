//! Decodes events of the block layer's tracepoints into one common type.

use super::format::{self, EventField};
use super::tasks::NewTask;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{CommandName, parse_rwbs};

/// A tracepoint, by what it reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TracepointKind {
    Started,
    Issued,
    Requeued,
    Completed,
    BioQueued,
    BioCompleted,
}

impl TracepointKind {
    /// Returns true if a capture takes this event as the start of an I/O.
    pub(super) fn begins(self) -> bool {
        matches!(self, TracepointKind::Started | TracepointKind::Issued | TracepointKind::BioQueued)
    }

    pub(super) fn tracepoint(self) -> &'static str {
        match self {
            TracepointKind::Started => "block_io_start",
            TracepointKind::Issued => "block_rq_issue",
            TracepointKind::Requeued => "block_rq_requeue",
            TracepointKind::Completed => "block_rq_complete",
            TracepointKind::BioQueued => "block_bio_queue",
            TracepointKind::BioCompleted => "block_bio_complete",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TracepointEvent {
    pub kind: TracepointKind,
    pub time_ns: u64,
    pub cpu: u16,
    /// Number of the disk in the kernel's encoding.
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
    pub command: CommandName,
}

/// Positions of a tracepoint's fields.
#[derive(Debug, Clone)]
pub(super) struct TracepointLayout {
    pub kind: TracepointKind,
    number: u16,
    thread: EventField,
    device: EventField,
    sector: EventField,
    sectors: EventField,
    rwbs: EventField,
    bytes: Option<EventField>,
    error: Option<EventField>,
    command: Option<EventField>,
}

/// Unit of the kernel's `nr_sector`, in bytes.
const SECTOR: u64 = 512;

impl TracepointLayout {
    /// Parses the tracepoint's `format` file; returns `None` if a required field is missing.
    pub(super) fn parse(kind: TracepointKind, format: &str) -> Option<TracepointLayout> {
        let field = |name| format::field(format, name);
        Some(TracepointLayout {
            kind,
            number: format::number(format)?,
            thread: field("common_pid")?,
            device: field("dev")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            rwbs: field("rwbs")?,
            bytes: field("bytes"),
            error: field("error"),
            command: field("comm"),
        })
    }

    /// Decodes an event; returns `None` if it belongs to none of `layouts`.
    pub(super) fn read(
        layouts: &[TracepointLayout],
        content: &[u8],
        time_ns: u64,
        cpu: u16,
    ) -> Option<TracepointEvent> {
        let number = u16::from_ne_bytes(content.get(..2)?.try_into().ok()?);
        layouts.iter().find(|layout| layout.number == number)?.decode(content, time_ns, cpu)
    }

    fn decode(&self, content: &[u8], time_ns: u64, cpu: u16) -> Option<TracepointEvent> {
        let sectors = self.sectors.number(content)?.saturating_mul(SECTOR);
        let (op, flags) = parse_rwbs(self.rwbs.bytes(content)?);
        let command = self.command.and_then(|field| field.bytes(content));
        Some(TracepointEvent {
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
            command: command.map(CommandName::from_bytes).unwrap_or_default(),
        })
    }
}

/// Positions of the fields of `task_newtask`.
#[derive(Debug, Clone)]
pub(super) struct NewTaskLayout {
    number: u16,
    parent: EventField,
    thread: EventField,
    clone_flags: EventField,
}

impl NewTaskLayout {
    pub(super) const TRACEPOINT: &str = "task/task_newtask";

    /// Parses the `format` file of `task_newtask`; returns `None` if a field is missing.
    pub(super) fn parse(format: &str) -> Option<NewTaskLayout> {
        let field = |name| format::field(format, name);
        Some(NewTaskLayout {
            number: format::number(format)?,
            parent: field("common_pid")?,
            thread: field("pid")?,
            clone_flags: field("clone_flags")?,
        })
    }

    /// Decodes the start of a thread; returns `None` for an event of another kind.
    pub(super) fn read(&self, content: &[u8], time_ns: u64) -> Option<NewTask> {
        let number = u16::from_ne_bytes(content.get(..2)?.try_into().ok()?);
        if number != self.number {
            return None;
        }
        let clone_thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
        Some(NewTask {
            time_ns,
            parent: self.parent.number(content)? as u32,
            thread: self.thread.number(content)? as u32,
            same_process: self.clone_flags.number(content)? & clone_thread != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::flags;

    #[test]
    fn the_kernels_rwbs_letters_are_parsed() {
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
            assert_eq!(parse_rwbs(text), (op, found), "{}", String::from_utf8_lossy(text));
        }
    }
}
