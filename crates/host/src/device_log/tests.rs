use super::*;
use crate::testing::machine::MachineFixture;
use steadfast_domain::Bytes;
use steadfast_domain::device_log::{DeviceCounters, LatencyBuckets, LogDelta, WriteAmplification};

fn reading(host: u64, nand: u64) -> LogReading {
    LogReading {
        host_written: Some(Bytes(host)),
        nand_written: Some(Bytes(nand)),
        host_read: Some(Bytes(700)),
        host_unit: Some(Bytes(100)),
        nand_unit: Some(Bytes(1)),
        media_errors: Some(3),
        throttle_events: Some(10),
        throttled_seconds: Some(100),
        over_temperature_seconds: Some(60),
        critical_warning: Some(0),
        ..LogReading::default()
    }
}

#[test]
fn a_step_is_what_was_counted_between_two_readings() {
    let before = reading(1_000, 2_000);
    let after = LogReading {
        throttle_events: Some(12),
        throttled_seconds: Some(130),
        over_temperature_seconds: Some(120),
        critical_warning: Some(2),
        host_read: Some(Bytes(1_000)),
        ..reading(5_000, 11_000)
    };
    let counters = |host, read, nand| DeviceCounters {
        host_written: Some(Bytes(host)),
        host_read: Some(Bytes(read)),
        nand_written: Some(Bytes(nand)),
    };
    let expected = LogDelta {
        host_written: Some(Bytes(4_000)),
        nand_written: Some(Bytes(9_000)),
        host_read: Some(Bytes(300)),
        host_unit: Some(Bytes(100)),
        nand_unit: Some(Bytes(1)),
        before: Some(counters(1_000, 700, 2_000)),
        after: Some(counters(5_000, 1_000, 11_000)),
        media_errors: Some(0),
        throttle_events: Some(2),
        throttle_seconds: Some(60),
        critical_warning: Some(2),
        ..LogDelta::default()
    };
    assert_eq!(after.since(&before), expected);
}

#[test]
fn the_latency_monitor_counts_until_it_is_reset() {
    let at = |timer, reads| LogReading {
        latency_timer: Some(timer),
        latency_buckets: Some(LatencyBuckets { reads, ..LatencyBuckets::default() }),
        ..reading(1, 1)
    };
    let before = at(7, [10, 4, 0, 0]);
    let counted = at(8, [13, 4, 1, 0]).since(&before);
    assert_eq!(counted.latency_buckets.map(|buckets| buckets.reads), Some([3, 0, 1, 0]));
    assert!(!counted.latency_was_reset);
    // The counts may have passed the old ones again; the timer has not.
    for after in [at(8, [13, 3, 1, 0]), at(0, [13, 4, 1, 0])] {
        let reset = after.since(&before);
        assert_eq!((reset.latency_buckets, reset.latency_was_reset), (None, true));
    }
    let gone = reading(1, 1).since(&before);
    assert_eq!((gone.latency_buckets, gone.latency_was_reset), (None, false));
}

#[test]
fn a_counter_that_was_reset_or_is_missing_counts_nothing() {
    let before = reading(1_000, 2_000);
    let after = LogReading { nand_written: None, ..reading(5, 0) };
    let delta = after.since(&before);
    assert_eq!((delta.host_written, delta.nand_written), (None, None));
    assert_eq!((delta.host_unit, delta.nand_unit), (None, None));
    assert_eq!(WriteAmplification::from_log(&delta), None);
    assert!(delta.went_backwards);
    assert_eq!(delta.media_errors, Some(0));
    let nothing = LogReading::default().since(&LogReading::default());
    assert_eq!(nothing, LogDelta::default());
}

fn logs(machine: &MachineFixture, node: &SysfsNode) -> DeviceLogs {
    DeviceLogs::new(&machine.device(node), &machine.roots)
}

#[test]
fn the_logs_are_the_controller_s_or_the_whole_drive_s() {
    let machine = MachineFixture::new();
    let nvme = machine.nvme(3, 1, 1000);
    let sata = machine.sata("sda", "8:0", 1000);
    let part = machine.partition(&sata, "sda2", "8:2", 100);
    let memory = machine.block("virtual/block/zram0", "252:0", 1000);
    let at = |name: &str| machine.path("dev").join(name).to_string_lossy().into_owned();
    let access = || match logs(&machine, &nvme).access {
        Some(LogAccess::Nvme { node, ocp: OcpAccess::Unknown, .. }) => node.path,
        other => panic!("{other:?}"),
    };
    // A container may have only the namespace's node.
    assert_eq!(access(), machine.path("dev/nvme3n1"));
    machine.write("dev/nvme3", "");
    assert_eq!(access(), machine.path("dev/nvme3"));
    let expected = LogAccess::Smart { path: at("sda"), transport: Transport::Sata };
    assert_eq!(logs(&machine, &part).access, Some(expected));
    assert!(logs(&machine, &memory).access.is_none());
    assert_eq!(logs(&machine, &memory).read(), None);
}

#[test]
fn a_device_is_not_read_again_after_its_first_failure_or_several_later_ones() {
    let (machine, sata) = MachineFixture::with_sata(1000);
    for (answered, failures) in [(false, 1), (true, FAILURES_MAX)] {
        let mut logs = logs(&machine, &sata);
        logs.answered = answered;
        for _ in 0..failures {
            assert!(logs.access.is_some());
            // A regular file has no logs, whether smartctl is installed or not.
            assert_eq!(logs.read(), None);
        }
        assert!(logs.access.is_none() && logs.given_up().is_some());
        assert_eq!(logs.read(), None);
    }
}
