//! Samples how well written data compresses and how much of it duplicates earlier data: one written
//! block in N is read back from the device, measured and forgotten.
//!
//! A probe cannot look at the written data itself: no interface that is stable across kernels gives
//! the location of an I/O's pages in kernel memory. The block is therefore read from the device
//! after its write has completed, which costs the device that read. It may have been overwritten by
//! then.

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
use steadfast_domain::io_event::{
    CommandName, ContentMeasurement, ContentSample, FINGERPRINTS, flags,
};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{DirectBuffer, IoEvent, IoOp, Layer};

/// Length of a sampled block in bytes; a smaller write is sampled whole.
const BLOCK: usize = 4096;

/// Maximum number of blocks waiting to be read; further ones are counted as passed over.
const QUEUE_MAX: usize = 1024;

const COMPRESSION_LEVEL: i32 = 1;

/// A device whose written blocks are sampled.
#[derive(Debug, Clone)]
pub struct SampledDevice {
    /// Device node.
    pub path: PathBuf,
    /// Offset of the device on its disk, in bytes: 0 for a whole disk, the start of a partition
    /// otherwise. Events carry offsets on the disk.
    pub base: u64,
}

/// Longest time an I/O is held back for the measurements of its blocks.
const HOLD_TIME_MAX: Duration = Duration::from_secs(1);
/// Maximum number of I/Os held back (30 MB).
const HELD_MAX: usize = 1 << 18;

/// A block to be read, and the I/O that wrote it.
struct SampleRequest {
    number: u64,
    device: usize,
    offset: u64,
    length: usize,
}

/// A measured block, and the number of the I/O that wrote it.
struct MeasuredBlock {
    number: u64,
    content: ContentMeasurement,
}

/// A block that the reader has not processed yet.
struct PendingBlock {
    /// Number of the I/O that wrote it.
    number: u64,
    requested_at: Instant,
}

#[derive(Default)]
struct SampleResults {
    sample: ContentSample,
    /// Measurements since the last collection.
    measured: Vec<MeasuredBlock>,
    /// Blocks measured or found unreadable since the last collection.
    processed: usize,
}

/// Samples the content of written blocks while a capture runs.
///
/// I/Os are held back until their blocks are measured, so that the results are stored with them; an
/// I/O that has waited longer than a second is released without.
pub struct ContentSampler {
    own_reads: OwnReads,
    bases: Vec<u64>,
    every: u64,
    /// Written blocks until the next sampled one.
    blocks_left: u64,
    random_state: u64,
    requests: Option<SyncSender<SampleRequest>>,
    reader: Option<JoinHandle<()>>,
    results: Arc<Mutex<SampleResults>>,
    /// I/Os held back; `first` is the number of the oldest.
    held: VecDeque<IoEvent>,
    first: u64,
    pending: VecDeque<PendingBlock>,
}

impl ContentSampler {
    /// Starts sampling, at random, one block in `every`. The device of an event is an index into
    /// `devices`.
    ///
    /// # Errors
    /// A device cannot be opened for reading with O_DIRECT.
    pub fn begin(devices: &[SampledDevice], every: u64) -> Result<ContentSampler, CaptureError> {
        let files = devices.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let sample = ContentSample { every, ..ContentSample::default() };
        let results = Arc::new(Mutex::new(SampleResults { sample, ..SampleResults::default() }));
        let (requests, queue) = sync_channel(QUEUE_MAX);
        let shared = Arc::clone(&results);
        let random_state = RandomState::new().hash_one(every);
        // Of the greatest length that a thread's name may have, and unique.
        let name = format!("sample-{:08x}", random_state as u32);
        let reader = std::thread::Builder::new()
            .name(name.clone())
            .spawn(move || SampleReader::new(files).read(&queue, &shared))
            .map_err(|error| {
                CaptureError::new(
                    format!("cannot start the thread that samples content: {error}"),
                    "end other processes, or omit --content-sample",
                )
            })?;
        let mut sampler = ContentSampler {
            own_reads: OwnReads { pid: std::process::id(), thread: CommandName::new(&name) },
            bases: devices.iter().map(|device| device.base).collect(),
            every: every.max(1),
            blocks_left: 0,
            random_state,
            requests: Some(requests),
            reader: Some(reader),
            results,
            held: VecDeque::new(),
            first: 0,
            pending: VecDeque::new(),
        };
        sampler.blocks_left = sampler.next_gap();
        Ok(sampler)
    }

    /// Samples the blocks written by these I/Os, and removes the sampler's own reads from them. On
    /// return, `events` holds the I/Os of this and earlier calls that need not wait any longer.
    pub fn process(&mut self, events: &mut Vec<IoEvent>) {
        events.retain(|event| !self.own_reads.contains(event));
        let now = Instant::now();
        for event in events.drain(..) {
            let failed = event.flags & flags::FAILED != 0;
            if event.op == IoOp::Write && event.layer == Layer::Block && !failed {
                self.sample_blocks(&event, now);
            }
            self.held.push_back(event);
        }
        self.take_measured();
        let ready = self.releasable(now);
        self.release(ready, events);
    }

    /// Measures all blocks still queued, and appends the I/Os held back.
    pub fn finish(&mut self, events: &mut Vec<IoEvent>) {
        self.end_reader();
        self.take_measured();
        self.release(self.held.len(), events);
    }

    /// Returns the totals so far.
    pub fn so_far(&self) -> ContentSample {
        self.results().sample
    }

    /// Waits until the reader thread has processed its queue, and ends it.
    fn end_reader(&mut self) {
        self.requests = None;
        if let Some(reader) = self.reader.take() {
            // If it panicked, its results up to then are valid.
            let _ = reader.join();
        }
    }

    fn results(&self) -> MutexGuard<'_, SampleResults> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the reader's measurements to the I/Os held back.
    fn take_measured(&mut self) {
        let mut results = self.results();
        let (measured, processed) = (take(&mut results.measured), take(&mut results.processed));
        drop(results);
        self.pending.drain(..processed.min(self.pending.len()));
        for MeasuredBlock { number, content } in measured {
            let index = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
            match index.and_then(|at| self.held.get_mut(at)) {
                Some(event) => event.content.add(content),
                None => self.results().sample.late += u64::from(content.blocks),
            }
        }
    }

    /// Returns the number of I/Os at the front that need not wait any longer.
    fn releasable(&self, now: Instant) -> usize {
        if self.held.len() > HELD_MAX {
            return self.held.len();
        }
        let may_be_measured = |block: &&PendingBlock| {
            block.number >= self.first && now.duration_since(block.requested_at) < HOLD_TIME_MAX
        };
        match self.pending.iter().find(may_be_measured) {
            Some(block) => usize::try_from(block.number - self.first).unwrap_or(usize::MAX),
            None => self.held.len(),
        }
    }

    fn release(&mut self, count: usize, events: &mut Vec<IoEvent>) {
        let count = count.min(self.held.len());
        events.extend(self.held.drain(..count));
        self.first += count as u64;
    }

    /// Requests the sampled blocks of a write, and counts its blocks.
    fn sample_blocks(&mut self, event: &IoEvent, now: Instant) {
        let blocks = u64::from(event.bytes).div_ceil(BLOCK as u64);
        let mut passed = 0;
        while self.blocks_left <= blocks - passed {
            passed += self.blocks_left;
            self.blocks_left = self.next_gap();
            let begin = (passed - 1) * BLOCK as u64;
            let length = (u64::from(event.bytes) - begin).min(BLOCK as u64) as usize;
            self.request_block(usize::from(event.device), event.offset + begin, length, now);
        }
        self.blocks_left -= blocks - passed;
    }

    /// Requests the measurement of a block of the next I/O to be held back.
    fn request_block(&mut self, device: usize, offset: u64, length: usize, now: Instant) {
        let Some(base) = self.bases.get(device) else { return };
        let number = self.first + self.held.len() as u64;
        let offset = offset.saturating_sub(*base);
        let request = SampleRequest { number, device, offset, length };
        if self.requests.as_ref().is_some_and(|queue| queue.try_send(request).is_ok()) {
            self.pending.push_back(PendingBlock { number, requested_at: now });
        } else {
            self.results().sample.passed_over += 1;
        }
    }

    /// Returns the distance to the next sampled block: uniform in 1 to 2 × `every` - 1, with mean
    /// `every`, so that it cannot fall into step with a periodic load.
    fn next_gap(&mut self) -> u64 {
        self.random_state = self.random_state.wrapping_add(1);
        1 + mix64(self.random_state) % (2 * self.every - 1)
    }
}

impl Drop for ContentSampler {
    fn drop(&mut self) {
        self.end_reader();
    }
}

/// Recognizes the sampler's own reads among the events.
struct OwnReads {
    /// Process; in a container, events have another number for it.
    pid: u32,
    thread: CommandName,
}

impl OwnReads {
    fn contains(&self, event: &IoEvent) -> bool {
        let is_own = event.pid == self.pid || [event.command, event.thread].contains(&self.thread);
        is_own && event.op == IoOp::Read && event.layer == Layer::Block
    }
}

fn open(device: &SampledDevice) -> Result<File, CaptureError> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&device.path).map_err(|error| {
        CaptureError::new(
            format!("cannot open {} to sample its content: {error}", device.path.display()),
            "run it as root, or omit --content-sample",
        )
    })
}

struct SampleReader {
    files: Vec<File>,
    memory: DirectBuffer,
    compressed: Vec<u8>,
    /// Randomly seeded: fingerprints are not comparable between processes.
    hasher: RandomState,
    seen: HashSet<u64>,
}

impl SampleReader {
    fn new(files: Vec<File>) -> SampleReader {
        SampleReader {
            files,
            memory: DirectBuffer::new(BLOCK),
            compressed: vec![0; zstd::zstd_safe::compress_bound(BLOCK)],
            hasher: RandomState::new(),
            seen: HashSet::new(),
        }
    }

    fn read(&mut self, queue: &Receiver<SampleRequest>, results: &Mutex<SampleResults>) {
        for request in queue {
            let measured = self.measure(&request);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.processed += 1;
            match measured {
                Some(content) => {
                    results.sample.blocks += 1;
                    results.sample.bytes += u64::from(content.bytes);
                    results.sample.compressed_bytes += u64::from(content.compressed_bytes);
                    results.sample.duplicates += u64::from(content.duplicates);
                    results.measured.push(MeasuredBlock { number: request.number, content });
                }
                None => results.sample.unreadable += 1,
            }
        }
    }

    /// Returns the compressed length of the block and whether it is a duplicate of an earlier one,
    /// or `None` if it cannot be read.
    fn measure(&mut self, request: &SampleRequest) -> Option<ContentMeasurement> {
        let block = self.memory.get_mut(..request.length)?;
        self.files.get(request.device)?.read_exact_at(block, request.offset).ok()?;
        let fingerprint = self.hasher.hash_one(&*block);
        let duplicate = self.seen.contains(&fingerprint);
        if !duplicate && (self.seen.len() as u64) < FINGERPRINTS {
            self.seen.insert(fingerprint);
        }
        let length =
            zstd::bulk::compress_to_buffer(block, &mut self.compressed, COMPRESSION_LEVEL).ok()?;
        Some(ContentMeasurement {
            blocks: 1,
            duplicates: u16::from(duplicate),
            bytes: u32::try_from(request.length).ok()?,
            // A block that does not shrink would be stored uncompressed.
            compressed_bytes: u32::try_from(length.min(request.length)).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::Share;

    /// In a container, the process has another number than in the events.
    #[test]
    fn own_reads_are_recognized_by_process_or_by_thread() {
        let thread = CommandName::new("sample-01234567");
        let own = OwnReads { pid: 17, thread };
        let read = |pid, command, thread| IoEvent {
            pid,
            command,
            thread,
            op: IoOp::Read,
            layer: Layer::Block,
            ..IoEvent::default()
        };
        let other = CommandName::new("dd");
        assert!(own.contains(&read(17, other, other)));
        assert!(own.contains(&read(9_017, thread, CommandName::default())));
        assert!(own.contains(&read(9_017, CommandName::new("steadfast"), thread)));
        assert!(!own.contains(&read(9_017, other, other)));
        assert!(!own.contains(&IoEvent { op: IoOp::Write, ..read(17, other, thread) }));
    }

    fn write(offset: u64, bytes: u32) -> IoEvent {
        IoEvent { op: IoOp::Write, offset, bytes, ..IoEvent::default() }
    }

    fn sampled(every: u64, content: &[u8], writes: &[IoEvent], base: u64) -> ContentSample {
        let scratch = tempfile::NamedTempFile::new().unwrap();
        scratch.as_file().write_all_at(content, 0).unwrap();
        let device = SampledDevice { path: scratch.path().to_owned(), base };
        let mut sampler = ContentSampler::begin(&[device], every).unwrap();
        let mut events = writes.to_vec();
        sampler.process(&mut events);
        sampler.finish(&mut events);
        assert_eq!(events.len(), writes.len(), "none is lost");
        let (mut found, totals) = (ContentSample::default(), sampler.so_far());
        for (event, write) in events.iter().zip(writes) {
            assert_eq!(event.offset, write.offset, "they stay in their order");
            found.blocks += u64::from(event.content.blocks);
            found.compressed_bytes += u64::from(event.content.compressed_bytes);
            found.duplicates += u64::from(event.content.duplicates);
        }
        assert_eq!(found.blocks + totals.late, totals.blocks);
        if totals.late == 0 {
            assert_eq!(found.compressed_bytes, totals.compressed_bytes);
            assert_eq!(found.duplicates, totals.duplicates);
        }
        totals
    }

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
    fn a_sample_of_every_block_has_all_of_them() {
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
        assert_eq!(sampled(1, &content, &writes[..7], 0).compression_ratio(), Some(1.0));
    }

    #[test]
    fn one_block_in_n_is_measured() {
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
    fn unreadable_blocks_are_counted() {
        let sample = sampled(1, &half_random(1), &[write(0, 4096), write(1 << 30, 4096)], 0);
        assert_eq!((sample.blocks, sample.unreadable), (1, 1));
        assert_eq!(sampled(1, &[], &[], 0).compression_ratio(), None);
    }

    #[test]
    fn reads_and_failed_writes_are_not_sampled_and_own_reads_are_removed() {
        let own =
            IoEvent { op: IoOp::Read, bytes: 4096, pid: std::process::id(), ..IoEvent::default() };
        let failed = IoEvent { flags: flags::FAILED, ..write(0, 4096) };
        let other = IoEvent { pid: 1, ..own };
        let scratch = tempfile::NamedTempFile::new().unwrap();
        let device = SampledDevice { path: scratch.path().to_owned(), base: 0 };
        let mut sampler = ContentSampler::begin(&[device], 1).unwrap();
        let mut events = vec![own, failed, other];
        sampler.process(&mut events);
        assert_eq!(events, [failed, other]);
        sampler.finish(&mut Vec::new());
        assert_eq!(sampler.so_far().blocks, 0);
    }
}
