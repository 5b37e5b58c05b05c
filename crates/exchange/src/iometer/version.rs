//! Versions of Iometer and the differences between their files.

use std::fmt;

/// A version as stated in a file.
///
/// A first number above 1900 is a year: `2006.07.27`. Any other version is newer than every date:
/// `1.1.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IometerVersion {
    text: String,
    numbers: [u32; 3],
}

/// Generations with different files and data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Up to 2006.07.27.
    Y2006,
    /// Builds since 2008 whose version is a date.
    Y2008,
    /// 1.1.0: named data patterns, fixed seeds, decimal and binary rates, latency bins.
    V1_1,
}

/// First version with named access specifications.
const NAMED_SPECS: u64 = 19_980_521;
/// The first version that Iometer itself still reads.
const OLDEST: u64 = 19_980_105;

impl IometerVersion {
    /// Returns the version for files that follow no other file.
    pub fn of_2006() -> Self {
        IometerVersion { text: "2006.07.27".into(), numbers: [2006, 7, 27] }
    }
    /// Returns the last version, 1.1.0.
    pub fn of_1_1() -> Self {
        IometerVersion { text: "1.1.0".into(), numbers: [1, 1, 0] }
    }
    /// Parses three numbers; a suffix (`-rc1`) is kept. Returns `None` for any other text.
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
        (!text.contains(char::is_whitespace))
            .then(|| IometerVersion { text: text.to_owned(), numbers })
    }
    /// Returns the date as yyyymmdd, or `None` if the version is not a date.
    fn date(&self) -> Option<u64> {
        let [major, middle, minor] = self.numbers.map(u64::from);
        // The OLTP file shipped with 1998.01.05 has this version.
        if [major, middle, minor] == [3, 26, 97] {
            return Some(OLDEST);
        }
        (major > 1900).then(|| major * 10_000 + middle * 100 + minor)
    }
    /// Returns the generation.
    pub fn dialect(&self) -> Dialect {
        match self.date() {
            None => Dialect::V1_1,
            Some(date) if date >= 20_070_000 => Dialect::Y2008,
            Some(_) => Dialect::Y2006,
        }
    }
    /// Returns true if access specifications have names and one row per line.
    pub fn has_named_specs(&self) -> bool {
        self.date().is_none_or(|date| date >= NAMED_SPECS)
    }
    /// Returns true if Iometer had files of this form.
    pub fn is_known(&self) -> bool {
        self.date().is_none_or(|date| date >= OLDEST)
    }
}

impl fmt::Display for IometerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_makes_a_date_and_everything_else_is_newer() {
        let dialect = |text: &str| IometerVersion::parse(text).map(|v| v.dialect());
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
        let version = |text| IometerVersion::parse(text).unwrap();
        assert!(!version("1998.05.20").has_named_specs());
        assert!(version("1998.05.21").has_named_specs());
        assert!(!version("1998.01.04").is_known());
        assert!(version("3.26.97").is_known() && !version("3.26.97").has_named_specs());
    }
}
