//! A load of 4 KiB random reads and writes by threads that wait for each I/O, at full speed or at a
//! fixed rate.

use crate::Fallible;
use crate::scratch_device::ScratchDevice;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Size of the device of the load, in bytes.
pub const SIZE: u64 = 512 << 20;
/// Size of every I/O of the load, in bytes.
pub const BLOCK: u64 = 4096;

/// Creates a zram device, the fastest device available, and fills it.
pub fn filled_zram() -> Fallible<ScratchDevice> {
    filled(ScratchDevice::zram(SIZE)?)
}

/// Creates a loop device and fills it.
pub fn filled_loop_device() -> Fallible<ScratchDevice> {
    filled(ScratchDevice::loop_device(SIZE, &[])?)
}

fn filled(device: ScratchDevice) -> Fallible<ScratchDevice> {
    let file = device.open_direct()?;
    for block in 0..SIZE / BLOCK {
        file.write_all_at(&AlignedBlock([block as u8; BLOCK as usize]).0, block * BLOCK)?;
    }
    Ok(device)
}

/// Reads two blocks at once, which is not an I/O of the load.
pub fn touch(device: &ScratchDevice) -> Fallible<()> {
    let mut blocks = Box::new(AlignedBlock([0; 2 * BLOCK as usize]));
    Ok(device.open_direct()?.read_exact_at(&mut blocks.0, 0)?)
}

#[repr(align(4096))]
struct AlignedBlock<const BYTES: usize>([u8; BYTES]);

/// Rate and duration of the load.
#[derive(Clone, Copy)]
pub struct CostLoad {
    pub threads: u64,
    /// I/Os per second and thread; `None` runs at full speed.
    pub rate: Option<u64>,
    pub time: Duration,
}

#[derive(Default)]
pub struct CostLoadResult {
    pub ios: u64,
    pub iops: f64,
    /// 99th percentile of the response times in microseconds; at a fixed rate, from the time an I/O
    /// was due.
    pub p99_us: f64,
}

impl CostLoad {
    pub fn apply(&self, device: &ScratchDevice) -> CostLoadResult {
        let began = Instant::now();
        let mut times: Vec<u32> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|seed| scope.spawn(move || self.thread(device, seed)))
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        let ios = times.len() as u64;
        let iops = ios as f64 / began.elapsed().as_secs_f64();
        times.sort_unstable();
        let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or(0);
        CostLoadResult { ios, iops, p99_us: f64::from(p99) / 1000.0 }
    }

    /// Does two reads and a write in turn; response times are in nanoseconds.
    fn thread(&self, device: &ScratchDevice, seed: u64) -> Vec<u32> {
        let Ok(file) = device.open_direct() else { return Vec::new() };
        let mut times = Vec::with_capacity(4 << 20);
        let mut block = Box::new(AlignedBlock([7; BLOCK as usize]));
        let (began, mut state) = (Instant::now(), seed + 1);
        for number in 0u64.. {
            let mut issued = Instant::now();
            if let Some(rate) = self.rate {
                let due = began + Duration::from_nanos(number * 1_000_000_000 / rate);
                while Instant::now() < due {
                    std::hint::spin_loop();
                }
                issued = due;
            }
            if began.elapsed() >= self.time {
                break;
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let offset = (state >> 33) % (SIZE / BLOCK) * BLOCK;
            let done = match number % 3 {
                0 => file.write_at(&block.0, offset),
                _ => file.read_at(&mut block.0, offset),
            };
            if done.is_err() {
                break;
            }
            times.push(u32::try_from(issued.elapsed().as_nanos()).unwrap_or(u32::MAX));
        }
        times
    }
}

pub fn thread_time_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid to write to.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
