//! Caveats of a study: first what limits the trust in the capture, then what the study selected and
//! left out.

use crate::questions::study::Study;
use crate::questions::trust::Evidence;
use steadfast_domain::caveats as ids;
use steadfast_domain::{Caveat, Nanos};

/// Returns all caveats of a study; those of the capture come first.
pub(super) fn all(study: &Study) -> Vec<Caveat> {
    let study_caveats = [
        no_single_ios(study),
        layers_mixed(study),
        filtered(study),
        unlisted(study),
        devices_left_out(study),
    ];
    // Compression and duplicates refer to the selected part.
    let conditions = study.totals.conditions.clone();
    let mut caveats = Evidence { conditions, ..study.evidence.clone() }.limits();
    caveats.extend(study_caveats.into_iter().flatten());
    let text = "No formula for sequentiality in RWSW PTS 1.0.7 could be checked; the report \
        states the rule used.";
    caveats.push(Caveat::unverified(ids::SEQUENTIALITY, text, ""));
    caveats
}

/// Lists the exhibits that are missing because there are no single I/Os.
fn no_single_ios(study: &Study) -> Option<Caveat> {
    if study.single_ios.is_some() {
        return None;
    }
    if study.is_of_fold {
        let text = "The report is of a fold file, which holds sums and no single I/Os. It omits the \
            process map, threads, cgroups and files, LBA range hit maps, working set and reuse.";
        let remedy = "Name the trace files instead of the fold file to include them; trace \
            processes and trace groups read fold files too.";
        return Some(Caveat::remark(ids::STEPS_ONLY, text, remedy));
    }
    let kept = study.totals.conditions.step_ns.unwrap_or(study.totals.step_ns);
    let busy = if study.has_busy_time { "" } else { "disk utilization, " };
    let text = format!(
        "The capture kept the I/O streams of every process and step of {}, but no single I/Os. These \
         need single I/Os and are omitted: queue times, {busy}threads, \
         cgroups and files, LBA range hit maps, working set and reuse.",
        Nanos(kept)
    );
    let remedy = match study.totals.conditions.lba_ranges {
        Some(_) => {
            "Capture without --totals-every to include them; trace hits prints the LBA ranges that \
             the capture counted."
        }
        None => "Capture without --totals-every to include them.",
    };
    Some(Caveat::remark(ids::STEPS_ONLY, text, remedy))
}

fn filtered(study: &Study) -> Option<Caveat> {
    let text =
        format!("Only these I/Os of the trace are counted: {}.", study.totals.describe_filter()?);
    Some(Caveat::remark(ids::FILTERED, text, ""))
}

fn layers_mixed(study: &Study) -> Option<Caveat> {
    let text = "I/Os of the file-system layer and of the block layer are counted together: the \
        requests of programs, and the device I/Os that they caused.";
    let remedy = "Omit --layer both; the chapter on devices and layers shows them side by side.";
    study.totals.mixes_layers().then(|| Caveat::deviation(ids::LAYERS_MIXED, text, remedy))
}

fn unlisted(study: &Study) -> Option<Caveat> {
    let stream_ios = study.totals.streams.unlisted().count();
    let pair_ios = study.processes.as_ref().map_or(0, |s| s.streams.unlisted().count());
    let streams = format!(
        "{stream_ios} I/Os belong to streams beyond the {} that are listed separately (whole \
         sectors and smaller sizes first); only the totals include them.",
        crate::questions::streams::STREAMS_MAX
    );
    let groups = format!(
        "{pair_ios} I/Os belong to pairs of process and stream beyond the {} that are listed \
         separately; the tables of processes by stream, kinds of I/Os and queue times omit them.",
        crate::questions::groups::GROUPS_MAX
    );
    let parts = [(stream_ios, streams), (pair_ios, groups)];
    let parts: Vec<String> =
        parts.into_iter().filter(|(ios, _)| *ios > 0).map(|(_, text)| text).collect();
    let remedy = "Filter by operation or process.";
    let caveat = |text| Caveat::deviation(ids::STREAMS_UNLISTED, text, remedy);
    (!parts.is_empty()).then(|| caveat(parts.join(" ")))
}

/// Lists the exhibits that do not cover all devices.
fn devices_left_out(study: &Study) -> Option<Caveat> {
    let singles = study.single_ios.as_ref()?;
    let (devices, mapped) = (study.totals.sides_seen.at_block_layer(), singles.hit_maps.len());
    let (sides, shown) = (study.totals.sides_seen.count(), study.sides_counted().count() as u64);
    if devices <= mapped && sides <= shown {
        return None;
    }
    let text = format!(
        "The trace has {devices} devices. LBA range hit maps, working sets and miss-ratio curves \
         cover {mapped} of them; the tables side by side show {shown} of {sides} devices and layers. \
         Everything else covers all devices."
    );
    Some(Caveat::remark(
        ids::DEVICES_LEFT_OUT,
        text,
        "Choose others with \
        --device.",
    ))
}
