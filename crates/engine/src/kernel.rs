//! Kernel resources for engines that drive a real target: the interface that carries its I/Os,
//! which [`crate::native`] uses itself and [`crate::fio`] has fio use, and memory.

use io_uring::{Builder, IoUring};
use serde::{Deserialize, Serialize};
use std::os::fd::AsRawFd;
use std::{fmt, io};
use steadfast_domain::DirectBuffer;
use steadfast_host::Target;

/// Kernel interface that carries the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backend {
    /// io_uring.
    Uring,
    /// Linux AIO, `io_submit`.
    Aio,
    /// `pread` and `pwrite`, with one thread per outstanding I/O.
    Threads,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Uring => "io_uring",
            Backend::Aio => "Linux AIO",
            Backend::Threads => "a thread per I/O",
        })
    }
}

/// All interfaces, best first.
const BACKENDS: [Backend; 3] = [Backend::Uring, Backend::Aio, Backend::Threads];

/// Note for a target that does not support `NOWAIT` I/O.
const URING_AVOIDED: &str =
    " (io_uring would pass every I/O of this target through a kernel thread)";

/// One way to set up a ring.
struct RingSetup {
    name: &'static str,
    apply: fn(&mut Builder) -> &mut Builder,
}

/// Ways to set up a ring, best first; older kernels refuse the first ones with `EINVAL`.
const SETUPS: [RingSetup; 5] = [
    RingSetup {
        name: "single issuer, deferred task work, no index array",
        apply: |b| b.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray(),
    },
    RingSetup {
        name: "single issuer, deferred task work",
        apply: |b| b.setup_single_issuer().setup_defer_taskrun(),
    },
    RingSetup {
        name: "single issuer, cooperative task work (kernel before 6.1)",
        apply: |b| b.setup_single_issuer().setup_coop_taskrun(),
    },
    RingSetup {
        name: "cooperative task work (kernel before 6.0)",
        apply: |b| b.setup_coop_taskrun(),
    },
    RingSetup { name: "no setup flags (kernel before 5.19)", apply: |b| b },
];

/// A new ring and the setup that the kernel accepted.
pub(crate) struct NewRing {
    pub(crate) ring: IoUring,
    setup: &'static str,
}

/// Creates a ring for `depth` I/Os.
pub(crate) fn new_ring(depth: u32) -> io::Result<NewRing> {
    let entries = (depth + 1).next_power_of_two();
    let mut refusal = io::Error::from_raw_os_error(libc::EINVAL);
    for setup in &SETUPS {
        let mut builder = IoUring::builder();
        (setup.apply)(&mut builder);
        match builder.build(entries) {
            Ok(ring) => return Ok(NewRing { ring, setup: setup.name }),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = error,
            Err(error) => return Err(error),
        }
    }
    Err(refusal)
}

/// An interface that works on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelInterface {
    pub(crate) backend: Backend,
    /// Setup of the interface, and why better ones are not used.
    pub(crate) description: String,
}

impl KernelInterface {
    /// Returns the best interface for a target.
    ///
    /// # Errors
    /// Returns why none works.
    pub(crate) fn best_for(target: &Target) -> Result<KernelInterface, String> {
        if supports_nowait(target) {
            return KernelInterface::first_of(&BACKENDS);
        }
        let mut interface = KernelInterface::first_of(&BACKENDS[1..])?;
        interface.description += URING_AVOIDED;
        Ok(interface)
    }

    /// Returns the first of these interfaces that works.
    ///
    /// # Errors
    /// Returns why none works.
    pub(crate) fn first_of(candidates: &[Backend]) -> Result<KernelInterface, String> {
        raise_locked_memory_limit();
        let mut notes = Vec::new();
        for backend in candidates {
            match probe(*backend) {
                Ok(name) => {
                    notes.push(name);
                    return Ok(KernelInterface {
                        backend: *backend,
                        description: notes.join("; "),
                    });
                }
                Err(error) => notes.push(unavailable(*backend, &error)),
            }
        }
        Err(notes.join("; "))
    }
}

fn probe(backend: Backend) -> io::Result<String> {
    match backend {
        Backend::Uring => Ok(format!("io_uring ({})", new_ring(1)?.setup)),
        Backend::Aio => probe_aio().map(|()| "Linux AIO".to_owned()),
        Backend::Threads => Ok("a thread per I/O (pread, pwrite)".to_owned()),
    }
}

/// Checks that this kernel and its limits allow an AIO context.
fn probe_aio() -> io::Result<()> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: `context` is zero, as the call requires, and valid to write to.
    if unsafe { libc::syscall(libc::SYS_io_setup, 1, &raw mut context) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the context was just created and has no I/O.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    Ok(())
}

/// Returns the setting `kernel.io_uring_disabled`; `None` on kernels without it.
fn io_uring_disabled() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?;
    text.trim().parse().ok()
}

/// Describes why an interface does not work, with advice where the cause is known.
fn unavailable(backend: Backend, error: &io::Error) -> String {
    let advice = match (backend, error.raw_os_error()) {
        (Backend::Uring, Some(libc::EPERM)) => match io_uring_disabled() {
            Some(0) => ": forbidden by a system call filter, such as that of a container",
            Some(1) => {
                ": allowed only for root and the group kernel.io_uring_group; 'sysctl \
                 kernel.io_uring_disabled=0' allows it"
            }
            Some(_) => ": disabled; 'sysctl kernel.io_uring_disabled=0' allows it",
            None => ": forbidden on this host",
        },
        (Backend::Uring, Some(libc::ENOSYS)) => ": not supported by this kernel",
        (Backend::Aio, Some(libc::EAGAIN)) => {
            ": the limit fs.aio-max-nr is reached; raise it with sysctl"
        }
        _ => "",
    };
    format!("no {backend} ({error}{advice})")
}

/// Returns true if the target's I/Os can be issued without blocking.
fn supports_nowait(target: &Target) -> bool {
    let length = target.offset_alignment().max(512) as usize;
    let mut buffer = DirectBuffer::new(length);
    let bytes = &mut buffer[..length];
    let part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    // SAFETY: the buffer has this length and outlives the call.
    let moved =
        unsafe { libc::preadv2(target.fd().as_raw_fd(), &raw const part, 1, 0, libc::RWF_NOWAIT) };
    moved >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EOPNOTSUPP)
}

/// Raises the limit on locked memory, which includes registered buffers. If it stays low, the
/// kernel only refuses the registration.
pub(crate) fn raise_locked_memory_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid structure to write to and to read.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit);
        }
    }
}

/// Returns the maximum memory for transfers in bytes: half of the machine's memory.
pub(crate) fn transfer_memory_limit() -> u64 {
    // SAFETY: all-zero is a valid value of this plain structure.
    let mut info: libc::sysinfo = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is a valid structure to write to.
    if unsafe { libc::sysinfo(&raw mut info) } != 0 {
        return u64::MAX;
    }
    info.totalram.saturating_mul(u64::from(info.mem_unit)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_at_least_one_interface_are_available() {
        assert!(transfer_memory_limit() > 1 << 20);
        let expected = KernelInterface {
            backend: Backend::Threads,
            description: "a thread per I/O (pread, pwrite)".to_owned(),
        };
        assert_eq!(KernelInterface::first_of(&[Backend::Threads]), Ok(expected));
        assert!(KernelInterface::first_of(&BACKENDS).is_ok());
    }
}
