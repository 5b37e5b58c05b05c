//! Attribution of I/Os: threads and their processes, cgroups, paths of files, merged and split
//! requests.

use super::files::{MountedScratch, open};
use super::{SOURCES, ScratchDevice, captured, for_each_variant, loop_device, options, skip};
use io_uring::{IoUring, opcode, types};
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::process::Command;
use steadfast_capture::{Capture, CaptureOptions, SourceName};
use steadfast_domain::{IoEvent, IoOp, Layer};

fn own_name() -> String {
    fs::read_to_string("/proc/self/comm").unwrap().trim_end().to_owned()
}

/// A thread that wrote to a device and has ended.
struct WriterThread {
    tid: u32,
    name: String,
    writes: u64,
}

/// Writes to a device by three threads at the same time.
fn write_by_threads(device: &ScratchDevice) -> Vec<WriterThread> {
    let write = |number: u64| {
        let name = format!("writer-{number}");
        let writes = 101 + 100 * number;
        let file = device.open_direct().unwrap();
        let thread = std::thread::Builder::new().name(name.clone()).spawn(move || {
            let block = Box::new(super::DirectBlock([3; 4096]));
            for at in 0..writes {
                file.write_all_at(&block.0, (at * 8 + number) * 4096).unwrap();
            }
            // SAFETY: takes nothing and returns a number.
            let tid = unsafe { libc::gettid() } as u32;
            WriterThread { tid, name, writes }
        });
        thread.unwrap()
    };
    let threads = [0, 1, 2].map(write);
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn record_threads(source: SourceName) {
    let Some(device) = loop_device() else { return };
    let wanted = CaptureOptions { source: Some(source), ..options(&device) };
    let mut threads = Vec::new();
    let act = |_: &Capture| threads = write_by_threads(&device);
    let Some((_, events)) = captured(&wanted, act) else { return };
    for WriterThread { tid, name, writes } in threads {
        let of_thread: Vec<&IoEvent> = events.iter().filter(|event| event.tid == tid).collect();
        let written = of_thread.iter().filter(|event| event.op == IoOp::Write);
        assert_eq!(written.count() as u64, writes, "{name}");
        for event in of_thread {
            assert_eq!(event.pid, std::process::id());
            assert_eq!(event.command.to_string(), own_name());
            assert_eq!(event.thread.to_string(), name);
        }
    }
}

#[test]
fn threads_are_recorded_with_their_process() {
    for_each_variant(SOURCES, record_threads);
}

/// A cgroup made for the test.
struct ScratchCgroup(PathBuf);

impl ScratchCgroup {
    /// Creates a cgroup in the captured hierarchy.
    fn new(capture: &Capture) -> Option<ScratchCgroup> {
        let words = |remark: &String| {
            let (place, _) = remark.strip_prefix("The cgroups are those of ")?.split_once(" (")?;
            Some(PathBuf::from(place))
        };
        let place = capture.remarks().iter().find_map(words).unwrap();
        let path = place.join(format!("steadfast-test-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        Some(ScratchCgroup(path))
    }

    fn holds(&self, process: u32) -> bool {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).is_ok()
    }
}

impl Drop for ScratchCgroup {
    fn drop(&mut self) {
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn a_process_in_a_cgroup_is_captured_with_its_path() {
    let Some(device) = loop_device() else { return };
    let wanted = CaptureOptions { cgroups: true, ..options(&device) };
    let (mut pid, mut cgroup) = (0, None);
    let act = |capture: &Capture| {
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "read line; exec dd if=/dev/zero of={} bs=4096 count=211 oflag=direct status=none",
                device.path.display()
            ))
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        pid = child.id();
        cgroup = ScratchCgroup::new(capture).filter(|cgroup| cgroup.holds(pid));
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"go\n").unwrap();
        assert!(child.wait().unwrap().success());
        super::apply(&device.open_direct().unwrap());
    };
    let Some((capture, events)) = captured(&wanted, act) else { return };
    let Some(cgroup) = cgroup else {
        return skip("no process can be put into a cgroup of its own");
    };
    let cgroups = capture.cgroups().unwrap();
    let path_of = |event: &IoEvent| {
        let at = usize::from(event.cgroup).checked_sub(1).unwrap();
        cgroups[at].path.clone().unwrap()
    };
    let written = events.iter().filter(|event| event.pid == pid && event.op == IoOp::Write);
    let paths: Vec<String> = written.map(path_of).collect();
    assert_eq!(paths.len(), 211);
    let name = cgroup.0.file_name().unwrap().to_str().unwrap();
    assert!(paths.iter().all(|path| path.ends_with(name)), "{name}: {cgroups:?}");
    let own = events.iter().find(|event| event.pid == std::process::id()).unwrap();
    assert!(!path_of(own).ends_with(name), "{}", path_of(own));
}

#[test]
fn files_have_their_paths_if_these_are_requested() {
    let Some(mounted) = MountedScratch::new() else { return };
    fs::create_dir(mounted.path("a directory")).unwrap();
    let names = ["a directory/first", "second"];
    let files = names.map(|name| open(&mounted.path(name)));
    for (paths, expected) in [(true, 2), (false, 0)] {
        let layers = vec![Layer::FileSystem];
        let wanted = CaptureOptions { layers, paths, ..options(&mounted.device) };
        let act = |_: &Capture| {
            for file in &files {
                file.write_all_at(&[1; 8192], 0).unwrap();
                file.sync_all().unwrap();
            }
            // Closed and deleted before the capture looks for its path.
            drop(open(&mounted.path("gone")));
            fs::write(mounted.path("gone"), [0; 511]).unwrap();
            fs::remove_file(mounted.path("gone")).unwrap();
        };
        let Some((capture, events)) = captured(&wanted, act) else { return };
        let found = capture.files().cloned().unwrap_or_default();
        for (file, name) in files.iter().zip(names).take(expected) {
            let inode = file.metadata().unwrap().ino();
            assert!(events.iter().any(|event| event.inode == inode), "paths: {paths}, {name}");
            let path = found.iter().find(|file| file.inode == inode).map(|file| file.path.clone());
            let expected_path = mounted.path(name).display().to_string();
            assert_eq!(path, Some(expected_path), "paths: {paths}");
        }
        assert_eq!(capture.paths().is_some(), paths);
        assert!(paths || found.is_empty(), "paths: {paths}, {found:?}");
    }
}

/// Returns the sum of merged reads and merged writes in `/sys/block/NAME/stat`.
fn merged_by_kernel(device: &ScratchDevice) -> u64 {
    let name = device.path.file_name().unwrap().to_str().unwrap();
    let text = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    let columns: Vec<u64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
    columns[1] + columns[5]
}

#[test]
fn merged_and_split_requests_are_counted_as_the_kernel_counts_them() {
    let Some(device) = loop_device() else { return };
    let name = device.path.file_name().unwrap().to_str().unwrap();
    // A megabyte spans it.
    let set = |setting, value| fs::write(format!("/sys/block/{name}/queue/{setting}"), value);
    // An earlier user of this loop device may have left merges off.
    if set("max_sectors_kb", "256").and(set("nomerges", "0")).is_err() {
        return skip("the queue's settings cannot be set");
    }
    let wanted = CaptureOptions { merges: true, ..options(&device) };
    let before = merged_by_kernel(&device);
    let file = device.open_direct().unwrap();
    let act = |_: &Capture| {
        let mut ring = IoUring::new(64).unwrap();
        let block = Box::new(super::DirectBlock([9; 4096]));
        for group in 0..101u64 {
            for part in 0..16 {
                let at = (group * 64 + part) * 4096;
                let write = opcode::Write::new(types::Fd(file.as_raw_fd()), block.0.as_ptr(), 4096);
                // SAFETY: the block outlives the requests, which are waited for.
                unsafe { ring.submission().push(&write.offset(at).build()).unwrap() };
            }
            ring.submit_and_wait(16).unwrap();
            assert!(ring.completion().all(|entry| entry.result() == 4096));
        }
        let layout = std::alloc::Layout::from_size_align(1 << 20, 4096).unwrap();
        // SAFETY: of that size and alignment, zeroed, freed below.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        // SAFETY: as above.
        let megabyte = unsafe { std::slice::from_raw_parts(memory, 1 << 20) };
        file.write_all_at(megabyte, 32 << 20).unwrap();
        // SAFETY: allocated above and not used any more.
        unsafe { std::alloc::dealloc(memory, layout) };
    };
    let Some((mut capture, events)) = captured(&wanted, act) else { return };
    let counters = capture.counters().unwrap();
    let counted = capture.merging(&counters).unwrap()[0];
    let of_ios: u64 = events.iter().map(|event| u64::from(event.merged)).sum();
    assert_eq!(of_ios, counted.merged);
    assert_eq!(counted.merged, merged_by_kernel(&device) - before);
    assert!(counted.merged >= 101, "{counted:?}");
    assert_eq!(counted.split, 3, "a megabyte in pieces of 256 KiB");
    // Merges are not counted unless requested.
    let act =
        |_: &Capture| file.write_all_at(&Box::new(super::DirectBlock([9; 4096])).0, 0).unwrap();
    let Some((mut capture, events)) = captured(&options(&device), act) else { return };
    let counters = capture.counters().unwrap();
    assert_eq!(capture.merging(&counters), None);
    assert!(events.iter().all(|event| event.merged == 0));
}
