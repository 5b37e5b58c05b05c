//! Captures the block layer through the kernel's own trace buffers, for kernels and users without
//! BPF.
//!
//! A private instance of tracefs is created and removed again; its buffers are read raw, one per
//! processor. The kernel's `format` files describe the layout of events. Events of all processors
//! are sorted by time before they are matched: issue and completion of an I/O are paired by device,
//! operation and sector, the best key that the tracepoints give. The tracepoints name threads;
//! starts of threads are traced to find their processes.

mod event;
mod format;
mod pages;
mod pending_ios;
mod tasks;

use crate::clock::monotonic_ns;
use crate::counters::{CaptureCounters, EventSource};
use crate::error::CaptureError;
use crate::options::{CaptureDevice, CaptureOptions};
use event::{NewTaskLayout, TracepointEvent, TracepointKind, TracepointLayout};
use pages::{PageEvents, RawEvent};
use pending_ios::PendingIos;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use steadfast_domain::IoEvent;
use tasks::{NewTask, ThreadTable};

/// Prefix of the names of all instances made by Steadfast.
const PREFIX: &str = "steadfast-";

/// Mount points of tracefs: its own, and the one below debugfs.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A private instance and its readers.
pub(crate) struct Tracefs {
    // Declared before `instance`, to be dropped first: the kernel does not remove an instance that
    // is open for reading.
    buffers: Vec<CpuTraceBuffer>,
    instance: TraceInstance,
    layouts: Vec<TracepointLayout>,
    /// `None` if the kernel does not report starts of threads.
    start_layout: Option<NewTaskLayout>,
    tasks: ThreadTable,
    /// Threads started since the last call of `take`.
    started_threads: Vec<NewTask>,
    /// Events that were read but whose order is not final yet.
    waiting: Vec<TracepointEvent>,
    pending: PendingIos,
    /// Events dropped according to the headers of pages.
    dropped: u64,
}

struct CpuTraceBuffer {
    cpu: u16,
    pipe: File,
}

/// A directory below `instances`, removed on drop. It is locked for the life of the process, so
/// that an unlocked instance is one left by a killed capture.
struct TraceInstance {
    path: PathBuf,
    _lock: File,
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        let _ = fs::write(self.path.join("tracing_on"), "0");
        let _ = fs::write(self.path.join("events/enable"), "0");
        let _ = fs::remove_dir(&self.path);
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> CaptureError {
    CaptureError::new(
        format!("cannot {what} {}: {error}", path.display()),
        "run it as root, with tracefs mounted (mount -t tracefs nodev /sys/kernel/tracing)",
    )
}

impl TraceInstance {
    fn new() -> Result<TraceInstance, CaptureError> {
        let root = MOUNTS.iter().map(Path::new).find(|root| root.join("instances").is_dir());
        let Some(root) = root else {
            return Err(CaptureError::new(
                "tracefs is not mounted, or not open to this user",
                "run it as root, after: mount -t tracefs nodev /sys/kernel/tracing",
            ));
        };
        // Until the new instance is locked, another process may remove it as left behind.
        loop {
            let name = format!("{PREFIX}{}-{}", std::process::id(), serial());
            let path = root.join("instances").join(name);
            fs::create_dir(&path).map_err(|error| failed("create", &path, &error))?;
            if let Some(lock) =
                lock_instance(&path).map_err(|error| failed("lock", &path, &error))?
            {
                return Ok(TraceInstance { path, _lock: lock });
            }
        }
    }

    fn set(&self, file: &str, value: &str) -> Result<(), CaptureError> {
        let path = self.path.join(file);
        fs::write(&path, value).map_err(|error| failed("write to", &path, &error))
    }

    fn processors(&self) -> Result<Vec<u16>, CaptureError> {
        let path = self.path.join("per_cpu");
        let entries = fs::read_dir(&path).map_err(|error| failed("list", &path, &error))?;
        let mut cpus: Vec<u16> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        Ok(cpus)
    }

    fn buffer(&self, cpu: u16) -> Result<CpuTraceBuffer, CaptureError> {
        let path = self.path.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path)
            .map_err(|error| failed("open", &path, &error))?;
        Ok(CpuTraceBuffer { cpu, pipe })
    }

    fn dropped_events(&self, cpu: u16) -> Result<u64, CaptureError> {
        let path = self.path.join(format!("per_cpu/cpu{cpu}/stats"));
        let stats = fs::read_to_string(&path).map_err(|error| failed("read", &path, &error))?;
        let dropped = |line: &str| line.strip_prefix("dropped events:")?.trim().parse().ok();
        let missing = || io::Error::new(io::ErrorKind::InvalidData, "it counts no dropped events");
        stats.lines().find_map(dropped).ok_or_else(|| failed("read", &path, &missing()))
    }
}

/// Locks a new instance; returns `None` if another process has removed it meanwhile.
fn lock_instance(path: &Path) -> io::Result<Option<File>> {
    let directory = match open_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    directory.lock()?;
    Ok(path.try_exists()?.then_some(directory))
}

fn open_directory(path: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Removes the instances of killed captures, which continue recording and hold memory, and returns
/// their names. Instances of running captures are locked, and those of other programs have other
/// names.
pub fn remove_left_behind() -> Vec<String> {
    let instances = MOUNTS.iter().map(|root| Path::new(root).join("instances"));
    let entries = instances.filter_map(|instances| fs::read_dir(instances).ok()).flatten();
    let mut removed: Vec<String> = entries
        .flatten()
        .filter(|entry| is_own_name(&entry.file_name().to_string_lossy()))
        .filter(|entry| remove_unlocked(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    removed.sort();
    removed
}

/// Returns true for `steadfast-PROCESS-NUMBER`.
fn is_own_name(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(process, serial)| is_number(process) && is_number(serial))
}

/// Removes an instance unless it is locked; returns true if it was removed. The kernel keeps an
/// instance that is open for reading, which protects captures of older versions that do not lock
/// theirs.
fn remove_unlocked(path: &Path) -> bool {
    let Ok(directory) = open_directory(path) else { return false };
    directory.try_lock().is_ok() && fs::remove_dir(path).is_ok()
}

/// Returns a number that is unique within the process.
fn serial() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Tracefs {
    pub(crate) fn open(options: &CaptureOptions) -> Result<Self, CaptureError> {
        let instance = TraceInstance::new()?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        // A full buffer drops new events and counts them. Overwriting old ones would lose the
        // starts of I/Os and leave completions that cannot be matched.
        instance.set("options/overwrite", "0")?;
        let cpus = instance.processors()?;
        let share = (options.ring_bytes / cpus.len().max(1) as u64 / 1024).max(64);
        instance.set("buffer_size_kb", &share.to_string())?;
        let mut layouts = Vec::new();
        for kind in tracepoints_for(&options.devices) {
            layouts.extend(enable_tracepoint(&instance, kind, &options.devices)?);
        }
        let start_layout = enable_thread_starts(&instance);
        let buffers = cpus.iter().map(|cpu| instance.buffer(*cpu)).collect::<Result<_, _>>()?;
        Ok(Tracefs {
            instance,
            layouts,
            start_layout,
            tasks: ThreadTable::default(),
            started_threads: Vec::new(),
            buffers,
            waiting: Vec::new(),
            pending: PendingIos::new(options),
            dropped: 0,
        })
    }

    /// Reads all buffers until they are empty.
    fn read_all(&mut self) -> Result<(), CaptureError> {
        let mut page = vec![0u8; pages::PAGE];
        for buffer in &mut self.buffers {
            loop {
                match buffer.pipe.read(&mut page) {
                    Ok(0) => break,
                    Ok(length) => {
                        let mut events = PageEvents::new(&page[..length]);
                        self.dropped += events.missed;
                        while let Some(RawEvent { time_ns, content }) = events.next_event() {
                            if let Some(layout) = &self.start_layout {
                                self.started_threads.extend(layout.read(content, time_ns));
                            }
                            let (layouts, cpu) = (&self.layouts, buffer.cpu);
                            self.waiting
                                .extend(TracepointLayout::read(layouts, content, time_ns, cpu));
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        return Err(failed("read a trace buffer of", &self.instance.path, &error));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the tracepoints needed for these devices.
fn tracepoints_for(devices: &[CaptureDevice]) -> Vec<TracepointKind> {
    let requests = devices.iter().any(|device| !device.bio_based);
    let bios = devices.iter().any(|device| device.bio_based);
    let mut kinds = Vec::new();
    if requests {
        kinds.extend([
            TracepointKind::Started,
            TracepointKind::Issued,
            TracepointKind::Requeued,
            TracepointKind::Completed,
        ]);
    }
    if bios {
        kinds.extend([TracepointKind::BioQueued, TracepointKind::BioCompleted]);
    }
    kinds
}

/// Enables a tracepoint for these devices. Returns `None` if the kernel lacks `block_io_start`; the
/// submitter is then taken from the issue.
fn enable_tracepoint(
    instance: &TraceInstance,
    kind: TracepointKind,
    devices: &[CaptureDevice],
) -> Result<Option<TracepointLayout>, CaptureError> {
    let name = kind.tracepoint();
    let path = instance.path.join("events/block").join(name);
    if !path.is_dir() && kind == TracepointKind::Started {
        return Ok(None);
    }
    let format = fs::read_to_string(path.join("format"))
        .map_err(|error| failed("read the layout of", &path, &error))?;
    let layout = TracepointLayout::parse(kind, &format).ok_or_else(|| {
        CaptureError::new(
            format!("cannot parse the kernel's layout of {name}"),
            "report this with the content of its format file",
        )
    })?;
    let filter: Vec<String> = devices
        .iter()
        .map(|device| format!("dev == {}", device.number.kernel_encoding()))
        .collect();
    instance.set(&format!("events/block/{name}/filter"), &filter.join(" || "))?;
    instance.set(&format!("events/block/{name}/enable"), "1")?;
    Ok(Some(layout))
}

/// Enables the tracepoint for starts of threads; returns `None` if that fails. Without it, a thread
/// that ends before it can be looked up in /proc counts as a process.
fn enable_thread_starts(instance: &TraceInstance) -> Option<NewTaskLayout> {
    let path = instance.path.join("events").join(NewTaskLayout::TRACEPOINT);
    let layout = NewTaskLayout::parse(&fs::read_to_string(path.join("format")).ok()?)?;
    let enable = format!("events/{}/enable", NewTaskLayout::TRACEPOINT);
    instance.set(&enable, "1").ok().map(|()| layout)
}

impl EventSource for Tracefs {
    fn describe(&self) -> String {
        "tracefs, block tracepoints (issue and completion paired by sector)".into()
    }

    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        self.pending.matcher.begin(at_ns);
        self.instance.set("tracing_on", "1")?;
        // Threads started from now on are traced.
        self.tasks = ThreadTable::running();
        Ok(())
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        // Everything that happened before this time is in the buffers and is read now; only up
        // to this time is the order of events final.
        let complete_until_ns = monotonic_ns();
        self.read_all()?;
        self.started_threads.sort_by_key(|start| start.time_ns);
        self.started_threads.drain(..).for_each(|start| self.tasks.begin(&start));
        self.waiting.sort_by_key(|event| event.time_ns);
        let ordered = self.waiting.partition_point(|event| event.time_ns <= complete_until_ns);
        for mut event in self.waiting.drain(..ordered) {
            if event.kind.begins() {
                event.process = self.tasks.process(event.process);
            }
            into.extend(self.pending.follow(&event));
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), CaptureError> {
        // From now on, starts of I/Os are not seen.
        self.pending.matcher.close(monotonic_ns());
        for kind in self.layouts.iter().map(|layout| layout.kind) {
            if kind.begins() {
                self.instance.set(&format!("events/block/{}/enable", kind.tracepoint()), "0")?;
            }
        }
        Ok(())
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        // No counter tells whether I/Os are outstanding without reading all buffers, so wait a
        // fixed time.
        std::thread::sleep(std::time::Duration::from_millis(100));
        self.take(into)?;
        into.extend(self.pending.unended());
        Ok(())
    }

    fn counters(&mut self) -> Result<CaptureCounters, CaptureError> {
        let dropped = self.buffers.iter().map(|buffer| self.instance.dropped_events(buffer.cpu));
        let dropped = dropped.sum::<Result<u64, _>>()?;
        Ok(CaptureCounters {
            lost: dropped.max(self.dropped),
            in_part: self.pending.matcher.incomplete(),
            partial_completions: self.pending.matcher.partial_completions,
            requeues: self.pending.matcher.requeues,
            ..CaptureCounters::default()
        })
    }
}
