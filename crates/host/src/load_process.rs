//! Child processes that inherit an armed target. Only a process of its own can have its I/O charged
//! to a control group of its own: cgroup v2 moves whole processes.
//!
//! A child is this program again, started with the hidden command `attend-load`. Its standard input
//! is the armed handle itself, so it opens no device and arms none; its standard output is one end
//! of a socket pair, over which both sides exchange lines of JSON. The handle shares its exclusive
//! claim with the parent's. The child ends when the parent does: the kernel kills it
//! (`PR_SET_PDEATHSIG`), and its end of the socket is closed.

use crate::error::HostError;
use crate::target::{InheritedTarget, Target};
use crate::tool::command;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Hidden subcommand that runs in the child process of a load.
pub const ATTEND_LOAD: &str = "attend-load";

/// Path of the running program; works even if its file was replaced or deleted.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Longest wait for the end of a child that was killed.
const END_WAIT_MAX: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Messages to and from another process, one per line.
pub struct MessageLink {
    socket: UnixStream,
    received: Vec<u8>,
}

impl MessageLink {
    fn new(socket: UnixStream) -> Self {
        MessageLink { socket, received: Vec::new() }
    }

    /// Returns another handle for sending.
    ///
    /// # Errors
    /// The descriptor cannot be duplicated.
    pub fn sender(&self) -> io::Result<MessageLink> {
        self.socket.try_clone().map(MessageLink::new)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The other process has ended.
    pub fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.socket.write_all(&line)
    }

    /// Receives the next message. Returns `None` if none arrives within `wait`; waits forever if `wait`
    /// is `None`.
    ///
    /// # Errors
    /// Returns `UnexpectedEof` if the other process has ended, and `InvalidData` if it sent
    /// something else.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        wait: Option<Duration>,
    ) -> io::Result<Option<T>> {
        self.socket.set_read_timeout(wait)?;
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return serde_json::from_slice(&line).map(Some).map_err(io::Error::from);
            }
            let mut part = [0; 1 << 16];
            match self.socket.read(&mut part) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A child process that has inherited a target. It is killed when dropped.
pub struct LoadProcess {
    child: Child,
    /// Messages to and from the child.
    pub link: MessageLink,
}

impl LoadProcess {
    /// Starts a child that inherits the target. It does nothing before it gets an order.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(target: &Target) -> Result<LoadProcess, HostError> {
        let program = Path::new(OWN_PROGRAM);
        let failed = |error| HostError::io("start it again for a load", program, error);
        let (own, other) = UnixStream::pair().map_err(failed)?;
        let (handle, facts) = target.inheritable().map_err(failed)?;
        let child = command(program)
            .map_err(failed)?
            .arg0("steadfast")
            .arg(ATTEND_LOAD)
            .stdin(Stdio::from(handle))
            .stdout(Stdio::from(OwnedFd::from(other)))
            // Ctrl-C must reach only this process, which then ends its children.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut process = LoadProcess { child, link: MessageLink::new(own) };
        process.link.send(&facts).map_err(failed)?;
        Ok(process)
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process without waiting for its end.
    pub fn kill(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
    }

    /// Waits until the process has ended, which it does once none of its I/Os is outstanding. Returns
    /// false if it has not ended after `timeout`.
    pub fn await_end(&mut self, timeout: Duration) -> bool {
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > timeout {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        self.kill();
        // I/Os that a limit holds back delay its end; removing its group lifts the limit.
        self.await_end(END_WAIT_MAX);
    }
}

/// Takes over the target that the parent armed. From now on, this process ends with its parent.
///
/// # Errors
/// This process was not started by [`LoadProcess::start`].
pub fn inherit_target() -> Result<(Target, MessageLink), HostError> {
    let stdout = Path::new("/proc/self/fd/1");
    let failed = |error| HostError::io("take over a load from its parent", stdout, error);
    let socket = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    check_parent(&socket).map_err(failed)?;
    // SAFETY: the option takes a signal number and touches no memory.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) } != 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    let mut link = MessageLink::new(UnixStream::from(socket));
    // A parent that died before the call above has closed its end.
    let facts: Option<InheritedTarget> = link.receive(None).map_err(failed)?;
    let facts = facts.ok_or_else(|| failed(io::ErrorKind::UnexpectedEof.into()))?;
    let handle = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    Ok((Target::inherited(handle, facts).map_err(failed)?, link))
}

/// Refuses a standard output that is not a socket made by the parent, and a parent that runs
/// another program: only this program passes on what it armed.
fn check_parent(socket: &OwnedFd) -> io::Result<()> {
    let refused = || io::Error::other("this command is started by steadfast itself");
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `peer`, which outlives the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut length,
        )
    };
    let parent = std::os::unix::process::parent_id();
    if result != 0 || u32::try_from(peer.pid) != Ok(parent) {
        return Err(refused());
    }
    let identity = |path: &str| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()));
    if identity(OWN_PROGRAM)? != identity(&format!("/proc/{parent}/exe"))? {
        return Err(refused());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_in_order_and_an_end_is_noticed() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut one, mut other) = (MessageLink::new(one), MessageLink::new(other));
        assert_eq!(other.receive::<u32>(Some(Duration::from_millis(1))).unwrap(), None);
        one.send(&"a\nb").unwrap();
        one.send(&vec![7u64; 9]).unwrap();
        assert_eq!(other.receive::<String>(None).unwrap().as_deref(), Some("a\nb"));
        assert_eq!(other.receive::<Vec<u64>>(None).unwrap(), Some(vec![7; 9]));
        one.send(&"text").unwrap();
        let kind = |result: io::Result<Option<u32>>| result.unwrap_err().kind();
        assert_eq!(kind(other.receive(None)), io::ErrorKind::InvalidData);
        drop(one);
        assert_eq!(kind(other.receive(None)), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_socket_of_another_process_is_refused() {
        // Its peer is this process, not the parent.
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(check_parent(&OwnedFd::from(one)).is_err());
        let file = tempfile::tempfile().unwrap();
        assert!(check_parent(&OwnedFd::from(file)).is_err());
    }
}
