//! Bisections of a small tree whose kernel is a text, judged by its content.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::process::Command;

use tactus_kernels::{Kernels, Recipe, Tree};

use super::*;

/// A repository of commits, each with one line in `speed`: `fast`, `slow` or `broken`. The build
/// makes an image that only has the header of a kernel, and that line.
struct Repo {
    folder: tempfile::TempDir,
    events: RefCell<Vec<String>>,
}

/// What the tree contains besides `speed`.
const BUILD: &str = r#"
speed=$(cat speed)
[ "$speed" != broken ] || { echo "speed.c:1: error: planted" >&2; exit 1; }
{ head -c 514 /dev/zero; printf HdrS; head -c 1024 /dev/zero; printf %s "$speed"; } > image
echo x >> "$BISECT_TEST_BUILDS"
"#;

impl Repo {
    /// Makes the commits in this order.
    fn of(speeds: &[&str]) -> Self {
        let repo = Self { folder: tempfile::tempdir().unwrap(), events: RefCell::default() };
        repo.git(&["init", "--quiet"]);
        for (number, speed) in speeds.iter().enumerate() {
            fs::write(repo.path().join("build.sh"), BUILD).unwrap();
            fs::write(repo.path().join("speed"), speed).unwrap();
            fs::write(repo.path().join("number"), number.to_string()).unwrap();
            repo.git(&["add", "."]);
            repo.git(&["commit", "--quiet", "--message", &format!("commit {number}")]);
            repo.git(&["tag", &format!("c{number}")]);
        }
        repo
    }

    fn path(&self) -> PathBuf {
        let path = self.folder.path().join("repo");
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn git(&self, arguments: &[&str]) {
        let identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"];
        let status = Command::new("git")
            .args(identity)
            .args(["-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false", "-C"])
            .arg(self.path())
            .args(arguments)
            .status();
        assert!(status.unwrap().success(), "{arguments:?}");
    }

    fn question(&self, good: &str, bad: &str) -> Question {
        Question {
            tree: self.path(),
            good: good.to_owned(),
            bad: bad.to_owned(),
            directory: self.folder.path().join("bisects"),
            conditions: String::new(),
        }
    }

    fn builds(&self) -> PathBuf {
        self.folder.path().join("builds")
    }

    /// Bisects; stops with an error at the trial with the number `stop`.
    fn bisect(&self, good: &str, bad: &str, stop: Option<usize>) -> Result<Bisected> {
        let builds = self.builds();
        let mut tried = 0;
        let kernels = Kernels::new("/no/boot", "/no/cache")
            .building_with(std::env::var_os("PATH").unwrap_or_default());
        let mut attempt = |commit: &Commit, worktree: &Worktree, directory: &Path| {
            tried += 1;
            if stop == Some(tried) {
                return Err(Error::new(ErrorKind::Interrupted, "stopped"));
            }
            worktree.check_out(commit)?;
            let tree = Tree {
                sources: worktree.directory().to_owned(),
                objects: directory.join("objects"),
                log: directory.join("log"),
                recipe: Recipe::Command {
                    command: format!("BISECT_TEST_BUILDS='{}' sh build.sh", builds.display()),
                    image: "image".into(),
                },
            };
            let trial = |verdict, reason: String| Trial {
                commit: commit.id.clone(),
                verdict,
                reason,
                run: None,
                seconds: 0,
            };
            Ok(match kernels.build_tree(&tree, commit.short()) {
                Err(error) => trial(Verdict::Skipped, error.to_string()),
                Ok(kernel) => {
                    let image = fs::read(kernel.path).unwrap();
                    let is_slow = image.ends_with(b"slow");
                    let verdict = if is_slow { Verdict::Bad } else { Verdict::Good };
                    trial(verdict, "judged".to_owned())
                }
            })
        };
        let mut events = self.events.borrow_mut();
        bisect(&self.question(good, bad), &mut attempt, &mut |event| {
            events.push(serde_json::to_value(event).unwrap()["event"].as_str().unwrap().to_owned());
        })
    }

    /// The name of the last event.
    fn last_event(&self) -> String {
        self.events.borrow().last().unwrap().clone()
    }

    /// The directories that a bisection left, besides its verdicts.
    fn left(&self) -> Vec<String> {
        let all = fs::read_dir(self.folder.path().join("bisects")).unwrap();
        let all = all.flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
        let directories = all.map(Result::unwrap).filter(|entry| entry.path().is_dir());
        directories.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    fn subjects(bisected: &Bisected) -> Vec<&str> {
        let mut subjects: Vec<&str> =
            bisected.first_bad.iter().map(|commit| commit.subject.as_str()).collect();
        subjects.sort_unstable();
        subjects
    }
}

const EIGHT: [&str; 9] = ["fast", "fast", "fast", "fast", "fast", "slow", "slow", "slow", "slow"];

#[test]
fn the_first_bad_of_eight_commits_is_found_and_the_tree_is_not_touched() {
    let repo = Repo::of(&EIGHT);
    fs::write(repo.path().join("speed"), "edited").unwrap();
    let found = repo.bisect("c0", "c8", None).unwrap();
    assert_eq!(Repo::subjects(&found), ["commit 5"]);
    assert_eq!(found.proof().unwrap().commit, found.first_bad[0].id);
    assert!((4..=5).contains(&found.trials.len()), "{:?}", found.trials);
    assert_eq!(fs::read_to_string(repo.path().join("speed")).unwrap(), "edited");
    // Only the verdicts stay, and give the same result without a build.
    let built = fs::read(repo.builds()).unwrap().len();
    assert_eq!(repo.bisect("c0", "c8", None).unwrap(), found);
    assert_eq!(fs::read(repo.builds()).unwrap().len(), built);
    assert_eq!((repo.left(), repo.last_event().as_str()), (Vec::new(), "removed"));
}

#[test]
fn an_interrupted_bisection_continues_after_its_last_verdict() {
    let repo = Repo::of(&EIGHT);
    for stop in [2, 2] {
        let error = repo.bisect("c0", "HEAD", Some(stop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        assert_eq!(repo.last_event(), "kept");
        assert!(repo.left().contains(&"tree".to_owned()), "{:?}", repo.left());
    }
    // Each of the two commands tried one commit.
    assert_eq!(fs::read(repo.builds()).unwrap(), b"x\nx\n");
    let found = repo.bisect("c0", "HEAD", None).unwrap();
    assert_eq!(Repo::subjects(&found), ["commit 5"]);
    assert_eq!(fs::read(repo.builds()).unwrap().len(), 2 * found.trials.len());
}

#[test]
fn a_commit_that_does_not_build_is_skipped_and_named_among_the_possible_ones() {
    let mut speeds = EIGHT;
    speeds[4] = "broken";
    let repo = Repo::of(&speeds);
    let found = repo.bisect("c0", "c8", None).unwrap();
    assert_eq!(Repo::subjects(&found), ["commit 4", "commit 5"]);
    let skipped = found.trials.iter().find(|trial| trial.verdict == Verdict::Skipped).unwrap();
    assert!(skipped.reason.contains("speed.c:1: error: planted"), "{}", skipped.reason);
}

#[test]
fn without_a_bad_commit_there_is_nothing_to_search() {
    let repo = Repo::of(&["fast", "fast", "broken"]);
    let error = |good, bad| repo.bisect(good, bad, None).unwrap_err();
    assert!(error("c0", "c1").to_string().contains("passes the bad commit"));
    assert!(error("c0", "c2").to_string().contains("cannot be judged"));
    assert_eq!((repo.left(), repo.last_event().as_str()), (Vec::new(), "removed"));
    assert!(error("c1", "c0").to_string().contains("does not precede"));
    assert!(error("c1", "c1").to_string().contains("does not precede"));
    assert!(error("c7", "c1").to_string().contains("no commit `c7`"));
    assert_eq!(error("c7", "c1").kind(), ErrorKind::Usage);
}
