//! Captures that the kernel added up have the figures of each process that a capture of every I/O has.

use super::capture::{RunningCapture, settled_counts};
use super::fixtures::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Writes through the page cache, which kernel threads write back at the `sync`.
const WRITER: &str = "
import os, sys
device = os.open(sys.argv[1], os.O_RDWR)
for n in range(97):
    os.pwrite(device, b'x' * 8192, (40 << 20) + n * 16384)
os.sync()
for n in range(53):
    os.pwrite(device, b'y' * 4096, (56 << 20) + n * 4096)
    os.fdatasync(device)
os.close(device)
";

/// Runs our engine, then starts two of dd and a Python program on a device.
fn writers(here: &Path, device: &LoopDevice) -> Vec<Child> {
    let engine =
        format!("measure 'RND 4K RW65' --demand T2Q4 --ios 10007 --json {}", device.confirmed());
    // The engine takes a device that no other process has open.
    let mut engine = spawn_in(here, &engine, Stdio::null(), Stdio::null());
    assert!(engine.wait().unwrap().success());
    let spawn = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let (input, output) = (format!("if={}", device.path), format!("of={}", device.path));
    vec![
        spawn("dd", &[&input, "of=/dev/null", "bs=16k", "count=211", "iflag=direct"]),
        spawn(
            "dd",
            &[
                "if=/dev/zero", &output, "bs=64k", "count=101", "seek=300", "oflag=direct",
                "conv=notrunc",
            ],
        ),
        spawn("python3", &["-c", WRITER, &device.path]),
    ]
}

/// I/Os, bytes, reads and writes by process number and command.
fn processes(here: &Path) -> BTreeMap<(u64, String), [u64; 4]> {
    let found = succeed_json(here, "trace processes trace.parquet --json");
    let figures = |process: &Value| {
        let number = |name: &str| process[name].as_u64().unwrap_or_default();
        let key = (number("pid"), process["command"].as_str().unwrap_or_default().to_owned());
        (key, ["count", "amount", "reads", "writes"].map(number))
    };
    array(&found["processes"]).iter().map(figures).collect()
}

/// I/Os by operation and size of one process. Whether I/Os that several processors issue at once are
/// RND or SEQ depends on their order.
fn sizes(here: &Path, pid: u64) -> BTreeMap<(String, u64), u64> {
    let streams = format!("trace streams trace.parquet --pid {pid} --json");
    let found = succeed_json(here, &streams);
    let mut sizes = BTreeMap::new();
    for stream in array(&found["streams"]) {
        let key = (stream["op"].to_string(), stream["bytes"].as_u64().unwrap());
        *sizes.entry(key).or_default() += stream["count"].as_u64().unwrap();
    }
    sizes
}

/// The same moment captured twice: every I/O, and what the kernel added up.
#[test]
fn processes_added_up_in_the_kernel_are_those_of_every_io() {
    let Some(device) = LoopDevice::new(64) else { return };
    let (every, added) = (&TestDirectory::new(), &TestDirectory::new());
    settled_counts(&device);
    let steps = "--totals-every 100ms";
    let Some(mut steps) = RunningCapture::new(added, &device, steps) else { return };
    let ios = RunningCapture::new(every, &device, "").unwrap();
    for mut child in writers(every, &device) {
        assert!(child.wait().unwrap().success());
    }
    // One capture ends after the other: nothing happens in between.
    settled_counts(&device);
    ios.end();
    steps.end_by(libc::SIGINT);
    let found = processes(added);
    assert_eq!(found, processes(every));
    let of = |command: &str| -> Vec<([u64; 4], u64)> {
        let named = found.iter().filter(|((_, name), _)| name == command);
        named.map(|((pid, _), figures)| (*figures, *pid)).collect()
    };
    let mut dd: Vec<_> = of("dd").into_iter().map(|(figures, _)| figures).collect();
    dd.sort_unstable();
    assert_eq!(dd.len(), 2, "{found:?}");
    assert!(dd.iter().any(|dd| dd[3] == 101 && dd[1] >= 101 << 16), "{found:?}");
    assert!(dd.iter().any(|dd| dd[2] >= 211), "{found:?}");
    let (engine, pid) = of("steadfast")[0];
    assert!(engine[0] >= 10_007, "{found:?}");
    assert!(of("python3")[0].0[3] >= 53, "{found:?}");
    for pid in [pid, of("python3")[0].1, of("dd")[0].1] {
        assert_eq!(sizes(added, pid), sizes(every, pid));
    }
    for by in ["process", "command"] {
        let counts = |here: &Path| -> Vec<(String, Option<u64>)> {
            let groups = format!("trace groups trace.parquet --by {by} --json");
            let found = succeed_json(here, &groups);
            let count = |group: &Value| (group["command"].to_string(), group["count"].as_u64());
            array(&found["groups"]).iter().map(count).collect()
        };
        assert_eq!(counts(added), counts(every), "{by}");
    }
    let one = every.join("trace.parquet");
    let compare = format!("trace compare {} trace.parquet --by process", one.display());
    let text = succeed(added, &compare);
    assert!(text.contains("python3") && text.contains("dd"), "{text}");
    // All I/Os in one step, however slow the machine is: enough of them for a percentile.
    assert!(steps_of(added, "1h").iter().any(|step| step["response_p99_ns"].is_u64()));
    // The captures stamp every I/O, one a little later than the other.
    let (ours, theirs) = (busy_seconds(added), busy_seconds(every));
    assert!(ours > 0.0 && (ours / theirs - 1.0).abs() < 0.1, "busy for {ours} s and {theirs} s");
}

fn steps_of(here: &Path, width: &str) -> Vec<Value> {
    let steps = format!("trace steps trace.parquet --step {width} --json");
    let found = succeed_json(here, &steps);
    array(&found["steps"]).clone()
}

/// Time for which the device was busy, by the utilization of every step.
fn busy_seconds(here: &Path) -> f64 {
    let shares =
        steps_of(here, "100ms").into_iter().map(|step| step["utilisation"].as_f64().unwrap());
    shares.map(|share| share * 0.1).sum()
}
