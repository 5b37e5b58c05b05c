//! Repeated looks at a device that a program may use for a moment only.

use std::io;
use std::time::Duration;

/// Number of attempts, and the first pause between them; 2.5 s in total. udev's programs and
/// `losetup` open a changed device briefly, and the kernel closes the files of a killed process's
/// io_uring some time after the process is gone.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Repeats `look` with doubling pauses until `is_good` or the attempts are used up; returns the
/// last result.
pub(crate) fn retry_until<T>(mut look: impl FnMut() -> T, is_good: impl Fn(&T) -> bool) -> T {
    for looks in 0..ATTEMPTS {
        let seen = look();
        if is_good(&seen) {
            return seen;
        }
        std::thread::sleep(FIRST_PAUSE * 2u32.pow(looks));
    }
    look()
}

/// Returns true if the kernel reported that somebody else uses the device.
pub(crate) fn is_busy<T>(answer: &io::Result<T>) -> bool {
    answer.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}
