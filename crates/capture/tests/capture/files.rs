//! The file-system layer: a program with known calls on ext4 on a loop device, captured at ext4's
//! entry points and at system calls.

use super::{ScratchDevice, captured, for_each_variant, loop_device, options, skip};
use io_uring::{IoUring, opcode, types};
use std::fs::{File, OpenOptions};
use std::io::{IoSlice, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use steadfast_capture::{CaptureCounters, CaptureOptions, FileCaptureMode};
use steadfast_domain::io_event::flags;
use steadfast_domain::{IoEvent, IoOp, Layer};

/// All ways to capture the file-system layer.
pub(super) const MODES: [FileCaptureMode; 2] =
    [FileCaptureMode::Calls, FileCaptureMode::EntryPoints];

/// A file system on a device of its own.
pub(super) struct MountedScratch {
    directory: tempfile::TempDir,
    pub(super) device: ScratchDevice,
}

impl MountedScratch {
    pub(super) fn new() -> Option<MountedScratch> {
        let device = loop_device()?;
        let made = Command::new("mkfs.ext4")
            .args(["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"])
            .arg(&device.path)
            .status();
        let directory = tempfile::tempdir().unwrap();
        let mount = || Command::new("mount").arg(&device.path).arg(directory.path()).status();
        if !made.is_ok_and(|status| status.success()) || !mount().is_ok_and(|s| s.success()) {
            skip("ext4 cannot be made and mounted");
            return None;
        }
        Some(MountedScratch { directory, device })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for MountedScratch {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.directory.path()).status();
    }
}

pub(super) fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// Captures the calls of this process on the file system while `act` runs.
fn calls_captured(
    layers: &[Layer],
    mode: FileCaptureMode,
    act: impl FnOnce(&MountedScratch),
) -> Option<(Vec<IoEvent>, CaptureCounters)> {
    let mounted = MountedScratch::new()?;
    let own = Some(std::process::id());
    let (layers, files) = (layers.to_vec(), Some(mode));
    let wanted = CaptureOptions { layers, files, process: own, ..options(&mounted.device) };
    let (mut capture, events) = captured(&wanted, |_| act(&mounted))?;
    Some((events, capture.counters().unwrap()))
}

/// Returns operation, offset and bytes of the events on one file.
fn on(events: &[IoEvent], inode: u64) -> Vec<(IoOp, u64, u32)> {
    let mut of_file: Vec<_> = events.iter().filter(|event| event.inode == inode).collect();
    of_file.sort_by_key(|event| event.issued_ns);
    of_file.iter().map(|event| (event.op, event.offset, event.bytes)).collect()
}

#[test]
fn every_call_on_a_file_is_captured_once_with_offset_and_bytes() {
    for_each_variant(MODES, capture_every_call);
}

fn capture_every_call(mode: FileCaptureMode) {
    let (mut expected, mut inode) = (Vec::new(), 0);
    let found = calls_captured(&[Layer::FileSystem], mode, |mounted| {
        let mut file = open(&mounted.path("file"));
        inode = file.metadata().unwrap().ino();
        let block = [7u8; 5003];
        for n in 0..499u64 {
            file.write_all_at(&block[..4099], n * 4099).unwrap();
            expected.push((IoOp::Write, n * 4099, 4099));
        }
        for n in 0..997u64 {
            let at = n * 7919 % 400 * 4099;
            file.read_exact_at(&mut [0; 1009], at).unwrap();
            expected.push((IoOp::Read, at, 1009));
        }
        file.seek(SeekFrom::Start(13)).unwrap();
        for n in 0..211u64 {
            file.read_exact(&mut [0; 509]).unwrap();
            expected.push((IoOp::Read, 13 + n * 509, 509));
        }
        file.seek(SeekFrom::Start(17)).unwrap();
        for n in 0..101u64 {
            file.write_all(&block[..307]).unwrap();
            expected.push((IoOp::Write, 17 + n * 307, 307));
        }
        let slices = [IoSlice::new(&block[..11]), IoSlice::new(&block[..31])];
        assert_eq!(file.write_vectored(&slices).unwrap(), 42);
        expected.push((IoOp::Write, 17 + 101 * 307, 42));
        for _ in 0..7 {
            file.sync_all().unwrap();
            file.sync_data().unwrap();
            expected.extend([(IoOp::Flush, 0, 0); 2]);
        }
        // Beyond the end there is nothing to read.
        assert_eq!(file.read_at(&mut [0; 64], 1 << 30).unwrap(), 0);
        expected.push((IoOp::Read, 1 << 30, 0));
        // Another file system.
        tempfile::tempfile_in("/dev/shm").unwrap().write_all(b"not seen").unwrap();
    });
    let Some((events, counters)) = found else { return };
    assert_eq!(on(&events, inode), expected);
    assert!(events.iter().all(|event| event.inode == inode && event.layer == Layer::FileSystem));
    assert!(events.iter().all(|event| event.pid == std::process::id() && event.response_ns > 0));
    assert_eq!((counters.lost, counters.skipped, counters.in_part.missing()), (0, 0, 0));
    assert_eq!(counters.unseen, []);
}

#[test]
fn appended_failed_and_direct_calls_are_distinguished() {
    for_each_variant(MODES, capture_kinds_of_calls);
}

fn capture_kinds_of_calls(mode: FileCaptureMode) {
    let (mut appended, mut too_long) = (0, 0);
    let found = calls_captured(&[Layer::FileSystem], mode, |mounted| {
        let append =
            |name| OpenOptions::new().append(true).create(true).open(mounted.path(name)).unwrap();
        let (mut one, mut other) = (append("log"), append("log"));
        appended = one.metadata().unwrap().ino();
        for _ in 0..3 {
            one.write_all(&[1; 100]).unwrap();
            other.write_all(&[2; 10]).unwrap();
        }
        let long = open(&mounted.path("long"));
        too_long = long.metadata().unwrap().ino();
        // Beyond the largest file of ext4.
        assert!(long.write_at(&[0; 8], 1 << 50).is_err());
        let mut direct = OpenOptions::new();
        direct.write(true).create(true).custom_flags(libc::O_DIRECT);
        let direct = direct.open(mounted.path("direct")).unwrap();
        direct.write_all_at(&Box::new(super::DirectBlock([3; 4096])).0, 8192).unwrap();
    });
    let Some((events, _)) = found else { return };
    let places = [(0, 100), (100, 10), (110, 100), (210, 10), (220, 100), (320, 10)];
    assert_eq!(on(&events, appended), places.map(|(offset, bytes)| (IoOp::Write, offset, bytes)));
    let failed = |event: &&IoEvent| event.flags & flags::FAILED != 0;
    let failures: Vec<_> = events.iter().filter(failed).collect();
    assert_eq!(failures.len(), 1);
    assert_eq!((failures[0].inode, failures[0].bytes), (too_long, 0));
    let direct: Vec<_> = events.iter().filter(|e| e.flags & flags::DIRECT != 0).collect();
    assert_eq!(direct.len(), 1);
    assert_eq!((direct[0].offset, direct[0].bytes), (8192, 4096));
}

#[test]
fn io_uring_is_captured_and_mapped_files_are_counted_as_unseen() {
    for_each_variant(MODES, capture_io_uring);
}

fn capture_io_uring(mode: FileCaptureMode) {
    let mut inode = 0;
    let found = calls_captured(&[Layer::FileSystem], mode, |mounted| {
        let file = open(&mounted.path("file"));
        inode = file.metadata().unwrap().ino();
        file.set_len(1 << 20).unwrap();
        let Ok(mut ring) = IoUring::new(8) else { return };
        let mut buffer = vec![5u8; 4096];
        for n in 0..101u64 {
            let (fd, start) = (types::Fd(file.as_raw_fd()), buffer.as_mut_ptr());
            let entry = match n % 3 {
                0 => opcode::Write::new(fd, start, 4096).offset(n * 8192).build(),
                1 => opcode::Read::new(fd, start, 512).offset(n * 4096).build(),
                _ => opcode::Fsync::new(fd).build(),
            };
            // SAFETY: the buffer outlives the request, which is waited for.
            unsafe { ring.submission().push(&entry).unwrap() };
            ring.submit_and_wait(1).unwrap();
            assert!(ring.completion().next().unwrap().result() >= 0);
        }
        // SAFETY: a new mapping of an open file, unmapped again below.
        unsafe {
            let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            let place = libc::mmap(std::ptr::null_mut(), 4096, read, shared, file.as_raw_fd(), 0);
            assert_ne!(place, libc::MAP_FAILED);
            libc::munmap(place, 4096);
        }
    });
    let Some((events, counters)) = found else { return };
    let expected: Vec<_> = (0..101)
        .map(|n| match n % 3 {
            0 => (IoOp::Write, n * 8192, 4096),
            1 => (IoOp::Read, n * 4096, 512),
            _ => (IoOp::Flush, 0, 0),
        })
        .collect();
    if events.is_empty() {
        return skip("io_uring is disabled here");
    }
    assert_eq!(on(&events, inode), expected);
    assert_eq!(counters.unseen.len(), 1, "{:?}", counters.unseen);
    assert!(counters.unseen[0].0.contains("mmap") && counters.unseen[0].1 == 1);
}

#[test]
fn both_layers_of_one_program_are_in_one_capture() {
    let found =
        calls_captured(&[Layer::Block, Layer::FileSystem], FileCaptureMode::Calls, |mounted| {
            let mut file = open(&mounted.path("file"));
            file.write_all(&[9; 1 << 16]).unwrap();
            file.sync_all().unwrap();
        });
    let Some((events, _)) = found else { return };
    let written = |layer| -> u64 {
        let of_layer = events.iter().filter(|e| e.layer == layer && e.op == IoOp::Write);
        of_layer.map(|event| u64::from(event.bytes)).sum()
    };
    assert_eq!(written(Layer::FileSystem), 1 << 16);
    assert!(written(Layer::Block) >= 1 << 16, "{}", written(Layer::Block));
}
