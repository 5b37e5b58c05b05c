//! Names of processes whose threads have names of their own. The kernel reports the name of the
//! thread that does an I/O; the name of its process is the one that the programs kept or, if the
//! source keeps none, is read from /proc.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::CommandName;

/// Time for which a name is valid: a process may rename itself, and its PID may be reused.
const NAME_LIFETIME: Duration = Duration::from_secs(1);

const NAMES_MAX: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct ProcessNames {
    /// Names by PID.
    known: HashMap<u32, KnownName>,
}

#[derive(Clone, Copy)]
struct KnownName {
    name: CommandName,
    read_at: Instant,
}

impl ProcessNames {
    /// Sets each event's command to the name of its process; if the thread has a different name,
    /// that goes to the event's `thread`. `kept_name` returns the name that the source kept.
    pub(crate) fn complete(
        &mut self,
        events: &mut [IoEvent],
        kept_name: impl Fn(u32) -> Option<CommandName>,
    ) {
        let now = Instant::now();
        let (mut last_pid, mut process_name) = (0, CommandName::default());
        for event in events.iter_mut().filter(|event| event.tid != event.pid) {
            if event.command.is_empty() || event.tid == 0 {
                continue;
            }
            if last_pid != event.pid {
                last_pid = event.pid;
                process_name = self.name(event.pid, now, &kept_name);
            }
            if !process_name.is_empty() && process_name != event.command {
                event.thread = std::mem::replace(&mut event.command, process_name);
            }
        }
    }

    /// Returns the name of a process; that of its thread if no name was kept and the process has
    /// ended, or if names are not recorded.
    #[cfg(feature = "ebpf")]
    pub(crate) fn name_or(
        &mut self,
        pid: u32,
        thread_name: CommandName,
        kept_name: impl Fn(u32) -> Option<CommandName>,
    ) -> CommandName {
        if thread_name.is_empty() {
            return thread_name;
        }
        let name = self.name(pid, Instant::now(), kept_name);
        if name.is_empty() { thread_name } else { name }
    }

    /// Returns the name of a process; empty if none was kept, and it ended before its name was read.
    fn name(
        &mut self,
        pid: u32,
        now: Instant,
        kept_name: impl Fn(u32) -> Option<CommandName>,
    ) -> CommandName {
        let known = self.known.get(&pid).copied();
        if let Some(known) = known
            && now.duration_since(known.read_at) < NAME_LIFETIME
        {
            return known.name;
        }
        let last_known = known.map(|known| known.name);
        // Another process may have the PID by now: /proc comes second.
        let name = kept_name(pid).or_else(|| read_name(pid)).or(last_known).unwrap_or_default();
        if self.known.len() >= NAMES_MAX {
            self.known.clear();
        }
        self.known.insert(pid, KnownName { name, read_at: now });
        name
    }
}

fn read_name(pid: u32) -> Option<CommandName> {
    fs::read(format!("/proc/{pid}/comm")).ok().map(|content| name_in(&content))
}

/// Returns the name in the content of `/proc/PID/comm`, byte for byte: it may end in a space or in
/// the middle of a character.
fn name_in(content: &[u8]) -> CommandName {
    CommandName::from_bytes(content.strip_suffix(b"\n").unwrap_or(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_a_name_of_its_own_keeps_the_name_of_its_process() {
        let own_id = std::process::id();
        let process = read_name(own_id).unwrap();
        let event = |tid, command| IoEvent { pid: own_id, tid, command, ..IoEvent::default() };
        let worker = CommandName::new("a-worker");
        let mut events = [
            event(own_id, process),
            event(own_id + 1, worker),
            event(own_id + 2, process),
            event(own_id + 3, CommandName::default()),
            event(0, worker),
            // No processes have these PIDs.
            IoEvent { pid: 1 << 23, ..event(1 << 24, worker) },
            IoEvent { pid: 1 << 25, ..event(1 << 26, worker) },
        ];
        let kept_name = |pid| (pid == 1 << 25).then(|| CommandName::new("ended"));
        ProcessNames::default().complete(&mut events, kept_name);
        let none = CommandName::default();
        assert_eq!(
            events.map(|event| event.command),
            [process, process, process, none, worker, worker, CommandName::new("ended")]
        );
        assert_eq!(
            events.map(|event| event.thread),
            [none, worker, none, none, none, none, worker]
        );
        // The process that did the I/O may have ended, and another one may have its PID.
        let mut event = event(own_id + 1, worker);
        let kept_name = |_| Some(CommandName::new("earlier"));
        ProcessNames::default().complete(std::slice::from_mut(&mut event), kept_name);
        assert_eq!((event.command, event.thread), (CommandName::new("earlier"), worker));
    }

    #[test]
    fn a_name_in_proc_is_read_as_the_kernel_has_it() {
        let cut = b"Datentr\xc3\xa4ger-\xc3\0";
        assert_eq!(name_in(b"Datentr\xc3\xa4ger-\xc3\n").0[..15], cut[..15]);
        assert_eq!(name_in(b"two words \n"), CommandName::new("two words "));
        assert_eq!(name_in(b"kworker/u8:3-writeback\n"), CommandName::new("kworker/u8:3-wr"));
        assert!(name_in(b"\n").is_empty());
    }
}
