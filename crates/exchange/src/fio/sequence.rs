//! Converts a fio job file into a sequence of consecutive jobs and groups of concurrent jobs.

use super::files::{FileNames, FileSet, PlacedFiles, is_device, layout_text, place, start_of};
use super::flow::merge_flow;
use super::job::{JobLoad, job};
use super::options::{SPLIT_MAX, SectionOptions, TargetFacts};
use super::pace::OpPace;
use super::text::JobFile;
use crate::parse_error::ParseError;
use std::collections::BTreeSet;
use steadfast_domain::sequence::{Amount, Extent, NamedLoad, SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::text::excerpt;
use steadfast_domain::{Bytes, Demand, Nanos, Op, Order, Sequence, SequenceLoad, SequenceStep};

/// Jobs that run at the same time; jobs with equal loads are merged.
struct JobGroup {
    /// Position among the groups of the file, from 1.
    number: u32,
    members: Vec<ConcurrentJob>,
}

/// A job, one of its threads, or several equal jobs.
struct ConcurrentJob {
    label: String,
    line: u64,
    job: JobLoad,
}

struct ParsedSection {
    label: String,
    line: u64,
    begin: JobBegin,
    /// fio judges a steady state of all jobs together.
    reports_together: bool,
    /// The load of the section, or one load per thread.
    loads: Vec<SectionLoad>,
}

/// A load of a section and the files that it uses.
struct SectionLoad {
    member: ConcurrentJob,
    files: FileSet,
}

/// Moment at which fio starts a section.
#[derive(Debug, Clone, PartialEq, Eq)]
enum JobBegin {
    /// With the sections before it.
    Along,
    /// `stonewall`: after all before it.
    AfterAll,
    /// `wait_for`: after the section of this name.
    After(String),
}

/// Maximum number of concurrent jobs that the label of a step lists by name.
const NAMED_MAX: usize = 6;

const CONCURRENT_LOADS_MAX: usize = 256;

/// Returns the files and devices that the jobs name, each once, in order.
pub fn files(file: &JobFile) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for section in &file.sections {
        let names = FileNames::from_options(&mut SectionOptions::check(section));
        if names.are_given() {
            all.extend(names.of_thread(0));
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|name| seen.insert(name.clone()));
    all
}

/// Converts a job file into a sequence: one step per job, or per group of jobs that run at the
/// same time. The caller fills in file, title and version.
///
/// # Errors
/// Everything that cannot be applied, line by line.
pub fn sequence(file: &JobFile, target: &TargetFacts<'_>) -> Result<Sequence, Vec<ParseError>> {
    let (mut errors, mut remarks) = (Vec::new(), Vec::new());
    let mut sections = Vec::new();
    for section in &file.sections {
        let mut options = SectionOptions::check(section);
        let begin = match options.text("wait_for").filter(|name| !name.is_empty()) {
            _ if options.flag("stonewall") => JobBegin::AfterAll,
            Some(name) => JobBegin::After(name.to_owned()),
            None => JobBegin::Along,
        };
        let reports_together = options.flag("group_reporting");
        let parsed = job(&mut options, target);
        let (label, line) = (options.name().to_owned(), options.line());
        errors.append(&mut options.errors);
        for remark in options.remarks {
            add_remark(&mut remarks, remark);
        }
        let Some(job) = parsed else { continue };
        match loads_of(&label, line, job) {
            Ok(loads) => {
                sections.push(ParsedSection { label, line, begin, reports_together, loads })
            }
            Err(why) => errors.push(ParseError::at(line, format!("[{label}] {why}"))),
        }
    }
    errors.extend(wait_faults(&sections));
    if let Some(device) = target.device {
        errors.extend(keep_jobs_of(&mut sections, device));
    }
    let sets: Vec<FileSet> =
        sections.iter().flat_map(|section| &section.loads).map(|load| load.files.clone()).collect();
    let placed = place(&sets).unwrap_or_else(|mut wrong| {
        errors.append(&mut wrong);
        Vec::new()
    });
    remarks.extend(file_remarks(&sections, &placed, target));
    let mut groups = job_groups(sections, &placed, &mut remarks);
    for group in &mut groups {
        errors.extend(group.merge_flows(&mut remarks));
    }
    errors.extend(groups.iter().flat_map(JobGroup::faults));
    if !errors.is_empty() {
        errors.sort_by_key(|what| what.line);
        errors.dedup();
        return Err(errors);
    }
    measure_ramps(&mut groups, &mut remarks);
    delay_jobs(&mut groups, &mut remarks);
    let numbered = target.device.is_some();
    let step = |group: JobGroup| {
        let number = numbered.then_some(group.number);
        Some(SequenceStep { number, ..group.step()? })
    };
    let steps = groups.into_iter().filter_map(step).collect();
    let tool = "fio".to_owned();
    let disk = target.device.map(str::to_owned);
    Ok(Sequence { tool, disk, steps, remarks, ..Sequence::default() }.with_distinct_labels())
}

/// Returns the loads of a job: one for all its threads, or one per thread if the threads have their
/// own files, offsets or sequential positions.
fn loads_of(label: &str, line: u64, job: JobLoad) -> Result<Vec<SectionLoad>, String> {
    let is_random = job.load.streams.iter().all(|stream| stream.order == Order::Random);
    let has_own_files = job.files.differ_by_thread() && has_size_in_bytes(&job);
    let is_shared = !job.files.are_given() && !job.files.differ_by_thread();
    if job.threads > 1 && is_shared && has_size_in_bytes(&job) {
        let why = "filename_format: only the first of fio's threads uses a file that all would \
                   create; name the file with filename=";
        return Err(why.to_owned());
    }
    let files_of_thread = |thread: u32, extent: Extent| FileSet {
        names: if job.files.are_given() || has_size_in_bytes(&job) {
            job.files.of_thread(thread)
        } else {
            Vec::new()
        },
        are_given: job.files.are_given(),
        job: label.to_owned(),
        line,
        extent,
    };
    let threads_differ = has_own_files || job.increment.is_some();
    if job.threads == 1 || !threads_differ && (is_random || job.threads > SPLIT_MAX) {
        let files = files_of_thread(0, job.load.extent);
        let member = ConcurrentJob { label: label.to_owned(), line, job };
        return Ok(vec![SectionLoad { member, files }]);
    }
    if job.threads > SPLIT_MAX {
        return Err(format!(
            "numjobs={}: at most {SPLIT_MAX} threads can have files or offsets of their own; let \
             them share one with filename=",
            job.threads
        ));
    }
    let mut loads = Vec::new();
    for thread in 0..job.threads {
        let extent = Extent {
            from: thread_start(job.load.extent.from, job.increment, thread)?,
            ..job.load.extent
        };
        let mut thread_job = JobLoad { threads: 1, ..job.clone() };
        thread_job.load.extent = extent;
        let member = ConcurrentJob { label: format!("{label}.{thread}"), line, job: thread_job };
        loads.push(SectionLoad { member, files: files_of_thread(thread, extent) });
    }
    Ok(loads)
}

fn has_size_in_bytes(job: &JobLoad) -> bool {
    matches!(job.load.extent.length, Some(Amount::Bytes(_)))
}

/// Returns the start of a thread: that of the previous one plus the increment.
fn thread_start(from: Amount, increment: Option<Amount>, thread: u32) -> Result<Amount, String> {
    let sum = match (from, increment) {
        (from, None) => Some(from),
        (Amount::Bytes(from), Some(Amount::Bytes(step))) => {
            let steps = step.0.checked_mul(u64::from(thread));
            steps.and_then(|steps| from.0.checked_add(steps)).map(|all| Amount::Bytes(Bytes(all)))
        }
        (Amount::Bytes(Bytes(0)), Some(Amount::Ppm(step))) => {
            step.checked_mul(thread).map(Amount::Ppm)
        }
        (Amount::Ppm(from), Some(Amount::Ppm(step))) => {
            step.checked_mul(thread).and_then(|steps| from.checked_add(steps)).map(Amount::Ppm)
        }
        _ => {
            let why = "offset_increment: a percentage and bytes cannot be added; give both offset \
                       and offset_increment in bytes or in percent";
            return Err(why.to_owned());
        }
    };
    sum.ok_or_else(|| "offset_increment: the last thread begins beyond any device".into())
}

/// Returns the errors of sections that wait for others. Groups run one after the other here, so
/// that a section can only wait for the one that is alone before it.
fn wait_faults(sections: &[ParsedSection]) -> Vec<ParseError> {
    let mut errors = Vec::new();
    // Sections of the group, and the one that it waits for.
    let (mut group, mut waits_for): (Vec<&str>, Option<&str>) = (Vec::new(), None);
    for section in sections {
        let why = match &section.begin {
            JobBegin::AfterAll => {
                (group, waits_for) = (Vec::new(), None);
                None
            }
            JobBegin::After(name) if waits_for == Some(name.as_str()) => None,
            JobBegin::After(name) => {
                let is_alone = group == [name.as_str()];
                (group, waits_for) = (Vec::new(), Some(name.as_str()));
                (!is_alone).then(|| {
                    format!(
                        "wait_for={}: a job can only wait for the one that runs alone before it; \
                         give jobs that begin after all others stonewall",
                        excerpt(name)
                    )
                })
            }
            JobBegin::Along => waits_for.map(|name| {
                format!(
                    "it begins with the first jobs, and the one before it waits for [{}]; give it \
                     wait_for or stonewall, or put it first",
                    excerpt(name)
                )
            }),
        };
        group.push(&section.label);
        errors.extend(why.map(|why| {
            ParseError::at(section.line, format!("[{}] {why}", excerpt(&section.label)))
        }));
    }
    errors
}

/// Removes the jobs of all other devices. Returns an error for each job whose files are on several
/// targets.
fn keep_jobs_of(sections: &mut [ParsedSection], device: &str) -> Vec<ParseError> {
    let mut errors = Vec::new();
    for section in sections {
        let is_split = |load: &SectionLoad| {
            let names = &load.files.names;
            names.len() > 1 && names.iter().any(|name| name == device)
        };
        if section.loads.iter().any(is_split) {
            let why = "its files are on several targets: give each device a job of its own";
            errors.push(ParseError::at(section.line, format!("[{}] {why}", section.label)));
        }
        section.loads.retain(|load| load.files.names == [device]);
    }
    errors
}

fn file_remarks(
    sections: &[ParsedSection],
    placed: &[PlacedFiles],
    target: &TargetFacts<'_>,
) -> Vec<SequenceRemark> {
    let mut remarks = Vec::new();
    let loads = || sections.iter().flat_map(|section| &section.loads);
    if !placed.is_empty() {
        remarks.push(SequenceRemark::whole(layout_text(placed)));
    } else if !target.as_named
        && target.device.is_none()
        && let Some(SectionLoad { files, .. }) = loads().find(|load| load.files.are_given)
    {
        let text = format!("[{}] filename: the target is what --target names", files.job);
        remarks.push(SequenceRemark::at(files.line, text));
    }
    let is_file = |load: &SectionLoad| {
        let names = &load.files.names;
        !names.is_empty() && !names.iter().any(|name| is_device(name))
    };
    let reads = |load: &SectionLoad| {
        load.member.job.load.streams.iter().any(|stream| stream.op == Op::Read)
    };
    let is_written = |files: &FileSet| {
        loads().any(|load| load.files.names == files.names && load.member.job.load.alters())
    };
    let unwritten = loads().find(|load| is_file(load) && reads(load) && !is_written(&load.files));
    if let Some(SectionLoad { files, .. }) = unwritten.filter(|_| !target.as_named) {
        let text = format!(
            "[{}] fio writes its files before it reads them; here what the target holds is read: \
             write it first",
            files.job
        );
        remarks.push(SequenceRemark::at(files.line, text));
    }
    remarks
}

/// Returns the groups of jobs that start together, with their loads placed.
fn job_groups(
    sections: Vec<ParsedSection>,
    placed: &[PlacedFiles],
    remarks: &mut Vec<SequenceRemark>,
) -> Vec<JobGroup> {
    let mut groups: Vec<JobGroup> = Vec::new();
    let mut begins_with = JobBegin::Along;
    for section in sections {
        let joins = match &section.begin {
            JobBegin::Along => true,
            JobBegin::AfterAll => false,
            JobBegin::After(_) => begins_with == section.begin,
        };
        if !joins || groups.is_empty() {
            begins_with = section.begin.clone();
            let number = u32::try_from(groups.len() + 1).unwrap_or(u32::MAX);
            groups.push(JobGroup { number, members: Vec::new() });
        }
        let Some(group) = groups.last_mut() else { continue };
        let is_steady = section.loads.iter().any(|load| load.member.job.steady.is_some());
        if is_steady
            && !section.reports_together
            && (section.loads.len() > 1 || !group.members.is_empty())
        {
            let text = format!(
                "[{}] ss: each of fio's jobs ends by itself; here all end together once their sum \
                 is steady",
                section.label
            );
            add_remark(remarks, SequenceRemark::at(section.line, text));
        }
        for SectionLoad { mut member, files } in section.loads {
            if let Amount::Bytes(from) = member.job.load.extent.from {
                let start = start_of(placed, &files.names);
                member.job.load.extent.from = Amount::Bytes(from + start);
            }
            for member in split_by_pace(member) {
                group.join(member);
            }
        }
    }
    groups.retain(|group| !group.members.is_empty());
    groups
}

/// Turns the ramps of jobs that end by their I/Os or bytes into measured time: fio counts the I/Os
/// of a ramp toward the limit, whereas a ramp here is only a time.
fn measure_ramps(groups: &mut [JobGroup], remarks: &mut Vec<SequenceRemark>) {
    for group in groups {
        let has_counted_ramp = |member: &&ConcurrentJob| {
            let load = &member.job.load;
            load.ramp > Nanos::ZERO && !ends_by_time(load)
        };
        let Some(counted) = group.members.iter().find(has_counted_ramp) else { continue };
        let text = format!(
            "[{}] ramp_time: a job that ends by its size or number of I/Os is measured from its \
             beginning; fio does not count the ramp in its results",
            counted.label
        );
        add_remark(remarks, SequenceRemark::at(counted.line, text));
        for member in &mut group.members {
            let load = &mut member.job.load;
            // The runtime begins after the ramp.
            let ramp = load.ramp;
            load.until.time = load.until.time.map(|time| Nanos(time.0.saturating_add(ramp.0)));
            load.ramp = Nanos::ZERO;
        }
    }
}

/// Returns true if a load ends after a time, regardless of its amount.
fn ends_by_time(load: &SequenceLoad) -> bool {
    load.until == SequenceEnd { time: load.until.time, ..SequenceEnd::default() }
}

/// Turns `startdelay`, which counts from the start of fio, into a pause before each group and
/// the delays of its jobs after that.
fn delay_jobs(groups: &mut [JobGroup], remarks: &mut Vec<SequenceRemark>) {
    let mut passed = Some(Nanos::ZERO);
    for group in groups {
        for member in &mut group.members {
            if member.job.pause > Nanos::ZERO && passed.is_none() {
                let text = format!(
                    "[{}] startdelay: fio counts it from its own start; here from the end of the \
                     jobs before",
                    member.label
                );
                add_remark(remarks, SequenceRemark::at(member.line, text));
            }
            member.job.pause = member.job.pause.saturating_sub(passed.unwrap_or(Nanos::ZERO));
        }
        let first =
            group.members.iter().map(|member| member.job.pause).min().unwrap_or(Nanos::ZERO);
        let mut last = Some(first);
        for member in &mut group.members {
            let load = &mut member.job.load;
            load.delay = member.job.pause.saturating_sub(first);
            if load.delay > Nanos::ZERO && load.ramp > Nanos::ZERO {
                let text = format!(
                    "[{}] startdelay: it begins {} after the others and ends with them",
                    member.label, load.delay
                );
                add_remark(remarks, SequenceRemark::at(member.line, text));
            }
            let time = load.until.time.filter(|_| ends_by_time(load));
            let sum = |a: Nanos, b: Nanos| Nanos(a.0.saturating_add(b.0));
            let end = time.map(|time| sum(sum(member.job.pause, load.ramp), time));
            last = last.zip(end).map(|(last, end)| last.max(end));
            member.job.pause = first;
        }
        passed = passed.zip(last).map(|(passed, last)| Nanos(passed.0.saturating_add(last.0)));
    }
}

/// Adds a remark unless an earlier section already has it.
fn add_remark(remarks: &mut Vec<SequenceRemark>, remark: SequenceRemark) {
    let text = |remark: &SequenceRemark| {
        remark.text.split_once("] ").map_or(remark.text.clone(), |(_, text)| text.to_owned())
    };
    if !remarks.iter().any(|kept| text(kept) == text(&remark)) {
        remarks.push(remark);
    }
}

/// Splits a job with a rate per direction into one load per direction.
fn split_by_pace(member: ConcurrentJob) -> Vec<ConcurrentJob> {
    if member.job.paces.is_empty() {
        return vec![member];
    }
    let direction = |OpPace { op, pace }: &OpPace| {
        let mut job = JobLoad { paces: Vec::new(), ..member.job.clone() };
        job.load.streams.retain(|stream| stream.op == *op);
        job.load.pace = pace.clone();
        let name = match op {
            Op::Read => "reads",
            Op::Write => "writes",
            Op::Discard | Op::Flush => "trims",
        };
        ConcurrentJob { label: format!("{} {name}", member.label), line: member.line, job }
    };
    member.job.paces.iter().map(direction).collect()
}

impl JobGroup {
    fn join(&mut self, new: ConcurrentJob) {
        // Sequential threads have a position each.
        let is_random = new.job.load.streams.iter().all(|stream| stream.order == Order::Random);
        let is_equal = |old: &&mut ConcurrentJob| {
            is_random
                && old.job.flow.is_none()
                && new.job.flow.is_none()
                && old.job.load == new.job.load
                && old.job.pause == new.job.pause
                && old.job.steady == new.job.steady
        };
        match self.members.iter_mut().find(is_equal) {
            Some(old) => {
                old.job.threads = old.job.threads.saturating_add(new.job.threads);
                old.label = format!("{} + {}", old.label, new.label);
            }
            None => self.members.push(new),
        }
    }

    /// Merges the jobs of each flow into one. Returns the errors of those that cannot be one load.
    fn merge_flows(&mut self, remarks: &mut Vec<SequenceRemark>) -> Option<ParseError> {
        while let Some(id) =
            self.members.iter().find_map(|member| member.job.flow).map(|flow| flow.id)
        {
            let is_in_flow =
                |member: &ConcurrentJob| member.job.flow.is_some_and(|flow| flow.id == id);
            let at = self.members.iter().position(is_in_flow)?;
            let (members, others): (Vec<ConcurrentJob>, Vec<ConcurrentJob>) =
                std::mem::take(&mut self.members).into_iter().partition(is_in_flow);
            self.members = others;
            let loads: Vec<&JobLoad> = members.iter().map(|member| &member.job).collect();
            let merged = match loads.as_slice() {
                // A flow of one job holds nothing back.
                [only] => JobLoad { flow: None, ..(*only).clone() },
                loads => match merge_flow(loads) {
                    Ok(merged) => merged,
                    Err(fault) => {
                        let member = members.get(fault.job)?;
                        let text = format!("[{}] flow: {}", excerpt(&member.label), fault.why);
                        return Some(ParseError::at(member.line, text));
                    }
                },
            };
            let names: Vec<&str> = members.iter().map(|member| member.label.as_str()).collect();
            let (label, line) = (joined_names(&names), members.first()?.line);
            if members.len() > 1 {
                let text = format!(
                    "[{}] flow: the jobs of a flow are one load, whose I/Os are drawn by their \
                     weights; any of them may be outstanding, in fio each job has its own iodepth",
                    names[0]
                );
                add_remark(remarks, SequenceRemark::at(line, text));
            }
            self.members.insert(at, ConcurrentJob { label, line, job: merged });
        }
        None
    }

    /// Returns the errors that prevent the jobs from starting at the same time.
    fn faults(&self) -> Vec<ParseError> {
        let Some((first, others)) = self.members.split_first() else { return Vec::new() };
        if others.len() >= CONCURRENT_LOADS_MAX {
            let what =
                format!("more than {CONCURRENT_LOADS_MAX} different loads run at the same time");
            return vec![ParseError::at(first.line, what)];
        }
        let fault = |other: &ConcurrentJob| {
            let what = if other.job.load.ramp != first.job.load.ramp {
                "ramp_time: it differs from that"
            } else if other.job.steady != first.job.steady {
                "ss: it differs from that"
            } else {
                return None;
            };
            let what = format!(
                "[{}]: {what} of [{}], which runs at the same time; give them the same, or set \
                 stonewall",
                other.label, first.label
            );
            Some(ParseError::at(other.line, what))
        };
        others.iter().filter_map(fault).collect()
    }

    fn step(self) -> Option<SequenceStep> {
        let JobLoad { pause, steady, .. } = self.members.first()?.job;
        let names: Vec<&str> = self.members.iter().map(|member| member.label.as_str()).collect();
        let label = joined_names(&names);
        let dimensions = self.dimensions();
        let loads = self.members.into_iter().map(|member| NamedLoad {
            name: member.label,
            load: for_all_threads(member.job.load, member.job.threads),
        });
        let step = SequenceStep::at_once(label, loads.collect())?;
        Some(SequenceStep { pause, steady, dimensions, ..step })
    }

    /// Returns the dimensions of the step, with the values of all jobs where they differ.
    fn dimensions(&self) -> Vec<(String, String)> {
        let Some(first) = self.members.first() else { return Vec::new() };
        let mut dimensions = Vec::new();
        for (at, (name, _)) in first.job.dimensions.iter().enumerate() {
            let of_members = self.members.iter().filter_map(|member| member.job.dimensions.get(at));
            let mut values: Vec<&str> = of_members.map(|(_, value)| value.as_str()).collect();
            if values.iter().all(|value| *value == values[0]) {
                values.truncate(1);
            }
            dimensions.push((name.clone(), values.join(" + ")));
        }
        dimensions
    }
}

/// Returns the names of concurrent jobs as one label.
pub(crate) fn joined_names(names: &[&str]) -> String {
    match names.len() {
        0..=NAMED_MAX => names.join(" + "),
        all => format!("{} + {} more", names[..NAMED_MAX].join(" + "), all - NAMED_MAX),
    }
}

/// Returns the load of all threads together: in fio each has its own limits and pace.
fn for_all_threads(load: SequenceLoad, threads: u32) -> SequenceLoad {
    let times = u64::from(threads);
    let amount = |amount: Amount| match amount {
        Amount::Bytes(bytes) => Amount::Bytes(Bytes(bytes.0.saturating_mul(times))),
        share => share,
    };
    let pace = |pace: Pace| match pace {
        Pace::Closed => Pace::Closed,
        Pace::Fixed { ios, per } => Pace::Fixed { ios: ios.saturating_mul(times), per },
        Pace::Poisson { ios, per } => Pace::Poisson { ios: ios.saturating_mul(times), per },
        Pace::Burst { ios, delay } => Pace::Burst { ios: ios.saturating_mul(times), delay },
        // fio's jobs have none.
        Pace::Empirical(_) | Pace::ByStream(_) => pace,
    };
    let until = SequenceEnd {
        time: load.until.time,
        bytes: load.until.bytes.map(amount),
        ios: load.until.ios.map(|ios| ios.saturating_mul(times)),
        laps: load.until.laps.map(|laps| laps.saturating_mul(times)),
    };
    SequenceLoad {
        demand: Demand::new(threads, load.demand.depth),
        pace: pace(load.pace.clone()),
        until,
        ..load
    }
}
