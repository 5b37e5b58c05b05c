//! Remarks on where a job's load differs from fio's.

use super::access::JobAccess;
use super::offsets::has_map;
use super::options::{SPLIT_MAX, SectionOptions};
use steadfast_domain::Bytes;
use steadfast_domain::sequence::SequenceLoad;
use steadfast_domain::stimulus::{DataPattern, Op, Order};

pub(super) fn remarks(
    options: &mut SectionOptions<'_>,
    access: &JobAccess,
    load: &SequenceLoad,
    threads: u32,
) {
    let buffered = options.flag("buffered");
    if buffered || !options.flag("direct") {
        options.remark("direct=1 is not set: I/O is direct here, past the page cache");
    }
    let is_lfsr = options.text("random_generator") == Some("lfsr");
    if is_lfsr && access.random || has_map(options, access) {
        options.remark(&format!(
            "{}: fio visits every block once before repeating any; here every offset is drawn \
             independently",
            if is_lfsr { "random_generator=lfsr" } else { "norandommap is not set" }
        ));
        let sizes = load.streams.iter().map(|stream| stream.size).collect::<Vec<_>>();
        if sizes.iter().any(|size| *size != sizes[0]) {
            options.remark(
                "transfer sizes are drawn as given; fio cuts transfers that do not fit its map \
                 of visited blocks, so its shares and sizes differ",
            );
        }
    }
    let is_seeded = options.text("randrepeat").is_none() || options.flag("randrepeat");
    if access.random && (is_seeded || options.text("randseed").is_some()) {
        options.remark(
            "randrepeat: fio draws the same offsets in every run and every step; here each draws \
             its own, from a seed that is recorded",
        );
    }
    let repeats = options.percent("dedupe_percentage").is_some_and(|percent| percent > 0);
    if repeats && options.text("dedupe_mode").is_some_and(|mode| mode != "repeat") {
        options.remark("dedupe_mode: blocks repeat any earlier one");
    }
    if repeats && load.streams.iter().any(|stream| stream.size != Bytes::kib(4)) {
        options.remark(
            "dedupe_percentage: blocks of 4 KiB repeat earlier ones; in fio whole transfers",
        );
    }
    if access.is_mixed() {
        options.remark(
            "percentage_random: a sequential I/O continues where the last sequential one ended; \
             in fio where the last I/O ended, random or not",
        );
    }
    let is_random = load.streams.iter().all(|stream| stream.order == Order::Random);
    if !is_random && threads > SPLIT_MAX {
        options.remark(
            "each of fio's jobs goes through the range by itself; here the threads share one \
             position",
        );
    }
    if !options.flag("refill_buffers")
        && load.streams.iter().any(|stream| stream.op == Op::Write)
        && load.data_pattern == Some(DataPattern::RandomUnique)
        && options.text("buffer_compress_percentage").is_none()
    {
        options.remark(
            "fio changes a few bytes of one random buffer for every write; here every sector is \
             random",
        );
    }
}
