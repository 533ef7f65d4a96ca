//! git: the commits of a tree, a worktree of its own, and the search of `git bisect` in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Serialize;
use tactus_model::format::shell_word;

use crate::{Error, ErrorKind, Result};

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its name, 40 hexadecimal digits (64 in a repository of SHA-256).
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

impl Commit {
    /// The beginning of its name, for people and file names.
    pub fn short(&self) -> &str {
        &self.id[..self.id.len().min(12)]
    }

    /// The commit for people: the beginning of its name, and its subject.
    pub fn named(&self) -> String {
        format!("{} \"{}\"", self.short(), self.subject)
    }
}

/// A repository.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    pub(super) directory: PathBuf,
}

impl Repository {
    pub(super) fn open(directory: &Path) -> Result<Self> {
        let repository = Self { directory: directory.to_owned() };
        let output = repository.run(["rev-parse", "--show-toplevel"])?;
        if !output.status.success() {
            let why = repository.message(&output);
            return Err(Error::usage(why).with_hint("--tree names a directory in a git repository"));
        }
        let top = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Self { directory: PathBuf::from(top.trim()) })
    }

    /// The commit that a person named.
    pub(super) fn commit(&self, revision: &str) -> Result<Commit> {
        let object = format!("{revision}^{{commit}}");
        let id = self
            .git(["rev-parse", "--verify", "--quiet", "--end-of-options", &object])
            .map_err(|_| Error::usage(format!("no commit `{revision}` in this repository")))?;
        self.described(id.trim())
    }

    /// The commit with this name.
    pub(super) fn described(&self, id: &str) -> Result<Commit> {
        let subject = self.git(["show", "--no-patch", "--format=%s", id])?;
        Ok(Commit { id: id.to_owned(), subject: subject.trim().to_owned() })
    }

    /// The number of commits after `good` up to `bad`; 0 if `good` does not precede `bad`.
    pub(super) fn commits_between(&self, good: &Commit, bad: &Commit) -> Result<u64> {
        let ancestor = ["merge-base", "--is-ancestor", &good.id, &bad.id];
        if !self.run(ancestor)?.status.success() {
            return Ok(0);
        }
        let range = format!("{}..{}", good.id, bad.id);
        let count = self.git(["rev-list", "--count", &range])?;
        Ok(count.trim().parse().unwrap_or(0))
    }

    /// The worktree at `directory`, added unless it exists. The tree of the repository's owner is
    /// not touched.
    pub(super) fn worktree(&self, directory: &Path, at: &Commit) -> Result<Worktree> {
        let worktree = Worktree(Self { directory: directory.to_owned() });
        if directory.join(".git").exists() {
            return Ok(worktree);
        }
        self.git(["worktree", "prune"])?;
        let add = ["worktree", "add", "--quiet", "--detach", "--force"].map(OsStr::new);
        let at = [directory.as_os_str(), OsStr::new(&at.id)];
        self.git(add.into_iter().chain(at))?;
        Ok(worktree)
    }

    /// Removes a worktree with everything in it.
    pub(super) fn remove(&self, worktree: &Path) -> Result<()> {
        let remove = ["worktree", "remove", "--force"].map(OsStr::new);
        self.git(remove.into_iter().chain([worktree.as_os_str()])).map(drop)
    }

    /// The command that removes a worktree, for a shell.
    pub(super) fn removal(&self, worktree: &Path) -> String {
        let word = |path: &Path| shell_word(&path.to_string_lossy());
        let (here, there) = (word(&self.directory), word(worktree));
        format!("git -C {here} worktree remove --force {there}")
    }

    /// The output of git.
    fn git(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String> {
        let output = self.run(arguments)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(Error::new(ErrorKind::Unavailable, self.message(&output)))
    }

    /// The reason why git failed.
    fn message(&self, output: &Output) -> String {
        let messages = String::from_utf8_lossy(&output.stderr);
        let message = messages.lines().rfind(|line| !line.trim().is_empty());
        let message = message.unwrap_or("no error message").trim_start_matches("fatal: ");
        format!("git in {}: {message}", self.directory.display())
    }

    fn run(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Output> {
        let run = Command::new("git")
            .arg("-C")
            .arg(&self.directory)
            .args(arguments)
            // Its messages are parsed in English, and belong to this directory only.
            .env("LC_ALL", "C")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .stdin(Stdio::null())
            .output();
        run.map_err(|error| {
            let error = Error::new(ErrorKind::Unavailable, format!("cannot run git: {error}"));
            error.with_hint("sudo apt-get install git")
        })
    }
}

/// A worktree of a repository.
#[derive(Clone, Debug)]
pub struct Worktree(Repository);

/// What a search needs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The verdict on a commit, and about this many more after it.
    Try { id: String, more: u64 },
    /// Nothing: this commit is the first bad one.
    Found(String),
    /// Nothing: one of these is the first bad commit, and the others were skipped.
    OneOf(Vec<String>),
}

impl Worktree {
    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Checks out a commit; the results of earlier builds stay.
    ///
    /// # Errors
    /// git fails.
    pub fn check_out(&self, commit: &Commit) -> Result<()> {
        self.0.git(["checkout", "--quiet", "--force", "--detach", &commit.id]).map(drop)
    }

    /// Begins a search, in place of an earlier one.
    pub(super) fn search(&self, good: &Commit, bad: &Commit) -> Result<Next> {
        let start = ["bisect", "start", "--no-checkout", &bad.id, &good.id];
        self.next(start)
    }

    /// Continues the search with a verdict: `good`, `bad` or `skip`.
    pub(super) fn mark(&self, id: &str, verdict: &str) -> Result<Next> {
        self.next(["bisect", verdict, id])
    }

    fn next(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Next> {
        let output = self.0.run(arguments)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some(next) = conclusion(&text) {
            return Ok(next);
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let message = messages.lines().chain(text.lines()).next().unwrap_or("it failed");
            let error = format!("git bisect in {}: {message}", self.directory().display());
            return Err(Error::new(ErrorKind::Unavailable, error));
        }
        let id = self.0.git(["rev-parse", "--verify", "BISECT_HEAD"])?.trim().to_owned();
        Ok(Next::Try { id, more: steps(&text) })
    }
}

/// The end of a search, by the output of git.
fn conclusion(text: &str) -> Option<Next> {
    let is_name = |word: &str| word.len() >= 40 && word.chars().all(|c| c.is_ascii_hexdigit());
    let found = text.lines().find_map(|line| line.strip_suffix(" is the first bad commit"));
    if let Some(id) = found.filter(|id| is_name(id)) {
        return Some(Next::Found(id.to_owned()));
    }
    let (_, rest) = text.split_once("The first bad commit could be any of:")?;
    let names = rest.split_whitespace().filter(|word| is_name(word));
    Some(Next::OneOf(names.map(str::to_owned).collect()))
}

/// The estimated number of further steps in `Bisecting: 3 revisions left to test after this
/// (roughly 2 steps)`.
fn steps(text: &str) -> u64 {
    let number = text.split_once("(roughly ").and_then(|(_, rest)| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_a_repository_is_wrong_usage() {
        for directory in ["/proc", "/nosuch"] {
            let error = Repository::open(Path::new(directory)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
            assert!(error.to_string().starts_with(&format!("git in {directory}: ")), "{error}");
        }
    }

    #[test]
    fn the_end_of_a_search_is_read_from_the_output_of_git() {
        let name = "0123456789abcdef0123456789abcdef01234567";
        let found = conclusion(&format!("{name} is the first bad commit\ncommit {name}\n"));
        assert_eq!(found, Some(Next::Found(name.to_owned())));
        let skipped = format!(
            "There are only 'skip'ped commits left to test.\n\
             The first bad commit could be any of:\n{name}\n{name}\nWe cannot bisect more!\n"
        );
        assert_eq!(conclusion(&skipped), Some(Next::OneOf(vec![name.to_owned(); 2])));
        let going = "Bisecting: 3 revisions left to test after this (roughly 2 steps)\n";
        assert_eq!((conclusion(going), steps(going)), (None, 2));
        assert_eq!(steps("Bisecting: 0 revisions left to test after this (roughly 1 step)"), 1);
    }
}
