//! The BPF programs at the block layer's tracepoints, and what they report.
//!
//! The programs are compiled once (bpf/block.bpf.c) and fitted to the running
//! kernel by its BTF when they are loaded. They work under kernel lockdown
//! "integrity", which Secure Boot sets and which stops blktrace.

mod record;
mod ring;

use crate::error::CaptureError;
use crate::{Counters, Options, Source};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, libbpf_sys};
use record::{KernelCounters, Settings, Wire};
use ring::Ring;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use steadfast_domain::IoEvent;

#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);

/// The compiled programs; an ELF file is read in words.
static PROGRAMS: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/block.bpf.o")));

/// The running kernel's types.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The programs, loaded and attached.
pub(crate) struct Ebpf {
    ring: Ring,
    object: Object,
    /// Detach the programs when they are dropped.
    _links: Vec<Link>,
    /// The kernel measures the programs' time while this is open.
    _stats: Option<OwnedFd>,
    began_ns: u64,
    description: String,
}

/// What is loaded depends on what the devices are and on what the kernel has.
struct Choice {
    /// The kernel tells when a request starts (since 6.5).
    io_start: bool,
    requests: bool,
    bios: bool,
}

impl Choice {
    fn of(options: &Options, io_start: bool) -> Self {
        Choice {
            io_start,
            requests: options.devices.iter().any(|device| !device.bio_based),
            bios: options.devices.iter().any(|device| device.bio_based),
        }
    }

    fn wants(&self, program: &str) -> bool {
        match program {
            "on_io_start" => self.requests && self.io_start,
            "on_rq_issue" | "on_rq_requeue" | "on_rq_complete" => self.requests,
            "on_bio_queue" => self.bios || !self.io_start,
            "on_bio_complete" => self.bios,
            _ => false,
        }
    }

    fn describe(&self) -> String {
        let seen = match (self.requests, self.bios) {
            (true, false) => "requests",
            (false, true) => "bios",
            _ => "requests and bios",
        };
        let submitter = if self.io_start { "block_io_start" } else { "block_bio_queue" };
        match self.requests {
            true => format!("eBPF, {seen} (submitter from {submitter})"),
            false => format!("eBPF, {seen}"),
        }
    }
}

impl Ebpf {
    pub(crate) fn open(options: &Options, began_ns: u64) -> Result<Self, CaptureError> {
        silence();
        let io_start = kernel_knows("btf_trace_block_io_start")?;
        let choice = Choice::of(options, io_start);
        let mut object = ObjectBuilder::default().open_memory(&PROGRAMS.0).map_err(load_error)?;
        for mut program in object.progs_mut() {
            let wanted = program.name().to_str().is_some_and(|name| choice.wants(name));
            program.set_autoload(wanted);
        }
        set_maps(&mut object, options, &choice)?;
        let object = object.load().map_err(load_error)?;
        let mut links = Vec::new();
        for program in object.progs_mut() {
            if program.name().to_str().is_some_and(|name| choice.wants(name)) {
                links.push(program.attach().map_err(load_error)?);
            }
        }
        let ring = Ring::new(map_named(&object, "records")?.as_fd(), options.ring_bytes)?;
        let description = choice.describe();
        Ok(Ebpf { ring, object, _links: links, _stats: measure_cost(), began_ns, description })
    }

    fn kernel_counters(&self) -> Result<KernelCounters, CaptureError> {
        let map = map_ending(&self.object, ".bss")?;
        let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(load_error)?;
        value.as_deref().and_then(KernelCounters::read).ok_or_else(|| {
            CaptureError::new("the programs' counters cannot be read", "report this as a defect")
        })
    }

    /// Time and runs of all programs, as far as the kernel measured them.
    fn cost(&self) -> (u64, u64) {
        self.object
            .progs_mut()
            .filter_map(|program| run_time(&program.as_fd()))
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

impl Source for Ebpf {
    fn describe(&self) -> String {
        self.description.clone()
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

    fn counters(&mut self) -> Result<Counters, CaptureError> {
        let kernel = self.kernel_counters()?;
        let (nanos, runs) = self.cost();
        let outstanding: u64 = kernel.outstanding.iter().map(|n| u64::from(*n)).sum();
        Ok(Counters {
            lost: kernel.lost,
            unfinished: kernel.unfollowed + kernel.unissued + outstanding,
            partial_completions: kernel.partial_completions,
            requeues: kernel.requeues,
            kernel_ns: (runs > 0).then_some(nanos),
            kernel_runs: runs,
        })
    }
}

/// libbpf writes its warnings to standard error; ours come as errors.
fn silence() {
    libbpf_rs::set_print(None);
}

/// Whether the kernel's types have this name.
fn kernel_knows(name: &str) -> Result<bool, CaptureError> {
    let btf = libbpf_rs::btf::Btf::from_path(Path::new(KERNEL_TYPES)).map_err(|_| {
        CaptureError::new(
            format!("the kernel does not tell its types ({KERNEL_TYPES} cannot be read)"),
            "use a kernel with CONFIG_DEBUG_INFO_BTF, or --source tracefs",
        )
    })?;
    Ok(btf.type_by_name::<libbpf_rs::btf::types::Typedef<'_>>(name).is_some())
}

fn set_maps(
    object: &mut OpenObject,
    options: &Options,
    choice: &Choice,
) -> Result<(), CaptureError> {
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == "records" {
            map.set_max_entries(options.ring_bytes).map_err(load_error)?;
        } else if name.ends_with(".rodata") {
            let settings = Settings::of(options, !choice.io_start);
            let value = map.initial_value_mut().ok_or_else(|| {
                CaptureError::new("the programs take no settings", "report this as a defect")
            })?;
            settings.write(value);
        }
    }
    Ok(())
}

fn map_named<'o>(object: &'o Object, name: &str) -> Result<libbpf_rs::Map<'o>, CaptureError> {
    object.maps().find(|map| map.name() == name).ok_or_else(|| missing(name))
}

fn map_ending<'o>(object: &'o Object, end: &str) -> Result<libbpf_rs::Map<'o>, CaptureError> {
    let found = object.maps().find(|map| map.name().to_string_lossy().ends_with(end));
    found.ok_or_else(|| missing(end))
}

fn missing(name: &str) -> CaptureError {
    CaptureError::new(format!("the programs have no map {name}"), "report this as a defect")
}

fn load_error(error: libbpf_rs::Error) -> CaptureError {
    let remedy = match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            "run it as root, or with CAP_BPF and CAP_PERFMON; a kernel in lockdown mode \
             \"confidentiality\" allows it to nobody"
        }
        _ => "use a kernel of 6.1 or later, or --source tracefs",
    };
    CaptureError::new(format!("the BPF programs cannot be loaded: {error}"), remedy)
}

/// Has the kernel measure the programs' time; it may not be allowed.
fn measure_cost() -> Option<OwnedFd> {
    // SAFETY: takes a number and returns a new descriptor or an error.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    // SAFETY: a descriptor that nobody else has.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Nanoseconds and runs of one program.
fn run_time(program: &impl AsRawFd) -> Option<(u64, u64)> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = u32::try_from(std::mem::size_of_val(&info)).ok()?;
    // SAFETY: `info` is as long as `length` says, and all its pointers are null.
    let result = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(
            program.as_raw_fd(),
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    (result == 0).then_some((info.run_time_ns, info.run_cnt))
}
