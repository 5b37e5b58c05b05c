/* Capture steps of the file-system layer.
 *
 * Calls are judged sequential or not when they begin, because a reader of the
 * trace sees them in the order of their beginnings. The number of bytes is known
 * only at completion: then the remembered end of the call is corrected. */
#ifndef STEADFAST_FILE_STEPS_H
#define STEADFAST_FILE_STEPS_H

#include "steps.h"

/* In addition to the bits of `judge`: the call no longer counts as outstanding. */
#define LEFT_EARLY 0x8000

/* steadfast_domain::random_bits::mix64. */
static __always_inline __u64 mix64(__u64 value)
{
	__u64 z = value + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Maps a position in a file to a number that is unique among all files, as in
 * steadfast_analysis::annotate::sequential; 0 stands for none. */
static __always_inline __u64 place_in_file(struct record *record, __u64 offset)
{
	return offset + mix64(record->inode) + 1;
}

static __always_inline __u32 kind_of(struct record *record)
{
	return record->device * OPS + record->op;
}

/* Corrects the remembered end of a call (0 for none) and that of its run, unless
 * others have taken their places. */
static __always_inline void correct(struct call *call, __u64 end, __u64 run)
{
	__u32 kind = kind_of(&call->record), end_at = END_AT(call->judgment);
	struct recent *recent = bpf_map_lookup_elem(&recents, &kind);

	if (!recent)
		return;
	if (recent->ends[end_at] == call->end) {
		recent->ends[end_at] = end;
		/* The next call may have its place, if none has come since. */
		if (!end && recent->next == end_at + 1)
			recent->next = end_at;
	}
	if ((call->judgment & IS_SEQUENTIAL) && recent->runs[RUN_AT(call->judgment)] == call->end)
		recent->runs[RUN_AT(call->judgment)] = run;
}

/* Counts a call as outstanding, and judges it if its size is known. */
static __always_inline void enter(struct call *call, __u64 offset, __u64 asked)
{
	struct record *record = &call->record;
	__u32 *outstanding = &counters.outstanding[record->device & (DEVICES_MAX - 1)];

	if (!settings.step_ns || call->before)
		return;
	call->depth = __sync_fetch_and_add(outstanding, 1) + 1;
	if (call->depth == 1)
		count_busy(record->device, record->issued_ns, 1);
	if (!asked)
		return;
	call->begin = place_in_file(record, offset);
	call->end = call->begin + asked;
	call->judgment = judge(kind_of(record), call->begin, call->end);
}

static __always_inline void leave(struct call *call)
{
	__u32 device = call->record.device & (DEVICES_MAX - 1);

	if (!settings.step_ns || !call->depth || (call->judgment & LEFT_EARLY))
		return;
	if (__sync_fetch_and_add(&counters.outstanding[device], -1) == 1)
		count_busy(device, bpf_ktime_get_ns(), 0);
}

/* Stops counting a call as outstanding whose completion will not be seen. */
static __always_inline void leave_early(struct call *call)
{
	leave(call);
	call->judgment |= LEFT_EARLY;
}

/* No data was transferred: nothing can continue this call. */
static __always_inline void take_back(struct call *call)
{
	if (settings.step_ns && call->end)
		correct(call, 0, call->begin);
	call->judgment &= LEFT_EARLY;
}

/* Judges a completed call by the bytes it has transferred. */
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
		call->judgment = judge(kind_of(record), begin, end);
	else if (call->end != end)
		correct(call, end, end);
}

static __always_inline void add_to_step(struct call *call)
{
	struct record *record = &call->record;
	struct step_io io = {
		.step = step_time_of(record->issued_ns).step,
		.response_ns = record->response_ns == RESPONSE_LONGEST ? RESPONSE_UNKNOWN :
			record->response_ns,
		.offset = record->offset,
		.command = record->command,
		.process = record->process,
		.thread = record->thread,
		.bytes = record->bytes,
		.depth = call->depth,
		.device = record->device,
		.op = record->op,
		.sequential = call->judgment & IS_SEQUENTIAL,
		.failed = !!(record->flags & FLAG_FAILED),
	};

	if (!count_in_step(&io, 1))
		count(&counters.lost);
}

#endif
