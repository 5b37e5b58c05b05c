//! Results of several versions, from fixtures written for these tests.

use super::*;
use crate::testing::mutations::{MUTATIONS, mutated};
use steadfast_domain::Bytes;

const EIGHT: &str = "------\r\nCrystalDiskMark 8.0.4c x64 (C) 2007-2021 hiyohiyo\r\n\
    \x20                 Crystal Dew World: https://crystalmark.info/\r\n------\r\n\
    * MB/s = 1,000,000 bytes/s\r\n\r\n[Read]\r\n\
    \x20 SEQ    1MiB (Q=  8, T= 1):  1000.700 MB/s [    954.3 IOPS] <  8370.11 us>\r\n\
    \x20 RND    4KiB (Q= 32, T=16):   100.070 MB/s [  24431.2 IOPS] <  1304.90 us>\r\n\r\n\
    [Write]\r\n  SEQ    1MiB (Q=  8, T= 1):   700.100 MB/s [    667.7 IOPS] < 11950.00 us>\r\n\r\n\
    [Mix] Read 70%/Write 30%\r\n\
    \x20 RND    4KiB (Q=  1, T= 1):    10.070 MB/s [   2458.5 IOPS] <   405.30 us>\r\n\r\n\
    Profile: Default [+Mix]\r\n   Test: 1 GiB (x5) [D: 0% (0/238GiB)]\r\n\
    \x20  Date: 2021/10/07 10:00:07\r\n     OS: Windows 10 Pro\r\nsome remark\r\n";

const FIVE: &str = "CrystalDiskMark 5.2.1 (UWP) (C) 2007-2017 hiyohiyo\n\
    \x20  Sequential Read (Q= 32,T= 1) :   550.107 MB/s\n\
    \x20 Sequential Write (Q= 32,T= 1) :   500.107 MB/s\n\
    \x20 Random Read 4KiB (Q= 32,T= 1) :   300.107 MB/s [ 73268.3 IOPS]\n\
    \x20        Sequential Read (T= 1) :   510.107 MB/s\n\
    \x20  Test : 1024 MiB [C: 10.0% (10.0/100.0 GiB)] (x5)  [Interval=5 sec]\n";

const THREE: &str = "CrystalDiskMark 3.0.3 x64 (C) 2007-2013 hiyohiyo\n\
    \x20          Sequential Read :   264,498 MB/s\n\
    \x20       Random Write 512KB :   107.000 MB/s\n\
    \x20  Random Read 4KB (QD=32) :   100.700 MB/s [ 24584.9 IOPS]\n";

#[test]
fn version_8_is_read() {
    let saved = read(EIGHT.as_bytes()).unwrap();
    assert_eq!(saved.version.as_deref(), Some("8.0.4c"));
    assert_eq!((saved.mix, saved.tests.len(), saved.facts.len()), (Some(70), 4, 4));
    let random = &saved.tests[1];
    assert_eq!(random.name(), "RND4K Q32T16");
    assert_eq!(
        (random.direction, random.iops, random.micros),
        (DiskMarkDirection::Read, Some(24431.2), Some(1304.9))
    );
    assert_eq!(saved.tests[2].direction, DiskMarkDirection::Write);
    assert_eq!(saved.tests[3].direction, DiskMarkDirection::Mix);
    assert_eq!(saved.not_understood, [(21, "some remark".to_owned())]);
}

const KDISKMARK: &str = "                KDiskMark (3.1.4): https://github.com/x\n\
    \x20           Flexible I/O Tester (fio-3.35): https://github.com/x\n-----\n\
    * MB/s = 1,000,000 bytes/s\n\n[Read]\n\
    Sequential   1 MiB (Q=  8, T= 1):  1024.000 MB/s [   1000.0 IOPS] <  8000.00 us>\n\
    \x20   Random   4 KiB (Q= 32, T= 1):    40.960 MB/s [  10000.0 IOPS] <   320.00 us>\n\
    [Mix] Read 70%/Write 30%\n\
    \x20   Random   4 KiB (Q= 32, T= 1):    40.960 MB/s [  10000.0 IOPS] <   320.00 us>\n\n\
    Profile: Default\n Target: /home/x [Some SSD 1TB]\n";

/// The first line's MB/s are fio's KiB/s through 1000, the second line's are 10^6 bytes.
#[test]
fn rates_of_kdiskmark_are_corrected_where_they_are_wrong() {
    let saved = read(KDISKMARK.as_bytes()).unwrap();
    assert!(saved.is_kdiskmark && saved.corrected);
    assert_eq!(saved.version.as_deref(), Some("3.1.4"));
    let rates: Vec<(String, f64)> = saved.tests.iter().map(|t| (t.name(), t.mb)).collect();
    let expected = [("SEQ1M Q8T1", 1024.0 * 1.024), ("RND4K Q32T1", 40.96)];
    assert_eq!(rates, expected.map(|(name, mb)| (name.to_owned(), mb)), "and no mix");
}

#[test]
fn older_versions_say_the_direction_in_the_line() {
    let saved = read(FIVE.as_bytes()).unwrap();
    let names: Vec<(String, DiskMarkDirection)> =
        saved.tests.iter().map(|test| (test.name(), test.direction)).collect();
    let expected = [
        ("SEQ Q32T1", DiskMarkDirection::Read),
        ("SEQ Q32T1", DiskMarkDirection::Write),
        ("RND4K Q32T1", DiskMarkDirection::Read),
        ("SEQ Q1T1", DiskMarkDirection::Read),
    ];
    assert_eq!(names, expected.map(|(name, direction)| (name.to_owned(), direction)));
    let saved = read(THREE.as_bytes()).unwrap();
    assert_eq!(saved.tests[0].mb, 264.498, "a decimal comma");
    assert_eq!(saved.tests[1].size, Some(Bytes::kib(512)));
    assert_eq!(saved.tests[2].queues, Some(32));
    assert!(saved.not_understood.is_empty());
}

#[test]
fn what_is_written_reads_back_in_every_encoding() {
    let saved = read(EIGHT.as_bytes()).unwrap();
    let text = write(&saved);
    let mut again = read(text.as_bytes()).unwrap();
    again.not_understood.clone_from(&saved.not_understood);
    assert_eq!(again, saved);
    let wide: Vec<u8> = "\u{feff}"
        .chars()
        .chain(text.chars())
        .collect::<String>()
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(read(&wide).unwrap().tests, saved.tests);
}

#[test]
fn findings_have_a_row_for_each_test_and_a_column_for_each_direction() {
    let saved = read(EIGHT.as_bytes()).unwrap();
    let source =
        steadfast_domain::sequence::SequenceSource { name: "old.txt".into(), sha256: "00".into() };
    let found = findings(&saved, &source, "steadfast");
    let steadfast_domain::Exhibit::Table(table) = &found.summary[0] else { panic!() };
    let heads: Vec<&str> = table.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(heads, ["SEQ1M Q8T1", "RND4K Q32T16", "RND4K Q1T1"]);
    assert_eq!(table.columns.len(), 3);
}

#[test]
fn other_files_are_refused() {
    for text in ["", "hello", "CrystalDiskMark 8\n", "CrystalDiskMark\n[Read]\nSEQ: x MB/s\n"] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn no_mutation_makes_it_panic() {
    for bytes in mutated(EIGHT.as_bytes(), 0..MUTATIONS / 2)
        .chain(mutated(FIVE.as_bytes(), 0..MUTATIONS / 2))
    {
        if let Ok(saved) = read(&bytes) {
            let _ = read(write(&saved).as_bytes());
        }
    }
}
