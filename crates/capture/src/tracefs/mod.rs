//! The block layer's tracepoints read from the kernel's own trace buffers, for
//! kernels and users without BPF.
//!
//! A private instance of tracefs is made and taken away again; its buffers are
//! read raw, one per processor. The kernel says in `format` files how its events
//! are laid out. Events of all processors are put in order by their time before
//! they are matched: an I/O's issue and completion are tied together by device,
//! operation and sector, for the tracepoints name nothing better.

mod event;
mod format;
mod journeys;
mod pages;

use crate::error::CaptureError;
use crate::{Counters, Listened, Options, Source, monotonic_ns};
use event::{Kind, Layout, Seen};
use journeys::Journeys;
use pages::Pages;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use steadfast_domain::IoEvent;

/// Where tracefs is mounted, or can be seen through debugfs.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A private instance and its readers.
pub(crate) struct Tracefs {
    // Closed before the instance is removed: the kernel keeps one that is read.
    buffers: Vec<Buffer>,
    instance: Instance,
    layouts: Vec<Layout>,
    /// Seen, but not yet surely in order.
    waiting: Vec<Seen>,
    journeys: Journeys,
    /// Events that a page said were dropped before it.
    dropped: u64,
}

/// One processor's buffer.
struct Buffer {
    cpu: u16,
    pipe: File,
}

/// A directory below `instances`, removed when it is dropped.
struct Instance(PathBuf);

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("tracing_on"), "0");
        let _ = fs::write(self.0.join("events/block/enable"), "0");
        let _ = fs::remove_dir(&self.0);
    }
}

fn failed(what: &str, place: &Path, error: &io::Error) -> CaptureError {
    CaptureError::new(
        format!("cannot {what} {}: {error}", place.display()),
        "run it as root, with tracefs mounted (mount -t tracefs nodev /sys/kernel/tracing)",
    )
}

impl Instance {
    fn new() -> Result<Instance, CaptureError> {
        let root = MOUNTS.iter().map(Path::new).find(|root| root.join("instances").is_dir());
        let Some(root) = root else {
            return Err(CaptureError::new(
                "tracefs is not mounted, or not open to this user",
                "run it as root, after: mount -t tracefs nodev /sys/kernel/tracing",
            ));
        };
        remove_left_behind(&root.join("instances"));
        let place = root.join(format!("instances/steadfast-{}-{}", std::process::id(), serial()));
        fs::create_dir(&place).map_err(|error| failed("make", &place, &error))?;
        Ok(Instance(place))
    }

    fn set(&self, file: &str, value: &str) -> Result<(), CaptureError> {
        let place = self.0.join(file);
        fs::write(&place, value).map_err(|error| failed("write to", &place, &error))
    }

    fn processors(&self) -> Result<Vec<u16>, CaptureError> {
        let place = self.0.join("per_cpu");
        let entries = fs::read_dir(&place).map_err(|error| failed("list", &place, &error))?;
        let mut cpus: Vec<u16> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        Ok(cpus)
    }

    fn buffer(&self, cpu: u16) -> Result<Buffer, CaptureError> {
        let place = self.0.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&place)
            .map_err(|error| failed("open", &place, &error))?;
        Ok(Buffer { cpu, pipe })
    }

    /// Events that a full buffer turned away.
    fn turned_away(&self, cpu: u16) -> u64 {
        let stats = fs::read_to_string(self.0.join(format!("per_cpu/cpu{cpu}/stats")));
        let dropped = |line: &str| line.strip_prefix("dropped events:")?.trim().parse().ok();
        stats.ok().and_then(|text| text.lines().find_map(dropped)).unwrap_or(0)
    }
}

/// Removes the instances of captures that were killed: their buffers hold memory.
fn remove_left_behind(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix("steadfast-"));
        let process = process.and_then(|rest| rest.split_once('-')?.0.parse::<i32>().ok());
        if process.is_some_and(|process| process > 0 && !is_alive(process)) {
            drop(Instance(entry.path()));
        }
    }
}

fn is_alive(process: i32) -> bool {
    // SAFETY: signal 0 is only a question.
    let answer = unsafe { libc::kill(process, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// Tells the instances of one process apart.
fn serial() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Tracefs {
    pub(crate) fn open(options: &Options) -> Result<Self, CaptureError> {
        let instance = Instance::new()?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        // A full buffer turns new events away and counts them; to overwrite old
        // ones would lose beginnings of I/Os whose ends are then unexplained.
        instance.set("options/overwrite", "0")?;
        let cpus = instance.processors()?;
        let share = (u64::from(options.ring_bytes) / cpus.len().max(1) as u64 / 1024).max(64);
        instance.set("buffer_size_kb", &share.to_string())?;
        let mut layouts = Vec::new();
        for kind in wanted(&options.devices) {
            layouts.extend(begin_event(&instance, kind, &options.devices)?);
        }
        let buffers = cpus.iter().map(|cpu| instance.buffer(*cpu)).collect::<Result<_, _>>()?;
        Ok(Tracefs {
            instance,
            layouts,
            buffers,
            waiting: Vec::new(),
            journeys: Journeys::new(options),
            dropped: 0,
        })
    }

    /// Reads what every buffer holds.
    fn read_all(&mut self) -> Result<(), CaptureError> {
        let mut page = vec![0u8; pages::PAGE];
        for buffer in &mut self.buffers {
            loop {
                match buffer.pipe.read(&mut page) {
                    Ok(0) => break,
                    Ok(length) => {
                        let mut events = Pages::new(&page[..length]);
                        self.dropped += events.missed();
                        while let Some((time, content)) = events.next_event() {
                            let seen = Layout::read(&self.layouts, content, time, buffer.cpu);
                            self.waiting.extend(seen);
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        return Err(failed("read a trace buffer of", &self.instance.0, &error));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The tracepoints that tell of these devices.
fn wanted(devices: &[Listened]) -> Vec<Kind> {
    let requests = devices.iter().any(|device| !device.bio_based);
    let bios = devices.iter().any(|device| device.bio_based);
    let mut kinds = Vec::new();
    if requests {
        kinds.extend([Kind::Started, Kind::Issued, Kind::Requeued, Kind::Completed]);
    }
    if bios {
        kinds.extend([Kind::BioQueued, Kind::BioCompleted]);
    }
    kinds
}

/// Turns one tracepoint on for these devices. A kernel without
/// `block_io_start` has the submitter only from the issue.
fn begin_event(
    instance: &Instance,
    kind: Kind,
    devices: &[Listened],
) -> Result<Option<Layout>, CaptureError> {
    let name = kind.tracepoint();
    let place = instance.0.join("events/block").join(name);
    if !place.is_dir() && kind == Kind::Started {
        return Ok(None);
    }
    let format = fs::read_to_string(place.join("format"))
        .map_err(|error| failed("read the layout of", &place, &error))?;
    let layout = Layout::of(kind, &format).ok_or_else(|| {
        CaptureError::new(
            format!("the kernel's layout of {name} is not understood"),
            "report it with the content of its format file",
        )
    })?;
    let filter: Vec<String> = devices
        .iter()
        .map(|device| format!("dev == {}", device.number.0 << 20 | device.number.1))
        .collect();
    instance.set(&format!("events/block/{name}/filter"), &filter.join(" || "))?;
    instance.set(&format!("events/block/{name}/enable"), "1")?;
    Ok(Some(layout))
}

impl Source for Tracefs {
    fn describe(&self) -> String {
        "tracefs, block tracepoints (processes are threads; sectors tie issue to completion)".into()
    }

    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        self.journeys.begin(at_ns);
        self.instance.set("tracing_on", "1")
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        // Whatever happened before this moment is in the buffers now, and is
        // read; only of that can the order be known.
        let surely = monotonic_ns();
        self.read_all()?;
        self.waiting.sort_by_key(|seen| seen.time_ns);
        let ordered = self.waiting.partition_point(|seen| seen.time_ns <= surely);
        for seen in self.waiting.drain(..ordered) {
            into.extend(self.journeys.follow(&seen));
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), CaptureError> {
        self.journeys.close(monotonic_ns());
        for kind in self.layouts.iter().map(|layout| layout.kind) {
            if kind.begins() {
                self.instance.set(&format!("events/block/{}/enable", kind.tracepoint()), "0")?;
            }
        }
        Ok(())
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        // Only reading all buffers would tell what is still under way.
        std::thread::sleep(std::time::Duration::from_millis(100));
        self.take(into)?;
        into.extend(self.journeys.unended());
        Ok(())
    }

    fn counters(&mut self) -> Result<Counters, CaptureError> {
        let away: u64 = self.buffers.iter().map(|b| self.instance.turned_away(b.cpu)).sum();
        Ok(Counters {
            lost: away.max(self.dropped),
            skipped: 0,
            in_part: self.journeys.in_part(),
            unseen: Vec::new(),
            partial_completions: self.journeys.partial_completions,
            requeues: self.journeys.requeues,
            kernel_ns: None,
            kernel_runs: 0,
        })
    }
}
