//! Parsing of configurations, and refusals.

use super::corpus::{OF_1_1, OF_2006};
use crate::iometer::config::*;
use crate::iometer::version::Dialect;
use crate::iometer::{ParsedConfig, read};

fn reading(text: &str) -> ParsedConfig {
    read(text.as_bytes()).unwrap()
}

fn refused(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn every_section_of_2006_is_read() {
    let ParsedConfig { config, remarks } = reading(OF_2006);
    assert_eq!(remarks, []);
    let setup = config.setup.clone().unwrap();
    assert_eq!(setup.description.as_deref(), Some("Four corners"));
    assert_eq!(setup.run_time.unwrap().as_secs(), 97);
    assert_eq!((setup.ramp_s, setup.test_type), (Some(11), Some(TestType::Normal)));
    assert_eq!(setup.disk_workers, Some(WorkerCount::Processors));
    assert_eq!(setup.depth_cycling.unwrap().end, 32);
    let mixed = config.spec("mixed sizes").unwrap();
    assert_eq!((mixed.lines.len(), mixed.assignment), (2, Assignment::Nobody));
    let row = mixed.lines[1];
    assert_eq!((row.size, row.of_size, row.reads, row.random), (65536, 40, 50, 25));
    assert_eq!((row.delay_ms, row.burst, row.align, row.reply), (13, 8, 4096, 0));
    assert_eq!((mixed.line.0, row.line.0), (44, 47));
    let manager = &config.managers.clone().unwrap()[0];
    assert_eq!(manager.address.as_deref(), Some("192.0.2.7"));
    let disk = manager.workers[0].defaults.clone().unwrap();
    assert_eq!(disk.outstanding.unwrap().ios, 16);
    assert_eq!(disk.disk, Some(DiskArea { sectors: 2048, start: 101, pattern: None }));
    assert_eq!(manager.workers[1].kind, WorkerKind::Network("TCP".into()));
    let elm = ManagerName { id: 1, name: "ELM".into() };
    assert_eq!(manager.workers[1].targets.as_ref().unwrap()[0].manager, Some(elm));
}

#[test]
fn what_1_1_0_has_more_is_read() {
    let ParsedConfig { config, remarks } = reading(OF_1_1);
    assert_eq!((config.version.dialect(), remarks.len()), (Dialect::V1_1, 0));
    let manager = &config.managers.clone().unwrap()[0];
    assert_eq!(manager.address.as_deref(), Some(""));
    let defaults = manager.workers[0].defaults.clone().unwrap();
    assert_eq!(defaults.disk.unwrap().pattern, Some(2));
    let seed = FixedSeed { used: true, value: 10_007 };
    assert_eq!(defaults.outstanding.unwrap().fixed_seed, Some(seed));
}

#[test]
fn line_ends_marks_blanks_and_cases_do_not_matter() {
    let plain = reading(OF_2006).config;
    let crlf = OF_2006.replace('\n', "\r\n");
    let blanks = OF_2006.replace('\n', "  \t\n");
    let spread = OF_2006.replace("'END", "\n\n'END").replace("\n'Worker\n", "\n \n'Worker\n");
    let lower: String = OF_2006
        .lines()
        .map(|line| if line.starts_with('\'') { line.to_lowercase() } else { line.to_owned() } + "\n")
        .collect();
    let upper = lower.replace("'worker type", "'WORKER Type").replace("'end ", "'END ");
    let mut wide = vec![0xff, 0xfe];
    wide.extend(OF_2006.encode_utf16().flat_map(u16::to_le_bytes));
    let tight = OF_2006.replace("manager ID, manager name", "manager ID,manager name");
    for text in [crlf, blanks, spread, lower, upper, format!("\u{feff}{OF_2006}"), tight] {
        assert_eq!(reading(&text).config, plain);
    }
    assert_eq!(read(&wide).unwrap().config, plain);
}

#[test]
fn missing_sections_are_missing_and_nothing_is_made_up() {
    let config = reading("Version 2006.07.27\nVersion 2006.07.27\n").config;
    assert_eq!(
        config,
        IometerConfig { version: config.version.clone(), setup: None, specs: None, managers: None }
    );
    let unfinished = reading("Version 1.1.0\n'TEST SETUP ===\n'END test setup\n");
    assert_eq!(unfinished.config.setup, Some(TestSetup::default()));
    assert!(unfinished.remarks[0].text.contains("version at the end is missing"));
    let stripped = OF_1_1.replace("'Test Description\n\t\n", "'Test Description\n");
    assert_eq!(reading(&stripped).config.setup.unwrap().description.as_deref(), Some(""));
}

#[test]
fn what_is_not_understood_is_named_with_its_line() {
    let with = |from: &str, to: &str| refused(&OF_2006.replacen(from, to, 1));
    let cases = [
        (with("'Disk Cycling", "'Target Cycling"), "line 19: 'Target Cycling' is not a key"),
        (with("'Worker type", "'Worker color"), "'Worker color' is not a key of a worker"),
        (with("4096,60,", "4096,50,"), "add up to 90 %"),
        (with("4096,60,67", "4096,60,107"), "% reads is more than 100"),
        (with("\t65536,40", "\t0,40"), "sizes are from 1 byte to 1 GiB"),
        (with("13,8,4096", "13,0,4096"), "at least one I/O"),
        (with("65536,40,50", "65536,-40,50"), "% of size is not a whole number"),
        (with("16,DISABLED", "0,DISABLED"), "at least one I/O is outstanding"),
        (with("16,DISABLED", "16,MAYBE"), "neither ENABLED nor DISABLED"),
        (with("\tNORMAL", "\tSOMETIMES"), "'SOMETIMES': unknown; use one of NORMAL"),
        (with("\tDISK", "\tTAPE"), "'TAPE': the type is DISK"),
        (with("Version 2006.07.27", "Version 1997.01.01"), "older than the oldest"),
        (with("Version 2006.07.27", "[global]"), "line 1: this is not an Iometer"),
        (with("0          1          37", "97 s"), "a run time is three numbers"),
        (with("'MANAGER LIST", "'MANGLER LIST"), "not a section"),
        (with("1          32         2 ", "0          32         2 "), "at least 1"),
        (with("'End worker", "'End walker"), "'End walker' is not a key"),
    ];
    for (why, part) in cases {
        assert!(why.contains(part), "{why}: {part}");
        assert!(why.starts_with("line "), "{why}");
    }
    assert!(refused("").contains("the file is empty"));
    let (cut, _) = OF_2006.split_once("'Bar chart 2").unwrap();
    assert!(refused(cut).contains("the file ends inside RESULTS DISPLAY"), "{}", refused(cut));
    assert!(refused(&format!("{OF_2006}more\n")).contains("after the version"));
}

#[test]
fn files_of_before_names_are_read_and_their_managers_named() {
    let old = "Version 3.26.97\n'ACCESS SPECIFICATIONS\n'size of reads random delay burst\n\
        2048 100 67 100 0 1\n512 50 100 0 0 1\n4096 50 0 0 0 1\n2048 100 67 100 0 1\n\
        'End access specifications\n";
    let config = reading(old).config;
    let names: Vec<&str> = config.specs.iter().flatten().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["2048 bytes random 67% reads", "Untitled", "2048 bytes random 67% reads 2"]);
    assert!(config.specs.iter().flatten().all(|spec| spec.assignment == Assignment::All));
    let short = "Version 1998.02.01\n'ACCESS SPECIFICATIONS\n'rows\n512 50 1 1 0 1\n";
    assert!(refused(short).contains("line 4: the shares"), "{}", refused(short));
}

/// Files of old versions in the form of new ones, as Iometer 1.1.0 loads them.
#[test]
fn the_keys_tell_the_form_of_a_file_and_not_its_version() {
    for version in ["1998.10.08", "1998.02.01"] {
        let old = OF_2006.replace("2006.07.27", version);
        let (old, new) = (reading(&old).config, reading(OF_2006).config);
        assert_eq!((old.specs, old.managers), (new.specs, new.managers), "{version}");
    }
}

#[test]
fn a_doubled_end_of_a_target_is_ignored_with_a_remark() {
    let doubled = OF_2006.replacen("'End target\n", "'End target\n'End target\n", 1);
    assert_ne!(doubled, OF_2006);
    let ParsedConfig { config, remarks } = reading(&doubled);
    let targets = |config: IometerConfig| {
        config.managers.map(|managers| {
            let workers = managers.into_iter().flat_map(|manager| manager.workers);
            workers
                .flat_map(|worker| worker.targets.unwrap_or_default())
                .map(|t| t.name)
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(targets(config), targets(reading(OF_2006).config));
    assert!(remarks.iter().any(|remark| remark.text.contains("'End target")), "{remarks:?}");
}

#[test]
fn a_second_specification_of_a_name_replaces_the_first() {
    let twice = OF_2006.replace("\tmixed sizes,NONE", "\tread big,NONE");
    let ParsedConfig { config, remarks } = reading(&twice);
    assert_eq!(config.specs.unwrap().len(), 1);
    assert!(remarks[0].text.contains("replaces the one of line"));
}
