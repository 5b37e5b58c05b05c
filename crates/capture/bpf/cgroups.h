/* Cgroups of processes. The kernel's cgroup ID (64 bits) does not fit into a
 * record, so each cgroup gets a small number when it is first seen; the reader
 * finds the ID in the map. */
#ifndef STEADFAST_CGROUPS_H
#define STEADFAST_CGROUPS_H

/* Maximum number of cgroups in a capture; fits into a submitter's 11 bits. */
#define CGROUPS_MAX 1024

/* ebpf::cgroups::CgroupHierarchy: the hierarchy whose cgroups are recorded. */
enum {
	CGROUPS_NONE,
	CGROUPS_UNIFIED,
	CGROUPS_BLKIO,
	CGROUPS_MEMORY,
	CGROUPS_PIDS,
	CGROUPS_CPU,
	CGROUPS_CPUSET,
	CGROUPS_DEVICES,
	CGROUPS_FREEZER,
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CGROUPS_MAX);
	__type(key, __u64);
	__type(value, __u32);
} cgroup_numbers SEC(".maps");

/* Number of cgroups numbered so far. */
__u32 cgroups_numbered SEC(".data.cgroups") = 0;

#define OF_CONTROLLER(name) bpf_core_enum_value(enum cgroup_subsys_id, name##_cgrp_id)

/* Returns the ID of the current process's cgroup in the hierarchy of a
 * controller that has one of its own (version 1). */
static __always_inline __u64 cgroup_of_controller(__u32 controller)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = 0;
	__u32 at = bpf_core_field_offset(struct css_set, subsys) + sizeof(state) * controller;

	bpf_probe_read_kernel(&state, sizeof(state), (void *)set + at);
	return BPF_CORE_READ(state, cgroup, kn, id);
}

static __always_inline __u64 current_cgroup(void)
{
	switch (settings.cgroups) {
	case CGROUPS_UNIFIED:
		return bpf_get_current_cgroup_id();
	case CGROUPS_BLKIO:
		return cgroup_of_controller(OF_CONTROLLER(io));
	case CGROUPS_MEMORY:
		return cgroup_of_controller(OF_CONTROLLER(memory));
	case CGROUPS_PIDS:
		return cgroup_of_controller(OF_CONTROLLER(pids));
	case CGROUPS_CPU:
		return cgroup_of_controller(OF_CONTROLLER(cpu));
	case CGROUPS_CPUSET:
		return cgroup_of_controller(OF_CONTROLLER(cpuset));
	case CGROUPS_DEVICES:
		return cgroup_of_controller(OF_CONTROLLER(devices));
	case CGROUPS_FREEZER:
		return cgroup_of_controller(OF_CONTROLLER(freezer));
	default:
		return 0;
	}
}

/* Assigns a number to a new cgroup; returns 0 if there are too many. */
static __noinline __u32 number_cgroup(__u64 id)
{
	__u32 number, *known;

	if (cgroups_numbered >= CGROUPS_MAX)
		return 0;
	number = __sync_fetch_and_add(&cgroups_numbered, 1) + 1;
	if (number <= CGROUPS_MAX)
		bpf_map_update_elem(&cgroup_numbers, &id, &number, BPF_NOEXIST);
	/* Another processor may have numbered it first. */
	known = bpf_map_lookup_elem(&cgroup_numbers, &id);
	return known ? *known : 0;
}

/* Returns the number of the current process's cgroup; 0 if cgroups are not
 * recorded. */
static __always_inline __u32 cgroup_number(void)
{
	__u32 *number;
	__u64 id;

	if (!settings.cgroups)
		return 0;
	id = current_cgroup();
	number = bpf_map_lookup_elem(&cgroup_numbers, &id);
	return number ? *number : number_cgroup(id);
}

#endif
