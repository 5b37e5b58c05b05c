//! libFuzzer on the target that the variable `FUZZ_TARGET` names.

#![no_main]

use std::sync::LazyLock;
use steadfast_fuzz::{FuzzTarget, limit_memory};

static TARGET: LazyLock<&FuzzTarget> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    FuzzTarget::named(&name).expect("FUZZ_TARGET is in steadfast_fuzz::TARGETS")
});

libfuzzer_sys::fuzz_target!(
    init: {
        LazyLock::force(&TARGET);
        limit_memory();
    },
    |bytes: &[u8]| {
        TARGET.try_input(bytes);
    }
);
