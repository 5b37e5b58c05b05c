//! Transfer sizes of each direction: `bs`, `bsrange`, `bssplit`.

use super::access::direction_index;
use super::options::SectionOptions;
use super::sizes::by_direction;
use steadfast_domain::Op;
use steadfast_domain::text::excerpt;

/// Default block size in bytes, independent of kb_base.
const BLOCK_BYTES: u64 = 4096;

/// Largest read or write, in bytes.
const SIZE_MAX: u64 = 1 << 30;
/// Largest discard, in bytes.
const DISCARD_MAX: u64 = 3 << 30;
/// Maximum number of sizes of a range.
const RANGE_MAX: u64 = 256;
/// Maximum number of sizes of a split.
const SPLIT_MAX: usize = 64;

/// A transfer size with its share of the I/Os.
#[derive(Clone, Copy)]
pub(super) struct SizeShare {
    /// Size in bytes.
    pub size: u64,
    /// Share, relative to the sum over all sizes.
    pub share: u32,
}

pub(super) struct TransferSizes {
    /// Option that gives the sizes.
    pub option: &'static str,
    pub shares: Vec<SizeShare>,
}

impl TransferSizes {
    /// Returns the sum of the shares.
    pub fn sum(&self) -> u32 {
        self.shares.iter().map(|one| one.share).sum()
    }
}

/// Returns the sizes of a direction. fio prefers `bssplit` to `bsrange`, and both to `bs`.
pub(super) fn transfer_sizes(options: &mut SectionOptions<'_>, op: Op) -> Option<TransferSizes> {
    let split = options.text("bssplit").map(|text| by_direction(text)[direction_index(op)]);
    if let Some(split) = split.filter(|split| !split.is_empty()) {
        let Some(shares) = split_sizes(options, split) else {
            options.refuse("bssplit", "this is no list of SIZE/PERCENT with at most 100 % each");
            return None;
        };
        return check_sizes(options, "bssplit", op, shares);
    }
    let range = options.text("bsrange").map(|text| by_direction(text)[direction_index(op)]);
    if let Some(range) = range.filter(|range| !range.is_empty()) {
        return match range_sizes(range, &|text| options.bytes_in(text)) {
            Ok(sizes) => check_sizes(options, "bsrange", op, sizes),
            Err(why) => {
                options.refuse("bsrange", why);
                None
            }
        };
    }
    // In `,8k` the reads keep the default. fio also reads `4k:8k` and `4k-8k` as reads and writes.
    let text = options.text("bs").map(|text| match text.split_once([':', '-']) {
        Some((reads, _)) if !text.contains(',') && op == Op::Read => reads.trim(),
        Some((_, writes)) if !text.contains(',') => writes.trim(),
        _ => by_direction(text)[direction_index(op)],
    });
    let size = match text.filter(|text| !text.is_empty()) {
        Some(text) => options.leading_bytes_in("bs", text),
        None => Some(BLOCK_BYTES),
    };
    match size {
        Some(size) => check_sizes(options, "bs", op, vec![SizeShare { size, share: 1 }]),
        None => {
            options.refuse("bs", "this is not a size");
            None
        }
    }
}

/// Parses a range such as `4k-16k`: fio draws each multiple of the smaller size up to the larger
/// one equally often.
fn range_sizes(
    text: &str,
    value: &dyn Fn(&str) -> Option<u64>,
) -> Result<Vec<SizeShare>, &'static str> {
    let ends = text.split_once('-').or(text.split_once(':'));
    let ends = ends.and_then(|(a, b)| Some((value(a.trim())?, value(b.trim())?)));
    let (a, b) = ends.ok_or("this is no range of two sizes")?;
    let (least, most) = (a.min(b), a.max(b));
    if least == 0 || !most.is_multiple_of(least) {
        return Err("the larger size is not a multiple of the smaller one; name the sizes with \
                    bssplit");
    }
    let count = most / least;
    if count > RANGE_MAX {
        return Err("the range has more than 256 sizes; name fewer with bssplit");
    }
    Ok((1..=count).map(|times| SizeShare { size: least * times, share: 1 }).collect())
}

fn check_sizes(
    options: &mut SectionOptions<'_>,
    option: &'static str,
    op: Op,
    shares: Vec<SizeShare>,
) -> Option<TransferSizes> {
    let most = if op == Op::Discard { DISCARD_MAX } else { SIZE_MAX };
    let fits = shares.iter().all(|one| (512..=most).contains(&one.size));
    if !fits {
        options.refuse(option, "reads and writes are of 512 B to 1 GiB, discards of up to 3 GiB");
    }
    let partial = shares.iter().find(|one| !one.size.is_multiple_of(512));
    if let Some(SizeShare { size, .. }) = partial.filter(|_| fits) {
        let why = format!(
            "this is {size} bytes as fio reads it (kb_base), no whole sectors of 512 B; write the \
             bytes, such as 4096"
        );
        options.refuse(option, &why);
        return None;
    }
    fits.then_some(TransferSizes { option, shares })
}

/// Parses sizes with their shares, such as `4k/30:8k/70`. Sizes without a share divide the rest.
fn split_sizes(options: &mut SectionOptions<'_>, text: &str) -> Option<Vec<SizeShare>> {
    let mut parsed: Vec<(u64, Option<u32>)> = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = match share.trim() {
            "" => None,
            share => Some(leading_percent(options, share)?),
        };
        parsed.push((options.leading_bytes_in("bssplit", size)?, share));
    }
    if parsed.is_empty() || parsed.len() > SPLIT_MAX {
        return None;
    }
    let given: u32 = parsed.iter().filter_map(|(_, share)| *share).sum();
    let open = u32::try_from(parsed.iter().filter(|(_, share)| share.is_none()).count()).ok()?;
    // Sizes without a share divide the rest. All shares are multiplied by their number, so that the
    // rest divides evenly.
    let rest = if open > 0 { 100u32.checked_sub(given)? } else { 0 };
    let share = |share: Option<u32>| share.map_or(rest, |share| share * open.max(1));
    let all = parsed.into_iter().map(|(size, own)| SizeShare { size, share: share(own) });
    let mut all: Vec<SizeShare> = all.collect();
    if open == 0 && given != 100 {
        // fio takes the shares in ascending order; the last one, the largest, gets the rest.
        let at = (0..all.len()).rev().max_by_key(|at| all[*at].share)?;
        let others = given - all[at].share;
        all[at].share = 100u32.checked_sub(others)?;
        options.remark(&format!(
            "bssplit: the shares of a direction are {given} % in all; the largest of them is {} %, \
             as in fio",
            all[at].share
        ));
    }
    all.retain(|one| one.share > 0);
    (!all.is_empty()).then_some(all)
}

/// Parses a share of a split as fio does, which ignores what follows the whole number.
fn leading_percent(options: &mut SectionOptions<'_>, text: &str) -> Option<u32> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let percent = text[..digits].parse().ok().filter(|percent| *percent <= 100)?;
    if digits < text.len() {
        let text = excerpt(text);
        options.remark(&format!("bssplit: fio reads '{text}' as {percent} %; so do we"));
    }
    Some(percent)
}
