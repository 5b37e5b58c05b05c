//! Commits and offered rates on a loop device over one whose commands take a known time, with fio in
//! turn.

use crate::answers::GuestOutput;
use crate::cases::checks::{measured, total};
use crate::guest::{Case, Guest};
use anyhow::{Context, ensure};
use steadfast_domain::{Op, Tally};

/// Time of each command of the device in milliseconds; the script has the same.
const COMMAND_MS: f64 = 50.0;

/// Largest relative deviation of our mean from fio's.
const DEVIATION_MAX: f64 = 0.03;

/// Offered rates in I/Os per second; the script has the same.
const RATES: [u32; 2] = [10, 20];

/// Rounds of both programs in turn; the script has the same.
const ROUNDS: u32 = 4;

pub fn guest() -> Guest {
    Guest {
        cases: vec![
            Case::new("the device has a volatile cache", cached),
            Case::new("a commit takes at least its write and its flush", commits_are_whole),
            Case::new("a commit takes as long as fio's", commits_like_fio),
            Case::new("every flush is in the kernel's count", flushes),
            Case::new("at a rate, no response is shorter than a command", rates_are_whole),
            Case::new("at a rate, the mean is fio's", rates_like_fio),
        ],
        ..Guest::new("service", include_str!("service.sh"), 900)
    }
}

fn mean_ms(tally: &Tally) -> anyhow::Result<f64> {
    tally.response_mean_ms().context("no mean response time")
}

/// Returns the smallest of the rounds' values: a busy machine makes a guest slower, never faster.
fn smallest(value: impl Fn(u32) -> anyhow::Result<f64>) -> anyhow::Result<f64> {
    (1..=ROUNDS).try_fold(f64::INFINITY, |least, round| Ok(least.min(value(round)?)))
}

/// Returns a mean that fio reports, in milliseconds.
fn fio_mean_ms(answers: &GuestOutput, name: &str, part: &str) -> anyhow::Result<f64> {
    let job = &answers.json(name)?["jobs"][0];
    let mean = job[part]["lat_ns"]["mean"].as_f64();
    Ok(mean.with_context(|| format!("{name}: no mean of {part}"))? / 1e6)
}

fn cached(answers: &GuestOutput) -> anyhow::Result<()> {
    let cache = answers.text("write-cache")?;
    ensure!(cache.trim() == "write back", "write_cache: {cache}");
    Ok(())
}

fn commits_are_whole(answers: &GuestOutput) -> anyhow::Result<()> {
    for round in 1..=ROUNDS {
        let done = measured(answers, &format!("commits.{round}"))?;
        let alone = mean_ms(done.writes_alone.as_ref().context("no writes alone")?)?;
        let flush = mean_ms(&done.direction(Op::Flush))?;
        let commit = mean_ms(&done.direction(Op::Write))?;
        for (name, mean, least) in [
            ("write alone", alone, COMMAND_MS),
            ("flush", flush, COMMAND_MS),
            ("commit", commit, 2.0 * COMMAND_MS),
        ] {
            ensure!(mean >= least, "round {round}: {name} {mean:.3} ms, device {least} ms");
        }
    }
    Ok(())
}

fn commits_like_fio(answers: &GuestOutput) -> anyhow::Result<()> {
    let ours = smallest(|round| {
        let done = measured(answers, &format!("commits.{round}"))?;
        mean_ms(&done.direction(Op::Write))
    })?;
    let fio = smallest(|round| {
        let name = format!("fio-commits.{round}");
        Ok(fio_mean_ms(answers, &name, "write")? + fio_mean_ms(answers, &name, "sync")?)
    })?;
    near("commit", ours, fio)
}

fn near(name: &str, ours: f64, fio: f64) -> anyhow::Result<()> {
    let is_near = (ours - fio).abs() <= DEVIATION_MAX * fio;
    ensure!(is_near, "{name}: {ours:.3} ms, fio {fio:.3} ms");
    Ok(())
}

fn flushes(answers: &GuestOutput) -> anyhow::Result<()> {
    let kernel = |name: &str| -> anyhow::Result<u64> {
        Ok(answers.text(&format!("{name}.flushes"))?.trim().parse()?)
    };
    for round in 1..=ROUNDS {
        let name = format!("commits.{round}");
        let done = measured(answers, &name)?;
        let (own, kernel_count) = (total(&done, Op::Flush).0, kernel(&name)?);
        ensure!(own > 20, "{name}: {own} flushes");
        ensure!(own == kernel_count, "{name}: {own} flushes, the kernel counted {kernel_count}");
        for rate in RATES {
            let name = format!("{rate}.{round}");
            ensure!(kernel(&name)? == 0, "{name}: reads flush");
        }
    }
    Ok(())
}

fn rates_are_whole(answers: &GuestOutput) -> anyhow::Result<()> {
    for rate in RATES {
        for round in 1..=ROUNDS {
            let done = measured(answers, &format!("{rate}.{round}"))?;
            let mean = mean_ms(&done.direction(Op::Read))?;
            ensure!(mean >= COMMAND_MS, "{rate} IOPS: {mean:.3} ms, device {COMMAND_MS} ms");
        }
    }
    Ok(())
}

fn rates_like_fio(answers: &GuestOutput) -> anyhow::Result<()> {
    for rate in RATES {
        let ours = smallest(|round| {
            mean_ms(&measured(answers, &format!("{rate}.{round}"))?.direction(Op::Read))
        })?;
        let fio = smallest(|round| fio_mean_ms(answers, &format!("fio-{rate}.{round}"), "read"))?;
        near(&format!("{rate} IOPS"), ours, fio)?;
    }
    Ok(())
}
