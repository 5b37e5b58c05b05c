//! The first pass over the chosen I/Os, which finds what must be known before a script is played:
//! their times, their addresses, and the reasons why some of them cannot be played.

use super::ReplayError;
use super::address_map::{AddressMap, CaptureExtent};
use super::captured_io::{CapturedIo, FIELDS};
use super::fua_emulation::FuaEmulation;
use super::granules::Granules;
use super::options::{OmittedIos, ScriptOptions};
use super::plan::ReplayPlan;
use std::collections::BTreeSet;
use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::device_layer::device_name;
use steadfast_analysis::pass::PassAccount;
use steadfast_domain::io_event::flags;
use steadfast_domain::script::{DueTimeSource, MapRule};
use steadfast_domain::{CaptureConditions, Layer, Op};
use steadfast_tracefile::parquet::Trace;

/// Maximum number of devices that the error for a choice of several devices names.
const DEVICES_NAMED: usize = 8;

/// The result of the first pass.
#[derive(Debug, Default)]
pub(super) struct ReplaySurvey {
    pub(super) account: PassAccount,
    /// Number of I/Os that can be played.
    playable: u64,
    pub(super) omitted: OmittedIos,
    /// Number of writes that requested a flush before them.
    pub(super) preflushes: u64,
    pub(super) fua_emulation: FuaEmulation,
    pub(super) layers: BTreeSet<Layer>,
    devices: BTreeSet<u16>,
    /// Number of playable I/Os with an address: all but flushes.
    addressed: u64,
    /// Earliest issue time in nanoseconds; `None` without a playable I/O.
    first_issued_ns: Option<u64>,
    /// Earliest time of entry into the queue in nanoseconds; `None` without a playable I/O.
    first_queued_ns: Option<u64>,
    /// Longest time in the queue in nanoseconds; 0 if the trace has no queue times.
    queued_max_ns: u64,
    /// End of the last sector of the target that an I/O touches, in bytes.
    end: u64,
    /// Number of I/Os that end beyond the target.
    beyond_target: u64,
    /// Touched granules; empty unless addresses are packed.
    touched: Granules,
}

impl ReplaySurvey {
    /// Reads the chosen I/Os.
    ///
    /// # Errors
    /// Returns [`ReplayError::Trace`] if the trace cannot be read, and another variant if no script
    /// can be made of the I/Os.
    pub(super) fn read(trace: &Trace, options: &ScriptOptions) -> Result<Self, ReplayError> {
        let mut survey = ReplaySurvey::default();
        let mut ios = options.pass.read(trace, FIELDS);
        while let Some(rows) = ios.next_batch()? {
            for row in rows.iter() {
                survey.add(&rows, row, options)?;
            }
        }
        survey.account = ios.account();
        survey.check(trace.conditions(), options)?;
        Ok(survey)
    }

    fn add(
        &mut self,
        rows: &AnnotatedRows<'_>,
        row: usize,
        options: &ScriptOptions,
    ) -> Result<(), ReplayError> {
        let batch = rows.batch;
        if self.devices.len() < DEVICES_NAMED {
            self.devices.insert(batch.device(row));
        }
        self.layers.insert(batch.layer(row));
        let io = match CapturedIo::from_row(rows, row, DueTimeSource::Issue) {
            Ok(io) => io,
            Err(reason) => {
                self.omitted.count(reason);
                return Ok(());
            }
        };
        self.playable += 1;
        self.add_times(io.due_ns, batch.queued_ns(row));
        if io.op == Op::Write && batch.flags(row) & flags::PREFLUSH != 0 {
            self.preflushes += 1;
        }
        if io.fua {
            self.fua_emulation.add_write(io.completed_ns);
        }
        if io.op == Op::Flush {
            self.fua_emulation.add_flush(io.due_ns);
            return Ok(());
        }
        self.add_range(&io, options)
    }

    /// Adds the times of an I/O that was issued after `waited_ns` in the queue.
    fn add_times(&mut self, issued_ns: u64, waited_ns: u64) {
        let queued_ns = issued_ns.saturating_sub(waited_ns);
        self.first_issued_ns = Some(self.first_issued_ns.unwrap_or(issued_ns).min(issued_ns));
        self.first_queued_ns = Some(self.first_queued_ns.unwrap_or(queued_ns).min(queued_ns));
        self.queued_max_ns = self.queued_max_ns.max(waited_ns);
    }

    /// Adds the bytes that an I/O reads, writes or discards.
    fn add_range(&mut self, io: &CapturedIo, options: &ScriptOptions) -> Result<(), ReplayError> {
        let range = options.target.whole_sectors(io.offset, io.size);
        let end = range.offset.saturating_add(range.size);
        self.addressed += 1;
        self.end = self.end.max(end);
        if end > options.target.end() {
            self.beyond_target += 1;
        }
        match options.map {
            Some(MapRule::Pack) => self.touched.touch(range.offset, end),
            _ => Ok(()),
        }
    }

    /// Rejects a choice that cannot be played.
    fn check(
        &self,
        conditions: &CaptureConditions,
        options: &ScriptOptions,
    ) -> Result<(), ReplayError> {
        let PassAccount { events, kept, .. } = self.account;
        if kept == 0 {
            let filter = options.pass.filter.describe(conditions);
            return Err(ReplayError::Empty { events, filter });
        }
        if self.devices.len() > 1 {
            let names = self.devices.iter().map(|device| device_name(conditions, *device));
            return Err(ReplayError::SeveralDevices(names.collect()));
        }
        if self.layers.len() > 1 {
            return Err(ReplayError::SeveralLayers);
        }
        if self.addressed > 0 {
            return Ok(());
        }
        if self.playable == kept {
            return Err(ReplayError::OnlyFlushes { flushes: kept });
        }
        Err(ReplayError::AllLeftOut { ios: kept, reasons: self.omitted.describe() })
    }

    /// Returns the plan of a script of the chosen I/Os.
    pub(super) fn plan(
        &mut self,
        conditions: &CaptureConditions,
        options: &ScriptOptions,
    ) -> Result<ReplayPlan, ReplayError> {
        let has_queue_times = self.queued_max_ns > 0;
        let issue_at = match options.issue_at {
            Some(DueTimeSource::Queue) if !has_queue_times => {
                return Err(ReplayError::NoQueueTimes);
            }
            Some(source) => source,
            None if has_queue_times => DueTimeSource::Queue,
            None => DueTimeSource::Issue,
        };
        let (first_ns, wait_max_ns) = match issue_at {
            DueTimeSource::Queue => (self.first_queued_ns, self.queued_max_ns),
            DueTimeSource::Issue => (self.first_issued_ns, 0),
        };
        let first_ns = first_ns.unwrap_or_default();
        let fits = self.beyond_target == 0;
        let rule = options.map.unwrap_or(if fits { MapRule::Same } else { MapRule::Wrap });
        if rule == MapRule::Same && !fits {
            return Err(ReplayError::BeyondTarget {
                ios: self.beyond_target,
                all: self.playable,
                end: self.end,
                target: options.target.end(),
            });
        }
        let device = self.devices.first().map_or(0, |device| usize::from(*device));
        let capacity = conditions.devices.get(device).and_then(|device| device.capacity);
        let touched = std::mem::take(&mut self.touched).ranked();
        let extent = CaptureExtent { end: self.end, capacity, touched };
        Ok(ReplayPlan {
            map: AddressMap::new(rule, options.target, extent)?,
            options: options.clone(),
            issue_at,
            origin_ns: options.origin_ns.unwrap_or(first_ns).min(first_ns),
            wait_max_ns,
            rounded_times: conditions.rounded_times,
            fua_is_emulated: self.fua_emulation.is_detected(),
        })
    }
}
