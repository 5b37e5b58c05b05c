//! An Iometer configuration planned for a target.

use crate::cli::iometer::IometerArguments;
use crate::commands::other_tools;
use crate::recognize_file::expect;
use std::path::Path;
use steadfast_domain::sequence::StepRole;
use steadfast_domain::{Op, Order, Sequence, SequenceStep};
use steadfast_exchange::identify::FileKind;
use steadfast_exchange::iometer::{
    self, AccessLine, AccessSpec, ActiveWorker, Assignment, DiskArea, DiskChoice, IometerConfig,
    IometerTest, IometerVersion, LineNumber, PlanOptions, TestPlan, TestSetup,
};

/// A configuration planned for a target.
pub struct PlannedConfig {
    /// Content of the file.
    pub config: IometerConfig,
    /// Planned steps and the tests behind them.
    pub plan: TestPlan,
}

/// Properties of a target on which the plan of a configuration depends.
#[derive(Clone, Copy)]
pub struct ConfigTarget {
    /// Logical sector size in bytes.
    pub sector: u64,
    /// True if the target must be written before it is read.
    pub prepare: bool,
}

impl PlannedConfig {
    /// Plans the I/Os to one disk of the file; to all disks if `None`.
    pub fn new(
        arguments: &IometerArguments,
        file: &Path,
        target: ConfigTarget,
        disk: Option<DiskChoice<'_>>,
    ) -> anyhow::Result<Self> {
        let bytes = other_tools::read(file)?;
        expect(file, &bytes, "a configuration of Iometer", &[FileKind::IometerConfig])?;
        let refused = |why| other_tools::refused(file, &[why]);
        let reading = iometer::read(&bytes).map_err(refused)?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let ConfigTarget { sector, prepare } = target;
        let options = PlanOptions {
            processors: u32::try_from(processors).unwrap_or(1),
            sector,
            time: arguments.time,
            disk,
            prepare,
            own_pattern: arguments.front.data_pattern.is_some(),
        };
        let mut plan = iometer::plan(&reading.config, reading.remarks, options).map_err(refused)?;
        plan.sequence.source = Some(other_tools::source(file, &bytes));
        Ok(PlannedConfig { config: reading.config, plan })
    }

    /// Returns the disks that the tests use, in order of first use.
    pub fn disks(&self) -> Vec<String> {
        let mut disks: Vec<String> = Vec::new();
        let active = self.plan.tests.iter().flat_map(|test| &test.active);
        for name in active.flat_map(|active| &active.targets) {
            if !disks.iter().any(|known| iometer::is_same_disk(known, name)) {
                disks.push(name.clone());
            }
        }
        disks
    }
}

/// Presents the Viking procedure as a configuration of Iometer 2006, so that its results can be
/// written. Each corner is an access specification, before and after preconditioning.
pub fn for_viking(sequence: &Sequence, disk: &str) -> PlannedConfig {
    let mut specs: Vec<AccessSpec> = Vec::new();
    let mut tests = Vec::new();
    for step in sequence.steps.iter().filter(|step| step.role == StepRole::Measure) {
        let name = step.label.rsplit_once(' ').map_or(step.label.as_str(), |(corner, _)| corner);
        let access = specs.iter().position(|spec| spec.name == name).unwrap_or_else(|| {
            specs.push(access_spec(name, step));
            specs.len() - 1
        });
        let active = ActiveWorker {
            index: 0,
            manager: 0,
            manager_name: "localhost".into(),
            worker: "Worker 1".into(),
            line: 0,
            spec: name.to_owned(),
            targets: vec![disk.to_owned()],
            depth: step.load.demand.depth,
            area: DiskArea::default(),
            connection_rate: false,
        };
        tests.push(IometerTest { access, active: vec![active] });
    }
    let setup = TestSetup { description: Some(sequence.title.clone()), ..TestSetup::default() };
    let config = IometerConfig {
        version: IometerVersion::of_2006(),
        setup: Some(setup),
        specs: Some(specs),
        managers: None,
    };
    PlannedConfig { config, plan: TestPlan { sequence: sequence.clone(), tests } }
}

fn access_spec(name: &str, step: &SequenceStep) -> AccessSpec {
    let mut lines = Vec::new();
    for stream in &step.load.streams {
        let reads = if stream.op == Op::Read { 100 } else { 0 };
        let random = if stream.order == Order::Random { 100 } else { 0 };
        let align = stream.alignment().0;
        lines.push(AccessLine { align, ..AccessLine::plain(stream.size.0, reads, random) });
    }
    AccessSpec { name: name.to_owned(), assignment: Assignment::Nobody, lines, line: LineNumber(0) }
}
