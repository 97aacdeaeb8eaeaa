//! See `portcullis::fuzzing::reference`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| portcullis::fuzzing::reference(data));
