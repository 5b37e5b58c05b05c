//! The workload of a load curve: one of the PTS, or a captured one.

use crate::common::ProcedureSetup;
use crate::common::applied::ApplicableWorkload;
use crate::common::method::Method;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::workload::{MIX_JESD219, PtsWorkload};
use crate::rwsw::composite::{CapturedComposite, NamedStreams};
use std::fmt;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{Durability, Zone};
use steadfast_domain::{Bytes, Demand, IoStream, Op};

/// Workload whose rate is varied.
#[derive(Debug, Clone)]
pub(super) enum CurveWorkload {
    Synthetic(PtsWorkload),
    Captured(Box<CapturedComposite>),
}

impl CurveWorkload {
    /// Returns the captured workload of the settings, or the one that `parameter` names.
    pub(super) fn from_settings(
        parameter: &Parameter,
        setup: &ProcedureSetup,
    ) -> Result<Self, ProcedureError> {
        let (settings, geometry) = (&setup.settings, setup.geometry);
        if settings.workload.is_some() {
            let composite = CapturedComposite::from_settings(settings, geometry)?.with_streams()?;
            return Ok(CurveWorkload::Captured(Box::new(composite)));
        }
        let parameters = std::slice::from_ref(parameter);
        let workload = PtsWorkload::from_settings(parameters, &MIX_JESD219, settings, geometry)?;
        Ok(CurveWorkload::Synthetic(workload))
    }

    /// Returns the demand that bounds the outstanding I/Os.
    pub(super) fn demand(&self, setup: &ProcedureSetup) -> Demand {
        match self {
            CurveWorkload::Synthetic(workload) => {
                setup.settings.demand_or(workload.recommended_demand(&setup.method))
            }
            CurveWorkload::Captured(composite) => composite.demand(setup),
        }
    }

    /// Returns the demand that is recommended for the workload; `None` for a captured one.
    pub(super) fn recommended_demand(&self, method: &Method) -> Option<Demand> {
        match self {
            CurveWorkload::Synthetic(workload) => Some(workload.recommended_demand(method)),
            CurveWorkload::Captured(_) => None,
        }
    }

    /// Returns the access pattern; `None` for a workload of several.
    pub(super) fn pattern(&self) -> Option<AccessPattern> {
        match self {
            CurveWorkload::Synthetic(workload) => workload.pattern(),
            CurveWorkload::Captured(_) => None,
        }
    }

    /// Returns the captured workload, or `None` for a synthetic one.
    pub(super) fn captured(&self) -> Option<&CapturedComposite> {
        match self {
            CurveWorkload::Synthetic(_) => None,
            CurveWorkload::Captured(composite) => Some(composite.as_ref()),
        }
    }

    fn applied(&self) -> &dyn ApplicableWorkload {
        match self {
            CurveWorkload::Synthetic(workload) => workload,
            CurveWorkload::Captured(composite) => composite.as_ref(),
        }
    }

    pub(super) fn alignment_name(&self, chosen: Option<Bytes>) -> String {
        match self {
            CurveWorkload::Synthetic(workload) => workload.alignment_name(chosen),
            CurveWorkload::Captured(_) => crate::common::applied::alignment_name(chosen),
        }
    }

    /// Returns the I/Os that are drawn for each that counts in IOPS: flushes do not count, but a
    /// rate offers them too.
    pub(super) fn drawn_per_io(&self) -> f64 {
        let streams = self.streams();
        let weight = |wanted: fn(&IoStream) -> bool| -> f64 {
            streams.iter().filter(|s| wanted(s)).map(|s| f64::from(s.weight)).sum()
        };
        weight(|_| true) / weight(|stream| stream.op != Op::Flush)
    }

    /// Returns the workload that brings the drive to its steady state: this one, or its transfers
    /// as plain writes if it only reads.
    pub(super) fn preparing(&self) -> NamedStreams {
        let streams = self.streams();
        let zones = self.zones();
        if streams.iter().any(|stream| stream.op.alters()) {
            return NamedStreams { name: self.to_string(), streams, zones };
        }
        let name = match self {
            CurveWorkload::Synthetic(workload) => workload.all_writes().to_string(),
            CurveWorkload::Captured(composite) => format!("{composite}, its reads as writes"),
        };
        let as_write =
            |stream| IoStream { op: Op::Write, durability: Durability::Cached, ..stream };
        let reads = streams.into_iter().filter(|stream| stream.op == Op::Read);
        NamedStreams { name, streams: reads.map(as_write).collect(), zones }
    }
}

impl ApplicableWorkload for CurveWorkload {
    fn streams(&self) -> Vec<IoStream> {
        self.applied().streams()
    }
    fn zones(&self) -> Vec<Zone> {
        self.applied().zones()
    }
}

impl fmt::Display for CurveWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.applied().fmt(f)
    }
}
