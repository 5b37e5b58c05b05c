//! Capture steps added up by the programs (bpf/steps.h), read from one table while the programs use
//! the other.

use super::plain::{self, PlainData};
use super::process_names;
use super::programs::AttachedPrograms;
use super::ranges::{self, RangeKey, RangeSums};
use crate::error::CaptureError;
use crate::options::CaptureOptions;
use crate::process_names::ProcessNames;
use steadfast_domain::io_event::{CommandName, DeviceBusyStep, RangeInStep, StreamInStep};
use steadfast_domain::{FineHistogram, IoEvent, IoOp, Layer};

/// Names of the two tables, which are used alternately.
pub(super) const TABLES: [&str; 2] = ["steps_a", "steps_b"];
/// Name of the map of busy times, and the steps that it holds for each device.
pub(super) const BUSY: &str = "busy_steps";
const BUSY_STEPS: u64 = 4096;
/// Time after the end of a step in which programs may still count its busy time: a program may be
/// preempted, or its processor stolen. At most a quarter of the steps that the map holds.
const BUSY_GRACE_NS: u64 = 1_000_000_000;
/// Buckets of response times: four per power of two, from 2^10 ns on.
const BUCKETS: usize = 96;

/// Alternation of the two tables, and the sums not handed out yet.
pub(super) struct StepTables {
    step_ns: u64,
    layer: Layer,
    in_use: usize,
    /// I/Os outstanding when the capture ended.
    unended: Vec<UnendedIo>,
    busy: BusyTimes,
    /// Bytes of an LBA range of each device; empty if ranges are not counted.
    range_bytes: Vec<u64>,
    ranges_in_use: usize,
    /// First step of the ranges in the array.
    ranges_first: u64,
    /// Ranges of the I/Os outstanding when the capture ended.
    unended_ranges: RangeSums,
}

/// An I/O without a completion.
struct UnendedIo {
    event: IoEvent,
    sequential: bool,
}

/// Progress in reading the busy time of the devices.
#[derive(Default)]
struct BusyTimes {
    /// The first step that was not read.
    next: u64,
    /// By device: busy periods that last beyond the last step that was read.
    busy_at_end: Vec<i64>,
    /// The first step whose slot held no older step as well when it was read.
    known_from: u64,
    /// Steps that were overwritten before they were read.
    missed: u64,
    closed_ns: Option<u64>,
}

impl StepTables {
    pub(super) fn new(step_ns: u64, layer: Layer, options: &CaptureOptions) -> Self {
        // The I/Os of one process do not say when a device is busy.
        let devices = if options.process.is_some() { 0 } else { options.devices.len() };
        let busy = BusyTimes { busy_at_end: vec![0; devices], ..BusyTimes::default() };
        let range_bytes = match layer {
            Layer::Block => options.range_bytes.clone(),
            Layer::FileSystem => Vec::new(),
        };
        StepTables {
            step_ns: step_ns.max(1),
            layer,
            in_use: 0,
            unended: Vec::new(),
            busy,
            range_bytes,
            ranges_in_use: 0,
            ranges_first: 0,
            unended_ranges: RangeSums::default(),
        }
    }

    /// Sets the duration of the capture: busy time is known up to there.
    pub(super) fn close(&mut self, lasted_ns: u64) {
        self.busy.closed_ns = Some(lasted_ns);
    }

    /// Returns the steps whose busy time was overwritten before it was read, if there are any.
    pub(super) fn busy_missed(&self) -> Option<(String, u64)> {
        let what = "capture steps without busy time, which was overwritten before it was read";
        (self.busy.missed > 0).then(|| (what.to_owned(), self.busy.missed))
    }

    /// Appends the busy time of the steps that ended since the last call.
    pub(super) fn take_busy(
        &mut self,
        programs: &AttachedPrograms,
        lasted_ns: u64,
        into: &mut Vec<DeviceBusyStep>,
    ) -> Result<(), CaptureError> {
        let StepTables { step_ns, layer, busy, .. } = self;
        let (until_ns, end) = match busy.closed_ns {
            Some(closed_ns) => (closed_ns, closed_ns.div_ceil(*step_ns)),
            None => {
                let grace_ns = BUSY_GRACE_NS.min(BUSY_STEPS / 4 * *step_ns);
                let until_ns = lasted_ns.saturating_sub(grace_ns);
                (until_ns, until_ns / *step_ns)
            }
        };
        let now = busy.closed_ns.unwrap_or(lasted_ns) / *step_ns;
        if now >= busy.next + BUSY_STEPS {
            // The slots up to that of the current step hold older steps as well.
            busy.known_from = now + 1;
        }
        let first = busy.next.max((now + 1).saturating_sub(BUSY_STEPS)).min(end.max(busy.next));
        busy.missed += first - busy.next;
        for step in first..end {
            let is_known = step >= busy.known_from;
            busy.missed += u64::from(!is_known);
            let width_ns = (until_ns - (step * *step_ns).min(until_ns)).min(*step_ns);
            for (device, busy_at_end) in (0u16..).zip(&mut busy.busy_at_end) {
                let index = u64::from(device) * BUSY_STEPS + step % BUSY_STEPS;
                let element = programs.take_element(BUSY, index as u32)?;
                let Some(sum) = plain::read(&element).map(BusySum::from_number) else { continue };
                *busy_at_end += sum.net_begins;
                let busy_ns = sum.busy_ns(*busy_at_end, width_ns);
                if busy_ns > 0 && is_known {
                    into.push(DeviceBusyStep { step, device, layer: *layer, busy_ns });
                }
            }
        }
        busy.next = busy.next.max(end);
        Ok(())
    }

    /// Swaps the tables of LBA ranges and appends what the one that was in use counted.
    pub(super) fn take_ranges(
        &mut self,
        programs: &mut AttachedPrograms,
        lasted_ns: u64,
        into: &mut Vec<RangeInStep>,
    ) -> Result<(), CaptureError> {
        if self.range_bytes.is_empty() {
            return Ok(());
        }
        let (full, first) = (self.ranges_in_use, self.ranges_first);
        self.ranges_in_use = 1 - full;
        self.ranges_first = lasted_ns / self.step_ns;
        let turn = self.ranges_first << 1 | self.ranges_in_use as u64;
        programs.set_ranges_turn(turn)?;
        // On return, no program uses the other half of the array either.
        programs.place(ranges::TABLES[self.ranges_in_use], ranges::IN_USE)?;
        let mut sums = std::mem::take(&mut self.unended_ranges);
        programs.drain(ranges::TABLES[full], |key, tally| {
            if let (Some(key), Some(tally)) = (plain::read(key), plain::read(tally)) {
                sums.add(key, tally);
            }
        })?;
        programs.take_elements(ranges::RECENT, |at, tally| {
            let (key, half) = RangeKey::from_index(at, first);
            match plain::read(tally) {
                Some(tally) if half == full => sums.add(key, tally),
                _ => return false,
            }
            true
        })?;
        sums.finish(&self.range_bytes, into);
        Ok(())
    }

    /// Swaps the tables of I/O streams and appends the content of the one that was in use.
    pub(super) fn take_streams(
        &mut self,
        programs: &AttachedPrograms,
        names: &mut ProcessNames,
        into: &mut Vec<StreamInStep>,
    ) -> Result<(), CaptureError> {
        let full = self.in_use;
        self.in_use = 1 - full;
        let kept_name = |pid| process_names::kept(programs, pid);
        programs.place(TABLES[self.in_use], "steps_now")?;
        programs.drain(TABLES[full], |key, tally| {
            let (key, tally) = (plain::read::<StepKey>(key), plain::read::<StepTally>(tally));
            if let (Some(key), Some(tally)) = (key, tally) {
                let process = key.process_name(names, kept_name);
                into.push(key.with_tally(&tally, self.layer, process));
            }
        })?;
        for UnendedIo { mut event, sequential } in self.unended.drain(..) {
            names.complete(std::slice::from_mut(&mut event), kept_name);
            into.push(StreamInStep::from_io(&event, sequential, self.step_ns));
        }
        Ok(())
    }

    /// Adds an I/O that was outstanding at the end.
    pub(super) fn add(&mut self, event: IoEvent, sequential: bool) {
        if let Some(range_bytes) = self.range_bytes.get(usize::from(event.device)) {
            self.unended_ranges.add_io(event.issued_ns / self.step_ns, &event, *range_bytes);
        }
        self.unended.push(UnendedIo { event, sequential });
    }
}

/// Busy time of a device in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BusySum {
    /// Ends minus begins of busy periods, each as the time since the step began.
    sum_ns: i64,
    /// Begins minus ends: 1 if the device stays busy beyond the step.
    net_begins: i64,
}

impl BusySum {
    /// Separates the two numbers that the programs add up in one (`busy_steps` in bpf/steps.h).
    fn from_number(number: u64) -> BusySum {
        let sum_ns = (number << 16).cast_signed() >> 16;
        let net_begins = number.cast_signed().wrapping_sub(sum_ns) >> 48;
        BusySum { sum_ns, net_begins }
    }

    /// Returns the busy time of a step of this width, given the busy periods that last beyond it.
    fn busy_ns(self, busy_at_end: i64, width_ns: u64) -> u64 {
        // These have no end in the sum. More than one if a processor was interrupted between
        // reading the time of an I/O and counting it: then periods overlap.
        let rest_ns = busy_at_end.max(0).saturating_mul(width_ns.cast_signed());
        let busy_ns = self.sum_ns.saturating_add(rest_ns).max(0).cast_unsigned();
        busy_ns.min(width_ns)
    }
}

/// `struct step_key` of the programs.
#[repr(C)]
#[derive(Clone, Copy)]
struct StepKey {
    /// Step | processor << 48.
    step_cpu: u64,
    bytes: u32,
    /// Process | device << 22 | stream << 26.
    process_device_stream: u32,
    command: [u8; 16],
}

// SAFETY: integers, no padding.
unsafe impl PlainData for StepKey {}

/// `struct step_tally` of the programs.
#[repr(C)]
#[derive(Clone, Copy)]
struct StepTally {
    ios: u64,
    responses: u64,
    response_sum_ns: u64,
    response_max_ns: u64,
    depth_sum: u64,
    offsets: u64,
    depth_max: u32,
    failed: u32,
    times: [u16; BUCKETS],
}

// SAFETY: integers, no padding.
unsafe impl PlainData for StepTally {}

impl StepTally {
    /// Returns the non-empty buckets, each as that of the longest time in it. Counters of the
    /// programs saturate: what the others do not hold belongs to the one that is full.
    fn buckets(&self) -> Vec<(u16, u64)> {
        let counted: u64 = self.times.iter().map(|ios| u64::from(*ios)).sum();
        let full_count = self.times.iter().filter(|ios| **ios == u16::MAX).count();
        let excess = if full_count == 1 { self.responses.saturating_sub(counted) } else { 0 };
        let mut buckets = Vec::new();
        for (bucket, ios) in self.times.iter().enumerate().filter(|(_, ios)| **ios > 0) {
            let index = FineHistogram::index(longest_ns(bucket)) as u16;
            let excess = if *ios == u16::MAX { excess } else { 0 };
            buckets.push((index, u64::from(*ios) + excess));
        }
        buckets
    }
}

/// Returns the longest time of a bucket in nanoseconds; the last bucket is unbounded.
fn longest_ns(bucket: usize) -> u64 {
    match bucket + 1 {
        BUCKETS => u64::MAX,
        next => (((4 + next as u64 % 4) << (next / 4)) << 8) - 1,
    }
}

impl StepKey {
    fn pid(self) -> u32 {
        self.process_device_stream & 0x3f_ffff
    }

    fn stream(self) -> u32 {
        self.process_device_stream >> 26
    }

    fn process_name(
        self,
        names: &mut ProcessNames,
        kept_name: impl Fn(u32) -> Option<CommandName>,
    ) -> CommandName {
        let thread_name = CommandName(self.command);
        let is_first_thread = self.stream() & 16 == 0;
        if is_first_thread {
            thread_name
        } else {
            names.name_or(self.pid(), thread_name, kept_name)
        }
    }

    fn with_tally(self, tally: &StepTally, layer: Layer, command: CommandName) -> StreamInStep {
        let stream = self.stream();
        StreamInStep {
            step: self.step_cpu & 0xffff_ffff_ffff,
            device: (self.process_device_stream >> 22 & 15) as u16,
            layer,
            op: IoOp::from_number(stream as u8 & 7).unwrap_or(IoOp::Other),
            sequential: stream & 8 != 0,
            bytes: self.bytes,
            pid: self.pid(),
            command,
            ios: tally.ios,
            failed: u64::from(tally.failed),
            responses: tally.responses,
            response_sum_ns: tally.response_sum_ns,
            response_max_ns: tally.response_max_ns,
            response_buckets: tally.buckets(),
            depth_sum: tally.depth_sum,
            depth_max: tally.depth_max,
            offsets: tally.offsets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_those_in_the_programs() {
        assert_eq!((size_of::<StepKey>(), size_of::<StepTally>()), (32, 248));
    }

    fn tally(responses: u64, times: &[(usize, u16)]) -> StepTally {
        let mut bytes = vec![0; size_of::<StepTally>()];
        bytes[8..16].copy_from_slice(&responses.to_ne_bytes());
        for (bucket, ios) in times {
            bytes[56 + bucket * 2..][..2].copy_from_slice(&ios.to_ne_bytes());
        }
        plain::read(&bytes).unwrap()
    }

    #[test]
    fn buckets_are_as_long_as_their_longest_time() {
        let buckets = tally(0, &[(0, 5), (1, 7), (40, 9), (95, 2)]).buckets();
        let longest = buckets.into_iter().map(|(bucket, ios)| {
            let (_, high) = FineHistogram::bounds(usize::from(bucket));
            (high, ios)
        });
        // The octave from 2^20 ns has four buckets of 2^18 ns; the last bucket is unbounded.
        let quarter = (1 << 20) + (1 << 18) - 1;
        let expected = [(1279, 5), (1535, 7), (quarter, 9), ((1 << 42) - 1, 2)];
        assert_eq!(longest.collect::<Vec<_>>(), expected);
        let full = tally(70_000, &[(3, u16::MAX), (4, 9)]);
        assert_eq!(full.buckets().iter().map(|(_, ios)| *ios).collect::<Vec<_>>(), [69_991, 9]);
    }

    #[test]
    fn busy_periods_added_up_in_one_number_are_separated() {
        let number =
            |sum_ns: i64, net_begins: i64| (net_begins << 48).wrapping_add(sum_ns).cast_unsigned();
        for sum_ns in [0, 1, -1, 3_600_000_000_000, -3_600_000_000_000] {
            for net_begins in [0, 1, -1, 7, -7] {
                let sum = BusySum { sum_ns, net_begins };
                assert_eq!(BusySum::from_number(number(sum_ns, net_begins)), sum);
            }
        }
    }

    #[test]
    fn a_period_beyond_the_step_counts_to_its_end() {
        let busy_ns = |begins: &[i64], ends: &[i64], busy_at_end| {
            let sum_ns = ends.iter().sum::<i64>() - begins.iter().sum::<i64>();
            let net_begins = begins.len() as i64 - ends.len() as i64;
            BusySum { sum_ns, net_begins }.busy_ns(busy_at_end, 1000)
        };
        assert_eq!(busy_ns(&[100, 700], &[400, 900], 0), 500);
        assert_eq!(busy_ns(&[300], &[100], 1), 800);
        assert_eq!(busy_ns(&[], &[], 1), 1000);
        // The second period was counted late, after the end of the first in the next step.
        assert_eq!(busy_ns(&[100, 990], &[], 2), 910);
        assert_eq!(busy_ns(&[], &[20, 30], 0), 50);
        // A begin was counted after its step was read.
        assert_eq!(busy_ns(&[], &[], -1), 0);
    }

    #[test]
    fn fields_that_share_a_word_of_a_key_are_separated() {
        let key = StepKey {
            step_cpu: 77 | 511 << 48,
            bytes: 4096,
            process_device_stream: 4_194_303 | 15 << 22 | 9 << 26,
            command: CommandName::new("dd").0,
        };
        let name = key.process_name(&mut ProcessNames::default(), |_| None);
        let found = key.with_tally(&tally(0, &[]), Layer::Block, name);
        assert_eq!((found.step, found.bytes, found.device, found.pid), (77, 4096, 15, 4_194_303));
        assert_eq!((found.op, found.sequential), (IoOp::Write, true));
        assert_eq!(found.command.to_string(), "dd");
    }
}
