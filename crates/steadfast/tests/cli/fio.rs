//! The second engine: a run through fio, and both engines side by side.

use super::fixtures::*;
use super::real_io::issued;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use steadfast_domain::Op;
use steadfast_runner::Ledger;

/// I/Os per second that the throttle allows: a prime.
const THROTTLED: u32 = 1009;

/// The steps of a run and their files.
#[derive(Debug, PartialEq)]
struct StepFiles {
    steps: usize,
    jobs: usize,
    answers: usize,
}

fn step_files(run: &Path) -> StepFiles {
    let contents = Ledger::read(&run.join("run")).unwrap();
    assert_eq!(contents.plan.engine, "fio");
    let names =
        || std::fs::read_dir(run.join("run/fio")).unwrap().map(|entry| entry.unwrap().file_name());
    let ending =
        |ending: &str| names().filter(|name| name.to_string_lossy().ends_with(ending)).count();
    StepFiles { steps: contents.steps().count(), jobs: ending(".fio"), answers: ending(".json") }
}

/// The quick IOPS test on a file, every step through fio, to its report; and a further round when it
/// is resumed.
#[test]
fn the_quick_test_runs_through_fio_and_is_resumed() {
    if !has_fio() {
        return;
    }
    let here = &TestDirectory::new();
    let run = "run iops --engine fio --profile quick --step-time 150ms --target f.bin --size 64MiB \
               --max-rounds 5 -o run";
    let output = unless_stalled(|| {
        // Every step is to be there once.
        let _ = std::fs::remove_dir_all(here.join("run"));
        let _ = std::fs::remove_file(here.join("f.bin"));
        run_in(here, run)
    });
    assert!(matches!(code(&output), 0 | 3), "{}", stderr(&output));
    assert!(stdout(&output).contains("IOPS in the measurement window"), "{}", stdout(&output));
    assert!(here.join("run/report.html").exists());
    let steps = 1 + 5 * 9;
    assert_eq!(step_files(here), StepFiles { steps, jobs: steps, answers: steps });
    if code(&output) == 0 {
        skip("steady after five rounds, so that there is nothing to resume");
        return;
    }
    run_ending(here, "resume run --max-rounds 6", &[0, 3]);
    assert_eq!(step_files(here).steps, 1 + 6 * 9);
}

/// Both engines measure the rate of a throttled device.
#[test]
fn both_engines_agree_on_a_throttled_device() {
    if !has_fio() {
        return;
    }
    let Some(device) = LoopDevice::new(64) else { return };
    let Some(throttle) = Throttle::new(&device, THROTTLED) else { return };
    let calibrate = format!(
        "calibrate {} --points 'RND 4K R T1Q16,RND 4K W T2Q8' --test-size 16MiB --ramp 1s \
         --time 3s --runs 2 --within 10 --json",
        device.confirmed()
    );
    let mut command = steadfast();
    command.args(calibrate.words());
    let output = best_of_three(|| throttle.run(&mut command), both_measure_the_throttle);
    assert!(both_measure_the_throttle(&output), "{}{}", stdout(&output), stderr(&output));
}

/// Returns true if a calibration measured the throttled rate through both engines, which agree.
fn both_measure_the_throttle(output: &Output) -> bool {
    if !output.status.success() {
        return false;
    }
    let answer: serde_json::Value = parse_json(output);
    let is_near = |reading: &serde_json::Value| {
        (reading["iops"].as_f64().unwrap() / f64::from(THROTTLED) - 1.0).abs() < 0.3
    };
    let are_near = |comparison: &serde_json::Value| {
        let readings = |engine: &str| array(&comparison[engine]).iter();
        readings("uring").chain(readings("fio")).all(is_near)
    };
    array(&answer["comparisons"]).iter().all(are_near)
        && answer["verdict"].as_str().unwrap().contains("at 2 of 2 points")
}

/// Commits through both engines: the kernel counts every flush of ours, and fio, which reports no
/// time of a commit, has a rate and no times.
#[test]
fn commits_of_both_engines_are_compared_by_their_rate() {
    if !has_fio() {
        return;
    }
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let calibrate = format!(
        "calibrate {} --points 'RND 4K W FLUSH/1 T1Q1' --test-size 16MiB --ramp 200ms --time 1s \
         --runs 2 --keep kept --json",
        device.confirmed()
    );
    let output = run_ending(here, &calibrate, &[0, 5]);
    let answer: serde_json::Value = parse_json(&output);
    let commits = &answer["comparisons"][0];
    for reading in array(&commits["uring"]) {
        let flushes = &reading["flushes"];
        assert!(flushes["issued"].as_u64().unwrap() >= reading["iops"].as_f64().unwrap() as u64);
        assert_eq!(flushes["issued"], flushes["counted"], "{reading}");
        assert!(reading["mean_ns"].as_f64().unwrap() > 0.0);
    }
    for reading in array(&commits["fio"]) {
        assert!(reading["iops"].as_f64().unwrap() > 0.0, "{reading}");
        assert!(reading["mean_ns"].is_null() && reading["p99_ns"].is_null(), "{reading}");
    }
    assert_eq!(array(&commits["ratios"]).len(), 2);
    assert_ne!(commits["judgement"], "flushes-differ");
    assert!(answer["verdict"].as_str().unwrap().contains("(difference +0)"), "{answer}");
    let jobs = std::fs::read_dir(here.join("kept")).unwrap().map(|job| job.unwrap().path());
    let jobs: Vec<_> = jobs.filter(|job| job.extension().is_some_and(|end| end == "fio")).collect();
    let text = std::fs::read_to_string(&jobs[0]).unwrap();
    assert!(text.contains("ioengine=psync\n") && text.contains("fdatasync=1\n"), "{text}");
}

#[test]
fn one_stimulus_is_measured_through_fio_and_its_job_is_kept() {
    if !has_fio() {
        return;
    }
    let here = &TestDirectory::new();
    let measure = "measure 'RND 4K RW65' --target f.bin --size 16MiB --time 300ms --engine fio \
                   --keep jobs";
    let text = succeed(here, measure);
    assert!(text.contains("Engine: fio: fio-3."), "{text}");
    assert_eq!(std::fs::read_dir(here.join("jobs")).unwrap().count(), 2);
}

#[test]
fn what_fio_cannot_do_is_refused_before_anything_is_done() {
    let here = &TestDirectory::new();
    let simulated = "run iops --engine fio --target sim:small";
    refuse(here, simulated, &["--engine fio needs a block device"]);
    if !has_fio() {
        return;
    }
    let calibrate = "calibrate --target f.bin --size 16MiB --points 'SEQ 4K RW50 T1Q1'";
    refuse(here, calibrate, &["engine fio", "restarts both"]);
    let run = "run throughput --engine fio --target g.bin --size 256MiB --profile pts-1.1 \
               --class client --set ar-amount=32MiB --set ar-segments=16 -o run";
    refuse(here, run, &["16 segments of 2 MiB at random places", "engine uring"]);
    assert!(!here.join("run").exists());
}

/// Two jobs that differ share a throttled device by their depths: in fio's own run and in ours.
#[test]
fn jobs_at_once_share_a_throttled_device_as_fio_has_it() {
    if !has_fio() {
        return;
    }
    let Some(device) = LoopDevice::new(64) else { return };
    // So few I/Os a second that a thread loses little by getting its processor late.
    let Some(throttle) = Throttle::new(&device, 211) else { return };
    let here = &TestDirectory::new();
    let job = format!(
        "[global]\nioengine=libaio\ndirect=1\nnorandommap\nrandrepeat=0\nrw=randread\ntime_based\n\
         runtime=3\nfilename={}\n[deep]\nbs=4k\niodepth=12\n[flat]\nbs=8k\niodepth=4\n",
        device.path
    );
    std::fs::write(here.join("job.fio"), job).unwrap();
    // By 12 and 4 outstanding. fio's processes do not begin at one moment, and a busy machine may
    // starve one attempt of either.
    let is_fio_right = |share: &f64| (0.6..0.85).contains(share);
    let share = best_of_three(|| first_share(&fio_counts(&throttle, here)), is_fio_right);
    assert!(is_fio_right(&share), "fio's share is {share}");
    let is_ours_right = |share: &f64| (0.65..0.8).contains(share);
    let mut runs = 0;
    let ours = || {
        runs += 1;
        first_share(&our_counts(&throttle, &device, here, &format!("run{runs}")))
    };
    let share = best_of_three(ours, is_ours_right);
    assert!(is_ours_right(&share), "our share is {share}");
}

fn first_share(ios: &[f64]) -> f64 {
    ios[0] / (ios[0] + ios[1])
}

/// Counts the I/Os of each job of `job.fio` by fio itself.
fn fio_counts(throttle: &Throttle, directory: &Path) -> Vec<f64> {
    let mut fio = Command::new("fio");
    fio.args(["--output-format=json", "job.fio"]).current_dir(directory);
    let output = throttle.run(&mut fio);
    let answer: Value = serde_json::from_str(&stdout(&output))
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(&output), stderr(&output)));
    array(&answer["jobs"]).iter().map(|job| job["read"]["total_ios"].as_f64().unwrap()).collect()
}

/// Counts the I/Os of each job of `job.fio` in our run; the kernel's count is their sum.
fn our_counts(throttle: &Throttle, device: &LoopDevice, directory: &Path, run: &str) -> Vec<f64> {
    let output = unless_stalled(|| {
        let _ = std::fs::remove_dir_all(directory.join(run));
        let run = format!("fio job.fio --target {} -o {run}", device.path);
        throttle.run(&mut command_in(directory, &run))
    });
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let contents = Ledger::read(&directory.join(run)).unwrap();
    let measurement = &contents.steps().next().unwrap().1.measurement;
    let kernel = measurement.kernel.as_ref().unwrap();
    assert_eq!(kernel.reads, issued(measurement, Op::Read).ios, "the kernel counts the sum");
    measurement.concurrent_loads().map(|load| load.streams[0].tally.ios as f64).collect()
}
