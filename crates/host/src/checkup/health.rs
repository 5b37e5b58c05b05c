//! Health that the device reports, and conditions that may slow its firmware down.

use super::subject::CheckSubject;
use super::topic::CheckTopic;
use crate::device_log::{DeviceHealth, LogReading, NvmeFacts, SelfTest};
use crate::error::HostError;
use crate::sensors::{hwmon_celsius, temperature};
use steadfast_domain::Bytes;
use steadfast_domain::drive_page::{DrivePage, PageState};
use steadfast_domain::record::Check;

const LOGS: CheckTopic = CheckTopic("device-logs", "Device logs");
const WEAR: CheckTopic = CheckTopic("wear", "Wear");
const SPARE: CheckTopic = CheckTopic("spare", "Spare blocks");
const ERRORS: CheckTopic = CheckTopic("media-errors", "Media errors");
const WARNING: CheckTopic = CheckTopic("critical-warning", "Critical warnings");
const THROTTLING: CheckTopic = CheckTopic("throttling", "Firmware throttling");
const SELF_TEST: CheckTopic = CheckTopic("self-test", "Self-test");
const PROTECTED: CheckTopic = CheckTopic("namespace-protect", "Namespace write protection");
const TEMPERATURE: CheckTopic = CheckTopic("temperature", "Temperature");
const PAGES: CheckTopic = CheckTopic("drive-pages", "Pages of the drive");
const AMPLIFICATION: CheckTopic = CheckTopic("write-amplification", "Write amplification");
const LATENCY_MONITOR: CheckTopic = CheckTopic("latency-monitor", "Latency monitor (OCP)");

/// Used endurance, in percent of the rating, that triggers a warning.
const WORN: u64 = 80;

/// Distance from the temperature limit, in degrees Celsius, that triggers a warning: a load will
/// soon reach the limit.
const CLOSE_CELSIUS: f64 = 10.0;

pub(super) fn checks(
    subject: &CheckSubject<'_>,
    answer: Option<&Result<DeviceHealth, HostError>>,
) -> Vec<Check> {
    let nothing = DeviceHealth::default();
    let mut checks = Vec::new();
    let health = match answer {
        None => &nothing,
        Some(Ok(health)) => {
            checks.push(LOGS.good("read before and after each step of 10 s or more"));
            health
        }
        Some(Err(error)) => {
            checks.push(LOGS.unknown(error.to_string()));
            &nothing
        }
    };
    checks.extend(pages(&health.pages));
    checks.extend(temperature_now(subject, health));
    checks.extend(wear(&health.log));
    checks.extend(spare(&health.log));
    checks.extend(media_errors(&health.log));
    checks.extend(critical_warning(&health.log));
    checks.extend(throttling(&health.log));
    checks.extend(write_protection(&health.nvme));
    checks.extend(self_test(health));
    checks.extend(write_amplification(&health.nvme));
    checks.extend(latency_monitor(&health.nvme));
    checks
}

fn temperature_now(subject: &CheckSubject<'_>, health: &DeviceHealth) -> Option<Check> {
    let (device, roots) = (subject.device, subject.roots);
    let celsius = temperature(device, roots).or(health.log.temperature_celsius)?;
    let limit = hwmon_celsius(device, "temp1_max", roots)
        .or(health.nvme.warning_celsius)
        // Some drives report limits that no drive survives.
        .filter(|limit| (30.0..150.0).contains(limit));
    let found = format!("{celsius:.0} °C");
    let Some(limit) = limit else { return Some(TEMPERATURE.good(found)) };
    let found = format!("{found}, limit {limit:.0} °C");
    let advice = "Cool the drive before the run; a drive at its limit throttles.";
    Some(match limit - celsius {
        left if left <= 0.0 => TEMPERATURE.bad(found, advice),
        left if left <= CLOSE_CELSIUS => TEMPERATURE.attention(found, advice),
        _ => TEMPERATURE.good(found),
    })
}

fn wear(log: &LogReading) -> Option<Check> {
    let used = log.percentage_used?;
    let found = format!("{used} % of the rated endurance used");
    Some(match used {
        0..WORN => WEAR.good(found),
        WORN..100 => WEAR.attention(
            found,
            "A worn drive may be slower than a new one; state its wear with the numbers.",
        ),
        _ => WEAR.attention(
            found,
            "Past its rated life: some firmware then slows writes down or refuses them (drive \
             life protection). A likely cause if writes are slow.",
        ),
    })
}

fn spare(log: &LogReading) -> Option<Check> {
    let spare = log.spare?;
    let least = log.spare_threshold;
    let least_shown = least.map(|least| format!(", threshold {least} %")).unwrap_or_default();
    let found = format!("{spare} % left{least_shown}");
    Some(match least {
        Some(least) if spare < least => {
            SPARE.bad(found, "Too few spare blocks: the drive may turn read-only; replace it.")
        }
        _ => SPARE.good(found),
    })
}

fn media_errors(log: &LogReading) -> Option<Check> {
    Some(match log.media_errors? {
        0 => ERRORS.good("none"),
        count => ERRORS.attention(
            format!("{count} over the drive's life"),
            "Reads of weak blocks are retried and slow; check whether the count rises during a step.",
        ),
    })
}

/// Bits of the critical warning (NVMe Base Specification 2.0, figure 207).
const WARNINGS: [(u8, &str); 6] = [
    (0, "spare blocks below the threshold"),
    (1, "temperature beyond a limit"),
    (2, "reliability degraded"),
    (3, "medium read-only"),
    (4, "backup of the volatile memory failed"),
    (5, "persistent memory region read-only"),
];

/// Bits that mean that the numbers are not those of a healthy device.
const GRAVE: u8 = 0b1101;

fn critical_warning(log: &LogReading) -> Option<Check> {
    let advice = "See the log: smartctl -x; the drive needs replacing or cooling.";
    let Some(bits) = log.critical_warning else {
        return Some(if log.healthy? {
            WARNING.good("SMART status passed")
        } else {
            WARNING.bad("SMART status: FAILED", advice)
        });
    };
    let active: Vec<&str> =
        WARNINGS.iter().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, text)| *text).collect();
    let found = format!("{} ({bits:#04x})", active.join(", "));
    Some(match bits {
        0 => WARNING.good("none"),
        bits if bits & GRAVE != 0 => WARNING.bad(found, advice),
        _ => WARNING.attention(found, advice),
    })
}

fn throttling(log: &LogReading) -> Option<Check> {
    if log.throttles_now == Some(true) {
        return Some(THROTTLING.bad("throttling now", "Let the drive cool before the run."));
    }
    let counts = [
        (log.throttle_events, "throttling events"),
        (log.throttled_seconds, "s throttled"),
        (log.over_temperature_seconds, "s above a temperature limit"),
    ];
    let known = counts.into_iter().filter_map(|(count, what)| Some((count?, what)));
    let known: Vec<(u64, &str)> = known.collect();
    if known.is_empty() {
        return None;
    }
    let texts: Vec<String> = known.iter().map(|(count, what)| format!("{count} {what}")).collect();
    let found = format!("over the drive's life: {}", texts.join(", "));
    Some(if known.iter().all(|(count, _)| *count == 0) {
        THROTTLING.good(found)
    } else {
        THROTTLING.attention(
            found,
            "It may explain dips in the numbers: each step's log shows whether it happened again.",
        )
    })
}

fn write_protection(nvme: &NvmeFacts) -> Option<Check> {
    Some(if nvme.write_protected? {
        PROTECTED.bad(
            "the namespace is write protected",
            "nvme set-feature DEVICE -f 0x84 -v 0, if the drive allows it",
        )
    } else {
        PROTECTED.good("none")
    })
}

fn self_test(health: &DeviceHealth) -> Option<Check> {
    Some(match health.log.self_test? {
        SelfTest::Idle => match health.nvme.last_self_test {
            None => SELF_TEST.good("none running"),
            Some(0) => SELF_TEST.good("none running; the last one passed"),
            // A fatal error ended the test (5h), or a segment failed (6h and 7h).
            Some(result @ 5..=7) => SELF_TEST.attention(
                format!("none running; the last one failed (result {result:X}h)"),
                "See the log: nvme self-test-log, smartctl -x; the drive may need replacing.",
            ),
            Some(result) => SELF_TEST
                .good(format!("none running; the last one was aborted (result {result:X}h)")),
        },
        SelfTest::Running { done_percent } => {
            let done = done_percent.map(|done| format!(", {done} % done")).unwrap_or_default();
            SELF_TEST.bad(
                format!("running{done}"),
                "Wait until it ends, or stop it: smartctl -X DEVICE, nvme device-self-test DEVICE -s 0xf",
            )
        }
    })
}

/// Says which pages the drive reports, and which were not decoded in full.
fn pages(pages: &[DrivePage]) -> Option<Check> {
    if pages.is_empty() {
        return None;
    }
    let odd: Vec<String> = pages
        .iter()
        .filter(|page| page.state != PageState::Complete)
        .map(|page| format!("{} ({}): {}", page.name, page.id, page.remark))
        .collect();
    let found = format!("{} of {} decoded in full", pages.len() - odd.len(), pages.len());
    Some(if odd.is_empty() {
        PAGES.good(found)
    } else {
        PAGES.unknown(format!("{found}; {}", odd.join("; ")))
    })
}

fn write_amplification(nvme: &NvmeFacts) -> Option<Check> {
    let writes = nvme.life_writes?;
    let shown = |bytes: u128| Bytes(u64::try_from(bytes).unwrap_or(u64::MAX));
    let (host, media) = (shown(writes.host), shown(writes.media));
    let found = format!("{media} to the media, {host} by the host ({})", writes.source);
    Some(if writes.host == 0 {
        AMPLIFICATION.good(format!("over the drive's life: {found}"))
    } else {
        let ratio = writes.media as f64 / writes.host as f64;
        AMPLIFICATION.good(format!("{ratio:.2} over the drive's life: {found}"))
    })
}

fn latency_monitor(nvme: &NvmeFacts) -> Option<Check> {
    let monitor = nvme.latency_monitor?;
    let thresholds = monitor.thresholds_ms.map(|ms| format!("{ms}")).join(", ");
    Some(LATENCY_MONITOR.good(if monitor.is_enabled {
        format!("on: counts I/Os above {thresholds} ms")
    } else {
        "off".to_owned()
    }))
}
