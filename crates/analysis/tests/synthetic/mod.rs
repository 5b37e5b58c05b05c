//! A made-up server: a database, its log, checkpoints and a nightly backup on two drives. Its I/Os
//! are always the same. Each user needs only a part of this.
#![allow(clippy::unwrap_used)]

use std::io::Cursor;
use steadfast_analysis::Captured;
use steadfast_domain::io_event::{CapturedDevice, CommandName, Mark, flags};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer};
use steadfast_tracefile::{StreamKey, Trace, TraceWriter};

pub const SECOND: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

/// Returns the conditions that a capture of the server would record.
pub fn conditions(seconds: u64) -> CaptureConditions {
    let device = |name: &str, model: &str, gib: u64| CapturedDevice {
        name: name.into(),
        host: None,
        model: Some(model.into()),
        serial: Some(format!("{name}-0001")),
        capacity: Some(Bytes(gib * GIB)),
        logical_sector: Some(512),
    };
    let mark = |at: u64, name: &str| Mark { at_ns: at * SECOND, name: name.into() };
    CaptureConditions {
        software: "steadfast synthetic".into(),
        source: "synthetic".into(),
        layers: vec![Layer::Block],
        host: Some("shop-db".into()),
        operating_system: Some("Debian GNU/Linux 12".into()),
        kernel: Some("6.1.0".into()),
        devices: vec![device("nvme0n1", "EXAMPLE SSD", 64), device("sda", "EXAMPLE HDD", 128)],
        began_unix_ns: Some(1_763_697_600 * SECOND),
        lasted_ns: seconds * SECOND,
        marks: vec![
            mark(seconds / 4, "opening"),
            mark(seconds / 2, "backup"),
            mark(seconds * 5 / 8, "backup ends"),
        ],
        compression_ratio: Some(3.1),
        duplicate_share: Some(0.28),
        ..CaptureConditions::default()
    }
}

/// A source of I/Os in issue order.
pub struct SyntheticServer {
    state: u64,
    now: f64,
    gap: f64,
    seconds: u64,
    log: u64,
    backup: u64,
    free: [u64; 2],
}

impl SyntheticServer {
    /// Creates a source of `rate` I/Os per second on average.
    pub fn new(seconds: u64, rate: u64) -> Self {
        let gap = SECOND as f64 / rate as f64;
        SyntheticServer { state: 7, now: 0.0, gap, seconds, log: 0, backup: 0, free: [0; 2] }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.state) % below
    }

    fn kind(&mut self) -> IoEvent {
        let second = (self.now / SECOND as f64) as u64;
        let backup = (self.seconds / 2..self.seconds * 5 / 8).contains(&second);
        let checkpoint = second % (self.seconds / 8).max(2) < self.seconds / 40 + 1;
        let io = |op, offset, bytes, pid, name: &str| IoEvent {
            op,
            offset,
            bytes,
            pid,
            command: CommandName::new(name),
            ..IoEvent::default()
        };
        let page = self.draw(1 << 19) * 8192 + GIB;
        match self.draw(100) {
            n if backup && n < 55 => {
                let (at, write) = (self.backup / 2 * 65_536, self.backup % 2 == 1);
                self.backup += 1;
                let op = if write { IoOp::Write } else { IoOp::Read };
                let base = if write { 4 * GIB } else { GIB };
                IoEvent {
                    device: u16::from(write),
                    ..io(op, base + at, 65_536, 4411, "pg_basebackup")
                }
            }
            0..30 => {
                let bytes = 8192 * (1 + self.draw(2) as u32);
                let at = self.log;
                self.log = (self.log + u64::from(bytes)) % GIB;
                let flags = flags::SYNC | flags::FUA;
                IoEvent { flags, ..io(IoOp::Write, 48 * GIB + at, bytes, 903, "walwriter") }
            }
            30..36 if checkpoint => io(IoOp::Write, page, 8192, 902, "checkpointer"),
            n @ 30..85 => {
                let pid = 2000 + (n % 5) as u32;
                // Nine of ten reads go to a tenth of the pages.
                let hot = GIB + (page - GIB) % (GIB / 2);
                io(IoOp::Read, if n < 80 { hot } else { page }, 8192, pid, "postgres")
            }
            85..95 if checkpoint => io(IoOp::Write, page, 8192, 902, "checkpointer"),
            85..97 => {
                let at = 60 * GIB + self.draw(1 << 18) * 4096;
                io(IoOp::Write, at, 4096, 77, "kworker/u8:2")
            }
            97..99 => io(IoOp::Flush, 0, 0, 903, "walwriter"),
            _ => {
                let at = 62 * GIB + self.draw(1 << 9) * (1 << 20);
                io(IoOp::Discard, at, 1 << 20, 1, "fstrim")
            }
        }
    }
}

impl Iterator for SyntheticServer {
    type Item = IoEvent;
    fn next(&mut self) -> Option<IoEvent> {
        // The load rises and falls twice during the capture.
        let phase = self.now / (self.seconds * SECOND) as f64 * 4.0 * std::f64::consts::PI;
        let wait = self.gap * (1.0 + 0.6 * phase.sin());
        let uniform = (self.draw(1 << 24) + 1) as f64 / (1 << 24) as f64;
        self.now += -uniform.ln() * wait;
        if self.now >= (self.seconds * SECOND) as f64 {
            return None;
        }
        let mut event = self.kind();
        event.issued_ns = self.now as u64;
        let device = usize::from(event.device);
        // Each drive processes one I/O at a time, so bursts queue.
        let service = if device == 0 { 20_000 } else { 150_000 };
        let service = service + u64::from(event.bytes) / 4 + self.draw(15_000);
        let slow = if self.draw(20_000) == 0 { 8_000_000 } else { 0 };
        let begin = event.issued_ns.max(self.free[device]);
        self.free[device] = begin + service / 2;
        event.response_ns = begin + service + slow - event.issued_ns;
        event.queued_ns = self.draw(3_000);
        event.cpu = self.draw(16) as u16;
        Some(event)
    }
}

/// Returns the events in the order in which a capture records them, that of completion.
pub fn by_completion(events: impl Iterator<Item = IoEvent>) -> Vec<IoEvent> {
    let mut events: Vec<IoEvent> = events.collect();
    events.sort_by_key(|event| event.completed_ns().unwrap_or(event.issued_ns));
    events
}

pub fn written(events: &[IoEvent], conditions: CaptureConditions) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &conditions).unwrap().with_rows_per_group(1009);
    writer.write(events).unwrap();
    writer.finish(conditions).unwrap()
}

pub fn opened(events: &[IoEvent], conditions: CaptureConditions) -> Trace {
    Trace::open(Cursor::new(written(events, conditions))).unwrap()
}

pub fn key(name: &str) -> StreamKey {
    name.parse().unwrap()
}

/// Returns 10,007 I/Os of five streams, mixed by a fixed rule, in the order of completion. Random
/// addresses are never adjacent; the two sequential streams are interleaved.
pub fn known() -> Vec<IoEvent> {
    let mut kinds: Vec<(u64, usize)> = [5003, 3001, 1499, 401, 103]
        .into_iter()
        .enumerate()
        .flat_map(|(kind, count)| (0..count).map(move |n| (mix64(n * 7 + kind as u64), kind)))
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds.len(), 10_007);
    let mut counts = [0u64; 5];
    let mut events = Vec::new();
    for (at, (_, kind)) in (0..).zip(kinds) {
        let n = counts[kind];
        counts[kind] += 1;
        let (op, offset, bytes) = match kind {
            0 => (IoOp::Read, (n * 7919 % 5003) * 65_536 + 8192, 4096),
            1 => (IoOp::Write, (1 << 40) + n * 131_072, 131_072),
            2 => (IoOp::Write, (2 << 40) + (n * 31 % 1499) * 65_536, 8192),
            3 => (IoOp::Read, (3 << 40) + n * 512, 512),
            _ => (IoOp::Flush, 0, 0),
        };
        events.push(IoEvent {
            issued_ns: at * 10_000,
            response_ns: 50_000 + mix64(at) % 400_000,
            op,
            offset,
            bytes,
            depth: 4,
            ..IoEvent::default()
        });
    }
    by_completion(events.into_iter())
}

/// Returns a capture of the server.
pub fn server(seconds: u64) -> Captured {
    let events = by_completion(SyntheticServer::new(seconds, 500));
    opened(&events, conditions(seconds)).into()
}
