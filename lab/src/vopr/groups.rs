//! Runs of several targets in one directory, opened and examined with the production code
//! (`runner::RunGroup`).

use crate::directory::SimulatedDirectory;
use crate::disk::ROOT;
use crate::world::{Process, World};
use std::ffi::OsStr;
use std::sync::Arc;
use steadfast_domain::Device;
use steadfast_host::ReadAccess;
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::run::is_complete;
use steadfast_runner::storage::RunStorage;
use steadfast_runner::{
    Ledger, LedgerError, NamedTarget, RunGroup, RunPlan, StartSync, TargetList,
};

/// Name of the directory.
pub const GROUP: &str = "group";

/// A run that is not complete.
pub struct OpenRun {
    /// Position in the list.
    pub member: usize,
    pub ledger: Ledger<SimulatedDirectory>,
    pub lines: Vec<JournalLine>,
}

/// Returns the list of targets with this device.
pub fn list(device: &Device, targets: usize) -> TargetList {
    TargetList::new(&vec![NamedTarget { name: &device.path, device }; targets], StartSync::Steps)
}

/// Opens the runs that are not complete, as `steadfast resume` does, or creates all of them, as
/// `steadfast run` does.
pub fn open_or_create(
    process: &Process,
    list: &TargetList,
    plan: &RunPlan,
) -> Result<Vec<OpenRun>, LedgerError> {
    let root = SimulatedDirectory::root(process);
    let directory = match root.enter(OsStr::new(GROUP)) {
        Err(error) if error.is_missing() => return create(&root, list, plan),
        entered => entered?,
    };
    let place = directory.path().to_owned();
    let group = RunGroup::find_in(directory)?.ok_or(LedgerError::NotARun(place))?;
    let contents = group.read()?;
    let mut runs = Vec::new();
    for (member, contents) in contents.iter().enumerate() {
        if !is_complete(&contents.lines) {
            let (ledger, contents) = group.open(&list.members[member])?;
            runs.push(OpenRun { member, ledger, lines: contents.lines });
        }
    }
    Ok(runs)
}

fn create(
    root: &SimulatedDirectory,
    list: &TargetList,
    plan: &RunPlan,
) -> Result<Vec<OpenRun>, LedgerError> {
    let plans = vec![plan; list.members.len()];
    let name = OsStr::new(GROUP);
    let (_, ledgers) = RunGroup::create_below(root, name, ReadAccess::Usual, list.clone(), &plans)?;
    let open = |(member, ledger)| OpenRun { member, ledger, lines: Vec::new() };
    Ok(ledgers.into_iter().enumerate().map(open).collect())
}

/// Finds the group without faults; `None` if the directory or its list is missing.
fn find(world: &Arc<World>) -> Result<Option<RunGroup<SimulatedDirectory>>, String> {
    let process = &world.start(1, &[])[0];
    let directory = match SimulatedDirectory::root(process).enter(OsStr::new(GROUP)) {
        Err(error) if error.is_missing() => return Ok(None),
        entered => entered.map_err(|error| error.to_string())?,
    };
    RunGroup::find_in(directory).map_err(|error| format!("the list of targets: {error}"))
}

/// Checks the list of targets: it is whole, and it is there if a run has begun. Returns true if the
/// group can be resumed.
pub fn check(
    world: &Arc<World>,
    list: &TargetList,
    plan: &RunPlan,
    begun: usize,
) -> Result<bool, String> {
    let Some(group) = find(world)? else {
        return match begun {
            0 => Ok(false),
            _ => Err(format!("{begun} runs have begun, and there is no list of targets")),
        };
    };
    if group.list != *list {
        return Err(format!("the list of targets has become {:?}", group.list));
    }
    match group.read() {
        Ok(contents) if contents.iter().all(|run| run.plan == *plan) => Ok(true),
        Ok(_) => Err("a run of the group has another plan".into()),
        Err(LedgerError::GroupNotBegun(_)) if begun == 0 => Ok(false),
        Err(error) => Err(format!("the group cannot be resumed: {error}")),
    }
}

/// Takes the directory of each run away, and checks that the group cannot be resumed without it.
pub fn check_loss(world: &Arc<World>, list: &TargetList, plan: &RunPlan) -> Result<(), String> {
    let Some(group) = find(world)? else { return Ok(()) };
    let Ok(contents) = group.read() else { return Ok(()) };
    for (at, member) in list.members.iter().enumerate() {
        let directory = world.state().disk.find(ROOT, GROUP).map_err(|error| error.to_string())?;
        let taken = world.state().disk.take(directory, &member.directory);
        let process = &world.start(1, &[])[0];
        let resumed = open_or_create(process, list, plan);
        if let Some(inode) = taken {
            world.state().disk.put_back(directory, &member.directory, inode);
        }
        let mut others = contents.iter().enumerate().filter(|(other, _)| *other != at);
        let has_begun = others.any(|(_, run)| run.opening().is_some());
        match resumed {
            Err(LedgerError::NoMember { missing, .. })
                if has_begun && missing == group.directory_of(member) => {}
            Err(LedgerError::GroupNotBegun(_)) if !has_begun => {}
            Ok(runs) => return Err(format!("{} runs are resumed without one", runs.len())),
            Err(error) => return Err(format!("a group without a run says: {error}")),
        }
    }
    Ok(())
}
