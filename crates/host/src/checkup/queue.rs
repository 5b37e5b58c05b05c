//! The device's queue, sector format and alignment.

use super::subject::CheckSubject;
use super::topic::CheckTopic;
use crate::device_log::{LbaFormat, NvmeFacts};
use crate::host_settings::active_scheduler;
use crate::sysfs_node::KERNEL_SECTOR;
use crate::system_roots::entries;
use steadfast_domain::record::Check;
use steadfast_domain::text::counted;
use steadfast_domain::{Bytes, Transport};

const DEPTH: CheckTopic = CheckTopic("queue-depth", "Queue depth");
const SCHEDULER: CheckTopic = CheckTopic("scheduler", "I/O scheduler");
const SECTORS: CheckTopic = CheckTopic("sector-format", "Sector format");
const ALIGNMENT: CheckTopic = CheckTopic("alignment", "Alignment");
const DISCARD: CheckTopic = CheckTopic("trim", "Discard");

/// Usable depth of SATA native command queuing: 32 commands less one that Linux reserves.
const NCQ_DEPTH: u64 = 31;

/// Number of outstanding I/Os that an enterprise class load keeps in the device.
const USUAL_OIO: u64 = 128;

/// Capacity in bytes above which a drive is assumed to need twice the alignment for its flash pages
/// (rule of the Viking guide).
const LARGE: u64 = 256_000_000_000;

pub(super) fn checks(subject: &CheckSubject<'_>, facts: Option<&NvmeFacts>) -> Vec<Check> {
    let mut checks = Vec::new();
    checks.extend(depth(subject));
    checks.extend(scheduler(subject));
    checks.extend(sectors(subject, facts));
    checks.extend(alignment(subject));
    checks.extend(discard(subject));
    checks
}

fn depth(subject: &CheckSubject<'_>) -> Option<Check> {
    let whole = subject.whole.as_ref()?;
    let queues = entries(&whole.directory.join("mq")).len();
    let requests = subject.queue("nr_requests");
    if let Some(depth) = whole.number::<u64>("device/queue_depth") {
        return Some(command_queue(subject, depth));
    }
    let Some(requests) = requests else {
        return Some(DEPTH.unknown("not reported by the kernel"));
    };
    let found = match queues {
        0 => format!("{requests} requests"),
        queues => format!("{} of {requests} requests", counted(queues as u64, "hardware queue")),
    };
    let room = requests.saturating_mul(queues.max(1) as u64);
    Some(if room >= USUAL_OIO {
        DEPTH.good(found)
    } else {
        DEPTH.attention(
            found,
            format!("Demands above {room} outstanding I/Os wait in the host, not in the device."),
        )
    })
}

/// Checks the queue depth of a SCSI device, which has one depth for all queues; the standard limits
/// SATA to 32.
fn command_queue(subject: &CheckSubject<'_>, depth: u64) -> Check {
    let is_sata = subject.device.transport == Transport::Sata;
    let found = if is_sata { format!("NCQ {depth}") } else { format!("{depth} commands") };
    let name = subject.whole.as_ref().map(|whole| whole.name.as_str()).unwrap_or_default();
    match depth {
        0 | 1 => DEPTH.attention(
            format!("{found}: one command at a time"),
            format!(
                "Commands are not queued. Try echo {NCQ_DEPTH} > /sys/block/{name}/device/queue_depth; \
                 check the kernel's command line for libata.force=noncq, and the firmware's setup \
                 for AHCI."
            ),
        ),
        _ if is_sata && depth < NCQ_DEPTH => DEPTH.attention(
            format!("{found} of 32"),
            format!("echo {NCQ_DEPTH} > /sys/block/{name}/device/queue_depth"),
        ),
        _ => DEPTH.good(found),
    }
}

fn scheduler(subject: &CheckSubject<'_>) -> Option<Check> {
    let whole = subject.whole.as_ref()?;
    let text = whole.text("queue/scheduler")?;
    Some(match active_scheduler(&text) {
        "none" => SCHEDULER.good("none"),
        other => SCHEDULER.attention(
            format!("{other}: it delays I/Os and uses processor time"),
            format!("echo none > /sys/block/{}/queue/scheduler", whole.name),
        ),
    })
}

fn sectors(subject: &CheckSubject<'_>, facts: Option<&NvmeFacts>) -> Option<Check> {
    // A file has no sectors.
    subject.node.as_ref()?;
    let (logical, physical) = (subject.device.logical_sector, subject.device.physical_sector);
    let name = match (logical, physical) {
        (512, 512) => "512n",
        (512, 4096) => "512e",
        (4096, 4096) => "4Kn",
        _ => "other",
    };
    let found = format!("{name}: {logical} B logical, {physical} B physical");
    let formats = facts.map_or(&[][..], |facts| facts.formats.as_slice());
    let Some(used) = formats.iter().find(|format| format.in_use) else {
        return Some(if subject.device.transport == Transport::Nvme {
            SECTORS.unknown(format!("{found}; the device's LBA formats are unknown"))
        } else {
            SECTORS.good(found)
        });
    };
    let found = format!("{found}; LBA format {}", shown(used));
    let best = formats.iter().min_by_key(|format| (format.performance, format.metadata));
    Some(match best {
        Some(best) if best.performance < used.performance => SECTORS.attention(
            format!("{found}; the device rates format {} better", shown(best)),
            format!(
                "nvme format {} --lbaf={} (DESTROYS everything on it), or report the format with \
                 the numbers.",
                subject.device.path, best.number
            ),
        ),
        _ => SECTORS.good(found),
    })
}

/// Formats an LBA format with NVMe's term for its relative performance.
fn shown(format: &LbaFormat) -> String {
    let ratings = ["best", "better", "good", "degraded"];
    let rating = ratings.get(usize::try_from(format.performance).unwrap_or(usize::MAX));
    let metadata = match format.metadata {
        0 => String::new(),
        bytes => format!(" + {bytes} B metadata"),
    };
    format!("{} ({} B{metadata}, {})", format.number, format.sector, rating.unwrap_or(&"?"))
}

fn alignment(subject: &CheckSubject<'_>) -> Option<Check> {
    let node = subject.node.as_ref()?;
    let offset = node.number::<i64>("alignment_offset").unwrap_or(0);
    if offset != 0 {
        return Some(ALIGNMENT.bad(
            format!("alignment_offset {offset}: logical sectors do not begin on physical ones"),
            "Every transfer touches one extra physical sector; repartition the device, or test \
             the whole device.",
        ));
    }
    if node.partition().is_none() {
        return Some(ALIGNMENT.good("the whole device, offset 0"));
    }
    let Some(start) =
        node.number::<u64>("start").and_then(|sectors| sectors.checked_mul(KERNEL_SECTOR))
    else {
        return Some(ALIGNMENT.unknown("the start of the partition is unknown"));
    };
    Some(partition(subject, start))
}

fn partition(subject: &CheckSubject<'_>, start: u64) -> Check {
    let physical = u64::from(subject.device.physical_sector).max(4096);
    let capacity = subject.whole.as_ref().map_or(Bytes(0), |whole| whole.capacity());
    let wanted = if capacity.0 > LARGE { physical.max(8192) } else { physical };
    let found = format!("the partition starts at byte {start}");
    let advice = "Recreate the partition at a multiple of 1 MiB (parted -a optimal).";
    if !start.is_multiple_of(physical) {
        return ALIGNMENT.bad(format!("{found}, not a multiple of {physical}"), advice);
    }
    if start.is_multiple_of(wanted) {
        ALIGNMENT.good(found)
    } else {
        ALIGNMENT.attention(format!("{found}, not a multiple of {wanted}"), advice)
    }
}

fn discard(subject: &CheckSubject<'_>) -> Option<Check> {
    subject.whole.as_ref()?;
    let most = subject.queue("discard_max_bytes");
    let possible = subject.queue("discard_max_hw_bytes");
    let grain = subject.queue("discard_granularity").unwrap_or(0);
    Some(match (most, possible) {
        (Some(0), Some(possible)) if possible > 0 => DISCARD.attention(
            format!("off; the device accepts up to {}", Bytes(possible)),
            "Discards are turned off on this host (queue/discard_max_bytes); a purge by discard is refused.",
        ),
        (Some(0), _) => DISCARD.attention(
            "not supported by the device",
            "Purge it with a format or an erase; discard is not possible.",
        ),
        (Some(most), _) => DISCARD.good(format!(
            "up to {} in one discard, granularity {grain} B",
            Bytes(most)
        )),
        (None, _) => DISCARD.unknown("not reported by the kernel"),
    })
}
