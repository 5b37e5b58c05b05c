/* Capture steps: the I/O streams of every process added up in the kernel, step by
 * step.
 *
 * Two tables are used alternately: the loader installs the other one, waits
 * until no program uses the first any more (the kernel does so when an inner map
 * is replaced), and reads its content. The key includes the processor, so that
 * no two processors add to the same tally. */
#ifndef STEADFAST_STEPS_H
#define STEADFAST_STEPS_H

/* Number of I/Os, and of runs, that are remembered:
 * steadfast_analysis::annotate::sequential::WINDOW. */
#define WINDOW 32
#define OPS 5
#define STREAMS_MAX 65536
/* Buckets of response times: four per power of two, from 2^10 ns on. */
#define TIME_FIRST 10
#define OCTAVES 24
#define BUCKETS (OCTAVES * 4)

/* ebpf::steps::StepKey. */
struct step_key {
	__u64 step : 48, cpu : 16;
	__u32 bytes;
	/* The kernel's process IDs are below 2^22. Stream: operation, plus 8 if
	 * sequential, plus 16 if the name is that of another thread than the
	 * process's first. */
	__u32 process : 22, device : 4, stream : 6;
	/* Command name of the thread. */
	char command[COMMAND_LENGTH];
};
_Static_assert(sizeof(struct step_key) == 32, "a key has no padding");

/* ebpf::steps::StepTally. */
struct step_tally {
	__u64 ios;
	__u64 responses;
	__u64 response_sum_ns;
	__u64 response_max_ns;
	__u64 depth_sum;
	/* Bitwise OR of all offsets. */
	__u64 offsets;
	__u32 depth_max;
	__u32 failed;
	/* I/Os by response time; saturating. */
	__u16 times[BUCKETS];
};
const struct step_tally no_ios SEC(".rodata.tally") = {};

struct step_table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STREAMS_MAX);
	__type(key, struct step_key);
	__type(value, struct step_tally);
} steps_a SEC(".maps"), steps_b SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct step_table);
} steps_now SEC(".maps") = {
	.values = { &steps_a },
};

/* Ends of the last I/Os and runs of one operation on one device, in sectors plus
 * 1, so that 0 stands for none. */
struct recent {
	__u64 ends[WINDOW];
	__u64 runs[WINDOW];
	/* Logical time of the last continuation of each run. */
	__u64 continued[WINDOW];
	__u64 clock;
	__u32 next;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DEVICES_MAX * OPS);
	__type(key, __u32);
	__type(value, struct recent);
} recents SEC(".maps");

static __always_inline __u32 oldest_run(struct recent *recent)
{
	__u32 oldest = 0;

	for (__u32 i = 1; i < WINDOW; i++) {
		if (recent->continued[i] < recent->continued[oldest & (WINDOW - 1)])
			oldest = i;
	}
	return oldest;
}

/* Result of `judge`: whether an I/O is sequential, and the indices of its end
 * and of its run. */
#define IS_SEQUENTIAL 1
#define END_AT(judgment) ((judgment) >> 1 & (WINDOW - 1))
#define RUN_AT(judgment) ((judgment) >> 6 & (WINDOW - 1))

/* The rule of steadfast_analysis::annotate::sequential, applied in the order in
 * which the programs run; I/Os issued by several processors at the same time
 * have no defined order. Not static: the verifier checks it once, not once for
 * each path to it. */
__noinline int judge(__u32 place, __u64 begin, __u64 end)
{
	struct recent *recent = bpf_map_lookup_elem(&recents, &place);
	__u32 run = WINDOW, found = 0;

	if (!recent)
		return 0;
	for (__u32 i = 0; i < WINDOW; i++) {
		found |= recent->ends[i] == begin;
		if (run == WINDOW && recent->runs[i] == begin)
			run = i;
	}
	found |= run < WINDOW;
	if (found) {
		recent->clock++;
		if (run == WINDOW)
			run = oldest_run(recent);
		recent->runs[run & (WINDOW - 1)] = end;
		recent->continued[run & (WINDOW - 1)] = recent->clock;
	}
	__u32 next = recent->next & (WINDOW - 1);
	recent->ends[next] = end;
	recent->next = next + 1;
	return found | next << 1 | (run & (WINDOW - 1)) << 6;
}

static __always_inline struct step_tally *tally_of(struct step_key *key)
{
	__u32 first = 0;
	void *table = bpf_map_lookup_elem(&steps_now, &first);

	if (!table)
		return 0;
	struct step_tally *tally = bpf_map_lookup_elem(table, key);
	if (tally)
		return tally;
	bpf_map_update_elem(table, key, &no_ios, BPF_NOEXIST);
	return bpf_map_lookup_elem(table, key);
}

/* Returns the bucket of a response time. Every power of two from 2^TIME_FIRST ns
 * on has four buckets; shorter times are in the first, longer ones in the last. */
static __always_inline __u32 bucket_of_time(__u64 time)
{
	__u32 shift = 0;

	if (time >> (TIME_FIRST + OCTAVES))
		return BUCKETS - 1;
	time >>= TIME_FIRST - 2;
	if (time < 4)
		return 0;
	/* Shift until three bits are left, the first of which is set. */
	for (__u32 half = 16; half; half >>= 1) {
		if (time >> (shift + half + 2))
			shift += half;
	}
	return (shift << 2) + ((time >> shift) & 3);
}

/* An I/O as counted in a step. */
struct step_io {
	__u64 step;
	/* RESPONSE_UNKNOWN if its completion was not seen. */
	__u64 response_ns;
	__u64 offset;
	const char *command;
	__u32 process;
	__u32 thread;
	__u32 bytes;
	__u32 depth;
	__u8 device;
	__u8 op;
	__u8 sequential;
	__u8 failed;
};

/* `shared`: another program may interrupt on the same processor. */
static __always_inline void plus(__u64 *sum, __u64 more, int shared)
{
	if (shared)
		__sync_fetch_and_add(sum, more);
	else
		*sum += more;
}

static __always_inline void add_response(struct step_tally *tally, __u64 response, int shared)
{
	__u32 bucket = bucket_of_time(response);

	plus(&tally->responses, 1, shared);
	plus(&tally->response_sum_ns, response, shared);
	if (tally->response_max_ns < response)
		tally->response_max_ns = response;
	if (bucket < BUCKETS && tally->times[bucket] != 0xffff)
		tally->times[bucket]++;
}

/* A time as its step and the time since the step began. */
struct step_time {
	__u64 step;
	__u64 since_ns;
};

/* The beginning of the first step for times before the gate was opened. */
static __always_inline struct step_time step_time_of(__u64 time)
{
	struct step_time at = { .step = gate.step };
	__u64 since_opening = time - gate.began_ns;

	if (gate.state == GATE_NOT_YET || time < gate.began_ns)
		return (struct step_time){};
	at.since_ns = since_opening - at.step * settings.step_ns;
	/* Divide only once per step, and for times of earlier steps, whose
	 * difference has wrapped around. */
	if (at.since_ns >= settings.step_ns) {
		at.step = since_opening / settings.step_ns;
		at.since_ns = since_opening - at.step * settings.step_ns;
		if (at.step > gate.step)
			gate.step = at.step;
	}
	return at;
}

/* Steps whose busy time is kept until the loader has read it. */
#define BUSY_STEPS 4096

/* Busy time of a device in a step, one number to be added to at once:
 * ebpf::steps::BusySum. The lower 48 bits (signed) are the ends minus the begins of
 * busy periods, each as the time since the step began; the rest are the begins minus
 * the ends. */
#define BUSY_BEGIN (1ULL << 48)

/* A ring of steps for each device. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DEVICES_MAX * BUSY_STEPS);
	__type(key, __u32);
	__type(value, __u64);
} busy_steps SEC(".maps");

/* Counts the time at which a device becomes busy, or idle. */
static __always_inline void count_busy(__u32 device, __u64 now, int begins)
{
	if (!settings.step_ns || settings.process || gate.state == GATE_CLOSED)
		return;
	struct step_time at = step_time_of(now);
	__u32 index = device * BUSY_STEPS + (at.step & (BUSY_STEPS - 1));
	__u64 *busy = bpf_map_lookup_elem(&busy_steps, &index);

	if (busy)
		__sync_fetch_and_add(busy, begins ? BUSY_BEGIN - at.since_ns : at.since_ns - BUSY_BEGIN);
}

/* Counts an I/O in its step; returns 0 if there is no room. */
static __always_inline int count_in_step(struct step_io *io, int shared)
{
	struct step_key key = {
		.step = io->step,
		.cpu = bpf_get_smp_processor_id(),
		.bytes = io->bytes,
		.process = io->process,
		.device = io->device,
		.stream = io->op | (io->sequential ? 8 : 0) | (io->thread != io->process ? 16 : 0),
	};
	struct step_tally *tally;

	__builtin_memcpy(key.command, io->command, COMMAND_LENGTH);
	tally = tally_of(&key);
	if (!tally)
		return 0;
	plus(&tally->ios, 1, shared);
	plus(&tally->depth_sum, io->depth, shared);
	if (tally->depth_max < io->depth)
		tally->depth_max = io->depth;
	tally->offsets |= io->offset;
	if (io->failed)
		__sync_fetch_and_add(&tally->failed, 1);
	if (io->response_ns != RESPONSE_UNKNOWN)
		add_response(tally, io->response_ns, shared);
	return 1;
}

#endif
