//! The machine and its devices: identity, sensors, purge, settings, and [`arm`], the only way to
//! get a handle on a device.
//!
//! This is the only crate that reads `/sys` and `/proc` or runs device tools. All paths are below
//! [`SystemRoots`], so that a test can simulate a machine in a directory.

mod anchor;
mod arming;
mod ata_security;
mod backing;
mod checkup;
mod device_log;
mod disk_array;
mod error;
mod extents;
mod facts;
mod files;
mod find_device;
mod fuse;
mod identity;
mod inhibit;
mod layers;
mod locks;
#[cfg(test)]
mod machine;
mod made_here;
mod mark;
mod mounts;
mod node;
mod occupancy;
mod processes;
mod proof;
mod purge;
mod queue;
mod refusal;
mod remote;
mod roots;
mod run_queue;
mod scratch;
mod sensors;
mod settings;
mod signatures;
mod target;
mod tool;
#[cfg(test)]
mod transcript;
mod zone;

pub use arming::{Consent, arm};
pub use checkup::{WATCH, examine, throttle_count};
pub use device_log::{DeviceLogs, LogReading, SelfTest};
pub use error::HostError;
pub use facts::{host_facts, random_name};
pub use files::{
    Directory, FileError, ForeignControl, NewFile, OverwritePolicy, ReadAccess, open_regular,
    read_file, read_regular, read_regular_text, sealed_text,
};
pub use find_device::find_again;
pub use identity::{confirmation, devices, inspect};
pub use inhibit::{IdleStateHold, SleepInhibition, hold_idle_states, inhibit_sleep};
pub use locks::is_locked;
pub use mark::{ScratchMark, scratch_mark};
pub use processes::process_exists;
pub use proof::{
    check_clocks, directory_proof, monotonic, proof, since_boot, wait_until, wall_clock_unix_ms,
};
pub use purge::{PurgeOrder, PurgeProgress, PurgeWatch, foresee_purge, purge};
pub use queue::{
    BlockQueue, DeviceFileSystem, MountedFileSystem, Partition, block_queue, disk_sequence,
    file_systems_on, has_fua, mounted_at,
};
pub use refusal::ArmRefusal;
pub use remote::{
    HostsConsent, RemoteError, RemoteHost, RemoteTarget, arm_hosts, attend_host, look_from_hosts,
    plain_hosts, unseen,
};
pub use roots::SystemRoots;
pub use run_queue::RunQueueTime;
pub use scratch::create_scratch;
pub use sensors::{
    HostCounters, OwnCgroups, PowerMeter, PowerReport, PowerSource, ProcessorTimes, QuotaCounts,
    host_counters, kernel_counters, processor_times, temperature,
};
pub use settings::{
    PURGE_PASSWORD, UndoOutcome, conditions, is_password, make_change, plan_changes, undo_change,
    unlock,
};
pub use target::Target;
pub use tool::{command, find_program};
pub use zone::{zone, zone_change};
