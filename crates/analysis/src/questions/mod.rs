//! Questions about a capture. Each is answered by a fold over its I/Os or over their sums.

pub mod compare;
pub mod cumulative;
pub mod day_profile;
pub mod delta;
pub mod delta_findings;
pub mod drives;
pub mod extremes;
pub mod group_figures;
pub mod groups;
pub mod hits;
pub mod hot;
pub mod locality;
pub mod processes;
pub mod quality;
pub mod reach;
pub mod read_out;
mod remedies;
pub mod series;
pub mod shape;
pub mod shape_figures;
pub mod steps;
pub mod stream_steps;
pub mod streams;
pub mod study;
pub mod threads;
pub mod totals;
pub mod trust;
