//! Accuracy of a replay: the start of every I/O compared with its due time.

/// I/Os due closer together than this many nanoseconds are submitted one after the other, as fast
/// as possible.
pub const TOGETHER_NS: f64 = 2e4;

/// Accuracy of a player's start times.
#[derive(Debug, Clone, Copy)]
pub struct StartAccuracy {
    /// Share by which the whole replay took longer.
    pub stretch: f64,
    /// Absolute start errors, in nanoseconds.
    pub median: f64,
    pub p99: f64,
    pub max: f64,
    /// Median lateness of the last thousand I/Os, in nanoseconds.
    pub drift: f64,
    /// Kolmogorov-Smirnov distance between the gaps of the due times and those of the starts.
    pub distance: f64,
    /// The same for gaps longer than [`TOGETHER_NS`] only.
    pub apart: f64,
}

/// Compares due times and start times. Both are in nanoseconds and in the order of the trace, and
/// are taken relative to their first.
pub fn compare(due: &[f64], started: &[f64]) -> StartAccuracy {
    let since_first = |all: &[f64]| -> Vec<f64> { all.iter().map(|at| at - all[0]).collect() };
    let (due, started) = (since_first(due), since_first(started));
    let late: Vec<f64> = started.iter().zip(&due).map(|(is, was)| is - was).collect();
    let mut errors: Vec<f64> = late.iter().map(|late| late.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
    let mut last = late[late.len().saturating_sub(1000)..].to_vec();
    last.sort_by(f64::total_cmp);
    let end = |all: &[f64]| all.last().copied().unwrap_or(0.0);
    StartAccuracy {
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

/// Returns the Kolmogorov-Smirnov distance of two sorted lists, from the value `from` on.
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
