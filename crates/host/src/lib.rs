//! The machine and its devices: identity, sensors, purge, settings, and [`arm`], the only way to
//! get a handle on a device.
//!
//! This is the only crate that reads `/sys` and `/proc` or runs device tools. All paths are below
//! [`SystemRoots`], so that a test can simulate a machine in a directory.

mod arming;
mod ata_security;
mod backing;
mod block_device_facts;
mod checkup;
mod clocks;
mod created_files;
mod cut_command;
mod device_checks;
mod device_log;
mod device_number;
mod device_uses;
mod disk_array;
mod error;
mod extents;
mod facts;
mod file_checks;
mod file_systems;
mod files;
mod find_device;
mod fuse;
#[doc(hidden)]
pub mod fuzzing;
mod handles;
mod host_settings;
mod identity;
mod inhibit;
mod layers;
mod load_process;
mod locks;
mod mounts;
mod nvme;
mod pinned_path;
mod processes;
mod proof;
mod purge;
mod refusal;
mod remote;
mod retry;
mod run_queue;
mod scratch;
mod scratch_mark;
mod sensors;
mod signatures;
mod sysfs_node;
mod system_roots;
mod target;
#[cfg(test)]
mod testing;
mod time_zone;
mod tool;
mod user;

pub use arming::{Consent, arm};
pub use ata_security::{PURGE_PASSWORD, unlock};
pub use block_device_facts::{
    BlockDeviceFacts, Partition, block_device_facts, disk_sequence, has_fua, sends_flushes,
};
pub use checkup::{Examination, WATCH, examine, throttle_count};
pub use clocks::{check_clocks, monotonic, since_boot, wait_until, wall_clock_unix_ms};
pub use cut_command::cut_power;
#[doc(hidden)]
pub use cut_command::cut_power_on;
pub use device_log::{DeviceLogs, LogReading, SelfTest, drive_pages, power_counters};
pub use error::HostError;
pub use facts::{host_facts, random_name};
pub use file_systems::{DeviceFileSystem, MountedFileSystem, file_systems_on, mounted_at};
pub use files::{
    Directory, FileError, ForeignControl, NewFile, OutputStorage, OverwritePolicy, ReadAccess,
    memory_file, open_regular, read_file, read_regular, read_regular_text, read_sized, sealed_text,
};
pub use find_device::{find_again, has_returned};
pub use host_settings::{
    ChangePlan, LoadCgroups, UndoOutcome, conditions, is_password, make_change, plan_changes,
    undo_change, with_power_management,
};
pub use identity::{confirmation, devices, inspect};
pub use inhibit::{IdleStateHold, SleepInhibition, hold_idle_states, inhibit_sleep};
pub use load_process::{ATTEND_LOAD, LoadProcess, MessageLink, inherit_target};
pub use locks::is_locked;
pub use nvme::{AdminCommand, AdminCompletion, AdminQueue, NvmeNode, NvmeStatus};
pub use processes::process_exists;
pub use proof::{directory_proof, proof};
#[doc(hidden)]
pub use purge::purge_simulated;
pub use purge::{PurgeCommandLine, PurgeOptions, PurgeProgress, PurgeWatch, foresee_purge, purge};
pub use refusal::ArmRefusal;
pub use remote::{
    HostsConsent, RemoteError, RemoteHost, RemoteTarget, arm_hosts, attend_host,
    inspect_from_hosts, plain_hosts, unseen,
};
pub use run_queue::RunQueueTime;
pub use scratch::create_scratch;
pub use scratch_mark::{ScratchMark, scratch_mark};
pub use sensors::{
    AmbientSensor, CgroupReading, CgroupSensor, HostCounters, PowerMeter, PowerReport, PowerSource,
    ProcessorTimes, host_counters, kernel_counters, processor_times, temperature,
};
pub use system_roots::SystemRoots;
pub use target::Target;
pub use time_zone::{zone, zone_change};
pub use tool::{
    BlockingCall, EnvironmentVariable, HostedProgram, OutputStream, ProgramCall, ProgramHost,
    command, find_program,
};
