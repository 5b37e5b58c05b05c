//! The first pass over the chosen I/Os, which collects what a script needs to know.

use super::ReplayError;
use super::address_map::{AddressMap, CaptureExtent};
use super::chosen::{CapturedIo, FIELDS, chosen};
use super::fua::FuaFlushes;
use super::granules::Granules;
use super::options::{OmittedIos, ScriptOptions};
use super::plan::ReplayPlan;
use std::collections::BTreeSet;
use std::io::{Read, Seek};
use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::pass::PassAccount;
use steadfast_domain::io_event::flags;
use steadfast_domain::script::{DueTimeSource, MapRule};
use steadfast_domain::{CaptureConditions, Layer, Op};
use steadfast_tracefile::parquet::Trace;

/// Most devices that are named in the error for a choice of several devices.
const DEVICES_NAMED: usize = 8;

/// The result of the first pass.
#[derive(Debug, Default)]
pub(super) struct ReplaySurvey {
    pub(super) account: PassAccount,
    /// Number of I/Os that can be played.
    pub(super) ios: u64,
    pub(super) left_out: OmittedIos,
    /// Number of writes that requested a flush before them.
    pub(super) flush_before: u64,
    /// Writes with forced unit access.
    pub(super) fua: FuaFlushes,
    pub(super) layers: BTreeSet<Layer>,
    devices: BTreeSet<u16>,
    /// Number of playable I/Os other than flushes.
    moving: u64,
    /// First due time by issue, and by queue entry, in nanoseconds.
    first_ns: Option<(u64, u64)>,
    queued_max_ns: u64,
    /// End of the last whole sector of the target that an I/O reaches, in bytes.
    end: u64,
    beyond: u64,
    touched: Granules,
}

impl ReplaySurvey {
    pub(super) fn read<R: Read + Seek + Send + 'static>(
        trace: &Trace<R>,
        options: &ScriptOptions,
    ) -> Result<Self, ReplayError> {
        let mut survey = ReplaySurvey::default();
        let mut ios = options.pass.read(trace, FIELDS);
        while let Some(rows) = ios.next_batch()? {
            rows.iter().try_for_each(|row| survey.see(&rows, row, options))?;
        }
        survey.account = ios.account();
        survey.check(trace.conditions(), options)?;
        Ok(survey)
    }

    fn see(
        &mut self,
        rows: &AnnotatedRows<'_>,
        row: usize,
        options: &ScriptOptions,
    ) -> Result<(), ReplayError> {
        let (batch, set) = (rows.batch, rows.batch.flags(row));
        if self.devices.len() < DEVICES_NAMED {
            self.devices.insert(batch.device(row));
        }
        self.layers.insert(batch.layer(row));
        let io = match chosen(rows, row, DueTimeSource::Issue) {
            Ok(io) => io,
            Err(why) => {
                self.left_out.count(why);
                return Ok(());
            }
        };
        self.flush_before += u64::from(io.op == Op::Write && set & flags::PREFLUSH != 0);
        if io.fua {
            self.fua.write(io.completed_ns);
        }
        if io.op == Op::Flush {
            self.fua.flush(io.due_ns);
        }
        self.ios += 1;
        self.see_time(io.due_ns, batch.queued_ns(row));
        if io.op == Op::Flush { Ok(()) } else { self.see_place(&io, options) }
    }

    fn see_time(&mut self, issued_ns: u64, queued_ns: u64) {
        let entered = issued_ns.saturating_sub(queued_ns);
        let (issue, queue) = self.first_ns.unwrap_or((issued_ns, entered));
        self.first_ns = Some((issue.min(issued_ns), queue.min(entered)));
        self.queued_max_ns = self.queued_max_ns.max(queued_ns);
    }

    fn see_place(&mut self, io: &CapturedIo, options: &ScriptOptions) -> Result<(), ReplayError> {
        let (begin, size) = options.space.whole_sectors(io.offset, io.size);
        let end = begin.saturating_add(size);
        self.moving += 1;
        self.end = self.end.max(end);
        self.beyond += u64::from(end > options.space.end());
        if options.map == Some(MapRule::Pack) { self.touched.touch(begin, end) } else { Ok(()) }
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
            let name = |device: &u16| match conditions.devices.get(usize::from(*device)) {
                Some(known) => known.name.clone(),
                None => format!("device {device}"),
            };
            return Err(ReplayError::SeveralDevices(self.devices.iter().map(name).collect()));
        }
        if self.layers.len() > 1 {
            return Err(ReplayError::SeveralLayers);
        }
        if self.moving > 0 {
            return Ok(());
        }
        if self.ios == kept {
            return Err(ReplayError::OnlyFlushes { flushes: kept });
        }
        Err(ReplayError::AllLeftOut { ios: kept, reasons: self.left_out.describe() })
    }

    /// Returns the plan of a script of the chosen I/Os.
    pub(super) fn plan(
        &mut self,
        conditions: &CaptureConditions,
        options: &ScriptOptions,
    ) -> Result<ReplayPlan, ReplayError> {
        let issue_at = match (options.issue_at, self.queued_max_ns > 0) {
            (Some(DueTimeSource::Queue), false) => return Err(ReplayError::NoQueueTimes),
            (Some(at), _) => at,
            (None, true) => DueTimeSource::Queue,
            (None, false) => DueTimeSource::Issue,
        };
        let (issue, queue) = self.first_ns.unwrap_or_default();
        let (first_ns, slack_ns) = match issue_at {
            DueTimeSource::Queue => (queue, self.queued_max_ns),
            DueTimeSource::Issue => (issue, 0),
        };
        let fits = self.beyond == 0;
        let rule = options.map.unwrap_or(if fits { MapRule::Same } else { MapRule::Wrap });
        if rule == MapRule::Same && !fits {
            return Err(ReplayError::BeyondTarget {
                ios: self.beyond,
                of: self.ios,
                end: self.end,
                target: options.space.end(),
            });
        }
        let device = self.devices.first().map_or(0, |device| usize::from(*device));
        let capacity = conditions.devices.get(device).and_then(|device| device.capacity);
        let touched = std::mem::take(&mut self.touched).ranked();
        let reached = CaptureExtent { end: self.end, capacity, touched };
        Ok(ReplayPlan {
            map: AddressMap::new(rule, options.space, reached)?,
            options: options.clone(),
            issue_at,
            origin_ns: options.origin_ns.unwrap_or(first_ns).min(first_ns),
            slack_ns,
            rounded_times: conditions.rounded_times,
            fua_is_flushed: self.fua.are_captured(),
        })
    }
}
