//! Imports the block layer's trace events as text, as `perf script`, `trace-cmd report` and the
//! kernel's `trace` file print them:
//! `fio  697 [003] 12.345678: block:block_rq_issue: 8,0 WS 4096 () 123 + 8 none,0,0 [fio]`.

use super::blkparse::{bracketed, first_part, is_device, operation};
use super::block_trace::BlockTraceImport;
use super::input::{EventSink, ImportInput, ImportOutcome, SECTOR};
use super::lines::{LineReader, nanoseconds, transfer_size};
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{CommandName, flags};
use steadfast_domain::io_matcher::{BlockAction, BlockStep};
use steadfast_domain::text::excerpt;

/// Events and the stages of an I/O that they record.
const EVENTS: [(&str, BlockAction); 8] = [
    ("block_bio_queue", BlockAction::Queued),
    ("block_bio_backmerge", BlockAction::Merged),
    ("block_bio_frontmerge", BlockAction::FrontMerged),
    ("block_split", BlockAction::Split),
    ("block_rq_issue", BlockAction::Issued),
    ("block_rq_requeue", BlockAction::Requeued),
    ("block_rq_complete", BlockAction::Completed),
    ("block_bio_complete", BlockAction::Completed),
];

/// A line of an event: the text before the name, the name, and the details.
struct EventLine<'l> {
    head: &'l str,
    event: &'l str,
    details: &'l str,
}

/// The task and the processor of an event; empty and 0 if the line does not show them.
#[derive(Default)]
struct EventTask<'l> {
    command: &'l str,
    pid: u32,
    cpu: u16,
}

impl<'l> EventLine<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        // No process name contains a zero byte: the line begins with other data.
        if line.contains('\0') {
            return None;
        }
        // perf aligns the names of events to the right.
        let (head, named) = line.match_indices("block_").find_map(|(at, _)| {
            let before = &line[..at];
            let before = before.strip_suffix("block:").unwrap_or(before).trim_end();
            Some((before.strip_suffix(':')?, &line[at..]))
        })?;
        let (event, details) = named.split_once(':')?;
        Some(EventLine { head, event, details: details.trim() })
    }

    fn action(&self) -> Option<BlockAction> {
        EVENTS.iter().find(|(name, _)| *name == self.event).map(|(_, action)| *action)
    }

    fn time_ns(&self) -> Option<u64> {
        nanoseconds(self.head.split_whitespace().last()?)
    }

    /// Parses `comm  pid [cpu]`, `comm  pid/tid [cpu]` or `comm-pid [cpu] flags`.
    fn task(&self) -> EventTask<'l> {
        let Some((before, after)) = self.head.rsplit_once('[') else { return EventTask::default() };
        let cpu = after.split(']').next().and_then(|cpu| cpu.parse().ok()).unwrap_or(0);
        // The thread group is in parentheses.
        let before = before.trim_end();
        let task = before.rsplit_once(" (").map_or(before, |(task, _)| task).trim_end();
        for separator in [' ', '-'] {
            if let Some((command, pids)) = task.rsplit_once(separator)
                && let Some(Ok(pid)) = pids.split('/').next().map(str::parse::<u32>)
            {
                return EventTask { command: command.trim(), pid, cpu };
            }
        }
        EventTask { cpu, ..EventTask::default() }
    }
}

/// Returns whether a line is an event of the block layer.
pub(super) fn is_line(line: &str) -> bool {
    EventLine::parse(line).is_some_and(|line| line.time_ns().is_some())
}

/// Returns whether a line is a comment or header, including those of `trace-cmd report`.
pub(super) fn is_comment(line: &str) -> bool {
    line.starts_with('#')
        || ["cpus=", "version = "].iter().any(|start| line.starts_with(start))
        || line.starts_with("CPU ") && line.trim_end().ends_with(" is empty")
}

/// Returns the number of lost events in a line: `CPU:3 [LOST 12 EVENTS]` of the kernel,
/// `CPU:3 [12 EVENTS DROPPED]` of trace-cmd.
fn lost_events(line: &str) -> Option<u64> {
    let (_, inside) = line.trim().strip_prefix("CPU:")?.strip_suffix(']')?.split_once('[')?;
    let is_loss =
        inside.contains("EVENTS") && (inside.contains("LOST") || inside.contains("DROPPED"));
    is_loss.then(|| inside.split(' ').find_map(|word| word.parse().ok()).unwrap_or(1))
}

pub(super) fn import(input: ImportInput<'_>, sink: &mut EventSink<'_>) -> ImportOutcome {
    let mut lines = LineReader::new(input);
    let mut trace = BlockTraceImport::default();
    let mut first_ns = None;
    let mut lost = 0u64;
    let mut cut = Vec::new();
    while let Some(line) = lines.next()? {
        lost = lost.saturating_add(lost_events(line).unwrap_or(0));
        match event(&mut trace, line, &mut first_ns) {
            // The cut may be within the name of the event.
            Ok(None) if lines.is_open_ended() && !is_comment(lines.last()) => {
                cut.push(lines.cut_line());
            }
            Ok(event) => trace.take(event.as_ref(), sink)?,
            Err(_) if lines.is_open_ended() && trace.imported.records > 0 => {
                cut.push(lines.cut_line());
            }
            Err(what) => return Err(lines.malformed(what, trace.imported.records)),
        }
    }
    let mut imported = trace.finish("block trace events", None, sink)?;
    imported.add_cut_ends(cut);
    if lost > 0 {
        imported.conditions.lost += lost;
        imported.conditions.remarks.push(format!(
            "The kernel lost {lost} events, as the text says; their I/Os are missing or not whole."
        ));
    }
    Ok(imported)
}

/// Parses a line. Returns `None` for a comment, a stack or another event.
fn event(
    trace: &mut BlockTraceImport,
    text: &str,
    first_ns: &mut Option<u64>,
) -> Result<Option<BlockStep>, String> {
    let Some(line) = EventLine::parse(text) else {
        let is_event = || {
            text.split_once(": ").is_some_and(|(head, _)| {
                head.contains(" [") && head.rsplit(' ').next().and_then(nanoseconds).is_some()
            })
        };
        let is_stack = || {
            let address = text.split_whitespace().next().unwrap_or_default();
            text.starts_with([' ', '\t']) && u64::from_str_radix(address, 16).is_ok()
        };
        let is_binary = text.contains('\0');
        let is_known = is_comment(text) || lost_events(text).is_some() || is_event() || is_stack();
        return if is_known && !is_binary {
            Ok(None)
        } else {
            let found = excerpt(text.trim());
            Err(format!("expected process, [processor], seconds and an event, found '{found}'"))
        };
    };
    let time_ns = line.time_ns().ok_or_else(|| {
        format!("expected seconds with a fraction before the event, found '{}'", excerpt(line.head))
    })?;
    if EventLine::parse(line.details).is_some_and(|second| second.time_ns().is_some()) {
        return Err(format!("two events are on one line: '{}'", excerpt(text.trim())));
    }
    let Some(action) = line.action() else { return Ok(None) };
    let words: Vec<&str> = line.details.split_whitespace().collect();
    let expected = || {
        format!("expected device, operation, sector + sectors, found '{}'", excerpt(line.details))
    };
    let is_split = action == BlockAction::Split;
    let sign = if is_split { "/" } else { "+" };
    let sign_at = words.iter().position(|word| *word == sign).ok_or_else(expected)?;
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let sector = sign_at.checked_sub(1).and_then(number).ok_or_else(expected)?;
    let sectors = number(sign_at + 1).ok_or_else(expected)?;
    let device = words.first().filter(|word| is_device(word)).ok_or_else(expected)?;
    let letters = words.get(1).ok_or_else(expected)?;
    let Some(error_code) = bracketed(line.details) else {
        return Err(format!("expected '[...]' at the end, found '{}'", excerpt(line.details)));
    };
    let bytes = transfer_size(if is_split {
        first_part(sector, &words[sign_at..])?
    } else {
        sectors.saturating_mul(SECTOR)
    })?;
    let (op, flags) = operation(letters, bytes);
    let flags = if op == IoOp::Flush { flags & flags::PREFLUSH } else { flags };
    // A pass-through command has bytes and no sectors; a bio has no bytes before its sector.
    let bytes = match number(2) {
        Some(size) if op == IoOp::Other && sign_at > 3 => transfer_size(size)?,
        _ => bytes,
    };
    let EventTask { command, pid, cpu } = line.task();
    let is_completion = action == BlockAction::Completed;
    let first = *first_ns.get_or_insert(time_ns);
    let device = trace.devices.number(&device.replace(',', ":"));
    let device = device.ok_or("more than 65,536 devices")?;
    Ok(Some(BlockStep {
        action,
        time_ns: time_ns.saturating_sub(first),
        disk: device.into(),
        device,
        // A flush has the largest number in place of a sector.
        sector: if sector == u64::MAX { 0 } else { sector },
        bytes: bytes.into(),
        op,
        flags,
        cpu,
        pid,
        tid: 0,
        command: if is_completion { CommandName::default() } else { CommandName::new(command) },
        failed: is_completion && error_code != "0",
    }))
}
