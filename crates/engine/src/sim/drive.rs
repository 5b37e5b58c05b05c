//! The drive as its host sees it: commands in, completion times out.

use super::fault::SimFault;
use super::flash::{FlashDies, FlashTimings};
use super::ftl::{PageMap, UNMAPPED};
use super::slc_cache::SlcCache;
use super::spec::{DriveSpec, PAGE};
use crate::draw::DrawnIo;
use std::ops::RangeInclusive;
use steadfast_domain::device_log::DeviceCounters;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{Bytes, Op, WriteCache};

const PAGE_BITS: u32 = PAGE.trailing_zeros();

/// Idle time in nanoseconds before the drive collects garbage.
const IDLE_AFTER_NS: u64 = 100_000_000;

/// Controller time in nanoseconds for each page that a discard unmaps.
const DISCARD_PAGE_NS: u64 = 20;

/// Duration of a purge in nanoseconds, without its erases.
const PURGE_NS: u64 = 1_000_000_000;

/// Temperature of an idle drive and its rise at full load in degrees Celsius, and the time constant
/// in nanoseconds.
const IDLE_CELSIUS: f64 = 31.0;
const LOAD_CELSIUS: f64 = 24.0;
const THERMAL_NS: f64 = 150e9;

#[derive(Debug)]
pub(super) struct SimulatedDrive {
    spec: DriveSpec,
    seed: u64,
    mapping: PageMap,
    dies: FlashDies,
    slc: Option<SlcCache>,
    pub(super) write_cache: WriteCache,
    /// Clocks of the controller and of the two directions of the link.
    controller: u64,
    link_in: u64,
    link_out: u64,
    /// Time of the last completion.
    last_completion: u64,
    /// Factor by which a fault slows programs, effective when durations change next.
    pub(super) wear: f64,
    pub(super) host_bytes: u64,
    /// Share of the written data that the limit of writes counts.
    counted_share: f64,
    /// Time until which that limit delays writes.
    write_limit_until: u64,
    read_bytes: u64,
    commands: u64,
    celsius: f64,
    thermal: ThermalState,
}

#[derive(Debug, Clone, Copy, Default)]
struct ThermalState {
    at: u64,
    programmed: u64,
}

impl SimulatedDrive {
    pub(super) fn new(spec: &DriveSpec, seed: u64) -> Self {
        SimulatedDrive {
            mapping: PageMap::new(spec),
            dies: FlashDies::new(spec, seed),
            slc: spec.pseudo_slc.map(|slc| SlcCache::new(slc, spec.logical_pages)),
            spec: spec.clone(),
            seed,
            write_cache: WriteCache::Enabled,
            controller: 0,
            link_in: 0,
            link_out: 0,
            last_completion: 0,
            wear: 1.0,
            host_bytes: 0,
            counted_share: 1.0,
            write_limit_until: 0,
            read_bytes: 0,
            commands: 0,
            celsius: IDLE_CELSIUS,
            thermal: ThermalState::default(),
        }
    }

    pub(super) fn set_data_pattern(&mut self, pattern: &DataPattern) {
        let random = match pattern {
            DataPattern::Zero | DataPattern::Repeating(_) => 0.0,
            DataPattern::Entropy { random_percent, .. } => f64::from(*random_percent) / 100.0,
            DataPattern::RandomUnique | DataPattern::RandomOnce | DataPattern::File(_) => 1.0,
        };
        let compresses = self.spec.write_limit.is_some_and(|limit| limit.compresses);
        self.counted_share = if compresses { random } else { 1.0 };
    }

    pub(super) fn counters(&self) -> DeviceCounters {
        DeviceCounters {
            host_written: Some(Bytes(self.host_bytes)),
            host_read: Some(Bytes(self.read_bytes)),
            nand_written: Some(Bytes(self.mapping.programmed * PAGE)),
        }
    }

    /// Takes a command at `now`, which is not before the previous one. Returns the time of its
    /// completion.
    #[inline]
    pub(super) fn submit(&mut self, now: u64, io: &DrawnIo) -> u64 {
        if now >= self.dies.times.valid_until {
            self.change_timings(now);
        }
        let begin = self.begin_after_stall(self.controller.max(now)) + self.exit_latency(now);
        self.controller = begin + self.dies.times.command;
        self.commands += 1;
        self.dies.now = self.controller;
        let done = match io.op {
            Op::Read => self.read(io),
            Op::Write => self.write(io),
            Op::Discard => self.discard(io),
            Op::Flush => self.flush(),
        };
        let done = done + u64::from(self.spec.latency_ns);
        self.last_completion = self.last_completion.max(done);
        done
    }

    /// Returns the time that the drive needs to leave the power state in which a command at `now`
    /// finds it.
    #[inline(always)]
    fn exit_latency(&self, now: u64) -> u64 {
        let idle = now.saturating_sub(self.last_completion);
        let state = self.spec.idle_states.iter().rev().find(|state| idle >= state.after.0);
        state.map_or(0, |state| state.exit_latency.0)
    }

    /// Replaces the fault of the specification.
    pub(super) fn set_fault(&mut self, fault: SimFault) {
        self.spec.fault = Some(fault);
    }

    /// Returns when the controller begins a command that could begin at `at`.
    #[inline(always)]
    fn begin_after_stall(&self, at: u64) -> u64 {
        match self.spec.fault {
            Some(SimFault::Stalls { every, lasts }) if at % every.0 < lasts.0 && at >= every.0 => {
                at - at % every.0 + lasts.0
            }
            _ => at,
        }
    }

    #[cold]
    fn change_timings(&mut self, now: u64) {
        self.dies.times = FlashTimings::at(&self.spec, self.seed, now, self.wear);
    }

    fn read(&mut self, io: &DrawnIo) -> u64 {
        let logical_pages = pages(io);
        let first = *logical_pages.start();
        let count = logical_pages.end() - first + 1;
        self.read_bytes += u64::from(io.size);
        let open = self.mapping.host_open();
        let mut cached = 0;
        for (logical, page) in (first..).zip(self.mapping.lookup_run(first, count)) {
            if *page != UNMAPPED {
                if self.slc.as_ref().is_some_and(|slc| slc.holds(logical)) {
                    cached += 1;
                    continue;
                }
                if open.contains(page) && self.dies.is_buffered(*page, open.end) {
                    continue;
                }
                self.dies.note_read(*page);
            }
        }
        let mut read = self.dies.read_noted();
        if let Some(slc) = self.slc.as_mut().filter(|_| cached > 0) {
            read = read.max(slc.read(self.dies.now, cached));
        }
        self.link_out = self.link_out.max(self.dies.now) + self.link_time(io.size);
        // The link follows the flash page by page; the last page arrives last.
        (read + self.link_time(io.size.min(PAGE as u32))).max(self.link_out)
    }

    fn write(&mut self, io: &DrawnIo) -> u64 {
        let logical_pages = pages(io);
        let (first, last) = (*logical_pages.start(), *logical_pages.end());
        self.host_bytes += u64::from(io.size);
        self.link_in = self.link_in.max(self.dies.now) + self.link_time(io.size);
        self.dies.now = self.link_in;
        if let Some(slc) = &mut self.slc {
            self.dies.now = slc.write(self.link_in, logical_pages, io.size.into());
        }
        if let Some(limit) = self.spec.write_limit {
            let counted = (f64::from(io.size) * self.counted_share) as u64;
            let time = counted * 1000 / u64::from(limit.mb_per_second);
            self.write_limit_until = self.write_limit_until.max(self.dies.now) + time;
            self.dies.now = self.write_limit_until;
        }
        let end = io.offset + u64::from(io.size);
        let pages = self.spec.indirection_pages;
        if (io.offset | end) & (u64::from(pages) * PAGE - 1) != 0 {
            self.fetch_edges(io.offset, end);
        }
        self.dies.programmed = 0;
        // The last unit of a drive may be smaller.
        let end = (last | (pages - 1)).min(self.spec.logical_pages - 1);
        for logical in first & !(pages - 1)..=end {
            self.mapping.write(logical, &mut self.dies);
        }
        if self.is_durable_when_admitted(io.fua) {
            return self.dies.now;
        }
        self.mapping.finish_unit(&mut self.dies);
        self.dies.programmed.max(self.dies.now)
    }

    /// Reads the indirection units that a write covers in part, which are then written whole.
    fn fetch_edges(&mut self, begin: u64, end: u64) {
        let open = self.mapping.host_open();
        let pages = self.spec.indirection_pages;
        let unit = u64::from(pages) * PAGE;
        let inside_units = [begin, end].into_iter().filter(|edge| edge & (unit - 1) != 0);
        for edge in inside_units {
            let first = (edge >> PAGE_BITS) as u32 & !(pages - 1);
            let covered = pages.min(self.spec.logical_pages - first);
            for page in self.mapping.lookup_run(first, covered) {
                if *page == UNMAPPED {
                    continue;
                }
                if !(open.contains(page) && self.dies.is_buffered(*page, open.end)) {
                    self.dies.note_read(*page);
                }
            }
        }
        self.dies.now = self.dies.read_noted();
    }

    fn is_durable_when_admitted(&self, fua: bool) -> bool {
        self.spec.buffer_is_durable || (self.write_cache == WriteCache::Enabled && !fua)
    }

    /// Pages that a discard covers in part stay mapped.
    fn discard(&mut self, io: &DrawnIo) -> u64 {
        let first = io.offset.div_ceil(PAGE) as u32;
        let end = ((io.offset + u64::from(io.size)) / PAGE) as u32;
        for logical in first..end {
            self.mapping.discard(logical);
        }
        self.controller += u64::from(end.saturating_sub(first)) * DISCARD_PAGE_NS;
        self.controller
    }

    fn flush(&mut self) -> u64 {
        if self.spec.buffer_is_durable {
            return self.dies.now;
        }
        self.mapping.finish_unit(&mut self.dies);
        self.dies.buffer_empty_at().max(self.dies.now) + u64::from(self.spec.flush_ns)
    }

    #[inline(always)]
    fn link_time(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.dies.times.kib) >> 10
    }

    /// Returns the energy in picojoules that the drive has used for its work since it was created,
    /// without its idle power. It is whole, so that equal work takes equal energy at any time.
    pub(super) fn work_picojoules(&self) -> u128 {
        let power = self.spec.power;
        let energy = |count: u64, picojoules: u64| u128::from(count) * u128::from(picojoules);
        energy(self.commands, u64::from(power.command_nanojoules) * 1000)
            + energy(self.mapping.programmed, u64::from(power.page_program_nanojoules) * 1000)
            + energy(self.host_bytes + self.read_bytes, u64::from(power.byte_picojoules))
    }

    /// Collects garbage in an idle period of the host.
    pub(super) fn idle(&mut self, from: u64, to: u64) {
        if let Some(slc) = &mut self.slc {
            slc.fold_while_idle(from, to);
        }
        self.dies.now = self.dies.busy_until().max(from + IDLE_AFTER_NS);
        while self.dies.now < to && self.mapping.wants_idle_time() {
            if !self.mapping.collect_one(&mut self.dies) {
                break;
            }
            self.dies.now = self.dies.busy_until();
        }
    }

    /// Forgets all data. Returns the duration in nanoseconds.
    pub(super) fn purge(&mut self) -> u64 {
        self.mapping.purge();
        if let Some(slc) = &mut self.slc {
            slc.purge();
        }
        PURGE_NS + u64::from(self.spec.superblocks) * u64::from(self.spec.erase_ns)
    }

    /// Updates the temperature for the load up to `now`.
    pub(super) fn update_temperature(&mut self, now: u64) {
        let time = now.saturating_sub(self.thermal.at) as f64;
        if time == 0.0 {
            return;
        }
        let programs = (self.mapping.programmed - self.thermal.programmed) as f64
            / f64::from(self.spec.unit_pages);
        let programs_max = time / f64::from(self.spec.program_ns) * f64::from(self.spec.dies);
        let target = IDLE_CELSIUS + LOAD_CELSIUS * (programs / programs_max).min(1.0);
        self.celsius += (target - self.celsius) * (1.0 - (-time / THERMAL_NS).exp());
        self.thermal = ThermalState { at: now, programmed: self.mapping.programmed };
    }

    /// Returns the temperature in degrees Celsius, rounded to a tenth.
    pub(super) fn celsius(&self) -> f64 {
        (self.celsius * 10.0).round() / 10.0
    }
}

/// Returns the logical pages that an I/O touches.
#[inline(always)]
fn pages(io: &DrawnIo) -> RangeInclusive<u32> {
    let last = io.offset + u64::from(io.size.max(1)) - 1;
    (io.offset >> PAGE_BITS) as u32..=(last >> PAGE_BITS) as u32
}
