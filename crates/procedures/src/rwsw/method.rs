//! What RWSW PTS 1.0.7 asks for, in numbers, and the parameters that its tests share.

use crate::ground::Ground;
use crate::ground::asked::Asked;
use crate::ground::method::Method;
use crate::parameters::Parameter;
use crate::pts::between::{BETWEEN_TIME, LEAST_FILLS, MEASURED_LAST};
use crate::pts::method;
use crate::unsuitable::Unsuitable;
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::{Class, Profile, Settings};

/// The document.
pub const DOCUMENT: &str = "RWSW PTS 1.0.7";
/// By its full name.
const SPECIFICATION: &str = "Real World Storage Workload (RWSW) Performance Test Specification";

const CADENCE: &str = "ours: the cadence of the PTS's WSAT; that of RWSW PTS could not be read";

/// The parameter `between-time`.
pub const BETWEEN: Parameter = Parameter { source: CADENCE, ..BETWEEN_TIME };
/// The parameter `measured-minute`.
pub const MEASURED: Parameter = Parameter { source: CADENCE, ..MEASURED_LAST };
/// The parameter `least-fills`: of the workload's own writes.
pub const FILLS: Parameter = Parameter {
    before_rules: None,
    quick: Some("0"),
    meaning: "how many times the user capacity the workload itself must write before a measured \
              minute counts toward steady state; what preconditioning wrote does not count",
    source: "our rule: after sequential preconditioning a drive has free blocks that the workload \
             first uses up, and can look steady until then",
    ..LEAST_FILLS
};

/// The parameter `content`.
pub const CONTENT: Parameter = Parameter {
    name: "content",
    default: "settings",
    meaning: "what is written: settings (random data, or what --data-pattern says) or workload \
              (as compressible and as repetitive as the capture found)",
    source: "random data are the rule, others are allowed where they are disclosed (SNIA \
             tutorial, RWSW)",
    ..Parameter::PLAIN
};

/// The ground of a test of a captured workload.
pub fn ground(asked: &Asked<'_>) -> Result<Ground, Unsuitable> {
    let method = of(asked.settings.profile, asked.settings.class);
    let own = CONTENT.parse(asked.settings, |text| match text {
        "settings" => Some(false),
        "workload" => Some(true),
        _ => None,
    })?;
    let mut settings = asked.settings.clone();
    if let Some(workload) = settings.workload.as_ref().filter(|_| own) {
        settings.data_pattern = workload.data_pattern.clone();
    }
    Ground::new(&Asked { settings: &settings, ..asked.clone() }, method)
}

/// The method of a profile and a class: active range, write cache and criteria are
/// those of the PTS (AR100 enterprise, AR75 client: SNIA tutorial, RWSW).
fn of(profile: Profile, class: Class) -> Method {
    let method = method::of(profile, class);
    match method.lesser {
        Some(_) => method,
        None => Method {
            document: DOCUMENT,
            revision: DOCUMENT,
            specification: SPECIFICATION,
            ..method
        },
    }
}

/// Refuses an end that is none of steady state.
pub fn check_ending(settings: &Settings) -> Result<(), Unsuitable> {
    match settings.steady_state {
        SteadyStateMethod::Rounds | SteadyStateMethod::Btw => Ok(()),
        other => Err(Unsuitable(format!(
            "{} cannot end by --steady-state {other}: a captured workload is run to steady state; \
             leave --steady-state out, or allow fewer rounds with --max-rounds",
            settings.procedure
        ))),
    }
}

/// Refuses a demand where the procedure has demands of its own.
pub fn check_demand(settings: &Settings, instead: &str) -> Result<(), Unsuitable> {
    if settings.threads.is_none() && settings.depth.is_none() {
        return Ok(());
    }
    Err(Unsuitable(format!(
        "{} has demands of its own; leave --threads and --depth out{instead}",
        settings.procedure
    )))
}
