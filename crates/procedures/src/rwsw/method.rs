//! Numbers of RWSW PTS 1.0.7, and the parameters that its tests share.

use crate::common::ProcedureSetup;
use crate::common::cyclic_load::{BETWEEN_TIME, LEAST_FILLS, MEASURED_LAST};
use crate::common::method::Method;
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_steady_end;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{AppliedWorkload, Class, Profile, Settings};

/// Name of the document in reports.
pub const DOCUMENT: &str = "RWSW PTS 1.0.7";
/// Full name of the document.
const SPECIFICATION: &str = "Real World Storage Workload (RWSW) Performance Test Specification";

const CADENCE: &str = "ours: the cadence of the PTS's WSAT; that of RWSW PTS could not be read";

pub const BETWEEN: Parameter = Parameter { source: CADENCE, ..BETWEEN_TIME };
pub const MEASURED: Parameter = Parameter { source: CADENCE, ..MEASURED_LAST };
/// Parameter `least-fills`; only the workload's own writes count.
pub const FILLS: Parameter = Parameter {
    quick: Some("0"),
    meaning: "how many times the user capacity the workload itself must write before a measured \
              minute counts toward steady state; what preconditioning wrote does not count",
    source: "our rule: after sequential preconditioning a drive has free blocks that the workload \
             first uses up, and can look steady until then",
    ..LEAST_FILLS
};

pub const CONTENT: Parameter = Parameter {
    name: "content",
    default: "settings",
    meaning: "what is written: settings (random data, or what --data-pattern says) or workload \
              (as compressible and as repetitive as the capture found; a replay of capture \
              steps: as each step, where it is known)",
    source: "random data are the rule, others are allowed where they are disclosed (SNIA \
             tutorial, RWSW)",
    ..Parameter::PLAIN
};

pub const ZONES: Parameter = Parameter {
    name: "zones",
    default: "workload",
    meaning: "where the I/Os of a stream go: workload (into the address zones that the workload file \
              has for it, each with its share) or none (the whole active range)",
    source: "ours: zones keep the hot and cold addresses of the capture; no rule of RWSW PTS on \
             addresses could be read",
    applies: |settings| settings.workload.as_deref().is_some_and(has_zones),
    ..Parameter::PLAIN
};

pub const ARRIVALS: Parameter = Parameter {
    name: "arrivals",
    default: "closed",
    meaning: "when I/Os are issued: closed (each as another one completes, which saturates the drive), \
              workload (at the arrivals of all I/Os of the capture: evenly, at random or drawn from \
              measured distributions) or streams (each stream with its own arrivals)",
    source: "closed: the test is one of saturation and of demands (SNIA tutorial, RWSW); the others: \
             ours",
    applies: |settings| settings.workload.as_deref().is_some_and(|w| w.arrivals.is_some()),
    ..Parameter::PLAIN
};

pub fn has_zones(workload: &AppliedWorkload) -> bool {
    workload.streams.iter().any(|stream| !stream.zones.is_empty())
}

pub fn applies_zones(settings: &Settings) -> Result<bool, ProcedureError> {
    ZONES.choice(settings, &[("workload", true), ("none", false)])
}

/// The captured arrivals by which I/Os are issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppliedArrivals {
    /// None: each I/O is issued as another one completes.
    Closed,
    /// The arrivals of all I/Os, whose streams are drawn by weight.
    Workload,
    /// The arrivals of each stream, independent of the other streams.
    Streams,
}

/// Returns the choice of the parameter `arrivals`.
pub fn applied_arrivals(
    settings: &Settings,
    workload: &AppliedWorkload,
) -> Result<AppliedArrivals, ProcedureError> {
    let choice = ARRIVALS.choice(
        settings,
        &[
            ("closed", AppliedArrivals::Closed),
            ("workload", AppliedArrivals::Workload),
            ("streams", AppliedArrivals::Streams),
        ],
    )?;
    let own = &workload.stream_arrivals;
    let has_arrivals = match choice {
        AppliedArrivals::Closed => return Ok(choice),
        AppliedArrivals::Workload => workload.arrivals.is_some(),
        // The other streams have their shares of the rate of all.
        AppliedArrivals::Streams => {
            !own.is_empty() && workload.arrivals.as_ref().and_then(Pace::offered_iops).is_some()
        }
    };
    let value = ARRIVALS.value(settings);
    if settings.rate.is_some() {
        return Err(ProcedureError(format!(
            "--rate and --set arrivals={value} both choose a rate; omit one of them"
        )));
    }
    if !has_arrivals {
        let what = match choice {
            AppliedArrivals::Streams => "the rate of all I/Os and the arrivals of single streams",
            _ => "arrivals",
        };
        return Err(ProcedureError(format!(
            "--set arrivals={value} needs a workload file with {what}; derive it from a trace of \
             single I/Os with: steadfast workload derive"
        )));
    }
    if choice == AppliedArrivals::Streams
        && let Some(fault) =
            Pace::ByStream(own.iter().map(|(_, pace)| pace.clone()).collect()).fault()
    {
        return Err(ProcedureError(format!("--set arrivals={value}: {fault}")));
    }
    Ok(choice)
}

pub fn setup(request: &ProcedureRequest<'_>) -> Result<ProcedureSetup, ProcedureError> {
    let method = for_profile(request.settings.profile, request.settings.class);
    let settings = with_content(request.settings)?;
    ProcedureSetup::new(&ProcedureRequest { settings: &settings, ..request.clone() }, method)
}

/// Returns the settings with the data pattern that the parameter `content` asks for.
pub fn with_content(settings: &Settings) -> Result<Settings, ProcedureError> {
    let own = CONTENT.choice(settings, &[("settings", false), ("workload", true)])?;
    let mut settings = settings.clone();
    if let Some(workload) = settings.workload.as_ref().filter(|_| own) {
        settings.data_pattern = workload.data_pattern.clone();
    }
    Ok(settings)
}

/// Returns true if written data should have the compressibility and duplicates of the capture.
pub fn writes_as_captured(settings: &Settings) -> bool {
    CONTENT.value(settings) == "workload"
}

/// Returns the method of a profile and a class. Active range, write cache and criteria are those of
/// the PTS (AR100 enterprise, AR75 client: SNIA tutorial, RWSW).
fn for_profile(profile: Profile, class: Class) -> Method {
    let method = method::for_profile(profile, class);
    match method.disclaimer {
        Some(_) => method,
        None => Method {
            document: DOCUMENT,
            revision: DOCUMENT,
            specification: SPECIFICATION,
            ..method
        },
    }
}

/// Returns an error if the user chose a steady-state method that these tests do not have.
pub fn check_ending(settings: &Settings) -> Result<(), ProcedureError> {
    check_steady_end(
        settings,
        "a captured workload is run to steady state; omit --steady-state, or allow fewer rounds \
         with --max-rounds",
    )
}

/// Returns an error if the user chose a demand for a procedure that has its own; `instead`
/// completes the message.
pub fn check_demand(settings: &Settings, instead: &str) -> Result<(), ProcedureError> {
    if settings.threads.is_none() && settings.depth.is_none() {
        return Ok(());
    }
    Err(ProcedureError(format!(
        "{} has its own demands; omit --threads and --depth{instead}",
        settings.procedure
    )))
}
