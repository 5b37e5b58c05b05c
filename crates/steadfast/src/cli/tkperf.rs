//! TKperf's command line: its long options have one dash.

use crate::cli::common::{EngineName, WritingArguments, more_than_nothing};
use crate::cli::hosts::HostsArguments;
use clap::builder::Resettable;
use clap::{Args, Id, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use steadfast_domain::{Bytes, PurgeChoice, PurgeFailure};

/// End of the help.
pub const EXAMPLES: &str = "Examples:
  steadfast tkperf ssd intel320 /dev/sdb -nj 2 -iod 16 -rfb --yes-destroy SERIAL
  steadfast tkperf ssd p4610 /dev/nvme1n1 -rt 30 -nj 4 -iod 64 -dsc p4610.dsc --plan
  steadfast tkperf ssd trial scratch.bin --size 1GiB -rt 1 -ssdt tp
  steadfast tkperf hdd wd40 /dev/sdc -hddt iops --yes-destroy SERIAL
  steadfast tkperf raid r5 /dev/md0 --yes-destroy md0
  steadfast tkperf --read intel320.xml -o old   (a log that TKperf wrote)
  steadfast compare intel320.xml intel320          (that log and a new run)
docs/coming-from.md says what differs from TKperf and what its numbers are worth.";

/// TKperf's options of several letters, with one dash or two.
const LONG: [&str; 10] = ["nj", "iod", "rt", "rfb", "xml", "dsc", "fm", "ft", "ssdt", "hddt"];

/// Gives TKperf's long options their second dash, which clap requires. Other command lines are
/// returned unchanged.
pub fn rewrite_words(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "tkperf") {
        for word in words.iter_mut().skip(2) {
            if let Some(long) = with_two_dashes(word) {
                *word = long.into();
            }
        }
    }
    words
}

/// Returns `--nj` for `-nj`, `--iod=4` for `-iod=4`, and like TKperf `--ssdt` for `-ssd`; `None` for
/// a word that is no long option of TKperf.
fn with_two_dashes(word: &OsStr) -> Option<String> {
    let rest = word.to_str()?.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let (name, value) = rest.split_at(rest.find('=').unwrap_or(rest.len()));
    let completions: Vec<&str> = LONG.into_iter().filter(|long| long.starts_with(name)).collect();
    let long = match completions.as_slice() {
        _ if LONG.contains(&name) => name,
        [only] if name.len() > 1 => *only,
        _ => return None,
    };
    Some(format!("--{long}{value}"))
}

/// `tkperf-cmp` and whatever follows it.
#[derive(Debug, Args)]
pub struct AnyArguments {
    /// Anything
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// Options that only a test uses, by the names of their fields.
const TEST_OPTIONS: [&str; 20] = [
    "jobs", "depth", "runtime", "description", "features", "ssd_tests", "disk_tests", "plan",
    "assume", "size", "yes_destroy", "hosts", "hosts_plain", "ssh_config", "purge", "purge_failed",
    "max_rounds", "zones", "seed", "engine",
];

/// `tkperf`.
#[derive(Debug, Args)]
#[command(args_override_self = true)]
// A run's own directory is readable for the group too.
#[command(mut_arg("group", |group| group.requires(Resettable::<Id>::Reset)))]
pub struct TkperfArguments {
    /// ssd, hdd, or raid (an existing array; none is created)
    #[arg(required_unless_present_any = ["read", "version"])]
    pub mode: Option<Mode>,
    /// Name of the run: of the run directory, and NAME.xml with -xml
    #[arg(required_unless_present_any = ["read", "version"])]
    pub name: Option<String>,
    /// A block device, a file, or sim:NAME (a simulated drive)
    #[arg(required_unless_present_any = ["read", "version"])]
    pub device: Option<String>,
    /// Threads of the test; -nj of TKperf. Default: 1
    #[arg(long = "nj", alias = "numjobs", value_name = "N")]
    pub jobs: Option<u32>,
    /// Outstanding I/Os of each thread; -iod of TKperf. Default: 1
    #[arg(long = "iod", alias = "iodepth", value_name = "N")]
    pub depth: Option<u32>,
    /// Seconds of a step; -rt of TKperf. Default: 60
    #[arg(long = "rt", alias = "runtime", value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub runtime: Option<u64>,
    /// Refill buffers; -rfb of TKperf. Always on: every sector written is unique
    #[arg(long = "rfb", alias = "refill_buffers", alias = "refill-buffers")]
    pub refill: bool,
    /// Interface of the device; ignored: read from the device
    #[arg(short = 'i', long = "interface", value_name = "NAME")]
    pub interface: Option<Interface>,
    /// File that describes the device; -dsc of TKperf. Printed as it is
    #[arg(long = "dsc", alias = "desc_file", value_name = "FILE")]
    pub description: Option<PathBuf>,
    /// File with a feature matrix; -fm of TKperf. Printed as it is
    #[arg(long = "fm", alias = "feature_matrix", value_name = "FILE")]
    pub features: Option<PathBuf>,
    /// Ask no question; -ft of TKperf. It waives neither the serial number nor the check for a
    /// device in use
    #[arg(long = "ft", alias = "force_test")]
    pub force_test: bool,
    /// Test of an SSD; -ssdt of TKperf, repeatable: iops, lat, tp, writesat. Default: all four
    #[arg(long = "ssdt", alias = "ssd_type", value_name = "TEST")]
    pub ssd_tests: Vec<SsdTest>,
    /// Test of a hard disk; -hddt of TKperf, repeatable: iops, tp. Default: both
    #[arg(long = "hddt", alias = "hdd_type", value_name = "TEST")]
    pub disk_tests: Vec<DiskTest>,
    /// Report NAME.xml, which TKperf wrote; -xml of TKperf. Nothing is tested
    #[arg(long = "xml", alias = "fromxml", conflicts_with_all = TEST_OPTIONS)]
    pub from_xml: bool,
    /// Configuration of raid mode; not used
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Recipient of TKperf's mail; ignored: no mail is sent
    #[arg(short = 'm', long = "mail", value_name = "TO")]
    pub mail: Option<String>,
    /// Server of TKperf's mail; ignored: no mail is sent
    #[arg(short = 's', long = "smtp", value_name = "HOST")]
    pub smtp: Option<String>,
    /// TKperf's report generator; ignored: reports are written without it
    #[arg(
        short = 'g',
        long = "gen_report",
        alias = "gen-report",
        value_name = "COMMAND",
        allow_hyphen_values = true
    )]
    pub generator: Option<String>,
    /// TKperf's debug log; ignored: the run directory holds every step
    #[arg(short = 'd', long)]
    pub debug: bool,
    /// Print the version
    #[arg(short = 'v', long)]
    pub version: bool,
    #[command(flatten)]
    pub ours: OurArguments,
    #[command(flatten)]
    pub writing: WritingArguments,
}

/// Options of this program in addition to TKperf's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of steadfast")]
pub struct OurArguments {
    /// Report a result that the other tool saved; nothing is tested
    #[arg(long, value_name = "FILE", conflicts_with = "mode", conflicts_with_all = TEST_OPTIONS)]
    pub read: Option<PathBuf>,
    /// Show what would run and how long it takes; touches nothing
    #[arg(long)]
    pub plan: bool,
    /// Sequential write rate per second, such as 2GB, to estimate steps that end by their bytes
    #[arg(long, value_name = "BYTES", requires = "plan",
          value_parser = more_than_nothing::<Bytes>)]
    pub assume: Option<Bytes>,
    /// Create the target file with this size
    #[arg(long, value_name = "BYTES", value_parser = more_than_nothing::<Bytes>)]
    pub size: Option<Bytes>,
    /// Serial number of the device that may be overwritten (its kernel name if it has none)
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Vec<String>,
    #[command(flatten)]
    pub hosts: HostsArguments,
    /// Output: the run directory, or with --read and -xml the directory of the
    /// report; default: NAME
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Purge method; `steadfast run --help` lists them
    #[arg(long, value_name = "METHOD")]
    pub purge: Option<PurgeChoice>,
    /// What to do if the purge fails: halt (the default), or continue without a purge
    #[arg(long, value_name = "ACTION")]
    pub purge_failed: Option<PurgeFailure>,
    /// Maximum number of rounds; default: 25, of writesat 1440
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_rounds: Option<u32>,
    /// Number of zones; of hdd mode. Default: 128
    #[arg(long, value_name = "N")]
    pub zones: Option<u32>,
    /// Seed of every random choice; printed and recorded
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Engine that submits the I/Os; default: uring, or sim for a simulated target
    #[arg(long)]
    pub engine: Option<EngineName>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// TKperf's modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A solid-state drive.
    Ssd,
    /// A hard disk.
    Hdd,
    /// An array.
    Raid,
}

/// TKperf's interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Interface {
    /// SAS.
    Sas,
    /// NVMe.
    Nvme,
    /// Fusion-io.
    Fusion,
    /// USB.
    Usb,
    /// SD card.
    #[value(name = "sdcard")]
    SdCard,
    /// CompactFlash.
    #[value(name = "compactflash")]
    CompactFlash,
}

/// TKperf's tests of an SSD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SsdTest {
    /// IOPS.
    Iops,
    /// Latency.
    Lat,
    /// Throughput.
    Tp,
    /// Write saturation.
    Writesat,
}

/// TKperf's tests of a hard disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiskTest {
    /// IOPS.
    Iops,
    /// Throughput.
    Tp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let words = rewrite_words(line.split(' ').map(OsString::from).collect());
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn options_with_one_dash_get_their_second_one() {
        let line = "steadfast tkperf ssd a /dev/x -nj 2 -iod=16 -rfb -i nvme -ssd tp -q -o o";
        let expected =
            "steadfast tkperf ssd a /dev/x --nj 2 --iod=16 --rfb -i nvme --ssdt tp -q -o o";
        assert_eq!(rewritten(line), expected);
        let other = "steadfast run iops -nj 2";
        assert_eq!(rewritten(other), other, "only of this command");
        assert_eq!(rewritten("steadfast tkperf -f x -r"), "steadfast tkperf -f x -r");
    }
}
