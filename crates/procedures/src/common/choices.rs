//! Choices of a run that every report discloses.

use super::method::{CoveredRange, Method};
use super::one_pass::OnePass;
use crate::origin;
use crate::parameters::{Parameter, has_chosen_demand};
use crate::report_notation::distinct;
use steadfast_domain::findings::{Origin, Setting};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Geometry, SettingName};
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{Bytes, Demand, Nanos, Settings, Step};

/// Choices of a run, by the user or by default.
pub struct RunChoices<'a> {
    pub settings: &'a Settings,
    pub method: &'a Method,
    /// Capacity and sector size of the device.
    pub geometry: Geometry,
    pub parameters: &'a [Parameter],
    /// Accessed parts of the capacity: one, or those of all parts of a run; empty if the report
    /// leaves them to each part.
    pub covered: Vec<CoveredRange>,
    /// Demands of the measured steps: one, or those of a sweep in order.
    pub demands: Vec<Demand>,
    /// Alignment of random offsets: `BS` (the block size) or a size such as `4K`; `None` if each
    /// part of a run has its own.
    pub alignment: Option<String>,
    /// Demand that the standard recommends or prescribes; the report discloses any other. `None`
    /// if there is nothing to compare with.
    pub recommended: Option<Demand>,
    pub step_time: Nanos,
    /// Block sizes left out because they are not a multiple of the logical sector size.
    pub block_sizes_left_out: &'a [Bytes],
    /// Maximum number of rounds; `None` for a procedure without rounds.
    pub rounds_max: Option<u32>,
    /// Condition that ends the rounds, or the procedure: see `disclosure::ending_text`.
    pub ending: String,
    /// True if steady state is judged by the criteria.
    pub judged: bool,
    /// Workload-independent preconditioning, one pattern per purge; empty for none.
    pub preconditioning: Vec<AccessPattern>,
    /// Random writes in one pass that replace it; `None` without them.
    pub one_pass: Option<&'a OnePass>,
    /// Phases whose steps are measured; all others are preparation.
    pub measured_phases: Vec<String>,
    /// Returns a sentence on the effect that a gap before this step had on the procedure.
    pub gap_effect: fn(&Step) -> &'static str,
    /// Sentence on what profile quick leaves out.
    pub quick: String,
    /// Sentence on where profile tkperf deviates from TKperf.
    pub tkperf: &'static str,
    /// Text printed instead of the step length if the measured steps have no common one.
    pub step_text: Option<String>,
    /// Text printed for preconditioning if the run itself has none, for example because its parts
    /// have their own; `None` prints `none`.
    pub preconditioning_text: Option<String>,
    /// Loads that another tool's file or preset decides instead of profile and class; `None` if
    /// profile and class decide.
    pub own_loads: Option<ForeignLoads>,
    /// I/Os per second that the device completed in a closed loop of the load whose rates are
    /// offered; `None` if it was not measured.
    pub closed_loop_maximum: Option<f64>,
}

/// Disclosure of loads that another tool's file or preset decides.
pub struct ForeignLoads {
    /// Source of the loads, printed after a value: `by the file`.
    pub by: &'static str,
    /// Description of the part of the device that the loads access.
    pub range: String,
}

impl RunChoices<'_> {
    /// Joins the text of each covered part of the capacity, without repetitions.
    pub fn of_covered(&self, separator: &str, text: impl Fn(&CoveredRange) -> String) -> String {
        distinct(self.covered.iter().map(text)).join(separator)
    }
    /// Returns true if the run accesses segments of the active range instead of all of it.
    pub fn is_scattered(&self) -> bool {
        self.covered.iter().any(|covered| covered.range.segments.is_some())
    }
    /// Returns `Chosen` if the user or a file decides the demand, else `Profile`.
    pub fn demand_origin(&self) -> Origin {
        let settings = self.settings;
        let is_given = settings.threads.is_some() || settings.depth.is_some();
        origin::chosen_or_profile(
            is_given || self.own_loads.is_some() || has_chosen_demand(self.parameters, settings),
        )
    }
    pub fn demand_row(&self, label: &str, demand: String) -> Setting {
        Setting::new("demand", label, demand, self.demand_origin())
    }
    pub fn step_row(&self, label: &str) -> Setting {
        let origin = origin::chosen_or_profile(
            self.settings.step_time.is_some() || self.own_loads.is_some(),
        );
        let time = self.step_text.clone().unwrap_or_else(|| self.step_time.to_string());
        Setting::new("step-time", label, time, origin)
    }
    /// Returns the report's row for the accessed share of the capacity.
    pub fn range_row(&self, label: &str, range: String) -> Setting {
        let is_chosen = self.settings.active_range_percent.is_some() || self.own_loads.is_some();
        Setting::new("active-range", label, range, origin::chosen_or_profile(is_chosen))
    }
    /// Returns the text for workload-independent preconditioning: `own`, else
    /// `preconditioning_text`, else `none`.
    pub fn preconditioning_or(&self, own: Option<String>) -> String {
        own.or_else(|| self.preconditioning_text.clone()).unwrap_or_else(|| "none".to_owned())
    }
    pub fn pattern_row(&self, label: &str, pattern: String) -> Setting {
        let is_default = self.settings.data_pattern == DataPattern::default();
        let origin = origin::chosen_or_default(self.settings, SettingName::DataPattern, is_default);
        Setting::new("data-pattern", label, pattern, origin)
    }
    /// Returns true if the step is measured, and not preparation.
    pub fn measures(&self, step: &Step) -> bool {
        self.measured_phases.contains(&step.place.phase)
    }
}
