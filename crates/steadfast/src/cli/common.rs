//! Arguments and values that several commands have in common.

use clap::{Args, ValueEnum};
use std::str::FromStr;
use steadfast_domain::Nanos;

/// The most threads or outstanding I/Os per thread that are accepted.
pub(super) const DEMAND_MAX: i64 = 4096;

/// How files are written that the user names.
#[derive(Debug, Default, Args)]
pub struct WritingArguments {
    /// Overwrite an existing regular file
    #[arg(long)]
    pub force: bool,
    /// Let this group read the files written; otherwise only root can read what
    /// root writes
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
}

/// A width that capture steps can have.
pub(super) fn capture_step(text: &str) -> Result<Nanos, String> {
    let width: Nanos = text.parse().map_err(|error: <Nanos as FromStr>::Err| error.to_string())?;
    if steadfast_analysis::sums::step_width::is_step_width(width.0) {
        Ok(width)
    } else {
        Err("give 100us to 1h, or whole hours".to_owned())
    }
}

/// A size or a time that is more than nothing.
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

/// A percentage above 0.
pub(super) fn percentage(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("give a percentage above 0, such as 5".to_owned()),
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
    /// `form.pdf`, the report form: page by page with its head, across.
    Form,
    /// One file per table.
    Csv,
    /// `findings.json`.
    Json,
    /// The tables, on standard output.
    Text,
}
