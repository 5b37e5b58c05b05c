//! Notation of numbers, names and windows in reports.

pub(crate) use steadfast_domain::text::number;
use steadfast_domain::{Criteria, Verdict};

/// Returns the number of decimals that values of a unit print with: 4 for milliseconds (a tenth
/// of a microsecond), 1 for other units.
pub(crate) fn decimals(unit: &str) -> u8 {
    if unit == "ms" { 4 } else { 1 }
}

/// Converts a name to a part of an id, such as `rnd-4k-w`.
pub(crate) fn slug(name: &str) -> String {
    name.to_lowercase().replace([' ', '/', '.'], "-")
}

/// Returns the word with its first letter, an ASCII one, in upper case.
pub(crate) fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_uppercase() + rest
}

/// Returns a mix as percent read / percent written, such as `65/35`.
pub(crate) fn mix_name(read_percent: u8) -> String {
    format!("{read_percent}/{}", 100 - read_percent)
}

/// Returns the values in words: `5, 10, 15`.
pub(crate) fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
}

/// Removes repeated values and keeps the order of the first occurrences.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

/// Returns the reservation of a verdict in parentheses with a leading space; empty if there is
/// none.
pub(crate) fn reservation_text(verdict: &Verdict) -> String {
    verdict.reservation.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}

/// Returns the limits of a steady window in percent of the average, data before slope: `20/10`.
pub(crate) fn limits_text(criteria: &Criteria) -> String {
    let (data, slope) = (criteria.data_excursion * 100.0, criteria.slope_excursion * 100.0);
    format!("{data:.0}/{slope:.0}")
}

/// Returns a count in words up to ten, in digits above.
pub(crate) fn count_word(count: u32) -> String {
    const WORDS: [&str; 11] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    WORDS.get(count as usize).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// Returns `rounds 2 to 6` for consecutive rounds, else `rounds 2, 4, 5`.
pub(crate) fn rounds_text(rounds: &[u32]) -> String {
    let in_a_row = rounds.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match rounds {
        [] => "no round".to_owned(),
        [only] => format!("round {only}"),
        [first, .., last] if in_a_row => format!("rounds {first} to {last}"),
        some => format!("rounds {}", joined(some)),
    }
}

/// Returns the window of a verdict, such as `rounds 2 to 6`; `None` if it is not steady.
pub(crate) fn steady_rounds(verdict: &Verdict) -> Option<String> {
    let (first, last) = verdict.window.filter(|_| verdict.steady)?;
    Some(format!("rounds {first} to {last}"))
}

/// Value of a setting for which the parts of a run have no common value.
pub(crate) const PART_SPECIFIC: &str = "each procedure's own";

/// Returns the text, or [`PART_SPECIFIC`] if it is empty.
pub(crate) fn or_part_specific(text: String) -> String {
    if text.is_empty() { PART_SPECIFIC.to_owned() } else { text }
}
