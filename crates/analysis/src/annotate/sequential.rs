//! [`Sequencer`]: annotates each I/O from its neighbors, with sequentiality, queue depth and busy
//! time.
//!
//! This needs the events in issue order and some memory of earlier ones. It is therefore done once,
//! for all events, before filtering. The folds that follow look at each event alone and can be
//! merged.
//!
//! # The rule of sequentiality
//!
//! An I/O is sequential if it begins where one of the last `window` I/Os, or one of the last
//! `window` sequential runs, of the same operation on the same device and layer (on the file-system
//! layer: in the same file) ended. A run begins with the first I/O that continues another. The I/O
//! that it continues counts as random, because nothing indicated a run when it was issued.
//!
//! Neither the standard nor its tutorial gives a formula. The window recognizes interleaved
//! sequential streams, and a stream whose I/Os were issued out of order; with a window of 1 two
//! interleaved streams count as random. Runs are remembered in addition to the window because a
//! stream with 2 % of the I/Os continues itself only after some fifty others. The chance that a
//! random I/O is taken for sequential is at most `2 x window / addresses` (64 in 268 million 4 KiB
//! blocks of a TiB). I/Os without bytes (flushes) are never sequential.
//!
//! The search itself, which decides whether an I/O is random or sequential, is in `lookback.rs`; queue
//! depths are counted in `outstanding.rs`, and busy time is determined in `busy_time.rs`.

use crate::annotate::busy_time::{BusySpan, DeviceBusySpan, DeviceBusyTime};
use crate::annotate::lookback::{
    DeviceIos, IOS_MAX, IoExtent, Lookback, LookbackScratch, LookbackState, PlaceInRun,
};
use crate::annotate::outstanding::{OutstandingSet, OutstandingState};
use crate::annotate::rows_by_kind::{NewKind, ROWS_MAX, RowsByKind};
use crate::device_layer::{DeviceLayer, device_layer_index};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{CaptureConditions, Layer};
use steadfast_tracefile::batch::{Batch, NarrowColumn, WideColumn};
use steadfast_tracefile::schema::Field;
use steadfast_tracefile::simd;

/// Default number of I/Os, and of runs, of the same operation and device in the lookback.
pub const WINDOW: usize = 32;

const _: () = assert!(ROWS_MAX <= IOS_MAX);

/// Optional annotations of an I/O from the I/Os before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoAnnotations {
    /// Time since the previous I/O of the same stream that passes the filter, in nanoseconds;
    /// `None` for the first.
    pub gap_ns: Option<u64>,
    /// Time for which the device had been idle, in nanoseconds; 0 if it was busy, if this is
    /// unknown, or for the first I/O.
    pub idle_ns: u64,
    /// Position within its sequential run among the I/Os that pass the filter, starting at 1; 0 for a
    /// random I/O.
    pub run: u32,
    /// Slot of its sequential run. A run that begins may take the slot of one that ended.
    pub run_slot: u32,
}

impl IoAnnotations {
    /// Annotations of a random I/O without neighbors.
    const NONE: IoAnnotations = IoAnnotations { gap_ns: None, idle_ns: 0, run: 0, run_slot: 0 };
}

/// Returns the index of a run's slot. Each lookback has `window` slots.
fn run_slot(lookback: usize, window: usize, run: usize) -> u32 {
    (lookback * window + run) as u32
}

/// Source of the queue depth of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepthSource {
    /// The recorded depth, or a count from issue and response times if none is recorded.
    Recorded,
    /// A count for every I/O. An I/O whose completion the source missed stays outstanding in the
    /// depths that it recorded, so all later depths are too high. A count treats such an I/O, which
    /// has no response time, as never outstanding.
    Counted,
    /// No known depth: the times are coarser than the gaps between I/Os.
    Unknown,
}

impl DepthSource {
    /// Returns the source that suits the conditions of a capture. A capture of a single process
    /// cannot be counted from, because the I/Os of other processes are missing.
    pub fn from_conditions(conditions: &CaptureConditions) -> DepthSource {
        match conditions.in_part {
            _ if conditions.rounded_times => DepthSource::Unknown,
            Some(part) if part.unended > 0 && conditions.process.is_none() => DepthSource::Counted,
            _ => DepthSource::Recorded,
        }
    }
}

/// Annotates the I/Os of a trace, batch by batch.
pub struct Sequencer {
    window: usize,
    depths: DepthSource,
    recent_slots: Vec<u32>,
    recent: Vec<Lookback>,
    device_slots: Vec<u32>,
    devices: Vec<DeviceState>,
    /// True for each sequential I/O of the batch.
    pub sequential: Vec<bool>,
    /// I/Os outstanding at issue, including the I/O itself; 0 if unknown. Empty if all depths are
    /// recorded and left in the batch.
    pub depth: Vec<u32>,
    /// Time in which the device would have been idle without the I/O; empty if busy time is off.
    pub busy: Vec<BusySpan>,
    /// Optional annotations before the filter; empty if they are off. All I/Os count in the
    /// positions within runs, and gaps are `None`.
    pub annotations: Vec<IoAnnotations>,
    has_annotations: bool,
    has_busy: bool,
    keeps_recorded_depth: bool,
    kinds: RowsByKind,
    scratch: LookbackScratch,
    /// Number of I/Os whose depth was counted.
    pub depths_counted: u64,
}

/// State of a [`Sequencer`] at a position in a trace. It suffices to annotate the rest of the trace
/// as if everything before had been read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequencerState {
    window: usize,
    recent_slots: Vec<u32>,
    recent: Vec<LookbackState>,
    device_slots: Vec<u32>,
    devices: Vec<SavedDevice>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SavedDevice {
    busy: DeviceBusyTime,
    outstanding: OutstandingState,
}

impl SequencerState {
    /// Iterates over the sequential runs by slot, with the number of I/Os in each.
    pub(crate) fn run_lengths(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let window = self.window;
        self.recent.iter().enumerate().flat_map(move |(number, lookback)| {
            let lengths = lookback.run_lengths();
            lengths.map(move |(run, length)| (run_slot(number, window, run), length))
        })
    }
}

#[derive(Default)]
struct DeviceState {
    busy: DeviceBusyTime,
    outstanding: OutstandingSet,
}

impl Sequencer {
    /// Creates a sequencer that looks back at `window` I/Os, at least one.
    pub fn new(window: usize) -> Self {
        Sequencer {
            window: window.max(1),
            depths: DepthSource::Recorded,
            recent_slots: Vec::new(),
            recent: Vec::new(),
            device_slots: Vec::new(),
            devices: Vec::new(),
            sequential: Vec::new(),
            depth: Vec::new(),
            busy: Vec::new(),
            annotations: Vec::new(),
            has_annotations: false,
            has_busy: true,
            keeps_recorded_depth: false,
            kinds: RowsByKind::default(),
            scratch: LookbackScratch::new(window.max(1)),
            depths_counted: 0,
        }
    }

    /// Sets the source of queue depths.
    pub fn with_depths(mut self, depths: DepthSource) -> Self {
        self.depths = depths;
        self
    }

    /// Returns the state for a checkpoint.
    pub fn state(&self) -> SequencerState {
        let device = |state: &DeviceState| SavedDevice {
            busy: state.busy,
            outstanding: state.outstanding.state(),
        };
        SequencerState {
            window: self.window,
            recent_slots: self.recent_slots.clone(),
            recent: self.recent.iter().map(Lookback::state).collect(),
            device_slots: self.device_slots.clone(),
            devices: self.devices.iter().map(device).collect(),
        }
    }

    /// Restores the state from a checkpoint.
    pub fn resume_from(mut self, before: &SequencerState) -> Self {
        let device = |saved: &SavedDevice| DeviceState {
            busy: saved.busy,
            outstanding: OutstandingSet::from_state(&saved.outstanding),
        };
        self.window = before.window;
        self.scratch = LookbackScratch::new(before.window);
        self.recent_slots.clone_from(&before.recent_slots);
        self.recent = before.recent.iter().cloned().map(Lookback::resume_from).collect();
        self.device_slots.clone_from(&before.device_slots);
        self.devices = before.devices.iter().map(device).collect();
        self
    }

    /// Returns the devices that are busy at a time before the next I/O, with the span from that time
    /// until the last of their I/Os completes.
    pub(crate) fn busy_at(&self, at_ns: u64) -> Vec<DeviceBusySpan> {
        let mut busy = Vec::new();
        for (index, slot) in self.device_slots.iter().enumerate() {
            let Some(state) = self.devices.get(*slot as usize) else { continue };
            if let Some(span) = state.busy.rest_from(at_ns) {
                busy.push(DeviceBusySpan { side: DeviceLayer::from_index(index), span });
            }
        }
        busy
    }

    /// Enables or disables [`IoAnnotations`]; it is disabled by default.
    pub fn with_annotations(mut self, is_enabled: bool) -> Self {
        self.has_annotations = is_enabled;
        self
    }

    /// Enables or disables busy time; it is enabled by default.
    pub fn with_busy_spans(mut self, is_enabled: bool) -> Self {
        self.has_busy = is_enabled;
        self.busy.clear();
        self
    }

    /// Sets whether [`Self::depth`] stays empty if all depths of a batch are recorded.
    pub(crate) fn keep_recorded_depth(mut self, is_kept: bool) -> Self {
        self.keeps_recorded_depth = is_kept;
        self
    }

    /// Annotates the next events, which must come in issue order.
    pub fn follow(&mut self, batch: &Batch) {
        let response_bits = simd::bits_of_any(batch.responses());
        self.annotations.clear();
        if self.has_annotations {
            self.annotations.resize(batch.len(), IoAnnotations::NONE);
        }
        self.sequential.clear();
        self.sequential.resize(batch.len(), false);
        for first in (0..batch.len()).step_by(ROWS_MAX) {
            self.find_runs(batch, first..batch.len().min(first + ROWS_MAX));
        }
        self.follow_devices(batch, response_bits);
    }

    /// Finds the sequential I/Os and their positions within their runs. The I/Os of one operation
    /// on one device do not depend on others, so each kind is processed separately: its lookback
    /// stays in the cache, and its I/Os are similar.
    fn find_runs(&mut self, batch: &Batch, rows: Range<usize>) {
        self.find_kinds(batch, rows.clone());
        let extents = ExtentColumns::new(batch, rows.clone());
        let sequential = &mut self.sequential[rows.clone()];
        let annotations = self.annotations.get_mut(rows).unwrap_or_default();
        let lookbacks = self.recent.iter_mut().zip(self.kinds.iter()).enumerate();
        for (number, (lookback, rows)) in lookbacks {
            let Some(first) = rows.first() else { continue };
            let found = |row: u16, place: PlaceInRun| {
                sequential[usize::from(row)] = true;
                if let Some(annotations) = annotations.get_mut(usize::from(row)) {
                    annotations.run = place.position;
                    annotations.run_slot = run_slot(number, self.window, place.run);
                }
            };
            let scratch = &mut self.scratch;
            if extents.are_in_files(*first) {
                let extent_of = move |row| extents.in_file(row);
                lookback.take_all(scratch, DeviceIos { rows, extent_of }, found);
            } else {
                let extent_of = move |row| extents.on_device(row);
                lookback.take_all(scratch, DeviceIos { rows, extent_of }, found);
            }
        }
    }

    /// Lists the rows of each operation, device and layer. I/Os without bytes are not listed.
    fn find_kinds(&mut self, batch: &Batch, rows: Range<usize>) {
        self.kinds.start(batch, rows);
        let mut next = 0;
        while let Some(NewKind { row, kind }) = self.kinds.list_from(next) {
            let new = || Lookback::new(self.window);
            let slot = slot(&mut self.recent_slots, kind, &mut self.recent, new);
            self.kinds.add_kind(kind, slot);
            next = row;
        }
    }

    /// Determines the queue depth, idle time and busy time of each I/O.
    fn follow_devices(&mut self, batch: &Batch, response_bits: i64) {
        let counts = self.depths != DepthSource::Recorded || !batch.has_depths();
        self.depth.clear();
        if self.depths == DepthSource::Recorded && (counts || !self.keeps_recorded_depth) {
            self.depth.extend_from_slice(batch.depths());
        }
        if counts {
            self.depth.resize(batch.len(), 0);
        }
        self.busy.clear();
        if self.has_busy {
            self.busy.resize(batch.len(), (0, 0));
        }
        if self.depths == DepthSource::Unknown {
            return;
        }
        if counts || self.has_busy || self.has_annotations {
            self.follow_each(batch, counts);
        }
        if !counts {
            self.track_outstanding_at_end(batch, response_bits);
        }
    }

    /// Processes the I/Os one by one; counts the queue depths that were not recorded if `counts` is
    /// set.
    fn follow_each(&mut self, batch: &Batch, counts: bool) {
        let times = TimeColumns::new(batch);
        for row in 0..batch.len() {
            let Some(CompletedIo { side, issued, completed }) = times.of_row(row) else {
                continue;
            };
            let slot = slot(&mut self.device_slots, side, &mut self.devices, Default::default);
            let device = &mut self.devices[slot];
            if let Some(annotations) = self.annotations.get_mut(row) {
                annotations.idle_ns = device.busy.idle_at(issued);
            }
            let busy = device.busy.add(issued, completed);
            if self.has_busy {
                self.busy[row] = busy;
            }
            if counts {
                let counted = device.outstanding.add(issued, completed);
                let depth = &mut self.depth[row];
                if *depth == 0 {
                    *depth = counted;
                    self.depths_counted += u64::from(counted > 0);
                }
            }
        }
    }

    /// Tracks the I/Os that are outstanding beyond the end of a batch whose depths are all
    /// recorded. Depths of a later batch may have to be counted.
    fn track_outstanding_at_end(&mut self, batch: &Batch, response_bits: i64) {
        let times = TimeColumns::new(batch);
        // An upper bound: the bitwise OR is no less than the longest response time.
        let longest = response_bits.cast_unsigned();
        let Some(last_row) = batch.len().checked_sub(1) else { return };
        let end = times.issued.at(last_row);
        for first in (0..batch.len()).step_by(ROWS_MAX) {
            let rows = first..batch.len().min(first + ROWS_MAX);
            let last_issued = times.issued.at(rows.end - 1);
            if last_issued.saturating_add(longest) > end && times.any_outlives(rows.clone(), end) {
                rows.for_each(|row| self.track_if_outstanding(&times, row, end));
            }
        }
    }

    /// Tracks an I/O that is outstanding beyond a time.
    fn track_if_outstanding(&mut self, times: &TimeColumns<'_>, row: usize, at: u64) {
        let Some(CompletedIo { side, issued, completed }) = times.of_row(row) else { return };
        if completed > at {
            let slot = slot(&mut self.device_slots, side, &mut self.devices, Default::default);
            self.devices[slot].outstanding.add(issued, completed);
        }
    }
}

/// An I/O whose completion was seen; its times are in nanoseconds.
struct CompletedIo {
    /// Index of the device at its layer.
    side: usize,
    issued: u64,
    completed: u64,
}

struct TimeColumns<'b> {
    issued: WideColumn<'b>,
    response: WideColumn<'b>,
    device: NarrowColumn<'b>,
    layer: NarrowColumn<'b>,
}

impl<'b> TimeColumns<'b> {
    fn new(batch: &'b Batch) -> Self {
        TimeColumns {
            issued: batch.wide(Field::Issued),
            response: batch.wide(Field::Response),
            device: batch.narrow(Field::Device),
            layer: batch.narrow(Field::Layer),
        }
    }

    /// Returns true if any I/O of `rows` may be outstanding after `at`, which is no earlier than the
    /// issue time of any of them.
    fn any_outlives(&self, rows: Range<usize>, at: u64) -> bool {
        simd::any_outlives(self.issued.part(rows.clone()), self.response.part(rows), at)
    }

    /// Returns the device and times of an I/O, or `None` if its completion is unknown.
    #[inline]
    fn of_row(&self, row: usize) -> Option<CompletedIo> {
        let (issued, response) = (self.issued.at(row), self.response.at(row));
        let is_file = self.layer.layer(row) == Layer::FileSystem;
        let side = device_layer_index(self.device.at(row) as u16, is_file);
        let is_known = response != RESPONSE_UNKNOWN;
        let completed = issued.saturating_add(response);
        is_known.then_some(CompletedIo { side, issued, completed })
    }
}

#[derive(Clone, Copy)]
struct ExtentColumns<'b> {
    offset: &'b [i64],
    bytes: &'b [i32],
    inode: &'b [i64],
    layer: &'b [i32],
}

impl<'b> ExtentColumns<'b> {
    fn new(batch: &'b Batch, rows: Range<usize>) -> Self {
        ExtentColumns {
            offset: batch.wide(Field::Offset).part(rows.clone()),
            bytes: batch.narrow(Field::Bytes).part(rows.clone()),
            inode: batch.wide(Field::Inode).part(rows.clone()),
            layer: batch.narrow(Field::Layer).part(rows),
        }
    }

    fn are_in_files(&self, row: u16) -> bool {
        self.layer[usize::from(row)] == Layer::FileSystem as i32
    }

    #[inline]
    fn on_device(&self, row: u16) -> IoExtent {
        let begin = self.offset[usize::from(row)].cast_unsigned();
        let bytes = u64::from(self.bytes[usize::from(row)].cast_unsigned());
        IoExtent { begin, end: begin.wrapping_add(bytes) }
    }

    /// Returns the extent shifted by a hash of the inode, so that equal offsets in two files differ.
    fn in_file(&self, row: u16) -> IoExtent {
        let shift = mix64(self.inode[usize::from(row)].cast_unsigned());
        let IoExtent { begin, end } = self.on_device(row);
        IoExtent { begin: begin.wrapping_add(shift), end: end.wrapping_add(shift) }
    }
}

/// Returns the index into `states` of the state of `key`; creates the state on first use.
#[inline]
fn slot<T>(slots: &mut Vec<u32>, key: usize, states: &mut Vec<T>, new: impl Fn() -> T) -> usize {
    if let Some(slot) = slots.get(key).filter(|slot| **slot != u32::MAX) {
        return *slot as usize;
    }
    if slots.len() <= key {
        slots.resize(key + 1, u32::MAX);
    }
    slots[key] = u32::try_from(states.len()).unwrap_or(0);
    states.push(new());
    states.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::lookback::tests::ReferenceLookback;
    use std::collections::HashMap;
    use steadfast_domain::io_event::IncompleteIos;
    use steadfast_domain::{IoEvent, IoOp};

    fn at(offset: u64, bytes: u32, op: IoOp) -> IoEvent {
        IoEvent { offset, bytes, op, ..IoEvent::default() }
    }

    fn sequential(window: usize, events: &[IoEvent]) -> Vec<bool> {
        let mut sequencer = Sequencer::new(window);
        sequencer.follow(&Batch::from_events(events));
        sequencer.sequential
    }

    #[test]
    fn an_io_is_sequential_when_it_begins_where_a_recent_one_ended() {
        let r = IoOp::Read;
        let events = [at(0, 4096, r), at(4096, 512, r), at(4608, 4096, r), at(0, 4096, r)];
        assert_eq!(sequential(1, &events), [false, true, true, false]);
    }

    /// Of four streams in turn, each I/O but the first continues its stream four I/Os later.
    #[test]
    fn interleaved_streams_need_a_window() {
        let mut events = Vec::new();
        for n in 0..10 {
            for stream in 0..4u64 {
                events.push(at((stream << 30) + n * 4096, 4096, IoOp::Write));
            }
        }
        let found = |window| sequential(window, &events).into_iter().filter(|is| *is).count();
        assert_eq!((found(3), found(4)), (0, 36));
    }

    #[test]
    fn a_run_continues_after_many_random_ios() {
        let mut events = Vec::new();
        for n in 0..5u64 {
            events.push(at(n * 512, 512, IoOp::Read));
            let random = |m| at((1 << 40) + mix64(n * 1000 + m) % 100_000 * 8192, 4096, IoOp::Read);
            events.extend((0..if n == 0 { 0 } else { 500 }).map(random));
        }
        let found = events.iter().zip(sequential(4, &events)).filter(|(_, is)| *is);
        let offsets: Vec<u64> = found.map(|(event, _)| event.offset).collect();
        assert_eq!(offsets, [512, 1024, 1536, 2048]);
    }

    #[test]
    fn operations_devices_and_files_do_not_mix() {
        let events = [at(0, 4096, IoOp::Read), at(4096, 4096, IoOp::Write)];
        assert_eq!(sequential(8, &events), [false, false]);
        let other = IoEvent { device: 1, ..at(4096, 4096, IoOp::Read) };
        assert_eq!(sequential(8, &[events[0], other]), [false, false]);
        let file = |inode, offset| IoEvent {
            layer: Layer::FileSystem,
            inode,
            ..at(offset, 4096, IoOp::Read)
        };
        let events = [file(7, 0), file(8, 4096), file(7, 4096), file(8, 8192)];
        assert_eq!(sequential(8, &events), [false, false, true, true]);
        assert_eq!(sequential(8, &[at(0, 0, IoOp::Flush), at(0, 0, IoOp::Flush)]), [false, false]);
    }

    fn positions_by_rule(window: usize, events: &[IoEvent]) -> Vec<u32> {
        let mut lookbacks = HashMap::new();
        let position = |event: &IoEvent| {
            if event.bytes == 0 {
                return 0;
            }
            let lookback = lookbacks
                .entry((event.op, event.device, event.layer))
                .or_insert_with(|| ReferenceLookback::new(window));
            let file = if event.layer == Layer::FileSystem { event.inode } else { 0 };
            lookback.take((file, event.offset), (file, event.offset + u64::from(event.bytes)))
        };
        events.iter().map(position).collect()
    }

    /// Returns I/Os on `devices` devices with `ops` operations; some have no bytes.
    fn many_ios(count: u64, devices: u64, ops: u64, in_files: bool) -> Vec<IoEvent> {
        let io = |number: u64| {
            let draw = |what: u64, below: u64| mix64(number * 8 + what) % below;
            // Some continue where one ended before; most are anywhere among a few places.
            let place = if draw(0, 3) == 0 { number / 7 } else { draw(1, 3000) };
            IoEvent {
                offset: place * 512,
                bytes: draw(2, 4) as u32 * 512 * u32::from(draw(3, 20) > 0),
                op: IoOp::ALL[draw(4, ops) as usize],
                device: draw(5, devices) as u16,
                layer: if in_files && draw(6, 2) == 0 { Layer::FileSystem } else { Layer::Block },
                inode: draw(7, 3),
                ..IoEvent::default()
            }
        };
        (0..count).map(io).collect()
    }

    #[test]
    fn positions_in_runs_follow_the_rule_across_batches_and_checkpoints() {
        let kinds = [(1, 1, false), (1, 5, false), (2, 3, true), (300, 2, false)];
        let mut longest = None;
        for window in [1, 2, 3, 32, 700, 4096] {
            for (devices, ops, in_files) in kinds {
                let events = many_ios(2 * ROWS_MAX as u64 + 77, devices, ops, in_files);
                let expected = positions_by_rule(window, &events);
                let mut sequencer = Sequencer::new(window).with_annotations(true);
                let (mut found, mut left) = (Vec::new(), &events[..]);
                // Long and short batches alternate.
                for (number, length) in [60, 5000, 1, 2500, 0, ROWS_MAX].into_iter().enumerate() {
                    let (part, later) = left.split_at(left.len().min(length));
                    left = later;
                    sequencer.follow(&Batch::from_events(part));
                    found.extend(sequencer.annotations.iter().map(|io| io.run));
                    let are_in_runs = sequencer.annotations.iter().map(|io| io.run > 0);
                    assert!(are_in_runs.eq(sequencer.sequential.iter().copied()));
                    if number % 2 == 1 {
                        let resumed = Sequencer::new(1).with_annotations(true);
                        sequencer = resumed.resume_from(&sequencer.state());
                    }
                }
                assert!(left.is_empty());
                longest = expected.iter().copied().max().max(longest);
                assert_eq!(found, expected, "{window} {devices} {ops} {in_files}");
            }
        }
        assert!(longest > Some(3));
    }

    #[test]
    fn missing_depths_are_counted() {
        let io = |issued_ns, response_ns, depth| IoEvent {
            issued_ns,
            response_ns,
            depth,
            ..IoEvent::default()
        };
        let mut sequencer = Sequencer::new(1);
        sequencer.follow(&Batch::from_events(&[
            io(0, 100, 0),
            io(10, 20, 0),
            io(20, 5, 0),
            io(30, 10, 0),
            io(200, u64::MAX, 0),
            io(210, 10, 9),
        ]));
        assert_eq!(sequencer.depth, [1, 2, 3, 2, 0, 9]);
        assert_eq!(sequencer.depths_counted, 4);
    }

    /// Returns I/Os of 40 ns issued every 10 ns, so that four are outstanding. The source missed
    /// the completion of every hundredth and continued to count it as outstanding.
    fn with_missed_completions() -> Vec<IoEvent> {
        let io = |number: u64| IoEvent {
            issued_ns: number * 10,
            response_ns: if number % 100 == 50 { RESPONSE_UNKNOWN } else { 40 },
            depth: 4 + u32::try_from((number + 49) / 100).unwrap(),
            ..IoEvent::default()
        };
        (0..1000).map(io).collect()
    }

    #[test]
    fn missed_completions_do_not_stay_outstanding() {
        let batch = Batch::from_events(&with_missed_completions());
        let mut recorded = Sequencer::new(1);
        recorded.follow(&batch);
        assert_eq!(recorded.depth[999], 14);
        let part = IncompleteIos { unended: 10, ..IncompleteIos::default() };
        let mut conditions =
            CaptureConditions { in_part: Some(part), ..CaptureConditions::default() };
        let mut counted = Sequencer::new(1).with_depths(DepthSource::from_conditions(&conditions));
        counted.follow(&batch);
        let known = |depth: &&u32| **depth > 0;
        assert_eq!(counted.depth.iter().filter(known).count(), 990);
        assert_eq!(counted.depth.iter().max(), Some(&4));
        // The three I/Os after a missed one have one less, because it is not counted.
        assert_eq!(counted.depth.iter().filter(|depth| **depth == 4).count(), 990 - 3 - 30);
        assert_eq!(counted.depths_counted, 990);
        conditions.process = Some(7);
        assert_eq!(DepthSource::from_conditions(&conditions), DepthSource::Recorded);
    }

    #[test]
    fn counted_depths_include_ios_with_recorded_depths() {
        let io = |number: u64| IoEvent {
            issued_ns: number * 10,
            response_ns: 10 * (1 + mix64(number) % 90),
            device: (mix64(number + 7) % 3) as u16,
            ..IoEvent::default()
        };
        let mut events: Vec<IoEvent> = (0..3001).map(io).collect();
        let ends = |io: &IoEvent| io.issued_ns + io.response_ns;
        let overlaps = |a: &IoEvent, b: &IoEvent| a.device == b.device && ends(a) > b.issued_ns;
        let depth = |at: usize| {
            let before = &events[at.saturating_sub(100)..=at];
            before.iter().filter(|other| overlaps(other, &events[at])).count() as u32
        };
        let depths: Vec<u32> = (0..events.len()).map(depth).collect();
        // Most depths are recorded: some batches have all, some have none.
        let batch = |at: usize| at / 150;
        for (at, event) in events.iter_mut().enumerate() {
            let is_recorded = match batch(at) % 3 {
                0 => true,
                1 => false,
                _ => mix64(at as u64).is_multiple_of(2),
            };
            event.depth = if is_recorded { depths[at] } else { 0 };
        }
        for (busy, annotated) in [(false, false), (true, false), (false, true)] {
            let new = || Sequencer::new(1).with_busy_spans(busy).with_annotations(annotated);
            let mut sequencer = new();
            let mut found = Vec::new();
            for (number, events) in events.chunks(150).enumerate() {
                sequencer.follow(&Batch::from_events(events));
                found.extend_from_slice(&sequencer.depth);
                if number % 5 == 4 {
                    sequencer = new().resume_from(&sequencer.state());
                }
            }
            assert_eq!(found, depths);
        }
    }

    #[test]
    fn ios_outstanding_at_the_end_of_a_batch_count_in_the_next() {
        let count = 3 * ROWS_MAX as u64;
        let io = |number: u64| {
            // A few of the first I/Os last until the end or longer, or have no known completion.
            let response_ns = match mix64(number) % 1500 {
                0 => (count - number) * 10,
                1 => (count - number) * 10 + mix64(number + 1) % 900,
                2 => RESPONSE_UNKNOWN,
                n => 10 * (1 + n % 90),
            };
            IoEvent { issued_ns: number * 10, response_ns, ..IoEvent::default() }
        };
        let mut events: Vec<IoEvent> = (0..count + 100).map(io).collect();
        let mut counted = Sequencer::new(1).with_depths(DepthSource::Counted);
        counted.follow(&Batch::from_events(&events));
        let (recorded, others) = events.split_at_mut(count as usize);
        for (event, depth) in recorded.iter_mut().zip(&counted.depth) {
            event.depth = (*depth).max(1);
        }
        let mut sequencer = Sequencer::new(1).with_busy_spans(false);
        sequencer.follow(&Batch::from_events(recorded));
        sequencer.follow(&Batch::from_events(others));
        assert_eq!(sequencer.depth, counted.depth[count as usize..]);
        assert!(sequencer.depth[0] > 46, "{}", sequencer.depth[0]);
    }

    #[test]
    fn busy_time_is_omitted_unless_it_is_enabled() {
        let io = |issued_ns| IoEvent { issued_ns, response_ns: 900, ..IoEvent::default() };
        let batch = |length| Batch::from_events(&(0..length).map(io).collect::<Vec<_>>());
        let mut sequencer = Sequencer::new(1);
        sequencer.follow(&batch(5));
        assert_ne!(sequencer.busy, [(0, 0); 5]);
        sequencer = sequencer.with_busy_spans(false);
        for length in [3, 7, 0, 2] {
            sequencer.follow(&batch(length));
            assert!(sequencer.busy.is_empty() && sequencer.depth.len() == length as usize);
        }
    }

    #[test]
    fn rounded_times_give_neither_depth_nor_busy_time() {
        let conditions = CaptureConditions { rounded_times: true, ..CaptureConditions::default() };
        let mut sequencer =
            Sequencer::new(1).with_depths(DepthSource::from_conditions(&conditions));
        let io = |issued_ns| IoEvent { issued_ns, response_ns: 900, ..IoEvent::default() };
        sequencer.follow(&Batch::from_events(&[io(0), io(0), io(100)]));
        assert_eq!((sequencer.depth, sequencer.busy), (vec![0; 3], vec![(0, 0); 3]));
        assert_eq!(sequencer.depths_counted, 0);
    }

    #[test]
    fn busy_time_is_the_union_of_outstanding_times() {
        let io = |issued_ns, response_ns| IoEvent { issued_ns, response_ns, ..IoEvent::default() };
        let mut sequencer = Sequencer::new(1);
        sequencer.follow(&Batch::from_events(&[io(0, 100), io(50, 100), io(60, 10), io(300, 7)]));
        assert_eq!(sequencer.busy, [(0, 100), (100, 150), (0, 0), (300, 307)]);
    }
}
