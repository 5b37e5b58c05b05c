//! Fuzz targets: one function per kind of untrusted input. For any input, none of them may panic,
//! overflow, exceed [`MEMORY_MAX`] or take longer than [`TIME_MAX`] (docs/fire.md).
//!
//! ```
//! use steadfast_fuzz::FuzzTarget;
//!
//! let notation = FuzzTarget::named("notation").unwrap();
//! assert!(notation.try_input(b"SEQ 128K W FUA"));
//! assert!(!notation.try_input(b"SEQ 128K"));
//! ```

use serde_json::from_slice;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Cursor, Read};
use std::panic;
use std::sync::Once;
use std::time::{Duration, Instant};
use steadfast_analysis::{Captured, PassOptions, StreamTable};
use steadfast_domain::findings::{FINDINGS_VERSION, Findings};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::power_cut::AcknowledgedWrites;
use steadfast_exchange::fio::{JobFile, JobFileContext, TargetFacts};
use steadfast_exchange::identify::{self, FileKind};
use steadfast_exchange::{crystaldiskmark, fio, fiosynth, iometer, results, tkperf};
use steadfast_explorer::cache::{self, IndexStore};
use steadfast_explorer::index::VERSION;
use steadfast_explorer::query::{self, QueryString};
use steadfast_host::fuzzing::{host_answers, nvme_drive, smartctl};
use steadfast_report::{Limits, json, parse_findings};
use steadfast_runner::{Ledger, RunGroup};
use steadfast_tracefile::import::{
    ColumnMapping, ColumnPlan, ImportInput, TraceFormat, import, import_parquet, recognize,
};
use steadfast_tracefile::parquet::panics_are_caught;
use steadfast_workload::replay_representation::ReplayRepresentation;
use steadfast_workload::workload_file::WorkloadFile;

// A module of the program, which has no library.
#[path = "../../crates/steadfast/src/unpack.rs"]
mod unpack;

#[cfg(test)]
mod tests;

/// Time that one input may take.
pub const TIME_MAX: Duration = Duration::from_secs(10);

/// Memory that a process with one input may allocate, in bytes.
pub const MEMORY_MAX: u64 = 1 << 30;

/// Bytes that are unpacked of a compressed input.
const UNPACKED_MAX: u64 = 1 << 24;

/// A parser of untrusted input.
#[derive(Debug)]
pub struct FuzzTarget {
    /// Name of the target and of its directory of seeds.
    pub name: &'static str,
    /// Reads an input; false if it was refused.
    read: fn(&[u8]) -> bool,
}

/// All targets.
pub const TARGETS: [FuzzTarget; 21] = [
    FuzzTarget { name: "capture", read: capture },
    FuzzTarget { name: "column_plan", read: column_plan },
    FuzzTarget { name: "compressed", read: compressed },
    FuzzTarget { name: "cut_log", read: cut_log },
    FuzzTarget { name: "explorer_index", read: explorer_index },
    FuzzTarget { name: "findings", read: findings },
    FuzzTarget { name: "fio_job", read: fio_job },
    FuzzTarget { name: "host_answers", read: host_answers },
    FuzzTarget { name: "http_query", read: http_query },
    FuzzTarget { name: "iometer_config", read: iometer_config },
    FuzzTarget { name: "limits", read: limits },
    FuzzTarget { name: "notation", read: notation },
    FuzzTarget { name: "nvme_page", read: nvme_drive },
    FuzzTarget { name: "parquet_import", read: parquet_import },
    FuzzTarget { name: "results_of_tools", read: results_of_tools },
    FuzzTarget { name: "run_directory", read: run_directory },
    FuzzTarget { name: "run_group", read: run_group },
    FuzzTarget { name: "smartctl", read: smartctl },
    FuzzTarget { name: "suites", read: suites },
    FuzzTarget { name: "trace_import", read: trace_import },
    FuzzTarget { name: "workload", read: workload },
];

impl FuzzTarget {
    /// Returns the target of this name.
    pub fn named(name: &str) -> Option<&'static FuzzTarget> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Reads an input. Returns false if it was refused.
    ///
    /// # Panics
    /// Panics if the parser does, or if it takes longer than [`TIME_MAX`].
    pub fn try_input(&self, bytes: &[u8]) -> bool {
        allow_caught_panics();
        let begun = Instant::now();
        let is_accepted = (self.read)(bytes);
        let took = begun.elapsed();
        assert!(took < TIME_MAX, "{} bytes took {took:?}", bytes.len());
        is_accepted
    }
}

/// Limits the memory of this process to [`MEMORY_MAX`]: an allocation beyond it aborts.
pub fn limit_memory() {
    let limit = libc::rlimit { rlim_cur: MEMORY_MAX, rlim_max: MEMORY_MAX };
    // SAFETY: setrlimit reads the limit, which lives until it returns.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) };
    assert_eq!(result, 0, "setrlimit: {}", io::Error::last_os_error());
}

/// Lets the Parquet library panic where the program turns a panic into an error. The hook of
/// libFuzzer would end the process.
fn allow_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !panics_are_caught() {
                hook(panic);
            }
        }));
    });
}

/// Splits an input of two parts at its first zero byte.
fn two_parts(bytes: &[u8]) -> (&[u8], &[u8]) {
    let split = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (&bytes[..split], bytes.get(split + 1..).unwrap_or_default())
}

/// Traces of other tools, in the recognized format and in every other.
fn trace_import(bytes: &[u8]) -> bool {
    let named = TraceFormat::names().filter_map(TraceFormat::named);
    let table = ColumnPlan::parse("time=1:s,op=2,offset=3,bytes=4").map(TraceFormat::Columns);
    let mut is_read = false;
    for format in named.chain(recognize(bytes)).chain(table) {
        let input = ImportInput { name: "input".to_owned(), content: Box::new(bytes) };
        is_read |= import(&format, vec![input], &mut |_| Ok(())).is_ok();
    }
    is_read
}

/// Tables of other programs: the names of the columns and a Parquet file.
fn parquet_import(bytes: &[u8]) -> bool {
    let (names, table) = two_parts(bytes);
    let Ok(mapping) = ColumnMapping::parse(&String::from_utf8_lossy(names)) else { return false };
    import_parquet(&mapping, "input", Cursor::new(table.to_vec()), &mut |_| Ok(())).is_ok()
}

/// The grammar of `--csv`, which describes columns.
fn column_plan(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let is_plan = ColumnPlan::parse(&text).is_ok();
    ColumnMapping::parse(&text).is_ok() || is_plan
}

/// Captures, step files and folds: whole, and by their recovery blocks.
fn capture(bytes: &[u8]) -> bool {
    let mut is_read = false;
    for open in [Captured::open, Captured::recover] {
        let Ok(captured) = open(Cursor::new(bytes.to_vec())) else { continue };
        let mut streams = StreamTable::default();
        is_read |= captured.run(&PassOptions::default(), &mut [&mut streams]).is_ok();
    }
    is_read
}

/// Compressed traces, read up to [`UNPACKED_MAX`].
fn compressed(bytes: &[u8]) -> bool {
    let Ok(plain) = unpack::unpacked(Box::new(Cursor::new(bytes.to_vec()))) else { return false };
    io::copy(&mut plain.take(UNPACKED_MAX), &mut io::sink()).is_ok()
}

/// Logs of acknowledged writes of a power cut, of the trial with key 7.
fn cut_log(bytes: &[u8]) -> bool {
    let mut log = AcknowledgedWrites::default();
    log.add_log(&String::from_utf8_lossy(bytes), 7);
    log.newest().is_some()
}

/// A cached index of the explorer, sealed and packed as the explorer does it.
struct FuzzedIndex<'b>(&'b [u8]);

impl IndexStore for FuzzedIndex<'_> {
    fn read(&self, _: &str) -> Option<Vec<u8>> {
        let packed = zstd::bulk::compress(self.0, 1).ok()?;
        let digest = Sha256::digest(&packed);
        Some([&cache::MAGIC[..], &VERSION.to_le_bytes(), &digest, &packed].concat())
    }

    fn write(&self, _: &str, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// Cached indexes of the explorer.
fn explorer_index(bytes: &[u8]) -> bool {
    cache::read(&FuzzedIndex(bytes), "input").is_some()
}

/// Findings of a run, which must survive a round trip.
fn findings(bytes: &[u8]) -> bool {
    let is_sealed = parse_findings(bytes).is_ok();
    let Ok(findings) = from_slice::<Findings>(bytes) else { return is_sealed };
    let written = json(&findings).expect("findings have a form in JSON");
    assert_eq!(parse_findings(&written).is_ok(), findings.version == FINDINGS_VERSION);
    true
}

/// Files of limits.
fn limits(bytes: &[u8]) -> bool {
    Limits::parse(&String::from_utf8_lossy(bytes)).is_ok()
}

/// Workload files and Replay representations.
fn workload(bytes: &[u8]) -> bool {
    let is_workload = WorkloadFile::read(&String::from_utf8_lossy(bytes)).is_ok();
    ReplayRepresentation::read(bytes).is_ok() || is_workload
}

/// Notations of loads, which must survive a round trip.
fn notation(bytes: &[u8]) -> bool {
    let Ok(pattern) = String::from_utf8_lossy(bytes).parse::<AccessPattern>() else { return false };
    let printed = pattern.to_string();
    assert_eq!(printed.parse::<AccessPattern>().map(|again| again.to_string()), Ok(printed));
    true
}

/// The context of a job file without include files and variables.
struct AloneJobFile;

impl JobFileContext for AloneJobFile {
    fn include(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Err("no such file".to_owned())
    }

    fn variable(&self, _: &str) -> Result<String, String> {
        Ok("1".to_owned())
    }
}

/// fio's job files, up to the plan.
fn fio_job(bytes: &[u8]) -> bool {
    let Ok(file) = JobFile::read(bytes, &mut AloneJobFile) else { return false };
    let _ = fio::files(&file);
    fio::sequence(&file, &TargetFacts::default()).is_ok()
}

/// Configurations of Iometer, which must survive a round trip.
fn iometer_config(bytes: &[u8]) -> bool {
    let Ok(parsed) = iometer::read(bytes) else { return false };
    iometer::read(iometer::write(&parsed.config).as_bytes()).is_ok()
}

/// Suites of FioSynth, logs of TKperf, saved results of CrystalDiskMark.
fn suites(bytes: &[u8]) -> bool {
    let is_suite = fiosynth::FioSynthSuite::read(bytes).is_ok();
    let is_log = tkperf::read(bytes).is_ok();
    crystaldiskmark::read(bytes).is_ok() || is_suite || is_log
}

/// Results of other tools, parsed as every kind of result file.
fn results_of_tools(bytes: &[u8]) -> bool {
    let _ = identify::identify("input", bytes);
    let kinds = [
        FileKind::FioJson,
        FileKind::FioTerse,
        FileKind::FioSynthCsv,
        FileKind::DiskspdXml,
        FileKind::DiskspdText,
        FileKind::VdbenchFlat,
    ];
    let mut is_read = iometer::results::read(bytes).is_ok();
    for kind in kinds {
        is_read |= results::read(kind, "input", bytes).is_ok();
    }
    is_read
}

/// A directory with these files.
fn directory_of(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, content) in files {
        fs::write(directory.path().join(name), content).expect("a temporary file");
    }
    directory
}

/// A run directory: settings and journal.
fn run_directory(bytes: &[u8]) -> bool {
    let (settings, journal) = two_parts(bytes);
    let directory = directory_of(&[("settings.json", settings), ("journal.jsonl", journal)]);
    Ledger::read(directory.path()).is_ok()
}

/// The list of several runs in one directory.
fn run_group(bytes: &[u8]) -> bool {
    let directory = directory_of(&[("targets.json", bytes)]);
    RunGroup::find(directory.path()).is_ok_and(|group| group.is_some())
}

/// Queries of the explorer's requests.
fn http_query(bytes: &[u8]) -> bool {
    let Ok(parsed) = QueryString::parse(&String::from_utf8_lossy(bytes)) else { return false };
    let _ = query::filter(&parsed, &Default::default());
    query::window(&parsed, (0, u64::MAX)).is_ok()
}
