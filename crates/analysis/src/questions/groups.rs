//! I/Os grouped by one or more chosen facets: device, process, command, stream, operation,
//! processor and so on; for example the streams of each process. Each group has counts, bytes,
//! response times, the time in the queue, and the flags that the kernel set on its I/Os.

use crate::cells::{CubeCell, Dimensions, FilteredCells, Originator};
use crate::cube::CellSums;
use crate::device_layer::DeviceLayer;
use crate::fold::{AnnotatedRows, Fold};
use crate::named_values::named_values;
use crate::questions::processes::ProcessKey;
use crate::questions::streams::StreamKey;
use crate::sums::content::Contents;
use crate::sums::io_sums::{IoSums, SumColumns};
use crate::tables::bounded_table::BoundedTable;
use crate::tables::recent_cache::RecentCache;
use std::mem;
use steadfast_domain::io_event::CommandName;
use steadfast_domain::{CaptureConditions, IoOp, Layer};
use steadfast_tracefile::batch::{Batch, NarrowColumn};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Default maximum number of groups with counts of their own: those with the smallest keys. I/Os of
/// all other groups are counted together.
pub const GROUPS_MAX: usize = 1 << 13;

pub use crate::cells::FLAGS;

named_values! {
    /// A property by which I/Os are grouped, in the column order of tables.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    Facet {
        /// The captured host.
        Host = "host",
        /// The device, at its layer.
        Device = "device",
        /// The process, by number and command name.
        Process = "process",
        /// All processes of a command name. Processes without a name stay separate.
        Command = "command",
        /// The thread, together with its process.
        Thread = "thread",
        /// The cgroup of the process.
        Cgroup = "cgroup",
        /// The file, by device and inode (file-system layer).
        File = "file",
        /// The I/O stream.
        Stream = "stream",
        /// The operation.
        Op = "op",
        /// The processor that issued the I/O.
        Cpu = "cpu",
    }
}

/// A thread: its number and name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadKey {
    /// Thread number; 0 if unknown.
    pub tid: u32,
    /// Thread name; empty if it equals the name of the process.
    pub name: CommandName,
}

/// Common properties of a group's I/Os. A facet that was not chosen is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    /// The host, as the number of its first device.
    pub host: Option<u16>,
    /// The device, at its layer.
    pub device: Option<DeviceLayer>,
    /// The process; its number is 0 if all processes of a command are grouped together.
    pub process: Option<ProcessKey>,
    /// The thread.
    pub thread: Option<ThreadKey>,
    /// The cgroup: its position in the conditions, from 1; 0 if unknown.
    pub cgroup: Option<u16>,
    /// The file: its device and inode; both are 0 for an I/O without a file.
    pub file: Option<(u16, u64)>,
    /// The I/O stream.
    pub stream: Option<StreamKey>,
    /// The operation.
    pub op: Option<IoOp>,
    /// The processor.
    pub cpu: Option<u16>,
}

impl GroupKey {
    /// Returns the part of the key that some facets distinguish.
    fn only(self, facets: &[Facet]) -> Self {
        let has = |facet| facets.contains(&facet);
        let of_process = has(Facet::Process) || has(Facet::Command) || has(Facet::Thread);
        GroupKey {
            host: self.host.filter(|_| has(Facet::Host)),
            device: self.device.filter(|_| has(Facet::Device)),
            process: self.process.filter(|_| of_process),
            thread: self.thread.filter(|_| has(Facet::Thread)),
            cgroup: self.cgroup.filter(|_| has(Facet::Cgroup)),
            file: self.file.filter(|_| has(Facet::File)),
            stream: self.stream.filter(|_| has(Facet::Stream)),
            op: self.op.filter(|_| has(Facet::Op)),
            cpu: self.cpu.filter(|_| has(Facet::Cpu)),
        }
    }

    /// Returns a hash input for [`RecentCache`], from the fields that vary most between I/Os when
    /// threads or files are grouped.
    fn number(&self) -> u64 {
        let thread = self.thread.map_or(0, |thread| u64::from(thread.tid));
        let file = self.file.map_or(0, |(device, inode)| inode ^ u64::from(device) << 48);
        let size = self.stream.map_or(0, |stream| u64::from(stream.bytes));
        thread ^ file.rotate_left(29) ^ size.rotate_left(17)
    }
}

/// A compact substitute for [`GroupKey`] that is faster to build: the columns of the chosen facets,
/// packed into bit fields. All other bits are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GroupCode {
    /// Bits 32 to 63: size; 8 to 23: cgroup; 4: layer; 1 to 3: operation; 0: sequential.
    stream: u64,
    /// Bits 32 to 63: process ID; 16 to 31: device; 0 to 15: processor.
    who: u64,
    command: CommandName,
}

impl GroupCode {
    /// Returns a hash input for [`RecentCache`], from the fields that vary most between I/Os.
    #[inline]
    fn number(self) -> u64 {
        self.stream ^ self.who.rotate_left(29)
    }
}

/// Masks for the parts of a [`GroupCode`] that the chosen facets need.
#[derive(Debug, Clone, Copy, Default)]
struct FacetMask {
    stream: u64,
    who: u64,
    command: bool,
    /// True if the code needs a column other than process, size, order and operation.
    place: bool,
}

impl FacetMask {
    /// Returns the mask of these facets, or `None` if one does not fit into a [`GroupCode`].
    fn new(facets: &[Facet]) -> Option<FacetMask> {
        let mut mask = FacetMask::default();
        for facet in facets {
            match facet {
                Facet::Thread | Facet::File => return None,
                Facet::Process | Facet::Command => {
                    mask.who |= 0xffff_ffff << 32;
                    mask.command = true;
                }
                Facet::Host => mask.who |= 0xffff_0000,
                Facet::Device => {
                    mask.who |= 0xffff_0000;
                    mask.stream |= 1 << 4;
                }
                Facet::Cpu => mask.who |= 0xffff,
                Facet::Cgroup => mask.stream |= 0xffff << 8,
                Facet::Stream => mask.stream |= 0xffff_ffff << 32 | 0xf,
                Facet::Op => mask.stream |= 0b1110,
            }
        }
        mask.place = mask.stream & 0xffff_fff0 != 0 || mask.who & 0xffff_ffff != 0;
        Some(mask)
    }
}

/// Computes the [`GroupCode`] of each row of a batch.
struct GroupCoder<'r> {
    mask: FacetMask,
    sequential: &'r [bool],
    op: NarrowColumn<'r>,
    bytes: NarrowColumn<'r>,
    pid: NarrowColumn<'r>,
    place: [NarrowColumn<'r>; 4],
    batch: &'r Batch,
}

impl<'r> GroupCoder<'r> {
    fn new(rows: &'r AnnotatedRows<'r>, mask: FacetMask) -> Self {
        let place = [Field::Layer, Field::Cgroup, Field::Device, Field::Cpu];
        GroupCoder {
            mask,
            sequential: rows.sequential,
            op: rows.batch.narrow(Field::Op),
            bytes: rows.batch.narrow(Field::Bytes),
            pid: rows.batch.narrow(Field::Pid),
            place: place.map(|field| rows.batch.narrow(field)),
            batch: rows.batch,
        }
    }

    #[inline]
    fn at(&self, row: usize) -> GroupCode {
        let (op, sequential) = (self.op.op(row) as u64, u64::from(self.sequential[row]));
        let mut stream = u64::from(self.bytes.at(row)) << 32 | op << 1 | sequential;
        let mut who = u64::from(self.pid.at(row)) << 32;
        if self.mask.place {
            let [layer, cgroup, device, cpu] = self.place.map(|column| u64::from(column.at(row)));
            stream |= u64::from(layer == Layer::FileSystem as u64) << 4 | (cgroup & 0xffff) << 8;
            who |= (device & 0xffff) << 16 | cpu & 0xffff;
        }
        GroupCode {
            stream: stream & self.mask.stream,
            who: who & self.mask.who,
            command: if self.mask.command {
                self.batch.command(row)
            } else {
                CommandName::default()
            },
        }
    }
}

/// The groups of a capture.
#[derive(Debug, Clone)]
pub struct Groups {
    by: Vec<Facet>,
    /// First device of the host of each device, by device number.
    hosts: Vec<u16>,
    groups: BoundedTable<GroupKey>,
    /// Set if cells came from a fold file of an earlier version, which has no merges.
    merges_unknown: bool,
    percentiles: bool,
}

/// Compares only the groups and their sums, not the options.
impl PartialEq for Groups {
    fn eq(&self, other: &Self) -> bool {
        self.groups == other.groups
    }
}

impl Groups {
    /// Creates empty groups, one per combination of values of these facets.
    pub fn by(facets: &[Facet]) -> Self {
        Self::keeping(GROUPS_MAX, facets)
    }

    /// Like [`Self::by`], with at most `most` groups counted separately.
    pub fn keeping(most: usize, facets: &[Facet]) -> Self {
        Groups {
            by: facets.to_vec(),
            hosts: Vec::new(),
            groups: BoundedTable::keeping(most),
            merges_unknown: false,
            percentiles: true,
        }
    }

    /// Keeps only average and maximum of the times of each group, which takes a tenth of the
    /// memory.
    pub fn without_percentiles(self) -> Self {
        Groups { percentiles: false, ..self }
    }

    /// Sets the host of each device, which [`Facet::Host`] needs.
    pub fn with_hosts(mut self, conditions: &CaptureConditions) -> Self {
        let devices = &conditions.devices;
        let first = |host: &Option<String>| devices.iter().position(|one| one.host == *host);
        let hosts = devices.iter().map(|device| first(&device.host).unwrap_or(0));
        self.hosts = hosts.map(|at| u16::try_from(at).unwrap_or(0)).collect();
        self
    }

    fn host_of(&self, device: u16) -> u16 {
        self.hosts.get(usize::from(device)).copied().unwrap_or(0)
    }

    /// Iterates over the groups, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&GroupKey, &IoSums)> {
        self.groups.iter()
    }
    /// Returns the I/Os of the groups beyond [`GROUPS_MAX`], all together.
    pub fn unlisted(&self) -> &IoSums {
        self.groups.rest()
    }
    /// Returns whether merged requests were counted.
    pub fn has_merges(&self, conditions: &CaptureConditions) -> bool {
        conditions.merging.is_some() && !self.merges_unknown
    }
    /// Returns the facets by which the I/Os are grouped.
    pub fn facets(&self) -> &[Facet] {
        &self.by
    }
    /// Returns the sums over all groups.
    pub fn total(&self) -> IoSums {
        self.groups.total()
    }

    /// Returns groups by `facets` that have only the unlisted I/Os of these.
    fn only_unlisted(&self, facets: &[Facet]) -> Groups {
        let (merges_unknown, percentiles) = (self.merges_unknown, self.percentiles);
        let mut unlisted = Groups { merges_unknown, percentiles, ..Groups::by(facets) };
        unlisted.groups.rest_mut().clone_from(self.unlisted());
        unlisted
    }

    /// Merges these groups into coarser ones by `facets`, a subset of [`Self::facets`].
    pub fn regrouped(&self, facets: &[Facet]) -> Groups {
        let mut merged = self.only_unlisted(facets);
        for (key, tally) in self.iter() {
            merged.groups.tally(key.only(facets)).merge(tally);
        }
        merged
    }

    /// Returns the I/Os of all groups that are not in `listed`, together as [`Self::unlisted`].
    pub fn beyond(&self, listed: &[GroupKey]) -> Groups {
        let mut beyond = self.only_unlisted(&self.by);
        let others = self.iter().filter(|(key, _)| !listed.contains(key));
        others.for_each(|(_, tally)| beyond.groups.rest_mut().merge(tally));
        beyond
    }

    fn has(&self, facet: Facet) -> bool {
        self.by.contains(&facet)
    }

    fn key(&self, rows: &AnnotatedRows<'_>, row: usize) -> GroupKey {
        let batch = rows.batch;
        let side = DeviceLayer { device: batch.device(row), layer: batch.layer(row) };
        let stream = StreamKey {
            op: batch.op(row),
            sequential: rows.sequential[row],
            bytes: batch.bytes(row),
        };
        let originator = Originator {
            pid: batch.pid(row),
            command: batch.command(row),
            tid: batch.tid(row),
            thread: batch.thread(row),
            cgroup: batch.cgroup(row),
            inode: batch.inode(row),
        };
        self.key_of(side, stream, originator, Some(batch.cpu(row)))
    }

    /// Returns the key of a cell. It has no processor.
    fn key_of_cell(&self, cell: &CubeCell) -> GroupKey {
        let CubeCell { device, layer, op, sequential, bytes, who, .. } = *cell;
        self.key_of(DeviceLayer { device, layer }, StreamKey { op, sequential, bytes }, who, None)
    }

    fn key_of(
        &self,
        side: DeviceLayer,
        stream: StreamKey,
        originator: Originator,
        cpu: Option<u16>,
    ) -> GroupKey {
        let Originator { pid, command, tid, thread, cgroup, inode } = originator;
        let is_file = side.layer == Layer::FileSystem;
        GroupKey {
            host: Some(self.host_of(side.device)),
            device: Some(side),
            process: self.process_key(ProcessKey { pid, command }),
            thread: Some(ThreadKey { tid, name: thread }),
            cgroup: Some(cgroup),
            file: Some(if is_file { (side.device, inode) } else { (0, 0) }),
            stream: Some(stream),
            op: Some(stream.op),
            cpu,
        }
        .only(&self.by)
    }

    /// Returns the part of a key that identifies the process: with its number if processes or
    /// threads are grouped, without it if only named commands are, `None` otherwise.
    fn process_key(&self, process: ProcessKey) -> Option<ProcessKey> {
        if self.has(Facet::Process) || self.has(Facet::Thread) {
            Some(process)
        } else if self.has(Facet::Command) {
            let pid = if process.command.is_empty() { process.pid } else { 0 };
            Some(ProcessKey { pid, ..process })
        } else {
            None
        }
    }

    /// Returns the dimensions that cells must have for these facets.
    fn dimensions(&self) -> Dimensions {
        Dimensions {
            processes: self.has(Facet::Process) || self.has(Facet::Command),
            threads: self.has(Facet::Thread),
            cgroups: self.has(Facet::Cgroup),
            files: self.has(Facet::File),
            ..Dimensions::default()
        }
    }

    /// Adds rows by [`GroupCode`]; builds a key only if the code is not cached.
    fn take_by_code(&mut self, rows: &AnnotatedRows<'_>, mask: FacetMask) {
        let columns = SumColumns::new(rows, self.percentiles);
        let coder = GroupCoder::new(rows, mask);
        // Moved out because `self.key` borrows `self`.
        let mut groups = mem::replace(&mut self.groups, BoundedTable::keeping(0));
        let mut cache = RecentCache::new();
        for row in rows.iter() {
            let code = coder.at(row);
            let key = || self.key(rows, row);
            groups.cached_tally(&mut cache, code.number(), code, key).add(&columns, row);
        }
        self.groups = groups;
    }

    /// Adds rows by their keys.
    fn take_by_key(&mut self, rows: &AnnotatedRows<'_>) {
        let columns = SumColumns::new(rows, self.percentiles);
        // Moved out because `self.key` borrows `self`.
        let mut groups = mem::replace(&mut self.groups, BoundedTable::keeping(0));
        let mut cache = RecentCache::new();
        for row in rows.iter() {
            let key = self.key(rows, row);
            groups.cached_tally(&mut cache, key.number(), key, || key).add(&columns, row);
        }
        self.groups = groups;
    }
}

impl Fold for Groups {
    fn fields(&self) -> Fields {
        let always = Fields::new(&[Field::Depth, Field::Flags, Field::Merged])
            .and(IoSums::FIELDS)
            .and(Contents::FIELDS);
        self.by.iter().fold(always, |fields, facet| {
            fields.and(match facet {
                Facet::Host => Fields::new(&[Field::Device]),
                Facet::Device => Fields::new(&[Field::Device, Field::Layer]),
                Facet::Process | Facet::Command => Fields::new(&[Field::Pid, Field::Command]),
                Facet::Thread => {
                    Fields::new(&[Field::Pid, Field::Command, Field::Tid, Field::Thread])
                }
                Facet::Cgroup => Fields::new(&[Field::Cgroup]),
                Facet::File => Fields::new(&[Field::Device, Field::Layer, Field::Inode]),
                Facet::Cpu => Fields::new(&[Field::Cpu]),
                Facet::Stream | Facet::Op => Fields::NONE,
            })
        })
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        match FacetMask::new(&self.by) {
            Some(mask) => self.take_by_code(rows, mask),
            None => self.take_by_key(rows),
        }
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(Groups {
            hosts: self.hosts.clone(),
            percentiles: self.percentiles,
            ..Groups::keeping(self.groups.most(), &self.by)
        })
    }
    fn check_dimensions(&self, recorded: Dimensions) -> Result<(), NotRecorded> {
        for facet in &self.by {
            match facet {
                Facet::Cpu => return Err(NotRecorded::SingleIos),
                Facet::Thread if !recorded.single_ios => return Err(NotRecorded::Threads),
                Facet::Cgroup if !recorded.single_ios => return Err(NotRecorded::Cgroups),
                Facet::File if !recorded.single_ios => return Err(NotRecorded::Files),
                _ => {}
            }
        }
        if self.dimensions().processes && !recorded.processes {
            return Err(NotRecorded::Processes);
        }
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        cells.dimensions.check(self.dimensions())?;
        self.merges_unknown |= !cells.dimensions.merges;
        for cell in cells.cells {
            let tally = self.groups.tally(self.key_of_cell(cell));
            tally.add_cell(cell, cells.dimensions.single_ios, self.percentiles);
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.merges_unknown |= other.merges_unknown;
        self.groups.merge(other.groups);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::AnnotatedBatch;
    use steadfast_domain::IoEvent;
    use steadfast_domain::io_event::RESPONSE_UNKNOWN;
    use steadfast_domain::random_bits::mix64;

    /// I/Os that differ in a few bits of every column.
    fn ios() -> Vec<IoEvent> {
        let one = |at: u64| {
            let mut bits = mix64(at);
            let mut draw = |below: u64| {
                bits = mix64(bits);
                bits % below
            };
            IoEvent {
                op: IoOp::ALL[draw(5) as usize],
                bytes: 512 << draw(2),
                response_ns: if draw(9) == 0 { RESPONSE_UNKNOWN } else { draw(5000) },
                queued_ns: draw(3),
                pid: draw(3) as u32,
                tid: draw(3) as u32,
                cgroup: draw(3) as u16,
                cpu: draw(3) as u16,
                device: draw(3) as u16,
                flags: draw(1 << FLAGS) as u16,
                layer: if draw(2) == 0 { Layer::Block } else { Layer::FileSystem },
                command: CommandName::new(["", "a", "b"][draw(3) as usize]),
                inode: draw(3),
                ..IoEvent::default()
            }
        };
        (0..2003).map(one).collect()
    }

    #[test]
    fn groups_are_equal_by_code_and_by_key() {
        let ios = ios();
        let batch = AnnotatedBatch {
            sequential: ios.iter().map(|io| io.response_ns % 3 == 0).collect(),
            kept: ios.iter().map(|io| io.response_ns % 7 > 0).collect(),
            ..AnnotatedBatch::from_events(&ios)
        };
        let rows = batch.rows();
        let pairs = Facet::ALL.iter().flat_map(|a| Facet::ALL.iter().map(move |b| [*a, *b]));
        for (facets, most) in pairs.flat_map(|facets| [(facets, 3), (facets, GROUPS_MAX)]) {
            let mut by_key = Groups::keeping(most, &facets);
            by_key.hosts = vec![0, 1, 0];
            let mut taken = by_key.clone();
            by_key.take_by_key(&rows);
            taken.take(&rows).unwrap();
            assert_eq!(taken, by_key, "{facets:?}");
        }
    }
}
