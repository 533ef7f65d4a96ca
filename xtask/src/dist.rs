//! What people install: a static `tactus` that contains the program for guests, as an archive and
//! as a Debian package with the same files.
//!
//! One commit and one toolchain are to give the same bytes: times are those of the commit, and no path of
//! this machine is in the program. `tests/dist.rs` installs and runs the result in an empty root.

mod copyright;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use tactus_guests::{STATIC_TARGET, static_target};
use tactus_model::kernel::Architecture;

use crate::cargo;

/// The tool that makes the package, and its version.
const CARGO_DEB: &str = "cargo-deb@3.8.0";

/// The version of all crates.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds the archive and the package below `target/dist`.
pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    let dist = Dist::new(root)?;
    dist.check_tools()?;
    let guest = dist.build_guest(Architecture::Amd64)?;
    let arm64_guest = dist.build_guest(Architecture::Arm64)?;
    dist.build_tactus(&guest, &arm64_guest)?;
    let copyright = copyright::text(root)?;
    fs::write(dist.built(STATIC_TARGET, "copyright"), copyright)?;
    let package = dist.package()?;
    let archive = dist.archive(&package)?;
    for file in [&package, &archive] {
        println!("{:>6} KiB  {}", fs::metadata(file)?.len() / 1024, file.display());
    }
    println!(
        "test: TACTUS_REQUIRE=dist TACTUS_DIST={} cargo test -p xtask --test dist",
        dist.folder.display()
    );
    Ok(())
}

/// One build for distribution.
struct Dist {
    root: PathBuf,
    /// Where the results are.
    folder: PathBuf,
    /// The time of the commit, in seconds since 1970, or the one that the environment names.
    epoch: OsString,
}

impl Dist {
    fn new(root: &Path) -> anyhow::Result<Self> {
        let root = root.canonicalize()?;
        let epoch = match std::env::var_os("SOURCE_DATE_EPOCH") {
            Some(epoch) => epoch,
            None => {
                output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&root))
                    .context("the time of the commit; or set SOURCE_DATE_EPOCH")?
                    .into()
            }
        };
        Ok(Self { folder: cargo::target(&root).join("dist"), root, epoch })
    }

    /// Fails now, rather than in the middle of a build, if a tool is missing.
    fn check_tools(&self) -> anyhow::Result<()> {
        for target in Architecture::ALL.iter().map(|architecture| static_target(*architecture)) {
            let libraries = output(Command::new("rustc").args([
                "--print",
                "target-libdir",
                "--target",
                target,
            ]))?;
            ensure!(
                Path::new(&libraries).is_dir(),
                "no Rust target {target}; fix: rustup target add {target}"
            );
        }
        for (tool, package) in
            [("musl-gcc", "musl-tools"), ("dpkg-deb", "dpkg"), ("tar", "tar"), ("xz", "xz-utils")]
        {
            let found = Command::new(tool).arg("--version").output();
            ensure!(found.is_ok(), "no {tool}; fix: sudo apt-get install {package}");
        }
        Ok(())
    }

    /// Cargo with an own target directory: its flags differ from those of other builds, which
    /// would be invalidated.
    fn cargo(&self) -> Command {
        let home = std::env::var_os("CARGO_HOME").map_or_else(
            || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
            PathBuf::from,
        );
        // Panics name the source files of packages.
        let mut remap = OsString::from("--remap-path-prefix=");
        remap.push(&home);
        remap.push("=/cargo");
        let mut cargo = cargo::cargo(&self.root);
        cargo
            .env("CARGO_TARGET_DIR", self.folder.join("build"))
            .env("CARGO_ENCODED_RUSTFLAGS", remap)
            .env("CARGO_INCREMENTAL", "0")
            .env("SOURCE_DATE_EPOCH", &self.epoch);
        cargo
    }

    /// The path of a file that the build yields.
    fn built(&self, target: &str, name: &str) -> PathBuf {
        self.folder.join("build").join(target).join("release").join(name)
    }

    /// Builds the program for guests by itself, so that it has only the features that it needs.
    fn build_guest(&self, architecture: Architecture) -> anyhow::Result<PathBuf> {
        let target = static_target(architecture);
        run(self
            .cargo()
            .args(["build", "--release", "--locked", "--target", target])
            .args(["-p", "tactus-guest"])
            // Rust brings a linker for every target, but no C compiler for one.
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld"))?;
        Ok(self.built(target, "tactus-guest"))
    }

    /// Builds `tactus` with the programs for guests in it.
    fn build_tactus(&self, guest: &Path, arm64_guest: &Path) -> anyhow::Result<()> {
        run(self
            .cargo()
            .args(["build", "--release", "--locked", "--target", STATIC_TARGET])
            .args(["-p", "tactus-cli", "-p", "tactus-guests"])
            .args(["--features", "tactus-guests/embedded-program"])
            .env("TACTUS_GUEST_PROGRAM", guest)
            .env("TACTUS_GUEST_PROGRAM_ARM64", arm64_guest))
    }

    /// Makes the Debian package, as `crates/cli/Cargo.toml` describes it.
    fn package(&self) -> anyhow::Result<PathBuf> {
        let tools = self.folder.join("tools");
        cargo::install_tool(CARGO_DEB, "", &tools)?;
        let package = self.folder.join(format!("tactus_{VERSION}_amd64.deb"));
        let mut path = tools.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        run(self
            .cargo()
            .args(["deb", "--quiet", "--no-build", "--no-strip", "--locked"])
            .args(["-p", "tactus-cli", "--target", STATIC_TARGET, "--output"])
            .arg(&package)
            .env("PATH", path))?;
        Ok(package)
    }

    /// Makes the archive: the files of the package below one directory, which can be copied into
    /// `/usr/local` or `~/.local`.
    fn archive(&self, package: &Path) -> anyhow::Result<PathBuf> {
        let name = format!("tactus-{VERSION}-x86_64-linux");
        let unpacked = self.folder.join("unpacked");
        for folder in [&unpacked, &self.folder.join(&name)] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&unpacked))?;
        fs::rename(unpacked.join("usr"), self.folder.join(&name))?;
        fs::remove_dir(&unpacked)?;
        let archive = self.folder.join(format!("{name}.tar.xz"));
        let mut time = OsString::from("--mtime=@");
        time.push(&self.epoch);
        run(Command::new("tar")
            .args(["--create", "--xz", "--sort=name", "--format=gnu", "--mode=u=rwX,go=rX"])
            .args(["--owner=0", "--group=0", "--numeric-owner"])
            .arg(time)
            .arg("--directory")
            .arg(&self.folder)
            .arg("--file")
            .arg(&archive)
            .arg(&name)
            // The number of threads would determine the bytes.
            .env("XZ_OPT", "--threads=1"))?;
        Ok(archive)
    }
}

/// Runs a program and requires success.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{:?}", command.get_program()))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// Runs a program, requires success, and returns its standard output.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{:?}", command.get_program()))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
