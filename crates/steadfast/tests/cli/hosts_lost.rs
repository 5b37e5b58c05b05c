//! Hosts that are lost while they load a device, at every phase of a step: they are named,
//! nothing of theirs runs on, and the run is resumed.

use super::fixtures::*;
use super::hosts::{NamespaceHosts, assert_nothing_left};
use super::resume::assert_no_repeats_and_all_gaps;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn send_signal(process: i32, signal: i32) {
    // SAFETY: kill takes any number; these processes are the test's own.
    unsafe { libc::kill(process, signal) };
}

fn begin(here: &Path, command: &str) -> Child {
    spawn_in(here, command, Stdio::piped(), Stdio::piped())
}

fn steps(here: &Path) -> usize {
    finished_steps(&here.join("run"))
}

/// Returns true if no process holds the device exclusively.
fn is_free(device: &LoopDevice) -> bool {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).custom_flags(libc::O_EXCL).open(&device.path).is_ok()
}

/// Stopped, killed and cut off from a host, a run repeats no step and comes to its end; the loop
/// device is confirmed again each time.
#[test]
fn a_run_from_hosts_is_resumed_whatever_ended_it() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    // A minute if nothing stops it.
    let run = "run wsat --profile quick --steady-state time:20s --step-time 1s --purge none -o run";
    let mut next = hosts.confirmed(run, &device);
    for ending in ["SIGINT", "SIGKILL", "server"] {
        let before = steps(here);
        let mut run = begin(here, &next);
        // A busy machine sees a step seconds after it ended: three endings need many more steps.
        wait_until("a step", || steps(here) > before || run.try_wait().unwrap().is_some());
        let mut left = Vec::new();
        match ending {
            "SIGINT" => {
                // The hosts hold the device: no other run gets it, least of all to purge it.
                let other = format!("run iops --profile quick -o other {}", device.confirmed());
                refuse(here, &other, &[&device.path, "open for writing"]);
                signal(&run, libc::SIGINT);
            }
            "SIGKILL" => {
                left = tunnel_directories(run.id());
                signal(&run, libc::SIGKILL);
            }
            _ => hosts.kill_servers(1),
        }
        let ended = run.wait_with_output().unwrap();
        wait_until("the end of the tunnels", || !left.iter().any(|path| path.exists()));
        let text = stderr(&ended);
        match ending {
            "SIGINT" => assert_eq!(code(&ended), 4, "{text}"),
            "SIGKILL" => assert_eq!(code(&ended), -1),
            _ => assert!(code(&ended) == 4 && text.contains("host b"), "{ended:?}"),
        }
        assert_nothing_left(&hosts);
        wait_until("the end of the hosts' hold", || is_free(&device));
        // A loop device has no identity by which it could be recognized.
        refuse(here, "resume run", &["confirm it again: --yes-destroy 'a:loop"]);
        next = format!("resume run {}", hosts.consent(device.name()));
    }
    run_ending(here, &next, &[0, 3]);
    assert_no_repeats_and_all_gaps(&here.join("run"));
    assert_nothing_left(&hosts);
}

/// The directories, here and on the hosts, at the ends of a command's tunnels.
fn tunnel_directories(command: u32) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if !status.contains(&format!("\nPPid:\t{command}\n")) {
            continue;
        }
        for word in line.split('\0').filter(|word| word.starts_with("/tmp/steadfast-")) {
            if let Some((here, there)) = word.split_once(':') {
                all.extend([here, there].map(|end| Path::new(end).parent().unwrap().to_owned()));
            }
        }
    }
    assert!(all.len() >= 4 && all.iter().all(|path| path.exists()), "{all:?}");
    all
}

/// Reads for five minutes from all hosts, and lets `act` once `processes` processes serve host b.
fn lose_host_under_load(
    hosts: &NamespaceHosts,
    device: &LoopDevice,
    processes: usize,
    act: impl Fn(&[i32]),
) -> String {
    let begun = Instant::now();
    let measure = hosts.command("measure 'RND 4K R' --time 300s --json", device);
    let run = begin(Path::new("/"), &measure);
    let mut servers = Vec::new();
    wait_until("the server", || {
        servers = hosts.servers(1);
        servers.len() >= processes
    });
    act(&servers);
    let ended = run.wait_with_output().unwrap();
    let text = stderr(&ended);
    assert_eq!(code(&ended), 1, "{text}");
    assert!(text.contains("host b") && ended.stdout.is_empty(), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(270), "the others ran on: {text}");
    text
}

/// The server before and under its load, the load, or the server alone: the host is named each time.
#[test]
fn a_host_that_dies_in_any_phase_is_named() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    // Before the load: usually the server alone is there.
    lose_host_under_load(&hosts, &device, 1, |_| hosts.kill_servers(1));
    // The server, its worker for our client, and the worker's job.
    let text = lose_host_under_load(&hosts, &device, 3, |_| {
        std::thread::sleep(Duration::from_secs(1));
        hosts.kill_servers(1);
    });
    assert!(text.contains("void"), "{text}");
    // The job dies alone.
    let text = lose_host_under_load(&hosts, &device, 3, |servers| {
        std::thread::sleep(Duration::from_secs(2));
        let worker = child_of(servers, first_of(servers));
        send_signal(child_of(servers, worker), libc::SIGKILL);
    });
    assert!(text.contains("void"), "{text}");
    // The program there is ended, as when the host is shut down.
    lose_host_under_load(&hosts, &device, 3, |servers| {
        send_signal(parent(first_of(servers)), libc::SIGTERM);
    });
    assert_nothing_left(&hosts);
}

/// Returns fio's server itself. It forks a worker for each client, and the worker forks the job. The
/// numbers of processes show no order: they start again from the lowest.
fn first_of(servers: &[i32]) -> i32 {
    let is_first = |server: &&i32| !servers.contains(&parent(**server));
    *servers.iter().find(is_first).unwrap()
}

fn child_of(servers: &[i32], process: i32) -> i32 {
    *servers.iter().find(|server| parent(**server) == process).unwrap()
}

fn parent(process: i32) -> i32 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

/// The server's first process is killed; its worker continues, and is ended with the group.
#[test]
fn a_worker_that_lost_its_server_does_not_run_on() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let measure = hosts.command("measure 'RND 4K R' --time 300s", &device);
    let run = begin(Path::new("/"), &measure);
    let mut servers = Vec::new();
    wait_until("the load", || {
        servers = hosts.servers(1);
        servers.len() >= 3
    });
    send_signal(first_of(&servers), libc::SIGKILL);
    std::thread::sleep(Duration::from_secs(1));
    signal(&run, libc::SIGINT);
    assert_ne!(code(&run.wait_with_output().unwrap()), 0);
    assert_nothing_left(&hosts);
}

/// The cable is pulled: no side notices it, and the host is named all the same.
#[test]
fn a_host_that_is_cut_off_is_named() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    lose_host_under_load(&hosts, &device, 3, |_| {
        std::thread::sleep(Duration::from_secs(2));
        let cable = format!("{}o", hosts.hosts[1].namespace);
        let pulled = Command::new("ip").args(["link", "set", &cable, "down"]).status();
        assert!(pulled.unwrap().success());
    });
    // Its shell hears nothing any more and ends its server in time; this test does not wait.
    hosts.kill_servers(1);
}

/// The shell script that hosts run, for a device, with a short limit of silence.
fn shell(device: &LoopDevice, place: &Path) -> Command {
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src/remote/attend.sh");
    let text = std::fs::read_to_string(text).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let text = format!(
        "device={}\nplace={}\nversion='steadfast {version}'\nsilence=3\n{text}",
        device.path,
        place.display()
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &text]).stdin(Stdio::piped()).stdout(Stdio::piped());
    shell
}

fn send_program(requests: &mut impl Write, program: &[u8]) {
    writeln!(requests, "{}", program.len()).unwrap();
    requests.write_all(program).unwrap();
}

/// The script of a host leaves nothing when nothing is sent or one of its processes is killed.
#[test]
fn a_host_that_hears_nothing_ends_its_server() {
    let Some(device) = LoopDevice::new(8) else { return };
    if !has_fio() {
        return;
    }
    let program = std::fs::read(env!("CARGO_BIN_EXE_steadfast")).unwrap();
    let here = &TestDirectory::new();
    for (number, ending) in ["silent", "shell-killed", "program-killed"].into_iter().enumerate() {
        // As the program names it; it refuses to serve, and to clean up, anywhere else.
        let place = here.join(format!("steadfast-{number:020x}"));
        let mut shell = shell(&device, &place).spawn().unwrap();
        let mut requests = shell.stdin.take().unwrap();
        let mut answers =
            BufReader::new(shell.stdout.take().unwrap()).lines().map_while(Result::ok);
        send_program(&mut requests, &program);
        requests.write_all(b"serve\n").unwrap();
        answers.find(|line| line.starts_with("serves ")).expect("a server");
        let server = std::fs::read_to_string(place.join("server")).unwrap();
        let server: i32 = server.parse().unwrap();
        let is_there = || Path::new(&format!("/proc/{server}")).exists();
        // As long as it is sent something, it continues.
        for _ in 0..5 {
            std::thread::sleep(Duration::from_secs(1));
            requests.write_all(b"pulse\n").unwrap();
            assert!(is_there());
        }
        match ending {
            "shell-killed" => {
                signal(&shell, libc::SIGKILL);
                shell.wait().unwrap();
            }
            "program-killed" => send_signal(parent(server), libc::SIGKILL),
            _ => {}
        }
        wait_until("the end", || !is_there() && !place.exists());
        drop(requests);
        shell.wait().unwrap();
    }
}

/// A program that cannot be run there, or is another version, is not trusted to check.
#[test]
fn a_host_that_cannot_run_the_program_is_refused() {
    let Some(device) = LoopDevice::new(8) else { return };
    let here = &TestDirectory::new();
    let programs: [&[u8]; 5] = [
        b"", b"\x7fELF\x02 of another machine", b"#!/bin/sh\necho steadfast 0.0.1\n",
        b"#!/bin/sh\nexit 1\n", b"#!/steadfast/no/such/loader\n",
    ];
    for (number, program) in programs.iter().enumerate() {
        let place = here.join(number.to_string());
        let mut shell = shell(&device, &place).spawn().unwrap();
        send_program(&mut shell.stdin.take().unwrap(), program);
        let output = shell.wait_with_output().unwrap();
        let text = stdout(&output);
        assert_eq!(code(&output), 1, "{text}");
        assert!(text.contains("\n!") && text.contains("Install steadfast"), "{number}: {text}");
        assert!(!place.exists());
    }
}

/// One host may do less than the others: the throttle limits its fio alone.
#[test]
fn a_host_that_lags_is_named() {
    let Some(mut hosts) = NamespaceHosts::new(3) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let Some(throttle) = Throttle::new(&device, 307) else { return };
    let here = &TestDirectory::new();
    // A network namespace of `ip` has a /sys of its own, without cgroups.
    let procs = throttle.procs();
    let group = procs.strip_prefix("/sys/fs/cgroup/blkio").unwrap().display();
    let place = here.display();
    let mount = format!("mountpoint -q {place} || mount -t cgroup -o blkio cgroup {place}");
    hosts.wrap_fio(1, &format!("{mount}; echo $$ >{place}/{group}"));
    let measure = hosts.command("measure 'RND 4K R' --time 3s", &device);
    // A busy machine may slow another host down in one try.
    let names_b_alone =
        |text: &String| text.contains("Host b lagged in") && !text.contains("Host a lagged");
    let text = best_of_three(|| stderr(&run_ending(here, &measure, &[0])), names_b_alone);
    assert!(names_b_alone(&text), "{text}");
}

/// Two devices, each loaded from two hosts: all four loads begin at one moment.
#[test]
fn several_targets_of_several_hosts_begin_together() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(one) = LoopDevice::new(64) else { return };
    let Some(other) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let measure = format!("measure 'RND 4K RW65' --time 2s --json --target {}", other.path);
    let measure = hosts.confirmed(&measure, &one) + &hosts.consent(other.name());
    let answer = succeed_json(here, &measure);
    let targets = array(&answer["targets"]);
    let starts: Vec<_> = targets.iter().map(|one| &one["measurement"]["common_start"]).collect();
    assert_eq!(starts.len(), 2);
    assert_eq!(starts[0]["agreed"], starts[1]["agreed"]);
    // The lateness depends on the machine; the test checks that it is known.
    assert!(starts.iter().all(|start| start["late"].is_u64()), "{starts:?}");
    for target in targets {
        assert_eq!(array(&target["measurement"]["hosts"]).len(), 2);
    }
    let twice = format!("measure 'RND 4K R' --time 1s --target {}", one.path);
    refuse(here, &hosts.command(&twice, &one), &["are the same device"]);
    assert_nothing_left(&hosts);
}
