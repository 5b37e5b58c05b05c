//! Values of Iometer's files as text: one implementation of [`ValueText`] per type reads and writes it.

use super::config::{
    AccessLine, Assignment, Cycling, DepthCycling, DiskArea, FixedSeed, GrowthKind, LineNumber,
    ManagerName, OutstandingIos, RecordedRows, RunTime, TestType, WorkerCount, WorkerKind,
};
use steadfast_domain::text::excerpt;

/// A value, or a part of one between commas or blanks.
pub(super) trait ValueText: Sized {
    /// Parses the text. `name` describes the part in errors.
    fn parse(text: &str, name: &str) -> Result<Self, String>;
    /// Returns the text that is parsed to this value.
    fn text(&self) -> String;
}

impl ValueText for String {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
    fn text(&self) -> String {
        self.clone()
    }
}

impl ValueText for bool {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        match text.to_ascii_uppercase().as_str() {
            "ENABLED" => Ok(true),
            "DISABLED" => Ok(false),
            _ => Err(format!("'{}' is neither ENABLED nor DISABLED", excerpt(text))),
        }
    }
    fn text(&self) -> String {
        if *self { "ENABLED" } else { "DISABLED" }.to_owned()
    }
}

macro_rules! numbers {
    ($($number:ty),+) => { $(impl ValueText for $number {
        fn parse(text: &str, name: &str) -> Result<Self, String> {
            let number = text.parse::<u64>().ok().and_then(|number| number.try_into().ok());
            number.ok_or_else(|| format!("{name} is not a whole number in its range"))
        }
        fn text(&self) -> String {
            self.to_string()
        }
    })+ };
}

numbers!(u8, u32, u64);

macro_rules! words {
    ($($word:ty),+) => { $(impl ValueText for $word {
        fn parse(text: &str, _: &str) -> Result<Self, String> {
            <$word>::parse(text).ok_or_else(|| {
                let words: Vec<&str> = Self::ALL.iter().map(|word| word.token()).collect();
                format!("unknown; use one of {}", words.join(", "))
            })
        }
        fn text(&self) -> String {
            self.token().to_owned()
        }
    })+ };
}

words!(Assignment, RecordedRows, GrowthKind, TestType);

/// `1,NAME`.
impl ValueText for ManagerName {
    fn parse(text: &str, name: &str) -> Result<Self, String> {
        let (number, rest) = text.split_once(',').ok_or_else(|| format!("{name} has no name"))?;
        Ok(ManagerName { id: ValueText::parse(number.trim(), name)?, name: rest.trim().to_owned() })
    }
    fn text(&self) -> String {
        format!("{},{}", self.id, self.name)
    }
}

impl ValueText for WorkerCount {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("NUMBER_OF_CPUS") {
            return Ok(WorkerCount::Processors);
        }
        ValueText::parse(text, "the number of workers").map(WorkerCount::Count)
    }
    fn text(&self) -> String {
        match self {
            WorkerCount::Processors => "NUMBER_OF_CPUS".to_owned(),
            WorkerCount::Count(count) => count.to_string(),
        }
    }
}

impl ValueText for WorkerKind {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        match between_commas(&text.to_ascii_uppercase()).as_slice() {
            ["DISK"] => Ok(WorkerKind::Disk),
            ["NETWORK", protocol @ ("TCP" | "VI")] => {
                Ok(WorkerKind::Network((*protocol).to_owned()))
            }
            _ => Err("the type is DISK, NETWORK,TCP or NETWORK,VI".to_owned()),
        }
    }
    fn text(&self) -> String {
        match self {
            WorkerKind::Disk => "DISK".to_owned(),
            WorkerKind::Network(protocol) => format!("NETWORK,{protocol}"),
        }
    }
}

/// Splits a value at commas; a comma at its end is ignored.
pub(super) fn between_commas(text: &str) -> Vec<&str> {
    text.strip_suffix(',').unwrap_or(text).split(',').map(str::trim).collect()
}

/// Splits a value at blanks and commas.
pub(super) fn between_blanks(text: &str) -> Vec<&str> {
    let is_blank = |c: char| c.is_whitespace() || c == ',';
    text.split(is_blank).filter(|word| !word.is_empty()).collect()
}

impl ValueText for RunTime {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        let [hours, minutes, seconds] = between_blanks(text)[..] else {
            return Err("a run time is three numbers: hours, minutes, seconds".to_owned());
        };
        Ok(RunTime {
            hours: ValueText::parse(hours, "hours")?,
            minutes: ValueText::parse(minutes, "minutes")?,
            seconds: ValueText::parse(seconds, "seconds")?,
        })
    }
    fn text(&self) -> String {
        format!("{} {} {}", self.hours, self.minutes, self.seconds)
    }
}

impl Cycling {
    fn from_words(start: &str, step: &str, kind: &str) -> Result<Self, String> {
        let kind = ValueText::parse(kind, "the step type")?;
        let (start, step) =
            (ValueText::parse(start, "the start")?, ValueText::parse(step, "the step")?);
        if start == 0 || step == 0 {
            return Err("start and step are at least 1".to_owned());
        }
        Ok(Cycling { start, step, kind })
    }
}

impl ValueText for Cycling {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        let [start, step, kind] = between_blanks(text)[..] else {
            return Err("a cycling is three values: start, step, step type".to_owned());
        };
        Cycling::from_words(start, step, kind)
    }
    fn text(&self) -> String {
        format!("{} {} {}", self.start, self.step, self.kind)
    }
}

impl ValueText for DepthCycling {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        let [start, end, step, kind] = between_blanks(text)[..] else {
            let message = "a queue depth cycling is four values: start, end, step, step type";
            return Err(message.to_owned());
        };
        let cycling = Cycling::from_words(start, step, kind)?;
        Ok(DepthCycling { cycling, end: ValueText::parse(end, "the end")? })
    }
    fn text(&self) -> String {
        let Cycling { start, step, kind } = self.cycling;
        format!("{start} {} {step} {kind}", self.end)
    }
}

/// Values of a line that is split at commas, taken one by one.
struct CommaColumns<'a>(std::vec::IntoIter<&'a str>);

impl<'a> CommaColumns<'a> {
    fn new(text: &'a str) -> Self {
        CommaColumns(between_commas(text).into_iter())
    }
    fn next<P: ValueText>(&mut self, name: &str) -> Result<P, String> {
        P::parse(self.0.next().unwrap_or_default(), name)
    }
    fn is_empty(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

impl ValueText for OutstandingIos {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        let mut columns = CommaColumns::new(text);
        let mut outstanding = OutstandingIos {
            ios: columns.next("the number of outstanding I/Os")?,
            connection_rate: columns.next("the test connection rate")?,
            transactions: columns.next("transactions per connection")?,
            fixed_seed: None,
        };
        if !columns.is_empty() {
            let used = columns.next("the use of a fixed seed")?;
            let value = columns.next("the fixed seed value")?;
            outstanding.fixed_seed = Some(FixedSeed { used, value });
        }
        if outstanding.ios == 0 {
            return Err("at least one I/O is outstanding".to_owned());
        }
        Ok(outstanding)
    }
    fn text(&self) -> String {
        let seed = self.fixed_seed.map(|seed| format!(",{},{}", seed.used.text(), seed.value));
        let (ios, rate, transactions) = (self.ios, self.connection_rate.text(), self.transactions);
        format!("{ios},{rate},{transactions}{}", seed.unwrap_or_default())
    }
}

impl ValueText for DiskArea {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        let mut columns = CommaColumns::new(text);
        let mut area = DiskArea {
            sectors: columns.next("the maximum size")?,
            start: columns.next("the starting sector")?,
            pattern: None,
        };
        if !columns.is_empty() {
            let pattern: u8 = columns.next("the data pattern")?;
            if pattern > 2 {
                let message = "data patterns are 0 (repeating bytes), 1 (pseudo-random) and 2 \
                    (full random)";
                return Err(message.to_owned());
            }
            area.pattern = Some(pattern);
        }
        Ok(area)
    }
    fn text(&self) -> String {
        let pattern = self.pattern.map(|pattern| format!(",{pattern}"));
        format!("{},{}{}", self.sectors, self.start, pattern.unwrap_or_default())
    }
}

/// A row of an access specification. Old versions lack the last two columns.
impl ValueText for AccessLine {
    fn parse(text: &str, _: &str) -> Result<Self, String> {
        let mut columns = CommaColumns::new(text);
        let count = columns.0.len();
        if count < 6 {
            let message = "a row of an access specification has 8 numbers: size, % of size, \
                           % reads, % random, delay, burst, align, reply";
            return Err(message.to_owned());
        }
        if count > 8 {
            return Err("a row of an access specification has 8 numbers, not more".to_owned());
        }
        let line = AccessLine {
            size: columns.next("the size")?,
            of_size: columns.next("% of size")?,
            reads: columns.next("% reads")?,
            random: columns.next("% random")?,
            delay_ms: columns.next("the delay")?,
            burst: columns.next("the burst")?,
            align: if columns.is_empty() { 0 } else { columns.next("align")? },
            reply: if columns.is_empty() { 0 } else { columns.next("reply")? },
            line: LineNumber(0),
        };
        let shares =
            [("% of size", line.of_size), ("% reads", line.reads), ("% random", line.random)];
        match shares.iter().find(|(_, percent)| *percent > 100) {
            Some((name, _)) => Err(format!("{name} is more than 100")),
            None => Ok(line),
        }
    }
    fn text(&self) -> String {
        let AccessLine { size, of_size, reads, random, delay_ms, burst, align, reply, .. } = self;
        format!("{size},{of_size},{reads},{random},{delay_ms},{burst},{align},{reply}")
    }
}
