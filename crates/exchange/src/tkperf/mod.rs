//! TKperf's log: an XML file whose elements hold JSON.
//!
//! The root element has the name that the user gave the run. Under it stand what is known of
//! device and host, and one element for each test: `iops`, `lat`, `tp`, `writesat`. A test
//! holds its options, its values in `roundmat`, and what TKperf said of steady state. The
//! matrices name neither their mixes nor their block sizes: those follow from the shape.
//! Versions spell some elements differently and lack others; what is missing is named.

mod matrix;
mod read;

pub use read::read;

#[cfg(test)]
mod tests;
