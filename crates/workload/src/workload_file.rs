//! The workload file: a cumulative workload as TOML, to be read, edited by hand and applied to a
//! device. Counts are exact; percentages are comments and are recomputed. The capture steps
//! follow it, for a replay.

use crate::arrivals::{ArrivalProcess, CapturedArrivals};
use crate::details::WorkloadDetails;
use crate::placement::{Placement, key_of};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use steadfast_analysis::questions::cumulative::{
    AppliedStreams, CumulativeWorkload, Threshold, WorkloadStream, data_pattern_seen,
};
use steadfast_analysis::questions::streams::{ShareMeasure, StreamKey};
use steadfast_analysis::questions::totals::{CaptureTotals, Derivation};
use steadfast_analysis::sums::io_count::IoCount;
use steadfast_domain::empirical::{Interpolation, Quantiles};
use steadfast_domain::io_event::Share;
use steadfast_domain::stimulus::{DataPattern, Durability, Pace, Zone};
use steadfast_domain::text::with_short_words;
use steadfast_domain::{Bytes, CaptureConditions, Demand, IoOp, IoStream, Nanos};
use steadfast_tracefile::error::TraceError;
use twox_hash::XxHash3_64;

const QUEUE_DEPTHS: RangeInclusive<f64> = 0.0..=4_294_967_295.0;

/// Value of the file's field `format`.
pub const FORMAT: &str = "steadfast workload 1";

/// A workload and the way it is applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkloadFile {
    /// Name of the capture it was derived from.
    pub name: String,
    /// Applied streams with exact counts.
    pub workload: CumulativeWorkload,
    /// Threads and queue depth; `None` if not recorded.
    pub demand: Option<Demand>,
    /// Data to write.
    pub data_pattern: DataPattern,
    /// Placement of the streams.
    pub placement: Placement,
    /// Arrivals of the I/Os in the capture.
    pub arrivals: CapturedArrivals,
    /// Remarks for the reader, one sentence each.
    pub remarks: Vec<String>,
    /// Capture steps in order; steps without I/Os are omitted.
    pub steps: Vec<WorkloadStep>,
    /// Doubts found while reading the file, one sentence each: it was edited after it was derived,
    /// or its counts contradict each other.
    pub doubts: Vec<String>,
}

/// The capture of a derived workload, as far as remarks depend on it.
#[derive(Debug)]
pub struct WorkloadOrigin<'c> {
    /// Conditions of the capture.
    pub conditions: &'c CaptureConditions,
    /// Description of the filter; `None` if all I/Os were used.
    pub filter: Option<String>,
    /// Missing or damaged parts of the trace, one sentence each.
    pub missing: Vec<String>,
}

/// A number of I/Os and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoTotals {
    /// I/Os.
    pub ios: u64,
    /// Bytes of these I/Os.
    pub bytes: Bytes,
}

impl IoTotals {
    pub(crate) fn add(&mut self, ios: u64, bytes: u64) {
        self.ios = self.ios.saturating_add(ios);
        self.bytes = Bytes(self.bytes.0.saturating_add(bytes));
    }

    pub(crate) fn saturating_sub(self, other: IoTotals) -> IoTotals {
        IoTotals {
            ios: self.ios.saturating_sub(other.ios),
            bytes: Bytes(self.bytes.0.saturating_sub(other.bytes.0)),
        }
    }
}

/// The I/Os of one capture step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkloadStep {
    /// Start, since the start of the capture.
    pub at: Nanos,
    /// Length.
    pub lasts: Nanos,
    /// Number of I/Os of each stream of the workload; streams without I/Os are omitted.
    pub ios: Vec<(StreamKey, u64)>,
    /// Totals of the step, including streams that are not applied; `None` if unknown.
    pub captured: Option<IoTotals>,
    /// I/Os outstanding, averaged over the step's time; `None` if unknown.
    pub outstanding_mean: Option<f64>,
    /// Maximum number of I/Os outstanding; `None` if unknown.
    pub outstanding_max: Option<u32>,
    /// Mean response time in the capture; `None` if unknown.
    pub response_mean: Option<Nanos>,
    /// Longest response time in the capture; `None` if unknown.
    pub response_max: Option<Nanos>,
    /// Threads with I/Os in the step; `None` if unknown.
    pub threads: Option<u32>,
    /// Data to write in this step; `None` for that of the workload.
    pub data_pattern: Option<DataPattern>,
}

impl WorkloadStep {
    /// Returns the capture steps of a derivation with the I/Os of the workload's streams; steps
    /// without such I/Os are omitted.
    pub fn from_derivation(derivation: &Derivation) -> Vec<WorkloadStep> {
        let CaptureTotals { workload, step_ns, observed, .. } = &derivation.totals;
        let keys = workload.keys();
        let steps = derivation.streams_over_time.steps().iter();
        let steps = steps.map(|(number, cells)| WorkloadStep {
            at: Nanos(observed.begin_of_step(*number, *step_ns)),
            lasts: Nanos(observed.length_of_step(*number, *step_ns)),
            ios: keys.iter().zip(cells).map(|(key, cell)| (*key, cell.ios)).collect(),
            ..WorkloadStep::default()
        });
        steps.map(|step| step.with_streams(|_| true)).filter(|step| !step.ios.is_empty()).collect()
    }

    /// Drops the streams that are not applied or have no I/Os in this step.
    pub(crate) fn with_streams(mut self, applied: impl Fn(&StreamKey) -> bool) -> Self {
        self.ios.retain(|(key, ios)| *ios > 0 && applied(key));
        self
    }
}

/// Prefix of the comment that holds the checksum of the derived contents.
const DERIVED: &str = "# derived: ";

impl fmt::Display for WorkloadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# The I/O streams of a capture, with their exact counts. Counts, demand and")?;
        writeln!(
            f,
            "# data pattern may be edited; percentages are recomputed. The checksum in the next"
        )?;
        writeln!(f, "# line shows whether the file was edited.")?;
        writeln!(f, "{DERIVED}{}", self.checksum())?;
        write!(f, "{}", WorkloadBody(self))
    }
}

/// The contents of a workload file without the comments at its top.
struct WorkloadBody<'a>(&'a WorkloadFile);

impl fmt::Display for WorkloadBody<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.0;
        let workload = &file.workload;
        writeln!(f, "format = {FORMAT:?}\nname = {}", quoted(&file.name))?;
        if let Some(demand) = &file.demand {
            writeln!(f, "demand = \"{demand}\"")?;
        }
        writeln!(f, "data_pattern = {}", quoted(&file.data_pattern.to_string()))?;
        let remarks: Vec<String> = file.remarks.iter().map(|remark| quoted(remark)).collect();
        writeln!(f, "remarks = [{}]", remarks.join(", "))?;
        if let Some(alignment) = file.placement.alignment {
            writeln!(f, "alignment = {}", alignment.0)?;
        }
        if let Some(process) = &file.arrivals.all {
            writeln!(f, "arrivals = {}", arrivals_table(process))?;
        }
        writeln!(f, "\n[captured] # everything, what is not applied included")?;
        writeln!(f, "by = \"{}\"\nthreshold = \"{}\"", workload.by, workload.threshold)?;
        writeln!(f, "streams = {}", workload.total_streams)?;
        writeln!(f, "ios = {}\nbytes = {}", workload.total_count, workload.total_amount)?;
        if let Some(range) = file.placement.measured_in {
            writeln!(f, "range = {} # bytes in which the zones of streams were measured", range.0)?;
        }
        file.placement.zones.iter().try_for_each(|zone| write_zone(f, zone))?;
        for stream in &workload.streams {
            write_stream(f, stream)?;
            if let Some(process) = file.arrivals.by_stream.get(&stream.key()) {
                writeln!(f, "arrivals = {}", arrivals_table(process))?;
            }
            if let Some(zones) = file.placement.by_stream.get(&stream.key()) {
                write_stream_zones(f, zones)?;
            }
        }
        file.steps.iter().try_for_each(|step| write_step(f, step))
    }
}

fn write_zone(f: &mut fmt::Formatter<'_>, zone: &Zone) -> fmt::Result {
    let (from, to) = (Threshold(zone.from_ppm), Threshold(zone.to_ppm));
    writeln!(f, "\n[[zone]]\nshare = {}\nfrom = \"{from}\"\nto = \"{to}\"", zone.weight)
}

/// Returns an arrival process as a TOML table in one line.
fn arrivals_table(process: &ArrivalProcess) -> String {
    let figures = process.figures().map(|(name, figure)| format!(", {name} = {figure:?}"));
    let distributions = process.distributions.as_ref().map(|measured| {
        format!(
            ", distributions = {{ burst_ios = {}, gaps_ns = {}, pauses_ns = {} }}",
            quantiles_table(&measured.burst_ios),
            quantiles_table(&measured.gaps_ns),
            quantiles_table(&measured.pauses_ns)
        )
    });
    let (figures, distributions) = (figures.collect::<String>(), distributions.unwrap_or_default());
    format!("{{ process = \"{}\"{figures}{distributions} }}", process.process)
}

/// Returns a distribution as a TOML table in one line.
fn quantiles_table(quantiles: &Quantiles) -> String {
    let interpolation = match quantiles.interpolation {
        Interpolation::Steps => "steps",
        Interpolation::Linear => "linear",
        Interpolation::Logarithmic => "logarithmic",
    };
    let values: Vec<String> = quantiles.values.iter().map(|value| format!("{value:?}")).collect();
    format!("{{ interpolation = \"{interpolation}\", values = [{}] }}", values.join(", "))
}

fn write_stream_zones(f: &mut fmt::Formatter<'_>, zones: &[Zone]) -> fmt::Result {
    writeln!(f, "zones = [")?;
    for zone in zones {
        let (from, to) = (Threshold(zone.from_ppm), Threshold(zone.to_ppm));
        writeln!(f, "  {{ share = {}, from = \"{from}\", to = \"{to}\" }},", zone.weight)?;
    }
    writeln!(f, "]")
}

fn write_stream(f: &mut fmt::Formatter<'_>, stream: &WorkloadStream) -> fmt::Result {
    writeln!(f, "\n[[stream]] # {:.2} %", stream.normalized * 100.0)?;
    writeln!(f, "stream = \"{}{}\"\nios = {}", stream.key(), stream.durability, stream.count)?;
    if let Some(alignment) = stream.alignment {
        writeln!(f, "alignment = {alignment}")?;
    }
    match stream.qd_mean {
        Some(mean) => writeln!(f, "qd_mean = {mean:?}"),
        None => Ok(()),
    }
}

fn write_step(f: &mut fmt::Formatter<'_>, step: &WorkloadStep) -> fmt::Result {
    // In the order in which they are read back.
    let mut ios = step.ios.clone();
    ios.sort_unstable();
    let ios: Vec<String> = ios.iter().map(|(key, ios)| format!("\"{key}\" = {ios}")).collect();
    writeln!(f, "\n[[step]] # at {}", step.at)?;
    writeln!(f, "at_ns = {}\nlasts_ns = {}", step.at.0, step.lasts.0)?;
    writeln!(f, "ios = {{ {} }}", ios.join(", "))?;
    let whole = [
        ("captured_ios", step.captured.map(|captured| captured.ios)),
        ("captured_bytes", step.captured.map(|captured| captured.bytes.0)),
        ("outstanding_max", step.outstanding_max.map(u64::from)),
        ("response_mean_ns", step.response_mean.map(|time| time.0)),
        ("response_max_ns", step.response_max.map(|time| time.0)),
        ("threads", step.threads.map(u64::from)),
    ];
    for (name, value) in whole {
        if let Some(value) = value {
            writeln!(f, "{name} = {value}")?;
        }
    }
    if let Some(mean) = step.outstanding_mean {
        writeln!(f, "outstanding_mean = {mean:?}")?;
    }
    match &step.data_pattern {
        Some(pattern) => writeln!(f, "data_pattern = {}", quoted(&pattern.to_string())),
        None => Ok(()),
    }
}

/// Returns a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFileContent {
    format: String,
    #[serde(default)]
    name: String,
    demand: Option<String>,
    data_pattern: Option<String>,
    #[serde(default)]
    remarks: Vec<String>,
    /// In bytes.
    alignment: Option<u64>,
    arrivals: Option<ArrivalProcess>,
    captured: Option<CapturedContent>,
    #[serde(default)]
    zone: Vec<ZoneContent>,
    #[serde(default)]
    stream: Vec<StreamContent>,
    #[serde(default)]
    step: Vec<StepContent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapturedContent {
    by: ShareMeasure,
    threshold: String,
    streams: usize,
    ios: u64,
    bytes: u64,
    /// In bytes.
    range: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZoneContent {
    share: u32,
    /// In percent of the active range.
    from: String,
    to: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamContent {
    stream: String,
    ios: u64,
    /// In bytes.
    alignment: Option<u64>,
    qd_mean: Option<f64>,
    arrivals: Option<ArrivalProcess>,
    #[serde(default)]
    zones: Vec<ZoneContent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepContent {
    at_ns: u64,
    lasts_ns: u64,
    ios: BTreeMap<String, u64>,
    captured_ios: Option<u64>,
    captured_bytes: Option<u64>,
    outstanding_mean: Option<f64>,
    outstanding_max: Option<u32>,
    response_mean_ns: Option<u64>,
    response_max_ns: Option<u64>,
    threads: Option<u32>,
    data_pattern: Option<String>,
}

impl WorkloadFile {
    /// Parses a workload file.
    ///
    /// # Errors
    /// Returns [`TraceError::Text`] with the line if the text is not TOML or not of this shape, and
    /// [`TraceError::Unsuitable`] if its format is another or a value is invalid.
    pub fn read(text: &str) -> Result<Self, TraceError> {
        let content: WorkloadFileContent = toml::from_str(text).map_err(|error| {
            let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(""));
            let line = before.matches('\n').count() + 1;
            TraceError::Text { line, what: with_short_words(error.message()) }
        })?;
        if content.format != FORMAT {
            return Err(TraceError::Unsuitable(format!(
                "its format is '{}'; this program reads '{FORMAT}'",
                content.format
            )));
        }
        let demand =
            content.demand.as_deref().map(|text| parse_field(text, "demand")).transpose()?;
        let pattern = content.data_pattern.as_deref().map(|text| parse_field(text, "data_pattern"));
        let steps: Result<Vec<_>, _> = content.step.iter().map(StepContent::step).collect();
        let mut file = WorkloadFile {
            workload: workload(&content)?,
            demand,
            data_pattern: pattern.transpose()?.unwrap_or_default(),
            placement: placement(&content)?,
            arrivals: arrivals(&content)?,
            steps: steps?,
            doubts: doubts(&content),
            name: content.name,
            remarks: content.remarks,
        };
        let derived = text.lines().find_map(|line| line.strip_prefix(DERIVED));
        if derived.is_some_and(|checksum| !file.had_checksum(checksum.trim())) {
            file.doubts.push("It was edited after it was derived.".into());
        }
        Ok(file)
    }

    /// Returns the file of a workload that was derived from a capture, without steps.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if no stream can be applied to a device.
    pub fn derived(
        name: String,
        workload: CumulativeWorkload,
        demand: Option<Demand>,
        origin: WorkloadOrigin<'_>,
    ) -> Result<Self, TraceError> {
        let mut remarks = workload.applied_streams()?.remarks;
        remarks.extend(origin.missing);
        remarks.extend(origin.filter.map(|part| format!("Only part of the trace: {part}.")));
        if let Some(share @ Share::AtLeast(_)) = origin.conditions.duplicates() {
            remarks.push(format!(
                "The share of duplicates is only a lower bound ({share}); the data pattern has no \
                 duplicates."
            ));
        }
        if demand.is_none() {
            let what = "The trace has no queue depths; T1Q1 is applied unless --demand is given.";
            remarks.push(what.to_owned());
        }
        let data_pattern = data_pattern_seen(origin.conditions);
        Ok(WorkloadFile { name, workload, demand, data_pattern, remarks, ..Self::default() })
    }

    /// Adds the zones and arrivals that were measured in the capture.
    pub fn with_details(mut self, details: WorkloadDetails) -> Self {
        self.remarks.extend(details.remarks);
        WorkloadFile { placement: details.placement, arrivals: details.arrivals, ..self }
    }

    /// Returns the applied test workload (see [`CumulativeWorkload::applied_streams`]), placed as the file says.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if no stream can be applied to a device.
    pub fn io_streams(&self) -> Result<(Vec<IoStream>, Vec<String>), TraceError> {
        let AppliedStreams { mut streams, remarks } = self.workload.applied_streams()?;
        self.placement.place(&mut streams);
        Ok((streams, remarks))
    }

    /// Returns the pace at which each of these streams arrives independently; `None` if no stream has
    /// arrivals of its own, or if bursts begin with a completion.
    pub fn stream_paces(&self, streams: &[IoStream]) -> Option<Pace> {
        let CapturedArrivals { all, by_stream } = &self.arrivals;
        let all_iops = all.as_ref().filter(|_| !by_stream.is_empty())?.pace().offered_iops()?;
        let pace = |stream: &IoStream| by_stream.get(&key_of(stream)).map(ArrivalProcess::pace);
        let paces: Vec<Option<Pace>> = streams.iter().map(pace).collect();
        let weights: f64 = streams.iter().map(|stream| f64::from(stream.weight)).sum();
        let weighted = paces.iter().map(Option::as_ref).zip(streams.iter().map(|s| s.weight));
        let CumulativeWorkload { total_count, .. } = self.workload;
        let selected = self.workload.selected().ios as f64 / total_count.max(1) as f64;
        let pace = Pace::by_stream(weighted, all_iops * selected / weights);
        pace.fault().is_none().then_some(pace)
    }

    /// Returns the checksum of the contents, independent of layout.
    fn checksum(&self) -> String {
        checksum_of(&WorkloadBody(self).to_string())
    }

    /// Returns whether this was the checksum when the file was derived, possibly by a version that
    /// wrote a discard as `TRIM`.
    fn had_checksum(&self, checksum: &str) -> bool {
        let before = || WorkloadBody(self).to_string().replace(" DISCARD\"", " TRIM\"");
        checksum == self.checksum() || checksum == checksum_of(&before())
    }
}

fn checksum_of(text: &str) -> String {
    format!("{:016x}", XxHash3_64::oneshot(text.as_bytes()))
}

/// Returns contradictions in the counts, which may be intended in an edited file.
fn doubts(content: &WorkloadFileContent) -> Vec<String> {
    let mut doubts = Vec::new();
    let ios = content.stream.iter().fold(0, |sum: u64, stream| sum.saturating_add(stream.ios));
    if let Some(captured) = content.captured.as_ref().filter(|captured| captured.ios < ios) {
        doubts.push(format!(
            "Its streams have {ios} I/Os together, more than the {} captured.",
            captured.ios
        ));
    }
    for stream in &content.stream {
        let in_steps =
            content.step.iter().filter_map(|step| step.ios.get(split_durability(&stream.stream).0));
        let in_steps = in_steps.fold(0, |sum: u64, ios| sum.saturating_add(*ios));
        if in_steps > stream.ios {
            doubts.push(format!(
                "{} has {} I/Os, and {in_steps} in the capture steps.",
                stream.stream, stream.ios
            ));
        }
    }
    doubts
}

fn workload(content: &WorkloadFileContent) -> Result<CumulativeWorkload, TraceError> {
    let streams: Result<Vec<_>, _> = content.stream.iter().map(StreamContent::stream).collect();
    let streams = streams?;
    let sum = |part: fn(&WorkloadStream) -> u64| {
        let sum = streams.iter().map(part).try_fold(0u64, u64::checked_add);
        let too_many = "its streams have more I/Os, or bytes, together than can be counted";
        sum.ok_or_else(|| TraceError::Unsuitable(too_many.into()))
    };
    let listed = IoCount { ios: sum(|stream| stream.count)?, bytes: sum(|stream| stream.amount)? };
    let Some(captured) = &content.captured else {
        return Ok(CumulativeWorkload::select(streams, listed, ShareMeasure::Count, Threshold(0)));
    };
    // Counts that were raised by hand may exceed the captured ones.
    let total =
        IoCount { ios: listed.ios.max(captured.ios), bytes: listed.bytes.max(captured.bytes) };
    let mut workload = CumulativeWorkload::select(streams, total, captured.by, Threshold(0));
    workload.threshold = captured.threshold.parse()?;
    workload.total_streams = captured.streams.max(workload.streams.len());
    Ok(workload)
}

fn placement(content: &WorkloadFileContent) -> Result<Placement, TraceError> {
    check_alignment(content.alignment).map_err(TraceError::Unsuitable)?;
    let mut by_stream = BTreeMap::new();
    for stream in content.stream.iter().filter(|stream| !stream.zones.is_empty()) {
        let zones = zones(&stream.zones)?;
        let key = stream.key()?;
        if key.sequential && zones.len() > 1 {
            let what = format!("{}: a sequential stream has one zone at most", stream.stream);
            return Err(TraceError::Unsuitable(what));
        }
        by_stream.insert(key, zones);
    }
    Ok(Placement {
        zones: zones(&content.zone)?,
        by_stream,
        measured_in: content.captured.as_ref().and_then(|captured| captured.range).map(Bytes),
        alignment: content.alignment.map(Bytes),
    })
}

fn check_alignment(alignment: Option<u64>) -> Result<(), String> {
    match alignment.filter(|bytes| !bytes.is_power_of_two()) {
        Some(bytes) => Err(format!("an alignment of {bytes} is not a power of two")),
        None => Ok(()),
    }
}

fn zones(content: &[ZoneContent]) -> Result<Vec<Zone>, TraceError> {
    let zones: Result<Vec<Zone>, TraceError> = content.iter().map(ZoneContent::zone).collect();
    let zones = zones?;
    if !zones.is_empty() && zones.iter().all(|zone| zone.weight == 0) {
        return Err(TraceError::Unsuitable("no zone has a share above 0".into()));
    }
    Ok(zones)
}

fn arrivals(content: &WorkloadFileContent) -> Result<CapturedArrivals, TraceError> {
    let mut by_stream = BTreeMap::new();
    for stream in &content.stream {
        if let Some(process) = stream.arrivals.clone() {
            by_stream.insert(stream.key()?, process);
        }
    }
    let mut all = by_stream.values().chain(&content.arrivals);
    match all.find_map(ArrivalProcess::fault) {
        Some(fault) => Err(TraceError::Unsuitable(fault)),
        None => Ok(CapturedArrivals { all: content.arrivals.clone(), by_stream }),
    }
}

impl ZoneContent {
    fn zone(&self) -> Result<Zone, TraceError> {
        let at = |text: &str| text.parse::<Threshold>().map(|share| share.0);
        let zone = Zone { weight: self.share, from_ppm: at(&self.from)?, to_ppm: at(&self.to)? };
        if zone.from_ppm >= zone.to_ppm {
            return Err(TraceError::Unsuitable(format!(
                "the zone from {} to {} is empty; give percentages of the active range, such as \
                 from = \"0%\" and to = \"5%\"",
                self.from, self.to
            )));
        }
        Ok(zone)
    }
}

impl StreamContent {
    fn key(&self) -> Result<StreamKey, TraceError> {
        parse_field(split_durability(&self.stream).0, "stream")
    }

    fn stream(&self) -> Result<WorkloadStream, TraceError> {
        let (_, durability) = split_durability(&self.stream);
        let key = self.key()?;
        let wrong = |what: String| TraceError::Unsuitable(format!("{}: {what}", self.stream));
        check_alignment(self.alignment).map_err(wrong)?;
        if let Some(mean) = self.qd_mean.filter(|mean| !QUEUE_DEPTHS.contains(mean)) {
            return Err(wrong(format!("a mean queue depth of {mean} is impossible")));
        }
        if key.op != IoOp::Write && !durability.is_cached() {
            return Err(wrong("only writes can be durable".to_owned()));
        }
        let amount = self.ios.checked_mul(u64::from(key.bytes));
        let amount = amount.ok_or_else(|| wrong(format!("{} I/Os are too many", self.ios)))?;
        Ok(WorkloadStream {
            durability,
            alignment: self.alignment,
            qd_mean: self.qd_mean,
            ..WorkloadStream::new(key, self.ios, amount)
        })
    }
}

/// Splits the durability off a stream such as `RND 4K W FUA`.
fn split_durability(stream: &str) -> (&str, Durability) {
    let split = stream
        .trim_end()
        .rsplit_once(' ')
        .and_then(|(name, word)| Some((name, Durability::from_word(&word.to_ascii_uppercase())?)));
    split.unwrap_or((stream, Durability::Cached))
}

impl StepContent {
    fn step(&self) -> Result<WorkloadStep, TraceError> {
        let ios: Result<Vec<_>, TraceError> = self
            .ios
            .iter()
            .map(|(stream, ios)| Ok((parse_field(stream, "a step's stream")?, *ios)))
            .collect();
        let mut ios = ios?;
        ios.sort_unstable();
        if self.at_ns.checked_add(self.lasts_ns).is_none() {
            return Err(TraceError::Unsuitable(format!("a step cannot last {} ns", self.lasts_ns)));
        }
        if let Some(mean) = self.outstanding_mean.filter(|mean| !QUEUE_DEPTHS.contains(mean)) {
            let what = format!("{mean} I/Os outstanding on average cannot be");
            return Err(TraceError::Unsuitable(what));
        }
        Ok(WorkloadStep {
            at: Nanos(self.at_ns),
            lasts: Nanos(self.lasts_ns),
            ios,
            captured: self
                .captured_ios
                .zip(self.captured_bytes.map(Bytes))
                .map(|(ios, bytes)| IoTotals { ios, bytes }),
            outstanding_mean: self.outstanding_mean,
            outstanding_max: self.outstanding_max,
            response_mean: self.response_mean_ns.map(Nanos),
            response_max: self.response_max_ns.map(Nanos),
            threads: self.threads,
            data_pattern: match &self.data_pattern {
                Some(text) => Some(parse_field(text, "a step's data_pattern")?),
                None => None,
            },
        })
    }
}

/// Parses the text of a field; an error names the field.
fn parse_field<T: std::str::FromStr>(text: &str, field: &str) -> Result<T, TraceError>
where
    T::Err: fmt::Display,
{
    text.parse().map_err(|error| TraceError::Unsuitable(format!("{field}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::ArrivalKind;
    use steadfast_domain::empirical::EmpiricalArrivals;

    fn file() -> WorkloadFile {
        let stream = |name: &str, ios: u64| StreamContent {
            stream: name.into(),
            ios,
            alignment: Some(4096),
            qd_mean: Some(3.25),
            arrivals: None,
            zones: Vec::new(),
        };
        let named = [stream("RND 4K W", 10_007), stream("SEQ 28K R", 503)];
        let streams = named.iter().map(|stream| stream.stream().unwrap()).collect();
        let mut workload = CumulativeWorkload::select(
            streams,
            IoCount { ios: 20_011, bytes: 1 << 30 },
            ShareMeasure::Count,
            Threshold(0),
        );
        workload.threshold = Threshold(20_000);
        workload.total_streams = 41;
        let key: StreamKey = "RND 4K W".parse().unwrap();
        let bursts = ArrivalProcess {
            process: ArrivalKind::Bursts,
            iops: 1203.07,
            gap_cv2: 17.03,
            count_dispersion: Some(0.0625),
            exponential_ks: Some(0.41),
            burst_ios: Some(16.5),
            burst_cv2: Some(1e-7),
            pause_ns: Some(1.25e7),
            pause_cv2: Some(0.0),
            distributions: None,
        };
        WorkloadFile {
            name: "a \"quoted\" trace.parquet".into(),
            workload,
            demand: Some(Demand::new(1, 4)),
            data_pattern: DataPattern::Entropy { random_percent: 20, duplicate_percent: 28 },
            placement: Placement {
                zones: vec![
                    Zone { weight: 50, from_ppm: 0, to_ppm: 50_000 },
                    Zone { weight: 20, from_ppm: 200_001, to_ppm: 1_000_000 },
                ],
                by_stream: BTreeMap::from([(
                    key,
                    vec![
                        Zone { weight: 9000, from_ppm: 17, to_ppm: 20_001 },
                        Zone { weight: 1007, from_ppm: 20_001, to_ppm: 1_000_000 },
                    ],
                )]),
                measured_in: Some(Bytes(1_000_204_886_016)),
                alignment: Some(Bytes::kib(4)),
            },
            arrivals: CapturedArrivals {
                all: Some(bursts.clone()),
                by_stream: BTreeMap::from([(
                    key,
                    ArrivalProcess {
                        process: ArrivalKind::Poisson,
                        burst_ios: None,
                        burst_cv2: None,
                        pause_ns: None,
                        pause_cv2: None,
                        ..bursts
                    },
                )]),
            },
            remarks: vec!["One.".into()],
            steps: vec![WorkloadStep {
                at: Nanos::from_secs(120),
                lasts: Nanos(100_000),
                ios: vec![(key, 10_007)],
                captured: Some(IoTotals { ios: 10_011, bytes: Bytes(41_000_000) }),
                outstanding_mean: Some(0.25),
                outstanding_max: Some(7),
                response_mean: Some(Nanos(81_003)),
                response_max: Some(Nanos(9_000_001)),
                threads: Some(8),
                data_pattern: Some(DataPattern::Entropy {
                    random_percent: 17,
                    duplicate_percent: 36,
                }),
            }],
            doubts: Vec::new(),
        }
    }

    #[test]
    fn a_written_file_reads_back() {
        let text = file().to_string();
        assert_eq!(WorkloadFile::read(&text).unwrap(), file(), "{text}");
    }

    #[test]
    fn measured_distributions_read_back_and_impossible_ones_are_refused() {
        let bursts: Vec<u64> = (1..=101).collect();
        let gaps: Vec<u64> = (0..=10_007).collect();
        let pauses: Vec<u64> = (500_000..=900_000).step_by(503).collect();
        let measured = EmpiricalArrivals {
            burst_ios: Quantiles::steps(&bursts).unwrap(),
            gaps_ns: Quantiles::interpolated(&gaps).unwrap(),
            pauses_ns: Quantiles::interpolated(&pauses).unwrap(),
        };
        let mut original = file();
        let all = original.arrivals.all.as_mut().unwrap();
        all.process = ArrivalKind::Empirical;
        all.distributions = Some(Box::new(measured));
        let text = original.to_string();
        assert_eq!(WorkloadFile::read(&text).unwrap(), original, "{text}");
        for (from, to) in [
            ("interpolation = \"steps\"", "interpolation = \"linear\""),
            ("values = [0.0, ", "values = ["),
            ("values = [0.0, ", "values = [nan, "),
            ("gaps_ns = { ", "waits_ns = { "),
        ] {
            assert!(text.contains(from), "{from}");
            assert!(WorkloadFile::read(&text.replace(from, to)).is_err(), "{to}");
        }
    }

    /// A file of an earlier version, which wrote a discard as `TRIM`.
    #[test]
    fn a_file_that_calls_discards_trim_is_as_it_was_derived() {
        let before = include_str!("workload_file/trim.toml");
        let read = WorkloadFile::read(before).unwrap();
        assert!(read.doubts.is_empty(), "{:?}", read.doubts);
        let names: Vec<&str> = read.workload.streams.iter().map(|s| s.stream.as_str()).collect();
        assert_eq!(names, ["RND 4K W", "SEQ 512K DISCARD"]);
        assert!(read.to_string().contains("\"SEQ 512K DISCARD\" = 199"));
        let edited = before.replace("= 199", "= 198");
        assert!(WorkloadFile::read(&edited).unwrap().doubts[0].contains("edited"));
    }

    #[test]
    fn edits_are_doubts_and_impossible_values_are_refused() {
        let right = file().to_string();
        let doubts = |text: &str| WorkloadFile::read(text).unwrap().doubts.join(" ");
        assert_eq!(doubts(&right.replace("# 95.22 %", "# much")), "");
        assert!(doubts(&right.replace("ios = 503", "ios = 504")).contains("edited"));
        let more = doubts(&right.replace("ios = 10007\n", "ios = 99999\n"));
        assert!(more.contains("more than the 20011 captured"), "{more}");
        let fewer = doubts(&right.replace("ios = 10007\n", "ios = 9\n"));
        assert!(fewer.contains("RND 4K W has 9 I/Os, and 10007 in"), "{fewer}");
        let most = i64::MAX.to_string();
        for (from, to) in [
            ("alignment = 4096", "alignment = 4097"),
            ("qd_mean = 3.25", "qd_mean = -1.0"),
            ("qd_mean = 3.25", "qd_mean = nan"),
            ("ios = 503", &format!("ios = {most}")),
            ("from = \"0%\"", "from = \"5%\""),
            ("to = \"5%\"", "to = \"105%\""),
            ("share = 9000, from = \"0.0017%\"", "share = 9000, from = \"2.1%\""),
            ("iops = 1203.07", "iops = nan"),
            ("burst_ios = 16.5, ", ""),
            ("pause_ns = 12500000.0", "pause_ns = -1.0"),
            ("process = \"poisson\"", "process = \"levy\""),
            ("stream = \"RND 4K W\"", "stream = \"SEQ 4K W\""),
            ("alignment = 4096\narrivals", "alignment = 3\narrivals"),
        ] {
            assert!(WorkloadFile::read(&right.replace(from, to)).is_err(), "{to}");
        }
        // Sums that exceed 64 bits.
        let flush = format!("[[stream]]\nstream = \"FLUSH\"\nios = {most}\n");
        let all = format!("format = \"steadfast workload 1\"\n{}", flush.repeat(3));
        assert!(WorkloadFile::read(&all).is_err());
    }

    #[test]
    fn a_file_written_by_hand_needs_little() {
        let text = "format = \"steadfast workload 1\"\n\
            [[stream]]\nstream = \"RND 4K R\"\nios = 3\n[[stream]]\nstream=\"RND 4K W\"\nios = 1\n";
        let read = WorkloadFile::read(text).unwrap();
        assert_eq!(read.workload.streams[0].normalized, 0.75);
        assert_eq!((read.demand, read.data_pattern), (None, DataPattern::RandomUnique));
    }

    #[test]
    fn a_refusal_names_the_line_or_field() {
        let error = |text: &str| WorkloadFile::read(text).unwrap_err().to_string();
        let right = file().to_string();
        assert!(error("format = ").contains("line 1"));
        assert!(error("format = \"x\"").contains("steadfast workload 1"));
        assert!(error(&right.replace("RND 4K W", "RND 4X W")).contains("stream"));
        assert!(error(&right.replace("T1Q4", "many")).contains("demand"));
        assert!(error(&right.replace("qd_mean", "qd")).contains("qd"));
    }

    #[test]
    fn no_changed_byte_causes_a_panic() {
        let right = file().to_string().into_bytes();
        for place in 0..right.len() {
            for byte in [0, b'9', b'"', b'\n', 0xff] {
                let mut text = right.clone();
                text[place] = byte;
                let _ = WorkloadFile::read(&String::from_utf8_lossy(&text));
            }
        }
    }
}
