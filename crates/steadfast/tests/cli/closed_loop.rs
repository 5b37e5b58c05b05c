//! The closed loop: a workload is applied, captured and analysed, and comes out
//! as it went in.

use super::capture::{Running, settled};
use super::scratch::{LoopDevice, steadfast, succeed};
use serde_json::Value;
use std::process::Stdio;

const WORKLOAD: &str = r#"
format = "steadfast workload 1"
demand = "T1Q8"
[[stream]]
stream = "RND 4K R"
ios = 500
[[stream]]
stream = "RND 8K W"
ios = 300
[[stream]]
stream = "SEQ 64K W"
ios = 150
[[stream]]
stream = "SEQ 16K R"
ios = 57
"#;
const STREAMS: [(&str, &str, u64); 4] = [
    ("RND", "read", 4096),
    ("RND", "write", 8192),
    ("SEQ", "write", 65_536),
    ("SEQ", "read", 16_384),
];
/// A random I/O begins where an earlier one ended with a chance of at most
/// 64 in 32,768 places of 8 KiB: of 3,000 such I/Os about six, hardly ever more.
const ADJACENT_MOST: u64 = 30;

/// I/Os of one order, operation and size in a stream table.
fn counted(table: &Value, (order, op, bytes): (&str, &str, u64)) -> u64 {
    let streams = table["streams"].as_array().unwrap().iter();
    let of = streams.filter(|s| s["order"] == order && s["op"] == op && s["bytes"] == bytes);
    of.map(|stream| stream["count"].as_u64().unwrap()).sum()
}

/// 10,007 I/Os: operation x size exactly as the engine counted, the order but for
/// chance; and derived again, the workload has the same streams.
#[test]
fn what_is_applied_is_captured_and_analysed_as_the_same_streams() {
    let test = "what_is_applied_is_captured_and_analysed_as_the_same_streams";
    let Some(device) = LoopDevice::new(test, 256) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let here = scratch.path();
    std::fs::write(here.join("w.toml"), WORKLOAD).unwrap();
    settled(&device);
    let Some(capture) = Running::new(test, here, &device, &[]) else { return };
    let measure = ["measure", "--workload", "w.toml", "--target", &device.path, "--ios", "10007"];
    let child = steadfast()
        .current_dir(here)
        .args(measure)
        .args(["--yes-destroy", device.name(), "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let engine = child.id().to_string();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (conditions, _) = capture.end();
    assert_eq!(conditions.lost, 0);
    // What udev looks at afterwards is no I/O of ours.
    let streams = ["trace", "streams", "trace.parquet", "--pid", &engine, "--json"];
    let table: Value = serde_json::from_str(&succeed(here, &streams)).unwrap();
    let applied = answer["measurement"]["streams"].as_array().unwrap();
    let ios: Vec<u64> = applied.iter().map(|s| s["tally"]["ios"].as_u64().unwrap()).collect();
    assert_eq!(ios.iter().sum::<u64>(), 10_007);
    for ((order, op, bytes), ios) in STREAMS.into_iter().zip(ios) {
        let other = if order == "RND" { "SEQ" } else { "RND" };
        let (right, wrong) =
            (counted(&table, (order, op, bytes)), counted(&table, (other, op, bytes)));
        assert_eq!(right + wrong, ios, "{order} {op} {bytes}: {table:#}");
        // The first I/O of a sequential run counts as random.
        let most = if order == "RND" { ADJACENT_MOST } else { 1 };
        assert!(wrong <= most, "{wrong} of {ios} {order} {op}s of {bytes} bytes");
    }
    let derive = ["workload", "derive", "trace.parquet", "--threshold", "2%", "--pid", &engine];
    let again = succeed(here, &[&derive[..], &["-o", "again.toml"]].concat());
    assert!(again.contains("4 of"), "{again}");
}
