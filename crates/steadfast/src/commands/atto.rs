//! `steadfast atto`: the transfer sizes and bars of ATTO Disk Benchmark.

use super::other_tools;
use crate::cli::other_tools::AttoArguments;
use crate::exit::{ExitState, misuse};
use steadfast_procedures::presets::Atto;

/// Runs every transfer size, or prints the plan.
pub fn run(arguments: &AttoArguments) -> anyhow::Result<ExitState> {
    let atto = Atto {
        from: arguments.min_size,
        to: arguments.max_size,
        length: arguments.test_size,
        depth: arguments.depth,
    };
    let sequence = atto.sequence();
    if sequence.steps.is_empty() {
        return Err(misuse(format!(
            "no transfer size lies between {} and {} and within a length of {}; sizes are 512 B to \
             64 MiB",
            arguments.min_size.binary(),
            arguments.max_size.binary(),
            arguments.test_size.binary()
        )));
    }
    other_tools::conduct(&arguments.front, sequence).map(|conducted| conducted.state)
}
