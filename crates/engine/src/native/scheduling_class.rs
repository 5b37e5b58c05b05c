//! Scheduling class of the playing thread.
//!
//! A thread that sleeps until an I/O is due must run the moment it wakes up, so it has real-time
//! priority (`SCHED_FIFO`). A thread that has been awake for a while must not: everything else on
//! its processor starves, until the kernel takes the processor away for up to 50 ms in every
//! second. So a thread that stays awake returns to the ordinary class, at the highest weight:
//! others run at once, in slices as short as their work.

/// Time in nanoseconds after which an awake thread gives up the real-time class.
const AWAKE_NS: u64 = 5_000_000;

/// Nice value of the highest weight in the ordinary class.
const NICE_MIN: libc::c_int = -20;

#[derive(Debug)]
pub(super) struct SchedulingClass {
    allowed: bool,
    real_time: bool,
    /// Time since which it has been awake; `None` before its first I/O.
    awake_since: Option<u64>,
}

impl SchedulingClass {
    pub(super) fn unchanged() -> SchedulingClass {
        SchedulingClass { allowed: false, real_time: false, awake_since: None }
    }

    /// Takes real-time priority if that is permitted and leaves a processor for everything else.
    /// Also returns a note on the result.
    pub(super) fn raise() -> (SchedulingClass, &'static str) {
        // The thread may poll the clock for as long as it plays.
        if std::thread::available_parallelism().is_ok_and(|processors| processors.get() < 2) {
            return (SchedulingClass::unchanged(), "no real-time priority (one processor)");
        }
        if !enter(libc::SCHED_FIFO, 1) {
            return (SchedulingClass::unchanged(), "no real-time priority (not permitted)");
        }
        // SAFETY: sets one property of the calling thread. If it fails, the thread has its usual
        // weight whenever it is not real-time.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE_MIN) };
        (
            SchedulingClass { allowed: true, real_time: true, awake_since: None },
            "real-time priority",
        )
    }

    #[inline(always)]
    pub(super) fn before_wait(&mut self) {
        self.awake_since = None;
        if self.allowed && !self.real_time {
            self.real_time = enter(libc::SCHED_FIFO, 1);
        }
    }

    #[inline(always)]
    pub(super) fn awake(&mut self, now: u64) {
        if !self.real_time {
            return;
        }
        let since = *self.awake_since.get_or_insert(now);
        if now.saturating_sub(since) > AWAKE_NS {
            self.real_time = !enter(libc::SCHED_OTHER, 0);
        }
    }
}

/// Puts the calling thread into a class. Returns true on success.
#[cold]
fn enter(class: libc::c_int, level: libc::c_int) -> bool {
    let priority = libc::sched_param { sched_priority: level };
    // SAFETY: sets one property of the calling thread; the parameter is valid.
    let set = unsafe {
        libc::sched_setscheduler(0, class | libc::SCHED_RESET_ON_FORK, &raw const priority)
    };
    set == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class() -> libc::c_int {
        // SAFETY: reads one number.
        unsafe { libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK }
    }

    #[test]
    fn real_time_priority_ends_for_a_thread_that_stays_awake() {
        std::thread::spawn(|| {
            let (mut scheduling, description) = SchedulingClass::raise();
            if description != "real-time priority" {
                println!(
                    "SKIPPED: real_time_priority_ends_for_a_thread_that_stays_awake: {description}"
                );
                return;
            }
            assert_eq!(class(), libc::SCHED_FIFO);
            scheduling.awake(1_000_000_000);
            scheduling.awake(1_000_000_000 + AWAKE_NS);
            assert_eq!(class(), libc::SCHED_FIFO, "it may stay awake for a while");
            scheduling.awake(1_000_000_001 + AWAKE_NS);
            assert_eq!(class(), libc::SCHED_OTHER);
            scheduling.awake(2_000_000_000);
            assert_eq!(class(), libc::SCHED_OTHER);
            scheduling.before_wait();
            assert_eq!(class(), libc::SCHED_FIFO);
            scheduling.awake(3_000_000_000);
            assert_eq!(class(), libc::SCHED_FIFO, "it counts from when it woke up");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn without_it_nothing_is_changed() {
        let before = class();
        let mut scheduling = SchedulingClass::unchanged();
        scheduling.before_wait();
        scheduling.awake(0);
        scheduling.awake(u64::MAX);
        assert_eq!(class(), before);
    }
}
