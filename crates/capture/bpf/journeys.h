/* I/Os being followed, found by the address of their request or bio.
 *
 * A table of its own, because the kernel's hash map takes a lock and copies the
 * value at every insertion: a third of the cost of a capture. The cost here is
 * cache misses: a bucket's keys are one cache line, a journey is one, and both
 * are in one page. An address has two buckets; the first one tells whether the
 * second needs to be searched. If both are full, the I/O is not followed. */
#ifndef STEADFAST_JOURNEYS_H
#define STEADFAST_JOURNEYS_H

#define BUCKET_BITS 13
#define WAYS 7

/* The submitter of an I/O, with time and flags. */
struct submitter {
	__u64 at_ns;
	/* The kernel's process and thread IDs are below 2^22; the block layer
	 * uses no flag beyond the eighth. */
	__u64 process : 22, thread : 22, flags : 8, wanted : 1, cgroup : 11;
	/* Command name of the thread. */
	char command[COMMAND_LENGTH];
};

/* An I/O being followed: ebpf::record::InFlightEntry. */
struct journey {
	struct submitter submitter;
	__u64 issued_ns;
	__u64 sector;
	__u32 bytes;
	/* The depth cannot exceed the number of places, nor `merged` BIOS_MAX. */
	__u32 depth : 17, merged : 12,
		outstanding : 1,
		/* Issued before the gate was opened. */
		before : 1,
		/* Set only for capture steps. */
		sequential : 1;
	__u16 cpu;
	__u8 device;
	__u8 op;
	__u32 unused;
};
_Static_assert(sizeof(struct journey) == 64, "a journey is a cache line");

/* ebpf::record::InFlightBucket. */
struct bucket {
	/* Number of I/Os of this bucket that are in their second one. */
	__u64 elsewhere;
	/* 0 if the place is free. */
	__u64 key[WAYS];
	struct journey journey[WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << BUCKET_BITS);
	/* Makes the array page-aligned. */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bucket);
} buckets SEC(".maps");

/* A place in the table, or nothing. */
struct place {
	struct journey *journey;
	__u64 *key;
	/* The first bucket's count, if the place is in the second one. */
	__u64 *elsewhere;
};

/* Returns an address as a number: the verifier allows no arithmetic on pointers
 * to kernel objects, but takes the difference of two as a number. */
static __always_inline __u64 key_of(const void *object)
{
	__u64 distance = (__u64)object, from = (__u64)&gate;

	asm volatile("%0 -= %1" : "+r"(distance) : "r"(from));
	return distance;
}

/* Multipliers without structure (the bits of the golden ratio and of another odd
 * number), because addresses are at regular distances. */
static __always_inline struct bucket *bucket_of(__u64 key, __u64 factor)
{
	__u32 number = (key * factor) >> (64 - BUCKET_BITS);

	return bpf_map_lookup_elem(&buckets, &number);
}

static __always_inline struct bucket *first_bucket(__u64 key)
{
	return bucket_of(key, 0x9e3779b97f4a7c15ULL);
}

static __always_inline struct bucket *second_bucket(__u64 key)
{
	return bucket_of(key, 0xd6e8feb86659fd93ULL);
}

static __always_inline struct place place_in(struct bucket *bucket, __u64 key)
{
	if (!bucket)
		return (struct place){};
	for (int i = 0; i < WAYS; i++) {
		if (bucket->key[i] == key)
			return (struct place){ &bucket->journey[i], &bucket->key[i] };
	}
	return (struct place){};
}

static __always_inline struct place find(__u64 key)
{
	struct bucket *first = first_bucket(key);
	struct place place = place_in(first, key);

	if (place.journey || !first || !first->elsewhere)
		return place;
	place = place_in(second_bucket(key), key);
	place.elsewhere = &first->elsewhere;
	return place;
}

/* Claims a free place of a bucket for the key. */
static __always_inline struct journey *claim_in(struct bucket *bucket, __u64 key)
{
	if (!bucket)
		return 0;
	for (int i = 0; i < WAYS; i++) {
		if (!bucket->key[i] && !__sync_val_compare_and_swap(&bucket->key[i], 0, key))
			return &bucket->journey[i];
	}
	return 0;
}

static __always_inline struct journey *claim(__u64 key)
{
	struct bucket *first = first_bucket(key);
	struct journey *journey = claim_in(first, key);

	if (journey || !first)
		return journey;
	journey = claim_in(second_bucket(key), key);
	if (journey)
		__sync_fetch_and_add(&first->elsewhere, 1);
	return journey;
}

/* Frees a place. The exchange orders this after all reads of the place. */
static __always_inline void forget(struct place place)
{
	__sync_lock_test_and_set(place.key, 0);
	if (place.elsewhere)
		__sync_fetch_and_add(place.elsewhere, -1);
}

#endif
