//! Synthetic traces: 4 KiB, seven reads to three writes, anywhere.

use crate::shared::SIZE;
use std::sync::Arc;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::script::{OpCounts, Timing};
use steadfast_domain::{Bytes, Demand, DueIo, Nanos, Op, Script, ScriptError, ScriptLoad};

const BLOCK: u64 = 4096;

/// I/Os per burst, and time from one burst to the next.
const BURST: u64 = 32;
const BETWEEN_BURSTS_NS: f64 = 1e7;

/// Due times of the I/Os.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TraceRhythm {
    /// Exponential gaps, with this many I/Os per second.
    Poisson(f64),
    Bursts,
}

/// A trace that is generated while it is played.
#[derive(Debug, Clone, Copy)]
pub struct SyntheticTrace {
    pub rhythm: TraceRhythm,
    pub ios: u64,
    pub reads_only: bool,
}

impl SyntheticTrace {
    /// Returns a trace of about this many seconds.
    pub fn lasting(rhythm: TraceRhythm, seconds: u64) -> SyntheticTrace {
        let rate = match rhythm {
            TraceRhythm::Poisson(rate) => rate,
            TraceRhythm::Bursts => BURST as f64 * 1e9 / BETWEEN_BURSTS_NS,
        };
        SyntheticTrace { rhythm, ios: (rate * seconds as f64) as u64, reads_only: false }
    }

    pub fn name(&self) -> String {
        match self.rhythm {
            TraceRhythm::Poisson(rate) => format!("Poisson, {} kIOPS", rate / 1e3),
            TraceRhythm::Bursts => format!("bursts of {BURST} every 10 ms"),
        }
    }

    pub fn player(self) -> SyntheticTraceIos {
        SyntheticTraceIos { trace: self, number: 0, due: 0.0 }
    }

    /// Returns all I/Os.
    pub fn all(self) -> Vec<DueIo> {
        let mut player = self.player();
        std::iter::from_fn(|| player.next()).collect()
    }

    /// Returns the trace as a load of the engine.
    pub fn load(self, timing: Timing, outstanding: u32) -> ScriptLoad {
        let (mut counts, mut span) = (OpCounts::default(), Nanos::ZERO);
        let mut player = self.player();
        while let Some(io) = player.next() {
            counts.count(io.op);
            span = io.due;
        }
        ScriptLoad {
            counts,
            bytes: Bytes((counts.reads + counts.writes) * BLOCK),
            span,
            largest: Bytes(BLOCK),
            unit: Bytes(BLOCK),
            reach: SIZE,
            timing,
            open: Some(Arc::new(move || Ok(Box::new(self.player())))),
            ..ScriptLoad::new(self.name(), Demand::new(1, outstanding))
        }
    }
}

/// A trace being played.
#[derive(Debug)]
pub struct SyntheticTraceIos {
    trace: SyntheticTrace,
    number: u64,
    due: f64,
}

impl SyntheticTraceIos {
    fn next(&mut self) -> Option<DueIo> {
        let number = self.number;
        if number == self.trace.ios {
            return None;
        }
        let random = mix64(number);
        match self.trace.rhythm {
            _ if number == 0 => {}
            TraceRhythm::Poisson(rate) => {
                let fraction = ((mix64(!number) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
                self.due -= fraction.ln() * 1e9 / rate;
            }
            TraceRhythm::Bursts if number.is_multiple_of(BURST) => self.due += BETWEEN_BURSTS_NS,
            TraceRhythm::Bursts => {}
        }
        self.number += 1;
        let writes = !self.trace.reads_only && random % 10 >= 7;
        let op = if writes { Op::Write } else { Op::Read };
        let offset = (random >> 20) % (SIZE.0 / BLOCK) * BLOCK;
        Some(DueIo::new(Nanos(self.due as u64), op, Bytes(offset), Bytes(BLOCK)))
    }
}

impl Script for SyntheticTraceIos {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        let before = batch.len();
        while batch.len() < batch.capacity() {
            let Some(io) = self.next() else { break };
            batch.push(io);
        }
        Ok(batch.len() - before)
    }
}
