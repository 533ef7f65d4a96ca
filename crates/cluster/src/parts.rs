//! What measures a kernel's cells, by digests: equal parts give equal bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tactus_guests::{Guests, static_target};
use tactus_kernels::Kernel;
use tactus_model::guest::{Guest, GuestAccount};
use tactus_model::kernel::{Architecture, GuestKernel, KernelSource};

use crate::ClusterError;
use crate::error::of_file;

/// The parts of one kernel's guests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// The kernel, without parameters.
    pub kernel: GuestKernel,
    /// The CPUs that it runs on.
    pub architecture: Architecture,
    /// Its release.
    pub release: Option<String>,
    /// The digest of its file, which is the name of that file in the shared directory.
    pub kernel_sha256: String,
    /// Whether its configuration is there too.
    pub has_config: bool,
    /// The digest of the program in the guest.
    pub program_sha256: String,
    /// The digest of the guest's files.
    pub archive_sha256: String,
    /// The version that the emulator reports.
    pub emulator: String,
}

impl Parts {
    /// Whether a result was measured by these parts, for a cell of `guest`.
    pub(crate) fn measured(&self, guest: &Guest, account: &GuestAccount) -> bool {
        let Self { kernel_sha256, program_sha256, archive_sha256, emulator, .. } = self;
        self.kernel.source == guest.kernel.source
            && account.kernel_sha256 == *kernel_sha256
            && account.program_sha256 == *program_sha256
            && account.archive_sha256 == *archive_sha256
            && account.emulator == *emulator
    }
}

/// The parts of all kernels of `guests`, ordered by kernel.
pub(crate) fn of(guests: &Guests) -> Vec<Parts> {
    let parts = guests.parts().map(|part| Parts {
        kernel: GuestKernel { source: part.source.clone(), parameters: Vec::new() },
        architecture: part.kernel.architecture,
        release: part.kernel.release.clone(),
        kernel_sha256: part.kernel.sha256.clone(),
        has_config: part.kernel.config.is_some(),
        program_sha256: part.program_sha256.to_owned(),
        archive_sha256: part.archive_sha256.to_owned(),
        emulator: part.emulator.to_owned(),
    });
    let mut parts: Vec<Parts> = parts.collect();
    parts.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    parts
}

/// The directory of kernels in that of a job.
const KERNELS: &str = "kernels";

/// Writes the kernels, their configurations and the programs of `guests` below `directory`.
pub(crate) fn write(guests: &Guests, directory: &Path) -> Result<(), ClusterError> {
    let kernels = directory.join(KERNELS);
    fs::create_dir(&kernels).map_err(of_file("create", &kernels))?;
    for part in guests.parts() {
        let file = kernels.join(&part.kernel.sha256);
        fs::copy(&part.kernel.path, &file).map_err(of_file("write", &file))?;
        if let Some(config) = &part.kernel.config {
            let file = config_file(&kernels, &part.kernel.sha256);
            fs::write(&file, config).map_err(of_file("write", &file))?;
        }
        // Where `tactus` itself, in `bin`, searches for it.
        let place = directory.join(static_target(part.kernel.architecture)).join("release");
        fs::create_dir_all(&place).map_err(of_file("create", &place))?;
        let file = place.join("tactus-guest");
        fs::write(&file, part.program).map_err(of_file("write", &file))?;
    }
    Ok(())
}

fn config_file(kernels: &Path, sha256: &str) -> std::path::PathBuf {
    kernels.join(format!("{sha256}.config"))
}

/// The kernels of a job in its directory.
pub(crate) fn kernels(
    parts: &[Parts],
    directory: &Path,
) -> Result<BTreeMap<KernelSource, Kernel>, ClusterError> {
    let kernels = directory.join(KERNELS);
    let found = parts.iter().map(|parts| {
        // A digest of the job's file, which could be a path.
        let sha256 = parts.kernel_sha256.replace('/', "_");
        let config = config_file(&kernels, &sha256);
        let config = if parts.has_config {
            Some(fs::read(&config).map_err(of_file("read", &config))?)
        } else {
            None
        };
        let kernel = Kernel {
            path: kernels.join(&sha256),
            architecture: parts.architecture,
            release: parts.release.clone(),
            sha256: parts.kernel_sha256.clone(),
            config,
        };
        Ok((parts.kernel.source.clone(), kernel))
    });
    found.collect()
}

/// Requires that `guests`, on this node, have the parts of the job.
pub(crate) fn require(parts: &[Parts], guests: &Guests) -> Result<(), ClusterError> {
    let here = of(guests);
    for here in &here {
        let Some(there) = parts.iter().find(|there| there.kernel == here.kernel) else { continue };
        let pairs = [
            ("the version of QEMU", &here.emulator, &there.emulator),
            ("the program of guests", &here.program_sha256, &there.program_sha256),
            ("the archive of guests", &here.archive_sha256, &there.archive_sha256),
        ];
        for (what, here, there) in pairs {
            if here != there {
                let (here, there) = (here.clone(), there.clone());
                return Err(ClusterError::OtherNode { what, here, there });
            }
        }
    }
    Ok(())
}
