//! Reference workloads shipped with the program, each as a workload file.

use crate::cli::trace::{ListArguments, ShowArguments};
use crate::exit::{ExitState, misuse};
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use steadfast_domain::suggestion;
use steadfast_report::text_table;
use steadfast_workload::WorkloadFile;

/// A reference workload of this program.
struct ShippedWorkload {
    name: &'static str,
    /// Text of the workload file.
    text: &'static str,
    /// Description of what its source publishes.
    public: &'static str,
    /// Description of what was computed, estimated or captured by us.
    ours: &'static str,
}

/// All reference workloads.
const WORKLOADS: [ShippedWorkload; 13] = [
    ShippedWorkload {
        name: "retail-web-portal",
        text: include_str!("../../workloads/retail-web-portal.toml"),
        public: "nine streams and their counts, the I/Os of all streams (SNIA tutorial)",
        ours: "bytes of all streams",
    },
    ShippedWorkload {
        name: "retail-backup",
        text: include_str!("../../workloads/retail-backup.toml"),
        public: "one stream, its count and its share (SNIA tutorial)",
        ours: "I/Os and bytes of all streams",
    },
    ShippedWorkload {
        name: "green-storage",
        text: include_str!("../../workloads/green-storage.toml"),
        public: "6 % uniform, half of it reads; 28 % at 10 to 18 % of the addresses (SNIA Emerald)",
        ours: "three of the four bands, the sequential streams, the transfer sizes",
    },
    ShippedWorkload {
        name: "seven-steps",
        text: include_str!("../../workloads/seven-steps.toml"),
        public: "the whole example of a Replay representation (SNIA tutorial)",
        ours: "nothing",
    },
    ShippedWorkload {
        name: "two-minutes",
        text: include_str!("../../workloads/two-minutes.toml"),
        public: "the whole table of a capture step (SNIA tutorial)",
        ours: "nothing",
    },
    ShippedWorkload {
        name: "jesd219",
        text: include_str!("../../workloads/jesd219.toml"),
        public: "sizes, zones and mix, as public implementations of JESD219 have them",
        ours: "nothing; nobody compared it with the standard",
    },
    ShippedWorkload {
        name: "pgbench",
        text: include_str!("../../workloads/pgbench.toml"),
        public: "PostgreSQL and pgbench, with which anyone can capture it again",
        ours: "the capture",
    },
    ShippedWorkload {
        name: "sqlite",
        text: include_str!("../../workloads/sqlite.toml"),
        public: "SQLite, with which anyone can capture it again",
        ours: "the capture",
    },
    ShippedWorkload {
        name: "kv-cache-offload",
        text: include_str!("../../workloads/kv-cache-offload.toml"),
        public: "128 KiB dominates; 2.0 GiB/s of reads, 11.0 MiB/s of writes (Z. Ren and others, \
                 CHEOPS 2025)",
        ours: "all I/Os have that size; order, queue depth",
    },
    ShippedWorkload {
        name: "checkpoint-8b",
        text: include_str!("../../workloads/checkpoint-8b.toml"),
        public: "105 GB by 8 processes, with fsync (rules of the MLCommons storage benchmark 2.0)",
        ours: "transfer size, order, queue depth, one flush per process",
    },
    ShippedWorkload {
        name: "mail",
        text: include_str!("../../workloads/mail.toml"),
        public: "reads to writes 3:2 to 2:1, database to log 8:1 to 12:1, 6 to 8 KB per write of the \
                 log (Microsoft, JetStress); pages of 32 KB (Exchange 2010)",
        ours: "one value of each range; every I/O of the database is one random page",
    },
    ShippedWorkload {
        name: "backup-repository",
        text: include_str!("../../workloads/backup-repository.toml"),
        public: "512 KB per I/O (Veeam, KB 2014); one read and two writes per block of a reversed \
                 incremental backup (Veeam)",
        ours: "all I/Os are random",
    },
    ShippedWorkload {
        name: "video-on-demand",
        text: include_str!("../../workloads/video-on-demand.toml"),
        public: "SEQ 128 KiB, 90 % reads (SNIA tutorial on PTS 2.0.1), and the demand that the PTS \
                 recommends",
        ours: "reads and writes have a position each",
    },
];

/// A reference workload of the SNIA SSSI, whose captures are not public.
#[derive(Serialize, schemars::JsonSchema)]
struct SssiExample {
    /// Number and name that the SNIA tutorial gives it.
    example: &'static str,
    /// Names of the workloads that hold what is known of it.
    workloads: &'static [&'static str],
    /// Description of its public data.
    public: &'static str,
    /// Description of the estimates in these workloads.
    estimated: &'static str,
    /// Description of the unpublished data.
    missing: &'static str,
}

/// The reference workloads that the SNIA tutorial names.
const SSSI: [SssiExample; 3] = [
    SssiExample {
        example: "3, 24-h Retail Web Portal",
        workloads: &["retail-web-portal", "retail-backup"],
        public: "drive 0: nine streams of 1,033 with their counts; the stream of the 2 am backup",
        estimated: "nothing",
        missing: "drive 1, the capture steps, queue depths, the other streams",
    },
    SssiExample {
        example: "4, Green Storage TWG",
        workloads: &["green-storage"],
        public: "the load that was captured: the hot band of the SNIA Emerald script",
        estimated: "three of the four bands, the sequential streams, the transfer sizes",
        missing: "the capture: its steps, queue depths and times",
    },
    SssiExample {
        example: "6, 24-h GPS Navigation Portal",
        workloads: &[],
        public: "totals of drive C, file system: nine streams are 86 % (9.942 of 11.526 million \
                 I/Os); by amount sixteen are 68.8 of 89.8 GiB",
        estimated: "nothing; no workload can be made of totals",
        missing: "every stream and its count",
    },
];

/// One as it is listed.
#[derive(Serialize, schemars::JsonSchema)]
struct ReferenceWorkload {
    name: &'static str,
    streams: usize,
    ios: u64,
    steps: usize,
    demand: Option<String>,
    title: String,
    /// Description of what its source publishes.
    public: &'static str,
    /// Description of what was computed, estimated or captured by us.
    ours: &'static str,
}

/// The JSON output.
#[derive(Serialize, schemars::JsonSchema)]
pub struct WorkloadListOutput {
    workloads: Vec<ReferenceWorkload>,
    /// The SSSI reference workloads.
    sssi: &'static [SssiExample],
}

/// Returns the text of a reference workload; `None` if the name is unknown.
pub fn find(name: &str) -> Option<&'static str> {
    WORKLOADS.iter().find(|one| one.name == name).map(|one| one.text)
}

/// Returns the message for a name that is neither a file nor a reference workload.
pub fn missing(name: &str) -> String {
    let names = || WORKLOADS.iter().map(|one| one.name);
    format!(
        "{name} is neither a file nor a reference workload{}; these are: {}",
        suggestion(name, names()),
        names().collect::<Vec<_>>().join(", ")
    )
}

/// Prints the reference workloads.
pub fn list(arguments: &ListArguments) -> anyhow::Result<ExitState> {
    let listed =
        WORKLOADS.iter().map(summarize).collect::<anyhow::Result<Vec<ReferenceWorkload>>>()?;
    if arguments.json {
        terminal::print_json(&WorkloadListOutput { workloads: listed, sssi: &SSSI })?;
        return Ok(ExitState::Done);
    }
    let head = ["Name", "Streams", "I/Os", "Steps", "Demand", "What"].map(str::to_owned);
    let mut rows = vec![head];
    for workload in &listed {
        rows.push([
            workload.name.to_owned(),
            workload.streams.to_string(),
            workload.ios.to_string(),
            workload.steps.to_string(),
            workload.demand.clone().unwrap_or_else(|| "–".to_owned()),
            workload.title.clone(),
        ]);
    }
    terminal::print(&text_table::with_left(&rows, |column| matches!(column, 0 | 5)))?;
    terminal::print("\nWhat of each is public, and what is ours:")?;
    for one in &listed {
        let ReferenceWorkload { name, public, ours, .. } = one;
        terminal::print(&format!("{name}\n  public: {public}\n  ours:   {ours}"))?;
    }
    terminal::print("\nReference workloads of the SNIA SSSI, whose captures are not public:")?;
    for one in &SSSI {
        terminal::print(&sssi_lines(one))?;
    }
    Ok(ExitState::Done)
}

/// Returns what is known of an SSSI workload, in lines.
fn sssi_lines(one: &SssiExample) -> String {
    let here = if one.workloads.is_empty() { "none".to_owned() } else { one.workloads.join(", ") };
    format!(
        "Example {}\n  here:      {here}\n  public:    {}\n  estimated: {}\n  missing:   {}",
        one.example, one.public, one.estimated, one.missing
    )
}

/// Reads a workload for the list.
fn summarize(one: &ShippedWorkload) -> anyhow::Result<ReferenceWorkload> {
    let ShippedWorkload { name, text, public, ours } = *one;
    let file = WorkloadFile::read(text).context(name)?;
    Ok(ReferenceWorkload {
        name,
        streams: file.workload.streams.len(),
        ios: file.workload.selected().ios,
        steps: file.steps.len(),
        demand: file.demand.map(|demand| demand.to_string()),
        title: file.name,
        public,
        ours,
    })
}

/// Prints the text of one.
pub fn show(arguments: &ShowArguments) -> anyhow::Result<ExitState> {
    let text = find(&arguments.name).ok_or_else(|| misuse(missing(&arguments.name)))?;
    terminal::print_raw(text.as_bytes())?;
    Ok(ExitState::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::stimulus::Order;
    use steadfast_domain::{Bytes, IoStream, Op};

    /// I/Os of the whole, I/Os of the streams, streams, steps.
    type Counts = (u64, u64, usize, usize);

    fn counts(name: &str) -> Counts {
        let file = WorkloadFile::read(find(name).unwrap()).unwrap();
        assert!(file.doubts.is_empty(), "{name}: {:?}", file.doubts);
        assert!(!file.name.is_empty() && !file.remarks.is_empty(), "{name} says no provenance");
        let ios = file.workload.selected().ios;
        for step in &file.steps {
            let known = |key| file.workload.streams.iter().any(|stream| stream.key() == key);
            assert!(step.ios.iter().all(|(key, _)| known(*key)), "{name}: {step:?}");
        }
        (file.workload.total_count, ios, file.workload.streams.len(), file.steps.len())
    }

    #[test]
    fn the_tutorials_workloads_have_its_counts() {
        assert_eq!(counts("retail-web-portal"), (3_512_860, 2_755_026, 9, 0));
        assert_eq!(counts("retail-backup"), (166_224, 134_808, 1, 0));
        assert_eq!(counts("seven-steps"), (5_345, 3_353, 5, 7));
        assert_eq!(counts("two-minutes"), (5_164, 4_882, 21, 1));
    }

    /// 6 % uniform, half of it reads; four bands with 28, 14, 7 and 5 %; 40 % sequential, of which
    /// 25 are reads.
    #[test]
    fn the_hot_band_workload_has_the_weights_of_its_script() {
        assert_eq!(counts("green-storage"), (1_000_000, 1_000_000, 48, 0));
        let file = WorkloadFile::read(find("green-storage").unwrap()).unwrap();
        let (streams, _) = file.io_streams().unwrap();
        let is_random = |stream: &IoStream| stream.order == Order::Random;
        let ios = |of: &dyn Fn(&IoStream) -> bool| -> u64 {
            streams.iter().filter(|s| of(s)).map(|s| u64::from(s.weight)).sum()
        };
        let all = ios(&|_| true);
        assert_eq!(ios(&is_random) * 100, all * 60);
        let random_reads = ios(&|s| is_random(s) && s.op == Op::Read);
        assert_eq!(random_reads * 1000, all * 408, "6 x 50 % + 54 x 70 %");
        assert_eq!(ios(&|s| !is_random(s) && s.op == Op::Read) * 100, all * 25);
        assert_eq!(ios(&|s| s.size == Bytes::kib(8)) * 100, all * 31);
        for stream in streams.iter().filter(|s| is_random(s)) {
            let shares: u32 = stream.zones.iter().map(|z| z.weight).sum();
            let first = stream.zones.iter().find(|z| z.from_ppm == 100_000).unwrap();
            // 28 of 60, and 8 % of the uniform 6.
            assert_eq!(first.to_ppm, 180_000);
            assert_eq!(u64::from(first.weight) * 6000, u64::from(shares) * 2848);
        }
    }

    #[test]
    fn every_sssi_workload_says_what_is_public() {
        for one in &SSSI {
            assert!(one.workloads.iter().all(|name| find(name).is_some()), "{}", one.example);
            for text in [one.public, one.estimated, one.missing] {
                assert!(!text.is_empty() && sssi_lines(one).contains(text));
            }
        }
        assert!(SSSI.iter().map(|one| one.example.split(',').next().unwrap()).eq(["3", "4", "6"]));
    }

    /// 2.0 GiB/s and 11.0 MiB/s for 1,000 s; 105 GB; ratios.
    #[test]
    fn workloads_of_published_figures_have_their_amounts() {
        let amounts = |name: &str| -> Vec<u64> {
            let file = WorkloadFile::read(find(name).unwrap()).unwrap();
            file.workload.streams.iter().map(|stream| stream.amount).collect()
        };
        assert_eq!(counts("kv-cache-offload"), (16_472_000, 16_472_000, 2, 0));
        assert_eq!(amounts("kv-cache-offload"), [2000 << 30, 11_000 << 20]);
        assert_eq!(counts("checkpoint-8b"), (100_144, 100_144, 2, 0));
        assert!(amounts("checkpoint-8b")[0].abs_diff(105_000_000_000) < 1 << 20);
        // Reads to writes of the database 3:2, database to log 10:1, pages of 32 KiB.
        assert_eq!(counts("mail"), (11_000, 11_000, 3, 0));
        assert_eq!(amounts("mail"), [6000 << 15, 4000 << 15, 1000 << 13]);
        // Two writes and one read of 512 KiB.
        assert_eq!(counts("backup-repository"), (3000, 3000, 2, 0));
        assert_eq!(amounts("backup-repository"), [2000 << 19, 1000 << 19]);
        assert_eq!(counts("video-on-demand"), (10_000, 10_000, 2, 0));
        assert_eq!(amounts("video-on-demand"), [9000 << 17, 1000 << 17]);
    }

    /// Its mean transfer is the published one, its zones take the published shares, and
    /// no offset is off 4 KiB, whatever the size.
    #[test]
    fn jesd219_has_its_mix_its_mean_size_its_zones_and_its_alignment() {
        assert_eq!(counts("jesd219"), (10_000, 10_000, 24, 0));
        let file = WorkloadFile::read(find("jesd219").unwrap()).unwrap();
        let (streams, _) = file.io_streams().unwrap();
        let sum = |of: &dyn Fn(&IoStream) -> u64| streams.iter().map(of).sum::<u64>();
        let weight = |s: &IoStream| u64::from(s.weight);
        let ios = sum(&weight);
        let bytes = sum(&|s| weight(s) * s.size.0);
        assert_eq!(format!("{:.3}", bytes as f64 / ios as f64 / 1024.0), "7.635");
        assert_eq!(sum(&|s| if s.op == Op::Read { weight(s) } else { 0 }) * 100, ios * 40);
        for stream in &streams {
            let zones: Vec<_> =
                stream.zones.iter().map(|z| (z.weight, z.from_ppm, z.to_ppm)).collect();
            let published = [(50, 0, 50_000), (30, 50_000, 200_000), (20, 200_000, 1_000_000)];
            assert_eq!(zones, published, "{stream}");
            assert_eq!(stream.alignment(), Bytes::kib(4), "{stream}");
        }
    }

    #[test]
    fn captured_workloads_have_steps_that_add_up_to_their_streams() {
        for name in ["pgbench", "sqlite"] {
            let (all, ios, streams, steps) = counts(name);
            assert!(all >= ios && ios > 1000 && streams > 2 && steps > 2, "{name}");
            let file = WorkloadFile::read(find(name).unwrap()).unwrap();
            for stream in &file.workload.streams {
                let cells = file.steps.iter().flat_map(|step| &step.ios);
                let sum: u64 =
                    cells.filter(|(key, _)| *key == stream.key()).map(|(_, ios)| ios).sum();
                assert_eq!(sum, stream.count, "{name} {}", stream.stream);
            }
        }
    }

    #[test]
    fn every_text_is_as_it_was_derived_and_names_no_machine() {
        for ShippedWorkload { name, text, public, ours } in WORKLOADS {
            assert!(!public.is_empty() && !ours.is_empty(), "{name}");
            for word in ["/dev/", "/home", "/tmp", "/work", "hostname"] {
                assert!(!text.contains(word), "{name} has {word}");
            }
            assert!(WorkloadFile::read(text).unwrap().io_streams().is_ok(), "{name}");
        }
    }
}
