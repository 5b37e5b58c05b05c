//! How reports write numbers, names and windows.

use steadfast_domain::Verdict;
pub(crate) use steadfast_domain::text::number;

/// Decimals that values of a unit print with: a tenth of a microsecond, a tenth
/// of an IOPS or MB/s.
pub(crate) fn decimals(unit: &str) -> u8 {
    if unit == "ms" { 4 } else { 1 }
}

/// `rnd-4k-w`: a name as part of an id.
pub(crate) fn slug(name: &str) -> String {
    name.to_lowercase().replace([' ', '/', '.'], "-")
}

/// `65/35`: percent read / percent written.
pub(crate) fn mix_name(read_percent: u8) -> String {
    format!("{read_percent}/{}", 100 - read_percent)
}

/// Texts in their order, each once.
pub(crate) fn each_once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for text in texts {
        if !unique.contains(&text) {
            unique.push(text);
        }
    }
    unique
}

/// What the line of a verdict adds, in brackets.
pub(crate) fn reservation_text(verdict: &Verdict) -> String {
    verdict.reservation.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}

/// `rounds 2 to 6`, or `rounds 2, 4, 5` where rounds between them are left out.
pub(crate) fn rounds_text(rounds: &[u32]) -> String {
    let in_a_row = rounds.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match rounds {
        [] => "no round".to_owned(),
        [only] => format!("round {only}"),
        [first, .., last] if in_a_row => format!("rounds {first} to {last}"),
        some => {
            let names: Vec<String> = some.iter().map(u32::to_string).collect();
            format!("rounds {}", names.join(", "))
        }
    }
}

/// What stands where each part of a run has a value of its own.
pub(crate) fn own(text: String) -> String {
    if text.is_empty() { "each procedure's own".to_owned() } else { text }
}
