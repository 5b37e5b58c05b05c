//! Loops over whole columns, each compiled for AVX2 and for the baseline. The version is chosen
//! at run time by the features of the processor.

use crate::stream_key::StreamKey;
use multiversion::multiversion;
use steadfast_domain::FineHistogram;

/// Returns the bitwise OR of all times.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn bits_of_any(times: &[i64]) -> i64 {
    let mut any = 0;
    for time in times {
        any |= time;
    }
    any
}

/// Returns the bitwise OR and the wrapping sum of all times.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn bits_and_sum(times: &[i64]) -> (i64, u64) {
    let (mut any, mut sum) = (0, 0u64);
    for time in times {
        any |= time;
        sum = sum.wrapping_add(time.cast_unsigned());
    }
    (any, sum)
}

/// Returns whether any time is 0 or negative.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn any_below_one(times: &[i64]) -> bool {
    let mut signs = 0;
    for time in times {
        // Subtracting 1 makes 0 negative.
        signs |= time | time.wrapping_sub(1);
    }
    signs < 0
}

/// Returns the bitwise OR of all depths, and whether any is 0.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn bits_of_depths(depths: &[u32]) -> (u32, bool) {
    let (mut any, mut none) = (0, 0);
    for depth in depths {
        any |= depth;
        none |= u32::from(*depth == 0);
    }
    (any, none > 0)
}

/// Returns whether any number is 0.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn any_zero(numbers: &[i32]) -> bool {
    let mut any = 0;
    for number in numbers {
        any |= i32::from(*number == 0);
    }
    any != 0
}

/// Returns the furthest end of all I/Os; `None` if an offset or end exceeds `i64::MAX`.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn furthest_end(offsets: &[i64], bytes: &[i32]) -> Option<u64> {
    let (mut any, mut furthest) = (0, 0);
    for (offset, bytes) in offsets.iter().zip(bytes) {
        let end = offset.wrapping_add(i64::from(bytes.cast_unsigned()));
        any |= offset | end;
        furthest = if end > furthest { end } else { furthest };
    }
    (any >= 0).then_some(furthest.cast_unsigned())
}

/// Returns the bitwise OR of all flags.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn bits_of_flags(flags: &[i32]) -> i32 {
    let mut any = 0;
    for flags in flags {
        any |= flags;
    }
    any
}

/// Returns whether times ascend and none is negative; true for fewer than two times.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn are_ascending(times: &[i64]) -> bool {
    // Without an early return, so that the loop is vectorized. The sign bit of a time means that
    // it lies beyond 292 years; the sign bit of a difference means a step back.
    let mut signs = 0;
    for (time, next) in times.iter().zip(times.get(1..).unwrap_or_default()) {
        signs |= time | next | next.wrapping_sub(*time);
    }
    signs >= 0
}

/// Returns whether any I/O may be outstanding after `last`, the issue time of the last of these
/// I/Os or of a later one. An unknown response time counts as outstanding.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn any_outlives(issued: &[i64], responses: &[i64], last: u64) -> bool {
    let mut all = 0;
    for (issued, response) in issued.iter().zip(responses) {
        // The highest bit is set in a negative difference, and in a time above `i64::MAX`.
        let (issued, response) = (issued.cast_unsigned(), response.cast_unsigned());
        let waited = last.wrapping_sub(issued);
        all |= waited.wrapping_sub(response) | waited | response;
    }
    all >> 63 == 1
}

/// Returns whether all times lie in `first..=last` and none is negative.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn are_within(times: &[i64], first: i64, last: i64) -> bool {
    // The sign bit is set in a time above `i64::MAX`, and in a distance to a bound it exceeds.
    let mut signs = first | last;
    for time in times {
        signs |= time | time.wrapping_sub(first) | last.wrapping_sub(*time);
    }
    signs >= 0
}

/// Returns whether all rows are kept.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn are_all(kept: &[bool]) -> bool {
    let mut all = true;
    for kept in kept {
        all &= kept;
    }
    all
}

/// The devices of some I/Os. The bits of all numbers show whether the mask has a bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceMask {
    /// One bit per device number below 32, and 32 bits higher for the second layer.
    pub mask: u64,
    /// Bitwise OR of the device numbers.
    pub device_bits: i32,
    /// Bitwise OR of the layers.
    pub layer_bits: i32,
}

/// Returns the devices that occur.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn device_mask(devices: &[i32], layers: &[i32]) -> DeviceMask {
    let (mut mask, mut device_bits, mut layer_bits) = (0, 0, 0);
    for (device, layer) in devices.iter().zip(layers) {
        mask |= 1u64 << ((device & 31) | (layer & 1) << 5);
        device_bits |= device;
        layer_bits |= layer;
    }
    DeviceMask { mask, device_bits, layer_bits }
}

/// Writes the packed stream key of every I/O.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn keys(op: &[i32], bytes: &[i32], sequential: &[bool], keys: &mut [u64]) {
    let of_row = op.iter().zip(bytes).zip(sequential);
    for (key, ((op, bytes), sequential)) in keys.iter_mut().zip(of_row) {
        let (op, bytes) = (op.cast_unsigned(), bytes.cast_unsigned());
        *key = StreamKey::packed_number(op, *sequential, bytes);
    }
}

/// Writes the histogram bucket of every response time. All must be known and below 2^31 ns.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn buckets(responses: &[i64], buckets: &mut [u32]) {
    for (bucket, ns) in buckets.iter_mut().zip(responses) {
        *bucket = FineHistogram::index_of_short(*ns as i32);
    }
}

/// Sets a mark to 1 if its number equals `wanted`, otherwise to 0.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn mark(numbers: &[u32], wanted: u32, marks: &mut [u8]) {
    for (mark, number) in marks.iter_mut().zip(numbers) {
        *mark = u8::from(*number == wanted);
    }
}

/// Writes the positions of the kept block-layer I/Os of a device to the beginning of `places`
/// and returns their number. Takes at most 65,536 I/Os; `marks` is scratch memory.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn of_device(
    devices: &[i32],
    layers: &[i32],
    kept: &[bool],
    device: u16,
    marks: &mut [u8],
    places: &mut [u16],
) -> usize {
    let of_row = devices.iter().zip(layers).zip(kept);
    for (mark, ((of, layer), kept)) in marks.iter_mut().zip(of_row) {
        *mark = u8::from(*of as u16 == device) & u8::from(*layer != 1) & u8::from(*kept);
    }
    let mut count = 0;
    for (at, mark) in (0u16..).zip(marks.iter().take(kept.len())) {
        // Without a branch, because the order of devices is unpredictable.
        if let Some(place) = places.get_mut(count) {
            *place = at;
        }
        count += usize::from(*mark);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::random_bits::mix64;

    /// Times of which some are short, some 0 and some negative.
    fn times(count: u64, kinds: u64) -> Vec<i64> {
        let time = |at: u64| match mix64(count * 1000 + at) % kinds {
            0 => 1 + (mix64(at) >> 40).cast_signed(),
            1 => 0,
            2 => (mix64(at) >> 1).cast_signed(),
            _ => mix64(at).cast_signed(),
        };
        (0..count).map(time).collect()
    }

    /// Columns of every length up to a few vectors.
    fn columns() -> impl Iterator<Item = Vec<i64>> {
        (0..150).flat_map(|count| (1..=4).map(move |kinds| times(count, kinds)))
    }

    #[test]
    fn results_equal_those_of_a_loop_over_single_values() {
        for times in columns() {
            let any = times.iter().fold(0, |any, time| any | time);
            let sum = times.iter().fold(0u64, |sum, time| sum.wrapping_add(time.cast_unsigned()));
            assert_eq!(bits_of_any(&times), any);
            assert_eq!(bits_and_sum(&times), (any, sum));
            assert_eq!(any_below_one(&times), times.iter().any(|time| *time < 1));
            let depths: Vec<u32> = times.iter().map(|time| *time as u32).collect();
            let any = depths.iter().fold(0, |any, depth| any | depth);
            assert_eq!(bits_of_depths(&depths), (any, depths.contains(&0)));
            let flags: Vec<i32> = times.iter().map(|time| *time as i32).collect();
            assert_eq!(bits_of_flags(&flags), any.cast_signed());
            assert_eq!(any_zero(&flags), flags.contains(&0));
            let ends = times.iter().zip(&flags);
            let ends = ends.map(|(time, bytes)| time.checked_add(bytes.cast_unsigned().into()));
            let known: Option<Vec<i64>> = ends.collect();
            let known = known.filter(|_| times.iter().all(|time| *time >= 0));
            let furthest = known.map(|ends| ends.into_iter().max().unwrap_or(0).cast_unsigned());
            assert_eq!(furthest_end(&times, &flags), furthest);
        }
    }

    #[test]
    fn ascending_times_and_outstanding_ios_are_found() {
        for mut times in columns() {
            let responses = times.clone();
            for sorted in [false, true] {
                if sorted {
                    times.sort_unstable();
                }
                let rise = times.is_sorted() && times.iter().all(|time| *time >= 0);
                let rise = rise || times.len() < 2;
                assert_eq!(are_ascending(&times), rise, "{times:?}");
            }
            let short: Vec<i64> = times.iter().map(|time| time >> 24 & 0xff_ffff).collect();
            for (responses, last) in [(&short, 0x1ff_ffff), (&short, 0xff_ffff), (&responses, 7)] {
                let end = |(issued, response): (&i64, &i64)| {
                    i128::from(*issued) + i128::from(response.cast_unsigned())
                };
                let beyond = short.iter().zip(responses).any(|both| end(both) > last.into())
                    || short.iter().any(|issued| *issued > last)
                    || responses.iter().any(|response| *response < 0);
                assert_eq!(any_outlives(&short, responses, last.cast_unsigned()), beyond);
            }
        }
    }

    #[test]
    fn times_outside_a_span_and_dropped_rows_are_found() {
        for times in columns() {
            let (first, last) = (times.first().copied().unwrap_or(5), 1 << 62);
            let bounds = [(first, last), (0, i64::MAX), (last, first), (first, first), (-1, last)];
            for (first, last) in bounds {
                let are = times.iter().all(|time| *time >= 0 && (first..=last).contains(time));
                let are = are && first >= 0 && last >= 0;
                assert_eq!(are_within(&times, first, last), are, "{times:?} {first} {last}");
            }
            let kept: Vec<bool> = times.iter().map(|time| *time % 97 != 0).collect();
            assert_eq!(are_all(&kept), kept.iter().all(|kept| *kept));
        }
    }

    #[test]
    fn devices_are_marked_at_their_layers() {
        for times in columns() {
            let devices: Vec<i32> = times.iter().map(|time| (time >> 5 & 31) as i32).collect();
            let layers: Vec<i32> = times.iter().map(|time| (time >> 40 & 1) as i32).collect();
            let pairs = devices.iter().zip(&layers);
            let mask = pairs.fold(0, |mask, (device, layer)| mask | 1u64 << (device + 32 * layer));
            let bits = |numbers: &[i32]| numbers.iter().fold(0, |bits, number| bits | number);
            let (device_bits, layer_bits) = (bits(&devices), bits(&layers));
            let expected = DeviceMask { mask, device_bits, layer_bits };
            assert_eq!(device_mask(&devices, &layers), expected);
        }
    }

    #[test]
    fn positions_are_those_of_the_kept_block_layer_ios_of_a_device() {
        for times in columns() {
            let devices: Vec<i32> = times.iter().map(|time| (time >> 5 & 3) as i32).collect();
            let layers: Vec<i32> = times.iter().map(|time| (time >> 40 & 1) as i32).collect();
            let kept: Vec<bool> = times.iter().map(|time| time % 7 != 0).collect();
            for device in 0..4 {
                let (mut marks, mut places) = (vec![7; times.len()], vec![7; times.len()]);
                let count = of_device(&devices, &layers, &kept, device, &mut marks, &mut places);
                let is_of = |row: &u16| {
                    let row = usize::from(*row);
                    devices[row] == i32::from(device) && layers[row] == 0 && kept[row]
                };
                let all: Vec<u16> = (0..times.len() as u16).filter(is_of).collect();
                assert_eq!(places[..count], all);
            }
        }
    }

    #[test]
    fn keys_buckets_and_marks_are_those_of_each_row() {
        for times in columns() {
            let (op, bytes): (Vec<i32>, Vec<i32>) =
                times.iter().map(|time| ((time >> 8 & 7) as i32, *time as i32)).unzip();
            let sequential: Vec<bool> = times.iter().map(|time| time >> 3 & 1 == 1).collect();
            let responses: Vec<i64> = times.iter().map(|time| time & 0x7fff_ffff).collect();
            let numbers: Vec<u32> = op.iter().map(|op| op.cast_unsigned()).collect();
            let mut found = vec![7; times.len()];
            keys(&op, &bytes, &sequential, &mut found);
            for (row, key) in found.iter().enumerate() {
                let (op, bytes) = (op[row].cast_unsigned(), bytes[row].cast_unsigned());
                assert_eq!(*key, StreamKey::packed_number(op, sequential[row], bytes));
            }
            let mut found = vec![7; times.len()];
            buckets(&responses, &mut found);
            for (response, bucket) in responses.iter().zip(found) {
                assert_eq!(bucket as usize, FineHistogram::index(response.cast_unsigned()));
            }
            let mut found = vec![7; times.len()];
            mark(&numbers, 3, &mut found);
            assert!(numbers.iter().zip(found).all(|(n, mark)| mark == u8::from(*n == 3)));
        }
    }
}
