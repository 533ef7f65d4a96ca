//! The use cases, without processes and terminals.

mod dependencies;
mod subjects;

#[path = "../../../store/tests/store/common.rs"]
#[expect(dead_code, reason = "these tests use a part of the store's test support")]
mod common;
