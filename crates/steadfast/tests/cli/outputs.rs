//! Files that the program writes: nobody's file is lost, nobody else can read them, and no text in
//! them acts on the reader's terminal.

use super::fixtures::*;
use super::synthetic_captures::{sized_device, write_trace};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use steadfast_domain::io_event::{CapturedDevice, Mark};
use steadfast_domain::{Bytes, CaptureConditions, IoEvent};
use steadfast_tracefile::Trace;

/// A process that clears the screen and rings, a device that changes the window title, a mark that
/// reverses the text after it.
const NAME: &str = "=\x1b[2J\x07evil";
const DEVICE: &str = "sd\x1b]0;x\x07\u{9b}31m";
const MARK: &str = "a\u{202e}b\nsteadfast: all is well";

/// A second of reads.
fn write_sample(path: &Path) {
    let conditions = CaptureConditions {
        devices: vec![CapturedDevice {
            model: Some(DEVICE.into()),
            serial: Some(DEVICE.into()),
            ..sized_device(DEVICE, Bytes::gib(1))
        }],
        marks: vec![Mark { at_ns: 500_000_000, name: MARK.into() }],
        remarks: vec![format!("Seen: {MARK}")],
        lost: 3,
        ..CaptureConditions::default()
    };
    let reads = (0..1_000).map(|n| IoEvent {
        issued_ns: n * 1_000_000,
        response_ns: 80_000,
        offset: n * 4096,
        bytes: 4096,
        depth: 1,
        pid: 100,
        command: steadfast_domain::io_event::CommandName::new(NAME),
        ..IoEvent::default()
    });
    write_trace(path, conditions, &reads.collect::<Vec<_>>());
}

fn write_iolog(path: &Path) {
    let log = "fio version 2 iolog\nsdb add\nsdb open\nsdb read 0 4096\nsdb close\n";
    fs::write(path, log).unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// Both begin before either has the name; the second fails and leaves the first one's file alone.
#[test]
fn of_two_imports_to_one_name_one_wins_whole() {
    let here = &TestDirectory::new();
    write_iolog(&here.join("log"));
    assert!(Command::new("mkfifo").arg(here.join("fifo")).status().unwrap().success());
    let import = |from: &str| {
        let mut command = steadfast();
        command.current_dir(here).args(["trace", "import", from, "-o", "t.parquet"]);
        command
    };
    let late = import("fifo").stderr(Stdio::piped()).spawn().unwrap();
    // Opens only once the other reads from it, and so has looked for the name already.
    let mut fifo = File::options().write(true).open(here.join("fifo")).unwrap();
    assert!(import("log").output().unwrap().status.success());
    let winner = fs::read(here.join("t.parquet")).unwrap();
    fifo.write_all(&fs::read(here.join("log")).unwrap()).unwrap();
    drop(fifo);
    let output = late.wait_with_output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("t.parquet exists; --force"), "{}", stderr(&output));
    assert_eq!(fs::read(here.join("t.parquet")).unwrap(), winner);
    assert_eq!(names(here), ["fifo", "log", "t.parquet"]);
}

/// Runs the program, which must refuse and leave the directory as it is.
#[track_caller]
fn refuse_and_leave(here: &Path, command: &str, parts: &[&str]) {
    let before = names(here);
    refuse(here, command, parts);
    assert_eq!(names(here), before, "{command}");
}

#[test]
fn no_output_replaces_anything_unless_it_is_told_to() {
    let here = &TestDirectory::new();
    write_sample(&here.join("t.parquet"));
    write_iolog(&here.join("log"));
    fs::write(here.join("findings.json"), "{}").unwrap();
    symlink(here.join("nowhere"), here.join("dangling")).unwrap();
    symlink(here.join("precious"), here.join("link")).unwrap();
    assert!(Command::new("mkfifo").arg(here.join("fifo")).status().unwrap().success());
    let commands = [
        "trace import log -o",
        "trace recover t.parquet -o",
        "workload derive t.parquet -o",
        "workload derive t.parquet --replay-representation",
    ];
    // The output is checked before the work: these runs hold nothing.
    let compare = "compare findings.json findings.json -o";
    let check = "check findings.json --limits limits.toml -o";
    let report = "trace report t.parquet -o reports --format";
    let limits = "[[limit]]\ntable='iops'\nrow='4'\ncolumn='100/0'\nmin=1\n";
    fs::write(here.join("limits.toml"), limits).unwrap();
    fs::write(here.join("precious"), "precious").unwrap();
    fs::write(here.join("precious.json"), "precious").unwrap();
    for command in commands {
        refuse_and_leave(here, &format!("{command} precious"), &["precious exists; --force"]);
        for (name, kind) in
            [("dangling", "symbolic link"), ("link", "symbolic link"), ("fifo", "FIFO")]
        {
            refuse_and_leave(here, &format!("{command} {name}"), &[name, kind]);
            refuse_and_leave(here, &format!("{command} {name} --force"), &[name, kind]);
        }
    }
    let onto_file = format!("{compare} precious.json");
    refuse_and_leave(here, &onto_file, &["precious.json exists; --force"]);
    fs::create_dir(here.join("reports")).unwrap();
    for name in ["compare.pdf", "check.html", "report.pdf", "streams.csv"] {
        fs::write(here.join("reports").join(name), "precious").unwrap();
    }
    for (command, value, name) in [
        (compare, "reports", "compare.pdf"),
        (check, "reports", "check.html"),
        (report, "html,pdf", "report.pdf"),
        (report, "html,csv", "streams.csv"),
    ] {
        refuse_and_leave(here, &format!("{command} {value}"), &[name, "exists; --force"]);
    }
    let kept = ["check.html", "compare.pdf", "report.pdf", "streams.csv"];
    assert_eq!(names(&here.join("reports")), kept);
    for path in ["precious", "precious.json", "reports/report.pdf", "reports/streams.csv"] {
        assert_eq!(fs::read(here.join(path)).unwrap(), b"precious", "{path}");
    }
    assert!(!here.join("nowhere").exists());
    succeed(here, &format!("{report} html,csv --force"));
    assert!(fs::read(here.join("reports/streams.csv")).unwrap().starts_with(b"I/O stream"));
    for command in commands {
        fs::write(here.join("precious"), "precious").unwrap();
        succeed(here, &format!("{command} precious --force"));
        assert_ne!(fs::read(here.join("precious")).unwrap(), b"precious", "{command}");
    }
    let text = succeed(here, "workload derive t.parquet -o /dev/stdout");
    assert!(text.contains("[[stream]]"), "{text}");
    refuse(here, "workload derive t.parquet -o /dev/null --force", &["a device"]);
}

/// Reports in a run directory are written again under their own names; no other command writes
/// there, and no link leads out of it.
#[test]
fn a_run_directory_takes_its_own_reports_only() {
    let here = &TestDirectory::new();
    write_sample(&here.join("t.parquet"));
    finished_run(here, "sim:small", "run");
    let before = contents(&here.join("run"));
    let own = "run directory";
    for force in ["", "--force"] {
        let report = format!("trace report t.parquet -o run --format html {force}");
        refuse(here, &report, &["run", own]);
        refuse(here, &format!("compare run run -o run {force}"), &["run", own]);
    }
    assert!(contents(&here.join("run")) == before, "a byte of the run changed");
    fs::write(here.join("precious"), "precious").unwrap();
    for name in [".report.html.unfinished", ".findings.json.unfinished"] {
        symlink(here.join("precious"), here.join("run").join(name)).unwrap();
    }
    succeed(here, "study run");
    succeed(here, "report run --format html,json");
    fs::remove_file(here.join("run/report.html")).unwrap();
    symlink(here.join("precious"), here.join("run/report.html")).unwrap();
    refuse(here, "report run --format html", &["report.html", "symbolic link"]);
    assert_eq!(fs::read(here.join("precious")).unwrap(), b"precious");
    // Whoever may read the settings may read the reports.
    fs::set_permissions(here.join("run/settings.json"), PermissionsExt::from_mode(0o640)).unwrap();
    succeed(here, "study run");
    assert_eq!(mode(&here.join("run/findings.json")), 0o640);
}

#[test]
fn what_root_writes_is_for_root_or_a_group() {
    if !is_root() {
        return skip("needs root");
    }
    let here = &TestDirectory::new();
    write_sample(&here.join("t.parquet"));
    write_iolog(&here.join("log"));
    let succeed_under_umask_0 = |arguments: &str| {
        let mut command = Command::new("sh");
        command.current_dir(here).args(["-c", "umask 0; exec \"$0\" \"$@\""]);
        command.arg(steadfast().get_program()).args(arguments.words());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", stderr(&output));
    };
    succeed_under_umask_0("trace import log -o log.parquet");
    succeed_under_umask_0("trace recover t.parquet -o again.parquet");
    succeed_under_umask_0("trace report t.parquet -o r --format html,csv");
    succeed_under_umask_0("workload derive t.parquet -o w.toml --replay-representation steps.txt");
    for name in
        ["log.parquet", "again.parquet", "r/report.html", "r/streams.csv", "w.toml", "steps.txt"]
    {
        assert_eq!(mode(&here.join(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&here.join("r")), 0o700);
    succeed_under_umask_0("trace import log -o shared.parquet --group daemon");
    succeed_under_umask_0("trace report t.parquet -o s --format html --group daemon");
    let daemon = Command::new("getent").args(["group", "daemon"]).output().unwrap();
    let daemon = stdout(&daemon).split(':').nth(2).unwrap().parse::<u32>().unwrap();
    for (name, expected) in [("shared.parquet", 0o640), ("s", 0o750), ("s/report.html", 0o640)] {
        assert_eq!(mode(&here.join(name)), expected, "{name}");
        assert_eq!(fs::metadata(here.join(name)).unwrap().gid(), daemon, "{name}");
    }
    let unknown = "trace import log -o x.parquet --group no-such-group";
    refuse_and_leave(here, unknown, &["no-such-group"]);
}

/// Returns the characters that a terminal acts on, other than line ends.
fn terminal_controls(text: &str) -> Vec<char> {
    text.chars().filter(|c| steadfast_domain::text::affects_terminal(*c) && *c != '\n').collect()
}

#[test]
fn names_from_outside_act_on_nothing() {
    let here = &TestDirectory::new();
    let hostile = "t\x1b[2J\nsteadfast: all is well";
    write_sample(&here.join(hostile));
    let runs: [&[&str]; 10] = [
        &["trace", "processes", hostile],
        &["trace", "processes", hostile, "--json"],
        &["trace", "streams", hostile],
        &["trace", "hits", hostile],
        &["trace", "compare", hostile, "--json"],
        &["trace", "compare", hostile],
        &["trace", "report", hostile, "-o", "r", "--format", "html,csv,json,text"],
        &["workload", "derive", hostile, "--pid", NAME],
        &["trace", "streams", hostile, "--event", "\x1b[2J"],
        &["trace", "streams", "missing\x1b]0;x\x07"],
    ];
    for arguments in runs {
        let output = run_in(here, arguments);
        let text = stdout(&output) + &stderr(&output);
        assert_eq!(terminal_controls(&text), [' '; 0], "{arguments:?}: {text:?}");
        let is_forged = text.lines().any(|line| line.starts_with("steadfast: all"));
        assert!(!is_forged, "{arguments:?}: {text}");
    }
    let processes = succeed(here, &["trace", "processes", hostile]);
    assert!(processes.contains("=\\x1b[2J\\x07evil (100)"), "{processes}");
    let json = succeed_json(here, &["trace", "processes", hostile, "--json"]);
    assert_eq!(json["processes"][0]["command"], NAME, "JSON means what was");
    for name in names(&here.join("r")).iter().filter(|name| name.ends_with(".csv")) {
        let table = fs::read_to_string(here.join("r").join(name)).unwrap();
        assert_eq!(terminal_controls(&table.replace("\r\n", "\n")), [' '; 0], "{name}");
        let cells = table.split(['\n', ',']).map(|cell| cell.trim_start_matches('"'));
        assert!(!cells.into_iter().any(|cell| cell.starts_with('=')), "{name}: {table}");
    }
    let page = fs::read_to_string(here.join("r/report.html")).unwrap();
    assert_eq!(terminal_controls(&page.replace('\t', " ")), [' '; 0]);
}

/// With an empty path, or `.` in it, a program in the working directory is not run in place of a
/// tool.
#[test]
fn no_tool_is_taken_from_where_we_are() {
    let Some(device) = LoopDevice::new(16) else { return };
    let here = &TestDirectory::new();
    for tool in ["wipefs", "smartctl", "nvme", "systemctl", "fio", "systemd-inhibit"] {
        let script = format!("#!/bin/sh\n/usr/bin/touch {}/ran-$0\n", here.display());
        fs::write(here.join(tool), script).unwrap();
        fs::set_permissions(here.join(tool), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let open = here.join("open");
    fs::create_dir(&open).unwrap();
    fs::copy(here.join("smartctl"), open.join("smartctl")).unwrap();
    fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    let before = names(here);
    for path in ["", ".:bin::/usr/bin", open.to_str().unwrap()] {
        for command in [
            "measure 'RND 4K W' --target",
            "measure 'RND 4K R' --engine fio --ios 9 --target",
            "doctor",
        ] {
            let command = format!("{command} {}", device.path);
            command_in(here, &command).env("PATH", path).output().unwrap();
        }
        assert_eq!(names(here), before, "PATH={path}");
    }
}

/// Runs a script as root with a `/run` of its own; `$S` is the program.
fn in_own_run(here: &Path, device: &LoopDevice, script: &str) -> Output {
    let whole = format!(
        "set -u; mount -t tmpfs none /run || exit 99; umask 0\n\
         capture=; trap '[ -z \"$capture\" ] || kill -KILL $capture' EXIT\n\
         finish() {{ kill -$1 $capture; wait $capture; status=$?; capture=; return $status; }}\n\
         begin() {{\n\
         \"$S\" capture --device \"$D\" -o \"$1\" 2>\"$1.err\" & capture=$!\n\
         for _ in $(seq 200); do\n\
         grep -q 'Ctrl-C ends it' \"$1.err\" && [ -e \"$1\" ] && return\n\
         ! grep '^steadfast:' \"$1.err\" >&2 || exit 98\n\
         sleep 0.1\n\
         done; exit 97; }}\n{script}"
    );
    Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &whole])
        .current_dir(here)
        .env("S", steadfast().get_program())
        .env("D", &device.path)
        .output()
        .unwrap()
}

/// Returns false and prints the reason if a script cannot do what it needs on this machine.
fn could_run(output: &Output) -> bool {
    let is_impossible = matches!(code(output), 97..=99);
    if is_impossible {
        skip(stderr(output).trim());
    }
    !is_impossible
}

/// Under any umask the files of marks are root's alone; a `mark` in another PID namespace reaches the
/// capture and takes nothing away; no mark reaches a capture that was killed.
#[test]
fn marks_reach_those_that_live_and_nobody_else_reads_them() {
    let Some(device) = LoopDevice::new(16) else { return };
    let here = &TestDirectory::new();
    let script = "begin t.parquet\n\
        stat -c %a /run/steadfast /run/steadfast/captures /run/steadfast/captures/* t.parquet\n\
        unshare --pid --fork --mount-proc \"$S\" mark inside\n\
        \"$S\" mark outside\n\
        touch /run/steadfast/captures/1-0\n\
        \"$S\" mark third --capture t.parquet\n\
        \"$S\" mark fourth --capture other.parquet; echo $?\n\
        \"$S\" mark ''; echo $?\n\
        sleep 0.3; finish INT || exit 1\n\
        ls -A /run/steadfast/captures\n\
        begin killed.parquet; finish KILL\n\
        \"$S\" mark late; echo $?; ls -A /run/steadfast/captures\n";
    let output = in_own_run(here, &device, script);
    if !could_run(&output) {
        return;
    }
    let text = stdout(&output);
    let trace = here.join("t.parquet");
    let marked = |name: &str| format!("marked '{name}' in {}", trace.display());
    let mut lines = ["700", "700", "600", "600"].map(str::to_owned).to_vec();
    lines.extend(["inside", "outside", "third"].map(marked));
    lines.extend(["1", "2", "1"].map(str::to_owned));
    assert_eq!(text.lines().collect::<Vec<_>>(), lines, "{}", stderr(&output));
    assert_contains(&stderr(&output), &["no capture is running", "other.parquet", "is empty"]);
    let trace = Trace::open(File::open(here.join("t.parquet")).unwrap()).unwrap();
    let marks: Vec<_> = trace.conditions().marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(marks, ["inside", "outside", "third"]);
}

/// A directory for marks that another user prepared is refused, and what its links lead to keeps
/// every byte.
#[test]
fn a_prepared_place_for_marks_is_refused() {
    let Some(device) = LoopDevice::new(16) else { return };
    let here = &TestDirectory::new();
    fs::write(here.join("precious"), "precious").unwrap();
    fs::create_dir(here.join("his")).unwrap();
    for (prepare, why) in [
        ("ln -s $PWD/his /run/steadfast", "is not a directory"),
        (
            "mkdir -m 700 /run/steadfast; ln -s $PWD/his /run/steadfast/captures",
            "is not a directory",
        ),
        ("mkdir -m 777 /run/steadfast", "written to by others"),
        ("mkdir -m 700 /run/steadfast; chown nobody /run/steadfast", "belongs to another user"),
        (
            "mkdir -p /run/steadfast/captures; for n in $(seq $$ $(($$ + 50))); do \
             ln -s $PWD/precious /run/steadfast/captures/$n; done",
            "written to by others",
        ),
    ] {
        let capture = "\"$S\" capture --device \"$D\" --duration 100ms -o t.parquet";
        let script = format!("{prepare}\n\"$S\" mark x; {capture} && echo captured");
        let output = in_own_run(here, &device, &script);
        let messages = stderr(&output);
        if code(&output) == 99 {
            return skip(messages.trim());
        }
        assert_eq!(messages.matches(why).count(), 2, "{prepare}: {messages}");
        assert!(stdout(&output).is_empty(), "{prepare}");
        assert!(!here.join("t.parquet").exists(), "{prepare}");
    }
    assert_eq!(fs::read(here.join("precious")).unwrap(), b"precious");
    assert_eq!(names(&here.join("his")), [""; 0]);
}

/// A capture whose name was given to another file ends without touching that file.
#[test]
fn a_capture_leaves_another_file_of_its_name_alone() {
    let Some(device) = LoopDevice::new(16) else { return };
    let here = &TestDirectory::new();
    let script = "begin t.parquet; mv t.parquet moved.parquet; echo precious > t.parquet\n\
        finish INT\n\
        \"$S\" capture --device \"$D\" -o t.parquet --duration 100ms && exit 1\n\
        ln -s $PWD/nowhere link.parquet\n\
        \"$S\" capture --device \"$D\" -o link.parquet --duration 100ms --force && exit 1\n\
        cat t.parquet\n\
        \"$S\" capture --device \"$D\" -o t.parquet --duration 100ms --force --group daemon\n\
        stat -c '%a %G' t.parquet";
    let output = in_own_run(here, &device, script);
    if !could_run(&output) {
        return;
    }
    assert_eq!(stdout(&output), "precious\n640 daemon\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("t.parquet exists; --force"), "{}", stderr(&output));
    assert!(!here.join("nowhere").exists());
    for name in ["t.parquet", "moved.parquet"] {
        Trace::open(File::open(here.join(name)).unwrap()).unwrap();
    }
}

/// Every file of a directory with its content.
fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let content = fs::read(directory.join(&name)).unwrap_or_default();
        (name, content)
    };
    names(directory).into_iter().map(read).collect()
}

#[test]
fn no_output_goes_into_a_run_directory() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    finished_run(here, "sim:small", "v2");
    fs::create_dir(here.join("v2/sub")).unwrap();
    symlink("v2", here.join("link")).unwrap();
    write_sample(&here.join("t.parquet"));
    write_iolog(&here.join("log"));
    let before = contents(&here.join("v2"));
    let outputs = [
        "v2/settings.json", "v2/findings.json", "link/settings.json", "v2/sub/../settings.json",
        "v2/new.json", "v2/sub/new.json",
    ];
    for output in outputs {
        for command in ["compare run v2", "trend run v2"] {
            refuse(here, &format!("{command} -o {output} --force"), &["run directory"]);
        }
        let commands = [
            "trace import log", "trace fold t.parquet", "trace export t.parquet",
            "workload derive t.parquet", "trace recover t.parquet",
        ];
        for command in commands {
            let line = format!("{command} -o {output} --force");
            let output = run_in(here, line.as_str());
            assert_ne!(code(&output), 0, "{line}");
        }
    }
    for output in ["v2", "v2/sub", "v2/sub/new/deeper"] {
        let line = format!("trace report t.parquet -o {output} --force");
        refuse(here, line.as_str(), &["run directory"]);
    }
    assert_eq!(contents(&here.join("v2")), before);
    assert_eq!(names(&here.join("v2/sub")), [""; 0]);
    succeed(here, "study v2");
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    succeed(here, "study run");
    fs::create_dir(here.join("runs")).unwrap();
    for name in ["alone.json", "runs/one.json"] {
        fs::copy(here.join("run/findings.json"), here.join(name)).unwrap();
    }
    fs::hard_link(here.join("alone.json"), here.join("hard.json")).unwrap();
    symlink("alone.json", here.join("soft.json")).unwrap();
    let own = fs::read(here.join("alone.json")).unwrap();
    for line in [
        "compare alone.json run -o alone.json --force",
        "compare alone.json run -o ./alone.json --force",
        "compare alone.json run -oalone.json --force",
        "compare alone.json run --output=alone.json --force",
        "compare soft.json run -o alone.json --force",
        "compare alone.json run -o hard.json --force",
        "trend alone.json run -o alone.json --force",
        "trend runs run -o runs/one.json --force",
    ] {
        refuse(here, line, &["input"]);
    }
    assert_eq!(fs::read(here.join("alone.json")).unwrap(), own);
    assert_eq!(fs::read(here.join("runs/one.json")).unwrap(), own);
    // An existing output of the same name is no input.
    succeed(here, "compare alone.json run -o both.json");
    succeed(here, "compare alone.json run -o both.json --force");
    for line in ["compare both.json run", "check both.json --list"] {
        refuse(here, line, &["comparison"]);
    }
}
