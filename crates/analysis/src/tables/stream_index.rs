//! [`StreamIndex`]: the numbers of I/O streams by their packed keys.

/// Number that stands for no stream.
pub(crate) const NO_STREAM: u32 = u32::MAX;

/// Number of slots of an empty index.
const SLOTS_MIN: usize = 256;

/// A hash table with linear probing. The standard one is slower for this one lookup per I/O.
#[derive(Debug, Clone)]
pub(crate) struct StreamIndex {
    /// At least twice as many slots as streams; a power of two.
    slots: Vec<StreamSlot>,
    streams: usize,
}

#[derive(Debug, Clone, Copy)]
struct StreamSlot {
    key: u64,
    /// [`NO_STREAM`] if the slot is free.
    stream: u32,
}

const FREE: StreamSlot = StreamSlot { key: 0, stream: NO_STREAM };

impl Default for StreamIndex {
    fn default() -> Self {
        StreamIndex { slots: vec![FREE; SLOTS_MIN], streams: 0 }
    }
}

impl StreamIndex {
    /// Returns the number of a stream.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        let stream = self.slots[self.slot(key)].stream;
        (stream != NO_STREAM).then_some(stream)
    }

    /// Finds the streams of I/Os from `first` on. Returns the index of the first I/O whose stream
    /// is new, or the number of I/Os. Not inlined, so that all its values stay in registers.
    #[inline(never)]
    pub(crate) fn find(
        &self,
        first: usize,
        kept: &[bool],
        keys: &[u64],
        streams: &mut [u32],
    ) -> usize {
        let (slots, last) = (self.slots.as_slice(), self.slots.len() - 1);
        let each = streams[first..].iter_mut().zip(&keys[first..]).zip(&kept[first..]);
        for (row, ((stream, key), kept)) in each.enumerate() {
            // Fast path: the row is selected and its stream sits in its home slot.
            let found = slots[home(*key) & last];
            if found.key == *key && *kept {
                *stream = found.stream;
                continue;
            }
            *stream = if *kept { self.find_elsewhere(*key) } else { NO_STREAM };
            if *kept && *stream == NO_STREAM {
                return first + row;
            }
        }
        keys.len()
    }

    /// Returns the number of a stream that is not in its home slot.
    #[cold]
    fn find_elsewhere(&self, key: u64) -> u32 {
        self.slots[self.slot(key)].stream
    }

    /// Inserts a stream that is not in the index.
    pub(crate) fn insert(&mut self, key: u64, stream: u32) {
        self.streams += 1;
        if self.streams * 2 > self.slots.len() {
            let wider = vec![FREE; self.slots.len() * 2];
            let old = std::mem::replace(&mut self.slots, wider);
            for entry in old.into_iter().filter(|entry| entry.stream != NO_STREAM) {
                let slot = self.slot(entry.key);
                self.slots[slot] = entry;
            }
        }
        let slot = self.slot(key);
        self.slots[slot] = StreamSlot { key, stream };
    }

    /// Removes a stream and returns its number. Entries whose probe passes its slot move up.
    pub(crate) fn remove(&mut self, key: u64) -> Option<u32> {
        let stream = self.get(key)?;
        self.streams -= 1;
        let mask = self.slots.len() - 1;
        let mut hole = self.slot(key);
        let mut at = hole;
        self.slots[hole] = FREE;
        loop {
            at = (at + 1) & mask;
            let entry = self.slots[at];
            if entry.stream == NO_STREAM {
                return Some(stream);
            }
            let probed = at.wrapping_sub(home(entry.key)) & mask;
            if probed >= at.wrapping_sub(hole) & mask {
                self.slots.swap(hole, at);
                hole = at;
            }
        }
    }

    /// Returns the slot of a key, or the free slot where it would be inserted.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = home(key) & mask;
        loop {
            let entry = self.slots[at];
            if entry.key == key || entry.stream == NO_STREAM {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

/// Returns the hash of a key, whose low bits give its home slot: it is there unless that is taken.
#[inline]
fn home(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}
