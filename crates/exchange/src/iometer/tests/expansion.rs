//! The tests of configurations, for every test type, against known lists.

use super::corpus::{OF_1_1, OF_2006, cycling};
use crate::iometer::config::{DiskArea, TestType, WorkerCount};
use crate::iometer::expansion::{IometerTest, tests_of};
use crate::iometer::read;

/// Returns for each test the number of targets of each active worker, by the indices of manager and
/// worker.
fn shape(tests: &[IometerTest]) -> Vec<String> {
    let one = |test: &IometerTest| {
        let worker = |a: &crate::iometer::expansion::ActiveWorker| {
            format!("{}{}:{}q{}", a.manager_name, &a.worker[6..], a.targets.len(), a.depth)
        };
        test.active.iter().map(worker).collect::<Vec<_>>().join(" ")
    };
    tests.iter().map(one).collect()
}

fn run(test_type: TestType, managers: &[&[usize]]) -> Vec<String> {
    shape(&tests_of(&cycling(test_type, managers), 1, None, &mut Vec::new()).unwrap())
}

#[test]
fn every_test_type_varies_what_it_should() {
    let two: &[&[usize]] = &[&[3, 1], &[2]];
    assert_eq!(run(TestType::Normal, two), ["M0 1:3q1 M0 2:1q1 M1 1:2q1"]);
    assert_eq!(
        run(TestType::Targets, two),
        ["M0 1:1q1 M0 2:1q1 M1 1:1q1", "M0 1:2q1 M0 2:1q1 M1 1:2q1", "M0 1:3q1 M0 2:1q1 M1 1:2q1"]
    );
    assert_eq!(run(TestType::Workers, two), ["M0 1:3q1 M1 1:2q1", "M0 1:3q1 M0 2:1q1 M1 1:2q1"]);
    assert_eq!(
        run(TestType::TargetsParallel, two),
        ["M0 1:1q1 M1 1:1q1", "M0 1:2q1 M1 1:2q1", "M0 1:3q1 M0 2:1q1 M1 1:2q1"]
    );
    assert_eq!(
        run(TestType::TargetsSerial, two),
        ["M0 1:1q1", "M0 1:2q1", "M0 1:3q1 M0 2:1q1", "M0 1:3q1 M0 2:1q1 M1 1:2q1"]
    );
    assert_eq!(
        run(TestType::WorkersAndTargets, &[&[2, 1]]),
        ["M0 1:1q1", "M0 1:2q1", "M0 1:1q1 M0 2:1q1", "M0 1:2q1 M0 2:1q1"]
    );
    assert_eq!(run(TestType::Depth, &[&[1]]), ["M0 1:1q1", "M0 1:1q2", "M0 1:1q4"]);
    assert_eq!(
        run(TestType::DepthAndTargets, &[&[2]]),
        ["M0 1:1q1", "M0 1:1q2", "M0 1:1q4", "M0 1:2q1", "M0 1:2q2", "M0 1:2q4"]
    );
}

#[test]
fn each_access_specification_has_its_tests_and_the_idle_one_none() {
    let config = read(OF_2006.as_bytes()).unwrap().config;
    let mut remarks = Vec::new();
    let tests = tests_of(&config, 4, None, &mut remarks).unwrap();
    let specs: Vec<&str> = tests.iter().map(|test| test.active[0].spec.as_str()).collect();
    assert_eq!(specs, ["read big", "mixed sizes"]);
    let area = DiskArea { sectors: 2048, start: 101, pattern: None };
    assert_eq!((tests[0].active[0].area, tests[0].active[0].depth), (area, 16));
    assert!(remarks[0].text.contains("'Worker 2' is a network worker"));
    let idle = OF_2006.replace("\tread big\n\tmixed", "\tIdle\n\tmixed");
    let tests = tests_of(&read(idle.as_bytes()).unwrap().config, 4, None, &mut Vec::new()).unwrap();
    assert_eq!((tests.len(), tests[0].access), (1, 1));
}

#[test]
fn depths_multiply_as_the_file_says() {
    let config = read(OF_1_1.as_bytes()).unwrap().config;
    let tests = tests_of(&config, 1, None, &mut Vec::new()).unwrap();
    let depths: Vec<u32> = tests.iter().map(|test| test.active[0].depth).collect();
    assert_eq!(depths, [1, 4, 16]);
    assert_eq!(tests[0].active[0].area.pattern, Some(2));
}

#[test]
fn without_managers_the_file_s_own_defaults_are_spawned() {
    let mut config = read(OF_2006.as_bytes()).unwrap().config;
    config.managers = None;
    let mut remarks = Vec::new();
    let tests = tests_of(&config, 3, None, &mut remarks).unwrap();
    // Only one specification is assigned to every disk worker.
    assert_eq!((tests.len(), tests[0].active.len()), (1, 3));
    assert!(remarks[0].text.contains("3 disk workers"), "{remarks:?}");
    config.setup.as_mut().unwrap().disk_workers = Some(WorkerCount::Count(0));
    assert!(tests_of(&config, 3, None, &mut remarks).is_err());
}

#[test]
fn one_disk_of_the_file_can_be_chosen() {
    let config = read(OF_2006.as_bytes()).unwrap().config;
    assert_eq!(tests_of(&config, 1, Some("e:"), &mut Vec::new()).unwrap().len(), 2);
    let why = tests_of(&config, 1, Some("F:"), &mut Vec::new()).unwrap_err();
    assert!(why.message.contains("'E:Scratch'"), "{why}");
}

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    let text = OF_2006.replace("\tread big\n\tmixed", "\tread small\n\tmixed");
    let config = read(text.as_bytes()).unwrap().config;
    let why = tests_of(&config, 1, None, &mut Vec::new()).unwrap_err().to_string();
    assert!(why.starts_with("line 65: ") && why.contains("'read small'"), "{why}");
    let mut config = cycling(TestType::Depth, &[&[1]]);
    config.setup.as_mut().unwrap().depth_cycling.as_mut().unwrap().end = 0;
    let why = tests_of(&config, 1, None, &mut Vec::new()).unwrap_err().to_string();
    assert!(why.contains("starts at 1 and ends at 0"), "{why}");
    let mut config = cycling(TestType::Depth, &[&[1]]);
    let cycling = config.setup.as_mut().unwrap().depth_cycling.as_mut().unwrap();
    (cycling.end, cycling.cycling.step) = (u32::MAX, 1);
    let why = tests_of(&config, 1, None, &mut Vec::new()).unwrap_err().to_string();
    assert!(why.contains("more than 10000 tests"), "{why}");
}
