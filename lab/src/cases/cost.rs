//! Cost of recording compared with blktrace: fio alone, with our capture and with blktrace, in
//! turn. Emulated, so that only ratios are meaningful.

use crate::answers::GuestOutput;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};
use std::fmt::Write;

const DEVICES: [&str; 2] = ["nvme0n1", "nullb0"];
const ROUNDS: u32 = 5;
/// Microseconds per tick of processor time in /proc.
const TICK_US: f64 = 10_000.0;

pub fn guest() -> Guest {
    Guest {
        drives: vec![GuestDrive::nvme("LABCOST1", Medium::new(128))],
        cases: vec![
            Case::new("each recorder was measured in every round", complete),
            Case::new("every I/O is in the capture", nothing_missing),
        ],
        table: Some(table),
        ..Guest::new("cost", include_str!("cost.sh"), 1200)
    }
}

const TABLE_HEAD: &str = "\
| device | recorder | IOPS | loss % | recorder us/I/O | after the load, ms | bytes/I/O | \
not recorded | reported lost | blkparse us/I/O |
|---|---|---|---|---|---|---|---|---|---|";

/// A run of a recorder, as written by the script.
struct RecorderRun {
    device: String,
    recorder: String,
    round: u32,
    ticks: f64,
    /// Ticks after the end of the load, included in `ticks`.
    end_ticks: f64,
    bytes: f64,
    ios: u64,
    later_ticks: f64,
    lost: u64,
}

impl RecorderRun {
    fn read(line: &str) -> Option<RecorderRun> {
        let mut words = line.split_whitespace();
        Some(RecorderRun {
            device: words.next()?.to_owned(),
            recorder: words.next()?.to_owned(),
            round: words.next()?.parse().ok()?,
            ticks: words.next()?.parse().ok()?,
            end_ticks: words.next()?.parse().ok()?,
            bytes: words.next()?.parse().ok()?,
            ios: words.next()?.parse().ok()?,
            later_ticks: words.next()?.parse().ok()?,
            lost: words.next()?.parse().ok()?,
        })
    }

    fn per_io(&self, value: f64) -> f64 {
        value / self.ios.max(1) as f64
    }

    fn missing(&self, answers: &GuestOutput) -> anyhow::Result<u64> {
        let load = FioRunResult::read(answers, &self.device, &self.recorder, self.round)?;
        Ok(load.ios.saturating_sub(self.ios))
    }
}

struct FioRunResult {
    ios: u64,
    iops: f64,
}

impl FioRunResult {
    fn read(
        answers: &GuestOutput,
        device: &str,
        recorder: &str,
        round: u32,
    ) -> anyhow::Result<FioRunResult> {
        let answer = answers.json(&format!("{device}.{recorder}.{round}"))?;
        let directions = ["read", "write"].map(|direction| &answer["jobs"][0][direction]);
        let ios = directions.iter().filter_map(|direction| direction["total_ios"].as_u64());
        let iops = directions.iter().filter_map(|direction| direction["iops"].as_f64());
        Ok(FioRunResult { ios: ios.sum(), iops: iops.sum() })
    }
}

fn recorded(answers: &GuestOutput) -> anyhow::Result<Vec<RecorderRun>> {
    let text = answers.text("figures")?;
    let read = |line| RecorderRun::read(line).with_context(|| format!("not a run: {line}"));
    text.lines().map(read).collect()
}

fn complete(answers: &GuestOutput) -> anyhow::Result<()> {
    let runs = recorded(answers)?;
    for (device, recorder) in DEVICES.iter().flat_map(|d| [(*d, "capture"), (*d, "blktrace")]) {
        let of = runs.iter().filter(|run| run.device == device && run.recorder == recorder);
        let count = of.filter(|run| run.ios > 0).count();
        ensure!(count == ROUNDS as usize, "{count} runs of {recorder} on {device} have I/Os");
    }
    Ok(())
}

fn nothing_missing(answers: &GuestOutput) -> anyhow::Result<()> {
    for run in recorded(answers)?.iter().filter(|run| run.recorder == "capture") {
        let missing = run.missing(answers)?;
        ensure!(missing == 0, "{}, round {}: {missing} I/Os missing", run.device, run.round);
    }
    Ok(())
}

struct RecorderMedian {
    iops: f64,
    us: f64,
    end_ms: f64,
    bytes: f64,
    missing: f64,
    lost: f64,
    later_us: f64,
}

impl RecorderMedian {
    fn of(answers: &GuestOutput, device: &str, recorder: &str) -> anyhow::Result<RecorderMedian> {
        let mut runs = recorded(answers)?;
        runs.retain(|run| run.device == device && run.recorder == recorder);
        let missing: Vec<u64> =
            runs.iter().map(|run| run.missing(answers)).collect::<Result<_, _>>()?;
        let each = |value: fn(&RecorderRun) -> f64| median(runs.iter().map(value));
        Ok(RecorderMedian {
            iops: iops(answers, device, recorder)?,
            us: each(|run| run.per_io(run.ticks * TICK_US)),
            end_ms: each(|run| run.end_ticks * TICK_US / 1000.0),
            bytes: each(|run| run.per_io(run.bytes)),
            missing: median(missing.iter().map(|missing| *missing as f64)),
            lost: each(|run| run.lost as f64),
            later_us: each(|run| run.per_io(run.later_ticks * TICK_US)),
        })
    }
}

fn iops(answers: &GuestOutput, device: &str, recorder: &str) -> anyhow::Result<f64> {
    let loads = (1..=ROUNDS).map(|round| FioRunResult::read(answers, device, recorder, round));
    Ok(median(loads.collect::<Result<Vec<_>, _>>()?.iter().map(|load| load.iops)))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn table(answers: &GuestOutput) -> anyhow::Result<String> {
    let mut text = TABLE_HEAD.to_owned();
    for device in DEVICES {
        let alone = iops(answers, device, "nothing")?;
        let ours = RecorderMedian::of(answers, device, "capture")?;
        let theirs = RecorderMedian::of(answers, device, "blktrace")?;
        write!(text, "\n| {device} | nothing | {alone:.0} | | | | | | | |")?;
        for (name, it) in [("capture", &ours), ("blktrace", &theirs)] {
            let loss = (1.0 - it.iops / alone) * 100.0;
            write!(
                text,
                "\n| | {name} | {:.0} | {loss:.1} | {:.1} | {:.0} | {:.1} | {:.0} | {:.0} |",
                it.iops, it.us, it.end_ms, it.bytes, it.missing, it.lost
            )?;
            match name {
                "blktrace" => write!(text, " {:.1} |", it.later_us)?,
                _ => write!(text, " |")?,
            }
        }
        write!(
            text,
            "\n| | **capture : blktrace** | {:.2} | | {:.2} | | {:.2} | | | |",
            ours.iops / theirs.iops,
            ours.us / theirs.us,
            ours.bytes / theirs.bytes
        )?;
    }
    let idle = answers.text("idle")?;
    let idle: Vec<String> = idle.lines().filter_map(idle_share).collect();
    write!(text, "\nWithout an I/O: {}.", idle.join(", "))?;
    Ok(text)
}

/// Formats `RECORDER TICKS`, measured over ten seconds, in words.
fn idle_share(line: &str) -> Option<String> {
    let (recorder, ticks) = line.split_once(' ')?;
    let us: f64 = ticks.parse::<f64>().ok()? * TICK_US;
    Some(format!("{recorder} {:.0} ms a second", us / 10.0 / 1000.0))
}
