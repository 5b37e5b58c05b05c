//! Before a first load that reads, blocks of its range are sampled.

use std::path::Path;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
use steadfast_domain::{Bytes, Demand, IoStream, Op, Order, Step, StepPlace, Stimulus, caveats};
use steadfast_engine::StepStart;
use steadfast_engine::StopSignal;
use steadfast_engine::native::{Native, NativeOptions};
use steadfast_host::{Consent, SystemRoots, arm, inspect};
use steadfast_runner::Rig;
use steadfast_runner::real_rig::DeviceRig;

const MIB: usize = 1 << 20;

fn rig(path: &Path) -> DeviceRig {
    let roots = SystemRoots::real();
    let device = inspect(path, &roots).unwrap();
    let confirmation = path.file_name().unwrap().to_str().map(str::to_owned);
    let target = arm(&device, &Consent::Destroy { confirmation }, &[], &roots).unwrap();
    let engine = Native::new(target, StopSignal::default(), NativeOptions::default()).unwrap();
    DeviceRig::new(engine, roots, StopSignal::default())
}

/// Applies ten I/Os to the second MiB. Returns true if the rig reports zeros.
fn reports_zeros(rig: &mut DeviceRig, op: Op) -> bool {
    let stream = IoStream::new(op, Order::Random, Bytes::kib(4));
    let range = ActiveRange::new(Bytes::mib(1), Bytes::mib(1));
    let load = Stimulus::new(vec![stream], range, Demand::new(1, 1), LoadLimits::ios(10));
    let step = Step::alone(StepPlace::new("reads", 0, 1, ""), load);
    let prepared = rig.prepare(&step).unwrap();
    rig.apply(prepared, &StepStart::default(), &mut |_| {}).unwrap();
    rig.take_caveats().iter().any(|caveat| caveat.id == caveats::READS_ZEROS)
}

#[test]
fn reads_of_zeros_have_a_caveat() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("sampled.bin");
    // The first and the last MiB do not count.
    let with = |zero_kib: usize, outside: u8| {
        let mut content = vec![outside; 3 * MIB];
        content[MIB..2 * MIB].fill(0xa5);
        content[MIB..MIB + (zero_kib << 10)].fill(0);
        std::fs::write(&path, content).unwrap();
        rig(&path)
    };
    assert!(reports_zeros(&mut with(1024, 0x5a), Op::Read));
    assert!(reports_zeros(&mut with(256, 0x5a), Op::Read));
    assert!(!reports_zeros(&mut with(252, 0), Op::Read));
    assert!(!reports_zeros(&mut with(0, 0), Op::Read));
    let mut once = with(1024, 0);
    assert!(reports_zeros(&mut once, Op::Read) && !reports_zeros(&mut once, Op::Read));
    drop(once);
    // What the run writes itself is no content that it found.
    let mut written = with(1024, 0);
    assert!(!reports_zeros(&mut written, Op::Write) && !reports_zeros(&mut written, Op::Read));
}
