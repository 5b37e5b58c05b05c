//! Every fold over random splits of random I/Os: the folds of parts, merged in any order, equal the
//! fold of the whole. Limits are low, so that they are exceeded.

use super::synthetic::key;
use proptest::prelude::*;
use std::collections::BTreeMap;
use steadfast_analysis::annotate::sequential::{IoAnnotations, Sequencer};
use steadfast_analysis::cells::{CubeCell, Dimensions, FilteredCells};
use steadfast_analysis::clock::CaptureClock;
use steadfast_analysis::cube::CellSums;
use steadfast_analysis::questions::compare::{SideSet, Sides};
use steadfast_analysis::questions::day_profile::DayProfile;
use steadfast_analysis::questions::drives::Drives;
use steadfast_analysis::questions::groups::{Facet, Groups};
use steadfast_analysis::questions::hits::{DeviceEnds, HitMap, HitSteps};
use steadfast_analysis::questions::hot::HotRanges;
use steadfast_analysis::questions::load_shape::LoadShape;
use steadfast_analysis::questions::locality::Locality;
use steadfast_analysis::questions::processes::ProcessTable;
use steadfast_analysis::questions::quality::Completeness;
use steadfast_analysis::questions::series::{SeriesOverTime, SeriesSelection};
use steadfast_analysis::questions::steps::{CaptureStep, Steps};
use steadfast_analysis::questions::working_set::WorkingSet;
use steadfast_analysis::{AnnotatedBatch, Fold, ShareMeasure, StreamTable};
use steadfast_domain::io_event::{CommandName, StreamInStep};
use steadfast_domain::{FineHistogram, IoEvent, IoOp, Layer};
use steadfast_tracefile::{Batch, StreamKey};

const STEP_NS: u64 = 200_000;

/// I/Os and sums, each with the number of its part.
#[derive(Debug)]
struct PartitionedIos {
    batch: Batch,
    part_of: Vec<usize>,
    sums: Vec<(StreamInStep, usize)>,
    /// Order in which the parts are merged.
    order: Vec<usize>,
}

/// Draws I/Os with few distinct keys, so that parts have keys in common.
fn any_io() -> impl Strategy<Value = IoEvent> {
    let io = (0u64..5_000_000, 0u64..900_000, 0u64..40, 0usize..5, 0u16..4, 0u32..6);
    io.prop_map(|(issued_ns, response, place, op, device, pid)| IoEvent {
        issued_ns,
        response_ns: if response < 50_000 { u64::MAX } else { response },
        offset: place * 4096,
        // Some sizes are not whole sectors.
        bytes: if op == 3 { 0 } else { 4096 * (1 + (place % 3) as u32) + (place % 7 / 5) as u32 },
        op: IoOp::ALL[op],
        device,
        pid,
        command: CommandName::new(["a", "b"][pid as usize % 2]),
        tid: pid + place as u32 % 3,
        thread: CommandName::new(["", "c"][place as usize % 2]),
        cgroup: device % 3,
        merged: op as u16,
        inode: place % 5,
        layer: if place == 7 { Layer::FileSystem } else { Layer::Block },
        flags: (place % 2) as u16 * 64 + (place % 5) as u16,
        queued_ns: response % 7 * 1000,
        cpu: (pid % 3) as u16,
        ..IoEvent::default()
    })
}

/// Returns the sums of `ios` I/Os like this one.
fn sum_of(io: &IoEvent, ios: u64) -> StreamInStep {
    let responses = if io.response_ns == u64::MAX { 0 } else { ios };
    StreamInStep {
        step: io.issued_ns / STEP_NS,
        device: io.device,
        layer: io.layer,
        op: io.op,
        sequential: io.offset.is_multiple_of(3),
        bytes: io.bytes,
        pid: io.pid,
        command: io.command,
        ios,
        failed: ios / 2,
        responses,
        response_sum_ns: responses * 1000,
        response_max_ns: responses * 700,
        response_buckets: vec![(FineHistogram::index(io.issued_ns) as u16, responses)],
        depth_sum: ios * 3,
        depth_max: io.pid,
        offsets: io.offset,
    }
}

fn any_parts() -> impl Strategy<Value = PartitionedIos> {
    let rows = |count| {
        let ios = prop::collection::vec((any_io(), 0..count), 1..300);
        let sums = prop::collection::vec((any_io(), 1u64..9, 0..count), 0..100);
        let order: Vec<usize> = (0..count).collect();
        (ios, sums, Just(order).prop_shuffle())
    };
    (1usize..6).prop_flat_map(rows).prop_map(|(mut ios, sums, order)| {
        ios.sort_by_key(|(io, _)| io.issued_ns);
        let plain: Vec<IoEvent> = ios.iter().map(|(io, _)| *io).collect();
        PartitionedIos {
            batch: Batch::from_events(&plain),
            part_of: ios.iter().map(|(_, part)| *part).collect(),
            sums: sums.iter().map(|(io, ios, part)| (sum_of(io, *ios), *part)).collect(),
            order,
        }
    })
}

impl PartitionedIos {
    /// Folds the chosen parts: their single I/Os and, if the fold accepts them, their sums.
    fn fold<F: Fold>(&self, new: &impl Fn() -> F, chosen: &dyn Fn(usize) -> bool) -> F {
        let mut fold = new();
        let mut sequencer = Sequencer::new(4).with_annotations(true);
        sequencer.follow(&self.batch);
        let annotations: Vec<IoAnnotations> = sequencer
            .annotations
            .iter()
            .zip(0..)
            .map(|(io, row)| IoAnnotations {
                gap_ns: Some(row * 977).filter(|gap| gap % 3 > 0),
                ..*io
            })
            .collect();
        let batch = AnnotatedBatch {
            batch: self.batch.clone(),
            sequential: sequencer.sequential,
            depth: sequencer.depth,
            busy: sequencer.busy,
            kept: self.part_of.iter().map(|part| chosen(*part)).collect(),
            order_ns: (0..self.batch.len()).map(|row| self.batch.issued_ns(row)).collect(),
            annotations,
            ..AnnotatedBatch::default()
        };
        fold.take(&batch.rows()).unwrap();
        let dimensions = Dimensions { processes: true, ..Dimensions::default() };
        if fold.check_dimensions(dimensions).is_ok() {
            let cell = |(row, _): &(StreamInStep, usize)| {
                let begin_ns = row.step * STEP_NS;
                CubeCell::from_step(row.clone(), begin_ns, (begin_ns, begin_ns + STEP_NS - 1))
            };
            let sums = self.sums.iter().filter(|(_, part)| chosen(*part));
            let cells: Vec<CubeCell> = sums.map(cell).collect();
            let (busy, ranges) = (&[][..], &[][..]);
            let cells = FilteredCells { step_ns: STEP_NS, dimensions, cells: &cells, busy, ranges };
            fold.take_cells(&cells).unwrap();
        }
        fold
    }

    /// Returns the fold of the whole, and the merged folds of the parts.
    fn both<F: Fold>(&self, new: impl Fn() -> F) -> (F, F) {
        let whole = self.fold(&new, &|_| true);
        let parts = self.order.iter().map(|part| self.fold(&new, &|of| of == *part));
        let merged = parts.reduce(|mut one, other| {
            one.merge(other).unwrap();
            one
        });
        (whole, merged.unwrap())
    }

    /// Returns the folds of the parts, merged pair by pair, the later ones first.
    fn merged_as_tree<F: Fold>(&self, new: impl Fn() -> F) -> F {
        let parts = self.order.iter().map(|part| self.fold(&new, &|of| of == *part));
        let mut parts: Vec<F> = parts.collect();
        while parts.len() > 1 {
            let mut last = parts.pop().unwrap();
            last.merge(parts.remove(0)).unwrap();
            parts.push(last);
        }
        parts.pop().unwrap()
    }
}

/// Checks that a fold merges exactly, by a result that is computed from it.
macro_rules! merges {
    ($parts:expr, $new:expr, $result:expr) => {
        let (whole, merged) = $parts.both(|| $new);
        let tree = $parts.merged_as_tree(|| $new);
        let whole = $result(whole);
        prop_assert_eq!(&$result(merged), &whole);
        prop_assert_eq!(&$result(tree), &whole);
    };
}

proptest! {
    #[test]
    fn streams(parts in any_parts(), most in 0usize..40) {
        merges!(parts, StreamTable::keeping(most), |table| table);
    }

    #[test]
    fn processes(parts in any_parts(), most in 0usize..9) {
        merges!(parts, ProcessTable::keeping(most), |table| table);
        merges!(parts, ProcessTable::keeping(most), |table: ProcessTable| table.by_command().listing());
    }

    #[test]
    fn groups(parts in any_parts(), most in 0usize..40, chosen in 0usize..10) {
        let facets = [Facet::ALL[chosen], Facet::ALL[(chosen + 1) % 10]];
        merges!(parts, Groups::keeping(most, &facets), |groups| groups);
    }

    #[test]
    fn drives_and_quality(parts in any_parts(), most in 0usize..20) {
        let conditions = steadfast_domain::CaptureConditions {
            devices: vec![Default::default(); 2],
            ..Default::default()
        };
        merges!(parts, Drives::keeping(most), |drives: Drives| drives.listing(&conditions));
        merges!(parts, Completeness::from_conditions(&conditions), |quality| quality);
    }

    #[test]
    fn locality(parts in any_parts(), bytes in 0usize..12_000) {
        merges!(parts, Locality::keeping(bytes, 1), |locality: Locality| locality.figures());
    }

    #[test]
    fn days(parts in any_parts()) {
        let conditions = steadfast_domain::CaptureConditions {
            began_unix_ns: Some(86_399_999_000_000),
            ..Default::default()
        };
        let clock = CaptureClock::from_conditions(&conditions, None).unwrap();
        let new = || DayProfile::new(clock.clone(), STEP_NS * 5).unwrap();
        merges!(parts, new(), |days| days);
    }

    #[test]
    fn steps(parts in any_parts(), width in 1u64..4, until in 0u64..9_000_000) {
        merges!(parts, Steps::new(width * STEP_NS).until(until), |steps: Steps| steps.finish().unwrap());
    }

    #[test]
    fn sides(parts in any_parts(), most in 0usize..9) {
        merges!(parts, Sides::keeping(most, STEP_NS, u64::MAX), |sides: Sides| sides.finish().unwrap());
        merges!(parts, SideSet::default(), |sides| sides);
    }

    #[test]
    fn series(parts in any_parts(), width in 1u64..4) {
        let choice = SeriesSelection::Streams(vec![key("RND 4K R"), key("SEQ 8K W")]);
        merges!(parts, SeriesOverTime::new(width * STEP_NS, &choice), |series| series);
        let process = ProcessTable::keeping(1);
        let (found, _) = parts.both(|| process.clone());
        let choice = SeriesSelection::Processes(found.most_active(1));
        merges!(parts, SeriesOverTime::new(width * STEP_NS, &choice), |series| series);
    }

    #[test]
    fn hit_maps_and_working_sets(parts in any_parts(), device in 0u16..4) {
        let steps = HitSteps::over((0, 5_000_000), 11);
        merges!(parts, HitMap::new(device, 140_000, 13, steps), |map| map);
        let streams = [StreamKey { op: IoOp::Read, sequential: false, bytes: 4096 }];
        let map = || HitMap::new(device, 140_000, 13, steps).by(ShareMeasure::Bytes).by_stream(&streams);
        merges!(parts, map(), |map| map);
        merges!(parts, HotRanges::new(device, 140_000, 13), |ranges| ranges);
        merges!(parts, HotRanges::keeping(3, device, 140_000, 13), |ranges| ranges);
        merges!(parts, DeviceEnds::default(), |ends| ends);
        merges!(parts, WorkingSet::new(device, 1 << 30), |reach| reach);
    }

    #[test]
    fn shapes(parts in any_parts(), width in 1u64..4) {
        let keys = [key("RND 4K R"), key("RND 8K W"), key("SEQ 4K R")];
        merges!(parts, LoadShape::new(width * STEP_NS, &keys), |shape| shape);
    }

    #[test]
    fn sides_add_up_to_all_steps(parts in any_parts()) {
        let (steps, _) = parts.both(|| Steps::new(STEP_NS));
        let (sides, _) = parts.both(|| Sides::new(STEP_NS, u64::MAX));
        let mut merged: BTreeMap<u64, CaptureStep> = BTreeMap::new();
        for side in sides.finish().unwrap().sides {
            for (number, step) in side.steps {
                merged.entry(number).or_default().merge(&step);
            }
        }
        prop_assert_eq!(merged, steps.finish().unwrap());
    }
}

/// Streams of whole sectors are kept before others, and small sizes before large ones.
#[test]
fn beyond_the_limit_the_same_streams_are_kept_in_any_order() {
    let io = |bytes| IoEvent { bytes, response_ns: 5, ..IoEvent::default() };
    let sizes = || (1..=600u32).chain((1..=9).map(|n| n * 4096));
    let folded = |events: Vec<IoEvent>| {
        let mut table = StreamTable::keeping(12);
        table.take(&AnnotatedBatch::from_events(&events).rows()).unwrap();
        table
    };
    let upwards = folded(sizes().map(io).collect());
    let downwards = folded(sizes().rev().map(io).collect());
    assert_eq!(upwards, downwards);
    let mut kept: Vec<u32> = upwards.iter().map(|(key, _)| key.bytes).collect();
    kept.sort_unstable();
    let sectors = (1..=9).map(|n| n * 4096);
    assert_eq!(kept, [1, 2, 512].into_iter().chain(sectors).collect::<Vec<u32>>());
    assert_eq!((upwards.unlisted().count(), upwards.total().count()), (597, 609));
}
