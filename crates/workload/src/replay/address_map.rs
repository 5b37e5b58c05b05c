//! Maps captured addresses to another device. Addresses move by granules of 1 MiB, so that
//! I/Os that were adjacent inside a granule stay adjacent and a sequential run stays one.

use super::ReplayError;
use super::granules::{GRANULE, GranuleRanks};
use std::sync::Arc;
use steadfast_domain::Bytes;
use steadfast_domain::script::MapRule;

/// The device for which a script is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayTarget {
    /// Size of the device.
    pub size: Bytes,
    /// Size of a logical sector in bytes; offsets and sizes are rounded to multiples of it.
    pub logical_sector: u32,
}

impl ReplayTarget {
    fn sector(self) -> u64 {
        u64::from(self.logical_sector).max(1)
    }
    /// Returns the end of the last whole sector, in bytes.
    pub fn end(self) -> u64 {
        self.size.0 - self.size.0 % self.sector()
    }
    /// Returns the number of whole granules.
    pub fn granules(self) -> u64 {
        self.size.0 / GRANULE
    }
    /// Rounds the range of an I/O outward to whole sectors.
    pub fn whole_sectors(self, offset: u64, size: u64) -> WholeSectors {
        let sector = self.sector();
        let begin = offset - offset % sector;
        let end = offset.saturating_add(size);
        let end = end.checked_next_multiple_of(sector).unwrap_or(u64::MAX - u64::MAX % sector);
        WholeSectors { offset: begin, size: end - begin }
    }
}

/// A range of whole sectors, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeSectors {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub size: u64,
}

/// The mapping of a capture's addresses to one target.
#[derive(Debug, Clone, PartialEq)]
pub struct AddressMap {
    target: ReplayTarget,
    moves: AddressMove,
}

#[derive(Debug, Clone, PartialEq)]
enum AddressMove {
    Same,
    Wrap,
    Pack(Arc<GranuleRanks>),
    /// Number of granules of the captured device.
    Scale(u64),
}

/// The place of one I/O on the target, and how it was adapted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MappedIo {
    /// Offset of the first byte on the target.
    pub offset: u64,
    /// Size in bytes, as captured or rounded outward to whole sectors.
    pub size: u64,
    /// True if the offset or size was not a multiple of the target's sector.
    pub rounded: bool,
    /// True if the granule lay beyond the target's end and was wrapped to its beginning.
    pub wrapped: bool,
    /// True if the I/O was moved down so that it ends with the target.
    pub moved: bool,
}

/// The facts about a capture that a map needs.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureExtent {
    /// End of the last byte that any I/O reaches.
    pub end: u64,
    /// Size of the captured device; `None` if unknown.
    pub capacity: Option<Bytes>,
    /// Touched granules; needed only to pack.
    pub touched: GranuleRanks,
}

impl AddressMap {
    /// Creates a map to a target.
    ///
    /// # Errors
    /// Returns [`ReplayError::TargetTooSmall`] if granules must move and the target has none.
    pub fn new(
        rule: MapRule,
        target: ReplayTarget,
        extent: CaptureExtent,
    ) -> Result<Self, ReplayError> {
        if rule != MapRule::Same && target.granules() == 0 {
            return Err(ReplayError::TargetTooSmall(target.size));
        }
        let moves = match rule {
            MapRule::Same => AddressMove::Same,
            MapRule::Wrap => AddressMove::Wrap,
            MapRule::Pack => AddressMove::Pack(Arc::new(extent.touched)),
            MapRule::Scale => {
                let span = extent.capacity.map_or(0, |bytes| bytes.0).max(extent.end);
                AddressMove::Scale(span.div_ceil(GRANULE).max(1))
            }
        };
        Ok(AddressMap { target, moves })
    }

    /// Returns the rule by which addresses move.
    pub fn rule(&self) -> MapRule {
        match self.moves {
            AddressMove::Same => MapRule::Same,
            AddressMove::Wrap => MapRule::Wrap,
            AddressMove::Pack(_) => MapRule::Pack,
            AddressMove::Scale(_) => MapRule::Scale,
        }
    }

    /// Returns the place of an I/O; `None` if it is larger than the target, or lies beyond its end
    /// and the rule is [`MapRule::Same`].
    #[inline]
    pub fn map_io(&self, offset: u64, size: u64) -> Option<MappedIo> {
        let range = self.target.whole_sectors(offset, size);
        let rounded = range != WholeSectors { offset, size };
        let highest = self.target.end().checked_sub(range.size)?;
        if self.moves == AddressMove::Same {
            let fits = range.offset <= highest;
            let WholeSectors { offset, size } = range;
            return fits.then_some(MappedIo {
                offset,
                size,
                rounded,
                wrapped: false,
                moved: false,
            });
        }
        let granules = self.target.granules();
        let number = self.moved_granule(range.offset / GRANULE);
        let offset = number % granules * GRANULE + range.offset % GRANULE;
        Some(MappedIo {
            offset: offset.min(highest),
            size: range.size,
            rounded,
            wrapped: number >= granules,
            moved: offset > highest,
        })
    }

    /// Returns the number of the target's granule for a captured one; it may lie beyond the end.
    fn moved_granule(&self, granule: u64) -> u64 {
        match &self.moves {
            AddressMove::Same | AddressMove::Wrap => granule,
            AddressMove::Pack(ranks) => ranks.rank(granule),
            AddressMove::Scale(captured) => {
                let granules = u128::from(self.target.granules());
                let scaled = u128::from(granule) * granules / u128::from(*captured);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        }
    }

    /// Describes the mapping in one sentence.
    pub fn describe(&self) -> String {
        let target = self.target.granules();
        match &self.moves {
            AddressMove::Same => "Addresses are the captured ones.".into(),
            AddressMove::Wrap => format!(
                "Addresses wrap: granule number modulo the target's {target} granules of 1 MiB."
            ),
            AddressMove::Pack(ranks) => format!(
                "Addresses are packed: the {} granules of 1 MiB that were touched, in order, onto \
                 the target's {target}.",
                ranks.total()
            ),
            AddressMove::Scale(captured) => format!(
                "Addresses are scaled: {captured} captured granules of 1 MiB onto the target's \
                 {target}{}.",
                match target.cmp(captured) {
                    std::cmp::Ordering::Less => {
                        "; several captured granules share one target granule"
                    }
                    std::cmp::Ordering::Equal => "",
                    std::cmp::Ordering::Greater => ", with gaps between them",
                }
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::granules::Granules;
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = GRANULE;
    const RULES: [MapRule; 4] = [MapRule::Same, MapRule::Wrap, MapRule::Pack, MapRule::Scale];

    fn target(size: Bytes) -> ReplayTarget {
        ReplayTarget { size, logical_sector: 512 }
    }

    fn map(rule: MapRule, target_mib: u64, ios: &[(u64, u64)]) -> AddressMap {
        let mut touched = Granules::default();
        for (offset, size) in ios {
            touched.touch(*offset, offset + size).unwrap();
        }
        let end = ios.iter().map(|(offset, size)| offset + size).max().unwrap_or(0);
        let extent = CaptureExtent { end, capacity: None, touched: touched.ranked() };
        AddressMap::new(rule, target(Bytes::mib(target_mib)), extent).unwrap()
    }

    fn at(map: &AddressMap, offset: u64, size: u64) -> u64 {
        map.map_io(offset, size).unwrap().offset
    }

    #[test]
    fn granules_wrap_and_offsets_inside_them_stay() {
        let map = map(MapRule::Wrap, 4, &[]);
        assert_eq!(at(&map, 3 * MIB + 4096, 4096), 3 * MIB + 4096);
        assert_eq!(at(&map, 9 * MIB + 8192, 4096), MIB + 8192);
        assert!(map.map_io(9 * MIB, 4096).unwrap().wrapped);
        assert!(!map.map_io(3 * MIB, 4096).unwrap().wrapped);
    }

    #[test]
    fn touched_granules_are_packed_in_order_and_wrap_where_they_are_too_many() {
        let ios = [(7 * MIB, 4096), (100 * MIB + 512, 4096), (5000 * MIB, 4096)];
        let packed = map(MapRule::Pack, 3, &ios);
        assert_eq!(ios.map(|(offset, size)| at(&packed, offset, size)), [0, MIB + 512, 2 * MIB]);
        let last = map(MapRule::Pack, 2, &ios).map_io(5000 * MIB, 4096).unwrap();
        assert_eq!((last.offset, last.wrapped), (0, true));
    }

    #[test]
    fn a_captured_device_is_scaled_to_the_targets_size() {
        let extent = CaptureExtent {
            end: MIB,
            capacity: Some(Bytes::mib(1000)),
            touched: GranuleRanks::default(),
        };
        let scaled = |mib: u64| {
            AddressMap::new(MapRule::Scale, target(Bytes::mib(mib)), extent.clone()).unwrap()
        };
        let squeezed = scaled(100);
        assert_eq!(at(&squeezed, 509 * MIB + 1024, 4096), 50 * MIB + 1024);
        assert_eq!(at(&squeezed, 999 * MIB, 4096), 99 * MIB);
        let stretched = scaled(2000);
        assert_eq!(at(&stretched, 999 * MIB + 512, 4096), 1998 * MIB + 512);
        let text = stretched.describe();
        assert!(text.contains("1000 captured") && text.contains("gaps"), "{text}");
    }

    #[test]
    fn an_io_across_an_edge_stays_whole_and_inside_the_target() {
        let wrap = map(MapRule::Wrap, 4, &[]);
        let across = wrap.map_io(7 * MIB + MIB / 2, MIB).unwrap();
        assert_eq!((across.offset, across.size, across.moved), (3 * MIB, MIB, true));
        assert_eq!(wrap.map_io(0, 5 * MIB), None);
    }

    #[test]
    fn an_io_off_a_sector_is_rounded_outward() {
        let target = ReplayTarget { size: Bytes::mib(4), logical_sector: 4096 };
        let extent = CaptureExtent { end: 0, capacity: None, touched: GranuleRanks::default() };
        let map = AddressMap::new(MapRule::Same, target, extent).unwrap();
        let mapped = map.map_io(512, 4096).unwrap();
        assert_eq!((mapped.offset, mapped.size, mapped.rounded), (0, 8192, true));
        assert!(!map.map_io(4096, 4096).unwrap().rounded);
        assert_eq!(map.map_io(4 * MIB - 512, 1024), None);
    }

    #[test]
    fn a_target_below_one_granule_is_refused_unless_addresses_stay() {
        let small = |rule: MapRule| {
            let extent =
                CaptureExtent { end: 4096, capacity: None, touched: GranuleRanks::default() };
            AddressMap::new(rule, target(Bytes::kib(512)), extent)
        };
        let refusal = small(MapRule::Wrap).unwrap_err().to_string();
        assert!(refusal.contains("512 KiB") && refusal.contains("1 MiB"), "{refusal}");
        assert!(small(MapRule::Same).is_ok());
    }

    fn any_ios() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0u64..(1 << 27), 1u64..4096), 1..60)
            .prop_map(|ios| ios.into_iter().map(|(at, size)| (at * 512, size * 512)).collect())
    }

    proptest! {
        #[test]
        fn every_io_lies_within_the_target_and_keeps_its_size(
            ios in any_ios(), target in 3u64..5000, rule in 1usize..4
        ) {
            let rule = RULES[rule];
            let map = map(rule, target, &ios);
            for (offset, size) in ios {
                let mapped = map.map_io(offset, size).unwrap();
                prop_assert_eq!(mapped.size, size);
                prop_assert!(mapped.offset + size <= target * MIB);
                prop_assert!(mapped.offset.is_multiple_of(512) && !mapped.rounded);
                prop_assert!(mapped.moved || mapped.offset % MIB == offset % MIB);
            }
        }

        #[test]
        fn adjacent_ios_of_a_granule_stay_adjacent(
            granule in 0u64..100_000, cut in 1u64..2047, target in 1u64..5000, rule in 1usize..4
        ) {
            let rule = RULES[rule];
            let begin = granule * MIB;
            let ios = [(begin, cut * 512), (begin + cut * 512, MIB - cut * 512)];
            let map = map(rule, target, &[&ios[..], &[(123 * MIB, 512)]].concat());
            let mapped = ios.map(|(offset, size)| map.map_io(offset, size).unwrap());
            prop_assert_eq!(mapped[0].offset + mapped[0].size, mapped[1].offset);
        }

        #[test]
        fn same_is_the_identity_or_nothing(ios in any_ios(), target in 1u64..100_000) {
            let map = map(MapRule::Same, target, &ios);
            for (offset, size) in ios {
                let mapped = map.map_io(offset, size).map(|mapped| (mapped.offset, mapped.size));
                let fits = offset + size <= target * MIB;
                prop_assert_eq!(mapped, fits.then_some((offset, size)));
            }
        }
    }
}
