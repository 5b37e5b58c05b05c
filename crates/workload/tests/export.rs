//! Exports read back by our importers: the identity, for the properties that a format can express.

use super::SEVEN_STEPS;
use proptest::prelude::*;
use std::io::Cursor;
use steadfast_analysis::{Captured, Filter, PassOptions};
use steadfast_domain::io_event::{CapturedDevice, CommandName, RESPONSE_UNKNOWN, flags};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{
    AppliedWorkload, Bytes, CaptureConditions, Demand, IoEvent, IoOp, Layer, Nanos, Stimulus,
};
use steadfast_tracefile::TraceWriter;
use steadfast_tracefile::import::{ColumnPlan, ImportInput, TraceFormat, import};
use steadfast_workload::WorkloadFile;
use steadfast_workload::export::{
    ExportedIos, IoTextFormat, LoadOptions, copy_ios, loads, loads_by_stream, write_ios,
};
use steadfast_workload::replay::applied::Provenance;
use steadfast_workload::replay::{NativeSteps, StepChoice, StepSource};
use steadfast_workload::replay_representation::ReplayRepresentation;

const DEVICES: [&str; 2] = ["8:16", "259:3"];
const COMMANDS: [&str; 4] = ["postgres", "kworker/0:1", "two words", "a,[b]"];
const LETTERED: [u16; 5] =
    [flags::SYNC, flags::FUA, flags::META, flags::READ_AHEAD, flags::PREFLUSH];

fn trace(events: &[IoEvent]) -> Captured {
    let device = |name: &str| CapturedDevice {
        name: name.to_owned(),
        capacity: Some(Bytes::gib(64)),
        ..CapturedDevice::default()
    };
    let conditions = CaptureConditions {
        layers: vec![Layer::Block],
        devices: DEVICES.map(device).into(),
        lasted_ns: events.last().map_or(0, |event| event.issued_ns + 1),
        threads: true,
        ..CaptureConditions::default()
    };
    let mut writer = TraceWriter::new(Vec::new(), &conditions).unwrap();
    writer.write(events).unwrap();
    Captured::open(Cursor::new(writer.finish(conditions).unwrap())).unwrap()
}

/// I/Os of all operations. Each begins at a place of its own, and no two flushes of a device are
/// in flight at once, so that issue and completion can be matched.
fn ios() -> impl Strategy<Value = Vec<IoEvent>> {
    let one = (0..5usize, 1000..3_000_000u64, 1..=256u32, 0..2u16, 0..4usize, any::<[u16; 2]>());
    prop::collection::vec(one, 1..120).prop_map(|drawn| {
        let mut now = 10_000_000;
        let event = |(number, drawn): (usize, &_)| {
            let &(op, gap, sectors, device, command, [bits, odd]) = drawn;
            now += gap;
            let op = IoOp::ALL[op];
            let is_flush = op == IoOp::Flush;
            let is_unknown = odd % 11 == 0;
            let set = LETTERED.iter().enumerate().filter(|(place, _)| bits >> place & 1 > 0);
            let set = set.fold(0, |sum, (_, flag)| sum | flag);
            let response = if is_flush { 500 } else { u64::from(odd) * 100 };
            let response_ns = if is_unknown { RESPONSE_UNKNOWN } else { response };
            let failed = if odd % 7 == 0 && !is_unknown { flags::FAILED } else { 0 };
            IoEvent {
                issued_ns: now,
                response_ns,
                queued_ns: if is_flush { 0 } else { u64::from(bits) * 100 },
                offset: if is_flush { 0 } else { number as u64 * 1024 * 512 },
                bytes: if is_flush { 0 } else { sectors * 512 },
                pid: u32::from(odd) + 1,
                cpu: bits % 64,
                flags: failed | set,
                device,
                op,
                command: CommandName::new(COMMANDS[command]),
                ..IoEvent::default()
            }
        };
        drawn.iter().enumerate().map(event).collect()
    })
}

/// Exports all I/Os; returns the text and the losses.
fn export(events: &[IoEvent], format: IoTextFormat) -> (Vec<u8>, ExportedIos) {
    let mut text = Vec::new();
    let pass = PassOptions::default();
    let exported = write_ios(&trace(events), &pass, format, None, &mut text).unwrap();
    (text, exported)
}

/// Imports a text; returns the I/Os by issue time, each with the name of its device.
fn imported(format: &TraceFormat, text: &[u8]) -> Vec<(String, IoEvent)> {
    let input = ImportInput { name: "export".into(), content: Box::new(Cursor::new(text)) };
    let mut events = Vec::new();
    let result = import(format, vec![input], &mut |event| {
        events.push(*event);
        Ok(())
    });
    let devices = result.unwrap().conditions.devices;
    events.sort_by_key(|event| event.issued_ns);
    let named = |event: IoEvent| (devices[usize::from(event.device)].name.clone(), event);
    events.into_iter().map(named).collect()
}

/// Returns the I/Os as a format keeps them.
fn kept(events: &[IoEvent], keep: impl Fn(&IoEvent) -> IoEvent) -> Vec<(String, IoEvent)> {
    let named = |event: &IoEvent| (DEVICES[usize::from(event.device)].to_owned(), keep(event));
    events.iter().map(named).collect()
}

/// Clears the number of the device and the depth, which are counted again.
fn without_numbers(mut events: Vec<(String, IoEvent)>) -> Vec<(String, IoEvent)> {
    for (_, event) in &mut events {
        (event.device, event.depth) = (0, 0);
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn blkparse_text_is_imported_as_it_was(events in ios()) {
        let (text, exported) = export(&events, IoTextFormat::Blkparse);
        prop_assert_eq!((exported.ios, exported.lost), (events.len() as u64, Vec::new()));
        let same = kept(&events, |event| *event);
        let read = imported(&TraceFormat::Blkparse, &text);
        prop_assert_eq!(without_numbers(read), without_numbers(same));
    }

    #[test]
    fn an_iolog_is_imported_as_it_was_in_microseconds(events in ios()) {
        let (text, exported) = export(&events, IoTextFormat::FioIolog);
        let played: Vec<IoEvent> =
            events.iter().filter(|event| event.op != IoOp::Other).copied().collect();
        prop_assert_eq!(exported.ios, played.len() as u64);
        prop_assume!(!played.is_empty());
        let same = kept(&played, |event| IoEvent {
            issued_ns: event.issued_ns / 1000 * 1000,
            response_ns: RESPONSE_UNKNOWN,
            offset: event.offset,
            bytes: event.bytes,
            op: event.op,
            ..IoEvent::default()
        });
        prop_assert_eq!(without_numbers(imported(&TraceFormat::FioIolog, &text)), same);
    }

    #[test]
    fn csv_is_imported_as_it_was(events in ios(), shift in 0..512u64) {
        // Neither offsets nor sizes need be whole sectors.
        let odd = |event: &IoEvent| IoEvent { offset: event.offset + shift, ..*event };
        let events: Vec<IoEvent> = events.iter().map(odd).collect();
        let (text, exported) = export(&events, IoTextFormat::Csv);
        prop_assert_eq!((exported.ios, exported.lost), (events.len() as u64, Vec::new()));
        let plan = "time=1:ns,op=2,offset=3,bytes=4,response=5:ns,device=6,pid=7,command=8";
        let read = imported(&TraceFormat::Columns(ColumnPlan::parse(plan).unwrap()), &text);
        let first = events[0].issued_ns;
        let same = kept(&events, |event| IoEvent {
            issued_ns: event.issued_ns - first,
            queued_ns: 0,
            cpu: 0,
            flags: 0,
            ..*event
        });
        prop_assert_eq!(without_numbers(read), without_numbers(same));
    }

    #[test]
    fn a_copy_has_the_chosen_ios_with_all_their_properties(events in ios()) {
        let chosen: Vec<IoEvent> =
            events.iter().filter(|event| event.op == IoOp::Write).copied().collect();
        prop_assume!(!chosen.is_empty());
        let filter = Filter { ops: vec![IoOp::Write], ..Filter::default() };
        let pass = PassOptions { filter, ..PassOptions::default() };
        let (file, exported) = copy_ios(&trace(&events), &pass, Vec::new()).unwrap();
        prop_assert_eq!(exported.ios, chosen.len() as u64);
        let copy = Captured::open(Cursor::new(file)).unwrap();
        prop_assert!(!copy.conditions().remarks.is_empty());
        let mut batches =
            copy.ios(&PassOptions::default(), steadfast_tracefile::Fields::ALL).unwrap();
        let mut read = Vec::new();
        while let Some(rows) = batches.next_batch().unwrap() {
            read.extend(rows.iter().map(|row| rows.batch.event(row)));
        }
        let depthless = |event: IoEvent| IoEvent { depth: 0, ..event };
        prop_assert_eq!(read.into_iter().map(depthless).collect::<Vec<_>>(), chosen);
    }
}

/// What an export loses is counted: 3 of 10,007 I/Os are discards, 5 unknown operations, and 7
/// begin off a sector.
#[test]
fn properties_that_a_format_cannot_express_are_counted() {
    let events: Vec<IoEvent> = (0..10_007u64)
        .map(|number| IoEvent {
            issued_ns: number * 1_000_000,
            response_ns: 1000,
            offset: number * 4096 + u64::from(number % 1500 == 0),
            bytes: 4096,
            op: match number {
                10..13 => IoOp::Discard,
                20..25 => IoOp::Other,
                _ => IoOp::Read,
            },
            tid: u32::from(number < 2),
            ..IoEvent::default()
        })
        .collect();
    let counts = |format| {
        let (text, exported) = export(&events, format);
        // The file lists the losses where the other tool ignores them, and reads back.
        let text = String::from_utf8(text).unwrap();
        let listed = |sentence: &String| text.contains(sentence.as_str());
        assert!(
            format == IoTextFormat::Csv || exported.lost.iter().all(listed),
            "{}",
            &text[..500]
        );
        if format == IoTextFormat::Blkparse {
            let messages = exported.lost.iter().map(|lost| format!("m   N {lost}"));
            assert!(messages.zip(text.lines()).all(|(message, line)| line.ends_with(&message)));
            assert_eq!(imported(&TraceFormat::Blkparse, text.as_bytes()).len(), events.len());
        }
        if format == IoTextFormat::FioIolog {
            let first = text.lines().nth(1).unwrap();
            assert!(first.starts_with(&format!("1 {} add # ", DEVICES[1])), "{first}");
            assert!(first.len() < 4096, "fio reads no longer line");
            let read = imported(&TraceFormat::FioIolog, text.as_bytes());
            assert_eq!(read.len() as u64, exported.ios);
        }
        let count = |text: &String| text.split(' ').next().unwrap().parse::<u64>().unwrap();
        (exported.ios, exported.lost.iter().map(count).collect::<Vec<_>>())
    };
    assert_eq!(counts(IoTextFormat::FioIolog), (10_002, vec![5, 3, 10_007, 2]));
    assert_eq!(counts(IoTextFormat::Blkparse), (10_007, vec![7, 2]));
    assert_eq!(counts(IoTextFormat::Csv), (10_007, vec![]));
}

/// 600 reads and 400 writes in 10 s with 1 ms of response time: 0.1 I/Os outstanding on average,
/// so that the load is paced by 100 I/Os per second. With a demand it is a closed loop.
#[test]
fn a_capture_with_pauses_keeps_its_rate() {
    let events: Vec<IoEvent> = (0..1000u64)
        .map(|number| IoEvent {
            issued_ns: number * 10_000_000,
            response_ns: 1_000_000,
            offset: number * 7919 % 4096 * 65_536,
            bytes: 4096,
            depth: 1,
            op: if number % 5 < 3 { IoOp::Read } else { IoOp::Write },
            ..IoEvent::default()
        })
        .collect();
    let capture = trace(&events);
    let choice = StepChoice { step_ns: Some(1_000_000_000), ..StepChoice::default() };
    let native = NativeSteps::read(&StepSource::Capture(&capture), &choice).unwrap();
    let workload = native.applied(Provenance::default());
    let load_options = LoadOptions {
        by_step: false,
        demand: None,
        time: None,
        capacity: Bytes::gib(1),
        has_load_per_stream: true,
    };
    let (one, _) = loads(&workload, &load_options);
    let [load] = one.as_slice() else { panic!("{one:?}") };
    let Pace::Fixed { ios, per } = load.stimulus.pace else { panic!("{load:?}") };
    assert_eq!(ios, 1000);
    assert!((9.98..10.01).contains(&per.as_secs_f64()), "{per}");
    let own = loads_by_stream(&load.stimulus);
    let ios: Vec<_> = own.iter().map(|load| load.until.ios.unwrap()).collect();
    assert_eq!(ios, [600, 400]);
    assert_eq!(own[0].pace, Pace::Fixed { ios: 600, per });
    assert_ne!(own[0].seed, own[1].seed);
    let depths = |pace| {
        let deep = Stimulus { demand: Demand::new(1, 10), pace, ..load.stimulus.clone() };
        loads_by_stream(&deep).iter().map(|load| load.demand.depth).collect::<Vec<_>>()
    };
    assert_eq!(depths(Pace::Closed), [6, 4]);
    assert_eq!(depths(load.stimulus.pace.clone()), [10; 2]);
    let (steps, lost) = loads(&workload, &LoadOptions { by_step: true, ..load_options });
    assert_eq!((steps.len(), lost.len()), (10, 0));
    assert_eq!(steps[4].stimulus.pace, Pace::Fixed { ios: 100, per: Nanos::from_secs(1) });
    let arrivals = Some(Pace::poisson(100.0));
    let random = AppliedWorkload { arrivals, ..workload.clone() };
    let (steps, lost) = loads(&random, &LoadOptions { by_step: true, ..load_options });
    assert_eq!(steps[4].stimulus.pace, Pace::Poisson { ios: 100, per: Nanos::from_secs(1) });
    assert_eq!(lost.len(), 1);
    let own = loads_by_stream(&loads(&random, &load_options).0[0].stimulus);
    assert_eq!(own[1].pace, Pace::poisson(40.0));
    let closed = LoadOptions { demand: Some(Demand::new(1, 10)), ..load_options };
    let own = loads_by_stream(&loads(&workload, &closed).0[0].stimulus);
    assert!(own.iter().all(|load| load.pace == Pace::Closed));
    assert_eq!(own.iter().map(|load| load.demand.depth).collect::<Vec<_>>(), [6, 4]);
}

/// The tutorial's seven steps keep their own compression and duplicates through a workload file,
/// in whole percent.
#[test]
fn a_workload_file_returns_the_steps_that_it_keeps() {
    let (text, _) = ReplayRepresentation::read(SEVEN_STEPS.as_bytes()).unwrap();
    let native = super::native(&StepSource::Representation(&text));
    let file = WorkloadFile {
        workload: native.workload.clone(),
        steps: native.steps.clone(),
        ..WorkloadFile::default()
    };
    let again = ReplayRepresentation::from_workload(&file).unwrap();
    assert_eq!(again.steps.len(), 7);
    let ios = |text: &ReplayRepresentation| -> Vec<(u64, u64, Option<u32>)> {
        text.steps.iter().map(|step| (step.count, step.amount, step.qd_max)).collect()
    };
    assert_eq!(ios(&again), ios(&text));
    for (step, same) in again.steps.iter().zip(&text.steps) {
        let share = |ratio: Option<f64>| 100.0 / ratio.unwrap();
        assert!((share(step.compression_ratio) - share(same.compression_ratio)).abs() <= 0.5);
        let duplicates = same.duplicate_percent.unwrap();
        assert!((step.duplicate_percent.unwrap() - duplicates).abs() <= 0.5, "{duplicates}");
        assert_eq!(step.streams.len(), same.streams.len());
    }
    assert_eq!(ReplayRepresentation::from_workload(&WorkloadFile::default()), None);
}

/// A step without random bytes, one of other data, and one that only reads are read back unchanged.
/// The data of all is that of the written bytes: (0 + 3 x 50) / 4 is 38 % random.
#[test]
fn the_data_of_steps_survive_a_workload_file() {
    let text = "### Replay representation for workload 'w'\n\
        ## Step 1\n0 60 3 12288 0.5 9 1 1 1000.00 100\nRND 4K W RND 4096 W 33.33 1 33.33 4096\n\
        RND 4K R RND 4096 R 66.67 2 66.67 8192\n\
        ## Step 2\n60 60 3 12288 0.5 9 1 1 2.00 20\nRND 4K W RND 4096 W 100 3 100 12288\n\
        ## Step 3\n120 60 4 16384 0.5 9 1 1 - -\nRND 4K R RND 4096 R 100 4 100 16384\n";
    let (text, warnings) = ReplayRepresentation::read(text.as_bytes()).unwrap();
    assert_eq!(warnings, []);
    let ratio = text.conditions().compression_ratio.unwrap();
    assert!((100.0 / ratio - 37.5).abs() < 0.1, "{ratio}");
    assert_eq!(text.conditions().duplicate_share, Some(0.4));
    let native = super::native(&StepSource::Representation(&text));
    let file = WorkloadFile {
        workload: native.workload.clone(),
        steps: native.steps.clone(),
        data_pattern: "entropy:38,40".parse().unwrap(),
        ..WorkloadFile::default()
    };
    let again = ReplayRepresentation::from_workload(&file).unwrap();
    let data = |text: &ReplayRepresentation| -> Vec<(Option<f64>, Option<f64>)> {
        text.steps.iter().map(|step| (step.compression_ratio, step.duplicate_percent)).collect()
    };
    assert_eq!(data(&again), data(&text));
}
