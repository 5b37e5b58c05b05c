//! Hit maps of all devices of a capture, made in two passes: the first finds the devices, their ends
//! and the streams, the second counts.

use crate::captured::{Captured, PassResult};
use crate::device_layer::device_name;
use crate::fold::Fold;
use crate::pass::PassOptions;
use crate::questions::cumulative::{CumulativeWorkload, Threshold};
use crate::questions::hits::{DeviceEnds, HitMap, HitMapQuantity, HitSteps, SIDE_MAX};
use crate::questions::streams::{ShareMeasure, StreamKey, StreamTable};
use serde::Serialize;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::CapturedDevice;
use steadfast_tracefile::error::TraceError;

/// Maximum number of steps; one less than fit, as the first may start before the span.
const HIT_STEPS_MAX: u64 = SIDE_MAX as u64 - 2;
/// Maximum number of cells of all maps, 8 bytes each.
const HIT_CELLS_MAX: usize = 1 << 25;

/// Number of steps of a map whose width is not given.
const HIT_STEPS: usize = 60;
/// Number of ranges of a map unless another is asked for.
pub const HIT_RANGES: usize = 100;

/// Quantity and resolution of hit maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitMapsChoice {
    /// Quantity of a cell.
    pub shown: HitMapQuantity,
    /// Number of LBA ranges into which a device is divided; `None` for those that the capture
    /// counted, or else [`HIT_RANGES`].
    pub ranges: Option<usize>,
    /// Width of a step in nanoseconds; `None` for one that suits the span.
    pub step_ns: Option<u64>,
    /// Streams with a smaller share of the I/Os are counted together.
    pub threshold: Threshold,
}

/// A map for every device with reads or writes of blocks.
#[derive(Debug, Clone)]
pub struct HitMaps {
    /// The steps of all maps.
    pub steps: HitSteps,
    /// Names of the streams that are counted separately, and `others`; `None` unless streams are
    /// shown.
    pub streams: Option<Vec<String>>,
    /// The maps.
    pub maps: Vec<HitMap>,
}

impl HitMaps {
    /// Counts the hits that a pass selects.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if the maps need too much memory,
    /// [`TraceError::Unsuitable`] if only sums of LBA ranges were kept and they do not have what
    /// is asked for or captures counted different ranges, and the errors of [`Captured::run`].
    pub fn read(
        captured: &Captured,
        pass: &PassOptions,
        choice: &HitMapsChoice,
    ) -> Result<PassResult<HitMaps>, TraceError> {
        let HitMapsChoice { shown, ranges, step_ns, threshold } = *choice;
        captured.check_lba_ranges()?;
        let counted = captured.conditions().lba_ranges.map(usize::from);
        if let Some(counted) = counted {
            check_counted(captured, pass, (choice, counted))?;
        }
        let ranges = ranges.or(counted).unwrap_or(HIT_RANGES);
        let (mut ends, mut table) = (DeviceEnds::default(), StreamTable::new());
        let mut folds: Vec<&mut dyn Fold> = vec![&mut ends];
        if shown == HitMapQuantity::Streams {
            folds.push(&mut table);
        }
        let account = captured.run(pass, &mut folds)?;
        let span = captured.span_of(pass, &account)?;
        let keys = CumulativeWorkload::new(&table, ShareMeasure::Count, threshold).keys();
        let steps = match step_ns {
            None if counted.is_none() => HitSteps::over(span, HIT_STEPS),
            None => HitSteps::with_width(span, captured.width(None, span, HIT_STEPS as u64)?),
            Some(_) => HitSteps::with_width(span, captured.width(step_ns, span, HIT_STEPS_MAX)?),
        };
        let planes = if shown == HitMapQuantity::Streams { keys.len() + 1 } else { 2 };
        let devices = ends.devices().count();
        let cells = devices.saturating_mul(ranges * planes).saturating_mul(steps.count);
        if cells > HIT_CELLS_MAX {
            return Err(TraceError::TooFine(format!(
                "the maps of {devices} devices need too much memory; choose devices with \
                 --device, fewer --ranges, a wider --step or a higher --threshold"
            )));
        }
        let new = |device| {
            let end = ends.end(device, captured.conditions());
            HitMap::new(device, end, ranges, steps).showing(shown, &keys)
        };
        let mut maps: Vec<HitMap> = ends.devices().map(new).collect();
        let account = captured.run_each(pass, &mut maps)?;
        let names = keys.iter().map(StreamKey::to_string).chain(["others".to_owned()]);
        let streams = (shown == HitMapQuantity::Streams).then(|| names.collect());
        Ok(PassResult { found: HitMaps { steps, streams, maps }, account })
    }
}

/// Checks that the LBA ranges that a capture of steps counted can answer.
fn check_counted(
    captured: &Captured,
    pass: &PassOptions,
    (choice, counted): (&HitMapsChoice, usize),
) -> Result<(), TraceError> {
    let refuse = |what: String| Err(TraceError::Unsuitable(what));
    if let Some(ranges) = choice.ranges.filter(|ranges| *ranges != counted) {
        return refuse(format!(
            "the capture counted {counted} LBA ranges, not {ranges}: omit --ranges"
        ));
    }
    if choice.shown == HitMapQuantity::Streams
        || pass.filter.selects_by_owner()
        || !pass.filter.streams.is_empty()
    {
        return refuse(
            "LBA ranges were counted by operation only, not by stream, process or cgroup: omit \
             these, or capture without --totals-every"
                .into(),
        );
    }
    let devices = &captured.conditions().devices;
    let is_without_size = |(device, number): &(&CapturedDevice, u16)| {
        device.capacity.is_none() && pass.filter.keeps_device(*number)
    };
    match devices.iter().zip(0u16..).find(is_without_size) {
        Some((_, number)) => refuse(format!(
            "the size of {} is unknown, so its LBA ranges have no addresses; choose other devices \
             with --device",
            device_name(captured.conditions(), number)
        )),
        None => Ok(()),
    }
}

/// The hits of a device.
#[derive(Serialize, schemars::JsonSchema)]
pub struct DeviceHits {
    /// Name of the device.
    pub device: String,
    /// Number of equal ranges that the device is divided into.
    pub ranges: usize,
    /// Size of a range in bytes.
    pub range_bytes: u64,
    /// I/Os that lie outside the map in address or time, or that move no data.
    pub outside: u64,
    /// Only what was hit.
    hits: Vec<RangeHit>,
}

/// A range in a step.
#[derive(Serialize, schemars::JsonSchema)]
struct RangeHit {
    range: usize,
    begin_ns: u64,
    #[serde(flatten)]
    value: RangeHitValue,
}

/// Values of a range in a step, by the quantity that the map shows.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
enum RangeHitValue {
    Count {
        reads: u64,
        writes: u64,
    },
    Bytes {
        read_bytes: u64,
        written_bytes: u64,
    },
    /// Hits of each stream.
    Streams {
        counts: Vec<u64>,
    },
}

impl DeviceHits {
    /// Returns what was hit in the map of a device.
    pub fn new(device: String, map: &HitMap, shown: HitMapQuantity) -> Self {
        let value = |range: usize, step: usize| {
            let [reads, writes] = [IoOp::Read, IoOp::Write].map(|op| map.hits(op, range, step));
            match shown {
                HitMapQuantity::Count => RangeHitValue::Count { reads, writes },
                HitMapQuantity::Bytes => {
                    RangeHitValue::Bytes { read_bytes: reads, written_bytes: writes }
                }
                HitMapQuantity::Streams => RangeHitValue::Streams {
                    counts: (0..map.planes())
                        .map(|plane| map.plane_hits(plane, range, step))
                        .collect(),
                },
            }
        };
        let places =
            (0..map.ranges).flat_map(|range| (0..map.steps).map(move |step| (range, step)));
        let is_hit = |(range, step): &(usize, usize)| map.strongest(*range, *step).is_some();
        let hit = |(range, step): (usize, usize)| RangeHit {
            range,
            begin_ns: map.begin_ns.saturating_add(map.width_ns.saturating_mul(step as u64)),
            value: value(range, step),
        };
        let hits = places.filter(is_hit).map(hit).collect();
        let (ranges, range_bytes) = (map.ranges, map.range_bytes);
        DeviceHits { device, ranges, range_bytes, outside: map.outside, hits }
    }
}
