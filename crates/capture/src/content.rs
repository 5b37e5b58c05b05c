//! How well what is written can be compressed, and how much of it is there
//! already: one written block in so many is read back from the device, measured
//! and forgotten.
//!
//! A probe cannot look at what is written: where the pages of an I/O lie in the
//! kernel's memory is told by no interface that holds across kernels. So the
//! block is read from the device once its write has completed, which costs the
//! device that read. It may have been written again by then.

use crate::error::CaptureError;
use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::mem::take;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use steadfast_domain::io_event::{Content, ContentSample, FINGERPRINTS, flags};
use steadfast_domain::step::mix64;
use steadfast_domain::{DirectBuffer, IoEvent, IoOp, Layer};

/// What is measured at once, in bytes; of a smaller write all of it.
pub const BLOCK: usize = 4096;

/// Blocks that wait to be read; further ones are passed over.
const WAITING: usize = 1024;

/// zstd's level.
const LEVEL: i32 = 1;

/// A device whose written blocks are sampled.
#[derive(Debug, Clone)]
pub struct SampledDevice {
    /// Its node.
    pub path: PathBuf,
    /// Where it begins among the offsets of the events, in bytes: 0, or a
    /// partition's place on its disk.
    pub base: u64,
}

/// How long an I/O waits for what is measured of its blocks.
const HELD: Duration = Duration::from_secs(1);
/// I/Os that wait, at most (30 MB).
const HELD_MAX: usize = 1 << 18;

/// Where a block lies, and which I/O wrote it.
struct Wanted {
    number: u64,
    device: usize,
    offset: u64,
    length: usize,
}

/// What the reader has done.
#[derive(Default)]
struct Done {
    sample: ContentSample,
    /// What was measured since it was last asked, by the number of the I/O.
    measured: Vec<(u64, Content)>,
    /// Blocks that were measured or could not be read since then.
    answered: usize,
}

/// Samples what is written while a capture runs.
///
/// It holds I/Os back until their blocks were measured, so that what was found is kept
/// with them; one that waits for too long goes without.
pub struct ContentSampler {
    bases: Vec<u64>,
    every: u64,
    /// Written blocks until the next is sampled.
    left: u64,
    drawn: u64,
    wanted: Option<SyncSender<Wanted>>,
    reader: Option<JoinHandle<()>>,
    done: Arc<Mutex<Done>>,
    /// I/Os that wait, and the number of the first.
    held: VecDeque<IoEvent>,
    first: u64,
    /// Of every block that is not answered the number of its I/O, and since when it waits.
    asked: VecDeque<(u64, Instant)>,
}

impl ContentSampler {
    /// Begins to sample one block in `every`, by chance; events name the
    /// devices by their place among `devices`.
    ///
    /// # Errors
    /// Where a device cannot be read without the page cache.
    pub fn begin(devices: &[SampledDevice], every: u64) -> Result<ContentSampler, CaptureError> {
        let files = devices.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let sample = ContentSample { every, ..ContentSample::default() };
        let done = Arc::new(Mutex::new(Done { sample, ..Done::default() }));
        let (wanted, queue) = sync_channel(WAITING);
        let shared = Arc::clone(&done);
        let reader = std::thread::spawn(move || Reader::new(files).read(&queue, &shared));
        let mut sampler = ContentSampler {
            bases: devices.iter().map(|device| device.base).collect(),
            every: every.max(1),
            left: 0,
            drawn: RandomState::new().hash_one(every),
            wanted: Some(wanted),
            reader: Some(reader),
            done,
            held: VecDeque::new(),
            first: 0,
            asked: VecDeque::new(),
        };
        sampler.left = sampler.gap();
        Ok(sampler)
    }

    /// Samples what these I/Os wrote, and takes its own reads from among them. What it
    /// leaves are the I/Os, of this call or an earlier one, whose blocks were measured.
    pub fn look(&mut self, events: &mut Vec<IoEvent>) {
        let process = std::process::id();
        events.retain(|event| {
            let read = event.op == IoOp::Read && event.layer == Layer::Block;
            !(read && event.pid == process)
        });
        let now = Instant::now();
        for event in events.drain(..) {
            let failed = event.flags & flags::FAILED != 0;
            if event.op == IoOp::Write && event.layer == Layer::Block && !failed {
                self.sample_of(&event, now);
            }
            self.held.push_back(event);
        }
        self.take_measured();
        let ready = self.ready(now);
        self.give_out(ready, events);
    }

    /// Measures everything that waits, and appends the I/Os that were held back.
    pub fn finish(&mut self, events: &mut Vec<IoEvent>) {
        self.end();
        self.take_measured();
        self.give_out(self.held.len(), events);
    }

    /// What was measured so far.
    pub fn so_far(&self) -> ContentSample {
        self.done().sample
    }

    /// What was measured, once everything that waits is read.
    fn end(&mut self) {
        self.wanted = None;
        if let Some(reader) = self.reader.take() {
            // One that panicked has read what it has read.
            let _ = reader.join();
        }
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives what was measured to the I/Os that wait for it.
    fn take_measured(&mut self) {
        let mut done = self.done();
        let (measured, answered) = (take(&mut done.measured), take(&mut done.answered));
        drop(done);
        self.asked.drain(..answered.min(self.asked.len()));
        for (number, content) in measured {
            let place = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
            match place.and_then(|at| self.held.get_mut(at)) {
                Some(event) => event.content.add(content),
                None => self.done().sample.late += u64::from(content.blocks),
            }
        }
    }

    /// How many of the I/Os that wait need not wait longer.
    fn ready(&self, now: Instant) -> usize {
        if self.held.len() > HELD_MAX {
            return self.held.len();
        }
        let waits = |(number, since): &&(u64, Instant)| {
            *number >= self.first && now.duration_since(*since) < HELD
        };
        match self.asked.iter().find(waits) {
            Some((number, _)) => usize::try_from(number - self.first).unwrap_or(usize::MAX),
            None => self.held.len(),
        }
    }

    fn give_out(&mut self, count: usize, events: &mut Vec<IoEvent>) {
        let count = count.min(self.held.len());
        events.extend(self.held.drain(..count));
        self.first += count as u64;
    }

    /// The blocks of one write whose turn it is.
    fn sample_of(&mut self, event: &IoEvent, now: Instant) {
        let blocks = u64::from(event.bytes).div_ceil(BLOCK as u64);
        let mut at = 0;
        while self.left <= blocks - at {
            at += self.left;
            self.left = self.gap();
            let begin = (at - 1) * BLOCK as u64;
            let length = (u64::from(event.bytes) - begin).min(BLOCK as u64) as usize;
            self.want((usize::from(event.device), event.offset + begin), length, now);
        }
        self.left -= blocks - at;
    }

    /// Asks for a block of the I/O that comes next.
    fn want(&mut self, (device, offset): (usize, u64), length: usize, now: Instant) {
        let Some(base) = self.bases.get(device) else { return };
        let number = self.first + self.held.len() as u64;
        let wanted = Wanted { number, device, offset: offset.saturating_sub(*base), length };
        let taken = self.wanted.as_ref().is_some_and(|queue| queue.try_send(wanted).is_ok());
        match taken {
            true => self.asked.push_back((number, now)),
            false => self.done().sample.passed_over += 1,
        }
    }

    /// 1 to twice `every` less 1: on average `every`, and no rhythm of the load's.
    fn gap(&mut self) -> u64 {
        self.drawn = self.drawn.wrapping_add(1);
        1 + mix64(self.drawn) % (2 * self.every - 1)
    }
}

impl Drop for ContentSampler {
    fn drop(&mut self) {
        self.end();
    }
}

fn open(device: &SampledDevice) -> Result<File, CaptureError> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&device.path).map_err(|error| {
        CaptureError::new(
            format!("{} cannot be read to sample its content: {error}", device.path.display()),
            "run it as root, or omit --content-sample",
        )
    })
}

/// Reads blocks, measures and forgets them.
struct Reader {
    files: Vec<File>,
    memory: DirectBuffer,
    compressed: Vec<u8>,
    /// Makes fingerprints that mean nothing outside this process.
    hasher: RandomState,
    seen: HashSet<u64>,
}

impl Reader {
    fn new(files: Vec<File>) -> Reader {
        Reader {
            files,
            memory: DirectBuffer::new(BLOCK),
            compressed: vec![0; zstd::zstd_safe::compress_bound(BLOCK)],
            hasher: RandomState::new(),
            seen: HashSet::new(),
        }
    }

    fn read(&mut self, queue: &Receiver<Wanted>, done: &Mutex<Done>) {
        for wanted in queue {
            let measured = self.measure(&wanted);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.answered += 1;
            match measured {
                Some(content) => {
                    done.sample.blocks += 1;
                    done.sample.bytes += u64::from(content.bytes);
                    done.sample.compressed_bytes += u64::from(content.compressed_bytes);
                    done.sample.duplicates += u64::from(content.duplicates);
                    done.measured.push((wanted.number, content));
                }
                None => done.sample.unreadable += 1,
            }
        }
    }

    /// Compressed length, and whether such a block was there before; `None`
    /// where it cannot be read.
    fn measure(&mut self, wanted: &Wanted) -> Option<Content> {
        let block = self.memory.get_mut(..wanted.length)?;
        self.files.get(wanted.device)?.read_exact_at(block, wanted.offset).ok()?;
        let fingerprint = self.hasher.hash_one(&*block);
        let duplicate = self.seen.contains(&fingerprint);
        if !duplicate && (self.seen.len() as u64) < FINGERPRINTS {
            self.seen.insert(fingerprint);
        }
        let length = zstd::bulk::compress_to_buffer(block, &mut self.compressed, LEVEL).ok()?;
        Some(Content {
            blocks: 1,
            duplicates: u16::from(duplicate),
            bytes: u32::try_from(wanted.length).ok()?,
            // What does not become smaller is stored as it is.
            compressed_bytes: u32::try_from(length.min(wanted.length)).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::Share;

    fn write(offset: u64, bytes: u32) -> IoEvent {
        IoEvent { op: IoOp::Write, offset, bytes, ..IoEvent::default() }
    }

    fn sampled(every: u64, content: &[u8], writes: &[IoEvent], base: u64) -> ContentSample {
        let scratch = tempfile::NamedTempFile::new().unwrap();
        scratch.as_file().write_all_at(content, 0).unwrap();
        let device = SampledDevice { path: scratch.path().to_owned(), base };
        let mut sampler = ContentSampler::begin(&[device], every).unwrap();
        let mut events = writes.to_vec();
        sampler.look(&mut events);
        sampler.finish(&mut events);
        assert_eq!(events.len(), writes.len(), "none is lost");
        let (mut told, all) = (Contents::default(), sampler.so_far());
        for (event, write) in events.iter().zip(writes) {
            assert_eq!(event.offset, write.offset, "they stay in their order");
            told.0 += u64::from(event.content.blocks);
            told.1 += u64::from(event.content.compressed_bytes);
            told.2 += u64::from(event.content.duplicates);
        }
        assert_eq!(told.0 + all.late, all.blocks);
        if all.late == 0 {
            assert_eq!((told.1, told.2), (all.compressed_bytes, all.duplicates));
        }
        all
    }

    /// Blocks, compressed bytes and duplicates.
    #[derive(Default)]
    struct Contents(u64, u64, u64);

    /// Blocks that all differ, half of each random.
    fn half_random(blocks: usize) -> Vec<u8> {
        let mut content = vec![0; blocks * BLOCK];
        for (number, word) in (0..).zip(content.chunks_mut(8)) {
            if number % 512 < 256 {
                word.copy_from_slice(&mix64(number).to_le_bytes());
            }
        }
        content
    }

    #[test]
    fn every_block_is_measured_where_every_block_is_wanted() {
        let content = half_random(101);
        let bytes = content.len() as u32;
        let sample = sampled(1, &content, &[write(0, bytes)], 0);
        assert_eq!((sample.blocks, sample.bytes, sample.duplicates), (101, bytes.into(), 0));
        let ratio = sample.compression_ratio().unwrap();
        assert!((1.9..2.05).contains(&ratio), "{ratio}");
        assert_eq!(sample.duplicate_share(), Some(Share::Exact(0.0)));
    }

    #[test]
    fn zeros_are_duplicates_and_random_bytes_are_not_compressed() {
        let mut content = vec![0; 53 * BLOCK];
        for (number, word) in (0..).zip(content[..7 * BLOCK].chunks_mut(8)) {
            word.copy_from_slice(&mix64(number).to_le_bytes());
        }
        let writes: Vec<IoEvent> = (0..53).map(|n| write(n * BLOCK as u64, 4096)).collect();
        let sample = sampled(1, &content, &writes, 0);
        assert_eq!((sample.blocks, sample.duplicates), (53, 45));
        let random = sampled(1, &content, &writes[..7], 0);
        assert_eq!(random.compression_ratio(), Some(1.0));
    }

    #[test]
    fn one_block_in_so_many_is_measured() {
        let content = half_random(1);
        let writes = vec![write(0, 4096); 10_007];
        let sample = sampled(100, &content, &writes, 0);
        let all = sample.blocks + sample.passed_over;
        assert!((70..130).contains(&all), "{all}");
        assert_eq!(sample.every, 100);
    }

    #[test]
    fn small_writes_are_measured_whole_and_partitions_from_their_beginning() {
        let sample =
            sampled(1, &half_random(2), &[write(1 << 20, 512), write(1 << 20, 5120)], 1 << 20);
        assert_eq!((sample.blocks, sample.bytes), (3, 512 + 4096 + 1024));
    }

    #[test]
    fn what_cannot_be_read_is_counted() {
        let sample = sampled(1, &half_random(1), &[write(0, 4096), write(1 << 30, 4096)], 0);
        assert_eq!((sample.blocks, sample.unreadable), (1, 1));
        assert_eq!(sampled(1, &[], &[], 0).compression_ratio(), None);
    }

    #[test]
    fn reads_failures_and_its_own_io_are_left_alone() {
        let own =
            IoEvent { op: IoOp::Read, bytes: 4096, pid: std::process::id(), ..IoEvent::default() };
        let failed = IoEvent { flags: flags::FAILED, ..write(0, 4096) };
        let other = IoEvent { pid: 1, ..own };
        let scratch = tempfile::NamedTempFile::new().unwrap();
        let device = SampledDevice { path: scratch.path().to_owned(), base: 0 };
        let mut sampler = ContentSampler::begin(&[device], 1).unwrap();
        let mut events = vec![own, failed, other];
        sampler.look(&mut events);
        assert_eq!(events, [failed, other]);
        sampler.finish(&mut Vec::new());
        assert_eq!(sampler.so_far().blocks, 0);
    }
}
