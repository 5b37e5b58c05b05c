use super::super::plan::PurgePlan;
use super::super::tests::{PurgeObserver, armed, erase, order, purged};
use super::*;
use crate::machine::MachineFixture;
use crate::purge::PurgeOrder;
use crate::transcript::Transcript;
use serde_json::json;
use steadfast_domain::{PurgeFailure, PurgeMethod};

const SECTORS: u64 = super::super::tests::MEDIUM / 512;
const ID_CTRL: &str = "nvme id-ctrl /dev/nvme0 -o json";
const ID_NS: &str = "nvme id-ns /dev/nvme0 --namespace-id=1 -o json";
const LIST: &str = "nvme list-ns /dev/nvme0 --all -o json";
const LOG: &str = "nvme sanitize-log /dev/nvme0 -o json";
const FORMAT: &str = "nvme format /dev/nvme0 --namespace-id=1 --lbaf=0 --ses=1 --ms=0 --pi=0 \
                      --pil=0 --timeout=21600000 --force";

fn controller(oacs: u64, fna: u64, sanicap: u64) -> String {
    json!({"vid": 5197, "sn": "S676NF0R000000", "oacs": oacs, "fna": fna, "sanicap": sanicap,
           "vwc": 7, "nn": 32})
    .to_string()
}

fn namespace(flbas: u64, dps: u64) -> String {
    json!({"nsze": 16384, "flbas": flbas, "dps": dps, "lbafs": [{"ms": 0, "ds": 9, "rp": 0}]})
        .to_string()
}

fn machine() -> MachineFixture {
    let machine = MachineFixture::new();
    machine.nvme(0, 1, SECTORS);
    machine
}

#[test]
fn format_erases_and_is_read_back() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = Transcript::default()
        .says(ID_CTRL, &controller(0x2, 0, 0))
        .says(ID_NS, &namespace(0, 0))
        .does(FORMAT, "Success formatting namespace:1\n", erase(&machine));
    let mut beside = PurgeObserver::default();
    let done =
        purged(&machine, &target, &order(PurgeMethod::NvmeFormat), &mut beside, &tools).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeFormat, Some(true)));
    let read = done.read_back.unwrap();
    assert_eq!((read.zero, read.marked, read.unchanged), (read.places, 0, 0));
    assert_eq!(read.written_before, read.places);
    assert_eq!(beside.told, [("formatting".to_owned(), None)]);
}

#[test]
fn format_keeps_format_metadata_and_protection() {
    let value = |flbas, dps| serde_json::from_str(&namespace(flbas, dps)).unwrap();
    let arguments = |flbas, dps, erase| {
        let all = format_arguments(&value(flbas, dps), 3, erase).unwrap();
        all[..6].join(" ")
    };
    let plain = "--namespace-id=3 --lbaf=4 --ses=1 --ms=0 --pi=0 --pil=0";
    assert_eq!(arguments(0x04, 0, 1), plain);
    // Format 17 (bits 6:5), metadata at the end of each block, protection type 1 in the first
    // bytes of the metadata.
    let full = "--namespace-id=3 --lbaf=17 --ses=2 --ms=1 --pi=1 --pil=1";
    assert_eq!(arguments(0x31, 0x9, 2), full);
    assert_eq!(format_arguments(&json!({"nsze": 1}), 1, 1), None);
    // Some versions print numbers as strings.
    assert!(format_arguments(&json!({"flbas": "0x1", "dps": "0"}), 1, 1).is_some());
}

#[test]
fn a_drive_that_says_success_and_keeps_its_content_has_failed() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = || {
        Transcript::default()
            .says(ID_CTRL, &controller(0x2, 0, 0))
            .says(ID_NS, &namespace(0, 0))
            .says(FORMAT, "Success formatting namespace:1\n")
    };
    let mut wanted = order(PurgeMethod::NvmeFormat);
    let error =
        purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("not blank: 0 of 256 places") || said.contains("not blank: 0 of"));
    assert!(said.contains("--purge-failed continue"), "{said}");

    wanted.failed = PurgeFailure::Continue;
    let done = purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools()).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeFormat, Some(false)));
    assert!(done.failed.unwrap().contains("not blank"));
    let read = done.read_back.unwrap();
    assert_eq!(read.unchanged, read.places);
}

#[test]
fn a_refused_format_is_told_in_the_drive_s_words() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = Transcript::default()
        .says(ID_CTRL, &controller(0x2, 0, 0))
        .says(ID_NS, &namespace(0, 0))
        .fails(FORMAT, 1, "NVMe status: Invalid Format: The LBA Format is not supported(0x10a)\n");
    let wanted = order(PurgeMethod::NvmeFormat);
    let error =
        purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("purge (NVMe Format (user data erase)) failed"), "{said}");
    assert!(said.contains("Invalid Format"), "{said}");
}

#[test]
fn what_the_controller_lacks_is_refused_with_what_it_has() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    for (method, oacs, fna, sanicap, why, can) in [
        (PurgeMethod::NvmeFormat, 0, 0, 1, "no Format", "nvme-sanitize-crypto, discard, none"),
        (PurgeMethod::NvmeFormatCrypto, 2, 0, 0, "(FNA)", "nvme-format, discard, none"),
        (PurgeMethod::NvmeSanitizeBlock, 2, 4, 0, "block erase (SANICAP)", "nvme-format-crypto"),
        (PurgeMethod::AtaSecurityErase, 2, 0, 0, "(NVMe) does not support that", "nvme-format"),
    ] {
        let tools = Transcript::default()
            .says(ID_CTRL, &controller(oacs, fna, sanicap))
            .says(ID_NS, &namespace(0, 0));
        let mut beside = PurgeObserver::default();
        let error = purged(&machine, &target, &order(method), &mut beside, &tools).unwrap_err();
        assert!(matches!(error, HostError::NoSuchPurge { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains(why) && said.contains(can), "{said}");
    }
}

#[test]
fn without_the_tool_auto_discards_and_says_why() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = Transcript::default().fails(ID_CTRL, 127, "");
    let wanted = PurgeOrder::default();
    let plan = PurgePlan::make(&target, &wanted, &machine.roots, &tools).unwrap();
    assert_eq!(plan.method, PurgeMethod::Discard);
    assert!(plan.remark.contains("nvme-format: 'nvme' is not installed"), "{}", plan.remark);
}

#[test]
fn a_partition_is_never_purged_by_its_whole_device() {
    let machine = machine();
    let disk = SysfsNode::named("nvme0n1", &machine.roots).unwrap();
    machine.partition(&disk, "nvme0n1p1", "259:91", SECTORS / 2);
    let target = armed(&machine, "nvme0n1p1");
    let tools =
        Transcript::default().says(ID_CTRL, &controller(2, 0, 7)).says(ID_NS, &namespace(0, 0));
    let wanted = order(PurgeMethod::NvmeFormat);
    let error =
        purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("is a partition, and the command erases the whole device"), "{said}");
    assert!(said.contains("nvme0n1;") && said.ends_with("discard, none"), "{said}");
}

/// Arming fails on a simulated machine; the test checks only that arming is attempted.
#[test]
fn what_reaches_a_sibling_needs_it_named() {
    let machine = machine();
    machine.nvme(0, 2, SECTORS);
    let target = armed(&machine, "nvme0n1");
    for (method, fna, sanicap) in [
        (PurgeMethod::NvmeFormat, 1, 0),
        (PurgeMethod::NvmeFormat, 2, 0),
        (PurgeMethod::NvmeSanitizeBlock, 0, 2),
    ] {
        let tools = Transcript::default()
            .says(ID_CTRL, &controller(2, fna, sanicap))
            .says(ID_NS, &namespace(0, 0));
        let mut beside = PurgeObserver::default();
        let error = purged(&machine, &target, &order(method), &mut beside, &tools).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("it also erases") && said.contains("nvme0n2: "), "{said}");
    }
}

/// Without the kernel's multipath driver, the namespaces of one subsystem belong to several
/// controllers in sysfs.
#[test]
fn a_namespace_of_another_controller_of_the_subsystem_is_a_sibling() {
    let machine = machine();
    let node = SysfsNode::named("nvme0n1", &machine.roots).unwrap();
    let other = machine.nvme(1, 2, SECTORS);
    machine.nvme(2, 1, SECTORS);
    let siblings = || {
        let tools =
            Transcript::default().says(ID_CTRL, &controller(2, 0, 2)).says(ID_NS, &namespace(0, 0));
        let found = Controller::ask(&node, &machine.roots, &tools).siblings?;
        Ok::<_, String>(found.into_iter().map(|node| node.name).collect::<Vec<_>>())
    };
    assert_eq!(siblings(), Ok(vec![]), "three drives");
    let subsystem = node.text("device/subsysnqn").unwrap();
    machine.set(&other, "device/subsysnqn", &subsystem);
    assert_eq!(siblings(), Ok(vec!["nvme1n2".to_owned()]));
    machine.set(&other, "hidden", "1");
    assert_eq!(siblings(), Ok(vec![]), "a path of a multipath namespace");
    machine.set(&other, "hidden", "0");
    machine.set(&other, "device/subsysnqn", "");
    assert!(siblings().unwrap_err().contains("nvme1n2 does not report its subsystem"));
}

#[test]
fn a_namespace_that_nobody_sees_is_not_erased_unseen() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = Transcript::default()
        .says(ID_CTRL, &controller(0xa, 0, 2))
        .says(ID_NS, &namespace(0, 0))
        .says(LIST, r#"{"nsid_list":[{"nsid":1},{"nsid":7}]}"#);
    let wanted = order(PurgeMethod::NvmeSanitizeBlock);
    let error =
        purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools).unwrap_err();
    assert!(error.to_string().contains("not block devices here ([7])"), "{error}");
}

fn log(progress: u64, status: &str) -> String {
    json!({"nvme0": {"sprog": progress, "sstat": {"global_erased": 0, "no_cmplted_passes": 0,
           "status": status}, "cdw10_info": "0xa", "time_over_write": 4_294_967_295u64}})
    .to_string()
}

#[test]
fn sanitize_is_followed_to_its_end() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = Transcript::default()
        .says(ID_CTRL, &controller(2, 0, 7))
        .says(ID_NS, &namespace(0, 0))
        .says("nvme sanitize /dev/nvme0 --sanact=2 --ause", "")
        .says(LOG, &log(0, "(2) Sanitize in Progress."))
        .says(LOG, &log(32_768, "(2) Sanitize in Progress."))
        .does(
            LOG,
            &log(65_535, "(1) Most Recent Sanitize Command Completed Successfully."),
            erase(&machine),
        );
    let mut beside = PurgeObserver::default();
    let wanted = order(PurgeMethod::NvmeSanitizeBlock);
    let done = purged(&machine, &target, &wanted, &mut beside, &tools).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeSanitizeBlock, Some(true)));
    let percent: Vec<_> = beside.told.iter().map(|(_, percent)| percent.unwrap()).collect();
    assert_eq!(percent, [0.0, 50.0]);
}

#[test]
fn a_failed_or_abandoned_sanitize_is_told_from_one_that_ended() {
    for (status, stopped, wanted) in [
        ("(3) Most Recent Sanitize Command Failed.", false, "reports that the sanitize failed"),
        ("(0) NVM Subsystem has never been sanitized.", false, "cannot be parsed"),
        ("(2) Sanitize in Progress.", true, "stopped"),
    ] {
        let machine = machine();
        let target = armed(&machine, "nvme0n1");
        let tools = Transcript::default()
            .says(ID_CTRL, &controller(2, 0, 7))
            .says(ID_NS, &namespace(0, 0))
            .says("nvme sanitize /dev/nvme0 --sanact=3 --ause --owpass=1 --ovrpat=0", "")
            .says(LOG, &log(100, status));
        let mut beside = PurgeObserver { stopped, ..PurgeObserver::default() };
        let order = order(PurgeMethod::NvmeSanitizeOverwrite);
        let error = purged(&machine, &target, &order, &mut beside, &tools).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[test]
fn the_sanitize_log_is_read_in_every_spelling() {
    for (log, state) in [
        (json!({"nvme0": {"sprog": 9, "sstat": {"status": "(2) x"}}}), Some((9, 2))),
        (json!({"nvme0": {"sprog": "0x9", "sstat": {"status": 1}}}), Some((9, 1))),
        (json!({"sprog": 65535, "sstat": 0x101}), Some((65535, 1))),
        (json!({"sprog": 65535, "sstat": "0x4"}), Some((65535, 4))),
        (json!({"nvme0": {"sstat": {"status": 1}}}), None),
        (json!({"nvme0": {"sprog": 1, "sstat": {"status": "done"}}}), None),
        (json!({}), None),
    ] {
        assert_eq!(sanitize_state(&log), state, "{log}");
    }
}
