//! Other activity on the machine: I/O on the device, open handles, load, memory, other programs, a
//! hypervisor.

use super::running_programs::{RunningProgram, programs};
use super::subject::CheckSubject;
use super::topic::CheckTopic;
use crate::facts::memory_amount;
use crate::sensors::{
    DatalessIos, ProcessorTimes, dataless_ios_of, node_counters, processor_times,
};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, read_text};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use steadfast_domain::measurement::{HostCpu, KernelCounters};
use steadfast_domain::record::Check;
use steadfast_domain::text::{counted, number};
use steadfast_domain::{Bytes, Transport};

const BACKGROUND: CheckTopic = CheckTopic("background-io", "Background I/O");
const OPENERS: CheckTopic = CheckTopic("open-handles", "Open handles");
const LOAD: CheckTopic = CheckTopic("load", "Load of the host");
const MEMORY: CheckTopic = CheckTopic("memory", "Memory");
const MACHINE: CheckTopic = CheckTopic("virtual-machine", "Virtual machine");
const PROGRAMS: CheckTopic = CheckTopic("programs", "Other programs");

/// Rate of other programs' I/Os per second at which the numbers no longer describe the load.
const HEAVY_IOPS: f64 = 50.0;

/// Share of the processors' time used by others that triggers a warning.
const BUSY: f64 = 0.2;

/// Available memory below which the kernel starts to swap or to write back early.
const SCARCE: Bytes = Bytes(512 << 20);

/// An observation of the machine: the counters at its beginning.
pub(super) struct ActivityWatch {
    began: Instant,
    before: ActivityCounters,
}

struct ActivityCounters {
    device: Option<KernelCounters>,
    dataless: DatalessIos,
    processors: Option<ProcessorTimes>,
    /// Processor time of this program and the tools that it ran, in ticks.
    own: u64,
    swapped: Option<u64>,
}

impl ActivityCounters {
    fn read(subject: &CheckSubject<'_>) -> Self {
        let (whole, roots) = (subject.whole.as_ref(), subject.roots);
        ActivityCounters {
            device: whole.and_then(|whole| node_counters(whole, roots)),
            dataless: whole.and_then(|whole| dataless_ios_of(whole, roots)).unwrap_or_default(),
            processors: processor_times(subject.roots),
            own: own_ticks(subject.roots).unwrap_or(0),
            swapped: swapped_pages(subject.roots),
        }
    }
}

impl ActivityWatch {
    pub(super) fn begin(subject: &CheckSubject<'_>) -> Self {
        ActivityWatch { began: Instant::now(), before: ActivityCounters::read(subject) }
    }

    /// Waits until `time` has passed since the beginning, then compares the counters.
    pub(super) fn end(self, subject: &CheckSubject<'_>, time: Duration) -> Vec<Check> {
        std::thread::sleep(time.saturating_sub(self.began.elapsed()));
        let seconds = self.began.elapsed().as_secs_f64().max(0.001);
        let after = ActivityCounters::read(subject);
        let times = self.before.processors.zip(after.processors);
        let shares = times.and_then(|(before, after)| after.since(&before));
        let own_ticks = after.own.saturating_sub(self.before.own) as f64;
        let own_share = times.map_or(0.0, |(b, a)| own_ticks / a.ticks_since(&b).max(1.0));
        let swapped = self.before.swapped.zip(after.swapped).map(|(b, a)| a.saturating_sub(b));
        let counted = self.before.device.zip(after.device);
        let done = counted.map(|(before, after)| after.since(&before));
        let programs = programs(subject.roots);
        let (dataless, before) = (after.dataless, self.before.dataless);
        let dataless = DatalessIos {
            discards: dataless.discards.saturating_sub(before.discards),
            flushes: dataless.flushes.saturating_sub(before.flushes),
        };
        let mut checks = vec![background(done.as_ref(), dataless, seconds)];
        checks.push(openers(subject, &programs));
        checks.push(load(subject.roots, shares.as_ref(), own_share));
        checks.extend(memory(subject.roots, swapped));
        checks.push(virtual_machine(subject, shares.as_ref()));
        checks.push(other_programs(&programs));
        checks
    }
}

fn background(done: Option<&KernelCounters>, dataless: DatalessIos, seconds: f64) -> Check {
    let Some(done) = done else {
        return BACKGROUND.unknown(
            "the kernel does not count its I/Os: other programs' I/Os, merges and splits are not \
             seen (queue/iostats)",
        );
    };
    let counts = [done.reads, done.writes, dataless.discards, dataless.flushes];
    let ios = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count)) as f64 / seconds;
    if ios == 0.0 {
        return BACKGROUND.good(format!("none within {seconds:.1} s"));
    }
    let rate = |amount: f64, decimals| number(amount / seconds, decimals);
    let direction = |what, ios: u64, bytes: Bytes| {
        format!("{} {what}/s ({} MB/s)", rate(ios as f64, 0), rate(bytes.as_mb(), 1))
    };
    let mut found = vec![
        direction("reads", done.reads, done.read_bytes),
        direction("writes", done.writes, done.write_bytes),
    ];
    for (what, ios) in [("discards", dataless.discards), ("flushes", dataless.flushes)] {
        if ios > 0 {
            found.push(format!("{} {what}/s", rate(ios as f64, 0)));
        }
    }
    let found = found.join(", ");
    let advice =
        "Another program uses the device: find it with iotop, or fatrace for a file system.";
    if ios < HEAVY_IOPS {
        BACKGROUND.attention(found, advice)
    } else {
        BACKGROUND.bad(found, advice)
    }
}

/// Names of programs that load a disk, at most 15 characters as in `/proc/PID/comm`.
const LOADERS: [&str; 14] = [
    "fio", "dd", "badblocks", "iozone", "bonnie++", "sysbench", "stress-ng", "blkdiscard",
    "e2fsck", "rsync", "updatedb", "updatedb.mlocat", "updatedb.plocat", "mandb",
];

fn is_loader(program: &RunningProgram) -> bool {
    let name = program.name.as_str();
    let is_ours = name == "steadfast" && !program.is_capture;
    LOADERS.contains(&name) || is_ours || name.starts_with("mkfs")
}

fn openers(subject: &CheckSubject<'_>, programs: &[RunningProgram]) -> Check {
    let paths = own_paths(subject);
    let mut openers: Vec<&RunningProgram> = Vec::new();
    let mut unreadable = 0;
    for program in programs {
        match has_open(subject.roots, &program.number, &paths) {
            Some(true) => openers.push(program),
            Some(false) => {}
            None => unreadable += 1,
        }
    }
    if openers.is_empty() && unreadable > 0 {
        return OPENERS.unknown(format!(
            "the open files of {} cannot be read: permission denied (run as root)",
            counted(unreadable as u64, "program")
        ));
    }
    if openers.is_empty() {
        return OPENERS.good("no other program has the device open");
    }
    let shown: Vec<String> = openers.iter().map(|program| program.shown()).collect();
    let shown = format!("open in {}", shown.join(", "));
    if openers.iter().any(|program| is_loader(program)) {
        OPENERS.bad(shown, "End that program; only the run may use the device.")
    } else {
        OPENERS.attention(shown, "Make sure that it does no I/O on the device during the run.")
    }
}

/// Returns the paths through which a program may have the device open.
fn own_paths(subject: &CheckSubject<'_>) -> BTreeSet<PathBuf> {
    let file = subject.is_file().then(|| PathBuf::from(&subject.device.name));
    // Only the file system has the disk of a file open.
    let whole = subject.node.as_ref().map(SysfsNode::whole);
    let parts = whole.iter().flat_map(SysfsNode::partitions);
    let nodes: Vec<SysfsNode> = whole.iter().cloned().chain(parts).collect();
    nodes.iter().map(|node| node.path(subject.roots)).chain(file).collect()
}

/// Returns true if a program has one of these files open; `None` if this user must not see the
/// program's open files.
fn has_open(roots: &SystemRoots, number: &str, paths: &BTreeSet<PathBuf>) -> Option<bool> {
    let handles = match fs::read_dir(roots.proc.join(number).join("fd")) {
        Ok(handles) => handles,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
        // The program has ended.
        Err(_) => return Some(false),
    };
    let opened = handles.filter_map(|handle| fs::read_link(handle.ok()?.path()).ok());
    Some(opened.into_iter().any(|open| paths.contains(&open)))
}

/// Returns the processor time of this process and its reaped children in ticks: fields 14 to 17 of
/// `/proc/self/stat` (proc(5)), counted after the name, which may contain any character.
fn own_ticks(roots: &SystemRoots) -> Option<u64> {
    let text = read_text(&roots.proc.join("self/stat"))?;
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: Vec<u64> =
        fields.split_whitespace().skip(11).take(4).map_while(|tick| tick.parse().ok()).collect();
    ticks.iter().try_fold(0u64, |sum, tick| sum.checked_add(*tick))
}

/// Checks the load of the processors by others, without this program's own share.
fn load(roots: &SystemRoots, shares: Option<&HostCpu>, own: f64) -> Check {
    let average = read_text(&roots.proc.join("loadavg"));
    let average = average.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    let (Some(average), Some(shares)) = (average, shares) else {
        return LOAD.unknown("not reported by the kernel");
    };
    let busy = (shares.user + shares.system + shares.steal - own).max(0.0);
    let found = format!(
        "processors {:.0} % busy, {:.0} % waiting for I/O; load average {average:.2}",
        100.0 * busy,
        100.0 * shares.io_wait
    );
    if busy <= BUSY {
        LOAD.good(found)
    } else {
        LOAD.attention(
            found,
            "Other programs take processor time: find them with top and end them.",
        )
    }
}

/// Returns the number of pages swapped in and out since boot.
fn swapped_pages(roots: &SystemRoots) -> Option<u64> {
    let text = fs::read_to_string(roots.proc.join("vmstat")).ok()?;
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    field("pswpin ")?.checked_add(field("pswpout ")?)
}

fn memory(roots: &SystemRoots, swapped: Option<u64>) -> Option<Check> {
    let text = fs::read_to_string(roots.proc.join("meminfo")).ok()?;
    let available = memory_amount(&text, "MemAvailable")?;
    let used = memory_amount(&text, "SwapTotal")
        .zip(memory_amount(&text, "SwapFree"))
        .map_or(Bytes(0), |(total, free)| Bytes(total.0.saturating_sub(free.0)));
    let pressure = pressure(roots);
    let stalled = pressure.map(|share| format!(", stalled {share:.1} %")).unwrap_or_default();
    let pages = swapped.unwrap_or(0);
    let found = format!("{available} available, {used} swapped out{stalled}");
    let advice = "The kernel may swap or write back during the run: end programs, or swapoff -a.";
    Some(if pages > 0 {
        MEMORY.attention(format!("{found}; {pages} pages swapped during this check"), advice)
    } else if available < SCARCE || pressure.is_some_and(|share| share >= 1.0) {
        MEMORY.attention(found, advice)
    } else {
        MEMORY.good(found)
    })
}

/// Returns the share of the last 10 s, in percent, in which a program waited for memory
/// (Documentation/accounting/psi.rst).
fn pressure(roots: &SystemRoots) -> Option<f64> {
    let text = read_text(&roots.proc.join("pressure/memory"))?;
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_whitespace().find_map(|field| field.strip_prefix("avg10=")?.parse().ok())
}

fn virtual_machine(subject: &CheckSubject<'_>, shares: Option<&HostCpu>) -> Check {
    let roots = subject.roots;
    let text = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    let flagged = flags.is_some_and(|line| line.split_whitespace().any(|f| f == "hypervisor"));
    let maker = read_text(&roots.sys.join("class/dmi/id/sys_vendor")).unwrap_or_default();
    let is_virtual_maker =
        ["QEMU", "VMware", "innotek", "Xen", "Amazon EC2", "Google", "Parallels"]
            .iter()
            .any(|name| maker.starts_with(name));
    let kind = read_text(&roots.sys.join("hypervisor/type"));
    let virtio = subject.device.transport == Transport::Virtio;
    if !(flagged || is_virtual_maker || kind.is_some() || virtio) {
        return match flags {
            Some(_) => MACHINE.good("none: the processor reports no hypervisor"),
            None => MACHINE.unknown("not reported by the processor"),
        };
    }
    let stolen = shares.map_or(String::new(), |shares| {
        format!("; {:.0} % of the processors' time taken by the host", 100.0 * shares.steal)
    });
    let by = kind.or((!maker.is_empty()).then_some(maker)).map(|by| format!(" ({by})"));
    MACHINE.attention(
        format!("runs under a hypervisor{}{stolen}", by.unwrap_or_default()),
        "Its host shares processors and disks with others; measure on the hardware, or pass \
         the whole device through.",
    )
}

/// Services that may disturb a measurement, and what each does.
const SERVICES: [(&str, &str); 12] = [
    ("smartd", "reads the health of drives and may start self-tests"),
    ("udisksd", "reads the health of drives every ten minutes"),
    ("tracker-miner-f", "indexes files"),
    ("baloo_file", "indexes files"),
    ("clamd", "scans for viruses"),
    ("freshclam", "updates the virus scanner"),
    ("unattended-upgr", "installs updates"),
    ("packagekitd", "checks for updates"),
    ("snapd", "installs updates"),
    ("fwupd", "reads the firmware versions of devices"),
    ("zed", "starts ZFS scrubs and repairs"),
    ("dmeventd", "extends and repairs LVM volumes"),
];

fn other_programs(programs: &[RunningProgram]) -> Check {
    if programs.is_empty() {
        return PROGRAMS.unknown("not reported by the kernel");
    }
    let loaders = programs
        .iter()
        .filter(|program| is_loader(program))
        .map(|program| format!("{}: puts load on a disk", program.shown()));
    let services = programs.iter().filter_map(|program| {
        let (_, does) = SERVICES.iter().find(|(name, _)| *name == program.name)?;
        Some(format!("{}: {does}", program.shown()))
    });
    let texts: Vec<String> = loaders.chain(services).collect();
    if texts.is_empty() {
        PROGRAMS.good(format!(
            "no program known to disturb measurements, among {}",
            counted(programs.len() as u64, "program")
        ))
    } else {
        PROGRAMS.attention(texts.join("; "), "Stop them during the run.")
    }
}
