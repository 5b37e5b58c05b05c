//! Parameters that only some procedures have: `--set NAME=VALUE`.

use crate::procedure_error::ProcedureError;
use std::ops::RangeInclusive;
use std::str::FromStr;
use steadfast_domain::findings::{Facts, OptionalText, Origin, Setting};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Caveat, Nanos, Profile, Settings, caveats as ids, suggestion};

/// A parameter of a procedure.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name, which the user types before the `=`.
    pub name: &'static str,
    /// Default value.
    pub default: &'static str,
    /// Default value in profile `quick`; `None` if it is the same.
    pub quick: Option<&'static str>,
    /// Description with unit and permitted values, for help, reports and error messages.
    pub meaning: &'static str,
    /// Source of the default value.
    pub source: &'static str,
    /// True if the default could not be checked against the standard.
    pub unverified: bool,
    /// Returns true if a run with these settings uses the parameter.
    pub applies: fn(&Settings) -> bool,
    /// True if the parameter decides the demand of measured steps.
    pub of_demand: bool,
}

impl Parameter {
    /// Template with the common values: verified, the same in all profiles, always used.
    pub const PLAIN: Parameter = Parameter {
        name: "",
        default: "",
        quick: None,
        meaning: "",
        source: "",
        unverified: false,
        applies: |_| true,
        of_demand: false,
    };
    /// Template of a parameter whose default could not be checked against the standard.
    pub const UNVERIFIED: Parameter = Parameter { unverified: true, ..Parameter::PLAIN };
    /// Returns the value that the user gave, or the default for these settings.
    pub fn value<'a>(&self, settings: &'a Settings) -> &'a str {
        settings.parameters.get(self.name).map_or(self.preset(settings), String::as_str)
    }
    /// Returns the default for these settings.
    fn preset(&self, settings: &Settings) -> &'static str {
        match self.quick {
            Some(quick) if settings.profile == Profile::Quick => quick,
            _ => self.default,
        }
    }
    /// Returns the origin of the value in these settings.
    pub(crate) fn origin(&self, settings: &Settings) -> Origin {
        match (settings.parameters.contains_key(self.name), settings.profile) {
            (true, _) => Origin::Chosen,
            (false, Profile::Quick) if self.quick.is_some() => Origin::Profile,
            (false, _) => Origin::Default,
        }
    }
    /// Returns a row of the report with this label and text for the value.
    pub(crate) fn row(
        &self,
        settings: &Settings,
        label: &str,
        value: impl OptionalText,
    ) -> Setting {
        let id = format!("parameter-{}", self.name);
        Setting::new(&id, label, value, self.origin(settings))
    }
    /// Returns a row of the report with the value as it was given.
    pub(crate) fn value_row(&self, settings: &Settings, label: &str) -> Setting {
        self.row(settings, label, self.value(settings))
    }
    /// Parses the value with `read`.
    ///
    /// # Errors
    /// Returns [`ProcedureError`] if `read` returns `None`; the message contains the meaning of the
    /// parameter and its default.
    pub(crate) fn parse<T>(
        &self,
        settings: &Settings,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ProcedureError> {
        let value = self.value(settings);
        read(value).ok_or_else(|| {
            ProcedureError(format!(
                "parameter {} cannot be '{value}': {} (default {})",
                self.name,
                self.meaning,
                self.preset(settings),
                value = excerpt(value)
            ))
        })
    }
    /// Parses the value as a time from 100 ms to 30 days.
    pub(crate) fn time(&self, settings: &Settings) -> Result<Nanos, ProcedureError> {
        self.within(settings, Nanos::from_millis(100)..=Nanos::from_secs(30 * 86_400))
    }
    /// Parses the value as a number or a time within this range.
    pub(crate) fn within<T: FromStr + PartialOrd>(
        &self,
        settings: &Settings,
        possible: RangeInclusive<T>,
    ) -> Result<T, ProcedureError> {
        self.parse(settings, |text| text.parse().ok().filter(|value| possible.contains(value)))
    }
    /// Returns what the value, one of these names, stands for.
    pub(crate) fn choice<T: Copy>(
        &self,
        settings: &Settings,
        choices: &[(&str, T)],
    ) -> Result<T, ProcedureError> {
        self.parse(settings, |text| {
            choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice)
        })
    }
    /// Parses the value as a list of items, separated by commas, that all differ: they name
    /// rows, or phases, which identify loads in the journal.
    pub(crate) fn list<T: PartialEq>(
        &self,
        settings: &Settings,
        item: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, ProcedureError> {
        self.items(settings, item, |items| {
            items.iter().enumerate().all(|(index, item)| !items[..index].contains(item))
        })
    }
    /// Parses the value as a list of items, separated by commas, that ascend.
    pub(crate) fn ascending<T: PartialOrd>(
        &self,
        settings: &Settings,
        item: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, ProcedureError> {
        self.items(settings, item, |items| items.is_sorted_by(|a, b| a < b))
    }
    fn items<T>(
        &self,
        settings: &Settings,
        item: impl Fn(&str) -> Option<T>,
        is_valid: impl Fn(&[T]) -> bool,
    ) -> Result<Vec<T>, ProcedureError> {
        self.parse(settings, |text| {
            let items: Option<Vec<T>> = text.split(',').map(|text| item(text.trim())).collect();
            items.filter(|items| is_valid(items))
        })
    }
    /// Parses the value as a list of different percentages from `least` to 100.
    pub(crate) fn percents(
        &self,
        settings: &Settings,
        least: u8,
    ) -> Result<Vec<u8>, ProcedureError> {
        self.list(settings, |text| text.parse().ok().filter(|p| (least..=100).contains(p)))
    }
    /// Parses the value as a list such as `5,10min`: different times from 1 ms to 24 h, with a unit
    /// or in seconds.
    pub(crate) fn times(&self, settings: &Settings) -> Result<Vec<Nanos>, ProcedureError> {
        let possible = Nanos::from_millis(1)..=Nanos::from_secs(86_400);
        self.list(settings, |text| text.parse::<Nanos>().ok().filter(|t| possible.contains(t)))
    }
}

/// Returns an error if the user gave a parameter that the procedure does not have.
pub(crate) fn check(
    procedure: &str,
    known: &[Parameter],
    settings: &Settings,
) -> Result<(), ProcedureError> {
    let unknown = settings.parameters.keys().find(|name| known.iter().all(|p| p.name != *name));
    let Some(unknown) = unknown else { return Ok(()) };
    let names: Vec<&str> = known.iter().map(|p| p.name).collect();
    let has = if names.is_empty() {
        "it has none".to_owned()
    } else {
        format!("it has: {}", names.join(", "))
    };
    let meant = suggestion(unknown, names);
    Err(ProcedureError(format!(
        "{procedure} has no parameter '{unknown}'{meant}; {has}",
        unknown = excerpt(unknown)
    )))
}

/// Returns true if the user gave one of the procedure's parameters that decide the demand.
pub(crate) fn has_chosen_demand(parameters: &[Parameter], settings: &Settings) -> bool {
    parameters.iter().any(|p| p.of_demand && p.origin(settings) == Origin::Chosen)
}

fn origin_text(origin: Origin) -> &'static str {
    match origin {
        Origin::Chosen => "chosen",
        Origin::Profile => "by profile quick",
        Origin::Default | Origin::Found => "default",
    }
}

/// Returns all parameters with their values, for the report.
pub(crate) fn facts(parameters: &[Parameter], settings: &Settings) -> Facts {
    let row = |p: &Parameter| {
        let origin = origin_text(p.origin(settings));
        if !(p.applies)(settings) {
            return p.row(settings, p.name, "not used in this run").remark(format!(" ({origin})"));
        }
        // An unverified parameter is listed under Disclosures with its meaning and source.
        let remark = if p.unverified {
            format!(" ({origin}), unverified: see Disclosures")
        } else {
            format!(" ({origin}): {}; source: {}", p.meaning, p.source)
        };
        p.row(settings, p.name, p.value(settings)).remark(remark)
    };
    let mut rows: Vec<Setting> = parameters.iter().map(row).collect();
    if rows.is_empty() {
        rows.push(Setting::outcome("none", "this procedure has no parameters of its own"));
    }
    Facts::new("Parameters").noun("Parameter").rows(rows)
}

/// Returns a caveat for each parameter in use whose default could not be checked.
pub(crate) fn caveats(parameters: &[Parameter], settings: &Settings) -> Vec<Caveat> {
    parameters
        .iter()
        .filter(|p| p.unverified && (p.applies)(settings))
        .map(|p| {
            Caveat::unverified(
                &ids::parameter(p.name),
                format!(
                    "Parameter {} = {} ({}): {}. Source: {}.",
                    p.name,
                    p.value(settings),
                    origin_text(p.origin(settings)),
                    p.meaning,
                    p.source
                ),
                "",
            )
        })
        .collect()
}
