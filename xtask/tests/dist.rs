//! What `cargo xtask dist` built, installed and run where nothing else is installed.
//!
//! `TACTUS_DIST` names its folder. The gate does not build it, so these tests are skipped there.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tactus_model::digest::sha256;
use tactus_testing::{Need, require, skip};
use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder with the archive and the package.
fn dist() -> Option<PathBuf> {
    let named = std::env::var_os("TACTUS_DIST")
        .ok_or("TACTUS_DIST is not set; `cargo xtask dist` prints the command that runs this test");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    require(Need::Dist, named).map(|named| folder.join(named))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command, requires success, and returns its standard output.
#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    out
}

/// A root directory without a system: no shell, no libraries, no configuration.
struct Root(TempDir);

impl Root {
    /// Returns `None` if this user cannot change the root directory.
    fn new() -> Option<Self> {
        let root = Self(tempfile::tempdir().unwrap());
        for folder in ["proc", "sys", "dev", "tmp"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        let attempt = Command::new("unshare").args(["--mount", "true"]).output();
        let attempt = match attempt {
            Ok(Output { status, .. }) if status.success() => Ok(()),
            Ok(Output { stderr, .. }) => Err(text(&stderr)),
            Err(error) => Err(format!("unshare: {error}")),
        };
        require(Need::Root, attempt)?;
        Some(root)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Unpacks the archive into the folder `opt`.
    fn unpack(&self, dist: &Path) -> PathBuf {
        let folder = self.path().join("opt");
        fs::create_dir(&folder).unwrap();
        let archive = dist.join(format!("tactus-{VERSION}-x86_64-linux.tar.xz"));
        succeed(Command::new("tar").arg("--directory").arg(&folder).arg("-xf").arg(archive));
        folder.join(format!("tactus-{VERSION}-x86_64-linux"))
    }

    /// A command in this root; the folders of the kernel are mounted as long as it runs.
    fn command(&self, program: &str) -> Command {
        const SCRIPT: &str = r#"root=$1; shift
            for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder" || exit; done
            exec chroot "$root" "$@""#;
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", SCRIPT, "sh"]).arg(self.path()).arg(program);
        command.env("TACTUS_STORE", "/tmp/runs.sqlite").env_remove("TACTUS_GUEST");
        command
    }

    /// Checks that `program` measures.
    fn check(&self, program: &str) {
        let version = succeed(self.command(program).arg("--version"));
        assert_eq!(version.trim(), format!("tactus {VERSION}"));
        let doctor = succeed(self.command(program).arg("doctor"));
        assert!(doctor.contains("steal"), "{doctor}");
        succeed(
            self.command(program)
                .args(["measure", "--policy", "other", "--load", "memory:1"])
                .args([
                    "--duration",
                    "100ms",
                    "--warmup",
                    "10ms",
                    "--rounds",
                    "1",
                    "--page",
                    "/tmp/page.html",
                ]),
        );
        let shown = succeed(self.command(program).args(["show", "last"]));
        assert!(shown.contains("memory · other"), "{shown}");
        assert!(self.path().join("tmp/page.html").exists());
    }
}

#[test]
fn the_archive_runs_in_an_empty_root() {
    let Some(dist) = dist() else { return };
    let Some(root) = Root::new() else { return };
    let unpacked = root.unpack(&dist);
    assert!(unpacked.join("share/man/man1/tactus-measure.1.gz").exists());
    root.check(&format!("/opt/tactus-{VERSION}-x86_64-linux/bin/tactus"));
}

#[test]
fn the_package_is_installed_in_an_empty_root_and_removed_without_traces() {
    let Some(dist) = dist() else { return };
    let Some(root) = Root::new() else { return };
    let database = root.path().join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(database.join(folder)).unwrap();
    }
    fs::write(database.join("status"), "").unwrap();
    let dpkg = |action: &str, what: &Path| {
        let mut root_option = std::ffi::OsString::from("--root=");
        root_option.push(root.path());
        let mut dpkg = Command::new("dpkg");
        succeed(dpkg.arg(root_option).arg("--log=/dev/null").arg(action).arg(what))
    };
    dpkg("--install", &dist.join(format!("tactus_{VERSION}_amd64.deb")));
    let status = dpkg("--status", Path::new("tactus"));
    assert!(status.contains("Architecture: amd64"), "{status}");
    let files = dpkg("--listfiles", Path::new("tactus"));
    for file in [
        "/usr/bin/tactus",
        "/usr/share/man/man1/tactus.1.gz",
        "/usr/share/bash-completion/completions/tactus",
        "/usr/share/fish/vendor_completions.d/tactus.fish",
        "/usr/share/zsh/vendor-completions/_tactus",
        "/usr/share/doc/tactus/changelog.gz",
        "/usr/share/doc/tactus/copyright",
        "/usr/share/doc/tactus/default.toml",
    ] {
        assert!(files.lines().any(|line| line == file), "{file}:\n{files}");
    }
    let copyright = root.path().join("usr/share/doc/tactus/copyright");
    let copyright = fs::read_to_string(copyright).unwrap();
    assert!(copyright.contains("Rich Felker"), "licences of others: {copyright}");
    root.check("/usr/bin/tactus");
    dpkg("--purge", Path::new("tactus"));
    assert!(!root.path().join("usr").exists());
}

#[test]
fn the_program_is_static_and_names_no_path_of_the_machine_that_built_it() {
    let Some(dist) = dist() else { return };
    let folder = dist.join(format!("tactus-{VERSION}-x86_64-linux"));
    let program = fs::read(folder.join("bin/tactus")).unwrap();
    let contains = |part: &[u8]| program.windows(part.len()).any(|window| window == part);
    assert!(contains(b"/cargo/registry/"), "paths of packages are replaced");
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .unwrap();
    for path in [home.as_str(), dist.canonicalize().unwrap().to_str().unwrap()] {
        assert!(!contains(path.as_bytes()), "{path}");
    }
}

#[test]
fn a_guest_boots_with_the_program_that_tactus_contains() {
    let Some(dist) = dist() else { return };
    let folder = tempfile::tempdir().unwrap();
    let tactus = folder.path().join("tactus");
    let unpacked = dist.join(format!("tactus-{VERSION}-x86_64-linux"));
    fs::copy(unpacked.join("bin/tactus"), &tactus).unwrap();
    let run = |arguments: &[&str]| {
        let store = folder.path().join("runs.sqlite");
        let mut command = Command::new(&tactus);
        command.args(arguments).env("TACTUS_STORE", store).env_remove("TACTUS_GUEST");
        command.output().unwrap()
    };
    let plan = ["--kernel", "debian-cloud", "--policy", "other", "--duration", "50ms"];
    let measured = run(&[&["measure", "lab", "--rounds", "1", "--no-page"][..], &plan].concat());
    const UNAVAILABLE: i32 = 3;
    if measured.status.code() == Some(UNAVAILABLE) {
        let reason = text(&measured.stderr);
        assert!(!reason.contains("program that runs in guests"), "{reason}");
        return skip(Need::Guest, reason);
    }
    assert!(measured.status.success(), "{}", text(&measured.stderr));
    let run = text(&run(&["export", "last", "--without-samples"]).stdout);
    let guest = dist.join("build/x86_64-unknown-linux-musl/release/tactus-guest");
    let digest = sha256([fs::read(guest).unwrap()]);
    assert!(run.contains(&digest), "{digest} is not that of the program in the guest");
}
