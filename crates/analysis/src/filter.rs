//! A [`Filter`] selects I/Os by time, event mark, process, operation, device, layer and I/O stream.
//! Sequentiality is determined over all events before filtering, so a filter never turns a
//! sequential I/O into a random one.

use crate::annotate::busy_time::{BusySpan, DeviceBusySpan};
use crate::cells::{BusyInStep, CubeCell, Dimensions, RangeHits};
use crate::cgroup_owner::owner_of_cgroup;
use crate::clock::CaptureClock;
use crate::device_layer::{DeviceLayer, device_name};
use crate::questions::compare::{cgroup_name, host_name};
use crate::questions::streams::StreamKey;
use std::collections::BTreeSet;
use std::mem;
use std::ops::RangeInclusive;
use steadfast_domain::io_event::{CapturedDevice, CommandName, inode_and_file};
use steadfast_domain::text::excerpt;
use steadfast_domain::{CaptureConditions, IoOp, Layer};
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::observed_time::ObservedTime;
use steadfast_tracefile::parquet::{Field, Fields};

/// A process to select I/Os by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessSelector {
    /// The process with this ID.
    Pid(u32),
    /// Every process with this command name.
    Command(String),
}

impl ProcessSelector {
    /// Parses a process ID; any other text is a command name.
    pub fn parse(text: &str) -> ProcessSelector {
        match text.parse() {
            Ok(pid) => ProcessSelector::Pid(pid),
            Err(_) => ProcessSelector::Command(text.to_owned()),
        }
    }
    /// Returns true if it selects a process.
    pub fn selects(&self, pid: u32, command: CommandName) -> bool {
        match self {
            ProcessSelector::Pid(selected) => *selected == pid,
            ProcessSelector::Command(name) => command.to_string() == *name,
        }
    }
}

/// A file, as its device (`None` for any) and its inode.
pub type FileKey = (Option<u16>, u64);

/// A selection of events. An event must match every field; an empty list or `None` matches every
/// event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Time spans as (begin, end), in nanoseconds from the beginning of the capture. An event
    /// matches if it was issued within any of them; the end is exclusive.
    pub spans_ns: Vec<(u64, u64)>,
    /// Process ID or command name.
    pub process: Option<ProcessSelector>,
    /// Thread ID.
    pub thread: Option<u32>,
    /// Cgroups, each as its name as given and its positions in the conditions.
    pub cgroups: Vec<(String, Vec<u16>)>,
    /// Files, each as its name as given and its keys. A key without a device matches the inode on
    /// every device.
    pub files: Vec<(String, Vec<FileKey>)>,
    /// Operations.
    pub ops: Vec<IoOp>,
    /// Devices, as their positions in the conditions.
    pub devices: Vec<u16>,
    /// Hosts, each as its name and its devices.
    pub hosts: Vec<(String, Vec<u16>)>,
    /// Layer at which the event was captured.
    pub layer: Option<Layer>,
    /// I/O streams.
    pub streams: Vec<StreamKey>,
}

impl Filter {
    /// Returns true if no I/O of a selected device is excluded by who did it, its operation or its
    /// stream, so that utilization is meaningful.
    pub fn keeps_whole_devices(&self) -> bool {
        !self.selects_by_owner() && self.ops.is_empty() && self.streams.is_empty()
    }

    /// Returns true if the filter selects by process, thread, cgroup or file.
    pub fn selects_by_owner(&self) -> bool {
        self.process.is_some() || self.needs_single_ios()
    }

    /// Returns true if the filter selects by thread, cgroup or file; step files record none of
    /// these.
    pub fn needs_single_ios(&self) -> bool {
        self.thread.is_some() || !self.cgroups.is_empty() || !self.files.is_empty()
    }

    /// Returns the dimensions that cells need for this filter.
    pub(crate) fn dimensions(&self) -> Dimensions {
        Dimensions {
            processes: self.process.is_some(),
            threads: self.thread.is_some(),
            cgroups: !self.cgroups.is_empty(),
            files: !self.files.is_empty(),
            ..Dimensions::default()
        }
    }

    /// Adds a cgroup, named by its path, by the container, pod, virtual machine or service that it
    /// belongs to, or by the last component of its path.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the trace has no such cgroup. The error lists the
    /// cgroups that it has.
    pub fn with_cgroup(
        mut self,
        name: &str,
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        let all: Vec<CgroupNames<'_>> = (1..=u16::MAX)
            .zip(conditions.cgroups.iter().flatten())
            .map(|(number, cgroup)| CgroupNames {
                number,
                full_name: cgroup_name(conditions, number).unwrap_or_default(),
                path: cgroup.path.as_deref(),
            })
            .collect();
        let matches: [&dyn Fn(&CgroupNames<'_>) -> bool; 4] = [
            &|cgroup| cgroup.full_name == name,
            // With several hosts, a plain path selects the cgroup of this path on each host.
            &|cgroup| cgroup.path == Some(name),
            // A pod or a virtual machine may have several cgroups.
            &|cgroup| cgroup.has_owner(name),
            &|cgroup| cgroup.path.and_then(|path| path.rsplit('/').next()) == Some(name),
        ];
        let numbers = matches
            .into_iter()
            .map(|matches| -> Vec<u16> {
                all.iter().filter(|cgroup| matches(cgroup)).map(|cgroup| cgroup.number).collect()
            })
            .find(|numbers| !numbers.is_empty());
        let Some(numbers) = numbers else {
            let names = all.into_iter().map(|cgroup| cgroup.full_name).collect();
            let none = "capture them with: steadfast capture --cgroups";
            return Err(not_in_trace("cgroup", name, names, none));
        };
        self.cgroups.push((name.to_owned(), numbers));
        Ok(self)
    }

    /// Adds a file, named by its path or its inode. A directory selects every file below it whose
    /// path is known.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the trace has no such path. The error lists some paths
    /// that it has.
    pub fn with_file(
        mut self,
        name: &str,
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        if let Ok(inode) = name.parse() {
            self.files.push((name.to_owned(), vec![(None, inode)]));
            return Ok(self);
        }
        let directory = format!("{}/", name.trim_end_matches('/'));
        let is_wanted = |path: &str| path == name || path.starts_with(&directory);
        let files = conditions.files.iter().filter(|file| is_wanted(&file.path));
        let keys: Vec<_> = files.map(|file| (Some(file.device), file.inode)).collect();
        if keys.is_empty() {
            let names = conditions.files.iter().map(|file| file.path.clone()).collect();
            let none = "capture them with: steadfast capture --paths";
            return Err(not_in_trace("path", name, names, none));
        }
        self.files.push((name.to_owned(), keys));
        Ok(self)
    }

    /// Returns this filter without its layer, or `None` if it has no layer or the trace has only
    /// one.
    pub(crate) fn without_layer(&self, conditions: &CaptureConditions) -> Option<Filter> {
        let of_several = self.layer.is_some() && conditions.layers.len() > 1;
        of_several.then(|| Filter { layer: None, ..self.clone() })
    }

    /// Narrows the spans to their intersection with `spans_ns`.
    pub fn within(mut self, spans_ns: &[(u64, u64)]) -> Self {
        if self.spans_ns.is_empty() {
            self.spans_ns.push((0, u64::MAX));
        }
        let mut spans = Vec::new();
        for ours in &self.spans_ns {
            spans.extend(spans_ns.iter().map(|span| (span.0.max(ours.0), span.1.min(ours.1))));
        }
        spans.retain(|(from, to)| from < to);
        self.spans_ns = spans;
        if self.spans_ns.is_empty() {
            // An empty list would let everything pass.
            self.spans_ns.push((0, 0));
        }
        self
    }

    /// Adds the time from each mark of this name to the next mark of any name.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if there is no such mark. The error lists the marks of
    /// the trace.
    pub fn with_event(
        mut self,
        name: &str,
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        let mut marks = conditions.marks.clone();
        marks.sort_by_key(|mark| mark.at_ns);
        let ends = marks.iter().skip(1).map(|mark| mark.at_ns).chain([u64::MAX]);
        let spans = marks.iter().zip(ends).filter(|(mark, _)| mark.name == name);
        let spans: Vec<(u64, u64)> = spans.map(|(mark, end)| (mark.at_ns, end)).collect();
        self.spans_ns.extend_from_slice(&spans);
        self.spans_ns.sort_unstable();
        self.spans_ns.dedup();
        if spans.is_empty() {
            let names = marks.into_iter().map(|mark| mark.name).collect();
            let none = "set them during a capture with: steadfast mark NAME";
            return Err(not_in_trace("event mark", name, names, none));
        }
        Ok(self)
    }

    /// Adds a device, named by its name in the conditions or its number.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if there is no such device. The error lists the devices
    /// of the trace.
    pub fn with_device(
        mut self,
        device: &str,
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        let is_exact = conditions.devices.iter().any(|one| one.name == device);
        let device = device.strip_prefix("/dev/").filter(|_| !is_exact).unwrap_or(device);
        let named = conditions.devices.iter().position(|one| one.name == device);
        let number = named.or_else(|| device.parse().ok()).and_then(|n| u16::try_from(n).ok());
        let on_any_host = on_any_host(device, conditions);
        if named.is_none() && !on_any_host.is_empty() {
            self.devices.extend(on_any_host);
            return Ok(self);
        }
        let Some(number) = number else {
            let names = conditions.devices.iter().map(|device| device.name.clone());
            let names = names.filter(|name| !name.is_empty()).collect();
            let none = "give the number of a device";
            return Err(not_in_trace("device", device, names, none));
        };
        self.devices.push(number);
        Ok(self)
    }

    /// Adds a host, named as in the conditions.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if there is no such host. The error lists the hosts.
    pub fn with_host(
        mut self,
        host: &str,
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        let devices = devices_of_host(host, conditions);
        if devices.is_empty() {
            return Err(not_in_trace("host", host, hosts_of(conditions), ""));
        }
        self.hosts.push((host.to_owned(), devices));
        Ok(self)
    }

    /// Adds those of `hosts` that the conditions name.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if they name none of them. The error lists the hosts of
    /// the trace.
    pub fn with_known_hosts(
        mut self,
        hosts: &[String],
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        let found = hosts.iter().map(|host| (host.clone(), devices_of_host(host, conditions)));
        let found: Vec<_> = found.filter(|(_, devices)| !devices.is_empty()).collect();
        if found.is_empty() {
            let all = first_names(hosts_of(conditions));
            let text = match hosts {
                [host] => format!("the trace has no host '{}'; its hosts: {all}", excerpt(host)),
                _ => format!("the trace has none of the {} hosts; its hosts: {all}", hosts.len()),
            };
            return Err(TraceError::Unsuitable(text));
        }
        self.hosts.extend(found);
        Ok(self)
    }

    /// Returns true if an I/O on one of these devices can pass; an empty list stands for any
    /// device.
    pub(crate) fn keeps_any_of(&self, devices: &[u16]) -> bool {
        devices.is_empty() || devices.iter().any(|device| self.keeps_device(*device))
    }

    pub(crate) fn keeps_device(&self, device: u16) -> bool {
        (self.devices.is_empty() || self.devices.contains(&device))
            && (self.hosts.is_empty()
                || self.hosts.iter().any(|(_, devices)| devices.contains(&device)))
    }

    /// Describes the filter in words, or returns `None` if it lets everything pass.
    pub fn describe(&self, conditions: &CaptureConditions) -> Option<String> {
        let device = |number: &u16| device_name(conditions, *number);
        let process = self.process.as_ref().map(|process| match process {
            ProcessSelector::Pid(pid) => format!("process {pid}"),
            ProcessSelector::Command(name) => format!("command {name}"),
        });
        let parts = [
            either("issued ", self.spans_ns.iter().map(|span| describe_span(span, conditions))),
            process,
            self.thread.map(|tid| format!("thread {tid}")),
            either("cgroup ", self.cgroups.iter().map(|(name, _)| name.clone())),
            either("file ", self.files.iter().map(|(name, _)| name.clone())),
            either("operation ", self.ops.iter().map(ToString::to_string)),
            either("of host ", self.hosts.iter().map(|(name, _)| name.clone())),
            either("on ", self.devices.iter().map(device)),
            self.layer.map(|layer| format!("layer {layer}")),
            either("I/O stream ", self.streams.iter().map(ToString::to_string)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    pub(crate) fn fields(&self) -> Fields {
        let mut fields = match self.process {
            Some(ProcessSelector::Pid(_)) => Fields::new(&[Field::Pid]),
            Some(ProcessSelector::Command(_)) => Fields::new(&[Field::Command]),
            None => Fields::NONE,
        };
        if self.thread.is_some() {
            fields = fields.and(Fields::new(&[Field::Tid]));
        }
        if !self.cgroups.is_empty() {
            fields = fields.and(Fields::new(&[Field::Cgroup]));
        }
        if !self.files.is_empty() {
            fields = fields.and(Fields::new(&[Field::Inode, Field::Device, Field::Layer]));
        }
        fields
    }

    /// Returns true if no I/O issued at `time` or later can pass.
    pub(crate) fn ends_before(&self, time: u64) -> bool {
        self.end_ns().is_some_and(|end| end <= time)
    }

    /// Returns the time from which on nothing can pass, in nanoseconds. `None` if the filter has no
    /// spans; `u64::MAX` if the last one is open.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        self.spans_ns.iter().map(|(_, to)| *to).max()
    }

    /// Replaces `kept` by one entry per row, which is true if the row passes.
    pub fn mark(&self, batch: &Batch, sequential: &[bool], kept: &mut Vec<bool>) {
        kept.clear();
        kept.resize(batch.len(), true);
        if *self == Filter::default() {
            return;
        }
        for (row, keep) in kept.iter_mut().enumerate() {
            *keep = self.keeps(batch, row, sequential[row]);
        }
    }

    /// Restricts busy time to the time spans of the filter, whenever the I/Os were issued. `kept`
    /// and `busy` have one entry per row of the batch. The busy time within the spans of an I/O that
    /// was issued outside of them, or is outstanding across an end of one, moves to `edge_busy`,
    /// which is restricted as well. None is left under a filter that hides some of a device's I/Os.
    pub fn restrict_busy(
        &self,
        batch: &Batch,
        kept: &[bool],
        busy: &mut [BusySpan],
        edge_busy: &mut Vec<DeviceBusySpan>,
    ) {
        if !self.keeps_whole_devices() {
            busy.fill((0, 0));
            edge_busy.clear();
            return;
        }
        edge_busy.retain(|busy| self.keeps_device_and_layer(busy.side));
        if self.spans_ns.is_empty() {
            return;
        }
        let filter_time = ObservedTime::new(self.spans_ns.clone());
        let spans = filter_time.spans_ns();
        for busy in mem::take(edge_busy) {
            push_within(spans, busy, edge_busy);
        }
        for (row, span) in busy.iter_mut().enumerate() {
            let (begin, end) = *span;
            if begin >= end {
                continue;
            }
            let first = spans.partition_point(|span| span.1 <= begin);
            let is_inside = spans.get(first).is_some_and(|span| span.0 <= begin && end <= span.1);
            if kept[row] && is_inside {
                continue;
            }
            let side = DeviceLayer { device: batch.device(row), layer: batch.layer(row) };
            let busy = DeviceBusySpan { side, span: mem::take(span) };
            if self.keeps_device_and_layer(side) {
                push_within(spans, busy, edge_busy);
            }
        }
    }

    fn keeps(&self, batch: &Batch, row: usize, sequential: bool) -> bool {
        let process = self.process.as_ref();
        let side = DeviceLayer { device: batch.device(row), layer: batch.layer(row) };
        self.keeps_time(batch.issued_ns(row))
            && self.keeps_device_and_layer(side)
            && self.keeps_stream(&StreamKey {
                op: batch.op(row),
                sequential,
                bytes: batch.bytes(row),
            })
            && process.is_none_or(|process| process.selects(batch.pid(row), batch.command(row)))
            && self.thread.is_none_or(|tid| tid == batch.tid(row))
            && (self.cgroups.is_empty() || self.keeps_cgroup(batch.cgroup(row)))
            && (self.files.is_empty() || self.keeps_file(side, batch.inode(row)))
    }

    fn keeps_cgroup(&self, cgroup: u16) -> bool {
        self.cgroups.iter().any(|(_, numbers)| numbers.contains(&cgroup))
    }

    fn keeps_file(&self, side: DeviceLayer, inode: u64) -> bool {
        let mut files = self.files.iter().flat_map(|(_, files)| files);
        side.layer == Layer::FileSystem
            && files.any(|(file_device, file_inode)| match file_device {
                Some(file_device) => *file_device == side.device && *file_inode == inode,
                // A number selects every file that used this inode.
                None => *file_inode == inode || *file_inode == inode_and_file(inode).0,
            })
    }

    /// Returns true if a cell passes. Its time is the beginning of the observed part of its step;
    /// `first_ns` is when the observation of its capture began.
    pub(crate) fn keeps_cell(&self, cell: &CubeCell, first_ns: u64) -> bool {
        let CubeCell { device, layer, op, sequential, bytes, ref who, .. } = *cell;
        let process = self.process.as_ref();
        let side = DeviceLayer { device, layer };
        self.keeps_time(cell.begin_ns.max(first_ns))
            && self.keeps_device_and_layer(side)
            && self.keeps_stream(&StreamKey { op, sequential, bytes })
            && process.is_none_or(|process| process.selects(who.pid, who.command))
            && self.thread.is_none_or(|tid| tid == who.tid)
            && (self.cgroups.is_empty() || self.keeps_cgroup(who.cgroup))
            && (self.files.is_empty() || self.keeps_file(side, who.inode))
    }

    /// Returns true if busy time of a fold file passes, by the rules of [`Self::keeps_cell`]. None does
    /// under a filter that hides some of a device's I/Os.
    pub(crate) fn keeps_busy(&self, busy: &BusyInStep, first_ns: u64) -> bool {
        self.keeps_whole_devices()
            && self.keeps_time(busy.begin_ns.max(first_ns))
            && self.keeps_device_and_layer(busy.into())
    }

    /// Returns true if the I/Os of an LBA range pass, by the rules of [`Self::keeps_cell`]. Those of
    /// an operation that does not pass are removed. LBA ranges record neither streams nor processes.
    pub(crate) fn restrict_range(&self, hits: &mut RangeHits, first_ns: u64) -> bool {
        let passes = |op| self.ops.is_empty() || self.ops.contains(&op);
        if !passes(IoOp::Read) {
            (hits.reads, hits.read_bytes) = (0, 0);
        }
        if !passes(IoOp::Write) {
            (hits.writes, hits.written_bytes) = (0, 0);
        }
        (hits.reads > 0 || hits.writes > 0)
            && self.keeps_time(hits.begin_ns.max(first_ns))
            && self.keeps_device_and_layer(DeviceLayer { device: hits.device, layer: Layer::Block })
    }

    /// Returns true if I/Os that are issued at this time, in nanoseconds, pass.
    pub fn keeps_time(&self, time: u64) -> bool {
        let inside = |span: &(u64, u64)| span.0 <= time && time < span.1;
        self.spans_ns.is_empty() || self.spans_ns.iter().any(inside)
    }

    fn keeps_device_and_layer(&self, side: DeviceLayer) -> bool {
        self.keeps_device(side.device) && self.layer.is_none_or(|layer| layer == side.layer)
    }

    /// Returns true if the operations and streams of the filter include a stream.
    pub fn keeps_stream(&self, key: &StreamKey) -> bool {
        (self.ops.is_empty() || self.ops.contains(&key.op))
            && (self.streams.is_empty() || self.streams.contains(key))
    }
}

/// Adds the parts of a busy span that lie within ascending spans to `parts`.
fn push_within(spans: &[(u64, u64)], busy: DeviceBusySpan, parts: &mut Vec<DeviceBusySpan>) {
    let (begin, end) = busy.span;
    let first = spans.partition_point(|span| span.1 <= begin);
    for (from, to) in spans[first..].iter().take_while(|span| span.0 < end) {
        let span = (begin.max(*from), end.min(*to));
        parts.push(DeviceBusySpan { span, ..busy });
    }
}

struct CgroupNames<'c> {
    number: u16,
    full_name: String,
    path: Option<&'c str>,
}

impl CgroupNames<'_> {
    fn has_owner(&self, name: &str) -> bool {
        let owner = self.path.and_then(owner_of_cgroup);
        owner.is_some_and(|owner| owner.split(", ").any(|part| part == name))
    }
}

/// Maximum number of names that an error lists.
const NAMES_LISTED: usize = 20;

/// Returns the error for a name that is not in the trace. It lists the names that are, or says what
/// to do if there are none.
fn not_in_trace(what: &str, name: &str, names: Vec<String>, if_none: &str) -> TraceError {
    TraceError::Unsuitable(if names.is_empty() {
        format!("the trace names no {what}s; {if_none}")
    } else {
        let names = first_names(names);
        format!("the trace has no {what} '{}'; its {what}s: {names}", excerpt(name))
    })
}

fn first_names(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMES_LISTED);
    names.truncate(NAMES_LISTED);
    names.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// Returns the number of every device; 0 if the conditions have none.
fn device_numbers(conditions: &CaptureConditions) -> RangeInclusive<u16> {
    0..=u16::try_from(conditions.devices.len().saturating_sub(1)).unwrap_or(u16::MAX)
}

fn devices_of_host(host: &str, conditions: &CaptureConditions) -> Vec<u16> {
    device_numbers(conditions).filter(|device| host_name(conditions, *device) == host).collect()
}

fn hosts_of(conditions: &CaptureConditions) -> Vec<String> {
    let names = device_numbers(conditions).map(|device| host_name(conditions, device));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the devices of this name on all hosts, if captures of several hosts are read together.
fn on_any_host(device: &str, conditions: &CaptureConditions) -> Vec<u16> {
    let is_it = |one: &CapturedDevice| {
        let local = one.host.as_ref().and_then(|host| one.name.strip_prefix(host.as_str()));
        local.and_then(|name| name.strip_prefix(':')) == Some(device)
    };
    let found = conditions.devices.iter().zip(0u16..).filter(|(one, _)| is_it(one));
    found.map(|(_, number)| number).collect()
}

/// Joins names as in `operation read or flush`; returns `None` without names.
fn either(what: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("{what}{}", names.join(" or ")))
}

/// Formats a span as in `from 10 s to 25.5 s`, with the time on the clock of the host if its zone
/// is known.
fn describe_span((from, to): &(u64, u64), conditions: &CaptureConditions) -> String {
    let clock =
        CaptureClock::from_conditions(conditions, None).filter(|_| conditions.zone.is_some());
    let format_time = |ns: u64| match &clock {
        Some(clock) => format!("{} s ({})", ns as f64 / 1e9, clock.date_time(ns)),
        None => format!("{} s", ns as f64 / 1e9),
    };
    match (*from, *to) {
        (from, u64::MAX) => format!("from {} on", format_time(from)),
        (0, to) => format!("before {}", format_time(to)),
        (from, to) => format!("from {} to {}", format_time(from), format_time(to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::{FileName, Mark};

    #[test]
    fn describe_names_every_condition() {
        let conditions = CaptureConditions::default();
        assert_eq!(Filter::default().describe(&conditions), None);
        let filter = Filter {
            process: Some(ProcessSelector::parse("postgres")),
            ops: vec![IoOp::Read, IoOp::Flush],
            layer: Some(Layer::Block),
            devices: vec![3],
            ..Filter::default()
        };
        let filter = filter.within(&[(10_000_000_000, 25_500_000_000)]);
        assert_eq!(
            filter.describe(&conditions).as_deref(),
            Some(
                "issued from 10 s to 25.5 s; command postgres; operation read or flush; on device \
                 3; layer block"
            )
        );
        let until = Filter::default().within(&[(0, 2_000_000_000)]);
        assert_eq!(until.describe(&conditions).as_deref(), Some("issued before 2 s"));
    }

    /// Some of several hosts are enough; without any, the error counts them and lists the trace's.
    #[test]
    fn known_hosts_are_added_and_only_unknown_ones_refused() {
        let device = |host: &str| CapturedDevice {
            name: format!("{host}:sda"),
            host: Some(host.into()),
            ..CapturedDevice::default()
        };
        let devices = ["a", "b", "c"].map(device).to_vec();
        let conditions = CaptureConditions { devices, ..CaptureConditions::default() };
        let with = |filter: Filter, hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            filter.with_known_hosts(&hosts, &conditions).map_err(|error| error.to_string())
        };
        let found = with(Filter::default(), &["x", "c", "y", "a"]).unwrap().hosts;
        assert_eq!(found, [("c".to_owned(), vec![2]), ("a".to_owned(), vec![0])]);
        let refused = with(Filter::default(), &["x", "y"]).unwrap_err();
        assert!(refused.contains("none of the 2 hosts") && refused.ends_with("a, b, c"));
        let host_and_role = Filter::default().with_host("b", &conditions).unwrap();
        assert!(with(host_and_role, &["x"]).unwrap_err().contains("'x'"));
    }

    #[test]
    fn the_last_of_65536_devices_is_on_its_host() {
        let device = |number: usize| CapturedDevice {
            host: Some(if number == 65_535 { "z" } else { "a" }.to_owned()),
            ..CapturedDevice::default()
        };
        let devices = (0..65_536).map(device).collect();
        let conditions = CaptureConditions { devices, ..CaptureConditions::default() };
        assert_eq!(devices_of_host("z", &conditions), [65_535]);
        let host = Some("z".to_owned());
        let conditions = CaptureConditions { host, ..CaptureConditions::default() };
        assert_eq!(devices_of_host("z", &conditions), [0]);
    }

    #[test]
    fn a_directory_is_every_file_below_it_that_has_a_path() {
        let files = [(7, "/db/a"), (9, "/db/base/b"), (1 << 48 | 7, "/db/c"), (8, "/dbs/d")];
        let file = |(inode, path): (u64, &str)| FileName { device: 2, inode, path: path.into() };
        let files = std::sync::Arc::new(files.map(file).to_vec());
        let conditions = CaptureConditions { files, ..CaptureConditions::default() };
        let inodes = |name: &str| -> Vec<u64> {
            let filter = Filter::default().with_file(name, &conditions).unwrap();
            filter.files[0].1.iter().map(|(_, inode)| *inode).collect()
        };
        assert_eq!(inodes("/db/a"), [7]);
        assert_eq!(inodes("/db"), [7, 9, 1 << 48 | 7]);
        assert_eq!(inodes("/db/base/"), [9]);
        assert!(Filter::default().with_file("/d", &conditions).is_err());
    }

    #[test]
    fn an_inode_selects_every_file_that_used_it() {
        use steadfast_domain::io_event::{UNKNOWN_FILE, numbered_inode};
        let filter = Filter::default().with_file("13", &CaptureConditions::default()).unwrap();
        let keeps = |layer, inode| filter.keeps_file(DeviceLayer { device: 3, layer }, inode);
        for file in [0, 1, UNKNOWN_FILE] {
            assert!(keeps(Layer::FileSystem, numbered_inode(13, file)));
        }
        for inode in [14, numbered_inode(14, 1)] {
            assert!(!keeps(Layer::FileSystem, inode));
        }
        assert!(!keeps(Layer::Block, 13));
    }

    #[test]
    fn several_marks_keep_what_was_issued_from_each_to_the_next() {
        let mark = |at_ns, name: &str| Mark { at_ns, name: name.into() };
        let marks = vec![mark(5, "a"), mark(9, "b"), mark(20, "c"), mark(30, "a")];
        let conditions = CaptureConditions { marks, ..CaptureConditions::default() };
        let of = |names: &[&str]| {
            let during = |filter: Filter, name: &&str| filter.with_event(name, &conditions);
            names.iter().try_fold(Filter::default(), during).unwrap().spans_ns
        };
        assert_eq!(of(&["c", "a"]), [(5, 9), (20, 30), (30, u64::MAX)]);
        assert_eq!(of(&["b", "b"]), [(9, 20)]);
        assert!(Filter::default().with_event("d", &conditions).is_err());
    }
}
