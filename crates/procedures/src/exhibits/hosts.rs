//! Shares of several hosts in a run on a shared device.

use super::matrix::millis;
use super::typed_table::{TypedColumn, typed_row, typed_table};
use steadfast_domain::findings::{Cell, Table};
use steadfast_domain::measurement::{HostPart, mean};
use steadfast_domain::{Nanos, Record};

/// Sums of one host over all steps.
#[derive(Default)]
struct HostSum<'r> {
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

impl<'r> HostSum<'r> {
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

    fn per_second(&self, sum: f64) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| sum / seconds)
    }
}

fn columns<'r>() -> [TypedColumn<HostSum<'r>>; 8] {
    [
        TypedColumn::cell("fio", |sum| Cell::known(sum.fio)),
        TypedColumn::count("Steps", |sum| Some(sum.steps)),
        TypedColumn::count("I/Os", |sum| Some(sum.ios)),
        TypedColumn::number("IOPS", 1, |sum| sum.per_second(sum.ios as f64)),
        TypedColumn::number("MB/s", 1, |sum| sum.per_second(sum.bytes as f64 / 1e6)),
        TypedColumn::number("ART, ms", 3, |sum| millis(mean(sum.response_sum, sum.ios))),
        TypedColumn::number("MRT, ms", 3, |sum| millis(Some(sum.response_max))),
        TypedColumn::number("Latest after the first host, ms", 3, |sum| millis(sum.latest)),
    ]
}

/// Returns the sums of every host over all steps; `None` for a single host.
pub(crate) fn table(record: &Record) -> Option<Table> {
    let mut sums: Vec<HostSum<'_>> = Vec::new();
    for part in record.steps().flat_map(|(_, outcome)| &outcome.measurement.hosts) {
        let at = sums.iter().position(|sum| sum.host == part.host).unwrap_or_else(|| {
            sums.push(HostSum { host: &part.host, ..HostSum::default() });
            sums.len() - 1
        });
        sums[at].add(part);
    }
    let columns = columns();
    (!sums.is_empty()).then(|| {
        typed_table("hosts", "Hosts that loaded the device, all steps", "Host", &columns)
            .rows(sums.iter().map(|sum| typed_row(sum.host, &columns, sum)))
    })
}
