//! The program that runs in guests: its file, and whether it can run there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::GuestError;

/// The target of its build.
pub const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

const NAME: &str = "tactus-guest";

/// The program that this build of `tactus` contains. `cargo xtask dist` builds it so; a build from
/// source finds the program in a file.
#[cfg(feature = "embedded-program")]
static EMBEDDED: Option<&[u8]> = Some(include_bytes!(env!("TACTUS_GUEST_PROGRAM")));
#[cfg(not(feature = "embedded-program"))]
static EMBEDDED: Option<&[u8]> = None;

/// The program that runs in guests.
#[derive(Clone, Debug)]
pub struct GuestProgram {
    /// The content of its file.
    pub bytes: Vec<u8>,
}

impl GuestProgram {
    /// Finds the program for `executable`, which is `tactus` itself: the file in
    /// `TACTUS_GUEST`, else the program that this build contains, else the file beside
    /// `executable`, where `cargo install` puts it, else in cargo's target directory that contains
    /// `executable`.
    ///
    /// # Errors
    /// It is in none of these places, or it needs shared libraries.
    pub fn find(executable: &Path, named: Option<OsString>) -> Result<Self, GuestError> {
        let named = named.filter(|named| !named.is_empty()).map(PathBuf::from);
        let places = match (named, EMBEDDED) {
            (Some(named), _) => vec![named],
            (None, Some(bytes)) => return Ok(Self { bytes: bytes.to_vec() }),
            (None, None) => places(executable),
        };
        let Some(file) = places.iter().find(|place| place.is_file()) else {
            return Err(GuestError::NoProgram(places));
        };
        let bytes = fs::read(file).map_err(|source| GuestError::Io {
            what: "read",
            path: file.clone(),
            source,
        })?;
        if is_static(&bytes) {
            Ok(Self { bytes })
        } else {
            Err(GuestError::NotStatic(file.clone()))
        }
    }
}

/// The files that may have the program of `executable`.
fn places(executable: &Path) -> Vec<PathBuf> {
    let Some(beside) = executable.parent() else { return Vec::new() };
    let mut places = vec![beside.join(NAME)];
    if let Some(target) = beside.parent() {
        places.push(target.join(STATIC_TARGET).join("release").join(NAME));
    }
    places
}

/// Whether an executable has no interpreter, which would load its libraries: a 64-bit ELF file
/// without a `PT_INTERP` program header (elf(5)).
fn is_static(bytes: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let word = |at: usize, length: usize| {
        let field = bytes.get(at..at.checked_add(length)?)?;
        Some(field.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte)))
    };
    let headers = || {
        let (start, size, count) = (word(32, 8)?, word(54, 2)?, word(56, 2)?);
        (0..count)
            .map(|number| {
                let at = start.checked_add(size.checked_mul(number)?)?;
                word(usize::try_from(at).ok()?, 4)
            })
            .collect::<Option<Vec<u64>>>()
    };
    let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
    is_elf && headers().is_some_and(|kinds| !kinds.contains(&u64::from(INTERPRETER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_searched_beside_tactus_and_in_the_target_directory() {
        let executable = Path::new("/home/ann/tactus/target/release/tactus");
        let expected = [
            "/home/ann/tactus/target/release/tactus-guest",
            "/home/ann/tactus/target/x86_64-unknown-linux-musl/release/tactus-guest",
        ];
        assert_eq!(places(executable), expected.map(PathBuf::from));
    }

    #[test]
    fn a_named_program_is_the_only_one() {
        let folder = tempfile::tempdir().unwrap();
        let executable = folder.path().join("tactus");
        let beside = folder.path().join(NAME);
        fs::write(&beside, elf(&[1])).unwrap();
        let missing = folder.path().join("mine");
        let named = GuestProgram::find(&executable, Some(missing.clone().into()));
        assert!(matches!(named, Err(GuestError::NoProgram(places)) if places == [missing]));
        for named in [None, Some("".into())] {
            assert!(GuestProgram::find(&executable, named).is_ok());
        }
    }

    /// An ELF file with program headers of these types.
    fn elf(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = kinds.len() as u8;
        for kind in kinds {
            bytes.extend_from_slice(&kind.to_le_bytes());
            bytes.resize(bytes.len() + 52, 0);
        }
        bytes
    }

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        assert!(is_static(&elf(&[1, 2, 1])));
        assert!(!is_static(&elf(&[1, 3, 1])));
        assert!(!is_static(b"#!/bin/sh"));
        assert!(!is_static(&elf(&[1, 2])[..70]), "cut off");
    }
}
