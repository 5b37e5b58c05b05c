//! The named drives: amount of flash, its geometry, its speed.

use super::fault::SimFault;
use steadfast_domain::power_cut::PowerLossBehavior;
use steadfast_domain::{Bytes, Nanos};

/// Size in bytes of a mapping unit, the smallest piece that a drive keeps track of.
pub(super) const PAGE: u64 = 4096;

/// Parameters of a pSLC cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PseudoSlc {
    /// Bytes that the cache holds.
    pub size: Bytes,
    /// Rate of writes into the cache, in MB/s.
    pub mb_per_second: u32,
    /// Rate of writes past the full cache, in MB/s.
    pub direct_mb_per_second: u32,
    /// Bytes that can be written past the full cache before the drive has to fold meanwhile.
    pub direct_room: Bytes,
    /// Rate of writes while the drive has to fold, in MB/s.
    pub folding_mb_per_second: u32,
    /// Rate at which an idle drive folds, in MB/s.
    pub fold_mb_per_second: u32,
    /// Idle time before the drive folds.
    pub fold_after: Nanos,
    /// Rate of reads from the cache, in MB/s.
    pub read_mb_per_second: u32,
}

/// The parameters of a simulated drive. All sizes are powers of two, except for the number of
/// superblocks, which determines the over-provisioning.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveSpec {
    /// Name after `sim:`.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Model that the drive reports.
    pub model: &'static str,
    /// Serial number that the drive reports.
    pub serial: &'static str,
    /// Pages of 4 KiB visible to the host.
    pub logical_pages: u32,
    /// Pages per superblock, which is one erase block on every die.
    pub superblock_pages: u32,
    /// Number of superblocks, including over-provisioning.
    pub superblocks: u32,
    /// Number of flash dies, at most 64.
    pub dies: u32,
    /// Number of flash channels, at most that of dies.
    pub channels: u32,
    /// Pages that a die programs and reads at once.
    pub unit_pages: u32,
    /// Program units that the write buffer holds.
    pub buffer_units: u32,
    /// True if the buffer survives a power loss, so that buffered writes are durable.
    pub buffer_is_durable: bool,
    /// Time of a flush in addition to that of emptying a volatile buffer, in nanoseconds.
    pub flush_ns: u32,
    /// True if every duration is exactly the specified one.
    pub is_exact: bool,
    /// Time to read a unit inside a die, in nanoseconds.
    pub read_ns: u32,
    /// Time to program a unit, in nanoseconds.
    pub program_ns: u32,
    /// Time to erase a block, in nanoseconds.
    pub erase_ns: u32,
    /// Time of one page on a channel, in nanoseconds.
    pub transfer_ns: u32,
    /// Controller time of a command, in nanoseconds.
    pub command_ns: u32,
    /// Fixed latency of a command in addition to everything that is modeled, in nanoseconds.
    pub latency_ns: u32,
    /// Speed of the host link in each direction, in MB/s.
    pub link_mb_per_second: u32,
    /// Cache in front of the flash, if the drive has one.
    pub pseudo_slc: Option<PseudoSlc>,
    /// Power states that the drive enters when idle, the lightest first.
    pub idle_states: &'static [IdleState],
    /// Power that the drive draws.
    pub power: PowerModel,
    /// Fault of the drive, if it has one.
    pub fault: Option<SimFault>,
    /// Pages of an indirection unit, a power of two: a write of a part of one reads and writes all
    /// of it.
    pub indirection_pages: u32,
    /// Limit of all writes, if the drive has one.
    pub write_limit: Option<WriteLimit>,
    /// Behavior when the power is cut.
    pub power_loss: PowerLossBehavior,
}

/// Limit of a drive's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteLimit {
    /// Rate that no pattern of writes exceeds, in MB/s.
    pub mb_per_second: u32,
    /// True if only the random part of the data counts, because the drive compresses it.
    pub compresses: bool,
}

/// Power of a drive: a constant part, and energy for each command, each page programmed and each
/// byte that moves between host and drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerModel {
    /// Power without any work, in milliwatts.
    pub idle_milliwatts: u32,
    /// Energy of a command in the controller, in nanojoules.
    pub command_nanojoules: u32,
    /// Energy to program a page of 4 KiB, in nanojoules.
    pub page_program_nanojoules: u32,
    /// Energy for a byte read or written by the host, in picojoules.
    pub byte_picojoules: u32,
}

/// A power state that a drive enters by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleState {
    /// Idle time after which the drive enters it.
    pub after: Nanos,
    /// Time until the drive takes a command again.
    pub exit_latency: Nanos,
}

impl DriveSpec {
    /// Returns the flash beyond the user capacity, as a share of it.
    pub fn spare(&self) -> f64 {
        let pages = f64::from(self.superblocks) * f64::from(self.superblock_pages);
        pages / f64::from(self.logical_pages) - 1.0
    }
    /// Returns the user capacity.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.logical_pages) * PAGE)
    }
}

/// Returns all named drives.
pub fn drives() -> &'static [DriveSpec] {
    &DRIVES
}

/// Returns the drive of this name.
pub fn drive(name: &str) -> Option<&'static DriveSpec> {
    DRIVES.iter().find(|spec| spec.name == name)
}

const SMALL: DriveSpec = DriveSpec {
    name: "small",
    summary: "1 GiB and slow, steady within minutes: for tests and trials",
    model: "Steadfast Simulated Small",
    serial: "SIM-SMALL",
    logical_pages: 1 << 18,
    superblock_pages: 512,
    superblocks: 594,
    dies: 8,
    channels: 2,
    unit_pages: 1,
    buffer_units: 64,
    buffer_is_durable: false,
    flush_ns: 0,
    is_exact: false,
    read_ns: 75_000,
    program_ns: 750_000,
    erase_ns: 2_500_000,
    transfer_ns: 10_000,
    command_ns: 100_000,
    latency_ns: 20_000,
    link_mb_per_second: 100,
    pseudo_slc: None,
    idle_states: &[],
    power: PowerModel {
        idle_milliwatts: 400,
        command_nanojoules: 20_000,
        page_program_nanojoules: 60_000,
        byte_picojoules: 2_000,
    },
    fault: None,
    indirection_pages: 1,
    write_limit: None,
    power_loss: PowerLossBehavior::Honest,
};

/// A drive whose flash costs no time.
const EXACT: DriveSpec = DriveSpec {
    name: "exact",
    summary: "1 GiB, 100 us per command, 2 ms per flush, no variation: to check arithmetic",
    model: "Steadfast Simulated Exact",
    serial: "SIM-EXACT",
    flush_ns: 2_000_000,
    is_exact: true,
    read_ns: 0,
    program_ns: 0,
    erase_ns: 0,
    transfer_ns: 0,
    latency_ns: 0,
    link_mb_per_second: 1024,
    power: PowerModel {
        idle_milliwatts: 1_000,
        command_nanojoules: 100_000,
        page_program_nanojoules: 0,
        byte_picojoules: 0,
    },
    ..SMALL
};

static DRIVES: [DriveSpec; 11] = [
    SMALL,
    DriveSpec {
        name: "client",
        summary: "8 GiB, little over-provisioning, volatile write cache, SATA speeds",
        model: "Steadfast Simulated Client",
        serial: "SIM-CLIENT",
        logical_pages: 1 << 21,
        superblock_pages: 4096,
        superblocks: 574,
        dies: 16,
        channels: 4,
        unit_pages: 4,
        buffer_units: 256,
        read_ns: 65_000,
        program_ns: 1_000_000,
        erase_ns: 4_000_000,
        command_ns: 10_000,
        latency_ns: 15_000,
        link_mb_per_second: 530,
        power: PowerModel {
            idle_milliwatts: 50,
            command_nanojoules: 5_000,
            page_program_nanojoules: 12_000,
            byte_picojoules: 1_500,
        },
        ..SMALL
    },
    DriveSpec {
        name: "enterprise",
        summary: "16 GiB, ample over-provisioning, power-safe write buffer, NVMe speeds",
        model: "Steadfast Simulated Enterprise",
        serial: "SIM-ENTERPRISE",
        logical_pages: 1 << 22,
        superblock_pages: 8192,
        superblocks: 676,
        dies: 32,
        channels: 8,
        unit_pages: 4,
        buffer_units: 512,
        buffer_is_durable: true,
        read_ns: 60_000,
        program_ns: 600_000,
        erase_ns: 3_500_000,
        transfer_ns: 4_000,
        command_ns: 1_800,
        latency_ns: 8_000,
        link_mb_per_second: 3_200,
        power: PowerModel {
            idle_milliwatts: 3_500,
            command_nanojoules: 2_000,
            page_program_nanojoules: 12_000,
            byte_picojoules: 1_000,
        },
        ..SMALL
    },
    DriveSpec {
        name: "unsteady",
        summary: "like small, but slower with every byte written: never steady",
        model: "Steadfast Simulated Unsteady",
        serial: "SIM-UNSTEADY",
        fault: Some(SimFault::NeverSteady { slower_percent_per_gib: 10 }),
        ..SMALL
    },
    DriveSpec {
        name: "failing",
        summary: "like small, but gone for good after three hours",
        model: "Steadfast Simulated Failing",
        serial: "SIM-FAILING",
        fault: Some(SimFault::GoneAt(Nanos::from_secs(3 * 3600))),
        ..SMALL
    },
    DriveSpec {
        name: "throttling",
        summary: "like small, but writes at half speed while above its temperature limit",
        model: "Steadfast Simulated Throttling",
        serial: "SIM-THROTTLING",
        fault: Some(SimFault::Throttles { above: 46, below: 42, slower_percent: 100 }),
        ..SMALL
    },
    EXACT,
    DriveSpec {
        name: "pslc",
        summary: "8 GiB behind a fast cache of 1.5 GB: 120 MB/s, then 40 and 15; folds when idle",
        model: "Steadfast Simulated Cached",
        serial: "SIM-CACHED",
        logical_pages: 1 << 21,
        superblock_pages: 4096,
        superblocks: 574,
        unit_pages: 4,
        read_ns: 400_000,
        program_ns: 0,
        erase_ns: 0,
        transfer_ns: 0,
        command_ns: 10_000,
        link_mb_per_second: 600,
        pseudo_slc: Some(PseudoSlc {
            size: Bytes(1_500_000_000),
            mb_per_second: 120,
            direct_mb_per_second: 40,
            direct_room: Bytes(2_000_000_000),
            folding_mb_per_second: 15,
            fold_mb_per_second: 10,
            fold_after: Nanos::from_secs(5),
            read_mb_per_second: 550,
        }),
        power: PowerModel {
            idle_milliwatts: 300,
            command_nanojoules: 10_000,
            page_program_nanojoules: 12_000,
            byte_picojoules: 3_000,
        },
        ..SMALL
    },
    DriveSpec {
        name: "dozing",
        summary: "like exact, but 1.5 ms slower to answer after 100 ms idle, 25 ms after 2 s",
        model: "Steadfast Simulated Dozing",
        serial: "SIM-DOZING",
        idle_states: &[
            IdleState { after: Nanos::from_millis(100), exit_latency: Nanos(1_500_000) },
            IdleState { after: Nanos::from_secs(2), exit_latency: Nanos::from_millis(25) },
        ],
        ..EXACT
    },
    DriveSpec {
        name: "greedy",
        summary: "256 MiB, small superblocks, like exact; counts its host and flash writes",
        model: "Steadfast Simulated Greedy",
        serial: "SIM-GREEDY",
        logical_pages: 1 << 16,
        superblock_pages: 32,
        superblocks: 2304,
        ..EXACT
    },
    DriveSpec {
        name: "forgetful",
        summary: "like small, but ignores flushes: a power cut loses what it acknowledged",
        model: "Steadfast Simulated Forgetful",
        serial: "SIM-FORGETFUL",
        power_loss: PowerLossBehavior::IgnoresFlushes,
        ..SMALL
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_drive_can_be_built() {
        for spec in drives() {
            assert_eq!(drive(spec.name), Some(spec));
            for size in [spec.superblock_pages, spec.dies, spec.channels, spec.unit_pages] {
                assert!(size.is_power_of_two(), "{}", spec.name);
            }
            assert!(spec.dies <= 64 && spec.channels <= spec.dies);
            assert!(spec.superblock_pages >= spec.dies * spec.unit_pages);
            assert!(spec.superblock_pages < 1 << 14, "valid pages are counted in 14 bits");
            let pages = u64::from(spec.superblocks) * u64::from(spec.superblock_pages);
            let over_provisioning = pages as f64 / f64::from(spec.logical_pages) - 1.0;
            assert!(over_provisioning > 0.05 && over_provisioning < 0.5);
            assert!(pages < u64::from(u32::MAX));
        }
        assert_eq!(drive("large"), None);
    }
}
