//! The trend of one procedure over many runs of one drive model: each metric with its noise, the
//! runs at which its level changed, and a comparison with a baseline.
//!
//! Runs are matched and refused by IDs, as in a comparison. The result becomes a `Findings`
//! ([`ProcedureTrend::findings`]), so everything that prints a run also prints a trend.

mod computation;
mod exhibits;
mod junit;
mod selection;
mod series;

pub use self::computation::ProcedureTrend;
pub use self::selection::{LeftOutRun, TrendBaseline, TrendError, TrendOptions, TrendRun};
pub use self::series::{LevelChange, MetricTrend, TREND_RUNS_MIN, TrendVerdict};
