//! Parses the SMART log of an NVMe controller (02h) as `nvme` and `smartctl` print it.

use super::json::named;
use super::reading::LogReading;
use serde_json::Value;
use steadfast_domain::Bytes;

/// Data unit of the SMART log in bytes: 1000 blocks of 512 bytes (NVMe Base Specification 2.0,
/// figure 207).
const DATA_UNIT: u64 = 512_000;

/// 0 degrees Celsius in kelvins, rounded as in the NVMe specification.
const ZERO_CELSIUS: f64 = 273.0;

/// Parses the SMART log. `nvme` and `smartctl` use different names for some fields.
pub(super) fn smart_log(log: &Value) -> LogReading {
    let light = named(log, &["thm_temp1_total_time"]);
    let heavy = named(log, &["thm_temp2_total_time"]);
    let light_times = named(log, &["thm_temp1_trans_count"]);
    let heavy_times = named(log, &["thm_temp2_trans_count"]);
    let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).and_then(|(a, b)| a.checked_add(b));
    let warning = named(log, &["warning_temp_time"]);
    let critical = named(log, &["critical_comp_time"]);
    let spare = named(log, &["avail_spare", "available_spare"]);
    let spare_threshold = named(log, &["spare_thresh", "available_spare_threshold"]);
    LogReading {
        host_written: named(log, &["data_units_written"])
            .and_then(|units| units.checked_mul(DATA_UNIT))
            .map(Bytes),
        media_errors: named(log, &["media_errors"]),
        throttle_events: sum(light_times, heavy_times),
        throttled_seconds: sum(light, heavy),
        over_temperature_seconds: sum(warning, critical)
            .and_then(|minutes| minutes.checked_mul(60)),
        critical_warning: named(log, &["critical_warning"]).and_then(|bits| bits.try_into().ok()),
        percentage_used: named(log, &["percent_used", "percentage_used"]),
        // Some drives report 0 spare with threshold 0 when they do not support the field.
        spare: spare.filter(|_| (spare, spare_threshold) != (Some(0), Some(0))),
        spare_threshold,
        temperature_celsius: named(log, &["temperature"]).and_then(celsius),
        ..LogReading::default()
    }
}

/// Converts kelvins, which `nvme` prints, to degrees Celsius; 0 means not reported.
pub(super) fn celsius(kelvin: u64) -> Option<f64> {
    (1..1000).contains(&kelvin).then_some(kelvin as f64 - ZERO_CELSIUS)
}

#[cfg(test)]
mod tests {
    use super::super::json::object;
    use super::*;

    /// Output of nvme-cli 2.3, which prints 128-bit counters as strings.
    const SMART_LOG: &str = r#"{
  "critical_warning":0,
  "temperature":311,
  "avail_spare":100,
  "spare_thresh":10,
  "percent_used":3,
  "endurance_grp_critical_warning_summary":0,
  "data_units_read":"21034012",
  "data_units_written":"18530117",
  "host_read_commands":"417903117",
  "host_write_commands":"294041771",
  "controller_busy_time":"1190",
  "power_cycles":"112",
  "power_on_hours":"3021",
  "unsafe_shutdowns":"14",
  "media_errors":"0",
  "num_err_log_entries":"77",
  "warning_temp_time":4,
  "critical_comp_time":1,
  "temperature_sensor_1":311,
  "temperature_sensor_2":318,
  "thm_temp1_trans_count":5,
  "thm_temp2_trans_count":2,
  "thm_temp1_total_time":130,
  "thm_temp2_total_time":17
}"#;

    fn read(text: &str) -> LogReading {
        smart_log(&object(text).unwrap())
    }

    #[test]
    fn the_smart_log_is_read() {
        let reading = read(SMART_LOG);
        assert_eq!(reading.host_written, Some(Bytes(18_530_117 * 512_000)));
        assert_eq!(reading.nand_written, None);
        assert_eq!(reading.media_errors, Some(0));
        assert_eq!(reading.throttle_events, Some(7));
        assert_eq!(reading.throttled_seconds, Some(147));
        assert_eq!(reading.over_temperature_seconds, Some(300));
        assert_eq!(reading.critical_warning, Some(0));
        assert_eq!((reading.percentage_used, reading.spare), (Some(3), Some(100)));
        assert_eq!(reading.spare_threshold, Some(10));
        assert_eq!(reading.temperature_celsius, Some(38.0));
    }

    #[test]
    fn plain_numbers_and_an_opened_warning_are_the_same_log() {
        let newer = SMART_LOG
            .replace("\"critical_warning\":0", "\"critical_warning\":{\"value\":0,\"ro\":0}")
            .replace("\"18530117\"", "18530117");
        assert_ne!(newer, SMART_LOG);
        assert_eq!(read(&newer), read(SMART_LOG));
    }

    #[test]
    fn what_the_log_does_not_hold_is_unknown() {
        let reading = read("{\"critical_warning\":9,\"temperature\":0,\"thm_temp1_total_time\":3}");
        assert_eq!(reading, LogReading { critical_warning: Some(9), ..LogReading::default() });
        assert_eq!(read("{\"avail_spare\":0,\"spare_thresh\":0}").spare, None);
        let huge = read("{\"data_units_written\":340282366920938463463374607431768211455}");
        assert_eq!(huge.host_written, None);
        assert_eq!(read("{\"critical_warning\":300}").critical_warning, None);
    }
}
