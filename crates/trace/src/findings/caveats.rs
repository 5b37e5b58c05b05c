//! What a reader of a study must know of its numbers.

use crate::sequence::Depths;
use crate::study::Study;
use steadfast_domain::caveats as ids;
use steadfast_domain::{Caveat, CaveatKind, Nanos};

/// Every caveat of a study, what the capture lacks first.
pub(super) fn of(study: &Study) -> Vec<Caveat> {
    let lacks = [
        lost(study),
        killed(study),
        no_single_ios(study),
        layers_mixed(study),
        filtered(study),
        out_of_order(study),
        ends_missed(study),
        depths_counted(study),
        depths_unknown(study),
        unlisted(study),
        devices_left_out(study),
        skipped(study),
    ];
    let mut caveats = damaged(study);
    caveats.extend(lacks.into_iter().flatten());
    let conditions = &study.totals.conditions;
    let remark = |id, text| Caveat::new(CaveatKind::Remark, id, text, "");
    caveats.extend(
        conditions
            .unseen
            .iter()
            .map(|(what, count)| remark(ids::UNSEEN, format!("Not captured: {what}: {count}."))),
    );
    caveats.extend(conditions.remarks.iter().map(|text| remark(ids::CAPTURE_REMARK, text.clone())));
    let text = "No formula for sequentiality in RWSW PTS 1.0.7 could be checked; the report \
        states the rule used.";
    caveats.push(Caveat::new(CaveatKind::Unverified, ids::SEQUENTIALITY, text, ""));
    caveats
}

fn lost(study: &Study) -> Option<Caveat> {
    let lost = study.totals.conditions.lost;
    let text = format!("The capture lost {lost} events; every count here is too low.");
    let remedy = match study.single_ios {
        Some(_) => "Capture again with a larger buffer.",
        None => "Capture again with wider steps, or fewer devices.",
    };
    (lost > 0).then(|| Caveat::new(CaveatKind::Deviation, ids::EVENTS_LOST, text, remedy))
}

/// What of the files is left out; that nothing tells whether something should be.
fn damaged(study: &Study) -> Vec<Caveat> {
    let missing = study.integrity.missing().into_iter().map(|text| {
        let remedy = "The counts do not include these I/Os. Restore the file from a backup.";
        Caveat::new(CaveatKind::Deviation, ids::FILE_DAMAGED, text, remedy)
    });
    let text = "The file has no checksums: damage to it cannot be detected.";
    let unchecked = (!study.integrity.checksums)
        .then(|| Caveat::new(CaveatKind::Remark, ids::NO_CHECKSUMS, text, ""));
    missing.chain(unchecked).collect()
}

fn killed(study: &Study) -> Option<Caveat> {
    let text = format!(
        "The capture was killed. Its file was read up to its last complete row group; {} bytes \
         after it are lost.",
        study.recovery.as_ref()?.bytes_ignored
    );
    let remedy = "End a capture with Ctrl-C.";
    Some(Caveat::new(CaveatKind::Deviation, ids::CAPTURE_KILLED, text, remedy))
}

/// Which exhibits are missing, and why.
fn no_single_ios(study: &Study) -> Option<Caveat> {
    if study.single_ios.is_some() {
        return None;
    }
    let kept = study.totals.conditions.step_ns.unwrap_or(study.totals.step_ns);
    let percentiles = match study.tells_percentiles() {
        true => "99 % response time v time",
        false => "response-time percentiles and histogram",
    };
    let text = format!(
        "The capture kept the I/O streams of every capture step of {}, but no single I/Os. These \
         need single I/Os and are omitted: {percentiles}, disk utilization, process map, LBA \
         range hit maps, working set and reuse.",
        Nanos(kept)
    );
    let remedy = "Capture without --steps to include them.";
    Some(Caveat::new(CaveatKind::Remark, ids::STEPS_ONLY, text, remedy))
}

fn filtered(study: &Study) -> Option<Caveat> {
    let text =
        format!("Only these I/Os of the trace are counted: {}.", study.totals.filter_told()?);
    Some(Caveat::new(CaveatKind::Remark, ids::FILTERED, text, ""))
}

fn layers_mixed(study: &Study) -> Option<Caveat> {
    let text = "I/Os of the file-system layer and of the block layer are counted together: the \
        requests of programs, and the device I/Os that they caused.";
    let remedy = "Omit --layer both; the chapter on devices and layers shows them side by side.";
    study
        .totals
        .mixes_layers()
        .then(|| Caveat::new(CaveatKind::Deviation, ids::LAYERS_MIXED, text, remedy))
}

fn out_of_order(study: &Study) -> Option<Caveat> {
    let late = study.totals.account.order.late;
    let text = format!(
        "{late} I/Os could not be put in issue order; sequentiality and busy time may be wrong by \
         up to that many."
    );
    let remedy = "Let more events wait.";
    (late > 0).then(|| Caveat::new(CaveatKind::Deviation, ids::ORDER_OVERFLOW, text, remedy))
}

/// An I/O whose completion was missed is outstanding for ever in what the source
/// counted.
fn ends_missed(study: &Study) -> Option<Caveat> {
    let missed = study.totals.conditions.in_part.map_or(0, |part| part.unended);
    let depths = match (&study.single_ios, Depths::of(&study.totals.conditions)) {
        (Some(_), Depths::Counted) => {
            "Queue depths were counted from issue and response times; these I/Os are never \
             counted as outstanding."
        }
        _ => {
            "Each was counted as outstanding for a while: queue depths are too high by at most \
             this many."
        }
    };
    let text =
        format!("The completion of {missed} I/Os is missing. They have no response time. {depths}");
    (missed > 0).then(|| Caveat::new(CaveatKind::Deviation, ids::ENDS_MISSED, text, ""))
}

fn depths_unknown(study: &Study) -> Option<Caveat> {
    let text = "The source's times are rounded: queue depth and busy time are unknown.";
    let unknown = Depths::of(&study.totals.conditions) == Depths::Unknown;
    unknown.then(|| Caveat::new(CaveatKind::Remark, ids::DEPTH_UNKNOWN, text, ""))
}

fn depths_counted(study: &Study) -> Option<Caveat> {
    if Depths::of(&study.totals.conditions) != Depths::Recorded {
        return None;
    }
    let counted = study.totals.account.depths_counted;
    let text = format!(
        "The source reports no queue depth for {counted} I/Os; it was counted from issue and \
         response times."
    );
    (counted > 0).then(|| Caveat::new(CaveatKind::Remark, ids::DEPTH_COUNTED, text, ""))
}

fn unlisted(study: &Study) -> Option<Caveat> {
    let ios = study.totals.streams.unlisted().ios;
    let text = format!(
        "{ios} I/Os belong to streams beyond the {} that are listed separately (whole sectors and \
         smaller sizes first); only the totals include them.",
        crate::streams::STREAMS_MAX
    );
    let remedy = "Filter by operation or process.";
    (ios > 0).then(|| Caveat::new(CaveatKind::Deviation, ids::STREAMS_UNLISTED, text, remedy))
}

/// Which exhibits do not show every device.
fn devices_left_out(study: &Study) -> Option<Caveat> {
    let singles = study.single_ios.as_ref()?;
    let (devices, mapped) = (study.totals.sides_seen.at_block_layer(), singles.hits.len());
    let (sides, apart) = (study.totals.sides_seen.count(), study.sides_counted().count() as u64);
    if devices <= mapped && sides <= apart {
        return None;
    }
    let text = format!(
        "The trace has {devices} devices. LBA range hit maps and working sets cover {mapped} of \
         them; the tables side by side show {apart} of {sides} devices and layers. Everything \
         else covers all devices."
    );
    Some(Caveat::new(
        CaveatKind::Remark,
        ids::DEVICES_LEFT_OUT,
        text,
        "Choose others with \
        --device.",
    ))
}

fn skipped(study: &Study) -> Option<Caveat> {
    let skipped = study.totals.conditions.skipped;
    let text = format!(
        "The kernel skipped the capture's probes {skipped} times: at most that many I/Os are \
         missing."
    );
    (skipped > 0).then(|| Caveat::new(CaveatKind::Deviation, ids::SKIPPED, text, ""))
}
