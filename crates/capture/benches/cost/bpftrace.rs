//! A load with bpftrace running, which records for each I/O the fields of a capture as far as its
//! tracepoints have them: scripts of ours, with the cheapest maps found, a buffer as large as that
//! of our capture, and buffered output.

use crate::load::{BLOCK, CostLoad, touch};
use crate::scratch_device::ScratchDevice;
use crate::{CostRun, Fallible, RING_BYTES};
use std::fs;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = "bpftrace";

/// Longest time for compiling and attaching.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// bpftrace has read all its events when it used less processor time than this in [`PAUSE`].
const IDLE_NS: u64 = 3_000_000;
const PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BpftraceOutput {
    /// A line with all fields.
    Line,
    /// An increment of a count, with the same maps.
    Count,
}

pub fn is_installed() -> bool {
    Command::new(PROGRAM).arg("--version").output().is_ok()
}

pub fn run(device: &ScratchDevice, load: &CostLoad, output: BpftraceOutput) -> Fallible<CostRun> {
    let mut recorder = BpftraceProcess::start(device, output)?;
    recorder.wait_until_attached(device)?;
    let before = (recorder.kernel()?.nanos, recorder.user_ns()?);
    let loaded = load.apply(device);
    recorder.wait_until_idle()?;
    let kernel_ns = recorder.kernel()?.nanos - before.0;
    let user_ns = recorder.user_ns()? - before.1;
    let text = recorder.end()?;
    let recorded = match output {
        BpftraceOutput::Line => text.lines().filter(|line| is_of_load(line)).count() as u64,
        BpftraceOutput::Count => loaded.ios,
    };
    let reported_lost = text.lines().filter_map(lost).sum();
    Ok(CostRun {
        loaded,
        kernel_ns,
        user_ns,
        recorded,
        file_bytes: text.len() as u64,
        reported_lost,
    })
}

/// Returns true if a line is of an I/O of the load's size, its sixth field.
fn is_of_load(line: &str) -> bool {
    let bytes = line.split(' ').nth(5).and_then(|field| field.parse().ok());
    bytes == Some(BLOCK)
}

/// Parses `Lost N events`.
fn lost(line: &str) -> Option<u64> {
    line.strip_prefix("Lost ")?.split(' ').next()?.parse().ok()
}

/// Cost of the programs, as measured by the kernel.
#[derive(Default)]
struct BpftraceCost {
    nanos: u64,
    /// Programs that ran at all.
    awake: usize,
}

/// A running bpftrace, ended on drop.
struct BpftraceProcess {
    process: Child,
    directory: TempDir,
    programs: usize,
    /// The kernel measures programs while this is open.
    _stats: OwnedFd,
}

impl Drop for BpftraceProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl BpftraceProcess {
    fn start(device: &ScratchDevice, output: BpftraceOutput) -> Fallible<BpftraceProcess> {
        let stats = measure_programs()?;
        let directory = tempfile::tempdir()?;
        let capture_device = device.capture_device();
        let (script, programs) = if capture_device.bio_based {
            (include_str!("bios.bt"), 2)
        } else {
            (include_str!("requests.bt"), 3)
        };
        let number = capture_device.number.kernel_encoding();
        let lines = u32::from(output == BpftraceOutput::Line);
        let process = Command::new(PROGRAM)
            .env("BPFTRACE_PERF_RB_PAGES", pages_per_processor().to_string())
            .args(["-B", "full", "-o"])
            .arg(directory.path().join(OUTPUT))
            .args(["-e", script, &number.to_string(), &lines.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(directory.path().join(ERRORS))?)
            .spawn()?;
        Ok(BpftraceProcess { process, directory, programs, _stats: stats })
    }

    /// Reads from the device until every program has run.
    fn wait_until_attached(&mut self, device: &ScratchDevice) -> Fallible<()> {
        let began = Instant::now();
        while self.kernel()?.awake < self.programs {
            let ended = self.process.try_wait()?.is_some();
            if ended || began.elapsed() > START_TIMEOUT {
                let errors = fs::read_to_string(self.directory.path().join(ERRORS))?;
                return Err(format!("bpftrace did not attach its programs: {errors}").into());
            }
            touch(device)?;
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn wait_until_idle(&self) -> Fallible<()> {
        let mut before = self.user_ns()?;
        loop {
            std::thread::sleep(PAUSE);
            let now = self.user_ns()?;
            if now - before < IDLE_NS {
                return Ok(());
            }
            before = now;
        }
    }

    /// Reads the cost from the /proc entries of the descriptors that hold its programs.
    fn kernel(&self) -> Fallible<BpftraceCost> {
        let directory = PathBuf::from(format!("/proc/{}/fdinfo", self.process.id()));
        let mut sum = BpftraceCost::default();
        for entry in fs::read_dir(directory)? {
            let text = fs::read_to_string(entry?.path()).unwrap_or_default();
            let value = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
            };
            sum.nanos += value("run_time_ns:");
            sum.awake += usize::from(value("run_cnt:") > 0);
        }
        Ok(sum)
    }

    /// Returns the processor time of the process, in nanoseconds.
    fn user_ns(&self) -> Fallible<u64> {
        let mut clock = 0;
        // SAFETY: `clock` is valid to write to.
        let failed = unsafe { libc::clock_getcpuclockid(self.process.id() as i32, &mut clock) };
        if failed != 0 {
            return Err(std::io::Error::from_raw_os_error(failed).into());
        }
        Ok(crate::load::clock_ns(clock))
    }

    fn end(mut self) -> Fallible<String> {
        // SAFETY: a child process that nobody has waited for.
        unsafe { libc::kill(self.process.id() as i32, libc::SIGINT) };
        self.process.wait()?;
        Ok(fs::read_to_string(self.directory.path().join(OUTPUT))?)
    }
}

const OUTPUT: &str = "lines.txt";
const ERRORS: &str = "errors.txt";

/// Returns the size of a buffer of bpftrace in pages; all together are as large as the ring of a
/// capture.
fn pages_per_processor() -> u64 {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let share = u64::from(RING_BYTES) / 4096 / processors;
    // The kernel accepts powers of two.
    1 << share.max(1).ilog2()
}

fn measure_programs() -> Fallible<OwnedFd> {
    // SAFETY: passes no memory.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if fd < 0 {
        return Err(std::io::Error::from_raw_os_error(-fd).into());
    }
    // SAFETY: just opened, and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
