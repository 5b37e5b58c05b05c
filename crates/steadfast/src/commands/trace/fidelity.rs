//! `workload derive --report`: the fidelity of a derived workload to its capture, by aspect.

use crate::cli::trace::{DeriveArguments, FilterArguments};
use crate::filtered_capture::FilteredCapture;
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::sync::Arc;
use steadfast_analysis::PassOptions;
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Pace};
use steadfast_domain::{Bytes, Demand, Op, Stimulus};
use steadfast_engine::arrival_times::ArrivalTimes;
use steadfast_engine::draw::{DrawPlan, IoGenerator};
use steadfast_report::text_table;
use steadfast_workload::fidelity::{
    AppliedIo, AspectScore, DRAWN_MAX, DrawnLoad, TraceProfile, VirtualApplication, simplifications,
};
use steadfast_workload::placement::key_of;
use steadfast_workload::{AddressRange, ArrivalProcess, WorkloadFile};

/// Length of a drawing's range if the extent of the captured addresses is unknown.
const UNKNOWN_RANGE: u64 = 1 << 40;

/// Agreement of a derived workload with its capture.
#[derive(Serialize, schemars::JsonSchema)]
pub struct DerivedFidelity {
    /// Capture that was scored; null for a drawing of the workload.
    against: Option<String>,
    /// I/Os of the capture.
    captured_ios: u64,
    /// I/Os of the drawing or of the other capture.
    applied_ios: u64,
    /// One score per aspect, never added up.
    aspects: Vec<AspectScore>,
    /// Losses, one sentence each.
    lost: Vec<String>,
}

/// Scores a drawing of a derived workload, or a capture of its application.
pub fn measured(
    arguments: &DeriveArguments,
    file: &WorkloadFile,
    selected: &FilteredCapture,
) -> anyhow::Result<DerivedFidelity> {
    let range = selected.ask(AddressRange::from_capture)?.ok();
    let mut captured = selected.ask(|captured, pass| TraceProfile::read(captured, pass, range))?;
    // Another capture has losses of its own, which only its scores show.
    let mut lost = match arguments.against {
        Some(_) => Vec::new(),
        None => simplifications(file),
    };
    let (against, applied_ios, aspects) = match &arguments.against {
        Some(path) => {
            let FilterArguments { window, layer, .. } = arguments.selection.filter;
            let filter = FilterArguments { window, layer, ..FilterArguments::default() };
            let other = FilteredCapture::files(std::slice::from_ref(path), &filter)?;
            let theirs = other.ask(AddressRange::from_capture)?.ok();
            let applied = other.ask(|captured, pass| TraceProfile::read(captured, pass, theirs))?;
            (Some(other.name.clone()), applied.ios, AspectScore::all(&captured, &applied))
        }
        None => {
            let application = application(file, selected, arguments.demand, captured.ios, range);
            if application.ios < captured.ios {
                captured.forget_locality();
                lost.push(format!(
                    "Only {} of {} I/Os are drawn, too few to compare reuse distances.",
                    application.ios, captured.ios
                ));
            }
            let draw = |pace: &Pace, seed| {
                drawing(file, &application, pace, &captured, seed, selected.pass.window)
            };
            let pace = file.arrivals.all.as_ref().map_or(Pace::Closed, ArrivalProcess::pace);
            let drawings = [draw(&pace, 1)?, draw(&pace, 2)?];
            let by_stream =
                file.stream_paces(&file.io_streams()?.0).map(|pace| draw(&pace, 1)).transpose()?;
            let aspects =
                AspectScore::of_drawings(&captured, drawings.each_ref(), by_stream.as_ref());
            (None, application.ios, aspects)
        }
    };
    let sentence = |score: &AspectScore| {
        format!("{}: {}.", score.aspect, score.difference.as_deref().unwrap_or_default())
    };
    lost.extend(aspects.iter().filter(|score| score.is_lost()).map(sentence));
    Ok(DerivedFidelity { against, captured_ios: captured.ios, applied_ios, aspects, lost })
}

/// Returns how a workload is applied: with the default demand of a schedule if it carries arrivals.
fn application(
    file: &WorkloadFile,
    selected: &FilteredCapture,
    chosen: Option<Demand>,
    ios: u64,
    range: Option<AddressRange>,
) -> VirtualApplication {
    let length = range.map(|range| range.length).or(selected.captured.end_of_range());
    let usual = file.arrivals.all.as_ref().map_or(file.demand, |_| Some(Demand::SCHEDULED));
    VirtualApplication {
        ios: ios.min(DRAWN_MAX),
        demand: chosen.or(usual).unwrap_or(Demand::new(1, 1)),
        range: length.unwrap_or(UNKNOWN_RANGE),
        seed: 0,
    }
}

/// Draws the workload with the generator of the engines, and reads the drawing as a capture.
fn drawing(
    file: &WorkloadFile,
    application: &VirtualApplication,
    pace: &Pace,
    captured: &TraceProfile,
    seed: u64,
    window: usize,
) -> anyhow::Result<TraceProfile> {
    let VirtualApplication { ios, demand, range, .. } = *application;
    let (streams, _) = file.io_streams()?;
    let keys: Vec<_> = streams.iter().map(key_of).collect();
    let streams = streams.into_iter().map(|stream| stream.with_room_in_zones(Bytes(range)));
    let area = ActiveRange::new(Bytes(0), Bytes(range));
    let stimulus = Stimulus::new(streams.collect(), area, demand, LoadLimits::ios(ios))
        .pace(pace.clone())
        .seed(seed);
    let plan = DrawPlan::new(&stimulus);
    let plan = plan.map_err(|why| anyhow!("{}: cannot draw its I/Os: {why}", file.name))?;
    let mut load = DerivedLoad {
        generator: IoGenerator::new(Arc::new(plan), seed, 0),
        times: ArrivalTimes::new(&stimulus, 0, 1, seed),
        keys,
    };
    let application = VirtualApplication { seed, ..application.clone() };
    let drawn = application.apply(captured, &mut load).context("the drawing")?;
    let device = AddressRange { device: 0, length: range };
    let pass = PassOptions { window, ..PassOptions::default() };
    let mut profile = TraceProfile::read(&drawn, &pass, Some(device)).context("the drawing")?;
    if !captured.has_responses() {
        profile.forget_depths();
        // At a rate of its own, an I/O is issued no later for the response times of others.
        if pace.offered_iops().is_none() {
            profile.forget_gaps();
        }
    }
    Ok(profile)
}

/// A derived workload as the engines draw it.
struct DerivedLoad {
    generator: IoGenerator,
    /// Due times; `None` in a closed loop.
    times: Option<ArrivalTimes>,
    /// Key of each stream.
    keys: Vec<StreamKey>,
}

impl DrawnLoad for DerivedLoad {
    fn due_ns(&self) -> Option<u64> {
        self.times.as_ref().map_or(Some(0), ArrivalTimes::due_ns)
    }

    fn draw(&mut self) -> AppliedIo {
        let stream = self.times.as_ref().and_then(ArrivalTimes::stream);
        let drawn = self.generator.draw_of(stream);
        if let Some(times) = &mut self.times {
            times.note_issue();
        }
        let bytes = if drawn.op == Op::Flush { 0 } else { drawn.size };
        AppliedIo { op: self.keys[drawn.stream as usize].op, offset: drawn.offset, bytes }
    }

    fn all_complete(&mut self, now_ns: u64) {
        if let Some(times) = &mut self.times {
            times.note_idle(now_ns);
        }
    }
}

impl DerivedFidelity {
    /// Returns the table of scores, their definitions and what was lost.
    pub fn lines(&self) -> String {
        let number =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
        let head =
            ["Aspect", "Score", "Best", "By stream", "Largest difference"].map(str::to_owned);
        let rows = self.aspects.iter().map(|score| {
            let unknown = || score.unknown.unwrap_or_default().to_owned();
            let text = score.difference.clone().unwrap_or_else(unknown);
            let [own, best, by_stream] = [score.score, score.best, score.by_stream].map(number);
            [score.aspect.to_owned(), own, best, by_stream, text]
        });
        let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
        let applied = match &self.against {
            Some(name) => name.clone(),
            None => "a drawing of the workload, without a device".to_owned(),
        };
        let mut text = format!(
            "\nFidelity: {} captured I/Os and {} of {applied}\n{}\n",
            self.captured_ios,
            self.applied_ios,
            text_table::with_left(&rows, |column| matches!(column, 0 | 4))
        );
        for score in &self.aspects {
            text.push_str(&format!("{}: {}\n", score.aspect, score.definition));
        }
        text.push_str(if self.lost.is_empty() { "Lost: nothing" } else { "Lost:" });
        self.lost.iter().for_each(|sentence| text.push_str(&format!("\n- {sentence}")));
        text
    }
}
