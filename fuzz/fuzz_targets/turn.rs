#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (tactus_fuzz::target("turn").run)(bytes));
