//! The command line of captured workloads: what of a capture a test applies, how
//! single I/Os are replayed, and how a replay is compared with its capture.

use super::common::{Format, WritingArguments};
use super::heading;
use super::selection::{FilterArguments, LayerChoice};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use steadfast_analysis::clock::Moment;
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::streams::{By, StreamKey};
use steadfast_domain::script::{Overlaps, ReplayOmissions, Timing};
use steadfast_domain::{Nanos, Zone};
use steadfast_workload::replay::{IssueAt, MapRule};

/// What of a captured workload a test applies, and how.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = heading::CAPTURED)]
pub struct ReplayArguments {
    /// Which I/Os.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// The smallest share of an I/O stream that is applied; by default 2% of a
    /// capture, and every stream of a workload file or with --exact
    #[arg(long)]
    pub threshold: Option<Threshold>,
    /// Shares of I/Os (count) or of bytes
    #[arg(long, default_value_t)]
    pub by: By,
    /// Width of a capture step; by default as kept, or by the capture's length
    #[arg(long, value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    /// replay-native: play every single I/O of the trace, not its steps
    #[arg(long)]
    pub exact: bool,
    /// original, faster:N or closed (as soon as there is room)
    #[arg(long, requires = "exact", value_name = "TIMING")]
    pub timing: Option<Timing>,
    /// The captured time that counts: queue or issue; by default queue, where the
    /// trace holds it
    #[arg(long, requires = "exact", value_name = "TIME")]
    pub issue_at: Option<IssueAt>,
    /// Due times count from this time of the capture; by default from the first chosen I/O,
    /// and with --target DEVICE=T from the first of all these devices
    #[arg(long, requires = "exact", value_name = "TIME")]
    pub counted_from: Option<Nanos>,
    /// I/Os that overlap in flight: keep, or order (one waits for the other)
    #[arg(long, requires = "exact", value_name = "RULE")]
    pub overlaps: Option<Overlaps>,
    /// Addresses: same, wrap, pack or scale; by default same where all fit, or wrap
    #[arg(long, requires = "exact", value_name = "RULE")]
    pub map: Option<MapRule>,
    /// Do not play these: flush, fua, discard
    #[arg(long, requires = "exact", value_delimiter = ',', value_name = "LIST")]
    pub leave_out: Vec<LeftOutName>,
}

/// What of a script can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LeftOutName {
    /// Flushes.
    Flush,
    /// Forced unit access: the writes are played without.
    Fua,
    /// Discards.
    Discard,
}

impl ReplayArguments {
    /// What is not played.
    pub fn leave_out(&self) -> ReplayOmissions {
        ReplayOmissions {
            flushes: self.leave_out.contains(&LeftOutName::Flush),
            fua: self.leave_out.contains(&LeftOutName::Fua),
            discards: self.leave_out.contains(&LeftOutName::Discard),
        }
    }

    /// All options that differ from their defaults, as they read back.
    pub fn words(&self) -> Vec<String> {
        let mut words = Words::default();
        words.filter(&self.filter);
        words.some("--threshold", self.threshold);
        words.some("--by", (self.by != By::default()).then_some(self.by));
        words.time("--step", self.step);
        words.flag("--exact", self.exact);
        words.some("--timing", self.timing);
        words.some("--issue-at", self.issue_at);
        words.time("--counted-from", self.counted_from);
        words.some("--overlaps", self.overlaps);
        words.some("--map", self.map);
        words.each("--leave-out", self.leave_out.iter().map(name_of));
        words.0
    }
}

/// What an exact replay was made of, as a run's settings keep it.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
pub struct Reopened {
    /// The files of the trace.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// What was chosen from them, and how it is played.
    #[command(flatten)]
    pub replay: ReplayArguments,
}

fn name_of<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A zone as it reads back.
fn offset(zone: &Zone) -> String {
    Zone::fixed(zone.offset_s, None).to_string().replace("UTC", "")
}

/// A command line that is being put together.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn some<T: ToString>(&mut self, option: &str, value: Option<T>) {
        self.each(option, value.map(|value| value.to_string()));
    }

    fn each(&mut self, option: &str, values: impl IntoIterator<Item = String>) {
        // In one word, so that no value is taken for an option.
        self.0.extend(values.into_iter().map(|value| format!("{option}={value}")));
    }

    fn time(&mut self, option: &str, value: Option<Nanos>) {
        self.some(option, value.map(|time| format!("{}ns", time.0)));
    }

    fn flag(&mut self, option: &str, is: bool) {
        self.0.extend(is.then(|| option.to_owned()));
    }

    fn filter(&mut self, filter: &FilterArguments) {
        self.some("--from", filter.from.as_ref().map(Moment::written));
        self.some("--to", filter.to.as_ref().map(Moment::written));
        self.some("--zone", filter.zone.as_ref().map(offset));
        self.each("--event", filter.event.iter().cloned());
        self.some("--pid", filter.pid.as_ref());
        self.some("--tid", filter.tid);
        self.each("--cgroup", filter.cgroup.iter().cloned());
        self.each("--file", filter.file.iter().cloned());
        self.each("--op", filter.op.iter().map(name_of));
        self.each("--device", filter.device.iter().cloned());
        self.each("--layer", filter.layer.iter().map(name_of::<LayerChoice>));
        self.each("--stream", filter.stream.iter().map(StreamKey::to_string));
        let window = (filter.window != steadfast_analysis::annotate::sequence::WINDOW)
            .then_some(filter.window);
        self.some("--window", window);
        self.flag("--accept-damage", filter.accept_damage);
    }
}

/// `replay`.
#[derive(Debug, Args)]
pub struct ReplayCommandArguments {
    /// What to do
    #[command(subcommand)]
    pub command: ReplayCommand,
}

/// What can be done with replays.
#[derive(Debug, Subcommand)]
pub enum ReplayCommand {
    /// How true a replay was: its capture beside the original, or any two captures
    #[command(after_help = "Examples:\n  \
        steadfast replay verify monday.parquet replayed.parquet\n  \
        steadfast replay verify monday.parquet replayed.parquet --device sda --map wrap -o verified\n\n\
        Exits with 0 where the replay has the same I/Os as the original, with 5 where it differs.")]
    Verify(VerifyArguments),
}

/// `replay verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// The original: a trace or a step file
    #[arg(value_name = "CAPTURE")]
    pub original: PathBuf,
    /// The capture of the replay
    #[arg(value_name = "REPLAYED")]
    pub replayed: PathBuf,
    /// Which I/Os of the original.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Of the replay, I/Os on this device only
    #[arg(long, value_name = "NAME")]
    pub replayed_device: Vec<String>,
    /// Of the replay, I/Os of this process only
    #[arg(long, value_name = "PID|COMMAND")]
    pub replayed_pid: Option<String>,
    /// Of the replay, I/Os issued at or after this time from its capture's beginning; default:
    /// from the mark 'replay begins', if the capture has it
    #[arg(long, value_name = "TIME")]
    pub replayed_from: Option<Nanos>,
    /// Of the replay, I/Os issued before this time from its capture's beginning
    #[arg(long, value_name = "TIME")]
    pub replayed_to: Option<Nanos>,
    /// The replay was played so many times as fast
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    pub faster: f64,
    /// How the replay mapped addresses: same, wrap, pack or scale, onto the device of
    /// its capture
    #[arg(long, value_name = "RULE")]
    pub map: Option<MapRule>,
    /// Width of a step of the pictures over time; by default by the length
    #[arg(long, value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    /// Write a report into this directory; made where it is missing
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// What the report is written as: html, pdf, csv, json
    #[arg(long, value_delimiter = ',', default_value = "html,pdf,csv,json", requires = "output")]
    pub format: Vec<Format>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_read_back_as_they_were_given() {
        let given = [
            "/a/monday.parquet",
            "--from=90s",
            "--to=5400000000001ns",
            "--pid=-x y",
            "--tid=43",
            "--cgroup=/docker/a b",
            "--file=/var/lib/x",
            "--op=read",
            "--op=discard",
            "--device=sda",
            "--layer=block",
            "--stream=RND 4K W",
            "--window=7",
            "--accept-damage",
            "--threshold=0.5%",
            "--by=bytes",
            "--exact",
            "--timing=faster:1.5",
            "--issue-at=issue",
            "--overlaps=order",
            "--map=wrap",
            "--leave-out=flush,discard",
        ];
        let first = Reopened::try_parse_from(given).unwrap();
        let words = first.replay.words();
        let all = first.files.iter().map(|path| path.display().to_string()).chain(words.clone());
        let again = Reopened::try_parse_from(all).unwrap();
        assert_eq!(again.replay.words(), words);
        assert_eq!(words[0], "--from=90000000000ns");
        assert_eq!(words.len(), given.len(), "the list of --leave-out became two words");
        let none = Reopened::try_parse_from(["/a/monday.parquet"]).unwrap();
        assert_eq!(none.replay.words(), Vec::<String>::new());
    }
}
