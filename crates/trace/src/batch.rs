//! A [`Batch`]: events as columns, only those columns that somebody asked for.

use crate::place::Place;
use crate::schema::{Field, Fields, NARROW, WIDE};
use std::mem;
use std::ops::Range;
use steadfast_domain::io_event::Command;
use steadfast_domain::{IoEvent, IoOp, Layer};

/// Events that are taken apart at once: a few thousand bytes.
const EVENTS_AT_ONCE: usize = 128;

/// Events, column by column.
///
/// A column that was not asked for has no values; its accessor gives what an
/// event holds where the source does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub(crate) length: usize,
    pub(crate) wide: [Vec<i64>; WIDE],
    pub(crate) narrow: [Vec<i32>; NARROW],
    pub(crate) commands: Vec<Command>,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident $field:ident $kind:ident $type:ty;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name(&self, row: usize) -> $type {
            self.$kind(Field::$field, row) as $type
        })*
    };
}

impl Batch {
    /// Events in it.
    pub fn len(&self) -> usize {
        self.length
    }
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    columns! {
        /// Issue time, nanoseconds from the capture's beginning.
        issued_ns Issued wide_at u64;
        /// Response time; `u64::MAX` where the completion was not seen.
        response_ns Response wide_at u64;
        /// Queue time.
        queued_ns Queued wide_at u64;
        /// First byte.
        offset Offset wide_at u64;
        /// Inode of the file.
        inode Inode wide_at u64;
        /// Size in bytes.
        bytes Bytes narrow_at u32;
        /// Outstanding at issue; 0 where unknown.
        depth Depth narrow_at u32;
        /// Process.
        pid Pid narrow_at u32;
        /// Processor.
        cpu Cpu narrow_at u16;
        /// Bits of `io_event::flags`.
        flags Flags narrow_at u16;
        /// Device, an index into the conditions' devices.
        device Device narrow_at u16;
    }

    /// What it did; a number that means nothing counts as `Other`.
    #[inline]
    pub fn op(&self, row: usize) -> IoOp {
        let number = self.narrow_at(Field::Op, row);
        u8::try_from(number).ok().and_then(IoOp::of_number).unwrap_or(IoOp::Other)
    }
    /// Where it was seen.
    #[inline]
    pub fn layer(&self, row: usize) -> Layer {
        if self.narrow_at(Field::Layer, row) == 1 { Layer::FileSystem } else { Layer::Block }
    }
    /// Command name of the process.
    #[inline]
    pub fn command(&self, row: usize) -> Command {
        self.commands.get(row).copied().unwrap_or_default()
    }

    /// One row as an event.
    pub fn event(&self, row: usize) -> IoEvent {
        IoEvent {
            issued_ns: self.issued_ns(row),
            response_ns: self.response_ns(row),
            queued_ns: self.queued_ns(row),
            offset: self.offset(row),
            bytes: self.bytes(row),
            depth: self.depth(row),
            pid: self.pid(row),
            cpu: self.cpu(row),
            flags: self.flags(row),
            device: self.device(row),
            op: self.op(row),
            layer: self.layer(row),
            command: self.command(row),
            inode: self.inode(row),
        }
    }

    /// Puts the events on another time axis, and their devices among those of several
    /// captures.
    pub(crate) fn place(&mut self, place: &Place) {
        for issued in &mut self.wide[Field::Issued.index()] {
            *issued = issued.cast_unsigned().saturating_add(place.shift_ns).cast_signed();
        }
        let devices = &mut self.narrow[Field::Device.index() - WIDE];
        devices.resize(self.length, 0);
        for device in devices {
            let own = u16::try_from(*device).unwrap_or(u16::MAX);
            *device = i32::from(place.device(own));
        }
    }

    /// Events as a batch of all columns.
    pub fn of(events: &[IoEvent]) -> Batch {
        let mut batch = Batch::default();
        batch.extend(events);
        batch
    }

    /// Appends events, in pieces that stay in the processor's nearest cache while
    /// one column after the other takes its part.
    pub(crate) fn extend(&mut self, events: &[IoEvent]) {
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
        let [bytes, depth, pid, cpu, flags, device, op, layer] = &mut self.narrow;
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
        self.commands.extend(events.iter().map(|event| event.command));
    }

    #[inline]
    fn wide_at(&self, field: Field, row: usize) -> u64 {
        match self.wide[field.index()].get(row) {
            Some(value) => value.cast_unsigned(),
            None => field.when_absent(),
        }
    }

    #[inline]
    fn narrow_at(&self, field: Field, row: usize) -> u32 {
        self.narrow[field.index() - WIDE].get(row).map_or(0, |value| value.cast_unsigned())
    }

    /// Drops all events and keeps the memory.
    pub fn clear(&mut self) {
        self.length = 0;
        self.wide.iter_mut().for_each(Vec::clear);
        self.narrow.iter_mut().for_each(Vec::clear);
        self.commands.clear();
    }

    /// Whether issue times ascend.
    pub(crate) fn is_in_order(&self) -> bool {
        let times = &self.wide[Field::Issued.index()];
        times.is_sorted_by(|a, b| a.cast_unsigned() <= b.cast_unsigned())
    }

    /// Puts the events in issue order; those of equal time keep theirs.
    pub(crate) fn sort(&mut self, space: &mut SortSpace) {
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
        gather(&mut self.commands, &mut space.commands, &space.order);
    }

    /// Events issued at `time` or before, where the batch is in order.
    pub(crate) fn count_until(&self, time: u64) -> usize {
        self.wide[Field::Issued.index()].partition_point(|issued| issued.cast_unsigned() <= time)
    }

    /// Events issued before `time`, where the batch is in order.
    pub(crate) fn count_before(&self, time: u64) -> usize {
        self.wide[Field::Issued.index()].partition_point(|issued| issued.cast_unsigned() < time)
    }

    /// Appends some events of a batch with the same columns.
    pub(crate) fn append(&mut self, other: &Batch, rows: Range<usize>) {
        self.length += rows.len();
        for (ours, theirs) in self.wide.iter_mut().zip(&other.wide) {
            ours.extend_from_slice(theirs.get(rows.clone()).unwrap_or_default());
        }
        for (ours, theirs) in self.narrow.iter_mut().zip(&other.narrow) {
            ours.extend_from_slice(theirs.get(rows.clone()).unwrap_or_default());
        }
        self.commands.extend_from_slice(other.commands.get(rows).unwrap_or_default());
    }

    /// Moves what comes after the first `count` events to the beginning of another
    /// batch with the same columns, in the place of what was there.
    pub(crate) fn move_tail(&mut self, count: usize, to: &mut Batch) {
        for (from, to) in self.wide.iter_mut().zip(&mut to.wide) {
            move_tail(from, count, to);
        }
        for (from, to) in self.narrow.iter_mut().zip(&mut to.narrow) {
            move_tail(from, count, to);
        }
        move_tail(&mut self.commands, count, &mut to.commands);
        self.length = self.length.min(count);
    }

    /// Moves the first `count` events to `front`, whose own are dropped.
    pub(crate) fn split_front(&mut self, count: usize, front: &mut Batch) {
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
        split(&mut front.commands, count, &mut self.commands);
    }

    /// Fills every wanted column that the file lacks, up to the batch's length.
    pub(crate) fn fill_absent(&mut self, fields: Fields, length: usize) {
        self.length = length;
        for field in Field::ALL.into_iter().filter(|field| fields.has(*field)) {
            match field.bits() {
                0 => self.commands.resize(length, Command::default()),
                64 => {
                    self.wide[field.index()].resize(length, field.when_absent().cast_signed());
                }
                _ => self.narrow[field.index() - WIDE].resize(length, 0),
            }
        }
    }
}

fn move_tail<T: Copy>(from: &mut Vec<T>, count: usize, to: &mut [T]) {
    if from.len() > count {
        let tail = &from[count..];
        to[..tail.len()].copy_from_slice(tail);
        from.truncate(count);
    }
}

fn split<T: Copy>(column: &mut Vec<T>, count: usize, rest: &mut Vec<T>) {
    if column.len() > count {
        rest.extend_from_slice(&column[count..]);
        column.truncate(count);
    }
}

/// Memory that sorting uses again and again.
#[derive(Debug, Default)]
pub(crate) struct SortSpace {
    order: Vec<(u64, u32)>,
    wide: Vec<i64>,
    narrow: Vec<i32>,
    commands: Vec<Command>,
}

fn gather<T: Copy>(column: &mut Vec<T>, space: &mut Vec<T>, order: &[(u64, u32)]) {
    if column.len() == order.len() {
        space.clear();
        space.extend(order.iter().map(|(_, at)| column[*at as usize]));
        mem::swap(column, space);
    }
}
