//! The block layer: one record per request or bio that a device completes.

use super::plain;
use super::programs::{Aligned, Programs, kernel_knows, load_error, missing};
use super::record::{BlockSettings, Bucket, KernelCounters, Wire};
use super::rings::{Rings, Sizes};
use super::steps::{self, Turns};
use super::wait::wait_until;
use crate::error::CaptureError;
use crate::options::Options;
use crate::source::{Counters, Source};
use steadfast_domain::io_event::{SeenInPart, StreamInStep, StreamResponses};
use steadfast_domain::{IoEvent, Layer};

/// The compiled programs; an ELF file is read in words.
static PROGRAMS: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/block.bpf.o")));

/// The block layer, listened to.
pub(crate) struct Blocks {
    rings: Rings,
    programs: Programs,
    began_ns: u64,
    description: String,
    /// Where only capture steps are wanted.
    turns: Option<Turns>,
}

/// What is loaded depends on what the devices are and on what the kernel has.
struct ProgramsNeeded {
    /// The kernel tells when a request starts (since 6.5).
    io_start: bool,
    requests: bool,
    bios: bool,
}

impl ProgramsNeeded {
    fn of(options: &Options, io_start: bool) -> Self {
        ProgramsNeeded {
            io_start,
            requests: options.devices.iter().any(|device| !device.bio_based),
            bios: options.devices.iter().any(|device| device.bio_based),
        }
    }

    /// The programs, in the order in which they are attached: whoever sees an
    /// end comes before whoever sees a beginning, so that nothing is followed
    /// whose end is not seen.
    fn programs(&self) -> Vec<&'static str> {
        let in_order = [
            ("on_rq_complete", self.requests),
            ("on_bio_complete", self.bios),
            ("on_rq_requeue", self.requests),
            ("on_rq_merge", self.requests),
            ("on_rq_issue", self.requests),
            ("on_io_start", self.requests && self.io_start),
            ("on_bio_queue", self.bios || !self.io_start),
        ];
        in_order.iter().filter(|(_, wanted)| *wanted).map(|(name, _)| *name).collect()
    }

    fn describe(&self) -> String {
        let seen = match (self.requests, self.bios) {
            (true, false) => "requests",
            (false, true) => "bios",
            _ => "requests and bios",
        };
        let submitter = if self.io_start { "block_io_start" } else { "block_bio_queue" };
        match self.requests {
            true => format!("eBPF, {seen} (submitter from {submitter})"),
            false => format!("eBPF, {seen}"),
        }
    }
}

impl Blocks {
    pub(crate) fn open(options: &Options) -> Result<Self, CaptureError> {
        let io_start = kernel_knows("btf_trace_block_io_start")?;
        let needed = ProgramsNeeded::of(options, io_start);
        let sizes = Sizes::sharing(options.ring_bytes)?;
        let programs = Programs::load(&PROGRAMS.0, &needed.programs(), |name, map| {
            sizes.prepare(name, map)?;
            if steps::TABLES.contains(&name) && options.step_ns.is_none() {
                map.set_max_entries(1).map_err(load_error)?;
            } else if name.ends_with(".rodata") {
                let value = map.initial_value_mut().ok_or_else(|| missing(".rodata"))?;
                plain::write(&BlockSettings::of(options, !io_start), value);
            }
            Ok(())
        })?;
        let rings = Rings::of(&programs, sizes)?;
        let turns = options.step_ns.map(|width| Turns::new(width, Layer::Block));
        Ok(Blocks { rings, programs, began_ns: 0, description: needed.describe(), turns })
    }

    fn kernel_counters(&self) -> Result<KernelCounters, CaptureError> {
        plain::read(&self.programs.variables()?).ok_or_else(|| missing("counters"))
    }
}

impl Source for Blocks {
    fn describe(&self) -> String {
        self.description.clone()
    }

    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        self.began_ns = at_ns;
        self.programs.open(at_ns)
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let began_ns = self.began_ns;
        self.rings.read(|wire: &Wire| into.push(wire.event(began_ns)));
        Ok(())
    }

    fn fullness(&self) -> Option<f64> {
        Some(self.rings.fullness())
    }

    fn close(&mut self) -> Result<(), CaptureError> {
        self.programs.close(self.began_ns)
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        let all_ended = || self.kernel_counters().is_ok_and(|counters| counters.under_way() == 0);
        let nothing_left = wait_until(all_ended);
        self.take(into)?;
        if nothing_left {
            return Ok(());
        }
        let (began_ns, turns) = (self.began_ns, &mut self.turns);
        self.programs.each("buckets", |value| {
            let Some(bucket) = plain::read::<Bucket>(value) else { return };
            for journey in bucket.journeys() {
                let Some(event) = journey.unended(began_ns) else { continue };
                match turns {
                    Some(turns) => turns.add(&event, journey.sequential()),
                    None => into.push(event),
                }
            }
        })
    }

    fn take_steps(&mut self, into: &mut Vec<StreamInStep>) -> Result<(), CaptureError> {
        self.turns.as_mut().map_or(Ok(()), |turns| turns.take(&self.programs, into))
    }

    fn take_responses(&mut self, into: &mut Vec<StreamResponses>) {
        self.turns.iter_mut().for_each(|turns| turns.take_responses(into));
    }

    fn counters(&mut self) -> Result<Counters, CaptureError> {
        let kernel = self.kernel_counters()?;
        let cost = self.programs.cost();
        Ok(Counters {
            lost: kernel.lost,
            skipped: cost.skipped,
            in_part: SeenInPart {
                begun_before: kernel.begun_before,
                unended: kernel.under_way() + kernel.unended,
                too_many: kernel.unfollowed,
            },
            unseen: Vec::new(),
            partial_completions: kernel.partial_completions,
            requeues: kernel.requeues,
            kernel_ns: (cost.runs > 0).then_some(cost.nanos),
            kernel_runs: cost.runs,
        })
    }
}
