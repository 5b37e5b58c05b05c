//! Comparisons and checks depend on no word: findings in which every text is replaced get the same
//! verdicts.

use super::comparison::{device, secondary};
use super::{findings, suite};
use steadfast_domain::findings::{Axis, Cell, Exhibit, Facts, Origin, Page, Plot, Setting, Table};
use steadfast_domain::{Caveat, EndState, Findings, caveats};
use steadfast_report::{CheckVerdict, Limits, NamedRun, check, compare, names};

/// Replacement of texts: values in the same way in all runs, so that equal ones stay equal; all
/// other texts differently in each run.
struct TextReplacement {
    run: usize,
}

impl TextReplacement {
    fn value(text: &mut String) {
        let turned = |c: char| match c {
            'a'..='z' => (b'a' + (c as u8 - b'a' + 13) % 26) as char,
            'A'..='Z' => (b'A' + (c as u8 - b'A' + 13) % 26) as char,
            other => other,
        };
        *text = format!("~{}", text.chars().map(turned).collect::<String>());
    }
    fn label(&self, text: &mut String) {
        TextReplacement::value(text);
        text.insert_str(0, &format!("run {}", self.run));
    }
    fn setting(&self, setting: &mut Setting) {
        self.label(&mut setting.label);
        self.label(&mut setting.remark);
        setting.value.as_mut().map(TextReplacement::value);
    }
    fn facts(&self, facts: &mut Facts) {
        self.label(&mut facts.title);
        if let Some(noun) = &mut facts.noun {
            self.label(noun);
        }
        facts.rows.iter_mut().for_each(|row| self.setting(row));
    }
    fn table(&self, table: &mut Table) {
        self.label(&mut table.title);
        self.label(&mut table.corner);
        if let Some(spanner) = &mut table.spanner {
            self.label(spanner);
        }
        table.columns.iter_mut().for_each(|column| self.label(&mut column.name));
        table.rows.iter_mut().filter(|row| !row.head.is_empty()).for_each(|row| {
            self.label(&mut row.head);
        });
    }
    fn plot(&self, plot: &mut Plot) {
        self.label(&mut plot.title);
        self.label(&mut plot.caption);
        let axis = |axis: &mut Axis| self.label(&mut axis.label);
        axis(&mut plot.x);
        axis(&mut plot.y);
        plot.y_right.as_mut().map(axis);
        plot.series.iter_mut().for_each(|series| self.label(&mut series.name));
        plot.markers.iter_mut().for_each(|marker| self.label(&mut marker.label));
    }
    fn exhibit(&self, exhibit: &mut Exhibit) {
        match exhibit {
            Exhibit::Table(table) => self.table(table),
            Exhibit::Plot(plot) => self.plot(plot),
            Exhibit::Facts(facts) => self.facts(facts),
            Exhibit::Text(text) | Exhibit::Listing(text) => self.label(text),
        }
    }
    fn page(&self, page: &mut Page) {
        self.label(&mut page.title);
        page.exhibits.iter_mut().for_each(|exhibit| self.exhibit(exhibit));
    }
    fn caveat(caveat: &mut Caveat) {
        TextReplacement::value(&mut caveat.text);
        TextReplacement::value(&mut caveat.remedy);
    }
    fn findings(&self, findings: &mut Findings) {
        let header = &mut findings.header;
        for text in [&mut findings.title, &mut findings.ending, &mut header.test] {
            self.label(text);
        }
        for text in [&mut findings.method, &mut findings.headline, &mut header.specification] {
            TextReplacement::value(text);
        }
        for block in &mut header.blocks {
            self.label(&mut block.title);
            block.rows.iter_mut().for_each(|row| self.setting(row));
        }
        findings.caveats.iter_mut().for_each(TextReplacement::caveat);
        findings.summary.iter_mut().for_each(|exhibit| self.exhibit(exhibit));
        let pages = findings.form_pages.iter_mut().chain(&mut findings.chapters);
        pages.for_each(|page| self.page(page));
        findings.long_tables.iter_mut().for_each(|table| self.table(table));
        findings.parts.iter_mut().for_each(|part| self.findings(part));
    }
}

fn renamed(mut runs: Vec<NamedRun>) -> Vec<NamedRun> {
    for (number, run) in runs.iter_mut().enumerate() {
        TextReplacement { run: number }.findings(&mut run.findings);
    }
    runs
}

/// Returns the properties of cells that no renaming changes: the number, or the index of the first
/// cell in the row with the same text.
fn cells(cells: &[Cell]) -> Vec<String> {
    let same = |cell: &Cell| cells.iter().position(|other| other == cell);
    let described = |cell: &Cell| match cell {
        Cell::Number { .. } | Cell::Missing => format!("{cell:?}"),
        Cell::Text(_) => format!("text {:?}", same(cell)),
    };
    cells.iter().map(described).collect()
}

fn describe(exhibit: &Exhibit) -> Vec<String> {
    match exhibit {
        Exhibit::Table(table) => {
            let rows = table.rows.iter();
            let row = rows.map(|row| format!("{} {} {:?}", row.id, row.strong, cells(&row.cells)));
            std::iter::once(format!("table {}", table.id)).chain(row).collect()
        }
        Exhibit::Plot(plot) => {
            let points = |plot: &Plot| plot.series.iter().map(|s| s.points.clone()).collect();
            let points: Vec<Vec<(f64, Option<f64>)>> = points(plot);
            vec![format!("plot {} {points:?}", plot.id)]
        }
        _ => Vec::new(),
    }
}

/// Returns the results of a comparison that no renaming may change: the caveats, the differences,
/// and the pairs that are compared.
fn found(comparison: &Findings) -> Vec<String> {
    let caveat = |caveat: &Caveat| format!("caveat {} {:?}", caveat.id, caveat.kind);
    let mut out: Vec<String> = comparison.caveats.iter().map(caveat).collect();
    out.extend(comparison.summary.iter().flat_map(describe));
    for page in comparison.pages() {
        out.push(format!("page {}", page.id));
        out.extend(page.exhibits.iter().flat_map(describe));
    }
    let long = comparison.long_tables.iter().cloned().map(Exhibit::Table);
    out.extend(long.flat_map(|table| describe(&table)));
    out.extend(comparison.parts.iter().flat_map(found));
    out
}

/// Returns runs with everything that a comparison considers: settings and parameters that differ,
/// an end without steady state with and without a caveat, blocks side by side.
fn runs() -> Vec<NamedRun> {
    let mut runs = vec![device(0, 1.0), device(3, 0.5), device(4, 2.0), device(5, 1.1)];
    for (number, run) in runs.iter_mut().enumerate() {
        run.findings.summary.push(Exhibit::Table(secondary(number as f64 + 1.0)));
        let origin = if number == 1 { Origin::Chosen } else { Origin::Default };
        let time = format!("{} s", number / 2);
        let facts = Facts::new("Parameters").noun("Parameter").rows([
            Setting::new("parameter-time", "time", time, origin).remark(" (so): a time"),
            Setting::new("parameter-mix", "mix", "65/35", origin),
            Setting::identity("Run seed", number.to_string()),
            Setting::outcome("Rounds run", number.to_string()),
        ]);
        run.findings.chapters.push(Page::new("Setup", vec![Exhibit::Facts(facts)]));
    }
    let said =
        Caveat::invalidates(caveats::STEADY_STATE_NOT_ACHIEVED, "STEADY STATE NOT ACHIEVED", "");
    runs[0].findings.end = EndState::NotSteady;
    runs[0].findings.caveats.push(said);
    runs
}

#[test]
fn a_comparison_of_renamed_runs_finds_the_same() {
    let before = compare(&runs()).unwrap();
    let after = compare(&renamed(runs())).unwrap();
    let (before, after) = (found(&before), found(&after));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(before.len(), after.len());
    let line = |wanted: &str| before.iter().filter(|line| line.starts_with(wanted)).count();
    assert_eq!(line("caveat setting-differs Invalidates"), 2, "demand and time: {before:#?}");
    assert_eq!(line("caveat platform-differs Remark"), 1, "the CPU");
    assert_eq!(line("caveat steady-state-not-achieved"), 2, "one says so, one does not");
    assert_eq!(line("demand true"), 2, "in the differences and in the settings");
    assert_eq!(line("Run seed") + line("Rounds run"), 0, "no setting");
}

#[test]
fn a_comparison_of_renamed_suites_finds_the_same() {
    let named = |name: &str| NamedRun { name: name.to_owned(), findings: suite() };
    let suites = || vec![named("One"), named("Two")];
    let before = compare(&suites()).unwrap();
    let after = compare(&renamed(suites())).unwrap();
    assert_eq!(before.parts.len(), 4);
    assert_eq!(found(&before), found(&after));
}

const LIMITS: &str = r#"
[[limit]]
table = "iops"
row = "4"
column = "100/0"
min = "400k"

[[limit]]
table = "iops"
row = "4"
column = "0/100"
min = 70_000

[[limit]]
table = "secondary"
row = "celsius"
column = "RW100"
max = 40

[[limit]]
table = "iops"
row = "5"
column = "100/0"
min = 1
"#;

#[test]
fn a_check_of_a_renamed_run_judges_the_same() {
    let limits = Limits::parse(LIMITS).unwrap();
    let mut run = findings(false);
    run.summary.push(Exhibit::Table(secondary(1.0)));
    for end in [EndState::Steady, EndState::NotSteady, EndState::Unfinished] {
        run.end = end;
        let mut other = run.clone();
        TextReplacement { run: 7 }.findings(&mut other);
        assert_eq!(names(&run).len(), names(&other).len());
        let (before, after) = (check(&run, &limits, &[]), check(&other, &limits, &[]));
        let passed = |checked: &CheckVerdict| -> Vec<bool> {
            checked.limits.iter().map(|judged| judged.pass).collect()
        };
        assert_eq!(passed(&before), [true, false, true, false]);
        assert_eq!((&before.limits, before.pass), (&after.limits, after.pass));
        let objected = |checked: &CheckVerdict| -> Vec<String> {
            checked.objections.iter().map(|objection| objection.name.clone()).collect()
        };
        assert_eq!(objected(&before), objected(&after));
        assert_eq!(before.finished, end != EndState::Unfinished);
    }
}

/// The end of the run is the only thing that makes its numbers not final; a caveat does not.
#[test]
fn an_unfinished_run_does_not_pass() {
    let limits = Limits::parse("[[limit]]\ntable='iops'\nrow='4'\ncolumn='100/0'\nmin=1").unwrap();
    let mut run = findings(false);
    let allowed = ["quick".to_owned()];
    assert!(check(&run, &limits, &allowed).pass && !check(&run, &limits, &[]).pass);
    run.end = EndState::Unfinished;
    let checked = check(&run, &limits, &allowed);
    assert!(!checked.pass && !checked.finished);
    let mut whole = suite();
    whole.parts[1].end = EndState::Unfinished;
    assert!(!check(&whole, &limits, &[]).finished, "a part of it is not");
}
