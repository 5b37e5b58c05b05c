//! Neighbors: how much one load disturbs another on the same device, and what the kernel's controls
//! of I/O change about it.
//!
//! A victim runs at a fixed rate in an open loop; an offender is switched on and off.
//! Each runs in a process and a control group of its own. Every offender is measured alone, then in
//! cycles (off, on) without a rule, then in cycles under each rule that the kernel has. Victim and
//! offender use different halves of the active range. It is not a method of the PTS.
//!
//! Every step stands for itself: a gap means only that the drive rested.

mod control;
mod exhibits;
mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::Neighbors;
pub(crate) use setup::PARAMETERS;

use crate::common::preconditioning::precondition;
use crate::exhibits::report;
use control::{ControlName, is_met, reason};
use setup::{RateChoice, alone_phase, cycles_phase};
use steadfast_domain::rate::{OfferedRate, THREAD_RATE_MAX};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Bench, Conditions, Findings, Halt, IoControl, Procedure, Record};

impl Neighbors {
    /// Returns the controls that are available here, none first. Sets each of them once, before
    /// anything is written.
    ///
    /// Halts if there are no control groups, or if a control that the user named is unavailable.
    fn available(
        &self,
        bench: &mut dyn Bench,
        initial: &Conditions,
    ) -> Result<Vec<ControlName>, Halt> {
        let mut available = vec![ControlName::Uncontrolled];
        let none = self.conditions(IoControl::Uncontrolled, initial.scheduler.as_deref());
        let groups = bench.settle(&none)?;
        if groups.io_control.is_none() {
            return Err(Halt::Refused(format!(
                "neighbors needs control groups, which are unavailable here: {}",
                reason(initial, &groups)
            )));
        }
        for name in &self.controls.names {
            let rule = self.rule(*name, &self.offenders[0], None);
            let wanted = self.conditions(rule, initial.scheduler.as_deref());
            let got = bench.settle(&wanted)?;
            if is_met(&wanted, &got) {
                available.push(*name);
            } else if self.controls.required {
                return Err(Halt::Refused(format!(
                    "{} is unavailable here: {}; omit it from --set controls=...",
                    name.name(),
                    reason(initial, &got)
                )));
            }
        }
        if !self.controls.names.is_empty() {
            bench.settle(&none)?;
        }
        Ok(available)
    }

    /// Returns the victim's pace: as given, or by a measurement of its closed loop.
    fn victim_pace(&self, bench: &mut dyn Bench) -> Result<Pace, Halt> {
        let rate = match self.rate {
            RateChoice::Rate(rate) => rate,
            RateChoice::Share(share) => {
                let most = bench.apply(&self.victim_max())?.measurement.iops();
                let Some(most) = most.filter(|most| *most > 0.0) else {
                    return Err(Halt::Refused(
                        "the victim completed no I/O in its closed loop, so there is no rate to \
                         take a share of; choose a rate with --set rate=1000"
                            .into(),
                    ));
                };
                // A plan may assume a drive that is faster than any thread.
                let highest = THREAD_RATE_MAX * f64::from(self.demand.threads);
                OfferedRate::Iops((most * share).clamp(1.0, highest))
            }
        };
        self.pace(rate).map_err(Halt::Refused)
    }

    /// Measures an offender alone, then the victim with and without it under each control.
    fn disturb(
        &self,
        bench: &mut dyn Bench,
        number: usize,
        pace: &Pace,
        controls: &[ControlName],
        scheduler: Option<&str>,
    ) -> Result<(), Halt> {
        let offender = &self.offenders[number];
        if offender.discards() {
            self.refill(&alone_phase(number)).conduct(bench)?;
        }
        let alone = bench.apply(&self.offender_alone(number))?.measurement;
        for name in controls {
            let phase = cycles_phase(*name, number);
            if offender.discards() {
                self.refill(&phase).conduct(bench)?;
            }
            let rule = self.rule(*name, offender, Some(&alone));
            let wanted = self.conditions(rule, scheduler);
            let got = bench.settle(&wanted)?;
            // It was available before the purge; a resumed run can have another kernel.
            if !is_met(&wanted, &got) {
                return Err(Halt::Refused(format!(
                    "{} is no longer in effect: {}",
                    name.name(),
                    got.unmet.join("; ")
                )));
            }
            for cycle in 1..=self.cycles {
                bench.apply(&self.step_without_offender(pace, &phase, cycle))?;
                bench.apply(&self.step_with_offender(pace, number, &phase, cycle))?;
            }
            bench.settle(&self.conditions(IoControl::Uncontrolled, scheduler))?;
        }
        Ok(())
    }
}

impl Procedure for Neighbors {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        let initial = bench.settle(&self.setup.conditions())?;
        let controls = self.available(bench, &initial)?;
        bench.purge()?;
        precondition(bench, &self.setup)?;
        let pace = self.victim_pace(bench)?;
        for number in 0..self.offenders.len() {
            self.disturb(bench, number, &pace, &controls, initial.scheduler.as_deref())?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
