//! NVMe: parses the SMART log (02h), OCP log (C0h), self-test log (06h) and Identify data as
//! `nvme` prints them.

use super::json::{ANSWER, count, members, named, object};
use super::nvme_smart::{celsius, smart_log};
use super::reading::{LogReading, SelfTest};
use super::smart;
use crate::error::HostError;
use crate::tool::{self, NVME, Tools};
use serde_json::Value;
use std::path::Path;
use steadfast_domain::Bytes;

/// Reads the counters of a controller. Clears `ocp` if the OCP log is refused, so that it is not
/// requested again. Uses `smartctl` if `nvme` is not installed.
pub(super) fn counters(
    path: &str,
    ocp: &mut bool,
    tools: &dyn Tools,
) -> Result<LogReading, HostError> {
    let said = match tools.run(NVME, &["smart-log", path, "-o", "json"], ANSWER) {
        Err(HostError::ToolMissing { .. }) => return smart::nvme_counters(path),
        said => said?,
    };
    let mut reading = object(&said).map(|log| smart_log(&log)).ok_or_else(|| {
        HostError::not_understood(format!("nvme smart-log {path} -o json"), &said)
    })?;
    if *ocp {
        let arguments = ["ocp", "smart-add-log", path, "-o", "json"];
        // Without an answer, this reading lacks the OCP log; the next one may have it.
        if let Ok(answer) = tools.ask(NVME, &arguments, ANSWER, &mut |_| {}) {
            let log = object(&answer.stdout).filter(is_ocp);
            match log.filter(|_| answer.status.success()) {
                Some(log) => add_ocp(&mut reading, &log),
                None => *ocp = false,
            }
        }
    }
    Ok(reading)
}

// Field names of the OCP log before and since version 2 of its JSON.
const MEDIA_WRITTEN: [&str; 2] = ["Physical media units written", "physical_media_units_written"];
const THROTTLE_EVENTS: [&str; 2] =
    ["Number of Thermal throttling events", "thermal_throttling_events"];
const THROTTLE_NOW: [&str; 2] = ["Current throttling status", "current_throttling_status"];

fn is_ocp(log: &Value) -> bool {
    named(log, &MEDIA_WRITTEN).is_some()
}

/// Adds the fields of the OCP log: flash writes in bytes (Datacenter NVMe SSD Specification 2.0,
/// SMART-1) and throttling events of any cause (SMART-12).
fn add_ocp(reading: &mut LogReading, log: &Value) {
    reading.nand_written = named(log, &MEDIA_WRITTEN).map(Bytes);
    if let Some(events) = named(log, &THROTTLE_EVENTS) {
        reading.throttle_events = Some(events);
    }
    reading.throttles_now = named(log, &THROTTLE_NOW).map(|status| status != 0);
}

/// Returns the state of the self-test; `None` if the log cannot be read.
pub(super) fn self_test(path: &str) -> Option<SelfTest> {
    let said = tool::run(NVME, &["self-test-log", path, "-o", "json"], ANSWER).ok()?;
    self_test_log(&object(&said)?)
}

fn self_test_log(log: &Value) -> Option<SelfTest> {
    Some(match named(log, &["Current Device Self-Test Operation"])? {
        0 => SelfTest::Idle,
        _ => SelfTest::Running {
            done_percent: named(log, &["Current Device Self-Test Completion"])
                .map(|done| done & 0x7f),
        },
    })
}

/// Identify data of an NVMe controller and its namespace.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NvmeFacts {
    /// True if the controller supports autonomous power state transitions (APSTA).
    pub autonomous_power_states: Option<bool>,
    /// Warning composite temperature threshold (WCTEMP) in degrees Celsius.
    pub warning_celsius: Option<f64>,
    /// True if the namespace is write protected.
    pub write_protected: Option<bool>,
    /// LBA formats that the namespace supports.
    pub formats: Vec<LbaFormat>,
}

/// One LBA format of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LbaFormat {
    /// Format number, as in `nvme format --lbaf`.
    pub number: usize,
    /// Logical block size in bytes.
    pub sector: u64,
    /// Metadata per logical block in bytes.
    pub metadata: u64,
    /// Relative performance: 0 best, 1 better, 2 good, 3 degraded.
    pub performance: u64,
    /// True if the namespace uses this format now.
    pub in_use: bool,
}

/// Reads the Identify data of a controller and its namespace; fields that cannot be read are
/// `None` or empty.
pub(super) fn facts(path: &str, namespace: Option<&Path>) -> NvmeFacts {
    let ask =
        |arguments: &[&str]| tool::run(NVME, arguments, ANSWER).ok().and_then(|said| object(&said));
    let controller = ask(&["id-ctrl", path, "-o", "json"]).unwrap_or_default();
    let namespace = namespace.map(|path| path.to_string_lossy().into_owned());
    let namespace = namespace.and_then(|path| ask(&["id-ns", &path, "-o", "json"]));
    read_facts(&controller, &namespace.unwrap_or_default())
}

fn read_facts(controller: &Value, namespace: &Value) -> NvmeFacts {
    NvmeFacts {
        autonomous_power_states: named(controller, &["apsta"]).map(|bits| bits & 1 == 1),
        warning_celsius: named(controller, &["wctemp"]).and_then(celsius),
        write_protected: named(namespace, &["nsattr"]).map(|bits| bits & 1 == 1),
        formats: formats(namespace),
    }
}

fn formats(namespace: &Value) -> Vec<LbaFormat> {
    // FLBAS: bits 3:0 are the low bits, bits 6:5 the high bits of the format number.
    let in_use = namespace.get("flbas").and_then(leading_count);
    let in_use = in_use.map(|bits| (bits & 0xf) | (bits >> 1 & 0x30));
    members(namespace, "/lbafs")
        .iter()
        .enumerate()
        .filter_map(|(number, format)| {
            Some(LbaFormat {
                number,
                sector: sector_size(format.get("ds")?)?,
                metadata: leading_count(format.get("ms")?)?,
                performance: leading_count(format.get("rp")?)? & 3,
                in_use: in_use == Some(number as u64),
            })
        })
        .collect()
}

/// Returns a logical block size in bytes. The field holds the exponent of a power of two; newer
/// versions of nvme-cli print the size itself (`512 bytes`).
fn sector_size(value: &Value) -> Option<u64> {
    let number = leading_count(value)?;
    let is_in_bytes = value.as_str().is_some_and(|text| text.contains("byte"));
    let size = if is_in_bytes { number } else { 1u64.checked_shl(u32::try_from(number).ok()?)? };
    (size.is_power_of_two() && (1 << 9..=1 << 24).contains(&size)).then_some(size)
}

/// Returns a count, or the number at the start of a text such as `0x2 Good`.
fn leading_count(value: &Value) -> Option<u64> {
    let word = || value.as_str()?.split_whitespace().next().map(Value::from);
    count(value).or_else(|| count(&word()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn formats_in_words_are_those_in_numbers() {
        let numbers = json!({"flbas": 1, "lbafs": [
            {"ms": 0, "ds": 9, "rp": 2}, {"ms": 8, "ds": 12, "rp": 0},
        ]});
        let words = json!({"flbas": "0x1 (LBA format 1)", "lbafs": [
            {"ms": "0 bytes", "ds": "512 bytes", "rp": "0x2 Good"},
            {"ms": "8 bytes", "ds": "4096 bytes", "rp": "0 Best"},
        ]});
        let found = formats(&numbers);
        assert_eq!((found.len(), found[1].sector, found[1].in_use), (2, 4096, true));
        assert_eq!(formats(&words), found);
        let odd = json!({"flbas": 0, "lbafs": [{"ms": 0, "ds": "500 bytes", "rp": 0}]});
        assert_eq!(formats(&odd), []);
    }

    use super::*;
    use crate::transcript::Transcript;
    use serde_json::json;

    #[test]
    fn only_a_refusal_ends_the_reading_of_the_ocp_log() {
        const SMART: &str = "nvme smart-log /dev/nvme0 -o json";
        const OCP: &str = "nvme ocp smart-add-log /dev/nvme0 -o json";
        let begin = || Transcript::default().says(SMART, r#"{"critical_warning":0}"#);
        for (tools, written, again) in [
            (begin().says(OCP, OCP_1), Some(Bytes(14_073_931_776_000)), true),
            (begin().hangs(OCP), None, true),
            (begin().fails(OCP, 1, "NVMe status: Invalid Log Page"), None, false),
            (begin().says(OCP, "{}"), None, false),
        ] {
            let mut ocp = true;
            let reading = counters("/dev/nvme0", &mut ocp, &tools).unwrap();
            assert_eq!((reading.nand_written, ocp), (written, again));
        }
    }

    /// Output of nvme-cli 2.3.
    const OCP_1: &str = r#"{
  "Physical media units written":{ "hi":0, "lo":14073931776000 },
  "Physical media units read":{ "hi":0, "lo":9073931776000 },
  "Bad user nand blocks - Raw":0,
  "Bad user nand blocks - Normalized":100,
  "Number of Thermal throttling events":9,
  "Current throttling status":1,
  "Log page version":3
}"#;

    /// Version 2 of the JSON of the OCP log.
    const OCP_2: &str = r#"{
  "physical_media_units_written":{ "hi":0, "lo":14073931776000 },
  "thermal_throttling_events":9,
  "current_throttling_status":0
}"#;

    #[test]
    fn both_forms_of_the_ocp_log_add_flash_writes_and_throttling() {
        for (text, now) in [(OCP_1, true), (OCP_2, false)] {
            let log = object(text).filter(is_ocp).unwrap();
            let mut reading = LogReading { throttle_events: Some(7), ..LogReading::default() };
            add_ocp(&mut reading, &log);
            assert_eq!(reading.nand_written, Some(Bytes(14_073_931_776_000)));
            assert_eq!(reading.throttle_events, Some(9), "OCP counts every cause");
            assert_eq!(reading.throttles_now, Some(now));
        }
        assert!(!is_ocp(&json!({"error": "Unable to get log"})));
    }

    #[test]
    fn a_running_self_test_is_seen() {
        let log = |operation: Value, done: u64| {
            self_test_log(&json!({
                "Current Device Self-Test Operation": operation,
                "Current Device Self-Test Completion": done,
                "List of Valid Reports": [],
            }))
        };
        assert_eq!(log(json!(0), 0), Some(SelfTest::Idle));
        let half = Some(SelfTest::Running { done_percent: Some(50) });
        assert_eq!(log(json!(2), 50), half);
        assert_eq!(log(json!("0x1"), 50), half);
        assert_eq!(self_test_log(&json!({})), None);
    }

    #[test]
    fn the_formats_of_a_namespace_are_read() {
        let controller = json!({"apsta": 1, "wctemp": 358});
        let namespace = json!({
            "flbas": 0, "nsattr": 1,
            "lbafs": [{"ms":0,"ds":9,"rp":2}, {"ms":8,"ds":12,"rp":0}, {"ms":0,"ds":0,"rp":0}],
        });
        let facts = read_facts(&controller, &namespace);
        assert_eq!(facts.autonomous_power_states, Some(true));
        assert_eq!(facts.warning_celsius, Some(85.0));
        assert_eq!(facts.write_protected, Some(true));
        let format = |number, sector, metadata, performance, in_use| LbaFormat {
            number,
            sector,
            metadata,
            performance,
            in_use,
        };
        assert_eq!(facts.formats, [format(0, 512, 0, 2, true), format(1, 4096, 8, 0, false)]);
        assert_eq!(read_facts(&Value::Null, &json!({"lbafs": 3})), NvmeFacts::default());
    }
}
