//! A real device through io_uring.
