//! Attached programs, the rings they write to, and the source both form at either layer.

use super::cgroups;
use super::plain::{self, PlainData};
use super::programs::{AttachedPrograms, load_error, missing};
use super::ranges;
use super::rings::{RingRecord, RingSizes, Rings};
use super::steps::{self, StepTables};
use crate::clock::monotonic_ns;
use crate::counters::{CaptureCounters, EventSource};
use crate::error::CaptureError;
use crate::options::CaptureOptions;
use crate::process_names::ProcessNames;
use steadfast_domain::io_event::{DeviceBusyStep, RangeInStep, StreamInStep};
use steadfast_domain::{IoEvent, Layer};

/// Loaded programs and their rings.
pub(super) struct ProbeSession {
    rings: Rings,
    pub programs: AttachedPrograms,
    pub began_ns: u64,
    /// Tables of capture steps; `None` if single I/Os are captured.
    pub turns: Option<StepTables>,
}

impl ProbeSession {
    /// Loads the `wanted` programs of an object file with these settings.
    pub(super) fn load<S: PlainData>(
        object: &[u8],
        wanted: &[&str],
        settings: &S,
        (options, layer): (&CaptureOptions, Layer),
    ) -> Result<ProbeSession, CaptureError> {
        let sizes = RingSizes::sharing(options.ring_bytes)?;
        let programs = AttachedPrograms::load(object, wanted, |name, map| {
            sizes.prepare(name, map)?;
            let is_of_steps = steps::TABLES.contains(&name) || name == steps::BUSY;
            let tables = is_of_steps && options.step_ns.is_none();
            let numbers = name == cgroups::NUMBERS && !options.cgroups;
            let ranges = ranges::TABLES.contains(&name) && options.range_bytes.is_empty();
            if tables || numbers || ranges {
                map.set_max_entries(1).map_err(load_error)?;
            } else if name == ranges::RECENT {
                let elements = options.range_bytes.len() as u32 * ranges::RECENT_PER_DEVICE;
                map.set_max_entries(elements.max(1)).map_err(load_error)?;
            } else if name.ends_with(".rodata") {
                let value = map.initial_value_mut().ok_or_else(|| missing(".rodata"))?;
                plain::write(settings, value);
            }
            Ok(())
        })?;
        let rings = Rings::open(&programs, sizes)?;
        let turns = options.step_ns.map(|width| StepTables::new(width, layer, options));
        Ok(ProbeSession { rings, programs, began_ns: 0, turns })
    }

    /// Returns the programs' counters.
    pub(super) fn counters<C: PlainData>(&self) -> Result<C, CaptureError> {
        plain::read(&self.programs.variables()?).ok_or_else(|| missing("counters"))
    }

    /// Hands out the I/Os in `map` that have not completed, as `unended` decodes them.
    pub(super) fn each_unended(
        &mut self,
        map: &str,
        into: &mut Vec<IoEvent>,
        mut unended: impl FnMut(&[u8], u64, &mut dyn FnMut(IoEvent, bool)),
    ) -> Result<(), CaptureError> {
        let (began_ns, turns) = (self.began_ns, &mut self.turns);
        let mut hand_out = |event: IoEvent, sequential: bool| match turns {
            Some(turns) => turns.add(event, sequential),
            None => into.push(event),
        };
        self.programs.each(map, |value| unended(value, began_ns, &mut hand_out))
    }
}

/// A captured layer: the parts that differ between the two layers.
pub(super) trait CapturedLayer {
    /// Record that the programs write for every completed I/O.
    type Record: RingRecord;

    fn tap(&self) -> &ProbeSession;
    fn tap_mut(&mut self) -> &mut ProbeSession;
    fn description(&self) -> String;
    /// Waits for outstanding I/Os, calls `take`, and appends the rest.
    fn finish(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError>;
    /// Returns the programs' counters, without the cost of their runs.
    fn counted(&self) -> Result<CaptureCounters, CaptureError>;
}

impl<T: CapturedLayer> EventSource for T {
    fn describe(&self) -> String {
        self.description()
    }

    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        let tap = self.tap_mut();
        tap.began_ns = at_ns;
        tap.programs.open(at_ns)
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let tap = self.tap_mut();
        let began_ns = tap.began_ns;
        tap.rings.read(|record: &T::Record| into.push(record.event(began_ns)));
        Ok(())
    }

    fn fullness(&self) -> Option<f64> {
        Some(self.tap().rings.fullness())
    }

    fn close(&mut self) -> Result<(), CaptureError> {
        let tap = self.tap_mut();
        tap.programs.close(tap.began_ns)?;
        let lasted_ns = monotonic_ns().saturating_sub(tap.began_ns);
        tap.turns.iter_mut().for_each(|turns| turns.close(lasted_ns));
        Ok(())
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.finish(into)
    }

    fn take_steps(
        &mut self,
        names: &mut ProcessNames,
        into: &mut Vec<StreamInStep>,
    ) -> Result<(), CaptureError> {
        let ProbeSession { programs, turns, .. } = self.tap_mut();
        turns.as_mut().map_or(Ok(()), |turns| turns.take(programs, names, into))
    }

    fn take_busy(&mut self, into: &mut Vec<DeviceBusyStep>) -> Result<(), CaptureError> {
        let ProbeSession { programs, turns, began_ns, .. } = self.tap_mut();
        let lasted_ns = monotonic_ns().saturating_sub(*began_ns);
        turns.as_mut().map_or(Ok(()), |turns| turns.take_busy(programs, lasted_ns, into))
    }

    fn take_ranges(&mut self, into: &mut Vec<RangeInStep>) -> Result<(), CaptureError> {
        let ProbeSession { programs, turns, began_ns, .. } = self.tap_mut();
        let lasted_ns = monotonic_ns().saturating_sub(*began_ns);
        turns.as_mut().map_or(Ok(()), |turns| turns.take_ranges(programs, lasted_ns, into))
    }

    fn cgroups(&self, show: &mut dyn FnMut(u16, u64)) -> Result<(), CaptureError> {
        cgroups::numbered(&self.tap().programs, show)
    }

    fn counters(&mut self) -> Result<CaptureCounters, CaptureError> {
        let cost = self.tap().programs.cost();
        Ok(CaptureCounters {
            skipped: cost.skipped,
            kernel_ns: (cost.runs > 0).then_some(cost.nanos),
            kernel_runs: cost.runs,
            ..self.counted()?
        }
        .with_unseen(self.tap().turns.as_ref().and_then(StepTables::busy_missed)))
    }
}
