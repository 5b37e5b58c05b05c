//! Names of processes whose threads have names of their own. The kernel reports the name of the
//! thread that does an I/O; the name of its process is read from /proc.

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
    /// that goes to the event's `thread`.
    pub(crate) fn complete(&mut self, events: &mut [IoEvent]) {
        let now = Instant::now();
        let (mut last_pid, mut process_name) = (0, CommandName::default());
        for event in events.iter_mut().filter(|event| event.tid != event.pid) {
            if event.command.is_empty() || event.tid == 0 {
                continue;
            }
            if last_pid != event.pid {
                last_pid = event.pid;
                process_name = self.name(event.pid, now);
            }
            if !process_name.is_empty() && process_name != event.command {
                event.thread = std::mem::replace(&mut event.command, process_name);
            }
        }
    }

    /// Returns the name of a process; that of its thread if the process has ended or names are not
    /// recorded.
    #[cfg(feature = "ebpf")]
    pub(crate) fn name_or(&mut self, pid: u32, thread_name: CommandName) -> CommandName {
        if thread_name.is_empty() {
            return thread_name;
        }
        let name = self.name(pid, Instant::now());
        if name.is_empty() { thread_name } else { name }
    }

    /// Returns the name of a process; empty if it ended before its name was read.
    fn name(&mut self, pid: u32, now: Instant) -> CommandName {
        let known = self.known.get(&pid).copied();
        if let Some(known) = known
            && now.duration_since(known.read_at) < NAME_LIFETIME
        {
            return known.name;
        }
        let name = read_name(pid).or(known.map(|known| known.name)).unwrap_or_default();
        if self.known.len() >= NAMES_MAX {
            self.known.clear();
        }
        self.known.insert(pid, KnownName { name, read_at: now });
        name
    }
}

fn read_name(pid: u32) -> Option<CommandName> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(CommandName::new(&String::from_utf8_lossy(name.trim_ascii_end())))
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
            // No process has this PID.
            IoEvent { pid: 1 << 23, ..event(1 << 24, worker) },
        ];
        ProcessNames::default().complete(&mut events);
        let none = CommandName::default();
        assert_eq!(
            events.map(|event| event.command),
            [process, process, process, none, worker, worker]
        );
        assert_eq!(events.map(|event| event.thread), [none, worker, none, none, none, none]);
    }
}
