//! Power states that an NVMe controller reports: their power and latencies (Identify Controller), and
//! the idle times after which it enters them by itself (APST, feature 0Ch).

use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use steadfast_domain::Record;
use steadfast_domain::drive_page::DrivePage;
use steadfast_domain::findings::{Cell, Table};

/// Pages with the power states, and with the changes between them.
const IDENTIFY: &str = "identify-controller";
const CHANGES: &str = "feature-0c";

/// Largest number of power states (NVMe Base 2.1, Identify Controller: NPSS).
const STATES_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReportedPowerState {
    pub watts: Option<f64>,
    pub entry_us: Option<f64>,
    pub exit_us: Option<f64>,
    /// True if the controller serves I/Os in this state.
    pub is_operational: bool,
    /// Shortest idle time in milliseconds after which the controller enters it by itself; `None` if
    /// it does not.
    pub after_ms: Option<f64>,
}

/// Returns the power states of the last reading of the drive's pages; empty if it has none.
pub(super) fn reported_states(record: &Record) -> Vec<ReportedPowerState> {
    let Some(pages) = record.drive_pages().last() else { return Vec::new() };
    let page = |id: &str| pages.iter().find(|page| page.id == id);
    let Some(identify) = page(IDENTIFY) else { return Vec::new() };
    // NPSS is the number of the last state.
    let last = number(identify, "npss").map_or(0, |last| last as usize).min(STATES_MAX - 1);
    let mut states = Vec::new();
    for state in 0..=last {
        let field = |name: &str| number(identify, &format!("psd{state}.{name}"));
        let flags = field("flags").unwrap_or(0.0) as u64;
        // Max Power Scale (bit 0): units of 0.1 mW instead of 10 mW. Bit 1: non-operational.
        let unit = if flags & 1 == 1 { 1e-4 } else { 1e-2 };
        states.push(ReportedPowerState {
            watts: field("mp").map(|power| power * unit),
            entry_us: field("enlat"),
            exit_us: field("exlat"),
            is_operational: flags & 2 == 0,
            after_ms: page(CHANGES).and_then(|page| idle_time(page, state)),
        });
    }
    let is_reported = states.iter().any(|state| state.watts.is_some() || state.exit_us.is_some());
    if is_reported { states } else { Vec::new() }
}

/// Returns the shortest idle time in milliseconds after which the table of changes leads to a state.
fn idle_time(changes: &DrivePage, state: usize) -> Option<f64> {
    let mut times = Vec::new();
    for from in 0..STATES_MAX {
        let target = number(changes, &format!("apst{from}.itps"));
        // Bits 7:3; state 0 is no target.
        let is_here = target.is_some_and(|bits| bits as usize >> 3 == state) && state > 0;
        if is_here {
            times.extend(number(changes, &format!("apst{from}.itpt")));
        }
    }
    times.into_iter().reduce(f64::min)
}

/// Returns a number of a page, decimal or flags in hexadecimal; `None` if it is not reported.
fn number(page: &DrivePage, id: &str) -> Option<f64> {
    let value = &page.fields.iter().find(|field| field.id == id)?.value;
    match value.strip_prefix("0x") {
        Some(flags) => u64::from_str_radix(flags, 16).ok().map(|flags| flags as f64),
        None => value.parse().ok(),
    }
}

const STATE: [TypedColumn<ReportedPowerState>; 5] = [
    TypedColumn::number("Power at most W", 4, |state| state.watts),
    TypedColumn::number("Entered after idle ms", 0, |state| state.after_ms),
    TypedColumn::number("Entry us", 0, |state| state.entry_us),
    TypedColumn::number("Exit us", 0, |state| state.exit_us),
    TypedColumn::cell("Serves I/Os", |state| {
        Cell::text(if state.is_operational { "yes" } else { "no" })
    }),
];

/// Returns the power states of the controller; `None` if it reports none. Without idle times if the
/// run `sets_changes` between them: the pages are read before it and after what it set was undone.
pub(super) fn power_states_table(record: &Record, sets_changes: bool) -> Option<Table> {
    let mut states = reported_states(record);
    if sets_changes {
        states.iter_mut().for_each(|state| state.after_ms = None);
    }
    let title = "Power states that the controller reports (Identify Controller, APST)";
    let rows = states.iter().enumerate();
    (!states.is_empty()).then(|| {
        typed_table("reported-power-states", title, "State", &STATE)
            .rows(rows.map(|(number, state)| typed_row(number.to_string(), &STATE, state)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::record;
    use steadfast_domain::drive_page::{DriveField, PageState};
    use steadfast_domain::{JournalEntry, Settings};

    fn page(id: &str, fields: &[(&str, &str)]) -> DrivePage {
        let field = |(id, value): &(&str, &str)| DriveField {
            id: (*id).into(),
            name: String::new(),
            value: (*value).into(),
            unit: String::new(),
        };
        DrivePage {
            id: id.into(),
            name: String::new(),
            source: String::new(),
            state: PageState::Complete,
            remark: String::new(),
            length: 0,
            fields: fields.iter().map(field).collect(),
            raw: String::new(),
        }
    }

    /// Three states: the last one is entered from 0 after 2 s and from 1 after 500 ms.
    #[test]
    fn states_have_their_power_latencies_and_idle_times() {
        let identify = [
            ("npss", "2"),
            ("psd0.mp", "825"),
            ("psd0.flags", "0x0"),
            ("psd1.mp", "350"),
            ("psd1.exlat", "1200"),
            ("psd2.mp", "50"),
            ("psd2.flags", "0x3"),
            ("psd2.enlat", "2000"),
            ("psd2.exlat", "22000"),
        ];
        let changes = [
            ("apst0.itps", "0x10"),
            ("apst0.itpt", "2000"),
            ("apst1.itps", "0x10"),
            ("apst1.itpt", "500"),
        ];
        let pages = vec![page(IDENTIFY, &identify), page(CHANGES, &changes)];
        let entries = vec![JournalEntry::DrivePages(pages)];
        let states = reported_states(&record(&Settings::new("idle-exit", 1), entries));
        let watts: Vec<Option<f64>> = states.iter().map(|state| state.watts).collect();
        assert_eq!(watts, [Some(8.25), Some(3.5), Some(0.005)]);
        assert_eq!(states[2].exit_us, Some(22_000.0));
        assert_eq!(states[2].entry_us, Some(2000.0));
        let after: Vec<Option<f64>> = states.iter().map(|state| state.after_ms).collect();
        assert_eq!(after, [None, None, Some(500.0)]);
        let operational: Vec<bool> = states.iter().map(|state| state.is_operational).collect();
        assert_eq!(operational, [true, true, false]);
        let none = record(&Settings::new("idle-exit", 1), Vec::new());
        assert!(power_states_table(&none, false).is_none());
    }
}
