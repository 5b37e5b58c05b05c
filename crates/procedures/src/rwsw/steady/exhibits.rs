//! Exhibits of the two tests: distribution of the streams, IOPS over time until steady state, and
//! IOPS, response times, MB/s and power by segment.

use super::setup::{RwswWsatKind, SteadyStreams};
use crate::common::applied::ApplicableWorkload;
use crate::common::attempts::steps_of;
use crate::common::cyclic_load::CyclicLoad;
use crate::exhibits::cyclic_load::{check_exhibits, convergence_plot, evidence, fresh_caveat};
use crate::exhibits::disclosure::{self, ReportForm, form_demands};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::report_notation::{count_word, limits_text, reservation_text};
use crate::rwsw::composite::CapturedComposite;
use crate::rwsw::disclosure as captured;
use crate::rwsw::segments::{
    NamedSteps, RwswSegment, distribution, iops_over_time, iops_response, key_figures,
    segments_table, stream_counts, streams_table, throughput_power,
};
use steadfast_domain::findings::{Exhibit, KeyFigure, Origin, Page, Setting, Table};
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{Caveat, Measurement, Outcome, Record, Step, Verdict, caveats as ids};

pub struct JudgedRun<'a> {
    run: &'a CyclicLoad,
    steps: Vec<(&'a Step, &'a Outcome)>,
    verdict: Verdict,
}

pub struct RwswSteadyResults<'a> {
    judged: Vec<JudgedRun<'a>>,
    segments: Vec<RwswSegment>,
}

impl<'a> RwswSteadyResults<'a> {
    fn begun(&self) -> impl Iterator<Item = &JudgedRun<'a>> {
        self.judged.iter().filter(|judged| !judged.steps.is_empty())
    }

    fn steady_count(&self) -> usize {
        self.judged.iter().filter(|judged| judged.verdict.steady).count()
    }
}

impl JudgedRun<'_> {
    /// Returns the reported minutes: those of the window, steady or not; without a window, all
    /// that have a value.
    fn reported(&self) -> Vec<&Measurement> {
        let points = self.run.track(&self.steps).points;
        let counts = |round: u32| match self.verdict.window {
            Some((first, last)) => (first..=last).contains(&round),
            None => points.iter().any(|point| point.round == round && point.value.is_some()),
        };
        let measured = self.measured().filter(|(step, _)| counts(step.place.round));
        measured.map(|(_, outcome)| &outcome.measurement).collect()
    }

    fn measured(&self) -> impl Iterator<Item = &(&Step, &Outcome)> {
        self.steps.iter().filter(|(step, _)| self.run.is_measured(step.place.point))
    }
}

type RwswSteadyRun<'a> = StudiedRun<'a, SteadyStreams>;

impl ProcedureReport for SteadyStreams {
    type Results<'a> = RwswSteadyResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(table),
        ReportEntry::FormPages(|run| vec![distribution_page(run)]),
        ReportEntry::FormPlot(|run| {
            let begun = run.results.begun();
            let runs: Vec<NamedSteps<'_>> =
                begun.map(|judged| (judged.run.label.clone(), judged.steps.clone())).collect();
            let title = format!("{} Segment IOPS v Time", name(run.test));
            iops_over_time(&title, run.test.setup.step_time, &runs)
        }),
        ReportEntry::FormPlot(|run| {
            let title = format!("{} IOPS & Response Time by Segment", name(run.test));
            iops_response(&title, corner(run.test), &run.results.segments)
        }),
        ReportEntry::FormPlot(|run| {
            let title = format!("{} Throughput & Power by Segment", name(run.test));
            throughput_power(&title, corner(run.test), &run.results.segments)
        }),
        ReportEntry::Setup,
        ReportEntry::Chapters(|run| vec![captured::workload_chapter(&run.test.composite)]),
        ReportEntry::General,
        ReportEntry::Chapter("What Was Done"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| table(run).with_id("segments-all")),
        ReportEntry::Chapters(|run| run.results.begun().map(steady_chapter).collect()),
        ReportEntry::Secondary,
        ReportEntry::Table(|run| {
            let points: Vec<SecondaryPoint> =
                run.results.segments.iter().map(SecondaryPoint::from).collect();
            secondary::points_table("secondary", "Secondary metrics by segment", &points)
        }),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["iops-time", "segments-iops-response"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let judged: Vec<JudgedRun<'_>> = self.runs.iter().map(|run| judge(run, record)).collect();
        let results = RwswSteadyResults { segments: segments(self, &judged), judged };
        StudiedRun { test: self, record, choices: self.choices(), results }
    }

    fn title(&self) -> String {
        format!("{} {}", name(self), self.composite)
    }

    fn form(run: &RwswSteadyRun<'_>) -> ReportForm {
        let rounds = match run.results.judged.as_slice() {
            [only] => disclosure::window_text(&only.verdict),
            many => format!("{} of {} streams", run.results.steady_count(), many.len()),
        };
        let mut test_parameters = disclosure::common_test_rows(&run.choices);
        test_parameters
            .extend(captured::workload_rows(&run.test.composite, &run.test.setup.settings));
        test_parameters.extend([
            run.choices.demand_row("TOIO - TC/QD", form_demands(&run.choices.demands)),
            run.choices.step_row("Step"),
            Setting::method("cycle", "Cycle", run.test.cycle_text(), Origin::Profile),
            Setting::outcome("Steady State", rounds),
        ]);
        ReportForm {
            test: format!("{} Test", name(run.test)),
            subtitle: format!("{} - {}", name(run.test), subtitle(run.test)),
            set_up: captured::set_up_rows(&run.choices, &run.test.regime),
            test_parameters,
        }
    }

    fn ending(run: &RwswSteadyRun<'_>) -> String {
        let all = run.results.judged.len();
        if !run.record.has_ended() {
            let begun = run.results.begun().count();
            return format!("The run is not finished: {begun} of {all} runs have begun.");
        }
        let steady = run.results.steady_count();
        match (run.test.kind, run.results.judged.first().and_then(|judged| judged.verdict.window)) {
            (RwswWsatKind::Multi, Some((first, last))) if steady == 1 => {
                let reservation = run.results.judged.first().map(|r| reservation_text(&r.verdict));
                let reservation = reservation.unwrap_or_default();
                format!("Steady state in rounds {first} to {last}{reservation}.")
            }
            (RwswWsatKind::Multi, _) => {
                "Steady state NOT achieved in the maximum number of rounds.".to_owned()
            }
            (RwswWsatKind::Individual, _) if steady == all => {
                format!("All {steady} I/O streams reached steady state.")
            }
            (RwswWsatKind::Individual, _) => {
                format!("Steady state NOT achieved in {} of {all} I/O streams.", all - steady)
            }
        }
    }

    fn verdict(run: &RwswSteadyRun<'_>) -> Option<Verdict> {
        whole_verdict(&run.results.judged)
    }

    fn caveats(run: &RwswSteadyRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if run.record.has_ended() {
            caveats.extend(not_steady(&run.results.judged));
        }
        caveats.extend(run.results.judged.iter().find_map(|judged| fresh_caveat(&judged.verdict)));
        caveats.push(captured::cadence(&run.test.setup, &run.test.cycle_text()));
        let composite = &run.test.composite;
        caveats.extend(captured::caveats(composite, &run.test.setup, &run.test.regime));
        caveats.extend(captured::arrivals_missed(composite, &run.choices, run.record));
        caveats
    }

    /// The rate of every stream, and per watt; of all of them together what the window gave.
    fn figures(run: &RwswSteadyRun<'_>) -> Vec<KeyFigure> {
        match run.test.kind {
            RwswWsatKind::Individual => {
                let rate = |s: &RwswSegment| {
                    KeyFigure::new(&crate::report_notation::slug(&s.name), &s.name, s.iops, "IOPS")
                };
                let per_watt = |s: &RwswSegment| {
                    let id = format!("{}-per-watt", crate::report_notation::slug(&s.name));
                    let label = format!("{}, rate per watt", s.name);
                    KeyFigure::new(&id, label, s.iops_per_watt(), "IOPS/W")
                };
                let segments = || run.results.segments.iter();
                segments().map(rate).chain(segments().map(per_watt)).collect()
            }
            RwswWsatKind::Multi => run
                .results
                .judged
                .iter()
                .flat_map(|judged| key_figures(&RwswSegment::new("Window", &judged.reported())))
                .collect(),
        }
    }
}

fn table(run: &RwswSteadyRun<'_>) -> Table {
    segments_table("By segment", corner(run.test), &run.results.segments)
}

fn judge<'a>(run: &'a CyclicLoad, record: &'a Record) -> JudgedRun<'a> {
    let steps = steps_of(record, &run.phase);
    let verdict = run.verdict(&steps);
    JudgedRun { run, steps, verdict }
}

fn name(test: &SteadyStreams) -> &'static str {
    match test.kind {
        RwswWsatKind::Individual => "Individual Streams WSAT",
        RwswWsatKind::Multi => "Multi-WSAT",
    }
}

/// Returns the verdict on all segments: each must be steady; contains the evidence of each.
fn whole_verdict(judged: &[JudgedRun<'_>]) -> Option<Verdict> {
    if let [only] = judged {
        return Some(only.verdict.clone());
    }
    let first = judged.first()?;
    let same_window = judged.iter().all(|run| run.verdict.window == first.verdict.window);
    let reservations: Vec<String> = judged
        .iter()
        .filter_map(|run| Some(format!("{}: {}", run.run.label, run.verdict.reservation.as_ref()?)))
        .collect();
    Some(Verdict {
        steady: judged.iter().all(|run| run.verdict.steady),
        window: first.verdict.window.filter(|_| same_window),
        tracks: judged.iter().flat_map(|run| stream_tracks(run, same_window)).collect(),
        criteria: first.verdict.criteria,
        reservation: (!reservations.is_empty()).then(|| reservations.join("; ")),
    })
}

/// Returns the evidence of one stream among others, with its window if the windows differ. A
/// window that does not count is not steady, whatever its values.
fn stream_tracks(run: &JudgedRun<'_>, same_window: bool) -> Vec<TrackVerdict> {
    let verdict = &run.verdict;
    let window = verdict.window.filter(|_| !same_window);
    let name = match window {
        Some((first, last)) => format!("{}, rounds {first} to {last}", run.run.label),
        None => run.run.label.clone(),
    };
    let judge = |track: &TrackVerdict| TrackVerdict {
        name: name.clone(),
        steady: track.steady && verdict.steady,
        ..track.clone()
    };
    verdict.tracks.iter().map(judge).collect()
}

fn corner(test: &SteadyStreams) -> &'static str {
    match test.kind {
        RwswWsatKind::Individual => "Segment (I/O stream, mean of its measurement window)",
        RwswWsatKind::Multi => "Round (measured step)",
    }
}

fn segments(test: &SteadyStreams, judged: &[JudgedRun<'_>]) -> Vec<RwswSegment> {
    match test.kind {
        RwswWsatKind::Individual => judged
            .iter()
            .filter(|run| !run.steps.is_empty())
            .map(|run| RwswSegment::new(run.run.label.clone(), &run.reported()))
            .collect(),
        RwswWsatKind::Multi => {
            let measured = judged.iter().flat_map(JudgedRun::measured);
            measured
                .map(|(step, o)| RwswSegment::new(step.place.round.to_string(), &[&o.measurement]))
                .collect()
        }
    }
}

fn subtitle(test: &SteadyStreams) -> &'static str {
    match test.kind {
        RwswWsatKind::Individual => "Each I/O Stream to Steady State",
        RwswWsatKind::Multi => "Fixed Composite to Steady State",
    }
}

fn not_steady(judged: &[JudgedRun<'_>]) -> Option<Caveat> {
    let names: Vec<&str> =
        judged.iter().filter(|run| !run.verdict.steady).map(|run| run.run.label.as_str()).collect();
    (!names.is_empty()).then(|| {
        Caveat::invalidates(
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED: {}; the values are those of the last measured steps.",
                names.join(", ")
            ),
            "Run it again with more rounds (--max-rounds).",
        )
    })
}

/// Returns the streams: one per segment.
fn alone(judged: &[JudgedRun<'_>]) -> (Vec<String>, Vec<Vec<f64>>) {
    let names = judged.iter().map(|run| run.run.label.clone()).collect();
    let counts = (0..judged.len()).map(|segment| {
        let is_it = |place: usize| if place == segment { 1.0 } else { 0.0 };
        (0..judged.len()).map(is_it).collect()
    });
    (names, counts.collect())
}

/// Returns all streams in each measured minute.
fn together(
    composite: &CapturedComposite,
    judged: &[JudgedRun<'_>],
) -> (Vec<String>, Vec<Vec<f64>>) {
    let names = composite.streams().iter().map(ToString::to_string).collect();
    let measured = judged.iter().flat_map(JudgedRun::measured);
    (names, measured.map(|(step, o)| stream_counts(step, &o.measurement)).collect())
}

fn steady_chapter(judged: &JudgedRun<'_>) -> Page {
    let phase = &judged.run.phase;
    let mut exhibits = check_exhibits(&judged.verdict, &format!("{phase}-window"));
    exhibits.extend(evidence(judged.run, &judged.steps, phase));
    let id = format!("{phase}-measured");
    let title = format!("Measured steps - {}", judged.run.label);
    let plot = convergence_plot(judged.run, &judged.steps, &id, &title);
    exhibits.push(Exhibit::Plot(plot));
    page(&format!("Steady State of {}", judged.run.label), exhibits)
}

fn distribution_page(run: &RwswSteadyRun<'_>) -> Page {
    let title = format!("{} IO Streams Distribution v Segments", name(run.test));
    let (names, counts) = match run.test.kind {
        RwswWsatKind::Individual => alone(&run.results.judged),
        RwswWsatKind::Multi => together(&run.test.composite, &run.results.judged),
    };
    let plot = distribution(
        &title,
        "Segment",
        &names,
        &counts,
        "Share of every I/O stream in the I/Os that were applied.",
    );
    page(&title, vec![Exhibit::Plot(plot), Exhibit::Table(streams_table(&run.test.composite))])
}

fn listing(run: &RwswSteadyRun<'_>) -> String {
    let what = match run.test.kind {
        RwswWsatKind::Multi => "The composite of all applied I/O streams",
        RwswWsatKind::Individual => "For each applied I/O stream, one after the other: it alone",
    };
    let criteria = &run.test.setup.method.criteria;
    format!(
        "{}\n{what}, without a pause, accounted in steps of {}\n  one step in each cycle of {} is \
         measured; stop when {} measured steps meet {}",
        run.test.regime.text(&run.choices),
        run.test.setup.step_time,
        run.test.cycle_text(),
        count_word(criteria.window),
        limits_text(criteria)
    )
}
