//! Fuzz targets: everything that reads untrusted bytes.
//!
//! A [`Target`] is a function that takes any bytes. It may reject them, but it must not panic
//! or use memory or time out of proportion to the input. Valid input continues to its use: an
//! export, an explanation, a table.
//!
//! The test `targets` runs each target for some seconds (`TACTUS_FUZZ_SECONDS`) on
//! [mutations](mutation) of real files, with the stable toolchain and no further dependency.
//! `fuzz/` at the root of the repository has the same targets for `cargo fuzz`, which searches
//! by coverage.
#![forbid(unsafe_code)]

mod admissions;
mod clips;
mod experiments;
mod exports;
mod fifo;
mod imports;
mod keymaps;
mod lines;
mod mail;
mod messages;
mod midi;
pub mod mutation;
mod osc;
mod pipelines;
mod qos;
mod recordings;
mod seeds;
mod stream;
mod synchrony;
mod tracing;
mod turns;

/// A reader of untrusted bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, here and in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Real inputs to mutate.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads an input; panics on a defect.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 27] = [
    Target { name: "recording", seeds: recordings::seeds, run: recordings::run },
    Target { name: "export", seeds: exports::seeds, run: exports::run },
    Target { name: "import", seeds: imports::seeds, run: imports::run },
    Target { name: "format", seeds: tracing::format_seeds, run: tracing::format },
    Target { name: "page", seeds: tracing::page_seeds, run: tracing::page },
    Target { name: "perf", seeds: tracing::perf_seeds, run: tracing::perf },
    Target { name: "experiment", seeds: experiments::seeds, run: experiments::run },
    Target { name: "admission", seeds: admissions::seeds, run: admissions::run },
    Target { name: "pipeline", seeds: pipelines::seeds, run: pipelines::run },
    Target { name: "message", seeds: messages::seeds, run: messages::run },
    Target { name: "wire", seeds: messages::stream_seeds, run: messages::stream },
    Target { name: "qos", seeds: qos::call_seeds, run: qos::call },
    Target { name: "policy", seeds: qos::policy_seeds, run: qos::policy },
    Target { name: "peer", seeds: messages::peer_seeds, run: messages::peer },
    Target { name: "fifo", seeds: fifo::message_seeds, run: fifo::message },
    Target { name: "index", seeds: fifo::index_seeds, run: fifo::index },
    Target { name: "clip", seeds: clips::seeds, run: clips::run },
    Target { name: "midi", seeds: midi::seeds, run: midi::run },
    Target { name: "midi_file", seeds: midi::file_seeds, run: midi::read_file },
    Target { name: "stream", seeds: stream::seeds, run: stream::run },
    Target { name: "osc", seeds: osc::seeds, run: osc::run },
    Target { name: "lines", seeds: lines::seeds, run: lines::run },
    Target { name: "wave", seeds: synchrony::wave_seeds, run: synchrony::wave },
    Target { name: "screen", seeds: synchrony::screen_seeds, run: synchrony::screen },
    Target { name: "mail", seeds: mail::seeds, run: mail::run },
    Target { name: "keymap", seeds: keymaps::seeds, run: keymaps::run },
    Target { name: "turn", seeds: turns::seeds, run: turns::run },
];

/// The target with this name.
///
/// # Panics
/// There is no such target.
pub fn target(name: &str) -> Target {
    let found = TARGETS.into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target is called {name}"))
}
