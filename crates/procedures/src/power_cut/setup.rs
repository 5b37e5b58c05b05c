//! Setup of power-cut: its parameters and its trials.

use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::method::Method;
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use steadfast_domain::power_cut::PowerCutTrial;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, Demand, Nanos, Profile, StepPlace};

pub const NAME: &str = "power-cut";

const HOUR: Nanos = Nanos::from_secs(3600);
const DAY: Nanos = Nanos::from_secs(24 * 3600);

/// Maximum number of blocks; each takes about 60 bytes of memory (our choice).
const BLOCKS_MAX: u64 = 4 << 20;

const CYCLES: Parameter = Parameter {
    name: "cycles",
    default: "20",
    quick: Some("3"),
    meaning: "number of power cuts, 1 to 100000; with 60 without a violation, less than 5 % of \
              such cuts have one (95 % confidence)",
    source: "our choice: what a person can do by hand in an afternoon",
    ..Parameter::PLAIN
};

const WITHIN: Parameter = Parameter {
    name: "within",
    default: "10s",
    quick: Some("2s"),
    meaning: "longest time from the first write to the cut, 1 s to 1 h; the moment is random, from \
              a tenth of it on",
    source: "our choice: long enough for every block of the area to be written on most drives",
    ..Parameter::PLAIN
};

const AREA: Parameter = Parameter {
    name: "area",
    default: "256",
    quick: Some("64"),
    meaning: "MiB at the start of the active range that are written, 1 to 1048576",
    source: "our choice: small enough to be overwritten and read back in seconds",
    ..Parameter::PLAIN
};

const BLOCK: Parameter = Parameter {
    name: "block",
    default: "16",
    meaning: "KiB of a write, a power of two from 4 to 1024",
    source: "our choice: a page of a database, larger than a sector, so that it can be torn",
    ..Parameter::PLAIN
};

const FLUSH_EVERY: Parameter = Parameter {
    name: "flush-every",
    default: "32",
    meaning: "writes that are outstanding together and followed by a flush, 1 to 256",
    source: "our choice: concurrent writes reveal most failures (Zheng et al., FAST 2013)",
    of_demand: true,
    ..Parameter::PLAIN
};

const CUT_LIMIT: Parameter = Parameter {
    name: "cut-limit",
    default: "2min",
    meaning: "longest wait for the first failed I/O once the power is to be cut, 1 s to 1 h",
    source: "our choice: a command or a hand, and the kernel's patience with a dead device (30 s)",
    ..Parameter::PLAIN
};

const RETURN_LIMIT: Parameter = Parameter {
    name: "return-limit",
    default: "5min",
    meaning: "longest wait for the device to return, 1 s to 24 h",
    source: "our choice: some drives rebuild their map for minutes after a power cut",
    ..Parameter::PLAIN
};

pub const PARAMETERS: &[Parameter] =
    &[CYCLES, WITHIN, AREA, BLOCK, FLUSH_EVERY, CUT_LIMIT, RETURN_LIMIT];

#[derive(Debug, Clone)]
pub struct PowerCut {
    pub(super) setup: ProcedureSetup,
    pub(super) cycles: u32,
    /// Longest time from the first write to the cut.
    within: Nanos,
    /// Settings that all trials share; each cycle sets its number, cut time and seed.
    pub(super) common_trial: PowerCutTrial,
}

impl PowerCut {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let settings = request.settings;
        let instead = "it ends after its cycles (--set cycles=N); omit --steady-state and \
                       --max-rounds";
        check_no_rounds(settings, instead)?;
        if settings.threads.is_some() || settings.depth.is_some() {
            return Err(ProcedureError(format!(
                "{NAME} keeps the writes of a batch outstanding; omit --threads and --depth, or \
                 change --set flush-every=N"
            )));
        }
        let method = Method {
            document: NAME,
            revision: "Power-cut",
            disclaimer: Some("POWER-CUT: a check of durability, not a method of the PTS"),
            // The test does not change the write cache.
            write_cache: None,
            ..method::for_profile(Profile::Pts20, settings.class)
        };
        let setup = ProcedureSetup::new(request, method)?;
        let block = BLOCK.parse(settings, |text| {
            let kib = text.parse().ok().filter(|kib: &u64| kib.is_power_of_two());
            kib.filter(|kib| (4..=1024).contains(kib)).map(Bytes::kib)
        })?;
        let flush_every = FLUSH_EVERY.within(settings, 1..=256)?;
        let area = Bytes::mib(AREA.within(settings, 1..=1 << 20)?).min(setup.active_range.length);
        // Only whole batches.
        let blocks = area.0 / block.0 / u64::from(flush_every) * u64::from(flush_every);
        check_blocks(blocks, flush_every)?;
        let common_trial = PowerCutTrial {
            cycle: 1,
            start: setup.active_range.start,
            block,
            blocks,
            sector: setup.geometry.logical_sector,
            flush_every,
            cut_after: Nanos::ZERO,
            cut_limit: CUT_LIMIT.within(settings, Nanos::SECOND..=HOUR)?,
            return_limit: RETURN_LIMIT.within(settings, Nanos::SECOND..=DAY)?,
            seed: 0,
        };
        let cycles = CYCLES.within(settings, 1..=100_000)?;
        let within = WITHIN.within(settings, Nanos::SECOND..=HOUR)?;
        Ok(PowerCut { setup, cycles, within, common_trial })
    }

    /// Returns the trial of a cycle. The time of the cut is random, but the same in every run with
    /// this seed.
    pub(super) fn trial(&self, cycle: u32) -> PowerCutTrial {
        let seed = StepPlace::new(NAME, 0, cycle, "").seed(self.setup.settings.seed);
        let earliest = self.within.0 / 10;
        let cut_after = Nanos(earliest + mix64(seed) % (self.within.0 - earliest + 1));
        PowerCutTrial { cycle, seed, cut_after, ..self.common_trial.clone() }
    }

    pub(super) fn choices(&self) -> RunChoices<'_> {
        RunChoices {
            demands: vec![self.demand()],
            ending: "after the last cycle, or the first in which no power cut was seen".into(),
            gap_effect: |_| "",
            step_text: Some("none: each cycle ends with the power cut".into()),
            ..self.setup.choices()
        }
    }

    /// Returns the threads that write, with one outstanding I/O each.
    pub(super) fn demand(&self) -> Demand {
        Demand::new(self.common_trial.flush_every, 1)
    }
}

fn check_blocks(blocks: u64, flush_every: u32) -> Result<(), ProcedureError> {
    if blocks == 0 {
        return Err(ProcedureError(format!(
            "the area has fewer blocks than the {flush_every} of a batch; choose a larger \
             --set area=MIB or a smaller --set flush-every=N"
        )));
    }
    if blocks <= BLOCKS_MAX {
        return Ok(());
    }
    Err(ProcedureError(format!(
        "the area has {blocks} blocks, and at most {BLOCKS_MAX} are possible; choose a smaller \
         --set area=MIB or a larger --set block=KIB"
    )))
}
