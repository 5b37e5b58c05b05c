//! Transfer sizes of each direction: `bs`, `bsrange`, `bssplit`.

use super::access::direction_index;
use super::options::SectionOptions;
use super::sizes::by_direction;
use steadfast_domain::Op;
use steadfast_domain::text::excerpt;

/// Default block size in bytes, independent of kb_base.
const BLOCK_BYTES: u64 = 4096;

/// The largest read or write, and the largest discard.
const SIZE_MAX: u64 = 1 << 30;
const DISCARD_MAX: u64 = 3 << 30;

/// Transfer sizes of a direction.
pub(super) struct TransferSizes {
    /// Option that gives the sizes.
    pub option: &'static str,
    /// Sizes in bytes with their shares.
    pub shares: Vec<(u64, u32)>,
}

impl TransferSizes {
    /// Returns the sum of the shares.
    pub fn sum(&self) -> u32 {
        self.shares.iter().map(|(_, share)| *share).sum()
    }
}

/// Returns the sizes of a direction. fio prefers `bssplit` to `bsrange`, and both to `bs`.
pub(super) fn transfer_sizes(options: &mut SectionOptions<'_>, op: Op) -> Option<TransferSizes> {
    let split = options.text("bssplit").map(|text| by_direction(text)[direction_index(op)]);
    if let Some(split) = split.filter(|split| !split.is_empty()) {
        let Some(parsed) = split_sizes(options, split) else {
            options.refuse("bssplit", "this is no list of SIZE/PERCENT with at most 100 % each");
            return None;
        };
        return check_sizes(options, "bssplit", op, parsed);
    }
    let range = options.text("bsrange").map(|text| by_direction(text)[direction_index(op)]);
    if let Some(range) = range.filter(|range| !range.is_empty()) {
        let drawn = drawn_sizes(range, &|text| options.bytes_in(text));
        return match drawn {
            Ok(sizes) => check_sizes(options, "bsrange", op, sizes),
            Err(why) => {
                options.refuse("bsrange", why);
                None
            }
        };
    }
    // `,8k` leaves the reads their preset. fio reads `4k:8k` and `4k-8k` as reads and writes, too.
    let text = options.text("bs").map(|text| match text.split_once([':', '-']) {
        Some((reads, writes)) if !text.contains(',') => {
            if op == Op::Read {
                reads.trim()
            } else {
                writes.trim()
            }
        }
        _ => by_direction(text)[direction_index(op)],
    });
    let size = match text.filter(|text| !text.is_empty()) {
        Some(text) => options.leading_bytes_in("bs", text),
        None => Some(BLOCK_BYTES),
    };
    match size {
        Some(size) => check_sizes(options, "bs", op, vec![(size, 1)]),
        None => {
            options.refuse("bs", "this is not a size");
            None
        }
    }
}

/// The most sizes of a range.
const RANGE_MAX: u64 = 256;

/// `4k-16k`: fio draws each multiple of the smaller size up to the larger one equally often.
fn drawn_sizes(
    text: &str,
    value: &dyn Fn(&str) -> Option<u64>,
) -> Result<Vec<(u64, u32)>, &'static str> {
    let ends = text.split_once('-').or(text.split_once(':'));
    let ends = ends.and_then(|(a, b)| Some((value(a.trim())?, value(b.trim())?)));
    let (a, b) = ends.ok_or("this is no range of two sizes")?;
    let (least, most) = (a.min(b), a.max(b));
    if least == 0 || !most.is_multiple_of(least) {
        return Err("the larger size is not a multiple of the smaller one; name the sizes with \
                    bssplit");
    }
    match most / least {
        count if count <= RANGE_MAX => Ok((1..=count).map(|times| (least * times, 1)).collect()),
        _ => Err("the range has more than 256 sizes; name fewer with bssplit"),
    }
}

fn check_sizes(
    options: &mut SectionOptions<'_>,
    option: &'static str,
    op: Op,
    shares: Vec<(u64, u32)>,
) -> Option<TransferSizes> {
    let most = if op == Op::Discard { DISCARD_MAX } else { SIZE_MAX };
    let fits = shares.iter().all(|(size, _)| (512..=most).contains(size));
    if !fits {
        options.refuse(option, "reads and writes are of 512 B to 1 GiB, discards of up to 3 GiB");
    }
    let odd = shares.iter().find(|(size, _)| !size.is_multiple_of(512)).copied();
    if let Some((size, _)) = odd.filter(|_| fits) {
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
fn split_sizes(options: &mut SectionOptions<'_>, text: &str) -> Option<Vec<(u64, u32)>> {
    let mut parsed: Vec<(u64, Option<u32>)> = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = match share.trim() {
            "" => None,
            share => Some(leading_percent(options, share)?),
        };
        parsed.push((options.leading_bytes_in("bssplit", size)?, share));
    }
    if parsed.is_empty() || parsed.len() > 64 {
        return None;
    }
    let given: u32 = parsed.iter().filter_map(|(_, share)| *share).sum();
    let open = u32::try_from(parsed.iter().filter(|(_, share)| share.is_none()).count()).ok()?;
    if open > 0 {
        let left = 100u32.checked_sub(given)?;
        // So that what is left divides evenly.
        let share = |share: Option<u32>| share.map_or(left, |share| share * open);
        let all = parsed.into_iter().map(|(size, own)| (size, share(own)));
        let all: Vec<(u64, u32)> = all.filter(|(_, share)| *share > 0).collect();
        return (!all.is_empty()).then_some(all);
    }
    let mut all: Vec<(u64, u32)> =
        parsed.into_iter().map(|(size, share)| (size, share.unwrap_or(0))).collect();
    if given != 100 {
        // fio goes through the shares from the smallest on, and ends with the largest.
        let largest =
            all.iter().enumerate().max_by_key(|(at, (_, share))| (*share, usize::MAX - at));
        let largest = largest.map(|(at, _)| at)?;
        let others = given - all[largest].1;
        all[largest].1 = 100u32.checked_sub(others)?;
        options.remark(&format!(
            "bssplit: the shares of a direction are {given} % in all; the largest of them is {} %, \
             as in fio",
            all[largest].1
        ));
    }
    all.retain(|(_, share)| *share > 0);
    (!all.is_empty()).then_some(all)
}

/// Parses a share of a split as fio does, which ignores what stands behind the whole number.
fn leading_percent(options: &mut SectionOptions<'_>, text: &str) -> Option<u32> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let percent = text[..digits].parse().ok().filter(|percent| *percent <= 100)?;
    if digits < text.len() {
        let text = excerpt(text);
        options.remark(&format!("bssplit: fio reads '{text}' as {percent} %; so do we"));
    }
    Some(percent)
}
