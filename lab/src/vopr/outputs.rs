//! Programs that write output files into one directory, one after the other or at once.
//!
//! Each file is written by the production code (`host::NewFile`). After every life its name must lead
//! to the whole content of one program, and after a success it must do so for good.

use crate::dice::Dice;
use crate::directory::SimulatedDirectory;
use crate::fault::{InjectedFault, PlannedFault, PlantedBug};
use crate::shrink::{Shrink, earlier_faults, fewer_faults, smaller_lives};
use crate::world::{Process, TrialResult, World};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Read;
use std::sync::Arc;
use std::thread;
use steadfast_host::{FileError, NewFile, OverwritePolicy, ReadAccess};
use steadfast_runner::storage::{RunStorage, StoredFile};

/// Files of a report, in the order in which they are written.
const NAMES: [&str; 3] = ["findings.json", "report.html", "steps.csv"];

/// Calls of a program that no fault hits; later ones hit none.
const CALLS: u64 = 30;

/// Contents that a name may have; `None` if it may be unused.
type PossibleContents = BTreeSet<Option<String>>;

/// Programs that write at the same time.
#[derive(Debug, Clone)]
struct WritingLife {
    programs: usize,
    policy: OverwritePolicy,
    faults: Vec<PlannedFault>,
}

impl WritingLife {
    fn new(dice: &mut Dice) -> WritingLife {
        use InjectedFault::{Error, Full, Interrupted, Kill, LostSync, NoSpace, PowerLoss, Short};
        let all =
            [Error, Full, Interrupted, Kill, Kill, LostSync, NoSpace, PowerLoss, PowerLoss, Short];
        let mut faults = Vec::new();
        for _ in 0..dice.below(4) {
            faults.push(PlannedFault { call: 1 + dice.below(CALLS), fault: *dice.choose(&all) });
        }
        let policy =
            if dice.percent(50) { OverwritePolicy::Keep } else { OverwritePolicy::Overwrite };
        WritingLife { programs: 1 + dice.below(2) as usize, policy, faults }
    }
}

/// Number of files that a program reported as written.
struct WritingEnd {
    contents: [String; NAMES.len()],
    written: usize,
}

/// Programs that write into one directory, in the order in which they are started.
#[derive(Debug, Clone)]
pub struct OutputScenario {
    seed: u64,
    lives: Vec<WritingLife>,
}

impl OutputScenario {
    fn new(seed: u64) -> OutputScenario {
        let mut dice = Dice::new(seed ^ 0x6f75_7470_7574_7321);
        let count = 1 + dice.below(4);
        OutputScenario { seed, lives: (0..count).map(|_| WritingLife::new(&mut dice)).collect() }
    }

    /// Returns the number of faults.
    #[cfg(test)]
    pub fn faults(&self) -> usize {
        self.lives.iter().map(|life| life.faults.len()).sum()
    }
}

impl Shrink for OutputScenario {
    fn smaller(&self) -> Vec<OutputScenario> {
        let lives = smaller_lives(&self.lives, |life| {
            let mut smaller = Vec::new();
            if life.programs > 1 {
                smaller.push(WritingLife { programs: 1, ..life.clone() });
            }
            let faults = fewer_faults(&life.faults).into_iter().chain(earlier_faults(&life.faults));
            smaller.extend(faults.map(|faults| WritingLife { faults, ..life.clone() }));
            smaller
        });
        lives.into_iter().map(|lives| OutputScenario { lives, ..self.clone() }).collect()
    }
}

/// Plays the scenario of a seed.
pub fn play_seed(seed: u64, bug: Option<PlantedBug>) -> (OutputScenario, TrialResult) {
    let scenario = OutputScenario::new(seed);
    let result = play(&scenario, bug);
    (scenario, result)
}

/// Plays a scenario. After its lives, one program replaces all files without a fault.
pub fn play(scenario: &OutputScenario, bug: Option<PlantedBug>) -> TrialResult {
    let world = World::new(scenario.seed, bug, true);
    let mut possible: BTreeMap<&str, PossibleContents> =
        NAMES.iter().map(|name| (*name, BTreeSet::from([None]))).collect();
    let last = WritingLife { programs: 1, policy: OverwritePolicy::Overwrite, faults: Vec::new() };
    for (number, life) in (0..).zip(scenario.lives.iter().chain([&last])) {
        let about = format!("-- {} programs, {:?}, {:?}", life.programs, life.policy, life.faults);
        world.state().log(|| about);
        let ends = live(&world, number, life);
        world.require(check(&world, life, &ends, &mut possible));
    }
    world.take_result()
}

fn live(world: &Arc<World>, number: u64, life: &WritingLife) -> Vec<WritingEnd> {
    let processes = world.start(life.programs, &life.faults);
    thread::scope(|scope| {
        let threads: Vec<_> = processes
            .iter()
            .map(|process| {
                let line = format!("life {number}, program {}\n", process.number);
                // More than a sector each.
                let contents = NAMES.map(|name| format!("{name} of {line}").repeat(40));
                scope.spawn(move || write_files(process, contents, life.policy))
            })
            .collect();
        // A panic of the program was caught.
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// Writes the files until one cannot be written.
fn write_files(
    process: &Process,
    contents: [String; NAMES.len()],
    policy: OverwritePolicy,
) -> WritingEnd {
    let mut written = 0;
    process.run(|| {
        let directory = SimulatedDirectory::root(process);
        let write = |(name, content): (&&str, &String)| {
            let new = NewFile::create_in(&directory, OsStr::new(name), policy, ReadAccess::Usual)?;
            new.write_and_persist(content.as_bytes())?;
            written += 1;
            Ok::<(), FileError>(())
        };
        let ended = NAMES.iter().zip(&contents).try_for_each(write);
        process.world.state().log(|| format!("       ended: {ended:?}"));
    });
    WritingEnd { contents, written }
}

/// Checks what the names lead to after a life, and narrows what they may lead to later.
fn check(
    world: &Arc<World>,
    life: &WritingLife,
    ends: &[WritingEnd],
    possible: &mut BTreeMap<&str, PossibleContents>,
) -> Result<(), String> {
    world.state().disk.check_bystanders()?;
    let found = read_all(world)?;
    let undisturbed = life.faults.is_empty() && life.programs == 1;
    for (at, name) in NAMES.iter().enumerate() {
        let before = possible.remove(name).unwrap_or_default();
        let attempted = ends.iter().map(|end| Some(end.contents[at].clone()));
        let reported: Vec<&WritingEnd> = ends.iter().filter(|end| end.written > at).collect();
        let mut allowed: PossibleContents = match (life.policy, reported.as_slice()) {
            (OverwritePolicy::Keep, [one]) if before.contains(&None) => {
                BTreeSet::from([Some(one.contents[at].clone())])
            }
            (OverwritePolicy::Keep, []) if before.contains(&None) => {
                before.into_iter().chain(attempted).collect()
            }
            (OverwritePolicy::Keep, []) => before,
            (OverwritePolicy::Keep, _) => {
                return Err(format!("{name}: an existing file was replaced"));
            }
            (OverwritePolicy::Overwrite, []) => before.into_iter().chain(attempted).collect(),
            (OverwritePolicy::Overwrite, _) => attempted.collect(),
        };
        let content = found.get(*name).cloned();
        if !allowed.contains(&content) {
            let part: String = content.unwrap_or_default().chars().take(60).collect();
            return Err(format!("{name} holds what no program has written, or nothing: {part:?}"));
        }
        if undisturbed && life.policy == OverwritePolicy::Overwrite {
            allowed = BTreeSet::from([content]);
            if reported.is_empty() {
                return Err(format!("{name} was not written although no call failed"));
            }
        }
        possible.insert(name, allowed);
    }
    Ok(())
}

fn read_all(world: &Arc<World>) -> Result<BTreeMap<String, String>, String> {
    let process = &world.start(1, &[])[0];
    let directory = SimulatedDirectory::root(process);
    let mut found = BTreeMap::new();
    for name in directory.names().map_err(|error| error.to_string())? {
        let mut file = directory.open_file(&name).map_err(|error| error.to_string())?;
        let size = file.size().map_err(|error| error.to_string())?;
        let mut content = Vec::with_capacity(size as usize);
        file.read_to_end(&mut content).map_err(|error| error.to_string())?;
        let name = name.to_string_lossy().into_owned();
        found.insert(name, String::from_utf8_lossy(&content).into_owned());
    }
    process.end();
    Ok(found)
}
