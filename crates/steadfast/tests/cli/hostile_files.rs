//! Untrusted files that ask for more memory or time than a machine has: each is answered within
//! 1 GiB of address space and 30 s of processor time.

use super::fixtures::*;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;

const MEMORY: u64 = 1 << 30;
/// An unoptimized build needs up to 6 s on an idle processor, and twice that on a shared one; what
/// grows with the square of such an input needs minutes.
const SECONDS: u64 = 30;
/// Bytes of a long name.
const LONG: usize = 10 << 20;

/// Runs the program within the limits.
#[track_caller]
fn run_within_limits(here: &Path, arguments: &(impl Arguments + ?Sized)) -> Output {
    let mut command = command_in(here, arguments);
    command.env("XDG_CACHE_HOME", here.join("cache"));
    let arguments = arguments.words();
    let limit = |rlim: u64| libc::rlimit { rlim_cur: rlim, rlim_max: rlim };
    let set = move || {
        // SAFETY: setrlimit is safe to call between fork and exec, and both limits live on
        // the stack during the calls.
        let failed = unsafe {
            libc::setrlimit(libc::RLIMIT_AS, &limit(MEMORY))
                | libc::setrlimit(libc::RLIMIT_CPU, &limit(SECONDS))
        };
        if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure only calls setrlimit.
    unsafe { command.pre_exec(set) };
    let output = command.output().unwrap();
    let text = stderr(&output);
    let start: String = text.chars().take(2000).collect();
    assert_eq!(output.status.signal(), None, "{arguments:?}: {start}");
    assert!(!text.contains("panicked"), "{arguments:?}: {start}");
    output
}

/// Runs the program within the limits; it must refuse in few words, which are returned.
#[track_caller]
fn refuse_within_limits(here: &Path, arguments: &(impl Arguments + ?Sized)) -> String {
    let output = run_within_limits(here, arguments);
    let (text, arguments) = (stderr(&output), arguments.words());
    let start: String = text.chars().take(2000).collect();
    assert!(matches!(code(&output), 1 | 2), "{arguments:?}: {:?} {start}", output.status);
    assert!(text.len() < 16_384, "{arguments:?} prints {} bytes: {start}", text.len());
    let longest = text.split(|c: char| c != 'x').map(str::len).max();
    assert!(longest <= Some(80), "{arguments:?} quotes {longest:?} characters");
    text
}

/// Bytes of a job file, a suite and so on, in which `@` is a name of 10 MB.
fn with_long_name(text: &str) -> String {
    text.replace('@', &"x".repeat(LONG))
}

#[test]
fn long_names_are_refused_in_few_words() {
    let here = &TestDirectory::new();
    let plan = "--plan --target sim:small";
    let import = "-o out.parquet --csv time=1,op=2,offset=3,bytes=4";
    for (command, name, text, options) in [
        ("fio", "a.fio", "[a]\nrw=read\nfilename=/dev/x\n@=1\n", plan),
        ("fio", "b.fio", "[a]\nrw=@\nfilename=/dev/x\n", plan),
        ("fio", "c.fio", "[@]\nrw=nonsense\nfilename=/dev/x\n", plan),
        ("fio", "d.fio", "@", plan),
        ("fio", "e.fio", "[a]\nrw=read\nbs=@\nfilename=/dev/x\n", plan),
        ("fiosynth", "a.json", "{\"def\": [{\"template\": \"@\", \"values\": {}}]}", plan),
        ("fiosynth", "b.json", "{\"@\": 1}", plan),
        ("fiosynth", "c.json", "@", plan),
        ("iometer", "a.icf", "Version 1.1.0\n'@\n", plan),
        ("iometer", "b.icf", "Version @\n", plan),
        ("study", "a", "", ""),
        ("report", "a.xml", "<root><cmdline>@</cmdline></root>", "-o r"),
        ("report", "b.xml", "<root><@/></root>", "-o r"),
        ("report", "a.csv", "'Test Type,Test Description\n@\n", "-o r"),
        ("report", "a.txt", "@\n", "-o r"),
        ("report", "f.json", "{\"version\": 3, \"@\": 1}", "-o r"),
        ("trace import", "a.log", "@,R,0,4096\n", import),
        ("trace import", "b.log", "fio version 2 iolog\n@ add\n", "-o out.parquet"),
        ("measure --workload", "w.toml", "format = \"@\"\n@ = 1\n", "--target sim:small"),
    ] {
        fs::write(here.join(name), with_long_name(text)).unwrap();
        refuse_within_limits(here, &format!("{command} {name} {options}"));
    }
    fs::write(here.join("limits.toml"), with_long_name("[[limit]]\n@ = 1\n")).unwrap();
    refuse_within_limits(here, &["check", "f.json", "--limits", "limits.toml"]);
}

#[test]
fn endless_loads_are_refused_or_planned_in_little_memory() {
    let here = &TestDirectory::new();
    let plan_fio = "fio a.fio --plan --target sim:small";
    let job = |name: &str, options: &str| {
        let text = format!("[a]\nrw=read\nbs=4k\nfilename=/dev/x\ntime_based\n{options}");
        fs::write(here.join(name), text).unwrap();
    };
    for options in [
        "runtime=4294967295\nrate_iops=100\n", "runtime=4294967295\n", "runtime=999999999\n",
        "runtime=60\nramp_time=999999999\n", "runtime=31536001\nrate_iops=100\n",
    ] {
        job("a.fio", options);
        refuse_within_limits(here, plan_fio);
    }
    for options in ["numjobs=4294967295\n", "loops=4294967295\n", "iodepth=4294967295\n"] {
        job("a.fio", &format!("runtime=60\n{options}"));
        run_within_limits(here, plan_fio);
    }
    fs::create_dir(here.join("jobfiles")).unwrap();
    let template = "[job]\nioengine=${IOENGINE}\ndirect=1\nnorandommap\nrw=randread\nbs=4k\n\
                    runtime=${TIME}\ntime_based\nfilename=${DEV}\nrate_iops=100\n";
    fs::write(here.join("jobfiles/read.fio"), template).unwrap();
    for (time, cycles) in [("1000000000", "1"), ("31000000", "100"), ("60", "1000000000")] {
        let suite = format!(
            "{{\"def\": [{{\"template\": \"read.fio\", \"alias\": \"a\", \"values\": {{\"TIME\": \
             \"{time}\"}}}}], \"run_cycles\": \"{cycles}\", \"scale_by_capacity\": \"N\"}}"
        );
        fs::write(here.join("s.json"), suite).unwrap();
        refuse_within_limits(here, "fiosynth s.json --plan --target sim:small");
    }
    // An issue time of 292 years.
    fs::write(here.join("t.csv"), "0,R,0,4096\n9223372036854775808,R,0,4096\n").unwrap();
    let import = "trace import t.csv --csv time=1:ns,op=2,offset=3,bytes=4 -o t.parquet";
    if code(&run_within_limits(here, import)) == 0 {
        refuse_within_limits(
            here,
            "plan replay-native --workload t.parquet --target sim:small --exact",
        );
        run_within_limits(here, "trace steps t.parquet --step 100us");
        run_within_limits(here, "trace locality t.parquet");
    }
}

/// A trace of another program: one row group of `rows` rows.
struct ParquetBomb {
    rows: usize,
    compression: Compression,
    /// Bytes of each command.
    command: usize,
    encoding: Encoding,
    op: i32,
    queued_ns: i64,
}

impl ParquetBomb {
    fn write(&self, file: &Path) {
        let schema = "message trace { required int64 issued_ns; required int64 response_ns; \
                      required int64 queued_ns; required int64 offset; required int32 bytes; \
                      required int32 op; required binary command (UTF8); \
                      required binary thread (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = WriterProperties::builder()
            .set_compression(self.compression)
            .set_dictionary_enabled(self.encoding == Encoding::RLE_DICTIONARY)
            .set_data_page_size_limit(usize::MAX)
            .set_data_page_row_count_limit(usize::MAX)
            .set_dictionary_page_size_limit(usize::MAX);
        let properties = match self.encoding {
            Encoding::RLE_DICTIONARY => properties,
            other => properties
                .set_column_encoding("command".into(), other)
                .set_column_encoding("thread".into(), other),
        };
        let sink = fs::File::create(file).unwrap();
        let mut writer =
            SerializedFileWriter::new(sink, schema, Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let rows = self.rows as i64;
        for wide in [
            (0..rows).collect::<Vec<i64>>(),
            vec![5; self.rows],
            vec![self.queued_ns; self.rows],
            vec![0; self.rows],
        ] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&wide, None, None).unwrap();
            column.close().unwrap();
        }
        for narrow in [4096, self.op] {
            let mut column = group.next_column().unwrap().unwrap();
            let numbers = vec![narrow; self.rows];
            column.typed::<Int32Type>().write_batch(&numbers, None, None).unwrap();
            column.close().unwrap();
        }
        for _ in 0..2 {
            let mut column = group.next_column().unwrap().unwrap();
            let name = ByteArray::from(vec![b'x'; self.command]);
            for rows in vec![name; self.rows].chunks(1024) {
                column.typed::<ByteArrayType>().write_batch(rows, None, None).unwrap();
            }
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
    }
}

#[test]
fn short_traces_do_not_take_the_memory() {
    let here = &TestDirectory::new();
    let zstd = Compression::ZSTD(ZstdLevel::try_new(3).unwrap());
    let usual = || ParquetBomb {
        rows: 10_007,
        compression: zstd,
        command: 7,
        encoding: Encoding::PLAIN,
        op: 0,
        queued_ns: 0,
    };
    let ask = ["trace", "groups", "t.parquet", "--by", "thread"];
    usual().write(&here.join("t.parquet"));
    let answer = succeed(here, &ask);
    assert!(answer.contains("10007"), "{answer}");
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        ParquetBomb { encoding, ..usual() }.write(&here.join("t.parquet"));
        assert_eq!(succeed(here, &ask), answer, "{encoding}");
    }
    // Pages of 160 MB.
    for compression in [zstd, Compression::SNAPPY] {
        ParquetBomb { command: 16_000, compression, ..usual() }.write(&here.join("t.parquet"));
        let error = refuse_within_limits(here, &ask);
        assert!(error.contains("64 MiB"), "{error}");
        refuse_within_limits(here, &["explore", "t.parquet", "-o", "page.html"]);
    }
    // Texts that take no room in the page, each of them 1 MB.
    let encoding = Encoding::DELTA_BYTE_ARRAY;
    ParquetBomb { command: 1 << 20, rows: 300, encoding, ..usual() }.write(&here.join("t.parquet"));
    run_within_limits(here, &ask);
    // What is none of the format's operations, and queue times beyond 584 years.
    ParquetBomb { op: 5, ..usual() }.write(&here.join("t.parquet"));
    let error = refuse_within_limits(here, &["trace", "steps", "t.parquet"]);
    assert!(error.contains("column op"), "{error}");
    ParquetBomb { queued_ns: -1, ..usual() }.write(&here.join("t.parquet"));
    let error = refuse_within_limits(here, &["trace", "streams", "t.parquet"]);
    assert!(error.contains("column queued_ns"), "{error}");
}

/// Text of this many bytes: a head, then lines or elements over and over, and a tail.
fn endless(head: &str, repeated: &str, tail: &str, bytes: usize) -> Vec<u8> {
    let mut text = head.as_bytes().to_vec();
    while text.len() + repeated.len() + tail.len() <= bytes {
        text.extend(repeated.as_bytes());
    }
    text.extend(tail.as_bytes());
    text
}

/// Files of this program, and what it compares, as long as any of their kind may be.
#[test]
fn our_own_files_do_not_take_the_memory() {
    let here = &TestDirectory::new();
    for (head, repeated, tail, size) in [
        ("format = \"steadfast workload\"\nx = [", "{},", "]", 4 << 20),
        ("format = \"steadfast workload\"\n", "x.x.x.x.x.x.x.x=1\n[[a]]\n", "", 4 << 20),
        ("format = \"steadfast workload\"\n", "# nothing\n", "", 5 << 20),
    ] {
        fs::write(here.join("w.toml"), endless(head, repeated, tail, size)).unwrap();
        refuse_within_limits(here, "measure --workload w.toml --target sim:small");
    }
    // Replay representations: of streams, of nothing, and too long.
    let head = "### Replay representation for workload 'w'\n\
                ## Step 1\n1000.000 300.000 1 4096 0.15 5 2.71 125.89 4.97 44.9\n";
    for (repeated, size) in [
        ("RND 4K R RND 4096 R 100.00 1 100.0 4096\n", 16 << 20),
        ("\n", 16 << 20),
        ("RND 4K R RND 4096 R 100.00 1 100.0 4096\n", 17 << 20),
    ] {
        fs::write(here.join("r.txt"), endless(head, repeated, "", size)).unwrap();
        run_within_limits(here, "workload derive r.txt");
        run_within_limits(here, "plan replay-native --workload r.txt --target sim:small");
    }
    // Settings of a run.
    finished_run(here, "sim:small", "run");
    let settings = here.join("run/settings.json");
    let own = fs::read_to_string(&settings).unwrap();
    let (start, end) = own.split_at(own.rfind('}').unwrap());
    for repeated in ["[],", "{\"a\":[]},"] {
        let text = endless(&format!("{start},\"y\":["), repeated, &format!("1]{end}"), 64 << 20);
        fs::write(&settings, text).unwrap();
        refuse_within_limits(here, &["study", "run"]);
        refuse_within_limits(here, &["resume", "run"]);
    }
    // Logs of TKperf that are compared.
    for repeated in ["<a/>", "<iops><round>1</round></iops>", "<a><b>"] {
        let text = endless("<?xml version='1.0'?>\n<root>", repeated, "</root>", 4 << 20);
        fs::write(here.join("a.xml"), text).unwrap();
        refuse_within_limits(here, &["compare", "a.xml", "a.xml", "-o", "c"]);
    }
}

/// Findings with a flipped bit are refused, or say the same.
#[test]
fn no_flipped_bit_changes_findings_unseen() {
    const FLIPS: u64 = 300;
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let whole = fs::read(here.join("run/findings.json")).unwrap();
    let original = steadfast_report::parse_findings(&whole).unwrap();
    let mut refused = 0;
    for number in 0..FLIPS {
        let mut flipped = whole.clone();
        let at = steadfast_domain::random_bits::mix64(number);
        flipped[at as usize % whole.len()] ^= 1 << ((at >> 32) % 8);
        match steadfast_report::parse_findings(&flipped) {
            Err(_) => refused += 1,
            // Blanks say nothing.
            Ok(other) => assert!(other == original, "flip {number} changes the findings"),
        }
    }
    assert!(refused > FLIPS * 9 / 10, "{refused}");
    // The commands check the digest, and name the way out; a run directory is computed again.
    let mut changed: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    changed["began_unix_ms"] = 10_007.into();
    let changed = changed.to_string();
    fs::write(here.join("alone.json"), &changed).unwrap();
    for command in
        ["report alone.json", "compare alone.json run -o both", "check alone.json --list"]
    {
        refuse(here, command, &["alone.json", "SHA-256", "steadfast study"]);
    }
    let right = succeed(here, "check run --list");
    fs::write(here.join("run/findings.json"), &changed).unwrap();
    assert_eq!(succeed(here, "check run/findings.json --list"), right);
    fs::write(here.join("alone.json"), &whole).unwrap();
    assert_eq!(succeed(here, "check alone.json --list"), right);
    // Anybody could have written findings without a digest.
    let mut bare: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    bare.as_object_mut().unwrap().remove("sha256");
    fs::write(here.join("alone.json"), bare.to_string()).unwrap();
    refuse(here, "check alone.json --list", &["alone.json", "no SHA-256"]);
    // Printed findings have a digest, too.
    steadfast_report::parse_findings(succeed(here, "study run --json").as_bytes()).unwrap();
}

#[test]
fn arguments_that_are_no_utf8_and_a_full_output_are_reported() {
    let here = &TestDirectory::new();
    let odd = OsStr::from_bytes(b"a\xffb");
    for words in
        [&["devices"][..], &["study"], &["restore"], &["trace", "steps"], &["measure"], &[]]
    {
        let output = command_in(here, words).arg(odd).output().unwrap();
        assert_eq!(code(&output), 2, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("UTF-8"), "{words:?}: {}", stderr(&output));
    }
    for words in ["--help", "--version", "run --help"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command_in(here, words).stdout(Stdio::from(full)).output().unwrap();
        assert_eq!(code(&output), 1, "{words}");
        assert!(stderr(&output).contains("standard output"), "{}", stderr(&output));
    }
    succeed(here, "--help");
}

#[test]
fn a_transfer_larger_than_the_target_is_refused_with_its_size() {
    let here = &TestDirectory::new();
    fs::File::create(here.join("s.bin")).unwrap().set_len(64 << 20).unwrap();
    let measure = "measure 'RND 1GiB R' --target s.bin";
    refuse(here, measure, &["does not fit into an active range of 64 MiB"]);
}
