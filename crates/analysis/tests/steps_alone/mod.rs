//! The same I/Os kept one by one and as capture steps: the workload is the same, and so is the
//! report, except for what needs single I/Os.

use super::synthetic::{SECOND, SyntheticServer};
use super::{key, server, synthetic};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use steadfast_analysis::cells::{Dimensions, FilteredCells};
use steadfast_analysis::device_layer::DeviceLayer;
use steadfast_analysis::questions::hits::{HitMap, HitSteps};
use steadfast_analysis::questions::steps::{CaptureStep, StepTimes};
use steadfast_analysis::questions::working_set::WorkingSet;
use steadfast_analysis::{
    AnnotatedRows, Captured, Derivation, Filter, Fold, PassOptions, Study, StudyOptions, findings,
};
use steadfast_domain::findings::{Exhibit, Page};
use steadfast_domain::io_event::{StreamInStep, flags};
use steadfast_domain::{IoEvent, IoOp, Layer};
use steadfast_tracefile::{Fields, NotRecorded, StepWriter, TraceError};

const SECONDS: u64 = 80;

/// The rows that a capture of steps records, made from single I/Os or read back.
#[derive(Default)]
pub struct StepRows(pub Vec<StreamInStep>);

impl Fold for StepRows {
    fn fields(&self) -> Fields {
        Fields::ALL
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        self.0.extend(rows.iter().map(|row| {
            let io = IoEvent { depth: rows.depth[row], ..rows.batch.event(row) };
            StreamInStep::from_io(&io, rows.sequential[row], SECOND)
        }));
        Ok(())
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        self.0.extend(cells.cells.iter().map(|cell| StreamInStep {
            step: cell.begin_ns / cells.step_ns,
            device: cell.device,
            layer: cell.layer,
            op: cell.op,
            sequential: cell.sequential,
            bytes: cell.bytes,
            pid: cell.who.pid,
            command: cell.who.command,
            ios: cell.ios,
            failed: cell.flag(flags::FAILED),
            responses: cell.responses.total.count,
            response_sum_ns: cell.responses.total.sum_ns,
            response_max_ns: cell.responses.total.max_ns,
            response_buckets: cell.responses.buckets.clone(),
            depth_sum: cell.depths.sum,
            depth_max: cell.depths.max,
            offsets: cell.offsets,
        }));
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.0.extend(other.0);
        Ok(())
    }
}

fn both() -> (Captured, Captured) {
    both_of(server(SECONDS))
}

fn both_of(trace: Captured) -> (Captured, Captured) {
    let mut rows = StepRows::default();
    trace.run(&PassOptions::default(), &mut [&mut rows]).unwrap();
    let mut conditions = synthetic::conditions(SECONDS);
    conditions.step_ns = Some(SECOND);
    let mut writer = StepWriter::new(Vec::new(), &conditions).unwrap();
    for rows in rows.0.chunks(4001) {
        writer.add(rows);
        writer.flush_before(rows[0].step).unwrap();
    }
    let file = writer.finish(&conditions).unwrap();
    (trace, Captured::open(Cursor::new(file)).unwrap())
}

fn studies(options: &StudyOptions) -> (Study, Study) {
    let (trace, steps) = both();
    (Study::read(&trace, options).unwrap(), Study::read(&steps, options).unwrap())
}

/// Every other I/O is at the file-system layer.
#[test]
fn layers_are_distinguished_in_both() {
    let mut events: Vec<IoEvent> = super::by_completion(SyntheticServer::new(SECONDS, 500));
    for event in events.iter_mut().skip(1).step_by(2) {
        (event.layer, event.inode, event.depth) = (Layer::FileSystem, 7, 0);
    }
    let (trace, steps) = both_of(super::opened(&events, synthetic::conditions(SECONDS)).into());
    for layer in [None, Some(Layer::Block), Some(Layer::FileSystem)] {
        let pass =
            PassOptions { filter: Filter { layer, ..Filter::default() }, ..PassOptions::default() };
        let options = StudyOptions { pass, ..in_steps(5) };
        let derived = [&trace, &steps].map(|file| Derivation::read(file, &options, false).unwrap());
        assert_eq!(derived[0].totals.workload, derived[1].totals.workload);
        assert_eq!(derived[0].streams_over_time.steps(), derived[1].streams_over_time.steps());
        let ios = |steps: &BTreeMap<u64, CaptureStep>| steps.values().map(|s| s.ios()).sum();
        let sides = [&trace, &steps].map(|file| -> Vec<(DeviceLayer, u64)> {
            let study = Study::read(file, &options).unwrap();
            study.sides.iter().map(|steps| (steps.side, ios(&steps.steps))).collect()
        });
        assert_eq!(sides[0], sides[1]);
        assert_eq!(sides[0].len(), if layer.is_none() { 4 } else { 2 });
    }
}

#[test]
fn single_ios_are_filtered_in_order_and_unavailable_from_steps() {
    let (trace, steps) = both();
    let filter = Filter { ops: vec![IoOp::Write], devices: vec![0], ..Filter::default() };
    let pass = PassOptions {
        filter: filter.within(&[(20 * SECOND, 60 * SECOND)]),
        ..PassOptions::default()
    };
    let mut ios = trace.ios(&pass, Fields::ALL).unwrap();
    let mut found = Vec::new();
    while let Some(rows) = ios.next_batch().unwrap() {
        found.extend(rows.iter().map(|row| rows.batch.event(row)));
    }
    assert_eq!(ios.account().kept, found.len() as u64);
    let expected = SyntheticServer::new(SECONDS, 500).filter(|io| {
        let time = 20 * SECOND..60 * SECOND;
        io.op == IoOp::Write && io.device == 0 && time.contains(&io.issued_ns)
    });
    assert_eq!(found, expected.collect::<Vec<IoEvent>>());
    assert!(matches!(
        steps.ios(&pass, Fields::ALL).err(),
        Some(TraceError::NotRecorded(NotRecorded::SingleIos))
    ));
}

/// The refusal comes before anything is read.
#[test]
fn questions_that_need_single_ios_are_refused_by_name() {
    let (_, steps) = both();
    let refused = |fold: &mut dyn Fold| match steps.run(&PassOptions::default(), &mut [fold]) {
        Err(TraceError::NotRecorded(what)) => Some(what),
        _ => None,
    };
    let mut map = HitMap::new(0, 1 << 30, 9, HitSteps::over((0, SECOND), 9));
    assert_eq!(refused(&mut map), Some(NotRecorded::HitMaps));
    assert_eq!(refused(&mut WorkingSet::new(0, 1 << 30)), Some(NotRecorded::WorkingSets));
    assert!(steps.check_recorded(NotRecorded::Processes).is_ok());
    for what in NotRecorded::ALL.into_iter().filter(|what| *what != NotRecorded::Processes) {
        let text = steps.check_recorded(what).unwrap_err().to_string();
        assert!(text.contains("no single I/O") && text.len() < 300, "{text}");
    }
}

#[test]
fn single_ios_and_steps_are_not_combined() {
    let (trace, steps) = both();
    let error = Captured::together(vec![steps, trace]).err().unwrap().to_string();
    assert!(error.contains("trace compare"), "{error}");
}

fn in_steps(seconds: u64) -> StudyOptions {
    StudyOptions { step_ns: Some(seconds * SECOND), ..StudyOptions::default() }
}

/// Returns a step without the values that need single I/Os.
fn without_single_ios(step: &CaptureStep) -> CaptureStep {
    let times =
        StepTimes { queued: Default::default(), together: Default::default(), ..step.times };
    CaptureStep { busy_ns: 0, times, ..step.clone() }
}

fn derivations(options: &StudyOptions) -> (Derivation, Derivation) {
    let (trace, steps) = both();
    let derivation = |file| Derivation::read(file, options, true).unwrap();
    (derivation(&trace), derivation(&steps))
}

/// Returns the steps with I/Os, without the values that need single I/Os.
fn comparable(steps: &BTreeMap<u64, CaptureStep>) -> Vec<(u64, CaptureStep)> {
    let steps = steps.iter().filter(|(_, step)| step.ios() > 0);
    steps.map(|(number, step)| (*number, without_single_ios(step))).collect()
}

#[test]
fn both_give_the_same_workload_streams_and_steps() {
    let (every, alone) = derivations(&in_steps(5));
    assert_eq!(every.totals.workload, alone.totals.workload);
    assert!(every.totals.workload.streams.len() > 3);
    assert_eq!(every.streams_over_time.steps(), alone.streams_over_time.steps());
    assert_eq!(comparable(&every.steps.unwrap()), comparable(&alone.steps.unwrap()));
    let (every, alone) = studies(&in_steps(5));
    assert_eq!(every.sides.len(), 2);
    for (every, alone) in every.sides.iter().zip(&alone.sides) {
        assert_eq!(every.side, alone.side);
        assert_eq!(comparable(&every.steps), alone.steps.clone().into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_filter_and_the_default_width_give_the_same_of_both() {
    let filter =
        Filter { ops: vec![IoOp::Write], streams: vec![key("RND 8K W")], ..Filter::default() };
    let filter = filter.within(&[(20 * SECOND, 60 * SECOND)]);
    let pass = PassOptions { filter, ..PassOptions::default() };
    let (every, alone) = derivations(&StudyOptions { pass, ..in_steps(10) });
    assert_eq!(every.totals.workload, alone.totals.workload);
    assert_eq!(every.streams_over_time.steps(), alone.streams_over_time.steps());
    assert_eq!(alone.streams_over_time.steps().len(), 4);
    let (every, alone) = studies(&StudyOptions::default());
    // 240 steps of 500 ms cannot be made of seconds.
    assert_eq!((every.totals.step_ns, alone.totals.step_ns), (SECOND / 2, SECOND));
    assert_eq!(alone.totals.span_ns, (0, SECONDS * SECOND - 1));
}

/// Returns the names of the exhibits of some pages.
fn exhibits(pages: &[Page]) -> BTreeSet<String> {
    let name = |exhibit: &Exhibit| match exhibit {
        Exhibit::Plot(plot) => plot.id.clone(),
        Exhibit::Table(table) => table.id.clone(),
        Exhibit::Facts(facts) => facts.title.clone(),
        Exhibit::Text(_) | Exhibit::Listing(_) => String::new(),
    };
    pages.iter().flat_map(|page| &page.exhibits).map(name).collect()
}

#[test]
fn the_report_lists_the_exhibits_that_need_single_ios_as_missing() {
    let (every, alone) = studies(&in_steps(1));
    let (every, alone) = (findings(&every, "test"), findings(&alone, "test"));
    assert_eq!(exhibits(&every.form_pages), exhibits(&alone.form_pages));
    let (all, left) = (exhibits(&every.chapters), exhibits(&alone.chapters));
    let missing: Vec<&str> = all.difference(&left).map(String::as_str).collect();
    assert_eq!(
        missing,
        [
            "Working set of nvme0n1", "Working set of sda", "depths-v-time", "gaps", "hits-0-read",
            "hits-0-write", "hits-1-write", "hot-0", "hot-1", "idle-0", "idle-1", "kinds",
            "kinds-processes", "locality", "miss-ratios", "queue-times", "queue-times-processes",
            "read-out-0", "response-heat", "reuse-times", "runs", "utilisation",
        ]
    );
    assert_eq!(left.difference(&all).count(), 0);
    assert_eq!(every.caveat("steps-only"), None);
    let text = &alone.caveat("steps-only").unwrap().text;
    for missing in ["queue times", "utilization", "hit maps", "working set"] {
        assert!(text.contains(missing), "{missing}: {text}");
    }
}
