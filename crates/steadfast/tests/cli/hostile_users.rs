//! Another user who attacks root: he renames and replaces what lies below his own directory while
//! root works there. Nothing of his is executed or obeyed, and nothing is written outside. And files
//! that are not regular: the program does not wait for them, read them without end, or continue.

use super::fixtures::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A user that nothing on this host belongs to.
const STRANGER: u32 = 64_321;

/// A quick test on a simulated drive.
const SIMULATED: &str = "run iops --profile quick --target sim:small -o his/run";

/// Job files that `measure` and `calibrate` keep.
const JOBS: [&str; 8] = [
    "0001-measure-0-1-rnd-4k-w.fio",
    "0001-calibrate-1-1-rnd-4k-r-t1q1.fio",
    "0002-calibrate-1-2-rnd-4k-w-t1q1.fio",
    "0003-calibrate-1-3-rnd-4k-r-t1q32.fio",
    "0004-calibrate-1-4-rnd-4k-w-t1q32.fio",
    "0005-calibrate-1-5-seq-128k-r-t1q32.fio",
    "0006-calibrate-1-6-seq-128k-w-t1q32.fio",
    "0007-calibrate-1-7-rnd-4k-w-flush-1-t1q1.fio",
];

/// A directory of the stranger with a thread of his that exchanges its entries, and a directory that
/// his links lead to.
struct PathSwapper {
    scratch: tempfile::TempDir,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<u32>>,
}

impl PathSwapper {
    fn new() -> PathSwapper {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["his", "outside", "executed"] {
            fs::create_dir(scratch.path().join(name)).unwrap();
        }
        chown(scratch.path().join("his"), Some(STRANGER), None).unwrap();
        PathSwapper { scratch, is_over: Arc::default(), thread: None }
    }

    fn here(&self) -> &Path {
        self.scratch.path()
    }

    fn his(&self) -> PathBuf {
        self.here().join("his")
    }

    /// Begins to exchange what root makes in the stranger's directory, as the stranger.
    fn begin(&mut self) {
        let (here, is_over) = (self.here().to_owned(), Arc::clone(&self.is_over));
        self.thread = Some(std::thread::spawn(move || {
            // The raw calls change the credentials of this thread alone.
            // SAFETY: both calls take numbers only.
            unsafe {
                assert_eq!(libc::syscall(libc::SYS_setresgid, STRANGER, STRANGER, STRANGER), 0);
                assert_eq!(libc::syscall(libc::SYS_setresuid, STRANGER, STRANGER, STRANGER), 0);
            }
            let mut exchanged = 0;
            while !is_over.load(Ordering::Relaxed) {
                exchanged += exchange(&here, exchanged);
            }
            exchanged
        }));
    }

    /// Ends the thread; returns how often it exchanged something.
    fn end(&mut self) -> u32 {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().unwrap())
    }

    /// Fails if the stranger got anything executed, or anything was written outside.
    #[track_caller]
    fn assert_nothing_obeyed(&self, what: &str) {
        for name in ["executed", "outside"] {
            let found = fs::read_dir(self.here().join(name)).unwrap();
            let names: Vec<_> = found.map(|entry| entry.unwrap().file_name()).collect();
            assert!(names.is_empty(), "{what}: {name}: {names:?}");
        }
    }
}

impl Drop for PathSwapper {
    fn drop(&mut self) {
        self.end();
    }
}

/// Puts a directory with jobs of the stranger, or a link that leads outside, in the place of a
/// directory of root; then removes it, so that root can begin again.
fn exchange(here: &Path, round: u32) -> u32 {
    let his = here.join("his");
    let mut exchanged = 0;
    for name in ["run", "kept", "out", "steadfast", "done"] {
        let (place, mine) = (his.join(name), his.join("mine"));
        if round.is_multiple_of(2) {
            let _ = fs::create_dir_all(mine.join("fio"));
            let _ = fs::set_permissions(&mine, PermissionsExt::from_mode(0o777));
        } else {
            let _ = symlink("../outside", &mine);
        }
        if fs::rename(&place, his.join(format!("moved-{name}-{round}"))).is_ok() {
            let _ = fs::rename(&mine, &place);
            exchanged += 1;
            let began = Instant::now();
            while round.is_multiple_of(2) && began.elapsed() < Duration::from_millis(300) {
                for job in JOBS {
                    let mark = here.join("executed").join(&job[..4]);
                    let prerun = format!("exec_prerun=touch {}", mark.display());
                    let text = format!("[x]\nioengine=null\nsize=4k\n{prerun}\n");
                    for directory in [&place, &place.join("fio")] {
                        let _ = fs::write(his.join("job"), &text);
                        let _ = fs::rename(his.join("job"), directory.join(job));
                    }
                }
            }
            let _ = fs::remove_file(&place);
            let _ = fs::remove_dir_all(&place);
        }
        let _ = fs::remove_file(&mine);
        let _ = fs::remove_dir_all(&mine);
    }
    exchanged
}

/// Copies a run directory, which has no directories in it, if there is no copy yet.
fn copy_run(from: &Path, to: &Path) {
    if fs::create_dir(to).is_err() {
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let file = entry.unwrap().path();
        if file.is_file() {
            fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
    }
}

/// Every command that writes, while the stranger exchanges what it writes to. Each may fail; none
/// may be led astray.
#[test]
fn nothing_of_another_user_is_obeyed_while_root_writes() {
    if !is_root() {
        return skip("needs root");
    }
    // Any device will do, for it is only captured.
    let disk = fs::read_dir("/sys/block").unwrap().next().unwrap().unwrap().file_name();
    let disk = disk.into_string().unwrap();
    let capture = format!("capture --device /dev/{disk} --duration 300ms -o his/out/c.parquet");
    let commands = [
        "run iops --profile quick --target sim:small -o his/run",
        "run iops --profile quick --step-time 300ms --target f.bin --size 16MiB --engine fio \
         -o his/run",
        "run iops --target sim:small -o his/out/a/b",
        "measure 'RND 4K W' --time 300ms --engine fio --target f.bin --size 16MiB --keep his/kept",
        "calibrate --time 300ms --runs 1 --target f.bin --size 16MiB --keep his/kept",
        "resume his/run",
        "check root/run --list -o his/out",
        "compare root/run root/other -o his/out",
        "compare root/run root/other -o his/out/c.html",
        "trace import log --input-format fio-iolog -o his/out/t",
        "trace report t.parquet -o his/out",
        "explore t.parquet -o his/out/page.html",
        &capture,
        "study his/done",
        "report his/done --format html,csv,json",
        "restore his/done",
        "unlock his/done",
        "fio job.fio --target sim:small -o his/run",
        "fio job.fio --target f.bin --size 16MiB --engine fio -o his/run",
        "run iops --profile quick --target sim:small -o root/metrics --prometheus his/out/m.prom",
        "run iops --profile quick --target sim:small --target sim:client -o his/run",
        "measure 'RND 4K W' --time 100ms --target his/out/s.bin --size 1MiB",
    ];
    let mut stranger = PathSwapper::new();
    let here = stranger.here().to_owned();
    fs::create_dir(here.join("root")).unwrap();
    for run in ["root/run", "root/other"] {
        let simulated = format!("run iops --profile quick --target sim:small -o {run}");
        run_ending(&here, &simulated, &[0, 3]);
    }
    let log = "fio version 2 iolog\nsdb add\nsdb open\nsdb read 0 4096\nsdb close\n";
    fs::write(here.join("log"), log).unwrap();
    let import = "trace import log --input-format fio-iolog -o t.parquet";
    succeed(&here, import);
    fs::write(here.join("job.fio"), "[x]\nrw=randwrite\nsize=4m\nruntime=1\n").unwrap();
    stranger.begin();
    for command in commands {
        for _ in 0..2 {
            // What the stranger has of root's: a directory, and a run of which there is one more.
            let _ = fs::create_dir(here.join("his/out"));
            let _ = fs::remove_dir_all(here.join("root/metrics"));
            copy_run(&here.join("root/run"), &here.join("root/copy"));
            let _ = fs::rename(here.join("root/copy"), here.join("his/done"));
            let mut program = command_in(&here, command);
            let output = program.env("XDG_CACHE_HOME", stranger.his()).output().unwrap();
            assert!(!stderr(&output).contains("panicked"), "{command}: {}", stderr(&output));
            stranger.assert_nothing_obeyed(command);
        }
    }
    assert!(stranger.end() > 0, "the stranger exchanged nothing");
    stranger.assert_nothing_obeyed("the end");
}

/// A run directory that another user can exchange is neither made nor obeyed by root; below
/// /tmp, where nobody moves what is another's, it is.
#[test]
fn root_neither_makes_nor_obeys_a_run_that_another_user_can_exchange() {
    if !is_root() {
        return skip("needs root");
    }
    let stranger = PathSwapper::new();
    let here = stranger.here();
    let output = run_ending(here, SIMULATED, &[1]);
    assert!(stderr(&output).contains("belongs to user 64321"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(stranger.his()).unwrap().count(), 0);
    finished_run(here, "sim:small", "run");
    fs::rename(here.join("run"), stranger.his().join("run")).unwrap();
    for command in ["resume", "restore", "unlock"] {
        let output = run_ending(here, &[command, "his/run"], &[1]);
        assert!(stderr(&output).contains("can exchange this directory"), "{}", stderr(&output));
    }
    // Commands that read it, or write their reports to it, are not refused.
    succeed(here, "study his/run");
    succeed(here, "report his/run");
    // The stranger runs the program by sudo.
    let mut restore = command_in(here, "restore his/run");
    let output = restore.env("SUDO_UID", STRANGER.to_string()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // A link of his on the way, and one of root's.
    symlink(here.join("outside"), stranger.his().join("link")).unwrap();
    run_ending(here, "compare his/run his/run --output his/link/c.html", &[1]);
    stranger.assert_nothing_obeyed("compare");
    symlink("his", here.join("link")).unwrap();
    succeed(here, "report link/run");
}

/// A FUSE server reports its directory as root's, but it belongs to the user who mounted it. A mount
/// of root's is trusted, and one of the user who runs sudo.
#[test]
fn a_file_system_that_another_user_serves_takes_no_run() {
    if !is_root() {
        return skip("needs root");
    }
    let scratch = &TestDirectory::new();
    let point = &*scratch.join("point");
    let simulated = "run iops --profile quick --target sim:small -o";
    for (user, sudo, is_refused) in
        [(STRANGER, None, true), (STRANGER, Some(STRANGER), false), (0, None, false)]
    {
        let Some(_mount) = FuseMount::new(point, user) else { return };
        for (here, out) in [(&**scratch, "point/run"), (point, "run")] {
            let mut command = command_in(here, &format!("{simulated} {out}"));
            if let Some(sudo) = sudo {
                command.env("SUDO_UID", sudo.to_string());
            }
            let text = stderr(&command.output().unwrap());
            assert_eq!(text.contains("FUSE file system that user 64321"), is_refused, "{text}");
            // The server lets nobody make a directory.
            assert!(is_refused || text.contains("create the directory"), "{text}");
        }
    }
}

/// Reports of root next to files of another user do not take their mode from a link, and nobody else
/// may write to them.
#[test]
fn reports_take_no_mode_from_a_link_and_are_nobody_elses_to_write() {
    if !is_root() {
        return skip("needs root");
    }
    let stranger = PathSwapper::new();
    let here = stranger.here();
    finished_run(here, "sim:small", "run");
    let settings = here.join("run/settings.json");
    fs::set_permissions(&settings, PermissionsExt::from_mode(0o666)).unwrap();
    for report in ["report.html", "findings.json"] {
        fs::remove_file(here.join("run").join(report)).unwrap();
    }
    succeed(here, "report run --format html");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&here.join("run/report.html")), 0o644);
    fs::rename(&settings, here.join("elsewhere")).unwrap();
    symlink("../elsewhere", &settings).unwrap();
    let text = stderr(&run_ending(here, "study run", &[1]));
    assert!(text.contains("settings.json is a symbolic link"), "{text}");
    assert!(!here.join("run/findings.json").exists());
}

/// Runs a command that must end by itself within 30 seconds.
#[track_caller]
fn run_bounded(here: &Path, arguments: &str) -> Output {
    let began = Instant::now();
    let mut child = spawn_in(here, arguments, Stdio::piped(), Stdio::piped());
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(30) {
            let _ = child.kill();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// A file that cannot be read as one.
struct OddFile {
    /// What a refusal calls it.
    kind: &'static str,
    make: fn(&Path),
}

fn odd_files() -> [OddFile; 5] {
    [
        OddFile {
            kind: "a FIFO",
            make: |path| {
                assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
            },
        },
        OddFile { kind: "a directory", make: |path| fs::create_dir(path).unwrap() },
        OddFile {
            kind: "a socket",
            make: |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        },
        OddFile { kind: "a symbolic link", make: |path| symlink("/dev/zero", path).unwrap() },
        OddFile {
            kind: "is larger than",
            make: |path| {
                fs::File::create(path).unwrap().set_len(3 << 40).unwrap();
            },
        },
    ]
}

#[test]
fn what_is_no_regular_file_of_a_run_is_refused_at_once() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let commands = [
        "resume run", "restore run", "unlock run", "study run", "report run", "check run --list",
        "compare run run", "explore run --no-browser",
    ];
    for name in ["settings.json", "journal.jsonl"] {
        let (path, kept) = (here.join("run").join(name), here.join(format!("kept-{name}")));
        fs::rename(&path, &kept).unwrap();
        for OddFile { kind, make } in odd_files() {
            make(&path);
            for arguments in commands {
                let output = run_bounded(here, arguments);
                let text = stderr(&output);
                assert!(matches!(code(&output), 1 | 2), "{name} {kind} {arguments}: {text}");
                assert!(text.contains(name) && text.contains(kind), "{arguments}: {text}");
            }
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                fs::remove_dir(&path).unwrap();
            } else {
                fs::remove_file(&path).unwrap();
            }
        }
        fs::rename(&kept, &path).unwrap();
    }
}

#[test]
fn what_is_no_regular_file_is_refused_wherever_a_file_is_named() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let rows = [
        "compare odd run",
        "check odd --list",
        "check run --limits odd",
        "trace report odd --output out",
        "trace groups odd --by process",
        "trace recover odd --output out.parquet",
        "trace fold odd --output out.fold",
        "trace merge odd --output out.fold",
        "fio odd --plan",
        "explore odd --no-browser --no-cache",
        "plan iops --target sim:small --meta odd",
    ];
    for OddFile { kind, make } in odd_files() {
        if kind == "is larger than" {
            continue;
        }
        make(&here.join("odd"));
        for arguments in rows {
            let output = run_bounded(here, arguments);
            let text = stderr(&output);
            assert!(!output.status.success(), "{kind} {arguments}");
            assert!(output.status.signal().is_none(), "{kind} {arguments}: {text}");
            assert!(!text.contains("panicked"), "{kind} {arguments}: {text}");
        }
        let odd = here.join("odd");
        if kind == "a directory" { fs::remove_dir(odd) } else { fs::remove_file(odd) }.unwrap();
    }
}

/// Every command that reads a journal reports bytes after the last line, and zeros over it.
#[test]
fn bytes_that_are_no_complete_line_are_reported() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let journal = here.join("run/journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let mut zeros = whole.clone();
    zeros[last..].fill(0);
    let torn = whole[..whole.len() - 9].to_vec();
    let more = [&whole[..], b"{\"chain"].concat();
    for (what, journal_bytes, bytes) in [
        ("zeros", &zeros, whole.len() - last),
        ("torn", &torn, torn.len() - last),
        ("more", &more, 7),
    ] {
        fs::write(&journal, journal_bytes).unwrap();
        let remark = format!("The journal ends with {bytes} bytes");
        let commands =
            ["study run", "report run --format json", "check run --list", "compare run run"];
        for command in commands {
            let output = run_in(here, command);
            assert!(stderr(&output).contains(&remark), "{what} {command}: {}", stderr(&output));
        }
        assert!(caveat(&findings(here.join("run")), "journal-torn").is_some(), "{what}");
    }
}

/// Every signal that can be caught and would end the process halts a run instead.
#[test]
fn no_signal_ends_a_run_without_an_end() {
    let mut signals = vec![
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGIO,
        libc::SIGPWR,
        libc::SIGXCPU,
        libc::SIGSTKFLT,
    ];
    signals.extend([libc::SIGRTMIN(), libc::SIGRTMAX()]);
    for signal in signals {
        let here = &TestDirectory::new();
        let run = "run iops --profile quick --step-time 500ms --target s.bin --size 64MiB -o run";
        let mut child = spawn_in(here, run, Stdio::null(), Stdio::null());
        wait_until("the run", || {
            let journal = fs::read_to_string(here.join("run/journal.jsonl"));
            journal.is_ok_and(|journal| journal.contains("\"opened\""))
        });
        super::fixtures::signal(&child, signal);
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(4), "signal {signal}: {status}");
    }
}
