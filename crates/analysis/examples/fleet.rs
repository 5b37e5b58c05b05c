//! Writes made-up captures of many hosts, for trying and testing the commands for fleets. Nothing
//! in them was measured.
//!
//! ```text
//! cargo run --release -p steadfast-analysis --example fleet -- DIRECTORY HOSTS CAPTURES IOS
//! ```
//!
//! Every host has `CAPTURES` consecutive captures with `IOS` I/Os each. Every fifth capture was
//! rotated and has two files. Equal arguments give equal files.

use std::error::Error;
use std::fs::{File, create_dir_all};
use std::io::BufWriter;
use std::path::Path;
use steadfast_domain::io_event::{CapturePart, CapturedDevice, CommandName, flags};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, TimeZone};
use steadfast_tracefile::TraceWriter;

const SECOND: u64 = 1_000_000_000;
/// 2026-11-20 22:00 UTC.
const BEGAN: u64 = 1_795_212_000 * SECOND;
/// Duration of every capture.
const LASTED: u64 = 600 * SECOND;
const PROCESSES: [(u32, &str); 4] =
    [(1720, "postgres"), (1804, "nginx"), (2988, "backup"), (636, "kworker")];
const SIZES: [u32; 5] = [4096, 8192, 16_384, 65_536, 131_072];

fn conditions(host: u64, capture: u64) -> CaptureConditions {
    let device = |name: &str| CapturedDevice {
        name: name.into(),
        model: Some("MADE UP".into()),
        serial: Some(format!("S{host}{name}")),
        capacity: Some(Bytes(960_197_124_096)),
        logical_sector: Some(512),
        ..CapturedDevice::default()
    };
    // Captures of different hosts begin at different times, which are no whole minutes.
    let delay = host * 7_301_003_017 % (60 * SECOND);
    CaptureConditions {
        software: "example fleet".into(),
        source: "made up".into(),
        host: Some(format!("host{host:03}")),
        layers: vec![Layer::Block],
        devices: vec![device("nvme0n1"), device("nvme1n1")],
        began_unix_ns: Some(BEGAN + capture * (LASTED + 5 * SECOND) + delay),
        zone: Some(TimeZone::fixed(0, Some("UTC"))),
        lasted_ns: LASTED,
        ..CaptureConditions::default()
    }
}

/// Returns the I/Os of a capture in issue order. Some are sequential; those of the last host are
/// slow.
fn ios(hosts: u64, host: u64, capture: u64, count: u64) -> Vec<IoEvent> {
    let interval = LASTED / count.max(1);
    let slow = if host + 1 == hosts { 20 } else { 1 };
    let mut ends = [0u64; 2];
    let one = |n: u64| {
        let draw = mix64(host << 48 ^ capture << 32 ^ n);
        let device = (draw % 2) as usize;
        let bytes = SIZES[(draw >> 8) as usize % SIZES.len()];
        let is_next = (draw >> 16).is_multiple_of(3);
        let random = 4096 * ((draw >> 20) % 200_000_000);
        let offset = if is_next { ends[device] } else { random };
        ends[device] = offset + u64::from(bytes);
        let (pid, name) = PROCESSES[(draw >> 12) as usize % PROCESSES.len()];
        IoEvent {
            issued_ns: n * interval + draw % interval.max(1),
            response_ns: slow * (50_000 + (draw >> 24) % 2_000_000),
            queued_ns: (draw >> 30) % 20_000,
            offset,
            bytes,
            depth: 1 + (draw >> 40) as u32 % 8,
            pid,
            cpu: (draw >> 44) as u16 % 16,
            flags: flags::SYNC,
            device: device as u16,
            op: if draw >> 50 & 3 == 0 { IoOp::Read } else { IoOp::Write },
            layer: Layer::Block,
            command: CommandName::new(name),
            ..IoEvent::default()
        }
    };
    (0..count).map(one).collect()
}

fn write(
    path: &Path,
    conditions: &CaptureConditions,
    ios: &[IoEvent],
) -> Result<(), Box<dyn Error>> {
    let mut writer = TraceWriter::new(BufWriter::new(File::create(path)?), conditions)?;
    ios.chunks(1 << 16).try_for_each(|some| writer.write(some))?;
    writer.finish(conditions.clone())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, hosts, captures, count] = arguments.as_slice() else {
        return Err("usage: fleet DIRECTORY HOSTS CAPTURES IOS".into());
    };
    let (hosts, captures, count): (u64, u64, u64) =
        (hosts.parse()?, captures.parse()?, count.parse()?);
    for host in 0..hosts {
        let directory = Path::new(directory).join(format!("host{host:03}"));
        create_dir_all(&directory)?;
        for capture in 0..captures {
            let all = ios(hosts, host, capture, count);
            let (first, second) = match capture % 5 {
                4 => all.split_at(all.len() / 2),
                _ => (&all[..], &[][..]),
            };
            for (number, part) in [first, second].into_iter().enumerate() {
                if number > 0 && part.is_empty() {
                    continue;
                }
                let number = number as u32 + 1;
                let mut conditions = conditions(host, capture);
                conditions.part = Some(CapturePart {
                    capture: format!("host{host:03}-{capture}"),
                    first: number,
                    last: number,
                });
                let suffix = if number > 1 { format!(".{number}") } else { String::new() };
                let path = directory.join(format!("capture{capture:02}{suffix}.parquet"));
                write(&path, &conditions, part)?;
            }
        }
    }
    Ok(())
}
