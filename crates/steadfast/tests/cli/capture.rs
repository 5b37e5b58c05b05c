//! Captures of real I/O: our counts, the engine's, the kernel's.

use super::fixtures::*;
use super::real_io::IoSum;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use steadfast_domain::{CaptureConditions, DirectBuffer, IoEvent, IoOp, Layer};
use steadfast_tracefile::{Batch, Fields, Trace, TraceError};
use steadfast_workload::WorkloadFile;

/// A running capture.
pub(super) struct RunningCapture {
    child: Child,
    file: PathBuf,
}

impl RunningCapture {
    /// Begins to capture and waits until it listens. Returns `None` and prints the reason where
    /// nothing can be captured.
    pub(super) fn new(directory: &Path, device: &LoopDevice, more: &str) -> Option<RunningCapture> {
        RunningCapture::start(directory, &format!("--device {} {more}", device.path))
    }

    /// Begins to capture with the options that name what is captured.
    fn start(directory: &Path, options: &str) -> Option<RunningCapture> {
        let messages = directory.join("capture.txt");
        let capture = format!("capture -o trace.parquet {options}");
        let mut child =
            spawn_in(directory, &capture, Stdio::null(), File::create(&messages).unwrap());
        if !wait_until_listening(&mut child, &messages) {
            skip(std::fs::read_to_string(&messages).unwrap().trim());
            return None;
        }
        Some(RunningCapture { child, file: directory.join("trace.parquet") })
    }

    pub(super) fn signal(&self, number: i32) {
        signal(&self.child, number);
    }

    /// Sends a signal and waits for the end of the capture.
    pub(super) fn end_by(&mut self, number: i32) {
        self.signal(number);
        self.child.wait().unwrap();
    }

    /// Waits until the file holds `count` writes for which `is_counted` is true, so that the capture
    /// has seen them and all before. It keeps I/Os in memory for a few seconds.
    fn wait_for_writes(&self, count: usize, is_counted: impl Fn(&IoEvent) -> bool) {
        let is_counted = |event: &&IoEvent| event.op == IoOp::Write && is_counted(event);
        wait_until("the writes in the file", || {
            let trace = read_trace(&self.file);
            trace.is_ok_and(|(_, events)| events.iter().filter(is_counted).count() >= count)
        });
    }

    /// Ends it as Ctrl-C does and reads what it wrote.
    pub(super) fn end(mut self) -> (CaptureConditions, Vec<IoEvent>) {
        self.end_by(libc::SIGINT);
        read_trace(&self.file).unwrap()
    }
}

/// Reads a file that a capture may still be writing.
fn read_trace(file: &Path) -> Result<(CaptureConditions, Vec<IoEvent>), TraceError> {
    let trace = Trace::open(File::open(file).unwrap())?;
    let mut batches = trace.batches(Fields::ALL);
    let mut batch = Batch::default();
    let mut events = Vec::new();
    loop {
        batch.clear();
        if batches.read(4096, &mut batch)? == 0 {
            break;
        }
        events.extend((0..batch.len()).map(|row| batch.event(row)));
    }
    Ok((trace.conditions().clone(), events))
}

fn sum(events: &[IoEvent], op: IoOp) -> IoSum {
    let mut sum = IoSum { ios: 0, bytes: 0 };
    for event in events.iter().filter(|event| event.op == op) {
        sum.ios += 1;
        sum.bytes += u64::from(event.bytes);
    }
    sum
}

/// Reads, read sectors, writes, written sectors, flushes, by the kernel's counters.
fn kernel_counts(device: &LoopDevice) -> [u64; 5] {
    let counters = device.counters();
    [0, 2, 4, 6, 15].map(|column| counters[column])
}

/// The counts once nothing happens on the device any more: udev looks at what
/// was written, file systems finish in the background.
pub(super) fn settled_counts(device: &LoopDevice) -> [u64; 5] {
    let mut counts = kernel_counts(device);
    for _ in 0..50 {
        std::thread::sleep(Duration::from_millis(400));
        let now = kernel_counts(device);
        if now == counts {
            break;
        }
        counts = now;
    }
    counts
}

/// The capture saw what the engine reports, read for read and write for write.
#[test]
fn a_capture_of_our_own_engine_has_exactly_what_the_engine_counted() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    // The capture would see a part of the I/Os that udev still has under way.
    settled_counts(&device);
    let Some(capture) = RunningCapture::new(here, &device, "") else { return };
    let measure = "measure 'RND 4K RW65' --demand T1Q8 --time 700ms --json";
    let measure = format!("{measure} {}", device.confirmed());
    let child = spawn_in(here, &measure, Stdio::piped(), Stdio::inherit());
    let engine = child.id();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answer: Value = parse_json(&output);
    let (conditions, events) = capture.end();
    assert_eq!((conditions.lost, conditions.unfinished), (0, 0));
    for (name, op) in [("read", IoOp::Read), ("write", IoOp::Write)] {
        let measured = array(&answer["measurement"]["streams"]).iter();
        let outside = answer["measurement"]["unmeasured"].as_array().into_iter().flatten();
        let counted: u64 = measured
            .map(|stream| (&stream["op"], &stream["tally"]["ios"]))
            .chain(outside.map(|part| (&part["op"], &part["ios"])))
            .filter(|(op, _)| **op == name)
            .map(|(_, ios)| ios.as_u64().unwrap())
            .sum();
        let seen = events
            .iter()
            .filter(|event| event.pid == engine && event.op == op && event.bytes == 4096)
            .count();
        assert_eq!(seen as u64, counted, "{name}s of {} events", events.len());
    }
}

/// A device with ext4 on it; nothing is left to be initialized in the background.
pub(super) fn with_ext4() -> Option<LoopDevice> {
    let device = LoopDevice::new(128)?;
    device.has_ext4().then_some(device)
}

/// Mounts a device below the directory and waits until nothing happens on it any more.
pub(super) fn mount(device: &LoopDevice, directory: &Path) -> Mount {
    let point = directory.join("mount");
    std::fs::create_dir(&point).unwrap();
    let mount = Mount::new(device, point);
    settled_counts(device);
    mount
}

/// A file system with a program that synchronizes: sums agree with the kernel's.
#[test]
fn a_capture_of_a_file_system_agrees_with_diskstats() {
    let Some(device) = with_ext4() else { return };
    let here = &TestDirectory::new();
    let before = settled_counts(&device);
    let Some(capture) = RunningCapture::new(here, &device, "--mark begin") else { return };
    let point = here.join("mount");
    std::fs::create_dir(&point).unwrap();
    let mount = Mount::new(&device, point);
    let mut file = File::create(mount.0.join("log")).unwrap();
    for line in 0..199 {
        writeln!(file, "{line:>500}").unwrap();
        file.sync_all().unwrap();
    }
    drop(file);
    succeed(here, "mark written");
    drop(mount);
    let after = settled_counts(&device);
    let (conditions, events) = capture.end();
    let [reads, read_sectors, writes, write_sectors, flushes] =
        std::array::from_fn(|column| after[column] - before[column]);
    assert_eq!((conditions.lost, conditions.unfinished), (0, 0));
    assert_eq!(sum(&events, IoOp::Read), IoSum { ios: reads, bytes: read_sectors * 512 });
    // The kernel counts an empty synchronizing write that no device ever sees.
    let IoSum { ios: seen, bytes } = sum(&events, IoOp::Write);
    assert!(seen <= writes, "{seen} of {writes}");
    assert_eq!(bytes, write_sectors * 512);
    // A flush is sent off when a write completes, whoever runs then; on some virtual
    // machines no BPF program runs where that is PID 1 (docs/capture.md).
    let flushed = sum(&events, IoOp::Flush).ios;
    assert!((flushes - flushes / 100..=flushes).contains(&flushed), "{flushed} of {flushes}");
    assert!(seen >= 199 && flushes >= 199, "{seen} writes, {flushes} flushes");
    let names: Vec<_> = conditions.marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(names, ["begin", "written"]);
}

/// The layers of one program: its calls to the file system, and the I/Os of the device that come of
/// them.
#[test]
fn both_layers_of_a_file_system_stand_side_by_side() {
    let Some(device) = with_ext4() else { return };
    let here = &TestDirectory::new();
    let mount = mount(&device, here);
    let more = format!("--layer block,filesystem --pid {}", std::process::id());
    let Some(capture) = RunningCapture::new(here, &device, &more) else { return };
    let file = File::create(mount.0.join("file")).unwrap();
    for block in 0..211 {
        file.write_all_at(&[7; 4096], block * 8192).unwrap();
    }
    file.sync_all().unwrap();
    drop(file);
    let (conditions, events) = capture.end();
    drop(mount);
    assert_eq!(conditions.layers, [Layer::Block, Layer::FileSystem]);
    assert_eq!(conditions.process, Some(std::process::id()));
    assert_eq!((conditions.lost, conditions.unfinished), (0, 0));
    let files: Vec<_> = events.iter().filter(|e| e.layer == Layer::FileSystem).copied().collect();
    assert_eq!(sum(&files, IoOp::Write), IoSum { ios: 211, bytes: 211 * 4096 });
    assert_eq!(sum(&files, IoOp::Flush), IoSum { ios: 1, bytes: 0 });
    let text = succeed(here, "trace compare trace.parquet --step 1s");
    assert!(text.contains(", block") && text.contains(", filesystem"), "{text}");
    // Counted together only if requested; a workload is of one layer.
    let report = "trace report trace.parquet -o report --format text";
    let mixed = "both layers counted together";
    let both = succeed(here, &format!("{report} --layer both"));
    assert!(both.contains(mixed), "{both}");
    let block = succeed(here, report);
    assert!(!block.contains(mixed) && block.contains("layer block"), "{block}");
    let derive = "workload derive trace.parquet --threshold 0%";
    refuse(here, &format!("{derive} --layer both"), &["one layer", "--layer filesystem"]);
    succeed(here, derive);
    let files = succeed(here, &format!("{derive} --layer filesystem"));
    assert!(files.contains("212 of 212 I/Os"), "{files}");
}

/// A deleted file's inode goes to the next file: no I/O is listed under the other file's path.
#[test]
fn files_that_reuse_an_inode_keep_their_own_paths() {
    let Some(device) = with_ext4() else { return };
    let here = &TestDirectory::new();
    let mount = mount(&device, here);
    let options = "--layer filesystem --paths";
    let Some(capture) = RunningCapture::new(here, &device, options) else { return };
    let (wal, dd) = (mount.0.join("db-wal"), mount.0.join("dd"));
    let file = File::create(&wal).unwrap();
    let inode = file.metadata().unwrap().ino();
    for block in 0..40 {
        file.write_all_at(&[1; 4096], block * 4096).unwrap();
    }
    capture.wait_for_writes(40, |event| event.pid == std::process::id());
    // Its last writes, and the next file within a tick or a few.
    for block in 0..10 {
        file.write_all_at(&[2; 4096], block * 4096).unwrap();
    }
    drop(file);
    std::fs::remove_file(&wal).unwrap();
    let of = format!("of={}", dd.display());
    let copied = Command::new("dd").args(["if=/dev/zero", &of, "bs=8k", "count=50"]).output();
    assert!(copied.unwrap().status.success());
    let reused = std::fs::metadata(&dd).unwrap().ino() == inode;
    let (conditions, _) = capture.end();
    drop(mount);
    assert!(reused, "ext4 gave the inode to no other file");
    assert_eq!(conditions.lost, 0);
    let json = succeed_json(here, "trace groups trace.parquet --by file,process --json");
    let writes = |path: Option<&Path>, is_ours: bool| -> u64 {
        let path = path.map(|path| path.to_str().unwrap());
        let mut writes = 0;
        for row in array(&json["groups"]) {
            if row["path"].as_str() == path && (row["pid"] == std::process::id()) == is_ours {
                writes += row["writes"].as_u64().unwrap();
            }
        }
        writes
    };
    assert_eq!((writes(Some(&dd), false), writes(Some(&wal), false)), (50, 0), "{json}");
    assert_eq!(writes(Some(&dd), true), 0, "{json}");
    // The last writes have the path, or none where they may be of either file.
    let (known, unknown) = (writes(Some(&wal), true), writes(None, true));
    assert!((40..=50).contains(&known) && known + unknown == 50, "{json}");
}

/// Mounts a file system on a new directory; `None` if the kernel has no such file system.
fn mount_kind(kind: &str, directory: &Path) -> Option<Mount> {
    let point = directory.join(kind);
    std::fs::create_dir(&point).unwrap();
    let options = match kind {
        "overlay" => {
            let layers = ["low", "up", "work"].map(|name| directory.join(name));
            layers.iter().for_each(|layer| std::fs::create_dir(layer).unwrap());
            let [low, up, work] = layers.each_ref().map(|layer| layer.display());
            format!("lowerdir={low},upperdir={up},workdir={work}")
        }
        _ => "size=16m".to_owned(),
    };
    Mount::of_kind(kind, &options, point)
}

/// File systems that lie on no block device are captured by their mount points.
#[test]
fn a_mount_is_captured_by_its_files() {
    let here = &TestDirectory::new();
    // overlayfs takes no layers on another overlayfs as its upper one.
    let memory = mount_kind("tmpfs", here);
    let overlay = memory.as_ref().and_then(|memory| mount_kind("overlay", &memory.0));
    let points: Vec<&Path> = memory.iter().chain(&overlay).map(|mount| mount.0.as_path()).collect();
    let [first, rest @ ..] = points.as_slice() else { return skip("tmpfs is not mounted") };
    let mounts: String =
        points.iter().map(|point| format!("--mount {} ", point.display())).collect();
    let Some(capture) = RunningCapture::start(here, &(mounts + "--paths")) else { return };
    let file = first.join("on-memory");
    File::create(&file).unwrap().write_all_at(&[7; 12_288], 4096).unwrap();
    for point in rest {
        let file = File::create(point.join("on-overlay")).unwrap();
        (0..10).for_each(|block| file.write_all_at(&[7; 4096], block * 4096).unwrap());
        file.sync_all().unwrap();
        assert_eq!(std::fs::read(point.join("on-overlay")).unwrap().len(), 40_960);
    }
    let (conditions, events) = capture.end();
    assert_eq!(conditions.lost, 0);
    let names: Vec<&str> = conditions.devices.iter().map(|device| device.name.as_str()).collect();
    let named: Vec<&str> = points.iter().map(|point| point.to_str().unwrap()).collect();
    assert_eq!(names, named);
    assert_eq!(conditions.devices[0].model.as_deref(), Some("tmpfs, tmpfs"));
    assert!(events.iter().all(|event| event.layer == Layer::FileSystem));
    let of = |device: u16| -> Vec<IoEvent> {
        events.iter().filter(|event| event.device == device).cloned().collect()
    };
    // What is written through the overlay reaches the file system below it as the kernel's own I/O,
    // which is no call of a program.
    assert_eq!(sum(&of(0), IoOp::Write), IoSum { ios: 1, bytes: 12_288 });
    if !rest.is_empty() {
        assert_eq!(sum(&of(1), IoOp::Write), IoSum { ios: 10, bytes: 40_960 });
        assert_eq!(sum(&of(1), IoOp::Flush).ios, 1);
        assert_eq!(sum(&of(1), IoOp::Read).bytes, 40_960);
    }
    let groups = succeed(here, "trace groups trace.parquet --by file --layer filesystem");
    assert!(groups.contains("on-memory") || groups.contains("inode"), "{groups}");
    refuse(here, "capture --mount tmpfs/nowhere -o x.parquet", &["find it"]);
    std::fs::create_dir(here.join("plain")).unwrap();
    refuse(here, "capture --mount plain -o x.parquet", &["nothing is mounted"]);
    refuse(here, "capture --mount tmpfs --layer block -o x.parquet", &["--layer filesystem"]);
}

/// A FUSE file system, whose server is a process like any other, is captured by its mount point.
#[test]
fn a_fuse_mount_is_captured_by_its_calls() {
    let here = &TestDirectory::new();
    let Some(fuse) = FuseMount::new(&here.join("point"), 0) else { return };
    let options = format!("--mount {}", fuse.point.display());
    let Some(capture) = RunningCapture::start(here, &options) else { return };
    let file = File::options().read(true).write(true).open(fuse.point.join("file")).unwrap();
    (0..10).for_each(|block| file.write_all_at(&[7; 4096], block * 4096).unwrap());
    file.sync_all().unwrap();
    (0..5).for_each(|block| file.read_exact_at(&mut [0; 8192], block * 8192).unwrap());
    drop(file);
    let (conditions, events) = capture.end();
    assert_eq!(conditions.lost, 0);
    assert_eq!(conditions.devices[0].model.as_deref(), Some("fuse, fuse"));
    assert_eq!(sum(&events, IoOp::Write), IoSum { ios: 10, bytes: 40_960 });
    assert_eq!(sum(&events, IoOp::Read), IoSum { ios: 5, bytes: 40_960 });
    assert_eq!(sum(&events, IoOp::Flush).ios, 1);
    let offsets = events.iter().filter(|event| event.op == IoOp::Write).map(|event| event.offset);
    assert!(offsets.eq((0..10).map(|block| block * 4096)));
}

/// Another disk that gets the number of one that was removed has a name of its own.
#[test]
fn a_loop_device_with_another_file_is_another_device() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let other = tempfile::NamedTempFile::new().unwrap();
    other.as_file().set_len(64 << 20).unwrap();
    let Some(capture) = RunningCapture::new(here, &device, "") else { return };
    let write = |count: &str| {
        let of = format!("of={}", device.path);
        let words = ["if=/dev/zero", &of, "bs=4k", "oflag=direct", count];
        assert!(Command::new("dd").args(words).output().unwrap().status.success());
    };
    write("count=30");
    capture.wait_for_writes(30, |_| true);
    device.attach(other.path());
    write("count=50");
    capture.wait_for_writes(50, |event| event.device > 0);
    let (conditions, events) = capture.end();
    let writes = |device: usize| {
        let of_device = |event: &&IoEvent| usize::from(event.device) == device;
        events.iter().filter(of_device).filter(|event| event.op == IoOp::Write).count()
    };
    let names: Vec<&str> = conditions.devices.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names[0], device.name());
    assert!(names[1..].iter().all(|name| name.starts_with(&format!("{} (", device.name()))));
    let last = names.len() - 1;
    assert!(last >= 1 && writes(last) == 50 && writes(0) == 30, "{names:?}: {}", writes(0));
    assert!(conditions.remarks.iter().any(|remark| remark.contains("went away")));
    let doctor = succeed(here, "trace doctor trace.parquet");
    assert!(doctor.contains("went away during the capture"), "{doctor}");
}

/// Figures of a stream that two captures of one load have in common.
#[derive(Debug)]
struct StreamSummary {
    name: String,
    count: u64,
    amount: u64,
    qd_mean: f64,
}

fn streams(directory: &Path, more: &str) -> Vec<StreamSummary> {
    let streams = format!("trace streams trace.parquet --json {more}");
    let answer = succeed_json(directory, &streams);
    let summary = |stream: &Value| StreamSummary {
        name: stream["stream"].as_str().unwrap().to_owned(),
        count: stream["count"].as_u64().unwrap(),
        amount: stream["amount"].as_u64().unwrap(),
        qd_mean: stream["qd_mean"].as_f64().unwrap(),
    };
    array(&answer["streams"]).iter().map(summary).collect()
}

/// Asserts that two captures of one load have the same streams. Where an I/O is issued as another
/// ends, they may see the two in different order, so that queue depths differ a little.
fn assert_same_streams(one: &[StreamSummary], other: &[StreamSummary]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        let is_same =
            (&one.name, one.count, one.amount) == (&other.name, other.count, other.amount);
        assert!(is_same, "{one:?} and {other:?}");
        assert!((one.qd_mean / other.qd_mean - 1.0).abs() < 0.05, "{one:?} and {other:?}");
    }
}

/// Streams that are added up in the kernel are those of a capture of every I/O:
/// operation, RND/SEQ, size, counts, bytes, queue depths.
#[test]
fn capture_steps_added_up_in_the_kernel_equal_those_of_every_io() {
    let Some(device) = LoopDevice::new(64) else { return };
    let (added, every) = (&TestDirectory::new(), &TestDirectory::new());
    settled_counts(&device);
    let own = format!("--pid {}", std::process::id());
    let steps = format!("{own} --totals-every 100ms");
    let Some(mut steps) = RunningCapture::new(added, &device, &steps) else { return };
    let ios = RunningCapture::new(every, &device, &own).unwrap();
    let file = File::options().read(true).write(true).open(&device.path).unwrap();
    for n in 0..1009u64 {
        // Random reads, and two sequential streams in turn.
        file.read_exact_at(&mut [0; 512], 8192 * (n * 7919 % 4096)).unwrap();
        file.write_all_at(&[1; 4096], (32 << 20) + n * 4096).unwrap();
        file.write_all_at(&[2; 8192], (48 << 20) + n % 499 * 8192).unwrap();
        file.sync_data().unwrap();
    }
    drop(file);
    ios.end();
    steps.end_by(libc::SIGINT);
    let found = streams(added, "");
    assert!(found.len() > 3, "{found:?}");
    assert_same_streams(&found, &streams(every, ""));
    let table = succeed(added, "trace steps trace.parquet --step 200ms");
    assert!(table.contains("\nsteps of 200 ms"), "{table}");
    let map = succeed(added, "trace map trace.parquet");
    assert!(map.contains("SEQ 4K W") || map.contains("SEQ 8K W"), "{map}");
    assert_eq!(comparable_workload(added), comparable_workload(every));
    let (exact, coarse) = (response_99(every), response_99(added));
    assert_eq!(exact.len(), coarse.len());
    for ((stream, exact), (same, coarse)) in exact.iter().zip(coarse) {
        // A bucket is a quarter wide at most; two captures stamp a little apart.
        let most = exact * 1.5 + 50_000.0;
        assert!(*stream == same && (exact * 0.8..most).contains(&coarse), "{stream}: {coarse}");
    }
    assert_report_of_sums(added);
}

/// The reader of steps finds a table half full: every I/O has a row of its own, by its thread's name.
#[test]
fn steps_that_have_waited_are_read_to_the_last_row() {
    const READS: u64 = 30_011;
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    settled_counts(&device);
    let steps = format!("--totals-every 1s --pid {}", std::process::id());
    let Some(mut capture) = RunningCapture::new(here, &device, &steps) else { return };
    capture.signal(libc::SIGSTOP);
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(&device.path).unwrap();
    let mut buffer = DirectBuffer::new(4096);
    for n in 0..READS {
        std::fs::write("/proc/thread-self/comm", format!("reader {n}")).unwrap();
        file.read_exact_at(&mut buffer, n * 7919 % 16_001 * 4096).unwrap();
    }
    drop(file);
    capture.signal(libc::SIGCONT);
    capture.end_by(libc::SIGINT);
    let counts = streams(here, "").into_iter().map(|stream| stream.count);
    assert_eq!(counts.sum::<u64>(), READS);
}

/// Reads, writes, bytes read and bytes written of each range that was touched.
fn ranges_hit(directory: &Path, more: &str) -> BTreeMap<u64, [u64; 4]> {
    let mut found: BTreeMap<u64, [u64; 4]> = BTreeMap::new();
    for (show, fields) in
        [("count", ["reads", "writes"]), ("bytes", ["read_bytes", "written_bytes"])]
    {
        let hits = format!("trace hits trace.parquet --step 1h --show {show} --json {more}");
        let answer = succeed_json(directory, &hits);
        let map = &answer["maps"][0];
        assert_eq!((&map["ranges"], &map["range_bytes"]), (&1000.into(), &67_109.into()));
        assert_eq!(map["outside"], 0, "{map}");
        for hit in array(&map["hits"]) {
            let values = found.entry(hit["range"].as_u64().unwrap()).or_default();
            let first = if show == "count" { 0 } else { 2 };
            for (at, field) in fields.iter().enumerate() {
                values[first + at] = hit[field].as_u64().unwrap();
            }
        }
    }
    found
}

/// The LBA ranges of 10,007 I/Os at known offsets, of sizes that touch one to three ranges: what
/// the kernel counted is what a capture of every I/O has, and what was made.
#[test]
fn lba_ranges_counted_in_the_kernel_equal_those_of_every_io() {
    const RANGE: u64 = (64u64 << 20).div_ceil(1000);
    let Some(device) = LoopDevice::new(64) else { return };
    let (added, every) = (&TestDirectory::new(), &TestDirectory::new());
    settled_counts(&device);
    let own = format!("--pid {}", std::process::id());
    let steps = format!("{own} --totals-every 100ms --totals-ranges 1000");
    let Some(mut steps) = RunningCapture::new(added, &device, &steps) else { return };
    let ios = RunningCapture::new(every, &device, &own).unwrap();
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(&device.path)
        .unwrap();
    let mut expected: BTreeMap<u64, [u64; 4]> = BTreeMap::new();
    for n in 0..10_007u64 {
        let bytes = [4096, 65_536, 122_880, 512][n as usize % 4];
        let (offset, is_write) = (n * 7919 % 16_001 * 4096, n % 3 == 0);
        let mut buffer = DirectBuffer::new(bytes as usize);
        if is_write {
            file.write_all_at(&buffer, offset).unwrap();
        } else {
            file.read_exact_at(&mut buffer, offset).unwrap();
        }
        for range in offset / RANGE..=(offset + bytes - 1) / RANGE {
            let there = (offset + bytes).min((range + 1) * RANGE) - offset.max(range * RANGE);
            let values = expected.entry(range).or_default();
            values[usize::from(is_write)] += 1;
            values[2 + usize::from(is_write)] += there;
        }
    }
    drop(file);
    ios.end();
    steps.end_by(libc::SIGINT);
    assert_eq!(ranges_hit(added, ""), expected);
    assert_eq!(ranges_hit(every, "--ranges 1000"), expected);
    let writes = ranges_hit(added, "--op write");
    assert!(writes.values().all(|values| values[0] == 0 && values[1] > 0), "{writes:?}");
    let picture = succeed(added, "trace hits trace.parquet");
    assert!(picture.contains("1000 ranges of"), "{picture}");
    for (option, named) in [
        ("--ranges 100", "1000 LBA ranges"),
        ("--show streams", "by operation only"),
        ("--stream 'RND 4K R'", "by operation only"),
        ("--pid 1", "by operation only"),
    ] {
        refuse(added, &format!("trace hits trace.parquet {option}"), &[named]);
    }
    refuse(added, "trace hot trace.parquet", &["no single I/Os"]);
    let capture = format!("capture -o x.parquet --device {} --totals-ranges 10", device.path);
    refuse(added, &capture, &["--totals-every"]);
}

/// The workload file of a capture, without what differs between two captures of one load: they
/// begin at different times, so that steps are cut elsewhere.
fn comparable_workload(directory: &Path) -> WorkloadFile {
    let derive = "workload derive trace.parquet --threshold 0% -o w.toml --native --step 100ms";
    succeed(directory, derive);
    let text = std::fs::read_to_string(directory.join("w.toml")).unwrap();
    let mut file = WorkloadFile::read(&text).unwrap();
    assert!(file.steps.len() > 1 && file.workload.streams.len() > 3, "{file}");
    for stream in &file.workload.streams {
        let cells = file.steps.iter().flat_map(|step| &step.ios);
        let ios: u64 = cells.filter(|(key, _)| *key == stream.key()).map(|(_, ios)| ios).sum();
        assert_eq!(ios, stream.count, "{}", stream.stream);
    }
    file.steps.clear();
    // Queue depths, and the demand of them, differ a little from capture to capture.
    file.workload.streams.iter_mut().for_each(|stream| stream.qd_mean = None);
    file.demand = None;
    // Sums have neither addresses nor gaps.
    (file.placement, file.arrivals) = Default::default();
    file.remarks.clear();
    file
}

/// The 99 % response times of the streams that have one.
fn response_99(directory: &Path) -> Vec<(String, f64)> {
    let answer = succeed_json(directory, "trace streams trace.parquet --json");
    let known = array(&answer["streams"]).iter().filter_map(|stream| {
        Some((stream["stream"].to_string(), stream["response"]["p99_ns"].as_f64()?))
    });
    known.collect()
}

/// Asserts that a report of sums says what it omits, and that questions that need single I/Os are
/// refused.
fn assert_report_of_sums(directory: &Path) {
    succeed(directory, "trace report trace.parquet -o r --step 100ms --format html,csv,json");
    let html = std::fs::read_to_string(directory.join("r/report.html")).unwrap();
    assert!(html.contains("IO Stream Map by frequency") && html.contains("no single I/Os"));
    assert!(!html.contains("LBA range hit map of") && html.contains("Process map by"));
    let parts = ["no single I/Os", "and report, and workload derive"];
    refuse(directory, "trace hits trace.parquet", &parts);
    refuse(directory, "trace steps trace.parquet --step 150ms", &["multiple"]);
    refuse(directory, "trace steps trace.parquet --window 8", &["omit --window"]);
}

/// Steps of both layers have the streams of a capture of every I/O and every call.
#[test]
fn capture_steps_of_both_layers_equal_those_of_every_io() {
    let Some(device) = with_ext4() else { return };
    let (every, added) = (&TestDirectory::new(), &TestDirectory::new());
    let mount = mount(&device, every);
    let own = std::process::id();
    let both = format!("--layer block,filesystem --file-probes calls --pid {own}");
    let steps = format!("{both} --totals-every 100ms");
    let Some(mut steps) = RunningCapture::new(added, &device, &steps) else { return };
    let ios = RunningCapture::new(every, &device, &both).unwrap();
    let create = |name| File::create_new(mount.0.join(name)).unwrap();
    let (log, table) = (create("log"), create("table"));
    for n in 0..211 {
        log.write_all_at(&[1; 4099], n * 4099).unwrap();
        table.write_all_at(&[2; 4096], n * 101 % 211 * 8192).unwrap();
        if n % 10 == 0 {
            log.sync_data().unwrap();
        }
    }
    drop((log, table));
    ios.end();
    steps.end_by(libc::SIGINT);
    drop(mount);
    for layer in ["block", "filesystem"] {
        let layer = format!("--layer {layer}");
        let found = streams(added, &layer);
        assert_same_streams(&found, &streams(every, &layer));
        assert!(!found.is_empty());
    }
    let files = streams(added, "--layer filesystem");
    let counts = |name: &str| -> Vec<u64> {
        files.iter().filter(|stream| stream.name == name).map(|stream| stream.count).collect()
    };
    // 4,099 bytes have no name in KiB.
    assert_eq!(counts("RND 4K W"), [211]);
    assert_eq!(counts("FLUSH"), [22]);
    assert_layers_are_compared_and_derived(added);
}

fn assert_layers_are_compared_and_derived(directory: &Path) {
    let compare = "trace compare trace.parquet --step 1s";
    let text = succeed(directory, compare);
    assert!(text.contains(", block") && text.contains(", filesystem"), "{text}");
    let sides = succeed_json(directory, &format!("{compare} --json"));
    let layers = array(&sides["sides"]).iter().map(|side| side["layer"].to_string());
    assert_eq!(layers.collect::<Vec<_>>(), ["\"block\"", "\"file-system\""]);
    succeed(directory, "workload derive trace.parquet --layer filesystem -o w.toml --threshold 0%");
    let file = std::fs::read_to_string(directory.join("w.toml")).unwrap();
    let streams = WorkloadFile::read(&file).unwrap().workload.streams;
    let ios: u64 = streams.iter().map(|stream| stream.count).sum();
    assert_eq!(ios, 211 + 211 + 22);
    succeed(directory, "trace report trace.parquet -o r --format csv");
}

/// A partition is captured by its name; offsets count from the beginning of the disk.
#[test]
fn a_partition_is_captured_alone() {
    let Some(device) = LoopDevice::new(64) else { return };
    // One partition in a master boot record: type 0x83, from sector 2048, 4096 long.
    let mut record = [0u8; 512];
    record[450] = 0x83;
    record[454..458].copy_from_slice(&2048u32.to_le_bytes());
    record[458..462].copy_from_slice(&4096u32.to_le_bytes());
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    let disk = File::options().write(true).open(&device.path).unwrap();
    disk.write_all_at(&record, 0).unwrap();
    disk.sync_all().unwrap();
    let partx = |what: &str| Command::new("partx").args([what, device.path.as_str()]).status();
    let part = format!("{}p1", device.path);
    if !partx("--add").is_ok_and(|status| status.success()) || !Path::new(&part).exists() {
        return skip("partx makes no partitions here");
    }
    settled_counts(&device);
    let here = &TestDirectory::new();
    let options = format!("--device {part} --pid {}", std::process::id());
    let capture = RunningCapture::start(here, &options);
    let inside = File::options().write(true).open(&part).unwrap();
    inside.write_all_at(&[1; 4096], 8192).unwrap();
    inside.sync_data().unwrap();
    disk.write_all_at(&[1; 4096], 48 << 20).unwrap();
    disk.sync_data().unwrap();
    let found = capture.map(RunningCapture::end);
    drop((inside, disk));
    let both = format!("capture -o t.parquet --device {part} --device {}", device.path);
    refuse(here, &both, &["overlap on one disk", "partitions"]);
    assert!(partx("--delete").unwrap().success());
    let Some((conditions, events)) = found else { return };
    let written = events.iter().filter(|event| event.op == IoOp::Write);
    let places: Vec<_> = written.map(|event| (event.offset, event.bytes)).collect();
    assert_eq!(places, [((2048 << 9) + 8192, 4096)]);
    assert_eq!(format!("/dev/{}", conditions.devices[0].name), part);
    assert!(conditions.remarks.iter().any(|remark| remark.contains("partition")));
}

/// What was captured before a kill can be read.
#[test]
fn a_killed_capture_leaves_what_it_had() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let Some(mut capture) = RunningCapture::new(here, &device, "") else { return };
    let file = File::open(&device.path).unwrap();
    file.read_exact_at(&mut [0; 4096], 1 << 20).unwrap();
    let done = Instant::now();
    let has_read = |events: &[IoEvent]| events.iter().any(|event| event.op == IoOp::Read);
    wait_until("the read", || read_trace(&capture.file).is_ok_and(|(_, events)| has_read(&events)));
    // What was captured stays in memory for five seconds at most; steps do for a minute.
    assert!(done.elapsed() < Duration::from_secs(45), "after {:?}", done.elapsed());
    capture.end_by(libc::SIGKILL);
    let (conditions, events) = read_trace(&capture.file).unwrap();
    assert!(has_read(&events), "{} events", events.len());
    assert!(!conditions.processors.is_empty());
    let output = run_in(here, "mark 'too late'");
    let text = stdout(&output) + &stderr(&output);
    assert!(!text.contains("panicked"), "{text}");
}

/// The recovered file of a killed capture of steps has the same streams and steps, figure for
/// figure.
#[test]
fn a_killed_capture_of_steps_is_recovered() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    // So many narrow steps that they are on disk long before a minute is over.
    let steps = format!("--totals-every 100us --pid {}", std::process::id());
    let Some(mut capture) = RunningCapture::new(here, &device, &steps) else { return };
    let file = File::options().read(true).write(true).open(&device.path).unwrap();
    let end = Instant::now() + Duration::from_secs(180);
    let file_bytes = || std::fs::metadata(here.join("trace.parquet")).unwrap().len();
    let mut done = 0u64;
    while file_bytes() < 20_000 && Instant::now() < end {
        file.read_exact_at(&mut [0; 4096], 8192 * (done * 7919 % 4096)).unwrap();
        file.write_all_at(&[1; 4096], 8192 * (done * 6007 % 4096)).unwrap();
        file.sync_data().unwrap();
        done += 1;
    }
    assert!(file_bytes() >= 20_000, "{} bytes after {done} I/Os", file_bytes());
    let ios = |answer: &Value| -> u64 {
        let streams = answer["streams"].as_array().into_iter().flatten();
        streams.map(|stream| stream["count"].as_u64().unwrap()).sum()
    };
    // The footer that locates the row group follows it.
    wait_until("the row group", || {
        let output = run_in(here, "trace streams trace.parquet --json");
        ios(&serde_json::from_slice(&output.stdout).unwrap_or_default()) > 100
    });
    capture.end_by(libc::SIGKILL);
    let read = |command: &str, file: &str, is_damaged: bool| {
        let output = run_ending(here, &format!("trace {command} {file} --json"), &[0]);
        let messages = stderr(&output);
        assert_eq!(messages.contains("the capture was killed"), is_damaged, "{messages}");
        let mut answer: Value = parse_json(&output);
        answer["file"] = Value::Null;
        answer["conditions"] = Value::Null;
        answer
    };
    refuse(here, "trace recover trace.parquet -o trace.parquet", &["trace.parquet", "input"]);
    let text = succeed(here, "trace recover trace.parquet -o r.parquet");
    assert!(text.contains("rows of streams and steps"), "{text}");
    for command in ["streams", "map"] {
        let damaged = read(command, "trace.parquet", true);
        assert_eq!(damaged, read(command, "r.parquet", false), "{command}");
    }
    let ios = ios(&read("streams", "r.parquet", false));
    assert!(ios > 100 && ios <= 4 * done, "{ios} of {done} times three or four");
}

/// Every I/O is in one of a rotated capture's files, also if the next file's name is taken meanwhile;
/// together they are the whole.
#[test]
fn a_rotated_capture_continues_past_a_file_in_its_way() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    settled_counts(&device);
    let more = format!("--rotate-time 1s --pid {}", std::process::id());
    let before = ticks();
    let Some(mut capture) = RunningCapture::new(here, &device, &more) else { return };
    let part_name = |part: u32| match part {
        1 => "trace.parquet".to_owned(),
        part => format!("trace.{part}.parquet"),
    };
    let obstacle = obstruct(here, part_name);
    let file = File::options().write(true).open(&device.path).unwrap();
    for block in 0..29 {
        file.write_all_at(&[7; 4096], block * 8192).unwrap();
        file.sync_data().unwrap();
        std::thread::sleep(Duration::from_millis(150));
    }
    let files = || {
        let is_ours = |part: &u32| *part != obstacle && here.join(part_name(*part)).exists();
        (1..obstacle + 200).filter(is_ours).map(part_name).collect::<Vec<_>>()
    };
    wait_until("a file past the obstacle, and the fourth", || {
        here.join(part_name(obstacle + 1)).exists() && files().len() > 3
    });
    capture.end_by(libc::SIGINT);
    assert_eq!(std::fs::read_to_string(here.join(part_name(obstacle))).unwrap(), "another's");
    let files = files();
    let names = files.join(" ");
    let found = succeed_json(here, &format!("trace streams --op write --json {names}"));
    assert_eq!(found["total"]["count"], 29, "{found}");
    // The host's processor time was read throughout: each file begins where the one before ended.
    let conditions = |name| read_trace(&here.join(name)).unwrap().0;
    let readings: Vec<_> = files.iter().map(|name| conditions(name).processors).collect();
    assert!(readings.windows(2).all(|pair| pair[0].last() == pair[1].first()), "{readings:?}");
    let (first, last) = (readings[0][0], *readings[readings.len() - 1].last().unwrap());
    // The kernel's counters of idle time and of time waiting for I/O can fall by a little
    // (Documentation/filesystems/proc.rst): less than the seconds that the capture lasted.
    let passed = last.total.checked_sub(first.total).unwrap();
    assert!(passed > 0 && before <= first.total + passed && last.total <= ticks() + passed);
    let steps = succeed_json(here, &format!("trace steps --step 1s --json {names}"));
    let share = |step: &Value| {
        Some(step["host_cpu_share"].as_f64()? + step["host_io_wait_share"].as_f64()?)
    };
    let shares: Vec<f64> = array(&steps["steps"]).iter().filter_map(share).collect();
    // The sum of both may be above 1 where the counter of idle time has fallen.
    assert!(shares.len() > 2 && shares.iter().all(|share| (0.0..=1.1).contains(share)), "{steps}");
}

/// Puts a file in the way of a capture that rotates, under the first free name of its files from the
/// third on, and returns the number of that file. The capture may create it at the same moment; then
/// the next is tried.
fn obstruct(directory: &Path, name: impl Fn(u32) -> String) -> u32 {
    for part in 3.. {
        let path = directory.join(name(part));
        match File::options().write(true).create_new(true).open(path) {
            Ok(mut file) => {
                file.write_all(b"another's").unwrap();
                return part;
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists),
        }
    }
    unreachable!("every number is taken")
}

/// Ticks of all processors since boot, without those of guests, which are among the others.
fn ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let ticks = text.lines().next().unwrap().split_whitespace().skip(1).take(8);
    ticks.map(|tick| tick.parse::<u64>().unwrap()).sum()
}

/// A capture whose file is on a device that it captures says so.
#[test]
fn a_capture_onto_its_own_device_says_so() {
    let Some(device) = with_ext4() else { return };
    let here = &TestDirectory::new();
    let mount = Mount::new(&device, here.to_path_buf());
    let Some(capture) = RunningCapture::new(here, &device, "") else { return };
    let (conditions, _) = capture.end();
    drop(mount);
    let is_named =
        |text: &String| text.contains("trace.parquet is on") && text.contains(device.name());
    assert!(conditions.remarks.iter().any(is_named), "{:?}", conditions.remarks);
}

#[test]
fn a_capture_that_cannot_be_is_refused_with_the_reason() {
    let directory = &TestDirectory::new();
    std::fs::write(directory.join("file"), "not a device").unwrap();
    let capture = |device: &str| format!("capture --device {device} -o t.parquet");
    refuse(directory, &capture("/dev/no-such-device"), &["no-such-device"]);
    refuse(directory, &capture("file"), &["file", "not a block device"]);
    let Some(device) = LoopDevice::new(16) else { return };
    let capture = capture(&device.path);
    // No process has such an ID.
    refuse(directory, &format!("{capture} --pid 4294967295"), &["4294967295"]);
    std::fs::write(directory.join("t.2.parquet"), "").unwrap();
    refuse(directory, &format!("{capture} --rotate-time 1h"), &["t.2.parquet exists"]);
}

/// Every block of known content is sampled: half of each of the first ones is random, the others
/// are zero.
#[test]
fn written_blocks_are_sampled_by_their_content() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    settled_counts(&device);
    let Some(capture) = RunningCapture::new(here, &device, "--content-sample 1") else { return };
    let mut content = vec![0; 1009 * 4096];
    for block in 0..503usize {
        for word in 0..256 {
            let at = block * 4096 + word * 8;
            let random = steadfast_domain::random_bits::mix64(at as u64).to_le_bytes();
            content[at..at + 8].copy_from_slice(&random);
        }
    }
    let disk = File::options().write(true).open(&device.path).unwrap();
    disk.write_all_at(&content, 0).unwrap();
    disk.sync_all().unwrap();
    drop(disk);
    let (conditions, events) = capture.end();
    let sample = conditions.content.expect("a sample");
    assert_eq!((sample.blocks, sample.duplicates), (1009, 505), "{sample:?}");
    assert_eq!(conditions.duplicate_share, Some(505.0 / 1009.0));
    // 503 halves, and next to nothing of the zeros.
    let ratio = conditions.compression_ratio.unwrap();
    assert!((3.8..4.1).contains(&ratio), "{ratio}");
    let sampler_reads = events.iter().filter(|event| event.op == IoOp::Read && event.pid != 0);
    let own = sampler_reads.filter(|event| event.command.to_string() == "steadfast");
    assert_eq!(own.count(), 0, "the sampler's own reads are not the server's");
}

#[test]
fn content_is_not_sampled_of_steps_or_files_alone() {
    let Some(device) = LoopDevice::new(4) else { return };
    let here = &TestDirectory::new();
    for (options, reason) in
        [("--totals-every 1s", "cannot be used with"), ("--layer filesystem", "add --layer block")]
    {
        let device = &device.path;
        let capture = format!("capture --device {device} -o t {options} --content-sample 7");
        refuse(here, &capture, &[reason]);
    }
}
