//! Workloads that a procedure can apply, and the alignment of their offsets.

use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use std::fmt::Display;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{Order, Pace, Zone};
use steadfast_domain::{Bytes, IoStream, Settings};

/// A workload that can be applied: one access pattern or several. `Display` prints its name in
/// the notation.
pub trait ApplicableWorkload: Display {
    /// Returns the I/O streams, weighted by the number of I/Os.
    fn streams(&self) -> Vec<IoStream>;
    /// Returns the LBA zones; empty if the workload has none.
    fn zones(&self) -> Vec<Zone> {
        Vec::new()
    }
    /// Returns the schedule of the I/Os.
    fn pace(&self) -> Pace {
        Pace::Closed
    }
}

impl ApplicableWorkload for AccessPattern {
    fn streams(&self) -> Vec<IoStream> {
        AccessPattern::streams(self)
    }
}

/// Parameter `alignment` of procedures with random I/O.
pub const ALIGNMENT: Parameter = Parameter {
    name: "alignment",
    default: "auto",
    meaning: "alignment of random offsets: auto (the block size; 4096 for the composite), 4K or \
              512 bytes",
    source: "composite: fio's jesd219.fio (blockalign=4k); else our choice: a sample report of \
             the tutorial has Aln=4K",
    ..Parameter::UNVERIFIED
};

/// Name of alignment to the block size in reports.
pub const BLOCK_SIZE: &str = "BS";

/// Parses the alignment that the user chose; `None` if the workload decides.
pub fn alignment(settings: &Settings, geometry: Geometry) -> Result<Option<Bytes>, ProcedureError> {
    let sector = Bytes(u64::from(geometry.logical_sector));
    ALIGNMENT.parse(settings, |text| match text {
        "auto" => Some(None),
        // The sector can be larger than the chosen alignment.
        bytes => bytes
            .parse::<Bytes>()
            .ok()
            .filter(|a| [512, 4096].contains(&a.0))
            .map(|a| Some(a.max(sector))),
    })
}

/// Sets the chosen alignment on random streams; without a choice, nothing changes.
pub(super) fn aligned(streams: Vec<IoStream>, alignment: Option<Bytes>) -> Vec<IoStream> {
    let Some(alignment) = alignment else { return streams };
    let align = |stream: IoStream| match stream.order {
        Order::Random => IoStream { alignment: Some(alignment), ..stream },
        Order::Sequential(_) => stream,
    };
    streams.into_iter().map(align).collect()
}

pub fn alignment_name(alignment: Option<Bytes>) -> String {
    alignment.map_or(BLOCK_SIZE.to_owned(), Bytes::transfer_size)
}
