//! What a report has beside the pictures over time: the same numbers as the folds that the
//! commands ask.

use super::synthetic::{SECOND, Server, conditions};
use std::io::Cursor;
use std::sync::Arc;
use steadfast_domain::findings::{Cell, Exhibit, Page, Plot, Table};
use steadfast_domain::io_event::{CapturedCgroup, Command, FileName, ZoneChange};
use steadfast_domain::{CaptureConditions, Findings, IoEvent, Layer, Zone};
use steadfast_trace::clock::Clock;
use steadfast_trace::day_profile::DayProfile;
use steadfast_trace::group_figures::GroupFigures;
use steadfast_trace::groups::{Facet, Groups};
use steadfast_trace::locality::Locality;
use steadfast_trace::observed_time::ObservedTime;
use steadfast_trace::{By, Captured, Filter, Fold, Pass, Study, StudyOptions, findings};

const HOUR: u64 = 3600 * SECOND;

type File = Captured<Cursor<Vec<u8>>>;

fn captured(events: &[IoEvent], conditions: CaptureConditions) -> File {
    super::opened(events, conditions).into()
}

fn page<'f>(findings: &'f Findings, title: &str) -> Option<&'f Page> {
    findings.chapters.iter().find(|page| page.title == title)
}

fn tables(findings: &Findings) -> impl Iterator<Item = &Table> {
    let exhibits = findings.chapters.iter().flat_map(|page| &page.exhibits);
    exhibits.filter_map(|exhibit| match exhibit {
        Exhibit::Table(table) => Some(table),
        _ => None,
    })
}

fn table<'f>(findings: &'f Findings, id: &str) -> Option<&'f Table> {
    tables(findings).find(|table| table.id == id)
}

fn plot<'f>(findings: &'f Findings, id: &str) -> Option<&'f Plot> {
    let exhibits = findings.chapters.iter().flat_map(|page| &page.exhibits);
    exhibits
        .filter_map(|exhibit| match exhibit {
            Exhibit::Plot(plot) => Some(plot),
            _ => None,
        })
        .find(|plot| plot.id == id)
}

/// A number of each row.
fn column(table: &Table, name: &str) -> Vec<f64> {
    let at = table.columns.iter().position(|column| column.name == name).unwrap();
    let cells = table.rows.iter().map(|row| match row.cells[at] {
        Cell::Number { value, .. } => value,
        _ => f64::NAN,
    });
    cells.collect()
}

/// So many hours of a server whose clock is set back by an hour in the first night.
fn days(hours: u64) -> (File, Clock) {
    let events: Vec<IoEvent> = Server::new(hours * 36, 50)
        .map(|event| IoEvent { issued_ns: event.issued_ns * 100, ..event })
        .collect();
    let change = ZoneChange { at_unix_s: 1_763_697_600 + 5 * 3600, offset_s: 0, name: None };
    let conditions = CaptureConditions {
        zone: Some(Zone { offset_s: 3600, name: None, changes: vec![change] }),
        lasted_ns: hours * HOUR,
        marks: Vec::new(),
        ..conditions(hours * 36)
    };
    let clock = Clock::of(&conditions, None).unwrap();
    (captured(&events, conditions), clock)
}

fn options(clock: Option<Clock>) -> StudyOptions {
    StudyOptions { clock, ..StudyOptions::default() }
}

#[test]
fn a_capture_of_more_than_a_day_has_a_profile_of_it() {
    let (captured, clock) = days(61);
    let study = Study::of(&captured, &options(Some(clock.clone()))).unwrap();
    let found = findings(&study, "test");
    let mut profile = DayProfile::new(clock, HOUR).unwrap();
    captured.run(&Pass::default(), &mut [&mut profile]).unwrap();
    let wanted = profile.listing(&ObservedTime::new(vec![(0, 61 * HOUR)]));
    let table = table(&found, "day-profile").unwrap();
    assert_eq!(table.rows.len(), 24);
    assert_eq!(column(table, "IOPS"), wanted.iter().map(|one| one.iops).collect::<Vec<f64>>());
    let of_days: Vec<f64> = wanted.iter().map(|one| one.days as f64).collect();
    assert_eq!(column(table, "days"), of_days);
    assert!(of_days.contains(&2.0) && of_days.contains(&3.0));
    let drawn = &plot(&found, "time-of-day").unwrap().series;
    assert_eq!(drawn[1].points[7], (7.5, Some(wanted[7].iops)));
    let band = &drawn[0];
    assert_eq!(band.upper[7], wanted[7].iops_most);
    // Neither a clock that is not known nor a capture of a day and a bit has one.
    assert!(Study::of(&captured, &options(None)).unwrap().day.is_none());
    let (short, clock) = days(35);
    let study = Study::of(&short, &options(Some(clock))).unwrap();
    assert!(page(&findings(&study, "test"), "Time of day").is_none());
}

/// I/Os of 40 threads, 40 cgroups and 40 files, every third of the file-system layer.
fn who() -> (Vec<IoEvent>, CaptureConditions) {
    let events: Vec<IoEvent> = Server::new(60, 200)
        .zip(0u64..)
        .map(|(event, at)| {
            let who = at % 97 % 41;
            let layer = if at.is_multiple_of(3) { Layer::FileSystem } else { Layer::Block };
            IoEvent {
                tid: 900 + who as u32,
                thread: Command::new(if who.is_multiple_of(2) { "writer" } else { "" }),
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

/// What `trace groups` finds.
fn grouped(captured: &File, facet: Facet, layer: Layer) -> Vec<GroupFigures> {
    let mut groups = Groups::by(&[facet]);
    let filter = Filter { layer: Some(layer), ..Filter::default() };
    captured.run(&Pass { filter, ..Pass::default() }, &mut [&mut groups]).unwrap();
    groups.listing(By::Count, captured.conditions())
}

#[test]
fn threads_cgroups_and_files_are_those_of_the_groups_the_others_added_up() {
    let (events, conditions) = who();
    let captured = captured(&events, conditions);
    let filter = Filter { layer: Some(Layer::Block), ..Filter::default() };
    let options = StudyOptions { pass: Pass { filter, ..Pass::default() }, ..options(None) };
    let found = findings(&Study::of(&captured, &options).unwrap(), "test");
    let kinds = [
        ("threads", Facet::Thread, Layer::Block),
        ("cgroups", Facet::Cgroup, Layer::Block),
        ("files", Facet::File, Layer::FileSystem),
    ];
    for (id, facet, layer) in kinds {
        let wanted = grouped(&captured, facet, layer);
        let table = table(&found, id).unwrap();
        let (rows, others) = table.rows.split_at(25);
        for (row, group) in rows.iter().zip(&wanted) {
            assert_eq!(row.head, group.name());
        }
        let counts = column(table, "I/Os");
        let count = |groups: &[GroupFigures]| groups.iter().map(|group| group.count).sum::<u64>();
        assert_eq!(counts[..25], wanted[..25].iter().map(|g| g.count as f64).collect::<Vec<_>>());
        assert_eq!(counts[25] as u64, count(&wanted[25..]));
        let slowest = wanted[25..].iter().filter_map(|group| group.response.max_ns).max();
        assert_eq!(column(table, "MRT ms")[25], slowest.unwrap() as f64 / 1e6);
        assert!((column(table, "%").iter().sum::<f64>() - 100.0).abs() < 1e-9);
        assert_eq!(others[0].head, format!("{} others", wanted.len() - 25));
        let art: Vec<f64> =
            wanted[..25].iter().map(|group| group.response.mean_ns.unwrap() as f64 / 1e6).collect();
        assert_eq!(column(table, "ART ms")[..25], art);
    }
}

#[test]
fn what_was_not_recorded_has_no_table() {
    let (mut events, conditions) = who();
    let bare = CaptureConditions {
        threads: false,
        cgroups: None,
        layers: vec![Layer::Block],
        ..conditions
    };
    events.iter_mut().for_each(|event| (event.layer, event.inode) = (Layer::Block, 0));
    let study = Study::of(&captured(&events, bare), &options(None)).unwrap();
    assert!(page(&findings(&study, "test"), "Threads, cgroups and files").is_none());
}

#[test]
fn miss_ratio_curves_are_those_of_trace_locality_and_words_where_there_are_none() {
    let events: Vec<IoEvent> = Server::new(60, 500).collect();
    let captured = captured(&events, conditions(60));
    let mut study = Study::of(&captured, &options(None)).unwrap();
    let mut folds = [Locality::new(0), Locality::new(1)];
    let [first, second] = &mut folds;
    captured.run(&Pass::default(), &mut [first as &mut dyn Fold, second]).unwrap();
    let wanted = folds.map(Locality::figures);
    let singles = study.single_ios.as_ref().unwrap();
    assert_eq!(singles.locality, wanted);
    let found = findings(&study, "test");
    let drawn = plot(&found, "miss-ratios").unwrap();
    assert!(drawn.caption.ends_with("nvme0n1: exact."), "{}", drawn.caption);
    let misses: Vec<f64> = wanted[0].shown().iter().map(|point| point.misses * 100.0).collect();
    let points = drawn.series[0].points.iter().map(|point| point.1.unwrap());
    assert_eq!(points.collect::<Vec<f64>>(), misses);
    assert_eq!(column(table(&found, "locality").unwrap(), "Blocks followed").len(), 2);
    let singles = study.single_ios.as_mut().unwrap();
    singles.locality.truncate(1);
    let one = &mut singles.locality[0];
    (one.followed_share, one.blocks) = (0.125, 99_000);
    let caption = plot(&findings(&study, "test"), "miss-ratios").unwrap().caption.clone();
    let said = "nvme0n1: estimated from 12.500 % of the blocks. Where an estimated curve falls, the \
        fall may stand beside its cache size, by up to 30 %";
    assert!(caption.contains(said), "{caption}");
    let one = &mut study.single_ios.as_mut().unwrap().locality[0];
    (one.blocks, one.curve) = (3, Vec::new());
    let found = findings(&study, "test");
    assert!(plot(&found, "miss-ratios").is_none() && table(&found, "reuse-times").is_none());
    let text = serde_json::to_string(&found.chapters).unwrap();
    assert!(text.contains("nvme0n1 has no miss-ratio curve: some blocks"), "{text}");
}
