use super::*;
use crate::parts::started_part;
use crate::report_notation::distinct;
use crate::testing::scripted::{broken_record, build, figure_ids, purges, record, scripted, steps};
use steadfast_domain::findings::{Exhibit, FrontAnswer, KeyFigure};
use steadfast_domain::measurement::LogDelta;
use steadfast_domain::{EndState, JournalEntry, Measurement, Nanos, Step, ValueRange};

fn settings(length: &str) -> Settings {
    let mut settings = Settings::new(NAME, 7);
    settings.set("length", length);
    settings
}

/// Two watts, 40 °C, and a log that counts no throttling.
fn sensed(_: &Step, measurement: &mut Measurement) {
    measurement.sensed.power_milliwatts = Some(2000.0);
    measurement.sensed.temperature_celsius = Some(40.0);
    measurement.sensed.log = Some(LogDelta { throttle_events: Some(0), ..LogDelta::default() });
}

/// A drive of 1,000 IOPS that answers in half a millisecond.
fn conducted(settings: &Settings) -> Vec<JournalEntry> {
    let mut bench = scripted(|_| 1000.0);
    bench.response = |_| Some(Nanos(500_000));
    bench.retouch = sensed;
    build(settings).conduct(&mut bench).unwrap();
    bench.entries
}

fn findings(settings: &Settings, entries: Vec<JournalEntry>) -> Findings {
    build(settings).study(&record(settings, entries))
}

/// Returns the findings of a record that ends before entry `end`.
fn broken_off(settings: &Settings, entries: &[JournalEntry], end: usize) -> Findings {
    let broken = broken_record(settings, entries[..end].to_vec());
    build(settings).study(&broken)
}

fn figure<'a>(findings: &'a Findings, id: &str) -> &'a KeyFigure {
    findings.figure(id).unwrap_or_else(|| panic!("{id}"))
}

fn answer<'a>(findings: &'a Findings, id: &str) -> &'a FrontAnswer {
    let mut all = findings.front.questions.iter().flat_map(|question| &question.answers);
    all.find(|answer| answer.figure == id).unwrap_or_else(|| panic!("{id}"))
}

#[test]
fn shorter_portraits_purge_less_often_and_share_what_was_written() {
    for (length, count, shared) in [
        ("1h", 1, &["iops", "latency", "commit", "load-curve"][..]),
        ("8h", 2, &["latency", "commit", "load-curve"]),
        ("complete", 7, &[]),
    ] {
        let entries = conducted(&settings(length));
        let begun: Vec<&str> = entries.iter().filter_map(started_part).collect();
        assert_eq!(begun, PROCEDURES, "{length}");
        assert_eq!(purges(&entries), count, "{length}");
        let steps = steps(&entries);
        for part in ["iops", "latency", "commit", "load-curve"] {
            let phase = format!("{part}/wipc");
            let is_written = steps.iter().any(|step| step.place.phase == phase);
            assert_eq!(is_written, !shared.contains(&part), "{length} {part}");
        }
        let findings = findings(&settings(length), entries);
        assert_eq!(findings.whole_end(), EndState::Steady, "{length}: {}", findings.ending);
        let caveat = |findings: &Findings, id: &str| findings.caveat(id).is_some();
        assert_eq!(caveat(&findings, "portrait-length"), length != "complete");
        for (part, procedure) in findings.parts.iter().zip(PROCEDURES) {
            let is_shared = shared.contains(&procedure);
            assert_eq!(caveat(part, "shared-preconditioning"), is_shared, "{length} {procedure}");
            let mut listings = part.exhibits().filter_map(Exhibit::as_listing);
            let says_purge = listings.any(|text| text.starts_with("Purge"));
            assert!(!(is_shared && says_purge), "{length} {procedure} lists a purge");
        }
    }
}

#[test]
fn a_part_has_the_user_s_settings_before_those_of_the_length() {
    let mut chosen = settings("1h");
    chosen.step_time = Some(Nanos::from_secs(2));
    chosen.slo = Some("p99.9=5ms".parse().unwrap());
    chosen.set("fill.idle-times", "10s");
    let plans = plans(&chosen).unwrap();
    let parts: Vec<Settings> = plans.iter().map(|plan| plan.settings(&chosen)).collect();
    assert!(parts.iter().all(|part| part.step_time == Some(Nanos::from_secs(2))));
    let slos: Vec<Option<String>> =
        parts.iter().map(|part| part.slo.map(|slo| slo.to_string())).collect();
    let expected = [None, None, None, None, Some("p99.9=5ms".to_owned()), None];
    assert_eq!(slos, expected, "only the load curve searches for it");
    assert_eq!(parts[0].parameters["idle-times"], "10s");
    assert_eq!(parts[5].parameters["idle-times"], "1ms,10ms,100ms,1s,5s", "the other's own");
    let complete = super::plans(&settings("complete")).unwrap();
    let presets: Vec<usize> = complete.iter().map(|plan| plan.preset.len()).collect();
    assert_eq!(presets, [0, 0, 0, 0, 1, 0], "each as it stands alone, but for the workload");
}

#[test]
fn figures_are_those_of_the_parts() {
    let settings = settings("1h");
    let findings = findings(&settings, conducted(&settings));
    let value = |id: &str| figure(&findings, id).value;
    for id in ["random-read", "random-write", "random-mixed"] {
        assert_eq!(value(id), Some(1000.0), "{id}");
        assert_eq!(
            figure(&findings, id).range,
            Some(ValueRange::new(1000.0, 1000.0)),
            "{id} has its rounds"
        );
    }
    assert_eq!((value("power-write"), value("reads-per-watt")), (Some(2.0), Some(500.0)));
    assert_eq!((value("temperature-write"), value("commits-1")), (Some(40.0), Some(1000.0)));
    assert!((value("read-p99").unwrap() - 0.5).abs() < 0.01);
    assert_eq!(value("maximum-iops"), Some(1000.0));
    // 15,000 reads leave fewer than ten beyond 99.99 %.
    assert_eq!(figure(&findings, "read-p99-99").note.as_deref(), Some("too few I/Os"));
    assert_eq!(answer(&findings, "read-p99-99").missing, None, "words, not a dash");
    assert!(findings.front.questions.len() == 9 && findings.front.card.len() == 8);
    assert!(findings.front.card.iter().all(|id| figure(&findings, id).id == *id));
    let ids = figure_ids(&findings);
    assert_eq!(distinct(ids.clone()), ids, "each once");
    let heat = &findings.front.questions[7];
    assert!(
        heat.answer.starts_with("No: the drive reports no throttling in any of "),
        "{}",
        heat.answer
    );
    let answers: Vec<&str> =
        findings.front.questions.iter().map(|question| question.answer.as_str()).collect();
    assert_eq!(answers[0], "Not answered: not measured.");
    assert_eq!(
        answers[2],
        "It sustains 1,000 random reads per second, 1,000 random writes per second and 1,000 \
         accesses per second if 65 % are reads."
    );
    assert!(answers[4].starts_with("One session makes 1,000 commits per second"), "{answers:?}");
    assert!(answers[8].contains(" 2 W during random writes, 2 W during"), "{answers:?}");
    assert!(answers[8].ends_with("it makes 500 random reads per second."), "{answers:?}");
    // The scripted drive has no samples of its rate, so the fill has no curve.
    assert_eq!(answer(&findings, "full-speed").missing.as_deref(), Some("not measured"));
    let parts: Vec<&str> = findings.parts.iter().map(|part| part.id.as_str()).collect();
    let answers = findings.front.questions.iter().flat_map(|question| &question.answers);
    answers.for_each(|answer| assert!(parts.contains(&answer.part.as_str()), "{}", answer.part));
}

#[test]
fn a_part_that_was_cut_or_is_not_steady_has_dashes_and_the_reason() {
    let settings = settings("1h");
    let entries = conducted(&settings);
    let at =
        |part: &str| entries.iter().position(|entry| started_part(entry) == Some(part)).unwrap();
    let cut = broken_off(&settings, &entries, at("commit") - 3);
    let missing = |findings: &Findings, id: &str| answer(findings, id).missing.clone();
    assert_eq!(figure(&cut, "random-write").value, Some(1000.0), "it has ended");
    assert_eq!(missing(&cut, "read-p99").as_deref(), Some("latency is not finished"));
    assert_eq!(missing(&cut, "commits-1").as_deref(), Some("commit has not begun"));
    assert_eq!(figure(&cut, "commits-1").value, None);
    assert_eq!(cut.front.questions[4].answer, "Not answered: commit has not begun.");
    assert_eq!(missing(&cut, "slo-iops").as_deref(), Some("load-curve has not begun"));
    let mut bench = scripted(|step| match step.place.phase.as_str() {
        "iops/rounds" => 2f64.powi(step.place.round as i32),
        _ => 1000.0,
    });
    bench.response = |_| Some(Nanos(500_000));
    build(&settings).conduct(&mut bench).unwrap();
    let restless = findings(&settings, bench.entries);
    let why = missing(&restless, "random-write");
    assert_eq!(why.as_deref(), Some("iops did not reach steady state"));
    assert_eq!(figure(&restless, "random-write").value, None, "it did not hold");
    let unsteady = &restless.front.questions[2].answer;
    assert_eq!(unsteady, "Not answered: iops did not reach steady state.");
    assert_eq!(missing(&restless, "power-idle").as_deref(), Some(NO_SENSOR_TEXT));
    for end in (0..entries.len()).step_by(37) {
        let findings = broken_off(&settings, &entries, end);
        assert_eq!(findings.front.questions.len(), 9);
        assert_eq!(findings.whole_end(), EndState::Unfinished);
    }
}

const NO_SENSOR_TEXT: &str = "no power sensor; --power-command reads one";
