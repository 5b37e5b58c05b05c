//! `steadfast trace`, on traces that these tests write.

use super::fixtures::*;
use super::synthetic_captures::{sized_device, write_trace};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use steadfast_domain::io_event::{
    CapturedDevice, CommandName, IncompleteIos, Mark, RESPONSE_UNKNOWN,
};
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer};
use steadfast_tracefile::table::{ColumnType, TableValue, TableWriter};
use steadfast_tracefile::{Batch, Fields, Trace, TraceWriter};
use steadfast_workload::WorkloadFile;

/// Ten seconds: 10,007 sequential reads of 4 KiB by one process, and from the mark at 5 s on 503
/// random writes of 16 KiB by another.
fn write(path: &Path) {
    let conditions = CaptureConditions {
        software: "test".into(),
        began_unix_ns: Some(1_763_697_600_000_000_000),
        devices: vec![sized_device("nvme0n1", Bytes::gib(1))],
        marks: vec![Mark { at_ns: 5_000_000_000, name: "backup".into() }],
        ..CaptureConditions::default()
    };
    let reads = (0..10_007).map(|n| IoEvent {
        issued_ns: n * 999_000,
        response_ns: 80_000,
        offset: n * 4096,
        bytes: 4096,
        depth: 1,
        pid: 100,
        command: CommandName::new("reader"),
        ..IoEvent::default()
    });
    let writes = (0..503).map(|n| IoEvent {
        issued_ns: 5_000_000_001 + n * 9_000_000,
        response_ns: 2_000_000,
        offset: (512 << 20) + n * 7919 % 503 * 65_536,
        bytes: 16_384,
        depth: 3,
        pid: 200,
        command: CommandName::new("writer"),
        op: IoOp::Write,
        ..IoEvent::default()
    });
    write_trace(path, conditions, &reads.chain(writes).collect::<Vec<_>>());
}

#[test]
fn streams_of_a_known_trace_are_counted_exactly() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"));
    let found = succeed_json(here, "trace streams t.parquet --json");
    let streams = array(&found["streams"]);
    let counts: Vec<(String, u64)> = streams
        .iter()
        .map(|s| (s["stream"].as_str().unwrap().to_owned(), s["count"].as_u64().unwrap()))
        .collect();
    let expected = [("SEQ 4K R".into(), 10_006), ("RND 16K W".into(), 503), ("RND 4K R".into(), 1)];
    assert_eq!(counts, expected);
    assert_eq!(streams[1]["op"], "write");
    assert_eq!((&streams[1]["order"], &streams[1]["bytes"]), (&"RND".into(), &16_384.into()));
    assert_eq!(streams[1]["qd_mean"], 3.0);
    assert_eq!(streams[1]["response"]["mean_ns"], 2_000_000);
    let text = succeed(here, "trace streams t.parquet --threshold 2%");
    assert!(text.contains("2 of 3 streams, 10,509 of 10,510 I/Os"), "{text}");
    let of_mark = "trace streams t.parquet --event backup --op w --json";
    assert_eq!(succeed_json(here, of_mark)["account"]["kept"], 503);
    let found = succeed_json(here, "trace processes t.parquet --pid writer --json");
    assert_eq!(found["processes"][0]["writes"], 503);
    assert_eq!(found["filter"], "command writer");
    // A report or a workload of a part says that it is one.
    for command in ["trace report -o r --format text", "workload derive"] {
        let text = succeed(here, &format!("{command} t.parquet --op write"));
        assert!(text.contains("operation write"), "{text}");
    }
}

#[test]
fn steps_maps_and_hits_add_up() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"));
    let sum = |values: &serde_json::Value, field: &str| -> u64 {
        array(values).iter().map(|v| v[field].as_u64().unwrap()).sum()
    };
    let steps = succeed_json(here, "trace steps t.parquet --step 1s --json");
    assert_eq!(array(&steps["steps"]).len(), 10);
    assert_eq!(sum(&steps["steps"], "count"), 10_510);
    // One read of 80 us every 999 us.
    let busy = steps["steps"][2]["utilisation"].as_f64().unwrap();
    assert!((busy - 0.08).abs() < 0.001, "{busy}");
    let map = succeed_json(here, "trace map t.parquet --step 5s --json");
    assert_eq!(array(&map["series"]).len(), 3);
    let hits = succeed_json(here, "trace hits t.parquet --ranges 64 --json");
    let hits = &hits["maps"][0]["hits"];
    assert_eq!(sum(hits, "writes"), 503);
    assert_eq!(sum(hits, "reads"), 10_007);
    let text = succeed(here, "trace compare t.parquet --step 5s");
    assert!(text.contains("A = nvme0n1, block"), "{text}");
}

#[test]
fn a_workload_is_applied_and_goes_through_a_replay_representation() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"));
    let derive = "workload derive t.parquet --threshold 2% -o w.toml --native --step 1s \
                  --replay-representation steps.txt --json";
    let found = succeed_json(here, derive);
    let weight = |stream: &serde_json::Value| stream["weight"].as_u64();
    let weights: Vec<_> = array(&found["io_streams"]).iter().map(weight).collect();
    assert_eq!(weights, [Some(10_006), Some(503)]);
    let text = std::fs::read_to_string(here.join("w.toml")).unwrap();
    let file = WorkloadFile::read(&text).unwrap();
    let steps_sum: u64 = file.steps.iter().flat_map(|step| &step.ios).map(|(_, ios)| ios).sum();
    assert_eq!((file.steps.len(), steps_sum), (10, 10_509));
    let again = succeed_json(here, "workload derive steps.txt --json");
    assert_eq!(again["workload"]["streams"][0]["count"], 10_006);
    assert_eq!(again["workload"]["total_count"], 10_510);
    std::fs::write(here.join("edited.toml"), text.replace("ios = 503", "ios = 10006")).unwrap();
    let measure = "measure --target sim:small --json --ios";
    let answer = succeed_json(here, &format!("{measure} 10007 --workload edited.toml"));
    let streams = array(&answer["measurement"]["streams"]);
    let ios: Vec<u64> = streams.iter().map(|s| s["tally"]["ios"].as_u64().unwrap()).collect();
    assert_eq!(ios.iter().sum::<u64>(), 10_007);
    // Half and half now: five standard deviations are 250.
    assert!(ios[0].abs_diff(ios[1]) < 500, "{ios:?}");
    // A Replay representation is applied as the workload file that is derived from it.
    let answer = succeed_json(here, &format!("{measure} 1009 --workload steps.txt"));
    let streams = array(&answer["step"]["load"]["stimulus"]["streams"]);
    let weights: Vec<_> = streams.iter().map(weight).collect();
    assert_eq!(weights, [Some(10_006), Some(503)]);
    let of_trace = format!("{measure} 1009 --workload t.parquet");
    refuse(here, &of_trace, &["t.parquet", "workload derive"]);
    refuse(here, "measure --target sim:small", &["--workload"]);
}

#[test]
fn a_report_is_written_and_a_killed_trace_recovered() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"));
    succeed(here, "trace report t.parquet -o r --format html,csv,json");
    for name in ["report.html", "findings.json", "streams.csv", "steps.csv"] {
        assert!(here.join("r").join(name).exists(), "{name}");
    }
    let whole = std::fs::read(here.join("t.parquet")).unwrap();
    std::fs::write(here.join("killed.parquet"), &whole[..whole.len() - 9]).unwrap();
    let text = succeed(here, "trace recover killed.parquet -o whole.parquet");
    assert!(text.contains("10,510 I/Os"), "{text}");
    let found = succeed_json(here, "trace streams whole.parquet --json");
    assert_eq!(found["total"]["count"], 10_510);
}

#[test]
fn bad_traces_and_options_are_refused_in_one_line() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"));
    std::fs::write(here.join("text"), "not a trace").unwrap();
    refuse(here, "trace streams text", &["text", "not a trace"]);
    refuse(here, "trace streams missing", &["missing", "cannot open it"]);
    refuse(here, "trace streams t.parquet --event lunch", &["lunch", "backup"]);
    refuse(here, "trace streams t.parquet --device sdz", &["sdz", "nvme0n1"]);
    refuse(here, "trace steps t.parquet --step 1us", &["100us"]);
    refuse(here, "trace steps t.parquet --from 1h", &["filter"]);
    refuse(here, "trace recover t.parquet -o text", &["text"]);
}

/// A known fio iolog, plain and packed, and a CSV are imported with their counts; a file that cannot
/// be read leaves no output behind.
#[test]
fn other_tools_traces_are_imported() {
    let here = &TestDirectory::new();
    let ios: String = (0..503).map(|n| format!("{n} sdb read {} 4096\n", n * 4096)).collect();
    let iolog = format!("fio version 3 iolog\n0 sdb add\n0 sdb open\n{ios}600 sdb close\n");
    std::fs::write(here.join("log"), &iolog).unwrap();
    let packed = std::process::Command::new("gzip").arg("-k").arg(here.join("log")).status();
    assert!(packed.unwrap().success());
    for name in ["log", "log.gz"] {
        let output = format!("{name}.parquet");
        let answer = succeed_json(here, &format!("trace import {name} -o {output} --json"));
        assert_eq!(
            (answer["events"].as_u64(), answer["passed_over"].as_u64()),
            (Some(503), Some(3))
        );
        let table = succeed_json(here, &format!("trace streams {output} --json"));
        assert_eq!(table["streams"][0]["stream"], "SEQ 4K R");
        assert_eq!(table["streams"][0]["count"], 502);
    }
    std::fs::write(here.join("t.csv"), "op;at;lba;n\nW;1.5;8;512\nR;2.5;16;4096\n").unwrap();
    let plan = "time=2:ms,op=1,offset=3:sectors,bytes=4,separator=semicolon";
    let import = ["trace", "import", "t.csv", "--csv", plan, "-o", "c.parquet", "--json"];
    assert_eq!(succeed_json(here, &import)["events"], 2);
    refuse(here, "trace import t.csv -o d.parquet", &["--input-format", "--csv"]);
    refuse(here, "trace import log -o c.parquet", &["c.parquet", "exists"]);
    std::fs::write(here.join("bad"), iolog.replace("77 sdb read", "77 sdb raed")).unwrap();
    refuse(here, "trace import bad -o e.parquet", &["bad", "line 81", "raed"]);
    assert!(!here.join("e.parquet").exists());
}

/// A published trace is recognized in every compression; a cut or doubled one is refused.
#[test]
fn compressed_traces_are_imported() {
    let here = &TestDirectory::new();
    let line = |n: u64| {
        let ticks = 128_166_372_000_000_000 + n * 9_973;
        format!("{ticks},usr,0,Read,{},4096,{}\n", n * n % 10_007 * 4096, n % 977)
    };
    let text: String = (0..10_007).map(line).collect();
    type Packer = fn(&[u8]) -> Vec<u8>;
    let gzip: Packer = |data| {
        let mut packer = flate2::read::GzEncoder::new(data, flate2::Compression::fast());
        let mut packed = Vec::new();
        packer.read_to_end(&mut packed).unwrap();
        packed
    };
    let xz: Packer = |data| {
        let mut packed = Vec::new();
        liblzma::read::XzEncoder::new(data, 1).read_to_end(&mut packed).unwrap();
        packed
    };
    let bzip2: Packer = |data| {
        let mut packed = Vec::new();
        bzip2::read::BzEncoder::new(data, bzip2::Compression::fast())
            .read_to_end(&mut packed)
            .unwrap();
        packed
    };
    let zstd: Packer = |data| zstd::encode_all(data, 1).unwrap();
    for (number, packer) in [gzip, xz, bzip2, zstd].into_iter().enumerate() {
        // Two streams, as `cat` joins them.
        let (first, second) = text.as_bytes().split_at(text.len() / 3);
        let packed = [packer(first), packer(second)].concat();
        std::fs::write(here.join("packed"), &packed).unwrap();
        let output = format!("t{number}.parquet");
        let answer = succeed_json(here, &format!("trace import packed -o {output} --json"));
        assert_eq!(
            (answer["events"].as_u64(), &answer["source"]),
            (Some(10_007), &"MSR Cambridge CSV".into())
        );
        std::fs::write(here.join("packed"), &packed[..packed.len() - 9]).unwrap();
        let import = ["trace", "import", "packed", "-o", "cut.parquet"];
        refuse(here, &import, &["packed cannot be read at line", "cannot be unpacked after"]);
        std::fs::write(here.join("packed"), packer(&packed)).unwrap();
        refuse(here, &import, &["compressed twice"]);
        std::fs::write(here.join("packed"), packer(&[1; 99])).unwrap();
        refuse(here, &import, &["packed, unpacked: unknown format"]);
        std::fs::write(here.join("packed"), "").unwrap();
        refuse(here, &import, &["packed: it is empty"]);
    }
}

/// A cut blktrace file gives what is whole and the exit code of an incomplete answer.
#[test]
fn a_cut_blktrace_is_imported_as_incomplete() {
    let here = &TestDirectory::new();
    let record = |time: u64, action: u32| {
        let words =
            |values: &[u32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        let times = [time.to_le_bytes(), 80u64.to_le_bytes()].concat();
        [words(&[0x6561_7407, 0]), times, words(&[4096, action, 7, 8 << 20, 0, 0])].concat()
    };
    let whole = [record(1_000, 7 | 1 << 16), record(9_000, 8 | 1 << 16)].concat();
    std::fs::write(here.join("sda.blktrace.0"), [&whole[..], &whole[..31]].concat()).unwrap();
    let output = run_ending(here, "trace import sda.blktrace.0 -o t.parquet", &[1]);
    let text = stdout(&output);
    assert!(text.contains("at byte 96: 2 records were read"), "{text}");
    assert_eq!(succeed_json(here, "trace streams t.parquet --json")["streams"][0]["count"], 1);
}

/// A table of another program is read by the names of its columns.
#[test]
fn a_mapping_file_names_the_columns() {
    let here = &TestDirectory::new();
    let map = "time = { column = \"at\", unit = \"us\" }\nop = { always = \"write\" }\n\
               offset = \"at\"\nbytes = { column = \"n\", unit = \"KiB\" }\n";
    std::fs::write(here.join("map.toml"), map).unwrap();
    let columns = [("n", ColumnType::Number), ("at", ColumnType::Integer)];
    let mut table = TableWriter::new(Vec::new(), &columns, &[]).unwrap();
    let rows = |n: i64| vec![TableValue::Number(0.5), TableValue::Integer(n * 512)];
    table.add(&(0..1_009).map(rows).collect::<Vec<_>>()).unwrap();
    std::fs::write(here.join("t"), table.finish().unwrap()).unwrap();
    std::fs::write(here.join("t.csv"), "n,at\n0.5,0\n0.5,512\n0.75,1024\n").unwrap();
    for (file, ios) in [("t", 1_009), ("t.csv", 3)] {
        let output = format!("{file}.out");
        let import = ["trace", "import", file, "--columns", "map.toml", "-o", &output, "--json"];
        assert_eq!(succeed_json(here, &import)["events"], ios);
    }
    let streams = succeed_json(here, "trace streams t.out --json");
    assert_eq!(streams["streams"][0]["stream"], "SEQ 0.5K W");
    refuse(here, "trace import t -o u", &["Parquet", "--columns FILE"]);
    std::fs::write(here.join("map.toml"), map.replace("\"n\"", "\"size\"")).unwrap();
    let import = ["trace", "import", "t.csv", "--columns", "map.toml", "-o", "u"];
    refuse(here, &import, &["line 1", "no column 'size'; the columns are: n, at"]);
}

/// Writes a file of a capture that began at `began_unix_ns`: reads of 4 KiB, one every millisecond
/// from `first_ms` on.
pub fn write_part(path: &Path, began_unix_ns: u64, first_ms: u64, ios: u64) {
    let conditions = CaptureConditions {
        began_unix_ns: Some(began_unix_ns),
        lasted_ns: first_ms * 1_000_000,
        devices: vec![CapturedDevice { name: "sda".into(), ..CapturedDevice::default() }],
        ..CaptureConditions::default()
    };
    let reads = (first_ms..first_ms + ios).map(|ms| IoEvent {
        issued_ns: ms * 1_000_000,
        response_ns: 10_000,
        offset: ms * 4096,
        bytes: 4096,
        depth: 1,
        ..IoEvent::default()
    });
    let mut writer = TraceWriter::new(File::create(path).unwrap(), &conditions).unwrap();
    writer.write(&reads.collect::<Vec<_>>()).unwrap();
    let lasted_ns = (first_ms + ios) * 1_000_000;
    writer.finish(CaptureConditions { lasted_ns, ..conditions }).unwrap();
}

#[test]
fn the_files_of_a_rotated_capture_are_read_as_one() {
    let here = &TestDirectory::new();
    write_part(&here.join("t.parquet"), 1_000, 0, 307);
    write_part(&here.join("t.2.parquet"), 1_000, 307, 400);
    write_part(&here.join("t.3.parquet"), 1_000, 707, 11);
    write_part(&here.join("other.parquet"), 2_000, 0, 5);
    // In whatever order a shell names them. One run from the first I/O to the last.
    let files = "t.2.parquet t.3.parquet t.parquet";
    let of = |question: &str| succeed_json(here, &format!("trace {question} {files} --json"));
    let streams = of("streams");
    assert_eq!(streams["total"]["count"], 718);
    assert_eq!(streams["streams"][0]["count"], 717, "{streams}");
    assert_eq!(streams["conditions"]["lasted_ns"], 718_000_000);
    let steps = of("steps --step 500ms --from 300ms --to 600ms");
    let counts: Vec<_> = array(&steps["steps"]).iter().map(|s| &s["count"]).collect();
    assert_eq!(counts, [200, 100]);
    assert_eq!(array(&of("compare")["sides"]).len(), 1);
    let derived = succeed_json(here, "workload derive t.parquet t.2.parquet --json");
    assert_eq!(derived["workload"]["total_count"], 707);
    refuse(here, "trace streams t.parquet t.parquet", &["t.parquet", "named twice"]);
    // Another capture stands beside it.
    let mixed = succeed_json(here, "trace streams t.parquet other.parquet --json");
    assert_eq!(mixed["total"]["count"], 312);
}

/// Two files may have the same host and the same beginning: made by one program, or imported
/// twice with other options. They are two captures; one file under two names is not.
#[test]
fn two_files_of_one_beginning_are_compared_and_one_file_under_two_names_is_not() {
    let here = &TestDirectory::new();
    write_part(&here.join("a.parquet"), 1_000, 0, 307);
    write_part(&here.join("b.parquet"), 1_000, 0, 401);
    let by_op = "--by op --align start --json";
    let found = succeed_json(here, &format!("trace compare a.parquet b.parquet {by_op}"));
    let counts = (&found["total"]["a"]["count"], &found["total"]["b"]["count"]);
    assert_eq!(counts, (&307.into(), &401.into()));
    let beside = succeed_json(here, "trace compare a.parquet b.parquet --json");
    assert_eq!(array(&beside["sides"]).len(), 2);
    // Added up, they would count the same time of the same device twice.
    refuse(here, "trace streams a.parquet b.parquet", &["same part", "name one"]);
    std::fs::hard_link(here.join("a.parquet"), here.join("hard.parquet")).unwrap();
    std::os::unix::fs::symlink("a.parquet", here.join("soft.parquet")).unwrap();
    for other in ["a.parquet", "./a.parquet", "hard.parquet", "soft.parquet"] {
        for twice in [other, &format!("{other} {by_op}"), &format!("--after {other} {by_op}")] {
            let compare = format!("trace compare a.parquet {twice}");
            refuse(here, &compare, &["a.parquet", "named twice"]);
        }
    }
    // The files of a rotated capture are still one side.
    write_part(&here.join("a.2.parquet"), 1_000, 307, 100);
    let found =
        succeed_json(here, &format!("trace compare a.parquet b.parquet a.2.parquet {by_op}"));
    let counts = (&found["total"]["a"]["count"], &found["total"]["b"]["count"]);
    assert_eq!(counts, (&407.into(), &401.into()));
}

/// The later of two captures is named first: the axis begins with the earlier.
#[test]
fn captures_stand_on_one_axis_whichever_is_named_first() {
    let here = &TestDirectory::new();
    let second = 1_000_000_000;
    write_part(&here.join("early.parquet"), 100 * second, 0, 2_500);
    write_part(&here.join("late.parquet"), 101 * second, 0, 2_000);
    let compare = "trace compare late.parquet early.parquet --step 1s";
    let found = succeed_json(here, &format!("{compare} --json"));
    let steps = |side: usize| -> Vec<(u64, u64)> {
        let steps = array(&found["sides"][side]["steps"]);
        let of = |step: &serde_json::Value, name: &str| step[name].as_u64().unwrap();
        steps.iter().map(|step| (of(step, "begin_ns") / second, of(step, "count"))).collect()
    };
    assert_eq!(steps(0), [(1, 1_000), (2, 1_000)]);
    assert_eq!(steps(1), [(0, 1_000), (1, 1_000), (2, 500)]);
    let text = succeed(here, compare);
    let is_step = |line: &&str| line.trim_start().starts_with(['0', '1', '2']);
    assert_eq!(text.lines().filter(is_step).count(), 3);
}

/// What a source does not report is not shown as zero: response times, busy time, the date.
#[test]
fn what_a_log_does_not_tell_stays_unknown() {
    let here = &TestDirectory::new();
    let log: String =
        (0..31).map(|n| format!("{} f read {} 4096\n", n * 50_000, n << 20)).collect();
    std::fs::write(here.join("io.log"), format!("fio version 3 iolog\n{log}")).unwrap();
    succeed(here, "trace import io.log -o t.parquet");
    let found = succeed_json(here, "trace steps t.parquet --step 1s --json");
    let steps = array(&found["steps"]);
    assert_eq!((steps[0]["count"].as_u64(), steps[1]["count"].as_u64()), (Some(20), Some(11)));
    for name in ["utilisation", "response_mean_ns", "qd_mean"] {
        assert!(steps.iter().all(|step| step[name].is_null()), "{name}: {found}");
    }
    succeed(here, "trace report t.parquet -o r --format json,html");
    let findings: serde_json::Value = read_json(here.join("r/findings.json"));
    assert_eq!([&findings["began_unix_ms"], &findings["ended_unix_ms"]], [0, 0]);
    assert!(!findings.to_string().contains("Disk utilization"));
    assert!(!std::fs::read_to_string(here.join("r/report.html")).unwrap().contains("1970-01"));
}

/// A capture of both layers counts one of them unless both are requested; the front page says so.
#[test]
fn two_layers_are_not_added_up_unasked() {
    let here = &TestDirectory::new();
    let conditions = CaptureConditions {
        layers: vec![Layer::Block, Layer::FileSystem],
        devices: vec![CapturedDevice { name: "sda".into(), ..CapturedDevice::default() }],
        ..CaptureConditions::default()
    };
    let io = |n: u64| IoEvent {
        issued_ns: n * 1_000_000,
        response_ns: 10_000,
        offset: n * 8192,
        bytes: 4096,
        layer: if n.is_multiple_of(3) { Layer::Block } else { Layer::FileSystem },
        ..IoEvent::default()
    };
    write_trace(here.join("t.parquet"), conditions, &(0..303).map(io).collect::<Vec<_>>());
    for (layer, ios) in
        [("", 101), ("--layer block", 101), ("--layer filesystem", 202), ("--layer both", 303)]
    {
        let streams = succeed_json(here, &format!("trace streams t.parquet --json {layer}"));
        assert_eq!(streams["total"]["count"], ios, "{layer}");
        succeed(here, &format!("trace report t.parquet --format json -o r --force {layer}"));
        let findings: serde_json::Value = read_json(here.join("r/findings.json"));
        let headline = findings["headline"].as_str().unwrap();
        let is_of_both = headline.contains("both layers counted together");
        assert_eq!(is_of_both, layer == "--layer both", "{headline}");
        // Both stand beside each other in any case.
        let sides = array(&findings["chapters"]).last().unwrap()["exhibits"].to_string();
        assert!(sides.contains("sda, block") && sides.contains("sda, filesystem"), "{layer}");
    }
    let compare = succeed_json(here, "trace compare t.parquet --json");
    assert_eq!(array(&compare["sides"]).len(), 2);
    let derived = succeed_json(here, "workload derive t.parquet --json --threshold 0%");
    assert_eq!(derived["workload"]["total_count"], 101);
}

/// Ten completions were missed, and the source counted each as outstanding from
/// then on: queue depths come from times, and every page says what is missing.
#[test]
fn missed_completions_are_reported_and_do_not_count_as_outstanding() {
    let here = &TestDirectory::new();
    let part = IncompleteIos { begun_before: 3, unended: 10, too_many: 0 };
    let conditions = CaptureConditions {
        layers: vec![Layer::Block],
        unfinished: part.missing(),
        in_part: Some(part),
        ..CaptureConditions::default()
    };
    // Four at a time.
    let io = |n: u64| IoEvent {
        issued_ns: n * 10_000,
        response_ns: if n % 1_000 == 500 { RESPONSE_UNKNOWN } else { 40_000 },
        depth: 4 + u32::try_from((n + 499) / 1_000).unwrap(),
        offset: n * 8192,
        bytes: 4096,
        ..IoEvent::default()
    };
    write_trace(here.join("t.parquet"), conditions, &(0..10_000).map(io).collect::<Vec<_>>());
    let streams = succeed_json(here, "trace streams t.parquet --json");
    assert_eq!(streams["total"]["qd_max"], 4);
    let mean = streams["total"]["qd_mean"].as_f64().unwrap();
    assert!((3.99..=4.0).contains(&mean), "{mean}");
    assert_eq!(streams["account"]["depths_counted"], 9_990);
    assert_eq!(streams["conditions"]["in_part"]["unended"], 10);
    let text = succeed(here, "trace report t.parquet --format text -o r");
    assert_contains(&text, &["Completion not seen", "Issued before the capture", "of 10 I/Os"]);
    let messages = stderr(&run_in(here, "trace streams t.parquet"));
    assert_contains(&messages, &["13 incomplete", "10 without a response time"]);
}

/// fio logs a completion by the millisecond, from which the number of outstanding I/Os is unknown.
#[test]
fn a_latency_log_of_rounded_times_tells_no_queue_depth() {
    let here = &TestDirectory::new();
    // Eight at a time, of 100 us each.
    let log: String =
        (0..8_000).map(|n| format!("{}, 100000, 0, 4096, {}, 0\n", n / 80, n * 8192)).collect();
    std::fs::write(here.join("lat.log"), log).unwrap();
    let import = "trace import lat.log --input-format fio-latency-log -o t.parquet";
    succeed(here, import);
    let streams = succeed_json(here, "trace streams t.parquet --json");
    let total = &streams["total"];
    assert!(total["qd_mean"].is_null() && total["qd_max"].is_null(), "{total}");
    assert_eq!(total["response"]["mean_ns"], 100_000);
    assert_eq!(streams["conditions"]["rounded_times"], true);
    let steps = succeed_json(here, "trace steps t.parquet --json");
    let steps = array(&steps["steps"]);
    assert!(steps.iter().all(|step| step["qd_mean"].is_null() && step["utilisation"].is_null()));
    let text = succeed(here, "trace report t.parquet --format text -o r");
    assert!(!text.contains("Disk utilization"));
}

/// More devices than are kept apart: every I/O is in the steps and in a report.
#[test]
fn no_io_of_many_devices_is_left_out_of_the_steps() {
    let here = &TestDirectory::new();
    // 40 volumes, one read each every millisecond, busy for half of it.
    let lines: String = (0..1_000)
        .flat_map(|ms| (0..40).map(move |volume| (ms, volume)))
        .map(|(ms, volume)| format!("{ms}.000,R,{},4096,500,{volume}\n", ms * 8192))
        .collect();
    std::fs::write(here.join("a.csv"), lines).unwrap();
    let import = "trace import a.csv -o t.parquet \
                  --csv time=1:ms,op=2,offset=3,bytes=4,response=5:us,device=6";
    succeed(here, import);
    let found = succeed_json(here, "trace steps t.parquet --step 500ms --json");
    let steps = array(&found["steps"]);
    let counts: Vec<_> = steps.iter().map(|step| step["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [20_000, 20_000]);
    assert_eq!(steps[0]["utilisation"], 0.5);
    succeed(here, "trace report t.parquet --format json,csv -o r --step 1s");
    let table = std::fs::read_to_string(here.join("r/steps.csv")).unwrap();
    let row: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    // The trace has no length: it ends with its last I/O, which is issued at 999 ms.
    let (rest, unknown) = row.split_last_chunk::<4>().unwrap();
    assert_eq!(unknown, &[""; 4], "an import has no threads and no processor use");
    let busy: f64 = rest.last().unwrap().parse().unwrap();
    assert_eq!(row[3], "40000", "{table}");
    assert!((busy - 50.0 / 0.999_000_001).abs() < 1e-9, "{table}");
    let findings = std::fs::read_to_string(here.join("r/findings.json")).unwrap();
    assert!(findings.contains("The trace has 40 devices"), "the report names its limit");
}

/// Flips a bit in a file's last row group, which ends at its last recovery block.
fn damage(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let block = bytes.windows(8).rposition(|text| text == b"SFTRACE1").unwrap();
    bytes[block - 40] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn damage_is_said_in_every_output_and_is_no_success() {
    let here = &TestDirectory::new();
    write_part(&here.join("t.parquet"), 1_000, 0, 307);
    write_part(&here.join("t.2.parquet"), 1_000, 307, 400);
    damage(&here.join("t.2.parquet"));
    let files = "t.parquet t.2.parquet";
    let output = run_ending(here, &format!("trace streams {files}"), &[1]);
    assert!(stdout(&output).contains("307 of 307 I/Os"), "{}", stdout(&output));
    let place = "file 2, row group 1";
    assert!(stderr(&output).contains(place) && stderr(&output).contains("400 I/Os"));
    for command in ["streams", "steps", "map", "processes", "hits", "compare"] {
        let output = run_ending(here, &format!("trace {command} --json {files}"), &[1]);
        let found: serde_json::Value = parse_json(&output);
        assert_eq!(found["integrity"]["damaged"][0]["ios"], 400, "{command}: {found}");
    }
    let output = run_ending(here, &format!("trace report {files} -o r --format text,json"), &[1]);
    assert!(stdout(&output).contains(place), "{}", stdout(&output));
    assert!(std::fs::read_to_string(here.join("r/findings.json")).unwrap().contains(place));
    let output = run_ending(here, &format!("workload derive {files}"), &[1]);
    assert!(stdout(&output).contains(place), "{}", stdout(&output));
    succeed(here, &format!("trace streams --accept-damage {files}"));
    // What is recovered says it for ever, and is a success.
    succeed(here, &format!("trace recover -o whole.parquet {files}"));
    let found = succeed_json(here, "trace streams whole.parquet --json");
    assert_eq!(found["total"]["count"], 307);
    assert_eq!(found["integrity"]["checksums"], true);
    assert!(found["conditions"]["remarks"][0].as_str().unwrap().contains(place), "{found}");
}

/// Old files without checksums are read, with a warning. Where the Parquet library panics, one line
/// says what is wrong.
#[test]
fn files_without_checksums_are_read_with_a_caveat_and_never_with_a_backtrace() {
    let here = &TestDirectory::new();
    write_part(&here.join("t.parquet"), 1_000, 0, 307);
    let mut bytes = std::fs::read(here.join("t.parquet")).unwrap();
    while let Some(at) = bytes.windows(11).position(|text| text == b"steadfast.s") {
        bytes[at] = b'x';
    }
    std::fs::write(here.join("old.parquet"), &bytes).unwrap();
    let output = run_in(here, "trace streams old.parquet");
    assert!(code(&output) == 0 && stderr(&output).contains("no checksums"), "{}", stderr(&output));
    let mut panics = 0;
    for at in 0..bytes.len() - 8 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        let read = || {
            let trace = Trace::open(std::io::Cursor::new(damaged.clone()))?;
            let (mut batches, mut batch) = (trace.batches(Fields::ALL), Batch::default());
            while batches.read(1000, &mut batch)? > 0 {}
            Ok::<(), steadfast_tracefile::TraceError>(())
        };
        if read().is_err_and(|error| error.to_string().contains("the Parquet library could not")) {
            std::fs::write(here.join("panics.parquet"), &damaged).unwrap();
            let output = run_in(here, "trace processes panics.parquet");
            let text = stderr(&output);
            assert!(code(&output) == 1 && !text.contains("panicked"), "{text}");
            panics += 1;
            if panics == 3 {
                break;
            }
        }
    }
    if panics == 0 {
        eprintln!("No byte of this file makes the Parquet library panic.");
    }
}

/// One I/O now and one centuries later: steps as wide as that needs.
#[test]
fn a_trace_that_spans_centuries_fits_a_report() {
    let here = &TestDirectory::new();
    let year = 31_557_600_000_000_000;
    let event = |issued_ns| IoEvent {
        issued_ns,
        bytes: 4096,
        response_ns: year * 10,
        ..IoEvent::default()
    };
    let conditions = CaptureConditions::default();
    write_trace(here.join("t.parquet"), conditions, &[event(0), event(year), event(530 * year)]);
    succeed(here, "trace report t.parquet -o r --format html,csv,json");
    let steps = succeed_json(here, "trace steps t.parquet --json");
    assert!(array(&steps["steps"]).len() < 300);
    assert_eq!(steps["step_ns"].as_u64().unwrap() % 3_600_000_000_000, 0);
    for command in ["map", "hits", "compare"] {
        succeed_json(here, &format!("trace {command} t.parquet --json"));
    }
    // Steps too narrow for a picture of all are shown in windows.
    succeed(here, "trace report t.parquet -o q --step 1h --format json");
}

#[test]
fn hits_are_of_the_devices_and_steps_that_were_asked_for() {
    let here = &TestDirectory::new();
    let conditions = CaptureConditions {
        devices: (0..20)
            .map(|n| CapturedDevice { name: format!("sd{n}"), ..CapturedDevice::default() })
            .collect(),
        ..CaptureConditions::default()
    };
    // The device n ends at n + 1 MiB; the last I/O is at 66 s.
    let events: Vec<IoEvent> = (0..=660u64)
        .map(|n| IoEvent {
            issued_ns: n * 100_000_000,
            device: (n % 20) as u16,
            offset: (n % 20) << 20,
            bytes: 1 << 20,
            ..IoEvent::default()
        })
        .collect();
    write_trace(here.join("t.parquet"), conditions, &events);
    let all = succeed_json(here, "trace hits t.parquet --json --step 10s --ranges 1");
    assert_eq!((&all["step_ns"], array(&all["maps"]).len()), (&10_000_000_000u64.into(), 20));
    let begins = array(&all["maps"][0]["hits"]).iter().map(|hit| hit["begin_ns"].as_u64().unwrap());
    assert!(begins.eq((0..7).map(|n| n * 10_000_000_000)));
    // The end of the selection stands for a device size that is unknown.
    let found =
        succeed_json(here, "trace hits t.parquet --json --device sd19 --device sd3 --ranges 4");
    let maps = array(&found["maps"]);
    assert_eq!((&maps[0]["device"], &maps[1]["device"]), (&"sd3".into(), &"sd19".into()));
    assert_eq!(maps[0]["range_bytes"], 1u64 << 20);
    assert_eq!(maps[1]["range_bytes"], 5u64 << 20);
    assert_eq!((maps.len(), &maps[0]["outside"]), (2, &0.into()));
}

#[test]
fn an_import_without_an_io_is_refused() {
    let here = &TestDirectory::new();
    let file = File::create(here.join("blank.csv.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &[b'\n'; 1 << 20]).unwrap();
    gzip.finish().unwrap();
    std::fs::write(here.join("header.csv"), "time,op,offset,bytes\n").unwrap();
    let cases = [("blank.csv.gz", "1048576 blank lines"), ("header.csv", "no I/O among its 1")];
    for (file, what) in cases {
        let import = "trace import -o t.parquet --csv time=1:s,op=2,offset=3,bytes=4";
        refuse(here, &format!("{import} {file}"), &[file, what]);
        assert!(!here.join("t.parquet").exists());
    }
}
