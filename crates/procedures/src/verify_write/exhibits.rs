//! The exhibits of verify-write: what each pass moved, what was compared, and
//! where the first sectors lie that held something else.

use super::results::Results;
use super::setup::{READS, VerifyWrite, WRITES};
use crate::exhibits::disclosure::{self, Form};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::pages::page;
use crate::exhibits::secondary;
use crate::exhibits::steps::every_step;
use crate::words::number;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Cell, Exhibit, FormHeader, KeyFigure, Origin, Row, Setting, Table,
};
use steadfast_domain::{Bytes, Caveat, CaveatKind, EndState, Findings, Measurement, Nanos, Record};

/// Everything that is reported of a run.
pub fn findings(test: &VerifyWrite, record: &Record, results: &Results<'_>) -> Findings {
    let choices = test.choices(record);
    let tables = vec![Exhibit::Table(compared_table(results)), Exhibit::Table(passes(results))];
    let mut on_page = tables.clone();
    on_page.extend(places(results).map(Exhibit::Table));
    Findings {
        end: results.end,
        ending: ending(results),
        caveats: caveats(test, record, results),
        summary: tables,
        form_pages: vec![page("Verify-write - Data Read Back", on_page)],
        chapters: common_chapters(&choices, record),
        long_tables: vec![every_step(&choices, record)],
        ..frame("Verify-write", &choices, record, header(test, record))
            .fronted(figures(results), [] as [&str; 0])
    }
}

fn ending(results: &Results<'_>) -> String {
    let sectors = number(results.sectors as f64, 0);
    let wrong = number(results.miscompares().unwrap_or_default() as f64, 0);
    match results.end {
        EndState::Unfinished => "The run is not finished.".to_owned(),
        EndState::Failed => {
            format!(
                "MISCOMPARES: {wrong} of {sectors} sectors did not contain the data that was \
                written."
            )
        }
        EndState::Complete => {
            format!("0 miscompares: all {sectors} sectors contain the data that was written.")
        }
        _ => format!("NOT VERIFIED: not all of the {sectors} sectors were compared."),
    }
}

fn header(test: &VerifyWrite, record: &Record) -> FormHeader {
    let choices = test.choices(record);
    let mut set_up = disclosure::common_set_up_rows(&choices);
    set_up.push(disclosure::note_row(&choices));
    let mut test_parameters = disclosure::common_test_rows(&choices);
    let fixed =
        |id: &str, label: &str, value: String| Setting::new(id, label, value, Origin::Profile);
    test_parameters.extend([
        fixed("stimulus-1", "Test Stimulus 1", WRITES.to_string()),
        fixed("stimulus-2", "Test Stimulus 2", READS.to_string()),
        choices.demand_row("TOIO - TC/QD", disclosure::form_demands(&choices.demands)),
    ]);
    let form = Form {
        test: "Verify-write",
        subtitle: "Every sector written, read back and compared",
        set_up,
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

/// What is wrong with the data stands among the caveats of every procedure.
fn caveats(test: &VerifyWrite, record: &Record, results: &Results<'_>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    if results.end == EndState::Void {
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            ids::NOT_COMPARED,
            "NOT VERIFIED: not every sector of the active range was read back and compared.",
            "Run it again to completion.",
        ));
    }
    caveats.extend(disclosure::caveats(&test.choices(record), record));
    // No number here is spoiled by what slows the run down.
    caveats.extend(secondary::caveats(record, &|_| false));
    caveats
}

fn figures(results: &Results<'_>) -> Vec<KeyFigure> {
    vec![
        KeyFigure::count("sectors", "Sectors compared", results.compared_sectors(), "sectors"),
        KeyFigure::count("miscompares", "Miscompares", results.miscompares(), "sectors"),
        KeyFigure::new("write-rate", "Written", rate(&results.fill), "MB/s"),
        KeyFigure::new("read-rate", "Read back", rate(&results.read), "MB/s"),
    ]
}

/// MB/s of a pass.
fn rate(pieces: &[&Measurement]) -> Option<f64> {
    let bytes = Bytes(pieces.iter().map(|m| m.bytes().0).sum());
    let time = Nanos(pieces.iter().map(|m| m.elapsed.0).sum());
    (time.0 > 0).then(|| bytes.as_mb() / time.as_secs_f64())
}

fn compared_table(results: &Results<'_>) -> Table {
    let of = |count: Option<u64>| [count.map_or(Cell::Missing, Cell::count)];
    let compared = results.compared.as_ref();
    Table::new("verify-write", "Sectors of 512 bytes, read back and compared", "Sectors")
        .columns(["Count"])
        .rows([
            Row::new("Written and to be compared", of(Some(results.sectors))),
            Row::new("Right", of(compared.map(|c| c.sectors_right))),
            Row::new("Miscompares", of(results.miscompares())).strong(true),
            Row::new("Not known", of(compared.map(|c| c.sectors_unknown))),
        ])
}

fn passes(results: &Results<'_>) -> Table {
    let row = |name: &str, pieces: &[&Measurement]| {
        let bytes = Bytes(pieces.iter().map(|m| m.bytes().0).sum());
        let time = Nanos(pieces.iter().map(|m| m.elapsed.0).sum());
        let seconds = Cell::number(Some(time.as_secs_f64()), 1);
        Row::new(name, [Cell::count(bytes.0), seconds, Cell::number(rate(pieces), 1)])
    };
    Table::new("passes", "The two passes over the active range", "Pass")
        .columns(["Bytes", "Seconds", "MB/s"])
        .rows([row("Written", &results.fill), row("Read back", &results.read)])
}

/// Where the first miscompares lie; `None` where there are none.
fn places(results: &Results<'_>) -> Option<Table> {
    let first = &results.compared.as_ref()?.first;
    let row = |(number, at): (usize, &Bytes)| {
        Row::new((number + 1).to_string(), [Cell::count(at.0), Cell::count(at.0 / 512)])
    };
    (!first.is_empty()).then(|| {
        Table::new("miscompares", "First miscompared sectors", "Number")
            .columns(["Byte", "Sector"])
            .rows(first.iter().enumerate().map(row))
    })
}
