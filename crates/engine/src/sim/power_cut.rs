//! Power cut of a simulated drive, in virtual time.

use super::SimulatedSsd;
use crate::draw::DrawnIo;
use crate::engine::Engine;
use steadfast_domain::power_cut::{
    AcknowledgedWrites, Acknowledgment, FoundBlock, ModeledDrive, WritePlan,
};
use steadfast_domain::{Halt, Nanos, Op};

/// Time during which the drive is without power or starting.
const RESTART: Nanos = Nanos::from_secs(10);

/// Outcome of a simulated power cut.
#[derive(Debug, Default)]
pub struct SimulatedPowerCut {
    /// Writes that the drive acknowledged as durable.
    pub log: AcknowledgedWrites,
    /// Content of the blocks after the cut.
    pub blocks: Vec<FoundBlock>,
}

impl SimulatedSsd {
    /// Writes the blocks of a trial with a flush after each batch, and cuts the power at the
    /// trial's time. Ends the load that was running at the cut.
    pub fn cut_power(&mut self, plan: &WritePlan) -> Result<SimulatedPowerCut, Halt> {
        self.end_load();
        let began = self.clock;
        let end = began.saturating_add(plan.trial.cut_after.0);
        let mut drive = ModeledDrive::new(plan, self.spec.power_loss, plan.key());
        let mut log = AcknowledgedWrites::default();
        'trial: for batch in 0.. {
            if self.stop.is_requested() {
                return Err(Halt::Stopped);
            }
            let mut done = self.clock;
            for sequence in plan.batch(batch) {
                // The whole batch is outstanding; writes that are complete when the power is cut
                // are in the cache.
                done = done.max(self.drive.submit(self.clock, &write(plan, sequence)));
                if done >= end {
                    break 'trial;
                }
                drive.write(sequence);
            }
            let flush = DrawnIo { op: Op::Flush, size: 0, ..write(plan, 1) };
            self.clock = self.drive.submit(done, &flush);
            if self.clock >= end {
                break;
            }
            drive.flush();
            let at = Nanos(self.clock - began);
            log.add(Acknowledgment { sequence: *plan.batch(batch).end(), at });
        }
        self.clock = end + RESTART.0;
        self.drive.update_temperature(self.clock);
        Ok(SimulatedPowerCut { log, blocks: drive.cut() })
    }
}

fn write(plan: &WritePlan, sequence: u64) -> DrawnIo {
    let offset = plan.offset(plan.block_of(sequence));
    DrawnIo { stream: 0, op: Op::Write, fua: false, offset, size: plan.trial.block.0 as u32 }
}
