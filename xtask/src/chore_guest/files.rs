//! Files of the host in the archive of a guest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use tactus_guests::archive::Archive;

/// Files by their paths in the guest, which do not begin with `/`.
#[derive(Default)]
pub(crate) struct Files(BTreeMap<PathBuf, Vec<u8>>);

impl Files {
    /// Adds a file.
    pub(crate) fn file(&mut self, path: &str, content: Vec<u8>) {
        self.0.insert(path.into(), content);
    }

    /// Adds a program of the host as `at`, with the libraries that its loader finds.
    pub(crate) fn program(&mut self, program: &Path, at: &str) -> anyhow::Result<()> {
        self.copy(program, Path::new(at))?;
        let listed = Command::new("ldd").arg(program).output().context("ldd")?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        // `NAME => PATH (ADDRESS)`, and `PATH (ADDRESS)` for the loader itself.
        let libraries = listed.lines().filter_map(|line| {
            let path = line.rsplit("=> ").next()?.split_whitespace().next()?;
            path.starts_with('/').then_some(path)
        });
        for library in libraries {
            self.copy(Path::new(library), Path::new(library))?;
        }
        ensure!(!listed.contains("not found"), "{} lacks libraries", program.display());
        Ok(())
    }

    /// Adds a program that is installed on the host, in `/usr/bin`.
    pub(crate) fn installed(&mut self, name: &str, package: &str) -> anyhow::Result<()> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = tactus_sys::program::find_along(&path, name);
        let found = found.with_context(|| format!("no {name}; fix: apt-get install {package}"))?;
        self.program(&found, &format!("usr/bin/{name}"))
    }

    /// Adds all files below a directory of the host.
    pub(crate) fn tree(&mut self, directory: &Path) -> anyhow::Result<()> {
        let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() { self.tree(&path)? } else { self.copy(&path, &path)? }
        }
        Ok(())
    }

    /// Adds a file of the host.
    fn copy(&mut self, from: &Path, to: &Path) -> anyhow::Result<()> {
        let to = to.strip_prefix("/").unwrap_or(to);
        if !self.0.contains_key(to) {
            let content = fs::read(from).with_context(|| from.display().to_string())?;
            self.0.insert(to.to_owned(), content);
        }
        Ok(())
    }

    /// Adds them to an archive that has these directories.
    pub(super) fn pack(&self, archive: Archive, has: &[&str]) -> Archive {
        let above = |path: &PathBuf| {
            let parents = path.ancestors().skip(1).map(Path::to_owned);
            parents.filter(|parent| parent != Path::new("")).collect::<Vec<_>>()
        };
        let mut directories: BTreeSet<PathBuf> = self.0.keys().flat_map(above).collect();
        directories.retain(|path| !has.iter().any(|had| path == Path::new(had)));
        let name = |path: &PathBuf| path.to_string_lossy().into_owned();
        let archive = directories.iter().fold(archive, |archive, at| archive.directory(&name(at)));
        self.0.iter().fold(archive, |archive, (at, content)| archive.program(&name(at), content))
    }
}
