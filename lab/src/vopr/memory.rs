//! Memory of the simulated processes, for each of their threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Largest number of bytes that a thread may hold at once (docs/fire.md).
pub const MEMORY_MAX: usize = 24 << 20;

/// Bytes that a thread has allocated.
#[derive(Debug, Clone, Copy)]
struct ThreadMemory {
    /// Allocated and not freed since the count began; negative if it freed those of others.
    live: isize,
    peak: isize,
}

thread_local! {
    static MEMORY: Cell<ThreadMemory> = const { Cell::new(ThreadMemory { live: 0, peak: 0 }) };
}

/// The allocator of the system, which counts the bytes of each thread.
pub struct CountingAllocator;

fn count(bytes: isize) {
    // The allocator is also called after a thread's variables have been dropped.
    let _ = MEMORY.try_with(|memory| {
        let ThreadMemory { live, peak } = memory.get();
        let live = live.saturating_add(bytes);
        memory.set(ThreadMemory { live, peak: peak.max(live) });
    });
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing, because
// the variable of the thread is initialized at compile time and has no destructor.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: `block` is of the system's allocator, and the caller upholds the rest.
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: `block` is of the system's allocator, and the caller upholds the rest.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Begins to count the memory of this thread.
pub fn restart() {
    MEMORY.set(ThreadMemory { live: 0, peak: 0 });
}

/// Returns the largest number of bytes that this thread has held at once since the count began.
pub fn peak() -> usize {
    usize::try_from(MEMORY.get().peak).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_that_of_this_thread_since_the_count_began() {
        restart();
        let held = vec![1u8; 10_007];
        drop(std::hint::black_box(vec![1u8; 1_000_003]));
        assert!((1_010_010..1_020_000).contains(&peak()), "{}", peak());
        std::thread::spawn(|| drop(std::hint::black_box(vec![1u8; 5_000_011]))).join().unwrap();
        assert!(peak() < 1_050_000, "{}", peak());
        restart();
        drop(std::hint::black_box(held));
        assert_eq!(peak(), 0);
    }
}
