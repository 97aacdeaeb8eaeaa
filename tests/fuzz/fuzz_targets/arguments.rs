//! See `portcullis::fuzzing::arguments`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| portcullis::fuzzing::arguments(data));
