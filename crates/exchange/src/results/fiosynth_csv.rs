//! The table that FioSynth makes of its results (`fio_fb_results.csv`): one row per test, with
//! `Read_IOPS`, `Read_BW` (fio's bw, KiB/s), latencies in microseconds (fio's clat).

use super::values::{plausible, read_write_outcome};
use crate::parse_error::ParseError;
use steadfast_domain::text::excerpt;
use steadfast_domain::{ForeignIos, ForeignResults};

/// More tests than a suite has.
const ROWS_MAX: usize = 10_000;

pub(super) fn read(bytes: &[u8]) -> Result<ForeignResults, ParseError> {
    let text = crate::decode(bytes);
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let (_, head) = lines.next().ok_or_else(|| ParseError::whole("it is empty"))?;
    let names = fields(head);
    let position = |name: &str| names.iter().position(|column| column == name);
    let Some(job) = position("Jobname") else {
        return Err(ParseError::at(1, "the column Jobname is missing"));
    };
    let mut results = ForeignResults {
        id: "fiosynth".into(),
        tool: "FioSynth".into(),
        absent: vec![
            "Numbers of I/Os: the table does not have them. So nothing says how many I/Os lie \
             beyond a percentile; the JSON files of the same run do."
                .into(),
            "Percentiles of reads and writes together: percentiles cannot be added up.".into(),
        ],
        remarks: vec![
            "Latencies are fio's clat, from the end of the submission on.".into(),
            "A suite with scale_by_TB has rates per TB in this table.".into(),
        ],
        ..ForeignResults::default()
    };
    for (number, line) in lines {
        if results.tests.len() >= ROWS_MAX {
            return Err(ParseError::at(number, format!("more than {ROWS_MAX} tests")));
        }
        let row = fields(line);
        let value = |name: &str| plausible(row.get(position(name)?)?.parse().ok()?);
        let Some(label) = row.get(job).filter(|label| !label.is_empty()) else { continue };
        // Rows of targets and of health counters have no rates.
        if value("Read_IOPS").is_none() && value("Write_IOPS").is_none() {
            continue;
        }
        let direction = |name: &str| {
            let iops = value(&format!("{name}_IOPS")).filter(|iops| *iops > 0.0);
            if iops.is_none() {
                return ForeignIos { ios: Some(0), ..ForeignIos::default() };
            }
            // A zero stands for a percentile that fio did not report.
            let time = |column: String| {
                value(&column).filter(|micros| *micros > 0.0).map(|micros| micros / 1e3)
            };
            let percentiles = names.iter().filter_map(|column| {
                let percent =
                    column.strip_prefix('P')?.strip_suffix(&format!("_{name}_Latency"))?;
                Some((percent.parse().ok()?, time(column.clone())?))
            });
            ForeignIos {
                iops,
                bytes_per_second: value(&format!("{name}_BW")).map(|kib| kib * 1024.0),
                mean_ms: time(format!("Mean_{name}_Latency")),
                shortest_ms: time(format!("Min_{name}_Latency")),
                longest_ms: time(format!("Max_{name}_Latency")),
                percentiles: percentiles.collect(),
                ..ForeignIos::default()
            }
        };
        let label = excerpt(label).into_owned();
        results.tests.push(read_write_outcome(label, direction("Read"), direction("Write")));
    }
    Ok(results)
}

/// The fields of a line; FioSynth quotes those that hold a comma.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.trim_end().chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}
