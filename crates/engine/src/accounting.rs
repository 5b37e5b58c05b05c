//! Accounting for I/Os: one increment each while they run, everything else later.
//!
//! An [`IntervalAccount`] counts one thread's open interval. When an interval closes, a
//! [`StepMeter`] adds up the accounts of all threads, off the threads that do I/O, and builds the
//! intervals and totals of a step.

use crate::start_error_counts::StartErrorCounts;
use std::sync::atomic::{AtomicU64, Ordering};
use steadfast_domain::measurement::{
    Interval, IntervalTally, StreamTally, ThreadTally, UnmeasuredIos,
};
use steadfast_domain::replayed::{IntervalLateness, Lateness};
use steadfast_domain::stimulus::flush_every;
use steadfast_domain::{Bytes, FineHistogram, IoStream, Load, Nanos, Op, StartError, Tally};

/// Maximum number of failed I/Os of a step that are recorded with their location.
pub(crate) const LOCATED_FAULTS_MAX: usize = 32;

/// Largest count of a bucket in an [`IntervalAccount`], plus one.
const BUCKET_LIMIT: u64 = 1 << 32;

/// I/Os and response times of one thread's interval, by stream.
#[derive(Debug, Clone)]
pub struct IntervalAccount {
    streams: Box<[StreamAccount]>,
    /// One dense histogram per stream, concatenated.
    buckets: Box<[u32]>,
    /// Buckets that overflowed: each entry stands for 2^32 I/Os.
    overruns: Vec<usize>,
    /// I/Os that were outstanding when the load ended. Filled only after the end.
    outstanding: Vec<OutstandingResponse>,
    start_errors: StartErrorCounts,
}

/// Response time of an I/O that was outstanding when its load ended.
#[derive(Debug, Clone, Copy)]
struct OutstandingResponse {
    stream: u32,
    response_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct StreamAccount {
    ios: u64,
    response_sum: u64,
    /// [`NO_RESPONSE`] without I/Os.
    response_min: u64,
    response_max: u64,
    /// Sum of the bytes by which I/Os were shorter than the stream's size.
    missing: u64,
    /// Bytes moved by I/Os of a stream without a fixed size.
    moved: u64,
}

/// Minimum response time without I/Os.
pub const NO_RESPONSE: u64 = u64::MAX;

impl StreamAccount {
    const EMPTY: Self = StreamAccount {
        ios: 0,
        response_sum: 0,
        response_min: NO_RESPONSE,
        response_max: 0,
        missing: 0,
        moved: 0,
    };
}

/// Streams of a script, in an account or a meter: the operations of [`Op::ALL`] timed from the
/// due time, the same timed from submission, and the lateness between the two.
const SERVED: usize = Op::ALL.len();
const LATENESS: usize = 2 * SERVED;
/// Number of streams that account for a script.
pub const SCRIPT_STREAMS: usize = LATENESS + 1;

/// Returns the number of an account's streams for these I/O streams. Where flushes follow the
/// writes, the flushes have a stream of their own, and the writes one for the
/// time until they were written: their own stream has the time until the commit.
pub fn account_streams(streams: &[IoStream]) -> usize {
    tallied_streams(streams) + usize::from(flush_every(streams).is_some())
}

/// Returns the number of tallies of these I/O streams in a measurement.
pub fn tallied_streams(streams: &[IoStream]) -> usize {
    streams.len() + usize::from(flush_every(streams).is_some())
}

/// Adds up I/Os by operation, without operations that had none.
pub fn by_operation(parts: &[UnmeasuredIos]) -> Vec<UnmeasuredIos> {
    let mut sums = Op::ALL.map(|op| UnmeasuredIos { op, ios: 0, bytes: Bytes(0) });
    for part in parts {
        sums[part.op as usize].ios += part.ios;
        sums[part.op as usize].bytes += part.bytes;
    }
    sums.into_iter().filter(|sum| sum.ios > 0).collect()
}

/// I/Os and bytes that one thread counts and another takes.
#[derive(Debug, Default)]
pub struct IoCounter {
    ios: AtomicU64,
    bytes: AtomicU64,
}

impl IoCounter {
    /// Counts an I/O.
    #[inline]
    pub fn count(&self, bytes: u64) {
        self.ios.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the number of I/Os since the last [`take`](Self::take).
    pub fn ios(&self) -> u64 {
        self.ios.load(Ordering::Relaxed)
    }

    /// Takes what was counted, as I/Os of this operation.
    pub fn take(&self, op: Op) -> UnmeasuredIos {
        UnmeasuredIos {
            op,
            ios: self.ios.swap(0, Ordering::Relaxed),
            bytes: Bytes(self.bytes.swap(0, Ordering::Relaxed)),
        }
    }
}

/// A completed I/O of a script.
#[derive(Debug, Clone, Copy)]
pub struct PlayedIo {
    pub op: Op,
    pub bytes: u64,
    /// Time from the due time to the completion.
    pub response_ns: u64,
    /// Time from the submission to the completion.
    pub served_ns: u64,
    /// Time from the due time to the submission.
    pub late_ns: u64,
}

impl IntervalAccount {
    pub fn new(streams: usize) -> Self {
        IntervalAccount {
            streams: vec![StreamAccount::EMPTY; streams].into(),
            buckets: vec![0; streams * FineHistogram::LEN].into(),
            overruns: Vec::with_capacity(16),
            outstanding: Vec::new(),
            start_errors: StartErrorCounts::new(),
        }
    }

    /// Returns the memory of an account of this many streams, in bytes.
    pub fn memory(streams: usize) -> u64 {
        (streams * FineHistogram::LEN * size_of::<u32>()) as u64
    }

    /// Counts an I/O of `stream` that took `response_ns`.
    #[inline(always)]
    pub fn count(&mut self, stream: u32, response_ns: u64) {
        let account = &mut self.streams[stream as usize];
        account.ios += 1;
        account.response_sum += response_ns;
        account.response_min = account.response_min.min(response_ns);
        account.response_max = account.response_max.max(response_ns);
        let index = stream as usize * FineHistogram::LEN + FineHistogram::index(response_ns);
        let (count, overrun) = self.buckets[index].overflowing_add(1);
        self.buckets[index] = count;
        if overrun {
            self.overrun(index);
        }
    }

    /// Counts an I/O of a stream whose I/Os have no common size.
    #[inline(always)]
    pub fn count_sized(&mut self, stream: u32, response_ns: u64, bytes: u64) {
        self.count(stream, response_ns);
        self.streams[stream as usize].moved += bytes;
    }

    /// Counts an I/O that moved `short_by` bytes less than its stream's size, such as the last one
    /// before a limit in bytes.
    #[cold]
    pub fn count_short(&mut self, stream: u32, response_ns: u64, short_by: u64) {
        self.count(stream, response_ns);
        self.streams[stream as usize].missing += short_by;
    }

    /// Counts the response time of an I/O that was outstanding when the load ended: its full
    /// time, or its time so far if it has not completed.
    #[cold]
    pub fn count_outstanding(&mut self, stream: u32, response_ns: u64) {
        self.outstanding.push(OutstandingResponse { stream, response_ns });
    }

    /// Counts the start error of an I/O of a paced load.
    #[inline(always)]
    pub fn count_start_error(&mut self, error_ns: u64) {
        self.start_errors.count(error_ns);
    }

    /// Counts an I/O of a script.
    #[inline(always)]
    pub fn count_played(&mut self, io: &PlayedIo) {
        let (due, served) = (io.op as usize, SERVED + io.op as usize);
        self.count(due as u32, io.response_ns);
        self.count(served as u32, io.served_ns);
        self.count(LATENESS as u32, io.late_ns);
        self.streams[due].moved += io.bytes;
        self.streams[served].moved += io.bytes;
    }

    #[cold]
    fn overrun(&mut self, index: usize) {
        self.overruns.push(index);
    }

    /// Returns the number of I/Os counted since the account was last emptied.
    pub fn ios(&self) -> u64 {
        self.streams.iter().map(|s| s.ios).sum()
    }

    fn dense(&self, stream: usize) -> &[u32] {
        &self.buckets[stream * FineHistogram::LEN..(stream + 1) * FineHistogram::LEN]
    }

    fn is_empty(&self) -> bool {
        self.outstanding.is_empty() && self.streams.iter().all(|s| s.ios == 0)
    }

    pub fn clear(&mut self) {
        self.streams.fill(StreamAccount::EMPTY);
        self.buckets.fill(0);
        self.overruns.clear();
        self.outstanding.clear();
    }
}

/// The accounts of one step, added up by interval.
#[derive(Debug)]
pub struct StepMeter {
    streams: Box<[StreamMeter]>,
    is_script: bool,
    intervals: Vec<Interval>,
    lateness: Vec<IntervalLateness>,
    /// The step's sums of each thread; empty unless the load is counted by thread.
    threads: Vec<Vec<OperationSum>>,
    start_errors: StartErrorCounts,
}

/// Counts of one operation by one thread.
#[derive(Debug)]
struct OperationSum {
    op: Op,
    counts: WideCounts,
}

/// Results of a played script.
#[derive(Debug)]
pub struct PlayedScript {
    /// Tallies by operation, timed from the due time.
    pub streams: Vec<StreamTally>,
    /// Intervals of these tallies.
    pub intervals: Vec<Interval>,
    /// Tallies by operation, timed from submission.
    pub served: Vec<StreamTally>,
    /// Times from the due time to submission.
    pub lateness: Lateness,
    /// The same times by interval.
    pub by_interval: Vec<IntervalLateness>,
}

#[derive(Debug)]
struct StreamMeter {
    op: Op,
    size: u64,
    /// True if it counts the step's I/Os; the others hold more times of the same I/Os: a script's
    /// from submission and its lateness, those of writes before their flush.
    counts_ios: bool,
    step: WideCounts,
    interval: WideCounts,
}

/// Counts wide enough to be added up for days.
#[derive(Debug, Clone, PartialEq)]
pub struct WideCounts {
    pub ios: u64,
    pub bytes: u64,
    pub response_sum: u64,
    /// [`NO_RESPONSE`] without response times.
    pub response_min: u64,
    pub response_max: u64,
    pub buckets: Box<[u64]>,
    /// Number of response times that belong to outstanding I/Os, which `ios` does not count.
    outstanding: u64,
}

impl StepMeter {
    pub fn for_load(load: &Load) -> Self {
        match load {
            Load::Script(_) => StepMeter::for_script(),
            drawn => StepMeter::new(drawn.stimuli().iter().map(|stimulus| &stimulus.streams[..])),
        }
    }

    /// Creates the meter of a step that applies loads of these streams at once.
    fn new<'s>(loads: impl IntoIterator<Item = &'s [IoStream]>) -> Self {
        let mut meters = Vec::new();
        for streams in loads {
            for stream in streams {
                let size = if stream.op == Op::Flush { 0 } else { stream.size.0 };
                meters.push(StreamMeter::new(stream.op, size, true));
            }
            if flush_every(streams).is_some() {
                meters.push(StreamMeter::new(Op::Flush, 0, true));
                meters.push(StreamMeter::new(Op::Write, 0, false));
            }
        }
        StepMeter::with_streams(meters.into(), false)
    }

    pub fn for_script() -> Self {
        let ops = Op::ALL.into_iter().chain(Op::ALL).chain([Op::Flush]).enumerate();
        let streams = ops.map(|(index, op)| StreamMeter::new(op, 0, index < SERVED));
        StepMeter::with_streams(streams.collect(), true)
    }

    fn with_streams(streams: Box<[StreamMeter]>, is_script: bool) -> Self {
        StepMeter {
            streams,
            is_script,
            intervals: Vec::new(),
            lateness: Vec::new(),
            threads: Vec::new(),
            start_errors: StartErrorCounts::new(),
        }
    }

    /// Returns the number of streams of an account that counts for all of the step.
    pub fn account_streams(&self) -> usize {
        self.streams.len()
    }

    /// Returns the streams that count the step's I/Os.
    fn counting_streams(&self) -> impl Iterator<Item = &StreamMeter> {
        self.streams.iter().filter(|stream| stream.counts_ios)
    }

    /// Closes an interval: adds the threads' accounts to it and empties them.
    ///
    /// `begin` and `end` are relative to the start of the measurement. An interval in which
    /// nothing completed is kept as well.
    pub fn close_interval<'a>(
        &mut self,
        accounts: impl IntoIterator<Item = &'a mut IntervalAccount>,
        begin: Nanos,
        end: Nanos,
        partial: bool,
    ) -> &Interval {
        for account in accounts {
            self.add(account, 0);
        }
        let tallies = Op::ALL.into_iter().filter_map(|op| self.open_tally(op)).collect();
        if let Some(late) = self.streams.get(LATENESS).filter(|_| self.is_script) {
            let WideCounts { ios, response_sum, response_max, .. } = late.interval;
            let (sum, max) = (Nanos(response_sum), Nanos(response_max));
            self.lateness.push(IntervalLateness { ios, sum, max });
        }
        for stream in &mut self.streams {
            if stream.interval.ios > 0 {
                stream.step.merge(&stream.interval);
                stream.interval.clear();
            }
        }
        let index = self.intervals.len();
        self.intervals.push(Interval { begin, end, partial, tallies });
        &self.intervals[index]
    }

    /// Returns true if any I/O was added to the open interval.
    pub fn has_open_ios(&self) -> bool {
        self.streams.iter().any(|stream| stream.interval.ios > 0)
    }

    /// Returns the end of the last interval; zero before the first.
    pub fn elapsed(&self) -> Nanos {
        self.intervals.last().map_or(Nanos::ZERO, |interval| interval.end)
    }

    /// Returns the start errors of the I/Os of paced loads; `None` if there were none.
    pub fn start_error(&self) -> Option<Box<StartError>> {
        self.start_errors.result()
    }

    /// Returns the response times of the writes that a flush followed, until they were written;
    /// `None` if none was.
    pub fn writes_alone(&self) -> Option<Tally> {
        let streams = self.streams.iter().filter(|stream| !stream.counts_ios && !self.is_script);
        streams.map(|stream| stream.step.tally()).reduce(|mut sum, tally| {
            sum.merge(&tally);
            sum
        })
    }

    /// Returns the step's tallies, in the order of its streams, and its intervals.
    pub fn finish(self) -> (Vec<StreamTally>, Vec<Interval>) {
        (tallies(self.counting_streams()), self.intervals)
    }

    /// Returns the results of a played script, without operations that had no I/O.
    pub fn finish_script(self) -> PlayedScript {
        let tallies_with_ios = |streams: &[StreamMeter]| {
            let mut all = tallies(streams);
            all.retain(|stream| stream.tally.ios > 0);
            all
        };
        let late = self.streams[LATENESS].step.tally();
        let Tally { ios, response_sum: sum, response_max: max, histogram, .. } = late;
        PlayedScript {
            streams: tallies_with_ios(&self.streams[..SERVED]),
            intervals: self.intervals,
            served: tallies_with_ios(&self.streams[SERVED..LATENESS]),
            lateness: Lateness { ios, sum, max, histogram },
            by_interval: self.lateness,
        }
    }

    /// Adds the account of one thread, given by its number among the threads of all loads, to its
    /// own sums and to those of the step; see [`StepMeter::add`].
    pub fn add_for_thread(&mut self, account: &mut IntervalAccount, first: usize, thread: usize) {
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Vec::new);
        }
        let sums = &mut self.threads[thread];
        let streams = self.streams[first..].iter().zip(&account.streams).enumerate();
        for (index, (meter, part)) in streams.filter(|(_, (m, part))| m.counts_ios && part.ios > 0)
        {
            counts_of(sums, meter.op).add(part, meter.size, account.dense(index));
        }
        for index in &account.overruns {
            let (stream, bucket) = (index / FineHistogram::LEN, index % FineHistogram::LEN);
            let meter = &self.streams[first + stream];
            if meter.counts_ios {
                counts_of(sums, meter.op).buckets[bucket] += BUCKET_LIMIT;
            }
        }
        for OutstandingResponse { stream, response_ns } in &account.outstanding {
            let meter = &self.streams[first + *stream as usize];
            if meter.counts_ios {
                counts_of(sums, meter.op).add_outstanding(*response_ns);
            }
        }
        self.add(account, first);
    }

    /// Takes the tallies of the threads of loads that are counted by thread.
    pub fn take_threads(&mut self) -> Vec<ThreadTally> {
        let mut tallies = Vec::new();
        for sums in self.threads.drain(..) {
            let tally = |sum: &OperationSum| StreamTally { op: sum.op, tally: sum.counts.tally() };
            tallies.push(ThreadTally { operations: sums.iter().map(tally).collect() });
        }
        tallies
    }

    /// Adds an account to the open interval and empties it. `first` is the meter's stream that
    /// corresponds to the account's first.
    pub fn add(&mut self, account: &mut IntervalAccount, first: usize) {
        self.start_errors.take(&mut account.start_errors);
        if account.is_empty() {
            return;
        }
        let streams = self.streams[first..].iter_mut();
        for (index, (meter, part)) in streams.zip(&account.streams).enumerate() {
            if part.ios > 0 {
                meter.interval.add(part, meter.size, account.dense(index));
            }
        }
        for index in &account.overruns {
            let (stream, bucket) = (index / FineHistogram::LEN, index % FineHistogram::LEN);
            self.streams[first + stream].interval.buckets[bucket] += BUCKET_LIMIT;
        }
        for OutstandingResponse { stream, response_ns } in &account.outstanding {
            self.add_outstanding(first + *stream as usize, *response_ns);
        }
        account.clear();
    }

    /// Adds the response time of an I/O that was outstanding when the load ended. It counts
    /// toward the step and toward no interval.
    pub fn add_outstanding(&mut self, stream: usize, response_ns: u64) {
        self.streams[stream].step.add_outstanding(response_ns);
    }

    /// Returns the tally of one operation in the interval being closed; `None` if it had no I/O.
    fn open_tally(&self, op: Op) -> Option<IntervalTally> {
        let mut sum: Option<WideCounts> = None;
        for part in self.counting_streams().filter(|s| s.op == op && s.interval.ios > 0) {
            sum.get_or_insert_default().merge(&part.interval);
        }
        sum.map(|sum| sum.interval_tally(op))
    }
}

/// Returns the counts of an operation, which are added if there are none.
fn counts_of(sums: &mut Vec<OperationSum>, op: Op) -> &mut WideCounts {
    let index = sums.iter().position(|sum| sum.op == op).unwrap_or_else(|| {
        sums.push(OperationSum { op, counts: WideCounts::default() });
        sums.len() - 1
    });
    &mut sums[index].counts
}

fn tallies<'s>(streams: impl IntoIterator<Item = &'s StreamMeter>) -> Vec<StreamTally> {
    streams.into_iter().map(|s| StreamTally { op: s.op, tally: s.step.tally() }).collect()
}

impl StreamMeter {
    fn new(op: Op, size: u64, counts_ios: bool) -> Self {
        let (step, interval) = (WideCounts::default(), WideCounts::default());
        StreamMeter { op, size, counts_ios, step, interval }
    }
}

impl Default for WideCounts {
    fn default() -> Self {
        WideCounts {
            ios: 0,
            bytes: 0,
            response_sum: 0,
            response_min: NO_RESPONSE,
            response_max: 0,
            buckets: vec![0; FineHistogram::LEN].into(),
            outstanding: 0,
        }
    }
}

impl WideCounts {
    /// Adds what a thread counted of a stream of this transfer size.
    fn add(&mut self, part: &StreamAccount, size: u64, buckets: &[u32]) {
        self.ios += part.ios;
        self.bytes += part.ios * size - part.missing + part.moved;
        self.response_sum += part.response_sum;
        self.response_min = self.response_min.min(part.response_min);
        self.response_max = self.response_max.max(part.response_max);
        for (total, count) in self.buckets.iter_mut().zip(buckets) {
            *total += u64::from(*count);
        }
    }

    fn add_outstanding(&mut self, response_ns: u64) {
        self.outstanding += 1;
        self.response_sum += response_ns;
        self.response_min = self.response_min.min(response_ns);
        self.response_max = self.response_max.max(response_ns);
        self.buckets[FineHistogram::index(response_ns)] += 1;
    }

    /// Adds the counts of completed I/Os.
    pub fn merge(&mut self, other: &WideCounts) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.response_sum += other.response_sum;
        self.response_min = self.response_min.min(other.response_min);
        self.response_max = self.response_max.max(other.response_max);
        for (total, count) in self.buckets.iter_mut().zip(&other.buckets) {
            *total += count;
        }
    }

    fn clear(&mut self) {
        (self.ios, self.bytes, self.response_sum) = (0, 0, 0);
        (self.response_min, self.response_max) = (NO_RESPONSE, 0);
        self.buckets.fill(0);
    }

    pub fn interval_tally(&self, op: Op) -> IntervalTally {
        IntervalTally {
            op,
            ios: self.ios,
            bytes: Bytes(self.bytes),
            response_sum: Nanos(self.response_sum),
            response_max: Nanos(self.response_max),
            histogram: FineHistogram::from_dense(&self.buckets).coarsen(),
        }
    }

    pub fn tally(&self) -> Tally {
        Tally {
            ios: self.ios,
            bytes: Bytes(self.bytes),
            response_sum: Nanos(self.response_sum),
            response_min: (self.response_min != NO_RESPONSE).then_some(Nanos(self.response_min)),
            response_max: Nanos(self.response_max),
            histogram: FineHistogram::from_dense(&self.buckets),
            outstanding: self.outstanding,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Order;

    fn streams() -> Vec<IoStream> {
        let stream = |op, size| IoStream::new(op, Order::Random, Bytes(size));
        vec![stream(Op::Read, 4096), stream(Op::Write, 8192), stream(Op::Read, 512)]
    }

    /// I/Os and bytes of all closed intervals.
    fn moved(meter: &StepMeter) -> (u64, Bytes) {
        let sum = |count: fn(&StreamMeter) -> u64| meter.counting_streams().map(count).sum();
        (sum(|s| s.step.ios), Bytes(sum(|s| s.step.bytes)))
    }

    #[test]
    fn intervals_and_totals_come_from_the_same_counts() {
        let mut accounts = [IntervalAccount::new(3), IntervalAccount::new(3)];
        let mut meter = StepMeter::new([&streams()[..]]);
        accounts[0].count(0, 1_000);
        accounts[1].count(0, 3_000);
        accounts[1].count(1, 9_000);
        let first = meter.close_interval(&mut accounts, Nanos(0), Nanos::SECOND, false).clone();
        accounts[0].count(2, 7);
        let second =
            meter.close_interval(&mut accounts, Nanos::SECOND, Nanos::from_secs(2), true).clone();
        assert_eq!(accounts[0].ios() + accounts[1].ios(), 0);

        assert_eq!(first.tallies.len(), 2);
        let reads = &first.tallies[0];
        assert_eq!((reads.op, reads.ios, reads.bytes), (Op::Read, 2, Bytes(8192)));
        assert_eq!((reads.response_sum, reads.response_max), (Nanos(4_000), Nanos(3_000)));
        assert_eq!(reads.histogram.total(), 2);
        assert_eq!(second.tallies[0].bytes, Bytes(512));
        assert!(second.partial);

        assert_eq!(moved(&meter), (4, Bytes(8192 + 8192 + 512)));
        assert_eq!(meter.elapsed(), Nanos::from_secs(2));
        let (tallies, intervals) = meter.finish();
        assert_eq!(intervals, [first, second]);
        let ios: Vec<_> = tallies.iter().map(|s| (s.op, s.tally.ios)).collect();
        assert_eq!(ios, [(Op::Read, 2), (Op::Write, 1), (Op::Read, 1)]);
        assert_eq!(tallies[0].tally.histogram.total(), 2);
        assert_eq!(tallies[1].tally.response_max, Nanos(9_000));
        let least: Vec<_> = tallies.iter().map(|s| s.tally.response_min).collect();
        assert_eq!(least, [Some(Nanos(1_000)), Some(Nanos(9_000)), Some(Nanos(7))]);
    }

    /// Two threads, two streams that read: each thread's reads are added up, and all threads
    /// together are the step.
    #[test]
    fn threads_counted_separately_add_up_to_the_step() {
        let mut accounts = [IntervalAccount::new(3), IntervalAccount::new(3)];
        let mut meter = StepMeter::new([&streams()[..]]);
        accounts[0].count(0, 1_000);
        accounts[0].count(2, 500);
        accounts[1].count(1, 9_000);
        accounts[1].count_outstanding(1, 70_000);
        for (thread, account) in accounts.iter_mut().enumerate() {
            meter.add_for_thread(account, 0, thread);
        }
        meter.close_interval([], Nanos(0), Nanos::SECOND, false);
        let [first, second] = &meter.take_threads()[..] else { panic!("two threads") };
        let [reads] = &first.operations[..] else { panic!("reads only") };
        assert_eq!(
            (reads.op, reads.tally.ios, reads.tally.bytes),
            (Op::Read, 2, Bytes(4096 + 512))
        );
        let least = reads.tally.response_min;
        assert_eq!((reads.tally.response_sum, least), (Nanos(1_500), Some(Nanos(500))));
        let [writes] = &second.operations[..] else { panic!("writes only") };
        assert_eq!((writes.tally.ios, writes.tally.responses()), (1, 2));
        let (whole, _) = meter.finish();
        assert_eq!(whole[1].tally, writes.tally);
        assert_eq!(whole[0].tally.ios + whole[2].tally.ios, reads.tally.ios);
    }

    /// Writes before a flush have two response times, one of which another stream counts.
    #[test]
    fn a_thread_counts_every_write_once() {
        let streams = [true, false].map(|counts_ios| StreamMeter::new(Op::Write, 4096, counts_ios));
        let mut meter = StepMeter::with_streams(streams.into(), false);
        let mut account = IntervalAccount::new(2);
        for (stream, response_ns) in [(0, 9_000), (1, 1_000)] {
            account.buckets[stream * FineHistogram::LEN + FineHistogram::index(response_ns)] =
                u32::MAX;
            account.streams[stream].ios = u64::from(u32::MAX);
            account.count(stream as u32, response_ns);
        }
        account.count_outstanding(0, 70_000);
        account.count_outstanding(1, 60_000);
        meter.add_for_thread(&mut account, 0, 0);
        let [thread] = &meter.take_threads()[..] else { panic!("one thread") };
        let [sum] = &thread.operations[..] else { panic!("writes only") };
        assert_eq!((sum.tally.ios, sum.tally.responses()), (BUCKET_LIMIT, BUCKET_LIMIT + 1));
        assert_eq!(sum.tally.histogram.total(), BUCKET_LIMIT + 1);
        assert_eq!(sum.tally.response_min, Some(Nanos(9_000)));
    }

    #[test]
    fn an_idle_second_is_an_interval_without_tallies() {
        let mut meter = StepMeter::new([&streams()[..]]);
        let interval = meter.close_interval([], Nanos(0), Nanos::SECOND, false);
        assert_eq!(interval.tallies, []);
        assert_eq!(interval.iops(), Some(0.0));
    }

    #[test]
    fn an_outstanding_io_has_a_response_time_and_is_no_completed_io() {
        let mut account = IntervalAccount::new(3);
        account.count(1, 1_000);
        account.count_outstanding(1, 9_000_000_000);
        let mut meter = StepMeter::new([&streams()[..]]);
        let interval = meter.close_interval([&mut account], Nanos(0), Nanos::SECOND, false);
        assert_eq!(interval.tallies[0].response_max, Nanos(1_000));
        account.count_outstanding(0, 7);
        meter.add(&mut account, 0);
        assert_eq!(moved(&meter), (1, Bytes(8192)));
        let (tallies, _) = meter.finish();
        let writes = &tallies[1].tally;
        assert_eq!((writes.ios, writes.outstanding, writes.bytes), (1, 1, Bytes(8192)));
        assert_eq!(writes.response_max, Nanos(9_000_000_000));
        assert_eq!(writes.response_mean_ms(), Some(9_000_001_000.0 / 2e6));
        assert_eq!(writes.histogram.total(), 2);
        assert_eq!(
            (tallies[0].tally.ios, tallies[0].tally.response_longest()),
            (0, Some(Nanos(7)))
        );
    }

    #[test]
    fn a_bucket_never_saturates() {
        let mut account = IntervalAccount::new(2);
        let index = FineHistogram::LEN + FineHistogram::index(500);
        account.buckets[index] = u32::MAX;
        account.streams[1].ios = u64::from(u32::MAX);
        account.count(1, 500);
        account.count(1, 500);
        let mut meter = StepMeter::new([&streams()[..]]);
        meter.close_interval([&mut account], Nanos(0), Nanos::SECOND, false);
        assert_eq!(account.ios(), 0);
        let (tallies, _) = meter.finish();
        assert_eq!(tallies[1].tally.ios, BUCKET_LIMIT + 1);
        assert_eq!(tallies[1].tally.histogram.total(), BUCKET_LIMIT + 1);
    }

    #[test]
    fn short_ios_count_what_they_moved_and_flushes_move_nothing() {
        let mut all = streams();
        all.push(IoStream::new(Op::Flush, Order::Random, Bytes(4096)));
        let mut account = IntervalAccount::new(4);
        account.count_short(1, 10, 4096 + 512);
        account.count(3, 20);
        let mut meter = StepMeter::new([&all[..]]);
        meter.close_interval([&mut account], Nanos(0), Nanos::SECOND, false);
        assert_eq!(moved(&meter), (2, Bytes(8192 - 4096 - 512)));
    }
}
