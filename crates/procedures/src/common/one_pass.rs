//! Preconditioning in one pass: random writes in an order after which the drive's blocks hold as
//! many valid pages as in the steady state of uniform random writes. Not a method of the PTS.
//!
//! # Model
//!
//! `U` is the number of logical pages, `T = U (1 + spare)` that of all pages of the drive. With
//! uniform random writes and a large number of pages per block, greedy collection takes the block
//! that was written first (P. Desnoyers, "Analytic Modeling of SSD Write Performance", SYSTOR 2012,
//! section 4). Blocks are then a queue: each passes through it while the host writes `(1 - p) T`
//! pages, where `p` is the share of valid pages in the last block. One host write makes a given
//! page invalid with probability `1/U`, so in a block at position `x` of the queue (1 is the
//! newest, 0 the oldest) the share of valid pages is
//!
//! ```text
//! v(x) = exp(-λ (1 - x)),   λ = (1 - p) T / U,   p = v(0)
//! ```
//!
//! and the write amplification is `1 / (1 - p)`.
//!
//! # Layout
//!
//! The pass writes `T` pages once, in [`REGIONS`] regions of `n` pages, so that each page that it
//! writes in region `r` is final with the share `v` of that region, and is written again in the next
//! region otherwise. All regions write a window of `n` neighboring ranks: the first `n v` ranks of
//! a window are final, and the next window begins behind them. A permutation turns ranks into pages,
//! and one per region shuffles the window, so that no table is needed and the offset of any write
//! follows from its number. `λ` is chosen such that the last window ends with the last rank: then
//! every page was written, and the blocks hold exactly `U` valid pages.

use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use steadfast_domain::hex::to_hex;
use steadfast_domain::permutation::Permutation;
use steadfast_domain::script::{
    DueIo, OpCounts, OpenScript, Script, ScriptError, ScriptLoad, Timing,
};
use steadfast_domain::settings::{Geometry, Settings};
use steadfast_domain::stimulus::{ActiveRange, DataPattern};
use steadfast_domain::{
    Bench, Bytes, Caveat, Demand, Halt, Load, Nanos, Op, Step, StepPlace, caveats as ids,
};

pub const PHASE: &str = "one-pass";

/// Number of regions. In simulations more change nothing, and 16 leave the write amplification up
/// to 3 % too low at first.
pub const REGIONS: u32 = 64;

/// Unit of the writes: the mapping unit of most drives.
const PAGE: u64 = 4096;

/// Demand of the pass: that of workload-independent preconditioning.
pub const DEMAND: Demand = Demand::new(1, 32);

/// Name of the parameter that chooses the preconditioning.
pub const CHOICE: &str = "precondition";

/// Value of [`CHOICE`] for the pass.
pub const ONE_PASS: &str = "one-pass";

/// Parameter `precondition` of tests that write the device sequentially before they measure.
pub const INSTEAD_OF_WIPC: Parameter = Parameter {
    name: CHOICE,
    default: "wipc",
    meaning: "what is written first after the purge: wipc (2 x user capacity sequentially, as the \
              PTS has it) or one-pass (random writes in one pass that leave the drive as in steady \
              state; needs spare)",
    source: "wipc is the PTS's; one-pass is ours",
    ..Parameter::PLAIN
};

/// Parameter `precondition` of a test that begins with random writes to a purged device.
pub const BEFORE_RANDOM_WRITES: Parameter = Parameter {
    default: "no",
    meaning: "what is written before the random writes to steady state: no (nothing) or one-pass \
              (random writes in one pass that leave the drive as in steady state; needs spare)",
    source: "the method has no workload-independent preconditioning; one-pass is ours",
    ..INSTEAD_OF_WIPC
};

pub const GAP_EFFECT: &str = "The region's writes were repeated from its beginning.";

pub const SPARE: Parameter = Parameter {
    name: "spare",
    default: "unknown",
    meaning: "flash beyond the user capacity, in percent of it, such as 7%: from the data sheet or \
              the vendor; 1% to 400%",
    source: "needed for --precondition one-pass only; no standard reports it, and only a simulated \
             drive is asked",
    applies: is_chosen,
    ..Parameter::PLAIN
};

/// The pass over a device.
#[derive(Debug, Clone)]
pub struct OnePass {
    /// Flash beyond the user capacity, as a share of it.
    pub spare: f64,
    /// First byte of the active range.
    begin: Bytes,
    pages: u64,
    /// Pages that each region writes.
    window: u64,
    /// First rank of every window.
    starts: Vec<u64>,
    seed: u64,
    data_pattern: DataPattern,
}

impl OnePass {
    /// Returns the pass if the settings of a procedure with these parameters ask for it; `None`
    /// also if earlier parts of the run have preconditioned the drive.
    pub fn from_settings(
        parameters: &[Parameter],
        settings: &Settings,
        geometry: Geometry,
        range: ActiveRange,
    ) -> Result<Option<Self>, ProcedureError> {
        let offered = parameters.iter().find(|known| known.name == CHOICE);
        if let Some(instead) = offered.filter(|known| known.default == INSTEAD_OF_WIPC.default) {
            let is_known = |text: &str| [instead.default, ONE_PASS].contains(&text);
            instead.parse(settings, |text| is_known(text).then_some(()))?;
        }
        let is_wanted = offered.is_some() && is_chosen(settings);
        if !is_wanted || settings.shares_preconditioning {
            return Ok(None);
        }
        OnePass::new(settings, geometry, range).map(Some)
    }

    /// Plans the pass over the active range in one piece. What lies outside it is spare.
    fn new(
        settings: &Settings,
        geometry: Geometry,
        range: ActiveRange,
    ) -> Result<Self, ProcedureError> {
        let spare = spare(settings)?;
        let range = range.in_one_piece();
        let begin = range.start.0.next_multiple_of(PAGE);
        let pages = ((range.start.0 + range.length.0).saturating_sub(begin)) / PAGE;
        let drive_pages = (geometry.capacity.0 as f64 * (1.0 + spare) / PAGE as f64) as u64;
        let window = drive_pages / u64::from(REGIONS);
        // Rounding to whole regions must leave at least one write per page.
        if window == 0 || window > pages || window * u64::from(REGIONS) < pages {
            return Err(ProcedureError(format!(
                "one-pass preconditioning cannot lay out {pages} pages of 4 KiB with {:.1} % \
                 spare; use a larger active range, or omit --precondition",
                spare * 100.0
            )));
        }
        Ok(OnePass {
            spare,
            begin: Bytes(begin),
            pages,
            window,
            starts: window_starts(pages, window),
            seed: StepPlace::new(PHASE, 0, 1, "").seed(settings.seed),
            data_pattern: settings.data_pattern.clone(),
        })
    }

    /// Returns the bytes that the pass writes.
    pub fn amount(&self) -> Bytes {
        Bytes(self.window * u64::from(REGIONS) * PAGE)
    }

    /// Returns the write amplification of the steady state by the model.
    pub fn write_amplification(&self) -> f64 {
        let ratio = (self.window * u64::from(REGIONS)) as f64 / self.pages as f64;
        // p = exp(-(1 - p) T / U): iteration from below converges to the root below 1.
        let mut valid: f64 = 0.0;
        for _ in 0..10_000 {
            valid = (-(1.0 - valid) * ratio).exp();
        }
        1.0 / (1.0 - valid)
    }

    /// Returns the method in one line, for reports.
    pub fn text(&self) -> String {
        format!(
            "one pass of RND 4K W, {DEMAND}, {} bytes, for {:.1} % spare",
            self.amount().0,
            self.spare * 100.0
        )
    }

    /// Returns the caveat that every report of a run with the pass carries.
    pub fn caveat(&self) -> Caveat {
        let text = format!(
            "Before the test's own writes: {}. That is no method of the PTS. It leaves the drive as \
             uniform random writes of 4 KiB do in steady state, with a write amplification of {:.2}, \
             if the drive was purged, collects garbage greedily and has that spare.",
            self.text(),
            self.write_amplification()
        );
        Caveat::deviation(ids::PRECONDITION, text, "Omit --precondition.")
    }

    /// Writes all regions in a phase, which is [`PHASE`] in the first attempt. A region that was
    /// interrupted is written again from its beginning.
    pub fn conduct(&self, bench: &mut dyn Bench, phase: &str) -> Result<(), Halt> {
        for region in 0..REGIONS {
            let label = format!("RND 4K W, region {} of {REGIONS}", region + 1);
            let place = StepPlace::new(phase, 0, region + 1, label);
            bench.apply(&Step::alone(place, Load::Script(self.region_load(region))))?;
        }
        Ok(())
    }

    /// Returns the writes of a region as a script.
    fn region_load(&self, region: u32) -> ScriptLoad {
        let source = format!(
            "one-pass 1: begin {} pages {} window {} start {} region {region} seed {}",
            self.begin.0, self.pages, self.window, self.starts[region as usize], self.seed
        );
        let script = RegionScript {
            begin: self.begin.0,
            start: self.starts[region as usize],
            window: self.window,
            pages: Permutation::new(self.pages, self.seed),
            order: Permutation::new(self.window, self.seed.wrapping_add(1 + u64::from(region))),
            next: 0,
        };
        let open: OpenScript =
            Arc::new(move || Ok::<Box<dyn Script>, ScriptError>(Box::new(script.clone())));
        ScriptLoad {
            digest: to_hex(&Sha256::digest(source)),
            mapping: "window of a permutation".to_owned(),
            counts: OpCounts { writes: self.window, ..OpCounts::default() },
            bytes: Bytes(self.window * PAGE),
            largest: Bytes(PAGE),
            unit: Bytes(PAGE),
            reach: Bytes(self.begin.0 + self.pages * PAGE),
            timing: Timing::Closed,
            data_pattern: self.data_pattern.clone(),
            open: Some(open),
            ..ScriptLoad::new(PHASE.to_owned(), DEMAND)
        }
    }
}

/// Returns true if the settings ask for the pass.
fn is_chosen(settings: &Settings) -> bool {
    settings.parameters.get(CHOICE).is_some_and(|choice| choice == ONE_PASS)
}

/// Refuses the pass if the settings omit the preconditioning that it would replace.
pub fn check_place(preconditions: bool, settings: &Settings) -> Result<(), ProcedureError> {
    if preconditions || !is_chosen(settings) {
        return Ok(());
    }
    Err(ProcedureError(
        "--precondition one-pass replaces the sequential preconditioning, which --set \
         preconditioning=none leaves out; omit one of them"
            .to_owned(),
    ))
}

/// Refuses the pass for a procedure that has no such parameter.
pub fn check_use(
    procedure: &str,
    parameters: &[Parameter],
    settings: &Settings,
) -> Result<(), ProcedureError> {
    if !is_chosen(settings) || parameters.iter().any(|known| known.name == SPARE.name) {
        return Ok(());
    }
    Err(ProcedureError(format!(
        "{procedure} does not measure after random writes to the whole device, so --precondition \
         one-pass has no place in it; omit it (iops, latency, wsat, dirth, hir, commit and \
         load-curve take it)"
    )))
}

/// Parses parameter `spare` as a share.
fn spare(settings: &Settings) -> Result<f64, ProcedureError> {
    if !settings.parameters.contains_key(SPARE.name) {
        return Err(ProcedureError(
            "--precondition one-pass needs the drive's spare flash in percent of its capacity; add \
             --set spare=7% (from the data sheet or the vendor)"
                .to_owned(),
        ));
    }
    SPARE.parse(settings, |text| {
        let percent: f64 = text.strip_suffix('%').unwrap_or(text).trim_end().parse().ok()?;
        (1.0..=400.0).contains(&percent).then_some(percent / 100.0)
    })
}

/// Returns the first rank of every window, from that of rank 0 to that of the last ranks.
fn window_starts(pages: u64, window: u64) -> Vec<u64> {
    let shares = final_shares(pages as f64 / window as f64);
    let (mut starts, mut next) = (Vec::new(), 0.0);
    for share in shares {
        starts.push((next as u64).min(pages - window));
        next += window as f64 * share;
    }
    // Rounding must not leave out the last ranks.
    if let Some(last) = starts.last_mut() {
        *last = pages - window;
    }
    starts
}

/// Returns the share of final pages of every region: `exp(-λ (R - 1 - r) / R)`, with the `λ` for
/// which all shares add up to `sum`.
fn final_shares(sum: f64) -> Vec<f64> {
    let shares = |lambda: f64| -> Vec<f64> {
        let region = |r: u32| (-lambda * f64::from(REGIONS - 1 - r) / f64::from(REGIONS)).exp();
        (0..REGIONS).map(region).collect()
    };
    let (mut low, mut high) = (0.0, 1000.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if shares(middle).iter().sum::<f64>() > sum { low = middle } else { high = middle }
    }
    shares(low)
}

/// The writes of one region.
#[derive(Debug, Clone)]
struct RegionScript {
    begin: u64,
    start: u64,
    window: u64,
    pages: Permutation,
    order: Permutation,
    next: u64,
}

impl Script for RegionScript {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        let room = (batch.capacity() - batch.len()) as u64;
        let count = room.min(self.window - self.next);
        for index in self.next..self.next + count {
            let page = self.pages.position(self.start + self.order.position(index));
            let offset = Bytes(self.begin + page * PAGE);
            batch.push(DueIo::new(Nanos::ZERO, Op::Write, offset, Bytes(PAGE)));
        }
        self.next += count;
        Ok(count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(pages: u64, spare: f64) -> OnePass {
        let window = (pages as f64 * (1.0 + spare)) as u64 / u64::from(REGIONS);
        OnePass {
            spare,
            begin: Bytes(PAGE),
            pages,
            window,
            starts: window_starts(pages, window),
            seed: 7,
            data_pattern: DataPattern::default(),
        }
    }

    /// Returns the pages in the order in which they are written.
    fn write_order(pass: &OnePass) -> Vec<u64> {
        let mut pages = Vec::new();
        for region in 0..REGIONS {
            let open = pass.region_load(region).open.unwrap();
            let mut script = open().unwrap();
            let mut batch = Vec::with_capacity(1024);
            while script.fill(&mut batch).unwrap() > 0 {
                pages.extend(batch.drain(..).map(|io| io.offset.0 / PAGE - 1));
            }
        }
        pages
    }

    #[test]
    fn the_shares_of_final_writes_are_those_of_the_model() {
        for spare in [0.07, 0.16, 0.28] {
            let pass = pass(65_536, spare);
            let order = write_order(&pass);
            assert_eq!(order.len() as u64 * PAGE, pass.amount().0);
            // Number of the last write of every page.
            let mut last_writes = vec![usize::MAX; pass.pages as usize];
            for (number, page) in order.iter().enumerate() {
                last_writes[*page as usize] = number;
            }
            assert!(!last_writes.contains(&usize::MAX), "every page is written");
            let writes = order.len() as f64;
            // 1 - p is the reciprocal of the write amplification.
            let lambda = writes / pass.pages as f64 / pass.write_amplification();
            let window = pass.window as usize;
            for (region, pages) in order.chunks(window).enumerate() {
                let begin = region * window;
                let is_final =
                    |(number, page): &(usize, &u64)| last_writes[**page as usize] == *number;
                let finals = (begin..).zip(pages).filter(is_final).count();
                let share = finals as f64 / window as f64;
                let middle = (begin as f64 + window as f64 / 2.0) / writes;
                let expected = (-lambda * (1.0 - middle)).exp();
                assert!((share - expected).abs() < 0.02, "{spare}, {region}: {share} {expected}");
            }
        }
    }

    #[test]
    fn the_write_amplification_of_the_model_is_that_of_the_paper() {
        // p = exp(-(1 - p) a); by hand for a = 1.28 and 1.07.
        for (spare, expected) in [(0.28, 2.48), (0.07, 7.82)] {
            let amplification = pass(1 << 20, spare).write_amplification();
            assert!((amplification / expected - 1.0).abs() < 0.02, "{spare}: {amplification}");
        }
    }
}
