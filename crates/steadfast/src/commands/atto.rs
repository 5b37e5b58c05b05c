//! `steadfast atto`: the transfer sizes and bars of ATTO Disk Benchmark.

use super::front;
use crate::cli::front::AttoArguments;
use crate::exit::{ExitState, misuse};
use steadfast_procedures::presets::Atto;

/// Runs every transfer size, or prints the plan.
pub fn run(arguments: &AttoArguments) -> anyhow::Result<ExitState> {
    let atto = Atto {
        from: arguments.from,
        to: arguments.to,
        length: arguments.length,
        depth: arguments.queue_depth,
    };
    let sequence = atto.sequence();
    if sequence.steps.is_empty() {
        return Err(misuse(format!(
            "no transfer size lies between {} and {} and within a length of {}; sizes are 512 B to \
             64 MiB",
            arguments.from.binary(),
            arguments.to.binary(),
            arguments.length.binary()
        )));
    }
    front::conduct(&arguments.front, sequence).map(|conducted| conducted.state)
}
