//! Suites of our own, with the templates that they name.

use super::*;
use crate::parse_error::ParseError;
use crate::testing::mutations::{MUTATIONS, mutated};
use steadfast_domain::sequence::{Amount, StepRole};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Bytes, Nanos, Sequence};

const SUITE: &str = r#"{
 "pre": [{"template": "fill.fio", "alias": "fill", "values": {"DEPTH": 4}}],
 "def": [{"template": "mix.fio", "alias": "mix",
          "values": {"TIME": "107", "BLKSIZE": "4k", "DEPTH": 8, "W1THINK": 1000},
          "targets": {"throughput": {"read": {"MIN": "10"}, "trim": {"MIN": 1},
                                     "scale_by_TB": {"value": true}},
                      "iops": {"write": {"MIN": 1007}},
                      "latency": {"read": {"P99": 1500, "P99.99999": 5000, "MAX": 10007}}}}],
 "run_cycles": 2, "precondition_cycles": "2", "precondition_first_cycle_only": "Y",
 "devices_in_global": "Y", "scale_by_capacity": "Y"
}"#;

struct MemoryTemplates;

impl TemplateSource for MemoryTemplates {
    fn environment(&self, name: &str) -> Option<String> {
        (name == "MISC").then(|| "32k/50:1m/50".to_owned())
    }
    fn template(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let text = match name {
            "fill.fio" => {
                "[fill]\nrw=write\nioengine=libaio\nbs=128k\niodepth=${DEPTH}\ndirect=1\nfilename=${DEV}\n"
            }
            "mix.fio" => {
                "[global]\nioengine=${IOENGINE}\ndirect=1\nnorandommap\n[job]\nrw=randrw\n\
                 rwmixread=70\nbs=${BLKSIZE}\niodepth=${DEPTH}\ntime_based\nruntime=${TIME}\n\
                 thinktime=${W1THINK}\n"
            }
            "hammer.fio" => {
                "[global]\nrw=read\nbs=4k\nnumjobs=32\nsize=16M\noffset=${OFFSET1}m\n\
                 offset_increment=${INCREMENT}m\n"
            }
            "behind.fio" => {
                "[behind]\nrw=randread\nbs=4k\noffset=${OFFSET2}m\nfilename=${DEV}\nnumjobs=${JOBS}\n\
                 size=10m\n"
            }
            "misc.fio" => "[job]\nrw=trim\nbssplit=${MISC}\niodepth=${DEPTH}\nruntime=${TIME}\n",
            "trim.fio" => "[global]\nrw=trim\nbs=2G\nloops=2\n",
            _ => return Err("no such template".into()),
        };
        Ok(text.into())
    }
}

fn drive(tb: u64) -> DriveScale {
    DriveScale { capacity: Bytes(tb * 1_000_000_000_000), factor: None }
}

fn planned(suite: &str, drive: DriveScale) -> Result<Sequence, Vec<ParseError>> {
    sequence(&FioSynthSuite::read(suite.as_bytes())?, drive, &mut MemoryTemplates)
}

fn has_remark(sequence: &Sequence, word: &str) -> bool {
    sequence.remarks.iter().any(|remark| remark.text.contains(word))
}

#[test]
fn a_suite_is_its_preconditioning_and_its_workloads_cycle_by_cycle() {
    let sequence = planned(SUITE, drive(2)).unwrap();
    let steps: Vec<(&str, StepRole)> =
        sequence.steps.iter().map(|step| (step.label.as_str(), step.role)).collect();
    let expected = [
        ("fill run 1", StepRole::Prepare),
        ("fill run 1 #2", StepRole::Prepare),
        ("mix run 1", StepRole::Measure),
        ("mix run 2", StepRole::Measure),
    ];
    assert_eq!(steps, expected);
    assert_eq!(sequence.steps[0].load.demand.depth, 8, "a depth of 4 on 2 TB");
    let mix = &sequence.steps[2].load;
    assert_eq!(mix.pace, Pace::Burst { ios: 1, delay: Nanos(500_000) }, "half on 2 TB");
    assert_eq!(mix.until.time, Some(Nanos::from_secs(107)));
}

#[test]
fn a_template_without_a_job_has_one_for_the_target_and_cycles_may_be_many() {
    let text = r#"{"def": [{"template": "trim.fio"}], "run_cycles": 700}"#;
    let sequence = planned(text, drive(2)).unwrap();
    assert_eq!(sequence.steps.len(), 700);
    assert_eq!(sequence.steps[0].load.streams[0].size, Bytes::gib(2));
}

#[test]
fn offsets_lie_where_fiosynth_has_them_on_a_drive_of_this_capacity() {
    let text = r#"{"def": [{"template": "behind.fio", "values": {"OFFSET2": 1000, "JOBS": 3}},
                           {"template": "hammer.fio"}],
                   "description": "d", "scale_by_capacity": "N"}"#;
    let sequence = planned(text, drive(4)).unwrap();
    assert_eq!(sequence.steps[0].load.extent.from, Amount::Bytes(Bytes::mib(4000)));
    let starts: Vec<Amount> = sequence.steps[1].loads().map(|(_, load)| load.extent.from).collect();
    let increment = 4_000_000_000_000 / 1_048_576 / 32;
    let expected: Vec<Amount> =
        (0..32).map(|region| Amount::Bytes(Bytes::mib(region * increment))).collect();
    assert_eq!(starts, expected);
    assert!(has_remark(&sequence, "FioSynth draws where"), "{:?}", sequence.remarks);
    assert!(!has_remark(&sequence, "description"), "{:?}", sequence.remarks);
}

#[test]
fn what_a_suite_lacks_is_from_the_environment_and_the_last_of_two_counts() {
    let text = r#"{"def": [{"template": "gone.fio"}],
                   "def": [{"template": "misc.fio", "values": {"DEPTH": 8, "TIME": 5}}]}"#;
    let sequence = planned(text, drive(1)).unwrap();
    let load = &sequence.steps[0].load;
    let sizes: Vec<u64> = load.streams.iter().map(|stream| stream.size.0 >> 10).collect();
    // A template that names no engine has fio's preset, which waits for every I/O.
    assert_eq!((sequence.steps.len(), sizes, load.demand.depth), (1, vec![32, 1024], 1));
    assert!(has_remark(&sequence, "'def' is there more than once"), "{sequence:?}");
    assert!(has_remark(&sequence, "MISC=32k/50"), "{sequence:?}");
}

#[test]
fn targets_are_limits_of_the_measured_steps() {
    let sequence = planned(SUITE, drive(2)).unwrap();
    let limit = |title: &str| sequence.limits.iter().find(|l| l.title.ends_with(title)).unwrap();
    let throughput = limit("throughput read MIN");
    assert_eq!((throughput.table.as_str(), throughput.column.as_str()), ("sequence-reads", "mb"));
    assert_eq!(throughput.min, Some(20.0 * 1.048_576), "MiB/s per TB");
    assert_eq!(limit("iops write MIN").min, Some(1007.0));
    assert_eq!(limit("latency read MAX").max, Some(10.007));
    assert_eq!(limit("latency read P99").column, "p99-ms");
    assert_eq!(sequence.limits.len(), 2 * 4);
    for word in ["P99.99999 is not checked", "discards"] {
        assert!(has_remark(&sequence, word), "{:?}", sequence.remarks);
    }
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |text: &str| FioSynthSuite::read(text.as_bytes()).unwrap_err()[0].to_string();
    assert!(wrong("{").contains("not JSON"));
    assert!(wrong("[]").contains("object"));
    assert!(wrong(r#"{"def": []}"#).contains("names no workload"));
    let none = r#"{"def": [{"template": "trim.fio"}], "run_cycles": 0}"#;
    assert!(wrong(none).contains("'run_cycles' is 0"));
    assert!(wrong(r#"{"def": [{"alias": "x"}]}"#).contains("workload 1 of 'def'"));
    let one = |template: &str| {
        let text = format!(r#"{{"def": [{{"template": "{template}"}}]}}"#);
        planned(&text, drive(1)).unwrap_err()[0].to_string()
    };
    assert!(one("other.fio").contains("other.fio: no such template"));
    assert!(one("mix.fio").contains("mix.fio: line"), "{}", one("mix.fio"));
    assert!(one("mix.fio").contains("in the suite, under"), "{}", one("mix.fio"));
    // What is no number is not scaled to one.
    for depth in ["nan", "inf", "-5"] {
        let text = SUITE.replace("\"DEPTH\": 8", &format!("\"DEPTH\": \"{depth}\""));
        let error = planned(&text, drive(2)).unwrap_err()[0].to_string();
        assert!(error.contains(&format!("iodepth={depth}")), "{error}");
    }
}

/// 10^9 steps are refused at once; 10,000 preconditionings of one name are numbered in order.
#[test]
fn many_cycles_take_no_longer_than_their_steps() {
    let suite = |precondition_cycles: u64, run_cycles: u64| {
        let template = r#"{"template": "trim.fio", "alias": "trim"}"#;
        let text = format!(
            r#"{{"pre": [{template}], "def": [{template}], "run_cycles": {run_cycles},
                "precondition_cycles": {precondition_cycles}}}"#
        );
        planned(&text, drive(2))
    };
    let error = suite(10_000, 10_000).unwrap_err()[0].to_string();
    assert!(error.contains("more than 10000 steps; lower run_cycles"), "{error}");
    let steps = suite(9_999, 1).unwrap().steps;
    assert_eq!((steps.len(), steps[0].label.as_str()), (10_000, "trim"));
    assert_eq!(steps[9_999].label, "trim #10000");
}

#[test]
fn no_mutation_makes_it_panic() {
    for bytes in mutated(SUITE.as_bytes(), 0..MUTATIONS) {
        if let Ok(suite) = FioSynthSuite::read(&bytes) {
            let _ = sequence(&suite, drive(1), &mut MemoryTemplates);
        }
    }
}
