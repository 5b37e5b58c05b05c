//! Memory for transfers: page-aligned, in huge pages where available.

use std::io;
use std::ptr::NonNull;

/// Size in bytes of a huge page on the supported platforms.
const HUGE_PAGE: usize = 2 << 20;

/// Alignment of every buffer in bytes: a page, even if a device accepts less
/// (`steadfast_domain::DirectBuffer` says why).
pub(super) fn page_size() -> usize {
    // SAFETY: asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(0).max(4096)
}

/// Kind of pages of an [`Arena`], worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PageKind {
    Plain,
    /// Huge pages as far as the kernel finds some (`MADV_HUGEPAGE`).
    Transparent,
    /// Huge pages from the reserved pool (`MAP_HUGETLB`).
    Reserved,
}

impl PageKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            PageKind::Plain => "plain pages (no huge pages)",
            PageKind::Transparent => "transparent huge pages",
            PageKind::Reserved => "reserved huge pages",
        }
    }
}

/// Anonymous memory, zeroed when mapped and unmapped when dropped.
#[derive(Debug)]
pub(super) struct Arena {
    start: NonNull<u8>,
    length: usize,
    pub(super) pages: PageKind,
}

// SAFETY: an arena owns its memory, and nothing in it is tied to a thread.
unsafe impl Send for Arena {}

impl Arena {
    pub(super) fn new(length: usize) -> io::Result<Arena> {
        let length = length
            .max(1)
            .checked_next_multiple_of(HUGE_PAGE)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        if let Ok(start) = map(length, libc::MAP_HUGETLB) {
            return Ok(Arena { start, length, pages: PageKind::Reserved });
        }
        // A transparent huge page needs aligned memory, which is cut out of a mapping that is one
        // huge page longer.
        let start = aligned(map(length + HUGE_PAGE, 0)?, length)?;
        // SAFETY: the range was mapped above. Rejected advice leaves it unchanged.
        let advised =
            unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_HUGEPAGE) } == 0;
        let pages = if advised { PageKind::Transparent } else { PageKind::Plain };
        Ok(Arena { start, length, pages })
    }

    #[inline(always)]
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.length);
        // SAFETY: callers stay inside the length that they asked for.
        unsafe { self.start.as_ptr().add(offset) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `length` bytes, readable and writable, and
        // borrowed mutably here.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: exactly this range was left mapped by `new`; its users are gone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

fn map(length: usize, flags: libc::c_int) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new private mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

/// Cuts `length` aligned bytes out of a mapping that is `HUGE_PAGE` longer.
fn aligned(mapped: NonNull<u8>, length: usize) -> io::Result<NonNull<u8>> {
    let before = mapped.as_ptr().align_offset(HUGE_PAGE);
    let after = HUGE_PAGE.saturating_sub(before);
    // SAFETY: both pieces lie inside the mapping of `length + HUGE_PAGE` bytes
    // and are not used; an empty piece is not unmapped.
    unsafe {
        let start = mapped.as_ptr().add(before);
        if before > 0 {
            libc::munmap(mapped.as_ptr().cast(), before);
        }
        if after > 0 {
            libc::munmap(start.add(length).cast(), after);
        }
        NonNull::new(start).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_is_aligned_zero_and_writable_to_its_end() {
        for length in [1, 4096, HUGE_PAGE, HUGE_PAGE + 1] {
            let mut arena = Arena::new(length).unwrap();
            assert_eq!(arena.at(0) as usize % 4096, 0);
            let bytes = arena.bytes_mut();
            assert!(bytes.len() >= length);
            assert!(bytes.iter().all(|b| *b == 0));
            bytes.fill(7);
        }
    }

    #[test]
    fn more_memory_than_the_host_has_is_an_error() {
        assert!(Arena::new(usize::MAX).is_err());
        assert!(Arena::new(1 << 60).is_err());
    }
}
