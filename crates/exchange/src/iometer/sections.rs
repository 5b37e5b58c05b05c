//! The sections of a configuration and their keys: from 1998 to 1.1.0, in Iometer's order.

use super::access_specs::{read_named_spec, read_unnamed_specs, write_specs};
use super::config::{
    AccessSpec, AssignedSpec, IometerConfig, IometerManager, IometerTarget, IometerWorker,
    LineNumber, ManagerName, TargetDefaults, TestSetup, WorkerCount,
};
use super::grammar::{KeyBlock, KeyEntry, LineWriter};
use super::lines::{KeyLine, KeyedLines, ValueLine};
use super::values::ValueText;
use crate::parse_error::ParseError;
use steadfast_domain::sequence::SequenceRemark;

/// Returns the entry for a key, in one or several forms, whose value fills one field.
macro_rules! field {
    ([$($form:literal),+], $record:ident.$field:ident, $name:literal) => {
        KeyEntry::value(
            &[$($form),+],
            |record: &mut $record, value| {
                record.$field = Some(value.parse($name)?);
                Ok(())
            },
            |record| record.$field.as_ref().map(ValueText::text),
        )
    };
    ($form:literal, $record:ident.$field:ident, $name:literal) => {
        field!([$form], $record.$field, $name)
    };
}

const CYCLING: &[&str] = &["start", "step", "step type"];

static SETUP: KeyBlock<TestSetup> = KeyBlock {
    name: "TEST SETUP",
    end: "END test setup",
    entries: &[
        field!("Test Description", TestSetup.description, "the description"),
        field!("Run Time", TestSetup.run_time, "the run time")
            .columns(&["hours", "minutes", "seconds"]),
        field!("Ramp Up Time (s)", TestSetup.ramp_s, "ramp up time").starting("Ramp Up Time"),
        // Until 1998, with 0 for one worker per processor.
        KeyEntry::value(
            &["Default Workers to Spawn"],
            |setup, value| {
                let spawn = value.parse("the number of workers")?;
                let is_open = spawn == WorkerCount::Count(0);
                setup.disk_workers = Some(if is_open { WorkerCount::Processors } else { spawn });
                Ok(())
            },
            |_| None,
        ),
        field!("Default Disk Workers to Spawn", TestSetup.disk_workers, "the number of workers"),
        field!(
            "Default Network Workers to Spawn", TestSetup.network_workers, "the number of workers"
        ),
        field!("Record Results", TestSetup.record, "the rows"),
        field!("Worker Cycling", TestSetup.worker_cycling, "the cycling").columns(CYCLING),
        field!("Disk Cycling", TestSetup.disk_cycling, "the cycling").columns(CYCLING),
        field!("Queue Depth Cycling", TestSetup.depth_cycling, "the cycling")
            .columns(&["start", "end", "step", "step type"]),
        field!("Test Type", TestSetup.test_type, "the test type"),
    ],
};

/// The section has no effect on measurements: its keys are checked, its values ignored.
static DISPLAY: KeyBlock<()> = KeyBlock {
    name: "RESULTS DISPLAY",
    end: "END results display",
    entries: &[
        ignored(&["Update Frequency"]),
        ignored(&["Record Last Update Results"]),
        ignored(&["Bar chart "]),
    ],
};

/// Returns the entry of the keys with this start.
const fn ignored(start: &'static [&'static str]) -> KeyEntry<()> {
    KeyEntry::value(start, |(), _| Ok(()), |()| None).starting(start[0])
}

/// Key of a named access specification.
pub(super) const SPEC: &str = "Access specification name,default assignment";

static SPECS: KeyBlock<Vec<AccessSpec>> = KeyBlock {
    name: "ACCESS SPECIFICATIONS",
    end: "END access specifications",
    entries: &[KeyEntry::lines(
        &[SPEC],
        true,
        |specs, key, lines| read_named_spec(specs, key, lines, SPECS.name),
        |specs, key, out| write_specs(specs, key, out),
    )],
};

static MANAGERS: KeyBlock<Vec<IometerManager>> = KeyBlock {
    name: "MANAGER LIST",
    end: "END manager list",
    entries: &[KeyEntry::lines(
        &["Manager ID, manager name"],
        true,
        |managers, key, lines| MANAGER.read_item(managers, key, lines, new_manager),
        |managers, key, out| {
            for manager in managers {
                out.pair(key, &ManagerName { id: manager.id, name: manager.name.clone() });
                MANAGER.write(manager, out);
            }
        },
    )],
};

fn new_manager(value: &ValueLine) -> Result<IometerManager, ParseError> {
    let ManagerName { id, name } = value.parse("the manager")?;
    Ok(IometerManager {
        id,
        name,
        address: None,
        workers: Vec::new(),
        line: LineNumber(value.line),
    })
}

static MANAGER: KeyBlock<IometerManager> = KeyBlock {
    name: "a manager",
    end: "End manager",
    entries: &[
        field!("Manager network address", IometerManager.address, "the address"),
        KeyEntry::lines(
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

fn new_worker(value: &ValueLine) -> Result<IometerWorker, ParseError> {
    Ok(IometerWorker::disk(&value.text, LineNumber(value.line)))
}

static WORKER: KeyBlock<IometerWorker> = KeyBlock {
    name: "a worker",
    end: "End worker",
    entries: &[
        KeyEntry::value(
            &["Worker type"],
            |worker: &mut IometerWorker, value| {
                worker.kind = value.parse("the type")?;
                Ok(())
            },
            |worker| Some(worker.kind.text()),
        )
        .required(),
        KeyEntry::lines(
            &["Default target settings for worker"],
            false,
            |worker, key, lines| read_part(&mut worker.defaults, &DEFAULTS, key.line, lines),
            |worker, key, out| write_part(&worker.defaults, &DEFAULTS, key, out),
        ),
        KeyEntry::lines(&["Assigned access specs"], false, read_assigned, write_assigned),
        KeyEntry::lines(
            &["Target assignments"],
            false,
            |worker, key, lines| read_part(&mut worker.targets, &TARGETS, key.line, lines),
            |worker, key, out| write_part(&worker.targets, &TARGETS, key, out),
        ),
    ],
};

static DEFAULTS: KeyBlock<TargetDefaults> = KeyBlock {
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
            TargetDefaults.outstanding,
            "the outstanding I/Os"
        ),
        field!(
            [
                "Disk maximum size,starting sector",
                // 1.1.0
                "Disk maximum size,starting sector,Data pattern"
            ],
            TargetDefaults.disk,
            "the disk area"
        ),
        field!("Local network interface", TargetDefaults.local_interface, "the interface"),
        field!("VI outstanding IOs", TargetDefaults.vi_outstanding, "outstanding I/Os"),
    ],
};

const END_ASSIGNED: &str = "End assigned access specs";

fn read_assigned(
    worker: &mut IometerWorker,
    _: &KeyLine,
    lines: &mut KeyedLines<'_>,
) -> Result<(), ParseError> {
    let mut names = Vec::new();
    while let Some(name) = lines.next_value() {
        names.push(AssignedSpec { name: name.text, line: LineNumber(name.line) });
    }
    let block = "the assigned access specs";
    let key = lines.key(block)?;
    if !key.is(END_ASSIGNED) {
        return Err(key.unknown(block));
    }
    worker.specs = Some(names);
    Ok(())
}

fn write_assigned(worker: &IometerWorker, key: &str, out: &mut LineWriter) {
    let Some(names) = &worker.specs else { return };
    out.key(key);
    names.iter().for_each(|spec| out.value(&spec.name));
    out.key(END_ASSIGNED);
}

const END_TARGET: &str = "End target";

static TARGETS: KeyBlock<Vec<IometerTarget>> = KeyBlock {
    name: "the target assignments",
    end: "End target assignments",
    entries: &[
        KeyEntry::lines(
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
        KeyEntry::lines(
            &[END_TARGET],
            false,
            |targets: &mut Vec<IometerTarget>, key, lines| read_second_end(targets, key, lines),
            |_, _, _| {},
        ),
    ],
};

fn new_target(value: &ValueLine) -> Result<IometerTarget, ParseError> {
    Ok(IometerTarget::disk(&value.text))
}

fn read_second_end(
    targets: &[IometerTarget],
    key: &KeyLine,
    lines: &mut KeyedLines<'_>,
) -> Result<(), ParseError> {
    if targets.is_empty() {
        return Err(key.unknown(TARGETS.name));
    }
    let text = "a second 'End target of the same target is ignored";
    lines.remarks.push(SequenceRemark::at(key.line, text));
    Ok(())
}

static TARGET: KeyBlock<IometerTarget> = KeyBlock {
    name: "a target",
    end: END_TARGET,
    entries: &[
        KeyEntry::value(
            &["Target type"],
            |target: &mut IometerTarget, value| {
                target.kind = value.parse("the type")?;
                Ok(())
            },
            |target| Some(target.kind.text()),
        )
        .required(),
        field!("Target manager ID, manager name", IometerTarget.manager, "the target's manager"),
    ],
};

/// Reads a block without a value of its own into a field.
fn read_part<T: Default>(
    field: &mut Option<T>,
    block: &KeyBlock<T>,
    line: u64,
    lines: &mut KeyedLines<'_>,
) -> Result<(), ParseError> {
    let mut record = T::default();
    block.read(&mut record, &ValueLine { line, text: String::new() }, lines)?;
    *field = Some(record);
    Ok(())
}

fn write_part<T>(field: &Option<T>, block: &KeyBlock<T>, key: &str, out: &mut LineWriter) {
    if let Some(record) = field {
        out.key(key);
        block.write(record, out);
    }
}

pub(super) struct ConfigSection {
    /// Name in the heading.
    pub(super) name: &'static str,
    /// Reads the section after its heading, which is on the given line.
    pub(super) read: fn(&mut IometerConfig, u64, &mut KeyedLines<'_>) -> Result<(), ParseError>,
    /// Writes the section, if the configuration has it.
    pub(super) write: fn(&IometerConfig, &mut LineWriter),
}

macro_rules! section {
    ($block:ident, $field:ident, $read:expr) => {
        ConfigSection {
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
        section!($block, $field, |config: &mut IometerConfig, line, lines| {
            read_part(&mut config.$field, &$block, line, lines)
        })
    };
}

/// The sections, in the order in which they are written.
pub(super) static SECTIONS: [ConfigSection; 4] = [
    section!(SETUP, setup),
    ConfigSection {
        name: DISPLAY.name,
        read: |_, line, lines| read_part(&mut None, &DISPLAY, line, lines),
        write: |_, _| (),
    },
    section!(SPECS, specs, read_specs),
    section!(MANAGERS, managers),
];

/// Reads access specifications with names or, before 1998.05.21, without. The keys decide: files of
/// one version exist in both forms.
fn read_specs(
    config: &mut IometerConfig,
    line: u64,
    lines: &mut KeyedLines<'_>,
) -> Result<(), ParseError> {
    if config.version.has_named_specs() || lines.peek_key().is_some_and(|key| key.is(SPEC)) {
        return read_part(&mut config.specs, &SPECS, line, lines);
    }
    config.specs = Some(read_unnamed_specs(lines)?);
    Ok(())
}

/// Returns true if a value follows the key, in any block.
pub(super) fn has_value(key: &KeyLine) -> bool {
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
