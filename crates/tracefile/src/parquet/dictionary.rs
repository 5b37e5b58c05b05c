//! Looks values up by their indices in a Parquet dictionary.

use super::hybrid::{HybridDecoder, HybridPart};
use super::value::ColumnValue;
use parquet::errors::{ParquetError, Result};
use std::iter;

/// The values of a dictionary page.
pub(super) struct Dictionary<T> {
    values: Vec<T>,
    /// The first [`CODES`] values, padded with any value: every index of eight bits lies within,
    /// so that no bounds check is needed.
    first: Box<[T; CODES]>,
    /// Bit width for which `together` was built, which looks several narrow indices up at once.
    width: usize,
    together: TupleTable<T>,
}

/// Number of values of eight bits.
const CODES: usize = 1 << u8::BITS;

/// Values of several adjacent indices, by the code that their bits form.
enum TupleTable<T> {
    None,
    Two(Box<TupleValues<T, 2>>),
    Four(Box<TupleValues<T, 4>>),
    Eight(Box<TupleValues<T, 8>>),
}

struct TupleValues<T, const N: usize> {
    values: [[T; N]; CODES],
    /// True if one of the indices has no value, by code.
    lacking: [bool; CODES],
    /// Scratch memory for the tuples found.
    found: Vec<[T; N]>,
}

impl<T: ColumnValue> Dictionary<T> {
    pub(super) fn new(values: Vec<T>) -> Self {
        let mut first = Box::new([T::of_number(0); CODES]);
        let short = values.len().min(CODES);
        first[..short].copy_from_slice(&values[..short]);
        Dictionary { values, first, width: 0, together: TupleTable::None }
    }

    /// Appends the values of the next `count` indices.
    pub(super) fn take(
        &mut self,
        places: &mut HybridDecoder,
        count: usize,
        column: &mut Vec<T>,
    ) -> Result<()> {
        let together = self.prepare(places.width());
        let (mut last, mut lacks) = (0, false);
        let Dictionary { values, first, together: tuples, .. } = self;
        let at = |place: u64| match usize::try_from(place) {
            Ok(place) => values.get(place).copied().unwrap_or(first[0]),
            Err(_) => first[0],
        };
        places.take_by(together, count, |part| match part {
            HybridPart::Same(place, times) => {
                last = last.max(place);
                column.extend(iter::repeat_n(at(place), times));
            }
            HybridPart::Each(places) => {
                let places = places.iter().map(|place| place.cast_unsigned());
                last = places.clone().fold(last, u64::max);
                column.extend(places.map(at));
            }
            HybridPart::Short(places) => {
                let of_these = places.iter().fold(0, |last, place| last.max(*place));
                last = last.max(of_these.into());
                column.extend(places.iter().map(|place| first[usize::from(*place)]));
            }
            HybridPart::Together(codes) => lacks |= tuples.append(codes, column),
        })?;
        let unknown = || ParquetError::General("it names a value that its dictionary lacks".into());
        let are_known = count == 0 || (!lacks && last < values.len() as u64);
        are_known.then_some(()).ok_or_else(unknown)
    }

    /// Returns the value at an index.
    pub(super) fn get(&self, place: u64) -> Option<T> {
        self.values.get(usize::try_from(place).ok()?).copied()
    }

    /// Prepares for indices of `width` bits; returns the number of indices looked up at once.
    fn prepare(&mut self, width: usize) -> usize {
        if T::IS_NUMBER && width != self.width {
            self.width = width;
            self.together = match width {
                1 => TupleTable::Eight(TupleValues::new(&self.values, width)),
                2 => TupleTable::Four(TupleValues::new(&self.values, width)),
                3 | 4 => TupleTable::Two(TupleValues::new(&self.values, width)),
                _ => TupleTable::None,
            };
        }
        self.together.each()
    }
}

impl<T: ColumnValue> TupleTable<T> {
    /// Returns the number of indices looked up at once.
    fn each(&self) -> usize {
        match self {
            TupleTable::None => 1,
            TupleTable::Two(_) => 2,
            TupleTable::Four(_) => 4,
            TupleTable::Eight(_) => 8,
        }
    }

    /// Appends the values of some codes; returns whether an index has no value.
    fn append(&mut self, codes: &[u8], column: &mut Vec<T>) -> bool {
        match self {
            TupleTable::None => !codes.is_empty(),
            TupleTable::Two(tuples) => tuples.append(codes, column),
            TupleTable::Four(tuples) => tuples.append(codes, column),
            TupleTable::Eight(tuples) => tuples.append(codes, column),
        }
    }
}

impl<T: ColumnValue, const N: usize> TupleValues<T, N> {
    /// Builds the table for indices of `width` bits; N indices form a code of at most eight bits.
    fn new(values: &[T], width: usize) -> Box<Self> {
        let (mut tuples, mut lacking) = ([[T::of_number(0); N]; CODES], [false; CODES]);
        for (code, (tuple, lacks)) in tuples.iter_mut().zip(&mut lacking).enumerate() {
            for (at, value) in tuple.iter_mut().enumerate() {
                let place = code >> (at * width) & ((1 << width) - 1);
                *lacks |= place >= values.len();
                *value = values.get(place).copied().unwrap_or(*value);
            }
        }
        Box::new(TupleValues { values: tuples, lacking, found: Vec::new() })
    }

    fn append(&mut self, codes: &[u8], column: &mut Vec<T>) -> bool {
        self.found.clear();
        self.found.extend(codes.iter().map(|code| self.values[usize::from(*code)]));
        column.extend_from_slice(self.found.as_flattened());
        codes.iter().fold(false, |any, code| any | self.lacking[usize::from(*code)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::step::mix64;

    /// Encodes numbers of `width` bits as one packed run.
    fn packed(numbers: &[u64], width: usize) -> HybridDecoder {
        assert!(numbers.len().is_multiple_of(8));
        let mut bytes = vec![0; numbers.len() * width / 8];
        for (at, number) in numbers.iter().enumerate() {
            for bit in (0..width).filter(|bit| number >> bit & 1 == 1) {
                bytes[(at * width + bit) / 8] |= 1 << ((at * width + bit) % 8);
            }
        }
        let (mut run, mut header) = (Vec::new(), numbers.len() / 8 * 2 + 1);
        while header > 0x7f {
            run.push(header as u8 | 0x80);
            header >>= 7;
        }
        run.push(header as u8);
        run.extend(bytes);
        HybridDecoder::open(run.into(), width).unwrap()
    }

    #[test]
    fn places_of_every_width_are_looked_up_however_many_at_once() {
        let values: Vec<i32> = (0..900).map(|at| 1_000_003 * at).collect();
        let mut dictionary = Dictionary::new(values.clone());
        for width in (1..=9).chain([4, 3, 1]) {
            let places: Vec<u64> = (0..1208).map(|at| mix64(at) & ((1 << width) - 1)).collect();
            let wanted: Vec<i32> = places.iter().map(|place| values[*place as usize]).collect();
            for parts in [&[1208][..], &[1], &[3, 8, 24], &[7, 500], &[64, 65, 1000], &[8]] {
                let (mut places, mut column) = (packed(&places, width), Vec::new());
                for part in parts.iter().cycle() {
                    let part = *part.min(&(wanted.len() - column.len()));
                    if part == 0 {
                        break;
                    }
                    dictionary.take(&mut places, part, &mut column).unwrap();
                }
                assert!(column == wanted, "{width} bits, {parts:?}");
            }
        }
    }

    #[test]
    fn a_place_without_a_value_is_an_error_wherever_it_stands() {
        for (width, known) in [(1, 1), (2, 3), (3, 5), (4, 15), (4, 0), (7, 100), (9, 300)] {
            let values: Vec<i32> = (0..known).collect();
            for (wrong, alone) in (0..40).flat_map(|wrong| [(wrong, false), (wrong, true)]) {
                let lacking = if alone { (1 << width) - 1 } else { known as u64 };
                let mut places = vec![0; 40];
                places[wrong] = lacking;
                let mut dictionary = Dictionary::new(values.clone());
                let outcome = dictionary.take(&mut packed(&places, width), 40, &mut Vec::new());
                assert!(outcome.is_err(), "{width} bits, {known} values, row {wrong}");
            }
        }
    }
}
