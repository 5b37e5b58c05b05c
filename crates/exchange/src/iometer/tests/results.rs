//! Results of each version.

use crate::iometer::config::{AccessLine, AccessSpec, Assignment, LineNumber, TestType};
use crate::iometer::results::{
    DirectionTotals, ErrorTotals, HostRates, LATENCY_BINS, ProcessorUse, ResultRow, ResultRun,
    ResultTable, RowKind, RunEnding, SpecResults, TestFigures, read, write,
};
use crate::iometer::version::IometerVersion;

fn figures() -> TestFigures {
    let side = |ios: u64| DirectionTotals {
        ios,
        bytes: ios * 512,
        response_sum_ns: ios * 691_960,
        responses: ios,
        response_max_ns: 7_495_195,
    };
    TestFigures {
        managers: 1,
        workers: 1,
        disks: 1,
        sides: Some((side(1_388_493), side(0))),
        errors: Some(ErrorTotals::default()),
        elapsed_ns: 30_036_000_000,
        start: Some(0),
        sectors: Some(0),
        depth: Some(32),
        processors: Some(ProcessorUse {
            user: 0.301,
            system: 13.75,
            soft_interrupts: Some(2.5),
            interrupts: Some(0.5),
        }),
        host: HostRates {
            interrupts: Some(1200.0),
            packets: Some(30.0),
            packet_errors: Some(2.0),
            segments_retransmitted: None,
        },
        bins: Some((1..=LATENCY_BINS.len() as u64).collect()),
    }
}

#[test]
fn errors_that_were_not_counted_apart_have_a_sum_only() {
    let apart = ErrorTotals { all: 50, reads: Some(20) };
    let mixed = ErrorTotals { all: 40, reads: None };
    for (errors, cells) in [
        (Some(apart), [Some(50.0), Some(20.0), Some(30.0)]),
        (Some(apart.with(&apart)), [Some(100.0), Some(40.0), Some(60.0)]),
        (Some(apart.with(&mixed)), [Some(90.0), None, None]),
        (None, [None, None, None]),
    ] {
        let figures = TestFigures { errors, ..figures() };
        let dialect = IometerVersion::parse("1.1.0").unwrap().dialect();
        let row = ResultRow::new(RowKind::All, "all", "mixed", dialect, &figures);
        assert_eq!(["Errors", "Read Errors", "Write Errors"].map(|name| row.get(name)), cells);
    }
}

/// A run with one row of each kind.
pub fn sample(version: &str) -> ResultRun {
    let version = IometerVersion::parse(version).unwrap();
    let kinds = [RowKind::All, RowKind::Manager, RowKind::Worker, RowKind::Disk];
    let row = |kind: RowKind| {
        ResultRow::new(kind, "one, two", "seq reads", version.dialect(), &figures())
    };
    let spec = AccessSpec {
        name: "seq reads".into(),
        assignment: Assignment::All,
        lines: vec![AccessLine::plain(512, 100, 0)],
        line: LineNumber(0),
    };
    let table = ResultTable { rows: kinds.map(row).to_vec(), at: "2026-11-22 15:30:00:007".into() };
    ResultRun {
        version,
        test_type: TestType::Depth,
        description: "a test, of two words".into(),
        began: "2026-11-22 15:29:30:001".into(),
        parts: vec![SpecResults { specs: vec![spec], tables: vec![table.clone(), table] }],
        ending: RunEnding::NotStated,
    }
}

fn values(text: &str, row: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let header = lines.iter().position(|line| line.starts_with("'Target Type")).unwrap();
    lines[header + 1 + row].split(',').map(str::to_owned).collect()
}

#[test]
fn a_row_of_workers_that_differ_has_minus_one() {
    let mut run = sample("2006.07.27");
    let figures = TestFigures { depth: None, ..figures() };
    let dialect = run.version.dialect();
    run.parts[0].tables[0].rows = vec![ResultRow::new(RowKind::All, "All", "", dialect, &figures)];
    let text = write(&run);
    let header = text.lines().find(|line| line.starts_with("'Target Type")).unwrap();
    let at = header.split(',').position(|name| name == "Queue Depth").unwrap();
    assert_eq!(values(&text, 0)[at], "-1");
    let back = read(text.as_bytes()).unwrap();
    assert_eq!(back[0].parts[0].tables[0].rows[0].get("Queue Depth"), Some(-1.0));
}

#[test]
fn a_file_of_2006_stands_in_iometer_s_order() {
    let text = write(&sample("2006.07.27"));
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert_eq!(
        lines[..11],
        [
            "'Test Type,Test Description",
            "6,a test  of two words",
            "'Version",
            "2006.07.27 ",
            "'Time Stamp",
            "2026-11-22 15:29:30:001",
            "'Access specifications",
            "'Access specification name,default assignment",
            "seq reads,1",
            "'size,% of size,% reads,% random,delay,burst,align,reply",
            "512,100,100,0,0,1,512,0",
        ]
    );
    assert_eq!(lines[11..13], ["'End access specifications", "'Results"]);
    assert!(lines[13].starts_with("'Target Type,Target Name,Access Specification Name,# Man"));
    assert!(lines[13].ends_with(",Packet Errors,Segments Retransmitted/Second"));
    assert_eq!(lines[18..20], ["'Time Stamp", "2026-11-22 15:30:00:007"]);
    let all = values(&text, 0);
    assert_eq!(all.len(), 56);
    assert_eq!(all[..7], ["ALL", "one  two", "seq reads", "1", "1", "1", "46227.626848"]);
    assert_eq!(all[9], "22.572083", "2^20 bytes a second");
    assert_eq!(all[14], "0.691960");
    assert_eq!(all[32], "-1");
    assert!(all[33..42].iter().all(String::is_empty), "no raw fields: {all:?}");
    assert_eq!((all[44].as_str(), all[45].as_str()), ("32", "14.051000"));
    assert_eq!(all[50], "", "the row has no raw times");
    assert!(all[52].starts_with("3289."), "{all:?}");
    assert_eq!(all[48..50], ["2.500000", "0.500000"], "% DPC and % interrupt time");
    assert_eq!(all[51..52], ["1200.000000"], "interrupts per second");
    assert_eq!(all[53..], ["30.000000", "2", ""], "packets");
}

#[test]
fn each_kind_of_row_has_its_own_blanks() {
    let text = write(&sample("2006.07.27"));
    let (manager, worker, disk) = (values(&text, 1), values(&text, 2), values(&text, 3));
    assert_eq!(manager[2..6], ["seq reads", "", "1", "1"]);
    assert_eq!((manager[41].as_str(), manager[50].as_str()), ("30036000000", "1000000000"));
    assert_eq!(worker[2..6], ["seq reads", "", "", "1"]);
    assert_eq!(disk[2..6], ["", "", "", ""]);
    for row in [worker, disk] {
        assert!(row[45..50].iter().all(String::is_empty) && row[50] == "1000000000");
        assert!(row[51..].iter().all(String::is_empty));
    }
    let processor = ResultRow {
        kind: RowKind::Processor,
        name: "CPU 0".into(),
        spec: String::new(),
        values: [("% User Time".to_owned(), 1.0)].into(),
    };
    let mut run = sample("2006.07.27");
    run.parts[0].tables[0].rows = vec![processor];
    assert_eq!(values(&write(&run), 0).iter().filter(|cell| !cell.is_empty()).count(), 3);
}

#[test]
fn a_file_of_1_1_0_has_both_rates_the_bins_and_the_commas() {
    let text = write(&sample("1.1.0"));
    assert!(text.contains("burst,align,reply\r\n512,100,100,0,0,1,512,0,\r\n"));
    assert!(text.contains(",5 to 10 s, >= 10 s\r\n"), "a blank before the last bin alone");
    let all = values(&text, 0);
    assert_eq!(all.len(), 80);
    assert_eq!((all[9].as_str(), all[12].as_str()), ("22.572083", "23.668545"));
    let bins: Vec<String> = (1..=21).map(|n: u32| n.to_string()).collect();
    assert_eq!(all[59..], bins);
}

#[test]
fn results_read_back_as_they_were_written() {
    for version in ["2006.07.27", "2008.06.18", "1.1.0"] {
        let mut run = sample(version);
        run.description = "without commas".into();
        let clean = |row: &mut ResultRow| row.name = "one".into();
        run.parts[0].tables.iter_mut().flat_map(|t| &mut t.rows).for_each(clean);
        let text = write(&run);
        let read_back = read(text.as_bytes()).unwrap();
        assert_eq!(read_back.len(), 1);
        assert_eq!(write(&read_back[0]), text, "{version}");
        assert_eq!(read_back[0].parts[0].specs, run.parts[0].specs);
        let two = format!("{text}{text}Aborted test\r\n");
        let runs = read(two.as_bytes()).unwrap();
        assert_eq!((runs.len(), runs[1].ending), (2, RunEnding::Aborted));
    }
}

#[test]
fn columns_are_found_by_their_names() {
    let text = "'Test Type,Test Description\n0,x\n'Version\n2010.01.01\n'Results\n\
        'Target Type,IOps,Target Name,MBps (Binary),Something New\n\
        ALL,7.5,All,3.25,1\n'Time Stamp\nnow\n'End Test\n";
    let run = &read(text.as_bytes()).unwrap()[0];
    let row = &run.parts[0].tables[0].rows[0];
    assert_eq!((row.name.as_str(), row.get("IOps")), ("All", Some(7.5)));
    assert_eq!(row.get("MiBps (Binary)"), Some(3.25));
    assert_eq!((row.get("Write IOps"), run.ending), (None, RunEnding::Complete));
}

#[test]
fn what_is_not_a_file_of_results_is_refused_with_its_line() {
    let refused = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert!(refused("").contains("no test"));
    assert!(refused("x,y\n").contains("line 1: 'x,y'"));
    let before = "'Test Type,Test Description\n0,x\n'Results\n";
    let bad = format!("{before}'Target Type,IOps\nALL,many\n");
    assert!(refused(&bad).contains("line 5: 'many' in column 'IOps'"));
    assert!(refused(&format!("{before}ALL,1\n")).contains("names of the columns"));
    assert!(refused("'Results\n").contains("the file ends inside results"));
}
