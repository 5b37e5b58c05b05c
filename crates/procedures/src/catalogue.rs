//! All procedures that run steps themselves, that is, all except those that consist of other
//! procedures (suite, campaigns, portrait and tkperf).

use crate::commit::{self, Commit};
use crate::common::one_pass;
use crate::common::procedure_request::ProcedureRequest;
use crate::load_curve::{self, LoadCurve};
use crate::neighbors::{self, Neighbors};
use crate::parameters::{self, Parameter};
use crate::power_cut::{self, PowerCut};
use crate::procedure_error::ProcedureError;
use crate::procedure_spec::{ProcedureSpec, boxed};
use crate::pts::method::setup;
use crate::pts::scattered::parameters::{PARAMETERS as RANGE_PARAMETERS, has_scattered_ranges};
use crate::pts::{dirth, hir, iops, latency, scattered, throughput, wsat, xsr};
use crate::rwsw::steady::{RwswWsatKind, SteadyStreams};
use crate::rwsw::{self, method::setup as captured};
use crate::sequence::SequenceProcedure;
use crate::tkperf::hdd::{self, ZoneTest, ZoneTestKind};
use crate::verify_write::VerifyWrite;
use crate::write_amplification::{self, WriteAmplificationTest};
use crate::{factors, fill, idle_exit};
use steadfast_domain::rate::OfferedLoad;
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Class, Procedure, Profile, Settings, suggestion};

/// All procedures that run steps themselves.
pub(crate) const SINGLE: &[ProcedureSpec] = &[
    ProcedureSpec {
        name: "iops",
        summary: "IOPS of 7 read/write mixes x 8 block sizes in steady state (PTS IOPS test)",
        parameters: iops::PARAMETERS,
        make: |request| scattered::build_ranged::<iops::Iops>("IOPS", request),
    },
    ProcedureSpec {
        name: "throughput",
        summary: "MB/s of sequential reads and writes, 1024 KiB and 128 KiB, in steady state",
        parameters: &[],
        make: |request| scattered::build_ranged::<throughput::Throughput>("Throughput", request),
    },
    ProcedureSpec {
        name: "latency",
        summary: "response times with one outstanding I/O, 3 mixes x 3 block sizes; histogram",
        parameters: latency::PARAMETERS,
        make: |request| scattered::build_ranged::<latency::Latency>("Latency", request),
    },
    ProcedureSpec {
        name: "wsat",
        summary: "write saturation of one workload after a purge, minute by minute (PTS WSAT)",
        parameters: wsat::PARAMETERS,
        make: |request| boxed(wsat::Wsat::new(setup(request)?)),
    },
    ProcedureSpec {
        name: "composite",
        summary: "WSAT of the JESD219 composite workload: 12 block sizes in 3 LBA zones",
        parameters: wsat::COMPOSITE_PARAMETERS,
        make: |request| boxed(wsat::Wsat::new(setup(request)?)),
    },
    ProcedureSpec {
        name: "dirth",
        summary: "IOPS and response times of 49 demands, histograms of three of them (PTS DIRTH)",
        parameters: dirth::PARAMETERS,
        make: |request| boxed(dirth::Dirth::new(setup(request)?)),
    },
    ProcedureSpec {
        name: "composite-dirth",
        summary: "DIRTH of the JESD219 composite workload",
        parameters: dirth::COMPOSITE_PARAMETERS,
        make: |request| boxed(dirth::Dirth::new(setup(request)?)),
    },
    ProcedureSpec {
        name: "xsr",
        summary: "MB/s of large sequential writes before and after hours of random ones (PTS XSR)",
        parameters: xsr::PARAMETERS,
        make: |request| boxed(xsr::Xsr::new(setup(request)?)),
    },
    ProcedureSpec {
        name: "hir",
        summary: "IOPS of a saturated drive after host idle times of 5 to 50 s (PTS HIR)",
        parameters: hir::PARAMETERS,
        make: |request| boxed(hir::Hir::new(setup(request)?)),
    },
    ProcedureSpec {
        name: "commit",
        summary: "durable writes: flush, FUA and plain, 1 to 64 committers, group commit",
        parameters: commit::PARAMETERS,
        make: |request| boxed(Commit::new(request)),
    },
    ProcedureSpec {
        name: load_curve::NAME,
        summary: "response times at offered rates, and the highest rate that meets --slo",
        parameters: load_curve::PARAMETERS,
        make: |request| boxed(LoadCurve::new(request)),
    },
    ProcedureSpec {
        name: "verify-write",
        summary: "every sector of the active range written, read back and compared",
        parameters: &[],
        make: |request| boxed(VerifyWrite::new(request)),
    },
    ProcedureSpec {
        name: "neighbors",
        summary: "response times of a load while another switches on and off, and the \
                  kernel's controls of I/O",
        parameters: neighbors::PARAMETERS,
        make: |request| boxed(Neighbors::new(request)),
    },
    ProcedureSpec {
        name: "fill",
        summary: "MB/s over the written amount until the drive is full, what idle time brings back",
        parameters: fill::PARAMETERS,
        make: |request| boxed(fill::DriveFill::new(request)),
    },
    ProcedureSpec {
        name: "idle-exit",
        summary: "response time of the first I/O after idle times of 1 ms to 10 min",
        parameters: idle_exit::PARAMETERS,
        make: |request| boxed(idle_exit::IdleExit::new(request)),
    },
    ProcedureSpec {
        name: write_amplification::NAME,
        summary: "flash bytes per host byte, by workload and used capacity, in steady state",
        parameters: write_amplification::PARAMETERS,
        make: |request| boxed(WriteAmplificationTest::new(request)),
    },
    ProcedureSpec {
        name: power_cut::NAME,
        summary: "whether flushed writes survive power cuts: by a command, by hand, or simulated",
        parameters: power_cut::PARAMETERS,
        make: |request| boxed(PowerCut::new(request)),
    },
    ProcedureSpec {
        name: factors::NAME,
        summary: "what changes the rate: data, alignment, order, used capacity; throttles",
        parameters: factors::PARAMETERS,
        make: |request| boxed(factors::Factors::new(request)),
    },
    ProcedureSpec {
        name: "hdd-iops",
        summary: "IOPS of 3 mixes x 3 block sizes in each of 128 zones (TKperf's hdd mode)",
        parameters: hdd::PARAMETERS,
        make: |request| boxed(ZoneTest::new(ZoneTestKind::Iops, request)),
    },
    ProcedureSpec {
        name: "hdd-throughput",
        summary: "MB/s of sequential reads and writes in each of 128 zones (TKperf's hdd mode)",
        parameters: hdd::PARAMETERS,
        make: |request| boxed(ZoneTest::new(ZoneTestKind::Throughput, request)),
    },
    ProcedureSpec {
        name: "replay-native",
        summary: "a captured workload again, step by step or every single I/O (RWSW Replay Native)",
        parameters: rwsw::replay::PARAMETERS,
        make: |request| boxed(rwsw::replay::Replay::on(captured(request)?)),
    },
    ProcedureSpec {
        name: "individual-streams",
        summary: "each I/O stream of a captured workload to steady state (RWSW Individual Streams)",
        parameters: rwsw::steady::INDIVIDUAL_PARAMETERS,
        make: |request| boxed(SteadyStreams::new(RwswWsatKind::Individual, captured(request)?)),
    },
    ProcedureSpec {
        name: "multi-wsat",
        summary: "all I/O streams of a captured workload together to steady state (RWSW Multi-WSAT)",
        parameters: rwsw::steady::MULTI_PARAMETERS,
        make: |request| boxed(SteadyStreams::new(RwswWsatKind::Multi, captured(request)?)),
    },
    ProcedureSpec {
        name: "rwsw-dirth",
        summary: "a captured workload to steady state, then with 1 to 1,024 outstanding I/Os (RWSW DIRTH)",
        parameters: rwsw::dirth::PARAMETERS,
        make: |request| boxed(rwsw::dirth::RwswDirth::on(captured(request)?)),
    },
    ProcedureSpec {
        name: crate::sequence::NAME,
        summary: "what another tool's file or preset asks for, load after load (crystaldiskmark, \
                  atto, fio, fiosynth, iometer)",
        parameters: &[],
        make: |request| boxed(SequenceProcedure::new(request)),
    },
];

/// Returns the entry with this name.
///
/// # Errors
/// Returns [`ProcedureError`] if there is none; the message lists the names.
pub(crate) fn find(
    specs: &'static [ProcedureSpec],
    name: &str,
) -> Result<&'static ProcedureSpec, ProcedureError> {
    specs.iter().find(|spec| spec.name == name).ok_or_else(|| {
        let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
        ProcedureError(format!(
            "there is no procedure '{name}'{}; choose one of: {}",
            suggestion(name, names.iter().copied()),
            names.join(", "),
            name = excerpt(name)
        ))
    })
}

/// Collects the inputs for the constructor of a procedure.
pub(crate) fn procedure_request<'a>(
    spec: &ProcedureSpec,
    settings: &'a Settings,
    geometry: Geometry,
    amendments: &'a [Amendment],
) -> ProcedureRequest<'a> {
    ProcedureRequest { settings, geometry, amendments, parameters: parameters_of(spec, settings) }
}

/// Builds the procedure of this list that `settings` name.
pub(crate) fn build(
    settings: &Settings,
    geometry: Geometry,
    amendments: &[Amendment],
) -> Result<Box<dyn Procedure>, ProcedureError> {
    let spec = find(SINGLE, &settings.procedure)?;
    check_combination(settings)?;
    check_load(settings)?;
    let request = procedure_request(spec, settings, geometry, amendments);
    one_pass::check_use(spec.name, &request.parameters, settings)?;
    parameters::check(spec.name, &request.parameters, settings)?;
    (spec.make)(&request)
}

/// Returns the parameters that a procedure has with these settings: its own, plus those for
/// scattered active ranges or for the profile where they apply.
pub(crate) fn parameters_of(spec: &ProcedureSpec, settings: &Settings) -> Vec<Parameter> {
    let has_ranges = has_scattered_ranges(settings) && CLIENT_1_PROCEDURES.contains(&spec.name);
    let more = match spec.name {
        _ if has_ranges => RANGE_PARAMETERS,
        "throughput" if settings.profile == Profile::Tkperf => throughput::PARAMETERS_TKPERF,
        _ => &[],
    };
    spec.parameters.iter().chain(more).copied().collect()
}

/// Procedures that TKperf has.
const TKPERF_PROCEDURES: [&str; 4] = ["iops", "throughput", "latency", "wsat"];

/// Procedures of the client documents 1.x. WSAT, DIRTH and HIR were added for client drives in
/// 2.0 (SNIA tutorial, PTS 2.0.1).
const CLIENT_1_PROCEDURES: [&str; 3] = ["iops", "throughput", "latency"];

/// Procedures with a method of their own, which is the same in all profiles.
const OWN_METHODS: [&str; 12] = [
    "commit",
    factors::NAME,
    "fill",
    "idle-exit",
    load_curve::NAME,
    "neighbors",
    power_cut::NAME,
    "verify-write",
    write_amplification::NAME,
    crate::sequence::NAME,
    "hdd-iops",
    "hdd-throughput",
];

/// Procedures whose measured load is one workload without a sweep, which can be offered at a rate.
const RATED_PROCEDURES: [&str; 3] = ["wsat", "composite", "multi-wsat"];

/// Returns an error if the settings have a rate or a service level that the procedure has no use
/// for.
fn check_load(settings: &Settings) -> Result<(), ProcedureError> {
    let name = settings.procedure.as_str();
    if let Some(slo) = settings.slo
        && name != load_curve::NAME
    {
        return Err(ProcedureError(format!(
            "{name} does not search for a service level; omit --slo {slo}, or run {}",
            load_curve::NAME
        )));
    }
    let Some(OfferedLoad { rate, .. }) = settings.rate else { return Ok(()) };
    if name == load_curve::NAME {
        return Err(ProcedureError(format!(
            "{name} offers rates of its own, in percent of the maximum; omit --rate {rate}, or \
             change them with --set points=..."
        )));
    }
    if !RATED_PROCEDURES.contains(&name) {
        return Err(ProcedureError(format!(
            "{name} has a closed loop by its method, and takes no --rate {rate}; those that take \
             one are {}; `steadfast measure --rate` applies a single load",
            RATED_PROCEDURES.join(", ")
        )));
    }
    Ok(())
}

/// Procedures whose steps have lengths of their own.
const WITHOUT_STEP_TIME: [&str; 4] =
    ["fill", "idle-exit", power_cut::NAME, write_amplification::NAME];

/// Checks that the procedure has a use for each setting that the user chose for the whole run. The
/// parts of a run may ignore one that is meant for the others.
///
/// # Errors
/// Returns [`ProcedureError`] with the option to omit.
pub fn check_chosen(settings: &Settings) -> Result<(), ProcedureError> {
    let name = settings.procedure.as_str();
    if let Some(time) = settings.step_time
        && WITHOUT_STEP_TIME.contains(&name)
    {
        return Err(ProcedureError(format!(
            "{name} has steps of lengths of its own; omit --step-time {time}"
        )));
    }
    if settings.verify && name == power_cut::NAME {
        return Err(ProcedureError(format!(
            "{name} always reads back what it wrote; omit --verify"
        )));
    }
    if settings.class == Class::Client && is_method_of_tkperf(settings) {
        return Err(ProcedureError(
            "TKperf has one method for drives of every class; omit --class client".into(),
        ));
    }
    Ok(())
}

/// Returns true if the method is TKperf's, which knows no classes of drives.
fn is_method_of_tkperf(settings: &Settings) -> bool {
    match settings.procedure.as_str() {
        "tkperf" | "hdd-iops" | "hdd-throughput" => true,
        name => settings.profile == Profile::Tkperf && TKPERF_PROCEDURES.contains(&name),
    }
}

/// Returns an error if the profile's document does not have the procedure for this class.
fn check_combination(settings: &Settings) -> Result<(), ProcedureError> {
    let name = settings.procedure.as_str();
    match (settings.profile, settings.class) {
        _ if OWN_METHODS.contains(&name) => Ok(()),
        (Profile::Tkperf, _) if !TKPERF_PROCEDURES.contains(&name) => Err(ProcedureError(format!(
            "profile tkperf has no {name}: TKperf runs {} only; choose --profile pts-2.0",
            TKPERF_PROCEDURES.join(", ")
        ))),
        (Profile::Pts11, _) if rwsw::NAMES.contains(&name) => Err(ProcedureError(format!(
            "profile pts-1.1 has no {name}: it belongs to {}; choose --profile pts-2.0",
            rwsw::method::DOCUMENT
        ))),
        (Profile::Pts11, Class::Client) if !CLIENT_1_PROCEDURES.contains(&name) => {
            Err(ProcedureError(format!(
                "profile pts-1.1 has no {name} for class client: PTS 2.0 added it for client \
                 drives; choose --profile pts-2.0"
            )))
        }
        _ => Ok(()),
    }
}
