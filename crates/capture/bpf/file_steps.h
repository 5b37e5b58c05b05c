/* Capture steps of the file-system layer.
 *
 * A call is judged sequential or not when it begins, as a trace's reader sees
 * calls in the order in which they began. How many bytes it moves is known only
 * when it ends: then what is remembered of its end is put right. */
#ifndef STEADFAST_FILE_STEPS_H
#define STEADFAST_FILE_STEPS_H

#include "steps.h"

/* Beside what `judge` tells: the call is not counted as under way any more. */
#define LEFT_EARLY 0x8000

/* steadfast_domain::step::mix64. */
static __always_inline __u64 mix64(__u64 value)
{
	__u64 z = value + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* A place in a file as a number of its own among those of all files, as in
 * steadfast_trace::sequence; 0 is none. */
static __always_inline __u64 place_in_file(struct record *record, __u64 offset)
{
	return offset + mix64(record->inode) + 1;
}

static __always_inline __u32 kind_of(struct record *record)
{
	return record->device * OPS + record->op;
}

/* Puts right what is remembered of a call's end, unless others have taken its
 * places: where it ended (0 is nowhere), and where its run did. */
static __always_inline void correct(struct call *call, __u64 end, __u64 run)
{
	__u32 kind = kind_of(&call->record), end_at = END_AT(call->judged);
	struct recent *recent = bpf_map_lookup_elem(&recents, &kind);

	if (!recent)
		return;
	if (recent->ends[end_at] == call->end) {
		recent->ends[end_at] = end;
		/* The next one may have its place, if none has come since. */
		if (!end && recent->next == end_at + 1)
			recent->next = end_at;
	}
	if ((call->judged & IS_SEQUENTIAL) && recent->runs[RUN_AT(call->judged)] == call->end)
		recent->runs[RUN_AT(call->judged)] = run;
}

/* Counts a call as under way, and judges it where it is known what it asks for. */
static __always_inline void enter(struct call *call, __u64 offset, __u64 asked)
{
	struct record *record = &call->record;
	__u32 *outstanding = &counters.outstanding[record->device & (DEVICES_MAX - 1)];

	if (!settings.step_ns || call->before)
		return;
	call->depth = __sync_fetch_and_add(outstanding, 1) + 1;
	if (!asked)
		return;
	call->begin = place_in_file(record, offset);
	call->end = call->begin + asked;
	call->judged = judge(kind_of(record), call->begin, call->end);
}

static __always_inline void leave(struct call *call)
{
	if (settings.step_ns && call->depth && !(call->judged & LEFT_EARLY))
		__sync_fetch_and_add(&counters.outstanding[call->record.device & (DEVICES_MAX - 1)], -1);
}

/* The call goes on, but nobody will tell of its end. */
static __always_inline void leave_early(struct call *call)
{
	leave(call);
	call->judged |= LEFT_EARLY;
}

/* Nothing was moved: nothing that follows continues it. */
static __always_inline void take_back(struct call *call)
{
	if (settings.step_ns && call->end)
		correct(call, 0, call->begin);
	call->judged &= LEFT_EARLY;
}

/* Judges by what a call has moved; it has ended. */
static __always_inline void settle_order(struct call *call)
{
	struct record *record = &call->record;
	__u64 begin, end;

	if (!settings.step_ns || call->before)
		return;
	if (!record->bytes) {
		take_back(call);
		return;
	}
	begin = place_in_file(record, record->offset);
	end = begin + record->bytes;
	if (!call->end)
		call->judged = judge(kind_of(record), begin, end);
	else if (call->end != end)
		correct(call, end, end);
}

static __always_inline void add_to_step(struct call *call)
{
	struct record *record = &call->record;
	struct step_io io = {
		.issued_ns = record->issued_ns,
		.response_ns = record->response_ns == RESPONSE_LONGEST ? RESPONSE_UNKNOWN :
			record->response_ns,
		.offset = record->offset,
		.bytes = record->bytes,
		.depth = call->depth,
		.device = record->device,
		.op = record->op,
		.sequential = call->judged & IS_SEQUENTIAL,
		.failed = !!(record->flags & FLAG_FAILED),
	};

	if (!count_in_step(&io, 1))
		count(&counters.lost);
}

#endif
