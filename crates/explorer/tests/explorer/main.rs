//! The explorer as a browser meets it. Nothing here needs root.

fn main() {}
