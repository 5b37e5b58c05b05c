//! Writes a result in the format of version 8.

use super::saved::{DiskMarkDirection, DiskMarkTest, SavedResult};
use std::fmt::Write;

/// Ruler above and below the heading.
const RULER: &str =
    "------------------------------------------------------------------------------";

/// Returns the text of a result, with CRLF line endings as the program writes them.
pub fn write(saved: &SavedResult) -> String {
    let mut text = format!(
        "{RULER}\n{}\n{RULER}\n\
         * MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n\
         * KB = 1000 bytes, KiB = 1024 bytes\n",
        saved.heading
    );
    for direction in DiskMarkDirection::ALL {
        let tests: Vec<&DiskMarkTest> =
            saved.tests.iter().filter(|t| t.direction == direction).collect();
        if tests.is_empty() {
            continue;
        }
        let share = match (direction, saved.mix) {
            (DiskMarkDirection::Mix, Some(reads)) => {
                format!(" Read {reads}%/Write {}%", 100u8.saturating_sub(reads))
            }
            _ => String::new(),
        };
        let _ = writeln!(text, "\n[{}]{share}", direction.name());
        tests.iter().for_each(|test| text.push_str(&line(test)));
    }
    text.push('\n');
    for (name, value) in &saved.facts {
        let _ = writeln!(text, "{name:>7}: {value}");
    }
    text.replace('\n', "\r\n")
}

fn line(test: &DiskMarkTest) -> String {
    let order = if test.random { "RND" } else { "SEQ" };
    let size = test.size.map(|size| size.binary().replace(' ', "")).unwrap_or_default();
    let demand = format!("(Q={:>3}, T={:>2})", test.queues.unwrap_or(1), test.threads.unwrap_or(1));
    let mut line = format!("  {order} {size:>7} {demand}: {:>9.3} MB/s", test.mb);
    if let Some(iops) = test.iops {
        let _ = write!(line, " [{iops:>9.1} IOPS]");
    }
    if let Some(micros) = test.micros {
        let _ = write!(line, " <{micros:>9.2} us>");
    }
    line + "\n"
}
