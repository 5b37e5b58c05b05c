//! Power, temperature and processor use during a set of steps.

use steadfast_domain::device_log::{DEVICE_COUNTS, DeviceCount, WriteAmplification};
use steadfast_domain::measurement::HostCpu;
use steadfast_domain::{Bytes, Measurement, Nanos};

/// Returns the mean of the values, or `None` if there are no values or one is `None`.
pub fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the throughput of all steps in MB/s; `None` if they took no time.
pub fn mb_per_second(measurements: &[&Measurement]) -> Option<f64> {
    let bytes = Bytes(measurements.iter().map(|m| m.bytes().0).sum());
    let time = Nanos(measurements.iter().map(|m| m.elapsed.0).sum());
    (time.0 > 0).then(|| bytes.as_mb() / time.as_secs_f64())
}

/// Returns the energy of all steps per GB that they transferred; `None` if the power of one is
/// unknown, or if they transferred nothing.
fn joules_per_gb(measurements: &[&Measurement]) -> Option<f64> {
    let joules: Option<f64> = measurements.iter().map(|m| m.joules()).sum();
    let bytes = Bytes(measurements.iter().map(|m| m.bytes().0).sum());
    (bytes.0 > 0).then_some(joules? / bytes.as_gb())
}

/// Returns the flash bytes per host byte of all steps; `None` if a step lacks the counts, or if the
/// counters are too coarse.
fn write_amplification(measurements: &[&Measurement]) -> Option<WriteAmplification> {
    // A missing count of one step would distort the quotient.
    let mut logs = measurements.iter().map(|step| {
        let log = step.sensed.log.as_ref()?;
        (log.host_written.is_some() && log.nand_written.is_some()).then_some(log)
    });
    let mut sum = *logs.next()??;
    for log in logs {
        sum.merge(log?);
    }
    let is_its_own = sum.earlier_steps == 0 && !sum.went_backwards;
    WriteAmplification::from_log(&sum).filter(|_| is_its_own)
}

/// Returns the sum of a count over all steps; `None` if a step lacks it, or if a reading covers
/// other steps too.
fn device_count(measurements: &[&Measurement], count: &DeviceCount) -> Option<u64> {
    let of_step = |step: &&Measurement| {
        let log = step.sensed.log.as_ref().filter(|log| log.earlier_steps == 0)?;
        (count.value)(log)
    };
    let sum: Option<u64> = measurements.iter().map(of_step).sum();
    sum.filter(|_| !measurements.is_empty())
}

/// Power, temperature, processor use and the device's own counts over a set of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SecondaryMeans {
    pub power_milliwatts: Option<f64>,
    /// Energy per GB (10^9 bytes) transferred, in joules: that of all steps by all their bytes.
    pub joules_per_gb: Option<f64>,
    /// Flash bytes per host byte of all steps.
    pub write_amplification: Option<WriteAmplification>,
    /// Device temperature at the ends of the steps, in degrees Celsius.
    pub temperature_celsius: Option<f64>,
    /// Share of all processors' time spent in the kernel, 0 to 1.
    pub cpu_system: Option<f64>,
    /// Share of all processors' time idle with I/O outstanding, 0 to 1.
    pub io_wait: Option<f64>,
    /// Sums of [`DEVICE_COUNTS`], in that order.
    pub counts: [Option<u64>; DEVICE_COUNTS.len()],
}

impl SecondaryMeans {
    /// Computes the means over the steps. A value that one step lacks is `None`.
    pub fn new(measurements: &[&Measurement]) -> Self {
        let mean = |value: &dyn Fn(&Measurement) -> Option<f64>| {
            mean(measurements.iter().map(|m| value(m)))
        };
        let host = |value: fn(&HostCpu) -> f64| {
            mean(&move |m: &Measurement| m.sensed.host_cpu.as_ref().map(value))
        };
        SecondaryMeans {
            power_milliwatts: mean(&|m| m.sensed.power_milliwatts),
            joules_per_gb: joules_per_gb(measurements),
            write_amplification: write_amplification(measurements),
            temperature_celsius: mean(&|m| m.sensed.temperature_celsius),
            cpu_system: host(|cpu| cpu.system),
            io_wait: host(|cpu| cpu.io_wait),
            counts: DEVICE_COUNTS.map(|count| device_count(measurements, &count)),
        }
    }

    /// Returns the counts that the device reports in all steps.
    pub fn known_counts(&self) -> impl Iterator<Item = (&'static DeviceCount, u64)> + '_ {
        DEVICE_COUNTS.iter().zip(self.counts).filter_map(|(count, sum)| Some((count, sum?)))
    }

    /// Returns IOPS per watt; `None` if the power is unknown or zero.
    pub fn iops_per_watt(&self, iops: Option<f64>) -> Option<f64> {
        let watts = self.power_milliwatts.filter(|milliwatts| *milliwatts > 0.0)? / 1000.0;
        Some(iops? / watts)
    }
}
