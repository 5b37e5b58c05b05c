//! A made-up day of a retail chain's web portal, as a trace: the nine I/O streams of the
//! SNIA tutorial's applied test workload by their counts, on two drives, by the
//! processes and with the events of the tutorial's capture. Nothing of it was measured.
//!
//! ```text
//! cargo run --release -p steadfast-trace --example retail_web_portal -- day.parquet
//! cargo run --release -p steadfast-trace --example retail_web_portal -- day.parquet 2755026
//! ```
//!
//! The second argument is the number of I/Os beside those of the backup; 100,003 without it.
//! The same number makes the same file.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use steadfast_domain::io_event::{
    CapturedDevice, Command, Content, ContentSample, Mark, Share, flags,
};
use steadfast_domain::step::mix64;
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, Zone};
use steadfast_trace::Writer;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
const GIB: u64 = 1 << 30;
/// Steps of the tutorial's picture: 5 minutes.
const STEPS: u64 = 288;
/// 2026-11-20 00:00 at the portal.
const BEGAN: u64 = 1_795_129_200 * SECOND;

/// The tutorial's nine streams: sequential, size, I/Os, process.
const STREAMS: [(bool, u32, u64, usize); 9] = [
    (true, 4096, 757_697, 0),
    (false, 16_384, 422_999, 0),
    (true, 512, 409_357, 1),
    (true, 16_384, 376_211, 1),
    (false, 4096, 336_424, 2),
    (true, 1024, 173_343, 0),
    (false, 8192, 121_532, 3),
    (false, 1024, 84_592, 4),
    (true, 1536, 72_871, 0),
];
const PROCESSES: [(u32, &str); 5] = [
    (1720, "sqlserver.exe"),
    (1804, "mysqld.exe"),
    (2988, "w3wp.exe"),
    (636, "lsass.exe"),
    (4, "System"),
];
/// How busy the portal is in each hour, in parts.
const HOURS: [u64; 24] =
    [2, 1, 1, 1, 1, 2, 9, 4, 6, 8, 9, 10, 10, 9, 9, 10, 11, 12, 12, 10, 8, 6, 4, 3];

fn conditions() -> CaptureConditions {
    let device = |name: &str, model: &str, gb: u64| CapturedDevice {
        name: name.into(),
        model: Some(model.into()),
        capacity: Some(Bytes(gb * 1_000_000_000)),
        logical_sector: Some(512),
        ..CapturedDevice::default()
    };
    let mark =
        |hours: f64, name: &str| Mark { at_ns: (hours * HOUR as f64) as u64, name: name.into() };
    CaptureConditions {
        software: "retail_web_portal example".into(),
        source: "made up".into(),
        layers: vec![Layer::Block],
        host: Some("portal".into()),
        operating_system: Some("made up".into()),
        devices: vec![device("drive0", "EXAMPLE SSD", 480), device("drive1", "EXAMPLE HDD", 960)],
        began_unix_ns: Some(BEGAN),
        zone: Some(Zone::fixed(3600, Some("CET"))),
        workload: Some("Retail Web Portal, made up".into()),
        comment: Some("A day of two drives, block layer".into()),
        lasted_ns: 24 * HOUR,
        marks: vec![
            mark(2.0, "backup"),
            mark(2.5, "backup ends"),
            mark(6.0, "boot storm"),
            mark(8.0, "opening"),
            mark(20.0, "closing"),
        ],
        content: Some(ContentSample { every: 1, ..ContentSample::default() }),
        ..CaptureConditions::default()
    }
}

/// Draws I/Os.
struct Portal {
    state: u64,
    cursors: [u64; STREAMS.len()],
    backup: u64,
}

impl Portal {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.state) % below
    }

    /// One of the nine streams, by their counts.
    fn one(&mut self, at_ns: u64) -> IoEvent {
        let mut drawn = self.draw(STREAMS.iter().map(|stream| stream.2).sum());
        let fits = |(_, stream): &(usize, &(bool, u32, u64, usize))| match drawn < stream.2 {
            true => true,
            false => {
                drawn -= stream.2;
                false
            }
        };
        let (number, &(sequential, bytes, _, process)) =
            STREAMS.iter().enumerate().find(fits).unwrap_or((0, &STREAMS[0]));
        // Every stream has a region of its own, so that none runs into another.
        let region = number as u64 * 32 * GIB;
        let offset = match sequential {
            true => {
                let at = self.cursors[number];
                self.cursors[number] = (at + u64::from(bytes)) % (16 * GIB / 1536 * 1536);
                region + at
            }
            false => region + self.draw(8 * GIB / u64::from(bytes)) * u64::from(bytes),
        };
        let flags = if sequential { flags::SYNC | flags::FUA } else { flags::WRITEBACK };
        let write = IoEvent { offset, bytes, op: IoOp::Write, flags, ..self.event(at_ns, process) };
        IoEvent { content: content(&write), ..write }
    }

    /// A read of the backup, from both drives in turn.
    fn backup(&mut self, at_ns: u64) -> IoEvent {
        let number = self.backup;
        self.backup += 1;
        IoEvent {
            offset: 300 * GIB + number / 2 * 65_536,
            bytes: 65_536,
            op: IoOp::Read,
            device: u16::from(number % 2 == 1),
            flags: flags::READ_AHEAD,
            ..self.event(at_ns, 0)
        }
    }

    fn event(&mut self, issued_ns: u64, process: usize) -> IoEvent {
        let (pid, name) = PROCESSES[process];
        let slow = if self.draw(1000) == 0 { 20_000_000 } else { 0 };
        IoEvent {
            issued_ns,
            response_ns: 80_000 + self.draw(400_000) + slow,
            queued_ns: 2000 + self.draw(60_000),
            pid,
            command: Command::new(name),
            cpu: self.draw(8) as u16,
            ..IoEvent::default()
        }
    }
}

/// What was measured of a write: databases can be compressed better than system files, and
/// after the start of the machines in the morning much is written that was there already.
fn content(write: &IoEvent) -> Content {
    let blocks = write.bytes.div_ceil(4096);
    let drawn = mix64(write.offset ^ write.issued_ns);
    let is_database = write.pid == PROCESSES[0].0 || write.pid == PROCESSES[1].0;
    let percent = if is_database { 22 + drawn % 12 } else { 45 + drawn % 30 };
    let is_boot_storm = (6 * HOUR..8 * HOUR).contains(&write.issued_ns);
    let likely = if is_boot_storm { 55 } else { 25 };
    let is_duplicate = |block: &u32| mix64(drawn + u64::from(*block)) % 100 < likely;
    Content {
        blocks: blocks as u16,
        duplicates: (0..blocks).filter(is_duplicate).count() as u16,
        bytes: write.bytes,
        compressed_bytes: (u64::from(write.bytes) * percent / 100) as u32,
    }
}

/// Adds what was measured of some I/Os to the sums of the capture.
fn measure(conditions: &mut CaptureConditions, events: &[IoEvent]) {
    let sample = conditions.content.get_or_insert_default();
    for Content { blocks, duplicates, bytes, compressed_bytes } in
        events.iter().map(|event| event.content)
    {
        sample.blocks += u64::from(blocks);
        sample.duplicates += u64::from(duplicates);
        sample.bytes += u64::from(bytes);
        sample.compressed_bytes += u64::from(compressed_bytes);
    }
    conditions.compression_ratio = sample.compression_ratio();
    conditions.duplicate_share = sample.duplicate_share().and_then(Share::exact);
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("give the trace file to write")?;
    let ios: u64 = arguments.next().map_or(Ok(100_003), |text| text.parse())?;
    let mut conditions = conditions();
    let mut writer = Writer::new(BufWriter::new(File::create_new(path)?), &conditions)?;
    let mut portal = Portal { state: 3, cursors: [0; STREAMS.len()], backup: 0 };
    let (parts, mut done, mut so_far) = (HOURS.iter().sum::<u64>() * (STEPS / 24), 0, 0);
    for step in 0..STEPS {
        so_far += HOURS[(step * 24 / STEPS) as usize];
        let until = ios * so_far / parts;
        let (count, backup) = (until - done, backup_ios(step, ios));
        done = until;
        let mut events = Vec::new();
        let width = 24 * HOUR / STEPS;
        let at = |number: u64, of: u64| step * width + number * width / of;
        events.extend((0..count).map(|number| portal.one(at(number, count))));
        events.extend((0..backup).map(|number| portal.backup(at(number, backup))));
        events.sort_by_key(|event| event.issued_ns);
        measure(&mut conditions, &events);
        writer.write(&events)?;
    }
    writer.finish(conditions)?;
    Ok(())
}

/// The backup runs for six steps from 02:00 on, four times as busy as the rest.
fn backup_ios(step: u64, ios: u64) -> u64 {
    if (24..30).contains(&step) { ios / 120 } else { 0 }
}
