//! Several threads find exactly what one finds: order, sequentiality, depth and busy time do not
//! change where row groups meet.

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

/// Returns 13 seconds of a server whose load queues, in row groups of 1009.
fn file() -> Vec<u8> {
    let events: Vec<IoEvent> = by_completion(SyntheticServer::new(13, 3000));
    assert!(events.len() > 30_000);
    written(&events, conditions(13))
}

fn opened(threads: usize, file: &[u8]) -> Captured {
    Captured::open(Cursor::new(file.to_vec())).unwrap().with_thread_pool(Arc::new(Threads(threads)))
}

fn passes() -> Vec<PassOptions> {
    let narrowed = Filter::default().within(&[(2 * SECOND, 5 * SECOND + 7)]);
    vec![
        PassOptions::default(),
        PassOptions { filter: narrowed, ..PassOptions::default() },
        // Too few may wait, so the order is imperfect in the same way.
        PassOptions { waiting_max: 3, window: 2, ..PassOptions::default() },
    ]
}

/// Returns the answers to all questions as text.
fn answers(captured: &Captured, pass: &PassOptions) -> Vec<String> {
    let streams = captured.streams(pass).unwrap();
    let steps = captured.steps(pass, Some(SECOND / 10)).unwrap();
    let map = captured.map(pass, None, ShareMeasure::Count, Threshold::DEFAULT).unwrap();
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
        let expected = answers(&alone, &pass);
        for threads in [1, 2, 7] {
            let found = answers(&opened(threads, &file), &pass);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{threads} threads");
            }
        }
    }
}

/// Collects issue times; cannot be split.
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
fn a_fold_that_cannot_be_split_takes_all_rows_in_order() {
    let mut times = OrderedFold::default();
    opened(5, &file()).run(&PassOptions::default(), &mut [&mut times]).unwrap();
    assert!(times.0.len() > 30_000 && times.0.is_sorted());
}

#[test]
fn several_threads_find_the_damage_that_one_finds() {
    let mut file = file();
    let end = file.len();
    // In the data of a late row group and of an early one.
    file[end / 5] ^= 0x40;
    file[end / 5 * 4] ^= 0x40;
    let alone = Captured::open(Cursor::new(file.clone())).unwrap();
    let several = opened(7, &file);
    let early = Filter::default().within(&[(0, 5 * SECOND)]);
    let pass = PassOptions { filter: early, ..PassOptions::default() };
    for (pass, damaged) in [(pass, 1), (PassOptions::default(), 2)] {
        let one = alone.streams(&pass).unwrap();
        assert_eq!(several.streams(&pass).unwrap(), one);
        assert_eq!(several.integrity(), alone.integrity());
        assert_eq!(alone.integrity().damaged.len(), damaged);
    }
}

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
fn an_error_in_one_thread_ends_all() {
    let file = file();
    for threads in [1, 2, 7] {
        let captured = opened(threads, &file);
        let error = captured.run(&PassOptions::default(), &mut [&mut FailingFold]).unwrap_err();
        assert!(error.to_string().contains("no room"), "{error}");
    }
}
