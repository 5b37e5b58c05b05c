//! `steadfast devices`: lists testable devices.

use crate::cli::DevicesArguments;
use crate::exit::ExitState;
use crate::terminal;
use serde::Serialize;
use steadfast_domain::Device;
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{SimulatedSsd, drives};
use steadfast_host::SystemRoots;
use steadfast_report::text_table;

/// The JSON output.
#[derive(Serialize, schemars::JsonSchema)]
pub struct DevicesOutput {
    devices: Vec<Device>,
}

/// Lists block devices and simulated drives.
pub fn run(arguments: &DevicesArguments) -> anyhow::Result<ExitState> {
    let mut devices = steadfast_host::devices(&SystemRoots::real())?;
    devices.extend(
        drives()
            .iter()
            .map(|spec| SimulatedSsd::new(spec, 1, StopSignal::default()).device().clone()),
    );
    if arguments.json {
        terminal::print_json(&DevicesOutput { devices })?;
    } else {
        terminal::print(&table(&devices))?;
    }
    Ok(ExitState::Done)
}

fn table(devices: &[Device]) -> String {
    let head = ["TARGET", "MODEL", "SERIAL", "FIRMWARE", "SIZE", "INTERFACE", "SECTOR", "IN USE"];
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
    rows.extend(devices.iter().map(cells));
    let mut text = text_table::with_left(&rows, |_| true);
    let is_named = |device: &&Device| device.serial.is_none() && !device.is_simulated();
    let names: Vec<&str> = devices.iter().filter(is_named).map(Device::confirmation).collect();
    if !names.is_empty() {
        text.push_str(&format!(
            "\n\nA device without a serial number is confirmed by its kernel name (--yes-destroy): {}",
            names.join(", ")
        ));
    }
    text
}

fn cells(device: &Device) -> Vec<String> {
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".into());
    let in_use =
        if device.in_use.is_empty() { "free".to_owned() } else { device.in_use.join(", ") };
    vec![
        device.path.clone(),
        known(&device.model),
        known(&device.serial),
        known(&device.firmware),
        device.capacity.to_string(),
        match device.zoned {
            Some(zoned) => format!("{}, {zoned}", device.transport),
            None => device.transport.to_string(),
        },
        format!("{}/{}", device.logical_sector, device.physical_sector),
        in_use,
    ]
}
