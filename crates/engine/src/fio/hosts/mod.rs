//! One load from several hosts, through fio's client and server.
//!
//! Every host applies the stimulus with the full demand: random I/Os over the whole active range,
//! sequential I/Os over a part of it that no other host uses ([`share`]). All threads of all
//! hosts start at one time by their own clocks, which were compared with ours. docs/hosts.md
//! describes what this guarantees and what it does not.

mod client;
mod merged;
mod share;

use super::expression::{Expression, FioTarget, single_stimulus};
use super::files::FioFiles;
use super::options::FioOptions;
use super::running::slug;
use super::version;
use crate::engine::Engine;
use crate::prepared::{PreparedStep, StepRefusal, refuse_groups};
use crate::start::StepStart;
use crate::stop::StopSignal;
use client::{HostResult, HostWork};
use merged::HostShare;
use share::HostLoads;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};
use steadfast_domain::measurement::{CommonStart, HostPart, Interval};
use steadfast_domain::{Caveat, Halt, Load, Measurement, Nanos, Step, Stimulus, caveats};
use steadfast_host::{Directory, RemoteTarget};

/// Time from the agreement to the common start of all hosts: the logins are done, but fio still
/// has to send the job and create its threads.
const START_LEAD: Nanos = Nanos::from_millis(1500);

/// Largest difference between the starts of the hosts that is not disclosed.
const START_SKEW_MAX: Nanos = Nanos::from_millis(100);

/// A host below this share of the median host's IOPS lags.
const LAGGING_SHARE: f64 = 0.8;

/// Time by which a ramp is extended so that it ends with a report; reports come once a second.
const REPORT_MARGIN: Nanos = Nanos::from_millis(1300);

/// A load whose step was cut.
struct PausedLoad {
    stimulus: Stimulus,
    /// Start of each host in the step that continues the load.
    starts: Vec<StepStart>,
}

/// Applies loads from several hosts to a device that they share.
pub struct FioHosts {
    target: RemoteTarget,
    stop: StopSignal,
    options: FioOptions,
    version: String,
    files: FioFiles,
    paused: Option<PausedLoad>,
    /// Remarks added so far: the caveat's ID, and the host or the host's message that it is about.
    remarked: BTreeSet<String>,
    caveats: Vec<Caveat>,
}

impl FioHosts {
    /// Finds the client, and checks the versions of the servers.
    ///
    /// # Errors
    ///
    /// A fio is missing or older than 3.20.
    pub fn new(
        target: RemoteTarget,
        stop: StopSignal,
        mut options: FioOptions,
    ) -> Result<Self, Halt> {
        let version = options.locate()?;
        for host in &target.hosts {
            if let Some(fio) = &host.fio {
                version::supported(fio, "fio")
                    .map_err(|why| Halt::Refused(format!("host {}: {why}", host.name)))?;
            }
        }
        let mut engine = FioHosts {
            target,
            stop,
            files: FioFiles::new(options.directory.clone()),
            options,
            version,
            paused: None,
            remarked: BTreeSet::new(),
            caveats: Vec::new(),
        };
        engine.disclose();
        Ok(engine)
    }

    /// Returns the device under test.
    pub fn target(&self) -> &RemoteTarget {
        &self.target
    }

    /// Returns the device under test, to be checked again.
    pub fn target_mut(&mut self) -> &mut RemoteTarget {
        &mut self.target
    }

    /// From now on, files that the engine keeps go into the directory of a run.
    pub fn keep_files_in(&mut self, run: &Directory) {
        self.files.keep_in(run);
    }

    /// Returns the caveats that arose since the last call.
    pub fn take_caveats(&mut self) -> Vec<Caveat> {
        std::mem::take(&mut self.caveats)
    }

    /// Adds the caveats that are known before a step begins.
    fn disclose(&mut self) {
        let hosts = &self.target.hosts;
        let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        let names = names.join(", ");
        let count = hosts.len();
        let known_versions: BTreeSet<&String> =
            hosts.iter().filter_map(|host| host.fio.as_ref()).collect();
        let versions: Vec<String> =
            hosts.iter().filter_map(|h| Some(format!("{}: {}", h.name, h.fio.as_ref()?))).collect();
        let has_unknown_host = hosts.iter().any(|host| host.fio.is_none());
        self.caveats.push(Caveat::remark(
            caveats::HOSTS_LOAD,
            format!(
                "{} loaded the device ({names}). A demand such as T4Q32 applies to \
                 each host. Every host read and wrote random positions of the whole active \
                 range; sequential streams went through a separate part of it on each host.",
                if count == 1 { "1 host".to_owned() } else { format!("{count} hosts") }
            ),
            "Multiply the demand by the number of hosts to compare with another run.",
        ));
        if known_versions.len() > 1 || known_versions.iter().any(|fio| **fio != self.version) {
            self.caveats.push(Caveat::remark(
                caveats::HOSTS_FIO_VERSIONS,
                format!(
                    "The versions of fio differ ({}; here: {}).",
                    versions.join(", "),
                    self.version
                ),
                "Install the same version on all hosts.",
            ));
        }
        if has_unknown_host {
            self.caveats.push(Caveat::deviation(
                caveats::HOSTS_UNSEEN,
                format!(
                    "The hosts {names} were reached without a shell, so nothing is known about \
                     them. Their devices, versions of fio and start times were not compared."
                ),
                "Use ssh (omit --hosts-plain).",
            ));
        }
        let uses = &self.target.device().in_use;
        if !uses.is_empty() {
            self.caveats.push(Caveat::deviation(
                caveats::HOSTS_USE,
                format!("The device was in use while it was read ({}).", uses.join("; ")),
                "Other I/O to the device changes every number; measure it while nothing uses it.",
            ));
        }
    }

    fn express(&self, load: &Load) -> Result<HostLoads, StepRefusal> {
        let stimulus = single_stimulus(load)?;
        let device = self.target.device();
        let fio_target = FioTarget {
            path: &device.path,
            length: device.capacity,
            writable: self.target.is_writable(),
            sector: u64::from(device.logical_sector),
            direct: true,
            io_engine: "libaio",
            commit_rates: false,
        };
        // Checked for one host first, so that a refusal concerns the load as given.
        Expression::new(stimulus, &fio_target).map_err(StepRefusal)?;
        let hosts: Vec<String> = self.target.hosts.iter().map(|h| h.name.clone()).collect();
        HostLoads::split(stimulus, &hosts, &fio_target).map_err(StepRefusal)
    }

    /// Returns the start of each host: where a cut left it, or its share of the work done.
    fn starts(&mut self, step: &Step, stimulus: &Stimulus, start: &StepStart) -> Vec<StepStart> {
        let count = self.target.hosts.len();
        match self.paused.take() {
            Some(paused) if step.continues && paused.stimulus == *stimulus => paused.starts,
            _ => (0..count).map(|host| share::host_start(start, host, count)).collect(),
        }
    }

    /// Sets a common start time on every host, [`START_LEAD`] after the time that several targets
    /// have agreed on. Returns that time; `None` if a host cannot be given one.
    fn agree(&mut self, begins: Option<Nanos>) -> Result<Option<Nanos>, Halt> {
        let now = unix_time() + START_LEAD;
        // Several targets agree by our monotonic clock.
        let moment = begins
            .map_or(now, |at| Nanos((now + at).0.saturating_sub(steadfast_host::monotonic().0)));
        let mut is_common = true;
        for host in &mut self.target.hosts {
            is_common &= host.begin_at(moment).map_err(|error| Halt::Refused(error.to_string()))?;
        }
        Ok(is_common.then_some(moment))
    }

    /// Runs the load on all hosts at the same time, with one thread here per client.
    fn run_clients(
        &self,
        step: &Step,
        expressions: &[Expression],
        directory: &Directory,
        number: u32,
    ) -> Vec<Result<HostResult, Halt>> {
        let called_off = AtomicBool::new(false);
        let place = step.place.to_string();
        let slug = slug(step);
        let mut work = Vec::new();
        for (host, expression) in self.target.hosts.iter().zip(expressions) {
            work.push(HostWork {
                host: &host.name,
                address: &host.address,
                filename: &host.filename,
                waits_by: host.waits_by(),
                program: &self.options.program,
                directory,
                name: client::file_prefix(number, &slug, &host.name),
                place: &place,
                expression: expression.clone(),
                fault_limit: self.options.fault_limit,
                stop: &self.stop,
                called_off: &called_off,
            });
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = work.iter().map(|host| scope.spawn(|| host.run())).collect();
            let lost = || Err(Halt::Refused("a thread of this program ended early".to_owned()));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
        })
    }

    /// Stores the progress of each host for the step that continues this load.
    fn store_progress(
        &mut self,
        stimulus: &Stimulus,
        mut starts: Vec<StepStart>,
        parts: &[HostPart],
    ) {
        for (start, part) in starts.iter_mut().zip(parts) {
            start.done.time += part.elapsed;
            start.done.bytes += part.bytes;
            start.done.ios += part.ios;
            start.begins = None;
        }
        self.paused = Some(PausedLoad { stimulus: stimulus.clone(), starts });
    }

    /// Adds caveats for hosts that lagged or started late.
    fn check_hosts(&mut self, step: &Step, parts: &[HostPart]) {
        let median = median_iops(parts);
        for LaggingHost { host, iops } in lagging_hosts(parts, median) {
            let text = format!(
                "Host {host} lagged in {}: {iops:.0} IOPS; the median host had {median:.0}.",
                step.place
            );
            let remedy = "Compare its link, its processors and its fio with those of the others.";
            self.remark_once(caveats::HOST_LAGS, host, text, remedy);
        }
        let latest = parts.iter().max_by_key(|part| part.late);
        if let Some((part, late)) = latest.and_then(|part| Some((part, part.late?)))
            && late > START_SKEW_MAX
        {
            let text = format!("Host {} started {} {late} after the first.", part.host, step.place);
            let remedy = "Consider this when you read the first seconds of the step.";
            self.remark_once(caveats::HOSTS_SKEW, &part.host, text, remedy);
        }
    }

    /// Adds a caveat, the first time only; `subject` distinguishes those of one ID.
    fn remark_once(&mut self, id: &str, subject: &str, text: String, remedy: &str) {
        if self.remarked.insert(format!("{id} {subject}")) {
            self.caveats.push(Caveat::remark(id, text, remedy));
        }
    }
}

/// Returns the wall-clock time since 1970 (UTC).
fn unix_time() -> Nanos {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().into()
}

/// Returns how long after the agreed time the first host started; `None` unless the start of
/// every host is known.
fn start_delay(shares: &[HostShare], moment: Option<Nanos>) -> Option<Nanos> {
    Some(merged::first_begin(shares)?.saturating_sub(moment?))
}

/// Returns the IOPS of the median host; for an even number, the faster of the two in the middle.
fn median_iops(parts: &[HostPart]) -> f64 {
    let mut rates: Vec<f64> = parts.iter().filter_map(HostPart::iops).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}

/// A host far below the median host.
struct LaggingHost<'p> {
    host: &'p str,
    iops: f64,
}

/// Returns the hosts far below the median host.
fn lagging_hosts(parts: &[HostPart], median: f64) -> impl Iterator<Item = LaggingHost<'_>> {
    let hosts =
        parts.iter().filter_map(|part| Some(LaggingHost { host: &part.host, iops: part.iops()? }));
    hosts.filter(move |host| host.iops < median * LAGGING_SHARE)
}

/// Returns the halt to report when hosts failed: the first that is not merely a consequence of
/// another.
fn failure(mut halts: Vec<Halt>) -> Option<Halt> {
    match halts.iter().position(|halt| *halt != Halt::Stopped) {
        Some(index) => Some(halts.swap_remove(index)),
        None => halts.pop(),
    }
}

impl Engine for FioHosts {
    fn describe(&self) -> String {
        let hosts = self.target.hosts.iter().map(|host| {
            format!("{} ({})", host.name, host.fio.as_deref().unwrap_or("version unknown"))
        });
        let hosts: Vec<String> = hosts.collect();
        format!(
            "fio: client {} ({}), libaio; servers on {}",
            self.version,
            self.options.program.display(),
            hosts.join(", ")
        )
    }

    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        refuse_groups(step)?;
        PreparedStep::with(step, false, |load| self.express(load))
    }

    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let (step, shares) = prepared.into_parts::<HostLoads>();
        let Some((shares, stimulus)) = shares.zip(step.load.stimulus().cloned()) else {
            return Err(Halt::Refused(format!("{}: the step was not prepared", step.place)));
        };
        self.target.check_still_free().map_err(|error| Halt::Refused(error.to_string()))?;
        let directory = self.files.open()?;
        let number = self.files.number;
        self.files.number += 1;
        let starts = self.starts(&step, &stimulus, start);
        // A continued load has had its ramp; a ramp ends with a report.
        let ramp = if step.continues { Nanos::ZERO } else { stimulus.ramp };
        let reported = if ramp > Nanos::ZERO { ramp + REPORT_MARGIN } else { ramp };
        let expressions = shares.expressions(&starts, reported, step.cut);
        let moment = self.agree(start.begins)?;
        let began_unix_ms = moment.unwrap_or_else(unix_time).0 / 1_000_000;
        let results = self.run_clients(&step, &expressions, &directory, number);
        let mut done = Vec::new();
        let mut halts = Vec::new();
        for result in results {
            match result {
                Ok(part) => done.push(part),
                Err(halt) => halts.push(halt),
            }
        }
        if let Some(halt) = failure(halts) {
            return Err(halt);
        }
        let ended = share::is_load_over(&stimulus, &step, start, &expressions, &done);
        let host_shares = self.collect_shares(done, &expressions, moment.is_some());
        let ops = expressions.first().map_or(Vec::new(), |expression| expression.ops.clone());
        let mut measurement = merged::merge(&host_shares, &stimulus, &ops, ramp)?;
        measurement.began_unix_ms = began_unix_ms;
        measurement.complete = ended;
        measurement.seed = Some(start.seed(stimulus.seed)).filter(|seed| *seed != stimulus.seed);
        measurement.common_start = start.begins.map(|at| CommonStart {
            agreed: at + START_LEAD,
            late: start_delay(&host_shares, moment),
            ..CommonStart::default()
        });
        measurement.intervals.iter().for_each(watch);
        self.check_hosts(&step, &measurement.hosts);
        let cursors: Vec<_> = host_shares.into_iter().map(|share| share.cursors).collect();
        if !ended {
            let starts = starts.into_iter().zip(cursors);
            let starts = starts.map(|(start, cursors)| StepStart { cursors, ..start }).collect();
            self.store_progress(&stimulus, starts, &measurement.hosts);
        }
        Ok(measurement)
    }

    fn end_load(&mut self) {
        self.paused = None;
    }
}

impl FioHosts {
    /// Combines the results of the hosts with the start times that only they know.
    fn collect_shares(
        &mut self,
        done: Vec<HostResult>,
        expressions: &[Expression],
        has_common_start: bool,
    ) -> Vec<HostShare> {
        let mut shares = Vec::new();
        for ((host, done), expression) in self.target.hosts.iter_mut().zip(done).zip(expressions) {
            let began = if has_common_start { host.first_start() } else { None };
            let cursors = share::with_host(expression.cursors(done.last().ios()), &host.name);
            let (host, fio) = (host.name.clone(), host.fio.clone());
            shares.push(HostShare { host, fio, done, began, cursors });
        }
        let messages = shares.iter().flat_map(|share| {
            share.done.messages.iter().map(|line| format!("{}: {line}", share.host))
        });
        for message in messages.take(10) {
            let text = format!("fio printed on host {message}");
            let remedy = "Read the files next to fio's jobs.";
            self.remark_once(caveats::FIO_MESSAGES, &message, text, remedy);
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(host: &str, ios: u64, seconds: u64) -> HostPart {
        HostPart {
            host: host.to_owned(),
            ios,
            elapsed: Nanos::from_secs(seconds),
            ..HostPart::default()
        }
    }

    fn laggards(parts: &[HostPart]) -> Vec<&str> {
        lagging_hosts(parts, median_iops(parts)).map(|lagging| lagging.host).collect()
    }

    #[test]
    fn a_host_that_does_less_than_four_fifths_of_the_median_lags() {
        // Rates: 1000, 799, 800, 9000; the median of an even number is the upper one.
        let parts = [part("a", 1000, 1), part("b", 799, 1), part("c", 1600, 2), part("d", 9000, 1)];
        assert_eq!(laggards(&parts), ["b"]);
        assert_eq!(laggards(&[part("a", 1000, 1), part("b", 799, 1)]), ["b"]);
        assert_eq!(laggards(&[part("a", 1000, 1), part("b", 800, 1)]), [""; 0]);
        assert_eq!(laggards(&[part("a", 1, 1)]), [""; 0]);
        assert_eq!(laggards(&[]), [""; 0]);
        // The same number of I/Os in twice the time is half the rate.
        assert_eq!(laggards(&[part("a", 1000, 1), part("b", 1000, 2)]), ["b"]);
    }

    #[test]
    fn a_failure_is_reported_and_not_the_stops_that_follow_it() {
        let refused = Halt::Refused("host b died".to_owned());
        let halts = vec![Halt::Stopped, refused.clone(), Halt::Stopped];
        assert_eq!(failure(halts), Some(refused));
        assert_eq!(failure(vec![Halt::Stopped, Halt::Stopped]), Some(Halt::Stopped));
        assert_eq!(failure(Vec::new()), None);
    }
}
