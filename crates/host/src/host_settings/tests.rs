use super::*;
use crate::identity::describe;
use crate::target::{AccessMode, Target};
use crate::testing::machine::MachineFixture;
use std::fs;
use steadfast_domain::{Conditions, WriteCache};

fn target(machine: &MachineFixture, name: &str) -> Target {
    machine.write("medium", vec![0; 8192]);
    let device = describe(&machine.node(name), &machine.path("medium"), &machine.roots);
    Target::open(device, AccessMode::Read).unwrap()
}

fn wanted() -> Conditions {
    Conditions {
        write_cache: Some(WriteCache::Disabled),
        merges: Some(false),
        request_kib_max: Some(1024),
        ..Conditions::default()
    }
}

#[test]
fn a_sata_drive_is_changed_read_back_and_put_back() {
    let (machine, disk) = MachineFixture::with_sata(1000);
    machine.set(&disk, "device/wwid", "naa.5001");
    machine.set(&disk, "device/scsi_disk/0:0:0:0/cache_type", "write back\n");
    let target = target(&machine, "sda");
    let roots = &machine.roots;
    let before = conditions(&target, roots);
    assert_eq!(before.write_cache, Some(WriteCache::Enabled));
    assert_eq!((before.merges, before.request_kib_max), (Some(true), Some(512)));
    assert_eq!(before.scheduler.as_deref(), Some("none"));

    let ChangePlan { changes, unmet } = plan_changes(&wanted(), &target, roots);
    assert_eq!(unmet, Vec::<String>::new());
    let planned: Vec<(&str, &str, &str)> = changes
        .iter()
        .map(|change| (change.setting.as_str(), change.before.as_str(), change.after.as_str()))
        .collect();
    let expected = [
        ("write cache (caching mode page) of sda, naa.5001", "write back", "write through"),
        ("queue/nomerges of sda, naa.5001", "0", "2"),
        ("queue/max_sectors_kb of sda, naa.5001", "512", "1024"),
    ];
    assert_eq!(planned, expected);
    assert_eq!(conditions(&target, roots), before, "planning changes nothing");

    changes.iter().for_each(|change| make_change(change, roots).unwrap());
    let after = conditions(&target, roots);
    assert_eq!(after.write_cache, Some(WriteCache::Disabled));
    assert_eq!((after.merges, after.request_kib_max), (Some(false), Some(1024)));
    assert_eq!(plan_changes(&wanted(), &target, roots), ChangePlan::default());

    for change in changes.iter().rev() {
        assert_eq!(undo_change(change, roots).unwrap(), UndoOutcome::Restored);
    }
    assert_eq!(conditions(&target, roots), before);
}

#[test]
fn the_cache_of_a_virtual_machine_s_disk_is_set_where_the_disk_takes_it() {
    let machine = MachineFixture::new();
    let below = "pci0000:00/0000:00:05.0/virtio1/host2/target2:0:0/2:0:0:0";
    let scsi = machine.scsi(below, "sdc", "8:32", 1000);
    machine.set(&scsi, "device/scsi_disk/2:0:0:0/cache_type", "write back\n");
    let plain = machine.block("pci0000:00/0000:00:06.0/virtio2/block/vda", "254:0", 1000);
    let requested = Conditions { write_cache: Some(WriteCache::Disabled), ..Conditions::default() };
    let ChangePlan { changes, unmet } =
        plan_changes(&requested, &target(&machine, "sdc"), &machine.roots);
    assert_eq!((changes.len(), unmet.len()), (1, 0));
    assert_eq!(changes[0].setting, "write cache (caching mode page) of sdc");
    let ChangePlan { changes, unmet } =
        plan_changes(&requested, &target(&machine, "vda"), &machine.roots);
    assert_eq!((changes.len(), unmet.len()), (0, 1));
    machine.set(&plain, "cache_type", "write back\n");
    let ChangePlan { changes, unmet } =
        plan_changes(&requested, &target(&machine, "vda"), &machine.roots);
    assert_eq!((changes.len(), unmet.len()), (1, 0));
    make_change(&changes[0], &machine.roots).unwrap();
    let after = conditions(&target(&machine, "vda"), &machine.roots);
    assert_eq!(after.write_cache, Some(WriteCache::Disabled));
}

#[test]
fn a_change_follows_its_device_to_another_name() {
    let machine = MachineFixture::new();
    machine.nvme(0, 1, 1000);
    let change = HostChange {
        setting: "queue/nomerges of nvme0n1, eui.0025385800010001".into(),
        before: "1".into(),
        after: "2".into(),
        ..HostChange::default()
    };
    let error = undo_change(&change, &machine.roots).unwrap_err();
    assert!(matches!(error, HostError::Absent { .. }), "{error}");
    let moved = machine.nvme(1, 1, 1000);
    machine.set(&moved, "queue/nomerges", "2\n");
    assert_eq!(undo_change(&change, &machine.roots).unwrap(), UndoOutcome::Restored);
    assert_eq!(undo_change(&change, &machine.roots).unwrap(), UndoOutcome::AlreadyRestored);
    assert_eq!(moved.text("queue/nomerges").as_deref(), Some("1"));
    assert_eq!(machine.node("nvme0n1").text("queue/nomerges").as_deref(), Some("0"));
}

/// Creates a machine with merges of `loop0` turned off by a change of this program.
fn with_merges_off() -> (MachineFixture, SysfsNode, HostChange) {
    let machine = MachineFixture::new();
    machine.write("proc/sys/kernel/random/boot_id", "first\n");
    let disk = machine.block("virtual/block/loop0", "7:0", 1000);
    machine.set(&disk, "diskseq", "41\n");
    let requested = Conditions { merges: Some(false), ..Conditions::default() };
    let ChangePlan { changes, .. } =
        plan_changes(&requested, &target(&machine, "loop0"), &machine.roots);
    let change = changes[0].clone();
    assert_eq!((change.boot_id.as_deref(), change.disk_sequence), (Some("first"), Some(41)));
    make_change(&change, &machine.roots).unwrap();
    (machine, disk, change)
}

/// Merges that something else changed, another disk under the same name, and a restart, which resets
/// what only the kernel keeps.
#[test]
fn a_change_that_is_no_longer_in_force_is_not_undone() {
    type Event = fn(&MachineFixture, &SysfsNode);
    let restart: Event = |machine, _| machine.write("proc/sys/kernel/random/boot_id", "second\n");
    let cases: [(Event, &str, &str); 3] = [
        (
            |machine, disk| machine.set(disk, "queue/nomerges", "1\n"),
            "LeftUnchanged(\"it is 1",
            "1",
        ),
        (|machine, disk| machine.set(disk, "diskseq", "42\n"), "another device has its name", "2"),
        (restart, "Gone(\"the restart", "2"),
    ];
    for (event, expected, level) in cases {
        let (machine, disk, change) = with_merges_off();
        event(&machine, &disk);
        let undone = format!("{:?}", undo_change(&change, &machine.roots).unwrap());
        assert!(undone.contains(expected), "{undone}");
        assert_eq!(disk.text("queue/nomerges").as_deref(), Some(level));
    }
}

#[test]
fn a_drive_s_own_setting_outlasts_a_restart() {
    let machine = MachineFixture::new();
    machine.write("proc/sys/kernel/random/boot_id", "first\n");
    let disk = machine.sata("sda", "8:0", 1000);
    machine.set(&disk, "device/wwid", "naa.5001");
    machine.set(&disk, "diskseq", "7\n");
    machine.set(&disk, "device/scsi_disk/0:0:0:0/cache_type", "write back\n");
    let requested = Conditions { write_cache: Some(WriteCache::Disabled), ..Conditions::default() };
    let ChangePlan { changes, .. } =
        plan_changes(&requested, &target(&machine, "sda"), &machine.roots);
    make_change(&changes[0], &machine.roots).unwrap();
    machine.write("proc/sys/kernel/random/boot_id", "second\n");
    machine.set(&disk, "diskseq", "3\n");
    assert_eq!(undo_change(&changes[0], &machine.roots).unwrap(), UndoOutcome::Restored);
    let after = conditions(&target(&machine, "sda"), &machine.roots);
    assert_eq!(after.write_cache, Some(WriteCache::Enabled));
}

#[test]
fn a_setting_that_reads_back_another_value_is_an_error() {
    let machine = MachineFixture::new();
    let disk = machine.block("virtual/block/loop0", "7:0", 1000);
    let attribute = disk.directory.join("queue/nomerges");
    fs::remove_file(&attribute).unwrap();
    std::os::unix::fs::symlink("/dev/null", &attribute).unwrap();
    let change = HostChange {
        setting: "queue/nomerges of loop0".into(),
        before: "0".into(),
        after: "2".into(),
        ..HostChange::default()
    };
    let error = make_change(&change, &machine.roots).unwrap_err();
    assert!(matches!(error, HostError::NotTaken { .. }), "{error}");
    let foreign = HostChange { setting: "/etc/shadow".into(), ..change };
    assert!(matches!(make_change(&foreign, &machine.roots), Err(HostError::UnknownSetting(_))));
}

#[test]
fn a_condition_that_cannot_be_met_is_reported_with_its_reason() {
    let machine = MachineFixture::new();
    machine.block("virtual/block/loop0", "7:0", 1000);
    let roots = &machine.roots;
    let wanted = Conditions { request_kib_max: Some(4096), ..wanted() };
    let ChangePlan { changes, unmet } = plan_changes(&wanted, &target(&machine, "loop0"), roots);
    assert_eq!(changes.len(), 1);
    assert_eq!(
        unmet,
        [
            "write cache disabled (WCD): loop0 (loop) has no write cache that steadfast can set",
            "requests of 4096 KiB: loop0 accepts at most 2048 KiB in one request",
        ]
    );
    let requested = Conditions { write_cache: Some(WriteCache::Enabled), ..Conditions::default() };
    assert_eq!(plan_changes(&requested, &target(&machine, "loop0"), roots), ChangePlan::default());

    let file = crate::inspect(&machine.path("medium"), roots).unwrap();
    let file = Target::open(file, AccessMode::Read).unwrap();
    assert_eq!(conditions(&file, roots), Conditions::default());
    let ChangePlan { changes, unmet } = plan_changes(&wanted, &file, roots);
    assert_eq!((changes.len(), unmet.len()), (0, 3));
}

#[test]
fn merges_are_stopped_in_every_queue_below() {
    let (machine, disk) = MachineFixture::with_sata(1000);
    let part = machine.partition(&disk, "sda1", "8:1", 100);
    let mapped = machine.block("virtual/block/dm-0", "252:0", 100);
    machine.stack(&mapped, &part);
    let target = target(&machine, "dm-0");
    machine.set(&mapped, "queue/nomerges", "2");
    assert_eq!(conditions(&target, &machine.roots).merges, Some(true));
    let requested = Conditions { merges: Some(false), ..Conditions::default() };
    let ChangePlan { changes, .. } = plan_changes(&requested, &target, &machine.roots);
    let settings: Vec<&str> = changes.iter().map(|change| change.setting.as_str()).collect();
    assert_eq!(settings, ["queue/nomerges of sda"]);
    make_change(&changes[0], &machine.roots).unwrap();
    assert_eq!(conditions(&target, &machine.roots).merges, Some(false));
}

/// The policy of a SATA drive's port: changed, read back, restored; a drive without a port has none.
#[test]
fn link_power_of_a_sata_drive_is_changed_and_restored() {
    let machine = MachineFixture::new();
    machine.sata("sda", "8:0", 1000);
    let file = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/scsi_host/host0";
    machine.write(&format!("{file}/link_power_management_policy"), "max_performance\n");
    let target = target(&machine, "sda");
    let roots = &machine.roots;
    let requested = Conditions { link_power: Some("min_power".into()), ..Conditions::default() };
    let policy =
        || with_power_management(Conditions::default(), &requested, &target, roots).link_power;
    assert_eq!(policy().as_deref(), Some("max_performance"));
    assert_eq!(conditions(&target, roots).link_power, None, "read only where it is requested");
    let ChangePlan { changes, unmet } = plan_changes(&requested, &target, roots);
    assert_eq!((changes.len(), unmet.len()), (1, 0), "{unmet:?}");
    assert_eq!(changes[0].before, "max_performance");
    assert_eq!(changes[0].after, "min_power");
    make_change(&changes[0], roots).unwrap();
    assert_eq!(policy().as_deref(), Some("min_power"));
    assert_eq!(undo_change(&changes[0], roots).unwrap(), UndoOutcome::Restored);
    assert_eq!(policy().as_deref(), Some("max_performance"));
    machine.block("virtual/block/loop0", "7:0", 1000);
    let ChangePlan { changes, unmet } =
        plan_changes(&requested, &self::target(&machine, "loop0"), roots);
    assert_eq!((changes.len(), unmet.len()), (0, 1), "refused without the kernel's file");
}

/// APST is off with a latency tolerance of 0, and on again with the kernel's own default.
#[test]
fn power_state_changes_of_nvme_are_turned_off_and_on() {
    let (machine, disk) = MachineFixture::with_nvme(1000);
    let controller = crate::sysfs_node::controllers(&disk).remove(0);
    fs::create_dir_all(controller.join("power")).unwrap();
    let file = controller.join("power/pm_qos_latency_tolerance_us");
    fs::write(&file, "25000\n").unwrap();
    let target = target(&machine, "nvme0n1");
    let roots = &machine.roots;
    let requested = |on| Conditions { power_state_changes: Some(on), ..Conditions::default() };
    let is_on = || {
        let got = with_power_management(Conditions::default(), &requested(true), &target, roots);
        got.power_state_changes
    };
    assert_eq!(is_on(), Some(true));
    assert_eq!(plan_changes(&requested(true), &target, roots).changes, Vec::new(), "already on");
    let ChangePlan { changes, unmet } = plan_changes(&requested(false), &target, roots);
    assert_eq!((changes.len(), unmet.len()), (1, 0), "{unmet:?}");
    make_change(&changes[0], roots).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "0");
    assert_eq!(is_on(), Some(false));
    let ChangePlan { changes: on, .. } = plan_changes(&requested(true), &target, roots);
    assert_eq!(on[0].after, "100000", "the kernel's default");
    assert_eq!(undo_change(&changes[0], roots).unwrap(), UndoOutcome::Restored);
    assert_eq!(fs::read_to_string(&file).unwrap(), "25000");
}

/// A namespace with two controllers: both are set, and each gets its own value back.
#[test]
fn power_state_changes_are_set_on_every_controller_of_a_subsystem() {
    let machine = MachineFixture::new();
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    machine.block(&format!("{subsystem}/nvme0n1"), "259:1", 1000);
    let above = format!("sys/devices/{subsystem}");
    machine.link(&format!("{above}/nvme0n1/device"), &above);
    let files = ["nvme0", "nvme1"].map(|name| {
        let controller = format!("sys/devices/pci0000:00/{name}");
        machine.write(&format!("{controller}/address"), "0000:01:00.0\n");
        let file = format!("{controller}/power/pm_qos_latency_tolerance_us");
        machine.write(&file, if name == "nvme0" { "25000\n" } else { "100000\n" });
        machine.link(&format!("{above}/{name}"), &controller);
        machine.path(&file)
    });
    let values = || files.each_ref().map(|file| fs::read_to_string(file).unwrap());
    let target = target(&machine, "nvme0n1");
    let roots = &machine.roots;
    let requested = |on| Conditions { power_state_changes: Some(on), ..Conditions::default() };
    assert_eq!(plan_changes(&requested(true), &target, roots).changes, Vec::new(), "both are on");
    let ChangePlan { changes, unmet } = plan_changes(&requested(false), &target, roots);
    assert_eq!((changes.len(), unmet.len()), (1, 0), "{unmet:?}");
    assert_eq!((changes[0].before.as_str(), changes[0].after.as_str()), ("25000,100000", "0"));
    make_change(&changes[0], roots).unwrap();
    assert_eq!(values(), ["0", "0"]);
    assert_eq!(undo_change(&changes[0], roots).unwrap(), UndoOutcome::Restored);
    assert_eq!(values(), ["25000", "100000"]);
    // One that cannot be set is named, and the other keeps its value.
    fs::remove_file(&files[1]).unwrap();
    let ChangePlan { changes, unmet } = plan_changes(&requested(false), &target, roots);
    assert_eq!(changes.len(), 0);
    assert!(unmet[0].contains("pci0000:00/nvme1"), "{unmet:?}");
}
