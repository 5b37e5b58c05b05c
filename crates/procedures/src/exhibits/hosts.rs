//! What each of several hosts did of a run that they loaded together.

use steadfast_domain::findings::{Cell, Row, Table};
use steadfast_domain::measurement::{HostPart, mean};
use steadfast_domain::{Nanos, Record};

/// One host over all steps.
#[derive(Default)]
struct Sum<'r> {
    host: &'r str,
    fio: Option<&'r str>,
    steps: u64,
    ios: u64,
    bytes: u64,
    elapsed: Nanos,
    response_sum: Nanos,
    response_max: Nanos,
    latest: Option<Nanos>,
}

impl<'r> Sum<'r> {
    fn add(&mut self, part: &'r HostPart) {
        self.fio = part.fio.as_deref();
        self.steps += 1;
        self.ios += part.ios;
        self.bytes += part.bytes.0;
        self.elapsed += part.elapsed;
        self.response_sum += part.response_sum;
        self.response_max = self.response_max.max(part.response_max);
        self.latest = self.latest.max(part.late);
    }

    fn row(&self) -> Row {
        let seconds = self.elapsed.as_secs_f64();
        let rate = |count: f64| (seconds > 0.0).then(|| count / seconds);
        let mean = mean(self.response_sum, self.ios);
        let milliseconds = |time: Option<Nanos>| time.map(|time| time.as_millis_f64());
        Row::new(
            self.host,
            [
                Cell::known(self.fio),
                Cell::count(self.steps),
                Cell::count(self.ios),
                Cell::number(rate(self.ios as f64), 1),
                Cell::number(rate(self.bytes as f64 / 1e6), 1),
                Cell::number(milliseconds(mean), 3),
                Cell::number(milliseconds(Some(self.response_max)), 3),
                Cell::number(milliseconds(self.latest), 3),
            ],
        )
    }
}

/// All steps of every host, added up; `None` where one host alone loaded the device.
pub(crate) fn table(record: &Record) -> Option<Table> {
    let mut sums: Vec<Sum<'_>> = Vec::new();
    for part in record.steps().flat_map(|(_, outcome)| &outcome.measurement.hosts) {
        let at = sums.iter().position(|sum| sum.host == part.host).unwrap_or_else(|| {
            sums.push(Sum { host: &part.host, ..Sum::default() });
            sums.len() - 1
        });
        sums[at].add(part);
    }
    let columns = [
        "fio",
        "Steps",
        "I/Os",
        "IOPS",
        "MB/s",
        "ART, ms",
        "MRT, ms",
        "Latest after the first host, ms",
    ];
    (!sums.is_empty()).then(|| {
        Table::new("hosts", "Hosts that loaded the device, all steps", "Host")
            .columns(columns)
            .rows(sums.iter().map(Sum::row))
    })
}
