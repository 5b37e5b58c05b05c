//! A bench for tests that returns scripted IOPS for each step and records all calls.

use crate::catalogue::{find, procedure_request};
use crate::common::ProcedureSetup;
use crate::common::procedure_request::ProcedureRequest;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use steadfast_domain::findings::{Exhibit, Page, Plot, Table};
use steadfast_domain::measurement::{LoadPart, StreamTally};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
use steadfast_domain::{
    Bench, Bytes, Conditions, Demand, EndState, Findings, FineHistogram, Gap, Halt, JournalEntry,
    Measurement, Nanos, Note, Outcome, Procedure, Purge, PurgeMethod, Record, Settings, Step,
    StepPlace, Stimulus, Tally, Verdict,
};

/// Geometry of a small drive: 1 GiB, 512-byte sectors.
pub(crate) const GEOMETRY: Geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 512 };

/// A bench that returns the IOPS of a function for each step and records all calls.
pub(crate) struct ScriptedBench<F: FnMut(&Step) -> f64> {
    iops: F,
    /// Response time of every I/O of a step; `None` measures no response times.
    pub response: fn(&Step) -> Option<Nanos>,
    /// Conditions read back for wanted ones.
    pub settle: fn(&Conditions) -> Conditions,
    /// Changes each measurement before it is returned.
    pub retouch: fn(&Step, &mut Measurement),
    /// Phase, round and point of the steps before which there is a gap; an empty phase matches
    /// any.
    pub gap_before: Vec<(&'static str, u32, u32)>,
    /// Method of every purge.
    pub purge: PurgeMethod,
    /// Reason why every purge fails.
    pub purge_failure: Option<&'static str>,
    /// Calls and their results, in order.
    pub entries: Vec<JournalEntry>,
    /// Time so far of the load that is still running after a cut.
    elapsed: Nanos,
    /// Bytes so far of that load.
    transferred: Bytes,
}

/// Creates a bench whose steps have the IOPS that `iops` returns.
pub(crate) fn scripted<F: FnMut(&Step) -> f64>(iops: F) -> ScriptedBench<F> {
    ScriptedBench {
        iops,
        response: |_| None,
        settle: Conditions::clone,
        retouch: |_, _| (),
        gap_before: Vec::new(),
        purge: PurgeMethod::NvmeFormat,
        purge_failure: None,
        entries: Vec::new(),
        elapsed: Nanos::ZERO,
        transferred: Bytes(0),
    }
}

/// Creates a bench with 1,000 IOPS in every step, whose measurements `retouch` changes.
pub(crate) fn retouched(
    retouch: fn(&Step, &mut Measurement),
) -> ScriptedBench<impl FnMut(&Step) -> f64> {
    ScriptedBench { retouch, ..scripted(|_| 1000.0) }
}

/// Returns a tally of I/Os that all take the same time.
pub(crate) fn tally(ios: u64, bytes: Bytes, response: Option<Nanos>) -> Tally {
    let Some(time) = response.filter(|_| ios > 0) else {
        return Tally { ios, bytes, ..Tally::default() };
    };
    let mut dense = vec![0u64; FineHistogram::LEN];
    dense[FineHistogram::index(time.0)] = ios;
    Tally {
        ios,
        bytes,
        response_sum: Nanos(time.0 * ios),
        response_min: Some(time),
        response_max: time,
        histogram: FineHistogram::from_dense(&dense),
        outstanding: 0,
    }
}

/// Returns a tally of I/Os that took these times, in nanoseconds.
pub(crate) fn tally_of(times: impl IntoIterator<Item = u64>) -> Tally {
    let mut tally = Tally::default();
    let mut dense = vec![0u64; FineHistogram::LEN];
    for time in times {
        dense[FineHistogram::index(time)] += 1;
        tally.ios += 1;
        tally.response_sum += Nanos(time);
        let shortest = tally.response_min.map_or(time, |shortest| shortest.0.min(time));
        tally.response_min = Some(Nanos(shortest));
        tally.response_max = tally.response_max.max(Nanos(time));
    }
    Tally { histogram: FineHistogram::from_dense(&dense), ..tally }
}

fn measurement(step: &Step, iops: f64, response: Option<Nanos>) -> Measurement {
    // A script is complete at once, and nothing of it is counted.
    let Some(until) = step.load.stimuli().first().map(|stimulus| stimulus.until) else {
        return Measurement { complete: true, ..Measurement::default() };
    };
    let (elapsed, bytes) = match (until.time, until.bytes) {
        (Some(time), _) => (step.cut.map_or(time, |cut| cut.min(time)), None),
        (None, bytes) => (Nanos::from_secs(10), bytes),
    };
    let mut streams = Vec::new();
    let mut parts = Vec::new();
    for stimulus in step.load.stimuli() {
        let weights: u32 = stimulus.streams.iter().map(|stream| stream.weight).sum();
        for stream in &stimulus.streams {
            let share = f64::from(stream.weight) / f64::from(weights);
            let ios = match bytes {
                Some(bytes) => bytes.0 / stream.size.0,
                None => (iops * elapsed.as_secs_f64() * share).round() as u64,
            };
            let tally = tally(ios, Bytes(ios * stream.size.0), response);
            streams.push(StreamTally { op: stream.op, tally });
        }
        parts.push(LoadPart { streams: stimulus.streams.len() as u32, elapsed });
    }
    // Only a load of several stimuli has parts.
    if parts.len() == 1 {
        parts.clear();
    }
    Measurement { elapsed, complete: true, streams, parts, ..Measurement::default() }
}

impl<F: FnMut(&Step) -> f64> ScriptedBench<F> {
    /// Returns true if a limit of the load is reached. A load limited by bytes only is complete
    /// at once.
    fn is_complete(&mut self, step: &Step, measurement: &Measurement) -> bool {
        if !step.continues {
            (self.elapsed, self.transferred) = (Nanos::ZERO, Bytes(0));
        }
        self.elapsed += measurement.elapsed;
        self.transferred += measurement.bytes();
        let Some(until) = step.load.stimuli().first().map(|stimulus| stimulus.until) else {
            return true;
        };
        until.time.is_none_or(|time| self.elapsed >= time)
            || until.bytes.is_some_and(|bytes| self.transferred >= bytes)
    }

    /// Conducts a test, and returns the bench with its entries.
    pub fn conducted(mut self, test: &dyn Procedure) -> Self {
        test.conduct(&mut self).unwrap();
        self
    }

    /// Conducts a test, and returns its record.
    pub fn recorded(&mut self, test: &dyn Procedure, settings: &Settings) -> Record {
        test.conduct(self).unwrap();
        record(settings, self.entries.clone())
    }

    /// Conducts a test, and returns the findings of its record.
    pub fn studied(&mut self, test: &dyn Procedure, settings: &Settings) -> Findings {
        test.study(&self.recorded(test, settings))
    }
}

impl<F: FnMut(&Step) -> f64> Bench for ScriptedBench<F> {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        let got = (self.settle)(wanted);
        self.entries.push(JournalEntry::Settled { wanted: wanted.clone(), got: got.clone() });
        Ok(got)
    }
    fn purge(&mut self) -> Result<Purge, Halt> {
        if let Some(why) = self.purge_failure {
            return Err(Halt::Refused(why.into()));
        }
        let purge = Purge { blank: Some(true), ..Purge::new(self.purge, Nanos::SECOND) };
        self.entries.push(JournalEntry::Purged(purge.clone()));
        Ok(purge)
    }
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        let place = &step.place;
        let has_gap = self.gap_before.iter().any(|(phase, round, point)| {
            (*round, *point) == (place.round, place.point)
                && (phase.is_empty() || *phase == place.phase)
        });
        let gap_before = has_gap.then(|| Gap {
            cause: "the process ended".into(),
            lasted: Some(Nanos::from_secs(9)),
            written: None,
        });
        let mut measurement = measurement(step, (self.iops)(step), (self.response)(step));
        measurement.complete = self.is_complete(step, &measurement);
        (self.retouch)(step, &mut measurement);
        let outcome = Outcome { measurement, gap_before };
        self.entries.push(JournalEntry::Applied {
            step: Box::new(step.clone()),
            outcome: Box::new(outcome.clone()),
        });
        Ok(outcome)
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.entries.push(JournalEntry::Idled(time));
        Ok(())
    }
    fn note(&mut self, note: &Note) {
        self.entries.push(JournalEntry::Noted(Box::new(note.clone())));
    }
}

/// Returns settings of a procedure with a change.
pub(crate) fn settings_of(procedure: &str, change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::new(procedure, 7);
    change(&mut settings);
    settings
}

/// Returns a change of settings that sets a parameter.
pub(crate) fn set(name: &str, value: &str) -> impl FnOnce(&mut Settings) {
    move |settings| settings.set(name, value)
}

/// Returns the inputs of the procedure that the settings name.
pub(crate) fn request<'a>(
    settings: &'a Settings,
    geometry: Geometry,
    amendments: &'a [Amendment],
) -> ProcedureRequest<'a> {
    let spec = find(crate::PROCEDURES, &settings.procedure).unwrap();
    procedure_request(spec, settings, geometry, amendments)
}

/// Builds a test for the small drive from a request.
pub(crate) fn requested<T>(
    settings: &Settings,
    new: fn(&ProcedureRequest<'_>) -> Result<T, ProcedureError>,
) -> T {
    new(&request(settings, GEOMETRY, &[])).unwrap()
}

/// Returns the procedure that the settings name, for the small drive.
pub(crate) fn build(settings: &Settings) -> Box<dyn Procedure> {
    crate::procedure(settings, GEOMETRY, &[]).unwrap()
}

/// Returns why the procedure that the settings name is refused on the small drive.
pub(crate) fn refusal(settings: &Settings) -> String {
    crate::procedure(settings, GEOMETRY, &[]).err().unwrap().0
}

/// Returns the setup of a test with the method of its profile and class.
pub(crate) fn setup(
    settings: &Settings,
    geometry: Geometry,
    amendments: &[Amendment],
) -> Result<ProcedureSetup, ProcedureError> {
    method::setup(&request(settings, geometry, amendments))
}

/// Returns the record of a run that ended.
pub(crate) fn record(settings: &Settings, mut entries: Vec<JournalEntry>) -> Record {
    entries.push(JournalEntry::Ended);
    broken_record(settings, entries)
}

/// Returns the record of a run that broke off after these entries.
pub(crate) fn broken_record(settings: &Settings, entries: Vec<JournalEntry>) -> Record {
    Record {
        version: RECORD_VERSION,
        settings: settings.clone(),
        began_unix_ms: 0,
        ended_unix_ms: 1,
        digest: "0123456789abcdef".into(),
        entries,
    }
}

/// Returns a step of 4 KiB random writes for a second.
pub(crate) fn write_step(phase: &str, round: u32, point: u32) -> Step {
    let range = ActiveRange::new(Bytes(0), Bytes::gib(1));
    let until = LoadLimits::time(Nanos::SECOND);
    let streams = AccessPattern::random(Bytes::kib(4), 0).streams();
    let stimulus = Stimulus::new(streams, range, Demand::new(1, 1), until);
    Step::alone(StepPlace::new(phase, round, point, "RND 4K W"), stimulus)
}

/// Returns the entry of a step without a gap before it.
pub(crate) fn applied(step: Step, measurement: Measurement) -> JournalEntry {
    let outcome = Outcome { measurement, gap_before: None };
    JournalEntry::Applied { step: Box::new(step), outcome: Box::new(outcome) }
}

/// Returns the number of purges among the entries.
pub(crate) fn purges(entries: &[JournalEntry]) -> usize {
    entries.iter().filter(|entry| matches!(entry, JournalEntry::Purged(_))).count()
}

/// Returns the steps among the entries.
pub(crate) fn steps(entries: &[JournalEntry]) -> Vec<&Step> {
    entries.iter().filter_map(JournalEntry::applied).map(|(step, _)| step).collect()
}

/// Returns the steps of a phase among the entries.
pub(crate) fn phase_steps<'e>(entries: &'e [JournalEntry], phase: &str) -> Vec<&'e Step> {
    let mut steps = steps(entries);
    steps.retain(|step| step.place.phase == phase);
    steps
}

/// Returns the phases of the steps in order; consecutive steps of a phase count once.
pub(crate) fn phases(entries: &[JournalEntry]) -> Vec<String> {
    let mut phases: Vec<String> = steps(entries).iter().map(|s| s.place.phase.clone()).collect();
    phases.dedup();
    phases
}

/// Returns the purges and the phases of the steps in order; consecutive ones of a name count once.
pub(crate) fn purges_and_phases(entries: &[JournalEntry]) -> Vec<String> {
    let names = entries.iter().filter_map(|entry| match entry {
        JournalEntry::Purged(_) => Some("purge".to_owned()),
        entry => entry.applied().map(|(step, _)| step.place.phase.clone()),
    });
    let mut names: Vec<String> = names.collect();
    names.dedup();
    names
}

/// Returns the index of the first step of a phase among the entries.
pub(crate) fn first_of_phase(entries: &[JournalEntry], phase: &str) -> usize {
    let is_of_phase = |(step, _): (&Step, _)| step.place.phase == phase;
    entries.iter().position(|entry| entry.applied().is_some_and(is_of_phase)).unwrap()
}

/// Returns the times that the host was idle, in order.
pub(crate) fn idle_times(entries: &[JournalEntry]) -> Vec<Nanos> {
    let times = entries.iter().filter_map(|entry| match entry {
        JournalEntry::Idled(time) => Some(*time),
        _ => None,
    });
    times.collect()
}

/// Returns the weights of the streams of a step.
pub(crate) fn weights(step: &Step) -> Vec<u32> {
    step.load.stimulus().unwrap().streams.iter().map(|stream| stream.weight).collect()
}

pub(crate) fn figure_ids(findings: &Findings) -> Vec<&str> {
    findings.front.figures.iter().map(|figure| figure.id.as_str()).collect()
}

pub(crate) fn caveat_ids(findings: &Findings) -> Vec<&str> {
    findings.caveats.iter().map(|caveat| caveat.id.as_str()).collect()
}

pub(crate) fn track_names(verdict: &Verdict) -> Vec<&str> {
    verdict.tracks.iter().map(|track| track.name.as_str()).collect()
}

/// Returns the value of a key figure; `None` if it has none.
pub(crate) fn figure(findings: &Findings, id: &str) -> Option<f64> {
    findings.figure(id)?.value
}

/// Returns a table of a report by its ID.
pub(crate) fn table<'f>(findings: &'f Findings, id: &str) -> &'f Table {
    findings.table(id).unwrap_or_else(|| panic!("no table {id}"))
}

/// Returns the page of the report form with this title.
pub(crate) fn page<'f>(findings: &'f Findings, title: &str) -> &'f Page {
    let titles = || findings.form_pages.iter().map(|page| &page.title).collect::<Vec<_>>();
    let found = findings.form_pages.iter().find(|page| page.title == title);
    found.unwrap_or_else(|| panic!("no page '{title}' in {:?}", titles()))
}

/// Returns the plot of a page, which has one.
pub(crate) fn plot_of(page: &Page) -> &Plot {
    let mut plots = page.exhibits.iter().filter_map(Exhibit::as_plot);
    plots.next().unwrap_or_else(|| panic!("no plot on page '{}'", page.title))
}

/// Returns the number in a cell of a table.
pub(crate) fn number(table: &Table, row: &str, column: &str) -> f64 {
    let cell = table.cell(row, column).unwrap();
    cell.value().unwrap_or_else(|| panic!("{cell:?}"))
}

/// Returns the findings of a record without any entry.
pub(crate) fn study_of_nothing(test: &dyn Procedure, settings: &Settings) -> Findings {
    test.study(&broken_record(settings, Vec::new()))
}

/// Checks that a record is unfinished wherever it breaks off.
pub(crate) fn assert_unfinished_wherever_it_ends(test: &dyn Procedure, whole: &Record) {
    for kept in 0..whole.entries.len() {
        let mut broken = whole.clone();
        broken.entries.truncate(kept);
        assert_eq!(test.study(&broken).end, EndState::Unfinished);
    }
}
