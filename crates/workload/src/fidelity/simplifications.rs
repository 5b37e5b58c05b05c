//! Losses inherent in the form of a derived workload, independent of the scores.

use crate::arrivals::{ArrivalKind, ArrivalProcess};
use crate::workload_file::WorkloadFile;

/// Returns the properties that no application of a derived workload reproduces, one sentence each.
pub fn simplifications(file: &WorkloadFile) -> Vec<String> {
    let (workload, arrivals) = (&file.workload, &file.arrivals);
    let mut lost = Vec::new();
    let selected = workload.selected().ios;
    if selected < workload.total_count {
        lost.push(format!(
            "{} of {} streams with {:.2} % of the I/Os are not applied.",
            workload.total_streams - workload.streams.len(),
            workload.total_streams,
            (workload.total_count - selected) as f64 * 100.0 / workload.total_count as f64
        ));
    }
    let sequential = workload.streams.iter().filter(|stream| stream.sequential).count();
    if sequential > 0 {
        lost.push(format!(
            "Where the sequential runs of {sequential} streams began: each stream runs from one end of \
             its zone to the other."
        ));
    }
    let Some(all) = &arrivals.all else {
        lost.push("When the I/Os arrived: they are applied in a closed loop.".to_owned());
        return lost;
    };
    let has_mean_bursts = all.process == ArrivalKind::Bursts;
    if has_mean_bursts && let (Some(ios), Some(pause)) = (all.burst_cv2, all.pause_cv2) {
        lost.push(format!(
            "How bursts and pauses vary (squared CV {ios:.2} and {pause:.2}): each has the mean."
        ));
    }
    if all.process == ArrivalKind::Empirical {
        lost.push(
            "How bursts and pauses follow one another: lengths, gaps and pauses are drawn \
             independently."
                .to_owned(),
        );
    }
    if let Some(ios) = all.burst_ios.filter(|_| has_mean_bursts) {
        let applied = ios.round().max(1.0);
        if (applied / ios - 1.0).abs() > 0.02 {
            lost.push(format!(
                "The mean length of a burst: {ios:.2} I/Os captured, {applied} applied."
            ));
        }
    }
    let applied = all.distributions.as_ref().map_or(1.0, |measured| measured.count_dispersion());
    if let Some(index) = all.count_dispersion.filter(|index| *index > 2.0 * applied) {
        lost.push(format!(
            "How the rate changes over time (index of dispersion {index:.1}, applied {applied:.1})."
        ));
    }
    let differs =
        |own: &&ArrivalProcess| own.process != all.process || own.process == ArrivalKind::Empirical;
    let others = arrivals.by_stream.values().filter(differs).count();
    if others > 0 && workload.total_streams > 1 {
        lost.push(format!(
            "The arrivals of {others} single streams (applied only with --set arrivals=streams): all \
             streams are drawn at the arrivals of all I/Os together."
        ));
    }
    lost
}
