//! Exit codes (docs/exit-codes.md) and error messages.

use crate::terminal;
use std::fmt;
use std::process::ExitCode;
use steadfast_procedures::ProcedureError;
use steadfast_report::LimitsError;

/// Outcome of a command that returned no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitState {
    /// The command completed.
    Done,
    /// The run ended, but its steady state was not achieved, or data read back were
    /// not what was written.
    NotPassed,
    /// The run halted; every finished step is safe, and it can be resumed.
    Halted,
    /// Everything readable was shown; a damaged or missing part of a trace was omitted.
    Incomplete,
    /// A number is outside its limits or missing, a metric of a trend got worse, the run has not
    /// ended, the engines do not agree, or a replay differs from its capture.
    CheckFailed,
    /// Host or device would distort the numbers.
    Unfit,
    /// One of several targets failed, or too many I/Os of a measurement failed; the reason was
    /// printed.
    Failed,
}

impl ExitState {
    /// Returns the most severe of several states, [`ExitState::Done`] if there is none. A failure is
    /// worse than a halt, which can be resumed.
    pub fn worst(states: impl Iterator<Item = ExitState>) -> ExitState {
        let severity = |state: &ExitState| match state {
            ExitState::Done => 0,
            ExitState::NotPassed
            | ExitState::Incomplete
            | ExitState::CheckFailed
            | ExitState::Unfit => 1,
            ExitState::Halted => 2,
            ExitState::Failed => 3,
        };
        states.max_by_key(severity).unwrap_or(ExitState::Done)
    }

    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            ExitState::Done => 0,
            ExitState::Incomplete | ExitState::Failed => 1,
            ExitState::NotPassed => 3,
            ExitState::Halted => 4,
            ExitState::CheckFailed => 5,
            ExitState::Unfit => 6,
        }
    }
}

/// List of exit codes in `--help`.
pub const HELP: &str = "Exit codes:
  0  done
  1  failed or refused; stderr says what happened and what to do; also: a
     damaged trace whose readable part was shown, a measurement (measure) in
     which 1 % or more of the I/Os failed
  2  the command line is wrong
  3  the run ended, but steady state was not achieved; data read back differs
     from what was written (measure --verify, verify-write) or was not compared
     (verify-write); or a power cut lost flushed writes, or none was made
     (power-cut)
  4  the run halted; `steadfast resume RUN_DIR` resumes it
  5  a number is outside its limits or missing, or the run is not steady,
     quick or simulated (check, unless --allow); a metric got worse, or the
     newest run does not count (trend); the engines disagree, or agreement
     cannot be shown (calibrate); a replay differs from its capture (replay verify)
  6  device or host would distort the numbers: ATTENTION or BAD (doctor)

Signals: SIGINT (Ctrl-C), SIGTERM and SIGQUIT end a command cleanly: a run
halts and can be resumed; a second signal, a second or more after the first,
ends it at once. SIGUSR1, SIGUSR2 and SIGALRM act like SIGTERM. After SIGHUP
(a lost terminal) the run continues without the terminal. All signals: steadfast help exit-codes";

/// A mistake on the command line that only shows after it was parsed.
#[derive(Debug)]
pub struct Misuse(String);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// Creates an error about the command line, which ends the process with code 2.
pub fn misuse(text: impl fmt::Display) -> anyhow::Error {
    Misuse(text.to_string()).into()
}

/// Returns the name of the first option that was given. An entry is the name of an option, and
/// true if it was given.
pub fn first_given(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
}

/// Returns a misuse error that names the first option that was given; `why` is the reason why it
/// would have no effect.
pub fn refuse_unused(
    options: &[(&'static str, bool)],
    why: impl fmt::Display,
) -> anyhow::Result<()> {
    match first_given(options) {
        Some(option) => Err(misuse(format!("{option}: {why}; omit the option"))),
        None => Ok(()),
    }
}

/// Prints the error of an outcome, if any, and returns the exit code of the process.
pub fn report(outcome: anyhow::Result<ExitState>) -> ExitCode {
    match outcome {
        Ok(state) => ExitCode::from(state.code()),
        Err(error) => {
            terminal::warn(&format!("steadfast: {}", error_text(&error)));
            for line in excerpt(&error) {
                terminal::warn(&format!("  {line}"));
            }
            if is_misuse(&error) { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// Returns the lines of a file that show where an error is.
fn excerpt(error: &anyhow::Error) -> &[String] {
    match error.downcast_ref::<LimitsError>() {
        Some(LimitsError::Syntax { excerpt, .. }) => excerpt,
        _ => &[],
    }
}

fn is_misuse(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<Misuse>() || cause.is::<ProcedureError>())
}

/// Formats an error with its causes. Omits a cause that the text already contains, and a context
/// with which its cause begins, such as the name of a file.
pub fn error_text(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let cause = bounded(cause.to_string());
        if parts.iter().any(|part| part.contains(&cause)) {
            continue;
        }
        parts.pop_if(|context| {
            let rest = cause.strip_prefix(context.as_str());
            rest.is_some_and(|rest| rest.starts_with([':', ' ']))
        });
        parts.push(cause);
    }
    parts.join(": ")
}

/// Maximum number of characters of a cause. Only a message that quotes a file or another program is
/// longer.
const CAUSE_MAX: usize = 4000;

fn bounded(mut cause: String) -> String {
    if let Some((end, _)) = cause.char_indices().nth(CAUSE_MAX) {
        cause.truncate(end);
        cause.push('…');
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_printed_once() {
        let cause = || std::io::Error::from_raw_os_error(libc::ENOENT);
        let plain = anyhow::Error::from(cause()).context("x cannot be opened");
        assert_eq!(
            error_text(&plain),
            "x cannot be opened: No such file or directory (os error 2)"
        );
        let doubled = anyhow::Error::from(cause()).context(format!("x: {}", cause()));
        assert_eq!(error_text(&doubled), "x: No such file or directory (os error 2)");
        let twice = |context: &'static str| anyhow::anyhow!("x: no run").context(context);
        assert_eq!(error_text(&twice("x")), "x: no run");
        assert_eq!(error_text(&twice("y")), "y: x: no run");
    }

    #[test]
    fn misuse_is_distinguished_from_a_failure() {
        assert!(is_misuse(&Err::<(), _>(misuse("no")).context("x").unwrap_err()));
        assert!(is_misuse(&anyhow::Error::from(ProcedureError("no".into()))));
        assert!(!is_misuse(&anyhow::anyhow!("no")));
    }
}
