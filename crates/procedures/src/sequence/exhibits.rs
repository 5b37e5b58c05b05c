//! What is reported of a sequence: the tool's own form first, then every step.

use super::results::{Attempt, Results};
use super::setup::{Sequenced, tool_name};
use super::tables::{all_steps, apart, attempts, direction, loads, preparation};
use super::{figures, rates};
use crate::exhibits::disclosure::{self, Form};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::pages::page;
use crate::exhibits::secondary;
use crate::exhibits::steps::every_step;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{Exhibit, Facts, FormHeader, Origin, Page, Setting};
use steadfast_domain::{Caveat, CaveatKind, Findings, Record, SequenceStep};

/// Everything that is reported of a run.
pub(super) fn findings(sequenced: &Sequenced, record: &Record) -> Findings {
    let results = Results::of(sequenced, record);
    let choices = sequenced.choices();
    let (sequence, name) = (&sequenced.sequence, tool_name(&sequenced.sequence.tool));
    let all = Exhibit::Table(all_steps(sequenced, &results));
    let (mut summary, mut form_pages) = (Vec::new(), Vec::new());
    let key = figures::key(sequence, &results);
    let own = figures::of(sequence, &results);
    let plots = figures::plots(own.as_ref());
    match own {
        Some((title, exhibits)) => {
            summary.extend(exhibits.first().cloned());
            form_pages.push(page(title, exhibits));
        }
        None => summary.push(all.clone()),
    }
    let apart = apart(&results).map(Exhibit::Table);
    let held = rates::table(&results).map(Exhibit::Table);
    form_pages.push(page("All Steps", std::iter::once(all).chain(held).chain(apart).collect()));
    let mut chapters = common_chapters(&choices, record);
    chapters.push(what_was_asked(sequenced));
    chapters.push(details(&results));
    Findings {
        id: sequence.tool.clone(),
        ending: ending(record, &results),
        caveats: caveats(sequenced, record, &results),
        summary,
        form_pages,
        chapters,
        long_tables: vec![every_step(&choices, record)],
        ..frame(name, &choices, record, header(sequenced, record)).fronted(key, plots)
    }
}

fn ending(record: &Record, results: &Results<'_>) -> String {
    let all = results.measured.len();
    let done = results.measured.iter().filter(|m| !m.attempts.is_empty()).count();
    if record.has_ended() {
        format!("Complete: all {all} measured steps ran.")
    } else {
        format!("The run is not finished: {done} of {all} measured steps were begun.")
    }
}

/// The page of reads and writes apart, of every attempt and of what prepared.
fn details(results: &Results<'_>) -> Page {
    let reads = ("sequence-reads", "Reads of every step");
    let writes = ("sequence-writes", "Writes of every step");
    let of_reads: fn(&Attempt) -> &_ = |attempt| &attempt.reads;
    let of_writes: fn(&Attempt) -> &_ = |attempt| &attempt.writes;
    let tables = [
        direction(reads, results, of_reads),
        direction(writes, results, of_writes),
        attempts(results),
        preparation(results),
    ];
    page("Details of the Steps", tables.into_iter().flatten().map(Exhibit::Table).collect())
}

fn what_was_asked(sequenced: &Sequenced) -> Page {
    let sequence = &sequenced.sequence;
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
    let mut exhibits = vec![Exhibit::Facts(facts), Exhibit::Table(loads(sequenced))];
    let remarks: Vec<String> = sequence.remarks.iter().map(ToString::to_string).collect();
    if !remarks.is_empty() {
        exhibits.push(Exhibit::Listing(remarks.join("\n")));
    }
    page("Requested Loads", exhibits)
}

fn header(sequenced: &Sequenced, record: &Record) -> FormHeader {
    let choices = sequenced.choices();
    let sequence = &sequenced.sequence;
    let name = tool_name(&sequence.tool);
    let pattern = choices.settings.data_pattern.to_string();
    let set_up = vec![
        Setting::new("sequence", "Sequence", &sequence.title, Origin::Chosen),
        Setting::new(
            "sequence-file",
            "File",
            sequence.source.as_ref().map_or("none: a built-in preset", |s| s.name.as_str()),
            Origin::Chosen,
        ),
        choices.pattern_row("Data Pattern", pattern),
        disclosure::note_row(&choices),
    ];
    let steps = sequenced.steps.len().to_string();
    let test_parameters = vec![
        Setting::new("sequence-steps", "Steps", steps, Origin::Chosen),
        Setting::new("sequence-range", "Range", sequenced.common_range(), Origin::Chosen),
        choices.demand_row("TOIO - TC/QD", disclosure::form_demands(&choices.demands)),
    ];
    let form =
        Form { test: name.to_owned(), subtitle: sequence.title.clone(), set_up, test_parameters };
    disclosure::form_header(form, &choices, record)
}

fn caveats(sequenced: &Sequenced, record: &Record, results: &Results<'_>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    caveats.extend(rates::missed(results));
    let not_steady = if sequenced.sequence.purges() {
        "The drive is purged and preconditioned as the test has it, and no steady state is \
             judged. The numbers are not those of a PTS test."
    } else {
        "No purge, no preconditioning to steady state: the numbers depend on what the drive \
             did before and on how much of it holds data. They are not those of a PTS test."
    };
    caveats.push(Caveat::new(
        CaveatKind::Deviation,
        ids::SEQUENCE_NOT_STEADY,
        not_steady,
        "For steady-state numbers use a procedure of the PTS: steadfast run iops.",
    ));
    let remark = |id, text: String| Caveat::new(CaveatKind::Remark, id, text, "");
    let left_out = sequenced.left_out.iter();
    caveats.extend(left_out.map(|text| remark(ids::SEQUENCE_LEFT_OUT, text.clone())));
    let remarks = sequenced.sequence.remarks.iter();
    caveats.extend(remarks.map(|said| remark(ids::SEQUENCE_REMARK, said.to_string())));
    let choices = sequenced.choices();
    // What the sequence writes is the sequence's choice, not an option of the user's.
    let mut loads = sequenced.sequence.steps.iter().flat_map(SequenceStep::loads);
    let own = loads.any(|(_, load)| load.data_pattern.is_some());
    let common = disclosure::caveats(&choices, record).into_iter();
    caveats.extend(common.filter(|caveat| !own || caveat.id != ids::DATA_PATTERN));
    caveats.extend(secondary::caveats(record, &|step| choices.measures(step)));
    caveats
}
