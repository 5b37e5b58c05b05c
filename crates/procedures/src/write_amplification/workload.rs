//! Workloads whose write amplification is measured, and their names.

use crate::common::applied::ApplicableWorkload;
use crate::procedure_error::ProcedureError;
use crate::rwsw::composite::CapturedComposite;
use std::fmt;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{Cursor, Zone};
use steadfast_domain::{Bytes, Distribution, IoStream, Op, Order};

/// Number of hot pieces of a scattered hot zone (our choice: the largest power of two that divides
/// a million parts per million evenly).
const PIECES: u32 = 64;

/// Transfer size of sequential streams.
const SEQUENTIAL: Bytes = Bytes::kib(128);

#[derive(Debug, Clone)]
pub struct WriteWorkload {
    kind: WorkloadKind,
    /// Transfer size of random writes and of discards.
    size: Bytes,
}

#[derive(Debug, Clone)]
enum WorkloadKind {
    /// Random writes: uniform or Zipf.
    Random(Distribution),
    /// Random writes, most of them to a part of the addresses.
    HotAndCold(HotZone),
    /// Sequential writes to the first half of the range, random writes to the second. The
    /// percentage is the sequential share of the bytes.
    Mixed {
        sequential_percent: u32,
    },
    /// Random writes and random discards. The percentage is the discards' share of the commands.
    Discards {
        percent: u32,
    },
    Captured(Box<CapturedComposite>),
}

/// Hot part of the addresses, in percent; the rest is cold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HotZone {
    /// Percent of the writes that it gets.
    writes: u32,
    addresses: u32,
    /// Number of pieces, spread evenly over the range.
    pieces: u32,
}

impl HotZone {
    /// Parses percentages such as `80-20`: of the writes, and of the addresses.
    fn parse(text: &str, pieces: u32) -> Option<Self> {
        let (writes, addresses) = text.split_once('-')?;
        let percent = |text: &str| text.parse::<u32>().ok().filter(|p| (1..=99).contains(p));
        Some(HotZone { writes: percent(writes)?, addresses: percent(addresses)?, pieces })
    }

    /// Returns the hot and cold pieces in the order of their addresses.
    fn zones(self) -> Vec<Zone> {
        let period = 1_000_000 / self.pieces;
        let hot = period * self.addresses / 100;
        let pieces = 0..self.pieces;
        let pair = |piece: u32| {
            let from = piece * period;
            [
                Zone { weight: self.writes, from_ppm: from, to_ppm: from + hot },
                Zone { weight: 100 - self.writes, from_ppm: from + hot, to_ppm: from + period },
            ]
        };
        pieces.flat_map(pair).collect()
    }
}

impl WriteWorkload {
    /// Parses a name such as `uniform`, `zipf/0.8`, `zones/80-20`, `scattered/80-20`, `mixed/50`
    /// or `discards/10`; `None` if it is none.
    pub(super) fn parse(name: &str, size: Bytes) -> Option<Self> {
        let (word, value) = name.split_once('/').unwrap_or((name, ""));
        let percent = || value.parse::<u32>().ok().filter(|percent| (1..=99).contains(percent));
        let kind = match word {
            "uniform" if value.is_empty() => WorkloadKind::Random(Distribution::Uniform),
            "zipf" => WorkloadKind::Random(Distribution::from_name(word, value)?),
            "zones" => WorkloadKind::HotAndCold(HotZone::parse(value, 1)?),
            "scattered" => WorkloadKind::HotAndCold(HotZone::parse(value, PIECES)?),
            "mixed" => WorkloadKind::Mixed { sequential_percent: percent()? },
            "discards" => WorkloadKind::Discards { percent: percent()? },
            _ => return None,
        };
        Some(WriteWorkload { kind, size })
    }

    pub(super) fn captured(composite: CapturedComposite) -> Result<Self, ProcedureError> {
        if !composite.has(Op::Write) {
            return Err(ProcedureError(format!(
                "workload '{composite}' writes nothing, so it has no write amplification; omit \
                 --workload"
            )));
        }
        let kind = WorkloadKind::Captured(Box::new(composite));
        // Unused: the streams of a captured workload have sizes of their own.
        Ok(WriteWorkload { kind, size: Bytes::kib(4) })
    }

    /// Returns the captured workload; `None` if it is another.
    pub(super) fn composite(&self) -> Option<&CapturedComposite> {
        match &self.kind {
            WorkloadKind::Captured(composite) => Some(composite),
            _ => None,
        }
    }

    /// Returns true if every write is equally likely anywhere.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(self.kind, WorkloadKind::Random(Distribution::Uniform))
    }

    /// Returns the name in phases and IDs, such as `zipf-0-8`.
    pub(super) fn id(&self) -> String {
        match &self.kind {
            WorkloadKind::Captured(_) => "captured".to_owned(),
            _ => crate::report_notation::slug(&self.to_string()),
        }
    }

    /// Returns the bytes that the workload reads, writes and discards until `written` bytes of them
    /// are written: whole MiB, at least one.
    pub(super) fn bytes_until(&self, written: Bytes) -> Bytes {
        let streams = self.streams();
        let all = weighted_bytes(&streams, |stream| stream.op != Op::Flush);
        let writes = weighted_bytes(&streams, |stream| stream.op == Op::Write);
        let bytes = u128::from(written.0) * all / writes.max(1);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)).round_down(1 << 20).max(Bytes::mib(1))
    }

    fn random(&self, op: Op) -> IoStream {
        IoStream::new(op, Order::Random, self.size)
    }
}

/// Returns the sum of weight times transfer size over the selected streams.
fn weighted_bytes(streams: &[IoStream], is_selected: fn(&IoStream) -> bool) -> u128 {
    let selected = streams.iter().filter(|stream| is_selected(stream));
    selected.map(|stream| u128::from(stream.weight) * u128::from(stream.size.0)).sum()
}

impl ApplicableWorkload for WriteWorkload {
    fn streams(&self) -> Vec<IoStream> {
        match &self.kind {
            WorkloadKind::Random(distribution) => {
                AccessPattern::random(self.size, 0).distribution(*distribution).streams()
            }
            WorkloadKind::HotAndCold(_) => vec![self.random(Op::Write)],
            WorkloadKind::Mixed { sequential_percent } => {
                // Weights count commands. Each share of the bytes is multiplied by the other
                // stream's transfer size, so that no division rounds it.
                let sectors = |size: Bytes| (size.0 / 512) as u32;
                let order = Order::Sequential(Cursor::Own);
                let sequential = IoStream::new(Op::Write, order, SEQUENTIAL)
                    .with_weight(sequential_percent * sectors(self.size));
                let random = self
                    .random(Op::Write)
                    .with_weight((100 - sequential_percent) * sectors(SEQUENTIAL));
                let first_half = Zone { weight: 1, from_ppm: 0, to_ppm: 500_000 };
                let second_half = Zone { weight: 1, from_ppm: 500_000, to_ppm: 1_000_000 };
                vec![
                    IoStream { zones: vec![first_half], ..sequential },
                    IoStream { zones: vec![second_half], ..random },
                ]
            }
            WorkloadKind::Discards { percent } => vec![
                self.random(Op::Write).with_weight(100 - percent),
                self.random(Op::Discard).with_weight(*percent),
            ],
            WorkloadKind::Captured(composite) => composite.streams(),
        }
    }

    fn zones(&self) -> Vec<Zone> {
        match &self.kind {
            WorkloadKind::HotAndCold(hot) => hot.zones(),
            WorkloadKind::Captured(composite) => composite.zones(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for WriteWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            WorkloadKind::Random(Distribution::Uniform) => f.write_str("uniform"),
            WorkloadKind::Random(skewed) => {
                f.write_str(skewed.to_string().trim_start().to_lowercase().as_str())
            }
            WorkloadKind::HotAndCold(HotZone { writes, addresses, pieces }) => {
                let word = if *pieces > 1 { "scattered" } else { "zones" };
                write!(f, "{word}/{writes}-{addresses}")
            }
            WorkloadKind::Mixed { sequential_percent } => write!(f, "mixed/{sequential_percent}"),
            WorkloadKind::Discards { percent } => write!(f, "discards/{percent}"),
            WorkloadKind::Captured(composite) => composite.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Option<WriteWorkload> {
        WriteWorkload::parse(name, Bytes::kib(4))
    }

    #[test]
    fn every_name_prints_as_it_is_written() {
        for name in
            ["uniform", "zipf/0.8", "zipf/1.2", "zones/80-20", "scattered/90-10", "mixed/50"]
        {
            assert_eq!(parsed(name).unwrap().to_string(), name);
        }
        assert_eq!(parsed("zones/80-20").unwrap().id(), "zones-80-20");
        for bad in ["", "uniform/1", "zipf", "zipf/0", "zones/80", "zones/100-1", "mixed/0", "x"] {
            assert!(parsed(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn hot_zones_have_their_share_in_one_piece_or_in_many() {
        for (name, pieces) in [("zones/80-20", 1), ("scattered/80-20", 64)] {
            let zones = parsed(name).unwrap().zones();
            assert_eq!(zones.len(), 2 * pieces);
            let length = |zone: &Zone| f64::from(zone.to_ppm - zone.from_ppm);
            let hot: f64 = zones.iter().step_by(2).map(length).sum();
            assert!((hot / 1e6 - 0.2).abs() < 1e-4, "{hot}");
            assert!(zones.windows(2).all(|pair| pair[0].to_ppm == pair[1].from_ppm));
            assert_eq!((zones[0].weight, zones[1].weight), (80, 20));
        }
    }

    #[test]
    fn a_mix_has_its_share_of_the_bytes_and_discards_extend_a_window() {
        let streams = parsed("mixed/25").unwrap().streams();
        let bytes = |stream: &IoStream| u64::from(stream.weight) * stream.size.0;
        assert_eq!(3 * bytes(&streams[0]), bytes(&streams[1]));
        let mib = |name: &str| parsed(name).unwrap().bytes_until(Bytes::mib(90)).0 >> 20;
        assert_eq!((mib("uniform"), mib("mixed/25"), mib("discards/10")), (90, 90, 100));
    }
}
