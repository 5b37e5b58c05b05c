//! What a run spends beyond its I/O: the way to its first I/O, the gaps between
//! separate steps, and whether a load that runs on dips where its accounting is
//! cut. Prints Markdown tables, from the journals of real runs.
//!
//! `cargo bench -p steadfast --bench time_between_steps [-- DIRECTORY]`: the
//! program runs on a file in that directory (where there is none: in a tmpfs of
//! its own, and on a loop device over it; that needs root).
#![allow(clippy::print_stdout, reason = "its tables are what it is for")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use steadfast_domain::measurement::Interval;
use steadfast_domain::{JournalEntry, Measurement, Step};
use steadfast_runner::Ledger;

/// 5 to 10 rounds of nine separate steps, each so long.
const SEPARATE: [&str; 5] = ["iops", "--profile", "quick", "--step-time", "100ms"];
/// One load, cut every so often.
const CUT: [&str; 6] = ["wsat", "--profile", "quick", "--step-time", "3s", "--steady-state"];
const CUT_ENDS: &str = "time:18s";

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if let Some(directory) = given {
        let file = Path::new(&directory).join("steadfast-between-steps.bin");
        let result = measure_target("file", &file, &["--size", "512MiB"]);
        let _ = std::fs::remove_file(&file);
        return result;
    }
    let memory = TmpfsFile::new()?;
    measure_target("file in tmpfs", &memory.file, &["--yes-destroy", "file"])?;
    let device = LoopDevice::new(&memory.file)?;
    let name = device.path.trim_start_matches("/dev/").to_owned();
    measure_target("loop device on it", Path::new(&device.path), &["--yes-destroy", &name])
}

/// Runs on a target and prints what its journals tell.
fn measure_target(name: &str, target: &Path, more: &[&str]) -> Fallible<()> {
    println!("\n### {name}\n");
    print_separate_steps(&TimedRun::new(&SEPARATE, target, more)?);
    print_continuing_load(&TimedRun::new(&[&CUT[..], &[CUT_ENDS]].concat(), target, more)?);
    Ok(())
}

/// A run that has ended.
struct TimedRun {
    began_ms: u64,
    took_ms: f64,
    steps: Vec<TimedStep>,
}

struct TimedStep {
    step: Step,
    measurement: Measurement,
}

impl TimedStep {
    fn begin_ms(&self) -> f64 {
        self.measurement.began_unix_ms as f64
    }

    fn length_ms(&self) -> f64 {
        self.measurement.elapsed.as_millis_f64()
    }
}

impl TimedRun {
    fn new(procedure: &[&str], target: &Path, more: &[&str]) -> Fallible<TimedRun> {
        let scratch = tempfile::tempdir()?;
        let out = scratch.path().join("run");
        let began = Instant::now();
        let began_ms = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
        let status = Command::new(env!("CARGO_BIN_EXE_steadfast"))
            .arg("run")
            .args(procedure)
            .arg("--target")
            .arg(target)
            .args(more)
            .arg("-o")
            .arg(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        // 3: not steady, which nobody asked here.
        if !matches!(status.code(), Some(0 | 3)) {
            return Err(format!("the run on {} ended with {status}", target.display()).into());
        }
        let took_ms = began.elapsed().as_secs_f64() * 1e3;
        let applied = Ledger::read(&out)?.lines.into_iter().filter_map(|line| match line.entry {
            JournalEntry::Applied { step, outcome } => {
                Some(TimedStep { step: *step, measurement: outcome.measurement })
            }
            _ => None,
        });
        Ok(TimedRun { began_ms, took_ms, steps: applied.collect() })
    }

    /// Returns the milliseconds between the measurement of each wanted step and the one before.
    fn gaps(&self, is_wanted: impl Fn(&Step) -> bool) -> Vec<f64> {
        let mut gaps = Vec::new();
        for pair in self.steps.windows(2) {
            let [before, after] = pair else { continue };
            if is_wanted(&after.step) {
                gaps.push(after.begin_ms() - (before.begin_ms() + before.length_ms()));
            }
        }
        gaps
    }
}

fn print_separate_steps(run: &TimedRun) {
    let gaps = run.gaps(|step| !step.continues && step.place.phase == "rounds");
    let io: f64 = run.steps.iter().map(TimedStep::length_ms).sum();
    let first = run.steps.first().map_or(f64::NAN, |step| step.begin_ms() - run.began_ms as f64);
    println!("| separate steps of 100 ms | ms |\n|---|--:|");
    println!("| from the program's start to the first I/O | {first:.0} |");
    println!("| gap between two steps, median of {} | {:.1} |", gaps.len(), quantile(&gaps, 0.5));
    println!("| the same, 90 % | {:.1} |", quantile(&gaps, 0.9));
    println!("| the same, longest | {:.1} |", quantile(&gaps, 1.0));
    println!("| the whole run | {:.0} |", run.took_ms);
    println!("| of that measured I/O | {io:.0} |\n");
}

/// IOPS of the seconds at the cuts, and of the others.
fn print_continuing_load(run: &TimedRun) {
    let mut at_cut = Vec::new();
    let mut between = Vec::new();
    for TimedStep { step, measurement } in &run.steps {
        let whole: Vec<f64> = measurement
            .intervals
            .iter()
            .filter(|interval| !interval.partial)
            .filter_map(Interval::iops)
            .collect();
        let last = whole.len().saturating_sub(1);
        for (index, iops) in whole.into_iter().enumerate() {
            let is_cut = (index == 0 && step.continues) || (index == last && step.cut.is_some());
            if is_cut { at_cut.push(iops) } else { between.push(iops) }
        }
    }
    let gaps = run.gaps(|step| step.continues);
    let (cut, other) = (quantile(&at_cut, 0.5), quantile(&between, 0.5));
    println!("| one load, cut every 3 s | |\n|---|--:|");
    println!("| IOPS of a second at a cut, median of {} | {cut:.0} |", at_cut.len());
    println!("| IOPS of another second, median of {} | {other:.0} |", between.len());
    println!("| the first by the second | {:.3} |", cut / other);
    println!("| gap in the accounting, longest, ms | {:.1} |\n", quantile(&gaps, 1.0));
}

/// Returns the value that this share of the values does not exceed.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}

/// A file in a tmpfs of its own.
struct TmpfsFile {
    file: PathBuf,
    directory: tempfile::TempDir,
}

impl TmpfsFile {
    fn new() -> Fallible<TmpfsFile> {
        let directory = tempfile::tempdir()?;
        command("mount", &["-t", "tmpfs", "none", &directory.path().to_string_lossy()])?;
        let file = directory.path().join("file");
        let memory = TmpfsFile { file, directory };
        std::fs::File::create(&memory.file)?.set_len(512 << 20)?;
        Ok(memory)
    }
}

impl Drop for TmpfsFile {
    fn drop(&mut self) {
        let place = self.directory.path().to_string_lossy().into_owned();
        let _ = command("umount", &["--lazy", &place]);
    }
}

/// A loop device on a file.
struct LoopDevice {
    path: String,
}

impl LoopDevice {
    fn new(file: &Path) -> Fallible<LoopDevice> {
        let shown = command("losetup", &["--find", "--show", &file.to_string_lossy()])?;
        Ok(LoopDevice { path: shown.trim().to_owned() })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = command("losetup", &["--detach", &self.path]);
    }
}

fn command(program: &str, arguments: &[&str]) -> Fallible<String> {
    let output = Command::new(program).args(arguments).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
}
