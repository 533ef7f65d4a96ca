//! The directory of a job, which all nodes see.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tactus_guests::Guests;
use tactus_model::format::shell_word;
use tactus_sys::process;
use tactus_wire::{MESSAGE_LIMIT, encode};

use crate::error::of_file;
use crate::{ClusterError, Job, parts};

/// The job's file.
pub(crate) const JOB: &str = "job.json";
/// The directory of result files.
pub(crate) const RESULTS: &str = "results";
/// The directory of the tasks' logs.
pub(crate) const LOGS: &str = "logs";
/// The end of the names of runs that nodes hand back.
pub(crate) const RUN: &str = ".run";
/// The log of a task, in the words of sbatch(1).
pub(crate) const TASKS_LOG: &str = "%a.log";
/// The directory for the consoles of failed guests.
pub(crate) const CONSOLES: &str = "consoles";
/// What a task executes.
pub(crate) const SCRIPT: &str = "task.sh";

/// The file that the owner of the directory has locked.
const OWNER: &str = "owner";

/// The beginning of the names of all jobs.
const PREFIX: &str = "tactus-job-";

/// The most directories of one process.
const DIRECTORIES_MAX: u32 = 1000;

/// How often a directory in which a task still writes is removed again, and how long to wait.
const REMOVALS: u32 = 20;
const STEP: Duration = Duration::from_millis(100);

/// The directory of one job. Dropping it removes it.
///
/// Its owner holds a lock on a file in it, which ends with its process. A lock on the directory
/// itself, as of [`tactus_sys::owned_directory`], does not work on NFS.
#[derive(Debug)]
pub(crate) struct JobDirectory {
    path: PathBuf,
    /// Whether it stays when this is dropped.
    stays: bool,
    _lock: File,
}

impl JobDirectory {
    /// Creates a directory below `shared` that only this user may read.
    ///
    /// # Errors
    /// `shared` is not a directory that can be written.
    pub(crate) fn create(shared: &Path) -> Result<Self, ClusterError> {
        for number in 0..DIRECTORIES_MAX {
            let path = shared.join(format!("{}{}-{number}", prefix(), std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(of_file("create", &path))?,
            }
            let owner = path.join(OWNER);
            let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&owner);
            let lock = lock.map_err(of_file("create", &owner))?;
            // Without locks on its filesystem, nobody removes what a killed process leaves.
            if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
                return Ok(Self { path, stays: false, _lock: lock });
            }
        }
        let taken = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(of_file("create a directory in", shared)(taken))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the runs of nodes to a directory that stays, and returns it; if they cannot be moved, they
    /// stay where they are. `None` if there are none.
    pub(crate) fn keep_runs(&mut self) -> Option<PathBuf> {
        keep_runs(&self.path).unwrap_or_else(|_| {
            self.stays = true;
            Some(self.path.join(RESULTS))
        })
    }

    /// Writes a job, and what its tasks need. Returns the digest of the job.
    pub(crate) fn write(
        &self,
        job: &Job,
        guests: &Guests,
        executable: &Path,
    ) -> Result<String, ClusterError> {
        self.prepare("shard", executable)?;
        parts::write(guests, &self.path)?;
        self.write_job(job)
    }

    /// Creates the directories and the script of tasks that run the internal command `role`.
    pub(crate) fn prepare(&self, role: &str, executable: &Path) -> Result<(), ClusterError> {
        for name in [RESULTS, LOGS, CONSOLES, "bin"] {
            let place = self.path.join(name);
            fs::create_dir(&place).map_err(of_file("create", &place))?;
        }
        let program = self.path.join("bin/tactus");
        fs::hard_link(executable, &program)
            .or_else(|_| fs::copy(executable, &program).map(drop))
            .map_err(of_file("write", &program))?;
        let script = self.path.join(SCRIPT);
        fs::write(&script, self.script(role)).map_err(of_file("write", &script))?;
        let executable = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&script, executable).map_err(of_file("change", &script))
    }

    /// Writes the file of a job, and returns its digest.
    pub(crate) fn write_job(&self, job: &impl Serialize) -> Result<String, ClusterError> {
        let file = self.path.join(JOB);
        let text = encode(job, MESSAGE_LIMIT)
            .map_err(|error| of_file("write", &file)(io::Error::other(error.to_string())))?;
        fs::write(&file, &text).map_err(of_file("write", &file))?;
        Ok(tactus_model::digest::sha256([&text]))
    }

    /// What a task executes: the variables are those of Slurm, then those of Kubernetes.
    fn script(&self, role: &str) -> String {
        let directory = shell_word(&self.path.to_string_lossy());
        format!(
            "#!/bin/sh\nexec {directory}/bin/tactus internal {role} --job {directory} \
             --task \"${{SLURM_ARRAY_TASK_ID:-$JOB_COMPLETION_INDEX}}\" \
             --node \"${{SLURMD_NODENAME:-${{NODE_NAME:-$(hostname)}}}}\"\n"
        )
    }
}

impl Drop for JobDirectory {
    fn drop(&mut self) {
        for _ in 0..if self.stays { 0 } else { REMOVALS } {
            match fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(STEP),
                _ => return,
            }
        }
    }
}

/// A character for names of files.
pub(crate) fn plain(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
}

/// The beginning of the names of this machine's jobs.
fn prefix() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().map(plain).take(64).collect();
    format!("{PREFIX}{host}-")
}

/// The directories below `shared` of jobs whose processes on this machine were killed, each locked
/// for as long as the file lives.
pub(crate) fn stale(shared: &Path) -> Vec<(PathBuf, File)> {
    let prefix = prefix();
    let entries = fs::read_dir(shared).into_iter().flatten().flatten();
    let left = entries.filter_map(|entry| {
        let name = entry.file_name();
        let numbers = name.to_str()?.strip_prefix(&prefix)?;
        let is_plain = numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let metadata = entry.metadata().ok()?;
        let is_ours = metadata.is_dir() && metadata.uid() == process::effective_user();
        let owner = entry.path().join(OWNER);
        let lock =
            OpenOptions::new().write(true).open(owner).ok().filter(|_| is_plain && is_ours)?;
        lock.try_lock().ok()?;
        Some((entry.path(), lock))
    });
    left.collect()
}

/// The files with this end of their names among the results of a job, each with the number that begins its name.
/// Only a complete file has such a name.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn results(job: &Path, suffix: &str) -> io::Result<Vec<(usize, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(job.join(RESULTS))? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(suffix)) else { continue };
        let number = name.split('.').next().and_then(|number| number.parse().ok());
        found.extend(number.map(|number| (number, entry.path())));
    }
    found.sort();
    Ok(found)
}

/// Moves the runs of nodes among the results of a job to a directory beside that of the job, which nobody
/// removes. Returns it; `None` if there are none.
///
/// # Errors
/// They cannot be moved.
pub(crate) fn keep_runs(job: &Path) -> Result<Option<PathBuf>, ClusterError> {
    // A job that was killed at its start has no results.
    let runs = results(job, RUN).unwrap_or_default();
    let (Some(shared), Some(name), false) = (job.parent(), job.file_name(), runs.is_empty()) else {
        return Ok(None);
    };
    let name = name.to_string_lossy().replace(PREFIX, "tactus-runs-");
    let folder = new_directory(shared, |number| match number {
        0 => name.clone(),
        number => format!("{name}-{number}"),
    })?;
    for (_, run) in runs {
        let to = folder.join(run.file_name().unwrap_or_default());
        fs::rename(&run, &to).map_err(of_file("move", &run))?;
    }
    Ok(Some(folder))
}

/// Creates a directory below `shared` that only this user may read, by the first of `names` that is free.
fn new_directory(shared: &Path, names: impl Fn(u32) -> String) -> Result<PathBuf, ClusterError> {
    for number in 0..DIRECTORIES_MAX {
        let path = shared.join(names(number));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path.clone()).map_err(of_file("create", &path)),
        }
    }
    let taken = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(of_file("create a directory in", shared)(taken))
}

/// The last line of a task's log; `None` if there is none.
pub(crate) fn last_line(directory: &Path, task: usize) -> Option<String> {
    const TAIL: u64 = 1 << 16;
    let log = directory.join(LOGS).join(TASKS_LOG.replace("%a", &task.to_string()));
    let mut log = tactus_sys::regular_file::open_of_others(&log).ok()?;
    let end = log.metadata().ok()?.len();
    log.seek(SeekFrom::Start(end.saturating_sub(TAIL))).ok()?;
    let mut text = Vec::new();
    log.take(TAIL).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(tactus_model::format::printable(line).chars().take(300).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_removed_by_its_owner_and_found_when_its_owner_is_gone() {
        let shared = tempfile::tempdir().unwrap();
        let ours = JobDirectory::create(shared.path()).unwrap();
        assert!(stale(shared.path()).is_empty(), "its owner lives");
        let left = shared.path().join(format!("{}1-7", prefix()));
        fs::create_dir(&left).unwrap();
        assert!(stale(shared.path()).is_empty(), "it may have no owner yet");
        fs::write(left.join(OWNER), "").unwrap();
        fs::create_dir(shared.path().join("tactus-job-another-1-7")).unwrap();
        let found: Vec<PathBuf> = stale(shared.path()).into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, [left]);
        let path = ours.path().to_owned();
        drop(ours);
        assert!(!path.exists());
    }

    #[test]
    fn runs_move_to_a_directory_that_is_not_stale_and_stays() {
        let shared = tempfile::tempdir().unwrap();
        let mut ours = JobDirectory::create(shared.path()).unwrap();
        assert_eq!(ours.keep_runs(), None);
        let made = [(); 2].map(|()| {
            fs::create_dir_all(ours.path().join(RESULTS)).unwrap();
            fs::write(ours.path().join(RESULTS).join("2.7.run"), "a run").unwrap();
            fs::write(ours.path().join(RESULTS).join(".part"), "").unwrap();
            ours.keep_runs().unwrap()
        });
        assert_ne!(made[0], made[1], "what was kept before stays");
        drop(ours);
        assert!(stale(shared.path()).is_empty());
        assert_eq!(fs::read_dir(shared.path()).unwrap().count(), 2);
        for folder in made {
            assert_eq!(fs::read_to_string(folder.join("2.7.run")).unwrap(), "a run");
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
        }
    }

    #[test]
    fn the_last_line_of_a_log_is_printable() {
        let job = tempfile::tempdir().unwrap();
        assert_eq!(last_line(job.path(), 3), None);
        fs::create_dir(job.path().join(LOGS)).unwrap();
        fs::write(job.path().join("logs/3.log"), "first\nlast \u{1b}[2J\n\n").unwrap();
        assert!(last_line(job.path(), 3).is_some_and(|line| !line.contains('\u{1b}')));
    }
}
