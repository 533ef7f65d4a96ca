//! The guest of `cargo xtask rt-faults --guests`: faults of a whole machine, beside the same
//! real-time loop as on the host.
//!
//! The first process is the scene's; both sides are processes of this program.
#![forbid(unsafe_code)]

#[path = "../../../cli/tests/rt_faults/comparison.rs"]
mod comparison;
mod faults;
#[path = "../../../cli/tests/rt_faults/helper.rs"]
mod helper;
#[path = "../../../cli/tests/rt_faults/peer.rs"]
#[expect(dead_code, reason = "what the host's faults need")]
mod peer;
#[path = "../../../cli/tests/rt_faults/scene.rs"]
#[expect(dead_code, reason = "what the host's faults need")]
mod scene;
#[path = "../../../cli/tests/rt_faults/servo.rs"]
mod servo;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use tactus_guest::first::{self, FirstError};
use tactus_guest::{Console, run};
use tactus_model::message::Message;
use tactus_model::random::SplitMix64;

use comparison::{HEADING, SEED, compare};
use faults::FAULTS;
use scene::Scene;

/// The kernel parameter with the seconds of each kind of block; unknown parameters become
/// environment variables of the first process.
const SECONDS: &str = "TACTUS_RT_FAULTS";

/// The blocks of each kind.
const ROUNDS: u32 = 5;

fn main() -> ExitCode {
    let Some(socket) = helper::socket() else { return run(first_process) };
    match std::env::args().nth(2).as_deref() {
        Some("servo::a_servo") => servo::serve(&socket),
        _ => peer::serve(&socket),
    }
    ExitCode::SUCCESS
}

fn first_process() -> Result<(), FirstError> {
    let console = first::begin()?;
    if let Err(reason) = print_table(console) {
        console.send(&Message::Failed { reason, hint: None })?;
    }
    first::end(console)
}

/// Sends the lines of the table.
fn print_table(console: Console) -> Result<(), String> {
    let print = |line: &str| console.send(&line).map_err(|error| error.to_string());
    let seconds = std::env::var(SECONDS).ok().and_then(|seconds| seconds.parse().ok());
    let time = Duration::from_secs_f64(seconds.ok_or(format!("{SECONDS} is not a number"))?);
    // Groups with a limit of memory need it; without it, the scene says what it lacks.
    let _ = std::fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
    let mut scene = Scene::start(Path::new("/proc/self/exe"))?;
    let mut random = SplitMix64::new(SEED);
    print(HEADING)?;
    for (fault, missing) in &FAULTS {
        let lacks = fault.needs.and_then(|part| scene.lacks(part)).map(str::to_owned);
        if let Some(reason) = lacks.or_else(missing) {
            print(&format!("{}: {reason}", fault.name))?;
            continue;
        }
        let row = compare(&mut scene, fault, (time, ROUNDS), &mut random);
        print(&row.line(fault.name))?;
        row.check(fault)?;
    }
    Ok(())
}
