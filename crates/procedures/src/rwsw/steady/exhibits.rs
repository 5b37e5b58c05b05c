//! Exhibits of the two tests: distribution of the streams, IOPS over time until steady state, and
//! IOPS, response times, MB/s and power by segment.

use super::setup::{RwswWsatKind, SteadyStreams};
use crate::common::applied::ApplicableWorkload;
use crate::exhibits::cyclic_load::{JudgedLoad, fresh_caveat};
use crate::exhibits::disclosure::{self, ReportForm, form_demands};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::report_notation::{count_word, limits_text, reservation_text, slug, steady_rounds};
use crate::rwsw::disclosure as captured;
use crate::rwsw::segments::{
    distribution, iops_over_time, iops_response, key_figures, segments_table, stream_counts,
    streams_table, throughput_power,
};
use steadfast_domain::findings::{Exhibit, KeyFigure, Origin, Page, Setting, Table};
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{Caveat, Measurement, Outcome, Record, Step, Verdict, caveats as ids};

pub struct RwswSteadyResults<'a> {
    runs: Vec<JudgedLoad<'a>>,
    segments: Vec<SecondaryPoint>,
}

impl<'a> RwswSteadyResults<'a> {
    fn begun(&self) -> impl Iterator<Item = &JudgedLoad<'a>> {
        self.runs.iter().filter(|run| !run.steps.is_empty())
    }

    fn steady_count(&self) -> usize {
        self.runs.iter().filter(|run| run.verdict.steady).count()
    }
}

/// Returns the reported minutes of a run: those of the window, steady or not; without a window, all
/// that have a value.
fn reported<'a>(run: &JudgedLoad<'a>) -> Vec<&'a Measurement> {
    let points = run.load.track(&run.steps).points;
    let counts = |round: u32| match run.verdict.window {
        Some((first, last)) => (first..=last).contains(&round),
        None => points.iter().any(|point| point.round == round && point.value.is_some()),
    };
    let measured = run.measured_steps().filter(|(step, _)| counts(step.place.round));
    measured.map(|(_, outcome)| &outcome.measurement).collect()
}

type RwswSteadyRun<'a> = StudiedRun<'a, SteadyStreams>;

impl ProcedureReport for SteadyStreams {
    type Results<'a> = RwswSteadyResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(table),
        ReportEntry::FormPages(|run| vec![distribution_page(run)]),
        ReportEntry::FormPlot(|run| {
            let title = format!("{} Segment IOPS v Time", name(run.test));
            iops_over_time(&title, run.test.setup.step_time, run.results.begun())
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
            let title = "Secondary metrics by segment";
            secondary::points_table("secondary", title, &run.results.segments)
        }),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["iops-time", "segments-iops-response"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let runs: Vec<_> = self.runs.iter().map(|run| JudgedLoad::new(run, record)).collect();
        let results = RwswSteadyResults { segments: segments(self, &runs), runs };
        StudiedRun { test: self, record, choices: self.choices(), results }
    }

    fn title(&self) -> String {
        format!("{} {}", name(self), self.composite)
    }

    fn form(run: &RwswSteadyRun<'_>) -> ReportForm {
        let rounds = match run.results.runs.as_slice() {
            [only] => disclosure::window_text(&only.verdict),
            many => format!("{} of {} streams", run.results.steady_count(), many.len()),
        };
        let subtitle = match run.test.kind {
            RwswWsatKind::Individual => "Each I/O Stream to Steady State",
            RwswWsatKind::Multi => "Fixed Composite to Steady State",
        };
        captured::report_form(
            &format!("{} Test", name(run.test)),
            &format!("{} - {subtitle}", name(run.test)),
            &run.choices,
            &run.test.composite,
            &run.test.preconditioning,
        )
        .test_parameters([
            run.choices.demand_row("TOIO - TC/QD", form_demands(&run.choices.demands)),
            run.choices.step_row("Step"),
            Setting::method("cycle", "Cycle", run.test.cycle_text(), Origin::Profile),
            Setting::outcome("Steady State", rounds),
        ])
    }

    fn ending(run: &RwswSteadyRun<'_>) -> String {
        let runs = &run.results.runs;
        let all = runs.len();
        if !run.record.has_ended() {
            let begun = run.results.begun().count();
            return format!("The run is not finished: {begun} of {all} runs have begun.");
        }
        let steady = run.results.steady_count();
        match run.test.kind {
            RwswWsatKind::Multi => {
                let verdict = runs.first().map(|run| &run.verdict);
                match verdict.and_then(|verdict| Some((verdict, steady_rounds(verdict)?))) {
                    Some((verdict, rounds)) => {
                        format!("Steady state in {rounds}{}.", reservation_text(verdict))
                    }
                    None => "Steady state NOT achieved in the maximum number of rounds.".to_owned(),
                }
            }
            RwswWsatKind::Individual if steady == all => {
                format!("All {steady} I/O streams reached steady state.")
            }
            RwswWsatKind::Individual => {
                format!("Steady state NOT achieved in {} of {all} I/O streams.", all - steady)
            }
        }
    }

    fn verdict(run: &RwswSteadyRun<'_>) -> Option<Verdict> {
        whole_verdict(&run.results.runs)
    }

    fn caveats(run: &RwswSteadyRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if run.record.has_ended() {
            caveats.extend(not_steady(&run.results.runs));
        }
        caveats.extend(run.results.runs.iter().find_map(|run| fresh_caveat(&run.verdict)));
        caveats.push(captured::cadence(&run.test.setup, &run.test.cycle_text()));
        let composite = &run.test.composite;
        caveats.extend(captured::caveats(composite, &run.test.setup, &run.test.preconditioning));
        caveats.extend(captured::arrivals_missed(composite, &run.choices, run.record));
        caveats
    }

    /// The rate of every stream, and per watt; of all of them together what the window gave.
    fn figures(run: &RwswSteadyRun<'_>) -> Vec<KeyFigure> {
        match run.test.kind {
            RwswWsatKind::Individual => {
                let rate =
                    |s: &SecondaryPoint| KeyFigure::new(&slug(&s.name), &s.name, s.iops, "IOPS");
                let per_watt = |s: &SecondaryPoint| {
                    let id = format!("{}-per-watt", slug(&s.name));
                    let label = format!("{}, rate per watt", s.name);
                    KeyFigure::new(&id, label, s.iops_per_watt(), "IOPS/W")
                };
                let segments = || run.results.segments.iter();
                segments().map(rate).chain(segments().map(per_watt)).collect()
            }
            RwswWsatKind::Multi => run
                .results
                .runs
                .iter()
                .flat_map(|run| key_figures(&SecondaryPoint::from_means("Window", &reported(run))))
                .collect(),
        }
    }
}

fn table(run: &RwswSteadyRun<'_>) -> Table {
    segments_table("By segment", corner(run.test), &run.results.segments)
}

fn name(test: &SteadyStreams) -> &'static str {
    match test.kind {
        RwswWsatKind::Individual => "Individual Streams WSAT",
        RwswWsatKind::Multi => "Multi-WSAT",
    }
}

/// Returns the verdict on all segments: each must be steady; contains the evidence of each.
fn whole_verdict(runs: &[JudgedLoad<'_>]) -> Option<Verdict> {
    if let [only] = runs {
        return Some(only.verdict.clone());
    }
    let first = runs.first()?;
    let same_window = runs.iter().all(|run| run.verdict.window == first.verdict.window);
    let reservations: Vec<String> = runs
        .iter()
        .filter_map(|run| {
            Some(format!("{}: {}", run.load.label, run.verdict.reservation.as_ref()?))
        })
        .collect();
    Some(Verdict {
        steady: runs.iter().all(|run| run.verdict.steady),
        window: first.verdict.window.filter(|_| same_window),
        tracks: runs.iter().flat_map(|run| stream_tracks(run, same_window)).collect(),
        criteria: first.verdict.criteria,
        reservation: (!reservations.is_empty()).then(|| reservations.join("; ")),
    })
}

/// Returns the evidence of one stream among others, with its window if the windows differ. A
/// window that does not count is not steady, whatever its values.
fn stream_tracks(run: &JudgedLoad<'_>, same_window: bool) -> Vec<TrackVerdict> {
    let verdict = &run.verdict;
    let window = verdict.window.filter(|_| !same_window);
    let name = match window {
        Some((first, last)) => format!("{}, rounds {first} to {last}", run.load.label),
        None => run.load.label.clone(),
    };
    let named = verdict.tracks.iter().map(|track| TrackVerdict {
        name: name.clone(),
        steady: track.steady && verdict.steady,
        ..track.clone()
    });
    named.collect()
}

fn corner(test: &SteadyStreams) -> &'static str {
    match test.kind {
        RwswWsatKind::Individual => "Segment (I/O stream, mean of its measurement window)",
        RwswWsatKind::Multi => "Round (measured step)",
    }
}

fn segments(test: &SteadyStreams, runs: &[JudgedLoad<'_>]) -> Vec<SecondaryPoint> {
    match test.kind {
        RwswWsatKind::Individual => runs
            .iter()
            .filter(|run| !run.steps.is_empty())
            .map(|run| SecondaryPoint::from_means(run.load.label.clone(), &reported(run)))
            .collect(),
        RwswWsatKind::Multi => {
            let segment = |(step, outcome): (&Step, &Outcome)| {
                SecondaryPoint::from_means(step.place.round.to_string(), &[&outcome.measurement])
            };
            runs.iter().flat_map(JudgedLoad::measured_steps).map(segment).collect()
        }
    }
}

fn not_steady(runs: &[JudgedLoad<'_>]) -> Option<Caveat> {
    let unsteady = runs.iter().filter(|run| !run.verdict.steady);
    let names: Vec<&str> = unsteady.map(|run| run.load.label.as_str()).collect();
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

fn steady_chapter(run: &JudgedLoad<'_>) -> Page {
    let mut exhibits = run.check_and_evidence(&run.load.phase);
    let id = format!("{}-measured", run.load.phase);
    let title = format!("Measured steps - {}", run.load.label);
    exhibits.push(Exhibit::Plot(run.convergence_plot(&id, &title)));
    page(&format!("Steady State of {}", run.load.label), exhibits)
}

/// Returns the page of the shares of the streams: in runs of single streams each has its segment
/// to itself, otherwise each measured step is a segment of all streams.
fn distribution_page(run: &RwswSteadyRun<'_>) -> Page {
    let runs = &run.results.runs;
    let mut names = Vec::new();
    let mut counts = Vec::new();
    match run.test.kind {
        RwswWsatKind::Individual => {
            for (place, judged) in runs.iter().enumerate() {
                names.push(judged.load.label.clone());
                let mut counts_of_segment = vec![0.0; runs.len()];
                counts_of_segment[place] = 1.0;
                counts.push(counts_of_segment);
            }
        }
        RwswWsatKind::Multi => {
            names.extend(run.test.composite.streams().iter().map(ToString::to_string));
            for (step, outcome) in runs.iter().flat_map(JudgedLoad::measured_steps) {
                counts.push(stream_counts(step, &outcome.measurement));
            }
        }
    }
    let title = format!("{} IO Streams Distribution v Segments", name(run.test));
    let caption = "Share of every I/O stream in the I/Os that were applied.";
    let plot = distribution(&title, "Segment", &names, &counts, caption);
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
        run.test.preconditioning.text(&run.choices),
        run.test.setup.step_time,
        run.test.cycle_text(),
        count_word(criteria.window),
        limits_text(criteria)
    )
}
