//! The exhibits of the two tests: the distribution of the streams, IOPS over time until
//! steady state, IOPS and response times by segment, MB/s and power by segment.

use super::setup::{Kind, SteadyStreams};
use crate::exhibits::disclosure::{self, Form, form_demands};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::loops::general_chapter;
use crate::exhibits::pages::page;
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::steps::every_step;
use crate::ground::applied::Applied;
use crate::pts::between::{self, BetweenRounds, check_exhibits, evidence, steps_of};
use crate::rwsw::composite::Composite;
use crate::rwsw::disclosure as captured;
use crate::rwsw::segments::{
    Segment, distribution, iops_over_time, iops_response, key_figures, segments_table,
    stream_counts, streams_table, throughput_power,
};
use crate::words::reservation_text;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{Exhibit, FormHeader, KeyFigure, Origin, Page, Setting};
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{Caveat, CaveatKind, Findings, Measurement, Outcome, Record, Step, Verdict};

/// A run with its steps and its verdict.
struct Judged<'a> {
    run: &'a BetweenRounds,
    steps: Vec<(&'a Step, &'a Outcome)>,
    verdict: Verdict,
}

impl Judged<'_> {
    /// The measured minutes that are reported: those of the window, steady or not; all
    /// that have a value where there is none.
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

/// Everything that is reported of a run.
pub fn findings(test: &SteadyStreams, record: &Record) -> Findings {
    let choices = test.choices();
    let judged: Vec<Judged<'_>> = test.runs.iter().map(|run| judge(run, record)).collect();
    let segments = segments(test, &judged);
    Findings {
        ending: ending(test, record, &judged),
        caveats: caveats(test, record, &judged),
        summary: vec![Exhibit::Table(segments_table("By segment", corner(test), &segments))],
        form_pages: form_pages(test, &judged, &segments),
        chapters: chapters(test, record, &judged, &segments),
        long_tables: vec![every_step(&choices, record)],
        ..frame(&title(test), &choices, record, header(test, record, &judged))
            .judged(whole_verdict(&judged))
            .fronted(figures(test, &judged, &segments), ["iops-time", "segments-iops-response"])
    }
}

fn judge<'a>(run: &'a BetweenRounds, record: &'a Record) -> Judged<'a> {
    let steps = steps_of(record, &run.phase);
    let verdict = run.verdict(&steps);
    Judged { run, steps, verdict }
}

fn name(test: &SteadyStreams) -> &'static str {
    match test.kind {
        Kind::Individual => "Individual Streams WSAT",
        Kind::Multi => "Multi-WSAT",
    }
}

fn title(test: &SteadyStreams) -> String {
    format!("{} {}", name(test), test.composite)
}

/// The verdict of the run: every segment must be steady, and every segment's evidence is in it.
fn whole_verdict(judged: &[Judged<'_>]) -> Option<Verdict> {
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

/// The evidence of one stream among others; with its window where the streams differ in it.
/// A window that does not count is not steady here, whatever its values are.
fn stream_tracks(run: &Judged<'_>, same_window: bool) -> Vec<TrackVerdict> {
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

/// The rate of every stream; of all of them together what the window gave.
fn figures(test: &SteadyStreams, judged: &[Judged<'_>], segments: &[Segment]) -> Vec<KeyFigure> {
    match test.kind {
        Kind::Individual => segments
            .iter()
            .map(|s| KeyFigure::new(&crate::words::slug(&s.name), &s.name, s.iops, "IOPS"))
            .collect(),
        Kind::Multi => judged
            .iter()
            .flat_map(|run| key_figures(&Segment::of("Window", &run.reported())))
            .collect(),
    }
}

/// What a segment is called.
fn corner(test: &SteadyStreams) -> &'static str {
    match test.kind {
        Kind::Individual => "Segment (I/O stream, mean of its measurement window)",
        Kind::Multi => "Round (measured step)",
    }
}

fn segments(test: &SteadyStreams, judged: &[Judged<'_>]) -> Vec<Segment> {
    match test.kind {
        Kind::Individual => judged
            .iter()
            .filter(|run| !run.steps.is_empty())
            .map(|run| Segment::of(run.run.label.clone(), &run.reported()))
            .collect(),
        Kind::Multi => {
            let measured = judged.iter().flat_map(Judged::measured);
            measured
                .map(|(step, o)| Segment::of(step.place.round.to_string(), &[&o.measurement]))
                .collect()
        }
    }
}

fn ending(test: &SteadyStreams, record: &Record, judged: &[Judged<'_>]) -> String {
    let begun = judged.iter().filter(|run| !run.steps.is_empty()).count();
    if !record.has_ended() {
        return format!("The run is not finished: {begun} of {} runs have begun.", judged.len());
    }
    let steady = judged.iter().filter(|run| run.verdict.steady).count();
    match (test.kind, judged.first().and_then(|run| run.verdict.window)) {
        (Kind::Multi, Some((first, last))) if steady == 1 => {
            let reservation = judged.first().map(|r| reservation_text(&r.verdict));
            let reservation = reservation.unwrap_or_default();
            format!("Steady state in rounds {first} to {last}{reservation}.")
        }
        (Kind::Multi, _) => "Steady state NOT achieved in the maximum number of rounds.".to_owned(),
        (Kind::Individual, _) if steady == judged.len() => {
            format!("All {steady} I/O streams reached steady state.")
        }
        (Kind::Individual, _) => format!(
            "Steady state NOT achieved in {} of {} I/O streams.",
            judged.len() - steady,
            judged.len()
        ),
    }
}

fn header(test: &SteadyStreams, record: &Record, judged: &[Judged<'_>]) -> FormHeader {
    let choices = test.choices();
    let windows: Vec<String> =
        judged.iter().map(|run| disclosure::window_text(&run.verdict)).collect();
    let rounds = match windows.as_slice() {
        [only] => only.clone(),
        many => {
            let steady = judged.iter().filter(|run| run.verdict.steady).count();
            format!("{steady} of {} streams", many.len())
        }
    };
    let mut test_parameters = disclosure::common_test_rows(&choices);
    test_parameters.extend(captured::workload_rows(&test.composite));
    test_parameters.extend([
        choices.demand_row("TOIO - TC/QD", form_demands(&choices.demands)),
        choices.step_row("Step"),
        Setting::method("cycle", "Cycle", test.cycle_text(), Origin::Profile),
        Setting::outcome("Steady State", rounds),
    ]);
    let form = Form {
        test: format!("{} Test", name(test)),
        subtitle: format!("{} - {}", name(test), subtitle(test)),
        set_up: captured::set_up_rows(&choices, &test.regime),
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

fn subtitle(test: &SteadyStreams) -> &'static str {
    match test.kind {
        Kind::Individual => "Each I/O Stream to Steady State",
        Kind::Multi => "Fixed Composite to Steady State",
    }
}

fn caveats(test: &SteadyStreams, record: &Record, judged: &[Judged<'_>]) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    if record.has_ended() {
        caveats.extend(not_steady(judged));
    }
    caveats.extend(judged.iter().find_map(|run| between::fresh_caveat(&run.verdict)));
    caveats.push(captured::cadence(&test.ground.settings, &test.cycle_text()));
    caveats.extend(captured::caveats(&test.composite, &test.ground, &test.regime));
    let choices = test.choices();
    caveats.extend(disclosure::caveats(&choices, record));
    caveats.extend(secondary::caveats(record, &|step| choices.measures(step)));
    caveats
}

fn not_steady(judged: &[Judged<'_>]) -> Option<Caveat> {
    let names: Vec<&str> =
        judged.iter().filter(|run| !run.verdict.steady).map(|run| run.run.label.as_str()).collect();
    (!names.is_empty()).then(|| {
        Caveat::new(
            CaveatKind::Invalidates,
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED: {}; the values are those of the last measured steps.",
                names.join(", ")
            ),
            "Run it again with more rounds (--max-rounds).",
        )
    })
}

fn form_pages(test: &SteadyStreams, judged: &[Judged<'_>], segments: &[Segment]) -> Vec<Page> {
    let name = name(test);
    let runs: Vec<_> = judged
        .iter()
        .filter(|run| !run.steps.is_empty())
        .map(|run| (run.run.label.clone(), run.steps.clone()))
        .collect();
    let titled = |what: &str| format!("{name} {what}");
    let over_time = iops_over_time(&titled("Segment IOPS v Time"), test.ground.minute, &runs);
    let response = titled("IOPS & Response Time by Segment");
    let throughput = titled("Throughput & Power by Segment");
    vec![
        distribution_page(test, judged),
        page(&over_time.title.clone(), vec![Exhibit::Plot(over_time)]),
        page(&response, vec![Exhibit::Plot(iops_response(&response, corner(test), segments))]),
        page(
            &throughput,
            vec![Exhibit::Plot(throughput_power(&throughput, corner(test), segments))],
        ),
    ]
}

fn distribution_page(test: &SteadyStreams, judged: &[Judged<'_>]) -> Page {
    let title = format!("{} IO Streams Distribution v Segments", name(test));
    let (names, counts) = match test.kind {
        Kind::Individual => alone(judged),
        Kind::Multi => together(&test.composite, judged),
    };
    let plot = distribution(
        &title,
        "Segment",
        &names,
        &counts,
        "Share of every I/O stream in the I/Os that were applied.",
    );
    page(&title, vec![Exhibit::Plot(plot), Exhibit::Table(streams_table(&test.composite))])
}

/// One stream in each segment.
fn alone(judged: &[Judged<'_>]) -> (Vec<String>, Vec<Vec<f64>>) {
    let names = judged.iter().map(|run| run.run.label.clone()).collect();
    let counts = (0..judged.len()).map(|segment| {
        let is_it = |place: usize| if place == segment { 1.0 } else { 0.0 };
        (0..judged.len()).map(is_it).collect()
    });
    (names, counts.collect())
}

/// All streams in each measured minute.
fn together(composite: &Composite, judged: &[Judged<'_>]) -> (Vec<String>, Vec<Vec<f64>>) {
    let names = composite.streams().iter().map(ToString::to_string).collect();
    let measured = judged.iter().flat_map(Judged::measured);
    (names, measured.map(|(step, o)| stream_counts(step, &o.measurement)).collect())
}

fn chapters(
    test: &SteadyStreams,
    record: &Record,
    judged: &[Judged<'_>],
    segments: &[Segment],
) -> Vec<Page> {
    let choices = test.choices();
    let mut chapters = common_chapters(&choices, record);
    chapters.push(captured::workload_chapter(&test.composite));
    chapters.push(general_chapter(&choices));
    chapters.push(page(
        "What Was Done",
        vec![
            Exhibit::Listing(listing(test)),
            Exhibit::Table(
                segments_table("By segment", corner(test), segments).named("segments-all"),
            ),
        ],
    ));
    chapters.extend(judged.iter().filter(|run| !run.steps.is_empty()).map(steady_chapter));
    let points: Vec<SecondaryPoint<'_>> = segments.iter().map(SecondaryPoint::from).collect();
    let table = secondary::points_table("secondary", "Secondary metrics by segment", &points);
    chapters.push(secondary::chapter(vec![Exhibit::Table(table)], record));
    chapters
}

fn steady_chapter(judged: &Judged<'_>) -> Page {
    let phase = &judged.run.phase;
    let mut exhibits = check_exhibits(&judged.verdict, &format!("{phase}-window"));
    exhibits.extend(evidence(judged.run, &judged.steps, phase));
    let names = format!("{phase}-measured");
    let title = format!("Measured steps - {}", judged.run.label);
    let plot = between::convergence_plot(judged.run, &judged.steps, (&names, &title));
    exhibits.push(Exhibit::Plot(plot));
    page(&format!("Steady State of {}", judged.run.label), exhibits)
}

fn listing(test: &SteadyStreams) -> String {
    let what = match test.kind {
        Kind::Multi => "The composite of all applied I/O streams",
        Kind::Individual => "For each applied I/O stream, one after the other: it alone",
    };
    format!(
        "{}\n{what}, without a pause, accounted in steps of {}\n  one step in each cycle of {} is \
         measured; stop when five measured steps meet 20/10",
        test.regime.text(&test.ground.settings),
        test.ground.minute,
        test.cycle_text()
    )
}
