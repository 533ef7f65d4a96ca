//! The program that runs in guests: its file, and whether it can run there.

mod source;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tactus_model::kernel::Architecture;

use crate::GuestError;

pub use source::{ProgramProgress, ProgramSource};
pub(crate) use source::{fix_if_missing, setup};

/// The target of its build for amd64.
pub const STATIC_TARGET: &str = static_target(Architecture::Amd64);

/// The target of its build for guests of `architecture`.
pub const fn static_target(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "x86_64-unknown-linux-musl",
        Architecture::Arm64 => "aarch64-unknown-linux-musl",
    }
}

const NAME: &str = "tactus-guest";

/// The program that this build of `tactus` contains. `cargo xtask dist` builds it so; a build from
/// source finds the program in a file.
#[cfg(feature = "embedded-program")]
const fn embedded(architecture: Architecture) -> Option<&'static [u8]> {
    match architecture {
        Architecture::Amd64 => Some(include_bytes!(env!("TACTUS_GUEST_PROGRAM"))),
        Architecture::Arm64 => Some(include_bytes!(env!("TACTUS_GUEST_PROGRAM_ARM64"))),
    }
}
#[cfg(not(feature = "embedded-program"))]
const fn embedded(_architecture: Architecture) -> Option<&'static [u8]> {
    None
}

/// The program that runs in guests.
#[derive(Clone, Debug)]
pub struct GuestProgram {
    /// The content of its file.
    pub bytes: Vec<u8>,
    /// Its file, unless this build of `tactus` contains it.
    pub file: Option<PathBuf>,
}

impl GuestProgram {
    /// Finds the program of guests for `executable`, which is `tactus` itself: the file in
    /// `TACTUS_GUEST` if it is for `architecture`, else one beside that file, else the program that this build contains, else
    /// the file beside `executable`, where `cargo install` puts it, else in cargo's target directory
    /// that contains `executable`, else in that of the source.
    ///
    /// # Errors
    /// It is in none of these places, it needs shared libraries, or the named file is not a build of it.
    pub fn find(
        executable: &Path,
        named: Option<OsString>,
        architecture: Architecture,
    ) -> Result<Self, GuestError> {
        let named = named.filter(|named| !named.is_empty()).map(PathBuf::from);
        let (mut searched, mut unused) = (Vec::new(), None);
        if let Some(named) = named {
            let not_one = |reason| GuestError::NotAProgram { file: named.clone(), reason };
            if !named.exists() {
                return Err(not_one("there is no such file"));
            }
            if !named.is_file() {
                return Err(not_one("it is not a file"));
            }
            let program = Self::read(&named)?;
            // One variable names one file; guests of another architecture need another.
            if !is_for_another(&program.bytes, architecture) {
                return match (is_static(&program.bytes), has_mark(&program.bytes)) {
                    _ if !program.bytes.starts_with(ELF) => Err(not_one("it is not a program")),
                    (false, _) => Err(not_one("it needs shared libraries, and a guest has none")),
                    (true, false) => Err(not_one("it is not a build of tactus-guest")),
                    (true, true) => Ok(program),
                };
            }
            searched = beside(&named, architecture);
            for place in searched.iter().filter(|place| place.is_file()) {
                let program = Self::read(place)?;
                let bytes = &program.bytes;
                if !is_for_another(bytes, architecture) && is_static(bytes) && has_mark(bytes) {
                    return Ok(program);
                }
            }
            unused = Some(named);
        }
        if let Some(bytes) = embedded(architecture) {
            return Ok(Self { bytes: bytes.to_vec(), file: None });
        }
        let (places, mut dynamic) = (places(executable, architecture), None);
        for place in places.iter().filter(|place| place.is_file()) {
            let program = Self::read(place)?;
            match (is_for_another(&program.bytes, architecture), is_static(&program.bytes)) {
                (true, _) => {}
                (false, true) => return Ok(program),
                // As `cargo build --workspace` makes one; the other places may have one for guests.
                (false, false) => dynamic = dynamic.or_else(|| Some(place.clone())),
            }
        }
        if let Some(file) = dynamic {
            return Err(GuestError::NotStatic { architecture, file });
        }
        searched.extend(places);
        Err(GuestError::NoProgram { architecture, places: searched, unused })
    }

    fn read(file: &Path) -> Result<Self, GuestError> {
        let bytes = fs::read(file).map_err(|source| GuestError::Io {
            what: "read",
            path: file.to_owned(),
            source,
        })?;
        Ok(Self { bytes, file: Some(file.to_owned()) })
    }
}

/// The files beside a named program for other guests that may have the program for `architecture`:
/// in its directory, and in that of cargo for the other target.
fn beside(named: &Path, architecture: Architecture) -> Vec<PathBuf> {
    let Some(directory) = named.parent() else { return Vec::new() };
    let mut places = vec![directory.join(format!("{NAME}-{architecture}")), directory.join(NAME)];
    if let (Some(profile), Some(target)) = (directory.file_name(), directory.ancestors().nth(2)) {
        places.push(target.join(static_target(architecture)).join(profile).join(NAME));
    }
    places.retain(|place| place != named);
    places
}

/// The files that may have the program of `executable`.
fn places(executable: &Path, architecture: Architecture) -> Vec<PathBuf> {
    let Some(beside) = executable.parent() else { return Vec::new() };
    let built = |target: &Path| target.join(static_target(architecture)).join("release").join(NAME);
    let mut places = vec![beside.join(NAME)];
    places.extend(beside.parent().map(built));
    let source = ProgramSource::of_this_build().map(|source| built(&source.target_directory()));
    places.extend(source.filter(|place| !places.contains(place)));
    places
}

/// Whether an executable is for guests of another architecture: by `e_machine` of a 64-bit ELF
/// file (elf(5)).
fn is_for_another(bytes: &[u8], architecture: Architecture) -> bool {
    let found = bytes.get(18..20).filter(|_| bytes.starts_with(ELF));
    let mut others = Architecture::ALL.iter().filter(|other| **other != architecture);
    others.any(|other| found.is_some_and(|found| *found == machine_of(*other).to_le_bytes()))
}

/// `EM_X86_64` and `EM_AARCH64` of elf.h.
const fn machine_of(architecture: Architecture) -> u16 {
    match architecture {
        Architecture::Amd64 => 62,
        Architecture::Arm64 => 183,
    }
}

/// A message of the program that runs in guests, which marks its file.
const MARK: &[u8] = b"tactus-guest: cannot ";

fn has_mark(bytes: &[u8]) -> bool {
    bytes.windows(MARK.len()).any(|part| part == MARK)
}

/// The beginning of a 64-bit ELF file.
const ELF: &[u8] = b"\x7fELF\x02\x01";

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
    let is_elf = bytes.starts_with(ELF);
    is_elf && headers().is_some_and(|kinds| !kinds.contains(&u64::from(INTERPRETER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMD64: Architecture = Architecture::Amd64;

    #[test]
    fn the_program_is_searched_beside_tactus_and_in_the_target_directories() {
        let executable = Path::new("/home/ann/tactus/target/release/tactus");
        for (architecture, target) in [
            (AMD64, "x86_64-unknown-linux-musl"),
            (Architecture::Arm64, "aarch64-unknown-linux-musl"),
        ] {
            let expected = [
                "/home/ann/tactus/target/release/tactus-guest".to_owned(),
                format!("/home/ann/tactus/target/{target}/release/tactus-guest"),
            ];
            let places = places(executable, architecture);
            assert_eq!(places[..2], expected.map(PathBuf::from));
            assert!(places[2..].iter().all(|place| place.ends_with("release/tactus-guest")));
        }
    }

    #[test]
    fn a_named_program_is_the_only_one_of_its_architecture() {
        let folder = tempfile::tempdir().unwrap();
        let executable = folder.path().join("bin/tactus");
        fs::create_dir(folder.path().join("bin")).unwrap();
        let beside = folder.path().join("bin").join(NAME);
        fs::write(&beside, elf(&[1], AMD64)).unwrap();
        let missing = folder.path().join("mine");
        let find = |named: Option<OsString>, architecture| {
            GuestProgram::find(&executable, named, architecture)
        };
        let error = |named: &Path| find(Some(named.into()), AMD64).unwrap_err().to_string();
        assert!(error(&missing).ends_with("mine: there is no such file"), "{}", error(&missing));
        let hint = find(Some(missing.clone().into()), AMD64).unwrap_err().hint().unwrap();
        assert!(hint.contains("unset TACTUS_GUEST"), "{hint}");
        assert!(error(folder.path()).ends_with("it is not a file"));
        for (content, reason) in [
            (b"#!/bin/sh".to_vec(), "it is not a program"),
            (elf(&[3], AMD64), "it needs shared libraries, and a guest has none"),
            (elf(&[1], AMD64), "it is not a build of tactus-guest"),
        ] {
            fs::write(&missing, content).unwrap();
            assert!(error(&missing).ends_with(reason), "{}", error(&missing));
        }
        fs::write(&missing, [elf(&[1], AMD64), MARK.to_vec()].concat()).unwrap();
        assert_eq!(find(Some(missing.clone().into()), AMD64).unwrap().file, Some(missing));
        for named in [None, Some("".into())] {
            assert_eq!(find(named, AMD64).unwrap().file, Some(beside.clone()));
        }
        let arm64 = folder.path().join("arm64");
        fs::write(&arm64, [elf(&[1], Architecture::Arm64), MARK.to_vec()].concat()).unwrap();
        let named = Some(OsString::from(&arm64));
        assert_eq!(find(named.clone(), AMD64).unwrap().file, Some(beside.clone()));
        assert_eq!(find(named, Architecture::Arm64).unwrap().file, Some(arm64.clone()));
        // Beside the named file there may be one for other guests.
        let ours = [elf(&[1], AMD64), MARK.to_vec()].concat();
        let cargo = folder.path().join("x86_64-unknown-linux-musl").join("release").join(NAME);
        let release = folder.path().join("aarch64-unknown-linux-musl").join("release");
        for directory in [cargo.parent().unwrap(), release.as_path()] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(&cargo, &ours).unwrap();
        let built = release.join(NAME);
        fs::rename(&arm64, &built).unwrap();
        assert_eq!(find(Some(built.into()), AMD64).unwrap().file, Some(cargo.clone()));
        let suffixed = folder.path().join("tactus-guest-amd64");
        let arm64 = folder.path().join(NAME);
        fs::write(&arm64, [elf(&[1], Architecture::Arm64), MARK.to_vec()].concat()).unwrap();
        fs::write(&suffixed, &ours).unwrap();
        assert_eq!(find(Some(arm64.into()), AMD64).unwrap().file, Some(suffixed));
        // A program that needs libraries hides none for guests.
        fs::write(&beside, elf(&[3], AMD64)).unwrap();
        assert_eq!(find(None, AMD64).unwrap().file, Some(cargo.clone()));
        fs::remove_file(&cargo).unwrap();
        let found = find(None, AMD64).map(|program| program.file);
        assert!(!matches!(&found, Ok(file) if *file == Some(beside)), "{found:?}");
    }

    #[test]
    fn a_named_program_for_other_guests_is_in_the_error() {
        let named = Some(PathBuf::from("/opt/mine"));
        let (architecture, places) =
            (Architecture::Arm64, beside(Path::new("/opt/mine"), Architecture::Arm64));
        let error = GuestError::NoProgram { architecture, places, unused: named };
        assert_eq!(
            error.to_string(),
            "cannot find the program that runs in guests for arm64; /opt/mine, which TACTUS_GUEST \
             names, is for amd64 and was not used; searched /opt/tactus-guest-arm64, /opt/tactus-guest"
        );
        let hint = error.hint().unwrap();
        assert!(hint.contains("/opt/tactus-guest-arm64"), "{hint}");
    }

    /// An ELF file with program headers of these types.
    fn elf(kinds: &[u32], architecture: Architecture) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(ELF);
        bytes[18..20].copy_from_slice(&machine_of(architecture).to_le_bytes());
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
        assert!(is_static(&elf(&[1, 2, 1], AMD64)));
        assert!(!is_static(&elf(&[1, 3, 1], AMD64)));
        assert!(!is_static(b"#!/bin/sh"));
        assert!(!is_static(&elf(&[1, 2], AMD64)[..70]), "cut off");
    }
}
