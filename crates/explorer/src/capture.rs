//! An [`ExploredCapture`]: its files, held open for as long as the explorer runs, and its index once
//! it is built.

use crate::cache::{self, FileFingerprint, IndexStore};
use crate::http_error::{HttpError, HttpResult};
use crate::index::{Index, IndexProgress};
use crate::row_cache::RecentRows;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use steadfast_analysis::{Captured, ThreadPool};
use steadfast_domain::{CaptureConditions, Nanos};
use steadfast_tracefile::NotRecorded;

/// Maximum number of bytes of cached answers.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// An error that prevents a file from being explored.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct ExploreError {
    /// Path of the file.
    pub path: PathBuf,
    /// Description of the problem and its remedy.
    pub what: String,
}

struct CaptureFile {
    path: PathBuf,
    file: File,
    fingerprint: FileFingerprint,
}

/// A capture.
pub struct ExploredCapture {
    /// Display name: the first file, and the number of others.
    pub name: String,
    files: Vec<CaptureFile>,
    captured: Captured,
    /// Progress of the index.
    pub progress: Arc<IndexProgress>,
    index: OnceLock<Result<Arc<Index>, String>>,
    origin: OnceLock<IndexOrigin>,
    answers: Mutex<AnswerCache>,
    recent_rows: Mutex<RecentRows>,
}

/// Account of how an index was obtained.
#[derive(Debug, Clone, Copy)]
pub struct IndexOrigin {
    /// True if it was read from the cache.
    pub from_cache: bool,
    /// Time that reading or building it took.
    pub took: Duration,
    /// Size of the index file written, in bytes; `None` if none was written.
    pub bytes: Option<u64>,
}

#[derive(Default)]
struct AnswerCache {
    bytes: usize,
    by_key: HashMap<String, Arc<str>>,
}

/// Opens captures in the order of their first files; files of one capture are read together, by
/// `threads`.
///
/// # Errors
/// Returns the first file that is no trace, no file of totals and no fold file.
pub fn open_all(
    paths: &[PathBuf],
    threads: Option<&Arc<dyn ThreadPool>>,
) -> Result<Vec<ExploredCapture>, ExploreError> {
    let mut captures: Vec<Vec<(CaptureFile, Captured)>> = Vec::new();
    for path in paths {
        let (file, captured) = open(path)?;
        let same_capture = captures.iter_mut().find(|parts| {
            parts.iter().any(|(_, part)| captured.is_part_of(std::slice::from_ref(part)))
        });
        match same_capture {
            Some(parts) => parts.push((file, captured)),
            None => captures.push(vec![(file, captured)]),
        }
    }
    captures.into_iter().map(|parts| ExploredCapture::new(parts, threads)).collect()
}

fn open(path: &Path) -> Result<(CaptureFile, Captured), ExploreError> {
    let error = |what: String| ExploreError { path: path.to_owned(), what };
    // Opening a FIFO would block.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(error("it is not a regular file".to_owned()));
    }
    let file = File::open(path).map_err(|why| error(format!("it cannot be opened: {why}")))?;
    let fingerprint = FileFingerprint::from_file(&file).map_err(|why| error(why.to_string()))?;
    let medium = file.try_clone().map_err(|why| error(why.to_string()))?;
    let captured = Captured::open(medium).map_err(|why| error(why.to_string()))?;
    if captured.is_several() && captured.step_grid().is_none_or(|grid| grid.origin_ns > 0) {
        let what = "its captures have no common steps; fold them again with one --step, such as 1s";
        return Err(error(what.to_owned()));
    }
    Ok((CaptureFile { path: path.to_owned(), file, fingerprint }, captured))
}

impl ExploredCapture {
    fn new(
        parts: Vec<(CaptureFile, Captured)>,
        threads: Option<&Arc<dyn ThreadPool>>,
    ) -> Result<Self, ExploreError> {
        let (files, parts): (Vec<CaptureFile>, Vec<Captured>) = parts.into_iter().unzip();
        let first = files.first().map(|file| file.path.clone()).unwrap_or_default();
        let name = match files.len() {
            1 => first.display().to_string(),
            more => format!("{} and {} more", first.display(), more - 1),
        };
        let mut captured = Captured::several(parts)
            .map_err(|error| ExploreError { path: first, what: error.to_string() })?;
        if let Some(threads) = threads {
            captured = captured.with_thread_pool(Arc::clone(threads));
        }
        Ok(ExploredCapture {
            name,
            files,
            captured,
            progress: Arc::default(),
            index: OnceLock::new(),
            origin: OnceLock::new(),
            answers: Mutex::default(),
            recent_rows: Mutex::default(),
        })
    }

    /// Returns the conditions of the capture.
    pub fn conditions(&self) -> &CaptureConditions {
        self.captured.conditions()
    }

    /// Returns whether it holds sums that the kernel counted, and no single I/Os.
    pub fn has_kernel_sums(&self) -> bool {
        self.captured.step_grid().is_some() && !self.captured.is_several()
    }

    /// Returns why a view that needs single I/Os cannot be shown; `None` if it can. `what` names
    /// what the view needs.
    pub fn lacks(&self, what: &str) -> Option<String> {
        let step = Nanos(self.captured.step_grid()?.step_ns);
        Some(if self.captured.is_several() {
            format!(
                "This fold file holds sums of steps of {step} and no {what}. Open the trace files \
                 that were folded."
            )
        } else {
            format!(
                "This capture holds totals of steps of {step} and no {what}. Capture without \
                 --totals-every to see them."
            )
        })
    }

    /// Returns why processes cannot be shown; `None` if they can.
    pub fn lacks_processes(&self) -> Option<String> {
        self.captured.check_recorded(NotRecorded::Processes).err().map(|error| error.to_string())
    }

    /// Returns whether the time with an I/O outstanding is known.
    pub fn knows_busy_time(&self) -> bool {
        self.captured.check_recorded(NotRecorded::BusyTime).is_ok()
            && !self.conditions().rounded_times
    }

    /// Iterates over the paths of its files, as they were given.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Returns the I/Os, if the files are still those that were opened.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 409 if a file changed.
    pub fn captured(&self) -> HttpResult<&Captured> {
        match self.files.iter().find(|file| !file.fingerprint.matches(&file.file)) {
            None => Ok(&self.captured),
            Some(changed) => Err(HttpError::conflict(format!(
                "{} was changed after it was opened; end the explorer and start it again",
                changed.path.display()
            ))),
        }
    }

    /// Returns the index.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 409 if the index is not built yet, and with 500 if it
    /// could not be built.
    pub fn index(&self) -> HttpResult<Arc<Index>> {
        match self.index.get() {
            None => Err(HttpError::conflict(format!(
                "{} is still being read ({:.0} %); ask again",
                self.name,
                self.progress.share() * 100.0
            ))),
            Some(Ok(index)) => Ok(Arc::clone(index)),
            Some(Err(what)) => Err(HttpError::failed(what.clone())),
        }
    }

    /// Returns the error if the index could not be built.
    pub fn failure(&self) -> Option<&str> {
        self.index.get().and_then(|index| index.as_ref().err()).map(String::as_str)
    }

    /// Returns how the index was obtained; `None` while it is being built.
    pub fn origin(&self) -> Option<IndexOrigin> {
        self.origin.get().copied()
    }

    /// Builds the index, or reads it from a cache.
    pub fn prepare(&self, store: Option<&dyn IndexStore>) {
        let began = Instant::now();
        let fingerprints: Vec<_> = self.files.iter().map(|file| file.fingerprint).collect();
        let name = cache::index_name(&fingerprints);
        if let Some(index) = store.and_then(|store| cache::read(store, &name)) {
            self.progress.all.store(1, Ordering::Relaxed);
            self.progress.done.store(1, Ordering::Relaxed);
            let took = began.elapsed();
            let _ = self.origin.set(IndexOrigin { from_cache: true, took, bytes: None });
            let _ = self.index.set(Ok(Arc::new(index)));
            return;
        }
        let index = self.build().map(Arc::new);
        let took = began.elapsed();
        // Questions are answered while the file is being written.
        let _ = self.index.set(index.clone());
        let bytes = match (&index, store) {
            (Ok(index), Some(store)) => cache::write(store, &name, index).ok(),
            _ => None,
        };
        let _ = self.origin.set(IndexOrigin { from_cache: false, took, bytes });
    }

    fn build(&self) -> Result<Index, String> {
        let index = Index::read(&self.captured, &self.progress);
        let index = index.map_err(|error| format!("{}: {error}", self.name))?;
        // If the file changed while it was read, the index belongs to neither version.
        self.captured().map_err(|refusal| refusal.text)?;
        Ok(index)
    }

    /// Returns the cached answer of a key.
    pub fn cached_answer(&self, cache_key: &str) -> Option<Arc<str>> {
        self.answers().by_key.get(cache_key).cloned()
    }

    /// Caches an answer.
    pub fn cache_answer(&self, cache_key: String, answer: &Arc<str>) {
        let mut answers = self.answers();
        if answers.bytes + answer.len() > ANSWER_BYTES_MAX {
            *answers = AnswerCache::default();
        }
        if answer.len() < ANSWER_BYTES_MAX / 4 {
            answers.bytes += answer.len() + cache_key.len();
            answers.by_key.insert(cache_key, Arc::clone(answer));
        }
    }

    /// Returns the cache of I/Os that were read recently.
    pub fn recent_rows(&self) -> MutexGuard<'_, RecentRows> {
        self.recent_rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answers(&self) -> MutexGuard<'_, AnswerCache> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
