//! Setup of the tests of zones.

use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::method::{Method, RANGE_UNIT};
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
use steadfast_domain::{Bytes, Demand, Profile, Step, StepPlace};

pub const ZONES: Parameter = Parameter {
    name: "zones",
    default: "128",
    meaning: "number of equal zones of a hard disk, 2 to 1024; every step is made in each",
    source: "TKperf 2.x (hdd mode)",
    ..Parameter::PLAIN
};

pub const PARAMETERS: &[Parameter] = &[ZONES];

/// Mixes of the IOPS test in percent of reads (TKperf 2.x, hdd mode).
const MIXES: [u8; 3] = [100, 50, 0];
/// Block sizes of the IOPS test (TKperf 2.x, hdd mode).
const SIZES: [Bytes; 3] = [Bytes::kib(64), Bytes::kib(16), Bytes::kib(4)];
/// Block sizes of the throughput test (TKperf 2.x, hdd mode).
const THROUGHPUT_SIZES: [Bytes; 2] = [Bytes::kib(1024), Bytes::kib(4)];
/// Default demand of TKperf.
const DEMAND: Demand = Demand::new(1, 1);

#[derive(Debug, Clone)]
pub struct ZoneTest {
    pub(super) setup: ProcedureSetup,
    pub(super) demand: Demand,
    pub(super) zones: Vec<ActiveRange>,
    pub(super) kind: ZoneTestKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneTestKind {
    Iops,
    Throughput,
}

impl ZoneTestKind {
    /// Returns the points in each zone, in order.
    pub fn points(self) -> Vec<AccessPattern> {
        match self {
            ZoneTestKind::Iops => MIXES
                .iter()
                .flat_map(|mix| SIZES.iter().map(|size| AccessPattern::random(*size, *mix)))
                .collect(),
            ZoneTestKind::Throughput => THROUGHPUT_SIZES
                .iter()
                .flat_map(|size| [100, 0].map(|mix| AccessPattern::sequential(*size, mix)))
                .collect(),
        }
    }
}

impl ZoneTest {
    pub fn new(kind: ZoneTestKind, request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let instead = "it ends after its last zone; omit --steady-state and --max-rounds";
        check_no_rounds(request.settings, instead)?;
        let method = Method {
            document: "TKperf 2.x, hdd mode",
            disclaimer: Some("TKPERF HDD MODE: the method of TKperf 2.x, not of the PTS"),
            ..method::for_profile(Profile::Tkperf, request.settings.class)
        };
        let setup = ProcedureSetup::new(request, method)?;
        let count = ZONES.within(&setup.settings, 2..=1024)?;
        let zones = zones(setup.active_range, count)?;
        Ok(ZoneTest { demand: setup.settings.demand_or(DEMAND), zones, kind, setup })
    }

    /// Returns the steps in order: the IOPS test passes over the zones once, the throughput test
    /// once for each block size.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> {
        let points: Vec<(u32, AccessPattern)> = (1..).zip(self.kind.points()).collect();
        let points_per_pass = match self.kind {
            ZoneTestKind::Iops => points.len(),
            // Reads and writes of one block size.
            ZoneTestKind::Throughput => 2,
        };
        let mut steps = Vec::new();
        for pass in points.chunks(points_per_pass) {
            for (zone, range) in (1..).zip(&self.zones) {
                for (point, pattern) in pass {
                    steps.push(self.step(zone, *range, *point, *pattern));
                }
            }
        }
        steps.into_iter()
    }

    fn step(&self, zone: u32, range: ActiveRange, point: u32, pattern: AccessPattern) -> Step {
        let place = StepPlace::new(&self.phase(pattern), zone, point, pattern.to_string());
        let until = LoadLimits::time(self.setup.step_time);
        let mut stimulus = self.setup.stimulus(&pattern, self.demand, until, &place);
        stimulus.active_range = range;
        Step::alone(place, stimulus)
    }

    /// Returns the phase in which a pattern is applied: one pass over all zones.
    pub(super) fn phase(&self, pattern: AccessPattern) -> String {
        match self.kind {
            ZoneTestKind::Iops => "zones".to_owned(),
            ZoneTestKind::Throughput => format!("zones-{}", pattern.size.transfer_size()),
        }
    }

    pub(super) fn choices(&self) -> RunChoices<'_> {
        let mut phases: Vec<String> =
            self.kind.points().into_iter().map(|pattern| self.phase(pattern)).collect();
        phases.dedup();
        RunChoices {
            demands: vec![self.demand],
            recommended: Some(DEMAND),
            ending: format!("after the last of {} zones", self.zones.len()),
            measured_phases: phases,
            gap_effect: |_| "Each step stands alone; that zone was measured after the gap.",
            tkperf: "TKperf's hdd mode: its zones, mixes, block sizes and order. Differences: \
                zones are multiples of 1 MiB (TKperf miscalculates the size of devices with \
                sectors of 4,096 bytes); every step has its own random offsets; \
                threads share one sequential position.",
            ..self.setup.choices()
        }
    }
}

/// Divides the range into equal zones from its beginning, whose length every block size divides; a
/// remainder at the end is not used.
fn zones(range: ActiveRange, count: u32) -> Result<Vec<ActiveRange>, ProcedureError> {
    let length = Bytes(range.length.0 / u64::from(count)).round_down(RANGE_UNIT);
    if length.0 == 0 {
        return Err(ProcedureError(format!(
            "{count} zones of {} are smaller than 1 MiB each; test a target of at least {count} MiB, \
             or fewer zones with: steadfast run tkperf --set zones=N",
            range.length
        )));
    }
    let zone =
        |number: u32| ActiveRange::new(Bytes(range.start.0 + u64::from(number) * length.0), length);
    Ok((0..count).map(zone).collect())
}
