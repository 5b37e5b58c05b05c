//! Processor times of the whole host, from `/proc/stat`.

use crate::system_roots::SystemRoots;
use std::fs;
use steadfast_domain::measurement::HostCpu;

/// One reading of the processor times, in ticks since boot, summed over all processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessorTimes {
    user: u64,
    /// Interrupts included.
    system: u64,
    interrupts: u64,
    soft_interrupts: u64,
    idle: u64,
    io_wait: u64,
    steal: u64,
}

/// Reads the processor times; `None` if `/proc/stat` cannot be read or parsed.
pub fn processor_times(roots: &SystemRoots) -> Option<ProcessorTimes> {
    parse(&fs::read_to_string(roots.proc.join("stat")).ok()?)
}

/// Parses the line of all processors.
pub(super) fn parse(text: &str) -> Option<ProcessorTimes> {
    text.lines().find_map(|line| line.strip_prefix("cpu ")).and_then(parse_line)
}

/// Parses a line `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc(5)),
/// without its name. Guest time is already included in `user` and `nice`.
pub(super) fn parse_line(line: &str) -> Option<ProcessorTimes> {
    let ticks: Vec<u64> = line.split_whitespace().map_while(|tick| tick.parse().ok()).collect();
    let [user, nice, system, idle, io_wait, interrupts, soft_interrupts, ref rest @ ..] = ticks[..]
    else {
        return None;
    };
    let sum = |parts: &[u64]| parts.iter().try_fold(0u64, |sum, part| sum.checked_add(*part));
    Some(ProcessorTimes {
        user: sum(&[user, nice])?,
        system: sum(&[system, interrupts, soft_interrupts])?,
        interrupts,
        soft_interrupts,
        idle,
        io_wait,
        steal: rest.first().copied().unwrap_or(0),
    })
}

impl ProcessorTimes {
    /// Returns the ticks since boot spent neither idle nor waiting for I/O, time taken by the
    /// hypervisor included.
    pub fn busy(&self) -> u64 {
        [self.system, self.steal].into_iter().fold(self.user, u64::saturating_add)
    }

    /// Returns the ticks since boot spent idle with I/O outstanding.
    pub fn io_wait(&self) -> u64 {
        self.io_wait
    }

    /// Returns all ticks since boot.
    pub fn total(&self) -> u64 {
        [self.idle, self.io_wait].into_iter().fold(self.busy(), u64::saturating_add)
    }

    /// Returns the ticks of all processors since an earlier reading.
    pub(crate) fn ticks_since(&self, before: &ProcessorTimes) -> f64 {
        let clocks = |times: &ProcessorTimes| {
            [times.user, times.system, times.idle, times.io_wait, times.steal]
        };
        let both = clocks(self).into_iter().zip(clocks(before));
        both.map(|(now, then)| now.saturating_sub(then) as f64).sum()
    }

    /// Returns the shares (0 to 1) of the time since an earlier reading; `None` if no tick has
    /// passed. A time that decreased, which the kernel allows (proc(5), `iowait`), gives a share
    /// of 0.
    pub fn since(&self, before: &ProcessorTimes) -> Option<HostCpu> {
        let ticks = self.ticks_since(before);
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / ticks;
        (ticks > 0.0).then(|| HostCpu {
            user: share(self.user, before.user),
            system: share(self.system, before.system),
            io_wait: share(self.io_wait, before.io_wait),
            steal: share(self.steal, before.steal),
            interrupts: Some(share(self.interrupts, before.interrupts)),
            soft_interrupts: Some(share(self.soft_interrupts, before.soft_interrupts)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    const BEFORE: &str = "cpu  100 10 50 1000 20 5 5 30 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";

    #[test]
    fn shares_are_of_all_time_that_passed() {
        let before = parse(BEFORE).unwrap();
        assert_eq!((before.busy(), before.io_wait(), before.total()), (200, 20, 1220));
        // 200 ticks: 60 user, 40 system (10 in interrupts, 10 in soft ones), 60 idle, 20 waiting,
        // 20 stolen.
        let after = parse("cpu  150 20 70 1060 40 15 15 50 9 0\n").unwrap();
        let expected = HostCpu {
            user: 0.3,
            system: 0.2,
            io_wait: 0.1,
            steal: 0.1,
            interrupts: Some(0.05),
            soft_interrupts: Some(0.05),
        };
        assert_eq!(after.since(&before), Some(expected));
        assert_eq!(before.since(&before), None);
    }

    #[test]
    fn a_clock_that_ran_backwards_counts_nothing() {
        let before = parse(BEFORE).unwrap();
        let after = parse("cpu  110 10 50 1010 10 5 5 30\n").unwrap();
        let shares = after.since(&before).unwrap();
        assert_eq!((shares.user, shares.io_wait), (0.5, 0.0));
    }

    #[test]
    fn the_times_of_an_old_kernel_are_read_and_invalid_ones_are_not() {
        let machine = MachineFixture::new();
        assert_eq!(processor_times(&machine.roots), None);
        machine.write("proc/stat", "intr 1 2 3\n");
        assert_eq!(processor_times(&machine.roots), None);
        assert_eq!(parse("cpu 1 2 x\n"), None);
        assert_eq!(parse("cpu 1 2 3 4 5 6 7\n").unwrap().steal, 0);
        let full = format!("cpu {m} {m} 3 4 5 6 7\n", m = u64::MAX);
        assert_eq!(parse(&full), None);
    }
}
