//! A [`DirectBuffer`]: page-aligned memory for direct I/O.
//!
//! Every direct read or write (`O_DIRECT`) of this program uses memory that starts at a page
//! boundary, whatever alignment a device reports. zram reports an alignment of 512 bytes (Linux
//! 6.18), but reads a whole page to the start of the page that contains the buffer, and so
//! overwrites the memory before the buffer. The load engine maps its own pages from the kernel
//! (`engine::native::memory`); all other code uses this type.

use std::ops::{Deref, DerefMut};

/// Largest page size of the platforms on which Linux supports SSDs (arm64, ppc64).
const PAGE: usize = 64 << 10;

/// A buffer that starts at a page boundary for any page size of Linux; initially zeros.
#[derive(Debug)]
pub struct DirectBuffer {
    /// Never grown, so that its address does not change.
    memory: Box<[u8]>,
    start: usize,
    length: usize,
}

impl DirectBuffer {
    /// Creates a zeroed buffer of `length` bytes.
    pub fn new(length: usize) -> Self {
        let memory = vec![0; length + PAGE].into_boxed_slice();
        let address = memory.as_ptr() as usize;
        let start = address.next_multiple_of(PAGE) - address;
        DirectBuffer { memory, start, length }
    }
}

impl Deref for DirectBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl DerefMut for DirectBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_at_a_page_and_has_the_requested_length() {
        let buffers: Vec<DirectBuffer> =
            [0, 1, 512, 4096, 100_000].into_iter().map(DirectBuffer::new).collect();
        for (buffer, length) in buffers.iter().zip([0, 1, 512, 4096, 100_000]) {
            assert_eq!((buffer.as_ptr() as usize % PAGE, buffer.len()), (0, length));
            assert!(buffer.iter().all(|byte| *byte == 0));
        }
        let mut moved = buffers.into_iter().last().unwrap();
        moved.fill(7);
        assert!((moved.as_ptr() as usize).is_multiple_of(PAGE) && moved[99_999] == 7);
    }
}
