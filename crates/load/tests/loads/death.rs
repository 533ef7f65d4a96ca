//! Nothing of a load is left behind, whichever process is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tactus_load::Containment;
use tactus_testing::{Need, skip, wait_until};

use crate::Test;
use crate::behaviour::COUNTED;
use crate::marked::{self, copies, wait_until_none};
use crate::measuring::{Measuring, NOBODY, is_possible};

/// The process that is killed by SIGKILL.
#[derive(Clone, Copy, Debug)]
enum Victim {
    /// The measuring process.
    Measuring,
    /// The load's host.
    Host,
    /// The process that starts and watches the copies.
    Supervisor,
    /// A copy; only the processes that it started have to end.
    Copy,
    /// All processes of our own binary at once.
    All,
}

/// A command whose child is an orphan in a session of its own, without our mark.
const ESCAPING: &str = "cmd:\"env -i setsid sh -c 'sleep 31415.9265 & sleep 31415.9265' & env -i setsid sleep 31415.9265 & exec sleep 31415.9265\"";

/// What the test searches for besides the mark.
const ESCAPED: &str = "31415.9265";

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    let mut add = |user: Option<u32>, load: &'static str, containment, victim| {
        let who = if user.is_some() { "an_ordinary_user" } else { "root" };
        let how = match containment {
            Some(Containment::Watched) => "watched",
            _ => "contained",
        };
        let kind = load.split(':').next().unwrap_or(load);
        tests.push((
            format!("{kind}_of_{who}_{how}_leaves_nothing_when_{victim:?}_is_killed")
                .to_lowercase(),
            Box::new(move || leaves_nothing(user, load, containment, victim)),
        ));
    };
    let watched = Some(Containment::Watched);
    for load in COUNTED.into_iter().chain([ESCAPING]) {
        for user in [None, Some(NOBODY)] {
            for containment in [None, watched] {
                add(user, load, containment, Victim::Measuring);
            }
        }
    }
    for load in ["message", "compile", ESCAPING] {
        for victim in [Victim::Host, Victim::Supervisor, Victim::Copy, Victim::All] {
            for user in [None, Some(NOBODY)] {
                for containment in [None, watched] {
                    add(user, load, containment, victim);
                }
            }
        }
    }
    tests
}

fn leaves_nothing(user: Option<u32>, load: &str, containment: Option<Containment>, victim: Victim) {
    if user.is_some() && tactus_sys::process::effective_user() != 0 {
        return skip(Need::Root, "only root can become another user");
    }
    if !is_possible(load) {
        return;
    }
    // In a directory that every user can access, unlike a checkout in a home directory.
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let executable: PathBuf = directory.path().join("loads");
    fs::copy(std::env::current_exe().unwrap(), &executable).unwrap();

    let started = Measuring::start(&executable, load, containment, user, directory.path());
    let mut measuring = match started {
        Ok(measuring) => measuring,
        Err(reason) => panic!("{load}: {reason}"),
    };
    match containment {
        Some(wanted) => assert_eq!(wanted.to_string(), measuring.containment),
        None if measuring.containment == "watched" => {
            skip(Need::Root, "no namespace is permitted, so the load is watched");
        }
        None => {}
    }
    let own = measuring.child.id();
    let running = marked::processes(own);
    assert!(running.len() >= 3, "host, supervisor and a copy: {running:?}");
    if load == ESCAPING {
        // A command is running when its shell is, which then starts these.
        wait_until("too few escape", || marked::by_command_line(ESCAPED).len() >= 4);
    }
    kill(victim, &mut measuring, &running);
    if matches!(victim, Victim::Copy) {
        // The supervisor continues, and other copies with it.
        wait_until_none("the copy", || {
            let gone: Vec<u32> = copies(&running);
            marked::processes(own)
                .into_iter()
                .filter(|(process, _)| gone.contains(process))
                .collect()
        });
    } else {
        wait_until_none("with the mark", || marked::processes(own));
        wait_until_none("without the mark", || marked::by_command_line(ESCAPED));
    }
    measuring.child.kill().unwrap();
    measuring.child.wait().unwrap();
    wait_until_none("with the mark", || marked::processes(own));
    wait_until_none("without the mark", || marked::by_command_line(ESCAPED));
}

fn kill(victim: Victim, measuring: &mut Measuring, running: &[(u32, String)]) {
    let ours: Vec<u32> = running
        .iter()
        .filter(|(_, line)| line.contains(" internal load"))
        .map(|(process, _)| *process)
        .collect();
    let victims = match victim {
        Victim::Measuring => vec![measuring.child.id()],
        Victim::Host => vec![measuring.host],
        Victim::Supervisor => vec![supervisor(measuring.host, running)],
        Victim::Copy => copies(running),
        Victim::All => ours.into_iter().chain([measuring.child.id()]).collect(),
    };
    assert!(!victims.is_empty(), "{running:?}");
    for victim in victims {
        // An earlier death may have ended this process already.
        let _ = tactus_sys::process::kill(victim);
    }
}

/// Our process that is neither the host nor a copy.
fn supervisor(host: u32, running: &[(u32, String)]) -> u32 {
    running
        .iter()
        .find(|(process, line)| *process != host && line.trim_end().ends_with(" internal load"))
        .map(|(process, _)| *process)
        .unwrap()
}
