//! Settings that a run made on host and device, and whether they still hold: a purge, a reset or
//! another program can change a write cache unnoticed.

use steadfast_domain::record::RereadOccasion;
use steadfast_domain::{Caveat, Conditions, IoControl, caveats};

/// The wanted conditions, those read last, and the steps since the purge.
#[derive(Default)]
pub(crate) struct SettledConditions {
    /// Conditions to be set again; `None` before any were settled.
    pub wanted: Option<Conditions>,
    got: Conditions,
    since_purge: PurgeRecency,
}

/// Position of the run relative to its last purge.
#[derive(Default)]
enum PurgeRecency {
    /// No step has followed it.
    Nothing,
    /// Only steps of this phase have followed it.
    Phase(String),
    /// A second phase has begun, or there was no purge.
    #[default]
    Later,
}

impl SettledConditions {
    /// Notes the conditions that the procedure settled.
    pub fn set(&mut self, wanted: &Conditions, got: &Conditions) {
        (self.wanted, self.got) = (Some(wanted.clone()), got.clone());
    }

    /// Returns true if these conditions replace a rule of the control groups.
    pub fn replaces_rule(&self, wanted: &Conditions) -> bool {
        let rule = self.got.io_control.filter(|rule| *rule != IoControl::Uncontrolled);
        rule.is_some() && wanted.io_control != rule
    }

    /// Notes that the device was purged.
    pub fn note_purge(&mut self) {
        self.since_purge = PurgeRecency::Nothing;
    }

    /// Begins a step of this phase. Returns true if it ends the first phase after the purge, which
    /// preconditions.
    pub fn begin_phase(&mut self, phase: &str) -> bool {
        let ends_first_phase =
            matches!(&self.since_purge, PurgeRecency::Phase(first) if first != phase);
        self.since_purge = match std::mem::take(&mut self.since_purge) {
            PurgeRecency::Nothing => PurgeRecency::Phase(phase.to_owned()),
            PurgeRecency::Phase(first) if first == phase => PurgeRecency::Phase(first),
            PurgeRecency::Phase(_) | PurgeRecency::Later => PurgeRecency::Later,
        };
        ends_first_phase
    }

    /// Stores conditions that were read; `when` is `None` for those of a resumed run, which were set
    /// again. Returns a caveat if they differ from those read before.
    pub fn record_reading(
        &mut self,
        got: &Conditions,
        when: Option<RereadOccasion>,
    ) -> Option<Caveat> {
        let before = std::mem::replace(&mut self.got, got.clone());
        self.wanted.as_ref()?;
        let changes = changes(&before, got);
        if changes.is_empty() {
            return None;
        }
        let occasion = match when {
            Some(when) => format!("Read back {when}"),
            None => "Set again when the run was resumed".to_owned(),
        };
        Some(Caveat::deviation(
            caveats::CONDITIONS_CHANGED,
            format!("{occasion}: {}.", changes.join("; ")),
            "Find out what changed it: a purge, a reset of the drive, or another program.",
        ))
    }
}

/// Describes the differences between two readings. Unmet conditions were reported when they were
/// set.
fn changes(before: &Conditions, now: &Conditions) -> Vec<String> {
    let pairs = descriptions(before).into_iter().zip(descriptions(now));
    let differ = pairs.filter(|(before, now)| before.value != now.value);
    differ
        .map(|(before, now)| format!("{} is {}, was {}", now.name, now.value, before.value))
        .collect()
}

/// A condition in words.
struct ConditionDescription {
    name: &'static str,
    value: String,
}

fn descriptions(conditions: &Conditions) -> Vec<ConditionDescription> {
    fn text<T: ToString>(value: Option<T>) -> String {
        value.map_or("unknown".to_owned(), |value| value.to_string())
    }
    let merges = conditions.merges.map(|on| if on { "allowed" } else { "off" });
    let apst = conditions.power_state_changes.map(|on| if on { "on" } else { "off" });
    let rule =
        conditions.io_control.map_or("not in effect".to_owned(), |control| control.to_string());
    let describe = |name, value| ConditionDescription { name, value };
    vec![
        describe("the write cache", text(conditions.write_cache)),
        describe("request merging", text(merges)),
        describe("the I/O scheduler", text(conditions.scheduler.as_ref())),
        describe("the longest request (KiB)", text(conditions.request_kib_max)),
        describe("the link's power management", text(conditions.link_power.as_ref())),
        describe("APST", text(apst)),
        describe("the rule of the control groups", rule),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::GroupLimits;

    #[test]
    fn a_lost_rule_is_a_change() {
        let limits = GroupLimits { write_bytes: Some(20_000_000), ..GroupLimits::default() };
        let wanted =
            Conditions { io_control: Some(IoControl::Max(limits)), ..Conditions::default() };
        let mut settled = SettledConditions::default();
        assert!(!settled.replaces_rule(&wanted));
        settled.set(&wanted, &wanted);
        assert!(settled.replaces_rule(&Conditions::default()) && !settled.replaces_rule(&wanted));
        assert_eq!(settled.record_reading(&wanted, Some(RereadOccasion::End)), None);
        let caveat =
            settled.record_reading(&Conditions::default(), Some(RereadOccasion::End)).unwrap();
        assert_eq!(caveat.id, caveats::CONDITIONS_CHANGED);
        assert!(caveat.text.contains("not in effect, was io.max wbps=20000000"), "{}", caveat.text);
        assert_eq!(settled.record_reading(&Conditions::default(), Some(RereadOccasion::End)), None);
    }
}
