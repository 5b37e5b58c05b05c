//! Simulated drives that serve the I/Os of a made-up server in a bench.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use steadfast_domain::IoEvent;
use steadfast_domain::random_bits::mix64;

/// Drives that keep up with the server. The drives of `synthetic` do one I/O after the other, and
/// would have a queue of hours here.
#[derive(Default)]
pub struct PacedDrives {
    free: [u64; 2],
    completions: [BinaryHeap<Reverse<u64>>; 2],
}

/// Number of I/Os that a drive processes at a time.
const PARALLEL: u64 = 32;

impl PacedDrives {
    /// Returns a function that adds response time and queue depth to the I/Os of the server.
    pub fn serving(mut self) -> impl FnMut(IoEvent) -> IoEvent {
        move |event| self.serve(event)
    }

    fn serve(&mut self, event: IoEvent) -> IoEvent {
        let device = usize::from(event.device);
        let random = mix64(event.issued_ns);
        let slow = if random.is_multiple_of(20_000) { 8_000_000 } else { 0 };
        let service = [20_000, 150_000][device] + u64::from(event.bytes) / 4 + random % 15_000;
        let begin = event.issued_ns.max(self.free[device]);
        self.free[device] = begin + service / PARALLEL;
        let response_ns = begin + service + slow - event.issued_ns;
        let completions = &mut self.completions[device];
        while completions.peek().is_some_and(|first| first.0 <= event.issued_ns) {
            completions.pop();
        }
        completions.push(Reverse(event.issued_ns + response_ns));
        IoEvent { response_ns, depth: completions.len() as u32, ..event }
    }
}
