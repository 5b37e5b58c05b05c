//! The bench: conducts a procedure on a rig, keeps the ledger, resumes and rehearses.
//!
//! A [`Rig`] is a device that can be configured, purged, loaded and left idle: a real device
//! ([`real_rig`]) or an SSD in virtual time ([`simulated_rig`]). [`live`] writes every finished step
//! to disk before it returns, and replays the steps that are already there; [`rehearsal`] only adds
//! up time and bytes, from which [`forecast`] computes how long a run takes. Outside a run,
//! [`apply_once`] applies one step, and [`calibrate`] compares two engines.

mod applied_settings;
pub mod calibrate;
mod cooling;
mod cut_log;
pub mod forecast;
mod gap;
mod group_runs;
pub mod host_changes;
mod host_requests;
pub mod hosts;
mod idle;
mod journal_cursor;
mod kernel_counts;
pub mod ledger;
pub mod live;
pub mod progress;
pub mod real_rig;
pub mod rehearsal;
pub mod resume_identity;
pub mod rig;
pub mod run;
mod run_group;
pub mod run_plan;
mod run_position;
mod shared_log_reading;
pub mod simulated_rig;
pub mod single_step;
mod start_order;
pub mod start_together;
pub mod storage;
mod test_environment;

pub use cut_log::{CUT_LOG, CutLog, LogPlace, RECEIVED_LOG, SecondLog, open_second_log, read_logs};
pub use forecast::{Forecast, Outline, TimeLeft};
pub use group_runs::{ReadyRun, RunEnd, conduct_all, start_together};
pub use host_changes::HostChanges;
pub use host_requests::HostRequests;
pub use ledger::{ClockReading, Ledger, LedgerError};
pub use live::LiveBench;
pub use progress::{ProgressSink, RunEvent};
pub use rehearsal::{DriveOutlook, PlannedStep, StepPlan, refusal, rehearse, steps_of};
pub use rig::Rig;
pub use run_group::{
    GroupMember, NamedTarget, NewMember, RunGroup, TargetList, directory_names, plain_name,
    refuse_taken, same_device,
};
pub use run_plan::RunPlan;
pub use single_step::{SingleLoad, SingleLoadResult, apply_once};
pub use start_order::StartOrder;
pub use start_together::{HostClock, StartClock, StartSync, StartTicket, start_tickets};
