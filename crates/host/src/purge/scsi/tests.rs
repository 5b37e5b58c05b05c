use super::super::PurgeOptions;
use super::super::tests::{MEDIUM, PurgeObserver, PurgeRig, erase, options};
use super::*;
use crate::testing::machine::MachineFixture;
use crate::testing::transcript::Transcript;
use steadfast_domain::PurgeFailure;

const OPCODES: &str = "sg_opcodes /dev/sdb";
const LOOK_AT: &str = "sg_requests --progress /dev/sdb";
const FORMAT: &str = "sg_format --format --quick --early /dev/sdb";
const READY: &str = "sg_turs /dev/sdb";

/// Output of `sg_opcodes` for a device with FORMAT UNIT and SANITIZE by block erase and overwrite.
const REPORTED: &str = "  SEAGATE   XS800LE70084      0004
  Peripheral device type: disk

Opcode  Service    CDB    Name
(hex)   action(h)  size
-----------------------------------------------
 00                6    Test Unit Ready
 04                6    Format Unit
 12                6    Inquiry
 48     1         10    Sanitize, overwrite
 48     2         10    Sanitize, block erase
 48     1f        10    Sanitize, exit failure mode
 a3     c         12    Report supported operation codes
";

const NOT_REPORTED: &str = "Report supported opcodes: operation not supported\n";

fn machine() -> MachineFixture {
    let machine = MachineFixture::new();
    let target = "pci0000:00/0000:3b:00.0/host0/target0:0:1/0:0:1:0";
    let disk = machine.scsi(target, "sdb", "8:16", MEDIUM / 512);
    machine.set(&disk, "device/vendor", "SEAGATE");
    machine
}

fn rig() -> PurgeRig {
    PurgeRig::new(machine(), "sdb")
}

#[test]
fn reported_commands_are_found() {
    for (opcode, action, found) in [
        (0x04, None, true),
        (0x48, Some(1), true),
        (0x48, Some(2), true),
        (0x48, Some(3), false),
        (0x42, None, false),
    ] {
        assert_eq!(is_reported(REPORTED, opcode, action), found, "{opcode:x} {action:?}");
    }
    assert!(is_reported(" 48,2   Sanitize, block erase", 0x48, Some(2)));
    assert!(!is_reported("", 4, None));
}

#[test]
fn format_is_followed_to_its_end_and_read_back() {
    let rig = rig();
    let tools = Transcript::default()
        .tool_prints(OPCODES, REPORTED)
        .tool_prints_then(FORMAT, "FORMAT UNIT command issued\n", erase(&rig.machine))
        .tool_prints(LOOK_AT, "Progress indication: 12.50% done\n")
        .tool_prints(LOOK_AT, "")
        .tool_prints(LOOK_AT, "Progress indication: 99.00% done\n")
        .tool_prints(LOOK_AT, "")
        .tool_prints(LOOK_AT, "")
        .tool_prints(LOOK_AT, "")
        .tool_prints(READY, "");
    let mut observer = PurgeObserver::default();
    let done = rig.purged(&PurgeOptions::default(), &mut observer, &tools).unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::ScsiFormatUnit, Some(true)));
    assert_eq!(observer.reported[0], ("formatting".to_owned(), Some(12.5)));
    assert!(done.remark.ends_with("commanded by /usr/sbin/sg_format"), "{}", done.remark);
}

#[test]
fn good_and_nothing_erased_is_a_failure() {
    let rig = rig();
    let tools = Transcript::default()
        .tool_fails(OPCODES, 9, NOT_REPORTED)
        .tool_prints(FORMAT, "")
        .tool_prints(LOOK_AT, "")
        .tool_prints(LOOK_AT, "")
        .tool_prints(LOOK_AT, "")
        .tool_prints(READY, "");
    let error = rig.refused(&options(PurgeMethod::ScsiFormatUnit), &tools);
    assert!(error.to_string().contains("(SCSI FORMAT UNIT) failed: not blank"), "{error}");
}

#[test]
fn a_device_that_reports_nothing_is_discarded_by_auto() {
    let rig = rig();
    let tools = Transcript::default().tool_fails(OPCODES, 9, NOT_REPORTED);
    let plan = rig.planned(&tools);
    assert_eq!(plan.method, PurgeMethod::Discard);
    let why = "scsi-format: the device does not report whether it supports it";
    assert!(plan.remark.contains(why), "{}", plan.remark);
    let empty = "  QEMU      QEMU HARDDISK     2.5+\n  Peripheral device type: disk\n";
    let tools = Transcript::default().tool_prints(OPCODES, empty);
    assert_eq!(rig.planned(&tools).method, PurgeMethod::Discard);
    let tools = Transcript::default().tool_fails(OPCODES, 9, NOT_REPORTED);
    let error = rig.refused(&options(PurgeMethod::ScsiSanitizeBlock), &tools);
    assert!(error.to_string().contains("possible here: scsi-format, discard, none"), "{error}");
}

#[test]
fn protection_is_kept() {
    let machine = machine();
    let disk = machine.node("sdb");
    for (kind, options) in [
        ("0", vec![]),
        ("1", vec!["--fmtpinfo=2"]),
        ("2", vec!["--fmtpinfo=3"]),
        ("3", vec!["--fmtpinfo=3", "--pfu=1"]),
    ] {
        machine.set(&disk, "device/scsi_disk/0:0:1:0/protection_type", kind);
        assert_eq!(protection(&disk), options);
    }
}

#[test]
fn a_sanitize_that_ends_in_an_error_or_is_left_is_no_purge() {
    let rig = rig();
    let sanitize = "sg_sanitize --ause --quick --early --overwrite --zero /dev/sdb";
    let failed = "test unit ready: Medium Error, Sanitize command failed\n";
    let tools = Transcript::default()
        .tool_prints(OPCODES, REPORTED)
        .tool_prints(sanitize, "")
        .tool_prints(LOOK_AT, "")
        .tool_prints(LOOK_AT, "")
        .tool_prints(LOOK_AT, "")
        .tool_fails(READY, 3, failed);
    let wanted = options(PurgeMethod::ScsiSanitizeOverwrite);
    let error = rig.refused(&wanted, &tools);
    assert!(error.to_string().contains("Sanitize command failed"), "{error}");

    let mut observer = PurgeObserver::default();
    let tools = Transcript::default()
        .tool_prints(OPCODES, REPORTED)
        .tool_prints_then(sanitize, "", observer.stop())
        .tool_prints(LOOK_AT, "Progress indication: 1.00% done\n");
    let error = rig.purged(&wanted, &mut observer, &tools).unwrap_err();
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert!(error.to_string().contains("the run was stopped, and the device continues"), "{error}");
    assert!(observer.reported.last().unwrap().0.contains("continues sanitizing; it cannot"));

    // Nothing begins after the stop.
    let tools = Transcript::default().tool_prints(OPCODES, REPORTED);
    let error = rig.purged(&wanted, &mut observer, &tools).unwrap_err();
    assert!(matches!(error, HostError::PurgeStopped { .. }), "{error}");
}

/// Without an answer, nothing says that there is no progress.
#[test]
fn a_format_whose_progress_is_lost_ends_the_run() {
    let rig = rig();
    let begun = Transcript::default().tool_prints(OPCODES, REPORTED).tool_prints(FORMAT, "");
    let tools = (0..=60).fold(begun, |tools, _| tools.tool_fails(LOOK_AT, 15, "no such device"));
    let wanted =
        PurgeOptions { failed: PurgeFailure::Continue, ..options(PurgeMethod::ScsiFormatUnit) };
    let error = rig.refused(&wanted, &tools);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert!(error.to_string().contains("sg_requests --progress"), "{error}");
}

#[test]
fn a_device_that_is_not_ready_without_progress_is_awaited() {
    let rig = rig();
    let tools = Transcript::default()
        .tool_prints(OPCODES, REPORTED)
        .tool_prints_then(FORMAT, "", erase(&rig.machine))
        .tool_prints(LOOK_AT, "")
        .tool_prints(LOOK_AT, "\u{fffd}")
        .tool_prints(LOOK_AT, "")
        .tool_fails(READY, 2, "test unit ready: Not ready\n")
        .tool_prints(LOOK_AT, "")
        .tool_prints(READY, "");
    let done = rig.succeeded(&PurgeOptions::default(), &tools);
    assert_eq!((done.method, done.blank), (PurgeMethod::ScsiFormatUnit, Some(true)));
}

#[test]
fn a_missing_tool_is_named_with_the_device() {
    let rig = rig();
    let tools = Transcript::default().tool_prints(OPCODES, REPORTED).tool_fails(FORMAT, 127, "");
    let error = rig.refused(&options(PurgeMethod::ScsiFormatUnit), &tools);
    assert!(matches!(error, HostError::PurgeFailed { .. }), "{error}");
    assert!(error.to_string().contains("'sg_format' is not installed"), "{error}");
}
