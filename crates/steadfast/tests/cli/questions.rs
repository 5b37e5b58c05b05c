//! Questions of an administrator about a capture, on a trace whose I/Os the test counts again by the
//! rules of docs/trace.md.

use super::fixtures::*;
use super::synthetic_captures::{BEGAN, SECOND, SeededRandom, two_drives, write_trace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use steadfast_domain::io_event::{
    CaptureCost, CapturedDevice, CommandName, IncompleteIos, Mark, RESPONSE_UNKNOWN,
    TimeZoneChange, flags,
};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp, Layer, TimeZone};

const HOUR: u64 = 3600 * SECOND;

fn conditions() -> CaptureConditions {
    CaptureConditions {
        marks: vec![Mark { at_ns: 3 * HOUR, name: "backup".into() }],
        workload: Some("shop".into()),
        comment: Some("a quiet weekend".into()),
        ..two_drives(50 * HOUR)
    }
}

/// 10,007 I/Os over 50 hours, none of them sequential, of few kinds.
fn ios() -> Vec<IoEvent> {
    let mut random = SeededRandom(11);
    let mut draw = |below: u64| random.below(below);
    let mut one = |n: u64| {
        let kind = draw(7);
        let (pid, name) =
            [(100, "mysqld"), (101, "mysqld"), (200, "backup"), (0, "")][draw(4) as usize];
        IoEvent {
            issued_ns: n * 17_987 * 1_000_000,
            response_ns: if draw(97) == 0 { RESPONSE_UNKNOWN } else { 50_000 + draw(900_000) },
            queued_ns: draw(3) * 40_000,
            offset: 8192 * (n % 3 * 1_000_003 + n * 2),
            bytes: [4096, 8192, 65_536][kind as usize % 3],
            depth: 1 + draw(9) as u32,
            pid,
            cpu: draw(4) as u16,
            flags: [0, flags::SYNC, flags::SYNC | flags::FUA, flags::META][draw(4) as usize],
            device: u16::from(kind == 5),
            op: if kind < 4 { IoOp::Read } else { IoOp::Write },
            command: CommandName::new(name),
            ..IoEvent::default()
        }
    };
    (0..10_007).map(&mut one).collect()
}

fn json(here: &Path, command: &str) -> serde_json::Value {
    succeed_json(here, &format!("{command} --json"))
}

fn rows(found: &serde_json::Value) -> Vec<serde_json::Value> {
    array(found).clone()
}

/// A capture in a directory of its own.
fn captured() -> (TestDirectory, Vec<IoEvent>) {
    let directory = TestDirectory::new();
    let ios = ios();
    write_trace(directory.join("t.parquet"), conditions(), &ios);
    (directory, ios)
}

#[test]
fn processes_and_streams_together_are_counted_exactly() {
    let (here, ios) = &captured();
    let by = "trace groups t.parquet --by process,stream";
    let found = json(here, by);
    let mut expected: BTreeMap<(u64, String), Vec<&IoEvent>> = BTreeMap::new();
    for io in ios {
        let op = if io.op == IoOp::Read { "R" } else { "W" };
        let stream = format!("RND {}K {op}", io.bytes / 1024);
        expected.entry((u64::from(io.pid), stream)).or_default().push(io);
    }
    let groups = rows(&found["groups"]);
    assert_eq!(groups.len(), expected.len());
    assert_eq!(found["total"]["count"], 10_007);
    for group in &groups {
        let key =
            (group["pid"].as_u64().unwrap_or(0), group["stream"].as_str().unwrap().to_owned());
        let ios = &expected[&key];
        let answered: Vec<u64> =
            ios.iter().map(|io| io.response_ns).filter(|ns| *ns != RESPONSE_UNKNOWN).collect();
        let queued: Vec<u64> = ios.iter().map(|io| io.queued_ns).filter(|ns| *ns > 0).collect();
        let both = ios.iter().filter(|io| io.queued_ns > 0 && io.response_ns != RESPONSE_UNKNOWN);
        let (wait, serve) = both
            .fold((0u64, 0u64), |(wait, serve), io| (wait + io.queued_ns, serve + io.response_ns));
        let share = |bit: u16| {
            ios.iter().filter(|io| io.flags & bit != 0).count() as f64 / ios.len() as f64
        };
        assert_eq!(group["count"], ios.len());
        assert_eq!(group["amount"], ios.iter().map(|io| u64::from(io.bytes)).sum::<u64>());
        assert_eq!(group["qd_max"], ios.iter().map(|io| io.depth).max().unwrap());
        assert_eq!(group["response"]["count"], answered.len());
        let mean = answered.iter().sum::<u64>() / answered.len() as u64;
        assert_eq!(group["response"]["mean_ns"], mean);
        assert_eq!(group["response"]["max_ns"], *answered.iter().max().unwrap());
        assert_eq!(group["queued"]["count"], queued.len());
        assert_eq!(group["queued"]["mean_ns"], queued.iter().sum::<u64>() / queued.len() as u64);
        assert_eq!(group["queue_share"], wait as f64 / (wait + serve) as f64);
        assert_eq!(group["flags"]["sync"], share(flags::SYNC));
        assert_eq!(group["flags"]["fua"], share(flags::FUA));
        assert_eq!(group["flags"]["metadata"], share(flags::META));
        assert_eq!(group["flags"]["read_ahead"], 0.0);
    }
    let text = succeed(here, &format!("{by} --show kinds --top 3"));
    assert!(text.contains("metadata %") && text.contains("more groups with --top"), "{text}");
    let command = json(here, "trace groups t.parquet --by command");
    let mysqld = ios.iter().filter(|io| io.command == CommandName::new("mysqld")).count();
    let found = rows(&command["groups"]);
    assert!(found.iter().any(|g| g["command"] == "mysqld" && g["count"] == mysqld), "{found:?}");
    refuse(here, "trace groups t.parquet --by color", &["color"]);
}

#[test]
fn drives_have_their_processes_and_bytes() {
    let (here, ios) = &captured();
    let found = rows(&json(here, "trace drives t.parquet")["drives"]);
    let of = |device: Option<u16>, op: Option<IoOp>| {
        let chosen = ios.iter().filter(move |io| device.is_none_or(|device| device == io.device));
        chosen.filter(move |io| op.is_none_or(|op| op == io.op))
    };
    let bytes = |device, op| of(device, Some(op)).map(|io| u64::from(io.bytes)).sum::<u64>();
    for (row, device) in found.iter().zip([Some(0), Some(1), None]) {
        let pids: BTreeSet<u32> =
            of(device, None).map(|io| io.pid).filter(|pid| *pid > 0).collect();
        assert_eq!(row["count"], of(device, None).count());
        assert_eq!(row["processes"], pids.len());
        assert_eq!(row["read"], bytes(device, IoOp::Read));
        assert_eq!(row["written"], bytes(device, IoOp::Write));
    }
    assert_eq!((&found[0]["model"], &found[1]["model"]), (&"FAST".into(), &"SLOW".into()));
    let text = succeed(here, "trace drives t.parquet");
    assert!(text.contains("Workload: shop") && text.contains("Comment: a quiet weekend"), "{text}");
}

/// The number of I/Os that were issued in one of the spans.
fn issued_in(ios: &[IoEvent], spans: &[(u64, u64)]) -> u64 {
    let is_inside =
        |io: &&IoEvent| spans.iter().any(|(from, to)| (*from..*to).contains(&io.issued_ns));
    ios.iter().filter(is_inside).count() as u64
}

#[test]
fn times_are_given_by_the_clock_and_by_marks() {
    let (here, ios) = &captured();
    let kept = |filter: &str| {
        let streams = json(here, &format!("trace streams t.parquet {filter}"));
        streams["account"]["kept"].as_u64().unwrap()
    };
    let inside = |spans: &[(u64, u64)]| issued_in(ios, spans);
    let night = (3 * HOUR, 3 * HOUR + HOUR / 2);
    let day = 24 * HOUR;
    let nights = inside(&[night, (night.0 + day, night.1 + day)]);
    assert_eq!(kept("--from 02:00 --to 02:30"), nights);
    // The same on a clock an hour behind it.
    assert_eq!(kept("--from 01:00 --to 01:30 --time-zone UTC"), nights);
    let on_the_22nd = inside(&[(night.0 + day, night.1 + day)]);
    assert_eq!(kept("--from '2026-11-22 02:00' --to 2026-11-22T02:30:00"), on_the_22nd);
    let after_backup = inside(&[(3 * HOUR + HOUR / 12, 4 * HOUR + HOUR / 2)]);
    assert_eq!(kept("--from backup+5min --to 4h30min"), after_backup);
    let dates = ["2026-11-20 23:00:00 to 2026-11-23 01:00:00"];
    refuse(here, "trace streams t.parquet --from 2027-01-01", &dates);
    let order = ["--from 2 h is not before --to 1 h"];
    refuse(here, "trace streams t.parquet --from 2h --to 1h", &order);
    let text = succeed(here, "trace steps t.parquet --step 1h");
    assert!(text.contains("2026-11-21 02:00:00"), "{text}");
    let text = succeed(here, "trace steps t.parquet --step 1h --time-axis relative");
    assert!(text.contains("Start s") && text.contains("10800.0000"), "{text}");
}

#[test]
fn a_night_with_a_change_of_the_clock_has_its_hours() {
    // On 2026-10-25 at 01:00 UTC the clock goes back from 03:00 to 02:00; the capture begins
    // at noon of the day before.
    let (here, ios) = &captured();
    let change =
        TimeZoneChange { at_unix_s: 1_792_890_000, offset_s: 3600, name: Some("CET".into()) };
    let zone = TimeZone { changes: vec![change], ..TimeZone::fixed(7200, Some("CEST")) };
    let began_unix_ns = Some(1_792_836_000 * SECOND);
    write_trace(
        here.join("night.parquet"),
        CaptureConditions { began_unix_ns, zone: Some(zone), ..conditions() },
        ios,
    );
    let inside = |spans: &[(u64, u64)]| issued_in(ios, spans);
    let (change, half) = (15 * HOUR, HOUR / 2);
    let spans = [
        (change - HOUR, change - half),
        (change, change + half),
        (change + 24 * HOUR, change + 24 * HOUR + half),
    ];
    let window = json(here, "trace streams night.parquet --from 02:00 --to 02:30");
    assert_eq!(window["account"]["kept"], inside(&spans));
    // Both hours of 2:00 to 3:00 of that night, and the one of the next.
    let profile = json(here, "trace profile night.parquet");
    let hours = rows(&profile["intervals"]);
    let two = hours.iter().find(|hour| hour["begin_ns"] == 2 * HOUR).unwrap();
    let hours = [(change - HOUR, change + HOUR), (change + 24 * HOUR, change + 25 * HOUR)];
    assert_eq!(two["count"], inside(&hours));
    assert_eq!((&two["observed_ns"], &two["days"]), (&(3 * HOUR).into(), &2.into()));
    let text = succeed(here, "trace steps night.parquet --step 1h");
    let at = |time: &str| text.find(time).unwrap_or_else(|| panic!("{time}: {text}"));
    assert!(at("2026-10-25 02:00:00 +02:00") < at("2026-10-25 02:00:00 +01:00"));
    assert!(at("2026-10-25 02:00:00 +01:00") < at("2026-10-25 03:00:00 +01:00"));
    // The same in the report's pictures, unless relative times are wanted.
    let axis = |name: &str, more: &str| {
        let report = format!("trace report night.parquet --format json -o {name} {more}");
        succeed(here, &report);
        findings(here.join(name))["form_pages"][1]["exhibits"][0]["plot"]["x"].clone()
    };
    let clocked = axis("r", "");
    let label = "Time on 2026-10-24 to 2026-10-26, CEST and CET (s)";
    assert_eq!(clocked["label"], label, "{clocked}");
    let clock = rows(&clocked["clock"]);
    assert_eq!(clock[0]["ahead_s"], 1_792_836_000.0 + 7200.0);
    assert_eq!(clock[1]["from"], 54_000.0);
    assert_eq!(clock[1]["ahead_s"], 1_792_839_600.0);
    let relative = axis("q", "--time-axis relative");
    assert_eq!(relative["label"], "Time since the capture began (s)");
    assert!(relative["clock"].is_null());
}

#[test]
fn a_profile_of_the_day_adds_the_days_up() {
    let (here, ios) = &captured();
    let found = json(here, "trace profile t.parquet --step 30min");
    let intervals = rows(&found["intervals"]);
    assert_eq!(intervals.len(), 48);
    let sum: u64 = intervals.iter().map(|one| one["count"].as_u64().unwrap()).sum();
    assert_eq!(sum, 10_007);
    let local = |io: &IoEvent| (BEGAN + HOUR + io.issued_ns) % (24 * HOUR);
    for (number, interval) in intervals.iter().enumerate() {
        let begin = number as u64 * HOUR / 2;
        let inside = |io: &&IoEvent| (begin..begin + HOUR / 2).contains(&local(io));
        let ios: Vec<&IoEvent> = ios.iter().filter(inside).collect();
        // From Friday 23:00 to Sunday 01:00: two days and the hours 23 and 0 three times.
        let days = if !(2..46).contains(&number) { 3 } else { 2 };
        assert_eq!((&interval["days"], &interval["count"]), (&days.into(), &ios.len().into()));
        let iops = interval["iops"].as_f64().unwrap();
        assert!((iops - ios.len() as f64 / (days * 1800) as f64).abs() < 1e-9, "{interval}");
    }
    refuse(here, "trace profile t.parquet --step 7h", &["divide a day"]);
}

#[test]
fn what_changed_most_comes_first() {
    let (here, ios) = &captured();
    // A week later, for half as long: backup's writes have doubled their rate.
    let half: Vec<IoEvent> = ios.iter().filter(|io| io.issued_ns < 25 * HOUR).copied().collect();
    let is_backup = |io: &&IoEvent| io.pid == 200 && io.op == IoOp::Write;
    let more = half.iter().filter(is_backup);
    let more = more.map(|io| IoEvent { issued_ns: io.issued_ns + 1, pid: 300, ..*io });
    let mut after: Vec<IoEvent> = half.iter().copied().chain(more).collect();
    after.sort_by_key(|io| io.issued_ns);
    let later = CaptureConditions {
        began_unix_ns: Some(BEGAN + 7 * 24 * HOUR),
        lasted_ns: 25 * HOUR,
        ..conditions()
    };
    write_trace(here.join("after.parquet"), later, &after);
    let found = json(here, "trace compare t.parquet after.parquet --by process");
    assert_eq!((&found["align"], &found["by"]), (&"start".into(), &"process".into()));
    let first = &rows(&found["deltas"])[0];
    assert_eq!(first["name"], "backup");
    let count = |ios: &[IoEvent]| {
        ios.iter().filter(|io| io.command == CommandName::new("backup")).count() as f64
    };
    let rates = [count(ios) / 180_000.0, count(&after) / 90_000.0];
    assert!((first["a"]["iops"].as_f64().unwrap() - rates[0]).abs() < 1e-12);
    assert!((first["b"]["iops"].as_f64().unwrap() - rates[1]).abs() < 1e-12);
    let change = first["change"]["iops"].as_f64().unwrap();
    assert!((change - (rates[1] / rates[0] - 1.0)).abs() < 1e-12);
    // From the mark on in both; by the clock there is nothing to compare.
    let marked = "trace compare t.parquet after.parquet --by stream --align mark:backup";
    let found = json(here, marked);
    let from_mark = |ios: &[IoEvent]| ios.iter().filter(|io| io.issued_ns >= 3 * HOUR).count();
    assert_eq!(found["total"]["a"]["count"], from_mark(ios));
    assert_eq!(found["total"]["b"]["count"], from_mark(&after));
    assert_eq!(found["observed_ns"][0], 47 * HOUR);
    let clock = "trace compare t.parquet after.parquet --by device --align clock";
    refuse(here, clock, &["do not overlap"]);
    refuse(here, "trace compare t.parquet --by device", &["two captures"]);
    // Side by side they begin together: no thousands of empty lines.
    let text = succeed(here, "trace compare t.parquet after.parquet --step 1h");
    assert!(text.lines().count() < 60, "{text}");
    let report = "trace compare t.parquet after.parquet --by stream -o r --format html,csv,json";
    succeed(here, report);
    for name in ["report.html", "findings.json", "changes.csv"] {
        assert!(here.join("r").join(name).exists(), "{name}");
    }
}

#[test]
fn a_doctor_lists_what_limits_the_trust() {
    let (here, ios) = &captured();
    let found = json(here, "trace doctor t.parquet");
    let count = |is: fn(&IoEvent) -> bool| ios.iter().filter(|io| is(io)).count();
    let quality = &found["quality"];
    assert_eq!(quality["no_response"], count(|io| io.response_ns == RESPONSE_UNKNOWN));
    assert_eq!(quality["no_process"], count(|io| io.pid == 0));
    assert_eq!(quality["no_queue_time"], count(|io| io.queued_ns == 0));
    assert_eq!(quality["beyond_device"], 0);
    let ids = |found: &serde_json::Value| -> BTreeSet<String> {
        rows(&found["limits"]).iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        ids(&found),
        ["no-processes", "no-queue-times", "no-response-times"].map(String::from).into()
    );
    let poor = CaptureConditions {
        lost: 3,
        in_part: Some(IncompleteIos { begun_before: 2, unended: 5, too_many: 1 }),
        began_unix_ns: None,
        zone: None,
        layers: vec![Layer::Block, Layer::FileSystem],
        process: Some(100),
        devices: vec![CapturedDevice { name: "vda".into(), ..CapturedDevice::default() }],
        cost_ns: Some(CaptureCost { kernel_ns: Some(3 * HOUR), user_ns: 2 * HOUR }),
        ..conditions()
    };
    write_trace(here.join("poor.parquet"), poor, &ios[..1009]);
    let found = json(here, "trace doctor poor.parquet");
    let expected = [
        "events-lost", "ios-omitted", "ends-missed", "no-clock", "two-layers", "one-process",
        "sizes-unknown", "capture-cost",
    ];
    let missing: Vec<&str> = expected.into_iter().filter(|id| !ids(&found).contains(*id)).collect();
    assert_eq!(missing, [""; 0], "{:?}", ids(&found));
    for limit in rows(&found["limits"]).iter().filter(|one| one["id"] == "events-lost") {
        assert!(limit["remedy"].as_str().unwrap().contains("larger buffer"), "{limit}");
    }
    // Whatever the program says of a capture has a remedy.
    let told = CaptureConditions {
        unseen: vec![("files mapped into memory (mmap), whose reads".into(), 3)],
        remarks: vec!["Written by hand.".into()],
        ..conditions()
    };
    write_trace(here.join("told.parquet"), told, &ios[..101]);
    let log = "fio version 2 iolog\nsda add\nsda open\nsda read 0 512\n";
    std::fs::write(here.join("log"), log).unwrap();
    succeed(here, "trace import log -o log.parquet");
    for (file, without) in [("log.parquet", &[][..]), ("told.parquet", &["Written by hand."])] {
        let found = json(here, &format!("trace doctor {file}"));
        let limits = array(&found["limits"]).iter();
        let no_remedy: Vec<&str> = limits
            .filter(|limit| limit["remedy"].as_str().unwrap().is_empty())
            .filter_map(|limit| limit["text"].as_str())
            .collect();
        assert_eq!(no_remedy, without, "{file}");
    }
    let text = succeed(here, "trace doctor poor.parquet");
    assert!(text.contains("Problems") && text.contains("larger buffer"), "{text}");
    // The same list, and the same groups, stand in the report.
    succeed(here, "trace report poor.parquet -o r --format json");
    let caveats = rows(&findings(here.join("r"))["caveats"]);
    for limit in rows(&found["limits"]) {
        assert!(caveats.contains(&limit), "{limit}");
    }
    let chapters = findings(here.join("r"))["chapters"].to_string();
    let has = |chapters: &str, table: &str| chapters.contains(&format!("\"id\":\"{table}\""));
    let of_kernel = ["queue-times", "queue-times-processes", "kinds", "kinds-processes"];
    for table in ["drives", "process-streams", "hot-0"].iter().chain(&of_kernel) {
        assert!(has(&chapters, table), "{table}");
    }
    // A log of fio has neither queue times nor flags: there are no tables of dashes.
    succeed(here, "trace report log.parquet -o from-log --format json");
    let report = std::fs::read_to_string(here.join("from-log/findings.json")).unwrap();
    for table in of_kernel {
        assert!(!has(&report, table), "{table}");
    }
}

#[test]
fn a_report_in_narrow_steps_shows_them_around_two_moments() {
    let (here, ios) = &captured();
    succeed(here, "trace report t.parquet --step 100us -o r --format json");
    let pages = rows(&findings(here.join("r"))["chapters"]);
    let page = pages.iter().find(|page| page["title"].as_str().unwrap().contains("100")).unwrap();
    let text = page.to_string();
    assert!(text.contains("window-0") && text.contains("window-1"), "{text}");
    let known = ios.iter().map(|io| io.response_ns).filter(|time| *time != RESPONSE_UNKNOWN);
    let slowest = known.max().unwrap() as f64 / 1e6;
    let points = page["exhibits"].to_string();
    assert!(points.contains(&format!("{slowest}")), "{slowest} {points}");
}

#[test]
fn a_cache_that_holds_everything_misses_what_is_new() {
    let (here, ios) = &captured();
    let found = json(here, "trace locality t.parquet");
    let devices = rows(&found["devices"]);
    assert_eq!(devices.len(), 2);
    for (number, device) in devices.iter().enumerate() {
        let ios = ios.iter().filter(|io| usize::from(io.device) == number);
        let blocks = |io: &IoEvent| {
            let first = io.offset / 4096;
            first..first + u64::from(io.bytes) / 4096
        };
        let accesses: Vec<u64> = ios.flat_map(blocks).collect();
        let touched: BTreeSet<u64> = accesses.iter().copied().collect();
        assert_eq!(device["accesses"], accesses.len());
        assert_eq!(device["touched_bytes"], touched.len() as f64 * 4096.0);
        assert_eq!(device["reuse"]["count"], accesses.len() - touched.len());
        let largest = rows(&device["curve"]).last().cloned().unwrap();
        let new = touched.len() as f64 / accesses.len() as f64;
        assert!((largest["misses"].as_f64().unwrap() - new).abs() < 1e-12, "{largest}");
    }
    let text = succeed(here, "trace locality t.parquet --device sda");
    assert!(text.contains("exact") && text.contains("Cache MB"), "{text}");
}

/// Throughput is the data of reads and writes: 1,000 writes of 4 KiB in 10 s are 0.4096 MB/s,
/// whatever was discarded.
#[test]
fn discards_are_no_throughput() {
    let here = &TestDirectory::new();
    let conditions = CaptureConditions { lasted_ns: 10 * SECOND, ..conditions() };
    let io = |n: u64| IoEvent {
        issued_ns: n * 9_000_000,
        response_ns: 1000,
        offset: n * 40_960,
        bytes: if n == 500 { 4_000_000_000 } else { 4096 },
        op: if n == 500 { IoOp::Discard } else { IoOp::Write },
        ..IoEvent::default()
    };
    write_trace(here.join("t.parquet"), conditions, &(0..1001).map(io).collect::<Vec<_>>());
    for file in ["t.parquet", "t.fold"] {
        if file == "t.fold" {
            succeed(here, "trace fold t.parquet --step 1s -o t.fold");
        }
        succeed(here, &format!("trace report {file} --format json -o of-{file}"));
        let found = findings(here.join(format!("of-{file}")));
        let figures = rows(&found["front"]["figures"]);
        let rate = figures.iter().find(|figure| figure["id"] == "rate").unwrap();
        assert!((rate["value"].as_f64().unwrap() - 0.4096).abs() < 1e-9, "{file}: {rate}");
        let discards = "discards: below 0.1 % of the I/Os, 99.9 % of the bytes";
        assert!(found.to_string().contains(discards), "{file}");
    }
}

/// A file of a rotated capture counts the I/Os outstanding at its end, whose completions it has.
#[test]
fn an_io_with_a_response_time_is_not_missed() {
    let here = &TestDirectory::new();
    let in_part = Some(IncompleteIos { unended: 1, ..IncompleteIos::default() });
    let conditions = CaptureConditions { in_part, ..conditions() };
    let write = |name: &str, last_ns: u64| {
        let io = |n: u64| IoEvent {
            issued_ns: n * SECOND,
            response_ns: if n == 9 { last_ns } else { 1000 },
            bytes: 4096,
            ..IoEvent::default()
        };
        let ios: Vec<IoEvent> = (0..10).map(io).collect();
        write_trace(here.join(name), conditions.clone(), &ios);
    };
    write("whole.parquet", 1000);
    write("missed.parquet", RESPONSE_UNKNOWN);
    let misses_ends = |file: &str| {
        let output = run_in(here, &format!("trace doctor {file} --json"));
        stdout(&output).contains("ends-missed")
    };
    assert!(!misses_ends("whole.parquet"));
    assert!(misses_ends("missed.parquet"));
}

/// Every question refuses a filter that nothing passes; a file may stand before its question.
#[test]
fn a_filter_that_nothing_passes_is_refused() {
    let (here, _) = &captured();
    for question in ["streams", "steps", "hosts", "groups", "processes", "drives", "profile"] {
        refuse(here, &format!("trace {question} t.parquet --from 99h"), &["no I/O passes"]);
    }
    let on_name = json(here, "trace streams t.parquet --device sda");
    let on_path = json(here, "trace streams t.parquet --device /dev/sda");
    assert_eq!(on_name["total"], on_path["total"]);
    refuse(here, "trace t.parquet streams", &["steadfast trace streams t.parquet"]);
    refuse(here, "streams t.parquet", &["steadfast trace streams t.parquet"]);
}
