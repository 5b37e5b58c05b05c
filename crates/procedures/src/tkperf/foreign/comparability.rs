//! How far TKperf's numbers are comparable with new ones: the effect of its defects on each test
//! (TKperf 638b083, read and run), as a page and as caveats.

use super::results::TkperfTestResult;
use crate::exhibits::pages;
use steadfast_domain::findings::{Cell, Exhibit, Page, Row, Table};
use steadfast_domain::{Caveat, CaveatKind, ForeignKind, ForeignRun, ForeignTest, caveats as ids};

pub(super) fn units_caveat() -> Caveat {
    Caveat::remark(
        ids::FOREIGN_UNITS,
        "What TKperf prints as MB/s is MiB/s (2^20 bytes). Here MB/s are 10^6 bytes, so the \
         numbers are 4.9 % larger than in TKperf's own report.",
        "",
    )
}

fn deviation(id: &str, text: impl Into<String>) -> Caveat {
    Caveat::deviation(id, text, "Repeat the test with `steadfast tkperf`.")
}

pub(super) fn caveats(test: &ForeignTest, studied: &TkperfTestResult<'_>) -> Vec<Caveat> {
    let mut caveats = vec![Caveat::remark(
        ids::FOREIGN_PURGE,
        "The log does not say whether the device was purged, nor how. TKperf goes on after a \
         failed erase of an NVMe or SAS drive and says nothing of it in its report.",
        "",
    )];
    caveats.extend(kind_caveats(test));
    if !studied.unsteady.is_empty() {
        let names: Vec<String> = studied.unsteady.iter().map(ToString::to_string).collect();
        caveats.push(deviation(
            ids::FOREIGN_ONE_WINDOW,
            format!(
                "TKperf judges all block sizes by the writes of 1024 KiB. In that window these \
                 are not steady: {}.",
                names.join(", ")
            ),
        ));
    }
    caveats.extend(jobs_caveat(test));
    caveats
}

fn kind_caveats(test: &ForeignTest) -> Vec<Caveat> {
    match test.kind {
        ForeignKind::Iops => vec![same_offsets(
            CaveatKind::Deviation,
            "Writes of a step fall on the blocks that earlier steps wrote, which favors the drive.",
        )],
        ForeignKind::Latency => vec![
            same_offsets(CaveatKind::Deviation, "Response times of writes are too good."),
            deviation(
                ids::FOREIGN_MIX,
                "Average and maximum of the mix 65/35 are means of those of its reads and its \
                 writes, weighted by the mix: no I/O took the maximum that is shown.",
            ),
        ],
        ForeignKind::Throughput => vec![deviation(
            ids::NO_WIPC,
            "No preconditioning after the erase: the first writes went to an empty drive, and \
             reads may have found blocks that nothing was written to.",
        )],
        ForeignKind::WriteSaturation => vec![same_offsets(
            CaveatKind::Invalidates,
            "Only the blocks of one round were written, again and again, so the drive was never \
             full: these are the numbers of a drive with far more spare capacity.",
        )],
        ForeignKind::ZoneIops | ForeignKind::ZoneThroughput => vec![Caveat::remark(
            ids::FOREIGN_ZONES,
            "On disks with sectors of 4,096 bytes, TKperf takes the capacity for eight times \
             what it is, so that its zones lie elsewhere than here.",
            "",
        )],
    }
}

fn same_offsets(kind: CaveatKind, effect: &str) -> Caveat {
    Caveat::new(
        kind,
        ids::FOREIGN_SAME_OFFSETS,
        format!("fio drew the same random offsets in every step (its default). {effect}"),
        "Repeat the test with `steadfast tkperf`.",
    )
}

/// Returns the caveat on the effect of several jobs; `None` if the test had only one.
fn jobs_caveat(test: &ForeignTest) -> Option<Caveat> {
    let jobs = test.jobs.filter(|jobs| *jobs > 1)?;
    let effect = match test.kind {
        ForeignKind::Throughput | ForeignKind::ZoneThroughput => format!(
            "The {jobs} jobs all began at the same byte: they wrote the same blocks {jobs} times, \
             and the reads of one served the others from the drive's cache."
        ),
        ForeignKind::Iops | ForeignKind::Latency => format!(
            "The preconditioning was done by each of {jobs} jobs from the first byte on: {} times \
             the capacity was written.",
            2 * u64::from(jobs)
        ),
        ForeignKind::WriteSaturation | ForeignKind::ZoneIops => {
            format!("The {jobs} jobs drew their offsets separately, each the same in every round.")
        }
    };
    Some(deviation(ids::FOREIGN_JOBS, effect))
}

/// Returns the page on which numbers can be compared.
pub(super) fn page(run: &ForeignRun) -> Page {
    let rows = run.tests.iter().flat_map(|test| {
        let lines = comparable(test.kind).iter();
        lines.map(|[number, answer, why]| {
            let cells = [Cell::text(*answer), Cell::text(*why)];
            Row::new(*number, cells).strong(*answer == "no")
        })
    });
    let table = Table::new(
        "tkperf-worth",
        "TKperf's numbers compared with those of a new run with the same options",
        "Number",
    )
    .columns(["Comparable", "Why"])
    .rows(rows);
    let text = "TKperf measured these numbers. They are shown as its log holds them, steady state \
                is judged again by the same rule, and every difference to a new run has a line \
                here. MB/s are 10^6 bytes; what TKperf prints as MB/s is MiB/s.";
    let exhibits = vec![Exhibit::Text(text.into()), Exhibit::Table(table)];
    pages::page("What TKperf's numbers are worth", exhibits)
}

/// Returns the rows of that page: the number, whether it can be compared, and the reason.
fn comparable(kind: ForeignKind) -> &'static [[&'static str; 3]] {
    match kind {
        ForeignKind::Iops => &[
            ["IOPS, 100 % reads", "yes", "reads do not wear; purge and conditions permitting"],
            [
                "IOPS with writes",
                "with care",
                "the same offsets in every step; new numbers are lower where that helped the drive",
            ],
        ],
        ForeignKind::Latency => &[
            ["Latency, 100 % reads", "yes", "purge and conditions permitting"],
            ["Latency, 100 % writes", "with care", "the same offsets in every step"],
            ["Latency, mix 65/35", "no", "weighted means of reads and writes, not of the I/Os"],
        ],
        ForeignKind::Throughput => &[
            [
                "Throughput, 1024 KiB",
                "with care",
                "no preconditioning; each step began again at the first byte; compare MiB/s",
            ],
            [
                "Throughput, other sizes",
                "no",
                "judged by the writes of 1024 KiB; with several jobs the same blocks several times",
            ],
        ],
        ForeignKind::WriteSaturation => &[
            ["Write saturation, first rounds", "with care", "an empty drive, if the erase worked"],
            [
                "Write saturation, last rounds",
                "no",
                "the same blocks in every round: a drive with far more spare capacity",
            ],
        ],
        ForeignKind::ZoneIops => &[["IOPS of zones", "yes", "not where sectors have 4,096 bytes"]],
        ForeignKind::ZoneThroughput => {
            &[["Throughput of zones", "with care", "several jobs moved the same blocks"]]
        }
    }
}
