//! Repeated checks of a device that a program may use for a moment only, and repeated system calls.

use std::io;
use std::time::Duration;

/// Number of attempts, and the first pause between them; 2.5 s in total. udev's programs and
/// `losetup` open a changed device briefly, and the kernel closes the files of a killed process's
/// io_uring some time after the process is gone.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Repeats `check` with doubling pauses until `is_good` or the attempts are used up; returns the
/// last result.
pub(crate) fn retry_until<T>(mut check: impl FnMut() -> T, is_good: impl Fn(&T) -> bool) -> T {
    for attempt in 0..ATTEMPTS {
        let result = check();
        if is_good(&result) {
            return result;
        }
        std::thread::sleep(FIRST_PAUSE * 2u32.pow(attempt));
    }
    check()
}

/// Makes a system call, which returns -1 for an error, and repeats it as long as a signal
/// interrupts it: opens and locks may be on FUSE, NFS and other slow file systems.
pub(crate) fn uninterrupted<T: PartialEq + From<i8>>(call: impl Fn() -> T) -> io::Result<T> {
    loop {
        let answer = call();
        if answer != T::from(-1) {
            return Ok(answer);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Returns true if the kernel reported that somebody else uses the device.
pub(crate) fn is_busy<T>(answer: &io::Result<T>) -> bool {
    answer.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Returns -1 with this error number at first, then 7. Counts the calls.
    fn fails_once(error: i32, calls: &Cell<u32>) -> i64 {
        calls.set(calls.get() + 1);
        if calls.get() > 1 {
            return 7;
        }
        // SAFETY: errno is this thread's own.
        unsafe { *libc::__errno_location() = error };
        -1
    }

    #[test]
    fn only_an_interrupted_call_is_repeated() {
        let calls = Cell::new(0);
        assert_eq!(uninterrupted(|| fails_once(libc::EINTR, &calls)).unwrap(), 7);
        assert_eq!(calls.take(), 2);
        let error = uninterrupted(|| fails_once(libc::EIO, &calls)).unwrap_err();
        assert_eq!((error.raw_os_error(), calls.get()), (Some(libc::EIO), 1));
    }
}
