//! Plain system calls by several threads, for a script on a host without a better interface: one
//! thread plays, and these carry the I/Os. An I/O counts as submitted when it is passed to them.

use super::blocking::perform;
use super::queue::{Completion, Queue, QueueTarget, Request, SubmitWait, WAIT_MAX};
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// State shared by the playing thread and those that carry I/Os.
#[derive(Debug)]
struct Pool {
    file: RawFd,
    is_block_device: bool,
    pending: Mutex<PendingRequests>,
    request_added: Condvar,
    completions: Mutex<Vec<Completion>>,
    completion_added: Condvar,
}

#[derive(Debug, Default)]
struct PendingRequests {
    requests: VecDeque<QueuedRequest>,
    closed: bool,
}

/// A request on its way to another thread.
#[derive(Debug)]
struct QueuedRequest(Request);

// SAFETY: a request's buffer belongs to its slot, which is not touched before the I/O has
// completed, and outlives the pool.
unsafe impl Send for QueuedRequest {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn carry(&self) {
        while let Some(request) = self.next() {
            let result = perform(self.file, self.is_block_device, &request);
            lock(&self.completions).push(Completion { slot: request.slot, result });
            self.completion_added.notify_one();
        }
    }

    fn next(&self) -> Option<Request> {
        let mut pending = lock(&self.pending);
        loop {
            if let Some(QueuedRequest(request)) = pending.requests.pop_front() {
                return Some(request);
            }
            if pending.closed {
                return None;
            }
            pending = self.request_added.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Queue whose I/Os are carried by a pool of threads, one I/O each.
pub(super) struct PoolQueue {
    pool: Arc<Pool>,
    threads: Vec<JoinHandle<()>>,
    batch: Vec<Request>,
    seen: Vec<Completion>,
    delivered: usize,
}

impl PoolQueue {
    /// Starts one thread per outstanding I/O. The target's file stays open until they have ended.
    pub(super) fn new(target: &QueueTarget) -> io::Result<PoolQueue> {
        let depth = target.depth as usize;
        let pool = Arc::new(Pool {
            file: target.fd(),
            is_block_device: target.is_block_device,
            pending: Mutex::default(),
            request_added: Condvar::new(),
            completions: Mutex::new(Vec::with_capacity(depth)),
            completion_added: Condvar::new(),
        });
        let (batch, seen) = (Vec::with_capacity(depth), Vec::with_capacity(depth));
        let mut queue = PoolQueue { pool, threads: Vec::new(), batch, seen, delivered: 0 };
        for _ in 0..depth {
            let pool = Arc::clone(&queue.pool);
            let thread = thread::Builder::new().name("carry".to_owned());
            queue.threads.push(thread.spawn(move || pool.carry())?);
        }
        Ok(queue)
    }
}

impl Queue for PoolQueue {
    fn push(&mut self, request: Request) {
        self.batch.push(request);
    }

    fn submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
        if !self.batch.is_empty() {
            lock(&self.pool.pending).requests.extend(self.batch.drain(..).map(QueuedRequest));
            self.pool.request_added.notify_all();
        }
        self.seen.clear();
        self.delivered = 0;
        let mut completions = lock(&self.pool.completions);
        let time = match wait {
            SubmitWait::NoWait => Duration::ZERO,
            SubmitWait::Completion => WAIT_MAX,
            SubmitWait::AtMost(nanos) => Duration::from_nanos(nanos).min(WAIT_MAX),
        };
        if completions.is_empty() && !time.is_zero() {
            let waited = self.pool.completion_added.wait_timeout(completions, time);
            completions = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut *completions, &mut self.seen);
        Ok(())
    }

    fn poll(&mut self) -> usize {
        self.seen.len() - self.delivered
    }

    fn next(&mut self) -> Option<Completion> {
        let completion = self.seen.get(self.delivered).copied()?;
        self.delivered += 1;
        Some(completion)
    }
}

impl Drop for PoolQueue {
    fn drop(&mut self) {
        lock(&self.pool.pending).closed = true;
        self.pool.request_added.notify_all();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
