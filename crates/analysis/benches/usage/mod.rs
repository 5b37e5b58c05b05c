//! Processor time and memory of a bench, from the kernel.
#![allow(dead_code, reason = "each bench uses its part")]

/// Returns the processor time of all threads of this process, including ended ones.
pub fn process_seconds() -> f64 {
    processor_seconds(2)
}

/// Returns the processor time of this process and of the children that it waited for.
pub fn seconds_with_children() -> f64 {
    processor_seconds(4)
}

/// Adds up the first `times` of four times: user and system time, and those of the children. The
/// resolution is a hundredth of a second.
fn processor_seconds(times: usize) -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = fields.iter().skip(11).take(times).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Returns the peak memory of this process since its start or since the peak was last reset.
pub fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
