//! What several threads find is what one finds, byte for byte: order, sequentiality,
//! depth and busy time do not change at the seams.

use crate::scoped_threads::Threads;
use crate::synthetic::{SECOND, SyntheticServer, by_completion, conditions};
use crate::written;
use std::io::Cursor;
use std::sync::Arc;
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::groups::{Facet, Groups};
use steadfast_analysis::questions::locality::Locality;
use steadfast_analysis::{
    AnnotatedRows, Captured, Derivation, Filter, Fold, PassOptions, ShareMeasure, Study,
    StudyOptions, findings,
};
use steadfast_domain::IoEvent;
use steadfast_tracefile::TraceError;
use steadfast_tracefile::parquet::Fields;

/// 13 seconds of a server whose load queues, in row groups of 1009.
fn file() -> Vec<u8> {
    let events: Vec<IoEvent> = by_completion(SyntheticServer::new(13, 3000));
    assert!(events.len() > 30_000);
    written(&events, conditions(13))
}

fn by(threads: usize, file: &[u8]) -> Captured<Cursor<Vec<u8>>> {
    Captured::open(Cursor::new(file.to_vec())).unwrap().with_crew(Arc::new(Threads(threads)))
}

fn passes() -> Vec<PassOptions> {
    let narrowed = Filter::default().within(&[(2 * SECOND, 5 * SECOND + 7)]);
    vec![
        PassOptions::default(),
        PassOptions { filter: narrowed, ..PassOptions::default() },
        // Fewer may wait than do: the order is kept as badly.
        PassOptions { waiting_max: 3, window: 2, ..PassOptions::default() },
    ]
}

/// Everything that is told of it, as text.
fn told(captured: &Captured<Cursor<Vec<u8>>>, pass: &PassOptions) -> Vec<String> {
    let streams = captured.streams(pass).unwrap();
    let steps = captured.steps(pass, Some(SECOND / 10)).unwrap();
    let map = captured.map(pass, None, (ShareMeasure::Count, Threshold::USUAL)).unwrap();
    let options = StudyOptions { pass: pass.clone(), ..StudyOptions::default() };
    let derived = Derivation::read(captured, &options, true).unwrap();
    let study = Study::read(captured, &options).unwrap();
    let mut groups = Groups::by(&[Facet::Process, Facet::Stream]);
    let mut locality = Locality::keeping(100_003, 0);
    captured.run(pass, &mut [&mut groups, &mut locality]).unwrap();
    vec![
        serde_json::to_string(&streams.found.listing(ShareMeasure::Bytes)).unwrap(),
        format!("{:?}", streams.account),
        format!("{steps:?}"),
        format!("{:?} {:?}", map.account, map.found.series.steps()),
        format!("{:?} {:?}", derived.streams_over_time.steps(), derived.steps),
        serde_json::to_string(&findings(&study, "this")).unwrap(),
        serde_json::to_string(&groups.listing(ShareMeasure::Count, captured.conditions())).unwrap(),
        serde_json::to_string(&locality.figures()).unwrap(),
    ]
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let file = file();
    let alone = Captured::open(Cursor::new(file.clone())).unwrap();
    for pass in passes() {
        let one = told(&alone, &pass);
        for threads in [1, 2, 7] {
            let several = told(&by(threads, &file), &pass);
            for (one, several) in one.iter().zip(&several) {
                assert_eq!(several, one, "{threads} threads");
            }
        }
    }
}

/// Counts rows; cannot be parted.
#[derive(Default)]
struct OrderedFold(Vec<u64>);

impl Fold for OrderedFold {
    fn fields(&self) -> Fields {
        Fields::NONE
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        self.0.extend(rows.iter().map(|row| rows.batch.issued_ns(row)));
        Ok(())
    }
    fn merge(&mut self, _: Self) -> Result<(), TraceError> {
        Ok(())
    }
}

#[test]
fn what_cannot_be_parted_sees_everything_in_order() {
    let mut seen = OrderedFold::default();
    by(5, &file()).run(&PassOptions::default(), &mut [&mut seen]).unwrap();
    assert!(seen.0.len() > 30_000 && seen.0.is_sorted());
}

#[test]
fn damage_is_found_as_far_as_one_thread_reads() {
    let mut file = file();
    let end = file.len();
    // In the data of a late row group and of an early one.
    file[end / 5] ^= 0x40;
    file[end / 5 * 4] ^= 0x40;
    let alone = Captured::open(Cursor::new(file.clone())).unwrap();
    let several = by(7, &file);
    let early = Filter::default().within(&[(0, 5 * SECOND)]);
    let pass = PassOptions { filter: early, ..PassOptions::default() };
    for (pass, damaged) in [(pass, 1), (PassOptions::default(), 2)] {
        let one = alone.streams(&pass).unwrap();
        assert_eq!(several.streams(&pass).unwrap(), one);
        assert_eq!(several.integrity(), alone.integrity());
        assert_eq!(alone.integrity().damaged.len(), damaged);
    }
}

/// Has no room.
#[derive(Default)]
struct FailingFold;

impl Fold for FailingFold {
    fn fields(&self) -> Fields {
        Fields::NONE
    }
    fn take(&mut self, _: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        Err(TraceError::TooFine("no room".into()))
    }
    fn new_part(&self) -> Option<Self> {
        Some(FailingFold)
    }
    fn merge(&mut self, _: Self) -> Result<(), TraceError> {
        Ok(())
    }
}

#[test]
fn a_refusal_of_one_thread_ends_all() {
    let file = file();
    for threads in [1, 2, 7] {
        let captured = by(threads, &file);
        let error = captured.run(&PassOptions::default(), &mut [&mut FailingFold]).unwrap_err();
        assert!(error.to_string().contains("no room"), "{error}");
    }
}
