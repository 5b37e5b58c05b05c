//! A load from several hosts: three real fio servers, each behind its own sshd in a network
//! namespace of its own, on one loop device.

use super::fixtures::*;
use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Numbers the networks of this process.
static NETWORK: AtomicU32 = AtomicU32::new(0);

/// The port of every host's sshd, each on an address of its own.
const PORT: u16 = 2207;

/// Hosts that are network namespaces, each with an sshd that takes a key made for the test.
pub struct NamespaceHosts {
    directory: tempfile::TempDir,
    pub hosts: Vec<Namespace>,
    _sshd_directory: SshdDirectory,
}

/// The directory that sshd needs: whoever makes it for this process removes it after its last use.
struct SshdDirectory;

struct SshdDirectoryUse {
    users: u32,
    is_ours: bool,
}

static SSHD_DIRECTORY: Mutex<SshdDirectoryUse> =
    Mutex::new(SshdDirectoryUse { users: 0, is_ours: false });

impl SshdDirectory {
    fn new() -> SshdDirectory {
        let mut directory = SSHD_DIRECTORY.lock().unwrap();
        directory.is_ours |= fs::create_dir("/run/sshd").is_ok();
        directory.users += 1;
        SshdDirectory
    }
}

impl Drop for SshdDirectory {
    fn drop(&mut self) {
        let mut directory = SSHD_DIRECTORY.lock().unwrap();
        directory.users -= 1;
        if directory.users == 0 && std::mem::take(&mut directory.is_ours) {
            let _ = fs::remove_dir("/run/sshd");
        }
    }
}

/// The server program: the system's, or one that scripts/openssh unpacked.
struct Sshd {
    program: PathBuf,
    libraries: Option<String>,
}

impl Sshd {
    fn find() -> Option<Sshd> {
        let installed = PathBuf::from("/usr/sbin/sshd");
        if installed.exists() {
            return Some(Sshd { program: installed, libraries: None });
        }
        let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("openssh");
        let program = unpacked.join("usr/sbin/sshd");
        let mut libraries = Vec::new();
        for above in ["usr/lib", "lib"] {
            for entry in fs::read_dir(unpacked.join(above)).into_iter().flatten().flatten() {
                libraries.push(entry.path().display().to_string());
            }
        }
        program.exists().then(|| Sshd { program, libraries: Some(libraries.join(":")) })
    }

    /// The command that runs it in a network namespace and a mount namespace. One that is not
    /// installed gets a list of users of its own, which has the user that its unprivileged
    /// part runs as. A program in `bin` takes the place of the system's.
    fn command(&self, namespace: &str, passwd: &Path, bin: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, "unshare", "-m", "sh", "-c"]);
        let mut users = fs::read_to_string("/etc/passwd").unwrap();
        if !users.contains("\nsshd:") {
            users += "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n";
        }
        fs::write(passwd, users).unwrap();
        fs::set_permissions(passwd, fs::Permissions::from_mode(0o644)).unwrap();
        let text = "mount --bind \"$0\" /etc/passwd || exit
            if [ -e \"$1\" ]; then mount --bind \"$1\" \"$(command -v fio)\" || exit; fi
            shift
            exec \"$@\"";
        command.arg(text).arg(passwd).arg(bin.join("fio"));
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command.arg(&self.program);
        command
    }
}

pub struct Namespace {
    name: String,
    pub namespace: String,
    address: String,
    sshd: Option<Child>,
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    match output {
        Err(error) => Err(format!("{program} cannot be run: {error}")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{program} {arguments:?}: {}", stderr(&output).trim())),
    }
}

impl NamespaceHosts {
    /// Returns hosts named a, b, c; prints the reason and returns `None` where they are unavailable.
    pub fn new(count: usize) -> Option<NamespaceHosts> {
        match NamespaceHosts::build(count) {
            Ok(hosts) => Some(hosts),
            Err(reason) => {
                skip(&reason);
                None
            }
        }
    }

    fn build(count: usize) -> Result<NamespaceHosts, String> {
        if !is_root() {
            return Err("needs root for network namespaces".to_owned());
        }
        if Sshd::find().is_none() {
            return Err("no sshd: scripts/openssh target/openssh unpacks one".to_owned());
        }
        for program in ["ssh", "fio"] {
            run(program, &[if program == "ssh" { "-V" } else { "--version" }])?;
        }
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let key = |name: &str| directory.path().join(name).display().to_string();
        for name in ["host", "user"] {
            run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &key(name)])?;
        }
        let mut all =
            NamespaceHosts { directory, hosts: Vec::new(), _sshd_directory: SshdDirectory::new() };
        let network = NETWORK.fetch_add(1, Ordering::Relaxed);
        for at in 0..count {
            all.add(at, network)?;
        }
        all.write_config();
        Ok(all)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn add(&mut self, at: usize, network: u32) -> Result<(), String> {
        let name = char::from(b'a' + u8::try_from(at).unwrap()).to_string();
        let id = std::process::id() % 50_000;
        let namespace = format!("sf{id}x{network}{name}");
        let net = format!("10.{}.{}", 100 + id % 100, network * 8 + u32::try_from(at).unwrap());
        let address = format!("{net}.2");
        run("ip", &["netns", "add", &namespace])?;
        // From here on, dropping removes it.
        self.hosts.push(Namespace { name, namespace, address, sshd: None });
        let host = &self.hosts[at];
        let (namespace, outer) = (host.namespace.as_str(), format!("{}o", host.namespace));
        run(
            "ip",
            &["link", "add", &outer, "type", "veth", "peer", "name", "in0", "netns", namespace],
        )?;
        run("ip", &["addr", "add", &format!("{net}.1/24"), "dev", &outer])?;
        run("ip", &["link", "set", &outer, "up"])?;
        let inner = ["netns", "exec", namespace, "ip"];
        let in_it = |arguments: &[&str]| run("ip", &[&inner[..], arguments].concat());
        in_it(&["addr", "add", &format!("{}/24", host.address), "dev", "in0"])?;
        in_it(&["link", "set", "in0", "up"])?;
        in_it(&["link", "set", "lo", "up"])?;
        self.start_sshd(at)
    }

    pub fn start_sshd(&mut self, at: usize) -> Result<(), String> {
        let file = self.path(&format!("sshd{at}"));
        let user = self.path("user.pub");
        let host = &mut self.hosts[at];
        let text = format!(
            "ListenAddress {}:{PORT}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n",
            host.address,
            self.directory.path().join("host").display(),
            user.display(),
        );
        fs::write(&file, text).unwrap();
        let log = fs::File::create(self.directory.path().join(format!("log{at}"))).unwrap();
        let sshd = Sshd::find().ok_or("no sshd")?;
        let child = sshd
            .command(
                &host.namespace,
                &self.directory.path().join("passwd"),
                &self.directory.path().join(format!("bin{at}")),
            )
            .args(["-D", "-e", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())?;
        host.sshd = Some(child);
        let begun = Instant::now();
        while TcpStream::connect((host.address.as_str(), PORT)).is_err() {
            if begun.elapsed() > Duration::from_secs(60) {
                return Err(format!("sshd does not listen on {}", host.address));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// The process ID of a host's sshd, which is in the host's namespaces.
    pub fn process(&self, at: usize) -> u32 {
        self.hosts[at].sshd.as_ref().unwrap().id()
    }

    pub fn stop_sshd(&mut self, at: usize) {
        if let Some(mut sshd) = self.hosts[at].sshd.take() {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
    }

    /// Has a host's fio do something first.
    pub fn wrap_fio(&mut self, at: usize, first: &str) {
        let bin = self.path(&format!("bin{at}"));
        fs::create_dir_all(&bin).unwrap();
        let own = bin.join("original");
        run("sh", &["-c", "cp \"$(command -v fio)\" \"$0\"", own.to_str().unwrap()]).unwrap();
        let text = format!("#!/bin/sh\n{first}\nexec -a fio {} \"$@\"\n", own.display());
        // Another file each time: the last one may be mounted still.
        let _ = fs::remove_file(bin.join("fio"));
        fs::write(bin.join("fio"), text.replace("/bin/sh", "/bin/bash")).unwrap();
        fs::set_permissions(bin.join("fio"), fs::Permissions::from_mode(0o755)).unwrap();
        self.stop_sshd(at);
        self.start_sshd(at).unwrap();
    }

    fn write_config(&self) {
        let each = self.hosts.iter().map(|host| {
            format!(
                "Host {}\nHostName {}\nPort {PORT}\nUser root\nIdentityFile {}\nIdentitiesOnly yes\n\
                 StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n",
                host.name,
                host.address,
                self.path("user").display()
            )
        });
        fs::write(self.path("config"), each.collect::<String>()).unwrap();
    }

    /// `--hosts a,b,c --ssh-config ...`.
    pub fn options(&self) -> String {
        let names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        format!("--hosts {} --ssh-config {}", names.join(","), self.path("config").display())
    }

    /// Options that confirm the overwriting of a device on every host.
    pub fn consent(&self, serial: &str) -> String {
        self.hosts.iter().map(|host| format!(" --yes-destroy {}:{serial}", host.name)).collect()
    }

    /// A command on a device from all hosts.
    pub fn command(&self, command: &str, device: &LoopDevice) -> String {
        format!("{command} --target {} {}", device.path, self.options())
    }

    /// The same, confirmed on every host.
    pub fn confirmed(&self, command: &str, device: &LoopDevice) -> String {
        self.command(command, device) + &self.consent(device.name())
    }

    /// Processes of a host's fio server, whoever is their parent.
    pub fn servers(&self, at: usize) -> Vec<i32> {
        let network = |path: String| fs::metadata(path).map(|found| found.ino()).ok();
        let own = network(format!("/var/run/netns/{}", self.hosts[at].namespace));
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_server = |process: &i32| {
            let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
            line.contains("fio\0--server")
                && network(format!("/proc/{process}/ns/net")).is_some_and(|of| Some(of) == own)
        };
        processes.filter(is_server).collect()
    }

    /// Kills all processes that serve a host. They are stopped first: one that was forked since
    /// they were listed would keep the connection, and the load would run to its end.
    pub fn kill_servers(&self, at: usize) {
        let signal_all = |servers: &[i32], signal| {
            for server in servers {
                // SAFETY: kill takes any number; these processes are the test's own.
                unsafe { libc::kill(*server, signal) };
            }
        };
        let mut stopped = self.servers(at);
        loop {
            signal_all(&stopped, libc::SIGSTOP);
            let servers = self.servers(at);
            if servers == stopped {
                return signal_all(&stopped, libc::SIGKILL);
            }
            stopped = servers;
        }
    }
}

impl Drop for NamespaceHosts {
    fn drop(&mut self) {
        for at in 0..self.hosts.len() {
            self.stop_sshd(at);
            let host = &self.hosts[at];
            let _ = run("ip", &["link", "del", &format!("{}o", host.namespace)]);
            let _ = run("ip", &["netns", "del", &host.namespace]);
        }
    }
}

/// Reads, bytes read, writes, bytes written, as the kernel has counted them.
fn kernel_counts(device: &LoopDevice) -> [u64; 4] {
    let counters = device.counters();
    [counters[0], counters[2] * 512, counters[4], counters[6] * 512]
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// The hosts' counts add up to the kernel's, to the I/O and the byte.
#[test]
fn three_hosts_load_one_device_and_their_sum_is_the_devices_own() {
    let Some(hosts) = NamespaceHosts::new(3) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let measure = "measure 'RND 4K RW65' --demand T2Q4 --time 3s --json --keep jobs";
    let here = &TestDirectory::new();
    let before = kernel_counts(&device);
    let answer = succeed_json(here, &hosts.confirmed(measure, &device));
    let after = kernel_counts(&device);
    let measurement = &answer["measurement"];
    let streams = array(&measurement["streams"]);
    let tally = |op: &str, what: &str| {
        let stream = streams.iter().find(|stream| stream["op"] == op).unwrap();
        number(&stream["tally"][what])
    };
    let ours = [
        tally("read", "ios"),
        tally("read", "bytes"),
        tally("write", "ios"),
        tally("write", "bytes"),
    ];
    let kernel = &measurement["kernel"];
    let counters = ["reads", "read_bytes", "writes", "write_bytes"];
    assert_eq!(ours, counters.map(|counter| number(&kernel[counter])));
    // Before the load, the program only reads what lies on the device.
    assert_eq!([ours[2], ours[3]], [after[2] - before[2], after[3] - before[3]]);
    assert!(after[0] - before[0] - ours[0] < 1000, "{before:?} {after:?} {ours:?}");
    let parts = array(&measurement["hosts"]);
    let names: Vec<&str> = parts.iter().map(|part| part["host"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(parts.iter().all(|part| number(&part["ios"]) > 0 && part["fio"].is_string()));
    let sum: u64 = parts.iter().map(|part| number(&part["ios"])).sum();
    assert_eq!(sum, ours[0] + ours[2]);
    assert!(parts.iter().all(|part| part["late"].is_u64()), "{parts:?}");
    // Every second of every host is in a second of the whole.
    let intervals = array(&measurement["intervals"]);
    let tallies = intervals.iter().flat_map(|interval| array(&interval["tallies"]));
    assert_eq!(tallies.map(|tally| number(&tally["ios"])).sum::<u64>(), sum);
    assert!(intervals.len() > 1, "{}", intervals.len());
    assert_eq!(fs::read_dir(here.join("jobs")).unwrap().count(), 6);
    assert_nothing_left(&hosts);
}

/// No server, and no directory of one, outlives the command.
#[track_caller]
pub fn assert_nothing_left(hosts: &NamespaceHosts) {
    wait_until("the end of the servers", || {
        (0..hosts.hosts.len()).all(|at| hosts.servers(at).is_empty())
    });
}

#[test]
fn sequential_hosts_write_every_byte_once() {
    let Some(hosts) = NamespaceHosts::new(3) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let measure = "measure 'SEQ 128K W' --ios 512 --json --data-pattern repeating:5a";
    let here = &TestDirectory::new();
    let answer = succeed_json(here, &hosts.confirmed(measure, &device));
    let hosts = array(&answer["measurement"]["hosts"]).iter();
    let written: u64 = hosts.map(|part| number(&part["bytes"])).sum();
    assert_eq!(written, 64 << 20);
    assert!(fs::read(&device.path).unwrap().iter().all(|byte| *byte == 0x5a));
}

#[test]
fn what_hosts_may_not_do_is_refused_before_anything_is_written() {
    let Some(mut hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let before = kernel_counts(&device);
    let write = hosts.command("measure 'RND 4K W' --time 1s", &device);
    let all = format!("--yes-destroy 'a:{0}' --yes-destroy 'b:{0}'", device.name());
    refuse(here, &write, &["host a", "not confirmed", &all]);
    let one = format!("{write} --yes-destroy a:{}", device.name());
    refuse(here, &one, &["host b", "not confirmed"]);
    let confirmed = hosts.confirmed("measure 'RND 4K W' --time 1s", &device);
    // Somebody there has it open for writing.
    let open = fs::OpenOptions::new().write(true).open(&device.path).unwrap();
    refuse(here, &confirmed, &["host a", "open for writing in"]);
    drop(open);
    let onto = |target: &str| confirmed.replace(&device.path, target);
    let missing = onto("/dev/steadfast-no-such-device");
    refuse(here, &missing, &["host a", "steadfast-no-such-device"]);
    refuse(here, &onto("/tmp/file"), &["name a block device by its path on the hosts"]);
    // Nothing but fio runs there, and no script.
    refuse(here, &format!("{confirmed} --engine uring"), &["omit --engine"]);
    let mixed = hosts.confirmed("measure 'SEQ 128K RW50' --time 1s", &device);
    refuse(here, &mixed, &["restarts both"]);
    // One that cannot be reached.
    hosts.stop_sshd(1);
    refuse(here, &confirmed, &["host b", "ssh -o BatchMode=yes b true"]);
    let after = kernel_counts(&device);
    assert_eq!((before[2], before[3]), (after[2], after[3]));
    for (named, part) in [("-oProxyCommand=x", "not the name of a host"), ("a,a", "twice")] {
        let read = format!("measure 'RND 4K R' --target {} --hosts={named}", device.path);
        refuse(here, &read, &[part]);
    }
}

/// A host whose fio has another version, and one whose fio is too old.
#[test]
fn another_version_of_fio_is_disclosed_and_an_old_one_refused() {
    let Some(mut hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let pretend = |hosts: &mut NamespaceHosts, version: &str| {
        hosts.wrap_fio(1, &format!("case \"$1\" in --version) echo {version}; exit ;; esac"));
    };
    let measure = hosts.command("measure 'RND 4K R' --time 1s", &device);
    pretend(&mut hosts, "fio-3.37");
    let output = run_ending(here, &measure, &[0]);
    assert!(stderr(&output).contains("b: fio-3.37"), "{}", stderr(&output));
    pretend(&mut hosts, "fio-3.1");
    let text = stderr(&run_ending(here, &measure, &[1]));
    assert!(text.contains("host b") && text.contains("fio-3.1 is not supported"), "{text}");
}

/// Servers that run already: they are read from, never written to.
#[test]
fn plain_hosts_are_only_read_from() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let mut servers: Vec<Child> = Vec::new();
    for host in &hosts.hosts {
        let address = format!("--server={},8765", host.address);
        let server = Command::new("ip")
            .args(["netns", "exec", &host.namespace, "fio", &address])
            .current_dir(here)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        servers.push(server);
        wait_until("the server", || TcpStream::connect((host.address.as_str(), 8765)).is_ok());
    }
    let names: Vec<&str> = hosts.hosts.iter().map(|host| host.address.as_str()).collect();
    let target = format!("--target {} --hosts {} --hosts-plain", device.path, names.join(","));
    let read = format!("measure 'RND 4K R' --time 1s --json --size 64MiB {target}");
    let answer = succeed_json(here, &read);
    assert_eq!(array(&answer["measurement"]["hosts"]).len(), 2);
    assert!(answer["measurement"]["hosts"][0].get("late").is_none());
    let write = format!("measure 'RND 4K W' --time 1s --size 64MiB {target}");
    refuse(here, &write, &["only read from"]);
    refuse(here, &format!("measure 'RND 4K R' --time 1s {target}"), &["--size"]);
    for mut server in servers {
        let _ = server.kill();
        let _ = server.wait();
    }
}

/// A procedure from several hosts to its report, and taken up again.
#[test]
fn a_procedure_runs_from_several_hosts() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let run = "run wsat --profile quick --steady-state time:3s --step-time 1s -o run";
    let run = hosts.confirmed(run, &device);
    let text = stderr(&run_ending(here, &run, &[1]));
    assert!(text.contains("--purge none"), "{text}");
    run_ending(here, &format!("{run} --purge none"), &[0, 3]);
    assert!(fs::read_to_string(here.join("run/findings.json")).unwrap().contains("hosts-load"));
    assert!(here.join("run/report.html").exists());
    assert_nothing_left(&hosts);
}

/// Returns the bytes read and written by a run, once each step has two hosts and the kernel's bytes.
/// The kernel may split I/Os of a megabyte, so that their number says nothing.
fn measured_bytes(run: &Path) -> [u64; 2] {
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let mut sums = [0; 2];
    for line in journal.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let measured = &line["entry"]["applied"]["outcome"]["measurement"];
        let mut step = [0; 2];
        for stream in measured["streams"].as_array().into_iter().flatten() {
            step[usize::from(stream["op"] == "write")] += number(&stream["tally"]["bytes"]);
            assert_eq!(measured["hosts"].as_array().map(Vec::len), Some(2), "{measured}");
        }
        if step != [0; 2] {
            let kernel = &measured["kernel"];
            assert_eq!(step, ["read_bytes", "write_bytes"].map(|bytes| number(&kernel[bytes])));
        }
        sums[0] += step[0];
        sums[1] += step[1];
    }
    assert!(sums.iter().all(|sum| *sum > 0), "{sums:?}");
    sums
}

/// A job file of fio and TKperf's own command line, from several hosts.
#[test]
fn tests_of_other_tools_run_from_several_hosts() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let job = "[global]\nioengine=libaio\ndirect=1\ntime_based\nruntime=2\n\
               [reads]\nrw=randread\nbs=4k\niodepth=8\n\
               [writes]\nstonewall\nrw=randwrite\nbs=8k\niodepth=4\n";
    fs::write(here.join("two.fio"), job).unwrap();
    let run = hosts.command("fio two.fio -o run", &device);
    let text = stderr(&run_ending(here, &run, &[1]));
    assert!(text.contains("--yes-destroy"), "{text}");
    let before = kernel_counts(&device);
    succeed(here, &hosts.confirmed("fio two.fio -o run", &device));
    assert_eq!(measured_bytes(&here.join("run"))[1], kernel_counts(&device)[3] - before[3]);

    let plan = format!("tkperf ssd old {} -ssdt lat --plan --size 64MiB", device.path);
    succeed(here, &format!("{plan} {}", hosts.options()));
    assert_nothing_left(&hosts);
}

/// Configurations and presets, from several hosts: what the kernel counted is what their
/// results add up to.
#[test]
fn presets_run_from_several_hosts() {
    let Some(hosts) = NamespaceHosts::new(2) else { return };
    let Some(device) = LoopDevice::new(64) else { return };
    let here = &TestDirectory::new();
    let icf = super::iometer::icf().replace("131072,2048", "65536,2048");
    fs::write(here.join("two.icf"), icf).unwrap();
    let marks = "crystaldiskmark --test-size 16MiB --runs 1 --time 1s --interval 0s";
    let bars = "atto --min-size 4KiB --max-size 8KiB --test-size 4MiB";
    for (run, command) in [("i", "iometer two.icf"), ("c", marks), ("a", bars)] {
        let before = kernel_counts(&device);
        succeed(here, &hosts.confirmed(&format!("{command} -o {run}"), &device));
        let after = kernel_counts(&device);
        let written = after[3] - before[3];
        assert_eq!(measured_bytes(&here.join(run))[1], written, "{command}");
        assert!(here.join(run).join("report.html").exists(), "{command}");
    }
    assert_nothing_left(&hosts);
}
