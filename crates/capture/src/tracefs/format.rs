//! Parses the kernel's `format` files, which give the position of each field in an event.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventField {
    /// Offset of the first byte in the event.
    pub offset: usize,
    /// Length in bytes.
    pub size: usize,
}

impl EventField {
    /// Returns the field's bytes, or `None` if the event is shorter than its layout.
    pub(super) fn bytes<'e>(&self, event: &'e [u8]) -> Option<&'e [u8]> {
        event.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Returns the field as an unsigned number in native byte order, or `None` if it is empty,
    /// longer than 8 bytes or beyond the event's end.
    pub(super) fn number(&self, event: &[u8]) -> Option<u64> {
        let bytes = self.bytes(event)?;
        if bytes.is_empty() || bytes.len() > 8 {
            return None;
        }
        let mut wide = [0u8; 8];
        if cfg!(target_endian = "little") {
            wide[..bytes.len()].copy_from_slice(bytes)
        } else {
            wide[8 - bytes.len()..].copy_from_slice(bytes)
        }
        Some(u64::from_ne_bytes(wide))
    }
}

/// Returns the event's ID, or `None` if the file has none.
pub(super) fn number(format: &str) -> Option<u16> {
    format.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())
}

/// Finds a field by its name. A line consists of declaration, offset, size and sign, separated by
/// semicolons.
pub(super) fn field(format: &str, name: &str) -> Option<EventField> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().split(';').map(str::trim);
        let declaration = parts.next()?.strip_prefix("field:")?;
        let declared = declaration.split('[').next()?.split_whitespace().last()?;
        let mut offset = None;
        let mut size = None;
        for part in parts {
            match part.split_once(':') {
                Some(("offset", value)) => offset = value.parse().ok(),
                Some(("size", value)) => size = value.parse().ok(),
                _ => {}
            }
        }
        (declared == name).then_some(EventField { offset: offset?, size: size? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n";

    #[test]
    fn fields_are_found_by_name_whatever_their_type() {
        assert_eq!(number(ISSUE), Some(2104));
        assert_eq!(field(ISSUE, "sector"), Some(EventField { offset: 16, size: 8 }));
        assert_eq!(field(ISSUE, "rwbs"), Some(EventField { offset: 34, size: 10 }));
        assert_eq!(field(ISSUE, "common_pid"), Some(EventField { offset: 4, size: 4 }));
        assert_eq!(field(ISSUE, "bytes"), None);
    }

    #[test]
    fn numbers_are_read_at_their_width_and_never_beyond_the_event() {
        let event = 0x0102_0304_0506_0708u64.to_ne_bytes();
        assert_eq!(EventField { offset: 0, size: 8 }.number(&event), Some(0x0102_0304_0506_0708));
        assert_eq!(EventField { offset: 6, size: 4 }.number(&event), None);
        assert_eq!(EventField { offset: usize::MAX, size: 4 }.number(&event), None);
        assert_eq!(EventField { offset: 0, size: 16 }.number(&[0; 32]), None);
    }
}
