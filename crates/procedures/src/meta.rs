//! What only the user knows of drive and platform, and a report has a place for.

use crate::Unsuitable;
use steadfast_domain::suggestion;

/// The keys that a report has a place for.
pub const META_KEYS: [&str; 10] = [
    "vendor",
    "model",
    "sponsor",
    "nand",
    "form-factor",
    "platform",
    "motherboard",
    "hba",
    "test-id",
    "note",
];

/// Refuses a key that no report would show.
///
/// # Errors
/// With the key that was probably meant.
pub fn check_meta(key: &str) -> Result<(), Unsuitable> {
    if META_KEYS.contains(&key) {
        return Ok(());
    }
    Err(Unsuitable(format!(
        "--meta: unknown key '{key}'{}; choose one of: {}",
        suggestion(key, META_KEYS),
        META_KEYS.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_no_report_shows_is_refused_with_the_one_that_was_meant() {
        assert!(META_KEYS.iter().all(|key| check_meta(key).is_ok()));
        let why = check_meta("vender").unwrap_err().0;
        assert!(why.contains("did you mean 'vendor'"), "{why}");
        assert!(check_meta("").is_err());
    }

    /// Every key that the disclosure asks for can be given, and no other.
    #[test]
    fn the_keys_are_those_of_the_disclosure() {
        let asked = include_str!("pts/disclosure.rs");
        for key in META_KEYS {
            let quoted = [format!("meta(\"{key}\")"), format!("meta.get(\"{key}\")")];
            assert!(quoted.iter().any(|text| asked.contains(text)), "{key}");
        }
        let all = asked.split("meta(\"").skip(1).filter_map(|rest| rest.split('"').next());
        for key in all {
            assert!(META_KEYS.contains(&key), "{key}");
        }
    }
}
