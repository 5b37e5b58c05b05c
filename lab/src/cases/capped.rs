//! Measures a drive whose speed is limited to a known value.

use crate::answers::GuestOutput;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};

/// Limit set in QEMU, in I/Os per second: a prime.
const CAP: u32 = 1009;

const TOLERANCE: f64 = 0.03;

pub fn guest() -> Guest {
    Guest {
        drives: vec![GuestDrive::nvme("LABSLOW1", Medium::new(128).with_iops_limit(CAP))],
        cases: vec![
            Case::new("reads measure as the cap", |a| near_cap(a, "RND 4K R")),
            Case::new("writes measure as the cap", |a| near_cap(a, "RND 4K W")),
            Case::new("both add up to the cap", |a| near_cap(a, "RND 4K RW65")),
            Case::new("fio measures the same", fio),
        ],
        ..Guest::new("capped", include_str!("capped.sh"), 240)
    }
}

fn near(found: f64, wanted: f64) -> bool {
    (found / wanted - 1.0).abs() <= TOLERANCE
}

fn our_iops(answers: &GuestOutput, pattern: &str) -> anyhow::Result<f64> {
    answers.json(pattern)?["iops"].as_f64().context("no IOPS")
}

fn near_cap(answers: &GuestOutput, pattern: &str) -> anyhow::Result<()> {
    let iops = our_iops(answers, pattern)?;
    ensure!(near(iops, CAP.into()), "{pattern}: {iops:.1} IOPS of {CAP}");
    Ok(())
}

fn fio(answers: &GuestOutput) -> anyhow::Result<()> {
    let theirs = answers.json("fio")?["jobs"][0]["read"]["iops"].as_f64().context("no IOPS")?;
    let ours = our_iops(answers, "RND 4K R")?;
    ensure!(near(ours, theirs), "{ours:.1} IOPS, fio {theirs:.1}");
    Ok(())
}
