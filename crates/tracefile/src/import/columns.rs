//! Imports the rows of a table as I/Os.

use super::checks::TraceChecks;
use super::devices::DeviceNumbers;
use super::input::{EventSink, ImportError, ImportOutcome, ImportResult};
use super::lines::transfer_size;
use super::plan::{ColumnPlan, ColumnUnit, ImportColumn, OperationSource, strip_zero_fraction};
use super::rows::TableRows;
use std::collections::BTreeMap;
use steadfast_domain::io_event::{CommandName, Layer, RESPONSE_UNKNOWN};
use steadfast_domain::text::excerpt;
use steadfast_domain::{CaptureConditions, IoEvent, Nanos};

/// Longest response time of an I/O that precedes the origin of relative times, in nanoseconds.
const LEAD_NS: u64 = 3_600 * 1_000_000_000;

/// Number of I/Os compared to find the beginning of a trace in completion order.
const WAITING_MAX: usize = 1 << 16;

/// Returns a number in scientific notation, such as pandas writes (`5e-05`), as plain digits;
/// `None` if it is none.
fn without_exponent(text: &str) -> Option<String> {
    let (number, exponent) = text.split_once(['e', 'E'])?;
    let exponent = exponent.parse::<i32>().ok().filter(|exponent| exponent.abs() <= 40)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let zeros = "0".repeat(40);
    let digits = format!("{zeros}{whole}{fraction}{zeros}");
    let point = (zeros.len() + whole.len()).checked_add_signed(exponent as isize)?;
    let (whole, fraction) = digits.split_at_checked(point)?;
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    Some(format!("{}.{}", whole, if fraction.is_empty() { "0" } else { fraction }))
}

/// Parses a number without a sign.
fn parse_digits(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

/// Parses a number, possibly with a fraction, an exponent or in hexadecimal, and multiplies it by
/// its unit. A time is truncated to nanoseconds; a size must be a whole number of bytes, and of
/// sectors where it is counted in them.
pub(super) fn scaled(text: &str, unit: ColumnUnit) -> Option<u64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").filter(|hex| !hex.starts_with('+')) {
        return u64::from_str_radix(hex, 16).ok()?.checked_mul(unit.factor());
    }
    if let Some(whole) = parse_digits(text) {
        return whole.checked_mul(unit.factor());
    }
    let plain = without_exponent(text);
    let (whole, fraction) = plain.as_deref().unwrap_or(text).split_once('.')?;
    let digits = fraction.len().min(18);
    let (used, rest) = fraction.split_at_checked(digits)?;
    let one = 10u128.pow(digits as u32);
    let part = u128::from(parse_digits(used)?) * u128::from(unit.factor());
    let is_exact = part.is_multiple_of(one * u128::from(unit.granularity()))
        && rest.bytes().all(|digit| digit == b'0');
    if !unit.is_time() && !is_exact || !rest.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { parse_digits(whole)? };
    whole.checked_mul(unit.factor())?.checked_add(u64::try_from(part / one).ok()?)
}

fn begins_as_number(text: &str) -> bool {
    text.trim_start_matches(['-', '+', '.']).starts_with(|first: char| first.is_ascii_digit())
}

struct ColumnsImport<'p> {
    plan: &'p ColumnPlan,
    devices: DeviceNumbers,
    /// Beginning of the trace, in the times of the file.
    first_ns: Option<u64>,
    /// I/Os held back until the beginning is known: the first row may not be the earliest issue, in
    /// completion order or in a file that lists one device after the other.
    waiting: Vec<IoEvent>,
    /// Name of the time column in the header line.
    time_header: Option<String>,
    /// Number of I/Os issued before the beginning.
    issued_earlier: u64,
    checks: TraceChecks,
    /// Number of columns of the first row.
    width: Option<usize>,
    /// Values of the first row in the columns that have the same value in every row.
    constants: Vec<String>,
    /// Number of rows that the plan leaves out, by kind.
    left_out: BTreeMap<String, u64>,
    /// Sentence that discloses a cut last row.
    cut: Vec<String>,
    last_ns: u64,
    /// True if no time so far had a fraction.
    has_whole_times: bool,
    imported: ImportResult,
}

/// Imports the remaining rows of a table.
pub(super) fn import_rows(
    plan: &ColumnPlan,
    rows: &mut dyn TableRows,
    sink: &mut EventSink<'_>,
) -> ImportOutcome {
    let mut state = ColumnsImport::new(plan);
    let result = state.read(rows, sink);
    // The I/Os before an error are delivered, too.
    state.deliver_waiting(sink)?;
    result?;
    Ok(state.finish(rows.unit()))
}

/// Returns the I/O of the last row read, with its time in the file; `None` if the row does not
/// follow the plan.
pub(super) fn event_of(plan: &ColumnPlan, rows: &dyn TableRows) -> Option<IoEvent> {
    ColumnsImport::new(plan).event(rows).ok()
}

impl<'p> ColumnsImport<'p> {
    fn new(plan: &'p ColumnPlan) -> Self {
        let in_order = !plan.is_completion && plan.time.is_some();
        ColumnsImport {
            plan,
            devices: DeviceNumbers::default(),
            first_ns: None,
            waiting: Vec::new(),
            time_header: None,
            issued_earlier: 0,
            checks: TraceChecks::new(in_order),
            width: None,
            constants: Vec::new(),
            left_out: BTreeMap::new(),
            cut: Vec::new(),
            last_ns: 0,
            has_whole_times: true,
            imported: ImportResult::default(),
        }
    }

    /// Returns whether a line is the header: the first one, without a number in the columns of
    /// time, offset and size.
    fn is_header(&self, row: &dyn TableRows) -> bool {
        if self.imported.records > 0 {
            return false;
        }
        let plan = self.plan;
        let numbers = [plan.time, plan.offset, Some(plan.bytes)].into_iter().flatten();
        let is_number = |column: ImportColumn| row.get(column.number).is_some_and(begins_as_number);
        plan.header.unwrap_or_else(|| !numbers.into_iter().any(is_number))
    }

    fn event(&mut self, row: &dyn TableRows) -> Result<IoEvent, String> {
        let field = |number: usize, what: &str| {
            row.get(number).ok_or_else(|| {
                format!("expected {what} in {}, found {} columns", row.label(number), row.width())
            })
        };
        // Any text can be a name.
        let name = |number: usize, what: &str| match field(number, what)? {
            text if text.contains('\0') => {
                Err(format!("expected {what} in {}, found binary data", row.label(number)))
            }
            text => Ok(text),
        };
        let value = |key: &str, column: ImportColumn, what: &str| {
            let text = field(column.number, what)?;
            scaled(text, column.unit).ok_or_else(|| {
                let found = excerpt(text);
                let number = column.number;
                let message = format!("expected {what} in {}, found '{found}'", row.label(number));
                if column.unit == ColumnUnit::Seconds && parse_digits(text.trim()).is_some() {
                    return format!(
                        "{message}, too large for seconds; give the unit, as in {key}={number}:ns"
                    );
                }
                message
            })
        };
        let plan = self.plan;
        let time = match plan.time {
            Some(column) => {
                let text = field(column.number, "a time")?;
                self.has_whole_times =
                    self.has_whole_times && !strip_zero_fraction(text).contains('.');
                let key = if plan.is_completion { "completed" } else { "time" };
                let time = value(key, column, "a time")?;
                if plan.epoch.is_some_and(|epoch| !epoch.is_clock_time(time)) {
                    return Err(format!(
                        "the time '{}' in {} is not between 1990 and 2100; give its unit, as in \
                         {key}={}:us:unix, or leave out the epoch",
                        excerpt(text),
                        row.label(column.number),
                        column.number
                    ));
                }
                time
            }
            None => 0,
        };
        let op = match plan.op {
            OperationSource::Always(op) => op,
            OperationSource::Column(number) => {
                let text = field(number, "an operation")?;
                plan.operation(text).ok_or_else(|| {
                    let found = excerpt(text);
                    let label = row.label(number);
                    if plan.operations.is_empty() || plan.is_published {
                        return format!("expected an operation in {label}, found '{found}'");
                    }
                    format!(
                        "expected an operation in {label}, found '{found}'; to leave such rows out, \
                         add {found}=skip to the values of op"
                    )
                })?
            }
        };
        let bytes = value("bytes", plan.bytes, "a size")?;
        let response_ns = match plan.response {
            Some(column) if field(column.number, "a response time")?.is_empty() => RESPONSE_UNKNOWN,
            Some(column) => value("response", column, "a response time")?,
            None => RESPONSE_UNKNOWN,
        };
        let offset = match plan.offset {
            Some(column) => value("offset", column, "an offset")?,
            None => 0,
        };
        let pid = match plan.pid {
            Some(number) => {
                strip_zero_fraction(field(number, "a process number")?).parse().unwrap_or(0)
            }
            None => 0,
        };
        let command = match plan.command {
            Some(number) => CommandName::new(name(number, "a command name")?),
            None => CommandName::default(),
        };
        let names: Result<Vec<&str>, String> =
            plan.device.iter().map(|number| name(*number, "a device")).collect();
        let device = self.devices.number(&names?.join(".")).ok_or("more than 65,536 devices")?;
        let lead_ns = if plan.is_relative { LEAD_NS } else { 0 };
        let issued_ns = if !plan.is_completion {
            time
        } else if response_ns == RESPONSE_UNKNOWN {
            let what = "expected a response time, which gives the time of issue, found none";
            return Err(what.to_owned());
        } else {
            time.saturating_add(lead_ns).checked_sub(response_ns).ok_or_else(|| {
                format!(
                    "the response time of {response_ns} ns is longer than the time of completion"
                )
            })?
        };
        Ok(IoEvent {
            issued_ns,
            response_ns,
            offset,
            bytes: transfer_size(bytes)?,
            device,
            op,
            pid,
            command,
            ..IoEvent::default()
        })
    }

    /// Returns the I/O of a row that has the shape of the first.
    fn checked_event(&mut self, row: &dyn TableRows) -> Result<IoEvent, String> {
        let event = self.event(row)?;
        self.check_width(row)?;
        self.check_constants(row)?;
        Ok(event)
    }

    /// Returns whether the plan leaves out the kind of a row, and counts it.
    fn is_left_out(&mut self, row: &dyn TableRows) -> bool {
        let OperationSource::Column(number) = self.plan.op else { return false };
        let Some(kind) = row.get(number).map(strip_zero_fraction) else { return false };
        if !self.plan.left_out.iter().any(|left_out| left_out == kind) {
            return false;
        }
        *self.left_out.entry(kind.to_owned()).or_default() += 1;
        true
    }

    /// Rejects a row with another number of columns than the first, as a cut or joined line has.
    fn check_width(&mut self, row: &dyn TableRows) -> Result<(), String> {
        let width = row.width();
        let first = *self.width.get_or_insert(width);
        if width == first {
            return Ok(());
        }
        Err(format!(
            "expected {first} columns as in the first row, found {width}; is the line cut or joined \
             with another?"
        ))
    }

    /// Rejects a row that differs from the first in a column that must be constant.
    fn check_constants(&mut self, row: &dyn TableRows) -> Result<(), String> {
        for (at, number) in self.plan.constant.iter().enumerate() {
            let found = row.get(*number).map(strip_zero_fraction).unwrap_or_default();
            if self.constants.len() == at {
                self.constants.push(found.to_owned());
            }
            let first = &self.constants[at];
            if found != first {
                return Err(format!(
                    "expected '{}' in {} as in the first row, found '{}'",
                    excerpt(first),
                    row.label(*number),
                    excerpt(found)
                ));
            }
        }
        Ok(())
    }

    /// Stores the name of the time column. Rejects the header of biosnoop, whose times are those of
    /// completions, if the plan says otherwise.
    fn read_header(&mut self, row: &dyn TableRows) -> Result<(), String> {
        let Some(time) = self.plan.time else { return Ok(()) };
        let header = row.get(time.number).unwrap_or_default();
        let has = |name: &str| {
            (1..=row.width()).any(|at| row.get(at).is_some_and(|column| column == name))
        };
        if !self.plan.is_completion && has("TIME(s)") && has("LAT(ms)") && has("COMM") {
            return Err(format!(
                "this is the header of biosnoop, whose times are those of completions; give \
                 completed={} in place of time={0}",
                time.number
            ));
        }
        self.time_header = Some(excerpt(header).to_string()).filter(|header| !header.is_empty());
        Ok(())
    }

    /// Reads all rows and delivers their I/Os.
    fn read(
        &mut self,
        rows: &mut dyn TableRows,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ImportError> {
        while rows.advance()? {
            if rows.number() <= self.plan.skip {
                self.imported.passed_over += 1;
                continue;
            }
            if self.is_header(&*rows) {
                self.read_header(&*rows).map_err(|what| rows.malformed(what, 0))?;
                self.imported.passed_over += 1;
                self.imported.records += 1;
                continue;
            }
            if self.is_left_out(&*rows) {
                self.imported.passed_over += 1;
                self.imported.records += 1;
                continue;
            }
            let event = match self.checked_event(&*rows) {
                Ok(event) => event,
                Err(_) if rows.is_open_ended() && self.imported.events > 0 => {
                    self.cut.push(rows.cut_row());
                    return Ok(());
                }
                Err(what) => return Err(rows.malformed(what, self.imported.records)),
            };
            let checked = self.checks.check(rows.number(), &event);
            checked.map_err(|what| rows.malformed(what, self.imported.records))?;
            if self.plan.is_completion {
                let completed_ns = event.issued_ns.saturating_add(event.response_ns);
                self.checks.check_time(rows.number(), completed_ns);
            } else if let Some(first_ns) = self.first_ns.filter(|first| event.issued_ns < *first) {
                let what = format!(
                    "its time is {} before the earliest of the first {WAITING_MAX} rows; sort the \
                     file by time",
                    Nanos(first_ns - event.issued_ns)
                );
                return Err(rows.malformed(what, self.imported.records));
            }
            self.imported.records += 1;
            self.imported.events += 1;
            if self.first_ns.is_some() {
                self.deliver(event, sink)?;
            } else {
                self.waiting.push(event);
                if self.waiting.len() == WAITING_MAX {
                    self.deliver_waiting(sink)?;
                }
            }
        }
        Ok(())
    }

    /// Delivers the I/Os that waited until the beginning was known.
    fn deliver_waiting(&mut self, sink: &mut EventSink<'_>) -> Result<(), ImportError> {
        let waiting = std::mem::take(&mut self.waiting);
        if let Some(first_ns) = waiting.iter().map(|event| event.issued_ns).min() {
            self.first_ns.get_or_insert(first_ns);
        }
        waiting.into_iter().try_for_each(|event| self.deliver(event, sink))
    }

    /// Delivers an I/O with its time relative to the earliest issue of the first rows. The few
    /// earlier times in completion order become 0.
    fn deliver(&mut self, event: IoEvent, sink: &mut EventSink<'_>) -> Result<(), ImportError> {
        let first_ns = *self.first_ns.get_or_insert(event.issued_ns);
        self.issued_earlier += u64::from(event.issued_ns < first_ns);
        let issued_ns = event.issued_ns.saturating_sub(first_ns);
        self.last_ns = self.last_ns.max(issued_ns);
        Ok(sink(&IoEvent { issued_ns, ..event })?)
    }

    fn finish(self, unit: &str) -> ImportResult {
        let mut remarks = Vec::new();
        let time = self.plan.time;
        if self.plan.response.is_none() {
            remarks.push("The trace has no response times.".to_owned());
        }
        if self.issued_earlier > 0 {
            remarks.push(format!(
                "{} I/Os were issued before the earliest of the first {WAITING_MAX} rows and count \
                 as issued with it.",
                self.issued_earlier
            ));
        }
        if let Some((header, time)) = self.time_header.as_ref().zip(time) {
            let what = if self.plan.is_completion { "completion" } else { "issue" };
            let number = time.number;
            remarks.push(format!(
                "Column {number}, which the file calls '{header}', was read as the time of {what}."
            ));
        }
        let began_unix_ns =
            self.plan.epoch.zip(self.first_ns).and_then(|(epoch, first)| epoch.unix_ns(first));
        if time.is_none() {
            remarks.push("The trace has no times; it has the order of the I/Os.".to_owned());
        }
        remarks.extend(self.checks.remarks(unit));
        let is_coarse = |time: ImportColumn| {
            matches!(time.unit, ColumnUnit::Seconds | ColumnUnit::Milliseconds)
        };
        // With one time for all I/Os their order is as unknown as without times.
        let is_one_time = self.imported.events > 1 && self.last_ns == 0;
        let rounded_times = is_one_time || self.has_whole_times && time.is_none_or(is_coarse);
        if is_one_time && time.is_some() {
            let remark = "All I/Os have the same time. Rates, queue depths and busy time cannot be \
                          counted from it.";
            remarks.push(remark.to_owned());
        } else if rounded_times && self.plan.response.is_some() {
            let remark = "Times are whole seconds or milliseconds. Queue depths and busy time cannot \
                          be counted from them.";
            remarks.push(remark.to_owned());
        }
        let conditions = CaptureConditions {
            source: self.plan.name.clone(),
            layers: vec![Layer::Block],
            devices: self.devices.captured(),
            rounded_times,
            began_unix_ns,
            lasted_ns: self.last_ns,
            remarks,
            ..CaptureConditions::default()
        };
        let mut imported = ImportResult { conditions, ..self.imported };
        imported.add_cut_ends(self.cut);
        imported.leave_out(
            self.left_out.into_iter().map(|(kind, count)| (format!("rows of kind {kind}"), count)),
        );
        imported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponent_shifts_the_point() {
        assert_eq!(without_exponent("5e-05").as_deref(), Some(".00005"));
        assert_eq!(without_exponent("1.25E+3").as_deref(), Some("1250.0"));
        assert_eq!(without_exponent("2e-1").as_deref(), Some(".2"));
        for none in ["12.5", "e5", ".e5", "1e99", "1e1.5"] {
            assert_eq!(without_exponent(none), None, "{none}");
        }
    }

    #[test]
    fn a_text_that_is_no_number_has_no_value() {
        let value = |text: &str| scaled(text, ColumnUnit::Seconds);
        assert_eq!(value("1.5"), Some(1_500_000_000));
        assert_eq!(value(".5"), Some(500_000_000));
        assert_eq!(value("5e-05"), Some(50_000));
        assert_eq!(value("0x10"), Some(16_000_000_000));
        let offset = |text: &str| scaled(text, ColumnUnit::Sectors);
        assert_eq!((offset("3.0"), offset("3.5"), offset("0.001953125")), (Some(1536), None, None));
        assert_eq!(scaled("0.5", ColumnUnit::Kibibytes), Some(512));
        for none in [
            "e5", ".", "", "1.+5", "+1.5", "+1", "1e+", "0x+1", "0x", "1.", "+5e3", "5.-1e3", "1_0",
        ] {
            assert_eq!(value(none), None, "{none}");
        }
    }
}
