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
    /// Major and minor number of each device, and its name if it is not the number.
    devices: Vec<(String, Option<String>)>,
    longest_wait_ns: u64,
    /// Lines held back for earlier ones, by time and number: action and I/O.
    waiting: BTreeMap<(u64, u64), (char, IoEvent)>,
    numbered: u64,
    written: u64,
}

impl BlkparseWriter {
    pub(super) fn new(devices: &[String], longest_wait_ns: u64) -> Self {
        let number = |(index, name): (usize, &String)| match name.split_once(':') {
            Some((major, minor)) if is_number(major) && is_number(minor) => {
                (format!("{major},{minor}"), None)
            }
            // No block device has the major number 0.
            _ => (format!("0,{index}"), Some(name.clone())),
        };
        BlkparseWriter {
            devices: devices.iter().enumerate().map(number).collect(),
            longest_wait_ns,
            waiting: BTreeMap::new(),
            numbered: 0,
            written: 0,
        }
    }

    /// Writes sentences as messages of the kernel, which blkparse prints without a sequence number.
    pub(super) fn write_messages(
        &self,
        out: &mut impl Write,
        sentences: &[String],
    ) -> io::Result<()> {
        let device = self.devices.first().map_or("0,65535", |(number, _)| number);
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
        let certain = issued.saturating_sub(self.longest_wait_ns);
        while self.waiting.len() > WAITING_MAX
            || self.waiting.first_key_value().is_some_and(|((time, _), _)| *time < certain)
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
        self.devices
            .iter()
            .filter_map(|(number, name)| Some(format!("Device {} is {number}.", name.as_ref()?)))
            .collect()
    }

    fn add_line(&mut self, time_ns: u64, action: char, event: &IoEvent) {
        self.waiting.insert((time_ns, self.numbered), (action, *event));
        self.numbered += 1;
    }

    fn write_first(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Some(((time_ns, _), (action, event))) = self.waiting.pop_first() else { return Ok(()) };
        self.written += 1;
        let device = self.devices.get(usize::from(event.device));
        let device = device.map_or("0,65535", |(number, _)| number);
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
