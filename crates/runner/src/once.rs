//! One step outside a run: applied with the host set for it, journaled, and put
//! back however it ends.

use crate::host_changes::HostChanges;
use crate::rig::{Rig, Watch};
use steadfast_domain::record::Check;
use steadfast_domain::stimulus::{ActiveRange, DataPattern, Until};
use steadfast_domain::{
    Bytes, Caveat, Conditions, Demand, Device, Halt, IoStream, Measurement, Nanos, Place, Step,
    Stimulus,
};
use steadfast_engine::{Prepared, Start};

/// How long a load is applied where nothing else ends it.
const USUAL: Nanos = Nanos::from_secs(10);

/// A load that is to be applied to a device once.
#[derive(Debug, Clone, PartialEq)]
pub struct Single {
    /// What it is called.
    pub name: String,
    /// Its I/O streams.
    pub streams: Vec<IoStream>,
    /// Threads and outstanding I/Os.
    pub demand: Demand,
    /// What is written.
    pub data_pattern: DataPattern,
    /// Part of the capacity to use.
    pub active_range_percent: u8,
    /// Ramp-up time before the measurement, not measured.
    pub ramp: Nanos,
    /// Measured time; ten seconds where I/Os do not end it either.
    pub time: Option<Nanos>,
    /// Measured I/Os.
    pub ios: Option<u64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Check that what is read is what was written.
    pub verify: bool,
}

impl Single {
    /// Whether it changes what is on the device.
    pub fn alters(&self) -> bool {
        self.streams.iter().any(|stream| stream.op.alters())
    }

    /// The step of a run on this device; runs are numbered from 1 and have seeds of their own.
    pub fn step(&self, device: &Device, run: u32) -> Step {
        let place = Place::new("measure", 0, run, &self.name);
        let largest = self.streams.iter().map(|stream| stream.alignment().0).max();
        let unit = largest.unwrap_or(0).max(u64::from(device.logical_sector));
        let usual = self.ios.is_none().then_some(USUAL);
        let mut range = ActiveRange::first(self.active_range_percent, device.capacity, unit);
        if range.length == Bytes(0) {
            // A transfer is larger than the device, which the refusal names as it is.
            let sector = u64::from(device.logical_sector);
            range = ActiveRange::first(self.active_range_percent, device.capacity, sector);
        }
        let until = Until { time: self.time.or(usual), ios: self.ios, bytes: None };
        let stimulus = Stimulus::new(self.streams.clone(), range, self.demand, until)
            .data_pattern(self.data_pattern.clone())
            .ramp(self.ramp)
            .seed(place.seed(self.seed))
            .verify(self.verify);
        Step::alone(place, stimulus)
    }
}

/// What came of one step.
#[derive(Debug)]
pub struct Once {
    /// What it did.
    pub result: Result<Measurement, Halt>,
    /// What device and host have shown meanwhile.
    pub checks: Vec<Check>,
    /// What a reader of the numbers should know.
    pub caveats: Vec<Caveat>,
}

/// Applies one prepared step. On a device that may be written to, requests are not merged
/// meanwhile; on one that may only be read, the host stays as it is. Every change
/// is journaled before it is made, and put back however the step ends.
pub fn once(
    rig: &mut dyn Rig,
    prepared: Prepared,
    may_write: bool,
    changes: &mut HostChanges,
    watch: Watch<'_>,
) -> Once {
    let settled = if may_write { keep_apart(rig, changes) } else { Ok(()) };
    let result = settled.and_then(|()| rig.apply(prepared, &Start::default(), watch));
    let undone = changes.undo(&mut |change| rig.restore(change));
    let result = result.and_then(|measurement| undone.map(|()| measurement));
    Once { result, checks: rig.look_back(), caveats: rig.take_caveats() }
}

/// Has the device see each I/O as it was submitted.
fn keep_apart(rig: &mut dyn Rig, changes: &mut HostChanges) -> Result<(), Halt> {
    let unmerged = Conditions { merges: Some(false), ..Conditions::default() };
    rig.settle(&unmerged, &mut |change| changes.keep(change)).map(drop)
}
