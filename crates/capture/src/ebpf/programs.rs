//! BPF programs of one object file: loading, attaching and their cost.

use super::plain;
use crate::error::CaptureError;
use libbpf_rs::btf::types::{FuncProto, Ptr, Typedef};
use libbpf_rs::btf::{Btf, ReferencesType};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenMapMut, libbpf_sys};
use std::ffi::{CString, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::{io, ptr};

#[repr(C, align(8))]
pub(super) struct AlignedBytes<T: ?Sized>(pub T);

/// BTF type information of the running kernel.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Map entries read per batch.
const BATCH: u32 = 4096;

/// `bpf_map_lookup_batch`, or the same with removal: map, begin of this batch (null: of the map) and
/// of the next, keys, values, room for pairs and their number, options.
type ReadBatch = unsafe extern "C" fn(
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut u32,
    *const libbpf_sys::bpf_map_batch_opts,
) -> c_int;

/// State of the gate: only I/Os issued while it is open are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum GateState {
    /// The programs follow issued I/Os without recording them.
    NotYet = 0,
    /// I/Os issued from now on are recorded.
    Open = 1,
    /// Only I/Os issued before are followed to their completion.
    Closed = 2,
}

/// The programs to load for the file-system layer.
pub(super) struct FilePrograms {
    /// Content of the object file.
    pub object: &'static [u8],
    /// Programs in the order of attachment: those at completions before those at submissions.
    pub programs: Vec<String>,
    pub description: String,
    /// True if a call's record is complete when the call begins, so that calls without a completion
    /// can be recorded, without a response time.
    pub keeps_unended: bool,
}

/// The fields of `struct gate` that the loader sets.
#[derive(Clone, Copy)]
struct Gate {
    /// Times are counted from here.
    began_ns: u64,
    state: GateState,
    /// First of the two steps whose LBA ranges are in the array << 1 | half in use.
    ranges_turn: u64,
}

pub(super) struct AttachedPrograms {
    object: Object,
    gate: Gate,
    /// Detach the programs when dropped.
    _links: Vec<Link>,
    /// The kernel measures the programs' run time while this is open.
    _stats: Option<OwnedFd>,
}

/// Cost of the programs, as measured by the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProgramCost {
    pub nanos: u64,
    pub runs: u64,
    /// Runs that the kernel skipped because the program was already running on that processor.
    pub skipped: u64,
}

impl AttachedPrograms {
    /// Loads the `wanted` programs of an object file and attaches them in the given order.
    /// `prepare` configures each map before it is created.
    pub(super) fn load(
        file: &[u8],
        wanted: &[&str],
        mut prepare: impl FnMut(&str, &mut OpenMapMut<'_>) -> Result<(), CaptureError>,
    ) -> Result<AttachedPrograms, CaptureError> {
        // libbpf would print warnings to standard error; errors are returned instead.
        libbpf_rs::set_print(None);
        let mut object = ObjectBuilder::default().open_memory(file).map_err(load_error)?;
        for mut program in object.progs_mut() {
            let name = program.name().to_str().unwrap_or_default();
            let is_wanted = wanted.contains(&name);
            program.set_autoload(is_wanted);
        }
        for mut map in object.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            prepare(&name, &mut map)?;
        }
        let object = object.load().map_err(load_error)?;
        let stats = measure_cost();
        let mut links = Vec::new();
        for name in wanted {
            let program = object.progs_mut().find(|program| program.name() == *name);
            links.push(program.ok_or_else(|| missing(name))?.attach().map_err(load_error)?);
        }
        let gate = Gate { began_ns: 0, state: GateState::NotYet, ranges_turn: 0 };
        Ok(AttachedPrograms { object, gate, _links: links, _stats: stats })
    }

    pub(super) fn map(&self, name: &str) -> Result<BorrowedFd<'_>, CaptureError> {
        Ok(raw(&self.find(name)?.as_fd()))
    }

    fn find(&self, name: &str) -> Result<libbpf_rs::Map<'_>, CaptureError> {
        self.object.maps().find(|map| map.name() == name).ok_or_else(|| missing(name))
    }

    /// Calls `show` for every key of a map and its value.
    pub(super) fn each_pair(
        &self,
        map: &str,
        show: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), CaptureError> {
        self.read(map, libbpf_sys::bpf_map_lookup_batch, show)
    }

    /// Removes all entries of a hash map and calls `show` for each.
    pub(super) fn drain(
        &self,
        map: &str,
        show: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), CaptureError> {
        self.read(map, libbpf_sys::bpf_map_lookup_and_delete_batch, show)
    }

    // Not by libbpf-rs: it takes an error for the end of the map, and a batch that is not full for
    // the last one.
    fn read(
        &self,
        map: &str,
        read_batch: ReadBatch,
        mut show: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), CaptureError> {
        let found = self.find(map)?;
        let (key_size, value_size) = (found.key_size() as usize, found.value_size() as usize);
        let mut keys = vec![0; BATCH as usize * key_size];
        let mut values = vec![0; BATCH as usize * value_size];
        // The kernel's names of the beginning of this batch and of the next one.
        let mut begin = vec![0; key_size.max(size_of::<u32>())];
        let mut next = begin.clone();
        let mut is_first = true;
        loop {
            let mut count = BATCH;
            let begin_or_null = if is_first { ptr::null_mut() } else { begin.as_mut_ptr() };
            // SAFETY: the buffers have room for BATCH keys and values of this map, which is no map
            // of values for each processor; the two names, for a key or a bucket's number.
            let answer = unsafe {
                read_batch(
                    found.as_fd().as_raw_fd(),
                    begin_or_null.cast(),
                    next.as_mut_ptr().cast(),
                    keys.as_mut_ptr().cast(),
                    values.as_mut_ptr().cast(),
                    &raw mut count,
                    ptr::null(),
                )
            };
            let is_last = answer == -libc::ENOENT;
            if answer < 0 && !is_last {
                let error = io::Error::from_raw_os_error(-answer);
                return Err(CaptureError::new(
                    format!("cannot read {map} of the BPF programs: {error}"),
                    "capture again; the file holds what was captured until then",
                ));
            }
            let pairs = keys.chunks_exact(key_size).zip(values.chunks_exact(value_size));
            pairs.take(count as usize).for_each(|(key, value)| show(key, value));
            if is_last {
                return Ok(());
            }
            std::mem::swap(&mut begin, &mut next);
            is_first = false;
        }
    }

    /// Returns the value of a key of a hash map; `None` if there is none.
    pub(super) fn value(&self, map: &str, key: &[u8]) -> Option<Vec<u8>> {
        self.find(map).ok()?.lookup(key, MapFlags::ANY).ok()?
    }

    /// Returns an element of an array and sets it to zeros.
    pub(super) fn take_element(&self, map: &str, at: u32) -> Result<Vec<u8>, CaptureError> {
        let found = self.find(map)?;
        let value = found.lookup(&at.to_ne_bytes(), MapFlags::ANY).map_err(load_error)?;
        let value = value.ok_or_else(|| missing(map))?;
        if value.iter().any(|byte| *byte != 0) {
            let zeros = vec![0; value.len()];
            found.update(&at.to_ne_bytes(), &zeros, MapFlags::ANY).map_err(load_error)?;
        }
        Ok(value)
    }

    /// Calls `take` for every element of an array that is not zero, and sets those for which it
    /// returns true to zeros.
    pub(super) fn take_elements(
        &self,
        map: &str,
        mut take: impl FnMut(u32, &[u8]) -> bool,
    ) -> Result<(), CaptureError> {
        let mut taken = Vec::new();
        self.each_pair(map, |key, value| {
            let is_zero = value.iter().all(|byte| *byte == 0);
            if !is_zero && plain::read(key).is_some_and(|at| take(at, value)) {
                taken.push(key.to_vec());
            }
        })?;
        let found = self.find(map)?;
        let zeros = vec![0; found.value_size() as usize];
        for key in taken {
            found.update(&key, &zeros, MapFlags::ANY).map_err(load_error)?;
        }
        Ok(())
    }

    /// Makes `map` the only entry of `into`, a map of maps. On return, no program uses the previous
    /// entry any more.
    pub(super) fn place(&self, map: &str, into: &str) -> Result<(), CaptureError> {
        let inner = self.map(map)?.as_raw_fd().to_ne_bytes();
        self.find(into)?.update(&0u32.to_ne_bytes(), &inner, MapFlags::ANY).map_err(load_error)
    }

    /// Opens the gate; times are counted from `at_ns`.
    pub(super) fn open(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        self.gate.began_ns = at_ns;
        self.set_gate()?;
        self.gate.state = GateState::Open;
        self.set_gate()
    }

    pub(super) fn close(&mut self) -> Result<(), CaptureError> {
        self.gate.state = GateState::Closed;
        self.set_gate()
    }

    /// Sets which steps the array of LBA ranges holds.
    pub(super) fn set_ranges_turn(&mut self, turn: u64) -> Result<(), CaptureError> {
        self.gate.ranges_turn = turn;
        self.set_gate()
    }

    /// The programs find the latest step, which follows these fields, again by themselves.
    fn set_gate(&self) -> Result<(), CaptureError> {
        let Gate { began_ns, state, ranges_turn } = self.gate;
        let map = self.map_ending(".data.gate")?;
        let mut value = vec![0; map.value_size() as usize];
        plain::write(&[began_ns, state as u64, ranges_turn], &mut value);
        map.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY).map_err(load_error)
    }

    /// Returns the content of the programs' global variables, their counters.
    pub(super) fn variables(&self) -> Result<Vec<u8>, CaptureError> {
        let map = self.map_ending(".bss")?;
        let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(load_error)?;
        value.ok_or_else(|| missing(".bss"))
    }

    /// Returns time, runs and skipped runs of all programs, as far as the kernel reports them.
    pub(super) fn cost(&self) -> ProgramCost {
        let each = self.object.progs_mut().filter_map(|program| cost_of(&program.as_fd()));
        each.fold(ProgramCost::default(), |sum, one| ProgramCost {
            nanos: sum.nanos + one.nanos,
            runs: sum.runs + one.runs,
            skipped: sum.skipped + one.skipped,
        })
    }

    fn map_ending(&self, end: &str) -> Result<libbpf_rs::Map<'_>, CaptureError> {
        let found = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(end));
        found.ok_or_else(|| missing(end))
    }
}

/// Returns a map's descriptor with the lifetime of its programs.
fn raw<'o>(fd: &BorrowedFd<'_>) -> BorrowedFd<'o> {
    // SAFETY: libbpf keeps a map's descriptor open as long as the object lives, which the caller of
    // `AttachedPrograms::map` borrows.
    unsafe { BorrowedFd::borrow_raw(fd.as_raw_fd()) }
}

fn kernel_types() -> Result<Btf<'static>, CaptureError> {
    Btf::from_path(Path::new(KERNEL_TYPES)).map_err(|_| no_types())
}

fn no_types() -> CaptureError {
    CaptureError::new(
        format!("the kernel has no type information ({KERNEL_TYPES} cannot be read)"),
        "use a kernel with CONFIG_DEBUG_INFO_BTF, or --source tracefs",
    )
}

/// Returns true if the kernel's type information has a typedef of this name.
pub(super) fn kernel_knows(name: &str) -> Result<bool, CaptureError> {
    Ok(kernel_types()?.type_by_name::<Typedef<'_>>(name).is_some())
}

/// Returns the parameter count of the function type that the typedef `name` points to, or `None` if
/// there is no such type.
pub(super) fn parameters(name: &str) -> Result<Option<usize>, CaptureError> {
    let types = kernel_types()?;
    let Some(found) = types.type_by_name::<Typedef<'_>>(name) else { return Ok(None) };
    let pointer = Ptr::try_from(found.referenced_type()).ok();
    let function = pointer.and_then(|pointer| FuncProto::try_from(pointer.referenced_type()).ok());
    Ok(function.map(|function| function.len()))
}

/// The functions of the kernel and of one of its modules.
pub(super) struct KernelFunctions {
    kernel: *mut libbpf_sys::btf,
    /// Null if there is no such module.
    module: *mut libbpf_sys::btf,
}

impl KernelFunctions {
    /// Loads the functions of the kernel, and of `module` if it is loaded.
    pub(super) fn with(module: Option<&str>) -> Result<KernelFunctions, CaptureError> {
        // SAFETY: takes no arguments; returns types owned by the caller, or null.
        let kernel = unsafe { libbpf_sys::btf__load_vmlinux_btf() };
        if kernel.is_null() {
            return Err(no_types());
        }
        let load = |name: CString| {
            // SAFETY: `name` is NUL-terminated, and `kernel` outlives the types based on it.
            unsafe { libbpf_sys::btf__load_module_btf(name.as_ptr(), kernel) }
        };
        let name = module.and_then(|name| CString::new(name).ok());
        Ok(KernelFunctions { kernel, module: name.map_or(std::ptr::null_mut(), load) })
    }

    pub(super) fn contain(&self, name: &str) -> bool {
        let name = CString::new(name).unwrap_or_default();
        // The module's types are based on the kernel's and include them.
        let all = if self.module.is_null() { self.kernel } else { self.module };
        // SAFETY: `all` is alive, and `name` is NUL-terminated.
        let found = unsafe {
            libbpf_sys::btf__find_by_name_kind(all, name.as_ptr(), libbpf_sys::BTF_KIND_FUNC)
        };
        found > 0
    }
}

impl Drop for KernelFunctions {
    fn drop(&mut self) {
        // SAFETY: both were made by `with`, the module's types based on the kernel's; null is
        // allowed.
        unsafe {
            libbpf_sys::btf__free(self.module);
            libbpf_sys::btf__free(self.kernel);
        }
    }
}

pub(super) fn missing(name: &str) -> CaptureError {
    CaptureError::new(format!("the BPF programs have no {name}"), "report this as a defect")
}

pub(super) fn load_error(error: libbpf_rs::Error) -> CaptureError {
    let remedy = match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            "run it as root, or with CAP_BPF and CAP_PERFMON; a kernel in lockdown mode \
             \"confidentiality\" refuses it even to root"
        }
        _ => "use a kernel of 6.1 or later, or --source tracefs",
    };
    CaptureError::new(format!("cannot load the BPF programs: {error}"), remedy)
}

/// Makes the kernel measure the programs' run time. Returns `None` if that is not permitted.
fn measure_cost() -> Option<OwnedFd> {
    // SAFETY: takes a number and returns a new descriptor or an error.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    // SAFETY: the descriptor is new and owned by nobody else.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the cost of one program, or `None` if the kernel does not report it.
fn cost_of(program: &impl AsRawFd) -> Option<ProgramCost> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = u32::try_from(std::mem::size_of_val(&info)).ok()?;
    // SAFETY: `info` is `length` bytes long, and all its pointers are null.
    let result = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(
            program.as_raw_fd(),
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    let (nanos, runs, skipped) = (info.run_time_ns, info.run_cnt, info.recursion_misses);
    (result == 0).then_some(ProgramCost { nanos, runs, skipped })
}
