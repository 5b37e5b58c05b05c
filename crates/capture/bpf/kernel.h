/* The few kernel types that the programs here look into. Offsets are found at
 * load time in the running kernel's BTF (CO-RE); only names and types count. */
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

/* linux/bpf.h: the kinds of map and the flags that are used here. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_RB_NO_WAKEUP = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	unsigned int flags;
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
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	__u8 bi_status;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	sector_t __sector;
	struct bio *bio;
};

#pragma clang attribute pop

/* Bit numbers differ between kernels: looked up by name at load time. */
enum req_flag_bits {
	__REQ_SYNC,
	__REQ_META,
	__REQ_FUA,
	__REQ_PREFLUSH,
	__REQ_RAHEAD,
};

#endif
