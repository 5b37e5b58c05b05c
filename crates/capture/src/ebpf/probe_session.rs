//! Attached programs, the rings they write to, and the source both form at either layer.

use super::cgroups;
use super::plain::{self, PlainData};
use super::process_names;
use super::programs::{AttachedPrograms, load_error, missing};
use super::ranges;
use super::rings::{RingRecord, RingSizes, Rings};
use super::steps::{self, StepTables};
use crate::clock::monotonic_ns;
use crate::counters::{CaptureCounters, EventSource, StepParts};
use crate::error::CaptureError;
use crate::options::CaptureOptions;
use crate::process_names::ProcessNames;
use std::time::{Duration, Instant};
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::{CommandName, Layer};

/// Longest time that a closed capture waits for outstanding I/Os.
const END_WAIT_MAX: Duration = Duration::from_millis(500);

pub(super) struct ProbeSession {
    rings: Rings,
    pub programs: AttachedPrograms,
    pub began_ns: u64,
    /// One line that names what is captured, and how.
    pub description: String,
    /// `None` if single I/Os are captured.
    pub step_tables: Option<StepTables>,
}

impl ProbeSession {
    /// Loads the `wanted` programs of an object file with these settings.
    pub(super) fn load<S: PlainData>(
        object: &[u8],
        wanted: &[&str],
        settings: &S,
        options: &CaptureOptions,
        layer: Layer,
        description: String,
    ) -> Result<ProbeSession, CaptureError> {
        let sizes = RingSizes::sharing(options.ring_bytes)?;
        let programs = AttachedPrograms::load(object, wanted, |name, map| {
            sizes.prepare(name, map)?;
            let holds_steps = steps::TABLES.contains(&name) || name == steps::BUSY;
            let is_unused = holds_steps && options.step_ns.is_none()
                || name == cgroups::NUMBERS && !options.cgroups
                || name == process_names::NAMES && !options.commands
                || ranges::TABLES.contains(&name) && options.range_bytes.is_empty();
            if is_unused {
                // The smallest size that the kernel accepts.
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
        let step_tables = options.step_ns.map(|width| StepTables::new(width, layer, options));
        Ok(ProbeSession { rings, programs, began_ns: 0, description, step_tables })
    }

    pub(super) fn counters<C: PlainData>(&self) -> Result<C, CaptureError> {
        plain::read(&self.programs.variables()?).ok_or_else(|| missing("counters"))
    }

    /// Decodes the values of `map` with `decode`, which calls its last argument for every I/O that
    /// has not completed, and appends these I/Os, or adds them to the capture steps.
    pub(super) fn take_unended(
        &mut self,
        map: &str,
        into: &mut Vec<IoEvent>,
        mut decode: impl FnMut(&[u8], u64, &mut dyn FnMut(IoEvent, bool)),
    ) -> Result<(), CaptureError> {
        let (began_ns, step_tables) = (self.began_ns, &mut self.step_tables);
        let mut add = |event: IoEvent, sequential: bool| match step_tables {
            Some(tables) => tables.add(event, sequential),
            None => into.push(event),
        };
        self.programs.each_pair(map, |_, value| decode(value, began_ns, &mut add))
    }
}

/// Waits until nothing is outstanding, [`END_WAIT_MAX`] at most. Returns true if that was reached.
pub(super) fn wait_until(mut idle: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + END_WAIT_MAX;
    loop {
        if idle() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A captured layer: the parts that differ between the two layers.
pub(super) trait CapturedLayer {
    /// Record that the programs write for every completed I/O.
    type Record: RingRecord;

    fn session(&self) -> &ProbeSession;
    fn session_mut(&mut self) -> &mut ProbeSession;
    /// Waits for outstanding I/Os, calls `take`, and appends the rest.
    fn finish(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError>;
    /// Returns the programs' counters, without the cost of their runs.
    fn counted(&self) -> Result<CaptureCounters, CaptureError>;
}

impl<T: CapturedLayer> EventSource for T {
    fn describe(&self) -> String {
        self.session().description.clone()
    }

    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        let session = self.session_mut();
        session.began_ns = at_ns;
        session.programs.open(at_ns)
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let session = self.session_mut();
        let began_ns = session.began_ns;
        session.rings.read(|record: &T::Record| into.push(record.event(began_ns)));
        Ok(())
    }

    fn fullness(&self) -> Option<f64> {
        Some(self.session().rings.fullness())
    }

    fn close(&mut self) -> Result<(), CaptureError> {
        let session = self.session_mut();
        session.programs.close()?;
        if let Some(tables) = &mut session.step_tables {
            tables.close(monotonic_ns().saturating_sub(session.began_ns));
        }
        Ok(())
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.finish(into)
    }

    fn take_steps(
        &mut self,
        names: &mut ProcessNames,
        into: &mut StepParts,
    ) -> Result<(), CaptureError> {
        let ProbeSession { programs, step_tables, began_ns, .. } = self.session_mut();
        let Some(tables) = step_tables else { return Ok(()) };
        let lasted_ns = || monotonic_ns().saturating_sub(*began_ns);
        tables.take_streams(programs, names, &mut into.streams)?;
        tables.take_busy(programs, lasted_ns(), &mut into.busy)?;
        tables.take_ranges(programs, lasted_ns(), &mut into.ranges)
    }

    fn kept_process_name(&self, pid: u32) -> Option<CommandName> {
        process_names::kept(&self.session().programs, pid)
    }

    fn cgroups(&self, show: &mut dyn FnMut(u16, u64)) -> Result<(), CaptureError> {
        cgroups::numbered(&self.session().programs, show)
    }

    fn counters(&mut self) -> Result<CaptureCounters, CaptureError> {
        let cost = self.session().programs.cost();
        Ok(CaptureCounters {
            skipped: cost.skipped,
            kernel_ns: (cost.runs > 0).then_some(cost.nanos),
            kernel_runs: cost.runs,
            ..self.counted()?
        }
        .with_unseen(self.session().step_tables.as_ref().and_then(StepTables::busy_missed)))
    }
}
