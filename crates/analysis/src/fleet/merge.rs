//! Merges folded captures into one fold file.

use super::file::{FoldDescription, FoldFile, FoldOptions, Member};
use super::folding::Folded;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read, Seek, Write};
use std::rc::Rc;
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::cube_file::{CubeColumns, CubeFile, CubeWriter};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{OmittedFile, SharedMedium, footer, is_same_capture};

/// The cells of a capture: in memory, or in a fold file of this name.
enum Cells<R> {
    Fresh(CubeFile<Cursor<Vec<u8>>>),
    Kept(CubeFile<R>, Rc<str>),
}

/// Folded captures to be written as one fold file.
pub struct Merge<R> {
    options: Option<FoldOptions>,
    captures: Vec<(Member, Cells<R>)>,
    /// Index of the capture that a file belongs to, by the digest of the file.
    of_file: BTreeMap<String, usize>,
    /// Index of a capture by its ID, if it has one.
    of_capture: BTreeMap<String, usize>,
    left_out: BTreeSet<OmittedFile>,
}

impl<R> Default for Merge<R> {
    fn default() -> Self {
        Merge {
            options: None,
            captures: Vec::new(),
            of_file: BTreeMap::new(),
            of_capture: BTreeMap::new(),
            left_out: BTreeSet::new(),
        }
    }
}

impl<R: Read + Seek + Send + 'static> Merge<R> {
    /// Creates an empty merge for captures with these options.
    pub fn of(options: &FoldOptions) -> Self {
        Merge { options: Some(options.clone()), ..Merge::default() }
    }

    /// Adds a newly folded capture. Returns a message if it is a duplicate, which counts once.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if another fold of a part of the same capture was added.
    pub fn add(&mut self, folded: Folded) -> Result<Option<String>, TraceError> {
        self.admit(folded.member, Cells::Fresh(folded.cube))
    }

    /// Adds all captures of a fold file. Returns a message for each duplicate, which counts once.
    ///
    /// # Errors
    /// Returns the errors of [`Self::add`], or [`TraceError::Unsuitable`] if the file is no fold
    /// file, is damaged, or was made with other options.
    pub fn add_file(&mut self, medium: R, name: &str) -> Result<Vec<String>, TraceError> {
        let source = SharedMedium::new(medium)?;
        let found = footer(&source)?;
        if !found.is_fold() {
            let what = "this is not a fold file; make one with: steadfast trace fold";
            return Err(TraceError::Unsuitable(what.into()));
        }
        let FoldFile { description, cubes } = FoldFile::of(source, found)?;
        self.agree(&description.options)?;
        let (mut twice, name) = (Vec::new(), Rc::from(name));
        for (member, cube) in description.captures.into_iter().zip(cubes) {
            twice.extend(self.admit(member, Cells::Kept(cube, Rc::clone(&name)))?);
        }
        self.left_out.extend(description.left_out);
        Ok(twice)
    }

    /// Records a file that could not be read.
    pub fn leave_out(&mut self, file: OmittedFile) {
        self.left_out.insert(file);
    }

    /// Returns the captures so far.
    pub fn captures(&self) -> impl Iterator<Item = &Member> {
        self.captures.iter().map(|(member, _)| member)
    }

    /// Returns the files that could not be read.
    pub fn left_out(&self) -> impl Iterator<Item = &OmittedFile> {
        self.left_out.iter()
    }

    fn agree(&mut self, options: &FoldOptions) -> Result<(), TraceError> {
        let ours = self.options.get_or_insert_with(|| options.clone());
        if ours == options {
            return Ok(());
        }
        let told = |options: &FoldOptions| {
            let with = |is: bool| if is { "with" } else { "without" };
            let (step, told) = (steadfast_domain::Nanos(options.step_ns), options.told());
            format!(
                "steps of {step}, {} processes, {} threads, {} files, window {}",
                with(told.processes),
                with(told.threads),
                with(told.files),
                options.window
            )
        };
        Err(TraceError::Unsuitable(format!(
            "folds made with different options cannot be merged: {} and {}; fold the traces again \
             with one set of options",
            told(ours),
            told(options)
        )))
    }

    fn admit(&mut self, member: Member, cells: Cells<R>) -> Result<Option<String>, TraceError> {
        let known = member.files.iter().find_map(|file| self.of_file.get(&file.digest)).copied();
        if let Some(known) = known {
            let there = &self.captures[known].0;
            let same = there.filter == member.filter
                && (there.account, there.cells) == (member.account, member.cells)
                && there.integrity == member.integrity;
            let digests = |member: &Member| -> BTreeSet<String> {
                member.files.iter().map(|file| file.digest.clone()).collect()
            };
            if same && digests(there) == digests(&member) {
                return Ok(Some(format!("{} is there twice; it counts once", member.called())));
            }
            return Err(TraceError::Unsuitable(format!(
                "{} was folded twice, differently: with other files of its capture or another \
                 filter; fold it once",
                member.called()
            )));
        }
        let told = member.conditions.part.as_ref().map(|part| part.capture.clone());
        let known = told.as_ref().and_then(|capture| self.of_capture.get(capture)).copied();
        let there = known.map(|known| &self.captures[known].0);
        if let Some(there) =
            there.filter(|there| is_same_capture(&there.conditions, &member.conditions))
        {
            return Err(TraceError::Unsuitable(format!(
                "{} and {} are files of one capture; fold them together, or sequential I/Os at \
                 the seam count as random",
                there.called(),
                member.called()
            )));
        }
        if let Some(capture) = told {
            self.of_capture.insert(capture, self.captures.len());
        }
        for file in &member.files {
            self.of_file.insert(file.digest.clone(), self.captures.len());
        }
        self.captures.push((member, cells));
        Ok(None)
    }

    /// Writes all captures as one fold file.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] or [`TraceError::Encode`] if writing fails, or
    /// [`TraceError::Unsuitable`] if there are no captures or the cells of one cannot be read.
    pub fn write<W: Write + Send>(mut self, sink: W) -> Result<W, TraceError> {
        let none = || TraceError::Unsuitable("there is nothing to fold".into());
        let options = self.options.ok_or_else(none)?;
        self.captures.sort_by(|(one, _), (other, _)| one.order().cmp(&other.order()));
        let columns = self.captures.iter().map(|(member, _)| options.columns(&member.conditions));
        let single_ios = CubeColumns { busy: true, single_ios: true, ..CubeColumns::default() };
        let columns = columns.fold(single_ios, CubeColumns::and);
        let of_all = CaptureConditions::default();
        let mut writer = CubeWriter::fold(sink, columns, options.step_ns, &of_all)?;
        let mut captures = Vec::with_capacity(self.captures.len());
        for (member, cells) in self.captures {
            match cells {
                Cells::Fresh(cube) => append_all(&mut writer, &cube)?,
                Cells::Kept(cube, name) => append_all(&mut writer, &cube)
                    .map_err(|error| TraceError::Unsuitable(format!("{name}: {error}")))?,
            }
            captures.push(member);
        }
        let left_out = self.left_out.into_iter().collect();
        writer.finish_fold(&FoldDescription { options, captures, left_out })
    }
}

fn append_all<W: Write + Send, R: Read + Seek + Send + 'static>(
    writer: &mut CubeWriter<W>,
    cube: &CubeFile<R>,
) -> Result<(), TraceError> {
    (0..cube.groups()).try_for_each(|number| writer.append(cube, number))
}
