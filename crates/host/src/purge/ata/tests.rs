use super::super::tests::{MEDIUM, PurgeObserver, PurgeRig, erase, options};
use super::*;
use crate::ata_security::clear_password;
use crate::ata_security::tests::{IDENTIFY, SANITIZE, free, identity, security, with_password};
use crate::purge::PurgeOptions;
use crate::testing::machine::MachineFixture;
use crate::testing::transcript::Transcript;
use steadfast_domain::PurgeFailure;

const STATUS: &str = "hdparm --sanitize-status /dev/sda";
const SET: &str = "hdparm --user-master u --security-set-pass steadfast /dev/sda";
const ERASE: &str = "hdparm --user-master u --security-erase steadfast /dev/sda";

fn status(state: &str, rest: &str) -> String {
    format!(
        "\n/dev/sda:\nIssuing SANITIZE_STATUS command\nSanitize status:\n    State:    {state}\n{rest}\n"
    )
}

/// What hdparm prints on standard error about a sanitize that failed.
const FAILED: &str = "SANITIZE failed: Input/output error\n\
    SANITIZE device error reason: Last Sanitize Command completed unsuccessfully\n\
    Drive in SD3 Sanitize Operation Failed state\n";

fn machine() -> MachineFixture {
    let (machine, disk) = MachineFixture::with_sata(MEDIUM / 512);
    machine.set(&disk, "device/wwid", "naa.5001");
    machine
}

fn rig() -> PurgeRig {
    PurgeRig::new(machine(), "sda")
}

/// Answers for the plan of a purge of a drive with every SANITIZE command, which has this status.
fn planned(frozen: &str, status: &str) -> Transcript {
    Transcript::default()
        .tool_prints(IDENTIFY, &identity(&SANITIZE, &security("not", "not", frozen)))
        .tool_prints(STATUS, status)
        .tool_prints(STATUS, status)
        .tool_prints(STATUS, status)
}

/// The user stops the run while the password is set: the caller removes it.
#[test]
fn nothing_is_erased_after_the_stop() {
    let rig = rig();
    let mut observer = PurgeObserver::default();
    let tools = Transcript::default()
        .tool_prints(IDENTIFY, &free())
        .tool_prints_then(SET, "security_password: \"steadfast\"\n", observer.stop())
        .tool_prints(IDENTIFY, &with_password());
    let error = rig.purged(&PurgeOptions::default(), &mut observer, &tools).unwrap_err();
    assert!(matches!(error, HostError::PurgeStopped { .. }), "{error}");
    assert_eq!(observer.journal.len(), 1);
    let tools = Transcript::default().tool_prints(IDENTIFY, &free());
    let error = rig.purged(&PurgeOptions::default(), &mut observer, &tools).unwrap_err();
    assert!(matches!(error, HostError::PurgeStopped { .. }), "{error}");
    assert_eq!(observer.journal.len(), 1);
}

/// A run that was killed may have begun a sanitize, which refuses the password.
#[test]
fn a_sanitize_of_an_earlier_run_is_awaited() {
    let rig = rig();
    let idle = status("SD0 Sanitize Idle", "    Last Sanitize Operation Completed Without Error");
    let running = status("SD2 Sanitize operation In Process", "    Progress: 0x7fff (49%)");
    let tools = planned("not", &idle)
        .tool_fails(SET, 5, "the drive is busy")
        .tool_prints(STATUS, &running)
        .tool_prints(STATUS, &idle);
    let wanted =
        PurgeOptions { failed: PurgeFailure::Continue, ..options(PurgeMethod::AtaSecurityErase) };
    let failed = rig.succeeded(&wanted, &tools).failed.unwrap();
    assert!(failed.contains("the drive is busy"), "{failed}");
}

const BLOCK_ERASE: &str = "hdparm --yes-i-know-what-i-am-doing --sanitize-block-erase /dev/sda";

#[test]
fn the_password_is_journaled_before_it_is_set_and_gone_after_the_erase() {
    let rig = rig();
    let tools = Transcript::default()
        .tool_prints(IDENTIFY, &free())
        .tool_prints(SET, "security_password: \"steadfast\"\n")
        .tool_prints(IDENTIFY, &with_password())
        .tool_prints_then(ERASE, "security_password: \"steadfast\"\n", erase(&rig.machine))
        .tool_prints(IDENTIFY, &free());
    let mut observer = PurgeObserver::default();
    let done = rig.purged(&PurgeOptions::default(), &mut observer, &tools).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::AtaSecurityErase, Some(true)));
    let [change] = observer.journal.as_slice() else { panic!("{:?}", observer.journal) };
    assert_eq!(change.setting, "ATA password of sda, naa.5001");
    assert_eq!((change.before.as_str(), change.after.as_str()), ("none", "set"));
    assert_eq!(observer.reported, [("erasing (the drive estimates 2 min)".to_owned(), None)]);
}

#[test]
fn no_password_is_set_that_is_not_in_the_journal() {
    let rig = rig();
    let tools = Transcript::default().tool_prints(IDENTIFY, &free());
    let mut observer = PurgeObserver { full: true, ..PurgeObserver::default() };
    let error =
        rig.purged(&options(PurgeMethod::AtaSecurityErase), &mut observer, &tools).unwrap_err();
    assert!(matches!(error, HostError::Unjournaled(_)), "{error}");
}

#[test]
fn frozen_locked_and_unsupported_are_explained() {
    for (drive, why) in [
        (identity(&[], &security("not", "not", "")), "suspend the machine to RAM"),
        (identity(&[], &security("", "not", "not")), "/dev/sda --password PASSWORD;"),
        (identity(&[], &security("", "", "not")), "which is locked; remove it"),
        (identity(&[], ""), "no ATA security"),
    ] {
        let rig = rig();
        let tools = Transcript::default().tool_prints(IDENTIFY, &drive);
        let mut observer = PurgeObserver::default();
        let error =
            rig.purged(&options(PurgeMethod::AtaSecurityErase), &mut observer, &tools).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(error.to_string().ends_with("possible here: discard, none"), "{error}");
        assert_eq!(observer.journal, []);
    }
}

#[test]
fn an_erase_that_fails_leaves_the_password_to_be_cleared() {
    let rig = rig();
    let tools = Transcript::default()
        .tool_prints(IDENTIFY, &free())
        .tool_prints(SET, "")
        .tool_prints(IDENTIFY, &with_password())
        .tool_prints(ERASE, " ERASE_PREPARE: Input/output error\n")
        .tool_prints(IDENTIFY, &with_password());
    let mut observer = PurgeObserver::default();
    let error =
        rig.purged(&options(PurgeMethod::AtaSecurityErase), &mut observer, &tools).unwrap_err();
    assert!(error.to_string().contains("its password is still set"), "{error}");
    assert!(error.to_string().contains("ERASE_PREPARE"), "{error}");
    assert_eq!(observer.journal.len(), 1);

    let disable = "hdparm --user-master u --security-disable steadfast /dev/sda";
    let tools = Transcript::default()
        .tool_prints(IDENTIFY, &with_password())
        .tool_prints(disable, "")
        .tool_prints(IDENTIFY, &free());
    assert!(clear_password("/dev/sda", PURGE_PASSWORD, &tools).unwrap());
    assert!(tools.is_over());
}

/// The kernel may have given up waiting for the drive.
#[test]
fn an_erase_whose_tool_failed_is_awaited() {
    let rig = rig();
    let wanted =
        PurgeOptions { failed: PurgeFailure::Continue, ..options(PurgeMethod::AtaSecurityErase) };
    let begun = || {
        Transcript::default()
            .tool_prints(IDENTIFY, &free())
            .tool_prints(SET, "")
            .tool_prints(IDENTIFY, &with_password())
            .tool_fails(ERASE, 5, "SECURITY_ERASE: Input/output error")
    };
    let busy = "\n/dev/sda:\nSG_IO: bad/missing sense data\n";
    let tools = begun().tool_prints(IDENTIFY, busy).tool_prints(IDENTIFY, &free());
    let done = rig.succeeded(&wanted, &tools);
    assert!(done.failed.unwrap().contains("SECURITY_ERASE: Input/output error"));
    let tools = (0..=60).fold(begun(), |tools, _| tools.tool_prints(IDENTIFY, busy));
    let error = rig.refused(&wanted, &tools);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert!(error.to_string().contains("wait until 'hdparm -I "), "{error}");
}

#[test]
fn a_frozen_drive_is_sanitized_by_auto_and_followed() {
    let rig = rig();
    let idle = status("SD0 Sanitize Idle", "    Last Sanitize Operation Completed Without Error");
    let progress = status("SD2 Sanitize operation In Process", "    Progress: 0x7fff (49%)");
    let tools = planned("", &idle)
        .tool_prints(BLOCK_ERASE, "")
        .tool_prints(STATUS, &progress)
        .tool_prints_then(STATUS, &idle, erase(&rig.machine));
    let mut observer = PurgeObserver::default();
    let done = rig.purged(&PurgeOptions::default(), &mut observer, &tools).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::AtaSanitizeBlock, Some(true)));
    assert_eq!(observer.reported, [("sanitizing".to_owned(), Some(49.0))]);
    assert_eq!(observer.journal, []);
}

#[test]
fn a_failed_or_frozen_sanitize_is_reported() {
    let rig = rig();
    let wanted = options(PurgeMethod::AtaSanitizeOverwrite);
    let error = rig.refused(&wanted, &planned("not", &status("SD1 Sanitize Frozen", "")));
    assert!(error.to_string().contains("power-cycle"), "{error}");

    let command = "hdparm --yes-i-know-what-i-am-doing --sanitize-overwrite-passes 1 \
                   --sanitize-overwrite hex:00000000 /dev/sda";
    let tools = planned("not", &status("SD0 Sanitize Idle", ""))
        .tool_prints(command, "")
        .tool_fails(STATUS, 5, FAILED);
    let error = rig.refused(&wanted, &tools);
    assert!(error.to_string().contains("SD3 Sanitize Operation Failed"), "{error}");
    assert!(!matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
}

/// The drive is idle, but never says that the sanitize completed.
#[test]
fn an_idle_drive_without_a_completed_sanitize_is_not_purged() {
    let rig = rig();
    let idle = status("SD0 Sanitize Idle", "");
    let tools = planned("not", &idle).tool_prints(BLOCK_ERASE, "").tool_prints(STATUS, &idle);
    let error = rig.refused(&options(PurgeMethod::AtaSanitizeBlock), &tools);
    assert!(error.to_string().contains("SD0"), "{error}");
    assert!(!matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
}

#[test]
fn a_sanitize_whose_status_is_lost_ends_the_run() {
    let rig = rig();
    let wanted =
        PurgeOptions { failed: PurgeFailure::Continue, ..options(PurgeMethod::AtaSanitizeBlock) };
    let begun = planned("not", &status("SD0 Sanitize Idle", "")).tool_prints(BLOCK_ERASE, "");
    let tools =
        (0..=60).fold(begun, |tools, _| tools.tool_fails(STATUS, 5, "SG_IO: bad sense data"));
    let error = rig.refused(&wanted, &tools);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert!(error.to_string().contains("hdparm --sanitize-status"), "{error}");
}

/// An output without a state says nothing about the drive.
#[test]
fn a_sanitize_whose_status_is_garbage_ends_the_run() {
    let rig = rig();
    let wanted =
        PurgeOptions { failed: PurgeFailure::Continue, ..options(PurgeMethod::AtaSanitizeBlock) };
    let begun = planned("not", &status("SD0 Sanitize Idle", "")).tool_prints(BLOCK_ERASE, "");
    let garbage = ["", "\u{fffd}\u{fffd}SD", "Sanitize status:\n"];
    let tools = (0..=60).fold(begun, |tools, query| tools.tool_prints(STATUS, garbage[query % 3]));
    let error = rig.refused(&wanted, &tools);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
}

/// The tool may have been killed after it had sent the command.
#[test]
fn a_sanitize_that_began_although_the_tool_failed_is_awaited() {
    let rig = rig();
    let idle = status("SD0 Sanitize Idle", "    Last Sanitize Operation Completed Without Error");
    let progress = status("SD2 Sanitize operation In Process", "    Progress: 0x7fff (49%)");
    let tools = planned("not", &idle)
        .tool_fails(BLOCK_ERASE, 9, "no answer")
        .tool_prints(STATUS, &progress)
        .tool_prints(STATUS, &idle);
    let error = rig.refused(&options(PurgeMethod::AtaSanitizeBlock), &tools);
    assert!(matches!(error, HostError::PurgeFailed { .. }), "{error}");
    assert!(error.to_string().contains("no answer"), "{error}");
    let begun = planned("not", &idle).tool_fails(BLOCK_ERASE, 9, "no answer");
    let tools = (0..=60).fold(begun, |tools, _| tools.tool_fails(STATUS, 5, "no device"));
    let error = rig.refused(&options(PurgeMethod::AtaSanitizeBlock), &tools);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
}

#[test]
fn a_drive_without_ata_commands_is_discarded() {
    let rig = rig();
    let tools =
        Transcript::default().tool_prints(IDENTIFY, "\n/dev/sda:\nSG_IO: bad/missing sense data\n");
    let plan = rig.planned(&tools);
    assert_eq!(plan.method, PurgeMethod::Discard);
    assert!(plan.remark.contains("cannot be parsed"), "{}", plan.remark);
}
