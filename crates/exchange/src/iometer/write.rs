//! Writes configurations as Iometer does.

use super::config::{
    AccessSpec, BarSubject, Config, Cycling, Defaults, Display, Manager, Setup, Spawn, Target,
    Worker, WorkerKind,
};

/// Length in characters of the line that opens a section.
const RULER: usize = 80;
/// Width of a column of numbers, in characters.
const COLUMN: usize = 11;

/// Returns the text of a configuration, with CRLF line endings. Reading it gives an equal
/// configuration.
pub fn write(config: &Config) -> String {
    let mut out = Out::default();
    let version = format!("Version {} ", config.version);
    out.line(&version);
    if let Some(setup) = &config.setup {
        write_setup(&mut out, setup);
    }
    if let Some(display) = &config.display {
        write_display(&mut out, display);
    }
    if let Some(specs) = &config.specs {
        out.ruler("ACCESS SPECIFICATIONS");
        specs.iter().for_each(|spec| write_spec(&mut out, spec));
        out.line("'END access specifications");
    }
    if let Some(managers) = &config.managers {
        out.ruler("MANAGER LIST");
        managers.iter().for_each(|manager| write_manager(&mut out, manager));
        out.line("'END manager list");
    }
    out.line(&version);
    out.text
}

#[derive(Default)]
struct Out {
    text: String,
}

impl Out {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push_str("\r\n");
    }
    fn value(&mut self, text: impl std::fmt::Display) {
        self.line(&format!("\t{text}"));
    }
    fn pair(&mut self, key: &str, value: impl std::fmt::Display) {
        self.line(&format!("'{key}"));
        self.value(value);
    }
    /// Writes a key, a comment with the names of the columns, and the columns.
    fn columns(&mut self, key: &str, names: &[&str], values: &[String]) {
        let padded = |texts: &[String]| {
            let text: String = texts.iter().map(|text| format!("{text:<COLUMN$}")).collect();
            text.trim_end().to_owned()
        };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.line(&format!("'{key}"));
        self.line(&format!("'\t{}", padded(&names)));
        self.value(padded(values));
    }
    fn ruler(&mut self, name: &str) {
        let ruler = format!("'{name} ");
        self.line(&format!("{ruler:=<RULER$}"));
    }
}

fn write_setup(out: &mut Out, setup: &Setup) {
    out.ruler("TEST SETUP");
    if let Some(text) = &setup.description {
        out.pair("Test Description", text);
    }
    if let Some(time) = setup.run_time {
        let values = [time.hours, time.minutes, time.seconds].map(|n| n.to_string());
        out.columns("Run Time", &["hours", "minutes", "seconds"], &values);
    }
    if let Some(seconds) = setup.ramp_s {
        out.pair("Ramp Up Time (s)", seconds);
    }
    for (key, spawn) in [
        ("Default Disk Workers to Spawn", setup.disk_workers),
        ("Default Network Workers to Spawn", setup.network_workers),
    ] {
        match spawn {
            Some(Spawn::Processors) => out.pair(key, "NUMBER_OF_CPUS"),
            Some(Spawn::Count(count)) => out.pair(key, count),
            None => {}
        }
    }
    if let Some(record) = setup.record {
        out.pair("Record Results", record);
    }
    write_cycling(out, setup);
    if let Some(test_type) = setup.test_type {
        out.pair("Test Type", test_type);
    }
    out.line("'END test setup");
}

fn write_cycling(out: &mut Out, setup: &Setup) {
    let values = |c: Cycling| [c.start.to_string(), c.step.to_string(), c.kind.to_string()];
    for (key, cycling) in
        [("Worker Cycling", setup.worker_cycling), ("Disk Cycling", setup.disk_cycling)]
    {
        if let Some(cycling) = cycling {
            out.columns(key, &["start", "step", "step type"], &values(cycling));
        }
    }
    if let Some(cycling) = setup.depth_cycling {
        let [start, step, kind] = values(cycling.cycling);
        let names = ["start", "end", "step", "step type"];
        out.columns("Queue Depth Cycling", &names, &[start, cycling.end.to_string(), step, kind]);
    }
}

const fn enabled(is: bool) -> &'static str {
    if is { "ENABLED" } else { "DISABLED" }
}

fn write_display(out: &mut Out, display: &Display) {
    out.ruler("RESULTS DISPLAY");
    match (display.record_last, display.update) {
        (None, Some((seconds, kind))) => {
            out.pair("Update Frequency,Update Type", format!("{seconds},{kind}"));
        }
        (Some(last), Some((seconds, kind))) => out.pair(
            "Record Last Update Results,Update Frequency,Update Type",
            format!("{},{seconds},{kind}", enabled(last)),
        ),
        (_, None) => {}
    }
    for bar in &display.bars {
        let chart = bar.chart;
        match &bar.subject {
            BarSubject::Statistic(name) => out.pair(&format!("Bar chart {chart} statistic"), name),
            BarSubject::Manager(id, name) => {
                let key = format!("Bar chart {chart} manager ID, manager name");
                out.pair(&key, format!("{id},{name}"));
            }
            BarSubject::Worker(id, name) => {
                let key = format!("Bar chart {chart} worker ID, worker name");
                out.pair(&key, format!("{id},{name}"));
            }
        }
    }
    out.line("'END results display");
}

fn write_spec(out: &mut Out, spec: &AccessSpec) {
    let value = format!("{},{}", spec.name, spec.assignment);
    out.pair("Access specification name,default assignment", value);
    out.line("'size,% of size,% reads,% random,delay,burst,align,reply");
    for row in &spec.lines {
        let (size, of_size, reads, random) = (row.size, row.of_size, row.reads, row.random);
        let (delay, burst, align, reply) = (row.delay_ms, row.burst, row.align, row.reply);
        out.value(format!("{size},{of_size},{reads},{random},{delay},{burst},{align},{reply}"));
    }
}

fn write_manager(out: &mut Out, manager: &Manager) {
    out.pair("Manager ID, manager name", format!("{},{}", manager.id, manager.name));
    if let Some(address) = &manager.address {
        out.pair("Manager network address", address);
    }
    manager.workers.iter().for_each(|worker| write_worker(out, worker));
    out.line("'End manager");
}

fn kind(kind: &WorkerKind) -> String {
    match kind {
        WorkerKind::Disk => "DISK".to_owned(),
        WorkerKind::Network(protocol) => format!("NETWORK,{protocol}"),
    }
}

fn write_worker(out: &mut Out, worker: &Worker) {
    out.pair("Worker", &worker.name);
    out.pair("Worker type", kind(&worker.kind));
    if let Some(defaults) = &worker.defaults {
        write_defaults(out, defaults);
    }
    if let Some(specs) = &worker.specs {
        out.line("'Assigned access specs");
        specs.iter().for_each(|spec| out.value(&spec.name));
        out.line("'End assigned access specs");
    }
    if let Some(targets) = &worker.targets {
        out.line("'Target assignments");
        targets.iter().for_each(|target| write_target(out, target));
        out.line("'End target assignments");
    }
    out.line("'End worker");
}

fn write_defaults(out: &mut Out, defaults: &Defaults) {
    out.line("'Default target settings for worker");
    if let Some(outstanding) = defaults.outstanding {
        let key = "Number of outstanding IOs,test connection rate,transactions per connection";
        let rate = enabled(outstanding.connection_rate);
        let value = format!("{},{rate},{}", outstanding.ios, outstanding.transactions);
        match outstanding.fixed_seed {
            None => out.pair(key, value),
            Some(seed) => out.pair(
                &format!("{key},use fixed seed,fixed seed value"),
                format!("{value},{},{}", enabled(seed.used), seed.value),
            ),
        }
    }
    if let Some(disk) = defaults.disk {
        let key = "Disk maximum size,starting sector";
        let value = format!("{},{}", disk.sectors, disk.start);
        match disk.pattern {
            None => out.pair(key, value),
            Some(pattern) => out.pair(&format!("{key},Data pattern"), format!("{value},{pattern}")),
        }
    }
    if let Some(interface) = &defaults.local_interface {
        out.pair("Local network interface", interface);
    }
    if let Some(ios) = defaults.vi_outstanding {
        out.pair("VI outstanding IOs", ios);
    }
    out.line("'End default target settings for worker");
}

fn write_target(out: &mut Out, target: &Target) {
    out.pair("Target", &target.name);
    out.pair("Target type", kind(&target.kind));
    if let Some((id, name)) = &target.manager {
        out.pair("Target manager ID, manager name", format!("{id},{name}"));
    }
    out.line("'End target");
}
