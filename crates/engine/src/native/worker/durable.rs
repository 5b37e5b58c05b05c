//! Writes that a flush follows: they count once it has made them durable.

use super::super::queue::{Completion, Queue};
use super::super::thread_ios::{IoSlot, Reap};
use super::Worker;
use crate::commits::UncommittedWrite;
use steadfast_domain::Op;

impl<Q: Queue> Worker<'_, Q> {
    /// Counts a write that a flush follows, or that flush with the writes that it commits.
    pub(super) fn complete_durable(&mut self, completion: Completion, reap: &mut Reap<'_>) {
        let Completion { slot, result } = completion;
        let io = self.ios.slots[slot as usize];
        let succeeded = io.succeeded(result);
        if !succeeded {
            self.ios.note_fault(completion, reap);
        }
        if io.op == Op::Flush {
            self.commit(slot, succeeded, reap);
        } else {
            if self.verifier.is_some() {
                self.verify(completion);
            }
            if self.note_written(slot, &io, succeeded, reap) {
                return self.flush(slot, reap.now);
            }
        }
        self.refill(slot, reap.now);
        // A flush also opens the slots that waited for it.
        while self.schedule.is_none()
            && !self.ios.is_closing
            && let Some(slot) = self.take_open_slot()
        {
            self.issue(slot, None);
        }
        if self.ios.is_closing && self.ios.count == 0 {
            self.start_final_flush(reap.now);
        }
    }

    /// Counts the time of a write alone. Returns true if its slot has to flush at once.
    fn note_written(
        &mut self,
        slot: u32,
        io: &IoSlot,
        succeeded: bool,
        reap: &mut Reap<'_>,
    ) -> bool {
        let Some(commits) = &mut self.commits else { return false };
        if !succeeded {
            commits.note_failure(slot);
            return false;
        }
        let IoSlot { stream, size, short_by, began, .. } = *io;
        let response_ns = self.ios.response_ns(began, reap.now);
        if reap.before_end {
            reap.account.count_sized(commits.write_only_stream(), response_ns, size.into());
            if self.schedule.is_some() {
                reap.account.count_start_error(self.ios.clock.nanos(io.start_error));
            }
        } else if !self.ios.lane.has_given_up() {
            reap.account.count_outstanding(commits.write_only_stream(), response_ns);
        }
        commits.note_completion(slot, UncommittedWrite { stream, size, short_by, began })
    }

    /// Counts a completed flush and the writes that it made durable. Without a flush that
    /// succeeded no write is durable.
    fn commit(&mut self, slot: u32, succeeded: bool, reap: &mut Reap<'_>) {
        let Some(commits) = &mut self.commits else { return };
        let flush_stream = commits.flush_stream;
        let flush_began = commits.end_flush(slot);
        let writes = commits.take_writes(slot);
        if !succeeded {
            writes.for_each(drop);
            return;
        }
        let response_ns = self.ios.response_ns(flush_began, reap.now);
        if reap.before_end {
            reap.account.count(flush_stream, response_ns);
        } else {
            self.ios.lane.count_late(Op::Flush, 0);
            // A flush that began after the end was not outstanding at it.
            if flush_began < self.ios.shared.deadline() && !self.ios.lane.has_given_up() {
                reap.account.count_outstanding(flush_stream, response_ns);
            }
        }
        for UncommittedWrite { stream, size, short_by, began } in writes {
            let write = IoSlot { op: Op::Write, stream, size, short_by, began, ..IoSlot::FLUSH };
            self.ios.count_transfer(&write, reap);
        }
    }

    fn flush(&mut self, slot: u32, now: u64) {
        if let Some(commits) = &mut self.commits {
            commits.begin_flush(slot, now);
        }
        self.ios.push(slot, IoSlot { began: now, ..IoSlot::FLUSH });
    }

    /// Flushes the writes that no later flush would cover. Returns true if there are any.
    pub(super) fn start_final_flush(&mut self, now: u64) -> bool {
        let Some(commits) = &self.commits else { return false };
        let Some(slot) = self.ios.vacant.pop_if(|slot| commits.needs_final_flush(*slot)) else {
            return false;
        };
        self.flush(slot, now);
        true
    }
}
