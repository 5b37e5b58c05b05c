//! The simulated rig: an SSD in virtual time.

use crate::host_requests::HostRequests;
use crate::rig::{IntervalCallback, Journal, PurgeCallback, Rig, StageCallback};
use steadfast_domain::power_cut::{CutEvidence, PowerCutOutcome, WritePlan, judge};
use steadfast_domain::record::HostChange;
use steadfast_domain::settings::{SimGap, StartBelow};
use steadfast_domain::{
    Bytes, Conditions, Device, Gap, Halt, Host, IoControl, Measurement, Nanos, Purge, PurgeChoice,
    PurgeMethod, Step, WriteCache,
};
use steadfast_engine::sim::{SimulatedPowerCut, SimulatedSsd};
use steadfast_engine::{Engine, PreparedStep, StepRefusal, StepStart};

/// A drive in virtual time.
pub struct SimulatedRig {
    ssd: SimulatedSsd,
    purge: PurgeChoice,
    start_below: Option<StartBelow>,
    gap: Option<SimGap>,
    /// Number of steps begun so far.
    steps: u64,
    last_cut: SimulatedPowerCut,
}

impl SimulatedRig {
    /// Creates a rig around a drive, with a gap in virtual time if requested.
    pub fn new(ssd: SimulatedSsd, gap: Option<SimGap>) -> Self {
        SimulatedRig {
            ssd,
            purge: PurgeChoice::Auto,
            start_below: None,
            gap,
            steps: 0,
            last_cut: SimulatedPowerCut::default(),
        }
    }
}

impl Rig for SimulatedRig {
    fn device(&self) -> &Device {
        self.ssd.device()
    }
    fn host(&self) -> Host {
        Host { name: Some("virtual time".into()), ..Host::default() }
    }
    fn engine(&self) -> String {
        self.ssd.describe()
    }
    fn now_unix_ms(&self) -> u64 {
        self.ssd.now_unix_ms()
    }
    fn is_simulated(&self) -> bool {
        true
    }
    fn settle(&mut self, wanted: &Conditions, _: Journal<'_>) -> Result<Conditions, Halt> {
        let write_cache = wanted.write_cache.unwrap_or(WriteCache::Enabled);
        self.ssd.set_write_cache(write_cache);
        let mut got = Conditions {
            write_cache: Some(write_cache),
            merges: Some(false),
            ..Conditions::default()
        };
        match wanted.io_control {
            None | Some(IoControl::Uncontrolled) => got.io_control = wanted.io_control,
            Some(_) => got.unmet.push(
                "a simulated drive is below no kernel: its loads share one queue without a rule"
                    .into(),
            ),
        }
        Ok(got)
    }
    fn set_requests(&mut self, requests: &HostRequests) {
        self.purge = requests.purge.choice;
        self.start_below = requests.start_below;
    }
    fn start_below(&self) -> Option<StartBelow> {
        self.start_below
    }
    fn temperature(&mut self) -> Option<f64> {
        Some(self.ssd.temperature_celsius())
    }
    fn foresee_purge(&mut self) -> Result<PurgeMethod, Halt> {
        match self.purge {
            PurgeChoice::Auto => Ok(PurgeMethod::Simulated),
            PurgeChoice::Method(PurgeMethod::Nothing) => Ok(PurgeMethod::Nothing),
            PurgeChoice::Method(method) => Err(Halt::Refused(format!(
                "{} cannot be purged by {}: it is simulated; possible here: auto, none",
                self.device().path,
                method.name()
            ))),
        }
    }
    fn purge(&mut self, _: Journal<'_>, _: PurgeCallback<'_>) -> Result<Purge, Halt> {
        Ok(match self.foresee_purge()? {
            PurgeMethod::Nothing => Purge::none("--purge none; the device keeps its history"),
            _ => self.ssd.purge(),
        })
    }
    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        self.ssd.prepare(step)
    }
    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: IntervalCallback<'_>,
    ) -> Result<Measurement, Halt> {
        self.ssd.apply(prepared, start, watch)
    }
    fn end_load(&mut self) {
        self.ssd.end_load();
    }
    fn gap_before(&mut self) -> Option<Gap> {
        self.steps += 1;
        let gap = self.gap.filter(|gap| gap.before == self.steps)?;
        self.ssd.idle(gap.lasts);
        Some(Gap {
            cause: "a gap was asked for (--sim-gap)".to_owned(),
            lasted: Some(gap.lasts),
            written: Some(Bytes(0)),
        })
    }
    fn write_until_cut(
        &mut self,
        plan: &WritePlan,
        _: StageCallback<'_>,
    ) -> Result<CutEvidence, Halt> {
        self.last_cut = self.ssd.cut_power(plan)?;
        Ok(CutEvidence::Simulated)
    }
    fn read_after_cut(&mut self, plan: &WritePlan) -> Result<PowerCutOutcome, Halt> {
        Ok(judge(plan, &self.last_cut.log, &self.last_cut.blocks))
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.ssd.idle(time);
        Ok(())
    }
    fn restore(&mut self, _: &HostChange) -> Result<(), Halt> {
        Ok(())
    }
}
