//! Disclosures of every PTS report: the head of the form ([`form`]), settings and device
//! ([`facts`]), and a caveat for every deviation from the method and every unverified rule
//! ([`caveats`]). All are derived from the choices of a run.

mod caveats;
mod facts;
mod form;
mod front_page;

pub use caveats::{caveats, rate_missed};
pub use facts::{
    array_rows, conditions_facts, criteria_text, device_facts, host_facts, parameters_facts,
    settings_facts,
};
pub use form::{
    ReportForm, SECOND_STIMULUS, common_test_rows, form_header, headline, loop_set_up_rows,
    loop_test_rows, note_row, preconditioning_amount, preconditioning_rows,
};
pub use front_page::front;

use crate::report_notation::{joined, reservation_text};
use steadfast_domain::findings::{OptionalText, Origin, Setting};
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::{Demand, Step, Verdict};

pub type SettingRows = Vec<Setting>;

/// Returns a row of the form that profile and class decide.
pub fn profile_row(id: &str, label: &str, value: impl OptionalText) -> Setting {
    Setting::new(id, label, value, Origin::Profile)
}

/// Formats a demand as the report form does: `TC 4 / QD 32`.
pub fn form_demand(demand: Demand) -> String {
    format!("TC {} / QD {}", demand.threads, demand.depth)
}

/// Formats several demands as the report form does: each, or the first and the last.
pub fn form_demands(demands: &[Demand]) -> String {
    match demands {
        [first, .., last] if demands.len() > 3 => {
            format!("{} ... {}", form_demand(*first), form_demand(*last))
        }
        few => joined(few.iter().map(|demand| form_demand(*demand))),
    }
}

pub fn window_text(verdict: &Verdict) -> String {
    let reservation = reservation_text(verdict);
    match (verdict.steady, verdict.window) {
        (true, Some((first, last))) => format!("{first} - {last}{reservation}"),
        _ => format!("SS NOT ACHIEVED{reservation}"),
    }
}

/// Describes the condition that ends a run.
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

pub fn loop_gap_effect(step: &Step) -> &'static str {
    match (step.place.round, step.place.point) {
        (_, 2..) => "That round is void, and the steady-state window restarts after it.",
        _ => "The steady-state window restarts with that round.",
    }
}
