//! Reasons to refuse a load that several engines share.

use crate::kernel::transfer_memory_limit;
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Op, ScriptLoad, Stimulus};

/// Returns why an active range does not lie on a target of this length.
pub(crate) fn range_fault(range: ActiveRange, path: &str, length: Bytes) -> Option<String> {
    let end = range.start.0.checked_add(range.length.0);
    end.is_none_or(|end| end > length.0).then(|| {
        format!(
            "the active range ({} from byte {}) ends beyond {path}, which has {length}",
            range.length, range.start.0
        )
    })
}

/// Returns why the I/Os of a stream do not consist of whole sectors.
pub(crate) fn sector_fault(stream: &IoStream, sector: u64) -> Option<String> {
    let is_whole = |bytes: Bytes| bytes.0.is_multiple_of(sector);
    (!is_whole(stream.size) || !is_whole(stream.alignment()))
        .then(|| format!("transfer size and alignment must be multiples of {sector} B"))
}

/// Returns why a load's limits cannot be kept exactly.
pub(crate) fn limit_fault(stimulus: &Stimulus, sector: u64) -> Option<String> {
    let until = stimulus.until;
    if let Some(bytes) = until.bytes {
        if !bytes.0.is_multiple_of(sector) {
            return Some(format!("a limit of {} B is not a multiple of {sector} B", bytes.0));
        }
        let moves_bytes = |s: &IoStream| s.op != Op::Flush && s.weight > 0;
        if until.time.is_none() && until.ios.is_none() && !stimulus.streams.iter().any(moves_bytes)
        {
            return Some("flushes move no bytes: give a limit in time or I/Os".to_owned());
        }
    }
    let is_counted = until.bytes.is_some() || until.ios.is_some();
    (is_counted && stimulus.ramp > Nanos::ZERO).then(|| {
        "a ramp is time that is not measured: give the load a limit in time, not in bytes or I/Os"
            .to_owned()
    })
}

/// Returns why the addresses that a script announces do not fit a target.
pub(crate) fn script_fault(
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
    (script.reach.0 > 0 && !script.unit.0.is_multiple_of(sector)).then(|| {
        format!(
            "script '{name}' has I/Os in multiples of {} B; {path} takes multiples of {sector} B",
            script.unit.0
        )
    })
}

/// Returns why this host lacks the memory for the transfers of a load.
pub(crate) fn memory_fault(demand: Demand, needed: u64) -> Option<String> {
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
