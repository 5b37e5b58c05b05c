//! Parameters that only some procedures have: `--set NAME=VALUE`.

use crate::unsuitable::Unsuitable;
use steadfast_domain::findings::{Facts, Known, Origin, Setting};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Caveat, CaveatKind, Nanos, Profile, Settings, caveats as ids, suggestion};

/// A parameter of a procedure.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// What a user types before the `=`.
    pub name: &'static str,
    /// Its value where the user gives none.
    pub default: &'static str,
    /// Its value in profile `quick` where the user gives none, if it is another.
    pub quick: Option<&'static str>,
    /// What it decides, with its unit and what it may be.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// The default could not be checked against the standard.
    pub unverified: bool,
    /// Its value in a run that began under rules 0 (`Settings::rules`), if it is
    /// another.
    pub before_rules: Option<&'static str>,
    /// Whether these settings make use of it.
    pub applies: fn(&Settings) -> bool,
    /// It decides the demand of measured steps.
    pub of_demand: bool,
}

impl Parameter {
    /// What most parameters have in common: verified, the same in every profile,
    /// always of use.
    pub const PLAIN: Parameter = Parameter {
        name: "",
        default: "",
        quick: None,
        meaning: "",
        source: "",
        unverified: false,
        before_rules: None,
        applies: |_| true,
        of_demand: false,
    };
    /// Its value in these settings: the user's, or the profile's.
    pub fn value<'a>(&self, settings: &'a Settings) -> &'a str {
        settings.parameters.get(self.name).map_or(self.preset(settings), String::as_str)
    }
    /// Its value where the user gives none.
    fn preset(&self, settings: &Settings) -> &'static str {
        match (self.quick, self.before_rules) {
            (_, Some(before)) if settings.rules == 0 => before,
            (Some(quick), _) if settings.profile == Profile::Quick => quick,
            _ => self.default,
        }
    }
    /// Where its value comes from in these settings.
    pub(crate) fn origin(&self, settings: &Settings) -> Origin {
        match (settings.parameters.contains_key(self.name), settings.profile) {
            (true, _) => Origin::Chosen,
            (false, Profile::Quick) if self.quick.is_some() => Origin::Profile,
            (false, _) => Origin::Default,
        }
    }
    /// Its value as another place of the report writes it.
    pub(crate) fn row(&self, settings: &Settings, label: &str, value: impl Known) -> Setting {
        let id = format!("parameter-{}", self.name);
        Setting::new(&id, label, value, self.origin(settings))
    }
    /// Its value as something else, or a refusal that says what was expected.
    pub fn parse<T>(
        &self,
        settings: &Settings,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Unsuitable> {
        let value = self.value(settings);
        read(value).ok_or_else(|| {
            Unsuitable(format!(
                "parameter {} cannot be '{value}'; it is: {} (default {})",
                self.name,
                self.meaning,
                self.preset(settings),
                value = excerpt(value)
            ))
        })
    }
    /// Its value as a time of at least a tenth of a second.
    pub fn time(&self, settings: &Settings) -> Result<Nanos, Unsuitable> {
        let possible = Nanos::from_millis(100)..=Nanos::from_secs(30 * 86_400);
        self.parse(settings, |text| text.parse::<Nanos>().ok().filter(|t| possible.contains(t)))
    }
}

/// Refuses a parameter that is none of a procedure's.
pub(crate) fn check(
    procedure: &str,
    known: &[Parameter],
    settings: &Settings,
) -> Result<(), Unsuitable> {
    let stranger = settings.parameters.keys().find(|name| known.iter().all(|p| p.name != *name));
    let Some(stranger) = stranger else { return Ok(()) };
    let names: Vec<&str> = known.iter().map(|p| p.name).collect();
    let has = match names.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has: {}", names.join(", ")),
    };
    let meant = suggestion(stranger, names);
    Err(Unsuitable(format!(
        "{procedure} has no parameter '{stranger}'{meant}; {has}",
        stranger = excerpt(stranger)
    )))
}

/// Whether the user chose the demand through one of the procedure's parameters.
pub(crate) fn choose_demand(parameters: &[Parameter], settings: &Settings) -> bool {
    parameters.iter().any(|p| p.of_demand && p.origin(settings) == Origin::Chosen)
}

fn origin_text(origin: Origin) -> &'static str {
    match origin {
        Origin::Chosen => "chosen",
        Origin::Profile => "by profile quick",
        Origin::Default | Origin::Found => "default",
    }
}

/// Every parameter with its value, for the report.
pub(crate) fn facts(parameters: &[Parameter], settings: &Settings) -> Facts {
    let row = |p: &Parameter| {
        let origin = origin_text(p.origin(settings));
        if !(p.applies)(settings) {
            return p.row(settings, p.name, "not used in this run").remark(format!(" ({origin})"));
        }
        // What could not be checked is disclosed with its meaning and its source.
        let remark = match p.unverified {
            true => format!(" ({origin}), unverified: see Disclosures"),
            false => format!(" ({origin}): {}; source: {}", p.meaning, p.source),
        };
        p.row(settings, p.name, p.value(settings)).remark(remark)
    };
    let mut rows: Vec<Setting> = parameters.iter().map(row).collect();
    if rows.is_empty() {
        rows.push(Setting::outcome("none", "this procedure has no parameters of its own"));
    }
    Facts::new("Parameters").noun("Parameter").rows(rows)
}

/// A caveat for every parameter in use whose default could not be checked.
pub(crate) fn caveats(parameters: &[Parameter], settings: &Settings) -> Vec<Caveat> {
    parameters
        .iter()
        .filter(|p| p.unverified && (p.applies)(settings))
        .map(|p| {
            Caveat::new(
                CaveatKind::Unverified,
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
