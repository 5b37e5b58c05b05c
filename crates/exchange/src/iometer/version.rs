//! Versions of Iometer, and what differs between their files.

use std::fmt;

/// A version as a file states it.
///
/// A first number above 1900 is a year: `2006.07.27`. Anything else is newer than
/// every date: `1.1.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    text: String,
    numbers: [u32; 3],
}

/// The generations whose files and data differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Up to 2006.07.27.
    Y2006,
    /// The builds of 2008 and later that have a date for a version.
    Y2008,
    /// 1.1.0: named data patterns, fixed seeds, decimal and binary rates, latency bins.
    V1_1,
}

/// The first version with access specifications by name.
const NAMED_SPECS: u64 = 19_980_521;
/// The first version that Iometer itself still reads.
const OLDEST: u64 = 19_980_105;

impl Version {
    /// The version with which files are written that follow no other file.
    pub fn of_2006() -> Self {
        Version { text: "2006.07.27".into(), numbers: [2006, 7, 27] }
    }
    /// The last version.
    pub fn of_1_1() -> Self {
        Version { text: "1.1.0".into(), numbers: [1, 1, 0] }
    }
    /// The version in a text: three numbers; what follows them (`-rc1`) is kept.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let mut rest = text;
        let mut numbers = [0; 3];
        for (place, number) in numbers.iter_mut().enumerate() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            *number = rest[..end].parse().ok()?;
            rest = &rest[end..];
            if place < 2 {
                rest = rest.strip_prefix(['.', '-'])?;
            }
        }
        (!text.contains(char::is_whitespace)).then(|| Version { text: text.to_owned(), numbers })
    }
    /// Its place among the dates, as yyyymmdd; `None` for a version that is no date.
    fn date(&self) -> Option<u64> {
        let [major, middle, minor] = self.numbers.map(u64::from);
        // The OLTP file that came with 1998.01.05 says this of itself.
        if [major, middle, minor] == [3, 26, 97] {
            return Some(OLDEST);
        }
        (major > 1900).then(|| major * 10_000 + middle * 100 + minor)
    }
    /// The generation.
    pub fn dialect(&self) -> Dialect {
        match self.date() {
            None => Dialect::V1_1,
            Some(date) if date >= 20_070_000 => Dialect::Y2008,
            Some(_) => Dialect::Y2006,
        }
    }
    /// Whether access specifications have names and one row a line.
    pub fn has_named_specs(&self) -> bool {
        self.date().is_none_or(|date| date >= NAMED_SPECS)
    }
    /// Whether Iometer had files of this form at all.
    pub fn is_known(&self) -> bool {
        self.date().is_none_or(|date| date >= OLDEST)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_makes_a_date_and_everything_else_is_newer() {
        let dialect = |text: &str| Version::parse(text).map(|v| v.dialect());
        assert_eq!(dialect("2006.07.27"), Some(Dialect::Y2006));
        assert_eq!(dialect("2003.12.16-post"), Some(Dialect::Y2006));
        assert_eq!(dialect("2008-06-22-rc1"), Some(Dialect::Y2008));
        assert_eq!(dialect("1.1.0"), Some(Dialect::V1_1));
        assert_eq!(dialect("1.1.0-rc1"), Some(Dialect::V1_1));
        assert_eq!(dialect("3.26.97"), Some(Dialect::Y2006));
        for text in ["", "1.1", "a.b.c", "2006", "2006.07.", "99999999999.1.1", "1.1.0 x"] {
            assert_eq!(dialect(text), None, "{text}");
        }
    }

    #[test]
    fn old_forms_are_known_by_their_dates() {
        let version = |text| Version::parse(text).unwrap();
        assert!(!version("1998.05.20").has_named_specs());
        assert!(version("1998.05.21").has_named_specs());
        assert!(!version("1998.01.04").is_known());
        assert!(version("3.26.97").is_known() && !version("3.26.97").has_named_specs());
    }
}
