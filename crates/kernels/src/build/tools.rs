//! The tools that build a kernel.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use tactus_sys::program;

/// A required tool, and its package in Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program, or the header of a library.
    pub name: &'static str,
    /// Debian's package.
    pub package: &'static str,
}

/// The programs that Linux's own build runs, and those that unpack and patch its source.
const PROGRAMS: [Tool; 10] = [
    Tool { name: "make", package: "build-essential" },
    Tool { name: "gcc", package: "build-essential" },
    Tool { name: "ld", package: "build-essential" },
    Tool { name: "patch", package: "patch" },
    Tool { name: "flex", package: "flex" },
    Tool { name: "bison", package: "bison" },
    Tool { name: "bc", package: "bc" },
    Tool { name: "tar", package: "tar" },
    Tool { name: "xz", package: "xz-utils" },
    Tool { name: "gzip", package: "gzip" },
];

/// The library with which Linux's objtool reads objects.
const ELF: Tool = Tool { name: "gelf.h", package: "libelf-dev" };

/// The tools that are missing in `search_path`, a list of directories in the form of `PATH`.
pub(super) fn missing(search_path: &OsStr) -> Vec<Tool> {
    let has = |tool: &Tool| program::find_along(search_path, tool.name).is_some();
    let mut missing: Vec<Tool> = PROGRAMS.into_iter().filter(|tool| !has(tool)).collect();
    // Only the compiler knows the directories of headers, so without it they cannot be checked.
    let has_compiler = !missing.iter().any(|tool| tool.name == "gcc");
    if has_compiler && !has_header(search_path, ELF.name) {
        missing.push(ELF);
    }
    missing
}

fn has_header(search_path: &OsStr, name: &str) -> bool {
    let status = Command::new("gcc")
        .env("PATH", search_path)
        .args(["-E", "-x", "c", "-include", name, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// The versions of the compiler and the linker, which are part of a kernel's key.
pub(super) fn versions(search_path: &OsStr) -> String {
    ["gcc", "ld"].map(|program| version(program, search_path)).join("; ")
}

fn version(program: &str, search_path: &OsStr) -> String {
    let output = Command::new(program)
        .env("PATH", search_path)
        .env("LC_ALL", "C")
        .arg("--version")
        .current_dir(Path::new("/"))
        .output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    output.lines().next().unwrap_or("of no version").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_tool_outside_the_path_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        for tool in PROGRAMS.iter().filter(|tool| !["gcc", "bison"].contains(&tool.name)) {
            let program = directory.path().join(tool.name);
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let missing = missing(directory.path().as_os_str());
        let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["gcc", "bison"]);
    }
}
