//! Runs of several targets in one directory, opened and examined with the production code
//! (`runner::RunGroup`).

use crate::directory::SimulatedDirectory;
use crate::disk::ROOT;
use crate::fault::PlantedBug;
use crate::world::{LoadStart, Process, World};
use std::ffi::OsStr;
use std::sync::Arc;
use steadfast_domain::StepPlace;
use steadfast_domain::step::base_phase;
use steadfast_host::ReadAccess;
use steadfast_runner::ledger::LedgerContents;
use steadfast_runner::run::is_complete;
use steadfast_runner::storage::RunStorage;
use steadfast_runner::{
    GroupMember, Ledger, LedgerError, NewMember, RunGroup, RunPlan, StartSync, TargetList,
    directory_names,
};

/// Name of the directory.
pub const GROUP: &str = "group";

/// Name of a run directory that does not belong to the group.
const OTHER: &str = "other";

/// A run that is not complete.
pub struct OpenRun {
    /// Position in the list.
    pub member: usize,
    pub ledger: Ledger<SimulatedDirectory>,
    /// Content of the ledger; `None` if the run is new.
    pub contents: Option<LedgerContents>,
}

/// Several targets that are tested at once.
pub struct TestedGroup {
    /// The list that `targets.json` must hold.
    pub list: TargetList,
    /// Plan of each run.
    pub plans: Vec<RunPlan>,
}

/// The group and its runs that are not complete.
pub type OpenGroup = (RunGroup<SimulatedDirectory>, Vec<OpenRun>);

impl TestedGroup {
    /// Creates a list of runs that have this plan, each for a device of its own name.
    pub fn new(plan: &RunPlan, targets: usize, together: StartSync) -> TestedGroup {
        let plans: Vec<RunPlan> = (0..targets)
            .map(|number| {
                let mut plan = plan.clone();
                plan.device.name = format!("{}-{number}", plan.device.name);
                plan.device.path = format!("sim:{}", plan.device.name);
                plan
            })
            .collect();
        let directories = directory_names(plans.iter().map(|plan| &plan.device));
        let list = TargetList::new(together, &new_members(&plans, &directories));
        let list = list.unwrap_or_else(|error| panic!("the settings of a run: {error}"));
        TestedGroup { list, plans }
    }

    /// Returns the position of the member with this run directory.
    pub fn position(&self, directory: &str) -> usize {
        let mut members = self.list.members.iter();
        members.position(|member| member.directory == directory).unwrap_or(0)
    }

    /// Opens the runs that are not complete, as `steadfast resume` does, or creates all of them, as
    /// `steadfast run` does.
    pub fn open_or_create(&self, process: &Process) -> Result<OpenGroup, LedgerError> {
        let root = SimulatedDirectory::root(process);
        let directory = match root.enter(OsStr::new(GROUP)) {
            Err(error) if error.is_missing() => return self.create(&root),
            entered => entered?,
        };
        let place = directory.path().to_owned();
        let group = RunGroup::find_in(directory)?.ok_or(LedgerError::NotARun(place))?;
        let bug = process.world.state().disk.bug;
        let contents = match group.read() {
            Err(LedgerError::OtherRun { .. }) if bug == Some(PlantedBug::IgnoredOtherRun) => {
                return Ok((group, Vec::new()));
            }
            read => read?,
        };
        let mut runs = Vec::new();
        for (member, contents) in contents.iter().enumerate() {
            if !is_complete(&contents.lines) {
                let (ledger, contents) = group.open(&group.list.members[member])?;
                runs.push(OpenRun { member, ledger, contents: Some(contents) });
            }
        }
        Ok((group, runs))
    }

    fn create(&self, root: &SimulatedDirectory) -> Result<OpenGroup, LedgerError> {
        let directories = directory_names(self.plans.iter().map(|plan| &plan.device));
        let runs = new_members(&self.plans, &directories);
        let (name, readers) = (OsStr::new(GROUP), ReadAccess::Usual);
        let together = self.list.together;
        let (group, ledgers) = RunGroup::create_below(root, name, readers, together, &runs)?;
        let open = |(member, ledger)| OpenRun { member, ledger, contents: None };
        Ok((group, ledgers.into_iter().enumerate().map(open).collect()))
    }

    /// Checks the list of targets: it is whole, and it is there if a run has begun. Returns true if
    /// the group can be resumed.
    pub fn check(&self, world: &Arc<World>, begun: usize) -> Result<bool, String> {
        let Some(group) = find(world)? else {
            return match begun {
                0 => Ok(false),
                _ => Err(format!("{begun} runs have begun, and there is no list of targets")),
            };
        };
        if group.list != self.list {
            return Err(format!("the list of targets has become {:?}", group.list));
        }
        match group.read() {
            Ok(runs) if runs.iter().map(|run| &run.plan).eq(&self.plans) => Ok(true),
            Ok(_) => Err("a run of the group has another plan".into()),
            Err(LedgerError::GroupNotBegun(_)) if begun == 0 => Ok(false),
            Err(error) => Err(format!("the group cannot be resumed: {error}")),
        }
    }

    /// Damages the directory of each run, and checks that the group cannot be resumed then, says
    /// why, and changes nothing.
    pub fn check_damage(&self, world: &Arc<World>) -> Result<(), String> {
        let Some(group) = find(world)? else { return Ok(()) };
        let Ok(contents) = group.read() else { return Ok(()) };
        let root = SimulatedDirectory::root(&world.start(1, &[])[0]);
        let mut plan = self.plans[0].clone();
        plan.began_unix_ms += 1;
        Ledger::create_below(&root, OsStr::new(OTHER), ReadAccess::Usual, &plan)
            .map_err(|error| error.to_string())?;
        for (at, member) in self.list.members.iter().enumerate() {
            let has_begun =
                |(other, run): (usize, &LedgerContents)| other != at && run.opening().is_some();
            let has_begun = contents.iter().enumerate().any(has_begun);
            let next = &self.list.members[(at + 1) % self.list.members.len()];
            for damage in
                [DirectoryDamage::Moved, DirectoryDamage::Swapped, DirectoryDamage::Replaced]
            {
                let before = world.state().disk.contents(ROOT);
                self.exchange_directories(world, damage, member, next)?;
                let resumed = self.open_or_create(&world.start(1, &[])[0]).map(|(_, runs)| runs);
                self.exchange_directories(world, damage, member, next)?;
                if world.state().disk.contents(ROOT) != before {
                    return Err(format!("{damage:?} {}: files have changed", member.directory));
                }
                let error = match resumed {
                    Ok(runs) => return Err(format!("{damage:?}: {} runs are resumed", runs.len())),
                    Err(error) => error,
                };
                let path = group.directory_of(member);
                let of_next = group.directory_of(next);
                let is_right = match (damage, &error) {
                    (DirectoryDamage::Moved, LedgerError::NoMember { missing, .. }) => {
                        has_begun && *missing == path
                    }
                    (DirectoryDamage::Moved, LedgerError::GroupNotBegun(_)) => !has_begun,
                    // The first of the list is named.
                    (
                        DirectoryDamage::Swapped,
                        LedgerError::OtherRun { directory, what, target },
                    ) => {
                        *directory == path.clone().min(of_next)
                            && [&member.target, &next.target].contains(&target)
                            && (what.ends_with(&member.target) || what.ends_with(&next.target))
                            && !what.ends_with(target)
                    }
                    (
                        DirectoryDamage::Replaced,
                        LedgerError::OtherRun { directory, what, target },
                    ) => *directory == path && *target == member.target && !what.contains("sim:"),
                    _ => false,
                };
                if !is_right {
                    return Err(format!("{damage:?} {}: the error is: {error}", member.directory));
                }
            }
        }
        world.state().disk.take(ROOT, OTHER);
        Ok(())
    }

    /// Damages a run directory, or mends it again.
    fn exchange_directories(
        &self,
        world: &World,
        damage: DirectoryDamage,
        member: &GroupMember,
        next: &GroupMember,
    ) -> Result<(), String> {
        let mut state = world.state();
        let disk = &mut state.disk;
        let group = disk.find(ROOT, GROUP).map_err(|error| error.to_string())?;
        let moved = format!("{}-old", member.directory);
        let (other_directory, other) = match damage {
            DirectoryDamage::Moved => (group, moved.as_str()),
            DirectoryDamage::Swapped => (group, next.directory.as_str()),
            DirectoryDamage::Replaced => (ROOT, OTHER),
        };
        let taken = [(group, member.directory.as_str()), (other_directory, other)];
        let [own, others] = taken.map(|(directory, name)| disk.take(directory, name));
        if let Some(inode) = own {
            disk.put_back(other_directory, other, inode);
        }
        if let Some(inode) = others {
            disk.put_back(group, &member.directory, inode);
        }
        Ok(())
    }

    /// Checks that the loads of a process began together. Drives that are factory-new in every
    /// process do not wait for others.
    pub fn check_starts(&self, starts: &[LoadStart], waits: bool) -> Result<(), String> {
        let all_steps = waits && self.list.together == StartSync::Steps;
        for start in starts {
            let of_agreement = |other: &&LoadStart| {
                let agreed = |start: &LoadStart| start.common.map(|common| common.agreed);
                agreed(start).is_some() && agreed(other) == agreed(start)
            };
            let together = starts.iter().filter(of_agreement).count();
            let expected = start.common.map_or(0, |common| common.targets as usize);
            if together != expected {
                return Err(format!(
                    "{together} of {expected} loads began together: {}",
                    describe(start)
                ));
            }
            let is_apart = |other: &&LoadStart| {
                is_same_step(&other.place, &start.place)
                    && other.drive != start.drive
                    && !of_agreement(other)
            };
            // Runs may repeat a step at different times.
            let is_first = base_phase(&start.place.phase) == start.place.phase;
            if all_steps && is_first && starts.iter().any(|other| is_apart(&other)) {
                return Err(format!("loads of a step did not begin together: {}", describe(start)));
            }
        }
        Ok(())
    }
}

/// Returns the runs with these plans, in order.
fn new_members<'m>(plans: &'m [RunPlan], directories: &'m [String]) -> Vec<NewMember<'m>> {
    let runs = plans.iter().zip(directories);
    runs.map(|(plan, directory)| NewMember { target: &plan.device.path, directory, plan }).collect()
}

/// A change of run directories by a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirectoryDamage {
    /// One has another name.
    Moved,
    /// It and the next one have each other's name.
    Swapped,
    /// The directory holds a run that does not belong to the group.
    Replaced,
}

fn describe(start: &LoadStart) -> String {
    format!("{} of drive {}, {:?}", start.place, start.drive, start.common)
}

fn is_same_step(place: &StepPlace, other: &StepPlace) -> bool {
    (&place.phase, place.round, place.point) == (&other.phase, other.round, other.point)
}

/// Finds the group without faults; `None` if the directory or its list is missing.
pub fn find(world: &Arc<World>) -> Result<Option<RunGroup<SimulatedDirectory>>, String> {
    let process = &world.start(1, &[])[0];
    let directory = match SimulatedDirectory::root(process).enter(OsStr::new(GROUP)) {
        Err(error) if error.is_missing() => return Ok(None),
        entered => entered.map_err(|error| error.to_string())?,
    };
    RunGroup::find_in(directory).map_err(|error| format!("the list of targets: {error}"))
}
