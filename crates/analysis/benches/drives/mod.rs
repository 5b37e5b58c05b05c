//! What a made-up server's I/Os are served by in a bench.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use steadfast_domain::IoEvent;
use steadfast_domain::step::mix64;

/// Drives that keep up with the server, of which a capture records the queue depth: the
/// test's own one does one I/O after the other, and would have a queue of hours here.
#[derive(Default)]
pub struct PacedDrives {
    free: [u64; 2],
    completions: [BinaryHeap<Reverse<u64>>; 2],
}

/// I/Os that a drive does at a time.
const AT_A_TIME: u64 = 32;

impl PacedDrives {
    /// What makes the I/Os of the server those that a capture has.
    pub fn serving(mut self) -> impl FnMut(IoEvent) -> IoEvent {
        move |event| self.serve(event)
    }

    fn serve(&mut self, event: IoEvent) -> IoEvent {
        let device = usize::from(event.device);
        let random = mix64(event.issued_ns);
        let slow = if random.is_multiple_of(20_000) { 8_000_000 } else { 0 };
        let service = [20_000, 150_000][device] + u64::from(event.bytes) / 4 + random % 15_000;
        let begin = event.issued_ns.max(self.free[device]);
        self.free[device] = begin + service / AT_A_TIME;
        let response_ns = begin + service + slow - event.issued_ns;
        let completions = &mut self.completions[device];
        while completions.peek().is_some_and(|first| first.0 <= event.issued_ns) {
            completions.pop();
        }
        completions.push(Reverse(event.issued_ns + response_ns));
        IoEvent { response_ns, depth: completions.len() as u32, ..event }
    }
}
