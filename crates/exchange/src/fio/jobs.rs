//! A job file as a sequence: jobs one after the other, and those that run at the same time.

use super::load::{Job, job};
use super::options::Options;
use super::text::JobFile;
use crate::misread::Misread;
use steadfast_domain::sequence::{Amount, NamedLoad, SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Bytes, Demand, Op, Sequence, SequenceLoad, SequenceStep};

/// What fio's command line would say beside the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Assumed<'a> {
    /// The engine of jobs that name none.
    pub ioengine: Option<&'a str>,
}

/// Jobs that run at the same time, those of one load together.
struct Group {
    jobs: Vec<Sharing>,
}

/// A job, or several alike.
struct Sharing {
    label: String,
    line: u64,
    job: Job,
}

/// More jobs at once than this are counted in the name of their step, not named.
pub(crate) const NAMED_MAX: usize = 6;

/// More loads at once than a file has.
const AT_ONCE_MAX: usize = 256;

/// What of a job file is applied: one step for each job, or for several that run at the
/// same time. File, title and version are left to be filled in.
///
/// # Errors
/// Everything that cannot be applied, line by line.
pub fn sequence(file: &JobFile, assumed: &Assumed<'_>) -> Result<Sequence, Vec<Misread>> {
    let (mut misread, mut remarks) = (Vec::new(), Vec::new());
    let mut groups: Vec<Group> = Vec::new();
    for section in &file.sections {
        let mut options = Options::of(section);
        let waits = options.flag("stonewall");
        let parsed = job(&mut options, assumed.ioengine);
        let (label, line) = (options.name().to_owned(), options.line());
        misread.append(&mut options.misread);
        for remark in options.remarks {
            keep(&mut remarks, remark);
        }
        let Some(parsed) = parsed else { continue };
        if waits || groups.is_empty() {
            groups.push(Group { jobs: Vec::new() });
        }
        if let Some(group) = groups.last_mut() {
            by_pace(Sharing { label, line, job: parsed })
                .into_iter()
                .for_each(|own| group.join(own));
        }
    }
    misread.extend(groups.iter().flat_map(Group::faults));
    if !misread.is_empty() {
        misread.sort_by_key(|what| what.line);
        misread.dedup();
        return Err(misread);
    }
    let steps = groups.into_iter().filter_map(Group::step).collect();
    let tool = "fio".to_owned();
    let sequence = Sequence { tool, steps, remarks, ..Sequence::default() };
    Ok(sequence.with_distinct_labels())
}

/// A remark of many sections is said of the first of them.
fn keep(remarks: &mut Vec<SequenceRemark>, remark: SequenceRemark) {
    let text = |remark: &SequenceRemark| {
        remark.text.split_once("] ").map_or(remark.text.clone(), |(_, text)| text.to_owned())
    };
    match remarks.iter_mut().find(|kept| text(kept) == text(&remark)) {
        Some(kept) if kept.line != remark.line => {
            // It is of the file, then, and not of one line.
            *kept = SequenceRemark { line: kept.line, text: kept.text.clone() };
        }
        Some(_) => {}
        None => remarks.push(remark),
    }
}

/// A job whose directions have paces of their own is a load of each.
fn by_pace(sharing: Sharing) -> Vec<Sharing> {
    if sharing.job.paces.is_empty() {
        return vec![sharing];
    }
    let direction = |(op, pace): &(Op, Pace)| {
        let mut job = Job { paces: Vec::new(), ..sharing.job.clone() };
        job.load.streams.retain(|stream| stream.op == *op);
        job.load.pace = *pace;
        let name = match op {
            Op::Read => "reads",
            Op::Write => "writes",
            Op::Discard | Op::Flush => "trims",
        };
        Sharing { label: format!("{} {name}", sharing.label), line: sharing.line, job }
    };
    sharing.job.paces.iter().map(direction).collect()
}

impl Group {
    fn join(&mut self, new: Sharing) {
        let alike =
            |old: &&mut Sharing| old.job.load == new.job.load && old.job.pause == new.job.pause;
        match self.jobs.iter_mut().find(alike) {
            Some(old) => {
                old.job.threads = old.job.threads.saturating_add(new.job.threads);
                old.label = format!("{} + {}", old.label, new.label);
            }
            None => self.jobs.push(new),
        }
    }

    /// What keeps its jobs from beginning at one moment.
    fn faults(&self) -> Vec<Misread> {
        let Some((first, others)) = self.jobs.split_first() else { return Vec::new() };
        if others.len() >= AT_ONCE_MAX {
            let what = format!("more than {AT_ONCE_MAX} different loads run at the same time");
            return vec![Misread::at(first.line, what)];
        }
        let fault = |other: &Sharing| {
            let option = if other.job.pause != first.job.pause {
                "startdelay"
            } else if other.job.load.ramp != first.job.load.ramp {
                "ramp_time"
            } else {
                return None;
            };
            let what = format!(
                "[{}]: {option}: it differs from that of [{}], which runs at the same time; such \
                 jobs begin together here: give them the same, or set stonewall",
                other.label, first.label
            );
            Some(Misread::at(other.line, what))
        };
        others.iter().filter_map(fault).collect()
    }

    fn step(self) -> Option<SequenceStep> {
        let pause = self.jobs.first()?.job.pause;
        let names: Vec<&str> = self.jobs.iter().map(|own| own.label.as_str()).collect();
        let label = match names.len() {
            0..=NAMED_MAX => names.join(" + "),
            all => format!("{} + {} more", names[..NAMED_MAX].join(" + "), all - NAMED_MAX),
        };
        let dimensions = self.dimensions();
        let loads = self
            .jobs
            .into_iter()
            .map(|own| NamedLoad { name: own.label, load: of_all(own.job.load, own.job.threads) });
        let step = SequenceStep::at_once(label, loads.collect())?;
        Some(SequenceStep { pause, dimensions, ..step })
    }

    /// What distinguishes the step: of different jobs the values of all.
    fn dimensions(&self) -> Vec<(String, String)> {
        let Some(first) = self.jobs.first() else { return Vec::new() };
        let value = |at: usize, own: &Sharing| own.job.dimensions.get(at).map(|(_, v)| v.clone());
        let all = first.job.dimensions.iter().enumerate().map(|(at, (name, _))| {
            let mut values: Vec<String> =
                self.jobs.iter().filter_map(|own| value(at, own)).collect();
            if values.iter().all(|value| *value == values[0]) {
                values.truncate(1);
            }
            (name.clone(), values.join(" + "))
        });
        all.collect()
    }
}

/// What all threads do together: fio gives every one of them limits and a pace of its own.
fn of_all(load: SequenceLoad, threads: u32) -> SequenceLoad {
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
    };
    let until = SequenceEnd {
        time: load.until.time,
        bytes: load.until.bytes.map(amount),
        ios: load.until.ios.map(|ios| ios.saturating_mul(times)),
        laps: load.until.laps.map(|laps| laps.saturating_mul(times)),
    };
    SequenceLoad {
        demand: Demand::new(threads, load.demand.depth),
        pace: pace(load.pace),
        until,
        ..load
    }
}
