//! Report of power-cut: its cycles, its violations by kind, and the locations of the first ones.

use super::results::PowerCutResults;
use super::setup::PowerCut;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::report_notation::number;
use steadfast_domain::findings::{Cell, KeyFigure, Origin, Row, Setting, Table};
use steadfast_domain::power_cut::{
    CountedPowerLoss, CutEvidence, PowerCutOutcome, PowerCutTrial, ViolationKind,
};
use steadfast_domain::{Bytes, Caveat, CaveatKind, EndState, Record, Step, caveats as ids};

type PowerCutRun<'a> = StudiedRun<'a, PowerCut>;

/// Number of violations in the printed table; the CSV file has more.
const PRINTED: usize = 32;

impl ProcedureReport for PowerCut {
    type Results<'a> = PowerCutResults<'a>;
    const TITLE: &'static str = "Power-cut";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(kinds),
        ReportEntry::Form("Power-cut - Flushed Writes Read Back"),
        ReportEntry::Table(kinds),
        ReportEntry::Text(bound_text),
        ReportEntry::OptionalTable(places),
        ReportEntry::Chapter("Cycles"),
        ReportEntry::Table(cycles),
        ReportEntry::Setup,
        ReportEntry::Csv(all_places),
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(), PowerCutResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &PowerCutRun<'_>) -> ReportForm {
        let trial = &run.test.common_trial;
        let settings = run.choices.settings;
        let (by, origin) = match &settings.cut_command {
            Some(command) => (format!("by the command {command}"), Origin::Chosen),
            None => ("by hand (or simulated)".to_owned(), Origin::Profile),
        };
        let writes = format!(
            "{} in random order, each block once before any again; a flush after every {}",
            trial.block.transfer_size(),
            trial.flush_every
        );
        ReportForm::new("Power-cut", "Flushed writes after a loss of power", &run.choices)
            .set_up([disclosure::note_row(&run.choices)])
            .test_parameters([
                disclosure::profile_row("stimulus-1", "Test Stimulus 1", writes),
                Setting::new("cut", "Power cut", by, origin),
                run.choices.demand_row("TOIO - TC/QD", run.test.demand().to_string()),
            ])
    }

    fn ending(run: &PowerCutRun<'_>) -> String {
        let results = &run.results;
        let wanted = run.test.cycles;
        let unseen = match results.violations_without_cut() {
            0 => String::new(),
            blocks => format!(" Without a cut, {blocks} blocks do not hold what was flushed."),
        };
        let last = results.cycles.last().map(|(_, outcome)| *outcome);
        let refuted = last.map_or("", why_no_cut);
        match results.end {
            EndState::Unfinished => "The run is not finished.".to_owned(),
            EndState::Void if results.violated > 0 => format!(
                "VIOLATIONS WITHOUT FLUSHES: {} of {} power cuts lost, tore or misplaced completed \
                 writes, but the kernel sent the drive no flush that it could have kept.",
                results.violated, results.tests
            ),
            EndState::Failed => format!(
                "VIOLATIONS: {} of {} power cuts lost, tore or misplaced what was flushed.",
                results.violated, results.tests
            ),
            EndState::Complete => {
                let sent = if results.without_flushes { " without flushes" } else { "" };
                format!("0 violations in {} power cuts{sent}. {}", results.tests, bound_text(run))
            }
            _ if results.tests == 0 => {
                format!("NO POWER CUT WAS MADE: nothing is known about the drive.{refuted}{unseen}")
            }
            _ => format!(
                "ONLY {} OF {wanted} POWER CUTS WERE MADE, without a violation.{refuted}{unseen}",
                results.tests
            ),
        }
    }

    fn end(run: &PowerCutRun<'_>) -> EndState {
        run.results.end
    }

    fn caveats(run: &PowerCutRun<'_>) -> Vec<Caveat> {
        let results = &run.results;
        let mut caveats = Vec::new();
        if results.end == EndState::Void && results.violated == 0 {
            caveats.push(Caveat::invalidates(
                ids::NO_POWER_CUT,
                format!(
                    "Of {} wanted power cuts, {} were made after an acknowledged flush.",
                    run.test.cycles, results.tests
                ),
                "Check that the command or the switch cuts the power of the device, not of its \
                 port alone, and run it again.",
            ));
        }
        if results.unproven > 0 {
            caveats.push(Caveat::unverified(
                ids::POWER_CUT_UNPROVEN,
                format!(
                    "In {} of {} cycles the device failed or the host restarted, but the drive \
                     reports no count of power cycles that would prove the cut.",
                    results.unproven,
                    results.cycles.len()
                ),
                "Check that the command or the switch cuts the drive's power.",
            ));
        }
        if results.without_flushes {
            let kind = match results.violated {
                0 => CaveatKind::Deviation,
                _ => CaveatKind::Invalidates,
            };
            caveats.push(Caveat::new(
                kind,
                ids::NO_FLUSH_SENT,
                "The kernel sent the drive no flush (queue/write_cache is 'write through'), so \
                 only completed writes were tested.",
                "Where the drive has a volatile cache, write 'write back' to queue/write_cache \
                 and test again.",
            ));
        }
        if results.violated > 0 {
            caveats.push(Caveat::remark(
                ids::POWER_CUT_VIOLATIONS,
                format!(
                    "{} blocks in {} of {} power cuts do not hold what was flushed.",
                    results.violations(),
                    results.violated,
                    results.tests
                ),
                "Do not use the drive where a flush must be durable, or disable its write cache \
                 and test again.",
            ));
        }
        caveats
    }

    /// No rate is reported.
    fn reports(_: &PowerCutRun<'_>, _: &Step) -> bool {
        false
    }

    fn figures(run: &PowerCutRun<'_>) -> Vec<KeyFigure> {
        let results = &run.results;
        let has_any = results.tests > 0;
        let violated = has_any.then_some(results.violated as u64);
        let bound = results.bound().map(|bound| bound * 100.0);
        vec![
            KeyFigure::count("power-cuts", "Power cuts", Some(results.tests as u64), "cuts"),
            KeyFigure::count("violated", "With a violation", violated, "cuts"),
            KeyFigure::count(
                "violations",
                "Violations",
                has_any.then(|| results.violations()),
                "blocks",
            )
            .with_note(has_any.then(|| {
                let trial = &run.test.common_trial;
                format!(
                    "each cut tests {} blocks, {}",
                    number(trial.blocks as f64, 0),
                    Bytes(trial.blocks * trial.block.0).binary()
                )
            })),
            KeyFigure::new("bound", "At most, 95 % confidence", bound, "%"),
        ]
    }
}

fn bound_text(run: &PowerCutRun<'_>) -> String {
    match run.results.bound() {
        None => "No bound: no power was cut.".to_owned(),
        Some(bound) => format!(
            "With 95 % confidence, at most {} % of such power cuts have one (one-sided bound of \
             Clopper and Pearson).",
            number(bound * 100.0, 1)
        ),
    }
}

fn kinds(run: &PowerCutRun<'_>) -> Table {
    let has_any = run.results.tests > 0;
    let count = |kind: &ViolationKind| run.results.counts.get(kind).copied().unwrap_or_default();
    let cell = |count: u64| [if has_any { Cell::count(count) } else { Cell::Missing }];
    let rows = ViolationKind::ALL.iter().map(|kind| Row::new(kind.name(), cell(count(kind))));
    let total = Row::new("All", cell(run.results.violations())).strong(true);
    Table::new("violations", "Blocks with a violation, of all power cuts", "Violation")
        .columns(["Blocks"])
        .rows(rows.chain([total]))
}

fn evidence(outcome: &PowerCutOutcome) -> &'static str {
    match outcome.evidence {
        CutEvidence::Nothing => "NO CUT SEEN",
        CutEvidence::MediumError => "medium error",
        CutEvidence::DeviceFailed => "device failed",
        CutEvidence::HostRestarted => "host restarted",
        CutEvidence::Simulated => "simulated",
    }
}

/// Returns why a cycle was no cut, as a sentence after a blank; empty if nothing is known but that no
/// I/O failed.
fn why_no_cut(outcome: &PowerCutOutcome) -> &'static str {
    match (outcome.is_cut(), outcome.evidence, outcome.counted) {
        (true, ..) => "",
        (_, CutEvidence::MediumError, _) => {
            " A write failed, but the device kept answering: a medium error."
        }
        (_, CutEvidence::Nothing, CountedPowerLoss::Yes) => {
            " The drive counted a power loss, but the kernel repeated its I/Os: the cut was too short."
        }
        (_, CutEvidence::Nothing, _) => "",
        _ => " The drive failed I/Os, but it counted no power cycle.",
    }
}

fn counted(outcome: &PowerCutOutcome) -> Cell {
    match outcome.counted {
        CountedPowerLoss::Yes => Cell::text("yes"),
        CountedPowerLoss::No => Cell::text("NO"),
        CountedPowerLoss::Unknown => Cell::Missing,
    }
}

fn cycles(run: &PowerCutRun<'_>) -> Table {
    let row = |(trial, outcome): &(&PowerCutTrial, &PowerCutOutcome)| {
        Row::new(
            trial.cycle.to_string(),
            [
                Cell::text(evidence(outcome)),
                counted(outcome),
                Cell::number(Some(trial.cut_after.as_secs_f64()), 3),
                Cell::count(outcome.acknowledged),
                Cell::count(outcome.flushes),
                Cell::count(outcome.unflushed_survived),
                Cell::count(outcome.unflushed_torn),
                Cell::count(outcome.damaged_lines),
                Cell::count(outcome.violation_count()),
            ],
        )
    };
    Table::new("cycles", "Cycles, and what was found after each", "Cycle")
        .columns([
            "Power cut", "Counted by the drive", "After (s)", "Writes flushed", "Flushes",
            "Unflushed kept", "of these torn", "Damaged log lines", "Violations",
        ])
        .rows(run.results.cycles.iter().map(row))
}

/// Returns the locations of the first violations; `None` if there are none.
fn places(run: &PowerCutRun<'_>) -> Option<Table> {
    let mut rows = place_rows(run);
    rows.truncate(PRINTED);
    (!rows.is_empty()).then(|| place_table("places", "First violations", rows))
}

fn all_places(run: &PowerCutRun<'_>) -> Table {
    let title = "Violations, at most 100 of each cycle";
    place_table("power-cut-violations", title, place_rows(run))
}

fn place_table(id: &str, title: &str, rows: Vec<Row>) -> Table {
    Table::new(id, title, "Number")
        .columns(["Cycle", "Violation", "Byte", "Expected write", "Found write", "Flushed (ms)"])
        .rows(rows)
}

fn place_rows(run: &PowerCutRun<'_>) -> Vec<Row> {
    let tests = run.results.cycles.iter().filter(|(_, outcome)| outcome.is_test());
    let all = tests.flat_map(|(trial, outcome)| {
        outcome.violations.iter().map(move |violation| (trial.cycle, violation))
    });
    // Write 0 stands for no write of this trial.
    let write = |sequence: u64| if sequence == 0 { Cell::Missing } else { Cell::count(sequence) };
    all.enumerate()
        .map(|(at, (cycle, violation))| {
            Row::new(
                (at + 1).to_string(),
                [
                    Cell::count(u64::from(cycle)),
                    Cell::text(violation.kind.name()),
                    Cell::count(violation.offset.0),
                    write(violation.expected),
                    write(violation.found),
                    Cell::number(violation.flushed_at.map(|at| at.as_millis_f64()), 1),
                ],
            )
        })
        .collect()
}
