//! Single I/Os of a narrow selection.

use crate::http_error::{HttpError, HttpResult};
use crate::query::QueryString;
use crate::selection::IoSelection;
use serde::Serialize;
use serde_json::{Value, json};
use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::device_layer::device_name;
use steadfast_domain::io_event::flags;
use steadfast_tracefile::{Field, Fields};

const LIMIT: u64 = 1000;
const LIMIT_MAX: u64 = 10_000;
/// Maximum number of I/Os that may be skipped before the first one listed.
const OFFSET_MAX: u64 = 10_000_000;

const COLUMNS: [&str; 12] = [
    "time_ns", "response_ns", "op", "order", "device", "layer", "offset", "bytes", "depth", "pid",
    "process", "flags",
];

#[derive(Serialize)]
pub struct IoListing {
    /// Number of I/Os in the selection; `None` if the listing ends before the selection does.
    total: Option<u64>,
    columns: [&'static str; 12],
    rows: Vec<[Value; 12]>,
}

pub fn answer(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<IoListing> {
    let offset = query.number("offset")?.unwrap_or(0);
    if offset > OFFSET_MAX {
        let what = format!("'offset' is at most {OFFSET_MAX}; choose a narrower window");
        return Err(HttpError::bad(what));
    }
    let limit = query.within("limit", LIMIT, LIMIT_MAX)?;
    let fields = Fields::new(&[Field::Pid, Field::Command, Field::Flags]);
    let pass = selection.pass(selection.span_of_passing());
    let mut ios = selection.captured()?.ios(&pass, fields)?;
    let (mut seen, mut rows) = (0, Vec::new());
    while let Some(batch) = ios.next_batch()? {
        for row in batch.iter() {
            seen += 1;
            if seen > offset && seen <= offset + limit {
                rows.push(values(selection, &batch, row));
            }
        }
        if seen > offset + limit {
            return Ok(IoListing { total: None, columns: COLUMNS, rows });
        }
    }
    Ok(IoListing { total: Some(seen), columns: COLUMNS, rows })
}

fn values(selection: &IoSelection<'_>, rows: &AnnotatedRows<'_>, row: usize) -> [Value; 12] {
    let batch = rows.batch;
    let pid = batch.pid(row);
    let command = batch.command(row);
    [
        json!(batch.issued_ns(row)),
        json!(rows.response_ns(row)),
        json!(batch.op(row).to_string()),
        json!(if rows.sequential[row] { "SEQ" } else { "RND" }),
        json!(device_name(selection.capture.conditions(), batch.device(row))),
        json!(batch.layer(row).to_string()),
        json!(batch.offset(row)),
        json!(batch.bytes(row)),
        json!(rows.depth(row)),
        json!((pid > 0).then_some(pid)),
        json!((!command.is_empty()).then(|| command.to_string())),
        json!((batch.flags(row) != 0).then(|| flags::names(batch.flags(row)).join(", "))),
    ]
}
