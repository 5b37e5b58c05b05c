//! BPF programs at the kernel's tracepoints, and the records they write.
//!
//! The programs are compiled once (bpf/*.bpf.c) and relocated by the running kernel's BTF when they
//! are loaded. They work under kernel lockdown "integrity", which Secure Boot sets and under which
//! blktrace does not work.

mod block;
mod calls;
mod cgroups;
mod entries;
mod files;
mod plain;
mod probe_session;
mod process_names;
mod programs;
mod ranges;
mod record;
mod rings;
mod steps;

pub(crate) use block::BlockSource;
pub(crate) use cgroups::{CgroupHierarchy, largest_hierarchy};
pub(crate) use files::FileSource;
