//! Reports of captures: their numbers are those of the folds that the commands use.

use super::synthetic::{SECOND, SyntheticServer, conditions};
use std::sync::Arc;
use steadfast_analysis::clock::CaptureClock;
use steadfast_analysis::questions::day_profile::DayProfile;
use steadfast_analysis::questions::group_figures::GroupFigures;
use steadfast_analysis::questions::groups::{Facet, Groups};
use steadfast_analysis::questions::locality::Locality;
use steadfast_analysis::{
    Captured, Filter, Fold, PassOptions, ShareMeasure, Study, StudyOptions, findings,
};
use steadfast_domain::findings::{Cell, Exhibit, Table};
use steadfast_domain::io_event::{CapturedCgroup, CommandName, FileName, TimeZoneChange};
use steadfast_domain::{CaptureConditions, Findings, IoEvent, IoOp, Layer, TimeZone};
use steadfast_tracefile::observed_time::ObservedTime;

const HOUR: u64 = 3600 * SECOND;

fn captured(events: &[IoEvent], conditions: CaptureConditions) -> Captured {
    super::opened(events, conditions).into()
}

fn report(captured: &Captured, options: &StudyOptions) -> Findings {
    findings(&Study::read(captured, options).unwrap(), "test")
}

fn has_page(findings: &Findings, title: &str) -> bool {
    findings.chapters.iter().any(|page| page.title == title)
}

/// Returns the numbers of a column, one per row.
fn column(table: &Table, name: &str) -> Vec<f64> {
    let at = table.columns.iter().position(|column| column.name == name).unwrap();
    table.rows.iter().map(|row| row.cells[at].value().unwrap_or(f64::NAN)).collect()
}

/// Returns a capture of `hours` hours of a server whose clock is set back by an hour in the first
/// night.
fn days(hours: u64) -> (Captured, CaptureClock) {
    let events: Vec<IoEvent> = SyntheticServer::new(hours * 36, 50)
        .map(|event| IoEvent { issued_ns: event.issued_ns * 100, ..event })
        .collect();
    let change = TimeZoneChange { at_unix_s: 1_763_697_600 + 5 * 3600, offset_s: 0, name: None };
    let conditions = CaptureConditions {
        zone: Some(TimeZone { offset_s: 3600, name: None, changes: vec![change] }),
        lasted_ns: hours * HOUR,
        marks: Vec::new(),
        ..conditions(hours * 36)
    };
    let clock = CaptureClock::from_conditions(&conditions, None).unwrap();
    (captured(&events, conditions), clock)
}

fn options(clock: Option<CaptureClock>) -> StudyOptions {
    StudyOptions { clock, ..StudyOptions::default() }
}

#[test]
fn a_capture_of_several_days_has_a_day_profile() {
    let (captured, clock) = days(61);
    let found = report(&captured, &options(Some(clock.clone())));
    let mut profile = DayProfile::new(clock, HOUR).unwrap();
    captured.run(&PassOptions::default(), &mut [&mut profile]).unwrap();
    let expected = profile.listing(&ObservedTime::new(vec![(0, 61 * HOUR)]));
    let table = found.table("day-profile").unwrap();
    assert_eq!(table.rows.len(), 24);
    assert_eq!(column(table, "IOPS"), expected.iter().map(|one| one.iops()).collect::<Vec<f64>>());
    let day_counts: Vec<f64> = expected.iter().map(|one| one.days as f64).collect();
    assert_eq!(column(table, "days"), day_counts);
    assert!(day_counts.contains(&2.0) && day_counts.contains(&3.0));
    let drawn = &found.plot("time-of-day").unwrap().series;
    assert_eq!(drawn[1].points[7], (7.5, Some(expected[7].iops())));
    assert_eq!(drawn[0].upper[7], expected[7].iops_most);
    // A capture without a clock has none, and neither has one of little more than a day.
    assert!(Study::read(&captured, &options(None)).unwrap().day.is_none());
    let (short, clock) = days(35);
    assert!(!has_page(&report(&short, &options(Some(clock))), "Time of day"));
}

/// Returns I/Os of 40 threads, 40 cgroups and 40 files, every third of the file-system layer.
fn who() -> (Vec<IoEvent>, CaptureConditions) {
    let events: Vec<IoEvent> = SyntheticServer::new(60, 200)
        .zip(0u64..)
        .map(|(event, at)| {
            let who = at % 97 % 41;
            let layer = if at.is_multiple_of(3) { Layer::FileSystem } else { Layer::Block };
            IoEvent {
                tid: 900 + who as u32,
                thread: CommandName::new(if who.is_multiple_of(2) { "writer" } else { "" }),
                cgroup: who as u16,
                layer,
                inode: if layer == Layer::FileSystem { who } else { 0 },
                ..event
            }
        })
        .collect();
    let cgroup = |id| CapturedCgroup { id, path: Some(format!("/{id}")), ..Default::default() };
    let file = |inode| FileName { device: 0, inode, path: format!("/srv/{inode}") };
    let conditions = CaptureConditions {
        layers: vec![Layer::Block, Layer::FileSystem],
        threads: true,
        cgroups: Some((0..41).map(cgroup).collect()),
        files: Arc::new((0..20).map(file).collect()),
        ..conditions(60)
    };
    (events, conditions)
}

/// Returns the groups that `trace groups` prints.
fn grouped(captured: &Captured, facet: Facet, layer: Layer) -> Vec<GroupFigures> {
    let mut groups = Groups::by(&[facet]);
    let filter = Filter { layer: Some(layer), ..Filter::default() };
    captured.run(&PassOptions { filter, ..PassOptions::default() }, &mut [&mut groups]).unwrap();
    groups.listing(ShareMeasure::Count, captured.conditions())
}

#[test]
fn threads_cgroups_and_files_equal_the_groups_with_a_row_for_all_others() {
    let (events, conditions) = who();
    let captured = captured(&events, conditions);
    let filter = Filter { layer: Some(Layer::Block), ..Filter::default() };
    let options =
        StudyOptions { pass: PassOptions { filter, ..PassOptions::default() }, ..options(None) };
    let found = report(&captured, &options);
    let kinds = [
        ("threads", Facet::Thread, Layer::Block),
        ("cgroups", Facet::Cgroup, Layer::Block),
        ("files", Facet::File, Layer::FileSystem),
    ];
    for (id, facet, layer) in kinds {
        let expected = grouped(&captured, facet, layer);
        let (listed, others) = expected.split_at(25);
        let table = found.table(id).unwrap();
        for (row, group) in table.rows.iter().zip(listed) {
            assert_eq!(row.head, group.name());
        }
        let counts = column(table, "I/Os");
        assert_eq!(counts[..25], listed.iter().map(|g| g.count as f64).collect::<Vec<_>>());
        assert_eq!(counts[25] as u64, others.iter().map(|group| group.count).sum::<u64>());
        let slowest = others.iter().filter_map(|group| group.response.max_ns).max();
        assert_eq!(column(table, "MRT ms")[25], slowest.unwrap() as f64 / 1e6);
        assert!((column(table, "%").iter().sum::<f64>() - 100.0).abs() < 1e-9);
        assert_eq!(table.rows[25].head, format!("{} others", others.len()));
        let art: Vec<f64> =
            listed.iter().map(|group| group.response.mean_ns.unwrap() as f64 / 1e6).collect();
        assert_eq!(column(table, "ART ms")[..25], art);
    }
}

#[test]
fn threads_cgroups_and_files_that_were_not_recorded_have_no_table() {
    let (mut events, conditions) = who();
    let bare = CaptureConditions {
        threads: false,
        cgroups: None,
        layers: vec![Layer::Block],
        ..conditions
    };
    events.iter_mut().for_each(|event| (event.layer, event.inode) = (Layer::Block, 0));
    let found = report(&captured(&events, bare), &options(None));
    assert!(!has_page(&found, "Threads, cgroups and files"));
}

#[test]
fn miss_ratio_curves_are_those_of_trace_locality_or_replaced_by_a_sentence() {
    let events: Vec<IoEvent> = SyntheticServer::new(60, 500).collect();
    let captured = captured(&events, conditions(60));
    let mut study = Study::read(&captured, &options(None)).unwrap();
    let mut folds = [Locality::new(0), Locality::new(1)];
    let [first, second] = &mut folds;
    captured.run(&PassOptions::default(), &mut [first as &mut dyn Fold, second]).unwrap();
    let expected = folds.map(Locality::figures);
    let singles = study.single_ios.as_ref().unwrap();
    assert_eq!(singles.locality, expected);
    let found = findings(&study, "test");
    let drawn = found.plot("miss-ratios").unwrap();
    assert!(drawn.caption.ends_with("nvme0n1: exact."), "{}", drawn.caption);
    let misses: Vec<f64> = expected[0].shown().iter().map(|point| point.misses * 100.0).collect();
    let points = drawn.series[0].points.iter().map(|point| point.1.unwrap());
    assert_eq!(points.collect::<Vec<f64>>(), misses);
    assert_eq!(column(found.table("locality").unwrap(), "Blocks followed").len(), 2);
    let singles = study.single_ios.as_mut().unwrap();
    singles.locality.truncate(1);
    let one = &mut singles.locality[0];
    (one.followed_share, one.blocks) = (0.125, 99_000);
    let caption = findings(&study, "test").plot("miss-ratios").unwrap().caption.clone();
    let estimated = "nvme0n1: estimated from 12.500 % of the blocks. A drop of an estimated \
        curve may appear at a cache size that is wrong by up to 30 %";
    assert!(caption.contains(estimated), "{caption}");
    let one = &mut study.single_ios.as_mut().unwrap().locality[0];
    (one.blocks, one.curve) = (3, Vec::new());
    let found = findings(&study, "test");
    assert!(found.plot("miss-ratios").is_none() && found.table("reuse-times").is_none());
    let text = serde_json::to_string(&found.chapters).unwrap();
    assert!(text.contains("nvme0n1 has no miss-ratio curve: some blocks"), "{text}");
}

/// Returns the I/Os of ten minutes: a database that appends 4 KiB and flushes once a second, and
/// reads 8 KiB at random, ten times as often in the fifth minute. In the eighth minute a backup
/// waits 50 ms for each of its 20 reads a second.
fn database() -> Vec<IoEvent> {
    let io = |issued_ns: u64, op: IoOp, offset: u64, bytes: u32, response_ms: u64| IoEvent {
        issued_ns,
        op,
        offset,
        bytes,
        response_ns: response_ms * 1_000_000,
        queued_ns: 1_000_000,
        pid: 7,
        command: CommandName::new("db"),
        ..IoEvent::default()
    };
    let mut events = Vec::new();
    for second in 0..600 {
        let at = second * SECOND;
        events.push(io(at, IoOp::Write, second * 4096, 4096, 1));
        events.push(io(at + 2_000_000, IoOp::Flush, 0, 0, 1));
        let reads = if second / 60 == 4 { 40 } else { 4 };
        for read in 0..reads {
            let offset = (steadfast_domain::random_bits::mix64(second * 64 + read) % 100_000) << 13;
            events.push(io(at + (5 + read) * 3_000_000, IoOp::Read, offset, 8192, 1));
        }
        if second / 60 == 7 {
            events.extend((0..20).map(|read| IoEvent {
                pid: 9,
                command: CommandName::new("backup"),
                ..io(
                    at + (300 + read) * 1_000_000,
                    IoOp::Read,
                    (read + 20 * second) << 18,
                    1 << 18,
                    50,
                )
            }));
        }
    }
    events
}

#[test]
fn page_one_says_who_did_what_when_and_how_fast_it_was() {
    let found = report(&captured(&database(), conditions(600)), &options(None));
    assert_eq!(found.title, "Captured Workload");
    assert_eq!(found.front.tables, ["answers"]);
    let Some(Exhibit::Table(answers)) = found.summary.first() else { panic!("no answers") };
    let text = |id: &str| {
        let row = answers.rows.iter().find(|row| row.id == id);
        match row.map(|row| &row.cells[0]) {
            Some(Cell::Text(text)) => text.clone(),
            other => panic!("{id}: {other:?}"),
        }
    };
    // Bytes: 37.4 MB of 2.5 + 37.4 + 314.6. I/Os: 600 writes, 600 flushes, 540 x 4 + 60 x 40 = 4,560 reads, 1,200 reads of the backup: 6,960.
    assert_eq!(text("who"), "db (7) 83 %, backup (9) 17 % of the I/Os");
    assert_eq!(text("what"), "random reads: 66 % of the I/Os, 11 % of the bytes, of 8 KiB");
    let named = ["what-2", "what-3", "what-4", "what-5"].map(text);
    assert!(
        named.contains(&"flushes: 8.6 % of the I/Os, one per 1.0 writes".to_owned()),
        "{named:?}"
    );
    let log = "a log: db (7) made 599 sequential writes of up to 64 KiB and 600 flushes";
    assert!(named.contains(&log.to_owned()), "{named:?}");
    // The fifth minute: 60 x 42 I/Os, 42 a second; 6,960 in 600 s are 11.6.
    assert_eq!(
        text("when"),
        "busiest minute from 240 s: 42 IOPS, 0.332 MB/s, 3.6 times the mean rate"
    );
    // 5,760 of 1 ms and 1,200 of 50 ms.
    assert!(text("felt").starts_with("response time on average 9.45 ms"), "{}", text("felt"));
    assert!(
        text("felt-2").contains("1.00 ms on average: 9.6 % of the whole time, 90 % in the device")
    );
    // (360 x 1 + 1,200 x 50) / 1,560 = 38.7 ms; 1,560 I/Os in 60 s.
    let waited = 100.0 * 1200.0 * 51.0 / (1200.0 * 51.0 + 360.0 * 2.0);
    let slowest = format!(
        "slowest minute from 420 s: 38.7 ms on average at 26 IOPS; of the time waited backup (9) \
         {waited:.0} %, db (7) 1.2 %"
    );
    assert_eq!(text("felt-3"), slowest);
    // 600 x 4 KiB in 600 s: 353.9 MB a day.
    assert!(
        text("drive-3").starts_with("2.46 MB written in 10 min: 354 MB a day"),
        "{}",
        text("drive-3")
    );
    assert!(
        found.ending.starts_with("db (7) 83 %, backup (9) 17 % of the I/Os: random reads 66 %")
    );
    assert!(
        found.ending.ends_with("slowest minute from 420 s, waited for by backup (9) 99 %."),
        "{}",
        found.ending
    );
}

#[test]
fn page_one_has_no_line_without_an_answer() {
    let mut events = database();
    for event in &mut events {
        (event.pid, event.command, event.queued_ns) = (0, CommandName::default(), 0);
        event.response_ns = steadfast_domain::io_event::RESPONSE_UNKNOWN;
    }
    let found = report(&captured(&events, CaptureConditions::default()), &options(None));
    let Some(Exhibit::Table(answers)) = found.summary.first() else { panic!("no answers") };
    let heads: Vec<&str> =
        answers.rows.iter().map(|row| row.head.as_str()).filter(|head| !head.is_empty()).collect();
    assert_eq!(heads, ["What", "When", "What a drive must do"]);
    assert!(found.ending.starts_with("Random reads 66 %"), "{}", found.ending);
}
