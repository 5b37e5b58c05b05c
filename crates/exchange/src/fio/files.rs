//! The files and devices of jobs, and where each of them lies on the target.
//!
//! fio gives a job the files of its `filename`, or files of its own for each of `numjobs`.
//! Here they lie one after the other on one target, so that the loads touch as much as they
//! do in fio.

use super::options::SectionOptions;
use crate::parse_error::ParseError;
use steadfast_domain::Bytes;
use steadfast_domain::sequence::{Amount, Extent};

/// Alignment of the start of a file on the target, in bytes.
const FILE_ALIGNMENT: u64 = 1 << 20;

const FILES_MAX: u32 = 65_536;

/// Names of the files of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileNames {
    job: String,
    given: Vec<String>,
    directories: Vec<String>,
    format: Option<String>,
    /// Files of each thread, where `filename` does not say.
    count: u32,
}

impl FileNames {
    pub fn from_options(options: &mut SectionOptions<'_>) -> FileNames {
        let given = names_in(options.text("filename").unwrap_or_default());
        if given.iter().enumerate().any(|(place, name)| given[..place].contains(name)) {
            options
                .refuse("filename", "a file is named twice: name it once, with twice the io_size");
        }
        FileNames {
            job: options.name().to_owned(),
            given,
            directories: names_in(options.text("directory").unwrap_or_default()),
            format: options.text("filename_format").map(str::to_owned),
            count: options.count("nrfiles", FILES_MAX).unwrap_or(1),
        }
    }

    /// Returns true if each thread has its own files.
    pub fn differ_by_thread(&self) -> bool {
        self.of_thread(0) != self.of_thread(1)
    }

    /// Returns true if the job names its files or devices.
    pub fn are_given(&self) -> bool {
        !self.given.is_empty() || is_device(&self.job)
    }

    /// Returns the number of files of a thread.
    pub fn count(&self) -> u64 {
        if self.are_given() { self.given.len().max(1) as u64 } else { u64::from(self.count) }
    }

    /// Returns the files of a thread, which is numbered from 0.
    pub fn of_thread(&self, thread: u32) -> Vec<String> {
        if self.given.is_empty() && is_device(&self.job) {
            return vec![self.job.clone()];
        }
        let directory = match self.directories.as_slice() {
            [] => "",
            several => &several[thread as usize % several.len()],
        };
        let within = |name: &str| match directory {
            "" => name.to_owned(),
            directory => format!("{}/{name}", directory.trim_end_matches('/')),
        };
        if !self.given.is_empty() {
            return self.given.iter().map(|name| within(name)).collect();
        }
        let format = self.format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
        let name = format.replace("$jobname", &self.job);
        let name = within(&name.replace("$jobnum", &thread.to_string()));
        let numbered = |file: u32| name.replace("$filenum", &file.to_string());
        // Several are always used together: one name stands for all.
        match self.count {
            1 => vec![numbered(0)],
            count => vec![format!("{} to {}", numbered(0), numbered(count - 1))],
        }
    }
}

/// Splits names at colons; `\:` is a colon within a name.
fn names_in(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&':') => {
                letters.next();
                names.last_mut().unwrap_or(&mut String::new()).push(':');
            }
            ':' => names.push(String::new()),
            letter => names.last_mut().unwrap_or(&mut String::new()).push(letter),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns true for the name of a block device.
pub(super) fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") || name.starts_with(r"\\.\")
}

/// The files that a load uses together: those of one thread, or of all threads of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileSet {
    /// Their names; none where the load is of the whole target.
    pub names: Vec<String>,
    pub are_given: bool,
    /// The job's name and line, for messages.
    pub job: String,
    pub line: u64,
    pub extent: Extent,
}

impl FileSet {
    /// Bytes that hold the load.
    fn end(&self) -> Option<u64> {
        match (self.extent.from, self.extent.length) {
            (Amount::Bytes(from), Some(Amount::Bytes(length))) => from.0.checked_add(length.0),
            _ => None,
        }
    }
}

/// A file, or several that are used together, on the target.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacedFiles {
    names: Vec<String>,
    pub start: Bytes,
    length: Bytes,
}

/// Places files one after the other. A single one is the target itself: nothing is placed.
///
/// # Errors
/// Files whose sizes are unknown, and files that several jobs use in different company.
pub(super) fn place(sets: &[FileSet]) -> Result<Vec<PlacedFiles>, Vec<ParseError>> {
    let mut placed: Vec<PlacedFiles> = Vec::new();
    for set in sets {
        if !placed.iter().any(|files| files.names == set.names) {
            let (names, start, length) = (set.names.clone(), Bytes(0), Bytes(0));
            placed.push(PlacedFiles { names, start, length });
        }
    }
    let is_target = |set: &FileSet| set.names.is_empty();
    if placed.len() < 2 || sets.iter().any(is_target) && sets.iter().all(|set| !set.are_given) {
        return Ok(Vec::new());
    }
    let mut errors = Vec::new();
    for set in sets {
        let fault = if is_target(set) {
            Some("it names no file and no size, and other jobs do".to_owned())
        } else if let Some(shared) = shared_otherwise(set, &placed) {
            Some(format!("{shared} is also used by another job, with other files"))
        } else if set.end().is_none() {
            Some(format!(
                "the jobs use several files or devices, and the size of {} is not known: give \
                 size= in bytes, or every device a target: --target {}=TARGET",
                set.names.join(":"),
                set.names[0]
            ))
        } else {
            None
        };
        errors.extend(fault.map(|why| ParseError::at(set.line, format!("[{}] {why}", set.job))));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut start = 0u64;
    for files in &mut placed {
        let ends = sets.iter().filter(|set| set.names == files.names).filter_map(FileSet::end);
        let length = ends.max().unwrap_or(0);
        (files.start, files.length) = (Bytes(start), Bytes(length));
        start = start.saturating_add(length).next_multiple_of(FILE_ALIGNMENT);
    }
    Ok(placed)
}

/// Returns a file of the set that other sets contain, too.
fn shared_otherwise<'s>(set: &'s FileSet, placed: &[PlacedFiles]) -> Option<&'s str> {
    let others = || placed.iter().filter(|files| files.names != set.names);
    let shared = |name: &&String| others().any(|files| files.names.contains(name));
    set.names.iter().find(shared).map(String::as_str)
}

/// Returns the start of a set of files on the target.
pub(super) fn start_of(placed: &[PlacedFiles], names: &[String]) -> Bytes {
    placed.iter().find(|files| files.names == names).map_or(Bytes(0), |files| files.start)
}

/// Maximum number of files that a remark names.
const LISTED_MAX: usize = 8;

/// Returns a sentence about the layout of the files on the target.
pub(super) fn layout_text(placed: &[PlacedFiles]) -> String {
    let description = |files: &PlacedFiles| {
        let name = match files.names.as_slice() {
            [first, _, ..] => format!("{first} and {} more", files.names.len() - 1),
            names => names.concat(),
        };
        format!("{name} from {}, {}", files.start.binary(), files.length.binary())
    };
    let mut each: Vec<String> = placed.iter().take(LISTED_MAX).map(description).collect();
    if placed.len() > LISTED_MAX {
        each.push(format!("and {} more", placed.len() - LISTED_MAX));
    }
    let end = placed.last().map_or(0, |last| last.start.0 + last.length.0);
    format!(
        "the jobs' files and devices lie on the target one after the other, {} in all: {}",
        Bytes(end).binary(),
        each.join("; ")
    )
}
