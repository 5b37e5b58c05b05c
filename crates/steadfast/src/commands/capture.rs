//! `steadfast capture`: what a server does to its storage, into a trace file.
//! `steadfast mark`: names a moment of every capture that runs.

use crate::cli::{CaptureArguments, CaptureSource, MarkArguments};
use crate::exit::Outcome;
use crate::{target, terminal};
use anyhow::{Context, bail};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steadfast_capture::{Capture, Counters, Listened, Options, SourceName};
use steadfast_domain::io_event::{CapturedDevice, Mark, SeenInPart};
use steadfast_domain::{CaptureConditions, Device, IoEvent, Layer, Nanos};
use steadfast_host::Roots;
use steadfast_runner::real::wall_clock_unix_ms;
use steadfast_trace::file::Writer;

use super::run::SOFTWARE;

/// How often completed I/Os are taken. At a million a second, 20 ms are 1.4 MB
/// of the ring buffer.
const LOOK: Duration = Duration::from_millis(20);

/// How long what was captured may be in memory alone.
const KEEP: Duration = Duration::from_secs(5);

/// How often a person sees how far it is.
const TELL: Duration = Duration::from_secs(1);

/// Captures until the time is over or Ctrl-C.
pub fn run(arguments: &CaptureArguments) -> anyhow::Result<Outcome> {
    let devices = devices(&arguments.device)?;
    let options = Options {
        devices: devices.iter().map(|(_, listened)| listened.clone()).collect(),
        layers: layers(arguments),
        process: arguments.pid,
        commands: !arguments.no_commands,
        ring_bytes: u32::try_from(arguments.buffer.0).unwrap_or(u32::MAX),
        source: arguments.source.map(|source| match source {
            CaptureSource::Ebpf => SourceName::Ebpf,
            CaptureSource::Tracefs => SourceName::Tracefs,
        }),
    };
    if arguments.output.exists() {
        bail!("{} exists; name another file, or move it away", arguments.output.display());
    }
    let stop = target::stop_on_signals()?;
    let conditions = conditions(&devices, options.layers.clone());
    let mut capture = Capture::begin(&options)?;
    let mut session = Session::new(arguments, conditions, &mut capture)?;
    let end = arguments.duration.map(|time| Instant::now() + time.to_duration());
    while !stop.is_requested() && end.is_none_or(|end| Instant::now() < end) {
        std::thread::sleep(LOOK);
        session.look(&mut capture)?;
    }
    session.end(&mut capture)?;
    Ok(Outcome::Done)
}

/// The devices that were named, each with what a capture must know of it.
fn devices(named: &[PathBuf]) -> anyhow::Result<Vec<(Device, Listened)>> {
    let roots = Roots::real();
    let mut devices = Vec::new();
    for path in named {
        let device = steadfast_host::inspect(path, &roots)?;
        let queue = steadfast_host::block_queue(&device, &roots)
            .with_context(|| format!("{} is no block device; name one", path.display()))?;
        if let Some(disk) = queue.partition_of {
            bail!("{} is a partition; capture its disk, /dev/{disk}", path.display());
        }
        let listened = Listened {
            name: device.name.clone(),
            number: queue.number,
            bio_based: queue.bio_based,
            file_systems: steadfast_host::file_systems_on(&device, &roots),
        };
        devices.push((device, listened));
    }
    Ok(devices)
}

/// The layers that were named, each once.
fn layers(arguments: &CaptureArguments) -> Vec<Layer> {
    let named: Vec<Layer> = arguments.layer.iter().map(|layer| (*layer).into()).collect();
    [Layer::Block, Layer::FileSystem].into_iter().filter(|layer| named.contains(layer)).collect()
}

fn conditions(devices: &[(Device, Listened)], layers: Vec<Layer>) -> CaptureConditions {
    let roots = Roots::real();
    let host = devices.first().map(|(device, _)| steadfast_host::host_facts(&roots, device));
    let host = host.unwrap_or_default();
    CaptureConditions {
        software: SOFTWARE.to_owned(),
        layers,
        host: host.name,
        operating_system: host.operating_system,
        kernel: host.kernel,
        devices: devices
            .iter()
            .map(|(device, _)| CapturedDevice {
                name: device.name.clone(),
                model: device.model.clone(),
                serial: device.serial.clone(),
                capacity: Some(device.capacity),
                logical_sector: Some(device.logical_sector),
            })
            .collect(),
        ..CaptureConditions::default()
    }
}

/// A capture on its way into files.
struct Session<'a> {
    arguments: &'a CaptureArguments,
    conditions: CaptureConditions,
    writer: Option<Writer<BufWriter<File>>>,
    file: PathBuf,
    part: u32,
    part_began: Instant,
    flushed: Instant,
    told: Instant,
    events: Vec<IoEvent>,
    total: u64,
    marks: MarkFile,
    /// Processor time of this process before the capture, in nanoseconds.
    own_before: u64,
}

impl<'a> Session<'a> {
    fn new(
        arguments: &'a CaptureArguments,
        mut conditions: CaptureConditions,
        capture: &mut Capture,
    ) -> anyhow::Result<Self> {
        conditions.source = capture.describe();
        let now_unix_ns = wall_clock_unix_ms() * 1_000_000;
        conditions.began_unix_ns = Some(now_unix_ns.saturating_sub(capture.lasted_ns()));
        conditions.remarks.extend(capture.remark().map(str::to_owned));
        if let Some(remark) = capture.remark() {
            terminal::complain(&format!("Caveat: {remark}"));
        }
        terminal::complain(&format!("Capturing with {}. Ctrl-C ends it.", conditions.source));
        let mut session = Session {
            arguments,
            conditions,
            writer: None,
            file: arguments.output.clone(),
            part: 1,
            part_began: Instant::now(),
            flushed: Instant::now(),
            told: Instant::now(),
            events: Vec::new(),
            total: 0,
            marks: MarkFile::new(&arguments.output)?,
            own_before: own_time(),
        };
        if let Some(name) = &arguments.mark {
            session.mark(0, name.clone());
        }
        session.open()?;
        Ok(session)
    }

    fn mark(&mut self, at_ns: u64, name: String) {
        self.conditions.marks.push(Mark { at_ns, name });
    }

    fn open(&mut self) -> anyhow::Result<()> {
        let file = File::create_new(&self.file)
            .with_context(|| format!("cannot create {}", self.file.display()))?;
        let writer = Writer::new(BufWriter::with_capacity(1 << 20, file), &self.conditions)?;
        self.writer = Some(writer);
        self.part_began = Instant::now();
        Ok(())
    }

    /// Takes what has completed and writes it.
    fn look(&mut self, capture: &mut Capture) -> anyhow::Result<()> {
        self.events.clear();
        capture.take(&mut self.events)?;
        for (unix_ns, name) in self.marks.read() {
            let began = self.conditions.began_unix_ns.unwrap_or(unix_ns);
            self.mark(unix_ns.saturating_sub(began), name);
        }
        self.write()?;
        if self.flushed.elapsed() >= KEEP {
            self.keep(capture)?;
        }
        if self.is_full() {
            self.rotate(capture)?;
        }
        if self.told.elapsed() >= TELL {
            self.tell(capture)?;
        }
        Ok(())
    }

    /// Writes what was taken.
    fn write(&mut self) -> anyhow::Result<()> {
        self.total += self.events.len() as u64;
        if let Some(writer) = &mut self.writer {
            let failed = || format!("cannot write to {}", self.file.display());
            writer.write(&self.events).with_context(failed)?;
        }
        Ok(())
    }

    /// Whatever was captured so far survives the end of this process.
    fn keep(&mut self, capture: &mut Capture) -> anyhow::Result<()> {
        self.flushed = Instant::now();
        self.count(capture)?;
        if let Some(writer) = &mut self.writer {
            writer.update(&self.conditions)?;
            writer.flush().with_context(|| format!("cannot write to {}", self.file.display()))?;
        }
        Ok(())
    }

    /// Brings the conditions up to now.
    fn count(&mut self, capture: &mut Capture) -> anyhow::Result<Counters> {
        let counters = capture.counters()?;
        self.conditions.lasted_ns = capture.lasted_ns();
        self.conditions.lost = counters.lost;
        self.conditions.skipped = counters.skipped;
        self.conditions.unseen.clone_from(&counters.unseen);
        self.conditions.unfinished = counters.in_part.missing();
        self.conditions.in_part = Some(counters.in_part);
        let own = own_time().saturating_sub(self.own_before);
        self.conditions.cost_ns = Some((counters.kernel_ns.unwrap_or(0), own));
        Ok(counters)
    }

    fn is_full(&self) -> bool {
        let written = self.writer.as_ref().map_or(0, Writer::bytes_written);
        self.arguments.rotate_size.is_some_and(|most| written >= most.0)
            || self
                .arguments
                .rotate_time
                .is_some_and(|most| self.part_began.elapsed() >= most.to_duration())
    }

    /// Ends this file and goes on in the next: `NAME.2.parquet`, ...
    fn rotate(&mut self, capture: &mut Capture) -> anyhow::Result<()> {
        self.finish(capture)?;
        self.part += 1;
        self.file = self.arguments.output.with_extension(format!("{}.parquet", self.part));
        self.open()
    }

    fn finish(&mut self, capture: &mut Capture) -> anyhow::Result<Counters> {
        let counters = self.count(capture)?;
        if let Some(writer) = self.writer.take() {
            let rows = writer.rows();
            writer
                .finish(self.conditions.clone())
                .with_context(|| format!("cannot write to {}", self.file.display()))?;
            terminal::complain(&format!("{}: {rows} I/Os", self.file.display()));
        }
        Ok(counters)
    }

    fn tell(&mut self, capture: &mut Capture) -> anyhow::Result<()> {
        self.told = Instant::now();
        if terminal::is_watched() {
            let lost = self.count(capture)?.lost;
            let time = Nanos(capture.lasted_ns() / 1_000_000_000 * 1_000_000_000);
            terminal::overwrite(&format!("{time}: {} I/Os, {lost} lost", self.total));
        }
        Ok(())
    }

    /// Takes the rest and says what it was, what was lost, and what it cost.
    fn end(mut self, capture: &mut Capture) -> anyhow::Result<()> {
        self.look(capture)?;
        self.events.clear();
        capture.end(&mut self.events)?;
        self.write()?;
        let counters = self.finish(capture)?;
        terminal::complain(&ending(&self.conditions, &counters, self.total));
        Ok(())
    }
}

fn ending(conditions: &CaptureConditions, counters: &Counters, total: u64) -> String {
    let mut lines = vec![format!(
        "{total} I/Os in {}; {} lost, {}, {} requeued.",
        Nanos(conditions.lasted_ns),
        counters.lost,
        seen_in_part(&counters.in_part),
        counters.requeues
    )];
    if counters.lost > 0 {
        lines.push("Events were lost: give a larger --buffer.".to_owned());
    }
    if counters.skipped > 0 {
        lines.push(format!(
            "The kernel skipped the probes {} times: as many I/Os at most are missing, or were \
             seen only in part.",
            counters.skipped
        ));
    }
    for (what, count) in &counters.unseen {
        lines.push(format!("Not seen: {what}: {count}."));
    }
    let per_io = |nanos: u64| nanos as f64 / total.max(1) as f64;
    let own = conditions.cost_ns.map_or(0, |(_, own)| own);
    lines.push(match counters.kernel_ns {
        Some(kernel) => format!(
            "Cost: {:.0} ns in the kernel and {:.0} ns in this process per I/O.",
            per_io(kernel),
            per_io(own)
        ),
        None => format!("Cost: {:.0} ns in this process per I/O.", per_io(own)),
    });
    lines.join("\n")
}

fn seen_in_part(part: &SeenInPart) -> String {
    let reasons: Vec<String> = [
        (part.begun_before, "left out: issued before it began"),
        (part.too_many, "left out: too many at once"),
        (part.unended, "without a response time: completion not seen"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, reason)| format!("{count} {reason}"))
    .collect();
    let all = part.missing() + part.unended;
    if all == 0 {
        "0 seen only in part".into()
    } else {
        format!("{all} seen only in part ({})", reasons.join(", "))
    }
}

/// Processor time of this process so far, in nanoseconds.
fn own_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Where running captures look for marks.
const MARKS: &str = "/run/steadfast/captures";

/// A file that `steadfast mark` appends to; taken away when the capture ends.
struct MarkFile {
    path: PathBuf,
    seen: usize,
}

impl MarkFile {
    fn new(output: &Path) -> anyhow::Result<MarkFile> {
        let place = Path::new(MARKS);
        std::fs::create_dir_all(place)
            .with_context(|| format!("cannot make {MARKS}, where marks are left"))?;
        let path = place.join(std::process::id().to_string());
        std::fs::write(&path, "").with_context(|| {
            format!("cannot make {} for the marks of {}", path.display(), output.display())
        })?;
        Ok(MarkFile { path, seen: 0 })
    }

    /// Marks that have come since the last time: when, by the wall clock, and
    /// the name.
    fn read(&mut self) -> Vec<(u64, String)> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let Some(whole) = text.rfind('\n').map(|end| end + 1).filter(|end| *end > self.seen) else {
            return Vec::new();
        };
        let new = text.get(self.seen..whole).unwrap_or_default();
        self.seen = whole;
        new.lines()
            .filter_map(|line| {
                let (time, name) = line.split_once(' ')?;
                Some((time.parse().ok()?, name.to_owned()))
            })
            .collect()
    }
}

impl Drop for MarkFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Names this moment in every capture that runs.
pub fn mark(arguments: &MarkArguments) -> anyhow::Result<Outcome> {
    use std::io::Write;
    let name = arguments.name.replace(['\n', '\r'], " ");
    let line = format!("{} {name}\n", wall_clock_unix_ms() * 1_000_000);
    let mut told = 0;
    for entry in std::fs::read_dir(MARKS).into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if !Path::new("/proc").join(&pid).exists() {
            // Left by a capture that was killed.
            let _ = std::fs::remove_file(entry.path());
            continue;
        }
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(entry.path())
            .with_context(|| format!("cannot leave a mark in {}", entry.path().display()))?;
        file.write_all(line.as_bytes())?;
        told += 1;
    }
    if told == 0 {
        bail!("no capture is running; begin one with steadfast capture");
    }
    terminal::print(&format!("Marked '{name}' in {told} running captures."))?;
    Ok(Outcome::Done)
}
