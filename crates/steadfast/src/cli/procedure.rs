//! Arguments of a procedure: what is tested, and how.

use super::common::{DEMAND_MAX, EngineName, more_than_nothing};
use super::heading;
use super::replay::ReplayArguments;
use clap::Args;
use steadfast_domain::settings::{SimGap, SteadyStateMethod};
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::units::parse_percent;
use steadfast_domain::{Bytes, Class, Nanos, Profile};
use steadfast_procedures::{PROCEDURES, rwsw};

/// Every procedure on offer, those of captured workloads last.
fn procedure_names() -> String {
    let (captured, others): (Vec<&str>, Vec<&str>) =
        PROCEDURES.iter().map(|offer| offer.name).partition(|name| rwsw::NAMES.contains(name));
    let (others, captured) = (others.join(", "), captured.join(", "));
    format!("{others} (several of the others); of a captured workload: {captured}")
}

/// What is tested, and how.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = heading::METHOD)]
pub struct ProcedureArguments {
    /// The procedure's name.
    #[arg(help = procedure_names())]
    pub procedure: String,
    /// A block device, a file, or sim:NAME (a simulated drive); repeat it to test several
    /// at the same time, each in a run of its own (docs/targets.md). DEVICE=T plays the I/Os
    /// of this captured device on it
    #[arg(help_heading = heading::TARGET, long, value_name = "T", required = true)]
    pub target: Vec<String>,
    /// Create the target file with this size
    #[arg(help_heading = heading::TARGET, long, value_parser = more_than_nothing::<Bytes>)]
    pub size: Option<Bytes>,
    /// enterprise (write cache off, all of the capacity, T4Q32; the default) or client
    /// (write cache on, 75 %, T2Q16)
    #[arg(long)]
    pub class: Option<Class>,
    /// pts-2.0 (the default), pts-1.1, tkperf, or quick (a short check, not the full method)
    #[arg(long)]
    pub profile: Option<Profile>,
    /// Threads of the measured steps
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=DEMAND_MAX))]
    pub threads: Option<u32>,
    /// Outstanding I/Os per thread of the measured steps
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=DEMAND_MAX))]
    pub depth: Option<u32>,
    /// Length of a measured step, such as 60s
    #[arg(long)]
    pub step_time: Option<Nanos>,
    /// Part of the capacity to use, such as 75%
    #[arg(long, value_parser = parse_percent)]
    pub active_range: Option<u8>,
    /// rounds (stop when steady; the default) or post-25 (run 25 rounds, then judge
    /// every window); for wsat also btw (writes between measured minutes),
    /// time:6h, bytes:8TB, fills:4
    #[arg(long)]
    pub steady_state: Option<SteadyStateMethod>,
    /// Maximum number of rounds
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_rounds: Option<u32>,
    /// random-unique (the default), random-once, zero, repeating:HEX, file:PATH or
    /// entropy:RANDOM%,DUPLICATE%
    #[arg(long)]
    pub data_pattern: Option<DataPattern>,
    /// uring, fio or sim; default: uring, or sim for a simulated target
    #[arg(long)]
    pub engine: Option<EngineName>,
    /// Seed of every random choice; printed and recorded
    #[arg(long)]
    pub seed: Option<u64>,
    /// Simulate an interruption: a gap in virtual time before this step, such as
    /// 120:1h. Simulated drives only
    #[arg(long, value_name = "STEP:TIME")]
    pub sim_gap: Option<SimGap>,
    /// Check that data read back is what this run wrote
    #[arg(long)]
    pub verify: bool,
    /// The access pattern of wsat and dirth: "RND 4K W", "SEQ 128K RW90", composite, ...
    /// Of the procedures that apply a captured workload: a trace, a step file, a workload
    /// file, a Replay representation, or a name of `workload list`; of a rotated
    /// capture all its files, each with --workload
    #[arg(long, value_name = "PATTERN|FILE|NAME")]
    pub workload: Vec<String>,
    /// Reads and writes of a composite workload, such as 40/60
    #[arg(long, value_name = "R/W")]
    pub mix: Option<String>,
    /// The procedures of a suite, such as iops,latency
    #[arg(long, value_name = "LIST")]
    pub procedures: Option<String>,
    /// Keep the processors out of slow idle states during the run
    /// (/dev/cpu_dma_latency)
    #[arg(long)]
    pub hold_c_states: bool,
    /// A command that prints the device's power: milliwatts, or with a unit
    /// (4.2 W). Run once a second, without a shell
    #[arg(long, value_name = "COMMAND")]
    pub power_command: Option<String>,
    /// Alignment of random offsets: auto (the block size; 4K for composite), 4K
    /// or 512 bytes
    #[arg(long, value_name = "auto|4K|512")]
    pub alignment: Option<String>,
    /// A parameter of the procedure; docs/procedures lists them
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Facts for the report that steadfast cannot read: key=value, or a file of such lines
    /// (vendor, model, sponsor, nand, form-factor, note, ...)
    #[arg(help_heading = heading::OUTPUT, long, value_name = "FILE|KEY=VALUE")]
    pub meta: Vec<String>,
    #[command(flatten)]
    pub replay: ReplayArguments,
}
