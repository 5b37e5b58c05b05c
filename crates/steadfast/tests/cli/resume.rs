//! Runs killed at random moments.

use super::fixtures::*;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use steadfast_domain::Step;
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::{Ledger, RunPlan};

/// When a run is killed: a time after it has finished further steps.
struct KillPoint {
    steps: usize,
    delay: Duration,
}

/// Waits until a run has finished `steps` and then for a time; returns whether it is still alive.
fn lives_until(child: &mut Child, run: &Path, steps: usize, delay: Duration) -> bool {
    let mut is_alive = || child.try_wait().unwrap().is_none();
    wait_until("a step", || finished_steps(run) >= steps || !is_alive());
    let end = Instant::now() + delay;
    while Instant::now() < end && is_alive() {
        std::thread::sleep(Duration::from_millis(2));
    }
    is_alive()
}

/// Returns the command that continues a run: the first one if it was killed before it was
/// confirmed, so that there is nothing to resume.
fn next_command<'a>(run: &Path, begin: &'a str) -> &'a str {
    if Ledger::read(run).is_ok_and(|contents| !contents.lines.is_empty()) {
        return "resume run";
    }
    let _ = std::fs::remove_dir_all(run);
    begin
}

/// Kills a run with -9 at each of these moments, resuming in between; returns how often it
/// was alive to be killed. Finished steps must stay.
fn kill_again_and_again(directory: &Path, begin: &str, moments: &[KillPoint]) -> usize {
    let run = directory.join("run");
    let mut kills = 0;
    // The machine may have been slower when the moments were chosen: a run that ends before its
    // moment halves the delays of the later ones.
    let mut divisor: u32 = 1;
    let mut finished: Vec<JournalLine> = Vec::new();
    for (index, moment) in moments.iter().enumerate() {
        // Nothing of a complete run is left to be killed.
        if run.join("report.html").exists() {
            finished.clear();
            std::fs::remove_dir_all(&run).unwrap();
        }
        let command = next_command(&run, begin);
        let steps = if moment.steps > 0 { finished_steps(&run) + moment.steps } else { 0 };
        let errors = std::fs::File::create(directory.join(format!("stderr-{index}"))).unwrap();
        let mut child = spawn_in(directory, command, Stdio::null(), errors);
        if lives_until(&mut child, &run, steps, moment.delay / divisor) {
            kills += 1
        } else {
            divisor = divisor.saturating_mul(2)
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = Ledger::read(&run).map(|contents| contents.lines).unwrap_or_default();
        assert!(lines.starts_with(&finished), "kill {index} lost what was finished");
        finished = lines;
    }
    kills
}

/// Returns moments after `steps` further steps and a delay within `milliseconds`, drawn by a seed
/// that is printed.
fn moments(seed: u64, count: u64, steps: usize, milliseconds: Range<u64>) -> Vec<KillPoint> {
    println!("moments of seed {seed}");
    let Range { start: least, end: most } = milliseconds;
    (0..count)
        .map(|n| {
            let random = steadfast_domain::random_bits::mix64(seed.wrapping_add(n));
            KillPoint { steps, delay: Duration::from_millis(least + random % (most - least)) }
        })
        .collect()
}

/// Kills a simulated run again and again; it must find what an unbroken one finds.
fn assert_killed_run_finds_the_same(times: u64, begin: &str) {
    let here = &TestDirectory::new();
    let (broken, whole) = (here.join("broken"), here.join("whole"));
    std::fs::create_dir_all(&broken).unwrap();
    std::fs::create_dir_all(&whole).unwrap();
    let started = SystemTime::now();
    assert!(matches!(code(&run_in(&whole, begin)), 0 | 3));
    // What follows the findings is the report, which takes longer than the run.
    let ended = std::fs::metadata(whole.join("run/findings.json")).unwrap().modified().unwrap();
    let took = ended.duration_since(started).unwrap_or_default().as_millis();
    let most = u64::try_from(took).unwrap().max(60);
    let kills = kill_again_and_again(&broken, begin, &moments(11, times, 0, 20..most));
    let least = usize::try_from(times / 2).unwrap();
    assert!(kills >= least, "only {kills} of {times} runs were alive to be killed");
    run_ending(&broken, next_command(&broken.join("run"), begin), &[0, 3]);
    let findings = |d: &Path| std::fs::read_to_string(d.join("run/findings.json")).unwrap();
    assert_eq!(findings(&broken), findings(&whole));
}

/// Copies a run with half of its journal and a changed plan.
pub fn half_of(run: &Path, change: impl FnOnce(&mut RunPlan)) -> PathBuf {
    let mut contents = Ledger::read(run).unwrap();
    change(&mut contents.plan);
    let half = run.with_file_name("half");
    let mut ledger = Ledger::create(&half, &contents.plan).unwrap();
    for line in &contents.lines[..contents.lines.len() / 2] {
        ledger.append(line.at, &line.entry).unwrap();
    }
    half
}

/// Halves the journal of a complete run on a simulated drive, replaces the command line in its
/// plan, and resumes it: it must find what the complete run found.
pub fn assert_resumes_without_its_command_line(run: &Path) {
    const NONSENSE: &str = "mv --class of=1 --seed 0 --exact";
    let command = Ledger::read(run).unwrap().plan.settings.command;
    let half = half_of(run, |plan| plan.settings.command = NONSENSE.into());
    run_ending(run.parent().unwrap(), "resume half", &[0, 3]);
    let steps = |run: &Path| -> Vec<Step> {
        Ledger::read(run).unwrap().steps().map(|(step, _)| step.clone()).collect()
    };
    assert_eq!(steps(&half), steps(run));
    let findings = |run: &Path| {
        let text = std::fs::read_to_string(run.join("findings.json")).unwrap();
        let mut findings: serde_json::Value =
            serde_json::from_str(&text.replace(&command, NONSENSE)).unwrap();
        // The checksum of the file covers the command line as well.
        findings.as_object_mut().unwrap().remove("sha256");
        findings
    };
    assert_eq!(findings(&half), findings(run));
}

#[test]
fn a_run_resumes_whatever_its_command_line_says() {
    let here = &TestDirectory::new();
    let run = "run iops --target sim:small --profile quick -o run --class enterprise --seed 7 \
               --data-pattern random-unique";
    run_ending(here, run, &[0, 3]);
    assert_resumes_without_its_command_line(&here.join("run"));
}

/// Nothing is done or written once more; what is missing of the report is.
#[test]
fn a_complete_run_says_so_and_nothing_else() {
    let here = &TestDirectory::new();
    finished_run(here, "sim:small", "run");
    let directory = here.join("run");
    let journal = || std::fs::read(directory.join("journal.jsonl")).unwrap();
    let before = journal();
    let again = run_in(here, "resume run");
    assert_eq!((code(&again), stdout(&again)), (0, String::new()));
    assert_eq!(stderr(&again), "run is complete; print its findings with: steadfast study run\n");
    assert_eq!(journal(), before);
    std::fs::remove_file(directory.join("report.html")).unwrap();
    assert!(matches!(code(&run_in(here, "resume run")), 0 | 3));
    assert!(directory.join("report.html").exists());
}

#[test]
fn a_simulated_run_killed_sixty_times_finds_what_an_unbroken_one_finds() {
    let run = "run iops --target sim:small --profile quick -o run";
    assert_killed_run_finds_the_same(60, run);
}

/// An offender that was on when the run was killed is off before the victim runs alone again.
#[test]
fn neighbors_killed_twenty_times_find_the_same() {
    let run = "run neighbors --target sim:small --profile quick -o run \
               --set 'offenders=SEQ 128K W,RND 4K W'";
    assert_killed_run_finds_the_same(20, run);
}

/// The segments of every active range lie where they lay.
#[test]
fn a_run_on_scattered_ranges_killed_ten_times_finds_the_same() {
    let run = "run throughput --target sim:small --step-time 5s --profile pts-1.1 --class client \
               --set ar-amount=64MiB,256MiB --set ar-segments=64 -o run";
    assert_killed_run_finds_the_same(10, run);
}

#[test]
fn a_real_run_killed_ten_times_repeats_no_finished_step() {
    let here = &TestDirectory::new();
    let begin =
        "run iops --profile quick --target scratch.bin --size 128MiB --step-time 200ms -o run";
    // Every third kill comes while the run is being resumed.
    let mut all = moments(23, 7, 1, 0..500);
    for (index, early) in moments(29, 3, 0, 100..800).into_iter().enumerate() {
        all.insert(index * 3 + 2, early);
    }
    let kills = kill_again_and_again(here, begin, &all);
    assert!(kills >= 5, "only {kills} of ten runs were alive to be killed");
    run_ending(here, "resume run", &[0, 3]);
    assert_no_repeats_and_all_gaps(&here.join("run"));
}

/// Sixty kills, most of them while the run is being resumed.
#[test]
fn a_run_on_a_loop_device_killed_sixty_times_repeats_no_finished_step() {
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let begin = format!("run iops --profile quick --step-time 100ms {} -o run", device.confirmed());
    let mut all = moments(31, 44, 0, 20..400);
    for (index, long) in moments(37, 16, 1, 0..200).into_iter().enumerate() {
        all.insert(index * 3, long);
    }
    let kills = kill_again_and_again(here, &begin, &all);
    assert!(kills >= 45, "only {kills} of sixty runs were alive to be killed");
    run_ending(here, "resume run", &[0, 3]);
    assert_no_repeats_and_all_gaps(&here.join("run"));
}

/// Killed three times in the midst of a step: what the steps and the gaps count as written is
/// what the kernel counts from the run's beginning to its end.
#[test]
fn bytes_written_by_a_killed_step_are_counted() {
    let Some(device) = LoopDevice::new(256) else { return };
    let here = &TestDirectory::new();
    let begin = format!(
        "run wsat --profile quick {} --purge none --steady-state time:8s -o run",
        device.confirmed()
    );
    let before = device.written();
    let moments = moments(5, 3, 2, 300..900);
    let kills = kill_again_and_again(here, &begin, &moments);
    assert!(kills >= 2, "only {kills} of 3 runs were alive to be killed");
    let killed_at = device.written() - before;
    run_ending(here, "resume run", &[0, 3]);
    let after = device.written() - before;
    let (mut steps, mut gaps) = (0, 0);
    for (_, outcome) in Ledger::read(&here.join("run")).unwrap().steps() {
        steps += outcome.measurement.written().0;
        let gap = outcome.gap_before.as_ref();
        gaps += gap.map_or(0, |gap| gap.written.expect("the disk stayed attached").0);
    }
    // The last gap's bytes were written by then.
    assert!(gaps > 0 && steps + gaps > killed_at, "{steps} + {gaps}, {killed_at}");
    // The kernel is asked a moment after a step was cut off the load, which runs on meanwhile.
    println!("{after} bytes of the kernel, {steps} in steps, {gaps} in gaps");
    assert!(after.abs_diff(steps + gaps) <= gaps / 10, "{after} of the kernel, {steps} + {gaps}");
    let findings = std::fs::read_to_string(here.join("run/findings.json")).unwrap();
    assert!(findings.contains("total bytes written include them, and"));
}

/// A run whose directory is deleted says so, and what is lost, within a step.
#[test]
fn a_deleted_run_directory_is_noticed() {
    let here = &TestDirectory::new();
    let run = here.join("run");
    let begin =
        "run iops --profile quick --step-time 300ms --target scratch.bin --size 64MiB -o run";
    let mut child = spawn_in(here, begin, Stdio::null(), Stdio::piped());
    wait_until("the first step", || {
        assert!(child.try_wait().unwrap().is_none(), "no step was finished");
        Ledger::read(&run).is_ok_and(|contents| contents.steps().next().is_some())
    });
    std::fs::remove_dir_all(&run).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = stderr(&output);
    assert_eq!(code(&output), 1, "{text}");
    assert!(text.contains("was deleted during the run") && text.contains("lost"), "{text}");
    assert!(!text.contains("steadfast resume"), "there is nothing to resume: {text}");
    assert!(!run.exists());
}

/// Without a terminal every line has the time and every step the time left; a resumed run does not
/// print what it replays.
#[test]
fn a_log_has_the_time_and_the_time_left_and_replays_nothing() {
    let here = &TestDirectory::new();
    let begin = "run iops --profile quick --target f.bin --size 64MiB --max-rounds 1 -o run";
    let run = run_ending(here, begin, &[0, 3]);
    let resumed = run_ending(here, "resume run --max-rounds 2", &[0, 3]);
    let is_timed = |line: &str| {
        let time: Vec<&str> =
            line.get(..20).unwrap_or_default().split(['-', ' ', ':', 'Z']).collect();
        time.len() == 7 && time[..6].iter().all(|part| part.parse::<u32>().is_ok())
    };
    for output in [&run, &resumed] {
        let text = stderr(output);
        let steps: Vec<&str> = text.lines().filter(|line| line.contains("step 1 (")).collect();
        assert!(!steps.is_empty(), "{text}");
        for line in steps {
            assert!(is_timed(line), "{line}");
            assert!(line.contains("; left "), "{line}");
        }
    }
    let text = stderr(&resumed);
    assert!(!text.contains("Purged") && !text.contains("round 1,"), "{text}");
    assert!(text.contains("round 2, step 1 ("), "{text}");
    // Nothing is left to add to two rounds of two.
    let again = run_in(here, "resume run --max-rounds 2");
    assert!(stderr(&again).contains("--max-rounds 2 changed nothing"), "{}", stderr(&again));
}

/// A disk that is full when the run begins leaves no torn settings, and no settings without a run,
/// which would be in the way of the next try.
#[test]
fn a_run_that_could_not_begin_leaves_no_directory() {
    if !is_root() {
        return skip("needs root to mount a small tmpfs");
    }
    let here = &TestDirectory::new();
    let Some(_mount) = Mount::of_kind("tmpfs", "nr_blocks=2", here.to_path_buf()) else {
        return skip("tmpfs cannot be mounted");
    };
    let begin = "run iops --target sim:small --profile quick -o run";
    // Room for nothing; then for the settings alone.
    for filled in [2, 1] {
        std::fs::write(here.join("filler"), vec![0; filled * 4096]).unwrap();
        let output = run_ending(here, begin, &[1]);
        assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));
        assert!(!here.join("run").exists(), "a directory was left");
    }
}

/// Every finished step stands once in the journal, and every gap in the report.
pub fn assert_no_repeats_and_all_gaps(run: &Path) {
    let contents = Ledger::read(run).unwrap();
    let mut places: Vec<_> = contents.steps().map(|(step, _)| step.place.clone()).collect();
    let all = places.len();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), all, "a finished step was repeated");
    let gaps = contents.steps().filter(|(_, outcome)| outcome.gap_before.is_some()).count();
    assert!(gaps > 0);
    let text = std::fs::read_to_string(run.join("findings.json")).unwrap();
    assert_eq!(text.matches("\"id\": \"gap\"").count(), gaps, "every gap is disclosed");
}

/// Ctrl-C halts within a second. A machine that stands still makes one try longer, not three.
#[test]
fn ctrl_c_halts_within_a_second() {
    let mut took = Vec::new();
    while took.last().is_none_or(|last| *last >= Duration::from_secs(3)) {
        assert!(took.len() < 3, "took {took:?}");
        took.push(halted_by_ctrl_c());
    }
}

/// Returns how long a run took to halt in a step of a minute: resumably, with exit code 4.
fn halted_by_ctrl_c() -> Duration {
    let here = &TestDirectory::new();
    let run = "run iops --profile quick --target scratch.bin --size 128MiB --step-time 60s -o run";
    let child = spawn_in(here, run, Stdio::piped(), Stdio::piped());
    // The preconditioning is followed by the step of a minute.
    wait_until("the first step", || finished_steps(&here.join("run")) > 0);
    signal(&child, libc::SIGINT);
    let sent = Instant::now();
    let output = child.wait_with_output().unwrap();
    let took = sent.elapsed();
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(stderr(&output).contains("steadfast resume"), "{}", stderr(&output));
    let stopped = run_in(here, "resume run --stop");
    assert!(stderr(&stopped).contains("no round is complete"), "{}", stderr(&stopped));
    took
}

/// The run directory's disk fills up: the run halts, nothing is lost, and it continues when there is
/// room again.
#[test]
fn a_full_disk_halts_the_run_resumably() {
    if !is_root() {
        return skip("needs root to mount a small tmpfs");
    }
    let here = &TestDirectory::new();
    let Some(_mount) = Mount::of_kind("tmpfs", "size=64k", here.to_path_buf()) else {
        return skip("tmpfs cannot be mounted");
    };
    let output = run_ending(here, "run iops --target sim:small --profile quick -o run", &[4]);
    let text = stderr(&output);
    assert!(text.contains("No space left") && text.contains("resume"), "{text}");
    assert!(Ledger::read(&here.join("run")).unwrap().lines.len() > 2, "finished steps are kept");
    let remount = ["-t", "tmpfs", "-o", "remount,size=64m", "tmpfs"];
    let remount = Command::new("mount").args(remount).arg(&**here).status();
    assert!(remount.unwrap().success());
    run_ending(here, "resume run", &[0, 3]);
}

/// The loop device of this name is over another file now: resume refuses it.
#[test]
fn another_device_under_the_same_name_is_refused() {
    let Some(device) = LoopDevice::new(128) else { return };
    let here = &TestDirectory::new();
    let run = format!("run iops --profile quick --step-time 60s {} -o run", device.confirmed());
    let child = spawn_in(here, &run, Stdio::null(), Stdio::null());
    wait_until("the first step", || finished_steps(&here.join("run")) > 0);
    signal(&child, libc::SIGTERM);
    assert_eq!(code(&child.wait_with_output().unwrap()), 4);
    let other = tempfile::NamedTempFile::new().unwrap();
    other.as_file().set_len(128 << 20).unwrap();
    device.attach(other.path());
    let output = run_ending(here, "resume run", &[1]);
    assert!(stderr(&output).contains(device.name()), "{}", stderr(&output));
}
