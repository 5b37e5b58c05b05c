//! Imports fio's records of I/Os (fio documentation, "Trace file format" and "Log file
//! formats"): iologs of version 2 and 3, and latency logs of single I/Os.

use super::checks::TraceChecks;
use super::devices::DeviceNumbers;
use super::input::{EventSink, ImportInput, ImportOutcome, ImportResult};
use super::lines::{LineReader, number, transfer_size};
use steadfast_domain::io_event::{Layer, RESPONSE_UNKNOWN};
use steadfast_domain::text::excerpt;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};

fn parse_operation(word: &str) -> Option<IoOp> {
    match word {
        "read" => Some(IoOp::Read),
        "write" => Some(IoOp::Write),
        "trim" => Some(IoOp::Discard),
        "sync" | "datasync" | "sync_file_range" => Some(IoOp::Flush),
        _ => None,
    }
}

/// State of an import of an iolog.
struct IologImport {
    devices: DeviceNumbers,
    /// True if lines have times (version 3), false if the log has only waits (version 2).
    has_times: bool,
    /// Issue time of the next I/O.
    now_ns: u64,
    first_us: Option<u64>,
    checks: TraceChecks,
    result: ImportResult,
}

pub(super) fn import_iolog(input: ImportInput<'_>, sink: &mut EventSink<'_>) -> ImportOutcome {
    let mut lines = LineReader::new(input);
    let has_times = match lines.next()?.map(str::trim) {
        Some("fio version 2 iolog") => false,
        Some("fio version 3 iolog") => true,
        other => {
            let found = excerpt(other.unwrap_or("nothing"));
            let what =
                format!("expected 'fio version 2 iolog' or 'fio version 3 iolog', found '{found}'");
            return Err(lines.malformed(what, 0));
        }
    };
    let mut iolog = IologImport {
        devices: DeviceNumbers::default(),
        has_times,
        now_ns: 0,
        first_us: None,
        checks: TraceChecks::new(has_times),
        result: ImportResult::default(),
    };
    let mut cut = Vec::new();
    while let Some(line) = lines.next()? {
        match iolog.parse_line(line) {
            Ok(Some(event)) => {
                iolog.result.events += 1;
                let checked = iolog.checks.check(lines.number, &event);
                checked.map_err(|what| lines.malformed(what, iolog.result.records))?;
                sink(&event)?;
            }
            Ok(None) => iolog.result.passed_over += 1,
            // A last line without a line end may be cut.
            Err(_) if lines.is_open_ended() && iolog.result.events > 0 => {
                cut.push(lines.cut_line());
                break;
            }
            Err(what) => return Err(lines.malformed(what, iolog.result.records)),
        }
        iolog.result.records += 1;
    }
    let mut imported = iolog.finish();
    imported.add_cut_ends(cut);
    Ok(imported)
}

impl IologImport {
    fn parse_line(&mut self, line: &str) -> Result<Option<IoEvent>, String> {
        let mut words = line.split_whitespace();
        if self.has_times {
            let time = number(words.next().unwrap_or(""), "a time in microseconds")?;
            let first = *self.first_us.get_or_insert(time);
            self.now_ns = time.saturating_sub(first).saturating_mul(1_000);
        }
        let file = words.next().ok_or("expected a file name, found nothing")?;
        let action =
            words.next().ok_or_else(|| format!("expected an action after '{}'", excerpt(file)))?;
        if matches!(action, "add" | "open" | "close") {
            self.devices.number(file).ok_or("more than 65,536 files")?;
            // fio ignores the rest of the line. Our export writes there, after '#', what an iolog
            // cannot express.
            if let Some(more) = words.next().filter(|more| !more.starts_with('#')) {
                return Err(format!("expected the end of the line, found '{}'", excerpt(more)));
            }
            return Ok(None);
        }
        if action == "wait" {
            // fio's manual says microseconds after the previous wait. fio itself waits until this
            // many milliseconds after its start, and skips a line without a length.
            let time = number(words.next().unwrap_or(""), "a time in milliseconds")?;
            if words.count() != 1 {
                let example = format!("{} wait {time}", excerpt(file));
                return Err(format!("expected a length after the time, as in '{example} 0'"));
            }
            self.now_ns = self.now_ns.max(time.saturating_mul(1_000_000));
            return Ok(None);
        }
        let op = parse_operation(action).ok_or_else(|| {
            let found = excerpt(action);
            format!("expected read, write, trim, sync, datasync or wait, found '{found}'")
        })?;
        // Only a flush may lack offset and length: any other line without them is cut.
        let absent = if op == IoOp::Flush { "0" } else { "" };
        let offset = number(words.next().unwrap_or(absent), "an offset in bytes")?;
        let length = number(words.next().unwrap_or(absent), "a length in bytes")?;
        if let Some(more) = words.next() {
            return Err(format!("expected the end of the line, found '{}'", excerpt(more)));
        }
        Ok(Some(IoEvent {
            issued_ns: self.now_ns,
            response_ns: RESPONSE_UNKNOWN,
            offset,
            bytes: transfer_size(length)?,
            device: self.devices.number(file).ok_or("more than 65,536 files")?,
            op,
            ..IoEvent::default()
        }))
    }

    fn finish(self) -> ImportResult {
        let times = if self.has_times {
            "Issue times are whole microseconds."
        } else {
            "The log has no times: I/Os follow one another immediately. A wait ends the given number \
             of milliseconds after the start, as in fio."
        };
        let mut remarks = vec![times.to_owned(), "The log has no response times.".to_owned()];
        remarks.extend(self.checks.remarks("line"));
        let conditions = CaptureConditions {
            source: format!("fio iolog version {}", if self.has_times { 3 } else { 2 }),
            layers: vec![Layer::Block],
            devices: self.devices.captured(),
            lasted_ns: self.now_ns,
            remarks,
            ..CaptureConditions::default()
        };
        ImportResult { conditions, ..self.result }
    }
}

/// Returns whether a line can be from a latency log; `bw` and `iops` logs look the same.
pub(super) fn is_latency_line(line: &str) -> bool {
    line.contains(", ") && parse_latency_line(line, 0).is_ok()
}

/// Reads `msec, value (ns), direction, block size, offset, priority`: one line per I/O, written
/// at its completion.
pub(super) fn import_latency_log(
    input: ImportInput<'_>,
    sink: &mut EventSink<'_>,
) -> ImportOutcome {
    let mut lines = LineReader::new(input);
    let mut devices = DeviceNumbers::default();
    let device = devices.number(&lines.name).unwrap_or_default();
    let mut imported = ImportResult::default();
    let mut checks = TraceChecks::new(false);
    let mut last_ns = 0;
    let mut first_fields = None;
    let mut cut = Vec::new();
    while let Some(line) = lines.next()? {
        let fields = line.split(',').count();
        let first = *first_fields.get_or_insert(fields);
        let parsed = if fields == first {
            parse_latency_line(line, device)
        } else {
            Err(format!("expected {first} fields as in the first line, found {fields}"))
        };
        let event = match parsed {
            Ok(event) => event,
            // A last line without a line end may be cut.
            Err(_) if lines.is_open_ended() && imported.events > 0 => {
                cut.push(lines.cut_line());
                break;
            }
            Err(what) => return Err(lines.malformed(what, imported.records)),
        };
        let checked = checks.check(lines.number, &event);
        checked.map_err(|what| lines.malformed(what, imported.records))?;
        imported.records += 1;
        imported.events += 1;
        let completed_ns = event.completed_ns().unwrap_or(0);
        checks.check_time(lines.number, completed_ns);
        last_ns = last_ns.max(completed_ns);
        sink(&event)?;
    }
    let mut remarks = vec![
        "Completion times are whole milliseconds; the issue time is the completion time minus the \
         response time. Queue depths and busy time cannot be counted from them."
            .to_owned(),
        "The log was read as one of latencies; fio's logs of bandwidth and IOPS look the same."
            .to_owned(),
    ];
    remarks.extend(checks.remarks("line"));
    imported.conditions = CaptureConditions {
        source: "fio latency log".into(),
        layers: vec![Layer::Block],
        devices: devices.captured(),
        rounded_times: true,
        lasted_ns: last_ns,
        remarks,
        ..CaptureConditions::default()
    };
    imported.add_cut_ends(cut);
    Ok(imported)
}

fn parse_latency_line(line: &str, device: u16) -> Result<IoEvent, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    // A line of five fields ends with the priority: no offset was logged.
    if !(6..=9).contains(&fields.len()) {
        return Err(format!(
            "expected time, latency, direction, block size, offset and priority, found '{}'; \
             write the log with log_offset=1 (fio 3.18 or later) and without log_avg_msec",
            excerpt(line)
        ));
    }
    let completed_ns = number(fields[0], "a time in milliseconds")?.saturating_mul(1_000_000);
    let response_ns = number(fields[1], "a latency in nanoseconds")?;
    let op = match fields[2] {
        "0" => IoOp::Read,
        "1" => IoOp::Write,
        "2" => IoOp::Discard,
        other => return Err(format!("expected direction 0, 1 or 2, found '{}'", excerpt(other))),
    };
    let offset = match fields[4].strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16)
            .map_err(|_| format!("expected an offset in bytes, found '{}'", excerpt(fields[4])))?,
        None => number(fields[4], "an offset in bytes")?,
    };
    let bytes = number(fields[3], "a block size in bytes")?;
    if bytes == 0 {
        let what = "a block size of 0: the log holds averages; write it without log_avg_msec";
        return Err(what.to_owned());
    }
    Ok(IoEvent {
        issued_ns: completed_ns.saturating_sub(response_ns),
        response_ns,
        offset,
        bytes: transfer_size(bytes)?,
        device,
        op,
        ..IoEvent::default()
    })
}
