//! Changes from one capture to another, compared with what Python finds with DuckDB in the same two
//! files by the rules of docs/trace.md (`deltas.py`).

use super::fixtures::{TestDirectory, array};
use super::synthetic_captures::{
    CaptureChoice, LASTED_S, LATER_S, SECOND, answer, assert_same, conditions, counted, ios, write,
};

/// Dimension, alignment, ranking and layer.
const ASKED: [&str; 10] = [
    "stream:clock:iops:0", "stream:start:bytes:0", "stream:start:response:0",
    "process:clock:share:0", "process:clock:response:0", "device:clock:iops:0",
    "device:start:bytes:1", "op:clock:response:0", "cgroup:start:share:0", "file:clock:bytes:1",
];

#[test]
fn changes_are_as_python_finds_them_the_largest_first() {
    let place = &TestDirectory::new();
    for (name, which) in [("a.parquet", CaptureChoice::First), ("b.parquet", CaptureChoice::Second)]
    {
        write(&place.join(name), conditions(which), ios(which));
    }
    let [later, lasted] = [LATER_S, LASTED_S].map(|seconds| (seconds * SECOND).to_string());
    let devices = ["nvme0n1,sda", "sda,nvme0n1,sdb"];
    let numbers = ["a.parquet", "b.parquet", &later, &lasted, devices[0], devices[1]];
    let arguments = [&numbers[..], &ASKED].concat();
    let script = include_str!("deltas.py");
    let Some(counted) = counted(place, script, &arguments) else { return };
    for asked in ASKED {
        let [by, align, rank, layer] = asked.split(':').collect::<Vec<_>>().try_into().unwrap();
        let layer = if layer == "0" { "block" } else { "filesystem" };
        // The clock is the default where captures overlap.
        let alignment = if align == "clock" { "" } else { "--align start" };
        let compare = format!("compare a.parquet b.parquet --by {by} --rank {rank}");
        let found = answer(place, &format!("{compare} --layer {layer} {alignment}"));
        assert_eq!(found["align"], align);
        let names = |rows: &serde_json::Value| -> Vec<String> {
            let rows = array(&rows["deltas"]).iter();
            rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&found), names(&counted[asked]), "{asked}");
        assert_same(&found, &counted[asked], asked);
    }
}
