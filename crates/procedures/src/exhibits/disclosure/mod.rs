//! What every PTS report must say: the head of the form ([`form`]), the settings and
//! what they were set on ([`facts`]), and a caveat for every departure from the method and
//! every unverified rule ([`caveats`]). All are made of what was chosen for a run.

mod caveats;
mod facts;
mod form;
mod front;

pub use caveats::caveats;
pub use facts::{
    array_rows, conditions_facts, criteria_text, device_facts, host_facts, parameters_facts,
    settings_facts,
};
pub use form::{
    Form, SECOND_STIMULUS, common_set_up_rows, common_test_rows, form_header, headline,
    loop_set_up_rows, loop_test_rows, note_row, preconditioning_amount, preconditioning_rows,
};
pub use front::front;

use crate::words::reservation_text;
use steadfast_domain::findings::Setting;
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::{Demand, Step, Verdict};

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
        (0, _) => "Preconditioning continued from its last checkpoint.",
        (_, 2..) => "That round is void, and the steady-state window restarts after it.",
        _ => "The steady-state window restarts with that round.",
    }
}
