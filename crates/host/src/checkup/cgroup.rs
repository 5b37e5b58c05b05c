//! Limits of this program's control groups.

use super::subject::CheckSubject;
use super::topic::CheckTopic;
use crate::sensors::OwnCgroups;
use crate::sysfs_node::SysfsNode;
use std::collections::BTreeSet;
use steadfast_domain::record::Check;
use steadfast_domain::{Bytes, DeviceNumber};

const LIMITS: CheckTopic = CheckTopic("cgroup-limits", "Limits of the control group");

/// Free memory below a group's limit that triggers a warning.
const SCARCE: Bytes = Bytes(512 << 20);

pub(super) fn check(subject: &CheckSubject<'_>) -> Check {
    let Some(groups) = OwnCgroups::of_this_process(subject.roots) else {
        return LIMITS.unknown("the kernel does not report the control groups of this program");
    };
    let numbers: BTreeSet<DeviceNumber> = [&subject.node, &subject.whole]
        .into_iter()
        .flatten()
        .filter_map(SysfsNode::device_number)
        .collect();
    let device_limits: Vec<String> = numbers
        .into_iter()
        .flat_map(|number| groups.io_limits(number))
        .map(|limit| limit.to_string())
        .collect();
    if !device_limits.is_empty() {
        return LIMITS.bad(
            format!("I/O to this device is limited: {}", device_limits.join(", ")),
            "The limit would be measured, not the device: run steadfast in another control group, \
             or remove the limit.",
        );
    }
    let mut limits: Vec<String> = Vec::new();
    if let Some(processors) = groups.cpu_quota() {
        limits.push(format!("processor time is limited to {processors:.2} processors"));
    }
    let weights = groups.io_weights();
    if !weights.is_empty() {
        limits.push(format!("I/O has a weight: {}", weights.join(", ")));
    }
    if let Some(room) = groups.memory_room().filter(|room| room.free < SCARCE) {
        limits.push(format!("memory is limited to {}; {} is free", room.limit, room.free));
    }
    if limits.is_empty() {
        return LIMITS.good("processor time, memory and I/O to this device are not limited");
    }
    LIMITS.attention(
        limits.join("; "),
        "Run steadfast in another control group, or remove the limit; steps in which a processor \
         quota stopped it or memory was at its limit get a caveat.",
    )
}
