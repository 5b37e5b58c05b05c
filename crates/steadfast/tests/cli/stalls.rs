//! A program that stood still says so: the numbers are not the device's.

use super::fixtures::{LoopDevice, signal, skip, spawn_in, stderr, wait_until};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::Duration;

/// Time for which the measurement stands still.
const STANDSTILL: Duration = Duration::from_secs(2);

/// Upper bound of the reads that the program makes before a load.
const READS_BEFORE_LOAD_MAX: u64 = 1009;

/// Starts a measurement; returns once its load has begun, long before its end.
fn begin_measurement(device: &LoopDevice) -> Child {
    let before = device.reads();
    let load = format!("measure 'RND 4K R' --target {} --time 7s", device.path);
    let child = spawn_in(Path::new("."), &load, Stdio::piped(), Stdio::piped());
    wait_until("the load", || device.reads() > before + READS_BEFORE_LOAD_MAX);
    child
}

/// Asserts that the step is void for the reason that the program stood still.
fn assert_void(output: &Output) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("no thread of this program could run"), "{text}");
}

#[test]
fn a_process_that_was_stopped_does_not_call_its_step_whole() {
    let Some(device) = LoopDevice::new(64) else { return };
    let child = begin_measurement(&device);
    signal(&child, libc::SIGSTOP);
    std::thread::sleep(STANDSTILL);
    signal(&child, libc::SIGCONT);
    assert_void(&child.wait_with_output().unwrap());
}

/// A control group of version 1 that can be frozen.
struct Freezer(PathBuf);

impl Freezer {
    fn new() -> Option<Freezer> {
        let root = Path::new("/sys/fs/cgroup/freezer");
        let group = root.join(format!("steadfast-test-{}", std::process::id()));
        std::fs::create_dir(&group).ok().map(|()| Freezer(group))
    }
    fn set(&self, state: &str) {
        std::fs::write(self.0.join("freezer.state"), state).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.set("THAWED");
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_frozen_control_group_is_noticed() {
    let Some(device) = LoopDevice::new(64) else { return };
    let Some(freezer) = Freezer::new() else {
        return skip("no freezer of control groups of version 1");
    };
    let child = begin_measurement(&device);
    std::fs::write(freezer.0.join("cgroup.procs"), child.id().to_string()).unwrap();
    freezer.set("FROZEN");
    std::thread::sleep(STANDSTILL);
    freezer.set("THAWED");
    assert_void(&child.wait_with_output().unwrap());
}
