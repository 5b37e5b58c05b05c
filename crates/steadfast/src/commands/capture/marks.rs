//! `steadfast mark`, and the files through which marks reach running captures.

use crate::cli::MarkArguments;
use crate::exit::Outcome;
use crate::terminal;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use steadfast_runner::real::wall_clock_unix_ms;

/// Where running captures look for marks.
const MARKS: &str = "/run/steadfast/captures";

/// A file that `steadfast mark` appends to; taken away when the capture ends.
pub(super) struct MarkFile {
    path: PathBuf,
    seen: usize,
}

impl MarkFile {
    pub(super) fn new(output: &Path) -> anyhow::Result<MarkFile> {
        let place = Path::new(MARKS);
        std::fs::create_dir_all(place)
            .with_context(|| format!("cannot make {MARKS}, where marks are left"))?;
        let path = place.join(std::process::id().to_string());
        std::fs::write(&path, "").with_context(|| {
            format!("cannot make {} for the marks of {}", path.display(), output.display())
        })?;
        Ok(MarkFile { path, seen: 0 })
    }

    /// Marks that have come since the last time: when, by the wall clock, and
    /// the name.
    pub(super) fn read(&mut self) -> Vec<(u64, String)> {
        // Asked many times a second, and nearly always in vain.
        if std::fs::metadata(&self.path).is_ok_and(|file| file.len() <= self.seen as u64) {
            return Vec::new();
        }
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let Some(whole) = text.rfind('\n').map(|end| end + 1).filter(|end| *end > self.seen) else {
            return Vec::new();
        };
        let new = text.get(self.seen..whole).unwrap_or_default();
        self.seen = whole;
        new.lines()
            .filter_map(|line| {
                let (time, name) = line.split_once(' ')?;
                Some((time.parse().ok()?, name.to_owned()))
            })
            .collect()
    }
}

impl Drop for MarkFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Names this moment in every capture that runs.
pub fn mark(arguments: &MarkArguments) -> anyhow::Result<Outcome> {
    use std::io::Write;
    let name = arguments.name.replace(['\n', '\r'], " ");
    let line = format!("{} {name}\n", wall_clock_unix_ms() * 1_000_000);
    let mut told = 0;
    for entry in std::fs::read_dir(MARKS).into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if !Path::new("/proc").join(&pid).exists() {
            // Left by a capture that was killed.
            let _ = std::fs::remove_file(entry.path());
            continue;
        }
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(entry.path())
            .with_context(|| format!("cannot leave a mark in {}", entry.path().display()))?;
        file.write_all(line.as_bytes())?;
        told += 1;
    }
    if told == 0 {
        bail!("no capture is running; begin one with steadfast capture");
    }
    terminal::print(&format!("Marked '{name}' in {told} running captures."))?;
    Ok(Outcome::Done)
}
