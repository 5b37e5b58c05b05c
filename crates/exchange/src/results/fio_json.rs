//! fio's `--output-format=json` and `json+`.
//!
//! fio writes a job's numbers per direction: `total_ios`, `iops`, `bw_bytes` (`bw`, KiB/s,
//! before fio 3), `lat_ns` from submission to completion, `clat_ns` without the submission.
//! Percentiles stand in `clat_ns`, in `lat_ns` with `lat_percentiles=1`; `json+` adds `bins`,
//! I/Os by time. Before fio 3 times are microseconds (`lat`, `clat`).

use super::values::{plausible, read_write_outcome};
use crate::fio::joined_names;
use crate::parse_error::ParseError;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use steadfast_domain::text::excerpt;
use steadfast_domain::{ConcurrentIos, ForeignIos, ForeignOutcome, ForeignResults};

/// More jobs than a result has.
const JOBS_MAX: usize = 10_000;

/// Reads the output; lines that fio printed before or after the JSON do not count.
pub(super) fn read(bytes: &[u8]) -> Result<ForeignResults, ParseError> {
    let text = crate::decode(bytes);
    // Warnings of fio and its terse lines stand before and after the object.
    let start = text.find('{').ok_or_else(|| ParseError::whole("it holds no JSON object"))?;
    let mut objects = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let mut root = match objects.next() {
        Some(Ok(Value::Object(root))) => root,
        Some(Err(error)) if error.is_eof() => {
            return Err(ParseError::whole(
                "the JSON is incomplete: fio was stopped while it wrote it, or the file was cut",
            ));
        }
        Some(Err(error)) => return Err(ParseError::whole(format!("this is no JSON: {error}"))),
        _ => return Err(ParseError::whole("it holds no JSON object")),
    };
    // With --status-interval, fio prints the result so far again and again.
    let mut interim = 0;
    while let Some(Ok(Value::Object(next))) = objects.next() {
        if job_names(&next) != job_names(&root) {
            return Err(ParseError::whole(
                "it holds the results of several runs of fio; give each a file of its own",
            ));
        }
        root = next;
        interim += 1;
    }
    let mut results = ForeignResults {
        id: "fio".into(),
        tool: "fio".into(),
        version: text_of(&root, "fio version").map(|text| text.trim_start_matches("fio-").into()),
        unix_ms: unix_ms(&root),
        ..ForeignResults::default()
    };
    let global = object(&root, "global options");
    results.facts.extend(options_fact("Global options", global));
    let mut pending = PendingRemarks::default();
    let jobs = list(&root, "jobs").or_else(|| list(&root, "client_stats"));
    let jobs = jobs.ok_or_else(|| {
        ParseError::whole("it has neither \"jobs\" nor \"client_stats\": this is no result of fio")
    })?;
    if jobs.len() > JOBS_MAX {
        return Err(ParseError::whole(format!("more than {JOBS_MAX} jobs")));
    }
    let mut read = Vec::new();
    for value in jobs {
        let Value::Object(job) = value else { continue };
        let name = text_of(job, "jobname").unwrap_or_default();
        // fio's sum over the hosts of a client/server run, which the other entries add up to.
        if name == "All clients" {
            continue;
        }
        if let Some(errno) = number(job, "error").filter(|errno| *errno != 0.0) {
            return Err(ParseError::whole(format!(
                "fio ended job '{}' with error {errno}: its numbers are not those of a whole run",
                excerpt(&name)
            )));
        }
        if object(job, "mixed").is_some() && object(job, "read").is_none() {
            return Err(ParseError::whole(format!(
                "job '{}' has one sum of reads and writes (unified_rw_reporting=mixed), from which \
                 neither follows; run it without that option",
                excerpt(&name)
            )));
        }
        let group = job.get("groupid").and_then(Value::as_i64).unwrap_or(0);
        read.push((group, FioJobResult::read(job, global, &mut pending)));
    }
    results.tests = steps(read);
    if let Some(util) = list(&root, "disk_util") {
        let names: Vec<&str> = util.iter().filter_map(|disk| disk.get("name")?.as_str()).collect();
        results.facts.push(("Disks".into(), names.join(", ")));
    }
    pending.add_to(&mut results);
    if interim > 0 {
        results.remarks.push(format!(
            "The file holds {interim} interim results before the last one, which is reported."
        ));
    }
    Ok(results)
}

/// Conditions of any job that need one remark.
#[derive(Default)]
struct PendingRemarks {
    completion: bool,
    no_total: bool,
    trims: bool,
}

impl PendingRemarks {
    fn add_to(&self, results: &mut ForeignResults) {
        if self.completion {
            let text = "Percentiles are fio's clat, from the end of the submission on; minimum, \
                        mean and maximum are fio's lat, as Steadfast measures. lat_percentiles=1 \
                        makes fio write those of lat.";
            results.remarks.push(text.into());
        }
        if self.trims {
            let text = "Trims are neither reads nor writes and are not in the sums.";
            results.remarks.push(text.into());
        }
        if self.no_total {
            results.absent.push("Response times: the job ran with disable_lat=1.".into());
        }
        let merged = results.tests.iter().any(|test| {
            test.all.percentiles.is_empty() && test.all.histogram.is_empty() && !test.all.is_empty()
        });
        if merged {
            results.absent.push(
                "Percentiles of reads and writes together, and of several jobs: percentiles \
                 cannot be added up. --output-format=json+ makes fio write its histograms, from \
                 which they follow."
                    .into(),
            );
        }
    }
}

/// A job, or one of its clones.
pub(super) struct FioJobResult {
    pub name: String,
    pub load: String,
    pub demand: Option<String>,
    pub errors: Option<u64>,
    pub reads: ForeignIos,
    pub writes: ForeignIos,
}

impl FioJobResult {
    fn read(
        job: &Map<String, Value>,
        global: Option<&Map<String, Value>>,
        pending: &mut PendingRemarks,
    ) -> FioJobResult {
        let own = object(job, "job options");
        let option = |name: &str| {
            let of = |map: Option<&Map<String, Value>>| text_of(map?, name);
            of(own).or_else(|| of(global))
        };
        let named = ["rw", "bs", "bssplit", "rwmixread", "percentage_random", "rate_iops", "rate"];
        let words = named.iter().filter_map(|name| {
            let value = option(name)?;
            Some(if *name == "rw" { value } else { format!("{name}={value}") })
        });
        let depth = option("iodepth").unwrap_or_else(|| "1".into());
        let threads = option("numjobs").unwrap_or_else(|| "1".into());
        let engine = option("ioengine").map(|name| format!(", {name}")).unwrap_or_default();
        let trims = object(job, "trim").and_then(|trim| number(trim, "total_ios"));
        pending.trims |= trims.unwrap_or(0.0) > 0.0;
        FioJobResult {
            name: text_of(job, "jobname").unwrap_or_else(|| "job".into()),
            load: words.collect::<Vec<_>>().join(", "),
            // Options are recorded by newer versions alone; without them nothing is known.
            demand: own.map(|_| format!("iodepth={depth}, numjobs={threads}{engine}")),
            errors: number(job, "total_err").map(|errors| errors as u64),
            reads: ios(job, "read", pending),
            writes: ios(job, "write", pending),
        }
    }
}

fn job_names(root: &Map<String, Value>) -> Vec<Option<String>> {
    let jobs = list(root, "jobs").or_else(|| list(root, "client_stats"));
    let name = |job: &Value| Some(job.get("jobname")?.as_str()?.to_owned());
    jobs.into_iter().flatten().map(name).collect()
}

/// The jobs by their groups, which ran one after the other.
pub(super) fn steps(jobs: Vec<(i64, FioJobResult)>) -> Vec<ForeignOutcome> {
    let mut groups: Vec<(i64, Vec<FioJobResult>)> = Vec::new();
    for (group, job) in jobs {
        match groups.iter_mut().find(|(id, _)| *id == group) {
            Some((_, jobs)) => jobs.push(job),
            None => groups.push((group, vec![job])),
        }
    }
    groups.into_iter().map(|(_, jobs)| step(jobs)).collect()
}

/// The jobs of one group ran at the same time: clones of a job, and other jobs.
fn step(jobs: Vec<FioJobResult>) -> ForeignOutcome {
    let mut loads: Vec<Vec<FioJobResult>> = Vec::new();
    for job in jobs {
        match loads.iter_mut().find(|clones| clones[0].name == job.name) {
            Some(clones) => clones.push(job),
            None => loads.push(vec![job]),
        }
    }
    let outcomes: Vec<ForeignOutcome> = loads.iter().map(|clones| sum_clones(clones)).collect();
    if outcomes.len() == 1 {
        return outcomes.into_iter().next().unwrap_or_default();
    }
    let sum = |ios: fn(&ForeignOutcome) -> &ForeignIos| -> ForeignIos {
        ForeignIos::at_once(&outcomes.iter().map(ios).collect::<Vec<_>>())
    };
    ForeignOutcome {
        // As `steadfast fio` names the step of such a job file.
        label: joined_names(&outcomes.iter().map(|one| one.label.as_str()).collect::<Vec<_>>()),
        load: None,
        demand: None,
        all: sum(|outcome| &outcome.all),
        reads: sum(|outcome| &outcome.reads),
        writes: sum(|outcome| &outcome.writes),
        errors: outcomes.iter().map(|outcome| outcome.errors).sum(),
        concurrent: outcomes
            .iter()
            .map(|load| ConcurrentIos { name: load.label.clone(), ios: load.all.clone() })
            .collect(),
    }
}

fn sum_clones(clones: &[FioJobResult]) -> ForeignOutcome {
    let sum = |ios: fn(&FioJobResult) -> &ForeignIos| -> ForeignIos {
        ForeignIos::at_once(&clones.iter().map(ios).collect::<Vec<_>>())
    };
    let first = &clones[0];
    let several = match clones.len() {
        1 => String::new(),
        many => format!(", {many} clones"),
    };
    ForeignOutcome {
        load: Some(first.load.clone()).filter(|load| !load.is_empty()),
        demand: first.demand.as_ref().map(|demand| format!("{demand}{several}")),
        errors: clones.iter().map(|job| job.errors).sum(),
        ..read_write_outcome(first.name.clone(), sum(|job| &job.reads), sum(|job| &job.writes))
    }
}

fn ios(job: &Map<String, Value>, direction: &str, pending: &mut PendingRemarks) -> ForeignIos {
    let Some(of) = object(job, direction) else { return ForeignIos::default() };
    let count = number(of, "total_ios").map(|ios| ios as u64);
    if count == Some(0) {
        return ForeignIos { ios: count, ..ForeignIos::default() };
    }
    // Nanoseconds since fio 3, before it microseconds under names without a unit.
    let times = |name: &str| {
        let new = object(of, &format!("{name}_ns")).map(|times| (times, 1e6));
        new.or_else(|| object(of, name).map(|times| (times, 1e3)))
    };
    let (total, completion) = (times("lat"), times("clat"));
    let of_total = |name: &str| {
        let (times, per_ms) = total?;
        number(times, "N")
            .filter(|n| *n > 0.0)
            .or_else(|| number(times, name).filter(|m| *m > 0.0))?;
        number(times, name).map(|value| value / per_ms)
    };
    pending.no_total |= of_total("mean").is_none() && count.unwrap_or(0) > 0;
    let has = |times: &Option<(&Map<String, Value>, f64)>, name: &str| {
        times.and_then(|(times, _)| object(times, name)).is_some_and(|map| !map.is_empty())
    };
    let by_total = has(&total, "percentile") || has(&total, "bins");
    let source = if by_total { total } else { completion };
    let (mut percentiles, mut histogram) = (Vec::new(), BTreeMap::new());
    if let Some((times, per_ms)) = source {
        let read = |text: &String, value: &Value| {
            Some((text.parse::<f64>().ok()?, plausible(value.as_f64()?)? / per_ms))
        };
        let all = object(times, "percentile").into_iter().flatten();
        percentiles = all.filter_map(|(text, value)| read(text, value)).collect();
        let bins = object(times, "bins").into_iter().flatten();
        let per_ns = 1e6 / per_ms;
        histogram = bins
            .filter_map(|(time, ios)| {
                let time = plausible(time.parse::<f64>().ok()?)?;
                Some(((time * per_ns) as u64, ios.as_u64()?))
            })
            .filter(|(_, ios)| *ios > 0)
            .collect();
    }
    pending.completion |= !by_total && (!percentiles.is_empty() || !histogram.is_empty());
    let bytes = number(of, "bw_bytes").or_else(|| number(of, "bw").map(|kib| kib * 1024.0));
    ForeignIos {
        ios: count,
        iops: number(of, "iops"),
        bytes_per_second: bytes,
        mean_ms: of_total("mean"),
        shortest_ms: of_total("min"),
        longest_ms: of_total("max"),
        percentiles,
        histogram,
    }
}

fn object<'v>(map: &'v Map<String, Value>, name: &str) -> Option<&'v Map<String, Value>> {
    map.get(name)?.as_object()
}

fn list<'v>(map: &'v Map<String, Value>, name: &str) -> Option<&'v [Value]> {
    map.get(name)?.as_array().map(Vec::as_slice)
}

fn number(map: &Map<String, Value>, name: &str) -> Option<f64> {
    plausible(map.get(name)?.as_f64()?)
}

fn text_of(map: &Map<String, Value>, name: &str) -> Option<String> {
    map.get(name)?.as_str().map(|text| excerpt(text).into_owned())
}

fn unix_ms(root: &Map<String, Value>) -> Option<u64> {
    let whole = root.get("timestamp_ms").and_then(Value::as_u64);
    whole.or_else(|| root.get("timestamp")?.as_u64()?.checked_mul(1000))
}

fn options_fact(label: &str, options: Option<&Map<String, Value>>) -> Option<(String, String)> {
    let options = options.filter(|options| !options.is_empty())?;
    let pair = |(name, value): (&String, &Value)| match value.as_str() {
        Some("") | None => excerpt(name).into_owned(),
        Some(value) => format!("{}={}", excerpt(name), excerpt(value)),
    };
    Some((label.to_owned(), options.iter().take(64).map(pair).collect::<Vec<_>>().join(" ")))
}
