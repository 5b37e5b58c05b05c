//! The rig of several hosts: a device that they share, loaded from all of them.
//!
//! The hosts belong to others: nothing is set on them, nothing is purged, and this host's
//! own sensors say nothing about them.

use crate::ledger::Moment;
use crate::rig::{Journal, Rig, Tell, Watch};
use crate::surroundings::HostWishes;
use crate::together::Seat;
use std::time::{Duration, Instant};
use steadfast_domain::measurement::KernelCounters;
use steadfast_domain::record::HostChange;
use steadfast_domain::{
    Caveat, Conditions, Device, Halt, Host, Measurement, Nanos, Op, Purge, PurgeChoice,
    PurgeMethod, Step,
};
use steadfast_engine::fio::FioHosts;
use steadfast_engine::{Engine, Prepared, Refusal, Start, Stop};
use steadfast_host::{RemoteHost, wall_clock_unix_ms};

/// How often a waiting rig looks whether it should stop.
const LOOK: Duration = Duration::from_millis(100);

/// How often the kernels' counts are read after a step, at most.
const LOOKS_AT_COUNTS: u32 = 5;

/// A device that several hosts share.
pub struct HostsRig {
    engine: FioHosts,
    stop: Stop,
    purge: PurgeChoice,
    seat: Option<Seat>,
    caveats: Vec<Caveat>,
}

impl HostsRig {
    /// A rig around an engine that has its hosts.
    pub fn new(engine: FioHosts, stop: Stop) -> Self {
        HostsRig { engine, stop, purge: PurgeChoice::Auto, seat: None, caveats: Vec::new() }
    }

    /// What the kernels counted during a step, once they have counted all of it.
    fn counted_since(
        &mut self,
        before: &KernelCounters,
        done: &Measurement,
    ) -> Option<KernelCounters> {
        let outside = done.unmeasured.iter().map(|part| part.bytes.0).sum::<u64>();
        let moved = [Op::Read, Op::Write].map(|op| done.direction(op).bytes.0);
        let moved = moved.iter().sum::<u64>() + outside;
        for look in 1.. {
            let after = self.engine.target_mut().counters()?;
            let counted = steadfast_host::counters_since(before, &after);
            let bytes = counted.read_bytes.0 + counted.write_bytes.0;
            if bytes >= moved || look == LOOKS_AT_COUNTS {
                return Some(counted);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
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
    fn now(&self) -> Moment {
        Moment { unix_ms: self.now_unix_ms(), up: steadfast_host::since_boot() }
    }
    fn forgets(&self) -> bool {
        false
    }
    fn wish(&mut self, wishes: &HostWishes) {
        self.purge = wishes.purge.choice;
    }
    fn join(&mut self, seat: Seat, caveat: Option<Caveat>) {
        self.seat = Some(seat);
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
    fn purge(&mut self, _: Journal<'_>, _: Tell<'_>) -> Result<Purge, Halt> {
        self.foresee_purge()?;
        Ok(Purge::none("--purge none; the device keeps its history"))
    }
    fn prepare(&mut self, step: &Step) -> Result<Prepared, Refusal> {
        self.engine.prepare(step)
    }
    fn apply(
        &mut self,
        prepared: Prepared,
        start: &Start,
        watch: Watch<'_>,
    ) -> Result<Measurement, Halt> {
        let step = prepared.step().clone();
        let mut start = start.clone();
        let met = match (&mut self.seat, step.continues) {
            (Some(seat), false) => seat.meet(&step, &self.stop)?,
            _ => None,
        };
        start.begins = met.as_ref().map(|met| met.agreed);
        let before = self.engine.target_mut().counters();
        let mut measurement = self.engine.apply(prepared, &start, watch)?;
        measurement.common_start = met;
        // Every step is a load of its own, so its I/Os are all its own.
        measurement.kernel = before.and_then(|before| self.counted_since(&before, &measurement));
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
        let end = Instant::now() + time.to_duration();
        loop {
            if self.stop.is_requested() {
                return Err(Halt::Stopped);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
    fn restore(&mut self, _: &HostChange) -> Result<(), Halt> {
        Ok(())
    }
}
