//! Dies, channels and the write buffer, as clocks.
//!
//! Every resource is a clock with the time until which it has work. Work advances the clock, and
//! an operation is done when all clocks that it needed have passed it. Work enters a clock in
//! order of arrival, so no resource is idle while it has work, and none does two things at once.
//!
//! Reads go before programs and erases that a die has not begun: a read waits for the operation
//! in progress and for earlier reads, and delays everything else on the die by its own duration.

use super::ftl::{Flash, PageOrigin};
use super::spec::DriveSpec;
use crate::xoshiro::Xoshiro256;
use steadfast_domain::random_bits::mix64;

/// Maximum number of dies of a drive: a read keeps a bit for every die it touches.
const DIES_MAX: usize = 64;

/// Largest deviation of program times from their mean, as a share of it.
const PROGRAM_SPREAD: f64 = 0.08;

/// Largest deviation of read times from their mean, as a share of it.
const READ_SPREAD: f64 = 0.15;

/// Time in nanoseconds after which a drive's durations change, and their largest deviation from
/// the specified ones, as a share of them.
const DRIFT_PERIOD_NS: u64 = 20_000_000_000;
const DRIFT_SPREAD: f64 = 0.012;

#[derive(Debug, Clone, Copy, Default)]
struct DieTimes {
    /// End of all of its work.
    busy: u64,
    /// End of its reads.
    read: u64,
    erase: EraseSpan,
}

/// Begin and end of an erase.
#[derive(Debug, Clone, Copy, Default)]
struct EraseSpan {
    begin: u64,
    end: u64,
}

/// Current durations of operations, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlashTimings {
    /// Shortest read, and the longest addition to it.
    read: u64,
    read_jitter: u64,
    program: u64,
    program_jitter: u64,
    erase: u64,
    transfer: u64,
    /// Controller time of a command.
    pub(super) command: u64,
    /// Time of 1024 bytes on the host link.
    pub(super) kib: u64,
    /// Time at which they change next.
    pub(super) valid_until: u64,
}

/// A read's share of one die.
#[derive(Debug, Clone, Copy, Default)]
struct DieShare {
    units: u32,
    pages: u32,
}

#[derive(Debug)]
pub(super) struct FlashDies {
    /// Time at which the current operation reaches the flash.
    pub(super) now: u64,
    /// Time at which the last program of the current operation ends.
    pub(super) programmed: u64,
    pub(super) times: FlashTimings,
    dies: Box<[DieTimes]>,
    channels: Box<[u64]>,
    unit_bits: u32,
    /// End times of the programs of the units that entered the buffer last.
    buffer: Box<[u64]>,
    /// Number of units that ever entered the buffer.
    units: u64,
    shares: [DieShare; DIES_MAX],
    touched: u64,
    last_unit: u32,
    collected_unit: u32,
    random: Xoshiro256,
}

impl FlashDies {
    pub(super) fn new(spec: &DriveSpec, seed: u64) -> Self {
        FlashDies {
            now: 0,
            programmed: 0,
            times: FlashTimings::new(spec, 1.0, 1.0, 0),
            dies: vec![DieTimes::default(); spec.dies as usize].into(),
            channels: vec![0; spec.channels as usize].into(),
            unit_bits: spec.unit_pages.trailing_zeros(),
            buffer: vec![0; spec.buffer_units as usize].into(),
            units: 0,
            shares: [DieShare::default(); DIES_MAX],
            touched: 0,
            last_unit: u32::MAX,
            collected_unit: u32::MAX,
            random: Xoshiro256::new(seed, 0xd1e5),
        }
    }

    /// Returns the time at which the last die finishes its work.
    pub(super) fn busy_until(&self) -> u64 {
        self.dies.iter().map(|die| die.busy).max().unwrap_or(0)
    }

    /// Returns the time at which the last program of a buffered unit ends.
    pub(super) fn buffer_empty_at(&self) -> u64 {
        self.buffer.iter().copied().max().unwrap_or(0)
    }

    /// Returns true if a page of the open superblock is still in the buffer; `next` is the page
    /// that will be written next.
    #[inline]
    pub(super) fn is_buffered(&self, page: u32, next: u32) -> bool {
        let age = u64::from((next >> self.unit_bits) - (page >> self.unit_bits));
        if age == 0 {
            return true;
        }
        let depth = self.buffer.len() as u64;
        age <= depth
            && age <= self.units
            && self.buffer[((self.units - age) % depth) as usize] > self.now
    }

    /// Notes that a read needs this page.
    #[inline(always)]
    pub(super) fn note_read(&mut self, page: u32) {
        let unit = page >> self.unit_bits;
        let die = unit as usize & (self.dies.len() - 1);
        let share = &mut self.shares[die & (DIES_MAX - 1)];
        share.pages += 1;
        if unit != self.last_unit {
            self.last_unit = unit;
            share.units += 1;
            self.touched |= 1 << die;
        }
    }

    /// Reads the noted pages from `now` on. Returns the time at which the last of them has
    /// crossed its channel.
    #[inline]
    pub(super) fn read_noted(&mut self) -> u64 {
        let mut done = self.now;
        while self.touched != 0 {
            let index = self.touched.trailing_zeros() as usize;
            self.touched &= self.touched - 1;
            let share = std::mem::take(&mut self.shares[index]);
            done = done.max(self.read_die(index, share));
        }
        self.last_unit = u32::MAX;
        done
    }

    #[inline]
    fn read_die(&mut self, index: usize, share: DieShare) -> u64 {
        let jitter = self.random_below(self.times.read_jitter);
        let time = (self.times.read + jitter) * u64::from(share.units);
        let begin = self.now.max(self.dies[index].read);
        let wait = self.wait_for_operation(index, begin);
        let die = &mut self.dies[index];
        die.read = begin + wait + time;
        die.busy = die.busy.max(self.now) + time;
        let transfer = self.times.transfer;
        let channel_done = self.transfer(index, u64::from(share.pages) * transfer);
        (self.dies[index].read + transfer).max(channel_done)
    }

    /// Returns how much longer a read that arrives at `begin` waits for the program or erase in
    /// progress. The start of a program is not kept, so a read meets it at a uniformly random
    /// point of its course.
    #[inline]
    fn wait_for_operation(&mut self, index: usize, begin: u64) -> u64 {
        let die = &self.dies[index];
        // Behind other reads, the die has not begun anything else.
        if die.busy <= begin || die.read > self.now {
            return 0;
        }
        let erase = die.erase;
        if erase.begin <= begin && begin < erase.end {
            return erase.end - begin;
        }
        let remaining = die.busy - begin;
        remaining.min(self.random_below(self.times.program))
    }

    /// Returns a random time below `limit`.
    #[inline(always)]
    fn random_below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.random.next()) * u128::from(limit)) >> 64) as u64
    }

    #[inline(always)]
    fn transfer(&mut self, die: usize, time: u64) -> u64 {
        let channel = die & (self.channels.len() - 1);
        let channel = &mut self.channels[channel];
        *channel = (*channel).max(self.now) + time;
        *channel
    }

    #[inline(always)]
    fn die_of(&self, page: u32) -> usize {
        (page >> self.unit_bits) as usize & (self.dies.len() - 1)
    }
}

impl Flash for FlashDies {
    #[inline]
    fn admit(&mut self) {
        let oldest = self.units % self.buffer.len() as u64;
        self.now = self.now.max(self.buffer[oldest as usize]);
    }

    #[inline]
    fn read(&mut self, page: u32) {
        let die = self.die_of(page);
        self.transfer(die, self.times.transfer);
        let unit = page >> self.unit_bits;
        if unit != self.collected_unit {
            self.collected_unit = unit;
            let die = &mut self.dies[die];
            die.busy = die.busy.max(self.now) + self.times.read + self.times.read_jitter / 2;
        }
    }

    #[inline]
    fn program(&mut self, page: u32, writer: PageOrigin) {
        let index = self.die_of(page);
        let loaded = self.transfer(index, self.times.transfer << self.unit_bits);
        let jitter = self.random_below(self.times.program_jitter);
        let die = &mut self.dies[index];
        die.busy = die.busy.max(loaded) + self.times.program + jitter;
        if writer == PageOrigin::Host {
            let index = self.units % self.buffer.len() as u64;
            self.buffer[index as usize] = die.busy;
            self.units += 1;
            self.programmed = self.programmed.max(die.busy);
        }
    }

    fn erase(&mut self) {
        self.collected_unit = u32::MAX;
        for die in &mut self.dies {
            let begin = die.busy.max(self.now);
            die.busy = begin + self.times.erase;
            if die.erase.end <= self.now {
                die.erase = EraseSpan { begin, end: die.busy };
            }
        }
    }
}

impl FlashTimings {
    /// Returns a drive's durations; `slowness` scales all of them, `wear` only programs.
    fn new(spec: &DriveSpec, slowness: f64, wear: f64, valid_until: u64) -> Self {
        let scaled = |ns: u32, factor: f64| (f64::from(ns) * factor).round() as u64;
        let program = slowness * wear;
        FlashTimings {
            read: scaled(spec.read_ns, slowness * (1.0 - READ_SPREAD)),
            read_jitter: scaled(spec.read_ns, slowness * 2.0 * READ_SPREAD),
            program: scaled(spec.program_ns, program * (1.0 - PROGRAM_SPREAD)),
            program_jitter: scaled(spec.program_ns, program * 2.0 * PROGRAM_SPREAD),
            erase: scaled(spec.erase_ns, slowness),
            transfer: scaled(spec.transfer_ns, slowness),
            command: scaled(spec.command_ns, slowness),
            kib: (1024.0 * 1000.0 / f64::from(spec.link_mb_per_second) * slowness).round() as u64,
            valid_until,
        }
    }

    /// Returns the durations that apply at `now`.
    pub(super) fn at(spec: &DriveSpec, seed: u64, now: u64, wear: f64) -> Self {
        let period = now / DRIFT_PERIOD_NS;
        let deviation = 2.0 * (mix64(seed ^ mix64(period)) as f64 / u64::MAX as f64) - 1.0;
        let spread = if spec.is_exact { 0.0 } else { DRIFT_SPREAD };
        let slowness = 1.0 + spread * deviation;
        FlashTimings::new(spec, slowness, wear, (period + 1) * DRIFT_PERIOD_NS)
    }
}
