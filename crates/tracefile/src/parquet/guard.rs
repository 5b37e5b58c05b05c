//! Wraps calls into the Parquet library, which panics on some damaged files.

use crate::error::TraceError;
use parquet::errors::ParquetError;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread will be caught and become an error, so that a panic
/// hook should print nothing.
pub fn panics_are_caught() -> bool {
    CAUGHT.get()
}

/// Calls into the Parquet library and turns both an error and a panic into
/// [`TraceError::Damaged`], except an error of the medium, which stays [`TraceError::Io`].
pub fn guarded<T>(
    place: &str,
    call: impl FnOnce() -> parquet::errors::Result<T>,
) -> Result<T, TraceError> {
    let before = CAUGHT.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    CAUGHT.set(before);
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(match of_medium(&error) {
            Some(medium) => TraceError::Io(medium),
            None => TraceError::damaged(place, error),
        }),
        Err(_) => Err(TraceError::damaged(place, "the Parquet library could not read it")),
    }
}

/// Returns the error of a system call that the library passes on. Its decompressors, too, report
/// what they find wrong as `io::Error`, but without an error number.
fn of_medium(error: &ParquetError) -> Option<io::Error> {
    let ParquetError::External(error) = error else { return None };
    let number = error.downcast_ref::<io::Error>()?.raw_os_error()?;
    Some(io::Error::from_raw_os_error(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_library_is_an_error_and_known_to_be_caught() {
        let mut caught = false;
        let outcome: Result<(), TraceError> = guarded("here", || {
            caught = panics_are_caught();
            panic!("as some damaged files make it");
        });
        assert!(caught && !panics_are_caught());
        assert!(outcome.unwrap_err().to_string().contains("here"));
    }
}
