//! Writes blkparse's default text: one line each when an I/O is queued, issued and completed, in
//! order of time.

use std::collections::BTreeMap;
use std::io::{self, Write};
use steadfast_domain::io_event::flags;
use steadfast_domain::{IoEvent, IoOp};

pub(super) const SECTOR: u64 = 512;

/// Maximum number of lines held back for earlier ones; each takes about 200 bytes.
const WAITING_MAX: usize = 1 << 18;

/// A writer of lines that takes I/Os in issue order.
pub(super) struct BlkparseWriter {
    devices: Vec<BlkparseDevice>,
    longest_wait_ns: u64,
    /// Lines held back for earlier ones.
    waiting: BTreeMap<LineOrder, WaitingLine>,
    /// Number of lines added.
    added: u64,
    written: u64,
}

/// A device as blkparse prints it.
struct BlkparseDevice {
    /// Major and minor number.
    number: String,
    /// Name; `None` if it is the number.
    name: Option<String>,
}

/// The order of lines: by time, and those of one time as they were added.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LineOrder {
    time_ns: u64,
    number: u64,
}

struct WaitingLine {
    action: char,
    event: IoEvent,
}

impl BlkparseWriter {
    pub(super) fn new(devices: &[String], longest_wait_ns: u64) -> Self {
        let numbered = |(index, name): (usize, &String)| match name.split_once(':') {
            Some((major, minor)) if is_number(major) && is_number(minor) => {
                BlkparseDevice { number: format!("{major},{minor}"), name: None }
            }
            // No block device has the major number 0.
            _ => BlkparseDevice { number: format!("0,{index}"), name: Some(name.clone()) },
        };
        BlkparseWriter {
            devices: devices.iter().enumerate().map(numbered).collect(),
            longest_wait_ns,
            waiting: BTreeMap::new(),
            added: 0,
            written: 0,
        }
    }

    /// Writes sentences as messages of the kernel, which blkparse prints without a sequence number.
    pub(super) fn write_messages(
        &self,
        out: &mut impl Write,
        sentences: &[String],
    ) -> io::Result<()> {
        let device = self.number_of(0);
        for sentence in sentences {
            let text = sentence.replace(char::is_control, " ");
            writeln!(out, "{device} {0:>4} {0:>8} {0:>5}.{0:09} {0:>5}  m {1:>3} {text}", 0, 'N')?;
        }
        Ok(())
    }

    /// Adds an I/O and writes the lines that no later I/O can precede.
    pub(super) fn add_io(&mut self, out: &mut impl Write, event: &IoEvent) -> io::Result<()> {
        let issued = event.issued_ns;
        if event.queued_ns > 0 {
            self.add_line(issued.saturating_sub(event.queued_ns), 'Q', event);
        }
        self.add_line(issued, 'D', event);
        if let Some(completed) = event.completed_ns() {
            self.add_line(completed, 'C', event);
        }
        let earliest_ns = issued.saturating_sub(self.longest_wait_ns);
        while self.waiting.len() > WAITING_MAX
            || self.waiting.first_key_value().is_some_and(|(order, _)| order.time_ns < earliest_ns)
        {
            self.write_first(out)?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, out: &mut impl Write) -> io::Result<()> {
        while !self.waiting.is_empty() {
            self.write_first(out)?;
        }
        Ok(())
    }

    /// Returns the numbers of the devices whose names are not numbers.
    pub(super) fn remarks(&self) -> Vec<String> {
        let named = |device: &BlkparseDevice| {
            Some(format!("Device {} is {}.", device.name.as_ref()?, device.number))
        };
        self.devices.iter().filter_map(named).collect()
    }

    /// Returns the major and minor number of a device.
    fn number_of(&self, device: u16) -> &str {
        self.devices.get(usize::from(device)).map_or("0,65535", |device| &device.number)
    }

    fn add_line(&mut self, time_ns: u64, action: char, event: &IoEvent) {
        let order = LineOrder { time_ns, number: self.added };
        self.waiting.insert(order, WaitingLine { action, event: *event });
        self.added += 1;
    }

    fn write_first(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Some((order, WaitingLine { action, event })) = self.waiting.pop_first() else {
            return Ok(());
        };
        self.written += 1;
        let device = self.number_of(event.device);
        let time_ns = order.time_ns;
        let IoEvent { cpu, pid, .. } = event;
        write!(
            out,
            "{device} {cpu:>4} {:>8} {:>5}.{:09} {pid:>5}  {action} {:>4} ",
            self.written,
            time_ns / 1_000_000_000,
            time_ns % 1_000_000_000,
            letters(&event)
        )?;
        let begin = event.offset / SECTOR;
        let sectors = event.offset.saturating_add(event.bytes.into()).div_ceil(SECTOR) - begin;
        if event.op != IoOp::Flush {
            write!(out, "{begin} + {sectors} ")?;
        }
        if action == 'C' {
            return writeln!(out, "[{}]", if event.flags & flags::FAILED > 0 { 5 } else { 0 });
        }
        writeln!(out, "[{}]", event.command.to_string().replace(char::is_control, " "))
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok()
}

/// Returns blkparse's letters: preflush, operation, flags.
fn letters(event: &IoEvent) -> String {
    let has = |flag: u16| event.flags & flag > 0;
    let is_flush = event.op == IoOp::Flush;
    let mut letters = String::new();
    if is_flush || has(flags::PREFLUSH) {
        letters.push('F');
    }
    // The kernel writes a flush with the flag as FF, and one of another operation as FN.
    letters.push(match (is_flush, has(flags::PREFLUSH)) {
        (true, true) => 'F',
        (true, false) => 'N',
        (false, _) => event.op.letter(),
    });
    for (flag, letter) in
        [(flags::FUA, 'F'), (flags::READ_AHEAD, 'A'), (flags::SYNC, 'S'), (flags::META, 'M')]
    {
        if has(flag) {
            letters.push(letter);
        }
    }
    letters
}
