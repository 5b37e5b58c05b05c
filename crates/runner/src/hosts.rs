//! The rig of several hosts: a device that they share, loaded from all of them.
//!
//! The hosts belong to others: nothing is configured on them, nothing is purged, and this host's
//! own sensors say nothing about them.

use crate::host_requests::HostRequests;
use crate::idle::idle;
use crate::kernel_counts::counts_since;
use crate::ledger::ClockReading;
use crate::rig::{IntervalCallback, Journal, PurgeCallback, Rig};
use crate::start_together::StartTicket;
use std::time::Duration;
use steadfast_domain::measurement::CommonStart;
use steadfast_domain::record::HostChange;
use steadfast_domain::{
    Caveat, Conditions, Device, Halt, Host, Measurement, Nanos, Purge, PurgeChoice, PurgeMethod,
    Step,
};
use steadfast_engine::fio::FioHosts;
use steadfast_engine::{Engine, PreparedStep, StepRefusal, StepStart, StopSignal};
use steadfast_host::{Directory, RemoteHost, wall_clock_unix_ms};

/// Pause before the kernels' counters are read again.
const REREAD_PAUSE: Duration = Duration::from_millis(10);

/// A device shared by several hosts.
pub struct HostsRig {
    engine: FioHosts,
    stop: StopSignal,
    purge: PurgeChoice,
    ticket: Option<StartTicket>,
    caveats: Vec<Caveat>,
}

impl HostsRig {
    /// Creates a rig around an engine that has its hosts.
    pub fn new(engine: FioHosts, stop: StopSignal) -> Self {
        HostsRig { engine, stop, purge: PurgeChoice::Auto, ticket: None, caveats: Vec::new() }
    }
}

impl Rig for HostsRig {
    fn device(&self) -> &Device {
        self.engine.target().device()
    }
    fn host(&self) -> Host {
        let hosts = &self.engine.target().hosts;
        let joined = |of: fn(&RemoteHost) -> Option<String>| {
            let mut all: Vec<String> = hosts.iter().filter_map(of).collect();
            all.dedup();
            (!all.is_empty()).then(|| all.join(", "))
        };
        Host {
            name: joined(|host| Some(host.name.clone())),
            kernel: joined(|host| host.kernel.clone()),
            ..Host::default()
        }
    }
    fn engine(&self) -> String {
        self.engine.describe()
    }
    fn now_unix_ms(&self) -> u64 {
        wall_clock_unix_ms()
    }
    fn now(&self) -> ClockReading {
        ClockReading { unix_ms: self.now_unix_ms(), up: steadfast_host::since_boot(), kernel: None }
    }
    fn set_requests(&mut self, requests: &HostRequests) {
        self.purge = requests.purge.choice;
    }
    fn keep_files_in(&mut self, run: &Directory) {
        self.engine.keep_files_in(run);
    }
    fn join(&mut self, ticket: StartTicket, caveat: Option<Caveat>) {
        self.ticket = Some(ticket);
        self.caveats.extend(caveat);
    }
    fn settle(&mut self, _: &Conditions, _: Journal<'_>) -> Result<Conditions, Halt> {
        let unmet = "The write cache and the queue settings of the hosts were left as they were.";
        Ok(Conditions { unmet: vec![unmet.to_owned()], ..Conditions::default() })
    }
    fn foresee_purge(&mut self) -> Result<PurgeMethod, Halt> {
        match self.purge {
            PurgeChoice::Method(PurgeMethod::Nothing) => Ok(PurgeMethod::Nothing),
            _ => Err(Halt::Refused(format!(
                "{}: a device that several hosts share is not purged by this program; purge it \
                 with its own tools, then use --purge none",
                self.device().path
            ))),
        }
    }
    fn purge(&mut self, _: Journal<'_>, _: PurgeCallback<'_>) -> Result<Purge, Halt> {
        self.foresee_purge()?;
        Ok(Purge::none("--purge none; the device keeps its history"))
    }
    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        self.engine.prepare(step)
    }
    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: IntervalCallback<'_>,
    ) -> Result<Measurement, Halt> {
        let step = prepared.step().clone();
        let mut start = start.clone();
        let common_start = match (&mut self.ticket, step.continues) {
            (Some(ticket), false) => ticket.wait(&step, &self.stop)?,
            _ => None,
        };
        start.begins = common_start.map(|common_start| common_start.agreed);
        let before = self.engine.target_mut().counters();
        let mut measurement = self.engine.apply(prepared, &start, watch)?;
        measurement.common_start =
            common_start.map(|common_start| match measurement.common_start {
                Some(CommonStart { agreed, late, .. }) => {
                    CommonStart { agreed, late, ..common_start }
                }
                None => common_start,
            });
        // Every step is a load of its own, so all of its I/Os belong to the step.
        let target = self.engine.target_mut();
        let read = || target.counters();
        measurement.kernel =
            before.and_then(|before| counts_since(&before, &measurement, REREAD_PAUSE, read));
        Ok(measurement)
    }
    fn end_load(&mut self) {
        self.engine.end_load();
    }
    fn take_caveats(&mut self) -> Vec<Caveat> {
        let mut caveats = std::mem::take(&mut self.caveats);
        caveats.extend(self.engine.take_caveats());
        caveats
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        idle(time, &self.stop)
    }
    fn restore(&mut self, _: &HostChange) -> Result<(), Halt> {
        Ok(())
    }
}
