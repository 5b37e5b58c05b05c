//! The file-system layer: one record per read, write and synchronization on the devices' file
//! systems, captured either at the file systems' entry points or at system calls.

use super::cgroups::CgroupHierarchy;
use super::plain::{self, PlainData};
use super::probe_session::{CapturedLayer, ProbeSession, wait_until};
use super::programs::{FilePrograms, parameters};
use super::rings::RingRecord;
use super::{calls, entries};
use crate::counters::{CaptureCounters, EventSource};
use crate::error::CaptureError;
use crate::options::{CaptureOptions, FileCaptureMode};
use steadfast_domain::io_event::{CommandName, IncompleteIos, Layer, RESPONSE_UNKNOWN};
use steadfast_domain::{IoEvent, IoOp};

/// Maximum number of file systems in one capture.
const FILE_SYSTEMS_MAX: usize = 64;

pub(crate) struct FileSource {
    session: ProbeSession,
    keeps_unended: bool,
    unended: u64,
}

impl FileSource {
    /// Attaches in the requested way, or else in the best way that works here. Also returns a
    /// remark if system calls are used because the entry points cannot be.
    pub(crate) fn open(
        options: &CaptureOptions,
        cgroups: Option<CgroupHierarchy>,
    ) -> Result<(Self, Option<String>), CaptureError> {
        let by_entry_points = || FileSource::attach(options, entries::programs(options)?, cgroups);
        let by_calls = || FileSource::attach(options, calls::programs()?, cgroups);
        match options.files {
            Some(FileCaptureMode::EntryPoints) => Ok((by_entry_points()?, None)),
            Some(FileCaptureMode::Calls) => Ok((by_calls()?, None)),
            None => match by_entry_points() {
                Ok(source) => Ok((source, None)),
                Err(error) => {
                    let remark = format!(
                        "Files are captured at system calls, not at the file systems' entry \
                         points: {}.",
                        error.what
                    );
                    Ok((by_calls()?, Some(remark)))
                }
            },
        }
    }

    fn attach(
        options: &CaptureOptions,
        programs: FilePrograms,
        cgroups: Option<CgroupHierarchy>,
    ) -> Result<Self, CaptureError> {
        let by_entry = parameters("btf_trace_io_uring_complete")? == Some(4);
        let settings = FileProgramSettings::from_options(options, by_entry, cgroups)?;
        let FilePrograms { object, programs, description, keeps_unended } = programs;
        let wanted: Vec<&str> = programs.iter().map(String::as_str).collect();
        let (layer, description) = (Layer::FileSystem, format!("eBPF, {description}"));
        let session = ProbeSession::load(object, &wanted, &settings, options, layer, description)?;
        Ok(FileSource { session, keeps_unended, unended: 0 })
    }
}

impl CapturedLayer for FileSource {
    type Record = CallRecord;

    fn session(&self) -> &ProbeSession {
        &self.session
    }

    fn session_mut(&mut self) -> &mut ProbeSession {
        &mut self.session
    }

    fn finish(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let counters = || self.session.counters::<FileProgramCounters>();
        wait_until(|| counters().is_ok_and(|c| c.calls <= 0 && c.requests <= 0));
        self.take(into)?;
        if !self.keeps_unended {
            return Ok(());
        }
        let FileSource { session, unended, .. } = self;
        session.take_unended("calls", into, |value, began_ns, add| {
            let Some(call) = plain::read::<OutstandingCall>(value) else { return };
            if let Some(event) = call.unended(began_ns) {
                *unended += 1;
                add(event, call.is_sequential());
            }
        })
    }

    fn counted(&self) -> Result<CaptureCounters, CaptureError> {
        let kernel: FileProgramCounters = self.session.counters()?;
        Ok(CaptureCounters {
            lost: kernel.lost,
            in_part: IncompleteIos {
                begun_before: kernel.begun_before,
                unended: kernel.unended + self.unended,
                too_many: kernel.unfollowed,
            },
            unseen: kernel.unseen(self.keeps_unended),
            ..CaptureCounters::default()
        })
    }
}

/// `struct record`: a completed call.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CallRecord {
    lap: u8,
    /// Operation | device << 4.
    op_device: u8,
    cgroup: u16,
    flags: u16,
    cpu: u16,
    issued_ns: u64,
    /// Response time (42 bits) | thread << 42.
    response_thread: u64,
    offset: u64,
    inode: u64,
    bytes: u32,
    process: u32,
    command: [u8; 16],
}

// SAFETY: integers, no padding.
unsafe impl PlainData for CallRecord {}

impl RingRecord for CallRecord {
    /// The depth stays 0: the program does not report outstanding calls, and readers of the trace
    /// count them.
    fn event(&self, began_ns: u64) -> IoEvent {
        let response = self.response_thread & RESPONSE_LONGEST;
        IoEvent {
            issued_ns: self.issued_ns.saturating_sub(began_ns),
            response_ns: if response == RESPONSE_LONGEST { RESPONSE_UNKNOWN } else { response },
            offset: self.offset,
            bytes: self.bytes,
            pid: self.process,
            tid: (self.response_thread >> RESPONSE_BITS) as u32,
            cgroup: self.cgroup,
            cpu: self.cpu,
            flags: self.flags,
            device: u16::from(self.op_device >> 4),
            op: IoOp::from_number(self.op_device & 15).unwrap_or(IoOp::Other),
            layer: Layer::FileSystem,
            command: CommandName(self.command),
            inode: self.inode,
            ..IoEvent::default()
        }
    }
}

const RESPONSE_BITS: u32 = 42;
/// The value of a response time that is unknown or longer than 73 minutes.
const RESPONSE_LONGEST: u64 = (1 << RESPONSE_BITS) - 1;

/// `struct call` without its kernel-only tail: an outstanding call.
#[repr(C)]
#[derive(Clone, Copy)]
struct OutstandingCall {
    record: CallRecord,
    before: u8,
    how: u8,
    /// Bit 0: sequential.
    judgment: u16,
    depth: u32,
}

// SAFETY: integers, no padding.
unsafe impl PlainData for OutstandingCall {}

impl OutstandingCall {
    fn is_sequential(&self) -> bool {
        self.judgment & 1 == 1
    }

    /// Returns the event of a call that was outstanding when the capture ended, or `None` if it
    /// was issued before the capture.
    fn unended(&self, began_ns: u64) -> Option<IoEvent> {
        (self.before == 0).then(|| IoEvent { depth: self.depth, ..self.record.event(began_ns) })
    }
}

/// `struct settings` of the programs.
#[repr(C)]
#[derive(Clone, Copy)]
struct FileProgramSettings {
    process: u32,
    commands: u32,
    by_entry: u32,
    count: u32,
    step_ns: u64,
    cgroups: u32,
    unused: u32,
    number: [u32; FILE_SYSTEMS_MAX],
    device: [u32; FILE_SYSTEMS_MAX],
}

// SAFETY: integers, no padding.
unsafe impl PlainData for FileProgramSettings {}

impl FileProgramSettings {
    fn from_options(
        options: &CaptureOptions,
        by_entry: bool,
        cgroups: Option<CgroupHierarchy>,
    ) -> Result<Self, CaptureError> {
        let mut settings = FileProgramSettings {
            process: options.process.unwrap_or(0),
            commands: options.commands.into(),
            by_entry: by_entry.into(),
            count: 0,
            step_ns: options.step_ns.unwrap_or(0),
            cgroups: CgroupHierarchy::number(cgroups),
            unused: 0,
            number: [0; FILE_SYSTEMS_MAX],
            device: [0; FILE_SYSTEMS_MAX],
        };
        for (index, device) in (0u32..).zip(&options.devices) {
            for file_system in &device.file_systems {
                let slot = settings.count as usize;
                if slot == FILE_SYSTEMS_MAX {
                    return Err(CaptureError::new(
                        format!("the devices hold more than {FILE_SYSTEMS_MAX} file systems"),
                        "capture fewer devices at once",
                    ));
                }
                settings.number[slot] = file_system.number.kernel_encoding();
                settings.device[slot] = index;
                settings.count += 1;
            }
        }
        Ok(settings)
    }
}

/// `struct counters` of the programs.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct FileProgramCounters {
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
unsafe impl PlainData for FileProgramCounters {}

impl FileProgramCounters {
    /// Returns the kinds of file access that are not followed, with the number of times each was
    /// used.
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
    fn the_structures_have_the_sizes_of_those_in_the_programs() {
        assert_eq!(size_of::<CallRecord>(), 64);
        assert_eq!(size_of::<FileProgramSettings>(), 32 + 2 * 4 * FILE_SYSTEMS_MAX);
        assert_eq!(size_of::<OutstandingCall>(), 72);
        assert_eq!(size_of::<FileProgramCounters>(), 88);
    }
}
