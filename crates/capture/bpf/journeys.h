/* I/Os on their way, found by the address of their request or bio.
 *
 * A table of its own, for the kernel's hash map takes a lock and copies the
 * value at every insertion: a third of what a capture costs. A bucket's keys
 * share a cache line; an address has two buckets, and where both are full the
 * I/O is not followed. */
#ifndef STEADFAST_JOURNEYS_H
#define STEADFAST_JOURNEYS_H

#define BUCKET_BITS 13
#define WAYS 8

/* Who submitted an I/O, and when. */
struct submitter {
	__u64 at_ns;
	__u32 process;
	__u16 flags;
	__u16 wanted;
	char command[COMMAND_LENGTH];
};

/* An I/O on its way: ebpf::record::Journey. */
struct journey {
	struct submitter submitter;
	__u64 issued_ns;
	__u64 sector;
	__u32 bytes;
	__u32 depth;
	__u16 cpu;
	__u16 flags;
	__u8 device;
	__u8 op;
	__u8 outstanding;
	/* Issued before the gate was opened. */
	__u8 before;
	/* Told only where capture steps are wanted. */
	__u8 sequential;
	__u8 unused[7];
};

/* ebpf::record::Bucket. */
struct bucket {
	/* 0 where the place is free. */
	__u64 key[WAYS];
	struct journey journey[WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << BUCKET_BITS);
	__type(key, __u32);
	__type(value, struct bucket);
} buckets SEC(".maps");

/* An address as a number: the verifier calculates with no pointer to a kernel
 * object, but takes the distance between two for a number. */
static __always_inline __u64 key_of(const void *object)
{
	__u64 distance = (__u64)object, from = (__u64)&gate;

	asm volatile("%0 -= %1" : "+r"(distance) : "r"(from));
	return distance;
}

/* Multipliers without structure (the golden ratio's and another odd number's
 * bits): addresses lie in regular distances. */
static __always_inline struct bucket *bucket_of(__u64 key, int second)
{
	__u64 factor = second ? 0xd6e8feb86659fd93ULL : 0x9e3779b97f4a7c15ULL;
	__u32 number = (key * factor) >> (64 - BUCKET_BITS);

	return bpf_map_lookup_elem(&buckets, &number);
}

static __always_inline struct journey *find_in(struct bucket *bucket, __u64 key)
{
	if (!bucket)
		return 0;
	for (int i = 0; i < WAYS; i++) {
		if (bucket->key[i] == key)
			return &bucket->journey[i];
	}
	return 0;
}

static __always_inline struct journey *find(__u64 key)
{
	struct journey *journey = find_in(bucket_of(key, 0), key);

	return journey ? journey : find_in(bucket_of(key, 1), key);
}

/* A free place of a bucket, now the key's. */
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
	struct journey *journey = claim_in(bucket_of(key, 0), key);

	return journey ? journey : claim_in(bucket_of(key, 1), key);
}

/* Frees the key's place. The exchange orders it after all that was read there. */
static __always_inline int forget_in(struct bucket *bucket, __u64 key)
{
	if (!bucket)
		return 0;
	for (int i = 0; i < WAYS; i++) {
		if (bucket->key[i] == key) {
			__sync_lock_test_and_set(&bucket->key[i], 0);
			return 1;
		}
	}
	return 0;
}

static __always_inline void forget(__u64 key)
{
	if (!forget_in(bucket_of(key, 0), key))
		forget_in(bucket_of(key, 1), key);
}

#endif
