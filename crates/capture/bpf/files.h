/* Definitions common to both ways of capturing the file-system layer: the system
 * calls (calls.bpf.c) and the file systems' entry points (entries.bpf.c).
 *
 * An outstanding call holds its record as it will be sent, so that a call whose
 * completion is never seen can be recorded as far as it is known. */
#ifndef STEADFAST_FILES_H
#define STEADFAST_FILES_H

#include "common.h"

#define FILE_SYSTEMS_MAX 64

/* Written by the loader: ebpf::files::FileProgramSettings. */
struct settings {
	__u32 process;
	__u32 commands;
	/* The tracepoint io_uring_complete passes the completion queue entry,
	 * not its result. */
	__u32 by_entry;
	__u32 count;
	/* Length of a capture step in nanoseconds: streams are added up in the
	 * kernel, and no record is written. 0 records every call. */
	__u64 step_ns;
	/* The hierarchy whose cgroups are recorded (cgroups.h). */
	__u32 cgroups;
	__u32 unused;
	/* Major << 20 | minor, as in a file's super block. */
	__u32 number[FILE_SYSTEMS_MAX];
	__u32 device[FILE_SYSTEMS_MAX];
};
const volatile struct settings settings = {};

/* A record in the ring: ebpf::files::CallRecord. */
struct record {
	union {
		__u64 head;
		struct {
			__u8 lap;
			__u8 op : 4, device : 4;
			__u16 cgroup;
			__u16 flags;
			__u16 cpu;
		};
	};
	__u64 issued_ns;
	/* The kernel's thread IDs are below 2^22. */
	__u64 response_ns : 42, thread : 22;
	__u64 offset;
	__u64 inode;
	__u32 bytes;
	__u32 process;
	char command[COMMAND_LENGTH];
};

/* A response time that is unknown or longer than 73 minutes. */
#define RESPONSE_LONGEST ((1ULL << 42) - 1)

#include "records.h"
#include "cgroups.h"
#include "process_names.h"

/* An outstanding call or request: ebpf::files::OutstandingCall. */
struct call {
	struct record record;
	/* Began before the capture. */
	__u8 before;
	/* Details of the call, specific to each way of capturing. */
	__u8 how;
	/* Result of steps.h's judge; like depth, begin and end only for capture
	 * steps. */
	__u16 judgment;
	/* Calls outstanding on the device, including this one; 0 if not counted. */
	__u32 depth;
	struct file *file;
	/* Position of its beginning, and of its end if it transferred all it
	 * requests; 0 if not known at the beginning. */
	__u64 begin;
	__u64 end;
};

/* Keyed by thread, or by the address of the request. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct call);
} calls SEC(".maps");

/* Read by the loader: ebpf::files::FileProgramCounters. */
struct counters {
	__u64 lost;
	__u64 unfollowed;
	__u64 begun_before;
	/* Calls recorded without a response time. */
	__u64 unended;
	/* Outstanding calls, and outstanding io_uring requests for any file. */
	__s64 calls;
	__s64 requests;
	/* Kinds of access that are not captured. */
	__u64 maps;
	__u64 aio;
	__u64 copies;
	__u64 syncs;
	__u64 calls_32bit;
	/* Outstanding calls by device, for capture steps only. */
	__u32 outstanding[DEVICES_MAX];
};
struct counters counters = {};

/* Returns the device with the file system of this number, or -1. */
static __always_inline int device_numbered(__u32 number)
{
	for (int i = 0; i < FILE_SYSTEMS_MAX; i++) {
		if (i >= settings.count)
			break;
		if (settings.number[i] == number)
			return settings.device[i];
	}
	return -1;
}

static __always_inline int device_of(struct file *file)
{
	return device_numbered(BPF_CORE_READ(file, f_inode, i_sb, s_dev));
}

/* Returns true if the current process is not to be recorded. */
static __always_inline int is_other_process(void)
{
	return settings.process && settings.process != bpf_get_current_pid_tgid() >> 32;
}

/* Sets time, processor and submitter of a call that begins. */
static __always_inline void introduce(struct call *call)
{
	struct record *record = &call->record;
	__u64 thread = bpf_get_current_pid_tgid();

	record->issued_ns = bpf_ktime_get_ns();
	record->response_ns = RESPONSE_LONGEST;
	record->process = thread >> 32;
	record->thread = thread;
	record->cgroup = cgroup_number();
	record->cpu = bpf_get_smp_processor_id();
	call->before = gate.state == GATE_NOT_YET;
	if (settings.commands) {
		bpf_get_current_comm(record->command, sizeof(record->command));
		keep_name_of_other_thread(thread);
	}
}

#include "file_steps.h"

/* Sends the record of a call. */
static __always_inline void send(struct call *call)
{
	struct record *record;
	__u64 lap;

	if (settings.step_ns) {
		add_to_step(call);
		return;
	}
	record = reserve(&lap);
	if (!record) {
		count(&counters.lost);
		return;
	}
	__builtin_memcpy(&record->issued_ns, &call->record.issued_ns,
		sizeof(*record) - sizeof(record->head));
	submit(record, call->record.head | lap);
}

/* Sends the record of a completed call, unless it began before the capture. */
static __always_inline void conclude(struct call *call, __u64 now)
{
	__u64 response = now - call->record.issued_ns;

	call->record.response_ns = response < RESPONSE_LONGEST ? response : RESPONSE_LONGEST;
	settle_order(call);
	if (!call->before)
		send(call);
	else if (gate.state == GATE_OPEN)
		count(&counters.begun_before);
}

static __always_inline void forget(__u64 key, struct call *call, __s64 *under_way)
{
	leave(call);
	if (!bpf_map_delete_elem(&calls, &key))
		__sync_fetch_and_add(under_way, -1);
}

/* Returns the bytes that a call has transferred. */
static __always_inline __s64 moved(struct record *record, __s64 result)
{
	return result > 0 && record->op != OP_FLUSH ? result : 0;
}

/* Interrupted by a signal after which the call is repeated; from
 * include/linux/errno.h. */
static __always_inline int is_repeated(long result)
{
	return result <= -512 && result >= -516;
}

/* Returns the result of an io_uring request from the tracepoint of its
 * completion. */
static __always_inline int result_of(struct bpf_raw_tracepoint_args *completion)
{
	if (settings.by_entry)
		return BPF_CORE_READ((struct io_uring_cqe *)completion->args[2], res);
	return (int)completion->args[3];
}

#endif
