//! A device that several hosts share, and the fio servers on those hosts that use it.
//!
//! [`arm_hosts`] does for other hosts what [`crate::arm`] does for this one. Over ssh it runs this
//! program on every host ([`attend_host`]), which checks the device with [`crate::arm`] there. The
//! device is refused unless all hosts see the same one, none of them uses it, and the user has
//! confirmed its loss on each (`HOST:SERIAL`). Only then does a server start, with a handle on the
//! checked device. Hosts without a shell ([`plain_hosts`]) can only be read from.

mod attendant;
mod program;
mod session;
mod view;

use crate::arming::{Consent, arm};
use crate::clocks::unix_nanos;
use crate::files::Directory;
use crate::identity::{confirmation, devices};
use crate::refusal::losses_text;
use crate::system_roots::SystemRoots;
use crate::target::Target;
use crate::tool::command;
use program::ProgramImage;
use session::RemoteSession;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use steadfast_domain::measurement::KernelCounters;
use steadfast_domain::settings::HostList;
use steadfast_domain::{Bytes, Device, Nanos, Transport};

pub use attendant::attend_host;
pub use session::RemoteError;
pub(crate) use session::lines_of;
pub(crate) use view::{HostVerdict, HostView};

/// Number of readings of a host's clock; the quickest one is used.
const CLOCK_READINGS: usize = 3;

/// A fio server on another host.
#[derive(Debug)]
pub struct RemoteHost {
    /// Host name as given by the user.
    pub name: String,
    /// Argument of `fio --client=`.
    pub address: String,
    /// Output of its `fio --version`; `None` for a host without a shell.
    pub fio: Option<String>,
    /// Kernel release; `None` for a host without a shell.
    pub kernel: Option<String>,
    /// File name of the device for its server.
    pub filename: String,
    boot: Option<String>,
    session: Option<RemoteSession>,
    /// True if the host holds the device exclusively.
    holds: bool,
    /// Offset of its wall clock from ours; `None` for a host without a shell.
    clock_offset_ns: Option<i128>,
}

/// A device that is armed on several hosts. Dropping it ends their servers.
#[derive(Debug)]
pub struct RemoteTarget {
    device: Device,
    writable: bool,
    /// The hosts, in the user's order.
    pub hosts: Vec<RemoteHost>,
    /// Devices of this machine that may be the same one, held exclusively.
    _here: Vec<Target>,
    /// Directory with our ends of the tunnels.
    _place: Option<TunnelDirectory>,
}

/// Consent of the user for a device of other hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostsConsent<'c> {
    /// The device is only read.
    Read,
    /// Confirmations that the device may be overwritten, each as `HOST:SERIAL`.
    Named(&'c [String]),
    /// The loss of this device was confirmed when the run started; it is overwritten if it proves
    /// to be the same device.
    Same(&'c Device),
}

/// Arms a device on every host of a list.
///
/// # Errors
/// A host cannot be reached, sees another device or uses it, or the user has not confirmed the
/// loss of the device there.
pub fn arm_hosts(
    list: &HostList,
    path: &str,
    consent: HostsConsent<'_>,
) -> Result<RemoteTarget, RemoteError> {
    let mut connected = reach(list, path)?;
    let device = connected.examine(path, consent)?;
    let local_targets =
        if consent == HostsConsent::Read { Vec::new() } else { connected.hold_here(path)? };
    let ConnectedHosts { hosts, place } = connected;
    let mut target = RemoteTarget {
        device,
        writable: consent != HostsConsent::Read,
        hosts: Vec::new(),
        _here: local_targets,
        _place: Some(place),
    };
    for ConnectedHost { mut session, view, holds } in hosts {
        let handle = session.value("serve", "serves")?;
        let clock_offset_ns = clock_offset_ns(&mut session)?;
        target.hosts.push(RemoteHost {
            name: session.host.clone(),
            address: format!("sock:{}", session.socket.display()),
            fio: Some(view.fio),
            kernel: Some(view.kernel),
            filename: format!("/proc/self/fd/{handle}"),
            boot: Some(view.boot),
            session: Some(session),
            holds,
            clock_offset_ns: Some(clock_offset_ns),
        });
    }
    Ok(target)
}

/// Returns the device as the hosts of a list see it. Starts, holds and writes nothing.
///
/// # Errors
/// As [`arm_hosts`] for reading.
pub fn inspect_from_hosts(list: &HostList, path: &str) -> Result<Device, RemoteError> {
    reach(list, path)?.examine(path, HostsConsent::Read)
}

/// Returns a read-only target for hosts without a shell. Nothing is known about these hosts; `size`
/// is the capacity stated by the user.
pub fn plain_hosts(list: &HostList, path: &str, size: Bytes) -> RemoteTarget {
    let host = |name: &String| RemoteHost {
        name: name.clone(),
        address: match name.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => format!("{host},{port}"),
            _ => name.clone(),
        },
        fio: None,
        kernel: None,
        filename: path.to_owned(),
        boot: None,
        session: None,
        holds: false,
        clock_offset_ns: None,
    };
    let hosts = list.names.iter().map(host).collect();
    let device = unseen(path, size);
    RemoteTarget { device, writable: false, hosts, _here: Vec::new(), _place: None }
}

/// Returns a device with only its path and size known.
pub fn unseen(path: &str, size: Bytes) -> Device {
    Device {
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        ..Device::new(path, Transport::Other, size)
    }
}

/// Hosts that have answered with their view of the device.
struct ConnectedHosts {
    /// In the user's order.
    hosts: Vec<ConnectedHost>,
    place: TunnelDirectory,
}

struct ConnectedHost {
    session: RemoteSession,
    /// The device as seen by this host.
    view: HostView,
    /// True if it holds the device.
    holds: bool,
}

/// A directory that only this user can enter, for our ends of the tunnels. A shell removes it when
/// this process ends, even if it is killed.
#[derive(Debug)]
struct TunnelDirectory {
    path: PathBuf,
    remover: Child,
}

impl TunnelDirectory {
    fn new() -> Result<TunnelDirectory, RemoteError> {
        // The path of a socket is limited to 107 bytes, which TMPDIR could exceed.
        let path = PathBuf::from(format!("/tmp/steadfast-{}", random_name()?));
        let failed =
            |error| RemoteError::here(format!("{} cannot be created: {error}", path.display()));
        Directory::check_place(&path).map_err(|error| RemoteError::here(error.to_string()))?;
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let removes = "trap '' HUP INT TERM; cat >/dev/null; rm -rf -- \"$1\"";
        let remover = command(Path::new("sh")).and_then(|mut shell| {
            shell.args(["-c", removes, "sh"]).arg(&path).process_group(0);
            shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        });
        match remover {
            Ok(remover) => Ok(TunnelDirectory { path, remover }),
            Err(error) => {
                let _ = std::fs::remove_dir(&path);
                Err(RemoteError::here(format!("sh cannot be run: {error}")))
            }
        }
    }
}

impl Drop for TunnelDirectory {
    fn drop(&mut self) {
        drop(self.remover.stdin.take());
        let _ = self.remover.wait();
    }
}

/// Returns a random name of 20 hexadecimal digits.
fn random_name() -> Result<String, RemoteError> {
    let random = crate::facts::random_name(&SystemRoots::real()).ok_or_else(|| {
        RemoteError::here("/proc/sys/kernel/random/uuid cannot be read".to_owned())
    })?;
    Ok(random.chars().filter(char::is_ascii_alphanumeric).take(20).collect())
}

/// Logs in on every host and requests its view of the device.
fn reach(list: &HostList, path: &str) -> Result<ConnectedHosts, RemoteError> {
    let place = TunnelDirectory::new()?;
    let program = ProgramImage::open().map_err(|error| {
        RemoteError::here(format!("this program cannot be read (/proc/self/exe): {error}"))
    })?;
    let config = list.ssh_config.as_deref().map(Path::new);
    let mut sessions = Vec::new();
    for host in &list.names {
        sessions.push(RemoteSession::begin(host, config, path, &place.path, &random_name()?)?);
    }
    // In parallel, because each host takes a moment.
    for session in &mut sessions {
        session.send_program(&program)?;
    }
    for session in &mut sessions {
        session.await_program()?;
        session.request("look")?;
    }
    let mut hosts = Vec::new();
    for mut session in sessions {
        let view = session.parsed("view")?;
        hosts.push(ConnectedHost { session, view, holds: false });
    }
    Ok(ConnectedHosts { hosts, place })
}

impl ConnectedHosts {
    /// Checks the device on all hosts, holds it if it will be overwritten, and returns it.
    fn examine(&mut self, path: &str, consent: HostsConsent<'_>) -> Result<Device, RemoteError> {
        let first = &self.hosts[0];
        for ConnectedHost { session, view, .. } in &self.hosts {
            if let Some(why) = view.unusable() {
                return Err(session.error(format!("{path}: {why}")));
            }
            if let Some(why) = view.differs_from(&first.view) {
                return Err(session.error(format!(
                    "{path} is not shown to be the device that host {} sees: {why}. Nothing was \
                     written. Name it by a path under /dev/disk/by-id that leads to the same \
                     device on every host",
                    first.session.host
                )));
            }
        }
        let losses =
            if consent == HostsConsent::Read { Vec::new() } else { self.require_free(path)? };
        match consent {
            HostsConsent::Read => return Ok(self.shared()),
            HostsConsent::Named(given) => self.require_confirmations(path, given, &losses)?,
            HostsConsent::Same(device) => self.require_same(path, device)?,
        }
        self.hold(path)?;
        Ok(self.hosts[0].view.device.clone())
    }

    /// Returns the device for reading, with its uses on all hosts: a device that is only read may
    /// be in use.
    fn shared(&self) -> Device {
        let mut device = self.hosts[0].view.device.clone();
        device.in_use.clear();
        for ConnectedHost { session, view, .. } in &self.hosts {
            let uses = view.device.in_use.iter();
            device.in_use.extend(uses.map(|how| format!("{}: {how}", session.host)));
        }
        device
    }

    /// Refuses a device that a host uses. Returns the data that overwriting would destroy, by host.
    fn require_free(&mut self, path: &str) -> Result<Vec<Vec<String>>, RemoteError> {
        for host in &mut self.hosts {
            host.session.request("judge")?;
        }
        let mut losses = Vec::new();
        for ConnectedHost { session, .. } in &mut self.hosts {
            match session.parsed("verdict")? {
                HostVerdict::Free(lost) => losses.push(lost),
                HostVerdict::Refused(why) => {
                    return Err(session.error(format!("{path}: {why}. Nothing was written")));
                }
            }
        }
        Ok(losses)
    }

    /// Refuses a device that is not the device of the resumed run.
    fn require_same(&self, path: &str, device: &Device) -> Result<(), RemoteError> {
        let first = &self.hosts[0];
        if device.has_identity() && first.view.device.is_same(device) {
            return Ok(());
        }
        Err(first.session.error(format!(
            "cannot prove that {path} is the device that this run may overwrite. Nothing was done \
             to it. To overwrite all of it, confirm it again: {}",
            self.confirmations().join(" ")
        )))
    }

    /// Returns the options that confirm the loss of the device on every host.
    fn confirmations(&self) -> Vec<String> {
        let confirmations = self.hosts.iter().map(ConnectedHost::confirmation);
        confirmations.map(|confirmation| format!("--yes-destroy '{confirmation}'")).collect()
    }

    fn require_confirmations(
        &self,
        path: &str,
        given: &[String],
        losses: &[Vec<String>],
    ) -> Result<(), RemoteError> {
        for (host, losses) in self.hosts.iter().zip(losses) {
            if !given.contains(&host.confirmation()) {
                let text = losses_text(losses);
                return Err(host.session.error(format!(
                    "overwriting {path} is not confirmed there; it would destroy: {text}. To \
                     destroy all of that, confirm with {}",
                    self.confirmations().join(" ")
                )));
            }
        }
        Ok(())
    }

    /// Holds the device exclusively on every host, so that none starts to use it. If several hosts
    /// run on the same kernel, one holds it for all.
    fn hold(&mut self, path: &str) -> Result<(), RemoteError> {
        for index in 0..self.hosts.len() {
            let (before, rest) = self.hosts.split_at_mut(index);
            let host = &mut rest[0];
            if before.iter().any(|other| other.view.boot == host.view.boot) {
                continue;
            }
            host.session.ask("hold").map_err(|error| RemoteError {
                what: format!("{path}: {}. Nothing was written", error.what),
                ..error
            })?;
            host.holds = true;
        }
        Ok(())
    }

    /// Arms and holds every device of this machine that may be the same one. If a host runs on this
    /// machine's kernel, the device is already held.
    fn hold_here(&self, path: &str) -> Result<Vec<Target>, RemoteError> {
        let refused =
            |what: String| RemoteError::here(format!("{path}: {what}. Nothing was written"));
        let roots = SystemRoots::real();
        let boot = roots
            .boot_id()
            .ok_or_else(|| refused("/proc/sys/kernel/random/boot_id cannot be read".to_owned()))?;
        if self.hosts.iter().any(|host| host.view.boot == boot) {
            return Ok(Vec::new());
        }
        let mut targets = Vec::new();
        for device in devices(&roots).map_err(|error| refused(error.to_string()))? {
            if !self.hosts[0].view.may_be(&device) {
                continue;
            }
            let named =
                confirmation(&device, &roots).map_err(|error| refused(error.to_string()))?;
            let consent = Consent::Destroy { confirmation: Some(named) };
            let armed = arm(&device, &consent, &[], &roots);
            targets.push(armed.map_err(|why| {
                refused(format!(
                    "this machine's {} has the same size, nothing shows that it is another \
                     device, and it is not free: {why}",
                    device.path
                ))
            })?);
        }
        Ok(targets)
    }
}

impl ConnectedHost {
    /// Returns the value of `--yes-destroy` that confirms the loss of the device on this host.
    fn confirmation(&self) -> String {
        format!("{}:{}", self.session.host, self.view.confirmation)
    }
}

impl RemoteTarget {
    /// Returns the device as the first host sees it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns true if the device may be overwritten.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Checks again that no host has started to use the device.
    ///
    /// # Errors
    /// A host uses the device or does not answer.
    pub fn check_still_free(&mut self) -> Result<(), RemoteError> {
        if !self.writable {
            return Ok(());
        }
        // In parallel, because each host takes a moment.
        for host in self.hosts.iter_mut().filter(|host| host.holds) {
            if let Some(session) = &mut host.session {
                session.request("check")?;
            }
        }
        for host in self.hosts.iter_mut().filter(|host| host.holds) {
            if let Some(session) = &mut host.session {
                session.answer()?;
            }
        }
        Ok(())
    }

    /// Returns the sum of the device's kernel counters over all hosts, counting each kernel once;
    /// `None` if a host has no shell or no counters.
    pub fn counters(&mut self) -> Option<KernelCounters> {
        let mut kernels: Vec<String> = Vec::new();
        let mut sum = KernelCounters::default();
        for host in &mut self.hosts {
            let (session, boot) = (host.session.as_mut()?, host.boot.clone()?);
            if kernels.contains(&boot) {
                continue;
            }
            session.request("counters").ok()?;
            let counters: KernelCounters = session.parsed::<Option<_>>("counters").ok()??;
            sum.add(&counters);
            kernels.push(boot);
        }
        Some(sum)
    }
}

impl RemoteHost {
    /// Sends the host the start time of its threads, in nanoseconds since 1970 by our wall clock.
    /// Returns false for a host without a shell.
    ///
    /// # Errors
    /// The host does not answer.
    pub fn begin_at(&mut self, unix: Nanos) -> Result<bool, RemoteError> {
        let (Some(session), Some(offset)) = (&mut self.session, self.clock_offset_ns) else {
            return Ok(false);
        };
        let host_time = i128::from(unix.0) + offset;
        session.ask(&format!("at {host_time}"))?;
        Ok(true)
    }

    /// Returns the command, to be run in the server's directory, that waits for the start time.
    pub fn waits_by(&self) -> Option<&'static str> {
        self.clock_offset_ns.map(|_| "sh begin")
    }

    /// Returns the earliest known start time of its threads, in nanoseconds since 1970 by our wall
    /// clock; `None` if none is known.
    pub fn first_start(&mut self) -> Option<Nanos> {
        let (session, offset) = (self.session.as_mut()?, self.clock_offset_ns?);
        let lines = session.ask("began").ok()?;
        let moments = lines.iter().filter_map(|line| line.strip_prefix("began ")?.parse().ok());
        let ours = moments.map(|there: i128| u64::try_from(there - offset).map(Nanos));
        let ours: Vec<Nanos> = ours.collect::<Result<_, _>>().ok()?;
        ours.into_iter().min()
    }
}

impl Drop for RemoteTarget {
    fn drop(&mut self) {
        // In parallel, because each host takes a moment to end its server.
        std::thread::scope(|scope| {
            for host in self.hosts.drain(..) {
                scope.spawn(move || drop(host));
            }
        });
    }
}

/// Returns the offset of the host's clock from ours in nanoseconds, from the quickest of
/// [`CLOCK_READINGS`] answers.
fn clock_offset_ns(session: &mut RemoteSession) -> Result<i128, RemoteError> {
    let (mut quickest, mut offset) = (i128::MAX, 0);
    for _ in 0..CLOCK_READINGS {
        let before = unix_nanos();
        let text = session.value("clock", "clock")?;
        let after = unix_nanos();
        let host_time: i128 = text
            .parse()
            .map_err(|_| session.error(format!("its clock '{text}' is not a number")))?;
        let took = after - before;
        if took < quickest {
            (quickest, offset) = (took, host_time - (before + took / 2));
        }
    }
    Ok(offset)
}
