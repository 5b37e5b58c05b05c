/* Writes one record for every read, write and synchronization that reaches a file
 * system of the devices, at the file system's own entry points: of any origin (a
 * system call, io_uring, Linux AIO, the kernel itself).
 *
 * A call begins when its function is entered and ends when it returns. A call
 * that returns -EIOCBQUEUED ends later: when Linux AIO is notified
 * (aio_complete_rw), or when io_uring posts its result. A call is identified by
 * the address of its struct kiocb, which in io_uring is that of the request; a
 * synchronization by its thread. */
#include "files.h"

/* include/linux/fs.h: flags of a struct kiocb. */
#define ASKED_DSYNC 0x2
#define ASKED_NOWAIT 0x8
#define ASKED_APPEND 0x10
#define ASKED_DIRECT (1 << 17)
#define ASKED_WAITQ (1 << 19)

/* include/linux/sched.h: a worker thread of a work queue. */
#define TASK_WORKER 0x20

#ifdef __TARGET_ARCH_arm64
#define OPEN_DIRECT 0200000
#else
#define OPEN_DIRECT 040000
#endif

/* include/linux/errno.h and include/uapi/asm-generic/errno.h. */
enum { QUEUED = -529, NOT_SUPPORTED = -95, AGAIN = -11 };

/* Bits of struct call's `how`. */
enum {
	/* Appends: the offset is the file's end at that time. */
	HOW_APPEND = 1,
	/* A first attempt that does not wait; repeated with waiting if it fails. */
	HOW_TRY = 2,
	/* An attempt that is repeated when its page has been read. */
	HOW_CALL_BACK = 4,
};

/* Threads inside a write that the file system synchronizes itself. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u8);
} synchronous SEC(".maps");

static __always_inline __u8 how(struct kiocb *iocb, int asked)
{
	__u8 how = 0;

	if (asked & ASKED_APPEND)
		how |= HOW_APPEND;
	if ((asked & ASKED_NOWAIT) && iocb->ki_complete)
		how |= HOW_TRY;
	if (asked & ASKED_WAITQ)
		how |= HOW_CALL_BACK;
	return how;
}

/* Stores a call. The completion of a call stored under the same address was
 * missed. */
static __always_inline void keep(__u64 key, struct call *call)
{
	if (!bpf_map_update_elem(&calls, &key, call, BPF_NOEXIST)) {
		__sync_fetch_and_add(&counters.calls, 1);
		return;
	}
	struct call *old = bpf_map_lookup_elem(&calls, &key);
	if (old)
		leave(old);
	if (old && !old->before) {
		count(&counters.unended);
		send(old);
	}
	if (bpf_map_update_elem(&calls, &key, call, BPF_ANY)) {
		leave(call);
		count(&counters.unfollowed);
	}
}

/* Fills in a call's record from its file; returns 0 if the call is not to be
 * recorded. */
static __always_inline int begin(struct call *call, struct file *file, __u8 op)
{
	struct inode *inode = file->f_inode;
	int device = device_numbered(inode->i_sb->s_dev);

	if (device < 0 || gate.state == GATE_CLOSED || is_other_process())
		return 0;
	introduce(call);
	call->record.device = device;
	call->record.op = op;
	call->record.inode = inode->i_ino;
	return 1;
}

static __always_inline __u64 place_asked(struct kiocb *iocb, __u8 how)
{
	return how & HOW_APPEND ? iocb->ki_filp->f_inode->i_size : iocb->ki_pos;
}

static __always_inline int entered(struct kiocb *iocb, struct iov_iter *buffers, __u8 op)
{
	int asked = iocb->ki_flags;
	struct call call = {};

	if (!begin(&call, iocb->ki_filp, op))
		return 0;
	if (asked & ASKED_DIRECT)
		call.record.flags |= FLAG_DIRECT;
	if (op == OP_WRITE && (asked & ASKED_DSYNC)) {
		__u64 thread = bpf_get_current_pid_tgid();
		__u8 yes = 1;

		call.record.flags |= FLAG_SYNC;
		bpf_map_update_elem(&synchronous, &thread, &yes, BPF_ANY);
	}
	call.record.offset = iocb->ki_pos;
	call.record.bytes = buffers->count;
	call.how = how(iocb, asked);
	enter(&call, place_asked(iocb, call.how), call.record.bytes);
	keep((__u64)iocb, &call);
	return 0;
}

/* Completes and sends the record of a completed call. */
static __always_inline void report(struct call *call, struct kiocb *iocb, __u64 now, __s64 result)
{
	struct record *record = &call->record;
	__s64 bytes = moved(record, result);

	/* The result of io_uring includes the bytes transferred by an earlier
	 * attempt. */
	if (bytes < record->bytes)
		record->bytes = bytes;
	if (result < 0)
		record->flags |= FLAG_FAILED;
	if (call->how & HOW_APPEND)
		record->offset = BPF_CORE_READ(iocb, ki_pos) - record->bytes;
	conclude(call, now);
}

/* Returns true if the caller will repeat the call. */
static __always_inline int is_tried_again(__u8 how, long result)
{
	if (result == AGAIN || result == NOT_SUPPORTED)
		return how & HOW_TRY;
	return is_repeated(result) || (result == QUEUED && (how & HOW_CALL_BACK));
}

static __always_inline int left(struct kiocb *iocb, long result)
{
	__u64 now = bpf_ktime_get_ns(), key = (__u64)iocb;
	struct call *call = bpf_map_lookup_elem(&calls, &key);

	/* A queued call may have completed already, and its address may have
	 * been reused. */
	if (!call)
		return 0;
	if (is_tried_again(call->how, result)) {
		take_back(call);
		forget(key, call, &counters.calls);
	} else if (result != QUEUED) {
		report(call, iocb, now, result);
		forget(key, call, &counters.calls);
	} else if (bpf_get_current_task_btf()->flags & TASK_WORKER) {
		/* A call of a loop device, for example: its completion is
		 * reported to the caller alone. */
		leave_early(call);
	}
	return 0;
}

/* The same for a write, which may have been marked as synchronous. */
static __always_inline int left_write(struct kiocb *iocb, long result)
{
	__u64 thread = bpf_get_current_pid_tgid();

	if (result == QUEUED || (iocb->ki_flags & ASKED_DSYNC))
		bpf_map_delete_elem(&synchronous, &thread);
	return left(iocb, result);
}

static __always_inline int ended_later(struct kiocb *iocb, __s64 result)
{
	__u64 now = bpf_ktime_get_ns(), key = (__u64)iocb;
	struct call *call = bpf_map_lookup_elem(&calls, &key);

	if (!call)
		return 0;
	report(call, iocb, now, result);
	forget(key, call, &counters.calls);
	return 0;
}

/* A synchronous write synchronizes its file itself, in its own thread or, if it
 * ends later, in a worker thread: that is part of the write. */
static __always_inline int sync_entered(struct file *file)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct call call = {};

	if (bpf_get_current_task_btf()->flags & TASK_WORKER)
		return 0;
	if (!begin(&call, file, OP_FLUSH) || bpf_map_lookup_elem(&synchronous, &thread))
		return 0;
	call.record.flags = FLAG_SYNC;
	if (file->f_flags & OPEN_DIRECT)
		call.record.flags |= FLAG_DIRECT;
	enter(&call, 0, 0);
	keep(thread, &call);
	return 0;
}

static __always_inline int sync_left(long result)
{
	__u64 now = bpf_ktime_get_ns(), thread = bpf_get_current_pid_tgid();
	struct call *call = bpf_map_lookup_elem(&calls, &thread);

	if (!call)
		return 0;
	if (result < 0)
		call->record.flags |= FLAG_FAILED;
	conclude(call, now);
	forget(thread, call, &counters.calls);
	return 0;
}

/* The programs for one kind of file system: ebpf::entries::KINDS. */
#define FILE_SYSTEM(kind, read, write, sync) \
SEC("fentry/" #read) \
int BPF_PROG(kind##_read, struct kiocb *iocb, struct iov_iter *buffers) \
{ \
	return entered(iocb, buffers, OP_READ); \
} \
SEC("fexit/" #read) \
int BPF_PROG(kind##_read_end, struct kiocb *iocb, struct iov_iter *buffers, long result) \
{ \
	return left(iocb, result); \
} \
SEC("fentry/" #write) \
int BPF_PROG(kind##_write, struct kiocb *iocb, struct iov_iter *buffers) \
{ \
	return entered(iocb, buffers, OP_WRITE); \
} \
SEC("fexit/" #write) \
int BPF_PROG(kind##_write_end, struct kiocb *iocb, struct iov_iter *buffers, long result) \
{ \
	return left_write(iocb, result); \
} \
SEC("fentry/" #sync) \
int BPF_PROG(kind##_sync, struct file *file) \
{ \
	return sync_entered(file); \
} \
SEC("fexit/" #sync) \
int BPF_PROG(kind##_sync_end, struct file *file, __s64 start, __s64 end, int data, int result) \
{ \
	return sync_left(result); \
}

FILE_SYSTEM(ext4, ext4_file_read_iter, ext4_file_write_iter, ext4_sync_file)
FILE_SYSTEM(xfs, xfs_file_read_iter, xfs_file_write_iter, xfs_file_fsync)
FILE_SYSTEM(btrfs, btrfs_file_read_iter, btrfs_file_write_iter, btrfs_sync_file)

SEC("fentry/aio_complete_rw")
int BPF_PROG(on_aio_end, struct kiocb *iocb, long result)
{
	return ended_later(iocb, result);
}

/* The same a second time. I/Os also complete in interrupts; if one arrives while
 * one of the two programs is running on its processor, the kernel skips only
 * that one. */
SEC("fentry/aio_complete_rw")
int BPF_PROG(on_aio_end_again, struct kiocb *iocb, long result)
{
	return ended_later(iocb, result);
}

SEC("raw_tp/io_uring_complete")
int on_request_end(struct bpf_raw_tracepoint_args *context)
{
	return ended_later((struct kiocb *)context->args[1], result_of(context));
}

static __always_inline int count_unseen(struct super_block *blocks, __u64 *counter)
{
	if (gate.state == GATE_OPEN && !is_other_process() && device_numbered(blocks->s_dev) >= 0)
		count(counter);
	return 0;
}

SEC("fentry/vm_mmap_pgoff")
int BPF_PROG(on_map, struct file *file)
{
	return file ? count_unseen(file->f_inode->i_sb, &counters.maps) : 0;
}

/* A read of a copy that takes pages from the page cache without calling the file
 * system; since kernel 6.5. */
SEC("fentry/filemap_splice_read")
int BPF_PROG(on_splice, struct file *file)
{
	return count_unseen(file->f_inode->i_sb, &counters.copies);
}

SEC("fentry/sync_file_range")
int BPF_PROG(on_range_sync, struct file *file)
{
	return count_unseen(file->f_inode->i_sb, &counters.syncs);
}

SEC("fentry/sync_filesystem")
int BPF_PROG(on_whole_sync, struct super_block *blocks)
{
	return count_unseen(blocks, &counters.syncs);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
