//! Traces of other tools, imported, and read by other parsers in Python (`foreign_traces.py`).

use super::fixtures::{
    TestDirectory, parse_json, python, refuse, run_ending, run_in, stderr, succeed, succeed_json,
};
use std::collections::BTreeSet;
use std::fs::{File, read, remove_file, write};
use std::path::Path;
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_tracefile::import::TraceFormat;
use steadfast_tracefile::{Batch, Fields, Trace};

const SCRIPT: &str = include_str!("foreign_traces.py");

/// Formats, and whether their content proves the units of their columns.
const FORMATS: [(&str, bool); 22] = [
    ("msr-cambridge", true),
    ("alibaba", true),
    ("tencent", false),
    ("systor17", true),
    ("spc", false),
    ("fiu", true),
    ("cloudphysics-csv", false),
    ("vscsi1", true),
    ("vscsi2", true),
    ("oracle-general", true),
    ("lcs", true),
    ("fio-iolog", true),
    ("fio-iolog-1", false),
    ("fio-latency-log", false),
    ("blktrace", true),
    ("blkparse", true),
    ("block-events", true),
    ("biosnoop", true),
    ("strace", true),
    ("mooncake", true),
    ("bailian", true),
    ("lmcache", true),
];

/// A format that is not tested would be missing from [`FORMATS`].
#[test]
fn each_format_of_the_program_has_another_parser() {
    let ours: BTreeSet<&str> = TraceFormat::names().collect();
    assert_eq!(FORMATS.iter().map(|(format, _)| *format).collect::<BTreeSet<&str>>(), ours);
}

/// Returns the I/Os of a trace.
fn ios(file: &Path) -> Vec<IoEvent> {
    let trace = Trace::open(File::open(file).unwrap()).unwrap();
    let mut batch = Batch::default();
    trace.batches(Fields::ALL).read(1 << 20, &mut batch).unwrap();
    (0..batch.len()).map(|row| batch.event(row)).collect()
}

/// Returns the commands in a message, without the program's name.
fn commands_in(message: &str) -> Vec<&str> {
    let parts = message.match_indices("steadfast trace import ");
    let commands = parts.map(|(at, _)| {
        let text = &message[at + "steadfast ".len()..];
        let end = text.find(" or steadfast ").or_else(|| text.find(';')).unwrap_or(text.len());
        &text[..end]
    });
    commands.collect()
}

/// Formats without a header whose lines can be a table in other units: each is refused with every
/// possible format, and the command for each of them reads it.
#[test]
fn a_file_of_several_possible_formats_is_refused_with_the_command_for_each() {
    let here = &TestDirectory::new();
    type LineOf = fn(u64) -> String;
    let tables: [(&[&str], LineOf); 10] = [
        (&["tencent"], |n| format!("{},{},16,{},7", 1_456_135_200 + n, n * 8, n % 2)),
        (&["spc"], |n| format!("1,{},4096,{},{n}.5", n * 8, ["r", "W"][n as usize % 2])),
        (&["cloudphysics-csv"], |n| {
            format!("1,{n},{},4096,{}", ["28", "2a"][n as usize % 2], n * 8)
        }),
        (&["fio-iolog-1"], |n| format!("{}, {}, 4096", n % 2, n * 4096)),
        (&["fio-latency-log"], |n| format!("{}, 48000, {}, 4096, {}, 0", 60 + n, n % 2, n * 4096)),
        (&["systor17"], |n| format!("{}.25,0.001,R,4,{},4096", 1_456_135_200 + n, n * 4096)),
        (&["fiu"], |n| format!("{n}000 7 db {} 8 W 8 0", n * 8)),
        (&["msr-cambridge"], |n| format!("{},db,0,Read,{n},1,9", 128_166_372_000_000_000 + n)),
        (&["alibaba"], |n| format!("7,W,{n},1,{}", 1_577_808_000_000_000 + n)),
        // Seconds, sector, sectors, operation, volume; or version, seconds, code, bytes, sector.
        (&["tencent", "cloudphysics-csv"], |n| format!("1456135200,{n},28,1,{n}")),
    ];
    for (formats, line) in tables {
        let text: String = (0..97).map(|n| line(n) + "\n").collect();
        write(here.join("table"), text).unwrap();
        let message = stderr(&run_ending(here, "trace import table -o t.parquet", &[1]));
        assert!(message.contains("--csv or --columns"), "{message}");
        let commands = commands_in(&message);
        assert_eq!(commands.len(), formats.len(), "{message}");
        for (format, command) in formats.iter().zip(&commands) {
            let expected = format!("trace import table --input-format {format} -o t.parquet");
            assert_eq!(*command, expected, "{message}");
            let imported = succeed_json(here, &format!("{command} --json --force"));
            assert_eq!(imported["events"], 97, "{formats:?}");
        }
        remove_file(here.join("t.parquet")).unwrap();
    }
    // Lines of two formats, each of which would be proven alone.
    let line = |n: u64| match n % 2 {
        0 => format!("4,R,{},4096,{}", n * 4096, 1_577_808_000_000_000 + n),
        _ => format!("{},db,0,Read,{},4096,9", 128_166_372_000_000_000 + n, n * 4096),
    };
    let text: String = (0..97).map(|n| line(n) + "\n").collect();
    write(here.join("table"), text).unwrap();
    let output = run_in(here, "trace import table -o new.parquet");
    let message = stderr(&output);
    let commands = commands_in(&message);
    let formats: BTreeSet<&str> =
        commands.iter().filter_map(|command| command.split(' ').nth(4)).collect();
    assert_eq!(formats, BTreeSet::from(["alibaba", "msr-cambridge"]), "{message}");
    let chosen = "trace import table -o new.parquet --input-format alibaba";
    refuse(here, chosen, &["table, line 2"]);
    assert!(read(here.join("new.parquet")).is_err());
}

/// Results and configurations of vdbench and Iometer hold no single I/Os: the message names the
/// command that reads them.
#[test]
fn results_of_other_tools_are_no_traces() {
    let here = &TestDirectory::new();
    for (text, parts) in [
        ("*\n tod timestamp Run Interval\n", &["flat", "vdbench"][..]),
        ("sd=sd1,lun=/dev/x\nwd=wd1,sd=sd1\nrd=r,wd=wd1\n", &["vdbench", "steadfast"]),
        ("'Test Type,Test Description\n0,x\n", &["Iometer", "steadfast iometer report"]),
        ("Version 1.1.0 \n'TEST SETUP ====\n", &["Iometer", "steadfast"]),
    ] {
        write(here.join("other"), text).unwrap();
        refuse(here, "trace import other -o t.parquet", parts);
        assert!(read(here.join("t.parquet")).is_err());
    }
}

#[test]
fn each_format_has_the_ios_that_another_parser_finds() {
    for (format, is_proven) in FORMATS {
        let here = &TestDirectory::new();
        write(here.join("script.py"), SCRIPT).unwrap();
        let Some(output) = python(&[], &["script.py", format], here) else { return };
        let found: serde_json::Value = parse_json(&output);
        let found: Vec<(u64, u64, u64, u64, i64)> =
            serde_json::from_value(found["ios"].clone()).unwrap();
        let mut import = "trace import sample -o t.parquet".to_owned();
        if !is_proven {
            refuse(here, &import, &[&format!("import sample --input-format {format} -o")]);
            import += &format!(" --input-format {format}");
        }
        // The blktrace file ends in zeros.
        let expected = if format == "blktrace" { 1 } else { 0 };
        run_ending(here, &import, &[expected]);
        let mut ours = Vec::new();
        for io in ios(&here.join("t.parquet")) {
            let response_ns = match io.response_ns {
                RESPONSE_UNKNOWN => -1,
                known => known.cast_signed(),
            };
            ours.push((io.issued_ns, io.op as u64, io.offset, u64::from(io.bytes), response_ns));
        }
        ours.sort_unstable();
        assert_eq!(ours.len(), 311, "{format}");
        assert!(ours == found, "{format}: {:?}", ours.iter().zip(&found).find(|(a, b)| a != b));
    }
}

/// The same columns in other units are refused: nanoseconds for seconds, bytes for sectors, sectors
/// for bytes.
#[test]
fn a_table_with_other_units_is_not_taken_for_a_published_trace() {
    let here = &TestDirectory::new();
    type LineOf = fn(u64) -> String;
    let tables: [(&str, LineOf); 7] = [
        ("spc", |n| format!("0,{},4096,r,{}", n * 4096, n * 1_000_000)),
        ("tencent", |n| format!("{},{},4096,0,7", 1_456_135_200 + n, n * 4096)),
        ("cloudphysics-csv", |n| format!("1,{},28,4096,{}", n * 1_000_000, n * 4096)),
        ("fio-iolog-1", |n| format!("{}, {}, 8", n % 2, n * 8)),
        ("fiu", |n| format!("{n} 7 db {} 4096 W 8 0", n * 4096)),
        ("msr-cambridge", |n| {
            format!("{},db,0,Read,{},8,9", 128_166_372_000_000_000 + n * 1000, n * 8)
        }),
        ("fio-latency-log", |n| format!("{n}, 48000, 0, 4096, {}, 0", n * 4096)),
    ];
    for (format, line) in tables {
        let text: String = (0..97).map(|n| line(n) + "\n").collect();
        write(here.join("table"), text).unwrap();
        let import = ["trace", "import", "table", "-o", "t.parquet"];
        refuse(here, &import, &[&format!("--input-format {format}"), "--csv"]);
        assert!(read(here.join("t.parquet")).is_err());
    }
}

#[test]
fn a_block_of_kv_cache_has_the_size_that_is_given() {
    let here = &TestDirectory::new();
    let import = "trace import requests -o t.parquet --kv-block";
    write(here.join("requests"), "8,0 1 1 0.5 7 D R 8 + 8 [a]\n").unwrap();
    refuse(here, &format!("{import} 64KiB"), &["--kv-block is for requests", "blkparse"]);
    let request =
        r#"{"timestamp": 9, "input_length": 600, "output_length": 1, "hash_ids": [4, 7]}"#;
    write(here.join("requests"), format!("{request}\n")).unwrap();
    refuse(here, &format!("{import} 4GiB"), &["--kv-block", "smaller than 4 GiB"]);
    succeed(here, &format!("{import} 64KiB"));
    let ios = ios(&here.join("t.parquet"));
    let places: Vec<_> = ios.iter().map(|io| (io.offset, io.bytes)).collect();
    assert_eq!(places, [(0, 65_536), (65_536, 65_536)]);
}
