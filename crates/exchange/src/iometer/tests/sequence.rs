//! The loads of configurations, against known values.

use super::corpus::{HERE, OF_1_1, OF_2006};
use crate::iometer::read;
use crate::iometer::sequence::{DiskChoice, PlanOptions, TestPlan, plan};
use steadfast_domain::sequence::{Amount, SequenceEnd};
use steadfast_domain::stimulus::{DataPattern, Pace};
use steadfast_domain::{Bytes, Demand, Nanos};

fn planned(text: &str, on: PlanOptions<'_>) -> Result<TestPlan, String> {
    let reading = read(text.as_bytes()).unwrap();
    plan(&reading.config, reading.remarks, on).map_err(|why| why.to_string())
}

/// One pace for all rows; the rows of the file differ.
fn without_delay() -> String {
    OF_2006.replace("25,13,8,4096,0", "25,0,8,4096,0")
}

#[test]
fn a_row_becomes_the_streams_that_its_shares_say() {
    let TestPlan { sequence, tests } = planned(&without_delay(), HERE).unwrap();
    assert_eq!((sequence.steps.len(), tests.len()), (2, 2));
    assert_eq!(sequence.title, "Four corners");
    let plain = &sequence.steps[0].load;
    assert_eq!(plain.streams.len(), 1);
    assert_eq!(plain.streams[0].to_string(), "SEQ 128K R");
    assert_eq!(plain.streams[0].alignment, Some(Bytes(4096)));
    assert_eq!((plain.demand, plain.ramp), (Demand::new(1, 16), Nanos::from_secs(11)));
    assert_eq!(plain.until, SequenceEnd::time(Nanos::from_secs(97)));
    assert_eq!(plain.extent.from, Amount::Bytes(Bytes(101 * 512)));
    assert_eq!(plain.extent.length, Some(Amount::Bytes(Bytes(2048 * 512))));
    assert_eq!(plain.data_pattern, Some(DataPattern::RandomUnique));
}

#[test]
fn mixed_rows_have_the_product_of_their_shares() {
    let sequence = planned(&without_delay(), HERE).unwrap().sequence;
    let streams = &sequence.steps[1].load.streams;
    let shown: Vec<String> = streams.iter().map(|s| format!("{s} {}", s.weight)).collect();
    // 60 x 67 x 100, 60 x 33 x 100, 40 x 50 x 25, 40 x 50 x 75, twice; divided by 2000.
    assert_eq!(
        shown,
        [
            "RND 4K R 201", "RND 4K W 99", "RND 64K R 25", "SEQ 64K R 75", "RND 64K W 25",
            "SEQ 64K W 75"
        ]
    );
    assert_eq!(streams[0].alignment, Some(Bytes(512)), "0 is the sector");
    assert_eq!(streams[3].cursor_key(), streams[5].cursor_key(), "one position for both");
    let remarks: Vec<String> = sequence.remarks.iter().map(ToString::to_string).collect();
    assert!(remarks.iter().any(|text| text.contains("where the last sequential I/O ended")));
}

#[test]
fn bursts_are_those_of_every_queue() {
    let text = OF_2006.replace("\t4096,60,67,100,0,1,0,0\n\t65536,40,", "\t65536,100,");
    let sequence = planned(&text, HERE).unwrap().sequence;
    let pace = Pace::Burst { ios: 8, delay: Nanos::from_millis(13) };
    assert_eq!(sequence.steps[1].load.pace, pace);
    let why = planned(OF_2006, HERE).unwrap_err();
    assert!(why.starts_with("line 47: ") && why.contains("different delays"), "{why}");
}

#[test]
fn options_take_the_place_of_what_the_file_says() {
    let time = Some(Nanos::from_secs(7));
    let text = OF_1_1.replace("\t4 KiB random writes,DISK", "\t4 KiB random writes,NONE");
    let own = PlanOptions { time, own_pattern: true, ..HERE };
    let sequence = planned(&text, own).unwrap().sequence;
    assert_eq!(sequence.steps[2].load.until, SequenceEnd::time(Nanos::from_secs(7)));
    assert_eq!(sequence.steps[2].load.demand, Demand::new(1, 16));
    assert_eq!(sequence.steps[2].load.data_pattern, None);
    let labels: Vec<&str> = sequence.steps.iter().map(|step| step.label.as_str()).collect();
    assert_eq!(labels[0], "4 KiB random writes, T1Q1");
    let forever = OF_1_1.replace("0          0          3", "0 0 0");
    assert!(planned(&forever, HERE).unwrap_err().contains("give --time"));
    assert!(planned(&forever, own).is_ok());
}

#[test]
fn a_file_that_is_made_is_filled_first() {
    let prepared = planned(&without_delay(), PlanOptions { prepare: true, ..HERE }).unwrap();
    assert_eq!((prepared.sequence.steps.len(), prepared.tests.len()), (3, 2));
    let load = &prepared.sequence.steps[0].load;
    assert_eq!((load.until.laps, load.extent), (Some(1), prepared.sequence.steps[1].load.extent));
    assert_eq!(load.streams[0].to_string(), "SEQ 128K W");
}

#[test]
fn each_version_writes_its_own_data() {
    let pattern = |text: &str| {
        let plan = planned(text, HERE).unwrap();
        (plan.sequence.steps[0].load.data_pattern.clone().unwrap(), plan.sequence.remarks.len())
    };
    assert_eq!(pattern(OF_1_1).0, DataPattern::RandomUnique);
    assert_eq!(pattern(&OF_1_1.replace("\t0,0,2", "\t0,0,1")).0, DataPattern::RandomOnce);
    assert!(matches!(pattern(&OF_1_1.replace("\t0,0,2", "\t0,0,0")).0, DataPattern::Repeating(_)));
    let plain = without_delay();
    assert_eq!(pattern(&plain).0, DataPattern::RandomUnique);
    let of_2008 = plain.replace("2006.07.27", "2008.06.18");
    assert_eq!(pattern(&of_2008).0, DataPattern::RandomOnce);
    assert_eq!(pattern(&of_2008).1, pattern(&plain).1 + 1, "remarks in one line");
}

/// A second disk worker with a different load.
fn two_workers(change: impl Fn(&str) -> String) -> String {
    let begin = OF_1_1.find("'Worker\n").unwrap();
    let end = OF_1_1.find("'End manager").unwrap();
    let second = change(&OF_1_1[begin..end].replace("Worker 1", "Worker 2"));
    format!("{}{second}{}", &OF_1_1[..end], &OF_1_1[end..])
}

#[test]
fn workers_that_do_the_same_are_threads_and_others_are_loads_at_once() {
    let same = two_workers(str::to_owned);
    let plan = planned(&same, HERE).unwrap();
    assert_eq!(plan.sequence.steps[1].load.demand, Demand::new(2, 4));
    let elsewhere = two_workers(|text| text.replace("\t0,0,2", "\t0,4096,2"));
    let plan = planned(&elsewhere, HERE).unwrap();
    for (step, test) in plan.sequence.steps[1..].iter().zip(&plan.tests) {
        let loads: Vec<(&str, Demand, Amount)> =
            step.loads().map(|(name, load)| (name, load.demand, load.extent.from)).collect();
        let demand = loads[0].1;
        assert_eq!(demand.threads, 1);
        let from = |sectors: u64| Amount::Bytes(Bytes(sectors * HERE.sector));
        assert_eq!(loads, [("Worker 1", demand, from(0)), ("Worker 2", demand, from(4096))]);
        assert_eq!(step.dimensions[1], ("Workers".into(), "2".into()));
        let config = crate::iometer::read(elsewhere.as_bytes()).unwrap().config;
        assert_eq!(crate::iometer::loads_of_workers(&config, test), [0, 1]);
    }
    let disk = two_workers(|text| text.replace("SCRATCH DISK 7", "SCRATCH DISK 11"));
    let remarks = format!("{:?}", planned(&disk, HERE).unwrap().sequence.remarks);
    assert!(remarks.contains("all mapped to the one target"), "{remarks}");
    let one = PlanOptions { disk: Some(DiskChoice::Alone("1: \"SCRATCH DISK 7\"")), ..HERE };
    assert_eq!(planned(&disk, one).unwrap().sequence.steps[1].load.demand, Demand::new(2, 4));
}

#[test]
fn a_disk_among_others_has_the_numbers_of_all_tests() {
    let among = |name| PlanOptions { disk: Some(DiskChoice::Among(name)), ..HERE };
    let all = planned(&without_delay(), HERE).unwrap();
    let disk = &all.tests[0].active[0].targets[0];
    let own = planned(&without_delay(), PlanOptions { prepare: true, ..among(disk) }).unwrap();
    let numbers: Vec<Option<u32>> = own.sequence.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3)], "the preparation is the first");
    assert_eq!(own.sequence.disk.as_deref(), Some(disk.as_str()));
    let places: Vec<u32> = own.sequence.numbered().map(|(number, _)| number).collect();
    assert_eq!(places, [1, 2, 3]);
    assert_eq!(all.sequence.numbered().map(|(number, _)| number).collect::<Vec<_>>(), [1, 2]);
    let why = planned(&without_delay(), among("9: none")).unwrap_err();
    assert!(why.contains("no test uses a disk '9: none'"), "{why}");
    assert!(all.tests[0].of_disk(disk).is_some() && all.tests[0].of_disk("9: none").is_none());
    assert!(
        crate::iometer::is_same_disk("C:", "c:Data") && !crate::iometer::is_same_disk("C:", "D:")
    );
}
