//! Parses the section RESULTS DISPLAY.

use super::config::{Bar, BarSubject, Display, UpdateType};
use super::keys;
use super::pairs::{Key, Pairs, Value};
use crate::parse_error::ParseError;
use steadfast_domain::text::excerpt;

const SECTION: &str = "RESULTS DISPLAY";

pub(super) fn display(pairs: &mut Pairs<'_>) -> Result<Display, ParseError> {
    let mut display = Display::default();
    loop {
        let key = pairs.key(SECTION)?;
        if key.ends("results display") {
            return Ok(display);
        }
        let value = pairs.value(&key);
        if key.is(keys::UPDATE) {
            display.update = Some(update(&value, &value.parts())?);
        } else if key.is(keys::UPDATE_1_1) {
            let (first, rest) =
                value.text.split_once(',').ok_or_else(|| value.wrong("three values expected"))?;
            display.record_last = Some(enabled(&value, first.trim())?);
            let rest: Vec<&str> = rest.split(',').map(str::trim).collect();
            display.update = Some(update(&value, &rest)?);
        } else if let Some(rest) = key.name.strip_prefix(keys::BAR_CHART) {
            display.bars.push(bar(&key, rest, value)?);
        } else {
            return Err(key.unknown(SECTION));
        }
    }
}

fn update(value: &Value, parts: &[&str]) -> Result<(u32, UpdateType), ParseError> {
    let [seconds, kind] = parts else {
        return Err(value.wrong("an update frequency and an update type are expected"));
    };
    let kind = UpdateType::parse(kind)
        .ok_or_else(|| value.wrong(format!("unknown; use one of {}", UpdateType::choices())))?;
    Ok((value.number(seconds, "the update frequency")?, kind))
}

/// Parses ENABLED or DISABLED.
pub(super) fn enabled(value: &Value, text: &str) -> Result<bool, ParseError> {
    match text.to_ascii_uppercase().as_str() {
        "ENABLED" => Ok(true),
        "DISABLED" => Ok(false),
        _ => {
            Err(value
                .wrong(format!("'{text}' is neither ENABLED nor DISABLED", text = excerpt(text))))
        }
    }
}

fn bar(key: &Key, rest: &str, value: Value) -> Result<Bar, ParseError> {
    let (chart, what) = rest.split_once(' ').unwrap_or((rest, ""));
    let chart: u8 = chart.parse().map_err(|_| key.unknown(SECTION))?;
    if !(1..=6).contains(&chart) {
        return Err(ParseError::at(key.line, "bar charts are numbered from 1 to 6"));
    }
    let subject = match what {
        "statistic" => BarSubject::Statistic(value.text),
        "manager id,manager name" => {
            let (id, name) = value.numbered("the manager")?;
            BarSubject::Manager(id, name)
        }
        "worker id,worker name" => {
            let (id, name) = value.numbered("the worker")?;
            BarSubject::Worker(id, name)
        }
        _ => return Err(key.unknown(SECTION)),
    };
    Ok(Bar { chart, subject })
}
