//! `steadfast fio`: runs fio's job files and command lines.

use super::other_tools::{self, TargetSequence};
use crate::cli::other_tools::{FioArguments, FrontArguments};
use crate::exit::{ExitState, misuse};
use crate::recognize_file::expect;
use crate::target::TARGET_SIZE_MIN;
use anyhow::bail;
use std::path::Path;
use steadfast_domain::{Bytes, Sequence};
use steadfast_exchange::fio::{
    FioCommandLine, JobFile, JobFileContext, TargetFacts, files, sequence,
};
use steadfast_exchange::identify::FileKind;

/// Name of jobs without a file, in messages and reports.
const COMMAND_LINE: &str = "command line";

/// Runs every job, or prints the plan.
pub fn run(arguments: &FioArguments) -> anyhow::Result<ExitState> {
    let line = FioCommandLine::parse(arguments.options.iter().map(String::as_str));
    let path = arguments.file.as_deref().unwrap_or(Path::new(COMMAND_LINE));
    let refused = |errors: Vec<_>| other_tools::refused(path, &errors);
    let (mut file, mut source) = match &arguments.file {
        Some(path) => {
            let bytes = other_tools::read(path)?;
            expect(path, &bytes, "a job file of fio", &[FileKind::FioJob])?;
            let file = JobFile::read_with(&bytes, &mut JobFileDirectory { path }, &line)
                .map_err(refused)?;
            (file, other_tools::source(path, &bytes))
        }
        None if line.jobs.is_empty() => {
            return Err(misuse(
                "name a job file, or a job: steadfast fio --name=job --rw=randread ...",
            ));
        }
        None => {
            let file = JobFile { sections: line.jobs.clone() };
            let source = other_tools::source(path, file.write().as_bytes());
            (file, source)
        }
    };
    if !arguments.options.is_empty() {
        // The source consists of the file and the options.
        source = other_tools::source(path, file.write().as_bytes());
    }
    choose_sections(&mut file, &arguments.section)?;
    let named = files(&file);
    let front = with_named_target(arguments, &named, !line.jobs.is_empty())?;
    let as_named = front.target.names.len() == 1 && arguments.front.target.names.is_empty();
    let sequence_on = |target: &TargetFacts<'_>| -> anyhow::Result<Sequence> {
        let sequence = sequence(&file, target).map_err(refused)?;
        let title = source.name.clone();
        Ok(Sequence { title, source: Some(source.clone()), ..sequence })
    };
    let targets = targets_by_name(&front.target.names, &named)?;
    if targets.is_empty() {
        let mut target = TargetFacts { as_named, ..TargetFacts::default() };
        if let [only] = front.target.names.as_slice() {
            target.is_new = as_named && is_new_file(only);
            target.capacity = known_capacity(&front, only)?;
        }
        let sequence = sequence_on(&target)?;
        if front.target.names.is_empty() && !named.is_empty() {
            return Err(misuse(format!(
                "no target: what the job file names ({}) is used only if the command line names it; \
                 name it, or another device or file, with --target",
                named.join(", ")
            )));
        }
        let front = with_file_size(front, &sequence, as_named);
        check_room(&front, &sequence)?;
        return other_tools::conduct(&front, sequence).map(|conducted| conducted.state);
    }
    let mut sequences = Vec::new();
    for NamedJobTarget { device, target } in &targets {
        let capacity = known_capacity(&front, target)?;
        let facts =
            TargetFacts { device: Some(device), as_named, capacity, ..TargetFacts::default() };
        sequences.push(TargetSequence { target, sequence: sequence_on(&facts)? });
    }
    other_tools::conduct_several(&front, sequences).map(|conducted| conducted.state)
}

/// Keeps only the sections named by `--section`.
fn choose_sections(file: &mut JobFile, chosen: &[String]) -> anyhow::Result<()> {
    if chosen.is_empty() {
        return Ok(());
    }
    for name in chosen {
        if file.sections.iter().all(|section| section.name != *name) {
            let jobs: Vec<&str> =
                file.sections.iter().map(|section| section.name.as_str()).collect();
            return Err(misuse(format!(
                "--section={name}: there is no such job; the jobs are {}",
                jobs.join(", ")
            )));
        }
    }
    file.sections.retain(|section| chosen.contains(&section.name));
    Ok(())
}

/// Returns the arguments with a target. Command-line jobs use the files or devices they name; jobs
/// of a file use `--target` only.
fn with_named_target(
    arguments: &FioArguments,
    named: &[String],
    has_jobs: bool,
) -> anyhow::Result<FrontArguments> {
    let mut front = arguments.front.clone();
    if has_jobs {
        // fio's own --size has another meaning.
        front.size_option = "--target-size";
    }
    if !front.target.names.is_empty() || arguments.file.is_some() {
        return Ok(front);
    }
    let are_devices = named.iter().all(|name| name.starts_with("/dev/"));
    match named {
        [only] => front.target.names = vec![only.clone()],
        [_, ..] if are_devices => {
            front.target.names = named.iter().map(|name| format!("{name}={name}")).collect();
        }
        [sim, drive] if sim == "sim" => {
            return Err(misuse(format!(
                "fio divides file names at colons: name the simulated drive with --target sim:{drive}"
            )));
        }
        [_, ..] => {
            return Err(misuse(
                "the jobs name several files: say which device or file holds them, with --target",
            ));
        }
        [] => {
            return Err(misuse(
                "name what is to be tested: --filename, or --target (a block device, a file or \
                 sim:NAME)",
            ));
        }
    }
    Ok(front)
}

/// Sets the size of a file that the jobs name and that does not exist to what they need.
fn with_file_size(
    mut front: FrontArguments,
    sequence: &Sequence,
    as_named: bool,
) -> FrontArguments {
    if as_named
        && front.target.size.is_none()
        && front.target.names.iter().all(|target| is_new_file(target))
    {
        front.target.size = sequence.reach().map(|reach| reach.max(TARGET_SIZE_MIN));
    }
    front
}

fn is_new_file(target: &str) -> bool {
    !target.starts_with("sim:") && !target.starts_with("/dev/") && !Path::new(target).exists()
}

/// Returns the capacity of a target; `None` if it is unknown before the run.
fn known_capacity(front: &FrontArguments, target: &str) -> anyhow::Result<Option<Bytes>> {
    if front.hosts.list()?.is_some() || front.target.size.is_none() && is_new_file(target) {
        return Ok(None);
    }
    Ok(Some(other_tools::foresee(front, target)?.capacity))
}

/// Refuses a target that cannot hold all files of the jobs.
fn check_room(front: &FrontArguments, sequence: &Sequence) -> anyhow::Result<()> {
    if front.hosts.list()?.is_some() {
        // The hosts are queried once, before the run.
        return Ok(());
    }
    let target = other_tools::target(front)?;
    let device = other_tools::foresee(front, target)?;
    if let Some(reach) = sequence.reach()
        && reach > device.capacity
    {
        bail!(
            "{target}: the jobs need {} ({} bytes), and the target has {} ({} bytes); give them a \
             smaller size or use a larger target",
            reach.binary(),
            reach.0,
            device.capacity.binary(),
            device.capacity.0
        );
    }
    Ok(())
}

/// The target of the jobs on one device or file.
struct NamedJobTarget<'a> {
    /// Name in the jobs.
    device: &'a str,
    target: &'a str,
}

/// Returns the target of each file or device that the jobs name: given as `NAME=TARGET`, or in
/// order if the counts match. Empty if all jobs use one target.
fn targets_by_name<'a>(
    targets: &'a [String],
    named: &'a [String],
) -> anyhow::Result<Vec<NamedJobTarget<'a>>> {
    let mut pairs = Vec::new();
    for text in targets {
        for device in named {
            if let Some(target) = text.strip_prefix(device.as_str())
                && let Some(target) = target.strip_prefix('=')
            {
                pairs.push(NamedJobTarget { device, target });
                break;
            }
        }
    }
    if pairs.is_empty() {
        return match targets.len() {
            0 | 1 => Ok(Vec::new()),
            count if count == named.len() => {
                let pairs = named.iter().zip(targets);
                Ok(pairs.map(|(device, target)| NamedJobTarget { device, target }).collect())
            }
            count => Err(misuse(format!(
                "{count} targets were given, and the jobs name {} files or devices{}; give one \
                 target, or each as --target NAME=TARGET",
                named.len(),
                in_parentheses(named)
            ))),
        };
    }
    let missing: Vec<String> = named
        .iter()
        .filter(|name| pairs.iter().all(|pair| pair.device != **name))
        .cloned()
        .collect();
    if !missing.is_empty() || pairs.len() != targets.len() {
        return Err(misuse(format!(
            "give every device of the jobs a target, as --target NAME=TARGET; without one:{}",
            in_parentheses(&missing)
        )));
    }
    Ok(pairs)
}

fn in_parentheses(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// Resolves included files next to the job file, and variables from the environment.
struct JobFileDirectory<'a> {
    path: &'a Path,
}

impl JobFileContext for JobFileDirectory<'_> {
    fn include(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let sibling = self.path.parent().unwrap_or(Path::new("")).join(name);
        other_tools::read(&sibling).map_err(|why| why.to_string())
    }
    fn variable(&self, name: &str) -> Result<String, String> {
        let unset = |_| format!("set it in the environment: {name}=... steadfast fio ...");
        std::env::var(name).map_err(unset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chosen_section_must_exist() {
        let words = ["name=a", "rw=read", "name=b", "rw=read"];
        let jobs = || JobFile { sections: FioCommandLine::parse(words).jobs };
        for (chosen, kept) in [
            (&[][..], Some(&["a", "b"][..])),
            (&["b"], Some(&["b"])),
            (&["b", "a"], Some(&["a", "b"])),
            (&["typo"], None),
            (&["a", "typo"], None),
        ] {
            let chosen: Vec<String> = chosen.iter().map(|name| (*name).to_owned()).collect();
            let mut file = jobs();
            let result = choose_sections(&mut file, &chosen);
            let names: Vec<&str> = file.sections.iter().map(|one| one.name.as_str()).collect();
            match kept {
                Some(kept) => assert_eq!((result.is_ok(), &names[..]), (true, kept)),
                None => assert!(result.unwrap_err().to_string().contains("--section=typo")),
            }
        }
    }
}
