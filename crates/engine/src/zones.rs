//! Loads that a zoned device cannot take.

use crate::prepared::StepRefusal;
use steadfast_domain::{Device, Load, Op, Order, Stimulus, ZoneModel};

/// Refuses writes that a device with host-managed zones would fail: random ones, and those of
/// several streams or outstanding I/Os, which would write the same zones out of order.
pub(crate) fn check_zones(device: &Device, load: &Load) -> Result<(), StepRefusal> {
    if device.zoned != Some(ZoneModel::HostManaged) {
        return Ok(());
    }
    let is_refused = match load {
        Load::Script(script) => script.alters(),
        Load::Stimulus(_) | Load::Together(_) => load.stimuli().iter().any(writes_out_of_order),
    };
    if !is_refused {
        return Ok(());
    }
    Err(StepRefusal(format!(
        "{} has host-managed zones, which can only be written in sequence: use sequential writes \
         at T1Q1 after a reset of its zones (blkzone reset {}), or reads",
        device.path, device.path
    )))
}

fn writes_out_of_order(stimulus: &Stimulus) -> bool {
    let mut writes = stimulus.streams.iter().filter(|s| s.op == Op::Write && s.weight > 0);
    let Some(first) = writes.next() else { return false };
    writes.next().is_some()
        || !matches!(first.order, Order::Sequential(_))
        || stimulus.demand.outstanding() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StopSignal;
    use crate::sim::{SimulatedSsd, drive};
    use steadfast_domain::notation::AccessPattern;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand};

    #[test]
    fn only_reads_and_one_sequential_writer_are_allowed() {
        let mut device =
            SimulatedSsd::new(drive("small").unwrap(), 1, StopSignal::default()).device().clone();
        let load = |pattern: &str, demand: &str| {
            let pattern: AccessPattern = pattern.parse().unwrap();
            let range = ActiveRange::new(Bytes(0), Bytes::mib(1));
            let demand: Demand = demand.parse().unwrap();
            Load::Stimulus(Stimulus::new(pattern.streams(), range, demand, LoadLimits::ios(1)))
        };
        for (pattern, demand, zoned, passes) in [
            ("RND 4K W", "T1Q1", None, true),
            ("RND 4K W", "T1Q1", Some(ZoneModel::HostAware), true),
            ("RND 4K W", "T1Q1", Some(ZoneModel::HostManaged), false),
            ("RND 4K RW65", "T1Q1", Some(ZoneModel::HostManaged), false),
            ("SEQ 128K W", "T1Q32", Some(ZoneModel::HostManaged), false),
            ("SEQ 128K W", "T1Q1", Some(ZoneModel::HostManaged), true),
            ("RND 4K R", "T4Q32", Some(ZoneModel::HostManaged), true),
        ] {
            device.zoned = zoned;
            assert_eq!(
                check_zones(&device, &load(pattern, demand)).is_ok(),
                passes,
                "{pattern} {demand}"
            );
        }
    }
}
