//! Detection of the installed fio and its version.

use super::process::describe_exit;
use std::io;
use std::path::Path;
use std::process::Stdio;
use steadfast_host::command;

/// Major version of fio with these options and answers, and its oldest minor version.
const MAJOR: u32 = 3;
const MINOR_MIN: u32 = 20;

/// Returns the version that an installed fio reports, or why it is not supported.
pub(super) fn installed(program: &Path) -> Result<String, String> {
    let version = query(program, "--version")?;
    supported(version.trim(), &program.display().to_string())
}

/// Returns the version `name` that a fio reports, or why it is not supported.
pub(super) fn supported(name: &str, program: &str) -> Result<String, String> {
    let number = |text: &str| -> Option<u32> {
        text.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
    };
    let parts = name.strip_prefix("fio-").and_then(|rest| {
        let (major, minor) = rest.split_once('.')?;
        Some((number(major)?, number(minor)?))
    });
    match parts {
        Some((MAJOR, MINOR_MIN..)) => Ok(name.to_owned()),
        Some(_) => Err(format!(
            "{name} is not supported: install fio {MAJOR}.{MINOR_MIN} or a later {MAJOR}.x"
        )),
        None => Err(format!("'{program}' is not fio: it reports '{name}'")),
    }
}

/// Returns the output of fio for an option that touches nothing.
pub(super) fn query(program: &Path, option: &str) -> Result<String, String> {
    let output = command(program)
        .and_then(|mut command| command.arg(option).stdin(Stdio::null()).output())
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => format!(
                "'{}' is not installed or cannot be executed; install the package fio",
                program.display()
            ),
            _ => format!("'{}' cannot be run: {error}", program.display()),
        })?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "'{} {option}' {}: {}",
            program.display(),
            describe_exit(output.status),
            errors.lines().next().unwrap_or("it printed nothing")
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
