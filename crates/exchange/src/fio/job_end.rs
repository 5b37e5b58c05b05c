//! The end of a job: `runtime`, `time_based`, `size`, `io_size`, `loops`, `number_ios`, `ss`.

use super::access::JobAccess;
use super::extent::WHOLE_PPM;
use super::options::{SECOND, SectionOptions, TargetFacts};
use steadfast_domain::fio_steady_state::{FioSteadyState, SteadyRate};
use steadfast_domain::sequence::{Amount, Extent, SequenceEnd};
use steadfast_domain::{Bytes, Nanos};

/// Transfers of a job as they fit into its size.
pub(super) struct TransferFit {
    /// Smallest transfer size in bytes.
    pub least: u64,
    /// True if all transfers have this size.
    pub are_equal: bool,
    /// True if a random job visits every block once; the map has whole blocks only.
    pub has_map: bool,
    /// True if the target continues behind the size of the job. A file that fio creates ends there.
    pub may_pass_size: bool,
}

impl TransferFit {
    /// Returns true if every loop ends with the last of the smallest blocks that fits: in the map,
    /// at the end of the target, or because fio shortens the last I/O of a sequential job of
    /// several sizes.
    pub fn ends_within_size(&self, access: &JobAccess) -> bool {
        let passes_size = self.may_pass_size && self.are_equal;
        self.has_map || !(access.random || passes_size)
    }
}

/// Returns true if the range ends where the target does.
pub(super) fn ends_target(extent: &Extent, target: &TargetFacts<'_>) -> bool {
    let (Amount::Bytes(from), Some(Amount::Bytes(length))) = (extent.from, extent.length) else {
        return target.is_new;
    };
    let end = from.0.saturating_add(length.0);
    target.is_new || target.capacity.is_some_and(|capacity| end >= capacity.0)
}

/// Returns when a job ends. fio completes the I/O in which it reaches an amount.
pub(super) fn end(
    options: &mut SectionOptions<'_>,
    access: &JobAccess,
    length: Option<Amount>,
    blocks: &TransferFit,
) -> Option<SequenceEnd> {
    let block = blocks.least;
    let time = options.time("runtime", SECOND).filter(|time| time.0 > 0);
    let loops = u64::from(options.count("loops", u32::MAX).unwrap_or(1));
    match (options.flag("time_based"), time) {
        (true, Some(time)) => return Some(SequenceEnd::time(time)),
        (true, None) => {
            options.remark("time_based without runtime has no effect, as in fio");
        }
        (false, _) => {}
    }
    // fio restarts their count in every loop.
    let ios = options.number("number_ios").filter(|ios| *ios > 0);
    let ios = ios.map(|ios| ios.saturating_mul(loops));
    let has_both_sizes = options.text("filesize").and(options.text("size")).is_some();
    let bytes = match options.text("io_size") {
        Some(_) => options.amount("io_size"),
        // A size beyond the end of the file is cut there.
        None if has_both_sizes => match (options.amount("size"), length) {
            (Some(Amount::Bytes(size)), Some(Amount::Bytes(length))) => {
                Some(Amount::Bytes(size.min(length)))
            }
            (size, _) => size,
        },
        None => None,
    };
    let whole_ios = |bytes: u64| {
        let all = bytes.saturating_mul(loops);
        Some(Amount::Bytes(Bytes(all.checked_next_multiple_of(block).unwrap_or(all))))
    };
    // A job passes its range at least `loops` times, and again until `io_size` is moved or less than
    // a block of it is missing. Within a pass the limit is `io_size` times `loops`. Without a map of
    // its blocks, a random job has no passes.
    let has_passes = blocks.has_map || !access.random;
    let bytes_of_loops = |bytes: u64, length: u64| {
        let is_within = blocks.ends_within_size(access);
        let blocks_in_pass = if is_within { length / block } else { length.div_ceil(block) };
        let pass = blocks_in_pass.saturating_mul(block);
        if pass == 0 || !has_passes {
            return whole_ios(bytes);
        }
        let passes = bytes.checked_sub(block).map_or(0, |rest| rest / pass + 1).max(loops);
        let most = passes.saturating_mul(pass);
        match whole_ios(bytes) {
            Some(Amount::Bytes(all)) => Some(Amount::Bytes(Bytes(all.0.min(most)))),
            other => other,
        }
    };
    let ends_by_laps = SequenceEnd { time, ios, laps: Some(loops), ..SequenceEnd::default() };
    let ends_by_bytes = |bytes| SequenceEnd { time, ios, bytes, laps: None };
    Some(match (bytes, length) {
        (Some(Amount::Ppm(share)), _) if share > WHOLE_PPM => {
            options.refuse("io_size", "fio takes at most 100 %");
            return None;
        }
        (Some(Amount::Ppm(WHOLE_PPM)), _) => ends_by_laps,
        (Some(Amount::Ppm(share)), Some(Amount::Bytes(length))) => {
            let part = u128::from(length.0) * u128::from(share) / u128::from(WHOLE_PPM);
            ends_by_bytes(whole_ios(u64::try_from(part).unwrap_or(u64::MAX)))
        }
        (Some(Amount::Ppm(share)), Some(Amount::Ppm(length))) if loops == 1 => {
            let part = u64::from(share) * u64::from(length) / u64::from(WHOLE_PPM);
            ends_by_bytes(Some(Amount::Ppm(u32::try_from(part).unwrap_or(WHOLE_PPM))))
        }
        (Some(Amount::Ppm(share)), None) if loops == 1 && options.text("offset").is_none() => {
            ends_by_bytes(Some(Amount::Ppm(share)))
        }
        (Some(Amount::Ppm(_)), _) => {
            options.refuse("io_size", "this share of the range is not supported; give bytes");
            return None;
        }
        (Some(Amount::Bytes(bytes)), Some(Amount::Bytes(length))) => {
            ends_by_bytes(bytes_of_loops(bytes.0, length.0))
        }
        (Some(Amount::Bytes(bytes)), _) => {
            if loops > 1 && has_passes {
                options.remark(
                    "io_size with loops: fio moves less where io_size is larger than the target; \
                     give size= in bytes",
                );
            }
            ends_by_bytes(whole_ios(bytes.0))
        }
        (None, Some(Amount::Bytes(length))) => {
            let is_within = blocks.ends_within_size(access);
            if blocks.are_equal && (is_within || length.0.is_multiple_of(block)) {
                ends_by_laps
            } else if is_within {
                let all = (length.0 / block * block).saturating_mul(loops);
                ends_by_bytes(Some(Amount::Bytes(Bytes(all))))
            } else {
                // The last I/O of all loops passes their sizes.
                ends_by_bytes(whole_ios(length.0))
            }
        }
        (None, _) => ends_by_laps,
    })
}

/// Returns the rule that ends a job once its rate is steady: `ss=bw_slope:0.1%` with `ss_dur` and
/// `ss_ramp`.
pub(super) fn steady_state(options: &mut SectionOptions<'_>) -> Option<FioSteadyState> {
    let text = options.text("ss")?;
    let window = options.time("ss_dur", SECOND).filter(|time| time.0 > 0);
    let ramp = options.time("ss_ramp", SECOND).unwrap_or(Nanos::ZERO);
    let Some(window) = window else {
        options.remark("ss has no effect without ss_dur, as in fio");
        return None;
    };
    let (name, limit) = text.split_once(':').unwrap_or((text, ""));
    let (rate, slope) = match name.trim() {
        "iops" => (SteadyRate::Iops, false),
        "iops_slope" => (SteadyRate::Iops, true),
        "bw" => (SteadyRate::Bandwidth, false),
        "bw_slope" => (SteadyRate::Bandwidth, true),
        _ => {
            options.refuse("ss", "it is none of iops, iops_slope, bw, bw_slope");
            return None;
        }
    };
    let number = limit.trim().trim_end_matches('%');
    let percent = number != limit.trim();
    let value = match number.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => value,
        _ => match options.bytes_in(number) {
            Some(bytes) if !percent => bytes as f64,
            _ => {
                options.refuse("ss", "this is no limit: give a number or a percentage");
                return None;
            }
        },
    };
    options.remark(
        "ss: the rate is judged after every part of at most 59 s, in fio after every second; the \
         load may last that much longer",
    );
    Some(FioSteadyState { rate, slope, limit: value, percent, window, ramp })
}
