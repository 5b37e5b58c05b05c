/* Definitions common to the programs of every layer. */
#ifndef STEADFAST_COMMON_H
#define STEADFAST_COMMON_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define DEVICES_MAX 16
#define COMMAND_LENGTH 16
/* steadfast_domain::io_event::RESPONSE_UNKNOWN. */
#define RESPONSE_UNKNOWN (~0ULL)

enum { OP_READ, OP_WRITE, OP_DISCARD, OP_FLUSH, OP_OTHER };

/* steadfast_domain::io_event::flags. */
enum {
	FLAG_SYNC = 1 << 0,
	FLAG_FUA = 1 << 1,
	FLAG_PREFLUSH = 1 << 2,
	FLAG_META = 1 << 3,
	FLAG_READ_AHEAD = 1 << 4,
	FLAG_WRITEBACK = 1 << 5,
	FLAG_FAILED = 1 << 6,
	FLAG_REQUEUED = 1 << 7,
	FLAG_DIRECT = 1 << 8,
};

enum { GATE_NOT_YET, GATE_OPEN, GATE_CLOSED };
/* What every I/O reads, in one cache line that is rarely written. Set by the loader:
 * ebpf::programs::Gate. */
struct gate {
	/* Time of opening; capture steps are counted from it. */
	__u64 began_ns;
	__u64 state;
	/* First of the two steps whose LBA ranges are in the array << 1 | half in use
	 * (block_steps.h). */
	__u64 ranges_turn;
	/* The latest step that was counted; by the programs. */
	__u64 step;
};
struct gate gate SEC(".data.gate") __attribute__((aligned(64))) = {};

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

#endif
