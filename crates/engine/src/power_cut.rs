//! Writes the blocks of a power-cut trial on a real device until it fails, and reads them back.

use crate::stop::StopSignal;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use steadfast_domain::power_cut::{Acknowledgment, FoundBlock, WritePlan, stamp_block};
use steadfast_domain::{DirectBuffer, Halt, Nanos, Transport};
use steadfast_host::Target;

/// Time that outstanding I/Os may take once the writes must end, before the user learns that the
/// program waits for them.
const HANG_LIMIT: Duration = Duration::from_secs(10);

/// Interval between checks of the clock, the writers and the stop signal.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Number of threads that read back.
const READERS: usize = 8;

/// End of the writes of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WritesEnd {
    /// A medium failed an I/O, with the kernel's message: the device itself answers.
    MediumError(String),
    /// The device failed an I/O, with the kernel's message.
    Failed {
        /// Message of the kernel.
        why: String,
        /// True if the scheduled time of the cut had passed.
        was_due: bool,
    },
    /// No I/O failed within the trial's time limit.
    NoFailure,
}

/// A log of acknowledged flushes.
pub trait AcknowledgmentLog: Send {
    /// Appends a flush that returned.
    ///
    /// # Errors
    /// The log cannot be written.
    fn append(&mut self, flush: Acknowledgment) -> io::Result<()>;
}

/// Callbacks of [`write_until_failure`] while the writers run.
pub trait CutWatch {
    /// Cuts the power. Called once, at the scheduled time.
    ///
    /// # Errors
    /// The power could not be cut.
    fn cut(&mut self) -> Result<(), Halt>;
    /// Reports that the program waits for I/Os that the kernel neither completes nor fails.
    fn hangs(&mut self);
}

/// State shared by the threads of a trial.
struct WriterState<'a> {
    plan: &'a WritePlan,
    file: &'a File,
    began: Instant,
    /// Set if the writers must end after the batch in progress.
    ends: AtomicBool,
    /// Copy of `ends` that only changes between the two barriers, so that all threads see the same.
    is_last: AtomicBool,
    /// The first failure of the device.
    failure: Mutex<Option<io::Error>>,
    /// The first failure of the log.
    log_failure: Mutex<Option<io::Error>>,
    barrier: Barrier,
}

impl WriterState<'_> {
    fn fail(&self, failure: &Mutex<Option<io::Error>>, error: io::Error) {
        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.ends.store(true, Ordering::Release);
    }

    /// Writes every `threads`-th block of each batch, from the one numbered `thread`. The first
    /// thread flushes after the batch and acknowledges it.
    fn write(&self, thread: usize, threads: usize, mut log: Option<&mut dyn AcknowledgmentLog>) {
        let mut content = DirectBuffer::new(self.plan.trial.block.0 as usize);
        for batch in 0.. {
            for sequence in self.plan.batch(batch).skip(thread).step_by(threads) {
                stamp_block(self.plan, sequence, &mut content);
                let offset = self.plan.offset(self.plan.block_of(sequence));
                if let Err(error) = self.file.write_all_at(&content, offset) {
                    self.fail(&self.failure, error);
                    break;
                }
            }
            self.barrier.wait();
            if let Some(log) = &mut log {
                self.flush(*self.plan.batch(batch).end(), *log);
                self.is_last.store(self.has_ended(), Ordering::Release);
            }
            self.barrier.wait();
            if self.is_last.load(Ordering::Acquire) {
                return;
            }
        }
    }

    fn flush(&self, sequence: u64, log: &mut dyn AcknowledgmentLog) {
        // A write of this batch failed, so the flush would not cover it.
        if self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return;
        }
        if let Err(error) = self.file.sync_data() {
            return self.fail(&self.failure, error);
        }
        let at = Nanos(self.began.elapsed().as_nanos() as u64);
        if let Err(error) = log.append(Acknowledgment { sequence, at }) {
            self.fail(&self.log_failure, error);
        }
    }

    fn has_ended(&self) -> bool {
        self.ends.load(Ordering::Acquire)
    }
}

/// Writes the batches of a trial, each followed by a flush and its acknowledgment, until the device
/// fails.
///
/// If the program is to stop while the device hangs, the I/Os that then fail are those of the cut.
///
/// # Errors
/// Returns [`Halt::Stopped`] on request, [`Halt::Refused`] if the log cannot be written, and the
/// error of [`CutWatch::cut`].
pub fn write_until_failure(
    target: &Target,
    plan: &WritePlan,
    stop: &StopSignal,
    log: &mut dyn AcknowledgmentLog,
    watch: &mut dyn CutWatch,
) -> Result<WritesEnd, Halt> {
    let file = handle(target)?;
    let threads = plan.trial.flush_every as usize;
    let state = WriterState {
        plan,
        file: &file,
        began: Instant::now(),
        ends: AtomicBool::new(false),
        is_last: AtomicBool::new(false),
        failure: Mutex::new(None),
        log_failure: Mutex::new(None),
        barrier: Barrier::new(threads),
    };
    let mut log = Some(log);
    let (was_due, waited) = std::thread::scope(|scope| {
        let mut writers = Vec::new();
        for thread in 0..threads {
            let (state, log) = (&state, log.take());
            writers.push(scope.spawn(move || state.write(thread, threads, log)));
        }
        let mut was_due = false;
        let waited = await_failure(&state, stop, &mut was_due, watch);
        state.ends.store(true, Ordering::Release);
        let ending_since = Instant::now();
        while !writers.iter().all(ScopedJoinHandle::is_finished) {
            if ending_since.elapsed() >= HANG_LIMIT {
                watch.hangs();
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        (was_due, waited)
    });
    let failed = |failure: Mutex<Option<io::Error>>| {
        failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    };
    if let Some(error) = failed(state.log_failure) {
        return Err(Halt::Refused(format!(
            "the log of acknowledged writes cannot be written: {error}; nothing was judged"
        )));
    }
    match failed(state.failure) {
        Some(error) if is_full_file(target, &error) => Err(Halt::Refused(format!(
            "{}: {error}; this is no power cut: make room for the whole file",
            target.device().path
        ))),
        Some(error) if may_be_medium_error(&error) && answers(&file, plan) => {
            waited?;
            Ok(WritesEnd::MediumError(error.to_string()))
        }
        // The command cut the power, even if it reported a failure.
        Some(error) => Ok(WritesEnd::Failed { why: error.to_string(), was_due }),
        None => waited.map(|()| WritesEnd::NoFailure),
    }
}

/// Returns true for the errors with which the kernel reports a defect of the medium, or a thin
/// volume that is full. A device without power may fail with EIO or ENOSPC, too.
fn may_be_medium_error(error: &io::Error) -> bool {
    let medium = [libc::EIO, libc::EREMOTEIO, libc::ENODATA, libc::EILSEQ, libc::ENOSPC];
    error.raw_os_error().is_some_and(|errno| medium.contains(&errno))
}

/// Returns true if the device answers a read of the first, the middle or the last block: one of
/// them may be the defective one.
fn answers(file: &File, plan: &WritePlan) -> bool {
    let mut content = DirectBuffer::new(plan.trial.block.0 as usize);
    let last = plan.trial.blocks - 1;
    let mut reads = [0, last / 2, last].into_iter();
    reads.any(|block| file.read_exact_at(&mut content, plan.offset(block)).is_ok())
}

/// Returns true if the file system of a file had no room for a write. A block device that is gone
/// fails with the same errors.
fn is_full_file(target: &Target, error: &io::Error) -> bool {
    let is_full = matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG));
    is_full && target.device().transport == Transport::File
}

/// Waits until the scheduled time, cuts the power, and waits for the first failure. Sets `was_due`
/// once the scheduled time has passed.
fn await_failure(
    state: &WriterState<'_>,
    stop: &StopSignal,
    was_due: &mut bool,
    watch: &mut dyn CutWatch,
) -> Result<(), Halt> {
    let due = state.plan.trial.cut_after.to_duration();
    let end = due + state.plan.trial.cut_limit.to_duration();
    while !state.has_ended() && state.began.elapsed() < end {
        if stop.is_requested() {
            return Err(Halt::Stopped);
        }
        if !*was_due && state.began.elapsed() >= due {
            *was_due = true;
            watch.cut()?;
            continue;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Reads all blocks of a trial.
///
/// # Errors
/// Returns [`Halt::DeviceGone`] if no block can be read, and [`Halt::Stopped`] on request.
pub fn read_blocks(
    target: &Target,
    plan: &WritePlan,
    stop: &StopSignal,
) -> Result<Vec<FoundBlock>, Halt> {
    let file = handle(target)?;
    let mut found = vec![FoundBlock::default(); plan.trial.blocks as usize];
    let part = found.len().div_ceil(READERS).max(1);
    let last_error = Mutex::new(None);
    std::thread::scope(|scope| {
        for (number, found) in found.chunks_mut(part).enumerate() {
            let (file, last_error) = (&file, &last_error);
            scope.spawn(move || {
                let mut content = DirectBuffer::new(plan.trial.block.0 as usize);
                for (block, found) in ((number * part) as u64..).zip(found) {
                    if stop.is_requested() {
                        return;
                    }
                    *found = match file.read_exact_at(&mut content, plan.offset(block)) {
                        Ok(()) => FoundBlock::from_bytes(plan, block, &content),
                        Err(error) => {
                            *last_error.lock().unwrap_or_else(PoisonError::into_inner) =
                                Some(error);
                            FoundBlock::unreadable()
                        }
                    };
                }
            });
        }
    });
    if stop.is_requested() {
        return Err(Halt::Stopped);
    }
    let last_error = last_error.into_inner().unwrap_or_else(PoisonError::into_inner);
    match last_error.filter(|_| found.iter().all(|block| *block == FoundBlock::unreadable())) {
        Some(error) => {
            let device = target.device().path.clone();
            Err(Halt::DeviceGone { device, why: format!("no block can be read: {error}") })
        }
        None => Ok(found),
    }
}

fn handle(target: &Target) -> Result<File, Halt> {
    let duplicate = target.fd().try_clone_to_owned();
    duplicate.map(File::from).map_err(|error| {
        let path = &target.device().path;
        Halt::Refused(format!("{path}: cannot duplicate its file descriptor: {error}"))
    })
}
