//! Support for each option of fio: applied, without effect, or refused.

/// Support for an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionSupport {
    /// Part of the load.
    Understood,
    /// Nothing depends on it here.
    Idle,
    /// It is not done, and a line says so.
    Remarked(&'static str),
    /// Only the value `0` (or `none`) is supported; any other is refused with this reason.
    OffOnly(&'static str),
    /// Refused with this reason.
    Refused(&'static str),
}

use OptionSupport::{Idle, OffOnly, Refused, Remarked, Understood};

/// Other names of options, with the names that replace them.
const ALIASES: [(&str, &str); 20] = [
    ("blockalign", "ba"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("fileoffset", "offset"),
    ("fill_fs", "fill_device"),
    ("io_limit", "io_size"),
    ("nr_files", "nrfiles"),
    ("ratecycle", "rate_cycle"),
    ("ratemin", "rate_min"),
    ("readwrite", "rw"),
    ("sector_alignment", "ba"),
    ("start_delay", "startdelay"),
    ("steadystate", "ss"),
    ("steadystate_check_interval", "ss_interval"),
    ("steadystate_duration", "ss_dur"),
    ("steadystate_ramp_time", "ss_ramp"),
    ("threads", "thread"),
    ("timeout", "runtime"),
    ("wait_for_previous", "stonewall"),
];

/// Returns the name of an option that may be given by another one.
pub(super) fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, canonical)| canonical)
}

/// Options that are part of a load.
const UNDERSTOOD: &[&str] = &[
    "ba", "bs", "dedupe_mode", "directory", "file_service_type", "filename", "filename_format",
    "flow", "flow_id", "group_reporting", "nrfiles", "openfiles", "offset_align",
    "offset_increment", "percentage_random", "rate_ignore_thinktime", "readonly", "ss", "ss_dur",
    "ss_ramp", "bsrange", "bssplit", "buffer_compress_percentage", "buffer_pattern", "buffered",
    "dedupe_percentage", "direct", "fdatasync", "filesize", "fsync", "io_size", "iodepth",
    "ioengine", "kb_base", "latency_target", "loops", "norandommap", "number_ios", "numjobs",
    "offset", "ramp_time", "random_distribution", "random_generator", "randrepeat", "randseed",
    "rate", "rate_iops", "rate_process", "refill_buffers", "runtime", "rw", "rwmixread",
    "rwmixwrite", "scramble_buffers", "size", "startdelay", "stonewall", "sync", "thinktime",
    "thinktime_blocks", "time_based", "wait_for", "zero_buffers",
];

/// Options for reports and the lifetime of files, and those that this program sets itself for every
/// load.
const IDLE: &[&str] = &[
    "allow_file_create", "allow_mounted_write", "allrandrepeat", "bandwidth_log",
    "block_error_percentiles", "bwavgtime", "clat_percentiles", "clocksource", "continue_on_error",
    "create_fsync", "create_on_open", "create_serialize", "description", "disable_bw",
    "disable_bw_measurement", "disable_clat", "disable_lat", "disable_slat", "error_dump",
    "exitall_on_error", "experimental_verify", "fallocate", "fadvise_hint", "fixedbufs",
    "gtod_cpu", "gtod_reduce", "hugepage-size", "ignore_error", "invalidate", "iomem",
    "iopsavgtime", "lat_percentiles", "lockmem", "log_avg_msec", "log_compression",
    "log_hist_coarseness", "log_hist_msec", "log_max_value", "log_offset", "log_store_compressed",
    "log_unix_epoch", "log_window_value", "mem", "mem_align", "name", "new_group", "nonvectored",
    "latency_percentile", "latency_window", "overwrite", "per_job_logs", "percentile_list",
    "registerfiles", "significant_figures", "slat_percentiles", "softrandommap", "status_interval",
    "stats", "thread", "unified_rw_reporting", "unique_filename", "unit_base", "unlink",
    "unlink_each_loop", "use_os_rand", "userspace_reap", "uid", "gid", "write_bw_log",
    "write_hist_log", "write_iops_log", "write_lat_log", "rate_cycle", "rwmixcycle", "do_verify",
    "verify_fatal", "verify_dump", "verify_async", "verify_interval", "verify_backlog",
    "file_create_mode", "replay_redirect", "dedupe_global", "dedupe_working_set_percentage",
    "disk_util", "flow_sleep", "cgroup_nodelete", "log_alternate_epoch",
    "log_alternate_epoch_clock_id", "log_compression_cpus", "log_entries", "log_prio",
    "merge_blktrace_file", "merge_blktrace_iters", "merge_blktrace_scalars", "read_iolog_chunked",
    "replay_align", "replay_scale", "replay_skip", "replay_time_scale", "apptag", "apptag_mask",
    "dp_scheme", "fdp_pli", "fdp_pli_select", "iomem_align", "job_start_clock_id",
    "log_issue_time", "no_completion_thread", "pi_act", "pi_chk", "plid_select", "plids",
    "recover_zbd_write_error",
];

/// Options that are not applied as in fio.
const OTHERS: &[(&[&str], OptionSupport)] = &[
    (&["exitall", "exit_what"], Remarked("each of several jobs runs to its own end")),
    (&["buffer_compress_chunk"], Remarked("every sector is random and zero in these shares")),
    (&["cgroup", "cgroup_weight"], Remarked("threads stay in the control group of this program")),
    (&["force_async"], Remarked("the kernel decides which I/Os need a worker")),
    (&["nowait"], Remarked("an I/O waits where the kernel lets it wait")),
    (&["write_hint"], Remarked("write hints are not passed on")),
    (
        &["thinktime_blocks_type"],
        Remarked("the I/Os between two pauses are counted as they complete"),
    ),
    (&["cmd_type"], Remarked("I/O goes through the block device, not through NVMe commands")),
    (
        &["end_syncfs", "end_fsync"],
        Remarked("the write cache is not flushed at the end of the load"),
    ),
    (&["file_append"], Remarked("writes begin at the offset, in fio behind what the file holds")),
    (&["fsync_on_close"], Remarked("the write cache is not flushed at the end of the load")),
    (&["pre_read"], Remarked("nothing is read beforehand: the page cache is bypassed")),
    (&["readahead"], Remarked("the page cache is bypassed")),
    (&["serialize_overlap"], Remarked("I/Os that overlap are not held back")),
    (&["sync_file_range"], Remarked("no effect: the page cache is bypassed")),
    (
        &["cpumask", "cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes"],
        Remarked("threads are not bound to processors"),
    ),
    (&["numa_mem_policy"], Remarked("memory is not bound to nodes")),
    (
        &[
            "nice", "prio", "prioclass", "cmdprio", "priohint", "cmdprio_hint", "cmdprio_bssplit",
            "cmdprio_class", "cmdprio_percentage",
        ],
        Remarked("priorities are left as they are"),
    ),
    (&["ioscheduler"], Remarked("the scheduler of the device is left as it is")),
    (&["hipri_percentage"], Remarked("completions are not polled")),
    (&["ss_interval"], Remarked("the rate is judged after every part of at most 59 s")),
    (&["hipri"], Remarked("completions are not polled")),
    (&["sqthread_poll", "sqthread_poll_cpu"], Remarked("the kernel does not poll for submissions")),
    (&["uncached"], Remarked("the page cache is bypassed")),
    (
        &[
            "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete",
            "iodepth_batch_complete_min", "iodepth_batch_complete_max",
        ],
        Remarked("I/Os are submitted as completions make room"),
    ),
    (
        &["rate_min", "rate_iops_min"],
        Remarked("a load that is slower is not ended; see its numbers"),
    ),
    (&["write_iolog"], Remarked("no log of single I/Os is written; use steadfast capture")),
    (&["create_only"], OffOnly("nothing would be measured: fio only creates the files")),
    (&["verify_only"], OffOnly("nothing would be measured: fio only walks through the job")),
    (&["opendir"], Refused("the files of a directory are not looked up; name them with filename")),
    (&["verify"], OffOnly("fio's verification is not done; use steadfast run verify-write")),
    (&["lockfile"], OffOnly("jobs that wait for each other's files are not supported")),
    (&["fill_device"], OffOnly("write until the device is full with size=100%")),
    (&["atomic"], OffOnly("atomic writes are not supported")),
    (
        &["trim_percentage", "trim_backlog", "trim_backlog_batch", "trim_verify_zero"],
        OffOnly("discards of blocks that were written before are not supported"),
    ),
    (&["md_per_io_size"], OffOnly("metadata and protection information are not supported")),
    (&["num_range"], OffOnly("discards of several ranges in one command are not supported")),
    (&["fdp", "dataplacement"], OffOnly("placement identifiers are not supported")),
    (&["sprandom"], OffOnly("overwrites in the order of fio's preconditioning are not supported")),
    (&["readfua"], OffOnly("forced unit access of fio's SCSI engine is not supported")),
    (
        &["writefua"],
        OffOnly("forced unit access of fio's SCSI engine is not supported; set sync=1"),
    ),
    (&["sg_write_mode"], Refused("SCSI commands other than READ and WRITE are not supported")),
    (&["write_mode"], Refused("NVMe commands other than Read and Write are not supported")),
    (
        &[
            "zonemode", "zonesize", "zonerange", "zoneskip", "zonecapacity",
            "zone_reset_frequency", "read_beyond_wp", "max_open_zones", "job_max_open_zones",
            "ignore_zone_limits",
        ],
        OffOnly("zones of this kind are not supported"),
    ),
    (&["write_barrier"], OffOnly("flushes after a number of writes are not supported")),
    (&["thinktime_spin", "thinkcycles"], OffOnly("no processor time is spent between I/Os")),
    (&["thinktime_iotime"], OffOnly("pauses after a time are not supported, after a number are")),
    (&["bs_unaligned"], OffOnly("unaligned transfers need the page cache")),
    (&["bs_is_seq_rand"], OffOnly("transfer sizes by order are not supported; use rw-specific bs")),
    (&["max_latency"], OffOnly("a load is not ended by a response time")),
    (
        &["latency_run"],
        OffOnly(
            "a search that is repeated is not supported; search once with: steadfast run \
                 load-curve --slo",
        ),
    ),
    (&["io_submit_mode"], Remarked("I/Os are submitted by the thread that draws them")),
    (&["read_iolog"], Refused("replay a log with: steadfast trace import, then replay-native")),
    (&["replay_no_stall"], OffOnly("replay a log with: steadfast trace import")),
    (&["iodepth_low"], Refused("a depth that is refilled in batches is not supported")),
    (&["exec_prerun", "exec_postrun"], Refused("no program of a job file is started")),
    (&["profile"], Refused("profiles of fio are not supported")),
    (&["rw_sequencer"], Refused("sequencers are not supported")),
    (&["zone_reset_threshold"], OffOnly("zoned devices are not supported")),
];

/// Returns the support for an option, by its canonical name, or `None` if neither fio nor this
/// program has it.
pub(super) fn support(name: &str) -> Option<OptionSupport> {
    if UNDERSTOOD.contains(&name) {
        return Some(Understood);
    }
    if let Some((_, support)) = OTHERS.iter().find(|(names, _)| names.contains(&name)) {
        return Some(*support);
    }
    if ENGINE_OPTIONS.contains(&name) || ENGINE_PREFIXES.iter().any(|own| name.starts_with(own)) {
        return Some(Remarked("it says where fio's engine finds its data; here --target says it"));
    }
    (IDLE.contains(&name) || name.starts_with("verify_")).then_some(Idle)
}

/// Options by which fio's engines for servers and libraries find what they read and write.
const ENGINE_OPTIONS: &[&str] = &[
    "arguments", "cpuchunks", "cpuload", "cpumode", "donorname", "exit_on_io_done", "grace_time",
    "hostname", "inplace", "interface", "listen", "nodelay", "program", "proto", "stat_type",
    "std_redirect", "ttl", "brick", "busy_poll", "chunk_size", "clientname", "clustername", "conf",
    "cont", "cuda_io", "gpu_dev_ids", "hdfsdirectory", "https", "namenode", "nfs_url",
    "object_class", "pool", "port", "rbdname", "single", "skip_bad", "svcl", "touch_objects",
    "uri", "volume",
];
const ENGINE_PREFIXES: [&str; 3] = ["http_", "libblkio_", "xnvme_"];

/// Returns true for an engine loaded from a file, whose options fio itself does not know.
pub(super) fn is_external_engine(name: &str) -> bool {
    name.starts_with("external:") || name.contains('/')
}

/// Returns a hint at a known name that resembles this one, for a message.
pub(super) fn resembling(name: &str) -> String {
    // A slip changes few letters: longer and shorter names need no comparison.
    let near = names().filter(|known| known.len().abs_diff(name.len()) <= LENGTH_DIFFERENCE_MAX);
    steadfast_domain::suggestion(name, near)
}

/// Returns the names of all options that fio and this program have.
pub fn names() -> impl Iterator<Item = &'static str> {
    let known = UNDERSTOOD.iter().chain(IDLE).copied();
    let others = OTHERS.iter().flat_map(|(names, _)| *names).copied();
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    known.chain(others).chain(aliases).chain(ENGINE_OPTIONS.iter().copied())
}

/// Returns true if an option of fio's command line needs no value.
pub fn is_switch(name: &str) -> bool {
    SWITCHES.contains(&name)
}

/// Options that fio's command line takes without a value in the next word.
const SWITCHES: [&str; 18] = [
    "bs_unaligned", "exitall", "exitall_on_error", "fixedbufs", "group_reporting", "hipri",
    "new_group", "norandommap", "readonly", "refill_buffers", "registerfiles", "sqthread_poll",
    "stonewall", "thread", "time_based", "userspace_reap", "wait_for_previous", "zero_buffers",
];

/// Number of letters by which a misspelled name may be longer or shorter.
const LENGTH_DIFFERENCE_MAX: usize = 3;
