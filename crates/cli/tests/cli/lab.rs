//! Guests, as far as none has to be booted.

use std::fs;

use serde_json::Value;

use crate::support::Tactus;

#[test]
fn a_wrong_kernel_or_time_names_the_nearest_choice() {
    let tactus = Tactus::new();
    let cases: [(&[&str], &str); 7] = [
        (&["lab", "measure", "--kernel", "debain-rt"], "did you mean `debian-rt`?"),
        (&["lab", "measure", "--kernel", "debian:preempt=ful"], "did you mean `full`?"),
        (&["lab", "measure", "--exact", "--mips", "300"], "1000, 500, 250, 125"),
        (&["lab", "measure", "--exact", "--kernel", "host"], "give every cell a guest's kernel"),
        (&["lab", "measure", "quik"], "did you mean `quick`?"),
        (&["lab", "kernels", "debain"], "did you mean `debian`?"),
        (&["watch", "--kernel", "debian", "--plain"], "a guest cannot be watched"),
    ];
    for (arguments, expected) in cases {
        let told = tactus.fail(2, arguments);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
}

#[test]
fn kernels_are_an_axis_of_the_plan() {
    let tactus = Tactus::new();
    let arguments =
        ["lab", "measure", "--kernel", "debian-rt", "--kernel", "debian:preempt=none", "--exact"];
    let options = ["--mips", "250", "--load", "idle", "--plan-only", "--json"];
    let plan = tactus.succeed(&[&arguments[..], &options].concat());
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let cells = plan["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[0]["target"]["kernel"], "debian-rt");
    assert_eq!(cells[1]["target"]["kernel"], "debian:preempt=none");
    assert_eq!(cells[1]["target"]["time"], "exact:250");
}

#[test]
fn what_is_missing_is_named_with_the_command_that_brings_it_and_leaves_no_run() {
    let tactus = Tactus::new();
    let nothing = tactus.folder().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let arguments = ["lab", "measure", "--kernel", "/no/kernel"];
    let output = tactus.command(&arguments).env("PATH", &nothing).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("apt-get install qemu-system-x86"), "{told}");
    assert!(!tactus.succeed(&["list"]).contains("lab-"));
}

#[test]
fn a_file_that_is_no_kernel_is_refused() {
    let tactus = Tactus::new();
    let file = tactus.folder().join("bzImage");
    fs::write(&file, "#!/bin/sh").unwrap();
    let told = tactus.fail(3, &["lab", "kernels", file.to_str().unwrap()]);
    assert!(told.contains("is no kernel"), "{told}");
}
