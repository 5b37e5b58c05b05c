//! Page one: what somebody reads who reads nothing else. Made of the findings alone, for
//! page, PDF and terminal alike.

use crate::number;
use crate::parts::{Disclosure, disclosures, parts, simulated};
use steadfast_domain::findings::{Cell, Exhibit, KeyFigure, Plot, Row, Table};
use steadfast_domain::{CaveatKind, EndState, Findings, Verdict};

/// Figures of one part in the table of a run of several.
const FIGURES_OF_A_PART: usize = 4;

/// Plots of parts on page one.
const PLOTS_OF_PARTS: usize = 2;

/// How a badge is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it must be.
    Good,
    /// It limits what the numbers are worth.
    Bad,
    /// A reader should know it.
    Mild,
}

impl Tone {
    /// A word for style sheets.
    pub const fn word(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Mild => "mild",
        }
    }
}

/// What limits trust in the numbers, in two or three words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Badge {
    /// The words.
    pub text: String,
    /// How it is to be taken.
    pub tone: Tone,
    /// The disclosures that say more; `None` where none does.
    pub kind: Option<CaveatKind>,
}

/// The name of a kind of disclosures in links.
pub(crate) const fn anchor(kind: CaveatKind) -> &'static str {
    match kind {
        CaveatKind::Invalidates => "disclosed-attention",
        CaveatKind::Deviation => "disclosed-deviations",
        CaveatKind::Unverified => "disclosed-unverified",
        CaveatKind::Remark => "disclosed-remarks",
    }
}

/// The badges of a report: how it ended first, then what is disclosed.
pub(crate) fn badges(findings: &Findings) -> Vec<Badge> {
    let all = disclosures(findings);
    let mut badges = vec![end_badge(findings.whole_end())];
    // The disclosures of the worst kind say why.
    let attention = (count(&all, CaveatKind::Invalidates) > 0).then_some(CaveatKind::Invalidates);
    badges[0].kind = attention.filter(|_| badges[0].tone == Tone::Bad);
    if simulated(findings) {
        let (text, tone) = ("Simulated".to_owned(), Tone::Bad);
        badges.push(Badge { text, tone, kind: attention });
    }
    if has_lesser(findings) {
        let (text, tone) = ("Not the full method".to_owned(), Tone::Bad);
        badges.push(Badge { text, tone, kind: attention });
    }
    let counted = [
        (CaveatKind::Invalidates, ("warning", "warnings"), Tone::Bad),
        (CaveatKind::Deviation, ("deviation", "deviations"), Tone::Mild),
        (CaveatKind::Unverified, ("unverified rule", "unverified rules"), Tone::Mild),
        (CaveatKind::Remark, ("remark", "remarks"), Tone::Mild),
    ];
    badges.extend(counted.into_iter().filter_map(|(kind, words, tone)| {
        let count = count(&all, kind);
        let noun = if count == 1 { words.0 } else { words.1 };
        (count > 0).then(|| Badge { text: format!("{count} {noun}"), tone, kind: Some(kind) })
    }));
    badges
}

fn count(all: &[Disclosure<'_>], kind: CaveatKind) -> usize {
    all.iter().filter(|disclosure| disclosure.kind == kind).count()
}

fn has_lesser(findings: &Findings) -> bool {
    findings.header.lesser.is_some() || findings.parts.iter().any(has_lesser)
}

fn end_badge(end: EndState) -> Badge {
    let (text, tone) = match end {
        EndState::Complete => ("Complete", Tone::Good),
        EndState::Steady => ("Steady state", Tone::Good),
        EndState::NotSteady => ("NOT steady", Tone::Bad),
        EndState::Void => ("Void", Tone::Bad),
        EndState::Failed => ("FAILED", Tone::Bad),
        EndState::Unfinished => ("Unfinished", Tone::Bad),
    };
    Badge { text: text.to_owned(), tone, kind: None }
}

/// The evidence of the verdict: every variable against what it may do, in percent of its
/// average. The tables behind it have the same in the variable's own unit.
pub(crate) fn evidence(verdict: &Verdict) -> Option<Table> {
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
        format!("Range, % (≤ {:.0})", data * 100.0),
        format!("Slope, % (≤ {:.0})", slope * 100.0),
        "Steady".to_owned(),
    ];
    let table = Table::new("evidence", format!("Steady-state evidence{window}"), "Variable");
    (!rows.is_empty()).then(|| table.columns(columns).rows(rows))
}

fn average_text(average: f64, unit: &str) -> String {
    let figure = KeyFigure::new("", "", Some(average), unit);
    format!("{} {unit}", number::figure(&figure)).trim_end().to_owned()
}

/// The key figures that the run has.
pub(crate) fn figures(findings: &Findings) -> Vec<&KeyFigure> {
    findings.front.figures.iter().filter(|figure| figure.value.is_some()).collect()
}

/// Every part with how it ended and its first figures; `None` for a run of one.
pub(crate) fn tests(findings: &Findings) -> Option<Table> {
    let parts = parts(findings);
    let single = parts.iter().filter(|part| part.parts.is_empty());
    let rows: Vec<Row> = single.flat_map(|part| test_rows(part)).collect();
    let columns = [("ended", "Ended"), ("figure", "Figure"), ("value", "Value"), ("unit", "Unit")];
    let table = Table::new("tests", "All tests", "Test").columns(columns);
    (!rows.is_empty()).then(|| table.rows(rows))
}

fn test_rows(part: &Findings) -> Vec<Row> {
    let end = end_badge(part.whole_end());
    let mut rows: Vec<Row> = figures(part)
        .into_iter()
        .take(FIGURES_OF_A_PART)
        .map(|figure| {
            let texts = [String::new(), figure.label.clone(), number::figure(figure)];
            Row::new("", texts.into_iter().chain([figure.unit.clone()]).map(Cell::Text))
        })
        .collect();
    if rows.is_empty() {
        rows.push(Row::new("", vec![Cell::text(""), Cell::Missing, Cell::Missing, Cell::text("")]));
    }
    rows[0].head.clone_from(&part.title);
    rows[0].cells[0] = Cell::Text(end.text);
    rows[0].strong = end.tone == Tone::Bad;
    rows
}

/// The plots of page one, as its makers chose them; where it is made of parts and has none,
/// the first of each part.
pub(crate) fn plots(findings: &Findings) -> Vec<&Plot> {
    let own = own_plots(findings);
    if !own.is_empty() {
        return own;
    }
    let of_parts = parts(findings);
    let firsts = of_parts.into_iter().filter_map(|part| own_plots(part).into_iter().next());
    firsts.take(PLOTS_OF_PARTS).collect()
}

/// The plots that matter most of one procedure.
pub(crate) fn own_plots(findings: &Findings) -> Vec<&Plot> {
    let all = || findings.pages().flat_map(|page| &page.exhibits);
    let find = |id: &String| {
        all().find_map(|exhibit| match exhibit {
            Exhibit::Plot(plot) if plot.id == *id => Some(plot),
            _ => None,
        })
    };
    findings.front.plots.iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Caveat;
    use steadfast_domain::findings::{Axis, FormHeader, Page, PlotKind, Scale};

    fn findings(title: &str) -> Findings {
        let header = FormHeader {
            issuer: String::new(),
            specification: String::new(),
            lesser: None,
            test: String::new(),
            subtitle: String::new(),
            revision: String::new(),
            vendor: None,
            model: None,
            sponsor: None,
            blocks: Vec::new(),
        };
        let axis = || Axis::new("x", Scale::Linear);
        let plot = Plot::new(PlotKind::Lines, "p", "P", axis(), axis());
        let figure = KeyFigure::new("iops", "RND 4K W", Some(12_345.6), "IOPS");
        Findings {
            form_pages: vec![Page::new("page", vec![Exhibit::Plot(plot)])],
            ..Findings::new(title, header).fronted([figure], ["gone", "p"])
        }
    }

    #[test]
    fn badges_count_what_is_disclosed_and_say_how_it_ended() {
        let caveat = |kind| Caveat::new(kind, "c", format!("{kind:?}"), "");
        let kinds = [CaveatKind::Deviation, CaveatKind::Deviation, CaveatKind::Invalidates];
        let mut one = Findings { simulated: true, ..findings("One") };
        one.caveats = kinds.map(caveat).to_vec();
        one.caveats[1].text = "another".into();
        one.header.lesser = Some("QUICK".into());
        one.end = EndState::NotSteady;
        let badges_of_one = badges(&one);
        let texts: Vec<&str> = badges_of_one.iter().map(|badge| badge.text.as_str()).collect();
        let expected =
            ["NOT steady", "Simulated", "Not the full method", "1 warning", "2 deviations"];
        assert_eq!(texts, expected);
        let worst = Some(CaveatKind::Invalidates);
        assert!(badges_of_one[..4].iter().all(|badge| badge.kind == worst), "each links to why");
        let good = badges(&findings("Two"));
        assert_eq!((good.len(), good[0].tone, good[0].kind), (1, Tone::Good, None));
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
        assert_eq!(plots(&whole).len(), 2);
        assert!(tests(&findings("One")).is_none());
    }
}
