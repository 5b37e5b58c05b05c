//! Order and due times of played I/Os, known in advance.

use super::*;
use crate::xoshiro::Xoshiro256;
use steadfast_domain::script::OpCounts;
use steadfast_domain::{Bytes, Demand, Script};

#[derive(Debug)]
struct ListFeed(std::vec::IntoIter<DueIo>);

impl ScriptFeed for ListFeed {
    fn next(&mut self) -> FeedResult {
        self.0.next().map_or(FeedResult::Over, FeedResult::Io)
    }
}

fn io(due: u64, op: Op, block: u64) -> DueIo {
    DueIo::new(Nanos(due), op, Bytes(block * 4096), Bytes(4096))
}

/// Returns a script of a list that can be opened.
pub(crate) fn listed(ios: &[DueIo], outstanding: u32) -> ScriptLoad {
    let batches: VecDeque<Vec<DueIo>> = ios.chunks(1500).map(<[DueIo]>::to_vec).collect();
    let open = move || -> Result<Box<dyn Script>, ScriptError> {
        Ok(Box::new(ListScript(batches.clone())))
    };
    let mut load = load(ios, outstanding);
    (load.unit, load.largest) = (Bytes(512), Bytes(1 << 20));
    load.open = Some(Arc::new(open));
    load
}

/// Counts the I/Os that it has delivered, and never ends.
pub(crate) struct EndlessFeed(Arc<AtomicU64>);

impl EndlessFeed {
    pub(crate) fn load() -> (ScriptLoad, Arc<AtomicU64>) {
        let delivered = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&delivered);
        let mut load = load(&[], 4);
        load.counts.reads = u64::MAX;
        load.open = Some(Arc::new(move || Ok(Box::new(EndlessFeed(Arc::clone(&count))))));
        (load, delivered)
    }
}

impl Script for EndlessFeed {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        let room = batch.capacity() - batch.len();
        let first = self.0.fetch_add(room as u64, Ordering::SeqCst);
        batch.extend((first..first + room as u64).map(|n| io(n, Op::Read, n % 1000)));
        Ok(room)
    }
}

fn load(ios: &[DueIo], outstanding: u32) -> ScriptLoad {
    let mut counts = OpCounts::default();
    ios.iter().for_each(|io| counts.count(io.op));
    ScriptLoad {
        counts,
        span: ios.last().map_or(Nanos::ZERO, |io| io.due),
        largest: Bytes(4096),
        unit: Bytes(4096),
        reach: Bytes(1 << 30),
        ..ScriptLoad::new("list", Demand::new(1, outstanding))
    }
}

/// Plays on a device that takes `service` for each I/O. Returns due time, submission time and
/// block of each, in order of submission.
fn played(
    load: &ScriptLoad,
    ios: Vec<DueIo>,
    service: u64,
) -> (Vec<(u64, u64, u64)>, Arc<PlayCounts>) {
    let mut player = ScriptPlayer::new(load, ListFeed(ios.into_iter()), 0, true);
    let counts = player.counts();
    player.begin(1000, Nanos::ZERO);
    let mut free: Vec<u32> = (0..load.demand.outstanding() as u32).rev().collect();
    let mut out: VecDeque<(u64, u32)> = VecDeque::new();
    let mut done = Vec::new();
    let mut now = 1000;
    loop {
        match player.next(now) {
            PlayerAction::Submit(ready) => {
                let slot = free.pop().unwrap();
                player.note_submission(slot, &ready, now);
                out.push_back((now + service, slot));
                done.push((ready.due - 1000, now - 1000, ready.io.offset.0 / 4096));
                continue;
            }
            PlayerAction::Over if out.is_empty() => return (done, counts),
            PlayerAction::At(due) if out.front().is_none_or(|(at, _)| *at > due) => {
                now = due;
                continue;
            }
            PlayerAction::Failed(error) => panic!("{error}"),
            _ => {}
        }
        let (at, slot) = out.pop_front().unwrap();
        now = now.max(at);
        free.push(slot);
        player.note_completion(slot, now);
    }
}

#[test]
fn due_times_count_from_the_beginning_and_are_divided() {
    let ios: Vec<DueIo> = (0..5).map(|n| io(n * 300, Op::Read, n)).collect();
    let mut load = load(&ios, 8);
    let (done, _) = played(&load, ios.clone(), 10_000);
    assert_eq!(done, (0..5).map(|n| (n * 300, n * 300, n)).collect::<Vec<_>>());
    load.timing = Timing::Faster { thousandths: 3000 };
    let (done, _) = played(&load, ios, 10_000);
    assert_eq!(done, (0..5).map(|n| (n * 100, n * 100, n)).collect::<Vec<_>>());
}

#[test]
fn with_everything_outstanding_ios_are_late_and_catch_up() {
    let ios: Vec<DueIo> = (0..4).map(|n| io(n * 100, Op::Read, n)).collect();
    let (done, _) = played(&load(&ios, 1), ios, 150);
    assert_eq!(done, [(0, 0, 0), (100, 150, 1), (200, 300, 2), (300, 450, 3)]);
}

#[test]
fn a_closed_loop_keeps_its_depth_and_thinks() {
    let mut ios: Vec<DueIo> = (0..6).map(|n| io(n * 1_000_000, Op::Read, n)).collect();
    ios[3].think = Nanos(40);
    let mut load = load(&ios, 2);
    load.timing = Timing::Closed;
    let (done, _) = played(&load, ios.clone(), 100);
    let expected =
        [(0, 0, 0), (0, 0, 1), (100, 100, 2), (140, 140, 3), (200, 200, 4), (240, 240, 5)];
    assert_eq!(done, expected);
    // One at a time if the script says so.
    ios.iter_mut().for_each(|io| (io.outstanding, io.think) = (Some(1), Nanos::ZERO));
    let (done, _) = played(&load, ios, 100);
    assert_eq!(done, (0..6).map(|n| (n * 100, n * 100, n)).collect::<Vec<_>>());
}

#[test]
fn overlaps_are_kept_or_ordered_and_counted_either_way() {
    // I/Os 0 and 2 write the same block, 3 lies elsewhere, 4 reads what 2 writes.
    let ios = vec![
        io(0, Op::Write, 7),
        io(10, Op::Read, 1),
        io(20, Op::Write, 7),
        io(30, Op::Write, 9),
        io(40, Op::Read, 7),
        io(50, Op::Read, 1),
    ];
    let mut load = load(&ios, 8);
    let overlaps_and_held = |counts: &PlayCounts| {
        [&counts.overlaps, &counts.held].map(|count| count.load(Ordering::Relaxed))
    };
    let (done, counts) = played(&load, ios.clone(), 100);
    assert_eq!(done.iter().map(|io| io.2).collect::<Vec<_>>(), [7, 1, 7, 9, 7, 1]);
    assert!(done.iter().all(|(due, submitted, _)| due == submitted));
    assert_eq!(overlaps_and_held(&counts), [2, 0]);
    load.overlaps = OverlapRule::Order;
    let (done, counts) = played(&load, ios, 100);
    let expected = [(0, 0, 7), (10, 10, 1), (30, 30, 9), (50, 50, 1), (20, 100, 7), (40, 200, 7)];
    assert_eq!(done, expected);
    assert_eq!(overlaps_and_held(&counts), [2, 2]);
    assert_eq!(counts.position.load(Ordering::Relaxed), 6);
}

#[test]
fn in_order_no_two_conflicting_ios_are_outstanding_together_or_swapped() {
    let mut random = Xoshiro256::new(3, 3);
    let ios: Vec<DueIo> = (0..20_000)
        .map(|n| io(n * 10, Op::ALL[random.below(2) as usize], random.below(64)))
        .collect();
    let mut load = load(&ios, 16);
    load.overlaps = OverlapRule::Order;
    let (done, counts) = played(&load, ios.clone(), 333);
    assert_eq!(done.len(), ios.len());
    assert!(counts.held.load(Ordering::Relaxed) > 1000);
    // Per block, submissions are in script order, and a write is alone.
    for block in 0..64 {
        let of_block = |list: &[(u64, u64, u64)]| -> Vec<(u64, u64)> {
            list.iter().filter(|io| io.2 == block).map(|io| (io.0, io.1)).collect()
        };
        let submitted = of_block(&done);
        let is_write = |due: u64| ios[(due / 10) as usize].op == Op::Write;
        for pair in submitted.windows(2) {
            let alters = is_write(pair[0].0) || is_write(pair[1].0);
            assert!(!alters || pair[0].0 < pair[1].0, "swapped {pair:?}");
            assert!(!alters || pair[1].1 - pair[0].1 >= 333, "together {pair:?}");
        }
    }
}

#[test]
fn omitted_ios_are_counted_and_not_submitted() {
    let mut ios = vec![
        io(0, Op::Write, 1),
        io(1, Op::Discard, 2),
        io(2, Op::Flush, 0),
        io(3, Op::Discard, 3),
    ];
    ios[0].fua = true;
    let mut load = load(&ios, 4);
    load.leave_out = ReplayOmissions { flushes: true, fua: true, discards: false };
    let mut player = ScriptPlayer::new(&load, ListFeed(ios.into_iter()), 0, false);
    let counts = player.counts();
    let PlayerAction::Submit(ready) = player.next(10) else { panic!() };
    assert!(!ready.io.fua);
    player.note_submission(0, &ready, 10);
    assert!(matches!(player.next(10), PlayerAction::Over));
    let left_out = counts.take_left_out();
    let omitted = |op, ios, bytes| UnmeasuredIos { op, ios, bytes: Bytes(bytes) };
    assert_eq!(left_out, [omitted(Op::Discard, 2, 8192), omitted(Op::Flush, 1, 4096)]);
    assert_eq!(counts.fua_left_out.load(Ordering::Relaxed), 1);
    assert_eq!(counts.position.load(Ordering::Relaxed), 4);
}

/// Delivers a list in batches of any size.
struct ListScript(VecDeque<Vec<DueIo>>);

impl Script for ListScript {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        let next = self.0.pop_front().unwrap_or_default();
        batch.extend(&next);
        Ok(next.len())
    }
}

fn source(change: impl Fn(&mut ScriptLoad), batches: &[&[DueIo]]) -> ScriptReader {
    let all: Vec<DueIo> = batches.concat();
    let mut load = load(&all, 4);
    let batches: VecDeque<Vec<DueIo>> = batches.iter().map(|batch| batch.to_vec()).collect();
    load.open = Some(Arc::new(move || Ok(Box::new(ListScript(batches.clone())))));
    change(&mut load);
    ScriptReader::open(&load).unwrap()
}

#[test]
fn a_source_delivers_from_any_position_and_refuses_unannounced_ios() {
    let ios: Vec<DueIo> = (0..10).map(|n| io(n, Op::Write, n)).collect();
    for from in 0..=10 {
        let mut source = source(|_| (), &[&ios[..4], &ios[4..9], &ios[9..]]);
        let mut batch = ScriptReader::batch();
        source.pass_over(from, &mut batch).unwrap();
        let mut rest = std::mem::take(&mut batch);
        while source.fill(&mut batch).unwrap() {
            rest.extend(&batch);
        }
        assert_eq!(rest, ios[from as usize..]);
    }
    type Change = fn(&mut ScriptLoad);
    let wrong: [(&str, Change); 4] = [
        ("below byte 8192", |s| s.reach = Bytes(8192)),
        ("at most 512 B", |s| s.largest = Bytes(512)),
        ("multiples of 8192 B", |s| s.unit = Bytes(8192)),
        ("should have 0 reads, 3 writes", |s| s.counts.writes = 3),
    ];
    for (words, change) in wrong {
        let error =
            source(change, &[&ios]).fill(&mut ScriptReader::batch()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let early = [io(5, Op::Read, 0), io(4, Op::Read, 0)];
    let error = source(|_| (), &[&early]).fill(&mut ScriptReader::batch()).unwrap_err().to_string();
    assert!(error.contains("due"), "{error}");
}
