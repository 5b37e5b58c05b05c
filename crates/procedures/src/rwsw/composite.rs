//! The captured workload as it is applied: the streams that the device can take, by
//! their counts in the capture.

use crate::ground::Ground;
use crate::ground::applied::Applied;
use crate::unsuitable::Unsuitable;
use std::fmt;
use steadfast_domain::applied::{AppliedStep, AppliedWorkload};
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{Op, Order, Pace};
use steadfast_domain::{Bytes, Demand, IoStream, Settings};

/// The captured workload on a device of known geometry.
#[derive(Debug, Clone)]
pub struct Composite {
    /// As it stands in the settings.
    pub workload: AppliedWorkload,
    sector: Bytes,
}

impl Composite {
    /// The workload of the settings.
    ///
    /// # Errors
    /// Where there is none, or none of its streams can be applied to the device.
    pub fn of(settings: &Settings, geometry: Geometry) -> Result<Self, Unsuitable> {
        let Some(workload) = settings.workload.as_deref() else {
            return Err(Unsuitable(format!(
                "{} applies a captured workload, and none was given: give --workload FILE or NAME",
                settings.procedure
            )));
        };
        let sector = Bytes(u64::from(geometry.logical_sector));
        let composite = Composite { workload: workload.clone(), sector };
        if composite.moving().next().is_none() && workload.script.is_none() {
            return Err(Unsuitable(format!(
                "workload '{}' has no I/O stream that moves data in whole sectors of {} bytes; \
                 choose others with --op, --stream or --threshold",
                workload.name, sector.0
            )));
        }
        Ok(composite)
    }

    /// The same where streams of it can be applied; single I/Os alone are for a replay.
    ///
    /// # Errors
    /// Where it has none.
    pub fn with_streams(self) -> Result<Self, Unsuitable> {
        if self.moving().next().is_some() {
            return Ok(self);
        }
        Err(Unsuitable(format!(
            "workload '{}' has single I/Os but no I/O streams that can be applied; only \
             replay-native plays those",
            self.workload.name
        )))
    }

    /// The streams that are applied one at a time: a flush moves nothing, so it is no
    /// workload alone.
    pub fn moving(&self) -> impl Iterator<Item = IoStream> + '_ {
        let streams = self.workload.streams.iter().filter(|s| self.fits(s) && s.weight > 0);
        streams.filter(|s| s.op != Op::Flush).map(|stream| self.fitted(stream.clone()))
    }

    /// Its demand: the user's, the capture's, or what the class recommends.
    pub fn demand(&self, ground: &Ground) -> Demand {
        let preset = self.workload.demand.unwrap_or(ground.method.random_demand);
        ground.settings.demand_or(preset)
    }

    /// Streams whose transfers are no whole sectors.
    pub fn left_out(&self) -> Vec<&IoStream> {
        self.workload.streams.iter().filter(|stream| !self.fits(stream)).collect()
    }

    /// Whether any of its streams does this.
    pub fn has(&self, op: Op) -> bool {
        self.streams().iter().any(|stream| stream.op == op)
    }

    /// The composite of a capture step; empty where none of its streams can be applied.
    pub fn streams_of(&self, step: &AppliedStep) -> Vec<IoStream> {
        let streams = self.workload.streams_of(&self.applied_part(step));
        streams.into_iter().map(|stream| self.fitted(stream)).collect()
    }

    /// I/Os of a capture step by the place of their stream, those that are applied.
    pub fn counts_of(&self, step: &AppliedStep) -> Vec<(usize, u64)> {
        self.applied_part(step).streams
    }

    /// When the I/Os of a capture step are due: at the rate of those that are applied.
    pub fn pace_of(&self, step: &AppliedStep) -> Pace {
        let sum = |streams: &[(usize, u64)]| streams.iter().map(|(_, ios)| *ios).sum::<u64>();
        let (part, all) = (sum(&self.counts_of(step)), sum(&step.streams));
        let share = |ios: u64| {
            let scaled = u128::from(ios) * u128::from(part) / u128::from(all.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
        };
        match step.pace {
            Pace::Fixed { ios, per } => Pace::Fixed { ios: share(ios), per },
            Pace::Poisson { ios, per } => Pace::Poisson { ios: share(ios), per },
            other => other,
        }
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

    /// At offsets that the device's sectors allow.
    fn fitted(&self, stream: IoStream) -> IoStream {
        let is_odd = stream.alignment.is_some_and(|a| !a.0.is_multiple_of(self.sector.0));
        match is_odd {
            true => IoStream { alignment: Some(self.sector), ..stream },
            false => stream,
        }
    }
}

impl Applied for Composite {
    fn streams(&self) -> Vec<IoStream> {
        let fitting = self.workload.streams.iter().filter(|s| self.fits(s) && s.weight > 0);
        fitting.map(|stream| self.fitted(stream.clone())).collect()
    }
}

impl fmt::Display for Composite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.workload.name)
    }
}

/// One stream of a captured workload, alone.
pub struct Alone(pub IoStream);

impl Alone {
    /// Whether it goes on from where it was.
    pub fn is_sequential(&self) -> bool {
        matches!(self.0.order, Order::Sequential(_))
    }
}

impl Applied for Alone {
    fn streams(&self) -> Vec<IoStream> {
        vec![self.0.clone()]
    }
}

impl fmt::Display for Alone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The streams of a capture step.
pub struct OfStep<'a> {
    /// What prints.
    pub label: &'a str,
    /// The streams, weighed by the step's counts.
    pub streams: Vec<IoStream>,
}

impl Applied for OfStep<'_> {
    fn streams(&self) -> Vec<IoStream> {
        self.streams.clone()
    }
}

impl fmt::Display for OfStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label)
    }
}
