//! The file-system layer: one record per read, write and synchronisation that
//! a program asks of the devices' file systems.

use super::programs::{Aligned, Programs, kernel_knows, load_error, missing, parameters};
use super::ring::Ring;
use super::wait_until;
use crate::error::CaptureError;
use crate::{Counters, Options, Source};
use std::mem::size_of;
use std::os::fd::AsFd;
use steadfast_domain::io_event::{Command, Layer, SeenInPart};
use steadfast_domain::{IoEvent, IoOp};

/// The compiled programs; an ELF file is read in words.
static PROGRAMS: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/files.bpf.o")));

/// File systems that are told apart at most.
const FILE_SYSTEMS_MAX: usize = 64;

/// The file-system layer, listened to.
pub(crate) struct Files {
    ring: Ring,
    programs: Programs,
    began_ns: u64,
    uring: bool,
}

impl Files {
    pub(crate) fn open(options: &Options) -> Result<Self, CaptureError> {
        // Whoever sees an end is attached before whoever sees a beginning.
        let mut wanted = vec!["on_call_end", "on_call"];
        let uring = kernel_knows("btf_trace_io_uring_complete")?;
        let by_entry = parameters("btf_trace_io_uring_complete")? == Some(4);
        if uring {
            let new = kernel_knows("btf_trace_io_uring_submit_req")?;
            let submit = if new { "on_request" } else { "on_request_by_entry" };
            wanted.extend(["on_request_end", submit]);
        }
        let settings = Settings::of(options, by_entry)?;
        let programs = Programs::load(&PROGRAMS.0, &wanted, |name, map| {
            if name == "records" {
                map.set_max_entries(options.ring_bytes).map_err(load_error)?;
            } else if name.ends_with(".rodata") {
                settings.write(map.initial_value_mut().ok_or_else(|| missing(".rodata"))?);
            }
            Ok(())
        })?;
        let ring = Ring::new(programs.map("records")?.as_fd(), options.ring_bytes)?;
        Ok(Files { ring, programs, began_ns: 0, uring })
    }

    fn kernel_counters(&self) -> Result<KernelCounters, CaptureError> {
        KernelCounters::read(&self.programs.variables()?).ok_or_else(|| missing("counters"))
    }
}

impl Source for Files {
    fn describe(&self) -> String {
        let calls = if self.uring { "system calls and io_uring" } else { "system calls" };
        format!("eBPF, {calls} on files")
    }

    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        self.began_ns = at_ns;
        self.programs.open(at_ns)
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let began_ns = self.began_ns;
        self.ring.read(|bytes| {
            if let Some(wire) = Wire::read(bytes) {
                into.push(wire.event(began_ns));
            }
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), CaptureError> {
        self.programs.close(self.began_ns)
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        wait_until(|| self.kernel_counters().is_ok_and(|c| c.calls <= 0 && c.requests <= 0));
        self.take(into)
    }

    fn counters(&mut self) -> Result<Counters, CaptureError> {
        let kernel = self.kernel_counters()?;
        let cost = self.programs.cost();
        Ok(Counters {
            lost: kernel.lost,
            skipped: cost.skipped,
            in_part: SeenInPart {
                begun_before: kernel.begun_before,
                unended: 0,
                too_many: kernel.unfollowed,
            },
            unseen: kernel.unseen(),
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
    issued_ns: u64,
    response_ns: u64,
    offset: u64,
    inode: u64,
    bytes: u32,
    process: u32,
    cpu: u16,
    flags: u16,
    device: u8,
    op: u8,
    unused: [u8; 2],
    command: [u8; 16],
}

impl Wire {
    /// A record as the ring buffer holds it: aligned to eight bytes.
    fn read(bytes: &[u8]) -> Option<&Wire> {
        let fits = bytes.len() >= size_of::<Wire>() && bytes.as_ptr().cast::<Wire>().is_aligned();
        // SAFETY: long enough, aligned, and any bits are a valid `Wire`.
        fits.then(|| unsafe { &*bytes.as_ptr().cast::<Wire>() })
    }

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

/// `struct settings`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Settings {
    process: u32,
    commands: u32,
    by_entry: u32,
    count: u32,
    number: [u32; FILE_SYSTEMS_MAX],
    device: [u32; FILE_SYSTEMS_MAX],
}

impl Settings {
    fn of(options: &Options, by_entry: bool) -> Result<Self, CaptureError> {
        let mut settings = Settings {
            process: options.process.unwrap_or(0),
            commands: options.commands.into(),
            by_entry: by_entry.into(),
            count: 0,
            number: [0; FILE_SYSTEMS_MAX],
            device: [0; FILE_SYSTEMS_MAX],
        };
        for (index, device) in (0u32..).zip(&options.devices) {
            for (major, minor) in &device.file_systems {
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

    /// Writes itself where the programs look for it.
    fn write(&self, place: &mut [u8]) {
        let length = place.len().min(size_of::<Settings>());
        // SAFETY: all of `Settings` is u32s without padding.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const *self).cast::<u8>(), length) };
        place[..length].copy_from_slice(bytes);
    }
}

/// `struct counters`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct KernelCounters {
    lost: u64,
    unfollowed: u64,
    begun_before: u64,
    calls: i64,
    requests: i64,
    maps: u64,
    aio: u64,
    copies: u64,
    syncs: u64,
    calls_32bit: u64,
}

impl KernelCounters {
    fn read(bytes: &[u8]) -> Option<KernelCounters> {
        let long_enough = bytes.len() >= size_of::<KernelCounters>();
        // SAFETY: long enough, read without a demand on alignment; any bits are valid.
        long_enough.then(|| unsafe { bytes.as_ptr().cast::<KernelCounters>().read_unaligned() })
    }

    /// Ways to a file that are not followed, and how often they were taken.
    fn unseen(&self) -> Vec<(String, u64)> {
        let requests = u64::try_from(self.requests).unwrap_or(0);
        let calls = u64::try_from(self.calls).unwrap_or(0);
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
        assert_eq!(size_of::<Settings>(), 16 + 2 * 4 * FILE_SYSTEMS_MAX);
        assert_eq!(size_of::<KernelCounters>(), 80);
    }
}
