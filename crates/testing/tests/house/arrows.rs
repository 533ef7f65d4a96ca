//! The order of crates in the table of ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::{crates, read};

/// Crates with system calls, which a pure crate must not use.
const SYSTEM: [&str; 6] =
    ["tactus-sys", "tactus-prepare", "tactus-wire", "libc", "rustix", "io-uring"];

/// A row of the table.
struct Listed {
    name: String,
    is_pure: bool,
}

/// The crates of the table, in its order: rows of the form `` | `crates/NAME` | … | yes | ``.
fn table() -> Vec<Listed> {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `crates/"));
    rows.map(|row| {
        let (name, rest) = row.split_once('`').expect("a name in backquotes");
        let is_pure = rest.trim_end().ends_with("| yes |");
        Listed { name: name.to_owned(), is_pure }
    })
    .collect()
}

/// The dependencies of a crate by package name, with or without those of tests.
fn dependencies(name: &str, with_tests: bool) -> BTreeSet<String> {
    let manifest: Table = read(&format!("crates/{name}/Cargo.toml")).parse().unwrap();
    let mut found = BTreeSet::new();
    let targets =
        manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    for table in targets.filter_map(Value::as_table).chain([&manifest]) {
        let mut kinds = vec!["dependencies", "build-dependencies"];
        kinds.extend(with_tests.then_some("dev-dependencies"));
        for dependencies in kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()) {
            found.extend(dependencies.keys().cloned());
        }
    }
    found
}

#[test]
fn the_table_lists_every_crate_once() {
    let mut listed: Vec<String> = table().into_iter().map(|row| row.name).collect();
    listed.sort();
    assert_eq!(listed, crates());
    for name in listed {
        let manifest: Table = read(&format!("crates/{name}/Cargo.toml")).parse().unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some(format!("tactus-{name}").as_str()));
    }
}

#[test]
fn a_crate_uses_only_crates_above_it() {
    let mut above = BTreeSet::new();
    let mut wrong = Vec::new();
    for Listed { name, .. } in table() {
        for dependency in dependencies(&name, false) {
            let ours = dependency.starts_with("tactus-");
            if ours && !above.contains(&dependency) {
                wrong.push(format!("tactus-{name} uses {dependency}"));
            }
        }
        above.insert(format!("tactus-{name}"));
    }
    assert!(wrong.is_empty(), "not above in the table of ARCHITECTURE.md: {}", wrong.join(", "));
}

#[test]
fn no_circle_of_crates_even_through_tests() {
    let mut graph: BTreeMap<String, BTreeSet<String>> = crates()
        .into_iter()
        .map(|name| (format!("tactus-{name}"), dependencies(&name, true)))
        .collect();
    // Crates without dependencies in the graph are removed until none is left.
    loop {
        let known: BTreeSet<String> = graph.keys().cloned().collect();
        let before = graph.len();
        graph.retain(|_, dependencies| !dependencies.is_disjoint(&known));
        if graph.len() == before {
            break;
        }
    }
    let rest: Vec<String> = graph.into_keys().collect();
    assert!(rest.is_empty(), "in a circle, or above one: {}", rest.join(", "));
}

#[test]
fn pure_crates_use_only_pure_crates_and_no_system_calls() {
    let pure: BTreeSet<String> = table()
        .into_iter()
        .filter(|row| row.is_pure)
        .map(|row| format!("tactus-{}", row.name))
        .collect();
    for package in &pure {
        let name = package.trim_start_matches("tactus-");
        for dependency in dependencies(name, false) {
            let is_impure = dependency.starts_with("tactus-") && !pure.contains(&dependency);
            let is_system = SYSTEM.contains(&dependency.as_str());
            assert!(!is_impure && !is_system, "{package} is marked pure and uses {dependency}");
        }
    }
}

#[test]
fn the_gate_compiles_exactly_the_pure_crates_without_an_operating_system() {
    let gate = read(".ci/run").replace("\\\n", " ");
    let command =
        gate.lines().find(|line| line.contains("cargo check") && line.contains("--target"));
    let words: Vec<&str> = command.expect("the check in .ci/run").split_whitespace().collect();
    let mut compiled: Vec<&str> =
        words.windows(2).filter(|pair| pair[0] == "-p").map(|pair| pair[1]).collect();
    compiled.sort_unstable();
    let mut pure: Vec<String> = table()
        .into_iter()
        .filter(|row| row.is_pure)
        .map(|row| format!("tactus-{}", row.name))
        .collect();
    pure.sort();
    assert_eq!(compiled, pure);
}
