//! Running programs.

use crate::system_roots::{SystemRoots, entries, file_name, is_numbered, read_text};
use std::path::Path;

pub(super) struct RunningProgram {
    /// Process ID.
    pub number: String,
    /// First 15 characters of the program's name (`/proc/PID/comm`).
    pub name: String,
    /// True for a `steadfast capture`, which loads no disk.
    pub is_capture: bool,
}

impl RunningProgram {
    pub fn shown(&self) -> String {
        format!("{} ({})", self.name, self.number)
    }
}

/// Returns every running program except this one.
pub(super) fn programs(roots: &SystemRoots) -> Vec<RunningProgram> {
    let own_id = std::process::id().to_string();
    entries(&roots.proc)
        .iter()
        .filter_map(|directory| {
            let number = file_name(directory);
            if number == own_id || !is_numbered(&number, "") {
                return None;
            }
            let name = read_text(&directory.join("comm"))?;
            let is_capture = name == "steadfast" && first_argument_is(directory, "capture");
            Some(RunningProgram { number, name, is_capture })
        })
        .collect()
}

/// Returns true if `word` is the first argument of a process that is no option.
fn first_argument_is(process: &Path, word: &str) -> bool {
    let line = read_text(&process.join("cmdline")).unwrap_or_default();
    line.split('\0').skip(1).find(|argument| !argument.starts_with('-')) == Some(word)
}

/// Returns true if a program with one of these names is running.
pub(super) fn runs(roots: &SystemRoots, names: &[&str]) -> bool {
    programs(roots).iter().any(|program| names.contains(&program.name.as_str()))
}
