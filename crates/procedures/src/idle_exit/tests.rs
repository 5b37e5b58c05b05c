use super::results::{IdleExitResults, standard_error_ms};
use super::*;
use crate::testing::scripted::{
    ScriptedBench, assert_unfinished_wherever_it_ends, requested, scripted, settings_of, steps,
    tally_of,
};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Bytes, Conditions, EndState, Nanos, Settings, Step};

fn build(change: impl FnOnce(&mut Settings)) -> IdleExit {
    requested(&settings_of("idle-exit", change), IdleExit::new)
}

fn idle_of(step: &Step) -> Option<Nanos> {
    match step.load.stimulus().unwrap().pace {
        Pace::Burst { ios: 1, delay } => Some(delay),
        _ => None,
    }
}

#[test]
fn the_spread_of_a_few_responses_bounds_what_their_mean_can_show() {
    // Variance 1 ms² over three I/Os.
    let error = standard_error_ms(&tally_of([1_000_000, 2_000_000, 3_000_000])).unwrap();
    assert!((error - (1.0f64 / 3.0).sqrt()).abs() < 0.01, "{error}");
    assert_eq!(standard_error_ms(&tally_of([1_000_000])), None);
    assert_eq!(standard_error_ms(&tally_of([])), None);
}

/// A drive that answers in 100 us, 1 ms later after 100 ms, and 30 ms later after 10 s.
fn sleepy(step: &Step) -> Option<Nanos> {
    let added = match idle_of(step).unwrap_or_default().0 {
        0..100_000_000 => 0,
        100_000_000..10_000_000_000 => 1_000_000,
        _ => 30_000_000,
    };
    Some(Nanos(100_000 + added))
}

fn bench(response: fn(&Step) -> Option<Nanos>) -> ScriptedBench<impl FnMut(&Step) -> f64> {
    let mut bench = scripted(|step| idle_of(step).map_or(5000.0, |idle| 1.0 / idle.as_secs_f64()));
    bench.response = response;
    bench
}

#[test]
fn every_idle_time_has_its_ios_between_two_baselines() {
    let test = build(|_| ());
    let mut bench = bench(sleepy);
    test.conduct(&mut bench).unwrap();
    let steps = steps(&bench.entries);
    let phases: Vec<&str> = steps.iter().map(|step| step.place.phase.as_str()).collect();
    assert_eq!(phases[..4], ["prepare", "back-to-back", "after-0.001s", "after-0.003s"]);
    assert_eq!(phases[13..], ["after-600s", "back-to-back"]);
    let load = |number: usize| steps[number].load.stimulus().unwrap();
    assert_eq!(load(0).until.bytes, Some(Bytes::gib(1)));
    // 100 I/Os after 1 ms, 59 after 1 s, three after 10 min, each with 10 ms for its response.
    let times = [2, 8, 13].map(|number| load(number).until.time.unwrap());
    assert_eq!(times, [1100, 59_590, 1_800_030].map(Nanos::from_millis));
    let ramps = [2, 8, 13].map(|number| load(number).ramp);
    assert_eq!(ramps, [1, 1, 10].map(Nanos::from_secs));
    assert!(steps[1..].iter().all(|step| step.load.stimulus().unwrap().demand.outstanding() == 1));
}

#[test]
fn the_states_their_thresholds_and_latencies_are_found() {
    let test = build(|_| ());
    let record = bench(sleepy).recorded(&test, &test.setup.settings);
    let results = IdleExitResults::new(&test, &record);
    let states: Vec<(Option<Nanos>, Nanos, f64)> = results
        .states
        .iter()
        .map(|state| (state.not_after, state.after, (state.added_ms * 1e6).round() / 1e6))
        .collect();
    let ms = Nanos::from_millis;
    assert_eq!(states, [(Some(ms(30)), ms(100), 1.0), (Some(ms(3000)), ms(10_000), 30.0)]);
    let findings = test.study(&record);
    assert_eq!(findings.end, EndState::Complete);
    assert_eq!(
        findings.ending,
        "First I/O: 1.00 ms slower after 100 ms or more idle, 30.0 ms slower after 10 s or more idle."
    );
}

#[test]
fn a_drive_that_never_sleeps_has_no_state() {
    let test = build(|_| ());
    let findings = bench(|_| Some(Nanos(100_000))).studied(&test, &test.setup.settings);
    assert_eq!(
        findings.ending,
        "At no idle time up to 10 min was every first I/O slower than 99 % of the back-to-back I/Os."
    );
}

#[test]
fn a_record_that_ends_anywhere_shows_what_it_has() {
    let test = build(|_| ());
    let whole = bench(sleepy).recorded(&test, &test.setup.settings);
    assert_unfinished_wherever_it_ends(&test, &whole);
}

/// Power management is requested when the conditions are set; a host without the kernel's files is
/// refused before anything is written.
#[test]
fn power_management_is_set_as_requested() {
    let test = build(|settings| {
        settings.set("link-power", "min_power");
        settings.set("apst", "off");
    });
    let wanted = test.conditions();
    assert_eq!(wanted.link_power.as_deref(), Some("min_power"));
    assert_eq!(wanted.power_state_changes, Some(false));
    assert_eq!(test.refusal(&wanted), None);
    let lacks = |got: Conditions| test.refusal(&got).unwrap();
    assert!(lacks(Conditions::default()).contains("link_power_management_policy"));
    let link = Conditions { link_power: wanted.link_power.clone(), ..Conditions::default() };
    assert!(lacks(link).contains("pm_qos_latency_tolerance_us"));
    assert!(test.changed_text().unwrap().contains("min_power"));
    let unchanged = build(|_| ());
    assert_eq!(unchanged.conditions().link_power, None);
    assert_eq!((unchanged.refusal(&Conditions::default()), unchanged.changed_text()), (None, None));
}
