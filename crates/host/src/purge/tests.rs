use super::*;
use crate::identity::{describe, inspect};
use crate::target::AccessMode;
use crate::testing::machine::MachineFixture;
use crate::testing::transcript::Transcript;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::HostChange;
use steadfast_domain::{Device, PurgeChoice, Transport};

/// Observer of a purge that records the progress and the journaled changes.
#[derive(Default)]
pub(super) struct PurgeObserver {
    pub reported: Vec<(String, Option<f64>)>,
    pub journal: Vec<HostChange>,
    pub stopped: Arc<AtomicBool>,
    pub full: bool,
    pub command: Option<PurgeCommandRecord>,
}

impl PurgeWatch for PurgeObserver {
    fn journal(&mut self, change: &HostChange) -> Result<(), String> {
        if self.full {
            return Err("no space left on device".into());
        }
        self.journal.push(change.clone());
        Ok(())
    }
    fn report(&mut self, progress: &PurgeProgress<'_>) {
        self.reported.push((progress.doing.to_owned(), progress.percent));
    }
    fn keep_command(&mut self, record: PurgeCommandRecord) {
        self.command = Some(record);
    }
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl PurgeObserver {
    /// Returns an effect of a command during which the user stops the run.
    pub fn stop(&self) -> impl Fn() + Send + 'static {
        let stopped = Arc::clone(&self.stopped);
        move || stopped.store(true, Ordering::Relaxed)
    }
}

/// Medium of every simulated device: a file of pseudorandom bytes.
pub(super) const MEDIUM: u64 = 8 << 20;

/// Returns a target that stands for this device and is backed by a file.
pub(super) fn armed(machine: &MachineFixture, name: &str) -> Target {
    let node = machine.node(name);
    let mut word = 1u64;
    let bytes: Vec<u8> = (0..MEDIUM / 8)
        .flat_map(|_| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            word.to_le_bytes()
        })
        .collect();
    machine.write("medium", bytes);
    let device = describe(&node, &machine.path("medium"), &machine.roots);
    // Opened as a file, so that no exclusive open is needed.
    let file = Device { transport: Transport::File, ..device.clone() };
    let mut target = Target::open(file, AccessMode::Write).unwrap();
    target.set_device(device);
    target
}

/// Fills a machine's medium with zeros.
pub(super) fn erase(machine: &MachineFixture) -> impl Fn() + Send + 'static {
    let path = machine.path("medium");
    move || fs::write(&path, vec![0; MEDIUM as usize]).unwrap()
}

pub(super) fn options(method: PurgeMethod) -> PurgeOptions {
    PurgeOptions { choice: PurgeChoice::Method(method), ..PurgeOptions::default() }
}

/// A machine and a target on it.
pub(super) struct PurgeRig {
    pub machine: MachineFixture,
    pub target: Target,
}

impl PurgeRig {
    pub fn new(machine: MachineFixture, name: &str) -> PurgeRig {
        let target = armed(&machine, name);
        PurgeRig { machine, target }
    }

    /// Plans a purge by the best method.
    pub fn planned(&self, tools: &Transcript) -> PurgePlan {
        PurgePlan::make(&self.target, &PurgeOptions::default(), &self.machine.roots, tools).unwrap()
    }

    /// Runs a purge against a transcript and asserts that every line of it was used.
    pub fn purged(
        &self,
        options: &PurgeOptions,
        observer: &mut PurgeObserver,
        tools: &Transcript,
    ) -> Result<Purge, HostError> {
        let done = purge_with(&self.target, options, observer, &self.machine.roots, tools);
        assert!(tools.is_over(), "not everything was asked: {done:?}");
        done
    }

    /// Runs a purge that must succeed.
    pub fn succeeded(&self, options: &PurgeOptions, tools: &Transcript) -> Purge {
        self.purged(options, &mut PurgeObserver::default(), tools).unwrap()
    }

    /// Runs a purge that must fail.
    pub fn refused(&self, options: &PurgeOptions, tools: &Transcript) -> HostError {
        self.purged(options, &mut PurgeObserver::default(), tools).unwrap_err()
    }
}

#[test]
fn a_device_without_discard_keeps_its_content() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("medium");
    let roots = SystemRoots::real();
    for discard in [false, true] {
        fs::write(&path, [7; 8192]).unwrap();
        let file = inspect(&path, &roots).unwrap();
        // A device that announces discard support may still refuse discards.
        let device = Device { transport: Transport::Sata, discard, name: "sdzzz".into(), ..file };
        let mut observer = PurgeObserver::default();
        let mut reading = Target::open(device.clone(), AccessMode::Read).unwrap();
        let refused = purge(&mut reading, &PurgeOptions::default(), &mut observer, &roots);
        assert!(matches!(refused, Err(HostError::ReadingOnly { .. })));
        let file = Device { transport: Transport::File, ..device.clone() };
        let mut target = Target::open(file, AccessMode::Write).unwrap();
        target.set_device(device);
        let tools = Transcript::default();
        let done =
            purge_with(&target, &PurgeOptions::default(), &mut observer, &roots, &tools).unwrap();
        assert_eq!((done.method, done.blank), (PurgeMethod::Nothing, None));
        assert!(done.remark.starts_with("sdzzz does not support discard"), "{}", done.remark);
    }
}

/// Returns options for a vendor's command, a script, after whose failure the run may continue.
fn vendor_options(machine: &MachineFixture, script: &str) -> PurgeOptions {
    let tool = machine.path("tool");
    let version = "[ \"$1\" = --version ] && exit";
    fs::write(&tool, format!("#!/bin/sh\n{version}\n{script}\n")).unwrap();
    fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let line = PurgeCommandLine::parse(&format!("{} {{device}}", tool.display())).unwrap();
    PurgeOptions {
        command: Some(line),
        failed: PurgeFailure::Continue,
        ..options(PurgeMethod::VendorCommand)
    }
}

/// The run that continues has the record in its purge, the one that ends in its journal.
#[test]
fn a_command_that_failed_leaves_its_record() {
    let machine = MachineFixture::new();
    machine.sata("sda", "8:0", MEDIUM / 512);
    let target = armed(&machine, "sda");
    let mut options = vendor_options(&machine, "echo erases; echo no such drive >&2; exit 3");
    let mut observer = PurgeObserver::default();
    let run = |options: &PurgeOptions, observer: &mut PurgeObserver| {
        purge_with(&target, options, observer, &machine.roots, &InstalledTools)
    };
    let purge = run(&options, &mut observer).unwrap();
    assert_eq!((purge.blank, observer.command.take()), (Some(false), None));
    let record = purge.command.unwrap();
    assert_eq!(record.output, "erases\nno such drive");
    assert_eq!(record.failure.as_deref(), Some("exit status: 3"));
    options.failed = PurgeFailure::default();
    let error = run(&options, &mut observer).unwrap_err();
    assert!(matches!(error, HostError::PurgeFailed { .. }), "{error}");
    assert_eq!(observer.command, Some(record));
}

/// The command leaves a process of its session whose state cannot be read, by root either.
#[test]
fn a_command_whose_end_is_unknown_ends_the_run_and_keeps_its_record() {
    let machine = MachineFixture::new();
    machine.sata("sda", "8:0", MEDIUM / 512);
    let target = armed(&machine, "sda");
    let process = machine.path("proc/70001");
    let options =
        vendor_options(&machine, &format!("mkdir -p {}/stat\necho erases", process.display()));
    let mut observer = PurgeObserver::default();
    let run = |observer: &mut PurgeObserver| {
        purge_with(&target, &options, observer, &machine.roots, &InstalledTools).unwrap_err()
    };
    let error = run(&mut observer);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    let record = observer.command.take().unwrap();
    assert_eq!(record.output, "erases");
    assert_eq!(record.failure, Some(error.to_string()));
    // As long as its end is unknown, it is not started again.
    let error = run(&mut observer);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert_eq!(observer.command, None, "it ran again");
}
