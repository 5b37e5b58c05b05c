//! What every PTS report must say: the head of the form ([`form`]), the settings and
//! what they were set on ([`facts`]), and a caveat for every departure from the method and
//! every unverified rule ([`caveats`]). All are made of what was chosen for a run.

mod caveats;
mod facts;
mod form;

pub use caveats::caveats;
pub use facts::{conditions_facts, device_facts, host_facts, parameters_facts, settings_facts};
pub use form::{
    Form, SECOND_STIMULUS, common_set_up_rows, common_test_rows, form_header, headline,
    loop_set_up_rows, loop_test_rows, note_row, preconditioning_amount, preconditioning_rows,
};

use super::between::reservation_text;
use super::exhibits::each_once;
use super::method::{Covered, Method};
use crate::{origin, parameters};
use steadfast_domain::findings::{Origin, Setting};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Geometry, SteadyStateMethod};
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{Bytes, Demand, Nanos, Settings, Step, Verdict};

/// What was chosen for a run, by the user or by default.
pub struct Choices<'a> {
    /// As the user gave them.
    pub settings: &'a Settings,
    /// What profile and class ask for.
    pub method: &'a Method,
    /// The device's geometry.
    pub geometry: Geometry,
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
    /// How the rounds, or the procedure, end: see [`ending_text`].
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
}

impl Choices<'_> {
    /// What a text says of the covered parts of the capacity, each once.
    fn of_covered(&self, separator: &str, text: impl Fn(&Covered) -> String) -> String {
        each_once(self.covered.iter().map(text)).join(separator)
    }
    /// Whether segments of the active range are touched and not all of it.
    fn is_scattered(&self) -> bool {
        self.covered.iter().any(|covered| covered.range.segments.is_some())
    }
    /// Who decides the demand.
    pub fn demand_origin(&self) -> Origin {
        let s = self.settings;
        origin::given(s.threads.is_some() || s.depth.is_some() || parameters::choose_demand(s))
    }
    /// The demand of measured steps, as a place of the report writes it.
    pub fn demand_row(&self, label: &str, demand: String) -> Setting {
        Setting::new("demand", label, demand, self.demand_origin())
    }
    /// The length of a measured step.
    pub fn step_row(&self, label: &str) -> Setting {
        let origin = origin::given(self.settings.step_time.is_some());
        Setting::new("step-time", label, self.step_time.to_string(), origin)
    }
    /// The share of the capacity that is touched, as a place of the report writes it.
    fn range_row(&self, label: &str, range: String) -> Setting {
        let origin = origin::given(self.settings.active_range_percent.is_some());
        Setting::new("active-range", label, range, origin)
    }
    /// What is written, as a place of the report writes it.
    fn pattern_row(&self, label: &str, pattern: String) -> Setting {
        let is_default = self.settings.data_pattern == DataPattern::default();
        let origin = origin::said(self.settings, "--data-pattern", is_default);
        Setting::new("data-pattern", label, pattern, origin)
    }
    /// Whether a step is one of those that are measured.
    pub fn measures(&self, step: &Step) -> bool {
        self.measured_phases.contains(&step.place.phase)
    }
}

/// What stands where each part of a run has a value of its own.
fn own(text: String) -> String {
    if text.is_empty() { "each procedure's own".to_owned() } else { text }
}

/// Labelled values.
pub type Rows = Vec<Setting>;

/// How the report form writes a demand: `TC 4 / QD 32`.
pub fn form_demand(demand: Demand) -> String {
    format!("TC {} / QD {}", demand.threads, demand.depth)
}

/// How the report form writes several demands: each, or the first and the last.
pub fn form_demands(demands: &[Demand]) -> String {
    match demands {
        [first, .., last] if demands.len() > 3 => {
            format!("{} ... {}", form_demand(*first), form_demand(*last))
        }
        few => few.iter().map(|d| form_demand(*d)).collect::<Vec<_>>().join(", "),
    }
}

/// The rounds of a verdict's window, as the form writes them: `3 - 7`.
pub fn window_text(verdict: &Verdict) -> String {
    let reservation = reservation_text(verdict);
    match (verdict.steady, verdict.window) {
        (true, Some((first, last))) => format!("{first} - {last}{reservation}"),
        _ => format!("SS NOT ACHIEVED{reservation}"),
    }
}

/// How a run ends, in words.
pub fn ending_text(method: SteadyStateMethod) -> String {
    match method {
        SteadyStateMethod::Rounds => "stop at the first steady window (rounds)".to_owned(),
        SteadyStateMethod::Post25 => {
            "run all rounds, judge every window afterwards (post-25)".to_owned()
        }
        SteadyStateMethod::Btw => "five measurements with writes between them (btw)".to_owned(),
        other => format!("pseudo steady state ({other})"),
    }
}

/// What a gap does to a mixed loop and to the preconditioning before it.
pub fn loop_gap_effect(step: &Step) -> &'static str {
    match (step.place.round, step.place.point) {
        (0, _) => "Preconditioning went on from its last checkpoint.",
        (_, 2..) => "That round is void, and the steady-state window begins anew after it.",
        _ => "The steady-state window begins anew with that round.",
    }
}
