//! Facts about drive and platform that only the user knows and that reports print.

use crate::procedure_error::ProcedureError;
use steadfast_domain::text::excerpt;
use steadfast_domain::{Settings, suggestion};

/// A fact that only the user knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserFact {
    Vendor,
    Model,
    Sponsor,
    Nand,
    FormFactor,
    Platform,
    Motherboard,
    Hba,
    TestId,
    Ambient,
    Note,
}

impl UserFact {
    /// Returns the key that the user types: `--meta KEY=VALUE`.
    const fn key(self) -> &'static str {
        match self {
            UserFact::Vendor => "vendor",
            UserFact::Model => "model",
            UserFact::Sponsor => "sponsor",
            UserFact::Nand => "nand",
            UserFact::FormFactor => "form-factor",
            UserFact::Platform => "platform",
            UserFact::Motherboard => "motherboard",
            UserFact::Hba => "hba",
            UserFact::TestId => "test-id",
            UserFact::Ambient => "ambient",
            UserFact::Note => "note",
        }
    }
    /// Returns the value that the user gave, or `None`.
    pub(crate) fn value(self, settings: &Settings) -> Option<String> {
        settings.meta.get(self.key()).cloned()
    }
}

/// All keys that reports print.
const META_KEYS: [&str; 11] = [
    UserFact::Vendor.key(),
    UserFact::Model.key(),
    UserFact::Sponsor.key(),
    UserFact::Nand.key(),
    UserFact::FormFactor.key(),
    UserFact::Platform.key(),
    UserFact::Motherboard.key(),
    UserFact::Hba.key(),
    UserFact::TestId.key(),
    UserFact::Ambient.key(),
    UserFact::Note.key(),
];

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
    fn a_key_that_no_report_shows_is_refused_with_the_one_that_was_meant() {
        assert!(META_KEYS.iter().all(|key| check_meta(key).is_ok()));
        let why = check_meta("vender").unwrap_err().0;
        assert!(why.contains("did you mean 'vendor'"), "{why}");
        assert!(check_meta("").is_err());
    }

    #[test]
    fn the_form_has_a_place_for_every_key() {
        let mut settings = Settings::new("iops", 7);
        for key in META_KEYS {
            settings.meta.insert(key.to_owned(), format!("the {key} told"));
        }
        let header = build(&settings).study(&record(&settings, Vec::new())).header;
        let shown = format!("{header:?}");
        for key in META_KEYS {
            assert!(shown.contains(&format!("the {key} told")), "{key}: {shown}");
        }
    }
}
