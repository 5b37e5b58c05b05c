//! Reasons for refusing a load, shared by the engines.

use crate::kernel::transfer_memory_limit;
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Op, ScriptLoad, Stimulus};

/// Returns the reason to refuse an active range that is not on a target of this length; `None` if it
/// is.
pub(crate) fn range_refusal(range: ActiveRange, path: &str, length: Bytes) -> Option<String> {
    let end = range.start.0.checked_add(range.length.0);
    end.is_none_or(|end| end > length.0).then(|| {
        format!(
            "the active range ({} from byte {}) ends beyond {path}, whose capacity is {length}",
            range.length, range.start.0
        )
    })
}

/// Returns the reason to refuse a stream whose I/Os do not consist of whole sectors; `None` if they
/// do.
pub(crate) fn sector_refusal(stream: &IoStream, sector: u64) -> Option<String> {
    let is_whole = |bytes: Bytes| bytes.0.is_multiple_of(sector);
    (!is_whole(stream.size) || !is_whole(stream.alignment()))
        .then(|| format!("transfer size and alignment must be multiples of {sector} B"))
}

/// Returns the reason why a load cannot end exactly at its limits; `None` if it can.
pub(crate) fn limit_refusal(stimulus: &Stimulus, sector: u64) -> Option<String> {
    let until = stimulus.until;
    if let Some(bytes) = until.bytes {
        if !bytes.0.is_multiple_of(sector) {
            return Some(format!("a limit of {} B is not a multiple of {sector} B", bytes.0));
        }
        let moves_bytes = |stream: &IoStream| stream.op != Op::Flush && stream.weight > 0;
        if until.time.is_none() && until.ios.is_none() && !stimulus.streams.iter().any(moves_bytes)
        {
            return Some("flushes move no bytes: give a limit in time or I/Os".to_owned());
        }
    }
    let ends_by_count = until.bytes.is_some() || until.ios.is_some();
    (ends_by_count && stimulus.ramp > Nanos::ZERO).then(|| {
        "a ramp is not measured, so a load with a ramp needs a limit in time, not in bytes or I/Os"
            .to_owned()
    })
}

/// Returns the reason to refuse a script whose addresses do not fit a target; `None` if they do.
pub(crate) fn script_refusal(
    script: &ScriptLoad,
    path: &str,
    length: Bytes,
    sector: u64,
) -> Option<String> {
    let name = &script.name;
    if script.reach > length {
        return Some(format!(
            "script '{name}' reaches byte {} of {path}, which has {} bytes: map its addresses to \
             this target",
            script.reach.0, length.0
        ));
    }
    // A script of flushes alone touches no bytes and has no unit.
    (script.reach.0 > 0 && !script.unit.0.is_multiple_of(sector)).then(|| {
        format!(
            "script '{name}' has I/Os in multiples of {} B; {path} takes multiples of {sector} B",
            script.unit.0
        )
    })
}

/// Returns the reason to refuse a load for whose transfers this host lacks memory; `None` if it has
/// enough.
pub(crate) fn memory_refusal(demand: Demand, needed: u64) -> Option<String> {
    let limit = transfer_memory_limit();
    (needed > limit).then(|| {
        format!(
            "demand {demand} needs {} of memory for its transfers; this host can provide {}: lower \
             the threads, the queue depth or the transfer size",
            Bytes(needed),
            Bytes(limit)
        )
    })
}
