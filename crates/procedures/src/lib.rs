//! Test specifications as code.
//!
//! Each procedure is written like the standard's own loop against
//! `domain::Bench`, and studied by a pure function of the record. Only this
//! crate holds numbers from a specification, each with its source.
#![forbid(unsafe_code)]

pub mod pts;

use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::{Procedure, Settings};

/// Why a procedure cannot be run as asked: one sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsuitable(pub String);

/// A procedure on offer.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// What a user types.
    pub name: &'static str,
    /// What it measures, in one line.
    pub summary: &'static str,
}

/// Every procedure on offer.
pub const PROCEDURES: &[Offer] = &[Offer {
    name: "iops",
    summary: "IOPS of 7 read/write mixes x 8 block sizes in steady state (PTS IOPS test)",
}];

/// The procedure that `settings` name, made for a device of this geometry.
/// Amendments count in their order.
pub fn procedure(
    settings: &Settings,
    geometry: Geometry,
    amendments: &[Amendment],
) -> Result<Box<dyn Procedure>, Unsuitable> {
    match settings.procedure.as_str() {
        "iops" => Ok(Box::new(pts::iops::Iops::new(settings, geometry, amendments)?)),
        other => {
            let names: Vec<_> = PROCEDURES.iter().map(|offer| offer.name).collect();
            Err(Unsuitable(format!(
                "there is no procedure '{other}'; choose one of: {}",
                names.join(", ")
            )))
        }
    }
}
