//! A made-up day of a retail chain's web portal, as a trace: the nine I/O streams of the
//! SNIA tutorial's applied test workload by their counts, on two drives, by 49 processes
//! and with the events of the tutorial's capture. Nothing of it was measured.
//!
//! ```text
//! cargo run --release -p steadfast-analysis --example retail_web_portal -- day.parquet
//! cargo run --release -p steadfast-analysis --example retail_web_portal -- day.parquet 2755026
//! ```
//!
//! The second argument is the number of I/Os without those of the backup; the default is 100,003.
//! The same number makes the same file.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use steadfast_domain::io_event::{
    CapturePart, CapturedDevice, CommandName, ContentMeasurement, ContentSample, Mark, Share, flags,
};
use steadfast_domain::step::mix64;
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, TimeZone};
use steadfast_tracefile::TraceWriter;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
const GIB: u64 = 1 << 30;
/// Steps of the tutorial's picture: 5 minutes.
const STEPS: u64 = 288;
/// 2026-11-20 00:00 at the portal.
const BEGAN: u64 = 1_795_129_200 * SECOND;

/// The tutorial's nine streams: sequential, size, I/Os, and which programs do them, with the
/// parts of each. As in the tutorial, a stream has several processes at one moment, or one.
type TutorialStream = (bool, u32, u64, &'static [(usize, u64)]);
const STREAMS: [TutorialStream; 9] = [
    (true, 4096, 757_697, &[(SQLSERVER, 7), (MYSQLD, 2), (LSASS, 1)]),
    (false, 16_384, 422_999, &[(SQLSERVER, 5), (MYSQLD, 3)]),
    (true, 512, 409_357, &[(MYSQLD, 6), (SYSTEM, 1), (SVCHOST, 1)]),
    (true, 16_384, 376_211, &[(MYSQLD, 3), (SQLSERVER, 1)]),
    (false, 4096, 336_424, &[(W3WP, 5), (PHP_CGI, 3), (SQLSERVER, 1)]),
    (true, 1024, 173_343, &[(SQLSERVER, 3), (SERVICES, 1)]),
    (false, 8192, 121_532, &[(LSASS, 4), (SVCHOST, 2), (MYSQLD, 1)]),
    (false, 1024, 84_592, &[(SYSTEM, 3), (MSMPENG, 2), (SEARCH_INDEXER, 1)]),
    (true, 1536, 72_871, &[(SQLSERVER_MAIN, 1)]),
];

/// Programs of the portal: name, the identifier of the first process, and how many there
/// are. Together these are 49 processes, as many as the tutorial's capture has.
const PROGRAMS: [(&str, u32, u32); 11] = [
    ("sqlserver.exe", 1720, 8),
    ("sqlserver.exe", 1720, 1),
    ("mysqld.exe", 1904, 6),
    ("w3wp.exe", 2988, 12),
    ("php-cgi.exe", 3412, 6),
    ("svchost.exe", 820, 12),
    ("lsass.exe", 636, 1),
    ("System", 4, 1),
    ("services.exe", 612, 1),
    ("MsMpEng.exe", 1364, 1),
    ("SearchIndexer.exe", 2740, 1),
];
const SQLSERVER: usize = 0;
/// The first process of the database alone.
const SQLSERVER_MAIN: usize = 1;
const MYSQLD: usize = 2;
const W3WP: usize = 3;
const PHP_CGI: usize = 4;
const SVCHOST: usize = 5;
const LSASS: usize = 6;
const SYSTEM: usize = 7;
const SERVICES: usize = 8;
const MSMPENG: usize = 9;
const SEARCH_INDEXER: usize = 10;
/// From one process of a program to the next.
const NEXT: u32 = 8;
/// Threads of a process.
const THREADS: u64 = 3;

/// Load of the portal by hour, as weights.
const HOURS: [u64; 24] =
    [2, 1, 1, 1, 1, 2, 9, 4, 6, 8, 9, 10, 10, 9, 9, 10, 11, 12, 12, 10, 8, 6, 4, 3];

fn conditions(ios: u64) -> CaptureConditions {
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
        zone: Some(TimeZone::fixed(3600, Some("CET"))),
        workload: Some("Retail Web Portal, made up".into()),
        comment: Some("A day of two drives, block layer".into()),
        // Identifies the size of the day.
        part: Some(CapturePart { capture: format!("retail-web-portal-{ios}"), first: 1, last: 1 }),
        threads: true,
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
struct RetailWebPortal {
    state: u64,
    cursors: [u64; STREAMS.len()],
    backup: u64,
}

impl RetailWebPortal {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.state) % below
    }

    /// A place among parts, by their sizes.
    fn choose(&mut self, parts: impl Iterator<Item = u64> + Clone) -> usize {
        let mut drawn = self.draw(parts.clone().sum());
        let is_it = |part: u64| match drawn.checked_sub(part) {
            Some(rest) => {
                drawn = rest;
                false
            }
            None => true,
        };
        parts.map(is_it).position(|is_it| is_it).unwrap_or(0)
    }

    /// One of the nine streams, by their counts.
    fn one(&mut self, at_ns: u64) -> IoEvent {
        let number = self.choose(STREAMS.iter().map(|stream| stream.2));
        let (sequential, bytes, _, programs) = STREAMS[number];
        let program = programs[self.choose(programs.iter().map(|(_, part)| *part))].0;
        // Every stream has a region of its own, so that none runs into another.
        let region = number as u64 * 32 * GIB;
        let offset = if sequential {
            let at = self.cursors[number];
            self.cursors[number] = (at + u64::from(bytes)) % (16 * GIB / 1536 * 1536);
            region + at
        } else {
            region + self.draw(8 * GIB / u64::from(bytes)) * u64::from(bytes)
        };
        let flags = if sequential { flags::SYNC | flags::FUA } else { flags::WRITEBACK };
        let write = IoEvent { offset, bytes, op: IoOp::Write, flags, ..self.event(at_ns, program) };
        IoEvent { content: content(&write), ..write }
    }

    /// A read of the backup, from both drives in turn. The second is a disk with a head.
    fn backup(&mut self, at_ns: u64) -> IoEvent {
        let number = self.backup;
        self.backup += 1;
        let event = self.event(at_ns, SQLSERVER_MAIN);
        let device = u16::from(number % 2 == 1);
        let head_ns = if device == 1 { 4_000_000 + self.draw(8_000_000) } else { 0 };
        IoEvent {
            offset: 300 * GIB + number / 2 * 65_536,
            bytes: 65_536,
            op: IoOp::Read,
            device,
            response_ns: event.response_ns + head_ns,
            flags: flags::READ_AHEAD,
            ..event
        }
    }

    fn event(&mut self, issued_ns: u64, program: usize) -> IoEvent {
        let (name, first, count) = PROGRAMS[program];
        // The first process of a program does more than the last.
        let (one, other) = (self.draw(u64::from(count)), self.draw(u64::from(count)));
        let pid = first + one.min(other) as u32 * NEXT;
        let slow = if self.draw(1000) == 0 { 20_000_000 } else { 0 };
        IoEvent {
            issued_ns,
            response_ns: 80_000 + self.draw(400_000) + slow,
            queued_ns: 2000 + self.draw(60_000),
            pid,
            tid: pid + self.draw(THREADS) as u32,
            command: CommandName::new(name),
            cpu: self.draw(8) as u16,
            ..IoEvent::default()
        }
    }
}

/// What was measured of a write: databases can be compressed better than system files, and
/// after the start of the machines in the morning much is written that was there already.
fn content(write: &IoEvent) -> ContentMeasurement {
    let blocks = write.bytes.div_ceil(4096);
    let drawn = mix64(write.offset ^ write.issued_ns);
    let is_database =
        [SQLSERVER, MYSQLD].iter().any(|at| write.command == CommandName::new(PROGRAMS[*at].0));
    let percent = if is_database { 22 + drawn % 12 } else { 45 + drawn % 30 };
    let is_boot_storm = (6 * HOUR..8 * HOUR).contains(&write.issued_ns);
    let likely = if is_boot_storm { 55 } else { 25 };
    let is_duplicate = |block: &u32| mix64(drawn + u64::from(*block)) % 100 < likely;
    ContentMeasurement {
        blocks: blocks as u16,
        duplicates: (0..blocks).filter(is_duplicate).count() as u16,
        bytes: write.bytes,
        compressed_bytes: (u64::from(write.bytes) * percent / 100) as u32,
    }
}

/// Adds what was measured of some I/Os to the sums of the capture.
fn measure(conditions: &mut CaptureConditions, events: &[IoEvent]) {
    let sample = conditions.content.get_or_insert_default();
    for ContentMeasurement { blocks, duplicates, bytes, compressed_bytes } in
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
    let ios: u64 = arguments.next().map_or(Ok(IOS), |text| text.parse())?;
    write(File::create_new(path)?, ios)
}

/// Default number of I/Os without those of the backup.
pub const IOS: u64 = 100_003;

/// Writes a day of `ios` I/Os and those of the backup.
///
/// # Errors
/// Where the file cannot be written.
pub fn write(file: File, ios: u64) -> Result<(), Box<dyn Error>> {
    let mut conditions = conditions(ios);
    let mut writer = TraceWriter::new(BufWriter::new(file), &conditions)?;
    let mut portal = RetailWebPortal { state: 3, cursors: [0; STREAMS.len()], backup: 0 };
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
