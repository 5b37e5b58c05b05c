//! Files that are written and read back unchanged.

use super::corpus::{OF_1_1, OF_2006};
use crate::iometer::config::*;
use crate::iometer::read;
use crate::iometer::version::IometerVersion;
use crate::iometer::{write, write_with_comments};
use proptest::option::of;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9%;:()#_-]{1,12}( [A-Za-z0-9%;&/.]{1,8}){0,2}"
}

fn any_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn cycling() -> impl Strategy<Value = Cycling> {
    (1u32..99, 1u32..9, any_of(GrowthKind::ALL)).prop_map(|(start, step, kind)| Cycling {
        start,
        step,
        kind,
    })
}

fn spawn() -> impl Strategy<Value = WorkerCount> {
    prop_oneof![Just(WorkerCount::Processors), (0u32..99).prop_map(WorkerCount::Count)]
}

prop_compose! {
    fn setup()(
        description in of(name()),
        run_time in of((0u32..99, 0u32..999, 0u32..9999)),
        ramp in of(0u32..9999),
        (disk_workers, network_workers) in (of(spawn()), of(spawn())),
        record in of(any_of(RecordedRows::ALL)),
        (worker_cycling, disk_cycling) in (of(cycling()), of(cycling())),
        depth in of((cycling(), 0u32..999)),
        test_type in of(any_of(TestType::ALL)),
    ) -> TestSetup {
        TestSetup {
            description,
            run_time: run_time.map(|(hours, minutes, seconds)| RunTime { hours, minutes, seconds }),
            ramp_s: ramp,
            disk_workers,
            network_workers,
            record,
            worker_cycling,
            disk_cycling,
            depth_cycling: depth.map(|(cycling, end)| DepthCycling { cycling, end }),
            test_type,
        }
    }
}

prop_compose! {
    fn row()(
        size in 1u64..=1 << 30, reads in 0u8..=100, random in 0u8..=100,
        delay_ms in 0u64..9999, burst in 1u64..999, align in 0u64..1 << 20, reply in 0u64..1 << 20,
    ) -> AccessLine {
        AccessLine { size, of_size: 0, reads, random, delay_ms, burst, align, reply, line: LineNumber(0) }
    }
}

fn specs() -> impl Strategy<Value = Vec<AccessSpec>> {
    let spec = (name(), any_of(Assignment::ALL), prop::collection::vec(row(), 1..9));
    prop::collection::vec(spec, 0..5).prop_map(|specs| {
        let made = specs.into_iter().enumerate().map(|(number, (name, assignment, mut lines))| {
            let rest = 100 - 7 * (lines.len() as u8 - 1);
            lines.iter_mut().for_each(|line| line.of_size = 7);
            lines[0].of_size = rest;
            // Distinct names: a second specification of a name replaces the first.
            AccessSpec { name: format!("{name} {number}"), assignment, lines, line: LineNumber(0) }
        });
        made.collect()
    })
}

fn kind() -> impl Strategy<Value = WorkerKind> {
    prop_oneof![
        3 => Just(WorkerKind::Disk),
        1 => prop_oneof!["TCP", "VI"].prop_map(WorkerKind::Network),
    ]
}

fn defaults() -> impl Strategy<Value = TargetDefaults> {
    let seed =
        of((any::<bool>(), any::<u64>()).prop_map(|(used, value)| FixedSeed { used, value }));
    let outstanding = (1u32..999, any::<bool>(), 0u32..999, seed).prop_map(
        |(ios, connection_rate, transactions, fixed_seed)| OutstandingIos {
            ios,
            connection_rate,
            transactions,
            fixed_seed,
        },
    );
    let disk = (any::<u64>(), any::<u64>(), of(0u8..3))
        .prop_map(|(sectors, start, pattern)| DiskArea { sectors, start, pattern });
    (of(outstanding), of(disk), of(name()), of(0u32..99)).prop_map(
        |(outstanding, disk, local_interface, vi_outstanding)| TargetDefaults {
            outstanding,
            disk,
            local_interface,
            vi_outstanding,
        },
    )
}

fn worker() -> impl Strategy<Value = IometerWorker> {
    let manager = (0u32..9, name()).prop_map(|(id, name)| ManagerName { id, name });
    let target = (name(), kind(), of(manager)).prop_map(|(name, kind, manager)| IometerTarget {
        name,
        kind,
        manager,
    });
    let assigned = name().prop_map(|name| AssignedSpec { name, line: LineNumber(0) });
    let specs = of(prop::collection::vec(assigned, 0..4));
    let targets = of(prop::collection::vec(target, 0..4));
    (name(), kind(), of(defaults()), specs, targets).prop_map(
        |(name, kind, defaults, specs, targets)| IometerWorker {
            name,
            kind,
            defaults,
            specs,
            targets,
            line: LineNumber(0),
        },
    )
}

fn config() -> impl Strategy<Value = IometerConfig> {
    let manager = (0u32..9, name(), of(name()), prop::collection::vec(worker(), 0..4)).prop_map(
        |(id, name, address, workers)| IometerManager {
            id,
            name,
            address,
            workers,
            line: LineNumber(0),
        },
    );
    let version = any_of(&["2006.07.27", "2008.06.18", "1.1.0", "2003.12.16-post"]);
    let managers = of(prop::collection::vec(manager, 0..4));
    (version, of(setup()), of(specs()), managers).prop_map(|(version, setup, specs, managers)| {
        IometerConfig { version: IometerVersion::parse(version).unwrap(), setup, specs, managers }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn a_configuration_reads_back_as_it_was_written(config in config()) {
        let text = write(&config);
        let reading = read(text.as_bytes()).unwrap();
        prop_assert_eq!(&reading.config, &config);
        prop_assert!(reading.remarks.is_empty());
        prop_assert_eq!(write(&reading.config), text);
    }
}

#[test]
fn a_file_of_iometer_s_own_form_is_written_byte_for_byte_without_its_display() {
    for text in [OF_2006, OF_1_1] {
        let config = read(text.as_bytes()).unwrap().config;
        let again = write(&config).replace("\r\n", "\n");
        if text == OF_2006 {
            let (before, rest) = text.split_once("'RESULTS DISPLAY").unwrap();
            let (_, after) = rest.split_once("'END results display\n").unwrap();
            assert_eq!(again, format!("{before}{after}"));
        }
        assert_eq!(read(again.as_bytes()).unwrap().config, config);
    }
}

/// Comments lie before the first section, where Iometer skips lines of up to 199 characters. A
/// heading that is misspelled is none.
#[test]
fn comments_before_the_first_section_change_nothing() {
    let config = read(OF_1_1.as_bytes()).unwrap().config;
    let comments = ["TEST SETUP".to_owned(), "é ".repeat(300), "x".repeat(1000), String::new()];
    let text = write_with_comments(&config, &comments);
    let before = text.split("\r\n'TEST SETUP").next().unwrap();
    assert!(before.starts_with("Version 1.1.0 \r\n' TEST SETUP\r\n' ? ? "), "{before}");
    assert!(text.lines().all(|line| line.len() < 200), "{text}");
    assert_eq!(read(text.as_bytes()).unwrap().config, config);
    assert!(read(text.replacen("' TEST", "'TESTS", 1).as_bytes()).is_err());
}
