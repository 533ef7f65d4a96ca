//! The turns of a plan as a job of a cluster that a site already runs: Slurm or Kubernetes.
//!
//! Turns in deterministic time are independent of each other and of their host, so any node may
//! measure any of them. [`Cluster`] writes a [`Job`] into a directory that all nodes see, submits
//! it, and is a [target](tactus_lab::target::Target): the engine receives each turn's messages from a
//! result file, with the checks of any measuring process. [`task::run`] is the other side: it
//! measures the turns of one task on a node.
//!
//! ```text
//! submitting process                     shared directory           node
//! Cluster ── job, kernels, programs ──────────► job ────────────► task::run ──► guests
//!    │ ▲                                                              │
//!    │ └── checked: plan, turn, digests, limits ◄── result files ◄────┘ complete or absent
//!    └──► Slurm: submit, look, cancel
//! ```
//!
//! [`NodeJob`] is for real machines instead: each of its tasks has a node alone, measures the whole plan
//! there, and hands back its run in a file.
//!
//! [`ledger`] decides without I/O which tasks of [`slurm`] are lost. For [`kubernetes`] a person submits
//! the job, and its engine starts lost tasks again.
#![forbid(unsafe_code)]

mod cluster;
mod directory;
mod error;
pub mod job;
pub mod kubernetes;
pub mod ledger;
mod look;
mod news;
pub mod nodes;
mod notice;
mod parts;
mod program;
mod result_file;
pub mod slurm;
mod submitted;
pub mod task;
mod watcher;

pub use cluster::{Cluster, Settings};
pub use error::ClusterError;
pub use job::Job;
pub use nodes::NodeJob;
pub use notice::{Notice, NoticeListener};
pub use result_file::read_messages;
