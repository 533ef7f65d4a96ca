//! Commands for guests, without booting any.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tactus_testing::{Need, skip};

use crate::support::{Tactus, text};

#[test]
fn errors_of_wrong_kernels_and_times_name_the_nearest_choice() {
    let tactus = Tactus::new();
    let cases: [(&[&str], &str); 17] = [
        (&["measure", "--kernel", "debain-rt"], "did you mean `debian-rt`?"),
        (&["measure", "--kernel", "debian:preempt=ful"], "did you mean `full`?"),
        (&["measure", "lab", "--exact", "--mips", "300"], "1000, 500, 250, 125"),
        (&["measure", "--exact", "--proofs", "1"], "not a whole number from 2 to 100"),
        (&["measure", "lab", "--proofs", "3"], "--exact"),
        (&["measure", "--exact"], "set a guest kernel for every cell"),
        (&["measure", "quick", "--guest-limit", "1min"], "name a kernel, e.g. `--kernel debian`"),
        (&["measure", "--continue", "last", "--exact"], "leave out the settings"),
        (&["measure", "--exact", "--kernel", "host"], "set a guest kernel for every cell"),
        (&["measure", "quik"], "did you mean `quick`?"),
        (&["measure", "--kernel", "debian", "--load", "disk"], "use `file`"),
        (&["measure", "--kernel", "debian", "--load", "cmd:make"], "use `process`"),
        (&["lab", "kernels", "debain"], "did you mean `debian`?"),
        (&["lab", "kernels", "built+hz=50"], "did you mean `100`?"),
        (&["lab", "kernels", "built+timers=periodc"], "did you mean `periodic`?"),
        (&["lab", "kernels", "--background"], "missing: <KERNEL>"),
        (&["watch", "--kernel", "debian", "--plain"], "unknown option `--kernel`"),
    ];
    for (arguments, expected) in cases {
        let error = tactus.fail(2, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn kernels_are_an_axis_of_the_plan() {
    let tactus = Tactus::new();
    let arguments =
        ["measure", "--kernel", "debian-rt", "--kernel", "debian:preempt=none", "--exact"];
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
fn a_missing_program_is_named_with_its_package_and_no_run_is_created() {
    let tactus = Tactus::new();
    let nothing = tactus.folder().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let arguments = ["measure", "--kernel", "/no/kernel"];
    let output = tactus.command(&arguments).env("PATH", &nothing).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("apt-get install qemu-system-x86"), "{error}");
    assert!(!tactus.succeed(&["list"]).contains("lab-"));
}

#[test]
fn a_file_that_is_not_a_kernel_is_refused() {
    let tactus = Tactus::new();
    let file = tactus.folder().join("bzImage");
    fs::write(&file, "#!/bin/sh").unwrap();
    let error = tactus.fail(3, &["lab", "kernels", file.to_str().unwrap()]);
    assert!(error.contains("is not a kernel"), "{error}");
}

#[test]
fn missing_build_tools_are_named_before_anything_is_fetched() {
    let tactus = Tactus::new();
    let nothing = tactus.folder().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let output = tactus
        .command(&["lab", "kernels", "built+hz=1000"])
        .env("PATH", &nothing)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("flex, bison"), "{error}");
    assert!(error.contains("sudo apt-get install bc bison build-essential"), "{error}");
}

#[test]
fn a_background_build_writes_its_outcome_to_its_log() {
    let tactus = Tactus::new();
    // The programs that start a background build, without those that compile a kernel.
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
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && shown.contains("background.log"), "{shown}");
    let log = tactus.folder().join("tactus/kernels/background.log");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&log).unwrap_or_default().contains("flex, bison") {
        assert!(Instant::now() < deadline, "the log has no outcome");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_gate_compares_exactly_two_kernels() {
    let tactus = Tactus::new();
    let cases: [(&[&str], &str); 6] = [
        (&["lab", "gate", "--kernel", "debian"], "--against <KERNEL>"),
        (&["lab", "gate", "--against", "debian"], "--kernel <KERNEL>"),
        (
            &["lab", "gate", "--kernel", "debian", "--kernel", "debian-rt", "--against", "debian"],
            "a gate compares exactly two kernels",
        ),
        (&["lab", "gate", "--against", "debain"], "did you mean `debian`?"),
        (&["lab", "gate", "gat", "--kernel", "debian", "--against", "debian"], "mean `gate`?"),
        (&["lab", "gate", "--run", "last", "--allow", "a bit"], "or both, e.g. 1%+16"),
    ];
    for (arguments, expected) in cases {
        let error = tactus.fail(2, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    let measuring: [&[&str]; 9] = [
        &["gate"],
        &["--against", "debian"],
        &["--seeds", "8"],
        &["--seed", "1"],
        &["--mips", "125"],
        &["--guest-limit", "1min"],
        &["--jobs", "2"],
        &["--on", "slurm"],
        &["--plan-only"],
    ];
    for options in measuring {
        let error = tactus.fail(2, &[&["lab", "gate", "--run", "last"], options].concat());
        assert!(error.contains("cannot be used with"), "{options:?}: {error}");
    }
}

#[test]
fn a_gate_measures_the_same_cells_under_both_kernels_in_deterministic_time() {
    let tactus = Tactus::new();
    let arguments = ["lab", "gate", "--kernel", "debian-rt", "--against", "debian", "--seeds", "8"];
    let options = ["--load", "syscall", "--policy", "fifo:80", "--plan-only", "--json"];
    let plan = tactus.succeed(&[&arguments[..], &options].concat());
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["rounds"], 8);
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
fn a_gate_may_have_another_probe_than_its_experiment_and_its_plan_has_its_rule() {
    let tactus = Tactus::new();
    let arguments = ["lab", "gate", "--kernel", "debian-rt", "--against", "debian"];
    let options = ["--probe", "timer", "--allow", "3%", "--paths-only", "--plan-only", "--json"];
    let plan = tactus.succeed(&[&arguments[..], &options].concat());
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let rule = &plan["gate"];
    assert_eq!((&rule["allowance"]["share"], &rule["paths_only"]), (&0.03.into(), &true.into()));
    let cells = plan["cells"].as_array().unwrap();
    assert!(!cells.is_empty());
    assert!(cells.iter().all(|cell| cell["probe"]["kind"] == cells[0]["probe"]["kind"]));
}

#[test]
fn a_gate_keeps_its_exit_code_without_a_reader() {
    let tactus = Tactus::new();
    let (kernel, by_host) = (1, true);
    let run = gate_without_results(&tactus, &[(kernel, !by_host)]);
    for more in [&[][..], &["--json"]] {
        let gate = [&["lab", "gate", "--run", &run], more].concat();
        tactus.fail(1, &gate);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = tactus.command(&gate).stdout(writer).stderr(Stdio::null()).status();
        assert_eq!(status.unwrap().code(), Some(1), "{gate:?}");
    }
}

#[test]
fn a_gate_that_is_judged_again_skips_a_commit_only_for_a_failure_of_its_kernel() {
    let tactus = Tactus::new();
    let (baseline, kernel, by_host) = (0, 1, true);
    let cases: [(&[Failed], i32, i32); 5] = [
        (&[(kernel, !by_host)], 1, 125),
        (&[(baseline, !by_host)], 1, 128),
        (&[(kernel, by_host)], 5, 128),
        (&[(baseline, !by_host), (kernel, by_host)], 5, 128),
        (&[], 130, 130),
    ];
    for (failures, alone, bisecting) in cases {
        let run = gate_without_results(&tactus, failures);
        let gate = ["lab", "gate", "--run", &run];
        let error = tactus.fail(alone, &gate);
        let is_by_host = failures.iter().any(|(_, by_host)| *by_host);
        assert_eq!(error.contains("the host failed a turn: planted"), is_by_host, "{error}");
        assert_eq!(error.contains("interrupted: "), failures.is_empty(), "{error}");
        let error = tactus.fail(bisecting, &[&gate[..], &["--bisect"]].concat());
        let continued = "tactus measure --continue gate-planted --no-page && tactus lab gate --run \
                         gate-planted --bisect";
        let is_continued = bisecting == 130 || alone == 5;
        assert_eq!(error.contains(continued), is_continued, "{failures:?}: {error}");
    }
}

/// A failed turn of a gate: of the first kernel or of the second, and whether by the host.
type Failed = (usize, bool);

/// An exported run of a gate whose turns gave no results.
fn gate_without_results(tactus: &Tactus, failures: &[Failed]) -> String {
    let short = ["--duration", "10ms", "--traced", "0s", "--warmup", "0ns", "--cpus", "0"];
    tactus.succeed(&[&["measure", "--no-page"][..], &short].concat());
    let exported = tactus.succeed(&["export"]);
    let mut run: Value = serde_json::from_str(&exported).unwrap();
    let plan = ["lab", "gate", "--kernel", "debian-rt", "--against", "debian", "--seed", "7"];
    let plan = tactus.succeed(&[&plan[..], &["--plan-only", "--json"]].concat());
    run["header"]["plan"] = serde_json::from_str(&plan).unwrap();
    run["header"]["id"] = "gate-planted".into();
    run["results"] = Value::Array(Vec::new());
    let cells = run["header"]["plan"]["cells"].as_array().unwrap().len();
    let failed = |&(kernel, by_host): &Failed| {
        let turn = json!({"round": 0, "cell": kernel * cells / 2});
        json!({"turn": turn, "reason": "planted", "hint": null, "by_host": by_host})
    };
    run["failures"] = failures.iter().map(failed).collect();
    let file = tactus.folder().join("gate.json");
    fs::write(&file, run.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// A file with the header of a kernel for this architecture, and this content.
fn image(tactus: &Tactus, name: &str, architecture: &str, content: u8) -> String {
    let mut image = vec![content; 0x800];
    match architecture {
        "amd64" => image[0x202..0x206].copy_from_slice(b"HdrS"),
        _ => image[0x38..0x3c].copy_from_slice(b"ARMd"),
    }
    let file = tactus.folder().join(name);
    fs::write(&file, image).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_plan_is_refused_if_its_kernels_cannot_be_compared() {
    let tactus = Tactus::new();
    let (one, same) = (image(&tactus, "one", "amd64", 1), image(&tactus, "same", "amd64", 1));
    let (other, arm64) = (image(&tactus, "other", "amd64", 2), image(&tactus, "Image", "arm64", 1));
    let junk = tactus.folder().join("junk.bin");
    fs::write(&junk, "junk").unwrap();
    let junk = junk.to_str().unwrap();
    fn plan<'a>(kernel: &'a str, against: &'a str) -> [&'a str; 7] {
        ["lab", "gate", "--kernel", kernel, "--against", against, "--plan-only"]
    }
    for [kernel, against] in [[junk, &one], [&one, junk]] {
        let error = tactus.fail(3, &plan(kernel, against));
        assert!(error.contains("junk.bin is not a kernel"), "{error}");
    }
    let error = tactus.fail(3, &["measure", "lab", "--kernel", junk, "--exact", "--plan-only"]);
    assert!(error.contains("junk.bin is not a kernel"), "{error}");
    let error = tactus.fail(2, &plan(&arm64, &one));
    assert!(error.contains("a kernel for arm64, and its baseline"), "{error}");
    let error = tactus.fail(2, &plan("debian-arm64", &one));
    assert!(error.contains("a kernel for arm64, and its baseline"), "{error}");
    let warned = |kernel: &str, against: &str| {
        let output = tactus.run(&plan(kernel, against));
        assert!(output.status.success(), "{output:?}");
        text(&output.stderr).contains("are the same kernel with the same parameters")
    };
    assert!(warned(&one, &same) && warned("debian", "debian"));
    assert!(!warned(&one, &other) && !warned(&format!("{one}:quirk.a=1"), &same));
}

#[test]
fn the_bare_name_of_a_file_gets_the_path_as_a_hint() {
    let tactus = Tactus::new();
    image(&tactus, "junk.bin", "amd64", 0);
    for arguments in [
        &["lab", "gate", "--kernel", "junk.bin", "--against", "debian", "--plan-only"][..],
        &["lab", "gate", "--kernel", "debian", "--against", "junk.bin", "--plan-only"],
        &["measure", "--kernel", "junk.bin", "--exact", "--plan-only"],
        &["lab", "setup", "junk.bin"],
        &["lab", "kernels", "junk.bin"],
    ] {
        let output = tactus.command(arguments).current_dir(tactus.folder()).output().unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains("did you mean the file `./junk.bin`?"), "{arguments:?}: {error}");
    }
}

#[test]
fn a_wrong_guest_program_is_named_with_the_variable() {
    let tactus = Tactus::new();
    let kernel = image(&tactus, "bzImage", "amd64", 0);
    for (named, reason) in [("/no/program", "there is no such file"), ("/", "it is not a file")] {
        let arguments = ["lab", "setup", kernel.as_str()];
        let output = tactus.command(&arguments).env("TACTUS_GUEST", named).output().unwrap();
        let error = text(&output.stderr);
        assert!(error.contains(&format!("TACTUS_GUEST names {named}: {reason}")), "{error}");
        assert!(error.contains("unset TACTUS_GUEST"), "{error}");
    }
}

#[test]
fn a_bisect_skips_a_missing_kernel_and_stops_without_a_baseline() {
    let tactus = Tactus::new();
    let gate = |kernel, against| ["lab", "gate", "--kernel", kernel, "--against", against];
    let bisect = |code, arguments: [&str; 6], more: &[&str]| {
        tactus.fail(code, &[&arguments[..], &["--bisect"], more].concat())
    };
    bisect(128, gate("/no/kernel", "/no/other/kernel"), &[]);
    // Wrong usage is no verdict on a commit either.
    bisect(128, gate("no-kernel", "/no/other/kernel"), &[]);
    bisect(128, gate("/no/kernel", "/no/other/kernel"), &["--no-option"]);
    let error = bisect(128, gate("/no/kernel", "/no/other/kernel"), &["--seeds", "3"]);
    assert!(error.contains("3 seeds cannot show a difference"), "{error}");
    let error = tactus.fail(3, &gate("/no/kernel", "/no/kernel:quirk.a=1"));
    if !error.contains("/no/kernel") {
        return skip(Need::Guest, error);
    }
    // The header of a kernel's file, which makes a baseline that nobody boots here.
    let mut image = vec![0; 0x800];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    let baseline = tactus.folder().join("baseline");
    fs::write(&baseline, image).unwrap();
    let error = bisect(125, gate("/no/kernel", baseline.to_str().unwrap()), &[]);
    assert!(error.contains("undecided: "), "{error}");
    // Nor is a store that cannot be written.
    let kernel = baseline.to_str().unwrap();
    let other = format!("{kernel}:quirk.a=1");
    let error = bisect(128, gate(&other, kernel), &["--store", "/proc/runs.sqlite"]);
    assert!(error.contains("/proc"), "{error}");
}
