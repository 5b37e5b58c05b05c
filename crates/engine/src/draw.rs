//! Drawing the next I/O of a stimulus.
