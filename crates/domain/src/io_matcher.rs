//! Matches queueing, issue and completion of I/Os of the block layer.
//!
//! The kernel's events have no request IDs, so those of an I/O are matched by disk, operation and
//! sector. Two I/Os of one operation that are outstanding at one sector have the same key: the
//! second ends the first, whose completion counts as missing.

use crate::io_event::{CommandName, IncompleteIos, RESPONSE_UNKNOWN, flags};
use crate::random_bits::mix64;
use crate::{IoEvent, IoOp};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Unit of block offsets in the kernel, in bytes.
const SECTOR: u64 = 512;

/// The step of an I/O that an event records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockAction {
    /// A bio enters the block layer, or a request is started for it.
    Queued,
    /// The bio is merged to the end of a waiting request.
    Merged,
    /// The bio is merged to the front of a waiting request.
    FrontMerged,
    /// The bio is split at the end of the given size; the rest is a bio of its own.
    Split,
    /// The request goes to the device.
    Issued,
    /// The device could not take the request, which will be issued again.
    Requeued,
    /// The request, or part of it, is complete.
    Completed,
    /// The bio is complete as a whole, whatever its size is now.
    BioCompleted,
}

/// One event of the block layer.
#[derive(Debug, Clone, Copy)]
pub struct BlockStep {
    /// Kind of the event.
    pub action: BlockAction,
    /// Time of the event in nanoseconds.
    pub time_ns: u64,
    /// Disk to which the sector belongs.
    pub disk: u32,
    /// Device of the I/O: the disk, or a partition of it.
    pub device: u16,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Size in bytes; that of the completed part at a completion, of the first part at a split.
    pub bytes: u64,
    /// Operation.
    pub op: IoOp,
    /// [`flags`] of the I/O.
    pub flags: u16,
    /// Processor.
    pub cpu: u16,
    /// Process.
    pub pid: u32,
    /// Thread; 0 if unknown.
    pub tid: u32,
    /// Name of the process or thread.
    pub command: CommandName,
    /// True if a completion reports an error.
    pub failed: bool,
}

/// Place and operation of an I/O, by which its events are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SectorKey {
    disk: u32,
    sector: u64,
    op: IoOp,
}

impl SectorKey {
    /// Returns the key of an event. A flush has no sector; the kernel fills the field differently
    /// at issue and at completion.
    fn of(step: &BlockStep) -> SectorKey {
        let sector = if step.op == IoOp::Flush { 0 } else { step.sector };
        SectorKey { disk: step.disk, sector, op: step.op }
    }

    /// Returns the key of an I/O that begins where the first `bytes` of this one end.
    fn after(self, bytes: u64) -> SectorKey {
        SectorKey { sector: self.sector.saturating_add(bytes / SECTOR), ..self }
    }

    /// Returns the first byte.
    fn offset(self) -> u64 {
        self.sector.saturating_mul(SECTOR)
    }
}

type SectorMap<V> = HashMap<SectorKey, V, BuildHasherDefault<KeyHasher>>;

/// A bio that was merged into a waiting request. In the order of the fields, the bios of a request
/// lie next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MergedBio {
    disk: u32,
    op: IoOp,
    sector: u64,
}

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
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mix64(self.0 ^ value);
    }
}

/// An I/O that the device has, or will have again after a requeue.
#[derive(Debug, Clone, Copy)]
struct Issued {
    event: IoEvent,
    /// Bytes that no completion has covered yet.
    left: u64,
    /// True if the device could not take the request: the next issue at its sector is the same I/O.
    is_requeued: bool,
}

/// I/Os in flight.
///
/// ```
/// use steadfast_domain::{IoOp, io_event::CommandName};
/// use steadfast_domain::io_matcher::{BlockAction, BlockStep, IoMatcher};
/// let issue = BlockStep {
///     action: BlockAction::Issued,
///     time_ns: 100,
///     disk: 8,
///     device: 0,
///     sector: 80,
///     bytes: 4096,
///     op: IoOp::Write,
///     flags: 0,
///     cpu: 1,
///     pid: 42,
///     tid: 0,
///     command: CommandName::new("dd"),
///     failed: false,
/// };
/// let mut matcher = IoMatcher::new(1000);
/// assert_eq!(matcher.follow(&issue), None);
/// let complete = BlockStep { action: BlockAction::Completed, time_ns: 700, ..issue };
/// let io = matcher.follow(&complete).unwrap();
/// assert_eq!((io.offset, io.bytes, io.response_ns), (40_960, 4096, 600));
/// ```
#[derive(Debug, Default)]
pub struct IoMatcher {
    /// Limit of the I/Os in each state. If there are more, their completions must be missing.
    capacity: usize,
    /// A queued I/O may complete without an issue.
    has_bios: bool,
    began_ns: u64,
    closed_ns: Option<u64>,
    queued: SectorMap<BlockStep>,
    issued: SectorMap<Issued>,
    merged: BTreeSet<MergedBio>,
    /// I/Os outstanding, by device.
    outstanding: HashMap<u16, u32>,
    completions_without_issue: u64,
    /// I/Os delivered without a completion.
    missed_completions: u64,
    /// Issued I/Os that were dropped because there were too many.
    dropped_issues: u64,
    /// Queued I/Os that were dropped because there were too many. Those issued later have no queue
    /// time.
    pub dropped_from_queue: u64,
    /// Completions that covered a part of an I/O.
    pub partial_completions: u64,
    /// Requests that the device could not take.
    pub requeues: u64,
}

impl IoMatcher {
    /// Creates a matcher that holds at most this many I/Os in each state.
    pub fn new(capacity: usize) -> Self {
        IoMatcher { capacity, ..IoMatcher::default() }
    }

    /// Lets a queued I/O complete without an issue, as on a device without a request queue.
    #[must_use]
    pub fn with_bios(self) -> Self {
        IoMatcher { has_bios: true, ..self }
    }

    /// Sets the time from which the times of the I/Os count.
    pub fn begin(&mut self, at_ns: u64) {
        self.began_ns = at_ns;
    }

    /// Sets the time from which issues are no longer seen: later completions without one are not
    /// counted.
    pub fn close(&mut self, at_ns: u64) {
        self.closed_ns = Some(at_ns);
    }

    /// Returns the counts of I/Os that were seen only in part.
    pub fn incomplete(&self) -> IncompleteIos {
        IncompleteIos {
            begun_before: self.completions_without_issue,
            unended: self.missed_completions + self.issued.len() as u64,
            too_many: self.dropped_issues,
        }
    }

    /// Returns the issued I/Os that have not completed, by issue time.
    pub fn outstanding_ios(&self) -> Vec<IoEvent> {
        let mut events: Vec<IoEvent> =
            self.issued.values().map(|issued| without_response(issued.event)).collect();
        events.sort_unstable_by_key(|event| (event.issued_ns, event.offset));
        events
    }

    /// Returns true if an issue begins an I/O that was neither queued nor requeued.
    pub fn begins_io(&self, step: &BlockStep) -> bool {
        let key = SectorKey::of(step);
        !self.queued.contains_key(&key) && !self.issued.get(&key).is_some_and(|io| io.is_requeued)
    }

    /// Takes the next event in time order. Returns an I/O that completes with it, or one whose
    /// completion is now known to be missing.
    pub fn follow(&mut self, step: &BlockStep) -> Option<IoEvent> {
        let key = SectorKey::of(step);
        match step.action {
            BlockAction::Queued => self.queue(key, step),
            BlockAction::Merged => {
                self.queued.remove(&key);
                self.note_merged(key);
            }
            BlockAction::FrontMerged => return self.merge_to_front(key, step),
            BlockAction::Split => self.split(key, step),
            BlockAction::Issued => return self.issue(key, step),
            BlockAction::Requeued => self.requeue(key),
            BlockAction::Completed | BlockAction::BioCompleted => return self.complete(key, step),
        }
        None
    }

    fn queue(&mut self, key: SectorKey, step: &BlockStep) {
        if self.queued.len() >= self.capacity {
            self.dropped_from_queue += self.queued.len() as u64;
            self.queued.clear();
        }
        self.queued.insert(key, *step);
    }

    /// Moves the beginning of a request to that of the new bio. Queue time and process remain those
    /// of the request's first bio. Returns the I/O whose sector a requeued request takes.
    fn merge_to_front(&mut self, key: SectorKey, step: &BlockStep) -> Option<IoEvent> {
        let behind = key.after(step.bytes);
        self.queued.remove(&key);
        if let Some(first) = self.queued.remove(&behind) {
            self.queued.insert(key, first);
        }
        self.note_merged(behind);
        // A requeued request waits, too, and is issued at its new beginning.
        let mut requeued = *self.issued.get(&behind).filter(|issued| issued.is_requeued)?;
        self.issued.remove(&behind);
        requeued.event.offset = requeued.event.offset.min(key.offset());
        let missed = self.give_up(key);
        self.issued.insert(key, requeued);
        missed
    }

    /// Divides a queued bio. Both parts have its queue time and process.
    fn split(&mut self, key: SectorKey, step: &BlockStep) {
        let Some(first) = self.queued.get_mut(&key).filter(|bio| step.bytes < bio.bytes) else {
            return;
        };
        let rest = BlockStep { bytes: first.bytes - step.bytes, ..*first };
        first.bytes = step.bytes;
        let behind = key.after(step.bytes);
        self.queue(behind, &rest);
    }

    /// Notes that a bio begins at this sector within a request.
    fn note_merged(&mut self, key: SectorKey) {
        if self.merged.len() >= self.capacity {
            self.merged.clear();
        }
        let SectorKey { disk, sector, op } = key;
        self.merged.insert(MergedBio { disk, op, sector });
    }

    /// Returns the number of bios merged into a request that is issued now.
    fn take_merged(&mut self, key: SectorKey, bytes: u64) -> u16 {
        if self.merged.is_empty() {
            return 0;
        }
        let bio = |sector: u64| MergedBio { disk: key.disk, op: key.op, sector };
        let begin = key.sector.saturating_add(1);
        let end = key.after(bytes).sector.max(begin);
        let count = self.merged.extract_if(bio(begin)..bio(end), |_| true).count();
        u16::try_from(count).unwrap_or(u16::MAX)
    }

    /// Starts an I/O. If the device already has one at this sector that was not requeued, the
    /// completion of that one was missed, and it is returned.
    fn issue(&mut self, key: SectorKey, step: &BlockStep) -> Option<IoEvent> {
        if self.issued.len() >= self.capacity {
            self.dropped_issues += self.issued.len() as u64;
            self.issued.clear();
            self.outstanding.clear();
        }
        let merged = self.take_merged(key, step.bytes);
        let queued = self.queued.remove(&key);
        if let Some(issued) = self.issued.get_mut(&key).filter(|issued| issued.is_requeued) {
            // Bios may have been merged into it in the meantime.
            let done = u64::from(issued.event.bytes).saturating_sub(issued.left);
            issued.event.bytes = saturating_u32(done.saturating_add(step.bytes));
            issued.event.merged = issued.event.merged.saturating_add(merged);
            issued.left = step.bytes;
            issued.is_requeued = false;
            *self.outstanding.entry(issued.event.device).or_default() += 1;
            return None;
        }
        let missed = self.give_up(key);
        let outstanding = self.outstanding.entry(step.device).or_default();
        *outstanding += 1;
        let requester = queued.as_ref().unwrap_or(step);
        let event = IoEvent {
            issued_ns: step.time_ns.saturating_sub(self.began_ns),
            queued_ns: step.time_ns.saturating_sub(requester.time_ns),
            offset: key.offset(),
            bytes: saturating_u32(step.bytes),
            depth: *outstanding,
            pid: requester.pid,
            tid: requester.tid,
            command: requester.command,
            cpu: step.cpu,
            // The submitter's flags, too: the kernel's flush machinery removes preflush and FUA
            // before the request is issued.
            flags: step.flags | requester.flags,
            device: step.device,
            op: step.op,
            merged,
            ..IoEvent::default()
        };
        self.issued.insert(key, Issued { event, left: step.bytes, is_requeued: false });
        missed
    }

    /// Removes an issued I/O whose completion was missed, because another one takes its sector.
    fn give_up(&mut self, key: SectorKey) -> Option<IoEvent> {
        let missed = self.issued.remove(&key)?;
        self.missed_completions += 1;
        self.end_outstanding(&missed);
        Some(without_response(missed.event))
    }

    /// Subtracts an I/O from those outstanding on its device.
    fn end_outstanding(&mut self, issued: &Issued) {
        if !issued.is_requeued
            && let Some(outstanding) = self.outstanding.get_mut(&issued.event.device)
        {
            *outstanding = outstanding.saturating_sub(1);
        }
    }

    fn requeue(&mut self, key: SectorKey) {
        if let Some(issued) = self.issued.get_mut(&key).filter(|issued| !issued.is_requeued) {
            issued.event.flags |= flags::REQUEUED;
            self.requeues += 1;
            let before = *issued;
            issued.is_requeued = true;
            self.end_outstanding(&before);
        }
    }

    fn complete(&mut self, key: SectorKey, step: &BlockStep) -> Option<IoEvent> {
        let Some(mut issued) = self.issued.remove(&key) else {
            return self.complete_queued(key, step);
        };
        let is_part = step.action == BlockAction::Completed
            && (1..issued.left).contains(&step.bytes)
            && !step.failed;
        if is_part {
            // The rest of the I/O begins where this part ended.
            self.partial_completions += 1;
            issued.left -= step.bytes;
            let rest = key.after(step.bytes);
            let missed = self.give_up(rest);
            self.issued.insert(rest, issued);
            return missed;
        }
        self.end_outstanding(&issued);
        let mut event = issued.event;
        let end_ns = step.time_ns.saturating_sub(self.began_ns);
        event.response_ns = end_ns.saturating_sub(event.issued_ns);
        event.flags |= if step.failed { flags::FAILED } else { 0 };
        Some(event)
    }

    /// Completes an I/O that was not issued: on a device without a request queue, it lasts from
    /// queueing to completion.
    fn complete_queued(&mut self, key: SectorKey, step: &BlockStep) -> Option<IoEvent> {
        let Some(queued) = self.has_bios.then(|| self.queued.remove(&key)).flatten() else {
            // A write that the kernel splits into flush and data completes twice, the second time
            // with 0 bytes left.
            let is_seen = step.bytes > 0 && self.closed_ns.is_none_or(|at| step.time_ns < at);
            self.completions_without_issue += u64::from(is_seen);
            return None;
        };
        if queued.bytes == 0 && step.op != IoOp::Flush {
            return None;
        }
        Some(IoEvent {
            issued_ns: queued.time_ns.saturating_sub(self.began_ns),
            response_ns: step.time_ns.saturating_sub(queued.time_ns),
            offset: key.offset(),
            bytes: saturating_u32(queued.bytes),
            pid: queued.pid,
            tid: queued.tid,
            command: queued.command,
            cpu: queued.cpu,
            flags: queued.flags | if step.failed { flags::FAILED } else { 0 },
            device: queued.device,
            op: queued.op,
            ..IoEvent::default()
        })
    }
}

fn saturating_u32(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn without_response(event: IoEvent) -> IoEvent {
    IoEvent { response_ns: RESPONSE_UNKNOWN, ..event }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(action: BlockAction, time_ns: u64, sector: u64, bytes: u64) -> BlockStep {
        BlockStep {
            action,
            time_ns,
            disk: 8 << 20 | 16,
            device: 3,
            sector,
            bytes,
            op: IoOp::Write,
            flags: flags::SYNC,
            cpu: 1,
            pid: 42,
            tid: 43,
            command: CommandName::new("dd"),
            failed: false,
        }
    }

    /// The depth at each issue is the number of I/Os that the device has.
    #[test]
    fn a_requeued_io_is_outstanding_once() {
        use BlockAction::{Completed, Issued, Requeued};
        let mut matcher = IoMatcher::new(100);
        let mut depth_of_next = |steps: &[(BlockAction, u64)]| {
            let mut time_ns = 1_000;
            for (action, sector) in steps {
                time_ns += 100;
                matcher.follow(&step(*action, time_ns, *sector, 4096));
            }
            matcher.follow(&step(Issued, 5_000, 800, 4096));
            matcher.follow(&step(Completed, 6_000, 800, 4096)).unwrap().depth
        };
        assert_eq!(depth_of_next(&[(Issued, 80)]), 2);
        // Requeued twice, and issued again.
        assert_eq!(depth_of_next(&[(Requeued, 80), (Requeued, 80)]), 1);
        assert_eq!(depth_of_next(&[(Issued, 80)]), 2);
        // The second issue at this sector is not the requeued I/O: its completion was missed.
        assert_eq!(depth_of_next(&[(Issued, 80)]), 2);
        assert_eq!(depth_of_next(&[(Completed, 80)]), 1);
        // Requeued and complete without another issue.
        assert_eq!(depth_of_next(&[(Issued, 80), (Requeued, 80), (Completed, 80)]), 1);
        assert_eq!((matcher.incomplete().unended, matcher.requeues), (1, 2));
    }

    #[test]
    fn the_rest_of_an_io_may_take_the_sector_of_a_missed_one() {
        use BlockAction::{Completed, Issued};
        let mut matcher = IoMatcher::new(100);
        matcher.follow(&step(Issued, 1_000, 88, 4096));
        matcher.follow(&step(Issued, 2_000, 80, 8192));
        let missed = matcher.follow(&step(Completed, 3_000, 80, 4096)).unwrap();
        assert_eq!((missed.issued_ns, missed.response_ns), (1_000, RESPONSE_UNKNOWN));
        let io = matcher.follow(&step(Completed, 4_000, 88, 4096)).unwrap();
        assert_eq!((io.issued_ns, io.bytes, io.response_ns), (2_000, 8_192, 2_000));
        assert_eq!((matcher.outstanding[&3], matcher.incomplete().unended), (0, 1));
    }

    /// Completions that never come take no more memory than the limit, and are counted.
    #[test]
    fn lost_completions_are_dropped_and_counted() {
        let mut matcher = IoMatcher::new(100);
        for sector in 0..250 {
            matcher.follow(&step(BlockAction::Queued, sector, 1_000 + sector, 512));
            matcher.follow(&step(BlockAction::Issued, sector, sector, 512));
        }
        let part = IncompleteIos { begun_before: 0, unended: 50, too_many: 200 };
        assert_eq!((matcher.incomplete(), matcher.outstanding[&3]), (part, 50));
        assert_eq!((matcher.queued.len(), matcher.dropped_from_queue), (50, 200));
    }

    #[test]
    fn bios_merged_into_a_request_are_counted() {
        use BlockAction::{Completed, FrontMerged, Issued, Merged, Queued};
        let mut matcher = IoMatcher::new(100);
        for (time_ns, action, sector) in [
            (1_000, Queued, 80),
            (1_100, Queued, 88),
            (1_100, Merged, 88),
            (1_200, Queued, 72),
            (1_200, FrontMerged, 72),
            (1_300, Queued, 96),
            (1_300, Merged, 96),
            // Of another request.
            (1_400, Queued, 400),
            (1_500, Queued, 408),
            (1_500, Merged, 408),
        ] {
            matcher.follow(&step(action, time_ns, sector, 4096));
        }
        let mut io = |sector, bytes| {
            matcher.follow(&step(Issued, 2_000, sector, bytes));
            let io = matcher.follow(&step(Completed, 3_000, sector, bytes)).unwrap();
            (io.merged, io.queued_ns)
        };
        assert_eq!(io(72, 4 * 4096), (3, 1_000));
        assert_eq!(io(400, 2 * 4096), (1, 600));
        assert_eq!(io(72, 4 * 4096), (0, 0));
    }

    /// Each part of a split bio is an I/O of its own with the queue time of the whole, in one
    /// request or, on a device without a request queue, none.
    #[test]
    fn each_part_of_a_split_bio_is_an_io() {
        use BlockAction::{Completed, Issued, Queued, Split};
        let parts = [(80, 4096), (88, 4096), (96, 8192)];
        for has_requests in [true, false] {
            let mut matcher = IoMatcher::new(100).with_bios();
            matcher.follow(&step(Queued, 1_000, 80, 16_384));
            matcher.follow(&step(Split, 1_100, 80, 4096));
            matcher.follow(&step(Split, 1_200, 88, 4096));
            let mut ios = Vec::new();
            for (time_ns, (sector, bytes)) in (2_000..).step_by(100).zip(parts) {
                if has_requests {
                    matcher.follow(&step(Issued, time_ns, sector, bytes));
                }
                ios.push(matcher.follow(&step(Completed, 3_000, sector, bytes)).unwrap());
            }
            let seen: Vec<_> = ios.iter().map(|io| (io.offset / SECTOR, io.bytes.into())).collect();
            assert_eq!(seen, parts);
            let begun: Vec<u64> = ios.iter().map(|io| io.issued_ns - io.queued_ns).collect();
            assert_eq!(begun, [1_000; 3]);
            assert_eq!(matcher.incomplete(), IncompleteIos::default());
        }
    }

    /// A requeued request may grow before it is issued again; what was completed of it stays.
    #[test]
    fn a_requeued_io_has_the_size_of_its_last_issue() {
        use BlockAction::{Completed, Issued, Requeued};
        let mut matcher = IoMatcher::new(100);
        matcher.follow(&step(Issued, 1_000, 80, 8192));
        matcher.follow(&step(Completed, 1_500, 80, 4096));
        matcher.follow(&step(Requeued, 1_600, 88, 4096));
        matcher.follow(&step(Issued, 1_700, 88, 12_288));
        let io = matcher.follow(&step(Completed, 3_000, 88, 12_288)).unwrap();
        assert_eq!((io.offset, io.bytes, io.issued_ns), (80 * SECTOR, 16_384, 1_000));
    }

    /// A requeued request that grows to the front is one I/O from its new beginning.
    #[test]
    fn a_requeued_io_may_grow_to_the_front() {
        use BlockAction::{Completed, FrontMerged, Issued, Queued, Requeued};
        let mut matcher = IoMatcher::new(100);
        for (time_ns, action, sector, bytes) in [
            (900, Queued, 80, 4096),
            (1_000, Issued, 80, 4096),
            (1_100, Requeued, 80, 4096),
            // The completion of this one is missed.
            (1_200, Issued, 72, 4096),
            (1_300, Queued, 72, 4096),
        ] {
            assert_eq!(matcher.follow(&step(action, time_ns, sector, bytes)), None);
        }
        let missed = matcher.follow(&step(FrontMerged, 1_300, 72, 4096)).unwrap();
        assert_eq!((missed.issued_ns, missed.response_ns), (1_200, RESPONSE_UNKNOWN));
        assert_eq!(matcher.follow(&step(Issued, 1_400, 72, 8192)), None);
        let io = matcher.follow(&step(Completed, 3_000, 72, 8192)).unwrap();
        assert_eq!((io.offset, io.bytes, io.merged), (72 * SECTOR, 8192, 1));
        assert_eq!((io.issued_ns, io.queued_ns, io.response_ns), (1_000, 100, 2_000));
        assert_eq!(io.flags & flags::REQUEUED, flags::REQUEUED);
        assert_eq!((matcher.incomplete().unended, matcher.outstanding[&3]), (1, 0));
        assert_eq!(matcher.outstanding_ios(), []);
        // A waiting request of which the device has nothing moves alone.
        matcher.follow(&step(Issued, 4_000, 88, 4096));
        assert_eq!(matcher.follow(&step(FrontMerged, 4_100, 80, 4096)), None);
        assert_eq!(matcher.follow(&step(Completed, 4_200, 88, 4096)).unwrap().bytes, 4096);
    }

    /// A completion is that of an issued I/O, or of a bio where there are such.
    #[test]
    fn a_queued_io_completes_only_as_a_bio() {
        let queued = step(BlockAction::Queued, 1_000, 80, 4096);
        let completed = step(BlockAction::Completed, 3_000, 80, 4096);
        let mut requests = IoMatcher::new(100);
        requests.follow(&queued);
        assert_eq!((requests.follow(&completed), requests.incomplete().begun_before), (None, 1));
        requests.follow(&step(BlockAction::Issued, 4_000, 80, 4096));
        let io = requests.follow(&step(BlockAction::Completed, 4_500, 80, 4096)).unwrap();
        assert_eq!((io.queued_ns, io.response_ns), (3_000, 500));
        let mut bios = IoMatcher::new(100).with_bios();
        bios.follow(&queued);
        let io = bios.follow(&completed).unwrap();
        assert_eq!((io.issued_ns, io.response_ns, io.device), (1_000, 2_000, 3));
    }
}
