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

/* Adds an I/O to its step; `now` is 0 if the completion was not seen. */
static __always_inline void add_to_step(struct journey *journey, __u64 now, int failed)
{
	struct step_io io = {
		.issued_ns = journey->issued_ns,
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

	if (!count_in_step(&io, 0))
		count(&counters.lost);
}

#endif
