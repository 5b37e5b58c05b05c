/* Names of processes whose threads do I/O. A record has the name of the thread; the
 * loader finds that of the process here, also if the process has ended by then:
 * ebpf::process_names. */
#ifndef STEADFAST_PROCESS_NAMES_H
#define STEADFAST_PROCESS_NAMES_H

struct process_name {
	__u64 text[COMMAND_LENGTH / 8];
};

/* By process ID. The oldest entries are evicted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct process_name);
} process_names SEC(".maps");

/* Keeps the name of the current process: exec and prctl change it, and a later process
 * may have the same ID. Not static: the verifier checks it once. */
__noinline int keep_process_name(__u32 process)
{
	struct task_struct *leader = bpf_get_current_task_btf()->group_leader;
	struct process_name *kept = bpf_map_lookup_elem(&process_names, &process);
	struct process_name new = {};

	bpf_probe_read_kernel(&new, sizeof(new), leader->comm);
	if (kept && kept->text[0] == new.text[0] && kept->text[1] == new.text[1])
		return 0;
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
