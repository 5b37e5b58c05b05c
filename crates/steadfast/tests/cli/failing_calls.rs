//! Every system call of a command fails once: the command ends with an error or with its whole
//! result, and a run that broke off resumes to the results of an undisturbed one.
//!
//! strace makes the k-th call of each thread fail. `make test` tries some calls of every command,
//! chosen by a fixed seed. `FIRE=all` (`make fire`) tries all, `FIRE=40` so many of each command;
//! `FIRST` is another seed.

use super::fixtures::*;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, io};

/// System calls that fail, with the error numbers that the kernel gives them.
const FAILURES: [(&str, &[&str]); 31] = [
    ("openat", &["EMFILE", "EACCES", INTERRUPTED]),
    ("openat2", &["EMFILE", "EACCES", INTERRUPTED]),
    ("read", &["EIO", INTERRUPTED]),
    ("pread64", &["EIO", INTERRUPTED]),
    ("preadv2", &["EIO", INTERRUPTED]),
    ("write", &["ENOSPC", "EIO", INTERRUPTED]),
    ("pwrite64", &["ENOSPC", "EIO", INTERRUPTED]),
    ("pwritev2", &["ENOSPC", "EIO", INTERRUPTED]),
    ("copy_file_range", &["ENOSPC", "EIO"]),
    ("fallocate", &["ENOSPC", INTERRUPTED]),
    ("fsync", &["EIO", "ENOSPC", INTERRUPTED]),
    ("fdatasync", &["EIO", "ENOSPC", INTERRUPTED]),
    ("renameat", &["EIO"]),
    ("renameat2", &["EIO", "ENOSPC"]),
    ("linkat", &["EIO"]),
    ("mkdirat", &["ENOSPC"]),
    ("unlinkat", &["EIO"]),
    ("ftruncate", &["ENOSPC", INTERRUPTED]),
    ("fchmod", &["EIO"]),
    ("statx", &["EIO", "ENOMEM"]),
    ("lseek", &["EIO"]),
    ("getdents64", &["EIO"]),
    ("flock", &["EIO", INTERRUPTED]),
    ("clone3", &["EAGAIN"]),
    ("execve", &["EACCES"]),
    ("fcntl", &["EMFILE"]),
    ("ioctl", &["EIO"]),
    ("mmap", &["ENOMEM"]),
    ("newfstatat", &["EACCES", "ENOMEM"]),
    ("pipe2", &["EMFILE"]),
    ("io_uring_setup", &["ENOMEM", "EPERM"]),
];

/// Error of a call that a signal interrupted. The program repeats such a call, so that it succeeds
/// as if nothing had happened.
const INTERRUPTED: &str = "EINTR";

/// Last call of Rust's startup code, which precedes `main`; it sets the stack of signal handlers.
const LAST_OF_STARTUP: &str = "sigaltstack({ss_sp=0x";

/// Messages with which Rust's library ends a process if memory cannot be mapped.
const MEMORY_ABORTS: [&str; 2] =
    ["memory allocation of", "failed to allocate an alternative stack"];

/// Calls without which a result would not be durable; success although one failed is a defect.
const MUST_SUCCEED: [&str; 6] =
    ["fsync", "fdatasync", "pwrite64", "renameat", "renameat2", "ftruncate"];

/// Failures tried of each command in `make test`.
const SAMPLE: usize = 3;

/// Failures tried of a command that takes seconds.
const SLOW_SAMPLE: usize = 2;

/// Seconds after which a command counts as hung.
const LIMIT_SECONDS: &str = "60";

/// A system call that fails: its name, its position among the calls of that name of a thread, and
/// the error.
#[derive(Debug, Clone, Copy)]
struct Failure {
    call: &'static str,
    position: usize,
    error: &'static str,
    /// True if the main thread makes the call in the loader or in Rust's startup code, which end
    /// the process if it fails.
    is_before_main: bool,
}

/// A command on small inputs.
#[derive(Clone, Copy)]
struct CommandCase<'a> {
    arguments: &'a str,
    /// Exit codes with which it ends if no call fails.
    endings: &'a [i32],
    /// Failures tried in `make test`.
    sample: usize,
}

impl<'a> CommandCase<'a> {
    fn new(arguments: &'a str) -> Self {
        CommandCase { arguments, endings: &[0], sample: SAMPLE }
    }

    /// Returns true if a process ended as the command does if no call fails.
    fn has_succeeded(&self, output: &Output) -> bool {
        self.endings.contains(&code(output))
    }
}

/// What a command leaves when no call fails.
struct WholeResult {
    files: Files,
    stdout: Vec<u8>,
}

/// The files below a directory by their relative paths.
type Files = BTreeMap<String, Vec<u8>>;

fn files_below(directory: &Path) -> Files {
    fn collect(root: &Path, directory: &Path, files: &mut Files) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, files);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut files = Files::new();
    collect(directory, directory, &mut files);
    files
}

fn write_files(directory: &Path, files: &Files) {
    for (name, content) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Runs the program under strace with these options.
fn traced(here: &Path, options: &[&str], case: &CommandCase<'_>) -> io::Result<Output> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=2", LIMIT_SECONDS, "strace", "--seccomp-bpf", "-f", "-qq"]);
    command.args(options).arg(steadfast().get_program()).args(case.arguments.words());
    command.env("STATE_DIRECTORY", here.join("state")).current_dir(here);
    command.stdin(std::process::Stdio::null()).output()
}

/// Runs a command undisturbed. Returns its result and every failure that can be tried with it: each
/// position up to the largest number of such calls that one thread makes.
fn undisturbed(here: &Path, case: &CommandCase<'_>) -> (WholeResult, Vec<Failure>) {
    let calls = FAILURES.map(|(call, _)| call).join(",");
    let log = here.with_extension("calls");
    let log_name = log.to_str().unwrap();
    let trace = format!("trace={calls},sigaltstack");
    let output = traced(here, &["-o", log_name, "-e", &trace], case);
    let output = output.unwrap();
    assert!(case.has_succeeded(&output), "{}: {}", case.arguments, stderr(&output));
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    let mut before_main: Option<HashMap<(&str, &str), usize>> = None;
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let Some((call, _)) = rest.split_once('(') else { continue };
        *counts.entry((thread, call)).or_default() += 1;
        // The first thread is the only one until then.
        if rest.starts_with(LAST_OF_STARTUP) && before_main.is_none() {
            before_main = Some(counts.clone());
        }
    }
    let before_main = before_main.expect("Rust's startup code sets a signal stack");
    let mut failures = Vec::new();
    for (call, errors) in FAILURES {
        let most = counts.iter().filter(|((_, name), _)| *name == call).map(|(_, n)| *n).max();
        let started =
            before_main.iter().find(|((_, name), _)| *name == call).map_or(0, |(_, n)| *n);
        for position in 1..=most.unwrap_or(0) {
            let is_before_main = position <= started;
            let failure = |error: &&'static str| Failure { call, position, error, is_before_main };
            failures.extend(errors.iter().map(failure));
        }
    }
    (WholeResult { files: files_below(here), stdout: output.stdout }, failures)
}

/// Returns `size` of the failures after the beginning of `main`, chosen by a seed; another number
/// with `FIRE`, and all of them with `FIRE=all`.
fn sample(mut failures: Vec<Failure>, size: usize) -> Vec<Failure> {
    let wanted = std::env::var("FIRE").unwrap_or_default();
    if wanted == "all" {
        return failures;
    }
    let size = if wanted.is_empty() { size } else { wanted.parse().expect("FIRE is a number") };
    failures.retain(|failure| !failure.is_before_main);
    let seed = std::env::var("FIRST").ok().and_then(|first| first.parse().ok());
    let mut state = seed.unwrap_or(0_u64).wrapping_add(7);
    for index in (1..failures.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        failures.swap(index, (state >> 33) as usize % (index + 1));
    }
    failures.truncate(size);
    failures
}

/// Returns true if Rust's library ended the process because memory could not be mapped.
fn is_memory_abort(failure: Failure, output: &Output) -> bool {
    let text = stderr(output);
    failure.call == "mmap" && MEMORY_ABORTS.iter().any(|message| text.contains(message))
}

/// Removes the files without a final name that a killed process leaves.
fn remove_unfinished(directory: &Path) {
    for name in files_below(directory).keys().filter(|name| name.ends_with(".unfinished")) {
        fs::remove_file(directory.join(name)).unwrap();
    }
}

/// Makes the calls of a command fail, one per run, and checks what is left each time.
///
/// `inputs` are the files that it reads; `check` gets the directory, the whole result and the output
/// of the disturbed command.
fn check_failures(
    inputs: &Files,
    case: &CommandCase<'_>,
    check: impl Fn(&Path, &WholeResult, &Output) -> Result<(), String>,
) {
    let scratch = &TestDirectory::new();
    let whole = scratch.join("whole");
    fs::create_dir(&whole).unwrap();
    write_files(&whole, inputs);
    let (expected, failures) = undisturbed(&whole, case);
    let tried = sample(failures, case.sample);
    let mut defects = Vec::new();
    for (number, failure) in tried.iter().enumerate() {
        let here = scratch.join(number.to_string());
        fs::create_dir(&here).unwrap();
        write_files(&here, inputs);
        let Failure { call, position, error, is_before_main } = failure;
        let trace = format!("trace={call}");
        let inject = format!("inject={call}:error={error}:when={position}");
        let options = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
        let output = traced(&here, &options, case).unwrap();
        if is_memory_abort(*failure, &output) {
            remove_unfinished(&here);
        }
        if !is_before_main || case.has_succeeded(&output) {
            let judged = judge(&here, case, inputs, &expected.files, *failure, &output);
            if let Err(defect) = judged.and_then(|()| check(&here, &expected, &output)) {
                defects.push(format!("{failure:?}: {defect}\n{}", stderr(&output)));
            }
        }
        fs::remove_dir_all(&here).unwrap();
    }
    println!("{} of the calls of '{}' failed, one at a time", tried.len(), case.arguments);
    assert!(defects.is_empty(), "{}: {}", case.arguments, defects.join("\n"));
}

fn names(files: &Files) -> Vec<&String> {
    files.keys().collect()
}

/// Checks what every command must leave after a failed call.
fn judge(
    here: &Path,
    case: &CommandCase<'_>,
    inputs: &Files,
    expected: &Files,
    failure: Failure,
    output: &Output,
) -> Result<(), String> {
    let left = files_below(here);
    let text = stderr(output);
    let is_ended = !text.contains("panicked") && matches!(output.status.code(), Some(0..=9));
    if !is_ended && !is_memory_abort(failure, output) {
        return Err(format!("ended with {:?}", output.status));
    }
    let is_interrupted = failure.error == INTERRUPTED;
    if is_interrupted && !case.has_succeeded(output) {
        return Err("an interrupted call was not repeated".to_owned());
    }
    if case.has_succeeded(output) {
        if MUST_SUCCEED.contains(&failure.call) && !is_interrupted {
            return Err("success although a result may be lost".to_owned());
        }
        if names(&left) != names(expected) {
            return Err(format!("success with the files {:?}", names(&left)));
        }
    } else if text.trim().is_empty() && output.stdout.is_empty() {
        return Err("failed without a message".to_owned());
    }
    for (name, content) in inputs {
        let is_output = expected.get(name) != Some(content);
        if left.get(name) != Some(content) && !is_output && !name.starts_with("state/") {
            return Err(format!("{name} was changed"));
        }
    }
    Ok(())
}

/// Last bytes of files that contain the time at which they were written.
const ENDS: [(&str, &[u8]); 4] =
    [("html", b"</html>"), ("pdf", b"%%EOF"), ("json", b"}"), ("png", b"IEND\xaeB`\x82")];

/// Returns true if a file is complete: as the whole result has it, or with its end if its content
/// differs each time.
fn is_whole(name: &str, content: &[u8], expected: &[u8]) -> bool {
    let end = ENDS.iter().find(|(suffix, _)| name.ends_with(suffix));
    content == expected || end.is_some_and(|(_, end)| content.trim_ascii_end().ends_with(end))
}

/// Checks that what stands under an output's name is the whole result, as is the standard output of
/// a command that succeeded, and that a command that failed succeeds if it is repeated.
fn no_partial_output(
    case: &CommandCase<'_>,
    inputs: &Files,
    here: &Path,
    expected: &WholeResult,
    output: &Output,
) -> Result<(), String> {
    if case.has_succeeded(output) && output.stdout != expected.stdout {
        return Err("success with another standard output".to_owned());
    }
    for (name, content) in files_below(here) {
        match expected.files.get(&name) {
            Some(whole) if is_whole(&name, &content, whole) => {}
            Some(_) if inputs.get(&name) == Some(&content) => {}
            Some(_) => return Err(format!("{name} is not the whole result")),
            None => return Err(format!("{name} was left behind")),
        }
    }
    if case.has_succeeded(output) {
        return Ok(());
    }
    let mut again = run_in(here, case.arguments);
    // Some files of several are whole.
    if stderr(&again).contains("exists; --force") {
        again = run_in(here, &format!("{} --force", case.arguments));
    }
    if !case.has_succeeded(&again) || names(&files_below(here)) != names(&expected.files) {
        return Err(format!("repeated: {}", stderr(&again)));
    }
    Ok(())
}

/// Makes the calls of a command fail that writes its outputs when it is done.
fn check_outputs(inputs: &Files, case: &CommandCase<'_>) {
    check_failures(inputs, case, |here, expected, output| {
        no_partial_output(case, inputs, here, expected, output)
    });
}

/// Returns false, and says why, on a machine that cannot make system calls fail.
fn can_inject() -> bool {
    let here = std::env::temp_dir();
    let version = CommandCase::new("--version");
    match traced(&here, &["-o", "/dev/null", "-e", "inject=flock:error=EIO"], &version) {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            skip(stderr(&output).trim());
            false
        }
        Err(error) => {
            skip(&format!("strace: {error}"));
            false
        }
    }
}

/// A trace of 2,003 I/Os in MSR Cambridge's form.
fn msr_trace() -> String {
    let mut text = String::new();
    for number in 0..2_003_u64 {
        let time = 128_166_372_003_061_629 + number * 12_345;
        let op = if number % 3 == 0 { "Write" } else { "Read" };
        let offset = (number * 7_919) % 100_003 * 4096;
        text.push_str(&format!("{time},usr,0,{op},{offset},4096,{}\n", 500 + number % 977));
    }
    text
}

const IMPORT: &str = "trace import a.csv --input-format msr-cambridge -o t.parquet";

/// Returns a foreign trace, its import, and what is made of that.
fn traces() -> Files {
    let here = &TestDirectory::new();
    fs::write(here.join("a.csv"), msr_trace()).unwrap();
    for command in [IMPORT, "trace fold t.parquet -o t.cube", "workload derive t.parquet -o w.toml"]
    {
        succeed(here, command);
    }
    files_below(here)
}

#[test]
fn commands_on_traces_lose_nothing() {
    if !can_inject() {
        return;
    }
    let inputs = traces();
    let foreign: Files = inputs.clone().into_iter().filter(|(name, _)| name == "a.csv").collect();
    check_outputs(&foreign, &CommandCase::new(IMPORT));
    for arguments in [
        "trace fold t.parquet -o out.cube",
        "trace merge t.cube -o out.cube",
        "trace recover t.parquet -o out.parquet",
        "trace streams t.parquet --json",
        "trace steps t.cube --json",
        "trace hot t.parquet",
        "trace doctor t.parquet",
        "trace compare t.parquet --json",
        "trace report t.parquet -o out --format html,csv,json",
        "trace self-test t.parquet -o out --format csv",
        "replay verify t.parquet t.parquet -o out --format html",
        "identify t.parquet",
        "workload derive t.parquet -o out.toml",
        "workload derive t.parquet --replay-representation out.txt",
    ] {
        check_outputs(&inputs, &CommandCase::new(arguments));
    }
    for arguments in [
        "trace map t.parquet", "trace processes t.parquet --json",
        "trace groups t.cube --by op --json", "trace hosts t.cube", "trace drives t.cube",
        "trace profile t.cube", "trace locality t.parquet", "trace shape t.parquet",
        "trace hits t.parquet", "trace identify t.parquet t.cube",
    ] {
        let case = CommandCase { sample: SLOW_SAMPLE, ..CommandCase::new(arguments) };
        check_outputs(&inputs, &case);
    }
    for (format, size) in [
        ("fio", " --device-size 1TB"),
        ("iometer", " --device-size 1TB"),
        ("vdbench", " --device-size 1TB"),
        ("replay-representation", ""),
        ("fio-iolog", ""),
        ("blkparse", ""),
        ("csv", ""),
        ("parquet", ""),
    ] {
        let arguments =
            format!("workload export t.parquet{size} --output-format {format} -o out.{format}");
        check_outputs(
            &inputs,
            &CommandCase { sample: SLOW_SAMPLE, ..CommandCase::new(&arguments) },
        );
    }
}

#[test]
fn commands_on_runs_lose_nothing() {
    if !can_inject() {
        return;
    }
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    finished_run(here, "sim:small", "two");
    let limits = "[[limit]]\ntable='iops'\nrow='4K'\ncolumn='100/0'\nmin=1\n";
    fs::write(here.join("limits.toml"), limits).unwrap();
    let job = "[a]\nrw=randread\nbs=4k\nsize=16m\nruntime=1\ntime_based\n";
    fs::write(here.join("job.fio"), job).unwrap();
    let inputs = files_below(here);
    for arguments in [
        "export fio run --filename disk -o out.fio",
        "export parquet run two -o out.parquet",
        "iometer export-run run -o out.icf",
        "compare run two --long-table csv",
        "compare run two -o out.html",
        "compare run two -o out.parquet",
        "check run --limits limits.toml --no-report",
        "trend run two --json",
        "report run --format html,csv,json",
        "study run --json",
        "identify run",
        "plan iops --target sim:small",
        "fio job.fio --target sim:small --plan",
        "measure 'RND 4K R' --target sim:small --seed 7 --ios 999 --export-csv out.csv",
    ] {
        // The drive does not reach the limit of the check.
        check_outputs(&inputs, &CommandCase { endings: &[0, 5], ..CommandCase::new(arguments) });
    }
    for arguments in [
        "report run --format pdf", "report run --card out.png", "compare run two -o out",
        "check run --limits limits.toml -o out",
    ] {
        let case =
            CommandCase { endings: &[0, 5], sample: SLOW_SAMPLE, ..CommandCase::new(arguments) };
        check_outputs(&inputs, &case);
    }
}

#[test]
fn commands_without_inputs_lose_nothing() {
    if !can_inject() {
        return;
    }
    for arguments in [
        "schema findings",
        "workload list",
        "workload show pgbench",
        "iometer export iops --target sim:small -o out.icf",
        "tkperf-cmp ssd a.xml b.xml",
        "tkperf ssd run sim:small --plan",
        // Not `restore`: it also removes, and names, what killed captures of other tests left.
    ] {
        let endings: &[i32] = if arguments.starts_with("tkperf-cmp") { &[2] } else { &[0] };
        let case = CommandCase { endings, sample: SLOW_SAMPLE, ..CommandCase::new(arguments) };
        check_outputs(&Files::new(), &case);
    }
}

/// Checks that a run that broke off resumes to the tables of an undisturbed one, and that one of
/// which nothing is left can be repeated.
fn resumes(
    case: &CommandCase<'_>,
    tables: &[&str],
    here: &Path,
    expected: &WholeResult,
    output: &Output,
) -> Result<(), String> {
    if case.has_succeeded(output) {
        return Ok(());
    }
    let is_begun = here.join("run/journal.jsonl").exists();
    let next = if is_begun { "resume run" } else { case.arguments };
    let again = run_in(here, next);
    if !case.has_succeeded(&again) {
        return Err(format!("{next}: {}", stderr(&again)));
    }
    let files = files_below(here);
    for table in tables {
        if files.get(*table) != expected.files.get(*table) {
            return Err(format!("{table} differs after {next}"));
        }
    }
    Ok(())
}

const TABLES: [&str; 3] = ["run/metrics.csv", "run/steps.csv", "run/rounds.csv"];

#[test]
fn a_run_resumes_after_any_failed_call() {
    if !can_inject() {
        return;
    }
    let simulated = "run iops --profile quick --target sim:small -o run";
    let in_file = "run verify-write --target disk --size 64MiB -o run";
    let power_cuts = "run power-cut --profile quick --target sim:small -o run";
    let disk_mark = "crystaldiskmark --target sim:small --test-size 16MiB --runs 1 --time 1s \
        --interval 0s -o run";
    let atto = "atto --target sim:small --min-size 4KiB --max-size 8KiB --test-size 4MiB -o run";
    let mut runs = vec![(simulated, &TABLES[..]), (in_file, &[]), (power_cuts, &[])];
    // These write a PDF, which takes seconds.
    if std::env::var_os("FIRE").is_some() {
        runs.extend([(disk_mark, &TABLES[..2]), (atto, &TABLES[..2])]);
    }
    for (arguments, tables) in runs {
        let case = CommandCase { endings: &[0, 3], sample: 3, ..CommandCase::new(arguments) };
        check_failures(&Files::new(), &case, |here, expected, output| {
            resumes(&case, tables, here, expected, output)
        });
    }
}

#[test]
fn a_resumed_run_resumes_after_any_failed_call() {
    if !can_inject() {
        return;
    }
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let mut inputs = files_below(here);
    inputs.retain(|name, _| name == "run/settings.json" || name == "run/journal.jsonl");
    let journal = inputs.get_mut("run/journal.jsonl").unwrap();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    *journal = lines[..lines.len() / 2].concat();
    let case = CommandCase { endings: &[0, 3], sample: 3, ..CommandCase::new("resume run") };
    check_failures(&inputs, &case, |here, expected, output| {
        resumes(&case, &TABLES, here, expected, output)
    });
}

/// Limits of address space in MiB: the loader needs about 150 for an unoptimized program.
const ADDRESS_SPACE_MIB: [u64; 4] = [120, 160, 200, 400];

/// Halvings of the memory that a command needs in a control group.
const HALVINGS: u32 = 4;

/// Runs the program with at most this much address space.
fn with_memory(here: &Path, mib: u64, case: &CommandCase<'_>) -> Output {
    let mut command = command_in(here, case.arguments);
    command.env("STATE_DIRECTORY", here.join("state"));
    let limit = libc::rlimit { rlim_cur: mib << 20, rlim_max: mib << 20 };
    // SAFETY: setrlimit is safe to call between fork and exec, and the closure owns the limit.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_AS, &limit) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.output().unwrap()
}

/// A memory control group for the processes of a test, removed at the end.
struct MemoryGroup {
    directory: PathBuf,
    limit: &'static str,
}

impl MemoryGroup {
    /// Makes a group of version 1, or of version 2 where the root group passes its memory
    /// controller on. `None` with the reason printed where there is neither.
    fn new() -> Option<MemoryGroup> {
        let (old, new) = (Path::new("/sys/fs/cgroup/memory"), Path::new("/sys/fs/cgroup"));
        let passed_on = fs::read_to_string(new.join("cgroup.subtree_control")).unwrap_or_default();
        let (root, limit) = if old.join("memory.limit_in_bytes").exists() {
            (old, "memory.limit_in_bytes")
        } else if passed_on.split_whitespace().any(|controller| controller == "memory") {
            (new, "memory.max")
        } else {
            skip("no memory control group");
            return None;
        };
        let directory = root.join(format!("steadfast-test-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&directory) {
            skip(&format!("no memory control group: {error}"));
            return None;
        }
        Some(MemoryGroup { directory, limit })
    }

    /// Returns half of the memory that a command uses, page cache included, a quarter and so on, in
    /// MiB.
    fn halved(&self, inputs: &Files, case: &CommandCase<'_>) -> Vec<u64> {
        let here = &TestDirectory::new();
        write_files(here, inputs);
        // What the group used before does not count, in version 1.
        let _ = fs::write(self.directory.join("memory.max_usage_in_bytes"), "0");
        let _ = fs::write(self.directory.join("memory.peak"), "0");
        let output = self.run(here, 1 << 20, case);
        assert!(case.has_succeeded(&output), "{}: {}", case.arguments, stderr(&output));
        let peaks = ["memory.max_usage_in_bytes", "memory.peak"];
        let peak = peaks.iter().find_map(|name| fs::read_to_string(self.directory.join(name)).ok());
        // Linux before 5.19 has no peak in version 2; a command needs about this much.
        let peak = peak.map_or(64 << 20, |text| text.trim().parse::<u64>().unwrap());
        (1..=HALVINGS).map(|halving| (peak >> halving >> 20).max(1)).collect()
    }

    fn run(&self, here: &Path, mib: u64, case: &CommandCase<'_>) -> Output {
        // What earlier commands left in the page cache is charged to the group.
        let _ = fs::write(self.directory.join("memory.force_empty"), "0");
        wait_until("a lower limit", || {
            fs::write(self.directory.join(self.limit), (mib << 20).to_string()).is_ok()
        });
        let mut command = command_in(here, case.arguments);
        command.env("STATE_DIRECTORY", here.join("state"));
        let processes = self.directory.join("cgroup.procs");
        // SAFETY: between fork and exec only open, write and close are called, on a path that was
        // allocated before.
        unsafe {
            command.pre_exec(move || fs::write(&processes, "0"));
        }
        command.output().unwrap()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Runs a command by `run` with little memory. It may end as it likes, by a signal too, but leaves
/// no partial output; repeated with enough memory, or resumed, it succeeds.
fn check_memory(
    inputs: &Files,
    case: &CommandCase<'_>,
    limits: &[u64],
    run: impl Fn(&Path, u64, &CommandCase<'_>) -> Output,
) {
    let here = &TestDirectory::new();
    write_files(here, inputs);
    run_ending(here, case.arguments, case.endings);
    let expected = files_below(here);
    let tables: &[&str] = if case.arguments.starts_with("run") { &TABLES } else { &[] };
    for mib in limits {
        let here = &TestDirectory::new();
        write_files(here, inputs);
        let output = run(here, *mib, case);
        let about =
            format!("{}, {mib} MiB: {:?} {}", case.arguments, output.status, stderr(&output));
        // zlib-rs, which compresses the PDF, panics if it gets no memory for its tables.
        let text = stderr(&output);
        assert!(!text.contains("panicked") || text.contains("left: MemError"), "{about}");
        let is_killed = output.status.signal().is_some();
        let mut left = files_below(here);
        // A killed process leaves what has no name yet.
        left.retain(|name, _| !(is_killed && name.ends_with(".unfinished")));
        if tables.is_empty() {
            for (name, content) in left {
                let whole = expected.get(&name).unwrap_or_else(|| panic!("{name}: {about}"));
                assert!(is_whole(&name, &content, whole), "{name} is partial: {about}");
            }
        }
        if case.has_succeeded(&output) {
            continue;
        }
        let is_begun = here.join("run/journal.jsonl").exists();
        run_ending(here, if is_begun { "resume run" } else { case.arguments }, case.endings);
        let now = files_below(here);
        for table in tables {
            assert!(now.get(*table) == expected.get(*table), "{table} differs: {about}");
        }
    }
}

#[test]
fn with_too_little_memory_nothing_partial_is_left() {
    let group = MemoryGroup::new();
    let mut inputs = traces();
    inputs.remove("w.toml");
    for arguments in [
        "trace import a.csv --input-format msr-cambridge -o out.parquet",
        "trace fold t.parquet -o out.cube",
        "trace merge t.cube -o out.cube",
        "trace recover t.parquet -o out.parquet",
        "workload derive t.parquet -o out.toml",
        "trace report t.parquet -o out --format html",
        "run iops --profile quick --target sim:small -o run",
    ] {
        let case = CommandCase { endings: &[0, 3], ..CommandCase::new(arguments) };
        check_memory(&inputs, &case, &ADDRESS_SPACE_MIB, with_memory);
        if let Some(group) = &group {
            let limits = group.halved(&inputs, &case);
            check_memory(&inputs, &case, &limits, |here, mib, case| group.run(here, mib, case));
        }
    }
}
