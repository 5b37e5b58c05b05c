//! Matches queueing, issue and completion of I/Os in a block trace.
//!
//! blktrace has no request IDs, so the events of an I/O are matched by device, operation and
//! sector. Merged bios vanish into the request that absorbed them. I/Os that a device-mapper
//! device passes on appear again under the number of the device below.

use super::devices::DeviceNumbers;
use super::input::{EventSink, ImportError, ImportResult};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use steadfast_domain::io_event::{CommandName, IncompleteIos, Layer, RESPONSE_UNKNOWN, flags};
use steadfast_domain::step::mix64;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};

/// Unit of block offsets in the kernel, in bytes.
const SECTOR: u64 = 512;

/// Most I/Os in flight. If there are more, their completions must be missing from the trace.
const UNDER_WAY_MAX: usize = 1 << 20;

/// The step of an I/O that an event records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlktraceAction {
    /// `Q`: a bio enters the block layer.
    Queued,
    /// `M`: the bio is merged to the end of a waiting request.
    Merged,
    /// `F`: the bio is merged to the front of a waiting request.
    FrontMerged,
    /// `D`: the request goes to the device.
    Issued,
    /// `R`: the device could not take the request, which will be issued again.
    Requeued,
    /// `C`: the request, or part of it, is complete.
    Completed,
}

/// One event of a block trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlktraceEvent {
    pub action: BlktraceAction,
    pub time_ns: u64,
    pub device: u16,
    pub sector: u64,
    pub bytes: u32,
    pub op: IoOp,
    pub flags: u16,
    pub cpu: u16,
    pub pid: u32,
    pub command: CommandName,
    pub failed: bool,
}

type SectorKey = (u16, u64, IoOp);
type SectorMap<V> = HashMap<SectorKey, V, BuildHasherDefault<KeyHasher>>;

/// Hashes a key quickly. The standard library's hash, which resists chosen keys, takes a fifth
/// of an import's time.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mix64(self.0 ^ value);
    }
}

#[derive(Debug, Clone, Copy)]
struct QueuedBio {
    time_ns: u64,
    pid: u32,
    command: CommandName,
    flags: u16,
    bytes: u32,
    cpu: u16,
}

/// An I/O that the device has, or will have again after a requeue.
#[derive(Debug, Clone, Copy)]
struct Issued {
    event: IoEvent,
    /// Bytes that no completion has covered yet.
    left: u64,
    /// The device gave the request back, and the next issue at its place is the same I/O.
    given_back: bool,
}

/// A block trace that is being imported.
#[derive(Debug, Default)]
pub(super) struct BlockTraceImport {
    matcher: IoMatcher,
    pub devices: DeviceNumbers,
    /// Latest time of a record, in nanoseconds.
    pub last_ns: u64,
    pub imported: ImportResult,
}

impl BlockTraceImport {
    /// Counts a record and delivers the I/O that ends with it, if there is one. `event` is `None`
    /// for a record that belongs to no I/O.
    pub(super) fn take(
        &mut self,
        event: Option<&BlktraceEvent>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ImportError> {
        self.imported.records += 1;
        let Some(event) = event else {
            self.imported.passed_over += 1;
            return Ok(());
        };
        self.last_ns = self.last_ns.max(event.time_ns);
        if let Some(io) = self.matcher.follow(event) {
            self.imported.events += 1;
            sink(&io)?;
        }
        Ok(())
    }

    /// Delivers the I/Os whose completion is missing and returns the result.
    pub(super) fn finish(
        mut self,
        source: &str,
        began_unix_ns: Option<u64>,
        sink: &mut EventSink<'_>,
    ) -> Result<ImportResult, ImportError> {
        for io in self.matcher.unended() {
            self.imported.events += 1;
            sink(&io)?;
        }
        let part = self.matcher.in_part();
        let conditions = CaptureConditions {
            source: source.to_owned(),
            layers: vec![Layer::Block],
            devices: self.devices.captured(),
            began_unix_ns,
            lasted_ns: self.last_ns,
            unfinished: part.missing(),
            in_part: Some(part),
            remarks: remarks(&self.matcher),
            ..CaptureConditions::default()
        };
        Ok(ImportResult { conditions, ..self.imported })
    }
}

/// I/Os in flight.
#[derive(Debug, Default)]
struct IoMatcher {
    queued: SectorMap<QueuedBio>,
    issued: SectorMap<Issued>,
    outstanding: HashMap<u16, u32>,
    /// Number of completions without an issue.
    unexplained: u64,
    /// Number of I/Os delivered without a completion.
    unended: u64,
    /// Number of I/Os in flight that were dropped because there were too many.
    forgotten: u64,
    partial_completions: u64,
    requeues: u64,
}

impl IoMatcher {
    /// Returns the counts of I/Os that were seen only in part.
    fn in_part(&self) -> IncompleteIos {
        IncompleteIos {
            begun_before: self.unexplained,
            unended: self.unended + self.issued.len() as u64,
            too_many: self.forgotten,
        }
    }

    /// Returns the issued I/Os whose completion is missing, by issue time.
    fn unended(&self) -> Vec<IoEvent> {
        let mut events: Vec<IoEvent> =
            self.issued.values().map(|issued| without_end(issued.event)).collect();
        events.sort_unstable_by_key(|event| (event.issued_ns, event.offset));
        events
    }

    /// Takes the next event in time order. Returns an I/O that completes with it, or one whose
    /// completion is now known to be missing.
    fn follow(&mut self, step: &BlktraceEvent) -> Option<IoEvent> {
        let sector = if step.op == IoOp::Flush { 0 } else { step.sector };
        let key = (step.device, sector, step.op);
        match step.action {
            BlktraceAction::Queued => self.queue(key, step),
            BlktraceAction::Merged => {
                self.queued.remove(&key);
            }
            BlktraceAction::FrontMerged => self.merge_to_front(key, step),
            BlktraceAction::Issued => return self.issue(key, step),
            BlktraceAction::Requeued => self.requeue(key),
            BlktraceAction::Completed => return self.complete(key, step),
        }
        None
    }

    fn queue(&mut self, key: SectorKey, step: &BlktraceEvent) {
        if self.queued.len() >= UNDER_WAY_MAX {
            self.queued.clear();
        }
        let queued = QueuedBio {
            time_ns: step.time_ns,
            pid: step.pid,
            command: step.command,
            flags: step.flags,
            bytes: step.bytes,
            cpu: step.cpu,
        };
        self.queued.insert(key, queued);
    }

    /// Moves the beginning of a request to that of the new bio. Queue time and process remain those
    /// of the request's first bio.
    fn merge_to_front(&mut self, key: SectorKey, step: &BlktraceEvent) {
        let behind = (key.0, key.1.saturating_add(u64::from(step.bytes) / SECTOR), key.2);
        self.queued.remove(&key);
        if let Some(first) = self.queued.remove(&behind) {
            self.queued.insert(key, first);
        }
    }

    /// Starts an I/O. If the device already has one at this place that was not requeued, the
    /// completion of that one was missed, and it is returned.
    fn issue(&mut self, key: SectorKey, step: &BlktraceEvent) -> Option<IoEvent> {
        if self.issued.len() >= UNDER_WAY_MAX {
            self.forgotten += self.issued.len() as u64;
            self.issued.clear();
            self.outstanding.clear();
        }
        let queued = self.queued.remove(&key);
        let outstanding = self.outstanding.entry(step.device).or_default();
        let earlier = match self.issued.get_mut(&key) {
            Some(issued) if issued.given_back => {
                *outstanding += 1;
                issued.left = u64::from(step.bytes);
                issued.given_back = false;
                return None;
            }
            Some(issued) => {
                self.unended += 1;
                Some(without_end(issued.event))
            }
            None => {
                *outstanding += 1;
                None
            }
        };
        let event = IoEvent {
            issued_ns: step.time_ns,
            queued_ns: queued.map_or(0, |q| step.time_ns.saturating_sub(q.time_ns)),
            offset: place(key),
            bytes: step.bytes,
            depth: *outstanding,
            pid: queued.map_or(step.pid, |q| q.pid),
            command: queued.map_or(step.command, |q| q.command),
            cpu: step.cpu,
            flags: step.flags | queued.map_or(0, |q| q.flags),
            device: step.device,
            op: step.op,
            ..IoEvent::default()
        };
        self.issued.insert(key, Issued { event, left: u64::from(step.bytes), given_back: false });
        earlier
    }

    fn requeue(&mut self, key: SectorKey) {
        if let Some(issued) = self.issued.get_mut(&key).filter(|issued| !issued.given_back) {
            issued.event.flags |= flags::REQUEUED;
            issued.given_back = true;
            self.requeues += 1;
            if let Some(outstanding) = self.outstanding.get_mut(&key.0) {
                *outstanding = outstanding.saturating_sub(1);
            }
        }
    }

    fn complete(&mut self, key: SectorKey, step: &BlktraceEvent) -> Option<IoEvent> {
        let Some(Issued { mut event, left, given_back }) = self.issued.remove(&key) else {
            return self.complete_bio(key, step);
        };
        let done = u64::from(step.bytes);
        if done > 0 && done < left && !step.failed {
            // The rest of the I/O begins where this part ended.
            self.partial_completions += 1;
            let rest = (key.0, key.1.saturating_add(done / SECTOR), key.2);
            self.issued.insert(rest, Issued { event, left: left - done, given_back });
            return None;
        }
        if !given_back && let Some(outstanding) = self.outstanding.get_mut(&step.device) {
            *outstanding = outstanding.saturating_sub(1);
        }
        event.response_ns = step.time_ns.saturating_sub(event.issued_ns);
        event.flags |= if step.failed { flags::FAILED } else { 0 };
        Some(event)
    }

    /// Completes a bio of a device without a request queue, which issues nothing: the I/O lasts
    /// from queueing to completion.
    fn complete_bio(&mut self, key: SectorKey, step: &BlktraceEvent) -> Option<IoEvent> {
        let Some(queued) = self.queued.remove(&key) else {
            // A write that the kernel splits into flush and data completes twice, the second time
            // with 0 bytes left.
            self.unexplained += u64::from(step.bytes > 0);
            return None;
        };
        if queued.bytes == 0 && step.op != IoOp::Flush {
            return None;
        }
        Some(IoEvent {
            issued_ns: queued.time_ns,
            response_ns: step.time_ns.saturating_sub(queued.time_ns),
            offset: place(key),
            bytes: queued.bytes,
            pid: queued.pid,
            command: queued.command,
            cpu: queued.cpu,
            flags: queued.flags | if step.failed { flags::FAILED } else { 0 },
            device: step.device,
            op: step.op,
            ..IoEvent::default()
        })
    }
}

fn without_end(event: IoEvent) -> IoEvent {
    IoEvent { response_ns: RESPONSE_UNKNOWN, ..event }
}

fn place(key: SectorKey) -> u64 {
    key.1.saturating_mul(SECTOR)
}

/// Returns remarks on the matching for the reader of the trace.
fn remarks(pairs: &IoMatcher) -> Vec<String> {
    let mut remarks =
        vec!["Issue and completion are matched by device, operation and sector.".to_owned()];
    if pairs.partial_completions > 0 {
        remarks.push(format!(
            "{} completions covered part of an I/O; the whole I/O is counted once.",
            pairs.partial_completions
        ));
    }
    if pairs.requeues > 0 {
        remarks.push(format!(
            "{} requeues; a requeued I/O counts from its first issue.",
            pairs.requeues
        ));
    }
    remarks
}
