//! Numbers as fio writes them: bytes, times, percentages, values by direction.

use steadfast_domain::sequence::Amount;
use steadfast_domain::{Bytes, Nanos};

/// Parses bytes with fio's units. `k`, `kb` and `ki` are `kb_base` bytes. `kib` is the other
/// one: 1,000 with `kb_base` 1024 (the default), 1,024 with 1000.
pub(super) fn bytes(text: &str, kb_base: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    let (power, base) = power(unit.trim(), kb_base)?;
    number.checked_mul(base.checked_pow(power)?)
}

fn power(unit: &str, kb_base: u64) -> Option<(u32, u64)> {
    let other_base = if kb_base == 1000 { 1024 } else { 1000 };
    let (letter, base) = match (unit.strip_suffix("ib"), unit.strip_suffix(['b', 'i'])) {
        (Some(letter), _) => (letter, other_base),
        (None, Some(letter)) => (letter, kb_base),
        (None, None) => (unit, kb_base),
    };
    let power = match letter {
        "" if matches!(unit, "" | "b") => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    Some((power, base))
}

/// Parses the bytes at the beginning of a text, and returns what fio ignores behind them.
pub(super) fn leading_bytes(text: &str, kb_base: u64) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let is_junk = rest.starts_with(['/', ':', '-']) || rest.is_empty();
    Some((bytes(number, kb_base).filter(|_| is_junk)?, rest))
}

/// Parses bytes, or a percentage of the target: `50%`, or `50%%` where a template doubled it.
pub(super) fn amount(text: &str, kb_base: u64) -> Option<Amount> {
    let text = text.trim();
    let number = text.trim_end_matches('%');
    if number == text {
        return bytes(text, kb_base).map(|bytes| Amount::Bytes(Bytes(bytes)));
    }
    let percent: u32 = number.trim().parse().ok().filter(|percent| *percent <= PERCENT_MAX)?;
    Some(Amount::Ppm(percent * 10_000))
}

const PERCENT_MAX: u32 = 10_000;

/// Parses a time: a number with us, ms, s, m, h or d, or `[hours:]minutes:seconds`; without a
/// unit in `preset` nanoseconds.
pub(super) fn time(text: &str, preset: u64) -> Option<Nanos> {
    let text = text.trim().to_ascii_lowercase();
    if text.contains(':') {
        let mut seconds = 0u64;
        for part in text.split(':') {
            seconds = seconds.checked_mul(60)?.checked_add(part.trim().parse().ok()?)?;
        }
        return seconds.checked_mul(1_000_000_000).map(Nanos);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at_checked(digits)?;
    let unit = match unit.trim() {
        "" => preset,
        "ns" | "nsec" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" | "hour" => 3_600_000_000_000,
        "d" | "day" => 86_400_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit).map(Nanos)
}

/// Parses a switch: a name alone is on.
pub(super) fn flag(value: Option<&str>) -> Option<bool> {
    match value.map(str::trim) {
        None | Some("") | Some("1") => Some(true),
        Some("0") => Some(false),
        Some(_) => None,
    }
}

/// Splits values for reads, writes and discards: `4k` for all, `4k,8k`, or three. A missing value is
/// the one before it.
pub(super) fn by_direction(text: &str) -> [&str; 3] {
    let mut parts = text.split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let second = parts.next().unwrap_or(first);
    [first, second, parts.next().unwrap_or(second)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_units_of_the_base() {
        let cases = [
            ("4k", 1024, Some(4096)),
            ("4K", 1000, Some(4000)),
            ("4KiB", 1000, Some(4096)),
            ("4KiB", 1024, Some(4000)),
            ("4Ki", 1024, Some(4096)),
            ("4ki", 1000, Some(4000)),
            ("4kb", 1024, Some(4096)),
            ("1m", 1024, Some(1 << 20)),
            ("10", 1024, Some(10)),
            ("10b", 1024, Some(10)),
            ("0x200", 1024, Some(512)),
            ("4x", 1024, None),
            ("k", 1024, None),
            ("", 1024, None),
            ("99999999p", 1024, None),
        ];
        for (text, base, expected) in cases {
            assert_eq!(bytes(text, base), expected, "{text} {base}");
        }
    }

    #[test]
    fn times_have_units_or_the_one_that_the_option_has() {
        let second = 1_000_000_000;
        let cases = [
            ("30", Some(30 * second)),
            ("30s", Some(30 * second)),
            ("2m", Some(120 * second)),
            ("1:30", Some(90 * second)),
            ("1:00:01", Some(3601 * second)),
            ("500ms", Some(second / 2)),
            ("30x", None),
            (":", None),
        ];
        for (text, expected) in cases {
            assert_eq!(time(text, second), expected.map(Nanos), "{text}");
        }
    }

    #[test]
    fn a_direction_without_a_value_has_that_before_it() {
        assert_eq!(by_direction("4k"), ["4k"; 3]);
        assert_eq!(by_direction("4k,8k"), ["4k", "8k", "8k"]);
        assert_eq!(by_direction("10m,"), ["10m", "", ""]);
    }
}
