//! Kubernetes: the manifest of an Indexed Job.
//!
//! Tactus writes the manifest, a person applies it, and results are merged from the shared directory,
//! a volume of every pod at the same path. The cluster is not asked: it starts lost pods again itself.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::ClusterError;
use crate::directory::SCRIPT;
use crate::error::of_file;
use crate::ledger::ATTEMPTS;

/// What the manifest of a job needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesSettings {
    /// The file of the manifest.
    pub manifest: PathBuf,
    /// The image of the containers, which has QEMU and a C library as of the submitting machine.
    pub image: String,
    /// The claim of the volume that is mounted at the shared directory.
    pub claim: String,
}

/// An Indexed Job.
#[derive(Debug)]
pub struct Kubernetes {
    settings: KubernetesSettings,
    /// The directory that all nodes see.
    shared: PathBuf,
    /// The job's directory.
    directory: PathBuf,
    cpus: usize,
}

impl Kubernetes {
    /// A job in `directory` below `shared`, whose pods get `cpus` CPUs each.
    pub fn new(settings: KubernetesSettings, shared: &Path, directory: &Path, cpus: usize) -> Self {
        let (shared, directory) = (shared.to_owned(), directory.to_owned());
        Self { settings, shared, directory, cpus }
    }

    /// The name of the job: a label of DNS.
    fn name(&self) -> String {
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        let cut = name.len().saturating_sub(52);
        name[cut..].trim_matches('-').to_owned()
    }

    /// Writes the manifest for this many tasks.
    ///
    /// # Errors
    /// Its file cannot be written.
    pub fn write(&self, tasks: usize) -> Result<(), ClusterError> {
        let file = &self.settings.manifest;
        let text = format!("{:#}\n", self.manifest(tasks));
        std::fs::write(file, text).map_err(of_file("write", file))
    }

    /// The manifest for this many tasks.
    pub fn manifest(&self, tasks: usize) -> Value {
        let user = tactus_sys::process::effective_user();
        let attempts = tasks.saturating_mul(ATTEMPTS as usize);
        let (name, script) = (self.name(), self.directory.join(SCRIPT));
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": name, "labels": { "app.kubernetes.io/name": "tactus" } },
            "spec": {
                "completionMode": "Indexed",
                "completions": tasks,
                "parallelism": tasks,
                "backoffLimit": attempts,
                "template": {
                    "metadata": { "labels": { "app.kubernetes.io/name": "tactus" } },
                    "spec": {
                        "restartPolicy": "Never",
                        // The directory belongs to the user who submits.
                        "securityContext": { "runAsUser": user },
                        "containers": [{
                            "name": "task",
                            "image": self.settings.image,
                            "command": ["/bin/sh", script],
                            "env": [{
                                "name": "NODE_NAME",
                                "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } },
                            }],
                            "resources": {
                                "requests": {
                                    "cpu": self.cpus.to_string(),
                                    "memory": format!("{}Gi", self.cpus),
                                },
                            },
                            "volumeMounts": [{ "name": "shared", "mountPath": self.shared }],
                        }],
                        "volumes": [{
                            "name": "shared",
                            "persistentVolumeClaim": { "claimName": self.settings.claim },
                        }],
                    },
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_a_label_of_dns() {
        let settings = KubernetesSettings {
            manifest: "job.json".into(),
            image: "tactus".to_owned(),
            claim: "shared".to_owned(),
        };
        let directory = format!("/mnt/tactus-job-{}.Example_1-17-0", "x".repeat(80));
        let job = Kubernetes::new(settings, Path::new("/mnt"), Path::new(&directory), 2);
        let name = job.name();
        assert!(name.len() <= 52 && name.ends_with("x-example-1-17-0"), "{name}");
        assert_eq!(job.manifest(7)["spec"]["completions"], 7);
    }
}
