//! Starts every kind of load, checks what it achieves, ends it in every way, and searches for
//! processes that were left behind.
//!
//! This file is the binary that the loads' processes run, and a small test harness: it runs
//! tests whose names contain an argument, or all tests without arguments.

mod behaviour;
mod death;
mod marked;
mod measuring;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// A test and its name.
type Test = (String, Box<dyn Fn()>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["internal", "load"] => tactus_load::host_main(),
        ["internal", "load-worker"] => tactus_load::worker_main(),
        ["internal", "measure", ref plan @ ..] => measuring::main(plan),
        _ => return run_tests(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run_tests(arguments: &[&str]) -> ExitCode {
    let wanted: Vec<&str> =
        arguments.iter().copied().filter(|argument| !argument.starts_with("--")).collect();
    let tests: Vec<Test> = behaviour::tests().into_iter().chain(death::tests()).collect();
    let chosen: Vec<&Test> = tests
        .iter()
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|part| name.contains(part)))
        .collect();
    if arguments.contains(&"--list") {
        for (name, _) in &chosen {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", chosen.len());
    let mut failed = Vec::new();
    for (name, test) in &chosen {
        let passed = catch_unwind(AssertUnwindSafe(test)).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            failed.push(name);
        }
    }
    println!("\ntest result: {} passed; {} failed\n", chosen.len() - failed.len(), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
