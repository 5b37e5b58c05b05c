//! A study of a step file: what the streams of its capture steps tell.

use super::StepFile;
use super::reader::{Begins, add_to, add_to_streams, key_of};
use super::sides::SidesOfSums;
use crate::error::TraceError;
use crate::filter::Filter;
use crate::series::{Choice, SeriesOverTime};
use crate::steps::CaptureStep;
use crate::streams::{StreamKey, StreamTable};
use crate::study::{PICTURE_STEPS_MAX, Study, StudyOptions};
use crate::workload::Workload;
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use steadfast_domain::io_event::StreamInStep;

impl Study {
    /// Studies a step file. What only single I/Os tell is left out.
    ///
    /// # Errors
    /// Where it cannot be read, nothing passes the filter, the steps asked for
    /// are no multiple of the file's, or too narrow for a picture.
    pub fn of_steps<R: Read + Seek + Send + 'static>(
        file: &StepFile<R>,
        options: &StudyOptions,
    ) -> Result<Self, TraceError> {
        let filter = &options.pass.filter;
        let (streams, begins) = streams_and_begins(file, filter)?;
        let step_ns = file.width(options.step_ns, begins, PICTURE_STEPS_MAX)?;
        let workload = Workload::of(&streams, options.by, options.threshold);
        let keys = workload.streams.iter().map(|stream| stream.key()).collect();
        let mut pictures = Pictures::new(step_ns, keys);
        file.each(filter, |row| pictures.take(file.begin_of(row), row))?;
        let sides = match filter.of_every_layer(file.conditions()) {
            Some(filter) => file.sides(&filter, step_ns)?.0,
            None => pictures.sides.finish(),
        };
        Ok(Study {
            options: options.clone(),
            conditions: file.conditions().clone(),
            recovery: file.recovery().cloned(),
            integrity: file.integrity().clone(),
            step_ns,
            span_ns: (begins.0, last_moment(file, begins.1)),
            streams,
            workload,
            steps: pictures.steps,
            sides,
            streams_over_time: pictures.streams,
            single_ios: None,
        })
    }
}

fn streams_and_begins<R: Read + Seek + Send + 'static>(
    file: &StepFile<R>,
    filter: &Filter,
) -> Result<(StreamTable, (u64, u64)), TraceError> {
    let (mut streams, mut begins) = (StreamTable::new(), Begins::default());
    file.each_row(filter, |row, histogram| {
        add_to_streams(&mut streams, row, histogram);
        if histogram.is_none() {
            begins.see(file.begin_of(row));
        }
        Ok(())
    })?;
    Ok((streams, begins.found()?))
}

/// The end of the last step, or of the capture where that came first.
fn last_moment<R: Read + Seek + Send + 'static>(file: &StepFile<R>, last_begin: u64) -> u64 {
    let end_of_step = last_begin.saturating_add(file.step_ns() - 1);
    match file.conditions().lasted_ns {
        lasted if lasted > last_begin => end_of_step.min(lasted),
        _ => end_of_step,
    }
}

/// What is shown over time.
struct Pictures {
    step_ns: u64,
    steps: BTreeMap<u64, CaptureStep>,
    sides: SidesOfSums,
    streams: SeriesOverTime,
}

impl Pictures {
    fn new(step_ns: u64, keys: Vec<StreamKey>) -> Self {
        Pictures {
            step_ns,
            steps: BTreeMap::new(),
            sides: SidesOfSums::default(),
            streams: SeriesOverTime::new(step_ns, &Choice::Streams(keys)),
        }
    }

    fn take(&mut self, begin: u64, row: &StreamInStep) -> Result<(), TraceError> {
        let at = begin / self.step_ns;
        add_to(&mut self.steps, at, row)?;
        self.streams.take_sum(begin, key_of(row), row.ios)?;
        self.sides.take(at, row)
    }
}
