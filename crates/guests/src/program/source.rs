//! Building the program from the source of this `tactus`, by cargo.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tactus_model::kernel::Architecture;
use tactus_sys::program;

use super::{NAME, static_target};
use crate::GuestError;

/// The source from which this `tactus` was built, if it is here.
#[derive(Clone, Debug)]
pub struct ProgramSource {
    root: PathBuf,
}

/// The progress of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramProgress {
    /// The CPUs of the guests.
    pub architecture: Architecture,
    /// The packages whose compilation has begun.
    pub packages: u64,
    /// All packages of the program.
    pub of: u64,
    /// How long the build takes so far.
    pub elapsed: Duration,
}

impl ProgramSource {
    /// The source of this build, if its directory is still here. A `tactus` that contains the
    /// program needs none.
    pub fn of_this_build() -> Option<Self> {
        let root = source_directory()?;
        root.join("crates/guest/Cargo.toml").is_file().then_some(Self { root })
    }

    /// Cargo's target directory of the source.
    pub(super) fn target_directory(&self) -> PathBuf {
        self.root.join("target")
    }

    /// Whether rustc has its libraries for the program's target.
    ///
    /// # Errors
    /// rustc is not installed, or cannot run: without its home, rustup has no toolchain.
    pub fn has_target(
        &self,
        search_path: &OsStr,
        architecture: Architecture,
    ) -> Result<bool, GuestError> {
        let not_built = |reason: String, hint: String| GuestError::NotBuilt {
            architecture,
            reason,
            hint: Some(hint),
        };
        let output = self
            .program("rustc", search_path)
            .args(["--print", "target-libdir", "--target", static_target(architecture)])
            .output()
            .map_err(|_| not_built("rustc is not installed".to_owned(), INSTALL.to_owned()))?;
        if output.status.success() {
            return Ok(Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir());
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        let (reason, help) = (after(&messages, "error: "), after(&messages, "help: "));
        let reason = reason.map_or_else(|| last_line(&messages), str::to_owned);
        let help = help.map(|help| format!("{help}, or ")).unwrap_or_default();
        let hint = format!("{help}set HOME or RUSTUP_HOME, by which rustup finds its toolchains");
        Err(not_built(format!("rustc does not run: {reason}"), hint))
    }

    /// Adds the program's target to the Rust toolchain: `rustup target add`.
    ///
    /// # Errors
    /// There is no rustup, or it fails.
    pub fn add_target(
        &self,
        search_path: &OsStr,
        architecture: Architecture,
    ) -> Result<(), GuestError> {
        let target = static_target(architecture);
        let output = self.program("rustup", search_path).args(["target", "add", target]).output();
        let reason = match output {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => last_line(&String::from_utf8_lossy(&output.stderr)),
            Err(error) => format!("cannot run rustup: {error}"),
        };
        Err(GuestError::NotBuilt {
            architecture,
            reason: format!("the Rust toolchain has no target {target}: {reason}"),
            hint: Some(format!("install Rust\'s standard library for {target}")),
        })
    }

    /// Builds the program, or finds that the built one is current; passes the progress to
    /// `listener`.
    ///
    /// # Errors
    /// There is no cargo or no target, or the build fails.
    pub fn build(
        &self,
        search_path: &OsStr,
        architecture: Architecture,
        mut listener: impl FnMut(ProgramProgress),
    ) -> Result<PathBuf, GuestError> {
        let not_built = |reason: String, hint: Option<&str>| GuestError::NotBuilt {
            architecture,
            reason,
            hint: hint.map(str::to_owned),
        };
        let target = static_target(architecture);
        match self.has_target(search_path, architecture) {
            Ok(true) => {}
            Ok(false) => {
                let reason = format!("the Rust toolchain has no target {target}");
                return Err(not_built(reason, Some(setup(architecture))));
            }
            Err(error) => return Err(error),
        }
        let of = self.packages(search_path, target);
        let began = Instant::now();
        let mut messages = String::new();
        let compiled = self.compile(search_path, target, |line| {
            if line.trim_start().starts_with("Compiling ") {
                let packages =
                    messages.lines().filter(|line| line.trim_start().starts_with("Compiling "));
                let packages = packages.count() as u64 + 1;
                let (of, elapsed) = (of.max(packages), began.elapsed());
                listener(ProgramProgress { architecture, packages, of, elapsed });
            }
            messages.push_str(line);
            messages.push('\n');
        });
        match compiled {
            Ok(true) => Ok(self.target_directory().join(target).join("release").join(NAME)),
            Ok(false) => Err(not_built(format!("cargo failed:\n{}", end_of(&messages)), None)),
            Err(error) => Err(not_built(format!("cannot run cargo: {error}"), Some(INSTALL))),
        }
    }

    /// Runs cargo, and passes its messages to `on_line`; returns whether it succeeded.
    fn compile(
        &self,
        search_path: &OsStr,
        target: &str,
        mut on_line: impl FnMut(&str),
    ) -> io::Result<bool> {
        let mut cargo = self.program("cargo", search_path);
        tactus_sys::process::end_with_parent(&mut cargo);
        let mut child = cargo
            .args(["build", "--release", "--locked", "-p", NAME, "--target", target])
            .args(["--color", "never", "--target-dir"])
            .arg(self.target_directory())
            // Rust brings a linker for every target, but no C compiler for one.
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let messages = child.stderr.take().ok_or_else(|| io::Error::other("no messages"))?;
        for line in BufReader::new(messages).lines() {
            on_line(&line?);
        }
        Ok(child.wait()?.success())
    }

    /// The number of packages of the program, without those that only tests need; 1 if cargo does
    /// not say.
    fn packages(&self, search_path: &OsStr, target: &str) -> u64 {
        let output = self
            .program("cargo", search_path)
            .args(["tree", "--locked", "-p", NAME, "--target", target, "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}"])
            .stderr(Stdio::null())
            .output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        // Cargo marks packages that it printed before.
        let mut packages: Vec<&str> =
            text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
        packages.sort_unstable();
        packages.dedup();
        packages.len().max(1) as u64
    }

    fn program(&self, name: &str, search_path: &OsStr) -> Command {
        let file = program::find_along(search_path, name);
        let mut command = Command::new(file.unwrap_or_else(|| PathBuf::from("/").join(name)));
        command.current_dir(&self.root).stdin(Stdio::null());
        // A build inside a build of cargo must not take its flags.
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
            command.env_remove(name);
        }
        command
    }
}

/// The fix if there is no Rust toolchain.
const INSTALL: &str = "install Rust (https://rustup.rs), or use a packaged tactus, which contains \
    the program";

/// The fix if the program is nowhere: `tactus lab setup` builds it only beside the source of this build.
pub(crate) fn fix_if_missing(architecture: Architecture) -> String {
    fix_for(architecture, ProgramSource::of_this_build().is_some())
}

fn fix_for(architecture: Architecture, has_source: bool) -> String {
    if has_source {
        return setup(architecture).to_owned();
    }
    format!(
        "set TACTUS_GUEST to the program's file, build it in the source of tactus with `cargo build \
         --release -p tactus-guest --target {}`, or use a packaged tactus, which contains it",
        super::static_target(architecture)
    )
}

/// The command that adds what a build needs.
pub(crate) const fn setup(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "tactus lab setup",
        Architecture::Arm64 => "tactus lab setup debian-cloud-arm64",
    }
}

#[cfg(feature = "embedded-program")]
const fn source_directory() -> Option<PathBuf> {
    None
}
#[cfg(not(feature = "embedded-program"))]
fn source_directory() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_owned)
}

/// The rest of the first line that begins so.
fn after<'t>(text: &'t str, beginning: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(beginning))
}

fn last_line(text: &str) -> String {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no error message").to_owned()
}

/// The last lines of cargo's messages.
fn end_of(messages: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<&str> = messages.lines().collect();
    let begin = lines.len().saturating_sub(LINES);
    lines[begin..].iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn without_the_source_setup_is_not_the_fix() {
        assert_eq!(fix_for(Architecture::Amd64, true), "tactus lab setup");
        let fix = fix_for(Architecture::Arm64, false);
        assert!(!fix.contains("lab setup") && fix.contains("TACTUS_GUEST"), "{fix}");
        assert!(fix.contains("--target aarch64-unknown-linux-musl"), "{fix}");
    }

    #[test]
    fn a_toolchain_that_does_not_run_is_not_one_without_a_target() {
        let folder = tempfile::tempdir().unwrap();
        let source = ProgramSource { root: folder.path().to_owned() };
        let search_path = folder.path().as_os_str();
        let error = || source.has_target(search_path, Architecture::Amd64).unwrap_err();
        assert!(error().to_string().ends_with("rustc is not installed"), "{}", error());
        // Another process writes the program: while a fork of this one has it open, it cannot start.
        let plant = |script: &str| {
            let text = folder.path().join("text");
            fs::write(&text, script).unwrap();
            fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
            let copied = Command::new("cp").arg(&text).arg(folder.path().join("rustc")).status();
            assert!(copied.unwrap().success());
        };
        let script = "#!/bin/sh\n\
                      echo 'error: no default is configured' >&2\n\
                      echo \"help: run 'rustup default stable'\" >&2\nexit 1\n";
        plant(script);
        let text = error().to_string();
        assert!(text.ends_with("rustc does not run: no default is configured"), "{text}");
        let hint = error().hint().unwrap();
        assert!(hint.starts_with("run 'rustup default stable', or set HOME"), "{hint}");
        plant("#!/bin/sh\necho /no/libraries\n");
        assert!(!source.has_target(search_path, Architecture::Amd64).unwrap());
    }
}
