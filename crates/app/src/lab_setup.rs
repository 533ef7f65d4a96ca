//! Preparing everything that guests need: the emulator, the program that runs in them, kernels.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::Serialize;
use tactus_guests::{Emulator, GuestProgram};
use tactus_kernels::Kernel;
use tactus_model::digest::sha256;
use tactus_model::kernel::{Architecture, GuestKernel};

use crate::build_event::BuildListener;
use crate::{Error, ErrorKind, Places, Result, guest_program};

/// A part that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "part", rename_all = "kebab-case")]
pub enum Part {
    /// QEMU.
    Emulator {
        /// The CPUs of its guests.
        architecture: Architecture,
        /// The first line of its `--version`.
        version: String,
    },
    /// The program that runs in guests.
    Program {
        /// The CPUs of the guests.
        architecture: Architecture,
        /// Its file; `None` if this `tactus` contains it.
        file: Option<std::path::PathBuf>,
        /// The digest of its content.
        sha256: String,
    },
    /// A kernel.
    Kernel {
        /// Its name.
        kernel: GuestKernel,
        /// Its release, as in `uname -r`.
        release: Option<String>,
        /// The digest of its file.
        sha256: String,
    },
}

/// A part of the setup: what is ready and how long it took, or why it is missing.
pub type Outcome<'o> = std::result::Result<(&'o Part, Duration), &'o Error>;

/// Prepares what guests with `kernels` need: checks the emulators, builds the program that runs in
/// guests if this `tactus` was built from source, and fetches or builds the kernels. Everything
/// that can be prepared is, whatever else is missing.
///
/// # Errors
/// A part is missing; each was passed to `on_part`.
pub fn prepare(
    places: &Places,
    kernels: &[GuestKernel],
    listener: impl Fn() -> BuildListener,
    mut on_part: impl FnMut(Outcome<'_>),
) -> Result<()> {
    let known = places.kernels(listener())?;
    let architectures: BTreeSet<Architecture> = kernels
        .iter()
        .map(|kernel| known.architecture(&kernel.source).unwrap_or(Architecture::Amd64))
        .collect();
    let mut missing = Vec::new();
    let mut take = |prepare: &mut dyn FnMut() -> Result<Part>| {
        let began = Instant::now();
        match prepare() {
            Ok(part) => on_part(Ok((&part, began.elapsed()))),
            Err(error) => {
                on_part(Err(&error));
                missing.push(error);
            }
        }
    };
    for architecture in &architectures {
        take(&mut || emulator(places, *architecture));
    }
    let building = listener();
    for architecture in &architectures {
        take(&mut || program(places, *architecture, &building));
    }
    for kernel in kernels {
        take(&mut || {
            let Kernel { release, sha256, .. } = known.find(&kernel.source)?;
            Ok(Part::Kernel { kernel: kernel.clone(), release, sha256 })
        });
    }
    match missing.len() {
        0 => Ok(()),
        count => Err(incomplete(count, &missing)),
    }
}

/// The error for `count` missing parts, with the commands that add them.
fn incomplete(count: usize, missing: &[Error]) -> Error {
    let mut fixes: Vec<&str> = missing.iter().filter_map(Error::hint).collect();
    fixes.dedup();
    let parts = if count == 1 { "part is" } else { "parts are" };
    let error = Error::new(ErrorKind::Unavailable, format!("{count} {parts} missing"));
    error.with_hint_if_any((!fixes.is_empty()).then(|| fixes.join("; ")))
}

fn emulator(places: &Places, architecture: Architecture) -> Result<Part> {
    let Emulator { version, .. } = Emulator::find(&places.search_path, architecture)?;
    Ok(Part::Emulator { architecture, version })
}

fn program(places: &Places, architecture: Architecture, building: &BuildListener) -> Result<Part> {
    if let Some(source) = guest_program::source(places) {
        if !source.has_target(&places.search_path, architecture)? {
            source.add_target(&places.search_path, architecture)?;
        }
        guest_program::build(&source, places, architecture, building)?;
    }
    let places = places.guests()?;
    let GuestProgram { bytes, file } =
        GuestProgram::find(&places.executable, places.program, architecture)?;
    Ok(Part::Program { architecture, file, sha256: sha256([&bytes]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuildEvent;

    #[test]
    fn every_missing_part_is_reported_with_its_fix() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places {
            store: Some(folder.path().join("runs.sqlite").into()),
            kernels: Some(folder.path().join("kernels")),
            executable: Some(folder.path().join("tactus")),
            guest_program: Some(folder.path().join("no-program").into()),
            ..Places::default()
        };
        // The header of an arm64 kernel.
        let mut image = vec![0; 0x40];
        image[0x38..0x3c].copy_from_slice(b"ARMd");
        let file = folder.path().join("Image");
        std::fs::write(&file, image).unwrap();
        let kernels = ["./no/bzImage", file.to_str().unwrap()].map(|name| name.parse().unwrap());
        let (mut fixes, mut ready) = (Vec::new(), Vec::new());
        let listener = || -> BuildListener { Box::new(|_: &BuildEvent<'_>| ()) };
        let outcome = prepare(&places, &kernels, listener, |part| match part {
            Ok((part, _)) => ready.push(part.clone()),
            Err(error) => fixes.push(error.to_string()),
        });
        assert!(matches!(&ready[..], [Part::Kernel { .. }]), "{ready:?}");
        let error = outcome.unwrap_err();
        assert_eq!(error.to_string(), format!("{} parts are missing", fixes.len()));
        let hint = error.hint().unwrap();
        assert!(hint.contains("sudo apt-get install qemu-system-x86"), "{hint}");
        assert!(hint.contains("sudo apt-get install qemu-system-arm"), "{hint}");
        assert!(fixes.iter().any(|fix| fix.contains("no-program")), "{fixes:?}");
    }
}
