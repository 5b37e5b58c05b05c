//! How true the times of a replay are: every I/O's start against when it was due.

/// I/Os that are due closer together than this leave one after the other, as fast as
/// they can be handed over.
pub const TOGETHER_NS: f64 = 2e4;

/// What a player's start times show.
#[derive(Debug, Clone, Copy)]
pub struct Truth {
    /// By how much the whole became longer, as a share.
    pub stretch: f64,
    /// Start errors, early and late alike, in nanoseconds.
    pub median: f64,
    pub p99: f64,
    pub max: f64,
    /// The median of how late the last thousand were.
    pub drift: f64,
    /// The largest difference of the cumulative shares of the times between I/Os.
    pub distance: f64,
    /// The same among times of more than [`TOGETHER_NS`] only.
    pub apart: f64,
}

/// Compares; both in nanoseconds and in the order of the trace, each counted
/// from its first.
pub fn compare(due: &[f64], started: &[f64]) -> Truth {
    let since_first = |all: &[f64]| -> Vec<f64> { all.iter().map(|at| at - all[0]).collect() };
    let (due, started) = (since_first(due), since_first(started));
    let late: Vec<f64> = started.iter().zip(&due).map(|(is, was)| is - was).collect();
    let mut errors: Vec<f64> = late.iter().map(|late| late.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
    let mut last = late[late.len().saturating_sub(1000)..].to_vec();
    last.sort_by(f64::total_cmp);
    let end = |all: &[f64]| all.last().copied().unwrap_or(0.0);
    Truth {
        stretch: end(&started) / end(&due) - 1.0,
        median: at(0.5),
        p99: at(0.99),
        max: at(1.0),
        drift: last[last.len() / 2],
        distance: distance(&gaps(&due), &gaps(&started), 0.0),
        apart: distance(&gaps(&due), &gaps(&started), TOGETHER_NS),
    }
}

fn gaps(times: &[f64]) -> Vec<f64> {
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

/// The Kolmogorov-Smirnov distance of two sorted lists, from this value on.
fn distance(a: &[f64], b: &[f64], from: f64) -> f64 {
    let (mut i, mut j, mut most) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let at = a[i].min(b[j]);
        while i < a.len() && a[i] <= at {
            i += 1;
        }
        while j < b.len() && b[j] <= at {
            j += 1;
        }
        if at < from {
            continue;
        }
        most = most.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    most
}
