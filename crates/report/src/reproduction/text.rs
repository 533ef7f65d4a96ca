//! A reproduction as text for the terminal.

use std::fmt::Write;

use tactus_judge::reproduce::paper::Graph;
use tactus_judge::reproduce::{Paper, PartFound, Reproduction};

use super::{Measured, tables, words};
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid, wrapped};

/// Writes the papers that can be reproduced.
pub fn papers_table(papers: &[Paper], options: &TableOptions) -> String {
    let about = |paper: &Paper| Entry::text(words::citation(paper));
    let columns = vec![
        Column::names("paper", papers, |paper| Entry::text(paper.name.clone())),
        Column::names("parts", papers, |paper| {
            let parts: Vec<&str> = paper.parts.iter().map(|part| part.name.as_str()).collect();
            Entry::text(parts.join(", "))
        }),
    ];
    let mut text = String::new();
    for paper in papers {
        text.push_str(&wrapped(&about(paper).text, "", options.width));
    }
    text.push('\n');
    text + &grid(columns, options.width)
}

/// Writes a reproduction: this machine's figures, the paper's tables with this
/// machine's beside, and the claims. `measured` has one entry for each part.
pub fn reproduction_text(
    reproduction: &Reproduction<'_>,
    measured: &[Option<Measured<'_>>],
    options: &TableOptions,
) -> String {
    let mut text = String::new();
    let width = options.width;
    text.push_str(&wrapped(&words::citation(reproduction.paper), "", width));
    text.push_str(&wrapped(&format!("Then: {}", reproduction.paper.machine), "", width));
    if let Some(measured) = measured.iter().flatten().next() {
        text.push_str(&wrapped(&format!("Now: {}", words::machine(measured.run)), "", width));
    }
    for (part, measured) in reproduction.parts.iter().zip(measured) {
        let Some(measured) = measured else { continue };
        put_part(&mut text, part, measured, width);
    }
    text
}

fn put_part(text: &mut String, part: &PartFound<'_>, measured: &Measured<'_>, width: usize) {
    let _ = writeln!(text, "\n{}", part.part.name.to_uppercase());
    text.push_str(&wrapped(&part.part.about, "", width));
    text.push_str(&wrapped(&words::form(measured), "", width));
    if let Some(cost) = words::cost(measured) {
        text.push_str(&wrapped(&cost, "", width));
    }
    for said in words::not_granted(measured.run) {
        text.push_str(&wrapped(&said, "", width));
    }
    for view in &part.views {
        for group in tables::groups(view) {
            let Some(first) = group.first() else { continue };
            let Graph { title, place, .. } = view.graph;
            let _ = writeln!(text, "\n{title}, here: {} ({place})", tables::head(first));
            text.push_str(&grid(tables::here(&group), width));
        }
    }
    if !part.served.is_empty() {
        let _ = writeln!(text, "\n{}", words::SERVED);
        text.push_str(&grid(tables::served(&part.served), width));
    }
    for table in part.tables.iter().filter(|table| table.not_here.is_none()) {
        let _ = writeln!(text, "\n{}", words::table(table.table));
        for measure in tables::measures(table) {
            text.push_str(&grid(tables::beside(table, measure), width));
        }
    }
    let apart = words::not_beside(part);
    if !apart.is_empty() {
        text.push('\n');
    }
    for said in apart {
        text.push_str(&wrapped(&said, "", width));
    }
    if !part.claims.is_empty() {
        let _ = writeln!(text, "\nClaims: {}", words::tally(&part.claims));
    }
    for judged in &part.claims {
        let head =
            format!("{:<12}  {}", words::outcome(&judged.outcome), words::claim(judged.claim));
        let lines = wrapped(&head, "              ", width);
        text.push_str(lines.trim_start());
        text.push_str(&wrapped(&words::grounds(judged), "              ", width));
    }
}
