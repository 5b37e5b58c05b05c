//! Reads TKperf's log: an XML file whose elements hold JSON.
//!
//! The root element has the name that the user gave the run. Below it are the facts about device
//! and host, and one element per test: `iops`, `lat`, `tp`, `writesat`. A test holds its options,
//! its values in `roundmat`, and TKperf's statement about steady state. The matrices name neither
//! their mixes nor their block sizes; both follow from the shape. Versions spell some elements
//! differently and lack others; missing elements are reported.

mod matrix;
mod read;

pub use read::read;

#[cfg(test)]
mod tests;
