//! A reproduction as text for the terminal.

use std::fmt::Write;

use tactus_model::run::Run;
use tactus_reproduce::paper::Graph;
use tactus_reproduce::{Across, Paper, Part, PartFound, Reproduction, tally};

use super::{Measured, tables, words};
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::{hanging, wrapped};

/// Writes the papers that can be reproduced.
pub fn papers_table(papers: &[Paper], options: &TableOptions) -> String {
    let about = |paper: &Paper| Entry::text(paper.citation());
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

/// Writes a reproduction: this machine's figures, the paper's tables with this machine's rows, and
/// the claims. If a part was measured in several kernels, they are compared with each other, and
/// only the page has the paper's tables. `measured` has one entry for each of the reproduction's
/// parts.
pub fn reproduction_text(
    reproduction: &Reproduction<'_>,
    measured: &[Option<Measured<'_>>],
    options: &TableOptions,
) -> String {
    let mut text = String::new();
    let width = options.width;
    text.push_str(&wrapped(&reproduction.paper.citation(), "", width));
    text.push_str(&wrapped(&format!("Then: {}", reproduction.paper.machine), "", width));
    if let Some(measured) = measured.iter().flatten().next() {
        text.push_str(&wrapped(&format!("Now: {}", words::now(measured.run)), "", width));
    }
    let mut last: Option<&Part> = None;
    let mut guests = Vec::new();
    for (part, measured) in reproduction.parts.iter().zip(measured) {
        let Some(measured) = measured else { continue };
        let is_part = |across: &&Across<'_>| std::ptr::eq(across.part, part.part);
        match reproduction.across.iter().find(is_part) {
            None => put_part(&mut text, part, measured, width),
            Some(_) if last.is_some_and(|last| std::ptr::eq(last, part.part)) => {}
            Some(across) => put_across(&mut text, across, part, measured, &mut guests, width),
        }
        last = Some(part.part);
    }
    text
}

fn put_head(text: &mut String, part: &PartFound<'_>, measured: &Measured<'_>, width: usize) {
    let _ = writeln!(text, "\n{}", part.part.name.to_uppercase());
    text.push_str(&wrapped(part.about, "", width));
    for said in words::said(measured) {
        text.push_str(&wrapped(&said, "", width));
    }
}

fn put_guests(text: &mut String, kernels: &[&str], run: &Run, width: usize) {
    for guest in words::guest_lines(kernels, run) {
        text.push_str(&wrapped(&guest, "  ", width));
    }
}

/// Writes a part that was measured in several kernels. `guests` are the guests listed last, which
/// are not repeated.
fn put_across(
    text: &mut String,
    across: &Across<'_>,
    part: &PartFound<'_>,
    measured: &Measured<'_>,
    guests: &mut Vec<String>,
    width: usize,
) {
    put_head(text, part, measured, width);
    for compared in across.compared() {
        let _ = writeln!(text, "\n{}", compared.head());
        text.push_str(&grid(tables::kernels(across, &compared), width));
    }
    if !across.claims.is_empty() {
        let tally = tally(across.claims.iter().map(|found| &found.judged));
        let _ = writeln!(text, "\nClaims by kernel: {tally}");
    }
    for claim in across.claims_by_kernel() {
        text.push_str(&wrapped(&claim.claim.with_place(), "", width));
        for outcome in &claim.outcomes {
            let first = format!("  {:<12}  ", outcome.outcome);
            text.push_str(&hanging(&first, &outcome.text(), "                ", width));
        }
    }
    text.push_str("\nGuests\n");
    let these = words::guest_lines(&across.kernels, measured.run);
    if these == *guests {
        text.push_str("  as above\n");
    } else {
        these.iter().for_each(|guest| text.push_str(&wrapped(guest, "  ", width)));
        *guests = these;
    }
}

fn put_part(text: &mut String, part: &PartFound<'_>, measured: &Measured<'_>, width: usize) {
    put_head(text, part, measured, width);
    put_guests(text, &part.kernel.into_iter().collect::<Vec<_>>(), measured.run, width);
    for view in &part.views {
        for group in view.groups() {
            let Some(first) = group.first() else { continue };
            let Graph { title, place, .. } = view.graph;
            let _ = writeln!(text, "\n{title}, here: {} ({place})", first.head());
            text.push_str(&grid(tables::here(&group), width));
        }
    }
    if !part.served.is_empty() {
        let _ = writeln!(text, "\n{}", words::SERVED);
        text.push_str(&grid(tables::served(&part.served), width));
    }
    for table in
        part.tables.iter().filter(|table| table.not_here.is_none() && table.has_published())
    {
        let _ = writeln!(text, "\n{}", table.table.head());
        for measure in table.measures() {
            text.push_str(&grid(tables::beside(table, measure), width));
        }
    }
    let apart = part.not_compared();
    if !apart.is_empty() {
        text.push('\n');
    }
    for said in apart {
        text.push_str(&wrapped(&said, "", width));
    }
    if !part.claims.is_empty() {
        let _ = writeln!(text, "\nClaims: {}", tally(&part.claims));
    }
    for judged in &part.claims {
        let first = format!("{:<12}  ", judged.outcome.word());
        text.push_str(&hanging(&first, &judged.claim.with_place(), "              ", width));
        text.push_str(&wrapped(&judged.grounds(), "              ", width));
    }
}
