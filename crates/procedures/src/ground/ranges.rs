//! The active ranges of PTS-C 1.x and how they are scattered, in numbers.

use crate::parameters::Parameter;
use steadfast_domain::{Class, Profile, Settings};

/// Percent of the capacity that is active, in the order in which the public
/// implementation of PTS-C 1.1 takes them.
pub const RANGES: [u8; 2] = [100, 75];

/// How much of the active range is touched.
pub const AMOUNT: Parameter = Parameter {
    name: "ar-amount",
    default: "8GiB,16GiB",
    meaning: "amounts of the active range to use, separated by commas; the test runs once for \
        each",
    source: "a public implementation of PTS-C 1.1",
    unverified: true,
    ..Parameter::PLAIN
};

/// In how many pieces it is.
pub const SEGMENTS: Parameter = Parameter {
    name: "ar-segments",
    default: "2048",
    meaning: "number of equal segments that make up the amount, scattered at random over the \
        active range without touching; each is a whole number of MiB",
    source: "SNIA web pages on PTS terms",
    unverified: true,
    ..Parameter::PLAIN
};

/// The parameters that a test has beside its own where [`is_asked`].
pub const PARAMETERS: &[Parameter] = &[AMOUNT, SEGMENTS];

/// Whether profile and class ask for scattered active ranges.
pub fn is_asked(settings: &Settings) -> bool {
    (settings.profile, settings.class) == (Profile::Pts11, Class::Client)
}
