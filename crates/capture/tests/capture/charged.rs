//! Charging of I/Os: to the process whose thread did the I/O, and for a flush to the process that
//! requested it.

use super::files::{MountedScratch, open};
use super::{SOURCES, begin, captured, for_each_variant, loop_device, options, take_rest};
use std::os::unix::fs::FileExt;
use steadfast_capture::{Capture, CaptureOptions, SourceName};
use steadfast_domain::io_event::flags;
use steadfast_domain::{IoEvent, IoOp};

/// Threads of a captured process: started before the capture and during it, one of them by a thread
/// that ends at once.
#[test]
fn every_thread_of_a_process_is_captured_through_tracefs() {
    let Some(device) = loop_device() else { return };
    let (own, source) = (Some(std::process::id()), Some(SourceName::Tracefs));
    let wanted = CaptureOptions { process: own, source, ..options(&device) };
    let file = device.open_direct().unwrap();
    let read = |from: u64| {
        for number in 0..101 {
            let mut block = Box::new(super::DirectBlock([0; 4096]));
            file.read_exact_at(&mut block.0, (from * 101 + number) * 8192).unwrap();
        }
    };
    let act = |_: &Capture| {
        read(0);
        std::thread::scope(|scope| {
            for thread in 1..7 {
                scope.spawn(move || read(thread));
            }
            scope.spawn(|| scope.spawn(|| read(7)));
        });
    };
    let Some((_, events)) = captured(&wanted, act) else { return };
    assert!(events.iter().all(|event| Some(event.pid) == own));
    let mut places: Vec<u64> = events.iter().map(|event| event.offset / 8192).collect();
    places.sort_unstable();
    assert_eq!(places, (0..8 * 101).collect::<Vec<_>>());
}

const SYNCS: u64 = 211;

#[test]
fn a_flush_is_charged_to_the_process_that_syncs() {
    for_each_variant(SOURCES, capture_flushes);
}

/// A sync of a file whose blocks are allocated requests a flush itself; for a growing file the
/// journal requests flushes, before and after its write.
fn capture_flushes(source: SourceName) {
    let Some(mounted) = MountedScratch::new() else { return };
    let file = open(&mounted.path("file"));
    file.write_all_at(&vec![1; 1 << 20], 0).unwrap();
    file.sync_all().unwrap();
    let wanted = CaptureOptions { source: Some(source), ..options(&mounted.device) };
    let Some(mut capture) = begin(&wanted) else { return };
    let mut overwriting = Vec::new();
    for number in 0..SYNCS {
        file.write_all_at(&[2; 4096], number * 4096).unwrap();
        file.sync_data().unwrap();
    }
    take_rest(&mut capture, &mut overwriting);
    let mut growing = Vec::new();
    for number in 0..SYNCS {
        file.write_all_at(&[3; 4096], (256 + number) * 4096).unwrap();
        file.sync_all().unwrap();
    }
    take_rest(&mut capture, &mut growing);
    capture.end(&mut growing).unwrap();
    let count = |events: &[IoEvent], is_requester: &dyn Fn(&IoEvent) -> bool| {
        events.iter().filter(|event| event.op == IoOp::Flush && is_requester(event)).count() as u64
    };
    let own = std::process::id();
    assert!(count(&overwriting, &|event| event.pid == own) >= SYNCS);
    assert!(count(&growing, &|event| event.command.to_string().starts_with("jbd2/")) > SYNCS);
    let is_worker = |event: &IoEvent| event.command.to_string().starts_with("kworker/");
    assert_eq!((count(&overwriting, &is_worker), count(&growing, &is_worker)), (0, 0));
}

#[test]
fn writeback_is_reported_by_every_source() {
    for_each_variant(SOURCES, |source| {
        let Some(mounted) = MountedScratch::new() else { return };
        let wanted = CaptureOptions { source: Some(source), ..options(&mounted.device) };
        let act = |_: &Capture| {
            let file = open(&mounted.path("file"));
            file.write_all_at(&vec![1; 1 << 20], 0).unwrap();
            // The kernel's workers write back the dirty data of the file system.
            // SAFETY: takes nothing and returns nothing.
            unsafe { libc::sync() };
        };
        let Some((_, events)) = captured(&wanted, act) else { return };
        let writes = events.iter().filter(|event| event.op == IoOp::Write);
        let (by_worker, others): (Vec<&IoEvent>, Vec<&IoEvent>) =
            writes.partition(|event| event.command.to_string().starts_with("kworker/"));
        assert!(by_worker.iter().map(|event| u64::from(event.bytes)).sum::<u64>() >= 1 << 20);
        let is_writeback = |event: &&IoEvent| event.flags & flags::WRITEBACK != 0;
        assert!(by_worker.iter().all(is_writeback) && !others.iter().any(is_writeback));
    });
}
