//! A load with our own capture running, written as `steadfast` writes it.

use crate::load::{CostLoad, SIZE, thread_time_ns};
use crate::scratch_device::ScratchDevice;
use crate::{CapturedData, CostRun, Fallible, RING_BYTES};
use std::fs::File;
use std::io::BufWriter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use steadfast_capture::{Capture, CaptureOptions, StepParts};
use steadfast_domain::{CaptureConditions, IoEvent, Layer};
use steadfast_tracefile::{StepWriter, TraceWriter};

pub fn run(device: &ScratchDevice, load: &CostLoad, data: CapturedData) -> Fallible<CostRun> {
    let step_ns = (data != CapturedData::Ios).then_some(1_000_000_000);
    let range_bytes =
        if data == CapturedData::Ranges { vec![SIZE.div_ceil(1000)] } else { Vec::new() };
    let options = CaptureOptions {
        devices: vec![device.capture_device()],
        layers: vec![Layer::Block],
        commands: true,
        step_ns,
        range_bytes,
        ring_bytes: RING_BYTES.into(),
        ..CaptureOptions::default()
    };
    let mut capture = Capture::begin(&options)?;
    let (stop, before) = (AtomicBool::new(false), thread_time_ns());
    let (loaded, written) = std::thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let loaded = load.apply(device);
            stop.store(true, Ordering::Relaxed);
            loaded
        });
        let written = match step_ns {
            None => write_ios(&mut capture, &stop),
            Some(_) => write_steps(&mut capture, &stop, step_ns),
        };
        (loading.join(), written)
    });
    let user_ns = thread_time_ns() - before;
    let loaded = loaded.map_err(|_| "the load panicked")?;
    let (recorded, file_bytes) = written?;
    let counters = capture.counters()?;
    let kernel_ns = counters.kernel_ns.unwrap_or(0);
    Ok(CostRun { loaded, kernel_ns, user_ns, recorded, file_bytes, reported_lost: counters.lost })
}

/// Number of I/Os, and length of the file in bytes.
type RecordedSize = Fallible<(u64, u64)>;

fn write_ios(capture: &mut Capture, stop: &AtomicBool) -> RecordedSize {
    let conditions = CaptureConditions::default();
    let mut writer = TraceWriter::new(BufWriter::new(tempfile::tempfile()?), &conditions)?;
    let mut events: Vec<IoEvent> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        events.clear();
        capture.take(&mut events)?;
        writer.write(&events)?;
    }
    events.clear();
    capture.end(&mut events)?;
    writer.write(&events)?;
    let ios = writer.rows();
    finished(ios, writer.finish(conditions)?)
}

fn write_steps(capture: &mut Capture, stop: &AtomicBool, step_ns: Option<u64>) -> RecordedSize {
    let conditions = CaptureConditions { step_ns, ..CaptureConditions::default() };
    let mut writer = StepWriter::new(BufWriter::new(tempfile::tempfile()?), &conditions)?;
    let (mut parts, mut taken) = (StepParts::default(), Instant::now());
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        if taken.elapsed() >= Duration::from_secs(1) {
            taken = Instant::now();
            capture.take_steps(&mut parts)?;
        }
    }
    capture.end(&mut Vec::new())?;
    capture.take_steps(&mut parts)?;
    writer.add(&parts.streams);
    let ios = parts.streams.iter().map(|part| part.ios).sum();
    finished(ios, writer.finish(&conditions)?)
}

fn finished(ios: u64, file: BufWriter<File>) -> RecordedSize {
    let file = file.into_inner()?;
    Ok((ios, file.metadata()?.len()))
}
