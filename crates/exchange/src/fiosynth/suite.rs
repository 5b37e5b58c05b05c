//! Parser of suite files.

use super::targets::{SuiteTarget, targets};
use crate::encoding::decode;
use crate::parse_error::ParseError;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

const CYCLES_MAX: u64 = 10_000;

/// A suite of FioSynth.
#[derive(Debug, Clone, PartialEq)]
pub struct FioSynthSuite {
    /// Workloads of the preconditioning.
    pub pre: Vec<SuiteWorkload>,
    /// Measured workloads.
    pub def: Vec<SuiteWorkload>,
    /// Number of runs of the whole suite.
    pub run_cycles: u64,
    /// Number of preconditionings per cycle.
    pub precondition_cycles: u64,
    /// True if only the first cycle is preconditioned.
    pub first_cycle_only: bool,
    /// True if rates are multiplied, and think times divided, by the capacity in TB.
    pub scaled: bool,
    /// True if templates name the device themselves; otherwise a job for it is appended to each.
    pub device_in_global: bool,
    /// Names of unknown members of the file.
    pub unknown: Vec<String>,
    /// Names of repeated members; the last of each counts, as in FioSynth.
    pub repeated: Vec<String>,
}

/// A workload: a template and the values of its variables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SuiteWorkload {
    /// Name in results.
    pub alias: String,
    /// File name of the template.
    pub template: String,
    /// Variables and their values.
    pub values: BTreeMap<String, String>,
    /// Limits of its results.
    pub targets: Vec<SuiteTarget>,
}

impl FioSynthSuite {
    /// Reads a suite.
    ///
    /// # Errors
    /// Returns an error if the file is not a JSON object, or one for each part that is unusable.
    pub fn read(bytes: &[u8]) -> Result<FioSynthSuite, Vec<ParseError>> {
        let file: SuiteMembers = serde_json::from_str(&decode(bytes)).map_err(|error| {
            let what = if error.is_data() { "it is not a JSON object" } else { "this is not JSON" };
            vec![ParseError::at(error.line() as u64, format!("{what}: {error}"))]
        })?;
        let SuiteMembers { all, repeated } = file;
        let mut errors = Vec::new();
        let suite = FioSynthSuite {
            pre: workloads(&all, "pre", &mut errors),
            def: workloads(&all, "def", &mut errors),
            run_cycles: cycles(&all, "run_cycles", &mut errors),
            precondition_cycles: cycles(&all, "precondition_cycles", &mut errors),
            first_cycle_only: flag(&all, "precondition_first_cycle_only", false, &mut errors),
            scaled: flag(&all, "scale_by_capacity", true, &mut errors),
            device_in_global: flag(&all, "devices_in_global", true, &mut errors),
            unknown: unknown(&all),
            repeated,
        };
        if suite.def.is_empty() && errors.is_empty() {
            errors.push(ParseError::whole("'def' names no workload"));
        }
        if suite.run_cycles == 0 {
            errors.push(ParseError::whole("'run_cycles' is 0; give 1 or more"));
        }
        if errors.is_empty() { Ok(suite) } else { Err(errors) }
    }
}

/// The members of the file's JSON object. Not a plain `Map`: that keeps the last of repeated
/// members and does not report them.
struct SuiteMembers {
    all: Map<String, Value>,
    repeated: Vec<String>,
}

impl<'de> Deserialize<'de> for SuiteMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SuiteMembersVisitor)
    }
}

struct SuiteMembersVisitor;

impl<'de> Visitor<'de> for SuiteMembersVisitor {
    type Value = SuiteMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<SuiteMembers, A::Error> {
        let mut found = SuiteMembers { all: Map::new(), repeated: Vec::new() };
        while let Some((name, value)) = members.next_entry::<String, Value>()? {
            if found.all.insert(name.clone(), value).is_some() {
                found.repeated.push(name);
            }
        }
        Ok(found)
    }
}

const KNOWN: [&str; 8] = [
    "description", "pre", "def", "run_cycles", "precondition_cycles",
    "precondition_first_cycle_only", "devices_in_global", "scale_by_capacity",
];

fn unknown(all: &Map<String, Value>) -> Vec<String> {
    all.keys().filter(|name| !KNOWN.contains(&name.as_str())).cloned().collect()
}

fn cycles(all: &Map<String, Value>, name: &str, errors: &mut Vec<ParseError>) -> u64 {
    let Some(value) = all.get(name) else { return 1 };
    let number = scalar(value).and_then(|text| text.parse().ok());
    match number.filter(|number| *number <= CYCLES_MAX) {
        Some(number) => number,
        None => {
            let message = format!("'{name}' is not a number up to {CYCLES_MAX}");
            errors.push(ParseError::whole(message));
            1
        }
    }
}

fn flag(all: &Map<String, Value>, name: &str, default: bool, errors: &mut Vec<ParseError>) -> bool {
    let Some(value) = all.get(name) else { return default };
    match scalar(value).as_deref() {
        Some("Y" | "y" | "true" | "True" | "1") => true,
        Some("N" | "n" | "false" | "False" | "0") => false,
        _ => {
            errors.push(ParseError::whole(format!("'{name}' is neither \"Y\" nor \"N\"")));
            default
        }
    }
}

/// Returns a string, a number or a Boolean as text.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}

fn workloads(
    all: &Map<String, Value>,
    name: &str,
    errors: &mut Vec<ParseError>,
) -> Vec<SuiteWorkload> {
    let list = match all.get(name) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => {
            errors.push(ParseError::whole(format!("'{name}' is not a list")));
            return Vec::new();
        }
    };
    let mut workloads = Vec::new();
    for (number, item) in (1..).zip(list) {
        match workload(item) {
            Ok(workload) => workloads.push(workload),
            Err(why) => {
                errors.push(ParseError::whole(format!("workload {number} of '{name}': {why}")));
            }
        }
    }
    workloads
}

fn workload(item: &Value) -> Result<SuiteWorkload, String> {
    let text = |name: &str| item.get(name).and_then(scalar).filter(|text| !text.is_empty());
    let template = text("template").ok_or("it names no template")?;
    let alias = text("alias").unwrap_or_else(|| template.trim_end_matches(".fio").to_owned());
    let mut values = BTreeMap::new();
    match item.get("values") {
        None | Some(Value::Null) => {}
        Some(Value::Object(all)) => {
            for (name, value) in all {
                let text = scalar(value).ok_or_else(|| format!("the value {name} is not text"))?;
                values.insert(name.clone(), text);
            }
        }
        Some(_) => return Err("'values' is not a JSON object".into()),
    }
    let targets = item.get("targets").map(targets).transpose()?.unwrap_or_default();
    Ok(SuiteWorkload { alias, template, values, targets })
}
