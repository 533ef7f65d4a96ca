//! Compiles C programs with the header and the library, and runs them.
#![forbid(unsafe_code)]

#[path = "../../../streamd/tests/common/mod.rs"]
#[expect(dead_code, reason = "the tests of the server use more of it")]
mod common;
mod delivery;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tactus_testing::{Need, require, skip};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the libraries that Cargo has built for this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// How a program is linked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Static,
    Shared,
}

/// Compiles a program of the repository into `folder`; `None` without a compiler.
fn compile(folder: &Path, source: &str, link: Link, options: &[&str]) -> Option<PathBuf> {
    let found = Command::new("cc").arg("--version").output().map(|_| ());
    require(Need::Tools, found.map_err(|error| format!("cc: {error}")))?;
    let program = folder.join(Path::new(source).file_stem().unwrap());
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
    cc.args(options).arg("-o").arg(&program).arg(root().join(source));
    cc.arg("-I").arg(root().join("crates/capi/include"));
    match link {
        Link::Static => {
            cc.arg(libraries().join("libtactusrt.a"));
            cc.args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"]);
        }
        // It is found under its SONAME.
        Link::Shared => {
            let named = folder.join("libtactusrt.so.0");
            if !named.exists() {
                std::os::unix::fs::symlink(libraries().join("libtactusrt.so"), named).unwrap();
            }
            cc.arg(folder.join("libtactusrt.so.0")).arg("-Wl,-rpath,$ORIGIN");
        }
    }
    let compiled = cc.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Some(program)
}

/// Runs a program to its end; returns what it printed.
fn run(program: &mut Command) -> String {
    let output = program.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?}: {}\n{text}{errors}", output.status);
    text
}

/// A real-time side that runs; it is killed if the test fails.
struct Running(Child);

impl Running {
    fn start(program: &Path, socket: &Path) -> Self {
        let child = Command::new(program).arg(socket).stdout(Stdio::piped()).spawn().unwrap();
        let mut running = Self(child);
        while !socket.exists() {
            assert!(running.0.try_wait().unwrap().is_none(), "it ended before it served");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        running
    }

    fn finish(mut self) -> String {
        let mut text = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(self.0.wait().unwrap().success(), "{text}");
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, if the test has not failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The number after a word of a text.
fn number(text: &str, word: &str) -> u64 {
    let rest = text.split_once(word).unwrap_or_else(|| panic!("no `{word}` in {text}")).1;
    rest.split_whitespace().next().unwrap().trim_end_matches(',').parse().unwrap()
}

#[test]
fn the_sides_of_the_example_exchange_samples_and_commands() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let wave = compile(folder.path(), "examples/rtlinux/wave.c", Link::Static, &[]);
    let scope = compile(folder.path(), "examples/rtlinux/scope.c", Link::Shared, &[]);
    let (Some(wave), Some(scope)) = (wave, scope) else { return };
    let wave = Running::start(&wave, &socket);
    let seen = run(Command::new(scope).arg(&socket));
    let served = wave.finish();
    // The command has arrived: the position moves by its step. The scope may read slowly on a busy
    // machine; then items are refused, and none is lost silently.
    assert_eq!(number(&seen, "lost "), 0, "{seen}");
    assert!(number(&seen, "read ") >= number(&seen, "them "), "{seen}");
    assert!(number(&seen, "them ") >= 100, "{seen}");
    let offered = number(&served, "pushed ") + number(&served, "refused ");
    assert!(offered >= number(&seen, "read "), "{served}{seen}");
    assert!(number(&served, "ran ") >= offered, "{served}");
}

#[test]
fn python_reads_samples() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let found = Command::new("python3").arg("--version").output().map(|_| ());
    let Some(()) = require(Need::Peers, found.map_err(|error| format!("python3: {error}"))) else {
        return;
    };
    let wave = compile(folder.path(), "examples/rtlinux/wave.c", Link::Static, &[]);
    let Some(wave) = wave else { return };
    let wave = Running::start(&wave, &socket);
    let mut scope = Command::new("python3");
    scope.arg(root().join("examples/rtlinux/scope.py")).arg(&socket).arg("50");
    let seen = run(scope.env("TACTUS_RT", libraries().join("libtactusrt.so")));
    assert!(number(&seen, "read ") >= 50, "{seen}");
    wave.finish();
}

#[test]
fn wrong_calls_are_refused_with_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let misuse = "crates/capi/tests/c/misuse.c";
    let Some(program) = compile(folder.path(), misuse, Link::Shared, &[]) else { return };
    assert_eq!(run(Command::new(program).arg(folder.path().join("socket"))), "0 failures\n");
}

/// The options for a program that checks its use of memory; `None` and a skip if `cc` has none.
fn sanitizing(folder: &Path) -> Option<[&'static str; 2]> {
    let empty = folder.join("empty.c");
    fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
    let sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let mut tried = Command::new("cc");
    tried.args(sanitize).arg(&empty).arg("-o").arg(folder.join("empty"));
    if tried.output().is_ok_and(|output| output.status.success()) {
        return Some(sanitize);
    }
    skip(Need::Machine, "cc has no address sanitizer");
    None
}

#[test]
fn wrong_calls_corrupt_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let Some(sanitize) = sanitizing(folder.path()) else { return };
    let misuse = "crates/capi/tests/c/misuse.c";
    let Some(program) = compile(folder.path(), misuse, Link::Shared, &sanitize) else { return };
    let mut program = Command::new(program);
    // Thread names, generations and handles live as long as the process.
    program.arg(folder.path().join("socket")).env("ASAN_OPTIONS", "detect_leaks=0");
    assert_eq!(run(&mut program), "0 failures\n");
}

#[test]
fn a_violation_is_reported_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let source = "crates/capi/tests/c/watched.c";
    let Some(program) = compile(folder.path(), source, Link::Shared, &[]) else { return };
    let planted = fs::read_to_string(root().join(source)).unwrap();
    let line = |mark| 1 + planted.lines().position(|line| line.contains(mark)).unwrap();
    let seen = run(Command::new(program).arg(folder.path().join("socket")));
    if seen.is_empty() {
        return skip(Need::Machine, "the kernel does not dispatch system calls");
    }
    for (call, mark, function) in [
        ("watched: openat", "/* planted */", "loop"),
        ("watched: close", "/* planted */", "loop"),
        ("serves: access", "/* in the handler */", "handler"),
    ] {
        let found = seen.lines().find(|row| row.starts_with(&format!("{call}, ")));
        let found = found.unwrap_or_else(|| panic!("no {call} in {seen}"));
        let place = format!("watched.c:{} ({function}) 1", line(mark));
        assert!(found.ends_with(&place), "{found}");
    }
    assert!(!seen.contains("futex"), "what the library does itself is no violation: {seen}");
}

/// Functions and constants, as headers declare them, with the prefix of their header.
fn declared(source: &str) -> impl Iterator<Item = (&'static str, String)> {
    source.lines().flat_map(|line| {
        let function = line.split_once("extern \"C\" fn ").filter(|_| line.starts_with("pub "));
        let function = function.and_then(|(_, rest)| Some(format!("{}(", rest.split_once('(')?.0)));
        let constant = line.strip_prefix("pub const ").and_then(|rest| rest.split_once(':'));
        let constant = constant.map(|(name, _)| format!("#define {name} "));
        let header = |name: String| match name.starts_with("tactus_") || name.contains(" TACTUS_") {
            true => ("tactus.h", name),
            false => ("tactus_rt.h", name),
        };
        [function, constant].into_iter().flatten().map(header)
    })
}

#[test]
fn the_headers_declare_every_function_and_constant() {
    let read =
        |name: &str| fs::read_to_string(root().join("crates/capi/include").join(name)).unwrap();
    let mut names = Vec::new();
    for folder in ["crates/capi/src", "crates/capi/src/delivery"] {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|path| path.is_file()) {
            names.extend(declared(&fs::read_to_string(file).unwrap()));
        }
    }
    assert!(names.len() > 80, "{names:?}");
    names.retain(|(header, name)| !read(header).contains(name));
    assert!(names.is_empty(), "{names:?}; fix: run `cargo xtask header` and commit the result");
    assert!(!read("tactus_rt.h").contains("tactus_at"), "each function is in one header");
}
