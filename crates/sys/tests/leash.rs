//! A program on a leash. This must be the only test of its binary, since a leash waits
//! for every child of its process.

use std::process::Command;

use tactus_sys::leash::{self, Leash};
use tactus_testing::{Need, skip};

/// Runs a shell script on a leash to its end and checks its exit status as the shell
/// counts it.
fn check(script: &str, expected: i32) {
    use std::os::unix::process::ExitStatusExt;
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    leash::wait_for_leash(&mut command);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return skip(Need::Root, format!("ptrace is not permitted: {error}")),
    };
    let mut leash = Leash::take(&child).unwrap();
    let status = leash.wait().unwrap();
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
    assert_eq!(code, expected, "{script}");
    leash.wait_for_descendants();
}

#[test]
fn a_program_on_a_leash_behaves_as_without() {
    check("exit 7", 7);
    // Forks, executes, waits.
    check("for i in 1 2 3; do true; (sh -c 'exit 3'); done", 3);
    // A signal that it handles, and a signal that ends it.
    check("trap 'exit 5' USR1; kill -USR1 $$; exit 6", 5);
    check("kill -TERM $$; exit 6", 128 + 15);
    // A signal to a descendant.
    check("sleep 1000 & kill $!; wait $!", 128 + 15);
    // A stopped process continues.
    check("kill -STOP $$; exit 4", 4);
    // Its background processes are waited for separately.
    check("(sleep 0.1; true) & exit 2", 2);
}
