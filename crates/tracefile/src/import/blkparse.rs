//! Imports blkparse's default text: `8,0  3  1  0.000000000  697  Q  W 223490 + 8 [kjournald]`.

use super::block_trace::BlockTraceImport;
use super::devices::DeviceNumbers;
use super::input::{EventSink, ImportInput, ImportOutcome, SECTOR};
use super::lines::{LineReader, nanoseconds, number, transfer_size};
use std::collections::BTreeMap;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{CommandName, flags, parse_rwbs};
use steadfast_domain::io_matcher::{BlockAction, BlockStep};
use steadfast_domain::text::excerpt;

/// Returns whether a line is an event of blkparse.
pub(super) fn is_line(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.len() >= 7 && is_device(words[0]) && nanoseconds(words[3]).is_some()
}

pub(super) fn is_device(word: &str) -> bool {
    word.split_once(',')
        .is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok())
}

/// Reads the events and the summary that follows them. Anything after the summary is an error, such
/// as the output of another blkparse, whose times restart.
pub(super) fn import(input: ImportInput<'_>, sink: &mut EventSink<'_>) -> ImportOutcome {
    let mut lines = LineReader::new(input);
    let mut trace = BlockTraceImport::default();
    let mut in_summary = false;
    let mut cut = Vec::new();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(line) = lines.next()? {
        // blkparse lists the files that it read at the beginning or the end.
        if line.starts_with("Input file ") {
            continue;
        }
        in_summary |= trace.imported.records > 0 && is_summary(line);
        if in_summary {
            if !is_line(line) && (line.trim().is_empty() || line.contains(':')) {
                continue;
            }
            let what = format!(
                "expected no more than the summary, found '{}'; give each output of blkparse in a \
                 file of its own",
                excerpt(line.trim())
            );
            return Err(lines.malformed(what, trace.imported.records));
        }
        match event(&mut trace.devices, line) {
            Ok(event) => {
                if event.is_none()
                    && let Some(letters) = unknown_action(line)
                {
                    *unknown.entry(letters.to_owned()).or_default() += 1;
                }
                trace.take(event.as_ref(), sink)?;
            }
            Err(_) if lines.is_open_ended() && trace.imported.records > 0 => {
                cut.push(lines.cut_line());
            }
            Err(what) => return Err(lines.malformed(what, trace.imported.records)),
        }
    }
    let mut imported = trace.finish("blkparse text", None, sink)?;
    imported.add_cut_ends(cut);
    imported.leave_out(unknown.into_iter().map(|(letters, count)| {
        (format!("records with the unknown action '{}'", excerpt(&letters)), count)
    }));
    Ok(imported)
}

/// Returns whether a line begins blkparse's final summary, such as `CPU0 (sda):`.
fn is_summary(line: &str) -> bool {
    let is_head = |start: &str| {
        let rest = line.strip_prefix(start).unwrap_or_default();
        rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).starts_with(" (")
    };
    ["CPU", "Total", "Events"].into_iter().any(is_head)
}

/// Actions of blkparse that neither start, change nor end an I/O: get request, sleep, plug, unplug,
/// insert, remap, message and bounce.
const OTHER_ACTIONS: [&str; 10] = ["G", "S", "P", "U", "UT", "T", "I", "A", "m", "B"];

/// Returns the action of a line that belongs to no I/O if blkparse's manual does not name it.
fn unknown_action(line: &str) -> Option<&str> {
    line.split_whitespace().nth(5).filter(|action| !OTHER_ACTIONS.contains(action))
}

/// Returns whether a second event begins in the words behind an action.
fn has_second_event(words: &[&str]) -> bool {
    words.windows(4).skip(3).any(|head| {
        // The line end may be missing altogether: `[fio]8,0 1 2 0.5`.
        let device = head[0].rsplit(']').next().unwrap_or_default();
        is_device(device) && nanoseconds(head[3]).is_some()
    })
}

/// Parses a line. Returns `None` if it belongs to no I/O.
fn event(devices: &mut DeviceNumbers, line: &str) -> Result<Option<BlockStep>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() < 6 || !is_device(words[0]) {
        return Err(format!(
            "expected device, processor, sequence, seconds, process, action, found '{}'",
            excerpt(line.trim())
        ));
    }
    if has_second_event(&words) {
        return Err(format!("two events are on one line: '{}'", excerpt(line.trim())));
    }
    let action = match words[5] {
        "Q" => BlockAction::Queued,
        "M" => BlockAction::Merged,
        "F" => BlockAction::FrontMerged,
        "X" => BlockAction::Split,
        "D" => BlockAction::Issued,
        "R" => BlockAction::Requeued,
        "C" => BlockAction::Completed,
        _ => return Ok(None),
    };
    let time_ns = nanoseconds(words[3]).ok_or_else(|| {
        format!("expected seconds with a fraction, found '{}'", excerpt(words[3]))
    })?;
    let io = BlkparseIo::parse(action, &words)?;
    // Every such line ends with a command or an error number in brackets.
    let Some(inside) = bracketed(line) else {
        return Err(format!("expected '[...]' at the end, found '{}'", excerpt(line.trim())));
    };
    let is_completion = action == BlockAction::Completed;
    let device = devices.number(&words[0].replace(',', ":")).ok_or("more than 65,536 devices")?;
    Ok(Some(BlockStep {
        action,
        time_ns,
        disk: device.into(),
        device,
        sector: io.sector,
        bytes: io.bytes.into(),
        op: io.op,
        flags: io.flags,
        cpu: number(words[1], "a processor's number")? as u16,
        pid: number(words[4], "a process number")? as u32,
        tid: 0,
        command: if is_completion { CommandName::default() } else { CommandName::new(inside) },
        failed: is_completion && inside != "0",
    }))
}

/// Returns the size in bytes of the first part of a split I/O that begins at `sector`. The words are
/// `/ 1024`: the sector of the second part.
pub(super) fn first_part(sector: u64, words: &[&str]) -> Result<u64, String> {
    let ["/", second, ..] = words else {
        return Err(format!(
            "expected '/' and the second sector of a split, found '{}'",
            excerpt(&words.join(" "))
        ));
    };
    let second = number(second, "a sector")?;
    let sectors = second
        .checked_sub(sector)
        .ok_or_else(|| format!("expected a split behind sector {sector}, found {second}"))?;
    Ok(sectors.saturating_mul(SECTOR))
}

/// Returns the text in the brackets at the end: a command name, which may contain spaces, or
/// an error number.
pub(super) fn bracketed(line: &str) -> Option<&str> {
    let (_, inside) = line.trim_end().strip_suffix(']')?.split_once('[')?;
    Some(inside)
}

/// Operation and location of an event.
struct BlkparseIo {
    op: IoOp,
    flags: u16,
    sector: u64,
    bytes: u32,
}

impl BlkparseIo {
    /// Parses `W 160 + 8 [x]`. A flush has no location: `FN [x]`, `FWS 0 [0]`.
    fn parse(action: BlockAction, words: &[&str]) -> Result<Self, String> {
        let letters = words.get(6).copied().unwrap_or_default();
        let first = words.get(7).and_then(|word| word.parse::<u64>().ok());
        let sectors = match (words.get(8), words.get(9)) {
            (Some(&"+"), Some(count)) => Some(number(count, "a number of sectors")?),
            _ => None,
        };
        let is_split = action == BlockAction::Split;
        let bytes = match first.filter(|_| is_split) {
            Some(sector) => first_part(sector, words.get(8..).unwrap_or_default())?,
            None => sectors.unwrap_or(0).saturating_mul(SECTOR),
        };
        let bytes = transfer_size(bytes)?;
        let (op, flags) = operation(letters, bytes);
        let has_data = !is_split && matches!(op, IoOp::Read | IoOp::Write);
        if has_data && sectors.is_none() && (first.is_none() || action != BlockAction::Completed) {
            // A SCSI or NVMe pass-through command has at most a size and no location:
            // `D R 36 (12 00 ..) [x]`, `C R (12 00 ..) [0]`.
            let bytes = first.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
            return Ok(BlkparseIo { op: IoOp::Other, flags, sector: 0, bytes });
        }
        Ok(BlkparseIo { op, flags, sector: first.unwrap_or(0), bytes })
    }
}

/// Parses blkparse's letters: preflush, operation, flags.
pub(super) fn operation(letters: &str, bytes: u32) -> (IoOp, u16) {
    let (op, set) = parse_rwbs(letters.as_bytes());
    // A flush without data, recognizable by its flag alone.
    if op != IoOp::Flush && set & flags::PREFLUSH != 0 && bytes == 0 {
        return (IoOp::Flush, set & !flags::PREFLUSH);
    }
    (op, set)
}
