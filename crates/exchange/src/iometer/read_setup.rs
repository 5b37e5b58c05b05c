//! Parses the section TEST SETUP.

use super::config::{Cycling, DepthCycling, Recorded, RunTime, Setup, Spawn, StepKind, TestType};
use super::keys;
use super::pairs::{Key, Pairs, Value};
use crate::parse_error::ParseError;

const SECTION: &str = "TEST SETUP";

pub(super) fn setup(pairs: &mut Pairs<'_>) -> Result<Setup, ParseError> {
    let mut setup = Setup::default();
    loop {
        let key = pairs.key(SECTION)?;
        if key.ends("test setup") {
            return Ok(setup);
        }
        let value = pairs.value(&key);
        if !(times(&mut setup, &key, &value)? || cycles(&mut setup, &key, &value)?) {
            return Err(key.unknown(SECTION));
        }
    }
}

fn times(setup: &mut Setup, key: &Key, value: &Value) -> Result<bool, ParseError> {
    if key.is(keys::TEST_DESCRIPTION) {
        setup.description = Some(value.text.clone());
    } else if key.is(keys::RUN_TIME) {
        setup.run_time = Some(run_time(value)?);
    } else if key.name.starts_with(keys::RAMP_UP) {
        setup.ramp_s = Some(value.number::<u32>(&value.text, "ramp up time")?.into());
    } else if key.is(keys::WORKERS_OLD) {
        // Iometer wrote 0 for "one per processor" in these versions.
        let spawn = spawn(value)?;
        let old = if spawn == Spawn::Count(0) { Spawn::Processors } else { spawn };
        setup.disk_workers = Some(old);
    } else if key.is(keys::DISK_WORKERS) {
        setup.disk_workers = Some(spawn(value)?);
    } else if key.is(keys::NETWORK_WORKERS) {
        setup.network_workers = Some(spawn(value)?);
    } else if key.is(keys::RECORD) {
        let record = Recorded::parse(&value.text);
        setup.record = Some(record.ok_or_else(|| choose(value, &Recorded::choices()))?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn cycles(setup: &mut Setup, key: &Key, value: &Value) -> Result<bool, ParseError> {
    if key.is(keys::WORKER_CYCLING) {
        setup.worker_cycling = Some(cycling(value)?);
    } else if key.is(keys::DISK_CYCLING) {
        setup.disk_cycling = Some(cycling(value)?);
    } else if key.is(keys::DEPTH_CYCLING) {
        setup.depth_cycling = Some(depth_cycling(value)?);
    } else if key.is(keys::TEST_TYPE) {
        let test_type = TestType::parse(&value.text);
        setup.test_type = Some(test_type.ok_or_else(|| choose(value, &TestType::choices()))?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn choose(value: &Value, choices: &str) -> ParseError {
    value.wrong(format!("unknown; use one of {choices}"))
}

fn run_time(value: &Value) -> Result<RunTime, ParseError> {
    match value.words().as_slice() {
        [hours, minutes, seconds] => Ok(RunTime {
            hours: value.number(hours, "hours")?,
            minutes: value.number(minutes, "minutes")?,
            seconds: value.number(seconds, "seconds")?,
        }),
        _ => Err(value.wrong("a run time is three numbers: hours, minutes, seconds")),
    }
}

fn spawn(value: &Value) -> Result<Spawn, ParseError> {
    if value.text.eq_ignore_ascii_case("NUMBER_OF_CPUS") {
        return Ok(Spawn::Processors);
    }
    value.number(&value.text, "the number of workers").map(Spawn::Count)
}

fn cycling(value: &Value) -> Result<Cycling, ParseError> {
    match value.words().as_slice() {
        [start, step, kind] => counted(value, [start, step, kind]),
        _ => Err(value.wrong("a cycling is three values: start, step, step type")),
    }
}

fn depth_cycling(value: &Value) -> Result<DepthCycling, ParseError> {
    match value.words().as_slice() {
        [start, end, step, kind] => Ok(DepthCycling {
            cycling: counted(value, [start, step, kind])?,
            end: value.number(end, "the end")?,
        }),
        _ => Err(value.wrong("a queue depth cycling is four values: start, end, step, step type")),
    }
}

fn counted(value: &Value, [start, step, kind]: [&str; 3]) -> Result<Cycling, ParseError> {
    let kind = StepKind::parse(kind).ok_or_else(|| choose(value, &StepKind::choices()))?;
    let cycling = Cycling {
        start: value.number(start, "the start")?,
        step: value.number(step, "the step")?,
        kind,
    };
    if cycling.start == 0 || cycling.step == 0 {
        return Err(value.wrong("start and step are at least 1"));
    }
    Ok(cycling)
}
