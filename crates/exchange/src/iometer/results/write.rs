//! Writes files of results as Iometer does.

use super::columns::{Form, LAST_BIN, WORDS, numbers};
use super::model::{Ending, Row, Run, Table};
use crate::iometer::config::AccessSpec;
use crate::iometer::version::Dialect;

/// Returns the text of a run, with CRLF line endings.
pub fn write(run: &Run) -> String {
    let dialect = run.version.dialect();
    let mut out = Out::default();
    out.line("'Test Type,Test Description");
    out.line(&format!("{},{}", run.test_type.number(), word(&run.description)));
    out.line("'Version");
    out.line(&format!("{} ", run.version));
    out.line("'Time Stamp");
    out.line(&run.began);
    for part in &run.parts {
        out.line("'Access specifications");
        part.specs.iter().for_each(|spec| access_spec(&mut out, spec, dialect));
        out.line("'End access specifications");
        part.tables.iter().for_each(|results| table(&mut out, results, dialect));
    }
    match run.ending {
        Ending::Untold => {}
        Ending::Complete => out.line("'End Test"),
        Ending::Aborted => out.line("Aborted test"),
    }
    out.text
}

#[derive(Default)]
struct Out {
    text: String,
}

impl Out {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push_str("\r\n");
    }
}

/// Returns a name without characters that would break a row.
fn word(text: &str) -> String {
    text.replace([',', '\n', '\r'], " ")
}

fn access_spec(out: &mut Out, spec: &AccessSpec, dialect: Dialect) {
    // 1.1.0 ends the rows with a comma, and not their head.
    let comma = if dialect == Dialect::V1_1 { "," } else { "" };
    out.line("'Access specification name,default assignment");
    out.line(&format!("{},{}", word(&spec.name), spec.assignment.number()));
    out.line("'size,% of size,% reads,% random,delay,burst,align,reply");
    for row in &spec.lines {
        let (size, of_size, reads, random) = (row.size, row.of_size, row.reads, row.random);
        let (delay, burst, align, reply) = (row.delay_ms, row.burst, row.align, row.reply);
        out.line(&format!(
            "{size},{of_size},{reads},{random},{delay},{burst},{align},{reply}{comma}"
        ));
    }
}

fn table(out: &mut Out, table: &Table, dialect: Dialect) {
    let columns = numbers(dialect);
    // Iometer puts a blank before the name of its last bin, and before no other.
    let printed = |name: &'static str| if name == LAST_BIN { " >= 10 s" } else { name };
    let names = columns.iter().map(|(name, _)| printed(name));
    let names: Vec<&str> = WORDS.into_iter().chain(names).collect();
    out.line("'Results");
    out.line(&format!("'{}", names.join(",")));
    for row in &table.rows {
        let values = columns.iter().map(|(name, form)| cell(row, name, *form));
        let words = [row.kind.token().to_owned(), word(&row.name), word(&row.spec)];
        out.line(&words.into_iter().chain(values).collect::<Vec<_>>().join(","));
    }
    out.line("'Time Stamp");
    out.line(&table.at);
}

fn cell(row: &Row, column: &str, form: Form) -> String {
    match (row.get(column), form) {
        (None, _) => String::new(),
        (Some(value), Form::Count) => format!("{value:.0}"),
        (Some(value), Form::Decimal) => format!("{value:.6}"),
    }
}
