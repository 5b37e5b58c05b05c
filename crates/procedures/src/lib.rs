//! Test specifications as code.
//!
//! Each procedure is written like the standard's own loop against
//! `domain::Bench`, and studied by a pure function of the record. Only this
//! crate holds numbers from a specification, each with its source.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod meta;
mod parameters;
mod parts;
pub mod pts;
pub mod suite;

pub use meta::{META_KEYS, check_meta};
pub use parameters::Parameter;

use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::{Class, Procedure, Profile, Settings, suggestion};

/// Why a procedure cannot be run as asked: one sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsuitable(pub String);

/// Makes a procedure for a device of known geometry; amendments count in their
/// order.
pub type Make = fn(&Settings, Geometry, &[Amendment]) -> Result<Box<dyn Procedure>, Unsuitable>;

/// A procedure on offer.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// What a user types.
    pub name: &'static str,
    /// What it measures, in one line.
    pub summary: &'static str,
    /// The parameters that it has beside the settings of every procedure.
    pub parameters: &'static [Parameter],
    /// Makes it. Use [`procedure`], which also checks the settings.
    pub make: Make,
}

/// Every procedure on offer.
pub const PROCEDURES: &[Offer] = &[
    Offer {
        name: "iops",
        summary: "IOPS of 7 read/write mixes x 8 block sizes in steady state (PTS IOPS test)",
        parameters: pts::iops::PARAMETERS,
        make: |settings, geometry, amendments| {
            pts::scattered::offered::<pts::iops::Iops>("IOPS", settings, geometry, amendments)
        },
    },
    Offer {
        name: "throughput",
        summary: "MB/s of sequential reads and writes, 1024 KiB and 128 KiB, in steady state",
        parameters: &[],
        make: |settings, geometry, amendments| {
            pts::scattered::offered::<pts::throughput::Throughput>(
                "Throughput",
                settings,
                geometry,
                amendments,
            )
        },
    },
    Offer {
        name: "latency",
        summary: "response times with one outstanding I/O, 3 mixes x 3 block sizes; histogram",
        parameters: pts::latency::PARAMETERS,
        make: |settings, geometry, amendments| {
            pts::scattered::offered::<pts::latency::Latency>(
                "Latency", settings, geometry, amendments,
            )
        },
    },
    Offer {
        name: "wsat",
        summary: "write saturation of one workload from the purge on, minute by minute (PTS WSAT)",
        parameters: pts::wsat::PARAMETERS,
        make: |settings, geometry, amendments| {
            Ok(Box::new(pts::wsat::Wsat::new(settings, geometry, amendments)?))
        },
    },
    Offer {
        name: "composite",
        summary: "WSAT of the JESD219 composite workload: 12 block sizes in 3 LBA zones",
        parameters: pts::wsat::COMPOSITE_PARAMETERS,
        make: |settings, geometry, amendments| {
            Ok(Box::new(pts::wsat::Wsat::composite(settings, geometry, amendments)?))
        },
    },
    Offer {
        name: "dirth",
        summary: "IOPS and response times of 49 demands, histograms of three of them (PTS DIRTH)",
        parameters: pts::dirth::PARAMETERS,
        make: |settings, geometry, amendments| {
            Ok(Box::new(pts::dirth::Dirth::new(settings, geometry, amendments)?))
        },
    },
    Offer {
        name: "composite-dirth",
        summary: "DIRTH of the JESD219 composite workload",
        parameters: pts::dirth::COMPOSITE_PARAMETERS,
        make: |settings, geometry, amendments| {
            Ok(Box::new(pts::dirth::Dirth::composite(settings, geometry, amendments)?))
        },
    },
    Offer {
        name: "xsr",
        summary: "MB/s of large sequential writes before and after hours of random ones (PTS XSR)",
        parameters: pts::xsr::PARAMETERS,
        make: |settings, geometry, amendments| {
            Ok(Box::new(pts::xsr::Xsr::new(settings, geometry, amendments)?))
        },
    },
    Offer {
        name: "hir",
        summary: "IOPS of a saturated drive after pauses of the host of 5 to 50 s (PTS HIR)",
        parameters: pts::hir::PARAMETERS,
        make: |settings, geometry, amendments| {
            Ok(Box::new(pts::hir::Hir::new(settings, geometry, amendments)?))
        },
    },
    Offer {
        name: suite::NAME,
        summary: "several procedures on one device, in one plan and one report",
        parameters: suite::PARAMETERS,
        make: |settings, geometry, amendments| {
            Ok(Box::new(suite::Suite::new(settings, geometry, amendments)?))
        },
    },
];

/// The offer of a name.
pub fn offer(name: &str) -> Option<&'static Offer> {
    PROCEDURES.iter().find(|offer| offer.name == name)
}

/// The procedure that `settings` name, made for a device of this geometry.
/// Amendments count in their order.
pub fn procedure(
    settings: &Settings,
    geometry: Geometry,
    amendments: &[Amendment],
) -> Result<Box<dyn Procedure>, Unsuitable> {
    let Some(offer) = offer(&settings.procedure) else {
        let names: Vec<_> = PROCEDURES.iter().map(|offer| offer.name).collect();
        return Err(Unsuitable(format!(
            "there is no procedure '{}'{}; choose one of: {}",
            settings.procedure,
            suggestion(&settings.procedure, names.iter().copied()),
            names.join(", ")
        )));
    };
    check_combination(settings)?;
    // A suite knows which of its parts a parameter is for.
    if offer.name != suite::NAME {
        parameters::check(offer, settings)?;
    }
    (offer.make)(settings, geometry, amendments)
}

/// The procedures that TKperf has.
const OF_TKPERF: [&str; 4] = ["iops", "throughput", "latency", "wsat"];

/// The procedures that the client documents 1.x have: WSAT, DIRTH and HIR came
/// to client drives with 2.0 (SNIA tutorial, PTS 2.0.1).
pub(crate) const OF_CLIENT_1: [&str; 3] = ["iops", "throughput", "latency"];

/// Refuses a profile that does not have the procedure.
fn check_combination(settings: &Settings) -> Result<(), Unsuitable> {
    let name = settings.procedure.as_str();
    match (settings.profile, settings.class) {
        _ if name == suite::NAME => Ok(()),
        (Profile::Tkperf, _) if !OF_TKPERF.contains(&name) => Err(Unsuitable(format!(
            "profile tkperf has no {name}: TKperf runs {} only; choose --profile pts-2.0",
            OF_TKPERF.join(", ")
        ))),
        (Profile::Pts11, Class::Client) if !OF_CLIENT_1.contains(&name) => {
            Err(Unsuitable(format!(
                "profile pts-1.1 has no {name} for class client: it came to client drives with \
                 PTS 2.0; choose --profile pts-2.0"
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pts::scripted::GEOMETRY;

    fn refused(name: &str, change: impl FnOnce(&mut Settings)) -> Option<String> {
        let mut settings = Settings::new(name, 1);
        change(&mut settings);
        procedure(&settings, GEOMETRY, &[]).err().map(|why| why.0)
    }

    #[test]
    fn every_offer_is_made_with_its_defaults_in_both_classes_and_in_quick() {
        for offer in PROCEDURES {
            for class in [Class::Enterprise, Class::Client] {
                for profile in [Profile::Pts20, Profile::Quick] {
                    let why = refused(offer.name, |s| (s.class, s.profile) = (class, profile));
                    assert_eq!(why, None, "{} {class} {profile}", offer.name);
                }
            }
            let names: std::collections::HashSet<_> =
                offer.parameters.iter().map(|p| p.name).collect();
            assert_eq!(names.len(), offer.parameters.len(), "{}", offer.name);
            assert!(!offer.summary.is_empty());
        }
    }

    #[test]
    fn combinations_that_make_no_sense_are_refused_with_the_reason() {
        for offer in PROCEDURES.iter().filter(|offer| offer.name != suite::NAME) {
            let tkperf = refused(offer.name, |s| s.profile = Profile::Tkperf);
            assert_eq!(tkperf.is_none(), OF_TKPERF.contains(&offer.name), "{tkperf:?}");
            let client_1 = refused(offer.name, |s| {
                (s.class, s.profile) = (Class::Client, Profile::Pts11);
                if OF_CLIENT_1.contains(&offer.name) {
                    s.parameters.insert("ar-amount".into(), "64MiB".into());
                    s.parameters.insert("ar-segments".into(), "64".into());
                }
            });
            assert_eq!(client_1.is_none(), OF_CLIENT_1.contains(&offer.name), "{client_1:?}");
        }
    }

    #[test]
    fn a_strange_procedure_or_parameter_is_refused_with_what_there_is() {
        let why = refused("io", |_| ()).unwrap();
        assert!(why.contains("'io'") && why.contains("iops, throughput, latency"), "{why}");
        let set = |name: &'static str| {
            move |s: &mut Settings| {
                s.parameters.insert(name.into(), "1".into());
            }
        };
        assert!(refused("throughput", set("mix")).unwrap().contains("it has none"));
        assert!(refused("iops", set("ar-segments")).unwrap().contains("it has: alignment"));
        let why = refused("latency", set("histogramtime")).unwrap();
        assert!(why.contains("'histogramtime'") && why.contains("histogram-time"), "{why}");
    }
}
