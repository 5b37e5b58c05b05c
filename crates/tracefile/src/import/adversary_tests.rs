//! Every format against damaged input: cut, mixed, other sizes, times that go backward.

use super::tests::{BLKPARSE, blktrace_file, import_ok, run, run_one};
use super::*;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use steadfast_domain::IoOp;

/// A text format.
struct FormatSample {
    name: &'static str,
    /// Text before the first I/O.
    head: &'static str,
    /// Formats an I/O, given its time in seconds and its size in bytes.
    line: fn(u64, u64) -> String,
}

/// Seconds between 1601 and 2017.
const FILE_TIME: u64 = (369 * 365 + 89) * 86_400 + 1_500_000_000;
const DIGEST: &str = "0123456789abcdef0123456789abcdef";

/// Returns a sample; `head` is the text before the first I/O.
const fn sample(
    name: &'static str,
    head: &'static str,
    line: fn(u64, u64) -> String,
) -> FormatSample {
    FormatSample { name, head, line }
}

/// One sample of every text format; `columns` is any table.
const TEXTS: [FormatSample; 18] = [
    sample("blkparse", "", |s, b| {
        format!("8,0 1 1 {s}.000000000 7 D R {} + {} [a]", s * 8, b / 512)
    }),
    sample("block-events", "# tracer: nop\n", |s, b| {
        format!("a 7 [003] {s}.5: block:block_rq_issue: 8,0 R 9 () {} + {} [a]", s * 8, b / 512)
    }),
    sample("biosnoop", "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n", |s, b| {
        format!("{s}.000000 dd 7 sda R {} {b} 0.50", s * 8)
    }),
    sample("fio-iolog", "fio version 3 iolog\n", |s, b| {
        format!("{s}000000 /f read {} {b}", s * 4096)
    }),
    sample("fio-latency-log", "", |s, b| format!("{s}000, 5000, 0, {b}, {}, 0", s * 4096)),
    sample("strace", "", |s, b| {
        format!("7 {s}.5 pread64(3</a>, \"\", {b}, {}) = {b} <0.1>", s * 4096)
    }),
    sample("msr-cambridge", "", |s, b| {
        format!("{}0000000,h,0,Read,{},{b},99", FILE_TIME + s, s * 512)
    }),
    sample("alibaba", "", |s, b| format!("4,R,{},{b},{}000000", s * 512, 1_500_000_000 + s)),
    sample("tencent", "", |s, b| format!("{},{s},{},0,1063", 1_500_000_000 + s, b / 512)),
    sample("systor17", "Timestamp,Response,IOType,LUN,Offset,Size\n", |s, b| {
        format!("{}.5,0.001,R,4,{},{b}", 1_500_000_000 + s, s * 512)
    }),
    sample("spc", "", |s, b| format!("1,{s},{b},r,{s}.5")),
    sample("fiu", "", |s, b| format!("{s}000000000 7 gzip {s} {} R 6 0 {DIGEST}", b / 512)),
    sample("cloudphysics-csv", "", |s, b| format!("1,{s},28,{b},{s}")),
    sample("fio-iolog-1", "", |s, b| format!("0, {}, {b}", s * 512)),
    sample("mooncake", "", |s, _| {
        let request = r#""input_length": 512, "output_length": 1"#;
        format!(r#"{{"timestamp": {s}000, {request}, "hash_ids": [{s}]}}"#)
    }),
    sample("bailian", "", |s, _| {
        format!(r#"{{"chat_id": 1, "timestamp": {s}.5, "input_length": 9, "hash_ids": [{s}]}}"#)
    }),
    sample("lmcache", "", |s, _| {
        let time = 1_500_000_000 + s;
        format!(r#"{{"timestamp": {time}.25, "lookup_id": "x", "chunk_hashes": ["0x{s}"]}}"#)
    }),
    sample("columns", "", |s, b| format!("{s}.5,R,{},{b}", s * 512)),
];

/// A binary format: its header, and four records of one I/O each at seconds 1 to 4.
struct BinarySample {
    name: &'static str,
    head: Vec<u8>,
    records: Vec<u8>,
}

impl BinarySample {
    /// Size of a record in bytes.
    fn size(&self) -> usize {
        self.records.len() / 4
    }
}

/// Returns the bytes of little-endian words.
fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns a sample of records; `record` formats an I/O, given its time in seconds.
fn binary(name: &'static str, head: Vec<u8>, record: fn(u32) -> Vec<u8>) -> BinarySample {
    BinarySample { name, head, records: (1..=4).flat_map(record).collect() }
}

fn binaries() -> [BinarySample; 5] {
    const NINES: u32 = 0x0909_0909;
    const NONE: u32 = u32::MAX;
    [
        binary("vscsi1", Vec::new(), |s| {
            bytes_of(&[7, 512, 1, 0x0100_0028, s, 0, s * 1_000_000, 0])
        }),
        binary("vscsi2", Vec::new(), |s| {
            bytes_of(&[0x0200_0028, 7, 512, 1, s, 0, s * 1_000_000, 0, NINES, NINES])
        }),
        binary("oracle-general", Vec::new(), |s| bytes_of(&[s, 9, 0, 512, NONE, NONE])),
        // Operation 12, a read, of tenant 0.
        binary("lcs", lcs_header(2, 0), |s| bytes_of(&[s, 9, 0, 512, 12, NONE, NONE])),
        binary("blktrace", Vec::new(), |s| {
            let (time, action) = (s * 1_000_000_000, 7 | 1 << 16);
            bytes_of(&[0x6561_7407, 0, time, 0, s * 8, 0, 512, action, 42, 8 << 20, 3, 0])
        }),
    ]
}

/// Returns a file of every format with its name.
fn samples() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let texts = TEXTS.iter().map(|s| (s.name, s.text(&s.at([1, 2, 3, 4])).into_bytes()));
    let binaries = binaries().into_iter();
    texts.chain(binaries.map(|s| (s.name, [&s.head[..], &s.records].concat())))
}

/// Header of an lcs trace of a version, with a number of requests.
fn lcs_header(version: u64, requests: u64) -> Vec<u8> {
    let mark = 0x1234_5678_9abc_def0u64.to_le_bytes();
    let statistics = [1u64, requests].map(u64::to_le_bytes).concat();
    let mut header = [&mark[..], &version.to_le_bytes(), &statistics].concat();
    header.resize(8184, 0);
    header.extend(mark);
    header
}

fn format_named(name: &str) -> TraceFormat {
    let table = || ColumnPlan::parse("time=1:s,op=2,offset=3,bytes=4").map(TraceFormat::Columns);
    TraceFormat::named(name).unwrap_or_else(|| table().unwrap())
}

impl FormatSample {
    fn text(&self, lines: &[String]) -> String {
        format!("{}{}\n", self.head, lines.join("\n"))
    }

    /// Returns lines with an I/O of 4,096 bytes at each of these seconds.
    fn at(&self, seconds: [u64; 4]) -> Vec<String> {
        seconds.map(|second| (self.line)(second, 4096)).to_vec()
    }

    /// Number of the line of the third I/O.
    fn third(&self) -> usize {
        self.head.lines().count() + 3
    }

    /// Checks that a text is refused at its third I/O, after the two before it were read.
    fn refuse_third(&self, lines: &[String]) {
        let (result, events) = run_one(&format_named(self.name), self.text(lines));
        let Err(ImportError::Malformed { place, read, .. }) = result else {
            panic!("{}: {result:?}", self.name);
        };
        // A header counts in some formats.
        let expected = (format!("line {}", self.third()), true);
        assert_eq!((place, (2..=3).contains(&read)), expected, "{}: {read} read", self.name);
        assert!(events.len() <= 2, "{}", self.name);
    }

    /// Imports a text and returns the number of its I/Os and its remarks.
    fn import(&self, text: impl Into<Vec<u8>>) -> Result<(usize, ImportResult), ImportError> {
        let (result, events) = run_one(&format_named(self.name), text);
        Ok((events.len(), result?))
    }
}

#[test]
fn every_format_has_a_sample() {
    let names: BTreeSet<&str> = TraceFormat::names().chain(["columns"]).collect();
    let texts = TEXTS.iter().map(|sample| sample.name);
    let samples: BTreeSet<&str> =
        texts.chain(binaries().iter().map(|sample| sample.name)).collect();
    assert_eq!(samples, names);
    for sample in TEXTS {
        let (ios, result) = sample.import(sample.text(&sample.at([1, 2, 3, 4]))).unwrap();
        let doubts = ["backward", "no data", "no line end"];
        let is_doubt = |remark: &&String| doubts.iter().any(|doubt| remark.contains(doubt));
        assert_eq!(ios, 4, "{}", sample.name);
        assert_eq!(result.conditions.remarks.iter().find(is_doubt), None, "{}", sample.name);
    }
}

/// The fuzzer starts with these samples (fuzz/). `BLESS=1` writes them.
#[test]
#[allow(clippy::disallowed_methods)]
fn every_sample_is_a_seed_of_the_fuzzer() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/trace_import");
    for (name, sample) in samples() {
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(seeds.join(name), &sample).unwrap();
        }
        let seed = std::fs::read(seeds.join(name)).unwrap_or_default();
        assert!(seed == sample, "fuzz/seeds/trace_import/{name}: run this test with BLESS=1");
    }
}

/// A cut leaves whole I/Os, and is disclosed unless it is between two lines.
#[test]
fn a_text_cut_anywhere_loses_nothing_silently() {
    for sample in TEXTS {
        let text = sample.text(&sample.at([1, 2, 3, 4]));
        let second = sample.head.len() + (sample.line)(1, 4096).len() + 1;
        for end in second..text.len() {
            let (ios, result) = sample.import(&text[..end]).unwrap();
            let whole = text[sample.head.len()..end].lines().count();
            let is_disclosed = result.conditions.lost == 1 && ios == whole - 1
                || result.conditions.remarks.iter().any(|r| r.contains("no line end"));
            assert!(is_disclosed || text[..end].ends_with('\n'), "{} to {end}", sample.name);
        }
        // A file with a single line often has no line end.
        let single = format!("{}{}", sample.head, (sample.line)(1, 4096));
        let (_, result) = sample.import(single).unwrap();
        let says = result.conditions.remarks.iter().any(|r| r.contains("no line end"));
        assert_eq!(says, !sample.head.is_empty(), "{}", sample.name);
    }
}

#[test]
fn a_line_of_another_format_is_refused_by_number() {
    for sample in TEXTS {
        for other in TEXTS {
            if sample.name != other.name {
                let mut lines = sample.at([1, 2, 3, 4]);
                lines[2] = (other.line)(3, 4096);
                sample.refuse_third(&lines);
            }
        }
    }
}

/// A row with a column fewer or more than the others.
#[test]
fn ragged_rows_are_refused_by_number() {
    for sample in TEXTS.iter().filter(|sample| (sample.line)(1, 512).contains(',')) {
        if ["blkparse", "block-events", "strace"].contains(&sample.name) {
            continue;
        }
        let good = sample.at([1, 2, 3, 4]);
        let (shorter, _) = good[2].rsplit_once(',').unwrap();
        for ragged in [shorter.to_owned(), format!("{},9", good[2])] {
            let mut lines = good.clone();
            lines[2] = ragged;
            sample.refuse_third(&lines);
        }
    }
}

#[test]
fn times_that_go_backward_are_counted() {
    for sample in TEXTS.iter().filter(|sample| sample.name != "fio-iolog-1") {
        let (ios, result) = sample.import(sample.text(&sample.at([5, 6, 3, 7]))).unwrap();
        let remarks = result.conditions.remarks.join(" ");
        assert_eq!(ios, 4, "{}", sample.name);
        assert!(remarks.contains("backward 1 times"), "{}: {remarks}", sample.name);
    }
    for sample in binaries() {
        let name = sample.name;
        let records: Vec<&[u8]> = sample.records.chunks_exact(sample.size()).collect();
        let disordered = [&sample.head, records[0], records[2], records[1], records[3]].concat();
        let (result, events) = import_ok(&format_named(name), disordered);
        let remarks = result.conditions.remarks.join(" ");
        assert_eq!(events.len(), 4, "{name}");
        assert!(remarks.contains("backward 1 times"), "{name}: {remarks}");
    }
}

/// Reads and writes of 0 bytes are counted or refused; those of 4 GiB are refused. A block of KV
/// cache has the size that the user gives, and a read at the end of a file 0 bytes.
#[test]
fn impossible_sizes_are_disclosed_or_refused() {
    let sized = |sample: &&FormatSample| (sample.line)(1, 512) != (sample.line)(1, 1024);
    for sample in TEXTS.iter().filter(sized) {
        let mut lines = sample.at([1, 2, 3, 4]);
        lines[2] = (sample.line)(3, 1 << 32);
        sample.refuse_third(&lines);
        lines[2] = (sample.line)(3, 0);
        match sample.import(sample.text(&lines)) {
            Ok((ios, result)) => {
                let says = result.conditions.remarks.iter().any(|r| r.contains("no data"));
                assert_eq!((ios, says), (4, sample.name != "strace"), "{}", sample.name);
            }
            Err(_) => sample.refuse_third(&lines),
        }
    }
}

/// Records are read up to a cut; a text after them is refused.
#[test]
fn binary_formats_are_read_up_to_a_cut_and_not_into_a_text() {
    for sample in binaries() {
        let (name, size, bytes) = (sample.name, sample.size(), sample.records.clone());
        for end in size..bytes.len() {
            let content = [&sample.head, &bytes[..end]].concat();
            let (result, events) = run_one(&format_named(name), content);
            let result = result.unwrap();
            let cut = usize::from(end % size > 0);
            assert_eq!((events.len(), result.cut.len()), (end / size, cut), "{name} to {end}");
            assert_eq!(result.conditions.lost, cut as u64, "{name}");
        }
        let text = "128166372003061629,usr,0,Read,7014609920,24576,41286\n";
        let mixed = [&sample.head[..], &bytes, text.repeat(3).as_bytes()].concat();
        let error = run_one(&format_named(name), mixed).0.unwrap_err();
        let place = if name == "blktrace" { "byte 192" } else { "record 5" };
        let is_at = |found: &str| found == place;
        assert!(
            matches!(&error, ImportError::Malformed { place, read: 4, .. } if is_at(place)),
            "{error}"
        );
    }
}

/// Every sample is cut at and changed in every byte; long headers only at their ends.
#[test]
fn no_input_makes_an_importer_panic() {
    let more = [
        ("blktrace", blktrace_file(false)),
        ("blkparse", BLKPARSE.into()),
        ("fio-iolog", b"fio version 3 iolog\n5 f add\n5 f read 0 4096\n6 f wait 9\n".to_vec()),
        ("strace", b"7 9.5 read(3</a<b>>, \"\", 9) = 9 <0.1>\n".to_vec()),
    ];
    for (name, whole) in samples().chain(more) {
        let format = format_named(name);
        for at in (0..whole.len()).filter(|at| *at < 500 || whole.len() - at < 500) {
            let _ = run_one(&format, &whole[..at]);
            for value in [0, b'\n', b'9', b'-', b',', 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = recognize(&changed);
                let _ = run_one(&format, changed);
            }
        }
    }
}

/// A byte that a compressed file repeats, up to the limit of the decompressor.
struct BombBytes(u8, usize);

impl Read for BombBytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 =
            self.1.checked_sub(into.len()).ok_or_else(|| io::Error::other("too much to unpack"))?;
        into.fill(self.0);
        Ok(into.len())
    }
}

/// An input that decompresses without end is refused with its place, after the I/Os before it.
#[test]
fn a_decompression_bomb_is_refused_with_its_place() {
    for (name, bytes) in samples() {
        for filling in [0, b' ', b'7'] {
            let content = io::Cursor::new(bytes.clone()).chain(BombBytes(filling, 4 << 20));
            let bomb = ImportInput { name: "bomb".into(), content: Box::new(content) };
            match run(&format_named(name), vec![bomb]).0 {
                Err(ImportError::Malformed { read, .. }) => assert!(read >= 4, "{name}"),
                Err(ImportError::Io { place, .. }) => {
                    assert!(place.ends_with(|c: char| c.is_ascii_digit()), "{name}: {place}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

/// Requests of every version of lcs: seconds, object, bytes, operation, tenant.
#[test]
fn lcs_of_every_version_is_read_and_what_is_no_io_is_refused() {
    let sizes = [24, 28, 36, 40, 44, 52, 68, 100];
    let request = |version: usize, (second, op): (u32, u8)| {
        let object = u64::from(second) * 8;
        let mut record = [&second.to_le_bytes()[..], &object.to_le_bytes()].concat();
        if version < 3 {
            record.extend(4096u32.to_le_bytes());
        } else {
            record.extend(4096u64.to_le_bytes());
        }
        if version > 1 {
            // Tenant 65,537 in 24 bits.
            record.extend([op, 1, 0, 1]);
        }
        record.resize(sizes[version - 1], 0xff);
        record
    };
    let file = |version: usize, count: u64, requests: &[(u32, u8)]| {
        let records = requests.iter().flat_map(|one| request(version, *one));
        lcs_header(version as u64, count).into_iter().chain(records).collect::<Vec<u8>>()
    };
    let lcs = TraceFormat::named("lcs").unwrap();
    let read = |content: Vec<u8>| run_one(&lcs, content);
    let with_plan = |content: Vec<u8>, columns: &str| {
        let plan = ColumnPlan::parse(columns).unwrap();
        run_one(&TraceFormat::Records("lcs", plan), content)
    };
    let requests = [(5, 12), (6, 13), (9, 12)];
    for version in 1..=8 {
        let content = file(version, 3, &requests);
        assert_eq!(recognize(&content[..100]), Some(lcs.clone()));
        let (result, events) = read(content.clone());
        let result = result.unwrap();
        assert_eq!(result.cut, Vec::<String>::new());
        let ios: Vec<_> = events.iter().map(|io| (io.issued_ns, io.op, io.bytes)).collect();
        let second = 1_000_000_000;
        let expected = [0, second, 4 * second].map(|time| (time, IoOp::Other, 4096));
        assert_eq!(ios, expected, "{version}");
        let devices: Vec<_> =
            result.conditions.devices.iter().map(|device| device.name.as_str()).collect();
        let tenant = if version == 1 { "" } else { "65537" };
        assert_eq!(devices, [tenant], "{version}");
        let addressed = "time=1:s,op=4,offset=2:sectors,bytes=3";
        let (result, events) = with_plan(content, addressed);
        if version == 1 {
            assert!(result.unwrap_err().to_string().contains("field 4, found 3 columns"));
            continue;
        }
        let ios: Vec<_> = events.iter().map(|io| (io.op, io.offset)).collect();
        let expected = [(IoOp::Read, 20_480), (IoOp::Write, 24_576), (IoOp::Read, 36_864)];
        assert_eq!(ios, expected, "{version}");
        assert!(!result.unwrap().conditions.remarks.concat().contains("--csv"));
        // A key-value operation is no I/O unless the user says so; an unknown one is no SCSI code.
        for (op, name) in [(1, "get"), (3, "set"), (9, "delete"), (14, "update"), (40, "op-40")] {
            let content = file(version, 0, &[(5, 12), (6, op)]);
            let error = read(content.clone()).0.unwrap_err().to_string();
            assert!(error.contains(&format!("record 2: operation {name} ")), "{error}");
            assert!(with_plan(content.clone(), addressed).0.is_err(), "{name}");
            let meant = format!("time=1:s,op=4:read=read;{name}=write,offset=2:sectors,bytes=3");
            let (result, events) = with_plan(content, &meant);
            assert_eq!((result.unwrap().events, events[1].op), (2, IoOp::Write), "{name}");
        }
        // No operation is recorded.
        assert_eq!(read(file(version, 0, &[(5, 0)])).0.unwrap().events, 1);
    }
    // The header counts what a cut between two records loses.
    let (result, events) = read(file(3, 5, &requests));
    let result = result.unwrap();
    assert_eq!((events.len(), result.conditions.lost, result.cut.len()), (3, 2, 1));
    let result = read(file(3, 2, &requests)).0.unwrap();
    assert_eq!((result.conditions.lost, result.cut.len()), (0, 0));
    assert!(result.conditions.remarks.concat().contains("counts 2 requests, and it holds 3"));
    let mut negative = file(3, 0, &requests);
    negative[8192 + 12..8192 + 20].fill(0xff);
    assert!(read(negative).0.unwrap_err().to_string().contains("record 1: expected a size"));
    let mut empty = file(3, 0, &requests);
    empty[8192 + 36 + 12..8192 + 36 + 20].fill(0);
    let remarks = read(empty).0.unwrap().conditions.remarks.concat();
    assert!(remarks.contains("1 I/Os have no data (size 0), first at record 2"), "{remarks}");
    // Damaged headers and other versions.
    let whole = file(2, 0, &requests);
    let with = |at: usize, bytes: &[u8]| {
        let mut content = whole.clone();
        content[at..at + bytes.len()].copy_from_slice(bytes);
        content
    };
    for (content, part) in [
        (with(0, b"x"), "byte 0: expected the mark"),
        (with(0, &[0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0]), "the header is big-endian"),
        (with(8, &[9]), "byte 8: expected a version from 1 to 8, found version 9"),
        (with(8, b"<IQI"), "an early header with the types of its fields"),
        (with(31, &[0x80]), "byte 24: -"),
        (with(8190, &[0]), "byte 8184: expected the mark"),
        (whole[..8000].to_vec(), "byte 8000: the file ends within its header"),
    ] {
        let error = read(content).0.unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// The first half of each sample followed by the second half of each other one: an error, or a
/// counted loss, by either format and by the one that is recognized.
#[test]
fn halves_of_two_formats_are_never_read_as_one() {
    let texts = TEXTS.iter().map(|sample| {
        let lines = sample.at([1, 2, 3, 4]);
        let second = format!("{}\n", lines[2..].join("\n"));
        (
            sample.name,
            Some(sample.third()),
            sample.text(&lines[..2]).into_bytes(),
            second.into_bytes(),
        )
    });
    let binaries = binaries().into_iter().map(|sample| {
        let (first, second) = sample.records.split_at(2 * sample.size());
        (sample.name, None, [&sample.head, first].concat(), second.to_vec())
    });
    let samples: Vec<_> = texts.chain(binaries).collect();
    for (first_name, third, first, _) in &samples {
        for (second_name, second_third, _, second) in &samples {
            if first_name == second_name {
                continue;
            }
            let mixed = [&first[..], second].concat();
            let recognized = match recognize_any(&mixed) {
                Some(RecognizedFormat::Proven(format)) => vec![format],
                Some(
                    RecognizedFormat::Possible(formats) | RecognizedFormat::Conflicting(formats),
                ) => formats,
                None => Vec::new(),
            };
            let both = [first_name, second_name].map(|name| format_named(name));
            for format in both.into_iter().chain(recognized) {
                let what = format!("{first_name}, {second_name} as {}", format.name());
                match run_one(&format, mixed.clone()).0 {
                    Ok(result) => assert!(result.conditions.lost > 0, "{what}: {result:?}"),
                    Err(ImportError::Malformed { place, .. }) if format.name() == *first_name => {
                        if let (Some(third), Some(_)) = (third, second_third) {
                            assert_eq!(place, format!("line {third}"), "{what}");
                        }
                    }
                    Err(ImportError::Malformed { .. } | ImportError::Unsuitable(_)) => {}
                    Err(other) => panic!("{what}: {other}"),
                }
            }
        }
    }
}

/// A published first line rules out every other format.
#[test]
fn a_published_first_line_proves_its_format_whatever_follows() {
    let headers = [
        ("biosnoop", "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)"),
        ("fio-iolog", "fio version 3 iolog"),
        ("block-events", "# tracer: nop"),
        ("strace", "strace: Process 7 attached"),
        ("msr-cambridge", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"),
        ("alibaba", "device_id,opcode,offset,length,timestamp"),
        ("tencent", "Timestamp,Offset,Size,IOType,VolumeID"),
        ("systor17", "Timestamp,Response,IOType,LUN,Offset,Size"),
    ];
    for (name, header) in headers {
        // The lines that follow are refused by number.
        let (result, _) = run_one(&format_named(name), format!("{header}\n1,2,3\n"));
        let Err(ImportError::Malformed { place, .. }) = result else { panic!("{name}") };
        assert_eq!(place, "line 2", "{name}");
        for sample in TEXTS {
            let text = format!("{header}\n{}", sample.text(&sample.at([1, 2, 3, 4])));
            let recognized = recognize_any(text.as_bytes());
            let proven = RecognizedFormat::Proven(format_named(name));
            assert_eq!(recognized, Some(proven), "{name}, {}", sample.name);
        }
    }
}

/// A text half of whose lines prove one format and half another is of neither.
#[test]
fn a_text_of_two_proven_formats_conflicts() {
    let lines = |name: &str| -> Vec<String> {
        let sample = TEXTS.iter().find(|sample| sample.name == name).unwrap();
        (1..=13).map(|second| (sample.line)(second, 4096)).collect()
    };
    for (first, second) in
        [("alibaba", "msr-cambridge"), ("blkparse", "alibaba"), ("fiu", "alibaba")]
    {
        let pairs = lines(first).into_iter().zip(lines(second));
        let text: String = pairs.map(|(one, other)| format!("{one}\n{other}\n")).collect();
        let Some(RecognizedFormat::Conflicting(formats)) = recognize_any(text.as_bytes()) else {
            panic!("{first}, {second}");
        };
        let names: BTreeSet<&str> = formats.iter().map(TraceFormat::name).collect();
        assert_eq!(names, BTreeSet::from([first, second]));
        assert_eq!(recognize(text.as_bytes()), None);
    }
}
