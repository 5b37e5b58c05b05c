//! Time zone of this host.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use steadfast_domain::TimeZone;
use steadfast_domain::io_event::TimeZoneChange;

unsafe extern "C" {
    /// Reads the zone from `TZ` or /etc/localtime; `localtime_r` is not required to do so.
    fn tzset();
}

/// Returns the host's offset from UTC and the name of its zone at a time in milliseconds since 1970
/// (UTC); `None` if the C library cannot convert the time.
pub fn zone(unix_ms: u64) -> Option<TimeZone> {
    let seconds = libc::time_t::try_from(unix_ms / 1000).ok()?;
    let mut time = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: `tzset` takes no argument; it reads the environment, which nothing in this process
    // writes.
    unsafe { tzset() };
    // SAFETY: both pointers are valid for the call.
    if unsafe { libc::localtime_r(&raw const seconds, time.as_mut_ptr()) }.is_null() {
        return None;
    }
    // SAFETY: an all-zero `tm` is valid, and the call has filled it in.
    let time = unsafe { time.assume_init() };
    let offset_s = i32::try_from(time.tm_gmtoff).ok()?;
    let name = (!time.tm_zone.is_null()).then(|| {
        // SAFETY: the C library keeps zone names for the life of the process.
        unsafe { CStr::from_ptr(time.tm_zone) }.to_string_lossy().into_owned()
    });
    Some(TimeZone { offset_s, name, changes: Vec::new() })
}

/// Returns a change of this host's offset from UTC between two times, to the second; `None` if the
/// offset is the same at both. Times are in milliseconds since 1970 (UTC).
pub fn zone_change(from_unix_ms: u64, to_unix_ms: u64) -> Option<TimeZoneChange> {
    let (mut before, mut after) = (from_unix_ms / 1000, to_unix_ms / 1000);
    let offset_s = |second: u64| Some(zone(second.saturating_mul(1000))?.offset_s);
    let old = offset_s(before)?;
    if offset_s(after)? == old {
        return None;
    }
    while after.saturating_sub(before) > 1 {
        let middle = before.midpoint(after);
        if offset_s(middle)? == old { before = middle } else { after = middle }
    }
    let TimeZone { offset_s, name, .. } = zone(after.saturating_mul(1000))?;
    Some(TimeZoneChange { at_unix_s: after, offset_s, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Compares with `date`, which uses the same library in another way.
    #[test]
    fn the_zone_is_that_of_date() {
        let (winter, summer) = (1_767_225_600, 1_782_864_000);
        for at in [winter, summer] {
            let output = Command::new("date").args(["-d", &format!("@{at}"), "+%z %Z"]).output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            let (offset, name) = text.trim().split_once(' ').unwrap();
            let found = zone(at * 1000).unwrap();
            assert_eq!(found.offset_s, offset.parse::<TimeZone>().unwrap().offset_s);
            assert_eq!(found.name.as_deref(), Some(name));
        }
    }
}
