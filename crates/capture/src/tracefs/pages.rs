//! Parses one page of a trace buffer (kernel: include/linux/ring_buffer.h): a time stamp, a length,
//! and events whose times are relative to the previous one.

/// Read size in bytes. Every read returns one page; pages larger than this arrive in pieces.
pub(super) const PAGE: usize = 65_536;

const HEAD: usize = 16;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const LENGTH_MASK: u64 = (1 << 27) - 1;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Iterator over the events of one page.
pub(super) struct PageEvents<'p> {
    content: &'p [u8],
    time_ns: u64,
    /// Events dropped before this page; 1 if the kernel reports a loss without a count.
    pub missed: u64,
}

/// An event as it is in a page.
pub(super) struct RawEvent<'p> {
    pub time_ns: u64,
    pub content: &'p [u8],
}

fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))
}

fn long(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?))
}

impl<'p> PageEvents<'p> {
    /// Parses the header of a page; a page that is too short has no events.
    pub(super) fn new(page: &'p [u8]) -> Self {
        let (Some(time_ns), Some(commit)) = (long(page), page.get(8..).and_then(long)) else {
            return PageEvents { content: &[], time_ns: 0, missed: 0 };
        };
        let length = (commit & LENGTH_MASK) as usize;
        let end = page.len().min(HEAD.saturating_add(length));
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (true, true) => page.get(end..).and_then(long).unwrap_or(1),
            (true, false) => 1,
            _ => 0,
        };
        PageEvents { content: page.get(HEAD..end).unwrap_or_default(), time_ns, missed }
    }

    /// Returns the next event.
    pub(super) fn next_event(&mut self) -> Option<RawEvent<'p>> {
        loop {
            let head = word(self.content)?;
            let (kind, delta) = (head & 31, u64::from(head >> 5));
            let rest = &self.content[4..];
            match kind {
                // Without a delta, padding fills the rest of the page; with one, it is a discarded
                // event, whose time counts.
                PADDING if delta == 0 => return None,
                PADDING => {
                    let skip = word(rest)? as usize;
                    self.time_ns = self.time_ns.wrapping_add(delta);
                    self.content = rest.get(skip..)?;
                }
                TIME_EXTEND => {
                    let high = u64::from(word(rest)?) << 27;
                    self.time_ns = self.time_ns.wrapping_add(high | delta);
                    self.content = rest.get(4..)?;
                }
                TIME_STAMP => {
                    // 59 bits; the upper bits are those of the page's time stamp.
                    let low = u64::from(word(rest)?) << 27 | delta;
                    self.time_ns = self.time_ns & (31 << 59) | low;
                    self.content = rest.get(4..)?;
                }
                _ => {
                    self.time_ns = self.time_ns.wrapping_add(delta);
                    let (begin, length) = match kind {
                        0 => (4, (word(rest)? as usize).checked_sub(4)?),
                        words => (0, words as usize * 4),
                    };
                    let end = begin + length;
                    let content = rest.get(begin..end)?;
                    self.content = rest.get(end.next_multiple_of(4)..).unwrap_or_default();
                    return Some(RawEvent { time_ns: self.time_ns, content });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(commit_flags: u64, words: &[u32]) -> Vec<u8> {
        let mut page = 1_000u64.to_ne_bytes().to_vec();
        let length = words.len() as u64 * 4;
        page.extend((length | commit_flags).to_ne_bytes());
        words.iter().for_each(|word| page.extend(word.to_ne_bytes()));
        page
    }

    fn head(kind: u32, delta: u32) -> u32 {
        delta << 5 | kind
    }

    #[test]
    fn events_of_every_form_come_with_their_times() {
        let words = [
            head(2, 5),
            11,
            12, // two words, 5 ns later
            head(TIME_EXTEND, 3),
            1, // 2^27 + 3 ns later
            head(0, 1),
            12,
            21,
            22, // length in a word of its own, 1 ns later
            head(PADDING, 2),
            8,
            0, // skipped, but its time counts
            head(1, 4),
            31,
            head(PADDING, 0),
        ];
        let page = page(0, &words);
        let mut events = PageEvents::new(&page);
        let event = events.next_event().unwrap();
        assert_eq!((event.time_ns, event.content.len()), (1_005, 8));
        let event = events.next_event().unwrap();
        assert_eq!((event.time_ns, event.content.len()), (1_005 + (1 << 27) + 3 + 1, 8));
        let event = events.next_event().unwrap();
        assert_eq!(event.time_ns, 1_005 + (1 << 27) + 4 + 2 + 4);
        assert_eq!(event.content, 31u32.to_ne_bytes());
        assert!(events.next_event().is_none());
    }

    #[test]
    fn missed_events_are_counted() {
        let mut stored = page(MISSED | MISSED_STORED, &[head(1, 0), 1]);
        stored.extend(97u64.to_ne_bytes());
        assert_eq!(PageEvents::new(&stored).missed, 97);
        assert_eq!(PageEvents::new(&page(MISSED, &[])).missed, 1);
        assert_eq!(PageEvents::new(&page(0, &[])).missed, 0);
    }

    #[test]
    fn damaged_pages_cause_no_panic() {
        let whole = page(MISSED | MISSED_STORED, &[head(0, 9), 400, 3, head(29, 1), u32::MAX, 7]);
        for length in 0..whole.len() {
            for byte in 0..length {
                for value in [0, 0x1d, 0x1e, 0x1f, 0x80, 0xff] {
                    let mut broken = whole[..length].to_vec();
                    broken[byte] = value;
                    let mut events = PageEvents::new(&broken);
                    while events.next_event().is_some() {}
                }
            }
        }
    }
}
