//! An SSD in virtual time.
