//! Merges folded captures into one fold file.

use super::common::Common;
use super::file::{FoldDescription, FoldFile, FoldOptions, Member};
use super::folding::Folded;
use super::members::no_capture_twice;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::rc::Rc;
use steadfast_domain::{CaptureConditions, Nanos};
use steadfast_tracefile::TraceMedium;
use steadfast_tracefile::cube_file::{CubeColumns, CubeFile, CubeWriter};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{OmittedFile, SharedMedium, footer, is_same_capture};

struct AdmittedCapture {
    member: Member,
    cube: CubeFile,
    /// Name of the fold file that holds the capture; `None` if this process folded it.
    file: Option<Rc<str>>,
}

/// Folded captures to be written as one fold file.
#[derive(Default)]
pub struct Merge {
    options: Option<FoldOptions>,
    captures: Vec<AdmittedCapture>,
    /// Index of the capture that a file belongs to, by the digest of the file.
    capture_by_digest: BTreeMap<String, usize>,
    /// Index of a capture by its ID, if it has one.
    capture_by_id: BTreeMap<String, usize>,
    left_out: BTreeSet<OmittedFile>,
}

impl Merge {
    /// Creates an empty merge for captures with these options.
    pub fn new(options: &FoldOptions) -> Self {
        Merge { options: Some(options.clone()), ..Merge::default() }
    }

    /// Adds a newly folded capture. Returns a message if it is a duplicate, which is ignored.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if another fold of a part of the same capture was added.
    pub fn add(&mut self, folded: Folded) -> Result<Option<String>, TraceError> {
        self.admit(AdmittedCapture { member: folded.member, cube: folded.cube, file: None })
    }

    /// Adds all captures of a fold file. Returns a message for each duplicate, which is ignored.
    ///
    /// # Errors
    /// Returns the errors of [`Self::add`], or [`TraceError::Unsuitable`] if the file is no fold
    /// file, is damaged, or was made with other options.
    pub fn add_file(
        &mut self,
        medium: impl TraceMedium,
        name: &str,
    ) -> Result<Vec<String>, TraceError> {
        let source = SharedMedium::new(medium)?;
        let found = footer(&source)?;
        if !found.is_fold() {
            let what = "not a fold file; make one with: steadfast trace fold";
            return Err(TraceError::Unsuitable(what.into()));
        }
        let FoldFile { description, cubes } = FoldFile::from_footer(source, found)?;
        self.check_options(&description.options)?;
        let name: Rc<str> = Rc::from(name);
        let mut duplicates = Vec::new();
        for (member, cube) in description.captures.into_iter().zip(cubes) {
            let file = Some(Rc::clone(&name));
            duplicates.extend(self.admit(AdmittedCapture { member, cube, file })?);
        }
        self.left_out.extend(description.left_out);
        Ok(duplicates)
    }

    /// Records a file that could not be read.
    pub fn leave_out(&mut self, file: OmittedFile) {
        self.left_out.insert(file);
    }

    /// Returns the captures so far.
    pub fn captures(&self) -> impl Iterator<Item = &Member> {
        self.captures.iter().map(|capture| &capture.member)
    }

    /// Returns the files that could not be read.
    pub fn left_out(&self) -> impl Iterator<Item = &OmittedFile> {
        self.left_out.iter()
    }

    fn check_options(&mut self, options: &FoldOptions) -> Result<(), TraceError> {
        let ours = self.options.get_or_insert_with(|| options.clone());
        if ours == options {
            return Ok(());
        }
        Err(TraceError::Unsuitable(format!(
            "cannot merge fold files with different options: {}; {}. Fold the traces again with \
             the same options",
            describe(ours),
            describe(options)
        )))
    }

    /// Adds a capture. Returns a message if it is a duplicate, which is ignored.
    fn admit(&mut self, capture: AdmittedCapture) -> Result<Option<String>, TraceError> {
        let member = &capture.member;
        let with_file =
            member.files.iter().find_map(|file| self.capture_by_digest.get(&file.digest));
        if let Some(&index) = with_file {
            if is_duplicate(&self.captures[index].member, member) {
                return Ok(Some(format!("{} is a duplicate; counted once", member.label())));
            }
            return Err(TraceError::Unsuitable(format!(
                "{} was folded twice with different files or filters; fold it once",
                member.label()
            )));
        }
        let id = member.conditions.part.as_ref().map(|part| part.capture.clone());
        if let Some(&index) = id.as_ref().and_then(|id| self.capture_by_id.get(id)) {
            let earlier = &self.captures[index].member;
            if is_same_capture(&earlier.conditions, &member.conditions) {
                return Err(TraceError::Unsuitable(format!(
                    "{} and {} are files of one capture; fold them together: separately, \
                     sequential I/Os at the boundary count as random",
                    earlier.label(),
                    member.label()
                )));
            }
        }
        if let Some(id) = id {
            self.capture_by_id.insert(id, self.captures.len());
        }
        for file in &member.files {
            self.capture_by_digest.insert(file.digest.clone(), self.captures.len());
        }
        self.captures.push(capture);
        Ok(None)
    }

    /// Checks that the captures can be read together from one file.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if captures of one device overlap in time, or
    /// [`TraceError::TooFine`] if there are too many devices.
    pub fn check(&self) -> Result<(), TraceError> {
        no_capture_twice(self.captures().map(|one| (&one.conditions, one.lasted_ns())))?;
        let all: Vec<&CaptureConditions> = self.captures().map(|one| &one.conditions).collect();
        if all.is_empty() { Ok(()) } else { Common::merge(&all).map(drop) }
    }

    /// Writes all captures as one fold file.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] or [`TraceError::Encode`] if writing fails, or
    /// [`TraceError::Unsuitable`] if there are no captures or the cells of one cannot be read.
    pub fn write<W: Write + Send>(mut self, sink: W) -> Result<W, TraceError> {
        let options =
            self.options.ok_or_else(|| TraceError::Unsuitable("no captures to write".into()))?;
        self.captures.sort_by(|a, b| a.member.sort_key().cmp(&b.member.sort_key()));
        let columns = self.captures.iter().map(|one| options.columns(&one.member.conditions));
        let single_ios = CubeColumns { busy: true, single_ios: true, ..CubeColumns::default() };
        let columns = columns.fold(single_ios, CubeColumns::and);
        let of_all = CaptureConditions::default();
        let mut writer = CubeWriter::fold(sink, columns, options.step_ns, &of_all)?;
        let mut captures = Vec::with_capacity(self.captures.len());
        for AdmittedCapture { member, cube, file } in self.captures {
            for number in 0..cube.groups() {
                writer.append(&cube, number).map_err(|error| match (error, &file) {
                    // The output's error, not that of the file that is read.
                    (error @ TraceError::Encode(_), _) | (error, None) => error,
                    (error, Some(name)) => TraceError::Unsuitable(format!("{name}: {error}")),
                })?;
            }
            captures.push(member);
        }
        let left_out = self.left_out.into_iter().collect();
        writer.finish_fold(&FoldDescription { options, captures, left_out })
    }
}

/// Returns whether two folds have the same files and the same result.
fn is_duplicate(a: &Member, b: &Member) -> bool {
    let digests = |member: &Member| -> BTreeSet<String> {
        member.files.iter().map(|file| file.digest.clone()).collect()
    };
    a.filter == b.filter
        && a.account == b.account
        && a.cells == b.cells
        && a.integrity == b.integrity
        && digests(a) == digests(b)
}

fn describe(options: &FoldOptions) -> String {
    let with = |is_kept: bool| if is_kept { "with" } else { "without" };
    let dimensions = options.dimensions();
    format!(
        "steps of {}, {} processes, {} threads, {} files, window {}",
        Nanos(options.step_ns),
        with(dimensions.processes),
        with(dimensions.threads),
        with(dimensions.files),
        options.window
    )
}
