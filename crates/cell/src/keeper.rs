//! Settings of the machine that are changed while a cell is measured, and put back after.
//!
//! They are the machine's, so they must be put back whatever becomes of the measurement.
//! A process of our own, the keeper, changes them and waits for the end of its standard
//! input, which comes when the measuring process ends, however it does. What a setting was
//! is noted in a file beforehand: when the keeper itself is killed, the next measuring
//! process puts it back (`put_back_left`).

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde::{Deserialize, Serialize};
use tactus_sys::setting::Setting;
use tactus_sys::{Errno, process};

/// Where it is noted what settings were, below the root.
const NOTES: &str = "run/tactus/settings";

/// A setting and what it is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Its file, below the root.
    pub path: PathBuf,
    /// The value.
    pub value: u64,
}

/// What the keeper is told: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The root of the tree in which the settings and the notes are.
    root: PathBuf,
    changes: Vec<Change>,
}

/// What it answers: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// All are changed.
    Held,
    /// The machine is as it was.
    Refused(Refusal),
}

/// Why a setting was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// The reason, in a sentence.
    pub reason: String,
    /// What would mend it, where something would.
    pub mend: Option<String>,
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>, mend: Option<&str>) -> Self {
        Self { reason: reason.into(), mend: mend.map(str::to_owned) }
    }

    /// What an answer of the system means, when it was asked to do `what`.
    pub(crate) fn of(what: &str, error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::NOENT) => {
                Self::new(format!("{what}: this kernel has no such setting"), None)
            }
            Some(Errno::ACCESS | Errno::PERM) => {
                Self::new(format!("{what}: only root may"), Some("start it by sudo"))
            }
            Some(Errno::ROFS) => Self::new(
                format!("{what}: the container may not change it"),
                Some("start it outside of the container"),
            ),
            Some(Errno::WOULDBLOCK) => Self::new(
                format!("{what}: another measurement holds it"),
                Some("wait until that has ended"),
            ),
            _ => Self::new(format!("{what}: {error}"), None),
        }
    }
}

/// Settings that are changed for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Kept {
    keeper: Child,
    /// The keeper puts the settings back when this is closed.
    lifeline: Option<ChildStdin>,
}

impl Kept {
    /// Starts the keeper by `executable`, which must run [`main`] when it is given
    /// `internal keeper`.
    pub(crate) fn start(executable: &Path, changes: Vec<Change>) -> Result<Self, Refusal> {
        let failed = |error: io::Error| Refusal::of("starting the keeper of settings", &error);
        let mut command = Command::new(executable);
        command
            .args(["internal", "keeper"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Who ends our group means the measurement; the keeper ends after it.
            .process_group(0);
        let mut keeper = command.spawn().map_err(failed)?;
        let lifeline = keeper.stdin.take();
        let answers = keeper.stdout.take();
        // From here on, leaving early drops this, which waits until all is put back.
        let mut kept = Self { keeper, lifeline };
        let mut line = String::new();
        if let (Some(lifeline), Some(answers)) = (&mut kept.lifeline, answers) {
            tell(lifeline, &Order { root: "/".into(), changes }).map_err(failed)?;
            BufReader::new(answers).read_line(&mut line).map_err(failed)?;
        }
        match serde_json::from_str(&line) {
            Ok(Answer::Held) => Ok(kept),
            Ok(Answer::Refused(refusal)) => Err(refusal),
            Err(_) => Err(Refusal::new("the keeper of settings ended", None)),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // Whatever its end was, there is nothing more to do about it here.
        let _ = self.keeper.wait();
    }
}

/// The whole body of `tactus internal keeper`.
///
/// # Errors
/// The order cannot be read or the answer not be written; the machine is as it was.
pub fn main() -> io::Result<()> {
    // Before anything is changed: who is asked to end leaves nothing changed behind.
    process::ignore_requests_to_end().map_err(io::Error::other)?;
    keep(&mut io::stdin().lock(), &mut io::stdout().lock())
}

/// Changes the settings, answers, waits for the end of `input`, and puts them back.
fn keep(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let Order { root, changes } = serde_json::from_str(&line)?;
    let changed: Result<Vec<Changed>, Refusal> =
        changes.into_iter().map(|change| Changed::make(&root, change)).collect();
    match changed {
        Err(refusal) => tell(output, &Answer::Refused(refusal)),
        Ok(_changed) => {
            tell(output, &Answer::Held)?;
            // Nothing more is sent, so whatever is read is the end of the measurement.
            let _ = input.read(&mut [0]);
            Ok(())
        }
    }
}

/// What a setting was; a note's content.
#[derive(Debug, Serialize, Deserialize)]
struct Was {
    path: PathBuf,
    value: u64,
}

/// A setting that is changed until this is dropped.
struct Changed {
    setting: Setting,
    was: u64,
    note: PathBuf,
}

impl Changed {
    fn make(root: &Path, Change { path, value }: Change) -> Result<Self, Refusal> {
        let refused =
            |error: io::Error| Refusal::of(&format!("writing /{}", path.display()), &error);
        let setting = Setting::open(&root.join(&path)).map_err(refused)?;
        setting.lock().map_err(refused)?;
        let note = root.join(NOTES).join(path.to_string_lossy().replace('/', "-"));
        // Under the lock a note is left from a keeper that was killed.
        let was = match noted(&note) {
            Some(was) => was.value,
            None => setting.get().map_err(refused)?,
        };
        keep_note(&note, &Was { path: path.clone(), value: was }).map_err(|error| {
            let what = format!("noting in {} what /{} was", note.display(), path.display());
            Refusal::of(&what, &error)
        })?;
        // From here on, leaving early drops this, which puts it back.
        let changed = Self { setting, was, note };
        changed.setting.set(value).map_err(refused)?;
        Ok(changed)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // Where the kernel refuses what was its own value, the note stays for the next.
        if self.setting.set(self.was).is_ok() {
            let _ = fs::remove_file(&self.note);
        }
    }
}

fn noted(note: &Path) -> Option<Was> {
    serde_json::from_str(&fs::read_to_string(note).ok()?).ok()
}

fn keep_note(note: &Path, was: &Was) -> io::Result<()> {
    note.parent().map_or(Ok(()), fs::create_dir_all)?;
    // Whole or not at all: a note that was cut short would put a wrong value back.
    let beside = note.with_extension("new");
    fs::write(&beside, serde_json::to_string(was)?)?;
    fs::rename(beside, note)
}

/// Puts back the settings that keepers which were killed have left changed below `root`.
///
/// Without the right to do so there is no such note either, since it takes the same.
pub(crate) fn put_back_left(root: &Path) {
    for entry in fs::read_dir(root.join(NOTES)).into_iter().flatten().flatten() {
        let note = entry.path();
        let path = noted(&note).map(|was| root.join(was.path));
        let Some(setting) = path.and_then(|path| Setting::open(&path).ok()) else { continue };
        // A keeper that still runs holds the lock.
        if setting.lock().is_ok()
            && let Some(was) = noted(&note)
            && setting.set(was.value).is_ok()
        {
            let _ = fs::remove_file(note);
        }
    }
}

fn tell(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Where the made-up machine has its one setting, which is 1280.
    const PATH: &str = "sys/block/sda/queue/max_sectors_kb";

    struct MadeUp(tempfile::TempDir);

    impl MadeUp {
        fn new() -> Self {
            let made_up = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(made_up.file().parent().unwrap()).unwrap();
            made_up.set(1280);
            made_up
        }

        fn file(&self) -> PathBuf {
            self.0.path().join(PATH)
        }

        fn set(&self, value: u64) {
            fs::write(self.file(), format!("{value}\n")).unwrap();
        }

        fn value(&self) -> u64 {
            let text = fs::read_to_string(self.file()).unwrap();
            text.lines().next().unwrap().parse().unwrap()
        }

        fn changes(&self) -> Vec<Change> {
            vec![Change { path: PATH.into(), value: 4 }]
        }

        /// What a killed keeper leaves.
        fn leave_behind(&self) {
            let note = self.0.path().join(NOTES).join(PATH.replace('/', "-"));
            keep_note(&note, &Was { path: PATH.into(), value: 1280 }).unwrap();
            self.set(4);
        }

        fn notes(&self) -> usize {
            fs::read_dir(self.0.path().join(NOTES)).map_or(0, Iterator::count)
        }
    }

    /// An input that tells the order, and at its end what the setting is by then.
    struct Watching<'m> {
        order: io::Cursor<Vec<u8>>,
        machine: &'m MadeUp,
        meanwhile: Option<u64>,
    }

    impl Read for Watching<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = Read::read(&mut self.order, buffer)?;
            if read == 0 {
                self.meanwhile = Some(self.machine.value());
            }
            Ok(read)
        }
    }

    fn kept(machine: &MadeUp, changes: Vec<Change>) -> (String, Option<u64>) {
        let order = Order { root: machine.0.path().to_owned(), changes };
        let order = io::Cursor::new([serde_json::to_vec(&order).unwrap(), b"\n".to_vec()].concat());
        let mut input = BufReader::new(Watching { order, machine, meanwhile: None });
        let mut output = Vec::new();
        keep(&mut input, &mut output).unwrap();
        (String::from_utf8(output).unwrap(), input.get_ref().meanwhile)
    }

    #[test]
    fn a_setting_is_changed_until_the_input_ends_and_then_what_it_was() {
        let machine = MadeUp::new();
        let (answer, meanwhile) = kept(&machine, machine.changes());
        assert_eq!(answer, "\"held\"\n");
        assert_eq!(meanwhile, Some(4));
        assert_eq!((machine.value(), machine.notes()), (1280, 0));
    }

    #[test]
    fn when_one_of_several_is_refused_none_is_changed() {
        let machine = MadeUp::new();
        let missing = Change { path: "sys/no/such".into(), value: 1 };
        let (answer, _) = kept(&machine, [machine.changes(), vec![missing]].concat());
        assert!(answer.contains("this kernel has no such setting"), "{answer}");
        assert_eq!((machine.value(), machine.notes()), (1280, 0));
    }

    #[test]
    fn what_a_killed_keeper_left_is_put_back_and_one_that_runs_is_left_alone() {
        let machine = MadeUp::new();
        let [change] = machine.changes().try_into().unwrap();
        let running = Changed::make(machine.0.path(), change).map_err(|refusal| refusal.reason);
        put_back_left(machine.0.path());
        assert_eq!((machine.value(), machine.notes()), (4, 1));
        drop(running);
        machine.leave_behind();
        put_back_left(machine.0.path());
        assert_eq!((machine.value(), machine.notes()), (1280, 0));
    }

    #[test]
    fn a_value_that_was_left_is_not_taken_for_the_machines_own() {
        let machine = MadeUp::new();
        machine.leave_behind();
        kept(&machine, machine.changes());
        assert_eq!((machine.value(), machine.notes()), (1280, 0));
    }

    #[test]
    fn another_measurement_that_holds_it_is_named() {
        let machine = MadeUp::new();
        let setting = Setting::open(&machine.file()).unwrap();
        setting.lock().unwrap();
        let (answer, _) = kept(&machine, machine.changes());
        assert!(answer.contains("another measurement holds it"), "{answer}");
        assert_eq!((machine.value(), machine.notes()), (1280, 0));
    }
}
