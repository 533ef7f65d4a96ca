//! What a kernel is compiled with.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Something that has to be installed, and Debian's package of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program, or the header of a library.
    pub name: &'static str,
    /// Where it comes from.
    pub package: &'static str,
}

/// What Linux's own build calls, and what unpacks and patches its source.
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

/// The library by which the kernel's own tool looks into its objects.
const ELF: Tool = Tool { name: "gelf.h", package: "libelf-dev" };

/// What is missing along `search_path`, a list of directories as `PATH` is.
pub(super) fn missing(search_path: &OsStr) -> Vec<Tool> {
    let has = |tool: &Tool| {
        std::env::split_paths(search_path).any(|directory| directory.join(tool.name).is_file())
    };
    let mut missing: Vec<Tool> = PROGRAMS.into_iter().filter(|tool| !has(tool)).collect();
    // Where headers are is the compiler's knowledge, so without it there is no telling.
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

/// What compiler and linker say of their versions: a kernel of another compiler is another
/// kernel.
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
    let said = output.map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    said.lines().next().unwrap_or("of no version").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_not_along_the_path_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        for tool in PROGRAMS.iter().filter(|tool| !["gcc", "bison"].contains(&tool.name)) {
            fs::write(directory.path().join(tool.name), "").unwrap();
        }
        let missing = missing(directory.path().as_os_str());
        let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["gcc", "bison"]);
    }
}
