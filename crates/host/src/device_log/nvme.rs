//! NVMe: counters and facts from the pages that the drive reports.

use super::reading::{LogReading, SelfTest};
use crate::error::HostError;
use crate::nvme::layouts::{
    controller, endurance, latency_monitor, namespace, ocp_smart, power_management, self_test,
    smart,
};
use crate::nvme::{
    DrivePages, NvmeNode, OcpLogs, PageField, ReadPage, identify_controller, smart_log,
};
use crate::tool::Tools;
use steadfast_domain::Bytes;
use steadfast_domain::device_log::LatencyBuckets;
use steadfast_domain::power_cut::PowerCounters;

/// Data unit of the SMART log in bytes: 1000 blocks of 512 bytes (NVMe Base 2.1, 5.1.12.1.3).
pub(super) const DATA_UNIT: u64 = 512_000;

/// Unit of the counters of an endurance group in bytes (NVMe Base 2.1, 5.1.12.1.10).
const GROUP_UNIT: u128 = 1_000_000_000;

/// 0 degrees Celsius in kelvins, rounded as in the NVMe specification.
const ZERO_CELSIUS: f64 = 273.0;

/// Access to the OCP log of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OcpAccess {
    /// Not requested yet.
    Unknown,
    /// Requested with each reading.
    By(OcpLogs),
    /// Not listed, refused, or another vendor's page.
    Absent,
}

/// Access to the log of the OCP latency monitor (C3h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LatencyAccess {
    /// Not requested yet.
    Unknown,
    /// Requested with each reading.
    Enabled,
    /// Refused, another vendor's page, or not enabled.
    Absent,
}

/// Reads the counters of a controller. Once the OCP log is refused, or another vendor's page is in
/// its place, it is not requested again.
pub(super) fn counters(
    node: &NvmeNode,
    ocp: &mut OcpAccess,
    latency: &mut LatencyAccess,
    tools: &dyn Tools,
) -> Result<LogReading, HostError> {
    let admin = tools.open_nvme(node)?;
    let smart = smart_log(&*admin)?;
    if *ocp == OcpAccess::Unknown {
        let identity = identify_controller(&*admin)?;
        *ocp = OcpLogs::find(&*admin, &identity).map_or(OcpAccess::Absent, OcpAccess::By);
    }
    let mut extended = None;
    if let OcpAccess::By(logs) = *ocp {
        match logs.smart(&*admin) {
            Ok(page) if page.number(&ocp_smart::MEDIA_WRITTEN).is_some() => extended = Some(page),
            Ok(_) | Err(HostError::NvmeStatus { .. }) => *ocp = OcpAccess::Absent,
            // Without an answer, this reading lacks the OCP log; the next one may have it.
            Err(_) => {}
        }
    }
    let mut reading = log_reading(&smart, extended.as_ref());
    if let OcpAccess::By(logs) = *ocp
        && *latency != LatencyAccess::Absent
    {
        match logs.latency(&*admin) {
            Ok(page) if is_enabled(&page) => {
                *latency = LatencyAccess::Enabled;
                reading.latency_buckets = latency_buckets(&page);
                reading.latency_timer = page.count(&latency_monitor::TIMER);
            }
            Ok(_) | Err(HostError::NvmeStatus { .. }) => *latency = LatencyAccess::Absent,
            Err(_) => {}
        }
    }
    Ok(reading)
}

/// Returns true if the latency monitor counts.
fn is_enabled(page: &ReadPage) -> bool {
    page.count(&latency_monitor::STATUS).is_some_and(|status| status & 1 == 1)
}

/// Returns the counts of the active buckets; `None` if the page does not hold all of them.
fn latency_buckets(page: &ReadPage) -> Option<LatencyBuckets> {
    use latency_monitor::counters::{READ, TRIM, WRITE};
    let mut buckets = LatencyBuckets::default();
    let active = page.group(&latency_monitor::ACTIVE);
    for (number, bytes) in &active {
        let count = |field: &PageField| field.number_in(bytes)?.try_into().ok();
        buckets.reads[*number] = count(&READ)?;
        buckets.writes[*number] = count(&WRITE)?;
        buckets.trims[*number] = count(&TRIM)?;
    }
    (active.len() == buckets.reads.len()).then_some(buckets)
}

/// Returns the counters and the current state in a drive's pages.
pub(super) fn log(pages: &DrivePages) -> LogReading {
    let smart = pages.get(&smart::PAGE);
    LogReading {
        self_test: pages.get(&self_test::PAGE).and_then(running_self_test),
        ..smart.map(|smart| log_reading(smart, pages.get(&ocp_smart::PAGE))).unwrap_or_default()
    }
}

/// Returns the counters of the SMART log and of OCP's extended one.
fn log_reading(smart: &ReadPage, ocp: Option<&ReadPage>) -> LogReading {
    let sum = |a, b| smart.count(a).zip(smart.count(b)).and_then(|(a, b)| a.checked_add(b));
    let spare = smart.count(&smart::AVSP);
    let spare_threshold = smart.count(&smart::AVSPT);
    let ocp_count = |field| ocp.and_then(|page| page.count(field));
    let data_units = |field| Some(Bytes(smart.count(field)?.checked_mul(DATA_UNIT)?));
    let host_written = data_units(&smart::DUW);
    let nand_written = ocp_count(&ocp_smart::MEDIA_WRITTEN).map(Bytes);
    LogReading {
        host_written,
        host_read: data_units(&smart::DUR),
        nand_written,
        host_unit: host_written.map(|_| Bytes(DATA_UNIT)),
        // The page counts bytes; `DeviceLogs` learns in which steps.
        nand_unit: nand_written.map(|_| Bytes(1)),
        media_errors: smart.count(&smart::MDIE),
        // OCP counts throttling of any cause.
        throttle_events: ocp_count(&ocp_smart::THROTTLES)
            .or_else(|| sum(&smart::TMT1TC, &smart::TMT2TC)),
        throttled_seconds: sum(&smart::TTTMT1, &smart::TTTMT2),
        over_temperature_seconds: sum(&smart::WCTT, &smart::CCTT)
            .and_then(|minutes| minutes.checked_mul(60)),
        throttles_now: ocp_count(&ocp_smart::THROTTLING).map(|level| level != 0),
        critical_warning: smart.count(&smart::CW).and_then(|bits| bits.try_into().ok()),
        percentage_used: smart.count(&smart::PUSED),
        // Some drives report 0 spare with threshold 0 when they do not support the field.
        spare: spare.filter(|_| (spare, spare_threshold) != (Some(0), Some(0))),
        spare_threshold,
        temperature_celsius: smart.count(&smart::CTEMP).and_then(celsius),
        ..LogReading::default()
    }
}

/// Returns the counters of power losses in the SMART log.
pub(super) fn power_counters(smart: &ReadPage) -> PowerCounters {
    PowerCounters {
        power_cycles: smart.count(&smart::PWRC),
        unsafe_shutdowns: smart.count(&smart::UPL),
    }
}

fn celsius(kelvin: u64) -> Option<f64> {
    (1..1000).contains(&kelvin).then_some(kelvin as f64 - ZERO_CELSIUS)
}

fn running_self_test(page: &ReadPage) -> Option<SelfTest> {
    // Bits 3:0 of the operation, bits 6:0 of the completion.
    Some(match page.count(&self_test::CDSTO)? & 0xf {
        0 => SelfTest::Idle,
        _ => SelfTest::Running {
            done_percent: page.count(&self_test::CDSTC).map(|done| done & 0x7f),
        },
    })
}

/// Facts that only NVMe reports.
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
    /// Number of the power state that the controller is in.
    pub power_state: Option<usize>,
    /// Power states of the controller, by number.
    pub power_states: Vec<PowerState>,
    /// Bytes written over the drive's life.
    pub life_writes: Option<LifeWrites>,
    /// Setup of the OCP latency monitor.
    pub latency_monitor: Option<LatencyMonitor>,
    /// Result of the last self-test that ended (NVMe Base 2.1, 5.1.12.1.7): 0 for success.
    pub last_self_test: Option<u8>,
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

/// A power state of a controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PowerState {
    /// Maximum power in watts; `None` if not reported.
    pub watts: Option<f64>,
    /// True if the controller processes I/Os in this state.
    pub is_operational: bool,
}

/// Bytes written over a drive's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LifeWrites {
    /// Bytes written by the host.
    pub host: u128,
    /// Bytes written to the media.
    pub media: u128,
    /// Page that counts the media's bytes.
    pub source: &'static str,
}

/// Setup of the OCP latency monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LatencyMonitor {
    pub is_enabled: bool,
    /// Thresholds A to D in milliseconds.
    pub thresholds_ms: [u64; 4],
}

impl NvmeFacts {
    /// Returns the facts in a drive's pages.
    pub fn from_pages(pages: &DrivePages) -> NvmeFacts {
        let controller = pages.get(&controller::PAGE);
        let namespace = pages.get(&namespace::PAGE);
        let controller_count = |field| controller.and_then(|page| page.count(field));
        let power = pages.get(&power_management::PAGE);
        let power = power.and_then(|page| page.count(&power_management::VALUE));
        NvmeFacts {
            autonomous_power_states: controller_count(&controller::APSTA).map(|bits| bits & 1 == 1),
            warning_celsius: controller_count(&controller::WCTEMP).and_then(celsius),
            write_protected: namespace
                .and_then(|page| page.count(&namespace::NSATTR))
                .map(|bits| bits & 1 == 1),
            formats: namespace.map(formats).unwrap_or_default(),
            // Bits 4:0 of the feature.
            power_state: power.map(|value| (value & 0x1f) as usize),
            power_states: controller.map(power_states).unwrap_or_default(),
            life_writes: life_writes(pages),
            latency_monitor: pages.get(&latency_monitor::PAGE).and_then(latency_monitor),
            last_self_test: pages.get(&self_test::PAGE).and_then(last_self_test),
        }
    }
}

fn formats(page: &ReadPage) -> Vec<LbaFormat> {
    use namespace::lba_format::{LBADS, MS, RP};
    // FLBAS: bits 3:0 are the low bits, bits 6:5 the high bits of the format number.
    let in_use = page.count(&namespace::FLBAS).map(|bits| (bits & 0xf) | (bits >> 1 & 0x30));
    let last = page.count(&namespace::NLBAF).unwrap_or(0);
    let formats = page.group(&namespace::LBA_FORMATS).into_iter();
    formats
        .filter(|(number, _)| *number as u64 <= last)
        .filter_map(|(number, bytes)| {
            let sector = 1u64.checked_shl(LBADS.number_in(bytes)?.try_into().ok()?)?;
            // Smaller sizes mean that the format is not available.
            (1 << 9..=1 << 24).contains(&sector).then_some(LbaFormat {
                number,
                sector,
                metadata: MS.number_in(bytes)?.try_into().ok()?,
                performance: (RP.number_in(bytes)? & 3) as u64,
                in_use: in_use == Some(number as u64),
            })
        })
        .collect()
}

fn power_states(page: &ReadPage) -> Vec<PowerState> {
    use controller::power_state::{FLAGS, MP};
    let last = page.count(&controller::NPSS).unwrap_or(0);
    let states = page.group(&controller::POWER_STATES).into_iter();
    states
        .filter(|(number, _)| *number as u64 <= last)
        .map(|(_, bytes)| {
            let flags = FLAGS.number_in(bytes).unwrap_or(0);
            // Max Power Scale (bit 0): units of 0.1 mW instead of 10 mW.
            let unit = if flags & 1 == 1 { 0.0001 } else { 0.01 };
            let watts = MP.number_in(bytes).map(|power| power as f64 * unit);
            PowerState { watts, is_operational: flags & 2 == 0 }
        })
        .collect()
}

/// Returns the writes of the OCP log and the SMART log, or those of the endurance group.
fn life_writes(pages: &DrivePages) -> Option<LifeWrites> {
    let number = |layout, field| pages.get(layout).and_then(|page| page.number(field));
    let ocp = number(&ocp_smart::PAGE, &ocp_smart::MEDIA_WRITTEN);
    let host = number(&smart::PAGE, &smart::DUW);
    if let Some((media, units)) = ocp.zip(host) {
        let host = units.checked_mul(u128::from(DATA_UNIT))?;
        return Some(LifeWrites { host, media, source: "OCP log C0h" });
    }
    let media = number(&endurance::PAGE, &endurance::MUW)?.checked_mul(GROUP_UNIT)?;
    let host = number(&endurance::PAGE, &endurance::DUW)?.checked_mul(GROUP_UNIT)?;
    Some(LifeWrites { host, media, source: "endurance group, log 09h" })
}

fn latency_monitor(page: &ReadPage) -> Option<LatencyMonitor> {
    use latency_monitor::{STATUS, THRESHOLD_A, THRESHOLD_B, THRESHOLD_C, THRESHOLD_D};
    // A threshold is in units of 5 ms; 0 means 5 ms.
    let threshold = |field| page.count(field).map(|steps| (steps + 1) * 5);
    Some(LatencyMonitor {
        is_enabled: page.count(&STATUS)? & 1 == 1,
        thresholds_ms: [
            threshold(&THRESHOLD_A)?,
            threshold(&THRESHOLD_B)?,
            threshold(&THRESHOLD_C)?,
            threshold(&THRESHOLD_D)?,
        ],
    })
}

fn last_self_test(page: &ReadPage) -> Option<u8> {
    let (_, newest) = page.group(&self_test::RESULTS).into_iter().next()?;
    // Test in bits 7:4, result in bits 3:0; a result of Fh is an unused entry.
    let status = self_test::result::DSTS.number_in(newest)? as u8;
    let (test, result) = (status >> 4, status & 0xf);
    (test != 0 && result != 0xf).then_some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::transcript::Transcript;

    /// Places little-endian numbers in a page of zeros.
    fn page(length: usize, numbers: &[(usize, usize, u128)]) -> Vec<u8> {
        let mut bytes = vec![0; length];
        for (offset, size, number) in numbers {
            bytes[*offset..offset + size].copy_from_slice(&number.to_le_bytes()[..*size]);
        }
        bytes
    }

    const OCP_GUID: u128 = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5;

    fn smart_bytes() -> Vec<u8> {
        page(
            512,
            &[
                (1, 2, 311),
                (3, 1, 100),
                (4, 1, 10),
                (5, 1, 3),
                (48, 16, 18_530_117),
                (192, 4, 4),
                (196, 4, 1),
                (216, 4, 5),
                (220, 4, 2),
                (224, 4, 130),
                (228, 4, 17),
            ],
        )
    }

    fn ocp_bytes() -> Vec<u8> {
        page(
            512,
            &[
                (0, 16, 14_073_931_776_000),
                (96, 1, 9),
                (97, 1, 1),
                (494, 2, 3),
                (496, 16, OCP_GUID),
            ],
        )
    }

    fn read(bytes: Vec<u8>) -> ReadPage {
        ReadPage::new(&smart::PAGE, bytes)
    }

    #[test]
    fn the_smart_log_is_read() {
        let reading = log_reading(&read(smart_bytes()), None);
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
    fn what_the_log_does_not_hold_is_unknown() {
        assert_eq!(log_reading(&read(vec![0; 512]), None), LogReading::default());
        // No temperature, no spare, and a counter that no u64 holds.
        let odd = page(512, &[(0, 1, 9), (48, 16, u128::MAX)]);
        let odd = log_reading(&read(odd), None);
        assert_eq!((odd.critical_warning, odd.host_written), (Some(9), None));
        assert_eq!((odd.spare, odd.temperature_celsius), (None, None));
        // A short page reports the fields that it holds.
        let short = log_reading(&read(smart_bytes()[..64].to_vec()), None);
        assert_eq!(short.host_written, Some(Bytes(18_530_117 * 512_000)));
        assert_eq!((short.media_errors, short.throttle_events), (None, None));
    }

    #[test]
    fn the_ocp_log_adds_flash_writes_and_throttling() {
        let ocp = ReadPage::new(&ocp_smart::PAGE, ocp_bytes());
        let reading = log_reading(&read(smart_bytes()), Some(&ocp));
        assert_eq!(reading.nand_written, Some(Bytes(14_073_931_776_000)));
        assert_eq!(reading.throttle_events, Some(9), "OCP counts every cause");
        assert_eq!(reading.throttles_now, Some(true));
    }

    const SMART: &str = "Get Log Page 02h";
    const IDENTITY: &str = "Identify (CNS 01h)";
    const OCP: &str = "Get Log Page C0h";

    #[test]
    fn only_a_refusal_ends_the_reading_of_the_ocp_log() {
        // Version 1.4, which has no list of log pages.
        let identity = || page(4096, &[(80, 4, 0x1_0400)]);
        let begin = || {
            Transcript::default()
                .nvme_returns(SMART, smart_bytes())
                .nvme_returns(IDENTITY, identity())
        };
        for (tools, written, is_there) in [
            (begin().nvme_returns(OCP, ocp_bytes()), Some(Bytes(14_073_931_776_000)), true),
            (begin().nvme_call_fails(OCP, libc::EINTR), None, true),
            (begin().nvme_fails(OCP, 0x4109), None, false),
            (begin().nvme_returns(OCP, page(512, &[(0, 16, 7), (496, 16, 1)])), None, false),
            (begin().nvme_returns(OCP, vec![0; 512]), None, false),
        ] {
            let mut ocp = OcpAccess::Unknown;
            let reading = counters(&node(), &mut ocp, &mut LatencyAccess::Absent, &tools).unwrap();
            assert!(tools.is_over());
            assert_eq!((reading.nand_written, ocp != OcpAccess::Absent), (written, is_there));
        }
    }

    /// Log pages that the controller does not list are not requested: each refusal is an entry in
    /// the drive's error log.
    #[test]
    fn an_unlisted_ocp_log_is_not_requested() {
        let list = |entry| page(1024, &[(0xc0 * 4, 4, entry)]);
        let begin = || {
            Transcript::default()
                .nvme_returns(SMART, smart_bytes())
                .nvme_returns(IDENTITY, page(4096, &[(80, 4, 0x2_0000), (96, 4, 1 << 9)]))
        };
        let mut ocp = OcpAccess::Unknown;
        let tools = begin().nvme_returns("Get Log Page 00h", list(0));
        counters(&node(), &mut ocp, &mut LatencyAccess::Absent, &tools).unwrap();
        assert_eq!((ocp, tools.is_over()), (OcpAccess::Absent, true));

        // Entry 2 of the UUID list is that of the OCP.
        let mut uuids = vec![0; 4096];
        uuids[80..96]
            .copy_from_slice(&0xc194_d55b_e094_4794_a21d_2999_8f56_be6f_u128.to_be_bytes());
        let tools = begin()
            .nvme_returns("Get Log Page 00h", list(1))
            .nvme_returns("Identify (CNS 17h)", uuids)
            .nvme_returns(OCP, ocp_bytes());
        let mut ocp = OcpAccess::Unknown;
        counters(&node(), &mut ocp, &mut LatencyAccess::Absent, &tools).unwrap();
        assert_eq!(tools.last_dwords(), [0x007f_00c0, 0, 0, 0, 2, 0]);
        assert!(matches!(ocp, OcpAccess::By(_)) && tools.is_over());
    }

    const LATENCY: &str = "Get Log Page C3h";

    /// A page of the latency monitor: bucket n has n + 1 reads, 10 n writes and no deallocates.
    fn latency_bytes(status: u128) -> Vec<u8> {
        let guid = 0x85d4_5e58_d4e6_4370_9c6c_84d0_8cc0_7a92;
        let mut fields = vec![(0, 1, status), (2, 2, 77), (494, 2, 4), (496, 16, guid)];
        for bucket in 0..4 {
            let place = 32 + 16 * bucket;
            fields.push((place + 8, 4, 10 * bucket as u128));
            fields.push((place + 12, 4, bucket as u128 + 1));
        }
        page(512, &fields)
    }

    #[test]
    fn the_latency_monitor_is_read_while_it_is_enabled() {
        // Version 1.4, which has no list of log pages.
        let identity = ReadPage::new(&controller::PAGE, page(4096, &[(80, 4, 0x1_0400)]));
        let logs = OcpLogs::find(&&Transcript::default(), &identity).unwrap();
        let mut newer = latency_bytes(1);
        newer[494] = 9;
        let counts = Some(([1, 2, 3, 4], [0, 10, 20, 30]));
        for (bytes, expected, access) in [
            (latency_bytes(1), counts, LatencyAccess::Enabled),
            (newer, counts, LatencyAccess::Enabled),
            (latency_bytes(0), None, LatencyAccess::Absent),
            (vec![0; 512], None, LatencyAccess::Absent),
        ] {
            let tools = Transcript::default()
                .nvme_returns(SMART, smart_bytes())
                .nvme_returns(OCP, ocp_bytes())
                .nvme_returns(LATENCY, bytes);
            let (mut ocp, mut latency) = (OcpAccess::By(logs), LatencyAccess::Unknown);
            let found = counters(&node(), &mut ocp, &mut latency, &tools).unwrap();
            let buckets = found.latency_buckets.map(|buckets| (buckets.reads, buckets.writes));
            assert_eq!((buckets, latency, tools.is_over()), (expected, access, true));
        }
        // A refused page is not requested again, a broken command is.
        let begin = || {
            Transcript::default().nvme_returns(SMART, smart_bytes()).nvme_returns(OCP, ocp_bytes())
        };
        for (tools, access) in [
            (begin().nvme_fails(LATENCY, 0x4109), LatencyAccess::Absent),
            (begin().nvme_call_fails(LATENCY, libc::EACCES), LatencyAccess::Unknown),
        ] {
            let (mut ocp, mut latency) = (OcpAccess::By(logs), LatencyAccess::Unknown);
            let found = counters(&node(), &mut ocp, &mut latency, &tools).unwrap();
            assert_eq!((found.latency_buckets, latency), (None, access));
            assert!(found.nand_written.is_some(), "the other pages count");
        }
    }

    fn node() -> NvmeNode {
        let machine = crate::testing::machine::MachineFixture::new();
        NvmeNode::of_namespace(&machine.nvme(0, 1, 1000), &machine.roots)
    }

    #[test]
    fn self_tests_are_seen_while_they_run_and_after() {
        let log = |operation, done| {
            let bytes = page(564, &[(0, 1, operation), (1, 1, done)]);
            running_self_test(&ReadPage::new(&self_test::PAGE, bytes))
        };
        assert_eq!(log(0, 0), Some(SelfTest::Idle));
        assert_eq!(log(2, 0x80 | 50), Some(SelfTest::Running { done_percent: Some(50) }));
        assert_eq!(running_self_test(&ReadPage::new(&self_test::PAGE, vec![])), None);
        let last =
            |status| last_self_test(&ReadPage::new(&self_test::PAGE, page(564, &[(4, 1, status)])));
        assert_eq!((last(0x20), last(0x17), last(0x0f), last(0)), (Some(0), Some(7), None, None));
    }

    #[test]
    fn formats_and_power_states_are_those_that_the_drive_counts() {
        let bytes = page(
            4096,
            &[
                (25, 1, 2),
                (26, 1, 1),
                // 512 B, good; 4096 B with 8 B of metadata, best; not available.
                (128, 4, 0x0209_0000),
                (132, 4, 0x000c_0008),
                (136, 4, 0),
                // Beyond the number of formats.
                (140, 4, 0x0009_0000),
            ],
        );
        let found = formats(&ReadPage::new(&namespace::PAGE, bytes));
        let format = |number, sector, metadata, performance, in_use| LbaFormat {
            number,
            sector,
            metadata,
            performance,
            in_use,
        };
        assert_eq!(found, [format(0, 512, 0, 2, false), format(1, 4096, 8, 0, true)]);

        let bytes =
            page(4096, &[(263, 1, 1), (2048, 2, 825), (2080, 2, 500), (2083, 1, 3), (2112, 2, 9)]);
        let states = power_states(&ReadPage::new(&controller::PAGE, bytes));
        let state = |watts, is_operational| PowerState { watts: Some(watts), is_operational };
        assert_eq!(states, [state(8.25, true), state(0.05, false)]);
    }
}
