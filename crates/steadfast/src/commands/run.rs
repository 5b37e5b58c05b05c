//! `steadfast run`: a procedure from purge to report.

use super::begin::{Intent, default_directory, default_seed, plain_name};
use super::conduct::Conduct;
use super::several;
use crate::cli::RunArguments;
use crate::exit::ExitState;
use crate::target;
use crate::terminal;
use anyhow::bail;

/// Begins a run, or one for each of several targets, and conducts it.
pub fn run(arguments: &RunArguments) -> anyhow::Result<ExitState> {
    let chosen = &arguments.procedure;
    let foreseen = chosen.target.iter().map(|target| target::foresee(target, chosen.size));
    let foreseen = foreseen.collect::<anyhow::Result<Vec<_>>>()?;
    let seed = chosen.seed.unwrap_or_else(|| default_seed(&foreseen[0]));
    if foreseen.len() > 1 {
        return several::run(arguments, &foreseen, seed);
    }
    let intent = Intent::of(arguments, &foreseen, 0, seed)?;
    let usual = || default_directory(&intent.settings().procedure, &plain_name(intent.foreseen()));
    let out = arguments.out.clone().unwrap_or_else(usual);
    if out.exists() {
        bail!(steadfast_runner::LedgerError::Exists(out));
    }
    let stop = target::stop_on_signals()?;
    let mut armed = intent.arm(&out, std::slice::from_ref(&out), &stop)?;
    let ledger = armed.ledger()?;
    let settings = &armed.run;
    let procedure = steadfast_procedures::procedure(&settings.settings, settings.geometry(), &[])?;
    terminal::tell(&format!("Run directory: {} (seed {seed})", out.display()));
    let conduct = Conduct { procedure: procedure.as_ref(), directory: &out, json: arguments.json };
    conduct.to_the_end(armed.rig.as_mut(), ledger, &[], &stop)
}
