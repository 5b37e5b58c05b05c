//! The tests of zones as they are set up.

use crate::ground::Ground;
use crate::ground::asked::Asked;
use crate::ground::choices::Choices;
use crate::ground::method::Method;
use crate::ground::rounds::check_no_rounds;
use crate::parameters::Parameter;
use crate::pts::method;
use crate::unsuitable::Unsuitable;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, Until};
use steadfast_domain::{Bytes, Demand, Place, Profile, Step};

/// How many zones.
pub const ZONES: Parameter = Parameter {
    name: "zones",
    default: "128",
    meaning: "number of equal zones of a hard disk, 2 to 1024; every step is made in each",
    source: "TKperf 2.x (hdd mode)",
    ..Parameter::PLAIN
};

/// The parameters of both tests.
pub const PARAMETERS: &[Parameter] = &[ZONES];

/// The mixes of the IOPS test, percent of reads (TKperf 2.x, hdd mode) ...
const MIXES: [u8; 3] = [100, 50, 0];
/// ... its block sizes ...
const SIZES: [Bytes; 3] = [Bytes::kib(64), Bytes::kib(16), Bytes::kib(4)];
/// ... and those of the throughput test.
const THROUGHPUT_SIZES: [Bytes; 2] = [Bytes::kib(1024), Bytes::kib(4)];
/// TKperf's default.
const DEMAND: Demand = Demand::new(1, 1);

/// Zones begin at multiples of this, so that every block size fits.
const UNIT: u64 = 1 << 20;

/// A test of zones, ready to be conducted on its ground.
#[derive(Debug, Clone)]
pub struct Zones {
    pub(super) ground: Ground,
    pub(super) demand: Demand,
    pub(super) zones: Vec<ActiveRange>,
    pub(super) kind: Kind,
}

/// Which of the two tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Iops,
    Throughput,
}

impl Kind {
    /// The points in each zone, in order.
    pub fn points(self) -> Vec<AccessPattern> {
        match self {
            Kind::Iops => MIXES
                .iter()
                .flat_map(|mix| SIZES.iter().map(|size| AccessPattern::random(*size, *mix)))
                .collect(),
            Kind::Throughput => THROUGHPUT_SIZES
                .iter()
                .flat_map(|size| [100, 0].map(|mix| AccessPattern::sequential(*size, mix)))
                .collect(),
        }
    }
}

impl Zones {
    /// IOPS, zone by zone.
    pub fn iops(asked: &Asked<'_>) -> Result<Self, Unsuitable> {
        Zones::of(Kind::Iops, asked)
    }

    /// Throughput, zone by zone.
    pub fn throughput(asked: &Asked<'_>) -> Result<Self, Unsuitable> {
        Zones::of(Kind::Throughput, asked)
    }

    fn of(kind: Kind, asked: &Asked<'_>) -> Result<Self, Unsuitable> {
        check_no_rounds(asked.settings, "it ends after its last zone; omit them")?;
        let method = Method {
            document: "TKperf 2.x, hdd mode",
            lesser: Some("TKPERF HDD MODE: the method of TKperf 2.x, not of the PTS"),
            ..method::of(Profile::Tkperf, asked.settings.class)
        };
        let ground = Ground::new(asked, method)?;
        let count = ZONES.parse(&ground.settings, |text| {
            text.parse::<u32>().ok().filter(|count| (2..=1024).contains(count))
        })?;
        let zones = zones(ground.active_range, count)?;
        Ok(Zones { demand: ground.settings.demand_or(DEMAND), zones, kind, ground })
    }

    /// Every step in order: IOPS go from zone to zone, throughput does so for each size.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> {
        let points: Vec<(u32, AccessPattern)> = (1..).zip(self.kind.points()).collect();
        let groups: Vec<Vec<(u32, AccessPattern)>> = match self.kind {
            Kind::Iops => vec![points],
            Kind::Throughput => points.chunks(2).map(<[_]>::to_vec).collect(),
        };
        let mut steps = Vec::new();
        for group in groups {
            for (zone, range) in (1..).zip(&self.zones) {
                steps.extend(group.iter().map(|point| self.step((zone, *range), *point)));
            }
        }
        steps.into_iter()
    }

    fn step(&self, (zone, range): (u32, ActiveRange), of: (u32, AccessPattern)) -> Step {
        let (point, pattern) = of;
        let place = Place::new(&self.phase(pattern), zone, point, pattern.to_string());
        let until = Until::time(self.ground.minute);
        let mut stimulus = self.ground.stimulus(&pattern, self.demand, until, &place);
        stimulus.active_range = range;
        Step::alone(place, stimulus)
    }

    /// The phase in which a pattern is applied: one pass over all zones.
    pub(super) fn phase(&self, pattern: AccessPattern) -> String {
        match self.kind {
            Kind::Iops => "zones".to_owned(),
            Kind::Throughput => format!("zones-{}", pattern.size.transfer_size()),
        }
    }

    pub(super) fn choices(&self) -> Choices<'_> {
        let mut phases: Vec<String> =
            self.kind.points().into_iter().map(|pattern| self.phase(pattern)).collect();
        phases.dedup();
        Choices {
            demands: vec![self.demand],
            recommended: Some(DEMAND),
            ending: format!("after the last of {} zones", self.zones.len()),
            measured_phases: phases,
            gap_effect: |_| "Each step stands alone; that zone was measured after the gap.",
            tkperf: "TKperf's hdd mode: its zones, mixes, block sizes and order. Differences: \
                zones are whole numbers of 1 MiB of the device's bytes (TKperf mistakes the size \
                of devices with sectors of 4,096 bytes); every step has its own random offsets; \
                threads share one sequential position.",
            ..self.ground.choices()
        }
    }
}

/// Equal zones from the beginning of the range; what does not divide is left at its end.
fn zones(range: ActiveRange, count: u32) -> Result<Vec<ActiveRange>, Unsuitable> {
    let length = Bytes(range.length.0 / u64::from(count)).round_down(UNIT);
    if length.0 == 0 {
        return Err(Unsuitable(format!(
            "{count} zones of {} are smaller than 1 MiB each; test a target of at least {count} MiB, \
             or fewer zones with: steadfast run tkperf --set zones=N",
            range.length
        )));
    }
    let zone =
        |number: u32| ActiveRange::new(Bytes(range.start.0 + u64::from(number) * length.0), length);
    Ok((0..count).map(zone).collect())
}
