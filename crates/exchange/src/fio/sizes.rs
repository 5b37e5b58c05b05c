//! Numbers as fio writes them: bytes, times, percentages, values by direction.

use steadfast_domain::sequence::Amount;
use steadfast_domain::{Bytes, Nanos};

/// Bytes, with fio's units: k, m, g, t, p, with or without `b`, and the binary ki, mi, ...
/// With `kb_base` 1024 (its default) k is 1,024, too; with 1000 it is 1,000.
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
    let bare = unit.strip_suffix('b').unwrap_or(unit);
    let (letter, base) = match bare.strip_suffix('i') {
        Some(letter) => (letter, 1024),
        None => (bare, kb_base),
    };
    let power = match letter {
        "" if base == kb_base => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    Some((power, base))
}

/// Bytes, or a percentage of the target.
pub(super) fn amount(text: &str, kb_base: u64) -> Option<Amount> {
    match text.trim().strip_suffix('%') {
        None => bytes(text, kb_base).map(|bytes| Amount::Bytes(Bytes(bytes))),
        Some(percent) => {
            let percent: u32 = percent.trim().parse().ok().filter(|percent| *percent <= 100)?;
            Some(Amount::Ppm(percent * 10_000))
        }
    }
}

/// A time: a number with us, ms, s, m, h or d, or `[hours:]minutes:seconds`; without a
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

/// A switch: a name alone is on.
pub(super) fn flag(value: Option<&str>) -> Option<bool> {
    match value.map(str::trim) {
        None | Some("") | Some("1") => Some(true),
        Some("0") => Some(false),
        Some(_) => None,
    }
}

/// Values of reads and writes: `4k` for both, or `4k,8k`; what stands for trims comes
/// third. A missing one is that before it.
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
