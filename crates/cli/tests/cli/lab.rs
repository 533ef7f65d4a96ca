//! Guests, as far as none has to be booted.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tactus_testing::{Need, skip};

use crate::support::Tactus;

#[test]
fn a_wrong_kernel_or_time_names_the_nearest_choice() {
    let tactus = Tactus::new();
    let cases: [(&[&str], &str); 14] = [
        (&["lab", "measure", "--kernel", "debain-rt"], "did you mean `debian-rt`?"),
        (&["lab", "measure", "--kernel", "debian:preempt=ful"], "did you mean `full`?"),
        (&["lab", "measure", "--exact", "--mips", "300"], "1000, 500, 250, 125"),
        (&["lab", "measure", "--exact", "--proofs", "1"], "1 is not in 2..=100"),
        (&["lab", "measure", "--proofs", "3"], "--exact"),
        (&["lab", "measure", "--exact", "--kernel", "host"], "give every cell a guest's kernel"),
        (&["lab", "measure", "quik"], "did you mean `quick`?"),
        (&["lab", "measure", "--kernel", "debian", "--load", "disk"], "use `file`"),
        (&["lab", "measure", "--kernel", "debian", "--load", "cmd:make"], "use `process`"),
        (&["lab", "kernels", "debain"], "did you mean `debian`?"),
        (&["lab", "kernels", "built+hz=50"], "did you mean `100`?"),
        (&["lab", "kernels", "built+timers=periodc"], "did you mean `periodic`?"),
        (&["lab", "kernels", "--background"], "<KERNEL>"),
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
    assert!(told.contains("is not a kernel"), "{told}");
}

#[test]
fn what_a_kernel_is_built_with_is_named_before_anything_is_fetched() {
    let tactus = Tactus::new();
    let nothing = tactus.folder().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let output = tactus
        .command(&["lab", "kernels", "built+hz=1000"])
        .env("PATH", &nothing)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("flex, bison"), "{told}");
    assert!(told.contains("sudo apt-get install bc bison build-essential"), "{told}");
}

#[test]
fn what_is_built_in_the_background_says_in_its_log_what_became_of_it() {
    let tactus = Tactus::new();
    // All that this needs to go on by itself, and nothing of what compiles a kernel.
    let programs = tactus.folder().join("programs");
    fs::create_dir(&programs).unwrap();
    for name in ["setsid", "nice"] {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|place| place.join(name));
        let Some(program) = found.into_iter().find(|program| program.is_file()) else {
            return skip(Need::Tools, format!("{name} is not installed"));
        };
        symlink(program, programs.join(name)).unwrap();
    }
    let output = tactus
        .command(&["lab", "kernels", "--background", "built+hz=1000"])
        .env("PATH", &programs)
        .env("XDG_CACHE_HOME", tactus.folder())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains("background.log"), "{told}");
    let log = tactus.folder().join("tactus/kernels/background.log");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&log).unwrap_or_default().contains("flex, bison") {
        assert!(Instant::now() < deadline, "nothing became of it");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_gate_takes_one_kernel_against_one_other() {
    let tactus = Tactus::new();
    let cases: [(&[&str], &str); 6] = [
        (&["lab", "gate", "--kernel", "debian"], "--against <KERNEL>"),
        (&["lab", "gate", "--against", "debian"], "one kernel against one other"),
        (
            &["lab", "gate", "--kernel", "debian", "--kernel", "debian-rt", "--against", "debian"],
            "one kernel against one other",
        ),
        (&["lab", "gate", "--against", "debain"], "did you mean `debian`?"),
        (&["lab", "gate", "gat", "--kernel", "debian", "--against", "debian"], "mean `gate`?"),
        (&["lab", "gate", "--run", "last", "--allow", "a bit"], "or both, as 1%+16"),
    ];
    for (arguments, expected) in cases {
        let told = tactus.fail(2, arguments);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
}

#[test]
fn a_gate_measures_the_same_cells_under_both_kernels_in_exact_time() {
    let tactus = Tactus::new();
    let arguments = ["lab", "gate", "--kernel", "debian-rt", "--against", "debian", "--seeds", "4"];
    let options = ["--load", "syscall", "--policy", "fifo:80", "--plan-only", "--json"];
    let plan = tactus.succeed(&[&arguments[..], &options].concat());
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["rounds"], 4);
    let cells = plan["cells"].as_array().unwrap();
    let (before, after) = cells.split_at(cells.len() / 2);
    for (before, after) in before.iter().zip(after) {
        assert_eq!(before["target"]["kernel"], "debian");
        assert_eq!(after["target"]["kernel"], "debian-rt");
        assert_eq!(before["target"]["time"], "exact:125");
        assert_eq!(before["load"], after["load"]);
    }
}

#[test]
fn a_gate_without_its_kernel_is_skipped_by_a_bisect() {
    let tactus = Tactus::new();
    let arguments = ["lab", "gate", "--kernel", "/no/kernel", "--against", "/no/kernel:quirk.a=1"];
    tactus.fail(3, &arguments);
    let told = tactus.fail(125, &[&arguments[..], &["--bisect"]].concat());
    assert!(told.contains("cannot tell"), "{told}");
}
