//! Runs loads for a second each and prints what they achieve:
//! `cargo run --release -p tactus-load --example achieve -- compile:2 'cmd:"make"'`.
//! Without arguments, it runs every built-in load.

use std::time::{Duration, Instant};

use tactus_load::{HostOptions, LoadError, RunningLoad, host_main, worker_main};
use tactus_model::cpus::CpuChoice;
use tactus_model::load::{BuiltinLoad, Load, LoadPlan};
use tactus_model::policy::Scheduling;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        // The processes of a load also run this binary.
        ["internal", "load"] => return Ok(host_main()?),
        ["internal", "load-worker"] => return Ok(worker_main()?),
        _ => {}
    }
    let chosen = if words.is_empty() {
        BuiltinLoad::ALL.iter().map(|load| load.word()).collect()
    } else {
        words
    };
    for text in chosen {
        let load: Load = text.parse()?;
        if let Err(error) = achieve(load) {
            println!(
                "{text:24} {error}{}",
                error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"))
            );
        }
    }
    Ok(())
}

fn achieve(load: Load) -> Result<(), LoadError> {
    let plan = LoadPlan { load, scheduling: Scheduling::ORDINARY, cpus: CpuChoice::All };
    let executable = std::env::current_exe()
        .map_err(|error| LoadError { reason: error.to_string(), hint: None })?;
    let begun = Instant::now();
    let mut running = RunningLoad::start(&plan, &HostOptions::new(executable))?;
    let ready = begun.elapsed();
    let opened = running.snapshot();
    std::thread::sleep(Duration::from_secs(1));
    let result = running.snapshot().since(&opened);
    let stopping = Instant::now();
    let shortfalls = running.shortfalls().to_vec();
    let ends = running.stop();
    println!(
        "{:24} ready after {ready:.1?}, stopped in {:.1?}: {result:?}",
        plan.load.to_string(),
        stopping.elapsed()
    );
    for shortfall in shortfalls {
        println!("{shortfall:?}");
    }
    for end in ends {
        println!("{end}");
    }
    Ok(())
}
