//! The SNIA Solid State Storage Performance Test Specification.
//!
//! [`method`] contains the numbers of each profile and class, [`workload`] the loads that several
//! tests share; [`scattered`] repeats a test for the active ranges of PTS-C 1.x. Sources: PTS
//! 2.0.1, 2.0.2 and 1.1 as quoted in `docs/methods.md`, which also lists what could not be
//! verified.

pub mod dirth;
pub mod hir;
pub mod iops;
pub mod latency;
pub mod method;
pub mod scattered;
pub mod throughput;
pub(crate) mod wipc_exhibits;
pub mod workload;
pub mod wsat;
pub mod xsr;
