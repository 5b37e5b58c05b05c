//! Metadata of a capture: everything that the page shows before it asks for more.

use crate::capture::ExploredCapture;
use crate::index::Index;
use crate::query::process_id;
use serde::Serialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use steadfast_analysis::sums::io_count::IoCount;

/// Filters of the command line, by their names in the API.
const FILTERS: [&str; 9] =
    ["from", "to", "event", "op", "device", "layer", "process", "pid", "stream"];

/// Returns the metadata of a capture whose index is built.
pub fn capture_meta(capture: &ExploredCapture, index: &Index) -> Value {
    let conditions = capture.conditions();
    let streams = &index.cells.shares.streams;
    let bytes = streams.sums.iter().fold(0u64, |sum, part| sum.saturating_add(part.bytes));
    let devices = conditions.devices.iter().map(|device| {
        let capacity = device.capacity.map(|size| size.0);
        json!({ "name": device.name, "model": device.model, "capacity": capacity })
    });
    let marks = conditions.marks.iter().map(|mark| json!({ "t": mark.at_ns, "text": mark.name }));
    let caveats = index
        .caveats
        .iter()
        .map(|caveat| json!({ "id": caveat.id, "text": caveat.text, "remedy": caveat.remedy }));
    let addresses = &index.maps.addresses;
    let processes = if capture.lacks_processes().is_some() { Vec::new() } else { processes(index) };
    json!({
        "begin_unix_ns": conditions.began_unix_ns,
        "zone_offset_s": conditions.zone.as_ref().map(|zone| zone.offset_s),
        // Begin of the first capture of a fold file; 0 for one capture.
        "start_ns": index.begin_ns,
        "duration_ns": index.end_ns,
        // Width of the capture steps; null for single I/Os.
        "step_ns": index.step_ns,
        // Views that cannot be shown, with the reasons.
        "refused": super::views::refused(capture),
        "ios": index.ios,
        "bytes": bytes,
        "devices": devices.collect::<Vec<_>>(),
        "layers": conditions.layers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "processes": processes,
        "streams": stream_list(index),
        "marks": marks.collect::<Vec<_>>(),
        "caveats": caveats.collect::<Vec<_>>(),
        "lba": { "low": addresses.low, "high": addresses.begin(addresses.ranges) },
        "cell_ns": index.cells.width_ns,
        "cells": index.cells.count,
        "busy_ns": capture.knows_busy_time().then(|| busy_ns(index)),
        "workload_name": conditions.workload,
        "comment": conditions.comment,
        "host": conditions.host,
        "source": conditions.source,
        // Values for `by` of `groups`: file, cgroup and thread, as far as they were captured.
        "groups": super::groups::recorded(capture),
        "filters": FILTERS,
    })
}

fn busy_ns(index: &Index) -> u64 {
    let mut busy = 0;
    let cells = &index.cells;
    cells.columns(0..cells.count, cells.count, |_, all| busy = all.step().busy_ns);
    busy
}

fn stream_list(index: &Index) -> Vec<Value> {
    let streams = &index.cells.shares.streams;
    let names = streams.keys.iter().map(ToString::to_string).chain(["others".to_owned()]);
    let active = names.zip(&streams.sums).filter(|(_, sum)| sum.ios > 0);
    active
        .map(|(name, sum)| json!({ "id": name, "name": name, "ios": sum.ios, "bytes": sum.bytes }))
        .collect()
}

/// The processes of a command name, or all processes without a series of their own.
#[derive(Default, Serialize)]
struct CommandMeta {
    /// Command name; empty if it was not recorded.
    name: String,
    /// Values for `key` and `pid`; there are several if several processes have the name.
    ids: Vec<String>,
    pids: Vec<u32>,
    #[serde(flatten)]
    sums: IoCount,
}

/// Returns the processes by command name, the most active first. Processes without a series of
/// their own are merged and come last.
fn processes(index: &Index) -> Vec<CommandMeta> {
    let processes = &index.cells.shares.processes;
    let mut by_name: BTreeMap<String, CommandMeta> = BTreeMap::new();
    for (key, sum) in processes.keys.iter().zip(&processes.sums) {
        let name = key.command.to_string();
        let entry = by_name.entry(name.clone()).or_default();
        entry.name = name;
        entry.ids.push(process_id(key));
        entry.pids.extend((key.pid > 0).then_some(key.pid));
        entry.sums.add(*sum);
    }
    let mut listed: Vec<CommandMeta> = by_name.into_values().collect();
    listed.sort_by_key(|process| Reverse(process.sums.ios));
    let rest = processes.sums.get(processes.keys.len()).filter(|rest| rest.ios > 0);
    let others = |sums: &IoCount| CommandMeta {
        name: "others".into(),
        sums: *sums,
        ..CommandMeta::default()
    };
    listed.extend(rest.map(others));
    listed
}
