//! Damaged files for tests: no content may make a parser panic.

use steadfast_domain::random_bits::mix64;

/// Number of damaged copies from which every format is read.
pub const MUTATIONS: u64 = 25_000;

/// Returns copies of a file with one to four pieces changed, removed, duplicated or exchanged.
/// Equal numbers give equal copies.
pub fn mutated(
    original: &[u8],
    numbers: std::ops::Range<u64>,
) -> impl Iterator<Item = Vec<u8>> + '_ {
    numbers.map(|number| {
        let mut draw = MutationDraw(mix64(number));
        let mut bytes = original.to_vec();
        for _ in 0..=draw.below(4) {
            change(&mut bytes, &mut draw);
        }
        bytes
    })
}

/// Draws reproducible numbers (SplitMix64).
struct MutationDraw(u64);

impl MutationDraw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = mix64(self.0);
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Texts that a parser may mistake for numbers, names or structure.
const ODD: [&[u8]; 20] = [
    b"0", b"-1", b"18446744073709551616", b"1e308", b"NaN", b"\0", b"\xff\xfe", b"${X}", b"%",
    b":", b"=", b"\n[", b"/", b",", b"{", b"\r\n", b"<", b"</", b"]", b"null",
];

fn change(bytes: &mut Vec<u8>, draw: &mut MutationDraw) {
    let at = draw.below(bytes.len());
    let end = (at + 1 + draw.below(24)).min(bytes.len());
    match draw.below(5) {
        0 if !bytes.is_empty() => bytes[at] = draw.below(256) as u8,
        1 => drop(bytes.drain(at..end)),
        2 => {
            let piece = bytes[at..end].to_vec();
            let to = draw.below(bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
        3 => {
            let odd = ODD[draw.below(ODD.len())];
            bytes.splice(at..end, odd.iter().copied());
        }
        _ => bytes.truncate(end),
    }
}
