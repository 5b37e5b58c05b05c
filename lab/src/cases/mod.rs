//! The guests and their cases, and what several of them ask.

mod capped;
mod cost;
mod files;
mod medium;
mod namespaces;
mod nvme;
mod scsi;
mod trace;
mod unplug;

use crate::answers::{Answers, Run};
use crate::guest::Guest;
use anyhow::{Context, ensure};
use std::time::Duration;
use steadfast_domain::{Entry, Measurement, Op};

/// A guest that does nothing: where it does not start, none will.
pub fn first() -> Guest {
    Guest {
        name: "first",
        drives: Vec::new(),
        script: "",
        meanwhile: Vec::new(),
        limit: Duration::from_secs(240),
        artefacts: &[],
        cases: Vec::new(),
        table: None,
    }
}

/// Every guest that is visited where none is named.
pub fn guests() -> Vec<Guest> {
    vec![
        nvme::guest(),
        namespaces::guest(),
        scsi::guest(),
        unplug::guest(),
        medium::guest(),
        capped::guest(),
        trace::guest(),
        files::guest(),
    ]
}

/// Guests that are visited only by name: they measure, and pass or fail little.
pub fn benches() -> Vec<Guest> {
    vec![cost::guest()]
}

/// That a command was refused, in words with `why` among them.
fn refused(answers: &Answers, name: &str, why: &str) -> anyhow::Result<()> {
    let said = answers.ended(name, &[1])?;
    ensure!(said.contains(why), "{name}: the refusal does not say '{why}': {said}");
    Ok(())
}

/// The I/Os and bytes of one direction, measured or not.
fn total(measurement: &Measurement, op: Op) -> (u64, u64) {
    let tally = measurement.direction(op);
    let outside = measurement.unmeasured.iter().filter(|passed| passed.op == op);
    outside.fold((tally.ios, tally.bytes.0), |(ios, bytes), passed| {
        (ios + passed.ios, bytes + passed.bytes.0)
    })
}

/// What a run wrote before its purge so that blank means something: writes and
/// bytes.
fn marks(run: &Run) -> (u64, u64) {
    let purges = run.entries().filter_map(|entry| match entry {
        Entry::Purged(purge) => purge.read_back,
        _ => None,
    });
    purges.fold((0, 0), |(writes, bytes), read| {
        let marked = u64::from(read.marked);
        (writes + marked, bytes + marked * read.unit.0)
    })
}

/// The value of feature 06h, which nvme-cli prints in hexadecimal, a zero
/// without its `0x`.
fn cache_feature(answers: &Answers, name: &str) -> anyhow::Result<u32> {
    let said = answers.ended(name, &[0])?;
    let (_, value) = said.split_once("value:").context("no value")?;
    Ok(u32::from_str_radix(value.trim().trim_start_matches("0x"), 16)?)
}

/// One check of a doctor's answer: its state, and what was found.
fn checkup(answers: &Answers, name: &str, id: &str) -> anyhow::Result<(String, String)> {
    let answer = answers.printed(name)?;
    let checks = answer["checks"].as_array().context("no checks")?;
    let check = checks.iter().find(|check| check["id"] == id);
    let check = check.with_context(|| format!("{name} does not look at {id}"))?;
    let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
    Ok((text("state"), text("found")))
}
