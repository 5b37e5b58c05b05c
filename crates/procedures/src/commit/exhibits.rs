//! Report of the commit test: commits per second and their response times by kind and number of
//! committers, and what a flush costs.

use super::flush_cost::{
    FREE_UP_TO, FlushCost, FlushVerdict, flush_costs, flush_sentence, flush_verdict,
};
use super::results::{CommitPoint, CommitResults};
use super::setup::{
    BLOCK_SIZES, COMMITTERS, Commit, CommitKind, CommitOrder, PRECONDITIONING, RUN_IN,
};
use crate::common::metrics::MeasuredPoint;
use crate::common::preconditioning;
use crate::exhibits::cyclic_load::preconditioning_caveats;
use crate::exhibits::disclosure::{self, ReportForm, form_demand};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::seconds::{curve, response_plot, seconds};
use crate::exhibits::time_axis::PlotTimeAxis;
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::pts::wipc_exhibits::preconditioning_exhibits;
use crate::report_notation::{joined, reservation_text, steady_rounds};
use std::num::NonZeroU32;
use steadfast_domain::findings::{
    Axis, Cell, Column, Exhibit, KeyFigure, Metric, Plot, Row, Scale, Series, Setting, Stroke,
    Table,
};
use steadfast_domain::text::counted;
use steadfast_domain::{Bytes, Caveat, Record, Step, Tally, Verdict, caveats as ids};

type CommitRun<'a> = StudiedRun<'a, Commit>;

impl ProcedureReport for Commit {
    type Results<'a> = CommitResults<'a>;
    const TITLE: &'static str = "Commit";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| page_one_table(run, "commit-summary", &run.test.sizes[..1])),
        ReportEntry::Table(|run| cost_table(run, "flush-cost-summary")),
        ReportEntry::Form("Commits per Second v Committers - Log"),
        ReportEntry::Plot(|run| rate_plot(run, CommitOrder::Log)),
        ReportEntry::Table(|run| rate_table(run, CommitOrder::Log)),
        ReportEntry::Form("Commits per Second v Committers - Random"),
        ReportEntry::Plot(|run| rate_plot(run, CommitOrder::Random)),
        ReportEntry::Table(|run| rate_table(run, CommitOrder::Random)),
        ReportEntry::Form("Response Time of the Commit v Committers - Log"),
        ReportEntry::Plot(|run| response_by_committers(run, CommitOrder::Log)),
        ReportEntry::Table(|run| response_table(run, CommitOrder::Log)),
        ReportEntry::Form("Response Time of the Commit v Committers - Random"),
        ReportEntry::Plot(|run| response_by_committers(run, CommitOrder::Random)),
        ReportEntry::Table(|run| response_table(run, CommitOrder::Random)),
        ReportEntry::Form("Cost of a Flush"),
        ReportEntry::Text(verdict_text),
        ReportEntry::Table(|run| cost_table(run, "flush-cost")),
        ReportEntry::OptionalTable(group_table),
        ReportEntry::Form("Block Sizes"),
        ReportEntry::Table(|run| page_one_table(run, "block-sizes", &run.test.sizes)),
        ReportEntry::Form("Log Commits over Time"),
        ReportEntry::Several(over_time),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("Commits"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| {
            points_table(run, "commits", "Every load: rates and means", &rate_columns())
        }),
        ReportEntry::Table(|run| {
            let title = "Every load: response times of the commit";
            points_table(run, "commit-times", title, &time_columns())
        }),
        ReportEntry::Chapter("Response-Time Ladders"),
        ReportEntry::Several(ladders),
        ReportEntry::Chapter("Steady State of the Preconditioning"),
        ReportEntry::Plot(|run| {
            run.results.preconditioning.steps_plot("pc-minutes", "Preconditioning - RND 4K W")
        }),
        ReportEntry::Several(|run| run.results.preconditioning.check_and_evidence("pc")),
        ReportEntry::Chapter("Preconditioning"),
        ReportEntry::Several(|run| preconditioning_exhibits(&run.choices, run.record)),
        ReportEntry::Secondary,
        ReportEntry::Table(secondary_table),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["rate-seq", "response-seq"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), CommitResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &CommitRun<'_>) -> ReportForm {
        let settings = run.choices.settings;
        let preconditioning = &run.test.preconditioning;
        let kinds = CommitKind::ALL.map(CommitKind::name).join(", ");
        ReportForm::new("Commit", "Durable writes of 1 to 64 committers", &run.choices)
            .set_up(disclosure::preconditioning_rows(&run.choices))
            .set_up([
                disclosure::profile_row(
                    "wdpc",
                    "Pre Condition 2",
                    format!("{} (WDPC)", preconditioning.label),
                ),
                disclosure::profile_row(
                    "wdpc-demand",
                    "TOIO - TC/QD",
                    form_demand(preconditioning.stimulus.demand),
                ),
                Setting::outcome(
                    "SS Rounds",
                    disclosure::window_text(&run.results.preconditioning.verdict),
                ),
                disclosure::note_row(&run.choices),
            ])
            .test_parameters([
                disclosure::profile_row("orders", "Order", "SEQ (one log), RND"),
                disclosure::profile_row("kinds", "Durability", kinds),
                BLOCK_SIZES.row(settings, "Block Sizes", sizes_text(&run.test.sizes)),
                COMMITTERS.row(settings, "Committers", joined(&run.test.committers)),
                RUN_IN.row(settings, "Run-in of each step", run.test.run_in.to_string()),
                run.choices.step_row("Step"),
            ])
    }

    fn ending(run: &CommitRun<'_>) -> String {
        let loads = format!("{} of {} loads", run.results.measured(), run.results.points.len());
        if !run.record.has_ended() {
            return format!("The run is not finished: {loads} are measured.");
        }
        let verdict = &run.results.preconditioning.verdict;
        let reservation = reservation_text(verdict);
        let steady = match steady_rounds(verdict) {
            Some(rounds) => format!("in {rounds} of the preconditioning"),
            None => "NOT achieved in the preconditioning".to_owned(),
        };
        let costs = flush_costs(run.test, &run.results);
        let cost = flush_sentence(flush_verdict(&costs, run.record), &costs);
        let cost = cost.unwrap_or_default();
        let ending = format!("{cost} Steady state {steady}{reservation}; {loads} measured.");
        ending.trim_start().to_owned()
    }

    fn verdict(run: &CommitRun<'_>) -> Option<Verdict> {
        Some(run.results.preconditioning.verdict.clone())
    }

    fn caveats(run: &CommitRun<'_>) -> Vec<Caveat> {
        let verdict = &run.results.preconditioning.verdict;
        let mut caveats = preconditioning_caveats(run.record, verdict, "commits");
        caveats.extend(flush_caveat(run));
        caveats
    }

    fn reports(run: &CommitRun<'_>, step: &Step) -> bool {
        run.choices.measures(step) && step.place.phase != PRECONDITIONING
    }

    /// Returns commits per second and their 99.9 % of the log and of random writes, at 1 and 16
    /// committers.
    fn figures(run: &CommitRun<'_>) -> Vec<KeyFigure> {
        let size = run.test.sizes[0];
        let mut figures = Vec::new();
        for order in CommitOrder::ALL {
            for committers in run.test.page_one() {
                let point = run.results.point(order, size, CommitKind::Flush, committers);
                let Some(point) = point else { continue };
                let id = format!("{}-flush-{committers}", order.id());
                let name = format!(
                    "{} {} commits, {}",
                    order.name(),
                    size.transfer_size(),
                    committers_name(committers)
                );
                let tail = point.percentile_ms(0.999);
                figures.extend([
                    KeyFigure::new(&format!("{id}-rate"), name.clone(), point.rate(), "commits/s"),
                    KeyFigure::new(&format!("{id}-p99-9"), format!("{name}, 99.9 %"), tail, "ms")
                        .of_buckets(),
                ]);
            }
        }
        figures
    }

    /// Returns every load in long form.
    fn metrics(run: &CommitRun<'_>) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for point in &run.results.points {
            let Some((_, outcome)) = point.step else { continue };
            let (label, pattern) = (point.load.label(), Some(point.load.pattern()));
            let steps = &[&outcome.measurement];
            let measured = MeasuredPoint { point: &label, pattern, steps, rounds: false };
            metrics.extend(measured.metrics());
            metrics.extend(Metric::new("flushes", &label, point.flush_rate(), "1/s"));
        }
        metrics
    }
}

fn committers_name(committers: NonZeroU32) -> String {
    counted(u64::from(committers.get()), "committer")
}

fn sizes_text(sizes: &[Bytes]) -> String {
    joined(sizes.iter().map(|size| size.transfer_size()))
}

/// Returns a caveat on flushes that were not sent, or that take no time; `None` otherwise.
fn flush_caveat(run: &CommitRun<'_>) -> Option<Caveat> {
    let costs = flush_costs(run.test, &run.results);
    let verdict = flush_verdict(&costs, run.record);
    let id = match verdict {
        FlushVerdict::NothingFlushed => ids::NOTHING_FLUSHED,
        FlushVerdict::Free => ids::FLUSH_COSTS_NOTHING,
        FlushVerdict::Unknown | FlushVerdict::Costs | FlushVerdict::Mixed => return None,
    };
    let remedy = "Check the data sheet for power-loss protection, or cut the power while \
                  commits are written.";
    Some(Caveat::remark(id, flush_sentence(verdict, &costs)?, remedy))
}

fn verdict_text(run: &CommitRun<'_>) -> String {
    let costs = flush_costs(run.test, &run.results);
    let sentence = flush_sentence(flush_verdict(&costs, run.record), &costs);
    let sentence = sentence.unwrap_or_else(|| "Nothing was measured yet.".to_owned());
    format!(
        "{sentence} A flush counts as free where a commit takes no more than {FREE_UP_TO} times \
         its write alone, with every pattern (our rule): a flush with nothing to write still \
         takes the time of a command. The write alone and not the plain write is the measure, \
         because plain writes can fill the drive's cache and then wait for flash themselves."
    )
}

const COST: [TypedColumn<FlushCost>; 8] = [
    TypedColumn::number("Plain write ms", 4, |cost| Some(cost.plain)),
    TypedColumn::number("FUA ms", 4, |cost| cost.fua),
    TypedColumn::number("Write + flush ms", 4, |cost| Some(cost.commit)),
    TypedColumn::number("Write alone ms", 4, |cost| Some(cost.alone)),
    TypedColumn::number("Flush ms", 4, |cost| Some(cost.flush)),
    TypedColumn::number("FUA : plain", 2, FlushCost::fua_ratio),
    TypedColumn::number("Flushed : plain", 2, |cost| Some(cost.plain_ratio())),
    TypedColumn::number("Flushed : alone", 2, |cost| Some(cost.ratio())),
];

fn cost_table(run: &CommitRun<'_>, id: &str) -> Table {
    let fewest = run.test.page_one().first().map(|n| committers_name(*n)).unwrap_or_default();
    let costs = flush_costs(run.test, &run.results);
    let head = |cost: &FlushCost| format!("{} {}", cost.order.name(), cost.size.transfer_size());
    typed_table(id, format!("What durability costs {fewest}, means"), "Writes", &COST)
        .rows(costs.iter().map(|cost| typed_row(head(cost), &COST, cost)))
}

/// Returns commits per second and 99.9 % at the committers of page one, by pattern and kind.
fn page_one_table(run: &CommitRun<'_>, id: &str, sizes: &[Bytes]) -> Table {
    let page_one = run.test.page_one();
    let columns = page_one.iter().flat_map(|n| {
        let name = committers_name(*n);
        [
            Column::new(format!("rate-{n}"), format!("{name}: commits/s")),
            Column::new(format!("p99-9-{n}"), "99.9 % ms"),
        ]
    });
    let mut rows = Vec::new();
    for order in CommitOrder::ALL {
        for size in sizes {
            for kind in CommitKind::ALL {
                let points: Vec<_> = page_one
                    .iter()
                    .map(|committers| run.results.point(order, *size, kind, *committers))
                    .collect();
                if points.iter().all(Option::is_none) {
                    continue;
                }
                let cells = points.iter().flat_map(|point| {
                    [
                        Cell::number(point.and_then(CommitPoint::rate), 1),
                        Cell::number(point.and_then(|point| point.percentile_ms(0.999)), 3),
                    ]
                });
                let pattern = format!("{} {} W", order.name(), size.transfer_size());
                let row = Row::new(format!("{pattern}, {}", kind.name()), cells)
                    .with_id(format!("{pattern} {}", kind.id()));
                rows.push(row.strong(kind == CommitKind::Flush));
            }
        }
    }
    let title = "Commits per second, and the time that 99.9 % of them do not exceed";
    Table::new(id, title, "Writes").columns(columns).rows(rows)
}

fn kinds_of(run: &CommitRun<'_>, order: CommitOrder) -> Vec<CommitKind> {
    let mut kinds = CommitKind::ALL.to_vec();
    kinds
        .retain(|kind| run.test.loads.iter().any(|load| load.order == order && load.kind == *kind));
    kinds
}

/// Returns the table of a value by number of committers and kind, with the first block size.
fn committers_table(
    run: &CommitRun<'_>,
    order: CommitOrder,
    id: &str,
    title: String,
    decimals: u8,
    value: impl Fn(&CommitPoint<'_>) -> Option<f64>,
) -> Table {
    let kinds = kinds_of(run, order);
    let size = run.test.sizes[0];
    let rows = run.test.committers.iter().map(|committers| {
        let cell = |kind: &CommitKind| {
            let point = run.results.point(order, size, *kind, *committers);
            Cell::number(point.and_then(&value), decimals)
        };
        Row::new(committers.to_string(), kinds.iter().map(cell))
    });
    Table::new(&format!("{id}-{}", order.id()), title, "Committers")
        .columns(kinds.iter().map(|kind| (kind.id(), kind.name())))
        .rows(rows)
}

fn rate_table(run: &CommitRun<'_>, order: CommitOrder) -> Table {
    let title = format!("Commits per second, {}", writes_text(run, order));
    committers_table(run, order, "rates", title, 1, |point| point.rate())
}

fn response_table(run: &CommitRun<'_>, order: CommitOrder) -> Table {
    let title = format!("99.9 % of the commits, ms, {}", writes_text(run, order));
    committers_table(run, order, "nines", title, 4, |point| point.percentile_ms(0.999))
}

fn writes_text(run: &CommitRun<'_>, order: CommitOrder) -> String {
    format!("{} {} W", order.name(), run.test.sizes[0].transfer_size())
}

/// Plots a value of every kind by number of committers, with the first block size.
fn committers_plot(
    run: &CommitRun<'_>,
    order: CommitOrder,
    id: &str,
    title: &str,
    axis: Axis,
    value: fn(&CommitPoint<'_>) -> Option<f64>,
) -> Plot {
    let size = run.test.sizes[0];
    let series = kinds_of(run, order).into_iter().map(|kind| {
        let mut points = Vec::new();
        for committers in &run.test.committers {
            if let Some(point) = run.results.point(order, size, kind, *committers) {
                points.push((f64::from(committers.get()), value(point)));
            }
        }
        Series::new(kind.name(), Stroke::Measured, points).with_id(kind.id())
    });
    Plot::lines(
        &format!("{id}-{}", order.id()),
        format!("{title}, {}", writes_text(run, order)),
        Axis::new("Committers", Scale::Log2),
        axis,
    )
    .series(series)
}

fn rate_plot(run: &CommitRun<'_>, order: CommitOrder) -> Plot {
    let axis = Axis::new("Commits/s", Scale::Log10);
    let plot =
        committers_plot(run, order, "rate", "Commits per second", axis, |point| point.rate());
    let group = match order {
        CommitOrder::Log => " In a group commit all committers share one flush.",
        CommitOrder::Random => "",
    };
    plot.caption(format!(
        "Write + flush: each committer flushes after each of its writes. Plain writes are not \
         durable when they complete.{group}"
    ))
}

fn response_by_committers(run: &CommitRun<'_>, order: CommitOrder) -> Plot {
    let axis = Axis::new("99.9 % (ms)", Scale::Log10);
    committers_plot(run, order, "response", "99.9 % of the commits", axis, |point| {
        point.percentile_ms(0.999)
    })
    .caption(
        "From the hand-over of the write until its flush has completed. Missing where fewer than \
         ten commits are slower.",
    )
}

/// Returns group commits next to commits that flush each for themselves; `None` without any.
fn group_table(run: &CommitRun<'_>) -> Option<Table> {
    let size = run.test.sizes[0];
    let mut rows = Vec::new();
    for committers in &run.test.committers {
        let point = |kind| run.results.point(CommitOrder::Log, size, kind, *committers);
        let Some(group) = point(CommitKind::Group) else { continue };
        let own = point(CommitKind::Flush);
        let cells = [
            Cell::number(group.rate(), 1),
            Cell::number(group.flush_rate(), 1),
            Cell::number(group.mean_ms(), 4),
            Cell::number(group.percentile_ms(0.999), 4),
            Cell::number(own.and_then(CommitPoint::rate), 1),
            Cell::number(own.and_then(CommitPoint::flush_rate), 1),
            Cell::number(own.and_then(CommitPoint::mean_ms), 4),
            Cell::number(own.and_then(|own| own.percentile_ms(0.999)), 4),
        ];
        rows.push(Row::new(committers.to_string(), cells));
    }
    let columns = [
        ("group-rate", "Group: commits/s"),
        ("group-flushes", "Flushes/s"),
        ("group-art", "ART ms"),
        ("group-p99-9", "99.9 % ms"),
        ("own-rate", "Own flush: commits/s"),
        ("own-flushes", "Flushes/s"),
        ("own-art", "ART ms"),
        ("own-p99-9", "99.9 % ms"),
    ];
    let title = format!(
        "Group commit: N writes share a flush, next to N committers that each flush, {}",
        writes_text(run, CommitOrder::Log)
    );
    (!rows.is_empty()).then(|| Table::new("group-commit", title, "N").columns(columns).rows(rows))
}

/// Returns the rates and response times of the log's commits on page one, second by second.
fn over_time(run: &CommitRun<'_>) -> Vec<Exhibit> {
    let (order, size) = (CommitOrder::Log, run.test.sizes[0]);
    let time = PlotTimeAxis::seconds("Time");
    let mut rates = Plot::lines(
        "commits-time",
        format!("Commits per second over time, {} FLUSH/1", writes_text(run, order)),
        time.axis.clone(),
        Axis::new("Commits/s", Scale::Linear),
    );
    let mut responses = Vec::new();
    for committers in run.test.page_one() {
        let point = run.results.point(order, size, CommitKind::Flush, committers);
        let Some(step) = point.and_then(|point| point.step) else { continue };
        let seconds = seconds(&[step]);
        let name = committers_name(committers);
        let points = curve(&seconds, &time, |second| second.iops);
        rates.series.push(Series::new(name.clone(), Stroke::Measured, points));
        let id = format!("response-time-{committers}");
        let title = format!("Response time of the commit, {name}");
        responses.push(Exhibit::Plot(response_plot(&id, &title, &time, &seconds)));
    }
    if responses.is_empty() {
        return vec![Exhibit::Text("No commit of the log was measured.".into())];
    }
    let mut exhibits = vec![Exhibit::Plot(rates)];
    exhibits.extend(responses);
    exhibits
}

fn listing(run: &CommitRun<'_>) -> String {
    let first = run.test.sizes.first().copied().unwrap_or_default().transfer_size();
    let other_sizes = sizes_text(run.test.sizes.get(1..).unwrap_or_default());
    let others = if other_sizes.is_empty() {
        String::new()
    } else {
        let committers = joined(run.test.page_one());
        format!(
            "\n  For block size {other_sizes}, for {committers} committers\n    The same three writes"
        )
    };
    format!(
        "{}\n{} at {} until steady\nFor RND, \
         SEQ\n  For {} committers\n    {first} writes for {} after {} that are not measured: \
         plain, FUA, FLUSH/1\n    SEQ and more than one committer: all writes in one thread with \
         one flush{others}",
        preconditioning::listing(&run.test.setup),
        run.test.preconditioning.label,
        run.test.preconditioning.stimulus.demand,
        joined(&run.test.committers),
        run.test.setup.step_time,
        run.test.run_in,
    )
}

fn rate_columns<'a>() -> [TypedColumn<CommitPoint<'a>>; 7] {
    [
        TypedColumn::number("Commits/s", 1, |point| point.rate()),
        TypedColumn::number("MB/s", 2, |point| point.mb_per_second()),
        TypedColumn::number("Flushes/s", 1, |point| point.flush_rate()),
        TypedColumn::number("Device flushes per commit", 3, |point| point.device_flushes()),
        TypedColumn::number("ART ms", 4, |point| point.mean_ms()),
        TypedColumn::number("Write alone ms", 4, |point| point.alone_ms()),
        TypedColumn::number("Flush ms", 4, |point| point.flush_ms()),
    ]
}

fn time_columns<'a>() -> [TypedColumn<CommitPoint<'a>>; 6] {
    [
        TypedColumn::number("50 % ms", 4, |point| point.percentile_ms(0.5)),
        TypedColumn::number("99 % ms", 4, |point| point.percentile_ms(0.99)),
        TypedColumn::number("99.9 % ms", 4, |point| point.percentile_ms(0.999)),
        TypedColumn::number("99.99 % ms", 4, |point| point.percentile_ms(0.9999)),
        TypedColumn::number("99.999 % ms", 4, |point| point.percentile_ms(0.99999)),
        TypedColumn::number("MRT ms", 4, |point| point.longest_ms()),
    ]
}

fn points_table<'a>(
    run: &CommitRun<'a>,
    id: &str,
    title: &str,
    columns: &[TypedColumn<CommitPoint<'a>>],
) -> Table {
    let rows = run.results.points.iter();
    typed_table(id, title, "Load", columns)
        .rows(rows.map(|point| typed_row(point.load.label(), columns, point)))
}

/// Returns the response-time ladder of every kind by number of committers, and the tails of
/// commits with their own flush.
fn ladders(run: &CommitRun<'_>) -> Vec<Exhibit> {
    let mut exhibits = Vec::new();
    for order in CommitOrder::ALL {
        for kind in kinds_of(run, order) {
            let tallies = tallies(run, order, kind);
            if tallies.is_empty() {
                continue;
            }
            let what = format!("{}, {}", writes_text(run, order), kind.name());
            let id = format!("{}-{}", order.id(), kind.id());
            let title = format!("Response times by committers, ms: {what}");
            let ladder = percentile_table(&format!("ladder-{id}"), &title, &tallies);
            exhibits.push(Exhibit::Table(ladder));
            if kind == CommitKind::Flush {
                let title = format!("Slower commits, by committers: {what}");
                exhibits.push(Exhibit::Plot(tail_plot(&format!("tails-{id}"), &title, &tallies)));
            }
        }
    }
    exhibits
}

/// Returns the tally of every number of committers that was measured.
fn tallies(run: &CommitRun<'_>, order: CommitOrder, kind: CommitKind) -> Vec<(String, Tally)> {
    let size = run.test.sizes[0];
    let mut tallies = Vec::new();
    for committers in &run.test.committers {
        let point = run.results.point(order, size, kind, *committers);
        if let Some(tally) = point.and_then(CommitPoint::commits) {
            tallies.push((committers.to_string(), tally));
        }
    }
    tallies
}

fn secondary_table(run: &CommitRun<'_>) -> Table {
    let size = run.test.sizes[0];
    let mut points = Vec::new();
    for order in CommitOrder::ALL {
        for committers in run.test.page_one() {
            let point = run.results.point(order, size, CommitKind::Flush, committers);
            if let Some(point) = point
                && let Some((_, outcome)) = point.step
            {
                let all = SecondaryPoint::from_steps(point.load.label(), &[&outcome.measurement]);
                points.push(SecondaryPoint { iops: point.rate(), art: point.mean_ms(), ..all });
            }
        }
    }
    secondary::points_table("secondary", "Secondary metrics of the commits on page one", &points)
}
