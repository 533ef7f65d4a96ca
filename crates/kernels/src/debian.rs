//! Debian's kernels, fetched by the system's own package tool and unpacked, not installed.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Output;

use tactus_model::kernel::Flavour;

use crate::cache::Cache;
use crate::{IMAGE_PREFIX, Kernel, KernelError, failed, tool};

/// What stands before and after the version in the name of a flavour's package.
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

/// What a package's name tells of the kernel in it.
pub(super) fn flavour_and_version(package: &str) -> Option<(Flavour, &str)> {
    // The generic ending is that of the others too, so it is tried last.
    [Flavour::Realtime, Flavour::Cloud, Flavour::Generic].into_iter().find_map(|flavour| {
        let (before, after) = affixes(flavour);
        let version = package.strip_prefix(before)?.strip_suffix(after)?;
        Some((flavour, version))
    })
}

/// The package that Debian's own pointer to the current kernel of a flavour names.
pub(super) fn current(flavour: Flavour) -> Result<String, KernelError> {
    let pointer = match flavour {
        Flavour::Generic => "linux-image-amd64",
        Flavour::Cloud => "linux-image-cloud-amd64",
        Flavour::Realtime => "linux-image-rt-amd64",
    };
    let output = run("apt-cache", &["depends", "--important", pointer], Path::new("/"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    pointed_to(&text, flavour)
        .ok_or_else(|| KernelError::NoPackage(pointer.to_owned(), said(&output)))
}

/// The first package of the flavour that another one depends on, as `apt-cache depends` tells.
fn pointed_to(depends: &str, flavour: Flavour) -> Option<String> {
    depends.lines().find_map(|line| {
        let package = line.trim().trim_start_matches('|').strip_prefix("Depends:")?.trim();
        let (found, _) = flavour_and_version(package)?;
        (found == flavour).then(|| package.to_owned())
    })
}

/// Fetches a package and keeps its kernel.
pub(super) fn fetch(package: &str, cache: &Cache) -> Result<Kernel, KernelError> {
    let scratch = cache.scratch()?;
    let directory = scratch.path();
    let output = run("apt-get", &["download", "--quiet", package], directory)?;
    if !output.status.success() {
        return Err(KernelError::NoPackage(package.to_owned(), said(&output)));
    }
    let archive = tool::only_file(directory, "", ".deb")
        .ok_or_else(|| KernelError::NotFetched(package.to_owned(), said(&output)))?;
    let output = run("dpkg-deb", &["--extract", &archive, "content"], directory)?;
    if !output.status.success() {
        return Err(KernelError::NotFetched(package.to_owned(), said(&output)));
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

/// The last line of what a program complained of.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it did not say why").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_by_flavour_and_version() {
        for flavour in Flavour::ALL {
            let name = package(*flavour, "6.1.0-56");
            assert_eq!(flavour_and_version(&name), Some((*flavour, "6.1.0-56")), "{name}");
        }
        assert_eq!(package(Flavour::Realtime, "6.1.0-56"), "linux-image-6.1.0-56-rt-amd64");
        assert_eq!(flavour_and_version("linux-source-6.1"), None);
    }

    #[test]
    fn the_pointer_to_the_current_kernel_is_followed() {
        let depends = "linux-image-rt-amd64\n  Depends: linux-image-6.1.0-56-rt-amd64\n";
        let found = pointed_to(depends, Flavour::Realtime);
        assert_eq!(found.as_deref(), Some("linux-image-6.1.0-56-rt-amd64"));
        assert_eq!(pointed_to(depends, Flavour::Cloud), None);
        assert_eq!(pointed_to("linux-image-rt-amd64\n", Flavour::Realtime), None);
    }
}
