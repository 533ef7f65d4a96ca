//! A reproduction as one self-contained page.

use askama::Template;
use tactus_judge::reproduce::{PartFound, Reproduction, TableFound};

use super::{Measured, drawings, tables, words};
use crate::page::ReportError;
use crate::page::view::Table;
use crate::svg;

/// Writes the page of a reproduction; `measured` has one entry for each part.
///
/// # Errors
/// The page could not be put together, which is a defect of Tactus.
pub fn reproduction_page(
    reproduction: &Reproduction<'_>,
    measured: &[Option<Measured<'_>>],
) -> Result<String, ReportError> {
    let paper = reproduction.paper;
    let parts = reproduction.parts.iter().zip(measured);
    let shown = parts.clone().filter(|(_, measured)| measured.is_some());
    let page = Page {
        name: &paper.name,
        citation: words::citation(paper),
        then: &paper.machine,
        now: measured.iter().flatten().next().map(|measured| words::machine(measured.run)),
        tally: words::tally(shown.flat_map(|(part, _)| &part.claims)),
        parts: parts
            .filter_map(|(part, measured)| Some(PartView::of(part, measured.as_ref()?)))
            .collect(),
        styles: [
            svg::style::STYLE,
            include_str!("../../templates/page.css"),
            include_str!("../../templates/reproduction.css"),
        ]
        .concat(),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "reproduction.html")]
struct Page<'a> {
    name: &'a str,
    citation: String,
    then: &'a str,
    now: Option<String>,
    /// What became of the claims of all parts.
    tally: String,
    parts: Vec<PartView<'a>>,
    styles: String,
    version: &'static str,
}

/// A part as the template shows it.
struct PartView<'a> {
    name: &'a str,
    about: &'a str,
    said: Vec<String>,
    tally: String,
    claims: Vec<ClaimView<'a>>,
    views: Vec<FigureView<'a>>,
    /// What was being served when samples came due, where that was recorded.
    served: Option<Table>,
    tables: Vec<TableView<'a>>,
    apart: Vec<TableView<'a>>,
}

/// A claim and what became of it.
struct ClaimView<'a> {
    outcome: &'static str,
    text: &'a str,
    place: &'a str,
    grounds: String,
}

/// A graph and its tables.
struct FigureView<'a> {
    title: &'a str,
    place: &'a str,
    panels: Vec<String>,
    tables: Vec<(String, Table)>,
}

/// A table of the paper.
struct TableView<'a> {
    name: &'a str,
    place: &'a str,
    title: &'a str,
    not_here: Option<&'a str>,
    tables: Vec<Table>,
}

impl<'a> PartView<'a> {
    fn of(part: &'a PartFound<'a>, measured: &Measured<'_>) -> Self {
        let mut said = vec![words::form(measured)];
        said.extend(words::cost(measured));
        said.extend(words::not_granted(measured.run));
        let (tables, apart): (Vec<_>, Vec<_>) =
            part.tables.iter().map(TableView::of).partition(|table| table.not_here.is_none());
        let claims = part.claims.iter().map(|judged| ClaimView {
            outcome: words::outcome(&judged.outcome),
            text: &judged.claim.text,
            place: &judged.claim.place,
            grounds: words::grounds(judged),
        });
        let seen = part.views.iter().filter(|view| !view.rows.is_empty());
        let views = seen.map(|view| FigureView {
            title: &view.graph.title,
            place: &view.graph.place,
            panels: drawings::panels(view, measured.run),
            tables: tables::groups(view)
                .into_iter()
                .filter_map(|group| {
                    Some((tables::head(group.first()?), Table::of(tables::here(&group))))
                })
                .collect(),
        });
        Self {
            name: &part.part.name,
            about: &part.part.about,
            said,
            tally: words::tally(&part.claims),
            claims: claims.collect(),
            views: views.collect(),
            served: (!part.served.is_empty()).then(|| Table::of(tables::served(&part.served))),
            tables,
            apart,
        }
    }
}

impl<'a> TableView<'a> {
    fn of(table: &'a TableFound<'a>) -> Self {
        let measures = tables::measures(table).into_iter();
        Self {
            name: &table.table.name,
            place: &table.table.place,
            title: &table.table.title,
            not_here: table.not_here.as_deref(),
            tables: measures.map(|measure| Table::of(tables::beside(table, measure))).collect(),
        }
    }
}
