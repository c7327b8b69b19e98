#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pel_fuzzed::documents(data));
