//! Offsets of a job's random I/Os: `random_distribution`, `norandommap`, `blockalign`.

use super::access::{JobAccess, direction_index};
use super::options::{SectionOptions, TargetFacts};
use super::sizes::by_direction;
use steadfast_domain::sequence::{Amount, Extent};
use steadfast_domain::stimulus::{Op, Zone};
use steadfast_domain::{Bytes, Distribution};

const DISTRIBUTION: &str = "random_distribution";

/// The kind of `random_distribution` whose zones have sizes in bytes.
const ABSOLUTE: &str = "zoned_abs";

const ZONES_MAX: usize = 256;

/// Returns true if fio keeps a map of the blocks that a random job has visited, which it does only
/// for offsets that are equally likely.
pub(super) fn has_map(options: &mut SectionOptions<'_>, access: &JobAccess) -> bool {
    let is_uniform = matches!(options.text("random_distribution"), None | Some("random"));
    access.random && is_uniform && !options.flag("norandommap")
}

/// Returns the alignment of a direction's offsets: `blockalign` of a random job, or the smallest
/// size.
pub(super) fn alignment(
    options: &mut SectionOptions<'_>,
    op: Op,
    least: u64,
    random: bool,
) -> Option<u64> {
    let Some(text) = options.text("ba").filter(|_| random) else { return Some(least) };
    match options.leading_bytes_in("ba", by_direction(text)[direction_index(op)]) {
        Some(0) => Some(least),
        Some(alignment) if alignment % 512 == 0 => Some(alignment),
        _ => {
            options.refuse("ba", "this is not a multiple of 512 B");
            None
        }
    }
}

/// Offsets of a direction's random I/Os.
#[derive(Default)]
pub(super) struct RandomOffsets {
    pub zones: Vec<Zone>,
    pub distribution: Distribution,
}

/// Returns the offsets of a direction. Zones with sizes in bytes are added when the range is known:
/// [`absolute_zones`].
pub(super) fn random_offsets(options: &mut SectionOptions<'_>, op: Op) -> Option<RandomOffsets> {
    let Some(DistributionText { kind, value }) = distribution_of(options, op) else {
        return Some(RandomOffsets::default());
    };
    match kind {
        "random" | ABSOLUTE => Some(RandomOffsets::default()),
        "zoned" => {
            let zones = percent_zones(value);
            if zones.is_none() {
                options.refuse(DISTRIBUTION, "accesses and spaces must each add up to 100 %");
            }
            Some(RandomOffsets { zones: zones?, ..RandomOffsets::default() })
        }
        "zipf" | "pareto" | "normal" => {
            // A second value is the center, which fio places at random otherwise.
            let Some(distribution) = Distribution::from_name(kind, value) else {
                options.refuse(
                    DISTRIBUTION,
                    "it needs one value: zipf:THETA of 0.001 to 10, pareto:H of 0.001 to 0.999, \
                     normal:PERCENT of 0.001 to 100; a center is not supported",
                );
                return None;
            };
            options.remark(match distribution {
                Distribution::Normal(_) => {
                    "offsets are normally distributed around the middle of the range; fio \
                     approximates it by a sum of uniform numbers"
                }
                _ => {
                    "every rank has a block of its own, at the same place in every load; fio's \
                     ranks may share a block (its hash is cut to the size)"
                }
            });
            Some(RandomOffsets { distribution, ..RandomOffsets::default() })
        }
        _ => {
            let why = "only random, zipf, pareto, normal, zoned and zoned_abs are supported";
            options.refuse(DISTRIBUTION, why);
            None
        }
    }
}

/// The distribution of one direction: its kind, and its values as text.
struct DistributionText<'s> {
    kind: &'s str,
    value: &'s str,
}

/// Returns the distribution of a direction; `None` if the job names none. The kind stands once,
/// before the values of all directions: `zoned:60/10:40/90,50/50:50/50`.
fn distribution_of<'s>(options: &SectionOptions<'s>, op: Op) -> Option<DistributionText<'s>> {
    let text = options.text(DISTRIBUTION)?;
    let (kind, values) = text.split_once(':').unwrap_or((text, ""));
    Some(DistributionText { kind: kind.trim(), value: by_direction(values)[direction_index(op)] })
}

/// Parses shares of the I/Os and of the space in percent, such as `60/10:40/`. Missing shares
/// divide the rest.
fn percent_zones(list: &str) -> Option<Vec<Zone>> {
    let mut shares = Vec::new();
    for part in list.split(':') {
        let (access, space) = part.split_once('/').unwrap_or((part, ""));
        let percent = |text: &str| match text.trim() {
            "" => Some(None),
            text => text.parse::<u32>().ok().filter(|percent| *percent <= 100).map(Some),
        };
        shares.push((percent(access)?, percent(space)?));
    }
    let accesses = filled(shares.iter().map(|(access, _)| *access).collect())?;
    let spaces = filled(shares.iter().map(|(_, space)| *space).collect())?;
    let mut edge = 0;
    let mut zones = Vec::new();
    for (access, space) in accesses.into_iter().zip(spaces) {
        let from_ppm = edge;
        edge += space * 10_000;
        if space == 0 {
            return None;
        }
        if access > 0 {
            zones.push(Zone { weight: access, from_ppm, to_ppm: edge });
        }
    }
    Some(zones)
}

/// Completes percentages to 100; missing ones divide the rest.
fn filled(percents: Vec<Option<u32>>) -> Option<Vec<u32>> {
    let given: u32 = percents.iter().flatten().sum();
    let open = u32::try_from(percents.iter().filter(|percent| percent.is_none()).count()).ok()?;
    let left = 100u32.checked_sub(given)?;
    if open == 0 {
        return (left == 0).then(|| percents.into_iter().flatten().collect());
    }
    if !left.is_multiple_of(open) {
        return None;
    }
    Some(percents.into_iter().map(|percent| percent.unwrap_or(left / open)).collect())
}

/// A zone of `zoned_abs`: its share of the I/Os in percent, and its edges in bytes of the range.
struct AbsoluteZone {
    access: u32,
    from: u64,
    to: u64,
}

/// Returns the zones of `zoned_abs` in a range; empty if the job has another distribution. Errors are
/// added to `options`.
pub(super) fn absolute_zones(
    options: &mut SectionOptions<'_>,
    op: Op,
    alignment: Bytes,
    extent: &Extent,
    target: &TargetFacts<'_>,
) -> Vec<Zone> {
    let Some(DistributionText { kind: ABSOLUTE, value }) = distribution_of(options, op) else {
        return Vec::new();
    };
    let Some(zones) = parse_absolute_zones(options, value) else {
        let why = "this is no list of PERCENT/SIZE whose percents add up to 100 %";
        options.refuse(DISTRIBUTION, why);
        return Vec::new();
    };
    let Some(length) = range_length(extent, target) else {
        let why = "the zones have sizes in bytes, and the size of the range is unknown: give size= \
                   in bytes";
        options.refuse(DISTRIBUTION, why);
        return Vec::new();
    };
    if zones.iter().any(|zone| zone.to > length.0) {
        let why = format!(
            "the zones need more than the {} bytes of the range; fio refuses that as well",
            length.0
        );
        options.refuse(DISTRIBUTION, &why);
        return Vec::new();
    }
    let position = |byte: u64| byte / alignment.0.max(1);
    let ppm = |byte: u64| (u128::from(byte) * WHOLE_PPM).div_ceil(u128::from(length.0.max(1)));
    let mut is_exact = true;
    let mut edge = |byte: u64| {
        let applied = u128::from(length.0) * ppm(byte) / WHOLE_PPM;
        is_exact &= position(byte) == position(u64::try_from(applied).unwrap_or(u64::MAX));
        u32::try_from(ppm(byte)).unwrap_or(u32::MAX)
    };
    let placed: Vec<Zone> = zones
        .iter()
        .map(|zone| Zone { weight: zone.access, from_ppm: edge(zone.from), to_ppm: edge(zone.to) })
        .collect();
    if zones.iter().any(|zone| position(zone.to) <= position(zone.from))
        || placed.iter().any(|zone| zone.to_ppm <= zone.from_ppm)
    {
        options.refuse(
            DISTRIBUTION,
            "a zone has no room for a block, or for a millionth of the range",
        );
        return Vec::new();
    }
    if !is_exact {
        options.remark(&format!(
            "random_distribution: the edges of zones are moved to whole millionths of the range, by \
             less than {}",
            Bytes(length.0.div_ceil(1_000_000)).binary()
        ));
    }
    placed
}

/// Parts per million of a whole.
const WHOLE_PPM: u128 = 1_000_000;

/// Parses percentages and sizes, such as `60/20g:0/1g:40/500g`. Zones without I/Os are gaps.
fn parse_absolute_zones(options: &SectionOptions<'_>, list: &str) -> Option<Vec<AbsoluteZone>> {
    let (mut zones, mut from, mut sum) = (Vec::new(), 0u64, 0u32);
    for part in list.split(':') {
        let (access, size) = part.split_once('/')?;
        let access: u32 = access.trim().parse().ok().filter(|percent| *percent <= 100)?;
        let to = from.checked_add(options.bytes_in(size)?)?;
        if access > 0 {
            zones.push(AbsoluteZone { access, from, to });
        }
        (from, sum) = (to, sum + access);
        if zones.len() > ZONES_MAX {
            return None;
        }
    }
    (sum == 100).then_some(zones)
}

/// Returns the length of a job's range; `None` if it depends on a target of unknown capacity.
fn range_length(extent: &Extent, target: &TargetFacts<'_>) -> Option<Bytes> {
    if let Some(Amount::Bytes(length)) = extent.length {
        return Some(length);
    }
    let capacity = target.capacity?;
    let block = extent.block.map_or(1, |block| block.0.max(1));
    let from = match extent.from {
        Amount::Bytes(from) => from.0,
        share => share.resolve(capacity, 1).0.checked_next_multiple_of(block)?,
    };
    let left = Bytes(capacity.0.checked_sub(from)?);
    Some(extent.length.map_or(left, |share| share.resolve(capacity, 512).min(left)))
}
