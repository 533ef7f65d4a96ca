//! Debian's kernels, fetched with the system's own package tool and unpacked, not installed.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Output;

use tactus_model::kernel::Flavour;

use crate::cache::Cache;
use crate::{IMAGE_PREFIX, Kernel, KernelError, failed, tool};

/// The prefix and the suffix of the version in the name of a flavour's package.
const fn affixes(flavour: Flavour) -> (&'static str, &'static str) {
    match flavour {
        Flavour::Generic => ("linux-image-", "-amd64"),
        Flavour::Cloud => ("linux-image-", "-cloud-amd64"),
        Flavour::Realtime => ("linux-image-", "-rt-amd64"),
    }
}

/// The package with the kernel of a flavour and version.
pub(super) fn package(flavour: Flavour, version: &str) -> String {
    let (before, after) = affixes(flavour);
    format!("{before}{version}{after}")
}

/// The flavour and the version of the kernel in a package, from its name.
pub(super) fn flavour_and_version(package: &str) -> Option<(Flavour, &str)> {
    // The suffixes of the others end with the generic suffix, so it is tried last.
    [Flavour::Realtime, Flavour::Cloud, Flavour::Generic].into_iter().find_map(|flavour| {
        let (before, after) = affixes(flavour);
        let version = package.strip_prefix(before)?.strip_suffix(after)?;
        Some((flavour, version))
    })
}

/// The package with the current kernel of a flavour, from Debian's metapackage.
pub(super) fn current(flavour: Flavour) -> Result<String, KernelError> {
    let metapackage = match flavour {
        Flavour::Generic => "linux-image-amd64",
        Flavour::Cloud => "linux-image-cloud-amd64",
        Flavour::Realtime => "linux-image-rt-amd64",
    };
    let output = run("apt-cache", &["depends", "--important", metapackage], Path::new("/"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    dependency(&text, flavour)
        .ok_or_else(|| KernelError::NoPackage(metapackage.to_owned(), message(&output)))
}

/// The first package of the flavour in the output of `apt-cache depends`.
fn dependency(depends: &str, flavour: Flavour) -> Option<String> {
    depends.lines().find_map(|line| {
        let package = line.trim().trim_start_matches('|').strip_prefix("Depends:")?.trim();
        let (found, _) = flavour_and_version(package)?;
        (found == flavour).then(|| package.to_owned())
    })
}

/// Fetches a package and stores its kernel.
pub(super) fn fetch(package: &str, cache: &Cache) -> Result<Kernel, KernelError> {
    let scratch = cache.scratch()?;
    let directory = scratch.path();
    let output = run("apt-get", &["download", "--quiet", package], directory)?;
    if !output.status.success() {
        return Err(KernelError::NoPackage(package.to_owned(), message(&output)));
    }
    let archive = tool::only_file(directory, "", ".deb")
        .ok_or_else(|| KernelError::NotFetched(package.to_owned(), message(&output)))?;
    let output = run("dpkg-deb", &["--extract", &archive, "content"], directory)?;
    if !output.status.success() {
        return Err(KernelError::NotFetched(package.to_owned(), message(&output)));
    }
    let boot = directory.join("content/boot");
    let image = tool::only_file(&boot, IMAGE_PREFIX, "")
        .ok_or_else(|| KernelError::Empty(package.to_owned()))?;
    let read = |name: &str| fs::read(boot.join(name));
    let image = read(&image).map_err(|error| failed(&boot.join(&image), error))?;
    let config = tool::only_file(&boot, "config-", "").and_then(|name| read(&name).ok());
    cache.keep(package, &image, config.as_deref())
}

fn run(program: &'static str, arguments: &[&str], directory: &Path) -> Result<Output, KernelError> {
    tool::output(program, arguments, directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KernelError::NoPackageTool(program),
        _ => KernelError::NotFetched(program.to_owned(), error.to_string()),
    })
}

/// The last line of a program's standard error.
fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no error message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_package_contains_flavour_and_version() {
        for flavour in Flavour::ALL {
            let name = package(*flavour, "6.1.0-56");
            assert_eq!(flavour_and_version(&name), Some((*flavour, "6.1.0-56")), "{name}");
        }
        assert_eq!(package(Flavour::Realtime, "6.1.0-56"), "linux-image-6.1.0-56-rt-amd64");
        assert_eq!(flavour_and_version("linux-source-6.1"), None);
    }

    #[test]
    fn the_metapackage_leads_to_the_current_kernel() {
        let depends = "linux-image-rt-amd64\n  Depends: linux-image-6.1.0-56-rt-amd64\n";
        let found = dependency(depends, Flavour::Realtime);
        assert_eq!(found.as_deref(), Some("linux-image-6.1.0-56-rt-amd64"));
        assert_eq!(dependency(depends, Flavour::Cloud), None);
        assert_eq!(dependency("linux-image-rt-amd64\n", Flavour::Realtime), None);
    }
}
