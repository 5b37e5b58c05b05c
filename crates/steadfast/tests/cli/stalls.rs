//! A program that stood still says so: its numbers are not the device's.

use super::scratch::{LoopDevice, skip, stderr, steadfast, wait_until};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::Duration;

/// How long the measurement stands still.
const STILL: Duration = Duration::from_secs(2);

/// More than a program reads that only looks at a device.
const UNDER_WAY: u64 = 1009;

/// A measurement whose load is under way, long before its end.
fn measuring(device: &LoopDevice) -> Child {
    let before = device.reads();
    let mut command = steadfast();
    command.args(["measure", "RND 4K R", "--target", &device.path, "--time", "7s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the load", || device.reads() > before + UNDER_WAY);
    child
}

/// The step is void, and the reason stands there.
fn is_void(output: &Output) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no thread of this program could run"), "{said}");
}

#[test]
fn a_process_that_was_stopped_does_not_call_its_step_whole() {
    let Some(device) = LoopDevice::new(64) else { return };
    let child = measuring(&device);
    let send = |signal| {
        // SAFETY: the child has not been waited for, so the number is its own.
        unsafe { libc::kill(child.id().cast_signed(), signal) };
    };
    send(libc::SIGSTOP);
    std::thread::sleep(STILL);
    send(libc::SIGCONT);
    is_void(&child.wait_with_output().unwrap());
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
    let child = measuring(&device);
    std::fs::write(freezer.0.join("cgroup.procs"), child.id().to_string()).unwrap();
    freezer.set("FROZEN");
    std::thread::sleep(STILL);
    freezer.set("THAWED");
    is_void(&child.wait_with_output().unwrap());
}
