//! The use cases, without a process and without a terminal.

mod dependencies;
mod subjects;

#[path = "../../../store/tests/store/common.rs"]
#[expect(dead_code, reason = "these tests need some of what the store's make")]
mod common;
