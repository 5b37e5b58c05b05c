//! Device and conditions for page one: the most important facts of the chapter of settings.

use super::facts::{capacity_text, demands_text, sectors_text};
use super::form::preconditioning_amount;
use crate::common::choices::RunChoices;
use crate::report_notation::{joined, or_part_specific};
use steadfast_domain::findings::{FrontPage, Origin, Setting};
use steadfast_domain::{Device, DiskArray, Record};

/// Returns device and conditions of a run. The procedure adds figures and plots.
pub fn front(choices: &RunChoices<'_>, record: &Record) -> FrontPage {
    let device = record.opening().map(|opening| device_rows(opening.device));
    FrontPage {
        device: device.unwrap_or_default(),
        conditions: condition_rows(choices, record),
        ..FrontPage::default()
    }
}

fn device_rows(device: &Device) -> Vec<Setting> {
    let transport = device.transport.to_string();
    let interface = match &device.link {
        Some(link) if link.starts_with(&transport) => link.clone(),
        Some(link) => format!("{transport}, {link}"),
        None => transport,
    };
    let rows = [
        Setting::identity("Model", &device.model),
        Setting::identity("Serial number", &device.serial),
        Setting::identity("Firmware", &device.firmware),
        Setting::identity("Capacity", capacity_text(device)),
        Setting::identity("Sector format", sectors_text(device)),
        Setting::identity("Interface", interface),
    ];
    let array = device.array.as_ref().map(|array| Setting::identity("Array", array_text(array)));
    rows.into_iter().chain(array).collect()
}

/// Returns `raid5, 3 members, chunk 512 KiB`.
fn array_text(array: &DiskArray) -> String {
    let members = array.members.len();
    let parts = [
        array.level.clone(),
        (members > 0).then(|| format!("{members} members")),
        array.chunk.map(|chunk| format!("chunk {}", chunk.binary())),
    ];
    joined(parts.into_iter().flatten())
}

fn condition_rows(choices: &RunChoices<'_>, record: &Record) -> Vec<Setting> {
    let settings = choices.settings;
    let cache = record.conditions_last().and_then(|(got, _)| got.write_cache);
    let purge = record.purge().map(|purge| match purge.failed {
        Some(_) => format!("{}, FAILED", purge.method),
        None => purge.method.to_string(),
    });
    let preconditioning = preconditioning_amount(choices)
        .map(|amount| format!("{} {amount}", joined(&choices.preconditioning)));
    let range = match &choices.own_loads {
        Some(loads) => loads.range.clone(),
        None => {
            or_part_specific(choices.of_covered(", ", |covered| format!("{} %", covered.percent)))
        }
    };
    let class = format!("{}, profile {}", settings.class, settings.profile);
    let class = Setting::method("class", "Class", class, Origin::Profile);
    // Before its first step nothing is known about a run's purge.
    let has_begun = record.has_ended() || record.steps().next().is_some();
    let purge = purge.or(has_begun.then(|| "none".to_owned()));
    let rest = [
        Setting::outcome("Purge", purge),
        Setting::outcome("Preconditioning", choices.preconditioning_or(preconditioning)),
        choices.demand_row("Demand", or_part_specific(demands_text(&choices.demands))),
        choices.range_row("Active range", range),
        Setting::outcome("Write cache, read back", cache.map(|c| c.to_string())),
    ];
    let class = choices.own_loads.is_none().then_some(class);
    class.into_iter().chain(rest).collect()
}
