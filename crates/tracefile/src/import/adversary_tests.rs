//! Every format against damaged input: cut, mixed, other sizes, times that go backward.

use super::tests::{input, run};
use super::*;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

/// How an I/O is written, given its time in seconds and its size in bytes, and what precedes the
/// first one.
struct FormatSample {
    name: &'static str,
    head: &'static str,
    line: fn(u64, u64) -> String,
}

/// Seconds between 1601 and 2017.
const FILE_TIME: u64 = (369 * 365 + 89) * 86_400 + 1_500_000_000;
const DIGEST: &str = "0123456789abcdef0123456789abcdef";

/// One sample of every text format; `columns` is any table.
const TEXTS: [FormatSample; 18] = [
    FormatSample {
        name: "blkparse",
        head: "",
        line: |s, b| format!("8,0 1 1 {s}.000000000 7 D R {} + {} [a]", s * 8, b / 512),
    },
    FormatSample {
        name: "block-events",
        head: "# tracer: nop\n",
        line: |s, b| {
            format!("a 7 [003] {s}.5: block:block_rq_issue: 8,0 R 9 () {} + {} [a]", s * 8, b / 512)
        },
    },
    FormatSample {
        name: "biosnoop",
        head: "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n",
        line: |s, b| format!("{s}.000000 dd 7 sda R {} {b} 0.50", s * 8),
    },
    FormatSample {
        name: "fio-iolog",
        head: "fio version 3 iolog\n",
        line: |s, b| format!("{s}000000 /f read {} {b}", s * 4096),
    },
    FormatSample {
        name: "fio-latency-log",
        head: "",
        line: |s, b| format!("{s}000, 5000, 0, {b}, {}, 0", s * 4096),
    },
    FormatSample {
        name: "strace",
        head: "",
        line: |s, b| format!("7 {s}.5 pread64(3</a>, \"\", {b}, {}) = {b} <0.1>", s * 4096),
    },
    FormatSample {
        name: "msr-cambridge",
        head: "",
        line: |s, b| format!("{}0000000,h,0,Read,{},{b},99", FILE_TIME + s, s * 512),
    },
    FormatSample {
        name: "alibaba",
        head: "",
        line: |s, b| format!("4,R,{},{b},{}000000", s * 512, 1_500_000_000 + s),
    },
    FormatSample {
        name: "tencent",
        head: "",
        line: |s, b| format!("{},{s},{},0,1063", 1_500_000_000 + s, b / 512),
    },
    FormatSample {
        name: "systor17",
        head: "Timestamp,Response,IOType,LUN,Offset,Size\n",
        line: |s, b| format!("{}.5,0.001,R,4,{},{b}", 1_500_000_000 + s, s * 512),
    },
    FormatSample { name: "spc", head: "", line: |s, b| format!("1,{s},{b},r,{s}.5") },
    FormatSample {
        name: "fiu",
        head: "",
        line: |s, b| format!("{s}000000000 7 gzip {s} {} R 6 0 {DIGEST}", b / 512),
    },
    FormatSample { name: "cloudphysics-csv", head: "", line: |s, b| format!("1,{s},28,{b},{s}") },
    FormatSample { name: "fio-iolog-1", head: "", line: |s, b| format!("0, {}, {b}", s * 512) },
    FormatSample {
        name: "mooncake",
        head: "",
        line: |s, _| {
            let request = r#""input_length": 512, "output_length": 1"#;
            format!(r#"{{"timestamp": {s}000, {request}, "hash_ids": [{s}]}}"#)
        },
    },
    FormatSample {
        name: "bailian",
        head: "",
        line: |s, _| {
            format!(r#"{{"chat_id": 1, "timestamp": {s}.5, "input_length": 9, "hash_ids": [{s}]}}"#)
        },
    },
    FormatSample {
        name: "lmcache",
        head: "",
        line: |s, _| {
            let time = 1_500_000_000 + s;
            format!(r#"{{"timestamp": {time}.25, "lookup_id": "x", "chunk_hashes": ["0x{s}"]}}"#)
        },
    },
    FormatSample { name: "columns", head: "", line: |s, b| format!("{s}.5,R,{},{b}", s * 512) },
];

/// Binary formats, with four records of one I/O each at seconds 1 to 4.
fn binaries() -> Vec<(&'static str, Vec<u8>)> {
    let seconds = || 1..=4u64;
    let vscsi = |head: fn() -> Vec<u8>| {
        let tail = |s: u64| [s.to_le_bytes(), (s * 1_000_000).to_le_bytes()].concat();
        seconds().map(move |s| (head(), tail(s)))
    };
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let first =
        vscsi(|| [7u32, 512, 1, 0x0100_0028].iter().flat_map(|w| w.to_le_bytes()).collect());
    let second =
        vscsi(|| [0x0200_0028u32, 7, 512, 1].iter().flat_map(|w| w.to_le_bytes()).collect());
    let object = |s: u64| {
        let time = s as u32;
        [words(&[time, 9, 0, 512]), (-1i64).to_le_bytes().to_vec()].concat()
    };
    let issue = |s: u64| {
        let long = |value: u64| [value as u32, (value >> 32) as u32];
        let ([time, later], [sector, far]) = (long(s * 1_000_000_000), long(s * 8));
        words(&[0x6561_7407, 0, time, later, sector, far, 512, 7 | 1 << 16, 42, 8 << 20, 3, 0])
    };
    vec![
        ("vscsi1", first.flat_map(|(head, tail)| [head, tail].concat()).collect()),
        ("vscsi2", second.flat_map(|(head, tail)| [head, tail, vec![9; 8]].concat()).collect()),
        ("oracle-general", seconds().flat_map(object).collect()),
        ("blktrace", seconds().flat_map(issue).collect()),
    ]
}

fn format_named(name: &str) -> TraceFormat {
    let table = || ColumnPlan::parse("time=1:s,op=2,offset=3,bytes=4").map(TraceFormat::Columns);
    TraceFormat::named(name).unwrap_or_else(|| table().unwrap())
}

impl FormatSample {
    fn text(&self, lines: &[String]) -> String {
        format!("{}{}\n", self.head, lines.join("\n"))
    }

    /// Returns a text with an I/O of 4,096 bytes at each of these seconds.
    fn at(&self, seconds: [u64; 4]) -> Vec<String> {
        seconds.map(|second| (self.line)(second, 4096)).to_vec()
    }

    /// Number of the line of the third I/O.
    fn third(&self) -> usize {
        self.head.lines().count() + 3
    }

    /// Checks that a text is refused at its third I/O, of which the two before were read.
    fn refuse_third(&self, lines: &[String]) {
        let (result, events) = run(&format_named(self.name), vec![input(self.text(lines))]);
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
        let (result, events) = run(&format_named(self.name), vec![input(text)]);
        Ok((events.len(), result?))
    }
}

#[test]
fn every_format_has_a_sample() {
    let names: BTreeSet<&str> = TraceFormat::names().chain(["columns"]).collect();
    let texts = TEXTS.iter().map(|sample| sample.name);
    let samples: BTreeSet<&str> = texts.chain(binaries().iter().map(|(name, _)| *name)).collect();
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
    let texts = TEXTS.iter().map(|s| (s.name, s.text(&s.at([1, 2, 3, 4])).into_bytes()));
    for (name, sample) in texts.chain(binaries()) {
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(seeds.join(name), &sample).unwrap();
        }
        let seed = std::fs::read(seeds.join(name)).unwrap_or_default();
        assert!(seed == sample, "fuzz/seeds/trace_import/{name}: run this test with BLESS=1");
    }
}

/// A cut leaves whole I/Os, and is said unless it is between two lines.
#[test]
fn a_text_cut_anywhere_loses_nothing_silently() {
    for sample in TEXTS {
        let text = sample.text(&sample.at([1, 2, 3, 4]));
        let second = sample.head.len() + (sample.line)(1, 4096).len() + 1;
        for end in second..text.len() {
            let (ios, result) = sample.import(&text[..end]).unwrap();
            let whole = text[sample.head.len()..end].lines().count();
            let is_said = result.conditions.lost == 1 && ios == whole - 1
                || result.conditions.remarks.iter().any(|r| r.contains("no line end"));
            assert!(is_said || text[..end].ends_with('\n'), "{} to {end}", sample.name);
        }
        // Lines without an end are usual where a file has only one.
        let one = format!("{}{}", sample.head, (sample.line)(1, 4096));
        let (_, result) = sample.import(one).unwrap();
        let says = result.conditions.remarks.iter().any(|r| r.contains("no line end"));
        assert_eq!(says, !sample.head.is_empty(), "{}", sample.name);
    }
}

#[test]
fn a_line_of_another_format_is_refused_where_it_stands() {
    for sample in TEXTS {
        for other in TEXTS {
            let strange = (other.line)(3, 4096);
            let mut lines = sample.at([1, 2, 3, 4]);
            lines[2] = strange;
            let alike = |name| ["mooncake", "bailian", "lmcache"].contains(&name);
            // Numbers alone: the line is a row of either.
            let is_row =
                other.name == "tencent" && ["spc", "cloudphysics-csv"].contains(&sample.name);
            if sample.name != other.name && !is_row && !(alike(sample.name) && alike(other.name)) {
                sample.refuse_third(&lines);
            }
        }
    }
}

/// A row with a column fewer or more than the others.
#[test]
fn ragged_rows_are_refused_where_they_stand() {
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
    for (name, bytes) in binaries() {
        let records: Vec<&[u8]> = bytes.chunks_exact(bytes.len() / 4).collect();
        let disordered = [records[0], records[2], records[1], records[3]].concat();
        let (result, events) = run(&format_named(name), vec![input(disordered)]);
        let remarks = result.unwrap().conditions.remarks.join(" ");
        assert_eq!(events.len(), 4, "{name}");
        assert!(remarks.contains("backward 1 times"), "{name}: {remarks}");
    }
}

/// Reads and writes of 0 bytes are counted or refused; those of 4 GiB are refused. A block of KV
/// cache has the size that the user gives, and a read at the end of a file 0 bytes.
#[test]
fn sizes_that_no_io_has_are_said() {
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

/// Records are read up to a cut, and a text behind them is no record. oracleGeneral has no mark by
/// which its records could be told from other bytes.
#[test]
fn binary_formats_are_read_up_to_a_cut_and_not_into_a_text() {
    for (name, bytes) in binaries() {
        let size = bytes.len() / 4;
        for end in size..bytes.len() {
            let (result, events) = run(&format_named(name), vec![input(&bytes[..end])]);
            let result = result.unwrap();
            let cut = usize::from(end % size > 0);
            assert_eq!((events.len(), result.cut.len()), (end / size, cut), "{name} to {end}");
            assert_eq!(result.conditions.lost, cut as u64, "{name}");
        }
        if name == "oracle-general" {
            continue;
        }
        let text = "128166372003061629,usr,0,Read,7014609920,24576,41286\n";
        let mixed = [&bytes[..], text.as_bytes(), text.as_bytes()].concat();
        let error = run(&format_named(name), vec![input(mixed)]).0.unwrap_err();
        let place = if name == "blktrace" { "byte 192" } else { "record 5" };
        let is_there = |at: &str| at == place;
        assert!(
            matches!(&error, ImportError::Malformed { place, read: 4, .. } if is_there(place)),
            "{error}"
        );
    }
}

/// Bytes that a packed file unpacks to, up to the limit of the reader.
struct BombBytes(u8, usize);

impl Read for BombBytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 =
            self.1.checked_sub(into.len()).ok_or_else(|| io::Error::other("too much to unpack"))?;
        into.fill(self.0);
        Ok(into.len())
    }
}

/// What unpacks without an end is refused with its place, after the I/Os before it.
#[test]
fn a_bomb_ends_with_its_place() {
    let texts = TEXTS.iter().map(|sample| (sample.name, sample.text(&sample.at([1, 2, 3, 4]))));
    let texts = texts.map(|(name, text)| (name, text.into_bytes()));
    for (name, bytes) in texts.chain(binaries()) {
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
