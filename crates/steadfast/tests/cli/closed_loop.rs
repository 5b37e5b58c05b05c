//! The closed loop: a workload is applied, captured and analyzed, and comes out
//! as it went in. And a database, whose capture must be what the kernel counted.

use super::capture::{Running, settled};
use super::scratch::{LoopDevice, skip, steadfast, succeed};
use serde_json::Value;
use std::process::{Command, Stdio};
use steadfast_domain::IoOp;

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

/// 503 transactions of SQLite, each synchronized, then everything at once.
const DATABASE: &str = r#"
import sqlite3
database = sqlite3.connect("mount/database")
database.execute("pragma journal_mode = wal")
database.execute("pragma synchronous = full")
database.execute("create table t (id integer primary key, content blob)")
for n in range(503):
    database.execute("insert into t values (?, randomblob(9001))", (n,))
    database.commit()
database.execute("vacuum")
database.close()
"#;

/// Read, written and flushed, by the kernel's account of a device.
fn kernel_sums(device: &LoopDevice) -> [u64; 3] {
    let [_, read, _, written, flushes] = settled(device);
    [read * 512, written * 512, flushes]
}

/// A database on a journaling file system: the capture's sums are the kernel's.
#[test]
fn a_database_on_a_file_system_agrees_with_diskstats() {
    let test = "a_database_on_a_file_system_agrees_with_diskstats";
    let Some(device) = LoopDevice::new(test, 128) else { return };
    let options = ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &device.path];
    if !Command::new("mkfs.ext4").args(options).status().is_ok_and(|s| s.success()) {
        return skip(test, "no mkfs.ext4");
    }
    let scratch = tempfile::tempdir().unwrap();
    let here = scratch.path();
    let python =
        |program: &str| Command::new("python3").current_dir(here).args(["-c", program]).status();
    if !python("import sqlite3").is_ok_and(|status| status.success()) {
        return skip(test, "Python has no module sqlite3");
    }
    let before = kernel_sums(&device);
    let Some(capture) = Running::new(test, here, &device, &[]) else { return };
    std::fs::create_dir(here.join("mount")).unwrap();
    let mount = Command::new("mount").arg(&device.path).arg(here.join("mount")).status();
    assert!(mount.unwrap().success());
    let ran = python(DATABASE).unwrap();
    assert!(Command::new("umount").arg(here.join("mount")).status().unwrap().success());
    assert!(ran.success());
    let after = kernel_sums(&device);
    let (conditions, events) = capture.end();
    assert_eq!(conditions.lost, 0);
    let bytes = |op: IoOp| {
        events.iter().filter(|event| event.op == op).map(|e| u64::from(e.bytes)).sum::<u64>()
    };
    let flushes = events.iter().filter(|event| event.op == IoOp::Flush).count() as u64;
    let seen = [bytes(IoOp::Read), bytes(IoOp::Write)];
    let kernels: [u64; 3] = std::array::from_fn(|n| after[n] - before[n]);
    assert_eq!(seen, kernels[..2], "{conditions:?}");
    // Flushes are sent off by interrupts, too, which are not seen everywhere (docs/capture.md).
    let flushed = kernels[2];
    assert!((flushed - flushed / 100..=flushed).contains(&flushes), "{flushes} of {flushed}");
    assert!(flushes >= 503 && seen[1] > 503 * 9001, "{seen:?}");
}
