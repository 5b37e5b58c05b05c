//! Parameters and numbers of the active ranges of PTS-C 1.x and their scattered segments.

use crate::parameters::Parameter;
use steadfast_domain::{Class, Profile, Settings};

/// Active ranges in percent of the capacity, in the order in which the public implementation of
/// PTS-C 1.1 tests them.
pub const RANGES: [u8; 2] = [100, 75];

/// Parameter `ar-amount`: amounts of the active range that the test uses.
pub const AMOUNT: Parameter = Parameter {
    name: "ar-amount",
    default: "8GiB,16GiB",
    meaning: "amounts of the active range to use, separated by commas; the test runs once for \
        each",
    source: "a public implementation of PTS-C 1.1",
    ..Parameter::UNVERIFIED
};

/// Parameter `ar-segments`: number of segments that make up the amount.
pub const SEGMENTS: Parameter = Parameter {
    name: "ar-segments",
    default: "2048",
    meaning: "number of equal segments that make up the amount, scattered at random over the \
        active range without touching; each is a whole number of MiB",
    source: "SNIA web pages on PTS terms",
    ..Parameter::UNVERIFIED
};

/// Parameters that a test has in addition to its own if [`has_scattered_ranges`] returns true.
pub const PARAMETERS: &[Parameter] = &[AMOUNT, SEGMENTS];

/// Returns true if profile and class ask for scattered active ranges.
pub fn has_scattered_ranges(settings: &Settings) -> bool {
    (settings.profile, settings.class) == (Profile::Pts11, Class::Client)
}
