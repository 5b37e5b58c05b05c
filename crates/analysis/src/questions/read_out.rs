//! The hit map read out at a time: how much each I/O stream moved, and where on the device.

use crate::captured::{Captured, PassResult};
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*};
use crate::filter::Filter;
use crate::pass::PassOptions;
use crate::questions::cumulative::{CumulativeWorkload, Threshold};
use crate::questions::hits::{DeviceEnds, HitMap, HitSteps};
use crate::questions::streams::{ShareMeasure, StreamKey, StreamTable};
use serde::Serialize;
use std::cmp::Reverse;
use steadfast_tracefile::error::TraceError;

/// Maximum number of counters of all devices, of 8 bytes each.
const COUNTERS_MAX: usize = 1 << 25;

/// A time, and how finely it is read out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOutChoice {
    /// Start, in nanoseconds since the capture began.
    pub from_ns: u64,
    /// End, in nanoseconds since the capture began.
    pub to_ns: u64,
    /// Number of LBA ranges into which a device is divided.
    pub ranges: usize,
    /// Streams with a smaller share of the bytes are read out together.
    pub threshold: Threshold,
}

/// The streams of a device in a time.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOut {
    /// Number of the device in the capture.
    pub device: u16,
    /// Number of equal ranges that the device is divided into.
    pub ranges: usize,
    /// Size of a range in bytes.
    pub range_bytes: u64,
    /// The streams, by bytes in descending order.
    pub streams: Vec<StreamPlace>,
}

/// Bytes that a stream moved in a time, and the range in which it moved most of them.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "PlaceFigures", description = "The form in which JSON holds a place.")]
pub struct StreamPlace {
    /// Name of the stream, or `others`.
    pub stream: String,
    /// Bytes on the whole device.
    pub bytes: u64,
    /// Number of the range with the most bytes, from 0.
    pub range: usize,
    /// Bytes in that range.
    pub bytes_there: u64,
    /// Where the range begins, in percent of the device.
    pub percent: f64,
    /// Width of a range in percent of the device.
    #[serde(skip)]
    tolerance_percent: f64,
}

impl ReadOut {
    /// Reads out every device with reads or writes in the time that the pass selects.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if there are too many streams and ranges, and the errors of
    /// [`Captured::run`].
    pub fn read(
        captured: &Captured,
        pass: &PassOptions,
        choice: &ReadOutChoice,
    ) -> Result<PassResult<Vec<ReadOut>>, TraceError> {
        let filter: Filter = pass.filter.clone().within(&[(choice.from_ns, choice.to_ns)]);
        let pass = PassOptions { filter, ..pass.clone() };
        let (mut ends, mut table) = (DeviceEnds::default(), StreamTable::new());
        captured.run(&pass, &mut [&mut ends, &mut table])?;
        let keys = CumulativeWorkload::new(&table, ShareMeasure::Bytes, choice.threshold).keys();
        let devices: Vec<u16> = ends.devices().collect();
        let counters = (keys.len() + 1).saturating_mul(choice.ranges).saturating_mul(devices.len());
        if counters > COUNTERS_MAX {
            return Err(TraceError::TooFine(format!(
                "{} streams in {} ranges of {} devices need too much memory; choose fewer ranges, \
                 a higher threshold or a device",
                keys.len(),
                choice.ranges,
                devices.len()
            )));
        }
        let width_ns = choice.to_ns.saturating_sub(choice.from_ns);
        let steps = HitSteps { begin_ns: choice.from_ns, width_ns, count: 1 };
        let map = |device: &u16| {
            // The end of the I/Os of a moment is not that of the device.
            let size = captured.size_of(*device).unwrap_or(1);
            HitMap::new(*device, size, choice.ranges, steps)
                .by(ShareMeasure::Bytes)
                .by_stream(&keys)
        };
        let mut maps: Vec<HitMap> = devices.iter().map(map).collect();
        let account = captured.run_each(&pass, &mut maps)?;
        let found = maps.iter().map(|map| ReadOut::from_map(map, &keys)).collect();
        Ok(PassResult { found, account })
    }

    /// Reads out the first step of a map of bytes by stream.
    fn from_map(map: &HitMap, keys: &[StreamKey]) -> ReadOut {
        let mut streams = Vec::new();
        for plane in 0..map.planes() {
            let there = (0..map.ranges).map(|range| map.plane_hits(plane, range, 0));
            let bytes = there.clone().fold(0, u64::saturating_add);
            let most = there.enumerate().max_by_key(|(range, bytes)| (*bytes, Reverse(*range)));
            if let Some((range, bytes_there @ 1..)) = most {
                let stream = keys.get(plane).map_or("others".to_owned(), ToString::to_string);
                let tolerance_percent = 100.0 / map.ranges as f64;
                let percent = range as f64 * 100.0 / map.ranges as f64;
                // The first of several ranges that are equal.
                streams.push(StreamPlace {
                    stream,
                    bytes,
                    range,
                    bytes_there,
                    percent,
                    tolerance_percent,
                });
            }
        }
        streams.sort_by_key(|place| Reverse(place.bytes));
        let (device, ranges) = (map.device(), map.ranges);
        ReadOut { device, ranges, range_bytes: map.range_bytes, streams }
    }

    /// Returns the width of a range in percent of the device, within which a place is known.
    pub fn tolerance_percent(&self) -> f64 {
        100.0 / self.ranges as f64
    }
}

impl StreamPlace {
    /// Returns the place as text with its tolerance: `92.1 +/- 0.1`.
    fn place(&self) -> String {
        let tolerance = self.tolerance_percent;
        let digits = if tolerance < 0.1 { 2 } else { 1 };
        format!("{:.digits$} +/- {tolerance:.digits$}", self.percent)
    }
}

type ReadOutColumn = ListingColumn<StreamPlace>;

impl StreamPlace {
    const STREAM: ReadOutColumn =
        ListingColumn::shown("I/O stream", Plain(0), Text(|place| place.stream.clone()));
    const GIB_IN_RANGE: ReadOutColumn = ListingColumn::shown(
        "GiB",
        Plain(6),
        Real(|place| place.bytes_there as f64 / f64::from(1 << 30)),
    );
    const PLACE: ReadOutColumn =
        ListingColumn::shown("at LBA %", Plain(1), Text(|place| place.place()));
    const SHARE: ReadOutColumn = ListingColumn::shown(
        "% of the stream",
        Percent(1),
        Real(|place| place.bytes_there as f64 / place.bytes.max(1) as f64),
    );
    const GIB: ReadOutColumn = ListingColumn::shown(
        "GiB everywhere",
        Plain(6),
        Real(|place| place.bytes as f64 / f64::from(1 << 30)),
    );

    /// Columns of a terminal's table.
    pub const TABLE: [ReadOutColumn; 5] =
        [Self::STREAM, Self::GIB_IN_RANGE, Self::PLACE, Self::SHARE, Self::GIB];

    /// Columns of a report's table, next to the names of the streams.
    pub const OF_REPORT: [ReadOutColumn; 4] =
        [Self::GIB_IN_RANGE, Self::PLACE, Self::SHARE, Self::GIB];
}
