//! Conducts the runs of a group in one process, each in its own thread, and synchronizes the starts
//! of their loads.

use crate::ledger::{JournalLine, Ledger};
use crate::progress::ProgressSink;
use crate::rig::Rig;
use crate::run::{self, RunOutcome};
use crate::run_plan::RunPlan;
use crate::start_order::StartOrder;
use crate::start_together::{StartClock, StartSync, shared_host, start_tickets};
use crate::storage::RunStorage;
use std::sync::Arc;
use steadfast_domain::{Caveat, Halt, JournalEntry, Note, Procedure};
use steadfast_host::Directory;

/// A run that is ready to start.
pub struct ReadyRun<D: RunStorage = Directory> {
    /// Name of the run directory.
    pub name: String,
    /// Access to the armed device.
    pub rig: Box<dyn Rig>,
    /// Ledger of the run.
    pub ledger: Ledger<D>,
    /// Settings, device and purge of the run.
    pub plan: RunPlan,
    /// Procedure for the device.
    pub procedure: Box<dyn Procedure>,
    /// Journal lines written so far.
    pub lines: Vec<JournalLine>,
}

/// End of a run in this process.
pub struct RunEnd {
    /// Name of the run directory.
    pub name: String,
    /// End of the run, or the reason why it halted before.
    pub ending: Result<RunOutcome, Halt>,
    /// Procedure of the run; `None` after an internal error.
    pub procedure: Option<Box<dyn Procedure>>,
}

impl<D: RunStorage> ReadyRun<D> {
    /// Conducts the run. Its rig, and with it its place at the barrier, is released at the end.
    pub fn conduct(mut self, software: &str, progress: &mut dyn ProgressSink) -> RunEnd {
        let (procedure, rig) = (self.procedure.as_ref(), self.rig.as_mut());
        let ending = run::conduct(procedure, rig, self.ledger, &self.lines, software, progress);
        RunEnd { name: self.name, ending, procedure: Some(self.procedure) }
    }
}

/// Calls `conduct` for every run in its own thread and waits for all. Returns one end per run, in
/// order.
pub fn conduct_all<D: RunStorage + Send>(
    runs: Vec<ReadyRun<D>>,
    conduct: impl Fn(ReadyRun<D>) -> RunEnd + Sync,
) -> Vec<RunEnd>
where
    D::File: Send,
{
    std::thread::scope(|scope| {
        let conduct = &conduct;
        let begin = |run: ReadyRun<D>| (run.name.clone(), scope.spawn(move || conduct(run)));
        let threads: Vec<_> = runs.into_iter().map(begin).collect();
        let ended = threads.into_iter().map(|(name, thread)| {
            thread.join().unwrap_or_else(|_| {
                let defect = "its thread ended unexpectedly; this is a defect, please report it";
                let ending = Err(Halt::Refused(defect.to_owned()));
                RunEnd { name, ending, procedure: None }
            })
        });
        ended.collect()
    })
}

/// Lets the loads of all runs on real devices start together, and adds a caveat on shared resources
/// to each.
///
/// # Errors
/// Returns an error if a procedure halts in its rehearsal.
pub fn start_together<D: RunStorage>(
    runs: &mut [ReadyRun<D>],
    sync: StartSync,
    clock: Arc<dyn StartClock>,
) -> Result<(), Halt> {
    if runs.iter().filter(|run| !run.rig.is_simulated()).count() < 2 {
        return Ok(());
    }
    let order = StartOrder::rehearse(runs.iter().map(|run| run.procedure.as_ref()))?;
    let mut real: Vec<_> = runs.iter_mut().filter(|run| !run.rig.is_simulated()).collect();
    let paths: Vec<String> = real.iter().map(|run| run.rig.device().path.clone()).collect();
    let tickets = start_tickets(real.len(), order, sync, clock);
    for (index, (run, ticket)) in real.iter_mut().zip(tickets).enumerate() {
        let others = paths.iter().enumerate().filter(|(other, _)| *other != index);
        let others: Vec<&str> = others.map(|(_, path)| path.as_str()).collect();
        let caveat = shared_host(&others, run.rig.host().cpus);
        let is_known = has_caveat(&run.lines, &caveat);
        run.rig.join(ticket, Some(caveat).filter(|_| !is_known));
    }
    Ok(())
}

fn has_caveat(lines: &[JournalLine], caveat: &Caveat) -> bool {
    lines.iter().any(|line| match &line.entry {
        JournalEntry::Noted(note) => matches!(&**note, Note::Caveat(noted) if noted == caveat),
        _ => false,
    })
}
