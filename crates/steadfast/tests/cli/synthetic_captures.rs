//! Two generated captures that overlap in time, and the comparison of an answer with what another
//! program found by the rules of docs/trace.md (`rules.py`).

use super::fixtures::{parse_json, python, succeed_json};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use steadfast_domain::io_event::{
    CapturedCgroup, CapturedDevice, CommandName, FileName, MergeCounts, RESPONSE_UNKNOWN,
    TimeZoneChange, flags,
};
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, TimeZone};
use steadfast_tracefile::TraceWriter;

pub const SECOND: u64 = 1_000_000_000;
/// 2026-11-20 22:00 UTC, 23:00 on the clock of [`two_drives`].
pub const BEGAN: u64 = 1_795_212_000 * SECOND;

/// A captured device of this size.
pub fn sized_device(name: &str, capacity: Bytes) -> CapturedDevice {
    CapturedDevice { name: name.into(), capacity: Some(capacity), ..CapturedDevice::default() }
}

/// Returns the conditions of a capture of two drives.
pub fn two_drives(lasted_ns: u64) -> CaptureConditions {
    let device = |name: &str, model: &str| CapturedDevice {
        model: Some(model.into()),
        ..sized_device(name, Bytes::gib(64))
    };
    CaptureConditions {
        software: "test".into(),
        layers: vec![Layer::Block],
        devices: vec![device("nvme0n1", "FAST"), device("sda", "SLOW")],
        began_unix_ns: Some(BEGAN),
        zone: Some(TimeZone::fixed(3600, Some("CET"))),
        lasted_ns,
        ..CaptureConditions::default()
    }
}
/// 2026-11-20 22:01:40 UTC.
pub const BEGAN_S: u64 = 1_795_212_100;
/// How much later the second capture begins, in seconds.
pub const LATER_S: u64 = 25_201;
pub const LASTED_S: u64 = 130_000;
/// The clock is put back by an hour, 5 hours and 58 minutes after the first began.
pub const ZONE_S: [i32; 2] = [7200, 3600];
pub const CHANGE_S: u64 = BEGAN_S + 21_500;

/// The first or the second capture: the drives have other numbers in each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CaptureChoice {
    First,
    Second,
}

fn devices(which: CaptureChoice) -> Vec<CapturedDevice> {
    let device = |name: &str, gib| CapturedDevice {
        model: Some(format!("Model of {name}")),
        serial: Some(format!("S-{name}")),
        ..sized_device(name, Bytes::gib(gib))
    };
    let mut devices = vec![device("nvme0n1", 64), device("sda", 32)];
    if which == CaptureChoice::Second {
        devices.reverse();
        devices.push(device("sdb", 8));
    }
    devices
}

/// Two of the cgroups have one path, as those of a service that was restarted; the files of
/// most inodes are not known.
pub fn conditions(which: CaptureChoice) -> CaptureConditions {
    let cgroup = |id, path: Option<&str>| CapturedCgroup {
        id,
        path: path.map(str::to_owned),
        ..CapturedCgroup::default()
    };
    let is_first = which == CaptureChoice::First;
    let merging = (0..2).map(|at| MergeCounts { merged: 41 + at, split: 3 * at });
    let [before, after] = ZONE_S;
    let change =
        TimeZoneChange { at_unix_s: CHANGE_S, offset_s: after, ..TimeZoneChange::default() };
    CaptureConditions {
        software: "test".into(),
        layers: vec![Layer::Block, Layer::FileSystem],
        devices: devices(which),
        began_unix_ns: Some((BEGAN_S + if is_first { 0 } else { LATER_S }) * SECOND),
        zone: Some(match which {
            CaptureChoice::First => TimeZone {
                offset_s: before,
                changes: vec![change],
                ..TimeZone::fixed(before, None)
            },
            CaptureChoice::Second => TimeZone::fixed(after, None),
        }),
        lasted_ns: LASTED_S * SECOND,
        cgroups: Some(vec![
            cgroup(1, Some("/service")),
            cgroup(77, Some("/docker/c0ffee")),
            cgroup(78, Some("/service")),
            cgroup(79, None),
        ]),
        merging: is_first.then(|| merging.collect()),
        paths: Some((1, 5)),
        files: Arc::new(vec![FileName { device: 0, inode: 12, path: "/srv/a b.db".into() }]),
        ..CaptureConditions::default()
    }
}

/// A generator of the same random numbers every time.
pub struct SeededRandom(pub u64);

impl SeededRandom {
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// True once in `of` draws on average.
    pub fn hits(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn flags(&mut self) -> u16 {
        let one_of = [2, 10, 20, 8, 9, 5, 150, 200, 3];
        let bits = [
            flags::SYNC,
            flags::FUA,
            flags::PREFLUSH,
            flags::META,
            flags::READ_AHEAD,
            flags::WRITEBACK,
            flags::FAILED,
            flags::REQUEUED,
            flags::DIRECT,
        ];
        let drawn =
            bits.into_iter().zip(one_of).map(|(bit, of)| if self.hits(of) { bit } else { 0 });
        drawn.fold(0, |all, bit| all | bit)
    }

    fn op(&mut self) -> IoOp {
        match self.below(20) {
            0 => IoOp::Flush,
            1 => IoOp::Discard,
            2 => IoOp::Other,
            n if n % 3 == 0 => IoOp::Write,
            _ => IoOp::Read,
        }
    }

    /// Mostly short; now and then over several capture steps, or unknown.
    fn response_ns(&mut self) -> u64 {
        match self.below(500) {
            0 => self.below(1_800) * SECOND,
            1..6 => RESPONSE_UNKNOWN,
            n => 10 + self.below(n * 4_000),
        }
    }
}

/// Bursts and pauses of up to 13 minutes.
fn pause_ns(draw: &mut SeededRandom) -> u64 {
    match draw.below(40) {
        0 => 1 + draw.below(100_000) * 8_000_000,
        1..10 => 1 + draw.below(2_000_000),
        _ => 1 + draw.below(60_000),
    }
}

/// Addresses: runs that continue, a small range where runs end at one address, and random places.
struct AddressGenerator([u64; 4]);

impl AddressGenerator {
    fn next(&mut self, draw: &mut SeededRandom, bytes: u64) -> u64 {
        let cursor = draw.below(4);
        match draw.below(10) {
            0..4 => {
                let at = &mut self.0[cursor as usize];
                let offset = *at;
                let is_new = draw.hits(30);
                *at =
                    if is_new { (cursor << 30) + draw.below(1024) * 4096 } else { offset + bytes };
                offset
            }
            4..7 => (5 << 30) + draw.below(400) * 4096,
            _ => (8 << 30) + draw.below(1 << 11) * 66_560,
        }
    }
}

/// 10,007 I/Os, or 9,001.
pub fn ios(which: CaptureChoice) -> Vec<IoEvent> {
    let is_first = which == CaptureChoice::First;
    let mut draw = SeededRandom(if is_first { 17 } else { 18 });
    let (mut now, mut places) = (0, AddressGenerator([0, 1 << 30, 2 << 30, 3 << 30]));
    let commands: [(u32, &str); 6] = match which {
        CaptureChoice::First => {
            [(100, "mysqld"), (101, "mysqld"), (7, "backup"), (0, ""), (55, ""), (9, "cron")]
        }
        CaptureChoice::Second => {
            [(300, "mysqld"), (7, "backup"), (8, "backup"), (0, ""), (56, ""), (9, "sshd")]
        }
    };
    let mut one = |number: u64| {
        now += pause_ns(&mut draw);
        let op = draw.op();
        let bytes = [512, 4096, 4096, 8192, 65_536, 12_345][draw.below(6) as usize];
        let bytes = if op == IoOp::Flush { 0 } else { bytes };
        let is_at_files = draw.hits(7);
        let (pid, command) = commands[draw.below(6) as usize];
        let response_ns = draw.response_ns();
        // No completion of these is in the second capture.
        let is_lost = !is_first && op == IoOp::Other;
        IoEvent {
            issued_ns: now,
            response_ns: if is_lost { RESPONSE_UNKNOWN } else { response_ns },
            queued_ns: draw.below(3) * 40_000,
            offset: if op == IoOp::Flush { 0 } else { places.next(&mut draw, bytes) },
            bytes: bytes as u32,
            depth: if is_first || draw.hits(3) { 0 } else { 1 + draw.below(70) as u32 },
            pid,
            command: CommandName::new(command),
            cgroup: draw.below(5) as u16,
            merged: if is_at_files || !is_first { 0 } else { (draw.below(5) / 3) as u16 },
            cpu: draw.below(4) as u16,
            flags: if is_first { draw.flags() } else { 0 },
            inode: if is_at_files { 12 + draw.below(3) } else { 0 },
            device: (if is_first { number % 2 } else { draw.below(7) / 3 }) as u16,
            op,
            layer: if is_at_files { Layer::FileSystem } else { Layer::Block },
            ..IoEvent::default()
        }
    };
    (0..if is_first { 10_007 } else { 9_001 }).map(&mut one).collect()
}

/// Writes I/Os as a trace file.
pub fn write_trace(path: impl AsRef<Path>, conditions: CaptureConditions, ios: &[IoEvent]) {
    let mut writer = TraceWriter::new(File::create(path).unwrap(), &conditions).unwrap();
    writer.write(ios).unwrap();
    writer.finish(conditions).unwrap();
}

/// Writes I/Os in the order in which they completed.
pub fn write(path: &Path, conditions: CaptureConditions, mut ios: Vec<IoEvent>) {
    let mut writer = TraceWriter::new(File::create(path).unwrap(), &conditions)
        .unwrap()
        .with_rows_per_group(997);
    ios.sort_by_key(|io| io.completed_ns().unwrap_or(io.issued_ns));
    writer.write(&ios).unwrap();
    writer.finish(conditions).unwrap();
}

/// Runs a script that counts; `None` with the reason printed where DuckDB is missing.
pub fn counted(place: &Path, script: &str, arguments: &[&str]) -> Option<Value> {
    fs::write(place.join("rules.py"), include_str!("rules.py")).unwrap();
    fs::write(place.join("script.py"), script).unwrap();
    let output = python(&["duckdb"], &[&["script.py"], arguments].concat(), place)?;
    Some(parse_json(&output))
}

/// The JSON answer of a trace command.
pub fn answer(place: &Path, question: &str) -> Value {
    succeed_json(place, &format!("trace {question} --json"))
}

/// Asserts that an answer is what was counted: integers exactly, quotients to 1e-9, percentiles
/// within the width of their buckets. The answer may have further fields.
#[track_caller]
pub fn assert_same(ours: &Value, counted: &Value, what: &str) {
    match counted {
        Value::Object(fields) if fields.contains_key("least") => {
            assert_within(ours, &fields["least"], &fields["within"], what);
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                assert!(ours.get(name).is_some(), "{what} has no {name}: {ours}");
                assert_same(&ours[name], value, &format!("{what}, {name}"));
            }
        }
        Value::Array(values) => {
            let rows = ours.as_array().unwrap_or_else(|| panic!("{what}: {ours} is no array"));
            assert_eq!(rows.len(), values.len(), "{what}: rows");
            for (at, (row, value)) in rows.iter().zip(values).enumerate() {
                assert_same(row, value, &format!("{what}, {at}"));
            }
        }
        Value::Number(number) if number.is_f64() => {
            let (a, b) = (ours.as_f64(), number.as_f64().unwrap());
            let is_close = a.is_some_and(|a| (a - b).abs() <= 1e-9 * b.abs());
            assert!(is_close, "{what}: {ours}, counted {b}");
        }
        _ => assert_eq!(ours, counted, "{what}"),
    }
}

#[track_caller]
fn assert_within(ours: &Value, least: &Value, width: &Value, what: &str) {
    let (least, width) = (least.as_u64().unwrap(), width.as_f64().unwrap());
    let is_within =
        ours.as_u64().is_some_and(|ns| ns >= least && (ns - least) as f64 <= least as f64 * width);
    assert!(is_within, "{what}: {ours}, counted {least} and up to {width} more");
}
