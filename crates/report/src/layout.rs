//! Which cells share a graph, and how their curves look.
//!
//! A run of many cells is a table of loads by policies, or of other settings that vary. One setting
//! becomes the curves, the others the panels. So the curves of a graph are comparable, and a curve
//! looks the same in every panel.

use std::collections::BTreeMap;

use tactus_model::cell::Cell;
use tactus_model::label::{differing_settings, labels};

use crate::svg::style::CurveStyle;

/// The most curves that are readable in a panel; a setting with more values is overlaid only if no
/// other fits.
const CURVES_WANTED: [usize; 3] = [6, 8, 12];

/// The curves per panel if no setting can be overlaid.
const CROWD: usize = 6;

/// A cell's curve in a panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurvePlace {
    /// The index of the cell.
    pub cell: usize,
    /// The name of the curve in its panel.
    pub name: String,
    /// Its style.
    pub style: CurveStyle,
}

/// The cells of one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    /// The settings they have in common; empty for a single panel.
    pub title: String,
    /// The curves, in the order of the cells.
    pub curves: Vec<CurvePlace>,
}

/// Distributes the cells with these indices over panels.
pub fn panels(cells: &[Cell], shown: &[usize]) -> Vec<Panel> {
    let chosen: Vec<Cell> = shown.iter().filter_map(|index| cells.get(*index)).cloned().collect();
    let differing = differing_settings(&chosen);
    match overlaid_setting(&chosen, &differing) {
        Some(setting) if differing.len() > 1 && chosen.len() > 4 => {
            by_setting(&chosen, shown, &differing, setting)
        }
        _ => in_crowds(&chosen, shown),
    }
}

/// The setting whose values become curves: the one with the most values that a panel can hold.
fn overlaid_setting(cells: &[Cell], differing: &[&'static str]) -> Option<&'static str> {
    let counts: Vec<(&'static str, usize)> =
        differing.iter().map(|name| (*name, distinct_values(cells, name).len())).collect();
    CURVES_WANTED
        .into_iter()
        .find_map(|limit| {
            counts.iter().filter(|(_, count)| *count <= limit).max_by_key(|(_, count)| *count)
        })
        .map(|(name, _)| *name)
}

fn by_setting(
    cells: &[Cell],
    shown: &[usize],
    differing: &[&'static str],
    overlaid: &'static str,
) -> Vec<Panel> {
    let styles: BTreeMap<String, CurveStyle> = distinct_values(cells, overlaid)
        .into_iter()
        .enumerate()
        .map(|(number, value)| (value, CurveStyle::numbered(number)))
        .collect();
    let mut panels: Vec<Panel> = Vec::new();
    for (cell, index) in cells.iter().zip(shown) {
        let value = value_of(cell, overlaid);
        let title: Vec<String> = differing
            .iter()
            .filter(|name| **name != overlaid)
            .map(|name| titled(name, &value_of(cell, name)))
            .collect();
        let title = title.join(" · ");
        let style = styles.get(&value).copied().unwrap_or(CurveStyle::numbered(0));
        let curve = CurvePlace { cell: *index, name: value, style };
        match panels.iter_mut().find(|panel| panel.title == title) {
            Some(panel) => panel.curves.push(curve),
            None => panels.push(Panel { title, curves: vec![curve] }),
        }
    }
    panels
}

/// Overlays the cells in their order, a few per panel.
fn in_crowds(cells: &[Cell], shown: &[usize]) -> Vec<Panel> {
    let names = labels(cells);
    let named: Vec<(usize, String)> = shown.iter().copied().zip(names).collect();
    named
        .chunks(CROWD)
        .enumerate()
        .map(|(number, crowd)| Panel {
            title: if named.len() > CROWD {
                format!("group {}", number + 1)
            } else {
                String::new()
            },
            curves: crowd
                .iter()
                .enumerate()
                .map(|(number, (cell, name))| CurvePlace {
                    cell: *cell,
                    name: name.clone(),
                    style: CurveStyle::numbered(number),
                })
                .collect(),
        })
        .collect()
}

fn value_of(cell: &Cell, name: &str) -> String {
    cell.settings()
        .find(|(setting, _)| *setting == name)
        .map(|(_, value)| value)
        .unwrap_or_default()
}

/// A value as it appears in a title: numbers carry the name of their setting, words do not.
fn titled(name: &str, value: &str) -> String {
    match name {
        "load" | "policy" | "sleep" | "clock" | "probe" => value.to_owned(),
        _ => format!("{name} {value}"),
    }
}

fn distinct_values(cells: &[Cell], name: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for cell in cells {
        let value = value_of(cell, name);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;

    fn check(settings: &str, expected: &[(&str, usize)]) -> Vec<Panel> {
        let text = format!("[settings]\n{settings}");
        let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        let shown: Vec<usize> = (0..plan.cells.len()).collect();
        let panels = panels(&plan.cells, &shown);
        let found: Vec<(&str, usize)> =
            panels.iter().map(|panel| (panel.title.as_str(), panel.curves.len())).collect();
        assert_eq!(found, expected);
        panels
    }

    #[test]
    fn few_cells_share_one_graph() {
        check("load = \"idle\"", &[("", 1)]);
        check("load = [\"idle\", \"compute\"]\npolicy = [\"other\", \"fifo:90\"]", &[("", 4)]);
    }

    #[test]
    fn a_few_loads_are_overlaid_for_each_policy_as_in_the_paper_of_1992() {
        let panels = check(
            "load = [\"idle\", \"compute\", \"memory\", \"file\", \"process\"]\npolicy = [\"other\", \"fifo:90\"]",
            &[("other", 5), ("fifo:90", 5)],
        );
        assert_eq!(panels[0].curves[2].style, panels[1].curves[2].style);
    }

    #[test]
    fn many_loads_have_a_panel_each_with_the_policies_overlaid() {
        let loads = "load = [\"idle\",\"compute\",\"memory\",\"file\",\"net\",\"disk\",\"serial\"]";
        let policies = "policy = [\"other\",\"fifo:90\",\"rr:50\"]";
        check(
            &format!("{loads}\n{policies}"),
            &["idle", "compute", "memory", "file", "net", "disk", "serial"].map(|load| (load, 3)),
        );
    }

    #[test]
    fn every_cell_is_drawn_once() {
        let intervals: Vec<String> = (1..=20).map(|number| format!("\"{number}ms\"")).collect();
        let panels = check(
            &format!("interval = [{}]", intervals.join(",")),
            &[("group 1", 6), ("group 2", 6), ("group 3", 6), ("group 4", 2)],
        );
        let mut cells: Vec<usize> =
            panels.iter().flat_map(|panel| &panel.curves).map(|curve| curve.cell).collect();
        cells.sort_unstable();
        assert_eq!(cells, (0..20).collect::<Vec<_>>());
    }
}
