//! The drive as its host sees it: commands in, completion times out.

use super::flash::{Dies, Times};
use super::mapping::{Mapping, UNMAPPED};
use super::spec::{DriveSpec, PAGE};
use crate::draw::Drawn;
use steadfast_domain::{Op, WriteCache};

const PAGE_BITS: u32 = PAGE.trailing_zeros();

/// An idle drive waits this long before it collects garbage.
const REST_AFTER_NS: u64 = 100_000_000;

/// Controller time of each page that a discard takes off the map.
const DISCARD_PAGE_NS: u64 = 20;

/// Time of a purge beside its erases.
const PURGE_NS: u64 = 1_000_000_000;

/// Temperature of an idle drive, what full load adds, and how slowly it follows.
const IDLE_CELSIUS: f64 = 31.0;
const LOAD_CELSIUS: f64 = 24.0;
const THERMAL_NS: f64 = 150e9;

#[derive(Debug)]
pub(super) struct Drive {
    spec: DriveSpec,
    seed: u64,
    mapping: Mapping,
    dies: Dies,
    write_cache: WriteCache,
    /// Clocks of the controller and of the link's two directions.
    controller: u64,
    link_in: u64,
    link_out: u64,
    /// When times change next, and how much longer programs take by a fault.
    spell_ends: u64,
    wear: f64,
    host_bytes: u64,
    celsius: f64,
    felt: Felt,
}

/// What the temperature last knew of.
#[derive(Debug, Clone, Copy, Default)]
struct Felt {
    at: u64,
    programmed: u64,
}

/// Bytes written since the drive was made: by its host, and to its flash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    host: u64,
    flash: u64,
}

impl Written {
    /// Flash bytes per host byte since `earlier`; `None` where the host wrote nothing.
    pub(super) fn amplification_since(self, earlier: Written) -> Option<f64> {
        let host = self.host - earlier.host;
        (host > 0).then(|| (self.flash - earlier.flash) as f64 / host as f64)
    }
}

impl Drive {
    pub(super) fn new(spec: &DriveSpec, seed: u64) -> Self {
        Drive {
            mapping: Mapping::new(spec),
            dies: Dies::new(spec, seed),
            spec: spec.clone(),
            seed,
            write_cache: WriteCache::Enabled,
            controller: 0,
            link_in: 0,
            link_out: 0,
            spell_ends: 0,
            wear: 1.0,
            host_bytes: 0,
            celsius: IDLE_CELSIUS,
            felt: Felt::default(),
        }
    }

    pub(super) fn write_cache(&self) -> WriteCache {
        self.write_cache
    }

    pub(super) fn set_write_cache(&mut self, state: WriteCache) {
        self.write_cache = state;
    }

    /// Stretches all programs from the next spell on.
    pub(super) fn set_wear(&mut self, wear: f64) {
        self.wear = wear;
    }

    pub(super) fn host_bytes(&self) -> u64 {
        self.host_bytes
    }

    pub(super) fn written(&self) -> Written {
        Written { host: self.host_bytes, flash: self.mapping.programmed() * PAGE }
    }

    /// Takes a command at `now`, not before the one before it; returns when it
    /// completes.
    #[inline]
    pub(super) fn submit(&mut self, now: u64, io: &Drawn) -> u64 {
        if now >= self.spell_ends {
            self.change_spell(now);
        }
        self.controller = self.controller.max(now) + self.dies.times.command;
        self.dies.now = self.controller;
        let done = match io.op {
            Op::Read => self.read(io),
            Op::Write => self.write(io),
            Op::Discard => self.discard(io),
            Op::Flush => self.flush(),
        };
        done + u64::from(self.spec.latency_ns)
    }

    #[cold]
    fn change_spell(&mut self, now: u64) {
        (self.dies.times, self.spell_ends) = Times::at(&self.spec, self.seed, now, self.wear);
    }

    fn read(&mut self, io: &Drawn) -> u64 {
        let (first, last) = pages(io);
        let open = self.mapping.host_open();
        for page in self.mapping.lookup_run(first, last - first + 1) {
            if *page != UNMAPPED {
                if open.contains(page) && self.dies.is_buffered(*page, open.end) {
                    continue;
                }
                self.dies.want(*page);
            }
        }
        let read = self.dies.read_wanted();
        self.link_out = self.link_out.max(self.dies.now) + self.link_time(io.size);
        // The link follows the flash page by page; the last page comes last.
        (read + self.link_time(io.size.min(PAGE as u32))).max(self.link_out)
    }

    fn write(&mut self, io: &Drawn) -> u64 {
        let (first, last) = pages(io);
        self.host_bytes += u64::from(io.size);
        self.link_in = self.link_in.max(self.dies.now) + self.link_time(io.size);
        self.dies.now = self.link_in;
        let end = io.offset + u64::from(io.size);
        if (io.offset | end) & (PAGE - 1) != 0 {
            self.fetch_edges(io.offset, end);
        }
        self.dies.programmed = 0;
        for logical in first..=last {
            self.mapping.write(logical, &mut self.dies);
        }
        if self.is_durable_when_admitted(io.fua) {
            return self.dies.now;
        }
        self.mapping.finish_unit(&mut self.dies);
        self.dies.programmed.max(self.dies.now)
    }

    /// Reads the pages that a write covers in part, to be written whole.
    fn fetch_edges(&mut self, begin: u64, end: u64) {
        let open = self.mapping.host_open();
        let cut = [begin, end].into_iter().filter(|edge| edge & (PAGE - 1) != 0);
        for edge in cut {
            let page = self.mapping.lookup((edge >> PAGE_BITS) as u32);
            if page == UNMAPPED {
                continue;
            }
            if !(open.contains(&page) && self.dies.is_buffered(page, open.end)) {
                self.dies.want(page);
            }
        }
        self.dies.now = self.dies.read_wanted();
    }

    fn is_durable_when_admitted(&self, fua: bool) -> bool {
        self.spec.buffer_is_durable || (self.write_cache == WriteCache::Enabled && !fua)
    }

    /// Pages that a discard covers in part stay mapped.
    fn discard(&mut self, io: &Drawn) -> u64 {
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
        self.dies.buffer_empty_at().max(self.dies.now)
    }

    #[inline(always)]
    fn link_time(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.dies.times.kib) >> 10
    }

    /// Collects garbage between two times at which the host asks for nothing.
    pub(super) fn rest(&mut self, from: u64, to: u64) {
        self.dies.now = self.dies.busy_until().max(from + REST_AFTER_NS);
        while self.dies.now < to && self.mapping.wants_rest() {
            if !self.mapping.collect_one(&mut self.dies) {
                break;
            }
            self.dies.now = self.dies.busy_until();
        }
    }

    /// Forgets everything that was ever written; returns how long it took.
    pub(super) fn purge(&mut self) -> u64 {
        self.mapping.purge();
        PURGE_NS + u64::from(self.spec.superblocks) * u64::from(self.spec.erase_ns)
    }

    /// Follows the load with the temperature up to `now`.
    pub(super) fn warm(&mut self, now: u64) {
        let time = now.saturating_sub(self.felt.at) as f64;
        if time == 0.0 {
            return;
        }
        let programs = (self.mapping.programmed() - self.felt.programmed) as f64
            / f64::from(self.spec.unit_pages);
        let most = time / f64::from(self.spec.program_ns) * f64::from(self.spec.dies);
        let target = IDLE_CELSIUS + LOAD_CELSIUS * (programs / most).min(1.0);
        self.celsius += (target - self.celsius) * (1.0 - (-time / THERMAL_NS).exp());
        self.felt = Felt { at: now, programmed: self.mapping.programmed() };
    }

    /// In whole tenths of a degree.
    pub(super) fn celsius(&self) -> f64 {
        (self.celsius * 10.0).round() / 10.0
    }
}

/// The first and the last page that an I/O touches.
#[inline(always)]
fn pages(io: &Drawn) -> (u32, u32) {
    let last = io.offset + u64::from(io.size.max(1)) - 1;
    ((io.offset >> PAGE_BITS) as u32, (last >> PAGE_BITS) as u32)
}
