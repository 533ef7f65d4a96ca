//! The licences of all that a distributed program contains, as one text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;
use tactus_guests::STATIC_TARGET;

use crate::cargo::cargo;

/// Our packages whose dependencies are in a distributed program.
const PROGRAMS: [&str; 2] = ["tactus-cli", "tactus-guest"];

/// The part of `cargo metadata` that is needed.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: String,
    /// Where it comes from; `None` for our own.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` for a normal dependency, otherwise `build` or `dev`.
    kind: Option<String>,
}

/// The licences of Tactus, and below them those of what it contains: packages, the standard
/// library, the C library and uPlot.
pub(super) fn text(root: &Path) -> anyhow::Result<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).with_context(|| path.to_owned());
    let mut text = format!(
        "Tactus is licensed under MIT or Apache-2.0, at your choice.\n\n{}\n{}\n\
         This program contains the following packages. The text of each licence follows.\n",
        read("LICENSE-MIT")?,
        read("LICENSE-APACHE")?,
    );
    let mut licences: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut add = |name: String, licence: String| {
        licences.entry(licence).or_default().insert(name);
    };
    for package in packages(root)? {
        let name = format!("{} {}", package.name, package.version);
        let terms = package.license.as_deref().unwrap_or("see below");
        writeln!(text, "  {name}: {terms}")?;
        for licence in texts(&package)? {
            add(name.clone(), licence);
        }
    }
    text.push_str(
        "  Rust's standard library: MIT OR Apache-2.0\n  musl: MIT\n  uPlot: MIT\n  SQLite: public domain\n",
    );
    add("musl".to_owned(), include_str!("musl.txt").to_owned());
    add("uPlot".to_owned(), read("crates/report/vendor/uplot/LICENSE")?);
    for (licence, names) in licences {
        let names: Vec<String> = names.into_iter().collect();
        write!(text, "\n{}\n{}:\n\n{}\n", "-".repeat(80), names.join(", "), licence.trim_end())?;
    }
    Ok(text)
}

/// All packages of others that our programs need at run time, sorted.
fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let output = cargo(root)
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform", STATIC_TARGET])
        .output()
        .context("cargo")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let ours = metadata.packages.iter().filter(|package| PROGRAMS.contains(&&*package.name));
    let mut waiting: Vec<&str> = ours.map(|package| package.id.as_str()).collect();
    let mut needed = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if needed.insert(id.to_owned()) {
            let dependencies = nodes[id].deps.iter();
            waiting
                .extend(dependencies.filter(|dependency| dependency.is_normal()).map(|d| &*d.pkg));
        }
    }
    let mut packages = metadata.packages;
    packages.retain(|package| package.source.is_some() && needed.contains(&package.id));
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(packages)
}

impl Dependency {
    fn is_normal(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.is_none())
    }
}

/// The texts of the licence files of a package, sorted by name.
fn texts(package: &Package) -> anyhow::Result<Vec<String>> {
    let folder = Path::new(&package.manifest_path).parent().context("a manifest in no folder")?;
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|start| name.starts_with(start));
        if is_licence && entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    files
        .iter()
        .map(|file| {
            let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
            // Copies of one licence differ in their line ends.
            Ok(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_licences_of_everything_are_in_the_text() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let packages = packages(&root).unwrap();
        let has = |name: &str| packages.iter().any(|package| package.name == name);
        assert!(has("clap_builder") && has("rusqlite") && has("rustix"));
        assert!(!has("insta"), "only for tests");
        assert!(!has("cc"), "only at build time");
        assert!(!has("tactus-cli"), "ours");
        let text = text(&root).unwrap();
        for part in ["The Tactus authors", "Rich Felker", "Leon Sorokin", "Apache License"] {
            assert!(text.contains(part), "{part}");
        }
    }
}
