/* What both ways to see the file-system layer have in common: the system calls
 * (calls.bpf.c) and the file systems' entry points (entries.bpf.c).
 *
 * A call on its way holds its record as it will be sent, so that one whose end
 * is never seen can be recorded as far as it is known. */
#ifndef STEADFAST_FILES_H
#define STEADFAST_FILES_H

#include "common.h"

#define FILE_SYSTEMS_MAX 64

/* Written by the loader: ebpf::files::FilesSettings. */
struct settings {
	__u32 process;
	__u32 commands;
	/* io_uring_complete names the completion queue's entry, not its result. */
	__u32 by_entry;
	__u32 count;
	/* Width of a capture step: streams are added up in the kernel, and no
	 * record is written. 0 where every call is wanted. */
	__u64 step_ns;
	/* Whose cgroups are told (cgroups.h). */
	__u32 cgroups;
	__u32 unused;
	/* Major << 20 | minor, as a file's super block has it. */
	__u32 number[FILE_SYSTEMS_MAX];
	__u32 device[FILE_SYSTEMS_MAX];
};
const volatile struct settings settings = {};

/* What a record looks like on its way to user space: ebpf::files::Wire. */
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
	/* The kernel's numbers of threads are below 2^22. */
	__u64 response_ns : 42, thread : 22;
	__u64 offset;
	__u64 inode;
	__u32 bytes;
	__u32 process;
	char command[COMMAND_LENGTH];
};

/* A response time that is not known, or is longer than 73 minutes. */
#define RESPONSE_LONGEST ((1ULL << 42) - 1)

#include "records.h"
#include "cgroups.h"

/* A call or a request on its way: ebpf::files::Call. */
struct call {
	struct record record;
	/* It began before the capture. */
	__u8 before;
	/* How it was asked for; each way has its own. */
	__u8 how;
	/* The rest is told only where capture steps are wanted: what steps.h's
	 * judge tells of it. */
	__u16 judged;
	/* Calls under way on the device, itself included; 0 where it is not counted. */
	__u32 depth;
	struct file *file;
	/* Where it begins, and would end if it moved all that it asks for; 0 where
	 * that was not known when it began. */
	__u64 begin;
	__u64 end;
};

/* By thread, or by the request's address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct call);
} calls SEC(".maps");

/* Read by the loader: ebpf::files::KernelCounters. */
struct counters {
	__u64 lost;
	__u64 unfollowed;
	__u64 begun_before;
	/* Recorded without a response time. */
	__u64 unended;
	/* Calls, and io_uring requests whatever their file, under way. */
	__s64 calls;
	__s64 requests;
	/* What is not seen. */
	__u64 maps;
	__u64 aio;
	__u64 copies;
	__u64 syncs;
	__u64 calls_32bit;
	/* Where capture steps are wanted: calls under way by device. */
	__u32 outstanding[DEVICES_MAX];
};
struct counters counters = {};

/* The device that holds the file system of this number, or -1. */
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

/* Whether nothing of the current process is recorded. */
static __always_inline int is_other_process(void)
{
	return settings.process && settings.process != bpf_get_current_pid_tgid() >> 32;
}

/* When, where and by whom a call begins. */
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
	if (settings.commands)
		bpf_get_current_comm(record->command, sizeof(record->command));
}

#include "file_steps.h"

/* Hands a call on as it is known. */
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

/* Sends the record of a call that has ended, unless it began too early. */
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

/* The bytes that a call has moved. */
static __always_inline __s64 moved(struct record *record, __s64 result)
{
	return result > 0 && record->op != OP_FLUSH ? result : 0;
}

/* Ended by a signal that has it done again, from include/linux/errno.h. */
static __always_inline int is_repeated(long result)
{
	return result <= -512 && result >= -516;
}

/* What an io_uring request came to, from the tracepoint of its completion. */
static __always_inline int result_of(struct bpf_raw_tracepoint_args *completion)
{
	if (settings.by_entry)
		return BPF_CORE_READ((struct io_uring_cqe *)completion->args[2], res);
	return (int)completion->args[3];
}

#endif
