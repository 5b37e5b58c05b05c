//! Zones on the scripted bench: a disk whose inner zones are slower.

use crate::testing::scripted::{broken_record, build, number, purges, record, scripted, steps};
use steadfast_domain::findings::Exhibit;
use steadfast_domain::{Bytes, EndState, Findings, Settings, Step};

fn settings(name: &str, zones: &str) -> Settings {
    let mut settings = Settings::new(name, 7);
    settings.set("zones", zones);
    settings
}

/// A disk that loses one I/O per second in every zone.
fn disk(step: &Step) -> f64 {
    f64::from(2000 - step.place.round)
}

fn found(settings: &Settings) -> Findings {
    scripted(disk).studied(&*build(settings), settings)
}

#[test]
fn every_zone_has_every_step_and_the_zones_lie_side_by_side() {
    let settings = settings("hdd-iops", "128");
    let bench = scripted(disk).conducted(&*build(&settings));
    let steps = steps(&bench.entries);
    assert_eq!(steps.len(), 128 * 9);
    let range = |step: &Step| step.load.stimulus().unwrap().active_range;
    for (index, step) in steps.iter().enumerate() {
        let zone = index as u64 / 9;
        assert_eq!(range(step).start, Bytes(zone * Bytes::mib(8).0));
        assert_eq!(range(step).length, Bytes::mib(8));
    }
    assert_eq!(steps[4].place.label, "RND 16K RW50");
    assert_eq!(purges(&bench.entries), 0);
}

#[test]
fn throughput_passes_over_all_zones_once_for_each_block_size() {
    let settings = settings("hdd-throughput", "3");
    let bench = scripted(disk).conducted(&*build(&settings));
    let all = steps(&bench.entries);
    let of =
        |step: &&Step| format!("{} {} {}", step.place.phase, step.place.round, step.place.label);
    let first: Vec<String> = all.iter().map(of).collect();
    assert_eq!(
        first[..4],
        [
            "zones-1024K 1 SEQ 1024K R", "zones-1024K 1 SEQ 1024K W", "zones-1024K 2 SEQ 1024K R",
            "zones-1024K 2 SEQ 1024K W"
        ]
    );
    assert_eq!((first[6].as_str(), first.len()), ("zones-4K 1 SEQ 4K R", 12));
}

#[test]
fn the_table_has_what_the_zones_have_in_common() {
    let findings = found(&settings("hdd-iops", "5"));
    assert_eq!(
        (findings.end, findings.ending.as_str()),
        (EndState::Complete, "5 of 5 zones measured.")
    );
    let Exhibit::Table(table) = &findings.summary[0] else { panic!() };
    let value = |column: &str| number(table, "RND 4K W", column);
    // 1999, 1998, 1997, 1996, 1995.
    assert_eq!(
        (value("Mean"), value("Minimum"), value("Median"), value("Maximum")),
        (1997.0, 1995.0, 1997.0, 1999.0)
    );
    assert_eq!((value("Lower quartile"), value("Upper quartile")), (1996.0, 1998.0));
    assert_eq!((value("First zone"), value("Last zone")), (1999.0, 1995.0));
    assert_eq!(findings.form_pages.len(), 3 + 1, "one plot for each mix, and the table");
}

#[test]
fn a_run_that_broke_off_shows_the_zones_that_it_has() {
    let settings = settings("hdd-iops", "5");
    let procedure = build(&settings);
    let mut bench = scripted(disk).conducted(&*procedure);
    bench.entries.truncate(1 + 9 * 2 + 4);
    let findings = procedure.study(&broken_record(&settings, bench.entries));
    assert_eq!(findings.end, EndState::Unfinished);
    assert!(findings.ending.contains("2 of 5 zones"), "{}", findings.ending);
    assert_eq!(procedure.study(&record(&settings, Vec::new())).parts.len(), 0);
}
