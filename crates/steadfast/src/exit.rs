//! Exit codes, and how an error is said.

use crate::terminal;
use std::io;
use std::process::ExitCode;

/// How a command ended, where it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was done.
    Done,
    /// The run ended, but its steady state was not achieved.
    NotSteady,
    /// The run halted; every finished step is safe, and it can be resumed.
    Halted,
    /// A number is outside its limits, or missing; or engines do not agree.
    OutsideLimits,
    /// Numbers taken on this host and device now would not be the device's.
    Unfit,
}

/// The list of codes that `--help` prints.
pub const HELP: &str = "Exit codes:
  0  done
  1  failed or refused; one line on stderr says what and what to do
  2  the command line is wrong
  3  the run ended, but steady state was not achieved
  4  the run halted; `steadfast resume RUN_DIR` goes on with it
  5  a number is outside its limits, or missing (check); the engines could
     not be shown to agree (calibrate)
  6  something would spoil the numbers (doctor)";

/// The process's exit code; prints the error, if there is one.
pub fn code(outcome: anyhow::Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NotSteady) => ExitCode::from(3),
        Ok(Outcome::Halted) => ExitCode::from(4),
        Ok(Outcome::OutsideLimits) => ExitCode::from(5),
        Ok(Outcome::Unfit) => ExitCode::from(6),
        // The reader of our output went away: that is its good right.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::complain(&format!("steadfast: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
