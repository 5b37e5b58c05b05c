//! Text formats of published traces, and the evidence by which they are recognized.

use super::columns::event_of;
use super::input::{FittingFormat, ImportInput};
use super::lines::LineReader;
use super::plan::ColumnPlan;
use super::rows::{LineRows, TableRows};
use std::io::Cursor;
use std::ops::RangeInclusive;
use steadfast_domain::IoOp;

/// A text format with fixed columns.
#[derive(Debug)]
pub(super) struct TextFormat {
    /// Name on the command line.
    pub id: &'static str,
    /// Name in the trace's conditions.
    pub name: &'static str,
    /// Columns, in the grammar of [`ColumnPlan::parse`].
    columns: &'static str,
    /// Number of columns of a line.
    width: RangeInclusive<usize>,
    /// Number of the column with the format's version, which is the same in every row.
    version: Option<usize>,
    /// Operations as the format writes them, in lower case, and their meanings.
    ops: &'static [(&'static str, IoOp)],
    /// First line of the published files, or of their documentation, which proves the format.
    header: Option<&'static str>,
    /// Evidence that the columns of a table have the units of the format.
    proof: UnitProof,
}

/// Evidence for the units of a text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitProof {
    /// The times are clock times only in the unit of the format, and the sizes and offsets are
    /// whole sectors if they are bytes.
    ClockAndSectors,
    /// The last column is an MD5 digest of the written data.
    Digest,
    /// None: other tables have the same columns in other units.
    Absent,
}

const LETTER_OPS: &[(&str, IoOp)] = &[("r", IoOp::Read), ("w", IoOp::Write)];
const WORD_OPS: &[(&str, IoOp)] = &[("read", IoOp::Read), ("write", IoOp::Write)];
/// Operation codes of SCSI's reads and writes.
const SCSI_OPS: &[(&str, IoOp)] = &[
    ("8", IoOp::Read),
    ("08", IoOp::Read),
    ("28", IoOp::Read),
    ("88", IoOp::Read),
    ("a8", IoOp::Read),
    ("a", IoOp::Write),
    ("0a", IoOp::Write),
    ("2a", IoOp::Write),
    ("8a", IoOp::Write),
    ("aa", IoOp::Write),
];

/// Sources: README files of SNIA IOTTA 387, 411 and 4928, of the Alibaba and Tencent traces, the
/// SPC trace file format 1.0.1, libCacheSim's sample of CloudPhysics, and fio's documentation.
pub(super) const TEXT_FORMATS: [TextFormat; 8] = [
    TextFormat {
        id: "msr-cambridge",
        name: "MSR Cambridge CSV",
        columns: "time=1:100ns:filetime,device=2,device=3,op=4,offset=5,bytes=6,response=7:100ns",
        width: 7..=7,
        version: None,
        ops: WORD_OPS,
        header: Some("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"),
        proof: UnitProof::ClockAndSectors,
    },
    TextFormat {
        id: "alibaba",
        name: "Alibaba block trace CSV",
        columns: "device=1,op=2,offset=3,bytes=4,time=5:us:unix",
        width: 5..=5,
        version: None,
        ops: LETTER_OPS,
        header: Some("device_id,opcode,offset,length,timestamp"),
        proof: UnitProof::ClockAndSectors,
    },
    TextFormat {
        id: "tencent",
        name: "Tencent block trace CSV",
        columns: "time=1:s:unix,offset=2:sectors,bytes=3:sectors,op=4,device=5",
        width: 5..=5,
        version: None,
        ops: &[("0", IoOp::Read), ("1", IoOp::Write)],
        header: Some("Timestamp,Offset,Size,IOType,VolumeID"),
        proof: UnitProof::Absent,
    },
    TextFormat {
        id: "systor17",
        name: "Systor '17 CSV",
        columns: "time=1:s:unix,response=2:s,op=3,device=4,offset=5,bytes=6",
        width: 6..=6,
        version: None,
        ops: &[("r", IoOp::Read), ("w", IoOp::Write), ("", IoOp::Other)],
        header: Some("Timestamp,Response,IOType,LUN,Offset,Size"),
        proof: UnitProof::Absent,
    },
    TextFormat {
        id: "spc",
        name: "SPC trace file",
        columns: "device=1,offset=2:sectors,bytes=3,op=4,time=5:s",
        width: 5..=16,
        version: None,
        ops: LETTER_OPS,
        header: None,
        proof: UnitProof::Absent,
    },
    TextFormat {
        id: "fiu",
        name: "FIU trace",
        columns: "time=1:ns,pid=2,command=3,offset=4:sectors,bytes=5:sectors,op=6,device=7,\
                  device=8,separator=space,columns=9",
        width: 8..=9,
        version: None,
        ops: LETTER_OPS,
        header: None,
        proof: UnitProof::Digest,
    },
    TextFormat {
        id: "cloudphysics-csv",
        name: "CloudPhysics CSV",
        columns: "time=2:s,op=3,bytes=4,offset=5:sectors",
        width: 5..=5,
        version: Some(1),
        ops: SCSI_OPS,
        header: None,
        proof: UnitProof::Absent,
    },
    TextFormat {
        id: "fio-iolog-1",
        name: "fio iolog version 1",
        columns: "time=none,op=1,offset=2,bytes=3",
        width: 3..=3,
        version: None,
        ops: &[("0", IoOp::Read), ("1", IoOp::Write), ("2", IoOp::Discard)],
        header: None,
        proof: UnitProof::Absent,
    },
];

/// Number of lines examined; at least half of them must follow a format.
const DECIDING_LINES: u64 = 64;

impl TextFormat {
    /// Returns the plan of the columns; `None` if the table above has a mistake.
    pub(super) fn plan(&self) -> Option<ColumnPlan> {
        let plan = ColumnPlan::parse(self.columns).ok()?;
        // A row with another operation is one of another format.
        let operations = self.ops.iter().flat_map(|(text, op)| {
            let mut capitalized = (*text).to_owned();
            if let Some(first) = capitalized.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            let mut spellings = vec![(*text).to_owned(), capitalized, text.to_ascii_uppercase()];
            spellings.dedup();
            spellings.into_iter().map(|text| (text, *op))
        });
        Some(ColumnPlan {
            name: self.name.to_owned(),
            operations: operations.collect(),
            is_published: true,
            constant: self.version.into_iter().collect(),
            ..plan
        })
    }

    /// Returns the format if at least half of the first lines of a text follow it. A header or a
    /// damaged line does not prevent recognition; the importer reports its position.
    fn fit(&self, text: &str) -> Option<FittingFormat> {
        let plan = self.plan()?;
        let content = Cursor::new(text.as_bytes());
        let lines =
            LineReader::new(ImportInput { name: String::new(), content: Box::new(content) });
        let mut rows = LineRows::new(&plan, lines);
        let (mut examined, mut followed, mut proofs) = (0, 0, 0);
        while examined < DECIDING_LINES && rows.advance().unwrap_or(false) {
            examined += 1;
            // A table that names its own columns is of another format.
            if examined == 1 && names_columns(&rows) && self.proof == UnitProof::Absent {
                return None;
            }
            let has_width = self.width.contains(&rows.width());
            let Some(io) = event_of(&plan, &rows).filter(|_| has_width) else { continue };
            followed += 1;
            proofs += u64::from(match self.proof {
                UnitProof::ClockAndSectors => {
                    io.bytes > 0 && io.bytes.is_multiple_of(512) && io.offset.is_multiple_of(512)
                }
                UnitProof::Digest => rows.get(rows.width()).is_some_and(is_digest),
                UnitProof::Absent => false,
            });
        }
        let is_fit = followed > 0 && followed * 2 >= examined;
        let is_proven = proofs > 0 && proofs * 2 >= examined;
        is_fit.then_some(FittingFormat { name: self.id, is_proven })
    }
}

/// Returns true if every column of a line begins with a letter.
fn names_columns(row: &LineRows<'_>) -> bool {
    row.columns().iter().all(|column| column.starts_with(char::is_alphabetic))
}

fn is_digest(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Returns the format with this published header; `None` if there is none.
pub(super) fn with_header(line: &str) -> Option<&'static TextFormat> {
    TEXT_FORMATS.iter().find(|format| format.header == Some(line.trim()))
}

/// Returns the formats that the beginning of a text fits.
pub(super) fn fitting_formats(beginning: &str) -> impl Iterator<Item = FittingFormat> {
    // The last line may be incomplete.
    let text = beginning.rsplit_once('\n').map_or(beginning, |(whole, _)| whole);
    TEXT_FORMATS.iter().filter_map(move |format| format.fit(text))
}
