//! Abbreviations and their meanings. Every report explains the ones that it uses.
//! `docs/vocabulary.md` has the same table.

use crate::notation::is_number;

/// An abbreviation and what it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abbreviation {
    /// Heading in the report: the abbreviation (`WCD`) or an example (`T4Q32`).
    pub short: &'static str,
    /// Meaning, in one line.
    pub meaning: &'static str,
    form: AbbreviationForm,
}

/// Spellings of an abbreviation in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AbbreviationForm {
    /// The abbreviation, optionally plural (`SSDs`) or after a number (`64MiB`).
    Word,
    /// A prefix, alone or followed by a digit: `AR`, `AR100`, `RND4K`.
    Prefix(&'static str),
    /// Threads and queue depth: `T4Q32`, `Q8T1`, `T4`, `Q32`.
    Demand,
    /// Reads, writes and mixes of them: `R`, `W`, `RW65`.
    Mix,
    /// Transfer sizes: `4K`, `1024K`.
    Size,
}

const fn word(short: &'static str, meaning: &'static str) -> Abbreviation {
    Abbreviation { short, meaning, form: AbbreviationForm::Word }
}

/// Returns an abbreviation whose heading is an example.
const fn example(
    form: AbbreviationForm,
    short: &'static str,
    meaning: &'static str,
) -> Abbreviation {
    Abbreviation { short, meaning, form }
}

/// Returns an abbreviation that may be followed by a number.
const fn prefix(letters: &'static str, short: &'static str, meaning: &'static str) -> Abbreviation {
    example(AbbreviationForm::Prefix(letters), short, meaning)
}

/// Every abbreviation that a report may use, in alphabetical order.
pub const ABBREVIATIONS: &[Abbreviation] = &[
    example(AbbreviationForm::Size, "4K", "transfer size in KiB: here 4 KiB (4,096 bytes)"),
    word("Aln", "alignment: the multiple at which random I/Os start (BS: the block size)"),
    prefix("AR", "AR", "active range: the part of the capacity that is tested, in percent"),
    word("ART", "average response time"),
    word("ATA", "the command set of SATA drives"),
    word("BS", "block size: the transfer size of an I/O"),
    word("CLP", "Confidence Level Plot: a histogram of response times with its running sum"),
    word("CPU", "processor"),
    word("DIRTH", "Demand Intensity / Response Time Histogram test"),
    word("DP", "data pattern (RND: random data)"),
    word("DUT", "device under test"),
    word("FLUSH", "a write's own flush (FLUSH/1), or one that 16 writes share (FLUSH/16)"),
    word("FUA", "force unit access: a write that completes only when it is on stable media"),
    word("GB", "10^9 bytes"),
    word("GiB", "2^30 bytes"),
    word("HBA", "host bus adapter"),
    word("HDD", "hard disk drive"),
    word("HIR", "Host Idle Recovery test"),
    word("IO", "input/output operation: a read or a write, also written I/O"),
    word("IOPS", "I/Os per second"),
    word("JEDEC", "the standards body of the semiconductor industry"),
    prefix("JESD", "JESD219", "JEDEC's standard for endurance workloads"),
    word("KiB", "1,024 bytes"),
    word("LAT", "latency test"),
    word("LBA", "logical block address"),
    word("LRU", "least recently used: the order in which a cache evicts"),
    word("MaxIOPS", "the demand with the highest IOPS below the response-time ceiling"),
    word("MB", "10^6 bytes"),
    word("MiB", "2^20 bytes"),
    word("MidIOPS", "the demand halfway between the highest and the lowest IOPS"),
    word("MinIOPS", "the lowest demand: one thread, one outstanding I/O (T1Q1)"),
    word("MRT", "maximum response time"),
    word("NAND", "the kind of flash memory that SSDs use"),
    word("NTFS", "the default file system of Windows"),
    word("NUMA", "non-uniform memory access: each group of processors has its own memory"),
    word("NVMe", "the command set of SSDs on PCIe"),
    word("OCP", "Open Compute Project: its specification adds a log to NVMe drives"),
    word("OIO", "outstanding I/Os of all threads together (TC × QD)"),
    word("PCIe", "the bus of NVMe drives: Peripheral Component Interconnect Express"),
    word(
        "PTS",
        "SNIA's Performance Test Specification for solid-state drives (E: enterprise, C: client)",
    ),
    word("QD", "queue depth: outstanding I/Os of each thread"),
    word("QoS", "quality of service: the response times of the slowest I/Os"),
    example(
        AbbreviationForm::Mix,
        "R, W, RW65",
        "reads, writes, and a mix of 65 % reads and 35 % writes",
    ),
    prefix("RND", "RND", "random offsets or, as a data pattern, random data"),
    word("RWSW", "SNIA's Real World Storage Workload specification"),
    word("SAS", "Serial Attached SCSI: an interface of drives"),
    word("SATA", "Serial ATA: an interface of drives"),
    word("SCSI", "the command set of SAS drives"),
    prefix("SEQ", "SEQ", "sequential offsets"),
    prefix("SHA", "SHA-256", "a 256-bit cryptographic hash of the data"),
    word("SNIA", "Storage Networking Industry Association"),
    word("SS", "steady state"),
    word("SSD", "solid-state drive"),
    word("SSS", "solid state storage"),
    word("SSSI", "SNIA's Solid State Storage Initiative"),
    word("SW", "software"),
    example(
        AbbreviationForm::Demand,
        "T4Q32",
        "4 threads with 32 outstanding I/Os each (T: threads, Q: queue depth)",
    ),
    word("TB", "10^12 bytes"),
    word("TC", "thread count"),
    word("TGBW", "total gigabytes written"),
    word("TOIO", "total outstanding I/Os"),
    word("TP", "throughput in MB/s"),
    word("TSC", "time-stamp counter: a processor's clock"),
    word("TWG", "technical work group"),
    word("UTC", "coordinated universal time"),
    word("WC", "write cache"),
    word("WCD", "write cache disabled"),
    word("WCE", "write cache enabled"),
    word("WDPC", "workload-dependent preconditioning: the test's own load until it is steady"),
    word("WIPC", "workload-independent preconditioning: sequential writes of twice the capacity"),
    word("WSAT", "Write Saturation test"),
    word("XSR", "Cross Stimulus Recovery test"),
];

impl Abbreviation {
    fn is_used_by(&self, word: &str) -> bool {
        match self.form {
            AbbreviationForm::Word => {
                let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
                word == self.short || word.strip_suffix('s') == Some(self.short)
            }
            AbbreviationForm::Prefix(letters) => word.strip_prefix(letters).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit())
            }),
            AbbreviationForm::Demand => is_demand(word),
            AbbreviationForm::Mix => {
                matches!(word, "R" | "W" | "RW") || word.strip_prefix("RW").is_some_and(is_number)
            }
            AbbreviationForm::Size => word.strip_suffix('K').is_some_and(is_number),
        }
    }
}

/// Returns true for a demand: a thread count, a queue depth, or both in either order.
fn is_demand(word: &str) -> bool {
    [('T', 'Q'), ('Q', 'T')].into_iter().any(|(first, second)| {
        strip_count(word, first)
            .is_some_and(|rest| rest.is_empty() || strip_count(rest, second) == Some(""))
    })
}

/// Strips `letter` and the number after it.
fn strip_count(text: &str, letter: char) -> Option<&str> {
    let number = text.strip_prefix(letter)?;
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < number.len()).then_some(rest)
}

/// Returns the abbreviations that occur in these texts or in the meanings of returned
/// abbreviations, in alphabetical order.
pub fn abbreviations<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<&'static Abbreviation> {
    let mut used = vec![false; ABBREVIATIONS.len()];
    texts.into_iter().for_each(|text| mark_used(text, &mut used));
    loop {
        let mut more = used.clone();
        for (one, _) in ABBREVIATIONS.iter().zip(&used).filter(|(_, used)| **used) {
            mark_used(one.meaning, &mut more);
        }
        if more == used {
            break;
        }
        used = more;
    }
    ABBREVIATIONS.iter().zip(used).filter(|(_, used)| *used).map(|(one, _)| one).collect()
}

fn mark_used(text: &str, used: &mut [bool]) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        for (abbreviation, used) in ABBREVIATIONS.iter().zip(used.iter_mut()) {
            *used = *used || abbreviation.is_used_by(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shorts(text: &str) -> Vec<&'static str> {
        abbreviations([text]).into_iter().map(|one| one.short).collect()
    }

    #[test]
    fn every_abbreviation_of_the_headline_is_explained() {
        let used = shorts("PTS-E 2.0  WCD  T4/Q32  DP=RND  AR100  Aln=BS");
        assert_eq!(used, ["Aln", "AR", "BS", "DP", "PTS", "RND", "SNIA", "T4Q32", "WCD"]);
    }

    #[test]
    fn only_whole_words_count() {
        assert_eq!(shorts("PARTS QUEUE SEQUENCE ARTS WSATS T Q T4x TQ4 4T 4KB R2"), [""; 0]);
        assert_eq!(shorts("SEQ1M Q8T1"), ["SEQ", "T4Q32"]);
        assert_eq!(shorts("64MiB of SSDs"), ["MiB", "SSD"]);
        assert_eq!(shorts("RND 4K RW65"), ["4K", "KiB", "R, W, RW65", "RND"]);
        assert_eq!(shorts("OIO"), ["OIO", "QD", "TC"], "what a meaning uses is explained too");
    }

    #[test]
    fn abbreviations_are_sorted_and_unique() {
        let names: Vec<String> = ABBREVIATIONS.iter().map(|a| a.short.to_lowercase()).collect();
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
    }

    #[test]
    fn the_vocabulary_page_has_every_abbreviation() {
        let page = include_str!("../../../docs/vocabulary.md");
        for one in ABBREVIATIONS {
            let row = format!("| {} | {} |", one.short, one.meaning);
            assert!(page.contains(&row), "docs/vocabulary.md lacks: {row}");
        }
    }
}
