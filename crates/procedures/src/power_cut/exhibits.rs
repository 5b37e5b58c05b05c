//! Report of power-cut: its cycles, its violations by kind, and the locations of the first ones.

use super::results::{JudgedCycle, PowerCutResults};
use super::setup::PowerCut;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::matrix::millis;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::number;
use steadfast_domain::findings::{Cell, KeyFigure, Origin, Row, Setting, Table};
use steadfast_domain::power_cut::{
    CountedPowerLoss, CutEvidence, PowerCutOutcome, PowerCutViolation, ViolationKind,
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
        ReportEntry::Table(kinds_table),
        ReportEntry::Form("Power-cut - Flushed Writes Read Back"),
        ReportEntry::Table(kinds_table),
        ReportEntry::Text(bound_text),
        ReportEntry::OptionalTable(first_violations),
        ReportEntry::Chapter("Cycles"),
        ReportEntry::Table(cycles_table),
        ReportEntry::Setup,
        ReportEntry::Csv(all_violations),
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
        let refuted = results.cycles.last().map_or("", |cycle| why_no_cut(cycle.outcome));
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

fn kinds_table(run: &PowerCutRun<'_>) -> Table {
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

fn cycle_columns<'a>() -> [TypedColumn<JudgedCycle<'a>>; 9] {
    [
        TypedColumn::cell("Power cut", |cycle| Cell::text(evidence(cycle.outcome))),
        TypedColumn::cell("Counted by the drive", |cycle| counted(cycle.outcome)),
        TypedColumn::number("After (s)", 3, |cycle| Some(cycle.trial.cut_after.as_secs_f64())),
        TypedColumn::count("Writes flushed", |cycle| Some(cycle.outcome.acknowledged)),
        TypedColumn::count("Flushes", |cycle| Some(cycle.outcome.flushes)),
        TypedColumn::count("Unflushed kept", |cycle| Some(cycle.outcome.unflushed_survived)),
        TypedColumn::count("of these torn", |cycle| Some(cycle.outcome.unflushed_torn)),
        TypedColumn::count("Damaged log lines", |cycle| Some(cycle.outcome.damaged_lines)),
        TypedColumn::count("Violations", |cycle| Some(cycle.outcome.violation_count())),
    ]
}

fn cycles_table(run: &PowerCutRun<'_>) -> Table {
    let columns = cycle_columns();
    let rows = run.results.cycles.iter();
    typed_table("cycles", "Cycles, and what was found after each", "Cycle", &columns)
        .rows(rows.map(|cycle| typed_row(cycle.trial.cycle.to_string(), &columns, cycle)))
}

/// Returns the locations of the first violations; `None` if there are none.
fn first_violations(run: &PowerCutRun<'_>) -> Option<Table> {
    let mut violations = located_violations(run);
    violations.truncate(PRINTED);
    (!violations.is_empty()).then(|| violations_table("places", "First violations", &violations))
}

fn all_violations(run: &PowerCutRun<'_>) -> Table {
    let title = "Violations, at most 100 of each cycle";
    violations_table("power-cut-violations", title, &located_violations(run))
}

struct CycleViolation<'a> {
    cycle: u32,
    violation: &'a PowerCutViolation,
}

fn located_violations<'a>(run: &PowerCutRun<'a>) -> Vec<CycleViolation<'a>> {
    let mut located = Vec::new();
    for JudgedCycle { trial, outcome } in &run.results.cycles {
        if outcome.is_test() {
            let violations = outcome.violations.iter();
            located.extend(
                violations.map(|violation| CycleViolation { cycle: trial.cycle, violation }),
            );
        }
    }
    located
}

fn violation_columns<'a>() -> [TypedColumn<CycleViolation<'a>>; 6] {
    // Write 0 stands for no write of this trial.
    [
        TypedColumn::count("Cycle", |found| Some(found.cycle.into())),
        TypedColumn::cell("Violation", |found| Cell::text(found.violation.kind.name())),
        TypedColumn::count("Byte", |found| Some(found.violation.offset.0)),
        TypedColumn::count("Expected write", |found| {
            Some(found.violation.expected).filter(|write| *write > 0)
        }),
        TypedColumn::count("Found write", |found| {
            Some(found.violation.found).filter(|write| *write > 0)
        }),
        TypedColumn::number("Flushed (ms)", 1, |found| millis(found.violation.flushed_at)),
    ]
}

fn violations_table(id: &str, title: &str, violations: &[CycleViolation<'_>]) -> Table {
    let columns = violation_columns();
    let rows = (1..).zip(violations);
    typed_table(id, title, "Number", &columns)
        .rows(rows.map(|(n, found): (u32, _)| typed_row(n.to_string(), &columns, found)))
}
