//! The order in time of the loads of several runs.

use crate::rehearsal::{DriveOutlook, PlannedStep, rehearse};
use std::collections::HashSet;
use steadfast_domain::step::{base_phase, phase_numbers};
use steadfast_domain::{Halt, Procedure, StepPlace};

/// Known loads of all runs, in the order in which they start.
#[derive(Debug, Default)]
pub struct StartOrder {
    places: Vec<StepPlace>,
}

impl StartOrder {
    /// Returns the order of the loads of these procedures. Runs of one sequence may have different
    /// steps; the numbers of their phases determine the order.
    ///
    /// # Errors
    /// Returns an error if a procedure halts in its rehearsal.
    pub fn rehearse<'a>(
        procedures: impl Iterator<Item = &'a dyn Procedure>,
    ) -> Result<StartOrder, Halt> {
        let mut runs = Vec::new();
        for procedure in procedures {
            let plan = rehearse(procedure, DriveOutlook::Worst, None)?;
            let loads = plan.steps.into_iter().filter(|step| !step.is_pause());
            let place =
                |step: PlannedStep| StepPlace::new(&step.phase, step.round, step.point, step.label);
            runs.push(loads.map(place).collect());
        }
        Ok(StartOrder::new(runs))
    }

    /// Returns the order of the places of all runs. A place that a run does not share with the
    /// runs before it follows the one before it in this run.
    pub fn new(runs: Vec<Vec<StepPlace>>) -> StartOrder {
        let mut places: Vec<StepPlace> = Vec::new();
        let mut known = HashSet::new();
        for run in runs {
            let mut next = 0;
            for place in run {
                if known.insert((place.phase.clone(), place.round, place.point)) {
                    places.insert(next, place);
                } else if !places.get(next).is_some_and(|other| is_same(other, &place)) {
                    next = places.iter().position(|other| is_same(other, &place)).unwrap_or(next);
                }
                next += 1;
            }
        }
        if places.iter().all(|place| phase_numbers(&place.phase).is_some()) {
            places.sort_by_cached_key(|place| phase_numbers(&place.phase));
        }
        StartOrder { places }
    }

    /// Returns the position of a place, or that of the last one before it in its phase. A further
    /// attempt at a phase is as early as the first, which the other runs may have behind them. A
    /// phase that only a further attempt has, such as the preconditioning before it, is earlier
    /// than all; another unknown phase is later than all.
    pub(crate) fn position(&mut self, place: &StepPlace) -> usize {
        let name = base_phase(&place.phase);
        let numbers = |place: &StepPlace| (place.round, place.point);
        let in_phase = || self.places.iter().enumerate().filter(|(_, known)| known.phase == name);
        let before = in_phase().filter(|(_, known)| numbers(known) <= numbers(place));
        let last_before = before.max_by_key(|(_, known)| numbers(known));
        match last_before.or_else(|| in_phase().next()) {
            // The first position is that of phases which only a further attempt has.
            Some((position, _)) => position + 1,
            None if name != place.phase => 0,
            None => {
                self.places.push(place.clone());
                self.places.len()
            }
        }
    }

    /// Returns the first position of the steps of one phase that are not separated by another.
    pub(crate) fn start_of_phase(&self, position: usize) -> usize {
        let Some(last) = position.checked_sub(1) else { return 0 };
        let phase = &self.places[last].phase;
        let same = self.places[..last].iter().rev().take_while(|place| place.phase == *phase);
        position - same.count()
    }
}

fn is_same(one: &StepPlace, other: &StepPlace) -> bool {
    (&one.phase, one.round, one.point) == (&other.phase, other.round, other.point)
}
