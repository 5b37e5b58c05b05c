//! `trace compare --by`: differences between two captures, largest first.

use super::listing_table::listing_table;
use crate::cli::trace::TraceCompareArguments;
use crate::exit::{ExitState, misuse};
use crate::filtered_capture::FilteredCapture;
use crate::output::OptionalReport;
use crate::run_settings::SOFTWARE;
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::filter::Filter;
use steadfast_analysis::questions::delta::{self, AlignedCapture, Delta, DeltaSide, TimeAlignment};
use steadfast_analysis::questions::delta_findings::{CaptureComparison, findings};
use steadfast_analysis::questions::groups::{Facet, Groups};
use steadfast_analysis::questions::quality::Completeness;
use steadfast_analysis::questions::trust::Evidence;
use steadfast_domain::text::printable;
use steadfast_domain::{Caveat, Nanos};
use steadfast_tracefile::observed_time::ObservedTime;

#[derive(Serialize, schemars::JsonSchema)]
pub struct DeltasContent<'a> {
    by: String,
    align: String,
    /// The captures, before and after.
    captures: &'a [String; 2],
    /// The observed time of each.
    observed_ns: [u64; 2],
    total: &'a Delta,
    /// Differences, the largest first.
    deltas: &'a [Delta],
    /// Limits to the trust in either capture.
    limits: &'a [Caveat],
}

/// Prints the differences from the first capture to the second.
pub fn run(
    arguments: &TraceCompareArguments,
    by: Facet,
    mut pair: [FilteredCapture; 2],
) -> anyhow::Result<ExitState> {
    let report = OptionalReport::from_arguments(&arguments.report)?;
    let align = align(arguments, &mut pair)?;
    let mut sides = Vec::new();
    let (mut caveats, mut observed_ns, mut account) = (Vec::new(), [0; 2], None);
    for (at, capture) in pair.iter().enumerate() {
        let (groups, evidence) = groups_of(capture, by)?;
        let observed = capture.captured.observed(&capture.pass.filter);
        observed_ns[at] = observed.total_ns();
        caveats.extend(limits(['A', 'B'][at], &evidence));
        account.get_or_insert(evidence.account);
        sides.push(DeltaSide::new(&groups, capture.conditions(), observed));
    }
    let sides: [DeltaSide; 2] = sides.try_into().ok().context("two captures are compared")?;
    let compared = CaptureComparison {
        names: pair.each_ref().map(|capture| capture.name.clone()),
        conditions: pair.each_ref().map(FilteredCapture::conditions),
        observed_ns,
        align,
        by: by.to_string(),
        total: delta::total(&sides),
        deltas: delta::deltas(&sides, arguments.rank),
        caveats,
    };
    print(arguments, &pair[0], &compared, account.unwrap_or_default())?;
    report.write(&findings(&compared, SOFTWARE))?;
    Ok(ExitState::worst(pair.iter().map(FilteredCapture::ending)))
}

fn print(
    arguments: &TraceCompareArguments,
    first: &FilteredCapture,
    compared: &CaptureComparison<'_>,
    account: steadfast_analysis::pass::PassAccount,
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
    first.print(account, content)?;
    Ok(())
}

fn lines(arguments: &TraceCompareArguments, compared: &CaptureComparison<'_>) -> String {
    let [a, b] = [0, 1].map(|at| {
        let time = Nanos(compared.observed_ns[at]).elapsed_text();
        format!("{} ({time})", printable(&compared.names[at]))
    });
    let Delta { a: total_a, b: total_b, .. } = &compared.total;
    let has_queue = total_a.queue_mean_ns.or(total_b.queue_mean_ns).is_some();
    let shown = compared.deltas.iter().take(arguments.top).chain([&compared.total]);
    let more = compared.deltas.len().saturating_sub(arguments.top);
    let more = if more > 0 { format!("\n{more} more with a larger --top") } else { String::new() };
    format!(
        "A = {a}\nB = {b}\naligned by {}\n{}{more}",
        printable(&compared.align.to_string()),
        listing_table(&Delta::table(has_queue), shown)
    )
}

/// Narrows both captures to the time range to compare.
fn align(
    arguments: &TraceCompareArguments,
    pair: &mut [FilteredCapture; 2],
) -> anyhow::Result<TimeAlignment> {
    let by_clock = aligned_by_clock(pair);
    let shared = by_clock.as_ref().map(delta::shared_time).unwrap_or_default();
    let overlap = by_clock.as_ref().is_some_and(|captures| delta::overlap(captures));
    let align = match &arguments.align {
        Some(align) => align.clone(),
        None if overlap => TimeAlignment::Clock,
        None => TimeAlignment::Start,
    };
    match &align {
        TimeAlignment::Start => {}
        TimeAlignment::Mark(mark) => {
            let marks = [pair[0].mark(mark)?, pair[1].mark(mark)?];
            let latest_ns = marks[0].max(marks[1]);
            let captures = [0, 1].map(|at| AlignedCapture {
                origin_ns: latest_ns - marks[at],
                observed: observed_time(&pair[at]),
                grid: pair[at].captured.step_grid(),
            });
            let span = delta::in_whole_steps(&captures, (latest_ns, u64::MAX));
            let span = span.ok_or_else(|| no_common_step(pair, &align))?;
            narrow(pair, &captures, &[span]);
        }
        TimeAlignment::Clock => {
            if !overlap {
                return Err(misuse(format!(
                    "{} and {} do not overlap in time; use --align start, or --align mark:NAME",
                    pair[0].name, pair[1].name
                )));
            }
            let captures = by_clock.filter(|_| !shared.is_empty());
            let captures = captures.ok_or_else(|| no_common_step(pair, &align))?;
            narrow(pair, &captures, &shared);
        }
    }
    Ok(align)
}

/// Returns the observed time that a capture's time filter selects; steps are cut at its limits.
fn observed_time(capture: &FilteredCapture) -> ObservedTime {
    capture.captured.observed(&Filter::default()).passing(&capture.pass.filter.spans_ns, None)
}

/// Returns both captures in clock time; `None` if the start of one is unknown.
fn aligned_by_clock(pair: &[FilteredCapture; 2]) -> Option<[AlignedCapture; 2]> {
    let [a, b] = pair.each_ref().map(|capture| {
        let grid = capture.captured.step_grid();
        AlignedCapture::by_clock(capture.conditions(), observed_time(capture), grid)
    });
    a.zip(b).map(<[AlignedCapture; 2]>::from)
}

fn narrow(pair: &mut [FilteredCapture; 2], captures: &[AlignedCapture; 2], spans: &[(u64, u64)]) {
    for (capture, aligned) in pair.iter_mut().zip(captures) {
        let own: Vec<(u64, u64)> = spans.iter().map(|span| aligned.own(*span)).collect();
        let filter = std::mem::take(&mut capture.pass.filter);
        capture.pass.filter = filter.within(&own);
    }
}

fn no_common_step(pair: &[FilteredCapture; 2], align: &TimeAlignment) -> anyhow::Error {
    misuse(format!(
        "{} and {} have no whole step in common when aligned by {align}; name the trace files \
         instead of sums, or fold them in narrower steps",
        pair[0].name, pair[1].name
    ))
}

/// Groups the I/Os of a capture, and gathers what limits the trust in it.
fn groups_of(capture: &FilteredCapture, by: Facet) -> anyhow::Result<(Groups, Evidence)> {
    let PassResult { found, .. } = capture.answer(|captured, pass| {
        let facets = delta::facets(by);
        let mut groups = Groups::by(&facets).with_hosts(captured.conditions());
        let mut quality = Completeness::from_conditions(captured.conditions());
        let account = captured.run(pass, &mut [&mut groups, &mut quality])?;
        let evidence = Evidence::from_pass(captured, account, quality);
        Ok(PassResult { found: (groups, evidence), account })
    })?;
    Ok(found)
}

/// Returns the caveats of one of the two captures.
fn limits(letter: char, evidence: &Evidence) -> Vec<Caveat> {
    let limits = evidence.limits().into_iter();
    limits.map(|caveat| Caveat { text: format!("{letter}: {}", caveat.text), ..caveat }).collect()
}
