//! The procedure `factors` finds properties of simulated drives that it does not know.

use super::fixtures::{TestDirectory, read_json};
use super::recomputed_tables::conduct_steps_on;
use steadfast_domain::{Findings, Nanos, Settings};
use steadfast_engine::sim::{DriveSpec, WriteLimit, drive};

/// Runs sweeps on a drive and returns the findings.
fn sweep(spec: &DriveSpec, factors: &str) -> Findings {
    let mut settings = Settings::new("factors", 3);
    settings.set("factors", factors);
    settings.step_time = Some(Nanos::from_secs(20));
    let here = &TestDirectory::new();
    let run = here.join("run");
    conduct_steps_on(&run, Some(settings), spec);
    let findings: Findings = read_json(run.join("findings.json"));
    println!("{}", findings.ending);
    for figure in &findings.front.figures {
        println!("  {}: {:?}", figure.id, figure.value);
    }
    findings
}

fn figure(findings: &Findings, id: &str) -> Option<f64> {
    findings.figure(id).unwrap().value
}

fn small() -> DriveSpec {
    drive("small").unwrap().clone()
}

#[test]
fn the_indirection_unit_of_a_drive_is_found() {
    for pages in [1, 2, 4, 8] {
        let findings = sweep(&DriveSpec { indirection_pages: pages, ..small() }, "alignment");
        assert_eq!(figure(&findings, "indirection-unit"), Some(f64::from(pages) * 4.0));
    }
}

#[test]
fn a_drive_that_compresses_is_told_from_one_that_does_not() {
    let limit = WriteLimit { mb_per_second: 6, compresses: true };
    let findings = sweep(&DriveSpec { write_limit: Some(limit), ..small() }, "entropy");
    assert!(figure(&findings, "entropy-ratio").unwrap() > 1.5);
    assert!(figure(&findings, "entropy-fresh-ratio").unwrap() > 1.5);
    let findings = sweep(&small(), "entropy");
    for ratio in ["entropy-ratio", "entropy-fresh-ratio"] {
        let ratio = figure(&findings, ratio).unwrap();
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }
}

#[test]
fn a_life_throttle_is_found() {
    let limit = WriteLimit { mb_per_second: 5, compresses: false };
    let findings = sweep(&DriveSpec { write_limit: Some(limit), ..small() }, "pattern");
    let rate = figure(&findings, "life-throttle").unwrap();
    assert!((rate / 5.0 - 1.0).abs() < 0.02, "{rate}");
    assert_eq!(figure(&findings, "throttled-steps"), None, "it counts none");
}

#[test]
fn a_thermal_throttle_is_no_life_throttle() {
    let findings = sweep(drive("throttling").unwrap(), "pattern");
    assert_eq!(figure(&findings, "life-throttle"), None);
    assert!(figure(&findings, "throttled-steps").unwrap() > 0.0);
    let findings = sweep(&small(), "pattern");
    assert_eq!(figure(&findings, "life-throttle"), None);
    assert_eq!(figure(&findings, "throttled-steps"), None);
}
