//! Writes that wait for their flush.
//!
//! The flush that follows N writes begins when all of them are written. With N = 1 each slot of a
//! thread flushes by itself; with more, a thread's writes form one group, and after issuing the N-th
//! of them the thread issues nothing more until the flush has completed.

use steadfast_domain::IoStream;
use steadfast_domain::stimulus::flush_every;

/// A write that is not durable until the following flush completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UncommittedWrite {
    pub stream: u32,
    pub size: u32,
    /// Bytes by which it is shorter than its stream's transfer size.
    pub short_by: u32,
    /// Start of its response time.
    pub began: u64,
}

/// The writes of one thread, grouped by the flush that commits them.
#[derive(Debug)]
pub struct CommitGroups {
    every: u32,
    /// Index of the flushes in the account; the next index counts the writes alone.
    pub flush_stream: u32,
    groups: Box<[CommitGroup]>,
}

#[derive(Debug, Clone)]
struct CommitGroup {
    /// Writes issued since the last flush.
    issued: u32,
    written: Vec<UncommittedWrite>,
    /// Start time of the outstanding flush; `None` if there is none.
    flush_began: Option<u64>,
}

impl CommitGroups {
    /// Creates the groups of a thread with `depth` slots; `None` if no flush follows its writes.
    pub fn new(streams: &[IoStream], depth: u32) -> Option<CommitGroups> {
        let every = flush_every(streams)?.get();
        let group = CommitGroup { issued: 0, written: Vec::new(), flush_began: None };
        let count = if every == 1 { depth as usize } else { 1 };
        let mut groups = vec![group; count];
        // Reserved now, so that no I/O waits for memory.
        for group in &mut groups {
            group.written.reserve(every.min(1 << 16) as usize);
        }
        Some(CommitGroups { every, flush_stream: streams.len() as u32, groups: groups.into() })
    }

    fn index(&self, slot: u32) -> usize {
        (slot as usize).min(self.groups.len() - 1)
    }

    fn group(&mut self, slot: u32) -> &mut CommitGroup {
        let index = self.index(slot);
        &mut self.groups[index]
    }

    /// Returns the index of the writes without their flush in the account.
    pub fn write_only_stream(&self) -> u32 {
        self.flush_stream + 1
    }

    /// Returns true if a slot may issue another I/O before the next flush.
    pub fn may_issue(&self, slot: u32) -> bool {
        let group = &self.groups[self.index(slot)];
        group.issued < self.every && group.flush_began.is_none()
    }

    /// Notes that a slot has issued a write.
    pub fn note_issue(&mut self, slot: u32) {
        self.group(slot).issued += 1;
    }

    /// Notes that the write of a slot failed: another takes its place before the flush.
    pub fn note_failure(&mut self, slot: u32) {
        let group = self.group(slot);
        group.issued = group.issued.saturating_sub(1);
    }

    /// Notes that the write of a slot has completed. Returns true if the slot must flush now.
    pub fn note_completion(&mut self, slot: u32, write: UncommittedWrite) -> bool {
        let every = self.every as usize;
        let group = self.group(slot);
        group.written.push(write);
        group.written.len() >= every
    }

    /// Returns true if completed writes of a slot's group wait for a flush. Asked only when no more writes
    /// will follow.
    pub fn needs_final_flush(&self, slot: u32) -> bool {
        let group = &self.groups[self.index(slot)];
        !group.written.is_empty() && group.flush_began.is_none()
    }

    /// Notes that the flush of a slot's group begins.
    pub fn begin_flush(&mut self, slot: u32, now: u64) {
        self.group(slot).flush_began = Some(now);
    }

    /// Notes that the flush of a slot's group has completed. Returns its start time.
    pub fn end_flush(&mut self, slot: u32) -> u64 {
        let group = self.group(slot);
        group.issued = 0;
        group.flush_began.take().unwrap_or_default()
    }

    /// Takes the completed writes of a slot's group.
    pub fn take_writes(&mut self, slot: u32) -> impl Iterator<Item = UncommittedWrite> + use<'_> {
        self.group(slot).written.drain(..)
    }

    /// Takes the completed writes of all groups.
    pub fn take_all_writes(&mut self) -> impl Iterator<Item = UncommittedWrite> {
        self.groups.iter_mut().flat_map(|group| group.written.drain(..))
    }
}
