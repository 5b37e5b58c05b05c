//! Origin of the value of a setting: the user, the profile, or a default.

use steadfast_domain::Settings;
use steadfast_domain::findings::Origin;
use steadfast_domain::settings::SettingName;

/// Returns `Chosen` if the user gave a setting that is `None` otherwise, else `Profile`.
pub(crate) fn chosen_or_profile(is_given: bool) -> Origin {
    if is_given { Origin::Chosen } else { Origin::Profile }
}

/// Returns `Chosen` if the user gave a setting that always holds a value, or if the value is not
/// the default, else `Default`.
pub(crate) fn chosen_or_default(
    settings: &Settings,
    name: SettingName,
    is_default: bool,
) -> Origin {
    if !is_default || settings.given.contains(&name) { Origin::Chosen } else { Origin::Default }
}
