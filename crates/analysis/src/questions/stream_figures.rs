//! Figures of I/O streams, as rows of tables and of JSON.

use crate::columns::{
    ColumnValue::*, JsonRow, ListingColumn, ValueFormat::*, columns, json_columns,
};
use crate::named_values::named_values;
use crate::sums::io_sums::IoSums;
use crate::sums::response::ResponseFigures;
use serde::{Deserialize, Serialize};
use steadfast_tracefile::stream_key::StreamKey;

named_values! {
    /// By what a stream's share is taken.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "kebab-case")]
    ShareMeasure {
        /// By frequency: I/Os.
        #[default]
        Count = "count",
        /// By amount transferred: bytes.
        Bytes = "bytes",
    }
}

impl ShareMeasure {
    /// Returns the value for I/Os or the value for bytes.
    pub fn choose<T>(self, count: T, bytes: T) -> T {
        match self {
            ShareMeasure::Count => count,
            ShareMeasure::Bytes => bytes,
        }
    }

    /// Returns the I/Os or the bytes of some sums.
    pub fn of(self, sums: &IoSums) -> u64 {
        self.choose(sums.count(), sums.amount())
    }

    /// Returns the share of a part in a whole, 0 to 1; 0 of nothing.
    pub fn share(self, part: &IoSums, whole: &IoSums) -> f64 {
        share_of(self.of(part), self.of(whole))
    }
}

/// Returns the share of a part in a whole, 0 to 1; 0 of nothing.
pub(crate) fn share_of(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// One stream of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamFigures {
    /// Operation, order and size; prints in the standard's notation: `RND 4K W`.
    pub key: StreamKey,
    /// Share of all I/Os or of all bytes, as chosen; 0 to 1.
    pub share: f64,
    /// Share of all I/Os, 0 to 1.
    pub share_of_count: f64,
    /// Share of all bytes, 0 to 1.
    pub share_of_bytes: f64,
    /// Sums over the stream's I/Os, without histograms.
    pub sums: IoSums,
    /// Response times.
    pub response: ResponseFigures,
}

impl StreamFigures {
    pub(super) fn new(key: StreamKey, tally: &IoSums, total: &IoSums, by: ShareMeasure) -> Self {
        let [share_of_count, share_of_bytes] =
            [ShareMeasure::Count, ShareMeasure::Bytes].map(|by| by.share(tally, total));
        StreamFigures {
            key,
            share: by.choose(share_of_count, share_of_bytes),
            share_of_count,
            share_of_bytes,
            sums: tally.without_histograms(),
            response: tally.times.responses.figures(),
        }
    }

    /// Returns the number of I/Os.
    pub fn count(&self) -> u64 {
        self.sums.count()
    }
}

json_columns! {
    StreamFigures;
    /// Name of the stream: operation, order and transfer size.
    STREAM = "stream", "I/O stream", Plain(0), Text(|s| s.key.to_string());
    /// Operation.
    OP = "op", "op", Plain(0), Text(|s| s.key.op.to_string());
    /// RND or SEQ.
    ORDER = "order", "order", Plain(0), Text(|s| s.key.order().to_owned());
    /// Transfer size, in bytes.
    BYTES = "bytes", "bytes", Plain(0), Whole(|s| s.key.bytes.into());
    /// I/Os.
    COUNT = "count", "count", Plain(0), Whole(|s| s.count());
    /// Data moved, in bytes.
    AMOUNT = "amount", "amount", Plain(0), Whole(|s| s.sums.amount());
    /// Share of all I/Os or of all data, as selected.
    SHARE = "share", "%", Percent(2), Real(|s| s.share);
    /// Share of all I/Os.
    SHARE_OF_COUNT = "share_of_count", "% of count", Percent(4), Real(|s| s.share_of_count);
    /// Share of all data moved.
    SHARE_OF_BYTES = "share_of_bytes", "% of amount", Percent(4), Real(|s| s.share_of_bytes);
    /// Average queue depth at issue; null if unknown.
    QD_MEAN = "qd_mean", "QD avg", Plain(2), MaybeReal(|s| s.sums.times.depths.mean());
    /// Largest queue depth at issue; null if unknown.
    QD_MAX = "qd_max", "QD max", Plain(0), MaybeWhole(|s| s.sums.times.depths.largest().map(u64::from));
    /// I/Os with a response time.
    SEEN = "response.count", "responses", Plain(0), Whole(|s| s.response.count);
    /// Average response time.
    ART = "response.mean_ns", "ART ms", Milliseconds, MaybeWhole(|s| s.response.mean_ns);
    /// Median response time.
    P50 = "response.p50_ns", "50% ms", Milliseconds, MaybeWhole(|s| s.response.p50_ns);
    /// 99th percentile of the response times.
    P99 = "response.p99_ns", "99% ms", Milliseconds, MaybeWhole(|s| s.response.p99_ns);
    /// 99.9th percentile of the response times.
    P99_9 = "response.p99_9_ns", "99.9% ms", Milliseconds, MaybeWhole(|s| s.response.p99_9_ns);
    /// 99.99th percentile of the response times.
    P99_99 = "response.p99_99_ns", "99.99% ms", Milliseconds, MaybeWhole(|s| s.response.p99_99_ns);
    /// 99.999th percentile of the response times.
    P99_999 = "response.p99_999_ns", "99.999% ms", Milliseconds,
        MaybeWhole(|s| s.response.p99_999_ns);
    /// Longest response time.
    MRT = "response.max_ns", "MRT ms", Milliseconds, MaybeWhole(|s| s.response.max_ns);
    /// I/Os with a time in the queue.
    QUEUE_COUNT = "queued.count", "queued", Plain(0), Whole(|s| s.sums.times.queued.total.count);
    /// Average time in the queue.
    QUEUE_MEAN = "queued.mean_ns", "queue ms", Milliseconds, MaybeWhole(|s| s.sums.times.queued.total.mean_ns());
    /// Longest time in the queue.
    QUEUE_MAX = "queued.max_ns", "queue max ms", Milliseconds, MaybeWhole(|s| s.sums.times.queued.total.longest_ns());
    /// Share of the time from queue insertion to completion that was spent in the queue.
    QUEUE_SHARE = "queue_share", "queue %", Percent(1), MaybeReal(|s| s.sums.times.together.share());
    /// Failed I/Os.
    FAILED = "failed", "failed", Plain(0), Whole(|s| s.sums.failed());
}

impl schemars::JsonSchema for JsonRow<StreamFigures> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StreamTotals".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        crate::columns::schema(&StreamFigures::OF_TOTAL)
    }
}

type StreamFigureColumn = ListingColumn<StreamFigures>;

impl StreamFigures {
    /// Columns of all streams together, in JSON.
    pub(super) const OF_TOTAL: [StreamFigureColumn; 17] = columns![
        COUNT, AMOUNT, QD_MEAN, QD_MAX, SEEN, ART, P50, P99, P99_9, P99_99, P99_999, MRT,
        QUEUE_COUNT, QUEUE_MEAN, QUEUE_MAX, QUEUE_SHARE, FAILED
    ];

    const TABLE: [StreamFigureColumn; 11] = [
        Self::STREAM,
        Self::COUNT.headed("I/Os"),
        Self::SHARE_OF_COUNT.headed("%").printed(Percent(2)),
        Self::AMOUNT.headed("MB").printed(Megabytes(1)),
        Self::SHARE_OF_BYTES.headed("% of MB").printed(Percent(2)),
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::ART,
        Self::P99,
        Self::P99_9,
        Self::MRT,
    ];

    /// Returns the columns of a terminal's table, with times in the queue if they are known.
    pub fn table(has_queue: bool) -> Vec<StreamFigureColumn> {
        let queue: &[StreamFigureColumn] =
            if has_queue { &[Self::QUEUE_MEAN, Self::QUEUE_SHARE] } else { &[] };
        Self::TABLE.iter().chain(queue).copied().collect()
    }

    /// Columns of a report's table of all streams, next to their names.
    pub const LONG_TABLE: [StreamFigureColumn; 15] = [
        Self::OP,
        Self::ORDER,
        Self::BYTES,
        Self::COUNT,
        Self::AMOUNT,
        Self::SHARE_OF_COUNT,
        Self::SHARE_OF_BYTES,
        Self::QD_MEAN.printed(Plain(3)),
        Self::QD_MAX,
        Self::ART,
        Self::P99,
        Self::P99_999,
        Self::MRT,
        Self::QUEUE_MEAN,
        Self::QUEUE_SHARE,
    ];

    /// Columns that a workload's table shows in addition to the applied values.
    pub const AS_CAPTURED: [StreamFigureColumn; 3] = [Self::QD_MAX, Self::ART, Self::MRT];

    /// Columns of response times.
    pub const RESPONSE_TIMES: [StreamFigureColumn; 7] = [
        Self::ART.headed("ART"),
        Self::P50.headed("50 %"),
        Self::P99.headed("99 %"),
        Self::P99_9.headed("99.9 %"),
        Self::P99_99.headed("99.99 %"),
        Self::P99_999.headed("99.999 %"),
        Self::MRT.headed("MRT"),
    ];
}
