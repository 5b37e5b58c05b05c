//! The groups of a capture as a listing: one row per group, the largest first.

use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, columns, json_columns};
use crate::cube::CellSums;
use crate::device_layer::device_name;
use crate::questions::compare::{cgroup_name, host_name};
use crate::questions::groups::{Facet, GroupKey, Groups};
use crate::questions::streams::ShareMeasure;
use crate::sums::content::{self, ContentFigures, HasContent};
use crate::sums::io_sums::IoSums;
use crate::sums::response::ResponseFigures;
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
    /// True if the source records flags at all.
    pub has_flags: bool,
    /// True if merged requests were counted.
    pub has_merges: bool,
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
    fn new(groups: &Groups, conditions: &'c CaptureConditions) -> Self {
        let by_file = groups.facets().contains(&Facet::File);
        let files = if by_file { &conditions.files[..] } else { &[] };
        let merges = groups.has_merges(conditions);
        GroupNames { conditions, paths: paths_by_inode(files), merges }
    }
}

impl Groups {
    /// Returns one row per group, the largest share first.
    pub fn listing(&self, by: ShareMeasure, conditions: &CaptureConditions) -> Vec<GroupFigures> {
        let total = self.total();
        let named = GroupNames::new(self, conditions);
        let figures =
            |(key, tally): (&GroupKey, &IoSums)| GroupFigures::new(*key, tally, &total, &named);
        let mut rows: Vec<GroupFigures> = self.iter().map(figures).collect();
        rows.sort_by_key(|row| (Reverse(by.of(&row.tally)), row.key));
        rows
    }

    /// Returns the groups by display name. Groups of the same name are merged, for example cgroups
    /// of one path that belong to a service that was restarted.
    pub fn by_name(&self, conditions: &CaptureConditions) -> BTreeMap<String, GroupFigures> {
        let (total, named) = (self.total(), GroupNames::new(self, conditions));
        let mut groups: BTreeMap<String, GroupFigures> = BTreeMap::new();
        for group in self.listing(ShareMeasure::Count, conditions) {
            let name = group.name();
            let merged = match groups.remove(&name) {
                None => group,
                Some(GroupFigures { key, mut tally, .. }) => {
                    tally.merge(&group.tally);
                    GroupFigures::new(key, &tally, &total, &named)
                }
            };
            groups.insert(name, merged);
        }
        groups
    }

    /// Returns the figures of all groups together.
    pub fn total_figures(&self, conditions: &CaptureConditions) -> GroupFigures {
        let total = self.total();
        GroupFigures::new(GroupKey::default(), &total, &total, &GroupNames::new(self, conditions))
    }
}

impl GroupFigures {
    fn new(
        key: GroupKey,
        tally: &IoSums,
        total: &IoSums,
        GroupNames { conditions, paths, merges }: &GroupNames<'_>,
    ) -> Self {
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
            has_merges: *merges,
            content: ContentFigures::new(tally.times.contents, conditions),
            count: tally.count(),
            share_of_count: ShareMeasure::Count.share(tally, total),
            amount: tally.amount(),
            share_of_bytes: ShareMeasure::Bytes.share(tally, total),
            response: tally.times.responses.figures(),
            queued: tally.times.queued.figures(),
            // A source that sets no flag on any I/O does not record flags.
            has_flags: total.flagged > 0 && total.flags.iter().any(|count| *count > 0),
            tally: tally.clone(),
        }
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

    /// Returns the share of the time between insertion into the queue and completion that was spent
    /// in the queue, over the I/Os for which both times are known.
    pub fn queue_share(&self) -> Option<f64> {
        self.tally.times.together.share()
    }
    /// Returns the share of the I/Os that have a flag; `None` if the source records no flags.
    pub fn flag_share(&self, bit: u16) -> Option<f64> {
        let is_known = self.has_flags && self.tally.flagged > 0;
        is_known.then(|| self.tally.flag(bit) as f64 / self.tally.flagged as f64)
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
}

json_columns! {
    GroupFigures + GroupFigures::CONTENT;
    /// Host name; null unless groups differ by it.
    HOST = "host", "Host", Plain(0), MaybeText(|g| g.host.clone());
    /// Name of the device, or of the file's device; null unless groups differ by them.
    DEVICE = "device", "Device", Plain(0),
        MaybeText(|g| g.device.clone().or_else(|| g.file_device.clone()));
    /// Process ID and command, for display; null unless groups differ by them.
    PROCESS = "process", "Process", Plain(0), MaybeText(|g| g.process.clone());
    /// Process ID; null if unknown.
    PID = "pid", "PID", Plain(0),
        MaybeWhole(|g| g.key.process.map(|process| process.pid.into()).filter(|pid| *pid > 0));
    /// Command name; null if unknown.
    COMMAND = "command", "Command", Plain(0),
        MaybeText(|g| {
            let command = g.key.process.map(|process| process.command);
            command.filter(|command| !command.is_empty()).map(|command| command.to_string())
        });
    /// Thread ID; null if unknown.
    TID = "tid", "TID", Plain(0),
        MaybeWhole(|g| g.key.thread.map(|thread| thread.tid.into()).filter(|tid| *tid > 0));
    /// Thread name; null if unknown.
    THREAD = "thread", "Thread", Plain(0),
        MaybeText(|g| {
            let name = g.key.thread.map(|thread| thread.name).filter(|name| !name.is_empty());
            name.map(|name| name.to_string())
        });
    /// Path of the cgroup; null if unknown.
    CGROUP = "cgroup", "Cgroup", Plain(0), MaybeText(|g| g.cgroup.clone());
    /// Inode number; null if unknown.
    INODE = "inode", "Inode", Plain(0),
        MaybeWhole(|g| g.key.file.map(|(_, number)| inode_and_file(number).0).filter(|inode| *inode > 0));
    /// Path of the file; null if unknown.
    PATH = "path", "Path", Plain(0), MaybeText(|g| g.path.clone());
    /// Name of the stream; null unless groups differ by it.
    STREAM = "stream", "I/O stream", Plain(0),
        MaybeText(|g| g.key.stream.map(|stream| stream.to_string()));
    /// Operation; null unless groups differ by it.
    OP = "op", "Op", Plain(0), MaybeText(|g| g.key.op.map(|op| op.to_string()));
    /// Number of the CPU; null unless groups differ by it.
    CPU = "cpu", "CPU", Plain(0), MaybeWhole(|g| g.key.cpu.map(u64::from));
    /// I/Os.
    COUNT = "count", "I/Os", Plain(0), Whole(|g| g.count);
    /// Share of all I/Os.
    SHARE = "share_of_count", "%", Percent(2), Real(|g| g.share_of_count);
    /// Data moved.
    AMOUNT = "amount", "MB", Megabytes(1), Whole(|g| g.amount);
    /// Share of all data moved.
    SHARE_OF_BYTES = "share_of_bytes", "% of MB", Percent(2), Real(|g| g.share_of_bytes);
    /// Reads.
    READS = "reads", "reads", Plain(0), Whole(|g| g.tally.of_op(IoOp::Read).ios);
    /// Writes.
    WRITES = "writes", "writes", Plain(0), Whole(|g| g.tally.of_op(IoOp::Write).ios);
    /// Data read.
    READ_BYTES = "read_bytes", "MB read", Megabytes(1), Whole(|g| g.tally.of_op(IoOp::Read).bytes);
    /// Data written.
    WRITTEN_BYTES = "written_bytes", "MB written", Megabytes(1),
        Whole(|g| g.tally.of_op(IoOp::Write).bytes);
    /// Sequential I/Os.
    SEQUENTIAL = "sequential", "SEQ", Plain(0), Whole(|g| g.tally.sequential());
    /// Average size of an I/O, in bytes.
    SIZE = "size_mean", "bytes avg", Plain(0), MaybeReal(|g| g.tally.size_mean());
    /// Average queue depth at issue; null if unknown.
    QD_MEAN = "qd_mean", "QD avg", Plain(2), MaybeReal(|g| g.tally.times.depths.mean());
    /// Largest queue depth at issue; null if unknown.
    QD_MAX = "qd_max", "QD max", Plain(0), MaybeWhole(|g| g.tally.times.depths.largest().map(u64::from));
    /// I/Os with a response time.
    ANSWERED = "response.count", "responses", Plain(0), Whole(|g| g.response.count);
    /// Average response time.
    ART = "response.mean_ns", "ART ms", Milliseconds, MaybeWhole(|g| g.response.mean_ns);
    /// Median response time.
    P50 = "response.p50_ns", "50% ms", Milliseconds, MaybeWhole(|g| g.response.p50_ns);
    /// 99th percentile of the response times.
    P99 = "response.p99_ns", "99% ms", Milliseconds, MaybeWhole(|g| g.response.p99_ns);
    /// 99.9th percentile of the response times.
    P99_9 = "response.p99_9_ns", "99.9% ms", Milliseconds, MaybeWhole(|g| g.response.p99_9_ns);
    /// 99.999th percentile of the response times.
    P99_999 = "response.p99_999_ns", "99.999% ms", Milliseconds,
        MaybeWhole(|g| g.response.p99_999_ns);
    /// Longest response time.
    MRT = "response.max_ns", "MRT ms", Milliseconds, MaybeWhole(|g| g.response.max_ns);
    /// I/Os with a time in the queue.
    WAITED = "queued.count", "queued", Plain(0), Whole(|g| g.queued.count);
    /// Average time in the queue.
    QUEUE_MEAN = "queued.mean_ns", "queue ms", Milliseconds, MaybeWhole(|g| g.queued.mean_ns);
    /// Median time in the queue.
    QUEUE_P50 = "queued.p50_ns", "queue 50%", Milliseconds, MaybeWhole(|g| g.queued.p50_ns);
    /// 99th percentile of the times in the queue.
    QUEUE_P99 = "queued.p99_ns", "queue 99% ms", Milliseconds, MaybeWhole(|g| g.queued.p99_ns);
    /// 99.9th percentile of the times in the queue.
    QUEUE_P99_9 = "queued.p99_9_ns", "queue 99.9% ms", Milliseconds, MaybeWhole(|g| g.queued.p99_9_ns);
    /// Longest time in the queue.
    QUEUE_MAX = "queued.max_ns", "queue max ms", Milliseconds, MaybeWhole(|g| g.queued.max_ns);
    /// Share of the time from queue insertion to completion that was spent in the queue.
    QUEUE_SHARE = "queue_share", "queue %", Percent(1), MaybeReal(GroupFigures::queue_share);
    /// Share of the I/Os with the flag `sync`; null if flags were not recorded.
    SYNC = "flags.sync", "sync %", Percent(1), MaybeReal(|g| g.flag_share(flags::SYNC));
    /// Share of the I/Os with the flag `fua`; null if flags were not recorded.
    FUA = "flags.fua", "FUA %", Percent(1), MaybeReal(|g| g.flag_share(flags::FUA));
    /// Share of the I/Os with the flag `preflush`; null if flags were not recorded.
    PREFLUSH = "flags.preflush", "preflush %", Percent(1),
        MaybeReal(|g| g.flag_share(flags::PREFLUSH));
    /// Share of the I/Os with the flag `metadata`; null if flags were not recorded.
    META = "flags.metadata", "metadata %", Percent(1), MaybeReal(|g| g.flag_share(flags::META));
    /// Share of the I/Os with the flag `read_ahead`; null if flags were not recorded.
    READ_AHEAD = "flags.read_ahead", "read-ahead %", Percent(1),
        MaybeReal(|g| g.flag_share(flags::READ_AHEAD));
    /// Share of the I/Os with the flag `writeback`; null if flags were not recorded.
    WRITEBACK = "flags.writeback", "writeback %", Percent(1),
        MaybeReal(|g| g.flag_share(flags::WRITEBACK));
    /// Share of the I/Os with the flag `direct`; null if flags were not recorded.
    DIRECT = "flags.direct", "direct %", Percent(1), MaybeReal(|g| g.flag_share(flags::DIRECT));
    /// I/Os merged into a request; null if they were not counted.
    MERGED = "merged", "merged", Plain(0), MaybeWhole(|g| g.has_merges.then_some(g.tally.merged));
    /// I/Os that were queued again; null if flags were not recorded.
    REQUEUED = "requeued", "requeued", Plain(0),
        MaybeWhole(|g| g.has_flags.then(|| g.tally.flag(flags::REQUEUED)));
    /// Failed I/Os.
    FAILED = "failed", "failed", Plain(0), Whole(|g| g.tally.flag(flags::FAILED));
}

type GroupColumn = ListingColumn<GroupFigures>;

impl GroupFigures {
    const THREADS: GroupColumn =
        ListingColumn::shown("Thread", Plain(0), MaybeText(GroupFigures::thread));
    const FILE: GroupColumn = ListingColumn::shown("File", Plain(0), MaybeText(GroupFigures::file));
    const CONTENT: [GroupColumn; 6] = content::all();

    /// Counts, amounts and response times.
    const COUNTS: [GroupColumn; 12] = columns![
        COUNT, SHARE, READS, WRITES, SEQUENTIAL, READ_BYTES, WRITTEN_BYTES, SHARE_OF_BYTES,
        QD_MEAN, QD_MAX, ART, MRT
    ];
    /// Response times, and the time in the queue before issue.
    const TIMES: [GroupColumn; 12] = columns![
        COUNT, SHARE, QD_MEAN, QUEUE_MEAN, QUEUE_P99, QUEUE_MAX, ART, P99, P99_9, P99_999, MRT,
        QUEUE_SHARE
    ];
    /// Flags that the kernel set on the I/Os.
    const KINDS: [GroupColumn; 12] = columns![
        COUNT, SHARE, SYNC, FUA, PREFLUSH, META, READ_AHEAD, WRITEBACK, DIRECT, MERGED, REQUEUED,
        FAILED
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
        let figures: &[GroupColumn] = match show {
            GroupFigureSet::Counts => &Self::COUNTS,
            GroupFigureSet::Times => &Self::TIMES,
            GroupFigureSet::Kinds => &Self::KINDS,
            GroupFigureSet::Content => &Self::OF_CONTENT,
        };
        facets.chain(figures.iter().copied()).collect()
    }

    /// Returns the columns of a report's table, next to the group names: as many as fit on a page.
    pub fn of_report(show: GroupFigureSet) -> &'static [GroupColumn] {
        match show {
            GroupFigureSet::Counts => {
                &columns![COUNT, SHARE, READ_BYTES, WRITTEN_BYTES, QD_MEAN, ART, MRT]
            }
            GroupFigureSet::Times => {
                &columns![COUNT, QUEUE_MEAN, QUEUE_P99, QUEUE_MAX, ART, P99, MRT, QUEUE_SHARE]
            }
            GroupFigureSet::Kinds => &columns![
                COUNT, SYNC, FUA, PREFLUSH, META, READ_AHEAD, WRITEBACK, DIRECT, MERGED, REQUEUED,
                FAILED
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
