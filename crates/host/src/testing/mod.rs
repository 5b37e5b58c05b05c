//! Fixtures of the tests of this crate.

use std::io::Write;

pub(crate) mod machine;
pub(crate) mod transcript;

/// Prints why the test of this thread is skipped, directly to stderr, because the harness hides the
/// output of passing tests.
pub(crate) fn skip(reason: &str) {
    let thread = std::thread::current();
    let notice = format!("SKIPPED: {}: {reason}\n", thread.name().unwrap_or_default());
    std::io::stderr().write_all(notice.as_bytes()).unwrap();
}
