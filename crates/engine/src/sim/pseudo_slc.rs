//! Parameters of a cache of flash cells that hold one bit each (pSLC).

use steadfast_domain::{Bytes, Nanos};

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
