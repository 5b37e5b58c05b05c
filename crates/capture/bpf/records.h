/* Records on their way to user space: a ring for every processor, in memory that
 * the reader maps (ebpf::rings).
 *
 * The kernel's own ring buffer is one for all processors: each record takes its
 * lock, and waits until what it has written has reached the memory. Here a record
 * is one cache line of its processor's ring. Its head is written last, and holds
 * the number of the lap: whoever reads it knows that the record is whole. */
#ifndef STEADFAST_RECORDS_H
#define STEADFAST_RECORDS_H

_Static_assert(sizeof(struct record) == 64, "a record is a cache line");

/* ebpf::rings::Position, in a page of which the kernel sees a processor's part. */
struct position {
	/* Begun so far, and how far there is room: the programs'. */
	__u64 next;
	__u64 limit;
	__u64 unused[6];
	/* Taken so far: the reader's. */
	__u64 taken;
	__u64 unused_too[7];
};

/* As many as there are processors; set by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct position);
} positions SEC(".maps");

/* One ring after the other. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

/* Written by the loader: log2 of a ring's records. */
const volatile __u32 ring_shift SEC(".rodata.ring") = 0;

/* A program that interrupts another one on its processor may take the place that
 * this one was about to take. */
#define TRIES 4

/* A place for a record, and what its head's lowest byte must be; or null. */
static __always_inline struct record *reserve(__u64 *lap)
{
	__u32 cpu = bpf_get_smp_processor_id();
	volatile struct position *position = bpf_map_lookup_elem(&positions, &cpu);
	__u32 shift = ring_shift & 31;

	if (!position)
		return 0;
	for (int i = 0; i < TRIES; i++) {
		__u64 next = position->next;

		if (next >= position->limit) {
			position->limit = position->taken + (1ULL << shift);
			if (next >= position->limit)
				return 0;
		}
		if (__sync_val_compare_and_swap(&position->next, next, next + 1) != next)
			continue;
		__u32 at = (cpu << shift) + (next & ((1U << shift) - 1));
		*lap = ((next >> shift) + 1) & 0xff;
		return bpf_map_lookup_elem(&records, &at);
	}
	return 0;
}

/* Hands a record over, whose head this is. */
static __always_inline void submit(struct record *record, __u64 head)
{
#ifdef __TARGET_ARCH_arm64
	__sync_lock_test_and_set(&record->head, head);
#else
	/* Stores are seen in the order in which they are made. */
	asm volatile("" ::: "memory");
	*(volatile __u64 *)&record->head = head;
#endif
}

#endif
