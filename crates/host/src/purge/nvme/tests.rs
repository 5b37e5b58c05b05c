use super::super::plan::PurgePlan;
use super::super::tests::{PurgeObserver, armed, erase, order, purged};
use super::*;
use crate::machine::MachineFixture;
use crate::purge::PurgeOrder;
use crate::transcript::Transcript;
use steadfast_domain::{PurgeFailure, PurgeMethod};

const SECTORS: u64 = super::super::tests::MEDIUM / 512;
const ID_CTRL: &str = "Identify (CNS 01h)";
const ID_NS: &str = "Identify (CNS 00h)";
const LIST: &str = "Identify (CNS 10h)";
const LOG: &str = "Get Log Page 81h";
const FORMAT: &str = "Format NVM";
const SANITIZE: &str = "Sanitize";

/// Identify Controller: serial number at byte 4, OACS at 256, SANICAP at 328, FNA at 524.
fn controller(oacs: u16, fna: u8, sanicap: u32) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[4..24].copy_from_slice(b"S676NF0R000000      ");
    bytes[256..258].copy_from_slice(&oacs.to_le_bytes());
    bytes[328..332].copy_from_slice(&sanicap.to_le_bytes());
    bytes[524] = fna;
    bytes
}

/// Identify Namespace: size at byte 0, FLBAS at 26, DPS at 29, LBA format 0 at 128.
fn namespace(flbas: u8, dps: u8) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..8].copy_from_slice(&16_384u64.to_le_bytes());
    (bytes[26], bytes[29], bytes[130]) = (flbas, dps, 9);
    bytes
}

fn identified(oacs: u16, fna: u8, sanicap: u32) -> Transcript {
    let identity = controller(oacs, fna, sanicap);
    Transcript::default().answers(ID_CTRL, identity).answers(ID_NS, namespace(0, 0))
}

/// Answers for the plan of a purge, and for the check of the drive before its command.
fn identified_twice(oacs: u16, fna: u8, sanicap: u32) -> Transcript {
    identified(oacs, fna, sanicap)
        .answers(ID_CTRL, controller(oacs, fna, sanicap))
        .answers(ID_NS, namespace(0, 0))
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
    let tools = identified_twice(0x2, 0, 0).completes(FORMAT, erase(&machine));
    let mut beside = PurgeObserver::default();
    let done =
        purged(&machine, &target, &order(PurgeMethod::NvmeFormat), &mut beside, &tools).unwrap();
    // Format 0, user data erase.
    assert_eq!(tools.last_words(), [0x200, 0, 0, 0, 0, 0]);
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeFormat, Some(true)));
    let read = done.read_back.unwrap();
    assert_eq!((read.zero, read.marked, read.unchanged), (read.places, 0, 0));
    assert_eq!(read.written_before, read.places);
    assert!(beside.told.iter().all(|told| *told == ("formatting".to_owned(), None)));
    assert!(!beside.told.is_empty() && done.remark.is_empty(), "{}", done.remark);
}

/// If the kernel does not take the command from this program, nvme-cli sends it.
#[test]
fn a_format_that_the_kernel_does_not_take_is_sent_by_the_tool() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let command = "nvme format /dev/nvme0n1 --namespace-id=1 --lbaf=17 --ses=1 --ms=1 --pi=1 \
                   --pil=1 --timeout=21600000 --force";
    let tools = Transcript::default()
        .answers(ID_CTRL, controller(0x2, 0, 0))
        // Format 17 (bits 6:5), metadata at the end of each block, protection type 1 in the first
        // bytes of the metadata.
        .answers(ID_NS, namespace(0x31, 0x9))
        .answers(ID_CTRL, controller(0x2, 0, 0))
        .answers(ID_NS, namespace(0x31, 0x9))
        .breaks(FORMAT, libc::ENOTTY)
        .does(command, "Success formatting namespace:1\n", erase(&machine));
    let wanted = order(PurgeMethod::NvmeFormat);
    let done = purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeFormat, Some(true)));
    assert_eq!(done.remark, "commanded by /usr/sbin/nvme");
}

#[test]
fn without_the_tool_the_kernel_s_refusal_is_the_reason() {
    for (method, sanicap, command, tool) in [
        (
            PurgeMethod::NvmeFormat,
            0,
            FORMAT,
            "nvme format /dev/nvme0n1 --namespace-id=1 --lbaf=0 \
         --ses=1 --ms=0 --pi=0 --pil=0 --timeout=21600000 --force",
        ),
        (
            PurgeMethod::NvmeSanitizeBlock,
            2,
            SANITIZE,
            "nvme sanitize /dev/nvme0n1 --sanact=2 --ause",
        ),
    ] {
        let machine = machine();
        let target = armed(&machine, "nvme0n1");
        let tools =
            identified_twice(0x2, 0, sanicap).breaks(command, libc::EPERM).fails(tool, 127, "");
        let mut beside = PurgeObserver::default();
        let error = purged(&machine, &target, &order(method), &mut beside, &tools).unwrap_err();
        let why = format!("/dev/nvme0: cannot send {command}: Operation not permitted");
        assert!(error.to_string().contains(&why), "{error}");
    }
}

#[test]
fn a_controller_with_another_serial_number_is_refused() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let mut other = controller(0x2, 0, 0);
    other[4] = b'X';
    let tools = Transcript::default().answers(ID_CTRL, other);
    let wanted = order(PurgeMethod::NvmeFormat);
    let error =
        purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools).unwrap_err();
    assert!(error.to_string().contains("answers with the serial number X676"), "{error}");
}

#[test]
fn a_controller_that_was_exchanged_after_the_plan_gets_no_command() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let mut other = controller(0x2, 0, 0);
    other[4] = b'X';
    let tools = identified(0x2, 0, 0).answers(ID_CTRL, other);
    let wanted = order(PurgeMethod::NvmeFormat);
    let error =
        purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools).unwrap_err();
    assert!(error.to_string().contains("answers with the serial number X676"), "{error}");
    assert!(tools.is_over());
}

#[test]
fn a_drive_that_says_success_and_keeps_its_content_has_failed() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = || identified_twice(0x2, 0, 0).completes(FORMAT, || ());
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
fn a_refused_format_is_told_with_its_status() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = identified_twice(0x2, 0, 0).refuses(FORMAT, 0x410a);
    let wanted = order(PurgeMethod::NvmeFormat);
    let error =
        purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("purge (NVMe Format (user data erase)) failed"), "{said}");
    assert!(said.contains("/dev/nvme0: Format NVM failed: Invalid Format (10Ah)"), "{said}");
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
        let tools = identified(oacs, fna, sanicap);
        let mut beside = PurgeObserver::default();
        let error = purged(&machine, &target, &order(method), &mut beside, &tools).unwrap_err();
        assert!(matches!(error, HostError::NoSuchPurge { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains(why) && said.contains(can), "{said}");
    }
}

#[test]
fn without_permission_auto_discards_and_says_why() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = Transcript::default().breaks(ID_CTRL, libc::EACCES);
    let wanted = PurgeOrder::default();
    let plan = PurgePlan::make(&target, &wanted, &machine.roots, &tools).unwrap();
    assert_eq!(plan.method, PurgeMethod::Discard);
    let why = "nvme-format: /dev/nvme0: cannot send Identify (CNS 01h): Permission denied";
    assert!(plan.remark.contains(why), "{}", plan.remark);
}

#[test]
fn a_partition_is_never_purged_by_its_whole_device() {
    let machine = machine();
    let disk = SysfsNode::named("nvme0n1", &machine.roots).unwrap();
    machine.partition(&disk, "nvme0n1p1", "259:91", SECTORS / 2);
    let target = armed(&machine, "nvme0n1p1");
    let tools = identified(2, 0, 7);
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
        let tools = identified(2, fna, sanicap);
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
        let tools = identified(2, 0, 2);
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
    let tools = identified(0xa, 0, 2).answers(LIST, vec![1, 0, 0, 0, 7, 0, 0, 0]);
    let wanted = order(PurgeMethod::NvmeSanitizeBlock);
    let error =
        purged(&machine, &target, &wanted, &mut PurgeObserver::default(), &tools).unwrap_err();
    assert!(error.to_string().contains("not block devices here ([7])"), "{error}");
}

/// Sanitize Status: progress at byte 0, status in bits 2:0 of byte 2.
fn log(progress: u16, status: u16) -> Vec<u8> {
    [progress.to_le_bytes(), status.to_le_bytes()].concat()
}

#[test]
fn sanitize_is_followed_to_its_end() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let tools = identified_twice(2, 0, 7)
        .completes(SANITIZE, erase(&machine))
        .answers(LOG, log(0, 2))
        // A controller that resets meanwhile.
        .breaks(LOG, libc::EINTR)
        .answers(LOG, log(32_768, 0x102))
        .answers(LOG, log(65_535, 0x101));
    let mut beside = PurgeObserver::default();
    let wanted = order(PurgeMethod::NvmeSanitizeBlock);
    let done = purged(&machine, &target, &wanted, &mut beside, &tools).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeSanitizeBlock, Some(true)));
    let percent: Vec<_> = beside.told.iter().map(|(_, percent)| percent.unwrap()).collect();
    assert_eq!(percent, [0.0, 50.0]);
}

#[test]
fn a_sanitize_that_the_kernel_does_not_take_is_sent_by_the_tool() {
    let machine = machine();
    let target = armed(&machine, "nvme0n1");
    let command = "nvme sanitize /dev/nvme0n1 --sanact=3 --ause --owpass=1 --ovrpat=0";
    let tools = identified_twice(2, 0, 7)
        .breaks(SANITIZE, libc::EPERM)
        .does(command, "", erase(&machine))
        .answers(LOG, log(65_535, 4));
    let order = order(PurgeMethod::NvmeSanitizeOverwrite);
    let done = purged(&machine, &target, &order, &mut PurgeObserver::default(), &tools).unwrap();
    assert_eq!((done.blank, done.remark.as_str()), (Some(true), "commanded by /usr/sbin/nvme"));
}

#[test]
fn a_failed_or_abandoned_sanitize_is_told_from_one_that_ended() {
    for (status, stopped, wanted) in [
        (3, false, "reports that the sanitize failed"),
        (0, false, "reports status 0"),
        (2, true, "stopped"),
    ] {
        let machine = machine();
        let target = armed(&machine, "nvme0n1");
        let tools =
            identified_twice(2, 0, 7).completes(SANITIZE, || ()).answers(LOG, log(100, status));
        let mut beside = PurgeObserver { stopped, ..PurgeObserver::default() };
        let order = order(PurgeMethod::NvmeSanitizeOverwrite);
        let error = purged(&machine, &target, &order, &mut beside, &tools).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
