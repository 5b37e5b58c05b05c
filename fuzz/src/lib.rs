//! Functions that the fuzz targets call, one per kind of untrusted file. For any input, none of
//! them may panic, overflow, exceed its memory limit or take seconds (docs/fire.md).

use std::fs;
use std::io::Cursor;
use std::panic;
use std::sync::Once;
use steadfast_analysis::{Captured, PassOptions, StreamTable};
use steadfast_domain::notation::AccessPattern;
use steadfast_exchange::fio::{JobFile, JobFileContext, TargetFacts};
use steadfast_exchange::identify::{self, FileKind};
use steadfast_exchange::{crystaldiskmark, fio, fiosynth, iometer, results, tkperf};
use steadfast_explorer::query::{self, QueryString};
use steadfast_runner::Ledger;
use steadfast_tracefile::import::{
    ColumnMapping, ColumnPlan, ImportInput, TraceFormat, import, import_parquet, recognize,
};
use steadfast_tracefile::parquet::panics_are_caught;
use steadfast_workload::replay_representation::ReplayRepresentation;
use steadfast_workload::workload_file::WorkloadFile;

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

/// Traces of other tools, in the recognized format and in every other.
pub fn trace_import(bytes: &[u8]) {
    let named = TraceFormat::names().filter_map(TraceFormat::named);
    for format in named.chain(recognize(bytes)) {
        let input = ImportInput { name: "input".to_owned(), content: Box::new(bytes) };
        let _ = import(&format, vec![input], &mut |_| Ok(()));
    }
}

/// Tables of other programs: the names of the columns and a Parquet file, split at the first zero byte.
pub fn parquet_import(bytes: &[u8]) {
    allow_caught_panics();
    let split = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (names, table) = (&bytes[..split], bytes.get(split + 1..).unwrap_or_default());
    let Ok(mapping) = ColumnMapping::parse(&String::from_utf8_lossy(names)) else { return };
    let _ = import_parquet(&mapping, "input", Cursor::new(table.to_vec()), &mut |_| Ok(()));
}

/// The grammar of `--csv`, which describes columns.
pub fn column_plan(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = ColumnPlan::parse(&text);
    let _ = ColumnMapping::parse(&text);
}

/// Captures, step files and folds: whole, and by their recovery blocks.
pub fn capture(bytes: &[u8]) {
    allow_caught_panics();
    for open in [Captured::open, Captured::recover] {
        let Ok(captured) = open(Cursor::new(bytes.to_vec())) else { continue };
        let mut streams = StreamTable::default();
        let _ = captured.run(&PassOptions::default(), &mut [&mut streams]);
    }
}

/// Workload files and Replay representations.
pub fn workload(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = WorkloadFile::read(&text);
    let _ = ReplayRepresentation::read(bytes);
}

/// Notations of loads.
pub fn notation(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(pattern) = text.parse::<AccessPattern>() {
        let printed = pattern.to_string();
        assert_eq!(printed.parse::<AccessPattern>().map(|again| again.to_string()), Ok(printed));
    }
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
pub fn fio_job(bytes: &[u8]) {
    let Ok(file) = JobFile::read(bytes, &mut AloneJobFile) else { return };
    let _ = fio::files(&file);
    let _ = fio::sequence(&file, &TargetFacts::default());
}

/// Configurations of Iometer, which must survive a round trip.
pub fn iometer_config(bytes: &[u8]) {
    if let Ok(parsed) = iometer::read(bytes) {
        let _ = iometer::read(iometer::write(&parsed.config).as_bytes());
    }
}

/// Suites of FioSynth, logs of TKperf, saved results of CrystalDiskMark.
pub fn suites(bytes: &[u8]) {
    let _ = fiosynth::FioSynthSuite::read(bytes);
    let _ = tkperf::read(bytes);
    let _ = crystaldiskmark::read(bytes);
}

/// Results of other tools, parsed as every kind of result file.
pub fn results_of_tools(bytes: &[u8]) {
    let _ = identify::identify("input", bytes);
    let kinds = [
        FileKind::FioJson,
        FileKind::FioTerse,
        FileKind::FioSynthCsv,
        FileKind::DiskspdXml,
        FileKind::DiskspdText,
        FileKind::VdbenchFlat,
    ];
    for kind in kinds {
        let _ = results::read(kind, "input", bytes);
    }
    let _ = iometer::results::read(bytes);
}

/// A run directory: settings and journal, split at the first zero byte.
pub fn run_directory(bytes: &[u8]) {
    let split = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (settings, journal) = (&bytes[..split], bytes.get(split + 1..).unwrap_or_default());
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("settings.json"), settings).expect("settings");
    fs::write(directory.path().join("journal.jsonl"), journal).expect("journal");
    let _ = Ledger::read(directory.path());
}

/// Queries of the explorer's requests.
pub fn http_query(bytes: &[u8]) {
    let Ok(parsed) = QueryString::parse(&String::from_utf8_lossy(bytes)) else { return };
    let _ = query::filter(&parsed, &Default::default());
    let _ = query::window(&parsed, (0, u64::MAX));
}

/// Pages that an NVMe drive reports.
pub fn nvme_page(bytes: &[u8]) {
    steadfast_host::nvme_drive(bytes);
}
