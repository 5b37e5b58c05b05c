//! Mapping files: the columns of a table by name, as TOML.

use super::plan::{ColumnPlan, OperationSource, named_operation};
use steadfast_domain::text::excerpt;
use toml::{Table, Value};

/// Keys of a mapping file that name a column with a unit.
const UNIT_COLUMN_KEYS: [&str; 5] = ["time", "completed", "offset", "bytes", "response"];
/// Keys that name a column without a unit.
const PLAIN_COLUMN_KEYS: [&str; 2] = ["pid", "command"];
/// Keys that describe the layout of a text.
const LAYOUT_KEYS: [&str; 2] = ["separator", "skip"];

/// The meaning of the columns of a table, by their names.
///
/// ```
/// use steadfast_tracefile::import::ColumnMapping;
/// let mapping = ColumnMapping::parse(r#"
///     time = { column = "ts", unit = "us", epoch = "unix" }
///     op = { column = "type", values = { "0" = "write", "1" = "read" } }
///     offset = { column = "lba", unit = "sectors" }
///     bytes = "size"
/// "#).unwrap();
/// let plan = mapping.resolve(&["size", "lba", "ts", "type"]).unwrap();
/// assert_eq!(plan.bytes.number, 1);
/// assert!(mapping.resolve(&["size", "lba", "ts"]).unwrap_err().contains("'type'"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMapping {
    /// Plan whose column numbers index the names below, starting at 1.
    pub(super) plan: ColumnPlan,
    /// Names of the columns that are read.
    pub(super) names: Vec<String>,
}

impl ColumnMapping {
    /// Parses a mapping file.
    ///
    /// # Errors
    /// Returns a message if the text is not TOML, a key or value is unknown, or a required column
    /// is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let mut mapping = ColumnMapping { plan: ColumnPlan::new("table"), names: Vec::new() };
        for (key, value) in &table {
            mapping.set(key, value).map_err(|what| format!("{}: {what}", excerpt(key)))?;
        }
        let given: Vec<&str> = table.keys().map(String::as_str).collect();
        mapping.plan.check(&given)?;
        Ok(mapping)
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match (key, value) {
            ("name", Value::String(name)) => self.plan.name.clone_from(name),
            ("device", Value::Array(names)) => {
                for name in names {
                    let number = self.number(name)?;
                    self.plan.device.push(number);
                }
            }
            ("device", name) => {
                let number = self.number(name)?;
                self.plan.device.push(number);
            }
            ("op", Value::Table(entry)) if entry.contains_key("always") => {
                check_keys(entry, &["always"])?;
                let name = entry["always"].as_str().unwrap_or_default();
                self.plan.op = OperationSource::Always(named_operation(name)?);
            }
            ("op", entry) => self.set_operation(entry)?,
            ("time" | "offset", Value::String(none)) if none == "none" => {
                self.plan.set(key, "none")?;
            }
            (key, entry) if UNIT_COLUMN_KEYS.contains(&key) => {
                let text = self.unit_column(key, entry)?;
                self.plan.set(key, &text)?;
            }
            (key, name) if PLAIN_COLUMN_KEYS.contains(&key) => {
                let number = self.number(name)?;
                self.plan.set(key, &number.to_string())?;
            }
            (key, value) if LAYOUT_KEYS.contains(&key) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.plan.set(key, &text)?;
            }
            _ => {
                let what = "unknown key or value; the keys are: name, time, completed, op, offset, \
                            bytes, response, device, pid, command, separator, skip";
                return Err(what.to_owned());
            }
        }
        Ok(())
    }

    /// Returns the number of a name, from 1.
    fn number(&mut self, name: &Value) -> Result<usize, String> {
        let name = name.as_str().ok_or("expected the name of a column in quotation marks")?;
        if let Some(at) = self.names.iter().position(|own| own == name) {
            return Ok(at + 1);
        }
        self.names.push(name.to_owned());
        Ok(self.names.len())
    }

    fn set_operation(&mut self, entry: &Value) -> Result<(), String> {
        let name = match entry {
            Value::Table(table) => {
                check_keys(table, &["column", "values"])?;
                if let Some(values) = table.get("values") {
                    let values = values
                        .as_table()
                        .ok_or("values is a table, as in { \"0\" = \"write\" }")?;
                    for (value, op) in values {
                        self.plan.set_meaning(value, op.as_str().unwrap_or_default())?;
                    }
                }
                table.get("column").ok_or("add column = \"NAME\"")?
            }
            name => name,
        };
        self.plan.op = OperationSource::Column(self.number(name)?);
        Ok(())
    }

    /// Returns a column in the notation of `--csv`: number, unit, epoch.
    fn unit_column(&mut self, key: &str, entry: &Value) -> Result<String, String> {
        let Value::Table(table) = entry else { return Ok(self.number(entry)?.to_string()) };
        let is_time = key == "time" || key == "completed";
        let keys = ["column", "unit", "epoch"];
        check_keys(table, if is_time { &keys[..] } else { &keys[..2] })?;
        let name = table.get("column").ok_or("add column = \"NAME\"")?;
        let mut text = self.number(name)?.to_string();
        for part in ["unit", "epoch"] {
            if let Some(value) = table.get(part) {
                text.push(':');
                text.push_str(value.as_str().unwrap_or_default());
            }
        }
        Ok(text)
    }

    /// Returns the plan for a table whose columns have these names, in this order.
    ///
    /// # Errors
    /// Returns a message if a name is missing or ambiguous.
    pub fn resolve(&self, header: &[&str]) -> Result<ColumnPlan, String> {
        let mut numbers = Vec::new();
        for name in &self.names {
            let mut found = (1..).zip(header).filter(|(_, own)| *own == name);
            match (found.next(), found.next()) {
                (Some((number, _)), None) => numbers.push(number),
                (Some(_), Some(_)) => {
                    return Err(format!("several columns are named '{}'", excerpt(name)));
                }
                (None, _) => {
                    let columns = header.join(", ");
                    return Err(format!(
                        "there is no column '{}'; the columns are: {}",
                        excerpt(name),
                        excerpt(&columns)
                    ));
                }
            }
        }
        let mut plan = self.plan.clone();
        plan.for_each_number(|number| *number = numbers.get(*number - 1).copied().unwrap_or(0));
        Ok(plan)
    }
}

fn check_keys(table: &Table, keys: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown key '{}'; known: {}", excerpt(key), keys.join(", "))),
        None => Ok(()),
    }
}
