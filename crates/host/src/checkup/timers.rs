//! Scheduled activity that may start during the run: timers, cron, self-tests, and checks of md
//! arrays.

use super::running_programs::runs;
use super::subject::CheckSubject;
use super::topic::CheckTopic;
use crate::device_uses::disks_below;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, entries, file_name, read_text};
use crate::tool::{InstalledTools, SYSTEMCTL, Tools};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use steadfast_domain::record::Check;

const TIMERS: CheckTopic = CheckTopic("timers", "systemd timers");
const CRON: CheckTopic = CheckTopic("cron", "cron");
const TESTS: CheckTopic = CheckTopic("self-test-schedule", "Scheduled self-tests");
const ARRAYS: CheckTopic = CheckTopic("md-sync", "md arrays");

const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

/// Name prefixes of timers and cron tables that load disks.
const DISK: [&str; 14] = [
    "fstrim", "mdcheck", "mdadm", "raid-check", "e2scrub", "btrfs-", "zfs-", "zpool-", "updatedb",
    "plocate", "mlocate", "xfs_scrub", "snapper", "smart",
];

/// Name prefixes of timers and cron tables that load the processors and the boot disk.
const OTHER: [&str; 9] =
    ["apt-", "unattended", "man-db", "dnf-", "packagekit", "fwupd", "clamav", "aide", "backup"];

pub(super) fn checks(subject: &CheckSubject<'_>) -> Vec<Check> {
    let roots = subject.roots;
    let mut checks = vec![timers(roots)];
    checks.extend(cron(roots));
    checks.extend(self_tests(roots));
    checks.extend(arrays(subject));
    checks
}

/// Returns true if a unit or cron table is known to disturb measurements.
fn disturbs(name: &str) -> bool {
    DISK.iter().chain(&OTHER).any(|known| name.starts_with(known))
}

/// Returns the timers enabled by an administrator or a package: the links in `*.wants`.
fn enabled_timers(roots: &SystemRoots) -> BTreeSet<String> {
    entries(&roots.etc.join("systemd/system"))
        .iter()
        .filter(|directory| file_name(directory).ends_with(".wants"))
        .flat_map(|directory| entries(directory))
        .map(|link| file_name(&link))
        .filter(|name| name.ends_with(".timer"))
        .collect()
}

fn timers(roots: &SystemRoots) -> Check {
    // The directory that sd_booted(3) looks for.
    if !roots.run.join("systemd/system").is_dir() {
        return TIMERS.good("systemd is not running");
    }
    let next_runs = InstalledTools
        .run(SYSTEMCTL, &["list-timers", "--all", "--output=json"], QUERY_TIMEOUT)
        .ok()
        .and_then(|output| parse_timers(&output))
        .unwrap_or_default();
    let mut names = enabled_timers(roots);
    names.extend(next_runs.keys().cloned());
    names.retain(|name| disturbs(name));
    if names.is_empty() {
        return TIMERS.good("none enabled that is known to disturb measurements");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let texts: Vec<String> = names
        .iter()
        .map(|name| match next_runs.get(name).copied().flatten() {
            Some(next) => format!("{name} ({})", due(next, now)),
            None => name.clone(),
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    TIMERS.attention(
        format!("will run: {}", texts.join(", ")),
        format!("systemctl stop {}  (until the next boot)", names.join(" ")),
    )
}

/// Returns the time until a timer is due, in words.
fn due(next: Duration, now: Duration) -> String {
    match next.checked_sub(now) {
        None => "due now".to_owned(),
        Some(left) if left < Duration::from_secs(3600) => {
            format!("in {} min", left.as_secs().div_ceil(60))
        }
        Some(left) => format!("in {} h", left.as_secs() / 3600),
    }
}

/// Parses the output of `systemctl list-timers --output=json`: the units, each with the time since
/// 1970 (UTC) at which it is due; `None` if it is not scheduled.
fn parse_timers(output: &str) -> Option<BTreeMap<String, Option<Duration>>> {
    let rows: Vec<Value> = serde_json::from_str(output).ok()?;
    let timer = |row: &Value| {
        let next = row.get("next").and_then(Value::as_u64).filter(|next| *next > 0);
        Some((row.get("unit")?.as_str()?.to_owned(), next.map(Duration::from_micros)))
    };
    Some(rows.iter().filter_map(timer).collect())
}

fn cron(roots: &SystemRoots) -> Option<Check> {
    if !runs(roots, &["cron", "crond", "anacron", "fcron"]) {
        return None;
    }
    let places = ["cron.d", "cron.hourly", "cron.daily", "cron.weekly", "cron.monthly"];
    let tables: Vec<String> = places
        .iter()
        .flat_map(|place| entries(&roots.etc.join(place)))
        .filter(|path| disturbs(&file_name(path)))
        .map(|path| relative(&path, roots))
        .collect();
    Some(if tables.is_empty() {
        CRON.good("no table known to disturb measurements")
    } else {
        CRON.attention(
            format!("will run: {}", tables.join(", ")),
            "systemctl stop cron, and start it again after the run",
        )
    })
}

fn relative(path: &Path, roots: &SystemRoots) -> String {
    path.strip_prefix(&roots.etc)
        .map_or_else(|_| file_name(path), |p| format!("/etc/{}", p.display()))
}

/// Checks the configuration of smartd for self-test schedules (`-s`).
fn self_tests(roots: &SystemRoots) -> Option<Check> {
    if !runs(roots, &["smartd"]) {
        return None;
    }
    let text = read_text(&roots.etc.join("smartd.conf"))?;
    let scheduled = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .any(|line| line.split_whitespace().any(|word| word == "-s"));
    Some(if scheduled {
        TESTS.attention(
            "smartd starts self-tests on a schedule (/etc/smartd.conf, -s)",
            "systemctl stop smartd, and start it again after the run",
        )
    } else {
        TESTS.good("smartd has no schedule")
    })
}

fn arrays(subject: &CheckSubject<'_>) -> Option<Check> {
    let own_disks: BTreeSet<SysfsNode> =
        subject.whole.as_ref().map(|whole| disks_below(whole, subject.roots)).unwrap_or_default();
    let mut touched = false;
    let mut actions = Vec::new();
    for array in SysfsNode::all(subject.roots) {
        let Some(action) = array.text("md/sync_action") else { continue };
        if action != "idle" && action != "frozen" {
            touched |= !disks_below(&array, subject.roots).is_disjoint(&own_disks);
            actions.push(format!("{}: {action}{}", array.name, progress(&array)));
        }
    }
    if actions.is_empty() {
        let disks = entries(&subject.roots.sys.join("block"));
        let has_arrays = disks.iter().any(|path| path.join("md").exists());
        return has_arrays.then(|| ARRAYS.good("none is being checked or rebuilt"));
    }
    let advice = "Wait until it ends, or: echo idle > /sys/block/mdN/md/sync_action";
    Some(if touched {
        ARRAYS.bad(actions.join(", "), advice)
    } else {
        ARRAYS.attention(actions.join(", "), advice)
    })
}

/// Formats the progress of an array check (`1234 / 5678` sectors) in percent; empty if unknown.
fn progress(array: &SysfsNode) -> String {
    let text = array.text("md/sync_completed").unwrap_or_default();
    let parsed = text.split_once('/').and_then(|(done, all)| {
        let (done, all) = (done.trim().parse::<f64>().ok()?, all.trim().parse::<f64>().ok()?);
        (all > 0.0).then(|| format!(", {:.0} % done", 100.0 * done / all))
    });
    parsed.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of systemd 252, shortened.
    const LISTED: &str = r#"[
      {"next":1795255200000000,"left":1795255200000000,"last":0,"passed":0,
       "unit":"fstrim.timer","activates":"fstrim.service"},
      {"next":null,"left":null,"last":1795200000000000,"passed":1,
       "unit":"apt-daily.timer","activates":"apt-daily.service"},
      {"next":0,"unit":"odd.timer"}, {"unit":7}, 3]"#;

    #[test]
    fn the_list_of_timers_is_read() {
        let timers = parse_timers(LISTED).unwrap();
        assert_eq!(timers.len(), 3);
        assert_eq!(timers["fstrim.timer"], Some(Duration::from_secs(1_795_255_200)));
        assert_eq!((timers["apt-daily.timer"], timers["odd.timer"]), (None, None));
        for bad in ["", "{}", "NEXT LEFT\n", "[{]"] {
            assert_eq!(parse_timers(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_time_until_a_timer_is_due_is_in_words() {
        let seconds = Duration::from_secs;
        assert_eq!(due(seconds(100), seconds(200)), "due now");
        assert_eq!(due(seconds(290), seconds(200)), "in 2 min");
        assert_eq!(due(seconds(10_000), seconds(200)), "in 2 h");
    }
}
