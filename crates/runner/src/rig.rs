//! A [`Rig`]: a device with everything that is needed to test it.

use crate::host_requests::HostRequests;
use crate::ledger::ClockReading;
use crate::progress::PowerCutStage;
use crate::start_together::StartTicket;
use steadfast_domain::drive_page::DrivePage;
use steadfast_domain::measurement::Interval;
use steadfast_domain::power_cut::{CutEvidence, PowerCounters, PowerCutOutcome, WritePlan};
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::{Check, HostChange};
use steadfast_domain::settings::StartBelow;
use steadfast_domain::{
    Caveat, Conditions, Device, Gap, Halt, Host, Measurement, Nanos, Proof, Purge, PurgeMethod,
    Step,
};
use steadfast_engine::{PreparedStep, StepRefusal, StepStart};
use steadfast_host::{Directory, Examination, PurgeProgress};

/// Called with a change to the host before it is made.
pub type Journal<'a> = &'a mut dyn FnMut(&HostChange) -> Result<(), Halt>;

/// Called with every finished interval.
pub type IntervalCallback<'a> = &'a mut dyn FnMut(&Interval);

/// Called with the progress of a purge.
pub type PurgeCallback<'a> = &'a mut dyn FnMut(&PurgeProgress<'_>);

/// Called with the stages of a power cut.
pub type StageCallback<'a> = &'a mut dyn FnMut(PowerCutStage<'_>);

/// Treatment by the kernel of the flushes that a program asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushDelivery {
    /// It sends them to the device, as far as is known.
    Sent,
    /// It drops them, because it considers the device's cache non-volatile.
    Dropped,
}

/// The device and host that a bench drives.
pub trait Rig: Send {
    /// Returns the device, as found.
    fn device(&self) -> &Device;
    /// Returns the host, as found.
    fn host(&self) -> Host;
    /// Returns the engine's description: its name and what it could and could not use on this
    /// host.
    fn engine(&self) -> String;
    /// Returns the time in milliseconds since 1970 (UTC); virtual on a simulated device.
    fn now_unix_ms(&self) -> u64;
    /// Returns the current time by every clock of the rig.
    fn now(&self) -> ClockReading {
        self.now_unix_ms().into()
    }
    /// Returns the proof of the device's identity; `None` if there is none, as for a simulated
    /// device.
    fn proof(&self) -> Option<Proof> {
        None
    }
    /// Returns true for a simulated device, which begins every run factory-new: a resumed run
    /// applies the journaled steps again to restore its state. On a real device that would be a
    /// second test.
    fn is_simulated(&self) -> bool {
        false
    }
    /// Sets the user's requests for the purge, and for the host during the run. A simulated
    /// device has no host.
    fn set_requests(&mut self, requests: &HostRequests);
    /// From now on, stores files that the engine keeps in the run's directory. A simulated drive
    /// keeps none.
    fn keep_files_in(&mut self, _run: &Directory) {}
    /// From now on, starts loads together with those of other devices of this host; `caveat`
    /// discloses that they are tested at the same time. A simulated drive shares nothing with
    /// others and drops the ticket.
    fn join(&mut self, _ticket: StartTicket, _caveat: Option<Caveat>) {}
    /// Checks device and host before anything is touched, and starts what lasts for the run.
    /// Returns no checks if there is nothing to check.
    fn examine(&mut self) -> Examination {
        Examination::default()
    }
    /// Returns the checks of the run's own sensors and host, and ends what lasted for the run.
    fn check_after_run(&mut self) -> Vec<Check> {
        Vec::new()
    }
    /// Returns what the drive reports about itself now; empty if it reports nothing.
    fn drive_pages(&mut self) -> Vec<DrivePage> {
        Vec::new()
    }
    /// Applies the wanted conditions, each change journaled first. Returns the conditions read
    /// back.
    fn settle(&mut self, wanted: &Conditions, journal: Journal<'_>) -> Result<Conditions, Halt>;
    /// Returns the current conditions of host and device; `None` if nothing can be read, as on a
    /// simulated device, whose conditions nothing changes.
    fn read_back(&mut self) -> Option<Conditions> {
        None
    }
    /// Returns the purge method that will be used; nothing is written.
    ///
    /// # Errors
    /// Returns [`Halt::Refused`] if the user's choice is not possible.
    fn foresee_purge(&mut self) -> Result<PurgeMethod, Halt>;
    /// Returns the vendor's purge command that the user gave; `None` if another purge is wanted.
    fn purge_command(&self) -> Option<String> {
        None
    }
    /// Takes the record of a vendor's purge command after which the last purge failed; `None` if
    /// none was run.
    fn failed_purge_command(&mut self) -> Option<PurgeCommandRecord> {
        None
    }
    /// Returns the temperature that the device must be below before the first load of a test; `None`
    /// if the user gave none.
    fn start_below(&self) -> Option<StartBelow> {
        None
    }
    /// Returns the device's temperature in degrees Celsius; `None` if it reports none.
    fn temperature(&mut self) -> Option<f64> {
        None
    }
    /// Purges the device to the state of never having been written.
    fn purge(&mut self, journal: Journal<'_>, report: PurgeCallback<'_>) -> Result<Purge, Halt>;
    /// Allocates what a step needs, before anything is touched.
    ///
    /// # Errors
    /// Returns the reason if the step cannot be applied.
    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal>;
    /// Applies a step and measures it.
    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: IntervalCallback<'_>,
    ) -> Result<Measurement, Halt>;
    /// Ends the load of the last step if it still runs.
    fn end_load(&mut self);
    /// Returns the caveats about the numbers that arose since the last call.
    fn take_caveats(&mut self) -> Vec<Caveat> {
        Vec::new()
    }
    /// Returns a gap, without a run holding the device, just before this step: a simulated rig
    /// can be given one. The gap ends a running load.
    fn gap_before(&mut self) -> Option<Gap> {
        None
    }
    /// Returns the command that cuts the power; `None` if the user cuts it by hand.
    fn cut_command(&self) -> Option<String> {
        None
    }
    /// Opens what [`Rig::write_until_cut`] needs, before the trial is journaled: a trial that could
    /// not begin is not read back.
    fn prepare_cut(&mut self, _plan: &WritePlan) -> Result<FlushDelivery, Halt> {
        Ok(FlushDelivery::Sent)
    }
    /// Reads the drive's own counters of power losses.
    fn power_counters(&mut self) -> PowerCounters {
        PowerCounters::default()
    }
    /// Writes the blocks of a trial until the power is cut; reports the stages in between.
    ///
    /// # Errors
    /// Returns [`Halt::PowerCut`] if the device failed: it has to return before its blocks can be
    /// read.
    fn write_until_cut(
        &mut self,
        _plan: &WritePlan,
        _report: StageCallback<'_>,
    ) -> Result<CutEvidence, Halt> {
        Err(no_power_cuts())
    }
    /// Reads the blocks of a trial back and judges them.
    fn read_after_cut(&mut self, _plan: &WritePlan) -> Result<PowerCutOutcome, Halt> {
        Err(no_power_cuts())
    }
    /// Leaves the device idle.
    fn idle(&mut self, time: Nanos) -> Result<(), Halt>;
    /// Restores a host setting.
    fn restore(&mut self, change: &HostChange) -> Result<(), Halt>;
}

fn no_power_cuts() -> Halt {
    Halt::Refused("this engine cannot test a power cut; omit --engine and --hosts".into())
}
