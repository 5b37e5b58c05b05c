//! Page one, for readers who read nothing else. Derived from the findings alone, for web page, PDF
//! and terminal.

use crate::grouping::{keys_by_value, unique_by};
use crate::layout::is_empty;
use crate::limits_outcome::LimitsOutcome;
use crate::number;
use crate::parts::{Disclosure, disclosures, simulated};
use std::borrow::Cow;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{Cell, Exhibit, KeyFigure, Plot, Row, Table};
use steadfast_domain::{CaveatKind, EndState, Findings, Verdict};

/// Number of key figures per part in the table of a run of several procedures.
const PART_FIGURES_MAX: usize = 4;

/// Maximum number of plots of parts on page one.
const PART_PLOTS_MAX: usize = 2;

/// Names of the loads that readers look for first. Series of a matrix are named by percent of reads
/// and writes.
pub(crate) const PREFERRED_LOADS: [&[&str]; 5] = [
    &["RND 4K W", "0/100"],
    &["RND 4K R", "100/0"],
    &["RND 4K RW65", "65/35"],
    &["SEQ 128K W"],
    &["SEQ 128K R"],
];

/// Meaning of a badge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadgeTone {
    /// The result is as it should be.
    Good,
    /// The numbers are worth less because of it.
    Bad,
    /// Readers should know about it.
    Mild,
}

impl BadgeTone {
    /// Returns the class name for style sheets.
    pub const fn word(self) -> &'static str {
        match self {
            BadgeTone::Good => "good",
            BadgeTone::Bad => "bad",
            BadgeTone::Mild => "mild",
        }
    }
}

/// A fact that affects trust in the numbers, in two or three words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Badge {
    pub text: String,
    pub tone: BadgeTone,
    /// Anchor of the disclosure with the details; `None` if there is none.
    pub to: Option<String>,
}

/// One block of page one, or of the head of a part.
pub(crate) enum PageOneBlock<'a> {
    /// End of the run and disclosures, in two or three words each.
    Badges(Vec<Badge>),
    /// Ending, method and headline.
    Conclusion,
    /// Disclosures that invalidate numbers, with their remedies.
    Attention(Vec<String>),
    /// Key figures that answer no question.
    Figures(Vec<&'a KeyFigure>),
    /// Meaning of a green badge.
    BadgeMeaning(&'static str),
    /// Questions with their figures.
    Questions(Vec<PrintedQuestion<'a>>),
    /// Tables of the summary.
    Tables(Vec<Exhibit>),
    /// Device and conditions, side by side.
    Surroundings,
    /// Parts of the report with their ends and first figures.
    Tests(Table),
    /// Steady-state evidence.
    Evidence(Table),
    /// Most important plots.
    Plots(Vec<Cow<'a, Plot>>),
}

/// Returns the blocks of page one in the order in which every format prints them, without empty
/// ones.
pub(crate) fn blocks(findings: &Findings) -> Vec<PageOneBlock<'_>> {
    let mut blocks = vec![
        PageOneBlock::Badges(badges(findings)),
        PageOneBlock::BadgeMeaning(badge_meaning(findings)),
        PageOneBlock::Conclusion,
        PageOneBlock::Attention(attention(findings)),
        PageOneBlock::Figures(figures(findings)),
        PageOneBlock::Questions(questions(findings)),
        PageOneBlock::Tables(summary_tables(findings).0),
        PageOneBlock::Surroundings,
    ];
    blocks.extend(tests(findings).map(PageOneBlock::Tests));
    blocks.extend(findings.verdict.as_ref().and_then(evidence).map(PageOneBlock::Evidence));
    blocks.push(PageOneBlock::Plots(plots(findings)));
    blocks.retain(|block| !is_empty_block(block, findings));
    blocks
}

pub(crate) fn part_blocks(part: &Findings) -> Vec<PageOneBlock<'_>> {
    let mut blocks = blocks(part);
    blocks.retain(|block| {
        matches!(
            block,
            PageOneBlock::Conclusion
                | PageOneBlock::Figures(_)
                | PageOneBlock::Surroundings
                | PageOneBlock::Evidence(_)
        )
    });
    blocks
}

fn is_empty_block(block: &PageOneBlock<'_>, findings: &Findings) -> bool {
    match block {
        PageOneBlock::Conclusion | PageOneBlock::Tests(_) | PageOneBlock::Evidence(_) => false,
        PageOneBlock::Badges(all) => all.is_empty(),
        PageOneBlock::BadgeMeaning(text) => text.is_empty(),
        PageOneBlock::Attention(all) => all.is_empty(),
        PageOneBlock::Figures(all) => all.is_empty(),
        PageOneBlock::Questions(all) => all.is_empty(),
        PageOneBlock::Tables(all) => all.is_empty(),
        PageOneBlock::Plots(all) => all.is_empty(),
        PageOneBlock::Surroundings => {
            findings.front.device.is_empty() && findings.front.conditions.is_empty()
        }
    }
}

/// Returns the tables of the summary that are on page one, and the other exhibits of the summary.
pub(crate) fn summary_tables(findings: &Findings) -> (Vec<Exhibit>, Vec<Exhibit>) {
    let is_there = |exhibit: &Exhibit| {
        exhibit.as_table().is_some_and(|table| findings.front.tables.contains(&table.id))
    };
    findings.summary.iter().cloned().partition(is_there)
}

/// Returns the anchor of the disclosures of a kind.
pub(crate) const fn anchor(kind: CaveatKind) -> &'static str {
    match kind {
        CaveatKind::Invalidates => "disclosed-attention",
        CaveatKind::Deviation => "disclosed-deviations",
        CaveatKind::Unverified => "disclosed-unverified",
        CaveatKind::Remark => "disclosed-remarks",
    }
}

/// Returns the badges of a report: its end first, then the disclosures.
pub(crate) fn badges(findings: &Findings) -> Vec<Badge> {
    let all = disclosures(findings);
    // Links to the disclosure with the reason, or else to those of the worst kind.
    let worst = all.iter().find(|disclosure| disclosure.kind == CaveatKind::Invalidates);
    let worst = worst.map(|disclosure| anchor(disclosure.kind).to_owned());
    let reason_anchor = |ids: &[&str]| {
        let mut reasons = all.iter().filter(|disclosure| ids.contains(&disclosure.id));
        reasons.find_map(|disclosure| disclosure.anchor.clone()).or_else(|| worst.clone())
    };
    let (mut badge, reasons) = end_badge(findings.whole_end());
    badge.to = if badge.tone == BadgeTone::Bad { reason_anchor(reasons) } else { None };
    let mut badges = Vec::new();
    if let Some(state) = LimitsOutcome::of_report(findings) {
        let is_pass = state == LimitsOutcome::Pass;
        badges.push(Badge {
            text: state.word().to_owned(),
            tone: if is_pass { BadgeTone::Good } else { BadgeTone::Bad },
            to: if is_pass { None } else { reason_anchor(&[ids::OUTSIDE_LIMITS]) },
        });
    }
    badges.push(badge);
    let mut ids_with_badge = reasons.to_vec();
    for (applies, text, id) in [
        (simulated(findings), "Simulated", ids::SIMULATED),
        (has_disclaimer(findings), "Not the full method", ids::QUICK),
    ] {
        if applies {
            let to = reason_anchor(&[id]);
            badges.push(Badge { text: text.to_owned(), tone: BadgeTone::Bad, to });
            ids_with_badge.push(id);
        }
    }
    for (noun, kind, tone) in [
        ("warning", CaveatKind::Invalidates, BadgeTone::Bad),
        ("deviation", CaveatKind::Deviation, BadgeTone::Mild),
        ("unverified rule", CaveatKind::Unverified, BadgeTone::Mild),
        ("remark", CaveatKind::Remark, BadgeTone::Mild),
    ] {
        // A disclosure with a badge of its own is not counted again.
        let of_kind = all.iter().filter(|disclosure| disclosure.kind == kind);
        let (with_badge, others): (Vec<_>, Vec<_>) =
            of_kind.partition(|disclosure| ids_with_badge.contains(&disclosure.id));
        let more = if with_badge.is_empty() { "" } else { "more " };
        let text = match others.len() {
            0 => continue,
            1 => format!("1 {more}{noun}"),
            count => format!("{count} {more}{noun}s"),
        };
        badges.push(Badge { text, tone, to: Some(anchor(kind).to_owned()) });
    }
    badges
}

/// Returns whether the run, or its check against limits, ended as it should; `None` if neither
/// applies.
pub(crate) fn is_good(findings: &Findings) -> Option<bool> {
    match LimitsOutcome::of_report(findings) {
        Some(state) => Some(state == LimitsOutcome::Pass),
        None => findings.whole_end().good(),
    }
}

fn has_disclaimer(findings: &Findings) -> bool {
    findings.header.disclaimer.is_some() || findings.parts.iter().any(has_disclaimer)
}

/// Returns the end of a run as reports print it.
pub fn end_text(end: EndState) -> String {
    end_badge(end).0.text
}

/// Returns the badge for the end of a run, and the ids of disclosures that may give the reason.
fn end_badge(end: EndState) -> (Badge, &'static [&'static str]) {
    let (text, tone, ids): (_, _, &[&str]) = match end {
        EndState::Complete => ("Complete", BadgeTone::Good, &[]),
        EndState::Steady => ("Steady state", BadgeTone::Good, &[]),
        EndState::NotSteady => ("NOT steady", BadgeTone::Bad, &ids::NOT_STEADY),
        EndState::Void => ("Void", BadgeTone::Bad, &[]),
        EndState::Failed => ("FAILED", BadgeTone::Bad, &[]),
        EndState::Unfinished => ("Unfinished", BadgeTone::Bad, &[ids::UNFINISHED]),
    };
    (Badge { text: text.to_owned(), tone, to: None }, ids)
}

/// Returns the meaning of the green badge for readers of questions, who need not know the method;
/// empty if there is none.
fn badge_meaning(findings: &Findings) -> &'static str {
    if findings.front.questions.is_empty() {
        return "";
    }
    match findings.whole_end() {
        EndState::Steady => {
            "Green: every test ran to its end, and where a test needs a steady drive, the rates had \
             stopped changing."
        }
        EndState::Complete => "Green: every test ran to its end.",
        _ => "",
    }
}

/// Returns the evidence of the verdict: every variable against its limits, in percent of its
/// average. The tables behind it have the same values in the variable's own unit.
fn evidence(verdict: &Verdict) -> Option<Table> {
    let (data, slope) = (verdict.criteria.data_excursion, verdict.criteria.slope_excursion);
    let rows: Vec<Row> = verdict
        .tracks
        .iter()
        .map(|track| {
            let percent = |part: f64| {
                let share = (track.average != 0.0).then(|| part / track.average.abs() * 100.0);
                Cell::number(share, 1)
            };
            let average = average_text(track.average, &track.unit);
            Row::new(
                track.name.clone(),
                [
                    Cell::text(average),
                    percent(track.data_excursion),
                    percent(track.slope_excursion),
                    Cell::verdict(track.steady),
                ],
            )
        })
        .collect();
    let window = match verdict.window {
        Some((first, last)) => format!(", rounds {first} to {last}"),
        None => String::new(),
    };
    let columns = [
        "Average".to_owned(),
        format!("Data excursion, % (≤ {:.0})", data * 100.0),
        format!("Slope excursion, % (≤ {:.0})", slope * 100.0),
        "Steady".to_owned(),
    ];
    let table = Table::new("evidence", format!("Steady-state evidence{window}"), "Variable");
    (!rows.is_empty()).then(|| table.columns(columns).rows(rows))
}

fn average_text(average: f64, unit: &str) -> String {
    let figure = KeyFigure::new("", "", Some(average), unit);
    format!("{} {unit}", number::figure(&figure)).trim_end().to_owned()
}

/// Returns the key figures that have a value, or a note in place of it, and answer no question.
pub(crate) fn figures(findings: &Findings) -> Vec<&KeyFigure> {
    if !findings.front.questions.is_empty() {
        return Vec::new();
    }
    let is_stated = |figure: &&KeyFigure| figure.value.is_some() || figure.note.is_some();
    findings.front.figures.iter().filter(is_stated).collect()
}

/// Returns capacity, firmware and interface of the drive in one line, as far as they are known.
pub(crate) fn drive_facts(findings: &Findings) -> String {
    let row = |id: &str| {
        let rows = || findings.self_and_parts().into_iter().flat_map(|one| &one.front.device);
        rows().find(|row| row.id == id)?.value.clone()
    };
    // The capacity in bytes follows in parentheses.
    let capacity = row("Capacity").map(|text| text.split(" (").next().unwrap_or("").to_owned());
    let firmware = row("Firmware").map(|text| format!("firmware {text}"));
    [capacity, firmware, row("Interface")].into_iter().flatten().collect::<Vec<_>>().join("  ·  ")
}

/// Returns the disclosures that invalidate numbers, with their remedies. Where questions fill page
/// one, those of single parts are one line.
fn attention(findings: &Findings) -> Vec<String> {
    let mut all = disclosures(findings);
    all.retain(|disclosure| disclosure.kind == CaveatKind::Invalidates);
    let mut of_parts = 0;
    if !findings.front.questions.is_empty() {
        let count = all.len();
        all.retain(|disclosure| disclosure.is_of_all);
        of_parts = count - all.len();
    }
    let text = |disclosure: &Disclosure<'_>| {
        format!("{} {}", disclosure.text, disclosure.remedy).trim_end().to_owned()
    };
    let mut lines: Vec<String> = all.iter().map(text).collect();
    if of_parts > 0 {
        let noun = if of_parts == 1 { "warning concerns" } else { "warnings concern" };
        lines.push(format!("{of_parts} {noun} single procedures: see the disclosures."));
    }
    lines
}

/// A question of page one as it is printed.
pub(crate) struct PrintedQuestion<'a> {
    /// The question in plain words.
    pub question: &'a str,
    /// The answer in sentences.
    pub answer: &'a str,
    /// The load behind the figures.
    pub note: &'a str,
    /// Figures in order; those without a value print a dash.
    pub answers: Vec<PrintedAnswer<'a>>,
    /// Parts that measured them, each once, with their numbers in the report.
    pub sources: Vec<(usize, &'a str)>,
    /// Reasons for the dashes, preceded by the labels of the figures.
    pub missing: Vec<String>,
}

/// A figure that answers a question, with the number of the part that measured it; `None` if the
/// report has no such part.
pub(crate) struct PrintedAnswer<'a> {
    pub figure: &'a KeyFigure,
    pub part: Option<usize>,
}

/// Returns the questions of page one with their figures.
fn questions(findings: &Findings) -> Vec<PrintedQuestion<'_>> {
    let parts = findings.all_parts();
    let mut printed = Vec::new();
    for question in &findings.front.questions {
        let mut answers = Vec::new();
        let mut sources = Vec::new();
        let mut missing: Vec<(&str, &String)> = Vec::new();
        for answer in &question.answers {
            let Some(figure) = findings.figure(&answer.figure) else { continue };
            let part = parts.iter().position(|part| part.id == answer.part).map(|at| at + 1);
            sources.extend(part.map(|number| (number, parts[number - 1].title.as_str())));
            missing.extend(answer.missing.as_ref().map(|reason| (figure.label.as_str(), reason)));
            answers.push(PrintedAnswer { figure, part });
        }
        let missing = keys_by_value(missing)
            .into_iter()
            .map(|(reason, labels)| format!("{} {}: {reason}.", number::DASH, labels.join("; ")));
        printed.push(PrintedQuestion {
            question: &question.question,
            answer: &question.answer,
            note: &question.note,
            answers,
            sources: unique_by(sources, |one, other| one == other),
            missing: missing.collect(),
        });
    }
    printed
}

/// Returns a table of the parts with their ends and first key figures; `None` for a run of one
/// procedure, and where questions show the figures of the parts.
fn tests(findings: &Findings) -> Option<Table> {
    if !findings.front.questions.is_empty() {
        return None;
    }
    let parts = findings.all_parts();
    let single = parts.iter().filter(|part| part.parts.is_empty());
    let rows: Vec<Row> = single.flat_map(|part| test_rows(part)).collect();
    let columns = [("ended", "Ended"), ("figure", "Figure"), ("value", "Value"), ("unit", "Unit")];
    let table = Table::new("tests", "All tests", "Test").columns(columns);
    (!rows.is_empty()).then(|| table.rows(rows))
}

fn test_rows(part: &Findings) -> Vec<Row> {
    let (end, _) = end_badge(part.whole_end());
    let mut rows: Vec<Row> = figures(part)
        .into_iter()
        .take(PART_FIGURES_MAX)
        .map(|figure| {
            let texts = [String::new(), figure.label.clone(), number::figure(figure)];
            Row::new("", texts.into_iter().chain([number::unit(figure)]).map(Cell::Text))
        })
        .collect();
    if rows.is_empty() {
        rows.push(Row::new("", [(); 4].map(|()| Cell::text(""))));
    }
    rows[0].head.clone_from(&part.title);
    rows[0].cells[0] = Cell::Text(end.text);
    rows[0].strong = end.tone == BadgeTone::Bad;
    rows
}

/// Returns the plots of page one: those chosen by the procedure, or the first of each part if
/// there are none.
fn plots(findings: &Findings) -> Vec<Cow<'_, Plot>> {
    let own = own_plots(findings);
    if !own.is_empty() {
        return own.into_iter().map(Cow::Borrowed).collect();
    }
    let of_parts = findings.all_parts();
    let firsts = of_parts.into_iter().filter_map(|part| Some((part, *own_plots(part).first()?)));
    let firsts: Vec<(&Findings, &Plot)> = firsts.take(PART_PLOTS_MAX).collect();
    let same_title = |plot: &Plot| firsts.iter().filter(|(_, p)| p.title == plot.title).count() > 1;
    let named = firsts.iter().map(|(part, plot)| {
        if same_title(plot) {
            let title = format!("{}: {}", part.title, plot.title);
            Cow::Owned(Plot { title, ..(*plot).clone() })
        } else {
            Cow::Borrowed(*plot)
        }
    });
    named.collect()
}

/// Returns the most important plots of one procedure, without those that have no value.
pub(crate) fn own_plots(findings: &Findings) -> Vec<&Plot> {
    let plots = || findings.pages().flat_map(|page| &page.exhibits).filter_map(Exhibit::as_plot);
    let find = |id: &String| plots().find(|plot| plot.id == *id && !is_empty(plot));
    findings.front.plots.iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Caveat;
    use steadfast_domain::findings::{Axis, FormHeader, Page, PlotKind, Scale, Series, Stroke};

    fn findings(title: &str) -> Findings {
        let header = FormHeader::default();
        let axis = || Axis::new("x", Scale::Linear);
        let empty = Plot::new(PlotKind::Lines, "empty", "P", axis(), axis());
        let line = Series::new("s", Stroke::Measured, vec![(1.0, Some(2.0))]);
        let plot = Plot { id: "p".into(), ..empty.clone() }.with(line);
        let figure = KeyFigure::new("iops", "RND 4K W", Some(12_345.6), "IOPS");
        Findings {
            form_pages: vec![Page::new("page", vec![Exhibit::Plot(empty), Exhibit::Plot(plot)])],
            ..Findings::new(title, header).with_front_page([figure], ["gone", "empty", "p"])
        }
    }

    #[test]
    fn a_note_in_place_of_a_value_is_on_page_one() {
        let absent = |id: &str| KeyFigure::new(id, id, None, "ms");
        let noted = absent("isolation").with_note(Some("could not keep up".to_owned()));
        let given = [KeyFigure::new("iops", "IOPS", Some(1.0), "IOPS"), noted, absent("unknown")];
        let one = Findings::new("One", FormHeader::default()).with_front_page(given, [""; 0]);
        let ids: Vec<&str> = figures(&one).iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["iops", "isolation"]);
    }

    #[test]
    fn badges_count_what_is_disclosed_and_say_how_it_ended() {
        let caveat = |kind| Caveat::new(kind, "c", format!("{kind:?}"), "");
        let kinds = [CaveatKind::Deviation, CaveatKind::Deviation, CaveatKind::Invalidates];
        let mut one = Findings { simulated: true, ..findings("One") };
        one.caveats = kinds.map(caveat).to_vec();
        one.caveats[1].text = "another".into();
        one.header.disclaimer = Some("QUICK".into());
        one.end = EndState::NotSteady;
        let badges_of_one = badges(&one);
        let texts: Vec<&str> = badges_of_one.iter().map(|badge| badge.text.as_str()).collect();
        let expected =
            ["NOT steady", "Simulated", "Not the full method", "1 warning", "2 deviations"];
        assert_eq!(texts, expected);
        let to = |badges: &[Badge]| -> Vec<Option<String>> {
            badges.iter().map(|badge| badge.to.clone()).collect()
        };
        let worst = Some("disclosed-attention".to_owned());
        assert!(
            to(&badges_of_one)[..4].iter().all(|to| *to == worst),
            "the worst, if nothing else"
        );
        for (at, id) in [ids::NOT_STEADY[0], ids::SIMULATED, ids::QUICK].into_iter().enumerate() {
            one.caveats[2].id = id.into();
            let expected = Some(format!("disclosure-{id}"));
            let found = badges(&one);
            assert_eq!(to(&found)[at], expected, "each links to why");
            let is_counted = found.iter().any(|badge| badge.text.contains("warning"));
            assert!(!is_counted, "{id} has a badge and is not counted again");
        }
        let good = badges(&findings("Two"));
        assert_eq!((good.len(), good[0].tone, good[0].to.clone()), (1, BadgeTone::Good, None));
    }

    #[test]
    fn a_run_of_several_has_one_table_and_a_plot_of_each() {
        let whole = Findings {
            parts: vec![findings("One"), findings("Two")],
            form_pages: Vec::new(),
            ..findings("Whole")
        };
        let table = tests(&whole).unwrap();
        assert_eq!(table.rows.len(), 2);
        assert_eq!(table.rows[1].head, "Two");
        assert_eq!(table.rows[1].cells[2], Cell::text("12,350"));
        let titles: Vec<String> = plots(&whole).iter().map(|plot| plot.title.clone()).collect();
        assert_eq!(titles, ["One: P", "Two: P"], "plots of one title are told apart");
        assert!(tests(&findings("One")).is_none());
    }
}
