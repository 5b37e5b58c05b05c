//! Origin of the value of a setting: the user, the profile, or a default.
//!
//! Settings that profile and class decide are `None` unless the user gave the option. Other
//! settings always hold a value; for those, the command line that started the run shows whether
//! the user gave the option.

use steadfast_domain::Settings;
use steadfast_domain::findings::Origin;

/// Returns `Chosen` if the user gave the option, else `Profile`.
pub(crate) fn given(is_given: bool) -> Origin {
    if is_given { Origin::Chosen } else { Origin::Profile }
}

/// Returns `Chosen` if the command line contains `option` or the value is not the default, else
/// `Default`.
pub(crate) fn said(settings: &Settings, option: &str, is_default: bool) -> Origin {
    let is_it = |word: &str| {
        word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    if !is_default || settings.command.split_whitespace().any(is_it) {
        Origin::Chosen
    } else {
        Origin::Default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_said_is_chosen_also_where_it_is_the_default() {
        let mut settings = Settings::new("iops", 1);
        settings.command = "steadfast run iops --class enterprise --seed=7 --verify-not".into();
        let of = |option: &str, is_default: bool| said(&settings, option, is_default);
        assert_eq!(of("--class", true), Origin::Chosen);
        assert_eq!(of("--seed", true), Origin::Chosen);
        assert_eq!(of("--verify", true), Origin::Default, "another option begins like it");
        assert_eq!(of("--profile", false), Origin::Chosen, "not the default's value");
        assert_eq!(said(&Settings::new("iops", 1), "--class", true), Origin::Default);
    }
}
