/* Writes one record for every I/O that a block device completes.
 *
 * Request-based devices: the submitter is seen when the request starts
 * (block_io_start, or the queueing of its bio on kernels before 6.5); the I/O is
 * outstanding on the device from block_rq_issue to block_rq_complete. Bio-based
 * devices (zram, device-mapper, md) have no requests: a bio is outstanding from its
 * queueing to its completion. Sector and size are read when it is queued, because
 * they advance as it completes.
 *
 * Only I/Os issued while the gate is open are recorded. The programs are
 * attached before it is opened and follow the I/Os issued then, so that the
 * queue depth is right from the first record on. After it is closed they follow
 * the I/Os issued before to their completion. */
#include "common.h"

#define PF_WQ_WORKER 0x20
#define REQ_OP_MASK 0xff

/* A captured device: range on its disk in sectors, all of it or a partition. */
struct device {
	/* Major << 20 | minor of the disk. */
	__u32 number;
	/* Bio-based: the device has no requests. */
	__u32 bio_based;
	__u64 first_sector;
	__u64 end_sector;
	/* Bytes of an LBA range whose I/Os are counted in steps; 0 counts none. */
	__u64 range_bytes;
};

/* Written by the loader before the programs are loaded:
 * ebpf::record::BlockProgramSettings. */
struct settings {
	__u32 device_count;
	/* Process to record; 0 records all. */
	__u32 process;
	/* Record command names. */
	__u32 commands;
	/* The kernel lacks block_io_start: submitters are seen when bios are
	 * queued. */
	__u32 by_bio;
	/* Length of a capture step in nanoseconds: streams are added up in the
	 * kernel, and no record is written. 0 records every I/O. */
	__u64 step_ns;
	/* The hierarchy whose cgroups are recorded (cgroups.h). */
	__u32 cgroups;
	/* Count bios merged into a request. */
	__u32 merges;
	struct device device[DEVICES_MAX];
};
const volatile struct settings settings = {};

/* A record in the ring: ebpf::record::BlockRecord. */
struct record {
	/* Sector << 8 | lap. */
	__u64 head;
	__u64 issued_ns;
	/* Response time, RESPONSE_LONGEST if unknown | cgroup << 48. */
	__u64 response_cgroup;
	/* Time in the queue | thread << 42. */
	__u64 queued_thread;
	__u32 bytes;
	/* Outstanding at issue | operation << 17 | merged bios << 20. */
	__u32 depth_op_merged;
	__u32 process;
	__u16 cpu;
	/* Flags (12 bits) | device << 12. */
	__u16 flags_device;
	char command[COMMAND_LENGTH];
};

#include "records.h"
#include "journeys.h"
#include "cgroups.h"
#include "process_names.h"

/* 78 hours, and 73 minutes, in nanoseconds. */
#define RESPONSE_LONGEST ((1ULL << 48) - 1)
#define QUEUED_LONGEST ((1ULL << 42) - 1)

/* Submitters of bios whose request is not known yet, and (under the request's
 * key) of completed writes that are followed by a flush. Bios merged into
 * another one's request are never looked up, so the map evicts the oldest
 * entries. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct submitter);
} submitters SEC(".maps");

/* Counters, read by the loader: ebpf::record::BlockProgramCounters. */
struct counters {
	/* Completed I/Os lost because their processor's ring was full. */
	__u64 lost;
	/* I/Os that could not be followed: too many outstanding at once. */
	__u64 unfollowed;
	/* Completions of I/Os issued before the capture began. */
	__u64 begun_before;
	/* I/Os whose place was taken by another one: their completion was not
	 * seen. */
	__u64 unended;
	__u64 partial_completions;
	__u64 requeues;
	__u32 outstanding[DEVICES_MAX];
	/* Bios that were split because they were too large for the device or
	 * crossed one of its boundaries. */
	__u64 splits[DEVICES_MAX];
	/* I/Os that are counted in no LBA range, for want of room. */
	__u64 without_range;
};
struct counters counters = {};

/* Returns the index of the device with an I/O of this disk, or -1. An I/O
 * without a sector (a flush) counts for the first device on the disk. */
static __always_inline int slot_of(struct gendisk *disk, __u64 sector, __u32 bytes)
{
	if (!disk)
		return -1;
	__u32 number = ((__u32)disk->major << 20) | (__u32)disk->first_minor;
	for (int i = 0; i < DEVICES_MAX; i++) {
		if (i >= settings.device_count)
			break;
		const volatile struct device *device = &settings.device[i];
		if (device->number != number)
			continue;
		if (!bytes || (sector >= device->first_sector && sector < device->end_sector))
			return i;
	}
	return -1;
}

static __always_inline __u8 op_of(unsigned int opf)
{
	switch (opf & REQ_OP_MASK) {
	case 0:
		return OP_READ;
	case 1:
		return OP_WRITE;
	case 2:
		return OP_FLUSH;
	case 3: /* discard */
	case 5: /* secure erase */
		return OP_DISCARD;
	default:
		return OP_OTHER;
	}
}

#define HAS(opf, bit) ((opf) & (1U << bpf_core_enum_value(enum req_flag_bits, bit)))

static __always_inline __u16 flags_of(unsigned int opf)
{
	__u16 flags = 0;

	if (HAS(opf, __REQ_SYNC))
		flags |= FLAG_SYNC;
	if (HAS(opf, __REQ_META))
		flags |= FLAG_META;
	if (HAS(opf, __REQ_FUA))
		flags |= FLAG_FUA;
	if (HAS(opf, __REQ_PREFLUSH))
		flags |= FLAG_PREFLUSH;
	if (HAS(opf, __REQ_RAHEAD))
		flags |= FLAG_READ_AHEAD;
	return flags;
}

/* Sets the submitter of an I/O to the current process. */
static __always_inline void introduce(struct submitter *submitter, unsigned int opf)
{
	__u64 thread = bpf_get_current_pid_tgid();

	submitter->flags = flags_of(opf);
	submitter->at_ns = bpf_ktime_get_ns();
	submitter->process = thread >> 32;
	submitter->thread = thread;
	submitter->cgroup = cgroup_number();
	submitter->wanted = !settings.process || settings.process == thread >> 32;
	if ((opf & REQ_OP_MASK) == 1 && (bpf_get_current_task_btf()->flags & PF_WQ_WORKER))
		submitter->flags |= FLAG_WRITEBACK;
	if (settings.commands) {
		bpf_get_current_comm(submitter->command, sizeof(submitter->command));
		keep_name_of_other_thread(thread);
	}
}

#include "block_steps.h"

/* Records an I/O; `now` is 0 if its completion was not seen. */
static __always_inline void report(struct journey *journey, __u64 now, int failed)
{
	if (!journey->submitter.wanted)
		return;
	if (settings.step_ns) {
		add_to_step(journey, now, failed);
		return;
	}
	__u64 lap, response, queued;
	struct record *record = reserve(&lap);
	if (!record) {
		count(&counters.lost);
		return;
	}
	record->issued_ns = journey->issued_ns;
	response = now ? now - journey->issued_ns : RESPONSE_UNKNOWN;
	if (response > RESPONSE_LONGEST)
		response = RESPONSE_LONGEST;
	record->response_cgroup = response | (__u64)journey->submitter.cgroup << 48;
	queued = journey->submitter.at_ns && journey->issued_ns > journey->submitter.at_ns ?
		journey->issued_ns - journey->submitter.at_ns : 0;
	if (queued > QUEUED_LONGEST)
		queued = QUEUED_LONGEST;
	record->queued_thread = queued | (__u64)journey->submitter.thread << 42;
	record->bytes = journey->bytes;
	record->depth_op_merged = journey->depth | (__u32)journey->op << 17 | journey->merged << 20;
	record->process = journey->submitter.process;
	record->cpu = journey->cpu;
	record->flags_device = journey->submitter.flags | (failed ? FLAG_FAILED : 0) |
		journey->device << 12;
	__builtin_memcpy(record->command, journey->submitter.command, COMMAND_LENGTH);
	submit(record, journey->sector << 8 | lap);
}

static __always_inline __u32 enter(__u32 device, __u64 now)
{
	__u32 depth = __sync_fetch_and_add(&counters.outstanding[device & (DEVICES_MAX - 1)], 1) + 1;

	if (depth == 1)
		count_busy(device, now, 1);
	return depth;
}

static __always_inline void leave(__u32 device, __u64 now)
{
	if (__sync_fetch_and_add(&counters.outstanding[device & (DEVICES_MAX - 1)], -1) == 1)
		count_busy(device, now, 0);
}

/* Gives up an I/O whose place is taken by another one: its completion was not
 * seen. */
static __noinline void give_up(struct journey *journey)
{
	leave(journey->device, bpf_ktime_get_ns());
	if (!journey->issued_ns || journey->before)
		return;
	count(&counters.unended);
	report(journey, 0, 0);
}

/* Starts following an I/O and returns its empty journey. An entry that exists
 * under the key belongs to an I/O that was merged into another, or whose
 * completion was not seen: the kernel skips a program that is already running on
 * the processor, and some kernels run none in certain processes. */
static __always_inline struct journey *begin(__u64 key)
{
	struct journey *journey = find(key).journey;

	if (journey && journey->outstanding)
		give_up(journey);
	if (!journey)
		journey = claim(key);
	if (journey)
		__builtin_memset(journey, 0, sizeof(*journey));
	else if (gate.state == GATE_OPEN)
		count(&counters.unfollowed);
	return journey;
}

static __always_inline int request_started(struct request *rq)
{
	int device = slot_of(rq->q->disk, rq->__sector, rq->__data_len);
	if (device < 0 || gate.state == GATE_CLOSED)
		return 0;
	struct journey *journey = begin(key_of(rq));

	if (!journey)
		return 0;
	/* The flags are those of the submitter: the flush machinery removes
	 * preflush and FUA before the request is issued. */
	introduce(&journey->submitter, rq->cmd_flags);
	journey->device = device;
	return 0;
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_io_start, struct request *rq)
{
	return request_started(rq);
}

/* Returns the submitter of the first request that waits for this flush. The
 * thread that issues a flush is an arbitrary one, mostly a kernel worker. */
static __noinline struct submitter *who_asked_for(struct request *flush)
{
	struct blk_flush_queue *queue = flush->mq_hctx->fq;
	struct list_head *first;
	__u32 in_request = 0, bio_in_request = bpf_core_field_offset(struct request, bio);
	struct submitter *submitter;
	__u64 bio = 0;

	if (!bpf_core_field_exists(queue->flush_running_idx) || !bpf_core_field_exists(queue->flush_queue))
		return 0;
	if (BPF_CORE_READ_BITFIELD(queue, flush_running_idx))
		first = queue->flush_queue[1].next;
	else
		first = queue->flush_queue[0].next;
	if (bpf_core_field_exists(struct request___flush_list, flush.list))
		in_request = bpf_core_field_offset(struct request___flush_list, flush.list);
	else
		in_request = bpf_core_field_offset(struct request, queuelist);
	__u64 key = key_of(first) - in_request;
	struct journey *journey = find(key).journey;

	if (journey)
		return &journey->submitter;
	submitter = bpf_map_lookup_elem(&submitters, &key);
	if (submitter || !settings.by_bio)
		return submitter;
	bpf_probe_read_kernel(&bio, sizeof(bio), (void *)first - in_request + bio_in_request);
	return bpf_map_lookup_elem(&submitters, &bio);
}

/* Charges a flush to the submitter of the request it is issued for. */
static __always_inline void introduce_flush(struct journey *journey, struct request *rq)
{
	struct submitter *asked = who_asked_for(rq);

	introduce(&journey->submitter, rq->cmd_flags);
	if (!asked)
		return;
	journey->submitter.process = asked->process;
	journey->submitter.thread = asked->thread;
	journey->submitter.cgroup = asked->cgroup;
	journey->submitter.wanted = asked->wanted;
	__builtin_memcpy(journey->submitter.command, asked->command, COMMAND_LENGTH);
}

/* Starts following a request whose start was not seen: one of the kernel's own
 * (a flush), or any request on a kernel without block_io_start, where the bio
 * identifies the submitter. */
static __always_inline struct journey *begin_at_issue(struct request *rq, int device)
{
	__u64 bio = (__u64)rq->bio;
	struct submitter *submitter = settings.by_bio ? bpf_map_lookup_elem(&submitters, &bio) : 0;
	struct journey *journey = begin(key_of(rq));

	if (!journey)
		return 0;
	if (submitter) {
		journey->submitter = *submitter;
		bpf_map_delete_elem(&submitters, &bio);
	} else if (op_of(rq->cmd_flags) == OP_FLUSH) {
		introduce_flush(journey, rq);
	} else {
		introduce(&journey->submitter, rq->cmd_flags);
	}
	journey->device = device;
	return journey;
}

/* Maximum number of bios counted per request. */
#define BIOS_MAX 1024

/* Returns the bios that the kernel merged into a request: all but the first. */
static __noinline __u32 merged_into(struct request *rq)
{
	struct bio *bio = rq->bio;
	__u32 count = 0;

	for (int i = 0; i < BIOS_MAX; i++) {
		if (!bio)
			break;
		bio = BPF_CORE_READ(bio, bi_next);
		if (bio)
			count++;
	}
	return count;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_rq_issue, struct request *rq)
{
	int device = slot_of(rq->q->disk, rq->__sector, rq->__data_len);
	struct journey *journey = device < 0 ? 0 : find(key_of(rq)).journey;

	if (device < 0 || (gate.state == GATE_CLOSED && !(journey && journey->issued_ns)))
		return 0;
	if (!journey)
		journey = begin_at_issue(rq, device);
	if (!journey)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	if (!journey->outstanding) {
		journey->outstanding = 1;
		journey->depth = enter(device, now);
	}
	/* Issued again after a requeue: keep the time of the first issue. */
	if (journey->issued_ns)
		return 0;
	journey->issued_ns = now;
	journey->before = gate.state == GATE_NOT_YET;
	journey->sector = rq->__sector;
	journey->bytes = rq->__data_len;
	if (settings.merges)
		journey->merged = merged_into(rq);
	journey->op = op_of(rq->cmd_flags);
	journey->submitter.flags |= flags_of(rq->cmd_flags);
	journey->cpu = bpf_get_smp_processor_id();
	judge_order(journey);
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(on_rq_requeue, struct request *rq)
{
	struct journey *journey = find(key_of(rq)).journey;

	if (!journey || !journey->outstanding)
		return 0;
	journey->outstanding = 0;
	journey->submitter.flags |= FLAG_REQUEUED;
	leave(journey->device, bpf_ktime_get_ns());
	count(&counters.requeues);
	return 0;
}

/* A waiting request is merged into another one: the device will not see it. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_rq_merge, struct request *rq)
{
	struct place place = find(key_of(rq));

	if (place.journey && !place.journey->issued_ns)
		forget(place);
	return 0;
}

/* Records a completed I/O, or counts it if it was issued before the capture. */
static __always_inline void finish(struct journey *journey, __u64 now, int failed, unsigned int bytes)
{
	if (journey->issued_ns && !journey->before)
		report(journey, now, failed);
	else if ((journey->before || bytes) && gate.state == GATE_OPEN)
		count(&counters.begun_before);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_rq_complete, struct request *rq, __u8 error, unsigned int bytes)
{
	__u64 now = bpf_ktime_get_ns();
	struct place place = find(key_of(rq));
	struct journey *journey = place.journey;

	if (!journey) {
		/* A write that the kernel splits into flush and data completes
		 * twice, the second time with no bytes left. */
		if (bytes && gate.state == GATE_OPEN && slot_of(rq->q->disk, rq->__sector, bytes) >= 0)
			count(&counters.begun_before);
		return 0;
	}
	if (bytes < rq->__data_len) {
		count(&counters.partial_completions);
		return 0;
	}
	if (journey->outstanding)
		leave(journey->device, now);
	/* On a device without FUA, the kernel sends a flush after such a write. */
	if ((journey->submitter.flags & FLAG_FUA) && !HAS(rq->cmd_flags, __REQ_FUA) && bytes) {
		__u64 key = key_of(rq);

		bpf_map_update_elem(&submitters, &key, &journey->submitter, BPF_ANY);
	}
	finish(journey, now, error, bytes);
	forget(place);
	return 0;
}

static __always_inline void bio_issued(struct bio *bio, int device)
{
	struct journey *journey = begin(key_of(bio));

	if (!journey)
		return;
	introduce(&journey->submitter, bio->bi_opf);
	journey->issued_ns = journey->submitter.at_ns;
	journey->sector = bio->bi_iter.bi_sector;
	journey->bytes = bio->bi_iter.bi_size;
	journey->op = op_of(bio->bi_opf);
	journey->cpu = bpf_get_smp_processor_id();
	journey->device = device;
	journey->depth = enter(device, journey->issued_ns);
	journey->outstanding = 1;
	journey->before = gate.state == GATE_NOT_YET;
	judge_order(journey);
}

static __always_inline void bio_submitted(struct bio *bio)
{
	struct submitter submitter = {};
	__u64 key = (__u64)bio;

	introduce(&submitter, bio->bi_opf);
	bpf_map_update_elem(&submitters, &key, &submitter, BPF_ANY);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue, struct bio *bio)
{
	int device = slot_of(bio->bi_bdev->bd_disk, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);

	if (device < 0 || gate.state == GATE_CLOSED)
		return 0;
	if (settings.device[device & (DEVICES_MAX - 1)].bio_based)
		bio_issued(bio, device);
	else if (settings.by_bio)
		bio_submitted(bio);
	return 0;
}

/* Loaded only if merges and splits are to be counted. */
SEC("tp_btf/block_split")
int BPF_PROG(on_split, struct bio *bio)
{
	int device = slot_of(bio->bi_bdev->bd_disk, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);

	if (device >= 0 && gate.state == GATE_OPEN)
		count(&counters.splits[device & (DEVICES_MAX - 1)]);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *q, struct bio *bio)
{
	__u64 now = bpf_ktime_get_ns();
	struct place place = find(key_of(bio));
	struct journey *journey = place.journey;

	if (!journey)
		return 0;
	leave(journey->device, now);
	finish(journey, now, bio->bi_status, journey->bytes);
	forget(place);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
