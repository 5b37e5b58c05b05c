//! Kinds of files that commands read or can name: what each is and which command takes it.

use Handling::{Packed, Results, TakenBy, Unread};

/// Handling of a kind of file by the program.
enum Handling {
    /// A command takes it.
    TakenBy(&'static str),
    /// [`crate::results::read`] parses it as results of another tool.
    Results,
    /// It must be unpacked first, as the advice says: an archive, or a compression that no command
    /// unpacks on the way.
    Packed(&'static str),
    /// Nothing reads it; holds the advice.
    Unread(&'static str),
}

/// Defines [`FileKind`]: variant, ID, name with its article, and what can be done with the file.
macro_rules! file_kinds {
    ($($kind:ident $id:literal, $name:literal => $handling:expr;)+) => {
        /// A known kind of files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum FileKind {
            $(#[doc = $name] $kind,)+
        }

        impl FileKind {
            /// Returns a short name, stable across versions.
            pub const fn id(self) -> &'static str {
                match self { $(FileKind::$kind => $id,)+ }
            }

            /// Returns the name with its article.
            pub const fn name(self) -> &'static str {
                match self { $(FileKind::$kind => $name,)+ }
            }

            const fn handling(self) -> Handling {
                match self { $(FileKind::$kind => $handling,)+ }
            }
        }
    };
}

file_kinds! {
    FioJob "fio-job", "a job file of fio" => TakenBy("steadfast fio FILE --target T --plan");
    FioJson "fio-json", "a result of fio (JSON)" => Results;
    FioTerse "fio-terse", "a result of fio (terse)" => Results;
    FioText "fio-text", "fio's text output" =>
        Unread("run fio with --output-format=json+ to have it read");
    FioSynthSuite "fiosynth-suite", "a suite of FioSynth" =>
        TakenBy("steadfast fiosynth FILE --target T --plan");
    FioSynthCsv "fiosynth-csv", "a table of FioSynth's results" => Results;
    IometerConfig "iometer-icf", "a configuration of Iometer (.icf)" =>
        TakenBy("steadfast iometer FILE --target T --plan");
    IometerCsv "iometer-csv", "a result of Iometer (CSV)" =>
        TakenBy("steadfast iometer report FILE");
    CrystalDiskMark "crystaldiskmark", "a result of CrystalDiskMark" =>
        TakenBy("steadfast crystaldiskmark --read FILE");
    KDiskMark "kdiskmark", "a result of KDiskMark" =>
        TakenBy("steadfast crystaldiskmark --read FILE");
    AttoBenchmark "atto-bmk", "a benchmark of ATTO Disk Benchmark (.bmk)" =>
        Unread("its format is not published; nothing reads it");
    TkperfXml "tkperf-xml", "a log of TKperf" => TakenBy("steadfast tkperf --read FILE");
    TkperfCommand "tkperf-command", "a command line of TKperf" =>
        TakenBy("steadfast tkperf ssd NAME DEVICE --plan");
    DiskspdXml "diskspd-xml", "a result of diskspd (XML)" => Results;
    DiskspdText "diskspd-text", "a result of diskspd (text)" => Results;
    DiskspdProfile "diskspd-profile", "a profile of diskspd" =>
        Unread("run it with diskspd -Rxml; its result is read");
    VdbenchFlat "vdbench-flat", "a flat file of vdbench" => Results;
    VdbenchParameters "vdbench-parameters", "a parameter file of vdbench" =>
        Unread("run it with vdbench; its flatfile.html is read");
    Findings "findings", "findings of Steadfast" => TakenBy("steadfast compare FILE OTHER");
    RunSettings "run-settings", "the settings of a run of Steadfast" =>
        TakenBy("steadfast report RUN_DIR");
    Workload "workload", "a workload file of Steadfast" =>
        TakenBy("steadfast plan multi-wsat --workload FILE --target T");
    Limits "limits", "a file of limits" => TakenBy("steadfast check RUN_DIR --limits FILE");
    Parquet "parquet", "a Parquet file" => TakenBy("steadfast trace streams FILE");
    Gzip "gzip", "compressed with gzip" => TakenBy("steadfast trace import FILE -o TRACE.parquet");
    Zstd "zstd", "compressed with Zstandard" =>
        TakenBy("steadfast trace import FILE -o TRACE.parquet");
    Xz "xz", "compressed with xz" => Packed("unpack it first: xz -dk FILE");
    Bzip2 "bzip2", "compressed with bzip2" => Packed("unpack it first: bzip2 -dk FILE");
    Lz4 "lz4", "compressed with LZ4" => Packed("unpack it first: lz4 -d FILE");
    Tar "tar", "a tar archive" => Packed("unpack it first: tar -xf FILE");
    SevenZip "7z", "a 7z archive" => Packed("unpack it first: 7z x FILE");
    Pdf "pdf", "a PDF document" => Unread("nothing reads it");
    Zip "zip", "a zip archive or a spreadsheet" =>
        Packed("unpack it first, or save the sheet as CSV");
}

impl FileKind {
    /// Returns the command that takes such a file, with FILE for its name; `None` if none does.
    pub const fn command(self) -> Option<&'static str> {
        match self.handling() {
            TakenBy(command) => Some(command),
            Results => Some("steadfast report FILE"),
            Packed(_) | Unread(_) => None,
        }
    }

    /// Returns the advice for a kind that no command takes.
    pub const fn advice(self) -> &'static str {
        match self.handling() {
            Packed(advice) | Unread(advice) => advice,
            TakenBy(_) | Results => "nothing reads it",
        }
    }

    /// Returns true for archives, and for compressions that no command unpacks on the way.
    pub const fn is_packed(self) -> bool {
        matches!(self.handling(), Packed(_))
    }

    /// Returns true for results of another tool that [`crate::results::read`] parses.
    pub const fn has_results(self) -> bool {
        matches!(self.handling(), Results)
    }
}
