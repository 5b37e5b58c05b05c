//! Runs the programs that the lab is built from.

use anyhow::{Context, ensure};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs a program to its end and returns its standard output. If it fails, the error has its standard
/// error.
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run '{program}'; check that it is installed"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {}", output.status, errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the path of a program, searching system directories, too.
pub fn find(program: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
        .with_context(|| format!("'{program}' is not installed; run scripts/tools lab as root"))
}
