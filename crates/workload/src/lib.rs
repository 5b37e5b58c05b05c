//! Workloads made from captures: derived workloads, workload files, the Replay representation,
//! exact replays, and the comparison of a replay with its capture.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod arrivals;
pub mod details;
pub mod export;
pub mod fidelity;
pub mod placement;
pub mod replay;
pub mod replay_representation;
pub mod workload_file;
mod zones;

pub use arrivals::{ArrivalProcess, CapturedArrivals};
pub use details::{AddressRange, WorkloadDetails};
pub use placement::Placement;
pub use workload_file::WorkloadFile;
