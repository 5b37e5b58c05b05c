//! A configuration of Iometer's on its way to a target.

use crate::cli::iometer::IometerArguments;
use crate::commands::front;
use std::path::Path;
use steadfast_exchange::iometer::{self, Circumstances, Config, Plan};

/// A configuration, made ready for a target.
pub struct Ready {
    /// What the file holds.
    pub config: Config,
    /// What is applied, and the tests behind it.
    pub plan: Plan,
}

impl Ready {
    /// The configuration of a file.
    pub fn of(
        arguments: &IometerArguments,
        file: &Path,
        sector: u64,
        prepare: bool,
    ) -> anyhow::Result<Self> {
        let bytes = front::read(file)?;
        let refused = |why| front::refused(file, &[why]);
        let reading = iometer::read(&bytes).map_err(refused)?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let on = Circumstances {
            processors: u32::try_from(processors).unwrap_or(1),
            sector,
            time: arguments.time,
            disk: arguments.disk.as_deref(),
            prepare,
            own_pattern: arguments.front.data_pattern.is_some(),
        };
        let mut plan = iometer::plan(&reading.config, reading.remarks, on).map_err(refused)?;
        plan.sequence.source = Some(front::source(file, &bytes));
        Ok(Ready { config: reading.config, plan })
    }
}
