//! All turns of a plan.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tactus_model::load::LoadPlan;
use tactus_sound::{PrivateServer, SessionManager};
use tactus_synchrony::judgement::{FailedTurn, Judgement, Plan, Playback, Turn};
use tactus_wire::{Start, WireError, this_binary};

use crate::player::Player;
use crate::turn::{Answer, Found, PATIENCE, Request};

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
/// clips of the plan, in its order. `is_over` ends it after the present turn.
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
        match run(request, plan.quantum) {
            Answer::Found(found) => {
                let Found { findings, conditions, notes } = *found;
                playbacks.push(Playback { turn, findings, conditions, notes });
                listener(plan, Event::Finished(&playbacks[playbacks.len() - 1]));
            }
            Answer::Failed { reason, hint } => {
                failed.push(FailedTurn { turn, reason, hint });
                listener(plan, Event::Failed(&failed[failed.len() - 1]));
            }
        }
    }
    let is_empty = judgement.playbacks.is_empty() && judgement.failed.is_empty();
    if is_empty { Err(Interrupted) } else { Ok(judgement) }
}

/// Runs a turn beside a sound server of its own.
fn run(mut request: Request, quantum: u32) -> Answer {
    let mut server = PrivateServer::start(quantum);
    request.has_sound = server.is_ok();
    let mut notes = Vec::new();
    let mut command = this_binary(&["internal", "observer"]);
    // It lives as long as the turn.
    let mut _manager = None;
    match &server {
        Ok(server) => {
            command.envs(server.variables());
            let manager = SessionManager::start(server);
            _manager = manager.map_err(|error| notes.push(error.to_string())).ok();
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
    let mut answer = answer(command, &request, patience);
    // Without it, nothing that was observed is the player's fault.
    if let Some(status) = server.as_mut().ok().and_then(PrivateServer::ended) {
        let reason =
            format!("the sound server of the judge did not last as long as the turn: {status}");
        return Answer::Failed { reason, hint: None };
    }
    if let Answer::Found(found) = &mut answer {
        found.notes.extend(notes);
    }
    answer
}

fn answer(command: std::process::Command, request: &Request, patience: Duration) -> Answer {
    let failed = |reason: String| Answer::Failed { reason, hint: None };
    let start = Start::new(command).in_own_group().dies_with_this_thread().keeps_last_words();
    let (mut observer, mut answers) = match start.start() {
        Ok(started) => started,
        Err(error) => return failed(format!("cannot start the observer: {error}")),
    };
    let answer = observer.send(request).and_then(|()| answers.read_within(patience));
    if let Err(WireError::Silent { .. }) = answer {
        observer.kill();
    }
    let end = observer.end(PATIENCE);
    answer.unwrap_or_else(|error| failed(format!("the observer sends no result: {error}; {end}")))
}
