//! [`Setting`]: a labeled value with its origin and its role in comparisons, so that programs need
//! not interpret its text.

use serde::{Deserialize, Serialize};

/// Origin of a labeled value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Chosen by the user.
    Chosen,
    /// Determined by profile, class and procedure.
    Profile,
    /// Default of the program; the user chose nothing.
    Default,
    /// Found on host or device, or measured.
    Found,
}

/// Role of a labeled value when runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Part of the method; `Findings::method` states all of it in one line.
    Method,
    /// A choice on which the numbers depend: runs with different values are not comparable.
    Setting,
    /// Identity of the run, device or host.
    Identity,
    /// A result: measured, or computed from the device and other settings.
    Outcome,
}

/// A labeled value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Setting {
    /// Short name, stable across versions, such as `wipc-demand`. Values with the same ID have the
    /// same meaning everywhere in the findings.
    pub id: String,
    /// Label in print.
    pub label: String,
    /// Value; `None` if unknown, printed as a dash.
    pub value: Option<String>,
    /// Text printed after the value but not part of it: an origin in words, a source, or an amount
    /// that follows from the device.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
    /// Origin of the value.
    pub origin: Origin,
    /// Role of the value in comparisons.
    pub role: Role,
}

impl Setting {
    /// Creates a setting on which the numbers depend.
    pub fn new(id: &str, label: &str, value: impl OptionalText, origin: Origin) -> Self {
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
    /// Creates a part of the method.
    pub fn method(id: &str, label: &str, value: impl OptionalText, origin: Origin) -> Self {
        Setting { role: Role::Method, ..Setting::new(id, label, value, origin) }
    }
    /// Creates an identity value; `label` is also the ID.
    pub fn identity(label: &str, value: impl OptionalText) -> Self {
        Setting { role: Role::Identity, ..Setting::new(label, label, value, Origin::Found) }
    }
    /// Creates a result; `label` is also the ID.
    pub fn outcome(label: &str, value: impl OptionalText) -> Self {
        Setting { role: Role::Outcome, ..Setting::new(label, label, value, Origin::Found) }
    }
    /// Sets a different ID.
    pub fn with_id(self, id: &str) -> Self {
        Setting { id: id.to_owned(), ..self }
    }
    /// Sets the origin.
    pub fn by(self, origin: Origin) -> Self {
        Setting { origin, ..self }
    }
    /// Sets the text printed after the value.
    pub fn remark(self, remark: impl Into<String>) -> Self {
        Setting { remark: remark.into(), ..self }
    }
    /// Returns value and remark as printed; `None` prints as a dash.
    pub fn text(&self) -> Option<String> {
        self.value.as_ref().map(|value| format!("{value}{}", self.remark))
    }
}

/// A text that may be unknown. An empty text counts as unknown.
pub trait OptionalText {
    /// Returns the text, or `None` if it is unknown.
    fn known(self) -> Option<String>;
}

impl OptionalText for &str {
    fn known(self) -> Option<String> {
        self.to_owned().known()
    }
}

impl OptionalText for String {
    fn known(self) -> Option<String> {
        Some(self).filter(|text| !text.is_empty())
    }
}

impl OptionalText for &String {
    fn known(self) -> Option<String> {
        self.as_str().known()
    }
}

impl OptionalText for &Option<String> {
    fn known(self) -> Option<String> {
        self.as_deref().known()
    }
}

impl<T: OptionalText> OptionalText for Option<T> {
    fn known(self) -> Option<String> {
        self.and_then(T::known)
    }
}

/// Labeled values under a title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Facts {
    /// Title of the group.
    pub title: String,
    /// Word for one of the values where the title is not shown, such as `Parameter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noun: Option<String>,
    /// Labeled values, in order.
    pub rows: Vec<Setting>,
}

impl Facts {
    /// Creates an empty group without a noun.
    pub fn new(title: impl Into<String>) -> Self {
        Facts { title: title.into(), noun: None, rows: Vec::new() }
    }
    /// Sets the word for one of the values.
    pub fn noun(self, noun: &str) -> Self {
        Facts { noun: Some(noun.to_owned()), ..self }
    }
    /// Adds a value.
    pub fn with(mut self, row: Setting) -> Self {
        self.rows.push(row);
        self
    }
    /// Adds several values.
    pub fn rows(mut self, rows: impl IntoIterator<Item = Setting>) -> Self {
        self.rows.extend(rows);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_printed_but_not_part_of_the_value() {
        let demand = Setting::new("demand", "Demand", "T4Q32", Origin::Chosen).remark(" (chosen)");
        assert_eq!(demand.value.as_deref(), Some("T4Q32"));
        assert_eq!(demand.text().as_deref(), Some("T4Q32 (chosen)"));
        let unknown = Setting::identity("CPU", Some(String::new())).remark(" x");
        assert_eq!((unknown.text(), unknown.id.as_str()), (None, "CPU"));
    }

    #[test]
    fn constructors_set_role_and_origin() {
        let class = Setting::method("class", "Class", "client", Origin::Default);
        for (setting, role, origin) in [
            (Setting::outcome("x", "1"), Role::Outcome, Origin::Found),
            (Setting::identity("x", "1"), Role::Identity, Origin::Found),
            (Setting::identity("x", "1").by(Origin::Chosen), Role::Identity, Origin::Chosen),
            (class, Role::Method, Origin::Default),
        ] {
            assert_eq!((setting.role, setting.origin), (role, origin));
        }
    }
}
