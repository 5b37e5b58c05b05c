//! Questions that a capture of steps cannot answer, with one message for all of them.

use std::fmt;

/// Information that needs single I/Os, which a capture of steps does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRecorded {
    /// The individual I/Os.
    SingleIos,
    /// The process of each I/O, which a fold may omit.
    Processes,
    /// Hits of LBA ranges over time.
    HitMaps,
    /// Hits of LBA ranges by I/O stream.
    StreamHits,
    /// Address ranges with the most hits and the processes that hit them.
    HotAddresses,
    /// Working set and reuse.
    WorkingSets,
    /// Times in the queue before issue.
    QueueTimes,
    /// Time with at least one I/O outstanding.
    BusyTime,
    /// RND and SEQ by another window than that of the capture.
    OtherWindow,
    /// Threads.
    Threads,
    /// Cgroups.
    Cgroups,
    /// Files.
    Files,
}

impl NotRecorded {
    /// The information that a report of steps lacks, in its order.
    pub const ALL: [NotRecorded; 9] = [
        NotRecorded::SingleIos,
        NotRecorded::OtherWindow,
        NotRecorded::QueueTimes,
        NotRecorded::BusyTime,
        NotRecorded::Processes,
        NotRecorded::HitMaps,
        NotRecorded::StreamHits,
        NotRecorded::HotAddresses,
        NotRecorded::WorkingSets,
    ];

    /// Returns the error message: what is missing and what to do about it.
    pub fn refusal(self) -> String {
        let recorded = "its capture kept the I/O streams of every process and capture step, but no single I/Os";
        let hits = if self == NotRecorded::HitMaps { "" } else { "hits, " };
        let uses = format!(
            "it can be used with explore, trace streams, steps, map, processes, groups, {hits}\
             drives, profile, doctor, compare and report, and workload derive"
        );
        match self {
            NotRecorded::OtherWindow => {
                format!("{recorded}; RND and SEQ were decided during the capture: omit --window")
            }
            NotRecorded::Threads | NotRecorded::Cgroups | NotRecorded::Files => {
                let (filter, by) = match self {
                    NotRecorded::Threads => ("--tid", "--by thread"),
                    NotRecorded::Cgroups => ("--cgroup", "--by cgroup"),
                    _ => ("--file", "--by file"),
                };
                format!("{recorded}; it does not record {self}: omit {filter} and {by}")
            }
            _ => format!("{recorded}, so it cannot report {self}; {uses}"),
        }
    }
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotRecorded::SingleIos => "single I/Os",
            NotRecorded::Processes => "processes",
            NotRecorded::HitMaps => "LBA range hits",
            NotRecorded::StreamHits => "hits by stream",
            NotRecorded::HotAddresses => "hot addresses",
            NotRecorded::WorkingSets => "working sets",
            NotRecorded::QueueTimes => "queue times",
            NotRecorded::BusyTime => "disk utilization",
            NotRecorded::OtherWindow => "RND and SEQ by another window",
            NotRecorded::Threads => "threads",
            NotRecorded::Cgroups => "cgroups",
            NotRecorded::Files => "files",
        })
    }
}
