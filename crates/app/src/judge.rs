//! Judging players: the clips, the turns, and recordings of rooms.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use tactus_model::load::Load;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_observer::{Event, MakeError, PLACE, Player, PlayerName, make};
use tactus_synchrony::judgement::{Judgement, NamedPlayer, Plan};
use tactus_synchrony::{Clip, Findings, wave};
use tactus_sys::owned_directory::OwnedDirectory;
use tactus_sys::program;
use tactus_sys::whole_file::Readers;

use crate::plan::new_seed;
use crate::{Error, ErrorKind, Result, files};

/// The prefix of directories with clips.
const DIRECTORY: &str = "tactus-clips-";

/// The most loads of a judgement: each takes as many turns as playing without any.
const LOADS_MOST: usize = 16;

/// The most characters of a command as the name of a player.
const LABEL_MOST: usize = 40;

/// What is to be judged.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The players; without any, all known ones that are installed.
    pub players: Vec<Player>,
    /// The clips.
    pub clips: Vec<Clip>,
    /// The loads beside which they are played, besides no load.
    pub loads: Vec<Load>,
    /// The reserve with which players that take one play as well.
    pub reserve: Option<Capacity>,
    /// How often each player plays each clip.
    pub rounds: u16,
    /// What determines the order of the turns; `None` for a new one.
    pub seed: Option<u64>,
    /// The frames of a cycle of the sound server.
    pub quantum: u32,
    /// The time between two looks at the picture.
    pub look: Nanos,
}

/// Players that are installed, and clips that are made.
#[derive(Debug)]
pub struct Prepared {
    /// What will be judged.
    pub plan: Plan,
    players: Vec<Player>,
    files: Vec<PathBuf>,
    /// The clips are in it.
    _folder: OwnedDirectory,
}

/// Finds the players and makes the clips. `progress` gets the frames so far and those of all clips.
///
/// # Errors
/// A player is not installed or none takes the reserve, there are too many loads, a clip cannot be
/// made, or `is_over` ended it.
pub fn prepare(
    wanted: Wanted,
    is_over: &AtomicBool,
    progress: &mut dyn FnMut(u32, u32),
) -> Result<Prepared> {
    let Wanted { players, clips, loads, reserve, rounds, seed, quantum, look } = wanted;
    let clips: Result<Vec<Clip>> =
        clips.into_iter().map(|clip| clip.checked().map_err(Error::usage)).collect();
    let clips = clips?;
    let loads = with_idle(loads)?;
    let (players, named) = with_reserve(installed(players)?, reserve)?;
    let folder = folder()?;
    let of = clips.iter().map(Clip::frames).sum();
    let mut before = 0;
    let mut files = Vec::new();
    for clip in &clips {
        let made = make(clip, folder.path(), &mut |frames| {
            progress(before + frames, of);
            !is_over.load(Ordering::Relaxed)
        });
        if is_over.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        files.push(made.map_err(not_made)?);
        before += clip.frames();
    }
    let seed = seed.unwrap_or_else(new_seed);
    let plan = Plan { players: named, clips, loads, rounds, seed, quantum, look };
    Ok(Prepared { plan, players, files, _folder: folder })
}

impl Prepared {
    /// Judges the players. `is_over` ends it after the present turn.
    ///
    /// # Errors
    /// It was ended before any turn.
    pub fn judge(
        self,
        is_over: &AtomicBool,
        listener: &mut dyn FnMut(&Plan, Event<'_>),
    ) -> Result<Judgement> {
        let Self { plan, players, files, _folder } = self;
        let judged = tactus_observer::judge(plan, &players, &files, is_over, listener);
        judged.map_err(|_| interrupted())
    }
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "no player was judged")
}

fn not_made(error: MakeError) -> Error {
    let hint = error.hint().map(str::to_owned);
    Error::new(ErrorKind::Unavailable, error).with_hint_if_any(hint)
}

fn folder() -> Result<OwnedDirectory> {
    OwnedDirectory::create(&std::env::temp_dir(), DIRECTORY)
        .map_err(|error| Error::new(ErrorKind::Unavailable, error))
}

/// No load, and each of these once.
fn with_idle(loads: Vec<Load>) -> Result<Vec<Load>> {
    let mut all = vec![Load::IDLE];
    for load in loads {
        if !all.contains(&load) {
            all.push(load);
        }
    }
    match all.len() - 1 {
        0..=LOADS_MOST => Ok(all),
        count => Err(Error::usage(format!("{count} loads; at most {LOADS_MOST} are possible"))),
    }
}

/// Players with their names.
type Named = (Vec<Player>, Vec<NamedPlayer>);

/// The players, and after each that takes a reserve the same with the reserve.
fn with_reserve((players, named): Named, reserve: Option<Capacity>) -> Result<Named> {
    if reserve.is_some() && !players.iter().any(Player::takes_reserve) {
        let error = Error::usage("none of the players takes a reserve");
        return Err(error.with_hint(format!("--player {} does", PlayerName::Tactus)));
    }
    let sides = players.into_iter().zip(named).flat_map(|(player, named)| {
        let reserved = reserve.filter(|_| player.takes_reserve()).map(|capacity| {
            (player.clone(), NamedPlayer { reserve: Some(capacity), ..named.clone() })
        });
        [(player, named)].into_iter().chain(reserved)
    });
    Ok(sides.unzip())
}

/// The players with their versions.
fn installed(players: Vec<Player>) -> Result<Named> {
    if players.is_empty() {
        let known = PlayerName::ALL.into_iter();
        let found = known.filter_map(|name| Some((Player::Known(name), name.version()?)));
        return Ok(found
            .map(|(player, version)| {
                let name = player.name();
                (player, NamedPlayer { name, version, reserve: None })
            })
            .unzip());
    }
    let mut named = Vec::new();
    for player in &players {
        let version = match player {
            Player::Known(name) => name.version().ok_or_else(|| {
                let error = format!("`{name}` is not installed");
                let fix = name.fix().map(str::to_owned);
                Error::new(ErrorKind::Unavailable, error).with_hint_if_any(fix)
            })?,
            Player::Command(words) if !is_there(words) => {
                let error = format!("`{}` is not installed", player.name());
                return Err(Error::new(ErrorKind::Unavailable, error));
            }
            Player::Command(_) => String::new(),
        };
        let name = label(player, &named);
        named.push(NamedPlayer { name, version, reserve: None });
    }
    Ok((players, named))
}

/// The name of a player; that of a command has its arguments too if a player before it has the name.
fn label(player: &Player, before: &[NamedPlayer]) -> String {
    let is_taken = |name: &str| before.iter().any(|other| other.name == name);
    let name = player.name();
    let Player::Command(words) = player else { return name };
    if !is_taken(&name) {
        return name;
    }
    let arguments = words.iter().skip(1).filter(|word| *word != PLACE);
    let long = arguments.fold(name.clone(), |name, word| format!("{name} {word}"));
    let short = match long.chars().count() {
        0..=LABEL_MOST => long,
        _ => long.chars().take(LABEL_MOST - 1).chain(['…']).collect(),
    };
    if is_taken(&short) { format!("{name} (command)") } else { short }
}

/// Whether the program of a command exists, by its path or in `PATH`.
fn is_there(words: &[String]) -> bool {
    words.first().is_some_and(|program| program::find(program).is_some())
}

/// Makes a clip and writes it to a file.
///
/// # Errors
/// It cannot be made or written, or `is_over` ended it.
pub fn write_clip(
    clip: &Clip,
    path: &Path,
    is_over: &AtomicBool,
    progress: &mut dyn FnMut(u32, u32),
) -> Result<()> {
    let clip = clip.checked().map_err(Error::usage)?;
    files::check(path)?;
    let folder = folder()?;
    let made = make(&clip, folder.path(), &mut |frames| {
        progress(frames, clip.frames());
        !is_over.load(Ordering::Relaxed)
    });
    if is_over.load(Ordering::Relaxed) {
        return Err(Error::new(ErrorKind::Interrupted, "no clip was written"));
    }
    let mut made = File::open(made.map_err(not_made)?).map_err(not_read)?;
    files::write_with(path, Readers::Usual, |out| {
        io::copy(&mut made, out).map(drop).map_err(not_read)
    })
}

fn not_read(error: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, error)
}

/// Judges a recording of a real room: a wave file with a microphone and a photodiode.
///
/// # Errors
/// The file cannot be read, or has no marks.
pub fn room(path: &Path) -> Result<Findings> {
    let wrong =
        |error: Error| error.within(ErrorKind::Usage, format!("cannot judge {}", path.display()));
    let file = files::open(path).map_err(|error| wrong(Error::usage(error)))?;
    let recording = wave::read(BufReader::new(file)).map_err(|error| wrong(Error::usage(error)))?;
    recording.findings().map_err(|error| wrong(Error::usage(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_the_name_of_another_player_has_its_arguments() {
        let mpv = NamedPlayer { name: "mpv".to_owned(), version: String::new(), reserve: None };
        let command = |text: &str| {
            let words = text.split(' ').map(str::to_owned).collect();
            label(&Player::Command(words), std::slice::from_ref(&mpv))
        };
        assert_eq!(command("vlc --play-and-exit {}"), "vlc");
        assert_eq!(command("/usr/bin/mpv --audio-delay=0.1 {}"), "mpv --audio-delay=0.1");
        assert_eq!(command("mpv {}"), "mpv (command)");
        let long = command("mpv --audio-delay=0.1 --geometry=100%x100% --no-border {}");
        assert_eq!(long, "mpv --audio-delay=0.1 --geometry=100%x1…");
        assert_eq!(long.chars().count(), LABEL_MOST);
    }
}
