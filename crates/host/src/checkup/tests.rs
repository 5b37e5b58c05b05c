use super::*;
use crate::device_log::{
    DeviceHealth, LatencyMonitor, LifeWrites, LogReading, NvmeFacts, PowerState, SelfTest,
};
use crate::sysfs_node::SysfsNode;
use crate::testing::machine::MachineFixture;
use steadfast_domain::drive_page::{DrivePage, PageState};
use steadfast_domain::record::CheckState::{self, Attention, Bad, Good, Unknown};

/// PCI function of the machine's NVMe controller 0.
const FUNCTION: &str = "sys/devices/pci0000:00/0000:00:1d.0/0000:00:00.0";

/// Runs all checks except those of the device's logs, which would run tools.
fn all_checks(machine: &MachineFixture, node: &SysfsNode) -> Vec<Check> {
    let device = machine.device(node);
    let subject = CheckSubject::new(&device, &machine.roots);
    let watching = activity::ActivityWatch::begin(&subject);
    let mut checks = device_data::checks(&subject);
    checks.extend(link::checks(&subject, None));
    checks.extend(queue::checks(&subject, None));
    checks.extend(health::checks(&subject, None));
    checks.extend(processors::checks(&subject));
    checks.push(cgroup::check(&subject));
    checks.extend(timers::checks(&subject));
    checks.extend(watching.end(&subject, Duration::ZERO));
    checks
}

fn check_of<'c>(checks: &'c [Check], id: &str) -> Option<&'c Check> {
    checks.iter().find(|check| check.id == id)
}

/// Runs all checks and returns the state and text of one. Asserts that it has advice exactly if it is
/// ATTENTION or BAD.
fn check(machine: &MachineFixture, node: &SysfsNode, id: &str) -> Option<(CheckState, String)> {
    let checks = all_checks(machine, node);
    let check = check_of(&checks, id)?;
    let must_advise = matches!(check.state, Attention | Bad);
    assert_eq!(must_advise, !check.advice.is_empty(), "{check:?}");
    Some((check.state, check.found.clone()))
}

fn check_state(machine: &MachineFixture, node: &SysfsNode, id: &str) -> Option<CheckState> {
    check(machine, node, id).map(|(state, _)| state)
}

fn nvme_machine() -> (MachineFixture, SysfsNode) {
    let (machine, disk) = MachineFixture::with_nvme(1_953_525_168);
    for (attribute, value) in [
        ("class", "0x010802"),
        ("vendor", "0x144d"),
        ("device", "0xa80a"),
        ("current_link_speed", "16.0 GT/s PCIe"),
        ("max_link_speed", "16.0 GT/s PCIe"),
        ("current_link_width", "4"),
        ("max_link_width", "4"),
        ("numa_node", "0"),
        ("local_cpulist", "0-3"),
    ] {
        machine.write(&format!("{FUNCTION}/{attribute}"), format!("{value}\n"));
    }
    for (path, value) in [
        ("sys/devices/system/cpu/online", "0-3"),
        ("sys/devices/system/node/online", "0"),
        ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n"),
        ("proc/stat", "cpu  100 0 100 1000 0 0 0 0 0 0"),
        ("proc/loadavg", "0.10 0.20 0.30 1/100 4242"),
    ] {
        machine.write(path, format!("{value}\n"));
    }
    (machine, disk)
}

#[test]
fn every_check_has_a_name_of_its_own_and_a_subject() {
    let (machine, disk) = nvme_machine();
    let checks = all_checks(&machine, &disk);
    let mut ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
    assert!(checks.iter().all(|check| !check.subject.is_empty() && !check.found.is_empty()));
}

#[test]
fn a_narrow_or_slow_link_is_bad_and_says_what_the_slot_can() {
    let (machine, disk) = nvme_machine();
    let full = "16 GT/s x4; the device supports 16 GT/s x4".to_owned();
    assert_eq!(check(&machine, &disk, "pcie-link"), Some((Good, full)));
    machine.write(&format!("{FUNCTION}/current_link_width"), "2\n");
    let narrow = "16 GT/s x2; the device supports 16 GT/s x4".to_owned();
    assert_eq!(check(&machine, &disk, "pcie-link"), Some((Bad, narrow)));
    machine.write(&format!("{FUNCTION}/current_link_speed"), "Unknown speed\n");
    assert_eq!(check_state(&machine, &disk, "pcie-link"), Some(Unknown));
    machine.write(&format!("{FUNCTION}/current_link_speed"), "8.0 GT/s PCIe\n");
    machine.write("sys/devices/pci0000:00/0000:00:1d.0/max_link_speed", "8.0 GT/s PCIe\n");
    machine.write("sys/devices/pci0000:00/0000:00:1d.0/max_link_width", "4\n");
    let checks = all_checks(&machine, &disk);
    let link = check_of(&checks, "pcie-link").unwrap();
    assert!(link.advice.contains("the slot supports 8 GT/s x4"), "{}", link.advice);
}

#[test]
fn a_sata_link_its_mode_and_its_sleep_are_seen() {
    let (machine, disk) = MachineFixture::with_sata(1000);
    let port = "sys/devices/pci0000:00/0000:00:17.0/ata1";
    for attribute in ["class", "vendor", "device"] {
        machine.write(&format!("sys/devices/pci0000:00/0000:00:17.0/{attribute}"), "0x1\n");
    }
    machine.write(&format!("{port}/link1/ata_link/link1/sata_spd"), "3.0 Gbps\n");
    machine.write(
        &format!("{port}/host0/scsi_host/host0/link_power_management_policy"),
        "med_power_with_dipm\n",
    );
    machine.write("sys/bus/pci/drivers/ata_piix/bind", "");
    machine.link("sys/devices/pci0000:00/0000:00:17.0/driver", "sys/bus/pci/drivers/ata_piix");
    machine.set(&disk, "device/queue_depth", "1\n");
    assert_eq!(check_state(&machine, &disk, "sata-link"), Some(Bad));
    assert_eq!(check_state(&machine, &disk, "link-power"), Some(Attention));
    assert_eq!(check_state(&machine, &disk, "sata-mode"), Some(Attention));
    assert_eq!(check_state(&machine, &disk, "queue-depth"), Some(Attention));

    machine.write(&format!("{port}/link1/ata_link/link1/sata_spd"), "6.0 Gbps\n");
    machine.set(&disk, "device/queue_depth", "32\n");
    let depth = check(&machine, &disk, "queue-depth");
    assert_eq!(depth, Some((Good, "NCQ 32".to_owned())));
    assert_eq!(check_state(&machine, &disk, "sata-link"), Some(Good));
}

#[test]
fn link_power_management_is_on_off_or_unknown() {
    let (machine, disk) = nvme_machine();
    let policy = "sys/module/pcie_aspm/parameters/policy";
    assert_eq!(check_state(&machine, &disk, "aspm"), Some(Unknown));
    machine.write(policy, "[default] performance powersave powersupersave\n");
    assert_eq!(check_state(&machine, &disk, "aspm"), Some(Unknown));
    machine.write(&format!("{FUNCTION}/link/l1_aspm"), "0\n");
    assert_eq!(check_state(&machine, &disk, "aspm"), Some(Good));
    machine.write(&format!("{FUNCTION}/link/l1_aspm"), "1\n");
    let on = check(&machine, &disk, "aspm");
    assert_eq!(on, Some((Attention, "l1_aspm on; policy default".to_owned())));

    let tolerance = "sys/module/nvme_core/parameters/default_ps_max_latency_us";
    assert_eq!(check_state(&machine, &disk, "apst"), Some(Unknown));
    machine.write(tolerance, "0\n");
    assert_eq!(check_state(&machine, &disk, "apst"), Some(Good));
    machine.write(tolerance, "100000\n");
    assert_eq!(check_state(&machine, &disk, "apst"), Some(Unknown));
}

#[test]
fn runtime_power_management_counts_where_something_implements_it() {
    let (machine, disk) = nvme_machine();
    assert_eq!(check_state(&machine, &disk, "runtime-pm"), None);
    machine.write(&format!("{FUNCTION}/power/control"), "auto\n");
    machine.write(&format!("{FUNCTION}/power/runtime_status"), "unsupported\n");
    assert_eq!(check_state(&machine, &disk, "runtime-pm"), None);
    machine.write(&format!("{FUNCTION}/power/runtime_status"), "active\n");
    let on = "controller auto (active): may be suspended when idle".to_owned();
    assert_eq!(check(&machine, &disk, "runtime-pm"), Some((Attention, on)));
    machine.write(&format!("{FUNCTION}/power/control"), "on\n");
    let off = "controller on (active)".to_owned();
    assert_eq!(check(&machine, &disk, "runtime-pm"), Some((Good, off)));
}

#[test]
fn a_disk_of_the_running_system_is_bad() {
    let (machine, system) = MachineFixture::with_sata(1000);
    let part = machine.partition(&system, "sda1", "8:1", 100);
    let other = machine.nvme(0, 1, 1000);
    machine.mount(&[("8:1", "/", "ext4", "/dev/sda1")]);
    machine.write("proc/swaps", "Filename Type\n/dev/sda1 partition 9 0 -2\n");
    let (state, text) = check(&machine, &system, "boot-disk").unwrap();
    assert_eq!(state, Bad);
    assert!(text.starts_with("sda holds /") && text.ends_with("swap"), "{text}");
    assert_eq!(check(&machine, &part, "boot-disk").unwrap().0, Bad);
    assert_eq!(check(&machine, &other, "boot-disk").unwrap().0, Good);
    assert_eq!(check(&machine, &system, "in-use").unwrap().0, Bad);
    assert_eq!(check(&machine, &other, "in-use").unwrap().0, Good);
}

#[test]
fn a_loop_device_lies_where_its_file_lies() {
    let (machine, system) = MachineFixture::with_sata(1000);
    machine.mount(&[("8:0", "/", "ext4", "/dev/sda")]);
    let over = machine.block("virtual/block/loop0", "7:0", 1000);
    assert_eq!(check(&machine, &over, "boot-disk").unwrap().0, Good);
    machine.lay_over(&over, "/some/file.img");
    let lies = check(&machine, &over, "boot-disk");
    assert_eq!(lies, Some((Attention, format!("{} holds /", system.name))));
    assert_eq!(check(&machine, &over, "device-kind").unwrap().0, Attention);
}

#[test]
fn a_partition_must_begin_where_flash_pages_do() {
    let (machine, disk) = MachineFixture::with_sata(1_000_000_000);
    let part = machine.partition(&disk, "sda1", "8:1", 100);
    for (start, state) in [("2048", Good), ("63", Bad), ("8", Attention), ("x", Unknown)] {
        machine.set(&part, "start", start);
        assert_eq!(check(&machine, &part, "alignment").unwrap().0, state, "{start}");
    }
    assert_eq!(check(&machine, &disk, "alignment").unwrap().0, Good);
    machine.set(&disk, "alignment_offset", "3584\n");
    assert_eq!(check(&machine, &disk, "alignment").unwrap().0, Bad);
}

#[test]
fn the_queue_is_read() {
    let (machine, disk) = nvme_machine();
    machine.set(&disk, "queue/nr_requests", "1023\n");
    for queue in 0..4 {
        machine.set(&disk, &format!("mq/{queue}/nr_tags"), "1023\n");
    }
    let depth = check(&machine, &disk, "queue-depth");
    assert_eq!(depth, Some((Good, "4 hardware queues of 1023 requests".to_owned())));
    assert_eq!(check_state(&machine, &disk, "scheduler"), Some(Good));
    machine.set(&disk, "queue/scheduler", "none [mq-deadline] kyber\n");
    assert_eq!(check_state(&machine, &disk, "scheduler"), Some(Attention));
    assert_eq!(check_state(&machine, &disk, "trim"), Some(Good));
    machine.set(&disk, "queue/discard_max_bytes", "0\n");
    machine.set(&disk, "queue/discard_max_hw_bytes", "1048576\n");
    assert_eq!(check_state(&machine, &disk, "trim"), Some(Attention));
    let sectors = check(&machine, &disk, "sector-format");
    let unknown = "512e: 512 B logical, 4096 B physical; the device's LBA formats are unknown";
    assert_eq!(sectors, Some((Unknown, unknown.to_owned())));
}

#[test]
fn a_better_lba_format_is_pointed_out() {
    let (machine, disk) = nvme_machine();
    let device = machine.device(&disk);
    let subject = CheckSubject::new(&device, &machine.roots);
    let format = |number, sector, performance, in_use| crate::device_log::LbaFormat {
        number,
        sector,
        metadata: 0,
        performance,
        in_use,
    };
    let look = |formats: Vec<_>| {
        let facts = crate::device_log::NvmeFacts { formats, ..Default::default() };
        check_of(&queue::checks(&subject, Some(&facts)), "sector-format").unwrap().clone()
    };
    let worse = look(vec![format(0, 512, 2, true), format(1, 4096, 0, false)]);
    assert_eq!(worse.state, Attention);
    assert!(
        worse.found.ends_with(
            "LBA format 0 (512 B, good); the device rates format 1 (4096 B, best) better"
        )
    );
    assert_eq!(look(vec![format(0, 512, 2, false), format(1, 4096, 0, true)]).state, Good);
    assert_eq!(look(vec![format(0, 512, 2, false)]).state, Unknown);
}

#[test]
fn clock_and_idle_states_are_judged() {
    let (machine, disk) = nvme_machine();
    let cpu = "sys/devices/system/cpu";
    assert_eq!(check_state(&machine, &disk, "governor"), Some(Unknown));
    assert_eq!(check_state(&machine, &disk, "idle-states"), Some(Unknown));
    machine.write(&format!("{cpu}/cpu0/cpufreq/scaling_governor"), "performance\n");
    assert_eq!(check_state(&machine, &disk, "governor"), Some(Good));
    machine.write(&format!("{cpu}/cpu1/cpufreq/scaling_governor"), "schedutil\n");
    assert_eq!(check_state(&machine, &disk, "governor"), Some(Attention));
    for (number, name, latency, disable) in [(0, "POLL", 0, 0), (1, "C1", 2, 0), (2, "C6", 133, 0)]
    {
        let at = format!("{cpu}/cpu1/cpuidle/state{number}");
        machine.write(&format!("{at}/name"), name);
        machine.write(&format!("{at}/latency"), format!("{latency}\n"));
        machine.write(&format!("{at}/disable"), format!("{disable}\n"));
    }
    let deep = check(&machine, &disk, "idle-states");
    assert_eq!(deep, Some((Attention, "deepest enabled: C6, 133 us to wake".to_owned())));
    machine.write(&format!("{cpu}/cpu1/cpuidle/state2/disable"), "1\n");
    assert_eq!(check_state(&machine, &disk, "idle-states"), Some(Good));
    machine.write(&format!("{cpu}/intel_pstate/no_turbo"), "0\n");
    assert_eq!(check_state(&machine, &disk, "turbo"), Some(Good));
    assert_eq!(throttle_count(&machine.roots), None);
    machine.write(&format!("{cpu}/cpu1/thermal_throttle/core_throttle_count"), "3\n");
    machine.write(&format!("{cpu}/cpu1/thermal_throttle/package_throttle_count"), "7\n");
    assert_eq!(throttle_count(&machine.roots), Some(7));
    assert_eq!(check_state(&machine, &disk, "cpu-throttle"), Some(Attention));
}

#[test]
fn processors_far_from_the_device_are_counted() {
    let (machine, disk) = nvme_machine();
    assert_eq!(check_state(&machine, &disk, "numa"), Some(Good));
    machine.write("sys/devices/system/node/online", "0-1\n");
    machine.write("sys/devices/system/node/node0/distance", "10 21\n");
    let near = check(&machine, &disk, "numa").unwrap();
    assert_eq!(near.0, Good);
    assert!(near.1.contains("distances 10 21"), "{}", near.1);
    machine.write("proc/self/status", "Cpus_allowed_list:\t0-7\n");
    let far = check(&machine, &disk, "numa").unwrap();
    assert_eq!(far.0, Attention);
    assert!(far.1.ends_with("this process may use 4 distant processors of 8"), "{}", far.1);
    machine.write(&format!("{FUNCTION}/numa_node"), "-1\n");
    assert_eq!(check_state(&machine, &disk, "numa"), Some(Unknown));
}

#[test]
fn interrupts_that_all_land_on_one_processor_are_seen() {
    let (machine, disk) = nvme_machine();
    assert_eq!(check_state(&machine, &disk, "interrupts"), Some(Unknown));
    machine.write(
        "proc/interrupts",
        "           CPU0       CPU1\n 40:  1 0  PCI-MSIX-0000:00:00.0 0-edge nvme0q0\n \
         41: 5 0 PCI-MSIX 1-edge nvme0q1\n 42: 5 0 PCI-MSIX 2-edge nvme0q2\n 9: 1 1 x acpi\nNMI: 0\n",
    );
    for number in [40, 41, 42] {
        machine.write(&format!("{FUNCTION}/msi_irqs/{number}"), "msix\n");
        machine.write(&format!("proc/irq/{number}/effective_affinity_list"), "1\n");
    }
    let crowded = check(&machine, &disk, "interrupts");
    assert_eq!(crowded, Some((Attention, "2 interrupts on processor 1".to_owned())));
    machine.write("proc/irq/42/effective_affinity_list", "2\n");
    let spread = check(&machine, &disk, "interrupts");
    assert_eq!(spread, Some((Good, "2 interrupts on 2 processors".to_owned())));
}

#[test]
fn foreign_io_is_counted_and_a_busy_host_seen() {
    let (machine, disk) = nvme_machine();
    machine.set(&disk, "stat", "100 0 800 0 100 0 800 0 0 0 0");
    let device = machine.device(&disk);
    let subject = CheckSubject::new(&device, &machine.roots);
    let states = |reads: u64, user: u64| {
        machine.set(&disk, "stat", "100 0 800 0 100 0 800 0 0 0 0");
        machine.write("proc/stat", "cpu 100 0 100 1000 0 0 0 0\n");
        let watch = activity::ActivityWatch::begin(&subject);
        machine.set(&disk, "stat", format!("{} 0 800 0 100 0 800 0 0 0 0", 100 + reads));
        machine.write("proc/stat", format!("cpu {} 0 100 1100 0 0 0 0\n", 100 + user));
        let checks = watch.end(&subject, Duration::from_millis(200));
        let state = |id: &str| check_of(&checks, id).unwrap().state;
        (state("background-io"), state("load"))
    };
    assert_eq!(states(0, 1), (Good, Good));
    // One read within 0.2 s, or somewhat longer on a slow machine.
    assert_eq!(states(1, 900), (Attention, Attention));
    assert_eq!(states(1_000_000, 1).0, Bad);
}

#[test]
fn our_own_processor_time_is_not_load() {
    let (machine, disk) = nvme_machine();
    let device = machine.device(&disk);
    let subject = CheckSubject::new(&device, &machine.roots);
    let own = |ticks: u64| format!("9 (a b) c) S 1 1 1 0 -1 0 0 0 0 0 7 8 {ticks} 10 20 0 1\n");
    machine.write("proc/self/stat", own(0));
    let watch = activity::ActivityWatch::begin(&subject);
    machine.write("proc/stat", "cpu 200 0 100 1100 0 0 0 0\n");
    machine.write("proc/self/stat", own(90));
    let checks = watch.end(&subject, Duration::ZERO);
    let load = check_of(&checks, "load").unwrap();
    assert!(load.found.starts_with("processors 5 % busy"), "{}", load.found);
    assert_eq!(load.state, Good);
}

#[test]
fn programs_that_hold_the_device_or_load_disks_are_named() {
    let (machine, disk) = nvme_machine();
    assert_eq!(check_state(&machine, &disk, "programs"), Some(Unknown));
    machine.write("proc/10/comm", "bash\n");
    assert_eq!(check_state(&machine, &disk, "programs"), Some(Good));
    assert_eq!(check_state(&machine, &disk, "open-handles"), Some(Good));
    machine.write("proc/11/comm", "smartd\n");
    machine.link("proc/11/fd/3", "dev/nvme0n1");
    let open = check(&machine, &disk, "open-handles");
    assert_eq!(open, Some((Attention, "open in smartd (11)".to_owned())));
    machine.write("proc/12/comm", "fio\n");
    machine.link("proc/12/fd/5", "dev/nvme0n1");
    assert_eq!(check_state(&machine, &disk, "open-handles"), Some(Bad));
    let (state, text) = check(&machine, &disk, "programs").unwrap();
    assert_eq!(state, Attention);
    assert!(text.contains("fio (12): puts load on a disk; smartd (11): reads"), "{text}");
    // A capture loads no disk; a run does.
    machine.write("proc/13/comm", "steadfast\n");
    machine.write("proc/13/cmdline", "steadfast\0--quiet\0capture\0-o\0t.parquet\0");
    machine.write("proc/14/comm", "steadfast\n");
    machine.write("proc/14/cmdline", "steadfast\0run\0iops\0");
    let (_, text) = check(&machine, &disk, "programs").unwrap();
    assert!(text.contains("steadfast (14)") && !text.contains("(13)"), "{text}");
}

#[test]
fn scarce_memory_and_swapping_are_seen() {
    let (machine, disk) = nvme_machine();
    let memory = |available: u64| {
        let text = format!(
            "MemTotal: 16777216 kB\nMemAvailable: {available} kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n"
        );
        machine.write("proc/meminfo", text);
        check(&machine, &disk, "memory")
    };
    assert_eq!(memory(8_000_000).unwrap().0, Good);
    assert_eq!(memory(100_000).unwrap().0, Attention);
    machine.write("proc/pressure/memory", "some avg10=12.50 avg60=0.00 total=1\nfull avg10=0.00\n");
    let pressed = memory(8_000_000).unwrap();
    assert_eq!(pressed.0, Attention);
    assert!(pressed.1.ends_with("61.4 kB swapped out, stalled 12.5 %"), "{}", pressed.1);
}

#[test]
fn a_virtual_machine_is_no_place_to_measure() {
    let (machine, disk) = nvme_machine();
    assert_eq!(check_state(&machine, &disk, "virtual-machine"), Some(Unknown));
    machine.write("proc/cpuinfo", "flags\t\t: fpu vme\n");
    assert_eq!(check_state(&machine, &disk, "virtual-machine"), Some(Good));
    machine.write("proc/cpuinfo", "flags\t\t: fpu vme hypervisor\n");
    machine.write("sys/class/dmi/id/sys_vendor", "QEMU\n");
    let (state, text) = check(&machine, &disk, "virtual-machine").unwrap();
    assert_eq!((state, text.as_str()), (Attention, "runs under a hypervisor (QEMU)"));
}

#[test]
fn scheduled_jobs_are_listed() {
    let (machine, disk) = nvme_machine();
    assert_eq!(check_state(&machine, &disk, "cron"), None);
    machine.write("proc/20/comm", "cron\n");
    machine.write("etc/cron.daily/man-db", "");
    machine.write("etc/cron.d/mdadm", "");
    machine.write("etc/cron.d/backup-of-nothing", "");
    machine.write("etc/cron.d/mine", "");
    let (state_of, text) = check(&machine, &disk, "cron").unwrap();
    assert_eq!(state_of, Attention);
    let listed = "/etc/cron.d/backup-of-nothing, /etc/cron.d/mdadm, /etc/cron.daily/man-db";
    assert_eq!(text, format!("will run: {listed}"));

    machine.write("proc/21/comm", "smartd\n");
    machine.write("etc/smartd.conf", "# -s S/../.././02\nDEVICESCAN -d removable -n standby\n");
    assert_eq!(check_state(&machine, &disk, "self-test-schedule"), Some(Good));
    machine.write("etc/smartd.conf", "/dev/sda -a -s (S/../.././02|L/../../6/03)\n");
    assert_eq!(check_state(&machine, &disk, "self-test-schedule"), Some(Attention));

    assert_eq!(check_state(&machine, &disk, "timers"), Some(Good), "systemd does not run");
}

#[test]
fn an_array_that_is_checked_is_bad_for_its_members() {
    let machine = MachineFixture::new();
    let (member, other) = (machine.sata("sda", "8:0", 1000), machine.nvme(0, 1, 1000));
    assert_eq!(check_state(&machine, &member, "md-sync"), None);
    let array = machine.block("virtual/block/md0", "9:0", 1000);
    machine.stack(&array, &member);
    machine.set(&array, "md/sync_action", "idle\n");
    assert_eq!(check_state(&machine, &member, "md-sync"), Some(Good));
    machine.set(&array, "md/sync_action", "check\n");
    machine.set(&array, "md/sync_completed", "250 / 1000\n");
    let (state_of, text) = check(&machine, &member, "md-sync").unwrap();
    assert_eq!((state_of, text.as_str()), (Bad, "md0: check, 25 % done"));
    assert_eq!(check_state(&machine, &other, "md-sync"), Some(Attention));
}

#[test]
fn temperature_and_write_protection_are_judged() {
    let (machine, disk) = nvme_machine();
    assert_eq!(check_state(&machine, &disk, "temperature"), None);
    machine.set(&disk, "device/hwmon3/temp1_input", "41850\n");
    assert_eq!(check_state(&machine, &disk, "temperature"), Some(Good));
    machine.set(&disk, "device/hwmon3/temp1_max", "45850\n");
    assert_eq!(check_state(&machine, &disk, "temperature"), Some(Attention));
    machine.set(&disk, "device/hwmon3/temp1_input", "46850\n");
    assert_eq!(check_state(&machine, &disk, "temperature"), Some(Bad));
    machine.set(&disk, "device/hwmon3/temp1_max", "65261850\n");
    assert_eq!(check_state(&machine, &disk, "temperature"), Some(Good), "no real limit");
    assert_eq!(check_state(&machine, &disk, "write-protect"), Some(Good));
    machine.set(&disk, "ro", "1\n");
    assert_eq!(check_state(&machine, &disk, "write-protect"), Some(Bad));
}

#[test]
fn a_file_is_judged_by_the_disk_below() {
    let (machine, disk) = MachineFixture::with_sata(1_000_000_000);
    machine.mount(&[("8:0", "/", "ext4", "/dev/sda")]);
    machine.set(&disk, "queue/scheduler", "none [mq-deadline]\n");
    machine.write("scratch.bin", vec![0u8; 4096]);
    let device = crate::inspect(&machine.path("scratch.bin"), &machine.roots).unwrap();
    let checks = examine(&device, &machine.roots, Duration::ZERO).checks;
    let state = |id: &str| check_of(&checks, id).map(|check| check.state);
    assert_eq!(state("device-kind"), Some(Attention));
    assert_eq!(state("boot-disk"), Some(Attention));
    assert_eq!(state("scheduler"), Some(Attention));
    assert_eq!((state("alignment"), state("device-logs")), (None, None));
}

/// Content that no kernel would write must not cause a panic.
#[test]
fn odd_content_panics_nowhere() {
    let odd = [
        "", "\0", "-1", "18446744073709551616", "999999999999999999999", "NaN", "a b c", "0-", "[",
        "]", "[[x]]", "/", "1/0", "0 / 0", ":", "avg10=", "some avg10=x", "\u{fffd}",
    ];
    for text in odd {
        let (machine, disk) = nvme_machine();
        for attribute in ["current_link_speed", "max_link_width", "numa_node", "local_cpulist"] {
            machine.write(&format!("{FUNCTION}/{attribute}"), text);
        }
        for attribute in [
            "queue/nr_requests", "queue/scheduler", "queue/discard_max_bytes", "ro", "stat",
            "alignment_offset", "start", "device/queue_depth", "md/sync_action",
            "md/sync_completed", "device/hwmon1/temp1_input", "device/hwmon1/temp1_max",
            "device/hwmon1/power1_input", "size",
        ] {
            machine.set(&disk, attribute, text);
        }
        for path in [
            "proc/stat",
            "proc/loadavg",
            "proc/meminfo",
            "proc/vmstat",
            "proc/interrupts",
            "proc/cpuinfo",
            "proc/pressure/memory",
            "proc/self/status",
            "proc/7/comm",
            "proc/swaps",
            "etc/smartd.conf",
            "sys/module/pcie_aspm/parameters/policy",
            "sys/devices/system/cpu/online",
            "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
            "sys/devices/system/node/online",
        ] {
            machine.write(path, text);
        }
        assert!(all_checks(&machine, &disk).len() > 15, "{text}");
    }
}

#[test]
fn limits_of_our_control_group_are_found() {
    let (machine, disk) = nvme_machine();
    assert_eq!(check_state(&machine, &disk, "cgroup-limits"), Some(Unknown));
    machine.write("proc/self/cgroup", "0::/box\n");
    machine.write("sys/fs/cgroup/cgroup.procs", "");
    machine.write("sys/fs/cgroup/box/cpu.max", "max 100000\n");
    assert_eq!(check_state(&machine, &disk, "cgroup-limits"), Some(Good));
    machine.write("sys/fs/cgroup/box/cpu.max", "200000 100000\n");
    let quota = "processor time is limited to 2.00 processors".to_owned();
    assert_eq!(check(&machine, &disk, "cgroup-limits"), Some((Attention, quota)));
    let number = disk.device_number().unwrap();
    let limit = format!("{number} rbps=max wbps=max riops=1000 wiops=max\n");
    machine.write("sys/fs/cgroup/box/io.max", limit);
    let limited = "I/O to this device is limited: io.max riops=1000 of the control group /box";
    assert_eq!(check(&machine, &disk, "cgroup-limits"), Some((Bad, limited.to_owned())));
}

/// `fstrim` moves no data and delays other I/Os all the same.
#[test]
fn foreign_discards_and_flushes_count_as_background_io() {
    let (machine, disk) = nvme_machine();
    let device = machine.device(&disk);
    let subject = CheckSubject::new(&device, &machine.roots);
    let state = |after: &str| {
        machine.set(&disk, "stat", "9 0 72 0 9 0 72 0 0 0 0 5 0 4096 0 3 0");
        let watch = activity::ActivityWatch::begin(&subject);
        machine.set(&disk, "stat", after);
        let checks = watch.end(&subject, Duration::from_millis(1));
        check_of(&checks, "background-io").unwrap().state
    };
    for (after, expected) in [
        ("9 0 72 0 9 0 72 0 0 0 0 5 0 4096 0 3 0", Good),
        ("9 0 72 0 9 0 72 0 0 0 0 900000 0 4096 0 3 0", Bad),
        ("9 0 72 0 9 0 72 0 0 0 0 5 0 4096 0 900000 0", Bad),
    ] {
        assert_eq!(state(after), expected, "{after}");
    }
}

#[test]
fn without_counters_background_io_is_unknown() {
    let (machine, disk) = nvme_machine();
    machine.set(&disk, "stat", "0 0 0 0 0 0 0 0 0 0 0");
    assert_eq!(check_state(&machine, &disk, "background-io"), Some(Good));
    machine.set(&disk, "queue/iostats", "0\n");
    assert_eq!(check_state(&machine, &disk, "background-io"), Some(Unknown));
}

#[test]
fn a_zoned_device_is_named() {
    for (model, expected) in [("none", Good), ("host-aware", Attention), ("host-managed", Bad)] {
        let (machine, disk) = nvme_machine();
        machine.set(&disk, "queue/zoned", format!("{model}\n"));
        assert_eq!(check_state(&machine, &disk, "device-kind"), Some(expected), "{model}");
    }
}

/// Runs the checks of an NVMe drive with these data.
fn with_health(health: DeviceHealth) -> Vec<Check> {
    let (machine, disk) = nvme_machine();
    let device = machine.device(&disk);
    let subject = CheckSubject::new(&device, &machine.roots);
    let mut checks = link::checks(&subject, Some(&health.nvme));
    checks.extend(health::checks(&subject, Some(&Ok(health))));
    checks
}

#[test]
fn a_power_state_that_limits_the_drive_is_pointed_out() {
    let state = |watts, is_operational| PowerState { watts: Some(watts), is_operational };
    let look = |power_state| {
        let power_states = vec![state(8.25, true), state(3.5, true), state(0.05, false)];
        let nvme = NvmeFacts { power_state, power_states, ..NvmeFacts::default() };
        let checks = with_health(DeviceHealth { nvme, ..DeviceHealth::default() });
        check_of(&checks, "power-state").map(|check| (check.state, check.found.clone()))
    };
    assert_eq!(look(None), None);
    assert_eq!(look(Some(0)), Some((Good, "0 of 0 to 2, up to 8.25 W".to_owned())));
    let limited = "1 of 0 to 2, up to 3.50 W; state 0, up to 8.25 W".to_owned();
    assert_eq!(look(Some(1)), Some((Attention, limited)));
    let asleep = "2 of 0 to 2, up to 0.05 W, idle; state 0, up to 8.25 W".to_owned();
    assert_eq!(look(Some(2)), Some((Attention, asleep)));
    assert_eq!(look(Some(7)).unwrap().0, Attention);
}

#[test]
fn the_drives_own_reports_are_shown() {
    let page = |id: &str, state, remark: &str| DrivePage {
        id: id.into(),
        name: "Page".into(),
        source: "Somewhere".into(),
        state,
        remark: remark.into(),
        length: 512,
        fields: Vec::new(),
        raw: String::new(),
    };
    let life = LifeWrites { host: 2_000_000, media: 5_000_000, source: "OCP log C0h" };
    let monitor = LatencyMonitor { is_enabled: true, thresholds_ms: [5, 10, 95, 235] };
    let health = |last_self_test, pages| DeviceHealth {
        log: LogReading { self_test: Some(SelfTest::Idle), ..LogReading::default() },
        nvme: NvmeFacts {
            life_writes: Some(life),
            latency_monitor: Some(monitor),
            last_self_test,
            ..NvmeFacts::default()
        },
        pages,
    };
    let found = |checks: &[Check], id: &str| {
        check_of(checks, id).map(|check| (check.state, check.found.clone()))
    };
    let checks = with_health(health(Some(7), vec![page("log-02", PageState::Complete, "")]));
    let ratio =
        "2.50 over the drive's life: 5.00 MB to the media, 2.00 MB by the host (OCP log C0h)";
    assert_eq!(found(&checks, "write-amplification"), Some((Good, ratio.to_owned())));
    let above = "on: counts I/Os above 5, 10, 95, 235 ms";
    assert_eq!(found(&checks, "latency-monitor"), Some((Good, above.to_owned())));
    let failed = "none running; the last one failed (result 7h)";
    assert_eq!(found(&checks, "self-test"), Some((Attention, failed.to_owned())));
    let pages = found(&checks, "drive-pages");
    assert_eq!(pages, Some((Good, "1 of 1 decoded in full".to_owned())));

    let odd = vec![
        page("log-02", PageState::Complete, ""),
        page("log-c0", PageState::Newer, "version 9, decoded as version 6"),
    ];
    let checks = with_health(health(Some(0), odd));
    let newer = "1 of 2 decoded in full; Page (log-c0): version 9, decoded as version 6";
    assert_eq!(found(&checks, "drive-pages"), Some((Unknown, newer.to_owned())));
    let passed = "none running; the last one passed";
    assert_eq!(found(&checks, "self-test"), Some((Good, passed.to_owned())));
}
