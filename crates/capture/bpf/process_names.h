/* Names of processes whose threads do I/O. A record has the name of the thread; the
 * loader reads that of the process from /proc or, if the process has ended by then,
 * from this map: ebpf::process_names. */
#ifndef STEADFAST_PROCESS_NAMES_H
#define STEADFAST_PROCESS_NAMES_H

struct process_name {
	/* Start of the process, by which a later one with its ID is told apart. */
	__u64 started_ns;
	char name[COMMAND_LENGTH];
};

/* By process ID. The oldest entries are evicted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct process_name);
} process_names SEC(".maps");

/* Keeps the name of the current process. Not static: the verifier checks it once. */
__noinline int keep_process_name(__u32 process)
{
	struct task_struct *leader = bpf_get_current_task_btf()->group_leader;
	struct process_name *kept = bpf_map_lookup_elem(&process_names, &process);
	struct process_name new = { .started_ns = leader->start_time };

	if (kept && kept->started_ns == new.started_ns)
		return 0;
	bpf_probe_read_kernel(new.name, sizeof(new.name), leader->comm);
	bpf_map_update_elem(&process_names, &process, &new, BPF_ANY);
	return 0;
}

/* `thread`: from bpf_get_current_pid_tgid. The first thread of a process has its name. */
static __always_inline void keep_name_of_other_thread(__u64 thread)
{
	__u32 process = thread >> 32;

	if (process != (__u32)thread)
		keep_process_name(process);
}

#endif
