//! See `portcullis::fuzzing::policy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| portcullis::fuzzing::policy(data));
