//! Captures that the kernel added up: they tell of each process what a capture of every I/O tells.

use super::capture::{RunningCapture, settled};
use super::scratch::{LoopDevice, array, steadfast, succeed, succeed_json};
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

/// Starts our engine, two of dd and a Python program on a device.
fn writers(here: &Path, device: &LoopDevice) -> Vec<Child> {
    let path = device.path.as_str();
    let mut engine = steadfast();
    engine.current_dir(here).args(["measure", "RND 4K RW65", "--target", path, "--demand", "T2Q4"]);
    engine.args(["--ios", "10007", "--yes-destroy", device.name(), "--json"]);
    let mut reader = Command::new("dd");
    reader.args([&format!("if={path}"), "of=/dev/null", "bs=16k", "count=211", "iflag=direct"]);
    let mut writer = Command::new("dd");
    writer.args(["if=/dev/zero", &format!("of={path}"), "bs=64k", "count=101", "seek=300"]);
    writer.args(["oflag=direct", "conv=notrunc"]);
    let mut python = Command::new("python3");
    python.args(["-c", WRITER, path]);
    // The engine takes a device that nobody else has open.
    let mut started = Vec::new();
    for command in [&mut engine, &mut reader, &mut writer, &mut python] {
        started.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        if started.len() == 1 {
            assert!(started[0].wait().unwrap().success());
        }
    }
    started
}

fn answer(here: &Path, arguments: &[&str]) -> Value {
    succeed_json(here, arguments)
}

/// I/Os, bytes, reads and writes by process number and command.
fn processes(here: &Path) -> BTreeMap<(u64, String), [u64; 4]> {
    let found = answer(here, &["trace", "processes", "trace.parquet", "--json"]);
    let figures = |process: &Value| {
        let number = |name: &str| process[name].as_u64().unwrap_or_default();
        let key = (number("pid"), process["command"].as_str().unwrap_or_default().to_owned());
        (key, ["count", "amount", "reads", "writes"].map(number))
    };
    array(&found["processes"]).iter().map(figures).collect()
}

/// I/Os by operation and size of one process. RND and SEQ of I/Os that several processors issue
/// at once are decided in another order.
fn sizes(here: &Path, pid: u64) -> BTreeMap<(String, u64), u64> {
    let pid = pid.to_string();
    let found = answer(here, &["trace", "streams", "trace.parquet", "--pid", &pid, "--json"]);
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
    let (every, added) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    settled(&device);
    let steps = ["--totals-every", "100ms"];
    let Some(mut steps) = RunningCapture::new(added.path(), &device, &steps) else { return };
    let mut ios = RunningCapture::new(every.path(), &device, &[]).unwrap();
    for mut child in writers(every.path(), &device) {
        assert!(child.wait().unwrap().success());
    }
    // One capture ends after the other: nothing happens in between.
    settled(&device);
    ios.signal("-INT");
    steps.signal("-INT");
    let (every, added) = (every.path(), added.path());
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
        let told = ["trace", "groups", "trace.parquet", "--by", by, "--json"];
        let groups = [added, every].map(|here| answer(here, &told)["groups"].clone());
        let counts = groups.map(|groups| {
            let counts = groups.as_array().unwrap().iter();
            counts
                .map(|group| (group["command"].to_string(), group["count"].as_u64()))
                .collect::<Vec<_>>()
        });
        assert_eq!(counts[0], counts[1], "{by}");
    }
    let one = every.join("trace.parquet");
    let compared = ["trace", "compare", one.to_str().unwrap(), "trace.parquet", "--by", "process"];
    let text = succeed(added, &compared);
    assert!(text.contains("python3") && text.contains("dd"), "{text}");
    // All I/Os in one step, however slow the machine is: enough of them for a percentile.
    assert!(steps_of(added, "1h").iter().any(|step| step["response_p99_ns"].is_u64()));
    // The captures stamp every I/O, one a little later than the other.
    let (ours, theirs) = (busy_seconds(added), busy_seconds(every));
    assert!(ours > 0.1 && (ours / theirs - 1.0).abs() < 0.1, "busy for {ours} s and {theirs} s");
}

fn steps_of(here: &Path, width: &str) -> Vec<Value> {
    let found = answer(here, &["trace", "steps", "trace.parquet", "--step", width, "--json"]);
    array(&found["steps"]).clone()
}

/// Time for which the device was busy, by the utilization of every step.
fn busy_seconds(here: &Path) -> f64 {
    let shares =
        steps_of(here, "100ms").into_iter().map(|step| step["utilisation"].as_f64().unwrap());
    shares.map(|share| share * 0.1).sum()
}
