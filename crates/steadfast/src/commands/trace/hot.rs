//! `trace hot`: the address ranges with the most hits and the processes that hit them.

use super::listing_table::listing_table;
use crate::cli::questions::HotArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::device_layer::device_name;
use steadfast_analysis::questions::hits::DeviceEnds;
use steadfast_analysis::questions::hot::{HotProcess, HotRange, HotRanges};
use steadfast_domain::text::printable;
use steadfast_domain::units::Bytes;

#[derive(Serialize, schemars::JsonSchema)]
pub struct HotContent {
    devices: Vec<DeviceHotRanges>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct DeviceHotRanges {
    device: String,
    ranges: usize,
    range_bytes: u64,
    /// Ranges with a hit.
    touched: usize,
    /// The most hits first.
    hottest: Vec<HotRangeContent>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct HotRangeContent {
    #[serde(flatten)]
    range: HotRange,
    /// Processes with the most hits; at most five.
    processes: Vec<HotProcess>,
}

/// Prints the hottest ranges of every device with reads or writes.
pub fn run(arguments: &HotArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let mut ends = DeviceEnds::default();
    selected.ask(|captured, pass| captured.run(pass, &mut [&mut ends]))?;
    let (conditions, ranges) = (selected.conditions(), usize::try_from(arguments.ranges)?);
    let new = |device| HotRanges::new(device, ends.end(device, conditions), ranges);
    let PassResult { found, account } = selected.answer(|captured, pass| {
        let mut found: Vec<HotRanges> = ends.devices().map(new).collect();
        let account = captured.run_each(pass, &mut found)?;
        captured.span_of(pass, &account)?;
        Ok(PassResult { found, account })
    })?;
    let device = |ranges: &HotRanges| DeviceHotRanges {
        device: device_name(conditions, ranges.device),
        ranges: ranges.ranges(),
        range_bytes: ranges.range_bytes,
        touched: ranges.touched(),
        hottest: ranges.hottest(arguments.top).into_iter().map(HotRangeContent::new).collect(),
    };
    let content = HotContent { devices: found.iter().map(device).collect() };
    selected.show_devices(arguments.json, account, content, |content| {
        content.devices.iter().map(DeviceHotRanges::lines).collect()
    })
}

impl HotRangeContent {
    fn new(range: HotRange) -> Self {
        HotRangeContent { processes: range.processes.clone(), range }
    }
}

impl DeviceHotRanges {
    fn lines(&self) -> String {
        format!(
            "{}: {} of {} ranges of {} were hit\n{}\n",
            printable(&self.device),
            self.touched,
            self.ranges,
            Bytes(self.range_bytes),
            listing_table(&HotRange::TABLE, self.hottest.iter().map(|hot| &hot.range))
        )
    }
}
