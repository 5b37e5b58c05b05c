//! The groups of a capture as a listing: one row per group, the largest first.

use crate::columns::{self, ListingColumn, ValueFormat};
use crate::questions::compare::{cgroup_name, device_name, host_name};
use crate::questions::groups::{Facet, GroupKey, Groups};
use crate::questions::streams::ShareMeasure;
use crate::sums::content::{self, ContentFigures, DuplicateAccuracy, HasContent};
use crate::sums::io_sums::IoSums;
use crate::sums::response::ResponseFigures;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use steadfast_domain::io_event::{UNKNOWN_FILE, flags, inode_and_file, paths_by_inode};
use steadfast_domain::{CaptureConditions, IoOp};

/// One group of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupFigures {
    /// Common properties of the group's I/Os; the default key stands for all groups together.
    pub key: GroupKey,
    /// Name of the host.
    pub host: Option<String>,
    /// Name of the device.
    pub device: Option<String>,
    /// Process, for display.
    pub process: Option<String>,
    /// Path of the cgroup.
    pub cgroup: Option<String>,
    /// Path of the file.
    pub path: Option<String>,
    /// Name of the device that holds the file.
    pub file_device: Option<String>,
    /// Number of I/Os.
    pub count: u64,
    /// Share of all I/Os, 0 to 1.
    pub share_of_count: f64,
    /// Bytes moved.
    pub amount: u64,
    /// Share of all bytes, 0 to 1.
    pub share_of_bytes: f64,
    /// Sums over the group's I/Os.
    pub tally: IoSums,
    /// Response times.
    pub response: ResponseFigures,
    /// Times spent in the queue before issue.
    pub queued: ResponseFigures,
    /// Whether the source records flags at all.
    pub tells_flags: bool,
    /// Whether merged requests were counted.
    pub tells_merges: bool,
    /// Measurements of written blocks.
    pub content: ContentFigures,
}

impl HasContent for GroupFigures {
    fn content(&self) -> &ContentFigures {
        &self.content
    }
}

/// The conditions, with the paths of files by device and inode.
struct GroupNames<'c> {
    conditions: &'c CaptureConditions,
    paths: BTreeMap<(u16, u64), String>,
    merges: bool,
}

impl<'c> GroupNames<'c> {
    fn of(groups: &Groups, conditions: &'c CaptureConditions) -> Self {
        let by_file = groups.facets().contains(&Facet::File);
        let files = if by_file { &conditions.files[..] } else { &[] };
        let merges = groups.tells_merges(conditions);
        GroupNames { conditions, paths: paths_by_inode(files), merges }
    }
}

impl Groups {
    /// Returns one row per group, the largest share first.
    pub fn listing(&self, by: ShareMeasure, conditions: &CaptureConditions) -> Vec<GroupFigures> {
        let total = self.total();
        let named = GroupNames::of(self, conditions);
        let figures =
            |(key, tally): (&GroupKey, &IoSums)| GroupFigures::of(*key, tally, &total, &named);
        let mut rows: Vec<GroupFigures> = self.iter().map(figures).collect();
        rows.sort_by_key(|row| (Reverse(row.measure(by)), row.key));
        rows
    }

    /// Returns the groups by display name. Groups of the same name are merged, for example cgroups
    /// of one path that belong to a service that was restarted.
    pub fn by_name(&self, conditions: &CaptureConditions) -> BTreeMap<String, GroupFigures> {
        let (total, named) = (self.total(), GroupNames::of(self, conditions));
        let mut groups: BTreeMap<String, GroupFigures> = BTreeMap::new();
        for group in self.listing(ShareMeasure::Count, conditions) {
            let name = group.name();
            let both = match groups.remove(&name) {
                None => group,
                Some(GroupFigures { key, mut tally, .. }) => {
                    tally.merge(&group.tally);
                    GroupFigures::of(key, &tally, &total, &named)
                }
            };
            groups.insert(name, both);
        }
        groups
    }

    /// Returns the figures of all groups together.
    pub fn total_figures(&self, conditions: &CaptureConditions) -> GroupFigures {
        let total = self.total();
        GroupFigures::of(GroupKey::default(), &total, &total, &GroupNames::of(self, conditions))
    }
}

impl GroupFigures {
    fn of(
        key: GroupKey,
        tally: &IoSums,
        total: &IoSums,
        GroupNames { conditions, paths, merges }: &GroupNames<'_>,
    ) -> Self {
        let share =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        GroupFigures {
            key,
            host: key.host.map(|device| host_name(conditions, device)),
            device: key.device.map(|side| side.name(conditions)),
            process: key.process.map(|process| process.to_string()),
            cgroup: key.cgroup.and_then(|number| cgroup_name(conditions, number)),
            path: key.file.and_then(|file| paths.get(&file).cloned()),
            file_device: key
                .file
                .filter(|(_, inode)| *inode > 0)
                .map(|(device, _)| device_name(conditions, device)),
            tells_merges: *merges,
            content: ContentFigures::new(tally.contents, DuplicateAccuracy::of(conditions)),
            count: tally.count(),
            share_of_count: share(tally.count(), total.count()),
            amount: tally.amount(),
            share_of_bytes: share(tally.amount(), total.amount()),
            response: tally.responses.figures(),
            queued: tally.queued.figures(),
            // A source that sets no flag on any I/O does not record flags.
            tells_flags: total.flagged > 0 && total.flags.iter().any(|count| *count > 0),
            tally: tally.clone(),
        }
    }

    fn measure(&self, by: ShareMeasure) -> u64 {
        if by == ShareMeasure::Count { self.count } else { self.amount }
    }

    /// Returns the display name of the group: its facets, in the order of the tables.
    pub fn name(&self) -> String {
        let stream = self.key.stream.map(|stream| stream.to_string());
        let op = self.key.op.map(|op| op.to_string());
        let cpu = self.key.cpu.map(|cpu| format!("CPU {cpu}"));
        let file = self.key.file.map(|_| self.file().unwrap_or("no file".into()));
        let cgroup = self.key.cgroup.map(|_| self.cgroup.clone().unwrap_or("no cgroup".into()));
        let [host, device, process] = [&self.host, &self.device, &self.process].map(Clone::clone);
        let parts = [host, device, process, self.thread(), cgroup, file, stream, op, cpu];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "all".to_owned() } else { parts.join(", ") }
    }

    /// Returns the average queue depth at issue; `None` if no I/O has one.
    pub fn qd_mean(&self) -> Option<f64> {
        (self.tally.depths > 0).then(|| self.tally.depth_sum as f64 / self.tally.depths as f64)
    }
    /// Returns the largest queue depth at issue; `None` if no I/O has one.
    pub fn qd_max(&self) -> Option<u32> {
        (self.tally.depths > 0).then_some(self.tally.depth_max)
    }
    /// Returns the average size of an I/O, in bytes.
    pub fn size_mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.amount as f64 / self.count as f64)
    }
    /// Returns the share of the time between insertion into the queue and completion that was spent
    /// in the queue, over the I/Os for which both times are known.
    pub fn queue_share(&self) -> Option<f64> {
        self.tally.together.share()
    }
    /// Returns the share of the I/Os that have a flag; `None` if the source records no flags.
    pub fn flag_share(&self, bit: u16) -> Option<f64> {
        let told = self.tells_flags && self.tally.flagged > 0;
        told.then(|| self.tally.flag(bit) as f64 / self.tally.flagged as f64)
    }
    /// Returns the thread for display: its number, and its name if it differs from that of its
    /// process.
    pub fn thread(&self) -> Option<String> {
        let thread = self.key.thread.filter(|thread| thread.tid > 0)?;
        Some(if thread.name.is_empty() {
            thread.tid.to_string()
        } else {
            format!("{} ({})", thread.name, thread.tid)
        })
    }
    /// Returns the file for display: its path, or its inode and device if the path is not known.
    pub fn file(&self) -> Option<String> {
        let (_, inode) = self.key.file.filter(|(_, inode)| *inode > 0)?;
        let device = self.file_device.as_deref().unwrap_or_default();
        Some(self.path.clone().unwrap_or_else(|| match inode_and_file(inode) {
            (inode, 0) => format!("inode {inode} on {device}"),
            (inode, UNKNOWN_FILE) => format!("inode {inode} on {device}, one of several files"),
            (inode, file) => format!("inode {inode} on {device}, file {} of it", file + 1),
        }))
    }
    fn ios_of(&self, op: IoOp) -> u64 {
        self.tally.ios[op as usize]
    }
    fn bytes_of(&self, op: IoOp) -> u64 {
        self.tally.bytes[op as usize]
    }
}

impl schemars::JsonSchema for GroupFigures {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "GroupFigures".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        columns::schema(&Self::ALL)
    }
}

impl Serialize for GroupFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        columns::serialize(&Self::ALL, self, serializer)
    }
}

type GroupColumn = ListingColumn<GroupFigures>;

/// A column of response times or of times in the queue.
macro_rules! time {
    ($of:ident, $field:ident, $head:literal) => {
        ListingColumn::new(
            concat!(stringify!($of), ".", stringify!($field)),
            $head,
            ValueFormat::Milliseconds,
            |group: &GroupFigures| group.$of.$field.into(),
        )
    };
}

/// A column with the share of I/Os that have a flag.
macro_rules! flag {
    ($field:literal, $head:literal, $flag:ident) => {
        ListingColumn::new(
            concat!("flags.", $field),
            $head,
            ValueFormat::Percent(1),
            |group: &GroupFigures| group.flag_share(flags::$flag).into(),
        )
    };
}

/// Columns of the group tables.
impl GroupFigures {
    const HOST: GroupColumn =
        ListingColumn::new("host", "Host", ValueFormat::Plain(0), |g| g.host.clone().into());
    const DEVICE: GroupColumn =
        ListingColumn::new("device", "Device", ValueFormat::Plain(0), |g| {
            // Inodes of different devices may have the same number.
            g.device.clone().or_else(|| g.file_device.clone()).into()
        });
    const PROCESS: GroupColumn =
        ListingColumn::new("process", "Process", ValueFormat::Plain(0), |g| {
            g.process.clone().into()
        });
    const PID: GroupColumn = ListingColumn::new("pid", "PID", ValueFormat::Plain(0), |g| {
        g.key.process.map(|process| process.pid).filter(|pid| *pid > 0).into()
    });
    const COMMAND: GroupColumn =
        ListingColumn::new("command", "Command", ValueFormat::Plain(0), |g| {
            let command = g.key.process.map(|process| process.command);
            command.filter(|command| !command.is_empty()).map(|command| command.to_string()).into()
        });
    const TID: GroupColumn = ListingColumn::new("tid", "TID", ValueFormat::Plain(0), |g| {
        g.key.thread.map(|thread| thread.tid).filter(|tid| *tid > 0).into()
    });
    const THREAD: GroupColumn =
        ListingColumn::new("thread", "Thread", ValueFormat::Plain(0), |g| {
            let name = g.key.thread.map(|thread| thread.name).filter(|name| !name.is_empty());
            name.map(|name| name.to_string()).into()
        });
    const THREADS: GroupColumn =
        ListingColumn::new("thread", "Thread", ValueFormat::Plain(0), |g| g.thread().into());
    const CGROUP: GroupColumn =
        ListingColumn::new("cgroup", "Cgroup", ValueFormat::Plain(0), |g| g.cgroup.clone().into());
    const INODE: GroupColumn = ListingColumn::new("inode", "Inode", ValueFormat::Plain(0), |g| {
        g.key.file.map(|(_, inode)| inode).filter(|inode| *inode > 0).into()
    });
    const PATH: GroupColumn =
        ListingColumn::new("path", "Path", ValueFormat::Plain(0), |g| g.path.clone().into());
    const FILE: GroupColumn =
        ListingColumn::new("path", "File", ValueFormat::Plain(0), |g| g.file().into());
    const STREAM: GroupColumn =
        ListingColumn::new("stream", "I/O stream", ValueFormat::Plain(0), |g| {
            g.key.stream.map(|stream| stream.to_string()).into()
        });
    const OP: GroupColumn = ListingColumn::new("op", "Op", ValueFormat::Plain(0), |g| {
        g.key.op.map(|op| op.to_string()).into()
    });
    const CPU: GroupColumn = ListingColumn::new("cpu", "CPU", ValueFormat::Plain(0), |g| {
        g.key.cpu.map(u32::from).into()
    });
    const COUNT: GroupColumn =
        ListingColumn::new("count", "I/Os", ValueFormat::Plain(0), |g| g.count.into());
    const SHARE: GroupColumn =
        ListingColumn::new("share_of_count", "%", ValueFormat::Percent(2), |g| {
            g.share_of_count.into()
        });
    const AMOUNT: GroupColumn =
        ListingColumn::new("amount", "MB", ValueFormat::Megabytes(1), |g| g.amount.into());
    const SHARE_OF_BYTES: GroupColumn =
        ListingColumn::new("share_of_bytes", "% of MB", ValueFormat::Percent(2), |g| {
            g.share_of_bytes.into()
        });
    const READS: GroupColumn = ListingColumn::new("reads", "reads", ValueFormat::Plain(0), |g| {
        g.ios_of(IoOp::Read).into()
    });
    const WRITES: GroupColumn =
        ListingColumn::new("writes", "writes", ValueFormat::Plain(0), |g| {
            g.ios_of(IoOp::Write).into()
        });
    const READ_BYTES: GroupColumn =
        ListingColumn::new("read_bytes", "MB read", ValueFormat::Megabytes(1), |g| {
            g.bytes_of(IoOp::Read).into()
        });
    const WRITTEN_BYTES: GroupColumn =
        ListingColumn::new("written_bytes", "MB written", ValueFormat::Megabytes(1), |g| {
            g.bytes_of(IoOp::Write).into()
        });
    const SEQUENTIAL: GroupColumn =
        ListingColumn::new("sequential", "SEQ", ValueFormat::Plain(0), |g| {
            g.tally.sequential.into()
        });
    const SIZE: GroupColumn =
        ListingColumn::new("size_mean", "bytes avg", ValueFormat::Plain(0), |g| {
            g.size_mean().into()
        });
    const QD_MEAN: GroupColumn =
        ListingColumn::new("qd_mean", "QD avg", ValueFormat::Plain(2), |g| g.qd_mean().into());
    const QD_MAX: GroupColumn =
        ListingColumn::new("qd_max", "QD max", ValueFormat::Plain(0), |g| g.qd_max().into());
    const ANSWERED: GroupColumn =
        ListingColumn::new("response.count", "responses", ValueFormat::Plain(0), |g| {
            g.response.count.into()
        });
    const ART: GroupColumn = time!(response, mean_ns, "ART ms");
    const P50: GroupColumn = time!(response, p50_ns, "50% ms");
    const P99: GroupColumn = time!(response, p99_ns, "99% ms");
    const P99_9: GroupColumn = time!(response, p99_9_ns, "99.9% ms");
    const P99_999: GroupColumn = time!(response, p99_999_ns, "99.999% ms");
    const MRT: GroupColumn = time!(response, max_ns, "MRT ms");
    const WAITED: GroupColumn =
        ListingColumn::new("queued.count", "queued", ValueFormat::Plain(0), |g| {
            g.queued.count.into()
        });
    const QUEUE_MEAN: GroupColumn = time!(queued, mean_ns, "queue ms");
    const QUEUE_P50: GroupColumn = time!(queued, p50_ns, "queue 50%");
    const QUEUE_P99: GroupColumn = time!(queued, p99_ns, "queue 99%");
    const QUEUE_P99_9: GroupColumn = time!(queued, p99_9_ns, "queue 99.9%");
    const QUEUE_MAX: GroupColumn = time!(queued, max_ns, "queue max");
    const QUEUE_SHARE: GroupColumn =
        ListingColumn::new("queue_share", "queue %", ValueFormat::Percent(1), |g| {
            g.queue_share().into()
        });
    const SYNC: GroupColumn = flag!("sync", "sync %", SYNC);
    const FUA: GroupColumn = flag!("fua", "FUA %", FUA);
    const PREFLUSH: GroupColumn = flag!("preflush", "preflush %", PREFLUSH);
    const META: GroupColumn = flag!("metadata", "metadata %", META);
    const READ_AHEAD: GroupColumn = flag!("read_ahead", "read-ahead %", READ_AHEAD);
    const WRITEBACK: GroupColumn = flag!("writeback", "writeback %", WRITEBACK);
    const DIRECT: GroupColumn = flag!("direct", "direct %", DIRECT);
    const REQUEUED: GroupColumn =
        ListingColumn::new("requeued", "requeued", ValueFormat::Plain(0), |g| {
            g.tells_flags.then(|| g.tally.flag(flags::REQUEUED)).into()
        });
    const MERGED: GroupColumn =
        ListingColumn::new("merged", "merged", ValueFormat::Plain(0), |g| {
            g.tells_merges.then_some(g.tally.merged).into()
        });
    const FAILED: GroupColumn =
        ListingColumn::new("failed", "failed", ValueFormat::Plain(0), |g| {
            g.tally.flag(flags::FAILED).into()
        });

    const CONTENT: [GroupColumn; 6] = content::all();

    /// All columns of the JSON form.
    const ALL: [GroupColumn; 55] = [
        Self::HOST,
        Self::DEVICE,
        Self::PROCESS,
        Self::PID,
        Self::COMMAND,
        Self::TID,
        Self::THREAD,
        Self::CGROUP,
        Self::INODE,
        Self::PATH,
        Self::STREAM,
        Self::OP,
        Self::CPU,
        Self::COUNT,
        Self::SHARE,
        Self::AMOUNT,
        Self::SHARE_OF_BYTES,
        Self::READS,
        Self::WRITES,
        Self::READ_BYTES,
        Self::WRITTEN_BYTES,
        Self::SEQUENTIAL,
        Self::SIZE,
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::ANSWERED,
        Self::ART,
        Self::P50,
        Self::P99,
        Self::P99_9,
        Self::P99_999,
        Self::MRT,
        Self::WAITED,
        Self::QUEUE_MEAN,
        Self::QUEUE_P50,
        Self::QUEUE_P99,
        Self::QUEUE_P99_9,
        Self::QUEUE_MAX,
        Self::QUEUE_SHARE,
        Self::SYNC,
        Self::FUA,
        Self::PREFLUSH,
        Self::META,
        Self::READ_AHEAD,
        Self::WRITEBACK,
        Self::DIRECT,
        Self::MERGED,
        Self::REQUEUED,
        Self::FAILED,
        Self::CONTENT[0],
        Self::CONTENT[1],
        Self::CONTENT[2],
        Self::CONTENT[3],
        Self::CONTENT[4],
        Self::CONTENT[5],
    ];

    /// Counts, amounts and response times.
    const COUNTS: [GroupColumn; 12] = [
        Self::COUNT,
        Self::SHARE,
        Self::READS,
        Self::WRITES,
        Self::SEQUENTIAL,
        Self::READ_BYTES,
        Self::WRITTEN_BYTES,
        Self::SHARE_OF_BYTES,
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::ART,
        Self::MRT,
    ];
    /// Response times, and the time in the queue before issue.
    const TIMES: [GroupColumn; 11] = [
        Self::COUNT,
        Self::SHARE,
        Self::QD_MEAN,
        Self::QUEUE_MEAN,
        Self::QUEUE_P99,
        Self::QUEUE_MAX,
        Self::ART,
        Self::P99,
        Self::P99_999,
        Self::MRT,
        Self::QUEUE_SHARE,
    ];
    /// Flags that the kernel set on the I/Os.
    const KINDS: [GroupColumn; 12] = [
        Self::COUNT,
        Self::SHARE,
        Self::SYNC,
        Self::FUA,
        Self::PREFLUSH,
        Self::META,
        Self::READ_AHEAD,
        Self::WRITEBACK,
        Self::DIRECT,
        Self::MERGED,
        Self::REQUEUED,
        Self::FAILED,
    ];

    /// Measurements of written blocks.
    const OF_CONTENT: [GroupColumn; 6] = {
        let [blocks, ratio, duplicates] = content::table();
        [Self::COUNT, Self::WRITES, Self::WRITTEN_BYTES, blocks, ratio, duplicates]
    };

    /// Returns the columns of a table: the facets, then the chosen figures.
    pub fn table(facets: &[Facet], show: GroupFigureSet) -> Vec<GroupColumn> {
        // A thread's process comes before the thread.
        let of_process = |facet: &Facet| matches!(facet, Facet::Process | Facet::Command);
        let named = facets.iter().any(of_process);
        let facets = facets.iter().flat_map(|facet| match facet {
            Facet::Host => vec![Self::HOST],
            Facet::Device => vec![Self::DEVICE],
            Facet::Process | Facet::Command => vec![Self::PROCESS],
            Facet::Thread if named => vec![Self::THREADS],
            Facet::Thread => vec![Self::PROCESS, Self::THREADS],
            Facet::Cgroup => vec![Self::CGROUP],
            Facet::File => vec![Self::FILE],
            Facet::Stream => vec![Self::STREAM],
            Facet::Op => vec![Self::OP],
            Facet::Cpu => vec![Self::CPU],
        });
        let told: &[GroupColumn] = match show {
            GroupFigureSet::Counts => &Self::COUNTS,
            GroupFigureSet::Times => &Self::TIMES,
            GroupFigureSet::Kinds => &Self::KINDS,
            GroupFigureSet::Content => &Self::OF_CONTENT,
        };
        facets.chain(told.iter().copied()).collect()
    }

    /// Returns the columns of a report's table, next to the group names: as many as fit on a page.
    pub fn of_report(show: GroupFigureSet) -> &'static [GroupColumn] {
        match show {
            GroupFigureSet::Counts => &[
                Self::COUNT,
                Self::SHARE,
                Self::READ_BYTES,
                Self::WRITTEN_BYTES,
                Self::QD_MEAN,
                Self::ART,
                Self::MRT,
            ],
            GroupFigureSet::Times => &[
                Self::COUNT,
                Self::QUEUE_MEAN,
                Self::QUEUE_P99,
                Self::QUEUE_MAX,
                Self::ART,
                Self::P99,
                Self::MRT,
                Self::QUEUE_SHARE,
            ],
            GroupFigureSet::Kinds => &[
                Self::COUNT,
                Self::SYNC,
                Self::FUA,
                Self::PREFLUSH,
                Self::META,
                Self::READ_AHEAD,
                Self::WRITEBACK,
                Self::DIRECT,
                Self::MERGED,
                Self::REQUEUED,
                Self::FAILED,
            ],
            GroupFigureSet::Content => &Self::OF_CONTENT,
        }
    }
}

/// Choice of the figures in a table of groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GroupFigureSet {
    /// Counts, amounts, average and longest response times.
    #[default]
    Counts,
    /// Response times and the time in the queue.
    Times,
    /// Shares of synchronous, FUA, metadata, read-ahead and writeback I/Os.
    Kinds,
    /// Compression and duplicates of written blocks.
    Content,
}
