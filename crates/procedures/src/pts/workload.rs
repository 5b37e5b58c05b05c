//! The standard synthetic workloads of PTS 2.0.x (SNIA tutorial, "Six Standard Synthetic
//! Workloads"), among them the JESD219 composite. The user names a workload by its role or in the
//! notation.

use crate::common::applied::{self, ApplicableWorkload, alignment, alignment_name};
use crate::common::method::Method;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use steadfast_domain::findings::Origin;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{Cursor, Order, Zone};
use steadfast_domain::text::excerpt;
use steadfast_domain::{Bytes, Caveat, Demand, IoStream, Op, Settings, caveats as ids};

/// A standard workload that is a single access pattern.
struct PatternRole {
    /// Name that the user types.
    name: &'static str,
    /// Access pattern in the notation.
    notation: &'static str,
}

/// Five of the six workloads (SNIA tutorial): metadata and journals, write intensive, read
/// intensive, OLTP database, video on demand. The sixth is the composite.
const ROLES: [PatternRole; 5] = [
    PatternRole { name: "metadata", notation: "SEQ 0.5K RW50" },
    PatternRole { name: "write-intensive", notation: "RND 4K W" },
    PatternRole { name: "read-intensive", notation: "RND 4K R" },
    PatternRole { name: "oltp", notation: "RND 8K RW65" },
    PatternRole { name: "video", notation: "SEQ 128K RW90" },
];

/// Roles of all six workloads, in the order of the tutorial.
pub const WORKLOADS: [&str; 6] =
    [ROLES[0].name, ROLES[1].name, ROLES[2].name, ROLES[3].name, ROLES[4].name, COMPOSITE];

/// Name of the composite; `jesd219` is accepted too.
const COMPOSITE: &str = "composite";

/// A transfer size of the composite.
struct CompositeSize {
    size: Bytes,
    /// Share in percent of the number of I/Os, not of bytes.
    percent: u32,
}

/// Transfer sizes of the composite (JESD219 as in fio's `jesd219.fio` and the tutorial). The mean
/// is 7.635 KiB.
const COMPOSITE_SIZES: [CompositeSize; 12] = [
    CompositeSize { size: Bytes(512), percent: 4 },
    CompositeSize { size: Bytes::kib(1), percent: 1 },
    CompositeSize { size: Bytes(1536), percent: 1 },
    CompositeSize { size: Bytes::kib(2), percent: 1 },
    CompositeSize { size: Bytes(2560), percent: 1 },
    CompositeSize { size: Bytes::kib(3), percent: 1 },
    CompositeSize { size: Bytes(3584), percent: 1 },
    CompositeSize { size: Bytes::kib(4), percent: 67 },
    CompositeSize { size: Bytes::kib(8), percent: 10 },
    CompositeSize { size: Bytes::kib(16), percent: 7 },
    CompositeSize { size: Bytes::kib(32), percent: 3 },
    CompositeSize { size: Bytes::kib(64), percent: 3 },
];

/// LBA zones of the composite: half of the I/Os in the first 5 %, 30 % of them
/// in the next 15 %, the rest in the remaining 80 % (JESD219 as in fio's
/// `zoned:50/5:30/15:20/80`; the tutorial's "remaining 20 %" is a slip).
const COMPOSITE_ZONES: [Zone; 3] = [
    Zone { weight: 50, from_ppm: 0, to_ppm: 50_000 },
    Zone { weight: 30, from_ppm: 50_000, to_ppm: 200_000 },
    Zone { weight: 20, from_ppm: 200_000, to_ppm: 1_000_000 },
];

/// Alignment of the composite's offsets for all transfer sizes (fio's `jesd219.fio`:
/// blockalign=4k).
const COMPOSITE_ALIGNMENT: Bytes = Bytes::kib(4);

/// One percent in parts per million.
const PERCENT: u32 = 10_000;

/// Shift of the zones from one drive to the next if several drives are tested, in percent of the
/// LBAs (JESD219 as described by SCSI Toolbox).
const SHIFT_PER_TARGET: u32 = 5;

pub const ZONE_SHIFT: Parameter = Parameter {
    name: "zone-shift",
    default: "0",
    meaning: "percent of the active range by which the LBA zones of the composite are shifted, \
              0 to 99; of several targets each has 5 more than the one before it",
    source: "JESD219 as the SCSI Toolbox describes it: 5 % for each further drive",
    applies: |settings| names_composite(settings) && settings.parameters.contains_key("zone-shift"),
    ..Parameter::PLAIN
};

/// Returns the name and value of the parameter that shifts the zones of target number `index`,
/// from 0, among several. Returns `None` for the first target, without a composite workload, or if
/// the user gave a shift.
pub fn zone_shift_of(settings: &Settings, index: usize) -> Option<(String, String)> {
    let has_user_shift = settings.parameters.contains_key(ZONE_SHIFT.name);
    let has_zones = names_composite(settings) || has_composite(settings);
    if index == 0 || has_user_shift || !has_zones {
        return None;
    }
    let percent = (index as u64 * u64::from(SHIFT_PER_TARGET)) % 100;
    Some((ZONE_SHIFT.name.to_owned(), percent.to_string()))
}

/// Demand of sequential workloads (SNIA tutorial, "Test Settings").
pub const SEQUENTIAL_DEMAND: Demand = Demand::new(1, 32);

/// Parameter `mix` of the composite in tests whose default is all writes.
pub const MIX_WRITES: Parameter = Parameter { default: "0/100", ..MIX_JESD219 };

/// Parameter `mix` of the composite in tests whose default is the mix of JESD219.
pub const MIX_JESD219: Parameter = Parameter {
    name: "mix",
    default: "40/60",
    meaning: "percent read / percent written of the composite workload; other workloads carry \
              their mix in their name (RND 8K RW65)",
    source: "JESD219 has 40/60; public implementations saturate with 0/100",
    applies: names_composite,
    ..Parameter::PLAIN
};

/// Parameter `alignment` of tests with random I/O.
pub const ALIGNMENT: Parameter = Parameter {
    applies: |settings| !named_pattern(settings).is_some_and(|p| p.order != Order::Random),
    ..applied::ALIGNMENT
};

/// Returns `Chosen` if the user gave the workload or its mix, else `Default`.
pub fn origin(settings: &Settings) -> Origin {
    let given = &settings.parameters;
    if given.contains_key("workload") || given.contains_key(MIX_JESD219.name) {
        Origin::Chosen
    } else {
        Origin::Default
    }
}

/// Parameter `cursor` of mixed sequential workloads.
pub const CURSOR: Parameter = Parameter {
    name: "cursor",
    default: "shared",
    meaning: "shared: reads and writes of a mixed sequential workload share one position; own: \
        each has its own position",
    source: "our choice; the tutorial names the mix only",
    applies: |settings| named_pattern(settings).is_some_and(|p| is_mixed_sequence(&p)),
    ..Parameter::PLAIN
};

/// Returns the name of the workload in these settings, or `None` if the user gave none.
fn workload_name(settings: &Settings) -> Option<&str> {
    settings.parameters.get("workload").map(String::as_str)
}

/// Returns true if a text names a workload of the PTS, by role or in the notation.
pub fn is_known(name: &str) -> bool {
    is_composite_name(name) || pattern_of(name).is_some()
}

/// Returns true if the name means the composite.
fn is_composite_name(name: &str) -> bool {
    name.eq_ignore_ascii_case(COMPOSITE) || name.eq_ignore_ascii_case("jesd219")
}

/// Returns true if the settings ask for the composite.
fn names_composite(settings: &Settings) -> bool {
    settings.procedure.starts_with(COMPOSITE)
        || workload_name(settings).is_some_and(is_composite_name)
}

/// Returns true if the settings are those of a campaign with the composite among its workloads.
fn has_composite(settings: &Settings) -> bool {
    let listed = settings.parameters.get("workloads");
    let is_listed = |list: &String| list.split(',').any(|name| is_composite_name(name.trim()));
    settings.procedure.ends_with("-campaign") && listed.is_none_or(is_listed)
}

/// Parses the name of a role or an access pattern in the notation.
fn pattern_of(name: &str) -> Option<AccessPattern> {
    let role = ROLES.iter().find(|role| name.eq_ignore_ascii_case(role.name));
    role.map_or(name, |role| role.notation).parse().ok()
}

/// Returns the access pattern of a role in the notation; `None` for the composite, which has
/// several.
pub fn notation(role: &str) -> Option<&'static str> {
    ROLES.iter().find(|known| known.name == role).map(|known| known.notation)
}

/// Returns true if the workload of a role writes nothing.
pub fn only_reads(role: &str) -> bool {
    pattern_of(role).is_some_and(|pattern| pattern.read_percent == 100)
}

/// Returns the access pattern in these settings, or `None` if the user gave none.
pub fn named_pattern(settings: &Settings) -> Option<AccessPattern> {
    workload_name(settings).and_then(pattern_of)
}

fn is_mixed_sequence(pattern: &AccessPattern) -> bool {
    matches!(pattern.order, Order::Sequential(_)) && (1..100).contains(&pattern.read_percent)
}

/// A workload: one access pattern, or the composite.
#[derive(Debug, Clone, PartialEq)]
pub enum PtsWorkload {
    Pattern(AccessPattern),
    Composite {
        read_percent: u8,
        alignment: Bytes,
        /// Logical sector size; transfer sizes that are not a multiple of it are left out.
        sector: Bytes,
        /// Shift of the LBA zones in parts per million of the active range.
        shift_ppm: u32,
    },
}

impl PtsWorkload {
    /// Returns the access pattern, or `None` for the composite.
    pub fn pattern(&self) -> Option<AccessPattern> {
        match *self {
            PtsWorkload::Pattern(pattern) => Some(pattern),
            PtsWorkload::Composite { .. } => None,
        }
    }

    /// Returns the workload that the settings name. `parameters` are those of the procedure; one
    /// without a parameter `workload` runs the composite. `mix` is its parameter for the mix of
    /// the composite.
    pub fn from_settings(
        parameters: &[Parameter],
        mix: &Parameter,
        settings: &Settings,
        geometry: Geometry,
    ) -> Result<Self, ProcedureError> {
        let parameter = parameters.iter().find(|known| known.name == "workload");
        let name = parameter.map_or(COMPOSITE, |parameter| parameter.value(settings));
        if is_composite_name(name) {
            return PtsWorkload::composite_from_settings(mix, settings, geometry);
        }
        if settings.parameters.contains_key(ZONE_SHIFT.name) {
            return Err(ProcedureError(format!(
                "parameter {} belongs to the composite workload; '{name}' has no LBA zones",
                ZONE_SHIFT.name,
                name = excerpt(name)
            )));
        }
        if settings.parameters.contains_key(mix.name) {
            return Err(ProcedureError(format!(
                "parameter {} belongs to the composite workload; write the mix of '{name}' into \
                 its name, like \"RND 8K RW65\"",
                mix.name,
                name = excerpt(name)
            )));
        }
        let pattern = pattern_of(name).ok_or_else(|| unknown_workload(name))?;
        let pattern = with_cursor(pattern, settings)?;
        let sector = u64::from(geometry.logical_sector);
        if !pattern.size.0.is_multiple_of(sector) {
            return Err(ProcedureError(format!(
                "workload {pattern} cannot run: its transfer size is not a multiple of the logical \
                 sector size of {sector} bytes"
            )));
        }
        Ok(PtsWorkload::Pattern(pattern))
    }

    fn composite_from_settings(
        mix: &Parameter,
        settings: &Settings,
        geometry: Geometry,
    ) -> Result<Self, ProcedureError> {
        let sector = Bytes(u64::from(geometry.logical_sector));
        let alignment = alignment(settings, geometry)?.unwrap_or(COMPOSITE_ALIGNMENT.max(sector));
        let read_percent = mix.parse(settings, parse_mix)?;
        let shift_ppm = ZONE_SHIFT.parse(settings, parse_zone_shift)?;
        Ok(PtsWorkload::Composite { read_percent, alignment, sector, shift_ppm })
    }

    /// Returns the workload with the same sizes and zones but only writes, for preconditioning
    /// and for the writes between rounds.
    pub fn all_writes(&self) -> Self {
        match *self {
            PtsWorkload::Pattern(AccessPattern { order: Order::Random, size, .. }) => {
                PtsWorkload::Pattern(AccessPattern::random(size, 0))
            }
            PtsWorkload::Pattern(AccessPattern { size, .. }) => {
                PtsWorkload::Pattern(AccessPattern::sequential(size, 0))
            }
            PtsWorkload::Composite { alignment, sector, shift_ppm, .. } => {
                PtsWorkload::Composite { read_percent: 0, alignment, sector, shift_ppm }
            }
        }
    }

    pub fn recommended_demand(&self, method: &Method) -> Demand {
        match *self {
            PtsWorkload::Pattern(AccessPattern { order: Order::Sequential(_), .. }) => {
                SEQUENTIAL_DEMAND
            }
            _ => method.random_demand,
        }
    }

    /// Returns the percentage of reads, by number of I/Os.
    pub fn read_percent(&self) -> u8 {
        match *self {
            PtsWorkload::Pattern(pattern) => pattern.read_percent,
            PtsWorkload::Composite { read_percent, .. } => read_percent,
        }
    }

    /// Returns the name of the offset alignment in reports; `chosen` is the user's choice.
    pub fn alignment_name(&self, chosen: Option<Bytes>) -> String {
        match *self {
            PtsWorkload::Pattern(AccessPattern { order: Order::Sequential(_), .. }) => {
                alignment_name(None)
            }
            PtsWorkload::Pattern(_) => alignment_name(chosen),
            PtsWorkload::Composite { alignment, .. } => alignment_name(Some(alignment)),
        }
    }

    /// Returns the transfer sizes left out because they are not a multiple of the sector size.
    pub fn left_out(&self) -> Vec<Bytes> {
        let PtsWorkload::Composite { sector, .. } = *self else { return Vec::new() };
        let sizes = COMPOSITE_SIZES.iter().map(|part| part.size);
        sizes.filter(|size| !size.0.is_multiple_of(sector.0)).collect()
    }

    /// Returns the bytes that must be transferred so that `written` bytes are written: exact for
    /// pure writes, the expected value for a mix, rounded up to 4 KiB. `None` if the workload does
    /// not write.
    pub fn bytes_for_written(&self, written: Bytes) -> Option<Bytes> {
        // Bytes of all I/Os and of the writes, in proportion to each other.
        let (mut total_share, mut written_share) = (0, 0);
        for stream in self.streams() {
            let share = u128::from(stream.weight) * u128::from(stream.size.0);
            total_share += share;
            if stream.op == Op::Write {
                written_share += share;
            }
        }
        let bytes = (u128::from(written.0) * total_share).checked_div(written_share)?;
        // A multiple of every supported sector size.
        u64::try_from(bytes).ok().map(|bytes| Bytes(bytes.div_ceil(4096) * 4096))
    }

    /// Returns the caveats of the workload: choices that could not be checked against the
    /// standard.
    pub fn caveats(&self) -> Vec<Caveat> {
        let unverified = |id: &str, text: String| vec![Caveat::unverified(id, text, "")];
        match *self {
            PtsWorkload::Composite { read_percent, alignment, shift_ppm, .. } => unverified(
                ids::COMPOSITE_RULES,
                format!(
                    "Composite workload: R/W {read_percent}/{}, offsets on multiples of {} bytes \
                     for every transfer size, shares by count of I/Os, LBA zones 50/5, 30/15, \
                     20/80{}; the mix and alignment that the PTS requires could not be checked.",
                    100 - read_percent,
                    alignment.0,
                    match shift_ppm {
                        0 => String::new(),
                        _ => format!(", shifted by {} % of the active range", shift_ppm / PERCENT),
                    }
                ),
            ),
            PtsWorkload::Pattern(AccessPattern {
                order: Order::Sequential(cursor),
                read_percent,
                ..
            }) if (1..100).contains(&read_percent) => {
                let how = match cursor {
                    Cursor::Shared => "one shared position",
                    Cursor::Own => "one position each",
                };
                unverified(
                    ids::CURSOR,
                    format!(
                        "Reads and writes of this sequential mix continue from {how}; the \
                         standard's rule could not be checked."
                    ),
                )
            }
            PtsWorkload::Pattern(_) => Vec::new(),
        }
    }
}

impl ApplicableWorkload for PtsWorkload {
    fn streams(&self) -> Vec<IoStream> {
        match *self {
            PtsWorkload::Pattern(pattern) => pattern.streams(),
            PtsWorkload::Composite { read_percent, alignment, sector, .. } => {
                composite_streams(read_percent, alignment, sector)
            }
        }
    }
    fn zones(&self) -> Vec<Zone> {
        match *self {
            PtsWorkload::Pattern(_) => Vec::new(),
            PtsWorkload::Composite { shift_ppm: 0, .. } => COMPOSITE_ZONES.to_vec(),
            PtsWorkload::Composite { shift_ppm, .. } => shifted_zones(shift_ppm),
        }
    }
}

impl std::fmt::Display for PtsWorkload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            PtsWorkload::Pattern(pattern) => pattern.fmt(f),
            PtsWorkload::Composite { read_percent: 0, .. } => f.write_str("composite W"),
            PtsWorkload::Composite { read_percent: 100, .. } => f.write_str("composite R"),
            PtsWorkload::Composite { read_percent, .. } => {
                write!(f, "composite RW{read_percent}")
            }
        }
    }
}

/// Parses a shift in percent, 0 to 99, and returns it in parts per million of the range.
fn parse_zone_shift(text: &str) -> Option<u32> {
    let percent: u32 = text.trim().trim_end_matches('%').trim_end().parse().ok()?;
    (percent < 100).then_some(percent * PERCENT)
}

/// Returns the zones of the composite, shifted by parts per million of the range. A zone that
/// crosses the end of the range continues at its beginning; its I/Os are divided in proportion to
/// the size of the two parts.
fn shifted_zones(shift_ppm: u32) -> Vec<Zone> {
    const WHOLE: u32 = 1_000_000;
    let mut zones = Vec::new();
    for zone in COMPOSITE_ZONES {
        let space = zone.to_ppm - zone.from_ppm;
        let from = (zone.from_ppm + shift_ppm) % WHOLE;
        let first = space.min(WHOLE - from);
        let rest = space - first;
        // An integer for every shift in percent: 240 is a multiple of the widths 5, 15 and 80 %.
        let weight = |part: u32| zone.weight * (part / PERCENT) * (240 / (space / PERCENT));
        zones.push(Zone { weight: weight(first), from_ppm: from, to_ppm: from + first });
        if rest > 0 {
            zones.push(Zone { weight: weight(rest), from_ppm: 0, to_ppm: rest });
        }
    }
    zones.sort_by_key(|zone| zone.from_ppm);
    zones
}

fn composite_streams(read_percent: u8, alignment: Bytes, sector: Bytes) -> Vec<IoStream> {
    let read_share = u32::from(read_percent);
    let mut streams = Vec::new();
    for (op, share) in [(Op::Read, read_share), (Op::Write, 100 - read_share)] {
        for CompositeSize { size, percent } in COMPOSITE_SIZES {
            if share > 0 && size.0.is_multiple_of(sector.0) {
                let stream = IoStream::new(op, Order::Random, size).with_weight(percent * share);
                streams.push(IoStream { alignment: Some(alignment), ..stream });
            }
        }
    }
    streams
}

fn with_cursor(
    pattern: AccessPattern,
    settings: &Settings,
) -> Result<AccessPattern, ProcedureError> {
    if !is_mixed_sequence(&pattern) {
        if settings.parameters.contains_key(CURSOR.name) {
            return Err(ProcedureError(format!(
                "parameter cursor belongs to mixed sequential workloads; '{pattern}' is not one"
            )));
        }
        return Ok(pattern);
    }
    let cursor = CURSOR.choice(settings, &[("shared", Cursor::Shared), ("own", Cursor::Own)])?;
    Ok(AccessPattern { order: Order::Sequential(cursor), ..pattern })
}

/// Parses a mix in percent, such as `40/60` (read/written), and returns the percentage of reads.
fn parse_mix(text: &str) -> Option<u8> {
    let (read, written) = text.split_once('/')?;
    let (read, written): (u8, u8) = (read.trim().parse().ok()?, written.trim().parse().ok()?);
    (u16::from(read) + u16::from(written) == 100).then_some(read)
}

fn unknown_workload(name: &str) -> ProcedureError {
    let roles: Vec<String> =
        ROLES.iter().map(|role| format!("{} ({})", role.name, role.notation)).collect();
    ProcedureError(format!(
        "'{name}' is not a workload; write it like \"RND 4K W\" or choose one of: {}, composite",
        roles.join(", "),
        name = excerpt(name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pts::method;
    use crate::testing::scripted::GEOMETRY;
    use steadfast_domain::{Class, Profile};

    const WORKLOAD: Parameter = Parameter { name: "workload", default: "RND 4K W", ..MIX_WRITES };

    fn parsed(pairs: &[(&str, &str)]) -> Result<PtsWorkload, ProcedureError> {
        let mut settings = Settings::new("wsat", 1);
        for (name, value) in pairs {
            settings.set(name, value);
        }
        PtsWorkload::from_settings(&[WORKLOAD], &MIX_JESD219, &settings, GEOMETRY)
    }

    #[test]
    fn the_six_are_found_by_role_and_by_notation() {
        for PatternRole { name, notation } in ROLES {
            assert_eq!(parsed(&[("workload", name)]).unwrap().to_string(), notation);
            assert_eq!(parsed(&[("workload", notation)]).unwrap().to_string(), notation);
        }
        assert_eq!(parsed(&[]).unwrap().to_string(), "RND 4K W");
        assert_eq!(parsed(&[("workload", "JESD219")]).unwrap().to_string(), "composite RW40");
        let unknown = parsed(&[("workload", "webserver")]).unwrap_err().0;
        assert!(unknown.contains("oltp (RND 8K RW65)"), "{unknown}");
    }

    #[test]
    fn the_composite_adds_up_to_100_percent_and_a_mean_of_7_635_kib() {
        let workload = parsed(&[("workload", "composite")]).unwrap();
        let streams = workload.streams();
        assert_eq!(streams.len(), 24);
        assert_eq!(streams.iter().map(|s| s.weight).sum::<u32>(), 10_000);
        let reads: u32 = streams.iter().filter(|s| s.op == Op::Read).map(|s| s.weight).sum();
        assert_eq!(reads, 4_000);
        let kib: f64 = streams.iter().map(|s| f64::from(s.weight) * s.size.as_kib()).sum();
        assert!((kib / 10_000.0 - 7.635).abs() < 1e-9, "{kib}");
        assert!(streams.iter().all(|s| s.alignment() == Bytes(4096)));
        let zones = workload.zones();
        assert_eq!(zones.iter().map(|z| z.weight).sum::<u32>(), 100);
        assert!(zones.windows(2).all(|pair| pair[0].to_ppm == pair[1].from_ppm));
        assert_eq!(
            (zones[0].to_ppm, zones[1].to_ppm, zones[2].to_ppm),
            (50_000, 200_000, 1_000_000)
        );
    }

    #[test]
    fn all_writes_keep_sizes_zones_and_alignment() {
        let workload = parsed(&[("workload", "composite"), ("alignment", "512")]).unwrap();
        let writes = workload.all_writes();
        assert_eq!(writes.to_string(), "composite W");
        assert_eq!(writes.streams().len(), 12);
        assert!(writes.streams().iter().all(|s| s.alignment() == Bytes(512)));
        assert_eq!(writes.zones(), workload.zones());
        let sequential = parsed(&[("workload", "video")]).unwrap();
        assert_eq!(sequential.all_writes().to_string(), "SEQ 128K W");
    }

    #[test]
    fn a_mixed_sequence_shares_one_cursor_unless_told_otherwise() {
        let cursor = |pairs: &[(&str, &str)]| match parsed(pairs).unwrap().streams()[0].order {
            Order::Sequential(cursor) => cursor,
            Order::Random => panic!("random"),
        };
        assert_eq!(cursor(&[("workload", "metadata")]), Cursor::Shared);
        assert_eq!(cursor(&[("workload", "metadata"), ("cursor", "own")]), Cursor::Own);
    }

    #[test]
    fn recommended_demand_follows_order_and_class() {
        let enterprise = method::for_profile(Profile::Pts20, Class::Enterprise);
        let demand = |name: &str| {
            parsed(&[("workload", name)]).unwrap().recommended_demand(&enterprise).to_string()
        };
        assert_eq!((demand("oltp"), demand("video")), ("T4Q32".into(), "T1Q32".into()));
        assert_eq!(demand("composite"), "T4Q32");
    }

    #[test]
    fn a_share_of_writes_needs_more_bytes() {
        let bytes = |name: &str| {
            parsed(&[("workload", name)]).unwrap().bytes_for_written(Bytes::gib(1)).map(|b| b.0)
        };
        assert_eq!(bytes("RND 4K W"), Some(1 << 30));
        assert_eq!(bytes("RND 4K R"), None);
        assert_eq!(bytes("RND 8K RW50"), Some(2 << 30));
    }

    #[test]
    fn a_4kn_sector_leaves_small_sizes_out() {
        let geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 4096 };
        let settings = Settings::new("composite", 1);
        let workload = PtsWorkload::from_settings(&[], &MIX_WRITES, &settings, geometry).unwrap();
        assert_eq!((workload.streams().len(), workload.left_out().len()), (5, 7));
        let mut settings = Settings::new("wsat", 1);
        settings.set("workload", "metadata");
        let small = PtsWorkload::from_settings(&[WORKLOAD], &MIX_WRITES, &settings, geometry);
        assert!(small.unwrap_err().0.contains("4096 bytes"));
    }

    #[test]
    fn shifted_zones_keep_their_shares_and_leave_nothing_out() {
        for percent in 1..100 {
            let zones = shifted_zones(percent * PERCENT);
            let mut next = 0;
            for zone in &zones {
                assert_eq!(zone.from_ppm, next, "{percent}");
                next = zone.to_ppm;
            }
            assert_eq!(next, 1_000_000, "{percent}");
            // The zone of half of the I/Os is the first 5 % before the shift.
            let is_hot =
                |zone: &&Zone| (zone.from_ppm + 1_000_000 - percent * PERCENT) % 1_000_000 < 50_000;
            let total: u32 = zones.iter().map(|zone| zone.weight).sum();
            let hot: u32 = zones.iter().filter(is_hot).map(|zone| zone.weight).sum();
            assert_eq!(hot * 2, total, "{percent}: {zones:?}");
        }
        let moved = |from_ppm, to_ppm, weight| Zone { weight, from_ppm, to_ppm };
        let expected = [
            moved(0, 50_000, 20 * 5 * 3),
            moved(50_000, 100_000, 50 * 5 * 48),
            moved(100_000, 250_000, 30 * 15 * 16),
            moved(250_000, 1_000_000, 20 * 75 * 3),
        ];
        assert_eq!(shifted_zones(5 * PERCENT), expected);
    }

    #[test]
    fn each_further_target_is_shifted_by_five_percent() {
        let mut settings = Settings::new("composite", 1);
        assert_eq!(zone_shift_of(&settings, 0), None);
        let third = ("zone-shift".to_owned(), "10".to_owned());
        assert_eq!(zone_shift_of(&settings, 2), Some(third));
        settings.set("zone-shift", "7%");
        assert_eq!(zone_shift_of(&settings, 2), None);
        assert_eq!(zone_shift_of(&Settings::new("iops", 1), 2), None);
        let mut campaign = Settings::new("dirth-campaign", 1);
        assert!(zone_shift_of(&campaign, 1).is_some());
        campaign.set("workloads", "oltp,video");
        assert_eq!(zone_shift_of(&campaign, 1), None);
    }
}
