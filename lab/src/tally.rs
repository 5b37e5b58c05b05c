//! Counts and prints cases passed, failed and skipped.

use crate::answers::GuestOutput;
use crate::guest::{Case, Guest, SkipReason};
use anyhow::anyhow;
use std::io::Write;
use std::time::Instant;

pub struct CaseTally {
    passed: u32,
    failed: u32,
    skipped: u32,
    began: Instant,
}

impl Default for CaseTally {
    fn default() -> Self {
        CaseTally { passed: 0, failed: 0, skipped: 0, began: Instant::now() }
    }
}

impl CaseTally {
    /// Checks and prints every case of a guest; returns true if none failed.
    pub fn judge(&mut self, guest: &Guest, result: &anyhow::Result<GuestOutput>) -> bool {
        let before = self.failed;
        for case in &guest.cases {
            self.count(&format!("{}: {}", guest.name, case.name), verdict(case, result));
        }
        self.failed == before
    }

    fn count(&mut self, name: &str, verdict: anyhow::Result<()>) {
        match verdict {
            Ok(()) => {
                self.passed += 1;
                print_line(&format!("pass  {name}"));
            }
            Err(error) if error.is::<SkipReason>() => {
                self.skipped += 1;
                print_line(&format!("skip  {name}: {error}"));
            }
            Err(error) => {
                self.failed += 1;
                print_line(&format!("FAIL  {name}: {error:#}"));
            }
        }
    }

    pub fn is_good(&self) -> bool {
        self.failed == 0
    }

    pub fn print_totals(&self) {
        let CaseTally { passed, failed, skipped, began } = self;
        let seconds = began.elapsed().as_secs();
        print_line(&format!("{passed} passed, {failed} failed, {skipped} skipped in {seconds} s"));
    }
}

/// Checks every case of a guest and prints those that fail; returns true if any does.
pub fn print_failures(guest: &Guest, result: &anyhow::Result<GuestOutput>) -> bool {
    let mut has_failed = false;
    for case in &guest.cases {
        if let Err(error) = verdict(case, result)
            && !error.is::<SkipReason>()
        {
            print_line(&format!("again {}: {}: {error:#}", guest.name, case.name));
            has_failed = true;
        }
    }
    has_failed
}

fn verdict(case: &Case, result: &anyhow::Result<GuestOutput>) -> anyhow::Result<()> {
    match result {
        Ok(answers) => (case.check)(answers),
        Err(error) => Err(anyhow!("{error:#}")),
    }
}

/// Prints a line; a closed standard output is not an error.
pub fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
