//! Activity of the whole host: use of each processor, interrupts and network packets.

use super::processors::{self, ProcessorTimes, parse_line};
use crate::system_roots::SystemRoots;
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;
use steadfast_domain::Nanos;
use steadfast_domain::measurement::{HostActivity, HostCpu};

/// One reading of the host's counters.
#[derive(Debug, Clone)]
pub struct HostCounters {
    at: Instant,
    /// Times of all processors together; `None` if `/proc/stat` cannot be read or parsed.
    all: Option<ProcessorTimes>,
    each: BTreeMap<u32, ProcessorTimes>,
    interrupts: Option<u64>,
    network: Option<NetworkCounts>,
    retransmitted: Option<u64>,
}

/// Packets of all network interfaces but the loopback.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct NetworkCounts {
    packets: u64,
    errors: u64,
}

/// Reads the counters: `/proc/stat`, `/proc/net/dev` and `/proc/net/snmp`.
pub fn host_counters(roots: &SystemRoots) -> HostCounters {
    let text = |name: &str| fs::read_to_string(roots.proc.join(name)).unwrap_or_default();
    let stat = text("stat");
    HostCounters {
        at: Instant::now(),
        all: processors::parse(&stat),
        each: stat.lines().filter_map(processor).collect(),
        interrupts: stat.lines().find_map(|line| first_number(line.strip_prefix("intr ")?)),
        network: network(&text("net/dev")),
        retransmitted: retransmitted(&text("net/snmp")),
    }
}

/// Parses a line such as `cpu3 1 2 ...`.
fn processor(line: &str) -> Option<(u32, ProcessorTimes)> {
    let (number, times) = line.strip_prefix("cpu")?.split_once(' ')?;
    Some((number.parse().ok()?, parse_line(times)?))
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Adds up the lines `NAME: bytes packets errs drop fifo frame compressed multicast`, followed by
/// the same for sent packets with `colls carrier compressed` at its end (proc(5)). `None` if there
/// is no such line.
fn network(text: &str) -> Option<NetworkCounts> {
    let mut sum: Option<NetworkCounts> = None;
    for line in text.lines() {
        let Some((name, columns)) = line.split_once(':') else { continue };
        let columns: Vec<u64> =
            columns.split_whitespace().map_while(|column| column.parse().ok()).collect();
        let [_, received, bad, _, _, _, _, _, _, sent, unsent, ..] = columns[..] else { continue };
        let sum = sum.get_or_insert_default();
        if name.trim() != "lo" {
            sum.packets = sum.packets.wrapping_add(received).wrapping_add(sent);
            sum.errors = sum.errors.wrapping_add(bad).wrapping_add(unsent);
        }
    }
    sum
}

/// Returns `RetransSegs` of the two lines `Tcp:`, the names and the values.
fn retransmitted(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let index = names.split_whitespace().position(|name| name == "RetransSegs")?;
    values.split_whitespace().nth(index)?.parse().ok()
}

impl HostCounters {
    /// Returns the use of all processors together since an earlier reading; `None` if it is
    /// unknown.
    pub fn cpu_since(&self, before: &HostCounters) -> Option<HostCpu> {
        self.all?.since(&before.all?)
    }

    /// Returns the activity since an earlier reading; `None` if the kernel reports nothing of it.
    pub fn activity_since(&self, before: &HostCounters) -> Option<HostActivity> {
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let processor = |(number, now): (&u32, &ProcessorTimes)| {
            Some((*number, now.since(before.each.get(number)?)?))
        };
        let network_since = |value: fn(&NetworkCounts) -> u64| {
            since(self.network.as_ref().map(value), before.network.as_ref().map(value))
        };
        let elapsed = self.at.duration_since(before.at).as_nanos();
        let activity = HostActivity {
            elapsed: Nanos(u64::try_from(elapsed).unwrap_or(u64::MAX)),
            processors: self.each.iter().filter_map(processor).collect(),
            interrupts: since(self.interrupts, before.interrupts),
            packets: network_since(|counts| counts.packets),
            packet_errors: network_since(|counts| counts.errors),
            segments_retransmitted: since(self.retransmitted, before.retransmitted),
        };
        let nothing = HostActivity { elapsed: activity.elapsed, ..HostActivity::default() };
        (activity != nothing).then_some(activity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    const NET: &str = "Inter-|   Receive                  |  Transmit\n face |bytes packets errs drop fifo \
        frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n";

    /// Values by hand: processor 0 has 100 ticks, 40 of them in user space, 10 in the kernel, 20 in
    /// interrupts, 5 in soft interrupts and 25 idle.
    #[test]
    fn a_step_has_the_use_of_each_processor_and_the_packets_of_all_cards() {
        let machine = MachineFixture::new();
        let stat = |cpu0: &str, interrupts: u64| {
            format!("cpu  5 5 5 5 5 5 5\n{cpu0}cpu1 0 0 0 9 0 0 0\nintr {interrupts} 7 0\nctxt 9\n")
        };
        let net = |eth: [u64; 4]| {
            let [received, bad, sent, unsent] = eth;
            format!(
                "{NET}    lo: 9 9 9 9 0 0 0 0 9 9 9 0 0 0 0 0\n  eth0: 1 {received} {bad} 0 0 0 0 0 \
                 1 {sent} {unsent} 0 0 0 0 0\n"
            )
        };
        machine.write("proc/stat", stat("cpu0 10 0 10 10 0 10 10\n", 1000));
        machine.write("proc/net/dev", net([100, 0, 50, 1]));
        machine.write("proc/net/snmp", "Tcp: A RetransSegs\nTcp: 1 10\nUdp: A\nUdp: 3\n");
        let before = host_counters(&machine.roots);
        machine.write("proc/stat", stat("cpu0 45 5 20 35 0 30 15\ncpu7 1 1 1 1 1 1 1\n", 1600));
        machine.write("proc/net/dev", net([150, 2, 80, 1]));
        machine.write("proc/net/snmp", "Tcp: A RetransSegs\nTcp: 1 14\nUdp: A\nUdp: 3\n");
        let after = host_counters(&machine.roots);
        let found = after.activity_since(&before).unwrap();
        let numbers: Vec<u32> = found.processors.keys().copied().collect();
        assert_eq!(numbers, [0], "processor 1 passed no time, 7 came later");
        let cpu = found.processors[&0];
        assert_eq!((cpu.user, cpu.system), (0.4, 0.35));
        assert_eq!((cpu.interrupts, cpu.soft_interrupts), (Some(0.2), Some(0.05)));
        assert_eq!((found.interrupts, found.packets), (Some(600), Some(80)));
        assert_eq!((found.packet_errors, found.segments_retransmitted), (Some(2), Some(4)));
        assert_eq!(after.cpu_since(&before), None, "the line of all did not change");
    }

    #[test]
    fn a_kernel_that_reports_nothing_has_no_activity() {
        let machine = MachineFixture::new();
        let before = host_counters(&machine.roots);
        assert!(host_counters(&machine.roots).activity_since(&before).is_none());
        machine.write("proc/stat", "intr x\ncpu0 1\n");
        machine.write("proc/net/dev", "eth0: 1 2\n");
        assert!(host_counters(&machine.roots).activity_since(&before).is_none());
    }
}
