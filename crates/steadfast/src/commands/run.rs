//! `steadfast run`: conducts a procedure from purge to report.

use super::several::{self, ConcurrentRuns};
use super::start_run::{RunRequest, default_seed};
use super::{power_cuts, resume};
use crate::cli::{ResumeArguments, RunArguments};
use crate::exit::{ExitState, misuse, refuse_unused};
use crate::run_settings::{add_purge, settings};
use crate::{hosts, workloads};
use steadfast_runner::StartSync;

/// Starts and conducts a run on each target.
pub fn run(arguments: &RunArguments) -> anyhow::Result<ExitState> {
    let chosen = &arguments.procedure;
    let list = arguments.hosts.list()?;
    let own = workloads::each_target(chosen)?;
    let together = [("--together", arguments.together.is_some())];
    if let [_] = own.as_slice() {
        refuse_unused(&together, "one target starts alone")?;
    }
    let targets: Vec<&str> =
        own.iter().flat_map(|one| &one.target.names).map(String::as_str).collect();
    let foresee = |target: &&str| hosts::foresee_from(list.as_ref(), target, chosen.target.size);
    let foreseen = targets.iter().map(foresee).collect::<anyhow::Result<Vec<_>>>()?;
    if foreseen.iter().filter(|device| !device.is_simulated()).count() < 2 {
        refuse_unused(&together, "simulated drives have their own virtual time and never wait")?;
    }
    let seed = chosen.seed.unwrap_or_else(|| default_seed(&foreseen[0]));
    let each = own.iter().zip(targets).zip(&foreseen).enumerate();
    let each = each.map(|(at, ((own, target), device))| {
        let mut settings = settings(own, seed, device)?;
        settings.parameters.extend(steadfast_procedures::zone_shift_of(&settings, at));
        let command = arguments.purge_command.as_deref();
        add_purge(&mut settings, arguments.purge, command, arguments.purge_failed)?;
        let (cut, log_to) = (arguments.cut_command.as_deref(), arguments.log_to.as_deref());
        power_cuts::add_options(&mut settings, cut, log_to)?;
        settings.hosts = list.clone().map(Box::new);
        let request = RunRequest {
            target,
            size: chosen.target.size,
            engine: chosen.engine,
            out: arguments.output.as_deref(),
            yes_destroy: &arguments.yes_destroy,
            group: arguments.group.as_deref(),
            json: arguments.json,
            verbose: arguments.verbose,
        };
        Ok((request, settings))
    });
    let mut each = each.collect::<anyhow::Result<Vec<_>>>()?;
    if let [_] = each.as_slice() {
        let (request, settings) = each.remove(0);
        let prometheus = arguments.prometheus.as_deref();
        let ended = request.conduct_with(settings, &foreseen[0], prometheus)?;
        let again = ResumeArguments {
            run_dir: ended.directory,
            max_rounds: None,
            stop: false,
            yes_destroy: Vec::new(),
            prometheus: arguments.prometheus.clone(),
            verbose: arguments.verbose,
            json: arguments.json,
        };
        if ended.was_stopped {
            return Ok(ended.state);
        }
        return power_cuts::follow(ended.state, &again.run_dir, &mut |stop| {
            resume::once(&again, stop)
        });
    }
    if chosen.procedure == power_cuts::PROCEDURE {
        return Err(misuse("power-cut tests one target at a time; give one --target"));
    }
    let prometheus = arguments.prometheus.as_deref();
    let sync = match (arguments.together, workloads::maps_devices(chosen)) {
        (Some(sync), _) => sync,
        (None, true) => StartSync::Phases,
        (None, false) => StartSync::Steps,
    };
    Ok(several::run(ConcurrentRuns { each, foreseen: &foreseen, sync, prometheus })?.state)
}
