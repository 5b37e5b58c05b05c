//! The block layer: one record per request or bio that a device completes.

use super::cgroups::CgroupHierarchy;
use super::plain;
use super::probe_session::{CapturedLayer, ProbeSession, wait_until};
use super::programs::{AlignedBytes, kernel_knows};
use super::record::{BlockProgramCounters, BlockProgramSettings, BlockRecord, InFlightBucket};
use crate::counters::{CaptureCounters, EventSource};
use crate::error::CaptureError;
use crate::options::CaptureOptions;
use steadfast_domain::io_event::IncompleteIos;
use steadfast_domain::{IoEvent, Layer};

/// The compiled programs, aligned because ELF files are read in words.
static PROGRAMS: &AlignedBytes<[u8]> =
    &AlignedBytes(*include_bytes!(concat!(env!("OUT_DIR"), "/block.bpf.o")));

pub(crate) struct BlockSource {
    session: ProbeSession,
}

/// The programs to load, selected by the devices and the kernel's tracepoints.
struct ProgramSelection {
    /// The kernel has the tracepoint block_io_start (since 6.5).
    io_start: bool,
    /// At least one device takes requests.
    requests: bool,
    /// At least one device takes bios.
    bios: bool,
    /// Splits of requests are counted.
    splits: bool,
}

impl ProgramSelection {
    fn from_options(options: &CaptureOptions, io_start: bool) -> Self {
        ProgramSelection {
            io_start,
            requests: options.devices.iter().any(|device| !device.bio_based),
            bios: options.devices.iter().any(|device| device.bio_based),
            splits: options.merges,
        }
    }

    /// Returns the programs in the order of attachment: those at completions before those at
    /// submissions, so that no I/O is followed whose completion would be missed.
    fn programs(&self) -> Vec<&'static str> {
        let in_order = [
            ("on_rq_complete", self.requests),
            ("on_bio_complete", self.bios),
            ("on_rq_requeue", self.requests),
            ("on_rq_merge", self.requests),
            ("on_rq_issue", self.requests),
            ("on_io_start", self.requests && self.io_start),
            ("on_bio_queue", self.bios || !self.io_start),
            ("on_split", self.splits),
        ];
        in_order.iter().filter(|(_, wanted)| *wanted).map(|(name, _)| *name).collect()
    }

    fn describe(&self) -> String {
        let units = match (self.requests, self.bios) {
            (true, false) => "requests",
            (false, true) => "bios",
            _ => "requests and bios",
        };
        let submitter = if self.io_start { "block_io_start" } else { "block_bio_queue" };
        if self.requests {
            format!("eBPF, {units} (submitter from {submitter})")
        } else {
            format!("eBPF, {units}")
        }
    }
}

impl BlockSource {
    pub(crate) fn open(
        options: &CaptureOptions,
        cgroups: Option<CgroupHierarchy>,
    ) -> Result<Self, CaptureError> {
        let io_start = kernel_knows("btf_trace_block_io_start")?;
        let selection = ProgramSelection::from_options(options, io_start);
        let settings = BlockProgramSettings::from_options(options, !io_start, cgroups);
        let programs = selection.programs();
        let (layer, description) = (Layer::Block, selection.describe());
        let session =
            ProbeSession::load(&PROGRAMS.0, &programs, &settings, options, layer, description)?;
        Ok(BlockSource { session })
    }
}

impl CapturedLayer for BlockSource {
    type Record = BlockRecord;

    fn session(&self) -> &ProbeSession {
        &self.session
    }

    fn session_mut(&mut self) -> &mut ProbeSession {
        &mut self.session
    }

    fn finish(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let counters = || self.session.counters::<BlockProgramCounters>();
        let nothing_left = wait_until(|| counters().is_ok_and(|c| c.all_outstanding() == 0));
        self.take(into)?;
        if nothing_left {
            return Ok(());
        }
        self.session.take_unended("buckets", into, |value, began_ns, add| {
            let Some(bucket) = plain::read::<InFlightBucket>(value) else { return };
            for entry in bucket.entries() {
                if let Some(event) = entry.unended(began_ns) {
                    add(event, entry.sequential());
                }
            }
        })
    }

    fn counted(&self) -> Result<CaptureCounters, CaptureError> {
        let kernel: BlockProgramCounters = self.session.counters()?;
        Ok(CaptureCounters {
            lost: kernel.lost,
            in_part: IncompleteIos {
                begun_before: kernel.begun_before,
                unended: kernel.all_outstanding() + kernel.unended,
                too_many: kernel.unfollowed,
            },
            partial_completions: kernel.partial_completions,
            requeues: kernel.requeues,
            splits: kernel.splits.to_vec(),
            ..CaptureCounters::default()
        }
        .with_unseen((kernel.without_range > 0).then(|| {
            let what = "I/Os that are counted in no LBA range, because the table was full";
            (what.to_owned(), kernel.without_range)
        })))
    }
}
