//! One step outside a run. Its host settings are journaled, and restored whether or not it succeeds.

use crate::host_changes::HostChanges;
use crate::rig::{IntervalCallback, Rig};
use crate::storage::RunStorage;
use steadfast_domain::record::Check;
use steadfast_domain::stimulus::{ActiveRange, DataPattern, LoadLimits, Pace};
use steadfast_domain::{
    Bytes, Caveat, Conditions, Demand, Device, Halt, IoStream, Measurement, Nanos, Step, StepPlace,
    Stimulus,
};
use steadfast_engine::{PreparedStep, StepStart};

/// Duration of a load without another limit.
const DEFAULT_TIME: Nanos = Nanos::from_secs(10);

/// A load to be applied to a device once.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleLoad {
    /// Name of the load.
    pub name: String,
    /// I/O streams.
    pub streams: Vec<IoStream>,
    /// Threads and outstanding I/Os.
    pub demand: Demand,
    /// Schedule of the I/Os.
    pub pace: Pace,
    /// Content of the data to write.
    pub data_pattern: DataPattern,
    /// Part of the capacity to use, in percent.
    pub active_range_percent: u8,
    /// Time before the measurement that is not measured.
    pub ramp: Nanos,
    /// Measured time; `None` for ten seconds, or for no limit if `ios` is set.
    pub time: Option<Nanos>,
    /// Limit in measured I/Os.
    pub ios: Option<u64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// True if reads are verified to return what was written.
    pub verify: bool,
}

impl SingleLoad {
    /// Returns true if the load alters data on the device.
    pub fn alters(&self) -> bool {
        self.streams.iter().any(|stream| stream.op.alters())
    }

    /// Returns the step for one run on this device. Runs are numbered from 1 and have different
    /// seeds.
    pub fn step(&self, device: &Device, run: u32) -> Step {
        let place = StepPlace::new("measure", 0, run, &self.name);
        let largest = self.streams.iter().map(|stream| stream.alignment().0).max();
        let unit = largest.unwrap_or(0).max(u64::from(device.logical_sector));
        let default = self.ios.is_none().then_some(DEFAULT_TIME);
        let mut range = ActiveRange::first(self.active_range_percent, device.capacity, unit);
        if range.length == Bytes(0) {
            // The range is shorter than one unit. Round to sectors instead, so that the refusal
            // names its length and not 0.
            let sector = u64::from(device.logical_sector);
            range = ActiveRange::first(self.active_range_percent, device.capacity, sector);
        }
        let until = LoadLimits { time: self.time.or(default), ios: self.ios, bytes: None };
        let streams = self.streams.iter().cloned();
        let streams = streams.map(|stream| stream.with_room_in_zones(range.length)).collect();
        let stimulus = Stimulus::new(streams, range, self.demand, until)
            .data_pattern(self.data_pattern.clone())
            .pace(self.pace.clone())
            .ramp(self.ramp)
            .seed(place.seed(self.seed))
            .verify(self.verify);
        Step::alone(place, stimulus)
    }
}

/// Result of one step.
#[derive(Debug)]
pub struct SingleLoadResult {
    /// Measurement of the step, or the reason why it halted.
    pub result: Result<Measurement, Halt>,
    /// Outcome of restoring the host settings. The error is that of the first one that could not be
    /// restored; it stays in the journal.
    pub restored: Result<(), Halt>,
    /// Checks of device and host during the step.
    pub checks: Vec<Check>,
    /// Caveats about the numbers.
    pub caveats: Vec<Caveat>,
}

impl SingleLoadResult {
    /// Returns why the step halted, why a host setting could not be restored, or both; `None` if
    /// neither happened.
    pub fn failure(&self) -> Option<Halt> {
        let unrestored = |why: &Halt| {
            format!("a host setting was not restored: {why}. To try again: steadfast restore")
        };
        match (&self.result, &self.restored) {
            (Ok(_), Ok(())) => None,
            (Err(halt), Ok(())) => Some(halt.clone()),
            (Ok(_), Err(why)) => Some(Halt::Refused(unrestored(why))),
            (Err(halt), Err(why)) => Some(Halt::Refused(format!("{halt}; {}", unrestored(why)))),
        }
    }
}

/// Applies one prepared step. On a device that may be written, request merging is off meanwhile;
/// on one that may only be read, the host is not changed. Every change is journaled before it is
/// made, and restored however the step ends.
pub fn apply_once<D: RunStorage>(
    rig: &mut dyn Rig,
    prepared: PreparedStep,
    may_write: bool,
    changes: &mut HostChanges<D>,
    watch: IntervalCallback<'_>,
) -> SingleLoadResult {
    // The device then sees each I/O as it was submitted.
    let unmerged = Conditions { merges: Some(false), ..Conditions::default() };
    let settled = if may_write {
        rig.settle(&unmerged, &mut |change| changes.journal(change)).map(drop)
    } else {
        Ok(())
    };
    let result = settled.and_then(|()| rig.apply(prepared, &StepStart::default(), watch));
    let restored = changes.undo(&mut |change| rig.restore(change));
    SingleLoadResult {
        result,
        restored,
        checks: rig.check_after_run(),
        caveats: rig.take_caveats(),
    }
}
