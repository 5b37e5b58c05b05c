//! `steadfast run`: conducts a procedure from purge to report.

use super::several::{self, ConcurrentRuns};
use super::start_run::{RequestedRun, RunRequest, default_seed};
use super::{power_cuts, resume};
use crate::cli::{ResumeArguments, RunArguments};
use crate::exit::{ExitState, misuse, refuse_unused};
use crate::run_settings::{add_purge, settings};
use crate::{hosts, workloads};
use steadfast_domain::Device;
use steadfast_engine::StopSignal;
use steadfast_runner::StartSync;

/// Starts and conducts a run on each target.
pub fn run(arguments: &RunArguments) -> anyhow::Result<ExitState> {
    let chosen = &arguments.procedure;
    let list = arguments.hosts.list()?;
    let own_arguments = workloads::each_target(chosen)?;
    let together = [("--together", arguments.together.is_some())];
    if let [_] = own_arguments.as_slice() {
        refuse_unused(&together, "one target starts alone")?;
    }
    let targets: Vec<&str> =
        own_arguments.iter().flat_map(|own| &own.target.names).map(String::as_str).collect();
    let foresee = |target: &&str| hosts::foresee_from(list.as_ref(), target, chosen.target.size);
    let foreseen = targets.iter().map(foresee).collect::<anyhow::Result<Vec<_>>>()?;
    if foreseen.iter().filter(|device| !device.is_simulated()).count() < 2 {
        refuse_unused(&together, "simulated drives have their own virtual time and never wait")?;
    }
    let seed = chosen.seed.unwrap_or_else(|| default_seed(&foreseen[0]));
    let mut runs = Vec::new();
    for (index, own) in own_arguments.iter().enumerate() {
        let mut settings = settings(own, seed, &foreseen[index])?;
        settings.parameters.extend(steadfast_procedures::zone_shift_of(&settings, index));
        let command = arguments.purge_command.as_deref();
        add_purge(&mut settings, arguments.purge, command, arguments.purge_failed)?;
        let (cut, log_to) = (arguments.cut_command.as_deref(), arguments.log_to.as_deref());
        power_cuts::add_options(&mut settings, cut, log_to)?;
        settings.hosts = list.clone().map(Box::new);
        let request = RunRequest {
            target: targets[index],
            size: chosen.target.size,
            engine: chosen.engine,
            out: arguments.output.as_deref(),
            yes_destroy: &arguments.yes_destroy,
            group: arguments.group.as_deref(),
            json: arguments.json,
            verbose: arguments.verbose,
            prometheus: arguments.prometheus.as_deref(),
        };
        runs.push(RequestedRun { request, settings });
    }
    if let [_] = runs.as_slice() {
        return run_alone(arguments, runs.remove(0), &foreseen[0]);
    }
    if chosen.procedure == power_cuts::PROCEDURE {
        return Err(misuse("power-cut tests one target at a time; give one --target"));
    }
    let sync = match arguments.together {
        Some(sync) => sync,
        None if workloads::maps_devices(chosen) => StartSync::Phases,
        None => StartSync::Steps,
    };
    Ok(several::run(ConcurrentRuns { runs, foreseen: &foreseen, sync })?.state)
}

/// Conducts a run on a single target, and resumes it after each power cut that it asks for.
fn run_alone(
    arguments: &RunArguments,
    run: RequestedRun<'_>,
    foreseen: &Device,
) -> anyhow::Result<ExitState> {
    let ended = run.request.conduct(run.settings, foreseen)?;
    if ended.was_stopped {
        return Ok(ended.state);
    }
    let resumed = ResumeArguments {
        run_dir: ended.directory,
        max_rounds: None,
        stop: false,
        yes_destroy: Vec::new(),
        prometheus: arguments.prometheus.clone(),
        verbose: arguments.verbose,
        json: arguments.json,
    };
    let resume = &mut |stop: &StopSignal| resume::once(&resumed, stop);
    power_cuts::resume_after_cuts(ended.state, &resumed.run_dir, resume)
}
