//! Why a job cannot run on a cluster.

use std::io;
use std::path::PathBuf;

use tactus_guests::GuestError;

/// Why a job cannot be prepared, submitted, or carried out by a node.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A file of the shared directory cannot be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// The operation, as a verb.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A program of Slurm is missing.
    #[error("cannot run `{0}`: it is not installed here")]
    NoProgram(&'static str),
    /// Slurm refuses.
    #[error("{program} failed: {said}")]
    Refused {
        /// Its program.
        program: &'static str,
        /// What it printed.
        said: String,
    },
    /// The job's file is not one of ours.
    #[error("{} is not a job of this version of tactus: {reason}", .path.display())]
    NotAJob {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// This node would give other figures than the submitting machine.
    #[error("{what} is `{here}` on this node, and `{there}` where the job was submitted")]
    OtherNode {
        /// What differs.
        what: &'static str,
        /// Its value on this node.
        here: String,
        /// Its value where the job was submitted.
        there: String,
    },
    /// The text is not a list of nodes.
    #[error("`{0}` is not a list of nodes, e.g. n1,n[4-7]")]
    NotNodes(String),
    /// The cluster has no such node.
    #[error("the cluster has no node `{node}`")]
    UnknownNode {
        /// The name.
        node: String,
        /// The nearest name of a node.
        near: Option<String>,
    },
    /// More nodes are named than a job can have tasks.
    #[error("{all} nodes are named, and a job has at most {most}")]
    TooManyNodes {
        /// The number of named nodes.
        all: usize,
        /// The most.
        most: usize,
    },
    /// Guests cannot run here.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The task was requested to end.
    #[error("the task was ended; its finished turns are kept")]
    Ended,
}

impl ClusterError {
    /// The fix, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoProgram(_) => {
                Some("submit on a machine with the programs of Slurm, e.g. a login node".to_owned())
            }
            Self::OtherNode { .. } => {
                Some("install the same version of QEMU everywhere".to_owned())
            }
            Self::UnknownNode { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Self::NotNodes(_) | Self::UnknownNode { near: None, .. } => {
                Some("`sinfo --Node` lists the nodes of the cluster".to_owned())
            }
            Self::TooManyNodes { .. } => Some("measure them in several runs".to_owned()),
            Self::Guest(error) => error.hint(),
            Self::File { .. } | Self::Refused { .. } | Self::NotAJob { .. } | Self::Ended => None,
        }
    }
}

/// Converts an error of the system to one that names its file.
pub(crate) fn of_file<'p>(
    what: &'static str,
    path: &'p std::path::Path,
) -> impl FnOnce(io::Error) -> ClusterError + use<'p> {
    move |source| ClusterError::File { what, path: path.to_owned(), source }
}
