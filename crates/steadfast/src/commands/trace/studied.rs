//! A study of a file, whether it holds every I/O or only capture steps; reports
//! and workloads are made of it.

use super::Selected;
use super::kept::Kept;
use crate::cli::trace::Selection;
use anyhow::Context;
use steadfast_domain::Nanos;
use steadfast_trace::pass::Pass;
use steadfast_trace::workload::Threshold;
use steadfast_trace::{By, Study, StudyOptions};

/// How a file is studied.
pub(super) struct Wanted {
    pub(super) by: By,
    pub(super) threshold: Threshold,
    pub(super) step: Option<Nanos>,
}

impl Wanted {
    /// Studies what passes the filter.
    pub(super) fn study(&self, selection: &Selection) -> anyhow::Result<Study> {
        let name = || selection.file().display().to_string();
        if let Some(kept) = Kept::open(selection)? {
            return kept.study(self).with_context(name);
        }
        let selected = Selected::open(selection)?;
        let study = Study::of(&selected.trace, &self.options(selected.pass.clone()));
        selected.say_damage();
        study.with_context(name)
    }

    pub(super) fn options(&self, pass: Pass) -> StudyOptions {
        StudyOptions {
            pass,
            by: self.by,
            threshold: self.threshold,
            step_ns: self.step.map(|step| step.0),
            ..StudyOptions::default()
        }
    }
}
