//! Decoding of a script ahead of its playing, on a thread of its own.
//!
//! Batches go through a channel of fixed length and come back to be refilled, so that a script of
//! any length takes the same memory, and the playing thread neither decodes nor allocates.

use crate::play::{BATCH, FeedResult, ScriptFeed, ScriptReader};
use crate::stop::StopSignal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use steadfast_domain::{DueIo, Halt, ScriptError};

/// Maximum number of batches that wait to be played.
pub(super) const BATCHES_MAX: usize = 256;

/// Number of batches that must wait before playing begins, if the script has that many.
const PRIMING_BATCHES: usize = 8;

/// Interval between checks for a stop during a wait.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Longest wait for a slow reader before playing begins.
const PRIMING_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes of all batches: waiting, being played, being filled, and on their way back.
const BATCHES_BYTES: usize = (2 * BATCHES_MAX + 4) * BATCH * size_of::<DueIo>();

const _: () =
    assert!(BATCHES_BYTES <= 300 << 20, "a script takes at most 300 MB, however long it is");

/// A batch, or why there is none.
type PrefetchResult = Result<Vec<DueIo>, Box<ScriptError>>;

/// The decoded script on the side of the playing thread.
#[derive(Debug)]
pub(super) struct Prefetcher {
    filled: Receiver<PrefetchResult>,
    /// Returns emptied batches to the reader.
    emptied: SyncSender<Vec<DueIo>>,
    batch: Vec<DueIo>,
    /// Index of the next I/O in the batch.
    next: usize,
    is_over: bool,
}

impl Prefetcher {
    /// Starts to read at position `from` of the script, and waits until enough is decoded to
    /// begin.
    pub(super) fn begin(
        reader: ScriptReader,
        from: u64,
        stop: &StopSignal,
    ) -> Result<Prefetcher, Halt> {
        let (filled, batches) = sync_channel(BATCHES_MAX);
        let (emptied, empty) = sync_channel(BATCHES_MAX);
        let (ready, readiness) = sync_channel(2);
        let name = reader.load.name.clone();
        let read = move || read(reader, from, &filled, &empty, &ready);
        thread::Builder::new().name("script".to_owned()).spawn(read).map_err(|error| {
            Halt::Refused(format!("script '{name}': cannot create a thread to read it: {error}"))
        })?;
        // Passing over I/Os that were played before may take long, but ends.
        await_signal(&readiness, Duration::MAX, stop)?;
        await_signal(&readiness, PRIMING_TIMEOUT, stop)?;
        Ok(Prefetcher { filled: batches, emptied, batch: Vec::new(), next: 0, is_over: false })
    }

    #[cold]
    fn next_batch(&mut self) -> Option<FeedResult> {
        if self.is_over {
            return Some(FeedResult::Over);
        }
        match self.filled.try_recv() {
            Ok(Ok(batch)) => {
                let emptied = std::mem::replace(&mut self.batch, batch);
                self.next = 0;
                // A reader that has ended does not take it back.
                let _ = self.emptied.try_send(emptied);
                None
            }
            Ok(Err(error)) => {
                self.is_over = true;
                Some(FeedResult::Failed(error))
            }
            Err(TryRecvError::Empty) => Some(FeedResult::Starved),
            Err(TryRecvError::Disconnected) => {
                self.is_over = true;
                Some(FeedResult::Over)
            }
        }
    }
}

impl ScriptFeed for Prefetcher {
    #[inline]
    fn next(&mut self) -> FeedResult {
        loop {
            if let Some(io) = self.batch.get(self.next) {
                self.next += 1;
                return FeedResult::Io(*io);
            }
            if let Some(result) = self.next_batch() {
                return result;
            }
        }
    }
}

/// Waits for a signal of the reading thread, at most `timeout`; a thread that ends early hangs up.
fn await_signal(signals: &Receiver<()>, timeout: Duration, stop: &StopSignal) -> Result<(), Halt> {
    let begun = Instant::now();
    while let Err(RecvTimeoutError::Timeout) = signals.recv_timeout(POLL_INTERVAL) {
        if stop.is_requested() {
            return Err(Halt::Stopped);
        }
        if begun.elapsed() >= timeout {
            break;
        }
    }
    Ok(())
}

/// Fills batches until the script ends, fails, or the playing thread is gone.
fn read(
    mut reader: ScriptReader,
    from: u64,
    filled: &SyncSender<PrefetchResult>,
    empty: &Receiver<Vec<DueIo>>,
    ready: &SyncSender<()>,
) {
    let mut batch = ScriptReader::batch();
    let mut sent = 0;
    let mut more = reader.pass_over(from, &mut batch).map(|()| !batch.is_empty());
    let _ = ready.try_send(());
    loop {
        let message = match more {
            Ok(true) => Ok(std::mem::take(&mut batch)),
            // Passing over may have ended exactly at the end of a batch.
            Ok(false) if sent == 0 => Ok(Vec::new()),
            Ok(false) => return,
            Err(error) => Err(Box::new(error)),
        };
        let failed = message.is_err();
        if filled.send(message).is_err() || failed {
            return;
        }
        sent += 1;
        if sent == PRIMING_BATCHES {
            let _ = ready.try_send(());
        }
        batch = empty
            .try_recv()
            .ok()
            .filter(|batch| batch.capacity() > 0)
            .unwrap_or_else(ScriptReader::batch);
        more = reader.fill(&mut batch);
    }
}
