/* Capture steps of the block layer. */
#ifndef STEADFAST_BLOCK_STEPS_H
#define STEADFAST_BLOCK_STEPS_H

#include "steps.h"

static __always_inline void judge_order(struct journey *journey)
{
	__u32 place = journey->device * OPS + journey->op;
	__u64 begin = journey->sector + 1;

	if (!settings.step_ns || !journey->submitter.wanted || journey->before || !journey->bytes)
		return;
	journey->sequential = judge(place, begin, begin + (journey->bytes >> 9)) & IS_SEQUENTIAL;
}

/* Keys of LBA ranges in steps. */
#define RANGE_KEYS_MAX 131072

/* ebpf::ranges::RangeKey. */
struct range_key {
	__u64 step;
	__u32 range;
	__u16 device;
	__u16 op;
};
_Static_assert(sizeof(struct range_key) == 16, "a key has no padding");

/* I/Os of an LBA range: ebpf::ranges::RangeTally. Only the first and the last range
 * of an I/O count it; the loader knows from their sums what the ranges between
 * them hold. */
struct range_tally {
	/* I/Os that begin in the range. */
	__u64 begins;
	/* Of these, I/Os that end in a later range. */
	__u64 leaves;
	/* I/Os that begin in an earlier range and end in this one. */
	__u64 arrives;
	/* Bytes in this range of the I/Os that begin or end in it. */
	__u64 bytes;
};
const struct range_tally no_hits SEC(".rodata.hits") = {};

struct range_table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RANGE_KEYS_MAX);
	__type(key, struct range_key);
	__type(value, struct range_tally);
} ranges_a SEC(".maps"), ranges_b SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct range_table);
} ranges_now SEC(".maps") = {
	.values = { &ranges_a },
};

/* Maximum number of LBA ranges of a device: options.rs. */
#define LBA_RANGES_MAX 1024

/* The tallies of the two steps in which most I/Os were issued: an array costs a
 * third of a hash table. The two halves are used alternately; the loader sets the
 * number of devices. Index: device, half, step, range, operation. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8 * LBA_RANGES_MAX);
	__type(key, __u32);
	__type(value, struct range_tally);
} recent_ranges SEC(".maps");

static __always_inline struct range_tally *hits_of(struct range_key *key, __u64 turn)
{
	__u64 step = key->step - (turn >> 1);
	__u32 zero = 0;

	if (step < 2 && key->range < LBA_RANGES_MAX) {
		__u32 part = key->device * 4 + (turn & 1) * 2 + step;
		__u32 at = (part * LBA_RANGES_MAX + key->range) * 2 + key->op;

		return bpf_map_lookup_elem(&recent_ranges, &at);
	}
	void *table = bpf_map_lookup_elem(&ranges_now, &zero);

	if (!table)
		return 0;
	struct range_tally *tally = bpf_map_lookup_elem(table, key);

	if (tally)
		return tally;
	bpf_map_update_elem(table, key, &no_hits, BPF_NOEXIST);
	return bpf_map_lookup_elem(table, key);
}

/* Counts a read or a write of a step in the LBA ranges that it touches: in all of
 * them or, if there is no room, in none. Not static: the verifier checks it once. */
__noinline int count_in_ranges(struct journey *journey, __u64 step)
{
	if (!journey)
		return 0;
	__u64 width = settings.device[journey->device & (DEVICES_MAX - 1)].range_bytes;

	if (!width || journey->op > OP_WRITE || !journey->bytes)
		return 0;
	__u64 begin = journey->sector << 9, end = begin + journey->bytes;
	struct range_key key = {
		.step = step,
		.range = begin / width,
		.device = journey->device,
		.op = journey->op,
	};
	__u64 turn = gate.ranges_turn, next = (key.range + 1ULL) * width;
	__u32 is_one = end <= next, last = is_one ? key.range : (end - 1) / width;
	__u64 in_first = is_one ? journey->bytes : next - begin;
	struct range_tally *first = hits_of(&key, turn), *other = 0;

	if (!is_one) {
		key.range = last;
		other = hits_of(&key, turn);
	}
	if (!first || (!is_one && !other)) {
		count(&counters.without_range);
		return 0;
	}
	__sync_fetch_and_add(&first->begins, 1);
	__sync_fetch_and_add(&first->bytes, in_first);
	if (other) {
		__sync_fetch_and_add(&first->leaves, 1);
		__sync_fetch_and_add(&other->arrives, 1);
		__sync_fetch_and_add(&other->bytes, end - last * width);
	}
	return 0;
}

/* Adds an I/O to its step; `now` is 0 if the completion was not seen. */
static __always_inline void add_to_step(struct journey *journey, __u64 now, int failed)
{
	struct step_io io = {
		.step = step_time_of(journey->issued_ns).step,
		.response_ns = now ? now - journey->issued_ns : RESPONSE_UNKNOWN,
		.offset = journey->op == OP_FLUSH ? 0 : journey->sector << 9,
		.command = journey->submitter.command,
		.process = journey->submitter.process,
		.thread = journey->submitter.thread,
		.bytes = journey->bytes,
		.depth = journey->depth,
		.device = journey->device,
		.op = journey->op,
		.sequential = journey->sequential,
		.failed = !!failed,
	};

	if (count_in_step(&io, 0))
		count_in_ranges(journey, io.step);
	else
		count(&counters.lost);
}

#endif
