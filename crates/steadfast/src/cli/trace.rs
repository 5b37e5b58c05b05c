//! The command line of `steadfast trace`.

use super::common::{
    AxisArguments, Format, ReportFiles, SharesArguments, WritingArguments, files_written,
    more_than_nothing, one_of,
};
use super::fleet::{FoldArguments, IdentifyArguments, MergeArguments, TraceHostsArguments};
use super::questions::{
    DELTA_RANKS, GroupsArguments, HIT_MAP_QUANTITIES, HotArguments, ProfileArguments,
    QuestionArguments, StreamTimeArguments,
};
pub use super::selection::{FilterArguments, LAYERS, LayerChoice, Selection};
use clap::builder::Resettable;
use clap::{Args, Id, Subcommand, ValueEnum};
use std::path::PathBuf;
use steadfast_analysis::moment::Moment;
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::delta::{DeltaRank, TimeAlignment};
use steadfast_analysis::questions::groups::Facet;
use steadfast_analysis::questions::hits::HitMapQuantity;
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_domain::{Bytes, Demand, Nanos};

/// `trace`.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// Question to answer, or change to make.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// Commands for traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// I/O streams: operation x RND/SEQ x size, with counts, QD and response times
    #[command(after_help = "Example:\n  \
        steadfast trace streams monday.parquet --threshold 2% --shares bytes\n  \
        steadfast trace streams monday.parquet monday.*.parquet")]
    Streams(StreamsArguments),
    /// Capture steps over time: IOPS, MB/s, response times, QD, busy
    #[command(after_help = "Example:\n  steadfast trace steps monday.parquet --step 2min")]
    Steps(StepsArguments),
    /// The IO Stream Map: streams over time
    #[command(after_help = "Example:\n  steadfast trace map monday.parquet --step 5min --json")]
    Map(StreamTimeArguments),
    /// I/Os by process
    #[command(after_help = "Example:\n  \
        steadfast trace processes monday.parquet --from 2h --to 3h --by command")]
    Processes(ProcessesArguments),
    /// I/Os by what you choose: host, device, process, command, thread, cgroup,
    /// file, stream, op, cpu, or several together
    #[command(after_help = "Examples:\n  \
        steadfast trace groups monday.parquet --by process,stream\n  \
        steadfast trace groups monday.parquet --by stream --show times\n  \
        steadfast trace groups monday.parquet --by command --show kinds --from 02:00 --to 02:30")]
    Groups(GroupsArguments),
    /// Compare hosts by any figure; mark outliers
    #[command(after_help = "Examples:\n  \
        steadfast trace hosts fleet.fold --rank p99 --top 10\n  \
        steadfast trace hosts web1.parquet web2.parquet --rank bytes\n  \
        steadfast trace hosts fleet.fold --tags hosts.txt --role db --outliers")]
    Hosts(TraceHostsArguments),
    /// The drives: model, processes, read, written
    #[command(after_help = "Example:\n  steadfast trace drives monday.parquet")]
    Drives(QuestionArguments),
    /// I/Os by time of day
    #[command(after_help = "Example:\n  steadfast trace profile week.parquet --step 30min")]
    Profile(ProfileArguments),
    /// Cache miss ratios, reuse times and overwrite times
    #[command(after_help = "Example:\n  steadfast trace locality monday.parquet --device nvme0n1")]
    Locality(QuestionArguments),
    /// How I/Os follow one another: gaps by stream, sequential runs, idle periods, queue depths
    /// and response times over time
    #[command(after_help = "Example:\n  steadfast trace shape monday.parquet --step 5min")]
    Shape(StreamTimeArguments),
    /// What limits the trust in a capture, and what to do about it
    #[command(after_help = "Example:\n  steadfast trace doctor monday.parquet")]
    Doctor(QuestionArguments),
    /// Hits by LBA range over time: counted, in bytes, or the stream with the most
    #[command(after_help = "Examples:\n  \
        steadfast trace hits monday.parquet --op write\n  \
        steadfast trace hits monday.parquet --show streams --ranges 1000\n  \
        steadfast trace hits monday.parquet --at 01:01:59 --ranges 1000")]
    Hits(HitsArguments),
    /// The address ranges with the most hits, and which processes hit them
    #[command(after_help = "Example:\n  steadfast trace hot monday.parquet --ranges 1000 --top 10")]
    Hot(HotArguments),
    /// Before and after: what changed from one capture to another (--by); drives or layers side
    /// by side on one time axis
    #[command(after_help = "Examples:\n  \
        steadfast trace compare before.parquet after.parquet --by stream\n  \
        steadfast trace compare monday.parquet tuesday.parquet --by process --align mark:backup\n  \
        steadfast trace compare may/*.parquet --after june/*.parquet --by host\n  \
        steadfast trace compare monday.parquet --step 1min\n  \
        steadfast trace compare drive0.parquet drive1.parquet")]
    Compare(TraceCompareArguments),
    /// Write the report: streams, maps, response times, Target Server Self-Test
    #[command(after_help = "Example:\n  steadfast trace report monday.parquet -o monday")]
    Report(TraceReportArguments),
    /// Write the four reports of the Target Server Self-Test
    #[command(after_help = "Examples:\n  steadfast trace self-test monday.parquet\n  \
        steadfast trace self-test monday.parquet -o self-test")]
    SelfTest(SelfTestArguments),
    /// Convert another tool's trace into a trace file; reads gzip, zstd, xz and bzip2 directly
    #[command(after_help = "Examples:\n  \
        steadfast trace import sda.blktrace.0 sda.blktrace.1 -o sda.parquet\n  \
        steadfast trace import usr_0.csv.gz --input-format msr-cambridge -o usr0.parquet\n  \
        steadfast trace import t.csv --csv time=2:us,op=3,offset=5:sectors,bytes=4 -o t.parquet")]
    Import(ImportArguments),
    /// Fold captures of any hosts into one small file of sums, which other commands read
    #[command(after_help = "Examples:\n  \
        steadfast trace fold web1.parquet web1.*.parquet -o web1.fold\n  \
        steadfast trace fold captures/*.parquet --step 10min --no-processes -o all.fold")]
    Fold(FoldArguments),
    /// Merge fold files into one, in any order
    #[command(after_help = "Example:\n  steadfast trace merge web1.fold web2.fold -o all.fold")]
    Merge(MergeArguments),
    /// Show the capture and host of each file, from its footer alone
    #[command(after_help = "Example:\n  steadfast trace identify captures/*.parquet")]
    Identify(IdentifyArguments),
    /// Recover a killed or damaged capture: copy its intact part into a complete file
    #[command(after_help = "Examples:\n  \
        steadfast trace recover killed.parquet -o whole.parquet\n  \
        steadfast trace recover db.parquet db.2.parquet db.3.parquet -o whole.parquet")]
    Recover(RecoverArguments),
}

/// `trace streams`.
#[derive(Debug, Args)]
#[command(mut_arg("threshold", |threshold| threshold.default_value("0%")))]
pub struct StreamsArguments {
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub shares: SharesArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace steps`.
#[derive(Debug, Args)]
pub struct StepsArguments {
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub axis: AxisArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace processes`.
#[derive(Debug, Args)]
pub struct ProcessesArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Attributes by which I/Os are grouped: process, or all processes of a command name
    #[arg(long, value_name = "FACETS", value_enum, default_value_t)]
    pub by: ProcessFacet,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Grouping of processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ProcessFacet {
    /// Each process.
    #[default]
    Process,
    /// All processes of a command name.
    Command,
}

/// `trace hits`.
#[derive(Debug, Args)]
pub struct HitsArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Number of LBA ranges to divide the device into; default: 100, or those that the capture
    /// counted (--totals-ranges)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranges: Option<u32>,
    /// Show the map at this moment: bytes per stream and their position in percent of the
    /// device; over --step, default 1s
    #[arg(long, value_name = "MOMENT", conflicts_with = "show")]
    pub at: Option<Moment>,
    /// Value to show: per range and step
    #[arg(long, value_name = "WHAT", default_value = "count", value_parser = one_of(HIT_MAP_QUANTITIES))]
    pub show: HitMapQuantity,
    /// Smallest share of a stream that is listed separately; with --show streams (default: 2%)
    /// and --at (default: 0%)
    #[arg(long, value_name = "PERCENT")]
    pub threshold: Option<Threshold>,
    #[command(flatten)]
    pub axis: AxisArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace compare`.
#[derive(Debug, Args)]
#[command(mut_arg("output", |output| output.requires("by")))]
#[command(mut_arg("step", |step| step.conflicts_with("by")))]
#[command(mut_arg("time_axis", |axis| axis.conflicts_with("by")))]
pub struct TraceCompareArguments {
    /// The traces; the files of a rotated capture count as one
    #[command(flatten)]
    pub selection: Selection,
    /// Compare all files before with these: each side may be several captures, or fold files
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub after: Vec<PathBuf>,
    /// Align captures at their start, by the clock, or at a mark (mark:NAME); default: clock if
    /// they overlap in time, otherwise start
    #[arg(long, value_name = "start|clock|mark:NAME")]
    pub align: Option<TimeAlignment>,
    /// Attributes by which I/Os are grouped: host, device, process, command, thread, cgroup, file, stream, op
    /// or cpu; prints what changed from the first capture to the second
    #[arg(long, value_name = "FACETS")]
    pub by: Option<Facet>,
    /// Largest first by this figure; the largest change, with --by
    #[arg(long, value_name = "FIGURE", default_value = "iops", requires = "by",
          value_parser = one_of(DELTA_RANKS))]
    pub rank: DeltaRank,
    /// Print at most this many rows; with --by
    #[arg(long, value_name = "N", default_value_t = 40, requires = "by", conflicts_with = "json")]
    pub top: usize,
    #[command(flatten)]
    pub report: ReportFiles,
    #[command(flatten)]
    pub axis: AxisArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `workload`.
#[derive(Debug, Args)]
pub struct WorkloadArguments {
    /// What to do
    #[command(subcommand)]
    pub command: WorkloadCommand,
}

/// Commands for workloads.
#[derive(Debug, Subcommand)]
pub enum WorkloadCommand {
    /// Derive the cumulative workload and the applied test workload of a trace
    #[command(after_help = "Examples:\n  \
        steadfast workload derive monday.parquet --threshold 2% -o workload.toml\n  \
        steadfast workload derive monday.parquet --step 5min --replay-representation steps.txt\n  \
        steadfast workload derive steps.txt --json\n  \
        steadfast workload derive monday.parquet --native --step 5min -o steps.toml\n  \
        steadfast workload derive monday.parquet --report --without zones\n  \
        steadfast workload derive monday.parquet --report --against fio.parquet\n  \
        steadfast measure --workload workload.toml --target /dev/nvme0n1 --yes-destroy SERIAL")]
    Derive(Box<DeriveArguments>),
    /// Write a workload, or the I/Os of a trace, as a file for another tool
    #[command(after_help = "Examples:\n  \
        steadfast workload export monday.parquet --output-format fio -o monday.fio\n  \
        steadfast workload export monday.parquet --output-format fio-iolog -o monday.log\n  \
        steadfast workload export workload.toml --output-format vdbench --filename /dev/sdb -o w.parm\n  \
        steadfast workload export jesd219 --output-format iometer --device-size 1TB -o jesd219.icf\n\n\
        What the format cannot express is printed, and written into the file if it has comments.")]
    Export(Box<WorkloadExportArguments>),
    /// The reference workloads that this program has, by name
    #[command(after_help = "Example:\n  steadfast workload list")]
    List(ListArguments),
    /// Print a reference workload as the text of a workload file
    #[command(after_help = "Example:\n  steadfast workload show retail-web-portal > mine.toml")]
    Show(ShowArguments),
}

/// `workload list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `workload show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// A name of `workload list`
    pub name: String,
}

/// Parts of a derived workload other than its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DetailName {
    /// Address zones of the streams
    Zones,
    /// Arrivals of the I/Os
    Arrivals,
    /// Compressibility and duplicates of the written data
    Content,
}

/// `workload derive`.
#[derive(Debug, Args)]
#[command(group(files_written(["workload_file", "replay_representation"])))]
pub struct DeriveArguments {
    /// The trace, or a text file that begins with "### Replay representation"
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub shares: SharesArguments,
    /// Threads and outstanding I/Os per thread, such as T4Q32; default: as captured
    #[arg(long, value_name = "TnQm")]
    pub demand: Option<Demand>,
    /// Width of a step of the capture's time; default: by the capture's length
    #[arg(long, value_name = "TIME", value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    /// Keep the capture steps; in the workload file, for replay-native
    #[arg(long)]
    pub native: bool,
    /// Leave out what a derived workload carries, comma-separated
    #[arg(long, value_name = "PARTS", value_enum, value_delimiter = ',')]
    pub without: Vec<DetailName>,
    /// Score the workload against its capture, aspect by aspect, and name what was lost
    #[arg(long)]
    pub report: bool,
    /// Score this capture instead of a drawing of the workload: such as a capture of another
    /// program's run
    #[arg(long, value_name = "TRACE", requires = "report")]
    pub against: Option<PathBuf>,
    /// Write the steps in the export format of TestMyWorkload.com
    #[arg(long, value_name = "FILE")]
    pub replay_representation: Option<PathBuf>,
    /// Output: the workload file (TOML, editable by hand)
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    pub workload_file: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `workload export`.
#[derive(Debug, Args)]
pub struct WorkloadExportArguments {
    /// A trace, a workload file, a Replay representation, or the name of a reference workload; for
    /// a rotated capture, all its files
    #[command(flatten)]
    pub selection: Selection,
    /// Format of the output
    #[arg(long, value_name = "FORMAT")]
    pub output_format: WorkloadFormat,
    /// Smallest share of a stream that is listed separately; only such streams are exported.
    /// Default: 2% of a capture, and every stream of a workload file
    #[arg(long, value_name = "PERCENT")]
    pub threshold: Option<Threshold>,
    /// Measure of shares: I/Os (count) or bytes
    #[arg(long, value_name = "count|bytes", default_value_t)]
    pub shares: ShareMeasure,
    /// Width of a step of the capture's time; default: as kept, or by the capture's length
    #[arg(long, value_name = "TIME", value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    /// Keep the capture steps; each becomes a separate load, in sequence
    #[arg(long)]
    pub native: bool,
    /// Threads and outstanding I/Os per thread, such as T4Q32; default: as captured, with the
    /// captured rate if fewer than one I/O was outstanding on average
    #[arg(long, value_name = "TnQm")]
    pub demand: Option<Demand>,
    /// Measured time; per load, default: as captured
    #[arg(long, value_name = "TIME", value_parser = more_than_nothing::<Nanos>)]
    pub time: Option<Nanos>,
    /// The file or device that the job file names; also in an iolog and in the files of vdbench and
    /// Iometer; default: TARGET, or in an iolog the captured device
    #[arg(long, value_name = "FILE")]
    pub filename: Option<String>,
    /// Size of the device that the file is for; default: the size of the captured device
    #[arg(long, value_name = "BYTES", value_parser = more_than_nothing::<Bytes>)]
    pub device_size: Option<Bytes>,
    /// Output: the file for the other tool
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A format that workloads and traces are exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorkloadFormat {
    /// A job file of fio: one job per I/O stream.
    Fio,
    /// Iometer's configuration (.icf), version 1.1.0.
    Iometer,
    /// vdbench's parameter file.
    Vdbench,
    /// The "Replay representation": capture steps with their I/O streams.
    ReplayRepresentation,
    /// fio's iolog, version 3: every single I/O.
    FioIolog,
    /// blkparse's text: every single I/O.
    Blkparse,
    /// A CSV file with a line per I/O.
    Csv,
    /// A trace file (Parquet) with the chosen I/Os.
    Parquet,
}

/// `trace report`.
#[derive(Debug, Args)]
pub struct TraceReportArguments {
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub shares: SharesArguments,
    #[command(flatten)]
    pub axis: AxisArguments,
    /// Value to show: per range and step, in the LBA range hit maps
    #[arg(long, value_name = "WHAT", default_value = "count", value_parser = one_of(HIT_MAP_QUANTITIES))]
    pub show: HitMapQuantity,
    /// Output: the directory for the report; created if missing
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Formats of the report; text is printed. Default: $STEADFAST_FORMATS, or html,pdf,csv,json
    #[arg(long, value_name = "FORMATS", value_delimiter = ',')]
    pub format: Vec<Format>,
}

/// `trace self-test`.
#[derive(Debug, Args)]
// Its JSON has the axes of plots.
#[command(mut_arg("time_axis", |axis| axis.conflicts_with(Resettable::<Id>::Reset)))]
pub struct SelfTestArguments {
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub shares: SharesArguments,
    #[command(flatten)]
    pub axis: AxisArguments,
    #[command(flatten)]
    pub report: ReportFiles,
    /// Print JSON: the findings
    #[arg(long)]
    pub json: bool,
}

/// `trace import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The files; several blktrace files are merged by time
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Format of the input; default: recognized from the start of the file
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<ImportFormat>,
    /// Columns of any CSV file, counted from 1, with their units (s, ms, us, ns, 100ns, bytes, KiB,
    /// sectors): time=2:us,op=3,offset=5:sectors,bytes=4
    /// [,response=6:us][,device=1][,pid=7][,command=8][,separator=tab][,skip=3][,header=yes];
    /// op=3:0=write;1=read maps the values of column 3 to operations; time=2:us:unix marks clock
    /// times; completed=2:us gives completion times instead of issue times; time=none, op=read and
    /// op=other,offset=none declare what the table lacks
    #[arg(long, value_name = "COLUMNS")]
    pub csv: Option<String>,
    /// Columns of a CSV file with a header, or of a Parquet file, by name: a TOML file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "input_format"])]
    pub columns: Option<PathBuf>,
    /// Size of a block of KV cache, of requests to language models; default: that of 320 KiB per
    /// token
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["csv", "columns"], value_parser = more_than_nothing::<Bytes>)]
    pub kv_block: Option<Bytes>,
    /// Start of the trace, in UTC (2026-11-21 06:16:17), if its times are relative
    #[arg(long, value_name = "DATE")]
    pub began: Option<Moment>,
    /// Output: the trace file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Another tool's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// blktrace's binary files, one per processor or merged.
    Blktrace,
    /// blkparse's text.
    Blkparse,
    /// Output of bcc's biosnoop.
    Biosnoop,
    /// Block trace events as text: perf script, trace-cmd report.
    BlockEvents,
    /// fio's iolog, version 2 or 3.
    FioIolog,
    /// fio's iolog, version 1.
    #[value(name = "fio-iolog-1")]
    FioIolog1,
    /// fio's latency log of single I/Os (log_offset=1).
    FioLatencyLog,
    /// Output of strace -f -ttt -T -y.
    Strace,
    /// VMware vscsi trace, version 1.
    #[value(name = "vscsi1")]
    Vscsi1,
    /// VMware vscsi trace, version 2.
    #[value(name = "vscsi2")]
    Vscsi2,
    /// libCacheSim's oracleGeneral.
    OracleGeneral,
    /// libCacheSim's lcs, version 1 to 8.
    Lcs,
    /// MSR Cambridge CSV.
    MsrCambridge,
    /// Alibaba block trace CSV.
    Alibaba,
    /// Tencent block trace CSV.
    Tencent,
    /// Systor '17 CSV.
    #[value(name = "systor17")]
    Systor17,
    /// SPC trace file (UMass: Financial, WebSearch).
    Spc,
    /// FIU trace.
    Fiu,
    /// CloudPhysics CSV.
    CloudphysicsCsv,
    /// Mooncake's requests to a language model; the I/Os of its KV cache are derived.
    Mooncake,
    /// Qwen-Bailian's requests to a language model, as for mooncake.
    Bailian,
    /// LMCache's chunk hashes, as for mooncake.
    Lmcache,
}

/// `trace recover`.
#[derive(Debug, Args)]
pub struct RecoverArguments {
    /// The damaged or incomplete trace file; for a rotated capture, all its files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Output: the new trace file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WritingArguments,
}
