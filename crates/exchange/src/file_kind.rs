//! Kinds of files that commands read or can name: what each is and which command takes it.

/// The kinds of files that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A job file of fio.
    FioJob,
    /// fio's `--output-format=json` or `json+`.
    FioJson,
    /// fio's `--output-format=terse`.
    FioTerse,
    /// fio's output for people.
    FioText,
    /// A suite of FioSynth.
    FioSynthSuite,
    /// FioSynth's table of results.
    FioSynthCsv,
    /// A configuration of Iometer.
    IometerConfig,
    /// Iometer's results.
    IometerCsv,
    /// A result that CrystalDiskMark saved.
    CrystalDiskMark,
    /// A result that KDiskMark saved.
    KDiskMark,
    /// A benchmark that ATTO Disk Benchmark saved.
    AttoBenchmark,
    /// TKperf's log.
    TkperfXml,
    /// A command line of TKperf.
    TkperfCommand,
    /// diskspd's results as XML.
    DiskspdXml,
    /// diskspd's results as text.
    DiskspdText,
    /// A profile of diskspd, which asks for a test.
    DiskspdProfile,
    /// vdbench's flat file.
    VdbenchFlat,
    /// A parameter file of vdbench.
    VdbenchParameters,
    /// Our `findings.json`.
    Findings,
    /// Our `settings.json`, of a run directory.
    RunSettings,
    /// Our workload file.
    Workload,
    /// Limits of `check`.
    Limits,
    /// A Parquet file: a capture, a fold, exported steps or a table of another program.
    Parquet,
    /// Compressed with gzip.
    Gzip,
    /// Compressed with Zstandard.
    Zstd,
    /// Compressed with xz.
    Xz,
    /// Compressed with bzip2.
    Bzip2,
    /// Compressed with LZ4.
    Lz4,
    /// A tar archive.
    Tar,
    /// A 7z archive.
    SevenZip,
    /// A PDF document.
    Pdf,
    /// A zip archive; also a spreadsheet.
    Zip,
}

impl FileKind {
    /// Returns the name with its article.
    pub const fn name(self) -> &'static str {
        match self {
            FileKind::FioJob => "a job file of fio",
            FileKind::FioJson => "a result of fio (JSON)",
            FileKind::FioTerse => "a result of fio (terse)",
            FileKind::FioText => "fio's text output",
            FileKind::FioSynthSuite => "a suite of FioSynth",
            FileKind::FioSynthCsv => "a table of FioSynth's results",
            FileKind::IometerConfig => "a configuration of Iometer (.icf)",
            FileKind::IometerCsv => "a result of Iometer (CSV)",
            FileKind::CrystalDiskMark => "a result of CrystalDiskMark",
            FileKind::KDiskMark => "a result of KDiskMark",
            FileKind::AttoBenchmark => "a benchmark of ATTO Disk Benchmark (.bmk)",
            FileKind::TkperfXml => "a log of TKperf",
            FileKind::TkperfCommand => "a command line of TKperf",
            FileKind::DiskspdXml => "a result of diskspd (XML)",
            FileKind::DiskspdText => "a result of diskspd (text)",
            FileKind::DiskspdProfile => "a profile of diskspd",
            FileKind::VdbenchFlat => "a flat file of vdbench",
            FileKind::VdbenchParameters => "a parameter file of vdbench",
            FileKind::Findings => "findings of Steadfast",
            FileKind::RunSettings => "the settings of a run of Steadfast",
            FileKind::Workload => "a workload file of Steadfast",
            FileKind::Limits => "a file of limits",
            FileKind::Parquet => "a Parquet file",
            FileKind::Gzip => "compressed with gzip",
            FileKind::Zstd => "compressed with Zstandard",
            FileKind::Xz => "compressed with xz",
            FileKind::Bzip2 => "compressed with bzip2",
            FileKind::Lz4 => "compressed with LZ4",
            FileKind::Tar => "a tar archive",
            FileKind::SevenZip => "a 7z archive",
            FileKind::Pdf => "a PDF document",
            FileKind::Zip => "a zip archive or a spreadsheet",
        }
    }

    /// A short name, stable across versions.
    pub const fn id(self) -> &'static str {
        match self {
            FileKind::FioJob => "fio-job",
            FileKind::FioJson => "fio-json",
            FileKind::FioTerse => "fio-terse",
            FileKind::FioText => "fio-text",
            FileKind::FioSynthSuite => "fiosynth-suite",
            FileKind::FioSynthCsv => "fiosynth-csv",
            FileKind::IometerConfig => "iometer-icf",
            FileKind::IometerCsv => "iometer-csv",
            FileKind::CrystalDiskMark => "crystaldiskmark",
            FileKind::KDiskMark => "kdiskmark",
            FileKind::AttoBenchmark => "atto-bmk",
            FileKind::TkperfXml => "tkperf-xml",
            FileKind::TkperfCommand => "tkperf-command",
            FileKind::DiskspdXml => "diskspd-xml",
            FileKind::DiskspdText => "diskspd-text",
            FileKind::DiskspdProfile => "diskspd-profile",
            FileKind::VdbenchFlat => "vdbench-flat",
            FileKind::VdbenchParameters => "vdbench-parameters",
            FileKind::Findings => "findings",
            FileKind::RunSettings => "run-settings",
            FileKind::Workload => "workload",
            FileKind::Limits => "limits",
            FileKind::Parquet => "parquet",
            FileKind::Gzip => "gzip",
            FileKind::Zstd => "zstd",
            FileKind::Xz => "xz",
            FileKind::Bzip2 => "bzip2",
            FileKind::Lz4 => "lz4",
            FileKind::Tar => "tar",
            FileKind::SevenZip => "7z",
            FileKind::Pdf => "pdf",
            FileKind::Zip => "zip",
        }
    }

    /// The command that takes it, with FILE for its name; `None` where none does.
    pub const fn command(self) -> Option<&'static str> {
        Some(match self {
            FileKind::FioJob => "steadfast fio FILE --target T --plan",
            FileKind::FioJson
            | FileKind::FioTerse
            | FileKind::FioSynthCsv
            | FileKind::DiskspdXml
            | FileKind::DiskspdText
            | FileKind::VdbenchFlat => "steadfast report FILE",
            FileKind::FioSynthSuite => "steadfast fiosynth FILE --target T --plan",
            FileKind::IometerConfig => "steadfast iometer FILE --target T --plan",
            FileKind::IometerCsv => "steadfast iometer report FILE",
            FileKind::CrystalDiskMark | FileKind::KDiskMark => {
                "steadfast crystaldiskmark --read FILE"
            }
            FileKind::TkperfXml => "steadfast tkperf --read FILE",
            FileKind::TkperfCommand => "steadfast tkperf ssd NAME DEVICE --plan",
            FileKind::Findings => "steadfast compare FILE OTHER",
            FileKind::RunSettings => "steadfast report RUN_DIR",
            FileKind::Workload => "steadfast plan multi-wsat --workload FILE --target T",
            FileKind::Limits => "steadfast check RUN_DIR --limits FILE",
            FileKind::Parquet => "steadfast trace streams FILE",
            FileKind::Gzip | FileKind::Zstd => "steadfast trace import FILE -o TRACE.parquet",
            FileKind::FioText
            | FileKind::AttoBenchmark
            | FileKind::DiskspdProfile
            | FileKind::VdbenchParameters
            | FileKind::Xz
            | FileKind::Bzip2
            | FileKind::Lz4
            | FileKind::Tar
            | FileKind::SevenZip
            | FileKind::Pdf
            | FileKind::Zip => return None,
        })
    }

    /// Returns the advice for a kind that no command takes.
    pub const fn advice(self) -> &'static str {
        match self {
            FileKind::FioText => "run fio with --output-format=json+ to have it read",
            FileKind::AttoBenchmark => "its format is not published; nothing reads it",
            FileKind::DiskspdProfile => "run it with diskspd -Rxml; its result is read",
            FileKind::VdbenchParameters => "run it with vdbench; its flatfile.html is read",
            FileKind::Xz => "unpack it first: xz -dk FILE",
            FileKind::Bzip2 => "unpack it first: bzip2 -dk FILE",
            FileKind::Lz4 => "unpack it first: lz4 -d FILE",
            FileKind::Tar => "unpack it first: tar -xf FILE",
            FileKind::SevenZip => "unpack it first: 7z x FILE",
            FileKind::Zip => "unpack it first, or save the sheet as CSV",
            _ => "nothing reads it",
        }
    }

    /// Returns true for archives, and for compressions that no command unpacks on the way.
    pub const fn is_packed(self) -> bool {
        matches!(
            self,
            FileKind::Xz
                | FileKind::Bzip2
                | FileKind::Lz4
                | FileKind::Tar
                | FileKind::SevenZip
                | FileKind::Zip
        )
    }

    /// Returns true for results of another tool that [`crate::results::read`] parses.
    pub const fn has_results(self) -> bool {
        matches!(
            self,
            FileKind::FioJson
                | FileKind::FioTerse
                | FileKind::FioSynthCsv
                | FileKind::DiskspdXml
                | FileKind::DiskspdText
                | FileKind::VdbenchFlat
        )
    }
}
