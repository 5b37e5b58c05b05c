use super::*;
use crate::identity::{describe, inspect};
use crate::machine::MachineFixture;
use crate::sysfs_node::SysfsNode;
use crate::target::AccessMode;
use crate::transcript::Transcript;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::HostChange;
use steadfast_domain::{Device, PurgeChoice, Transport};

/// Observer of a purge that records the progress and the journaled changes.
#[derive(Default)]
pub(super) struct PurgeObserver {
    pub told: Vec<(String, Option<f64>)>,
    pub journal: Vec<HostChange>,
    pub stopped: bool,
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
    fn tell(&mut self, progress: &PurgeProgress<'_>) {
        self.told.push((progress.doing.to_owned(), progress.percent));
    }
    fn keep_command(&mut self, record: PurgeCommandRecord) {
        self.command = Some(record);
    }
    fn is_stopped(&self) -> bool {
        self.stopped
    }
}

/// Medium of every simulated device: a file of pseudorandom bytes.
pub(super) const MEDIUM: u64 = 8 << 20;

/// Returns a target that stands for this device and is backed by a file.
pub(super) fn armed(machine: &MachineFixture, name: &str) -> Target {
    let node = SysfsNode::named(name, &machine.roots).unwrap();
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
    target.be(device);
    target
}

/// Fills a machine's medium with zeros.
pub(super) fn erase(machine: &MachineFixture) -> impl Fn() + Send + 'static {
    let path = machine.path("medium");
    move || fs::write(&path, vec![0; MEDIUM as usize]).unwrap()
}

pub(super) fn order(method: PurgeMethod) -> PurgeOrder {
    PurgeOrder { choice: PurgeChoice::Method(method), ..PurgeOrder::default() }
}

/// Runs a purge against a transcript and asserts that every line of it was used.
pub(super) fn purged(
    machine: &MachineFixture,
    target: &Target,
    order: &PurgeOrder,
    beside: &mut PurgeObserver,
    tools: &Transcript,
) -> Result<Purge, HostError> {
    let done = purge_with(target, order, beside, &machine.roots, tools);
    assert!(tools.is_over(), "not everything was asked: {done:?}");
    done
}

#[test]
fn what_takes_no_discard_keeps_its_content_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("medium");
    let roots = SystemRoots::real();
    for discard in [false, true] {
        fs::write(&path, [7; 8192]).unwrap();
        let file = inspect(&path, &roots).unwrap();
        // A device that announces discard support may still refuse discards.
        let device = Device { transport: Transport::Sata, discard, name: "sdzzz".into(), ..file };
        let mut beside = PurgeObserver::default();
        let mut reading = Target::open(device.clone(), AccessMode::Read).unwrap();
        let refused = purge(&mut reading, &PurgeOrder::default(), &mut beside, &roots);
        assert!(matches!(refused, Err(HostError::ReadingOnly { .. })));
        let file = Device { transport: Transport::File, ..device.clone() };
        let mut target = Target::open(file, AccessMode::Write).unwrap();
        target.be(device);
        let tools = Transcript::default();
        let done =
            purge_with(&target, &PurgeOrder::default(), &mut beside, &roots, &tools).unwrap();
        assert_eq!((done.method, done.blank), (PurgeMethod::Nothing, None));
        assert!(done.remark.starts_with("sdzzz does not support discard"), "{}", done.remark);
    }
}

/// The command leaves a process of its session whose state cannot be read, by root either.
#[test]
fn a_command_whose_end_is_unknown_ends_the_run_and_keeps_its_record() {
    let machine = MachineFixture::new();
    machine.sata("sda", "8:0", MEDIUM / 512);
    let target = armed(&machine, "sda");
    let process = machine.path("proc/70001");
    let tool = machine.path("tool");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exit\nmkdir -p {}/stat\necho erases",
        process.display()
    );
    fs::write(&tool, script).unwrap();
    fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let line = PurgeCommandLine::parse(&format!("{} {{device}}", tool.display())).unwrap();
    let order = PurgeOrder {
        command: Some(line),
        failed: PurgeFailure::Continue,
        ..order(PurgeMethod::VendorCommand)
    };
    let mut beside = PurgeObserver::default();
    let run = |beside: &mut PurgeObserver| {
        purge_with(&target, &order, beside, &machine.roots, &InstalledTools).unwrap_err()
    };
    let error = run(&mut beside);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    let record = beside.command.take().unwrap();
    assert_eq!(record.output, "erases");
    assert_eq!(record.failure, Some(error.to_string()));
    // As long as its end is unknown, it is not started again.
    let error = run(&mut beside);
    assert!(matches!(error, HostError::PurgeEndUnknown { .. }), "{error}");
    assert_eq!(beside.command, None, "it ran again");
}
