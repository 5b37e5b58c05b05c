//! Each format written by its grammar from the same I/Os, recognized and read back.

use super::tests::{BlktraceBytes, error_of, import_ok, run_one};
use super::*;
use crate::table::{ColumnType, TableValue, TableWriter};
use std::io::Cursor;
use steadfast_domain::io_event::{CommandName, Layer, RESPONSE_UNKNOWN, flags};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};

const IOS: u64 = 1_009;
const SECOND: u64 = 1_000_000_000;
/// 2016-02-22 10:00:00 UTC, in seconds since 1970.
const BEGAN: u64 = 1_456_135_200;

/// An I/O that every format can hold: at a whole second, at a sector.
#[derive(Clone, Copy)]
struct KnownIo {
    second: u64,
    sector: u64,
    sectors: u64,
    is_read: bool,
    response_us: u64,
}

fn known() -> impl Iterator<Item = KnownIo> {
    (0..IOS).map(|n| KnownIo {
        second: n * n / 7,
        sector: n * 10_007 % 99_991 * 8,
        sectors: 1 + n % 256,
        is_read: n % 3 == 0,
        response_us: 1 + n * 31 % 4_001,
    })
}

fn letter(io: &KnownIo) -> char {
    if io.is_read { 'R' } else { 'W' }
}

struct KnownFormat {
    name: &'static str,
    write: fn(&KnownIo) -> Vec<u8>,
    /// True if its records prove its units.
    is_proven: bool,
    has_times: bool,
    has_responses: bool,
}

const fn known_format(name: &'static str, write: fn(&KnownIo) -> Vec<u8>) -> KnownFormat {
    KnownFormat { name, write, is_proven: true, has_times: true, has_responses: false }
}

impl KnownFormat {
    fn recognized(&self) -> Option<RecognizedFormat> {
        let format = TraceFormat::named(self.name).unwrap();
        Some(if self.is_proven {
            RecognizedFormat::Proven(format)
        } else {
            RecognizedFormat::Possible(vec![format])
        })
    }
}

fn known_formats() -> Vec<KnownFormat> {
    let unproven = |format| KnownFormat { is_proven: false, ..format };
    let with_response = |format| KnownFormat { has_responses: true, ..format };
    vec![
        with_response(known_format("msr-cambridge", |io| {
            let ticks = (BEGAN + io.second + (369 * 365 + 89) * 86_400) * 10_000_000;
            let op = if io.is_read { "Read" } else { "Write" };
            let (at, size) = (io.sector * 512, io.sectors * 512);
            format!("{ticks},usr,0,{op},{at},{size},{}\n", io.response_us * 10).into()
        })),
        known_format("alibaba", |io| {
            let (at, size, time) = (io.sector * 512, io.sectors * 512, BEGAN + io.second);
            format!("419,{},{at},{size},{time}000000\n", letter(io)).into()
        }),
        unproven(known_format("tencent", |io| {
            let op = u8::from(!io.is_read);
            format!("{},{},{},{op},1063\n", BEGAN + io.second, io.sector, io.sectors).into()
        })),
        unproven(with_response(known_format("systor17", |io| {
            let (at, size, time) = (io.sector * 512, io.sectors * 512, BEGAN + io.second);
            let response = format!("0.{:06}000", io.response_us);
            format!("{time}.000000000,{response},{},4,{at},{size}\n", letter(io)).into()
        }))),
        unproven(known_format("spc", |io| {
            let op = letter(io).to_ascii_lowercase();
            format!("1,{},{},{op},{}.000000\n", io.sector, io.sectors * 512, io.second).into()
        })),
        known_format("fiu", |io| {
            let (time, op) = (io.second * SECOND, letter(io));
            let digest = "0123456789abcdef".repeat(2);
            format!("{time} 20782 gzip {} {} {op} 6 0 {digest}\n", io.sector, io.sectors).into()
        }),
        unproven(known_format("cloudphysics-csv", |io| {
            let op = if io.is_read { "28" } else { "2a" };
            format!("1,{},{op},{},{}\n", io.second, io.sectors * 512, io.sector).into()
        })),
        KnownFormat {
            is_proven: false,
            has_times: false,
            ..known_format("fio-iolog-1", |io| {
                let op = u8::from(!io.is_read);
                format!("{op}, {}, {}\n", io.sector * 512, io.sectors * 512).into()
            })
        },
        unproven(with_response(known_format("fio-latency-log", |io| {
            // Written at completion, in whole milliseconds; the test's responses are cut to them.
            let (done, ns) = (io.second * 1_000 + 5, io.response_us * 1_000);
            let (op, size) = (u8::from(!io.is_read), io.sectors * 512);
            format!("{done}, {ns}, {op}, {size}, {:#x}, 0\n", io.sector * 512).into()
        }))),
        known_format("vscsi1", |io| {
            let (cmd, ver) = (if io.is_read { 0x28u16 } else { 0x2a }, 0x0100u16);
            let mut record = Vec::new();
            record.extend([7, (io.sectors * 512) as u32, 1].map(u32::to_le_bytes).concat());
            record.extend([cmd, ver].map(u16::to_le_bytes).concat());
            record.extend([io.sector, io.second * 1_000_000].map(u64::to_le_bytes).concat());
            record
        }),
        known_format("vscsi2", |io| {
            let (cmd, ver) = (if io.is_read { 0x88u16 } else { 0x8a }, 0x0200u16);
            let mut record = [cmd, ver].map(u16::to_le_bytes).concat();
            record.extend([7, (io.sectors * 512) as u32, 1].map(u32::to_le_bytes).concat());
            record.extend([io.sector, io.second * 1_000_000, 250].map(u64::to_le_bytes).concat());
            record
        }),
    ]
}

fn file_of(format: &KnownFormat) -> Vec<u8> {
    known().flat_map(|io| (format.write)(&io)).collect()
}

#[test]
fn each_format_is_recognized_and_read_back() {
    for format in known_formats() {
        let (name, bytes) = (format.name, file_of(&format));
        let named = TraceFormat::named(name).unwrap();
        assert_eq!(recognize_any(&bytes[..bytes.len().min(4_001)]), format.recognized(), "{name}");
        assert_eq!(named.name(), name);
        let (result, events) = import_ok(&named, bytes);
        assert_eq!(result.events, IOS, "{name}");
        for (io, event) in known().zip(&events) {
            let op = if io.is_read { IoOp::Read } else { IoOp::Write };
            let place = (event.op, event.offset, event.bytes);
            assert_eq!(place, (op, io.sector * 512, (io.sectors * 512) as u32), "{name}");
            let response_ns =
                if format.has_responses { io.response_us * 1_000 } else { RESPONSE_UNKNOWN };
            assert_eq!(event.response_ns, response_ns, "{name}");
            let issued_ns = match name {
                "fio-latency-log" => io.second * SECOND + 5_000_000 - response_ns,
                _ if format.has_times => io.second * SECOND,
                _ => 0,
            };
            assert_eq!(event.issued_ns, issued_ns, "{name}");
        }
    }
}

/// A damaged line does not prevent recognition; the import ends at it and names it.
#[test]
fn a_damaged_record_is_named_with_the_records_before() {
    for format in known_formats() {
        let (name, bytes) = (format.name, file_of(&format));
        let named = TraceFormat::named(name).unwrap();
        if let Ok(text) = String::from_utf8(bytes.clone()) {
            for line in [1, 41] {
                let lines = text.lines().enumerate();
                let damage = |(at, own)| if at + 1 == line { "1x,1x,9,9x,9,9,,9 !" } else { own };
                let damaged: Vec<&str> = lines.map(damage).collect();
                let damaged = damaged.join("\n");
                assert_eq!(recognize_any(damaged.as_bytes()), format.recognized(), "{name}");
                let (result, events) = run_one(&named, damaged);
                let error = result.unwrap_err().to_string();
                let (place, read) = (format!("line {line}:"), format!("({} rec", line - 1));
                assert!(error.contains(&place) && error.contains(&read), "{name}: {error}");
                assert_eq!(events.len(), line - 1, "{name}");
            }
        } else {
            // The other byte order, for fields of 16 bits.
            let swapped: Vec<u8> = bytes.chunks_exact(2).flat_map(|two| [two[1], two[0]]).collect();
            assert_eq!(recognize(&swapped), None, "{name}");
            let error = error_of(&named, swapped);
            assert!(error.contains("record 1:") && error.contains("endian"), "{name}: {error}");
        }
    }
}

/// A crash of the host leaves a file cut or filled with zeros, perhaps after the first sectors of a
/// record: the whole records are read.
#[test]
fn binary_records_are_read_up_to_a_cut_or_zeros() {
    let formats = known_formats();
    for format in formats.iter().filter(|format| format.name.starts_with("vscsi")) {
        let (name, bytes) = (format.name, file_of(format));
        let size = bytes.len() / IOS as usize;
        let zeros = |whole: usize| [&bytes[..whole], &[0; 5_000]].concat();
        for (content, whole) in [
            (bytes[..bytes.len() - 7].to_vec(), 1_008),
            (zeros(bytes.len()), 1_009),
            (zeros(7 * 512), 7 * 512 / size),
            (zeros(5 * 4096), 5 * 4096 / size),
        ] {
            let (imported, events) = import_ok(&TraceFormat::named(name).unwrap(), content);
            assert_eq!((events.len(), imported.cut.len()), (whole, 1), "{name}");
            assert_eq!((imported.records, imported.conditions.lost), (whole as u64, 1), "{name}");
        }
    }
}

#[test]
fn sizes_and_times_beyond_the_usual_are_named() {
    let spc = TraceFormat::named("spc").unwrap();
    let too_long = "0,8,512,r,0.5\n0,8,4294967296,w,1.5\n";
    let error = error_of(&spc, too_long);
    assert!(error.contains("line 2: 4294967296 bytes"), "{error}");
    let odd = "0,8,512,r,9.5\n0,8,0,w,10.5\n0,16,512,w,10.0\n0,24,512,r,11.0\n0,24,512,r,2.0\n";
    let (result, events) = import_ok(&spc, odd);
    let remarks = result.conditions.remarks.join(" ");
    assert!(remarks.contains("backward 2 times, first at line 3"), "{remarks}");
    assert!(remarks.contains("1 I/Os have no data (size 0), first at line 2"), "{remarks}");
    assert_eq!(events.len(), 5);
    // Systor '17: an I/O may have no operation and no response.
    let header = "Timestamp,Response,IOType,LUN,Offset,Size\n";
    let text = format!("{header}1456135200.5,,,4,512,1024\n1456135201.5,0.001,W,4,0,512\n");
    let systor = TraceFormat::named("systor17");
    assert_eq!(recognize(text.as_bytes()), systor);
    let (result, events) = import_ok(&systor.unwrap(), text);
    assert_eq!((events[0].op, events[0].response_ns), (IoOp::Other, RESPONSE_UNKNOWN));
    let began = result.conditions.began_unix_ns;
    assert_eq!((events[1].op, began), (IoOp::Write, Some(BEGAN * SECOND + SECOND / 2)));
    // A control command of SCSI moves no data.
    let mut vscsi = file_of(&known_formats()[10]);
    vscsi[0] = 0x1b;
    let (_, events) = run_one(&TraceFormat::named("vscsi2").unwrap(), vscsi);
    assert_eq!(events[0].op, IoOp::Other);
}

/// Objects are no addresses unless the user says so.
#[test]
fn oracle_general_has_no_addresses_and_operations_by_itself() {
    let record = |time: u32, object: u64, size: u32, next: i64| {
        let head = [&time.to_le_bytes()[..], &object.to_le_bytes()].concat();
        [head, size.to_le_bytes().to_vec(), next.to_le_bytes().to_vec()].concat()
    };
    let bytes: Vec<u8> = (0..503u32)
        .flat_map(|n| {
            record(n / 7, u64::from(n) % 101, 4_096, if n < 402 { i64::from(n) + 102 } else { -1 })
        })
        .collect();
    let named = TraceFormat::named("oracle-general").unwrap();
    assert_eq!(recognize(&bytes[..4_096]), Some(named.clone()));
    let (result, events) = import_ok(&named, bytes.clone());
    assert!(result.conditions.remarks.concat().contains("--csv time=1:s,op=read"));
    assert!(events.iter().all(|e| (e.op, e.offset, e.bytes) == (IoOp::Other, 0, 4_096)));
    let plan = ColumnPlan::parse("time=1:s,op=read,offset=2:sectors,bytes=3").unwrap();
    let (_, events) = run_one(&TraceFormat::Records("oracle-general", plan), bytes);
    let last = events[502];
    assert_eq!((last.op, last.offset, last.issued_ns), (IoOp::Read, 502 % 101 * 512, 71 * SECOND));
}

/// In version 8 the process precedes the action, which is wider and has categories for zones.
#[test]
fn blktrace_records_of_both_versions_may_be_mixed() {
    for big in [false, true] {
        let mut bin = BlktraceBytes::new(big);
        bin.wide_record(0, 1 << 26, 0, 0, b"zoned\0");
        bin.wide_record(100, 7 | 1 << 17, 80, 4_096, &[]);
        bin.record(200, 7 | 1 << 16, 160, 512, &[]);
        bin.wide_record(300, 7 | 1 << 33, 0, 0, &[]);
        bin.wide_record(400, 8 | 1 << 33, 0, 0, &[]);
        bin.wide_record(700, 8 | 1 << 17, 80, 4_096, &[]);
        bin.record(800, 8 | 1 << 16, 160, 512, &[]);
        let bytes = bin.bytes;
        assert_eq!(recognize(&bytes), Some(TraceFormat::Blktrace));
        let cut = bytes[..bytes.len() - 50].to_vec();
        let (result, events) = import_ok(&TraceFormat::Blktrace, bytes);
        assert_eq!(result.records, 7);
        let seen: Vec<_> =
            events.iter().map(|e| (e.op, e.offset, e.response_ns, e.pid, e.cpu)).collect();
        let expected = [
            (IoOp::Other, 0, 100, 42, 3),
            (IoOp::Write, 40_960, 600, 42, 3),
            (IoOp::Read, 81_920, 600, 42, 3),
        ];
        assert_eq!(seen, expected);
        assert_eq!(events[1].command, CommandName::new("zoned"));
        let (result, events) = import_ok(&TraceFormat::Blktrace, cut);
        assert_eq!((result.records, events.len()), (5, 3));
    }
}

#[test]
fn block_events_are_read_as_perf_and_ftrace_print_them() {
    let perf = "# captured on: Mon\n\
        fio worker   697/701 [003]  12.000001:    block:block_rq_issue: 8,16 WS 4096 () 80 + 8 none,0,0 [fio worker]\n\
        \tffffffff8137897c blk_mq_start_request ([kernel.kallsyms])\n\
        swapper     0 [001]    12.000050: sched:sched_switch: prev_comm=a\n\
        swapper     0 [001]    12.000101: block:block_rq_complete: 8,16 WS () 80 + 8 none,0,0 [0]\n\
        kworker/0:1H    44 [000] 12.000200: block:block_rq_issue: 8,16 FF 0 () 18446744073709551615 + 0 [kworker/0:1H]\n\
        swapper     0 [001]    12.000500: block:block_rq_complete: 8,16 FF () 18446744073709551615 + 0 [-5]\n";
    let ftrace = perf
        .replace("fio worker   697/701 [003]", "  fio worker-697 (697) [003] d..1.")
        .replace("block:block_", "block_")
        .replace("swapper     0", "<idle>-0");
    for text in [perf, &ftrace] {
        assert_eq!(recognize(text.as_bytes()), Some(TraceFormat::BlockEvents));
        let (imported, events) = import_ok(&TraceFormat::BlockEvents, text);
        assert_eq!((imported.records, imported.passed_over), (7, 3), "{text}");
        assert_eq!(imported.conditions.devices[0].name, "8:16");
        let [write, flush] = events[..] else { panic!("{events:?}") };
        assert_eq!((write.op, write.offset, write.bytes), (IoOp::Write, 40_960, 4_096));
        assert_eq!((write.issued_ns, write.response_ns), (0, 100_000));
        assert_eq!((write.pid, write.cpu, write.flags), (697, 3, flags::SYNC));
        assert_eq!(write.command.to_string(), "fio worker");
        assert_eq!((flush.op, flush.offset, flush.issued_ns), (IoOp::Flush, 0, 199_000));
        let flags = flags::FAILED | flags::PREFLUSH;
        assert_eq!((flush.response_ns, flush.flags), (300_000, flags));
    }
    let damaged = perf.replace("() 80 + 8 none,0,0 [0]", "() 80 8");
    let error = error_of(&TraceFormat::BlockEvents, damaged);
    assert!(error.contains("line 5: expected device") && error.contains("(4 rec"), "{error}");
    let lossy = format!("cpus=4\nCPU 2 is empty\n{perf}CPU:3 [LOST 12 EVENTS]\n");
    assert_eq!(recognize(lossy.as_bytes()), Some(TraceFormat::BlockEvents));
    assert_eq!(import_ok(&TraceFormat::BlockEvents, lossy).0.conditions.lost, 12);
}

/// Times before any clock, sizes of no whole sectors, numbers that overflow.
#[test]
fn texts_that_only_resemble_a_format_are_not_recognized() {
    for text in [
        "17,usr,0,Read,4096,512,9\n18,usr,0,Read,4096,512,9\n",
        "5,70,8,0,1063\n6,71,8,1,1064\n",
        "dev,offset_bytes,size,op,time_us\n0,4096,512,R,1000\n0,8192,512,W,2000\n",
        "op,size,offset\n0,512,4096\n1,512,8192\n",
        "18446744073709551615:00:00.1 read(3, 1) = 1\n",
    ] {
        assert_eq!(recognize(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn strace_survives_positions_and_sizes_that_no_file_has() {
    let text = "7 9.5 lseek(3</a>, 9, SEEK_SET) = 18446744073709551615\n\
                7 9.6 read(3</a>, 1, 9) = 9\n7 9.7 read(3</a>, 1, 9) = 9\n\
                7 9.8 preadv(3</a>, [], 2, 512) = -1 EIO (x)\n";
    let (result, events) = import_ok(&TraceFormat::Strace, text);
    let places: Vec<(u64, u32)> = events.iter().map(|e| (e.offset, e.bytes)).collect();
    assert_eq!(places, [(u64::MAX, 9), (512, 0)]);
    assert_eq!(result.conditions.unseen[0].1, 1);
}

/// Unfinished calls are kept up to a limit, and dropped when their process ends.
#[test]
fn strace_keeps_unfinished_calls_up_to_a_limit() {
    let text = "x".repeat(50_000);
    let log = |end: &str| -> String {
        let lines = |pid: u32| {
            format!("{pid} 9.5 read(3</a>, \"{text}\", <unfinished ...>\n{pid} 9.6 {end}\n")
        };
        (1..1_500).map(lines).collect()
    };
    let error = error_of(&TraceFormat::Strace, log("--- SIGIO ---"));
    assert!(error.contains("1341 unfinished calls are too many"), "{error}");
    let read = "7 9.7 pread64(3</a>, \"\", 9, 0) = 9 <0.1>\n";
    let ended = log("+++ exited with 0 +++") + read;
    let (result, events) = import_ok(&TraceFormat::Strace, ended);
    assert_eq!((result.conditions.unfinished, events.len()), (1_499, 1));
}

/// Positions follow open, seek, reads of several threads, a fork's copy, and O_APPEND is unknown.
#[test]
fn strace_determines_the_offsets_of_calls() {
    let text = r#"strace: Process 8 attached
7  23:59:59.000000 execve("/usr/bin/db", ["db"], 0x7 /* 9 vars */) = 0 <0.000200>
7  23:59:59.500000 openat(AT_FDCWD</>, "/d, 1/a", O_RDWR|O_DIRECT) = 3</d, 1/a> <0.000010>
7  23:59:59.600000 pwrite64(3</d, 1/a>, "a = b) = 7 <0.5>"..., 4096, 8192) = 4096 <0.000100>
7  23:59:59.700000 read(3</d, 1/a>, "x", 512) = 512 <0.000050>
7  23:59:59.800000 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD}, 88) = 8 <0.000010>
8  23:59:59.900000 read(3</d, 1/a>,  <unfinished ...>
7  00:00:00.000000 lseek(3</d, 1/a>, 65536, SEEK_SET) = 65536 <0.000002>
8  00:00:00.100000 <... read resumed>"y", 512) = 512 <0.200000>
[pid     8] 00:00:00.200000 fsync(3</d, 1/a>)    = -1 EIO (Input/output error) <0.000300>
7  00:00:00.300000 openat(AT_FDCWD</>, "/b", O_WRONLY|O_APPEND) = 4</b> <0.000010>
7  00:00:00.400000 write(4</b>, "z", 1) = 1 <0.000010>
7  00:00:00.500000 write(1</dev/pts/0<char 136:0>>, "z", 1) = 1 <0.000010>
7  00:00:00.600000 io_uring_enter(5, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1 <0.000010>
7  00:00:00.700000 pread64(3</d, 1/a>, 0x7, 4096, 4096) = -1 EIO (Input/output error) <0.000010>
7  00:00:00.800000 +++ exited with 0 +++
"#;
    assert_eq!(recognize(text.as_bytes()), Some(TraceFormat::Strace));
    let (ImportResult { conditions, .. }, events) = import_ok(&TraceFormat::Strace, text);
    let ms = 1_000_000;
    let seen: Vec<_> =
        events.iter().map(|e| (e.op, e.offset, e.bytes, e.issued_ns / ms, e.response_ns)).collect();
    let expected = [
        (IoOp::Write, 8_192, 4_096, 600, 100_000),
        (IoOp::Read, 0, 512, 700, 50_000),
        (IoOp::Read, 65_536, 512, 900, 200_000_000),
        (IoOp::Flush, 0, 0, 1_200, 300_000),
        (IoOp::Read, 4_096, 4_096, 1_700, 10_000),
    ];
    assert_eq!(seen, expected);
    let is_file = |e: &IoEvent| (e.layer, e.inode, e.pid) == (Layer::FileSystem, 1, 7);
    assert!(events.iter().all(|e| is_file(e) && e.command == CommandName::new("db")));
    let both = flags::DIRECT | flags::FAILED;
    assert_eq!([events[1].flags, events[3].flags], [flags::DIRECT, both]);
    let paths: Vec<&str> = conditions.files.iter().map(|file| &*file.path).collect();
    assert_eq!((paths, conditions.unseen.len()), (vec!["/d, 1/a", "/b"], 2));
    let error = error_of(&TraceFormat::Strace, "7 9.5 read(3</a>, 1) = 1\nx\n");
    assert!(error.contains("line 2") && error.contains("-ttt"), "{error}");
}

const MAPPING: &str = r#"
    name = "pandas"
    time = { column = "ts", unit = "us", epoch = "unix" }
    op = { column = "kind", values = { "0" = "write", "1" = "read" } }
    offset = { column = "lba", unit = "sectors" }
    bytes = "size"
    response = { column = "lat", unit = "ms" }
    device = ["host", "disk"]
"#;

/// pandas stores integers as floating-point numbers where a value is missing.
#[test]
fn a_mapping_reads_text_and_parquet_by_names() {
    let mapping = ColumnMapping::parse(MAPPING).unwrap();
    let text = "disk,host,size,lat,lba,kind,ts\n0,a,4096.0,0.5,8.0,1.0,1456135200000000.0\n\
                0,a,512.0,,16.0,0.0,1456135200000250.0\n";
    let rows = |size: f64| {
        let text = |text: &str| TableValue::Text(text.to_owned());
        [(0, 4_096.0, Some(0.5), 8.0, 1.0), (250, size, None, 16.0, 0.0)].map(
            |(us, size, lat, lba, kind)| {
                let time = (BEGAN * 1_000_000 + us) as i64;
                vec![
                    TableValue::Integer(0),
                    text("a"),
                    TableValue::Number(size),
                    lat.map_or(TableValue::Number(f64::NAN), TableValue::Number),
                    TableValue::Number(lba),
                    TableValue::Number(kind),
                    TableValue::Integer(time),
                ]
            },
        )
    };
    let parquet = |size: f64| {
        let columns = [
            ("disk", ColumnType::Integer),
            ("host", ColumnType::Text),
            ("size", ColumnType::Number),
            ("lat", ColumnType::Number),
            ("lba", ColumnType::Number),
            ("kind", ColumnType::Number),
            ("ts", ColumnType::Integer),
        ];
        let mut writer = TableWriter::new(Vec::new(), &columns, &[]).unwrap();
        writer.add(&rows(size)).unwrap();
        Cursor::new(writer.finish().unwrap())
    };
    let of_parquet = |mapping: &ColumnMapping, size: f64| {
        let mut events = Vec::new();
        let mut sink = |event: &IoEvent| {
            events.push(*event);
            Ok(())
        };
        (import_parquet(mapping, "t", parquet(size), &mut sink), events)
    };
    for (result, events) in
        [run_one(&TraceFormat::Named(mapping.clone()), text), of_parquet(&mapping, 512.0)]
    {
        let conditions = result.unwrap().conditions;
        assert_eq!((&*conditions.source, &*conditions.devices[0].name), ("pandas", "a.0"));
        assert_eq!(conditions.began_unix_ns, Some(BEGAN * SECOND));
        let seen: Vec<_> =
            events.iter().map(|e| (e.op, e.offset, e.bytes, e.issued_ns, e.response_ns)).collect();
        let read = (IoOp::Read, 4_096, 4_096, 0, 500_000);
        assert_eq!(seen, [read, (IoOp::Write, 8_192, 512, 250_000, RESPONSE_UNKNOWN)]);
    }
    let half = text.replace("512.0", "512.5");
    let error = error_of(&TraceFormat::Named(mapping.clone()), half);
    assert!(error.contains("line 3: expected a size in column 3, found '512.5'"), "{error}");
    let error = of_parquet(&mapping, 512.5).0.unwrap_err().to_string();
    assert!(error.contains("row 2: expected a size in column size, found '512.5'"), "{error}");
    assert!(error.contains("(1 records"), "{error}");
    let other = ColumnMapping::parse(&MAPPING.replace("\"lat\"", "\"delay\"")).unwrap();
    let error = of_parquet(&other, 512.0).0.unwrap_err().to_string();
    assert!(error.contains("no column 'delay'; the columns are: disk, host, size"), "{error}");
    for (wrong, what) in [
        ("bytes = \"n\"", "time is missing"),
        ("time = 3", "time: expected the name"),
        ("when = \"t\"", "when: unknown key"),
        ("time = { column = \"t\", unit = \"KiB\" }", "time: "),
        ("op = { always = \"erase\" }", "op: unknown operation"),
        ("bytes = { column = \"n\", units = \"KiB\" }", "unknown key 'units'"),
        ("[", "invalid"),
    ] {
        let error = ColumnMapping::parse(wrong).unwrap_err();
        assert!(error.contains(what), "{wrong}: {error}");
    }
}

#[test]
fn text_after_the_summary_of_blkparse_is_refused() {
    let events = "  8,0    0        1     0.000000100   697  D   R 0 + 8 [fio]\n  8,0    0        2     \
                  0.000000900   697  C   R 0 + 8 [0]\n";
    let summary = "CPU0 (8,0):\n Reads Queued:           1,        4KiB\n\nEvents (8,0): 2 entries\n\
                   Skips: 0 forward (0 -   0.0%)\n";
    let whole = format!("{events}{summary}");
    assert_eq!(imported_text(&TraceFormat::Blkparse, &whole).unwrap(), 1);
    for tail in [events, "128166372003061629,hm,1,Read,383496192,32768,413\n"] {
        let error = imported_text(&TraceFormat::Blkparse, &format!("{whole}{tail}")).unwrap_err();
        assert!(matches!(error, ImportError::Malformed { read: 2, .. }), "{error}");
    }
}

#[test]
fn an_io_that_ends_beyond_the_largest_address_is_refused() {
    let log = "fio version 3 iolog\n0 a add\n0 a open\n9 a read 18446744073709551615 4096\n";
    let error = imported_text(&TraceFormat::FioIolog, log).unwrap_err();
    assert!(matches!(error, ImportError::Malformed { read: 2, .. }), "{error}");
    let log = "1, 500, 0, 4096, 18446744073709551615, 0\n";
    let error = imported_text(&TraceFormat::FioLatencyLog, log).unwrap_err();
    assert!(matches!(error, ImportError::Malformed { read: 0, .. }), "{error}");
}

/// Imports a text and returns the number of its I/Os.
fn imported_text(format: &TraceFormat, text: &str) -> Result<u64, ImportError> {
    run_one(format, text).0.map(|imported| imported.events)
}

/// Imports a log of strace and returns the I/Os' operations, offsets and sizes, and the conditions.
fn straced(text: &str) -> (Vec<(IoOp, u64, u32)>, CaptureConditions) {
    let (result, events) = import_ok(&TraceFormat::Strace, text);
    let seen = events.iter().map(|event| (event.op, event.offset, event.bytes)).collect();
    (seen, result.conditions)
}

const PREAD: &str = "7 9.9 pread64(3</db>, \"\", 512, 8192) = 512 <0.1>\n";
const PREAD_IO: (IoOp, u64, u32) = (IoOp::Read, 8_192, 512);

/// Calls that the kernel refuses before any I/O, that a signal interrupts, or that end with their
/// process are no I/Os; an I/O that was cut off is counted.
#[test]
fn strace_survives_calls_that_do_no_io() {
    for (line, cut) in [
        ("7 9.5 read(-1, 0x7, 512) = -1 EBADF (Bad file descriptor) <0.1>", 0),
        ("7 9.5 pread64(3</db>, 0x7, 512, -1) = -1 EINVAL (Invalid argument) <0.1>", 0),
        ("7 9.5 preadv2(3</db>, 0x7, 1, -9, 0) = -1 EINVAL (Invalid argument) <0.1>", 0),
        ("7 9.5 pread64(3</db>,  <unfinished ...>) = ?", 1),
        ("7 9.5 pread64(3</db>, <unfinished ...>\n7 9.6 +++ killed by SIGKILL +++", 1),
        (
            "7 9.5 pread64(3</db>, <unfinished ...>\n7 9.6 <... pread64 resumed> <unfinished ...>) = ?",
            1,
        ),
        (
            "7 9.5 pread64(3</db>, <unfinished ...>\n7 9.6 <... pread64 resumed> <unfinished ...>\n7 9.7 +++ killed by SIGKILL +++",
            1,
        ),
        ("7 9.5 pread64(3</db>,  <detached ...>", 1),
        ("7 9.5 read(3</db>, 0x7, 512) = ? ERESTARTSYS (To be restarted)", 0),
        ("7 9.5 exit_group(0) = ?", 0),
        ("7 9.5 restart_syscall(<... resuming interrupted read ...>) = 0 <0.1>", 0),
        ("7 9.5 openat(AT_FDCWD</>, \"/x/a) = b\", O_RDWR) = 4</x/a) = b> <0.1>", 0),
        ("7 9.5 ioctl(3</db>, FIONREAD, [1<<2]) = 0 <0.1>", 0),
    ] {
        let text = format!("{line}\n{}", PREAD.replace("7 9.9", "8 9.9"));
        let (seen, conditions) = straced(&text);
        assert_eq!((&seen[..], conditions.unfinished), (&[PREAD_IO][..], cut), "{line}");
    }
    let renamed = "7 9.5 pwrite64(3</x/\u{e9}) = b>, \"\\\") = 1\", 512, 8192) = 512 <0.1>\n";
    let (seen, conditions) = straced(renamed);
    assert_eq!(seen, [(IoOp::Write, 8_192, 512)]);
    assert_eq!(conditions.files[0].path, "/x/\u{e9}) = b");
}

/// Among the calls without a beginning or an end, only I/Os on files count.
#[test]
fn strace_counts_incomplete_ios() {
    let text = format!(
        "7 9.1 <... read resumed>\"y\", 512) = 512 <0.2>\n\
         7 9.1 <... futex resumed>) = 0 <0.2>\n\
         7 9.2 futex(0x7, FUTEX_WAIT, <unfinished ...>\n\
         8 9.2 epoll_wait(4<anon_inode:[eventpoll]>, <unfinished ...>\n\
         9 9.2 read(0</dev/pts/0>, <unfinished ...>\n\
         10 9.2 pread64(3</db>, <unfinished ...>\n\
         11 9.2 fsync(3</db> <unfinished ...>\n\
         11 9.3 write(3</db>, <unfinished ...>\n\
         7 9.3 +++ exited with 0 +++\n{PREAD}"
    );
    let (seen, conditions) = straced(&text);
    assert_eq!(seen, [PREAD_IO]);
    // The read begun before; pread64, fsync and write without an end.
    assert_eq!(conditions.unfinished, 4);
}

#[test]
fn strace_follows_seeks_and_append_mode() {
    let (seen, conditions) = straced(
        "7 9.1 openat(AT_FDCWD, \"data/O_APPEND\", O_RDWR) = 3\n\
         7 9.2 _llseek(3, 4294967296, [4294967296], SEEK_SET) = 0\n\
         7 9.3 read(3, \"\", 512) = 512\n\
         7 9.4 openat2(AT_FDCWD, \"/b\", {flags=O_RDWR|O_APPEND, mode=0}, 24) = 4\n\
         7 9.5 lseek(4, 0, SEEK_SET) = 0\n\
         7 9.6 write(4, \"\", 512) = 512\n\
         7 9.7 pwrite64(4, \"\", 512, 0) = 512\n\
         7 9.8 fcntl(4, F_SETFL, O_RDWR|O_DIRECT) = 0\n\
         7 9.9 pwrite64(4, \"\", 512, 1024) = 512\n",
    );
    assert_eq!(seen, [(IoOp::Read, 1 << 32, 512), (IoOp::Write, 1024, 512)]);
    assert_eq!((conditions.unseen.len(), conditions.unseen[0].1), (1, 2));
    let paths: Vec<&str> = conditions.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["data/O_APPEND", "/b"]);
}

/// Without -y, the paths are those of the calls that open.
#[test]
fn strace_imports_storage_only() {
    let (seen, conditions) = straced(
        "7 9.1 openat(AT_FDCWD, \"/proc/stat\", O_RDONLY) = 3\n\
         7 9.2 read(3, \"\", 512) = 512\n\
         7 9.3 openat(AT_FDCWD, \"/dev/urandom\", O_RDONLY) = 4\n\
         7 9.4 read(4, \"\", 16) = 16\n\
         7 9.5 process_vm_writev(8, [], 1, [], 1, 0) = 9\n\
         7 9.6 sendfile64(5, 3, NULL, 9) = 9\n\
         7 9.7 openat(AT_FDCWD, \"/db\", O_RDONLY) = 3\n\
         7 9.8 read(3, \"\", 512) = 512\n",
    );
    assert_eq!(seen, [(IoOp::Read, 0, 512)]);
    let unseen: Vec<u64> = conditions.unseen.iter().map(|(_, count)| *count).collect();
    assert_eq!((unseen, &*conditions.files[0].path), (vec![1], "/db"));
}

/// strace -f may print the first calls of a child before the end of the call that starts it.
#[test]
fn strace_keeps_what_a_child_did_before_its_parent_returned() {
    let text = "7 9.0 execve(\"/bin/sh\", [], 0x7) = 0\n\
         7 9.1 openat(AT_FDCWD</>, \"/a\", O_RDWR) = 3</a> <0.1>\n\
         7 9.2 vfork( <unfinished ...>\n\
         8 9.3 execve(\"/bin/db\", [], 0x7) = 0\n\
         8 9.4 openat(AT_FDCWD</>, \"/b\", O_RDWR) = 4</b> <0.1>\n\
         8 9.5 pread64(3</a>, \"\", 512, 8192) = 512 <0.1>\n\
         7 9.6 <... vfork resumed>) = 8 <0.4>\n\
         8 9.7 read(4</b>, \"\", 512) = 512 <0.1>\n\
         8 9.8 read(3</a>, \"\", 4096) = 4096 <0.1>\n";
    let (result, events) = import_ok(&TraceFormat::Strace, text);
    assert_eq!(result.conditions.unseen, []);
    let seen: Vec<_> = events.iter().map(|e| (e.inode, e.offset, e.bytes, e.pid, e.tid)).collect();
    assert_eq!(seen, [(1, 8_192, 512, 8, 8), (2, 0, 512, 8, 8), (1, 0, 4_096, 8, 8)]);
    assert!(events.iter().all(|event| event.command == CommandName::new("db")));
}

/// A column that is given twice would silently be the last one.
#[test]
fn a_plan_with_a_repeated_or_impossible_column_is_refused() {
    let plan = "time=2:us,op=3,offset=5:sectors,bytes=4";
    assert!(ColumnPlan::parse(plan).is_ok());
    assert!(ColumnPlan::parse(&format!("{plan},device=1,device=6")).is_ok());
    assert_eq!(ColumnPlan::parse(&format!("{plan},columns=65535")).unwrap().columns, Some(65_535));
    for more in ["bytes=6", "time=7", "pid=8,pid=9", "columns=65536", "columns=0", "skip=1,skip=2"]
    {
        assert!(ColumnPlan::parse(&format!("{plan},{more}")).is_err(), "{more}");
    }
}

/// Each text has two good I/Os; a joined line is refused and a cut end is counted.
#[test]
fn joined_and_cut_lines_do_not_become_other_numbers() {
    let csv = ColumnPlan::parse("time=1,op=2,offset=3,bytes=4").unwrap();
    let command = "time=1,command=2,op=3,offset=4,bytes=5,separator=space,columns=5";
    let command = ColumnPlan::parse(command).unwrap();
    let cases = [
        (TraceFormat::Blkparse, "", "8,0 1 1 0.5 7 D R 8 + 8 [a]", "8,0 1 1 0.6 7 D R 80 + 8 [a]"),
        (
            TraceFormat::BlockEvents,
            "",
            "a 7 [003] 1.5: block:block_rq_issue: 8,16 R 4096 () 80 + 8 [a]",
            "a 7 [003] 1.6: block:block_rq_issue: 8,16 R 4096 () 88 + 8 [a]",
        ),
        (TraceFormat::FioIolog, "fio version 2 iolog\n", "/f read 0 4096", "/f read 4096 4096"),
        (
            TraceFormat::Strace,
            "",
            "7 9.5 pread64(3</a>, \"\", 512, 0) = 512 <0.1>",
            "7 9.6 pread64(3</a>, \"\", 512, 8) = 512 <0.1>",
        ),
        (TraceFormat::Columns(csv), "", "1,R,512,4096", "2,R,512,4096"),
        (TraceFormat::Columns(command), "", "1 a R 512 4096", "2 a R 512 4096"),
    ];
    for (format, head, first, second) in cases {
        let text = format!("{head}{first}\n{second}\n");
        assert_eq!(imported_text(&format, &text).unwrap(), 2, "{format:?}");
        for between in ["", " "] {
            let joined = format!("{text}{first}{between}{second}\n");
            let error = imported_text(&format, &joined).unwrap_err();
            assert!(matches!(error, ImportError::Malformed { .. }), "{error}");
        }
        let cut = format!("{text}{}", &second[..second.len() / 2]);
        let (imported, events) = import_ok(&format, cut);
        assert_eq!((events.len(), imported.conditions.lost), (2, 1), "{format:?}");
    }
}

#[test]
fn unknown_actions_and_kinds_left_out_are_counted_by_name() {
    let text = "8,0 1 1 0.5 7 D R 8 + 8 [a]\n8,0 1 2 0.6 7 Z R 8 + 8 [a]\n8,0 1 3 0.7 7 P N [a]\n";
    let unseen = import_ok(&TraceFormat::Blkparse, text).0.conditions.unseen;
    assert_eq!(unseen.len(), 1);
    assert!(unseen[0].0.contains("'Z'") && unseen[0].1 == 1, "{unseen:?}");
    let plan = ColumnPlan::parse("time=1,op=2:DiskRead=read;Mark=skip,offset=3,bytes=4").unwrap();
    let rows = "1,DiskRead,512,4096\n2,Mark\n3,Mark\n4,DiskRead,0,512\n";
    let (result, events) = import_ok(&TraceFormat::Columns(plan.clone()), rows);
    let unseen = result.conditions.unseen;
    assert_eq!((events.len(), unseen), (2, vec![("rows of kind Mark".to_owned(), 2)]));
    let error = error_of(&TraceFormat::Columns(plan), "1,DiskInit,512,4096\n");
    assert!(error.contains("DiskInit=skip"), "{error}");
}

#[test]
fn times_that_cannot_be_clock_times_are_refused() {
    let relative = "7      0.000000 read(3</a>, 1, 9) = 9\n7      0.000120 read(3</a>, 1, 9) = 9\n";
    assert!(error_of(&TraceFormat::Strace, relative).contains("-ttt -T"));
    let both = "7 9.5 (+     0.000120) pread64(3</a>, 1, 9, 0) = 9\n";
    assert_eq!(imported_text(&TraceFormat::Strace, both).unwrap(), 1);
    let plan = ColumnPlan::parse("time=1:s:unix,op=2,offset=3,bytes=4").unwrap();
    for (time, is_clock) in [("1577808144", true), ("157780814", false), ("5577808144", false)] {
        let text = format!("{time},R,0,512\n");
        let found = imported_text(&TraceFormat::Columns(plan.clone()), &text);
        assert_eq!(found.is_ok(), is_clock, "{time}");
    }
}

/// Positions follow from the order of first use, whatever the hashes are.
#[test]
fn requests_are_read_as_ios_of_the_blocks_that_they_share() {
    let mooncake = "{\"timestamp\": 27000, \"input_length\": 1100, \"output_length\": 52, \
                    \"hash_ids\": [46, 47, 2353]}\n\
                    {\"timestamp\": 30535, \"input_length\": 1536, \"output_length\": 26, \
                    \"hash_ids\": [46, 47, 7]}\n\
                    {\"timestamp\": 30600, \"input_length\": 0, \"output_length\": 1, \"hash_ids\": []}\n";
    let bailian = "{\"chat_id\": 159, \"parent_chat_id\": -1, \"timestamp\": 61.114, \
                   \"input_length\": 33, \"output_length\": 2, \"type\": \"text\", \"turn\": 1, \
                   \"hash_ids\": [-9, 47, 18446744073709551615]}\n\
                   {\"chat_id\": 160, \"parent_chat_id\": 159, \"timestamp\": 64.649, \
                   \"input_length\": 40, \"output_length\": 2, \"type\": \"text\", \"turn\": 2, \
                   \"hash_ids\": [-9, 47, 7]}\n";
    let lmcache = "{\"timestamp\": 1753780607.5, \"lookup_id\": \"a\", \
                   \"chunk_hashes\": [\"0x2e\", \"0x2f\", \"0x931\"]}\n\
                   {\"timestamp\": 1753780611.035, \"lookup_id\": \"b\", \
                   \"chunk_hashes\": [\"0x2e\", \"0x2f\", \"0x7\"]}\n";
    let ms = 1_000_000;
    for (name, text, tokens, requests) in
        [("mooncake", mooncake, 512, 3), ("bailian", bailian, 16, 2), ("lmcache", lmcache, 256, 2)]
    {
        let bytes = tokens * 320 * 1024;
        let named = TraceFormat::named(name).unwrap();
        assert_eq!(named, TraceFormat::KvCache(name, bytes));
        assert_eq!(recognize(text.as_bytes()), Some(named.clone()), "{name}");
        for bytes in [bytes, 4096] {
            let (result, events) = run_one(&TraceFormat::KvCache(name, bytes), text);
            let seen: Vec<_> =
                events.iter().map(|e| (e.issued_ns, e.op, e.offset, e.bytes)).collect();
            let at = |block: u64| block * u64::from(bytes);
            let expected = [
                (0, IoOp::Write, at(0), bytes),
                (0, IoOp::Write, at(1), bytes),
                (0, IoOp::Write, at(2), bytes),
                (3_535 * ms, IoOp::Read, at(0), bytes),
                (3_535 * ms, IoOp::Read, at(1), bytes),
                (3_535 * ms, IoOp::Write, at(3), bytes),
            ];
            assert_eq!(seen, expected, "{name}");
            let result = result.unwrap();
            assert_eq!((result.records, result.passed_over), (requests, requests - 2), "{name}");
            let remarks = result.conditions.remarks.join(" ");
            let derived = format!(
                "derived, not recorded: {requests} requests for 4 blocks of KV cache of {bytes} bytes"
            );
            assert!(remarks.contains(&derived), "{name}: {remarks}");
        }
    }
    let began = import_ok(&TraceFormat::named("lmcache").unwrap(), lmcache).0;
    assert_eq!(began.conditions.began_unix_ns, Some(1_753_780_607_500_000_000));
    // Blocks of another number of tokens: the format is possible, and its units are not proven.
    let other = mooncake.replace("1100", "90").replace("1536", "90");
    let possible = RecognizedFormat::Possible(vec![TraceFormat::named("mooncake").unwrap()]);
    assert_eq!(recognize_any(other.as_bytes()), Some(possible));
    for (line, what) in [
        ("{\"timestamp\": -1, \"hash_ids\": [1]}", "a time in timestamp, found '-1'"),
        ("{\"timestamp\": \"1753780607550317897\", \"hash_ids\": [1]}", "timestamp and hash_ids"),
        ("{\"timestamp\": 1}", "missing field"),
        ("{\"timestamp\": 1, \"hash_ids\": [1.5]}", "a hash is neither a whole number"),
        ("[1, 90, [1]]", "timestamp and hash_ids (no object)"),
    ] {
        let text = format!("{mooncake}{line}\n{mooncake}");
        let error = error_of(&TraceFormat::named("mooncake").unwrap(), text);
        assert!(error.contains("line 4:") && error.contains("(3 rec"), "{error}");
        assert!(error.contains(what), "{error}");
    }
}

/// fio ignores text after a file's action, where exports list what an iolog cannot express.
#[test]
fn an_iolog_may_have_a_comment_after_the_action_of_a_file() {
    let iolog = TraceFormat::named("fio-iolog").unwrap();
    let text = |more: &str| {
        format!("fio version 3 iolog\n1 /dev/x add{more}\n1 /dev/x open\n9 /dev/x read 0 512\n")
    };
    for more in ["", " # The file cannot say: 2 I/Os lose their process."] {
        assert_eq!(imported_text(&iolog, &text(more)).unwrap(), 1);
    }
    let error = imported_text(&iolog, &text(" 0 512")).unwrap_err().to_string();
    assert!(error.contains("line 2: expected the end of the line, found '0'"), "{error}");
}

/// The actions of blkparse's manual. Bio 1 is split at sector 96 and bounced; bio 2 is merged
/// behind bio 1's second part and bio 3 before the first; the device gives the request back once.
/// Three requests reach the device, of 24, 32 and 8 sectors.
#[test]
fn blkparse_actions_are_those_of_its_manual() {
    let listing = "\
8,0 0  1 0.000000000 7 A  W 80 + 32 <- (8,1) 16
8,0 0  2 0.000001000 7 Q  W 80 + 32 [fio]
8,0 0  3 0.000001100 7 X  W 80 / 96 [fio]
8,0 0  4 0.000001200 7 B  W 80 + 16 [fio]
8,0 0  5 0.000001300 7 G  W 80 + 16 [fio]
8,0 0  6 0.000001400 7 P  N [fio]
8,0 0  7 0.000001500 7 I  W 80 + 16 [fio]
8,0 0  8 0.000001600 7 G  W 96 + 16 [fio]
8,0 0  9 0.000001700 7 Q  W 112 + 16 [fio]
8,0 0 10 0.000001800 7 M  W 112 + 16 [fio]
8,0 0 11 0.000001900 7 Q  W 72 + 8 [fio]
8,0 0 12 0.000002000 7 F  W 72 + 8 [fio]
8,0 0 13 0.000002100 7 U  N [fio] 2
8,0 0 14 0.000003000 9 D  W 72 + 24 [kworker/0:1H]
8,0 0 15 0.000003100 9 D  W 96 + 32 [kworker/0:1H]
8,0 0 16 0.000003500 9 R  W 96 + 32 [0]
8,0 0 17 0.000004000 9 D  W 96 + 32 [kworker/0:1H]
8,0 0 18 0.000005000 9 D  R 800 + 8 [kworker/0:1H]
8,0 0 19 0.000009000 0 C  W 72 + 24 [0]
8,0 0 20 0.000009100 0 C  R 800 + 8 [0]
8,0 0 21 0.000009200 0 C  W 96 + 32 [0]
8,0 0 22 0.000009300 7 m  N cfq7 message
";
    let (imported, events) = import_ok(&TraceFormat::Blkparse, listing);
    let seen: Vec<_> = events
        .iter()
        .map(|e| (e.offset / 512, e.bytes / 512, e.queued_ns, e.response_ns, e.merged, e.depth))
        .collect();
    let expected =
        [(72, 24, 2_000, 6_000, 1, 1), (800, 8, 0, 4_100, 0, 3), (96, 32, 2_100, 6_100, 1, 2)];
    assert_eq!(seen, expected);
    assert_eq!(events[2].command, CommandName::new("fio"));
    assert_eq!(events[2].flags & flags::REQUEUED, flags::REQUEUED);
    assert_eq!((imported.records, imported.passed_over), (22, 8));
    assert_eq!((imported.conditions.unfinished, imported.conditions.unseen.len()), (0, 0));
    // The same split as a trace event and as a record, on a device without a request queue.
    let events_text = "a 7 [003] 1.5: block:block_bio_queue: 8,0 W 80 + 32 [a]\n\
                       a 7 [003] 1.6: block:block_split: 8,0 W 80 / 96 [a]\n\
                       a 7 [003] 1.7: block:block_bio_complete: 8,0 W 80 + 16 [0]\n\
                       a 7 [003] 1.8: block:block_bio_complete: 8,0 W 96 + 16 [0]\n";
    let mut record = BlktraceBytes::new(false);
    let write = 1 << 17;
    record.record(1_000, 1 | write, 80, 16_384, &[]);
    record.record(1_100, 13 | write, 80, 8_192, &96u64.to_be_bytes());
    record.record(1_200, 8 | write, 80, 8_192, &[]);
    record.record(1_300, 8 | write, 96, 8_192, &[]);
    for (format, bytes) in [
        (TraceFormat::BlockEvents, events_text.as_bytes().to_vec()),
        (TraceFormat::Blktrace, record.bytes),
    ] {
        let (result, events) = import_ok(&format, bytes);
        let places: Vec<_> = events.iter().map(|e| (e.offset / 512, e.bytes)).collect();
        assert_eq!(places, [(80, 8_192), (96, 8_192)], "{format:?}");
        assert_eq!(result.conditions.in_part.unwrap().missing(), 0);
    }
    for (split, what) in [("80 + 96", "'/'"), ("80 / x", "sector"), ("80 / 72", "behind sector 80")]
    {
        let text = format!("8,0 0 1 0.5 7 Q W 80 + 32 [a]\n8,0 0 2 0.6 7 X W {split} [a]\n");
        let error = error_of(&TraceFormat::Blkparse, text);
        assert!(error.contains("line 2:") && error.contains(what), "{error}");
    }
}

#[test]
fn strace_counts_delays_injections_signals_and_killed_tasks() {
    let (seen, conditions) = straced(
        "7 9.0 openat(AT_FDCWD, \"/db\", O_RDWR) = 3</db>\n\
         7 9.1 pread64(3</db>, \"\", 512, 0) = 512 (DELAYED) <0.2>\n\
         7 9.2 pread64(3</db>, \"\", 512, 512) = -1 EIO (Input/output error) (INJECTED) <0.1>\n\
         7 9.3 pwrite64(3</db>, \"\", 512, 512) = 512 (INJECTED) (DELAYED) <0.1>\n\
         7 9.3 lseek(3</db>, 4096, SEEK_SET) = 4096 (INJECTED)\n\
         7 9.3 read(3</db>, \"\", 512) = 512 <0.1>\n\
         7 9.4 --- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER, si_pid=9, si_uid=0} ---\n\
         7 9.5 --- stopped by SIGTTOU ---\n\
         7 9.6 pread64(3</db>, \"\", 512, 1024) = -1 EIO (Input/output error) (DELAYED) <0.1>\n\
         7 9.7 fsync(3</db>) = ? <unavailable>\n\
         7 9.8 +++ killed by SIGKILL (core dumped) +++\n\
         8 9.8 +++ superseded by execve in pid 7 +++\n\
         9 9.9 pread64(3</db>, <unfinished ...>\n",
    );
    // An injected lseek moves nothing.
    assert_eq!(seen, [(IoOp::Read, 0, 512), (IoOp::Read, 0, 512), (IoOp::Read, 1_024, 512)]);
    // fsync and the last read have no end.
    assert_eq!(conditions.unfinished, 2);
    assert_eq!((conditions.unseen.len(), conditions.unseen[0].1), (1, 2));
    let remarks = conditions.remarks.join(" ");
    for what in ["delayed 2 I/Os", "1 signals", "1 tasks were killed"] {
        assert!(remarks.contains(what), "{remarks}");
    }
}

/// Only calls on files and block devices are I/Os, whatever strace did to them.
#[test]
fn strace_counts_injections_and_delays_of_files_only() {
    let (seen, conditions) = straced(
        "7 9.0 write(1</dev/pts/0<char 136:0>>, \"\", 512) = 512 (INJECTED) <0.1>\n\
         7 9.1 write(1</dev/pts/0>, \"\", 512) = 512 (DELAYED) <0.1>\n\
         7 9.2 read(4<pipe:[81]>, \"\", 512) = -1 EIO (Input/output error) (INJECTED) <0.1>\n\
         7 9.3 read(5<socket:[82]>, \"\", 512) = 512 (INJECTED) (DELAYED) <0.1>\n\
         7 9.4 read(6<TCP:[127.0.0.1:5->127.0.0.1:6]>, \"\", 512) = 512 (INJECTED) <0.1>\n\
         7 9.5 read(-1, \"\", 512) = -1 EBADF (Bad file descriptor) (INJECTED) <0.1>\n\
         7 9.5 read(-1, \"\", 512) = 512 (INJECTED) <0.1>\n\
         7 9.6 pread64(3</dev/sda<block 8:0>>, \"\", 512, 0) = 512 (INJECTED: args) (DELAYED) <0.1>\n\
         7 9.7 pread64(3</dev/sda<block 8:0>>, \"\", 512, 512) = 512 (INJECTED: args, retval) <0.1>\n\
         7 9.8 pread64(3</dev/sda<block 8:0>>, \"\", 512, 1024) = 512 (INJECTED) <0.1>\n",
    );
    // With changed arguments the kernel executes a call; with a result it does not.
    assert_eq!(seen, [(IoOp::Read, 0, 512)]);
    let unseen: Vec<u64> = conditions.unseen.iter().map(|(_, count)| *count).collect();
    assert_eq!((unseen, conditions.unfinished), (vec![2], 0));
    assert!(conditions.remarks.join(" ").contains("delayed 1 I/Os"));
}
