//! The options of clusters.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tactus_app::Error;
use tactus_app::cluster::{ClusterSettings, KubernetesSettings};

use crate::error::{CommandError, CommandResult};
use crate::values::whole;

/// The heading of options about clusters.
pub(crate) const HEADING: &str = "Clusters";

/// A cluster whose nodes measure.
#[derive(Args)]
pub(crate) struct ClusterOptions {
    /// With deterministic time: measure on the nodes of a cluster, with the same result as on this machine
    #[arg(long, value_name = "CLUSTER", help_heading = HEADING)]
    on: Option<Manager>,
    /// With --on: directory that this machine and all nodes see under the same path
    #[arg(long, value_name = "DIR", requires = "on", help_heading = HEADING)]
    shared: Option<PathBuf>,
    /// With --on: number of turns of a task [default: as many as take about a minute]
    #[arg(long, value_name = "N", requires = "on", help_heading = HEADING,
        value_parser = whole(1..=100_000_u32))]
    turns_per_task: Option<u32>,
    /// With --on kubernetes: file for the manifest of the job, which you apply
    #[arg(long, value_name = "FILE", requires = "on", help_heading = HEADING)]
    manifest: Option<PathBuf>,
    /// With --on kubernetes: image of the containers; it needs QEMU
    #[arg(long, value_name = "IMAGE", requires = "on", help_heading = HEADING)]
    pod_image: Option<String>,
    /// With --on kubernetes: claim of the volume with the shared directory
    #[arg(long, value_name = "NAME", requires = "on", help_heading = HEADING)]
    volume_claim: Option<String>,
}

/// What manages a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Manager {
    /// A job array of Slurm
    Slurm,
    /// An Indexed Job of Kubernetes, whose manifest is written
    Kubernetes,
}

impl ClusterOptions {
    /// The shared directory of Slurm, for what only Slurm can do.
    pub(crate) fn shared_of_slurm(&self, option: &str) -> CommandResult<PathBuf> {
        if self.on != Some(Manager::Slurm) {
            return Err(Error::usage(format!("`{option}` needs `--on slurm`")).into());
        }
        let cluster = self.cluster()?;
        cluster
            .map(|cluster| cluster.shared)
            .ok_or_else(|| CommandError::usage("`--on` needs a cluster"))
    }

    /// The cluster, if one was given.
    pub(crate) fn cluster(&self) -> CommandResult<Option<ClusterSettings>> {
        let Some(manager) = self.on else { return Ok(None) };
        let missing =
            |option: &str, what: &str| Error::usage(format!("`--on` needs `{option}`: {what}"));
        let shared = self.shared.clone().ok_or_else(|| {
            missing(
                "--shared DIR",
                "a directory that this machine and all nodes see under the same path",
            )
        })?;
        let kubernetes = match manager {
            Manager::Slurm => {
                let given = [
                    ("--manifest", self.manifest.is_some()),
                    ("--pod-image", self.pod_image.is_some()),
                    ("--volume-claim", self.volume_claim.is_some()),
                ];
                if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
                    let reason = format!("`{option}` applies to `--on kubernetes` only");
                    return Err(Error::usage(reason).into());
                }
                None
            }
            Manager::Kubernetes => Some(KubernetesSettings {
                manifest: self.manifest.clone().ok_or_else(|| {
                    missing("--manifest FILE", "the file for the manifest of the job")
                })?,
                image: self.pod_image.clone().ok_or_else(|| {
                    missing("--pod-image IMAGE", "an image of a container with QEMU")
                })?,
                claim: self.volume_claim.clone().ok_or_else(|| {
                    missing(
                        "--volume-claim NAME",
                        "the claim of the volume with the shared directory",
                    )
                })?,
            }),
        };
        let turns_per_task = self.turns_per_task.map(|turns| turns as usize);
        Ok(Some(ClusterSettings { shared, kubernetes, turns_per_task }))
    }
}
