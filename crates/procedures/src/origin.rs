//! Where the value of a setting comes from.
//!
//! A run's settings hold an option that was not given as absent where profile and class
//! decide; others hold the value either way. For those the command line that began the run
//! tells whether the user said it.

use steadfast_domain::Settings;
use steadfast_domain::findings::Origin;

/// The user's where it was given, else that of profile and class.
pub(crate) fn given(is_given: bool) -> Origin {
    if is_given { Origin::Chosen } else { Origin::Profile }
}

/// The user's where `option` was said or the value is none that the program takes by
/// itself.
pub(crate) fn said(settings: &Settings, option: &str, is_default: bool) -> Origin {
    let is_it = |word: &str| {
        word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    match !is_default || settings.command.split_whitespace().any(is_it) {
        true => Origin::Chosen,
        false => Origin::Default,
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
