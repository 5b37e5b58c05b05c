//! Captures what a server does to its storage: eBPF where the kernel has it,
//! tracefs elsewhere. The only crate that attaches probes.
