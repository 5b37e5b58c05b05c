//! `steadfast calibrate`: compares the native engine with fio at the same points, and measures the
//! overhead of commits and rates in the native engine.

use super::restore;
use crate::cli::CalibrateArguments;
use crate::exit::{ExitState, misuse};
use crate::target::{self, EngineChoice, FioDirectory, SimulationOptions, TargetRef};
use crate::terminal::number_or_dash;
use crate::{rig_remarks, terminal};
use serde::Serialize;
use std::path::PathBuf;
use steadfast_domain::{Device, text};
use steadfast_engine::StopSignal;
use steadfast_host::{Consent, SystemRoots};
use steadfast_report::text_table;
use steadfast_runner::calibrate::{
    self, Calibration, CalibrationContext, CalibrationEngine, CalibrationEvent, CalibrationPoint,
    CalibrationReading, CalibrationResult, Comparison, FlushCounts, Judgement, OwnCost, median_run,
};
use steadfast_runner::{HostChanges, Rig};

/// The JSON output.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct CalibrateOutput<'a> {
    device: &'a Device,
    engines: &'a [String; 2],
    time_ns: u64,
    within_percent: f64,
    comparisons: &'a [Comparison],
    /// Costs of the native engine: of commits if the target may be written, then of rates, the
    /// highest first.
    own_costs: &'a [OwnCost],
    verdict: String,
}

/// Runs both engines and prints the table and the verdict.
pub fn run(arguments: &CalibrateArguments) -> anyhow::Result<ExitState> {
    let target = target::find(&arguments.target, arguments.size)?;
    let TargetRef::Real(device) = &target else {
        return Err(misuse(format!(
            "{} is simulated; fio needs a block device or a file",
            arguments.target
        )));
    };
    let device = device.clone();
    let consent = consent(arguments, &device);
    let calibration = calibration(arguments, &device, consent != Consent::Read);
    let kept = FioDirectory::new(arguments.keep.as_deref())?;
    announce(arguments, &calibration);
    let mut context = CalibrationTarget {
        target,
        consent,
        simulation: SimulationOptions::with_seed(arguments.seed),
        stop: target::stop_on_signals()?,
        directory: kept.path().to_owned(),
        repeats: arguments.runs,
    };
    let result = calibration.conduct(&mut context)?;
    print(arguments, &device, &result)?;
    Ok(if calibrate::agree(&result.comparisons) { ExitState::Done } else { ExitState::CheckFailed })
}

/// Returns the user's consent to write, or consent for a file known to be a scratch file.
fn consent(arguments: &CalibrateArguments, device: &Device) -> Consent {
    let destroy = Consent::Destroy { confirmation: arguments.yes_destroy.clone() };
    let asked = arguments.yes_destroy.is_some()
        || arguments.points.iter().any(|point| point.pattern.read_percent < 100);
    if asked || steadfast_host::arm(device, &destroy, &[], &SystemRoots::real()).is_ok() {
        return destroy;
    }
    Consent::Read
}

fn calibration(arguments: &CalibrateArguments, device: &Device, may_write: bool) -> Calibration {
    let points = if arguments.points.is_empty() {
        CalibrationPoint::usual(may_write)
    } else {
        arguments.points.clone()
    };
    Calibration {
        range: Calibration::range(&points, arguments.test_size, device.capacity),
        points,
        time: arguments.time,
        ramp: arguments.ramp,
        repeats: arguments.runs,
        within_percent: arguments.within,
        seed: arguments.seed,
        may_write,
        sends_flushes: steadfast_host::sends_flushes(device, &SystemRoots::real()) == Some(true),
    }
}

/// Prints the number of points and the expected time, and a note if only reads are allowed.
fn announce(arguments: &CalibrateArguments, calibration: &Calibration) {
    terminal::status(&format!(
        "{} points x 2 engines x {} repeats on the first {} of {}: about {:.0} s",
        calibration.points.len(),
        calibration.repeats,
        calibration.range.length,
        arguments.target,
        calibration.expected_seconds()
    ));
    if !calibration.may_write {
        terminal::warn(
            "Reads only: writing is not allowed here (--yes-destroy). Drives answer reads of \
             blocks that were never written without touching the medium.",
        );
    }
}

/// The target and its engines.
struct CalibrationTarget {
    target: TargetRef,
    consent: Consent,
    simulation: SimulationOptions,
    stop: StopSignal,
    /// Directory of fio's files.
    directory: PathBuf,
    repeats: u32,
}

impl CalibrationContext for CalibrationTarget {
    type Error = anyhow::Error;

    fn rig(&mut self, engine: CalibrationEngine) -> anyhow::Result<Box<dyn Rig>> {
        let engine_choice = match engine {
            CalibrationEngine::Uring => EngineChoice::Uring,
            CalibrationEngine::Fio => EngineChoice::FioCommitRates(self.directory.clone()),
        };
        target::rig(&engine_choice, &self.target, &self.consent, &[], self.simulation, &self.stop)
    }

    fn journal(&mut self) -> HostChanges {
        restore::journal()
    }

    fn report(&mut self, event: &CalibrationEvent<'_>) {
        match event {
            CalibrationEvent::Filling(bytes) => {
                terminal::status(&format!("Filling the range once ({bytes})"))
            }
            CalibrationEvent::Read { point, repeat, engine, reading } => {
                terminal::status(&format!(
                    "{point}, {repeat} of {}, {engine}: {:.0} IOPS",
                    self.repeats, reading.iops
                ))
            }
            CalibrationEvent::OwnCost(cost) => {
                terminal::status(&format!("{}: {:.0} IOPS", own_cost_name(cost), cost.iops));
            }
            CalibrationEvent::Remarks { checks, caveats } => rig_remarks::print(checks, caveats),
        }
    }
}

fn print(
    arguments: &CalibrateArguments,
    device: &Device,
    result: &CalibrationResult,
) -> anyhow::Result<()> {
    let CalibrationResult { engines, comparisons, own_costs } = result;
    let verdict = verdict(comparisons, arguments.within);
    if arguments.json {
        return terminal::print_json(&CalibrateOutput {
            device,
            engines,
            time_ns: arguments.time.0,
            within_percent: arguments.within,
            comparisons,
            own_costs,
            verdict,
        });
    }
    let head = format!("{}  ({} each)", arguments.target, arguments.time);
    terminal::print(&format!("{head}\n  {}\n  {}\n", engines[0], engines[1]))?;
    terminal::print(&comparison_table(comparisons))?;
    terminal::print(&format!(
        "\nEach line is the run of median IOPS. Ratio: IOPS of uring / fio per pair, median (lowest to highest). \
         CPU: busiest thread.\n\n{verdict}\n\n{}\n\nWith uring alone, one run each. ns CPU/IO: of the \
         thread that submits, in user space and in the kernel. Start error: how late an I/O that was \
         due was submitted, without its wait for a slot.",
        own_cost_table(own_costs)
    ))
}

fn own_cost_name(cost: &OwnCost) -> String {
    match cost.offered_iops {
        Some(rate) => format!("{} at {} IOPS", cost.point, text::number(rate, 0)),
        None => cost.point.clone(),
    }
}

/// Formats the costs of the native engine, one row each.
fn own_cost_table(costs: &[OwnCost]) -> String {
    let head = [
        "", "IOPS", "ART ms", "flush ms", "start error 50 % ms", "99 % ms", "max ms", "ns user/IO",
        "ns system/IO", "CPU",
    ];
    let row = |cost: &OwnCost| {
        [
            own_cost_name(cost),
            number_or_dash(Some(cost.iops), 1),
            milliseconds(cost.mean_ns),
            milliseconds(cost.flush_mean_ns),
            milliseconds(cost.start_error_p50_ns.map(|ns| ns as f64)),
            milliseconds(cost.start_error_p99_ns.map(|ns| ns as f64)),
            milliseconds(cost.start_error_max_ns.map(|ns| ns as f64)),
            number_or_dash(cost.user_ns_per_io, 0),
            number_or_dash(cost.system_ns_per_io, 0),
            percent(cost.busiest_thread),
        ]
    };
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(costs.iter().map(row));
    text_table::aligned(&rows)
}

/// Formats the comparisons, a row per engine.
fn comparison_table(comparisons: &[Comparison]) -> String {
    let head =
        ["", "", "IOPS", "MB/s", "ART ms", "99 % ms", "99.99 % ms", "ns CPU/IO", "CPU", "ratio"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(comparisons.iter().flat_map(comparison_rows));
    text_table::with_left(&rows, |column| column < 2 || column == head.len() - 1)
}

/// Returns the rows of both engines at one point.
fn comparison_rows(comparison: &Comparison) -> [[String; 10]; 2] {
    let (ratio, lowest, highest) = (comparison.ratio(), comparison.lowest(), comparison.highest());
    let range = format!("{ratio:.3} ({lowest:.3} to {highest:.3})");
    let remark = match comparison.judgement {
        Judgement::Agree => "",
        Judgement::Differ => "DIFFER",
        Judgement::Unsteady => "unsteady",
        Judgement::TooFew => "too few",
        Judgement::CpuBound => "CPU-bound",
        Judgement::FlushesDiffer => "FLUSHES DIFFER",
    };
    [
        engine_row(&comparison.point, CalibrationEngine::Uring, &comparison.uring, &range),
        engine_row("", CalibrationEngine::Fio, &comparison.fio, remark),
    ]
}

fn engine_row(
    point: &str,
    engine: CalibrationEngine,
    readings: &[CalibrationReading],
    last: &str,
) -> [String; 10] {
    let run = median_run(readings);
    let percentile =
        |of: fn(&CalibrationReading) -> Option<u64>| run.and_then(of).map(|ns| ns as f64);
    [
        point.to_owned(),
        engine.to_string(),
        number_or_dash(run.map(|run| run.iops), 1),
        number_or_dash(run.map(|run| run.bytes_per_second / 1e6), 2),
        milliseconds(run.and_then(|run| run.mean_ns)),
        milliseconds(percentile(|run| run.p99_ns)),
        milliseconds(percentile(|run| run.p9999_ns)),
        number_or_dash(run.and_then(|run| run.cpu_ns_per_io), 0),
        percent(run.and_then(|run| run.busiest_thread)),
        last.to_owned(),
    ]
}

fn milliseconds(ns: Option<f64>) -> String {
    number_or_dash(ns.map(|ns| ns / 1e6), 4)
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

/// Formats the judgements, a sentence for the points of each, and differences in flushes.
fn verdict(comparisons: &[Comparison], within: f64) -> String {
    let with_judgement = |judgement: Judgement| -> Vec<&Comparison> {
        comparisons.iter().filter(|c| c.judgement == judgement).collect()
    };
    let agreeing = with_judgement(Judgement::Agree);
    let largest_difference = agreeing.iter().map(|c| c.off()).fold(0.0, f64::max);
    let mut parts = Vec::new();
    if !agreeing.is_empty() {
        parts.push(format!(
            "uring and fio agree within {:.1} % at {} of {} points (bound: {within} %).",
            largest_difference * 100.0,
            agreeing.len(),
            comparisons.len()
        ));
    }
    for (judgement, sentence) in [
        (Judgement::Differ, "The engines DIFFER at"),
        (
            Judgement::Unsteady,
            "The device is too unsteady to compare; use more --runs or a longer --time, at",
        ),
        (
            Judgement::TooFew,
            "Too few pairs of runs to tell a difference from noise; use --runs 4 or more, at",
        ),
        (
            Judgement::CpuBound,
            "The host, not the device, was the limit, so the engines cannot be compared, \
             at",
        ),
        (Judgement::FlushesDiffer, "The kernel did not count the flushes that uring issued, at"),
    ] {
        let points: Vec<String> = with_judgement(judgement)
            .iter()
            .map(|c| format!("{} ({:+.1} %)", c.point, (c.ratio() - 1.0) * 100.0))
            .collect();
        if !points.is_empty() {
            parts.push(format!("{sentence} {}.", points.join(", ")));
        }
    }
    parts.extend(comparisons.iter().filter_map(flush_line));
    parts.join("\n")
}

/// Compares the flushes that were issued with those that the kernel counted.
fn flush_line(comparison: &Comparison) -> Option<String> {
    let FlushCounts { issued, counted } = comparison.flushes()?;
    Some(format!(
        "{}: uring issued {issued} flushes, the kernel counted {counted} (difference {:+}).",
        comparison.point,
        i128::from(counted) - i128::from(issued)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(iops: f64) -> CalibrationReading {
        CalibrationReading {
            iops,
            bytes_per_second: iops * 4096.0,
            mean_ns: Some(1e9 / iops),
            p99_ns: Some(1_000_000),
            p9999_ns: None,
            cpu_ns_per_io: Some(3000.0),
            busiest_thread: Some(0.2),
            flushes: None,
        }
    }

    fn compared(pairs: &[(f64, f64)]) -> Comparison {
        let point: CalibrationPoint = "RND 4K R T1Q32".parse().unwrap();
        let uring = pairs.iter().map(|(ours, _)| reading(*ours)).collect();
        let fio = pairs.iter().map(|(_, theirs)| reading(*theirs)).collect();
        Comparison::new(&point, uring, fio, 5.0, true)
    }

    #[test]
    fn the_verdict_names_every_point_that_does_not_agree() {
        let text = verdict(&[compared(&[(1010.0, 1000.0)]), compared(&[(1200.0, 1000.0); 4])], 5.0);
        assert!(text.contains("agree within 1.0 % at 1 of 2 points"), "{text}");
        assert!(text.contains("DIFFER at RND 4K R T1Q32 (+20.0 %)"), "{text}");
    }

    #[test]
    fn lost_flushes_are_in_the_verdict() {
        let flushes = Some(FlushCounts { issued: 500, counted: 480 });
        let point: CalibrationPoint = "RND 4K W FLUSH/1 T1Q1".parse().unwrap();
        let uring = vec![CalibrationReading { flushes, ..reading(1000.0) }];
        let compared = Comparison::new(&point, uring, vec![reading(1000.0)], 5.0, true);
        let text = verdict(&[compared], 5.0);
        assert!(text.contains("issued 500 flushes") && text.contains("(difference -20)"), "{text}");
        assert!(!text.contains("agree"), "{text}");
    }

    #[test]
    fn the_table_has_the_median_run_and_the_spread() {
        let table = comparison_table(&[compared(&[(1010.0, 1000.0), (990.0, 1000.0)])]);
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].starts_with("RND 4K R T1Q32  uring"), "{table}");
        assert!(lines[1].contains("990.0") && lines[1].ends_with("1.000 (0.990 to 1.010)"));
        assert!(lines[1].contains("20 %") && lines[2].contains(" – "), "{table}");
        let column = |line: &str, text| line.split(text).next().unwrap().chars().count();
        assert_eq!(column(lines[0], "ratio"), column(lines[1], "1.000 ("), "{table}");
    }
}
