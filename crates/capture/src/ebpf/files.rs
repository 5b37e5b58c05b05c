//! The file-system layer: one record per read, write and synchronization of the
//! devices' file systems, by one of two ways: their own entry points, or the
//! system calls.

use super::file_programs::FilePrograms;
use super::plain::{self, Plain};
use super::programs::{Programs, load_error, missing, parameters};
use super::rings::{Record, Rings, Sizes};
use super::steps::{self, Turns};
use super::wait::wait_until;
use super::{calls, entries};
use crate::error::CaptureError;
use crate::options::{FilesWay, Options};
use crate::source::{Counters, Source};
use steadfast_domain::io_event::{Command, Layer, SeenInPart, StreamInStep, StreamResponses};
use steadfast_domain::{IoEvent, IoOp};

/// File systems that are told apart at most.
const FILE_SYSTEMS_MAX: usize = 64;

/// The file-system layer, listened to.
pub(crate) struct Files {
    rings: Rings,
    programs: Programs,
    began_ns: u64,
    description: String,
    /// What has not ended is recorded without a response time.
    keeps_unended: bool,
    unended: u64,
    /// Where only capture steps are wanted.
    turns: Option<Turns>,
}

impl Files {
    /// Listens the way that was asked for, or the best that works here; then
    /// with the reason where it is not the entry points.
    pub(crate) fn open(options: &Options) -> Result<(Self, Option<String>), CaptureError> {
        let by_entry_points = || Files::listen(options, entries::programs(options)?);
        let by_calls = || Files::listen(options, calls::programs()?);
        match options.files {
            Some(FilesWay::EntryPoints) => Ok((by_entry_points()?, None)),
            Some(FilesWay::Calls) => Ok((by_calls()?, None)),
            None => match by_entry_points() {
                Ok(files) => Ok((files, None)),
                Err(why) => Ok((by_calls()?, Some(fallen_back(&why)))),
            },
        }
    }

    fn listen(options: &Options, set: FilePrograms) -> Result<Self, CaptureError> {
        let by_entry = parameters("btf_trace_io_uring_complete")? == Some(4);
        let settings = FilesSettings::of(options, by_entry)?;
        let sizes = Sizes::sharing(options.ring_bytes)?;
        let wanted: Vec<&str> = set.programs.iter().map(String::as_str).collect();
        let programs = Programs::load(set.file, &wanted, |name, map| {
            sizes.prepare(name, map)?;
            if steps::TABLES.contains(&name) && options.step_ns.is_none() {
                map.set_max_entries(1).map_err(load_error)?;
            } else if name.ends_with(".rodata") {
                let value = map.initial_value_mut().ok_or_else(|| missing(".rodata"))?;
                plain::write(&settings, value);
            }
            Ok(())
        })?;
        let rings = Rings::of(&programs, sizes)?;
        let FilePrograms { description, keeps_unended, .. } = set;
        let turns = options.step_ns.map(|width| Turns::new(width, Layer::FileSystem));
        Ok(Files { rings, programs, began_ns: 0, description, keeps_unended, unended: 0, turns })
    }

    fn kernel_counters(&self) -> Result<KernelCounters, CaptureError> {
        plain::read(&self.programs.variables()?).ok_or_else(|| missing("counters"))
    }

    /// Hands out the calls that are still under way.
    fn take_unended(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let (began_ns, unended, turns) = (self.began_ns, &mut self.unended, &mut self.turns);
        self.programs.each("calls", |bytes| {
            let Some(call) = plain::read::<Call>(bytes) else { return };
            let Some(event) = call.unended(began_ns) else { return };
            *unended += 1;
            match turns {
                Some(turns) => turns.add(&event, call.judged & 1 == 1),
                None => into.push(event),
            }
        })
    }
}

fn fallen_back(why: &CaptureError) -> String {
    format!(
        "Files are captured at system calls, not at the file systems' entry points: {}.",
        why.what
    )
}

impl Source for Files {
    fn describe(&self) -> String {
        format!("eBPF, {}", self.description)
    }

    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        self.began_ns = at_ns;
        self.programs.open(at_ns)
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let began_ns = self.began_ns;
        self.rings.read(|wire: &Wire| into.push(wire.event(began_ns)));
        Ok(())
    }

    fn fullness(&self) -> Option<f64> {
        Some(self.rings.fullness())
    }

    fn close(&mut self) -> Result<(), CaptureError> {
        self.programs.close(self.began_ns)
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        wait_until(|| self.kernel_counters().is_ok_and(|c| c.calls <= 0 && c.requests <= 0));
        self.take(into)?;
        if self.keeps_unended {
            self.take_unended(into)?;
        }
        Ok(())
    }

    fn take_steps(&mut self, into: &mut Vec<StreamInStep>) -> Result<(), CaptureError> {
        self.turns.as_mut().map_or(Ok(()), |turns| turns.take(&self.programs, into))
    }

    fn take_responses(&mut self, into: &mut Vec<StreamResponses>) {
        self.turns.iter_mut().for_each(|turns| turns.take_responses(into));
    }

    fn counters(&mut self) -> Result<Counters, CaptureError> {
        let kernel = self.kernel_counters()?;
        let cost = self.programs.cost();
        Ok(Counters {
            lost: kernel.lost,
            skipped: cost.skipped,
            in_part: SeenInPart {
                begun_before: kernel.begun_before,
                unended: kernel.unended + self.unended,
                too_many: kernel.unfollowed,
            },
            unseen: kernel.unseen(self.keeps_unended),
            kernel_ns: (cost.runs > 0).then_some(cost.nanos),
            kernel_runs: cost.runs,
            ..Counters::default()
        })
    }
}

/// `struct record`: one call that has ended.
#[repr(C)]
#[derive(Clone, Copy)]
struct Wire {
    lap: u8,
    op: u8,
    device: u8,
    unused: u8,
    flags: u16,
    cpu: u16,
    issued_ns: u64,
    response_ns: u64,
    offset: u64,
    inode: u64,
    bytes: u32,
    process: u32,
    command: [u8; 16],
}

// SAFETY: integers, no padding.
unsafe impl Plain for Wire {}

impl Record for Wire {}

impl Wire {
    /// The event, with times counted from the capture's beginning. How many
    /// calls were under way is not told; a trace's reader counts them.
    fn event(&self, began_ns: u64) -> IoEvent {
        IoEvent {
            issued_ns: self.issued_ns.saturating_sub(began_ns),
            response_ns: self.response_ns,
            queued_ns: 0,
            offset: self.offset,
            bytes: self.bytes,
            depth: 0,
            pid: self.process,
            cpu: self.cpu,
            flags: self.flags,
            device: u16::from(self.device),
            op: IoOp::of_number(self.op).unwrap_or(IoOp::Other),
            layer: Layer::FileSystem,
            command: Command(self.command),
            inode: self.inode,
        }
    }
}

/// `struct call`, up to the kernel's own: one that is under way.
#[repr(C)]
#[derive(Clone, Copy)]
struct Call {
    record: Wire,
    before: u8,
    how: u8,
    /// Bit 0: it is sequential.
    judged: u16,
    depth: u32,
}

// SAFETY: integers, no padding.
unsafe impl Plain for Call {}

impl Call {
    fn unended(&self, began_ns: u64) -> Option<IoEvent> {
        let event = || IoEvent { depth: self.depth, ..self.record.event(began_ns) };
        (self.before == 0).then(event)
    }
}

/// `struct settings`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FilesSettings {
    process: u32,
    commands: u32,
    by_entry: u32,
    count: u32,
    step_ns: u64,
    number: [u32; FILE_SYSTEMS_MAX],
    device: [u32; FILE_SYSTEMS_MAX],
}

// SAFETY: integers, no padding.
unsafe impl Plain for FilesSettings {}

impl FilesSettings {
    fn of(options: &Options, by_entry: bool) -> Result<Self, CaptureError> {
        let mut settings = FilesSettings {
            process: options.process.unwrap_or(0),
            commands: options.commands.into(),
            by_entry: by_entry.into(),
            count: 0,
            step_ns: options.step_ns.unwrap_or(0),
            number: [0; FILE_SYSTEMS_MAX],
            device: [0; FILE_SYSTEMS_MAX],
        };
        for (index, device) in (0u32..).zip(&options.devices) {
            for file_system in &device.file_systems {
                let (major, minor) = file_system.number;
                let at = settings.count as usize;
                if at == FILE_SYSTEMS_MAX {
                    return Err(CaptureError::new(
                        format!("the devices hold more than {FILE_SYSTEMS_MAX} file systems"),
                        "capture fewer devices at once",
                    ));
                }
                settings.number[at] = major << 20 | minor;
                settings.device[at] = index;
                settings.count += 1;
            }
        }
        Ok(settings)
    }
}

/// `struct counters`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct KernelCounters {
    lost: u64,
    unfollowed: u64,
    begun_before: u64,
    unended: u64,
    calls: i64,
    requests: i64,
    maps: u64,
    aio: u64,
    copies: u64,
    syncs: u64,
    calls_32bit: u64,
}

// SAFETY: integers, no padding.
unsafe impl Plain for KernelCounters {}

impl KernelCounters {
    /// Ways to a file that are not followed, and how often they were taken.
    fn unseen(&self, keeps_unended: bool) -> Vec<(String, u64)> {
        let requests = u64::try_from(self.requests).unwrap_or(0);
        let calls = if keeps_unended { 0 } else { u64::try_from(self.calls).unwrap_or(0) };
        [
            ("files mapped into memory (mmap), whose reads and writes are page faults", self.maps),
            ("I/Os given to Linux AIO (io_submit)", self.aio),
            ("copies inside the kernel (sendfile, splice, copy_file_range)", self.copies),
            ("sync_file_range and syncfs", self.syncs),
            ("reads and writes of 32-bit programs, whatever the file", self.calls_32bit),
            ("calls on files not completed at the end", calls),
            ("io_uring requests not completed at the end, whatever the file", requests),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| (what.to_owned(), count))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_are_as_long_as_the_programs_have_them() {
        assert_eq!(size_of::<Wire>(), 64);
        assert_eq!(size_of::<FilesSettings>(), 24 + 2 * 4 * FILE_SYSTEMS_MAX);
        assert_eq!(size_of::<Call>(), 72);
        assert_eq!(size_of::<KernelCounters>(), 88);
    }
}
