//! Damaged files: understood or refused, never a panic.

use super::corpus::{OF_1_1, OF_2006};
use super::results::sample;
use crate::iometer::expansion::tests_of;
use crate::iometer::read::read;
use crate::iometer::results;
use crate::iometer::write::write;
use steadfast_domain::step::mix64;

/// A sequence of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        (mix64(self.0) % end.max(1) as u64) as usize
    }
}

fn damaged(original: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(bytes.len());
        let end = (at + 1 + numbers.below(40)).min(bytes.len());
        match numbers.below(6) {
            0 => bytes[at] = numbers.below(256) as u8,
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                let to = numbers.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            3 => bytes.truncate(at.max(1)),
            4 => bytes.splice(at..at, b"18446744073709551616".iter().copied()).for_each(drop),
            _ => bytes.splice(at..end, b"\n'End worker\n,,-1".iter().copied()).for_each(drop),
        }
        if bytes.is_empty() {
            bytes.push(b'\'');
        }
    }
    bytes
}

#[test]
fn a_hundred_thousand_damaged_configurations_do_no_harm() {
    let mut numbers = Numbers(10_007);
    let mut understood = 0;
    for round in 0..100_000 {
        let original = if round % 2 == 0 { OF_2006 } else { OF_1_1 };
        let bytes = damaged(original.as_bytes(), &mut numbers);
        let Ok(reading) = read(&bytes) else { continue };
        understood += 1;
        if round % 16 == 0 {
            let again = read(write(&reading.config).as_bytes()).unwrap();
            assert_eq!(again.config, reading.config);
            let _ = tests_of(&reading.config, 2, None, &mut Vec::new());
        }
    }
    assert!(understood > 1_000, "{understood}");
}

#[test]
fn a_hundred_thousand_damaged_results_do_no_harm() {
    let mut numbers = Numbers(7);
    let texts = ["2006.07.27", "1.1.0"].map(|version| {
        let mut run = sample(version);
        run.parts[0].tables.truncate(1);
        run.parts[0].tables[0].rows.truncate(2);
        results::write(&run)
    });
    let mut understood = 0;
    for round in 0..100_000 {
        let bytes = damaged(texts[round % 2].as_bytes(), &mut numbers);
        understood += usize::from(results::read(&bytes).is_ok());
    }
    assert!(understood > 1_000, "{understood}");
}
