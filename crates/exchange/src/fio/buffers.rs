//! The data of a job's writes: `buffer_pattern`, `buffer_compress_percentage`, `dedupe_percentage`,
//! `zero_buffers`, `refill_buffers`, `scramble_buffers`.

use super::options::SectionOptions;
use steadfast_domain::stimulus::DataPattern;

pub(super) fn data_pattern(options: &mut SectionOptions<'_>) -> DataPattern {
    if options.flag("zero_buffers") {
        return DataPattern::Zero;
    }
    let zeros = options.percent("buffer_compress_percentage");
    let duplicates = options.percent("dedupe_percentage");
    if let Some(text) = options.text("buffer_pattern") {
        if zeros.is_some_and(|percent| percent > 0) {
            options.refuse("buffer_pattern", "a pattern that is partly random is not supported");
        }
        return match repeated_bytes(text) {
            Some(bytes) => DataPattern::Repeating(bytes),
            None => {
                options.refuse("buffer_pattern", "only numbers, 0x... and \"text\" are supported");
                DataPattern::default()
            }
        };
    }
    if zeros.is_some() || duplicates.is_some() {
        let percent = |value: Option<u32>| u8::try_from(value.unwrap_or(0)).unwrap_or(100);
        let (zeros, duplicate_percent) = (percent(zeros), percent(duplicates));
        let random_percent = 100 - zeros.min(100);
        return match (random_percent, duplicate_percent) {
            (100, 0) => DataPattern::RandomUnique,
            _ => DataPattern::Entropy { random_percent, duplicate_percent },
        };
    }
    let refills = options.flag("refill_buffers");
    let scrambles = options.text("scramble_buffers").is_none() || options.flag("scramble_buffers");
    if refills || scrambles { DataPattern::RandomUnique } else { DataPattern::RandomOnce }
}

/// Returns the bytes of `0xdeadbeef`, `"text"` or a number.
fn repeated_bytes(text: &str) -> Option<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("0x") {
        let even = if hex.len() % 2 == 0 { hex.to_owned() } else { format!("0{hex}") };
        if even.is_empty() || even.len() > 1024 || !even.is_ascii() {
            return None;
        }
        return (0..even.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&even[at..at + 2], 16).ok())
            .collect();
    }
    if let Ok(number) = text.parse::<u32>() {
        // The lowest byte comes first.
        let bytes = number.to_le_bytes();
        let last = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        return Some(bytes[..=last].to_vec());
    }
    let is_plain = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    let odd = ['%', '\'', '"', '\\'];
    (is_plain && !text.is_empty() && text.len() <= 512 && !text.contains(odd))
        .then(|| text.as_bytes().to_vec())
}
