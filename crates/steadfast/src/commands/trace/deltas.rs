//! `trace compare --by`: before and after, what changed most first.

use super::columns::listed;
use crate::asked::SOFTWARE;
use crate::cli::trace::CompareArguments;
use crate::exit::{ExitState, misuse};
use crate::selected::{self, Selected};
use crate::writing::{Rule, Shelf};
use crate::{output, terminal};
use anyhow::Context;
use serde::Serialize;
use steadfast_domain::text::printable;
use steadfast_domain::{Caveat, Nanos};
use steadfast_trace::captured::Answer;
use steadfast_trace::delta::{self, Align, Delta, DeltaSide};
use steadfast_trace::delta_findings::{Compared, findings};
use steadfast_trace::groups::{Facet, Groups};
use steadfast_trace::quality::Quality;
use steadfast_trace::trust::Evidence;

#[derive(Serialize, schemars::JsonSchema)]
struct DeltasContent<'a> {
    by: String,
    align: String,
    /// The captures, before and after.
    captures: &'a [String; 2],
    /// The time that was looked at in each.
    observed_ns: [u64; 2],
    total: &'a Delta,
    /// What changed most first.
    deltas: &'a [Delta],
    /// What limits the trust in either.
    limits: &'a [Caveat],
}

/// What changed from the first capture to the second.
pub fn run(
    arguments: &CompareArguments,
    by: Facet,
    mut both: [Selected; 2],
) -> anyhow::Result<ExitState> {
    let rule = Rule::of(&arguments.writing)?;
    let names = output::names(&arguments.format);
    let shelf = arguments.output.as_ref().map(|path| Shelf::named(path, rule, &names));
    let shelf = shelf.transpose()?;
    let lasted = lasted(&both)?;
    let align = align(arguments, &mut both, lasted)?;
    let mut sides = Vec::new();
    let (mut caveats, mut observed_ns, mut account) = (Vec::new(), [0; 2], None);
    for (at, capture) in both.iter().enumerate() {
        let (groups, evidence) = folded(capture, by)?;
        let spans = capture.captured.observed(&capture.pass.filter, lasted[at]);
        observed_ns[at] = spans.iter().map(|(from, to)| to - from).sum();
        caveats.extend(limits(['A', 'B'][at], &evidence));
        account.get_or_insert(evidence.account);
        sides.push(DeltaSide::of(&groups, capture.conditions(), observed_ns[at]));
    }
    let sides: [DeltaSide; 2] = sides.try_into().ok().context("two captures are compared")?;
    let compared = Compared {
        names: both.each_ref().map(|capture| capture.name.clone()),
        conditions: both.each_ref().map(Selected::conditions),
        observed_ns,
        align,
        by: by.to_string(),
        total: delta::total(&sides),
        deltas: delta::deltas(&sides, arguments.rank.into()),
        caveats,
    };
    show(arguments, &both[0], &compared, account.unwrap_or_default())?;
    if let Some(shelf) = shelf {
        for file in output::write(&shelf, &findings(&compared, SOFTWARE), &arguments.format)? {
            terminal::tell(&file.display().to_string());
        }
    }
    let mut endings = both.iter().map(Selected::ending);
    Ok(endings.find(|ending| *ending != ExitState::Done).unwrap_or(ExitState::Done))
}

fn show(
    arguments: &CompareArguments,
    first: &Selected,
    compared: &Compared<'_>,
    account: steadfast_trace::pass::PassAccount,
) -> anyhow::Result<()> {
    if !arguments.json {
        return terminal::print(&lines(arguments, compared));
    }
    let content = DeltasContent {
        by: compared.by.clone(),
        align: compared.align.to_string(),
        captures: &compared.names,
        observed_ns: compared.observed_ns,
        total: &compared.total,
        deltas: &compared.deltas,
        limits: &compared.caveats,
    };
    first.print(account, content)
}

/// The schema of the JSON output.
pub fn schema() -> schemars::Schema {
    selected::schema_of::<DeltasContent<'_>>()
}

fn lines(arguments: &CompareArguments, compared: &Compared<'_>) -> String {
    let [a, b] = [0, 1].map(|at| {
        let time = Nanos(compared.observed_ns[at]);
        format!("{} ({time})", printable(&compared.names[at]))
    });
    let Delta { a: total_a, b: total_b, .. } = &compared.total;
    let tells_queue = total_a.queue_mean_ns.or(total_b.queue_mean_ns).is_some();
    let shown = compared.deltas.iter().take(arguments.top).chain([&compared.total]);
    let more = compared.deltas.len().saturating_sub(arguments.top);
    let more = if more > 0 { format!("\n{more} more with a larger --top") } else { String::new() };
    format!(
        "A = {a}\nB = {b}\naligned by {}\n{}{more}",
        printable(&compared.align.to_string()),
        listed(&Delta::table(tells_queue), shown)
    )
}

/// How long each capture lasted.
fn lasted(both: &[Selected; 2]) -> anyhow::Result<[u64; 2]> {
    let [a, b] = both.each_ref().map(|capture| {
        let known = capture.conditions().lasted_ns;
        let found = |captured: &steadfast_trace::Captured<_>, _: &_| {
            captured.span_ns(&steadfast_trace::Pass::default())
        };
        if known > 0 { Ok(known) } else { Ok(capture.ask(found)?.1.saturating_add(1)) }
    });
    let found: anyhow::Result<[u64; 2]> = a.and_then(|a| Ok([a, b?]));
    found
}

/// Narrows both to what is compared.
fn align(
    arguments: &CompareArguments,
    both: &mut [Selected; 2],
    lasted: [u64; 2],
) -> anyhow::Result<Align> {
    let shared = delta::overlap([0, 1].map(|at| (both[at].conditions(), lasted[at])));
    let align = arguments.align.clone();
    let align = align.unwrap_or(if shared.is_some() { Align::Clock } else { Align::Start });
    match &align {
        Align::Start => {}
        Align::Mark(mark) => {
            for capture in both.iter_mut() {
                capture.begin_at_mark(mark)?;
            }
        }
        Align::Clock => {
            let shared = shared.ok_or_else(|| {
                misuse(format!(
                    "{} and {} do not overlap in time; use --align start, or --align mark:NAME",
                    both[0].name, both[1].name
                ))
            })?;
            for (capture, span) in both.iter_mut().zip(shared) {
                let filter = std::mem::take(&mut capture.pass.filter);
                capture.pass.filter = filter.within(&[span]);
            }
        }
    }
    Ok(align)
}

fn folded(capture: &Selected, by: Facet) -> anyhow::Result<(Groups, Evidence)> {
    let Answer { found, .. } = capture.answer(|captured, pass| {
        let facets = delta::facets(by);
        let mut groups = Groups::by(&facets).with_hosts(captured.conditions());
        let mut quality = Quality::of(captured.conditions());
        let account = captured.run(pass, &mut [&mut groups, &mut quality])?;
        let evidence = Evidence::seen(captured, account, quality);
        Ok(Answer { found: (groups, evidence), account })
    })?;
    Ok(found)
}

/// What limits the trust in one of the two.
fn limits(letter: char, evidence: &Evidence) -> Vec<Caveat> {
    let limits = evidence.limits().into_iter();
    limits.map(|caveat| Caveat { text: format!("{letter}: {}", caveat.text), ..caveat }).collect()
}
