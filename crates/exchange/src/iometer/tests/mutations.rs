//! Damaged files are parsed or refused, never a panic.

use super::corpus::{OF_1_1, OF_2006};
use super::results::sample;
use crate::iometer::expansion::tests_of;
use crate::iometer::{read, results, write};
use crate::testing::mutations::{MUTATIONS, mutated};

#[test]
fn damaged_configurations_do_no_harm() {
    let half = MUTATIONS / 2;
    let of_2006 = mutated(OF_2006.as_bytes(), 0..half);
    let of_1_1 = mutated(OF_1_1.as_bytes(), half..MUTATIONS);
    let mut understood = 0;
    for bytes in of_2006.chain(of_1_1) {
        let Ok(reading) = read(&bytes) else { continue };
        understood += 1;
        if understood % 16 == 0 {
            assert_eq!(read(write(&reading.config).as_bytes()).unwrap().config, reading.config);
            let _ = tests_of(&reading.config, 2, None, &mut Vec::new());
        }
    }
    assert!(understood > 1_000, "{understood}");
}

#[test]
fn damaged_results_do_no_harm() {
    let mut understood = 0;
    for (version, numbers) in
        [("2006.07.27", 0..MUTATIONS / 2), ("1.1.0", MUTATIONS / 2..MUTATIONS)]
    {
        let mut run = sample(version);
        run.parts[0].tables.truncate(1);
        run.parts[0].tables[0].rows.truncate(2);
        let text = results::write(&run);
        understood +=
            mutated(text.as_bytes(), numbers).filter(|b| results::read(b).is_ok()).count();
    }
    assert!(understood > 1_000, "{understood}");
}
