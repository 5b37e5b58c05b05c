//! Names of processes whose threads have names of their own. The kernel reports the name of the
//! thread that does an I/O; the name of its process is read from /proc or, if the process has ended
//! by then, from what the programs kept.

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
    /// that goes to the event's `thread`. `kept_name` returns the name of a process that has ended.
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

    /// Returns the name of a process; that of its thread if the process has ended and no name was
    /// kept, or if names are not recorded.
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

    /// Returns the name of a process; empty if it ended before its name was read, and none was kept.
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
        let name = read_name(pid).or_else(|| kept_name(pid)).or(last_known).unwrap_or_default();
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
    }
}
