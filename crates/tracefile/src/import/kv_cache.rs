//! Derives I/Os from traces of requests to language models, whose KV cache lies on a drive.
//!
//! A request lists the blocks of KV cache of its prompt by their hashes. A block that an earlier
//! request listed is read, a new one is written. Formats: README files of Mooncake and of the
//! Qwen-Bailian traces, LMCache's chunk statistics with the strategy `file_hash`.

use super::columns::{import_rows, scaled};
use super::input::{EventSink, FittingFormat, ImportError, ImportInput, ImportOutcome};
use super::lines::LineReader;
use super::plan::{ColumnPlan, ColumnUnit};
use super::rows::TableRows;
use serde::Deserialize;
use std::collections::HashMap;
use steadfast_domain::text::excerpt;

/// KV cache of a token in bytes, for a model with 80 layers and 8 KV heads of 128 values of 16 bits
/// (the shape of Llama 3 70B): a key and a value of each.
const TOKEN_BYTES: u32 = 2 * 80 * 8 * 128 * 2;

/// Longest accepted line in bytes: a request with a million tokens in blocks of 16.
const LONGEST_LINE: usize = 1 << 20;
/// Longest accepted hash of a block in bytes: a SHA-512 in hexadecimal digits.
const HASH_BYTES_MAX: usize = 128;
const BLOCKS_MAX: usize = 1 << 23;

/// A format of requests, one JSON object per line.
#[derive(Debug)]
pub(super) struct KvFormat {
    /// Name on the command line.
    pub id: &'static str,
    /// Name in the trace's conditions.
    name: &'static str,
    /// Plan of the rows that the requests are turned into.
    columns: &'static str,
    unit: ColumnUnit,
    /// Tokens of a block.
    tokens: u32,
    /// Member that only this format has.
    mark: Option<&'static str>,
}

pub(super) const KV_FORMATS: [KvFormat; 3] = [
    KvFormat {
        id: "mooncake",
        name: "Mooncake KV cache requests",
        columns: "time=1:ms,op=2,offset=3,bytes=4",
        unit: ColumnUnit::Milliseconds,
        tokens: 512,
        mark: None,
    },
    KvFormat {
        id: "bailian",
        name: "Qwen-Bailian KV cache requests",
        columns: "time=1:s,op=2,offset=3,bytes=4",
        unit: ColumnUnit::Seconds,
        tokens: 16,
        mark: Some("\"chat_id\""),
    },
    KvFormat {
        id: "lmcache",
        name: "LMCache chunk hashes",
        columns: "time=1:s:unix,op=2,offset=3,bytes=4",
        unit: ColumnUnit::Seconds,
        tokens: 256,
        mark: Some("\"chunk_hashes\""),
    },
];

/// The hash of a block.
#[derive(Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged, expecting = "a hash is neither a whole number of 64 bits nor a text")]
enum KvBlockHash {
    Number(u64),
    Signed(i64),
    Text(Box<str>),
}

/// A request. Other members are ignored.
#[derive(Debug, Deserialize)]
struct KvRequest {
    timestamp: serde_json::Number,
    input_length: Option<u64>,
    #[serde(alias = "chunk_hashes")]
    hash_ids: Vec<KvBlockHash>,
}

impl KvRequest {
    fn parse(line: &str) -> Result<Self, String> {
        // serde would also accept a list of the members' values.
        if !line.trim_start().starts_with('{') {
            return Err("no object".to_owned());
        }
        serde_json::from_str(line).map_err(|error| {
            let error = error.to_string();
            error.split(" at line ").next().unwrap_or_default().to_owned()
        })
    }
}

impl KvFormat {
    /// Returns the default size of a block in bytes.
    pub(super) fn block_bytes(&self) -> u32 {
        self.tokens * TOKEN_BYTES
    }

    /// Returns the format whose distinguishing member a line has; `None` if it has none.
    fn marked(line: &str) -> Option<&'static KvFormat> {
        let has_mark = |format: &&KvFormat| format.mark.is_some_and(|mark| line.contains(mark));
        KV_FORMATS.iter().find(has_mark)
    }

    /// Returns whether the number of blocks of a request, or a member, proves the format; `None` if
    /// the line is not a request of this format.
    fn fit(&self, line: &str) -> Option<bool> {
        let request = KvRequest::parse(line).ok()?;
        if let Some(marked) = KvFormat::marked(line) {
            return (marked.id == self.id).then_some(true);
        }
        let length = self.mark.is_none().then_some(request.input_length?)?;
        let (blocks, tokens) = (request.hash_ids.len() as u64, u64::from(self.tokens));
        Some(blocks == length / tokens || blocks == length.div_ceil(tokens))
    }
}

/// Returns the format that at least half of the first lines of a text follow. It is proven if at
/// least half of them prove it.
pub(super) fn fitting_format(beginning: &str) -> Option<FittingFormat> {
    // The last line may be incomplete.
    let text = beginning.rsplit_once('\n').map_or(beginning, |(whole, _)| whole);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(64).collect();
    KV_FORMATS.iter().find_map(|format| {
        let requests: Vec<bool> = lines.iter().filter_map(|line| format.fit(line)).collect();
        let proofs = requests.iter().filter(|is_proof| **is_proof).count();
        let is_fit = !requests.is_empty() && requests.len() * 2 >= lines.len();
        let is_proven = proofs * 2 >= lines.len();
        is_fit.then_some(FittingFormat { name: format.id, is_proven })
    })
}

/// Reads requests and delivers an I/O for each block.
pub(super) fn import(
    format: &'static KvFormat,
    block_bytes: u32,
    input: ImportInput<'_>,
    sink: &mut EventSink<'_>,
) -> ImportOutcome {
    let plan = ColumnPlan::parse(format.columns).map_err(ImportError::Unsuitable)?;
    let plan = ColumnPlan { name: format.name.to_owned(), header: Some(false), ..plan };
    let mut rows = KvRows {
        format,
        lines: LineReader::new(input).with_longest(LONGEST_LINE),
        block_bytes,
        blocks: HashMap::new(),
        requests: 0,
        without_blocks: 0,
        time: String::new(),
        pending: Vec::new().into_iter(),
        row: Default::default(),
        cut: None,
    };
    let mut imported = import_rows(&plan, &mut rows, sink)?;
    imported.records = rows.requests;
    imported.passed_over = rows.without_blocks;
    imported.conditions.remarks.push(format!(
        "The I/Os are derived, not recorded: {} requests for {} blocks of KV cache of {} bytes each. A \
         block is written when it is first listed and read at every later mention; it lies \
         behind the blocks that are older. All I/Os of a request have its time.",
        rows.requests,
        rows.blocks.len(),
        block_bytes
    ));
    imported.add_cut_ends(rows.cut.into_iter().collect());
    Ok(imported)
}

/// The blocks of all requests as rows: time, operation, offset, size.
struct KvRows<'r> {
    format: &'static KvFormat,
    lines: LineReader<'r>,
    block_bytes: u32,
    /// Positions of the blocks, in the order of their first use.
    blocks: HashMap<KvBlockHash, u64>,
    requests: u64,
    without_blocks: u64,
    /// Time of the last request read.
    time: String,
    /// Blocks of the last request that have no row yet.
    pending: std::vec::IntoIter<KvBlockHash>,
    row: [String; 4],
    /// Sentence that discloses a cut last line.
    cut: Option<String>,
}

impl KvRows<'_> {
    /// Parses and checks the request in the last line read.
    fn request(&self) -> Result<KvRequest, String> {
        let line = self.lines.last();
        let request = KvRequest::parse(line).map_err(|what| {
            let found = excerpt(line.trim());
            format!("expected an object with timestamp and hash_ids ({what}), found '{found}'")
        })?;
        // Each format has times in a unit of its own.
        let marked = KvFormat::marked(line);
        if marked.map(|format| format.id) != self.format.mark.map(|_| self.format.id) {
            let found = marked.map_or("of none of the formats", |format| format.name);
            return Err(format!(
                "expected a request of {}, found {found}: '{}'",
                self.format.name,
                excerpt(line.trim())
            ));
        }
        let is_long = |hash: &KvBlockHash| matches!(hash, KvBlockHash::Text(text) if text.len() > HASH_BYTES_MAX);
        if request.hash_ids.iter().any(is_long) {
            return Err(format!("expected hashes of at most {HASH_BYTES_MAX} bytes"));
        }
        let time = request.timestamp.to_string();
        match scaled(&time, self.format.unit) {
            Some(_) => Ok(request),
            None => Err(format!("expected a time in timestamp, found '{time}'")),
        }
    }

    /// Reads the next request; returns false after the last.
    fn read(&mut self) -> Result<bool, ImportError> {
        if self.lines.next()?.is_none() {
            return Ok(false);
        }
        match self.request() {
            Ok(request) => {
                self.without_blocks += u64::from(request.hash_ids.is_empty());
                self.requests += 1;
                self.time = request.timestamp.to_string();
                self.pending = request.hash_ids.into_iter();
                Ok(true)
            }
            Err(_) if self.lines.is_open_ended() && self.requests > 0 => {
                self.cut = Some(self.lines.cut_line());
                Ok(false)
            }
            Err(what) => Err(self.lines.malformed(what, self.requests)),
        }
    }
}

impl TableRows for KvRows<'_> {
    fn advance(&mut self) -> Result<bool, ImportError> {
        let hash = loop {
            if let Some(hash) = self.pending.next() {
                break hash;
            }
            if !self.read()? {
                return Ok(false);
            }
        };
        let (position, op) = match self.blocks.get(&hash) {
            Some(position) => (*position, "read"),
            None if self.blocks.len() == BLOCKS_MAX => {
                let what = format!("more than {BLOCKS_MAX} blocks; split the trace");
                return Err(self.lines.malformed(what, self.requests - 1));
            }
            None => {
                let position = self.blocks.len() as u64;
                self.blocks.insert(hash, position);
                (position, "write")
            }
        };
        let offset = position * u64::from(self.block_bytes);
        let (time, bytes) = (self.time.clone(), self.block_bytes.to_string());
        self.row = [time, op.to_owned(), offset.to_string(), bytes];
        Ok(true)
    }

    fn get(&self, number: usize) -> Option<&str> {
        self.row.get(number.checked_sub(1)?).map(String::as_str)
    }

    fn width(&self) -> usize {
        self.row.len()
    }

    fn number(&self) -> u64 {
        self.lines.number
    }

    fn unit(&self) -> &'static str {
        "line"
    }

    /// Returns the error for the last request, after the requests before it.
    fn malformed(&self, what: String, _: u64) -> ImportError {
        self.lines.malformed(what, self.requests.saturating_sub(1))
    }
}
