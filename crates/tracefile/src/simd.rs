//! Loops over whole columns, each compiled for AVX2 and for the baseline. The version is chosen
//! at run time by the features of the processor.

use multiversion::multiversion;

/// Returns the bitwise OR of all times.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn bits_of_any(times: &[i64]) -> i64 {
    let mut any = 0;
    for time in times {
        any |= time;
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
}
