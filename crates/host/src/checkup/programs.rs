//! The programs that run.

use crate::roots::{Roots, entries, file_name, read_text};

/// A running program.
pub(super) struct Program {
    /// Of its process.
    pub number: String,
    /// Its first 15 characters, as the kernel keeps them.
    pub name: String,
}

impl Program {
    pub fn shown(&self) -> String {
        format!("{} ({})", self.name, self.number)
    }
}

/// Every program but this one.
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

/// Whether a program of one of these names runs.
pub(super) fn runs(roots: &Roots, names: &[&str]) -> bool {
    programs(roots).iter().any(|program| names.contains(&program.name.as_str()))
}
