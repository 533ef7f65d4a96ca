//! The C library: its header, and its installation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

/// The tool that writes the header, and its version. Its version determines the bytes.
const CBINDGEN: &str = "cbindgen@0.29.2";

/// The header, from the root.
const HEADER: &str = "crates/capi/include/tactus_rt.h";

/// What a program needs beside the static library.
const STATIC_LIBRARIES: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl";

/// Writes the header of the C library.
pub(crate) fn write_header(root: &Path) -> anyhow::Result<()> {
    let path = root.join(HEADER);
    fs::write(&path, header(root)?).with_context(|| path.display().to_string())
}

/// Fails if the header is out of date.
pub(crate) fn check_header(root: &Path) -> anyhow::Result<()> {
    if fs::read(root.join(HEADER)).ok() != Some(header(root)?) {
        bail!("{HEADER} is out of date; fix: run `cargo xtask header` and commit the result");
    }
    Ok(())
}

/// The header, by the sources.
fn header(root: &Path) -> anyhow::Result<Vec<u8>> {
    let tools = crate::target(root).join("tools");
    crate::install_tool(CBINDGEN, "clap", &tools)?;
    let made = Command::new(tools.join("bin/cbindgen"))
        .args(["--quiet", "--config", "cbindgen.toml", "src/lib.rs"])
        .current_dir(root.join("crates/capi"))
        .output()
        .context("cbindgen")?;
    ensure!(made.status.success(), "cbindgen: {}", String::from_utf8_lossy(&made.stderr));
    Ok(made.stdout)
}

/// Builds the C library and copies it below `prefix`, with its header and its description for
/// pkg-config.
pub(crate) fn install(root: &Path, prefix: &str) -> anyhow::Result<()> {
    let prefix = PathBuf::from(prefix);
    ensure!(
        prefix.is_absolute(),
        "{} is not an absolute path; fix: name one, such as /usr/local",
        prefix.display()
    );
    let built = Command::new("cargo")
        .args(["build", "--release", "--locked", "-p", "tactus-capi"])
        .current_dir(root)
        .status()
        .context("cargo")?;
    ensure!(built.success(), "the library does not build");
    let release = crate::target(root).join("release");
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    fs::create_dir_all(&include)?;
    fs::create_dir_all(lib.join("pkgconfig"))?;
    let pkgconfig = lib.join("pkgconfig/tactus-rt.pc");
    let copies = [
        (root.join(HEADER), include.join("tactus_rt.h")),
        (release.join("libtactusrt.a"), lib.join("libtactusrt.a")),
        (release.join("libtactusrt.so"), lib.join("libtactusrt.so.0")),
    ];
    for (from, to) in &copies {
        // A program that runs keeps the file that it has mapped.
        let _ = fs::remove_file(to);
        fs::copy(from, to).with_context(|| to.display().to_string())?;
        println!("{}", to.display());
    }
    let link = lib.join("libtactusrt.so");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink("libtactusrt.so.0", &link)?;
    fs::write(&pkgconfig, description(&prefix))?;
    println!("{}\n{}", link.display(), pkgconfig.display());
    Ok(())
}

/// The library for pkg-config.
fn description(prefix: &Path) -> String {
    format!(
        "prefix={}\n\
         Name: tactus-rt\n\
         Description: Real-time threads, FIFOs and shared blocks\n\
         Version: {}\n\
         Cflags: -I${{prefix}}/include\n\
         Libs: -L${{prefix}}/lib -ltactusrt\n\
         Libs.private: {STATIC_LIBRARIES}\n",
        prefix.display(),
        env!("CARGO_PKG_VERSION"),
    )
}
