//! `unsafe` is in `sys` alone.

use crate::{crates, read, root};

#[test]
fn every_crate_but_sys_forbids_unsafe_code() {
    let folders = crates().into_iter().map(|name| format!("crates/{name}"));
    let folders = folders.chain(["xtask".to_owned()]).filter(|folder| folder != "crates/sys");
    let roots =
        folders.flat_map(|folder| ["lib", "main"].map(|file| format!("{folder}/src/{file}.rs")));
    let missing: Vec<String> = roots
        .filter(|path| root().join(path).exists())
        .filter(|path| !read(path).contains("#![forbid(unsafe_code)]"))
        .collect();
    assert!(missing.is_empty(), "without #![forbid(unsafe_code)]: {}", missing.join(", "));
}
