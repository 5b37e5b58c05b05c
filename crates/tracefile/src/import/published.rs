//! Published traces in columns of text, and the recognition of their lines.

use super::columns::event_of;
use super::input::ImportInput;
use super::lines::LineReader;
use super::plan::{ColumnPlan, OperationSource, TimeEpoch};
use super::rows::{LineRows, TableRows};
use std::io::Cursor;
use std::ops::RangeInclusive;
use steadfast_domain::IoEvent;

/// A text format with fixed columns.
#[derive(Debug)]
pub(super) struct PublishedFormat {
    /// Name on the command line.
    pub id: &'static str,
    /// Name in the trace's conditions.
    pub name: &'static str,
    /// Columns, in the grammar of [`ColumnPlan::parse`].
    columns: &'static str,
    /// Number of columns of a line.
    width: RangeInclusive<usize>,
    /// Operations as the format writes them, in lower case.
    ops: &'static [&'static str],
    /// Returns whether an I/O is plausible in the format.
    is_usual: fn(&IoEvent) -> bool,
}

const LETTERS: &[&str] = &["r", "w"];

/// Sources: README files of SNIA IOTTA 387, 411 and 4928, of the Alibaba and Tencent traces, the
/// SPC trace file format 1.0.1, libCacheSim's sample of CloudPhysics, and fio's documentation.
pub(super) const PUBLISHED: [PublishedFormat; 8] = [
    PublishedFormat {
        id: "msr-cambridge",
        name: "MSR Cambridge CSV",
        columns: "time=1:100ns:filetime,device=2,device=3,op=4,offset=5,bytes=6,response=7:100ns",
        width: 7..=7,
        ops: &["read", "write"],
        is_usual: |_| true,
    },
    PublishedFormat {
        id: "alibaba",
        name: "Alibaba block trace CSV",
        columns: "device=1,op=2,offset=3,bytes=4,time=5:us:unix",
        width: 5..=5,
        ops: LETTERS,
        is_usual: |_| true,
    },
    PublishedFormat {
        id: "tencent",
        name: "Tencent block trace CSV",
        columns: "time=1:s:unix,offset=2:sectors,bytes=3:sectors,op=4,device=5",
        width: 5..=5,
        ops: &["0", "1"],
        is_usual: |_| true,
    },
    PublishedFormat {
        id: "systor17",
        name: "Systor '17 CSV",
        columns: "time=1:s:unix,response=2:s,op=3:R=read;W=write;=other,device=4,offset=5,bytes=6",
        width: 6..=6,
        ops: &["r", "w", ""],
        is_usual: |_| true,
    },
    PublishedFormat {
        id: "spc",
        name: "SPC trace file",
        columns: "device=1,offset=2:sectors,bytes=3,op=4,time=5:s",
        width: 5..=16,
        ops: LETTERS,
        is_usual: |_| true,
    },
    PublishedFormat {
        id: "fiu",
        name: "FIU trace",
        columns: "time=1:ns,pid=2,command=3,offset=4:sectors,bytes=5:sectors,op=6,device=7,\
                  device=8,separator=space,columns=9",
        width: 8..=9,
        ops: LETTERS,
        is_usual: |_| true,
    },
    PublishedFormat {
        id: "cloudphysics-csv",
        name: "CloudPhysics CSV",
        columns: "time=2:s,op=3,bytes=4,offset=5:sectors",
        width: 5..=5,
        ops: &["8", "a", "28", "2a", "88", "8a", "a8", "aa"],
        // An 8 is also the usual size in sectors of other tables.
        is_usual: |io| io.bytes > 0 && io.bytes.is_multiple_of(512),
    },
    PublishedFormat {
        id: "fio-iolog-1",
        name: "fio iolog version 1",
        columns: "time=none,op=1:0=read;1=write;2=discard,offset=2,bytes=3",
        width: 3..=3,
        ops: &["0", "1", "2"],
        is_usual: |io| {
            io.bytes > 0 && io.bytes.is_multiple_of(512) && io.offset.is_multiple_of(512)
        },
    },
];

/// Formats whose columns other tables have as well, in other units: a header that names columns shows
/// such a table.
const WITHOUT_HEADER: [&str; 3] = ["tencent", "spc", "fio-iolog-1"];

/// Number of lines examined; at least half of them must follow a format.
const DECIDING_LINES: u64 = 64;

/// Clock times of a trace lie between 1990 and 2100, in nanoseconds since 1970.
const CLOCK_TIMES: RangeInclusive<u64> = 631_152_000_000_000_000..=4_102_444_800_000_000_000;

impl PublishedFormat {
    /// Returns the plan of the columns; `None` if the table above has a mistake.
    pub(super) fn plan(&self) -> Option<ColumnPlan> {
        let plan = ColumnPlan::parse(self.columns).ok()?;
        Some(ColumnPlan { name: self.name.to_owned(), ..plan })
    }

    /// Returns whether at least half of the first lines of a text follow the format. A header or a
    /// damaged line does not prevent recognition; the importer reports its position.
    fn matches(&self, plan: &ColumnPlan, text: &str) -> bool {
        let content = Cursor::new(text.as_bytes());
        let lines =
            LineReader::new(ImportInput { name: String::new(), content: Box::new(content) });
        let mut rows = LineRows::new(plan, lines);
        let (mut lines, mut good) = (0, 0);
        while lines < DECIDING_LINES && rows.advance().unwrap_or(false) {
            lines += 1;
            if lines == 1 && names_columns(&rows) && WITHOUT_HEADER.contains(&self.id) {
                return false;
            }
            good += u64::from(self.is_line(plan, &rows));
        }
        good > 0 && good * 2 >= lines
    }

    fn is_line(&self, plan: &ColumnPlan, row: &LineRows<'_>) -> bool {
        let is_op = match plan.op {
            OperationSource::Column(number) => row
                .get(number)
                .is_some_and(|op| self.ops.iter().any(|ours| ours.eq_ignore_ascii_case(op.trim()))),
            OperationSource::Always(_) => true,
        };
        let is_clock = |io: &IoEvent| {
            let is_usual = |time: u64| CLOCK_TIMES.contains(&time);
            plan.epoch.is_none_or(|epoch: TimeEpoch| {
                // A time before 1970 is none of a trace's clock.
                epoch.unix_ns(io.issued_ns).is_some_and(is_usual)
            })
        };
        is_op
            && self.width.contains(&row.width())
            && event_of(plan, row).is_some_and(|io| is_clock(&io) && (self.is_usual)(&io))
    }
}

/// Returns true if every column of a line begins with a letter.
fn names_columns(row: &LineRows<'_>) -> bool {
    row.all().iter().all(|column| column.starts_with(char::is_alphabetic))
}

/// Returns the published format of a text, recognized by its beginning.
pub(super) fn recognized(beginning: &str) -> Option<&'static PublishedFormat> {
    // The last line may be incomplete.
    let text = match beginning.rsplit_once('\n') {
        Some((whole, _)) => whole,
        None => beginning,
    };
    PUBLISHED.iter().find(|format| format.plan().is_some_and(|plan| format.matches(&plan, text)))
}
