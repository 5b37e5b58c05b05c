//! Converts a comparison to [`Findings`], or to chapters of the findings of a replay.

use super::comparison::Fidelity;
use super::pairs::{DevicePair, OpPair};
use super::side::FidelitySide;
use super::{plots, tables};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use steadfast_analysis::device_layer::device_names;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Caveat, CaveatKind, Exhibit, FormBlock, FormHeader, KeyFigure, Page, Setting,
};
use steadfast_domain::hex::to_hex;
use steadfast_domain::text::{counted, grouped};
use steadfast_domain::{Findings, Nanos};

const METHOD: &str = "Original and replay compared as in docs/replay.md";

/// Converts a comparison to findings. `software` is the name and version of this program.
pub fn findings(fidelity: &Fidelity, software: &str) -> Findings {
    let summary = [
        tables::totals(fidelity).with_id("summary-replay-totals"),
        tables::streams(fidelity, false).with_id("summary-replay-streams"),
    ];
    let replay = &fidelity.sides[1].conditions;
    let began_ns = replay.began_unix_ns;
    Findings {
        method: METHOD.into(),
        headline: headline(fidelity),
        began_unix_ms: began_ns.map_or(0, |ns| ns / 1_000_000),
        ended_unix_ms: began_ns.map_or(0, |ns| ns.saturating_add(replay.lasted_ns) / 1_000_000),
        digest: digest(fidelity),
        software: software.to_owned(),
        ending: ending(fidelity),
        caveats: caveats(fidelity),
        summary: summary.into_iter().map(Exhibit::Table).collect(),
        chapters: chapters(fidelity),
        long_tables: vec![tables::streams(fidelity, true)],
        ..Findings::new("Capture and replay", header(fidelity))
            .with_front_page([] as [KeyFigure; 0], ["replay-iops", "replay-response"])
    }
}

/// Returns the chapters of the comparison.
pub fn chapters(fidelity: &Fidelity) -> Vec<Page> {
    let totals = vec![
        Exhibit::Table(tables::totals(fidelity)),
        Exhibit::Table(tables::streams(fidelity, false)),
    ];
    let over_time = plots::over_time(fidelity).into_iter().map(Exhibit::Plot).collect();
    let mut pages = vec![
        Page::new("Capture and replay", totals),
        Page::new("Capture and replay v time", over_time),
    ];
    pages.extend(times(fidelity));
    pages.push(queues_and_sizes(fidelity));
    pages
}

fn times(fidelity: &Fidelity) -> Option<Page> {
    let pairs = fidelity.devices.as_ref().filter(|pairs| !pairs.is_empty())?;
    let mut exhibits =
        vec![Exhibit::Table(tables::sequences(pairs)), Exhibit::Table(tables::times(pairs))];
    exhibits.extend(tables::by_op(pairs).map(Exhibit::Table));
    for (number, pair) in pairs.iter().enumerate() {
        exhibits.extend(plots::start_errors(number, pair).map(Exhibit::Plot));
        exhibits.extend(plots::gaps(number, pair).map(Exhibit::Plot));
    }
    Some(Page::new("Order and times of the I/Os", exhibits))
}

fn queues_and_sizes(fidelity: &Fidelity) -> Page {
    let mut exhibits: Vec<Exhibit> =
        tables::depths(fidelity).map(Exhibit::Table).into_iter().collect();
    exhibits.extend(plots::depths(fidelity).map(Exhibit::Plot));
    exhibits.push(Exhibit::Table(tables::sizes(fidelity)));
    Page::new("Queue depths and sizes", exhibits)
}

fn headline(fidelity: &Fidelity) -> String {
    let [original, replay] = fidelity.sides.each_ref().map(names);
    let faster = match fidelity.faster {
        1.0 => String::new(),
        faster => format!("  {faster} times as fast"),
    };
    let mapped = if fidelity.mapped { "  offsets as mapped" } else { "" };
    format!("{original} and {replay}  step {}{faster}{mapped}", Nanos(fidelity.step_ns))
}

/// Returns the names of a capture's devices, at most four.
fn names(side: &FidelitySide) -> String {
    let names: Vec<String> = device_names(&side.conditions).take(4).collect();
    if names.is_empty() { side.conditions.source.clone() } else { names.join(", ") }
}

/// Returns the result of the comparison in one sentence.
fn ending(fidelity: &Fidelity) -> String {
    let ios = fidelity.sides.each_ref().map(|side| side.streams.total().count());
    let counts =
        format!("{} in the original, {} in the replay", counted(ios[0], "I/O"), grouped(ios[1]));
    let Some(pairs) = &fidelity.devices else {
        return format!("{counts}; at least one of the two did not keep single I/Os.");
    };
    match pairs.iter().find_map(|pair| pair.sequence.first.map(|first| (pair, first))) {
        None => format!("{counts}; operation, size and offset of each are equal, in order."),
        Some((pair, first)) => {
            let order = if pair.sequence.same_ios {
                "they are the same I/Os in another order; "
            } else {
                ""
            };
            format!(
                "{counts}; on {} {order}the first difference is {first}{}.",
                tables::devices(pair),
                by_op(pair)
            )
        }
    }
}

/// Returns the result of each operation; empty unless there are several.
fn by_op(pair: &DevicePair) -> String {
    let result = |one: &OpPair| {
        let [original, replay] = one.ios;
        let difference = match original.cmp(&replay) {
            Ordering::Greater => format!("{} fewer in the replay", grouped(original - replay)),
            Ordering::Less => format!("{} more in the replay", grouped(replay - original)),
            Ordering::Equal if one.sequence.first.is_none() => "equal, in order".to_owned(),
            Ordering::Equal if one.sequence.same_ios => "the same in another order".to_owned(),
            Ordering::Equal => format!("{} differ", grouped(one.sequence.different)),
        };
        format!("{}: {difference}", one.op)
    };
    match pair.by_op.len() {
        0 | 1 => String::new(),
        _ => {
            let results: Vec<String> = pair.by_op.iter().map(result).collect();
            format!("; by operation: {}", results.join(", "))
        }
    }
}

/// Returns the SHA-256 of both captures' conditions and the exact counts of every stream.
fn digest(fidelity: &Fidelity) -> String {
    let mut hash = Sha256::new();
    for side in &fidelity.sides {
        hash.update(serde_json::to_vec(&side.conditions).unwrap_or_default());
        for stream in side.streams.listing(steadfast_analysis::ShareMeasure::Count) {
            hash.update(format!("{} {} {}\n", stream.key, stream.count(), stream.sums.amount()));
        }
    }
    to_hex(&hash.finalize())
}

fn header(fidelity: &Fidelity) -> FormHeader {
    let [original, replay] = &fidelity.sides;
    FormHeader {
        issuer: "Steadfast".into(),
        specification: "Capture and replay of a workload".into(),
        disclaimer: None,
        test: "Capture and replay".into(),
        subtitle: "Replay fidelity".into(),
        revision: "after RWSW PTS 1.0.7".into(),
        vendor: None,
        model: replay.conditions.devices.first().and_then(|device| device.model.clone()),
        sponsor: None,
        blocks: vec![block("Original", original), block("Replay", replay)],
    }
}

fn block(title: &str, side: &FidelitySide) -> FormBlock {
    let conditions = &side.conditions;
    let recorded = match conditions.step_ns {
        Some(step_ns) => format!("I/O streams in steps of {}", Nanos(step_ns)),
        None => "single I/Os".to_owned(),
    };
    FormBlock::new(
        title,
        [
            Setting::identity("Host", conditions.host.clone()),
            Setting::identity("Devices", names(side)),
            Setting::identity("Source", &conditions.source),
            Setting::identity("Kept", recorded),
            Setting::identity("Only", side.filter.clone()),
            Setting::outcome("I/Os", side.streams.total().count().to_string()),
            Setting::outcome("Lost Events", conditions.lost.to_string()),
        ],
    )
}

/// Returns the caveats of the comparison.
pub fn caveats(fidelity: &Fidelity) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut add_if = |applies: bool, kind: CaveatKind, id: &str, text: String, remedy: &str| {
        caveats.extend(applies.then(|| Caveat::new(kind, id, text, remedy)));
    };
    for (name, side) in ["original", "replay"].into_iter().zip(&fidelity.sides) {
        let lost = side.conditions.lost;
        let text = format!("The capture of the {name} lost {lost} events; its counts are too low.");
        let remedy = "Capture again with a larger buffer.";
        add_if(lost > 0, CaveatKind::Deviation, ids::EVENTS_LOST, text, remedy);
        for missing in &side.missing {
            let text = format!("The capture of the {name}: {missing}");
            add_if(true, CaveatKind::Deviation, ids::FILE_DAMAGED, text, "");
        }
        let filter = side.filter.clone().unwrap_or_default();
        let text = format!("Of the {name} only these I/Os are compared: {filter}.");
        add_if(!filter.is_empty(), CaveatKind::Remark, ids::FILTERED, text, "");
    }
    let text = "One of the two kept sums and no single I/O. Left out, because each needs single I/Os \
                of both: order, start times, inter-arrival times and the distribution of queue \
                depths.";
    let remedy = "Capture without --totals-every for these.";
    add_if(fidelity.devices.is_none(), CaveatKind::Remark, ids::STEPS_ONLY, text.into(), remedy);
    let devices = fidelity.sides.each_ref().map(|side| side.devices.len());
    let paired = fidelity.devices.as_ref().map_or(0, Vec::len);
    let text = format!(
        "The original has {} devices and the replay {}; {paired} are compared in pairs, in the \
         order of their numbers.",
        devices[0], devices[1]
    );
    let unequal = fidelity.devices.is_some() && devices.iter().any(|count| *count != paired);
    add_if(
        unequal,
        CaveatKind::Deviation,
        ids::DEVICES_UNPAIRED,
        text,
        "Choose them with --device.",
    );
    let unmapped: u64 = fidelity.devices.iter().flatten().map(|pair| pair.unmapped).sum();
    let text = format!(
        "{unmapped} I/Os of the original are larger than the target or lie beyond its end, and are \
         left out."
    );
    add_if(unmapped > 0, CaveatKind::Remark, ids::REPLAY_TOO_LARGE, text, "");
    let pairs = || fidelity.devices.iter().flatten().filter_map(|pair| pair.gaps.as_ref());
    let text = "There are too many I/Os for the exact Kolmogorov-Smirnov distance. Its bounds are \
        from histograms with buckets of 0.8 %.";
    let bounded = pairs().any(|gaps| !gaps.is_exact());
    add_if(bounded, CaveatKind::Remark, ids::KS_BOUNDED, text.into(), "");
    caveats
}
