//! Block I/O traces: formats in and out, events folded into I/O streams and
//! capture steps, and the applied workload that comes of them.
#![forbid(unsafe_code)]
