//! I/Os on their way, tied together from ordered events.

use super::event::{Kind, Seen};
use crate::{DEVICES_MAX, Options};
use std::collections::HashMap;
use std::ops::Range;
use steadfast_domain::io_event::{Layer, RESPONSE_UNKNOWN, SeenInPart, flags};
use steadfast_domain::{IoEvent, IoOp};

/// Beyond this many I/Os under way, those that were never issued are forgotten.
const UNDER_WAY_MAX: usize = 1 << 16;

type Key = (u32, u64, IoOp);

/// One I/O.
#[derive(Debug, Clone, Copy)]
struct Journey {
    event: IoEvent,
    started_ns: u64,
    issued: bool,
    /// Bytes that are still to complete.
    left: u64,
}

/// Every I/O that has begun and not ended.
pub(super) struct Journeys {
    under_way: HashMap<Key, Journey>,
    /// Major << 20 | minor of each device's disk and where it lies on it, in the
    /// options' order.
    devices: Vec<(u32, Range<u64>)>,
    outstanding: [u32; DEVICES_MAX],
    process: Option<u32>,
    commands: bool,
    began_ns: u64,
    /// Ends without a beginning.
    unexplained: u64,
    /// What ends after this is not looked for a beginning.
    closed_ns: u64,
    pub partial_completions: u64,
    pub requeues: u64,
}

impl Journeys {
    pub(super) fn new(options: &Options) -> Self {
        Journeys {
            under_way: HashMap::new(),
            devices: options
                .devices
                .iter()
                .map(|device| (device.number.0 << 20 | device.number.1, device.sectors.clone()))
                .collect(),
            outstanding: [0; DEVICES_MAX],
            process: options.process,
            commands: options.commands,
            began_ns: 0,
            unexplained: 0,
            closed_ns: u64::MAX,
            partial_completions: 0,
            requeues: 0,
        }
    }

    /// I/Os issued and not ended, and ends without a beginning.
    pub(super) fn in_part(&self) -> SeenInPart {
        let issued = self.under_way.values().filter(|journey| journey.issued).count() as u64;
        SeenInPart { begun_before: self.unexplained, unended: issued, too_many: 0 }
    }

    /// I/Os that the devices still have; they have no response time.
    pub(super) fn unended(&self) -> impl Iterator<Item = IoEvent> {
        let issued = self.under_way.values().filter(|journey| journey.issued);
        let events = issued.map(|j| IoEvent { response_ns: RESPONSE_UNKNOWN, ..j.event });
        events.filter(|event| self.process.is_none_or(|process| process == event.pid))
    }

    /// Times are counted from here.
    pub(super) fn begin(&mut self, at_ns: u64) {
        self.began_ns = at_ns;
    }

    /// From this time on beginnings are not seen any more.
    pub(super) fn close(&mut self, at_ns: u64) {
        self.closed_ns = at_ns;
    }

    /// Takes the next event in order; an I/O that ends with it is returned.
    pub(super) fn follow(&mut self, seen: &Seen) -> Option<IoEvent> {
        // One without a place belongs to the first device that lies on the disk.
        let device = self.devices.iter().position(|(number, sectors)| {
            *number == seen.device
                && (seen.op == IoOp::Flush || seen.bytes == 0 || sectors.contains(&seen.sector))
        })?;
        // A flush has no place; its issue and its completion say so differently.
        let sector = if seen.op == IoOp::Flush { 0 } else { seen.sector };
        let key = (seen.device, sector, seen.op);
        match seen.kind {
            Kind::Started => self.start(key, device, seen),
            Kind::Issued | Kind::BioQueued => self.issue(key, device, seen),
            Kind::Requeued => self.requeue(key, device),
            Kind::Completed | Kind::BioCompleted => return self.complete(key, device, seen),
        }
        None
    }

    fn start(&mut self, key: Key, device: usize, seen: &Seen) {
        if self.under_way.len() >= UNDER_WAY_MAX {
            // Most of these began at another sector than they were issued at,
            // for another I/O was merged to their front.
            self.under_way.retain(|_, journey| journey.issued);
        }
        let journey = self.journey(device, seen);
        self.under_way.insert(key, journey);
    }

    fn journey(&self, device: usize, seen: &Seen) -> Journey {
        let event = IoEvent {
            pid: seen.thread,
            command: if self.commands { seen.command } else { Default::default() },
            device: device as u16,
            op: seen.op,
            // What the submitter asked for: the kernel's flush machinery takes
            // the preflush and FUA away before the request is issued.
            flags: seen.flags,
            layer: Layer::Block,
            ..IoEvent::default()
        };
        Journey { event, started_ns: seen.time_ns, issued: false, left: seen.bytes }
    }

    fn issue(&mut self, key: Key, device: usize, seen: &Seen) {
        if !self.under_way.contains_key(&key) {
            self.start(key, device, seen);
        }
        let began_ns = self.began_ns;
        let Some(journey) = self.under_way.get_mut(&key) else { return };
        self.outstanding[device] += 1;
        if journey.issued {
            return;
        }
        journey.issued = true;
        journey.left = seen.bytes;
        let event = &mut journey.event;
        event.issued_ns = seen.time_ns.saturating_sub(began_ns);
        event.queued_ns = seen.time_ns.saturating_sub(journey.started_ns);
        event.offset = if seen.op == IoOp::Flush { 0 } else { seen.sector.saturating_mul(512) };
        event.bytes = u32::try_from(seen.bytes).unwrap_or(u32::MAX);
        event.depth = self.outstanding[device];
        event.cpu = seen.cpu;
        event.flags |= seen.flags;
    }

    fn requeue(&mut self, key: Key, device: usize) {
        if let Some(journey) = self.under_way.get_mut(&key) {
            journey.event.flags |= flags::REQUEUED;
            self.requeues += 1;
            self.outstanding[device] = self.outstanding[device].saturating_sub(1);
        }
    }

    fn complete(&mut self, key: Key, device: usize, seen: &Seen) -> Option<IoEvent> {
        let Some(mut journey) = self.under_way.remove(&key).filter(|journey| journey.issued) else {
            // A write that the kernel splits into flush and data ends twice,
            // the second time with nothing left of it.
            self.unexplained += u64::from(seen.bytes > 0 && seen.time_ns < self.closed_ns);
            return None;
        };
        let is_bio = seen.kind == Kind::BioCompleted;
        if !is_bio && !seen.failed && seen.bytes < journey.left {
            // The rest goes on from where this part ended.
            self.partial_completions += 1;
            journey.left -= seen.bytes;
            self.under_way.insert((key.0, key.1 + seen.bytes / 512, key.2), journey);
            return None;
        }
        self.outstanding[device] = self.outstanding[device].saturating_sub(1);
        let mut event = journey.event;
        event.response_ns =
            seen.time_ns.saturating_sub(self.began_ns).saturating_sub(event.issued_ns);
        if seen.failed {
            event.flags |= flags::FAILED;
        }
        self.process.is_none_or(|process| process == event.pid).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Listened;
    use steadfast_domain::io_event::Command;

    fn journeys() -> Journeys {
        let device = Listened {
            name: "sdx".into(),
            number: (8, 16),
            sectors: crate::WHOLE_DISK,
            bio_based: false,
            file_systems: Vec::new(),
        };
        let options = Options {
            devices: vec![device],
            layers: vec![Layer::Block],
            process: None,
            commands: true,
            step_ns: None,
            ring_bytes: 1 << 20,
            source: None,
            files: None,
        };
        let mut journeys = Journeys::new(&options);
        journeys.begin(1_000);
        journeys
    }

    fn seen(kind: Kind, time_ns: u64, sector: u64, bytes: u64) -> Seen {
        Seen {
            kind,
            time_ns,
            cpu: 1,
            device: 8 << 20 | 16,
            sector,
            bytes,
            op: IoOp::Write,
            flags: flags::SYNC,
            failed: false,
            thread: 42,
            command: Command::new("dd"),
        }
    }

    #[test]
    fn an_io_is_put_together_from_start_issue_and_completion() {
        let mut journeys = journeys();
        assert_eq!(journeys.follow(&seen(Kind::Started, 2_000, 80, 4096)), None);
        assert_eq!(journeys.follow(&seen(Kind::Issued, 2_500, 80, 8192)), None);
        assert_eq!(journeys.in_part().unended, 1);
        assert_eq!(journeys.unended().next().map(|event| event.response_ns), Some(u64::MAX));
        let event = journeys.follow(&seen(Kind::Completed, 9_500, 80, 8192)).unwrap();
        assert_eq!((event.issued_ns, event.queued_ns, event.response_ns), (1_500, 500, 7_000));
        assert_eq!((event.offset, event.bytes, event.depth, event.pid), (40_960, 8_192, 1, 42));
        assert_eq!(journeys.in_part().unended, 0);
    }

    #[test]
    fn a_partial_completion_does_not_end_it() {
        let mut journeys = journeys();
        journeys.follow(&seen(Kind::Issued, 2_000, 80, 8192));
        assert_eq!(journeys.follow(&seen(Kind::Completed, 3_000, 80, 4096)), None);
        let event = journeys.follow(&seen(Kind::Completed, 4_000, 88, 4096)).unwrap();
        assert_eq!((event.bytes, event.response_ns), (8_192, 2_000));
        assert_eq!(journeys.partial_completions, 1);
    }

    #[test]
    fn a_requeued_io_counts_once_from_its_first_issue() {
        let mut journeys = journeys();
        journeys.follow(&seen(Kind::Issued, 2_000, 80, 4096));
        journeys.follow(&seen(Kind::Requeued, 2_100, 80, 4096));
        journeys.follow(&seen(Kind::Issued, 2_200, 80, 4096));
        let event = journeys.follow(&seen(Kind::Completed, 3_000, 80, 4096)).unwrap();
        assert_eq!(event.response_ns, 1_000);
        assert!(event.flags & flags::REQUEUED != 0);
        assert_eq!(journeys.outstanding[0], 0);
    }

    #[test]
    fn an_end_without_a_beginning_is_counted() {
        let mut journeys = journeys();
        assert_eq!(journeys.follow(&seen(Kind::Completed, 3_000, 80, 4096)), None);
        assert_eq!(journeys.in_part().begun_before, 1);
    }
}
