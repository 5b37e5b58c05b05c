//! A comparison of two captures, before and after, as the findings of a report.

use crate::columns::{heads, table_row};
use crate::device_layer::device_names;
use crate::questions::delta::{Delta, TimeAlignment};
use sha2::{Digest, Sha256};
use steadfast_domain::findings::{
    Activity, Exhibit, FormBlock, FormHeader, FormSubject, Page, Row, Setting, Table,
};
use steadfast_domain::hex::to_hex;
use steadfast_domain::{CaptureConditions, Caveat, Findings, Nanos};

const METHOD: &str = "Two captures compared as in docs/trace.md";
/// Maximum number of rows in the table on the first page.
const SUMMARY_ROWS: usize = 12;
const DEVICES_NAMED: usize = 8;

/// A comparison of two captures.
pub struct CaptureComparison<'c> {
    /// Names of the captures.
    pub names: [String; 2],
    /// Conditions of the captures.
    pub conditions: [&'c CaptureConditions; 2],
    /// Observed time compared in each capture, in nanoseconds.
    pub observed_ns: [u64; 2],
    /// Alignment of the two time axes.
    pub align: TimeAlignment,
    /// Property by which the I/Os are grouped, such as `stream`.
    pub by: String,
    /// Figures of all groups together.
    pub total: Delta,
    /// All groups, the largest change first.
    pub deltas: Vec<Delta>,
    /// Caveats of both captures.
    pub caveats: Vec<Caveat>,
}

/// Returns a comparison as findings. `software` is the name and version of this program.
pub fn findings(compared: &CaptureComparison<'_>, software: &str) -> Findings {
    let after = compared.conditions[1];
    let began_ns = after.began_unix_ns;
    let first = table(compared, SUMMARY_ROWS).with_id("summary-changes");
    Findings {
        method: METHOD.into(),
        headline: format!(
            "A {}  B {}  aligned by {}  by {}",
            compared.names[0], compared.names[1], compared.align, compared.by
        ),
        began_unix_ms: began_ns.map_or(0, |ns| ns / 1_000_000),
        ended_unix_ms: began_ns.map_or(0, |ns| ns.saturating_add(after.lasted_ns) / 1_000_000),
        activity: Activity::Capture,
        digest: digest(compared),
        software: software.to_owned(),
        ending: ending(compared),
        caveats: compared.caveats.clone(),
        summary: vec![Exhibit::Table(first)],
        chapters: vec![Page::new(
            "What changed",
            vec![Exhibit::Table(table(compared, usize::MAX)), Exhibit::Text(RULES.to_owned())],
        )],
        long_tables: vec![table(compared, usize::MAX).with_id("changes-all")],
        ..Findings::new("Captures before and after", header(compared))
    }
}

fn ending(compared: &CaptureComparison<'_>) -> String {
    let rate = |iops: Option<f64>| iops.map_or("–".to_owned(), |iops| format!("{iops:.1}"));
    let Delta { a, b, .. } = &compared.total;
    let most = compared
        .deltas
        .first()
        .map_or(String::new(), |delta| format!("; the largest change is in {}", delta.name));
    format!("{} IOPS in A, {} IOPS in B{most}.", rate(a.iops), rate(b.iops))
}

fn table(compared: &CaptureComparison<'_>, most: usize) -> Table {
    let columns = Delta::OF_REPORT;
    let row = |delta: &Delta| table_row(&delta.name, &columns, delta);
    let total: Row = row(&compared.total).with_id("total").strong(true);
    Table::new("changes", format!("What changed, by {}", compared.by), &compared.by)
        .columns(heads(&columns))
        .rows(compared.deltas.iter().take(most).map(row))
        .row(total)
}

const RULES: &str = "Rates are I/Os and bytes per second of observed time. Changes are relative to \
    the value in A; a dash means that A has none. Changes of shares are in percentage points.";

fn header(compared: &CaptureComparison<'_>) -> FormHeader {
    let block = |title: &str, at: usize| {
        let conditions = compared.conditions[at];
        let mut devices: Vec<String> = device_names(conditions).take(DEVICES_NAMED).collect();
        let more = conditions.devices.len() - devices.len();
        if more > 0 {
            devices.push(format!("and {more} more"));
        }
        FormBlock::new(
            title,
            vec![
                Setting::identity("Capture", compared.names[at].clone()),
                Setting::identity("Host", &conditions.host),
                Setting::identity("Devices", devices.join(", ")),
                Setting::identity("Workload", &conditions.workload),
                Setting::identity("Comment", &conditions.comment),
                Setting::outcome("Time compared", Nanos(compared.observed_ns[at]).elapsed_text()),
            ],
        )
    };
    FormHeader {
        issuer: "Steadfast".into(),
        specification: "Capture and analysis of a workload".into(),
        test: "Captures before and after".into(),
        subtitle: format!("What changed, by {}", compared.by),
        model: compared.conditions[1].devices.first().and_then(|device| device.model.clone()),
        blocks: vec![
            block("A, before", 0),
            block("B, after", 1).with_subject(FormSubject::Platform),
        ],
        ..FormHeader::default()
    }
}

/// Returns the SHA-256 hash of the conditions of both captures and the counts of every group.
fn digest(compared: &CaptureComparison<'_>) -> String {
    let mut hash = Sha256::new();
    for conditions in compared.conditions {
        hash.update(serde_json::to_vec(conditions).unwrap_or_default());
    }
    for delta in &compared.deltas {
        hash.update(format!("{} {} {}\n", delta.name, delta.a.count, delta.b.count));
    }
    to_hex(&hash.finalize())
}
