//! Compares `tactus qosd --rtkit` with rtkit: sound beside a client that runs away, in pairs.

#[path = "../../crates/rtkit/tests/support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::anyhow;
use support::{PrivateBus, Sound, Started, is_realtime, run_away, spin, wait_for};
use zbus::{block_on, interface};

/// How long the client runs away.
const TIME: Duration = Duration::from_secs(6);

/// The CPU of all clients: the other one stays with everybody else.
const CPU: u32 = 1;

/// The name of the chore's own helpers.
const RUNAWAY: &str = "rtkit-runaway";
const ORDINARY: &str = "rtkit-ordinary";

/// Whether the arguments are those of a helper, which has run then.
pub(crate) fn helper(words: &[&str]) -> anyhow::Result<bool> {
    match *words {
        [RUNAWAY, address] => {
            println!("{}", run_away(address, TIME).map_err(|error| anyhow!("{error}"))?);
        }
        [ORDINARY] => println!("{}", spin(TIME)),
        _ => return Ok(false),
    }
    Ok(true)
}

/// What one manager made of the clients.
struct Trial {
    xruns: u64,
    runaway: f64,
    ordinary: f64,
}

/// Runs `rounds` pairs, each with samples of 1/48000 s in a cycle, and prints them.
pub(crate) fn compare(repository: &Path, rounds: u32, quantum: u32) -> anyhow::Result<()> {
    let tactus = repository.join("target/debug/tactus");
    anyhow::ensure!(tactus.exists(), "{} is missing; run cargo build", tactus.display());
    println!("a player, a client that runs away, and an ordinary one on CPU {CPU}, {TIME:?} each");
    println!("cycles of {quantum} samples; CPU time in per cent of the CPU\n");
    println!("round  manager  xruns  runaway  ordinary");
    for round in 0..rounds {
        let mut managers = [("rtkit", false), ("tactus", true)];
        // Whatever drifts does not always meet the same one.
        if round % 2 == 1 {
            managers.reverse();
        }
        for (name, is_ours) in managers {
            let Trial { xruns, runaway, ordinary } =
                trial(&tactus, is_ours, quantum).map_err(|error| anyhow!("{name}: {error}"))?;
            let [runaway, ordinary] = [runaway, ordinary].map(|share| 100.0 * share);
            println!("{round:5}  {name:7}  {xruns:5}  {runaway:7.1}  {ordinary:8.1}");
        }
    }
    Ok(())
}

fn trial(tactus: &Path, is_ours: bool, quantum: u32) -> support::Outcome<Trial> {
    let bus = PrivateBus::start()?;
    let directory = tempfile::TempDir::new()?;
    let mut manager = if is_ours {
        let mut manager = Command::new(tactus);
        manager.args(["qosd", "--rtkit", "--quiet", "--socket"]);
        manager.arg(directory.path().join("socket"));
        manager.arg("--state").arg(directory.path().join("threads"));
        manager
    } else {
        Command::new("/usr/libexec/rtkit-daemon")
    };
    let _authority = authority(&bus)?;
    manager.env("DBUS_SYSTEM_BUS_ADDRESS", bus.address()).stderr(Stdio::null());
    let _manager = Started::start(&mut manager)?;
    let sound = with_priorities(&bus, quantum)?;
    // The first cycles are irregular.
    std::thread::sleep(Duration::from_secs(2));
    let before: u64 = sound.errors()?.values().sum();
    let helper = std::env::current_exe()?;
    let start = |arguments: &[&str]| Started::start(&mut bus.limited(CPU, &helper, arguments)?);
    let (ordinary, runaway) = (start(&[ORDINARY])?, start(&[RUNAWAY, &bus.address()])?);
    let share = |output: String| output.trim().parse::<f64>();
    let (ordinary, runaway) = (share(output(ordinary)?)?, share(output(runaway)?)?);
    // The monitor shows them once a second.
    std::thread::sleep(Duration::from_secs(2));
    let after: u64 = sound.errors()?.values().sum();
    Ok(Trial { xruns: after.saturating_sub(before), runaway, ordinary })
}

/// What a helper printed, once it has ended.
fn output(mut helper: Started) -> support::Outcome<String> {
    let output = helper.0.stdout.take().ok_or("no output")?;
    helper.0.wait()?;
    Ok(std::io::read_to_string(output)?)
}

/// Starts the sound once the manager has its name on the bus.
fn with_priorities(bus: &PrivateBus, quantum: u32) -> support::Outcome<Sound> {
    const BUS: &str = "org.freedesktop.DBus";
    let connection = bus.connect()?;
    wait_for("the manager", || {
        let name = "org.freedesktop.RealtimeKit1";
        let call = connection.call_method(
            Some(BUS),
            "/org/freedesktop/DBus",
            Some(BUS),
            "NameHasOwner",
            &name,
        );
        block_on(call).ok()?.body().deserialize::<bool>().ok()?.then_some(())
    })?;
    let sound = Sound::start(bus, CPU, quantum)?;
    for process in [sound.server.id(), sound.player.id()] {
        wait_for("a real-time thread", || is_realtime(process).then_some(()))?;
    }
    Ok(sound)
}

/// Permits everything to everybody: rtkit asks PolicyKit for each request.
struct Authority;

#[interface(name = "org.freedesktop.PolicyKit1.Authority")]
impl Authority {
    #[expect(clippy::unused_self, reason = "the interface's form")]
    fn check_authorization(
        &self,
        _subject: (String, HashMap<String, zbus::OwnedVariant>),
        _action: String,
        _details: HashMap<String, String>,
        _flags: u32,
        _cancellation: String,
    ) -> ((bool, bool, HashMap<String, String>),) {
        // The structure is one value.
        ((true, false, HashMap::new()),)
    }
}

fn authority(bus: &PrivateBus) -> support::Outcome<zbus::Connection> {
    let address = bus.address();
    let path = "/org/freedesktop/PolicyKit1/Authority";
    let connection = block_on(async {
        let builder = zbus::connection::Builder::address(address.as_str());
        let connection = builder.serve_at(path, Authority).build().await?;
        connection.request_name("org.freedesktop.PolicyKit1").await?;
        Ok::<_, zbus::Error>(connection)
    });
    Ok(connection?)
}
