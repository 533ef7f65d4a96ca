//! The first commit of a kernel's tree under which a gate refuses the kernel.
//!
//! `git bisect` chooses the commits, in a worktree of its own. Each is built and compared with the
//! kernel of the good commit by a gate. Verdicts are kept beside the worktree, so that the same
//! command continues an interrupted bisection.

mod git;
mod trial;

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tactus_model::digest::sha256;

use crate::error::OrError;
use crate::{Error, ErrorKind, Result};

pub use git::{Commit, Worktree};
pub use trial::{GateTrial, GateTrialSettings};

use git::{Next, Repository};

/// The verdict on a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The gate passes its kernel.
    Good,
    /// The gate refuses its kernel.
    Bad,
    /// Its kernel cannot be built, does not boot, or cannot be compared.
    Skipped,
}

impl Verdict {
    /// The verdict as a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skipped => "skipped",
        }
    }

    /// The command of `git bisect`.
    const fn command(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skipped => "skip",
        }
    }
}

/// A commit that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// The name of the commit.
    pub commit: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason: the refused figures, or why the commit was skipped.
    pub reason: String,
    /// The run that compares its kernel with the good one.
    pub run: Option<String>,
    /// How long building and measuring took, in seconds.
    pub seconds: u64,
}

/// What is searched.
#[derive(Clone, Debug)]
pub struct Question {
    /// The tree of sources, a directory in a git repository.
    pub tree: PathBuf,
    /// A revision whose kernel is good.
    pub good: String,
    /// A later revision whose kernel is bad.
    pub bad: String,
    /// The directory for worktrees, objects and verdicts.
    pub directory: PathBuf,
    /// Everything else that determines verdicts: how kernels are built and compared.
    pub conditions: String,
}

/// An event of a bisection.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum BisectEvent<'a> {
    /// It begins or continues.
    Begun {
        /// The commits after the good one, up to the bad one.
        commits: u64,
        /// Verdicts of an earlier command.
        known: usize,
        /// The directory of its worktree, objects and verdicts.
        directory: &'a Path,
    },
    /// A commit is built and measured.
    Trying {
        /// The commit.
        commit: &'a Commit,
        /// Its number among those tried, from 1.
        number: u64,
        /// The estimated number of all.
        of: u64,
        /// The estimated remaining time in seconds, once a commit was tried.
        seconds_left: Option<u64>,
    },
    /// A commit was tried, now or earlier.
    Tried {
        /// The commit.
        commit: &'a Commit,
        /// The verdict.
        trial: &'a Trial,
    },
    /// The bisection is over: its worktree, objects and images were removed, and its verdicts stay.
    Removed {
        /// The directory of the worktree.
        worktree: &'a Path,
    },
    /// The bisection failed or was interrupted, and the worktree stays for the same command.
    Kept {
        /// The directory of the worktree.
        worktree: &'a Path,
        /// The command that removes it.
        removal: String,
    },
}

/// The result of a bisection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bisected {
    /// The first bad commit; with skipped commits before it, the commits of which one is the first
    /// bad one.
    pub first_bad: Vec<Commit>,
    /// All trials, in their order.
    pub trials: Vec<Trial>,
}

impl Bisected {
    /// The trial of the first bad commit, if it was tried: the last bad one.
    pub fn proof(&self) -> Option<&Trial> {
        let is = |trial: &&Trial| {
            trial.verdict == Verdict::Bad
                && self.first_bad.iter().any(|commit| commit.id == trial.commit)
        };
        self.trials.iter().rfind(is)
    }
}

/// The good commit of a question.
///
/// # Errors
/// There is no such commit, or the tree is not in a git repository.
pub fn resolve(question: &Question) -> Result<Commit> {
    Repository::open(&question.tree)?.commit(&question.good)
}

/// Searches the first bad commit. `attempt` builds and judges a commit in the worktree.
///
/// The bad commit is tried first: without a difference there is nothing to search.
///
/// # Errors
/// A revision is wrong, the bad commit is not bad, another command bisects the same, git fails, or
/// `attempt` fails for a reason that concerns all commits.
pub fn bisect(
    question: &Question,
    attempt: &mut dyn FnMut(&Commit, &Worktree, &Path) -> Result<Trial>,
    listener: &mut dyn FnMut(&BisectEvent<'_>),
) -> Result<Bisected> {
    let repository = Repository::open(&question.tree)?;
    let good = repository.commit(&question.good)?;
    let bad = repository.commit(&question.bad)?;
    let commits = repository.commits_between(&good, &bad)?;
    if commits == 0 {
        return Err(Error::usage(format!(
            "the good commit {} does not precede the bad commit {}",
            good.short(),
            bad.short()
        ))
        .with_hint("name an older --good, or a newer --bad"));
    }
    let directory = question.directory.join(question.key(&repository, &good, &bad));
    let mut verdicts = Verdicts::open(&directory)?;
    let known = verdicts.trials.len();
    listener(&BisectEvent::Begun { commits, known, directory: &directory });
    let worktree = repository.worktree(&directory.join("tree"), &bad)?;
    let mut session =
        Session { repository: &repository, number: 0, attempt, listener: &mut *listener };
    let concluded = session.search(&mut verdicts, &worktree, &good, &bad, &directory);
    let worktree = worktree.directory();
    match concluded {
        Ok(conclusion) => {
            repository.remove(worktree)?;
            let trials = verdicts.finish()?;
            listener(&BisectEvent::Removed { worktree });
            conclusion.map(|first_bad| Bisected { first_bad, trials })
        }
        Err(error) => {
            let removal = repository.removal(worktree);
            listener(&BisectEvent::Kept { worktree, removal });
            Err(error)
        }
    }
}

/// The error if the bad commit is not bad.
fn not_bad(bad: &Commit, trial: &Trial) -> Error {
    let text = match trial.verdict {
        Verdict::Skipped => {
            format!("the bad commit {} cannot be judged: {}", bad.short(), trial.reason)
        }
        Verdict::Good | Verdict::Bad => format!(
            "the gate passes the bad commit {}: nothing to bisect; {}",
            bad.short(),
            trial.reason
        ),
    };
    let hint = "measure the figure that became worse: name its --load, --policy and --probe, and \
                use more --seeds";
    Error::new(ErrorKind::NoResult, text).with_hint(hint)
}

impl Question {
    /// The name of the directory: the same for the same question.
    fn key(&self, repository: &Repository, good: &Commit, bad: &Commit) -> String {
        let tree = repository.directory.display().to_string();
        let text = [tree.as_str(), &good.id, &bad.id, &self.conditions].join("\n");
        sha256([text])[..16].to_owned()
    }
}

/// The trials of one command.
struct Session<'s> {
    repository: &'s Repository,
    number: u64,
    attempt: &'s mut dyn FnMut(&Commit, &Worktree, &Path) -> Result<Trial>,
    listener: &'s mut dyn FnMut(&BisectEvent<'_>),
}

impl Session<'_> {
    /// Searches the first bad commit, or the commits of which one is it; inside, why there is nothing
    /// to search.
    fn search(
        &mut self,
        verdicts: &mut Verdicts,
        worktree: &Worktree,
        good: &Commit,
        bad: &Commit,
        directory: &Path,
    ) -> Result<Result<Vec<Commit>>> {
        let commits = self.repository.commits_between(good, bad)?;
        let most = 2 + u64::from(commits.max(1).ilog2());
        let trial = self.verdict(verdicts, worktree, &bad.id, most, directory)?;
        if trial.verdict != Verdict::Bad {
            return Ok(Err(not_bad(bad, &trial)));
        }
        let mut next = worktree.search(good, bad)?;
        loop {
            next = match next {
                Next::Try { id, more } => {
                    let trial = self.verdict(verdicts, worktree, &id, more + 1, directory)?;
                    worktree.mark(&id, trial.verdict.command())?
                }
                Next::Found(id) => return Ok(Ok(vec![self.repository.described(&id)?])),
                Next::OneOf(ids) => {
                    let described = ids.iter().map(|id| self.repository.described(id));
                    return described.collect::<Result<_>>().map(Ok);
                }
            };
        }
    }

    /// The trial of a commit, which is kept or made now. About `steps` are left with it.
    fn verdict(
        &mut self,
        verdicts: &mut Verdicts,
        worktree: &Worktree,
        id: &str,
        steps: u64,
        directory: &Path,
    ) -> Result<Trial> {
        self.number += 1;
        let commit = &self.repository.described(id)?;
        let trial = match verdicts.find(id) {
            Some(trial) => trial.clone(),
            None => {
                let (number, of) = (self.number, self.number + steps - 1);
                let seconds_left = verdicts.mean_seconds().map(|mean| mean * steps);
                (self.listener)(&BisectEvent::Trying { commit, number, of, seconds_left });
                let began = Instant::now();
                let trial = (self.attempt)(commit, worktree, directory)?;
                let trial = Trial { seconds: began.elapsed().as_secs(), ..trial };
                verdicts.add(trial.clone())?;
                trial
            }
        };
        (self.listener)(&BisectEvent::Tried { commit, trial: &trial });
        Ok(trial)
    }
}

/// The verdicts of a bisection, in a file with a line of JSON for each.
struct Verdicts {
    directory: PathBuf,
    file: PathBuf,
    trials: Vec<Trial>,
    /// Locked by the command that bisects.
    _lock: File,
}

impl Verdicts {
    fn open(directory: &Path) -> Result<Self> {
        let file = directory.join("verdicts");
        let open = || {
            fs::create_dir_all(directory)?;
            let lock = File::create(directory.join("lock"))?;
            let text = match fs::read_to_string(&file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                text => text?,
            };
            io::Result::Ok((lock, text))
        };
        let (lock, text) = open().or_error(ErrorKind::Unavailable, || cannot_use(directory))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let text = format!("another command bisects the same in {}", directory.display());
                return Err(Error::new(ErrorKind::Unavailable, text));
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).or_error(ErrorKind::Unavailable, || cannot_use(directory));
            }
        }
        // A line that was cut off by a kill is of a commit that is tried again.
        let trials = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { directory: directory.to_owned(), file, trials, _lock: lock })
    }

    fn find(&self, id: &str) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.commit == id)
    }

    /// The mean duration of a trial. Commits that are skipped at once say nothing about others.
    fn mean_seconds(&self) -> Option<u64> {
        let all = self.trials.iter().filter(|trial| trial.verdict != Verdict::Skipped);
        let (count, sum) = all.fold((0, 0), |(count, sum), trial| (count + 1, sum + trial.seconds));
        (count > 0).then(|| sum / count)
    }

    fn add(&mut self, trial: Trial) -> Result<()> {
        let write = || {
            let line = serde_json::to_string(&trial)?;
            let mut file = File::options().create(true).append(true).open(&self.file)?;
            // A line cut off by a kill stays apart.
            let apart = if fs::read(&self.file)?.last().is_none_or(|end| *end == b'\n') {
                ""
            } else {
                "\n"
            };
            file.write_all(format!("{apart}{line}\n").as_bytes())
        };
        write().or_error(ErrorKind::Unavailable, || cannot_use(&self.directory))?;
        self.trials.push(trial);
        Ok(())
    }

    /// Removes everything but the verdicts, so that the same command prints its result again.
    fn finish(self) -> Result<Vec<Trial>> {
        let clear = || {
            for entry in fs::read_dir(&self.directory)? {
                let path = entry?.path();
                if path.is_dir() {
                    fs::remove_dir_all(path)?;
                }
            }
            io::Result::Ok(())
        };
        clear().or_error(ErrorKind::Unavailable, || cannot_use(&self.directory))?;
        Ok(self.trials)
    }
}

fn cannot_use(directory: &Path) -> String {
    format!("cannot use {}", directory.display())
}

#[cfg(test)]
mod tests;
