//! The processors: frequency, idle states, and distance from the device.

use super::subject::CheckSubject;
use super::topic::CheckTopic;
use crate::host_settings::governors;
use crate::system_roots::{SystemRoots, entries, file_name, is_numbered, read_number, read_text};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use steadfast_domain::Transport;
use steadfast_domain::record::Check;
use steadfast_domain::text::counted;

const GOVERNOR: CheckTopic = CheckTopic("governor", "Processor frequency governor");
const TURBO: CheckTopic = CheckTopic("turbo", "Turbo");
const IDLE: CheckTopic = CheckTopic("idle-states", "Processor idle states");
const HOT: CheckTopic = CheckTopic("cpu-throttle", "Processor throttling");
const NUMA: CheckTopic = CheckTopic("numa", "Memory nodes (NUMA)");
const INTERRUPTS: CheckTopic = CheckTopic("interrupts", "Interrupts of the device");

/// Exit latency of an idle state, in microseconds, above which it shows in the response times of a
/// fast SSD.
const SLOW_TO_WAKE: u64 = 10;

pub(super) fn checks(subject: &CheckSubject<'_>) -> Vec<Check> {
    let roots = subject.roots;
    let mut checks = vec![governor(roots)];
    checks.extend(turbo(roots));
    checks.push(idle_states(roots));
    checks.extend(throttled(roots));
    checks.extend(numa(subject));
    checks.extend(interrupts(subject));
    checks
}

fn governor(roots: &SystemRoots) -> Check {
    match governors(roots) {
        None => GOVERNOR.unknown("the kernel does not control the clock"),
        Some(names) if names == "performance" => GOVERNOR.good(names),
        Some(names) => GOVERNOR.attention(
            format!("{names}: the clock follows the load"),
            "cpupower frequency-set -g performance",
        ),
    }
}

fn turbo(roots: &SystemRoots) -> Option<Check> {
    let cpu = roots.sys.join("devices/system/cpu");
    let on = read_number::<u8>(&cpu.join("intel_pstate/no_turbo"))
        .map(|off| off == 0)
        .or_else(|| read_number::<u8>(&cpu.join("cpufreq/boost")).map(|on| on == 1))?;
    Some(TURBO.good(if on {
        "on: the clock also depends on the processors' temperature"
    } else {
        "off"
    }))
}

/// Returns the sysfs directories `cpu0`, `cpu1`, and so on.
fn processors(roots: &SystemRoots) -> Vec<PathBuf> {
    let mut processors = entries(&roots.sys.join("devices/system/cpu"));
    processors.retain(|path| is_numbered(&file_name(path), "cpu"));
    processors
}

fn idle_states(roots: &SystemRoots) -> Check {
    let deepest = processors(roots)
        .iter()
        .flat_map(|cpu| entries(&cpu.join("cpuidle")))
        .filter(|state| read_number::<u64>(&state.join("disable")).is_none_or(|off| off == 0))
        .filter_map(|state| {
            let latency = read_number::<u64>(&state.join("latency"))?;
            Some((latency, read_text(&state.join("name")).unwrap_or_else(|| file_name(&state))))
        })
        .max();
    let Some((latency, name)) = deepest else {
        return IDLE.unknown("not reported by the kernel");
    };
    let found = format!("deepest enabled: {name}, {latency} us to wake");
    match latency {
        0..=SLOW_TO_WAKE => IDLE.good(found),
        _ => IDLE.attention(found, "steadfast run --hold-c-states, or: cpupower idle-set -D 10"),
    }
}

/// Returns the number of thermal throttling events since boot, of the processor with the most;
/// `None` if the kernel does not report it.
pub fn throttle_count(roots: &SystemRoots) -> Option<u64> {
    let counts = processors(roots).into_iter().filter_map(|cpu| {
        let core = read_number::<u64>(&cpu.join("thermal_throttle/core_throttle_count"));
        let package = read_number::<u64>(&cpu.join("thermal_throttle/package_throttle_count"));
        core.max(package)
    });
    // Every processor of a package counts the same events, so the maximum is used and not the sum.
    counts.max()
}

fn throttled(roots: &SystemRoots) -> Option<Check> {
    Some(match throttle_count(roots)? {
        0 => HOT.good("none since boot"),
        times => HOT.attention(
            format!("throttled by heat {times} times since boot"),
            "Improve the host's cooling; a slow processor limits IOPS.",
        ),
    })
}

fn numa(subject: &CheckSubject<'_>) -> Option<Check> {
    let roots = subject.roots;
    let nodes = read_text(&roots.sys.join("devices/system/node/online"))
        .map(|list| processor_list(&list).len())?;
    if nodes < 2 {
        return Some(NUMA.good("one node"));
    }
    let function = subject.function.as_ref()?;
    let Some(node) = read_number::<u32>(&function.join("numa_node")) else {
        return Some(NUMA.unknown(format!("{nodes} nodes; the device's node is unknown")));
    };
    let near = read_text(&function.join("local_cpulist")).unwrap_or_default();
    let near: BTreeSet<u32> = processor_list(&near).into_iter().collect();
    let allowed = allowed(roots);
    let far = allowed.difference(&near).count();
    let distance = distance(roots, node);
    let found = format!("the device is on node {node} of {nodes}{distance}");
    if near.is_empty() || allowed.is_empty() {
        return Some(NUMA.unknown(found));
    }
    Some(match far {
        0 => NUMA.good(format!("{found}; this process runs only there")),
        far => NUMA.attention(
            format!("{found}; this process may use {far} distant processors of {}", allowed.len()),
            format!("numactl --cpunodebind={node} --membind={node} steadfast run ..."),
        ),
    })
}

/// Returns the processors that this process may run on.
fn allowed(roots: &SystemRoots) -> BTreeSet<u32> {
    let status = fs::read_to_string(roots.proc.join("self/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(processor_list).unwrap_or_default().into_iter().collect()
}

/// Returns the distances of a node from the firmware, in words; 10 is the node itself.
fn distance(roots: &SystemRoots, node: u32) -> String {
    read_text(&roots.sys.join(format!("devices/system/node/node{node}/distance")))
        .map(|row| format!(" (distances {})", row.split_whitespace().collect::<Vec<_>>().join(" ")))
        .unwrap_or_default()
}

fn interrupts(subject: &CheckSubject<'_>) -> Option<Check> {
    let function = subject.function.as_ref()?;
    let numbers: Vec<String> =
        entries(&function.join("msi_irqs")).iter().map(|path| file_name(path)).collect();
    let interrupts = own_interrupts(subject.roots, &numbers);
    if interrupts.is_empty() {
        return Some(INTERRUPTS.unknown("no interrupt is known to belong to the device"));
    }
    let targets: BTreeSet<u32> =
        interrupts.iter().flat_map(|number| affinity(subject.roots, number)).collect();
    let online = processor_list(
        &read_text(&subject.roots.sys.join("devices/system/cpu/online")).unwrap_or_default(),
    );
    let place = match targets.len() {
        0 => "on unknown processors".to_owned(),
        1 => format!("on processor {}", targets.first().copied().unwrap_or_default()),
        many => format!("on {many} processors"),
    };
    let found = format!("{} {place}", counted(interrupts.len() as u64, "interrupt"));
    let crowded = targets.len() == 1 && online.len() > 1 && interrupts.len() > 1;
    let is_nvme = subject.device.transport == Transport::Nvme;
    Some(match targets.len() {
        0 => INTERRUPTS.unknown(found),
        1 if crowded || (is_nvme && online.len() > 1) => INTERRUPTS.attention(
            found,
            "One processor serves all queues: spread them (/proc/irq/N/smp_affinity_list), \
             or start irqbalance.",
        ),
        _ => INTERRUPTS.good(found),
    })
}

/// Returns the interrupts of a function that serve I/O, without those for configuration and an NVMe
/// controller's admin queue.
fn own_interrupts(roots: &SystemRoots, numbers: &[String]) -> Vec<String> {
    let text = fs::read_to_string(roots.proc.join("interrupts")).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let number = number.trim().to_owned();
            let name = rest.split_whitespace().last()?;
            let carries_none =
                name.ends_with("-config") || (name.starts_with("nvme") && name.ends_with("q0"));
            (numbers.contains(&number) && !carries_none).then_some(number)
        })
        .collect()
}

fn affinity(roots: &SystemRoots, interrupt: &str) -> Vec<u32> {
    let directory = roots.proc.join("irq").join(interrupt);
    read_text(&directory.join("effective_affinity_list"))
        .or_else(|| read_text(&directory.join("smp_affinity_list")))
        .map(|list| processor_list(&list))
        .unwrap_or_default()
}

/// Parses a list of processors in the kernel's notation: `0-3,8`. Ranges that cannot be parsed or
/// are implausible are ignored.
fn processor_list(text: &str) -> Vec<u32> {
    /// Maximum number of processors that the kernel supports.
    const MOST: u32 = 8192;
    text.trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            (first <= last && last < MOST).then_some(first..=last)
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_is_read_and_nonsense_left_out() {
        assert_eq!(processor_list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(processor_list(""), Vec::<u32>::new());
        assert_eq!(processor_list("3-1,x,7-,4294967295,0-4294967295,9"), [9]);
    }
}
