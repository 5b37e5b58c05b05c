//! Parses the JSON of `smartctl` for ATA and SCSI, and for NVMe behind a USB bridge.
//!
//! For ATA, the device statistics log (04h) comes first because the standard defines its units.
//! Attributes come second: their meaning is vendor specific, so an attribute is used only if
//! `smartctl` knows the model and the attribute's name includes the unit.

use super::json::{LOG_TIMEOUT, at, count, members, object};
use super::nvme::DATA_UNIT;
use super::reading::{LogReading, SelfTest};
use crate::error::HostError;
use crate::tool::{InstalledTools, SMARTCTL, Tools};
use serde_json::Value;
use steadfast_domain::power_cut::PowerCounters;
use steadfast_domain::{Bytes, Transport};

/// Bits of the exit status that mean that nothing was read: the command line is wrong, or the
/// device could not be opened (smartctl(8), EXIT STATUS).
const NOTHING_READ: i32 = 0b11;

/// Resolution of `gigabytes_processed`: `smartctl` prints gigabytes with three decimals.
const SCSI_RESOLUTION: Bytes = Bytes(1_000_000);

/// Pages of the device statistics log (ACS-4, 9.5).
const GENERAL_STATISTICS: u64 = 1;
const GENERAL_ERRORS: u64 = 4;
const TEMPERATURES: u64 = 5;
const SOLID_STATE_DEVICE: u64 = 7;

/// Reads the counters of a device.
pub(super) fn counters(path: &str, transport: &Transport) -> Result<LogReading, HostError> {
    let options: &[&str] = match transport {
        Transport::Sas => &["-A", "-l", "error", "-l", "ssd"],
        _ => &["-A", "-l", "devstat"],
    };
    query(path, options).map(|log| log_reading(&log))
}

/// Reads the counters, the self-test state and the SMART status.
pub(super) fn health(path: &str, transport: &Transport) -> Result<LogReading, HostError> {
    let options: &[&str] = match transport {
        Transport::Sas => &["-H", "-A", "-l", "error", "-l", "ssd", "-l", "selftest"],
        _ => &["-H", "-c", "-A", "-l", "devstat"],
    };
    query(path, options).map(|log| log_reading(&log))
}

/// Reads the counters of power losses.
pub(super) fn power_counters(path: &str) -> Result<PowerCounters, HostError> {
    query(path, &["-A"]).map(|log| parse_power_counters(&log))
}

/// Returns the power cycles, which `smartctl` reports for ATA (attribute 12) and NVMe, and the unsafe
/// shutdowns, which it reports for NVMe.
pub(crate) fn parse_power_counters(log: &Value) -> PowerCounters {
    PowerCounters {
        power_cycles: at(log, "/power_cycle_count"),
        unsafe_shutdowns: at(log, "/nvme_smart_health_information_log/unsafe_shutdowns"),
    }
}

fn query(path: &str, options: &[&str]) -> Result<Value, HostError> {
    // `-i` adds the sector size and whether smartctl knows the model.
    let arguments = [&["--json", "-i"][..], options, &[path]].concat();
    let answer = InstalledTools.ask(SMARTCTL, &arguments, LOG_TIMEOUT, &mut |_| {})?;
    let command = format!("smartctl {}", arguments.join(" "));
    // The other bits describe the device's health; the output is still valid.
    let read_nothing = answer.status.code().is_none_or(|code| code & NOTHING_READ != 0);
    match object(&answer.stdout) {
        Some(log) if !read_nothing => Ok(log),
        Some(log) => Err(HostError::ToolFailed {
            command,
            how: answer.status.to_string(),
            output: message(&log).unwrap_or_else(|| answer.stderr.trim().to_owned()),
        }),
        None => Err(HostError::not_understood(command, &(answer.stdout + &answer.stderr))),
    }
}

/// Returns the first message of `smartctl`.
fn message(log: &Value) -> Option<String> {
    let first = members(log, "/smartctl/messages").first()?;
    Some(first.get("string")?.as_str()?.to_owned())
}

/// Returns the counters in the JSON output of `smartctl`.
pub(crate) fn log_reading(log: &Value) -> LogReading {
    let mut reading = match log.get("nvme_smart_health_information_log") {
        Some(nvme) => bridged_nvme(nvme),
        None if log.get("ata_smart_data").is_some() || is_ata(log) => ata_reading(log),
        None => scsi_reading(log),
    };
    reading.temperature_celsius = log
        .pointer("/temperature/current")
        .and_then(Value::as_f64)
        .filter(|celsius| (-60.0..=200.0).contains(celsius));
    reading.healthy = log.pointer("/smart_status/passed").and_then(Value::as_bool);
    reading
}

/// Parses the SMART log of an NVMe drive behind a USB bridge. The kernel cannot send admin commands to
/// such a drive.
fn bridged_nvme(log: &Value) -> LogReading {
    let data_units = |path| Some(Bytes(at(log, path)?.checked_mul(DATA_UNIT)?));
    LogReading {
        host_written: data_units("/data_units_written"),
        host_read: data_units("/data_units_read"),
        host_unit: Some(Bytes(DATA_UNIT)),
        media_errors: at(log, "/media_errors"),
        // Both times are in minutes.
        over_temperature_seconds: at(log, "/warning_temp_time")
            .zip(at(log, "/critical_comp_time"))
            .and_then(|(warning, critical)| warning.checked_add(critical)?.checked_mul(60)),
        critical_warning: at(log, "/critical_warning").and_then(|bits| bits.try_into().ok()),
        percentage_used: at(log, "/percentage_used"),
        spare: at(log, "/available_spare"),
        spare_threshold: at(log, "/available_spare_threshold"),
        ..LogReading::default()
    }
}

/// A count of bytes and the unit in which it advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CountedBytes {
    bytes: Bytes,
    unit: Bytes,
}

impl CountedBytes {
    /// Converts a count of units; `None` if it exceeds 64 bits.
    fn in_units(count: u64, unit: u64) -> Option<CountedBytes> {
        Some(CountedBytes { bytes: Bytes(count.checked_mul(unit)?), unit: Bytes(unit) })
    }
}

fn is_ata(log: &Value) -> bool {
    log.pointer("/device/protocol").and_then(Value::as_str) == Some("ATA")
}

fn ata_reading(log: &Value) -> LogReading {
    let statistic = |page, name| device_statistic(log, page, name);
    let sector_size = at(log, "/logical_block_size");
    let attributes = SmartAttributes::from_json(log);
    let bytes_of =
        |name| CountedBytes::in_units(statistic(GENERAL_STATISTICS, name)?, sector_size?);
    let host = bytes_of("Logical Sectors Written").or_else(|| attributes.host_written(sector_size));
    let nand = attributes.nand_written();
    LogReading {
        host_written: host.map(|host| host.bytes),
        host_read: bytes_of("Logical Sectors Read").map(|read| read.bytes),
        nand_written: nand.map(|nand| nand.bytes),
        host_unit: host.map(|host| host.unit),
        nand_unit: nand.map(|nand| nand.unit),
        media_errors: statistic(GENERAL_ERRORS, "Number of Reported Uncorrectable Errors")
            .or_else(|| attributes.raw("Reported_Uncorrect")),
        over_temperature_seconds: statistic(TEMPERATURES, "Time in Over-Temperature")
            .and_then(|minutes| minutes.checked_mul(60)),
        percentage_used: statistic(SOLID_STATE_DEVICE, "Percentage Used Endurance Indicator"),
        self_test: ata_self_test(log),
        ..LogReading::default()
    }
}

/// Returns a value of the device statistics log; `None` if the device flags it as invalid.
fn device_statistic(log: &Value, page: u64, name: &str) -> Option<u64> {
    let page = members(log, "/ata_device_statistics/pages")
        .iter()
        .find(|found| at(found, "/number") == Some(page))?;
    let entry = members(page, "/table")
        .iter()
        .find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?;
    let valid = entry.pointer("/flags/valid").and_then(Value::as_bool).unwrap_or(true);
    if valid { count(entry.get("value")?) } else { None }
}

/// Parses the self-test status byte (ACS-4, 9.6): the high nibble is 15 while a test runs. `smartctl`
/// converts the low nibble to `remaining_percent`.
fn ata_self_test(log: &Value) -> Option<SelfTest> {
    let status = log.pointer("/ata_smart_data/self_test/status")?;
    Some(match at(status, "/value")? >> 4 {
        15 => SelfTest::Running {
            done_percent: at(status, "/remaining_percent")
                .and_then(|left| 100u64.checked_sub(left)),
        },
        _ => SelfTest::Idle,
    })
}

/// Names and raw values of the attributes; empty if `smartctl` does not know the model.
struct SmartAttributes(Vec<(String, u64)>);

impl SmartAttributes {
    fn from_json(log: &Value) -> Self {
        if log.get("in_smartctl_database").and_then(Value::as_bool) != Some(true) {
            return SmartAttributes(Vec::new());
        }
        let table = members(log, "/ata_smart_attributes/table").iter();
        SmartAttributes(
            table
                .filter_map(|row| {
                    let name = row.get("name")?.as_str()?.to_owned();
                    Some((name, count(row.pointer("/raw/value")?)?))
                })
                .collect(),
        )
    }

    fn raw(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, raw)| *raw)
    }

    /// Returns the bytes written by the host, from attributes such as `Total_LBAs_Written`,
    /// `Host_Writes_32MiB` or `Lifetime_Writes_GiB`.
    fn host_written(&self, sector: Option<u64>) -> Option<CountedBytes> {
        self.0.iter().find_map(|(name, raw)| {
            let unit = match parse_write_unit(name)? {
                _ if is_flash(name) => return None,
                WriteUnit::LogicalSectors => sector?,
                WriteUnit::Bytes(bytes) => bytes,
            };
            CountedBytes::in_units(*raw, unit)
        })
    }

    /// Returns the bytes written to the flash, from attributes such as `NAND_Writes_1GiB` or
    /// `Flash_Writes_GiB`. If the drive counts SLC and TLC writes separately, returns the sum, whose
    /// unit is the sum of the units.
    fn nand_written(&self) -> Option<CountedBytes> {
        let counters: Vec<(&str, CountedBytes)> = self
            .0
            .iter()
            .filter(|(name, _)| is_flash(name))
            .filter_map(|(name, raw)| match parse_write_unit(name)? {
                WriteUnit::LogicalSectors => None,
                WriteUnit::Bytes(unit) => {
                    Some((name.as_str(), CountedBytes::in_units(*raw, unit)?))
                }
            })
            .collect();
        let is_part = |name: &str| name.contains("SLC") || name.contains("TLC");
        let parts: Vec<CountedBytes> = counters
            .iter()
            .filter(|(name, _)| is_part(name))
            .map(|(_, counted)| *counted)
            .collect();
        match parts.len() {
            0 => counters.first().map(|(_, counted)| *counted),
            // One part without the other would undercount.
            1 => None,
            _ => {
                let zero = CountedBytes { bytes: Bytes(0), unit: Bytes(0) };
                parts.iter().try_fold(zero, |sum, part| {
                    Some(CountedBytes {
                        bytes: Bytes(sum.bytes.0.checked_add(part.bytes.0)?),
                        unit: Bytes(sum.unit.0.checked_add(part.unit.0)?),
                    })
                })
            }
        }
    }
}

fn is_flash(name: &str) -> bool {
    name.contains("NAND") || name.contains("Flash")
}

/// Unit in which an attribute counts writes.
enum WriteUnit {
    LogicalSectors,
    Bytes(u64),
}

/// Parses the unit of an attribute that counts writes from its name; `None` for other attributes.
fn parse_write_unit(name: &str) -> Option<WriteUnit> {
    let words: Vec<&str> = name.split(['_', '-']).collect();
    if !words.iter().any(|word| matches!(*word, "Written" | "Writes" | "Write")) {
        return None;
    }
    if words.contains(&"LBAs") {
        return Some(WriteUnit::LogicalSectors);
    }
    words.iter().find_map(|word| {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let number = if digits == 0 { 1 } else { word[..digits].parse::<u64>().ok()? };
        let unit = match &word[digits..] {
            "MiB" => 1u64 << 20,
            "GiB" => 1 << 30,
            "TiB" => 1 << 40,
            "GB" => 1_000_000_000,
            _ => return None,
        };
        number.checked_mul(unit).map(WriteUnit::Bytes)
    })
}

fn scsi_reading(log: &Value) -> LogReading {
    let errors = |direction: &str| {
        at(log, &format!("/scsi_error_counter_log/{direction}/total_uncorrected_errors"))
    };
    let uncorrected: Vec<u64> =
        ["read", "write", "verify"].into_iter().filter_map(errors).collect();
    let processed = |direction: &str| {
        log.pointer(&format!("/scsi_error_counter_log/{direction}/gigabytes_processed"))
            .and_then(parse_gigabytes)
            .map(Bytes)
    };
    let host_written = processed("write");
    LogReading {
        host_written,
        host_read: processed("read"),
        host_unit: host_written.map(|_| SCSI_RESOLUTION),
        media_errors: (!uncorrected.is_empty())
            .then(|| uncorrected.iter().fold(0u64, |sum, errors| sum.saturating_add(*errors))),
        percentage_used: at(log, "/scsi_percentage_used_endurance_indicator"),
        self_test: scsi_self_test(log),
        ..LogReading::default()
    }
}

/// Parses a number of gigabytes (10^9 bytes) with decimals, such as `"12.699"`, into bytes.
fn parse_gigabytes(value: &Value) -> Option<u64> {
    let text =
        value.as_str().map(str::to_owned).or_else(|| value.as_f64().map(|n| n.to_string()))?;
    let (whole, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
    // Nine decimals of a gigabyte are bytes.
    let digits: String = decimals.chars().chain("000000000".chars()).take(9).collect();
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(digits.parse().ok()?)
}

/// Parses the self-test result (SPC-5, 7.3.20): 15 means that a test is in progress.
fn scsi_self_test(log: &Value) -> Option<SelfTest> {
    Some(match at(log, "/scsi_self_test_0/result/value")? {
        15 => SelfTest::Running { done_percent: None },
        _ => SelfTest::Idle,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Output of smartctl 7.3 for a known ATA drive, reduced to the parsed fields.
    fn ata_drive() -> Value {
        json!({
            "json_format_version": [1, 0],
            "smartctl": {"version": [7, 3], "exit_status": 0},
            "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
            "in_smartctl_database": true,
            "logical_block_size": 512, "physical_block_size": 4096,
            "smart_status": {"passed": true},
            "ata_smart_data": {"self_test": {"status":
                {"value": 246, "string": "in progress, 60% remaining", "remaining_percent": 60}}},
            "ata_smart_attributes": {"revision": 1, "table": [
                {"id": 187, "name": "Reported_Uncorrect", "raw": {"value": 4, "string": "4"}},
                {"id": 241, "name": "Host_Writes_32MiB", "raw": {"value": 1000}},
                {"id": 242, "name": "Host_Reads_32MiB", "raw": {"value": 77}},
                {"id": 249, "name": "NAND_Writes_1GiB", "raw": {"value": 50}},
            ]},
            "ata_device_statistics": {"pages": [
                {"number": 1, "name": "General Statistics", "revision": 1, "table": [
                    {"offset": 24, "name": "Logical Sectors Written", "size": 6,
                     "value": 65_536_000, "flags": {"valid": true, "normalized": false}},
                ]},
                {"number": 4, "table": [{"offset": 8,
                    "name": "Number of Reported Uncorrectable Errors", "value": 2,
                    "flags": {"valid": false}}]},
                {"number": 5, "table": [{"name": "Time in Over-Temperature", "value": 3,
                    "flags": {"valid": true}}]},
                {"number": 7, "table": [{"name": "Percentage Used Endurance Indicator",
                    "value": 12, "flags": {"valid": true}}]},
            ]},
            "temperature": {"current": 41},
        })
    }

    #[test]
    fn an_ata_drive_is_read_from_its_statistics_first() {
        let found = log_reading(&ata_drive());
        assert_eq!(found.host_written, Some(Bytes(65_536_000 * 512)));
        assert_eq!(found.nand_written, Some(Bytes(50 << 30)));
        assert_eq!((found.host_unit, found.nand_unit), (Some(Bytes(512)), Some(Bytes(1 << 30))));
        assert_eq!(found.media_errors, Some(4), "an invalid statistic is none");
        assert_eq!(found.over_temperature_seconds, Some(180));
        assert_eq!(found.percentage_used, Some(12));
        assert_eq!(found.temperature_celsius, Some(41.0));
        assert_eq!(found.healthy, Some(true));
        assert_eq!(found.self_test, Some(SelfTest::Running { done_percent: Some(40) }));
    }

    #[test]
    fn attributes_count_only_where_the_model_and_the_unit_are_known() {
        let mut drive = ata_drive();
        drive["ata_device_statistics"] = json!({});
        let by_attributes = log_reading(&drive);
        assert_eq!(by_attributes.host_written, Some(Bytes(1000 * (32 << 20))));
        assert_eq!(by_attributes.host_unit, Some(Bytes(32 << 20)));
        drive["in_smartctl_database"] = json!(false);
        let found = log_reading(&drive);
        assert_eq!((found.host_written, found.nand_written), (None, None));
        assert_eq!(found.media_errors, None);

        for (name, raw, sector, host) in [
            ("Total_LBAs_Written", 10, Some(4096), Some(40_960)),
            ("Total_LBAs_Written", 10, None, None),
            ("Lifetime_Writes_GiB", 2, Some(512), Some(2 << 30)),
            ("Total_Write_GB", 2, Some(512), Some(2_000_000_000)),
            ("Host_Reads_GiB", 2, Some(512), None),
            ("Unknown_Attribute", 2, Some(512), None),
            ("Host_Writes", 2, Some(512), None),
            ("Total_LBAs_Written", u64::MAX, Some(512), None),
        ] {
            let attributes = SmartAttributes(vec![(name.to_owned(), raw)]);
            let found = attributes.host_written(sector).map(|counted| counted.bytes.0);
            assert_eq!(found, host, "{name}");
        }
    }

    #[test]
    fn flash_writes_counted_by_cell_are_added() {
        let rows = |rows: &[(&str, u64)]| {
            SmartAttributes(rows.iter().map(|(n, r)| ((*n).to_owned(), *r)).collect())
                .nand_written()
                .map(|counted| (counted.bytes.0, counted.unit.0))
        };
        let both = [("NAND_GB_Written_TLC", 3), ("NAND_GB_Written_SLC", 2)];
        assert_eq!(rows(&both), Some((5_000_000_000, 2_000_000_000)));
        assert_eq!(rows(&both[..1]), None);
        assert_eq!(rows(&[("Flash_Writes_GiB", 3)]), Some((3 << 30, 1 << 30)));
        assert_eq!(rows(&[("NAND_Reads_GiB", 3)]), None);
        assert_eq!(rows(&[("Host_Writes_GiB", 3)]), None);
    }

    #[test]
    fn a_sas_drive_is_read_from_its_error_counters() {
        let drive = json!({
            "device": {"protocol": "SCSI"},
            "scsi_percentage_used_endurance_indicator": 4,
            "temperature": {"current": 35, "drive_trip": 74},
            "scsi_self_test_0": {"code": {"value": 1}, "result": {"value": 15}},
            "scsi_error_counter_log": {
                "read": {"gigabytes_processed": "12.699", "total_uncorrected_errors": 1},
                "write": {"gigabytes_processed": "25.5", "total_uncorrected_errors": 2},
            },
        });
        let found = log_reading(&drive);
        assert_eq!(found.host_written, Some(Bytes(25_500_000_000)));
        assert_eq!(found.host_read, Some(Bytes(12_699_000_000)));
        assert_eq!(found.host_unit, Some(SCSI_RESOLUTION));
        assert_eq!((found.media_errors, found.percentage_used), (Some(3), Some(4)));
        assert_eq!(found.self_test, Some(SelfTest::Running { done_percent: None }));
        assert_eq!(found.temperature_celsius, Some(35.0));
    }

    #[test]
    fn gigabytes_are_exact_and_nonsense_is_unknown() {
        for (text, bytes) in [
            (json!("0.001"), Some(1_000_000)),
            (json!("7"), Some(7_000_000_000)),
            (json!(1.5), Some(1_500_000_000)),
            (json!("99999999999999"), None),
            (json!("1.x"), None),
            (json!("-1"), None),
            (json!(null), None),
        ] {
            assert_eq!(parse_gigabytes(&text), bytes, "{text}");
        }
    }

    #[test]
    fn nvme_behind_a_usb_bridge_is_read() {
        let found = log_reading(&json!({
            "nvme_smart_health_information_log": {
                "critical_warning": 4, "temperature": 41, "available_spare": 98,
                "available_spare_threshold": 10, "percentage_used": 2,
                "data_units_written": 3, "media_errors": 6,
                "warning_temp_time": 0, "critical_comp_time": 0,
            },
            "temperature": {"current": 41},
        }));
        assert_eq!(found.host_written, Some(Bytes(1_536_000)));
        assert_eq!((found.critical_warning, found.media_errors), (Some(4), Some(6)));
        assert_eq!((found.spare, found.percentage_used), (Some(98), Some(2)));
        assert_eq!(found.temperature_celsius, Some(41.0));
        assert_eq!((found.over_temperature_seconds, found.throttle_events), (Some(0), None));
    }

    #[test]
    fn power_losses_are_counted_by_ata_and_by_nvme_behind_a_bridge() {
        let found = |log: Value| {
            let counters = parse_power_counters(&log);
            (counters.power_cycles, counters.unsafe_shutdowns)
        };
        assert_eq!(found(json!({"power_cycle_count": 7})), (Some(7), None));
        let nvme = json!({
            "power_cycle_count": 8,
            "nvme_smart_health_information_log": {"power_cycles": 8, "unsafe_shutdowns": 3},
        });
        assert_eq!(found(nvme), (Some(8), Some(3)));
        assert_eq!(found(json!({})), (None, None));
    }

    #[test]
    fn a_refusal_is_reported_in_the_tool_s_own_words() {
        let text = "Smartctl open device: /dev/sdx failed: Permission denied";
        let refused = json!({"smartctl": {"exit_status": 2, "messages": [
            {"string": text, "severity": "error"}]}});
        assert_eq!(message(&refused).as_deref(), Some(text));
        assert_eq!(message(&json!({"smartctl": {"messages": "x"}})), None);
        assert_eq!(log_reading(&json!({})), LogReading::default());
        assert_eq!(
            log_reading(&json!({"ata_smart_data": 3, "temperature": 9})),
            LogReading::default()
        );
    }
}
