//! Imports the output of bcc's biosnoop: `0.000004  supervise  1950  xvda1  W 13092560  4096  0.74`.

use super::columns::import_rows;
use super::input::{EventSink, ImportInput, ImportOutcome};
use super::lines::LineReader;
use super::plan::{ColumnPlan, ColumnUnit, ImportColumn, OperationSource};
use super::rows::LineRows;

pub(super) fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.first().is_some_and(|word| word.starts_with("TIME("))
        && ["COMM", "DISK", "LAT(ms)"].iter().all(|name| words.contains(name))
}

/// Returns whether a line may precede the header.
pub(super) fn is_greeting(line: &str) -> bool {
    ["Tracing ", "Attaching ", "Attached "].iter().any(|start| line.starts_with(start))
}

pub(super) fn import(input: ImportInput<'_>, sink: &mut EventSink<'_>) -> ImportOutcome {
    let mut lines = LineReader::new(input);
    let plan = loop {
        match lines.next()? {
            Some(line) if is_greeting(line) => {}
            Some(line) if is_header(line) => break plan(line),
            _ => break Err("expected biosnoop's header, TIME(s) COMM PID DISK ...".to_owned()),
        }
    };
    let plan = plan.map_err(|what| lines.malformed(what, 0))?;
    import_rows(&plan, &mut LineRows::new(&plan, lines), sink)
}

/// Returns the plan for a header. The columns depend on the version and options of biosnoop.
fn plan(header: &str) -> Result<ColumnPlan, String> {
    let names: Vec<&str> = header.split_whitespace().collect();
    let optional = |name: &str| names.iter().position(|own| *own == name).map(|at| at + 1);
    let required = |name: &str| {
        optional(name).ok_or_else(|| {
            format!(
                "this biosnoop prints no column {name}, without which an I/O has no place; bcc's \
                 biosnoop and its biosnoop of libbpf-tools print it"
            )
        })
    };
    let column = |number, unit| ImportColumn { number, unit };
    Ok(ColumnPlan {
        separator: b' ',
        offset: Some(column(required("SECTOR")?, ColumnUnit::Sectors)),
        bytes: column(required("BYTES")?, ColumnUnit::Bytes),
        time: Some(column(required("TIME(s)")?, ColumnUnit::Seconds)),
        is_completion: true,
        is_relative: true,
        op: OperationSource::Column(required("T")?),
        response: Some(column(required("LAT(ms)")?, ColumnUnit::Milliseconds)),
        device: vec![required("DISK")?],
        pid: optional("PID"),
        command: optional("COMM"),
        columns: u16::try_from(names.len()).ok(),
        header: Some(false),
        ..ColumnPlan::new("biosnoop")
    })
}
