//! Repeated checks of a device that a program may use for a moment only.

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

/// Returns true if the kernel reported that somebody else uses the device.
pub(crate) fn is_busy<T>(answer: &io::Result<T>) -> bool {
    answer.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}
