//! The captured workload on a device: the streams that fit its sector size, weighted by their
//! counts in the capture.

use super::method::{AppliedArrivals, applied_arrivals, applies_zones, has_zones};
use crate::common::ProcedureSetup;
use crate::common::applied::ApplicableWorkload;
use crate::procedure_error::ProcedureError;
use std::fmt;
use steadfast_domain::applied::{AppliedStep, AppliedWorkload};
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{Op, Pace, Zone};
use steadfast_domain::{Bytes, Demand, IoStream, Settings};

/// The captured workload on a device with a known sector size.
#[derive(Debug, Clone)]
pub struct CapturedComposite {
    pub workload: AppliedWorkload,
    sector: Bytes,
    arrivals: AppliedArrivals,
}

impl CapturedComposite {
    pub fn from_settings(settings: &Settings, geometry: Geometry) -> Result<Self, ProcedureError> {
        let Some(workload) = settings.workload.as_deref() else {
            return Err(ProcedureError(format!(
                "{} needs a captured workload; give --workload FILE or --workload NAME",
                settings.procedure
            )));
        };
        let sector = Bytes(u64::from(geometry.logical_sector));
        let mut workload = workload.clone();
        if !applies_zones(settings)? {
            workload.streams.iter_mut().for_each(|stream| stream.zones.clear());
        }
        let arrivals = applied_arrivals(settings, &workload)?;
        let composite = CapturedComposite { workload, sector, arrivals };
        if composite.data_streams().next().is_none() && composite.workload.script.is_none() {
            return Err(ProcedureError(format!(
                "workload '{}' has no I/O stream whose transfer size is a multiple of the sector \
                 size of {} bytes; select other streams with --op, --stream or --threshold",
                composite.workload.name, sector.0
            )));
        }
        Ok(composite)
    }

    /// Creates the composite of the workload in the settings, to be applied to the active range of
    /// a test.
    pub fn on_range(setup: &ProcedureSetup) -> Result<Self, ProcedureError> {
        let composite = Self::from_settings(&setup.settings, setup.geometry)?;
        if setup.active_range.segments.is_some() && has_zones(&composite.workload) {
            return Err(ProcedureError(format!(
                "workload '{}' has address zones, and the active range has segments; omit the \
                 segments, or the zones with --set zones=none",
                composite.workload.name
            )));
        }
        Ok(composite)
    }

    /// Returns the composite if it has streams that can be applied. Only a replay can do without:
    /// it plays single I/Os.
    pub fn with_streams(self) -> Result<Self, ProcedureError> {
        if self.data_streams().next().is_some() {
            return Ok(self);
        }
        Err(ProcedureError(format!(
            "workload '{}' has single I/Os but no I/O streams that can be applied; run \
             replay-native to play its single I/Os",
            self.workload.name
        )))
    }

    /// Returns the streams that can be applied alone: all that fit the device, except flushes,
    /// which transfer no data.
    pub fn data_streams(&self) -> impl Iterator<Item = IoStream> + '_ {
        let streams = self.workload.streams.iter().filter(|s| self.fits(s) && s.weight > 0);
        streams.filter(|s| s.op != Op::Flush).map(|stream| self.fitted(stream.clone()))
    }

    /// Returns the demand: the user's choice, otherwise the default of a schedule, the captured
    /// demand, or the one that the class recommends.
    pub fn demand(&self, setup: &ProcedureSetup) -> Demand {
        let captured = self.workload.demand.unwrap_or(setup.method.random_demand);
        let is_closed = self.arrivals == AppliedArrivals::Closed;
        let preset = if is_closed { captured } else { Demand::SCHEDULED };
        setup.settings.demand_or(preset)
    }

    /// Returns the streams left out because their transfer size is not a multiple of the sector
    /// size.
    pub fn left_out(&self) -> Vec<&IoStream> {
        self.workload.streams.iter().filter(|stream| !self.fits(stream)).collect()
    }

    /// Returns true if an applied stream has this operation.
    pub fn has(&self, op: Op) -> bool {
        self.streams().iter().any(|stream| stream.op == op)
    }

    /// Returns the streams of a capture step, weighted by its counts; empty if none of them can be
    /// applied.
    pub fn streams_of(&self, step: &AppliedStep) -> Vec<IoStream> {
        let streams = self.workload.streams_of(&self.applied_part(step));
        streams.into_iter().map(|stream| self.fitted(stream)).collect()
    }

    /// Returns the index in the workload and the number of I/Os of each applied stream of a
    /// capture step.
    pub fn counts_of(&self, step: &AppliedStep) -> Vec<(usize, u64)> {
        self.applied_part(step).streams
    }

    /// Returns the pace of a capture step, scaled to the share of I/Os that are applied.
    pub fn pace_of(&self, step: &AppliedStep) -> Pace {
        let sum = |streams: &[(usize, u64)]| streams.iter().map(|(_, ios)| *ios).sum::<u64>();
        let (part, all) = (sum(&self.counts_of(step)), sum(&step.streams));
        let share = |ios: u64| {
            let scaled = u128::from(ios) * u128::from(part) / u128::from(all.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
        };
        match step.pace.clone() {
            Pace::Fixed { ios, per } => Pace::Fixed { ios: share(ios), per },
            Pace::Poisson { ios, per } => Pace::Poisson { ios: share(ios), per },
            other => other,
        }
    }

    /// Returns the streams that are applied, with their index in the workload.
    fn applied_streams(&self) -> impl Iterator<Item = (usize, &IoStream)> {
        let streams = self.workload.streams.iter().enumerate();
        streams.filter(|(_, stream)| self.fits(stream) && stream.weight > 0)
    }

    fn stream_paces(&self) -> Pace {
        let AppliedWorkload { streams, arrivals, captured_ios, .. } = &self.workload;
        let weights: f64 = streams.iter().map(|stream| f64::from(stream.weight)).sum();
        let iops = arrivals.as_ref().and_then(Pace::offered_iops).unwrap_or_default();
        let selected = self.workload.applied_ios() as f64 / (*captured_ios).max(1) as f64;
        let applied = self.applied_streams();
        let applied = applied.map(|(place, stream)| (self.own_arrivals(place), stream.weight));
        Pace::by_stream(applied, iops * selected / weights)
    }

    /// Returns the captured arrivals of a stream of the workload; `None` if they are unknown.
    fn own_arrivals(&self, place: usize) -> Option<&Pace> {
        let own = self.workload.stream_arrivals.iter().find(|(other, _)| *other == place);
        own.map(|(_, pace)| pace)
    }

    /// Returns for each applied stream whether its arrivals were captured.
    pub fn captured_arrivals(&self) -> impl Iterator<Item = bool> {
        self.applied_streams().map(|(place, _)| self.own_arrivals(place).is_some())
    }

    fn applied_part(&self, step: &AppliedStep) -> AppliedStep {
        let is_applied =
            |place: usize| self.workload.streams.get(place).is_some_and(|s| self.fits(s));
        let streams =
            step.streams.iter().copied().filter(|(place, ios)| *ios > 0 && is_applied(*place));
        AppliedStep { streams: streams.collect(), ..step.clone() }
    }

    fn fits(&self, stream: &IoStream) -> bool {
        stream.op == Op::Flush || (stream.size.0 > 0 && stream.size.0.is_multiple_of(self.sector.0))
    }

    /// Returns the stream aligned to sectors if its own alignment is not a multiple of the sector
    /// size.
    fn fitted(&self, stream: IoStream) -> IoStream {
        let is_odd = stream.alignment.is_some_and(|a| !a.0.is_multiple_of(self.sector.0));
        if is_odd { IoStream { alignment: Some(self.sector), ..stream } } else { stream }
    }
}

impl ApplicableWorkload for CapturedComposite {
    fn streams(&self) -> Vec<IoStream> {
        self.applied_streams().map(|(_, stream)| self.fitted(stream.clone())).collect()
    }

    fn pace(&self) -> Pace {
        match (self.arrivals, &self.workload.arrivals) {
            (AppliedArrivals::Workload, Some(all)) => all.clone(),
            (AppliedArrivals::Streams, _) => self.stream_paces(),
            _ => Pace::Closed,
        }
    }
}

impl fmt::Display for CapturedComposite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.workload.name)
    }
}

/// Streams with a name of their own: one stream of a workload alone, those of a capture step, or
/// those that prepare a drive.
#[derive(Debug, Clone)]
pub struct NamedStreams {
    pub name: String,
    pub streams: Vec<IoStream>,
    /// Zones of the whole workload; empty if it has none.
    pub zones: Vec<Zone>,
}

impl ApplicableWorkload for NamedStreams {
    fn streams(&self) -> Vec<IoStream> {
        self.streams.clone()
    }
    fn zones(&self) -> Vec<Zone> {
        self.zones.clone()
    }
}

impl fmt::Display for NamedStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
