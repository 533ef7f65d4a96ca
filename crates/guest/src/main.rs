//! The program of a guest kernel; see the library of this crate.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tactus_guest::run(tactus_guest::first::main)
}
