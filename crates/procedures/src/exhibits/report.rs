//! The report of a procedure as a table of its sections, and the one function that walks it.
//!
//! A procedure lists what its report shows ([`Reported::SECTIONS`]) and has a function for
//! each table and plot; [`findings`] adds what every report has.

use super::disclosure::{self, Form};
use super::frame::{common_chapters, frame, unfinished};
use super::loops::general_chapter;
use super::pages::page;
use super::secondary;
use super::steps::every_step;
use crate::ground::choices::Choices;
use steadfast_domain::findings::{Exhibit, Facts, KeyFigure, Metric, Page, Plot, Table};
use steadfast_domain::{Caveat, EndState, Findings, Profile, Record, Step, Verdict};

/// A run with its results: what every exhibit is made from.
pub(crate) struct StudiedRun<'a, P: Reported> {
    /// The procedure.
    pub test: &'a P,
    /// Everything that happened in the run.
    pub record: &'a Record,
    /// Choices that the report discloses.
    pub choices: Choices<'a>,
    /// Values computed from the record.
    pub results: P::Results<'a>,
}

/// A procedure whose report is described by a table of sections.
pub(crate) trait Reported: Sized + 'static {
    /// Values computed from a record, from which all exhibits are made.
    type Results<'a>;
    /// The sections of the report, in print order.
    const SECTIONS: &'static [ReportSection<Self>];
    /// IDs of the plots on page one, unless they depend on the run.
    const FRONT_PLOTS: &'static [&'static str] = &[];

    /// Computes the results of a record, which may end anywhere.
    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self>;
    /// Returns the title of the report.
    fn title(&self) -> String;
    /// Returns the procedure's part of the form's head.
    fn form(run: &StudiedRun<'_, Self>) -> Form;
    /// Returns a sentence that says how the run ended.
    fn ending(run: &StudiedRun<'_, Self>) -> String;
    /// Returns the verdict on steady state; `None` if nothing is judged.
    fn verdict(_: &StudiedRun<'_, Self>) -> Option<Verdict> {
        None
    }
    /// Returns the state in which the run ended.
    fn end(run: &StudiedRun<'_, Self>) -> EndState {
        EndState::of(run.record.has_ended(), Self::verdict(run).as_ref())
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
    fn reports(_: &StudiedRun<'_, Self>, _: &Step) -> bool {
        true
    }
    /// Returns the IDs of the plots on page one.
    fn front_plots(_: &StudiedRun<'_, Self>) -> Vec<String> {
        Self::FRONT_PLOTS.iter().map(|id| (*id).to_owned()).collect()
    }
    /// Returns the numbers on page one.
    fn figures(run: &StudiedRun<'_, Self>) -> Vec<KeyFigure>;
    /// Returns the measured numbers in long form.
    fn metrics(_: &StudiedRun<'_, Self>) -> Vec<Metric> {
        Vec::new()
    }
}

/// A section of a report. A page without exhibits is left out.
pub(crate) enum ReportSection<P: Reported> {
    /// Exhibits shown on a terminal.
    Summary(&'static [ReportItem<P>]),
    /// A page of the report form, with its title.
    Form(&'static str, &'static [ReportItem<P>]),
    /// A page of the report form with a plot and its title.
    FormPlot(fn(&StudiedRun<'_, P>) -> Plot),
    /// Pages of the report form whose number or titles depend on the run.
    FormPages(fn(&StudiedRun<'_, P>) -> Vec<Page>),
    /// A chapter after the form, with its title.
    Chapter(&'static str, &'static [ReportItem<P>]),
    /// Chapters whose number or titles depend on the run.
    Chapters(fn(&StudiedRun<'_, P>) -> Vec<Page>),
    /// The chapters of setup and checks, which every report has.
    Setup,
    /// The chapter of terms and of the rule of steady state.
    General,
    /// The chapter of secondary metrics, with the procedure's own exhibits.
    Secondary(&'static [ReportItem<P>]),
    /// A table that is too long to print.
    Csv(fn(&StudiedRun<'_, P>) -> Table),
    /// Sections of runs with one of these profiles.
    Of(&'static [Profile], &'static [ReportSection<P>]),
}

/// An exhibit, or several, with the function that makes it.
pub(crate) enum ReportItem<P: Reported> {
    /// A table.
    Table(fn(&StudiedRun<'_, P>) -> Table),
    /// A table that not every run has.
    OptionalTable(fn(&StudiedRun<'_, P>) -> Option<Table>),
    /// A plot.
    Plot(fn(&StudiedRun<'_, P>) -> Plot),
    /// A plot that not every run has.
    OptionalPlot(fn(&StudiedRun<'_, P>) -> Option<Plot>),
    /// Labeled values.
    Facts(fn(&StudiedRun<'_, P>) -> Facts),
    /// Preformatted lines.
    Listing(fn(&StudiedRun<'_, P>) -> String),
    /// A paragraph.
    Text(fn(&StudiedRun<'_, P>) -> String),
    /// Exhibits whose number depends on the run.
    Several(fn(&StudiedRun<'_, P>) -> Vec<Exhibit>),
    /// Exhibits of runs with one of these profiles.
    Of(&'static [Profile], &'static [ReportItem<P>]),
}

impl<P: Reported> ReportItem<P> {
    fn exhibits(&self, run: &StudiedRun<'_, P>) -> Vec<Exhibit> {
        match self {
            ReportItem::Table(table) => vec![Exhibit::Table(table(run))],
            ReportItem::OptionalTable(table) => {
                table(run).map(Exhibit::Table).into_iter().collect()
            }
            ReportItem::Plot(plot) => vec![Exhibit::Plot(plot(run))],
            ReportItem::OptionalPlot(plot) => plot(run).map(Exhibit::Plot).into_iter().collect(),
            ReportItem::Facts(facts) => vec![Exhibit::Facts(facts(run))],
            ReportItem::Listing(listing) => vec![Exhibit::Listing(listing(run))],
            ReportItem::Text(text) => vec![Exhibit::Text(text(run))],
            ReportItem::Several(exhibits) => exhibits(run),
            ReportItem::Of(profiles, items) => {
                if run.has_profile(profiles) {
                    run.exhibits(items)
                } else {
                    Vec::new()
                }
            }
        }
    }
}

impl<P: Reported> StudiedRun<'_, P> {
    fn has_profile(&self, profiles: &[Profile]) -> bool {
        profiles.contains(&self.choices.settings.profile)
    }

    fn exhibits(&self, items: &[ReportItem<P>]) -> Vec<Exhibit> {
        items.iter().flat_map(|item| item.exhibits(self)).collect()
    }

    fn page(&self, title: &str, items: &[ReportItem<P>]) -> Option<Page> {
        let exhibits = self.exhibits(items);
        (!exhibits.is_empty()).then(|| page(title, exhibits))
    }

    fn add(&self, sections: &[ReportSection<P>], findings: &mut Findings) {
        for section in sections {
            match section {
                ReportSection::Summary(items) => findings.summary.extend(self.exhibits(items)),
                ReportSection::Form(title, items) => {
                    findings.form_pages.extend(self.page(title, items));
                }
                ReportSection::FormPlot(plot) => {
                    let plot = plot(self);
                    let title = plot.title.clone();
                    findings.form_pages.push(page(&title, vec![Exhibit::Plot(plot)]));
                }
                ReportSection::FormPages(pages) => findings.form_pages.extend(pages(self)),
                ReportSection::Chapter(title, items) => {
                    findings.chapters.extend(self.page(title, items));
                }
                ReportSection::Chapters(pages) => findings.chapters.extend(pages(self)),
                ReportSection::Setup => {
                    findings.chapters.extend(common_chapters(&self.choices, self.record));
                }
                ReportSection::General => findings.chapters.push(general_chapter(&self.choices)),
                ReportSection::Secondary(items) => {
                    let exhibits = self.exhibits(items);
                    findings.chapters.push(secondary::chapter(exhibits, self.record));
                }
                ReportSection::Csv(table) => findings.long_tables.push(table(self)),
                ReportSection::Of(profiles, sections) => {
                    if self.has_profile(profiles) {
                        self.add(sections, findings);
                    }
                }
            }
        }
    }

    fn caveats(&self) -> Vec<Caveat> {
        let mut caveats: Vec<Caveat> = unfinished(self.record).into_iter().collect();
        caveats.extend(P::caveats(self));
        caveats.extend(disclosure::caveats(&self.choices, self.record));
        caveats.extend(P::later_caveats(self));
        caveats.extend(secondary::caveats(self.record, &|step| P::reports(self, step)));
        caveats
    }
}

/// Returns the findings of a record: the sections of the procedure, and what every report has.
pub(crate) fn findings<P: Reported>(test: &P, record: &Record) -> Findings {
    let run = test.studied(record);
    let header = disclosure::form_header(P::form(&run), &run.choices, record);
    let mut findings = Findings {
        end: P::end(&run),
        ending: P::ending(&run),
        verdict: P::verdict(&run),
        caveats: run.caveats(),
        metrics: P::metrics(&run),
        ..frame(&test.title(), &run.choices, record, header)
    }
    .fronted(P::figures(&run), P::front_plots(&run));
    run.add(P::SECTIONS, &mut findings);
    findings.long_tables.push(every_step(&run.choices, record));
    findings
}
