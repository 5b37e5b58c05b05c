//! [`Setting`]: a labeled value that says what it is to a reader who compares
//! runs, and where it comes from; so that programs need not read its text.

use serde::{Deserialize, Serialize};

/// Where a labeled value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The user said it.
    Chosen,
    /// Profile, class and procedure say it.
    Profile,
    /// Nobody said it: the program's own value.
    Default,
    /// Nobody sets it: it was found on host or device, or measured.
    Found,
}

/// What a labeled value is to someone who compares runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It says which method was followed; `Findings::method` says all of it in one line.
    Method,
    /// The numbers depend on it, and it could be another: runs in which it differs are
    /// not alike.
    Setting,
    /// It tells this run, device or host from another.
    Identity,
    /// It came out: measured, or computed from the device and other settings.
    Outcome,
}

/// A labeled value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Setting {
    /// A short name, stable across versions: `wipc-demand`. Values of one name say the
    /// same thing, wherever in the findings they stand.
    pub id: String,
    /// What stands before the value.
    pub label: String,
    /// The value; an unknown one prints a dash.
    pub value: Option<String>,
    /// Said after the value and no part of it: an origin in words, a source, an amount that
    /// follows from the device.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// What it is to a reader.
    pub role: Role,
}

impl Setting {
    /// A setting on which the numbers depend.
    pub fn new(id: &str, label: &str, value: impl Known, origin: Origin) -> Self {
        let (id, label) = (id.to_owned(), label.to_owned());
        Setting {
            id,
            label,
            value: value.known(),
            remark: String::new(),
            origin,
            role: Role::Setting,
        }
    }
    /// A part of the method that was followed.
    pub fn method(id: &str, label: &str, value: impl Known, origin: Origin) -> Self {
        Setting { role: Role::Method, ..Setting::new(id, label, value, origin) }
    }
    /// What tells a run, a device or a host from another; its label is its name.
    pub fn identity(label: &str, value: impl Known) -> Self {
        Setting { role: Role::Identity, ..Setting::new(label, label, value, Origin::Found) }
    }
    /// What came out; its label is its name.
    pub fn outcome(label: &str, value: impl Known) -> Self {
        Setting { role: Role::Outcome, ..Setting::new(label, label, value, Origin::Found) }
    }
    /// The same under another name.
    pub fn named(self, id: &str) -> Self {
        Setting { id: id.to_owned(), ..self }
    }
    /// The same from another origin.
    pub fn by(self, origin: Origin) -> Self {
        Setting { origin, ..self }
    }
    /// With this said after the value.
    pub fn remark(self, remark: impl Into<String>) -> Self {
        Setting { remark: remark.into(), ..self }
    }
    /// Value and remark as they print; `None` prints a dash.
    pub fn text(&self) -> Option<String> {
        self.value.as_ref().map(|value| format!("{value}{}", self.remark))
    }
}

/// What may be a labeled value: a text, or one that is not known. An empty text is not
/// known.
pub trait Known {
    /// The text, where there is one.
    fn known(self) -> Option<String>;
}

impl Known for &str {
    fn known(self) -> Option<String> {
        self.to_owned().known()
    }
}

impl Known for String {
    fn known(self) -> Option<String> {
        Some(self).filter(|text| !text.is_empty())
    }
}

impl Known for &String {
    fn known(self) -> Option<String> {
        self.as_str().known()
    }
}

impl Known for &Option<String> {
    fn known(self) -> Option<String> {
        self.as_deref().known()
    }
}

impl<T: Known> Known for Option<T> {
    fn known(self) -> Option<String> {
        self.and_then(T::known)
    }
}

/// Labelled values under a title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Facts {
    /// Its title.
    pub title: String,
    /// What one of them is called where it stands without the title: `Parameter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noun: Option<String>,
    /// The values.
    pub rows: Vec<Setting>,
}

impl Facts {
    /// Labelled values without a noun; none yet.
    pub fn new(title: impl Into<String>) -> Self {
        Facts { title: title.into(), noun: None, rows: Vec::new() }
    }
    /// With a word for each of them.
    pub fn noun(self, noun: &str) -> Self {
        Facts { noun: Some(noun.to_owned()), ..self }
    }
    /// With another value.
    pub fn with(mut self, row: Setting) -> Self {
        self.rows.push(row);
        self
    }
    /// With more values.
    pub fn rows(mut self, rows: impl IntoIterator<Item = Setting>) -> Self {
        self.rows.extend(rows);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_prints_and_is_no_part_of_the_value() {
        let demand = Setting::new("demand", "Demand", "T4Q32", Origin::Chosen).remark(" (chosen)");
        assert_eq!(demand.value.as_deref(), Some("T4Q32"));
        assert_eq!(demand.text().as_deref(), Some("T4Q32 (chosen)"));
        let unknown = Setting::identity("CPU", Some(String::new())).remark(" x");
        assert_eq!((unknown.text(), unknown.id.as_str()), (None, "CPU"));
    }

    #[test]
    fn the_constructors_say_what_a_value_is() {
        let of = |setting: Setting| (setting.role, setting.origin);
        assert_eq!(of(Setting::outcome("x", "1")), (Role::Outcome, Origin::Found));
        assert_eq!(of(Setting::identity("x", "1")), (Role::Identity, Origin::Found));
        let note = Setting::identity("x", "1").by(Origin::Chosen);
        assert_eq!(of(note), (Role::Identity, Origin::Chosen));
        let class = Setting::method("class", "Class", "client", Origin::Default);
        assert_eq!(of(class), (Role::Method, Origin::Default));
    }
}
