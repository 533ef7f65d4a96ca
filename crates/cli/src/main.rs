//! The `tactus` command.
fn main() {}
