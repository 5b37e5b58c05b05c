//! The SNIA Solid State Storage Performance Test Specification.
//!
//! [`method`] holds the numbers of each profile and class, [`preconditioning`]
//! and [`rounds`] the loops that several tests share, [`scattered`] what repeats
//! them for the active ranges of PTS-C 1.x, [`disclosure`] what every
//! report must say, [`exhibits`], [`response`] and [`secondary`] the tables and
//! plots that several tests have. Sources: PTS 2.0.1/2.0.2 and 1.1 as quoted in
//! `docs/methods.md`, which also lists what could not be verified.

pub mod between;
pub mod dirth;
pub mod disclosure;
mod envelope;
pub mod exhibits;
pub mod ground;
pub mod hir;
pub mod iops;
pub mod latency;
pub mod method;
pub mod preconditioning;
pub mod response;
pub mod results;
pub mod rounds;
pub mod scattered;
#[cfg(test)]
pub(crate) mod scripted;
pub mod secondary;
pub mod throughput;
pub mod workload;
pub mod wsat;
pub mod xsr;

/// Five nines, the standard's tail percentile.
pub(crate) const FIVE_NINES: f64 = 0.99999;
