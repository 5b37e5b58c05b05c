/* The few kernel types that the programs access. Offsets are relocated at load
 * time by the running kernel's BTF (CO-RE); only names and types matter. */
#ifndef STEADFAST_KERNEL_H
#define STEADFAST_KERNEL_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u64 sector_t;

/* linux/bpf.h: the map types and flags used here. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_MMAPABLE = 1 << 10,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	unsigned long flags;
	__u32 status;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64 i_size;
};

struct file {
	struct inode *f_inode;
	unsigned int f_flags;
	__s64 f_pos;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

/* The cgroups of a process: one per controller, in that controller's hierarchy. */
struct css_set {
	struct cgroup_subsys_state *subsys[1];
};

struct task_struct {
	unsigned int flags;
	struct task_struct *group_leader;
	char comm[16];
	struct thread_info thread_info;
	struct files_struct *files;
	struct css_set *cgroups;
};

/* A system call's number and arguments. */
struct pt_regs {
#ifdef __TARGET_ARCH_arm64
	__u64 regs[31];
	__u64 orig_x0;
	__s32 syscallno;
#else
	unsigned long di, si, dx, r10, r8, orig_ax;
#endif
};

struct kiocb {
	struct file *ki_filp;
	__s64 ki_pos;
	void *ki_complete;
	int ki_flags;
};

struct iov_iter {
	unsigned long count;
};

struct io_rw {
	struct kiocb kiocb;
	__u64 addr;
	__u32 len;
};

struct io_cqe {
	int fd;
};

/* Files registered with io_uring: before kernel 6.13, and since. */
struct io_fixed_file {
	unsigned long file_ptr;
};

struct io_file_table {
	struct io_fixed_file *files;
};

struct io_ring_ctx {
	struct io_file_table file_table;
	unsigned int nr_user_files;
};

struct io_rsrc_node {
	unsigned long file_ptr;
};

struct io_rsrc_data {
	unsigned int nr;
	struct io_rsrc_node **nodes;
};

struct io_file_table___nodes {
	struct io_rsrc_data data;
};

struct io_ring_ctx___nodes {
	struct io_file_table___nodes file_table;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	unsigned int flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

struct io_uring_cqe {
	__s32 res;
};

struct gendisk {
	int major;
	int first_minor;
};

struct block_device {
	struct gendisk *bd_disk;
};

struct request_queue {
	struct gendisk *disk;
};

struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	__u8 bi_status;
};

struct list_head {
	struct list_head *next;
};

/* Requests that wait for a flush: one list for the flush in progress, one for
 * the next. */
struct blk_flush_queue {
	unsigned int flush_running_idx : 1;
	struct list_head flush_queue[2];
};

struct blk_mq_hw_ctx {
	struct blk_flush_queue *fq;
};

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	/* Link in a flush queue since kernel 6.6. */
	struct list_head queuelist;
	unsigned int cmd_flags;
	unsigned int __data_len;
	sector_t __sector;
	struct bio *bio;
};

/* The same before kernel 6.6. */
struct request___flush_list {
	struct {
		struct list_head list;
	} flush;
};

#pragma clang attribute pop

/* The context of a raw tracepoint. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* The values differ between kernels and are relocated by name at load time. */
enum cgroup_subsys_id {
	io_cgrp_id,
	memory_cgrp_id,
	pids_cgrp_id,
	cpu_cgrp_id,
	cpuset_cgrp_id,
	devices_cgrp_id,
	freezer_cgrp_id,
};

/* The same holds for these bit numbers. */
enum req_flag_bits {
	__REQ_SYNC,
	__REQ_META,
	__REQ_FUA,
	__REQ_PREFLUSH,
	__REQ_RAHEAD,
};

#endif
