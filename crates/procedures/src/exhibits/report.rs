//! The report of a procedure as a table of contents, and the one builder that walks it.
//!
//! A procedure lists what its report shows ([`ProcedureReport::ENTRIES`]) and has a function for each
//! table and plot; [`findings`] adds what every report has.

use super::device_curves::round_plots;
use super::disclosure::{self, ReportForm};
use super::frame::{common_chapters, frame, unfinished};
use super::loops::general_chapter;
use super::pages::page;
use super::secondary;
use super::steps::every_step;
use crate::common::choices::RunChoices;
use steadfast_domain::device_log::DEVICE_COUNTS;
use steadfast_domain::findings::{Exhibit, Facts, KeyFigure, Metric, Page, Plot, Table};
use steadfast_domain::{Caveat, EndState, Findings, Profile, Record, Step, Verdict};

/// A run with its results: what every exhibit is made from.
pub(crate) struct StudiedRun<'a, P: ProcedureReport> {
    pub test: &'a P,
    /// Everything that happened in the run.
    pub record: &'a Record,
    pub choices: RunChoices<'a>,
    pub results: P::Results<'a>,
}

/// A procedure whose report is described by a table of contents.
pub(crate) trait ProcedureReport: Sized + 'static {
    /// Values computed from a record, from which all exhibits are made.
    type Results<'a>;
    /// Title of the report, unless it depends on the settings.
    const TITLE: &'static str = "";
    /// The table of contents of the report, in print order.
    const ENTRIES: &'static [ReportEntry<Self>];
    /// IDs of the plots on page one, unless they depend on the run.
    const FRONT_PLOTS: &'static [&'static str] = &[];
    /// True if the chapter of secondary metrics draws what the device reports, round by round.
    const DRAWS_ROUNDS: bool = true;

    /// Computes the results of a record, which may end anywhere.
    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self>;
    fn title(&self) -> String {
        Self::TITLE.to_owned()
    }
    /// Returns the procedure's part of the form's head.
    fn form(run: &StudiedRun<'_, Self>) -> ReportForm;
    /// Returns a sentence that says how the run ended.
    fn ending(run: &StudiedRun<'_, Self>) -> String;
    /// Returns the verdict on steady state; `None` if nothing is judged.
    fn verdict(_: &StudiedRun<'_, Self>) -> Option<Verdict> {
        None
    }
    fn end(run: &StudiedRun<'_, Self>) -> EndState {
        EndState::new(run.record.has_ended(), Self::verdict(run).as_ref())
    }
    /// Returns the procedure's own caveats that precede the common ones.
    fn caveats(_: &StudiedRun<'_, Self>) -> Vec<Caveat> {
        Vec::new()
    }
    /// Returns the procedure's own caveats that follow the common ones.
    fn later_caveats(_: &StudiedRun<'_, Self>) -> Vec<Caveat> {
        Vec::new()
    }
    /// Returns true if a reported number is made from this step, so that a disturbance in it
    /// invalidates the number.
    fn reports(run: &StudiedRun<'_, Self>, step: &Step) -> bool {
        run.choices.measures(step)
    }
    /// Returns the IDs of the plots on page one.
    fn front_plots(_: &StudiedRun<'_, Self>) -> Vec<String> {
        Self::FRONT_PLOTS.iter().map(|id| (*id).to_owned()).collect()
    }
    fn figures(run: &StudiedRun<'_, Self>) -> Vec<KeyFigure>;
    /// Returns the measured numbers in long form.
    fn metrics(_: &StudiedRun<'_, Self>) -> Vec<Metric> {
        Vec::new()
    }
}

/// An entry in the table of contents of a report: it opens a page, or is an exhibit on the page
/// that is open. A page without exhibits is left out.
pub(crate) enum ReportEntry<P: ProcedureReport> {
    /// Opens the exhibits shown on a terminal.
    Summary,
    /// Opens a page of the report form with this title.
    Form(&'static str),
    /// Opens a chapter with this title.
    Chapter(&'static str),
    /// Opens the chapter of secondary metrics.
    Secondary,
    Table(fn(&StudiedRun<'_, P>) -> Table),
    /// A table that not every run has.
    OptionalTable(fn(&StudiedRun<'_, P>) -> Option<Table>),
    Plot(fn(&StudiedRun<'_, P>) -> Plot),
    /// A plot that not every run has.
    OptionalPlot(fn(&StudiedRun<'_, P>) -> Option<Plot>),
    Facts(fn(&StudiedRun<'_, P>) -> Facts),
    Listing(fn(&StudiedRun<'_, P>) -> String),
    Text(fn(&StudiedRun<'_, P>) -> String),
    /// Exhibits whose number depends on the run.
    Several(fn(&StudiedRun<'_, P>) -> Vec<Exhibit>),
    /// A page of the report form with a plot and its title.
    FormPlot(fn(&StudiedRun<'_, P>) -> Plot),
    /// Pages of the report form whose number or titles depend on the run.
    FormPages(fn(&StudiedRun<'_, P>) -> Vec<Page>),
    /// Chapters whose number or titles depend on the run.
    Chapters(fn(&StudiedRun<'_, P>) -> Vec<Page>),
    /// The chapters of setup and checks, which every report has.
    Setup,
    /// The chapter of terms and of the rule of steady state.
    General,
    /// A table that is too long to print.
    Csv(fn(&StudiedRun<'_, P>) -> Table),
    Of(&'static [Profile], &'static [ReportEntry<P>]),
}

/// The page that entries are added to.
enum ReportPage {
    Summary,
    Form(&'static str),
    Chapter(&'static str),
    Secondary,
}

/// Findings while the entries of a report are walked.
struct ReportBuilder<'r, 'a, P: ProcedureReport> {
    run: &'r StudiedRun<'a, P>,
    findings: Findings,
    page: ReportPage,
    exhibits: Vec<Exhibit>,
}

impl<P: ProcedureReport> ReportBuilder<'_, '_, P> {
    fn add(&mut self, entries: &[ReportEntry<P>]) {
        let run = self.run;
        for entry in entries {
            match entry {
                ReportEntry::Summary => self.open(ReportPage::Summary),
                ReportEntry::Form(title) => self.open(ReportPage::Form(title)),
                ReportEntry::Chapter(title) => self.open(ReportPage::Chapter(title)),
                ReportEntry::Secondary => self.open(ReportPage::Secondary),
                ReportEntry::Table(table) => self.exhibits.push(Exhibit::Table(table(run))),
                ReportEntry::OptionalTable(table) => {
                    self.exhibits.extend(table(run).map(Exhibit::Table));
                }
                ReportEntry::Plot(plot) => self.exhibits.push(Exhibit::Plot(plot(run))),
                ReportEntry::OptionalPlot(plot) => {
                    self.exhibits.extend(plot(run).map(Exhibit::Plot));
                }
                ReportEntry::Facts(facts) => self.exhibits.push(Exhibit::Facts(facts(run))),
                ReportEntry::Listing(lines) => self.exhibits.push(Exhibit::Listing(lines(run))),
                ReportEntry::Text(text) => self.exhibits.push(Exhibit::Text(text(run))),
                ReportEntry::Several(exhibits) => self.exhibits.extend(exhibits(run)),
                ReportEntry::Of(profiles, entries) => {
                    if profiles.contains(&run.choices.settings.profile) {
                        self.add(entries);
                    }
                }
                ReportEntry::FormPlot(plot) => {
                    let plot = plot(run);
                    let title = plot.title.clone();
                    self.add_form_pages(vec![page(&title, vec![Exhibit::Plot(plot)])]);
                }
                ReportEntry::FormPages(pages) => self.add_form_pages(pages(run)),
                ReportEntry::Chapters(pages) => self.add_chapters(pages(run)),
                ReportEntry::Setup => {
                    self.add_chapters(common_chapters(&run.choices, run.record));
                }
                ReportEntry::General => self.add_chapters(vec![general_chapter(&run.choices)]),
                ReportEntry::Csv(table) => self.findings.long_tables.push(table(run)),
            }
        }
    }

    fn add_form_pages(&mut self, pages: Vec<Page>) {
        self.close();
        self.findings.form_pages.extend(pages);
    }

    fn add_chapters(&mut self, pages: Vec<Page>) {
        self.close();
        self.findings.chapters.extend(pages);
    }

    fn open(&mut self, page: ReportPage) {
        self.close();
        self.page = page;
    }

    fn close(&mut self) {
        let exhibits = std::mem::take(&mut self.exhibits);
        if exhibits.is_empty() {
            return;
        }
        match self.page {
            ReportPage::Summary => self.findings.summary.extend(exhibits),
            ReportPage::Form(title) => self.findings.form_pages.push(page(title, exhibits)),
            ReportPage::Chapter(title) => self.findings.chapters.push(page(title, exhibits)),
            ReportPage::Secondary => {
                let mut exhibits = exhibits;
                if P::DRAWS_ROUNDS {
                    exhibits.extend(round_plots(self.run.record));
                }
                self.findings.chapters.push(secondary::chapter(exhibits, self.run.record));
            }
        }
    }
}

impl<P: ProcedureReport> StudiedRun<'_, P> {
    fn caveats(&self) -> Vec<Caveat> {
        let mut caveats: Vec<Caveat> = unfinished(self.record).into_iter().collect();
        caveats.extend(P::caveats(self));
        caveats.extend(disclosure::caveats(&self.choices, self.record));
        caveats.extend(P::later_caveats(self));
        caveats.extend(secondary::caveats(self.record, &|step| P::reports(self, step)));
        caveats
    }
}

/// Returns true if page one states this figure: a counter of the device that did not move is in the
/// tables only.
fn is_stated(figure: &KeyFigure) -> bool {
    figure.value != Some(0.0) || DEVICE_COUNTS.iter().all(|count| count.id != figure.id)
}

/// Returns the findings of a record: the entries of the procedure, and what every report has.
pub(crate) fn findings<P: ProcedureReport>(test: &P, record: &Record) -> Findings {
    let run = test.studied(record);
    let header = disclosure::form_header(P::form(&run), &run.choices, record);
    let findings = Findings {
        end: P::end(&run),
        ending: P::ending(&run),
        verdict: P::verdict(&run),
        caveats: run.caveats(),
        metrics: P::metrics(&run),
        ..frame(&test.title(), &run.choices, record, header)
    }
    .with_front_page(P::figures(&run).into_iter().filter(is_stated), P::front_plots(&run));
    let (page, exhibits) = (ReportPage::Summary, Vec::new());
    let mut report = ReportBuilder { run: &run, findings, page, exhibits };
    report.add(P::ENTRIES);
    report.close();
    let mut findings = report.findings;
    findings.long_tables.push(every_step(&run.choices, record));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_one_states_a_counter_of_the_device_only_if_it_moved() {
        for count in &DEVICE_COUNTS {
            let figure = |value| KeyFigure::count(count.id, count.name, Some(value), count.unit);
            assert_eq!(
                (is_stated(&figure(0)), is_stated(&figure(1))),
                (false, true),
                "{}",
                count.id
            );
        }
        let wrong = KeyFigure::count("miscompares", "Miscompares", Some(0), "sectors");
        assert!(is_stated(&wrong), "the answer of a procedure");
    }
}
