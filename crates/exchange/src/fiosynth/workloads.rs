//! A suite as a sequence: its templates with their variables set, cycle by cycle.

use super::suite::{FioSynthSuite, SuiteWorkload};
use crate::fio::{JobFile, JobFileContext, TargetFacts, sequence as job_sequence};
use crate::parse_error::ParseError;
use std::collections::BTreeMap;
use steadfast_domain::sequence::{SequenceRemark, StepRole};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Bytes, Sequence};

/// Size of the drive, which scales a suite.
#[derive(Debug, Clone, Copy)]
pub struct DriveScale {
    /// Capacity in bytes.
    pub capacity: Bytes,
    /// A capacity in TB that the user names instead (FioSynth's `-c`).
    pub factor: Option<f64>,
}

/// Source of templates.
pub trait TemplateSource {
    /// Returns the bytes of a template.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn template(&mut self, name: &str) -> Result<Vec<u8>, String>;
    /// Returns a variable of the environment, for a workload that has no value of its own.
    fn environment(&self, _name: &str) -> Option<String> {
        None
    }
}

/// Variables that FioSynth multiplies by the capacity in TB, and those that it divides.
const SCALED_UP: [&str; 2] = ["RRATE", "DEPTH"];
const SCALED_DOWN: [&str; 5] = ["W1THINK", "W2THINK", "W3THINK", "W4THINK", "W5THINK"];

const ENGINE: &str = "io_uring";

/// The job that FioSynth adds to a template for each device, where the template has none.
const DEVICE_JOB: &[u8] = b"\n[device]\nfilename=/dev/target\n";

/// Maximum number of steps, more than a suite has.
const STEPS_MAX: usize = 10_000;

/// Converts a suite into a sequence. The caller fills in file and title.
///
/// # Errors
/// Returns every part of the suite and its templates that cannot be applied.
pub fn sequence(
    suite: &FioSynthSuite,
    drive: DriveScale,
    templates: &mut dyn TemplateSource,
) -> Result<Sequence, Vec<ParseError>> {
    // Each workload is a step at least: a bound that needs no template.
    let prepared = suite.precondition_cycles.saturating_mul(suite.pre.len() as u64);
    let measured = suite.run_cycles.saturating_mul(suite.def.len() as u64);
    let preparing_cycles = if suite.first_cycle_only { 1 } else { suite.run_cycles };
    if prepared.saturating_mul(preparing_cycles).saturating_add(measured) > STEPS_MAX as u64 {
        return Err(vec![too_many_steps()]);
    }
    let mut all = SuiteSteps {
        suite,
        drive,
        sequence: Sequence { tool: "fiosynth".into(), ..Sequence::default() },
        labels: BTreeMap::new(),
        errors: Vec::new(),
        refused: Vec::new(),
    };
    for name in &suite.unknown {
        all.remark(format!("'{name}' is not known and is left out", name = excerpt(name)));
    }
    for name in &suite.repeated {
        let name = excerpt(name);
        all.remark(format!("'{name}' is there more than once: the last counts, as in FioSynth"));
    }
    for cycle in 1..=suite.run_cycles {
        let name = |alias: &str| match suite.run_cycles {
            1 => alias.to_owned(),
            _ => format!("{alias} run {cycle}"),
        };
        if cycle == 1 || !suite.first_cycle_only {
            for _ in 0..suite.precondition_cycles {
                for workload in &suite.pre {
                    all.add(workload, &name(&workload.alias), StepRole::Prepare, templates);
                }
            }
        }
        for workload in &suite.def {
            all.add(workload, &name(&workload.alias), StepRole::Measure, templates);
        }
    }
    if all.sequence.steps.len() > STEPS_MAX {
        all.errors.push(too_many_steps());
    }
    if !all.errors.is_empty() {
        all.errors.dedup();
        return Err(all.errors);
    }
    Ok(all.sequence)
}

fn too_many_steps() -> ParseError {
    ParseError::whole(format!(
        "it has more than {STEPS_MAX} steps; lower run_cycles or precondition_cycles"
    ))
}

struct SuiteSteps<'s> {
    suite: &'s FioSynthSuite,
    drive: DriveScale,
    sequence: Sequence,
    /// Last number given to each label; the next step of that label gets the one after it.
    labels: BTreeMap<String, u64>,
    errors: Vec<ParseError>,
    /// Templates with errors that were reported.
    refused: Vec<String>,
}

impl SuiteSteps<'_> {
    fn remark(&mut self, text: String) {
        let remark = SequenceRemark::whole(text);
        if !self.sequence.remarks.contains(&remark) {
            self.sequence.remarks.push(remark);
        }
    }

    fn add(
        &mut self,
        workload: &SuiteWorkload,
        name: &str,
        role: StepRole,
        templates: &mut dyn TemplateSource,
    ) {
        if self.refused.contains(&workload.template) || self.sequence.steps.len() > STEPS_MAX {
            return;
        }
        let jobs = match jobs(workload, self.suite, self.drive, templates) {
            Ok(jobs) => jobs,
            Err(errors) => {
                self.refused.push(workload.template.clone());
                let named = |error: ParseError| {
                    ParseError::whole(format!("{}: {error}", workload.template))
                };
                return self.errors.extend(errors.into_iter().map(named));
            }
        };
        for remark in &jobs.remarks {
            self.remark(format!("{}: {remark}", workload.template));
        }
        let several = jobs.steps.len() > 1;
        for mut step in jobs.steps {
            let own = step.label;
            step.label = if several { format!("{name} {own}") } else { name.to_owned() };
            // A preconditioning that is repeated is a step of its own.
            let base = step.label.clone();
            let mut number = self.labels.get(&base).copied().unwrap_or(0);
            while self.labels.contains_key(&step.label) {
                number += 1;
                step.label = format!("{base} #{number}");
            }
            self.labels.insert(step.label.clone(), 1);
            self.labels.insert(base, number.max(1));
            step.role = role;
            if role == StepRole::Measure {
                self.add_limits(workload, &step.label);
            }
            self.sequence.steps.push(step);
        }
    }

    fn add_limits(&mut self, workload: &SuiteWorkload, label: &str) {
        for target in &workload.targets {
            match target.limit(label, capacity_tb(self.drive)) {
                Ok(limit) => self.sequence.limits.push(limit),
                Err(why) => self.remark(why),
            }
        }
    }
}

fn jobs(
    workload: &SuiteWorkload,
    suite: &FioSynthSuite,
    drive: DriveScale,
    templates: &mut dyn TemplateSource,
) -> Result<Sequence, Vec<ParseError>> {
    let mut bytes =
        templates.template(&workload.template).map_err(|why| vec![ParseError::whole(why)])?;
    if !suite.device_in_global || !has_job(&bytes) {
        bytes.extend_from_slice(DEVICE_JOB);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut values = variables(workload, suite, drive);
    let mut remarks = Vec::new();
    for name in names_of_variables(&text) {
        if !values.contains_key(name)
            && let Some(value) = templates.environment(name)
        {
            remarks.push(format!("{name}={} is from the environment", excerpt(&value)));
            values.insert(name.to_owned(), value);
        }
    }
    if text.contains("${OFFSET1}") {
        let drawn = "the regions begin at offset 0; FioSynth draws where the first one begins";
        remarks.push(drawn.to_owned());
    }
    let file = JobFile::read(&bytes, &mut WorkloadVariables { values, templates })?;
    let mut jobs = job_sequence(&file, &TargetFacts::default())?;
    jobs.remarks.extend(remarks.into_iter().map(SequenceRemark::whole));
    Ok(jobs)
}

/// Returns the names of the variables in a template, once per occurrence.
fn names_of_variables(template: &str) -> impl Iterator<Item = &str> {
    let behind = template.split("${").skip(1);
    behind.filter_map(|text| text.split_once('}')).map(|(name, _)| name)
}

/// Returns true if a template has a section for a job; some have options for all jobs only.
fn has_job(template: &[u8]) -> bool {
    let text = String::from_utf8_lossy(template);
    let mut sections = text.lines().filter_map(|line| line.trim().strip_prefix('['));
    let includes = text.lines().any(|line| line.trim_start().starts_with("include "));
    includes || sections.any(|name| !name.starts_with("global"))
}

/// Returns the capacity in TB that scales the suite: the drive's own, or the one that the user names.
fn capacity_tb(drive: DriveScale) -> f64 {
    drive.factor.filter(|tb| *tb > 0.0).unwrap_or(own_tb(drive))
}

/// Returns the drive's capacity in TB, to one decimal and at least 0.1.
fn own_tb(drive: DriveScale) -> f64 {
    (drive.capacity.0 as f64 / 1e12 * 10.0).round().max(1.0) / 10.0
}

/// Number of regions of the templates that hammer a drive.
const REGIONS: u64 = 32;

/// Returns the values of a workload's variables as FioSynth passes them to fio.
fn variables(
    workload: &SuiteWorkload,
    suite: &FioSynthSuite,
    drive: DriveScale,
) -> BTreeMap<String, String> {
    let named = drive.factor.filter(|tb| *tb > 0.0);
    let factor = if suite.scaled { capacity_tb(drive) } else { named.unwrap_or(1.0) };
    let mut values = workload.values.clone();
    let mut scale = |name: &str, times: f64| {
        let number = values.get(name).and_then(|text| text.parse::<f64>().ok());
        // Any other value is left to the job file, which refuses it.
        if let Some(number) = number.filter(|number| number.is_finite() && *number >= 0.0) {
            let scaled = (number * times).trunc().max(1.0);
            values.insert(name.to_owned(), format!("{scaled:.0}"));
        }
    };
    SCALED_UP.iter().for_each(|name| scale(name, factor));
    SCALED_DOWN.iter().for_each(|name| scale(name, 1.0 / factor));
    // An offset lies at the same share of every drive, whatever scales the rates.
    scale("OFFSET2", own_tb(drive));
    values.entry("JOBS".to_owned()).or_insert_with(|| "1".to_owned());
    let increment = (drive.capacity.0 >> 20) / REGIONS;
    let own = [
        ("DEV", "/dev/target".to_owned()),
        ("IOENGINE", ENGINE.to_owned()),
        ("INCREMENT", increment.to_string()),
        ("OFFSET1", "0".to_owned()),
    ];
    values.extend(own.map(|(name, value)| (name.to_owned(), value)));
    values
}

struct WorkloadVariables<'t> {
    values: BTreeMap<String, String>,
    templates: &'t mut dyn TemplateSource,
}

impl JobFileContext for WorkloadVariables<'_> {
    fn include(&mut self, name: &str) -> Result<Vec<u8>, String> {
        self.templates.template(name)
    }
    fn variable(&self, name: &str) -> Result<String, String> {
        self.values.get(name).cloned().ok_or_else(|| {
            format!(
                "give the workload a value of {name} in the suite, under \"values\", or set it in \
                 the environment: {name}=... steadfast fiosynth ..."
            )
        })
    }
}
