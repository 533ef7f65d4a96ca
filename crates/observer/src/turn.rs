//! One playback, observed: what a process of ours does that lives as long as the turn.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_load::{HostOptions, LoadError, RunningLoad};
use tactus_model::load::LoadPlan;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, Rung};
use tactus_model::time::{Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_reserve::Reserve;
use tactus_sound::server::SINK;
use tactus_synchrony::observed::Observed;
use tactus_synchrony::{Clip, Conditions, Findings};
use tactus_sys::counters::MachineCounters;
use tactus_sys::leash::{self, Leash};
use tactus_sys::owned_directory::OwnedDirectory;
use tactus_sys::pidfd::PidFd;
use tactus_sys::{SysError, clock, usage};
use tactus_wire::{LastWords, WireError};
use tactus_xserver::framebuffer::{BadScreen, Framebuffer};
use tactus_xserver::{NoServer, Screen, Server};

use crate::microphone::Microphone;
use crate::photodiode::Photodiode;
use crate::player::Player;

/// How much longer than its clip a player may take, to start and to end.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// How long the observers go on after the player.
const AFTERWARDS: Duration = Duration::from_millis(250);

/// How long to wait for the end of a player's standard error.
const COMPLAINT: Duration = Duration::from_millis(500);

/// How long the judge's own servers may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Where memory is a file. Elsewhere, writing the screen to a disk could delay the server.
const MEMORY: &str = "/dev/shm";
/// The prefix of the directories of turns.
const DIRECTORY: &str = "tactus-observer-";

/// A turn for a process of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) clip: Clip,
    pub(crate) file: PathBuf,
    pub(crate) player: Player,
    /// The reserve of the player and of the X server.
    pub(crate) reserve: Option<Capacity>,
    /// What competes with the player.
    pub(crate) load: LoadPlan,
    pub(crate) look: Nanos,
    /// Whether the environment has a sound server of ours.
    pub(crate) has_sound: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) findings: Findings,
    pub(crate) conditions: Conditions,
    pub(crate) notes: Vec<String>,
}

/// The answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum TurnEnd {
    Found(Box<Found>),
    Failed { reason: String, hint: Option<String> },
}

/// Why a turn has no result.
#[derive(Debug, thiserror::Error)]
enum TurnError {
    #[error(transparent)]
    Display(#[from] NoServer),
    #[error(transparent)]
    Screen(#[from] BadScreen),
    #[error("cannot start the observers: {0}")]
    System(#[from] io::Error),
    #[error("`{0}` is not installed")]
    NotInstalled(String),
    #[error("cannot start `{0}`: {1}")]
    Start(String, io::Error),
    #[error("cannot wait for `{0}`: {1}")]
    Wait(String, SysError),
    #[error("the {0} of the judge did not last as long as the turn: {1}")]
    Ended(&'static str, String),
    #[error("the load {0} cannot run: {reason}", reason = .1.reason)]
    Load(String, LoadError),
}

/// Observes one turn: reads it from the standard input, and writes what was found.
///
/// # Errors
/// The process that started this one has ended, or sends something else.
pub fn observer_main() -> Result<(), WireError> {
    let request: Request = tactus_wire::requests().read()?;
    let answer = match observe(&request) {
        Ok(found) => TurnEnd::Found(Box::new(found)),
        Err(error) => {
            let hint = match &error {
                TurnError::Display(error) => error.hint(),
                TurnError::NotInstalled(_) => request.player.fix(),
                TurnError::Load(_, error) => error.hint.as_deref(),
                _ => None,
            };
            TurnEnd::Failed { reason: error.to_string(), hint: hint.map(str::to_owned) }
        }
    };
    tactus_wire::responses().write(&answer)
}

fn observe(request: &Request) -> Result<Found, TurnError> {
    let Request { clip, look, .. } = request;
    let memory = Path::new(MEMORY);
    let folder = OwnedDirectory::create(memory, DIRECTORY)
        .or_else(|_| OwnedDirectory::create(&std::env::temp_dir(), DIRECTORY))?;
    let screen = Screen { width: clip.width, height: clip.height, bytes_per_pixel: 4 };
    // It outlives the X server: Linux 6.18 never returns the bandwidth of a sleeping deadline thread
    // that gets another policy, but that of one that is killed.
    let mut _reserve = None;
    let mut display = Server::start_visible(screen, folder.path())?;
    // It ends with its last client, and the player may come and go.
    let _holder = display.connect()?;
    let authority = folder.path().join("authority");
    // Only this user may enter the folder.
    display.write_authority(&authority)?;
    let mut notes = Vec::new();
    let photodiode = Photodiode::start(Framebuffer::open(folder.path())?, clip, *look)?;
    notes.extend(photodiode.shortfall.as_ref().map(ToString::to_string));
    let microphone = request.has_sound.then(|| Microphone::start(SINK)).and_then(|started| {
        started.map_err(|error| notes.push(format!("nothing was heard: {error}"))).ok()
    });
    if microphone.as_ref().is_some_and(|microphone| !microphone.knows_delay) {
        notes.push(
            "the delay of the sink's monitor is unknown: sound may be judged a cycle too late"
                .to_owned(),
        );
    }
    _reserve = request.reserve.and_then(|capacity| reserve(&display, capacity, &mut notes));
    let competition = Competition::start(&request.load)?;
    let origin = clock::now::<Monotonic>();
    let played = play(request, &display, &authority)?;
    // Without a server, nothing that was observed is the player's fault.
    display.check(ANSWER).map_err(|error| TurnError::Ended("X server", error.to_string()))?;
    if let Some(reason) = microphone.as_ref().and_then(Microphone::lost) {
        return Err(TurnError::Ended("sound server", reason.to_owned()));
    }
    notes.extend(played.unusual);
    let conditions = competition.end(played.cpu_time, &mut notes);
    std::thread::sleep(AFTERWARDS);
    let picture = Some(photodiode.finish());
    let sound = microphone.map(Microphone::finish);
    let findings = Findings::of(clip, &Observed { origin, picture, sound });
    notes.extend(halves(&findings));
    Ok(Found { findings, conditions, notes })
}

/// Gives the X server a reserve, or says why it has none or a lesser one.
fn reserve(display: &Server, capacity: Capacity, notes: &mut Vec<String>) -> Option<Reserve> {
    let server = ThreadRef::Id(ThreadId(display.process() as i32));
    match Reserve::grant(server, capacity, Rung::KEEPING) {
        Ok(reserve) => {
            notes.extend(reserve.refused().iter().map(|refused| {
                let (rung, reason) = (refused.rung, &refused.reason);
                let by = reserve.rung();
                format!("the X server has its reserve by rung {by}; {rung} was refused: {reason}")
            }));
            Some(reserve)
        }
        Err(refused) => {
            notes.push(format!("the X server has no reserve: {refused}"));
            None
        }
    }
}

/// What competes with the player, and the counters when it began.
struct Competition {
    load: RunningLoad,
    name: String,
    opened: tactus_load::LoadSnapshot,
    machine: MachineCounters,
}

impl Competition {
    fn start(plan: &LoadPlan) -> Result<Self, TurnError> {
        let name = plan.load.to_string();
        let failed = |error| TurnError::Load(name.clone(), error);
        let options = HostOptions::new(std::env::current_exe()?);
        let mut load = RunningLoad::start(plan, &options).map_err(failed)?;
        let opened = load.snapshot();
        Ok(Self { load, name, opened, machine: MachineCounters::read(Path::new("/")) })
    }

    /// Ends it, and returns what it did meanwhile. What it did not do is noted.
    fn end(mut self, player_cpu: Option<Nanos>, notes: &mut Vec<String>) -> Conditions {
        let machine = MachineCounters::read(Path::new("/")).since(&self.machine);
        let achieved = self.load.snapshot().since(&self.opened);
        notes.extend(self.load.shortfalls().iter().map(ToString::to_string));
        let ended = self.load.stop();
        let name = self.name;
        notes.extend(ended.into_iter().map(|reason| format!("the load {name} ended: {reason}")));
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        Conditions { load: achieved, machine, cpus, player_cpu }
    }
}

/// Says which half of the playback is missing.
fn halves(findings: &Findings) -> Vec<String> {
    let mut notes = Vec::new();
    let Findings { pairs, unpaired, frames, .. } = findings;
    let is_lit = !pairs.is_empty() || unpaired.flashes + unpaired.unobserved > 0;
    if !is_lit && frames.is_none() {
        notes.push("it drew nothing that the photodiode recognises".to_owned());
    } else if frames.is_none() {
        notes.push(
            "the numbers of its frames cannot be read: its window does not cover the screen, so frames are not counted (e.g. `mpv --geometry=100%x100% --no-border` covers it)"
                .to_owned(),
        );
    }
    if findings.blind_sound.is_some() && pairs.is_empty() && unpaired.tones == 0 {
        notes.push("it made no sound that the microphone recognises".to_owned());
    }
    notes
}

/// How a player ended.
struct Played {
    /// What was unusual about it.
    unusual: Option<String>,
    /// The CPU time of the player and of the processes that it waited for.
    cpu_time: Option<Nanos>,
}

/// Runs the player to its end.
fn play(request: &Request, display: &Server, authority: &Path) -> Result<Played, TurnError> {
    let Request { clip, file, player, reserve, .. } = request;
    let mut command = player.command(clip, file, *reserve);
    command.env("DISPLAY", display.display()).env("XAUTHORITY", authority);
    command.env("PIPEWIRE_NODE", SINK).env_remove("WAYLAND_DISPLAY");
    // Its processes end with this one, whatever happens.
    leash::wait_for_leash(&mut command);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => TurnError::NotInstalled(player.name()),
        _ => TurnError::Start(player.name(), error),
    })?;
    let complaints = child.stderr.take().map(LastWords::listen).transpose()?;
    let patience = Duration::from(clip.duration()) + PATIENCE;
    // The X server and the load end later: until then, the player is the only child that ends.
    let before = usage::of_ended_children();
    let (status, was_killed) =
        wait(&child, patience).map_err(|error| TurnError::Wait(player.name(), error))?;
    let used = before.and_then(|before| Ok(usage::of_ended_children()? - before));
    let said = complaints.map(|words| words.take(COMPLAINT)).unwrap_or_default();
    let unusual = unusual_end(status, was_killed, patience, &said);
    Ok(Played { unusual, cpu_time: used.ok() })
}

/// Its number on Linux.
const SIGKILL: i32 = 9;

/// Waits for a player on its leash, and kills it after `patience`.
fn wait(child: &Child, patience: Duration) -> Result<(ExitStatus, bool), SysError> {
    // The ID may belong to another process once the leash has waited for the player.
    let player = PidFd::of_process(child.id())?;
    let (ended, end) = channel::<()>();
    let killer = std::thread::spawn(move || {
        let is_late = end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout);
        is_late && player.send(SIGKILL).is_ok()
    });
    let status = Leash::take(child).and_then(|mut leash| leash.wait());
    drop(ended);
    let was_killed = killer.join().unwrap_or(false);
    Ok((status?, was_killed))
}

fn unusual_end(
    status: ExitStatus,
    was_killed: bool,
    patience: Duration,
    said: &str,
) -> Option<String> {
    let end = match (was_killed, status.success()) {
        (true, _) => format!("it did not end within {} s and was killed", patience.as_secs()),
        (false, true) => return None,
        (false, false) => format!("it ended with {status}"),
    };
    Some(if said.is_empty() { end } else { format!("{end}: {said}") })
}
