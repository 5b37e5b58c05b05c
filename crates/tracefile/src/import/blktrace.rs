//! Imports blktrace's binary records (kernel: include/uapi/linux/blktrace_api.h): 48 bytes (64 in
//! version 8) and a payload, in the byte order of the recording machine. The files of several
//! processors are merged by time.

use super::block_trace::BlockTraceImport;
use super::input::{
    EventSink, ImportError, ImportInput, ImportOutcome, SECTOR, ends_in_zeros, fill, is_torn,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, BufReader, Read};
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{CommandName, flags};
use steadfast_domain::io_matcher::{BlockAction, BlockStep};

const MAGIC: u32 = 0x6561_7400;
const MAGIC_MASK: u32 = 0xffff_ff00;
/// Size in bytes of a version 7 record, and of the part common to both versions.
const RECORD: usize = 48;
/// Version with a 64-bit action, in which zones have their own categories.
const WIDE_VERSION: u32 = 8;
const WIDE_RECORD: usize = 64;

/// Categories in the upper half of an action.
mod category {
    pub const WRITE: u64 = 1 << 1;
    pub const FLUSH: u64 = 1 << 2;
    pub const SYNC: u64 = 1 << 3;
    pub const PASS_THROUGH: u64 = 1 << 9;
    pub const NOTIFY: u64 = 1 << 10;
    pub const AHEAD: u64 = 1 << 11;
    pub const META: u64 = 1 << 12;
    pub const DISCARD: u64 = 1 << 13;
    pub const FUA: u64 = 1 << 15;
    /// Version 8: a zone is reset, finished, opened or closed.
    pub const ZONE: u64 = 0x1f << 17;
}

/// Flag of an action whose payload begins with a cgroup ID.
const WITH_CGROUP: u64 = 1 << 8;
const NOTIFY_PROCESS: u64 = 0;
const NOTIFY_TIMESTAMP: u64 = 1;

/// Returns whether an input begins like a blktrace file, in either byte order.
pub(super) fn is_beginning(bytes: &[u8]) -> bool {
    let Some(mark) = bytes.first_chunk::<4>() else { return false };
    [u32::from_le_bytes(*mark), u32::from_be_bytes(*mark)]
        .iter()
        .any(|magic| magic & MAGIC_MASK == MAGIC)
}

/// A record in this machine's byte order.
#[derive(Debug, Clone)]
struct BlktraceRecord {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    pid: u32,
    device: u32,
    cpu: u32,
    error: u16,
    payload: Vec<u8>,
    big_endian: bool,
}

/// The layout of a record in its file.
struct RecordLayout {
    big_endian: bool,
    /// True for the wide header of version 8.
    wide: bool,
}

impl BlktraceRecord {
    /// Returns the offset of the payload after the cgroup ID.
    fn payload_start(&self) -> usize {
        if self.action & WITH_CGROUP != 0 { 8 } else { 0 }
    }
}

/// The file of one processor.
struct BlktraceFile<'r> {
    name: String,
    content: BufReader<Box<dyn Read + 'r>>,
    offset: u64,
    records: u64,
    /// Description of the loss if the file ends within a record or in zeros.
    cut: Option<String>,
    next: Option<BlktraceRecord>,
}

impl BlktraceFile<'_> {
    fn malformed(&self, what: String) -> ImportError {
        ImportError::malformed(&self.name, format!("byte {}", self.offset), what, self.records)
    }

    fn unreadable(&self, error: io::Error) -> ImportError {
        ImportError::unreadable(&self.name, format!("byte {}", self.offset), error)
    }

    /// Ends the file before the current record, as after a killed blktrace or a crash of the host.
    fn end(&mut self, how: &str) {
        self.cut = Some(format!(
            "{}: {how}, at byte {}: {} records were read, the rest is lost.",
            self.name, self.offset, self.records
        ));
    }

    /// Fills `into`; returns false at the end of the file, which is whole up to the current record.
    fn fill(&mut self, into: &mut [u8], in_record: bool) -> Result<bool, ImportError> {
        let filled = fill(&mut self.content, into).map_err(|error| self.unreadable(error))?;
        if filled < into.len() && (in_record || filled > 0) {
            self.end("the file ends within a record");
        }
        Ok(filled == into.len())
    }

    /// Reads the next record into `next`, which is `None` at the end of the file.
    fn advance(&mut self) -> Result<(), ImportError> {
        self.next = None;
        let mut bytes = [0u8; WIDE_RECORD];
        if !self.fill(&mut bytes[..RECORD], false)? {
            return Ok(());
        }
        if bytes[..RECORD].iter().all(|byte| *byte == 0)
            && ends_in_zeros(&mut self.content).map_err(|error| self.unreadable(error))?
        {
            self.end("the file is filled with zeros");
            return Ok(());
        }
        let RecordLayout { big_endian, wide } = self.layout(&bytes)?;
        if wide && !self.fill(&mut bytes[RECORD..], true)? {
            return Ok(());
        }
        let header = if wide { WIDE_RECORD } else { RECORD };
        let u16_at = |at: usize| {
            let number = [bytes[at], bytes[at + 1]];
            if big_endian { u16::from_be_bytes(number) } else { u16::from_le_bytes(number) }
        };
        let u32_at = |at: usize| {
            let number = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            if big_endian { u32::from_be_bytes(number) } else { u32::from_le_bytes(number) }
        };
        let u64_at = |at: usize| {
            let (high, low) = if big_endian { (at, at + 4) } else { (at + 4, at) };
            u64::from(u32_at(high)) << 32 | u64::from(u32_at(low))
        };
        let length = usize::from(u16_at(if wide { 50 } else { 46 }));
        let mut payload = vec![0; length];
        if !self.fill(&mut payload, true)? {
            return Ok(());
        }
        let is_torn = is_torn(self.offset, &[&bytes[..header], &payload], &mut self.content);
        if is_torn.map_err(|error| self.unreadable(error))? {
            self.end("the file is filled with zeros from within a record");
            return Ok(());
        }
        // Version 8 exchanged the process and the action, which became twice as long.
        let action = if wide { u64_at(32) } else { u64::from(u32_at(28)) };
        let pid = u32_at(if wide { 28 } else { 32 });
        let device = if wide { 40 } else { 36 };
        self.next = Some(BlktraceRecord {
            time_ns: u64_at(8),
            sector: u64_at(16),
            bytes: u32_at(24),
            action,
            pid,
            device: u32_at(device),
            cpu: u32_at(device + 4),
            error: u16_at(device + 8),
            payload,
            big_endian,
        });
        self.offset += (header + length) as u64;
        self.records += 1;
        Ok(())
    }

    /// Returns the layout of a record by the magic number at its beginning.
    fn layout(&self, bytes: &[u8; WIDE_RECORD]) -> Result<RecordLayout, ImportError> {
        let mark = [bytes[0], bytes[1], bytes[2], bytes[3]];
        for (big_endian, magic) in
            [(false, u32::from_le_bytes(mark)), (true, u32::from_be_bytes(mark))]
        {
            if magic & MAGIC_MASK == MAGIC {
                return match magic & !MAGIC_MASK {
                    7 => Ok(RecordLayout { big_endian, wide: false }),
                    WIDE_VERSION => Ok(RecordLayout { big_endian, wide: true }),
                    other => Err(self.malformed(format!(
                        "record version {other}; versions 7 and 8 are supported"
                    ))),
                };
            }
        }
        Err(self.malformed(format!("expected a record's mark, found {mark:02x?}")))
    }
}

/// Reads the files of all processors.
pub(super) fn import(inputs: Vec<ImportInput<'_>>, sink: &mut EventSink<'_>) -> ImportOutcome {
    let mut files: Vec<BlktraceFile<'_>> = inputs
        .into_iter()
        .map(|input| BlktraceFile {
            name: input.name,
            content: BufReader::with_capacity(1 << 18, input.content),
            offset: 0,
            records: 0,
            cut: None,
            next: None,
        })
        .collect();
    let mut order = BinaryHeap::new();
    for (index, file) in files.iter_mut().enumerate() {
        file.advance()?;
        order.extend(file.next.as_ref().map(|record| Reverse((record.time_ns, index))));
    }
    let mut state = BlktraceImport::default();
    while let Some(Reverse((_, index))) = order.pop() {
        let file = &mut files[index];
        if let Some(record) = file.next.take() {
            state.take(&record, sink)?;
        }
        file.advance()?;
        order.extend(file.next.as_ref().map(|record| Reverse((record.time_ns, index))));
    }
    let mut imported = state.finish(sink)?;
    imported.add_cut_ends(files.into_iter().filter_map(|file| file.cut).collect());
    Ok(imported)
}

#[derive(Default)]
struct BlktraceImport {
    trace: BlockTraceImport,
    /// Device of the last record, because most records belong to the same.
    last_device: Option<NumberedDevice>,
    commands: HashMap<u32, CommandName>,
    /// Number of events of devices beyond the 65,536th.
    without_device: u64,
    /// Time of the first event, where the trace begins, in nanoseconds since the machine started.
    first_ns: Option<u64>,
    clock: Option<WallClockAnchor>,
}

/// A device by the number in the trace and by its index in the conditions.
#[derive(Clone, Copy)]
struct NumberedDevice {
    number: u32,
    index: u16,
}

/// One instant on two clocks.
#[derive(Clone, Copy)]
struct WallClockAnchor {
    /// Nanoseconds since 1970.
    wall_ns: u64,
    /// Nanoseconds since the machine started.
    uptime_ns: u64,
}

impl BlktraceImport {
    fn take(
        &mut self,
        record: &BlktraceRecord,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ImportError> {
        if record.action >> 16 & category::NOTIFY != 0 {
            self.read_message(record);
            return self.trace.take(None, sink);
        }
        let first_ns = *self.first_ns.get_or_insert(record.time_ns);
        let time_ns = record.time_ns.saturating_sub(first_ns);
        // Records that belong to no I/O count as observed time, too.
        self.trace.last_ns = self.trace.last_ns.max(time_ns);
        let event = self.event(record, time_ns);
        self.trace.take(event.as_ref(), sink)
    }

    /// Returns the wall-clock time of the first event. `blkparse -d` sets that event's time to 0
    /// but keeps the timestamps, so the time is unknown then.
    fn began_unix_ns(&self) -> Option<u64> {
        let WallClockAnchor { wall_ns, uptime_ns } = self.clock?;
        let first_ns = self.first_ns.filter(|first| *first > 0)?;
        wall_ns.checked_add(first_ns)?.checked_sub(uptime_ns)
    }

    /// Reads a message of the kernel: a process name or the wall-clock time.
    fn read_message(&mut self, record: &BlktraceRecord) {
        let payload = record.payload.get(record.payload_start()..).unwrap_or_default();
        match record.action & 0xffff & !WITH_CGROUP {
            NOTIFY_PROCESS => {
                let name = payload.split(|byte| *byte == 0).next().unwrap_or_default();
                self.commands.insert(record.pid, CommandName::new(&String::from_utf8_lossy(name)));
            }
            NOTIFY_TIMESTAMP => {
                let u32_at = |at: usize| {
                    let number = payload.get(at..)?.first_chunk::<4>()?;
                    Some(u64::from(if record.big_endian {
                        u32::from_be_bytes(*number)
                    } else {
                        u32::from_le_bytes(*number)
                    }))
                };
                if let (Some(seconds), Some(nanos)) = (u32_at(0), u32_at(4)) {
                    let wall_ns = seconds * 1_000_000_000 + nanos;
                    let uptime_ns = record.time_ns;
                    self.clock.get_or_insert(WallClockAnchor { wall_ns, uptime_ns });
                }
            }
            _ => {}
        }
    }

    /// Returns the index of a device; `None` beyond the 65,536th.
    fn device(&mut self, number: u32) -> Option<u16> {
        if let Some(last) = self.last_device.filter(|last| last.number == number) {
            return Some(last.index);
        }
        let name = format!("{}:{}", number >> 20, number & 0xf_ffff);
        let index = self.trace.devices.number(&name)?;
        self.last_device = Some(NumberedDevice { number, index });
        Some(index)
    }

    fn event(&mut self, record: &BlktraceRecord, time_ns: u64) -> Option<BlockStep> {
        let action = match record.action & 0xffff & !WITH_CGROUP {
            1 => BlockAction::Queued,
            2 => BlockAction::Merged,
            3 => BlockAction::FrontMerged,
            6 => BlockAction::Requeued,
            7 => BlockAction::Issued,
            8 => BlockAction::Completed,
            13 => BlockAction::Split,
            _ => return None,
        };
        // The payload of a split is the sector of the second part, always big-endian.
        let bytes = match action {
            BlockAction::Split => {
                let at = record.payload_start();
                let second = record.payload.get(at..at + 8)?.try_into().ok()?;
                u64::from_be_bytes(second).checked_sub(record.sector)?.saturating_mul(SECTOR)
            }
            _ => record.bytes.into(),
        };
        let categories = record.action >> 16;
        let (op, flags) = operation(categories, record.bytes);
        let device = self.device(record.device);
        self.without_device += u64::from(device.is_none());
        let device = device?;
        Some(BlockStep {
            action,
            time_ns,
            disk: device.into(),
            device,
            sector: record.sector,
            bytes,
            op,
            flags,
            cpu: record.cpu as u16,
            pid: record.pid,
            tid: 0,
            command: match action {
                BlockAction::Queued | BlockAction::Issued => {
                    self.commands.get(&record.pid).copied().unwrap_or_default()
                }
                _ => CommandName::default(),
            },
            failed: action == BlockAction::Completed && record.error != 0,
        })
    }

    fn finish(self, sink: &mut EventSink<'_>) -> ImportOutcome {
        let began_unix_ns = self.began_unix_ns();
        let mut imported = self.trace.finish("blktrace", began_unix_ns, sink)?;
        if self.without_device > 0 {
            let what = "records of devices beyond the 65,536th".to_owned();
            imported.conditions.unseen.push((what, self.without_device));
        }
        Ok(imported)
    }
}

fn operation(categories: u64, bytes: u32) -> (IoOp, u16) {
    let has = |bit: u64| categories & bit != 0;
    let op = if has(category::PASS_THROUGH | category::ZONE) {
        IoOp::Other
    } else if has(category::DISCARD) {
        IoOp::Discard
    } else if has(category::FLUSH) && bytes == 0 {
        IoOp::Flush
    } else if has(category::WRITE) {
        IoOp::Write
    } else {
        IoOp::Read
    };
    let mut set = 0;
    for (bit, flag) in [
        (category::SYNC, flags::SYNC),
        (category::AHEAD, flags::READ_AHEAD),
        (category::META, flags::META),
        (category::FUA, flags::FUA),
    ] {
        set |= if has(bit) { flag } else { 0 };
    }
    if has(category::FLUSH) && op != IoOp::Flush {
        set |= flags::PREFLUSH;
    }
    (op, set)
}
