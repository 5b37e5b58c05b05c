//! Test specifications as code.
//!
//! Each procedure follows the loop of its specification, against `domain::Bench`; a pure function
//! computes its findings from the record. Only this crate contains numbers from a specification,
//! each with its source.
//!
//! - `common`: code that all procedures share; `exhibits`: tables and plots that all reports share.
//! - `pts`: procedures and numbers of the SNIA Performance Test Specification (PTS); [`rwsw`]:
//!   procedures for captured workloads.
//! - [`tkperf`]: the procedures of TKperf; [`sequence`]: loads from other tools' files and from
//!   [`presets`].
//! - Our own tests: `commit`, `factors`, `fill`, `idle_exit`, `load_curve`, `neighbors`, `power_cut`,
//!   `verify_write`, `write_amplification`; `portrait` runs six procedures and fits the results on one page.
//! - `catalogue`: the procedures that run steps themselves; `suite`, `campaign`, `portrait` and
//!   `tkperf`: those that consist of others. [`PROCEDURES`] lists both.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod campaign;
mod catalogue;
mod commit;
mod common;
mod exhibits;
mod factors;
mod fill;
pub mod foreign;
mod idle_exit;
mod load_curve;
mod neighbors;
mod origin;
mod parameters;
mod parts;
mod portrait;
mod power_cut;
pub mod presets;
mod procedure_error;
mod procedure_spec;
mod pts;
mod report_notation;
pub mod rwsw;
pub mod sequence;
mod suite;
#[cfg(test)]
mod testing;
pub mod tkperf;
mod user_facts;
mod verify_write;
mod write_amplification;

pub use campaign::NAMES as CAMPAIGNS;
pub use catalogue::check_chosen;
pub use load_curve::NAME as LOAD_CURVE;
pub use parameters::Parameter;
pub use procedure_error::ProcedureError;
pub use procedure_spec::ProcedureSpec;
pub use pts::workload::{is_known as is_known_workload, zone_shift_of};
pub use user_facts::check_meta;
pub use write_amplification::NAME as WRITE_AMPLIFICATION;

use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::{Procedure, Settings};

/// Procedures that consist of other procedures.
const COMBINED: [ProcedureSpec; 5] =
    [tkperf::SPEC, campaign::WSAT, campaign::DIRTH, portrait::SPEC, suite::SPEC];

/// All procedures: first those that run steps themselves, then those that consist of others.
pub const PROCEDURES: &[ProcedureSpec] = &{
    // Every entry is replaced below.
    let mut all = [suite::SPEC; catalogue::SINGLE.len() + COMBINED.len()];
    let (single, combined) = all.split_at_mut(catalogue::SINGLE.len());
    single.copy_from_slice(catalogue::SINGLE);
    combined.copy_from_slice(&COMBINED);
    all
};

/// Builds the procedure that `settings` name for a device of this geometry. Amendments change limits
/// of the settings; of two that change the same limit, the later one applies.
///
/// # Errors
/// Returns [`ProcedureError`] if there is no such procedure or it cannot run with these settings on
/// this device.
///
/// ```
/// use steadfast_domain::settings::Geometry;
/// use steadfast_domain::{Bytes, Settings};
/// let geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 512 };
/// assert!(steadfast_procedures::procedure(&Settings::new("iops", 1), geometry, &[]).is_ok());
/// assert!(steadfast_procedures::procedure(&Settings::new("io", 1), geometry, &[]).is_err());
/// ```
pub fn procedure(
    settings: &Settings,
    geometry: Geometry,
    amendments: &[Amendment],
) -> Result<Box<dyn Procedure>, ProcedureError> {
    let spec = catalogue::find(PROCEDURES, &settings.procedure)?;
    if COMBINED.iter().any(|combined| combined.name == spec.name) {
        // It checks the parameters itself, because each belongs to one of its parts.
        return (spec.make)(&catalogue::procedure_request(spec, settings, geometry, amendments));
    }
    catalogue::build(settings, geometry, amendments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{GEOMETRY, build, record, scripted, set, study_of_nothing};
    use std::collections::BTreeSet;
    use steadfast_domain::findings::{Exhibit, Origin, Role, Setting};
    use steadfast_domain::{Class, Nanos, Profile};

    /// Returns settings with all that the procedure needs.
    fn complete_settings(name: &str) -> Settings {
        let mut settings = Settings::new(name, 1);
        if rwsw::NAMES.contains(&name) {
            settings.workload = Some(Box::new(testing::workload::workload()));
        }
        if name == sequence::NAME {
            settings.sequence = Some(Box::new(testing::sequence::sequence()));
        }
        settings
    }

    /// Returns why a procedure with changed settings is refused; `None` if it can run.
    fn refusal(name: &str, change: impl FnOnce(&mut Settings)) -> Option<String> {
        let mut settings = complete_settings(name);
        change(&mut settings);
        procedure(&settings, GEOMETRY, &[]).err().map(|why| why.0)
    }

    /// Settings in the form header and in the chapters of a report without measurements.
    fn reported_settings(settings: &Settings) -> Vec<Setting> {
        let findings = build(settings).study(&record(settings, Vec::new()));
        let mut rows: Vec<Setting> = Vec::new();
        for block in findings.header.blocks {
            rows.extend(block.rows);
        }
        for exhibit in findings.chapters.into_iter().flat_map(|page| page.exhibits) {
            if let Exhibit::Facts(facts) = exhibit {
                rows.extend(facts.rows);
            }
        }
        rows.retain(|row| row.role == Role::Setting);
        rows
    }

    #[test]
    fn settings_of_one_name_have_one_origin_wherever_they_stand() {
        for spec in PROCEDURES {
            // Procedures for captured workloads and sequences cannot be built without one.
            if rwsw::NAMES.contains(&spec.name) || spec.name == sequence::NAME {
                continue;
            }
            let rows = reported_settings(&Settings::new(spec.name, 1));
            assert!(rows.len() > 10, "{}", spec.name);
            for row in &rows {
                let other = rows.iter().find(|other| other.id == row.id).unwrap();
                assert_eq!(other.origin, row.origin, "{} {}", spec.name, row.id);
                let is_chosen = row.origin == Origin::Chosen;
                assert_eq!(is_chosen, row.id == "procedure", "{} {}", spec.name, row.id);
            }
        }
    }

    #[test]
    fn what_the_user_chose_has_that_origin() {
        let mut settings = Settings::new("xsr", 1);
        settings.step_time = Some(Nanos::from_secs(30));
        settings.set("middle-demand", "T2Q8");
        settings.command = "steadfast run xsr --profile pts-2.0 --seed 1".into();
        settings.given.insert(steadfast_domain::settings::SettingName::DataPattern);
        let rows = reported_settings(&settings);
        let chosen: BTreeSet<&str> =
            rows.iter().filter(|r| r.origin == Origin::Chosen).map(|r| r.id.as_str()).collect();
        let expected = [
            "data-pattern", "demand", "demand-and-time-2", "parameter-middle-demand", "procedure",
            "step-time",
        ];
        assert_eq!(chosen, expected.into());
    }

    #[test]
    fn every_offer_is_made_with_its_defaults_in_both_classes_and_in_quick() {
        for spec in PROCEDURES {
            for class in [Class::Enterprise, Class::Client] {
                for profile in [Profile::Pts20, Profile::Quick] {
                    let why = refusal(spec.name, |s| (s.class, s.profile) = (class, profile));
                    assert_eq!(why, None, "{} {class} {profile}", spec.name);
                }
            }
            let names: BTreeSet<&str> = spec.parameters.iter().map(|p| p.name).collect();
            assert_eq!(names.len(), spec.parameters.len(), "{}", spec.name);
            assert!(!spec.summary.is_empty());
        }
    }

    #[test]
    fn every_block_of_a_pts_form_has_ten_rows() {
        for name in ["iops", "throughput", "latency", "wsat", "dirth", "hir", "xsr"] {
            for profile in [Profile::Pts20, Profile::Pts11, Profile::Quick, Profile::Tkperf] {
                if profile == Profile::Tkperf && name != "wsat" {
                    continue;
                }
                let settings = Settings { profile, ..Settings::new(name, 1) };
                let blocks = study_of_nothing(&*build(&settings), &settings).header.blocks;
                let rows: Vec<usize> = blocks.iter().map(|block| block.rows.len()).collect();
                assert_eq!(rows, [10; 4], "{name} {profile}");
            }
        }
    }

    #[test]
    fn every_pts_form_has_the_pages_of_its_profile() {
        for (name, profile, pages) in [
            ("latency", Profile::Pts20, 7),
            ("latency", Profile::Pts11, 6),
            ("wsat", Profile::Pts20, 5),
            ("wsat", Profile::Pts11, 4),
            ("wsat", Profile::Tkperf, 2),
            ("xsr", Profile::Pts20, 3),
            ("xsr", Profile::Pts11, 5),
            ("xsr", Profile::Quick, 3),
        ] {
            let settings = Settings { profile, ..Settings::new(name, 7) };
            let mut bench = scripted(|_| 100.0);
            bench.response = |_| Some(Nanos::from_millis(1));
            let findings = bench.studied(&*build(&settings), &settings);
            assert_eq!(findings.form_pages.len(), pages, "{name} {profile}");
        }
    }

    #[test]
    fn an_empty_record_is_studied_without_invention() {
        for spec in PROCEDURES {
            let settings = complete_settings(spec.name);
            let findings = study_of_nothing(&*build(&settings), &settings);
            assert_eq!(findings.end, steadfast_domain::EndState::Unfinished, "{}", spec.name);
            assert!(findings.caveat("unfinished").is_some(), "{}", spec.name);
            // These two count what they did, which is nothing.
            if !["verify-write", "replay-native"].contains(&spec.name) {
                let text = serde_json::to_string(&findings.summary).unwrap();
                assert!(!text.contains("\"value\":0.0"), "{}: {text}", spec.name);
            }
        }
    }

    #[test]
    fn the_table_of_open_questions_names_parameters_that_there_are() {
        let page = include_str!("../../../docs/methods.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| U-")).collect();
        assert_eq!(rows.len(), 15);
        let mut named = 0;
        for (row, number) in rows.iter().zip(1..) {
            let cells: Vec<&str> = row.split(" | ").collect();
            assert_eq!(cells[0], format!("| U-{number}"));
            let quoted = cells[3].split('`').skip(1).step_by(2);
            for (procedure, parameter) in quoted.filter_map(|held| held.split_once(": ")) {
                let spec = PROCEDURES.iter().find(|spec| spec.name == procedure).unwrap();
                let known = spec.parameters.iter().any(|known| known.name == parameter);
                assert!(known, "U-{number}: {procedure} has no {parameter}");
                named += 1;
            }
        }
        assert!(named > 25, "{named}");
    }

    #[test]
    fn a_strange_procedure_or_parameter_is_refused_with_what_there_is() {
        let why = refusal("io", |_| ()).unwrap();
        assert!(why.contains("'io'") && why.contains("iops, throughput, latency"), "{why}");
        assert!(refusal("throughput", set("mix", "1")).unwrap().contains("it has none"));
        assert!(refusal("iops", set("ar-segments", "1")).unwrap().contains("it has: alignment"));
        let why = refusal("latency", set("histogramtime", "1")).unwrap();
        assert!(why.contains("'histogramtime'") && why.contains("histogram-time"), "{why}");
    }
}
