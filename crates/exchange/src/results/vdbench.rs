//! vdbench's `flatfile.html`: comment lines that begin with an asterisk, a line of column names,
//! then one line per interval and one of the averages of each run (`avg_2-60` in `Interval`).
//!
//! `rate` is I/Os per second, `MB/sec` are 2^20 bytes, `resp` and its kin are milliseconds.

use super::values::plausible;
use crate::parse_error::ParseError;
use steadfast_domain::text::excerpt;
use steadfast_domain::{ForeignIos, ForeignOutcome, ForeignResults};

/// More runs than a file has.
const RUNS_MAX: usize = 10_000;

pub(super) fn read(bytes: &[u8]) -> Result<ForeignResults, ParseError> {
    let text = crate::decode(bytes);
    let mut lines = (1..).zip(text.lines());
    let head = lines.find_map(|(number, line)| columns(line).map(|names| (number, names)));
    let Some((number, names)) = head else {
        return Err(ParseError::whole("it has no line of column names that begins with 'tod'"));
    };
    let position = |name: &str| names.iter().position(|column| column.eq_ignore_ascii_case(name));
    let (Some(run), Some(interval)) = (position("Run"), position("Interval")) else {
        return Err(ParseError::at(number, "the columns Run and Interval are missing"));
    };
    let mut results = ForeignResults {
        id: "vdbench".into(),
        tool: "vdbench".into(),
        absent: vec![
            "Percentiles: vdbench keeps no histogram in its flat file.".into(),
            "Numbers of I/Os, and rates of reads and writes: the flat file has the averages of \
             the run and the share of reads."
                .into(),
        ],
        remarks: vec![
            "Averages over the intervals that vdbench counts (avg_N-M); it leaves out the first \
             interval, or the warmup."
                .into(),
        ],
        ..ForeignResults::default()
    };
    for (number, line) in lines {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if !fields.get(interval).is_some_and(|word| word.starts_with("avg_")) {
            continue;
        }
        if results.tests.len() >= RUNS_MAX {
            return Err(ParseError::at(number, format!("more than {RUNS_MAX} runs")));
        }
        // 'n/a' stands for what a run does not have.
        let value = |name: &str| {
            let word = fields.get(position(name)?)?;
            plausible(word.parse().ok()?)
        };
        let setting = |name: &str| {
            let word = fields.get(position(name)?)?;
            (*word != "n/a").then(|| format!("{name}={}", excerpt(word)))
        };
        let join = |words: &[&str]| {
            let words: Vec<String> = words.iter().filter_map(|name| setting(name)).collect();
            Some(words.join(", ")).filter(|words| !words.is_empty())
        };
        let Some(iops) = value("rate") else {
            return Err(ParseError::at(number, "its rate is no number"));
        };
        let of_direction = |name: &str, max: &str, share: f64| ForeignIos {
            mean_ms: value(name).filter(|_| share > 0.0),
            longest_ms: value(max).filter(|_| share > 0.0),
            iops: Some(iops * share).filter(|iops| *iops > 0.0),
            ..ForeignIos::default()
        };
        let reads = value("read%").map(|percent| percent / 100.0);
        results.version = results
            .version
            .or_else(|| Some(excerpt(fields.get(position("version")?)?).into_owned()));
        results.tests.push(ForeignOutcome {
            label: excerpt(fields[run]).into_owned(),
            load: join(&["xfersize", "rdpct", "seekpct", "rhpct", "whpct", "reqrate"]),
            demand: join(&["threads", "queue_depth"]),
            all: ForeignIos {
                iops: Some(iops),
                bytes_per_second: value("MB/sec").map(|mib| mib * 1_048_576.0),
                mean_ms: value("resp"),
                longest_ms: value("resp_max"),
                ..ForeignIos::default()
            },
            reads: reads.map_or_else(ForeignIos::default, |share| {
                of_direction("read_resp", "read_max", share)
            }),
            writes: reads.map_or_else(ForeignIos::default, |share| {
                of_direction("write_resp", "write_max", 1.0 - share)
            }),
            ..ForeignOutcome::default()
        });
    }
    if results.tests.is_empty() {
        return Err(ParseError::whole(
            "no run has a line of averages (avg_N-M): vdbench was stopped before the first run \
             ended",
        ));
    }
    Ok(results)
}

/// The names of the columns, if a line has them.
pub(crate) fn columns(line: &str) -> Option<Vec<&str>> {
    let names: Vec<&str> = line.split_whitespace().collect();
    let is_head = names.first() == Some(&"tod") && names.contains(&"Run");
    is_head.then_some(names)
}
