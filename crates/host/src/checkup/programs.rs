//! Running programs.

use crate::roots::{Roots, entries, file_name, read_text};

/// A running program.
pub(super) struct Program {
    /// Process ID.
    pub number: String,
    /// First 15 characters of the program's name (`/proc/PID/comm`).
    pub name: String,
}

impl Program {
    pub fn shown(&self) -> String {
        format!("{} ({})", self.name, self.number)
    }
}

/// Returns every running program except this one.
pub(super) fn programs(roots: &Roots) -> Vec<Program> {
    let own = std::process::id().to_string();
    entries(&roots.proc)
        .iter()
        .filter_map(|directory| {
            let number = file_name(directory);
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            let name = if is_number { read_text(&directory.join("comm")) } else { None };
            name.filter(|_| number != own).map(|name| Program { number, name })
        })
        .collect()
}

/// Returns true if a program with one of these names is running.
pub(super) fn runs(roots: &Roots, names: &[&str]) -> bool {
    programs(roots).iter().any(|program| names.contains(&program.name.as_str()))
}
