//! See `portcullis::fuzzing::component`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| portcullis::fuzzing::component(data));
