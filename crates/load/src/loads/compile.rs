//! Endless compiles of a generated 200-line C program: the CPU load of 1992.
//!
//! A copy keeps a source, a program and the compiler's temporary files: less than 1 MiB.

use std::fs;
use std::slice;

use super::compiler::Compiler;
use super::{Endless, source};
use crate::error::During;
use crate::site::Site;

/// Counts one operation each time the program was preprocessed, compiled, optimised,
/// assembled and linked.
pub(super) fn run(site: &'static Site) -> Endless {
    let compiler = Compiler::find(site.directory(), site)?;
    let (program, output) = (site.path("program.c"), site.path("program"));
    fs::write(&program, source::program(&mut site.random())).during("write a C program")?;
    loop {
        compiler.build(slice::from_ref(&program), &output)?;
        site.did(1, 0);
    }
}
