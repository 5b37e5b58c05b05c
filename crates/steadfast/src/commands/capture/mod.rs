//! `steadfast capture`: what a server does to its storage, into a trace file.

mod marks;
mod sink;

pub use marks::mark;

use crate::cli::{CaptureArguments, CaptureFiles, CaptureSource};
use crate::exit::{Outcome, misuse};
use crate::writing::Rule;
use crate::{target, terminal};
use anyhow::{Context, bail};
use marks::MarkFile;
use sink::Sink;
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steadfast_capture::{
    Capture, ContentSampler, Counters, FileSystem, FilesWay, Listened, Options, SampledDevice,
    SourceName, WHOLE_DISK,
};
use steadfast_domain::io_event::{CapturePart, CapturedDevice, ContentSample, Mark, Share};
use steadfast_domain::{CaptureConditions, Device, Layer, Nanos};
use steadfast_host::{FileError, NewFile, Roots};
use steadfast_runner::real::wall_clock_unix_ms;

use super::run::SOFTWARE;

/// How often completed I/Os are taken at most and at least. Every look takes some
/// time, whatever it finds.
const LOOK: RangeInclusive<Duration> = Duration::from_millis(20)..=Duration::from_millis(100);

/// How long to wait for the next look, by how full the buffers were: even where
/// the rate becomes sixteen times as high, nothing must be lost.
fn pause(last: Duration, fullness: Option<f64>) -> Duration {
    let next = match fullness {
        Some(full) if full > 1.0 / 16.0 => last / 2,
        Some(full) if full < 1.0 / 64.0 => last * 2,
        Some(_) => last,
        None => *LOOK.start(),
    };
    next.clamp(*LOOK.start(), *LOOK.end())
}

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
        step_ns: arguments.steps.map(|width| width.0),
        ring_bytes: match arguments.buffer {
            Some(asked) => u32::try_from(asked.0).unwrap_or(u32::MAX),
            None => steadfast_capture::usual_buffer(),
        },
        source: arguments.source.map(|source| match source {
            CaptureSource::Ebpf => SourceName::Ebpf,
            CaptureSource::Tracefs => SourceName::Tracefs,
        }),
        files: arguments.files.map(|files| match files {
            CaptureFiles::EntryPoints => FilesWay::EntryPoints,
            CaptureFiles::Calls => FilesWay::Calls,
        }),
    };
    steadfast_capture::check(&options).map_err(misuse)?;
    let rule = Rule::of(&arguments.writing)?;
    refuse_existing(arguments, rule)?;
    refuse_missing_process(arguments)?;
    for name in steadfast_capture::remove_left_behind() {
        terminal::complain(&format!("Removed {name}, the trace instance of a killed capture."));
    }
    let stop = target::stop_on_signals()?;
    let mut conditions = CaptureConditions {
        step_ns: options.step_ns,
        process: options.process,
        ..conditions(&devices, options.layers.clone())
    };
    conditions.remarks.extend(remark_on_output(&arguments.output, &devices));
    let mut capture = Capture::begin(&options)?;
    let sampler = sampler(arguments, &devices)?;
    let mut session = Session::new(arguments, rule, conditions, sampler, &mut capture)?;
    let end = arguments.duration.map(|time| Instant::now() + time.to_duration());
    let mut wait = *LOOK.start();
    while !stop.is_requested() && end.is_none_or(|end| Instant::now() < end) {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        std::thread::sleep(left.map_or(wait, |left| wait.min(left)));
        session.look(&mut capture)?;
        wait = session.pause(wait, &capture);
    }
    session.end(&mut capture)?;
    Ok(Outcome::Done)
}

/// A name that is taken is no surprise for later, not even of a second file.
fn refuse_existing(arguments: &CaptureArguments, rule: Rule) -> anyhow::Result<()> {
    let output = &arguments.output;
    let rotates = arguments.rotate_size.is_some() || arguments.rotate_time.is_some();
    let second = rotates.then(|| part_of(output, 2));
    for file in std::iter::once(output).chain(&second) {
        NewFile::check(file, rule.existing)?;
    }
    Ok(())
}

fn is_taken(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref();
    matches!(error, Some(FileError::Exists(_) | FileError::NotRegular { .. }))
}

/// `NAME.2.parquet`, the second file of a rotated capture.
fn part_of(output: &Path, part: u32) -> PathBuf {
    output.with_extension(format!("{part}.parquet"))
}

fn refuse_missing_process(arguments: &CaptureArguments) -> anyhow::Result<()> {
    match arguments.pid {
        Some(pid) if !Path::new("/proc").join(pid.to_string()).exists() => {
            bail!("there is no process {pid}; name one that runs")
        }
        _ => Ok(()),
    }
}

/// What a reader must know where the capture's file lies on a device that it
/// listens to.
fn remark_on_output(output: &Path, devices: &[(Device, Listened)]) -> Option<String> {
    let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let number = std::fs::metadata(directory.unwrap_or(Path::new("."))).ok()?.dev();
    let number = (libc::major(number), libc::minor(number));
    let holds = |(_, listened): &&(Device, Listened)| {
        listened.file_systems.iter().any(|found| found.number == number)
    };
    let (_, listened) = devices.iter().find(holds)?;
    Some(format!(
        "{} lies on {}: the capture's own writes are among the I/Os. Write it to another device.",
        output.display(),
        listened.name
    ))
}

/// The devices that were named, each with what a capture must know of it.
fn devices(named: &[PathBuf]) -> anyhow::Result<Vec<(Device, Listened)>> {
    let roots = Roots::real();
    let mut devices = Vec::new();
    for path in named {
        let mut device = steadfast_host::inspect(path, &roots)?;
        let queue = steadfast_host::block_queue(&device, &roots)
            .with_context(|| format!("{} is no block device; name one", path.display()))?;
        let (number, sectors) = match &queue.partition_of {
            Some(part) => (part.disk_number, part.sectors.clone()),
            None => (queue.number, WHOLE_DISK),
        };
        let listened = Listened {
            name: device.name.clone(),
            number,
            sectors,
            bio_based: queue.bio_based,
            file_systems: file_systems(&device, &roots),
        };
        // Offsets count from the disk's beginning.
        if let Some(part) = queue.partition_of {
            device.capacity = part.disk_capacity;
        }
        devices.push((device, listened));
    }
    Ok(devices)
}

/// What samples written blocks, where that is wanted.
fn sampler(
    arguments: &CaptureArguments,
    devices: &[(Device, Listened)],
) -> anyhow::Result<Option<ContentSampler>> {
    let Some(every) = arguments.content_sample else { return Ok(None) };
    if !layers(arguments).contains(&Layer::Block) {
        bail!("--content-sample looks at what a block device is given; name --layer block too");
    }
    let sampled = |(path, (_, listened)): (&PathBuf, &(Device, Listened))| SampledDevice {
        path: path.clone(),
        base: listened.sectors.start * 512,
    };
    let sampled: Vec<_> = arguments.device.iter().zip(devices).map(sampled).collect();
    Ok(Some(ContentSampler::begin(&sampled, every)?))
}

fn file_systems(device: &Device, roots: &Roots) -> Vec<FileSystem> {
    let found = steadfast_host::file_systems_on(device, roots).into_iter();
    found.map(|found| FileSystem { number: found.number, kind: found.kind }).collect()
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
        remarks: devices.iter().filter_map(|(_, listened)| remark_on(listened)).collect(),
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

/// What a reader must know of a partition.
fn remark_on(listened: &Listened) -> Option<String> {
    (listened.sectors != WHOLE_DISK).then(|| {
        format!(
            "{} is a partition: offsets count from its disk's beginning, and the disk's flushes \
             are among the I/Os.",
            listened.name
        )
    })
}

/// A capture on its way into files.
struct Session<'a> {
    arguments: &'a CaptureArguments,
    rule: Rule,
    conditions: CaptureConditions,
    sink: Option<Sink>,
    /// The file that the sink writes to.
    written: Option<File>,
    sampler: Option<ContentSampler>,
    file: PathBuf,
    part: u32,
    part_began: Instant,
    flushed: Instant,
    told: Instant,
    total: u64,
    marks: MarkFile,
    /// Processor time of this process before the capture, in nanoseconds.
    own_before: u64,
}

impl<'a> Session<'a> {
    fn new(
        arguments: &'a CaptureArguments,
        rule: Rule,
        mut conditions: CaptureConditions,
        sampler: Option<ContentSampler>,
        capture: &mut Capture,
    ) -> anyhow::Result<Self> {
        conditions.source = capture.describe();
        let now_unix_ns = wall_clock_unix_ms() * 1_000_000;
        conditions.began_unix_ns = Some(now_unix_ns.saturating_sub(capture.lasted_ns()));
        conditions.part = Some(CapturePart { capture: new_name(), first: 1, last: 1 });
        conditions.remarks.extend_from_slice(capture.remarks());
        for remark in &conditions.remarks {
            terminal::complain(&format!("Caveat: {remark}"));
        }
        let mut session = Session {
            arguments,
            rule,
            conditions,
            sink: None,
            written: None,
            sampler,
            file: arguments.output.clone(),
            part: 1,
            part_began: Instant::now(),
            flushed: Instant::now(),
            told: Instant::now(),
            total: 0,
            marks: MarkFile::new()?,
            own_before: own_time(),
        };
        if let Some(name) = &arguments.mark {
            session.mark(0, name.clone());
        }
        session.open()?;
        let source = &session.conditions.source;
        terminal::complain(&format!("Capturing with {source}. Ctrl-C ends it."));
        Ok(session)
    }

    fn mark(&mut self, at_ns: u64, name: String) {
        self.conditions.marks.push(Mark { at_ns, name });
    }

    fn open(&mut self) -> anyhow::Result<()> {
        let (sink, written) = Sink::create(&self.file, self.rule, &self.conditions)?;
        (self.sink, self.written) = (Some(sink), Some(written));
        self.part_began = Instant::now();
        Ok(())
    }

    /// Takes what has completed and writes it.
    fn look(&mut self, capture: &mut Capture) -> anyhow::Result<()> {
        if let Some(sink) = &mut self.sink {
            let failed = || cannot_write(&self.file);
            self.total += sink.look(capture, self.sampler.as_mut()).with_context(failed)?;
        }
        for (unix_ns, name) in self.marks.read() {
            let began = self.conditions.began_unix_ns.unwrap_or(unix_ns);
            self.mark(unix_ns.saturating_sub(began), name);
        }
        if self.sink.as_ref().is_some_and(|sink| self.flushed.elapsed() >= sink.may_wait()) {
            self.keep(capture)?;
        }
        if self.is_full() {
            self.rotate(capture)?;
        }
        if self.told.elapsed() >= TELL {
            self.refuse_deleted()?;
            self.tell(capture)?;
        }
        Ok(())
    }

    /// A file that was deleted meanwhile takes with it whatever is written to it.
    fn refuse_deleted(&self) -> anyhow::Result<()> {
        let Some(written) = &self.written else { return Ok(()) };
        let links = written.metadata().with_context(|| cannot_write(&self.file))?.nlink();
        if links > 0 {
            return Ok(());
        }
        bail!(
            "the capture ends here: {} was deleted while it was written, and everything in it is \
             lost; begin another",
            self.file.display()
        )
    }

    /// How long to wait for the next look. Written blocks are read back soon, before
    /// they are written again; capture steps have tables of their own to fill.
    fn pause(&self, last: Duration, capture: &Capture) -> Duration {
        let buffers_alone = self.sampler.is_none() && self.conditions.step_ns.is_none();
        pause(last, capture.fullness().filter(|_| buffers_alone))
    }

    /// Whatever was captured so far survives the end of this process.
    fn keep(&mut self, capture: &mut Capture) -> anyhow::Result<()> {
        self.flushed = Instant::now();
        self.count(capture)?;
        if let Some(sink) = &mut self.sink {
            let failed = || cannot_write(&self.file);
            sink.keep(capture, &self.conditions).with_context(failed)?;
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
        if let Some(sampler) = &self.sampler {
            let content = sampler.so_far();
            self.conditions.compression_ratio = content.compression_ratio();
            self.conditions.duplicate_share = content.duplicate_share().and_then(Share::exact);
            self.conditions.content = Some(content);
        }
        let own = own_time().saturating_sub(self.own_before);
        self.conditions.cost_ns = Some((counters.kernel_ns.unwrap_or(0), own));
        Ok(counters)
    }

    fn is_full(&self) -> bool {
        let written = self.sink.as_ref().map_or(0, Sink::bytes_written);
        self.arguments.rotate_size.is_some_and(|most| written >= most.0)
            || self
                .arguments
                .rotate_time
                .is_some_and(|most| self.part_began.elapsed() >= most.to_duration())
    }

    /// Ends this file and goes on in the next: `NAME.2.parquet`, ...
    fn rotate(&mut self, capture: &mut Capture) -> anyhow::Result<()> {
        self.finish(capture)?;
        if let Some(part) = &mut self.conditions.part {
            (part.first, part.last) = (part.last + 1, part.last + 1);
        }
        loop {
            self.part += 1;
            self.file = part_of(&self.arguments.output, self.part);
            match self.open() {
                // Whatever came to lie there meanwhile is not ours, and no
                // reason to end.
                Err(error) if is_taken(&error) => {}
                opened => return opened,
            }
        }
    }

    fn finish(&mut self, capture: &mut Capture) -> anyhow::Result<Counters> {
        let counters = self.count(capture)?;
        self.refuse_deleted()?;
        if let Some(sink) = self.sink.take() {
            let failed = || cannot_write(&self.file);
            let what = sink.finish(capture, &self.conditions).with_context(failed)?;
            terminal::complain(&format!("{}: {what}", self.file.display()));
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
        if let Some(sink) = &mut self.sink {
            let failed = || cannot_write(&self.file);
            self.total += sink.end(capture, self.sampler.as_mut()).with_context(failed)?;
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.end();
        }
        let counters = self.finish(capture)?;
        for line in ending(&self.conditions, &counters, self.total) {
            terminal::complain(&line);
        }
        Ok(())
    }
}

/// What tells this capture from every other: random, as the kernel draws it.
fn new_name() -> String {
    let drawn = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    match drawn.trim() {
        "" => format!("{}-{}", wall_clock_unix_ms(), std::process::id()),
        name => name.to_owned(),
    }
}

fn cannot_write(file: &Path) -> String {
    format!(
        "the capture ends here, {} cannot be written (what it holds can be read)",
        file.display()
    )
}

fn ending(conditions: &CaptureConditions, counters: &Counters, total: u64) -> Vec<String> {
    let mut lines = vec![format!(
        "{total} I/Os in {}; {} lost, {}, {} requeued.",
        Nanos(conditions.lasted_ns),
        counters.lost,
        counters.in_part,
        counters.requeues
    )];
    if counters.lost > 0 {
        lines.push("Events were lost: give a larger --buffer.".to_owned());
    }
    if counters.skipped > 0 {
        lines.push(format!(
            "The kernel skipped the probes {} times: as many I/Os at most are missing or \
             incomplete.",
            counters.skipped
        ));
    }
    for (what, count) in &counters.unseen {
        lines.push(format!("Not seen: {what}: {count}."));
    }
    lines.extend(conditions.content.as_ref().map(content));
    let own = conditions.cost_ns.map_or(0, |(_, own)| own);
    lines.extend(cost(counters.kernel_ns, own, total));
    lines
}

/// What was measured of written blocks.
fn content(sample: &ContentSample) -> String {
    let Some((ratio, share)) = sample.compression_ratio().zip(sample.duplicate_share()) else {
        return format!("Content: {sample}.");
    };
    format!("Content: compression ratio {ratio:.2}, {share} duplicates; {sample}.")
}

/// What an I/O cost, where there was one.
fn cost(kernel: Option<u64>, own: u64, total: u64) -> Option<String> {
    if total == 0 {
        return None;
    }
    let per_io = |nanos: u64| nanos as f64 / total as f64;
    Some(match kernel {
        Some(kernel) => format!(
            "Cost: {:.0} ns in the kernel and {:.0} ns in this process per I/O.",
            per_io(kernel),
            per_io(own)
        ),
        None => format!("Cost: {:.0} ns in this process per I/O.", per_io(own)),
    })
}

/// Processor time of this process so far, in nanoseconds.
fn own_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_the_oftener_the_fuller_the_buffers_were() {
        let ms = Duration::from_millis;
        assert_eq!(pause(ms(20), Some(0.0)), ms(40));
        assert_eq!(pause(ms(80), Some(0.0)), ms(100));
        assert_eq!(pause(ms(100), Some(0.03)), ms(100));
        assert_eq!(pause(ms(100), Some(0.07)), ms(50));
        assert_eq!(pause(ms(25), Some(1.0)), ms(20));
        assert_eq!(pause(ms(100), None), ms(20));
    }
}
