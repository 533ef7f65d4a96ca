//! A program that is not permitted to use real-time policies runs all the same.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;
use tactus_rt::{Action, Ended, Flow, Policy, Process, Watch};
use tactus_testing::{Need, skip};

/// A user without privileges: `nobody`.
const NOBODY: u32 = 65534;

#[test]
#[ignore = "the next test starts it as another user"]
fn as_another_user() {
    let process = Process::builder()
        .lock_memory()
        .supervise(Nanos::from_secs(1), Action::Demote)
        .limit_idle_states(0)
        .start()
        .unwrap();
    let thread = process
        .periodic("servo", Nanos::from_millis(1))
        .policy(Policy::Fifo(80))
        .watch(Watch::default())
        .mark()
        .spawn(|tick| if tick.index < 5 { Flow::Continue } else { Flow::Stop })
        .unwrap();
    let [idle] = process.shortfalls() else { panic!("{:?}", process.shortfalls()) };
    assert_eq!(idle.asked, "cpu-dma-latency 0us");
    assert_eq!(thread.granted().scheduling, Scheduling::ORDINARY);
    let missing = thread.shortfalls();
    let policy = missing.iter().find(|missing| missing.asked == "policy fifo:80").unwrap();
    assert_eq!((&*policy.granted, policy.fix.is_some()), ("policy other", true), "{policy:?}");
    assert_eq!(thread.join().ended, Ended::Stopped);
}

#[test]
fn needs_root_a_user_without_privileges_runs_and_learns_what_is_missing() {
    let binary = std::env::current_exe().unwrap();
    // What this user may not read, the other one may not run.
    let copy = tempfile::tempdir().unwrap();
    let program = copy.path().join("permission");
    std::fs::copy(&binary, &program).unwrap();
    open_to_all(copy.path());
    let output = Command::new(&program)
        .args(["--exact", "--ignored", "--nocapture", "as_another_user"])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return skip(Need::Root, error),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
}

fn open_to_all(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}
