//! Facts about drive and platform that only the user knows and that reports print.

use crate::procedure_error::ProcedureError;
use steadfast_domain::text::excerpt;
use steadfast_domain::{Settings, suggestion};

pub(crate) const VENDOR: &str = "vendor";
pub(crate) const MODEL: &str = "model";
pub(crate) const SPONSOR: &str = "sponsor";
pub(crate) const NAND: &str = "nand";
pub(crate) const FORM_FACTOR: &str = "form-factor";
pub(crate) const PLATFORM: &str = "platform";
pub(crate) const MOTHERBOARD: &str = "motherboard";
pub(crate) const HBA: &str = "hba";
pub(crate) const TEST_ID: &str = "test-id";
pub(crate) const AMBIENT: &str = "ambient";
pub(crate) const NOTE: &str = "note";

/// All keys that reports print, as the user types them: `--meta KEY=VALUE`.
const META_KEYS: [&str; 11] =
    [VENDOR, MODEL, SPONSOR, NAND, FORM_FACTOR, PLATFORM, MOTHERBOARD, HBA, TEST_ID, AMBIENT, NOTE];

/// Returns the value that the user gave for a key; `None` without one.
pub(crate) fn user_fact(settings: &Settings, key: &str) -> Option<String> {
    settings.meta.get(key).cloned()
}

/// Checks that reports print this key.
///
/// # Errors
/// Returns [`ProcedureError`] if they do not; the message suggests the closest key.
///
/// ```
/// assert!(steadfast_procedures::check_meta("vendor").is_ok());
/// let error = steadfast_procedures::check_meta("vender").unwrap_err();
/// assert!(error.to_string().contains("did you mean 'vendor'"));
/// ```
pub fn check_meta(key: &str) -> Result<(), ProcedureError> {
    if META_KEYS.contains(&key) {
        return Ok(());
    }
    Err(ProcedureError(format!(
        "--meta: unknown key '{key}'{}; choose one of: {}",
        suggestion(key, META_KEYS),
        META_KEYS.join(", "),
        key = excerpt(key)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{build, record};

    #[test]
    fn the_form_has_a_place_for_every_key() {
        let mut settings = Settings::new("iops", 7);
        for key in META_KEYS {
            assert!(check_meta(key).is_ok());
            settings.meta.insert(key.to_owned(), format!("the {key} given"));
        }
        let header = build(&settings).study(&record(&settings, Vec::new())).header;
        let shown = format!("{header:?}");
        for key in META_KEYS {
            assert!(shown.contains(&format!("the {key} given")), "{key}: {shown}");
        }
    }
}
