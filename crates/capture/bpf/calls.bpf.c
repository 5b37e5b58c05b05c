/* Writes one record for every read, write and synchronization that a program
 * requests from the devices' file systems, at the system calls: used if the file
 * systems' own entry points (entries.bpf.c) are unavailable.
 *
 * Covers system calls (raw tracepoints sys_enter and sys_exit) and io_uring
 * (submission and completion). Other ways to a file are counted as far as they can
 * be seen: memory maps, Linux AIO, copies inside the kernel.
 *
 * The file of a call is looked up when the call is entered; its size is the
 * number of bytes it returns. An io_uring request has its file only when it
 * completes. */
#include "files.h"

#define OPEN_APPEND 02000
#define OPEN_DSYNC 010000
#define MAP_ANONYMOUS 0x20
#define AIO_MAX 64
/* Maximum number of parts of a vectored call that are read. */
#define PARTS_MAX 16
/* The offset is the file's current position. */
#define AT_POSITION (-1LL)

#ifdef __TARGET_ARCH_arm64
#define OPEN_DIRECT 0200000
#define THREAD_32BIT (1UL << 22)
enum {
	CALL_IO_SUBMIT = 2, CALL_READ = 63, CALL_WRITE = 64, CALL_READV = 65, CALL_WRITEV = 66,
	CALL_PREAD = 67, CALL_PWRITE = 68, CALL_PREADV = 69, CALL_PWRITEV = 70,
	CALL_SENDFILE = 71, CALL_SPLICE = 76, CALL_FSYNC = 82, CALL_FDATASYNC = 83,
	CALL_SYNC_FILE_RANGE = 84, CALL_MMAP = 222, CALL_SYNCFS = 267,
	CALL_COPY_FILE_RANGE = 285, CALL_PREADV2 = 286, CALL_PWRITEV2 = 287,
};
#else
#define OPEN_DIRECT 040000
#define THREAD_32BIT 2
enum {
	CALL_READ = 0, CALL_WRITE = 1, CALL_MMAP = 9, CALL_PREAD = 17, CALL_PWRITE = 18,
	CALL_READV = 19, CALL_WRITEV = 20, CALL_SENDFILE = 40, CALL_FSYNC = 74,
	CALL_FDATASYNC = 75, CALL_IO_SUBMIT = 209, CALL_SPLICE = 275,
	CALL_SYNC_FILE_RANGE = 277, CALL_PREADV = 295, CALL_PWRITEV = 296, CALL_SYNCFS = 306,
	CALL_COPY_FILE_RANGE = 326, CALL_PREADV2 = 327, CALL_PWRITEV2 = 328,
};
#endif

/* include/linux/io_uring_types.h: REQ_F_FIXED_FILE. */
#define REQUEST_REGISTERED_FILE 1

/* include/uapi/linux/io_uring.h: enum io_uring_op. */
enum {
	URING_READV = 1, URING_WRITEV = 2, URING_FSYNC = 3, URING_READ_FIXED = 4,
	URING_WRITE_FIXED = 5, URING_READ = 22, URING_WRITE = 23, URING_READV_FIXED = 60,
	URING_WRITEV_FIXED = 61,
};

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = task->files ? task->files->fdt : 0;
	struct file *file = 0;

	if (table && fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

static __always_inline int is_wanted(struct task_struct *task, __u32 fd)
{
	struct file *file = file_of(task, fd);

	return file && device_of(file) >= 0;
}

static __always_inline __u16 flags_of(unsigned int open, __u8 op, __s64 result)
{
	__u16 flags = 0;

	if (open & OPEN_DIRECT)
		flags |= FLAG_DIRECT;
	if (op != OP_READ && (op == OP_FLUSH || (open & OPEN_DSYNC)))
		flags |= FLAG_SYNC;
	if (result < 0)
		flags |= FLAG_FAILED;
	return flags;
}

/* Returns the offset of a call: the given one, the file's position, or the end
 * of the file. */
static __always_inline __u64 place_of(struct call *call, unsigned int open, __s64 moved)
{
	__s64 given = call->record.offset, end;
	struct file *file = call->file;

	if (call->record.op == OP_FLUSH)
		return 0;
	if (call->record.op == OP_WRITE && (open & OPEN_APPEND)) {
		end = given == AT_POSITION ? BPF_CORE_READ(file, f_pos) :
			BPF_CORE_READ(file, f_inode, i_size);
		return end - moved;
	}
	return given == AT_POSITION ? BPF_CORE_READ(file, f_pos) - moved : given;
}

/* Completes and sends the record of a completed call. */
static __always_inline void report(struct call *call, __u64 now, __s64 result)
{
	struct record *record = &call->record;
	struct file *file = call->file;
	unsigned int open = BPF_CORE_READ(file, f_flags);

	record->bytes = moved(record, result);
	record->offset = place_of(call, open, record->bytes);
	record->inode = BPF_CORE_READ(file, f_inode, i_ino);
	record->flags = flags_of(open, record->op, result);
	conclude(call, now);
}

/* Stores a call. The completion of a call stored under the same key was missed. */
static __always_inline void keep(__u64 key, struct call *call, __s64 *under_way)
{
	if (!bpf_map_update_elem(&calls, &key, call, BPF_NOEXIST)) {
		__sync_fetch_and_add(under_way, 1);
		return;
	}
	struct call *old = settings.step_ns ? bpf_map_lookup_elem(&calls, &key) : 0;
	if (old)
		leave(old);
	if (bpf_map_update_elem(&calls, &key, call, BPF_ANY)) {
		leave(call);
		count(&counters.unfollowed);
	}
}

/* Returns the bytes of a vectored call, or 0 if it has too many parts. */
static __always_inline __u64 bytes_of(__u64 parts, __u64 count)
{
	__u64 sum = 0, length;

	if (count > PARTS_MAX)
		return 0;
	for (int i = 0; i < PARTS_MAX; i++) {
		if (i >= count)
			break;
		/* struct iovec: iov_len. */
		if (bpf_probe_read_user(&length, sizeof(length), (void *)(parts + 16 * i + 8)))
			return 0;
		sum += length;
	}
	return sum;
}

/* Counts a call on a known file, for capture steps. */
static __always_inline void enter_file(struct call *call, __u64 asked)
{
	struct record *record = &call->record;
	struct file *file = call->file;
	unsigned int open = BPF_CORE_READ(file, f_flags);
	__s64 offset = record->offset;

	record->inode = BPF_CORE_READ(file, f_inode, i_ino);
	if (record->op == OP_WRITE && (open & OPEN_APPEND))
		offset = BPF_CORE_READ(file, f_inode, i_size);
	else if (offset == AT_POSITION)
		offset = BPF_CORE_READ(file, f_pos);
	enter(call, offset, record->op == OP_FLUSH ? 0 : asked);
}

#ifdef __TARGET_ARCH_arm64
#define CALL_OF(regs) ((regs)->syscallno)
#define ARGUMENTS(regs) { (regs)->orig_x0, (regs)->regs[1], (regs)->regs[2], (regs)->regs[3], (regs)->regs[4] }
#define IS_32BIT(task) ((task)->thread_info.flags & THREAD_32BIT)
#else
#define CALL_OF(regs) ((long)(regs)->orig_ax)
#define ARGUMENTS(regs) { (regs)->di, (regs)->si, (regs)->dx, (regs)->r10, (regs)->r8 }
#define IS_32BIT(task) ((task)->thread_info.status & THREAD_32BIT)
#endif

/* Returns the operation of a system call, or -1 for one that transfers nothing. */
static __always_inline int op_of_call(long number)
{
	switch (number) {
	case CALL_READ:
	case CALL_READV:
	case CALL_PREAD:
	case CALL_PREADV:
	case CALL_PREADV2:
		return OP_READ;
	case CALL_WRITE:
	case CALL_WRITEV:
	case CALL_PWRITE:
	case CALL_PWRITEV:
	case CALL_PWRITEV2:
		return OP_WRITE;
	case CALL_FSYNC:
	case CALL_FDATASYNC:
		return OP_FLUSH;
	default:
		return -1;
	}
}

static __always_inline int is_vectored(long number)
{
	return number == CALL_READV || number == CALL_WRITEV || number == CALL_PREADV ||
		number == CALL_PWRITEV || number == CALL_PREADV2 || number == CALL_PWRITEV2;
}

static __always_inline int names_offset(long number)
{
	return number == CALL_PREAD || number == CALL_PWRITE || number == CALL_PREADV ||
		number == CALL_PWRITEV || number == CALL_PREADV2 || number == CALL_PWRITEV2;
}

/* Counts the I/Os given to Linux AIO for files on the devices. */
static __always_inline void count_aio(struct task_struct *task, long blocks, __u64 list)
{
	for (int i = 0; i < AIO_MAX; i++) {
		__u64 block = 0;
		__u32 fd = -1;

		if (i >= blocks)
			break;
		if (bpf_probe_read_user(&block, sizeof(block), (void *)(list + 8 * i)))
			break;
		/* struct iocb: aio_fildes. */
		if (!bpf_probe_read_user(&fd, sizeof(fd), (void *)(block + 20)) && is_wanted(task, fd))
			count(&counters.aio);
	}
}

/* Counts kinds of file access that are not followed. */
static __always_inline void count_unseen(struct task_struct *task, long number, unsigned long *given)
{
	switch (number) {
	case CALL_MMAP:
		if (!(given[3] & MAP_ANONYMOUS) && is_wanted(task, given[4]))
			count(&counters.maps);
		break;
	case CALL_IO_SUBMIT:
		count_aio(task, given[1], given[2]);
		break;
	case CALL_SENDFILE:
		if (is_wanted(task, given[0]) || is_wanted(task, given[1]))
			count(&counters.copies);
		break;
	case CALL_SPLICE:
	case CALL_COPY_FILE_RANGE:
		if (is_wanted(task, given[0]) || is_wanted(task, given[2]))
			count(&counters.copies);
		break;
	case CALL_SYNC_FILE_RANGE:
	case CALL_SYNCFS:
		if (is_wanted(task, given[0]))
			count(&counters.syncs);
		break;
	}
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 thread = bpf_get_current_pid_tgid();
	int op = op_of_call(number), device;

	if (gate.state == GATE_CLOSED || is_other_process())
		return 0;
	if (IS_32BIT(task)) {
		/* Different call numbers; read and write of i386 and arm are 3
		 * and 4. */
		if (gate.state == GATE_OPEN && (number == 3 || number == 4))
			count(&counters.calls_32bit);
		return 0;
	}
	unsigned long given[] = ARGUMENTS(regs);
	if (op < 0) {
		if (gate.state == GATE_OPEN)
			count_unseen(task, number, given);
		return 0;
	}
	struct call call = {};
	call.file = file_of(task, given[0]);
	device = call.file ? device_of(call.file) : -1;
	if (device < 0)
		return 0;
	introduce(&call);
	call.record.op = op;
	call.record.device = device;
	call.record.offset = names_offset(number) ? (__s64)given[3] : AT_POSITION;
	if (settings.step_ns)
		enter_file(&call, is_vectored(number) ? bytes_of(given[1], given[2]) : given[2]);
	keep(thread, &call, &counters.calls);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_call_end, struct pt_regs *regs, long result)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 thread = bpf_get_current_pid_tgid();

	if (op_of_call(CALL_OF(regs)) < 0)
		return 0;
	struct call *call = bpf_map_lookup_elem(&calls, &thread);
	if (!call)
		return 0;
	if (is_repeated(result))
		take_back(call);
	else
		report(call, now, result);
	forget(thread, call, &counters.calls);
	return 0;
}

static __always_inline int op_of_request(__u8 opcode)
{
	switch (opcode) {
	case URING_READ:
	case URING_READV:
	case URING_READ_FIXED:
	case URING_READV_FIXED:
		return OP_READ;
	case URING_WRITE:
	case URING_WRITEV:
	case URING_WRITE_FIXED:
	case URING_WRITEV_FIXED:
		return OP_WRITE;
	case URING_FSYNC:
		return OP_FLUSH;
	default:
		return -1;
	}
}

static __always_inline int is_vectored_request(__u8 opcode)
{
	return opcode == URING_READV || opcode == URING_WRITEV || opcode == URING_READV_FIXED ||
		opcode == URING_WRITEV_FIXED;
}

/* Returns a file registered with io_uring, by its index. */
static __always_inline struct file *registered_file(struct io_kiocb *request, __u32 number)
{
	struct io_ring_ctx *ring = BPF_CORE_READ(request, ctx);
	struct io_ring_ctx___nodes *newer = (void *)ring;
	struct io_fixed_file *files;
	struct io_rsrc_node **nodes, *node = 0;
	unsigned long file = 0;

	if (bpf_core_field_exists(newer->file_table.data)) {
		nodes = BPF_CORE_READ(newer, file_table.data.nodes);
		if (number < BPF_CORE_READ(newer, file_table.data.nr))
			bpf_probe_read_kernel(&node, sizeof(node), nodes + number);
		file = node ? BPF_CORE_READ(node, file_ptr) : 0;
	} else {
		files = BPF_CORE_READ(ring, file_table.files);
		if (number < BPF_CORE_READ(ring, nr_user_files))
			bpf_probe_read_kernel(&file, sizeof(file), files + number);
	}
	/* The lowest bits are flags. */
	return (struct file *)(file & ~7UL);
}

/* Returns the file that a request names; the request does not have it yet. */
static __always_inline struct file *file_named(struct io_kiocb *request)
{
	__u32 number = BPF_CORE_READ(request, cqe.fd);

	if (BPF_CORE_READ(request, flags) & REQUEST_REGISTERED_FILE)
		return registered_file(request, number);
	return file_of(bpf_get_current_task_btf(), number);
}

/* Counts a request for a file on the devices, for capture steps. */
static __always_inline void enter_request(struct call *call, struct io_kiocb *request)
{
	struct io_rw *asked = (struct io_rw *)request;
	__u64 bytes = BPF_CORE_READ(asked, len);
	int device;

	call->file = file_named(request);
	device = call->file ? device_of(call->file) : -1;
	if (device < 0)
		return;
	if (is_vectored_request(BPF_CORE_READ(request, opcode)))
		bytes = bytes_of(BPF_CORE_READ(asked, addr), bytes);
	call->record.device = device;
	enter_file(call, bytes);
}

static __always_inline int request_submitted(struct io_kiocb *request)
{
	int op = op_of_request(BPF_CORE_READ(request, opcode));
	struct call call = {};

	if (op < 0 || gate.state == GATE_CLOSED || is_other_process())
		return 0;
	introduce(&call);
	call.record.op = op;
	call.record.offset = BPF_CORE_READ((struct io_rw *)request, kiocb.ki_pos);
	if (settings.step_ns)
		enter_request(&call, request);
	keep((__u64)request, &call, &counters.requests);
	return 0;
}

SEC("raw_tp/io_uring_submit_req")
int on_request(struct bpf_raw_tracepoint_args *context)
{
	return request_submitted((struct io_kiocb *)context->args[0]);
}

/* Name of the same tracepoint before kernel 6.4. */
SEC("raw_tp/io_uring_submit_sqe")
int on_request_by_entry(struct bpf_raw_tracepoint_args *context)
{
	return request_submitted((struct io_kiocb *)context->args[0]);
}

SEC("raw_tp/io_uring_complete")
int on_request_end(struct bpf_raw_tracepoint_args *context)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 request = context->args[1];
	struct call *call = bpf_map_lookup_elem(&calls, &request);
	int device;

	if (!call)
		return 0;
	call->file = BPF_CORE_READ((struct io_kiocb *)request, file);
	device = call->file ? device_of(call->file) : -1;
	if (device >= 0) {
		call->record.device = device;
		report(call, now, result_of(context));
	}
	forget(request, call, &counters.requests);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
