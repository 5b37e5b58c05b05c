//! A [`DirectBuffer`]: memory for I/O past the page cache.
//!
//! Every read or write past the page cache (`O_DIRECT`) of this program uses
//! memory that begins with a page, whatever a device says that it would take.
//! zram says that it takes multiples of 512 bytes (Linux 6.18), reads a whole
//! page to the beginning of the page that the memory lies in, and so overwrites
//! whatever lies before it. The load engine maps its memory from the kernel in
//! pages (`engine::native::memory`); everybody else takes it from here.

use std::ops::{Deref, DerefMut};

/// The largest page of the platforms that Linux has SSDs on (arm64, ppc64).
const PAGE: usize = 64 << 10;

/// Zeros at first; begins with a page of memory, whatever a page's size is.
#[derive(Debug)]
pub struct DirectBuffer {
    /// Never grown, so that it stays where it is.
    memory: Box<[u8]>,
    start: usize,
    length: usize,
}

impl DirectBuffer {
    /// Memory of this length.
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
    fn it_begins_with_a_page_wherever_it_lies_and_is_as_long_as_asked() {
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
