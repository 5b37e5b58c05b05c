//! `trace locality`: benefit of a cache, and reuse times of blocks.

use super::listing_table::listing_table;
use crate::cli::questions::QuestionArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use crate::terminal;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::device_layer::device_name;
use steadfast_analysis::questions::compare::SideSet;
use steadfast_analysis::questions::locality::{CachePoint, Locality, LocalityFigures};
use steadfast_analysis::sums::response::ResponseFigures;
use steadfast_domain::text::printable;
use steadfast_domain::units::Bytes;
use steadfast_domain::{Layer, Nanos};

/// Maximum number of devices analyzed together; each needs 64 MB.
const DEVICES_MAX: usize = 4;

#[derive(Serialize, schemars::JsonSchema)]
pub struct LocalityContent {
    devices: Vec<DeviceLocality>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct DeviceLocality {
    name: String,
    #[serde(flatten)]
    figures: LocalityFigures,
}

/// Prints the locality of every device with reads or writes.
pub fn run(arguments: &QuestionArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let devices = devices(&selected)?;
    let PassResult { found, account } = selected.answer(|captured, pass| {
        let mut found: Vec<Locality> = devices.iter().map(|one| Locality::new(*one)).collect();
        let account = captured.run_each(pass, &mut found)?;
        Ok(PassResult { found, account })
    })?;
    let conditions = selected.conditions();
    let figures = found.into_iter().map(Locality::figures).filter(|figures| figures.accesses > 0);
    let figures = figures
        .map(|figures| DeviceLocality { name: device_name(conditions, figures.device), figures });
    let content = LocalityContent { devices: figures.collect() };
    selected.show_devices(arguments.json, account, content, |content| {
        content.devices.iter().map(lines).collect()
    })
}

/// Returns the selected block devices; only the first [`DEVICES_MAX`], with a note.
fn devices(selected: &FilteredCapture) -> anyhow::Result<Vec<u16>> {
    let mut sides = SideSet::default();
    selected.ask(|captured, pass| captured.run(pass, &mut [&mut sides]))?;
    let block = sides.iter().filter(|side| side.layer == Layer::Block);
    let mut devices: Vec<u16> = block.map(|side| side.device).collect();
    if devices.len() > DEVICES_MAX {
        terminal::warn(&format!(
            "{}: only the first {DEVICES_MAX} of {} devices are shown; choose others with --device",
            selected.name,
            devices.len()
        ));
        devices.truncate(DEVICES_MAX);
    }
    Ok(devices)
}

fn lines(device: &DeviceLocality) -> String {
    let figures = &device.figures;
    let overwritten = match figures.overwritten {
        Some(share) => format!("{:.1} % of the written blocks were written before", share * 100.0),
        None => "nothing was written".to_owned(),
    };
    let name = printable(&device.name);
    if figures.is_too_small() {
        let lacks = figures.lacks_curve().unwrap_or_default();
        let accesses = figures.accesses;
        return format!("{name}: {accesses} accesses to blocks of 4 KiB; no curve: {lacks}\n");
    }
    let error = if figures.is_exact() {
        ""
    } else {
        " (a drop may appear at a cache size that is wrong by up to 30 %, docs/trace.md)"
    };
    let curve =
        figures.lacks_curve().unwrap_or_else(|| listing_table(CachePoint::ALL, figures.shown()));
    format!(
        "{name}: {} accesses to blocks of 4 KiB, {} touched, {}{error}\n{curve}\n\
         reuse after: {}\noverwritten after: {}; {overwritten}\n",
        figures.accesses,
        Bytes(figures.touched_bytes as u64),
        figures.exactness(),
        times(&figures.reuse),
        times(&figures.overwrite)
    )
}

fn times(times: &ResponseFigures) -> String {
    let elapsed = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| Nanos(ns).elapsed_text());
    format!(
        "average {}, 50 % within {}, 99 % within {}, at most {}",
        elapsed(times.mean_ns),
        elapsed(times.p50_ns),
        elapsed(times.p99_ns),
        elapsed(times.max_ns)
    )
}
