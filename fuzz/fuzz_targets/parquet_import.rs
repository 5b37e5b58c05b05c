#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steadfast_fuzz::parquet_import(bytes));
