#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (tactus_fuzz::target("keymap").run)(bytes));
