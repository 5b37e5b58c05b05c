//! The range of a job and its files: `offset`, `size`, `filesize`, `offset_align`,
//! `file_service_type`, `openfiles`.

use super::access::JobAccess;
use super::options::SectionOptions;
use steadfast_domain::Bytes;
use steadfast_domain::sequence::{Amount, Extent};

/// The whole of the target, in parts per million.
pub(super) const WHOLE_PPM: u32 = 1_000_000;

/// Returns the range of a job; `block` is its smallest transfer.
pub(super) fn extent(options: &mut SectionOptions<'_>, block: u64) -> Extent {
    let align = options.number("offset_align").filter(|align| *align > 0);
    let from = options.amount("offset").unwrap_or_default();
    let filesize = file_size(options);
    let length = filesize.or_else(|| options.amount("size"));
    let length = match length.filter(|length| !is_zero(*length)) {
        // An offset lies within the size of the file.
        Some(Amount::Bytes(size)) if filesize.is_some() => match from {
            Amount::Bytes(from) => Some(Amount::Bytes(Bytes(size.0.saturating_sub(from.0)))),
            Amount::Ppm(_) => Some(Amount::Bytes(size)),
        },
        Some(Amount::Ppm(share)) if share > WHOLE_PPM => {
            options.remark("a size above 100 % is all of the target, as fio does on a device");
            Some(Amount::Ppm(WHOLE_PPM))
        }
        length => length,
    };
    // A share of the target that begins behind its beginning ends with the target.
    let clipped = matches!(length, Some(Amount::Ppm(_)));
    Extent { from, length, clipped, block: Some(Bytes(align.unwrap_or(block))) }
}

fn file_size(options: &mut SectionOptions<'_>) -> Option<Amount> {
    let Some((least, most)) = options.text("filesize")?.split_once(['-', ':']) else {
        return options.amount("filesize");
    };
    match (options.bytes_in(least), options.bytes_in(most)) {
        (Some(least), Some(most)) if least == most => Some(Amount::Bytes(Bytes(least))),
        (Some(_), Some(most)) => {
            let why = "fio draws the size of each file from this range; give one size";
            options.refuse("filesize", why);
            Some(Amount::Bytes(Bytes(most)))
        }
        _ => options.amount("filesize"),
    }
}

pub(super) fn is_zero(amount: Amount) -> bool {
    matches!(amount, Amount::Bytes(Bytes(0)) | Amount::Ppm(0))
}

/// Extends the range to all files of a job. fio divides a `size` between the files, and applies
/// `filesize` to each of them.
pub(super) fn split_between_files(
    extent: &mut Extent,
    files: u64,
    options: &mut SectionOptions<'_>,
    block: u64,
) {
    if files < 2 {
        return;
    }
    let Some(Amount::Bytes(length)) = extent.length else {
        if options.text("filename").is_some() {
            options.refuse("filename", "the job has several files: give size= in bytes");
        }
        return;
    };
    if !is_zero(extent.from) {
        options.refuse("offset", "an offset in each of several files is not supported");
    }
    let has_filesize = options.text("filesize").is_some();
    let each = if has_filesize { length.0 } else { length.0 / files };
    let whole_blocks = each / block * block;
    extent.length = Some(Amount::Bytes(Bytes(whole_blocks.saturating_mul(files))));
}

/// Checks how fio distributes the I/Os of a job between its files: by `file_service_type` over
/// those that are open. Here a sequential job passes one file after the other, and a random one
/// uses all alike.
pub(super) fn several_files(options: &mut SectionOptions<'_>, access: &JobAccess, files: u64) {
    let service = options.text("file_service_type").unwrap_or("roundrobin");
    let (service, _) = service.split_once(':').unwrap_or((service, ""));
    let in_turn = match service {
        "roundrobin" | "random" => true,
        "sequential" => false,
        _ => {
            let why = "files that are used unequally are not supported; only roundrobin, sequential \
                       and random are";
            return options.refuse("file_service_type", why);
        }
    };
    let open = options.number("openfiles").filter(|open| *open > 0).unwrap_or(files);
    if !access.random {
        if in_turn && open > 1 {
            options.remark(
                "its files are passed one after the other, in fio in turn (file_service_type)",
            );
        }
    } else if !in_turn {
        let why = "random I/Os to one file after the other are not supported; give each file a job";
        options.refuse("file_service_type", why);
    } else if open < files {
        let why =
            "random I/Os to some of the files at a time are not supported; give each file a job";
        options.refuse("openfiles", why);
    } else if !matches!(options.text("random_distribution"), None | Some("random")) {
        let why = "fio applies it within each file; give each file a job";
        options.refuse("random_distribution", why);
    }
}
