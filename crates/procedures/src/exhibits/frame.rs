//! The parts that the findings of all procedures have.

use super::pages::page;
use super::{checks, hosts};
use crate::common::choices::RunChoices;
use crate::exhibits::disclosure;
use steadfast_domain::findings::{Exhibit, FormHeader, Page};
use steadfast_domain::{Caveat, EndState, Findings, Record, caveats as ids};

/// Returns findings without results. A procedure fills in the rest: `Findings { summary,
/// form_pages, ..frame(...).with_verdict(verdict) }`.
pub(crate) fn frame(
    title: &str,
    choices: &RunChoices<'_>,
    record: &Record,
    header: FormHeader,
) -> Findings {
    let end = EndState::new(record.has_ended(), None);
    let opening = record.opening();
    Findings {
        method: method_text(choices),
        headline: disclosure::headline(choices, record),
        simulated: opening.is_some_and(|opening| opening.device.is_simulated()),
        began_unix_ms: record.began_unix_ms,
        ended_unix_ms: record.ended_unix_ms,
        digest: record.digest.clone(),
        software: opening.map(|opening| opening.software.to_owned()).unwrap_or_default(),
        end,
        front: disclosure::front(choices, record),
        ..Findings::new(title, header)
    }
}

fn method_text(choices: &RunChoices<'_>) -> String {
    let (profile, class) = (choices.settings.profile, choices.settings.class);
    match choices.method.disclaimer {
        Some(text) if choices.own_loads.is_some() => format!("{text} (docs/methods.md)"),
        None => format!(
            "Method of {} as in docs/methods.md, profile {profile}, class {class}",
            choices.method.document
        ),
        Some(text) => format!("{text} (docs/methods.md), class {class}"),
    }
}

/// Returns the caveat of an unfinished run; `None` if it has ended.
pub(crate) fn unfinished(record: &Record) -> Option<Caveat> {
    (!record.has_ended()).then(|| {
        Caveat::invalidates(
            ids::UNFINISHED,
            "The run is not finished; the report shows what was measured so far.",
            "Continue with `steadfast resume RUN_DIR`.",
        )
    })
}

/// Returns the chapter of device, host, conditions, settings and parameters.
pub(crate) fn set_up_chapter(choices: &RunChoices<'_>, record: &Record) -> Page {
    let mut exhibits = Vec::new();
    if let Some(opening) = record.opening() {
        exhibits.push(Exhibit::Facts(disclosure::device_facts(opening.device)));
    }
    exhibits.push(Exhibit::Facts(disclosure::host_facts(record)));
    exhibits.extend(hosts::table(record).map(Exhibit::Table));
    exhibits.push(Exhibit::Facts(disclosure::conditions_facts(record)));
    exhibits.push(Exhibit::Facts(disclosure::settings_facts(choices)));
    exhibits.push(Exhibit::Facts(disclosure::parameters_facts(choices)));
    page("Setup Information", exhibits)
}

/// Returns the chapters of every report: setup, then the checks before the run.
pub(crate) fn common_chapters(choices: &RunChoices<'_>, record: &Record) -> Vec<Page> {
    vec![set_up_chapter(choices, record), checks::chapter(record)]
}
