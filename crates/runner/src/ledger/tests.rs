use super::*;
use crate::storage::is_root;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, Device, Nanos, Settings, Transport};

fn plan() -> RunPlan {
    RunPlan::new(
        "steadfast 0",
        5,
        "sim",
        Device {
            name: "small".into(),
            serial: Some("SIM".into()),
            physical_sector: 4096,
            discard: true,
            ..Device::new("sim:small", Transport::Simulated, Bytes::gib(1))
        },
        Settings::new("iops", 7),
    )
}

fn opened() -> JournalEntry {
    JournalEntry::Opened {
        software: "steadfast 0".into(),
        engine: "sim".into(),
        device: Box::new(plan().device),
        host: Box::default(),
        proof: None,
        directory: None,
    }
}

fn ledger_of_three_lines() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("run");
    let mut ledger = Ledger::create(&directory, &plan()).unwrap();
    ledger.append(1, &opened()).unwrap();
    for n in 2..=3 {
        ledger.append(n, &JournalEntry::Idled(Nanos(n))).unwrap();
    }
    (scratch, directory)
}

/// A longer journal or line is refused by the reader.
#[test]
fn lines_beyond_the_limits_are_not_appended() {
    let (idled, halted) = (JournalEntry::Idled(Nanos(7)), JournalEntry::Halted("full".into()));
    for (journal, line, entry, expected) in [
        (0, LINE_MAX, &idled, true),
        (0, LINE_MAX + 1, &idled, false),
        (JOURNAL_MAX - JOURNAL_RESERVE - 100, 100, &idled, true),
        (JOURNAL_MAX - JOURNAL_RESERVE - 100, 101, &idled, false),
        (JOURNAL_MAX - 100, 100, &halted, true),
        (JOURNAL_MAX - 100, 101, &halted, false),
    ] {
        assert_eq!(fits(journal, line, entry), expected, "{journal} + {line}");
    }
    let (_scratch, directory) = ledger_of_three_lines();
    let before = fs::read(directory.join(JOURNAL)).unwrap();
    let (mut ledger, _) = Ledger::open(&directory).unwrap();
    let file = fs::OpenOptions::new().append(true).open(directory.join(JOURNAL)).unwrap();
    ledger.journal = LineFile::new(file, JOURNAL_MAX - JOURNAL_RESERVE, false);
    assert!(matches!(ledger.append(4, &idled), Err(LedgerError::Full { .. })));
    assert_eq!(fs::read(directory.join(JOURNAL)).unwrap(), before);
}

#[test]
fn appended_lines_are_read_back() {
    let (_scratch, directory) = ledger_of_three_lines();
    let contents = Ledger::read(&directory).unwrap();
    let entries: Vec<_> = contents.lines.iter().map(|l| (l.n, l.entry.clone())).collect();
    let expected = [opened(), JournalEntry::Idled(Nanos(2)), JournalEntry::Idled(Nanos(3))];
    assert_eq!(entries, (1..).zip(expected).collect::<Vec<_>>());
    assert_eq!((contents.plan, contents.torn), (plan(), 0));
}

/// `restore` may be called days later, and a resumed run may find nothing left to do.
#[test]
fn a_run_ends_with_its_last_measurement() {
    let (_scratch, directory) = ledger_of_three_lines();
    let (mut ledger, _) = Ledger::open(&directory).unwrap();
    let mut ended = |at, entry| {
        ledger.append(at, &entry).unwrap();
        Ledger::read(&directory).unwrap().into_record().ended_unix_ms
    };
    let restored = || JournalEntry::HostRestored(Default::default());
    assert_eq!(ended(4, JournalEntry::Halted("stopped".into())), 4);
    assert_eq!(ended(80, restored()), 4);
    assert_eq!(ended(90, JournalEntry::Idled(Nanos(7))), 90);
    assert_eq!(ended(91, JournalEntry::Ended), 91);
    assert_eq!(ended(200, restored()), 91);
    assert_eq!(ended(300, opened()), 91);
    assert_eq!(ended(301, JournalEntry::Ended), 91);
    assert_eq!(ended(400, JournalEntry::Idled(Nanos(8))), 400, "with more rounds");
}

/// A crash can leave any prefix of the last line.
#[test]
fn a_torn_last_line_is_dropped_at_every_length() {
    let (_scratch, directory) = ledger_of_three_lines();
    let journal = directory.join(JOURNAL);
    let whole = fs::read(&journal).unwrap();
    let third = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    for length in third..whole.len() {
        fs::write(&journal, &whole[..length]).unwrap();
        let (mut ledger, contents) = Ledger::open(&directory).unwrap();
        assert_eq!(contents.lines.len(), 2, "cut at {length}");
        assert_eq!(contents.torn, (length - third) as u64);
        ledger.append(9, &JournalEntry::Ended).unwrap();
        drop(ledger);
        assert_eq!(Ledger::read(&directory).unwrap().lines.len(), 3);
    }
}

/// A crash can leave the size of the last line without any of its blocks.
#[test]
fn a_last_line_with_an_unwritten_block_is_dropped() {
    let (_scratch, directory) = ledger_of_three_lines();
    let journal = directory.join(JOURNAL);
    let before = fs::metadata(&journal).unwrap().size() as usize;
    let (mut ledger, _) = Ledger::open(&directory).unwrap();
    ledger.append(4, &JournalEntry::Halted("x".repeat(2003))).unwrap();
    drop(ledger);
    let whole = fs::read(&journal).unwrap();
    let torn = |from: usize| {
        let mut torn = whole.clone();
        torn[from.max(before)..(from + SECTOR).min(whole.len())].fill(0);
        torn
    };
    for block in before / SECTOR..whole.len().div_ceil(SECTOR) {
        fs::write(&journal, torn(block * SECTOR)).unwrap();
        let (_, contents) = Ledger::open(&directory).unwrap();
        assert_eq!((contents.lines.len(), contents.torn), (3, (whole.len() - before) as u64));
        assert_eq!(fs::read(&journal).unwrap(), whole[..before]);
    }
    // Any other line was on disk.
    let mut edited = whole.clone();
    edited[..SECTOR].fill(0);
    fs::write(&journal, edited).unwrap();
    assert!(matches!(Ledger::open(&directory).unwrap_err(), LedgerError::Edited { line: 1, .. }));
}

/// Another process did not create the ledger, so it must not remove it.
#[test]
fn a_resumed_ledger_without_lines_is_not_withdrawn() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("run");
    drop(Ledger::create(&directory, &plan()).unwrap());
    Ledger::open_member(Directory::open(&directory).unwrap()).unwrap().0.withdraw();
    assert_eq!(Ledger::read(&directory).unwrap().plan, plan());
}

#[test]
fn a_missing_line_and_edited_settings_are_refused() {
    let (_scratch, directory) = ledger_of_three_lines();
    let journal = directory.join(JOURNAL);
    let whole = fs::read(&journal).unwrap();
    fs::write(&journal, &whole[whole.iter().position(|b| *b == b'\n').unwrap() + 1..]).unwrap();
    assert!(Ledger::read(&directory).is_err(), "a line missing at the beginning");
    fs::write(&journal, &whole).unwrap();
    let settings = directory.join(SETTINGS);
    let text = fs::read_to_string(&settings).unwrap().replace("\"seed\": 7", "\"seed\": 8");
    fs::write(&settings, text).unwrap();
    assert!(Ledger::read(&directory).is_err(), "edited settings");
}

#[test]
fn newer_formats_and_second_writers_are_refused() {
    let (_scratch, directory) = ledger_of_three_lines();
    let exists = Ledger::create(&directory, &plan()).unwrap_err();
    assert!(matches!(exists, LedgerError::Exists(_)));
    let mine = directory.with_file_name("mine");
    fs::write(&mine, "x").unwrap();
    let taken = Ledger::create(&mine, &plan()).unwrap_err().to_string();
    assert!(taken.contains("not a directory") && !taken.contains("resume"), "{taken}");
    fs::remove_file(&mine).unwrap();
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("photo"), "x").unwrap();
    let taken = Ledger::create(&mine, &plan()).unwrap_err().to_string();
    assert!(taken.contains("not a run directory") && !taken.contains("resume"), "{taken}");
    let (_held, _) = Ledger::open(&directory).unwrap();
    assert!(matches!(Ledger::open(&directory).unwrap_err(), LedgerError::Locked(_)));
    let settings = directory.join(SETTINGS);
    let newer = fs::read_to_string(&settings).unwrap().replace("\"version\": 4", "\"version\": 5");
    fs::write(&settings, newer).unwrap();
    assert!(matches!(Ledger::read(&directory).unwrap_err(), LedgerError::Newer { found: 5, .. }));
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(Ledger::read(empty.path()).unwrap_err(), LedgerError::NotARun(_)));
}

/// Two flipped bits in every byte of each file, and each bit of the last byte: without the line
/// feed, the last line would be taken for incomplete, and a finished step would be lost.
#[test]
fn a_flipped_bit_in_any_byte_is_refused() {
    let (_scratch, directory) = ledger_of_three_lines();
    for name in [SETTINGS, JOURNAL] {
        let path = directory.join(name);
        let whole = fs::read(&path).unwrap();
        let two_per_byte =
            (0..whole.len()).flat_map(|byte| [(byte, 0), (byte, 1 + mix64(byte as u64) % 7)]);
        let last_byte = (0..8).map(|bit| (whole.len() - 1, bit));
        for (byte, bit) in two_per_byte.chain(last_byte) {
            let mut flipped = whole.clone();
            flipped[byte] ^= 1 << bit;
            fs::write(&path, &flipped).unwrap();
            let error = Ledger::read(&directory).unwrap_err();
            let is_edited = matches!(error, LedgerError::Edited { .. });
            assert!(is_edited || name == SETTINGS, "byte {byte}, bit {bit}: {error}");
            assert!(Ledger::open(&directory).is_err(), "{name}, byte {byte}, bit {bit}");
            assert_eq!(fs::read(&path).unwrap(), flipped, "left as it was found");
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(Ledger::open(&directory).unwrap().1.lines.len(), 3);
}

/// Settings alone confirm nothing, nor does a journal without a run.
#[test]
fn a_run_that_never_began_is_not_resumed() {
    let (_scratch, directory) = ledger_of_three_lines();
    let journal = directory.join(JOURNAL);
    let whole = fs::read(&journal).unwrap();
    for kept in [&b""[..], &whole[..20]] {
        fs::write(&journal, kept).unwrap();
        let error = Ledger::open(&directory).unwrap_err();
        assert!(matches!(error, LedgerError::NotBegun(_)), "{error}");
        assert_eq!(fs::read(&journal).unwrap(), kept);
    }
    fs::remove_file(&journal).unwrap();
    assert!(matches!(Ledger::open(&directory).unwrap_err(), LedgerError::NotBegun(_)));
    assert!(!journal.exists());
    assert_eq!(Ledger::read(&directory).unwrap().lines.len(), 0, "it can be looked at");
}

#[test]
fn a_deleted_ledger_refuses_lines() {
    for name in [SETTINGS, JOURNAL] {
        let (_scratch, directory) = ledger_of_three_lines();
        let (mut ledger, _) = Ledger::open(&directory).unwrap();
        ledger.append(4, &JournalEntry::Ended).unwrap();
        fs::remove_file(directory.join(name)).unwrap();
        let error = ledger.append(5, &JournalEntry::Ended).unwrap_err();
        assert!(matches!(error, LedgerError::Deleted { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn only_a_new_ledger_is_withdrawn() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("run");
    Ledger::create(&directory, &plan()).unwrap().withdraw();
    assert!(!directory.exists());
    let (_scratch, directory) = ledger_of_three_lines();
    Ledger::open(&directory).unwrap().0.withdraw();
    assert_eq!(Ledger::read(&directory).unwrap().lines.len(), 3);
}

/// Reports a skipped test; the test harness does not capture it.
fn skip(test: &str) {
    io::stderr().write_all(format!("SKIPPED: {test}: needs root\n").as_bytes()).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Settings record who did what, name devices, and hold commands.
#[test]
fn root_trusts_only_its_own_ledgers() {
    if !is_root() {
        return skip("root_trusts_only_its_own_ledgers");
    }
    let (_scratch, directory) = ledger_of_three_lines();
    let [settings, journal] = [SETTINGS, JOURNAL].map(|name| directory.join(name));
    assert_eq!([&directory, &settings, &journal].map(|p| mode(p)), [0o700, 0o600, 0o600]);
    for path in [&directory, &settings, &journal] {
        let before = mode(path);
        fs::set_permissions(path, fs::Permissions::from_mode(before | 0o020)).unwrap();
        let error = Ledger::open(&directory).unwrap_err();
        assert!(matches!(&error, LedgerError::Foreign { path: p, .. } if p == path), "{error}");
        fs::set_permissions(path, fs::Permissions::from_mode(before)).unwrap();
        chown(path, Some(65534), None).unwrap();
        let error = Ledger::open(&directory).unwrap_err();
        assert!(error.to_string().contains("belongs to user 65534"), "{error}");
        chown(path, Some(0), None).unwrap();
    }
    assert!(Ledger::open(&directory).is_ok());
    let shared = directory.join("shared");
    Ledger::create_for(ReadAccess::Group(65534), &shared, &plan()).unwrap();
    assert_eq!((mode(&shared), mode(&shared.join(SETTINGS))), (0o750, 0o640));
    assert_eq!(fs::metadata(shared.join(JOURNAL)).unwrap().gid(), 65534);
}

/// If two runs begin in one directory at once, one gets it, and the other removes nothing.
#[test]
fn one_of_two_concurrent_creators_gets_the_directory() {
    let scratch = tempfile::tempdir().unwrap();
    for round in 0..200 {
        let directory = scratch.path().join(format!("run-{round}"));
        fs::create_dir(&directory).unwrap();
        let start = std::sync::Barrier::new(2);
        let begun: Vec<_> = std::thread::scope(|scope| {
            let begin = || {
                start.wait();
                Ledger::create(&directory, &plan())
            };
            let both = [scope.spawn(begin), scope.spawn(begin)];
            both.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let mut won = begun.into_iter().filter_map(Result::ok);
        let mut ledger = won.next().expect("one has it");
        assert!(won.next().is_none());
        ledger.append(1, &opened()).unwrap();
        assert_eq!(Ledger::read(&directory).unwrap().lines.len(), 1);
    }
}

/// The directory that was checked is the one that is obeyed, even if the path leads elsewhere a
/// moment later.
#[test]
fn a_directory_exchanged_during_opening_is_not_trusted() {
    if !is_root() {
        return skip("a_directory_exchanged_during_opening_is_not_trusted");
    }
    let (scratch, ours) = ledger_of_three_lines();
    let foreign = scratch.path().join("foreign");
    let foreign_plan = RunPlan { began_unix_ms: 666, ..plan() };
    let mut ledger = Ledger::create(&foreign, &foreign_plan).unwrap();
    ledger.append(1, &opened()).unwrap();
    drop(ledger);
    for name in [SETTINGS, JOURNAL] {
        chown(foreign.join(name), Some(65_534), None).unwrap();
    }
    let link = scratch.path().join("link");
    symlink(&ours, &link).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let next = scratch.path().join("next");
            for place in [&foreign, &ours].into_iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                symlink(place, &next).unwrap();
                fs::rename(&next, &link).unwrap();
            }
        });
        for _ in 0..2000 {
            if let Ok((_, contents)) = Ledger::open(&link) {
                assert_ne!(contents.plan.began_unix_ms, 666, "another user's settings");
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
