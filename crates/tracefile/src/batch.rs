//! Events as columns ([`Batch`]), limited to the columns that the caller requested.

use crate::merge_mapping::MergeMapping;
use crate::schema::{Field, NAMES, NARROW, WIDE};
use crate::simd;
use std::mem;
use std::ops::Range;
use steadfast_domain::io_event::{CommandName, ContentMeasurement};
use steadfast_domain::{IoEvent, IoOp, Layer};

/// Events that are split into columns at a time, so that they stay in the L1 cache.
const EVENTS_AT_ONCE: usize = 128;

/// Events, column by column.
///
/// A column that was not requested has no values; its accessor returns the value that
/// stands for an unrecorded one. A column that holds only that value is left empty too,
/// if the reader can see this without decoding every row. Every other column has one value
/// per event.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub(crate) length: usize,
    pub(crate) wide: [Vec<i64>; WIDE],
    pub(crate) narrow: [Vec<i32>; NARROW],
    pub(crate) names: [Vec<CommandName>; NAMES],
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident $field:ident $kind:ident $type:ty;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name(&self, row: usize) -> $type {
            self.$kind(Field::$field).at(row) as $type
        })*
    };
}

impl Batch {
    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.length
    }
    /// Returns whether the batch has no events.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    columns! {
        /// Returns the issue time, in nanoseconds since the capture began.
        issued_ns Issued wide u64;
        /// Returns the response time in nanoseconds; `u64::MAX` if the completion was not seen.
        response_ns Response wide u64;
        /// Returns the time in the queue, in nanoseconds.
        queued_ns Queued wide u64;
        /// Returns the offset of the first byte on the device.
        offset Offset wide u64;
        /// Returns the inode of the file; 0 if unknown.
        inode Inode wide u64;
        /// Returns the size in bytes.
        bytes Bytes narrow u32;
        /// Returns the queue depth at issue; 0 if unknown.
        depth Depth narrow u32;
        /// Returns the process ID.
        pid Pid narrow u32;
        /// Returns the thread ID; 0 if unknown.
        tid Tid narrow u32;
        /// Returns the cgroup, as a position in the conditions' cgroups from 1; 0 if unknown.
        cgroup Cgroup narrow u16;
        /// Returns the number of requests that were merged into this one.
        merged Merged narrow u16;
        /// Returns the number of blocks of this I/O that were read back.
        sampled_blocks SampledBlocks narrow u16;
        /// Returns the number of duplicates among the blocks that were read back.
        duplicate_blocks DuplicateBlocks narrow u16;
        /// Returns the size in bytes of the blocks that were read back.
        sampled_bytes SampledBytes narrow u32;
        /// Returns the size in bytes of the blocks that were read back, after compression.
        compressed_bytes CompressedBytes narrow u32;
        /// Returns the processor number.
        cpu Cpu narrow u16;
        /// Returns the bits of `io_event::flags`.
        flags Flags narrow u16;
        /// Returns the device, as an index into the conditions' devices.
        device Device narrow u16;
    }

    /// Returns the operation.
    #[inline]
    pub fn op(&self, row: usize) -> IoOp {
        self.narrow(Field::Op).op(row)
    }
    /// Returns the layer at which the I/O was recorded.
    #[inline]
    pub fn layer(&self, row: usize) -> Layer {
        self.narrow(Field::Layer).layer(row)
    }
    /// Returns the command name of the process.
    #[inline]
    pub fn command(&self, row: usize) -> CommandName {
        self.name_at(Field::Command, row)
    }
    /// Returns the name of the thread; empty if it equals the name of its process.
    #[inline]
    pub fn thread(&self, row: usize) -> CommandName {
        self.name_at(Field::Thread, row)
    }

    /// Returns one row as an event.
    pub fn event(&self, row: usize) -> IoEvent {
        IoEvent {
            issued_ns: self.issued_ns(row),
            response_ns: self.response_ns(row),
            queued_ns: self.queued_ns(row),
            offset: self.offset(row),
            bytes: self.bytes(row),
            depth: self.depth(row),
            pid: self.pid(row),
            tid: self.tid(row),
            cgroup: self.cgroup(row),
            merged: self.merged(row),
            cpu: self.cpu(row),
            flags: self.flags(row),
            device: self.device(row),
            op: self.op(row),
            layer: self.layer(row),
            command: self.command(row),
            thread: self.thread(row),
            inode: self.inode(row),
            content: self.content(row),
        }
    }

    /// Returns the measurements of the content of the blocks that were read back.
    #[inline]
    pub fn content(&self, row: usize) -> ContentMeasurement {
        ContentMeasurement {
            blocks: self.sampled_blocks(row),
            duplicates: self.duplicate_blocks(row),
            bytes: self.sampled_bytes(row),
            compressed_bytes: self.compressed_bytes(row),
        }
    }

    /// Returns all queue depths as recorded; empty if the column is not loaded.
    pub fn depths(&self) -> &[u32] {
        bytemuck::cast_slice(&self.narrow[Field::Depth.index() - WIDE])
    }

    /// Returns whether every queue depth was recorded.
    pub fn has_depths(&self) -> bool {
        self.depths().len() == self.length && !self.depths().contains(&0)
    }

    /// Returns all response times as stored; empty if the column is not loaded.
    pub fn responses(&self) -> &[i64] {
        &self.wide[Field::Response.index()]
    }

    /// Returns all queue times as stored; empty if the column is not loaded.
    pub fn queue_times(&self) -> &[i64] {
        &self.wide[Field::Queued.index()]
    }

    /// Shifts the events to the common time axis of several captures and renumbers their devices
    /// and cgroups.
    pub fn map_to_common_axis(&mut self, mapping: &MergeMapping) {
        for issued in &mut self.wide[Field::Issued.index()] {
            *issued = issued.cast_unsigned().saturating_add(mapping.shift_ns).cast_signed();
        }
        let devices = &mut self.narrow[Field::Device.index() - WIDE];
        devices.resize(self.length, 0);
        for device in devices {
            let number = u16::try_from(*device).unwrap_or(u16::MAX);
            *device = i32::from(mapping.device(number));
        }
        for cgroup in &mut self.narrow[Field::Cgroup.index() - WIDE] {
            let number = u16::try_from(*cgroup).unwrap_or(0);
            *cgroup = i32::from(mapping.cgroup(number));
        }
    }

    /// Builds a batch of all columns from events.
    pub fn from_events(events: &[IoEvent]) -> Batch {
        let mut batch = Batch::default();
        batch.extend(events);
        batch
    }

    /// Appends events, in pieces that stay in the processor's L1 cache while one column after
    /// the other is filled from them.
    pub fn extend(&mut self, events: &[IoEvent]) {
        events.chunks(EVENTS_AT_ONCE).for_each(|events| self.extend_columns(events));
    }

    fn extend_columns(&mut self, events: &[IoEvent]) {
        self.length += events.len();
        let [issued, response, queued, offset, inode] = &mut self.wide;
        let wide = |column: &mut Vec<i64>, value: fn(&IoEvent) -> u64| {
            column.extend(events.iter().map(|event| value(event).cast_signed()));
        };
        wide(issued, |event| event.issued_ns);
        wide(response, |event| event.response_ns);
        wide(queued, |event| event.queued_ns);
        wide(offset, |event| event.offset);
        wide(inode, |event| event.inode);
        let [bytes, depth, pid, cpu, flags, device, op, layer, tid, cgroup, merged, contents @ ..] =
            &mut self.narrow;
        let narrow = |column: &mut Vec<i32>, value: fn(&IoEvent) -> u32| {
            column.extend(events.iter().map(|event| value(event).cast_signed()));
        };
        narrow(bytes, |event| event.bytes);
        narrow(depth, |event| event.depth);
        narrow(pid, |event| event.pid);
        narrow(cpu, |event| u32::from(event.cpu));
        narrow(flags, |event| u32::from(event.flags));
        narrow(device, |event| u32::from(event.device));
        narrow(op, |event| event.op as u32);
        narrow(layer, |event| event.layer as u32);
        narrow(tid, |event| event.tid);
        narrow(cgroup, |event| u32::from(event.cgroup));
        narrow(merged, |event| u32::from(event.merged));
        let [blocks, duplicates, sampled, compressed] = contents;
        narrow(blocks, |event| u32::from(event.content.blocks));
        narrow(duplicates, |event| u32::from(event.content.duplicates));
        narrow(sampled, |event| event.content.bytes);
        narrow(compressed, |event| event.content.compressed_bytes);
        let [commands, threads] = &mut self.names;
        commands.extend(events.iter().map(|event| event.command));
        threads.extend(events.iter().map(|event| event.thread));
    }

    /// Returns a column of 64 bits.
    #[inline]
    pub fn wide(&self, field: Field) -> WideColumn<'_> {
        WideColumn { values: &self.wide[field.index()], absent: field.when_absent() }
    }

    /// Returns a column of up to 32 bits.
    #[inline]
    pub fn narrow(&self, field: Field) -> NarrowColumn<'_> {
        NarrowColumn(&self.narrow[field.index() - WIDE])
    }

    #[inline]
    fn name_at(&self, field: Field, row: usize) -> CommandName {
        self.names[field.index() - WIDE - NARROW].get(row).copied().unwrap_or_default()
    }

    /// Removes all events and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.length = 0;
        self.wide.iter_mut().for_each(Vec::clear);
        self.narrow.iter_mut().for_each(Vec::clear);
        self.names.iter_mut().for_each(Vec::clear);
    }

    /// Returns whether issue times ascend.
    pub fn is_in_order(&self) -> bool {
        let times = &self.wide[Field::Issued.index()];
        simd::are_ascending(times)
            || times.is_sorted_by(|a, b| a.cast_unsigned() <= b.cast_unsigned())
    }

    /// Sorts the events by issue time. The sort is stable.
    pub fn sort(&mut self, space: &mut SortBuffers) {
        if self.is_in_order() {
            return;
        }
        space.order.clear();
        let times = self.wide[Field::Issued.index()].iter().zip(0u32..);
        space.order.extend(times.map(|(time, at)| (time.cast_unsigned(), at)));
        space.order.sort();
        for column in &mut self.wide {
            gather(column, &mut space.wide, &space.order);
        }
        for column in &mut self.narrow {
            gather(column, &mut space.narrow, &space.order);
        }
        for column in &mut self.names {
            gather(column, &mut space.names, &space.order);
        }
    }

    /// Returns the number of events issued at or before `time`. The batch must be in order.
    pub fn count_until(&self, time: u64) -> usize {
        self.wide[Field::Issued.index()].partition_point(|issued| issued.cast_unsigned() <= time)
    }

    /// Returns the number of events issued before `time`. The batch must be in order.
    pub fn count_before(&self, time: u64) -> usize {
        self.wide[Field::Issued.index()].partition_point(|issued| issued.cast_unsigned() < time)
    }

    /// Returns a new batch of the events whose flag in `selection` is set.
    pub fn filtered(&self, selection: &[bool]) -> Batch {
        let first = selection.iter().position(|is_selected| *is_selected).unwrap_or(0);
        let end = selection.iter().rposition(|is_selected| *is_selected).map_or(0, |at| at + 1);
        let mut part = Batch::default();
        part.append(self, first.min(end)..end);
        let selection = &selection[first.min(end)..end];
        if selection.contains(&false) {
            part.wide.iter_mut().for_each(|column| retain(column, selection));
            part.narrow.iter_mut().for_each(|column| retain(column, selection));
            part.names.iter_mut().for_each(|column| retain(column, selection));
            part.length = selection.iter().filter(|is_selected| **is_selected).count();
        }
        part
    }

    /// Appends rows of another batch that was read with the same columns.
    pub fn append(&mut self, other: &Batch, rows: Range<usize>) {
        let before = self.length;
        self.length = before + rows.len();
        for (field, (ours, theirs)) in (0..).zip(self.wide.iter_mut().zip(&other.wide)) {
            append(ours, before, theirs, &rows, wide_absent(field));
        }
        for (ours, theirs) in self.narrow.iter_mut().zip(&other.narrow) {
            append(ours, before, theirs, &rows, 0);
        }
        for (ours, theirs) in self.names.iter_mut().zip(&other.names) {
            append(ours, before, theirs, &rows, CommandName::default());
        }
    }

    /// Moves the events after the first `count` to the beginning of `to`, where they overwrite as
    /// many events. Both batches must have been read with the same columns.
    pub fn move_tail(&mut self, count: usize, to: &mut Batch) {
        let (rows, length) = (count.min(self.length)..self.length, to.length);
        for (field, (from, to)) in (0..).zip(self.wide.iter_mut().zip(&mut to.wide)) {
            move_tail(from, &rows, to, length, wide_absent(field));
        }
        for (from, to) in self.narrow.iter_mut().zip(&mut to.narrow) {
            move_tail(from, &rows, to, length, 0);
        }
        for (from, to) in self.names.iter_mut().zip(&mut to.names) {
            move_tail(from, &rows, to, length, CommandName::default());
        }
        self.length = rows.start;
    }

    /// Moves the first `count` events to `front`, whose previous events are dropped.
    pub fn split_front(&mut self, count: usize, front: &mut Batch) {
        front.clear();
        mem::swap(self, front);
        if count >= front.length {
            return;
        }
        self.length = front.length - count;
        front.length = count;
        for (rest, column) in self.wide.iter_mut().zip(&mut front.wide) {
            split(column, count, rest);
        }
        for (rest, column) in self.narrow.iter_mut().zip(&mut front.narrow) {
            split(column, count, rest);
        }
        for (rest, column) in self.names.iter_mut().zip(&mut front.names) {
            split(column, count, rest);
        }
    }

    /// Returns the number of values of a column: 0 or [`Self::len`], or more while a row group is
    /// being read.
    pub fn rows_of(&self, field: Field) -> usize {
        match field.bits() {
            0 => self.names[field.index() - WIDE - NARROW].len(),
            64 => self.wide[field.index()].len(),
            _ => self.narrow[field.index() - WIDE].len(),
        }
    }

    /// Extends a column to `length` values with the value that stands for an unrecorded one.
    /// `length` must not be below the present number of values.
    pub fn fill(&mut self, field: Field, length: usize) {
        match field.bits() {
            0 => self.names[field.index() - WIDE - NARROW].resize(length, CommandName::default()),
            64 => self.wide[field.index()].resize(length, field.when_absent().cast_signed()),
            _ => self.narrow[field.index() - WIDE].resize(length, 0),
        }
    }

    /// Empties a column that holds only the value of an unrecorded one. Any other gets `leading`
    /// more rows with that value in front.
    pub(crate) fn keep_if_recorded(&mut self, field: Field, leading: usize) {
        match field.bits() {
            0 => {
                let column = &mut self.names[field.index() - WIDE - NARROW];
                keep_if_recorded(column, CommandName::default(), leading);
            }
            64 => {
                let absent = field.when_absent().cast_signed();
                keep_if_recorded(&mut self.wide[field.index()], absent, leading);
            }
            _ => keep_if_recorded(&mut self.narrow[field.index() - WIDE], 0, leading),
        }
    }

    /// Sets the number of events and extends all columns that have values to that length.
    pub fn set_length(&mut self, length: usize) {
        self.length = length;
        for field in Field::ALL {
            if self.rows_of(field) > 0 {
                self.fill(field, length);
            }
        }
    }
}

/// Largest number of rows that [`WideColumn::part`] and [`NarrowColumn::part`] accept.
pub const PART_MAX: usize = 4096;
/// Values that stand for part of a column without values.
static NARROW_ABSENT: [i32; PART_MAX] = [0; PART_MAX];
static WIDE_ABSENT: [i64; PART_MAX] = [0; PART_MAX];
static WIDE_UNKNOWN: [i64; PART_MAX] = [-1; PART_MAX];

/// A column of 64 bits, looked up once for a loop over many rows.
#[derive(Clone, Copy)]
pub struct WideColumn<'b> {
    values: &'b [i64],
    absent: u64,
}

impl<'b> WideColumn<'b> {
    /// Returns the value in a row, as the batch's accessor does.
    #[inline]
    pub fn at(self, row: usize) -> u64 {
        self.values.get(row).map_or(self.absent, |value| value.cast_unsigned())
    }

    /// Returns the values of a range of rows as stored; at most [`PART_MAX`] rows.
    pub fn part(self, rows: Range<usize>) -> &'b [i64] {
        let absent = if self.absent == 0 { &WIDE_ABSENT } else { &WIDE_UNKNOWN };
        self.values.get(rows.clone()).unwrap_or(&absent[..rows.len()])
    }
}

/// A column of up to 32 bits, looked up once for a loop over many rows.
#[derive(Clone, Copy)]
pub struct NarrowColumn<'b>(&'b [i32]);

impl<'b> NarrowColumn<'b> {
    /// Returns the values of a range of rows as stored; at most [`PART_MAX`] rows.
    pub fn part(self, rows: Range<usize>) -> &'b [i32] {
        self.0.get(rows.clone()).unwrap_or(&NARROW_ABSENT[..rows.len()])
    }

    /// Returns the value in a row, as the batch's accessor does.
    #[inline]
    pub fn at(self, row: usize) -> u32 {
        self.0.get(row).map_or(0, |value| value.cast_unsigned())
    }
    /// Returns the value as an operation; for the column [`Field::Op`].
    #[inline]
    pub fn op(self, row: usize) -> IoOp {
        u8::try_from(self.at(row)).ok().and_then(IoOp::from_number).unwrap_or(IoOp::Other)
    }
    /// Returns the value as a layer; for the column [`Field::Layer`].
    #[inline]
    pub fn layer(self, row: usize) -> Layer {
        if self.at(row) == 1 { Layer::FileSystem } else { Layer::Block }
    }
}

fn keep_if_recorded<T: Copy + PartialEq>(column: &mut Vec<T>, absent: T, leading: usize) {
    // Without an early end the loop is vectorized.
    if column.iter().fold(false, |any, value| any | (*value != absent)) {
        column.splice(0..0, std::iter::repeat_n(absent, leading));
    } else {
        column.clear();
    }
}

/// Removes the rows that are not selected from a column; one without values stays as it is.
fn retain<T: Copy>(column: &mut Vec<T>, selection: &[bool]) {
    let mut selection = selection.iter();
    column.retain(|_| selection.next().is_none_or(|is_selected| *is_selected));
}

/// Returns the stored value that stands for a missing one in a column of 64 bits.
fn wide_absent(index: usize) -> i64 {
    Field::ALL[index].when_absent().cast_signed()
}

/// Appends rows to a column of `before` rows; either column may be without values.
fn append<T: Copy>(ours: &mut Vec<T>, before: usize, theirs: &[T], rows: &Range<usize>, absent: T) {
    match theirs.get(rows.clone()).filter(|rows| !rows.is_empty()) {
        Some(theirs) => {
            ours.resize(before, absent);
            ours.extend_from_slice(theirs);
        }
        None if !ours.is_empty() => ours.resize(before + rows.len(), absent),
        None => {}
    }
}

/// Moves the last rows of one column to the beginning of another of `length` rows; either
/// column may be without values.
fn move_tail<T: Copy>(
    from: &mut Vec<T>,
    rows: &Range<usize>,
    to: &mut Vec<T>,
    length: usize,
    absent: T,
) {
    match from.get(rows.clone()).filter(|rows| !rows.is_empty()) {
        Some(tail) => {
            to.resize(length, absent);
            to[..tail.len()].copy_from_slice(tail);
            from.truncate(rows.start);
        }
        None if !to.is_empty() => to[..rows.len()].fill(absent),
        None => {}
    }
}

fn split<T: Copy>(column: &mut Vec<T>, count: usize, rest: &mut Vec<T>) {
    if column.len() > count {
        rest.extend_from_slice(&column[count..]);
        column.truncate(count);
    }
}

/// Scratch memory that sorting reuses.
#[derive(Debug, Default)]
pub struct SortBuffers {
    order: Vec<(u64, u32)>,
    wide: Vec<i64>,
    narrow: Vec<i32>,
    names: Vec<CommandName>,
}

fn gather<T: Copy>(column: &mut Vec<T>, space: &mut Vec<T>, order: &[(u64, u32)]) {
    if column.len() == order.len() {
        space.clear();
        space.extend(order.iter().map(|(_, at)| column[*at as usize]));
        mem::swap(column, space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::random_bits::mix64;

    /// Events in which some columns hold only the default value.
    fn events(seed: u64, count: u64) -> Vec<IoEvent> {
        let event = |at: u64| {
            let (kind, x) = (mix64(seed), mix64(seed << 32 | at));
            IoEvent {
                issued_ns: x % 5003,
                offset: x,
                response_ns: if kind & 1 == 0 { u64::MAX } else { x % 31 },
                queued_ns: (kind >> 1 & 1) * x,
                device: (kind >> 2 & 1) as u16 * (x % 7) as u16,
                flags: (kind >> 3 & 1) as u16 * (x % 9) as u16,
                command: CommandName::new(if kind >> 4 & 1 == 0 { "" } else { "a" }),
                ..IoEvent::default()
            }
        };
        (0..count).map(event).collect()
    }

    /// A batch without the columns that hold only the default value, as read from a file.
    fn read(events: &[IoEvent]) -> Batch {
        let mut batch = Batch::from_events(events);
        for (at, column) in batch.wide.iter_mut().enumerate() {
            if column.iter().all(|value| *value == wide_absent(at)) {
                column.clear();
            }
        }
        batch.narrow.iter_mut().filter(|c| c.iter().all(|v| *v == 0)).for_each(Vec::clear);
        batch.names.iter_mut().filter(|c| c.iter().all(CommandName::is_empty)).for_each(Vec::clear);
        batch
    }

    fn events_of(batch: &Batch) -> Vec<IoEvent> {
        let lengths = Field::ALL.map(|field| batch.rows_of(field));
        assert!(lengths.iter().all(|rows| *rows == 0 || *rows == batch.len()), "{lengths:?}");
        (0..batch.len()).map(|row| batch.event(row)).collect()
    }

    #[test]
    fn batches_of_different_columns_are_joined_and_split() {
        for seed in 0..300 {
            let (one, other) = (events(2 * seed, 11), events(2 * seed + 1, 7));
            let mut joined = read(&one);
            joined.append(&read(&other), 2..7);
            let all = [&one[..], &other[2..]].concat();
            assert_eq!(events_of(&joined), all);
            let mut front = read(&other);
            joined.split_front(5, &mut front);
            assert_eq!(
                (events_of(&front), events_of(&joined)),
                (all[..5].to_vec(), all[5..].to_vec())
            );
            let mut to = read(&other);
            front.move_tail(3, &mut to);
            assert_eq!(events_of(&front), all[..3]);
            assert_eq!(events_of(&to), [&all[3..5], &other[2..]].concat());
            let mut sorted = all.clone();
            sorted.sort_by_key(|event| event.issued_ns);
            let mut batch = read(&all);
            batch.sort(&mut SortBuffers::default());
            assert_eq!(events_of(&batch), sorted);
            let kept: Vec<bool> = (0..16).map(|row| !mix64(seed + row).is_multiple_of(3)).collect();
            let chosen = all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(io, _)| *io);
            assert_eq!(events_of(&read(&all).filtered(&kept)), chosen.collect::<Vec<_>>());
        }
    }
}
