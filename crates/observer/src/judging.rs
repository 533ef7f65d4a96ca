//! All turns of a plan.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tactus_model::load::LoadPlan;
use tactus_sound::{PrivateServer, SessionManager};
use tactus_synchrony::judgement::{FailedTurn, Judgement, Plan, Playback, Turn};
use tactus_wire::{Start, WireError, this_binary};

use crate::player::Player;
use crate::turn::{Found, PATIENCE, Request, TurnEnd};

/// How long a load may take to start and to end: longer than its host gives it.
const LOAD_PATIENCE: Duration = Duration::from_secs(180);

/// What happens while players are judged.
#[derive(Debug)]
pub enum Event<'e> {
    /// A turn begins.
    Started {
        /// The turn.
        turn: Turn,
        /// The turns before it.
        done: usize,
        /// All turns.
        of: usize,
    },
    /// A turn has a result.
    Finished(&'e Playback),
    /// A turn has none.
    Failed(&'e FailedTurn),
}

/// The user wants no further turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Judges players, each turn in a process of its own. `players` and `files` have the players and the
/// clips of the plan, in its order. `is_over` ends it at once: the present turn has no result.
///
/// # Errors
/// It was ended by `is_over` before any turn had a result.
pub fn judge(
    plan: Plan,
    players: &[Player],
    files: &[PathBuf],
    is_over: &AtomicBool,
    listener: &mut dyn FnMut(&Plan, Event<'_>),
) -> Result<Judgement, Interrupted> {
    let turns = plan.turns();
    let mut judgement = Judgement { plan, playbacks: Vec::new(), failed: Vec::new() };
    let of = turns.len();
    for (done, turn) in turns.into_iter().enumerate() {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let Judgement { plan, playbacks, failed } = &mut judgement;
        listener(plan, Event::Started { turn, done, of });
        let request = Request {
            clip: plan.clips[turn.clip],
            file: files[turn.clip].clone(),
            player: players[turn.player].clone(),
            reserve: plan.players[turn.player].reserve,
            load: LoadPlan { load: plan.loads[turn.load].clone(), ..LoadPlan::IDLE },
            look: plan.look,
            has_sound: true,
        };
        let Some(answer) = run(request, plan.quantum, is_over) else { break };
        match answer {
            TurnEnd::Found(found) => {
                let Found { findings, conditions, notes } = *found;
                playbacks.push(Playback { turn, findings, conditions, notes });
                listener(plan, Event::Finished(&playbacks[playbacks.len() - 1]));
            }
            TurnEnd::Failed { reason, hint } => {
                failed.push(FailedTurn { turn, reason, hint });
                listener(plan, Event::Failed(&failed[failed.len() - 1]));
            }
        }
    }
    let is_empty = judgement.playbacks.is_empty() && judgement.failed.is_empty();
    if is_empty { Err(Interrupted) } else { Ok(judgement) }
}

/// Runs a turn beside a sound server of its own; `None` if it was ended by `is_over`.
fn run(mut request: Request, quantum: u32, is_over: &AtomicBool) -> Option<TurnEnd> {
    let mut server = PrivateServer::start(quantum);
    request.has_sound = server.is_ok();
    let mut notes = Vec::new();
    let mut command = this_binary(&["internal", "observer"]);
    // It lives as long as the turn.
    let mut manager = None;
    match &server {
        Ok(server) => {
            command.envs(server.variables());
            let started = SessionManager::start(server);
            manager = started.map_err(|error| notes.push(error.to_string())).ok();
        }
        Err(error) => {
            notes.push(format!("nothing was heard: {error}"));
            // The player must not find the sound server of the user.
            command.env("XDG_RUNTIME_DIR", "/nonexistent");
        }
    }
    for variable in ["PULSE_SERVER", "PIPEWIRE_REMOTE", "DBUS_SESSION_BUS_ADDRESS"] {
        command.env_remove(variable);
    }
    let is_idle = request.load.load.is_idle();
    let starting = if is_idle { Duration::ZERO } else { LOAD_PATIENCE };
    let patience = Duration::from(request.clip.duration()) + 3 * PATIENCE + starting;
    let mut answer = answer(command, &request, patience, is_over)?;
    // Without it, nothing that was observed is the player's fault.
    if let Some(status) = server.as_mut().ok().and_then(PrivateServer::ended) {
        return Some(not_lasted("sound server", &status.to_string()));
    }
    if let Some(status) = manager.as_mut().and_then(SessionManager::ended) {
        return Some(not_lasted("session manager of the sound server", &status.to_string()));
    }
    if let TurnEnd::Found(found) = &mut answer {
        found.notes.extend(notes);
    }
    Some(answer)
}

/// The answer of a turn whose judge has lost what it needs.
fn not_lasted(what: &str, reason: &str) -> TurnEnd {
    let reason = format!("the {what} of the judge did not last as long as the turn: {reason}");
    TurnEnd::Failed { reason, hint: None }
}

/// How often the judge looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

fn answer(
    command: std::process::Command,
    request: &Request,
    patience: Duration,
    is_over: &AtomicBool,
) -> Option<TurnEnd> {
    let failed = |reason: String| TurnEnd::Failed { reason, hint: None };
    let start = Start::new(command).in_own_group().dies_with_this_thread().keeps_last_words();
    let (mut observer, mut answers) = match start.start() {
        Ok(started) => started,
        Err(error) => return Some(failed(format!("cannot start the observer: {error}"))),
    };
    let sent = observer.send(request);
    let answer = std::thread::scope(|scope| {
        let read = scope.spawn(move || sent.and_then(|()| answers.read_within(patience)));
        while !read.is_finished() {
            if is_over.load(Ordering::Relaxed) {
                // The end of its output ends the reading.
                observer.kill();
            }
            std::thread::sleep(LOOK);
        }
        read.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    if let Err(WireError::Silent { .. }) = answer {
        observer.kill();
    }
    let end = observer.end(PATIENCE);
    match answer {
        Ok(answer) => Some(answer),
        Err(_) if is_over.load(Ordering::Relaxed) => None,
        Err(error) => Some(failed(format!("the observer sends no result: {error}; {end}"))),
    }
}
