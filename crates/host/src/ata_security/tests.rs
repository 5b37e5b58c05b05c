use super::*;
use crate::testing::transcript::Transcript;

pub(crate) const IDENTIFY: &str = "hdparm -I /dev/sda";

/// Returns the output of `hdparm -I` for a drive in this state.
pub(crate) fn identity(features: &[&str], security: &str) -> String {
    let features: String = features.iter().map(|name| format!("\t   *\t{name}\n")).collect();
    format!(
        "\n/dev/sda:\n\nATA device, with non-removable media\n\tModel Number:       EXAMPLE SSD 1TB\n\
         \tSerial Number:      0123456789\nCommands/features:\n\tEnabled\tSupported:\n\
         \t   *\tSMART feature set\n{features}\t    \tDevice-initiated interface power management\n\
         {security}Logical Unit WWN Device Identifier: 5002538e40000000\n"
    )
}

pub(crate) fn security(enabled: &str, locked: &str, frozen: &str) -> String {
    format!(
        "Security: \n\tMaster password revision code = 65534\n\t\tsupported\n\t{enabled}\tenabled\n\
         \t{locked}\tlocked\n\t{frozen}\tfrozen\n\tnot\texpired: security count\n\
         \t\tsupported: enhanced erase\n\t2min for SECURITY ERASE UNIT. 8min for ENHANCED \
         SECURITY ERASE UNIT.\n"
    )
}

pub(crate) fn free() -> String {
    identity(&[], &security("not", "not", "not"))
}

pub(crate) fn with_password() -> String {
    identity(&[], &security("", "not", "not"))
}

/// Feature lines of a drive that supports every SANITIZE command.
pub(crate) const SANITIZE: [&str; 4] = [
    "SANITIZE feature set", "CRYPTO_SCRAMBLE_EXT command", "OVERWRITE_EXT command",
    "BLOCK_ERASE_EXT command",
];

#[test]
fn every_state_of_security_is_read() {
    let parse = |output: &str| AtaSecurity::parse(output).unwrap();
    let free_drive = parse(&free());
    assert!(free_drive.supported && free_drive.enhanced_erase && !free_drive.enabled);
    assert_eq!((free_drive.erase_minutes, free_drive.enhanced_erase_minutes), (Some(2), Some(8)));
    assert!(!free_drive.frozen && !free_drive.locked && !free_drive.expired);
    let frozen = parse(&identity(&SANITIZE, &security("not", "not", "")));
    assert!(frozen.frozen && frozen.sanitize_block);
    assert!(frozen.sanitize_crypto && frozen.sanitize_overwrite);
    let locked = parse(&identity(&[], &security("", "", "not")));
    assert!(locked.enabled && locked.locked);
    assert_eq!(parse(&identity(&SANITIZE[1..], "")), AtaSecurity::default());
    let without = "Security: \n\t(?)\tsupported\n\tnot\tenabled\n\tnot\tlocked\n\tnot\tfrozen\n\tnot\t\
                   expired: security count\n\tmore than 508min for SECURITY ERASE UNIT.\n";
    let parsed = parse(without);
    assert!(!parsed.supported);
    assert_eq!((parsed.erase_minutes, parsed.enhanced_erase_minutes), (Some(508), None));
}

#[test]
fn a_locked_drive_is_unlocked_and_a_wrong_password_is_reported() {
    let locked = identity(&[], &security("", "", "not"));
    let unlock = "hdparm --user-master u --security-unlock mine /dev/sda";
    let disable = "hdparm --user-master u --security-disable mine /dev/sda";
    let tools = Transcript::default()
        .tool_prints(IDENTIFY, &locked)
        .tool_prints(unlock, "")
        .tool_prints(disable, "")
        .tool_prints(IDENTIFY, &free());
    assert!(clear_password("/dev/sda", "mine", &tools).unwrap());
    let tools = Transcript::default().tool_prints(IDENTIFY, &locked).tool_fails(
        unlock,
        5,
        "Issuing SECURITY_UNLOCK command, password=\"mine\", user=user",
    );
    let error = clear_password("/dev/sda", "mine", &tools).unwrap_err().to_string();
    assert!(error.contains("--security-unlock PASSWORD /dev/sda"), "{error}");
    assert!(error.contains("password=\"PASSWORD\"") && !error.contains("mine"), "{error}");
    let tools = Transcript::default()
        .tool_prints(IDENTIFY, &with_password())
        .tool_prints(disable, "SECURITY_DISABLE: Input/output error")
        .tool_prints(IDENTIFY, &with_password());
    let error = clear_password("/dev/sda", "mine", &tools).unwrap_err();
    assert!(error.to_string().contains("does not accept this password"), "{error}");
    let tools = Transcript::default().tool_prints(IDENTIFY, &identity(&[], &security("", "", "")));
    let error = clear_password("/dev/sda", "mine", &tools).unwrap_err();
    assert!(error.to_string().contains("suspend the machine"), "{error}");
    let tools = Transcript::default().tool_prints(IDENTIFY, &free());
    assert!(!clear_password("/dev/sda", "mine", &tools).unwrap());
}

/// What is cut off says nothing about the password.
#[test]
fn an_output_that_ends_before_the_state_is_refused() {
    let whole = identity(&["Security Mode feature set"], &security("", "not", "not"));
    let stated = whole.find("expired:").unwrap() + "expired:".len();
    for length in (0..whole.len()).filter(|length| whole.is_char_boundary(*length)) {
        let tools = Transcript::default().tool_prints(IDENTIFY, &whole[..length]);
        let read = AtaSecurity::read("/dev/sda", &tools);
        assert_eq!(read.is_ok_and(|security| security.enabled), length >= stated, "{length}");
    }
    let tools = Transcript::default().tool_prints(IDENTIFY, &whole[..whole.find("Secu").unwrap()]);
    let error = clear_password("/dev/sda", "mine", &tools).unwrap_err();
    assert!(error.to_string().contains("hdparm -I /dev/sda"), "{error}");
    // A drive that lists the feature set has a section.
    let listed = identity(&["Security Mode feature set"], "");
    assert_eq!(AtaSecurity::parse(&listed), None);
    // QEMU's disk has neither.
    let lacking = "ATA device\n\tModel Number:       QEMU HARDDISK\nChecksum: correct\n";
    assert_eq!(AtaSecurity::parse(lacking), Some(AtaSecurity::default()));
}
