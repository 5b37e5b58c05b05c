use super::*;
use steadfast_domain::{Bytes, Nanos, Transport};

fn run_settings() -> RunSettings {
    RunSettings {
        version: RECORD_VERSION,
        software: "steadfast 0".into(),
        began_unix_ms: 5,
        engine: "sim".into(),
        device: Device {
            path: "sim:small".into(),
            name: "small".into(),
            transport: Transport::Simulated,
            model: None,
            serial: Some("SIM".into()),
            firmware: None,
            wwid: None,
            capacity: Bytes::gib(1),
            logical_sector: 512,
            physical_sector: 4096,
            rotational: None,
            discard: true,
            write_cache: None,
            link: None,
            in_use: Vec::new(),
        },
        settings: Settings::new("iops", 7),
    }
}

/// A ledger of three lines.
fn written() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("run");
    let mut ledger = Ledger::create(&directory, &run_settings()).unwrap();
    for n in 1..=3 {
        ledger.append(n, &Entry::Idled(Nanos(n))).unwrap();
    }
    (scratch, directory)
}

#[test]
fn what_is_appended_is_read_back() {
    let (_scratch, directory) = written();
    let contents = Ledger::read(&directory).unwrap();
    let entries: Vec<_> = contents.lines.iter().map(|l| (l.n, l.entry.clone())).collect();
    assert_eq!(entries, (1..=3).map(|n| (n, Entry::Idled(Nanos(n)))).collect::<Vec<_>>());
    assert_eq!((contents.settings, contents.torn), (run_settings(), 0));
}

/// A crash can leave any prefix of the last line.
#[test]
fn a_torn_last_line_is_dropped_at_every_length() {
    let (_scratch, directory) = written();
    let journal = directory.join(JOURNAL);
    let whole = fs::read(&journal).unwrap();
    let third = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    for length in third..whole.len() {
        fs::write(&journal, &whole[..length]).unwrap();
        let (mut ledger, contents) = Ledger::open(&directory).unwrap();
        assert_eq!(contents.lines.len(), 2, "cut at {length}");
        assert_eq!(contents.torn, (length - third) as u64);
        ledger.append(9, &Entry::Ended).unwrap();
        drop(ledger);
        assert_eq!(Ledger::read(&directory).unwrap().lines.len(), 3);
    }
}

#[test]
fn an_edited_byte_is_noticed_wherever_it_is() {
    let (_scratch, directory) = written();
    let journal = directory.join(JOURNAL);
    let whole = fs::read(&journal).unwrap();
    for index in 0..whole.len() - 1 {
        let mut edited = whole.clone();
        edited[index] ^= 1;
        fs::write(&journal, &edited).unwrap();
        let error = Ledger::read(&directory).unwrap_err();
        assert!(matches!(error, LedgerError::Edited { .. }), "byte {index}: {error}");
    }
    fs::write(&journal, &whole[whole.iter().position(|b| *b == b'\n').unwrap() + 1..]).unwrap();
    assert!(Ledger::read(&directory).is_err(), "a line missing at the beginning");
    fs::write(&journal, &whole).unwrap();
    let settings = directory.join(SETTINGS);
    let text = fs::read_to_string(&settings).unwrap().replace("\"seed\": 7", "\"seed\": 8");
    fs::write(&settings, text).unwrap();
    assert!(Ledger::read(&directory).is_err(), "edited settings");
}

#[test]
fn a_newer_format_an_empty_directory_and_a_second_writer_are_refused() {
    let (_scratch, directory) = written();
    let exists = Ledger::create(&directory, &run_settings()).unwrap_err();
    assert!(matches!(exists, LedgerError::Exists(_)));
    let (_held, _) = Ledger::open(&directory).unwrap();
    assert!(matches!(Ledger::open(&directory).unwrap_err(), LedgerError::Locked(_)));
    let settings = directory.join(SETTINGS);
    let newer = fs::read_to_string(&settings).unwrap().replace("\"version\": 1", "\"version\": 2");
    fs::write(&settings, newer).unwrap();
    assert!(matches!(Ledger::read(&directory).unwrap_err(), LedgerError::Newer { found: 2, .. }));
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(Ledger::read(empty.path()).unwrap_err(), LedgerError::NotARun(_)));
}
