//! Both players in turn on the same targets.

use crate::ReplayBenchOptions;
use crate::observer::BlockObserver;
use crate::shared::{Fallible, LoopDevice, MemoryFile, Zram, command};
use crate::start_times::{self, StartAccuracy};
use crate::trace::{SyntheticTrace, TraceRhythm};
use crate::{fio, ours};
use std::path::Path;
use steadfast_domain::script::Timing;

/// Maximum number of outstanding I/Os.
const OUTSTANDING: u32 = 64;

/// Factor of the accelerated replay.
const FASTER: u64 = 10;

fn traces(seconds: u64) -> [SyntheticTrace; 3] {
    [TraceRhythm::Poisson(2e3), TraceRhythm::Poisson(20e3), TraceRhythm::Bursts]
        .map(|rhythm| SyntheticTrace::lasting(rhythm, seconds))
}

pub fn compare(choice: &ReplayBenchOptions) -> Fallible<()> {
    let memory = MemoryFile::new()?;
    command("fallocate", &["-l", "1GiB", &memory.path.to_string_lossy()])?;
    println!("\n### Whole and own account\n");
    println!(
        "| target | trace | longer, engine | longer, fio | late p50 us | p99 us | max us \
         | last second us |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    whole("file in tmpfs", &memory.path, choice)?;
    let device = LoopDevice::new(&memory.path)?;
    whole("loop device on it", &device.path, choice)?;
    {
        let zram = Zram::new()?;
        whole("zram", &zram.path, choice)?;
    }
    println!("\n### Issued to the loop device, by the kernel's events\n");
    println!(
        "| trace | player | longer | p50 us | p99 us | max us | drift us | KS distance \
         | of gaps above {:.0} us |",
        start_times::TOGETHER_NS / 1e3
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    observed(&device.path, choice)
}

fn whole(name: &str, path: &Path, choice: &ReplayBenchOptions) -> Fallible<()> {
    for trace in traces(choice.seconds) {
        let span = trace.load(Timing::Original, OUTSTANDING).span.0 as f64;
        let ours = ours::play(path, trace, Timing::Original, OUTSTANDING)?;
        let theirs = if choice.fio { fio::play(path, trace, OUTSTANDING)? } else { f64::NAN };
        let micros = |nanos: steadfast_domain::Nanos| nanos.0 as f64 / 1e3;
        println!(
            "| {name} | {} | {:.3} % | {:.3} % | {:.1} | {:.1} | {:.0} | {:.1} |",
            trace.name(),
            (ours.done.elapsed.0 as f64 / span - 1.0) * 100.0,
            (theirs / span - 1.0) * 100.0,
            micros(ours.late(0.5)),
            micros(ours.late(0.99)),
            micros(ours.latest()),
            micros(ours.late_at_the_end()),
        );
    }
    Ok(())
}

fn observed(device: &Path, choice: &ReplayBenchOptions) -> Fallible<()> {
    let observer = BlockObserver::new(device)?;
    for trace in traces(choice.seconds) {
        let due: Vec<f64> = trace.all().iter().map(|io| io.due.0 as f64).collect();
        let show = |player: &str, due: &[f64], play: &mut dyn FnMut() -> Fallible<()>| {
            observer.forget()?;
            play()?;
            let started = observer.starts()?;
            print_truth(&trace.name(), player, due, &started);
            Fallible::Ok(())
        };
        show("engine", &due, &mut || {
            ours::play(device, trace, Timing::Original, OUTSTANDING).map(drop)
        })?;
        if choice.fio {
            show("fio", &due, &mut || fio::play(device, trace, OUTSTANDING).map(drop))?;
        }
        if trace.rhythm == TraceRhythm::Poisson(2e3) {
            let timing = Timing::Faster { thousandths: FASTER * 1000 };
            let scaled: Vec<f64> = due.iter().map(|due| due / FASTER as f64).collect();
            show(&format!("engine, {timing}"), &scaled, &mut || {
                ours::play(device, trace, timing, OUTSTANDING).map(drop)
            })?;
        }
    }
    Ok(())
}

fn print_truth(trace: &str, player: &str, due: &[f64], started: &[f64]) {
    if due.len() != started.len() {
        println!("| {trace} | {player} | {} of {} seen |", started.len(), due.len());
        return;
    }
    let StartAccuracy { stretch, median, p99, max, drift, distance, apart } =
        start_times::compare(due, started);
    println!(
        "| {trace} | {player} | {:.3} % | {:.1} | {:.1} | {:.0} | {:.1} | {distance:.4} \
         | {apart:.4} |",
        stretch * 100.0,
        median / 1e3,
        p99 / 1e3,
        max / 1e3,
        drift / 1e3,
    );
}
