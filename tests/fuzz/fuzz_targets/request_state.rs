//! See `portcullis::fuzzing::request_state`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| portcullis::fuzzing::request_state(data));
