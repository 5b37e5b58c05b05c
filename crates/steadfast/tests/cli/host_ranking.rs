//! Hosts ranked by their figures, and their distances from the others, compared with what Python
//! finds with DuckDB in the same files by the rules of docs/fleet.md (`ranked_hosts.py`).

use super::fixtures::{Arguments, TestDirectory};
use super::synthetic_captures::{
    CaptureChoice, SECOND, answer, assert_same, conditions, counted, ios, write,
};
use steadfast_domain::io_event::{CapturePart, RESPONSE_UNKNOWN};
use steadfast_domain::{CaptureConditions, IoEvent};

const RANKS: [&str; 8] = ["iops", "bytes", "mean", "max", "qd", "reads", "seq", "failed"];

/// I/Os of one of seven hosts, the last of which is slow.
fn ios_of(all: &[IoEvent], host: usize) -> Vec<IoEvent> {
    let ios = &all[host * 1_400..][..1_300 + host * 11];
    let slower = if host == 6 { 50 } else { 1 };
    let moved = |io: &IoEvent| IoEvent {
        issued_ns: io.issued_ns - ios[0].issued_ns,
        response_ns: match io.response_ns {
            RESPONSE_UNKNOWN => RESPONSE_UNKNOWN,
            known => known * slower,
        },
        ..*io
    };
    ios.iter().map(moved).collect()
}

#[test]
fn hosts_and_their_distances_are_as_python_ranks_them() {
    let place = &TestDirectory::new();
    let (all, mut files, mut arguments) = (ios(CaptureChoice::First), Vec::new(), Vec::new());
    for host in 0..7 {
        let ios = ios_of(&all, host);
        let last = ios.iter().map(|io| io.issued_ns).max().unwrap();
        let lasted_ns = last + (1 + host as u64 * host as u64) * 100 * SECOND;
        let conditions = conditions(CaptureChoice::First);
        let conditions = CaptureConditions {
            host: Some(format!("h{host}")),
            part: Some(CapturePart { capture: format!("c{host}"), first: 1, last: 1 }),
            began_unix_ns: conditions.began_unix_ns.map(|ns| ns + host as u64 * 77 * SECOND),
            lasted_ns,
            ..conditions
        };
        let file = format!("{host}.parquet");
        write(&place.join(&file), conditions, ios);
        arguments.extend([file.clone(), lasted_ns.to_string()]);
        files.push(file);
    }
    let script = include_str!("ranked_hosts.py");
    let Some(counted) = counted(place, script, &arguments.words()) else { return };
    for rank in RANKS {
        let found = answer(place, &format!("hosts {} --rank {rank}", files.join(" ")));
        assert_same(&found["hosts"], &counted[rank], rank);
    }
    assert!(counted["mean"][0]["outlier"] == true && counted["mean"][6]["outlier"] == false);
}
