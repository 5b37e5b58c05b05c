//! diskspd's results: XML (`-Rxml`) and text.
//!
//! Rates follow from the counts of every thread's targets and the time of the time span, as
//! diskspd computes them. Latencies (`-L`) are milliseconds; percentiles are of all threads.

use super::values::{plausible, read_write_outcome};
use crate::parse_error::ParseError;
use crate::xml::parse_xml;
use roxmltree::Node;
use steadfast_domain::text::excerpt;
use steadfast_domain::{ForeignIos, ForeignOutcome, ForeignResults};

/// More elements than a result has: a thread's target has some 20, a percentile four.
const ELEMENTS_MAX: u32 = 1_000_000;

fn empty_results() -> ForeignResults {
    ForeignResults { id: "diskspd".into(), tool: "diskspd".into(), ..ForeignResults::default() }
}

const NO_LATENCY: &str = "Response times: diskspd ran without -L.";

pub(super) fn read_xml(bytes: &[u8]) -> Result<ForeignResults, ParseError> {
    let text = crate::decode(bytes);
    let document = parse_xml(&text, ELEMENTS_MAX)?;
    let root = document.root_element();
    let mut results = empty_results();
    if let Some(system) = child(root, "System") {
        results.version = child(system, "Tool").and_then(|tool| text_in(tool, "Version"));
        for (label, name) in [("Host", "ComputerName"), ("Start time", "RunTime")] {
            results.facts.extend(text_in(system, name).map(|text| (label.to_owned(), text)));
        }
    }
    let profiles: Vec<Node<'_, '_>> = child(root, "Profile")
        .and_then(|profile| child(profile, "TimeSpans"))
        .map(|spans| children(spans, "TimeSpan").collect())
        .unwrap_or_default();
    for (at, span) in children(root, "TimeSpan").enumerate() {
        let Some(seconds) = value_in(span, "TestTimeSeconds").filter(|time| *time > 0.0) else {
            continue;
        };
        let targets: Vec<Node<'_, '_>> =
            children(span, "Thread").flat_map(|thread| children(thread, "Target")).collect();
        let latency = child(span, "Latency");
        let direction = |name: &str| {
            let total = |field: String| -> u64 {
                let values = targets.iter().filter_map(|target| value_in(*target, &field));
                values.map(|value| value as u64).fold(0, u64::saturating_add)
            };
            let counts = DirectionCounts {
                ios: total(format!("{name}Count")),
                bytes: total(format!("{name}Bytes")),
                seconds,
            };
            counts.ios(latency.map(|latency| xml_times(latency, name)).unwrap_or_default())
        };
        let profile = profiles.get(at).and_then(|profile| profile_of(*profile)).unwrap_or_default();
        let label = span_label(at + 1, profile.load.as_deref());
        let mut test = read_write_outcome(label, direction("Read"), direction("Write"));
        if let Some(latency) = latency.filter(|_| !test.all.is_empty()) {
            test.all = with_times(&test.all, xml_times(latency, "Total"));
        }
        let load = profile.load.map(|load| match profile.targets {
            1 => load,
            targets => format!("{load}, {targets} targets"),
        });
        results.tests.push(ForeignOutcome { load, demand: profile.demand, ..test });
    }
    add_absent(&mut results);
    Ok(results)
}

/// Counts of one direction over a time span.
struct DirectionCounts {
    ios: u64,
    bytes: u64,
    seconds: f64,
}

impl DirectionCounts {
    /// Returns the counts and rates with these response times.
    fn ios(&self, times: ForeignIos) -> ForeignIos {
        if self.ios == 0 {
            return ForeignIos { ios: Some(0), ..ForeignIos::default() };
        }
        ForeignIos {
            ios: Some(self.ios),
            iops: Some(self.ios as f64 / self.seconds),
            bytes_per_second: Some(self.bytes as f64 / self.seconds),
            ..times
        }
    }
}

/// Returns the counts and rates of some I/Os with the response times of others.
fn with_times(rates: &ForeignIos, times: ForeignIos) -> ForeignIos {
    let ForeignIos { ios, iops, bytes_per_second, .. } = *rates;
    ForeignIos { ios, iops, bytes_per_second, ..times }
}

fn add_absent(results: &mut ForeignResults) {
    if results.tests.iter().any(|test| test.all.mean_ms.is_none() && !test.all.is_empty()) {
        results.absent.push(NO_LATENCY.into());
    }
}

fn xml_times(latency: Node<'_, '_>, name: &str) -> ForeignIos {
    let field = format!("{name}Milliseconds");
    let mut times = ForeignIos {
        mean_ms: value_in(latency, &format!("Average{field}")),
        ..ForeignIos::default()
    };
    for bucket in children(latency, "Bucket") {
        let Some(percent) = value_in(bucket, "Percentile") else { continue };
        let Some(ms) = value_in(bucket, &field) else { continue };
        if percent == 0.0 {
            times.shortest_ms = Some(ms);
        } else if percent == 100.0 {
            times.longest_ms = Some(ms);
        } else {
            times.percentiles.push((percent, ms));
        }
    }
    times
}

/// The profile of a time span: its load and demand, of several targets those of the first.
#[derive(Default)]
struct SpanProfile {
    load: Option<String>,
    demand: Option<String>,
    targets: usize,
}

/// Returns the profile of a time span; `None` if it has no target.
fn profile_of(span: Node<'_, '_>) -> Option<SpanProfile> {
    let targets: Vec<Node<'_, '_>> = children(child(span, "Targets")?, "Target").collect();
    let first = *targets.first()?;
    // <Random> is the alignment of random I/O; without it, or with 0, I/O is sequential.
    let random = value_in(first, "Random").is_some_and(|alignment| alignment > 0.0);
    let order = if random { "random" } else { "sequential" };
    let writes = value_in(first, "WriteRatio").unwrap_or(0.0);
    let bytes = value_in(first, "BlockSize");
    let size = bytes.map_or_else(String::new, |bytes| format!(" {bytes} B"));
    let setting = |name: &str| value_in(first, name).map(|value| format!("{name}={value}"));
    let demand: Vec<String> =
        ["ThreadsPerFile", "RequestCount"].into_iter().filter_map(setting).collect();
    Some(SpanProfile {
        load: Some(format!("{order}{size}, {writes} % writes")),
        demand: Some(demand.join(", ")),
        targets: targets.len(),
    })
}

/// Returns the label of a time span, whose number starts at 1.
fn span_label(number: usize, load: Option<&str>) -> String {
    match load {
        Some(load) => format!("timespan {number}: {load}"),
        None => format!("timespan {number}"),
    }
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

/// Returns the text of the child element of this name; `None` if it is missing or empty.
fn text_in(node: Node<'_, '_>, name: &str) -> Option<String> {
    let text = child(node, name)?.text()?.trim();
    Some(excerpt(text).into_owned()).filter(|text| !text.is_empty())
}

/// Returns the number in the child element of this name; `None` if it is missing or implausible.
fn value_in(node: Node<'_, '_>, name: &str) -> Option<f64> {
    plausible(child(node, name)?.text()?.trim().parse().ok()?)
}

/// Names of the rows in the text's table of percentiles.
const TEXT_PERCENTILES: [(&str, f64); 12] = [
    ("25th", 25.0),
    ("50th", 50.0),
    ("75th", 75.0),
    ("90th", 90.0),
    ("95th", 95.0),
    ("99th", 99.0),
    ("3-nines", 99.9),
    ("4-nines", 99.99),
    ("5-nines", 99.999),
    ("6-nines", 99.9999),
    ("7-nines", 99.99999),
    ("8-nines", 99.999999),
];

pub(super) fn read_text(bytes: &[u8]) -> Result<ForeignResults, ParseError> {
    let text = crate::decode(bytes);
    let mut results = empty_results();
    let mut span: Option<SpanText> = None;
    let mut all_parameters: Vec<SpanParameters> = Vec::new();
    let mut section = "";
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        let after = |name: &str| trimmed.strip_prefix(name).map(str::trim);
        if let Some(command) = after("Command Line:") {
            results.facts.push(("Command line".into(), excerpt(command).into_owned()));
        } else if let Some(version) = after("version:") {
            results.version = Some(excerpt(version).into_owned());
        } else if let Some(name) = after("computer name:") {
            results.facts.push(("Host".into(), excerpt(name).into_owned()));
        } else if after("Results for timespan").is_some() {
            results.tests.extend(span.take().map(SpanText::finish));
            let at = results.tests.len();
            let parameters = all_parameters.get(at).cloned().unwrap_or_default();
            span = Some(SpanText { number: at + 1, parameters, ..SpanText::default() });
        } else if let Some(time) = after("actual test time:") {
            let seconds = time.trim_end_matches('s').parse().ok().and_then(plausible);
            let Some(span) = span.as_mut() else { continue };
            span.seconds = seconds
                .ok_or_else(|| ParseError::at(number, format!("'{}' is no time", excerpt(time))))?;
        } else if ["Total IO", "Read IO", "Write IO"].contains(&trimmed) {
            section = match trimmed {
                "Read IO" => "read",
                "Write IO" => "write",
                _ => "total",
            };
        } else if let (Some(row), Some(span)) = (trimmed.strip_prefix("total:"), span.as_mut()) {
            // The same word, alone, begins the table of percentiles of older versions.
            if row.contains('|') {
                span.totals(section, row).map_err(|what| ParseError::at(number, what))?;
            }
        } else if let Some(span) = span.as_mut() {
            span.percentile(trimmed);
        } else if trimmed.starts_with("timespan:") {
            all_parameters.push(SpanParameters::default());
        } else if let Some(parameters) = all_parameters.last_mut() {
            parameters.add(trimmed);
        }
    }
    results.tests.extend(span.take().map(SpanText::finish));
    add_absent(&mut results);
    Ok(results)
}

/// Beginnings of the lines that describe the load of a time span.
const LOAD_LINES: [&str; 4] =
    ["performing ", "block size:", "using random I/O", "using sequential I/O"];
/// The same for threads and queue depth.
const DEMAND_LINES: [&str; 3] =
    ["number of outstanding I/O operations", "threads per file", "total threads"];

/// The input parameters of a time span, which stand before all results.
#[derive(Clone, Default)]
struct SpanParameters {
    load: String,
    demand: String,
}

impl SpanParameters {
    fn add(&mut self, line: &str) {
        for (text, beginnings) in
            [(&mut self.load, &LOAD_LINES[..]), (&mut self.demand, &DEMAND_LINES[..])]
        {
            // Of several targets the first is described.
            if beginnings.iter().any(|beginning| line.starts_with(beginning))
                && !text.contains(line.split(':').next().unwrap_or(line))
            {
                let comma = if text.is_empty() { "" } else { ", " };
                *text = format!("{text}{comma}{}", excerpt(line));
            }
        }
    }
}

/// The results of a time span, as far as they have been read.
#[derive(Default)]
struct SpanText {
    number: usize,
    parameters: SpanParameters,
    seconds: f64,
    reads: DirectionText,
    writes: DirectionText,
    /// Response times of reads and writes together.
    total: ForeignIos,
}

/// Counts and response times of reads or of writes.
#[derive(Default)]
struct DirectionText {
    ios: u64,
    bytes: u64,
    times: ForeignIos,
}

impl SpanText {
    /// Parses `bytes | I/Os | MiB/s | I/O per s | AvgLat | ...`; the mean is there with -L only.
    fn totals(&mut self, section: &str, row: &str) -> Result<(), String> {
        let fields: Vec<&str> = row.split('|').map(str::trim).collect();
        let count = |at: usize| {
            let text: &str = fields.get(at).copied().unwrap_or_default();
            text.parse::<u64>().map_err(|_| format!("'{}' is no count", excerpt(text)))
        };
        let (bytes, ios) = (count(0)?, count(1)?);
        // With -D and without -L the fifth field is a deviation of IOPS, which has two decimals.
        let mean = fields.get(4).filter(|text| decimals(text) == 3);
        let mean = mean.and_then(|text| plausible(text.parse().ok()?));
        let direction = match section {
            "read" => &mut self.reads,
            "write" => &mut self.writes,
            _ => {
                self.total.mean_ms = mean;
                return Ok(());
            }
        };
        (direction.ios, direction.bytes, direction.times.mean_ms) = (ios, bytes, mean);
        Ok(())
    }

    /// Parses `3-nines | read | write | total`, in milliseconds.
    fn percentile(&mut self, line: &str) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, read, write, total] = fields[..] else { return };
        for (times, text) in [
            (&mut self.reads.times, read),
            (&mut self.writes.times, write),
            (&mut self.total, total),
        ] {
            let Some(ms) = text.parse().ok().and_then(plausible) else { continue };
            if name == "min" {
                times.shortest_ms = Some(ms);
            } else if name == "max" {
                times.longest_ms = Some(ms);
            } else if let Some((_, percent)) = TEXT_PERCENTILES.iter().find(|(row, _)| *row == name)
            {
                times.percentiles.push((*percent, ms));
            }
        }
    }

    fn finish(self) -> ForeignOutcome {
        let seconds = self.seconds;
        let ios = |DirectionText { ios, bytes, times }: DirectionText| {
            // Without a time there is no rate.
            let ios = if seconds > 0.0 { ios } else { 0 };
            DirectionCounts { ios, bytes, seconds }.ios(times)
        };
        let SpanParameters { load, demand } = self.parameters;
        let [load, demand] = [load, demand].map(|text| Some(text).filter(|text| !text.is_empty()));
        let label = span_label(self.number, load.as_deref());
        let mut test = read_write_outcome(label, ios(self.reads), ios(self.writes));
        if !test.all.is_empty() {
            test.all = with_times(&test.all, self.total);
        }
        ForeignOutcome { load, demand, ..test }
    }
}

/// Returns the number of digits after the decimal point.
fn decimals(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, digits)| digits.len())
}
