//! The interface on a bus: its types, its refusals, and what happens to clients.

mod support;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use support::{
    Outcome, PrivateBus, Sound, Started, ask_for_priority, errors_on_screen, is_realtime, policies,
    run_away, wait_for,
};
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_rtkit::meter::Patience;
use tactus_rtkit::{Admission, Budgets, Bus, Caller, GrantId, Policy, Refused, Served, serve};
use tactus_testing::{Need, require};
use zbus::block_on;

const NAME: &str = "org.freedesktop.RealtimeKit1";
const PATH: &str = "/org/freedesktop/RealtimeKit1";

/// The CPU of clients.
const CPU: u32 = 0;

/// Admits everybody, with 2 ms in each period: a runaway uses them on a busy machine, too.
#[derive(Debug, Default)]
struct Equal(u64);

impl Admission for Equal {
    fn admit(&mut self, _: &Caller, _: ThreadId, _: Budgets) -> Result<GrantId, Refused> {
        self.0 += 1;
        Ok(GrantId(self.0))
    }

    fn budget(&self, _: GrantId) -> Nanos {
        Nanos::from_millis(2)
    }

    fn give_back(&mut self, _: GrantId) {}
}

/// A bus and a service on it; skips the test if one of them cannot be.
fn served(policy: Policy) -> Option<(PrivateBus, Served)> {
    let bus = require(Need::Sound, PrivateBus::start())?;
    let admission = Box::new(Equal::default());
    let served = require(Need::Root, serve(&Bus::At(bus.address()), policy, admission))?;
    Some((bus, served))
}

/// A process that sleeps, with the limit that the interface demands.
fn sleeper(bus: &PrivateBus) -> Started {
    let mut command = bus.limited(CPU, Path::new("/bin/sleep"), &["60"]).unwrap();
    let sleeper = Started::start(&mut command).unwrap();
    let name = format!("/proc/{}/comm", sleeper.id());
    let runs = || std::fs::read_to_string(&name).is_ok_and(|name| name.trim() == "client");
    wait_for("sleep", || runs().then_some(())).unwrap();
    sleeper
}

fn call(connection: &zbus::Connection, method: &str) -> Result<(), zbus::Error> {
    block_on(connection.call_method(Some(NAME), PATH, Some(NAME), method, &())).map(drop)
}

#[test]
fn needs_root_properties_have_the_types_and_values_of_rtkit() {
    let Some((bus, _served)) = served(Policy::default()) else { return };
    let connection = bus.connect().unwrap();
    let property = |name: &str| {
        let which = (NAME, name);
        let call = connection.call_method(
            Some(NAME),
            PATH,
            Some("org.freedesktop.DBus.Properties"),
            "Get",
            &which,
        );
        let body = block_on(call).unwrap().body();
        let value: zbus::OwnedVariant = body.deserialize().unwrap();
        format!("{value:?}")
    };
    assert!(property("RTTimeUSecMax").contains("I64(200000)"), "{}", property("RTTimeUSecMax"));
    assert!(property("MaxRealtimePriority").contains("I32(20)"));
    assert!(property("MinNiceLevel").contains("I32(-15)"));
}

#[test]
fn needs_root_a_thread_gets_its_priority_and_returns_to_its_policy() {
    let Some((bus, served)) = served(Policy::default()) else { return };
    let connection = bus.connect().unwrap();
    // Requests are for threads of the caller's own user, and the sleeper is another's.
    let stranger = sleeper(&bus);
    let refused = ask_for_priority(&connection, stranger.id(), 0, 20).unwrap_err().to_string();
    assert!(refused.contains("belongs to user 65534, and the caller is user 0"), "{refused}");

    let own =
        Started::start(Command::new("prlimit").args(["--rttime=200000:200000", "sleep", "60"]))
            .unwrap();
    let ask = |priority| ask_for_priority(&connection, own.id(), 0, priority);
    wait_for("the limit", || ask(7).ok()).unwrap();
    assert_eq!(policies(own.id()), ["rr:7".parse::<Scheduling>().unwrap()]);
    let refused = ask(21).unwrap_err().to_string();
    assert!(refused.contains("the highest is 20"), "{refused}");
    ask(9).unwrap();
    assert_eq!(policies(own.id()), ["rr:9".parse::<Scheduling>().unwrap()]);
    assert_eq!(served.keeper().status().len(), 1, "one thread, asked for twice");

    call(&connection, "ResetKnown").unwrap();
    assert_eq!(policies(own.id()), [Scheduling::ORDINARY]);
    ask(9).unwrap();
    call(&connection, "Exit").unwrap();
    wait_for("the end", || served.keeper().has_ended().then_some(())).unwrap();
    assert_eq!(policies(own.id()), [Scheduling::ORDINARY]);
}

#[test]
fn needs_root_a_thread_that_lowers_its_priority_keeps_its_budget_and_loses_it_in_the_end() {
    let Some((bus, served)) = served(Policy::default()) else { return };
    let connection = bus.connect().unwrap();
    let limited = ["--rttime=200000:200000", "sleep", "60"];
    let own = Started::start(Command::new("prlimit").args(limited)).unwrap();
    wait_for("the limit", || ask_for_priority(&connection, own.id(), 0, 9).ok()).unwrap();
    let thread = ThreadRef::Id(ThreadId(own.id().cast_signed()));
    let lower: Scheduling = "rr:5".parse().unwrap();
    assert_eq!(thread.schedule_exactly(lower), Ok(None));
    // Longer than it takes to look for threads that have ended.
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(served.keeper().status().len(), 1, "it is still metered");
    assert_eq!(policies(own.id()), [lower]);
    call(&connection, "ResetKnown").unwrap();
    assert_eq!(policies(own.id()), [Scheduling::ORDINARY]);
}

#[test]
fn needs_root_a_thread_that_becomes_another_users_loses_its_priority() {
    let Some((bus, served)) = served(Policy::default()) else { return };
    let connection = bus.connect().unwrap();
    let script = "sleep 5; exec setpriv --reuid 65534 --regid 65534 --clear-groups sleep 60";
    let limited = ["--rttime=200000:200000", "sh", "-c", script];
    let own = Started::start(Command::new("prlimit").args(limited)).unwrap();
    wait_for("the limit", || ask_for_priority(&connection, own.id(), 0, 9).ok()).unwrap();
    wait_for("its end", || served.keeper().status().is_empty().then_some(())).unwrap();
    assert_eq!(policies(own.id()), [Scheduling::ORDINARY]);
}

#[test]
fn needs_root_a_process_without_a_limit_is_refused() {
    let Some((bus, _served)) = served(Policy::default()) else { return };
    let connection = bus.connect().unwrap();
    let unlimited = Started::start(Command::new("sleep").arg("60")).unwrap();
    let refused = ask_for_priority(&connection, unlimited.id(), 0, 20).unwrap_err().to_string();
    assert!(refused.contains("RLIMIT_RTTIME") && refused.contains("AccessDenied"), "{refused}");
    let refused = ask_for_priority(&connection, i32::MAX.cast_unsigned(), 0, 20).unwrap_err();
    assert!(refused.to_string().contains("has no thread"), "{refused}");
}

/// The variable with the address of the bus for the next function, in a process of its own.
const RUNAWAY: &str = "TACTUS_RUNAWAY";

#[test]
#[ignore = "the process that the test of the runaway client starts"]
fn a_runaway() {
    let Ok(address) = std::env::var(RUNAWAY) else { return };
    run_away(&address, Duration::from_secs(20)).unwrap();
}

fn start_runaway(bus: &PrivateBus) -> Outcome<Started> {
    let program = std::env::current_exe()?;
    let mut command = bus.limited(CPU, &program, &["--exact", "--ignored", "a_runaway"])?;
    Started::start(command.env(RUNAWAY, bus.address()).arg("--test-threads=1"))
}

#[test]
fn needs_root_a_runaway_client_loses_its_priority_and_a_sound_server_keeps_its_own() {
    let policy = Policy { patience: Patience { periods: 10 }, ..Policy::default() };
    let Some((bus, served)) = served(policy) else { return };
    let Some(sound) = require(Need::Sound, Sound::start(&bus, CPU, 1024)) else { return };
    let players = [sound.server.id(), sound.player.id()];
    for process in players {
        wait_for("a real-time thread", || is_realtime(process).then_some(())).unwrap();
    }
    let runaway = start_runaway(&bus).unwrap();
    let grants = || served.keeper().status();
    let own = |thread: i32| players.contains(&thread.cast_unsigned());
    wait_for("the runaway's grant", || {
        grants().iter().find(|grant| !own(grant.process.0)).map(drop)
    })
    .unwrap();
    wait_for("its end", || (!grants().iter().any(|grant| !own(grant.process.0))).then_some(()))
        .unwrap();
    assert!(!is_realtime(runaway.id()));
    assert!(players.into_iter().all(is_realtime));
    println!("xruns: {:?}", sound.errors().unwrap());
}

#[test]
fn xruns_are_read_from_the_last_whole_screen() {
    let row = |id: u32, errors: u32, name: &str| {
        format!(
            "R   {id}    256  48000 102.3us   4.9us  0.02  0.00   {errors}     F32P 2 48000 {name}\x1b[4d"
        )
    };
    let clear = "\x1b[H\x1b[2J";
    let screen = [row(17, 3, "quiet"), row(24, 41, " + pw-cat")].concat();
    let text =
        format!("{clear}{}{clear}S 16\x1b[13G0 {screen}{clear}R  17  256 480", row(17, 0, "quiet"));
    let errors = errors_on_screen(&text);
    let expected = [("pw-cat".to_owned(), 41), ("quiet".to_owned(), 3)];
    assert_eq!(errors.into_iter().collect::<Vec<_>>(), expected);
}
