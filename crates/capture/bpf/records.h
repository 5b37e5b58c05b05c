/* Records on their way to user space: a ring per processor, in memory that the
 * reader maps (ebpf::rings).
 *
 * The kernel's own ring buffer is shared by all processors: every record takes
 * its lock and waits until its content has reached memory. Here a record is one
 * cache line of its processor's ring. Its head is written last and has the
 * number of the lap, by which the reader knows that the record is complete. */
#ifndef STEADFAST_RECORDS_H
#define STEADFAST_RECORDS_H

_Static_assert(sizeof(struct record) == 64, "a record is a cache line");

/* ebpf::rings::RingPosition, in a page of which the kernel uses a processor's part. */
struct position {
	/* Records begun so far, and the limit of free space: written by the
	 * programs. */
	__u64 next;
	__u64 limit;
	__u64 unused[6];
	/* Records taken so far: written by the reader. */
	__u64 taken;
	__u64 unused_too[7];
};

/* One per processor; the number is set by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct position);
} positions SEC(".maps");

/* The rings of all processors, one after the other. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

/* Written by the loader: log2 of the records per ring. */
const volatile __u32 ring_shift SEC(".rodata.ring") = 0;

/* A program that interrupts another one on the same processor may take the place
 * that the other was about to take. */
#define TRIES 4

/* Returns a place for a record and the lowest byte for its head, or null if the
 * ring is full. */
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

/* Completes a record by writing its head. */
static __always_inline void submit(struct record *record, __u64 head)
{
#ifdef __TARGET_ARCH_arm64
	__sync_lock_test_and_set(&record->head, head);
#else
	/* On x86, stores become visible in program order. */
	asm volatile("" ::: "memory");
	*(volatile __u64 *)&record->head = head;
#endif
}

#endif
