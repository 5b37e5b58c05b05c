//! fio's I/O engines: which of them wait for every I/O, which keep a depth, and which move no data.

use super::option_support::is_external_engine;
use super::options::{DEMAND_MAX, SectionOptions};
use steadfast_domain::IoStream;
use steadfast_domain::stimulus::Op;

/// Behavior of an engine of fio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FioEngine {
    /// It hands one I/O over and waits for it.
    Waits,
    /// It keeps a depth, but waits for every discard.
    QueuesData,
    /// It keeps a depth.
    Queues,
    /// It moves no data of a device, for this reason.
    MovesNothing(&'static str),
    /// Neither fio nor this program has it.
    Unknown,
}

use FioEngine::{MovesNothing, Queues, QueuesData, Unknown, Waits};

/// Engines whose I/Os the kernel's block layer sees as it sees those of this program.
const KERNEL_ENGINES: [&str; 11] = [
    "sync", "psync", "vsync", "pvsync", "pvsync2", "posixaio-sync", "libaio", "io_uring",
    "posixaio", "solarisaio", "windowsaio",
];

impl FioEngine {
    fn from_name(name: &str) -> FioEngine {
        match name {
            "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "posixaio-sync" => Waits,
            "mmap" | "splice" | "sg" | "mtd" | "libpmem" | "dev-dax" | "pmemblk" | "libzbc"
            | "libcufile" | "libhdfs" | "gfapi" | "ime_psync" | "ime_psyncv" | "http" => Waits,
            "libaio" | "io_uring" | "posixaio" | "solarisaio" | "windowsaio" => QueuesData,
            "io_uring_cmd" | "spdk" | "xnvme" | "libblkio" | "libiscsi" | "nbd" | "nfs" | "rbd"
            | "rados" | "gfapi_async" | "ime_aio" | "dfs" | "guasi" | "syslet-rw" => Queues,
            // An engine of its own in a file: what is known of it is that it takes I/Os.
            _ if is_external_engine(name) => Queues,
            "null" | "cpp_null" => MovesNothing("fio does no I/O with it, and measures itself"),
            "cpuio" | "exec" => MovesNothing("it uses processors and does no I/O"),
            "filecreate" | "filestat" | "filedelete" | "filexattr" | "fileoperations"
            | "dircreate" | "dirstat" | "dirdelete" => {
                MovesNothing("it makes, reads or removes entries of a file system, and no data")
            }
            "falloc" | "ftruncate" | "e4defrag" => {
                MovesNothing("it changes where a file system keeps a file, and moves no data")
            }
            "net" | "netsplice" | "rdma" => MovesNothing("it moves data over a network"),
            _ if name.starts_with("librpma") => MovesNothing("it moves data over a network"),
            _ => Unknown,
        }
    }
}

/// Returns the depth of a job by `iodepth` and its engine; `default_engine` is that of jobs that
/// name none. What the engine means for the job gets a remark.
pub(super) fn depth(
    options: &mut SectionOptions<'_>,
    streams: &[IoStream],
    default_engine: Option<&str>,
) -> u32 {
    // A depth without effect is not limited.
    let depth = options.count("iodepth", u32::MAX).unwrap_or(1);
    let given = options.text("ioengine");
    let name = given.or(default_engine).unwrap_or("psync");
    let engine = FioEngine::from_name(name);
    match engine {
        MovesNothing(why) => {
            options.refuse("ioengine", &format!("{why}; name the engine of a device"));
            return depth;
        }
        Unknown => {
            options.refuse("ioengine", "fio has no engine of this name");
            return depth;
        }
        Waits | QueuesData | Queues => {}
    }
    if !KERNEL_ENGINES.contains(&name) {
        options.remark(&format!(
            "ioengine={name} is not used: its I/Os go through the block layer, {}",
            if engine == Waits { "one at a time" } else { "as many at a time as iodepth says" }
        ));
    }
    if engine == Waits && depth > 1 {
        let hint = if given.is_some() {
            ""
        } else {
            "; where fio was given another engine, give --ioengine"
        };
        options.remark(&format!(
            "iodepth={depth} has no effect with the engine {name}, which waits for every I/O: \
             depth 1{hint}"
        ));
        return 1;
    }
    let discards = streams.iter().all(|stream| stream.op == Op::Discard);
    if engine == QueuesData && discards && depth > 1 {
        options.remark(&format!(
            "iodepth={depth} has no effect on discards: fio waits for each with the engine {name}, \
             and so do we: depth 1"
        ));
        return 1;
    }
    if depth > DEMAND_MAX {
        options.refuse("iodepth", &format!("a depth is at most {DEMAND_MAX}"));
    }
    depth
}
