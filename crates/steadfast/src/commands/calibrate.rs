//! `steadfast calibrate`: the same points through our engine and through fio,
//! taking turns, and what that says.

use super::{doctor, restore};
use crate::cli::CalibrateArguments;
use crate::exit::{Outcome, misuse};
use crate::target::{self, Course, Kept, Mover, Named};
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, DataPattern, Pace, Until};
use steadfast_domain::{
    Bytes, Conditions, Demand, Device, Measurement, Nanos, Place, Step, Stimulus,
};
use steadfast_engine::Stop;
use steadfast_host::{Consent, Roots};
use steadfast_runner::{Rig, apply_settled};

/// The points where none are named: one I/O at a time, many, and large ones.
const POINTS: [(&str, Demand); 3] = [
    ("RND 4K", Demand::new(1, 1)),
    ("RND 4K", Demand::new(1, 32)),
    ("SEQ 128K", Demand::new(1, 32)),
];

/// Of this much of its time a thread that never waits for the device uses a
/// processor: what is measured then is the engine, not the device.
const BUSY: f64 = 0.95;

/// Ratios of one point that lie so many bounds apart say nothing, even where
/// their median is near 1.
const SPREAD: f64 = 4.0;

/// An access pattern and a demand: `RND 4K R T1Q32`.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pattern: AccessPattern,
    demand: Demand,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pattern, self.demand)
    }
}

impl FromStr for Point {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.trim().rsplit_once(char::is_whitespace);
        let (pattern, demand) = parts
            .ok_or_else(|| format!("'{text}' is not a point; write it like \"RND 4K R T1Q32\""))?;
        Ok(Point {
            pattern: pattern.parse().map_err(|e| format!("{e}"))?,
            demand: demand.parse().map_err(|e| format!("{e}"))?,
        })
    }
}

/// What one run of one point gave.
#[derive(Debug, Clone, Serialize)]
struct Reading {
    iops: f64,
    bytes_per_second: f64,
    mean_ns: f64,
    p99_ns: Option<u64>,
    p9999_ns: Option<u64>,
    cpu_ns_per_io: Option<f64>,
    busiest_thread: Option<f64>,
}

/// A point's runs, and what they say.
#[derive(Debug, Serialize)]
struct Comparison {
    point: String,
    uring: Vec<Reading>,
    fio: Vec<Reading>,
    /// IOPS of uring over IOPS of fio, pair by pair, in ascending order.
    ratios: Vec<f64>,
    judgement: Judgement,
}

/// What a point says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Judgement {
    /// The median ratio is within the bound.
    Agree,
    /// It is not, and every pair lies on the same side of 1.
    Differ,
    /// The pairs lie on both sides of 1, far apart or with their median off.
    Unsteady,
    /// A load thread used a processor all the time.
    CpuBound,
}

/// Everything, as JSON.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    device: &'a Device,
    engines: [String; 2],
    time_ns: u64,
    within_percent: f64,
    comparisons: &'a [Comparison],
    verdict: String,
}

/// What is compared, and how.
struct Plan<'a> {
    arguments: &'a CalibrateArguments,
    named: Named,
    consent: Consent,
    points: Vec<Point>,
    range: ActiveRange,
    stop: Stop,
    /// Where fio keeps its files.
    directory: PathBuf,
    engines: [String; 2],
}

/// Compares, and prints the table and the verdict.
pub fn run(arguments: &CalibrateArguments) -> anyhow::Result<Outcome> {
    let named = target::find(&arguments.target, arguments.size)?;
    let Named::Real(device) = &named else {
        return Err(misuse(format!(
            "{} exists in virtual time only; fio needs a block device or a file",
            arguments.target
        )));
    };
    let device = device.clone();
    let consent = consent(arguments, &device);
    let points = points(arguments, consent != Consent::Read);
    let kept = Kept::new(arguments.keep.as_deref())?;
    let unit = points.iter().map(|p| p.pattern.size.0).max().unwrap_or(512);
    let length = Bytes(arguments.range.0.min(device.capacity.0)).round_down(unit.max(4096));
    let mut plan = Plan {
        arguments,
        named,
        consent,
        points,
        range: ActiveRange::new(Bytes(0), length),
        stop: target::stop_on_signals()?,
        directory: kept.path().to_owned(),
        engines: Default::default(),
    };
    plan.announce();
    plan.check_both_can()?;
    plan.fill()?;
    let comparisons = plan.compare()?;
    let verdict = verdict(&comparisons, arguments.within);
    if arguments.json {
        terminal::print_json(&Answer {
            device: &device,
            engines: plan.engines,
            time_ns: arguments.time.0,
            within_percent: arguments.within,
            comparisons: &comparisons,
            verdict: verdict.clone(),
        })?;
    } else {
        terminal::print(&plan.table(&comparisons))?;
        terminal::print(&format!("\n{verdict}"))?;
    }
    let agreed = comparisons.iter().any(|c| c.judgement == Judgement::Agree)
        && comparisons
            .iter()
            .all(|c| matches!(c.judgement, Judgement::Agree | Judgement::CpuBound));
    Ok(if agreed { Outcome::Done } else { Outcome::OutsideLimits })
}

/// Writes where the user allowed it, or onto a file that is known to be ours.
fn consent(arguments: &CalibrateArguments, device: &Device) -> Consent {
    let destroy = Consent::Destroy { confirmation: arguments.yes_destroy.clone() };
    let asked = arguments.yes_destroy.is_some()
        || arguments.points.iter().any(|point| point.pattern.read_percent < 100);
    if asked || steadfast_host::arm(device, &destroy, &[], &Roots::real()).is_ok() {
        return destroy;
    }
    Consent::Read
}

fn points(arguments: &CalibrateArguments, writes: bool) -> Vec<Point> {
    if !arguments.points.is_empty() {
        return arguments.points.clone();
    }
    let directions: &[&str] = if writes { &["R", "W"] } else { &["R"] };
    let all = POINTS.iter().flat_map(|(pattern, demand)| {
        directions.iter().filter_map(move |direction| {
            let pattern = format!("{pattern} {direction}").parse().ok()?;
            Some(Point { pattern, demand: *demand })
        })
    });
    all.collect()
}

impl Plan<'_> {
    fn announce(&self) {
        let runs = self.points.len() as u32 * 2 * self.arguments.repeats;
        let seconds = (self.arguments.time + self.arguments.ramp).as_secs_f64() + 0.5;
        terminal::complain(&format!(
            "{} points x 2 engines x {} repeats on the first {} of {}: about {:.0} s",
            self.points.len(),
            self.arguments.repeats,
            self.range.length,
            self.arguments.target,
            f64::from(runs) * seconds
        ));
        if self.consent == Consent::Read {
            terminal::complain(
                "Reads only: nothing may be written here. Parts that were never written are read \
                 without touching the medium.",
            );
        }
    }

    fn rig(&self, mover: &Mover) -> anyhow::Result<Box<dyn Rig>> {
        let course = Course::of(self.arguments.seed);
        target::rig(mover, &self.named, &self.consent, &[], course, &self.stop)
    }

    fn movers(&self) -> [Mover; 2] {
        [Mover::Uring, Mover::Fio(self.directory.clone())]
    }

    /// What either cannot do is said before anything is done.
    fn check_both_can(&mut self) -> anyhow::Result<()> {
        for (number, mover) in self.movers().iter().enumerate() {
            let mut rig = self.rig(mover)?;
            self.engines[number] = rig.engine();
            for point in &self.points {
                rig.prepare(&self.step(point, 1, 1))
                    .with_context(|| format!("{point} with the engine {}", mover.name()))?;
            }
        }
        Ok(())
    }

    /// Writes the range once, so that reads find something on the medium.
    fn fill(&self) -> anyhow::Result<()> {
        if self.consent == Consent::Read {
            return Ok(());
        }
        terminal::complain(&format!("Writing the range once ({})", self.range.length));
        let point: Point = "SEQ 128K W T1Q32".parse().map_err(anyhow::Error::msg)?;
        let until = Until::bytes(self.range.length);
        let mut rig = self.rig(&Mover::Uring)?;
        self.apply(rig.as_mut(), &self.step_until(&point, 0, 0, until, Nanos::ZERO))?;
        Ok(())
    }

    fn step(&self, point: &Point, repeat: u32, number: u32) -> Step {
        let until = Until::time(self.arguments.time);
        self.step_until(point, repeat, number, until, self.arguments.ramp)
    }

    fn step_until(
        &self,
        point: &Point,
        repeat: u32,
        number: u32,
        until: Until,
        ramp: Nanos,
    ) -> Step {
        let place = Place::new("calibrate", repeat, number, point.to_string());
        let stimulus = Stimulus {
            streams: point.pattern.streams(),
            zones: Vec::new(),
            demand: point.demand,
            active_range: self.range,
            data_pattern: DataPattern::RandomUnique,
            pace: Pace::Closed,
            ramp,
            until,
            seed: place.seed(self.arguments.seed),
            verify: false,
        };
        Step::alone(place, stimulus)
    }

    /// Every point, the engines taking turns: A B, B A, A B, ...
    fn compare(&self) -> anyhow::Result<Vec<Comparison>> {
        let movers = self.movers();
        let mut all = Vec::new();
        for (number, point) in (1..).zip(&self.points) {
            let mut readings = [Vec::new(), Vec::new()];
            for repeat in 1..=self.arguments.repeats {
                for turn in 0..2 {
                    let which = (repeat as usize + 1 + turn) % 2;
                    let reading = self.measure(&movers[which], point, repeat, number)?;
                    terminal::complain(&format!(
                        "{point}, {repeat} of {}, {}: {:.0} IOPS",
                        self.arguments.repeats,
                        movers[which].name(),
                        reading.iops
                    ));
                    readings[which].push(reading);
                }
            }
            let [uring, fio] = readings;
            all.push(Comparison::new(point, uring, fio, self.arguments.within));
        }
        Ok(all)
    }

    fn measure(
        &self,
        mover: &Mover,
        point: &Point,
        repeat: u32,
        number: u32,
    ) -> anyhow::Result<Reading> {
        let step = self.step(point, repeat, number);
        let mut rig = self.rig(mover)?;
        let measurement = self.apply(rig.as_mut(), &step)?;
        for caveat in rig.take_caveats() {
            terminal::complain(&caveat.text);
        }
        reading(&measurement)
            .with_context(|| format!("{point} with the engine {}: no I/O completed", mover.name()))
    }

    fn apply(&self, rig: &mut dyn Rig, step: &Step) -> anyhow::Result<Measurement> {
        let writes = self.consent != Consent::Read;
        let wanted = writes.then(|| Conditions { merges: Some(false), ..Conditions::default() });
        let prepared = rig.prepare(step).map_err(|refusal| refusal.of(step))?;
        let result = apply_settled(rig, wanted.as_ref(), prepared, &mut restore::journal());
        rig.look_back().iter().filter_map(doctor::remark).for_each(|l| terminal::complain(&l));
        Ok(result?)
    }

    fn table(&self, comparisons: &[Comparison]) -> String {
        let mut lines = vec![
            format!("{}  ({} each)", self.arguments.target, self.arguments.time),
            format!("  {}", self.engines[0]),
            format!("  {}", self.engines[1]),
            String::new(),
            row(&[
                "",
                "",
                "IOPS",
                "MB/s",
                "ART ms",
                "99 % ms",
                "99.99 %",
                "ns CPU/IO",
                "CPU",
                "ratio",
            ]),
        ];
        for comparison in comparisons {
            lines.extend(comparison.lines());
        }
        lines.push(String::new());
        lines.push(
            "Medians of the repeats; ratio: uring to fio of every pair, median (lowest to \
             highest); CPU: busiest thread."
                .to_owned(),
        );
        lines.join("\n")
    }
}

/// Columns of the table, from the left.
const WIDTHS: [usize; 9] = [18, 6, 11, 9, 9, 9, 9, 10, 6];

fn row(cells: &[&str]) -> String {
    let mut line = String::new();
    for (number, cell) in cells.iter().enumerate() {
        match (number, WIDTHS.get(number)) {
            (0 | 1, Some(width)) => line += &format!("{cell:<width$}"),
            (_, Some(width)) => line += &format!("{cell:>width$}"),
            (_, None) => line += &format!("  {cell}"),
        }
    }
    line.trim_end().to_owned()
}

fn reading(measurement: &Measurement) -> Option<Reading> {
    let total = measurement.total();
    let per_io = |nanos: u64| nanos as f64 / total.ios as f64;
    Some(Reading {
        iops: measurement.iops().filter(|iops| *iops > 0.0)?,
        bytes_per_second: measurement.bytes_per_second()?,
        mean_ns: per_io(total.response_sum.0),
        p99_ns: total.percentile(0.99).map(|time| time.0),
        p9999_ns: total.percentile(0.9999).map(|time| time.0),
        cpu_ns_per_io: measurement.cpu.map(|cpu| per_io(cpu.user.0 + cpu.system.0)),
        busiest_thread: measurement.sensed.busiest_thread,
    })
}

impl Comparison {
    fn new(point: &Point, uring: Vec<Reading>, fio: Vec<Reading>, within: f64) -> Self {
        let mut ratios: Vec<f64> = uring.iter().zip(&fio).map(|(a, b)| a.iops / b.iops).collect();
        ratios.sort_by(f64::total_cmp);
        let mut comparison = Comparison {
            point: point.to_string(),
            uring,
            fio,
            ratios,
            judgement: Judgement::Agree,
        };
        comparison.judgement = comparison.judge(within);
        comparison
    }

    fn judge(&self, within: f64) -> Judgement {
        let busy = |readings: &[Reading]| {
            median(readings.iter().filter_map(|r| r.busiest_thread)).is_some_and(|b| b >= BUSY)
        };
        let same_side =
            self.ratios.iter().all(|r| *r > 1.0) || self.ratios.iter().all(|r| *r < 1.0);
        let bound = within / 100.0;
        let spread = self.highest() - self.lowest();
        match self.off() {
            _ if !same_side && spread > SPREAD * bound => Judgement::Unsteady,
            off if off <= bound => Judgement::Agree,
            _ if busy(&self.uring) || busy(&self.fio) => Judgement::CpuBound,
            _ if same_side => Judgement::Differ,
            _ => Judgement::Unsteady,
        }
    }

    /// How far the median ratio is from 1.
    fn off(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }

    fn ratio(&self) -> f64 {
        median(self.ratios.iter().copied()).unwrap_or(f64::NAN)
    }

    fn lowest(&self) -> f64 {
        self.ratios.first().copied().unwrap_or(f64::NAN)
    }

    fn highest(&self) -> f64 {
        self.ratios.last().copied().unwrap_or(f64::NAN)
    }

    fn lines(&self) -> Vec<String> {
        let range = format!("{:.3} ({:.3} to {:.3})", self.ratio(), self.lowest(), self.highest());
        let remark = match self.judgement {
            Judgement::Agree => "",
            Judgement::Differ => "DIFFER",
            Judgement::Unsteady => "unsteady",
            Judgement::CpuBound => "CPU-bound",
        };
        vec![
            engine_line(&self.point, "uring", &self.uring, &range),
            engine_line("", "fio", &self.fio, remark),
        ]
    }
}

fn engine_line(point: &str, engine: &str, readings: &[Reading], last: &str) -> String {
    let of = |value: fn(&Reading) -> Option<f64>, digits: usize| {
        median(readings.iter().filter_map(value))
            .map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    row(&[
        point,
        engine,
        &of(|r| Some(r.iops), 1),
        &of(|r| Some(r.bytes_per_second / 1e6), 2),
        &of(|r| Some(r.mean_ns / 1e6), 4),
        &median(readings.iter().filter_map(|r| ms(r.p99_ns)))
            .map_or("-".to_owned(), |value| format!("{value:.4}")),
        &median(readings.iter().filter_map(|r| ms(r.p9999_ns)))
            .map_or("-".to_owned(), |value| format!("{value:.4}")),
        &of(|r| r.cpu_ns_per_io, 0),
        &median(readings.iter().filter_map(|r| r.busiest_thread))
            .map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
        last,
    ])
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        even if even.is_multiple_of(2) => Some((values[middle - 1] + values[middle]) / 2.0),
        _ => Some(values[middle]),
    }
}

fn verdict(comparisons: &[Comparison], within: f64) -> String {
    let named = |judgement: Judgement| -> Vec<&Comparison> {
        comparisons.iter().filter(|c| c.judgement == judgement).collect()
    };
    let list = |all: &[&Comparison]| {
        all.iter()
            .map(|c| format!("{} ({:+.1} %)", c.point, (c.ratio() - 1.0) * 100.0))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let agreeing = named(Judgement::Agree);
    let off = agreeing.iter().map(|c| c.off()).fold(0.0, f64::max);
    let mut parts = Vec::new();
    if !agreeing.is_empty() {
        parts.push(format!(
            "uring and fio agree within {:.1} % at {} of {} points (bound: {within} %).",
            off * 100.0,
            agreeing.len(),
            comparisons.len()
        ));
    }
    for (judgement, what) in [
        (Judgement::Differ, "THEY DIFFER at"),
        (Judgement::Unsteady, "The device is too unsteady to tell, repeat more or longer, at"),
        (
            Judgement::CpuBound,
            "The host and not the device set the pace, so nothing is said of the engines' truth, \
             at",
        ),
    ] {
        let found = named(judgement);
        if !found.is_empty() {
            parts.push(format!("{what} {}.", list(&found)));
        }
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(iops: f64, busy: f64) -> Reading {
        Reading {
            iops,
            bytes_per_second: iops * 4096.0,
            mean_ns: 1e9 / iops,
            p99_ns: Some(1_000_000),
            p9999_ns: None,
            cpu_ns_per_io: Some(3000.0),
            busiest_thread: Some(busy),
        }
    }

    fn compared(pairs: &[(f64, f64)], busy: f64) -> Comparison {
        let point: Point = "RND 4K R T1Q32".parse().unwrap();
        let uring = pairs.iter().map(|(ours, _)| reading(*ours, busy)).collect();
        let fio = pairs.iter().map(|(_, theirs)| reading(*theirs, 0.1)).collect();
        Comparison::new(&point, uring, fio, 5.0)
    }

    #[test]
    fn a_point_is_judged_by_its_pairs() {
        let of = |pairs: &[(f64, f64)], busy| compared(pairs, busy).judgement;
        assert_eq!(of(&[(1010.0, 1000.0), (990.0, 1000.0)], 0.2), Judgement::Agree);
        assert_eq!(of(&[(1100.0, 1000.0), (1120.0, 1000.0)], 0.2), Judgement::Differ);
        assert_eq!(of(&[(1100.0, 1000.0), (1120.0, 1000.0)], 0.99), Judgement::CpuBound);
        assert_eq!(of(&[(1130.0, 1000.0), (990.0, 1000.0)], 0.2), Judgement::Unsteady);
        assert_eq!(of(&[(1500.0, 1000.0), (510.0, 1000.0)], 0.2), Judgement::Unsteady);
    }

    #[test]
    fn the_verdict_names_every_point_that_does_not_agree() {
        let good = compared(&[(1010.0, 1000.0)], 0.2);
        let bad = compared(&[(1200.0, 1000.0)], 0.2);
        let text = verdict(&[good, bad], 5.0);
        assert!(text.contains("agree within 1.0 % at 1 of 2 points"), "{text}");
        assert!(text.contains("DIFFER at RND 4K R T1Q32 (+20.0 %)"), "{text}");
    }

    #[test]
    fn a_line_of_the_table_has_medians_and_the_spread() {
        let lines = compared(&[(1010.0, 1000.0), (990.0, 1000.0)], 0.2).lines();
        assert!(lines[0].starts_with("RND 4K R T1Q32"), "{}", lines[0]);
        assert!(lines[0].contains("1000.0") && lines[0].contains("1.000 (0.990 to 1.010)"));
        assert!(lines[0].contains("20 %") && lines[1].contains(" - "), "{}", lines[1]);
    }

    #[test]
    fn a_point_is_a_pattern_and_a_demand() {
        let point: Point = " SEQ 128K RW90 T2Q16".parse().unwrap();
        assert_eq!(point.to_string(), "SEQ 128K RW90 T2Q16");
        assert!("RND".parse::<Point>().unwrap_err().contains("RND 4K R T1Q32"));
        assert!("RND 4K R 32".parse::<Point>().unwrap_err().contains("demand"));
    }
}
