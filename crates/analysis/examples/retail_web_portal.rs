//! Writes a made-up day of a retail chain's web portal as a trace: the nine I/O streams of the SNIA
//! tutorial's applied test workload by their counts, on two drives, by 49 processes and with the
//! events of the tutorial's capture. Nothing of it was measured.
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
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, TimeZone};
use steadfast_tracefile::TraceWriter;

const USAGE: &str = "usage: retail_web_portal FILE [IOS]";

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
const GIB: u64 = 1 << 30;
/// Default number of I/Os without those of the backup.
pub const IOS: u64 = 100_003;
/// Number of steps of the tutorial's picture, of 5 minutes each.
const STEPS: u64 = 288;
/// 2026-11-20 00:00 at the portal.
const BEGAN: u64 = 1_795_129_200 * SECOND;
/// Distance from the ID of a process to that of the next one of its program.
const PID_STEP: u32 = 8;
/// Number of threads of a process.
const THREADS: u64 = 3;

/// A program of the portal. Together they have 49 processes, as many as the tutorial's capture.
#[derive(Clone, Copy, PartialEq)]
enum PortalProgram {
    SqlServer,
    /// The first process of the database alone.
    SqlServerMain,
    MySqlD,
    W3Wp,
    PhpCgi,
    SvcHost,
    Lsass,
    System,
    Services,
    MsMpEng,
    SearchIndexer,
}

/// The processes of a program.
struct Processes {
    name: &'static str,
    first_pid: u32,
    count: u32,
}

impl PortalProgram {
    fn processes(self) -> Processes {
        let (name, first_pid, count) = match self {
            PortalProgram::SqlServer => ("sqlserver.exe", 1720, 8),
            PortalProgram::SqlServerMain => ("sqlserver.exe", 1720, 1),
            PortalProgram::MySqlD => ("mysqld.exe", 1904, 6),
            PortalProgram::W3Wp => ("w3wp.exe", 2988, 12),
            PortalProgram::PhpCgi => ("php-cgi.exe", 3412, 6),
            PortalProgram::SvcHost => ("svchost.exe", 820, 12),
            PortalProgram::Lsass => ("lsass.exe", 636, 1),
            PortalProgram::System => ("System", 4, 1),
            PortalProgram::Services => ("services.exe", 612, 1),
            PortalProgram::MsMpEng => ("MsMpEng.exe", 1364, 1),
            PortalProgram::SearchIndexer => ("SearchIndexer.exe", 2740, 1),
        };
        Processes { name, first_pid, count }
    }

    fn is_database(self) -> bool {
        matches!(
            self,
            PortalProgram::SqlServer | PortalProgram::SqlServerMain | PortalProgram::MySqlD
        )
    }
}

struct TutorialStream {
    sequential: bool,
    bytes: u32,
    ios: u64,
    /// Programs that issue it, with their weights. As in the tutorial, a stream has several
    /// processes at one moment, or one.
    programs: &'static [WeightedProgram],
}

struct WeightedProgram {
    program: PortalProgram,
    weight: u64,
}

const fn of(program: PortalProgram, weight: u64) -> WeightedProgram {
    WeightedProgram { program, weight }
}

const fn seq(bytes: u32, ios: u64, programs: &'static [WeightedProgram]) -> TutorialStream {
    TutorialStream { sequential: true, bytes, ios, programs }
}

const fn rnd(bytes: u32, ios: u64, programs: &'static [WeightedProgram]) -> TutorialStream {
    TutorialStream { sequential: false, bytes, ios, programs }
}

const STREAMS: [TutorialStream; 9] = {
    use PortalProgram::*;
    [
        seq(4096, 757_697, &[of(SqlServer, 7), of(MySqlD, 2), of(Lsass, 1)]),
        rnd(16_384, 422_999, &[of(SqlServer, 5), of(MySqlD, 3)]),
        seq(512, 409_357, &[of(MySqlD, 6), of(System, 1), of(SvcHost, 1)]),
        seq(16_384, 376_211, &[of(MySqlD, 3), of(SqlServer, 1)]),
        rnd(4096, 336_424, &[of(W3Wp, 5), of(PhpCgi, 3), of(SqlServer, 1)]),
        seq(1024, 173_343, &[of(SqlServer, 3), of(Services, 1)]),
        rnd(8192, 121_532, &[of(Lsass, 4), of(SvcHost, 2), of(MySqlD, 1)]),
        rnd(1024, 84_592, &[of(System, 3), of(MsMpEng, 2), of(SearchIndexer, 1)]),
        seq(1536, 72_871, &[of(SqlServerMain, 1)]),
    ]
};

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

/// Draws the I/Os of the day.
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

    /// Draws an index with probabilities in proportion to some weights.
    fn choose(&mut self, weights: impl Iterator<Item = u64> + Clone) -> usize {
        let mut left = self.draw(weights.clone().sum());
        for (index, weight) in weights.enumerate() {
            if left < weight {
                return index;
            }
            left -= weight;
        }
        0
    }

    /// Draws a write of one of the nine streams, by their counts.
    fn stream_write(&mut self, at_ns: u64) -> IoEvent {
        let number = self.choose(STREAMS.iter().map(|stream| stream.ios));
        let TutorialStream { sequential, bytes, programs, .. } = STREAMS[number];
        let chosen = self.choose(programs.iter().map(|weighted| weighted.weight));
        let program = programs[chosen].program;
        let size = u64::from(bytes);
        // Every stream has a region of its own, so that none runs into another.
        let region = number as u64 * 32 * GIB;
        let offset = if sequential {
            let at = self.cursors[number];
            self.cursors[number] = (at + size) % (16 * GIB / size * size);
            region + at
        } else {
            region + self.draw(8 * GIB / size) * size
        };
        let flags = if sequential { flags::SYNC | flags::FUA } else { flags::WRITEBACK };
        let write = IoEvent { offset, bytes, op: IoOp::Write, flags, ..self.event(at_ns, program) };
        IoEvent { content: content(&write, program), ..write }
    }

    /// Draws a read of the backup, from both drives in turn. The second is a disk with a head.
    fn backup_read(&mut self, at_ns: u64) -> IoEvent {
        let number = self.backup;
        self.backup += 1;
        let event = self.event(at_ns, PortalProgram::SqlServerMain);
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

    fn event(&mut self, issued_ns: u64, program: PortalProgram) -> IoEvent {
        let Processes { name, first_pid, count } = program.processes();
        // The first process of a program does more than the last.
        let (one, other) = (self.draw(u64::from(count)), self.draw(u64::from(count)));
        let pid = first_pid + one.min(other) as u32 * PID_STEP;
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

/// Returns the measurement of a write. Databases compress better than system files, and after the
/// start of the machines in the morning much of the data exists already.
fn content(write: &IoEvent, program: PortalProgram) -> ContentMeasurement {
    let blocks = write.bytes.div_ceil(4096);
    let drawn = mix64(write.offset ^ write.issued_ns);
    let percent = if program.is_database() { 22 + drawn % 12 } else { 45 + drawn % 30 };
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

/// Adds the content of some I/Os to the sums of the capture.
fn add_content(conditions: &mut CaptureConditions, events: &[IoEvent]) {
    let sample = conditions.content.get_or_insert_default();
    for event in events {
        sample.blocks += u64::from(event.content.blocks);
        sample.duplicates += u64::from(event.content.duplicates);
        sample.bytes += u64::from(event.content.bytes);
        sample.compressed_bytes += u64::from(event.content.compressed_bytes);
    }
    conditions.compression_ratio = sample.compression_ratio();
    conditions.duplicate_share = sample.duplicate_share().and_then(Share::exact);
}

/// Returns the number of I/Os of the backup in a step. It runs for six steps from 02:00, each with
/// 2.4 times the I/Os of an average step without it.
fn backup_ios(step: u64, ios: u64) -> u64 {
    if (24..30).contains(&step) { ios / 120 } else { 0 }
}

/// Writes a day of `ios` I/Os and those of the backup.
///
/// # Errors
/// Returns the error of the writer if the file cannot be written.
pub fn write(file: File, ios: u64) -> Result<(), Box<dyn Error>> {
    let mut conditions = conditions(ios);
    let mut writer = TraceWriter::new(BufWriter::new(file), &conditions)?;
    let mut portal = RetailWebPortal { state: 3, cursors: [0; STREAMS.len()], backup: 0 };
    let weights_of_day = HOURS.iter().sum::<u64>() * (STEPS / 24);
    let (mut weights_so_far, mut written) = (0, 0);
    for step in 0..STEPS {
        weights_so_far += HOURS[(step * 24 / STEPS) as usize];
        let until = ios * weights_so_far / weights_of_day;
        let (count, backup) = (until - written, backup_ios(step, ios));
        written = until;
        let width = 24 * HOUR / STEPS;
        let at = |number: u64, of: u64| step * width + number * width / of;
        let mut events = Vec::new();
        events.extend((0..count).map(|number| portal.stream_write(at(number, count))));
        events.extend((0..backup).map(|number| portal.backup_read(at(number, backup))));
        events.sort_by_key(|event| event.issued_ns);
        add_content(&mut conditions, &events);
        writer.write(&events)?;
    }
    writer.finish(conditions)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or(USAGE)?;
    let ios = arguments.next().map_or(Ok(IOS), |text| text.parse().map_err(|_| USAGE))?;
    write(File::create_new(path)?, ios)
}
