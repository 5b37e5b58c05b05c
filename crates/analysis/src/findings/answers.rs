//! The first page: who did what on this storage, when, how fast it was, and what a drive needs for
//! it. Questions that the capture cannot answer have no line.

use crate::questions::extremes::{ExtremePeriod, MINUTE_NS};
use crate::questions::group_figures::GroupFigures;
use crate::questions::groups::Facet;
use crate::questions::processes::{ProcessKey, ProcessTable};
use crate::questions::streams::{ShareMeasure, StreamFigures};
use crate::questions::study::{ProcessResults, SingleIoResults, Study};
use crate::sums::io_sums::IoSums;
use std::cmp::Reverse;
use steadfast_domain::findings::{Cell, Row, Table};
use steadfast_domain::text::number;
use steadfast_domain::{Bytes, IoOp, Layer, Nanos};

pub(super) const ID: &str = "answers";

/// Maximum number of processes or files that are named.
const NAMES_MAX: usize = 3;
/// Minimum share of a process or file that is named.
const NAMES_SHARE_MIN: f64 = 0.01;
/// Minimum share of I/Os or bytes of an operation that has a line.
const STREAM_SHARE_MIN: f64 = 0.02;
/// Maximum number of transfer sizes that are named per operation.
const SIZES_MAX: usize = 3;
/// Maximum transfer size of a sequential write that can belong to a log.
const LOG_WRITE_MAX: u32 = 64 << 10;

/// Returns one row per question; further rows for the same question have no heading.
pub(super) fn table(study: &Study) -> Table {
    let mut rows: Vec<Row> = Vec::new();
    let mut answer = |head: &str, id: &str, lines: Vec<String>| {
        rows.extend(lines.into_iter().enumerate().map(|(at, line)| {
            let (head, id) = match at {
                0 => (head, id.to_owned()),
                _ => ("", format!("{id}-{}", at + 1)),
            };
            Row::new(head, [Cell::text(line)]).with_id(id)
        }));
    };
    let singles = study.single_ios.as_ref();
    let processes = study.processes.as_ref();
    let who = processes.and_then(who).into_iter().chain(singles.and_then(|s| files(study, s)));
    answer("Who", "who", who.collect());
    let logs = processes.map(logs).unwrap_or_default();
    answer("What", "what", operations(study).into_iter().map(|op| op.line).chain(logs).collect());
    answer("When", "when", busiest_time(study).into_iter().collect());
    answer("How it felt", "felt", response_times(study));
    answer("What a drive must do", "drive", drive_requirements(study));
    Table::new(ID, "What was done on this storage", "Question")
        .column(("answer", "Answer"))
        .rows(rows)
}

pub(super) fn sentence(study: &Study) -> String {
    let what: Vec<String> = operations(study)
        .iter()
        .filter(|op| op.share >= STREAM_SHARE_MIN)
        .take(NAMES_MAX)
        .map(|op| format!("{} {}", op.name, percent(op.share)))
        .collect();
    let what = what.join(", ");
    let processes = study.processes.as_ref();
    let mut sentence = match processes.and_then(who) {
        Some(who) => format!("{who}: {what}"),
        None => {
            let mut letters = what.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
    };
    if let Some(slowest) = study.extremes.and_then(|found| found.slowest) {
        let name = period_name(slowest.to_ns - slowest.from_ns);
        sentence += &format!("; slowest {name} {}", period_start(study, &slowest));
        if let Some(waiting) = processes.and_then(|processes| waiting(processes, 1)) {
            sentence += &format!(", waited for by {waiting}");
        }
    }
    sentence + "."
}

/// Lists the commands with the largest shares of something: `postgres (12 processes) 98 %,
/// jbd2/sda1-8 (213) 1.5 %`.
fn shares(processes: &ProcessTable, most: usize, of: fn(&IoSums) -> u64) -> Option<String> {
    let commands = processes.by_command();
    let all = commands.iter().map(|(_, tally)| of(tally));
    let whole = all.fold(of(commands.unlisted()), u64::saturating_add);
    let mut known: Vec<(&ProcessKey, u64)> = commands
        .iter()
        .filter(|(key, _)| key.pid > 0 || !key.command.is_empty())
        .map(|(key, tally)| (key, of(tally)))
        .collect();
    known.sort_by_key(|(key, part)| (Reverse(*part), **key));
    let name = |key: &ProcessKey| {
        let has_command = |one: &&ProcessKey| one.command == key.command;
        let pids: Vec<&ProcessKey> =
            processes.iter().map(|(one, _)| one).filter(has_command).collect();
        match (key.command.is_empty(), &pids[..]) {
            (true, _) => key.to_string(),
            (false, [only]) => only.to_string(),
            (false, several) => format!("{} ({} processes)", key.command, several.len()),
        }
    };
    let share = |part: u64| part as f64 / whole.max(1) as f64;
    let listed = known.into_iter().filter(|(_, part)| share(*part) >= NAMES_SHARE_MIN).take(most);
    let texts: Vec<String> =
        listed.map(|(key, part)| format!("{} {}", name(key), percent(share(part)))).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn who(processes: &ProcessResults) -> Option<String> {
    Some(format!("{} of the I/Os", shares(&processes.all, NAMES_MAX, IoSums::count)?))
}

/// Lists the commands that spent the most time waiting in the slowest minute.
fn waiting(processes: &ProcessResults, most: usize) -> Option<String> {
    let waited = |tally: &IoSums| {
        tally.times.responses.total.sum_ns.saturating_add(tally.times.queued.total.sum_ns)
    };
    shares(processes.slowest.as_ref()?, most, waited)
}

/// Lists the files with the most bytes at the file-system layer.
fn files(study: &Study, singles: &SingleIoResults) -> Option<String> {
    let files = singles.groups.iter().find(|groups| groups.facets() == [Facet::File])?;
    let by_path = files.by_name(&study.totals.conditions);
    let mut known: Vec<&GroupFigures> =
        by_path.values().filter(|file| file.path.is_some()).collect();
    known.sort_by_key(|file| (Reverse(file.amount), file.key));
    let listed =
        known.into_iter().filter(|file| file.share_of_bytes >= NAMES_SHARE_MIN).take(NAMES_MAX);
    let text = |file: &GroupFigures| {
        let moved = |op: IoOp| Bytes(file.tally.of_op(op).bytes);
        let (read, written) = (moved(IoOp::Read), moved(IoOp::Write));
        let path = file.path.as_deref().unwrap_or_default();
        match (read.0, written.0) {
            (0, _) => format!("{path} ({written} written)"),
            (_, 0) => format!("{path} ({read} read)"),
            _ => format!("{path} ({written} written, {read} read)"),
        }
    };
    let texts: Vec<String> = listed.map(text).collect();
    (!texts.is_empty()).then(|| format!("Files: {}", texts.join("; ")))
}

/// The I/Os of one operation, random or sequential.
struct OperationShare {
    name: String,
    share: f64,
    line: String,
}

/// Returns the operations in words, by their share of the I/Os.
fn operations(study: &Study) -> Vec<OperationShare> {
    let streams = study.totals.streams.listing(ShareMeasure::Count);
    let kinds = IoOp::ALL.into_iter().flat_map(|op| [(op, false), (op, true)]);
    let mut found: Vec<OperationShare> = kinds
        .filter_map(|(op, sequential)| {
            // Operations without data on the device are neither random nor sequential.
            let has_order = matches!(op, IoOp::Read | IoOp::Write);
            if !has_order && sequential {
                return None;
            }
            let same_kind: Vec<&StreamFigures> = streams
                .iter()
                .filter(|s| s.key.op == op && (!has_order || s.key.sequential == sequential))
                .collect();
            let share: f64 = same_kind.iter().map(|s| s.share_of_count).sum();
            let byte_share: f64 = same_kind.iter().map(|s| s.share_of_bytes).sum();
            if share.max(byte_share) < STREAM_SHARE_MIN {
                return None;
            }
            let order = if sequential { "sequential" } else { "random" };
            let name = match op {
                IoOp::Read => format!("{order} reads"),
                IoOp::Write => format!("{order} writes"),
                IoOp::Discard => "discards".to_owned(),
                IoOp::Flush => "flushes".to_owned(),
                IoOp::Other => "other commands".to_owned(),
            };
            let mut line = format!("{name}: {} of the I/Os", percent(share));
            if has_order {
                line += &format!(", {} of the bytes, {}", percent(byte_share), sizes(&same_kind));
            } else if byte_share > 0.0 {
                line += &format!(", {} of the bytes", percent(byte_share));
            }
            let writes: u64 =
                streams.iter().filter(|s| s.key.op == IoOp::Write).map(|s| s.count()).sum();
            let flushes: u64 = same_kind.iter().map(|s| s.count()).sum();
            if op == IoOp::Flush && writes >= flushes {
                line += &format!(", one per {:.1} writes", writes as f64 / flushes.max(1) as f64);
            }
            Some(OperationShare { name, share, line })
        })
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

/// Returns `of 8 KiB`, or the most frequent sizes with their shares of these I/Os.
fn sizes(streams: &[&StreamFigures]) -> String {
    let whole: u64 = streams.iter().map(|stream| stream.count()).sum();
    let share = |stream: &StreamFigures| stream.count() as f64 / whole.max(1) as f64;
    let size = |stream: &StreamFigures| transfer_size(stream.key.bytes);
    match streams {
        [only] => format!("of {}", size(only)),
        [first, ..] if share(first) > 0.99 => format!("of {}", size(first)),
        _ => {
            let texts: Vec<String> = streams
                .iter()
                .take(SIZES_MAX)
                .map(|stream| format!("{} ({})", size(stream), percent(share(stream))))
                .collect();
            format!("of {}", texts.join(", "))
        }
    }
}

/// Describes processes that append small blocks and flush them.
fn logs(processes: &ProcessResults) -> Vec<String> {
    let streams = &processes.streams;
    let total = streams.total().count();
    let sum = |process: ProcessKey, counts: &dyn Fn(IoOp, bool, u32) -> bool| -> u64 {
        streams
            .iter()
            .filter(|(key, _)| key.process == Some(process))
            .filter(|(key, _)| key.stream.is_some_and(|s| counts(s.op, s.sequential, s.bytes)))
            .map(|(_, tally)| tally.count())
            .sum()
    };
    let log = |process: ProcessKey| {
        let is_small =
            |op, sequential, bytes| op == IoOp::Write && sequential && bytes <= LOG_WRITE_MAX;
        let appended = sum(process, &is_small);
        let flushes = sum(process, &|op, _, _| op == IoOp::Flush);
        let is_log = appended as f64 >= total as f64 * STREAM_SHARE_MIN && flushes * 2 >= appended;
        is_log.then(|| {
            format!(
                "a log: {process} made {} sequential writes of up to {} and {} flushes",
                number(appended as f64, 0),
                transfer_size(LOG_WRITE_MAX),
                number(flushes as f64, 0)
            )
        })
    };
    processes.all.most_active(NAMES_MAX).into_iter().filter_map(log).collect()
}

/// Describes the busiest time.
fn busiest_time(study: &Study) -> Option<String> {
    let busiest = study.extremes?.busiest?;
    let total = study.totals.streams.total();
    let mean = study.totals.observed.per_second(total.count() as f64)?;
    Some(format!(
        "busiest {} {}: {} IOPS, {} MB/s, {:.1} times the mean rate",
        period_name(busiest.to_ns - busiest.from_ns),
        period_start(study, &busiest),
        number(busiest.iops(), 0),
        digits(busiest.megabytes_per_second()),
        busiest.iops() / mean
    ))
}

/// Describes the response times, and who waited while they were longest.
fn response_times(study: &Study) -> Vec<String> {
    let total = study.totals.streams.total();
    let responses = total.times.responses.figures();
    let mut lines = Vec::new();
    if let Some(mean) = responses.mean_ns {
        let mut line = format!("response time on average {}", ms(mean));
        let percentiles = study.has_percentiles().then_some(responses.p99_ns).flatten();
        line += &percentiles.map(|p99| format!(", 99 % within {}", ms(p99))).unwrap_or_default();
        line += &responses.max_ns.map(|max| format!(", longest {}", ms(max))).unwrap_or_default();
        lines.push(line);
    }
    if let (Some(queue), Some(share)) =
        (total.times.queued.total.mean_ns(), total.times.together.share())
    {
        lines.push(format!(
            "in the queue before the device {} on average: {} of the whole time, {} in the device",
            ms(queue),
            percent(share),
            percent(1.0 - share)
        ));
    }
    if let Some(slowest) = study.extremes.and_then(|found| found.slowest)
        && let Some(mean) = slowest.response_mean_ns()
    {
        let waited = study.processes.as_ref().and_then(|found| waiting(found, NAMES_MAX));
        let waited = waited.map(|who| format!("; of the time waited {who}")).unwrap_or_default();
        lines.push(format!(
            "slowest {} {}: {} on average at {} IOPS{waited}",
            period_name(slowest.to_ns - slowest.from_ns),
            period_start(study, &slowest),
            ms(mean),
            number(slowest.iops(), 0)
        ));
    }
    lines
}

/// Describes the load as requirements on a drive.
fn drive_requirements(study: &Study) -> Vec<String> {
    let totals = &study.totals;
    let is_of_block_layer = totals.sides_seen.iter().all(|side| side.layer == Layer::Block);
    // Requests to a file system are not what its drive had to do.
    if !is_of_block_layer {
        return Vec::new();
    }
    let (total, observed) = (totals.streams.total(), &totals.observed);
    let mean = observed.per_second(total.count() as f64);
    let moved = observed.per_second(Bytes(total.transfers().bytes).as_mb());
    let mut lines = Vec::new();
    if let (Some(iops), Some(rate)) = (mean, moved) {
        let mut line = format!("{} IOPS and {} MB/s on average", number(iops, 0), digits(rate));
        let peaks = study.extremes.and_then(|found| Some((found.busiest?, found.most_moved?)));
        if let Some((busiest, most)) = peaks {
            line += &format!(
                ", {} IOPS and {} MB/s for {}",
                number(busiest.iops(), 0),
                digits(most.megabytes_per_second()),
                Nanos(busiest.to_ns - busiest.from_ns)
            );
        }
        lines.push(line);
    }
    let responses = total.times.responses.figures();
    if let (true, Some(p99)) = (study.has_percentiles(), responses.p99_ns) {
        let tail = responses.p99_9_ns.map(|tail| format!(", 99.9 % within {}", ms(tail)));
        let depth = total.times.depths.mean().map(|depth| {
            format!(
                ", with {depth:.1} I/Os outstanding on average and {} at most",
                total.times.depths.max
            )
        });
        lines.push(format!(
            "as fast as here: 99 % of the I/Os within {}{}{}",
            ms(p99),
            tail.unwrap_or_default(),
            depth.unwrap_or_default()
        ));
    }
    let drives = study.drives.listing(&totals.conditions);
    if let Some(all) = drives.last()
        && let written @ 1.. = all.bytes_written()
        && let Some(daily) = observed.per_second(written as f64 * 86_400.0)
    {
        let times = all
            .capacity
            .filter(|capacity| *capacity > 0)
            .map(|capacity| format!(", {} drive writes per day", digits(daily / capacity as f64)));
        lines.push(format!(
            "{} written in {}: {} a day at this rate{}",
            Bytes(written),
            Nanos(observed.total_ns()).elapsed_text(),
            Bytes(daily as u64),
            times.unwrap_or_default()
        ));
    }
    lines
}

/// Formats the start of a period as `from 2026-11-25 15:07:04`, or `from 42 s` without a clock.
pub(super) fn period_start(study: &Study, period: &ExtremePeriod) -> String {
    match &study.totals.options.clock {
        Some(clock) => {
            // Whole seconds suffice to name a minute.
            let text = clock.date_time(period.from_ns);
            let text = text.split('.').next().unwrap_or_default().to_owned();
            format!("from {text}")
        }
        None => format!("from {} s", number(period.from_ns as f64 / 1e9, 0)),
    }
}

/// Formats a length as `minute`, `10 s` or `hour`.
fn period_name(length_ns: u64) -> String {
    match length_ns {
        MINUTE_NS => "minute".to_owned(),
        3_600_000_000_000 => "hour".to_owned(),
        1_000_000_000 => "second".to_owned(),
        other => Nanos(other).to_string(),
    }
}

/// Formats a size as `4 KiB`, `1.5 KiB` or `512 B`.
fn transfer_size(bytes: u32) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => {
            format!("{} MiB", bytes >> 20)
        }
        bytes if bytes >= 1024 && bytes.is_multiple_of(512) => {
            format!("{} KiB", f64::from(bytes) / 1024.0)
        }
        bytes => format!("{bytes} B"),
    }
}

/// Formats a share of 1 as a percentage; it is never rounded to 0 % or 100 %.
fn percent(share: f64) -> String {
    match share * 100.0 {
        exact if exact == 0.0 || exact >= 100.0 => format!("{exact:.0} %"),
        small if small < 0.1 => "below 0.1 %".to_owned(),
        most if most > 99.9 => "over 99.9 %".to_owned(),
        some if some < 10.0 => format!("{some:.1} %"),
        most if most >= 99.0 => format!("{most:.1} %"),
        some => format!("{some:.0} %"),
    }
}

fn ms(ns: u64) -> String {
    format!("{} ms", digits(ns as f64 / 1e6))
}

/// Formats a number with three digits, or with all digits before its decimal point.
fn digits(value: f64) -> String {
    let decimals = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        value if value >= 0.9995 => 2,
        value if value >= 0.0095 || value == 0.0 => 3,
        _ => 6,
    };
    number(value, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_shares_are_never_rounded_to_all() {
        let texts = [0.000_041, 0.0321, 1.0, 12.345, 123.4, 12_345.6].map(digits);
        assert_eq!(texts, ["0.000041", "0.032", "1.00", "12.3", "123", "12,346"]);
        let shares = [0.0, 0.0004, 0.021, 0.77, 0.994, 0.9999, 1.0].map(percent);
        let expected = ["0 %", "below 0.1 %", "2.1 %", "77 %", "99.4 %", "over 99.9 %", "100 %"];
        assert_eq!(shares, expected);
        let sizes = [512, 4096, 1536, 1 << 20, 131_072, 1000].map(transfer_size);
        assert_eq!(sizes, ["512 B", "4 KiB", "1.5 KiB", "1 MiB", "128 KiB", "1000 B"]);
    }
}
