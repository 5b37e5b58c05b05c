//! Metadata of a capture: everything that the page shows before it asks for more.

use crate::capture::ExploredCapture;
use crate::index::Index;
use crate::key_sums::{KeySum, process_id, stream_id};
use serde::Serialize;
use std::collections::BTreeMap;

/// Filters of the command line, by their names in the API.
const FILTERS: [&str; 9] =
    ["from", "to", "event", "op", "device", "layer", "process", "pid", "stream"];

/// Metadata of a capture for the page.
#[derive(Serialize)]
pub struct CaptureMeta {
    begin_unix_ns: Option<u64>,
    zone_offset_s: Option<i32>,
    /// Begin of the first capture of a fold file; 0 for one capture.
    start_ns: u64,
    duration_ns: u64,
    /// Width of the capture steps; `None` for single I/Os.
    step_ns: Option<u64>,
    /// Views that cannot be shown, with the reasons.
    refused: BTreeMap<&'static str, String>,
    ios: u64,
    bytes: u64,
    devices: Vec<DeviceMeta>,
    layers: Vec<String>,
    processes: Vec<ProcessMeta>,
    streams: Vec<StreamMeta>,
    marks: Vec<MarkMeta>,
    caveats: Vec<CaveatMeta>,
    lba: LbaMeta,
    cell_ns: u64,
    cells: usize,
    busy_ns: Option<u64>,
    workload_name: Option<String>,
    comment: Option<String>,
    host: Option<String>,
    source: String,
    /// Values for `by` of `groups`: file, cgroup and thread, as far as they were captured.
    groups: Vec<&'static str>,
    filters: [&'static str; 9],
}

#[derive(Serialize)]
struct DeviceMeta {
    name: String,
    model: Option<String>,
    capacity: Option<u64>,
}

#[derive(Serialize)]
struct ProcessMeta {
    /// Command name; empty if it was not recorded.
    name: String,
    /// Values for `key` and `pid`; there are several if several processes have the name.
    ids: Vec<String>,
    pids: Vec<u32>,
    ios: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct StreamMeta {
    id: String,
    name: String,
    ios: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct MarkMeta {
    t: u64,
    text: String,
}

#[derive(Serialize)]
struct CaveatMeta {
    id: String,
    text: String,
    remedy: String,
}

#[derive(Serialize)]
struct LbaMeta {
    low: u64,
    high: u64,
}

/// Returns the metadata of a capture with its index.
pub fn of_capture(capture: &ExploredCapture, index: &Index) -> CaptureMeta {
    let conditions = capture.conditions();
    let streams = &index.cells.shares.streams;
    let bytes = streams.sums.iter().fold(0u64, |sum, part| sum.saturating_add(part.bytes));
    let device = |device: &steadfast_domain::io_event::CapturedDevice| DeviceMeta {
        name: device.name.clone(),
        model: device.model.clone(),
        capacity: device.capacity.map(|size| size.0),
    };
    let mark = |mark: &steadfast_domain::io_event::Mark| MarkMeta {
        t: mark.at_ns,
        text: mark.name.clone(),
    };
    let caveat = |caveat: &steadfast_domain::Caveat| CaveatMeta {
        id: caveat.id.clone(),
        text: caveat.text.clone(),
        remedy: caveat.remedy.clone(),
    };
    let addresses = &index.maps.addresses;
    let processes = if capture.lacks_processes().is_some() { Vec::new() } else { processes(index) };
    CaptureMeta {
        begin_unix_ns: conditions.began_unix_ns,
        zone_offset_s: conditions.zone.as_ref().map(|zone| zone.offset_s),
        start_ns: index.begin_ns,
        duration_ns: index.end_ns,
        step_ns: index.step_ns,
        refused: super::views::refused(capture),
        ios: index.ios,
        bytes,
        devices: conditions.devices.iter().map(device).collect(),
        layers: conditions.layers.iter().map(ToString::to_string).collect(),
        processes,
        streams: stream_list(index),
        marks: conditions.marks.iter().map(mark).collect(),
        caveats: index.caveats.iter().map(caveat).collect(),
        lba: LbaMeta { low: addresses.low, high: addresses.begin(addresses.ranges) },
        cell_ns: index.cells.width_ns,
        cells: index.cells.count,
        busy_ns: capture.knows_busy_time().then(|| busy_ns(index)),
        workload_name: conditions.workload.clone(),
        comment: conditions.comment.clone(),
        host: conditions.host.clone(),
        source: conditions.source.clone(),
        groups: super::groups::recorded(capture),
        filters: FILTERS,
    }
}

fn busy_ns(index: &Index) -> u64 {
    let mut busy = 0;
    index.cells.columns(0..index.cells.count, index.cells.count, |_, all| busy = all.busy_ns);
    busy
}

fn stream_list(index: &Index) -> Vec<StreamMeta> {
    let streams = &index.cells.shares.streams;
    let names = streams.keys.iter().map(stream_id).chain(["others".to_owned()]);
    let all = names.zip(&streams.sums);
    let one = |(name, sum): (String, &KeySum)| StreamMeta {
        id: name.clone(),
        name,
        ios: sum.ios,
        bytes: sum.bytes,
    };
    all.filter(|(_, sum)| sum.ios > 0).map(one).collect()
}

/// Returns the processes by command name, the most active first. Processes without a series of
/// their own are merged and come last.
fn processes(index: &Index) -> Vec<ProcessMeta> {
    let processes = &index.cells.shares.processes;
    let mut by_name: BTreeMap<String, ProcessMeta> = BTreeMap::new();
    for (key, sum) in processes.keys.iter().zip(&processes.sums) {
        let name = key.command.to_string();
        let entry = by_name.entry(name.clone()).or_insert_with(|| ProcessMeta {
            name,
            ids: Vec::new(),
            pids: Vec::new(),
            ios: 0,
            bytes: 0,
        });
        entry.ids.push(process_id(key));
        entry.pids.extend((key.pid > 0).then_some(key.pid));
        entry.ios += sum.ios;
        entry.bytes = entry.bytes.saturating_add(sum.bytes);
    }
    let mut listed: Vec<ProcessMeta> = by_name.into_values().collect();
    listed.sort_by_key(|process| std::cmp::Reverse(process.ios));
    if let Some(rest) = processes.sums.get(processes.keys.len()).filter(|rest| rest.ios > 0) {
        let (ios, bytes) = (rest.ios, rest.bytes);
        let (ids, pids) = (Vec::new(), Vec::new());
        listed.push(ProcessMeta { name: "others".into(), ids, pids, ios, bytes });
    }
    listed
}
