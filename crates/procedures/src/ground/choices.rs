//! What was chosen for a run: what every report discloses.

use super::method::{Covered, Method};
use crate::origin;
use crate::parameters::{Parameter, choose_demand};
use crate::words::each_once;
use steadfast_domain::findings::{Origin, Setting};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{Bytes, Demand, Nanos, Settings, Step};

/// What was chosen for a run, by the user or by default.
pub struct Choices<'a> {
    /// As the user gave them.
    pub settings: &'a Settings,
    /// What profile and class ask for.
    pub method: &'a Method,
    /// The device's geometry.
    pub geometry: Geometry,
    /// The procedure's parameters.
    pub parameters: &'a [Parameter],
    /// What is touched: one part of the capacity, or those of all parts of a run;
    /// empty where each part has its own.
    pub covered: Vec<Covered>,
    /// The demands of the measured steps: one, or those of a sweep in order.
    pub demands: Vec<Demand>,
    /// What offsets are multiples of: `BS` (the block size), `4K`; `None` where each
    /// part of a run has its own.
    pub alignment: Option<String>,
    /// The demand that the standard recommends or prescribes; another one is
    /// disclosed. `None` where there is nothing to compare with.
    pub recommended: Option<Demand>,
    /// Length of a measured step.
    pub step_time: Nanos,
    /// Block sizes smaller than the logical sector.
    pub block_sizes_left_out: &'a [Bytes],
    /// The most rounds; `None` for a procedure without rounds.
    pub rounds_max: Option<u32>,
    /// How the rounds, or the procedure, end: see `disclosure::ending_text`.
    pub ending: String,
    /// Whether steady state is judged by the criteria.
    pub judged: bool,
    /// Workload-independent preconditioning, one per purge; empty for none.
    pub preconditioning: Vec<AccessPattern>,
    /// The phases whose steps are measured; the others prepare.
    pub measured_phases: Vec<String>,
    /// What a gap before this step did to the procedure: a sentence.
    pub gap_effect: fn(&Step) -> &'static str,
    /// What profile quick leaves out: a sentence.
    pub quick: String,
    /// What profile tkperf does otherwise than TKperf: a sentence.
    pub tkperf: &'static str,
    /// What stands for the length of a step where the measured steps have none in common.
    pub step_text: Option<String>,
    /// What stands for preconditioning where it is not the run's own.
    pub preconditioning_text: Option<String>,
    /// Where another tool's file or preset decides the loads, and profile and class nothing.
    pub own_loads: Option<OwnLoads>,
}

/// What another tool's file or preset says of its loads.
pub struct OwnLoads {
    /// Who decides, as it follows a value: `by the file`.
    pub by: &'static str,
    /// The bytes that the loads touch.
    pub range: String,
}

impl Choices<'_> {
    /// What a text says of the covered parts of the capacity, each once.
    pub fn of_covered(&self, separator: &str, text: impl Fn(&Covered) -> String) -> String {
        each_once(self.covered.iter().map(text)).join(separator)
    }
    /// Whether segments of the active range are touched and not all of it.
    pub fn is_scattered(&self) -> bool {
        self.covered.iter().any(|covered| covered.range.segments.is_some())
    }
    /// Who decides the demand.
    pub fn demand_origin(&self) -> Origin {
        let s = self.settings;
        if self.own_loads.is_some() {
            return Origin::Chosen;
        }
        origin::given(s.threads.is_some() || s.depth.is_some() || choose_demand(self.parameters, s))
    }
    /// The demand of measured steps, as a place of the report writes it.
    pub fn demand_row(&self, label: &str, demand: String) -> Setting {
        Setting::new("demand", label, demand, self.demand_origin())
    }
    /// The length of a measured step.
    pub fn step_row(&self, label: &str) -> Setting {
        let origin = origin::given(self.settings.step_time.is_some() || self.own_loads.is_some());
        let time = self.step_text.clone().unwrap_or_else(|| self.step_time.to_string());
        Setting::new("step-time", label, time, origin)
    }
    /// The share of the capacity that is touched, as a place of the report writes it.
    pub fn range_row(&self, label: &str, range: String) -> Setting {
        let is_chosen = self.settings.active_range_percent.is_some() || self.own_loads.is_some();
        Setting::new("active-range", label, range, origin::given(is_chosen))
    }
    /// The preconditioning that is independent of the workload, where it is not the run's
    /// own; `none` where there is none.
    pub fn preconditioning_or(&self, own: Option<String>) -> String {
        let other = || self.preconditioning_text.clone().unwrap_or_else(|| "none".to_owned());
        own.unwrap_or_else(other)
    }
    /// What is written, as a place of the report writes it.
    pub fn pattern_row(&self, label: &str, pattern: String) -> Setting {
        let is_default = self.settings.data_pattern == DataPattern::default();
        let origin = origin::said(self.settings, "--data-pattern", is_default);
        Setting::new("data-pattern", label, pattern, origin)
    }
    /// Whether a step is one of those that are measured.
    pub fn measures(&self, step: &Step) -> bool {
        self.measured_phases.contains(&step.place.phase)
    }
}
