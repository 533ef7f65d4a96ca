//! The C library: its headers, and its installation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::cargo::{self, cargo};

/// The tool that writes the header, and its version. Its version determines the bytes.
const CBINDGEN: &str = "cbindgen@0.29.2";

/// A header, from the crate, with what the tool reads for it.
struct Header {
    path: &'static str,
    configuration: &'static str,
    source: &'static str,
}

/// The headers.
const HEADERS: [Header; 2] = [
    Header { path: "include/tactus_rt.h", configuration: "cbindgen.toml", source: "src/lib.rs" },
    Header {
        path: "include/tactus.h",
        configuration: "cbindgen-delivery.toml",
        source: "src/delivery.rs",
    },
];

/// What a program needs beside the static library.
const STATIC_LIBRARIES: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl";

/// Writes the headers of the C library.
pub(crate) fn write_header(root: &Path) -> anyhow::Result<()> {
    for header in &HEADERS {
        let path = header.file(root);
        fs::write(&path, header.made(root)?).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Fails if a header is out of date.
pub(crate) fn check_header(root: &Path) -> anyhow::Result<()> {
    for header in &HEADERS {
        if fs::read(header.file(root)).ok() != Some(header.made(root)?) {
            let path = header.path;
            bail!("{path} is out of date; fix: run `cargo xtask header` and commit the result");
        }
    }
    Ok(())
}

/// The folder of the crate, from the root.
const CRATE: &str = "crates/capi";

impl Header {
    fn file(&self, root: &Path) -> PathBuf {
        root.join(CRATE).join(self.path)
    }

    /// The header, by the sources.
    fn made(&self, root: &Path) -> anyhow::Result<Vec<u8>> {
        let tools = cargo::target(root).join("tools");
        cargo::install_tool(CBINDGEN, "clap", &tools)?;
        let made = Command::new(tools.join("bin/cbindgen"))
            .args(["--quiet", "--config", self.configuration, self.source])
            .current_dir(root.join(CRATE))
            .output()
            .context("cbindgen")?;
        ensure!(made.status.success(), "cbindgen: {}", String::from_utf8_lossy(&made.stderr));
        Ok(made.stdout)
    }
}

/// Builds the C library and copies it below `prefix`, with its headers and their descriptions
/// for pkg-config.
pub(crate) fn install(root: &Path, prefix: &str) -> anyhow::Result<()> {
    let prefix = PathBuf::from(prefix);
    ensure!(
        prefix.is_absolute(),
        "{} is not an absolute path; fix: name one, such as /usr/local",
        prefix.display()
    );
    let build = ["build", "--release", "--locked", "-p", "tactus-capi"];
    cargo::run(cargo(root).args(build), "the library does not build")?;
    let release = cargo::target(root).join("release");
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    fs::create_dir_all(&include)?;
    fs::create_dir_all(lib.join("pkgconfig"))?;
    let copies = [
        (HEADERS[0].file(root), include.join("tactus_rt.h")),
        (HEADERS[1].file(root), include.join("tactus.h")),
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
    println!("{}", link.display());
    for (name, purpose) in
        [("tactus-rt", "Real-time threads, FIFOs and shared blocks"), ("tactus", "Timed delivery")]
    {
        let path = lib.join(format!("pkgconfig/{name}.pc"));
        fs::write(&path, description(&prefix, name, purpose))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The library for pkg-config, under the name of a header.
fn description(prefix: &Path, name: &str, purpose: &str) -> String {
    format!(
        "prefix={}\n\
         Name: {name}\n\
         Description: {purpose}\n\
         Version: {}\n\
         Cflags: -I${{prefix}}/include\n\
         Libs: -L${{prefix}}/lib -ltactusrt\n\
         Libs.private: {STATIC_LIBRARIES}\n",
        prefix.display(),
        env!("CARGO_PKG_VERSION"),
    )
}
