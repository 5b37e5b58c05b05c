//! Strict parser for fio's json+ output.
//!
//! Every number that is used must be present, be a number, and agree with the others; a field
//! that is missing, renamed or of another type is an error that names it. Nothing is taken as
//! zero because it was not found.

use serde_json::Value;
use steadfast_domain::{FineHistogram, Op};

/// Operations in an answer, with fio's names.
pub(super) const DIRECTIONS: [(Op, &str); 2] = [(Op::Read, "read"), (Op::Write, "write")];

/// An answer of fio: cumulative counts since its jobs started.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FioReport {
    /// One per job, or one for all jobs if fio adds them up.
    pub sections: Vec<FioReportSection>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FioReportSection {
    /// Error number that ended the job; 0 if none did.
    pub error: i32,
    /// I/Os that failed, or moved fewer bytes than requested.
    pub faults: u64,
    /// Error number of the first of them.
    pub first_error: i32,
    /// Sum of the run times of the section's threads, in nanoseconds.
    pub run_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    /// In the order of [`DIRECTIONS`].
    pub directions: [FioDirection; 2],
}

/// Results of one direction: reads or writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FioDirection {
    /// I/Os issued.
    pub issued: u64,
    pub bytes: u64,
    pub run_ns: u64,
    /// I/Os with a response time.
    pub completed: u64,
    pub response_mean: f64,
    pub response_min: u64,
    pub response_max: u64,
    pub buckets: Vec<BucketCount>,
}

/// Number of response times in a bucket of [`FineHistogram`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BucketCount {
    pub index: usize,
    pub count: u64,
}

impl FioDirection {
    pub(super) fn counted(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum()
    }
}

/// Parses an answer of `sections` job sections, or returns what is wrong with it.
pub(super) fn read(text: &str, sections: usize) -> Result<FioReport, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let root = JsonNode { value: &value, path: String::new() };
    let version = root.at("fio version")?.text()?;
    if !version.starts_with("fio-3.") {
        return Err(format!("it is from '{version}', not from fio 3.x"));
    }
    let jobs = root.at("jobs")?;
    let nodes = jobs.elements()?;
    if nodes.len() != sections {
        return Err(format!("it reports {} jobs instead of {sections}", nodes.len()));
    }
    Ok(FioReport { sections: nodes.iter().map(section).collect::<Result<_, _>>()? })
}

/// Parses the reports that a client of fio has collected from one server: one per second and one
/// at the end, each of `sections` job sections with counts since the start.
pub(super) fn read_reports(text: &str, sections: usize) -> Result<Vec<FioReport>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let root = JsonNode { value: &value, path: String::new() };
    let mut host_sections = Vec::new();
    for node in root.at("client_stats")?.elements()? {
        // A sum over the first report; fio prints only one.
        if node.at("jobname")?.text()? != ALL_CLIENTS {
            host_sections.push(section(&node)?);
        }
    }
    if host_sections.is_empty() || !host_sections.len().is_multiple_of(sections) {
        return Err(format!("it has {} reports of {sections} jobs", host_sections.len()));
    }
    let answers: Vec<FioReport> =
        host_sections.chunks(sections).map(|part| FioReport { sections: part.to_vec() }).collect();
    let ios = |answer: &FioReport| -> Vec<u64> {
        let issued = |section: &FioReportSection| section.directions.iter().map(|d| d.issued).sum();
        answer.sections.iter().map(issued).collect()
    };
    for pair in answers.windows(2) {
        if ios(&pair[0]).iter().zip(ios(&pair[1])).any(|(earlier, later)| later < *earlier) {
            return Err("a report has fewer I/Os than the one before it".to_owned());
        }
    }
    Ok(answers)
}

/// Job name that a client gives the sum over its servers.
const ALL_CLIENTS: &str = "All clients";

fn section(node: &JsonNode<'_>) -> Result<FioReportSection, String> {
    let discards = node.at("trim")?.at("total_ios")?.count()?;
    if discards > 0 {
        return Err(format!("it reports {discards} discards that were not requested"));
    }
    let [reads, writes] = DIRECTIONS.map(|(_, name)| node.at(name));
    let (reads, writes) = (reads?, writes?);
    let run_ns = node.at("job_runtime")?.count()?.saturating_mul(1_000_000);
    let share = |name: &str| -> Result<u64, String> {
        Ok((node.at(name)?.amount()? / 100.0 * run_ns as f64).round() as u64)
    };
    let short = |node: &JsonNode<'_>| -> Result<u64, String> {
        let short = node.at("short_ios")?.count()? + node.at("drop_ios")?.count()?;
        // fio 3.33 counts the flushes of psync, which move nothing, as short reads: no I/O of a job
        // that reads nothing was one.
        Ok(if node.at("total_ios")?.count()? > 0 { short } else { 0 })
    };
    Ok(FioReportSection {
        error: errno(&node.at("error")?)?,
        faults: node.at("total_err")?.count()? + short(&reads)? + short(&writes)?,
        first_error: errno(&node.at("first_error")?)?,
        run_ns,
        user_ns: share("usr_cpu")?,
        system_ns: share("sys_cpu")?,
        directions: [direction(&reads)?, direction(&writes)?],
    })
}

fn errno(node: &JsonNode<'_>) -> Result<i32, String> {
    i32::try_from(node.count()?).map_err(|_| format!("{} is not an error number", node.path))
}

fn direction(node: &JsonNode<'_>) -> Result<FioDirection, String> {
    let latency = node.at("lat_ns")?;
    let completed = latency.at("N")?.count()?;
    let mut buckets = Vec::new();
    // fio omits the bins if they would be empty.
    if completed > 0 {
        let bins = latency.at("bins")?;
        for (key, count) in bins.members()? {
            let midpoint: u64 =
                key.parse().map_err(|_| format!("{} has a bin '{key}'", bins.path))?;
            buckets.push(BucketCount { index: bucket(midpoint), count: count.count()? });
        }
    }
    Ok(FioDirection {
        issued: node.at("total_ios")?.count()?,
        bytes: node.at("io_bytes")?.count()?,
        run_ns: node.at("runtime")?.count()?.saturating_mul(1_000_000),
        completed,
        response_mean: latency.at("mean")?.amount()?,
        response_min: latency.at("min")?.count()?,
        response_max: latency.at("max")?.count()?,
        buckets,
    })
}

/// Returns the bucket that contains the upper edge of a bin of fio, so that a percentile is never
/// too short. fio names a bin by its midpoint and splits every power of two into 64 from 128 ns
/// on; our buckets are half as wide and have the same edges.
fn bucket(midpoint: u64) -> usize {
    let width = u64::BITS - midpoint.leading_zeros();
    if width <= 7 {
        return FineHistogram::index(midpoint);
    }
    FineHistogram::index(midpoint | ((1 << (width - 7)) - 1))
}

/// Checks an answer after all I/Os have completed: each issued I/O has a response time or has
/// failed, every response time lies in a bin, and bytes are I/Os times transfer size if there is
/// only one size.
pub(super) fn check_final(answer: &FioReport, sizes: &[Option<u64>; 2]) -> Result<(), String> {
    for section in &answer.sections {
        let mut failed = section.faults;
        for ((_, name), (direction, size)) in
            DIRECTIONS.iter().zip(section.directions.iter().zip(sizes))
        {
            let FioDirection { issued, completed, bytes, .. } = *direction;
            let counted = direction.counted();
            if counted != completed {
                return Err(format!("{name}: {completed} response times, {counted} in the bins"));
            }
            let missing = issued.checked_sub(completed).filter(|missing| *missing <= failed);
            let Some(missing) = missing else {
                return Err(format!(
                    "{name}: {issued} I/Os, {completed} response times, {failed} failures"
                ));
            };
            failed -= missing;
            if size.is_some_and(|size| section.faults == 0 && bytes != completed * size) {
                return Err(format!("{name}: {bytes} B in {completed} I/Os"));
            }
        }
    }
    Ok(())
}

/// A JSON value and its path.
struct JsonNode<'v> {
    value: &'v Value,
    path: String,
}

impl<'v> JsonNode<'v> {
    fn at(&self, key: &str) -> Result<JsonNode<'v>, String> {
        let path =
            if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        match self.value.get(key) {
            Some(value) => Ok(JsonNode { value, path }),
            None => Err(format!("it has no {path}")),
        }
    }

    fn elements(&self) -> Result<Vec<JsonNode<'v>>, String> {
        let values = self.value.as_array().ok_or_else(|| self.is_not("a list"))?;
        let node = |(index, value)| JsonNode { value, path: format!("{}[{index}]", self.path) };
        Ok(values.iter().enumerate().map(node).collect())
    }

    fn members(&self) -> Result<Vec<(&'v str, JsonNode<'v>)>, String> {
        let values = self.value.as_object().ok_or_else(|| self.is_not("an object"))?;
        let node = |(key, value): (&'v String, &'v Value)| {
            (key.as_str(), JsonNode { value, path: format!("{}.{key}", self.path) })
        };
        Ok(values.iter().map(node).collect())
    }

    fn text(&self) -> Result<&'v str, String> {
        self.value.as_str().ok_or_else(|| self.is_not("a text"))
    }

    fn count(&self) -> Result<u64, String> {
        self.value.as_u64().ok_or_else(|| self.is_not("a count"))
    }

    fn amount(&self) -> Result<f64, String> {
        let amount = self.value.as_f64().filter(|amount| amount.is_finite() && *amount >= 0.0);
        amount.ok_or_else(|| self.is_not("an amount"))
    }

    fn is_not(&self, what: &str) -> String {
        format!("{} is not {what}: {}", self.path, shortened(self.value))
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
