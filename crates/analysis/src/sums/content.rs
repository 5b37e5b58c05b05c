//! Content measurements of written blocks: compressibility and duplicates. A capture samples some
//! blocks and stores the result with the I/O that wrote them, so the sums are known for any
//! selection of I/Os.

pub use steadfast_tracefile::cube_file::Contents;

use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*};
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::{ContentSample, Share};

/// Returns the conditions of a capture with the content sums of some of its I/Os. The counts of
/// blocks that were not sampled stay those of the whole capture.
fn with_contents(conditions: &CaptureConditions, contents: Contents) -> CaptureConditions {
    let mut conditions = conditions.clone();
    let is_exact = is_duplicate_share_exact(&conditions);
    conditions.compression_ratio = contents.compression_ratio();
    conditions.duplicate_share = None;
    conditions.content = conditions.content.map(|all| ContentSample {
        blocks: contents.blocks,
        bytes: contents.bytes,
        compressed_bytes: contents.compressed_bytes,
        duplicates: contents.duplicates,
        bound: !is_exact,
        ..all
    });
    conditions
}

/// Returns the conditions for a part of a capture. If the sums of the part are unknown, a remark
/// says that compression and duplicates are those of the whole capture.
pub(crate) fn part_conditions(
    conditions: &CaptureConditions,
    contents: Option<Contents>,
) -> CaptureConditions {
    if let Some(contents) = contents {
        return with_contents(conditions, contents);
    }
    let mut conditions = conditions.clone();
    if conditions.compression_ratio.is_some() || conditions.duplicates().is_some() {
        conditions.remarks.push(WHOLE_CAPTURE_REMARK.to_owned());
    }
    conditions
}

/// Remark on a part with unknown compression and duplicates.
const WHOLE_CAPTURE_REMARK: &str = "Compression and duplicates are those of the whole capture: the \
    file does not say what was measured of each I/O.";

/// Returns true if every block of a capture was compared with every other block. Otherwise a
/// duplicate is detected only if both blocks were sampled, and the share is a lower bound.
pub(crate) fn is_duplicate_share_exact(conditions: &CaptureConditions) -> bool {
    conditions.content.is_some_and(|sample| sample.is_exact_per_io())
}

/// Derived figures of sampled blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ContentFigures {
    contents: Contents,
    /// Compression ratio: original size divided by compressed size.
    pub ratio: Option<f64>,
    /// Share of duplicates among the blocks.
    pub duplicates: Option<Share>,
}

impl ContentFigures {
    /// Returns the figures of some I/Os of a capture; each is `None` if nothing was measured.
    pub fn new(contents: Contents, conditions: &CaptureConditions) -> Self {
        let share = contents.duplicates as f64 / contents.blocks as f64;
        let is_exact = is_duplicate_share_exact(conditions);
        let share = if is_exact { Share::Exact(share) } else { Share::AtLeast(share) };
        ContentFigures {
            ratio: contents.compression_ratio(),
            duplicates: (contents.blocks > 0).then_some(share),
            contents,
        }
    }
}

/// A row with content figures.
pub trait HasContent {
    /// Returns the content figures.
    fn content(&self) -> &ContentFigures;
}

/// Returns the columns of content figures for JSON.
pub(crate) const fn all<T: HasContent>() -> [ListingColumn<T>; 6] {
    [
        ListingColumn::new(
            "content.blocks",
            "blocks read",
            "Written blocks that were read back.",
            Plain(0),
            Whole(|one| one.content().contents.blocks),
        ),
        ListingColumn::new(
            "content.bytes",
            "bytes read",
            "Data read back, in bytes.",
            Plain(0),
            Whole(|one| one.content().contents.bytes),
        ),
        ListingColumn::new(
            "content.compressed_bytes",
            "compressed",
            "Size of the data after compression, in bytes.",
            Plain(0),
            Whole(|one| one.content().contents.compressed_bytes),
        ),
        ListingColumn::new(
            "content.duplicates",
            "duplicates",
            "Blocks equal to an earlier block of the sample.",
            Plain(0),
            Whole(|one| one.content().contents.duplicates),
        ),
        ListingColumn::new(
            "content.compression_ratio",
            "compression",
            "Size before compression divided by the size after it.",
            Plain(2),
            MaybeReal(|one| one.content().ratio),
        ),
        ListingColumn::new(
            "content.duplicate_share",
            "duplicates %",
            "Share of duplicates among the written blocks; null if only a lower bound is known.",
            Percent(1),
            MaybeReal(|one| one.content().duplicates.and_then(Share::exact)),
        ),
    ]
}

/// Returns the columns of content figures for a table: number of blocks, compression ratio, and the
/// share of duplicates or its lower bound.
pub(crate) const fn table<T: HasContent>() -> [ListingColumn<T>; 3] {
    let [blocks, .., ratio, _] = all::<T>();
    [
        blocks,
        ratio,
        ListingColumn::shown(
            "duplicates",
            Plain(0),
            MaybeText(|one| one.content().duplicates.map(|share| share.to_string())),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_ios_have_the_content_that_was_measured_of_them() {
        let all = ContentSample {
            every: 1,
            blocks: 1000,
            bytes: 4_096_000,
            compressed_bytes: 1_024_000,
            duplicates: 400,
            ..ContentSample::default()
        };
        let conditions = CaptureConditions {
            compression_ratio: Some(4.0),
            content: Some(all),
            ..CaptureConditions::default()
        };
        let some = Contents { blocks: 8, duplicates: 2, bytes: 32_768, compressed_bytes: 16_384 };
        let chosen = with_contents(&conditions, some);
        assert_eq!(chosen.compression_ratio, Some(2.0));
        assert_eq!(chosen.duplicates(), Some(Share::Exact(0.25)));
        let none = with_contents(&conditions, Contents::default());
        assert_eq!((none.compression_ratio, none.duplicates()), (None, None));
        // Late blocks count only in the sums of the whole capture, so a part may lack duplicates.
        let late =
            CaptureConditions { content: Some(ContentSample { late: 3, ..all }), ..conditions };
        assert_eq!(with_contents(&late, some).duplicates(), Some(Share::AtLeast(0.25)));
    }

    #[test]
    fn a_part_without_counts_has_a_remark() {
        let conditions = CaptureConditions {
            compression_ratio: Some(4.0),
            duplicate_share: Some(0.3),
            ..CaptureConditions::default()
        };
        let part = part_conditions(&conditions, None);
        assert_eq!(
            (part.compression_ratio, part.duplicates()),
            (Some(4.0), conditions.duplicates())
        );
        assert_eq!(part.remarks, [WHOLE_CAPTURE_REMARK]);
        assert_eq!(
            part_conditions(&CaptureConditions::default(), None),
            CaptureConditions::default()
        );
    }

    #[test]
    fn figures_of_no_measurement_are_unknown() {
        let exact = CaptureConditions {
            content: Some(ContentSample { every: 1, ..ContentSample::default() }),
            ..CaptureConditions::default()
        };
        let none = ContentFigures::new(Contents::default(), &exact);
        assert_eq!((none.ratio, none.duplicates), (None, None));
        let some = Contents { blocks: 4, duplicates: 1, bytes: 16_384, compressed_bytes: 8192 };
        let figures = ContentFigures::new(some, &exact);
        assert_eq!((figures.ratio, figures.duplicates), (Some(2.0), Some(Share::Exact(0.25))));
        let in_part = ContentFigures::new(some, &CaptureConditions::default());
        assert_eq!(in_part.duplicates, Some(Share::AtLeast(0.25)));
    }
}
