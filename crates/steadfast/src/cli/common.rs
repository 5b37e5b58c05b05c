//! Arguments and values that several commands have in common.

use super::heading;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_domain::rate::Arrivals;
use steadfast_domain::{Bytes, Nanos};

/// The most threads or outstanding I/Os per thread that are accepted.
pub(super) const DEMAND_MAX: i64 = 4096;

/// The targets of a load.
#[derive(Debug, Clone, Default, Args)]
pub struct TargetArguments {
    /// Device or file to work on: a block device, a file, or sim:NAME (a simulated drive)
    #[arg(help_heading = heading::TARGET, id = "target", long = "target", value_name = "TARGET")]
    pub names: Vec<String>,
    /// Create the target file with this size
    #[arg(help_heading = heading::TARGET, long, value_name = "BYTES", value_parser = more_than_nothing::<Bytes>)]
    pub size: Option<Bytes>,
}

/// Options for the files that a command writes. A command whose files have other options than `-o`
/// gives them in a group `output`.
#[derive(Debug, Default, Args)]
pub struct WritingArguments {
    /// Overwrite an existing regular file
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Let this group read the files written; otherwise only root can read what root writes
    #[arg(long, value_name = "GROUP", requires = "output")]
    pub group: Option<String>,
}

impl WritingArguments {
    /// Returns the options with whether they were given.
    pub fn given(&self) -> [(&'static str, bool); 2] {
        [("--force", self.force), ("--group", self.group.is_some())]
    }
}

/// Returns the group of the options that name the files of a command.
pub(super) fn files_written<const N: usize>(options: [&'static str; N]) -> ArgGroup {
    ArgGroup::new("output").args(options).multiple(true)
}

/// A report that is written if its directory is named.
#[derive(Debug, Args)]
pub struct ReportFiles {
    /// Output: a directory for a report; created if missing
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Formats of the report. Default: $STEADFAST_FORMATS, or html,pdf,csv,json
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', requires = "output")]
    pub format: Vec<Format>,
    #[command(flatten)]
    pub writing: WritingArguments,
}

/// The time axis of a table or a plot.
#[derive(Debug, Clone, Copy, Args)]
pub struct AxisArguments {
    /// Width of a step of the capture's time: 100us to 1h, or whole hours; default: by the
    /// capture's length
    #[arg(long, value_name = "TIME", value_parser = capture_step)]
    pub step: Option<Nanos>,
    /// Times of day, or relative to the start
    #[arg(long, value_name = "AXIS", value_enum, default_value_t, conflicts_with = "json")]
    pub time_axis: TimeAxis,
}

impl AxisArguments {
    /// Returns the width of a step in nanoseconds, if it was given.
    pub fn step_ns(&self) -> Option<u64> {
        self.step.map(|step| step.0)
    }
}

/// Origin of printed times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TimeAxis {
    /// Times of day, if the trace has a start time.
    #[default]
    Clock,
    /// Seconds from the start.
    Relative,
}

/// Selection of I/O streams by their share.
#[derive(Debug, Clone, Copy, Args)]
pub struct SharesArguments {
    /// Smallest share of a stream that is listed separately
    #[arg(long, value_name = "PERCENT", default_value_t = Threshold::DEFAULT)]
    pub threshold: Threshold,
    /// Measure of shares: I/Os (count) or bytes
    #[arg(id = "shares", long = "shares", value_name = "count|bytes", default_value_t)]
    pub of: ShareMeasure,
}

/// Parses a width that capture steps can have.
pub(super) fn capture_step(text: &str) -> Result<Nanos, String> {
    let width: Nanos = text.parse().map_err(|error: <Nanos as FromStr>::Err| error.to_string())?;
    if steadfast_analysis::sums::step_width::is_step_width(width.0) {
        Ok(width)
    } else {
        Err("give 100us to 1h, or whole hours".to_owned())
    }
}

/// Parses a size or a time above 0.
pub(super) fn more_than_nothing<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err: ToString> + Default + PartialEq,
{
    match text.parse::<T>() {
        Ok(value) if value == T::default() => Err("give more than 0".to_owned()),
        Ok(value) => Ok(value),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a percentage above 0.
pub(super) fn percentage(text: &str) -> Result<f64, String> {
    above_zero(text).ok_or_else(|| "give a percentage above 0, such as 5".to_owned())
}

/// Returns the number in a text; `None` if it is not above 0.
pub(super) fn above_zero(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

/// Parses the smallest change in percent, with or without the sign: `2`, `0.5%`.
pub(super) fn change_percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>() {
        Ok(value) if (0.0..100.0).contains(&value) => Ok(value),
        _ => Err("give a percentage from 0 to below 100, such as 2".to_owned()),
    }
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// A real device, through io_uring (Linux AIO or threads where that is off).
    Uring,
    /// A real device, through an installed fio 3.x (docs/fio.md).
    Fio,
    /// A simulated drive in virtual time.
    Sim,
}

/// A form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `report.html`, one self-contained page.
    Html,
    /// `report.pdf`, to read: a page that sums it up, then every plot and table once.
    Pdf,
    /// `form.pdf`, the report form: A4 landscape, each page with its header.
    Form,
    /// One file per table.
    Csv,
    /// `findings.json`.
    Json,
    /// The tables, on standard output.
    Text,
}

/// Arrivals of I/Os at a rate.
pub(super) const ARRIVALS: [NamedValue<Arrivals>; 2] = [
    NamedValue::new("poisson", Arrivals::Poisson, "At random"),
    NamedValue::new("fixed", Arrivals::Fixed, "Evenly spaced"),
];

/// A value with its name on the command line and its help.
#[derive(Debug, Clone, Copy)]
pub struct NamedValue<T> {
    name: &'static str,
    value: T,
    help: &'static str,
    /// Another name, which the help does not mention.
    alias: Option<&'static str>,
}

impl<T: Copy> NamedValue<T> {
    pub const fn new(name: &'static str, value: T, help: &'static str) -> Self {
        NamedValue { name, value, help, alias: None }
    }

    pub const fn with_alias(self, alias: &'static str) -> Self {
        NamedValue { alias: Some(alias), ..self }
    }
}

/// Returns a parser that takes the name of one of these values.
pub(super) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [NamedValue<T>; N],
) -> impl TypedValueParser<Value = T> {
    let names = values
        .iter()
        .map(|named| PossibleValue::new(named.name).help(named.help).aliases(named.alias));
    PossibleValuesParser::new(names).try_map(move |given| {
        let is_given = |name: &str| name == given;
        let found =
            values.iter().find(|named| is_given(named.name) || named.alias.is_some_and(is_given));
        found.map(|named| named.value).ok_or("unknown name")
    })
}
