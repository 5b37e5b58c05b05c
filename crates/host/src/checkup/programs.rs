//! Running programs.

use crate::system_roots::{SystemRoots, entries, file_name, read_text};

/// A running program.
pub(super) struct RunningProgram {
    /// Process ID.
    pub number: String,
    /// First 15 characters of the program's name (`/proc/PID/comm`).
    pub name: String,
}

impl RunningProgram {
    pub fn shown(&self) -> String {
        format!("{} ({})", self.name, self.number)
    }
}

/// Returns every running program except this one.
pub(super) fn programs(roots: &SystemRoots) -> Vec<RunningProgram> {
    let own = std::process::id().to_string();
    entries(&roots.proc)
        .iter()
        .filter_map(|directory| {
            let number = file_name(directory);
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            let name = if is_number { read_text(&directory.join("comm")) } else { None };
            name.filter(|_| number != own).map(|name| RunningProgram { number, name })
        })
        .collect()
}

/// Returns true if a program with one of these names is running.
pub(super) fn runs(roots: &SystemRoots, names: &[&str]) -> bool {
    programs(roots).iter().any(|program| names.contains(&program.name.as_str()))
}
