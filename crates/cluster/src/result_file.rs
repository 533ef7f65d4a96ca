//! The file with the messages of one turn.
//!
//! Its first line is a header with the digests of the job and of all that follows: the messages of the
//! guest, one a line. A file appears complete or not at all, under a name that no other task uses.
//! A reader believes nothing of it: it limits sizes, compares digests and the turn, and the engine
//! checks the messages like those of any measuring process.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tactus_guests::output_limit;
use tactus_model::digest::sha256;
use tactus_model::message::Message;
use tactus_model::time::Realtime;
use tactus_wire::{MESSAGE_LIMIT, encode};

use crate::directory::{RESULTS, plain};
use crate::error::of_file;
use crate::{ClusterError, Job};

const FORMAT: &str = "tactus-turn-2";

/// The end of the names of result files.
pub(crate) const SUFFIX: &str = ".turn";

/// The maximum size of a header in bytes.
const HEADER_LIMIT: u64 = 1 << 12;

/// The most characters of a node's name.
const NODE: usize = 64;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    /// The digest of the job.
    job: String,
    /// The index of the turn in the job.
    turn: usize,
    /// The node that measured it.
    node: String,
    /// Whether the turn failed.
    failed: bool,
    /// The digest of the messages.
    sha256: String,
}

/// The messages of one turn, collected by a task.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    lines: Vec<u8>,
    failed: bool,
    /// Whether the last message is there.
    pub(crate) is_over: bool,
}

impl Collected {
    /// Adds a message.
    ///
    /// # Errors
    /// JSON cannot represent it.
    pub(crate) fn add(&mut self, message: &Message) -> io::Result<()> {
        match message {
            Message::Finished(_) => self.is_over = true,
            Message::Failed { .. } | Message::HostFault { .. } => {
                (self.is_over, self.failed) = (true, true);
            }
            _ => {}
        }
        let line =
            encode(message, MESSAGE_LIMIT).map_err(|error| io::Error::other(error.to_string()))?;
        self.lines.extend(line);
        Ok(())
    }

    /// Writes the file of a turn into the directory of a job.
    pub(crate) fn write(
        self,
        directory: &Path,
        job: &str,
        turn: usize,
        node: &str,
    ) -> Result<(), ClusterError> {
        let node: String = node.chars().map(plain).take(NODE).collect();
        let header = Header {
            format: FORMAT.to_owned(),
            job: job.to_owned(),
            turn,
            node: node.clone(),
            failed: self.failed,
            sha256: sha256([&self.lines]),
        };
        // Another task may measure the same turn, on the same node too.
        let now = tactus_sys::clock::now::<Realtime>().as_nanos();
        let unique = format!("{turn}.{node}.{}-{now}", std::process::id());
        let results = directory.join(RESULTS);
        let part = results.join(format!(".{unique}.part"));
        let write = || -> io::Result<()> {
            let mut file = File::create_new(&part)?;
            serde_json::to_writer(&mut file, &header)?;
            file.write_all(b"\n")?;
            file.write_all(&self.lines)?;
            file.sync_all()?;
            fs::rename(&part, results.join(format!("{unique}{SUFFIX}")))
        };
        write().map_err(of_file("write", &part)).inspect_err(|_| {
            // A part that stays is ignored.
            let _ = fs::remove_file(&part);
        })
    }
}

/// A result file that was read and checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checked {
    /// The node that measured it.
    pub(crate) node: String,
    /// Whether the turn failed.
    pub(crate) failed: bool,
    /// The digest of the messages.
    pub(crate) digest: String,
    /// The messages.
    pub(crate) messages: Vec<Message>,
}

/// Reads and checks the result of a turn of `job`, whose digest is `digest`.
///
/// # Errors
/// A sentence that says why the file is not accepted.
pub(crate) fn read(path: &Path, job: &Job, digest: &str, turn: usize) -> Result<Checked, String> {
    let cell = job.cell(turn).ok_or_else(|| format!("the job has no turn {turn}"))?;
    let limit = HEADER_LIMIT + output_limit(cell, 1);
    let failed = |error: io::Error| error.to_string();
    let file = tactus_sys::regular_file::open_of_others(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() > limit {
        return Err(format!("it has more than {limit} bytes, the limit for its cell"));
    }
    check(BufReader::new(file.take(limit)), job, digest, turn)
}

/// Reads the messages of a result file, checked as those of a node: the result of a turn of `job`, whose digest is
/// `digest`.
///
/// # Errors
/// A sentence that says why the file is not accepted.
pub fn read_messages(
    reader: impl BufRead,
    job: &Job,
    digest: &str,
    turn: usize,
) -> Result<Vec<Message>, String> {
    check(reader, job, digest, turn).map(|checked| checked.messages)
}

/// Reads and checks the content of a result file.
fn check(
    mut reader: impl BufRead,
    job: &Job,
    digest: &str,
    turn: usize,
) -> Result<Checked, String> {
    let failed = |error: io::Error| error.to_string();
    let mut line = Vec::new();
    reader.by_ref().take(HEADER_LIMIT).read_until(b'\n', &mut line).map_err(failed)?;
    let header: Header = serde_json::from_slice(&line)
        .map_err(|error| format!("it has no valid header: {error}"))?;
    if header.format != FORMAT {
        return Err(format!("its format is not {FORMAT}"));
    }
    if header.job != digest {
        return Err("it belongs to another plan: the digest of the job differs".to_owned());
    }
    if header.turn != turn {
        return Err(format!("it is named for turn {turn} and is of turn {}", header.turn));
    }
    if header.node.chars().count() > NODE || header.node.chars().any(|c| plain(c) != c) {
        return Err("the name of its node is invalid".to_owned());
    }
    let mut body = Vec::new();
    reader.read_to_end(&mut body).map_err(failed)?;
    let digest = sha256([&body]);
    if digest != header.sha256 {
        return Err("the digest of its messages differs".to_owned());
    }
    let messages = messages(&body)?;
    let checked = Checked { node: header.node, failed: header.failed, digest, messages };
    checked.require_turn(job, turn)?;
    Ok(checked)
}

/// Decodes the messages of a file. Numbers with fractions keep their bits: `serde_json` has
/// `float_roundtrip` here.
fn messages(body: &[u8]) -> Result<Vec<Message>, String> {
    let lines = body.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(serde_json::from_slice)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("it has an invalid message: {error}"))
}

impl Checked {
    /// Requires that the last message, and no other, is the result of the turn, measured by the parts of
    /// the job and proved by as many machines as it demands.
    fn require_turn(&self, job: &Job, turn: usize) -> Result<(), String> {
        let planned = job.turns.get(turn).ok_or_else(|| format!("the job has no turn {turn}"))?;
        let is_failure = |message: &Message| {
            matches!(message, Message::Failed { .. } | Message::HostFault { .. })
        };
        let is_last =
            |message: &Message| matches!(message, Message::Finished(_)) || is_failure(message);
        let (last, rest) = self.messages.split_last().ok_or("it has no messages")?;
        if rest.iter().any(is_last) {
            return Err("messages follow the result of its turn".to_owned());
        }
        let measurement = match last {
            failure if self.failed && is_failure(failure) => return Ok(()),
            Message::Finished(measurement) if !self.failed => measurement,
            _ => return Err("the result of its turn is missing".to_owned()),
        };
        if measurement.turn != *planned {
            return Err("it has the measurement of another turn".to_owned());
        }
        let cell = job.cell(turn).and_then(|cell| cell.target.guest());
        let (Some(guest), Some(account)) = (cell, &measurement.guest) else {
            return Err("it was not measured in a guest".to_owned());
        };
        if !job.parts.iter().any(|parts| parts.measured(guest, account)) {
            let node = &self.node;
            return Err(format!("node {node} measured with another kernel, program or QEMU"));
        }
        let proofs = account.proof.as_ref().map_or(0, |proof| proof.runs as usize);
        if proofs < job.proofs {
            let wanted = job.proofs;
            return Err(format!("{proofs} machines proved it, and the job demands {wanted}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;
    use crate::directory::results;
    use crate::job::JobSettings;

    fn job() -> Job {
        let text = "name = \"x\"\nseed = 1\nguest-time = \"exact\"\n[settings]\nkernel = \"debian\"\n\
                    load = [\"idle\", \"syscall\"]\nduration = \"10ms\"";
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        let turns = plan.turns();
        let settings = JobSettings { proofs: 2, jobs: 1, limit: None, turns_per_task: None };
        Job::new(plan, turns, &settings, Vec::new())
    }

    /// A directory with the file of a failed turn 1, and the file.
    fn planted() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(RESULTS)).unwrap();
        let mut collected = Collected::default();
        collected.add(&Message::Opened).unwrap();
        assert!(!collected.is_over);
        let failed = Message::Failed { reason: "no".to_owned(), hint: None };
        collected.add(&failed).unwrap();
        assert!(collected.is_over);
        collected.write(directory.path(), "digest", 1, "n/1").unwrap();
        let files = results(directory.path(), SUFFIX).unwrap();
        let [(1, path)] = files.as_slice() else { panic!("{files:?}") };
        let path = path.clone();
        (directory, path)
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let (_directory, path) = planted();
        let checked = read(&path, &job(), "digest", 1).unwrap();
        assert_eq!((checked.node.as_str(), checked.failed), ("n_1", true));
        assert_eq!(checked.messages.len(), 2);
    }

    #[test]
    fn numbers_with_fractions_keep_their_bits() {
        let mut random = tactus_model::random::SplitMix64::new(7);
        let numbers: Vec<f64> = (0..10_000)
            .map(|_| random.next_u64() as f64 / (1 + random.below(1 << 40)) as f64)
            .collect();
        let text = serde_json::to_string(&numbers).unwrap();
        assert_eq!(serde_json::from_str::<Vec<f64>>(&text).unwrap(), numbers);
    }

    #[test]
    fn a_hostile_file_is_refused_with_the_reason() {
        let (_directory, path) = planted();
        let good = fs::read_to_string(&path).unwrap();
        let refused = |text: &str| {
            fs::write(&path, text).unwrap();
            read(&path, &job(), "digest", 1).unwrap_err()
        };
        for (from, to, reason) in [
            ("\"digest\"", "\"other\"", "another plan"),
            ("\"turn\":1", "\"turn\":0", "is of turn 0"),
            ("\"reason\":\"no\"", "\"reason\":\"on\"", "digest of its messages"),
            ("n_1", "n\\u001b", "name of its node"),
            ("tactus-turn-2", "tactus-turn-9", "format"),
            ("\"failed\":true", "\"failed\":false", "result of its turn is missing"),
            ("\"turn\":1", "\"turn\":1,\"x\":1", "unknown field"),
        ] {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good);
            assert!(refused(&text).contains(reason), "{from}: {}", refused(&text));
        }
        for text in ["", "{}", "\n", &good[..40], &"x".repeat(1 << 17)] {
            assert!(refused(text).contains("header"), "{text:.40}: {}", refused(text));
        }
        let header = good.lines().next().unwrap();
        let file = File::create(&path).unwrap();
        file.set_len(HEADER_LIMIT + output_limit(&job().plan.cells[0], 1) + 1).unwrap();
        assert!(read(&path, &job(), "digest", 1).unwrap_err().contains("limit"), "{header}");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(read(&path, &job(), "digest", 1).unwrap_err().contains("regular file"));
        assert!(read(&path, &job(), "digest", 9).unwrap_err().contains("no turn 9"));
    }
}
