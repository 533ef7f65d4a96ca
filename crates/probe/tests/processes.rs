//! Cells whose tasks are processes, and cells measured without privilege.
//!
//! The processes run this very program, so it has its own `main`: with the argument `task`, it
//! is a task; with `measure`, it measures and prints what it was granted; without arguments, it
//! is the test.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use tactus_model::cell::Cell;
use tactus_model::experiment::{Experiment, Overrides};
use tactus_probe::{ProbeOutcome, TaskProcess, run, task_main};
use tactus_testing::{Need, skip};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["task"] => task_main().unwrap(),
        ["measure", settings] => print_granted(&measure(settings)),
        // Some runners request a list of tests.
        ["--list", ..] => {}
        _ => test(),
    }
}

fn test() {
    processes_measure_as_threads_do();
    println!("test processes_measure_as_threads_do ... ok");
    a_task_that_ends_early_is_an_error();
    println!("test a_task_that_ends_early_is_an_error ... ok");
    without_privilege_the_best_permitted_is_measured();
    println!("test without_privilege_the_best_permitted_is_measured ... ok");
}

fn cell(settings: &str) -> Cell {
    let text = format!("[settings]\nduration = \"300ms\"\ncpus = \"0\"\n{settings}");
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    let [cell] = plan.cells.try_into().unwrap();
    cell
}

fn own_task(argument: &str) -> TaskProcess {
    let executable = std::env::current_exe().unwrap();
    TaskProcess { executable, arguments: vec![argument.to_owned()] }
}

fn measure(settings: &str) -> ProbeOutcome {
    let outcome = run(&cell(settings), 7, &own_task("task"), &mut |_| {});
    outcome.unwrap_or_else(|error| panic!("{settings}: {error}"))
}

fn print_granted(outcome: &ProbeOutcome) {
    let task = &outcome.tasks[0];
    assert!(task.accounting.balances() && task.accounting.observed > 0);
    println!("policy {}", task.granted.scheduling);
    for shortfall in &outcome.shortfalls {
        println!("{} became {}: {}", shortfall.asked, shortfall.granted, shortfall.reason);
    }
}

fn processes_measure_as_threads_do() {
    for sleep in ["nanosleep", "signal-handler", "itimer"] {
        for work in ["none", "5%", "continuous"] {
            if sleep == "nanosleep" && work == "continuous" {
                continue;
            }
            let settings = format!(
                "tasks = \"processes\"\ntasks-per-cpu = 2\nsleep = \"{sleep}\"\nwork = \"{work}\""
            );
            let mut samples = 0;
            let outcome = run(&cell(&settings), 7, &own_task("task"), &mut |event| {
                if let tactus_probe::ProbeEvent::Samples { block, .. } = event {
                    samples += block.count;
                }
            })
            .unwrap_or_else(|error| panic!("{settings}: {error}"));
            assert_eq!(outcome.tasks.len(), 2);
            assert!(outcome.tasks.iter().all(|task| task.accounting.balances()));
            assert!(outcome.tasks.iter().all(|task| task.accounting.early == 0));
            let observed: u64 = outcome.tasks.iter().map(|task| task.accounting.observed).sum();
            assert_eq!(samples, observed, "{settings}");
        }
    }
}

fn a_task_that_ends_early_is_an_error() {
    let process = TaskProcess { executable: "/bin/true".into(), arguments: Vec::new() };
    let error = run(&cell("tasks = \"processes\""), 7, &process, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("task 0"), "{error}");
}

/// Runs this program as nobody, with limits on what that user may do.
fn as_nobody(limits: &[&str], policy: &str) -> Option<String> {
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let copy: PathBuf = home.path().join("processes");
    // Other users may not be permitted to read the build directory.
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let output = Command::new("prlimit")
        .args(limits)
        .args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(["--bounding-set=-all", "--inh-caps=-all"])
        .arg(&copy)
        .args(["measure", &format!("policy = \"{policy}\"")])
        .output();
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        Ok(output) => {
            let printed = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(printed.contains("setpriv") || printed.contains("prlimit"), "{printed}");
            // Root may lack CAP_SYS_RESOURCE, which raising a limit needs.
            skip(Need::Machine, printed);
            None
        }
        Err(error) => {
            skip(Need::Root, format!("prlimit: {error}"));
            None
        }
    }
}

/// Needs root, to become a user with fewer permissions.
fn without_privilege_the_best_permitted_is_measured() {
    let check = |limits: &[&str], policy: &str, expected: &[&str]| {
        let Some(printed) = as_nobody(limits, policy) else { return };
        for part in expected {
            assert!(printed.contains(part), "{limits:?} {policy}:\n{printed}");
        }
    };
    let nothing = ["--rtprio=0:0", "--nice=0:0", "--memlock=65536:65536"];
    check(&nothing, "other", &["policy other\n", "lock-memory became", "RLIMIT_MEMLOCK"]);
    check(&nothing, "fifo:90", &["policy other\n", "policy fifo:90 became policy other: "]);
    check(&nothing, "other:-5", &["policy other\n", "policy other:-5 became policy other: "]);
    check(&nothing, "deadline:200us/1ms/1ms", &["policy other\n", "became policy other: "]);
    let some = ["--rtprio=50:50", "--nice=30:30", "--memlock=unlimited:unlimited"];
    check(&some, "fifo:90", &["policy fifo:50\n", "policy fifo:90 became policy fifo:50: "]);
    check(&some, "rr:20", &["policy rr:20\n"]);
    check(&some, "other:-20", &["policy other:-10\n", "became policy other:-10: "]);
    check(&some, "deadline:200us/1ms/1ms", &["policy fifo:50\n"]);
}
