//! Single I/Os in the text formats of other tools, and what these formats cannot express.

use super::blkparse::{BlkparseWriter, SECTOR};
use std::collections::BTreeSet;
use std::io::Write;
use steadfast_analysis::{Captured, PassOptions};
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
use steadfast_domain::text::csv_quoted;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::{Fields, TraceWriter};

use IoTextFormat::{Blkparse, Csv, FioIolog};

/// A text format of single I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoTextFormat {
    /// fio's iolog, version 3.
    FioIolog,
    /// blkparse's default text.
    Blkparse,
    /// One line per I/O with named columns.
    Csv,
}

/// The result of an export of single I/Os.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportedIos {
    /// Number of I/Os written.
    pub ios: u64,
    /// Sentences on what the format cannot express.
    pub lost: Vec<String>,
}

/// A property of an I/O that some formats cannot express.
struct IoProperty {
    /// The loss, as the end of a sentence that begins with a number of I/Os.
    loss: &'static str,
    is_present: fn(&IoEvent) -> bool,
    kept_by: &'static [IoTextFormat],
}

const fn property(
    loss: &'static str,
    is_present: fn(&IoEvent) -> bool,
    kept_by: &'static [IoTextFormat],
) -> IoProperty {
    IoProperty { loss, is_present, kept_by }
}

const ALL_BUT_IOLOG: &[IoTextFormat] = &[Blkparse, Csv];

/// Flags that blkparse's letters express.
const LETTERED: u16 = flags::SYNC | flags::FUA | flags::PREFLUSH | flags::META | flags::READ_AHEAD;

const PROPERTIES: [IoProperty; 15] = [
    property("have an unknown operation and are left out", |e| e.op == IoOp::Other, ALL_BUT_IOLOG),
    property("are discards, which fio before 3.34 skips", |e| e.op == IoOp::Discard, ALL_BUT_IOLOG),
    property("lose the part of their time below 1 us", |e| e.issued_ns % 1000 > 0, ALL_BUT_IOLOG),
    property("are extended to sectors of 512 bytes", is_off_sector, &[FioIolog, Csv]),
    property("lose their response time", |e| e.response_ns != RESPONSE_UNKNOWN, ALL_BUT_IOLOG),
    property("lose their time in the queue", |e| e.queued_ns > 0, ALL_BUT_IOLOG),
    property("lose their process", |e| e.pid > 0 || !e.command.is_empty(), ALL_BUT_IOLOG),
    property("lose their thread", |e| e.tid > 0 || !e.thread.is_empty(), &[Csv]),
    property("lose their processor", |e| e.cpu > 0, ALL_BUT_IOLOG),
    property("lose their cgroup", |e| e.cgroup > 0, &[]),
    property("lose flags such as FUA and sync", |e| e.flags & LETTERED > 0, ALL_BUT_IOLOG),
    property("lose that they failed", |e| e.flags & flags::FAILED > 0, ALL_BUT_IOLOG),
    property(
        "lose that they were requeued, written back, direct or merged",
        has_csv_only_state,
        &[Csv],
    ),
    property("lose their file", |e| e.inode > 0, &[Csv]),
    property("lose the compression of their data", |e| e.content.blocks > 0, &[]),
];

fn is_off_sector(event: &IoEvent) -> bool {
    !(event.offset | u64::from(event.bytes)).is_multiple_of(SECTOR)
}

fn has_csv_only_state(event: &IoEvent) -> bool {
    event.merged > 0 || event.flags & !(LETTERED | flags::FAILED) > 0
}

const CSV_HEADER: &str = "issued_ns,op,offset,bytes,response_ns,device,pid,command,queued_ns,\
    depth,tid,thread,cpu,flags,merged,layer,inode";

/// Writes the chosen I/Os of a trace in issue order. An iolog names `filename`, or the device of
/// each I/O as captured.
///
/// # Errors
/// Returns [`TraceError::Unsuitable`] if no I/O is chosen, or the trace has several layers and no
/// filter chooses one; and the errors of reading the trace and of writing.
pub fn write_ios<W: Write>(
    captured: &Captured,
    pass: &PassOptions,
    format: IoTextFormat,
    filename: Option<&str>,
    mut out: W,
) -> Result<ExportedIos, TraceError> {
    let filename = filename.filter(|_| format == FioIolog);
    let devices = device_names(captured.conditions(), filename);
    let survey = survey(captured, pass, format, filename.is_some())?;
    let mut lost = survey.lost;
    let mut blkparse = BlkparseWriter::new(&devices, survey.longest_wait_ns);
    match format {
        FioIolog => begin_iolog(&mut out, &devices, &lost)?,
        Csv => writeln!(out, "{CSV_HEADER}")?,
        Blkparse => {
            lost.extend(blkparse.remarks());
            blkparse.write_messages(&mut out, &lost)?;
        }
    }
    let mut written = 0;
    each_io(captured, pass, |event| {
        let device = devices.get(usize::from(event.device)).map_or("?", String::as_str);
        let is_written = match format {
            FioIolog => iolog_line(&mut out, event, device)?,
            Csv => csv_line(&mut out, event, device).map(|()| true)?,
            Blkparse => blkparse.add_io(&mut out, event).map(|()| true)?,
        };
        written += u64::from(is_written);
        Ok(())
    })?;
    blkparse.finish(&mut out)?;
    out.flush()?;
    Ok(ExportedIos { ios: written, lost })
}

/// Properties of all chosen I/Os that a writer needs before it writes the first.
struct IoSurvey {
    /// Sentences on what the format cannot express.
    lost: Vec<String>,
    /// Longest time in the queue, in nanoseconds. The blkparse writer needs it to sort its lines by
    /// time.
    longest_wait_ns: u64,
}

fn survey(
    captured: &Captured,
    pass: &PassOptions,
    format: IoTextFormat,
    is_renamed: bool,
) -> Result<IoSurvey, TraceError> {
    let mut counts = [0u64; PROPERTIES.len()];
    let mut longest_wait_ns = 0;
    let mut devices = BTreeSet::new();
    each_io(captured, pass, |event| {
        for (count, property) in counts.iter_mut().zip(&PROPERTIES) {
            let is_lost = !property.kept_by.contains(&format) && (property.is_present)(event);
            *count += u64::from(is_lost);
        }
        longest_wait_ns = longest_wait_ns.max(event.queued_ns);
        devices.insert(event.device);
        Ok(())
    })?;
    let lost = counts.iter().zip(&PROPERTIES).filter(|(count, _)| **count > 0);
    let lost = lost.map(|(count, property)| format!("{count} I/Os {}.", property.loss));
    let mut lost: Vec<String> = lost.collect();
    if is_renamed && devices.len() > 1 {
        lost.push(format!("The I/Os of {} devices are assigned to one.", devices.len()));
    }
    if captured.conditions().began_unix_ns.is_some() {
        lost.push(
            "The date of the capture and its time before the first and after the last I/O are left \
             out."
                .to_owned(),
        );
    }
    Ok(IoSurvey { lost, longest_wait_ns })
}

/// Copies the chosen I/Os with all their recorded properties into a new trace file.
///
/// # Errors
/// Same as [`write_ios`].
pub fn copy_ios<W: Write + Send>(
    captured: &Captured,
    pass: &PassOptions,
    out: W,
) -> Result<(W, ExportedIos), TraceError> {
    let mut conditions = captured.conditions().clone();
    let filter = pass.filter.describe(&conditions);
    conditions.remarks.extend(filter.map(|filter| format!("Only part of a trace: {filter}.")));
    conditions.remarks.extend(captured.integrity().missing());
    let mut writer = TraceWriter::new(out, &conditions)?;
    let mut events = Vec::with_capacity(4096);
    let ios = each_io(captured, pass, |event| {
        events.push(*event);
        if events.len() == events.capacity() {
            writer.write(&events)?;
            events.clear();
        }
        Ok(())
    })?;
    writer.write(&events)?;
    let out = writer.finish(conditions)?;
    Ok((out, ExportedIos { ios, lost: Vec::new() }))
}

/// Passes every chosen I/O to `take`, in issue order, and returns their number.
fn each_io(
    captured: &Captured,
    pass: &PassOptions,
    mut take: impl FnMut(&IoEvent) -> Result<(), TraceError>,
) -> Result<u64, TraceError> {
    if captured.conditions().layers.len() > 1 && pass.filter.layer.is_none() {
        return Err(TraceError::Unsuitable(
            "the trace has two layers, which cannot be exported together; choose one with --layer"
                .to_owned(),
        ));
    }
    let mut batches = captured.ios(pass, Fields::ALL)?;
    let mut ios = 0;
    while let Some(rows) = batches.next_batch()? {
        for row in rows.iter() {
            ios += 1;
            take(&rows.batch.event(row))?;
        }
    }
    if ios == 0 {
        return Err(TraceError::Unsuitable("no I/O is chosen; widen the filter".to_owned()));
    }
    Ok(ios)
}

/// Returns the names of the devices as the file writes them: `filename` if there is one.
fn device_names(conditions: &CaptureConditions, filename: Option<&str>) -> Vec<String> {
    if conditions.devices.is_empty() {
        return vec![one_word(filename.unwrap_or_default())];
    }
    conditions.devices.iter().map(|device| one_word(filename.unwrap_or(&device.name))).collect()
}

/// Returns a name without blanks, which separate the fields of a line.
fn one_word(name: &str) -> String {
    if name.is_empty() {
        return "unnamed".to_owned();
    }
    name.replace(|c: char| c.is_whitespace() || c.is_control(), "_")
}

fn begin_iolog(
    out: &mut impl Write,
    devices: &[String],
    lost: &[String],
) -> Result<(), TraceError> {
    writeln!(out, "fio version 3 iolog")?;
    let names: BTreeSet<_> = devices.iter().collect();
    // Times start at 1: fio ignores the delay after a line with time 0.
    for (index, name) in names.iter().enumerate() {
        write!(out, "1 {name} add")?;
        // fio has no comment lines, but ignores what follows the action, up to 4,095 bytes a line.
        if index == 0 && !lost.is_empty() {
            write!(out, " # The file cannot say: {}", lost.join(" "))?;
        }
        writeln!(out)?;
    }
    for name in &names {
        writeln!(out, "1 {name} open")?;
    }
    Ok(())
}

/// Writes a line of an iolog. Returns false, and writes nothing, if fio has no such operation.
fn iolog_line(out: &mut impl Write, event: &IoEvent, device: &str) -> Result<bool, TraceError> {
    let action = match event.op {
        IoOp::Read => "read",
        IoOp::Write => "write",
        IoOp::Discard => "trim",
        IoOp::Flush => "datasync",
        IoOp::Other => return Ok(false),
    };
    let time_us = 1 + event.issued_ns / 1000;
    writeln!(out, "{time_us} {device} {action} {} {}", event.offset, event.bytes)?;
    Ok(true)
}

fn csv_line(out: &mut impl Write, event: &IoEvent, device: &str) -> Result<(), TraceError> {
    let response = match event.response_ns {
        RESPONSE_UNKNOWN => String::new(),
        known => known.to_string(),
    };
    writeln!(
        out,
        "{},{},{},{},{response},{},{},{},{},{},{},{},{},{},{},{},{}",
        event.issued_ns,
        event.op.letter(),
        event.offset,
        event.bytes,
        csv_field(device),
        event.pid,
        csv_field(&event.command.to_string()),
        event.queued_ns,
        event.depth,
        event.tid,
        csv_field(&event.thread.to_string()),
        event.cpu,
        flags::names(event.flags).join(" "),
        event.merged,
        event.layer,
        event.inode,
    )?;
    Ok(())
}

/// Returns a text as a CSV field, with blanks for control characters.
fn csv_field(text: &str) -> String {
    csv_quoted(text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
}
