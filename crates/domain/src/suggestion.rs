//! Suggestions for misspelled names.

use crate::text::excerpt;
use strsim::osa_distance;

/// Maximum length of a compared name in characters: the cost grows with its square.
const COMPARED_MAX: usize = 64;

/// Returns the name closest to `given`, or `None` if none is close. Names of more than 64
/// characters are never close.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.chars().nth(COMPARED_MAX).is_some() {
        return None;
    }
    let given = given.to_lowercase();
    let distance_max = (given.chars().count() / 3).max(1);
    names
        .into_iter()
        .filter(|name| name.chars().nth(COMPARED_MAX).is_none())
        .map(|name| (osa_distance(&given, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= distance_max)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns ` (did you mean 'iops'?)`, or an empty text if no name is close.
pub fn suggestion<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, names).map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"))
}

/// Error for a name that is not among the valid ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown {kind} '{}'{}; choose one of: {choices}",
    excerpt(given),
    suggestion(given, choices.split(", "))
)]
pub struct UnknownName {
    /// Kind of thing named, such as `profile`.
    pub kind: &'static str,
    /// Name that was given.
    pub given: String,
    /// Valid names, separated by `, `.
    pub choices: &'static str,
}

/// Implements `Display` and `FromStr` of a type by the names of its values.
macro_rules! choice_names {
    ($type:ty, $kind:literal, $choices:literal, $($name:literal => $value:path),+) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($value => $name),+ })
            }
        }
        impl std::str::FromStr for $type {
            type Err = $crate::suggestion::UnknownName;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($name => Ok($value),)+
                    _ => Err($crate::suggestion::UnknownName {
                        kind: $kind,
                        given: text.to_owned(),
                        choices: $choices,
                    }),
                }
            }
        }
    };
}

pub(crate) use choice_names;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_suggested() {
        let names = ["iops", "throughput", "latency", "xsr"];
        for (given, wanted) in [
            ("iosp", Some("iops")),
            ("IOPS", Some("iops")),
            ("troughput", Some("throughput")),
            ("latencies", Some("latency")),
            ("xs", Some("xsr")),
            ("tea", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, names), wanted, "{given}");
        }
        let long = "iops".repeat(1 << 20);
        assert_eq!(nearest(&long, names), None);
        assert_eq!(nearest(&long[..64], [&long[..64], &long]), Some(&long[..64]));
        assert_eq!(suggestion("iosp", names), " (did you mean 'iops'?)");
        assert_eq!(suggestion("tea", names), "");
    }
}
