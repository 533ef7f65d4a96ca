//! `unsafe` is in `sys`, and at the boundary to C.

use crate::{crates, read, root};

/// The crates with `unsafe`: system calls, and pointers of C programs.
const UNSAFE: [&str; 2] = ["sys", "capi"];

#[test]
fn every_other_crate_forbids_unsafe_code() {
    let safe = crates().into_iter().filter(|name| !UNSAFE.contains(&name.as_str()));
    let folders = safe.map(|name| format!("crates/{name}")).chain(["xtask".to_owned()]);
    let roots =
        folders.flat_map(|folder| ["lib", "main"].map(|file| format!("{folder}/src/{file}.rs")));
    let missing: Vec<String> = roots
        .filter(|path| root().join(path).exists())
        .filter(|path| !read(path).contains("#![forbid(unsafe_code)]"))
        .collect();
    assert!(missing.is_empty(), "without #![forbid(unsafe_code)]: {}", missing.join(", "));
}
