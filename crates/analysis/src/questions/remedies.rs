//! Remedies for what a capture notes in words: I/Os that it did not follow, and its remarks. Files
//! keep these notes as text, so a remedy is found by a part of the text. A note without a match has
//! no remedy.

/// Remedies by a part of the note about what was not captured.
const UNSEEN: &[(&str, &str)] = &[
    ("(mmap)", BLOCK_LAYER),
    (
        "(io_submit)",
        "Capture with --file-probes entry-points, which sees them (ext4, xfs, btrfs), or with --layer \
         block,filesystem, which has their device I/Os.",
    ),
    ("copies inside the kernel", BLOCK_LAYER),
    ("sync_file_range", BLOCK_LAYER),
    (
        "32-bit programs",
        "Capture with --file-probes entry-points (ext4, xfs, btrfs), or with --layer block,filesystem, \
         which has their device I/Os.",
    ),
    ("not completed at the end", "Stop the load before the capture."),
];

const BLOCK_LAYER: &str = "Capture with --layer block,filesystem: the block layer has the device \
    I/Os that these cause.";

/// Remedies by a part of a remark.
const REMARKS: &[(&str, &str)] = &[
    // Captures.
    (
        " is a partition: offsets count from",
        "For offsets in the partition, subtract its start (/sys/class/block/NAME/start, in sectors \
         of 512 bytes).",
    ),
    (
        "include the capture's own writes",
        "Capture again with the output (-o) on a device that is not captured.",
    ),
    (
        "The cgroups are those of",
        "Nothing needs to be done: this is the hierarchy that --cgroup and --by cgroup mean.",
    ),
    (
        "eBPF is unavailable",
        "The capture used tracefs. To use eBPF, remove the cause given here and capture again.",
    ),
    // Files of other programs.
    (
        "says nothing about how it was captured",
        "Use the file that the capture wrote, if there is one: it has the devices, the start time \
         and what was lost.",
    ),
    (
        "so queue depths are counted: they are those among",
        "If the file has only part of a device's I/Os, use the whole file: the depths are too low.",
    ),
    (
        "was rewritten by another program",
        "Use the file that the capture wrote: its checksums show damage.",
    ),
    (
        "are those of the whole capture: the file does not say",
        "Capture again: with --content-sample, files have them with each I/O.",
    ),
    // Imports.
    (
        "matched by device, operation and sector",
        "Nothing needs to be done, unless equal I/Os were outstanding on one sector: these cannot \
         be distinguished.",
    ),
    ("completions covered part of an I/O", "Nothing needs to be done."),
    ("requeues; a requeued I/O", "Look for errors of the device in the kernel log: dmesg."),
    (
        "Issue times are whole microseconds",
        "Nothing needs to be done: capture steps of 100 us and more are not affected.",
    ),
    (
        "The log has no times",
        "Do not use rates and capture steps of this trace. fio logs times in iologs of version 3.",
    ),
    ("has no response times", "Capture with steadfast capture to get response times."),
    (
        "Queue depths and busy time cannot be counted",
        "Capture with steadfast capture to get queue depths and busy time.",
    ),
    ("older than the first line", "Sort the lines by time and import them again."),
    // Data that `trace recover` omitted.
    ("The end of the file was unreadable", FROM_BACKUP),
    ("Damaged and omitted", FROM_BACKUP),
    ("Omitted: ", FROM_BACKUP),
    (
        "Files of this capture that were not given",
        "Run steadfast trace recover again with all files of the capture.",
    ),
    // Several captures.
    ("more remarks; read the captures", "Run steadfast trace doctor on each capture."),
    (
        "captures have no start time",
        "Compare their times with those of the others only if they began together.",
    ),
    ("The fold holds only part", "Fold the captures again without a filter to have all I/Os."),
];

const FROM_BACKUP: &str =
    "The counts do not include these I/Os. If there is a backup of the file, use that.";

/// Returns the remedy for something that was not captured; empty if there is none.
pub(crate) fn unseen_remedy(what: &str) -> &'static str {
    found(UNSEEN, what)
}

/// Returns the remedy for a remark of a capture; empty if there is none.
pub(crate) fn remark_remedy(remark: &str) -> &'static str {
    found(REMARKS, remark)
}

fn found(remedies: &[(&str, &'static str)], text: &str) -> &'static str {
    remedies.iter().find(|(part, _)| text.contains(part)).map_or("", |(_, remedy)| remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_remedy_of_its_part_and_an_unknown_one_none() {
        assert!(unseen_remedy("I/Os given to Linux AIO (io_submit)").contains("entry-points"));
        assert!(unseen_remedy("calls on files not completed at the end").contains("Stop the load"));
        assert!(remark_remedy("nvme0n1p2 is a partition: offsets count from").contains("subtract"));
        assert_eq!(remark_remedy("Written by hand."), "");
    }
}
