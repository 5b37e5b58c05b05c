//! What a procedure can apply, and what its offsets are multiples of.

use crate::parameters::Parameter;
use crate::unsuitable::Unsuitable;
use std::fmt::Display;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{Order, Zone};
use steadfast_domain::{Bytes, IoStream, Settings};

/// What can be applied: an access pattern, or a workload of several. Its text is
/// its name in the notation.
pub trait Applied: Display {
    /// Its I/O streams, weighted by the count of I/Os.
    fn streams(&self) -> Vec<IoStream>;
    /// Its LBA zones; empty where it has none.
    fn zones(&self) -> Vec<Zone> {
        Vec::new()
    }
}

impl Applied for AccessPattern {
    fn streams(&self) -> Vec<IoStream> {
        AccessPattern::streams(self)
    }
}

/// The parameter `alignment` of every procedure with random I/O.
pub const ALIGNMENT: Parameter = Parameter {
    name: "alignment",
    default: "auto",
    meaning: "alignment of random offsets: auto (the block size; 4096 for the composite), 4K or \
              512 bytes",
    source: "composite: fio's jesd219.fio (blockalign=4k); else our choice: a sample report of \
             the tutorial has Aln=4K",
    unverified: true,
    ..Parameter::PLAIN
};

/// How a report calls the alignment at the block size.
pub const BLOCK_SIZE: &str = "BS";

/// The alignment that was chosen; `None` for what is applied to decide.
pub fn alignment(settings: &Settings, geometry: Geometry) -> Result<Option<Bytes>, Unsuitable> {
    let sector = Bytes(u64::from(geometry.logical_sector));
    ALIGNMENT.parse(settings, |text| match text {
        "auto" => Some(None),
        // A sector can be larger than the alignment that was asked for.
        bytes => bytes
            .parse::<Bytes>()
            .ok()
            .filter(|a| [512, 4096].contains(&a.0))
            .map(|a| Some(a.max(sector))),
    })
}

/// Random streams at the alignment that was chosen. Where it is the workload's own
/// nothing is changed: a run that an earlier version began has the same loads.
pub(super) fn aligned(streams: Vec<IoStream>, alignment: Option<Bytes>) -> Vec<IoStream> {
    let Some(alignment) = alignment else { return streams };
    let align = |stream: IoStream| match stream.order {
        Order::Random => IoStream { alignment: Some(alignment), ..stream },
        Order::Sequential(_) => stream,
    };
    streams.into_iter().map(align).collect()
}

/// How a report calls an alignment.
pub fn alignment_name(alignment: Option<Bytes>) -> String {
    alignment.map_or(BLOCK_SIZE.to_owned(), Bytes::transfer_size)
}
