//! Portrait: a drive on one page that a buyer understands. It is our own choice of procedures, not
//! a method of the PTS.
//!
//! A portrait is a suite whose parts are fill, iops, latency, commit, load-curve of a mixed workload
//! and idle-exit, in this order: what purges comes first. At full length each part is the procedure
//! as it runs alone. Shorter portraits have shorter steps and fewer rounds, and share a
//! preconditioned state: the parts after the last purge start from the drive as the parts before
//! them left it.

mod answers;
mod buyer;
mod lengths;
#[cfg(test)]
mod tests;

use crate::common::method::Method;
use crate::load_curve;
use crate::parts::EndingsTable;
use crate::procedure_error::ProcedureError;
use crate::procedure_spec::{ProcedureSpec, boxed};
use crate::pts::method;
use crate::suite::{self, PartPlan, StudiedSuite, Suite, SuiteKind};
use lengths::{FILL, IDLE_EXIT, LENGTH, PROCEDURES, PortraitLength, SERVICE_LEVEL, ShortPart};
use steadfast_domain::purge::{PurgeChoice, PurgeMethod};
use steadfast_domain::{Caveat, Findings, Profile, Settings, caveats as ids};

pub const NAME: &str = suite::PORTRAIT;

/// Workload of the load curve (our choice: reads with a third of writes, as a database has them).
const MIXED: &str = "oltp";

pub(crate) const SPEC: ProcedureSpec = ProcedureSpec {
    name: NAME,
    summary: "a drive on one page for buyers: fill, iops, latency, commit, load-curve, idle-exit",
    parameters: &[LENGTH],
    make: |request| boxed(Suite::new(&PORTRAIT, plans(request.settings)?, request)),
};

const PORTRAIT: SuiteKind = SuiteKind {
    title: "Portrait",
    subtitle: "A drive on one page",
    list: LENGTH,
    noun: "procedures",
    endings: EndingsTable {
        id: "portrait",
        title: "How each procedure ended",
        corner: "Procedure",
    },
    repeat_options: |parts| format!("`steadfast run {} --max-rounds N`", parts.join(" or ")),
    overall_tables: |_| Vec::new(),
    method: portrait_method,
    add_to_page_one,
};

/// Returns the method of the run as a whole: conditions and range of the class.
fn portrait_method(settings: &Settings) -> Method {
    Method {
        document: NAME,
        revision: "Portrait",
        disclaimer: Some("PORTRAIT: several procedures on one page, not a method of the PTS"),
        ..method::for_profile(settings.profile, settings.class)
    }
}

fn plans(settings: &Settings) -> Result<Vec<PartPlan>, ProcedureError> {
    if !matches!(settings.profile, Profile::Pts20 | Profile::Quick) {
        return Err(ProcedureError(format!(
            "profile {} has no portrait: its parts follow documents that have only some of them; \
             choose --profile pts-2.0",
            settings.profile
        )));
    }
    let short = PortraitLength::from_settings(settings)?.parts();
    let mut plans = Vec::new();
    for procedure in PROCEDURES {
        let part = short.iter().find(|part| part.procedure == procedure);
        plans.push(part_plan(procedure, part, settings));
    }
    Ok(plans)
}

fn part_plan(procedure: &str, short: Option<&ShortPart>, settings: &Settings) -> PartPlan {
    let mut preset: Vec<(&str, String)> = Vec::new();
    if procedure == load_curve::NAME {
        preset.push(("workload", MIXED.to_owned()));
    }
    let parameters = short.map(|part| part.parameters).unwrap_or_default();
    preset.extend(parameters.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let mut plan = PartPlan::new(procedure, procedure, preset, settings);
    let base = &mut plan.base;
    // Only the load curve searches for a service level.
    let slo = settings.slo.unwrap_or(SERVICE_LEVEL);
    base.slo = (procedure == load_curve::NAME).then_some(slo);
    if [FILL, IDLE_EXIT].contains(&procedure) {
        base.rounds_max = None;
    }
    if let Some(part) = short {
        base.step_time = base.step_time.or(part.step_time);
        base.rounds_max = base.rounds_max.or(part.rounds_max);
        base.shares_preconditioning = part.shares_preconditioning;
    }
    if base.shares_preconditioning {
        base.purge = PurgeChoice::Method(PurgeMethod::Nothing);
    }
    plan
}

/// Adds the questions of a buyer with their figures, and what the length left out.
fn add_to_page_one(findings: &mut Findings, suite: &StudiedSuite<'_>) {
    findings.caveats.extend(length_caveat(suite.settings));
    buyer::add_questions(findings, suite);
}

/// Returns the caveat on what a length shortened; `None` at full length.
fn length_caveat(settings: &Settings) -> Option<Caveat> {
    let parts = PortraitLength::from_settings(settings).ok()?.parts();
    let mut shortened = Vec::new();
    for part in parts {
        let mut changes: Vec<String> = Vec::new();
        changes.extend(part.step_time.map(|time| format!("steps of {time}")));
        changes.extend(part.rounds_max.map(|rounds| format!("at most {rounds} rounds")));
        changes.extend(part.parameters.iter().map(|(name, value)| format!("{name}={value}")));
        if part.shares_preconditioning {
            changes.push("no purge and no preconditioning of its own".to_owned());
        }
        shortened.push(format!("{}: {}", part.procedure, changes.join(", ")));
    }
    (!shortened.is_empty()).then(|| {
        Caveat::deviation(
            ids::PORTRAIT_LENGTH,
            format!(
                "length={} shortens the procedures, where no option says otherwise. {}.",
                LENGTH.value(settings),
                shortened.join("; ")
            ),
            "Use --set length=complete.",
        )
    })
}
