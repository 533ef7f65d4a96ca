//! Frames of a call chain, and which of them is the program's own.

use tactus_model::violation::CodePlace;

/// A function on the stack, or one that the compiler has put into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) place: CodePlace,
    /// The file name of the program or library.
    pub(crate) object: String,
    /// The function of the symbol table, into which the compiler may have put this one.
    pub(crate) symbol: Option<String>,
}

/// How file names of the C and C++ libraries, the loader and the kernel's code begin.
const SYSTEM_OBJECTS: [&str; 10] = [
    "libc.so",
    "libc-",
    "libm.so",
    "libpthread",
    "librt.so",
    "libstdc++",
    "libgcc_s",
    "ld-linux",
    "ld-musl",
    "[",
];

/// Parts of the paths of sources that are not the program's own: the standard library, as its
/// compiled form and as installed, crates from a registry, and headers of the system.
const FOREIGN_SOURCES: [&str; 6] = [
    "/rustc/",
    "/rust/deps/",
    "/lib/rustlib/src/",
    "/registry/src/",
    "/git/checkouts/",
    "/usr/include/",
];

/// How functions of this watcher begin.
const OUR_FUNCTIONS: [&str; 2] = ["tactus_sys::section::", "<tactus_sys::section::"];

/// How the last part of the names of functions begins by which the compiler calls an allocator:
/// their line is that of the allocator's declaration.
const ALLOCATOR: &str = "__rust_";

/// The end of the path of the allocator's source, which may be in any function.
const OUR_SOURCE: &str = "/sys/src/section/allocator.rs";

impl Frame {
    fn is_of_the_system(&self) -> bool {
        SYSTEM_OBJECTS.iter().any(|start| self.object.starts_with(start))
    }

    fn is_ours(&self) -> bool {
        let symbol = self.symbol.as_deref().unwrap_or_default();
        let file = self.place.file.as_deref().unwrap_or_default();
        // The compiler may have put the function into another, or it has no debug information.
        let names = [self.place.function.as_deref().unwrap_or_default(), symbol];
        OUR_FUNCTIONS.iter().any(|start| symbol.starts_with(start))
            || names.iter().any(|name| is_allocator(name))
            || file.ends_with(OUR_SOURCE)
    }

    /// Whether the frame has a line of the program's own sources.
    fn is_own(&self) -> bool {
        let file = self.place.file.as_deref().unwrap_or_default();
        let is_foreign = FOREIGN_SOURCES.iter().any(|part| file.contains(part));
        self.has_line() && !is_foreign && !self.is_ours() && !self.is_of_the_system()
    }

    fn has_line(&self) -> bool {
        self.place.file.is_some() && self.place.line.is_some()
    }
}

fn is_allocator(function: &str) -> bool {
    function.rsplit("::").next().is_some_and(|name| name.starts_with(ALLOCATOR))
}

/// The place that a call chain, innermost frame first, is reported at: the innermost line of the
/// program's own sources; without one, the innermost line of any sources outside of the system's
/// libraries, or the innermost frame outside of them.
pub(crate) fn place(frames: &[Frame]) -> CodePlace {
    let find = |wanted: fn(&Frame) -> bool| frames.iter().find(|frame| wanted(frame));
    let outside = |frame: &Frame| !frame.is_of_the_system() && !frame.is_ours();
    let found = find(Frame::is_own)
        .or_else(|| frames.iter().find(|frame| outside(frame) && frame.has_line()))
        .or_else(|| frames.iter().find(|frame| outside(frame)))
        .or(frames.first());
    let place = found.map(|frame| frame.place.clone()).unwrap_or_default();
    // Several instructions of one line are one place.
    let code = place.code.filter(|_| place.line.is_none());
    CodePlace { code, ..place }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(object: &str, function: &str, file: Option<&str>) -> Frame {
        Frame {
            object: object.to_owned(),
            symbol: Some(function.to_owned()),
            place: CodePlace {
                function: Some(function.to_owned()),
                file: file.map(str::to_owned),
                line: file.map(|_| 7),
                code: Some(format!("{object}+0x1")),
            },
        }
    }

    fn check(frames: &[Frame], function: &str) {
        assert_eq!(place(frames).function.as_deref(), Some(function));
    }

    #[test]
    fn the_innermost_line_of_the_program_itself_is_reported() {
        let write = frame("libc.so.6", "write", Some("../sysdeps/unix/sysv/linux/write.c"));
        let std = frame("servo", "std::io::print", Some("/rustc/29483883/library/std/src/io.rs"));
        let registry =
            frame("servo", "log::log", Some("/home/u/.cargo/registry/src/x/log-0.4/lib.rs"));
        let ours = frame("servo", "tactus_sys::section::allocator::catch", Some("/src/a.rs"));
        let mut inlined = frame("servo", "__rust_alloc", Some("/home/u/servo/src/main.rs"));
        inlined.symbol = Some("servo::step".to_owned());
        let own = frame("servo", "step", Some("/home/u/servo/src/main.rs"));
        let main = frame("servo", "main", Some("/home/u/servo/src/main.rs"));
        let chain = [write, std, registry, ours, inlined, own, main];
        check(&chain, "step");
        check(&chain[..5], "std::io::print");
    }

    #[test]
    fn without_lines_the_function_outside_of_the_systems_libraries_is_reported() {
        let write = frame("libc.so.6", "write", None);
        let plugin = frame("reverb.so", "run", None);
        check(&[write.clone(), plugin, frame("host", "main", None)], "run");
        check(&[write], "write");
        assert_eq!(place(&[]), CodePlace::default());
    }
}
