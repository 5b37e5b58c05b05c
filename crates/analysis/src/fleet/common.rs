//! Merges the conditions of several captures: one time axis, one list of devices, one description.

use crate::questions::compare::UNKNOWN_HOST;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steadfast_domain::io_event::{
    CapturedCgroup, CapturedDevice, ContentSample, FileName, IncompleteIos, Mark, MergeCounts,
};
use steadfast_domain::{CaptureConditions, Layer};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::merge_mapping::MergeMapping;

const REMARKS_MAX: usize = 64;
/// Maximum number of names in a list of hosts.
const NAMES_MAX: usize = 4;
/// The axis begins at a whole hour of the clock, so that steps of any usual width lie on one grid.
const HOUR_NS: u64 = 3_600_000_000_000;

pub(super) struct Common {
    /// Conditions of all captures together.
    pub conditions: CaptureConditions,
    /// Mapping of each capture into the merged captures.
    pub mappings: Vec<MergeMapping>,
}

impl Common {
    /// Merges these conditions.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if there are more than 65,534 devices.
    pub fn merge(all: &[&CaptureConditions]) -> Result<Common, TraceError> {
        let earliest = all.iter().filter_map(|one| one.began_unix_ns).min();
        let axis = earliest.map(|earliest| earliest / HOUR_NS * HOUR_NS);
        let devices = devices(all);
        let number = |device: &CapturedDevice| {
            let at = devices.binary_search_by_key(&identity(device), identity).ok();
            at.and_then(|at| u16::try_from(at).ok()).filter(|at| *at < u16::MAX)
        };
        let cgroups = cgroups(all);
        let of_all = u16::try_from(devices.len()).unwrap_or(u16::MAX);
        let mapping = |one: &&CaptureConditions| {
            let began = one.began_unix_ns.zip(axis);
            let own = devices_with_host(one).iter().map(number).collect::<Option<_>>();
            let devices = own.ok_or_else(|| {
                TraceError::TooFine("more than 65,534 devices; fold fewer hosts together".into())
            })?;
            let cgroups =
                cgroups_of_host(one).map(|cgroup| cgroup_number(&cgroups, &cgroup)).collect();
            let shift_ns = began.map_or(0, |(began, axis)| began - axis);
            Ok(MergeMapping { shift_ns, devices, cgroups, named: of_all })
        };
        let mappings = all.iter().map(mapping).collect::<Result<Vec<_>, TraceError>>()?;
        let mut conditions = conditions(all, &mappings, axis, named(devices));
        conditions.files = Arc::new(files(all, &mappings));
        // If some captures do not record cgroups, those of the others are still listed.
        conditions.cgroups = all.iter().any(|one| one.cgroups.is_some()).then_some(cgroups);
        Ok(Common { conditions, mappings })
    }
}

pub(super) fn host_of(conditions: &CaptureConditions) -> String {
    conditions.host.clone().unwrap_or_else(|| UNKNOWN_HOST.to_owned())
}

/// Returns the devices of a capture, each with its host.
fn devices_with_host(conditions: &CaptureConditions) -> Vec<CapturedDevice> {
    let host = host_of(conditions);
    let with_host = |device: &CapturedDevice| CapturedDevice {
        host: Some(device.host.clone().unwrap_or_else(|| host.clone())),
        ..device.clone()
    };
    if conditions.devices.is_empty() {
        vec![CapturedDevice {
            name: "device 0".into(),
            host: Some(host),
            ..CapturedDevice::default()
        }]
    } else {
        conditions.devices.iter().map(with_host).collect()
    }
}

/// Returns the fields that identify a device: host, name, serial number, capacity.
fn identity(device: &CapturedDevice) -> (Option<String>, String, Option<String>, Option<u64>) {
    let CapturedDevice { host, name, serial, capacity, .. } = device;
    (host.clone(), name.clone(), serial.clone(), capacity.map(|size| size.0))
}

/// Returns the cgroups of a capture, each with its host.
fn cgroups_of_host(conditions: &CaptureConditions) -> impl Iterator<Item = CapturedCgroup> {
    let with_host = |cgroup: &CapturedCgroup| {
        let host = cgroup.host.clone().or_else(|| Some(host_of(conditions)));
        CapturedCgroup { host, ..cgroup.clone() }
    };
    conditions.cgroups.iter().flatten().map(with_host)
}

/// Returns the distinct cgroups of all captures, at most 65,535.
fn cgroups(all: &[&CaptureConditions]) -> Vec<CapturedCgroup> {
    let mut sorted: Vec<CapturedCgroup> = all.iter().flat_map(|one| cgroups_of_host(one)).collect();
    sorted.sort_by(|a, b| order(a).cmp(&order(b)));
    sorted.dedup();
    sorted.truncate(usize::from(u16::MAX));
    sorted
}

fn order(cgroup: &CapturedCgroup) -> (&Option<String>, &Option<String>, u64) {
    (&cgroup.host, &cgroup.path, cgroup.id)
}

/// Returns the position of a cgroup in the merged list, from 1; 0 if it is not listed.
fn cgroup_number(all: &[CapturedCgroup], one: &CapturedCgroup) -> u16 {
    let at = all.binary_search_by(|other| order(other).cmp(&order(one))).ok();
    at.and_then(|at| u16::try_from(at + 1).ok()).unwrap_or(0)
}

/// Returns the file paths of all captures, with their device numbers in the merged list.
fn files(all: &[&CaptureConditions], mappings: &[MergeMapping]) -> Vec<FileName> {
    let each = all.iter().zip(mappings).flat_map(|(one, mapping)| {
        let placed =
            |file: &FileName| FileName { device: mapping.device(file.device), ..file.clone() };
        one.files.iter().map(placed)
    });
    each.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns merged and split requests by device, or `None` unless every capture counted them.
fn merging(
    all: &[&CaptureConditions],
    mappings: &[MergeMapping],
    devices: usize,
) -> Option<Vec<MergeCounts>> {
    let mut sums = vec![MergeCounts::default(); devices];
    for (one, mapping) in all.iter().zip(mappings) {
        for (own, counted) in (0u16..).zip(one.merging.as_ref()?) {
            if let Some(sum) = sums.get_mut(usize::from(mapping.device(own))) {
                sum.merged = sum.merged.saturating_add(counted.merged);
                sum.split = sum.split.saturating_add(counted.split);
            }
        }
    }
    Some(sums)
}

/// Returns the number of files with a path and without, or `None` unless every capture counted
/// them.
fn paths(all: &[&CaptureConditions]) -> Option<(u64, u64)> {
    let each: Option<Vec<(u64, u64)>> = all.iter().map(|one| one.paths).collect();
    let add = |a: (u64, u64), b: (u64, u64)| (a.0.saturating_add(b.0), a.1.saturating_add(b.1));
    each?.into_iter().reduce(add)
}

/// Returns the distinct devices of all captures, by host and name.
fn devices(all: &[&CaptureConditions]) -> Vec<CapturedDevice> {
    let each = all.iter().flat_map(|one| devices_with_host(one));
    let mut sorted: BTreeMap<_, CapturedDevice> = BTreeMap::new();
    for device in each {
        let known = sorted.entry(identity(&device)).or_insert_with(|| device.clone());
        // Fills in what any capture knows, independently of their order.
        known.model = known.model.take().max(device.model);
        known.logical_sector = known.logical_sector.max(device.logical_sector);
    }
    sorted.into_values().collect()
}

/// Prefixes device names with their host if there are several hosts.
fn named(mut devices: Vec<CapturedDevice>) -> Vec<CapturedDevice> {
    let hosts: BTreeSet<Option<String>> = devices.iter().map(|one| one.host.clone()).collect();
    if hosts.len() > 1 {
        for device in &mut devices {
            let host = device.host.as_deref().unwrap_or(UNKNOWN_HOST);
            device.name = format!("{host}:{}", device.name);
        }
    }
    devices
}

fn conditions(
    all: &[&CaptureConditions],
    mappings: &[MergeMapping],
    axis: Option<u64>,
    devices: Vec<CapturedDevice>,
) -> CaptureConditions {
    let ends = all.iter().zip(mappings).filter(|(one, _)| one.lasted_ns > 0);
    let ends = ends.map(|(one, mapping)| one.lasted_ns.saturating_add(mapping.shift_ns));
    let total = |of: fn(&CaptureConditions) -> u64| {
        all.iter().map(|one| of(one)).fold(0u64, u64::saturating_add)
    };
    let layers: BTreeSet<Layer> = all.iter().flat_map(|one| one.layers.iter().copied()).collect();
    let hosts: BTreeSet<String> = all.iter().map(|one| host_of(one)).collect();
    let content = content(all);
    CaptureConditions {
        software: listed(all.iter().map(|one| one.software.clone()).collect()),
        source: listed(all.iter().map(|one| one.source.clone()).collect()),
        part: None,
        step_ns: None,
        lba_ranges: alike(all, |one| one.lba_ranges),
        layers: layers.into_iter().collect(),
        process: alike(all, |one| one.process),
        host: Some(listed(hosts)),
        operating_system: alike(all, |one| one.operating_system.clone()),
        kernel: alike(all, |one| one.kernel.clone()),
        threads: all.iter().any(|one| one.threads),
        busy_time: all.iter().all(|one| one.busy_time),
        cgroups: None,
        merging: merging(all, mappings, devices.len()),
        paths: paths(all),
        files: Arc::default(),
        processors: Arc::default(),
        devices,
        began_unix_ns: axis,
        zone: alike(all, |one| one.zone.clone()),
        workload: alike(all, |one| one.workload.clone()),
        comment: alike(all, |one| one.comment.clone()),
        rounded_times: all.iter().any(|one| one.rounded_times),
        lasted_ns: ends.max().unwrap_or(0),
        lost: total(|one| one.lost),
        skipped: total(|one| one.skipped),
        unfinished: total(|one| one.unfinished),
        in_part: in_part(all),
        unseen: unseen(all),
        // With several hosts the cost is no share of one processor.
        cost_ns: None,
        marks: marks(all, mappings),
        compression_ratio: content.map_or_else(
            || alike(all, |one| one.compression_ratio.map(f64::to_bits)).map(f64::from_bits),
            |content| content.compression_ratio(),
        ),
        duplicate_share: alike(all, |one| one.duplicate_share.map(f64::to_bits))
            .map(f64::from_bits),
        content,
        remarks: remarks(all, axis),
    }
}

/// Returns a value that all captures share, or `None`.
fn alike<T: PartialEq>(
    all: &[&CaptureConditions],
    of: impl Fn(&CaptureConditions) -> Option<T>,
) -> Option<T> {
    let mut values = all.iter().map(|one| of(one));
    let first = values.next().flatten()?;
    values.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// Joins names as in `web1, web2, web3, web4 and 6 more`.
fn listed(names: BTreeSet<String>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let first: Vec<String> = names.into_iter().take(NAMES_MAX).collect();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn in_part(all: &[&CaptureConditions]) -> Option<IncompleteIos> {
    all.iter().filter_map(|one| one.in_part).reduce(|a, b| IncompleteIos {
        begun_before: a.begun_before.saturating_add(b.begun_before),
        unended: a.unended.saturating_add(b.unended),
        too_many: a.too_many.saturating_add(b.too_many),
    })
}

fn unseen(all: &[&CaptureConditions]) -> Vec<(String, u64)> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (what, count) in all.iter().flat_map(|one| &one.unseen) {
        let sum = sums.entry(what.clone()).or_insert(0);
        *sum = sum.saturating_add(*count);
    }
    sums.into_iter().collect()
}

fn marks(all: &[&CaptureConditions], mappings: &[MergeMapping]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (one, mapping) in all.iter().zip(mappings) {
        marks.extend(one.marks.iter().map(|mark| Mark {
            at_ns: mark.at_ns.saturating_add(mapping.shift_ns),
            ..mark.clone()
        }));
    }
    marks.sort_by(|a, b| (a.at_ns, &a.name).cmp(&(b.at_ns, &b.name)));
    marks
}

/// Returns the content measurements of all captures together. Blocks of different captures were not
/// compared, so the share of duplicates becomes a lower bound.
fn content(all: &[&CaptureConditions]) -> Option<ContentSample> {
    let samples = all.iter().map(|one| one.content).collect::<Option<Vec<ContentSample>>>()?;
    let every = samples.iter().map(|one| one.every).max()?;
    let sum =
        |of: fn(&ContentSample) -> u64| samples.iter().map(of).fold(0u64, u64::saturating_add);
    Some(ContentSample {
        every: if samples.len() > 1 { every.max(2) } else { every },
        blocks: sum(|one| one.blocks),
        bytes: sum(|one| one.bytes),
        compressed_bytes: sum(|one| one.compressed_bytes),
        duplicates: sum(|one| one.duplicates),
        passed_over: sum(|one| one.passed_over),
        unreadable: sum(|one| one.unreadable),
        late: sum(|one| one.late),
        bound: samples.iter().any(|one| one.bound),
    })
}

fn remarks(all: &[&CaptureConditions], axis: Option<u64>) -> Vec<String> {
    let distinct: BTreeSet<&String> = all.iter().flat_map(|one| &one.remarks).collect();
    let more = distinct.len().saturating_sub(REMARKS_MAX);
    let mut remarks: Vec<String> = distinct.into_iter().take(REMARKS_MAX).cloned().collect();
    if more > 0 {
        remarks.push(format!("{more} more remarks; read the captures one by one to see them."));
    }
    let unclocked = all.iter().filter(|one| one.began_unix_ns.is_none()).count();
    if axis.is_some() && unclocked > 0 {
        remarks.push(format!(
            "{unclocked} of {} captures have no start time; they begin with the time axis.",
            all.len()
        ));
    }
    remarks
}
