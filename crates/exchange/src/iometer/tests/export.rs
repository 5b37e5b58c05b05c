//! Loads exported as configurations and read back as the same loads.

use super::corpus::HERE;
use crate::iometer::export::{ConfigExport, ConfigHeading, export};
use crate::iometer::read;
use crate::iometer::sequence::plan;
use crate::iometer::version::IometerVersion;
use crate::iometer::write;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, DataPattern, LoadLimits, Pace};
use steadfast_domain::{Bytes, Demand, Nanos, Stimulus};

fn load(pattern: &str, demand: Demand) -> Stimulus {
    let pattern: AccessPattern = pattern.parse().unwrap();
    let range = ActiveRange::new(Bytes::mib(1), Bytes::mib(64));
    let until = LoadLimits::time(Nanos::from_secs(97));
    Stimulus::new(pattern.streams(), range, demand, until).ramp(Nanos::from_secs(7))
}

fn exported(version: IometerVersion, loads: &[(&str, &Stimulus)]) -> ConfigExport {
    let heading = ConfigHeading { version, description: "ours, all", disk: "sdb", sector: 512 };
    export(&heading, loads.iter().copied())
}

#[test]
fn loads_come_back_as_they_were() {
    let loads = [
        ("RND 4K RW65 T2Q8", load("RND 4K RW65", Demand::new(2, 8))),
        ("SEQ 128K W T1Q32", load("SEQ 128K W", Demand::new(1, 32))),
        ("RND 8K R T2Q8", load("RND 8K R", Demand::new(2, 8))),
    ];
    let named: Vec<(&str, &Stimulus)> = loads.iter().map(|(name, load)| (*name, load)).collect();
    for version in [IometerVersion::of_2006(), IometerVersion::of_1_1()] {
        let ConfigExport { config, remarks } = exported(version, &named);
        assert_eq!(remarks, Vec::<String>::new());
        let config = config.unwrap();
        let again = read(write(&config).as_bytes()).unwrap();
        assert_eq!(again.config, config);
        let steps = plan(&config, again.remarks, HERE).unwrap().sequence.steps;
        assert_eq!(steps.len(), 3);
        for (step, (name, load)) in steps.iter().zip(&loads) {
            assert_eq!(step.label, *name, "the demand stands once");
            assert_eq!(step.load.demand, load.demand);
            assert_eq!(step.load.ramp, load.ramp);
            assert_eq!(step.load.until.time, load.until.time);
            assert_eq!(step.load.data_pattern, Some(DataPattern::RandomUnique));
            let weights = |streams: &[steadfast_domain::IoStream]| -> Vec<String> {
                let all: u32 = streams.iter().map(|s| s.weight).sum();
                streams.iter().map(|s| format!("{s} {}", s.weight * 1000 / all)).collect()
            };
            assert_eq!(weights(&step.load.streams), weights(&load.streams));
        }
    }
}

#[test]
fn what_iometer_cannot_do_is_named() {
    let plain = load("RND 4K R", Demand::new(1, 1));
    let rate = Pace::Fixed { ios: 100, per: Nanos::from_secs(1) };
    let cases = [
        (plain.clone().pace(rate), "paced by a rate"),
        (
            Stimulus { until: LoadLimits::bytes(Bytes::gib(1)), ..plain.clone() },
            "ends after an amount",
        ),
        (load("SEQ 128K W", Demand::new(1, 1)).data_pattern(DataPattern::Zero), "pattern zero"),
        (
            load("SEQ 128K W", Demand::new(1, 1)).data_pattern(DataPattern::RandomOnce),
            "only version 1.1.0",
        ),
        (plain.clone().ramp(Nanos::from_millis(7)), "not in whole seconds"),
        (plain.clone().ramp(Nanos::ZERO), "one run time and one ramp up time"),
    ];
    for (load, part) in &cases {
        let export = exported(IometerVersion::of_2006(), &[("plain", &plain), ("odd", load)]);
        assert_eq!(export.remarks.len(), 1, "{part}");
        assert!(export.remarks[0].starts_with("odd: left out: "), "{:?}", export.remarks);
        assert!(export.remarks[0].contains(part), "{:?}", export.remarks);
        assert_eq!(export.config.unwrap().specs.unwrap().len(), 1);
    }
    assert_eq!(exported(IometerVersion::of_2006(), &[("odd", &cases[1].0)]).config, None);
    // The run time is that of most loads, whichever comes first.
    let year = Stimulus { until: LoadLimits::time(Nanos::from_secs(31_536_000)), ..plain.clone() };
    let other = load("RND 8K R", Demand::new(1, 1));
    let loads = [("open", &year), ("plain", &plain), ("other", &other)];
    let export = exported(IometerVersion::of_2006(), &loads);
    assert!(export.remarks[0].starts_with("open: left out: "), "{:?}", export.remarks);
    let config = export.config.unwrap();
    assert_eq!(config.specs.unwrap().len(), 2);
    let time = config.setup.unwrap().run_time.unwrap();
    assert_eq!((time.hours, time.minutes, time.seconds), (0, 1, 37));
    let mut thirds = load("RND 4K R", Demand::new(1, 1));
    thirds.streams.extend(load("RND 8K R", Demand::new(1, 1)).streams);
    thirds.streams[0].weight = 2 * thirds.streams[1].weight;
    let export = exported(IometerVersion::of_2006(), &[("thirds", &thirds)]);
    assert_eq!(export.remarks, ["thirds: shares are rounded to whole percent"]);
    let lines = export.config.unwrap().specs.unwrap()[0].lines.clone();
    assert_eq!([lines[0].of_size, lines[1].of_size], [67, 33]);
}
