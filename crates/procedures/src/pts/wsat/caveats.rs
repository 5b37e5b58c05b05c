//! Caveats of WSAT.

use super::results::{SaturationEnd, WsatRun};
use super::setup::WsatPreconditioning;
use crate::common::preconditioning::WIPC_PATTERN;
use crate::exhibits::cyclic_load::fresh_caveat;
use crate::exhibits::response::bins_caveat;
use crate::report_notation::{count_word, limits_text, reservation_text};
use steadfast_domain::{Caveat, Profile, Verdict, caveats as ids};

/// Returns the caveats of WSAT that precede the common ones.
pub(super) fn caveats(run: &WsatRun<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let not_steady = run.results.verdict.as_ref().filter(|verdict| !verdict.steady);
    if let Some(verdict) = not_steady.filter(|_| run.record.has_ended()) {
        caveats.push(not_steady_caveat(run, verdict));
    }
    if run.record.has_ended() && run.results.verdict.is_none() {
        caveats.push(Caveat::remark(
            ids::PSEUDO_STEADY_STATE,
            format!("Steady state was not judged: the run ended {}.", run.test.ending_rule()),
            "",
        ));
    }
    caveats.extend(run.results.verdict.as_ref().and_then(fresh_caveat));
    caveats.extend(reads_caveat(run));
    caveats.extend(preconditioning_caveat(run));
    if run.test.histogram_time.is_some() {
        caveats.push(bins_caveat());
    }
    let document = &run.test.setup.method.document;
    let is_standard = run.test.workload.to_string() == "RND 4K W";
    if !is_standard && matches!(run.test.setup.settings.profile, Profile::Pts11 | Profile::Tkperf) {
        caveats.push(Caveat::deviation(
            ids::WORKLOAD,
            format!("WSAT of {document} writes RND 4K W; this run uses {}.", run.test.workload),
            "Omit --workload, or choose --profile pts-2.0.",
        ));
    }
    caveats
}

fn not_steady_caveat(run: &WsatRun<'_>, verdict: &Verdict) -> Caveat {
    if run.test.requires_steady_state() {
        Caveat::invalidates(
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED{}: the values are those of the steps that ran.",
                reservation_text(verdict)
            ),
            "Repeat the run with more rounds (--max-rounds).",
        )
    } else {
        Caveat::remark(
            ids::ENDED_BEFORE_STEADY_STATE,
            format!(
                "The saturation ended at its limit of {} before {} rounds met {}. The method allows \
                 this.",
                limit_text(run),
                count_word(verdict.criteria.window),
                limits_text(&verdict.criteria)
            ),
            "Choose --steady-state btw to run until they do.",
        )
    }
}

/// Returns the limit at which the saturation ended: an amount, a time, or the rounds.
fn limit_text(run: &WsatRun<'_>) -> String {
    match (run.results.end, run.test.time_limit, run.test.cyclic_load()) {
        (SaturationEnd::Written, ..) => run.test.fills_text(),
        (SaturationEnd::Time, Some(time), _) => time.to_string(),
        (_, _, Some(load)) => format!("{} rounds", load.cycles_max),
        _ => "steps".to_owned(),
    }
}

/// Returns a caveat on sequential preconditioning, which the method lacks.
fn preconditioning_caveat(run: &WsatRun<'_>) -> Option<Caveat> {
    let WsatPreconditioning::Wipc = &run.test.preconditioning else { return None };
    Some(Caveat::deviation(
        ids::PRECONDITION,
        format!(
            "2 x user capacity was written ({WIPC_PATTERN}) before the saturation; WSAT has no \
             workload-independent preconditioning, so this run did not begin with a fresh drive."
        ),
        "Omit --set precondition.",
    ))
}

/// Returns a caveat if reads of a purged drive may access unwritten blocks.
fn reads_caveat(run: &WsatRun<'_>) -> Option<Caveat> {
    let is_mixed = (1..100).contains(&run.test.workload.read_percent());
    (is_mixed && !run.test.preconditioning.writes()).then(|| {
        Caveat::remark(
            ids::READS_UNWRITTEN,
            "Until the drive is full, some reads are of blocks that were not written since the \
             purge. A drive answers these without reading its flash.",
            "",
        )
    })
}
