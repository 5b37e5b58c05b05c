//! A job file as a sequence: jobs one after the other, and those that run at the same time.

use super::load::{Job, job};
use super::options::Options;
use super::text::JobFile;
use crate::misread::Misread;
use steadfast_domain::sequence::{Amount, SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Bytes, Demand, Sequence, SequenceLoad, SequenceStep};

/// What fio's command line would say beside the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Assumed<'a> {
    /// The engine of jobs that name none.
    pub ioengine: Option<&'a str>,
}

/// Jobs that run at the same time.
struct Group {
    label: String,
    line: u64,
    job: Job,
    /// A job of another load, which cannot run beside it.
    other: Option<String>,
}

/// What of a job file is applied: one step for each job, or for several alike that run at
/// the same time. File, title and version are left to be filled in.
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
        match groups.last_mut().filter(|_| !waits) {
            None => groups.push(Group { label, line, job: parsed, other: None }),
            Some(group) => group.join(label, parsed),
        }
    }
    misread.extend(groups.iter().filter_map(Group::fault));
    if !misread.is_empty() {
        misread.sort_by_key(|what| what.line);
        misread.dedup();
        return Err(misread);
    }
    let steps = groups.into_iter().map(Group::step).collect();
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

impl Group {
    fn join(&mut self, label: String, job: Job) {
        let alike = self.job.load == job.load && self.job.pause == job.pause;
        if alike {
            self.job.threads = self.job.threads.saturating_add(job.threads);
            self.label = format!("{} + {label}", self.label);
        } else {
            self.other.get_or_insert(label);
        }
    }

    fn fault(&self) -> Option<Misread> {
        let other = self.other.as_ref()?;
        Some(Misread::at(
            self.line,
            format!(
                "[{}] and [{other}] run at the same time with different loads, and one load at a \
                 time is applied to a target; set stonewall in [{other}], or run them apart",
                self.label
            ),
        ))
    }

    fn step(self) -> SequenceStep {
        let Job { load, threads, pause, dimensions } = self.job;
        let load = of_all(load, threads);
        SequenceStep { pause, dimensions, ..SequenceStep::new(self.label, load) }
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
    let mut streams = load.streams;
    for stream in &mut streams {
        stream.pace = stream.pace.map(pace);
    }
    SequenceLoad {
        streams,
        demand: Demand::new(threads, load.demand.depth),
        pace: pace(load.pace),
        until,
        ..load
    }
}
