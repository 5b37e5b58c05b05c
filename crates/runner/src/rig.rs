//! A [`Rig`]: a device with everything that is needed to test it.

use crate::ledger::Moment;
use crate::surroundings::HostWishes;
use crate::together::Seat;
use steadfast_domain::measurement::Interval;
use steadfast_domain::record::{Check, HostChange};
use steadfast_domain::{
    Caveat, Conditions, Device, Gap, Halt, Host, Measurement, Nanos, Proof, Purge, PurgeMethod,
    Step,
};
use steadfast_engine::{Prepared, Refusal, Start};
use steadfast_host::{Directory, PurgeProgress};

/// Called with a change to the host before it is made.
pub type Journal<'a> = &'a mut dyn FnMut(&HostChange) -> Result<(), Halt>;

/// Called with every finished interval.
pub type Watch<'a> = &'a mut dyn FnMut(&Interval);

/// Called with how far a purge has come.
pub type Tell<'a> = &'a mut dyn FnMut(&PurgeProgress<'_>);

/// What the live bench drives: `settle, purge, apply, idle, now`.
pub trait Rig: Send {
    /// The device, as found.
    fn device(&self) -> &Device;
    /// The machine, as found.
    fn host(&self) -> Host;
    /// The engine, and what it could and could not use here.
    fn engine(&self) -> String;
    /// Milliseconds since 1970 (UTC); virtual on a simulated device.
    fn now_unix_ms(&self) -> u64;
    /// Now by every clock that the rig has.
    fn now(&self) -> Moment {
        self.now_unix_ms().into()
    }
    /// What proves that the device is this one; `None` for one of memory.
    fn proof(&self) -> Option<Proof> {
        None
    }
    /// A simulated device begins every run factory-new, so a resumed run
    /// applies the journaled steps again to bring it to where it was; on a
    /// real device that would be a second test.
    fn forgets(&self) -> bool;
    /// Takes note of what the user wants of the purge, and of the host during the
    /// run. A device in virtual time has no host.
    fn wish(&mut self, wishes: &HostWishes);
    /// From now on, files that the engine keeps go into the directory of the run. A drive in
    /// virtual time keeps none.
    fn keep_files_in(&mut self, run: &Directory) {
        let _ = run;
    }
    /// From now on, loads begin together with those of other devices of this host;
    /// `caveat` discloses that they are tested at the same time. A drive in virtual
    /// time shares nothing with anybody, and takes no seat.
    fn join(&mut self, seat: Seat, caveat: Option<Caveat>) {
        drop((seat, caveat));
    }
    /// Looks device and host over before anything is touched, and begins what
    /// lasts for the run. Empty where there is nothing to look at.
    fn examine(&mut self) -> Vec<Check> {
        Vec::new()
    }
    /// What the run has shown of its own sensors and host; ends what lasted.
    fn look_back(&mut self) -> Vec<Check> {
        Vec::new()
    }
    /// Sets what is wanted, each change journaled first; returns what was read back.
    fn settle(&mut self, wanted: &Conditions, journal: Journal<'_>) -> Result<Conditions, Halt>;
    /// What is set on host and device now; `None` where nothing can be read, as on
    /// a simulated device, whose conditions nothing changes.
    fn read_back(&mut self) -> Option<Conditions> {
        None
    }
    /// How the device will be purged; nothing is written. An error says why it
    /// cannot be done as the user wishes.
    fn foresee_purge(&mut self) -> Result<PurgeMethod, Halt>;
    /// Brings the device to the state of never having been written.
    fn purge(&mut self, journal: Journal<'_>, tell: Tell<'_>) -> Result<Purge, Halt>;
    /// Makes what a step needs, or says why it cannot be applied, before anything
    /// is touched.
    fn prepare(&mut self, step: &Step) -> Result<Prepared, Refusal>;
    /// Applies a step and measures it.
    fn apply(
        &mut self,
        prepared: Prepared,
        start: &Start,
        watch: Watch<'_>,
    ) -> Result<Measurement, Halt>;
    /// Ends a load that a cut left running.
    fn end_load(&mut self);
    /// What a reader of the numbers should know and that came up since this was
    /// last asked.
    fn take_caveats(&mut self) -> Vec<Caveat> {
        Vec::new()
    }
    /// Whether no run held the device just before this step: a simulated rig can
    /// be told to have such a gap. A load that ran on is ended by it.
    fn gap_before(&mut self) -> Option<Gap> {
        None
    }
    /// Leaves the device alone.
    fn idle(&mut self, time: Nanos) -> Result<(), Halt>;
    /// Puts a host setting back.
    fn restore(&mut self, change: &HostChange) -> Result<(), Halt>;
}
