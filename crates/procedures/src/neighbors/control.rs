//! Names of the controls that are compared, and whether they are in effect.

use steadfast_domain::Conditions;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlName {
    /// Control groups without a rule.
    Uncontrolled,
    /// Upper limit of the offender.
    Max,
    BfqWeight,
    /// Weights by a model of costs.
    Cost,
    /// Target of the victim's mean response time.
    Latency,
}

/// All controls except [`ControlName::Uncontrolled`], in the order in which they are compared.
pub(crate) const CONTROLS: [ControlName; 4] =
    [ControlName::Max, ControlName::BfqWeight, ControlName::Cost, ControlName::Latency];

impl ControlName {
    /// Returns the name in the journal and in IDs, such as `io-max`.
    pub fn id(self) -> String {
        self.name().replace('.', "-")
    }

    /// Returns the kernel's name, as the user writes it.
    pub const fn name(self) -> &'static str {
        match self {
            ControlName::Uncontrolled => "none",
            ControlName::Max => "io.max",
            ControlName::BfqWeight => "io.bfq.weight",
            ControlName::Cost => "io.cost",
            ControlName::Latency => "io.latency",
        }
    }
}

/// Returns true if the control is in effect, with the scheduler that it needs.
pub(super) fn is_met(wanted: &Conditions, got: &Conditions) -> bool {
    got.io_control == wanted.io_control
        && (wanted.scheduler.is_none() || got.scheduler == wanted.scheduler)
}

/// Returns why a control is unavailable: the unmet conditions, without those that were unmet
/// initially.
pub(super) fn reason(initial: &Conditions, got: &Conditions) -> String {
    let own = got.unmet.iter().filter(|unmet| !initial.unmet.contains(unmet));
    own.map(String::as_str).collect::<Vec<_>>().join("; ")
}
