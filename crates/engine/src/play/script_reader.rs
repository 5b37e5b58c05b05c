//! An open script. Every I/O is checked against what the script announced.

use super::BATCH;
use std::fmt;
use steadfast_domain::script::OpCounts;
use steadfast_domain::{DueIo, Nanos, Op, Script, ScriptError, ScriptLoad};

/// Maximum size of a discard in bytes.
const DISCARD_LIMIT: u64 = 1 << 31;

pub(crate) struct ScriptReader {
    script: Box<dyn Script>,
    pub(crate) load: Box<ScriptLoad>,
    /// I/Os delivered, including those passed over.
    delivered: OpCounts,
    last_due: Nanos,
}

impl fmt::Debug for ScriptReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScriptReader({:?} at {})", self.load, self.delivered.total())
    }
}

impl ScriptReader {
    pub(crate) fn open(load: &ScriptLoad) -> Result<ScriptReader, ScriptError> {
        let closed = || ScriptError {
            name: load.name.clone(),
            ios_done: 0,
            why: "only its description is available; reopen its source".to_owned(),
        };
        let open = load.open.as_ref().ok_or_else(closed)?;
        let script = open()?;
        Ok(ScriptReader {
            script,
            load: Box::new(load.clone()),
            delivered: OpCounts::default(),
            last_due: Nanos::ZERO,
        })
    }

    pub(crate) fn batch() -> Vec<DueIo> {
        Vec::with_capacity(BATCH)
    }

    /// Skips the first `ios` I/Os. They are decoded, but not played.
    pub(crate) fn pass_over(
        &mut self,
        ios: u64,
        batch: &mut Vec<DueIo>,
    ) -> Result<(), ScriptError> {
        while self.delivered.total() < ios {
            let before = self.delivered.total();
            if !self.fill(batch)? {
                return Ok(());
            }
            let surplus = usize::try_from(ios - before).unwrap_or(usize::MAX).min(batch.len());
            batch.drain(..surplus);
        }
        Ok(())
    }

    /// Refills a batch; false at the end of the script.
    pub(crate) fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<bool, ScriptError> {
        batch.clear();
        let reported = self.script.fill(batch)?;
        if reported != batch.len() || reported > BATCH {
            let got = batch.len();
            return Err(self.error(&format!(
                "it reported {reported} I/Os delivered into a batch of {BATCH}, but the batch has \
                 {got}"
            )));
        }
        if let Some(why) = batch.iter().find_map(|io| self.fault(io)) {
            return Err(self.error(&why));
        }
        if reported == 0 && self.delivered != self.load.counts {
            return Err(self.error(&self.changed()));
        }
        Ok(reported > 0)
    }

    /// Returns why an I/O is not one that was announced; `None` if it is. No other I/O is ever
    /// submitted.
    fn fault(&mut self, io: &DueIo) -> Option<String> {
        self.delivered.count(io.op);
        if self.delivered.get(io.op) > self.load.counts.get(io.op) {
            return Some(self.changed());
        }
        let load = &self.load;
        if io.due < self.last_due {
            return Some(format!("an I/O is due {} after one that is due later", io.due));
        }
        self.last_due = io.due;
        if io.op == Op::Flush {
            return None;
        }
        let (offset, size) = (io.offset.0, io.size.0);
        let end = offset.checked_add(size);
        let size_max = if io.op == Op::Discard { DISCARD_LIMIT } else { load.largest.0 };
        let is_within =
            end.is_some_and(|end| end <= load.reach.0) && (1..=size_max).contains(&size);
        let unit = load.unit.0;
        let is_aligned = unit > 0 && offset.is_multiple_of(unit) && size.is_multiple_of(unit);
        (!is_within || !is_aligned).then(|| {
            format!(
                "{size} B at byte {offset} are not what was announced: multiples of {unit} B, at \
                 most {size_max} B, below byte {}",
                load.reach.0
            )
        })
    }

    fn changed(&self) -> String {
        let OpCounts { reads, writes, discards, flushes } = self.load.counts;
        format!(
            "it should have {reads} reads, {writes} writes, {discards} discards and {flushes} \
             flushes; its source has changed since it was scanned"
        )
    }

    fn error(&self, why: &str) -> ScriptError {
        let (name, ios_done) = (self.load.name.clone(), self.delivered.total());
        ScriptError { name, ios_done, why: why.to_owned() }
    }
}
