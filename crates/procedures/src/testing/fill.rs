//! Fill: writes every byte of the active range once and shows how fast.
//!
//! A gap does not matter: the load continues from its last checkpoint.

use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::method::Method;
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::exhibits::disclosure::ReportForm;
use crate::exhibits::report::{self, ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use steadfast_domain::findings::{KeyFigure, Origin, Setting, Table};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{
    Bench, Bytes, Demand, Findings, Halt, Measurement, Procedure, Profile, Record,
};

const PHASE: &str = "fill";
/// Our choice, large enough for the full rate of the drive.
const WRITES: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);
/// Our choice.
const DEMAND: Demand = Demand::new(1, 32);

/// Fill, ready to run.
pub(super) struct FillOnce {
    setup: ProcedureSetup,
    demand: Demand,
}

impl FillOnce {
    pub(super) fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        check_no_rounds(request.settings, "it ends when everything is written")?;
        let method = Method {
            document: "fill",
            revision: "Fill",
            disclaimer: Some("FILL: not a method of the PTS"),
            ..method::for_profile(Profile::Pts20, request.settings.class)
        };
        let demand = request.settings.demand_or(DEMAND);
        Ok(FillOnce { setup: ProcedureSetup::new(request, method)?, demand })
    }
}

impl Procedure for FillOnce {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        bench.purge()?;
        let everything = self.setup.active_range.length;
        self.setup.load_for_bytes(PHASE, &WRITES, self.demand, everything).conduct(bench)?;
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

type FillRun<'a> = StudiedRun<'a, FillOnce>;

impl ProcedureReport for FillOnce {
    type Results<'a> = Vec<&'a Measurement>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(checkpoints),
        ReportEntry::Form("Fill - Every Checkpoint"),
        ReportEntry::Table(checkpoints),
        ReportEntry::Setup,
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> FillRun<'a> {
        let choices = RunChoices {
            demands: vec![self.demand],
            ending: "when everything is written".into(),
            measured_phases: vec![PHASE.into()],
            gap_effect: |_| "The load continued from its last checkpoint.",
            ..self.setup.choices()
        };
        let results = record.steps().map(|(_, outcome)| &outcome.measurement).collect();
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        "Fill".into()
    }

    fn form(run: &FillRun<'_>) -> ReportForm {
        let stimulus = Setting::new("stimulus", "Stimulus", WRITES.to_string(), Origin::Profile);
        let form = ReportForm::new("Fill", "Every byte written once", &run.choices);
        ReportForm { test_parameters: vec![stimulus], ..form }
    }

    fn ending(run: &FillRun<'_>) -> String {
        let end = if run.record.has_ended() { "Everything is" } else { "Not everything is" };
        format!("{end} written.")
    }

    fn figures(run: &FillRun<'_>) -> Vec<KeyFigure> {
        let bytes = run.results.iter().map(|checkpoint| checkpoint.bytes().0).sum();
        vec![KeyFigure::count("written", "Written", Some(bytes), "bytes")]
    }
}

const CHECKPOINT: [TypedColumn<Measurement>; 2] = [
    TypedColumn::number("Seconds", 1, |checkpoint| Some(checkpoint.elapsed.as_secs_f64())),
    TypedColumn::number("MB/s", 1, Measurement::mb_per_second),
];

fn checkpoints(run: &FillRun<'_>) -> Table {
    let rows = (1..).zip(&run.results);
    typed_table("checkpoints", "Writes between checkpoints", "Number", &CHECKPOINT)
        .rows(rows.map(|(n, row): (u32, _)| typed_row(n.to_string(), &CHECKPOINT, row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{GEOMETRY, requested, scripted};
    use steadfast_domain::{EndState, Settings};

    #[test]
    fn the_example_of_the_documentation_writes_everything_and_reports_it() {
        let settings = Settings::new("fill", 7);
        let test = requested(&settings, FillOnce::new);
        let findings = scripted(|_| 1000.0).studied(&test, &settings);
        assert_eq!(findings.end, EndState::Complete);
        assert_eq!(findings.front.figures[0].value, Some(GEOMETRY.capacity.0 as f64));
        assert_eq!((findings.summary.len(), findings.form_pages.len()), (1, 1));
    }
}
