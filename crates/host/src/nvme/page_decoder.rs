//! Decodes a page by its layout: a table of fields with their place, kind, unit and clause.

use super::commands::IdentifyData;
use std::fmt;
use steadfast_domain::drive_page::{DriveField, DrivePage, PageState};
use steadfast_domain::hex::to_hex;

/// Kind of a field's content; numbers are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Number,
    /// A number for which 0 means that the drive does not report it.
    NonZero,
    /// A number for which all ones mean that the drive does not report it.
    NotOnes,
    /// Bits with meanings of their own.
    Flags,
    /// ASCII, padded with blanks or zeros.
    Text,
    /// Bytes in the order of their addresses.
    Hex,
}

/// A field of a page or of a repeated structure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageField {
    /// Acronym or requirement in the specification.
    pub id: &'static str,
    pub offset: usize,
    pub length: usize,
    pub kind: FieldKind,
    /// Unit of a number; empty for a count.
    pub unit: &'static str,
    pub name: &'static str,
    /// First version of the page that has the field.
    pub since: u128,
}

/// A structure that a page repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldGroup {
    pub id: &'static str,
    pub name: &'static str,
    pub offset: usize,
    pub stride: usize,
    pub count: usize,
    /// True if the last structure of the page has number 0.
    pub descending: bool,
    pub fields: &'static [PageField],
}

/// Command and number by which a page is read. Printed, it is the identifier of the page's record,
/// such as `log-0d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageNumber {
    /// Data structure of Identify.
    Identify(IdentifyData),
    /// Log page identifier.
    Log(u8),
    /// Feature that is a number of 32 bits.
    FeatureValue(u8),
    /// Feature with a data structure.
    FeatureData(u8),
}

impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageNumber::Identify(IdentifyData::Controller) => f.write_str("identify-controller"),
            PageNumber::Identify(IdentifyData::Namespace) => f.write_str("identify-namespace"),
            PageNumber::Identify(other) => write!(f, "identify-{:02x}", *other as u8),
            PageNumber::Log(id) => write!(f, "log-{id:02x}"),
            PageNumber::FeatureValue(id) | PageNumber::FeatureData(id) => {
                write!(f, "feature-{id:02x}")
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct PageLayout {
    pub number: PageNumber,
    pub name: &'static str,
    /// Specification and clause.
    pub source: &'static str,
    /// Length in bytes, as far as the specification defines it.
    pub length: usize,
    /// True if a page of zeros is a valid one.
    pub may_be_zero: bool,
    /// Field with the version of the page, and the last version that the tables describe.
    pub version: Option<(&'static PageField, u128)>,
    /// Field with an identifier of the page, and its value in the order of its bytes.
    pub guid: Option<(&'static PageField, [u8; 16])>,
    pub fields: &'static [PageField],
    pub groups: &'static [FieldGroup],
}

impl PageLayout {
    /// Template of a page without a version, an identifier or repeated structures.
    pub const PLAIN: PageLayout = PageLayout {
        number: PageNumber::Log(0),
        name: "",
        source: "",
        length: 0,
        may_be_zero: false,
        version: None,
        guid: None,
        fields: &[],
        groups: &[],
    };
}

/// Declares fields as constants, and all of them as `FIELDS`. Each row: constant, first byte,
/// `+`length, kind, unit, clause, name.
macro_rules! fields {
    ($($constant:ident $offset:literal + $length:literal $kind:ident $unit:literal $id:literal
       $name:literal $(since $since:literal)?;)*) => {
        $(pub(crate) const $constant: PageField = PageField {
            id: $id,
            offset: $offset,
            length: $length,
            kind: $crate::nvme::page_decoder::FieldKind::$kind,
            unit: $unit,
            name: $name,
            since: 0 $(+ $since)?,
        };)*
        pub(crate) const FIELDS: &[PageField] = &[$($constant),*];
    };
}
pub(crate) use fields;

/// A repeated structure, counted upwards: identifier, name, first byte `+` stride `*` count, fields.
macro_rules! group {
    ($id:literal, $name:literal, $offset:tt + $stride:literal * $count:literal, $fields:expr) => {
        FieldGroup {
            id: $id,
            name: $name,
            offset: $offset,
            stride: $stride,
            count: $count,
            descending: false,
            fields: $fields,
        }
    };
}
pub(crate) use group;

/// Declares a page: constant, number, name, source and length, then its other fields of
/// [`PageLayout`].
macro_rules! page {
    ($page:ident = $command:ident($number:expr), $name:literal, $source:literal, $length:expr;
     $($field:ident: $value:expr),*) => {
        pub(crate) static $page: PageLayout = PageLayout {
            number: PageNumber::$command($number),
            name: $name,
            source: $source,
            length: $length,
            $($field: $value,)*
            ..PageLayout::PLAIN
        };
    };
}
pub(crate) use page;

impl PageField {
    /// Returns the field's bytes; `None` if they end before it does.
    fn bytes<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        bytes.get(self.offset..self.offset.checked_add(self.length)?)
    }

    /// Returns the number in a structure; `None` if the structure ends before the field does, or if
    /// the value means that it is not reported.
    pub fn number_in(&self, bytes: &[u8]) -> Option<u128> {
        let bytes = self.bytes(bytes)?;
        let value = bytes.iter().rev().fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        let is_reported = match self.kind {
            FieldKind::NonZero => value != 0,
            FieldKind::NotOnes => bytes.iter().any(|byte| *byte != 0xff),
            _ => true,
        };
        is_reported.then_some(value)
    }

    /// Returns the text or bytes of a structure as text; `None` if there are none.
    fn text_in(&self, bytes: &[u8]) -> Option<String> {
        let bytes = self.bytes(bytes)?;
        let text = match self.kind {
            FieldKind::Text => {
                let text = String::from_utf8_lossy(bytes);
                text.trim_matches(crate::system_roots::is_padding).to_owned()
            }
            _ if bytes.iter().all(|byte| *byte == 0) => String::new(),
            _ => to_hex(bytes),
        };
        (!text.is_empty()).then_some(text)
    }

    fn value_in(&self, bytes: &[u8]) -> Option<String> {
        match self.kind {
            FieldKind::Text | FieldKind::Hex => self.text_in(bytes),
            FieldKind::Flags => self.number_in(bytes).map(|value| format!("{value:#x}")),
            _ => self.number_in(bytes).map(|value| value.to_string()),
        }
    }
}

/// A page as read from a drive.
#[derive(Debug, Clone)]
pub(crate) struct ReadPage {
    pub layout: &'static PageLayout,
    pub bytes: Vec<u8>,
}

impl ReadPage {
    pub fn new(layout: &'static PageLayout, bytes: Vec<u8>) -> Self {
        ReadPage { layout, bytes }
    }

    /// Returns a number of the page; `None` if the drive does not report it.
    pub fn number(&self, field: &PageField) -> Option<u128> {
        if self.has(field) { field.number_in(&self.bytes) } else { None }
    }

    /// Returns a number of at most 64 bits; `None` if the drive does not report it.
    pub fn count(&self, field: &PageField) -> Option<u64> {
        self.number(field)?.try_into().ok()
    }

    /// Returns a text of the page; `None` if it is blank.
    pub fn text(&self, field: &PageField) -> Option<String> {
        if self.has(field) { field.text_in(&self.bytes) } else { None }
    }

    /// Returns the structures of a group that the page holds in full, each with its number.
    pub fn group(&self, group: &FieldGroup) -> Vec<(usize, &[u8])> {
        if matches!(self.state(), PageState::Zero | PageState::Foreign) {
            return Vec::new();
        }
        let structures = self.bytes.get(group.offset..).unwrap_or_default();
        let structures = structures.chunks_exact(group.stride).take(group.count).enumerate();
        structures
            .map(|(at, bytes)| (if group.descending { group.count - 1 - at } else { at }, bytes))
            .collect()
    }

    fn has(&self, field: &PageField) -> bool {
        let is_decoded = !matches!(self.state(), PageState::Zero | PageState::Foreign);
        is_decoded && (field.since == 0 || self.version().is_some_and(|now| now >= field.since))
    }

    fn version(&self) -> Option<u128> {
        self.layout.version.and_then(|(field, _)| field.number_in(&self.bytes))
    }

    /// Returns how far the page can be decoded.
    pub fn state(&self) -> PageState {
        let is_zero = self.bytes.iter().all(|byte| *byte == 0);
        let guid =
            self.layout.guid.and_then(|(field, value)| Some((field.bytes(&self.bytes)?, value)));
        if is_zero && !self.layout.may_be_zero {
            PageState::Zero
        } else if guid.is_some_and(|(found, value)| found != value) {
            PageState::Foreign
        } else if self.bytes.len() < self.layout.length {
            PageState::Short
        } else if self
            .layout
            .version
            .zip(self.version())
            .is_some_and(|((_, known), now)| now > known)
        {
            PageState::Newer
        } else {
            PageState::Complete
        }
    }

    fn remark(&self) -> String {
        match self.state() {
            PageState::Short => {
                format!("{} of {} bytes", self.bytes.len(), self.layout.length)
            }
            PageState::Zero => "all bytes are zero".to_owned(),
            PageState::Newer => {
                let (now, known) = (self.version(), self.layout.version.map(|(_, known)| known));
                let [now, known] = [now, known].map(Option::unwrap_or_default);
                format!("version {now}, decoded as version {known}")
            }
            PageState::Foreign => "another page has this number (its GUID differs)".to_owned(),
            PageState::Complete | PageState::Refused => String::new(),
        }
    }

    /// Returns the page with every field that the drive reports. `part` follows the identifier, such
    /// as the number of an endurance group.
    pub fn record(&self, part: Option<u16>) -> DrivePage {
        let own = self.layout.fields.iter().filter(|field| self.has(field));
        let own =
            own.filter_map(|field| shown(field, &self.bytes, field.id.into(), field.name.into()));
        let mut fields: Vec<DriveField> = own.collect();
        for group in self.layout.groups {
            for (number, bytes) in self.group(group) {
                if bytes.iter().all(|byte| *byte == 0) {
                    continue;
                }
                fields.extend(group.fields.iter().filter_map(|field| {
                    let id = format!("{}{number}.{}", group.id, field.id);
                    let name = format!("{} {number}: {}", group.name, field.name);
                    shown(field, bytes, id, name)
                }));
            }
        }
        let used = self.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        DrivePage {
            id: identifier(self.layout, part),
            name: self.layout.name.to_owned(),
            source: self.layout.source.to_owned(),
            state: self.state(),
            remark: self.remark(),
            length: u32::try_from(self.bytes.len()).unwrap_or(u32::MAX),
            fields,
            raw: to_hex(&self.bytes[..used]),
        }
    }
}

/// Returns the record of a page that the drive refused.
pub(crate) fn refused_page(layout: &PageLayout, part: Option<u16>, why: String) -> DrivePage {
    DrivePage {
        id: identifier(layout, part),
        name: layout.name.to_owned(),
        source: layout.source.to_owned(),
        state: PageState::Refused,
        remark: why,
        length: 0,
        fields: Vec::new(),
        raw: String::new(),
    }
}

fn identifier(layout: &PageLayout, part: Option<u16>) -> String {
    match part {
        Some(part) => format!("{}-{part}", layout.number),
        None => layout.number.to_string(),
    }
}

fn shown(field: &PageField, bytes: &[u8], id: String, name: String) -> Option<DriveField> {
    let value = field.value_in(bytes)?;
    Some(DriveField { id, name, value, unit: field.unit.to_owned() })
}
