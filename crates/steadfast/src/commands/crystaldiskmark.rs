//! `steadfast crystaldiskmark`: its tests, and its result files read and written.

use super::other_tools;
use crate::cli::other_tools::CrystalDiskMarkArguments;
use crate::exit::{ExitState, refuse_unused};
use crate::output::OptionalReport;
use crate::output_files::OutputRule;
use crate::recognize_file::expect;
use crate::run_settings::SOFTWARE;
use crate::terminal;
use std::path::Path;
use steadfast_domain::text::printable;
use steadfast_domain::{Findings, Nanos};
use steadfast_exchange::crystaldiskmark::{self, DiskMarkDirection, DiskMarkTest, SavedResult};
use steadfast_exchange::identify::FileKind;
use steadfast_procedures::presets::CrystalDiskMark;
use steadfast_report::date_second;

/// Runs the tests, prints the plan, or reports a saved result.
pub fn run(arguments: &CrystalDiskMarkArguments) -> anyhow::Result<ExitState> {
    if let Some(file) = &arguments.read {
        return report(arguments, file);
    }
    let preset = CrystalDiskMark {
        test_size: arguments.test_size,
        loops: arguments.runs,
        measure: arguments.time,
        interval: arguments.interval,
        nvme: arguments.nvme,
        mix: arguments.mix,
    };
    let is_unused = arguments.force && arguments.result.is_none();
    refuse_unused(&[("--force", is_unused)], "only a file of --result is overwritten")?;
    // Refuse an existing result file before the run.
    let result = match (&arguments.result, arguments.front.plan) {
        (Some(path), false) => {
            Some(OutputRule::from_arguments(&arguments.writing())?.create_text(path)?)
        }
        _ => None,
    };
    let conducted = other_tools::conduct(&arguments.front, preset.sequence())?;
    if let (Some(result), Some(findings)) = (result, conducted.findings()?) {
        result.write(crystaldiskmark::write(&saved(&preset, &findings)).as_bytes())?;
    }
    Ok(conducted.state)
}

/// Reports a saved result; `-o` is the directory of the report.
fn report(arguments: &CrystalDiskMarkArguments, file: &Path) -> anyhow::Result<ExitState> {
    let output = arguments.front.output.as_deref();
    let report = OptionalReport::open(output, &arguments.writing())?;
    let bytes = other_tools::read(file)?;
    let accepted = [FileKind::CrystalDiskMark, FileKind::KDiskMark];
    expect(file, &bytes, "a result of CrystalDiskMark", &accepted)?;
    let saved = crystaldiskmark::read(&bytes).map_err(|why| other_tools::refused(file, &[why]))?;
    for (line, text) in &saved.not_understood {
        terminal::warn(&format!(
            "{}: line {line} is not understood: {}",
            file.display(),
            printable(text)
        ));
    }
    let findings = crystaldiskmark::findings(&saved, &other_tools::source(file, &bytes), SOFTWARE);
    report.show(&findings, arguments.front.json)?;
    Ok(ExitState::Done)
}

/// Returns the results of a run in CrystalDiskMark's format.
fn saved(preset: &CrystalDiskMark, findings: &Findings) -> SavedResult {
    let mut tests = Vec::new();
    for (direction, column) in [
        (DiskMarkDirection::Read, "Read"),
        (DiskMarkDirection::Write, "Write"),
        (DiskMarkDirection::Mix, "Mix"),
    ] {
        for row in findings.table("crystaldiskmark").iter().flat_map(|table| &table.rows) {
            let of = |id| findings.table(id)?.cell(&row.id, column)?.value();
            let Some(mb) = of("crystaldiskmark") else { continue };
            let iops = of("crystaldiskmark-iops");
            tests.extend(DiskMarkTest::named(&row.id, direction, mb).map(|test| DiskMarkTest {
                iops,
                micros: of("crystaldiskmark-latency"),
                ..test
            }));
        }
    }
    let seconds = |time: Nanos| format!("{}", time.as_secs_f64());
    let facts = [
        ("Profile", preset.profile().to_owned()),
        ("Test", format!("{} (x{})", preset.test_size.binary(), preset.loops)),
        (
            "Time",
            format!(
                "Measure {} sec / Interval {} sec",
                seconds(preset.measure),
                seconds(preset.interval)
            ),
        ),
        ("Date", date(findings.ended_unix_ms)),
        ("Comment", format!("{SOFTWARE}, the tests of CrystalDiskMark 8 on Linux")),
    ];
    SavedResult {
        heading: format!("CrystalDiskMark 8 tests by {SOFTWARE}"),
        version: None,
        mix: preset.mix,
        tests,
        facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
        ..SavedResult::default()
    }
}

/// Formats a time as CrystalDiskMark does (`2026/11/22 16:12:55`), in UTC.
fn date(unix_ms: u64) -> String {
    date_second(unix_ms).replace('-', "/").replace('Z', "")
}
