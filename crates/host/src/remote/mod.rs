//! A device that several hosts share, and fio servers on those hosts that may use it.
//!
//! [`arm_hosts`] is to other hosts what [`crate::arm`] is to this one. Over ssh it has
//! every host's own shell look the device over, and refuses it unless all hosts see the
//! same device, none of them uses it, and the user has given it up on each (`HOST:SERIAL`).
//! Only then is a server started, which holds the handle that was looked at. Hosts without
//! a shell ([`plain_hosts`]) can be read from only.

mod session;
mod sight;

use crate::roots::Roots;
use session::Session;
use sight::{Keepers, Sight};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use steadfast_domain::measurement::KernelCounters;
use steadfast_domain::settings::HostList;
use steadfast_domain::{Bytes, Device, Nanos, Transport};

pub use session::RemoteError;

/// How far the clocks of two hosts may be read apart.
const CLOCK_LOOKS: usize = 3;

/// A server of fio on another host.
#[derive(Debug)]
pub struct RemoteHost {
    /// As the user named it.
    pub name: String,
    /// What `fio --client=` takes.
    pub address: String,
    /// What its fio calls itself; `None` where nobody can ask it.
    pub fio: Option<String>,
    /// Its kernel release; `None` where nobody can ask it.
    pub kernel: Option<String>,
    /// What names the device for its server.
    pub filename: String,
    boot: Option<String>,
    session: Option<Session>,
    /// Its wall clock less ours.
    clock: Option<i128>,
}

/// A device that may be used from several hosts. Dropping it ends their servers.
#[derive(Debug)]
pub struct RemoteTarget {
    device: Device,
    writable: bool,
    /// The hosts, in the user's order.
    pub hosts: Vec<RemoteHost>,
    keepers: Keepers,
    /// Holds our ends of the tunnels.
    place: Option<PathBuf>,
}

/// What the user allows to be done to a device of other hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostsConsent<'c> {
    /// It is only read.
    Read,
    /// What the user gave up, each as `HOST:SERIAL`.
    Named(&'c [String]),
    /// It was given up on these hosts when the run began, and is overwritten if it proves to
    /// be this device.
    Same(&'c Device),
}

/// Arms a device on every host of a list.
///
/// # Errors
/// Where a host cannot be asked, sees another device, uses it, or the user has not
/// given it up there.
pub fn arm_hosts(
    list: &HostList,
    path: &str,
    consent: HostsConsent<'_>,
) -> Result<RemoteTarget, RemoteError> {
    let mut reached = reach(list, path)?;
    let device = reached.examine(path, consent)?;
    let Reached { sessions, sights, place, keepers } = reached;
    let mut target = RemoteTarget {
        device,
        writable: consent != HostsConsent::Read,
        hosts: Vec::new(),
        keepers,
        place: Some(place.keep()),
    };
    for (mut session, sight) in sessions.into_iter().zip(sights) {
        session.serve()?;
        let clock = clock(&mut session)?;
        target.hosts.push(RemoteHost {
            name: session.host.clone(),
            address: format!("sock:{}", session.socket.display()),
            fio: Some(sight.fio),
            kernel: Some(sight.kernel),
            filename: "/proc/self/fd/9".to_owned(),
            boot: Some(sight.boot),
            session: Some(session),
            clock,
        });
    }
    Ok(target)
}

/// What the hosts of a list see of a device. Nothing is started, held or written.
///
/// # Errors
/// As [`arm_hosts`] for reading.
pub fn look_from_hosts(list: &HostList, path: &str) -> Result<Device, RemoteError> {
    reach(list, path)?.examine(path, HostsConsent::Read)
}

/// A device as hosts without a shell see it: they can be read from, and nothing is known
/// of them. `size` is the user's word.
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
        clock: None,
    };
    let hosts = list.names.iter().map(host).collect();
    RemoteTarget {
        device: unseen(path, size),
        writable: false,
        hosts,
        keepers: Keepers::new(),
        place: None,
    }
}

/// A device that nobody has looked at.
pub fn unseen(path: &str, size: Bytes) -> Device {
    Device {
        path: path.to_owned(),
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        transport: Transport::Other,
        model: None,
        serial: None,
        firmware: None,
        wwid: None,
        capacity: size,
        logical_sector: 512,
        physical_sector: 512,
        rotational: None,
        discard: false,
        write_cache: None,
        link: None,
        zoned: None,
        in_use: Vec::new(),
    }
}

/// Hosts that have answered.
struct Reached {
    sessions: Vec<Session>,
    sights: Vec<Sight>,
    place: Place,
    keepers: Keepers,
}

/// A directory that goes again unless it is kept.
struct Place(Option<PathBuf>);

impl Place {
    fn keep(mut self) -> PathBuf {
        self.0.take().unwrap_or_default()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Logs in on every host and has it look at the device.
fn reach(list: &HostList, path: &str) -> Result<Reached, RemoteError> {
    let here = |what: String| RemoteError { host: "here".to_owned(), what };
    let name = |place: usize| -> Result<String, RemoteError> {
        let random = crate::facts::random_name(&Roots::real())
            .ok_or_else(|| here("/proc/sys/kernel/random/uuid cannot be read".to_owned()))?;
        let plain: String = random.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
        Ok(format!("{plain}-{place}"))
    };
    // The path of a socket has at most 107 bytes, however long TMPDIR is.
    let path_here = PathBuf::from(format!("/tmp/steadfast-{}", name(0)?));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&path_here);
    made.map_err(|error| here(format!("{} cannot be created: {error}", path_here.display())))?;
    let place = Place(Some(path_here.clone()));
    let config = list.ssh_config.as_deref().map(Path::new);
    let mut sessions = Vec::new();
    for (at, host) in list.names.iter().enumerate() {
        sessions.push(Session::begin(host, config, path, &path_here, &name(at + 1)?)?);
    }
    let mut sights = Vec::new();
    for session in &mut sessions {
        session.greet()?;
        session.look()?;
    }
    for session in &mut sessions {
        sights.push(session.seen()?);
    }
    Ok(Reached { sessions, sights, place, keepers: Keepers::new() })
}

impl Reached {
    /// The device, once nothing stands against its use.
    fn examine(&mut self, path: &str, consent: HostsConsent<'_>) -> Result<Device, RemoteError> {
        for (session, sight) in self.sessions.iter().zip(&self.sights) {
            if let Some(why) = sight.unusable() {
                return Err(session.error(format!("{path}: {why}")));
            }
            if let Some(why) = sight.differs_from(&self.sights[0]) {
                return Err(session.error(format!(
                    "{path} is not shown to be the device that host {} sees: {why}. Nothing was \
                     written. Name it by a path under /dev/disk/by-id that leads to the same \
                     device on every host",
                    self.sessions[0].host
                )));
            }
        }
        if consent != HostsConsent::Read {
            self.is_free(path)?;
        }
        match consent {
            HostsConsent::Read => return Ok(self.shared(path)),
            HostsConsent::Named(given) => self.is_given_up(path, given)?,
            HostsConsent::Same(device) => self.is_the_same(path, device)?,
        }
        self.hold(path)?;
        Ok(self.sights[0].device(path))
    }

    /// A device that is only read may be in use, on any of the hosts.
    fn shared(&self, path: &str) -> Device {
        let both = self.sessions.iter().zip(&self.sights);
        let uses = both.flat_map(|(session, sight)| {
            sight.uses().into_iter().map(|how| format!("{}: {how}", session.host))
        });
        Device { in_use: uses.collect(), ..self.sights[0].device(path) }
    }

    fn is_free(&self, path: &str) -> Result<(), RemoteError> {
        for (session, sight) in self.sessions.iter().zip(&self.sights) {
            if let Some(why) = sight.obstacle() {
                return Err(session.error(format!("{path}: {why}. Nothing was written")));
            }
        }
        Ok(())
    }

    /// Whether it is the device of the run that is resumed.
    fn is_the_same(&self, path: &str, device: &Device) -> Result<(), RemoteError> {
        let now = self.sights[0].device(path);
        if device.has_identity() && now.is_same(device) {
            return Ok(());
        }
        Err(self.sessions[0].error(format!(
            "cannot prove that {path} is the device that this run may overwrite. Nothing was done \
             to it. To overwrite all of it, confirm it again: {}",
            self.confirmations().join(" ")
        )))
    }

    /// What to type to give it up on every host.
    fn confirmations(&self) -> Vec<String> {
        let both = self.sessions.iter().zip(&self.sights);
        both.map(|(session, sight)| {
            format!("--yes-destroy '{}:{}'", session.host, sight.confirmation())
        })
        .collect()
    }

    fn is_given_up(&self, path: &str, given: &[String]) -> Result<(), RemoteError> {
        let wanted =
            |session: &Session, sight: &Sight| format!("{}:{}", session.host, sight.confirmation());
        let both = || self.sessions.iter().zip(&self.sights);
        let missing = both().find(|(session, sight)| !given.contains(&wanted(session, sight)));
        let Some((session, sight)) = missing else { return Ok(()) };
        Err(session.error(format!(
            "overwriting {path} is not confirmed there; it would destroy: {}. To destroy all of \
             that, confirm with {}",
            sight.losses().join("; "),
            self.confirmations().join(" ")
        )))
    }

    /// Holds the device exclusively on every host, so that none begins to use it. Where
    /// two of them are one kernel, one holds it for both.
    fn hold(&mut self, path: &str) -> Result<(), RemoteError> {
        for (session, sight) in self.sessions.iter_mut().zip(&self.sights) {
            if self.keepers.iter().any(|(boot, _)| *boot == sight.boot) {
                continue;
            }
            let answer = session.value("hold", "exclusive")?;
            let Some(keeper) = answer.strip_prefix("yes ") else {
                let why = answer.strip_prefix("no ").unwrap_or(&answer).to_owned();
                return Err(session.error(format!(
                    "{path} cannot be held exclusively ({why}), so it is taken to be in use. \
                     Nothing was written"
                )));
            };
            self.keepers.push((sight.boot.clone(), keeper.to_owned()));
        }
        Ok(())
    }
}

impl RemoteTarget {
    /// The device, as the first host sees it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether it may be overwritten.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Looks once more whether any host has begun to use the device.
    ///
    /// # Errors
    /// Where one has, or cannot be asked.
    pub fn look_again(&mut self) -> Result<(), RemoteError> {
        if !self.writable {
            return Ok(());
        }
        // All of them at the same time: each takes a moment.
        for session in self.hosts.iter_mut().filter_map(|host| host.session.as_mut()) {
            session.look()?;
        }
        for session in self.hosts.iter_mut().filter_map(|host| host.session.as_mut()) {
            let mut sight = session.seen()?;
            sight.pass_over(&self.keepers);
            if let Some(why) = sight.obstacle() {
                return Err(session.error(why));
            }
        }
        Ok(())
    }

    /// What the kernels of all hosts have counted on the device; `None` without a shell.
    pub fn counters(&mut self) -> Option<KernelCounters> {
        let mut kernels: Vec<String> = Vec::new();
        let mut sum = KernelCounters::default();
        for host in &mut self.hosts {
            let (session, boot) = (host.session.as_mut()?, host.boot.clone()?);
            if kernels.contains(&boot) {
                continue;
            }
            let counted = counters_of(&session.value("counters", "counters").ok()?)?;
            sum.reads += counted.reads;
            sum.read_merges += counted.read_merges;
            sum.read_bytes += counted.read_bytes;
            sum.writes += counted.writes;
            sum.write_merges += counted.write_merges;
            sum.write_bytes += counted.write_bytes;
            kernels.push(boot);
        }
        Some(sum)
    }
}

impl RemoteHost {
    /// Tells the host when its threads are to begin, by our wall clock. `false` where it
    /// cannot be told.
    ///
    /// # Errors
    /// Where it does not answer.
    pub fn begin_at(&mut self, unix: Nanos) -> Result<bool, RemoteError> {
        let (Some(session), Some(clock)) = (&mut self.session, self.clock) else {
            return Ok(false);
        };
        let there = i128::from(unix.0) + clock;
        session.ask(&format!("at {there}"))?;
        Ok(true)
    }

    /// The command, in the server's directory, that waits for that moment.
    pub fn waits_by(&self) -> Option<&'static str> {
        self.clock.map(|_| "sh begin")
    }

    /// When its first and its last thread began, by our wall clock.
    pub fn began(&mut self) -> Option<(Nanos, Nanos)> {
        let (session, clock) = (self.session.as_mut()?, self.clock?);
        let lines = session.ask("began").ok()?;
        let moments = lines.iter().filter_map(|line| line.strip_prefix("began ")?.parse().ok());
        let ours = moments.map(|there: i128| u64::try_from(there - clock).map(Nanos));
        let ours: Vec<Nanos> = ours.collect::<Result<_, _>>().ok()?;
        Some((*ours.iter().min()?, *ours.iter().max()?))
    }
}

impl Drop for RemoteTarget {
    fn drop(&mut self) {
        // Each host takes a moment to end its server: all of them at the same time.
        std::thread::scope(|scope| {
            for host in self.hosts.drain(..) {
                scope.spawn(move || drop(host));
            }
        });
        if let Some(place) = &self.place {
            let _ = std::fs::remove_dir_all(place);
        }
    }
}

/// The host's clock less ours, from the quickest of some answers; `None` where its `date`
/// has no nanoseconds.
fn clock(session: &mut Session) -> Result<Option<i128>, RemoteError> {
    let mut best: Option<(i128, i128)> = None;
    for _ in 0..CLOCK_LOOKS {
        let asked = unix_nanos();
        let there = session.value("clock", "clock")?;
        let answered = unix_nanos();
        let Ok(there) = there.parse::<i128>() else { return Ok(None) };
        let took = answered - asked;
        if best.is_none_or(|(quickest, _)| took < quickest) {
            best = Some((took, there - (asked + took / 2)));
        }
    }
    Ok(best.map(|(_, clock)| clock))
}

fn unix_nanos() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

/// The block layer's `stat` file: sectors of 512 bytes.
fn counters_of(text: &str) -> Option<KernelCounters> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let at = |place: usize| fields.get(place).copied();
    Some(KernelCounters {
        reads: at(0)?,
        read_merges: at(1)?,
        read_bytes: Bytes(at(2)? * 512),
        writes: at(4)?,
        write_merges: at(5)?,
        write_bytes: Bytes(at(6)? * 512),
    })
}
