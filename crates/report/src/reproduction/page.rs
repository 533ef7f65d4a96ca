//! A reproduction as one self-contained page.

use std::borrow::Cow;

use askama::Template;
use tactus_reproduce::paper::Draw;
use tactus_reproduce::{
    Across, ClaimAcross, PartFound, Reproduction, Row, TableFound, View, tally,
};

use super::{Measured, drawings, tables, words};
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::page::view::Table;

/// Writes the page of a reproduction; `measured` has one entry for each of its parts.
///
/// # Errors
/// The page could not be put together, which is a defect of Tactus.
pub fn reproduction_page(
    reproduction: &Reproduction<'_>,
    measured: &[Option<Measured<'_>>],
) -> Result<String, ReportError> {
    let paper = reproduction.paper;
    let parts = reproduction.parts.iter().zip(measured);
    let shown: Vec<_> =
        parts.filter_map(|(part, measured)| Some((part, measured.as_ref()?))).collect();
    let is_of = |across: &Across<'_>, part: &PartFound<'_>| std::ptr::eq(across.part, part.part);
    let in_several =
        |part: &PartFound<'_>| reproduction.across.iter().any(|across| is_of(across, part));
    let alone: Vec<_> = shown.iter().filter(|(part, _)| !in_several(part)).collect();
    let across = reproduction.across.iter().filter_map(|across| {
        let of_it: Vec<_> = shown.iter().copied().filter(|(part, _)| is_of(across, part)).collect();
        AcrossView::of(across, &of_it)
    });
    let of_kernels = reproduction.across.iter().flat_map(|across| &across.claims);
    let judged = alone
        .iter()
        .flat_map(|(part, _)| &part.claims)
        .chain(of_kernels.map(|found| &found.judged));
    let page = Page {
        name: &paper.name,
        citation: paper.citation(),
        then: &paper.machine,
        now: measured.iter().flatten().next().map(|measured| words::now(measured.run)),
        tally: tally(judged),
        parts: alone.iter().map(|(part, measured)| PartView::of(part, measured)).collect(),
        across: across.collect(),
        frame: Frame::new(include_str!("../../templates/reproduction.css"), &[]),
    };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "reproduction.html")]
struct Page<'a> {
    name: &'a str,
    citation: String,
    then: &'a str,
    now: Option<String>,
    /// The outcomes of the claims of all parts.
    tally: String,
    /// The parts that were measured on one machine.
    parts: Vec<PartView<'a>>,
    /// The parts that were measured in several kernels.
    across: Vec<AcrossView<'a>>,
    frame: Frame,
}

/// A part that was measured in several kernels.
struct AcrossView<'a> {
    name: &'a str,
    about: &'a str,
    said: Vec<String>,
    tally: String,
    claims: Vec<ClaimAcross<'a>>,
    /// One per cell with a curve for each kernel; a single one for a graph that shows all cells.
    views: Vec<FigureView<'a>>,
    /// Cells by kernels, one table per measure.
    kernels: Vec<(String, Table)>,
    guests: Vec<String>,
    /// The same for each kernel alone.
    machines: Vec<PartView<'a>>,
}

impl<'a> AcrossView<'a> {
    fn of(across: &'a Across<'a>, of_it: &[(&'a PartFound<'a>, &Measured<'_>)]) -> Option<Self> {
        let (first, measured) = of_it.first()?;
        let views = across.views.iter().enumerate().filter_map(|(number, view)| {
            // Players are drawn together, once for all their cells.
            let is_whole = view.graph.draw == Draw::Players;
            let before = &across.views[..number];
            let is_drawn =
                is_whole && before.iter().any(|other| std::ptr::eq(other.graph, view.graph));
            (!is_drawn).then(|| FigureView {
                title: view.title_across().into(),
                place: &view.graph.place,
                panels: drawings::panels(view, &across.views, measured.run),
                tables: if is_whole { Vec::new() } else { figures(view) },
            })
        });
        let kernels = across
            .compared()
            .into_iter()
            .map(|compared| (compared.head(), Table::of(tables::kernels(across, &compared))));
        Some(Self {
            name: &across.part.name,
            about: first.about,
            said: words::said(measured),
            tally: tally(across.claims.iter().map(|found| &found.judged)),
            claims: across.claims_by_kernel(),
            views: views.collect(),
            kernels: kernels.collect(),
            guests: words::guest_lines(&across.kernels, measured.run),
            machines: of_it.iter().map(|(part, measured)| PartView::of(part, measured)).collect(),
        })
    }
}

/// A part that was measured on one machine.
struct PartView<'a> {
    name: &'a str,
    kernel: &'a str,
    about: &'a str,
    said: Vec<String>,
    guests: Vec<String>,
    tally: String,
    claims: Vec<ClaimView<'a>>,
    views: Vec<FigureView<'a>>,
    /// The interrupts and softirqs that ran when samples were due, if recorded.
    served: Option<Table>,
    tables: Vec<TableView<'a>>,
    apart: Vec<TableView<'a>>,
}

/// A claim and its outcome.
struct ClaimView<'a> {
    outcome: &'static str,
    text: &'a str,
    place: &'a str,
    grounds: String,
}

/// A graph and its tables.
struct FigureView<'a> {
    title: Cow<'a, str>,
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
        let published = part.tables.iter().filter(|table| table.has_published());
        let (tables, apart): (Vec<_>, Vec<_>) =
            published.map(TableView::of).partition(|table| table.not_here.is_none());
        let claims = part.claims.iter().map(|judged| ClaimView {
            outcome: judged.outcome.word(),
            text: &judged.claim.text,
            place: &judged.claim.place,
            grounds: judged.grounds(),
        });
        let seen = part.views.iter().filter(|view| !view.rows.is_empty());
        let views = seen.map(|view| FigureView {
            title: view.graph.title.as_str().into(),
            place: &view.graph.place,
            panels: drawings::panels(view, drawings::beside(view, &part.views), measured.run),
            tables: figures(view),
        });
        let kernels: Vec<&str> = part.kernel.into_iter().collect();
        Self {
            name: &part.part.name,
            kernel: part.kernel.unwrap_or_default(),
            about: part.about,
            said: words::said(measured),
            guests: words::guest_lines(&kernels, measured.run),
            tally: tally(&part.claims),
            claims: claims.collect(),
            views: views.collect(),
            served: (!part.served.is_empty()).then(|| Table::of(tables::served(&part.served))),
            tables,
            apart,
        }
    }
}

/// The figures of a view, one table per measure and selection of samples.
fn figures(view: &View<'_>) -> Vec<(String, Table)> {
    let table =
        |group: Vec<&Row<'_>>| Some((group.first()?.head(), Table::of(tables::here(&group))));
    view.groups().into_iter().filter_map(table).collect()
}

impl<'a> TableView<'a> {
    fn of(table: &'a TableFound<'a>) -> Self {
        let measures = table.measures().into_iter();
        Self {
            name: &table.table.name,
            place: &table.table.place,
            title: &table.table.title,
            not_here: table.not_here.as_deref(),
            tables: measures.map(|measure| Table::of(tables::beside(table, measure))).collect(),
        }
    }
}
