//! Counts of the fine histogram's buckets, which take memory only where there are some,
//! and little where they are small: a capture may have 32,768 streams.

use steadfast_domain::FineHistogram;

/// Buckets of one octave.
const OCTAVE: usize = 128;
const OCTAVES: usize = FineHistogram::LEN / OCTAVE;

/// Counts by bucket.
#[derive(Debug, Clone)]
pub(crate) struct Buckets {
    /// Of each octave, one more than its place among `kept`; 0 where it counts nothing.
    places: [u8; OCTAVES],
    kept: Vec<Octave>,
}

/// Counts of one octave.
#[derive(Debug, Clone)]
enum Octave {
    Narrow(Box<[u16; OCTAVE]>),
    /// One of them is too large for the other kind.
    Wide(Box<[u64; OCTAVE]>),
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets { places: [0; OCTAVES], kept: Vec::new() }
    }
}

impl PartialEq for Buckets {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Buckets {}

impl Buckets {
    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Counts one more in a bucket.
    #[inline]
    pub(crate) fn count(&mut self, index: usize) {
        let place = usize::from(self.places[index / OCTAVE]);
        match self.kept.get_mut(place.wrapping_sub(1)) {
            Some(Octave::Wide(counts)) => counts[index % OCTAVE] += 1,
            Some(Octave::Narrow(counts)) if counts[index % OCTAVE] < u16::MAX => {
                counts[index % OCTAVE] += 1;
            }
            _ => self.add(index, 1),
        }
    }

    /// Counts more in a bucket.
    pub(crate) fn add(&mut self, index: usize, more: u64) {
        let at = index % OCTAVE;
        let octave = self.octave(index / OCTAVE);
        if let Octave::Narrow(counts) = octave {
            match u16::try_from(more).ok().and_then(|more| counts[at].checked_add(more)) {
                Some(sum) => {
                    counts[at] = sum;
                    return;
                }
                None => *octave = Octave::Wide(Box::new((**counts).map(u64::from))),
            }
        }
        if let Octave::Wide(counts) = octave {
            counts[at] += more;
        }
    }

    fn octave(&mut self, number: usize) -> &mut Octave {
        if self.places[number] == 0 {
            self.kept.push(Octave::Narrow(Box::new([0; OCTAVE])));
            self.places[number] = self.kept.len() as u8;
        }
        &mut self.kept[usize::from(self.places[number]) - 1]
    }

    /// Adds those of another part.
    pub(crate) fn merge(&mut self, other: &Buckets) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        other.iter().for_each(|(index, count)| self.add(index, count));
    }

    /// The buckets with a count, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let of_octave = |(number, place): (usize, &u8)| {
            let octave = self.kept.get(usize::from(*place).wrapping_sub(1))?;
            let first = number * OCTAVE;
            Some((0..OCTAVE).map(move |at| (first + at, octave.get(at))))
        };
        let all = self.places.iter().enumerate().filter_map(of_octave).flatten();
        all.filter(|(_, count)| *count > 0)
    }
}

impl Octave {
    fn get(&self, at: usize) -> u64 {
        match self {
            Octave::Narrow(counts) => u64::from(counts[at]),
            Octave::Wide(counts) => counts[at],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_same_however_wide_they_are_kept() {
        let last = FineHistogram::LEN - 1;
        let mut one_by_one = Buckets::default();
        assert!(one_by_one.is_empty());
        for _ in 0..70_000 {
            one_by_one.count(last);
        }
        (0..9).for_each(|_| one_by_one.count(3));
        one_by_one.count(0);
        let mut at_once = Buckets::default();
        [(0, 1), (3, 9), (last, 65_535), (last, 4_465)]
            .into_iter()
            .for_each(|(index, count)| at_once.add(index, count));
        assert_eq!(one_by_one, at_once);
        assert_eq!(at_once.iter().collect::<Vec<_>>(), [(0, 1), (3, 9), (last, 70_000)]);
        at_once.merge(&one_by_one);
        assert_eq!(at_once.iter().collect::<Vec<_>>(), [(0, 2), (3, 18), (last, 140_000)]);
        let mut merged = Buckets::default();
        merged.merge(&at_once);
        assert_eq!(merged, at_once);
        merged.add(4, 1);
        assert_ne!(merged, at_once);
    }
}
