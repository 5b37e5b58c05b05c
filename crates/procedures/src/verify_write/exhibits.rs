//! Report of verify-write: data moved by each pass, sectors compared, and places of the first
//! miscompares.

use super::results::VerifyWriteResults;
use super::setup::{READS, VerifyWrite, WRITES};
use crate::common::secondary::mb_per_second;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::report_notation::number;
use steadfast_domain::findings::{Cell, KeyFigure, Row, Table};
use steadfast_domain::{Bytes, Caveat, EndState, Measurement, Nanos, Record, Step, caveats as ids};

type VerifyWriteRun<'a> = StudiedRun<'a, VerifyWrite>;

impl ProcedureReport for VerifyWrite {
    type Results<'a> = VerifyWriteResults<'a>;
    const TITLE: &'static str = "Verify-write";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(compared_table),
        ReportEntry::Table(passes_table),
        ReportEntry::Form("Verify-write - Data Read Back"),
        ReportEntry::Table(compared_table),
        ReportEntry::Table(passes_table),
        ReportEntry::OptionalTable(first_miscompares),
        ReportEntry::Setup,
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), VerifyWriteResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &VerifyWriteRun<'_>) -> ReportForm {
        let demand = disclosure::form_demands(&run.choices.demands);
        ReportForm::new(
            "Verify-write",
            "Every sector written, read back and compared",
            &run.choices,
        )
        .set_up([disclosure::note_row(&run.choices)])
        .test_parameters([
            disclosure::profile_row("stimulus-1", "Test Stimulus 1", WRITES.to_string()),
            disclosure::profile_row("stimulus-2", "Test Stimulus 2", READS.to_string()),
            run.choices.demand_row("TOIO - TC/QD", demand),
        ])
    }

    fn ending(run: &VerifyWriteRun<'_>) -> String {
        let sectors = number(run.results.sectors as f64, 0);
        let wrong = number(run.results.miscompares().unwrap_or_default() as f64, 0);
        match run.results.end {
            EndState::Unfinished => "The run is not finished.".to_owned(),
            EndState::Failed => format!(
                "MISCOMPARES: {wrong} of {sectors} sectors did not contain the data that was \
                 written."
            ),
            EndState::Complete => {
                format!("0 miscompares: all {sectors} sectors contain the data that was written.")
            }
            _ => format!("NOT VERIFIED: not all of the {sectors} sectors were compared."),
        }
    }

    fn end(run: &VerifyWriteRun<'_>) -> EndState {
        run.results.end
    }

    /// The common caveats include miscompares.
    fn caveats(run: &VerifyWriteRun<'_>) -> Vec<Caveat> {
        if run.results.end != EndState::Void {
            return Vec::new();
        }
        vec![Caveat::invalidates(
            ids::NOT_COMPARED,
            "NOT VERIFIED: not every sector of the active range was read back and compared.",
            "Run it again to completion.",
        )]
    }

    /// Slowdowns affect no result, as the rates are not reported.
    fn reports(_: &VerifyWriteRun<'_>, _: &Step) -> bool {
        false
    }

    fn figures(run: &VerifyWriteRun<'_>) -> Vec<KeyFigure> {
        let (compared, wrong) = (run.results.compared_sectors(), run.results.miscompares());
        vec![
            KeyFigure::count("sectors", "Sectors compared", compared, "sectors"),
            KeyFigure::count("miscompares", "Miscompares", wrong, "sectors"),
            KeyFigure::new("write-rate", "Written", mb_per_second(&run.results.fill), "MB/s"),
            KeyFigure::new("read-rate", "Read back", mb_per_second(&run.results.read), "MB/s"),
        ]
    }
}

fn compared_table(run: &VerifyWriteRun<'_>) -> Table {
    let cell = |count: Option<u64>| [count.map_or(Cell::Missing, Cell::count)];
    let compared = run.results.compared.as_ref();
    Table::new("verify-write", "Sectors of 512 bytes, read back and compared", "Sectors")
        .columns(["Count"])
        .rows([
            Row::new("Written and to be compared", cell(Some(run.results.sectors))),
            Row::new("Right", cell(compared.map(|c| c.sectors_right))),
            Row::new("Miscompares", cell(run.results.miscompares())).strong(true),
            Row::new("Not known", cell(compared.map(|c| c.sectors_unknown))),
        ])
}

fn passes_table(run: &VerifyWriteRun<'_>) -> Table {
    let row = |name: &str, steps: &[&Measurement]| {
        let bytes = Bytes(steps.iter().map(|m| m.bytes().0).sum());
        let time = Nanos(steps.iter().map(|m| m.elapsed.0).sum());
        let seconds = Cell::number(Some(time.as_secs_f64()), 1);
        Row::new(name, [Cell::count(bytes.0), seconds, Cell::number(mb_per_second(steps), 1)])
    };
    Table::new("passes", "The two passes over the active range", "Pass")
        .columns(["Bytes", "Seconds", "MB/s"])
        .rows([row("Written", &run.results.fill), row("Read back", &run.results.read)])
}

/// Returns the places of the first miscompares; `None` if there are none.
fn first_miscompares(run: &VerifyWriteRun<'_>) -> Option<Table> {
    let first = &run.results.compared.as_ref()?.first;
    let row = |(number, at): (usize, &Bytes)| {
        Row::new((number + 1).to_string(), [Cell::count(at.0), Cell::count(at.0 / 512)])
    };
    (!first.is_empty()).then(|| {
        Table::new("miscompares", "First miscompared sectors", "Number")
            .columns(["Byte", "Sector"])
            .rows(first.iter().enumerate().map(row))
    })
}
