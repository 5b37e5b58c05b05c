use super::super::tests::{PurgeObserver, PurgeRig, erase, options};
use super::*;
use crate::purge::PurgeOptions;
use crate::testing::machine::MachineFixture;
use crate::testing::transcript::Transcript;
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
    Transcript::default().nvme_returns(ID_CTRL, identity).nvme_returns(ID_NS, namespace(0, 0))
}

/// Answers for the plan of a purge, and for the check of the drive before its command.
fn identified_twice(oacs: u16, fna: u8, sanicap: u32) -> Transcript {
    identified(oacs, fna, sanicap)
        .nvme_returns(ID_CTRL, controller(oacs, fna, sanicap))
        .nvme_returns(ID_NS, namespace(0, 0))
}

fn machine() -> MachineFixture {
    let machine = MachineFixture::new();
    machine.nvme(0, 1, SECTORS);
    machine
}

fn rig() -> PurgeRig {
    PurgeRig::new(machine(), "nvme0n1")
}

#[test]
fn format_erases_and_is_read_back() {
    let rig = rig();
    let tools = identified_twice(0x2, 0, 0).nvme_completes_then(FORMAT, erase(&rig.machine));
    let mut observer = PurgeObserver::default();
    let done = rig.purged(&options(PurgeMethod::NvmeFormat), &mut observer, &tools).unwrap();
    // Format 0, user data erase.
    assert_eq!(tools.last_dwords(), [0x200, 0, 0, 0, 0, 0]);
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeFormat, Some(true)));
    let read = done.read_back.unwrap();
    assert_eq!((read.zero, read.marked, read.unchanged), (read.places, 0, 0));
    assert_eq!(read.written_before, read.places);
    assert!(observer.reported.iter().all(|reported| *reported == ("formatting".to_owned(), None)));
    assert!(!observer.reported.is_empty() && done.remark.is_empty(), "{}", done.remark);
}

/// If the kernel does not take the command from this program, nvme-cli sends it.
#[test]
fn a_format_that_the_kernel_does_not_take_is_sent_by_the_tool() {
    let rig = rig();
    let command = "nvme format /dev/nvme0n1 --namespace-id=1 --lbaf=17 --ses=1 --ms=1 --pi=1 \
                   --pil=1 --timeout=21600000 --force";
    let tools = Transcript::default()
        .nvme_returns(ID_CTRL, controller(0x2, 0, 0))
        // Format 17 (bits 6:5), metadata at the end of each block, protection type 1 in the first
        // bytes of the metadata.
        .nvme_returns(ID_NS, namespace(0x31, 0x9))
        .nvme_returns(ID_CTRL, controller(0x2, 0, 0))
        .nvme_returns(ID_NS, namespace(0x31, 0x9))
        .nvme_call_fails(FORMAT, libc::ENOTTY)
        .tool_prints_then(command, "Success formatting namespace:1\n", erase(&rig.machine));
    let done = rig.succeeded(&options(PurgeMethod::NvmeFormat), &tools);
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
            "nvme format /dev/nvme0n1 --namespace-id=1 --lbaf=0 --ses=1 --ms=0 --pi=0 --pil=0 \
             --timeout=21600000 --force",
        ),
        (
            PurgeMethod::NvmeSanitizeBlock,
            2,
            SANITIZE,
            "nvme sanitize /dev/nvme0n1 --sanact=2 --ause",
        ),
    ] {
        let rig = rig();
        let tools = identified_twice(0x2, 0, sanicap)
            .nvme_call_fails(command, libc::EPERM)
            .tool_fails(tool, 127, "");
        let error = rig.refused(&options(method), &tools);
        let why = format!("/dev/nvme0: cannot send {command}: Operation not permitted");
        assert!(error.to_string().contains(&why), "{error}");
    }
}

#[test]
fn a_controller_with_another_serial_number_is_refused() {
    let rig = rig();
    let mut other = controller(0x2, 0, 0);
    other[4] = b'X';
    let tools = Transcript::default().nvme_returns(ID_CTRL, other);
    let error = rig.refused(&options(PurgeMethod::NvmeFormat), &tools);
    assert!(error.to_string().contains("answers with the serial number X676"), "{error}");
}

#[test]
fn a_controller_that_was_exchanged_after_the_plan_gets_no_command() {
    let rig = rig();
    let mut other = controller(0x2, 0, 0);
    other[4] = b'X';
    let tools = identified(0x2, 0, 0).nvme_returns(ID_CTRL, other);
    let error = rig.refused(&options(PurgeMethod::NvmeFormat), &tools);
    assert!(error.to_string().contains("answers with the serial number X676"), "{error}");
    assert!(tools.is_over());
}

#[test]
fn a_drive_that_says_success_and_keeps_its_content_has_failed() {
    let rig = rig();
    let tools = || identified_twice(0x2, 0, 0).nvme_completes_then(FORMAT, || ());
    let mut wanted = options(PurgeMethod::NvmeFormat);
    let error = rig.refused(&wanted, &tools());
    let text = error.to_string();
    assert!(text.contains("not blank: 0 of"), "{text}");
    assert!(text.contains("--purge-failed continue"), "{text}");

    wanted.failed = PurgeFailure::Continue;
    let done = rig.succeeded(&wanted, &tools());
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeFormat, Some(false)));
    assert!(done.failed.unwrap().contains("not blank"));
    let read = done.read_back.unwrap();
    assert_eq!(read.unchanged, read.places);
}

#[test]
fn a_refused_format_is_reported_with_its_status() {
    let rig = rig();
    let tools = identified_twice(0x2, 0, 0).nvme_fails(FORMAT, 0x410a);
    let error = rig.refused(&options(PurgeMethod::NvmeFormat), &tools);
    let message = error.to_string();
    assert!(message.contains("purge (NVMe Format (user data erase)) failed"), "{message}");
    assert!(message.contains("/dev/nvme0: Format NVM failed: Invalid Format (10Ah)"), "{message}");
}

#[test]
fn what_the_controller_lacks_is_refused_with_what_it_has() {
    let rig = rig();
    for (method, oacs, fna, sanicap, why, can) in [
        (PurgeMethod::NvmeFormat, 0, 0, 1, "no Format", "nvme-sanitize-crypto, discard, none"),
        (PurgeMethod::NvmeFormatCrypto, 2, 0, 0, "(FNA)", "nvme-format, discard, none"),
        (PurgeMethod::NvmeSanitizeBlock, 2, 4, 0, "block erase (SANICAP)", "nvme-format-crypto"),
        (PurgeMethod::AtaSecurityErase, 2, 0, 0, "(NVMe) does not support that", "nvme-format"),
    ] {
        let tools = identified(oacs, fna, sanicap);
        let error = rig.refused(&options(method), &tools);
        assert!(matches!(error, HostError::NoSuchPurge { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains(why) && message.contains(can), "{message}");
    }
}

#[test]
fn without_permission_auto_discards_and_says_why() {
    let rig = rig();
    let tools = Transcript::default().nvme_call_fails(ID_CTRL, libc::EACCES);
    let plan = rig.planned(&tools);
    assert_eq!(plan.method, PurgeMethod::Discard);
    let why = "nvme-format: /dev/nvme0: cannot send Identify (CNS 01h): Permission denied";
    assert!(plan.remark.contains(why), "{}", plan.remark);
}

#[test]
fn a_partition_is_never_purged_by_its_whole_device() {
    let machine = machine();
    machine.partition(&machine.node("nvme0n1"), "nvme0n1p1", "259:91", SECTORS / 2);
    let rig = PurgeRig::new(machine, "nvme0n1p1");
    let error = rig.refused(&options(PurgeMethod::NvmeFormat), &identified(2, 0, 7));
    let message = error.to_string();
    assert!(
        message.contains("is a partition, and the command erases the whole device"),
        "{message}"
    );
    assert!(message.contains("nvme0n1;") && message.ends_with("discard, none"), "{message}");
}

/// Arming fails on a simulated machine; the test checks only that arming is attempted.
#[test]
fn a_command_that_erases_a_sibling_needs_its_confirmation() {
    let machine = machine();
    machine.nvme(0, 2, SECTORS);
    let rig = PurgeRig::new(machine, "nvme0n1");
    for (method, fna, sanicap) in [
        (PurgeMethod::NvmeFormat, 1, 0),
        (PurgeMethod::NvmeFormat, 2, 0),
        (PurgeMethod::NvmeSanitizeBlock, 0, 2),
    ] {
        let error = rig.refused(&options(method), &identified(2, fna, sanicap));
        let message = error.to_string();
        assert!(message.contains("it also erases") && message.contains("nvme0n2: "), "{message}");
    }
}

/// Without the kernel's multipath driver, the namespaces of one subsystem belong to several
/// controllers in sysfs.
#[test]
fn a_namespace_of_another_controller_of_the_subsystem_is_a_sibling() {
    let machine = machine();
    let node = machine.node("nvme0n1");
    let other = machine.nvme(1, 2, SECTORS);
    machine.nvme(2, 1, SECTORS);
    let siblings = || {
        let tools = identified(2, 0, 2);
        let found = Controller::query(&node, &machine.roots, &tools).siblings?;
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
fn a_namespace_that_is_no_block_device_here_is_not_erased() {
    let rig = rig();
    let tools = identified(0xa, 0, 2).nvme_returns(LIST, vec![1, 0, 0, 0, 7, 0, 0, 0]);
    let error = rig.refused(&options(PurgeMethod::NvmeSanitizeBlock), &tools);
    assert!(error.to_string().contains("not block devices here ([7])"), "{error}");
    let all: Vec<u8> = (1u32..=1024).flat_map(u32::to_le_bytes).collect();
    let tools = identified(0xa, 0, 2).nvme_returns(LIST, all);
    let error = rig.refused(&options(PurgeMethod::NvmeSanitizeBlock), &tools);
    let shown = "here ([2, 3, 4, 5, 6, 7, 8, 9] and 1015 more)";
    assert!(error.to_string().contains(shown), "{error}");
}

/// Sanitize Status: progress at byte 0, status in bits 2:0 of byte 2.
fn log(progress: u16, status: u16) -> Vec<u8> {
    [progress.to_le_bytes(), status.to_le_bytes()].concat()
}

#[test]
fn sanitize_is_followed_to_its_end() {
    let rig = rig();
    let tools = identified_twice(2, 0, 7)
        .nvme_completes_then(SANITIZE, erase(&rig.machine))
        .nvme_returns(LOG, log(0, 2))
        // A controller that resets meanwhile.
        .nvme_call_fails(LOG, libc::EINTR)
        .nvme_returns(LOG, log(32_768, 0x102))
        .nvme_returns(LOG, log(65_535, 0x101));
    let mut observer = PurgeObserver::default();
    let done = rig.purged(&options(PurgeMethod::NvmeSanitizeBlock), &mut observer, &tools).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::NvmeSanitizeBlock, Some(true)));
    let percent: Vec<_> = observer.reported.iter().map(|(_, percent)| percent.unwrap()).collect();
    assert_eq!(percent, [0.0, 50.0]);
}

/// The drive may still sanitize: not even a run that continues after a failed purge may go on.
#[test]
fn a_sanitize_whose_status_is_lost_ends_the_run() {
    let rig = rig();
    let begun = || identified_twice(2, 0, 7).nvme_completes_then(SANITIZE, erase(&rig.machine));
    let lost = |tools: Transcript| (0..60).fold(tools, |t, _| t.nvme_call_fails(LOG, libc::ENODEV));
    let wanted =
        PurgeOptions { failed: PurgeFailure::Continue, ..options(PurgeMethod::NvmeSanitizeBlock) };
    let tools = lost(begun()).nvme_call_fails(LOG, libc::ENODEV);
    let error = rig.refused(&wanted, &tools);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert!(error.to_string().contains("nvme sanitize-log"), "{error}");

    // A status in between begins the count again.
    let tools = lost(lost(begun()).nvme_returns(LOG, log(1, 2))).nvme_returns(LOG, log(65_535, 1));
    let done = rig.succeeded(&wanted, &tools);
    assert_eq!((done.blank, done.failed), (Some(true), None));

    let mut stopping = PurgeObserver::default();
    let begun = || identified_twice(2, 0, 7).nvme_completes_then(SANITIZE, stopping.stop());
    let tools = begun().nvme_call_fails(LOG, libc::ENODEV);
    let error = rig.purged(&wanted, &mut stopping, &tools).unwrap_err();
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");

    // Nothing begins after the stop.
    let tools = identified_twice(2, 0, 7);
    let error = rig.purged(&wanted, &mut stopping, &tools).unwrap_err();
    assert!(matches!(error, HostError::PurgeStopped { .. }), "{error}");
}

/// A drive that has accepted a sanitize and reports none may report it later.
#[test]
fn a_status_that_contradicts_the_command_is_read_again() {
    let rig = rig();
    let begun = || identified_twice(2, 0, 7).nvme_completes_then(SANITIZE, erase(&rig.machine));
    let wanted = options(PurgeMethod::NvmeSanitizeBlock);
    let tools = begun().nvme_returns(LOG, log(0, 0)).nvme_returns(LOG, log(65_535, 1));
    assert_eq!(rig.succeeded(&wanted, &tools).blank, Some(true));
    let tools = (0..=60).fold(begun(), |tools, _| tools.nvme_returns(LOG, log(100, 0)));
    let error = rig.refused(&wanted, &tools);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert!(error.to_string().contains("reports status 0"), "{error}");
    // A kernel that gave up has maybe sent nothing.
    let tools = identified_twice(2, 0, 7)
        .nvme_call_fails(SANITIZE, libc::EINTR)
        .nvme_returns(LOG, log(100, 0))
        .nvme_returns(ID_NS, namespace(0, 0));
    let error = rig.refused(&wanted, &tools);
    assert!(error.to_string().contains("Interrupted"), "{error}");
}

/// A run that was killed may have begun an erase of the other kind, which refuses this one.
#[test]
fn an_erase_of_an_earlier_run_is_awaited() {
    let rig = rig();
    let refused_by = |method, tools: Transcript| {
        let wanted = PurgeOptions { failed: PurgeFailure::Continue, ..options(method) };
        rig.succeeded(&wanted, &tools).failed.unwrap()
    };
    let tools = identified_twice(2, 0, 2)
        .nvme_fails(FORMAT, 0x01d)
        .nvme_returns(LOG, log(32_768, 2))
        // No status.
        .nvme_returns(LOG, log(32_768, 7))
        .nvme_returns(LOG, log(65_535, 1))
        .nvme_returns(ID_NS, formatting(0x80));
    let failed = refused_by(PurgeMethod::NvmeFormat, tools);
    assert!(failed.contains("Sanitize In Progress"), "{failed}");
    let tools = identified_twice(2, 0, 2)
        .nvme_fails(SANITIZE, 0x084)
        .nvme_returns(LOG, log(65_535, 1))
        .nvme_returns(ID_NS, formatting(0x80 | 60))
        .nvme_returns(LOG, log(65_535, 1))
        .nvme_returns(ID_NS, formatting(0x80));
    let failed = refused_by(PurgeMethod::NvmeSanitizeBlock, tools);
    assert!(failed.contains("Format In Progress"), "{failed}");
}

/// Identify Namespace with this format progress (FPI).
fn formatting(progress: u8) -> Vec<u8> {
    let mut bytes = namespace(0, 0);
    bytes[32] = progress;
    bytes
}

#[test]
fn a_sanitize_that_the_kernel_does_not_take_is_sent_by_the_tool() {
    let rig = rig();
    let command = "nvme sanitize /dev/nvme0n1 --sanact=3 --ause --owpass=1 --ovrpat=0";
    let tools = identified_twice(2, 0, 7)
        .nvme_call_fails(SANITIZE, libc::EPERM)
        .tool_prints_then(command, "", erase(&rig.machine))
        .nvme_returns(LOG, log(65_535, 4));
    let done = rig.succeeded(&options(PurgeMethod::NvmeSanitizeOverwrite), &tools);
    assert_eq!((done.blank, done.remark.as_str()), (Some(true), "commanded by /usr/sbin/nvme"));
}

/// The tool may fail after it has sent the command, and the kernel may reset the controller.
#[test]
fn a_sanitize_that_began_although_its_command_failed_is_awaited() {
    let rig = rig();
    let wanted =
        PurgeOptions { failed: PurgeFailure::Continue, ..options(PurgeMethod::NvmeSanitizeBlock) };
    type FailingCommand = fn(Transcript) -> Transcript;
    const TOOL: &str = "nvme sanitize /dev/nvme0n1 --sanact=2 --ause";
    let begun: [(&str, FailingCommand); 4] = [
        ("no answer", |tools| {
            tools.nvme_call_fails(SANITIZE, libc::EPERM).tool_fails(TOOL, 9, "no answer")
        }),
        ("Interrupted", |tools| tools.nvme_call_fails(SANITIZE, libc::EINTR)),
        ("Command Aborted By Host", |tools| tools.nvme_fails(SANITIZE, 0x371)),
        ("Sanitize In Progress", |tools| tools.nvme_fails(SANITIZE, 0x01d)),
    ];
    for (why, fail) in begun {
        let begun = || fail(identified_twice(2, 0, 7));
        let tools = begun()
            .nvme_returns(LOG, log(32_768, 2))
            .nvme_returns(LOG, log(65_535, 1))
            .nvme_returns(ID_NS, namespace(0, 0));
        let mut observer = PurgeObserver::default();
        let done = rig.purged(&wanted, &mut observer, &tools).unwrap();
        assert_eq!(observer.reported, [("sanitizing".to_owned(), Some(50.0))]);
        let failed = done.failed.unwrap();
        assert!(failed.contains(why), "{failed}");
        let lost = (0..=60).fold(begun(), |tools, _| tools.nvme_call_fails(LOG, libc::ENODEV));
        let error = rig.refused(&wanted, &lost);
        assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    }
}

#[test]
fn a_format_that_may_run_although_its_command_failed_is_awaited() {
    let rig = rig();
    let wanted =
        PurgeOptions { failed: PurgeFailure::Continue, ..options(PurgeMethod::NvmeFormat) };
    let begun = || identified_twice(2, 0, 0).nvme_call_fails(FORMAT, libc::EINTR);
    let tools =
        begun().nvme_returns(ID_NS, formatting(0x80 | 60)).nvme_returns(ID_NS, formatting(0x80));
    let mut observer = PurgeObserver::default();
    let done = rig.purged(&wanted, &mut observer, &tools).unwrap();
    assert_eq!(observer.reported.last(), Some(&("formatting".to_owned(), Some(40.0))));
    assert!(done.failed.unwrap().contains("cannot send Format NVM: Interrupted"));
    let silent = (0..=60).fold(begun(), |tools, _| tools.nvme_returns(ID_NS, namespace(0, 0)));
    let error = rig.refused(&wanted, &silent);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert!(error.to_string().contains("nvme id-ns"), "{error}");
}

#[test]
fn a_failed_or_abandoned_sanitize_is_told_from_one_that_ended() {
    for (status, wanted) in [(3, "reports that the sanitize failed"), (2, "stopped")] {
        let rig = rig();
        let mut observer = PurgeObserver::default();
        let begun = identified_twice(2, 0, 7);
        let begun = match status {
            2 => begun.nvme_completes_then(SANITIZE, observer.stop()),
            _ => begun.nvme_completes_then(SANITIZE, || ()),
        };
        let tools = begun.nvme_returns(LOG, log(100, status));
        let error = rig
            .purged(&options(PurgeMethod::NvmeSanitizeOverwrite), &mut observer, &tools)
            .unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
