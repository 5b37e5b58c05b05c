//! fio's `--output-format=terse` (`--minimal`), versions 3, 4 and 5.
//!
//! One line per job, its fields separated by semicolons: version, fio's version, job name, group,
//! error, then reads, writes and, from version 4 on, trims, each with KiB, bandwidth in KiB/s,
//! IOPS, run time in ms, submission, completion, 20 percentiles of the completion, total, and
//! bandwidth samples (version 5: also IOPS samples). Times are microseconds.

use super::fio_json::{FioJobResult, steps};
use super::values::plausible;
use crate::parse_error::ParseError;
use steadfast_domain::text::excerpt;
use steadfast_domain::{ForeignIos, ForeignResults};

/// Fields of a direction, from its first one.
const PERCENTILES: std::ops::Range<usize> = 12..32;
const TOTAL_MIN: usize = 32;
const TOTAL_MAX: usize = 33;
const TOTAL_MEAN: usize = 34;
/// Fields of a direction: versions 3 and 4 end with five of bandwidth samples, version 5 with
/// six and five of IOPS samples.
const FIELDS: usize = 41;
const FIELDS_5: usize = 47;

/// More jobs than a result has.
const LINES_MAX: usize = 10_000;

pub(super) fn read(bytes: &[u8]) -> Result<ForeignResults, ParseError> {
    let text = crate::decode(bytes);
    let mut results = ForeignResults {
        id: "fio".into(),
        tool: "fio".into(),
        remarks: vec![
            "Percentiles are fio's clat, from the end of the submission on, in whole \
             microseconds; minimum, mean and maximum are fio's lat, as Steadfast measures."
                .into(),
        ],
        absent: vec![
            "Threads, queue depth and load: terse output does not state a job's options.".into(),
            "Percentiles of reads and writes together: percentiles cannot be added up.".into(),
            "Percentiles beyond those that fio lists (percentile_list).".into(),
        ],
        ..ForeignResults::default()
    };
    let mut jobs = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if !is_terse(line) {
            continue;
        }
        if jobs.len() >= LINES_MAX {
            return Err(ParseError::at(number, format!("more than {LINES_MAX} jobs")));
        }
        let fields: Vec<&str> = line.split(';').collect();
        results.version = Some(fields[1].trim_start_matches("fio-").to_owned());
        let group = fields.get(3).and_then(|group| group.parse().ok()).unwrap_or(0);
        jobs.push((group, job(&fields).map_err(|what| ParseError::at(number, what))?));
    }
    results.tests = steps(jobs);
    Ok(results)
}

/// Returns true if a line is a job in one of these versions.
pub(crate) fn is_terse(line: &str) -> bool {
    let mut fields = line.split(';');
    let version = fields.next().unwrap_or_default();
    matches!(version, "3" | "4" | "5") && fields.next().is_some_and(|name| name.starts_with("fio-"))
}

fn job(fields: &[&str]) -> Result<FioJobResult, String> {
    let width = if fields[0] == "5" { FIELDS_5 } else { FIELDS };
    let (reads, writes) = (5, 5 + width);
    let least = writes + width;
    if fields.len() < least {
        return Err(format!(
            "a job of terse version {} has at least {least} fields, and this line has {}",
            fields[0],
            fields.len()
        ));
    }
    if fields[4] != "0" {
        return Err(format!(
            "fio ended job '{}' with error {}: its numbers are not those of a whole run",
            excerpt(fields[2]),
            excerpt(fields[4])
        ));
    }
    let direction = |begin: usize| ios(&fields[begin..begin + width]);
    Ok(FioJobResult {
        name: excerpt(fields[2]).into_owned(),
        load: String::new(),
        demand: None,
        errors: None,
        reads: direction(reads)?,
        writes: direction(writes)?,
    })
}

fn ios(fields: &[&str]) -> Result<ForeignIos, String> {
    let number = |at: usize| -> Result<f64, String> {
        let text = fields[at];
        text.parse()
            .ok()
            .and_then(plausible)
            .ok_or_else(|| format!("'{}' stands where a number must be", excerpt(text)))
    };
    let (iops, run_ms) = (number(2)?, number(3)?);
    // The count is not stated; it follows from the rate and the run time.
    let ios = (iops * run_ms / 1e3).round() as u64;
    if run_ms == 0.0 || iops == 0.0 {
        return Ok(ForeignIos { ios: Some(0), ..ForeignIos::default() });
    }
    let percentile = |field: &&str| {
        let (percent, micros) = field.split_once("%=")?;
        let percent: f64 = percent.parse().ok()?;
        (percent > 0.0).then_some((percent, plausible(micros.parse().ok()?)? / 1e3))
    };
    Ok(ForeignIos {
        ios: Some(ios),
        iops: Some(iops),
        bytes_per_second: Some(number(1)? * 1024.0),
        shortest_ms: Some(number(TOTAL_MIN)? / 1e3),
        longest_ms: Some(number(TOTAL_MAX)? / 1e3),
        mean_ms: Some(number(TOTAL_MEAN)? / 1e3),
        percentiles: fields[PERCENTILES].iter().filter_map(percentile).collect(),
        ..ForeignIos::default()
    })
}
