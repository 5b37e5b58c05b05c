//! A vendor's purge command, simulated by scripts on loop devices: the content of the device
//! decides, and not the command's output.

use super::{LoopDevice, arm_confirmed, fill, inspected, options, purge_target};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use steadfast_domain::{Purge, PurgeFailure, PurgeMethod};
use steadfast_host::{HostError, PurgeCommandLine, PurgeOptions, SystemRoots, foresee_purge};

/// Zeros `$2`, the whole device. The run holds the device exclusively, so that `blkdiscard` needs
/// its option -f.
const ZERO: &str =
    "blkdiscard -f -z \"$2\" || dd if=/dev/zero of=\"$2\" bs=1M count=8 conv=notrunc";

/// A device full of data and a script that stands for a vendor's tool.
struct VendorCase {
    device: LoopDevice,
    options: PurgeOptions,
}

impl VendorCase {
    fn new(script: &str) -> Option<VendorCase> {
        let device = LoopDevice::blank()?;
        let path = device.in_directory("tool");
        let version = "if [ \"$1\" = --version ]; then echo tool 4.2; exit; fi";
        fs::write(&path, format!("#!/bin/sh\n{version}\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        let line = format!("{} erase {{device}}", path.display());
        let command = Some(PurgeCommandLine::parse(&line).unwrap());
        let options = PurgeOptions { command, ..options(PurgeMethod::VendorCommand) };
        Some(VendorCase { device, options })
    }

    fn purge(&self) -> Result<Purge, HostError> {
        let mut target = arm_confirmed(&self.device.inspect(), &[]).unwrap();
        fill(&target, 0x5a);
        purge_target(&mut target, &self.options)
    }

    fn content(&self) -> Vec<u8> {
        fs::read(self.device.in_directory("image")).unwrap()
    }
}

#[test]
fn a_command_that_erases_is_proven_by_what_is_read_back() {
    let script = format!("{ZERO}\necho erased \"$2\"; echo took 1 s >&2");
    let Some(case) = VendorCase::new(&script) else { return };
    let done = case.purge().unwrap();
    assert_eq!((done.method, done.blank), (PurgeMethod::VendorCommand, Some(true)));
    assert!(done.method.in_standard());
    let read = done.read_back.unwrap();
    assert_eq!((read.zero, read.written_before), (read.places, read.places));
    let path = case.device.path.display().to_string();
    let record = done.command.unwrap();
    assert!(record.command.ends_with(&format!("/tool erase {path}")), "{}", record.command);
    assert_eq!(record.version.as_deref(), Some("tool 4.2"));
    assert!(record.output.contains(&format!("erased {path}")), "{}", record.output);
    assert!(record.output.contains("took 1 s"), "{}", record.output);
    assert!(case.content().iter().all(|byte| *byte == 0));
}

#[test]
fn a_command_that_does_not_erase_is_refused_whatever_it_prints() {
    for (script, why) in [
        ("echo all data erased", "not blank: 0 of "),
        ("echo no such drive >&2; exit 1", "exit status: 1"),
        ("head -c 3000000 /dev/urandom", "not blank: 0 of "),
        ("kill -9 $$", "signal: 9"),
    ] {
        let Some(mut case) = VendorCase::new(script) else { return };
        let error = case.purge().unwrap_err();
        assert!(matches!(error, HostError::PurgeFailed { .. }), "{script}: {error}");
        assert!(error.to_string().contains(why), "{script}: {error}");
        case.options.failed = PurgeFailure::Continue;
        let done = case.purge().unwrap();
        assert!(done.failed.is_some_and(|failed| failed.contains(why)), "{script}");
        assert_eq!(done.blank, Some(false), "{script}");
    }
}

/// The tool and what it started are killed, so that nothing erases a device that a run writes to.
#[test]
fn a_command_that_hangs_is_ended_with_what_it_started() {
    let Some(mut case) = VendorCase::new("(sleep 3; touch \"$0.late\") & sleep 600") else {
        return;
    };
    case.options.command.as_mut().unwrap().limit = Duration::from_millis(300);
    let began = Instant::now();
    let error = case.purge().unwrap_err().to_string();
    assert!(error.contains("no answer within"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(60));
    std::thread::sleep(Duration::from_millis(3500));
    assert!(!case.device.in_directory("tool.late").exists(), "a program of the tool still ran");
}

/// The tool exits at once; what it started in another session zeros the device later.
#[test]
fn a_process_that_a_command_leaves_behind_is_awaited() {
    let script = format!("setsid sh -c 'sleep 1; {ZERO}' \"$0\" \"$1\" \"$2\" > /dev/null 2>&1 &");
    let Some(mut case) = VendorCase::new(&script) else { return };
    let done = case.purge().unwrap();
    assert_eq!(done.blank, Some(true));
    let awaited = done.command.unwrap().awaited;
    assert!(awaited >= steadfast_domain::Nanos::from_millis(500), "{awaited}");
    // One that takes longer than the limit ends the run, whatever a failed purge may do.
    case.options.command.as_mut().unwrap().limit = Duration::from_millis(300);
    case.options.failed = PurgeFailure::Continue;
    let error = case.purge().unwrap_err();
    assert!(matches!(error, HostError::PurgeStillRuns { .. }), "{error}");
    // The next run does not start a second one either.
    assert!(matches!(case.purge(), Err(HostError::PurgeStillRuns { .. })));
    // The device must not be removed below it.
    std::thread::sleep(Duration::from_millis(1500));
}

/// A program that was killed during the purge leaves the tool at work; the next run must not start
/// a second one.
#[test]
fn a_command_that_still_runs_is_not_started_again() {
    let Some(mut case) = VendorCase::new(ZERO) else { return };
    let tool = case.device.in_directory("tool");
    // A process with the command line of a program and these arguments, which waits for input.
    let spawn = |program: &Path| {
        Command::new("sh")
            .args(["-c", "read -r line"])
            .arg(program)
            .arg("erase")
            .arg(&case.device.path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut running = spawn(&tool);
    case.options.failed = PurgeFailure::Continue;
    let refused = case.purge().unwrap_err();
    let _ = running.kill();
    let _ = running.wait();
    assert!(
        matches!(refused, HostError::PurgeStillRuns { process, .. } if process == running.id()),
        "{refused}"
    );
    assert!(case.content().contains(&0x5a), "the command ran");
    // Another program with these arguments, such as this one with the target last, is no obstacle.
    let mut other = spawn(Path::new("--target"));
    let done = case.purge().unwrap();
    let _ = other.kill();
    let _ = other.wait();
    assert_eq!(done.blank, Some(true));
}

#[test]
fn a_device_that_is_another_one_after_the_command_is_not_written_to() {
    let script = "truncate -s 4M \"${0%/*}/image\"; losetup -c \"$2\"";
    let Some(mut case) = VendorCase::new(script) else { return };
    case.options.failed = PurgeFailure::Continue;
    let error = case.purge().unwrap_err();
    assert!(matches!(error, HostError::PurgeChangedDevice { .. }), "{error}");
    assert!(error.to_string().contains("its capacity has changed"), "{error}");
}

#[test]
fn a_command_for_a_partition_or_without_its_program_is_refused_before_anything_is_written() {
    let Some(device) = LoopDevice::partitioned() else { return };
    let roots = SystemRoots::real();
    let with = |line: &str| PurgeOptions {
        command: Some(PurgeCommandLine::parse(line).unwrap()),
        ..options(PurgeMethod::VendorCommand)
    };
    let target = arm_confirmed(&inspected(&device.part(1)), &[]).unwrap();
    let error = foresee_purge(&target, &with("true {device}"), &roots).unwrap_err().to_string();
    assert!(error.contains("it is a partition"), "{error}");
    drop(target);
    let Some(device) = LoopDevice::blank() else { return };
    let target = arm_confirmed(&device.inspect(), &[]).unwrap();
    let error = foresee_purge(&target, &with("no-such-tool {device}"), &roots).unwrap_err();
    assert!(error.to_string().contains("'no-such-tool' is not installed"), "{error}");
    let none = foresee_purge(&target, &options(PurgeMethod::VendorCommand), &roots).unwrap_err();
    assert!(none.to_string().contains("--purge-command"), "{none}");
    assert_eq!(
        foresee_purge(&target, &with("true {device}"), &roots).unwrap(),
        PurgeMethod::VendorCommand
    );
}
