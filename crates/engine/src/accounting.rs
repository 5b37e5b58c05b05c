//! Counting I/Os: one increment each while they run, everything else later.
//!
//! An [`Account`] is one thread's open interval. A [`Meter`] adds the accounts
//! of all threads up when an interval closes, off the threads that do I/O, and
//! makes of them the intervals and the totals of a step.

use steadfast_domain::measurement::{Interval, IntervalTally, StreamTally};
use steadfast_domain::replayed::{IntervalLateness, Lateness};
use steadfast_domain::{Bytes, FineHistogram, IoStream, Nanos, Op, Tally};

/// What fits into a bucket of an [`Account`], plus one.
const BUCKET_LIMIT: u64 = 1 << 32;

/// One thread's interval: per stream its I/Os and their response times.
#[derive(Debug, Clone)]
pub struct Account {
    streams: Box<[StreamAccount]>,
    /// One dense histogram per stream, one behind the other.
    buckets: Box<[u32]>,
    /// Buckets that ran over: each entry stands for 2^32 I/Os.
    overruns: Vec<usize>,
    /// I/Os that were outstanding when the load ended: stream and response time. Filled after
    /// the end only.
    outstanding: Vec<(u32, u64)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct StreamAccount {
    ios: u64,
    response_sum: u64,
    response_max: u64,
    /// Bytes by which I/Os were shorter than the stream's size.
    missing: u64,
    /// Bytes of I/Os whose stream has no size.
    moved: u64,
}

/// Streams of a script, in an account or a meter: as [`Op::ALL`] from the due
/// time, the same from the hand-over, and the lateness between the two.
const SERVED: usize = Op::ALL.len();
const LATE: usize = 2 * SERVED;
/// How many they are.
pub const SCRIPT_STREAMS: usize = LATE + 1;

/// One I/O of a script that has completed.
#[derive(Debug, Clone, Copy)]
pub struct PlayedIo {
    /// What it did.
    pub op: Op,
    /// Bytes that it moved.
    pub bytes: u64,
    /// From its due time to its completion.
    pub response_ns: u64,
    /// From its hand-over to its completion.
    pub served_ns: u64,
    /// From its due time to its hand-over.
    pub late_ns: u64,
}

impl Account {
    /// An empty account of this many streams.
    pub fn new(streams: usize) -> Self {
        Account {
            streams: vec![StreamAccount::default(); streams].into(),
            buckets: vec![0; streams * FineHistogram::LEN].into(),
            overruns: Vec::with_capacity(16),
            outstanding: Vec::new(),
        }
    }

    /// Bytes of memory that an account of this many streams takes.
    pub fn memory(streams: usize) -> u64 {
        (streams * FineHistogram::LEN * size_of::<u32>()) as u64
    }

    /// Counts one I/O of `stream` that took `response_ns`.
    #[inline(always)]
    pub fn count(&mut self, stream: u32, response_ns: u64) {
        let account = &mut self.streams[stream as usize];
        account.ios += 1;
        account.response_sum += response_ns;
        account.response_max = account.response_max.max(response_ns);
        let index = stream as usize * FineHistogram::LEN + FineHistogram::index(response_ns);
        let (count, overrun) = self.buckets[index].overflowing_add(1);
        self.buckets[index] = count;
        if overrun {
            self.overrun(index);
        }
    }

    /// Counts one I/O that moved `missing` bytes less than its stream's size,
    /// such as the last one before a limit in bytes.
    #[cold]
    pub fn count_short(&mut self, stream: u32, response_ns: u64, missing: u64) {
        self.count(stream, response_ns);
        self.streams[stream as usize].missing += missing;
    }

    /// Counts the response time of one I/O that was outstanding when the load ended: the time
    /// that it took, or so far.
    #[cold]
    pub fn count_outstanding(&mut self, stream: u32, response_ns: u64) {
        self.outstanding.push((stream, response_ns));
    }

    /// Counts one I/O of a script.
    #[inline(always)]
    pub fn count_played(&mut self, io: &PlayedIo) {
        let (due, served) = (io.op as usize, SERVED + io.op as usize);
        self.count(due as u32, io.response_ns);
        self.count(served as u32, io.served_ns);
        self.count(LATE as u32, io.late_ns);
        self.streams[due].moved += io.bytes;
        self.streams[served].moved += io.bytes;
    }

    #[cold]
    fn overrun(&mut self, index: usize) {
        self.overruns.push(index);
    }

    /// I/Os counted since it was last emptied.
    pub fn ios(&self) -> u64 {
        self.streams.iter().map(|s| s.ios).sum()
    }

    fn is_empty(&self) -> bool {
        self.outstanding.is_empty() && self.streams.iter().all(|s| s.ios == 0)
    }

    /// Forgets everything that was counted.
    pub fn empty(&mut self) {
        self.streams.fill(StreamAccount::default());
        self.buckets.fill(0);
        self.overruns.clear();
        self.outstanding.clear();
    }
}

/// One step's accounts, added up interval by interval.
#[derive(Debug)]
pub struct Meter {
    streams: Box<[StreamMeter]>,
    /// How many of them are the load's I/O streams; the others are of a script.
    own: usize,
    intervals: Vec<Interval>,
    lateness: Vec<IntervalLateness>,
}

/// What a meter has of a played script.
#[derive(Debug)]
pub struct Played {
    /// By operation, from the due time.
    pub streams: Vec<StreamTally>,
    /// The intervals of these.
    pub intervals: Vec<Interval>,
    /// By operation, from the hand-over.
    pub served: Vec<StreamTally>,
    /// From the due time to the hand-over.
    pub lateness: Lateness,
    /// The same for each interval.
    pub by_interval: Vec<IntervalLateness>,
}

#[derive(Debug)]
struct StreamMeter {
    op: Op,
    size: u64,
    step: Sum,
    interval: Sum,
}

/// Counts that may be added up for days.
#[derive(Debug)]
struct Sum {
    ios: u64,
    bytes: u64,
    response_sum: u64,
    response_max: u64,
    buckets: Box<[u64]>,
    /// Response times that are of no I/O of `ios`.
    outstanding: u64,
}

impl Meter {
    /// The meter of a step that applies these streams.
    pub fn new<'s>(streams: impl IntoIterator<Item = &'s IoStream>) -> Self {
        let of = |stream: &IoStream| StreamMeter {
            op: stream.op,
            size: if stream.op == Op::Flush { 0 } else { stream.size.0 },
            step: Sum::new(),
            interval: Sum::new(),
        };
        let streams: Box<[StreamMeter]> = streams.into_iter().map(of).collect();
        let own = streams.len();
        Meter::of(streams, own)
    }

    /// The meter of a step that plays a script.
    pub fn of_script() -> Self {
        let of = |op: Op| StreamMeter { op, size: 0, step: Sum::new(), interval: Sum::new() };
        let ops = Op::ALL.into_iter().chain(Op::ALL).chain([Op::Flush]);
        Meter::of(ops.map(of).collect(), SERVED)
    }

    fn of(streams: Box<[StreamMeter]>, own: usize) -> Self {
        Meter { streams, own, intervals: Vec::new(), lateness: Vec::new() }
    }

    /// Closes an interval: adds the threads' accounts up and empties them.
    ///
    /// `begin` and `end` count from the measurement's beginning; an interval in
    /// which nothing completed is kept too.
    pub fn close_interval<'a>(
        &mut self,
        accounts: impl IntoIterator<Item = &'a mut Account>,
        begin: Nanos,
        end: Nanos,
        partial: bool,
    ) -> &Interval {
        for account in accounts {
            self.add(account, 0);
        }
        let tallies = Op::ALL.into_iter().filter_map(|op| self.direction(op)).collect();
        if let Some(late) = self.streams.get(LATE).filter(|_| self.own == SERVED) {
            let Sum { ios, response_sum, response_max, .. } = late.interval;
            let (sum, max) = (Nanos(response_sum), Nanos(response_max));
            self.lateness.push(IntervalLateness { ios, sum, max });
        }
        for stream in &mut self.streams {
            if stream.interval.ios > 0 {
                stream.step.merge(&stream.interval);
                stream.interval.clear();
            }
        }
        let place = self.intervals.len();
        self.intervals.push(Interval { begin, end, partial, tallies });
        &self.intervals[place]
    }

    /// Whether any I/O was added to the open interval.
    pub fn has_open_ios(&self) -> bool {
        self.streams.iter().any(|stream| stream.interval.ios > 0)
    }

    /// I/Os of all closed intervals, flushes too.
    pub fn ios(&self) -> u64 {
        self.streams[..self.own].iter().map(|s| s.step.ios).sum()
    }

    /// Bytes of all closed intervals.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.streams[..self.own].iter().map(|s| s.step.bytes).sum())
    }

    /// The end of the last interval.
    pub fn elapsed(&self) -> Nanos {
        self.intervals.last().map_or(Nanos::ZERO, |interval| interval.end)
    }

    /// The step's tallies, in the order of its streams, and its intervals.
    pub fn finish(self) -> (Vec<StreamTally>, Vec<Interval>) {
        (tallies(&self.streams[..self.own]), self.intervals)
    }

    /// What a script's step did; operations without an I/O are left out.
    pub fn finish_script(self) -> Played {
        let any = |mut all: Vec<StreamTally>| {
            all.retain(|stream| stream.tally.ios > 0);
            all
        };
        let (own, rest) = self.streams.split_at(SERVED);
        let late = rest[SERVED].step.tally();
        let Tally { ios, response_sum: sum, response_max: max, histogram, .. } = late;
        Played {
            streams: any(tallies(own)),
            intervals: self.intervals,
            served: any(tallies(&rest[..SERVED])),
            lateness: Lateness { ios, sum, max, histogram },
            by_interval: self.lateness,
        }
    }

    /// Adds an account, whose first stream is this one of the meter's, to the open interval,
    /// and empties it.
    pub fn add(&mut self, account: &mut Account, first: usize) {
        if account.is_empty() {
            return;
        }
        let streams = self.streams[first..].iter_mut();
        for (index, (meter, part)) in streams.zip(&account.streams).enumerate() {
            if part.ios == 0 {
                continue;
            }
            let sum = &mut meter.interval;
            sum.ios += part.ios;
            sum.bytes += part.ios * meter.size - part.missing + part.moved;
            sum.response_sum += part.response_sum;
            sum.response_max = sum.response_max.max(part.response_max);
            let dense = index * FineHistogram::LEN..(index + 1) * FineHistogram::LEN;
            for (total, count) in sum.buckets.iter_mut().zip(&account.buckets[dense]) {
                *total += u64::from(*count);
            }
        }
        for index in &account.overruns {
            let (stream, bucket) = (index / FineHistogram::LEN, index % FineHistogram::LEN);
            self.streams[first + stream].interval.buckets[bucket] += BUCKET_LIMIT;
        }
        for (stream, response_ns) in &account.outstanding {
            self.add_outstanding(first + *stream as usize, *response_ns);
        }
        account.empty();
    }

    /// Adds the response time of an I/O of this stream that was outstanding when the load
    /// ended. It belongs to the step and to no interval.
    pub fn add_outstanding(&mut self, stream: usize, response_ns: u64) {
        let step = &mut self.streams[stream].step;
        step.outstanding += 1;
        step.response_sum += response_ns;
        step.response_max = step.response_max.max(response_ns);
        step.buckets[FineHistogram::index(response_ns)] += 1;
    }

    /// One direction's part of the interval that is being closed.
    fn direction(&self, op: Op) -> Option<IntervalTally> {
        let mut sum: Option<Sum> = None;
        let own = self.streams[..self.own].iter();
        for part in own.filter(|s| s.op == op && s.interval.ios > 0) {
            sum.get_or_insert_with(Sum::new).merge(&part.interval);
        }
        sum.map(|sum| IntervalTally {
            op,
            ios: sum.ios,
            bytes: Bytes(sum.bytes),
            response_sum: Nanos(sum.response_sum),
            response_max: Nanos(sum.response_max),
            histogram: FineHistogram::from_dense(&sum.buckets).coarsen(),
        })
    }
}

fn tallies(streams: &[StreamMeter]) -> Vec<StreamTally> {
    streams.iter().map(|s| StreamTally { op: s.op, tally: s.step.tally() }).collect()
}

impl Sum {
    fn new() -> Self {
        let buckets = vec![0; FineHistogram::LEN].into();
        Sum { ios: 0, bytes: 0, response_sum: 0, response_max: 0, buckets, outstanding: 0 }
    }

    fn merge(&mut self, other: &Sum) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.response_sum += other.response_sum;
        self.response_max = self.response_max.max(other.response_max);
        for (total, count) in self.buckets.iter_mut().zip(&other.buckets) {
            *total += count;
        }
    }

    fn clear(&mut self) {
        (self.ios, self.bytes, self.response_sum, self.response_max) = (0, 0, 0, 0);
        self.buckets.fill(0);
    }

    fn tally(&self) -> Tally {
        Tally {
            ios: self.ios,
            bytes: Bytes(self.bytes),
            response_sum: Nanos(self.response_sum),
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

    #[test]
    fn intervals_and_totals_come_from_the_same_counts() {
        let mut accounts = [Account::new(3), Account::new(3)];
        let mut meter = Meter::new(&streams());
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

        assert_eq!((meter.ios(), meter.bytes()), (4, Bytes(8192 + 8192 + 512)));
        assert_eq!(meter.elapsed(), Nanos::from_secs(2));
        let (tallies, intervals) = meter.finish();
        assert_eq!(intervals, [first, second]);
        let ios: Vec<_> = tallies.iter().map(|s| (s.op, s.tally.ios)).collect();
        assert_eq!(ios, [(Op::Read, 2), (Op::Write, 1), (Op::Read, 1)]);
        assert_eq!(tallies[0].tally.histogram.total(), 2);
        assert_eq!(tallies[1].tally.response_max, Nanos(9_000));
    }

    #[test]
    fn an_idle_second_is_an_interval_without_tallies() {
        let mut meter = Meter::new(&streams());
        let none: [&mut Account; 0] = [];
        let interval = meter.close_interval(none, Nanos(0), Nanos::SECOND, false);
        assert_eq!(interval.tallies, []);
        assert_eq!(interval.iops(), Some(0.0));
    }

    #[test]
    fn an_outstanding_io_has_a_response_time_and_is_no_completed_io() {
        let mut account = Account::new(3);
        account.count(1, 1_000);
        account.count_outstanding(1, 9_000_000_000);
        let mut meter = Meter::new(&streams());
        let interval = meter.close_interval([&mut account], Nanos(0), Nanos::SECOND, false);
        assert_eq!(interval.tallies[0].response_max, Nanos(1_000));
        account.count_outstanding(0, 7);
        meter.add(&mut account, 0);
        assert_eq!((meter.ios(), meter.bytes()), (1, Bytes(8192)));
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
        let mut account = Account::new(2);
        let index = FineHistogram::LEN + FineHistogram::index(500);
        account.buckets[index] = u32::MAX;
        account.streams[1].ios = u64::from(u32::MAX);
        account.count(1, 500);
        account.count(1, 500);
        let mut meter = Meter::new(&streams());
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
        let mut account = Account::new(4);
        account.count_short(1, 10, 4096 + 512);
        account.count(3, 20);
        let mut meter = Meter::new(&all);
        meter.close_interval([&mut account], Nanos(0), Nanos::SECOND, false);
        assert_eq!((meter.ios(), meter.bytes()), (2, Bytes(8192 - 4096 - 512)));
    }
}
