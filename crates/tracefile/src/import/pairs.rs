//! Queueing, issue and completion of I/Os, matched as blktrace tells them.
//!
//! blktrace names no request: an I/O's events are tied together by device and
//! sector. Merged bios vanish into the request that took them in; what a
//! device-mapper device passes on shows again on the device below, under that
//! device's number.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use steadfast_domain::io_event::{Command, IncompleteIos, RESPONSE_UNKNOWN, flags};
use steadfast_domain::step::mix64;
use steadfast_domain::{IoEvent, IoOp};

/// The kernel's unit of places.
const SECTOR: u64 = 512;

/// Beyond this many I/Os under way their ends must be missing from the trace.
const UNDER_WAY_MAX: usize = 1 << 20;

/// What happens to an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// `Q`: a bio is handed to the block layer.
    Queued,
    /// `M`: it is merged to the end of a request that waits already.
    Merged,
    /// `F`: to its front.
    FrontMerged,
    /// `D`: the request goes to the device.
    Issued,
    /// `R`: the device could not take it; it will be issued again.
    Requeued,
    /// `C`: it is done, or a part of it.
    Completed,
}

/// One event of a block trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub action: Action,
    pub time_ns: u64,
    pub device: u16,
    pub sector: u64,
    pub bytes: u32,
    pub op: IoOp,
    pub flags: u16,
    pub cpu: u16,
    pub pid: u32,
    pub command: Command,
    pub failed: bool,
}

type Key = (u16, u64, IoOp);
type ByKey<V> = HashMap<Key, V, BuildHasherDefault<KeyHasher>>;

/// Mixes the numbers of a key; the library's own hash, which withstands chosen
/// keys, takes a fifth of an import's time.
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
struct Queued {
    time_ns: u64,
    pid: u32,
    command: Command,
    flags: u16,
    bytes: u32,
    cpu: u16,
}

/// I/Os on their way.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    queued: ByKey<Queued>,
    issued: ByKey<(IoEvent, u64)>,
    outstanding: HashMap<u16, u32>,
    /// Ends without a beginning.
    unexplained: u64,
    /// I/Os handed on without an end.
    unended: u64,
    /// I/Os under way that were forgotten, for there were too many.
    forgotten: u64,
    pub partial_completions: u64,
    pub requeues: u64,
}

impl Pairs {
    /// I/Os seen only in part.
    pub(super) fn in_part(&self) -> IncompleteIos {
        IncompleteIos {
            begun_before: self.unexplained,
            unended: self.unended + self.issued.len() as u64,
            too_many: self.forgotten,
        }
    }

    /// Issued I/Os whose end the trace does not hold, by issue time.
    pub(super) fn unended(&self) -> Vec<IoEvent> {
        let mut events: Vec<IoEvent> =
            self.issued.values().map(|(event, _)| without_end(*event)).collect();
        events.sort_unstable_by_key(|event| (event.issued_ns, event.offset));
        events
    }

    /// Takes the next event in time; returned is an I/O that ends with it, or one
    /// whose end is now known to be missing.
    pub(super) fn follow(&mut self, step: &Step) -> Option<IoEvent> {
        let sector = if step.op == IoOp::Flush { 0 } else { step.sector };
        let key = (step.device, sector, step.op);
        match step.action {
            Action::Queued => self.queue(key, step),
            Action::Merged => {
                self.queued.remove(&key);
            }
            Action::FrontMerged => self.merge_to_front(key, step),
            Action::Issued => return self.issue(key, step),
            Action::Requeued => self.requeue(key),
            Action::Completed => return self.complete(key, step),
        }
        None
    }

    fn queue(&mut self, key: Key, step: &Step) {
        if self.queued.len() >= UNDER_WAY_MAX {
            self.queued.clear();
        }
        let queued = Queued {
            time_ns: step.time_ns,
            pid: step.pid,
            command: step.command,
            flags: step.flags,
            bytes: step.bytes,
            cpu: step.cpu,
        };
        self.queued.insert(key, queued);
    }

    /// The request now begins where the new bio does; it was queued, and by
    /// whom, when its first bio was.
    fn merge_to_front(&mut self, key: Key, step: &Step) {
        let behind = (key.0, key.1.saturating_add(u64::from(step.bytes) / SECTOR), key.2);
        self.queued.remove(&key);
        if let Some(first) = self.queued.remove(&behind) {
            self.queued.insert(key, first);
        }
    }

    /// Begins an I/O. One that the device seems to have already at this place,
    /// and that it did not give back, has ended unseen: it is returned.
    fn issue(&mut self, key: Key, step: &Step) -> Option<IoEvent> {
        if self.issued.len() >= UNDER_WAY_MAX {
            self.forgotten += self.issued.len() as u64;
            self.issued.clear();
            self.outstanding.clear();
        }
        let queued = self.queued.remove(&key);
        let outstanding = self.outstanding.entry(step.device).or_default();
        let earlier = match self.issued.get_mut(&key) {
            Some((event, left)) if event.flags & flags::REQUEUED != 0 => {
                *outstanding += 1;
                *left = u64::from(step.bytes);
                return None;
            }
            Some((event, _)) => {
                self.unended += 1;
                Some(without_end(*event))
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
        self.issued.insert(key, (event, u64::from(step.bytes)));
        earlier
    }

    fn requeue(&mut self, key: Key) {
        if let Some((event, _)) = self.issued.get_mut(&key) {
            event.flags |= flags::REQUEUED;
            self.requeues += 1;
            if let Some(outstanding) = self.outstanding.get_mut(&key.0) {
                *outstanding = outstanding.saturating_sub(1);
            }
        }
    }

    fn complete(&mut self, key: Key, step: &Step) -> Option<IoEvent> {
        let Some((mut event, left)) = self.issued.remove(&key) else {
            return self.complete_bio(key, step);
        };
        let done = u64::from(step.bytes);
        if done > 0 && done < left && !step.failed {
            // The rest goes on from where this part ended.
            self.partial_completions += 1;
            self.issued.insert((key.0, key.1 + done / SECTOR, key.2), (event, left - done));
            return None;
        }
        if let Some(outstanding) = self.outstanding.get_mut(&step.device) {
            *outstanding = outstanding.saturating_sub(1);
        }
        event.response_ns = step.time_ns.saturating_sub(event.issued_ns);
        event.flags |= if step.failed { flags::FAILED } else { 0 };
        Some(event)
    }

    /// A device without a request queue issues nothing: its I/Os last from
    /// their queueing to their completion.
    fn complete_bio(&mut self, key: Key, step: &Step) -> Option<IoEvent> {
        let Some(queued) = self.queued.remove(&key) else {
            // A write that the kernel splits into flush and data ends twice, the
            // second time with nothing left of it.
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

fn place(key: Key) -> u64 {
    key.1.saturating_mul(SECTOR)
}

/// What a reader of the trace should know of the matching.
pub(super) fn remarks(pairs: &Pairs) -> Vec<String> {
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
