//! Options of one section by name, with the errors and remarks found on them.

use super::option_support::{OptionSupport, canonical, is_external_engine, resembling, support};
use super::sizes::{amount, bytes, flag, leading_bytes, time};
use super::text::{JobOption, JobSection};
use crate::parse_error::ParseError;
use std::collections::BTreeMap;
use steadfast_domain::sequence::{Amount, SequenceRemark};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Bytes, Nanos};

/// Maximum number of threads, and of outstanding I/Os per thread.
pub(super) const DEMAND_MAX: u32 = 4096;

/// Maximum number of threads of a job that is split into one load per thread.
pub(super) const SPLIT_MAX: u32 = 64;

/// Nanoseconds in the units that fio assumes for values without a unit.
pub(super) const SECOND: u64 = 1_000_000_000;
pub(super) const MICROSECOND: u64 = 1000;

/// Facts that a job file does not state.
#[derive(Debug, Clone, Copy, Default)]
pub struct TargetFacts<'a> {
    /// Engine of jobs that name none.
    pub ioengine: Option<&'a str>,
    /// Name, in the jobs, of the file or device that the target replaces. Only the jobs on it are
    /// applied; their steps keep the numbers that they have among the steps of all jobs. `None` if
    /// all jobs are applied to the target.
    pub device: Option<&'a str>,
    /// True if the target is the file that the jobs name.
    pub as_named: bool,
    /// True if the target is created with the size of the jobs.
    pub is_new: bool,
    /// Capacity of the target; `None` if unknown, and taken as larger than the size of the jobs.
    pub capacity: Option<Bytes>,
}

/// Options of a section by their canonical names; the last one of a repeated option.
pub(super) struct SectionOptions<'s> {
    section: &'s JobSection,
    by_name: BTreeMap<&'s str, &'s JobOption>,
    kb_base: u64,
    pub errors: Vec<ParseError>,
    pub remarks: Vec<SequenceRemark>,
}

impl<'s> SectionOptions<'s> {
    /// Returns the options of a section after checking the support for each.
    pub fn check(section: &'s JobSection) -> Self {
        let by_name: BTreeMap<&str, &JobOption> =
            section.options.iter().map(|option| (canonical(&option.name), option)).collect();
        let mut options = SectionOptions {
            section,
            by_name,
            kb_base: 1024,
            errors: Vec::new(),
            remarks: Vec::new(),
        };
        if let Some(base) = options.number("kb_base").filter(|base| [1000, 1024].contains(base)) {
            options.kb_base = base;
        }
        options.check_support();
        options
    }

    /// Adds an error or a remark for each option that is not applied as in fio.
    fn check_support(&mut self) {
        let all: Vec<(&str, &JobOption)> = self.by_name.iter().map(|(n, o)| (*n, *o)).collect();
        let has_external_engine = self.text("ioengine").is_some_and(is_external_engine);
        for (name, option) in all {
            let value = option.value.as_deref().map(str::trim);
            let off = matches!(value, Some("0" | "none"));
            if self.kb_base == 1024 && is_size(name) && value.is_some_and(has_binary_unit) {
                self.remark_at(
                    option.line,
                    name,
                    "KiB, MiB and GiB are 1,000, 1,000,000 and 1,000,000,000 bytes, as fio reads \
                     them; k, m and g are powers of 1,024, and kb_base=1000 exchanges them",
                );
            }
            match support(name) {
                Some(OptionSupport::Understood | OptionSupport::Idle) => {}
                Some(OptionSupport::OffOnly(_)) if off => {}
                // In a list of processors, 0 is a processor, not a switch that is off.
                Some(OptionSupport::Remarked(_)) if off && !PROCESSORS.contains(&name) => {}
                Some(OptionSupport::Remarked(why)) => self.remark_at(option.line, name, why),
                Some(OptionSupport::OffOnly(why) | OptionSupport::Refused(why)) => {
                    self.refuse(name, why)
                }
                None if has_external_engine && resembling(name).is_empty() => self.remark_at(
                    option.line,
                    name,
                    "assumed to be an option of the external engine, which is not used here",
                ),
                None => {
                    let hint = resembling(name);
                    self.refuse(name, &format!("this option is not known{hint}"));
                }
            }
        }
    }

    fn remark_at(&mut self, line: u64, name: &str, why: &str) {
        let section = excerpt(self.name());
        self.remarks.push(SequenceRemark::at(line, format!("[{section}] {name}: {why}")));
    }

    /// Adds a remark about the section.
    pub fn remark(&mut self, text: &str) {
        let line = self.section.line;
        let section = excerpt(self.name());
        self.remarks.push(SequenceRemark::at(line, format!("[{section}] {text}")));
    }

    /// Adds an error about an option, or about the section if it lacks the option.
    pub fn refuse(&mut self, name: &str, why: &str) {
        let line = self.by_name.get(name).map_or(self.section.line, |option| option.line);
        let value = self.by_name.get(name).and_then(|option| option.value.as_deref());
        let section = excerpt(self.name());
        let dashes = if line == 0 { "--" } else { "" };
        let shown = match value {
            None => format!("{dashes}{}", excerpt(name)),
            Some(value) => format!("{dashes}{}={}", excerpt(name), excerpt(value)),
        };
        self.errors.push(ParseError::at(line, format!("[{section}] {shown}: {why}")));
    }

    /// Returns the name of the section.
    pub fn name(&self) -> &'s str {
        &self.section.name
    }

    /// Returns the line number of the section.
    pub fn line(&self) -> u64 {
        self.section.line
    }

    /// Returns the position of an option in the section; the last one if it is repeated.
    pub fn position_of(&self, name: &str) -> Option<usize> {
        self.section.options.iter().rposition(|option| canonical(&option.name) == name)
    }

    /// Returns the value of an option, trimmed; empty for a name alone.
    pub fn text(&self, name: &str) -> Option<&'s str> {
        Some(self.by_name.get(name)?.value.as_deref().unwrap_or_default().trim().trim_matches('"'))
    }

    fn parsed<T>(
        &mut self,
        name: &str,
        what: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(name)?;
        let parsed = parse(text);
        if parsed.is_none() {
            self.refuse(name, &format!("this is not {what}"));
        }
        parsed
    }

    /// Parses a count, which may have a unit of bytes as in fio.
    pub fn number(&mut self, name: &str) -> Option<u64> {
        let base = self.kb_base;
        self.parsed(name, "a number", |text| bytes(text, base))
    }

    /// Parses a count of at least one. Trailing text that fio ignores gets a remark.
    pub fn count(&mut self, name: &str, most: u32) -> Option<u32> {
        let text = self.text(name)?;
        let end = text.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let count = self.bytes_in(number).and_then(|count| u32::try_from(count).ok());
        let count = count.filter(|count| (1..=most).contains(count) && !rest.starts_with('%'));
        match count {
            None => self.refuse(name, &format!("this is not a number from 1 to {most}")),
            Some(count) if !rest.is_empty() => self.remark_ignored(name, text, &count.to_string()),
            Some(_) => {}
        }
        count
    }

    /// Parses a percentage.
    pub fn percent(&mut self, name: &str) -> Option<u32> {
        let percent =
            |text: &str| text.trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100);
        self.parsed(name, "a percentage", percent)
    }

    /// Parses a switch; false if it is absent.
    pub fn flag(&mut self, name: &str) -> bool {
        let Some(option) = self.by_name.get(name) else { return false };
        match flag(option.value.as_deref()) {
            Some(on) => on,
            None => {
                self.refuse(name, "this is neither 0 nor 1");
                false
            }
        }
    }

    /// Parses bytes, or a percentage of the target.
    pub fn amount(&mut self, name: &str) -> Option<Amount> {
        let base = self.kb_base;
        self.parsed(name, "a size", |text| amount(text, base))
    }

    /// Parses a time. A number without a unit is in units of `unit_ns` nanoseconds.
    pub fn time(&mut self, name: &str, unit_ns: u64) -> Option<Nanos> {
        self.parsed(name, "a time", |text| time(text, unit_ns))
    }

    /// Parses bytes with the units of this section.
    pub fn bytes_in(&self, text: &str) -> Option<u64> {
        bytes(text, self.kb_base)
    }

    /// Parses the bytes at the beginning of a transfer size. Text after them, which fio ignores,
    /// gets a remark.
    pub fn leading_bytes_in(&mut self, name: &str, text: &str) -> Option<u64> {
        let (value, rest) = leading_bytes(text, self.kb_base)?;
        if !rest.is_empty() {
            self.remark_ignored(name, text, &format!("{value} bytes"));
        }
        Some(value)
    }

    /// Adds a remark on an option whose value fio reads only up to the end of a leading number.
    fn remark_ignored(&mut self, name: &str, text: &str, value: &str) {
        let line = self.by_name.get(name).map_or(self.section.line, |option| option.line);
        let text = excerpt(text.trim());
        let why = format!("fio reads '{text}' as {value} and ignores the rest; so do we");
        self.remark_at(line, name, &why);
    }
}

/// Options that name processors.
const PROCESSORS: [&str; 3] = ["cpumask", "cpus_allowed", "numa_cpu_nodes"];

/// Options whose value is an amount of bytes.
fn is_size(name: &str) -> bool {
    const SIZES: [&str; 10] = [
        "ba", "bs", "bsrange", "bssplit", "filesize", "io_size", "offset", "offset_increment",
        "rate", "size",
    ];
    SIZES.contains(&name)
}

fn has_binary_unit(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    ["kib", "mib", "gib", "tib", "pib"].iter().any(|unit| value.contains(unit))
}
