//! The sections of a configuration and their keys: from 1998 to 1.1.0, in Iometer's order.

use super::config::{
    AccessSpec, AssignedSpec, Bar, BarSubject, Config, Defaults, Display, Line, Manager, Setup,
    Spawn, Target, Worker, WorkerKind,
};
use super::grammar::{Block, Entry, Output};
use super::lines::{Key, Lines, Value};
use super::specs::{read_named_spec, read_unnamed_specs, write_specs};
use super::values::Part;
use crate::parse_error::ParseError;
use steadfast_domain::sequence::SequenceRemark;

/// Returns the entry for a key, in one or several forms, whose value fills one field.
macro_rules! field {
    ([$($form:literal),+], $record:ident.$field:ident, $name:literal) => {
        Entry::value(
            &[$($form),+],
            |record: &mut $record, value| {
                record.$field = Some(value.parse($name)?);
                Ok(())
            },
            |record| record.$field.as_ref().map(Part::text),
        )
    };
    ($form:literal, $record:ident.$field:ident, $name:literal) => {
        field!([$form], $record.$field, $name)
    };
}

const CYCLING: &[&str] = &["start", "step", "step type"];

static SETUP: Block<Setup> = Block {
    name: "TEST SETUP",
    end: "END test setup",
    entries: &[
        field!("Test Description", Setup.description, "the description"),
        field!("Run Time", Setup.run_time, "the run time")
            .columns(&["hours", "minutes", "seconds"]),
        field!("Ramp Up Time (s)", Setup.ramp_s, "ramp up time").starting("Ramp Up Time"),
        // Until 1998, with 0 for one worker per processor.
        Entry::value(
            &["Default Workers to Spawn"],
            |setup, value| {
                let spawn = value.parse("the number of workers")?;
                let is_open = spawn == Spawn::Count(0);
                setup.disk_workers = Some(if is_open { Spawn::Processors } else { spawn });
                Ok(())
            },
            |_| None,
        ),
        field!("Default Disk Workers to Spawn", Setup.disk_workers, "the number of workers"),
        field!("Default Network Workers to Spawn", Setup.network_workers, "the number of workers"),
        field!("Record Results", Setup.record, "the rows"),
        field!("Worker Cycling", Setup.worker_cycling, "the cycling").columns(CYCLING),
        field!("Disk Cycling", Setup.disk_cycling, "the cycling").columns(CYCLING),
        field!("Queue Depth Cycling", Setup.depth_cycling, "the cycling").columns(&[
            "start",
            "end",
            "step",
            "step type",
        ]),
        field!("Test Type", Setup.test_type, "the test type"),
    ],
};

static DISPLAY: Block<Display> = Block {
    name: "RESULTS DISPLAY",
    end: "END results display",
    entries: &[
        field!(
            [
                "Update Frequency,Update Type",
                // 1.1.0
                "Record Last Update Results,Update Frequency,Update Type"
            ],
            Display.update,
            "the update"
        ),
        Entry::lines(&[BAR_CHART], true, read_bar, write_bars).starting(BAR_CHART),
    ],
};

/// Start of the keys of bar charts. The number of the chart and the setting follow.
const BAR_CHART: &str = "Bar chart ";

fn read_bar(display: &mut Display, key: &Key, lines: &mut Lines<'_>) -> Result<(), ParseError> {
    let value = lines.value(key);
    let rest = key.rest(BAR_CHART).unwrap_or_default();
    let (chart, setting) = rest.split_once(' ').unwrap_or((rest, ""));
    let chart: u8 = chart.parse().map_err(|_| key.unknown(DISPLAY.name))?;
    if !(1..=6).contains(&chart) {
        return Err(ParseError::at(key.line, "bar charts are numbered from 1 to 6"));
    }
    let subject = match setting {
        "statistic" => BarSubject::Statistic(value.text),
        "manager id,manager name" => {
            let (id, name) = value.parse("the manager")?;
            BarSubject::Manager(id, name)
        }
        "worker id,worker name" => {
            let (id, name) = value.parse("the worker")?;
            BarSubject::Worker(id, name)
        }
        _ => return Err(key.unknown(DISPLAY.name)),
    };
    display.bars.push(Bar { chart, subject });
    Ok(())
}

fn write_bars(display: &Display, key: &str, out: &mut Output) {
    for Bar { chart, subject } in &display.bars {
        let (setting, value) = match subject {
            BarSubject::Statistic(name) => ("statistic", name.clone()),
            BarSubject::Manager(id, name) => ("manager ID, manager name", format!("{id},{name}")),
            BarSubject::Worker(id, name) => ("worker ID, worker name", format!("{id},{name}")),
        };
        out.pair(&format!("{key}{chart} {setting}"), &value);
    }
}

/// Key of a named access specification.
pub(super) const SPEC: &str = "Access specification name,default assignment";

static SPECS: Block<Vec<AccessSpec>> = Block {
    name: "ACCESS SPECIFICATIONS",
    end: "END access specifications",
    entries: &[Entry::lines(
        &[SPEC],
        true,
        |specs, key, lines| read_named_spec(specs, key, lines, SPECS.name),
        |specs, key, out| write_specs(specs, key, out),
    )],
};

static MANAGERS: Block<Vec<Manager>> = Block {
    name: "MANAGER LIST",
    end: "END manager list",
    entries: &[Entry::lines(
        &["Manager ID, manager name"],
        true,
        |managers, key, lines| MANAGER.read_item(managers, key, lines, new_manager),
        |managers, key, out| {
            for manager in managers {
                out.pair(key, &(manager.id, manager.name.clone()));
                MANAGER.write(manager, out);
            }
        },
    )],
};

fn new_manager(value: &Value) -> Result<Manager, ParseError> {
    let (id, name) = value.parse("the manager")?;
    Ok(Manager { id, name, address: None, workers: Vec::new(), line: Line(value.line) })
}

static MANAGER: Block<Manager> = Block {
    name: "a manager",
    end: "End manager",
    entries: &[
        field!("Manager network address", Manager.address, "the address"),
        Entry::lines(
            &["Worker"],
            true,
            |manager, key, lines| WORKER.read_item(&mut manager.workers, key, lines, new_worker),
            |manager, key, out| {
                for worker in &manager.workers {
                    out.pair(key, &worker.name);
                    WORKER.write(worker, out);
                }
            },
        ),
    ],
};

fn new_worker(value: &Value) -> Result<Worker, ParseError> {
    Ok(Worker {
        name: value.text.clone(),
        kind: WorkerKind::Disk,
        defaults: None,
        specs: None,
        targets: None,
        line: Line(value.line),
    })
}

static WORKER: Block<Worker> = Block {
    name: "a worker",
    end: "End worker",
    entries: &[
        Entry::value(
            &["Worker type"],
            |worker: &mut Worker, value| {
                worker.kind = value.parse("the type")?;
                Ok(())
            },
            |worker| Some(worker.kind.text()),
        )
        .required(),
        Entry::lines(
            &["Default target settings for worker"],
            false,
            |worker, key, lines| read_part(&mut worker.defaults, &DEFAULTS, key.line, lines),
            |worker, key, out| write_part(&worker.defaults, &DEFAULTS, key, out),
        ),
        Entry::lines(&["Assigned access specs"], false, read_assigned, write_assigned),
        Entry::lines(
            &["Target assignments"],
            false,
            |worker, key, lines| read_part(&mut worker.targets, &TARGETS, key.line, lines),
            |worker, key, out| write_part(&worker.targets, &TARGETS, key, out),
        ),
    ],
};

static DEFAULTS: Block<Defaults> = Block {
    name: "the default target settings of a worker",
    end: "End default target settings for worker",
    entries: &[
        field!(
            [
                "Number of outstanding IOs,test connection rate,transactions per connection",
                // 1.1.0
                "Number of outstanding IOs,test connection rate,transactions per connection,\
                 use fixed seed,fixed seed value"
            ],
            Defaults.outstanding,
            "the outstanding I/Os"
        ),
        field!(
            [
                "Disk maximum size,starting sector",
                // 1.1.0
                "Disk maximum size,starting sector,Data pattern"
            ],
            Defaults.disk,
            "the disk area"
        ),
        field!("Local network interface", Defaults.local_interface, "the interface"),
        field!("VI outstanding IOs", Defaults.vi_outstanding, "outstanding I/Os"),
    ],
};

const END_ASSIGNED: &str = "End assigned access specs";

fn read_assigned(worker: &mut Worker, _: &Key, lines: &mut Lines<'_>) -> Result<(), ParseError> {
    let mut names = Vec::new();
    while let Some(name) = lines.next_value() {
        names.push(AssignedSpec { name: name.text, line: Line(name.line) });
    }
    let block = "the assigned access specs";
    let key = lines.key(block)?;
    if !key.is(END_ASSIGNED) {
        return Err(key.unknown(block));
    }
    worker.specs = Some(names);
    Ok(())
}

fn write_assigned(worker: &Worker, key: &str, out: &mut Output) {
    let Some(names) = &worker.specs else { return };
    out.key(key);
    names.iter().for_each(|spec| out.value(&spec.name));
    out.key(END_ASSIGNED);
}

const END_TARGET: &str = "End target";

static TARGETS: Block<Vec<Target>> = Block {
    name: "the target assignments",
    end: "End target assignments",
    entries: &[
        Entry::lines(
            &["Target"],
            true,
            |targets, key, lines| TARGET.read_item(targets, key, lines, new_target),
            |targets, key, out| {
                for target in targets {
                    out.pair(key, &target.name);
                    TARGET.write(target, out);
                }
            },
        ),
        // Scripts that write configurations double this line; it can mean nothing else.
        Entry::lines(&[END_TARGET], false, read_second_end, |_, _, _| {}),
    ],
};

fn new_target(value: &Value) -> Result<Target, ParseError> {
    Ok(Target { name: value.text.clone(), kind: WorkerKind::Disk, manager: None })
}

fn read_second_end(
    targets: &mut Vec<Target>,
    key: &Key,
    lines: &mut Lines<'_>,
) -> Result<(), ParseError> {
    if targets.is_empty() {
        return Err(key.unknown(TARGETS.name));
    }
    let text = "a second 'End target of the same target is ignored";
    lines.remarks.push(SequenceRemark::at(key.line, text));
    Ok(())
}

static TARGET: Block<Target> = Block {
    name: "a target",
    end: END_TARGET,
    entries: &[
        Entry::value(
            &["Target type"],
            |target: &mut Target, value| {
                target.kind = value.parse("the type")?;
                Ok(())
            },
            |target| Some(target.kind.text()),
        )
        .required(),
        field!("Target manager ID, manager name", Target.manager, "the target's manager"),
    ],
};

/// Reads a block without a value of its own into a field.
fn read_part<T: Default>(
    field: &mut Option<T>,
    block: &Block<T>,
    line: u64,
    lines: &mut Lines<'_>,
) -> Result<(), ParseError> {
    let mut record = T::default();
    block.read(&mut record, &Value { line, text: String::new() }, lines)?;
    *field = Some(record);
    Ok(())
}

fn write_part<T>(field: &Option<T>, block: &Block<T>, key: &str, out: &mut Output) {
    if let Some(record) = field {
        out.key(key);
        block.write(record, out);
    }
}

/// A section of a configuration.
pub(super) struct Section {
    /// Name in the heading.
    pub(super) name: &'static str,
    /// Reads the section after its heading, which is on the given line.
    pub(super) read: fn(&mut Config, u64, &mut Lines<'_>) -> Result<(), ParseError>,
    /// Writes the section, if the configuration has it.
    pub(super) write: fn(&Config, &mut Output),
}

macro_rules! section {
    ($block:ident, $field:ident, $read:expr) => {
        Section {
            name: $block.name,
            read: |config, line, lines| {
                if config.$field.is_some() {
                    let name = $block.name.to_lowercase();
                    return Err(ParseError::at(line, format!("a second section '{name}'")));
                }
                $read(config, line, lines)
            },
            write: |config, out| {
                if let Some(record) = &config.$field {
                    out.ruler($block.name);
                    $block.write(record, out);
                }
            },
        }
    };
    ($block:ident, $field:ident) => {
        section!($block, $field, |config: &mut Config, line, lines| {
            read_part(&mut config.$field, &$block, line, lines)
        })
    };
}

/// The sections, in the order in which they are written.
pub(super) static SECTIONS: [Section; 4] = [
    section!(SETUP, setup),
    section!(DISPLAY, display),
    section!(SPECS, specs, read_specs),
    section!(MANAGERS, managers),
];

/// Reads access specifications with names or, before 1998.05.21, without. The keys decide: files of
/// one version exist in both forms.
fn read_specs(config: &mut Config, line: u64, lines: &mut Lines<'_>) -> Result<(), ParseError> {
    if config.version.has_named_specs() || lines.peek_key().is_some_and(|key| key.is(SPEC)) {
        return read_part(&mut config.specs, &SPECS, line, lines);
    }
    config.specs = Some(read_unnamed_specs(lines)?);
    Ok(())
}

/// Returns true if a value follows the key, in any block.
pub(super) fn has_value(key: &Key) -> bool {
    SETUP.has_value(key)
        || DISPLAY.has_value(key)
        || SPECS.has_value(key)
        || MANAGERS.has_value(key)
        || MANAGER.has_value(key)
        || WORKER.has_value(key)
        || DEFAULTS.has_value(key)
        || TARGETS.has_value(key)
        || TARGET.has_value(key)
}
