//! Limits that a suite sets for a workload's results.

use serde_json::Value;
use steadfast_domain::sequence::SequenceLimit;

/// A limit of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteTarget {
    /// Name in the suite, such as `latency read P99`.
    pub title: String,
    /// Reads or writes; `None` for discards, which no table has.
    direction: Option<&'static str>,
    metric: TargetMetric,
    value: f64,
    /// It is per TB of capacity.
    per_tb: bool,
}

/// Quantity and bound of a limit.
#[derive(Debug, Clone, PartialEq)]
enum TargetMetric {
    /// Minimum rate in MiB/s.
    Throughput,
    /// Minimum I/Os per second.
    Iops,
    /// Maximum response time in microseconds, in this column.
    Latency(String),
}

pub(super) fn targets(value: &Value) -> Result<Vec<SuiteTarget>, String> {
    let Value::Object(all) = value else { return Err("'targets' is no JSON object".into()) };
    let mut found = Vec::new();
    for (kind, of_kind) in all {
        let Value::Object(directions) = of_kind else {
            return Err(format!("targets of {kind} are no JSON object"));
        };
        let per_tb = directions.get("scale_by_TB").is_some_and(is_on);
        for (direction, values) in directions.iter().filter(|(name, _)| *name != "scale_by_TB") {
            let Value::Object(values) = values else {
                return Err(format!("targets of {kind} {direction} are no JSON object"));
            };
            for (name, value) in values {
                let title = format!("{kind} {direction} {name}");
                let value = amount(value).filter(|value| value.is_finite() && *value >= 0.0);
                let value = value.ok_or_else(|| format!("the target {title} is no number"))?;
                let metric = metric(kind, name)
                    .ok_or_else(|| format!("the target {title} is not understood"))?;
                let direction = match direction.to_ascii_lowercase().as_str() {
                    "read" => Some("sequence-reads"),
                    "write" => Some("sequence-writes"),
                    "trim" => None,
                    _ => return Err(format!("the target {title} is not understood")),
                };
                found.push(SuiteTarget { title, direction, metric, value, per_tb });
            }
        }
    }
    Ok(found)
}

/// Parses a number, also one in quotation marks.
fn amount(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn is_on(value: &Value) -> bool {
    match value {
        Value::Bool(is) => *is,
        Value::Object(inside) => inside.get("value").is_some_and(is_on),
        Value::String(text) => matches!(text.trim(), "Y" | "y" | "true" | "True" | "1"),
        Value::Number(number) => number.as_u64() == Some(1),
        _ => false,
    }
}

fn metric(kind: &str, name: &str) -> Option<TargetMetric> {
    let upper = name.to_ascii_uppercase();
    match (kind.to_ascii_lowercase().as_str(), upper.as_str()) {
        ("throughput", "MIN") => Some(TargetMetric::Throughput),
        ("iops", "MIN") => Some(TargetMetric::Iops),
        ("latency", "MAX") => Some(TargetMetric::Latency("max-ms".into())),
        ("latency", "MEAN") => Some(TargetMetric::Latency("mean-ms".into())),
        ("latency", percentile) => {
            let percent: f64 = percentile.strip_prefix('P')?.parse().ok()?;
            let is_one = percent > 0.0 && percent < 100.0;
            is_one.then(|| TargetMetric::Latency(format!("p{percent}-ms")))
        }
        _ => None,
    }
}

/// The columns of percentiles that the tables have.
const COLUMNS: [&str; 10] = [
    "max-ms", "mean-ms", "p50-ms", "p90-ms", "p95-ms", "p99-ms", "p99.9-ms", "p99.99-ms",
    "p99.999-ms", "p99.9999-ms",
];

impl SuiteTarget {
    /// Returns the limit of a step on a drive of this capacity in TB.
    ///
    /// # Errors
    /// Returns the reason if no table has the quantity.
    pub(super) fn limit(&self, step: &str, tb: f64) -> Result<SequenceLimit, String> {
        let times = if self.per_tb { tb } else { 1.0 };
        let title = format!("{step}: {}", self.title);
        let cannot = |why: &str| Err(format!("{title} is not checked: {why}"));
        let Some(table) = self.direction else {
            return cannot("no table has discards alone");
        };
        let (column, min, max) = match &self.metric {
            // Ours are MB of 10^6 bytes.
            TargetMetric::Throughput => ("mb", Some(self.value * times * 1.048_576), None),
            TargetMetric::Iops => ("iops", Some(self.value * times), None),
            TargetMetric::Latency(column) => (column.as_str(), None, Some(self.value / 1000.0)),
        };
        if matches!(self.metric, TargetMetric::Latency(_)) && !COLUMNS.contains(&column) {
            return cannot("this percentile is beyond what is reported");
        }
        let (step, table, column) = (step.to_owned(), table.to_owned(), column.to_owned());
        Ok(SequenceLimit { title, step, table, column, min, max })
    }
}
