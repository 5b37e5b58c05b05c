//! Real I/O on loop devices: our counts, the kernel's and fio's.

use super::fixtures::*;
use std::process::Command;
use steadfast_domain::{Measurement, Op};
use steadfast_runner::Ledger;

/// I/Os per second that the throttle allows: a prime.
const THROTTLED: u32 = 1009;

/// A number of I/Os and their bytes.
#[derive(Debug, PartialEq)]
pub struct IoSum {
    pub ios: u64,
    pub bytes: u64,
}

/// Returns the I/Os of an operation that a step made, measured or not.
pub fn issued(measurement: &Measurement, op: Op) -> IoSum {
    let tally = measurement.direction(op);
    let mut sum = IoSum { ios: tally.ios, bytes: tally.bytes.0 };
    for outside in measurement.unmeasured.iter().filter(|outside| outside.op == op) {
        sum.ios += outside.ios;
        sum.bytes += outside.bytes.0;
    }
    sum
}

/// The complete quick IOPS test on a loop device; every step must agree with
/// /proc/diskstats.
#[test]
fn every_step_of_the_quick_test_agrees_with_diskstats() {
    let Some(device) = LoopDevice::new(256) else { return };
    let here = &TestDirectory::new();
    let nomerges = format!("/sys/block/{}/queue/nomerges", device.name());
    // A loop device keeps what its last user left.
    std::fs::write(&nomerges, "1").unwrap();
    let arguments =
        format!("run iops --profile quick --step-time 300ms {} -o run", device.confirmed());
    run_ending(here, &arguments, &[0, 3]);
    let mut checked = 0;
    for (step, outcome) in Ledger::read(&here.join("run")).unwrap().steps() {
        let measurement = &outcome.measurement;
        let Some(kernel) = measurement.kernel else { continue };
        assert_eq!((kernel.read_merges, kernel.write_merges), (0, 0), "{}: merges", step.place);
        assert_eq!(issued(measurement, Op::Read).bytes, kernel.read_bytes.0, "{}", step.place);
        assert_eq!(issued(measurement, Op::Write).bytes, kernel.write_bytes.0, "{}", step.place);
        if step.load.stimulus().unwrap().streams[0].size.0 <= 65_536 {
            assert_eq!(issued(measurement, Op::Read).ios, kernel.reads, "{}", step.place);
            assert_eq!(issued(measurement, Op::Write).ios, kernel.writes, "{}", step.place);
        }
        checked += 1;
    }
    assert!(checked >= 5 * 9, "{checked} steps were checked");
    assert_eq!(std::fs::read_to_string(nomerges).unwrap().trim(), "1", "the host is as before");
}

fn measured_iops(throttle: &Throttle, device: &LoopDevice, pattern: &str) -> f64 {
    let mut command = steadfast();
    let measure = format!(
        "measure '{pattern}' --demand T1Q16 --ramp 1s --time 5s --json {}",
        device.confirmed()
    );
    command.args(measure.words());
    let output = unless_stalled(|| throttle.run(&mut command));
    assert!(output.status.success(), "{}", stderr(&output));
    let answer: serde_json::Value = parse_json(&output);
    answer["iops"].as_f64().unwrap()
}

/// fio on the same device under the same throttle.
fn fio_iops(throttle: &Throttle, device: &LoopDevice, direction: &str) -> Option<f64> {
    let mut command = Command::new("fio");
    let options = "--name=x --ioengine=io_uring --direct=1 --bs=4k --iodepth=16 --runtime=5 \
        --ramp_time=1 --time_based --norandommap --randrepeat=0 --output-format=json";
    command.args(options.words());
    command.arg(format!("--filename={}", device.path)).arg(format!("--rw=rand{direction}"));
    let output = throttle.run(&mut command);
    let text = stdout(&output);
    let json: serde_json::Value = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
    json["jobs"][0][direction]["iops"].as_f64()
}

/// A throttled device is measured at the rate of its throttle, and fio measures the same.
#[test]
fn a_throttled_device_measures_as_its_throttle_and_as_fio_says() {
    let Some(device) = LoopDevice::new(256) else { return };
    let Some(throttle) = Throttle::new(&device, THROTTLED) else { return };
    let has_fio = has_fio();
    for (pattern, direction) in [("RND 4K R", "read"), ("RND 4K W", "write")] {
        let expected = f64::from(THROTTLED);
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.02;
        let measure = || measured_iops(&throttle, &device, pattern);
        let ours = best_of_three(measure, |ours| near(*ours, expected));
        assert!(near(ours, expected), "{pattern}: {ours} of {expected}");
        if has_fio {
            let fio = || fio_iops(&throttle, &device, direction).unwrap();
            let theirs = best_of_three(fio, |theirs| near(ours, *theirs));
            assert!(near(ours, theirs), "{pattern}: {ours}, fio {theirs}");
        }
    }
}

/// A scratch file with real O_DIRECT I/O, verified: everything that this run wrote reads back.
#[test]
fn what_was_written_reads_back() {
    let here = &TestDirectory::new();
    let measure = "measure 'RND 4K RW50' --target f.bin --size 64MiB --demand T2Q8 --time 2s --verify \
        --json";
    let output = unless_stalled(|| run_in(here, measure));
    assert!(output.status.success(), "{}", stderr(&output));
    let answer: serde_json::Value = parse_json(&output);
    let verification = &answer["measurement"]["verification"];
    assert_eq!(verification["miscompares"], 0);
    assert!(verification["sectors_right"].as_u64().unwrap() > 0, "{verification}");
}

/// Where a fill found that a device became slower.
#[derive(Debug)]
struct FoundCliff {
    bytes: f64,
    mb_per_second: f64,
    /// Bytes by the kernel's count.
    kernel_bytes: f64,
}

/// Fills a device whose throttle becomes four times as tight after half of it.
fn fill(throttle: &Throttle, device: &LoopDevice, fast: u32) -> FoundCliff {
    const HALF: u64 = 256 << 20;
    let here = &TestDirectory::new();
    throttle.limit(device, fast);
    let before = device.written();
    let mut command = steadfast();
    let run = format!(
        "run fill {} --set levels=0 --set idle-times=1s --set again-max=5 -o run",
        device.confirmed()
    );
    command.current_dir(here).args(run.words());
    let counted = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            wait_until("half of the writes", || device.written() >= before + HALF);
            throttle.limit(device, fast / 4);
            device.written() - before
        });
        let output = throttle.run(&mut command);
        assert!(output.status.success(), "{}", stderr(&output));
        watcher.join().unwrap()
    });
    let findings = findings(here.join("run"));
    let figures = array(&findings["front"]["figures"]);
    let figure = |id: &str| {
        let figure = figures.iter().find(|figure| figure["id"] == id).unwrap();
        figure["value"].as_f64().unwrap_or_default()
    };
    FoundCliff {
        bytes: figure("full-speed-amount") * 1e9,
        mb_per_second: figure("full-speed"),
        kernel_bytes: counted as f64,
    }
}

#[test]
fn a_fill_finds_where_a_throttle_became_tighter() {
    let Some(device) = LoopDevice::new(512) else { return };
    let Some(throttle) = Throttle::new(&device, 400) else { return };
    // 52 MB/s for 5 s, then 13 MB/s.
    let expected = 400.0 * 131_072.0 / 1e6;
    let is_right = |found: &FoundCliff| {
        (found.bytes / found.kernel_bytes - 1.0).abs() < 0.03
            && (found.mb_per_second / expected - 1.0).abs() < 0.05
    };
    let found = best_of_three(|| fill(&throttle, &device, 400), is_right);
    println!("{found:?}");
    assert!(is_right(&found), "{found:?}");
}
