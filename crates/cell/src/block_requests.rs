//! Disks that move one page at a request while a cell is measured, and are put back after.
//!
//! The limit of a disk is the machine's, so it must be put back whatever becomes of the
//! measurement. A process of our own, the keeper, changes it and waits for the end of
//! its standard input, which comes when the measuring process ends, however it does.
//! What the limit was is noted in a file beforehand: when the keeper itself is killed,
//! the next measuring process puts the limit back (`put_back_left`).

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde::{Deserialize, Serialize};
use tactus_model::block_requests::BlockRequests;
use tactus_model::result::Shortfall;
use tactus_sys::block_queue::{RequestLimit, disks_under};
use tactus_sys::{Errno, process};

/// Where it is noted what limits were, below the root.
const NOTES: &str = "run/tactus/block-requests";

/// What the keeper is told: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The root of the tree in which `sys` and `run` are.
    root: PathBuf,
    /// The directory whose disks are meant.
    directory: PathBuf,
}

/// What it answers: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// These disks are held.
    Held(Vec<String>),
    /// The machine is as it was.
    Refused(Refusal),
}

/// Why a limit was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Refusal {
    /// The reason, in a sentence.
    reason: String,
    /// What would mend it, where something would.
    mend: Option<String>,
}

impl Refusal {
    fn new(reason: impl Into<String>, mend: Option<&str>) -> Self {
        Self { reason: reason.into(), mend: mend.map(str::to_owned) }
    }

    /// What an answer of the system means, when it was asked to do `what`.
    fn of(what: &str, error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::NODEV) => Self::new(
                format!("{what}: it lies on no block device of this machine"),
                Some("set TMPDIR to a directory on a disk"),
            ),
            Some(Errno::ACCESS | Errno::PERM) => {
                Self::new(format!("{what}: only root may"), Some("start it by sudo"))
            }
            Some(Errno::ROFS) => Self::new(
                format!("{what}: the container may not change /sys"),
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

/// Sees to it that the disks under `directory` move as much at one request as is wanted,
/// for as long as the answer lives; none where they are left as they are.
///
/// # Errors
/// What is not granted, as it is to be told. The machine is as it was.
pub fn hold(
    wanted: BlockRequests,
    executable: &Path,
    directory: &Path,
) -> Result<Option<SinglePages>, Shortfall> {
    put_back_left(Path::new("/"));
    match wanted {
        BlockRequests::Untouched => Ok(None),
        BlockRequests::Single => SinglePages::hold(executable, directory).map(Some),
    }
}

/// Disks that move one page at a request for as long as this value lives.
#[derive(Debug)]
pub struct SinglePages {
    keeper: Child,
    /// The keeper puts the limits back when this is closed.
    lifeline: Option<ChildStdin>,
}

impl SinglePages {
    /// Starts the keeper for the disks under `directory`, by `executable`, which must run
    /// [`main`] when it is given `internal block-requests`.
    fn hold(executable: &Path, directory: &Path) -> Result<Self, Shortfall> {
        let order = Order { root: "/".into(), directory: directory.to_owned() };
        Self::start(executable, &order).map_err(|Refusal { reason, mend }| Shortfall {
            asked: format!("block-requests {}", BlockRequests::Single),
            granted: format!("block-requests {}", BlockRequests::Untouched),
            reason,
            mend,
        })
    }

    fn start(executable: &Path, order: &Order) -> Result<Self, Refusal> {
        let failed =
            |error: io::Error| Refusal::of("starting the keeper of block requests", &error);
        let mut command = Command::new(executable);
        command
            .args(["internal", "block-requests"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Who ends our group means the measurement; the keeper ends after it.
            .process_group(0);
        let mut keeper = command.spawn().map_err(failed)?;
        let lifeline = keeper.stdin.take();
        let answers = keeper.stdout.take();
        // From here on, leaving early drops this, which waits until all is put back.
        let mut held = Self { keeper, lifeline };
        let mut line = String::new();
        if let (Some(lifeline), Some(answers)) = (&mut held.lifeline, answers) {
            tell(lifeline, order).map_err(failed)?;
            BufReader::new(answers).read_line(&mut line).map_err(failed)?;
        }
        match serde_json::from_str(&line) {
            Ok(Answer::Held(_)) => Ok(held),
            Ok(Answer::Refused(refusal)) => Err(refusal),
            Err(_) => Err(Refusal::new("the keeper of block requests ended", None)),
        }
    }
}

impl Drop for SinglePages {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // Whatever its end was, there is nothing more to do about it here.
        let _ = self.keeper.wait();
    }
}

/// The whole body of `tactus internal block-requests`.
///
/// # Errors
/// The order cannot be read or the answer not be written; the machine is as it was.
pub fn main() -> io::Result<()> {
    // Before anything is changed: who is asked to end leaves nothing changed behind.
    process::ignore_requests_to_end().map_err(io::Error::other)?;
    keep(&mut io::stdin().lock(), &mut io::stdout().lock())
}

/// Changes the limits, answers, waits for the end of `input`, and puts the limits back.
fn keep(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    match changed(&order) {
        Err(refusal) => tell(output, &Answer::Refused(refusal)),
        Ok(changed) => {
            let disks = changed.iter().map(|limit| limit.disk.clone()).collect();
            tell(output, &Answer::Held(disks))?;
            // Nothing more is sent, so whatever is read is the end of the measurement.
            let _ = input.read(&mut [0]);
            Ok(())
        }
    }
}

fn changed(order: &Order) -> Result<Vec<Changed>, Refusal> {
    let what = format!("changing the requests to the disk of {}", order.directory.display());
    let disks = disks_under(&order.root, &order.directory);
    let disks = disks.map_err(|error| Refusal::of(&what, &error))?;
    if disks.is_empty() {
        return Err(Refusal::of(&what, &Errno::NODEV.into()));
    }
    disks.into_iter().map(|disk| Changed::make(&order.root, disk)).collect()
}

/// A disk whose limit is changed until this is dropped.
struct Changed {
    disk: String,
    limit: RequestLimit,
    was: u32,
    note: PathBuf,
}

impl Changed {
    fn make(root: &Path, disk: String) -> Result<Self, Refusal> {
        let refused = |error: io::Error| {
            Refusal::of(&format!("writing /sys/block/{disk}/queue/max_sectors_kb"), &error)
        };
        let limit = RequestLimit::open(root, &disk).map_err(refused)?;
        limit.lock().map_err(refused)?;
        let note = root.join(NOTES).join(&disk);
        // Under the lock a note is left from a keeper that was killed.
        let was = match noted(&note) {
            Some(was) => was,
            None => limit.get().map_err(refused)?,
        };
        keep_note(&note, was).map_err(|error| {
            Refusal::of(&format!("noting the limit of {disk} in {}", note.display()), &error)
        })?;
        // From here on, leaving early drops this, which puts it back.
        let changed = Self { disk: disk.clone(), limit, was, note };
        changed.limit.set(RequestLimit::least()).map_err(refused)?;
        Ok(changed)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // Where the kernel refuses what was its own value, the note stays for the next.
        if self.limit.set(self.was).is_ok() {
            let _ = fs::remove_file(&self.note);
        }
    }
}

fn noted(note: &Path) -> Option<u32> {
    fs::read_to_string(note).ok()?.trim().parse().ok()
}

fn keep_note(note: &Path, was: u32) -> io::Result<()> {
    note.parent().map_or(Ok(()), fs::create_dir_all)?;
    // Whole or not at all: a note that was cut short would put a wrong limit back.
    let beside = note.with_extension("new");
    fs::write(&beside, format!("{was}\n"))?;
    fs::rename(beside, note)
}

/// Puts back the limits that keepers which were killed have left changed below `root`.
///
/// Without the right to do so there is no such note either, since it takes the same.
fn put_back_left(root: &Path) {
    for entry in fs::read_dir(root.join(NOTES)).into_iter().flatten().flatten() {
        let (note, disk) = (entry.path(), entry.file_name());
        let Some(limit) = disk.to_str().and_then(|disk| RequestLimit::open(root, disk).ok()) else {
            continue;
        };
        // A keeper that still runs holds the lock.
        if limit.lock().is_ok()
            && let Some(was) = noted(&note)
            && limit.set(was).is_ok()
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
    use std::os::unix::fs::{MetadataExt, symlink};

    use tactus_sys::block_queue;

    use super::*;

    /// A machine of one disk, on which everything lies, with a limit of 1280 KiB.
    struct MadeUp(tempfile::TempDir);

    impl MadeUp {
        fn new() -> Self {
            let made_up = Self(tempfile::tempdir().unwrap());
            let device = fs::metadata(made_up.0.path()).unwrap().dev();
            for place in ["sys/dev/block", "sys/block/sda/queue"] {
                fs::create_dir_all(made_up.0.path().join(place)).unwrap();
            }
            let number = made_up.0.path().join("sys/dev/block").join(block_queue::number(device));
            symlink(made_up.0.path().join("sys/block/sda"), number).unwrap();
            made_up.set(1280);
            made_up
        }

        fn limit_file(&self) -> PathBuf {
            self.0.path().join("sys/block/sda/queue/max_sectors_kb")
        }

        fn set(&self, kib: u32) {
            fs::write(self.limit_file(), format!("{kib}\n")).unwrap();
        }

        fn limit(&self) -> u32 {
            let text = fs::read_to_string(self.limit_file()).unwrap();
            text.lines().next().unwrap().parse().unwrap()
        }

        fn order(&self) -> Order {
            Order { root: self.0.path().to_owned(), directory: self.0.path().to_owned() }
        }

        /// What a killed keeper leaves.
        fn leave_behind(&self) {
            keep_note(&self.0.path().join(NOTES).join("sda"), 1280).unwrap();
            self.set(RequestLimit::least());
        }

        fn notes(&self) -> usize {
            fs::read_dir(self.0.path().join(NOTES)).map_or(0, Iterator::count)
        }
    }

    /// An input that tells the order, and at its end what the limit is by then.
    struct Watching<'m> {
        order: io::Cursor<Vec<u8>>,
        machine: &'m MadeUp,
        meanwhile: Option<u32>,
    }

    impl Read for Watching<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = Read::read(&mut self.order, buffer)?;
            if read == 0 {
                self.meanwhile = Some(self.machine.limit());
            }
            Ok(read)
        }
    }

    fn kept(machine: &MadeUp) -> (String, Option<u32>) {
        let order = io::Cursor::new(
            [serde_json::to_vec(&machine.order()).unwrap(), b"\n".to_vec()].concat(),
        );
        let mut input = BufReader::new(Watching { order, machine, meanwhile: None });
        let mut output = Vec::new();
        keep(&mut input, &mut output).unwrap();
        (String::from_utf8(output).unwrap(), input.get_ref().meanwhile)
    }

    #[test]
    fn a_limit_is_a_page_until_the_input_ends_and_then_what_it_was() {
        let machine = MadeUp::new();
        let (answer, meanwhile) = kept(&machine);
        assert_eq!(answer, "{\"held\":[\"sda\"]}\n");
        assert_eq!(meanwhile, Some(RequestLimit::least()));
        assert_eq!((machine.limit(), machine.notes()), (1280, 0));
    }

    #[test]
    fn what_a_killed_keeper_left_is_put_back_and_one_that_runs_is_left_alone() {
        let machine = MadeUp::new();
        let running =
            Changed::make(machine.0.path(), "sda".into()).map_err(|refusal| refusal.reason);
        put_back_left(machine.0.path());
        assert_eq!((machine.limit(), machine.notes()), (RequestLimit::least(), 1));
        drop(running);
        machine.leave_behind();
        put_back_left(machine.0.path());
        assert_eq!((machine.limit(), machine.notes()), (1280, 0));
    }

    #[test]
    fn a_limit_that_was_left_is_not_taken_for_the_machines_own() {
        let machine = MadeUp::new();
        machine.leave_behind();
        kept(&machine);
        assert_eq!((machine.limit(), machine.notes()), (1280, 0));
    }

    #[test]
    fn another_measurement_that_holds_it_is_named() {
        let machine = MadeUp::new();
        let limit = RequestLimit::open(machine.0.path(), "sda").unwrap();
        limit.lock().unwrap();
        let (answer, _) = kept(&machine);
        assert!(answer.contains("another measurement holds it"), "{answer}");
        assert_eq!((machine.limit(), machine.notes()), (1280, 0));
    }

    #[test]
    fn a_directory_on_no_disk_is_refused_and_says_what_to_do() {
        let machine = MadeUp::new();
        let order = Order { directory: "/proc".into(), ..machine.order() };
        let Err(refusal) = changed(&order) else { panic!("/proc lies on no disk") };
        assert!(refusal.reason.contains("on no block device"), "{}", refusal.reason);
        assert!(refusal.mend.is_some_and(|mend| mend.contains("TMPDIR")));
    }
}
