//! Setup of verify-write: two passes over the active range.

use crate::common::ProcedureSetup;
use crate::common::attempts::{attempt_phase, phases_of};
use crate::common::choices::RunChoices;
use crate::common::continuous_load::ContinuousLoad;
use crate::common::method::Method;
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Demand, Profile, Record, Settings, Step};

pub(super) const FILL: &str = "fill";
pub(super) const READ_BACK: &str = "read-back";

/// Pattern of the writes: our choice, large enough for the full rate of the drive.
pub(super) const WRITES: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);
/// Pattern of the reads: our choice, as for the writes.
pub(super) const READS: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 100);
/// Default demand of both passes: our choice.
const DEMAND: Demand = Demand::new(1, 32);

#[derive(Debug, Clone)]
pub struct VerifyWrite {
    pub(super) setup: ProcedureSetup,
    pub(super) demand: Demand,
}

impl VerifyWrite {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let instead = "it ends when everything is written and read; omit --steady-state and \
                       --max-rounds";
        check_no_rounds(request.settings, instead)?;
        let settings = Settings { verify: true, ..request.settings.clone() };
        let method = Method {
            document: "verify-write",
            revision: "Verify-write",
            disclaimer: Some("VERIFY-WRITE: a check of the data, not a method of the PTS"),
            // The class decides the write cache and the active range.
            ..method::for_profile(Profile::Pts20, settings.class)
        };
        let setup = ProcedureSetup::new(
            &ProcedureRequest { settings: &settings, ..request.clone() },
            method,
        )?;
        Ok(VerifyWrite { demand: settings.demand_or(DEMAND), setup })
    }

    /// Returns one pass over the active range.
    pub(super) fn pass(&self, phase: &str, pattern: AccessPattern, attempt: u32) -> ContinuousLoad {
        let phase = attempt_phase(phase, attempt);
        self.setup.load_for_bytes(&phase, &pattern, self.demand, self.setup.active_range.length)
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        RunChoices {
            demands: vec![self.demand],
            ending: "when every sector was read back".into(),
            measured_phases: phases_of(record, &[READ_BACK]),
            gap_effect,
            step_text: Some("none: each pass ends with the active range".into()),
            ..self.setup.choices()
        }
    }
}

fn gap_effect(step: &Step) -> &'static str {
    match (step.place.phase.as_str(), step.place.point) {
        (FILL, 1) => "Nothing had been written yet.",
        _ => "The test restarted with the writes; earlier reads do not count.",
    }
}
