//! Linux AIO (`io_submit`), for hosts where io_uring is disabled.

use super::queue::{
    Completion, Queue, QueueTarget, Request, SubmitWait, WAIT_MAX, last_errno, timespec,
};
use std::io;
use std::time::Duration;
use steadfast_domain::Op;

const COMMAND_READ: u16 = 0;
const COMMAND_WRITE: u16 = 1;
const COMMAND_DATA_SYNC: u16 = 3;

/// Number of attempts to create a context, and the pause between them.
const SETUP_TRIES: u32 = 20;
const SETUP_PAUSE: Duration = Duration::from_millis(10);

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct AioEvent {
    tag: u64,
    control_block: u64,
    result: i64,
    result2: i64,
}

/// An AIO context with a control block for every slot.
pub(super) struct AioQueue {
    context: libc::c_ulong,
    fd: i32,
    control_blocks: Box<[libc::iocb]>,
    batch: Vec<*mut libc::iocb>,
    events: Box<[AioEvent]>,
    seen: usize,
    delivered: usize,
}

impl AioQueue {
    pub(super) fn new(target: &QueueTarget) -> io::Result<AioQueue> {
        let depth = target.depth as usize;
        let context = context(target.depth)?;
        // SAFETY: all-zero is a valid control block.
        let blank: libc::iocb = unsafe { std::mem::zeroed() };
        Ok(AioQueue {
            context,
            fd: target.fd(),
            control_blocks: vec![blank; depth].into(),
            batch: Vec::with_capacity(depth),
            events: vec![AioEvent::default(); depth].into(),
            seen: 0,
            delivered: 0,
        })
    }

    fn submit_batch(&mut self) -> Result<(), i32> {
        let mut begun = 0;
        while begun < self.batch.len() {
            let rest = &mut self.batch[begun..];
            // SAFETY: every pointer refers to a slot's control block, which is not touched again
            // before its I/O has completed.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, rest.len(), rest.as_mut_ptr())
            };
            match taken {
                0 => break,
                n if n > 0 => begun += n as usize,
                _ => match last_errno() {
                    libc::EINTR => {}
                    libc::EAGAIN => break,
                    error => {
                        self.fail_first(begun, error);
                        begun += 1;
                    }
                },
            }
        }
        self.batch.drain(..begun);
        Ok(())
    }

    /// Completes an I/O that the kernel refused to take with its error.
    fn fail_first(&mut self, begun: usize, error: i32) {
        // SAFETY: the pointer refers to a control block of this queue.
        let tag = unsafe { (*self.batch[begun]).aio_data };
        self.events[self.seen] = AioEvent { tag, result: -i64::from(error), ..AioEvent::default() };
        self.seen += 1;
    }

    fn collect(&mut self, wait: SubmitWait) -> Result<(), i32> {
        let nanos_max = WAIT_MAX.as_nanos() as u64;
        let (events_min, nanos) = match wait {
            _ if self.seen > 0 => (0, 0),
            SubmitWait::NoWait => (0, 0),
            SubmitWait::Completion => (1, nanos_max),
            SubmitWait::AtMost(nanos) => (1, nanos.min(nanos_max)),
        };
        let mut time = timespec(nanos);
        let room = &mut self.events[self.seen..];
        if room.is_empty() {
            return Ok(());
        }
        // SAFETY: there is room for that many events, and `time` is valid.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                events_min as libc::c_long,
                room.len() as libc::c_long,
                room.as_mut_ptr(),
                &raw mut time,
            )
        };
        match count {
            n if n >= 0 => self.seen += n as usize,
            _ if last_errno() == libc::EINTR => {}
            _ => return Err(last_errno()),
        }
        Ok(())
    }
}

impl Queue for AioQueue {
    fn push(&mut self, request: Request) {
        let block = &mut self.control_blocks[request.slot as usize];
        // SAFETY: all-zero is a valid control block.
        *block = unsafe { std::mem::zeroed() };
        block.aio_data = u64::from(request.slot);
        block.aio_fildes = self.fd as u32;
        block.aio_lio_opcode = match request.op {
            Op::Read => COMMAND_READ,
            Op::Write => COMMAND_WRITE,
            // Discards never reach this queue: a load with discards runs on plain threads.
            Op::Discard | Op::Flush => COMMAND_DATA_SYNC,
        };
        if request.op != Op::Flush {
            block.aio_buf = request.buffer as u64;
            block.aio_nbytes = u64::from(request.size);
            block.aio_offset = request.offset as i64;
            block.aio_rw_flags = if request.fua { libc::RWF_DSYNC } else { 0 };
        }
        let pointer: *mut libc::iocb = block;
        self.batch.push(pointer);
    }

    fn submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
        self.seen = 0;
        self.delivered = 0;
        self.submit_batch()?;
        self.collect(wait)
    }

    fn poll(&mut self) -> usize {
        self.seen - self.delivered
    }

    fn next(&mut self) -> Option<Completion> {
        let event = self.events[..self.seen].get(self.delivered)?;
        self.delivered += 1;
        Some(Completion { slot: event.tag as u32, result: event.result as i32 })
    }
}

impl Drop for AioQueue {
    /// Destroys the context on a thread of its own: the call waits for the context's I/Os and
    /// then about 30 ms for a grace period of the kernel, which the step does not have to wait
    /// for.
    fn drop(&mut self) {
        let context = self.context;
        let destroy = move || {
            // SAFETY: the context belonged to this queue alone, which no longer uses it.
            unsafe { libc::syscall(libc::SYS_io_destroy, context) };
        };
        let thread = std::thread::Builder::new().name("io-destroy".to_owned());
        // If no thread can be created, the context ends with the process.
        drop(thread.spawn(destroy));
    }
}

/// Creates a context. The system limits their number (fs.aio-max-nr), and those of the previous
/// step may still be going away.
fn context(depth: u32) -> io::Result<libc::c_ulong> {
    let mut tries = 0;
    loop {
        let mut context: libc::c_ulong = 0;
        // SAFETY: `context` is zero, as the call requires, and valid to write to.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
        if made >= 0 {
            return Ok(context);
        }
        tries += 1;
        if last_errno() != libc::EAGAIN || tries == SETUP_TRIES {
            return Err(io::Error::last_os_error());
        }
        std::thread::sleep(SETUP_PAUSE);
    }
}
