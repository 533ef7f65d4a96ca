//! What is fuzzed: everything that reads bytes of others.
//!
//! A [`Target`] is a function that takes any bytes and may refuse them, but neither panics
//! nor takes memory or time that the bytes do not warrant. What it reads, it passes on
//! to what users do with it: an export, an explanation, a table.
//!
//! The test `targets` runs each of them for some seconds on inputs that [`mutation`] makes
//! of real files (`TACTUS_FUZZ_SECONDS`), with the stable toolchain and no further
//! dependency. `fuzz/` at the root of the repository has the same targets for `cargo fuzz`,
//! whose search is guided by coverage.
#![forbid(unsafe_code)]

mod experiments;
mod exports;
mod imports;
mod messages;
pub mod mutation;
mod recordings;
mod seeds;
mod tracing;

/// Something that reads bytes of others.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called, here and in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Real inputs, to begin from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads an input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target { name: "recording", seeds: recordings::seeds, run: recordings::run },
    Target { name: "export", seeds: exports::seeds, run: exports::run },
    Target { name: "import", seeds: imports::seeds, run: imports::run },
    Target { name: "format", seeds: tracing::format_seeds, run: tracing::format },
    Target { name: "page", seeds: tracing::page_seeds, run: tracing::page },
    Target { name: "perf", seeds: tracing::perf_seeds, run: tracing::perf },
    Target { name: "experiment", seeds: experiments::seeds, run: experiments::run },
    Target { name: "message", seeds: messages::seeds, run: messages::run },
    Target { name: "wire", seeds: messages::stream_seeds, run: messages::stream },
];

/// The target that is called `name`.
///
/// # Panics
/// There is none.
pub fn target(name: &str) -> Target {
    let found = TARGETS.into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target is called {name}"))
}
