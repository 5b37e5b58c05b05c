//! Address zones and arrivals of a derived workload, measured from the single I/Os of a capture.

use crate::arrivals::{ArrivalSums, CapturedArrivals};
use crate::placement::Placement;
use crate::zones::AddressCells;
use std::collections::BTreeMap;
use steadfast_analysis::device_layer::DeviceLayer;
use steadfast_analysis::questions::compare::SideSet;
use steadfast_analysis::questions::cumulative::CumulativeWorkload;
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_analysis::{AnnotatedRows, Captured, PassOptions};
use steadfast_domain::{Bytes, IoOp, Layer};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::Fields;

/// Maximum number of streams with zones and arrivals of their own: those with the largest shares.
/// The addresses of each need up to 400 kB while they are measured.
const STREAMS_MAX: usize = 64;

/// Number of gaps and of burst lengths from which the distributions of all I/Os are measured; of a
/// stream, a quarter of it.
const SAMPLED_GAPS: usize = 1 << 16;

/// Zones and arrivals of a capture, and the reasons for missing ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkloadDetails {
    /// Zones of the streams.
    pub placement: Placement,
    /// Arrivals of all I/Os and of the streams.
    pub arrivals: CapturedArrivals,
    /// Remarks on what could not be measured, one sentence each.
    pub remarks: Vec<String>,
}

/// The only device of a capture, and the length of its address range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    /// Index of the device.
    pub device: u16,
    /// Length in bytes.
    pub length: u64,
}

impl AddressRange {
    /// Returns the range of the only device with selected I/Os: its capacity, or up to the last
    /// byte touched. The inner error is the reason, as part of a sentence, if the addresses belong
    /// to files or several devices, or if their extent is unknown.
    pub fn from_capture(
        captured: &Captured,
        pass: &PassOptions,
    ) -> Result<Result<Self, &'static str>, TraceError> {
        let mut seen = SideSet::default();
        captured.run(pass, &mut [&mut seen])?;
        let mut sides = seen.iter();
        let (Some(DeviceLayer { device, layer }), None) = (sides.next(), sides.next()) else {
            return Ok(Err("the I/Os are those of several devices (choose one with --device)"));
        };
        if layer == Layer::FileSystem {
            return Ok(Err("the addresses are those of files"));
        }
        let length = captured.size_of(device).filter(|length| *length > 0);
        let range = length.map(|length| AddressRange { device, length });
        Ok(range.ok_or("the extent of the addresses is unknown"))
    }
}

/// First pass over a stream: its addresses, first time and last time.
struct StreamScan {
    key: StreamKey,
    cells: Option<AddressCells>,
    ios: u64,
    first_ns: u64,
    last_ns: u64,
}

impl StreamScan {
    fn new(key: StreamKey, cells: Option<AddressCells>) -> Self {
        StreamScan { key, cells, ios: 0, first_ns: u64::MAX, last_ns: 0 }
    }

    fn add(&mut self, at_ns: u64, offset: u64, bytes: u32) {
        self.ios += 1;
        self.first_ns = self.first_ns.min(at_ns);
        self.last_ns = self.last_ns.max(at_ns);
        if let Some(cells) = &mut self.cells {
            cells.add(offset, u64::from(bytes));
        }
    }
}

impl WorkloadDetails {
    /// Measures the streams of a derived workload. Reads the capture three times.
    pub fn read(
        captured: &Captured,
        pass: &PassOptions,
        workload: &CumulativeWorkload,
    ) -> Result<Self, TraceError> {
        let mut details = WorkloadDetails::default();
        if captured.rows().is_none() {
            let remark = "It carries no address zones and no arrivals: no single I/Os of one capture \
                were kept.";
            details.remarks.push(remark.to_owned());
            return Ok(details);
        }
        let range = match AddressRange::from_capture(captured, pass)? {
            Ok(range) => Some(range),
            Err(why) => {
                details.remarks.push(format!("It carries no address zones: {why}."));
                None
            }
        };
        let scans = scan(captured, pass, workload, range)?;
        details.placement.measured_in = range.map(|range| Bytes(range.length));
        for StreamScan { key, cells, .. } in &scans[1..] {
            let Some(cells) = cells else { continue };
            let zones = if key.sequential { cells.extent() } else { cells.zones() };
            if !zones.is_empty() {
                details.placement.by_stream.insert(*key, zones);
            }
        }
        if captured.conditions().rounded_times {
            let remark =
                "It carries no arrivals: the times of the capture are coarser than the gaps.";
            details.remarks.push(remark.to_owned());
        } else {
            details.arrivals = arrivals(captured, pass, &scans)?;
        }
        let streams = workload.streams.len();
        if streams > STREAMS_MAX {
            details.remarks.push(format!(
                "Only the {STREAMS_MAX} streams with the largest shares of {streams} carry zones and \
                 arrivals."
            ));
        }
        Ok(details)
    }
}

/// Scans all I/Os together (the first entry) and each stream.
fn scan(
    captured: &Captured,
    pass: &PassOptions,
    workload: &CumulativeWorkload,
    range: Option<AddressRange>,
) -> Result<Vec<StreamScan>, TraceError> {
    let all_ios = StreamKey { op: IoOp::Other, sequential: false, bytes: 0 };
    let mut scans = vec![StreamScan::new(all_ios, None)];
    scans.extend(workload.streams.iter().take(STREAMS_MAX).map(|stream| {
        let size = u64::from(stream.bytes);
        let alignment = stream.alignment.unwrap_or(512).min(size.next_power_of_two());
        let has_address = size > 0 && stream.op != IoOp::Flush;
        let cells = range.filter(|_| has_address);
        let cells = cells.map(|range| AddressCells::new(range.length, size, alignment));
        StreamScan::new(stream.key(), cells)
    }));
    let indices = indices(&scans);
    each_io(captured, pass, &indices, |index, rows, row| {
        let (at_ns, offset) = (rows.batch.issued_ns(row), rows.batch.offset(row));
        scans[index].add(at_ns, offset, rows.batch.bytes(row));
    })?;
    Ok(scans)
}

/// Returns the index of each stream in the scans.
fn indices(scans: &[StreamScan]) -> BTreeMap<StreamKey, usize> {
    scans.iter().enumerate().skip(1).map(|(index, scan)| (scan.key, index)).collect()
}

/// Calls `take` for each I/O: with index 0, which stands for all I/Os, and with that of its stream,
/// if it has one.
fn each_io(
    captured: &Captured,
    pass: &PassOptions,
    indices: &BTreeMap<StreamKey, usize>,
    mut take: impl FnMut(usize, &AnnotatedRows<'_>, usize),
) -> Result<(), TraceError> {
    let mut ios = captured.ios(pass, Fields::NONE)?;
    while let Some(rows) = ios.next_batch()? {
        for row in rows.iter() {
            let (op, bytes) = (rows.batch.op(row), rows.batch.bytes(row));
            let key = StreamKey { op, sequential: rows.sequential[row], bytes };
            take(0, &rows, row);
            if let Some(index) = indices.get(&key) {
                take(*index, &rows, row);
            }
        }
    }
    Ok(())
}

/// Measures the arrivals of all I/Os and of each stream.
fn arrivals(
    captured: &Captured,
    pass: &PassOptions,
    scans: &[StreamScan],
) -> Result<CapturedArrivals, TraceError> {
    let mut sums: Vec<Option<ArrivalSums>> = Vec::new();
    for (index, scan) in scans.iter().enumerate() {
        let sampled = if index == 0 { SAMPLED_GAPS } else { SAMPLED_GAPS / 4 };
        sums.push(ArrivalSums::new(scan.ios, scan.first_ns, scan.last_ns, sampled));
    }
    if sums.iter().all(Option::is_none) {
        return Ok(CapturedArrivals::default());
    }
    each_io(captured, pass, &indices(scans), |index, rows, row| {
        if let Some(sums) = &mut sums[index] {
            sums.add_arrival(rows.batch.issued_ns(row), rows.response_ns(row));
        }
    })?;
    let mut arrivals = CapturedArrivals::default();
    for (index, (scan, sums)) in scans.iter().zip(sums).enumerate() {
        let Some(process) = sums.map(ArrivalSums::into_process) else { continue };
        if index == 0 {
            arrivals.all = Some(process);
        } else {
            arrivals.by_stream.insert(scan.key, process);
        }
    }
    Ok(arrivals)
}
