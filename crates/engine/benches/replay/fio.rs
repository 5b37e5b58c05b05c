//! A trace played by fio.

use crate::shared::Fallible;
use crate::trace::SyntheticTrace;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use steadfast_domain::Op;

/// Plays a trace. Returns the time that fio took, in nanoseconds.
pub fn play(path: &Path, trace: SyntheticTrace, outstanding: u32) -> Fallible<f64> {
    let directory = tempfile::tempdir()?;
    let log = directory.path().join("trace.log");
    let name = path.display();
    let mut text = format!("fio version 3 iolog\n0 {name} add\n0 {name} open\n");
    let mut last = 0;
    for io in trace.all() {
        // fio reads microseconds.
        last = io.due.0.div_ceil(1000);
        let op = if io.op == Op::Read { "read" } else { "write" };
        writeln!(text, "{} {name} {op} {} {}", io.due.0 / 1000, io.offset.0, io.size.0)?;
    }
    writeln!(text, "{last} {name} close")?;
    fs::write(&log, text)?;
    let output = Command::new("fio")
        .args(["--name=bench", "--ioengine=io_uring", "--thread", "--direct=1"])
        .args(["--output-format=json", "--invalidate=0", "--allow_file_create=0"])
        .arg(format!("--iodepth={outstanding}"))
        .arg(format!("--read_iolog={}", log.display()))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let report: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..])?;
    let runtime = |direction: &str| report["jobs"][0][direction]["runtime"].as_f64();
    let milliseconds = runtime("read").into_iter().chain(runtime("write")).fold(0.0, f64::max);
    Ok(milliseconds * 1e6)
}
