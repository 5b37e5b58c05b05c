//! Arguments of a procedure: its targets and parameters.

use super::common::{ARRIVALS, DEMAND_MAX, EngineName, TargetArguments, one_of};
use super::heading;
use super::replay::ReplayArguments;
use clap::Args;
use steadfast_domain::rate::{Arrivals, OfferedRate};
use steadfast_domain::settings::{SimGap, SteadyStateMethod};
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::units::{parse_celsius, parse_percent};
use steadfast_domain::{Class, Nanos, Profile, ServiceLevel};
use steadfast_procedures::{PROCEDURES, rwsw};

/// Every procedure on offer, those of captured workloads last.
fn procedure_names() -> String {
    let (captured, others): (Vec<&str>, Vec<&str>) =
        PROCEDURES.iter().map(|offer| offer.name).partition(|name| rwsw::NAMES.contains(name));
    let (others, captured) = (others.join(", "), captured.join(", "));
    format!("{others} (several of the others); of a captured workload: {captured}")
}

/// Help of `--target`.
const SEVERAL_TARGETS: &str = "Device or file to work on: a block device, a file, or sim:NAME (a \
    simulated drive). Repeat it to test several at the same time, each in its own run; \
    DEVICE=TARGET plays the I/Os of this captured device on it (docs/targets.md)";

/// A procedure, its targets and its parameters.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("target", |target| target.required(true).help(SEVERAL_TARGETS)))]
pub struct ProcedureArguments {
    /// The procedure's name.
    #[arg(help = procedure_names())]
    pub procedure: String,
    /// Targets, each tested in a run of its own.
    #[command(flatten)]
    pub target: TargetArguments,
    /// Class of the drive: enterprise (write cache off, all of the capacity, T4Q32; the default)
    /// or client (write cache on, 75 %, T2Q16)
    #[arg(help_heading = heading::METHOD, long, value_name = "CLASS")]
    pub class: Option<Class>,
    /// Set of parameters: pts-2.0 (the default), pts-1.1, tkperf, or quick (a short check, not
    /// the full method)
    #[arg(help_heading = heading::METHOD, long, value_name = "PROFILE")]
    pub profile: Option<Profile>,
    /// Threads of the measured steps
    #[arg(help_heading = heading::METHOD, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=DEMAND_MAX))]
    pub threads: Option<u32>,
    /// Outstanding I/Os per thread of the measured steps
    #[arg(help_heading = heading::METHOD, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=DEMAND_MAX))]
    pub depth: Option<u32>,
    /// Offer I/Os at this rate, whether or not earlier ones have completed: I/Os per second, or
    /// MB/s. Response times count from when each I/O is due. For wsat, composite and multi-wsat
    #[arg(help_heading = heading::METHOD, long, value_name = "IOPS|MB/s")]
    pub rate: Option<OfferedRate>,
    /// Arrivals of a --rate: at random (default), or evenly spaced
    #[arg(help_heading = heading::METHOD, long, requires = "rate", value_parser = one_of(ARRIVALS))]
    pub arrivals: Option<Arrivals>,
    /// Service level whose highest rate load-curve searches for: a percentile of the response
    /// times and its limit, such as p99=1ms
    #[arg(help_heading = heading::METHOD, long, value_name = "pN=TIME")]
    pub slo: Option<ServiceLevel>,
    /// Length of a measured step, such as 60s
    #[arg(help_heading = heading::METHOD, long, value_name = "TIME")]
    pub step_time: Option<Nanos>,
    /// Part of the capacity to use; such as 75%
    #[arg(help_heading = heading::METHOD, long, value_name = "PERCENT", value_parser = parse_percent)]
    pub active_range: Option<u8>,
    /// When the measurement ends: rounds (stop when steady; the default) or post-25 (run 25
    /// rounds, then judge every window); for wsat also btw (writes between measured minutes),
    /// time:6h, bytes:8TB, fills:4
    #[arg(help_heading = heading::METHOD, long, value_name = "RULE")]
    pub steady_state: Option<SteadyStateMethod>,
    /// Maximum number of rounds
    #[arg(help_heading = heading::METHOD, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_rounds: Option<u32>,
    /// Data to write: random-unique (the default), random-once, zero, repeating:HEX, file:PATH or
    /// entropy:RANDOM%,DUPLICATE%
    #[arg(help_heading = heading::METHOD, long, value_name = "PATTERN")]
    pub data_pattern: Option<DataPattern>,
    /// Engine that submits the I/Os; default: uring, or sim for a simulated target
    #[arg(help_heading = heading::METHOD, long)]
    pub engine: Option<EngineName>,
    /// Seed of every random choice; printed and recorded
    #[arg(help_heading = heading::METHOD, long, value_name = "N")]
    pub seed: Option<u64>,
    /// Simulate an interruption: a gap in virtual time before this step, such as
    /// 120:1h. Simulated drives only
    #[arg(help_heading = heading::METHOD, long, value_name = "STEP:TIME")]
    pub sim_gap: Option<SimGap>,
    /// Check that data read back is what was written
    #[arg(help_heading = heading::METHOD, long)]
    pub verify: bool,
    /// Workload to apply: for wsat, dirth and load-curve an access pattern ("RND 4K W", "SEQ 128K RW90",
    /// composite, ...); for load-curve and the procedures of captured workloads a trace, a step file, a workload
    /// file, a Replay representation, or a name of `workload list`; for a rotated capture, repeat
    /// --workload for every file
    #[arg(help_heading = heading::METHOD, long, value_name = "PATTERN|FILE|NAME")]
    pub workload: Vec<String>,
    /// Mix of reads and writes; of a composite workload, such as 40/60
    #[arg(help_heading = heading::METHOD, long, value_name = "MIX")]
    pub mix: Option<String>,
    /// The procedures of a suite, such as iops,latency
    #[arg(help_heading = heading::METHOD, long, value_name = "LIST")]
    pub procedures: Option<String>,
    /// Keep the processors out of deep idle states during the run
    /// (/dev/cpu_dma_latency)
    #[arg(help_heading = heading::METHOD, long)]
    pub hold_c_states: bool,
    /// Command that prints the device's power: milliwatts, or with a unit
    /// (4.2 W). Run once a second, without a shell
    #[arg(help_heading = heading::METHOD, long, value_name = "COMMAND")]
    pub power_command: Option<String>,
    /// Temperature that the device must be below before the first load of each test, such as 45C;
    /// the run waits for it after the purge
    #[arg(help_heading = heading::METHOD, long, value_name = "CELSIUS", value_parser = parse_celsius, allow_hyphen_values = true)]
    pub start_below: Option<f64>,
    /// Longest wait for --start-below; default: 30min. A device that is still too warm halts the
    /// run, which can be resumed
    #[arg(help_heading = heading::METHOD, long, value_name = "TIME", requires = "start_below")]
    pub start_below_limit: Option<Nanos>,
    /// Ambient temperature, printed in the report's header, such as 23C
    #[arg(help_heading = heading::METHOD, long, value_name = "CELSIUS", value_parser = parse_celsius, allow_hyphen_values = true)]
    pub ambient: Option<f64>,
    /// Sensor of the ambient temperature, read before and after each step: the path of its hwmon
    /// file (/sys/class/hwmon/hwmon2/temp1_input), or its hwmon label
    #[arg(help_heading = heading::METHOD, long, value_name = "PATH|LABEL")]
    pub ambient_sensor: Option<String>,
    /// Preconditioning: wipc, or one-pass (random writes in one pass, not a method of the PTS;
    /// needs the drive's spare flash, such as --set spare=7%); short for --set precondition=METHOD
    #[arg(help_heading = heading::METHOD, long, value_name = "METHOD")]
    pub precondition: Option<String>,
    /// Alignment of random offsets: auto (the block size; 4K for composite), 4K
    /// or 512 bytes
    #[arg(help_heading = heading::METHOD, long, value_name = "auto|4K|512")]
    pub alignment: Option<String>,
    /// Parameter of the procedure; docs/procedures lists them
    #[arg(help_heading = heading::METHOD, long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Facts for the report that steadfast cannot detect; key=value, or a file of such lines
    /// (vendor, model, sponsor, nand, form-factor, note, ...)
    #[arg(long, value_name = "FILE|KEY=VALUE")]
    pub meta: Vec<String>,
    #[command(flatten)]
    pub replay: ReplayArguments,
}
