//! Matches ordered events into I/Os of the captured devices.

use super::event::{TracepointEvent, TracepointKind};
use crate::options::CaptureOptions;
use std::collections::HashMap;
use std::ops::Range;
use steadfast_domain::io_event::{CommandName, flags};
use steadfast_domain::io_matcher::{BlockAction, BlockStep, IoMatcher};
use steadfast_domain::{IoEvent, IoOp};

/// Most I/Os in flight. If there are more, their completions were lost.
const PENDING_MAX: usize = 1 << 18;

/// Name prefix of the kernel's worker threads, which write back data dirtied by others.
const WORKER: &[u8] = b"kworker/";

/// The process and thread that requested an I/O.
#[derive(Debug, Clone, Copy)]
struct Requester {
    process: u32,
    thread: u32,
    command: CommandName,
}

impl Requester {
    fn from_event(traced: &TracepointEvent) -> Self {
        Requester { process: traced.process, thread: traced.thread, command: traced.command }
    }
}

/// The requesters of flushes to one disk.
#[derive(Debug, Clone, Copy, Default)]
struct FlushRequesters {
    /// First requester of a preflush that has not been issued yet.
    waiting: Option<Requester>,
    /// Last requester of a FUA write: to a disk without FUA, the kernel sends a flush after the
    /// write.
    after_write: Option<Requester>,
}

/// A captured device as events name it.
struct TracedDevice {
    /// Number of the disk in the kernel's encoding.
    disk: u32,
    /// Range of the device on the disk.
    sectors: Range<u64>,
}

impl TracedDevice {
    /// Returns true if an event is of this device. An event without a sector is of any device on
    /// its disk.
    fn has(&self, event: &TracepointEvent) -> bool {
        let has_sector = event.op != IoOp::Flush && event.bytes > 0;
        self.disk == event.device && (!has_sector || self.sectors.contains(&event.sector))
    }
}

/// All I/Os that have started and not completed.
pub(super) struct PendingIos {
    pub matcher: IoMatcher,
    /// By the number of the disk.
    flushes: HashMap<u32, FlushRequesters>,
    /// Captured devices, in the order of the options.
    devices: Vec<TracedDevice>,
    process: Option<u32>,
    commands: bool,
}

impl PendingIos {
    pub(super) fn new(options: &CaptureOptions) -> Self {
        PendingIos {
            matcher: IoMatcher::new(PENDING_MAX),
            flushes: HashMap::new(),
            devices: options
                .devices
                .iter()
                .map(|device| TracedDevice {
                    disk: device.number.kernel_encoding(),
                    sectors: device.sectors.clone(),
                })
                .collect(),
            process: options.process,
            commands: options.commands,
        }
    }

    /// Returns the I/Os outstanding on the devices, without response times.
    pub(super) fn unended(&self) -> impl Iterator<Item = IoEvent> {
        self.matcher.outstanding_ios().into_iter().filter(|event| self.is_wanted(event))
    }

    fn is_wanted(&self, event: &IoEvent) -> bool {
        self.process.is_none_or(|process| process == event.pid)
    }

    /// Processes the next event in order. Returns an I/O that completes with it, or one whose
    /// completion is now known to have been missed.
    pub(super) fn follow(&mut self, traced: &TracepointEvent) -> Option<IoEvent> {
        let device = self.devices.iter().position(|device| device.has(traced))?;
        let mut step = BlockStep {
            action: match traced.kind {
                TracepointKind::Started => BlockAction::Queued,
                TracepointKind::Issued | TracepointKind::BioQueued => BlockAction::Issued,
                TracepointKind::Requeued => BlockAction::Requeued,
                TracepointKind::Completed => BlockAction::Completed,
                TracepointKind::BioCompleted => BlockAction::BioCompleted,
            },
            time_ns: traced.time_ns,
            disk: traced.device,
            device: device as u16,
            sector: traced.sector,
            bytes: traced.bytes,
            op: traced.op,
            flags: traced.flags,
            cpu: traced.cpu,
            pid: traced.process,
            tid: traced.thread,
            command: traced.command,
            failed: traced.failed,
        };
        let begins = match step.action {
            BlockAction::Queued => {
                self.note_flush_requester(traced);
                true
            }
            BlockAction::Issued => self.matcher.begins_io(&step),
            _ => false,
        };
        if begins {
            let Requester { process, thread, command } = self.requester(traced);
            let is_written_back = traced.op == IoOp::Write && command.0.starts_with(WORKER);
            step.flags |= if is_written_back { flags::WRITEBACK } else { 0 };
            (step.pid, step.tid) = (process, thread);
            step.command = if self.commands { command } else { CommandName::default() };
        }
        self.matcher.follow(&step).filter(|event| self.is_wanted(event))
    }

    fn note_flush_requester(&mut self, event: &TracepointEvent) {
        if event.flags & (flags::PREFLUSH | flags::FUA) == 0 {
            return;
        }
        let requester = Requester::from_event(event);
        let flushes = self.flushes.entry(event.device).or_default();
        if event.flags & flags::PREFLUSH != 0 {
            flushes.waiting.get_or_insert(requester);
        }
        if event.flags & flags::FUA != 0 {
            flushes.after_write = Some(requester);
        }
    }

    /// Returns who an I/O is charged to. A flush is charged to the process it is issued for; the
    /// thread that issues it is an arbitrary one, mostly a kernel worker.
    fn requester(&mut self, event: &TracepointEvent) -> Requester {
        let flushes = self.flushes.get_mut(&event.device).filter(|_| event.op == IoOp::Flush);
        let requester = flushes.and_then(|flushes| flushes.waiting.take().or(flushes.after_write));
        requester.unwrap_or_else(|| Requester::from_event(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{CaptureDevice, WHOLE_DISK};
    use steadfast_domain::DeviceNumber;
    use steadfast_domain::io_event::{IncompleteIos, Layer, RESPONSE_UNKNOWN};

    fn pending_ios() -> PendingIos {
        let device = CaptureDevice {
            name: "sdx".into(),
            number: DeviceNumber::new(8, 16),
            sectors: WHOLE_DISK,
            bio_based: false,
            file_systems: Vec::new(),
        };
        let options = CaptureOptions {
            devices: vec![device],
            layers: vec![Layer::Block],
            commands: true,
            ring_bytes: 1 << 20,
            ..CaptureOptions::default()
        };
        let mut pending = PendingIos::new(&options);
        pending.matcher.begin(1_000);
        pending
    }

    fn event(kind: TracepointKind, time_ns: u64, sector: u64, bytes: u64) -> TracepointEvent {
        TracepointEvent {
            kind,
            time_ns,
            cpu: 1,
            device: 8 << 20 | 16,
            sector,
            bytes,
            op: IoOp::Write,
            flags: flags::SYNC,
            failed: false,
            thread: 43,
            process: 42,
            command: CommandName::new("dd"),
        }
    }

    #[test]
    fn an_io_is_assembled_from_start_issue_and_completion() {
        let mut pending = pending_ios();
        assert_eq!(pending.follow(&event(TracepointKind::Started, 2_000, 80, 4096)), None);
        assert_eq!(pending.follow(&event(TracepointKind::Issued, 2_500, 80, 8192)), None);
        assert_eq!(pending.matcher.incomplete().unended, 1);
        assert_eq!(pending.unended().next().map(|event| event.response_ns), Some(u64::MAX));
        let event = pending.follow(&event(TracepointKind::Completed, 9_500, 80, 8192)).unwrap();
        assert_eq!((event.issued_ns, event.queued_ns, event.response_ns), (1_500, 500, 7_000));
        assert_eq!((event.offset, event.bytes, event.depth, event.pid), (40_960, 8_192, 1, 42));
        assert_eq!(event.tid, 43);
        assert_eq!(pending.matcher.incomplete().unended, 0);
    }

    #[test]
    fn a_partial_completion_does_not_end_an_io() {
        let mut pending = pending_ios();
        pending.follow(&event(TracepointKind::Issued, 2_000, 80, 8192));
        assert_eq!(pending.follow(&event(TracepointKind::Completed, 3_000, 80, 4096)), None);
        let event = pending.follow(&event(TracepointKind::Completed, 4_000, 88, 4096)).unwrap();
        assert_eq!((event.bytes, event.response_ns), (8_192, 2_000));
        assert_eq!(pending.matcher.partial_completions, 1);
    }

    #[test]
    fn a_requeued_io_counts_once_from_its_first_issue() {
        let mut pending = pending_ios();
        pending.follow(&event(TracepointKind::Issued, 2_000, 80, 4096));
        pending.follow(&event(TracepointKind::Requeued, 2_100, 80, 4096));
        pending.follow(&event(TracepointKind::Issued, 2_200, 80, 4096));
        let event = pending.follow(&event(TracepointKind::Completed, 3_000, 80, 4096)).unwrap();
        assert_eq!(event.response_ns, 1_000);
        assert!(event.flags & flags::REQUEUED != 0);
    }

    #[test]
    fn a_missed_completion_stays_outstanding_no_longer_than_until_the_next_at_its_place() {
        let mut pending = pending_ios();
        pending.follow(&event(TracepointKind::Issued, 2_000, 80, 4096));
        let missed = pending.follow(&event(TracepointKind::Issued, 9_000, 80, 4096)).unwrap();
        assert_eq!((missed.issued_ns, missed.response_ns), (1_000, RESPONSE_UNKNOWN));
        let event = pending.follow(&event(TracepointKind::Completed, 9_500, 80, 4096)).unwrap();
        assert_eq!((event.depth, event.response_ns), (1, 500));
        assert_eq!(
            pending.matcher.incomplete(),
            IncompleteIos { unended: 1, ..IncompleteIos::default() }
        );
    }

    #[test]
    fn a_flush_is_charged_to_its_requester() {
        let mut pending = pending_ios();
        let flush = |kind, time_ns| TracepointEvent {
            op: IoOp::Flush,
            process: 7,
            command: CommandName::new("kworker/0:1H"),
            ..event(kind, time_ns, 0, 0)
        };
        let mut charged = |requests: &[(u32, u16)]| {
            for &(process, flags) in requests {
                let started = event(TracepointKind::Started, 2_000, 0, 0);
                pending.follow(&TracepointEvent { process, flags, ..started });
            }
            pending.follow(&flush(TracepointKind::Issued, 3_000));
            pending.follow(&flush(TracepointKind::Completed, 4_000)).unwrap().pid
        };
        assert_eq!(charged(&[]), 7);
        assert_eq!(charged(&[(42, flags::PREFLUSH), (43, flags::PREFLUSH)]), 42);
        // Before its write, and after it.
        assert_eq!(charged(&[(44, flags::PREFLUSH | flags::FUA)]), 44);
        assert_eq!(charged(&[]), 44);
        assert_eq!(charged(&[(45, flags::PREFLUSH)]), 45);
    }

    #[test]
    fn writes_of_a_kernel_worker_are_writeback() {
        let mut pending = pending_ios();
        let mut flags_of = |command: &str, op| {
            let issued = TracepointEvent {
                command: CommandName::new(command),
                op,
                ..event(TracepointKind::Issued, 2_000, 80, 8)
            };
            pending.follow(&issued);
            let completed = TracepointEvent { kind: TracepointKind::Completed, ..issued };
            pending.follow(&completed).unwrap().flags
        };
        assert_eq!(flags_of("kworker/u8:2", IoOp::Write), flags::SYNC | flags::WRITEBACK);
        assert_eq!(flags_of("kworker/u8:2", IoOp::Read), flags::SYNC);
        assert_eq!(flags_of("postgres", IoOp::Write), flags::SYNC);
    }

    #[test]
    fn a_completion_without_an_issue_is_counted() {
        let mut pending = pending_ios();
        assert_eq!(pending.follow(&event(TracepointKind::Completed, 3_000, 80, 4096)), None);
        assert_eq!(pending.matcher.incomplete().begun_before, 1);
    }
}
