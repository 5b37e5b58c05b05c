//! Parses the section MANAGER LIST: managers, their workers, and the workers' specifications and
//! targets.

use super::config::{
    Assigned, Defaults, DiskArea, FixedSeed, Line, Manager, Outstanding, Target, Worker, WorkerKind,
};
use super::keys;
use super::pairs::{Key, Pairs, Value};
use super::read_display::enabled;
use super::remark::Remark;
use crate::parse_error::ParseError;

const SECTION: &str = "MANAGER LIST";
const WORKER: &str = "a worker";

pub(super) fn managers(
    pairs: &mut Pairs<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<Manager>, ParseError> {
    let mut managers = Vec::new();
    loop {
        let key = pairs.key(SECTION)?;
        if key.ends("manager list") {
            return Ok(managers);
        }
        if !key.is(keys::MANAGER) {
            return Err(key.unknown(SECTION));
        }
        managers.push(manager(pairs, &key, remarks)?);
    }
}

fn manager(
    pairs: &mut Pairs<'_>,
    key: &Key,
    remarks: &mut Vec<Remark>,
) -> Result<Manager, ParseError> {
    let value = pairs.value(key);
    let (id, name) = value.numbered("the manager")?;
    let mut manager =
        Manager { id, name, address: None, workers: Vec::new(), line: Line(value.line) };
    loop {
        let key = pairs.key("a manager")?;
        if key.ends("manager") {
            return Ok(manager);
        }
        if key.is(keys::ADDRESS) {
            manager.address = Some(pairs.value(&key).text);
        } else if key.is(keys::WORKER) {
            let worker = worker(pairs, &key, remarks)?;
            manager.workers.push(worker);
        } else {
            return Err(key.unknown("a manager"));
        }
    }
}

fn worker(
    pairs: &mut Pairs<'_>,
    key: &Key,
    remarks: &mut Vec<Remark>,
) -> Result<Worker, ParseError> {
    let name = pairs.value(key);
    let mut worker = Worker {
        name: name.text,
        kind: WorkerKind::Disk,
        defaults: None,
        specs: None,
        targets: None,
        line: Line(name.line),
    };
    let mut typed = false;
    loop {
        let key = pairs.key(WORKER)?;
        if key.ends("worker") {
            return if typed {
                Ok(worker)
            } else {
                Err(ParseError::at(
                    worker.line.0,
                    format!("worker '{}' has no 'Worker type", worker.name),
                ))
            };
        }
        if key.is(keys::WORKER_TYPE) {
            worker.kind = kind(&pairs.value(&key))?;
            typed = true;
        } else if key.is(keys::DEFAULTS) {
            worker.defaults = Some(defaults(pairs)?);
        } else if key.is(keys::ASSIGNED) {
            worker.specs = Some(assigned(pairs)?);
        } else if key.is(keys::TARGETS) {
            worker.targets = Some(targets(pairs, remarks)?);
        } else {
            return Err(key.unknown(WORKER));
        }
    }
}

fn kind(value: &Value) -> Result<WorkerKind, ParseError> {
    let parts = value.parts();
    match parts.as_slice() {
        [disk] if disk.eq_ignore_ascii_case("DISK") => Ok(WorkerKind::Disk),
        [network, protocol]
            if network.eq_ignore_ascii_case("NETWORK")
                && ["TCP", "VI"].iter().any(|name| protocol.eq_ignore_ascii_case(name)) =>
        {
            Ok(WorkerKind::Network(protocol.to_ascii_uppercase()))
        }
        _ => Err(value.wrong("the type is DISK, NETWORK,TCP or NETWORK,VI")),
    }
}

fn defaults(pairs: &mut Pairs<'_>) -> Result<Defaults, ParseError> {
    let section = "the default target settings of a worker";
    let mut defaults = Defaults::default();
    loop {
        let key = pairs.key(section)?;
        if key.ends(keys::DEFAULTS) {
            return Ok(defaults);
        }
        let value = pairs.value(&key);
        if key.is(keys::OUTSTANDING) || key.is(keys::OUTSTANDING_SEED) {
            defaults.outstanding = Some(outstanding(&value, key.is(keys::OUTSTANDING_SEED))?);
        } else if key.is(keys::DISK_AREA) || key.is(keys::DISK_AREA_PATTERN) {
            defaults.disk = Some(disk_area(&value, key.is(keys::DISK_AREA_PATTERN))?);
        } else if key.is(keys::LOCAL_INTERFACE) {
            defaults.local_interface = Some(value.text);
        } else if key.is(keys::VI_OUTSTANDING) {
            defaults.vi_outstanding = Some(value.number(&value.text, "outstanding I/Os")?);
        } else {
            return Err(key.unknown(section));
        }
    }
}

fn outstanding(value: &Value, has_seed: bool) -> Result<Outstanding, ParseError> {
    let parts = value.parts();
    let (ios, rate, transactions, seed) = match (parts.as_slice(), has_seed) {
        ([ios, rate, transactions], false) => (ios, rate, transactions, None),
        ([ios, rate, transactions, used, seed], true) => {
            let fixed = FixedSeed {
                used: enabled(value, used)?,
                value: value.number(seed, "the fixed seed value")?,
            };
            (ios, rate, transactions, Some(fixed))
        }
        _ => return Err(value.wrong("the number of values differs from that named by the key")),
    };
    let outstanding = Outstanding {
        ios: value.number(ios, "the number of outstanding I/Os")?,
        connection_rate: enabled(value, rate)?,
        transactions: value.number(transactions, "transactions per connection")?,
        fixed_seed: seed,
    };
    if outstanding.ios == 0 {
        return Err(value.wrong("at least one I/O is outstanding"));
    }
    Ok(outstanding)
}

fn disk_area(value: &Value, has_pattern: bool) -> Result<DiskArea, ParseError> {
    let parts = value.parts();
    let (sectors, start, pattern) = match (parts.as_slice(), has_pattern) {
        ([sectors, start], false) => (sectors, start, None),
        ([sectors, start, pattern], true) => {
            let pattern: u8 = value.number(pattern, "the data pattern")?;
            if pattern > 2 {
                return Err(value.wrong(
                    "data patterns are 0 (repeating bytes), 1 (pseudo-random) and 2 (full random)",
                ));
            }
            (sectors, start, Some(pattern))
        }
        _ => return Err(value.wrong("the number of values differs from that named by the key")),
    };
    Ok(DiskArea {
        sectors: value.number(sectors, "the maximum size")?,
        start: value.number(start, "the starting sector")?,
        pattern,
    })
}

fn assigned(pairs: &mut Pairs<'_>) -> Result<Vec<Assigned>, ParseError> {
    let mut names = Vec::new();
    loop {
        if pairs.is_at_comment() {
            let key = pairs.key(keys::ASSIGNED)?;
            return if key.ends(keys::ASSIGNED) {
                Ok(names)
            } else {
                Err(key.unknown("the assigned access specs"))
            };
        }
        let Some((line, text)) = pairs.next() else {
            return Err(ParseError::whole("the file ends inside the assigned access specs"));
        };
        names.push(Assigned { name: text.to_owned(), line: Line(line) });
    }
}

fn targets(pairs: &mut Pairs<'_>, remarks: &mut Vec<Remark>) -> Result<Vec<Target>, ParseError> {
    let section = "the target assignments";
    let mut targets = Vec::new();
    loop {
        let key = pairs.key(section)?;
        if key.ends(keys::TARGETS) {
            return Ok(targets);
        }
        // Scripts that write configurations double it; it can mean nothing else.
        if key.ends(keys::TARGET) && !targets.is_empty() {
            let text = "a second 'End target of the same target is ignored".to_owned();
            remarks.push(Remark { line: Some(key.line), text });
            continue;
        }
        if !key.is(keys::TARGET) {
            return Err(key.unknown(section));
        }
        let name = pairs.value(&key);
        targets.push(target(pairs, name)?);
    }
}

fn target(pairs: &mut Pairs<'_>, name: Value) -> Result<Target, ParseError> {
    let mut found = None;
    let mut manager = None;
    loop {
        let key = pairs.key("a target")?;
        if key.ends(keys::TARGET) {
            let kind = found.ok_or_else(|| name.wrong("the target has no 'Target type"))?;
            return Ok(Target { name: name.text, kind, manager });
        }
        let value = pairs.value(&key);
        if key.is(keys::TARGET_TYPE) {
            found = Some(kind(&value)?);
        } else if key.is(keys::TARGET_MANAGER) {
            manager = Some(value.numbered("the target's manager")?);
        } else {
            return Err(key.unknown("a target"));
        }
    }
}
