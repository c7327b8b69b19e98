#![no_main]

use std::sync::Once;

static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // The library panics on some damaged files and the reader catches it, but the hook of libFuzzer
    // would end the program. A panic that nobody catches still ends it.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    pel_fuzzed::parquet(data);
});
