//! Every system call of a command fails once: the command ends with an error or with its whole
//! result, and a run that broke off resumes to the results of an undisturbed one.
//!
//! strace makes the k-th call of each thread fail. `make test` tries some calls of every command,
//! chosen by a fixed seed; `make fire` tries all.

use super::scratch::{TestDirectory, code, run_in, skip, stderr, steadfast, succeed};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::{Command, Output};
use std::{fs, io};

/// System calls that fail, with the error numbers that the kernel gives them.
const FAILURES: [(&str, &[&str]); 19] = [
    ("openat", &["EMFILE", "EACCES"]),
    ("openat2", &["EMFILE", "EACCES"]),
    ("read", &["EIO"]),
    ("pread64", &["EIO"]),
    ("write", &["ENOSPC", "EIO"]),
    ("pwrite64", &["ENOSPC", "EIO"]),
    ("fsync", &["EIO", "ENOSPC"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("renameat", &["EIO"]),
    ("renameat2", &["EIO", "ENOSPC"]),
    ("linkat", &["EIO"]),
    ("mkdirat", &["ENOSPC"]),
    ("unlinkat", &["EIO"]),
    ("ftruncate", &["ENOSPC"]),
    ("fchmod", &["EIO"]),
    ("statx", &["EIO", "ENOMEM"]),
    ("lseek", &["EIO"]),
    ("getdents64", &["EIO"]),
    ("flock", &["EIO"]),
];

/// Calls without which a result would not be durable; success although one failed is a defect.
const MUST_SUCCEED: [&str; 6] =
    ["fsync", "fdatasync", "pwrite64", "renameat", "renameat2", "ftruncate"];

/// Failures tried of each command on traces in `make test`.
const TRACE_SAMPLE: usize = 8;

/// Failures tried of a run in `make test`: each takes seconds.
const RUN_SAMPLE: usize = 3;

/// Seconds after which a command counts as hung.
const LIMIT_SECONDS: &str = "60";

/// A system call that fails: its name, its position among the calls of that name of a thread, and
/// the error.
#[derive(Debug, Clone, Copy)]
struct Failure {
    call: &'static str,
    position: usize,
    error: &'static str,
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
fn traced(here: &Path, options: &[&str], arguments: &[&str]) -> io::Result<Output> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=2", LIMIT_SECONDS, "strace", "--seccomp-bpf", "-f", "-qq"]);
    command.args(options).arg(steadfast().get_program()).args(arguments);
    command.env("STATE_DIRECTORY", here.join("state")).current_dir(here);
    command.stdin(std::process::Stdio::null()).output()
}

/// Runs a command undisturbed. Returns its result and every failure that can be tried with it: each
/// position up to the largest number of such calls that one thread makes.
fn undisturbed(here: &Path, arguments: &[&str]) -> (WholeResult, Vec<Failure>) {
    let calls = FAILURES.map(|(call, _)| call).join(",");
    let log = here.with_extension("calls");
    let log_name = log.to_str().unwrap();
    let output = traced(here, &["-o", log_name, "-e", &format!("trace={calls}")], arguments);
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
        *counts.entry((thread, call)).or_default() += 1;
    }
    let mut failures = Vec::new();
    for (call, errors) in FAILURES {
        let most = counts.iter().filter(|((_, name), _)| *name == call).map(|(_, n)| *n).max();
        for position in 1..=most.unwrap_or(0) {
            failures.extend(errors.iter().map(|error| Failure { call, position, error }));
        }
    }
    (WholeResult { files: files_below(here), stdout: output.stdout }, failures)
}

/// Returns `size` of the failures, chosen by a fixed seed; all of them with `FIRE=all`.
fn sample(mut failures: Vec<Failure>, size: usize) -> Vec<Failure> {
    if std::env::var("FIRE").is_ok_and(|wanted| wanted == "all") {
        return failures;
    }
    let mut state = 7_u64;
    for index in (1..failures.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        failures.swap(index, (state >> 33) as usize % (index + 1));
    }
    failures.truncate(size);
    failures
}

/// Returns true if the call failed before the program began: in the loader or in the startup code
/// of the Rust runtime, which abort.
fn failed_before_main(output: &Output) -> bool {
    let said = stderr(output);
    said.contains("error while loading shared libraries") || said.contains("fatal runtime error")
}

/// Makes the calls of a command fail, one per run, and checks what is left each time.
///
/// `inputs` are the files that it reads; `check` gets the directory, the whole result and the output
/// of the disturbed command.
fn check_failures(
    inputs: &Files,
    arguments: &[&str],
    size: usize,
    check: impl Fn(&Path, &WholeResult, &Output) -> Result<(), String>,
) {
    let scratch = tempfile::tempdir().unwrap();
    let whole = scratch.path().join("whole");
    fs::create_dir(&whole).unwrap();
    write_files(&whole, inputs);
    let (expected, failures) = undisturbed(&whole, arguments);
    let tried = sample(failures, size);
    let mut defects = Vec::new();
    for (number, failure) in tried.iter().enumerate() {
        let here = scratch.path().join(number.to_string());
        fs::create_dir(&here).unwrap();
        write_files(&here, inputs);
        let Failure { call, position, error } = failure;
        let trace = format!("trace={call}");
        let inject = format!("inject={call}:error={error}:when={position}");
        let options = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
        let output = traced(&here, &options, arguments).unwrap();
        if !failed_before_main(&output) {
            let judged = judge(&here, inputs, &expected.files, *failure, &output);
            if let Err(defect) = judged.and_then(|()| check(&here, &expected, &output)) {
                defects.push(format!("{failure:?}: {defect}\n{}", stderr(&output)));
            }
        }
        fs::remove_dir_all(&here).unwrap();
    }
    println!("{} of the calls of {arguments:?} failed, one at a time", tried.len());
    assert!(defects.is_empty(), "{arguments:?}: {}", defects.join("\n"));
}

/// Checks what every command owes after a failed call.
fn judge(
    here: &Path,
    inputs: &Files,
    expected: &Files,
    failure: Failure,
    output: &Output,
) -> Result<(), String> {
    let left = files_below(here);
    let said = stderr(output);
    if said.contains("panicked") || !matches!(code(output), 0..=9) {
        return Err(format!("ended with {:?}", output.status));
    }
    if output.status.success() {
        if MUST_SUCCEED.contains(&failure.call) {
            return Err("success although a result may be lost".to_owned());
        }
        // Reports carry the time at which they were written.
        let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
        if names(&left) != names(expected) {
            return Err(format!("success with the files {:?}", names(&left)));
        }
    } else if said.trim().is_empty() {
        return Err("failed without a message".to_owned());
    }
    for (name, content) in inputs {
        if left.get(name) != Some(content) && !name.starts_with("state/") {
            return Err(format!("{name} was changed"));
        }
    }
    Ok(())
}

/// Checks that what stands under an output's name is the whole result, as is the standard output of
/// a command that succeeded.
fn no_partial_output(here: &Path, expected: &WholeResult, output: &Output) -> Result<(), String> {
    if output.status.success() && output.stdout != expected.stdout {
        return Err("success with another standard output".to_owned());
    }
    for (name, content) in files_below(here) {
        match expected.files.get(&name) {
            Some(whole) if *whole == content => {}
            Some(_) => return Err(format!("{name} is not the whole result")),
            None => return Err(format!("{name} was left behind")),
        }
    }
    Ok(())
}

/// Returns false, and says why, on a machine that cannot make system calls fail.
fn can_inject() -> bool {
    let here = std::env::temp_dir();
    match traced(&here, &["-o", "/dev/null", "-e", "inject=flock:error=EIO"], &["--version"]) {
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

/// A trace of 10,007 I/Os in MSR Cambridge's form.
fn msr_trace() -> String {
    let mut text = String::new();
    for number in 0..10_007_u64 {
        let time = 128_166_372_003_061_629 + number * 12_345;
        let op = if number % 3 == 0 { "Write" } else { "Read" };
        let offset = (number * 7_919) % 100_003 * 4096;
        text.push_str(&format!("{time},usr,0,{op},{offset},4096,{}\n", 500 + number % 977));
    }
    text
}

#[test]
fn commands_on_traces_lose_nothing() {
    if !can_inject() {
        return;
    }
    let here = &TestDirectory::new();
    let import = ["trace", "import", "a.csv", "--input-format", "msr-cambridge", "-o", "t.parquet"];
    fs::write(here.join("a.csv"), msr_trace()).unwrap();
    check_failures(&files_below(here), &import, TRACE_SAMPLE, no_partial_output);
    succeed(here, &import);
    let inputs = files_below(here);
    for arguments in [
        &["trace", "fold", "t.parquet", "-o", "out.cube"] as &[&str],
        &["trace", "recover", "t.parquet", "-o", "out.parquet"],
        &["trace", "streams", "t.parquet", "--json"],
        &["workload", "derive", "t.parquet", "-o", "out.toml"],
    ] {
        check_failures(&inputs, arguments, TRACE_SAMPLE, no_partial_output);
    }
}

#[test]
fn a_run_resumes_after_any_failed_call() {
    if !can_inject() {
        return;
    }
    let run = ["run", "iops", "--profile", "quick", "--target", "sim:small", "-o", "run"];
    check_failures(&Files::new(), &run, RUN_SAMPLE, |here, expected, output| {
        if output.status.success() || !here.join("run/journal.jsonl").exists() {
            return Ok(());
        }
        let resumed = run_in(here, "resume run");
        if !resumed.status.success() {
            return Err(format!("resume: {}", stderr(&resumed)));
        }
        let files = files_below(here);
        for table in ["run/metrics.csv", "run/steps.csv", "run/rounds.csv"] {
            if files.get(table) != expected.files.get(table) {
                return Err(format!("{table} differs after resume"));
            }
        }
        Ok(())
    });
}
