//! What a run set on host and device, and whether it still is: a purge, a reset or
//! another program can change a write cache behind it.

use steadfast_domain::record::ReadAgain;
use steadfast_domain::{Caveat, CaveatKind, Conditions, caveats};

/// What was asked for, what was read last, and when it has to be read again.
#[derive(Default)]
pub(crate) struct Settled {
    wanted: Option<Conditions>,
    got: Conditions,
    since_purge: Since,
}

/// Where the run stands after its last purge.
#[derive(Default)]
enum Since {
    /// No step has followed it.
    Nothing,
    /// Steps of one phase have.
    Phase(String),
    /// A second phase has begun, or there was no purge.
    #[default]
    Later,
}

impl Settled {
    /// The procedure settled its conditions.
    pub fn set(&mut self, wanted: &Conditions, got: &Conditions) {
        (self.wanted, self.got) = (Some(wanted.clone()), got.clone());
    }

    /// What is to be set again; `None` before anything was.
    pub fn wanted(&self) -> Option<Conditions> {
        self.wanted.clone()
    }

    /// The device was purged.
    pub fn purged(&mut self) {
        self.since_purge = Since::Nothing;
    }

    /// Whether the phase that followed the purge, which preconditions, is over
    /// when a step of this phase begins.
    pub fn precondition_ends(&mut self, phase: &str) -> bool {
        let is_over = matches!(&self.since_purge, Since::Phase(first) if first != phase);
        self.since_purge = match std::mem::take(&mut self.since_purge) {
            Since::Nothing => Since::Phase(phase.to_owned()),
            Since::Phase(first) if first == phase => Since::Phase(first),
            Since::Phase(_) | Since::Later => Since::Later,
        };
        is_over
    }

    /// Keeps what was read; a caveat where it is not what was read before.
    pub fn read(&mut self, got: &Conditions, when: ReadAgain) -> Option<Caveat> {
        let before = std::mem::replace(&mut self.got, got.clone());
        self.wanted.as_ref()?;
        let changes = changes(&before, got);
        (!changes.is_empty()).then(|| {
            Caveat::new(
                CaveatKind::Deviation,
                caveats::CONDITIONS_CHANGED,
                format!("Read back {when}: {}.", changes.join("; ")),
                "Find out what changed it: a purge, a reset of the drive, or another program.",
            )
        })
    }
}

/// What reads otherwise than before. What is unmet was said when it was set.
fn changes(before: &Conditions, now: &Conditions) -> Vec<String> {
    fn told<T: ToString>(value: Option<T>) -> String {
        value.map_or("unknown".to_owned(), |value| value.to_string())
    }
    let merges = |merges: Option<bool>| merges.map(|on| if on { "allowed" } else { "off" });
    let pairs = [
        ("the write cache", told(before.write_cache), told(now.write_cache)),
        ("request merging", told(merges(before.merges)), told(merges(now.merges))),
        ("the I/O scheduler", told(before.scheduler.as_ref()), told(now.scheduler.as_ref())),
        ("the longest request (KiB)", told(before.request_kib_max), told(now.request_kib_max)),
    ];
    let differ = pairs.into_iter().filter(|(_, before, now)| before != now);
    differ.map(|(what, before, now)| format!("{what} is {now}, was {before}")).collect()
}
