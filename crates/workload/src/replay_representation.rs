//! The "Replay representation" of a workload, a text export of TestMyWorkload.com: capture steps
//! with their totals and some of their I/O streams.
//!
//! The format has no public description; all that is known is an example of seven steps in SNIA's
//! tutorial. It contradicts itself in places. Counts and bytes are therefore trusted,
//! percentages are recomputed, columns take precedence over the displayed name, and every
//! contradiction is reported as a warning with its line.

use crate::workload_file::{IoTotals, WorkloadFile, WorkloadStep};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use steadfast_analysis::questions::cumulative::{
    CumulativeWorkload, Threshold, WeightedDepth, WorkloadStream, data_pattern_of, mean_demand,
};
use steadfast_analysis::questions::streams::{ShareMeasure, StreamKey};
use steadfast_analysis::questions::totals::{CaptureTotals, Derivation};
use steadfast_analysis::sums::capture_step::CaptureStep;
use steadfast_analysis::sums::content::ContentFigures;
use steadfast_analysis::sums::io_count::IoCount;
use steadfast_domain::io_event::Share;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::text::excerpt;
use steadfast_domain::{Bytes, CaptureConditions, Demand, IoOp, Nanos};
use steadfast_tracefile::error::TraceError;

/// Tolerance of a printed percentage: half a unit of its last digit, and a little for the binary
/// representation.
const ROUNDING: f64 = 0.005_001;
const LINE_MAX: u64 = 1 << 16;
/// Compression ratio written for data without random bytes, whose ratio has no bound. It is read
/// back as 0 % random.
const RATIO_WITHOUT_RANDOM: f64 = 1000.0;

/// A workload as a list of capture steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplayRepresentation {
    /// Name of the workload.
    pub name: String,
    /// Steps in order.
    pub steps: Vec<ReplayStep>,
}

/// One capture step. Totals cover the whole step, including streams that are not listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplayStep {
    /// Start in milliseconds since 1970 (UTC).
    pub began_unix_ms: u64,
    /// Length in milliseconds.
    pub lasted_ms: u64,
    /// Number of I/Os.
    pub count: u64,
    /// Number of bytes.
    pub amount: u64,
    /// Average number of outstanding I/Os over the step's time; `None` if unknown.
    pub qd_mean: Option<f64>,
    /// Maximum queue depth; `None` if unknown.
    pub qd_max: Option<u32>,
    /// Average response time in milliseconds; `None` if unknown.
    pub response_mean_ms: Option<f64>,
    /// Longest response time in milliseconds; `None` if unknown.
    pub response_max_ms: Option<f64>,
    /// Compression ratio of the data; `None` if unknown.
    pub compression_ratio: Option<f64>,
    /// Duplicates among the written blocks in percent; `None` if unknown.
    pub duplicate_percent: Option<f64>,
    /// Listed streams.
    pub streams: Vec<StreamCount>,
}

/// The I/Os of a stream in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamCount {
    /// The stream.
    pub key: StreamKey,
    /// Number of I/Os.
    pub ios: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl ReplayStep {
    fn new(derivation: &Derivation, number: u64, step: &CaptureStep) -> Self {
        let CaptureTotals { conditions, workload, step_ns, observed, .. } = &derivation.totals;
        let content = ContentFigures::new(step.times.contents, conditions);
        let began = conditions.began_unix_ns.unwrap_or(0);
        let begin = began.saturating_add(observed.begin_of_step(number, *step_ns));
        let end = begin.saturating_add(observed.length_of_step(number, *step_ns));
        let cells = derivation.streams_over_time.steps().get(&number).into_iter().flatten();
        let listed = workload.keys().into_iter().zip(cells).filter(|(_, cell)| cell.ios > 0);
        let stream = |(key, cell): (StreamKey, &IoCount)| StreamCount {
            key,
            ios: cell.ios,
            bytes: cell.bytes,
        };
        ReplayStep {
            began_unix_ms: begin / 1_000_000,
            lasted_ms: end / 1_000_000 - begin / 1_000_000,
            count: step.ios(),
            amount: step.ops.iter().map(|op| op.bytes).sum(),
            qd_mean: mean_outstanding(step, (end - begin).max(1)),
            qd_max: step.times.depths.largest(),
            response_mean_ms: step.times.response_mean().map(Nanos::as_millis_f64),
            response_max_ms: step.times.response_max().map(Nanos::as_millis_f64),
            compression_ratio: content.ratio,
            duplicate_percent: content.duplicates.and_then(Share::exact).map(|share| share * 100.0),
            streams: listed.map(stream).collect(),
        }
    }

    /// Returns the data pattern nearest to the data of the step; `None` if unknown.
    pub fn data_pattern(&self) -> Option<DataPattern> {
        data_pattern_of(self.compression_ratio, self.duplicate_percent.map(|p| p / 100.0))
    }

    /// Returns the I/Os outstanding on average: the average response time, multiplied by the I/Os
    /// per time. `None` if the response time is unknown or the step has no length.
    pub fn outstanding_by_littles_law(&self) -> Option<f64> {
        let mean = self.response_mean_ms? * self.count as f64 / self.lasted_ms as f64;
        (self.lasted_ms > 0).then_some(mean)
    }

    pub(crate) fn totals(&self) -> IoTotals {
        IoTotals { ios: self.count, bytes: Bytes(self.amount) }
    }

    /// Returns the bytes that the listed streams wrote; all bytes of a step that lists no write.
    fn written_bytes(&self) -> u64 {
        let writes = self.streams.iter().filter(|stream| stream.key.op == IoOp::Write);
        match writes.map(|stream| stream.bytes).fold(0, u64::saturating_add) {
            0 => self.amount,
            written => written,
        }
    }

    /// Returns the totals of the listed streams.
    pub(crate) fn listed(&self) -> IoTotals {
        let mut totals = IoTotals::default();
        self.streams.iter().for_each(|stream| totals.add(stream.ios, stream.bytes));
        totals
    }
}

/// Returns the number of I/Os outstanding, averaged over the step's time: by Little's law, the sum
/// of the response times divided by the time. Unknown response times count as the average of
/// the others. The depth at issue is unsuitable: it includes the I/O itself and is at least 1.
pub(crate) fn mean_outstanding(step: &CaptureStep, lasted_ns: u64) -> Option<f64> {
    let mean = step.times.responses.sum_ns as f64 / step.times.responses.count as f64;
    (step.times.responses.count > 0).then(|| mean * step.ios() as f64 / lasted_ns as f64)
}

/// A contradiction in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepresentationWarning {
    /// Line number, from 1.
    pub line: usize,
    /// The contradiction, and the value used.
    pub text: String,
}

/// First words of the text.
pub const HEADER: &str = "### Replay representation";

impl ReplayRepresentation {
    /// Returns the capture steps of a derivation with the workload's streams, or `None` if it
    /// was made without steps.
    pub fn from_derivation(derivation: &Derivation, name: &str) -> Option<Self> {
        let with_ios = derivation.steps.as_ref()?.iter().filter(|(_, step)| step.ios() > 0);
        let steps =
            with_ios.map(|(number, step)| ReplayStep::new(derivation, *number, step)).collect();
        Some(ReplayRepresentation { name: name.to_owned(), steps })
    }

    /// Returns the capture steps that a workload file kept, or `None` if it kept none. Times count
    /// from 1970. Compression and duplicates are those of the data patterns, in whole percent; a
    /// step without a pattern has those of the workload if it writes.
    pub fn from_workload(file: &WorkloadFile) -> Option<Self> {
        let step = |step: &WorkloadStep| {
            let captured = step.captured.unwrap_or_else(|| step.chosen_totals());
            let (began, end) = (step.at.0, step.at.0.saturating_add(step.lasts.0));
            let has_writes = step.ios.iter().any(|(key, _)| key.op == IoOp::Write);
            let common = Some(&file.data_pattern).filter(|_| has_writes);
            let (ratio, duplicates) = match step.data_pattern.as_ref().or(common) {
                Some(DataPattern::Entropy { random_percent: 0, duplicate_percent }) => {
                    (Some(RATIO_WITHOUT_RANDOM), Some(f64::from(*duplicate_percent)))
                }
                Some(DataPattern::Entropy { random_percent, duplicate_percent }) => {
                    let ratio = 100.0 / f64::from(*random_percent);
                    (Some(ratio), Some(f64::from(*duplicate_percent)))
                }
                _ => (None, None),
            };
            let stream = |(key, ios): &(StreamKey, u64)| StreamCount {
                key: *key,
                ios: *ios,
                bytes: ios.saturating_mul(u64::from(key.bytes)),
            };
            ReplayStep {
                began_unix_ms: began / 1_000_000,
                lasted_ms: end / 1_000_000 - began / 1_000_000,
                count: captured.ios,
                amount: captured.bytes.0,
                qd_mean: step.outstanding_mean,
                qd_max: step.outstanding_max,
                response_mean_ms: step.response_mean.map(Nanos::as_millis_f64),
                response_max_ms: step.response_max.map(Nanos::as_millis_f64),
                compression_ratio: ratio,
                duplicate_percent: duplicates,
                streams: step.ios.iter().map(stream).collect(),
            }
        };
        let steps: Vec<ReplayStep> = file.steps.iter().map(step).collect();
        (!steps.is_empty()).then(|| ReplayRepresentation { name: file.name.clone(), steps })
    }

    /// Parses the text; returns the workload and the contradictions found.
    ///
    /// # Errors
    /// Returns [`TraceError::Text`] for a line that is no heading, step or stream, and
    /// [`TraceError::Io`] if the text cannot be read.
    pub fn read(mut text: impl BufRead) -> Result<(Self, Vec<RepresentationWarning>), TraceError> {
        let mut parser = RepresentationParser::default();
        loop {
            let mut bytes = Vec::new();
            let mut limited = std::io::Read::take(&mut text, LINE_MAX);
            if limited.read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            parser.line += 1;
            if bytes.len() as u64 == LINE_MAX && !bytes.ends_with(b"\n") {
                return Err(TraceError::Unsuitable(format!(
                    "line {} is longer than {} KiB; no Replay representation has such lines",
                    parser.line,
                    LINE_MAX >> 10
                )));
            }
            let line = String::from_utf8_lossy(&bytes);
            parser.read_line(line.trim_start_matches('\u{feff}').trim())?;
        }
        parser.finish()
    }

    /// Writes the text. The format holds only reads and writes; unknown values are written as
    /// dashes.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if writing fails.
    pub fn write(&self, mut out: impl Write) -> Result<(), TraceError> {
        writeln!(out, "{HEADER} for workload '{}'", self.name)?;
        for (number, step) in (1..).zip(&self.steps) {
            writeln!(out, "\n## Step {number}")?;
            writeln!(out, "{STEP_HEAD}")?;
            writeln!(
                out,
                "{} {} {} {} {} {} {} {} {} {}",
                seconds(step.began_unix_ms),
                seconds(step.lasted_ms),
                step.count,
                step.amount,
                decimals(step.qd_mean, 2),
                step.qd_max.map_or("-".into(), |depth| depth.to_string()),
                decimals(step.response_mean_ms, 2),
                decimals(step.response_max_ms, 2),
                decimals(step.compression_ratio, 2),
                decimals(step.duplicate_percent, 4),
            )?;
            writeln!(out, "{STREAM_HEAD}")?;
            let has_data = |one: &&StreamCount| matches!(one.key.op, IoOp::Read | IoOp::Write);
            for StreamCount { key, ios, bytes } in step.streams.iter().filter(has_data) {
                writeln!(
                    out,
                    "{key} {} {} {} {:.2} {ios} {:.2} {bytes}",
                    key.order(),
                    key.bytes,
                    key.op.letter(),
                    percent(*ios, step.count),
                    percent(*bytes, step.amount),
                )?;
            }
        }
        Ok(())
    }

    /// Returns the cumulative workload of all steps: the listed streams relative to the totals of
    /// whole steps.
    pub fn workload(&self, by: ShareMeasure, threshold: Threshold) -> CumulativeWorkload {
        let mut streams: BTreeMap<StreamKey, IoTotals> = BTreeMap::new();
        let mut total = IoTotals::default();
        for step in &self.steps {
            total.add(step.count, step.amount);
            for stream in &step.streams {
                streams.entry(stream.key).or_default().add(stream.ios, stream.bytes);
            }
        }
        let streams = streams
            .into_iter()
            .map(|(key, sum)| WorkloadStream::new(key, sum.ios, sum.bytes.0))
            .collect();
        let total = IoCount { ios: total.ios, bytes: total.bytes.0 };
        CumulativeWorkload::select(streams, total, by, threshold)
    }

    /// Returns the start of a step, counted from that of the earliest. The steps may be in any order.
    pub fn step_start(&self, step: &ReplayStep) -> Nanos {
        let began_unix_ms = self.began_unix_ms().unwrap_or(0);
        Nanos(step.began_unix_ms.saturating_sub(began_unix_ms).saturating_mul(1_000_000))
    }

    fn began_unix_ms(&self) -> Option<u64> {
        self.steps.iter().map(|step| step.began_unix_ms).min()
    }

    /// Returns the steps with the I/Os of a workload's streams; steps without such I/Os are omitted.
    pub fn workload_steps(&self, workload: &CumulativeWorkload) -> Vec<WorkloadStep> {
        let keys = workload.keys();
        let response = |ms: f64| Nanos((ms.max(0.0) * 1e6).round() as u64);
        let steps = self.steps.iter().map(|step| WorkloadStep {
            at: self.step_start(step),
            lasts: Nanos(step.lasted_ms.saturating_mul(1_000_000)),
            ios: step.streams.iter().map(|stream| (stream.key, stream.ios)).collect(),
            captured: Some(step.totals()),
            outstanding_mean: step.qd_mean.or_else(|| step.outstanding_by_littles_law()),
            outstanding_max: step.qd_max,
            response_mean: step.response_mean_ms.map(response),
            response_max: step.response_max_ms.map(response),
            threads: None,
            data_pattern: step.data_pattern(),
        });
        steps
            .map(|step| step.with_streams(|key| keys.contains(key)))
            .filter(|step| !step.ios.is_empty())
            .collect()
    }

    /// Returns one thread with the average queue depth of all I/Os, rounded up and at least 1;
    /// `None` if the text has no queue depths.
    pub fn demand_seen(&self) -> Option<Demand> {
        mean_demand(
            self.steps
                .iter()
                .filter_map(|step| Some(WeightedDepth { depth: step.qd_mean?, ios: step.count })),
        )
    }

    /// Returns the capture conditions in the text: begin, length, compression and duplication. The
    /// latter two are averages weighted by the bytes that the listed streams of the steps wrote.
    pub fn conditions(&self) -> CaptureConditions {
        let began = self.began_unix_ms();
        let end = self.steps.iter().map(|s| s.began_unix_ms.saturating_add(s.lasted_ms)).max();
        let lasted_ms = end.unwrap_or(0).saturating_sub(began.unwrap_or(0));
        CaptureConditions {
            source: format!("replay representation '{}'", self.name),
            began_unix_ns: began.map(|ms| ms.saturating_mul(1_000_000)),
            lasted_ns: lasted_ms.saturating_mul(1_000_000),
            compression_ratio: self.mean(|s| s.compression_ratio.map(|r| 1.0 / r)).map(|r| 1.0 / r),
            duplicate_share: self.mean(|s| s.duplicate_percent.map(|p| p / 100.0)),
            ..CaptureConditions::default()
        }
    }

    fn mean(&self, value: impl Fn(&ReplayStep) -> Option<f64>) -> Option<f64> {
        let known = || {
            self.steps.iter().filter_map(|step| Some((value(step)?, step.written_bytes() as f64)))
        };
        let weight: f64 = known().map(|(_, weight)| weight).sum();
        let sum: f64 = known().map(|(value, weight)| value * weight).sum();
        (weight > 0.0).then(|| sum / weight)
    }
}

const STEP_HEAD: &str = "# Timestamp Delta (sec) IOs Amount (bytes) Avg QD Max QD Avg RT (ms) \
    Max RT (ms) Compress.Ratio Dupl.Ratio (%)";
const STREAM_HEAD: &str = "# Stream RND/SEQ Size (bytes) R/W Quantity (%) Quantity (IOs) \
    Amount (%) Amount (bytes)";

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

fn decimals(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Shares of a stream in the totals of its step, in percent as printed.
struct PrintedShares {
    ios: f64,
    bytes: f64,
}

#[derive(Default)]
struct RepresentationParser {
    line: usize,
    found: ReplayRepresentation,
    warnings: Vec<RepresentationWarning>,
    /// True if a `## Step` was read whose totals are still missing.
    awaits_totals: bool,
}

impl RepresentationParser {
    fn read_line(&mut self, line: &str) -> Result<(), TraceError> {
        if let Some(rest) = line.strip_prefix(HEADER) {
            self.found.name = name_in(rest);
            return Ok(());
        }
        if let Some(number) = line.strip_prefix("## Step") {
            return self.begin_step(number.trim());
        }
        if line.is_empty() || line.starts_with('#') || line.starts_with("```") {
            return Ok(());
        }
        if self.awaits_totals {
            let step = self.totals(line)?;
            self.check_time(&step);
            self.found.steps.push(step);
            self.awaits_totals = false;
            return Ok(());
        }
        self.stream(line)
    }

    fn begin_step(&mut self, number: &str) -> Result<(), TraceError> {
        if self.awaits_totals {
            return Err(self.error("a step begins before the totals of the previous step"));
        }
        let expected = self.found.steps.len() + 1;
        if number.parse() != Ok(expected) {
            self.warn(format!(
                "found step '{number}' where step {expected} was expected; order kept"
            ));
        }
        self.awaits_totals = true;
        Ok(())
    }

    fn totals(&self, line: &str) -> Result<ReplayStep, TraceError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [began, lasted, count, amount, qd_mean, qd_max, rt_mean, rt_max, ratio, duplicates] =
            words[..]
        else {
            let what = format!("a step's totals are 10 numbers; here are {}", words.len());
            return Err(self.error(&what));
        };
        let ms = |word: &str| self.number(word).map(|s| (s * 1000.0).round() as u64);
        Ok(ReplayStep {
            began_unix_ms: ms(began)?,
            lasted_ms: ms(lasted)?,
            count: self.count(count)?,
            amount: self.count(amount)?,
            qd_mean: self.optional(qd_mean)?,
            qd_max: self.optional(qd_max)?.map(|depth| depth as u32),
            response_mean_ms: self.optional(rt_mean)?,
            response_max_ms: self.optional(rt_max)?,
            compression_ratio: self.optional(ratio)?.filter(|ratio| *ratio > 0.0),
            duplicate_percent: self.optional(duplicates)?,
            streams: Vec::new(),
        })
    }

    fn check_time(&mut self, step: &ReplayStep) {
        let Some(last) = self.found.steps.last() else { return };
        let due = last.began_unix_ms.saturating_add(last.lasted_ms);
        if step.began_unix_ms.abs_diff(due) > 1 {
            let gap = i128::from(step.began_unix_ms) - i128::from(due);
            self.warn(format!("the step begins {gap} ms after the end of the previous step"));
        }
    }

    /// Parses a stream. The last seven words are columns; the words before are a name.
    fn stream(&mut self, line: &str) -> Result<(), TraceError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((name, columns)) = words.split_last_chunk::<7>() else {
            let what = format!("'{}' is neither a step nor an I/O stream", excerpt(line));
            return Err(self.error(&what));
        };
        let [order, size, op, count_percent, count, amount_percent, amount] = *columns;
        let sequential = match order {
            "RND" => false,
            "SEQ" => true,
            _ => return Err(self.error(&format!("'{order}' is neither RND nor SEQ"))),
        };
        let op = match op {
            "R" => IoOp::Read,
            "W" => IoOp::Write,
            _ => return Err(self.error(&format!("'{op}' is neither R nor W"))),
        };
        let bytes = u32::try_from(self.count(size)?)
            .ok()
            .filter(|bytes| *bytes > 0)
            .ok_or_else(|| self.error(&format!("a transfer size of {size} bytes is impossible")))?;
        let key = StreamKey { op, sequential, bytes };
        let stream = StreamCount { key, ios: self.count(count)?, bytes: self.count(amount)? };
        let printed =
            PrintedShares { ios: self.number(count_percent)?, bytes: self.number(amount_percent)? };
        let Some(at) = self.found.steps.len().checked_sub(1) else {
            return Err(self.error("an I/O stream precedes the first step"));
        };
        self.check_stream(&name.join(" "), &stream, &printed, at);
        self.found.steps[at].streams.push(stream);
        Ok(())
    }

    fn check_stream(
        &mut self,
        name: &str,
        stream: &StreamCount,
        printed: &PrintedShares,
        step: usize,
    ) {
        let StreamCount { key, ios, bytes } = *stream;
        if name != key.to_string() {
            let name = excerpt(name);
            self.warn(format!("the name says '{name}', the columns '{key}'; columns used"));
        }
        if u128::from(ios) * u128::from(key.bytes) != u128::from(bytes) {
            self.warn(format!("{ios} I/Os of {} bytes are not {bytes} bytes", key.bytes));
        }
        let totals = &self.found.steps[step];
        let exact = [
            ("Quantity", printed.ios, percent(ios, totals.count)),
            ("Amount", printed.bytes, percent(bytes, totals.amount)),
        ];
        for (what, printed, exact) in exact {
            if (printed - exact).abs() > ROUNDING {
                self.warn(format!(
                    "{what} prints {printed} %, the counts give {exact:.2} %; counts used"
                ));
            }
        }
    }

    fn finish(mut self) -> Result<(ReplayRepresentation, Vec<RepresentationWarning>), TraceError> {
        if self.awaits_totals {
            return Err(self.error("the text ends before the last step's totals"));
        }
        if self.found.steps.is_empty() {
            return Err(self.error("no step was found; a step begins with '## Step 1'"));
        }
        for (number, step) in (1..).zip(&mut self.found.steps) {
            let IoTotals { ios, bytes: Bytes(bytes) } = step.listed();
            if ios > step.count || bytes > step.amount {
                let text = format!(
                    "step {number} lists {ios} I/Os of {} and {bytes} bytes of {}; the larger used",
                    step.count, step.amount
                );
                self.warnings.push(RepresentationWarning { line: self.line, text });
            }
            step.count = step.count.max(ios);
            step.amount = step.amount.max(bytes);
        }
        Ok((self.found, self.warnings))
    }

    fn count(&self, word: &str) -> Result<u64, TraceError> {
        // Workload files store counts as TOML integers, which are signed.
        let count = word.parse().ok().filter(|count| *count < i64::MAX as u64);
        count.ok_or_else(|| self.error(&format!("'{}' is not a count", excerpt(word))))
    }
    fn number(&self, word: &str) -> Result<f64, TraceError> {
        let number = word.trim_end_matches('%').parse::<f64>().ok();
        let number = number.filter(|n| n.is_finite() && *n >= 0.0);
        number.ok_or_else(|| self.error(&format!("'{}' is not a number", excerpt(word))))
    }
    fn optional(&self, word: &str) -> Result<Option<f64>, TraceError> {
        if word == "-" { Ok(None) } else { self.number(word).map(Some) }
    }
    /// Returns the error for the current line.
    fn error(&self, what: &str) -> TraceError {
        TraceError::Text { line: self.line, what: what.to_owned() }
    }
    fn warn(&mut self, text: String) {
        self.warnings.push(RepresentationWarning { line: self.line, text });
    }
}

/// Returns the name between apostrophes.
fn name_in(rest: &str) -> String {
    let inner = rest.split_once('\'').map(|(_, name)| name.trim_end_matches('\''));
    inner.unwrap_or("unnamed").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Steps 1, 2, 5 and 6 of the tutorial's example, as printed there.
    const EXAMPLE: &str = "### Replay representation for workload 'Cumulative Workload'

## Step 1
# Timestamp Delta (sec) IOs Amount (bytes) Avg QD Max QD Avg RT (ms) Max RT (ms) Compress.Ratio Dupl.Ratio (%)
1455580803.613 302.219 1233 9192960 0.15 5 2.71 125.89 4.97 44.9683
# Stream RND/SEQ Size (bytes) R/W Quantity (%) Quantity (IOs) Amount (%) Amount (bytes)
SEQ 0.5K W SEQ 512 W 4.87 60 0.33 30720
SEQ 8K R SEQ 8192 R 0.08 1 0.09 8192
RND 4K W RND 4096 W 47.61 587 26.15 2404352
RND 8K R RND 8192 R 1.22 15 1.34 122880

## Step 2
# Timestamp Delta (sec) IOs Amount (bytes) Avg QD Max QD Avg RT (ms) Max RT (ms) Compress.Ratio Dupl.Ratio (%)
1455581105.832 300.547 798 4341248 0.20 9 1.69 33.66 4.99 41.3918
# Stream RND/SEQ Size (bytes) R/W Quantity (%) Quantity (IOs) Amount (%) Amount (bytes)
RND 4K W RND 4096 W 53.26 425 40.10 1740800
RND 0.5K W SEQ 512 W 13.41 107 1.26 54784
RND 8K R RND 8192 R 0.13 1 0.19 8192
RND 64K R RND 65536 R 0.13 1 1.51 65536

## Step 3
1455582007.613 300.578 671 3803136 0.31 10 1.60 88.29 5.81 42.4012
RND 4K W RND 4096 W 58.27 391 42.11 1601536

## Step 4
1455582308.207 300.594 635 3642368 0.20 9 1.21 18.16 5.32 43.0401
RND 4K W\tRND\t4096\tW\t83.82\t404\t45.43\t1654784\r
SEQ 0.5K W SEQ 512 W 0.94 6 0.08 3072
";

    #[test]
    fn a_line_without_an_end_is_refused_by_its_number() {
        let text = format!("{HEADER} for workload 'a'\n{}", "1 ".repeat(LINE_MAX as usize));
        let error = ReplayRepresentation::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn the_tutorials_example_is_read_with_its_contradictions() {
        let (found, warnings) = ReplayRepresentation::read(EXAMPLE.as_bytes()).unwrap();
        assert_eq!(found.name, "Cumulative Workload");
        assert_eq!(found.steps.len(), 4);
        let first = &found.steps[0];
        assert_eq!((first.began_unix_ms, first.lasted_ms), (1_455_580_803_613, 302_219));
        assert_eq!((first.count, first.amount, first.qd_max), (1233, 9_192_960, Some(5)));
        assert_eq!(first.streams[2].ios, 587);
        assert!(found.steps[1].streams[1].key.sequential, "columns outrank the name");
        let lines: Vec<usize> = warnings.iter().map(|w| w.line).collect();
        // The name in step 2, a skipped step, the 16 ms gap, and 83.82 for 63.62 %.
        assert_eq!(lines, [17, 22, 26, 27], "{warnings:?}");
        assert!(warnings[3].text.contains("63.62"));
    }

    #[test]
    fn a_workload_is_made_from_counts() {
        let (found, _) = ReplayRepresentation::read(EXAMPLE.as_bytes()).unwrap();
        let workload = found.workload(ShareMeasure::Count, Threshold(20_000));
        assert_eq!(workload.total_count, 1233 + 798 + 671 + 635);
        let top = &workload.streams[0];
        assert_eq!((top.stream.as_str(), top.count), ("RND 4K W", 587 + 425 + 391 + 404));
        let conditions = found.conditions();
        assert!((4.97..5.81).contains(&conditions.compression_ratio.unwrap()));
        let lasted_ms = 1_455_582_308_207 + 300_594 - 1_455_580_803_613;
        assert_eq!(conditions.lasted_ns, lasted_ms * 1_000_000);
    }

    #[test]
    fn a_written_text_is_read_without_a_warning_except_gaps() {
        let (found, _) = ReplayRepresentation::read(EXAMPLE.as_bytes()).unwrap();
        let mut text = Vec::new();
        found.write(&mut text).unwrap();
        let (again, warnings) = ReplayRepresentation::read(&text[..]).unwrap();
        assert_eq!(again, found);
        assert!(warnings.iter().all(|w| w.text.contains("begins")), "{warnings:?}");
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("\nSEQ 0.5K W SEQ 512 W 4.87 60 0.33 30720\n"));
        let totals = "\n1455580803.613 302.219 1233 9192960 0.15 5 2.71 125.89 4.97 44.9683\n";
        assert!(text.contains(totals));
    }

    /// No stream exceeds the I/Os of its step, but their sum does and takes precedence.
    #[test]
    fn totals_below_the_listed_streams_are_raised_with_a_warning() {
        let text = "## Step 1\n0 60 3 8192 5.5 9 1 1 - -\n\
                    RND 4K W RND 4096 W 100 12 100 49152\nRND 4K R RND 4096 R 1 4 1 16384\n\
                    ## Step 2\n60 60 16 65536 1.25 9 1 1 - -\n";
        let (found, warnings) = ReplayRepresentation::read(text.as_bytes()).unwrap();
        let expected = "step 1 lists 16 I/Os of 3 and 65536 bytes of 8192; the larger used";
        assert!(warnings.iter().any(|warning| warning.text == expected), "{warnings:?}");
        let workload = found.workload(ShareMeasure::Count, Threshold::default());
        assert_eq!((workload.total_count, workload.total_amount), (32, 131_072));
        assert_eq!(workload.streams[0].share, 12.0 / 32.0);
        // (16 x 5.5 + 16 x 1.25) / 32 = 3.375.
        assert_eq!(found.demand_seen(), Some(Demand::new(1, 4)));
    }

    #[test]
    fn errors_name_their_line() {
        for (text, line) in [
            ("", 0),
            ("## Step 1\n1 2 3", 2),
            ("RND 4K W RND 4096 W 1 1 1 1", 1),
            ("## Step 1\n1 1 1 1 1 1 1 1 1 1\nnonsense", 3),
            ("## Step 1\n1 1 1 1 1 1 1 1 1 1\nX RND -4 W 1 1 1 1", 3),
            ("## Step 1\n1 1 1 1 1 1 1 1 1 1\nX RND 0 W 1 1 1 0", 3),
            ("## Step 1\n## Step 2", 2),
        ] {
            match ReplayRepresentation::read(text.as_bytes()) {
                Err(TraceError::Text { line: found, .. }) => assert_eq!(found, line, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn no_mutation_panics(
            hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)
        ) {
            let mut bytes = EXAMPLE.as_bytes().to_vec();
            for (at, value) in hits {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Ok((found, _)) = ReplayRepresentation::read(&bytes[..]) {
                let _ = found.workload(ShareMeasure::Bytes, Threshold(1));
                let _ = found.conditions();
                found.write(std::io::sink()).unwrap();
            }
        }
    }
}
