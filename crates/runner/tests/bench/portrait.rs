//! Planned times of a portrait.

use steadfast_domain::settings::Geometry;
use steadfast_domain::{Bytes, Class, Nanos, Settings};
use steadfast_runner::forecast::Outline;

/// The drive of the lengths' definition: 1 TB, 1 GB/s.
const CAPACITY: Bytes = Bytes(1_000_204_886_016);
const RATE: u64 = 1_000_000_000;

/// Time that a length leaves for what no plan knows: the purges, and parts that a gap repeats.
const SPARE: f64 = 0.9;

/// Both lengths keep to their time even if no part is steady before its last round.
#[test]
fn a_portrait_fits_its_length() {
    for (length, hours) in [("1h", 1), ("8h", 8)] {
        for class in [Class::Enterprise, Class::Client] {
            for logical_sector in [512, 4096] {
                let geometry = Geometry { capacity: CAPACITY, logical_sector };
                let mut settings = Settings::new("portrait", 7);
                settings.class = class;
                settings.set("length", length);
                let procedure = steadfast_procedures::procedure(&settings, geometry, &[]).unwrap();
                let outline = Outline::rehearse(procedure.as_ref(), Some(RATE)).unwrap();
                let most = Nanos::from_secs(hours * 3600).as_secs_f64() * SPARE;
                let planned = outline.worst_time_ns.as_secs_f64();
                assert!(planned <= most, "{length} {class} {logical_sector}: {planned} s");
                assert!(planned > most / 3.0, "{length} {class}: {planned} s use little of it");
            }
        }
    }
}
