//! The SNIA Solid State Storage Performance Test Specification.
//!
//! [`method`] holds the numbers of each profile and class, [`preconditioning`]
//! and [`rounds`] the loops that several tests share, [`disclosure`] what every
//! report must say. Sources: PTS 2.0.1/2.0.2 and 1.1 as quoted in
//! `docs/methods.md`, which also lists what could not be verified.

pub mod disclosure;
pub mod iops;
pub mod method;
pub mod preconditioning;
pub mod rounds;
