//! Exhibits of a sequence: the tool's own form first, then every step.

use super::rates::{missed_rates_caveat, rates_table};
use super::results::{SequenceResults, ToolExhibits};
use super::setup::{SequenceProcedure, tool_name};
use super::tables::{
    all_steps, applied_loads, attempts_table, concurrent_loads, direction_table, preparation_table,
};
use super::tool_exhibits;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use steadfast_domain::findings::{Exhibit, Facts, KeyFigure, Origin, Page, Setting};
use steadfast_domain::{Caveat, Record, caveats as ids};

type SequenceRun<'a> = StudiedRun<'a, SequenceProcedure>;

impl ProcedureReport for SequenceProcedure {
    type Results<'a> = SequenceResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Several(summary),
        ReportEntry::FormPages(tool_pages),
        ReportEntry::Form("All Steps"),
        ReportEntry::Table(|run| all_steps(run.test, &run.results)),
        ReportEntry::OptionalTable(|run| rates_table(&run.results)),
        ReportEntry::OptionalTable(|run| concurrent_loads(&run.results)),
        ReportEntry::Setup,
        ReportEntry::Chapter("Requested Loads"),
        ReportEntry::Several(requested_loads),
        ReportEntry::Chapters(|run| vec![details(&run.results)]),
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(), SequenceResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        tool_name(&self.sequence.tool).to_owned()
    }

    fn form(run: &SequenceRun<'_>) -> ReportForm {
        let sequence = &run.test.sequence;
        let name = tool_name(&sequence.tool);
        let pattern = run.choices.settings.data_pattern.to_string();
        let set_up = vec![
            Setting::new("sequence", "Sequence", &sequence.title, Origin::Chosen),
            Setting::new(
                "sequence-file",
                "File",
                sequence.source.as_ref().map_or("none: a built-in preset", |s| s.name.as_str()),
                Origin::Chosen,
            ),
            run.choices.pattern_row("Data Pattern", pattern),
            disclosure::note_row(&run.choices),
        ];
        let steps = run.test.steps.len().to_string();
        let test_parameters = vec![
            Setting::new("sequence-steps", "Steps", steps, Origin::Chosen),
            Setting::new("sequence-range", "Range", run.test.common_range(), Origin::Chosen),
            run.choices.demand_row("TOIO - TC/QD", disclosure::form_demands(&run.choices.demands)),
        ];
        ReportForm {
            test: name.to_owned(),
            subtitle: sequence.title.clone(),
            set_up,
            test_parameters,
        }
    }

    fn ending(run: &SequenceRun<'_>) -> String {
        let all = run.results.measured.len();
        let done = run.results.measured.iter().filter(|m| !m.attempts.is_empty()).count();
        match (run.record.has_ended(), all) {
            (true, 1) => "Complete: the measured step ran.".to_owned(),
            (true, _) => format!("Complete: all {all} measured steps ran."),
            _ => format!("The run is not finished: {done} of {all} measured steps were begun."),
        }
    }

    fn caveats(run: &SequenceRun<'_>) -> Vec<Caveat> {
        let mut caveats: Vec<Caveat> = missed_rates_caveat(&run.results).into_iter().collect();
        let not_steady = if run.test.sequence.purges() {
            "The drive is purged and preconditioned as the test has it, and no steady state is \
             judged. The numbers are not those of a PTS test."
        } else {
            "No purge, no preconditioning to steady state: the numbers depend on what the drive \
             did before and on how much of it holds data. They are not those of a PTS test."
        };
        caveats.push(Caveat::deviation(
            ids::SEQUENCE_NOT_STEADY,
            not_steady,
            "For steady-state numbers use a procedure of the PTS: steadfast run iops.",
        ));
        let remark = |id, text: String| Caveat::remark(id, text, "");
        let left_out = run.test.left_out.iter();
        caveats.extend(left_out.map(|text| remark(ids::SEQUENCE_LEFT_OUT, text.clone())));
        let remarks = run.test.sequence.remarks.iter();
        caveats.extend(remarks.map(|text| remark(ids::SEQUENCE_REMARK, text.to_string())));
        caveats
    }

    fn front_plots(run: &SequenceRun<'_>) -> Vec<String> {
        tool_exhibits::front_plot_ids(tool_form(run).as_ref())
    }

    fn figures(run: &SequenceRun<'_>) -> Vec<KeyFigure> {
        tool_exhibits::key_figures(&run.test.sequence, &run.results)
    }
}

/// Returns the form that the tool itself prints; `None` if it has none.
fn tool_form(run: &SequenceRun<'_>) -> Option<ToolExhibits> {
    tool_exhibits::tool_exhibits(&run.test.sequence, &run.results)
}

/// Returns the first exhibit of the tool's own form, or all steps.
fn summary(run: &SequenceRun<'_>) -> Vec<Exhibit> {
    match tool_form(run) {
        Some(form) => form.exhibits.into_iter().take(1).collect(),
        None => vec![Exhibit::Table(all_steps(run.test, &run.results))],
    }
}

fn tool_pages(run: &SequenceRun<'_>) -> Vec<Page> {
    tool_form(run).into_iter().map(|form| page(form.title, form.exhibits)).collect()
}

/// Returns the page of reads and writes separately, of every attempt, and of the preparation.
fn details(results: &SequenceResults<'_>) -> Page {
    let tables = [
        direction_table("sequence-reads", "Reads of every step", results, |attempt| &attempt.reads),
        direction_table("sequence-writes", "Writes of every step", results, |attempt| {
            &attempt.writes
        }),
        attempts_table(results),
        preparation_table(results),
    ];
    page("Details of the Steps", tables.into_iter().flatten().map(Exhibit::Table).collect())
}

/// Returns the source of the loads, the loads, and remarks on them.
fn requested_loads(run: &SequenceRun<'_>) -> Vec<Exhibit> {
    let sequence = &run.test.sequence;
    let source = sequence.source.as_ref();
    // A built-in preset has no file.
    let file = source.map(|source| {
        [
            Setting::new("sequence-file", "File", &source.name, Origin::Chosen),
            Setting::identity("SHA-256 of the file", &source.sha256),
        ]
    });
    let facts = Facts::new("Source")
        .rows([
            Setting::new("tool", "Tool", tool_name(&sequence.tool), Origin::Chosen),
            Setting::new("tool-version", "Version", &sequence.version, Origin::Chosen),
            Setting::new("sequence", "Sequence", &sequence.title, Origin::Chosen),
        ])
        .rows(file.into_iter().flatten());
    let mut exhibits = vec![Exhibit::Facts(facts), Exhibit::Table(applied_loads(run.test))];
    let remarks: Vec<String> = sequence.remarks.iter().map(ToString::to_string).collect();
    if !remarks.is_empty() {
        exhibits.push(Exhibit::Listing(remarks.join("\n")));
    }
    exhibits
}
