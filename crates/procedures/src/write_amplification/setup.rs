//! Setup of write-amplification: its cells, its loads and its parameters.

use super::workload::WriteWorkload;
use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::continuous_load::{CHECKPOINT, ContinuousLoad};
use crate::common::method::{Method, part_of};
use crate::common::preconditioning::is_purged;
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use crate::report_notation::number;
use crate::rwsw::composite::CapturedComposite;
use crate::rwsw::method::{CONTENT, with_content};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
use steadfast_domain::{Bytes, Criteria, Demand, Nanos, Profile, Record, Step, StepPlace};

/// Phase of the step that shows which counters the drive has.
pub(super) const COUNTERS: &str = "counters";

/// Length of that step: the logs of a drive are read for steps of at least this length.
const COUNTERS_TIME: Nanos = Nanos::from_secs(10);

const COUNTERS_PATTERN: AccessPattern = AccessPattern::random(Bytes::kib(4), 100);

/// Demand of that step and of the fills (our choice, as for preconditioning).
const FILL_DEMAND: Demand = Demand::new(1, 32);

const FILL_PATTERN: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);

pub(super) const STEADY_WINDOWS: u32 = 5;

pub(super) const WORKLOADS: Parameter = Parameter {
    name: "workloads",
    default: "uniform,zipf/0.4,zipf/0.8,zipf/1.2,zones/80-20,zones/90-10,scattered/80-20,mixed/50,\
              discards/10",
    quick: Some("uniform,zones/90-10"),
    meaning: "workloads: uniform, zipf/S (exponent S), zones/W-A (W % of the writes go to A % of the \
              addresses, in one piece), scattered/W-A (the same in 64 pieces), mixed/P (P % of the \
              bytes sequential, to a half of their own), discards/P (P % of the commands discard); \
              or none, with --workload",
    source: "our choice, after the paper SSD-iq of 2025: uniform, skewed, hot and cold",
    ..Parameter::PLAIN
};

pub(super) const USED: Parameter = Parameter {
    name: "used",
    default: "100,90,80,70,60,50",
    quick: Some("100,80"),
    meaning: "used capacities of the workload uniform, in percent of the user capacity, 10 to 100; \
              the rest was never written since the purge",
    source: "our choice",
    ..Parameter::PLAIN
};

pub(super) const USED_OTHERS: Parameter = Parameter {
    name: "used-others",
    default: "100",
    meaning: "used capacities of all other workloads, in percent of the user capacity, 10 to 100",
    source: "our choice: a full drive is the worst case",
    ..Parameter::PLAIN
};

const TRANSFER: Parameter = Parameter {
    name: "transfer",
    default: "4K",
    meaning: "size of random writes and of discards, 512 bytes to 1 MiB",
    source: "our choice: the page of most file systems and databases",
    ..Parameter::PLAIN
};

pub(super) const WINDOW: Parameter = Parameter {
    name: "window",
    default: "50",
    quick: Some("25"),
    meaning: "bytes that a window writes, in percent of the used capacity, 1 to 1000",
    source: "our choice: five of them overwrite the used capacity more than twice",
    ..Parameter::PLAIN
};

pub(super) const STEADY_LIMITS: Parameter = Parameter {
    name: "steady-limits",
    default: "4,2",
    meaning: "steady state: the most by which five windows in a row may differ, and by which their \
              fitted line may rise or fall, in percent of their mean, each 1 to 20",
    source: "our choice: a fifth of the limits of the PTS, which are for rates",
    ..Parameter::PLAIN
};

pub(super) const LIMIT: Parameter = Parameter {
    name: "limit",
    default: "20",
    quick: Some("6"),
    meaning: "used capacities that a cell writes at most before it counts as not steady, at least \
              five windows",
    source: "our choice",
    ..Parameter::PLAIN
};

const CONTENT_OF_CAPTURED: Parameter =
    Parameter { applies: |settings| settings.workload.is_some(), ..CONTENT };

pub const PARAMETERS: &[Parameter] =
    &[WORKLOADS, USED, USED_OTHERS, TRANSFER, WINDOW, STEADY_LIMITS, LIMIT, CONTENT_OF_CAPTURED];

#[derive(Debug, Clone)]
pub struct AmplificationCell {
    pub workload: WriteWorkload,
    /// Used capacity in percent of the user capacity.
    pub percent: u8,
    /// Range that is filled and then written.
    pub range: ActiveRange,
}

impl AmplificationCell {
    /// Returns the phase of the windows, which is also the ID of the cell.
    pub(super) fn phase(&self) -> String {
        format!("{}-{}", self.workload.id(), self.percent)
    }

    /// Returns the phase of the sequential writes before the windows.
    pub(super) fn fill_phase(&self) -> String {
        format!("fill-{}", self.phase())
    }

    /// Returns the name, such as `zipf/0.8 at 100 %`.
    pub(super) fn name(&self) -> String {
        format!("{} at {} %", self.workload, self.percent)
    }
}

#[derive(Debug, Clone)]
pub struct WriteAmplificationTest {
    pub(super) setup: ProcedureSetup,
    pub(super) demand: Demand,
    pub(super) cells: Vec<AmplificationCell>,
    /// Bytes of a window, in percent of the used capacity.
    window_percent: u32,
    /// Maximum number of windows of a cell.
    pub(super) windows_max: u32,
}

impl WriteAmplificationTest {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        check_no_rounds(
            request.settings,
            "each cell ends by a rule of its own; choose it with --set steady-limits= and --set \
             limit=, and omit --steady-state and --max-rounds",
        )?;
        if request.settings.active_range_percent.is_some() {
            return Err(ProcedureError(
                "write-amplification uses parts of the whole drive; omit --active-range, and \
                 choose the parts with --set used="
                    .into(),
            ));
        }
        let settings = with_content(request.settings)?;
        let criteria = STEADY_LIMITS.parse(&settings, |text| {
            let (data, slope) = text.split_once(',')?;
            let share = |text: &str| {
                let percent = text.trim().parse::<u32>().ok();
                percent.filter(|p| (1..=20).contains(p)).map(|percent| f64::from(percent) / 100.0)
            };
            Some(Criteria {
                window: STEADY_WINDOWS,
                data_excursion: share(data)?,
                slope_excursion: share(slope)?,
            })
        })?;
        let window_percent = WINDOW.within(&settings, 1..=1000)?;
        let windows_max = LIMIT.parse(&settings, |text| {
            let limit = text.parse::<u32>().ok().filter(|limit| (1..=1000).contains(limit))?;
            Some(limit * 100 / window_percent).filter(|windows| *windows >= STEADY_WINDOWS)
        })?;
        let method = Method {
            document: "write-amplification",
            revision: "Write-amplification",
            disclaimer: Some("WRITE-AMPLIFICATION: our own test, not a method of the PTS"),
            active_range_percent: 100,
            rounds_max: windows_max,
            criteria,
            // The class decides the write cache.
            ..method::for_profile(Profile::Pts20, settings.class)
        };
        let request = ProcedureRequest { settings: &settings, ..request.clone() };
        let setup = ProcedureSetup::new(&request, method)?;
        let cells = cells(&setup)?;
        let demand = demand(&setup, &cells);
        Ok(WriteAmplificationTest { demand, cells, window_percent, windows_max, setup })
    }

    /// Returns a step of reads, during which the counters of the drive are read.
    pub(super) fn counters_step(&self) -> Step {
        let place = StepPlace::new(COUNTERS, 0, 1, COUNTERS_PATTERN.to_string());
        self.setup.step(place, &COUNTERS_PATTERN, Demand::new(1, 1), COUNTERS_TIME)
    }

    /// Returns the sequential writes that fill the used capacity of a cell.
    pub(super) fn fill(&self, cell: &AmplificationCell) -> ContinuousLoad {
        let amount = cell.range.length;
        let fill =
            self.setup.load_for_bytes(&cell.fill_phase(), &FILL_PATTERN, FILL_DEMAND, amount);
        fill.within(cell.range)
    }

    pub(super) fn window(&self, cell: &AmplificationCell, number: u32) -> ContinuousLoad {
        let place = StepPlace::new(&cell.phase(), number, 1, cell.name());
        let written = u128::from(cell.range.length.0) * u128::from(self.window_percent) / 100;
        let written = Bytes(u64::try_from(written).unwrap_or(u64::MAX));
        let until = LoadLimits::bytes(cell.workload.bytes_until(written));
        let stimulus = self.setup.stimulus(&cell.workload, self.demand, until, &place);
        ContinuousLoad { place, stimulus, cut: CHECKPOINT, time: None }.within(cell.range)
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        let phases: Vec<String> = self.cells.iter().map(AmplificationCell::phase).collect();
        let is_measured =
            |phase: &String| record.steps().any(|(step, _)| step.place.phase == *phase);
        RunChoices {
            demands: vec![self.demand],
            rounds_max: Some(self.windows_max),
            ending: format!(
                "each cell when {STEADY_WINDOWS} windows in a row are steady, or after {} windows",
                self.windows_max
            ),
            judged: true,
            measured_phases: phases.into_iter().filter(is_measured).collect(),
            gap_effect,
            quick: "profile quick has two workloads, used capacities of 100 and 80 %, windows of \
                    25 % instead of 50 % and a limit of 6 instead of 20 used capacities."
                .into(),
            step_text: Some(format!(
                "none: a window writes {} % of the used capacity",
                number(self.window_percent.into(), 0)
            )),
            preconditioning_text: Some(format!("{FILL_PATTERN} over the used capacity, per cell")),
            ..self.setup.choices()
        }
    }

    /// Returns the captured workload; `None` without one.
    pub(super) fn captured(&self) -> Option<&CapturedComposite> {
        self.cells.iter().find_map(|cell| cell.workload.composite())
    }
}

/// Returns the cells: every workload at its used capacities.
fn cells(setup: &ProcedureSetup) -> Result<Vec<AmplificationCell>, ProcedureError> {
    let settings = &setup.settings;
    let size = TRANSFER.parse(settings, |text| {
        let size = text.parse::<Bytes>().ok()?;
        let sector = u64::from(setup.geometry.logical_sector);
        let is_possible = (512..=1 << 20).contains(&size.0) && size.0.is_multiple_of(sector);
        is_possible.then_some(size)
    })?;
    let mut workloads = WORKLOADS.parse(settings, |text| {
        if text == "none" && settings.workload.is_some() {
            return Some(Vec::new());
        }
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        // The name is part of the phase, which identifies a cell in the journal.
        let is_repeated = (1..names.len()).any(|n| names[..n].contains(&names[n]));
        let all = names.into_iter().map(|name| WriteWorkload::parse(name, size));
        all.collect::<Option<Vec<_>>>().filter(|_| !is_repeated)
    })?;
    if settings.workload.is_some() {
        let composite = CapturedComposite::from_settings(settings, setup.geometry)?;
        workloads.push(WriteWorkload::captured(composite.with_streams()?)?);
    }
    let used = USED.percents(settings, 10)?;
    let used_others = USED_OTHERS.percents(settings, 10)?;
    let mut cells = Vec::new();
    for workload in workloads {
        for percent in if workload.is_uniform() { &used } else { &used_others } {
            let range = part_of(setup.active_range, *percent);
            cells.push(AmplificationCell { workload: workload.clone(), percent: *percent, range });
        }
    }
    if !is_purged(settings) && cells.iter().any(|cell| cell.percent < 100) {
        return Err(ProcedureError(
            "without a purge all of the drive holds data, so no smaller part can be in use; omit \
             --purge none, or measure the whole drive with --set used=100 --set used-others=100"
                .into(),
        ));
    }
    Ok(cells)
}

/// Returns the demand: the user's choice, else that of a captured workload that is alone, else that
/// of the class.
fn demand(setup: &ProcedureSetup, cells: &[AmplificationCell]) -> Demand {
    let composites: Option<Vec<_>> = cells.iter().map(|cell| cell.workload.composite()).collect();
    match composites.as_deref() {
        Some([composite, ..]) => composite.demand(setup),
        _ => setup.settings.demand_or(setup.method.random_demand),
    }
}

fn gap_effect(step: &Step) -> &'static str {
    match (step.place.round, step.place.point) {
        (0, _) => "Nothing that is measured had begun.",
        (_, 1) => "The steady windows restart with that window.",
        _ => "That window is void, and the steady windows restart after it.",
    }
}
